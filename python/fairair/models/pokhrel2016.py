"""Loaded access points with channel errors: pokhrel2016, with an Appendix A of our own (docs/models.md).

`radio` is the ``[radio]`` table of a scenario; the paper's is 802.11b with basic rate 2 Mbit/s and 8 attempts, the
default here. Throughputs are in segments per second.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairair.models._rows import Floats, Radio, call, document

__all__ = ["RADIO", "Remedy", "Solution", "remedy", "solve", "tabulated_buffer", "with_buffer"]

RADIO: Radio = {"phy": "802.11b", "basic_rate": "2 Mbit/s", "retry_limit": 8}
"""The paper's MAC."""


class Solution(NamedTuple):
    """A fixed point; all of the broadcast shape."""

    h: Floats
    """Parameter h of the AP's queue composition."""
    gamma_u: Floats
    """Failure probability of an upload's attempt."""
    gamma_ap: Floats
    """Failure probability of the AP's attempt of a segment."""
    p_lu: Floats
    """Loss probability of uploads over the air."""
    p_ld: Floats
    """Loss probability of downloads over the air."""
    p_b: Floats
    """Loss probability at the AP's buffer."""
    up: Floats
    """``Theta_u``, Eq. 17: segments per second of all uploads."""
    down: Floats
    """``Theta_d``, Eq. 18."""
    in_flight: Floats
    """Right side of Eq. 21: packets that the windows put into the AP."""


class Remedy(NamedTuple):
    """What section 5 recommends for a wanted ratio."""

    p_b: Floats
    """Eq. 24: what admission control refuses."""
    buffer: Floats
    """``B_r`` in packets, Eq. 21."""
    size_buffer: NDArray[np.bool_]
    """Whether to size the buffer (``B_r >= 6 N``) rather than to control admission."""
    attainable: NDArray[np.bool_]
    """Whether the ratio is reached."""


def _solve(
    name: str,
    last: ArrayLike,
    n_u: ArrayLike,
    n_d: ArrayLike,
    p_w: ArrayLike,
    window: ArrayLike,
    segment: ArrayLike,
    rate: ArrayLike,
    radio: Radio,
) -> Floats:
    return call(name, [n_u, n_d, p_w, window, segment, rate, last], radio=document(radio))


def solve(
    n_u: ArrayLike,
    n_d: ArrayLike,
    p_w: ArrayLike,
    p_b: ArrayLike,
    *,
    window: ArrayLike = 45.0,
    segment: ArrayLike = 1500.0,
    rate: ArrayLike = 11e6,
    radio: Radio = RADIO,
) -> Solution:
    """Return the fixed point at a given buffer loss: Eqs. 6, 9-14, and 23 where ``p_b > 0``.

    Parameters
    ----------
    n_u, n_d : array_like, shape (...)
        Stations that upload and that download, one connection each.
    p_w : array_like, shape (...)
        Probability that the channel spoils an attempt of a segment, 0 to 1.
    p_b : array_like, shape (...)
        Loss probability at the AP's buffer, 0 to 1.
    window : array_like, shape (...)
        ``W_max`` in packets, at least 1.
    segment : array_like, shape (...)
        IP length of a segment in bytes.
    rate : array_like, shape (...)
        PHY rate in bit/s.
    radio : mapping
        The ``[radio]`` table of a scenario.

    Returns
    -------
    Solution
        Fields of shape (...): probabilities, and segments per second (`up`, `down`).

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    S. R. Pokhrel, M. Panda, H. L. Vu, M. Mandjes, "TCP performance over Wi-Fi: joint impact of buffer and channel
    losses", IEEE Trans. Mobile Computing, 2016, doi 10.1109/TMC.2015.2456883: Eqs. 6, 9-14, 17, 18, 23.

    Examples
    --------
    >>> from fairair.models import pokhrel2016
    >>> s = pokhrel2016.solve(5, 5, 0.2, [0.0, 0.0684])
    >>> bool(s.down[1] < s.down[0])
    True
    """
    answer = _solve("pokhrel2016.solve", p_b, n_u, n_d, p_w, window, segment, rate, radio)
    return Solution(*(answer[..., k] for k in range(9)))


