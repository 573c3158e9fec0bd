"""Cells in which some stations fetch a fixed number of files, and the run ends with the last of them (khademi2010)."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairair.engine import run
from fairair.gallery.curve import Floats
from fairair.scenario import Scenario

__all__ = ["FILES", "files"]

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
    counted = np.asarray([flow.get("files") is not None for station in expanded["stations"] for flow in station["flows"]])
    first = int(expanded["run"]["seed"])
    answer: dict[str, list[float | None]] = {name: [] for name in FILES}
    for seed in range(first, first + cell.replicas):
        single = cell.with_({"run.replicas": 1, "run.seed": seed})
        flows, times = _transfers(single, jobs)
        end = _end(expanded, counted, flows, times)
        if end is not None:
            flows, times = _transfers(single.with_({"run.duration": f"{end:.3f} s"}), jobs)
        for name, some in (("small", ~counted), ("large", counted)):
            mine = times[some[flows]] if len(flows) else times
            answer[f"{name}_mean"].append(float(mine.mean()) if len(mine) else None)
            answer[f"{name}_cov"].append(float(mine.std(ddof=1) / mine.mean()) if len(mine) > 1 else None)
    return answer


def _transfers(cell: Scenario, jobs: int) -> tuple[Any, Floats]:
    table = run(cell, jobs=jobs).transfers
    return table["flow"].to_numpy().astype(int), table["duration_s"].to_numpy(dtype=np.float64)


def _end(expanded: dict[str, Any], counted: Any, flows: Any, times: Floats) -> float | None:
    """When the last counted file ends: a file begins when the one before it ends. None if some never end."""
    wanted = [flow.get("files") for station in expanded["stations"] for flow in station["flows"]]
    last = 0.0
    for flow in np.flatnonzero(counted):
        mine = times[flows == flow]
        if len(mine) < wanted[flow]:
            return None
        last = max(last, float(mine.sum()))
    start = _seconds(expanded["run"]["start_spread"])
    end = last + start
    return end if end < _seconds(expanded["run"]["duration"]) else None


def _seconds(quantity: Any) -> float:
    """Seconds of a duration as the expanded scenario has it."""
    if isinstance(quantity, (int, float)):
        return float(quantity) * 1e-9
    number, unit = str(quantity).split()
    return float(number) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}[unit]
