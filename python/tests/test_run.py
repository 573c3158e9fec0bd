"""Engines and results."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import REPOSITORY, number

import fairair
from fairair import FairAirError, Result, Scenario, goals


def test_tables_say_what_the_result_says(cell: Scenario) -> None:
    result = fairair.run(cell)
    report = result.to_dict()
    assert result.engine == "simulator"
    assert list(result.stations.index) == ["sta1", "other-1", "other-2", "other-3", "other-4"]
    for name, row in zip(result.stations.index, report["stations"], strict=True):
        assert result.stations.loc[name, "goodput_bps"] == row["goodput_bps"]["mean"]
        assert result.stations.loc[name, "goodput_bps_ci95"] == row["goodput_bps"]["ci95"]
        assert number(result.stations, name, "n") == 3
    assert list(result.flows["direction"]) == ["up"] * 3 + ["down"] * 4
    assert result.queue.loc["ap", "mean_packets"] == report["ap_queue"]["mean_packets"]["mean"]
    full = result.drops.set_index(["queue", "reason"]).loc[("ap", "queue-full"), "data"]
    assert full == report["ap_queue"]["drops"]["queue-full"]["data"]["mean"]
    assert result.summary.loc["goodput_bps", "mean"] == pytest.approx(result.stations["goodput_bps"].sum())
    assert all(dtype == np.float64 for dtype in result.stations.drop(columns=["group", "n"]).dtypes)


def test_levels_are_against_one_station_or_the_mean_of_the_others(cell: Scenario) -> None:
    result = fairair.run(cell)
    goodput = result.stations["goodput_bps"]
    level = result.fairness_level("sta1", "other-2")
    assert level.mean == pytest.approx(goodput["sta1"] / goodput["other-2"])
    assert level.n == 3
    assert result.fairness_level("sta1").mean == pytest.approx(goodput["sta1"] / goodput.iloc[1:].mean())
    with pytest.raises(FairAirError, match="use one of: sta1, other-1"):
        result.fairness_level("sta1", "other")
    with pytest.raises(FairAirError, match="use 'sta1'"):
        result.fairness_level("other-1")


def test_the_same_seed_gives_the_same_bytes_on_any_number_of_threads(cell: Scenario) -> None:
    one = fairair.run(cell, jobs=1)
    assert fairair.run(cell, jobs=3).to_json() == one.to_json()
    assert fairair.run(cell, seed=2).fingerprint != one.fingerprint
    assert fairair.run(cell, replicas=1).to_dict()["replicas"] == 1


def test_the_command_and_python_answer_alike(cell: Scenario, tmp_path: Path) -> None:
    path = tmp_path / "cell.toml"
    path.write_text(cell.to_toml())
    line = [sys.executable, "-m", "fairair", "run", str(path), "--format", "json"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == fairair.run(cell).to_dict()
    assert Result.from_json(done.stdout).fingerprint == fairair.run(cell).fingerprint


def test_the_command_keeps_its_exit_codes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fairair"]
    assert subprocess.run([*command, "--version"], capture_output=True, check=False).returncode == 0
    wrong = subprocess.run([*command, "run", str(tmp_path / "none.toml")], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert "cannot read the scenario file" in wrong.stderr


def test_models_answer_in_the_same_tables(cell: Scenario) -> None:
    result = fairair.run(cell, engine="model")
    assert result.engine == "model"
    assert np.isnan(result.stations["goodput_bps_ci95"]).all()
    assert result.stations["goodput_bps"].gt(0).all()
    assumptions = result.assumptions
    assert assumptions is not None
    assert {"name", "holds", "what"} <= set(assumptions.columns)
    assert fairair.run(cell).assumptions is None


def test_what_cannot_be_asked_is_refused(cell: Scenario) -> None:
    with pytest.raises(FairAirError, match="no remedy by name"):
        fairair.run(cell, engine="testbed", remedy="las")
    with pytest.raises(FairAirError, match=r"the testbed cannot do an MSS of 60 B|root"):
        # Linux takes no smaller one than 88 B; without root anything is refused.
        fairair.run(cell.with_({"tcp.mss": "60 B"}), engine="testbed", replicas=1)
    with pytest.raises(FairAirError, match="use one of: sim, model, testbed"):
        fairair.run(cell, engine="simm")  # type: ignore[arg-type]
    with pytest.raises(FairAirError, match="use one of: shares, ha2009, detti2011"):
        fairair.run(cell, engine="model", model="bianchi")
    with pytest.raises(FairAirError, match="has no model"):
        fairair.run(cell, model="detti2011")
    with pytest.raises(FairAirError, match=r"use one of: .*tlas-saf"):
        fairair.run(cell, remedy="magic")
    with pytest.raises(FairAirError, match="below 0"):
        fairair.run(cell, jobs=-1)
    with pytest.raises(FairAirError, match=r"does not know|has no"):
        fairair.run(cell, engine="model", model="pokhrel2016")


def test_samples_and_files_come_as_columns() -> None:
    scenario = Scenario.load(REPOSITORY / "scenarios" / "web-and-bulk.toml")
    result = fairair.run(scenario.with_({"run.sample_interval": "100 ms"}), replicas=2)
    series = result.timeseries
    assert series.index.name == "at_s"
    assert list(series.columns[:2]) == ["ap_queue_packets", "cwnd_0"]
    assert series["ap_queue_packets"].max() > 0
    assert np.diff(series.index) == pytest.approx(0.1)
    transfers = result.transfers
    assert set(transfers["replica"]) == {0, 1}
    assert transfers["duration_s"].gt(0).all()
    counted = sum(flow["transfers"]["count"]["mean"] or 0 for flow in result.to_dict()["flows"])
    assert len(transfers) == pytest.approx(2 * counted)


def test_a_box_has_tables_of_its_own(cell: Scenario) -> None:
    assert fairair.run(cell, replicas=1).enforce is None
    boxed = fairair.run(cell.with_({"enforce": {"policy": "per-station", "capacity": "auto"}}), replicas=1)
    assert boxed.enforce is not None
    assert boxed.capacity is not None
    assert list(boxed.enforce.index) == list(boxed.stations.index)
    assert boxed.capacity["capacity_bps"].gt(0).all()


def test_remedies_apply_by_name(cell: Scenario) -> None:
    table = fairair.compare(cell, ["vsb", "per-station-fq"]).table
    assert list(table.index) == ["none", "vsb", "per-station-fq"]
    assert number(table, "none", "jain_stations") < 0.8 < number(table, "vsb", "jain_stations")
    with pytest.raises(FairAirError, match="use one of"):
        fairair.compare(cell, ["magic"])


def test_the_planner_answers() -> None:
    hotspot = Scenario.load(REPOSITORY / "scenarios" / "detti2011-five-stations.toml")
    plan = fairair.plan(hotspot, "level=1", deploy="box")
    assert plan.met
    best = plan.recommended
    assert best is not None
    assert best.deploy == "box"
    assert best.starved == ()
    assert all(point.starved == 0 for point in plan.front)
    assert plan.alternative is None or plan.alternative.meets
    changed = plan.apply(hotspot)
    assert "enforce" in changed.to_dict()
    assert number(fairair.run(changed, replicas=2).summary, "jain_stations", "mean") > 0.95
    assert best.result.engine == "simulator"
    assert len(plan.table) == len(plan.front)
    assert fairair.Plan.from_json(plan.to_json()) == plan


def test_goals_are_values_or_the_words_of_the_command() -> None:
    cell = fairair.Scenario.from_dict(
        {
            "name": "small",
            "run": {"duration": "12 s", "warmup": "2 s"},
            "station": [{"name": "a", "flows": [{"direction": "up"}]}, {"name": "b", "flows": [{"direction": "down"}]}],
        }
    )
    said: list[str] = []
    for goal in (
        goals.Level(1.5),
        goals.DownUp(2),
        goals.UpDown(0.5),
        goals.Goodput("a", at_least_bps=2e5),
        goals.Delay(at_most_s=0.1, who="b"),
        goals.Delay(at_most_s=0.0335),
    ):
        said.append(str(goal))
        # Goals are read before all else: a mistake behind them says that this one was understood.
        with pytest.raises(FairAirError, match="nowhere"):
            fairair.plan(cell, goal, deploy="nowhere")  # type: ignore[arg-type]
    assert said == [
        "level=1.5",
        "down/up=2",
        "up/down=0.5",
        "a >= 200000 bit/s",
        "delay(b) <= 100 ms",
        "delay <= 33.5 ms",
    ]
    assert str(goals.Files(at_most_s=0.5, who="b")) == "files(b) <= 500 ms"


def test_a_wish_that_makes_no_sense_is_refused() -> None:
    hotspot = Scenario.load(REPOSITORY / "scenarios" / "detti2011-five-stations.toml")
    with pytest.raises(FairAirError, match="level"):
        fairair.plan(hotspot, "levle=1")
    with pytest.raises(FairAirError, match="nobody"):
        fairair.plan(hotspot, "nobody >= 1 Mbit/s")
    with pytest.raises(FairAirError, match="deploy"):
        fairair.plan(hotspot, deploy="roof")  # type: ignore[arg-type]
    with pytest.raises(FairAirError, match="unit"):
        fairair.plan(hotspot, [], max_delay="50")


def test_a_result_survives_parquet_and_pickle(cell: Scenario, tmp_path: Path) -> None:
    result = fairair.run(cell, replicas=2)
    target = tmp_path / "deep" / "result"
    result.to_parquet(target)
    assert Result.load(target).to_json() == result.to_json()
    pd.testing.assert_frame_equal(pd.read_parquet(target / "stations.parquet"), result.stations)
    assert pickle.loads(pickle.dumps(result)).fingerprint == result.fingerprint  # noqa: S301 # our own bytes
    with pytest.raises(FairAirError, match="exists already"):
        result.to_parquet(target)
    with pytest.raises(FairAirError, match="cannot read a result"):
        Result.load(tmp_path)
    with pytest.raises(FairAirError, match="not a result"):
        Result.from_json("{}")
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(FairAirError, match="cannot write"):
        result.to_parquet(blocked / "result")
    assert sorted(path.name for path in target.parent.iterdir()) == ["result"], "no temporary directory is left"


def test_a_result_shows_itself(cell: Scenario) -> None:
    result = fairair.run(cell, replicas=2)
    assert "fairness_level" in repr(result)
    assert "<table" in result._repr_html_()
    assert result.__rich__() is not None


def test_other_threads_go_on_while_a_run_runs(cell: Scenario) -> None:
    long = cell.with_({"run.duration": "2000 s", "run.replicas": 2})
    thread = threading.Thread(target=fairair.run, args=(long,), kwargs={"jobs": 1})
    thread.start()
    turns = 0
    while thread.is_alive():
        turns += 1
        time.sleep(0.001)
    assert turns > 20


@pytest.mark.parametrize(
    "ask", ["run(scenario, replicas=1000)", "run(scenario, until_ci=0.01)", "compare(scenario)", "plan(scenario)"]
)
def test_ctrl_c_ends_what_runs(tmp_path: Path, cell: Scenario, ask: str) -> None:
    path = tmp_path / "cell.toml"
    path.write_text(
        cell.with_({"run.duration": "100000 s", "event": [{"at": "1 s", "kind": "silence", "lasts": "1 s"}]}).to_toml()
    )
    code = (
        "import fairair, sys\n"
        f"scenario = fairair.Scenario.load({str(path)!r})\n"
        f"try:\n    print('running', flush=True)\n    fairair.{ask}\n"
        "except KeyboardInterrupt:\n    print('interrupted', flush=True)\n"
        "    import os; os._exit(7)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    time.sleep(0.3)
    os.kill(process.pid, signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    assert process.wait(30) == 7
    process.stdout.close()


@pytest.mark.usefixtures("testbed")
def test_the_testbed_answers_in_the_same_tables(cell: Scenario) -> None:
    result = fairair.run(cell.with_({"run.duration": "4 s", "run.warmup": "1 s"}), engine="testbed", replicas=1)
    assert result.engine == "testbed"
    assert list(result.stations.index) == ["sta1", "other-1", "other-2", "other-3", "other-4"]
    assert number(result.stations, "sta1", "goodput_up_bps") > 0


def test_replicas_are_added_until_the_interval_is_narrow(cell: Scenario) -> None:
    short = cell.with_({"run.duration": "6 s"})
    result = fairair.run(short, until_ci=0.03)
    report = result.to_dict()
    assert report["until_ci"] == {"target_percent": 3.0, "reached": True}
    assert report["replicas"] >= 5
    total = result.summary.loc["goodput_bps"]
    assert total["ci95"] <= 0.03 * total["mean"]
    assert fairair.run(short, until_ci="3 %").to_json() == result.to_json()
    most = fairair.run(short, until_ci=1e-9, max_replicas=6).to_dict()
    assert (most["replicas"], most["until_ci"]["reached"]) == (6, False)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"until_ci": 2}, "until_ci: 2 is no part between 0 and 1"),
        ({"until_ci": "two"}, "until_ci: 'two'"),
        ({"until_ci": 0.02, "engine": "model"}, "adds no replicas"),
        ({"until_ci": 0.02, "max_replicas": 2}, "max_replicas: 2 allows"),
        ({"pcap": "air.pcap", "engine": "model"}, "no frames to capture"),
        ({"pcap": "/nowhere/air.pcap"}, "/nowhere/air.pcap: cannot write the capture"),
    ],
)
def test_what_a_run_cannot_do_is_refused(cell: Scenario, options: dict[str, Any], words: str) -> None:
    with pytest.raises(FairAirError, match=words):
        fairair.run(cell, **options)


def test_a_run_writes_its_frames(cell: Scenario, tmp_path: Path) -> None:
    short = cell.with_({"run.duration": "2 s", "run.warmup": "1 s", "run.replicas": 2})
    file = tmp_path / "air.pcap"
    captured = fairair.run(short, pcap=file)
    assert captured.to_json() == fairair.run(short).to_json(), "a monitor changes nothing"
    (tmp_path / "cell.toml").write_text(short.to_toml())
    line = [sys.executable, "-m", "fairair", "run", "cell.toml", "--pcap", "command.pcap", "--format", "json"]
    subprocess.run(line, cwd=tmp_path, check=True, capture_output=True)
    assert file.read_bytes() == (tmp_path / "command.pcap").read_bytes()
    assert len(file.read_bytes()) > 10_000


def test_notebooks_show_scenarios_and_comparisons(cell: Scenario) -> None:
    shown = cell.with_({"name": "<b>ad"})._repr_html_()
    assert "&lt;b&gt;ad" in shown
    assert "<b>ad" not in shown
    assert "sta1" in shown
    assert "3 up tcp" in shown
    comparison = fairair.compare(cell.with_({"run.duration": "3 s"}), ["las"], replicas=2)
    table = comparison._repr_html_()
    assert "las" in table
    assert "under 2 remedies" in table
    assert f"{comparison.table.loc['las', 'jain_stations']:.4g}" in table


def test_progress_goes_to_whoever_looks(
    cell: Scenario, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    short = cell.with_({"run.duration": "3 s"})
    fairair.run(short)
    fairair.compare(short, ["las"], replicas=1)
    assert capsys.readouterr().err == "", "nobody looks"
    fairair.compare(short, ["las"], replicas=1, progress=True)
    assert "2/2" in capsys.readouterr().err
    fairair.compare(short, ["las", "vsb"], replicas=2, progress=True)
    assert "6/6" in capsys.readouterr().err, "replicas of all remedies"

    drawn: list[str] = []

    class Handle:
        def update(self, shown: Any) -> None:
            drawn.append(shown._repr_html_())

    def display(shown: Any, display_id: bool) -> Handle:
        drawn.append(shown._repr_html_())
        return Handle()

    monkeypatch.setattr("fairair._progress.in_notebook", lambda: True)
    monkeypatch.setattr("IPython.display.display", display)
    fairair.compare(short, ["las"], replicas=1)
    assert 'value="0" max="2"' in drawn[0]
    assert "replicas 2/2" in drawn[-1]
    before = len(drawn)
    fairair.run(short.with_({"run.duration": "300 s"}), progress=True, replicas=4)
    assert "replicas" in drawn[before]
    assert capsys.readouterr().err == ""


def test_the_model_that_applies_answers_by_default_as_on_the_command_line(cell: Scenario) -> None:
    boxed = cell.with_({"enforce": {"policy": "per-station", "capacity": "4 Mbit/s"}})
    for scenario, name in [(cell, "unified"), (boxed, "shares")]:
        assert fairair.run(scenario, engine="model").to_dict()["model"]["name"] == name
    with pytest.raises(FairAirError, match="shares") as refused:
        fairair.run(cell, engine="model", model="magic")
    assert all(model.name in str(refused.value) for model in fairair.models.of_scenarios())


def test_what_a_model_does_not_know_is_nothing_and_not_zero(cell: Scenario) -> None:
    summary = fairair.run(cell, engine="model").summary
    report = fairair.run(cell, engine="model").to_dict()
    assert summary.loc["goodput_bps", "n"] == 1
    for direction in ("up", "down"):
        assert report["directions"][direction]["timeouts"] == {"mean": None, "ci95": None, "n": 0}
        assert report["directions"][direction]["transfers"]["count"]["n"] == 0
    assert report["ap_uplink_queue"]["mean_packets"] == {"mean": None, "ci95": None, "n": 0}


def test_the_catalogue_names_what_tables_and_sweeps_have(cell: Scenario) -> None:
    catalogue = fairair.quantities()
    units = {quantity.name: quantity.unit for quantity in catalogue if quantity.level == "cell"}
    data = fairair.sweep(cell.with_({"run.duration": "3 s"}), {"ap.queue.limit": [20]}, replicas=1)
    assert {name: data[name].attrs["units"] for name in units} == units
    columns = {quantity.name for quantity in catalogue if quantity.level == "station"}
    assert columns < set(fairair.run(cell.with_({"run.duration": "3 s"}), replicas=1).stations.columns)
    assert all(quantity.what for quantity in catalogue)
