"""Chunks of a grid on a pool of processes or a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, as_completed
from typing import Any

import numpy as np
import numpy.typing as npt

from fairair import _native
from fairair._engine_id import digest, version
from fairair._errors import FairAirError
from fairair.sweeps.grid import Grid

__all__ = ["chunks_on"]

_CHUNKS_A_THREAD = 8
"""Many, so that a slow chunk at the end does not leave the others idle."""
_LARGEST_CHUNK = 500
_RETRIES = 10
"""Of a Dask task whose worker died."""

Columns = dict[str, Any]


def run_chunk(
    document: str,
    axes: Sequence[tuple[str, Sequence[str]]],
    points: npt.NDArray[np.int64],
    engine: str,
    model: str | None,
    wanted: str,
) -> Columns:
    """Run points on one thread of a worker and return their columns; `wanted` is the digest of the engine."""
    if digest() != wanted:
        what = f"this worker has another engine: {version()}, not {wanted}"
        raise FairAirError("executor", what, "install the same build of FairAir on all workers")
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

    def arguments(chunk: npt.NDArray[np.int64]) -> tuple[Any, ...]:
        return (document, axes, chunk, grid.engine, grid.model, digest())

    if isinstance(executor, Executor):
        threads = int(getattr(executor, "_max_workers", 1))
        futures = [executor.submit(run_chunk, *arguments(chunk)) for chunk in _chunks(points, threads)]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            for future in futures:
                future.cancel()
    elif type(executor).__module__.partition(".")[0] == "distributed":
        yield from _on_dask(executor, points, arguments)
    else:
        what = f"{type(executor).__name__} runs no sweeps"
        raise FairAirError("executor", what, "give a concurrent.futures.Executor, a dask.distributed.Client, or None")


def _on_dask(client: Any, points: npt.NDArray[np.int64], arguments: Any) -> Iterator[Columns]:
    from distributed import as_completed as ended

    threads = sum(client.nthreads().values())
    # Not pure: the same points may run again for another store.
    futures = [
        client.submit(run_chunk, *arguments(chunk), pure=False, retries=_RETRIES) for chunk in _chunks(points, threads)
    ]
    try:
        for future in ended(futures):
            yield future.result()
            future.release()
    finally:
        client.cancel(futures)


def _chunks(points: npt.NDArray[np.int64], threads: int) -> list[npt.NDArray[np.int64]]:
    size = min(max(1, len(points) // (max(1, threads) * _CHUNKS_A_THREAD)), _LARGEST_CHUNK)
    return [points[start : start + size] for start in range(0, len(points), size)]
