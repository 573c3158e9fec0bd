"""Run a grid and gather it as an xarray.Dataset."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from datetime import datetime, timezone
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fairair import _native
from fairair._arguments import checked
from fairair._engine_id import commit, digest
from fairair._errors import FairAirError
from fairair._progress import bar
from fairair._testbed import TestbedRun
from fairair.engine import _scenario
from fairair.scenario import Scenario
from fairair.sweeps.executors import chunks_on
from fairair.sweeps.grid import Grid
from fairair.sweeps.store import Store, points_of, table_of, with_ci

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["sweep"]

_FLUSH_S = 1.0
"""Finished points wait at most this long for their place in the store."""
_CATALOGUED = {
    "uplink_queue_packets": "uplink_queue_mean_packets",
    "uplink_queue_packets_ci95": "uplink_queue_mean_packets_ci95",
}
"""Columns of stores that have another name in docs/results.md, and so in datasets."""
_LOOK_S = 0.1
"""How often the threads are looked at, and Ctrl-C is seen."""


@checked
def sweep(
    scenario: Scenario | str | PathLike[str],
    grid: Mapping[str, object],
    *,
    replicas: int | None = None,
    seed: int | None = None,
    engine: str = "sim",
    model: str | None = None,
    store: str | PathLike[str] | None = None,
    executor: Executor | Any | None = None,
    jobs: int = 0,
    progress: bool | None = None,
    restart: bool = False,
) -> xr.Dataset:
    """Run a scenario over a grid of parameters.

    Parameters
    ----------
    scenario : Scenario or path-like
        What all points share.
    grid : mapping from dotted path to values
        Paths as in `Scenario.with_`, one dimension each; values may be tables (``{"ap.queue": [{...}, {...}]}``).
        A path changes its key alone: under ``"ap.queue.kind"`` each kind has the scenario's ``limit``, which the dataset
        then has as a coordinate without a dimension. For each kind with its own defaults sweep tables:
        ``{"ap.queue": [{"kind": "droptail"}, {"kind": "fq-codel"}]}``.
    replicas, seed : int, optional
        Instead of the scenario's. Every point has the same seed: differences between points are then the parameters'.
    engine, model : str
        As in `fairair.run`. The testbed runs here only, in real time, and needs root.
    store : path-like, optional
        A directory that keeps finished points as Parquet. Stopped in any way and started again, a sweep runs only what is
        not there; it may have grown by values. What another engine computed (its digest tells) is refused.
    executor : optional
        Where points run: None for threads of this process (Rust's, not Python's), a `concurrent.futures.Executor`, or
        a ``dask.distributed.Client``. The values are the same to the last bit.
    jobs : int, default 0
        Threads when there is no `executor`; 0 is one a processor. For the testbed, replicas side by side, of one point or
        several; 0 is one at a time.
    progress : bool, optional
        Show a bar with the time that is left; by default on terminals and in notebooks only.
    restart : bool, default False
        Remove what another engine left in `store`, and begin anew.

    Returns
    -------
    xarray.Dataset
        One dimension a path, in order; variables by measure, with ``units`` and ``long_name``, the half-width of the 95 %
        confidence interval as ``..._ci95``; ``station_...`` by station too. What does not exist is NaN. Attributes say
        what made it: ``engine``, ``model`` (the names of those that answered), ``version``, ``engine_digest``, ``commit``
        (empty outside a checkout), ``seed``, and the day, ``date``.

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
    if engine == "testbed" and executor is not None:
        raise FairAirError(
            "executor", "the testbed does not run elsewhere", "leave `executor` out; `jobs` runs several"
        )
    cells = Grid(_scenario(scenario, replicas, seed), grid, engine, model)
    kept = Store(store, cells, restart=restart) if store is not None else None
    tables: list[pa.Table] = []
    todo = np.arange(cells.size, dtype=np.int64)
    if kept is not None and (found := kept.read()) is not None:
        tables.append(found)
        todo = np.setdiff1d(todo, points_of(cells, found))

    if len(todo):
        done = cells.size - len(todo)
        try:
            with bar("sweep", cells.size, done, wanted=progress) as tell:

                def keep(columns: dict[str, Any]) -> None:
                    nonlocal done
                    if len(columns["point"]):
                        count = len(columns["point"])
                        table = table_of(cells, columns)
                        tables.append(table)
                        if kept is not None:
                            kept.append(table)
                        done += count
                    tell(done, cells.size)

                if engine == "testbed":
                    _on_testbed(cells, todo, jobs, keep)
                elif executor is None:
                    _on_threads(cells, todo, jobs, keep)
                else:
                    for columns in chunks_on(executor, cells, todo):
                        keep(columns)
        except KeyboardInterrupt:
            where = "kept" if kept is not None else "lost: name a `store` to keep them"
            raise KeyboardInterrupt(f"{done} of {cells.size} points are {where}") from None
    origin = kept.origin if kept is not None else None
    return _dataset(cells, pa.concat_tables(tables), origin)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait for the end of the block: what has left the batch is in no store yet."""
    # A handler that is none of Python's cannot be put back.
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield
        return
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        signal.raise_signal(signal.SIGINT)


def _on_threads(
    grid: Grid,
    todo: npt.NDArray[np.int64],
    jobs: int,
    keep: Callable[[dict[str, Any]], None],
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
                with _uninterrupted():
                    keep(batch.take())
                flushed = time.monotonic()
    finally:
        # Also after Ctrl-C: what is under way ends and is kept, unless Ctrl-C comes once more.
        batch.cancel()
        while not batch.wait(_LOOK_S):
            pass
        with _uninterrupted():
            keep(batch.take())
    batch.raise_failure()


def _on_testbed(
    grid: Grid,
    todo: npt.NDArray[np.int64],
    jobs: int,
    keep: Callable[[dict[str, Any]], None],
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
                    keep(running.result()._native.measures(point))
    finally:
        # Also after Ctrl-C: hosts are gone before anybody goes on.
        for running in under_way.values():
            running.stop()


def _dataset(grid: Grid, table: pa.Table, origin: Mapping[str, Any] | None) -> xr.Dataset:
    import xarray as xr

    points = points_of(grid, table)
    of_cell, of_station = _native.measures()
    dims = [axis.path for axis in grid.axes]
    data: dict[str, Any] = {}

    def variable(column: npt.NDArray[Any], unit: str, name: str) -> tuple[list[str], npt.NDArray[Any], dict[str, str]]:
        full = np.full(grid.size, np.nan)
        full[points] = column
        return dims, full.reshape(grid.shape), {"units": unit, "long_name": name.replace("_", " ")}

    for name, unit in with_ci(of_cell):
        data[name] = variable(table[name].to_numpy(), unit, name)
    data["replicas"] = variable(table["n"].to_numpy(), "1", "replicas")

    lists = table["station"].combine_chunks()
    names = list(dict.fromkeys(lists.flatten().to_pylist()))
    place = {name: index for index, name in enumerate(names)}
    station = np.array([place[name] for name in lists.flatten().to_pylist()], dtype=np.int64)
    row = np.repeat(points, lists.value_lengths().to_numpy())
    for name, unit in with_ci(of_station):
        full = np.full((grid.size, len(names)), np.nan)
        full[row, station] = table[f"station.{name}"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        shown = _CATALOGUED.get(name, name).replace("_", " ")
        attributes = {"units": unit, "long_name": f"station {shown}"}
        data[f"station_{_CATALOGUED.get(name, name)}"] = (
            [*dims, "station"],
            full.reshape(*grid.shape, len(names)),
            attributes,
        )

    coordinates: dict[str, Any] = {axis.path: axis.labels for axis in grid.axes}
    coordinates["station"] = names
    coordinates |= grid.kept()
    about: dict[str, Any] = {
        "scenario": grid.scenario.to_toml(),
        "engine": grid.engine,
        "model": grid.answered_by(),
        # Attributes of netCDF have no null.
        "seed": "swept" if grid.seed is None else grid.seed,
        "version": _native.VERSION,
        "engine_digest": digest(),
        "commit": (origin["commit"] if origin else commit()) or "",
        # The day alone: the same sweep gives the same attributes in the morning and in the evening.
        "date": str(origin["date"] if origin else datetime.now(timezone.utc).isoformat())[:10],
        "confidence": "x_ci95 is the half-width of the 95 % confidence interval of x",
    }
    return xr.Dataset(data, coordinates, about)
