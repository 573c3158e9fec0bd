"""The tables of a scenario as types: editors complete keys and words, mypy and pyright check them.

``docs/scenario.md`` has the meaning, unit, range and default of every key. A table is called with its keys, or written as
a dictionary, which it is. What it holds is checked by the reader of scenario files, with the path of a mistake
(``station.sta1.flows.0.count``).

>>> import fairair
>>> from fairair.tables import Ap, Document, DropTail, Flow, Run, Station
>>> cafe = fairair.Scenario(Document(
...     name="cafe",
...     run=Run(duration="20 s", replicas=3),
...     ap=Ap(queue=DropTail(kind="droptail", limit=75)),
...     station=[
...         Station(name="uploader", flows=[Flow(direction="up", count=3)]),
...         Station(name="guest", count=4, flows=[Flow(direction="down")]),
...     ],
... ))
>>> cafe
Scenario('cafe': 5 stations, 7 flows, 20 s, 3 replicas)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

from fairair._queues import (
    AdaptiveBuffer,
    Admission,
    AirtimeFq,
    DropTail,
    DualQueue,
    FairQueue,
    FqCodel,
    Las,
    Mac80211,
    Queue,
    SharedFifo,
    Tlas,
    TlasSaf,
)

if TYPE_CHECKING:
    from typing_extensions import Required

__all__ = [
    "AccessCategory",
    "AccessPoint",
    "AdaptiveBuffer",
    "Admission",
    "Aggregation",
    "AirtimeFq",
    "Ap",
    "Capacity",
    "Document",
    "DropTail",
    "DualQueue",
    "Edca",
    "EdcaSide",
    "Enforce",
    "Event",
    "FairQueue",
    "Flow",
    "FqCodel",
    "Las",
    "Mac80211",
    "Queue",
    "Radio",
    "Run",
    "SharedFifo",
    "Station",
    "Tcp",
    "Tlas",
    "TlasSaf",
    "UplinkLimiter",
    "WindowCap",
    "Wire",
]

Phy: TypeAlias = Literal["802.11b", "802.11a", "802.11g", "802.11n", "802.11ac", "802.11ax"]
Width: TypeAlias = Literal["20 MHz", "40 MHz", "80 MHz", "160 MHz"]
Category: TypeAlias = Literal["vo", "vi", "be", "bk"]


class Run(TypedDict, total=False):
    """``[run]``: how long, how often, with which seed. Times are strings with their unit (``"20 s"``)."""

    duration: Required[str]
    warmup: str
    replicas: int
    seed: int
    start_spread: str
    sample_interval: str
    preset: Literal["standard", "ns2", "ns3"]


class AccessCategory(TypedDict, total=False):
    """How a category contends: slots, windows in slots, TXOP limit as a time."""

    aifsn: int
    cw_min: int
    cw_max: int
    txop: str


class EdcaSide(TypedDict, total=False):
    """Categories of the AP, or of the stations."""

    vo: AccessCategory
    vi: AccessCategory
    be: AccessCategory
    bk: AccessCategory


class Edca(TypedDict, total=False):
    """``[radio.edca]``."""

    preset: Literal["hostapd", "openwrt", "802.11-2020", "ns3"]
    ap: EdcaSide
    stations: EdcaSide


class Aggregation(TypedDict, total=False):
    """Limits of an A-MPDU: bytes, BlockAck window and MPDUs as numbers, duration as a time."""

    max_bytes: int
    window: int
    max_mpdus: int
    max_duration: str


class Radio(TypedDict, total=False):
    """``[radio]``. Rates are strings with their unit (``"11 Mbit/s"``)."""

    phy: Phy
    rate: str
    basic_rate: str
    protection_rate: str
    preamble: str
    retry_limit: int | Literal["none"]
    eifs: bool
    cw_min: int
    cw_max: int
    frame_error: float
    bit_error_rate: float
    band: Literal["2.4 GHz", "5 GHz"]
    mcs: int
    streams: int
    width: Width
    guard_interval: str
    aggregation: Aggregation | Literal["off"]
    amsdu: str
    bar: bool
    rts: bool | str
    txop: str
    lifetime: str
    edca: Edca


class WindowCap(TypedDict, total=False):
    """A rule that lowers the receive window in passing segments."""

    kind: Required[Literal["lossless", "b-over-n", "tfbr", "tfbr-exact"]]
    buffer: int
    flow_timeout: str
    delay: str
    throughput: str


class UplinkLimiter(TypedDict, total=False):
    """What slows the way from the AP to the wire."""

    capacity: Required[str]
    share: Literal["half", "flows"]
    burst: str
    flow_timeout: str


class Ap(TypedDict, total=False):
    """``[ap]``."""

    queue: Queue
    uplink_queue: int
    window_cap: WindowCap | Literal["lossless", "b-over-n", "tfbr", "tfbr-exact"]
    uplink_limiter: UplinkLimiter


class AccessPoint(TypedDict, total=False):
    """``[[access_point]]``: a further access point on the channel."""

    name: Required[str]
    queue: Queue
    uplink_queue: int


class Wire(TypedDict, total=False):
    """``[wire]``: rate, one-way delay, queue in packets."""

    rate: str
    delay: str
    queue: int


class Tcp(TypedDict, total=False):
    """``[tcp]``, and ``tcp`` of a flow. Windows in segments, times as strings."""

    profile: Literal["rfc", "linux"]
    variant: Literal["reno", "newreno", "cubic", "bbr"]
    mss: str
    window: int
    initial_cwnd: int
    initial_ssthresh: int
    sack: bool
    ecn: bool
    limited_transmit: bool
    delayed_ack: bool
    delayed_ack_timeout: str
    initial_rto: str
    min_rto: str
    max_rto: str
    granularity: str


class Flow(TypedDict, total=False):
    """A flow, or `count` of them."""

    direction: Required[Literal["up", "down"]]
    kind: Literal["tcp", "files", "quic", "udp"]
    count: int
    start: str
    stop: str
    wire: Wire
    category: Category
    tcp: Tcp
    size: str
    files: int
    burst: str
    idle: str
    payload: str
    variant: Literal["newreno", "cubic", "bbr"]
    rate: str


class Station(TypedDict, total=False):
    """``[[station]]``: a station, or `count` of them."""

    name: Required[str]
    count: int
    ap: str
    phy: Phy
    rate: str
    mcs: int
    streams: int
    width: Width
    guard_interval: str
    beta: float
    frame_error: float
    bit_error_rate: float
    uplink_queue: int | Mac80211
    weight: float
    cap: str
    flows: list[Flow]


class Capacity(TypedDict, total=False):
    """C of the box: rates and times as strings."""

    kind: Required[Literal["fixed", "wce", "adaptive", "air"]]
    rate: str
    share: float
    interval: str
    threshold: str
    high: str
    low: str
    step: str
    back_off: float
    speed_up: float
    base_samples: int
    target: str
    rise: float
    timeout: str
    min: str
    max: str


class Enforce(TypedDict, total=False):
    """``[enforce]``: the box between gateway and AP."""

    policy: Literal["per-station", "airtime", "airtime-phy", "per-direction", "per-flow"]
    pool: Literal["channel", "ap"]
    capacity: str | Capacity
    queue: int | Literal["auto"]
    leaf: Literal["fifo", "auto"]
    quantum: str
    batch: str
    udp: Literal["bypass-uplink", "shape", "auto"]


class Event(TypedDict, total=False):
    """``[[event]]``: what changes during the run."""

    at: Required[str]
    kind: Required[Literal["rate", "silence", "enforce", "deaf", "sleep"]]
    station: str
    rate: str
    mcs: int
    streams: int
    width: Width
    guard_interval: str
    lasts: str
    on: bool
    shortest: str
    longest: str


class Document(TypedDict, total=False):
    """A whole scenario."""

    name: Required[str]
    run: Required[Run]
    radio: Radio
    ap: Ap
    access_point: list[AccessPoint]
    wire: Wire
    tcp: Tcp
    enforce: Enforce
    station: Required[list[Station]]
    event: list[Event]
