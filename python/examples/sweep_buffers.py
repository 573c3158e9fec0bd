"""A sweep that survives being killed: Jain's index against the AP's buffer under four disciplines.

Stop it with Ctrl-C or kill -9 and start it again: only what is missing in ``out/examples/buffers/`` runs.
"""

from pathlib import Path

import fairair
from fairair import plot

out = Path("out/examples")  # git ignores out/
cell = fairair.Scenario.load("scenarios/khademi2010-fig10.toml").with_({"run.duration": "60 s", "run.warmup": "10 s"})
grid = {
    "ap.queue.limit": [10, 50, 200],
    "ap.queue.kind": ["droptail", "las", "tlas", "tlas-saf"],
}
data = fairair.sweep(cell, grid, replicas=3, store=out / "buffers")
print(data["jain_flows"].to_pandas().round(2))
plot.save(plot.against(data, "ap.queue.limit", "jain_flows"), out / "buffers.svg")
