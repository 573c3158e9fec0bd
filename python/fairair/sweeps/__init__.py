"""Sweeps: a grid of scenarios on all processors or a cluster, kept point by point."""

from fairair.sweeps.grid import Grid
from fairair.sweeps.runner import sweep
from fairair.sweeps.store import Store

__all__ = ["Grid", "Store", "sweep"]
