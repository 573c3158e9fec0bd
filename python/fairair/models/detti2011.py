"""The fairness level of stations that share an AP by TCP: detti2011, section 3 and appendices II and III.

Delayed ACKs throughout (``b = 2``), and ``T_0 = RTT`` (a6). Windows and queues are in packets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairair._arguments import checked
from fairair._errors import FairAirError
from fairair.models._rows import Floats, call, sized

__all__ = ["Solution", "backlog", "nsr", "solve", "tn"]


class Solution(NamedTuple):
    """The steady state; batch axes first, stations last where there are any."""

    lossy: NDArray[np.bool_]
    """Which set of equations holds: Eqs. 5, 22-25 (the AP's buffer is full) or Eqs. 4, 11-13."""
    p: Floats
    """The AP's loss probability, 0 when lossless."""
    q_ap: Floats
    """Packets at the AP."""
    jain_index: Floats
    """Over stations with connections, Eq. 27."""
    up_down_index: Floats
    """``R_up / R_dw``, Eq. 26; NaN without downloads."""
    q: Floats
    """Packets in each station's queue."""
    goodput_up: Floats
    """Uploads of each station, Eq. 1, in segments per AP queueing delay."""
    goodput_dw: Floats
    """Downloads likewise."""

    @checked
    def fairness_level(self, i: int, j: int | None = None) -> Floats:
        """``eta_ij``, Eq. 3: goodput of station i over that of j, or over the mean of the others without `j`.

        Parameters
        ----------
        i : int
            Position of a station, from 0.
        j : int, optional
            Position of another one; without it the mean of the others.

        Returns
        -------
        ndarray, shape (...)
            Dimensionless; 1 is fair.

        Raises
        ------
        FairAirError
            There is no such station.

        References
        ----------
        A. Detti, N. Blefari-Melazzi, I. Habib, A. Ordine, "Per-station throughput fairness in a WLAN hot-spot with TCP
        traffic", 2011: Eq. 3.

        Examples
        --------
        >>> from fairair.models import detti2011
        >>> solution = detti2011.solve([3, 0], [0, 1], 42)
        >>> bool(solution.fairness_level(0, 1) > 2)
        True
        """
        goodput = self.goodput_up + self.goodput_dw
        stations = goodput.shape[-1]
        for name, place in (("i", i), ("j", j)):
            if place is not None and not -stations <= place < stations:
                raise FairAirError(name, f"there is no station {place}", f"give 0 to {stations - 1}")
        if j is not None:
            return goodput[..., i] / goodput[..., j]
        others = np.delete(goodput, i, axis=-1)
        return np.asarray(goodput[..., i] / others.mean(axis=-1))


@checked
def solve(
    n_up: ArrayLike,
    n_dw: ArrayLike,
    window: ArrayLike = 42.0,
    beta: ArrayLike = 1.2,
    *,
    buffer: ArrayLike = 75.0,
    wire: ArrayLike = 0.0,
    approximate: bool = False,
) -> Solution:
    """Solve the lossless set and, if its queue does not fit into the buffer, the lossy one.

    Parameters
    ----------
    n_up, n_dw : array_like, shape (..., M)
        TCP connections of each of M stations by direction.
    window : array_like, shape (..., M)
        Receive window ``W_i`` in packets, at least 1.
    beta : array_like, shape (..., M)
        Access priority over the AP, 0.001 to 1000; below 0.5 is outside assumption a5.
    buffer : array_like, shape (...)
        The AP's buffer B in packets, at least 1.
    wire : array_like, shape (...)
        Wired round-trip time in packets that the AP serves meanwhile (footnote 19).
    approximate : bool
        Eq. 25 for the stations' queues instead of Eq. 23.

    Returns
    -------
    Solution
        Fields of shape (...) for the cell (`lossy`, `p`, `q_ap` in packets, `jain_index`, `up_down_index`) and (..., M)
        for stations (`q` in packets, `goodput_up` and `goodput_dw` in segments per AP queueing delay).

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    A. Detti, N. Blefari-Melazzi, I. Habib, A. Ordine, "Per-station throughput fairness in a WLAN hot-spot with TCP
    traffic", 2011: section 3, appendices II and III.

    Examples
    --------
    Fig. 5: one to six uploads at station 1 against four stations with a download each.

    >>> from fairair.models import detti2011
    >>> import numpy as np
    >>> n_up = np.zeros((6, 5)); n_up[:, 0] = range(1, 7)
    >>> detti2011.solve(n_up, [0, 1, 1, 1, 1]).fairness_level(0).round(1)
    array([ 3.2, 10.5, 12.4, 12.4, 12.4, 12.4])
    """
    groups, core = sized("detti2011.solve", n_up, n_dw, window, beta)
    answer = call("detti2011.solve", [buffer, wire, float(approximate)], groups, core)
    m = core[0]
    stations = [answer[..., 5 + k * m : 5 + (k + 1) * m] for k in range(3)]
    return Solution(answer[..., 0] != 0.0, *(answer[..., k] for k in range(1, 5)), *stations)


def backlog(
    station: ArrayLike, n_up: ArrayLike, n_dw: ArrayLike, window: ArrayLike = 42.0, beta: ArrayLike = 1.0
) -> Floats:
    """Queue of the only station that can be backlogged in a lossless cell with ``beta = 1``, Eqs. 14-16.

    Parameters
    ----------
    station : array_like, shape (...)
        Its position, from 0.
    n_up, n_dw, window, beta : array_like, shape (..., M)
        As in `solve`.

    Returns
    -------
    ndarray, shape (...)
        Packets; NaN where the station is not backlogged.

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    A. Detti, N. Blefari-Melazzi, I. Habib, A. Ordine, "Per-station throughput fairness in a WLAN hot-spot with TCP
    traffic", 2011: Eqs. 14-16.

    Examples
    --------
    >>> from fairair.models import detti2011
    >>> float(detti2011.backlog(0, [3, 0], [0, 1], 42))
    42.0
    """
    groups, core = sized("detti2011.backlog", n_up, n_dw, window, beta)
    return call("detti2011.backlog", [station], groups, core)[..., 0]


def nsr(p: ArrayLike, window: ArrayLike = 42.0) -> Floats:
    """``NSR(p, W)``, d13: segments sent per round trip, Eq. 32 of PFTK with ``T_0 = RTT`` and ``b = 2``.

    Parameters
    ----------
    p : array_like, shape (...)
        Loss probability at the AP, 0 to 1.
    window : array_like, shape (...), default 42
        Receive window in packets, at least 1.

    Returns
    -------
    ndarray, shape (...)
        Segments per round trip.

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    A. Detti, N. Blefari-Melazzi, I. Habib, A. Ordine, "Per-station throughput fairness in a WLAN hot-spot with TCP
    traffic", 2011: definition d13. J. Padhye et al., IEEE/ACM Trans. Networking 8(2), 2000: Eq. 32.

    Examples
    --------
    >>> from fairair.models import detti2011
    >>> float(detti2011.nsr(0.0, 42))
    42.0
    """
    return call("detti2011.nsr", [p, window])[..., 0]


def tn(p: ArrayLike, window: ArrayLike = 42.0) -> Floats:
    """``Tn(p, W)``: useful segments per round trip, Eq. 37 of PFTK with ``T_0 = RTT`` and ``b = 2``.

    Parameters
    ----------
    p : array_like, shape (...)
        Loss probability at the AP, 0 to 1.
    window : array_like, shape (...), default 42
        Receive window in packets, at least 1.

    Returns
    -------
    ndarray, shape (...)
        Segments per round trip.

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    A. Detti, N. Blefari-Melazzi, I. Habib, A. Ordine, "Per-station throughput fairness in a WLAN hot-spot with TCP
    traffic", 2011: ``Tn``. J. Padhye et al., IEEE/ACM Trans. Networking 8(2), 2000: Eq. 37.

    Examples
    --------
    >>> from fairair.models import detti2011
    >>> bool(detti2011.tn(0.01) < detti2011.nsr(0.01))
    True
    """
    return call("detti2011.tn", [p, window])[..., 0]
