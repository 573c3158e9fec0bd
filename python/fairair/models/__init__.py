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

For the unified model's answer to a whole scenario write ``fairair.run(scenario, engine="model")``.
"""

from fairair.models import capacity, dcf, detti2011, ha2009, pftk, pokhrel2016, unified

__all__ = ["capacity", "dcf", "detti2011", "ha2009", "pftk", "pokhrel2016", "unified"]
