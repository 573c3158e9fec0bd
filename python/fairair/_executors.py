"""Calls on a pool of processes or a Dask cluster, for sweeps, plans and the gallery alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, as_completed
from typing import Any

from fairair._engine_id import digest, version
from fairair._errors import FairAirError

__all__ = ["each", "threads_of"]

_RETRIES = 10
"""Of a Dask task whose worker died."""


def _checked(wanted: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Call on a worker, unless it has another engine; `wanted` is the digest.

    Bad input is an answer: Dask would try what is raised again and again.
    """
    if digest() != wanted:
        what = f"this worker has another engine: {version()}, not {wanted}"
        raise FairAirError("executor", what, "install the same build of FairAir on all workers")
    try:
        return function(*arguments)
    except FairAirError as error:
        return error


def _answer(answer: Any) -> Any:
    if isinstance(answer, FairAirError):
        raise answer
    return answer


def _is_dask(executor: Any) -> bool:
    return type(executor).__module__.partition(".")[0] == "distributed"


def threads_of(executor: Any) -> int:
    """Return how many calls an executor runs at a time, at least 1.

    Raises
    ------
    FairAirError
        It is none of those that run calls.
    """
    if isinstance(executor, Executor):
        return max(1, int(getattr(executor, "_max_workers", 1)))
    if _is_dask(executor):
        if executor.status != "running":
            raise FairAirError("executor", f"this client is {executor.status}", "give a Client that is connected")
        return max(1, int(sum(executor.nthreads().values())))
    what = f"{type(executor).__name__} runs nothing of FairAir"
    raise FairAirError("executor", what, "give a concurrent.futures.Executor, a dask.distributed.Client, or None")


def each(executor: Any, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
    """Yield the position and answer of each call as it ends; what is left is cancelled when nobody asks any more."""
    threads_of(executor)
    if _is_dask(executor):
        from distributed import as_completed as ended

        # Not pure: the same call may run again for another store.
        futures = [executor.submit(_checked, digest(), function, call, pure=False, retries=_RETRIES) for call in calls]
        place = {future.key: index for index, future in enumerate(futures)}
        try:
            for future in ended(futures):
                yield place[future.key], _answer(future.result())
                future.release()
        finally:
            executor.cancel(futures)
        return
    try:
        waiting = {executor.submit(_checked, digest(), function, call): index for index, call in enumerate(calls)}
    except RuntimeError as error:
        # Shut down, or its processes died.
        raise FairAirError("executor", f"this executor takes no calls: {error}", "give a new one") from None
    try:
        for future in as_completed(waiting):
            yield waiting[future], _answer(future.result())
    finally:
        for future in waiting:
            future.cancel()
