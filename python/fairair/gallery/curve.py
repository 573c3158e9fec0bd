"""Curves: what a series of a figure comes to, with its confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["SCALAR", "Curve", "Floats", "X"]

Floats = NDArray[np.float64]
X = float | str
SCALAR: tuple[X, ...] = ("",)
"""The x of a curve that is one value."""


@dataclass(frozen=True)
class Curve:
    """Values over x.

    Attributes
    ----------
    x : tuple
        Numbers in increasing order, or names of categories.
    y : ndarray
        Means over replicas in the figure's unit; NaN where the quantity does not exist.
    ci : ndarray
        Half-widths of 95 % confidence intervals; NaN where there is none (one replica, models).
    n : int
        Replicas, 0 for a model.
    """

    x: tuple[X, ...]
    y: Floats
    ci: Floats
    n: int

    @classmethod
    def of(cls, x: tuple[X, ...], y: object, ci: object = None, n: int = 0) -> Curve:
        """Make a curve of plain lists; without `ci` there are no intervals."""
        values = np.asarray(y, dtype=np.float64)
        widths = np.full_like(values, np.nan) if ci is None else np.asarray(ci, dtype=np.float64)
        return cls(x, values, widths, n)

    @property
    def scalar(self) -> bool:
        """Whether this is one value without an x."""
        return self.x == SCALAR

    def at(self, x: X) -> float:
        """Value at `x`; NaN where the curve has none."""
        for own, value in zip(self.x, self.y, strict=True):
            if own == x or (not isinstance(own, str) and not isinstance(x, str) and abs(own - x) < 1e-9):
                return float(value)
        return float("nan")

    def between(self, low: float | None, high: float | None) -> Curve:
        """Return the part with ``low <= x <= high``."""
        keep = [
            k
            for k, x in enumerate(self.x)
            if not isinstance(x, str) and (low is None or x >= low) and (high is None or x <= high)
        ]
        return Curve(tuple(self.x[k] for k in keep), self.y[keep], self.ci[keep], self.n)
