"""The pages as a browser shows them: on a phone nothing scrolls sideways but wide tables, each in its own box."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import REPOSITORY

import fairair
from fairair.demo.explained import EXPLAINED
from fairair.demo.page import write_page
from fairair.gallery import build
from fairair.gallery.curve import Curve
from fairair.gallery.draw import _bars_of
from fairair.gallery.store import Store

PHONE = 375
WRAPPER = """<!doctype html><body><iframe id="page" style="width:{width}px;height:800px;border:0" srcdoc="{page}"></iframe>
<script>
window.onload = () => {{
  const page = document.getElementById("page").contentDocument, root = page.documentElement;
  const wide = [...page.querySelectorAll("table")].filter(t => t.getBoundingClientRect().right > root.clientWidth + 1);
  const boxed = wide.filter(t => t.closest(".wide, .scroll"));
  document.body.dataset.widths = [root.scrollWidth, root.clientWidth, wide.length, boxed.length].join(" ");
}};
</script></body>"""


@pytest.fixture(scope="module")
def browser() -> str:
    found = next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )
    if found is None:
        pytest.skip("*** SKIPPED (needs chromium: apt-get install chromium): pages on a phone ***")
    return found


def widths(browser: str, page: Path, width: int, folder: Path) -> tuple[int, int, int, int]:
    """Return what a page's contents take, what it has, its tables that are wider, and how many of them scroll in a box."""
    wrapper = page.with_name("on-a-phone.html")
    wrapper.write_text(WRAPPER.format(width=width, page=html.escape(page.read_text(encoding="utf-8"), quote=True)))
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--hide-scrollbars"]
    line = [
        browser,
        *options,
        "--dump-dom",
        f"--user-data-dir={folder / 'profile'}",
        "--virtual-time-budget=5000",
        wrapper.as_uri(),
    ]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=180)
    wrapper.unlink()
    measured = re.search(r'data-widths="(\d+) (\d+) (\d+) (\d+)"', done.stdout)
    assert measured, done.stderr[-2000:]
    scroll, client, wide, boxed = (int(number) for number in measured.groups())
    return scroll, client, wide, boxed


def test_the_measure_finds_a_page_that_is_too_wide(browser: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><table><tr><td><div style='width:900px'>wide</div></td></tr></table>")
    scroll, client, wide, boxed = widths(browser, page, PHONE, tmp_path)
    assert (client, wide, boxed) == (PHONE, 1, 0)
    assert scroll > 900


def test_the_gallery_fits_a_phone(browser: str, tmp_path: Path) -> None:
    gallery, out = tmp_path / "gallery", tmp_path / "out"
    shutil.copytree(REPOSITORY / "gallery", gallery)
    # The figures without a simulation, and one with the widest tables: a recording, choices, many series.
    for paper, figures in (("detti2011", '["fig06"]'), ("ha2009", '["fig07", "fig10"]')):
        file = gallery / paper / "paper.toml"
        file.write_text(re.sub(r"(?m)^figures = .*$", f"figures = {figures}", file.read_text()))
        text = re.sub(r'(?m)^"run.(duration|warmup)" = .*\n', "", file.read_text())
        file.write_text(text.replace("[quick]\n", '[quick]\n"run.duration" = "3 s"\n"run.warmup" = "1 s"\n'))
    for paper in ("detti2005", "khademi2010", "modern", "pokhrel2016"):
        shutil.rmtree(gallery / paper)
    build(gallery, out, Store(tmp_path / "store"), quick=True)
    pages = sorted(out.rglob("*.html"))
    assert len(pages) == 4
    for page in pages:
        scroll, client, wide, boxed = widths(browser, page, PHONE, tmp_path)
        assert scroll <= client == PHONE, page.name
        assert wide == boxed, page.name


def test_the_demonstration_fits_a_phone_and_explains_each_remedy(
    browser: str, cell: fairair.Scenario, tmp_path: Path
) -> None:
    scenario = tmp_path / "cell.toml"
    scenario.write_text(cell.with_({"run.duration": "3 s", "run.warmup": "1 s"}).to_toml())
    page = write_page(scenario, tmp_path / "demo")
    text = html.unescape(page.read_text())
    for line in EXPLAINED.values():
        assert line in text
    scroll, client, wide, boxed = widths(browser, page, PHONE, tmp_path)
    assert scroll <= client == PHONE
    assert wide == boxed


def test_every_remedy_is_explained_in_a_line() -> None:
    assert set(EXPLAINED) == {"none", *(remedy.name for remedy in fairair.remedies())}
    assert all(20 <= len(line) <= 110 or name == "none" for name, line in EXPLAINED.items())


def test_intervals_on_a_logarithmic_axis_stay_near_their_curve() -> None:
    curve = Curve.of((1, 2, 3, 4), [10.0, 10.0, 10.0, 10.0], [1.0, 9.99, 30.0, np.nan], 3)
    below, above = _bars_of(curve, log=True)
    assert above.tolist() == [1.0, 9.99, 30.0, 0.0]
    assert below[0] == 1.0
    # The same factor both ways: no bar reaches the foot of the axis, whatever it is.
    np.testing.assert_allclose((10.0 + above) / 10.0, 10.0 / (10.0 - below), rtol=0.02)
    np.testing.assert_array_equal(_bars_of(curve, log=False), [1.0, 9.99, 30.0, 0.0])
