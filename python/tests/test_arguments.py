"""Whatever an argument of the public API is, the answer is a result or `FairAirError`: never another error."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from test_api import FUNCTIONS

import fairair
from fairair import FairAirError, Scenario, goals, plot
from fairair.models import detti2011

mpl.use("agg")

CELL = Scenario(
    {
        "name": "cell",
        "run": {"duration": "2 s", "warmup": "0.5 s", "replicas": 2, "sample_interval": "500 ms"},
        "radio": {"rate": "1 Mbit/s", "basic_rate": "1 Mbit/s"},
        "ap": {"queue": {"kind": "droptail"}},
        "station": [
            {"name": "a", "flows": [{"direction": "up", "kind": "files", "size": "5 kB"}]},
            {"name": "b", "flows": [{"direction": "down"}]},
        ],
    }
)
ENDLESS = CELL.with_({"station.a.flows.0.kind": None, "station.a.flows.0.size": None})
WRONG: dict[str, Any] = {
    "None": None,
    "a number": 3,
    "a negative number": -3,
    "a fraction": 0.5,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "true": True,
    "a text": "zzzz",
    "nothing": "",
    "bytes": b"cell.toml",
    "a list": [1, "a"],
    "a dictionary": {"name": "x"},
    "a class": Scenario,
    "an object": object(),
    "an array": np.array([1.0, 2.0]),
    "a huge number": 2**70,
}


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Return a call that works of each function that is no model's."""
    folder = tmp_path_factory.mktemp("walk")
    result, comparison = fairair.run(CELL), fairair.compare(CELL, ["vsb"], progress=False)
    data = fairair.sweep(CELL, {"ap.queue.limit": [10, 50]}, progress=False)
    planned = fairair.plan(CELL, "a >= 1 kbit/s", deploy="ap", progress=False)
    result.to_parquet(folder / "kept")
    file = folder / "cell.toml"
    file.write_text(CELL.to_toml())
    ways: list[tuple[Callable[..., Any], dict[str, Any]]] = [
        (Scenario, {"document": CELL.to_dict()}),
        (Scenario.load, {"path": file}),
        (Scenario.from_toml, {"text": CELL.to_toml(), "file": "cell.toml"}),
        (Scenario.from_dict, {"document": CELL.to_dict()}),
        (lambda changes: CELL.with_(changes), {"changes": {"run.seed": 2}}),
        (fairair.run, {"scenario": CELL, "engine": "sim"}),
        (lambda **words: fairair.run(ENDLESS, "model", **words), {"model": "unified"}),
        (fairair.compare, {"scenario": CELL, "names": ["vsb"]}),
        (fairair.sweep, {"scenario": CELL, "grid": {"ap.queue.limit": [10]}}),
        (fairair.air, {"scenario": CELL, "seconds": 0.01}),
        (fairair.plans, {"problems": []}),
        (fairair.quantities, {}),
        (fairair.remedies, {}),
        (fairair.catalogue.quantity, {"name": "goodput_bps"}),
        (fairair.Estimate.of, {"value": {"mean": 1.0, "ci95": None, "n": 1}}),
        (fairair.Result, {"native": result._native}),
        (fairair.Result.from_json, {"text": result.to_json()}),
        (fairair.Result.load, {"path": folder / "kept"}),
        (result.fairness_level, {"station": "a", "other": "b"}),
        (result.to_arrow, {"table": "flows"}),
        (result.to_parquet, {"path": folder / "new"}),
        (fairair.Plan.from_json, {"text": planned.to_json()}),
        (planned.apply, {"scenario": CELL}),
        (planned.candidates[0].apply, {"scenario": CELL}),
        (planned.front[0].apply, {"scenario": CELL}),
        (plot.goodput, {"result": result}),
        (plot.against, {"data": data, "x": "ap.queue.limit", "y": "goodput_bps"}),
        (plot.transfer_cdf, {"results": {"a": result}}),
        (plot.queue, {"result": result}),
        (plot.cwnd, {"result": result, "flows": [1]}),
        (plot.remedies, {"comparison": comparison}),
        (plot.air, {"seen": fairair.air(CELL, 0.01)}),
        (plot.front, {"plan": planned}),
        (plot.save, {"ax": plot.goodput(result), "path": folder / "a.svg"}),
        (goals.Level, {"value": 1.0}),
        (goals.DownUp, {"value": 1.0}),
        (goals.UpDown, {"value": 1.0}),
        (goals.Goodput, {"who": "a", "at_least_bps": 1e3}),
        (goals.Delay, {"at_most_s": 0.1, "who": "a"}),
        (goals.Files, {"at_most_s": 0.1, "who": "a"}),
        (detti2011.solve([3, 0], [0, 1]).fairness_level, {"i": 0, "j": 1}),
    ]
    return {f"{getattr(call, '__qualname__', call)} {'_'.join(base)}": (call, base) for call, base in ways}


