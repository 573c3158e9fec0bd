"""Whether the kind of a check is what its quote says: words for what is said in words, digits for what is printed."""

from __future__ import annotations

import math
import re

from fairair.gallery.expression import arithmetic
from fairair.gallery.spec import Figure, Statement
from fairair.gallery.verdict import TOLERANCES, sentence

__all__ = ["mismatches"]

_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_COMPARED = (
    *(
        "above",
        "below",
        "more",
        "less",
        "higher",
        "lower",
        "greater",
        "smaller",
        "larger",
        "longer",
        "closer",
        "exceed",
    ),
    *("decrease", "increase", "degrade", "deteriorat", "reduc", "drop", "fall", "gain", "lose"),
)
"""Beginnings of words that compare: a bound of 0 or 1 of a difference or quotient needs no other reason."""
_PRINTED = re.compile(r"\d+(?:\.\d+)?")


def mismatches(figure: Figure) -> list[str]:
    """Return what the kinds and bounds of a figure claim and their quotes do not say."""
    found: list[str] = []
    for published in figure.published:
        for x, number in published.points:
            where = f"{published.series}[{x}]"
            found += _kind(where, published.tolerance, published.quote, published.source, number, published.derived, x)
    for statement in figure.statements:
        if statement.tolerance:
            number = float(statement.given["paper"])
            found += _kind(
                statement.value, statement.tolerance, statement.quote, statement.source, number, statement.derived, None
            )
        else:
            found += _bounds(statement)
    flags: dict[str, bool] = {}
    sayings = [(p.quote, p.claim) for p in figure.published] + [(s.quote, s.check.claim) for s in figure.statements]
    for quote, claim in sayings:
        if quote and flags.setdefault(sentence(quote), claim) is not claim:
            found.append(f"“{quote}” is a claim in one check and a number in another")
    return found


def _kind(where: str, kind: str, quote: str, source: str, number: float, derived: str, x: object) -> list[str]:
    rule = TOLERANCES[kind]
    table = source.startswith("Table")
    if not quote and not table:
        return [f"{where}: neither a quote nor a table"]
    if rule.words:
        words = quote.lower()
        if not any(word in words for word in rule.words):
            return [f"{where}: kind {kind!r} needs one of {', '.join(rule.words)} in “{quote}”"]
    if not rule.printed or table:
        return []
    if derived:
        value = arithmetic(derived, {} if x is None else {"x": float(str(x))})
        near = math.isclose(value, number, rel_tol=5e-3)
        return [] if near else [f"{where}: {derived} is {value:.6g}, not {number:g}"]
    return [] if _prints(quote, number) else [f"{where}: {number:g} is not printed in “{quote}”"]


def _bounds(statement: Statement) -> list[str]:
    quote, where = statement.quote, statement.value
    if not quote and not statement.source.startswith("Table"):
        return [f"{where}: neither a quote nor a table"]
    if statement.why:
        return []
    ends: list[float] = []
    for value in statement.given.values():
        ends += value if isinstance(value, list) else [value]
    compared = any(word in quote.lower() for word in _COMPARED)
    return [
        f"{where}: the bound {end:g} is not printed in “{quote}”, and there is no `why`"
        for end in ends
        if not _prints(quote, end) and not (end in (0.0, 1.0) and compared)
    ]


def _prints(quote: str, number: float) -> bool:
    """Whether a quote has a number in digits, in a word, or in a unit a thousand times larger or smaller."""
    text = quote.replace(",", "") if re.search(r"\d,\d{3}", quote) else quote
    words = re.findall(r"[a-z]+", quote.lower())
    printed = [float(digits) for digits in _PRINTED.findall(text)]
    printed += [float(_NUMBERS.index(word)) for word in words if word in _NUMBERS]
    return any(math.isclose(number, value * scale, rel_tol=1e-9) for value in printed for scale in (1, 1e3, 1e-3))
