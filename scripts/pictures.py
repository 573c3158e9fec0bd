"""Makes the pictures of README.md and docs/lab.md in docs/assets anew: charts from simulation, and the lab in Chromium."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from PIL import Image

import fairair

ROOT = Path(__file__).resolve().parents[1]
ASSETS = ROOT / "docs" / "assets"
COLOURS = 64
BOX = {"policy": "per-station", "capacity": "340 Mbit/s", "queue": "auto", "leaf": "auto"}


def cafe() -> None:
    """Goodput by station in a cafe of today, as it is and under two remedies."""
    scenario = fairair.Scenario.load(ROOT / "scenarios" / "cafe-802.11ax.toml")
    cells = {
        "one queue of 300 packets": scenario,
        "Linux' queues (mac80211)": scenario.with_({"ap.queue": {"kind": "mac80211"}}),
        "one queue, box in front": scenario.with_({"enforce": BOX}),
    }
    figure, rows = plt.subplots(1, 3, figsize=(9, 2.5), sharey=True, sharex=True)
    for axes, (title, cell) in zip(rows, cells.items(), strict=True):
        fairair.plot.goodput(fairair.run(cell), ax=axes)
        axes.set_title(title, loc="left", fontsize=10)
        axes.set_ylabel("")
        legend = axes.get_legend()
        if legend is not None:
            legend.remove()
        if axes is rows[0]:
            axes.legend(loc="lower right")
    figure.savefig(ASSETS / "cafe.svg", metadata={"Date": None})


def sweep() -> None:
    """Fairness level of an uploader over the AP's buffer, under four disciplines."""
    cell = fairair.Scenario.load(ROOT / "scenarios" / "detti2011-five-stations.toml").with_({"run.duration": "120 s"})
    grid = {
        "ap.queue.limit": [10, 25, 50, 75, 100, 150, 200],
        "ap.queue.kind": ["droptail", "las", "per-station-fq", "airtime-fq"],
    }
    data = fairair.sweep(cell, grid, replicas=5, progress=False)
    figure, axes = plt.subplots(figsize=(6.4, 2.8))
    fairair.plot.against(data, "ap.queue.limit", log=True, ax=axes)
    axes.set_xlabel("AP buffer, packets")
    axes.set_ylabel("fairness level of the uploader")
    figure.savefig(ASSETS / "sweep.svg", metadata={"Date": None})


def lab() -> None:
    """The lab on a desk and on a phone, in few enough colours to be small."""
    with tempfile.TemporaryDirectory() as directory:
        environment = {"FAIRAIR": str(Path(sys.executable).with_name("fairair")), **os.environ}
        subprocess.run([ROOT / "scripts" / "lab.sh", "pictures", directory], check=True, env=environment)
        for shot in Path(directory).glob("*.png"):
            with Image.open(shot) as picture:
                few = picture.convert("RGB").quantize(
                    COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
                )
            few.save(ASSETS / shot.name, optimize=True)


mpl.rcParams["svg.hashsalt"] = "fairair"
with fairair.plot.style():
    cafe()
    sweep()
lab()
