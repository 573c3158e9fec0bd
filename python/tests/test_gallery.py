"""The gallery: the rule of verdicts can fail, every figure is there, a small site is built."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import REPOSITORY

from fairair import FairAirError
from fairair.gallery import Claim, Verdict, build, read_papers, verdict_of
from fairair.gallery.rules import Data

WANTED = {
    "detti2011": ["fig2", *(f"fig{n}" for n in (4, 5, 6, 7, 8, 9, 10, 11, 12))],
    "detti2005": ["fig2", "fig3", "fig5", "fig6", "fig7", "table1"],
    "khademi2010": [f"fig{n}" for n in range(4, 11)],
    "pokhrel2016": ["fig2", *(f"fig{n}" for n in range(6, 20)), "table4", "table5"],
    "ha2009": ["fig2", "fig4", "fig5", "fig7", "fig8", "fig9", "fig10", "fig11", "table1", "table2", "section35"],
}
"""Every figure and table of the five papers that has data."""


def curve(*y: float) -> dict[str, Data]:
    x = np.arange(1.0, len(y) + 1)
    return {"c": Data(x, np.array(y), np.full(len(y), np.nan))}


@pytest.mark.parametrize(
    ("claim", "holds", "fails"),
    [
        (Claim("", "c", "near", 10.0), (11.4,), (11.6,)),
        (Claim("", "c", "near", [10.0, 20.0]), (10.0, 20.0), (20.0, 10.0)),
        (Claim("", "c", "order", 10.0), (29.0,), (31.0,)),
        (Claim("", "c", "order", 10.0), (3.4,), (3.3,)),
        (Claim("", "c", "order", 10.0), (3.4,), (0.0,)),
        (Claim("", "c", "above", 1.0), (1.1,), (1.0,)),
        (Claim("", "c", "below", 1.0), (0.9,), (1.0,)),
        (Claim("", "c", "between", [1.0, 2.0]), (1.0, 2.0), (1.0, 2.1)),
        (Claim("", "c", "rising"), (1.0, 0.96, 2.0), (1.0, 0.8, 2.0)),
        (Claim("", "c", "rising"), (1.0, 2.0), (1.0, 1.0)),
        (Claim("", "c", "falling"), (2.0, 1.0), (1.0, 2.0)),
        (Claim("", "c", "flat"), (1.0, 1.1), (1.0, 1.5)),
        (Claim("", "c", "near", 2.0, reduce="mean"), (1.0, 3.0), (1.0, 4.0)),
        (Claim("", "c", "near", 2.0, x=[2.0]), (9.0, 2.0), (2.0, 9.0)),
        (Claim("", "c", "near", 2.0, within=[2.0, 3.0]), (9.0, 2.0, 2.0), (9.0, 2.0, 3.0)),
        (Claim("", "c", "above", other="c", factor=0.5), (1.0,), (-1.0,)),
        (Claim("", "c", "near", 1.0), (1.0,), (float("nan"),)),
    ],
)
def test_each_kind_of_statement_can_hold_and_fail(
    claim: Claim, holds: tuple[float, ...], fails: tuple[float, ...]
) -> None:
    assert claim.check(curve(*holds)).holds is True
    assert claim.check(curve(*fails)).holds is False


def test_verdicts_count_statements() -> None:
    yes, no = Claim("", "c", "above", 0.0).check(curve(1.0)), Claim("", "c", "above", 2.0).check(curve(1.0))
    unchecked = Claim("", "c", "near", 1.0, x=[7.0]).check(curve(1.0))
    assert unchecked.holds is None
    assert verdict_of([yes, yes, unchecked]) is Verdict.REPRODUCED
    assert verdict_of([yes, no]) is Verdict.PARTLY
    assert verdict_of([yes, no, no]) is Verdict.NOT
    assert verdict_of([unchecked]) is Verdict.UNCHECKED


def test_places_that_are_not_run_leave_the_others_checked() -> None:
    claim = Claim("", "c", "near", [10.0, 20.0, 30.0], x=[1.0, 5.0, 2.0])
    assert claim.check(curve(10.0, 30.0)).holds is True
    assert claim.check(curve(10.0, 20.0)).holds is False


def test_a_wrong_statement_is_an_error() -> None:
    with pytest.raises(FairAirError, match="no kind"):
        Claim("", "c", "nearly", 1.0).check(curve(1.0))
    with pytest.raises(FairAirError, match="no curve"):
        Claim("", "d", "near", 1.0).check(curve(1.0))


def test_every_figure_is_there_with_statements_and_source() -> None:
    papers = {paper.key: paper for paper in read_papers(REPOSITORY / "gallery")}
    assert set(papers) == set(WANTED)
    for key, ids in WANTED.items():
        assert {figure.id for figure in papers[key].figures} == set(ids)
        for figure in papers[key].figures:
            assert figure.claims, figure.id
            assert figure.source.startswith(("Fig. ", "Table ", "Section ")), figure.id
            curves = {curve.name for curve in figure.curves}
            assert {claim.curve for claim in figure.claims} <= curves, figure.id
            scenarios = {curve.scenario for curve in figure.curves if curve.scenario and not curve.function}
            assert all((papers[key].folder / scenario).exists() for scenario in scenarios), figure.id


def test_a_site_is_built_whole_and_again_the_same(tmp_path: Path) -> None:
    out = tmp_path / "site"
    only = ["detti2011-fig6", "pokhrel2016-table4", "ha2009-fig2", "detti2011-fig4", "ha2009-fig5"]
    pages = build(REPOSITORY / "gallery", out, quick=True, only=only)
    assert {page.name for page in pages} == set(only)
    index = (out / "index.html").read_text()
    verdicts = json.loads((out / "verdicts.json").read_text())
    for page in pages:
        assert f'href="{page.name}.html"' in index
        assert (out / f"{page.name}.svg").exists()
        assert verdicts[page.name]["verdict"] == page.verdict.value
    assert verdicts["detti2011-fig6"]["verdict"] == "reproduced"
    assert (out / "detti2011-five-stations.toml").exists()
    first = {path.name: path.read_bytes() for path in out.iterdir()}
    build(REPOSITORY / "gallery", out, quick=True, only=only)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == first


def test_bad_input_is_one_error(tmp_path: Path) -> None:
    gallery = REPOSITORY / "gallery"
    with pytest.raises(FairAirError, match="there is no detti2012"):
        build(gallery, tmp_path / "site", only=["detti2012"])
    with pytest.raises(FairAirError, match=r"figures\.toml"):
        build(tmp_path, tmp_path / "site")
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "thesis.tex").touch()
    with pytest.raises(FairAirError, match="holds something else"):
        build(gallery, other, only=["pokhrel2016-table4"])
    folder = tmp_path / "paper"
    folder.mkdir()
    (folder / "figures.toml").write_text("[paper]\n")
    with pytest.raises(FairAirError, match="no list of figures"):
        read_papers(tmp_path)
    assert not (tmp_path / "site").exists()
