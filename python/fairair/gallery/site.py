"""The pages: HTML from jinja2 templates, plots inside, scenario files beside."""

from __future__ import annotations

import json
import math
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from fairair._engine_id import version
from fairair._errors import FairAirError
from fairair.gallery import tried
from fairair.gallery.curve import SCALAR, Curve, X
from fairair.gallery.draw import draw
from fairair.gallery.spec import Paper, Series
from fairair.gallery.verdict import TOLERANCES, Verdict

if TYPE_CHECKING:
    from fairair.gallery.build import Built

__all__ = ["Site"]

_ENGINES = {
    "sim": "simulation",
    "model": "analytical model",
    "function": "equations of the paper",
    "files": "simulation to the end of the last large file",
}


def number(value: float) -> str:
    """Four significant digits; a dash for what does not exist."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:.0f}" if abs(value) >= 1e4 else f"{value:.4g}"


class Site:
    """A folder of pages, each written whole.

    Parameters
    ----------
    out : Path
        Made when it is missing.
    quick : bool
        Whether the pages have to say that runs were short.
    """

    def __init__(self, out: Path, *, quick: bool) -> None:
        self.out, self.quick = out, quick
        self.environment = jinja2.Environment(
            loader=jinja2.PackageLoader("fairair.gallery"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.environment.filters["number"] = number
        self.environment.globals.update(quick=quick, version=version(), Verdict=Verdict)

    def figure(self, built: Built) -> None:
        """Write the page of a figure, and its scenario files."""
        figure = built.figure
        page = self.environment.get_template("figure.html").render(
            built=built,
            paper=built.paper,
            figure=figure,
            plots=draw(figure, built.computed.curves),
            tables=_tables(built),
            files=self._scenarios(built),
            trial=tried.read(tried.path_of(figure.folder, figure.key)),
            engines=_ENGINES,
            series=[(series, _recipe(series)) for series in figure.series],
        )
        self._write(f"{figure.paper}/{figure.key}.html", page)

    def index(self, papers: Sequence[Paper], built: Sequence[Built]) -> None:
        """Write the index of all figures with their verdicts."""
        counts = Counter(one.verdict for one in built)
        page = self.environment.get_template("index.html").render(
            papers=[(paper, [one for one in built if one.paper.key == paper.key]) for paper in papers],
            counts=[(verdict, counts[verdict]) for verdict in Verdict],
            total=len(built),
            tolerances=TOLERANCES,
        )
        self._write("index.html", page)
        self._write("verdicts.json", json.dumps(_verdicts(built, self.quick), indent=1) + "\n")

    def _scenarios(self, built: Built) -> list[tuple[str, str]]:
        """Write the scenario of the first point of each series as it was run; equal ones once."""
        seen: dict[str, tuple[str, list[str]]] = {}
        for key, scenario in built.computed.scenarios.items():
            text = scenario.to_toml()
            if text in seen:
                seen[text][1].append(key)
                continue
            name = f"{built.figure.key}-{key}.toml"
            self._write(f"{built.figure.paper}/{name}", text)
            seen[text] = (name, [key])
        return [(name, ", ".join(keys)) for name, keys in seen.values()]

    def _write(self, name: str, text: str) -> None:
        path = self.out / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
                file.write(text)
            temporary = Path(file.name)
            temporary.chmod(0o644)
            temporary.rename(path)
        except OSError as error:
            raise FairAirError(str(path), f"cannot write: {error.strerror}", "name another folder with --out") from None


def _verdicts(built: Sequence[Built], quick: bool) -> dict[str, Any]:
    """Return the verdicts for programs."""
    figures = [
        {
            "paper": one.paper.key,
            "figure": one.figure.name,
            "page": f"{one.paper.key}/{one.figure.key}.html",
            "verdict": one.verdict.value,
            "checks": len(one.rows),
            "hold": sum(row.outcome.holds for row in one.rows),
        }
        for one in built
    ]
    return {"quick": quick, "version": version(), "figures": figures}


def _recipe(series: Series) -> str:
    """Return what was asked for a series, in a line."""
    if series.engine == "function":
        args = ", ".join(f"{key}={value}" for key, value in series.args.items())
        over = f", {series.over} = x" if series.over else ""
        return f"fairair.models.{series.function}({args}{over})" + (f" → {series.output}" if series.output else "")
    changes = [f"{path} = {value}" for path, value in {**series.set, **series.vary}.items()]
    changed = "; ".join(changes).replace("{x}", "x")
    what = f"{series.measure} of {series.scenario}" + (f" ({series.model})" if series.model else "")
    return f"{what}; {changed}" if changed else what


def _tables(built: Built) -> list[dict[str, Any]]:
    """Tables of the values, one a panel; samples over time are too long for one."""
    panels = {panel.id: panel.title or panel.y for panel in built.figure.panels}
    groups: dict[tuple[str | None, tuple[X, ...]], list[Series]] = {}
    for series in built.figure.series:
        xs = built.computed.curves[series.id].x
        groups.setdefault((None if xs == SCALAR else series.panel, xs), []).append(series)
    tables = []
    for (panel, xs), members in groups.items():
        if len(xs) > 40:
            continue
        columns = [_column(built, series, xs) for series in members]
        recorded = [(series.label, built.figure.recorded.get(series.id)) for series in members]
        columns += [_recorded(label, curve, xs) for label, curve in recorded if curve is not None]
        tables.append({"columns": columns, "xs": xs, "scalar": xs == SCALAR, "caption": panels[panel] if panel else ""})
    return tables


def _column(built: Built, series: Series, xs: tuple[X, ...]) -> dict[str, Any]:
    curve = built.computed.curves[series.id]
    quoted = [(x, y) for p in built.figure.published if p.series == series.id for x, y in p.points]
    papers = [[y for at, y in quoted if curve.scalar or at == x] for x in xs]
    cells = [{"y": float(y), "ci": float(ci), "paper": p} for y, ci, p in zip(curve.y, curve.ci, papers, strict=True)]
    return {"label": series.label, "cells": cells}


def _recorded(label: str, curve: Curve, xs: tuple[X, ...]) -> dict[str, Any]:
    """Return a column of what the testbed measured, empty where it did not."""
    widths = replace(curve, y=curve.ci)
    return {"label": f"testbed: {label}", "cells": [{"y": curve.at(x), "ci": widths.at(x), "paper": []} for x in xs]}
