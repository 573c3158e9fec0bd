"""Plots of a figure as SVG: our curves with confidence intervals, the testbed's and the paper's numbers as points."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from fairair.gallery.curve import Curve, X
from fairair.gallery.spec import Figure, Panel, Series
from fairair.plot import COLOURS, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

__all__ = ["draw"]

MARKERS = "os^Dv<P"
RECORDED = "sDo^<vX"
"""Of what the testbed measured: hollow, and another shape than the simulation's beside it."""
# Text as paths looks the same in every browser, and the same picture has the same bytes.
EXTRA: Any = {"errorbar.capsize": 3, "svg.fonttype": "path"}


def draw(figure: Figure, curves: Mapping[str, Curve]) -> dict[str, str]:
    """Return an SVG for each panel, by its id."""
    with style(), mpl.rc_context(EXTRA):
        return {panel.id: _panel(figure, panel, curves) for panel in figure.panels}


def _panel(figure: Figure, panel: Panel, curves: Mapping[str, Curve]) -> str:
    shown = [series for series in figure.series if series.panel == panel.id]
    canvas = Canvas(figsize=(6.4, 4.6), layout="constrained")
    axes = canvas.add_subplot()
    if panel.kind == "lines":
        _lines(axes, shown, curves, log=panel.scale == "log")
    else:
        {"bars": _bars, "steps": _steps}[panel.kind](axes, shown, curves)
    _recorded(axes, figure, panel, shown, curves)
    _published(axes, figure, panel, shown, curves)
    axes.set_xlabel(panel.x or figure.x_label)
    axes.set_ylabel(panel.y)
    axes.set_yscale(panel.scale)
    if panel.scale == "linear":
        # Intervals of two or three replicas are wide; none of our quantities is negative. Room above what is highest.
        axes.set_ylim(0.0, 1.04 * axes.get_ylim()[1])
    else:
        _plain(axes.yaxis, *axes.get_ylim())
    if panel.x_scale == "log":
        axes.set_xscale("log")
        _plain(axes.xaxis, *axes.get_xlim())
    if panel.span:
        axes.set_xlim(*panel.span)
    if panel.title:
        axes.set_title(panel.title, fontsize=10)
    entries = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    # In the order of the figure; curves without intervals would come first.
    order = {series.label: k for k, series in enumerate(shown)}
    labels = sorted(entries, key=lambda label: order.get(label, len(order)))
    handles = [entries[label] for label in labels]
    longest = max((len(label) for label in labels), default=0)
    canvas.legend(handles, labels, loc="outside lower center", ncols=1 if longest > 44 else 2, fontsize=9)
    out = io.StringIO()
    canvas.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    svg = out.getvalue()
    return svg[svg.index("<svg") :]


def _plain(axis: Axis, low: float, high: float) -> None:
    """Write plain numbers on a logarithmic axis, and more of them than powers of ten on a short one."""
    decades = np.log10(high / low)
    subs = (1.0,) if decades > 3 else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=subs) if decades > 1.2 else MaxNLocator(6))
    axis.set_minor_formatter(NullFormatter())
    if low >= 1e-4 and high <= 1e5:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _look(k: int, series: Series) -> dict[str, Any]:
    colour = COLOURS[k % len(COLOURS)]
    if series.engine in ("model", "function"):
        return {"color": colour, "linestyle": "--", "marker": "", "linewidth": 2.0}
    return {"color": colour, "linestyle": "-", "marker": MARKERS[k % len(MARKERS)]}


def _coincide(one: Curve, other: Curve, highest: float) -> bool:
    """Whether one curve hides the other."""
    return one.x == other.x and bool(np.all(np.abs(one.y - other.y) < 0.01 * highest))


def _lines(axes: Axes, shown: list[Series], curves: Mapping[str, Curve], *, log: bool) -> None:
    highest = max((float(np.nanmax(curves[series.id].y, initial=0.0)) for series in shown), default=0.0)
    for k, series in enumerate(shown):
        curve = curves[series.id]
        if log:
            # What was never seen in a run has no place on a logarithmic axis.
            curve = replace(curve, y=np.where(curve.y > 0, curve.y, np.nan))
        look = _look(k, series)
        if curve.scalar:
            axes.axhline(float(curve.y[0]), color=look["color"], linestyle="-.", label=series.label)
            continue
        positions = _positions(curve)
        if len(curve.x) > 60:
            look["marker"] = ""
        elif look["marker"] and any(_coincide(curve, curves[other.id], highest) for other in shown[:k]):
            # Small on top of large: both are seen.
            look |= {"markersize": 2.5, "linewidth": 0.7}
        if np.isnan(curve.ci).all():
            axes.plot(positions, curve.y, label=series.label, **look)
        else:
            drawn = axes.errorbar(positions, curve.y, yerr=_bars_of(curve, log=log), label=series.label, **look)
            if log:
                # Behind all curves and faint: on a logarithmic axis wide intervals reach far down.
                for bar in (*drawn[1], *drawn[2]):
                    bar.set(alpha=0.35, zorder=1.5, linewidth=1.0)
    _ticks(axes, shown, curves)


