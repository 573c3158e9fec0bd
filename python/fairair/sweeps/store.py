"""Finished points of a sweep in a directory: a manifest that says of what, and Parquet parts."""

from __future__ import annotations

import json
import platform
import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from fairair import _native
from fairair._engine_id import commit, digest
from fairair._errors import FairAirError
from fairair.sweeps.grid import Grid

__all__ = ["Store", "table_of", "with_ci"]

_SCHEMA = "fairair.sweep/2"
# Readers of a folder of Parquet pass over names that begin so.
_MANIFEST = "_sweep.json"


def table_of(grid: Grid, columns: dict[str, Any]) -> pa.Table:
    """Return the columns of `Batch.take` as a table: a column a path, one a measure, lists by station."""
    points = columns.pop("point")
    offsets = pa.array(columns.pop("offsets"))
    arrays: dict[str, pa.Array] = {}
    for axis, index in zip(grid.axes, np.unravel_index(points, grid.shape), strict=True):
        arrays[axis.path] = pa.DictionaryArray.from_arrays(pa.array(index.astype(np.int32)), pa.array(axis.values))
    for name, values in columns.items():
        listed = name == "station" or name.startswith("station.")
        column = pa.array(values, type=pa.string() if name == "station" else None)
        arrays[name] = pa.ListArray.from_arrays(offsets, column) if listed else column
    return pa.table(arrays)