def arguments(call: Callable[..., Any], base: dict[str, Any]) -> list[str]:
    named = inspect.signature(call).parameters
    more = [name for name, one in named.items() if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
    return list(dict.fromkeys([*base, *more]))


def tried(call: Callable[..., Any], base: dict[str, Any], name: str, label: str) -> str | None:
    """Return what is wrong with the answer to a wrong argument; None: nothing."""
    try:
        answer = call(**{**base, name: WRONG[label]})
        str(answer)
    except FairAirError as error:
        if not (error.place and error.problem and error.fix):
            return f"{name} = {label}: {error}"
    except Exception as error:
        return f"{name} = {label}: {type(error).__name__}: {error}"
    return None


def test_wrong_arguments_are_refused_in_words(
    calls: dict[str, tuple[Callable[..., Any], dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = []
    for key, (call, base) in calls.items():
        call(**base)
        for name in arguments(call, base):
            found += [f"{key}: {bad}" for label in WRONG if (bad := tried(call, base, name, label))]
            plt.close("all")
    # A plan takes seconds, and none is made where its goal is nobody's.
    impossible = {"scenario": CELL, "goals": "nobody >= 1 kbit/s"}
    for name in arguments(fairair.plan, impossible):
        found += [f"plan: {bad}" for label in WRONG if (bad := tried(fairair.plan, impossible, name, label))]
    assert not found, "\n".join(found)


OF_MODELS = [function for function in FUNCTIONS if function.__module__.startswith("fairair.models.")]


@pytest.mark.parametrize("function", OF_MODELS, ids=lambda function: f"{function.__module__}.{function.__qualname__}")
def test_wrong_arguments_of_a_model_are_refused_in_words(function: Callable[..., Any]) -> None:
    named = inspect.signature(function).parameters
    if "self" in named:
        return
    base = {name: 1.0 for name, one in named.items() if one.default is one.empty}
    found = [bad for name in named for label in WRONG if (bad := tried(function, base, name, label))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: fairair.run(CELL, model=fairair.models.Model), "model: .* is a type\n.*detti2011"),  # type: ignore[arg-type]
        (lambda: fairair.run({"name": "cell"}), "scenario: .*is a dict\n.*from_dict"),  # type: ignore[arg-type]
        (lambda: fairair.plan(CELL, max_delay=50), 'max_delay: 50 is an int\n.*unit.*"50 ms"'),  # type: ignore[arg-type]
        (lambda: fairair.plan(CELL, tolerance=float("nan")), "tolerance: nan is no number"),
        (lambda: fairair.compare(CELL, "vsb"), r"names: 'vsb' is a str\n.*\[\"vsb\"\]"),
        (lambda: fairair.sweep(CELL, {"ap.queue.limit": [1]}, jobs=-1), "jobs: -1 is below 0"),
        (lambda: goals.Level("a"), "Level.value: 'a' is a str\n.*number"),  # type: ignore[arg-type]
        (lambda: plot.goodput(3), "result: 3 is an int\n.*fairair.run"),  # type: ignore[arg-type]
        (lambda: plot.against(3, "x"), "data: 3 is an int\n.*fairair.sweep"),  # type: ignore[arg-type]
        (lambda: Scenario.load(["a"]), r"path: \['a'\] is a list\n.*a text or a path"),  # type: ignore[arg-type]
        (lambda: Scenario.load("a\0b"), r"path: 'a\\x00b' is no path"),
        (lambda: Scenario.from_toml("name = '\udce4'"), "text: .* is no Unicode text"),
        (lambda: plot.cwnd(fairair.run(CELL), [7]), "there is no flow 7\n.*0 to 1"),
        (lambda: fairair.Plan.from_json('{"schema": "fairair.plan/2"}'), "plan: this is not the whole of a plan"),
    ],
)
def test_what_is_wrong_with_an_argument_and_its_fix(ask: Callable[[], Any], words: str) -> None:
    with pytest.raises(FairAirError, match=words):
        ask()


def test_numbers_of_numpy_are_numbers() -> None:
    assert fairair.run(CELL, seed=int(np.int64(3)), jobs=np.int32(1)).name == "cell"  # type: ignore[arg-type]
    assert goals.Level(np.float32(1.5)) == goals.Level(1.5)  # type: ignore[arg-type]
