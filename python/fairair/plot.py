"""Plots of results and sweeps: one style, colours that the colour-blind tell apart, units on every axis.

Every function draws into `ax` or a new figure and returns the axes: ``plot.save(plot.goodput(result), "goodput.svg")``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import SubFigure

from fairair._arguments import checked
from fairair._drawn import air, front
from fairair._errors import FairAirError
from fairair._style import COLOURS, axes, style
from fairair.engine import Comparison
from fairair.result import Result
from fairair.scenario import Scenario

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

__all__ = [
    "COLOURS",
    "against",
    "air",
    "cwnd",
    "front",
    "goodput",
    "queue",
    "remedies",
    "save",
    "style",
    "transfer_cdf",
]


@checked
def save(ax: Axes, path: str | PathLike[str]) -> Path:
    """Write the figure that `ax` belongs to.

    Parameters
    ----------
    ax : Axes
        Of the figure to write.
    path : path-like
        The file; its ending says the format (``.svg``, ``.png``, ``.pdf``), missing folders are made.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    FairAirError
        The file cannot be written, or there is no such format.

    Examples
    --------
    >>> import fairair
    >>> import pathlib, tempfile
    >>> cell = fairair.Scenario.from_dict({"name": "cell", "run": {"duration": "5 s", "replicas": 2},
    ...     "station": [{"name": "a", "flows": [{"direction": "up"}]}]})
    >>> axes = fairair.plot.goodput(fairair.run(cell))
    >>> fairair.plot.save(axes, pathlib.Path(tempfile.mkdtemp()) / "plot.svg").suffix
    '.svg'
    """
    target, canvas = Path(path), ax.figure
    while isinstance(canvas, SubFigure):
        canvas = canvas.figure
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        canvas.savefig(target)
    except (OSError, ValueError) as error:
        raise FairAirError(str(path), f"cannot write the plot: {error}", "name a file such as out/plot.svg") from None
    return target


@checked
def goodput(result: Result, *, ax: Axes | None = None) -> Axes:
    """Bars of each station's goodput in Mbit/s, uploads and downloads, with 95 % confidence intervals.

    Parameters
    ----------
    result : Result
        Of any engine.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        Goodput in Mbit/s to the right, stations downwards.

    Raises
    ------
    FairAirError
        pandas is missing (``fairair[plot]`` brings it).

    Examples
    --------
    >>> import fairair
    >>> cell = fairair.Scenario.from_dict({"name": "cell", "run": {"duration": "5 s", "replicas": 2},
    ...     "station": [{"name": "a", "flows": [{"direction": "up"}]}]})
    >>> fairair.plot.goodput(fairair.run(cell)).get_xlabel()
    'goodput, Mbit/s'
    """
    with style():
        ax = axes(ax)
        table = result.stations
        places = np.arange(len(table))
        # Bars of a station that has both stand beside each other, single ones in the middle.
        both = ((table["goodput_up_bps"] > 0) & (table["goodput_down_bps"] > 0)).to_numpy()
        for side, column, name in ((-0.2, "goodput_up_bps", "up"), (0.2, "goodput_down_bps", "down")):
            shift = np.where(both, side, 0.0)
            error = np.nan_to_num(table[f"{column}_ci95"].to_numpy(dtype=float)) / 1e6
            ax.barh(places + shift, table[column] / 1e6, 0.38, xerr=error, label=name, error_kw={"elinewidth": 1})
        ax.set_yticks(places, list(map(str, table.index)))
        ax.invert_yaxis()
        ax.set_xlabel("goodput, Mbit/s")
        ax.set_ylabel("station")
        ax.set_title(result.name, loc="left")
        # Above the axes: bars may reach anywhere inside.
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)
    return ax


@checked
def against(data: xr.Dataset, x: str, y: str = "fairness_level", *, log: bool = False, ax: Axes | None = None) -> Axes:
    """Curves of a swept measure against a parameter, with 95 % confidence intervals; other parameters become curves.

    Parameters
    ----------
    data : xarray.Dataset
        From `fairair.sweep`.
    x : str
        The parameter on the x axis, a path of the sweep. Quantities of one unit (``"2 Mbit/s"``) are numbers there.
    y : str, default "fairness_level"
        The measure, for instance ``"jain_flows"``; its unit stands on the axis, Mbit/s for bit/s.
    log : bool
        A logarithmic y axis.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    FairAirError
        The sweep has no such parameter or measure.

    Examples
    --------
    >>> import fairair
    >>> cell = fairair.Scenario.from_dict({"name": "cell", "run": {"duration": "5 s", "sample_interval": "1 s"},
    ...     "ap": {"queue": {"kind": "droptail"}},
    ...     "station": [{"name": "a", "flows": [{"direction": "up"}]}]})
    >>> data = fairair.sweep(cell, {"ap.queue.limit": [10, 50]})
    >>> fairair.plot.against(data, "ap.queue.limit", "goodput_bps").get_ylabel()
    'goodput, Mbit/s'
    """
    # Intervals have measures of their own, and replicas none.
    measures = [str(name) for name in data.data_vars if f"{name}_ci95" in data]
    for role, name, known in (("x", x, list(map(str, data.dims))), ("y", y, measures)):
        if name not in known:
            raise FairAirError(role, f"the sweep has no {name!r}", f"use one of: {', '.join(known)}")
    with style():
        ax = axes(ax)
        others = [str(name) for name in data[y].dims if name != x]
        stacked = data[[y, f"{y}_ci95"]].stack(curve=others) if others else data[[y, f"{y}_ci95"]].expand_dims("curve")
        at, x_unit, names = _places(x, data[x].values)
        y_unit = data[y].attrs.get("units", "1")
        shown, factor = ("Mbit/s", 1e-6) if y_unit == "bit/s" else (y_unit, 1.0)
        # The last key, unless another parameter has the same.
        last = [name.rpartition(".")[2] for name in others]
        short = {name: key if last.count(key) == 1 else name for name, key in zip(others, last, strict=True)}
        # Values that were added to a store stand last there.
        order = np.argsort(at, kind="stable")
        at = at[order]
        for index in range(stacked.sizes["curve"]):
            one = stacked.isel(curve=index).transpose(x, ...).isel({x: order})
            label = ", ".join(f"{name} = {one[path].item()}" for path, name in short.items())
            error = np.nan_to_num(one[f"{y}_ci95"].values) * factor
            # One curve: several calls may draw several cells into the same axes.
            ax.errorbar(at, one[y].values * factor, yerr=error, capsize=2, label=label or _cell_of(data) or y)
        if names:
            ax.set_xticks(at, names)
        ax.set_xlabel(f"{x}, {x_unit}" if x_unit else x)
        what = y.removesuffix("_bps").removesuffix("_s").replace("_", " ")
        ax.set_ylabel(what if shown == "1" else f"{what}, {shown}")
        if log:
            ax.set_yscale("log")
        ax.legend()
    return ax


_UNITS = {"limit": "packets", "data": "packets", "ack": "packets", "other": "packets", "window": "segments"}
"""Of the parameters that are numbers without a unit, by their last key."""
_QUANTITY = re.compile(r"([0-9.]+) ?(\D.*)")


def _places(path: str, values: NDArray[Any]) -> tuple[NDArray[Any], str, list[str]]:
    """Return where the values of a parameter stand on an axis, its unit, and the ticks' names where it is no number."""
    if np.issubdtype(values.dtype, np.number):
        return values, _UNITS.get(path.rpartition(".")[2], ""), []
    names = list(map(str, values))
    quantities = [_QUANTITY.fullmatch(name) for name in names]
    units = {quantity and quantity[2] for quantity in quantities}
    if len(units) == 1 and (unit := units.pop()):
        try:
            return np.array([float(quantity[1]) for quantity in quantities if quantity]), unit, []
        except ValueError:
            pass
    return np.arange(len(names)), "", names


