"""Measure how much longer than the bare engine 10,000 points of one simulated second take.

Run it on a quiet machine: ``.venv/bin/python python/benches/sweep_overhead.py``. Best of several turns of each, in turn.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import fairair
from fairair.sweeps import Grid

TURNS = 1
POINTS_A_LIMIT = 100
CELL = Path(__file__).parents[2] / "scenarios" / "detti2011-five-stations.toml"


def main() -> None:
    """Measure and print."""
    cell = fairair.Scenario.load(CELL).with_({"run.duration": "1 s", "run.warmup": "0.2 s", "run.replicas": 1})
    axes = {"ap.queue.limit": range(10, 110), "run.seed": range(POINTS_A_LIMIT)}
    grid = Grid(cell, axes)
    jobs = os.cpu_count() or 1
    fairair.sweep(cell, {"ap.queue.limit": [10]})  # imports
    rows: dict[str, list[tuple[float, float]]] = {"bare engine": [], "sweep": [], "sweep with store": []}
    for _ in range(TURNS):
        rows["bare engine"].append(grid.batch(np.arange(grid.size)).bare_seconds(jobs))
        rows["sweep"].append(timed(lambda: fairair.sweep(cell, axes)))
        with tempfile.TemporaryDirectory() as directory:
            store = Path(directory) / "store"
            rows["sweep with store"].append(timed(lambda store=store: fairair.sweep(cell, axes, store=store)))
    print(f"{grid.size} points on {jobs} threads, best of {TURNS}; seconds of the clock, and of all processors")
    wall, cpu = (min(turn[part] for turn in rows["bare engine"]) for part in (0, 1))
    for name, turns in rows.items():
        own = [min(turn[part] for turn in turns) for part in (0, 1)]
        print(f"{name:>16}: {own[0]:6.2f} s ({own[0] / wall - 1:+.1%})  {own[1]:6.2f} s ({own[1] / cpu - 1:+.1%})")


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the clock and of all processors."""
    start, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - cpu


if __name__ == "__main__":
    main()