def with_ci(measures: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield each measure and its half-width, with the unit."""
    for name, unit in measures:
        yield name, unit
        yield f"{name}_ci95", unit


def points_of(grid: Grid, table: pa.Table) -> npt.NDArray[np.int64]:
    """Return the points of a table's rows in `grid`; -1 for rows that are not in it."""
    indices = []
    inside = np.ones(len(table), dtype=bool)
    for axis in grid.axes:
        column = table[axis.path].combine_chunks().dictionary_encode()
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        position = {value: index for index, value in enumerate(axis.values)}
        places = np.array([position.get(value, -1) for value in column.dictionary.to_pylist()], dtype=np.int64)
        index = places[column.indices.to_numpy()] if len(places) else np.empty(0, dtype=np.int64)
        inside &= index >= 0
        indices.append(np.where(index >= 0, index, 0))
    points = np.asarray(np.ravel_multi_index(indices, grid.shape), dtype=np.int64)
    return np.where(inside, points, -1)


class Store:
    """A directory that keeps finished points; those of a wider grid of the same sweep serve too.

    Parameters
    ----------
    path : path-like
        A new directory, or one that an earlier run of the same sweep filled.
    grid : Grid
        What is swept.
    restart : bool
        Remove the finished points of another engine instead of refusing them.

    Raises
    ------
    FairAirError
        It cannot be written, it is no store, it is the store of another sweep, or another engine filled it.
    """

    def __init__(self, path: str | PathLike[str], grid: Grid, *, restart: bool = False) -> None:
        self.path = Path(path)
        self.grid = grid
        wanted = {
            "schema": _SCHEMA,
            "engine": grid.engine,
            "model": grid.model,
            "paths": sorted(axis.path for axis in grid.axes),
            "scenario": grid.scenario.to_dict(),
            "seed": grid.seed,
        }
        if grid.engine == "testbed":
            wanted["kernel"] = platform.release()
        self.origin = {"version": _native.VERSION, "engine_digest": digest(), "commit": commit(), "date": _now()}
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            # Writing tells at once what a run of an hour would find out at its first point.
            probe = self.path / f".probe-{uuid.uuid4().hex}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise FairAirError(
                fspath(path), f"cannot write the store: {error.strerror}", "name a directory that you may write to"
            ) from None
        manifest = self.path / _MANIFEST
        begin = True
        if manifest.exists():
            begin = self._taken_up(manifest, wanted, restart=restart)
        elif any(self.path.iterdir()):
            raise FairAirError(fspath(path), "this directory holds other files", "name a new or empty directory")
        if begin:
            self._replace(manifest, json.dumps({**wanted, **self.origin}, indent=1).encode())
        for leftover in self.path.glob(".part-*"):
            leftover.unlink(missing_ok=True)

    def _taken_up(self, manifest: Path, wanted: dict[str, Any], *, restart: bool) -> bool:
        """Compare with what the directory is of; true when it was emptied for a new beginning."""
        fix = "name another directory, or sweep what this one is of"
        try:
            found = json.loads(manifest.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise FairAirError(fspath(manifest), f"this is no manifest of a sweep: {error}", fix) from None
        there = found.get("schema") if isinstance(found, dict) else None
        if not str(there).startswith("fairair.sweep/"):
            raise FairAirError(fspath(manifest), "this is no manifest of a sweep", fix)
        if not restart and (there != _SCHEMA or found.get("engine_digest") != self.origin["engine_digest"]):
            problem = f"another engine filled this store: {_told(found)}; this one is {_told(self.origin)}"
            again = "name another directory, run the engine that filled this one, or begin anew with restart=True"
            raise FairAirError(fspath(self.path), problem, again)
        wanted = json.loads(json.dumps(wanted))
        # An older manifest lacks keys; of what it says, the scenario must be this one, before anything is removed.
        for key, value in wanted.items():
            there = found.get(key)
            if there != value and key != "schema" and (key in found or not restart):
                what = _difference(there, value, key)
                raise FairAirError(fspath(self.path), f"this is the store of another sweep: {what}", fix)
        if restart:
            for part in self.path.glob("part-*.parquet"):
                part.unlink(missing_ok=True)
            return True
        self.origin = {key: found.get(key) for key in self.origin}
        return False

    def read(self) -> pa.Table | None:
        """Return the finished points of this grid, each once; None when there are none."""
        tables = []
        for part in sorted(self.path.glob("part-*.parquet")):
            try:
                table = pq.ParquetFile(part).read().replace_schema_metadata(None)
                points_of(self.grid, table)
                tables.append(table)
            except (OSError, pa.ArrowInvalid, KeyError) as error:
                raise FairAirError(
                    fspath(part), f"cannot read this part: {error}", "remove it; its points run again"
                ) from None
        if not tables:
            return None
        whole = pa.concat_tables(tables)
        points = points_of(self.grid, whole)
        known, first = np.unique(points, return_index=True)
        return whole.take(pa.array(first[known >= 0]))

    def append(self, table: pa.Table) -> None:
        """Keep a table of `table_of`; it is there whole or not at all."""
        part = self.path / f"part-{uuid.uuid4().hex}.parquet"
        temporary = part.with_name(f".{part.name}")
        # Its stubs know True and False only.
        words: Any = [*(axis.path for axis in self.grid.axes), "station.list.element"]
        of_cell, of_station = map(with_ci, _native.measures())
        units = dict(of_cell) | {f"station.{name}": unit for name, unit in of_station}
        metadata = {name: {"units": unit} for name, unit in units.items()}
        fields = [field.with_metadata(metadata.get(field.name, {})) for field in table.schema]
        origin = {"fairair": json.dumps({**self.origin, "seed": self.grid.seed})}
        table = pa.table(table.columns, schema=pa.schema(fields, metadata=origin))
        pq.write_table(table, temporary, use_dictionary=words, write_statistics=False)
        temporary.rename(part)

    def _replace(self, path: Path, content: bytes) -> None:
        temporary = path.with_name(f".{path.name}-{uuid.uuid4().hex}")
        temporary.write_bytes(content)
        temporary.replace(path)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _told(origin: dict[str, Any]) -> str:
    """Name an engine: version, digest, and when and from which commit where that is known."""
    text = f"{origin.get('version')}+{origin.get('engine_digest') or 'unknown'}"
    where = [str(origin[key]) for key in ("date", "commit") if origin.get(key)]
    return f"{text} ({', '.join(where)})" if where else text


def _difference(found: Any, wanted: Any, key: str) -> str:
    """Name the first key in which two manifests differ."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for name in sorted({*found, *wanted}):
            if found.get(name) != wanted.get(name):
                return _difference(found.get(name), wanted.get(name), f"{key}.{name}")
    return f"{key} is {json.dumps(found)} there, and {json.dumps(wanted)} here"
