"""The same sweep on a Dask cluster of separate processes."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

import fairair
from fairair import FairAirError, Scenario
from fairair._executors import each

# What Dask's own threads and sockets leave behind when a worker is killed is not ours to mend.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:distributed"),
]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # None is no dashboard, which its type does not say.
        no_dashboard: Any = None
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=no_dashboard) as cluster,
            Client(cluster) as client,
        ):
            yield client


def test_a_cluster_gives_the_same_bits(cell: Scenario, client: Any, tmp_path: Path) -> None:
    grid = {"ap.queue.limit": [10, 20, 75], "station.sta1.flows.0.count": range(1, 4)}
    local = fairair.sweep(cell, grid)
    xr.testing.assert_identical(fairair.sweep(cell, grid, executor=client, store=tmp_path / "store"), local)
    xr.testing.assert_identical(fairair.sweep(cell, grid, store=tmp_path / "store"), local)


def test_a_bad_point_is_told_from_the_cluster_too(cell: Scenario, client: Any) -> None:
    grid = {"radio.basic_rate": ["1 Mbit/s", "5.5 Mbit/s"], "radio.rate": ["11 Mbit/s", "2 Mbit/s"]}
    with pytest.raises(FairAirError, match="sweep point"):
        fairair.sweep(cell, grid, executor=client)


def test_bad_input_is_tried_once(client: Any, tmp_path: Path) -> None:
    def refuse(path: str) -> None:
        with Path(path).open("a") as file:
            file.write("tried\n")
        raise FairAirError("place", "problem", "fix")

    with pytest.raises(FairAirError, match="problem"):
        list(each(client, refuse, [(str(tmp_path / "tries"),)]))
    assert (tmp_path / "tries").read_text().splitlines() == ["tried"]


def test_who_takes_no_calls_any_more_is_named(cell: Scenario, client: Any) -> None:
    from distributed import Client

    pool = ProcessPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(FairAirError, match="executor: this executor takes no calls"):
        fairair.sweep(cell, {"ap.queue.limit": [10]}, executor=pool)
    other = Client(client.scheduler.address, set_as_default=False)
    other.close()
    with pytest.raises(FairAirError, match="executor: this client is closed"):
        fairair.sweep(cell, {"ap.queue.limit": [10]}, executor=other)


def test_a_worker_killed_mid_sweep_loses_nothing(cell: Scenario, client: Any) -> None:
    slow = cell.with_({"run.duration": "400 s", "run.replicas": 2})
    grid = {"ap.queue.limit": range(20, 52)}
    killed: list[int] = []

    def kill() -> None:
        time.sleep(0.7)
        victim = next(iter(client.run(os.getpid).values()))
        os.kill(victim, signal.SIGKILL)
        killed.append(victim)

    killer = threading.Thread(target=kill)
    killer.start()
    data = fairair.sweep(slow, grid, executor=client)
    ended_before = killer.is_alive()
    killer.join()
    assert killed
    assert not ended_before, "the sweep ended before the worker was killed: make it longer"
    xr.testing.assert_identical(data, fairair.sweep(slow, grid))
