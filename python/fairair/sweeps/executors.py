"""Chunks of a grid on a pool of processes or a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fairair import _native
from fairair._executors import each, threads_of
from fairair.sweeps.grid import Grid

__all__ = ["chunks_on"]

_CHUNKS_A_THREAD = 8
"""Many, so that a slow chunk at the end does not leave the others idle."""
_LARGEST_CHUNK = 500

Columns = dict[str, Any]


def run_chunk(
    document: str,
    axes: Sequence[tuple[str, Sequence[str]]],
    points: npt.NDArray[np.int64],
    engine: str,
    model: str | None,
) -> Columns:
    """Run points on one thread of a worker and return their columns."""
    # Dask hands arrays over in buffers at any address; the native half reads aligned memory only.
    aligned = np.require(points, np.int64, ["C", "A"])
    batch = _native.Batch(document, axes, aligned, engine, model)
    batch.start(1)
    try:
        while not batch.wait(1.0):
            pass
    finally:
        batch.cancel()
    batch.raise_failure()
    return batch.take()


def chunks_on(executor: Any, grid: Grid, points: npt.NDArray[np.int64]) -> Iterator[Columns]:
    """Yield the columns of each chunk as it ends."""
    document = grid.scenario._json()
    axes = [(axis.path, axis.values) for axis in grid.axes]
    chunks = _chunks(points, threads_of(executor))
    for _, columns in each(executor, run_chunk, [(document, axes, one, grid.engine, grid.model) for one in chunks]):
        yield columns


def _chunks(points: npt.NDArray[np.int64], threads: int) -> list[npt.NDArray[np.int64]]:
    size = min(max(1, len(points) // (threads * _CHUNKS_A_THREAD)), _LARGEST_CHUNK)
    return [points[start : start + size] for start in range(0, len(points), size)]
