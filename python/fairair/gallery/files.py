"""Cells in which some stations fetch a fixed number of files, and the run ends with the last of them (khademi2010)."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from fairair.engine import run
from fairair.gallery.curve import Floats
from fairair.scenario import Scenario

__all__ = ["FILES", "REVISION", "files"]

REVISION = 2
"""Counts changes of what `files` means, so that a store keeps no answer of another meaning."""

FILES = ("small_cov", "small_mean", "large_cov", "large_mean")
"""Coefficient of variation and mean in s of the transfer times of endless and of counted files."""


def files(cell: Scenario, jobs: int = 0) -> dict[str, list[float | None]]:
    """Run each replica until its last counted file has ended, or to the scenario's end.

    The end is not known before: a first run finds it, a second one with the same seed ends there.

    Returns
    -------
    dict
        `FILES` to one value a replica; None where too few files ended.
    """
    expanded = cell.expanded
    counted = np.asarray([count is not None for count in _counts(expanded)])
    first = int(expanded["run"]["seed"])

    def replica(seed: int) -> list[float | None]:
        single = cell.with_({"run.replicas": 1, "run.seed": seed})
        flows, times = _transfers(single)
        end = _end(expanded, flows, times)
        if end is not None:
            flows, times = _transfers(single.with_({"run.duration": f"{end:.3f} s"}))
        row: list[float | None] = []
        for some in (~counted, counted):
            mine = times[some[flows]]
            row.append(float(mine.std(ddof=1) / mine.mean()) if len(mine) > 1 else None)
            row.append(float(mine.mean()) if len(mine) else None)
        return row

    # Replicas side by side: each is a run of its own, and the simulator leaves other threads alone.
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        rows = list(pool.map(replica, range(first, first + cell.replicas)))
    return {name: [row[k] for row in rows] for k, name in enumerate(FILES)}


def _transfers(cell: Scenario) -> tuple[Any, Floats]:
    table = run(cell, jobs=1).transfers
    return table["flow"].to_numpy().astype(int), table["duration_s"].to_numpy(dtype=np.float64)


def _counts(expanded: dict[str, Any]) -> list[int | None]:
    """How many files each flow fetches; None without end."""
    return [flow["traffic"]["count"] for station in expanded["stations"] for flow in station["flows"]]


def _end(expanded: dict[str, Any], flows: Any, times: Floats) -> float | None:
    """When the last counted file ends: a file begins when the one before it ends. None if some never end."""
    last = 0.0
    for flow, count in enumerate(_counts(expanded)):
        if count is None:
            continue
        mine = times[flows == flow]
        if len(mine) < count:
            return None
        last = max(last, float(mine.sum()))
    start = _seconds(expanded["run"]["start_spread"])
    end = last + start
    return end if end < _seconds(expanded["run"]["duration"]) else None


def _seconds(quantity: str) -> float:
    """Seconds of a duration as the expanded scenario writes it."""
    number, unit = quantity.split()
    return float(number) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}[unit]