def _bars_of(curve: Curve, *, log: bool) -> Any:
    """Half-widths down and up; on a logarithmic axis the same factor both ways where the lower end would leave it.

    There the interval of the logarithm stands in, y times and over 1 + ci / y (the delta method, as that of a quotient): a
    bar to the foot of the axis would say nothing and cross all curves below.
    """
    width = np.nan_to_num(curve.ci)
    if not log:
        return width
    with np.errstate(divide="ignore", invalid="ignore"):
        below = np.where(width < 0.5 * curve.y, width, curve.y - curve.y / (1.0 + width / curve.y))
    return np.nan_to_num(np.vstack([below, width]))


def _steps(axes: Axes, shown: list[Series], curves: Mapping[str, Curve]) -> None:
    for k, series in enumerate(shown):
        curve = curves[series.id]
        look: dict[str, Any] = {
            "color": COLOURS[k % len(COLOURS)],
            "marker": "",
            "linestyle": ["-", "--", "-.", ":"][k % 4],
        }
        x, y = _positions(curve), curve.y
        if series.windows and len(x) > 1:
            # The last mean holds as long as the one before it.
            x, y = np.append(x, 2 * x[-1] - x[-2]), np.append(y, y[-1])
        axes.step(x, y, where="post", label=series.label, linewidth=1.2, **look)


def _bars(axes: Axes, shown: list[Series], curves: Mapping[str, Curve]) -> None:
    width = 0.8 / max(len(shown), 1)
    for k, series in enumerate(shown):
        curve = curves[series.id]
        at = _positions(curve) + (k - (len(shown) - 1) / 2) * width
        error = np.nan_to_num(curve.ci)
        look: dict[str, Any] = {
            "color": COLOURS[k % len(COLOURS)],
            "edgecolor": "white",
            "hatch": ["", "//", "..", "xx", "\\\\"][k % 5],
        }
        axes.bar(at, curve.y, width, yerr=error if error.any() else None, label=series.label, **look)
    _ticks(axes, shown, curves)


def _positions(curve: Curve) -> Any:
    if any(isinstance(x, str) for x in curve.x):
        return np.arange(len(curve.x), dtype=np.float64)
    return np.asarray(curve.x, dtype=np.float64)


def _ticks(axes: Axes, shown: list[Series], curves: Mapping[str, Curve]) -> None:
    xs = [curves[series.id].x for series in shown]
    longest = max((list(x) for x in xs), key=len, default=[])
    if any(isinstance(x, str) for x in longest):
        axes.set_xticks(range(len(longest)), [textwrap.fill(str(x), 12) for x in longest])
    elif 1 < len(longest) <= 10 and all(float(x).is_integer() for x in longest) and float(longest[-1]) <= 60:
        axes.set_xticks([float(x) for x in longest])


def _shift(k: int, panel: Panel, shown: list[Series]) -> float:
    """Return how far a bar stands beside its x."""
    return (k - (len(shown) - 1) / 2) * 0.8 / len(shown) if panel.kind == "bars" else 0.0


def _place(x: X, xs: list[X]) -> float:
    """Return where an x stands on the axis; NaN for a word that is not there."""
    if not isinstance(x, str):
        return float(x)
    return float(xs.index(x)) if x in xs else float("nan")


def _recorded(axes: Axes, figure: Figure, panel: Panel, shown: list[Series], curves: Mapping[str, Curve]) -> None:
    """Draw what the testbed measured, beside the curve that it belongs to."""
    for k, series in enumerate(shown):
        curve = figure.recorded.get(series.id)
        if curve is None:
            continue
        at = np.asarray([_place(x, list(curves[series.id].x)) for x in curve.x]) + _shift(k, panel, shown)
        look: dict[str, Any] = {"color": COLOURS[k % len(COLOURS)], "markerfacecolor": "white", "markeredgewidth": 1.6}
        look |= {"linestyle": "", "marker": RECORDED[k % len(RECORDED)], "markersize": 8, "zorder": 4}
        label = f"testbed: {series.label}" if len(shown) > 1 else "testbed"
        drawn = axes.errorbar(at, curve.y, yerr=np.nan_to_num(curve.ci), label=label, **look)
        drawn.lines[0].set_gid(f"testbed-{series.id}")


def _published(axes: Axes, figure: Figure, panel: Panel, shown: list[Series], curves: Mapping[str, Curve]) -> None:
    order = {series.id: k for k, series in enumerate(shown)}
    points = [(p.series, list(p.points), p.label) for p in figure.published]
    points += [(s.point[0], [s.point[1:]], "") for s in figure.statements if s.point is not None]
    for series, numbers, label in points:
        if series not in order:
            continue
        k = order[series]
        xs = list(curves[series].x)
        # Beside the bar that it belongs to.
        placed = [(_place(x, xs) + _shift(k, panel, shown), y) for x, y in numbers]
        kept = [(x, y) for x, y in placed if not np.isnan(x)]
        look: dict[str, Any] = {
            "markerfacecolor": "white",
            "markeredgecolor": "black",
            "markeredgewidth": 1.4,
            "markersize": 9,
        }
        text = label or (f"paper: {shown[k].label}" if len(shown) > 1 else "paper")
        marker = "*dhp"[k % 4]
        # Whole where it stands on the axis.
        look["clip_on"] = bool(panel.span)
        axes.plot([x for x, _ in kept], [y for _, y in kept], linestyle="", marker=marker, zorder=5, label=text, **look)
