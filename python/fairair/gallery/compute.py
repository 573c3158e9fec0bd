"""From a figure's file to curves: every series is asked of its engine, point by point."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from fairair._errors import FairAirError
from fairair.engine import run
from fairair.gallery.curve import SCALAR, Curve, X
from fairair.gallery.files import FILES, REVISION, files
from fairair.gallery.measure import measure, trace
from fairair.gallery.spec import Figure, Paper, Series
from fairair.gallery.store import Store
from fairair.scenario import Scenario

__all__ = ["Computed", "asked", "compute", "curve_of", "questions", "scenario_of"]


Question = tuple[list[Any], Callable[..., Any], tuple[Any, ...]]
"""What a store keeps an answer to, and the call that answers it."""


@dataclass(frozen=True)
class Computed:
    """A figure's curves, and the scenario of each series' first point."""

    curves: dict[str, Curve]
    scenarios: dict[str, Scenario]


def compute(paper: Paper, figure: Figure, store: Store, *, quick: bool = False, jobs: int = 0) -> Computed:
    """Ask the engines for every series of a figure; what `store` knows is not asked again.

    Raises
    ------
    FairAirError
        A mistake in the figure's file or its scenarios.
    """
    curves, scenarios = {}, {}
    for series in figure.series:
        place = f"{figure.paper}/{figure.key}.toml: series {series.id}"
        try:
            if series.engine == "function":
                curves[series.id] = _function(figure, series, quick)
                continue
            scenarios[series.id] = scenario_of(paper, figure, series, 0, quick)
            curves[series.id] = _asked(paper, figure, series, store, quick, jobs)
        except FairAirError as error:
            raise FairAirError(f"{place}: {error.place}", error.problem, error.fix) from None
    return Computed(curves, scenarios)


def scenario_of(paper: Paper, figure: Figure, series: Series, point: int, quick: bool) -> Scenario:
    """Return the scenario of the point with this position among the x of a series."""
    cell = Scenario.load(figure.folder / series.scenario)
    if quick:
        cell = cell.with_({**paper.quick, **figure.quick})
    xs = figure.xs(series, quick)
    changes = dict(series.set)
    for path, rule in series.vary.items():
        if isinstance(rule, list):
            changes[path] = rule[(series.values or figure.values).index(xs[point])]
        else:
            changes[path] = _filled(str(rule), xs[point])
    return cell.with_(changes) if changes else cell


def _filled(rule: str, x: X) -> Any:
    return x if rule == "{x}" else rule.replace("{x}", str(x))


def questions(paper: Paper, figure: Figure, *, quick: bool = False) -> Iterator[Question]:
    """Yield what `compute` would ask engines about a figure, each for one thread, for `Store.fill`."""
    for series in figure.series:
        if series.engine != "function":
            for cell in _cells(paper, figure, series, quick)[1]:
                yield _files_question(cell, 1) if series.engine == "files" else _report_question(series, cell, 1)


def _asked(paper: Paper, figure: Figure, series: Series, store: Store, quick: bool, jobs: int) -> Curve:
    xs, cells = _cells(paper, figure, series, quick)
    return curve_of(series, cells, xs, store, jobs)


def _cells(paper: Paper, figure: Figure, series: Series, quick: bool) -> tuple[tuple[X, ...], list[Scenario]]:
    xs = figure.xs(series, quick) if series.vary else ()
    return xs, [scenario_of(paper, figure, series, point, quick) for point in range(max(len(xs), 1))]


def curve_of(series: Series, cells: list[Scenario], xs: tuple[X, ...], store: Store, jobs: int) -> Curve:
    """Return a series over `xs`, whose scenarios are `cells`."""
    if series.engine == "files":
        return _scaled(_files(series, cells, xs, store, jobs), series.scale)
    reports = [_report(series, cell, store, jobs) for cell in cells]
    return asked(series, reports, xs)


def asked(series: Series, reports: Sequence[dict[str, Any]], xs: tuple[X, ...]) -> Curve:
    """Return what reports, one for each x, say of a series."""
    whole = trace(series.measure, reports[0])
    if whole is not None:
        return _scaled(whole, series.scale)
    pairs = [measure(series.measure, report) for report in reports]
    n = 0 if series.engine == "model" else int(reports[0]["replicas"])
    curve = Curve.of(xs or SCALAR, [p[0] for p in pairs], [p[1] for p in pairs], n)
    if series.windows:
        curve = _windows(curve, [float(report["measured_s"]) for report in reports])
    return _scaled(curve, series.scale)


def _windows(curve: Curve, rest: list[float]) -> Curve:
    """Means between each x and the next, from means between each x and the end, `rest` seconds later."""
    left = np.append(curve.y * rest, 0.0)
    return Curve.of(curve.x, (left[:-1] - left[1:]) / -np.diff(np.append(rest, 0.0)), n=curve.n)


def _scaled(curve: Curve, scale: float) -> Curve:
    return replace(curve, y=curve.y * scale, ci=curve.ci * scale)


def _report(series: Series, cell: Scenario, store: Store, jobs: int) -> dict[str, Any]:
    question, function, arguments = _report_question(series, cell, jobs)
    report: dict[str, Any] = store.get(question, partial(function, *arguments))
    return report


def _report_question(series: Series, cell: Scenario, jobs: int) -> Question:
    return [series.engine, series.model, cell.expanded], _report_of, (cell, series.engine, series.model, jobs)


def _report_of(cell: Scenario, engine: Any, model: str | None, jobs: int) -> Any:
    return json.loads(run(cell, engine, model=model, jobs=jobs).to_json())


def _files_question(cell: Scenario, jobs: int) -> Question:
    return ["files", REVISION, cell.expanded], files, (cell, jobs)


def _files(series: Series, cells: list[Scenario], xs: tuple[X, ...], store: Store, jobs: int) -> Curve:
    if series.measure not in FILES:
        raise FairAirError("measure", f"{series.measure!r} is none of files", f"use one of: {', '.join(FILES)}")
    rows = []
    for cell in cells:
        question, function, arguments = _files_question(cell, jobs)
        kept = store.get(question, partial(function, *arguments))
        rows.append(_estimate([math.nan if value is None else value for value in kept[series.measure]]))
    return Curve.of(xs or SCALAR, [row[0] for row in rows], [row[1] for row in rows], cells[0].replicas)


# 97.5 % points of Student's t for 1 to 30 degrees of freedom.
_STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131]
_STUDENT += [2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042]


def _estimate(values: list[float]) -> tuple[float, float]:
    """Mean over replicas and its 95 % half-width."""
    known = np.asarray([value for value in values if not math.isnan(value)])
    if known.size == 0:
        return math.nan, math.nan
    if known.size == 1:
        return float(known[0]), math.nan
    width = _STUDENT[min(known.size - 2, 29)] * known.std(ddof=1) / math.sqrt(known.size)
    return float(known.mean()), float(width)


def _function(figure: Figure, series: Series, quick: bool) -> Curve:
    """Return a function of `fairair.models` over x; ``output`` picks a field of what it returns."""
    room, _, name = series.function.rpartition(".")
    try:
        function = getattr(importlib.import_module(f"fairair.models.{room}"), name)
    except (ImportError, AttributeError):
        fix = "name it as in fairair.models, such as ha2009.optimal_p"
        raise FairAirError("function", f"there is no model function {series.function!r}", fix) from None
    xs = figure.xs(series, quick) if series.over or series.vary or _varies(series.args) else ()
    values = []
    for x in xs or SCALAR:
        args = {key: _argument(value, x) for key, value in series.args.items()}
        args |= {key: rule[(series.values or figure.values).index(x)] for key, rule in series.vary.items()}
        answer = function(**args, **({series.over: x} if series.over else {}))
        values.append(_picked(answer, series.output))
    return _scaled(Curve.of(xs or SCALAR, values), series.scale)


def _varies(args: Mapping[str, Any]) -> bool:
    return any(value == "{x}" or (isinstance(value, list) and "{x}" in value) for value in args.values())


def _argument(value: Any, x: X) -> Any:
    if isinstance(value, list):
        return [_argument(item, x) for item in value]
    return x if value == "{x}" else value


def _picked(answer: Any, output: str) -> float:
    """Follow ``field``, ``field.3`` or ``0/1`` (a ratio of two elements)."""
    for part in output.split(".") if output else ():
        if "/" in part:
            a, b = (float(np.asarray(answer)[..., int(k)]) for k in part.split("/"))
            return a / b
        answer = np.asarray(answer)[..., int(part)] if part.isdigit() else getattr(answer, part)
    return float(np.asarray(answer).reshape(-1)[0])
