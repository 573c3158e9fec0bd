"""Results for other libraries: pandas, Arrow and xarray with units and origin, and HTML for notebooks."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairair import _native
from fairair._extras import need

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import xarray as xr

    from fairair.catalogue import Quantity
    from fairair.result import Result

__all__ = ["arrow", "dataset", "html_table", "number", "origin", "units"]

_LEVELS = {
    "stations": "station",
    "flows": "flow",
    "queue": "queue",
    "drops": "drops",
    "enforce": "box",
    "comparison": "cell",
}
"""Of the catalogue, by table."""
_OTHERS = {"ap_queue_packets": "packets", "at_s": "s", "capacity_bps": "bit/s", "duration_s": "s"}
"""Columns that are no quantity of the catalogue."""


def units(table: str, columns: Iterable[str], catalogue: Sequence[Quantity]) -> dict[str, str]:
    """Return the units of those columns of a table that have one; ``1`` is dimensionless."""
    known = {row.name: row.unit for row in catalogue if row.level == _LEVELS.get(table)}
    known.update({f"{name}_ci95": unit for name, unit in list(known.items())})
    found = {}
    for column in columns:
        unit = known.get(column, _OTHERS.get(column, "segments" if column.startswith("cwnd_") else ""))
        if unit:
            found[column] = unit
    return found


def origin(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return what made a result: version, engine, model, schema, seed, fingerprint, and the scenario as JSON text."""
    scenario = report["scenario"]
    return {
        "name": scenario["name"],
        "engine": report["engine"],
        # Attributes of netCDF have no null.
        "model": (report["model"] or {}).get("name", ""),
        "version": report["version"],
        "schema": report["schema"],
        "seed": scenario["run"]["seed"],
        "replicas": scenario["run"]["replicas"],
        "fingerprint": report["fingerprint"],
        "confidence": "x_ci95 is the half-width of the 95 % confidence interval of x",
        "scenario": json.dumps(scenario, sort_keys=True),
    }


def arrow(frame: pd.DataFrame) -> pa.Table:
    """Return a frame as an Arrow table: ``units`` in the metadata of a field, ``fairair`` (JSON) in that of the schema."""
    table: pa.Table = need("pyarrow").Table.from_pandas(frame)
    schema = table.schema
    for place, field in enumerate(schema):
        if field.name in frame.attrs["units"]:
            schema = schema.set(place, field.with_metadata({"units": frame.attrs["units"][field.name]}))
    metadata = {**(table.schema.metadata or {}), b"fairair": json.dumps(frame.attrs["origin"]).encode()}
    return table.cast(schema.with_metadata(metadata))


def dataset(result: Result, catalogue: Sequence[Quantity]) -> xr.Dataset:
    """Return a result as a dataset: quantities of the cell, ``station_...`` by station, ``flow_...`` by flow."""
    data: dict[str, Any] = {}
    # What a sweep has of a point, by the same names.
    measures = result._native.measures(0)
    for measure, unit in _native.measures()[0]:
        for name in (measure, f"{measure}_ci95"):
            data[name] = ((), float(measures[name][0]), {"units": unit, "long_name": name.replace("_", " ")})
    flows = result.flows
    coordinates: dict[str, Any] = {"station": list(map(str, result.stations.index)), "flow": flows.index.to_numpy()}
    for name in ("station", "direction", "transport"):
        coordinates[f"flow_{name}"] = ("flow", flows[name].to_numpy(dtype=str))
    for level, frame in (("station", result.stations), ("flow", flows)):
        for column, unit in frame.attrs["units"].items():
            what = next((row.what for row in catalogue if (row.level, row.name) == (level, column)), "")
            about = {"units": unit, "long_name": f"{level} {column}".replace("_", " ")}
            data[f"{level}_{column}"] = (
                level,
                frame[column].to_numpy(),
                {**about, **({"comment": what} if what else {})},
            )
    whole_set: xr.Dataset = need("xarray").Dataset(data, coordinates, result.origin)
    return whole_set


def number(value: float) -> str:
    """Write a number with four digits; what does not exist is a dash."""
    return "–" if math.isnan(value) else f"{value:.4g}"  # noqa: RUF001 # an en dash is meant


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of texts; the first column is the heading of its row."""
    titles = "".join(f"<th>{html.escape(title)}</th>" for title in head)
    body = "".join(
        f"<tr><th>{html.escape(row[0])}</th>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row[1:])}</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
