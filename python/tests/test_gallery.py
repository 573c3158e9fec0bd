"""The gallery: each verdict can occur and fail, every figure is there, a small site is built whole."""

from __future__ import annotations

import json
import math
import shutil
from concurrent.futures import ProcessPoolExecutor
from html.parser import HTMLParser
from multiprocessing import get_context
from pathlib import Path

import pytest
from conftest import REPOSITORY

from fairair import FairAirError
from fairair.gallery import Verdict, build, judge, load
from fairair.gallery.__main__ import main
from fairair.gallery.curve import Curve
from fairair.gallery.expression import evaluate
from fairair.gallery.spec import Paper
from fairair.gallery.store import Store
from fairair.gallery.verdict import TOLERANCES, Check, Interval, Outcome, Tolerance

GALLERY = REPOSITORY / "gallery"
WANTED = {
    "detti2011": [f"Fig. {n}" for n in (2, 4, *range(5, 13))],
    "detti2005": [*(f"Fig. {n}" for n in (2, 3, 5, 6, 7)), "Table 1"],
    "khademi2010": [f"Fig. {n}" for n in range(4, 11)],
    "pokhrel2016": [*(f"Fig. {n}" for n in (2, *range(6, 20))), "Table 4", "Table 5"],
    "ha2009": [*(f"Fig. {n}" for n in (2, 4, 5, *range(7, 12))), "Table 1", "Table 2", "Sect. 3.5"],
    "modern": [f"Fig. {n}" for n in range(1, 15)],
}
"""Every figure and table of the five papers that has data, and our own chapter."""


def claim(value: float) -> Outcome:
    return Outcome(Check("a claim", Interval(1.0, 2.0)), value)


def number(value: float) -> Outcome:
    return Outcome(Check("a number", Interval(1.0, 2.0), claim=False), value)


GOOD, BAD, NONE = 1.5, 3.0, math.nan


@pytest.mark.parametrize(
    ("outcomes", "verdict"),
    [
        ([claim(GOOD), number(GOOD)], Verdict.REPRODUCED),
        ([claim(GOOD), number(BAD)], Verdict.PARTLY),
        ([claim(GOOD), claim(BAD)], Verdict.PARTLY),
        ([claim(GOOD), number(BAD), number(BAD), number(BAD)], Verdict.PARTLY),
        ([claim(BAD)], Verdict.NOT),
        ([claim(BAD), number(GOOD), number(GOOD)], Verdict.NOT),
        ([claim(GOOD), claim(BAD), claim(BAD)], Verdict.NOT),
        ([claim(NONE)], Verdict.NOT),
        ([claim(GOOD), number(NONE)], Verdict.PARTLY),
    ],
)
def test_each_verdict_occurs(outcomes: list[Outcome], verdict: Verdict) -> None:
    assert judge(outcomes) is verdict


def test_a_figure_without_a_claim_has_no_verdict() -> None:
    with pytest.raises(ValueError, match="at least one claim"):
        judge([number(GOOD)])


@pytest.mark.parametrize(
    ("interval", "holds", "fails"),
    [
        (Interval(1.0, 2.0), [1.0, 2.0], [0.999, 2.001, math.nan, math.inf]),
        (Interval(low=1.0, strict=True), [1.001, math.inf], [1.0, math.nan]),
        (Interval(high=1.0, strict=True), [0.999], [1.0, math.nan]),
        (Tolerance("", relative=0.1).around(10.0), [9.0, 11.0], [8.9, 11.1]),
        (Tolerance("", absolute=0.05).around(0.5), [0.45, 0.55], [0.44, 0.56]),
        (Tolerance("", factor=10.0).around(5.0), [0.5, 50.0], [0.49, 51.0, 0.0]),
    ],
)
def test_intervals_and_tolerances_end_somewhere(interval: Interval, holds: list[float], fails: list[float]) -> None:
    assert [interval.holds(value) for value in holds] == [True] * len(holds)
    assert [interval.holds(value) for value in fails] == [False] * len(fails)


S = Curve.of((1, 2, 4), [3.0, 1.0, 8.0])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("s[2]", 1.0),
        ('c["b"]', 5.0),
        ("mean(s)", 4.0),
        ("max(s[1:2]) - min(s)", 2.0),
        ("last(s) / first(s)", 8 / 3),
        ("share(s > 2)", 2 / 3),
        ("max(abs(s - 2 * s))", 8.0),
        ("rise(s)", 0.5),
        ("rise(-s)", -0.5),
        ("span(s)", 8.0),
        ("s[3]", math.nan),
        ("mean(s[7:9])", math.nan),
        ("max(n)", math.nan),
        ("rise(n)", math.nan),
    ],
)
def test_expressions(text: str, value: float) -> None:
    curves = {"s": S, "c": Curve.of(("a", "b"), [4.0, 5.0]), "n": Curve.of((1, 2), [1.0, math.nan])}
    assert evaluate(text, curves) == pytest.approx(value, nan_ok=True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("t[1]", "there is no series 't'"),
        ("s", "is no single number"),
        ("s +", "cannot be read"),
        ("s.y", "is not understood"),
        ("open('x')", "is not understood"),
        ("mean(s + c)", "different x"),
    ],
)
def test_expressions_say_what_is_wrong(text: str, problem: str) -> None:
    with pytest.raises(FairAirError, match=r"fig\.toml") as caught:
        evaluate(text, {"s": S, "c": Curve.of((1,) * 2, [4.0, 5.0])}, "fig.toml")
    assert problem in caught.value.problem


