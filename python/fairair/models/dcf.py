"""802.11 DCF: attempts, collisions and saturation throughput (Bianchi 2000; Kumar et al. 2007).

`radio` is the ``[radio]`` table of a scenario; without one it is 802.11b with FairAir's defaults.
"""

from __future__ import annotations

from typing import NamedTuple

from numpy.typing import ArrayLike

from fairair.models._rows import Floats, Radio, call, document, sized

__all__ = ["Attempts", "attempts", "discard", "mean_backoff", "saturation", "solve"]


class Attempts(NamedTuple):
    """What the fixed point says of each kind of node, shape (..., K)."""

    attempts: Floats
    """Attempts per slot of one node."""
    collision: Floats
    """Probability that an attempt meets another's."""
    failure: Floats
    """Probability that an attempt fails, by collision or channel."""


def attempts(gamma: ArrayLike, priority: ArrayLike = 1.0, *, radio: Radio | None = None) -> Floats:
    """Return attempts per frame when each fails with probability `gamma`; `priority` divides the windows.

    Parameters
    ----------
    gamma : array_like, shape (...)
        Probability that an attempt fails, 0 to 1.
    priority : array_like, shape (...), default 1
        Access priority, 0.001 to 1000: it divides the contention windows.
    radio : mapping, optional
        The ``[radio]`` table of a scenario.

    Returns
    -------
    ndarray, shape (...)
        Attempts per frame, from 1 to the retry limit.

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    A. Kumar, E. Altman, D. Miorandi, M. Goyal, "New insights from a fixed-point analysis of single cell IEEE 802.11
    WLANs", IEEE/ACM Trans. Networking 15(3), 2007.

    Examples
    --------
    >>> from fairair.models import dcf
    >>> dcf.attempts([0.0, 0.5]).round(3)
    array([1.   , 1.984])
    """
    return call("dcf.attempts", [gamma, priority], radio=document(radio))[..., 0]


def mean_backoff(gamma: ArrayLike, priority: ArrayLike = 1.0, *, radio: Radio | None = None) -> Floats:
    """Return mean slots of backoff before an attempt.

    Parameters
    ----------
    gamma : array_like, shape (...)
        Probability that an attempt fails, 0 to 1.
    priority : array_like, shape (...), default 1
        Access priority, 0.001 to 1000: it divides the contention windows.
    radio : mapping, optional
        The ``[radio]`` table of a scenario.

    Returns
    -------
    ndarray, shape (...)
        Slots.

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    A. Kumar, E. Altman, D. Miorandi, M. Goyal, "New insights from a fixed-point analysis of single cell IEEE 802.11
    WLANs", IEEE/ACM Trans. Networking 15(3), 2007.

    Examples
    --------
    >>> from fairair.models import dcf
    >>> float(dcf.mean_backoff(0.0))
    15.5
    """
    return call("dcf.mean_backoff", [gamma, priority], radio=document(radio))[..., 0]


def discard(gamma: ArrayLike, priority: ArrayLike = 1.0, *, radio: Radio | None = None) -> Floats:
    """Return the probability that a frame is given up at the retry limit.

    Parameters
    ----------
    gamma : array_like, shape (...)
        Probability that an attempt fails, 0 to 1.
    priority : array_like, shape (...), default 1
        Access priority, 0.001 to 1000: it divides the contention windows.
    radio : mapping, optional
        The ``[radio]`` table of a scenario.

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
    A. Kumar, E. Altman, D. Miorandi, M. Goyal, "New insights from a fixed-point analysis of single cell IEEE 802.11
    WLANs", IEEE/ACM Trans. Networking 15(3), 2007.

    Examples
    --------
    >>> from fairair.models import dcf
    >>> float(dcf.discard(0.5, radio={"retry_limit": 2}))
    0.25
    """
    return call("dcf.discard", [gamma, priority], radio=document(radio))[..., 0]


def solve(
    count: ArrayLike, priority: ArrayLike = 1.0, error: ArrayLike = 0.0, *, radio: Radio | None = None
) -> Attempts:
    """Solve the fixed point of saturated nodes of K kinds.

    Parameters
    ----------
    count : array_like, shape (..., K)
        Nodes of each kind.
    priority : array_like, shape (..., K)
        Access priority, 0.001 to 1000.
    error : array_like, shape (..., K)
        Probability that the channel spoils an attempt, 0 to 1.
    radio : mapping, optional
        The ``[radio]`` table of a scenario.

    Returns
    -------
    Attempts
        Fields `attempts`, `collision` and `failure`, each of shape (..., K), per attempt or slot, 0 to 1.

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    A. Kumar, E. Altman, D. Miorandi, M. Goyal, "New insights from a fixed-point analysis of single cell IEEE 802.11
    WLANs", IEEE/ACM Trans. Networking 15(3), 2007.

    Examples
    --------
    >>> from fairair.models import dcf
    >>> dcf.solve([[2], [10]], radio={"phy": "802.11a"}).collision.round(3)
    array([[0.105],
           [0.389]])
    """
    groups, core = sized("dcf.solve", count, priority, error)
    answer = call("dcf.solve", [], groups, core, document(radio))
    k = core[0]
    return Attempts(*(answer[..., part * k : (part + 1) * k] for part in range(3)))


def saturation(
    n: ArrayLike, busy: ArrayLike, collided: ArrayLike, *, radio: Radio | None = None
) -> tuple[Floats, Floats]:
    """Bianchi's saturation throughput of `n` like nodes.

    Parameters
    ----------
    n : array_like, shape (...)
        Nodes, at least 1.
    busy, collided : array_like, shape (...)
        Seconds that a success and a collision take, interframe spaces after them included.
    radio : mapping, optional
        The ``[radio]`` table of a scenario.

    Returns
    -------
    tuple of ndarray, shape (...)
        Frames per second, and the probability that an attempt collides.

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    G. Bianchi, "Performance analysis of the IEEE 802.11 distributed coordination function", IEEE J. Sel. Areas
    Commun. 18(3), 2000.

    Examples
    --------
    >>> from fairair.models import dcf
    >>> frames, collision = dcf.saturation([5, 10], busy=1.6e-3, collided=1.6e-3)
    >>> bool(frames[0] > frames[1]), bool(collision[0] < collision[1])
    (True, True)
    """
    answer = call("dcf.saturation", [n, busy, collided], radio=document(radio))
    return answer[..., 0], answer[..., 1]
