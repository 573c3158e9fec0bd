"""Five lines and a folder to a plot: who gets the air in a published hot-spot."""

from pathlib import Path

import fairair
from fairair import plot

cell = fairair.Scenario.load("scenarios/detti2011-five-stations.toml")
result = fairair.run(cell.with_({"station.sta1.flows.0.count": 6}), replicas=3)
print(result)
out = Path("out/examples")  # git ignores out/
plot.save(plot.goodput(result), out / "goodput.svg")
