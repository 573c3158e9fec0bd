"""The one style of all plots."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

__all__ = ["COLOURS", "axes", "style"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's, without their yellow, which is too faint on white."""
_MARKERS = "os^Dv<P"

_STYLE: Any = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.prop_cycle": cycler(color=COLOURS) + cycler(marker=list(_MARKERS)),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "figure.figsize": (6.4, 4.0),
    "font.size": 10,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "lines.markersize": 5,
    "savefig.dpi": 150,
    "svg.hashsalt": "fairair",
}


@contextmanager
def style() -> Iterator[None]:
    """Use the package's style for the plots inside.

    Yields
    ------
    None
        Inside, matplotlib draws in the style.

    Examples
    --------
    >>> import fairair
    >>> from matplotlib import pyplot as plt
    >>> with fairair.plot.style():
    ...     figure, axes = plt.subplots()
    """
    with mpl.rc_context(_STYLE):
        yield


def axes(ax: Axes | None) -> Axes:
    """Return `ax`, or the axes of a new figure."""
    return plt.subplots()[1] if ax is None else ax
