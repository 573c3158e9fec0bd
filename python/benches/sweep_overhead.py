"""Measure how much longer than the bare engine 10,000 points of one simulated second take.

Run it on a quiet machine: ``.venv/bin/python python/benches/sweep_overhead.py``. Best of several turns of each, in turn.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import numpy as np

import fairair
from fairair.sweeps import Grid

TURNS = 3
POINTS_A_LIMIT = 100
CELL = Path(__file__).parents[2] / "scenarios" / "detti2011-five-stations.toml"


def main() -> None:
    """Measure and print."""
    cell = fairair.Scenario.load(CELL).with_({"run.duration": "1 s", "run.warmup": "0.2 s", "run.replicas": 1})
    axes = {"ap.queue.limit": range(10, 110), "run.seed": range(POINTS_A_LIMIT)}
    grid = Grid(cell, axes)
    jobs = os.cpu_count() or 1
    bare, whole, kept = [], [], []
    fairair.sweep(cell, {"ap.queue.limit": [10]})  # imports
    for _ in range(TURNS):
        bare.append(grid.batch(np.arange(grid.size)).bare_seconds(jobs))
        start = time.perf_counter()
        fairair.sweep(cell, axes)
        whole.append(time.perf_counter() - start)
        with tempfile.TemporaryDirectory() as directory:
            start = time.perf_counter()
            fairair.sweep(cell, axes, store=Path(directory) / "store")
            kept.append(time.perf_counter() - start)
    print(f"{grid.size} points on {jobs} threads, best of {TURNS}: bare engine {min(bare):.2f} s")
    for name, seconds in (("sweep", min(whole)), ("sweep with store", min(kept))):
        print(f"{name:>16}: {seconds:.2f} s, {seconds / min(bare) - 1:+.1%}")


if __name__ == "__main__":
    main()