@pytest.fixture(scope="module")
def papers() -> list[Paper]:
    return load(GALLERY)


def test_every_figure_and_table_is_there(papers: list[Paper]) -> None:
    assert {p.key: sorted(f.name for f in p.figures) for p in papers} == {k: sorted(v) for k, v in WANTED.items()}


def test_no_check_leaves_everything_and_each_has_a_source(papers: list[Paper]) -> None:
    for figure in (figure for paper in papers for figure in paper.figures):
        for statement in figure.statements:
            allowed = statement.check.allowed
            assert not (allowed.holds(-math.inf) and allowed.holds(math.inf)), (figure.name, statement.value)
            assert statement.source, (figure.name, statement.value)
        for published in figure.published:
            assert published.source
            assert published.points
            assert published.tolerance in TOLERANCES


FIGURE = """
name = "Fig. 1"
title = "downloads"
shows = "One to two downloads."
evidence = "made up"

[x]
label = "downloads"
values = [1, 2]

[[panel]]
id = "level"
y = "fairness level"

[[series]]
id = "s"
label = "simulation"
panel = "level"
scenario = "cell.toml"
vary = { "station.sta1.flows.0.count" = "{x}" }
measure = "level"

[[published]]
series = "s"
points = [[1, 1], [2, PUBLISHED]]
source = "nowhere"
tolerance = "testbed"
"""
# Nothing is lost, so that flows get equal shares.
CELL = """
name = "cell"
[run]
duration = "60 s"
warmup = "10 s"
replicas = 4
[ap]
queue = { kind = "droptail", limit = 1000 }
[[station]]
name = "sta1"
flows = [{ direction = "down" }]
[[station]]
name = "other"
flows = [{ direction = "down" }]
"""
PAPER = """
title = "A paper"
authors = "Nobody"
where = "nowhere"
cell = "A cell."
figures = ["fig01"]
"""


def small(folder: Path, published: float = 2.0) -> Path:
    (folder / "paper").mkdir(parents=True)
    (folder / "paper/paper.toml").write_text(PAPER)
    (folder / "paper/cell.toml").write_text(CELL)
    (folder / "paper/fig01.toml").write_text(FIGURE.replace("PUBLISHED", str(published)))
    return folder


