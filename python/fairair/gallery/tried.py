"""Choices that a paper leaves open: what each would make of the numbers that a figure is about.

A figure names its choices in ``[tried]``; `run` simulates them, and the answers stand in ``<figure>.tried.csv`` beside the
figure, with the command that wrote them. They count in no check.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairair._errors import FairAirError
from fairair.gallery.compute import curve_of, scenario_of
from fairair.gallery.curve import X
from fairair.gallery.expression import evaluate, names
from fairair.gallery.recorded import notes_of, replace_file
from fairair.gallery.spec import Figure, Paper, Series
from fairair.gallery.store import Store

__all__ = ["Trial", "path_of", "read", "run"]

AS_IS = "as the gallery has it"
NEEDED = ("command", "engine", "replicas")


@dataclass(frozen=True)
class Trial:
    """What was tried of a figure."""

    notes: dict[str, str]
    """Command, engine, replicas."""
    values: tuple[str, ...]
    """Expressions, as in checks."""
    rows: tuple[tuple[str, tuple[float, ...]], ...]
    """A choice in words, and the values with it."""


def path_of(folder: Path, figure: str) -> Path:
    """Return where the tried choices of a figure are."""
    return folder / f"{figure}.tried.csv"


def read(path: Path) -> Trial | None:
    """Return what was tried; None where nothing was.

    Raises
    ------
    FairAirError
        The file is not as `run` writes it.
    """
    if not path.exists():
        return None
    place = f"{path.parent.name}/{path.name}"
    notes, lines = notes_of(path, NEEDED)
    table = list(csv.reader(lines))
    if len(table) < 2 or not table[0] or table[0][0] != "choice":
        raise FairAirError(place, "its first column is not `choice`, or there is no row", "write it anew with `try`")
    try:
        rows = tuple((row[0], tuple(float(value) for value in row[1:])) for row in table[1:])
    except ValueError as error:
        raise FairAirError(place, str(error), "write it anew with `try`") from None
    return Trial(notes, tuple(table[0][1:]), rows)


def run(
    paper: Paper,
    figure: Figure,
    store: Store,
    notes: Mapping[str, str],
    *,
    replicas: int | None = None,
    jobs: int = 0,
    said: Callable[[str], None] = lambda _: None,
) -> Path | None:
    """Simulate every choice of a figure and write its file, row by row as they end; None where it has no choices.

    Raises
    ------
    FairAirError
        A choice that its scenario refuses.
    """
    tried = figure.tried
    if tried is None:
        return None
    more = {} if replicas is None else {"run.replicas": replicas}
    wanted = sorted({name for value in tried.values for name in names(value)})
    used = [series for series in figure.series if series.id in wanted]
    rows: list[tuple[str, list[float]]] = []
    path = path_of(figure.folder, figure.key)
    for what, changes in ((AS_IS, {}), *tried.choices):
        try:
            curves = {series.id: _curve(paper, figure, series, {**changes, **more}, store, jobs) for series in used}
        except FairAirError as error:
            place = f"{figure.paper}/{figure.key}.toml: {what}: {error.place}"
            raise FairAirError(place, error.problem, error.fix) from None
        values = [evaluate(value, curves, f"{figure.paper}/{figure.key}.toml") for value in tried.values]
        rows.append((what, values))
        said(f"{figure.paper}/{figure.key} {what}: " + ", ".join(f"{value:.3g}" for value in values))
        text = io.StringIO()
        text.writelines(f"# {key}: {value}\n" for key, value in notes.items())
        table = csv.writer(text, lineterminator="\n")
        table.writerow(["choice", *tried.values])
        table.writerows([what, *(f"{value:.4g}" for value in values)] for what, values in rows)
        replace_file(path, text.getvalue())
    return path


def _curve(paper: Paper, figure: Figure, series: Series, changes: Mapping[str, Any], store: Store, jobs: int) -> Any:
    assert figure.tried is not None
    own = figure.xs(series, quick=False)
    points: Sequence[int] = [k for k, x in enumerate(own) if not figure.tried.x or x in figure.tried.x]
    xs: tuple[X, ...] = tuple(own[k] for k in points) if series.vary else ()
    cells = [scenario_of(paper, figure, series, k, quick=False) for k in (points if series.vary else [0])]
    return curve_of(series, [cell.with_(changes) if changes else cell for cell in cells], xs, store, jobs)
