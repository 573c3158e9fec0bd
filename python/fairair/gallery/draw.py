"""A figure's plot, as SVG."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure as Canvas

from fairair.gallery.rules import Data
from fairair.gallery.spec import Figure
from fairair.plot import COLOURS, style

__all__ = ["draw"]


def _looks(names: list[str]) -> list[tuple[str, str, str]]:
    """Return colour, line and marker of each curve: "TLAS, 250 ms" has the colour of TLAS and the line of 250 ms."""
    groups = list(dict.fromkeys(name.partition(", ")[0] for name in names))
    kinds = list(dict.fromkeys(name.partition(", ")[2] for name in names))
    if len(groups) == 1:
        groups, kinds = kinds, [""]
    looks = []
    for name in names:
        group, _, kind = name.partition(", ")
        if group not in groups:
            group, kind = kind, ""
        index = groups.index(group)
        look = kinds.index(kind) if kind in kinds else 0
        looks.append((COLOURS[index % len(COLOURS)], ("-", ":", "-.")[look % 3], "os^Dv<P"[(index + look) % 7]))
    return looks


def draw(figure: Figure, data: dict[str, Data], path: Path) -> None:
    """Draw a figure into an SVG file."""
    with style(), mpl.rc_context({"svg.fonttype": "none"}):
        canvas, ax = plt.subplots(figsize=(7.2, 4.4))
        assert isinstance(canvas, Canvas)
        labelled = [place for place in figure.places if place.label != f"{place.x:g}"]
        drawn = [curve for curve in figure.curves if curve.draw]
        for curve, (colour, line, marker) in zip(drawn, _looks([curve.name for curve in drawn]), strict=True):
            x, y, ci95 = data[curve.name]
            if curve.engine != "sim":
                ax.plot(x, y, "--", color=colour, label=curve.name, marker="")
            elif curve.kind in {"cwnd", "queue", "capacity"}:
                ax.step(x, y, where="post", color=colour, label=curve.name, marker="", linewidth=1)
            elif curve.kind == "flows":
                ax.bar(x, y, 0.7, yerr=np.nan_to_num(ci95), color=colour, label=curve.name, error_kw={"elinewidth": 1})
            else:
                error = np.nan_to_num(ci95)
                # Between names there is nothing to connect.
                line = "" if labelled and len(labelled) == len(figure.places) and not figure.log_x else line
                # On a logarithmic axis an interval that reaches below zero has no lower end: it ends at a tenth.
                low = np.minimum(error, 0.9 * np.abs(y)) if figure.log_y else error
                ax.errorbar(
                    x, y, [low, error], color=colour, linestyle=line, marker=marker, label=curve.name, capsize=2
                )
        for index, published in enumerate(figure.published):
            marker = "X*Ph"[index % 4]
            ax.plot(published.x, published.y, marker, color="black", markersize=8, mfc="none", label=published.name)
        if labelled:
            ax.set_xticks([place.x for place in labelled], [place.label for place in labelled])
        if figure.log_x:
            ax.set_xscale("log")
        if figure.log_y:
            ax.set_yscale("log")
        else:
            ax.set_ylim(bottom=0)
        ax.set_xlabel(figure.x_label)
        ax.set_ylabel(figure.y_label)
        # Beside the axes: curves are everywhere, and a legend must not hide one.
        canvas.legend(loc="outside upper center", ncols=2 if len(drawn) + len(figure.published) > 1 else 1)
        canvas.savefig(path, metadata={"Date": None})
        plt.close(canvas)
