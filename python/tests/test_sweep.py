"""Sweeps: what they give, what they keep, what they refuse."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xarray as xr

import fairair
from fairair import FairAirError, Scenario
from fairair._executors import _checked
from fairair.sweeps import Grid
from fairair.sweeps.executors import run_chunk
from fairair.sweeps.store import Store

GRID: dict[str, Any] = {"ap.queue.limit": [20, 75], "station.sta1.flows.0.count": range(1, 4)}


@pytest.fixture
def short(cell: Scenario) -> Scenario:
    return cell.with_({"run.duration": "3 s", "run.warmup": "1 s", "run.replicas": 2})


def test_a_sweep_is_its_runs(short: Scenario) -> None:
    data = fairair.sweep(short, GRID)
    assert dict(data.sizes) == {"ap.queue.limit": 2, "station.sta1.flows.0.count": 3, "station": 5}
    assert list(data["station.sta1.flows.0.count"]) == [1, 2, 3]
    for limit in GRID["ap.queue.limit"]:
        for count in GRID["station.sta1.flows.0.count"]:
            here = {"ap.queue.limit": limit, "station.sta1.flows.0.count": count}
            result = fairair.run(short.with_(here))
            point = data.sel(here)
            assert float(point["goodput_bps"]) == result.summary.loc["goodput_bps", "mean"]
            assert float(point["goodput_bps_ci95"]) == result.summary.loc["goodput_bps", "ci95"]
            assert float(point["fairness_level"]) == result.fairness_level("sta1").mean
            by_station = point["station_goodput_bps"].to_series()
            assert by_station.to_dict() == result.stations["goodput_bps"].to_dict()
    assert data["goodput_bps"].attrs["units"] == "bit/s"
    assert int(data["replicas"].min()) == 2
    assert Scenario.from_toml(data.attrs["scenario"]) == short


def test_models_tables_and_texts_can_be_swept(short: Scenario) -> None:
    queues = [{"kind": "droptail", "limit": 20}, {"kind": "dual-queue"}]
    data = fairair.sweep(short, {"ap.queue": queues, "radio.rate": ["2 Mbit/s", "11 Mbit/s"]}, replicas=1)
    assert list(data["radio.rate"].values) == ["2 Mbit/s", "11 Mbit/s"]
    assert '"dual-queue"' in str(data["ap.queue"].values[1])
    slow, fast = data["goodput_bps"].isel({"ap.queue": 0}).values
    assert slow < fast / 2
    model = fairair.sweep(short, {"ap.queue.limit": [20, 75]}, engine="model")
    assert model["goodput_bps"].notnull().all()
    assert model["goodput_bps_ci95"].isnull().all()


def test_a_sweep_a_result_and_the_catalogue_have_one_name_for_a_quantity(short: Scenario) -> None:
    swept = fairair.sweep(short, {"run.seed": [1]}).squeeze("run.seed", drop=True)
    single = fairair.run(short).to_xarray()
    assert set(swept.data_vars) - {"replicas"} <= set(single.data_vars)
    for name in set(swept.data_vars) - {"replicas"}:
        np.testing.assert_array_equal(swept[name], single[name])
        assert swept[name].attrs["units"] == single[name].attrs["units"]
    known = {(quantity.level, quantity.name) for quantity in fairair.quantities()}
    means = [str(name) for name in single.data_vars if not str(name).endswith("_ci95")]
    for name in means:
        level = "cell" if not single[name].dims else str(single[name].dims[0])
        assert (level, name.removeprefix("" if level == "cell" else f"{level}_")) in known


def test_what_a_model_answered_names_it(short: Scenario) -> None:
    assert fairair.run(short, "model").to_xarray().attrs["model"] == "unified"
    assert fairair.run(short, "model").stations.attrs["origin"]["model"] == "unified"
    assert fairair.run(short).to_xarray().attrs["model"] == ""
    limits = {"ap.queue.limit": [20, 75]}
    assert fairair.sweep(short, limits, engine="model").attrs["model"] == "unified"
    assert fairair.sweep(short, limits, engine="model", model="detti2011").attrs["model"] == "detti2011"
    assert fairair.sweep(short, limits, replicas=1).attrs["model"] == ""
    kinds = {"ap.queue.limit": [20, 75], "ap.queue.kind": ["per-flow-fq", "droptail"]}
    assert fairair.sweep(short, kinds, engine="model").attrs["model"] == "shares, unified"


def test_what_stays_beside_a_swept_kind_is_a_coordinate(short: Scenario) -> None:
    kinds = {"ap.queue.kind": ["droptail", "fq-codel"]}
    kept = fairair.sweep(short, kinds, replicas=1)
    assert kept["ap.queue.limit"].item() == 75
    assert kept["ap.queue.limit"].dims == ()
    assert "ap.queue.limit" not in fairair.sweep(short.with_({"ap.queue.limit": None}), kinds, replicas=1).coords
    both = fairair.sweep(short, {**kinds, "ap.queue.limit": [75]}, replicas=1)
    assert both["ap.queue.limit"].dims == ("ap.queue.limit",)
    assert both["goodput_bps"].values.ravel().tolist() == kept["goodput_bps"].values.tolist()
    tables = fairair.sweep(short, {"ap.queue": [{"kind": "droptail"}, {"kind": "fq-codel"}]}, replicas=1)
    assert "ap.queue.limit" not in tables.coords


def test_stations_that_a_point_lacks_are_nan(short: Scenario) -> None:
    data = fairair.sweep(short, {"station.other.count": [2, 4]}, replicas=1)
    assert data["station_goodput_bps"].sel(station="other-4").isnull().values.tolist() == [True, False]


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ({}, "the grid is empty"),
        ({"ap.queue.limit": []}, "the grid is empty"),
        ({"ap.queue.limt": [1]}, "did you mean `limit`"),
        ({"station.sta7.rate": ["2 Mbit/s"]}, "use one of: sta1, other"),
        ({"ap.queue.limit": [10, 0]}, "sweep point ap.queue.limit = 0"),
        ({"ap.queue.limit": 10}, "not several"),
        ({"ap.queue.limit": [10], "ap.queue": [{"kind": "las"}]}, "name ap.queue before ap.queue.limit"),
        ({"station.sta1.rate": ["2 Mbit/s"], "station.*.rate": ["1 Mbit/s"]}, "before station.sta1.rate"),
        ({"ap.queue.kind": "droptail"}, "not several"),
        ({"ap.queue.limit": [10, 10]}, "twice"),
        ({"station": [[{"name": "a"}], [{"name": "b"}]]}, "cannot vary the whole list of stations"),
    ],
)
def test_a_wrong_grid_is_refused_before_anything_runs(
    short: Scenario, tmp_path: Path, grid: dict[str, Any], words: str
) -> None:
    store = tmp_path / "store"
    with pytest.raises(FairAirError, match=words):
        fairair.sweep(short, grid, store=store)
    assert not store.exists()


def test_a_point_that_is_wrong_only_in_combination_loses_nothing(short: Scenario, tmp_path: Path) -> None:
    # A basic rate above the data rate: each value is right with the first of the other axis.
    grid = {"radio.basic_rate": ["1 Mbit/s", "5.5 Mbit/s"], "radio.rate": ["11 Mbit/s", "2 Mbit/s"]}
    with pytest.raises(FairAirError, match="sweep point"):
        fairair.sweep(short, grid, store=tmp_path / "store", jobs=1)
    assert _kept(tmp_path / "store") == 3


def test_a_store_is_of_one_sweep(short: Scenario, tmp_path: Path) -> None:
    store = tmp_path / "store"
    fairair.sweep(short, {"ap.queue.limit": [20]}, store=store)
    with pytest.raises(FairAirError, match=r"another sweep: scenario.run.duration is \"3 s\" there"):
        fairair.sweep(short.with_({"run.duration": "4 s"}), {"ap.queue.limit": [20]}, store=store)
    with pytest.raises(FairAirError, match="another sweep: paths"):
        fairair.sweep(short, {"tcp.window": [20]}, store=store)
    with pytest.raises(FairAirError, match="another sweep: engine"):
        fairair.sweep(short, {"ap.queue.limit": [20]}, engine="model", store=store)
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").touch()
    with pytest.raises(FairAirError, match="holds other files"):
        fairair.sweep(short, {"ap.queue.limit": [20]}, store=other)
    with pytest.raises(FairAirError, match="cannot write the store"):
        fairair.sweep(short, {"ap.queue.limit": [20]}, store=other / "thesis.tex" / "store")
    assert _kept(store) == 1


def test_a_store_names_what_filled_it(short: Scenario, tmp_path: Path) -> None:
    store = tmp_path / "store"
    data = fairair.sweep(short.with_({"run.seed": 7}), {"ap.queue.limit": [20]}, store=store)
    manifest = json.loads((store / "_sweep.json").read_text())
    native = hashlib.sha256(Path(str(fairair._native.__file__)).read_bytes()).hexdigest()
    assert manifest["engine_digest"] == native[:16] == data.attrs["engine_digest"]
    assert manifest["seed"] == data.attrs["seed"] == 7
    assert manifest["version"] == data.attrs["version"] == fairair.__version__
    assert manifest["date"].startswith(data.attrs["date"])
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    assert (manifest["commit"] or "").partition("+")[0] == head.stdout.strip()
    part = next(store.glob("part-*.parquet"))
    kept = json.loads(pq.read_schema(part).metadata[b"fairair"])
    assert kept == {**{key: manifest[key] for key in ("version", "engine_digest", "commit", "date")}, "seed": 7}
    assert fairair.sweep(short, {"run.seed": [1, 2]}).attrs["seed"] == "swept"


def test_a_store_of_another_engine_is_refused_or_begun_anew(
    short: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, grid = tmp_path / "store", {"ap.queue.limit": [20, 75]}
    first = fairair.sweep(short, grid, store=store)
    monkeypatch.setattr("fairair.sweeps.store.digest", lambda: "0123456789abcdef")
    with pytest.raises(
        FairAirError, match=r"another engine filled this store: .*; this one is .*0123456789abcdef"
    ) as told:
        fairair.sweep(short, grid, store=store)
    assert "restart=True" in told.value.fix
    assert _kept(store) == 2, "a refusal removes nothing"
    with pytest.raises(FairAirError, match="another sweep: scenario"):
        fairair.sweep(short.with_({"run.duration": "4 s"}), grid, store=store, restart=True)
    assert _kept(store) == 2, "the store of another sweep is not emptied"
    again = fairair.sweep(short, grid, store=store, restart=True)
    assert _kept(store) == 2
    assert json.loads((store / "_sweep.json").read_text())["engine_digest"] == "0123456789abcdef"
    xr.testing.assert_equal(again, first)


def test_a_store_from_before_digests_is_refused_or_begun_anew(short: Scenario, tmp_path: Path) -> None:
    store, grid = tmp_path / "store", {"ap.queue.limit": [20]}
    fairair.sweep(short, grid, store=store)
    manifest = json.loads((store / "_sweep.json").read_text())
    for key in ("engine_digest", "seed", "commit", "date"):
        del manifest[key]
    (store / "_sweep.json").write_text(json.dumps({**manifest, "schema": "fairair.sweep/1"}))
    with pytest.raises(FairAirError, match=r"another engine filled this store: .*\+unknown"):
        fairair.sweep(short, grid, store=store)
    fairair.sweep(short, grid, store=store, restart=True)
    assert json.loads((store / "_sweep.json").read_text())["schema"] == "fairair.sweep/2"


def test_a_worker_with_another_engine_is_refused(short: Scenario) -> None:
    grid = Grid(short, {"ap.queue.limit": [20]})
    axes = [(axis.path, axis.values) for axis in grid.axes]
    with pytest.raises(FairAirError, match="this worker has another engine"):
        _checked("0123456789abcdef", run_chunk, (short._json(), axes, np.arange(1), "sim", None))


def test_a_store_is_taken_up_and_grows(short: Scenario, tmp_path: Path) -> None:
    store = tmp_path / "store"
    first = fairair.sweep(short, {"ap.queue.limit": [20, 75]}, store=store)
    (store / ".part-torn.parquet").write_bytes(b"PAR1")
    again = fairair.sweep(short, {"ap.queue.limit": [20, 75]}, store=store)
    xr.testing.assert_identical(first, again)
    assert _kept(store) == 2, "nothing ran twice"
    wider = fairair.sweep(short, {"ap.queue.limit": [10, 20, 75, 100]}, store=store)
    assert _kept(store) == 4
    xr.testing.assert_identical(wider.sel({"ap.queue.limit": [20, 75]}), first)


def test_a_killed_sweep_repeats_no_finished_point(cell: Scenario, tmp_path: Path) -> None:
    store, path = tmp_path / "store", tmp_path / "cell.toml"
    slow = cell.with_({"run.duration": "300 s"})
    path.write_text(slow.to_toml())
    code = f"import fairair; fairair.sweep({str(path)!r}, {{'ap.queue.limit': range(1, 200)}}, store={str(store)!r}, jobs=1)"
    process = subprocess.Popen([sys.executable, "-c", code])
    until = time.monotonic() + 60
    while not list(store.glob("part-*")) and time.monotonic() < until:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    kept = _kept(store)
    assert 0 < kept < 199
    limits = range(1, kept + 3)
    data = fairair.sweep(slow, {"ap.queue.limit": limits}, store=store)
    assert _kept(store) == kept + 2, "only what was missing ran"
    last = fairair.run(slow.with_({"ap.queue.limit": 1}))
    assert float(data["goodput_bps"].sel({"ap.queue.limit": 1})) == last.summary.loc["goodput_bps", "mean"]


def test_a_store_is_read_by_others_with_units(short: Scenario, tmp_path: Path) -> None:
    fairair.sweep(short, {"ap.queue.limit": [75, 20]}, store=tmp_path / "store")
    table = pq.read_table(tmp_path / "store")
    assert sorted(table["ap.queue.limit"].to_pylist()) == ["20", "75"]
    assert table.schema.field("goodput_bps").metadata == {b"units": b"bit/s"}


def test_ctrl_c_while_points_are_stored_loses_none(
    short: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits until what has left the threads is in the store, and says how much that is."""
    append = Store.append

    def pressed(self: Store, table: pa.Table) -> None:
        signal.raise_signal(signal.SIGINT)
        append(self, table)

    monkeypatch.setattr(Store, "append", pressed)
    with pytest.raises(KeyboardInterrupt, match="2 of 2 points are kept"):
        fairair.sweep(short, {"ap.queue.limit": [20, 75]}, store=tmp_path / "store")
    assert _kept(tmp_path / "store") == 2


