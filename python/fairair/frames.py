"""The air of a cell: every PPDU of a part of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from fairair import _native
from fairair._arguments import checked
from fairair._extras import need
from fairair.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Air", "air"]


@dataclass(frozen=True, eq=False)
class Air:
    """Every PPDU that begins in a part of replica 0, in the order of their start."""

    name: str
    """Of the scenario."""
    from_s: float
    """Where the part begins, in s from the start of the run."""
    to_s: float
    """Where it ends."""
    nodes: tuple[str, ...]
    """The AP, then the stations."""
    columns: dict[str, Any] = field(repr=False)
    """One array a column, one entry a PPDU. ``at_s`` and ``duration_s``: start and length in s. ``sender`` and ``receiver``:
    positions in `nodes`. ``kind``: ``data``, ``TCP ACK`` (data frames that carry nothing else), ``ACK``, ``BlockAck`` or
    ``control``. ``rate_bps``: its data rate. ``mpdus``, ``lost``, ``retries``: data frames in it, those that did not arrive,
    those that were sent before. ``ip_bytes``: bytes of IP in it. ``collided``: whether it overlapped with another."""

    @property
    def table(self) -> pd.DataFrame:
        """The columns as a table, nodes by name."""
        names = np.array(self.nodes)
        named = {role: names[self.columns[role]] for role in ("sender", "receiver")}
        table: pd.DataFrame = need("pandas").DataFrame({**self.columns, **named})
        table.attrs["units"] = {"at_s": "s", "duration_s": "s", "rate_bps": "bit/s", "ip_bytes": "B"}
        return table

    def shares(self) -> dict[str, float]:
        """Return the share of the time in which each node sends data or TCP ACKs, collisions counted.

        Returns
        -------
        dict
            From the name of each node to a number between 0 and 1.
        """
        sends = self.columns["mpdus"] > 0
        ends = np.minimum(self.columns["at_s"] + self.columns["duration_s"], self.to_s)
        taken = (ends - self.columns["at_s"])[sends]
        sums = np.bincount(self.columns["sender"][sends], taken, len(self.nodes))
        return dict(zip(self.nodes, (sums / (self.to_s - self.from_s)).tolist(), strict=True))


@checked
def air(
    scenario: Scenario | str | PathLike[str],
    seconds: float = 0.1,
    *,
    from_s: float | None = None,
    remedy: str | None = None,
) -> Air:
    """Simulate replica 0, and keep every PPDU that begins in a part of it. `fairair.plot.air` draws them.

    Parameters
    ----------
    scenario : Scenario or path-like
        The cell, or its file.
    seconds : float, default 0.1
        Length of the part in s, above 0; it ends with the run.
    from_s : float, optional
        Where it begins, in s from the start of the run; by default at the end of the warm-up.
    remedy : str, optional
        Name of a remedy to apply first; `remedies` lists them.

    Returns
    -------
    Air
        `columns` or `table` has the PPDUs; times in s, rates in bit/s.

    Raises
    ------
    FairAirError
        Bad input, with its place and fix; nothing has run.

    Examples
    --------
    >>> import fairair
    >>> cell = fairair.Scenario.from_dict({"name": "cell", "run": {"duration": "5 s"},
    ...     "station": [{"name": "a", "flows": [{"direction": "up"}]}]})
    >>> seen = fairair.air(cell, 0.05, from_s=1)
    >>> seen.nodes, set(seen.columns["kind"]) >= {"data", "TCP ACK", "ACK"}
    (('AP', 'a'), True)
    >>> shares = seen.shares()
    >>> 0 < shares["AP"] < shares["a"] < 1
    True
    """
    cell = scenario if isinstance(scenario, Scenario) else Scenario.load(scenario)
    begin, end, nodes, columns = _native.air(cell._json(), remedy, from_s, seconds)
    columns["kind"] = np.array(columns["kind"], dtype="U8")
    return Air(cell.name, begin, end, tuple(nodes), columns)
