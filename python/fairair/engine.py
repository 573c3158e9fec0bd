"""Engines: ask the simulator or a model about a scenario, with and without remedies."""

from __future__ import annotations

import html
from collections.abc import Iterable
from os import PathLike, fspath
from typing import TYPE_CHECKING, Literal, NamedTuple

from fairair import _export, _native
from fairair._arguments import checked
from fairair._errors import FairAirError
from fairair._export import html_table
from fairair._extras import need
from fairair._progress import bar
from fairair._testbed import TestbedRun
from fairair.catalogue import Estimate, quantities
from fairair.result import Result
from fairair.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Comparison", "Remedy", "compare", "remedies", "run"]

Engine = Literal["sim", "model", "testbed"]


@checked
def run(
    scenario: Scenario | str | PathLike[str],
    engine: Engine = "sim",
    *,
    replicas: int | None = None,
    seed: int | None = None,
    model: str | None = None,
    remedy: str | None = None,
    jobs: int = 0,
    until_ci: float | str | None = None,
    max_replicas: int = 1000,
    pcap: str | PathLike[str] | None = None,
    progress: bool | None = False,
) -> Result:
    """Ask an engine who gets the air.

    Other Python threads go on meanwhile. Ctrl-C raises `KeyboardInterrupt` at once; replicas under way end unheard. That of
    the testbed is raised when its hosts are gone.

    Parameters
    ----------
    scenario : Scenario or path-like
        The cell, or its file.
    engine : {"sim", "model", "testbed"}
        The packet simulator, an analytical model, or Linux TCP over an emulated cell (docs/testbed.md):
        that one needs root and takes as long as the scenario says.
    replicas : int, optional
        Independent repetitions, 1 to 1,000,000, instead of the scenario's.
    seed : int, optional
        Seed of all randomness instead of the scenario's; the same seed gives the same result on any number of threads.
    model : str, optional
        For ``engine="model"``: the name of one of `fairair.models.of_scenarios`; by default that of the scenario, as with
        ``fairair model``.
    remedy : str, optional
        Name of a remedy to apply first; `remedies` lists them.
    jobs : int, default 0
        Threads; 0 is one a processor. For the testbed, replicas side by side; 0 is one after the other.
    until_ci : float or str, optional
        How sure goodputs shall be: ``0.02`` or ``"2 %"`` adds replicas until the half-width of the 95 % confidence
        interval is below 2 % of the mean, for the total goodput and for the mean goodput of a flow in each direction (one
        that is starved aside). There are at least as many as without it, and 5; at most `max_replicas`.
        ``.to_dict()["until_ci"]`` says whether it was reached.
    max_replicas : int, default 1000
        Most replicas that `until_ci` may take; no fewer than the scenario's.
    pcap : path-like, optional
        Where to write the frames on the air in replica 0, with radiotap headers, for Wireshark. The simulator's only.
    progress : bool, optional
        True shows a bar, None does on terminals and in notebooks.

    Returns
    -------
    Result
        Means over replicas after the warm-up, with 95 % half-widths; goodputs in bit/s, times in s.

    Raises
    ------
    FairAirError
        Bad input, with its place and fix; nothing has run. Or the testbed cannot run here, such as without root.

    Examples
    --------
    >>> import fairair
    >>> cell = fairair.Scenario.from_dict({"name": "two", "run": {"duration": "20 s", "replicas": 2},
    ...     "station": [{"name": "a", "flows": [{"direction": "down", "count": 2}]},
    ...                 {"name": "b", "flows": [{"direction": "down"}]}]})
    >>> round(fairair.run(cell, engine="model", model="detti2011").fairness_level("a", "b").mean, 2)
    2.0
    """
    cell = _scenario(scenario, replicas, seed)
    if model is not None and engine != "model":
        raise FairAirError("model", f"engine={engine!r} has no model", 'write engine="model", or leave `model` out')
    precision = _percent(until_ci, engine, cell, max_replicas)
    if pcap is not None and engine != "sim":
        raise FairAirError("pcap", f"engine={engine!r} has no frames to capture", 'write engine="sim"')
    if engine == "testbed":
        if remedy is not None:
            raise FairAirError("remedy", "the testbed applies no remedy by name", "write it into the scenario")
        with TestbedRun(cell, max(1, jobs)) as running:
            return running.result()
    file = None if pcap is None else fspath(pcap)
    with bar("replicas", cell.replicas, wanted=progress) as tell:
        return Result(_native.run(cell._json(), engine, model, remedy, jobs, precision, max_replicas, file, tell))


