"""What stands under gallery/: a folder a paper, with its figures in figures.toml and the scenarios that they run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from fairair._errors import FairAirError
from fairair.gallery.rules import Claim

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Curve", "Figure", "Paper", "Place", "Published", "read_papers"]


class Place(NamedTuple):
    """A place on the x axis: its number, its label, and what ``$name`` stands for there."""

    x: float
    label: str
    variables: dict[str, Any]

    def fill(self, value: Any) -> Any:
        """Put the variables into a value: ``"$x"`` becomes its value, ``"{x} ms"`` a text with it.

        ``"$name?"`` is None where the place has no such variable, which takes a key of a scenario away.
        """
        if isinstance(value, str) and value.startswith("$"):
            name = value[1:]
            return self.variables.get(name[:-1]) if name.endswith("?") else self.variables[name]
        if isinstance(value, str):
            return value.format(**self.variables)
        if isinstance(value, Mapping):
            return {key: self.fill(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        return value


class Curve(NamedTuple):
    """What is computed for one curve."""

    name: str
    scenario: str | None
    """File in the paper's folder."""
    set: dict[str, Any]
    """Paths of the scenario with values, `Place.fill` applied."""
    measure: str
    """Path in a result, for instance ``indices.jain_flows``."""
    factor: float
    engine: str
    """``sim``, ``model``, or ``function`` of `fairair.models`."""
    model: str | None
    kind: str
    """``points``: a run a place. ``flows``, ``cwnd``, ``queue``, ``capacity``: one run, its flows or times are the places."""
    flow: int
    function: str | None
    args: dict[str, Any]
    output: str | None
    draw: bool
    """Whether the plot has it; the table always does."""


class Published(NamedTuple):
    """Numbers of the paper to draw beside ours."""

    name: str
    x: list[float]
    y: list[float]


class Figure(NamedTuple):
    """A figure or table of a paper."""

    id: str
    title: str
    source: str
    """Where its numbers stand in the paper."""
    note: str
    places: list[Place]
    quick: list[Place]
    x_label: str
    y_label: str
    log_x: bool
    log_y: bool
    curves: list[Curve]
    published: list[Published]
    claims: list[Claim]
    quick_set: dict[str, Any]


class Paper(NamedTuple):
    """A paper and its figures."""

    key: str
    citation: str
    folder: Path
    figures: list[Figure]


def read_papers(source: str | PathLike[str]) -> list[Paper]:
    """Read all papers under a folder.

    Raises
    ------
    FairAirError
        There is none, or a file has a mistake.
    """
    folders = sorted(path.parent for path in Path(source).glob("*/figures.toml"))
    if not folders:
        raise FairAirError(str(source), "there is no */figures.toml", "run it in the repository, or give --source")
    return [_paper(folder) for folder in folders]


def _paper(folder: Path) -> Paper:
    file = folder / "figures.toml"
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
        paper = content["paper"]
        figures = [_figure(table, paper) for table in content["figure"]]
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise FairAirError(str(file), f"this is no list of figures: {error!r}", "see docs/gallery.md") from None
    ids = [figure.id for figure in figures]
    if len(ids) != len(set(ids)):
        raise FairAirError(str(file), "two figures have the same id", "give each its own")
    return Paper(folder.name, paper["citation"], folder, figures)


def _figure(table: dict[str, Any], paper: dict[str, Any]) -> Figure:
    x, y = table["x"], table["y"]
    places = [_place(index, value) for index, value in enumerate(x["values"])]
    quick = [place for place, value in zip(places, x["values"], strict=True) if value in x.get("quick", x["values"])]
    return Figure(
        id=table["id"],
        title=table["title"],
        source=table["source"],
        note=table.get("note", ""),
        places=places,
        quick=quick,
        x_label=x["label"],
        y_label=y["label"],
        log_x=x.get("log", False),
        log_y=y.get("log", False),
        curves=[_curve(curve, table, y) for curve in table["curve"]],
        published=[Published(**published) for published in table.get("published", [])],
        claims=[Claim(**claim) for claim in table["claim"]],
        quick_set={**paper.get("quick", {}), **table.get("quick", {})},
    )


def _place(index: int, value: Any) -> Place:
    if isinstance(value, Mapping):
        return Place(float(value.get("x", index)), str(value["label"]), dict(value))
    if isinstance(value, str):
        return Place(float(index), value, {"x": value})
    return Place(float(value), f"{value:g}", {"x": value, "half": int(value) // 2})


def _curve(table: dict[str, Any], figure: dict[str, Any], y: dict[str, Any]) -> Curve:
    return Curve(
        name=table["name"],
        scenario=table.get("scenario", figure.get("scenario")),
        set={**figure.get("set", {}), **table.get("set", {})},
        measure=table.get("measure", y.get("measure", "")),
        factor=table.get("factor", y.get("factor", 1.0)),
        engine="function" if "function" in table else table.get("engine", "sim"),
        model=table.get("model"),
        kind=table.get("kind", figure.get("kind", "points")),
        flow=table.get("flow", 0),
        function=table.get("function"),
        args=table.get("args", {}),
        output=table.get("output"),
        draw=table.get("draw", True),
    )
