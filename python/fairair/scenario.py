"""Scenarios: one cell with its stations and flows, as every engine reads it."""

from __future__ import annotations

import copy
import html
import json
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from fairair import _native
from fairair._arguments import checked
from fairair._errors import FairAirError

__all__ = ["Scenario", "scenarios"]


class Scenario:
    """A checked scenario: what a scenario file says, in Python.

    Make one with `load`, `from_toml` or `from_dict`; `with_` gives changed copies. A scenario never changes.
    Quantities are strings with their unit, as in the file (``"11 Mbit/s"``, ``"180 s"``); docs/scenario.md has every
    key.

    Examples
    --------
    >>> import fairair
    >>> cell = fairair.Scenario.from_dict({
    ...     "name": "cafe",
    ...     "run": {"duration": "30 s", "replicas": 2},
    ...     "station": [
    ...         {"name": "uploader", "flows": [{"direction": "up", "count": 3}]},
    ...         {"name": "guest", "count": 4, "flows": [{"direction": "down"}]},
    ...     ],
    ... })
    >>> cell.with_({"ap.queue": {"kind": "droptail", "limit": 50}})
    Scenario('cafe': 5 stations, 7 flows, 30 s, 2 replicas)
    """

    __slots__ = ("_checked", "_document")

    @checked
    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document: dict[str, Any] = copy.deepcopy(dict(document))
        self._checked: dict[str, Any] = json.loads(_native.check(_to_json(self._document)))

    @classmethod
    @checked
    def load(cls, path: str | PathLike[str]) -> Scenario:
        """Read a scenario file.

        Parameters
        ----------
        path : path-like
            A TOML file as docs/scenario.md describes it.

        Returns
        -------
        Scenario

        Raises
        ------
        FairAirError
            The file cannot be read, or its first mistake with line, column and remedy.

        Examples
        --------
        >>> import fairair
        >>> cell = fairair.Scenario.from_dict({"name": "cell", "run": {"duration": "5 s"},
        ...                                    "station": [{"name": "a", "flows": [{"direction": "up"}]}]})
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "cell.toml"
        >>> _ = path.write_text(cell.to_toml())
        >>> fairair.Scenario.load(path) == cell
        True
        """
        place = fspath(path)
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            fix = "name a scenario file that exists and that you may read"
            raise FairAirError(place, f"cannot read the scenario file: {error.strerror}", fix) from None
        except UnicodeDecodeError:
            raise FairAirError(place, "this is not UTF-8 text", "save the file in UTF-8") from None
        return cls.from_toml(text, place)

    @classmethod
    @checked
    def from_toml(cls, text: str, file: str = "scenario.toml") -> Scenario:
        """Read a scenario from the text of a file.

        Parameters
        ----------
        text : str
            TOML.
        file : str
            Its name in messages.

        Returns
        -------
        Scenario

        Raises
        ------
        FairAirError
            The first mistake with line, column and remedy.

        Examples
        --------
        >>> import fairair
        >>> cell = fairair.Scenario.from_dict({"name": "cell", "run": {"duration": "5 s"},
        ...                                    "station": [{"name": "a", "flows": [{"direction": "up"}]}]})
        >>> fairair.Scenario.from_toml(cell.to_toml()) == cell
        True
        """
        return cls(json.loads(_native.read_toml(text, file)))

    @classmethod
    @checked
    def from_dict(cls, document: Mapping[str, Any]) -> Scenario:
        """Make a scenario of the tables that its file would have.

        Parameters
        ----------
        document : mapping
            Tables of the file as dictionaries, or a `fairair.tables.Document`.

        Returns
        -------
        Scenario

        Raises
        ------
        FairAirError
            The first mistake with its path in the dictionary and its remedy.

        Examples
        --------
        >>> import fairair
        >>> cell = fairair.Scenario.from_dict({"name": "cell", "run": {"duration": "5 s"},
        ...                                    "station": [{"name": "a", "flows": [{"direction": "up"}]}]})
        >>> cell.station_names
        ['a']
        """
        return cls(document)

    @checked
    def with_(self, changes: Mapping[str, Any] | None = None, /, **tables: Any) -> Scenario:
        """Return a copy with other values.

        Parameters
        ----------
        changes : mapping from dotted path to value
            Keys with dots between them; in lists the ``name`` of a station, a position from 0, or ``*`` for all
            (``"station.sta1.flows.0.count"``). A value of None takes the key away, which gives its default.
        **tables
            The same for whole tables and top-level keys: ``with_(name="other")``.

        Returns
        -------
        Scenario

        Raises
        ------
        FairAirError
            A path that leads nowhere, or a value that the scenario reader refuses.

        Examples
        --------
        >>> import fairair
        >>> cell = fairair.Scenario.from_dict({"name": "cell", "run": {"duration": "10 s"},
        ...                                    "station": [{"name": "sta1", "flows": [{"direction": "up"}]}]})
        >>> cell.with_({"station.sta1.flows.0.count": 6}).flow_count
        6
        """
        document = _to_json(self._document)
        for path, value in {**(changes or {}), **tables}.items():
            document = _native.set_path(document, path, _to_json(value, path))
        return Scenario(json.loads(document))

    @property
    def name(self) -> str:
        """Title, and first part of the names of result files."""
        return str(self._document["name"])

    @property
    def station_names(self) -> list[str]:
        """Names of the stations, groups expanded, in the order of results."""
        return [str(station["name"]) for station in self._checked["stations"]]

    @property
    def flow_count(self) -> int:
        """Number of flows, groups expanded."""
        return sum(len(station["flows"]) for station in self._checked["stations"])

    @property
    def replicas(self) -> int:
        """Independent repetitions."""
        return int(self._checked["run"]["replicas"])

    @property
    def expanded(self) -> dict[str, Any]:
        """The scenario that engines run: defaults filled in, groups expanded."""
        return copy.deepcopy(self._checked)

    def to_dict(self) -> dict[str, Any]:
        """Return the tables as they would stand in a file.

        Returns
        -------
        dict
            A copy.

        Examples
        --------
        >>> import fairair
        >>> cell = fairair.Scenario.from_dict({"name": "cell", "run": {"duration": "5 s"},
        ...                                    "station": [{"name": "a", "flows": [{"direction": "up"}]}]})
        >>> cell.to_dict()["run"]
        {'duration': '5 s'}
        """
        return copy.deepcopy(self._document)

    def to_toml(self) -> str:
        """Return the text of a scenario file that reads back as this scenario.

        Returns
        -------
        str

        Examples
        --------
        >>> import fairair
        >>> cell = fairair.Scenario.from_dict({"name": "cell", "run": {"duration": "5 s"},
        ...                                    "station": [{"name": "a", "flows": [{"direction": "up"}]}]})
        >>> print(cell.to_toml().splitlines()[0])
        name = "cell"
        """
        return _native.write_toml(_to_json(self._document))

    def _json(self) -> str:
        return _to_json(self._document)

    def __eq__(self, other: object) -> bool:
        return self._checked == other._checked if isinstance(other, Scenario) else NotImplemented

    def __hash__(self) -> int:
        return hash(json.dumps(self._checked, sort_keys=True))

    def __reduce__(self) -> tuple[type[Scenario], tuple[dict[str, Any]]]:
        return (Scenario, (self._document,))

    def _repr_html_(self) -> str:
        document = self._document
        rows = [("AP", json.dumps(document.get("ap", {"queue": "default"})))]
        rows += [(f"{s['name']}, {s.get('count', 1)}", _described(s)) for s in document["station"]]
        rows += [("box", json.dumps(document["enforce"]))] if "enforce" in document else []
        cells = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in rows)
        full = html.escape(self.to_toml())
        return (
            f"<div><b>{html.escape(self.name)}</b> {html.escape(repr(self))}<table>{cells}</table>"
            f"<details><summary>scenario file</summary><pre>{full}</pre></details></div>"
        )

    def __repr__(self) -> str:
        stations, replicas = len(self._checked["stations"]), self.replicas
        return (
            f"Scenario({self.name!r}: {stations} station{'s' * (stations != 1)}, {self.flow_count} flows, "
            f"{self._document['run']['duration']}, {replicas} replica{'s' * (replicas != 1)})"
        )


