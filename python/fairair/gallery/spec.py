"""What the gallery knows of a figure: one TOML file beside its scenarios (gallery/README.md has the format)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from fairair._errors import FairAirError
from fairair.gallery import recorded
from fairair.gallery.curve import Curve, X
from fairair.gallery.expression import names, point_of
from fairair.gallery.verdict import TOLERANCES, Check, Interval, sentence

__all__ = ["Figure", "Panel", "Paper", "Published", "Series", "Statement", "load"]

ENGINES = ("sim", "model", "function", "files")


@dataclass(frozen=True)
class Panel:
    """One plot of a figure."""

    id: str
    y: str
    """Label of the y axis with its unit."""
    title: str = ""
    scale: str = "linear"
    kind: str = "lines"
    """``lines``, ``bars`` or ``steps``."""
    x: str = ""
    """Label of the x axis where it is not the figure's."""
    x_scale: str = "linear"
    """``linear`` or ``log``."""
    span: tuple[float, ...] = ()
    """Ends of the x axis; what the series cover without it."""


@dataclass(frozen=True)
class Series:
    """One curve, and how it is made."""

    id: str
    label: str
    engine: str = "sim"
    panel: str | None = None
    """Panel that shows it; none: only checks and the table do."""
    scenario: str = ""
    set: dict[str, Any] = field(default_factory=dict)
    """Changes of the scenario, path to value."""
    vary: dict[str, Any] = field(default_factory=dict)
    """Path to a text with ``{x}``, or to a list with one value for each x. Without it the series is one value."""
    values: tuple[X, ...] = ()
    """x of this series where it is not the figure's."""
    measure: str = ""
    model: str | None = None
    function: str = ""
    args: dict[str, Any] = field(default_factory=dict)
    over: str = ""
    output: str = ""
    scale: float = 1.0
    windows: bool = False
    """x is the warm-up: turn means from each x to the end into means from each x to the next."""


@dataclass(frozen=True)
class Statement:
    """A check with the words that it comes from."""

    check: Check
    value: str
    source: str
    quote: str
    why: str
    point: tuple[str, X, float] | None = None
    """Series, x and published number, where the check is on one value of one series: plots show it."""
    given: dict[str, Any] = field(default_factory=dict)
    """``paper``, ``within`` or the bounds, as the file has them."""
    tolerance: str = ""
    derived: str = ""
    """How the number follows from what the quote says."""


@dataclass(frozen=True)
class Published:
    """Numbers that a paper prints for a series."""

    series: str
    points: tuple[tuple[X, float], ...]
    source: str
    quote: str
    tolerance: str
    claim: bool
    label: str
    derived: str = ""
    """How a number follows from what the quote says, in ``x``."""


@dataclass(frozen=True)
class Tried:
    """Choices that the paper leaves open, to be run beside the gallery's own."""

    values: tuple[str, ...]
    """Expressions, as in checks."""
    x: tuple[X, ...]
    """Points that they need; all without any."""
    choices: tuple[tuple[str, dict[str, Any]], ...]
    """In words, with the changes of the scenarios."""
    found: str
    """What came out, in words."""


@dataclass(frozen=True)
class Figure:
    """A figure, table or section of a paper."""

    paper: str
    key: str
    name: str
    title: str
    shows: str
    evidence: str
    x_label: str
    values: tuple[X, ...]
    quick_values: tuple[X, ...]
    quick: dict[str, Any]
    panels: tuple[Panel, ...]
    series: tuple[Series, ...]
    published: tuple[Published, ...]
    statements: tuple[Statement, ...]
    notes: tuple[str, ...]
    folder: Path
    recorded: dict[str, Curve]
    """What the testbed measured, by the id of the simulated series beside it."""
    provenance: dict[str, str]
    """Where that comes from."""
    tried: Tried | None = None

    def xs(self, series: Series, quick: bool) -> tuple[X, ...]:
        """Return the x of a series."""
        if series.values:
            return series.values
        return self.quick_values if quick and self.quick_values else self.values


@dataclass(frozen=True)
class Paper:
    """A paper with its figures, in the order of the paper."""

    key: str
    title: str
    authors: str
    where: str
    cell: str
    quick: dict[str, Any]
    figures: tuple[Figure, ...]


