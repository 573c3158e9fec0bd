"""Everybody's goodput under buffer loss, channel errors, unequal rates and priorities, and delayed ACKs at once.

Ours (docs/models.md, section Unified). For a scenario as a whole write ``fairair.run(scenario, engine="model")``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairair.models._rows import Floats, Radio, call, document, fitting, sized

__all__ = ["Answer", "solve"]


class Answer(NamedTuple):
    """The steady state."""

    p: Floats
    """Shape (...): loss probability at the AP."""
    q_ap: Floats
    """Packets that wait at the AP."""
    packets_per_s: Floats
    """Packets per second that the AP sends while it has any (``lambda``)."""
    radio_packets_per_s: Floats
    """IP packets that cross the radio per second, both ways."""
    starves: NDArray[np.bool_]
    """Whether some flow is below 5 % of the fair share."""
    q: Floats
    """Shape (..., K): packets in the queue of each kind of station."""
    goodput: Floats
    """Shape (..., K, F): segments delivered in order per second by one flow."""
    loss: Floats
    """Shape (..., K, F): probability that a segment is lost."""
    least: Floats
    """Shape (..., K, F): goodput of the unluckiest of the like flows in the observed time."""


def solve(
    up: ArrayLike,
    flows: ArrayLike,
    *,
    stations: ArrayLike = 1.0,
    rate: ArrayLike = 11e6,
    beta: ArrayLike = 1.0,
    data_error: ArrayLike = 0.0,
    ack_error: ArrayLike = 0.0,
    window: ArrayLike = 42.0,
    b: ArrayLike = 2.0,
    mss: ArrayLike = 1460.0,
    min_rto: ArrayLike = 0.2,
    max_rto: ArrayLike = 60.0,
    limited_transmit: ArrayLike = 1.0,
    wire: ArrayLike = 0.0,
    buffer: ArrayLike = 100.0,
    observed: ArrayLike = 1000.0,
    radio: Radio | None = None,
) -> Answer:
    """Solve a cell of K kinds of station with F kinds of flow each.

    Parameters
    ----------
    up : array_like, shape (..., K, F)
        1 for uploads, 0 for downloads.
    flows : array_like, shape (..., K, F)
        Flows of that kind at each station.
    stations, rate, beta, data_error, ack_error : array_like, shape (..., K)
        How many stations, PHY rate in bit/s, access priority over the AP, error probabilities of an attempt.
    window, b, mss, min_rto, max_rto, limited_transmit, wire : array_like, shape (..., K, F)
        Receive window in segments, segments an ACK acknowledges, payload in bytes, timeouts in s, RFC 3042 (1 or 0),
        wired round-trip time in s.
    buffer, observed : array_like, shape (...)
        The AP's buffer in packets, and the seconds that the flows are observed.
    radio : mapping, optional
        The ``[radio]`` table of a scenario.

    Returns
    -------
    Answer
        Fields of shape (...) for the cell, (..., K) for kinds of station, (..., K, F) for flows; rates in segments or
        packets per second.

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    Ours: docs/models.md, section Unified.

    Examples
    --------
    Three uploads at one station against four stations with a download each:

    >>> from fairair.models import unified
    >>> answer = unified.solve(up=[[1], [0]], flows=[[3], [1]], stations=[1, 4], beta=[1.2, 1.2], buffer=75)
    >>> level = 3 * answer.goodput[0, 0] / answer.goodput[1, 0]
    >>> bool(level > 3)
    True
    """
    cells, (k, f) = sized("unified.solve", up, flows, window, b, mss, min_rto, max_rto, limited_transmit, wire, depth=2)
    rows, _ = sized("unified.solve", stations, rate, beta, data_error, ack_error)
    with fitting("unified.solve"):
        batch = np.broadcast_shapes(*(a.shape[:-2] for a in cells), *(a.shape[:-1] for a in rows))
        flat = [np.broadcast_to(a, (*batch, k)) for a in rows]
    flat += [np.broadcast_to(a, (*batch, k, f)).reshape(*batch, k * f) for a in cells]
    row = np.concatenate(flat, axis=-1)
    answer = call("unified.solve", [buffer, observed], [row], (row.shape[-1],), document(radio), (k, f))
    shape, start = answer.shape[:-1], 5 + k
    goodput, loss, least = (
        answer[..., start + i * k * f : start + (i + 1) * k * f].reshape(*shape, k, f) for i in range(3)
    )
    p, q_ap, sent, crossed = (answer[..., i] for i in range(4))
    return Answer(p, q_ap, sent, crossed, answer[..., 4] != 0.0, answer[..., 5:start], goodput, loss, least)
