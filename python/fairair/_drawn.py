"""Plots of the air and of plans, a part of `fairair.plot`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import Normalize
from matplotlib.patches import Patch

from fairair._arguments import checked
from fairair._style import COLOURS, axes, style
from fairair.frames import Air
from fairair.planner import Plan

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["air", "front"]

_ANSWER, _CONTROL, _BAD = "#9aa5b1", COLOURS[5], COLOURS[1]


def _boxes(left: NDArray[Any], width: NDArray[Any], base: NDArray[Any], height: NDArray[Any]) -> NDArray[Any]:
    """Return the corners of rectangles; lanes grow downwards."""
    right, top = left + width, base - height
    corners = [(left, base), (left, top), (right, top), (right, base)]
    return np.stack([np.stack(corner, axis=-1) for corner in corners], axis=1)


def _lanes(ax: Axes, air: Air) -> None:
    """Draw every PPDU into the lane of its sender: as high as it has data frames, in the colour of its rate."""
    columns = air.columns
    mpdus, kinds, collided = columns["mpdus"], columns["kind"], columns["collided"]
    sends = mpdus > 0
    rates = np.unique(columns["rate_bps"][sends])
    scale = dict(zip(rates, mpl.colormaps["cividis"](np.linspace(0.0, 0.8, len(rates))), strict=True))
    # The lab's heights: an answer is low, one data frame is a third, the largest aggregate the whole lane.
    height = np.where(sends, 0.8 * (0.35 + 0.65 * np.log2(1 + mpdus) / np.log2(1 + max(1, mpdus.max(initial=1)))), 0.18)
    base = columns["sender"] + 0.4
    is_ack = kinds == "TCP ACK"
    control = kinds == "control"
    looks: list[tuple[str, NDArray[Any], dict[str, Any]]] = [
        ("ACK, BlockAck", ~sends & ~control, {"facecolor": _ANSWER}),
        ("RTS, CTS and others", ~sends & control, {"facecolor": _CONTROL}),
    ]
    for rate in rates:
        of_rate = sends & (columns["rate_bps"] == rate)
        label = f"{rate / 1e6:g} Mbit/s"
        looks.append((label, of_rate & ~is_ack, {"facecolor": scale[rate]}))
        looks.append(("", of_rate & is_ack, {"facecolor": "none", "edgecolor": scale[rate]}))
    # Over the others, and not by colour alone.
    looks.append(("collided", collided, {"facecolor": _BAD, "edgecolor": "white", "hatch": "xxxx", "linewidth": 0.0}))
    legend = []
    for label, those, look in looks:
        shown = those if label == "collided" else those & ~collided
        corners = _boxes(columns["at_s"][shown], columns["duration_s"][shown], base[shown], height[shown])
        ax.add_collection(PolyCollection(list(corners), label=label, **look))
        if label and shown.any():
            legend.append(Patch(label=label, **look))
    if (sends & is_ack).any():
        legend.insert(0, Patch(label="TCP ACKs only", facecolor="none", edgecolor="black"))
    part = ~collided & (columns["lost"] > 0)
    if part.any():
        # As much of the frame as was lost, from its top.
        high = height[part] * columns["lost"][part] / mpdus[part]
        top = base[part] - height[part] + high
        ax.add_collection(
            PolyCollection(
                list(_boxes(columns["at_s"][part], columns["duration_s"][part], top, high)),
                label="lost",
                facecolor=_BAD,
            )
        )
        legend.append(Patch(label="lost", facecolor=_BAD))
    again = columns["retries"] > 0
    if again.any():
        # A line over the frame.
        over = base[again] - height[again]
        strips = _boxes(columns["at_s"][again], columns["duration_s"][again], over, np.full(len(over), 0.05))
        ax.add_collection(PolyCollection(list(strips), label="sent again", facecolor="black"))
        legend.append(Patch(label="sent again", facecolor="black"))
    shares = air.shares()
    ax.set_xlim(air.from_s, air.to_s)
    ax.set_ylim(len(air.nodes) - 0.5, -0.5)
    ax.set_yticks(range(len(air.nodes)), [f"{node}  {100 * shares[node]:.1f} %" for node in air.nodes])
    ax.ticklabel_format(axis="x", useOffset=False)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel("time, s")
    ax.set_ylabel("sender, share of time")
    ax.set_title(air.name, loc="left")
    ax.legend(handles=legend, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _front(ax: Axes, plan: Plan) -> None:
    """Draw a point a candidate of the front."""
    goodput = np.array([point.goodput_bps for point in plan.front]) / 1e6
    # An axis of decades has no zero.
    delay = np.maximum([point.delay_s * 1e3 for point in plan.front], 1.0)
    colour = [point.fairness for point in plan.front]
    drawn = ax.scatter(goodput, delay, c=colour, cmap="cividis", norm=Normalize(0.5, 1.0), s=50, zorder=3)
    for point, x, y in zip(plan.front, goodput, delay, strict=True):
        ax.annotate(point.family, (x, y), xytext=(0, 7), textcoords="offset points", ha="center", fontsize=8)
    if (best := plan.recommended) is not None:
        mean: Any = best.result.summary.loc["goodput_bps", "mean"]
        ring: dict[str, Any] = {"facecolors": "none", "edgecolors": "black", "label": "recommended"}
        ax.scatter([mean / 1e6], [max(best.delay_s * 1e3, 1.0)], s=170, zorder=4, **ring)
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0))
    ax.set_yscale("log")
    ax.margins(x=0.12, y=0.15)
    ax.set_xlabel("goodput of the cell, Mbit/s")
    ax.set_ylabel("delay: p95 at the AP + mean in the box, ms")
    ax.set_title(f"{plan.name}: {' and '.join(plan.goals)}", loc="left")
    ax.figure.colorbar(drawn, ax=ax, label="fairness: Jain's index of max-min shares", extend="min")


@checked
def air(seen: Air, *, ax: Axes | None = None) -> Axes:
    """Every PPDU in the lane of its sender over time in s: as high as it has data frames, in the colour of its rate.

    Answers are low and grey, PPDUs with TCP ACKs alone hollow, collisions hatched; of what was lost, a part is red.

    Parameters
    ----------
    seen : Air
        From `fairair.air`; some tens of ms can be told apart.
    ax : Axes, optional
        Where to draw; a new figure by default, as high as there are nodes.

    Returns
    -------
    matplotlib.axes.Axes
        Time in s to the right, a lane a node downwards, with its share of the time in per cent.

    Raises
    ------
    FairAirError
        matplotlib is missing (``fairair[plot]`` brings it).

    Examples
    --------
    >>> import fairair
    >>> cell = fairair.Scenario.from_dict({"name": "cell", "run": {"duration": "5 s"},
    ...     "station": [{"name": "a", "flows": [{"direction": "up"}]}]})
    >>> fairair.plot.air(fairair.air(cell, 0.05)).get_xlabel()
    'time, s'
    """
    with style():
        ax = plt.subplots(figsize=(8.0, 0.4 * len(seen.nodes) + 1.2))[1] if ax is None else ax
        _lanes(ax, seen)
    return ax


@checked
def front(plan: Plan, *, ax: Axes | None = None) -> Axes:
    """Front of a plan: goodput in Mbit/s against delay in ms, fairness as colour, a ring around what is recommended.

    Parameters
    ----------
    plan : Plan
        From `fairair.plan`.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        Delays below 1 ms are drawn there: the axis has decades.

    Raises
    ------
    FairAirError
        pandas is missing (``fairair[plot]`` brings it).

    Examples
    --------
    >>> import fairair
    >>> cell = fairair.Scenario.from_dict({"name": "cell", "run": {"duration": "5 s", "replicas": 2},
    ...     "radio": {"rate": "1 Mbit/s", "basic_rate": "1 Mbit/s"},
    ...     "station": [{"name": "a", "flows": [{"direction": "up"}]}]})
    >>> fairair.plot.front(fairair.plan(cell, "a >= 100 kbit/s", deploy="ap")).get_xlabel()
    'goodput of the cell, Mbit/s'
    """
    with style():
        ax = axes(ax)
        _front(ax, plan)
    return ax