def load(folder: Path, only: str | None = None) -> list[Paper]:
    """Read the papers below a gallery folder.

    Parameters
    ----------
    folder : Path
        The repository's ``gallery``.
    only : str, optional
        ``paper`` or ``paper/figure``.

    Raises
    ------
    FairAirError
        A file cannot be read or has a mistake, or `only` names nothing.
    """
    papers = sorted(path.parent for path in folder.glob("*/paper.toml"))
    if not papers:
        raise FairAirError(str(folder), "there is no gallery here", "name the folder with --gallery")
    paper_key, _, figure_key = (only or "").partition("/")
    known = [path.name for path in papers]
    if paper_key and paper_key not in known:
        raise FairAirError("--only", f"there is no paper {paper_key!r}", f"use one of: {', '.join(known)}")
    read = [_paper(path, figure_key) for path in papers if not paper_key or path.name == paper_key]
    if figure_key and not read[0].figures:
        keys = ", ".join(path.stem for path in sorted((folder / paper_key).glob("*.toml")) if path.stem != "paper")
        raise FairAirError("--only", f"{paper_key} has no figure {figure_key!r}", f"use one of: {keys}")
    return read


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FairAirError(str(path), f"cannot read: {error.strerror}", "restore the file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FairAirError(str(path), f"this is no TOML: {error}", "correct it") from None


class _Table:
    """A table that refuses keys nobody asked for."""

    def __init__(self, table: Mapping[str, Any], place: str) -> None:
        self.table, self.place, self.asked = table, place, set[str]()

    def take(self, key: str, default: Any = None, *, required: bool = False) -> Any:
        self.asked.add(key)
        if required and key not in self.table:
            raise FairAirError(self.place, f"`{key}` is missing", "see gallery/README.md")
        return self.table.get(key, default)

    def end(self) -> None:
        for key in self.table:
            if key not in self.asked:
                raise FairAirError(self.place, f"unknown key `{key}`", f"valid keys: {', '.join(sorted(self.asked))}")


def _paper(folder: Path, only: str) -> Paper:
    table = _Table(_toml(folder / "paper.toml"), f"{folder.name}/paper.toml")
    texts = {key: str(table.take(key, required=True)) for key in ("title", "authors", "where", "cell")}
    quick = dict(table.take("quick", {}))
    order = list(table.take("figures", required=True))
    table.end()
    wanted = [key for key in order if not only or key == only]
    figures = tuple(_figure(folder, key) for key in wanted)
    return Paper(folder.name, quick=quick, figures=figures, **texts)


def _figure(folder: Path, key: str) -> Figure:
    path = folder / f"{key}.toml"
    place = f"{folder.name}/{path.name}"
    table = _Table(_toml(path), place)
    x = _Table(table.take("x", {}), f"{place}: x")
    values, quick_values = tuple(x.take("values", ())), tuple(x.take("quick", ()))
    series = tuple(_series(item, f"{place}: series") for item in table.take("series", required=True))
    simulated = {item.id: item.values or values for item in series if item.engine == "sim" and item.vary}
    provenance, curves = recorded.read(recorded.path_of(folder, key), simulated)
    figure = Figure(
        paper=folder.name,
        key=key,
        name=str(table.take("name", required=True)),
        title=str(table.take("title", required=True)),
        shows=str(table.take("shows", required=True)),
        evidence=str(table.take("evidence", required=True)),
        x_label=str(x.take("label", "")),
        values=values,
        quick_values=quick_values,
        quick=dict(table.take("quick", {})),
        panels=tuple(_panel(item, f"{place}: panel") for item in table.take("panel", [])),
        series=series,
        published=tuple(_published(item, f"{place}: published") for item in table.take("published", [])),
        statements=tuple(_statement(item, f"{place}: check") for item in table.take("check", [])),
        notes=tuple(table.take("notes", [])),
        tried=_tried(table.take("tried"), folder, place),
        folder=folder,
        recorded=curves,
        provenance=provenance,
    )
    x.end()
    table.end()
    _cross_check(figure, place)
    return figure


def _tried(item: Mapping[str, Any] | None, folder: Path, place: str) -> Tried | None:
    if item is None:
        return None
    table = _Table(item, f"{place}: tried")
    shared = table.take("shared")
    given = [*(_toml(folder / str(shared)).get("choice", []) if shared else []), *table.take("choice", [])]
    choices = []
    for one in given:
        choice = _Table(one, f"{place}: tried.choice")
        choices.append((str(choice.take("what", required=True)), dict(choice.take("set", required=True))))
        choice.end()
    tried = Tried(
        values=tuple(table.take("values", required=True)),
        x=tuple(table.take("x", ())),
        choices=tuple(choices),
        found=str(table.take("found", "")),
    )
    table.end()
    return tried


def _cross_check(figure: Figure, place: str) -> None:
    series = {series.id for series in figure.series}
    panels = {panel.id for panel in figure.panels}
    for item in figure.series:
        if item.panel is not None and item.panel not in panels:
            raise FairAirError(place, f"series {item.id} wants panel {item.panel!r}", f"panels: {sorted(panels)}")
        for path, value in item.vary.items():
            if isinstance(value, list) and len(value) != len(item.values or figure.values):
                raise FairAirError(place, f"{path} of {item.id} has {len(value)} values", "give one for each x")
    for quoted in figure.published:
        if quoted.series not in series:
            raise FairAirError(place, f"published numbers of an unknown series {quoted.series!r}", f"use {series}")
    for statement in figure.statements:
        unknown = names(statement.value, place) - series
        if unknown:
            raise FairAirError(place, f"{statement.value!r} names unknown series {sorted(unknown)}", f"use {series}")
    for value in figure.tried.values if figure.tried else ():
        if unknown := names(value, place) - series:
            raise FairAirError(place, f"{value!r} names unknown series {sorted(unknown)}", f"use {series}")
    claims = [s.check.claim for s in figure.statements] + [p.claim for p in figure.published]
    if not any(claims):
        raise FairAirError(place, "nothing in it is a claim", "give a [[check]] or [[published]] that is one")


def _panel(item: Mapping[str, Any], place: str) -> Panel:
    table = _Table(item, place)
    panel = Panel(
        id=str(table.take("id", required=True)),
        y=str(table.take("y", required=True)),
        title=str(table.take("title", "")),
        scale=str(table.take("scale", "linear")),
        kind=str(table.take("kind", "lines")),
        x=str(table.take("x", "")),
        x_scale=str(table.take("x_scale", "linear")),
        span=tuple(float(end) for end in table.take("span", ())),
    )
    table.end()
    if panel.kind not in ("lines", "bars", "steps") or not {panel.scale, panel.x_scale} <= {"linear", "log"}:
        fix = "kind: lines, bars or steps; scale and x_scale: linear or log"
        raise FairAirError(place, f"panel {panel.id} has an unknown kind or scale", fix)
    return panel


def _series(item: Mapping[str, Any], place: str) -> Series:
    table = _Table(item, place)
    series = Series(
        id=str(table.take("id", required=True)),
        label=str(table.take("label", required=True)),
        engine=str(table.take("engine", "sim")),
        panel=table.take("panel"),
        scenario=str(table.take("scenario", "")),
        set=dict(table.take("set", {})),
        vary=dict(table.take("vary", {})),
        values=tuple(table.take("values", ())),
        measure=str(table.take("measure", "")),
        model=table.take("model"),
        function=str(table.take("function", "")),
        args=dict(table.take("args", {})),
        over=str(table.take("over", "")),
        output=str(table.take("output", "")),
        scale=float(table.take("scale", 1.0)),
        windows=bool(table.take("windows", False)),
    )
    table.end()
    if series.engine not in ENGINES:
        raise FairAirError(place, f"unknown engine {series.engine!r}", f"use one of: {', '.join(ENGINES)}")
    for needed in ["function"] if series.engine == "function" else ["scenario", "measure"]:
        if not getattr(series, needed):
            raise FairAirError(place, f"series {series.id} has no `{needed}`", "see gallery/README.md")
    return series


def _tolerance(name: str, place: str) -> str:
    if name not in TOLERANCES:
        raise FairAirError(place, f"unknown tolerance {name!r}", f"use one of: {', '.join(TOLERANCES)}")
    return name


def _published(item: Mapping[str, Any], place: str) -> Published:
    table = _Table(item, place)
    published = Published(
        series=str(table.take("series", required=True)),
        points=tuple((x, float(y)) for x, y in table.take("points", required=True)),
        source=str(table.take("source", required=True)),
        quote=str(table.take("quote", "")),
        tolerance=_tolerance(str(table.take("tolerance", required=True)), place),
        claim=bool(table.take("claim", True)),
        label=str(table.take("label", "")),
        derived=str(table.take("derived", "")),
    )
    table.end()
    return published


def _statement(item: Mapping[str, Any], place: str) -> Statement:
    table = _Table(item, place)
    what, value = str(table.take("what", required=True)), str(table.take("value", required=True))
    claim = bool(table.take("claim", True))
    source, quote = str(table.take("source", required=True)), str(table.take("quote", ""))
    why = str(table.take("why", ""))
    bounds = {key: table.take(key) for key in ("above", "below", "at_least", "at_most", "paper", "within")}
    tolerance, derived = table.take("tolerance"), str(table.take("derived", ""))
    reading = str(table.take("reading", ""))
    table.end()
    given = {key: bound for key, bound in bounds.items() if bound is not None}
    match given:
        case {"paper": number, **rest} if not rest and tolerance is not None:
            rule = TOLERANCES[_tolerance(str(tolerance), place)]
            allowed, why = rule.around(float(number)), why or rule.why
        case {"within": [low, high], **rest} if not rest:
            allowed = Interval(float(low), float(high))
        case _ if given and not given.keys() & {"paper", "within"}:
            strict = bool(given.keys() & {"above", "below"})
            low = float(given.get("above", given.get("at_least", "-inf")))
            allowed = Interval(low, float(given.get("below", given.get("at_most", "inf"))), strict)
        case _:
            fix = "give `paper` with `tolerance`, `within`, or bounds: above, below, at_least, at_most"
            raise FairAirError(place, f"{what!r} leaves every value", fix)
    at = point_of(value)
    point = (*at, float(given["paper"])) if at is not None and "paper" in given else None
    check = Check(what, allowed, claim, sentence(f"{quote} {reading}"))
    return Statement(check, value, source, quote, why, point, given, str(tolerance or ""), derived)
