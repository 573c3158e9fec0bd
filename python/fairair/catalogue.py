"""The catalogue of what results have, and a mean with its doubt."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from fairair import _native
from fairair._arguments import checked
from fairair._errors import FairAirError

__all__ = ["Estimate", "Quantity", "quantities", "quantity"]


class Estimate(NamedTuple):
    """A mean over replicas and how sure it is.

    Attributes
    ----------
    mean : float
        Mean over `n` replicas, or for ratios the quotient of the sums; NaN when it does not exist.
    ci95 : float
        Half-width of the 95 % confidence interval (Student's t); NaN when ``n < 2``.
    n : int
        Replicas that count.
    """

    mean: float
    ci95: float
    n: int

    @classmethod
    @checked
    def of(cls, value: Mapping[str, Any]) -> Estimate:
        """Read ``{"mean": ..., "ci95": ..., "n": ...}``.

        Parameters
        ----------
        value : mapping
            ``{"mean": ..., "ci95": ..., "n": ...}`` of a result's JSON; null is NaN.

        Returns
        -------
        Estimate

        Raises
        ------
        FairAirError
            One of the three is missing, or is no number.

        Examples
        --------
        >>> import fairair
        >>> print(fairair.Estimate.of({"mean": 2.0, "ci95": 0.1, "n": 5}))
        2 ± 0.1
        """
        try:
            mean, ci95 = (math.nan if value[key] is None else float(value[key]) for key in ("mean", "ci95"))
            return cls(mean, ci95, int(value["n"]))
        except (KeyError, TypeError, ValueError):
            fix = 'give {"mean": ..., "ci95": ..., "n": ...} with numbers'
            raise FairAirError("value", f"{value!r} is no estimate", fix) from None

    def __str__(self) -> str:
        return f"{self.mean:.4g}" if math.isnan(self.ci95) else f"{self.mean:.4g} ± {self.ci95:.2g}"


class Quantity(NamedTuple):
    """A quantity of results, as docs/results.md lists it."""

    level: str
    """What has it: ``cell``, ``station``, ``flow``, ``queue``, ``drops`` or ``box``."""
    key: str
    """Where the result has it: keys with dots between them, ``[]`` for a list."""
    name: str
    """Its column in tables and sweeps."""
    compared_as: str | None
    """Its name in the command's comparisons and plans, where that is another."""
    unit: str
    """Its unit; ``1``: dimensionless."""
    what: str
    """What it is."""


@cache
def quantities() -> tuple[Quantity, ...]:
    """Return the catalogue of what results have.

    Returns
    -------
    tuple of Quantity
        Level, key, name, unit and meaning of each.

    Examples
    --------
    >>> import fairair
    >>> next(quantity.unit for quantity in fairair.quantities() if quantity.name == "goodput_bps")
    'bit/s'
    """
    return tuple(Quantity(*row) for row in _native.quantities())


@checked
def quantity(name: str) -> Quantity:
    """Return the quantity of the whole cell with this name.

    Parameters
    ----------
    name : str
        Its column, such as ``goodput_bps``.

    Returns
    -------
    Quantity

    Raises
    ------
    FairAirError
        There is none.

    Examples
    --------
    >>> import fairair
    >>> fairair.catalogue.quantity("goodput_bps").unit
    'bit/s'
    """
    of_cell = [quantity for quantity in quantities() if quantity.level == "cell"]
    for quantity in of_cell:
        if quantity.name == name:
            return quantity
    known = ", ".join(quantity.name for quantity in of_cell)
    raise FairAirError("quantity", f"there is no quantity {name!r}", f"use one of: {known}")
