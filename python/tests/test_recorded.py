"""Recorded curves: what the testbed measured stands beside a figure, and is measured by a command."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_gallery import read, small

from fairair import FairAirError
from fairair.gallery import Verdict, build, load
from fairair.gallery.__main__ import main
from fairair.gallery.recorded import path_of
from fairair.gallery.store import Store

RECORDED = """\
# command: python -m fairair.gallery record --only paper/fig01
# kernel: Linux 6.1, TCP of `linux`, uplink `deep`
# machine: one, quiet
series,x,mean,ci95,n
s,2,1.75,0.25,6
s,1,40.5,,4
"""


def gallery_with(tmp_path: Path, text: str) -> Path:
    folder = small(tmp_path / "gallery")
    path_of(folder / "paper", "fig01").write_text(text)
    return folder


def test_recorded_points_are_shown_beside_and_judge_nothing(tmp_path: Path) -> None:
    folder = gallery_with(tmp_path, RECORDED)
    store = Store(tmp_path / "store")
    (one,) = build(folder, tmp_path / "out", store)
    assert one.figure.recorded["s"].at(2) == 1.75
    assert one.verdict is Verdict.REPRODUCED, "a level of 40 on the testbed is no check"
    page = read(tmp_path / "out/paper/fig01.html").text
    for words in (
        "testbed: simulation",
        "1.75 ± 0.25",
        "40.5",
        "uplink `deep`; 4 to 6 replicas",
        "machine: one, quiet",
    ):
        assert words in page
    assert "python -m fairair.gallery record --only paper/fig01" in page
    svg = (tmp_path / "out/paper/fig01.html").read_text()
    path_of(folder / "paper", "fig01").unlink()
    build(folder, tmp_path / "out", store)
    plain = (tmp_path / "out/paper/fig01.html").read_text()
    assert "testbed" not in read(tmp_path / "out/paper/fig01.html").text
    assert "testbed-s" not in plain
    assert svg.split('id="testbed-s"')[1].split("</g>\n   </g>")[0].count("<use ") == 2, "a marker a recorded point"


@pytest.mark.parametrize(
    ("old", "new", "place", "problem"),
    [
        (
            "# kernel: Linux 6.1, TCP of `linux`, uplink `deep`\n",
            "",
            "fig01.recorded.csv",
            "`# kernel: ...` is missing",
        ),
        ("series,x,mean", "series,mean,x", "fig01.recorded.csv", "its columns are"),
        ("s,2,1.75", "t,2,1.75", "fig01.recorded.csv:5", "no simulated series 't'"),
        ("s,2,1.75", "s,3,1.75", "fig01.recorded.csv:5", "s has no x '3'"),
        ("s,1,40.5", "s,2,40.5", "fig01.recorded.csv", "stands there twice"),
        ("40.5", "fast", "fig01.recorded.csv:6", "could not convert"),
        ("s,2,1.75,0.25,6\ns,1,40.5,,4\n", "", "fig01.recorded.csv", "no point in it"),
        ("40.5", "nan", "fig01.recorded.csv:6", "no measurement"),
    ],
)
def test_a_line_that_fits_nothing_is_refused(old: str, new: str, place: str, problem: str, tmp_path: Path) -> None:
    assert old in RECORDED
    with pytest.raises(FairAirError) as caught:
        load(gallery_with(tmp_path, RECORDED.replace(old, new)))
    assert caught.value.place.endswith(place)
    assert problem in caught.value.problem


def test_the_command_says_what_cannot_be_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = small(tmp_path / "gallery")
    line = ["record", "--only", "paper/fig01", "--gallery", str(folder), "--store", str(tmp_path / "store")]
    assert main([*line, "--series", "t"]) == 2
    assert main([*line, "--x", "9"]) == 2
    assert main([*line, "--set", "run.duration"]) == 2
    assert main([*line, "--set", "run.duraton=5 s"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    for words in (
        "'t' cannot be recorded help: use some of: s",
        "s has no x 9",
        "has no value",
        "did you mean `duration`",
    ):
        assert words in said
    assert not path_of(folder / "paper", "fig01").exists()


@pytest.mark.usefixtures("testbed")
def test_the_testbed_is_recorded(tmp_path: Path) -> None:
    folder = small(tmp_path / "gallery")
    line = ["record", "--only", "paper", "--gallery", str(folder), "--store", str(tmp_path / "store"), "--x", "2"]
    line += ["--replicas", "1", "--set", "run.duration=5 s", "--set", "run.warmup=1 s", "--machine", "a test"]
    assert main(line) == 0
    figure = load(folder)[0].figures[0]
    assert 1 < figure.recorded["s"].at(2) < 4, "two downloads against one"
    assert "--set 'run.duration=5 s'" in figure.provenance["command"]
    assert figure.provenance["kernel"].startswith("Linux ")
    kept = Store(tmp_path / "store")
    assert len(list(kept.folder.iterdir())) == 1
