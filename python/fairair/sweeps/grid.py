"""The grid of a sweep: paths of a scenario with their values."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fairair import _native
from fairair._errors import FairAirError
from fairair.engine import run
from fairair.scenario import Scenario, _to_json

__all__ = ["Axis", "Grid"]


class Axis(NamedTuple):
    """A parameter and its values."""

    path: str
    values: list[str]
    """As JSON text, which tells 1 from "1" and compares tables."""

    @property
    def is_numeric(self) -> bool:
        """Whether all values are numbers."""
        return all(isinstance(json.loads(value), int | float) for value in self.values)

    @property
    def labels(self) -> npt.NDArray[Any]:
        """The values as a coordinate: numbers or texts; tables and mixtures become JSON text."""
        values = [json.loads(value) for value in self.values]
        if all(isinstance(value, str) for value in values):
            return np.array(values)
        if all(isinstance(value, int | float) for value in values):  # true and false are numbers 1 and 0
            return np.array(values)
        return np.array([value if isinstance(value, str) else json.dumps(value) for value in values])


class Grid:
    """Scenarios that differ along axes; a point is a position in the grid, the last axis fastest.

    Parameters
    ----------
    scenario : Scenario
        What all points share.
    axes : mapping from dotted path to values
        As in `Scenario.with_`; one dimension a path.
    engine, model : str
        As in `fairair.run`.

    Raises
    ------
    FairAirError
        No axis, an axis without values or with a value twice, a path or value that the scenario reader refuses, or no
        such engine.
    """

    def __init__(
        self, scenario: Scenario, axes: Mapping[str, object], engine: str = "sim", model: str | None = None
    ) -> None:
        if not axes:
            raise FairAirError("grid", "the grid is empty", 'name at least one parameter, as {"ap.queue.limit": [50]}')
        if model is not None and engine != "model":
            raise FairAirError("model", f"engine={engine!r} has no model", 'write engine="model", or leave `model` out')
        self.scenario = scenario
        self.engine = engine
        self.model = model
        self.axes = [_axis(path, values) for path, values in axes.items()]
        for place, axis in enumerate(self.axes):
            for earlier in self.axes[:place]:
                if _overwrites(axis.path, earlier.path):
                    problem = f"{axis.path} is set after it and takes it away"
                    raise FairAirError(earlier.path, problem, f"name {axis.path} before {earlier.path}")
        self.shape = tuple(len(axis.values) for axis in self.axes)
        self.size = math.prod(self.shape)
        self.batch(np.empty(0, dtype=np.int64)).check()

    @property
    def seed(self) -> int | None:
        """Seed of all points; None where it is swept."""
        swept = any(axis.path in ("run", "run.seed") for axis in self.axes)
        return None if swept else int(self.scenario.expanded["run"]["seed"])

    def kept(self) -> dict[str, str | float]:
        """Return what stands beside a swept ``kind`` and stays as it is for all kinds, by path."""
        found: dict[str, str | float] = {}
        for axis in self.axes:
            *above, last = axis.path.split(".")
            table: Any = self.scenario.to_dict()
            for key in above:
                table = table.get(key) if isinstance(table, dict) else None
            if last == "kind" and isinstance(table, dict):
                found |= {
                    ".".join([*above, key]): value
                    for key, value in table.items()
                    if isinstance(value, str | int | float)
                }
        return {path: value for path, value in found.items() if all(axis.path != path for axis in self.axes)}

    def answered_by(self) -> str:
        """Return the name of the model that answers, of several with commas between them; empty for other engines."""
        if self.engine != "model" or self.model is not None:
            return self.model or ""
        # Which one is the default no number decides: one value of an axis of numbers stands for all.
        axes = [range(1 if axis.is_numeric else len(axis.values)) for axis in self.axes]
        points = np.array([np.ravel_multi_index(indices, self.shape) for indices in product(*axes)])
        names = (run(self.scenario_at(int(point)), "model", jobs=1).origin["model"] for point in points)
        return ", ".join(dict.fromkeys(names))

    def batch(self, points: npt.NDArray[np.int64]) -> _native.Batch:
        """Return `points` ready to run; those of the testbed only to be checked, as what runs here is the simulator."""
        engine = "sim" if self.engine == "testbed" else self.engine
        return _native.Batch(self.scenario._json(), list(self.axes), points, engine, self.model)

    def scenario_at(self, point: int) -> Scenario:
        """Return the scenario of a point."""
        indices = np.unravel_index(point, self.shape)
        chosen = zip(self.axes, indices, strict=True)
        return self.scenario.with_({axis.path: json.loads(axis.values[index]) for axis, index in chosen})


def _overwrites(later: str, earlier: str) -> bool:
    """Whether setting a path takes away what was set by another."""
    new, old = later.split("."), earlier.split(".")
    return len(new) <= len(old) and all(one in ("*", other) for one, other in zip(new, old, strict=False))


def _axis(path: str, values: object) -> Axis:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise FairAirError(path, f"{values!r} is one value, not several", f"write a list: {{{path!r}: [...]}}")
    if path == "station":
        # The stations' names are a dimension of what a sweep returns.
        raise FairAirError(
            path,
            "a sweep cannot vary the whole list of stations",
            'vary keys of stations, as {"station.*.count": [1, 2, 4]}, or run a Scenario for each list',
        )
    texts = [_to_json(value, path) for value in values]
    if not texts:
        raise FairAirError(path, "there is no value, so the grid is empty", "give at least one value")
    twice = sorted({text for text in texts if texts.count(text) > 1})
    if twice:
        raise FairAirError(path, f"{twice[0]} stands there twice", "give each value once")
    return Axis(path, texts)
