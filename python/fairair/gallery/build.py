"""Build the site: run, judge, draw, write."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import matplotlib as mpl
import numpy as np

import fairair
from fairair._errors import FairAirError
from fairair.gallery.compute import compute
from fairair.gallery.draw import draw
from fairair.gallery.rules import NEAR, ORDER, SLACK, Data, Finding, Verdict, verdict_of
from fairair.gallery.spec import Figure, Paper, read_papers

__all__ = ["Page", "build"]

_LONGEST_TABLE = 40
"""Rows; longer curves are time series, which the plot shows."""


class Page(NamedTuple):
    """A figure as the site shows it."""

    paper: Paper
    figure: Figure
    findings: list[Finding]
    verdict: Verdict
    data: dict[str, Data]

    @property
    def name(self) -> str:
        """Name of its files."""
        return f"{self.paper.key}-{self.figure.id}"

    @property
    def scenarios(self) -> list[str]:
        """Scenario files that its curves run."""
        return sorted({curve.scenario for curve in self.figure.curves if curve.scenario and curve.engine != "function"})

    @property
    def rows(self) -> list[tuple[str, list[str]]]:
        """The numbers of its curves, a row a place; none for time series."""
        places = np.unique(np.concatenate([data.x for data in self.data.values()]))
        if len(places) > _LONGEST_TABLE:
            return []
        labels = {place.x: place.label for place in self.figure.places}
        series = [*self.data.values()]
        series += [
            Data(np.array(p.x, dtype=float), np.array(p.y, dtype=float), np.full(len(p.x), np.nan))
            for p in self.figure.published
        ]
        return [(labels.get(place, f"{place:g}"), [_cell(data, place) for data in series]) for place in places]


def _cell(data: Data, place: float) -> str:
    at = np.flatnonzero(np.isclose(data.x, place))
    if not len(at) or np.isnan(data.y[at[0]]):
        return "–"  # noqa: RUF001 # a dash in a table
    value, error = data.y[at[0]], data.ci95[at[0]]
    return f"{value:.4g}" if np.isnan(error) else f"{value:.4g} ± {error:.2g}"


def build(
    source: str | PathLike[str] = "gallery",
    out: str | PathLike[str] = "out/gallery",
    *,
    quick: bool = False,
    only: list[str] | None = None,
    jobs: int = 0,
) -> list[Page]:
    """Run all figures and write the site; it appears when it is complete.

    Parameters
    ----------
    source : path-like
        Folder with a folder a paper.
    out : path-like
        Folder of the site; an older site there is replaced.
    quick : bool
        Fewer places, shorter runs.
    only : list of str, optional
        Papers (``detti2011``) or figures (``detti2011-fig5``).
    jobs : int
        Threads; 0 is one a processor.

    Returns
    -------
    list of Page

    Raises
    ------
    FairAirError
        A file has a mistake, nothing is called as `only` says, or `out` holds something else.
    """
    target = Path(out)
    if target.exists() and not (target / "verdicts.json").exists() and any(target.iterdir()):
        raise FairAirError(str(out), "this folder holds something else than a gallery", "name a new or empty folder")
    papers = read_papers(source)
    chosen = [
        (paper, figure)
        for paper in papers
        for figure in paper.figures
        if not only or paper.key in only or f"{paper.key}-{figure.id}" in only
    ]
    if not chosen:
        names = ", ".join(paper.key for paper in papers)
        raise FairAirError("only", f"there is no {', '.join(only or [])}", f"name papers ({names}) or figures of them")
    mpl.use("svg")
    pages = []
    for number, (paper, figure) in enumerate(chosen, 1):
        start = time.monotonic()
        try:
            data = compute(paper, figure, quick=quick, jobs=jobs)
            findings = [claim.check(data) for claim in figure.claims]
        except FairAirError as error:
            raise FairAirError(f"{paper.key}-{figure.id}: {error.place}", error.problem, error.fix) from None
        page = Page(paper, figure, findings, verdict_of(findings), data)
        pages.append(page)
        seconds = time.monotonic() - start
        print(f"[{number}/{len(chosen)}] {page.name}: {page.verdict.value} ({seconds:.1f} s)", file=sys.stderr)
    _write(pages, target, quick)
    return pages


def _write(pages: list[Page], target: Path, quick: bool) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    site = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        environment = jinja2.Environment(
            loader=jinja2.PackageLoader("fairair.gallery"), autoescape=True, undefined=jinja2.StrictUndefined
        )
        common: dict[str, Any] = {
            "version": fairair.__version__,
            "quick": quick,
            "near": NEAR,
            "order": ORDER,
            "slack": SLACK,
            "pages": pages,
            "counts": Counter(page.verdict.value for page in pages),
        }
        for page in pages:
            draw(page.figure, page.data, site / f"{page.name}.svg")
            for scenario in page.scenarios:
                shutil.copyfile(page.paper.folder / scenario, site / f"{page.paper.key}-{scenario}")
            text = environment.get_template("figure.html").render(page=page, **common)
            (site / f"{page.name}.html").write_text(text, encoding="utf-8")
        (site / "index.html").write_text(environment.get_template("index.html").render(**common), encoding="utf-8")
        verdicts = {
            page.name: {
                "verdict": page.verdict.value,
                "claims": [{"text": f.claim.text, "holds": f.holds, "ours": f.ours} for f in page.findings],
            }
            for page in pages
        }
        (site / "verdicts.json").write_text(json.dumps(verdicts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        site.chmod(0o755)
        if target.exists():
            shutil.rmtree(target)
        site.rename(target)
    except BaseException:
        shutil.rmtree(site, ignore_errors=True)
        raise
