#!/usr/bin/env python3
"""Runs stock ns-2 (Debian package ns2) at points of a cell and prints rows for grid.csv.

    grid.py SEEDS [key=value,key=value,...]...     keys as in wlan.tcl

Without points it runs those of the committed grid again. A point takes seconds per seed.
"""

import csv
import re
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEFAULTS = {
    "scenario": "X", "variant": "", "ndown": 4, "nup": 4, "tcp": "Newreno", "win": 42, "pl": 1460, "B": 100,
    "rate": "11Mb", "basic": "2Mb", "retry": 7, "pw": 0.0, "delack": 0, "pre": 144, "hops": 1, "wdelay": "2ms",
    "T0": 50, "T": 300,
}  # fmt: skip
MEASURED = ["down_kbps", "up_kbps", "total_kbps", "jain", "cv_down", "cv_up", "pdrop_data", "pdrop_ack", "qavg"]


def mean(values):
    return sum(values) / len(values) if values else 0.0


def spread(values):
    return statistics.pstdev(values) / mean(values) if mean(values) > 0 else 0.0


def run(point, seed):
    """One seed: goodputs in kbit/s of payload, drop probabilities, mean queue."""
    keys = [key for key in DEFAULTS if key not in ("scenario", "variant")]
    command = ["ns", str(HERE / "wlan.tcl"), f"seed={seed}", *(f"{key}={point[key]}" for key in keys)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    result = {key: float(value) for key, value in re.findall(r"(\w+)=([\d.e+-]+)", out[out.index("RESULT") :])}
    flows = {"down": [], "up": []}
    for direction, packets in re.findall(r"FLOW dir=(\w+) pkt=(\d+)", out):
        flows[direction].append(int(packets) * int(point["pl"]) * 8 / result["dt"] / 1e3)
    down, up = flows["down"], flows["up"]
    share = lambda part, whole: part / whole if whole else 0.0
    return [
        mean(down), mean(up), sum(down + up), sum(down + up) ** 2 / len(down + up) / sum(x * x for x in down + up),
        spread(down), spread(up), share(result["drop_dat"], result["arr_dat"]),
        share(result["drop_ack"], result["arr_ack"]), result["qavg"],
    ]  # fmt: skip


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    seeds = range(1, int(sys.argv[1]) + 1)
    if len(sys.argv) > 2:
        points = [DEFAULTS | dict(pair.split("=") for pair in argument.split(",")) for argument in sys.argv[2:]]
    else:
        points = list(csv.DictReader((HERE / "grid.csv").open()))
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*DEFAULTS, "n", *(column for name in MEASURED for column in (name, f"{name}_sd"))])
    for point in points:
        columns = list(zip(*(run(point, seed) for seed in seeds)))
        cells = [cell for values in columns for cell in (mean(values), statistics.stdev(values))]
        writer.writerow([*(point[key] for key in DEFAULTS), len(seeds), *(round(cell, 4) for cell in cells)])
        sys.stdout.flush()


if __name__ == "__main__":
    main()
