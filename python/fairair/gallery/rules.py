"""The rule of verdicts: statements of a paper, each checked by code, and what they come to.

A statement *holds* or does not; the bounds are the same for all figures and stand here. A figure is **reproduced** when all
its checked statements hold, **partly** when at least half do, else **not**; **unchecked** when none could be checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fairair._errors import FairAirError

__all__ = ["NEAR", "ORDER", "Claim", "Data", "Finding", "Verdict", "verdict_of"]

NEAR = 0.15
"""`near`: relative difference from the published number, at most."""
ORDER = 3.0
"""`order`: factor between ours and the published number, at most; for what hangs on a handful of packets."""
SLACK = 0.05
"""`rising` and `falling`: how far a step may go the wrong way, over the largest value."""

Floats = npt.NDArray[np.float64]


class Data(NamedTuple):
    """A curve: where, how much, and half-width of its 95 % confidence interval (NaN without)."""

    x: Floats
    y: Floats
    ci95: Floats


class Verdict(Enum):
    """What a figure's statements come to."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
    NOT = "not"
    UNCHECKED = "unchecked"


class Claim(NamedTuple):
    """A statement of a paper, in a form that code can check.

    `kind` is ``near`` or ``order`` (to `value`), ``above`` or ``below`` (`value`, or `factor` times the curve `other`),
    ``between`` (`value` = [low, high]), ``rising``, ``falling``, ``flat`` (within `NEAR` of its mean). `x` restricts it to
    places, `within` to an interval of them, `reduce` (mean, min, max) makes one number of them first.
    """

    text: str
    curve: str
    kind: str
    value: Any = None
    x: list[float] | None = None
    other: str | None = None
    factor: float = 1.0
    reduce: str | None = None
    within: list[float] | None = None

    def check(self, data: Mapping[str, Data]) -> Finding:
        """Check the statement against the curves."""
        ours = self._at(data, self.curve)
        if ours is None or (self.kind in {"rising", "falling", "flat"} and len(ours) < 2):
            return Finding(self, None, "not run in this mode")
        if np.isnan(ours).any():
            return Finding(self, False, "a value does not exist")
        match self.kind:
            case "near":
                wanted = self._wanted(len(ours), data)
                holds = np.abs(ours / wanted - 1) <= NEAR
            case "order":
                wanted = self._wanted(len(ours), data)
                with np.errstate(divide="ignore"):
                    holds = np.abs(np.log(ours / wanted)) <= np.log(ORDER)
            case "above":
                holds = ours > self._wanted(len(ours), data)
            case "below":
                holds = ours < self._wanted(len(ours), data)
            case "between":
                holds = (ours >= self.value[0]) & (ours <= self.value[1])
            case "rising" | "falling":
                steps = np.diff(ours) * (1 if self.kind == "rising" else -1)
                holds = np.append(steps >= -SLACK * np.abs(ours).max(), steps.sum() > 0)
            case "flat":
                holds = np.abs(ours / ours.mean() - 1) <= NEAR
            case other:
                raise FairAirError("claim", f"there is no kind {other!r}", "see fairair.gallery.rules.Claim")
        shown = ", ".join(f"{value:.3g}" for value in ours[:8]) + (" ..." if len(ours) > 8 else "")
        return Finding(self, bool(np.all(holds)), f"ours: {shown}")

    def _at(self, data: Mapping[str, Data], curve: str) -> Floats | None:
        if curve not in data:
            raise FairAirError("claim", f"there is no curve {curve!r}", f"use one of: {', '.join(data)}")
        x, y, _ = data[curve]
        chosen = y if self.x is None else np.concatenate([y[np.isclose(x, place)] for place in self.x])
        if self.within is not None:
            chosen = y[(x >= self.within[0]) & (x <= self.within[1])]
        if not len(chosen):
            return None
        return np.array([getattr(np, self.reduce)(chosen)]) if self.reduce else chosen

    def _wanted(self, length: int, data: Mapping[str, Data]) -> Floats:
        if self.other is not None:
            other = self._at(data, self.other)
            if other is None or len(other) not in {1, length}:
                raise FairAirError("claim", f"{self.other!r} is not at the same places", "give `x` or `reduce`")
            return self.factor * other
        wanted = np.atleast_1d(np.asarray(self.value, dtype=float))
        if self.x is not None and len(wanted) == len(self.x) and len(wanted) != length:
            # In the quick mode some places are not run.
            run = data[self.curve].x
            wanted = wanted[[bool(np.isclose(run, place).any()) for place in self.x]]
        return np.broadcast_to(wanted, (length,))


class Finding(NamedTuple):
    """A statement and whether it holds; None: not checked."""

    claim: Claim
    holds: bool | None
    ours: str


def verdict_of(findings: Iterable[Finding]) -> Verdict:
    """Apply the rule.

    Examples
    --------
    >>> claim = Claim("ten", "c", "near", 10.0)
    >>> def at(y): return {"c": Data(np.array([1.0]), np.array([y]), np.array([np.nan]))}
    >>> verdict_of([claim.check(at(11.0))]), verdict_of([claim.check(at(12.0))])
    (<Verdict.REPRODUCED: 'reproduced'>, <Verdict.NOT: 'not'>)
    """
    checked = [finding.holds for finding in findings if finding.holds is not None]
    if not checked:
        return Verdict.UNCHECKED
    if all(checked):
        return Verdict.REPRODUCED
    return Verdict.PARTLY if sum(checked) * 2 >= len(checked) else Verdict.NOT
