"""Draws docs/model-grid.png: the models against the simulator, from crates/sim/tests/data/model-grid.csv."""

import csv
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parent.parent
GRID = ROOT / "crates/sim/tests/data/model-grid.csv"
PLOT = ROOT / "docs/model-grid.png"

UNIFIED, DETTI2011, FLAGGED = "#1f77b4", "#d62728", "#999999"


def pairs(rows, model, simulated, scale=1.0):
    """Both values of the rows that have both."""
    known = [row for row in rows if row[model] and row[simulated]]
    return [float(row[simulated]) * scale for row in known], [float(row[model]) * scale for row in known]


def frame(axes, title, unit, band):
    """Equal logarithmic axes with the diagonal and a band of so much error around it."""
    low = min(axes.get_xlim()[0], axes.get_ylim()[0])
    high = max(axes.get_xlim()[1], axes.get_ylim()[1])
    line = [low, high]
    axes.plot(line, line, color="black", linewidth=0.7, zorder=0)
    axes.fill_between(line, [x * (1 - band) for x in line], [x * (1 + band) for x in line],
                      color="#f2c94c", alpha=0.3, linewidth=0, zorder=0, label=f"within {band:.0%}")
    axes.set(xlim=line, ylim=line, title=title, xlabel=f"simulated{unit}", ylabel=f"model{unit}")
    axes.set_aspect("equal")
    axes.legend(fontsize=8, loc="upper left")


def main():
    rows = list(csv.DictReader(GRID.open()))
    figure, (capacity, goodput, level) = plt.subplots(1, 3, figsize=(13, 4.6), layout="constrained")
    for axes in (capacity, goodput, level):
        axes.set_xscale("log")
        axes.set_yscale("log")
    dots = {"s": 12, "linewidth": 0, "alpha": 0.7}
    capacity.scatter(*pairs(rows, "unified_lossless_packets_per_s", "lossless_packets_per_s"),
                     color=UNIFIED, label="capacity R", **dots)
    frame(capacity, "Capacity R, AP without losses", ", packets/s", 0.06)
    goodput.scatter(*pairs(rows, "unified_goodput_bps", "goodput_bps", 1e-6), color=UNIFIED, label="unified", **dots)
    frame(goodput, "Total goodput", ", Mbit/s", 0.10)
    fair = [row for row in rows if row["starved"] == "false"]
    starved = [row for row in rows if row["starved"] == "true"]
    level.scatter(*pairs(starved, "unified_level", "level"), color=FLAGGED, marker="x", s=14, linewidth=0.8,
                  label="unified, a flow starves")
    level.scatter(*pairs(fair, "unified_level", "level"), color=UNIFIED, label="unified", **dots)
    level.scatter(*pairs(fair, "detti2011_level", "level"), facecolor="none", edgecolor=DETTI2011, s=26,
                  linewidth=0.7, label="detti2011, in its domain")
    level.set(xlim=(0.003, 300), ylim=(0.003, 300))
    frame(level, "Fairness level of station 1", "", 0.30)
    figure.savefig(PLOT, dpi=110, metadata={"Software": None})
    print(f"{PLOT.relative_to(ROOT)}: {PLOT.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
