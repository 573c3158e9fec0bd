"""The build: compute, judge, draw and write the site."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairair.gallery import site
from fairair.gallery.compute import Computed, compute, questions
from fairair.gallery.curve import Curve
from fairair.gallery.expression import evaluate
from fairair.gallery.spec import Figure, Paper, Published, load
from fairair.gallery.store import Store
from fairair.gallery.verdict import TOLERANCES, Check, Outcome, Verdict, judge, sentence

__all__ = ["Built", "Row", "build", "outcomes"]


@dataclass(frozen=True)
class Row:
    """A check as a page shows it."""

    outcome: Outcome
    source: str
    quote: str
    how: str
    """What was computed."""
    why: str
    """Why this interval."""


@dataclass(frozen=True)
class Built:
    """A figure that is done."""

    paper: Paper
    figure: Figure
    computed: Computed
    rows: tuple[Row, ...]
    verdict: Verdict


def outcomes(figure: Figure, curves: dict[str, Curve]) -> tuple[Row, ...]:
    """Return the checks of a figure with their values: its published points one by one, then its statements."""
    rows = []
    labels = {series.id: series.label for series in figure.series}
    for published in figure.published:
        rows.extend(_points(figure, published, curves[published.series], labels[published.series]))
    place = f"{figure.paper}/{figure.key}.toml"
    for statement in figure.statements:
        value = evaluate(statement.value, curves, place)
        outcome = Outcome(statement.check, value)
        rows.append(Row(outcome, statement.source, statement.quote, statement.value, statement.why))
    return tuple(rows)


def _points(figure: Figure, published: Published, curve: Curve, label: str) -> list[Row]:
    tolerance, said = TOLERANCES[published.tolerance], sentence(published.quote)
    rows = []
    for x, number in published.points:
        where = f" at {figure.x_label or 'x'} = {x}" if not curve.scalar else ""
        check = Check(f"{label}{where}: {number:g} in the paper", tolerance.around(number), published.claim, said)
        how = f"{published.series}[{x}]" if not curve.scalar else published.series
        value = curve.at(x) if not curve.scalar else float(curve.y[0])
        # Quick builds leave some points out; a point that was not run is not judged.
        if not curve.scalar and x not in curve.x:
            continue
        rows.append(Row(Outcome(check, value), published.source, published.quote, how, tolerance.why))
    return rows


def build(
    folder: Path,
    out: Path,
    store: Store,
    *,
    quick: bool = False,
    only: str | None = None,
    jobs: int = 0,
    executor: Any = None,
    done: Callable[[Built], None] = lambda _: None,
) -> list[Built]:
    """Build the site of the gallery in `folder` into `out`.

    Parameters
    ----------
    folder, out : Path
        The repository's ``gallery``, and where the site goes; pages appear whole, figure by figure.
    store : Store
        Keeps finished points.
    quick : bool
        Fewer replicas, shorter runs, fewer points.
    only : str, optional
        ``paper`` or ``paper/figure``. The index then lists these alone.
    jobs : int
        Threads; 0 is one a processor.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        Where points are computed, all figures' side by side, one thread each; None: here, figure by figure.
    done : callable
        Called with each figure that is finished.

    Returns
    -------
    list of Built

    Raises
    ------
    FairAirError
        A mistake in the gallery's files, or a folder that cannot be written.
    """
    papers = load(folder, only)
    pages = site.Site(out, quick=quick)
    built = []
    if executor is not None:
        todo = [(paper, figure) for paper in papers for figure in paper.figures]
        store.fill(executor, (one for paper, figure in todo for one in questions(paper, figure, quick=quick)))
    for paper in papers:
        for figure in paper.figures:
            computed = compute(paper, figure, store, quick=quick, jobs=jobs)
            rows = outcomes(figure, computed.curves)
            one = Built(paper, figure, computed, rows, judge([row.outcome for row in rows]))
            pages.figure(one)
            built.append(one)
            done(one)
    pages.index(papers, built)
    return built
