"""What papers leave open: choices are run one at a time, and figures that do not come out have tables of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import REPOSITORY
from test_gallery import small

from fairair import FairAirError
from fairair.gallery import load
from fairair.gallery.__main__ import main
from fairair.gallery.tried import AS_IS, path_of, read

FIGURES = [figure for paper in load(REPOSITORY / "gallery") for figure in paper.figures]
OPEN = {
    "detti2005/fig02",
    "detti2005/table1",
    "ha2009/fig10",
    *(f"khademi2010/fig0{number}" for number in (5, 6, 7, 8)),
}
"""Figures whose difference from the paper was looked into."""

TRIED = """
[tried]
values = ["s[2] / s[1]"]
x = [1, 2]
found = "Nothing moves it."
shared = "more.toml"

[[tried.choice]]
what = "a short run"
set = { "run.duration" = "20 s" }
"""
MORE = """
[[choice]]
what = "a queue of 2"
set = { "ap.queue.limit" = 2, "run.duration" = "20 s" }
"""


def with_choices(folder: Path) -> Path:
    gallery = small(folder)
    file = gallery / "paper/fig01.toml"
    file.write_text(file.read_text().replace("\n[x]\n", f"{TRIED}\n[x]\n", 1))
    (gallery / "paper/more.toml").write_text(MORE)
    return gallery


def test_choices_are_run_and_shown(tmp_path: Path) -> None:
    gallery = with_choices(tmp_path / "gallery")
    where = ["--gallery", str(gallery), "--store", str(tmp_path / "store")]
    assert main(["try", *where, "--only", "paper/fig01", "--replicas", "2"]) == 0
    trial = read(path_of(gallery / "paper", "fig01"))
    assert trial is not None
    assert trial.values == ("s[2] / s[1]",)
    assert [what for what, _ in trial.rows] == [AS_IS, "a queue of 2", "a short run"]
    as_is, tiny, brief = (values[0] for _, values in trial.rows)
    # Nothing is lost in the long queue: twice the downloads, twice the goodput. In a queue of 2 it is another matter.
    assert (as_is, brief) == pytest.approx((2.0, 2.0), abs=0.1)
    assert tiny != pytest.approx(brief, rel=1e-3)
    assert "--only paper/fig01 --replicas 2" in trial.notes["command"]
    assert main(["build", *where, "--out", str(tmp_path / "out")]) == 0
    page = (tmp_path / "out/paper/fig01.html").read_text()
    for shown in ("What the paper leaves open, tried", "Nothing moves it.", "a queue of 2", f"{tiny:.4g}"):
        assert shown in page


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (('values = ["s[2] / s[1]"]', 'values = ["t[1]"]'), "names unknown series"),
        (('what = "a short run"', 'waht = "a short run"'), "`what` is missing"),
        (('shared = "more.toml"', 'shared = "less.toml"'), "cannot read"),
        (('"run.duration" = "20 s"', '"run.durration" = "20 s"'), "unknown key `durration`"),
    ],
)
def test_mistakes_in_choices_have_a_place(
    change: tuple[str, str], problem: str, tmp_path: Path, capsys: object
) -> None:
    gallery = with_choices(tmp_path / "gallery")
    file = gallery / "paper/fig01.toml"
    file.write_text(file.read_text().replace(*change))
    assert main(["try", "--gallery", str(gallery), "--store", str(tmp_path / "store")]) == 2
    assert problem in capsys.readouterr().err  # type: ignore[attr-defined]


def test_a_damaged_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.tried.csv").write_text("# command: x\n# engine: y\nchoice,s\nas,1\n")
    with pytest.raises(FairAirError, match="is missing"):
        read(tmp_path / "a.tried.csv")
    (tmp_path / "a.tried.csv").write_text("# command: x\n# engine: y\n# replicas: 2\nchoice,s\nas,one\n")
    with pytest.raises(FairAirError, match="write it anew"):
        read(tmp_path / "a.tried.csv")


def test_what_did_not_come_out_was_looked_into() -> None:
    looked = {f"{figure.paper}/{figure.key}": figure for figure in FIGURES if figure.tried}
    assert set(looked) >= OPEN
    for name, figure in looked.items():
        assert figure.tried is not None
        trial = read(path_of(figure.folder, figure.key))
        assert trial is not None, f"{name}: run `python -m fairair.gallery try --only {name}`"
        assert trial.values == figure.tried.values, name
        assert [what for what, _ in trial.rows] == [AS_IS, *(what for what, _ in figure.tried.choices)], name
        assert len(figure.tried.choices) >= 6, name
        assert len(figure.tried.found) > 60, name
        assert f"--only {name}" in trial.notes["command"]