def test_the_verdict_follows_the_published_number(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    verdicts = []
    for published in (2.0, 20.0):
        gallery = small(tmp_path / f"gallery{published}", published)
        verdicts += [one.verdict for one in build(gallery, tmp_path / "out", store)]
    assert verdicts == [Verdict.REPRODUCED, Verdict.PARTLY]


def test_a_stopped_build_goes_on_and_gives_the_same_bytes(tmp_path: Path) -> None:
    gallery = small(tmp_path / "gallery")
    whole, again = Store(tmp_path / "a"), Store(tmp_path / "a")
    build(gallery, tmp_path / "first", whole)
    assert (whole.hits, whole.misses) == (0, 2)
    # As if it had been killed while it wrote one of the two: half a file is asked anew.
    damaged = sorted((tmp_path / "a").iterdir())[0]
    damaged.write_bytes(damaged.read_bytes()[:20])
    build(gallery, tmp_path / "second", again)
    assert (again.hits, again.misses) == (1, 1)
    names = [path.relative_to(tmp_path / "first") for path in (tmp_path / "first").rglob("*") if path.is_file()]
    assert [(tmp_path / "first" / n).read_bytes() for n in names] == [
        (tmp_path / "second" / n).read_bytes() for n in names
    ]


def test_points_computed_elsewhere_are_those_computed_here(tmp_path: Path) -> None:
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    build(small(tmp_path / "g"), tmp_path / "one", here)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        build(tmp_path / "g", tmp_path / "two", there, executor=pool)
    assert (there.misses, there.hits) == (here.misses, here.misses)
    kept = [{path.name: path.read_bytes() for path in store.folder.iterdir()} for store in (here, there)]
    assert kept[0] == kept[1]


def test_another_scenario_is_another_point(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    build(small(tmp_path / "gallery"), tmp_path / "out", store)
    cell = tmp_path / "gallery/paper/cell.toml"
    cell.write_text(cell.read_text().replace("60 s", "61 s"))
    build(tmp_path / "gallery", tmp_path / "out", store)
    assert store.misses == 4


class Page(HTMLParser):
    """What a page links to, and whether its elements are closed."""

    VOID = frozenset({"meta", "br", "img", "link", "hr", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """See `HTMLParser`."""
        values = dict(attrs)
        if tag == "a" and values.get("href"):
            self.links.append(str(values["href"]))
        if tag in {"h2"} and values.get("id"):
            self.ids.add(str(values["id"]))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """See `HTMLParser`."""

    def handle_endtag(self, tag: str) -> None:
        """See `HTMLParser`."""
        assert self.open, tag
        assert self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        """See `HTMLParser`."""
        self.text += data


def read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    assert page.open == []
    return page


def test_two_figures_make_a_site_whose_links_resolve(tmp_path: Path) -> None:
    out, gallery = tmp_path / "out", tmp_path / "gallery"
    shutil.copytree(GALLERY, gallery)
    for paper, figures in (("detti2011", '["fig06"]'), ("ha2009", '["fig07"]')):
        file = gallery / paper / "paper.toml"
        lines = [
            f"figures = {figures}" if line.startswith("figures = ") else line for line in file.read_text().split("\n")
        ]
        file.write_text("\n".join(lines))
    for paper in ("detti2005", "khademi2010", "modern", "pokhrel2016"):
        shutil.rmtree(gallery / paper)
    built = build(gallery, out, Store(tmp_path / "store"), quick=True)
    assert [one.figure.key for one in built] == ["fig06", "fig07"]
    pages = sorted(out.rglob("*.html"))
    assert [page.name for page in pages] == ["fig06.html", "fig07.html", "index.html"]
    for path in pages:
        page = read(path)
        assert "Quick build" in page.text
        for link in page.links:
            target, _, fragment = link.partition("#")
            assert (path.parent / target).is_file(), (path.name, link)
            if fragment:
                assert fragment in read(path.parent / target).ids, link
    assert any(link.endswith(".toml") for link in read(out / "detti2011/fig06.html").links)
    assert {one["verdict"] for one in json.loads((out / "verdicts.json").read_text())["figures"]} == {"reproduced"}


def test_a_quick_build_judges_only_what_it_ran(tmp_path: Path) -> None:
    gallery = small(tmp_path / "gallery", published=20.0)
    file = gallery / "paper/fig01.toml"
    file.write_text(file.read_text().replace("values = [1, 2]", "values = [1, 2]\nquick = [1]"))
    (quick,) = build(gallery, tmp_path / "out", Store(tmp_path / "store"), quick=True)
    assert [row.how for row in quick.rows] == ["s[1]"]
    assert quick.verdict is Verdict.REPRODUCED


@pytest.mark.parametrize(
    ("change", "place", "problem"),
    [
        (('measure = "level"', 'measure = "lvel"'), "fig01.toml: series s", "there is no measure 'lvel'"),
        (('tolerance = "testbed"', 'tolerance = "wide"'), "fig01.toml: published", "unknown tolerance 'wide'"),
        (("flows.0.count", "flows.0.cuont"), "fig01.toml: series s", "unknown key `cuont` in a flow"),
        (('scenario = "cell.toml"', 'scenario = "cel.toml"'), "cel.toml", "cannot read"),
        (('label = "downloads"', 'label = "downloads"\nlable = 1'), "fig01.toml: x", "unknown key `lable`"),
        (('series = "s"', 'series = "t"'), "fig01.toml", "unknown series 't'"),
        (("points", "claim = false\npoints"), "fig01.toml", "nothing in it is a claim"),
    ],
)
def test_mistakes_in_a_figure_have_a_place(change: tuple[str, str], place: str, problem: str, tmp_path: Path) -> None:
    gallery = small(tmp_path / "gallery")
    file = gallery / "paper/fig01.toml"
    assert change[0] in file.read_text()
    file.write_text(file.read_text().replace(*change))
    with pytest.raises(FairAirError) as caught:
        build(gallery, tmp_path / "out", Store(tmp_path / "store"))
    assert place in caught.value.place
    assert problem in caught.value.problem


def test_the_command_refuses_what_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gallery = small(tmp_path / "gallery")
    where = ["--gallery", str(gallery), "--out", str(tmp_path / "out"), "--store", str(tmp_path / "store")]
    assert main(["build", *where, "--only", "paper/fig01"]) == 0
    assert main(["build", *where, "--only", "paper/fig02"]) == 2
    assert main(["build", *where, "--only", "other"]) == 2
    assert main(["build", "--gallery", str(tmp_path / "none"), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "has no figure 'fig02'" in said
    assert "there is no paper 'other'" in said
    assert "there is no gallery here" in said
