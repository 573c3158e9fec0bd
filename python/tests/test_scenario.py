"""Scenarios: read, changed by path, refused with place and fix."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import REPOSITORY, cell_document

import fairair
from fairair import FairAirError, Scenario


@pytest.mark.parametrize("path", sorted((REPOSITORY / "scenarios").glob("*.toml")), ids=lambda path: path.stem)
def test_every_scenario_of_the_repository_survives_the_way_through_python(path: Path) -> None:
    scenario = Scenario.load(path)
    assert Scenario.from_toml(scenario.to_toml()) == scenario
    assert Scenario.from_dict(scenario.to_dict()) == scenario
    assert pickle.loads(pickle.dumps(scenario)) == scenario  # noqa: S301 # our own bytes


def test_paths_reach_stations_by_name_by_position_and_all(cell: Scenario) -> None:
    by_name = cell.with_({"station.sta1.flows.0.count": 6})
    assert by_name.flow_count == 10
    assert by_name == cell.with_({"station.0.flows.0.count": np.int64(6)})
    rates = [station["rate"] for station in cell.with_({"station.*.rate": "2 Mbit/s"}).expanded["stations"]]
    assert rates == ["2 Mbit/s"] * 5
    assert cell.flow_count == 7, "the original has not changed"


def test_a_table_that_is_not_there_is_made_and_none_takes_a_key_away(cell: Scenario) -> None:
    wider = cell.with_({"tcp.window": 20})
    assert wider.expanded["stations"][0]["flows"][0]["tcp"]["window"] == 20
    assert wider.with_({"tcp": None}) == cell


@pytest.mark.parametrize(
    ("changes", "place", "words"),
    [
        ({"station.sta1.flows.0.cuont": 3}, "station.sta1.flows.0.cuont", "did you mean `count`?"),
        ({"ap.queue.limt": 3}, "ap.queue.limt", "did you mean `limit`?"),
        ({"radio.rate": "11 Mb"}, "radio.rate", "11 Mbit/s"),
        ({"run.replicas": 0}, "run.replicas", "1"),
        ({"station.sta9.rate": "2 Mbit/s"}, "station.sta9.rate", "use one of: sta1, other"),
        ({"station.7.rate": "2 Mbit/s"}, "station.7.rate", "sta1, other"),
        ({"run.duration.seconds": 3}, "run.duration.seconds", "plain value"),
        ({"run..seed": 3}, "run..seed", "empty part"),
        ({"run.seed": float("nan")}, "run.seed", "finite"),
        ({"run.seed": object()}, "run.seed", "plain value"),
        ({"rum.seed": 3}, "rum", "did you mean `run`?"),
    ],
)
def test_a_wrong_change_is_refused_with_place_and_fix(
    cell: Scenario, changes: dict[str, Any], place: str, words: str
) -> None:
    with pytest.raises(FairAirError) as caught:
        cell.with_(changes)
    assert caught.value.place == place
    assert words in str(caught.value)


def test_what_is_missing_is_said() -> None:
    document = cell_document()
    del document["run"]
    with pytest.raises(FairAirError, match=r"^scenario: `duration` is missing in \[run\]"):
        Scenario.from_dict(document)


def test_a_mistake_in_a_file_has_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "cell.toml"
    path.write_text('name = "x"\n[run]\nduration = "1 s"\nsede = 1\n[[station]]\nname = "a"\n')
    with pytest.raises(FairAirError, match=r"cell\.toml:4:1: unknown key `sede`"):
        Scenario.load(path)
    with pytest.raises(FairAirError, match="cannot read the scenario file"):
        Scenario.load(tmp_path / "none.toml")
    path.write_bytes(b"\xff")
    with pytest.raises(FairAirError, match="not UTF-8"):
        Scenario.load(path)


def test_a_run_reads_files_too(tmp_path: Path, cell: Scenario) -> None:
    path = tmp_path / "cell.toml"
    path.write_text(cell.to_toml())
    assert fairair.run(path, replicas=1).fingerprint == fairair.run(cell, replicas=1).fingerprint


def test_the_package_brings_the_scenarios_of_the_repository() -> None:
    files = fairair.scenarios()
    assert set(files) == {path.stem for path in (REPOSITORY / "scenarios").iterdir()}
    for name, path in files.items():
        assert Scenario.load(path).name == name
