"""Five lines to a plot: who gets the air in a published hot-spot."""

import fairair
from fairair import plot

cell = fairair.Scenario.load("scenarios/detti2011-five-stations.toml")
result = fairair.run(cell.with_({"station.sta1.flows.0.count": 6}), replicas=3)
print(result)
plot.goodput(result).figure.savefig("goodput.svg")
