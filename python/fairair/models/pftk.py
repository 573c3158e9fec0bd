"""TCP Reno in steady state.

J. Padhye, V. Firoiu, D. Towsley, J. Kurose, "Modeling TCP Reno performance: a simple model and its empirical
validation", IEEE/ACM Trans. Networking 8(2), 2000. Rates are in packets per second.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from fairair.models._rows import Floats, call

__all__ = ["approximate_send_rate", "backoff", "expected_window", "send_rate", "throughput", "timeout_probability"]


def send_rate(p: ArrayLike, rtt: ArrayLike, t0: ArrayLike, b: ArrayLike = 1.0, window: ArrayLike = 1e9) -> Floats:
    """Send rate ``B(p)``, Eq. 32: packets sent per second, retransmissions included.

    Parameters
    ----------
    p : array_like, shape (...)
        Probability that the first packet of a loss event is lost, 0 to 1.
    rtt : array_like, shape (...)
        Round-trip time in s, above 0.
    t0 : array_like, shape (...)
        Timeout that a sequence of timeouts begins with, in s.
    b : array_like, shape (...), default 1
        Packets that an ACK acknowledges: 1, or 2 with delayed ACKs.
    window : array_like, shape (...), default 1e9
        Receive window ``W_m`` in packets, at least 1.

    Returns
    -------
    ndarray, shape (...)
        Packets per second.

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    J. Padhye, V. Firoiu, D. Towsley, J. Kurose, "Modeling TCP Reno performance: a simple model and its empirical
    validation", IEEE/ACM Trans. Networking 8(2), 2000: Eq. 32.

    Examples
    --------
    >>> from fairair.models import pftk
    >>> pftk.send_rate([1e-3, 1e-2], rtt=0.1, t0=0.4).round(1)
    array([381.6, 111. ])
    """
    return call("pftk.send_rate", [p, b, window, rtt, t0])[..., 0]


def throughput(p: ArrayLike, rtt: ArrayLike, t0: ArrayLike, b: ArrayLike = 1.0, window: ArrayLike = 1e9) -> Floats:
    """Throughput ``T(p)``, Eq. 37: packets received per second, each once.

    Parameters
    ----------
    p : array_like, shape (...)
        Probability that the first packet of a loss event is lost, 0 to 1.
    rtt, t0 : array_like, shape (...)
        Round-trip time and first timeout in s, above 0.
    b : array_like, shape (...), default 1
        Packets that an ACK acknowledges: 1, or 2 with delayed ACKs.
    window : array_like, shape (...), default 1e9
        Receive window ``W_m`` in packets, at least 1.

    Returns
    -------
    ndarray, shape (...)
        Packets per second.

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    J. Padhye, V. Firoiu, D. Towsley, J. Kurose, "Modeling TCP Reno performance: a simple model and its empirical
    validation", IEEE/ACM Trans. Networking 8(2), 2000: Eq. 37.

    Examples
    --------
    >>> from fairair.models import pftk
    >>> float(pftk.throughput(0.0, rtt=0.2, t0=0.2, b=2, window=42))
    210.0
    """
    return call("pftk.throughput", [p, b, window, rtt, t0])[..., 0]


def approximate_send_rate(
    p: ArrayLike, rtt: ArrayLike, t0: ArrayLike, b: ArrayLike = 1.0, window: ArrayLike = 1e9
) -> Floats:
    """Approximate send rate, Eq. 33, in packets per second.

    Parameters
    ----------
    p : array_like, shape (...)
        Probability that the first packet of a loss event is lost, 0 to 1.
    rtt, t0 : array_like, shape (...)
        Round-trip time and first timeout in s, above 0.
    b : array_like, shape (...), default 1
        Packets that an ACK acknowledges: 1, or 2 with delayed ACKs.
    window : array_like, shape (...), default 1e9
        Receive window ``W_m`` in packets, at least 1.

    Returns
    -------
    ndarray, shape (...)
        Packets per second.

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    J. Padhye, V. Firoiu, D. Towsley, J. Kurose, "Modeling TCP Reno performance: a simple model and its empirical
    validation", IEEE/ACM Trans. Networking 8(2), 2000: Eq. 33.

    Examples
    --------
    >>> from fairair.models import pftk
    >>> (pftk.approximate_send_rate(1e-2, rtt=0.1, t0=0.4, b=[1, 2]) * 1460 * 8 / 1e6).round(3)  # Mbit/s at 1460 B
    array([1.312, 0.928])
    """
    return call("pftk.approximate_send_rate", [p, b, window, rtt, t0])[..., 0]


def expected_window(p: ArrayLike, b: ArrayLike = 1.0) -> Floats:
    """Unconstrained window ``E[W_u]`` when a loss ends its growth, Eq. 13.

    Parameters
    ----------
    p : array_like, shape (...)
        Loss probability, 0 to 1.
    b : array_like, shape (...), default 1
        Packets that an ACK acknowledges.

    Returns
    -------
    ndarray, shape (...)
        Packets; infinite at ``p = 0``.

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    J. Padhye, V. Firoiu, D. Towsley, J. Kurose, "Modeling TCP Reno performance: a simple model and its empirical
    validation", IEEE/ACM Trans. Networking 8(2), 2000: Eq. 13.

    Examples
    --------
    >>> from fairair.models import pftk
    >>> float(pftk.expected_window(8 / 11).round(3))
    2.414
    """
    return call("pftk.expected_window", [p, b])[..., 0]


def timeout_probability(p: ArrayLike, w: ArrayLike) -> Floats:
    """Probability ``Q(w)`` that a loss in a window of `w` packets leads to a timeout, Eq. 24.

    Parameters
    ----------
    p : array_like, shape (...)
        Loss probability, 0 to 1.
    w : array_like, shape (...)
        Window in packets, at least 1.

    Returns
    -------
    ndarray, shape (...)
        Probability, 0 to 1.

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    J. Padhye, V. Firoiu, D. Towsley, J. Kurose, "Modeling TCP Reno performance: a simple model and its empirical
    validation", IEEE/ACM Trans. Networking 8(2), 2000: Eq. 24.

    Examples
    --------
    >>> from fairair.models import pftk
    >>> pftk.timeout_probability(0.01, [3, 30]).round(3)
    array([1.  , 0.14])
    """
    return call("pftk.timeout_probability", [p, w])[..., 0]


def backoff(p: ArrayLike) -> Floats:
    """``f(p)``, Eq. 29: mean length of a sequence of timeouts over ``T_0``, times ``1 - p``.

    Parameters
    ----------
    p : array_like, shape (...)
        Loss probability, 0 to 1.

    Returns
    -------
    ndarray, shape (...)
        Dimensionless, 1 to 64.

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    J. Padhye, V. Firoiu, D. Towsley, J. Kurose, "Modeling TCP Reno performance: a simple model and its empirical
    validation", IEEE/ACM Trans. Networking 8(2), 2000: Eq. 29.

    Examples
    --------
    >>> from fairair.models import pftk
    >>> pftk.backoff([0.0, 1.0])
    array([ 1., 64.])
    """
    return call("pftk.backoff", [p])[..., 0]