def test_ctrl_c_keeps_what_is_done(cell: Scenario, tmp_path: Path) -> None:
    store, path = tmp_path / "store", tmp_path / "cell.toml"
    path.write_text(cell.with_({"run.duration": "300 s"}).to_toml())
    code = (
        f"import fairair\ntry:\n    fairair.sweep({str(path)!r}, {{'ap.queue.limit': range(1, 200)}}, "
        f"store={str(store)!r}, jobs=1)\nexcept KeyboardInterrupt:\n    raise SystemExit(7)"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    until = time.monotonic() + 60
    while not list(store.glob("part-*")) and time.monotonic() < until:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(60) == 7
    assert 0 < _kept(store) < 199


def test_a_pool_of_processes_gives_the_same_bits(short: Scenario) -> None:
    local = fairair.sweep(short, GRID)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        xr.testing.assert_identical(fairair.sweep(short, GRID, executor=pool), local)
    with pytest.raises(FairAirError, match="runs nothing"):
        fairair.sweep(short, GRID, executor=object())


def test_progress_is_shown_when_asked(short: Scenario, capsys: pytest.CaptureFixture[str]) -> None:
    fairair.sweep(short, {"ap.queue.limit": [20, 75]}, progress=True)
    assert "2/2" in capsys.readouterr().err


def _kept(store: Path) -> int:
    return int(np.sum([pq.ParquetFile(part).metadata.num_rows for part in store.glob("part-*.parquet")]))


def test_without_rich_a_terminal_has_no_bar(
    short: Scenario, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`pip install fairair` brings no rich: nothing fails that did not ask for a bar."""
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    fairair.compare(short, ["vsb"], replicas=1)
    assert not capsys.readouterr().err
    with pytest.raises(fairair.MissingExtraError, match="rich"):
        fairair.compare(short, ["vsb"], replicas=1, progress=True)


@pytest.mark.usefixtures("testbed")
def test_the_testbed_is_swept_and_kept(cell: Scenario, tmp_path: Path) -> None:
    short = cell.with_({"run.duration": "4 s", "run.warmup": "1 s", "run.replicas": 1})
    grid = {"station.sta1.flows.0.count": [1, 2]}
    data = fairair.sweep(short, grid, engine="testbed", store=tmp_path / "store", jobs=2)
    assert data.attrs["engine"] == "testbed"
    assert (data["station_goodput_up_bps"].sel(station="sta1") > 0).all()
    xr.testing.assert_identical(fairair.sweep(short, grid, engine="testbed", store=tmp_path / "store"), data)


@pytest.mark.usefixtures("testbed")
def test_ctrl_c_takes_the_testbed_down(cell: Scenario, tmp_path: Path) -> None:
    path = tmp_path / "cell.toml"
    path.write_text(cell.with_({"run.duration": "300 s", "run.replicas": 1}).to_toml())
    code = (
        f"import fairair\ntry:\n    fairair.sweep({str(path)!r}, {{'ap.queue.limit': [20, 75]}}, engine='testbed', "
        "jobs=2)\nexcept KeyboardInterrupt:\n    raise SystemExit(7)"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    until, names = time.monotonic() + 60, set[str]()
    # A host, a gateway, a box and five stations for each of the two points.
    while len(names) < 16 and time.monotonic() < until:
        time.sleep(0.1)
        names = namespaces_below(process.pid)
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(60) == 7
    assert len(names) >= 16
    assert not any((NAMESPACES / name).exists() for name in names)


NAMESPACES = Path("/run/netns")


def namespaces_below(parent: int) -> set[str]:
    """Return what the testbeds that a process started have made: each names its own by its process."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return {path.name for child in children for path in NAMESPACES.glob(f"fairair-tb-{int(child):x}*")}


def test_the_testbed_is_refused_where_it_cannot_run(short: Scenario) -> None:
    grid = {"ap.queue.limit": [20]}
    with pytest.raises(FairAirError, match="does not run elsewhere"), ProcessPoolExecutor(1) as pool:
        fairair.sweep(short, grid, engine="testbed", executor=pool)
    with pytest.raises(FairAirError, match="below 0"):
        fairair.sweep(short, grid, jobs=-1)
    with pytest.raises(FairAirError, match="has no model"):
        fairair.sweep(short, grid, engine="testbed", model="unified")
    with pytest.raises(FairAirError, match="use one of: sim, model, testbed"):
        fairair.sweep(short, grid, engine="testbd")


def test_the_testbed_tells_who_is_not_root(short: Scenario) -> None:
    code = (
        "import os, fairair\nassert os.geteuid() != 0\n"
        f"cell = fairair.Scenario.from_toml({short.to_toml()!r})\n"
        "fairair.sweep(cell, {'ap.queue.limit': [20]}, engine='testbed')"
    )
    # Root becomes nobody in a user namespace of its own, but still reads its files.
    nobody = ["unshare", "--user"] if os.geteuid() == 0 else []
    if nobody and subprocess.run([*nobody, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("*** SKIPPED (needs user namespaces): what the testbed says without root ***")
    done = subprocess.run([*nobody, sys.executable, "-c", code], capture_output=True, text=True, check=False)
    told = done.stderr.strip().splitlines()[-2:]
    assert told[0].startswith("fairair._errors.FairAirError: testbed: ")
    assert "run it as root" in told[1]


@pytest.mark.parametrize("content", [b"", b"PAR1 and no more", None])
def test_a_part_that_is_none_is_named(short: Scenario, tmp_path: Path, content: bytes | None) -> None:
    fairair.sweep(short, {"ap.queue.limit": [20]}, replicas=1, store=tmp_path / "store")
    (part,) = (tmp_path / "store").glob("part-*")
    if content is None:
        pq.write_table(pa.table({"other": [1]}), part)
    else:
        part.write_bytes(content)
    with pytest.raises(FairAirError, match=f"{part.name}: cannot read this part"):
        fairair.sweep(short, {"ap.queue.limit": [20]}, replicas=1, store=tmp_path / "store")
