"""Analytical models of a cell, vectorised over NumPy arrays.

Every function takes numbers or arrays that broadcast against each other and returns arrays of the broadcast shape.
Symbols and equation numbers are the papers'; docs/models.md derives what is ours. An input outside the range in which
the formulas have a meaning raises `fairair.FairAirError` that names the symbol, the value, the range and the element.

========== =====================================================================================
`pftk`     TCP Reno in steady state (Padhye et al. 2000)
`dcf`      802.11 DCF: the fixed point of Bianchi and of Kumar et al.
`capacity` how much of a mix of packets a cell carries
`detti2011` fairness level of stations that share an AP by TCP
`ha2009`   the dual queue
`pokhrel2016` loaded access points with channel errors; admission control and buffer sizing
`unified`  ours: buffer loss, channel errors, unequal rates and priorities at once
========== =====================================================================================

For a model's answer to a whole scenario write ``fairair.run(scenario, engine="model")``; `of_scenarios` lists the models that
answer scenarios.
"""

from typing import NamedTuple

from fairair import _native
from fairair.models import capacity, dcf, detti2011, ha2009, pftk, pokhrel2016, unified

__all__ = ["Model", "capacity", "dcf", "detti2011", "ha2009", "of_scenarios", "pftk", "pokhrel2016", "unified"]


class Model(NamedTuple):
    """A model that answers scenarios."""

    name: str
    what: str
    """What it answers."""
    default_for: str
    """Scenarios that it answers where no model is named; empty: none."""
    source: str
    """The paper that it comes from, or ours."""


def of_scenarios() -> list[Model]:
    """Return the models that answer scenarios, in the order of ``fairair model --help``.

    Where no model is named, the first answers that is the default for the scenario.

    Returns
    -------
    list of Model
        Name, what it answers, the scenarios it is the default for, and its source.

    References
    ----------
    docs/models.md.

    Examples
    --------
    >>> import fairair
    >>> "unified" in [model.name for model in fairair.models.of_scenarios()]
    True
    """
    return [Model(*row) for row in _native.models()]
