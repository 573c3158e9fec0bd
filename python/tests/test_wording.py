"""Kinds of checks and quotes: what a check claims is what its quote says, and the quote is the paper's."""

from __future__ import annotations

import os
import re
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import REPOSITORY

from fairair.gallery import Figure, load
from fairair.gallery.verdict import TOLERANCES
from fairair.gallery.wording import mismatches

FIGURES = [figure for paper in load(REPOSITORY / "gallery") for figure in paper.figures]
NAMES = [f"{figure.paper}/{figure.key}" for figure in FIGURES]
SIGNS = {"eta": "η", "gamma": "γ", "Theta": "Θ", "sigma": "σ", "beta": "β", "geq": "≥", "leq": "≤", "max": "max"}


@pytest.mark.parametrize("figure", FIGURES, ids=NAMES)
def test_every_kind_is_what_its_quote_says(figure: Figure) -> None:
    assert mismatches(figure) == []


def test_a_sentence_is_a_claim_everywhere_or_nowhere() -> None:
    flags: dict[str, dict[bool, str]] = {}
    for figure, name in zip(FIGURES, NAMES, strict=True):
        said = [(p.quote, p.claim) for p in figure.published] + [(s.quote, s.check.claim) for s in figure.statements]
        for quote, claim in said:
            flags.setdefault(plain(quote), {})[claim] = name
    flags.pop("", None)
    for quote, found in flags.items():
        assert len(found) == 1, f"{quote}: a claim in {found[True]}, a number in {found[False]}"
    for quote in flags:
        wider = [other for other in flags if quote != other and quote in other]
        assert not wider, f"a part of a sentence that is quoted in full elsewhere: {quote}"


@pytest.mark.parametrize(
    ("figure", "change", "words"),
    [
        ("ha2009/fig04", {"tolerance": "near"}, "needs one of near, almost, close"),
        ("ha2009/fig04", {"tolerance": "about"}, "needs one of about, around"),
        ("ha2009/fig11", {"tolerance": "model"}, "needs one of model, accura"),
        ("ha2009/fig04", {"tolerance": "index"}, "needs one of index"),
        ("ha2009/fig02", {"quote": "the uplink flows get more"}, "357 is not printed"),
        ("detti2011/fig10", {"derived": "1.2 * 75 / 41"}, "is 2.19512, not 2.14"),
        ("ha2009/fig09", {"quote": "the dual queue is good"}, "the bound 4 is not printed"),
        ("detti2011/fig02", {"quote": ""}, "neither a quote nor a table"),
    ],
)
def test_a_mismatch_is_found(figure: str, change: dict[str, str], words: str) -> None:
    whole = FIGURES[NAMES.index(figure)]
    # A kind belongs to a number: bounds have none.
    changed = [replace(s, **change) if "tolerance" not in change or s.tolerance else s for s in whole.statements]
    bad = replace(whole, statements=tuple(changed))
    assert any(words in line for line in mismatches(bad)), mismatches(bad)


def test_a_sentence_with_two_flags_is_found() -> None:
    whole = FIGURES[NAMES.index("khademi2010/fig07")]
    first, *rest = whole.statements
    bad = replace(whole, statements=(replace(first, check=replace(first.check, claim=False)), *rest))
    assert any("a claim in one check and a number in another" in line for line in mismatches(bad))


def plain(text: str) -> str:
    """Text without what a PDF's extraction adds: marks of mathematics, spaces, case."""
    text = unicodedata.normalize("NFKC", text)
    text = re.sub(r"\\(\w+?)(?![a-zA-Z])", lambda name: SIGNS.get(name[1], ""), text.replace("_", " _"))
    text = text.replace("−", "-").replace("–", "-").replace("’", "'")
    return re.sub(r"[\\$*_{}^\s]", "", text).lower()


def papers_folder() -> Path | None:
    """Where the papers' texts are: they are not ours to keep in the repository."""
    named = os.environ.get("FAIRAIR_PAPERS")
    candidates = [Path(named)] if named else [folder / "shared" / "papers" for folder in REPOSITORY.parents]
    return next((folder for folder in candidates if folder.is_dir()), None)


FIRST_LINES = {
    "detti2011": "per-station throughput fairness",
    "detti2005": "tcp fairness issues in ieee 802.11 based",
    "khademi2010": "size-based and direction-based",
    "pokhrel2016": "joint impact of buffer",
    "ha2009": "cross-layer dual queue",
}


@pytest.mark.parametrize("paper", sorted(FIRST_LINES))
def test_quotes_are_the_papers_words_and_tables_their_numbers(paper: str) -> None:
    folder = papers_folder()
    if folder is None:
        pytest.skip(
            "*** SKIPPED (set FAIRAIR_PAPERS to a folder with the papers' texts): quotes against the papers ***"
        )
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.txt"))]
    title = plain(FIRST_LINES[paper])
    text = next((plain(text) for text in texts if title in plain(text[:3000])), None)
    assert text is not None, f"no text of {paper} in {folder}"
    figures = [figure for figure in FIGURES if figure.paper == paper]
    quotes = {s.quote for f in figures for s in f.statements} | {p.quote for f in figures for p in f.published}
    for quote in quotes:
        for part in quote.split("..."):
            assert plain(part) in text, f"{paper}: not in its text: {part}"
    for figure in figures:
        for published in figure.published:
            if published.source.startswith("Table"):
                for _, number in published.points:
                    shown = {f"{number:g}", f"{number:.3f}", f"{number:,.0f}", repr(number)}
                    shown |= {repr(number)[:-1], f"{number / 1000:.3f}"}
                    assert any(one in text for one in shown), f"{figure.name}: {number} is in no table"


def test_hypotheses_and_findings_of_our_own_chapter_stand_in_its_page() -> None:
    page = plain((REPOSITORY / "docs" / "modern.md").read_text(encoding="utf-8"))
    for figure in (figure for figure in FIGURES if figure.paper == "modern"):
        for statement in figure.statements:
            if "docs/modern.md" in statement.source:
                assert plain(statement.quote) in page, f"{figure.key}: not in docs/modern.md: {statement.quote}"


def test_every_kind_is_used() -> None:
    used = {p.tolerance for f in FIGURES for p in f.published} | {s.tolerance for f in FIGURES for s in f.statements}
    assert set(TOLERANCES) <= used
