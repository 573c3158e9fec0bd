"""Record what the testbed measures of a figure: its own scenarios on real hosts, into the CSV beside it."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairair._errors import FairAirError
from fairair.engine import run
from fairair.gallery.compute import asked, scenario_of
from fairair.gallery.curve import X
from fairair.gallery.measure import TRACES
from fairair.gallery.recorded import Row, path_of, write
from fairair.gallery.spec import Figure, Paper, Series
from fairair.gallery.store import Store
from fairair.scenario import Scenario

__all__ = ["Recorder", "recordable"]


def recordable(figure: Figure) -> list[Series]:
    """Return the series of a figure that the testbed can measure: simulated ones with a value for each x."""
    one_value = [series for series in figure.series if series.measure.partition(":")[0] not in TRACES]
    return [series for series in one_value if series.engine == "sim" and series.vary]


@dataclass
class Recorder:
    """Measures figures on the testbed.

    Attributes
    ----------
    store : Store
        Keeps finished points, so that a stopped recording goes on.
    command : str
        What the file says of how it was made.
    machine : str
        What it says of where.
    series : sequence of str
        Ids; empty: all that are `recordable`.
    xs : sequence of str
        As in the figure; empty: all.
    changes : mapping
        Of the scenarios, path to value.
    jobs : int
        Replicas side by side.
    said : callable
        Called with a line for each point.
    """

    store: Store
    command: str
    machine: str = ""
    series: Sequence[str] = ()
    xs: Sequence[str] = ()
    changes: Mapping[str, Any] = field(default_factory=dict)
    jobs: int = 1
    said: Callable[[str], None] = lambda _: None

    def record(self, paper: Paper, figure: Figure) -> Path | None:
        """Measure a figure and write its file; None where nothing in it can be recorded.

        Raises
        ------
        FairAirError
            A series or x that the figure does not have, or the testbed refuses.
        """
        place = f"{figure.paper}/{figure.key}.toml"
        known = {series.id: series for series in recordable(figure)}
        unknown = sorted(set(self.series) - known.keys())
        if unknown:
            raise FairAirError(place, f"{unknown[0]!r} cannot be recorded", f"use some of: {', '.join(known)}")
        kernels: set[str] = set()
        rows: list[Row] = []
        for series in (known[key] for key in self.series or known):
            points = self._points(figure, series, place)
            cells = [scenario_of(paper, figure, series, k, quick=False).with_(self.changes) for k in points]
            reports = [self._report(cell, f"{figure.paper}/{figure.key} {series.id}") for cell in cells]
            kernels |= {_kernel(report["testbed"]) for report in reports}
            curve = asked(series, reports, tuple(points.values()))
            n = int(reports[0]["replicas"])
            values = zip(curve.x, curve.y, curve.ci, strict=True)
            rows += [Row(series.id, x, float(y), float(ci), n) for x, y, ci in values if not math.isnan(y)]
        if not rows:
            return None
        path = path_of(figure.folder, figure.key)
        notes = {"command": self.command, "kernel": "; ".join(sorted(kernels)), "machine": self.machine}
        write(path, {key: text for key, text in notes.items() if text}, rows)
        return path

    def _points(self, figure: Figure, series: Series, place: str) -> dict[int, X]:
        """Return positions of the wanted x among those of a series."""
        all_xs = figure.xs(series, quick=False)
        missing = sorted(set(self.xs) - {str(x) for x in all_xs})
        if missing:
            raise FairAirError(
                place, f"{series.id} has no x {missing[0]}", f"use some of: {', '.join(map(str, all_xs))}"
            )
        return {k: x for k, x in enumerate(all_xs) if not self.xs or str(x) in self.xs}

    def _report(self, cell: Scenario, what: str) -> dict[str, Any]:
        def answer() -> Any:
            return json.loads(run(cell, "testbed", jobs=self.jobs).to_json())

        report: dict[str, Any] = self.store.get(["testbed", platform.release(), cell.expanded], answer)
        late = "" if report["testbed"]["on_time"] else ", TOO LATE"
        self.said(f"{what}: {report['replicas']} replicas of {report['measured_s']:.0f} s{late}")
        return report


def _kernel(testbed: Mapping[str, Any]) -> str:
    late = "" if testbed["on_time"] else ", frames late"
    return f"Linux {testbed['kernel']}, TCP of `{testbed['stack']}`, uplink `{testbed['uplink']}`{late}"
