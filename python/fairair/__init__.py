"""Who gets the air in a Wi-Fi cell that carries TCP, why, and how is it made fair.

>>> import fairair
>>> cell = fairair.Scenario.from_dict({
...     "name": "cafe",
...     "run": {"duration": "20 s", "replicas": 3},
...     "ap": {"queue": {"kind": "droptail", "limit": 75}},
...     "station": [
...         {"name": "uploader", "flows": [{"direction": "up", "count": 3}]},
...         {"name": "guest", "count": 4, "flows": [{"direction": "down"}]},
...     ],
... })
>>> result = fairair.run(cell)
>>> bool(result.fairness_level("uploader").mean > 2)
True

Units stand in names (``goodput_bps``, ``rtt_s``) and in the strings of scenarios (``"11 Mbit/s"``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairair import _native
from fairair._errors import FairAirError
from fairair._extras import MissingExtraError, need
from fairair.catalogue import Estimate, Quantity, quantities
from fairair.engine import Comparison, Remedy, compare, remedies, run
from fairair.frames import Air, air
from fairair.planner import Plan, plan
from fairair.problems import Problem, plans
from fairair.result import Result
from fairair.scenario import Scenario, scenarios

__version__ = _native.VERSION

if TYPE_CHECKING:
    from fairair import gallery, goals, models, plot, tables
    from fairair.sweeps import sweep

__all__ = [
    "Air",
    "Comparison",
    "Estimate",
    "FairAirError",
    "MissingExtraError",
    "Plan",
    "Problem",
    "Quantity",
    "Remedy",
    "Result",
    "Scenario",
    "__version__",
    "air",
    "compare",
    "gallery",
    "goals",
    "models",
    "plan",
    "plans",
    "plot",
    "quantities",
    "remedies",
    "run",
    "scenarios",
    "sweep",
    "tables",
]


def __getattr__(name: str) -> Any:
    # pandas, xarray and matplotlib take longer to import than most runs take: they come when they are used.
    if name == "sweep":
        return need("fairair.sweeps").sweep
    if name in {"gallery", "goals", "models", "plot", "tables"}:
        return need(f"fairair.{name}")
    raise AttributeError(f"module 'fairair' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
