"""Sweeps: a grid of scenarios on all processors or a cluster, kept point by point."""

from fairair.sweeps.grid import Grid
from fairair.sweeps.store import Store
from fairair.sweeps.sweep import sweep

__all__ = ["Grid", "Store", "sweep"]