def _percent(until_ci: float | str | None, engine: str, cell: Scenario, most: int) -> float | None:
    """Return a precision in per cent."""
    if until_ci is None:
        return None
    if engine != "sim":
        raise FairAirError("until_ci", f"engine={engine!r} adds no replicas", 'write engine="sim", or leave it out')
    try:
        text = str(until_ci).strip()
        percent = float(text.rstrip("% ")) * (1.0 if text.endswith("%") else 100.0)
    except ValueError:
        percent = float("nan")
    if not 0.0 < percent < 100.0:
        raise FairAirError("until_ci", f"{until_ci!r} is no part between 0 and 1", 'write 0.02 or "2 %"')
    if not max(2, cell.replicas) <= most <= 1_000_000:
        fix = "allow 2 to 1,000,000, and no fewer than the scenario's replicas"
        raise FairAirError("max_replicas", f"{most} allows too few or too many", fix)
    return percent


class Remedy(NamedTuple):
    """A remedy that `run` and `compare` know by name."""

    name: str
    deploy: str
    """Where it goes: ``AP``, ``box`` (between gateway and AP), or ``-``."""
    needs: str
    """What it has to know of the cell; empty: nothing."""
    source: str
    """The paper or document that it comes from."""


def remedies() -> list[Remedy]:
    """Return all remedies, in the order of ``fairair compare``.

    Returns
    -------
    list of Remedy
        Name, where it is deployed, what it needs to know, and its source.

    Examples
    --------
    >>> import fairair
    >>> "vsb" in [remedy.name for remedy in fairair.remedies()]
    True
    """
    return [Remedy(*row) for row in _native.remedies()]


class Comparison(NamedTuple):
    """A scenario under several remedies."""

    scenario: Scenario
    results: dict[str, Result]
    """By the remedy's name; ``none`` is the scenario as it is."""

    @property
    def table(self) -> pd.DataFrame:
        """One row a remedy: the columns of `Result.summary`, each with its ``_ci95``."""
        rows = {}
        for name, result in self.results.items():
            row: dict[str, float] = {}
            for quantity, values in result.summary.iterrows():
                row[str(quantity)], row[f"{quantity}_ci95"] = values["mean"], values["ci95"]
            rows[name] = row
        frame: pd.DataFrame = need("pandas").DataFrame.from_dict(rows, orient="index")
        frame.index.name = "remedy"
        first = next(iter(self.results.values()))
        frame.attrs = {"units": _export.units("comparison", list(frame.columns), quantities()), "origin": first.origin}
        return frame

    def _repr_html_(self) -> str:
        shown = ("goodput_bps", "jain_stations", "jain_flows", "fairness_level", "up_down_ratio")
        rows = []
        for name, result in self.results.items():
            means = {row[0]: Estimate(*row[1:4]) for row in result._native.summary(in_brief=True)}
            rows.append((name, *(str(means[quantity]) for quantity in shown)))
        head = f"<b>{html.escape(self.scenario.name)}</b> under {len(self.results)} remedies, means over replicas"
        return f"<div>{head}{html_table(('remedy', *shown), rows)}</div>"


@checked
def compare(
    scenario: Scenario | str | PathLike[str],
    names: Iterable[str] | None = None,
    *,
    replicas: int | None = None,
    seed: int | None = None,
    jobs: int = 0,
    progress: bool | None = None,
) -> Comparison:
    """Simulate a scenario as it is and under each remedy, all replicas side by side.

    Other Python threads go on meanwhile. Ctrl-C raises `KeyboardInterrupt` at once.

    Parameters
    ----------
    scenario : Scenario or path-like
        The cell, or its file.
    names : iterable of str, optional
        Remedies, all by default.
    replicas, seed, jobs : int, optional
        As in `run`.
    progress : bool, optional
        Show a bar; by default on terminals and in notebooks only.

    Returns
    -------
    Comparison
        `results` by remedy, ``none`` first; `table` has the means with their half-widths.

    Raises
    ------
    FairAirError
        Bad input, with its place and fix.

    Examples
    --------
    >>> import fairair
    >>> cell = fairair.Scenario.from_dict({"name": "cell", "run": {"duration": "5 s", "replicas": 2},
    ...     "station": [{"name": "a", "flows": [{"direction": "up"}]}, {"name": "b", "flows": [{"direction": "down"}]}]})
    >>> list(fairair.compare(cell, ["vsb"], progress=False).results)
    ['none', 'vsb']
    """
    cell = _scenario(scenario, replicas, seed)
    known = [remedy.name for remedy in remedies()]
    chosen = known if names is None else list(names)
    for name in chosen:
        if name not in [*known, "none"]:
            raise FairAirError("names", f"there is no remedy called {name!r}", f"use one of: {', '.join(known)}")
    names = ["none", *(name for name in chosen if name != "none")]
    with bar("replicas", len(names) * cell.replicas, wanted=progress) as tell:
        reports = _native.compare(cell._json(), names, jobs, tell)
    return Comparison(cell, {name: Result(report) for name, report in zip(names, reports, strict=True)})


def _scenario(scenario: Scenario | str | PathLike[str], replicas: int | None, seed: int | None) -> Scenario:
    cell = scenario if isinstance(scenario, Scenario) else Scenario.load(scenario)
    changes = {"run.replicas": replicas, "run.seed": seed}
    wanted = {path: value for path, value in changes.items() if value is not None}
    return cell.with_(wanted) if wanted else cell
