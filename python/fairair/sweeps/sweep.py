"""Run a grid and gather it as an xarray.Dataset."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fairair import _native
from fairair._errors import FairAirError
from fairair._testbed import TestbedRun
from fairair.engine import _scenario
from fairair.scenario import Scenario
from fairair.sweeps.executors import chunks_on
from fairair.sweeps.grid import Grid
from fairair.sweeps.store import Store, points_of, table_of

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["sweep"]

_FLUSH_S = 1.0
"""Finished points wait at most this long for their place in the store."""
_LOOK_S = 0.1
"""How often the threads are looked at, and Ctrl-C is seen."""


def sweep(
    scenario: Scenario | str | PathLike[str],
    grid: Mapping[str, Iterable[Any]],
    *,
    replicas: int | None = None,
    seed: int | None = None,
    engine: str = "sim",
    model: str | None = None,
    store: str | PathLike[str] | None = None,
    executor: Executor | Any | None = None,
    jobs: int = 0,
    progress: bool | None = None,
) -> xr.Dataset:
    """Run a scenario over a grid of parameters.

    Parameters
    ----------
    scenario : Scenario or path-like
        What all points share.
    grid : mapping from dotted path to values
        Paths as in `Scenario.with_`, one dimension each; values may be tables (``{"ap.queue": [{...}, {...}]}``).
    replicas, seed : int, optional
        Instead of the scenario's. Every point has the same seed: differences between points are then the parameters'.
    engine, model : str
        As in `fairair.run`. The testbed runs here only, in real time, and needs root.
    store : path-like, optional
        A directory that keeps finished points as Parquet. Stopped in any way and started again, a sweep runs only what is
        not there; it may have grown by values.
    executor : optional
        Where points run: None for threads of this process (Rust's, not Python's), a `concurrent.futures.Executor`, or
        a ``dask.distributed.Client``. The values are the same to the last bit.
    jobs : int, default 0
        Threads when there is no `executor`; 0 is one a processor. For the testbed, replicas side by side, of one point or
        several; 0 is one at a time.
    progress : bool, optional
        Show a bar with the time that is left on stderr; by default on terminals only.

    Returns
    -------
    xarray.Dataset
        One dimension a path, in order; variables by measure, with ``units`` and ``long_name``, the half-width of the 95 %
        confidence interval as ``..._ci95``; ``station_...`` by station too. What does not exist is NaN.

    Raises
    ------
    FairAirError
        A path or value that the scenario reader refuses, an empty grid, a store that cannot be written or is another
        sweep's. Finished points stay in the store.

    Examples
    --------
    >>> import fairair
    >>> cell = fairair.Scenario.from_dict({"name": "cell", "run": {"duration": "10 s", "replicas": 2},
    ...     "ap": {"queue": {"kind": "droptail"}},
    ...     "station": [{"name": "up", "flows": [{"direction": "up"}]},
    ...                 {"name": "down", "flows": [{"direction": "down"}]}]})
    >>> data = fairair.sweep(cell, {"ap.queue.limit": [10, 100], "station.up.flows.0.count": range(1, 4)})
    >>> data["fairness_level"].dims
    ('ap.queue.limit', 'station.up.flows.0.count')
    >>> bool((data["fairness_level"].sel({"ap.queue.limit": 10}) > 1).all())
    True
    """
    if jobs < 0:
        raise FairAirError("jobs", f"{jobs} is below 0", "give a number, or 0 for the default")
    if engine == "testbed" and executor is not None:
        raise FairAirError(
            "executor", "the testbed does not run elsewhere", "leave `executor` out; `jobs` runs several"
        )
    cells = Grid(_scenario(scenario, replicas, seed), grid, engine, model)
    kept = Store(store, cells) if store is not None else None
    tables: list[pa.Table] = []
    todo = np.arange(cells.size, dtype=np.int64)
    if kept is not None and (found := kept.read()) is not None:
        tables.append(found)
        todo = np.setdiff1d(todo, points_of(cells, found))

    def keep(columns: dict[str, Any]) -> int:
        count = len(columns["point"])
        if count:
            table = table_of(cells, columns)
            tables.append(table)
            if kept is not None:
                kept.append(table)
        return count

    if len(todo):
        with _bar(cells.size, cells.size - len(todo), progress) as advance:
            if engine == "testbed":
                _on_testbed(cells, todo, jobs, keep, advance)
            elif executor is None:
                _on_threads(cells, todo, jobs, keep, advance)
            else:
                for columns in chunks_on(executor, cells, todo):
                    advance(keep(columns))
    return _dataset(cells, pa.concat_tables(tables))


def _on_threads(
    grid: Grid,
    todo: npt.NDArray[np.int64],
    jobs: int,
    keep: Callable[[dict[str, Any]], int],
    advance: Callable[[int], None],
) -> None:
    batch = grid.batch(todo)
    batch.start(jobs)
    flushed = time.monotonic()
    ended = False
    try:
        while not ended:
            ended = batch.wait(_LOOK_S)
            now = time.monotonic()
            if not ended and now - flushed > _FLUSH_S:
                advance(keep(batch.take()))
                flushed = time.monotonic()
    finally:
        # Also after Ctrl-C: what is under way ends and is kept, unless Ctrl-C comes once more.
        batch.cancel()
        while not batch.wait(_LOOK_S):
            pass
        advance(keep(batch.take()))
    batch.raise_failure()


def _on_testbed(
    grid: Grid,
    todo: npt.NDArray[np.int64],
    jobs: int,
    keep: Callable[[dict[str, Any]], int],
    advance: Callable[[int], None],
) -> None:
    """Run points side by side, each a process with namespaces of its own; `jobs` replicas at a time in all."""
    waiting = [int(point) for point in todo]
    points_at_once = min(max(1, jobs), len(waiting))
    replicas_at_once = max(1, jobs // points_at_once)
    under_way: dict[int, TestbedRun] = {}
    try:
        while waiting or under_way:
            while waiting and len(under_way) < points_at_once:
                point = waiting.pop(0)
                under_way[point] = TestbedRun(grid.scenario_at(point), replicas_at_once)
            time.sleep(_LOOK_S)
            for point in [point for point, running in under_way.items() if running.ended]:
                with under_way.pop(point) as running:
                    advance(keep(running.result()._native.measures(point)))
    finally:
        # Also after Ctrl-C: hosts are gone before anybody goes on.
        for running in under_way.values():
            running.stop()


class _bar:  # noqa: N801 # used like a function
    """A progress bar on stderr, or nothing."""

    def __init__(self, total: int, done: int, wanted: bool | None) -> None:
        self._bar: Any = None
        if wanted or (wanted is None and sys.stderr.isatty()):
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (
                TextColumn("sweep"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
            )
            self._bar = Progress(*columns, console=Console(stderr=True))
            self._task = self._bar.add_task("sweep", total=total, completed=done)

    def __enter__(self) -> Callable[[int], None]:
        if self._bar is None:
            return lambda _: None
        self._bar.start()
        return lambda count: self._bar.advance(self._task, count)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def _dataset(grid: Grid, table: pa.Table) -> xr.Dataset:
    import xarray as xr

    points = points_of(grid, table)
    of_cell, of_station = _native.measures()
    dims = [axis.path for axis in grid.axes]
    data: dict[str, Any] = {}

    def variable(column: npt.NDArray[Any], unit: str, name: str) -> tuple[list[str], npt.NDArray[Any], dict[str, str]]:
        full = np.full(grid.size, np.nan)
        full[points] = column
        return dims, full.reshape(grid.shape), {"units": unit, "long_name": name.replace("_", " ")}

    for name, unit in _with_ci(of_cell):
        data[name] = variable(table[name].to_numpy(), unit, name)
    data["replicas"] = variable(table["n"].to_numpy(), "1", "replicas")

    lists = table["station"].combine_chunks()
    names = list(dict.fromkeys(lists.flatten().to_pylist()))
    place = {name: index for index, name in enumerate(names)}
    station = np.array([place[name] for name in lists.flatten().to_pylist()], dtype=np.int64)
    row = np.repeat(points, lists.value_lengths().to_numpy())
    for name, unit in _with_ci(of_station):
        full = np.full((grid.size, len(names)), np.nan)
        full[row, station] = table[f"station.{name}"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        attributes = {"units": unit, "long_name": f"station {name.replace('_', ' ')}"}
        data[f"station_{name}"] = ([*dims, "station"], full.reshape(*grid.shape, len(names)), attributes)

    coordinates: dict[str, Any] = {axis.path: axis.labels for axis in grid.axes}
    coordinates["station"] = names
    attributes = {
        "scenario": grid.scenario.to_toml(),
        "engine": grid.engine,
        "model": grid.model or "",
        "version": _native.VERSION,
        "confidence": "x_ci95 is the half-width of the 95 % confidence interval of x",
    }
    return xr.Dataset(data, coordinates, attributes)


def _with_ci(measures: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for name, unit in measures:
        yield name, unit
        yield f"{name}_ci95", unit
