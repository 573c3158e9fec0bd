"""The fairness level of detti2011 Fig. 5 by the paper's model over arrays, and by simulation."""

import numpy as np

import fairair
from fairair.models import detti2011

uploads = np.arange(1, 7)
n_up = np.zeros((6, 5))
n_up[:, 0] = uploads
model = detti2011.solve(n_up, [0, 1, 1, 1, 1]).fairness_level(0)
cell = fairair.Scenario.load("scenarios/detti2011-five-stations.toml")
simulated = fairair.sweep(cell, {"station.sta1.flows.0.count": uploads}, replicas=3)["fairness_level"]
for count, by_model, by_simulation in zip(uploads, model, simulated.values, strict=True):
    print(f"{count} uploads: model {by_model:.1f}, simulated {by_simulation:.1f}")
