"""The dual queue: data and ACKs in queues of their own at the AP, data served with probability p (ha2009).

Symbols: `window` is ``w_r`` and the queues ``Q_D`` and ``Q_A`` in packets, `rate` is ``R`` in packets per second,
`tau_d` and `tau_u` the wired round-trip times in s.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fairair._arguments import checked
from fairair._errors import FairAirError
from fairair.models._rows import Floats, call, fitting, sized

__all__ = ["downloads", "modified_p", "optimal_p", "ratio", "uploads"]

_MOST = 1_000_000
"""Flows of a direction."""


def downloads(
    tau_d: ArrayLike,
    tau_u: ArrayLike,
    p: ArrayLike,
    rate: ArrayLike,
    *,
    window: ArrayLike = 42.0,
    q_d: ArrayLike = 50.0,
    q_a: ArrayLike = 50.0,
) -> Floats:
    """Rate of each download: Eqs. 1-3 when their windows overflow the data queue, Eq. 4 when they do not.

    Parameters
    ----------
    tau_d : array_like, shape (..., m)
        Wired round-trip time of each download in s, 0 or more.
    tau_u : array_like, shape (..., n)
        Of each upload.
    p : array_like, shape (...)
        Probability with which a data packet is served, between 0 and 1.
    rate : array_like, shape (...)
        Packets per second of the AP, above 0.
    window, q_d, q_a : array_like, shape (...)
        Receive window and queue sizes in packets, at least 1.

    Returns
    -------
    ndarray, shape (..., m)
        Packets per second.

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    J. Ha, E.-C. Park, K.-J. Park, C.-H. Choi, "A cross-layer dual queue approach for improving TCP fairness in
    infrastructure WLANs", 2009: Eqs. 1-4.

    Examples
    --------
    >>> from fairair.models import ha2009
    >>> rates = ha2009.downloads([0.01, 0.02], [0.01], p=0.667, rate=100.0)
    >>> bool(rates[0] > rates[1])
    True
    """
    return _rates("ha2009.downloads", tau_d, tau_u, [window, q_d, q_a, p, rate])


def uploads(
    tau_d: ArrayLike,
    tau_u: ArrayLike,
    p: ArrayLike,
    rate: ArrayLike,
    *,
    window: ArrayLike = 42.0,
    q_d: ArrayLike = 50.0,
    q_a: ArrayLike = 50.0,
) -> Floats:
    """Rate of each upload: Eq. 6 when their ACKs overflow the ACK queue, Eq. 7 when they do not.

    Parameters
    ----------
    tau_d : array_like, shape (..., m)
        Wired round-trip time of each download in s, 0 or more.
    tau_u : array_like, shape (..., n)
        Of each upload.
    p : array_like, shape (...)
        Probability with which a data packet is served, between 0 and 1.
    rate : array_like, shape (...)
        Packets per second of the AP, above 0.
    window, q_d, q_a : array_like, shape (...)
        Receive window and queue sizes in packets, at least 1.

    Returns
    -------
    ndarray, shape (..., n)
        Packets per second.

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    J. Ha, E.-C. Park, K.-J. Park, C.-H. Choi, "A cross-layer dual queue approach for improving TCP fairness in
    infrastructure WLANs", 2009: Eqs. 6, 7.

    Examples
    --------
    >>> from fairair.models import ha2009
    >>> ha2009.uploads([0.01], [0.01, 0.01], p=0.5, rate=100.0).shape
    (2,)
    """
    return _rates("ha2009.uploads", tau_d, tau_u, [window, q_d, q_a, p, rate])


@checked
def ratio(
    m: int, n: int, p: ArrayLike, *, window: ArrayLike = 42.0, q_d: ArrayLike = 50.0, q_a: ArrayLike = 50.0
) -> Floats:
    """``gamma``, Eq. 12: mean upload over mean download, wired delays neglected.

    Parameters
    ----------
    m, n : int
        Downloads and uploads, at least 1.
    p, window, q_d, q_a : array_like, shape (...)
        As in `downloads`.

    Returns
    -------
    ndarray, shape (...)
        Dimensionless; 1 is fair.

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    J. Ha, E.-C. Park, K.-J. Park, C.-H. Choi, "A cross-layer dual queue approach for improving TCP fairness in
    infrastructure WLANs", 2009: Eq. 12.

    Examples
    --------
    >>> from fairair.models import ha2009
    >>> float(ha2009.ratio(4, 4, ha2009.optimal_p(4, 4)).round(3))
    1.0
    """
    for symbol, flows in (("m", m), ("n", n)):
        if not 1 <= flows <= _MOST:
            raise FairAirError(symbol, f"{flows} flows have no ratio", f"give 1 to {_MOST}")
    return _rates("ha2009.ratio", np.zeros(m), np.zeros(n), [window, q_d, q_a, p, 1.0])[..., 0]


def optimal_p(m: ArrayLike, n: ArrayLike, window: ArrayLike = 42.0, q_a: ArrayLike = 50.0) -> Floats:
    """Return the fair p of Eq. 13 for m downloads and n uploads.

    Parameters
    ----------
    m, n : array_like, shape (...)
        Downloads and uploads, at least 1.
    window, q_a : array_like, shape (...)
        Receive window and size of the ACK queue in packets, at least 1.

    Returns
    -------
    ndarray, shape (...)
        Probability, between 0 and 1.

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    J. Ha, E.-C. Park, K.-J. Park, C.-H. Choi, "A cross-layer dual queue approach for improving TCP fairness in
    infrastructure WLANs", 2009: Eq. 13.

    Examples
    --------
    >>> from fairair.models import ha2009
    >>> ha2009.optimal_p(4, [1, 4]).round(3)
    array([0.8 , 0.771])
    """
    return call("ha2009.optimal_p", [m, n, window, q_a])[..., 0]


def modified_p(m: ArrayLike, n: ArrayLike, window: ArrayLike = 42.0, q_a: ArrayLike = 50.0) -> Floats:
    """Return the p of section 4.1: `optimal_p` less 10 % for more than 4 uploads, less 20 % for more than 7.

    Parameters
    ----------
    m, n : array_like, shape (...)
        Downloads and uploads, at least 1.
    window, q_a : array_like, shape (...)
        Receive window and size of the ACK queue in packets, at least 1.

    Returns
    -------
    ndarray, shape (...)
        Probability, between 0 and 1.

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    J. Ha, E.-C. Park, K.-J. Park, C.-H. Choi, "A cross-layer dual queue approach for improving TCP fairness in
    infrastructure WLANs", 2009: section 4.1.

    Examples
    --------
    >>> from fairair.models import ha2009
    >>> (ha2009.modified_p(4, [4, 5, 8]) / ha2009.optimal_p(4, [4, 5, 8])).round(2)
    array([1. , 0.9, 0.8])
    """
    return call("ha2009.modified_p", [m, n, window, q_a])[..., 0]


def _rates(name: str, tau_d: ArrayLike, tau_u: ArrayLike, scalars: list[ArrayLike]) -> Floats:
    (down,), (m,) = sized(name, tau_d)
    (up,), (n,) = sized(name, tau_u)
    with fitting(name):
        batch = np.broadcast_shapes(down.shape[:-1], up.shape[:-1])
    both = np.concatenate([np.broadcast_to(down, (*batch, m)), np.broadcast_to(up, (*batch, n))], axis=-1)
    return call(name, scalars, [both], (m + n,), sizes=(m, n))
