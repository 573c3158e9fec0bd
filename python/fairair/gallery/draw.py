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


def draw(figure: Figure, data: dict[str, Data], path: Path) -> None:
    """Draw a figure into an SVG file."""
    with style(), mpl.rc_context({"svg.fonttype": "none"}):
        canvas, ax = plt.subplots(figsize=(7.2, 4.4))
        assert isinstance(canvas, Canvas)
        for index, curve in enumerate(figure.curves):
            x, y, ci95 = data[curve.name]
            colour = COLOURS[index % len(COLOURS)]
            if curve.engine != "sim":
                ax.plot(x, y, "--", color=colour, label=curve.name, marker="")
            elif curve.kind in {"cwnd", "queue", "capacity"}:
                ax.step(x, y, where="post", color=colour, label=curve.name, marker="", linewidth=1)
            elif curve.kind == "flows":
                ax.bar(x, y, 0.7, yerr=np.nan_to_num(ci95), color=colour, label=curve.name, error_kw={"elinewidth": 1})
            else:
                ax.errorbar(x, y, yerr=np.nan_to_num(ci95), color=colour, label=curve.name, capsize=2)
        for index, published in enumerate(figure.published):
            marker = "X*Ph"[index % 4]
            ax.plot(published.x, published.y, marker, color="black", markersize=8, mfc="none", label=published.name)
        labelled = [place for place in figure.places if place.label != f"{place.x:g}"]
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
        canvas.legend(loc="outside upper center", ncols=2 if len(figure.curves) + len(figure.published) > 1 else 1)
        canvas.savefig(path, metadata={"Date": None})
        plt.close(canvas)
