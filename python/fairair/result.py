"""Results: what an engine answered, as tables."""

from __future__ import annotations

import html
import json
import math
import shutil
import tempfile
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairair import _export, _native
from fairair._arguments import checked
from fairair._errors import FairAirError
from fairair._extras import need
from fairair.catalogue import Estimate, quantities

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import xarray as xr
    from rich.console import RenderableType

__all__ = ["Result"]

_TABLES = ("stations", "flows", "queue", "drops", "transfers", "timeseries", "enforce", "capacity")


class Result:
    """What an engine answered about a scenario.

    Tables are pandas DataFrames (``pip install 'fairair[data]'``) made when they are first asked for. A column ``x`` is a
    mean over the replicas after the warm-up, ``x_ci95`` the half-width of its 95 % confidence interval, ``n`` the replicas
    that count. What does not exist is NaN. ``.attrs["units"]`` of a table has the units of its columns,
    ``.attrs["origin"]`` what made it. docs/results.md has the meaning of every column.

    Get one from `run`, or from `load` what `to_parquet` wrote.
    """

    @checked
    def __init__(self, native: _native.Report, transfers: dict[str, Any] | None = None) -> None:
        self._native = native
        # Finished files as columns: a report's JSON has means of them only.
        self._transfers = native.transfers() if transfers is None else transfers

    @classmethod
    @checked
    def from_json(cls, text: str, place: str = "result") -> Result:
        """Read the JSON that ``fairair run --format json`` prints, or `to_json`.

        Parameters
        ----------
        text : str
            The JSON.
        place : str
            What messages call it.

        Returns
        -------
        Result

        Raises
        ------
        FairAirError
            The text is no result, or one of another schema.

        Examples
        --------
        >>> import fairair
        >>> cell = fairair.Scenario.from_dict({"name": "cell", "run": {"duration": "5 s", "replicas": 2},
        ...     "station": [{"name": "a", "flows": [{"direction": "up"}]}, {"name": "b", "flows": [{"direction": "down"}]}]})
        >>> result = fairair.run(cell)
        >>> fairair.Result.from_json(result.to_json()).to_dict() == result.to_dict()
        True
        """
        return cls(_native.Report.from_json(text, place))

    @cached_property
    def _report(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(self._native.json())
        return report

    def to_dict(self) -> dict[str, Any]:
        """Return the whole result in the schema of docs/results.md.

        Returns
        -------
        dict
        """
        report: dict[str, Any] = json.loads(self._native.json())
        return report

    def to_json(self) -> str:
        """Return the whole result as JSON text.

        Returns
        -------
        str
        """
        return self._native.json()

    @property
    def engine(self) -> str:
        """What answered: ``simulator`` or ``model``."""
        return str(self._report["engine"])

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return str(self._report["scenario"]["name"])

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that are equal for equal runs."""
        return str(self._report["fingerprint"])

    @cached_property
    def stations(self) -> pd.DataFrame:
        """One row a station, by name: goodputs in bit/s, shares, its queue and its transmitter."""
        return self._frame("stations", self._native.stations(), "station")

    @cached_property
    def flows(self) -> pd.DataFrame:
        """One row a flow, in the scenario's order: goodput in bit/s, segments, timeouts, transfer times in s."""
        return self._frame("flows", self._native.flows(), name="flow")

    @cached_property
    def queue(self) -> pd.DataFrame:
        """The AP's queues, ``ap`` to the stations and ``ap_uplink`` to the wire: packets, waiting times in s."""
        return self._frame("queue", self._native.queues(), "queue")

    @cached_property
    def drops(self) -> pd.DataFrame:
        """Packets dropped at the AP a replica, one row a queue and reason, by class of packet."""
        return self._frame("drops", self._native.drops())

    @cached_property
    def transfers(self) -> pd.DataFrame:
        """One row a finished file: replica, flow, station, direction, ``duration_s`` from first SYN to last ACK."""
        flows = self._native.flows()
        of_file = {name: [flows[name][flow] for flow in self._transfers["flow"]] for name in ("station", "direction")}
        return self._frame("transfers", {**self._transfers, **of_file})

    @cached_property
    def timeseries(self) -> pd.DataFrame:
        """Samples of replica 0 by time in s: ``ap_queue_packets`` and ``cwnd_0``, ... in segments, one a flow.

        Empty unless the scenario has ``run.sample_interval``; for UDP the window is NaN.
        """
        series = self._native.series()
        nothing = np.zeros(0)
        at, queue, cwnd = (nothing, nothing, nothing) if series is None else series
        columns = {"ap_queue_packets": queue, **{f"cwnd_{flow}": row for flow, row in enumerate(cwnd)}}
        return self._frame("timeseries", {"at_s": at, **columns}, "at_s")

    @cached_property
    def enforce(self) -> pd.DataFrame | None:
        """One row a station in the box between gateway and AP; None without one."""
        table = self._native.enforce()
        return None if table is None else self._frame("enforce", table, "station")

    @cached_property
    def capacity(self) -> pd.DataFrame | None:
        """The box's capacity in replica 0: ``capacity_bps``, state and reason by time in s; None without one."""
        trace = self._native.capacity()
        if trace is None:
            return None
        at, capacity, state, reason = trace
        columns = {"at_s": at, "capacity_bps": capacity, "state": state, "reason": reason}
        return self._frame("capacity", columns, "at_s")

    @cached_property
    def summary(self) -> pd.DataFrame:
        """The whole cell, one row a quantity: mean, ci95, n and unit."""
        rows = zip(*self._native.summary(in_brief=False), strict=True)
        return self._frame(
            "summary", dict(zip(("quantity", "mean", "ci95", "n", "unit"), rows, strict=True)), "quantity"
        )

    @property
    def assumptions(self) -> pd.DataFrame | None:
        """What the model assumes and whether the scenario keeps it; None for a simulation."""
        model = self._report["model"]
        return None if model is None else need("pandas").DataFrame(model["assumptions"])

    @checked
    def fairness_level(self, station: str, other: str | None = None) -> Estimate:
        """Goodput of a station over another's (detti2011 Eq. 3), or over the mean of the others.

        Parameters
        ----------
        station, other : str
            Names of stations. Without `other`, `station` has to be the first one.

        Returns
        -------
        Estimate
            Dimensionless; 1 is fair.

        Raises
        ------
        FairAirError
            There is no such station, or the scenario has more than 32 stations.

        Examples
        --------
        >>> import fairair
        >>> cell = fairair.Scenario.from_dict({"name": "cell", "run": {"duration": "5 s", "replicas": 2},
        ...     "station": [{"name": "a", "flows": [{"direction": "up"}]}, {"name": "b", "flows": [{"direction": "down"}]}]})
        >>> fairair.run(cell).fairness_level("a", "b").n
        2
        """
        names = [row["name"] for row in self._report["stations"]]
        for name in (station, other):
            if name is not None and name not in names:
                raise FairAirError("station", f"there is no station {name!r}", f"use one of: {', '.join(names[:20])}")
        indices = self._report["indices"]
        if other is None:
            if station != names[0]:
                fix = f"name `other`, or use {names[0]!r}"
                raise FairAirError(
                    "station", f"the level of {station!r} against the mean of the others is not kept", fix
                )
            return Estimate.of(indices["fairness_level_first_station"])
        if indices["fairness_level"] is None:
            raise FairAirError("station", "levels by pair are kept up to 32 stations", "divide `.stations.goodput_bps`")
        return Estimate.of(indices["fairness_level"][names.index(station)][names.index(other)])

    @cached_property
    def origin(self) -> dict[str, Any]:
        """What made this: name, engine, model, version, schema, seed, replicas, fingerprint, scenario as JSON text."""
        return _export.origin(self._report)

    def _frame(
        self, table: str, columns: dict[str, Any], index: str | None = None, name: str | None = None
    ) -> pd.DataFrame:
        frame: pd.DataFrame = need("pandas").DataFrame(columns)
        if index is not None:
            frame = frame.set_index(index)
        elif name is not None:
            frame.index.name = name
        frame.attrs = {"units": _export.units(table, columns, quantities()), "origin": self.origin}
        return frame

    @checked
    def to_arrow(self, table: str = "stations") -> pa.Table:
        """Return one table as an Arrow table.

        Parameters
        ----------
        table : str, default "stations"
            ``stations``, ``flows``, ``queue``, ``drops``, ``transfers``, ``timeseries``, ``enforce`` or ``capacity``.

        Returns
        -------
        pyarrow.Table
            The metadata of a field has its ``units``, that of the schema ``fairair``: what made the result, as JSON.

        Raises
        ------
        FairAirError
            There is no such table, or the result has none of it, such as ``enforce`` without a box.

        Examples
        --------
        >>> import fairair
        >>> cell = fairair.Scenario.from_dict({"name": "cell", "run": {"duration": "5 s", "replicas": 2},
        ...     "station": [{"name": "a", "flows": [{"direction": "up"}]}]})
        >>> fairair.run(cell).to_arrow().field("goodput_bps").metadata
        {b'units': b'bit/s'}
        """
        frame = getattr(self, table) if table in _TABLES else None
        if frame is None:
            known = ", ".join(name for name in _TABLES if getattr(self, name) is not None)
            raise FairAirError("table", f"this result has no table {table!r}", f"use one of: {known}")
        return _export.arrow(frame)

    def to_xarray(self) -> xr.Dataset:
        """Return the means as a dataset.

        Returns
        -------
        xarray.Dataset
            The quantities of the whole cell without a dimension, as a sweep has them, ``station_...`` by ``station``,
            ``flow_...`` by ``flow``; each with ``units`` and ``long_name``, and its half-width as ``..._ci95``. Attributes
            say what made the result.

        Raises
        ------
        FairAirError
            xarray is not installed (``pip install 'fairair[data]'``).

        Examples
        --------
        >>> import fairair
        >>> cell = fairair.Scenario.from_dict({"name": "cell", "run": {"duration": "5 s", "replicas": 2},
        ...     "station": [{"name": "a", "flows": [{"direction": "up"}]}]})
        >>> data = fairair.run(cell).to_xarray()
        >>> data["station_goodput_bps"].dims, data["station_goodput_bps"].attrs["units"]
        (('station',), 'bit/s')
        """
        return _export.dataset(self, quantities())

    @checked
    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write all tables as Parquet files, and ``result.json``, to a new directory.

        The directory appears when it is complete. Units and origin stand in the files as in `to_arrow`.

        Parameters
        ----------
        path : path-like
            A directory that does not exist yet.

        Raises
        ------
        FairAirError
            The directory exists already or cannot be written.
        """
        target = Path(path)
        if target.exists():
            raise FairAirError(fspath(path), "this exists already", "name a new directory, or remove this one first")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        except OSError as error:
            raise FairAirError(
                fspath(path), f"cannot write: {error.strerror}", "name a place you may write to"
            ) from None
        try:
            (temporary / "result.json").write_text(self.to_json(), encoding="utf-8")
            for name in _TABLES:
                if getattr(self, name) is not None:
                    need("pyarrow.parquet").write_table(self.to_arrow(name), temporary / f"{name}.parquet")
            temporary.chmod(0o755)
            temporary.rename(target)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise

    @classmethod
    @checked
    def load(cls, path: str | PathLike[str]) -> Result:
        """Read what `to_parquet` wrote.

        Parameters
        ----------
        path : path-like
            A directory that `to_parquet` wrote.

        Returns
        -------
        Result

        Raises
        ------
        FairAirError
            There is no such directory, or it holds no result.

        Examples
        --------
        >>> import fairair
        >>> cell = fairair.Scenario.from_dict({"name": "cell", "run": {"duration": "5 s", "replicas": 2},
        ...     "station": [{"name": "a", "flows": [{"direction": "up"}]}, {"name": "b", "flows": [{"direction": "down"}]}]})
        >>> import tempfile, pathlib
        >>> place = pathlib.Path(tempfile.mkdtemp()) / "result"
        >>> fairair.run(cell).to_parquet(place)
        >>> fairair.Result.load(place).name
        'cell'
        """
        source = Path(path)
        parquet = need("pyarrow.parquet")
        try:
            text = (source / "result.json").read_text(encoding="utf-8")
            table = parquet.read_table(source / "transfers.parquet")
            transfers = {name: table[name].to_numpy() for name in ("replica", "flow", "duration_s")}
        # What pyarrow cannot read is a ValueError, a column that is not there a KeyError.
        except (OSError, ValueError, KeyError) as error:
            fix = "name a directory that `Result.to_parquet` wrote"
            why = getattr(error, "strerror", None) or error
            raise FairAirError(fspath(path), f"cannot read a result: {why}", fix) from None
        return cls(_native.Report.from_json(text, fspath(path)), transfers)

    def __reduce__(self) -> tuple[Any, tuple[str, dict[str, Any]]]:
        return (_revive, (self.to_json(), self._transfers))

    def __repr__(self) -> str:
        rows = [
            f"{row[0]:>26}  {_cell(*row[1:])}" for row in self._native.summary(in_brief=True) if not math.isnan(row[1])
        ]
        return "\n".join([f"<fairair.Result {self.name!r} by {self.engine}>", *rows])

    def _repr_html_(self) -> str:
        stations, shown = self._native.stations(), 20
        columns = ("goodput_up_bps", "goodput_down_bps", "goodput_share", "airtime_share")
        each = [
            (name, *(_export.number(stations[column][row]) for column in columns))
            for row, name in enumerate(stations["station"][:shown])
        ]
        more = len(stations["station"]) - len(each)
        whole = [(row[0], _cell(*row[1:])) for row in self._native.summary(in_brief=True) if not math.isnan(row[1])]
        return (
            f"<div><b>{html.escape(self.name)}</b> by {html.escape(self.engine)}"
            f"{_export.html_table(('station', 'up, bit/s', 'down, bit/s', 'share of goodput', 'share of the air'), each)}"
            f"{f'<p>and {more} more stations</p>' if more else ''}{_export.html_table(('quantity', 'mean'), whole)}</div>"
        )

    def __rich__(self) -> RenderableType:
        from rich.table import Table

        table = Table(title=f"{self.name} by {self.engine}")
        for heading in ("station", "up, Mbit/s", "down, Mbit/s", "share", "airtime"):
            table.add_column(heading, justify="left" if heading == "station" else "right")
        for name, row in self.stations.iterrows():
            goodputs = (f"{row[column] / 1e6:.3f}" for column in ("goodput_up_bps", "goodput_down_bps"))
            table.add_row(str(name), *goodputs, f"{row['goodput_share']:.1%}", f"{row['airtime_share']:.1%}")
        return table


def _revive(text: str, transfers: dict[str, Any]) -> Result:
    return Result(_native.Report.from_json(text, "result"), transfers)


def _cell(mean: float, ci95: float, n: int, unit: str) -> str:
    return f"{Estimate(mean, ci95, n)}{'' if unit == '1' else f' {unit}'}"
