"""The queues of an access point as types; `fairair.tables` has them with all other tables of a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from typing_extensions import Required

__all__ = [
    "AdaptiveBuffer",
    "Admission",
    "AirtimeFq",
    "DropTail",
    "DualQueue",
    "FairQueue",
    "FqCodel",
    "Las",
    "Mac80211",
    "Queue",
    "SharedFifo",
    "Tlas",
    "TlasSaf",
]


class DropTail(TypedDict, total=False):
    """First in, first out; `limit` in packets."""

    kind: Required[Literal["droptail"]]
    limit: int


class Las(TypedDict, total=False):
    """Least attained service first (khademi2010)."""

    kind: Required[Literal["las"]]
    limit: int


class Tlas(TypedDict, total=False):
    """LAS up to a threshold in packets (khademi2010)."""

    kind: Required[Literal["tlas"]]
    limit: int
    threshold: int
    victim: Literal["below", "last"]


class TlasSaf(TypedDict, total=False):
    """TLAS with one ACK a flow above the threshold (khademi2010)."""

    kind: Required[Literal["tlas-saf"]]
    limit: int
    threshold: int
    cwnd: Literal["revealed", "estimated"]
    victim: Literal["below", "last"]


class DualQueue(TypedDict, total=False):
    """Data and ACKs apart (ha2009); sizes in packets."""

    kind: Required[Literal["dual-queue"]]
    data: int
    ack: int
    other: int
    p: float | Literal["optimal", "modified", "auto"]
    window: int
    flow_timeout: str


class FairQueue(TypedDict, total=False):
    """Flows or stations take turns."""

    kind: Required[Literal["per-flow-fq", "per-station-fq"]]
    limit: int
    charge: Literal["acknowledged", "packet"]


class FqCodel(TypedDict, total=False):
    """RFC 8290; `limit` in packets, `quantum` in bytes."""

    kind: Required[Literal["fq-codel"]]
    limit: int
    quantum: int
    target: str
    interval: str


class AirtimeFq(TypedDict, total=False):
    """Stations take turns by airtime; `quantum` and `max_debt` are times."""

    kind: Required[Literal["airtime-fq"]]
    limit: int
    quantum: str
    max_debt: str


class Admission(TypedDict, total=False):
    """Arrivals are refused with probability `p_b` (pokhrel2016 Eq. 24)."""

    kind: Required[Literal["admission"]]
    limit: int
    p_b: float
    applies_to: Literal["all", "data"]


class AdaptiveBuffer(TypedDict, total=False):
    """A FIFO whose size follows the service rate (khademi2010 Eqs. 7-8)."""

    kind: Required[Literal["adaptive-buffer"]]
    target: str
    a: float
    alpha: float
    b_max: int


class SharedFifo(TypedDict, total=False):
    """One pool for all stations, as in ns-3 and old APs."""

    kind: Required[Literal["shared-fifo"]]
    limit: int
    count_unacknowledged: bool


class Mac80211(TypedDict, total=False):
    """Linux' queues."""

    kind: Required[Literal["mac80211"]]
    limit: int
    memory: str
    flows: int
    quantum: int
    codel: bool
    target: str
    interval: str
    airtime: bool
    rx_airtime: bool
    aql: bool


Queue: TypeAlias = (
    DropTail
    | Las
    | Tlas
    | TlasSaf
    | DualQueue
    | FairQueue
    | FqCodel
    | AirtimeFq
    | Admission
    | AdaptiveBuffer
    | SharedFifo
    | Mac80211
)
"""A queue of the AP; `kind` says which."""