def scenarios() -> dict[str, Path]:
    """Return the scenario files that come with the package: those of ``scenarios/`` in the repository.

    Returns
    -------
    dict from str to Path
        Files by name, for `Scenario.load`, or wherever a scenario may be a path.

    Examples
    --------
    >>> import fairair
    >>> fairair.Scenario.load(fairair.scenarios()["detti2011-five-stations"]).station_names[:2]
    ['sta1', 'other-1']
    """
    return {path.stem: path for path in sorted((Path(__file__).parent / "_scenarios").glob("*.toml"))}


def _described(station: dict[str, Any]) -> str:
    """Say in a line what the flows of a station of a document are."""
    flows = [
        f"{flow.get('count', 1)} {flow['direction']} {flow.get('kind', 'tcp')}" for flow in station.get("flows", ())
    ]
    return ", ".join(flows) or "no flows"


def _to_json(value: Any, place: str = "scenario") -> str:
    """JSON of plain values, NumPy's scalars included."""
    try:
        return json.dumps(value, allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        fix = "use texts, finite numbers, true and false, lists and dictionaries"
        raise FairAirError(place, f"this value cannot stand in a scenario: {error}", fix) from None


def _plain(value: Any) -> Any:
    item = getattr(value, "item", None)
    if callable(item):
        return item()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not a plain value")
