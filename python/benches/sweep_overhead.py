"""Measure how much longer than the bare engine 10,000 points of one simulated second take.

Run it on a quiet machine: ``.venv/bin/python python/benches/sweep_overhead.py``. The points go in ten slices, each by the
bare engine and by sweeps in turn, so that other work on the machine meets all of them alike; what a sweep costs once is
counted ten times.
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

SLICES = 10
SEEDS = 100
LIMITS = 10
CELL = Path(__file__).parents[2] / "scenarios" / "detti2011-five-stations.toml"


def main() -> None:
    """Measure and print."""
    cell = fairair.Scenario.load(CELL).with_({"run.duration": "1 s", "run.warmup": "0.2 s", "run.replicas": 1})
    jobs = os.cpu_count() or 1
    fairair.sweep(cell, {"ap.queue.limit": [10]})  # imports
    names = ["bare engine", "sweep", "sweep with store"]
    rows = {name: [0.0, 0.0] for name in names}
    for first in range(10, 10 + SLICES * LIMITS, LIMITS):
        axes = {"ap.queue.limit": range(first, first + LIMITS), "run.seed": range(SEEDS)}
        grid = Grid(cell, axes)
        with tempfile.TemporaryDirectory() as directory:
            taken = [
                grid.batch(np.arange(grid.size)).bare_seconds(jobs),
                timed(lambda axes=axes: fairair.sweep(cell, axes)),
                timed(lambda axes=axes, store=Path(directory) / "store": fairair.sweep(cell, axes, store=store)),
            ]
        for name, seconds in zip(names, taken, strict=True):
            rows[name] = [sum(pair) for pair in zip(rows[name], seconds, strict=True)]
    load = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    print(
        f"{SLICES * LIMITS * SEEDS} points on {jobs} threads; seconds of the clock, and of all processors; load {load}"
    )
    wall, cpu = rows["bare engine"]
    for name, own in rows.items():
        print(f"{name:>16}: {own[0]:6.2f} s ({own[0] / wall - 1:+.1%})  {own[1]:6.2f} s ({own[1] / cpu - 1:+.1%})")


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the clock and of all processors."""
    start, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - cpu


if __name__ == "__main__":
    main()
