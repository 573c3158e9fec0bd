"""The verdict: a pure function of what was measured and what the paper says.

A figure's checks are of two kinds. A *claim* is what the figure is there to show; a *number* is how far. A check holds
when its value lies in the interval that the paper's statement leaves. The verdict is

* **reproduced** when every check holds,
* **not** reproduced when fewer than half of the claims hold,
* **partly** otherwise.

One sentence of a paper is one claim, however many checks it takes: it holds when all of them do. A sentence that is a
claim in one figure is one in every figure that it speaks of.

A value that does not exist holds nowhere. Confidence intervals are shown, but widen no interval: a noisy run must not
pass because it is noisy. How near is near enough is decided once for each kind of number (`TOLERANCES`), not for each
figure.
"""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["TOLERANCES", "Check", "Interval", "Outcome", "Tolerance", "Verdict", "judge", "sentence"]


class Verdict(enum.Enum):
    """Whether a figure came out as published."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
    NOT = "not"

    @property
    def label(self) -> str:
        """As pages show it."""
        return "not reproduced" if self is Verdict.NOT else self.value


@dataclass(frozen=True)
class Interval:
    """Values that a statement leaves, ends included unless they are strict."""

    low: float = -math.inf
    high: float = math.inf
    strict: bool = False

    def holds(self, value: float) -> bool:
        """Whether `value` exists and lies inside."""
        if math.isnan(value):
            return False
        if self.strict and value in (self.low, self.high):
            # An end that is not there excludes nothing.
            return math.isinf(value)
        return self.low <= value <= self.high

    def __str__(self) -> str:
        below, above = ("below", "above") if self.strict else ("at most", "at least")
        if self.low == -math.inf:
            return f"{below} {self.high:.4g}"
        if self.high == math.inf:
            return f"{above} {self.low:.4g}"
        return f"{self.low:.4g} to {self.high:.4g}"


@dataclass(frozen=True)
class Tolerance:
    """How near a published number of some kind has to be met, and why."""

    why: str
    relative: float = 0.0
    absolute: float = 0.0
    factor: float = 1.0
    words: tuple[str, ...] = ()
    """One of these stands in the quote."""
    printed: bool = True
    """Whether the number itself stands in the quote, or in the table that is the source, or follows by `derived`."""
    positive: bool = False
    """Whether the quantity is never negative."""

    def around(self, published: float) -> Interval:
        """Interval around a published number: the widest of the ways that are given."""
        wide = max(abs(published) * self.relative, self.absolute)
        ends = [published - wide, published + wide]
        if self.positive:
            ends[0] = max(ends[0], 0.0)
        if self.factor != 1.0:
            ends += [published * self.factor, published / self.factor]
        return Interval(min(ends), max(ends))


TOLERANCES = {
    "formula": Tolerance("a formula or model evaluated by the paper: rounding in print only", relative=0.02),
    "rounded": Tolerance("a formula evaluated by the paper and printed with one decimal", absolute=0.05),
    "goodput": Tolerance(
        "goodput in ns-2 with parameters that the paper leaves open (basic rate, seeds, bytes that count)",
        relative=0.05,
    ),
    "ratio": Tolerance("a ratio of goodputs: 15 %, as against ns-2 itself (docs/validation.md)", relative=0.15),
    "index": Tolerance("a fairness index between 0 and 1, printed with two digits", absolute=0.05, words=("index",)),
    "spread": Tolerance(
        "standard deviation over mean among 15 flows of one run: 20 %, its standard error 1 / sqrt(2 x 14); 0.01 near zero",
        relative=0.2,
        absolute=0.01,
        positive=True,
    ),
    "testbed": Tolerance("measured with real cards, whose timing and rates are not known", relative=0.2),
    "about": Tolerance(
        "the text says 'about' or 'in the order of'",
        relative=0.2,
        words=("about", "around", "approximately", "in the order of"),
    ),
    "near": Tolerance(
        "the text says 'near', 'almost' or 'close' and gives no distance",
        relative=0.25,
        words=("near", "almost", "close"),
        printed=False,
    ),
    "shape": Tolerance(
        "the text gives a shape without a number (linear, level, the same, unchanged)",
        relative=0.2,
        words=("linear", "leveling", "counter balances", "same", "do not result in changes"),
        printed=False,
    ),
    "model": Tolerance(
        "the text says that model and simulation or measurement agree and gives no distance",
        relative=0.2,
        words=("model", "accura", "agreement", "validat", "captures"),
        printed=False,
    ),
    "time": Tolerance(
        "transfer times of files, their mean or their coefficient of variation: few of them, and heavy tails",
        relative=0.3,
        words=("cov", "transfer time", "second"),
    ),
    "order": Tolerance("a starved flow gets a handful of packets: the order of magnitude counts", factor=10.0),
}
"""Kinds of published numbers."""


def sentence(quote: str) -> str:
    """Return a quote without what does not matter: spaces, marks, case."""
    return re.sub(r"\W+", "", quote.lower())


@dataclass(frozen=True)
class Check:
    """One statement of a paper."""

    what: str
    allowed: Interval
    claim: bool = True
    sentence: str = ""
    """The sentence of the paper; checks that share one are one claim. Empty: a claim of its own."""


@dataclass(frozen=True)
class Outcome:
    """A check with what was measured for it."""

    check: Check
    value: float

    @property
    def holds(self) -> bool:
        """Whether the value lies in the interval."""
        return self.check.allowed.holds(self.value)


def judge(outcomes: Sequence[Outcome]) -> Verdict:
    """Return the verdict by the rule above.

    Raises
    ------
    ValueError
        There is no claim to judge: such a figure would be reproduced whatever it shows.

    Examples
    --------
    >>> below = Check("below one", Interval(high=1.0))
    >>> judge([Outcome(below, 0.5)]), judge([Outcome(below, 2.0)])
    (<Verdict.REPRODUCED: 'reproduced'>, <Verdict.NOT: 'not'>)
    """
    claims: dict[object, bool] = {}
    for number, outcome in enumerate(outcomes):
        if outcome.check.claim:
            said = outcome.check.sentence or number
            claims[said] = claims.get(said, True) and outcome.holds
    if not claims:
        raise ValueError("a verdict needs at least one claim")
    if all(outcome.holds for outcome in outcomes):
        return Verdict.REPRODUCED
    return Verdict.NOT if 2 * sum(claims.values()) < len(claims) else Verdict.PARTLY