def _cell_of(data: xr.Dataset) -> str:
    """Return the name of the scenario of a sweep; empty where the dataset has lost it."""
    scenario = data.attrs.get("scenario")
    return Scenario.from_toml(scenario).name if isinstance(scenario, str) else ""


@checked
def transfer_cdf(results: Mapping[str, Result], *, ax: Axes | None = None) -> Axes:
    """Cumulative distribution of the transfer times of files in s.

    Parameters
    ----------
    results : mapping from name to Result
        One curve each, with files that ended.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    FairAirError
        A result has no finished file.

    Examples
    --------
    >>> import fairair
    >>> cell = fairair.Scenario.from_dict({"name": "cell", "run": {"duration": "5 s", "sample_interval": "1 s"},
    ...     "station": [{"name": "a", "flows": [{"direction": "up", "kind": "files", "size": "10 kB"}]}]})
    >>> fairair.plot.transfer_cdf({"10 kB": fairair.run(cell)}).get_xlabel()
    'transfer time, s'
    """
    with style():
        ax = axes(ax)
        for name, result in results.items():
            times = np.sort(result.transfers["duration_s"].to_numpy())
            if not len(times):
                raise FairAirError(name, "no file was transferred", 'give flows with kind = "files", or run longer')
            share = np.arange(1, len(times) + 1) / len(times)
            ax.step(times, share, where="post", label=name, marker="")
        ax.set_xscale("log")
        ax.set_xlabel("transfer time, s")
        ax.set_ylabel("share of files that took at most so long")
        ax.legend()
    return ax


