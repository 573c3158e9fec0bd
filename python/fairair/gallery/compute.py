"""From a figure's description to the numbers of its curves."""

from __future__ import annotations

from typing import Any

import numpy as np

import fairair
from fairair import models
from fairair._errors import FairAirError
from fairair.gallery.rules import Data
from fairair.gallery.spec import Curve, Figure, Paper, Place
from fairair.result import Estimate, Result
from fairair.scenario import Scenario

__all__ = ["compute"]

_STEP_S = 0.5
"""Distance of the samples of a trace of capacities."""


def compute(paper: Paper, figure: Figure, *, quick: bool, jobs: int = 0) -> dict[str, Data]:
    """Run all curves of a figure."""
    places = figure.quick if quick else figure.places
    extra = figure.quick_set if quick else {}
    return {curve.name: _curve(paper, curve, places, extra, jobs) for curve in figure.curves}


def _curve(paper: Paper, curve: Curve, places: list[Place], extra: dict[str, Any], jobs: int) -> Data:
    if curve.engine == "function":
        estimates = [Estimate(_function(curve, place), np.nan, 1) for place in places]
        return _data(places, estimates, curve.factor)
    assert curve.scenario is not None, f"{curve.name} names no scenario"
    base = Scenario.load(paper.folder / curve.scenario)
    if curve.kind != "points":
        return _one_run(curve, _run(base, curve, places[0], extra, jobs))
    results = [_run(base, curve, place, extra, jobs) for place in places]
    return _data(places, [_measure(result, curve.measure) for result in results], curve.factor)


def _run(base: Scenario, curve: Curve, place: Place, extra: dict[str, Any], jobs: int) -> Result:
    changes = {**({} if curve.engine == "model" else extra), **curve.set}
    scenario = base.with_({path: place.fill(value) for path, value in changes.items()})
    if curve.engine == "model":
        return fairair.run(scenario, engine="model", model=curve.model, jobs=jobs)
    return fairair.run(scenario, jobs=jobs)


def _data(places: list[Place], estimates: list[Estimate], factor: float) -> Data:
    mean, ci95 = (np.array([e[part] for e in estimates], dtype=np.float64) * factor for part in (0, 1))
    return Data(np.array([place.x for place in places], dtype=np.float64), mean, ci95)


def _one_run(curve: Curve, result: Result) -> Data:
    if curve.kind == "flows":
        y, ci95 = result.flows["goodput_bps"], result.flows["goodput_bps_ci95"]
        return Data(np.arange(1.0, len(y) + 1), y.to_numpy() * curve.factor, ci95.to_numpy() * curve.factor)
    if curve.kind == "capacity":
        trace = result.capacity
        assert trace is not None, f"{curve.name} has no box"
        # C begins at its largest value and changes in steps.
        times = np.arange(0.0, trace.index[-1] if len(trace) else 1.0, _STEP_S)
        most = _bps(result.to_dict()["scenario"]["enforce"]["capacity"]["max"])
        steps = np.append(most, trace["capacity_bps"].to_numpy(dtype=np.float64))
        c = steps[np.searchsorted(trace.index.to_numpy(), times, side="right")]
        return Data(times, c * curve.factor, np.full(len(times), np.nan))
    if curve.kind == "cwnd":
        series = result.timeseries[f"cwnd_{curve.flow}"]
    elif curve.kind == "queue":
        series = result.timeseries["ap_queue_packets"]
    else:
        raise FairAirError(curve.name, f"there is no kind {curve.kind!r}", "see docs/gallery.md")
    x = series.index.to_numpy(dtype=float)
    return Data(x, series.to_numpy(dtype=float) * curve.factor, np.full(len(x), np.nan))


def _bps(rate: str) -> float:
    """Read a rate as results write it."""
    number, unit = rate.split()
    return float(number) * {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}[unit]


def _function(curve: Curve, place: Place) -> float:
    assert curve.function is not None
    module, name = curve.function.split(".")
    answer = getattr(getattr(models, module), name)(**place.fill(curve.args))
    if curve.output is None:
        return float(answer)
    above, slash, below = curve.output.partition(" / ")
    return _output(answer, above) / _output(answer, below) if slash else _output(answer, above)


def _output(answer: Any, path: str) -> float:
    for step in path.split("."):
        answer = answer[int(step)] if step.isdigit() else getattr(answer, step)
    return float(answer)


def _measure(result: Result, path: str) -> Estimate:
    """Look up a path in a result; ``a + b / c+d`` is a plus b over the sum of c and d, all means."""
    if " + " in path:
        return Estimate(sum(_measure(result, term).mean for term in path.split(" + ")), np.nan, 0)
    if " / " in path:
        above, below = path.split(" / ")
        divisor = sum(_measure(result, term).mean for term in below.split("+"))
        return Estimate(_measure(result, above).mean / divisor if divisor else np.nan, np.nan, 0)
    at: Any = result.to_dict()
    for step in path.split("."):
        at = at[int(step)] if isinstance(at, list) else at[step]
    return Estimate.of(at)
