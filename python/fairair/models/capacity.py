"""How much of a mix of packets a cell carries (ours; docs/models.md)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fairair.models._rows import Floats, Radio, call, document, fitting, sized

__all__ = ["Load", "carry"]


class Load(NamedTuple):
    """What a mix comes to."""

    mixes_per_s: Floats
    """Shape (...): mixes per second; multiply a stream's packets by this."""
    busy: Floats
    """Shape (..., T): share of time that each transmitter has a frame; 1 for the bottleneck."""
    collision: Floats
    """Shape (..., T): probability that an attempt collides."""
    slots: Floats
    """Shape (..., T): slots of backoff a mix."""
    discard: Floats
    """Shape (..., T, S): probability that a frame is given up."""


def carry(
    packets: ArrayLike,
    ip_len: ArrayLike,
    rate: ArrayLike,
    error: ArrayLike = 0.0,
    *,
    count: ArrayLike = 1.0,
    priority: ArrayLike = 1.0,
    radio: Radio | None = None,
) -> Load:
    """Return how much of a mix the cell carries.

    Parameters
    ----------
    packets : array_like, shape (..., T, S)
        Packets in a mix of each of S streams of T kinds of transmitter; 0 where a transmitter has fewer streams.
    ip_len : array_like, shape (..., T, S)
        Length of the IP packets in bytes.
    rate : array_like, shape (..., T, S)
        PHY rate in bit/s.
    error : array_like, shape (..., T, S)
        Probability that the channel spoils an attempt.
    count, priority : array_like, shape (..., T)
        How many transmitters are like it, and their access priority.
    radio : mapping, optional
        The ``[radio]`` table of a scenario.

    Returns
    -------
    Load
        `mixes_per_s` of shape (...), `busy`, `collision` and `slots` (..., T), `discard` (..., T, S).

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    Ours: docs/models.md, section Capacity, after Bianchi (2000) and Kumar et al. (2007).

    Examples
    --------
    A download with an ACK for every second segment: segments from the AP, half as many ACKs from the station.

    >>> from fairair.models import capacity
    >>> load = capacity.carry([[2], [1]], [[1500], [40]], 11e6)
    >>> mbps = load.mixes_per_s * 2 * 1460 * 8 / 1e6
    >>> bool(5 < mbps < 6)
    True
    """
    streams, (t, s) = sized("capacity.carry", packets, ip_len, rate, error, depth=2)
    (counts, priorities), _ = sized("capacity.carry", count, priority)
    # One call takes one row: counts and priorities of T, then four tables of T x S.
    with fitting("capacity.carry"):
        batch = np.broadcast_shapes(*(a.shape[:-2] for a in streams), *(a.shape[:-1] for a in (counts, priorities)))
        flat = [np.broadcast_to(a, (*batch, t)) for a in (counts, priorities)]
    flat += [np.broadcast_to(a, (*batch, t, s)).reshape(*batch, t * s) for a in streams]
    row = np.concatenate(flat, axis=-1)
    answer = call("capacity.carry", [], [row], (row.shape[-1],), document(radio), (t, s))
    busy, collision, slots = (answer[..., 1 + k * t : 1 + (k + 1) * t] for k in range(3))
    return Load(answer[..., 0], busy, collision, slots, answer[..., 1 + 3 * t :].reshape(*batch, t, s))