def _sampled(result: Result) -> Any:
    table = result.timeseries
    if table.empty:
        raise FairAirError(result.name, "the result has no samples", 'run it with {"run.sample_interval": "100 ms"}')
    return table


@checked
def queue(result: Result, *, ax: Axes | None = None) -> Axes:
    """Packets in the AP's queue over time in s, in replica 0.

    Parameters
    ----------
    result : Result
        With samples: its scenario has ``run.sample_interval``.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    FairAirError
        The result has no samples.

    Examples
    --------
    >>> import fairair
    >>> cell = fairair.Scenario.from_dict({"name": "cell", "run": {"duration": "5 s", "sample_interval": "1 s"},
    ...     "station": [{"name": "a", "flows": [{"direction": "up"}]}]})
    >>> fairair.plot.queue(fairair.run(cell)).get_ylabel()
    'AP queue, packets'
    """
    table = _sampled(result)
    with style():
        ax = axes(ax)
        ax.plot(table.index, table["ap_queue_packets"], marker="")
        ax.set_xlabel("time, s")
        ax.set_ylabel("AP queue, packets")
    return ax


@checked
def cwnd(result: Result, flows: list[int] | None = None, *, ax: Axes | None = None) -> Axes:
    """Congestion windows in segments over time in s, in replica 0.

    Parameters
    ----------
    result : Result
        With samples: its scenario has ``run.sample_interval``.
    flows : list of int, optional
        Numbers of flows, from 0; all by default.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    FairAirError
        The result has no samples, or no such flow.

    Examples
    --------
    >>> import fairair
    >>> cell = fairair.Scenario.from_dict({"name": "cell", "run": {"duration": "5 s", "sample_interval": "1 s"},
    ...     "station": [{"name": "a", "flows": [{"direction": "up"}]}]})
    >>> fairair.plot.cwnd(fairair.run(cell), [0]).get_ylabel()
    'congestion window, segments'
    """
    table, rows = _sampled(result), result.flows
    for flow in flows or ():
        if flow not in rows.index:
            raise FairAirError("flows", f"there is no flow {flow}", f"give numbers from 0 to {len(rows) - 1}")
    with style():
        ax = axes(ax)
        for flow in flows if flows is not None else range(len(rows)):
            label = ", ".join(str(rows.loc[flow, column]) for column in ("station", "direction"))
            ax.plot(table.index, table[f"cwnd_{flow}"], marker="", label=label)
        ax.set_xlabel("time, s")
        ax.set_ylabel("congestion window, segments")
        ax.legend()
    return ax


@checked
def remedies(comparison: Comparison, *, ax: Axes | None = None) -> Axes:
    """Total goodput and Jain's index over stations, one row a remedy, with 95 % confidence intervals.

    Parameters
    ----------
    comparison : Comparison
        From `fairair.compare`.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    FairAirError
        pandas is missing (``fairair[plot]`` brings it).

    Examples
    --------
    >>> import fairair
    >>> cell = fairair.Scenario.from_dict({"name": "cell", "run": {"duration": "5 s", "sample_interval": "1 s"},
    ...     "station": [{"name": "a", "flows": [{"direction": "up"}]}]})
    >>> fairair.plot.remedies(fairair.compare(cell, ["vsb"])).get_ylabel()
    'remedy'
    """
    table = comparison.table.sort_values("jain_stations")
    with style():
        new = ax is None
        ax = plt.subplots(figsize=(6.4, 0.32 * len(table) + 1.4))[1] if ax is None else ax
        places = np.arange(len(table))
        for column, colour, marker, name, factor in (
            ("jain_stations", COLOURS[0], "o", "Jain index over stations", 1.0),
            ("goodput_bps", COLOURS[1], "s", "goodput over the best", 1 / table["goodput_bps"].max()),
        ):
            error = np.nan_to_num(table[f"{column}_ci95"].to_numpy(dtype=float)) * factor
            ax.errorbar(table[column] * factor, places, xerr=error, fmt=marker, color=colour, label=name, capsize=2)
        ax.set_yticks(places, list(map(str, table.index)))
        ax.set_ylabel("remedy")
        ax.set_xlabel("share (1: fair; 1: the highest goodput of all)")
        ax.set_xlim(right=1.03)
        if new:
            ax.figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return ax