def with_buffer(
    n_u: ArrayLike,
    n_d: ArrayLike,
    p_w: ArrayLike,
    buffer: ArrayLike,
    *,
    window: ArrayLike = 45.0,
    segment: ArrayLike = 1500.0,
    rate: ArrayLike = 11e6,
    radio: Radio = RADIO,
) -> Solution:
    """Return the fixed point with a buffer: ``p_b`` solves Eq. 21.

    Parameters
    ----------
    n_u, n_d : array_like, shape (...)
        Stations that upload and that download, one connection each.
    p_w : array_like, shape (...)
        Probability that the channel spoils an attempt of a segment, 0 to 1.
    buffer : array_like, shape (...)
        The AP's buffer in packets, at least 1.
    window : array_like, shape (...)
        ``W_max`` in packets, at least 1.
    segment : array_like, shape (...)
        IP length of a segment in bytes.
    rate : array_like, shape (...)
        PHY rate in bit/s.
    radio : mapping
        The ``[radio]`` table of a scenario.

    Returns
    -------
    Solution
        Fields of shape (...): probabilities, and segments per second (`up`, `down`).

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    S. R. Pokhrel, M. Panda, H. L. Vu, M. Mandjes, "TCP performance over Wi-Fi: joint impact of buffer and channel
    losses", IEEE Trans. Mobile Computing, 2016, doi 10.1109/TMC.2015.2456883: Eq. 21.

    Examples
    --------
    >>> from fairair.models import pokhrel2016
    >>> float(pokhrel2016.with_buffer(5, 5, 0.2, 1000).p_b)
    0.0
    """
    answer = _solve("pokhrel2016.with_buffer", buffer, n_u, n_d, p_w, window, segment, rate, radio)
    return Solution(*(answer[..., k] for k in range(9)))


def remedy(
    n_u: ArrayLike,
    n_d: ArrayLike,
    p_w: ArrayLike,
    r: ArrayLike = 1.0,
    *,
    window: ArrayLike = 45.0,
    segment: ArrayLike = 1500.0,
    rate: ArrayLike = 11e6,
    radio: Radio = RADIO,
) -> Remedy:
    """Return ``p_b(r)`` and ``B_r`` for a ratio of downloads over uploads: Eq. 24 with Eqs. 21 and 23.

    Parameters
    ----------
    n_u, n_d : array_like, shape (...)
        Stations that upload and that download, one connection each.
    p_w : array_like, shape (...)
        Probability that the channel spoils an attempt of a segment, 0 to 1.
    r : array_like, shape (...), default 1
        Wanted goodput of a download over that of an upload, above 0.
    window : array_like, shape (...)
        ``W_max`` in packets, at least 1.
    segment : array_like, shape (...)
        IP length of a segment in bytes.
    rate : array_like, shape (...)
        PHY rate in bit/s.
    radio : mapping
        The ``[radio]`` table of a scenario.

    Returns
    -------
    Remedy
        Fields of shape (...): a probability, packets, and two flags.

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    S. R. Pokhrel, M. Panda, H. L. Vu, M. Mandjes, "TCP performance over Wi-Fi: joint impact of buffer and channel
    losses", IEEE Trans. Mobile Computing, 2016, doi 10.1109/TMC.2015.2456883: section 5, Eqs. 21, 23, 24.

    Examples
    --------
    >>> from fairair.models import pokhrel2016
    >>> bool(pokhrel2016.remedy(5, 5, 0.2).p_b < pokhrel2016.remedy(5, 5, 0.4).p_b)
    True
    """
    answer = _solve("pokhrel2016.remedy", r, n_u, n_d, p_w, window, segment, rate, radio)
    return Remedy(answer[..., 0], answer[..., 1], answer[..., 2] != 0.0, answer[..., 3] != 0.0)


def tabulated_buffer(n_u: ArrayLike, n_d: ArrayLike, p_b: ArrayLike) -> Floats:
    """Return what every row of Tables 4 and 5 satisfies: ``(N_u + N_d) (3/4) sqrt(8 / (3 p_b))`` packets.

    Parameters
    ----------
    n_u, n_d : array_like, shape (...)
        Stations that upload and that download.
    p_b : array_like, shape (...)
        Loss probability at the AP's buffer, above 0 to 1.

    Returns
    -------
    ndarray, shape (...)
        Packets.

    Raises
    ------
    FairAirError
        An argument outside its range; the message has its symbol, value and range, and the element of an array.

    References
    ----------
    S. R. Pokhrel, M. Panda, H. L. Vu, M. Mandjes, "TCP performance over Wi-Fi: joint impact of buffer and channel
    losses", IEEE Trans. Mobile Computing, 2016, doi 10.1109/TMC.2015.2456883: Tables 4 and 5.

    Examples
    --------
    >>> from fairair.models import pokhrel2016
    >>> pokhrel2016.tabulated_buffer(5, 5, [0.0684, 0.179]).round(1)
    array([46.8, 28.9])
    """
    return call("pokhrel2016.tabulated_buffer", [n_u, n_d, p_b])[..., 0]
