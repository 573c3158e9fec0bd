"""Measures: numbers by name out of a result (docs/results.md has where they stand)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fairair._errors import FairAirError
from fairair.catalogue import quantity
from fairair.gallery.curve import Curve

__all__ = ["TRACES", "measure", "trace"]

Report = dict[str, Any]
Pair = tuple[float, float]
NOTHING: Pair = (math.nan, math.nan)


def _pair(aggregate: Any, scale: float = 1.0) -> Pair:
    mean, ci = aggregate["mean"], aggregate["ci95"]
    return (math.nan if mean is None else mean * scale, math.nan if ci is None else ci * scale)


def _named(name: str, scale: float = 1.0) -> Callable[[Report, str], Pair]:
    """Return how a quantity of the catalogue is had from a report, in `scale` of its unit."""
    path = quantity(name).key.split(".")

    def value(report: Report, _: str) -> Pair:
        at: Any = report
        for key in path:
            at = at[key]
        return _pair(at, scale)

    return value


def _down_up(report: Report, _: str) -> Pair:
    up, down = (report["directions"][name]["goodput_bps"]["mean"] for name in ("up", "down"))
    flows = [report["directions"][name]["flows"] for name in ("up", "down")]
    if not up or down is None:
        return NOTHING
    ratio = down / flows[1] / (up / flows[0])
    mean, ci = _pair(report["indices"]["up_down_ratio"])
    return ratio, ci / mean * ratio if mean else math.nan


def _station(report: Report, name: str) -> Report:
    for station in report["stations"]:
        if station["name"] == name:
            return dict(station)
    raise FairAirError("measure", f"there is no station {name!r}", "name one of the scenario's")


def _quotient(report: Report, names: str) -> Pair:
    """Goodput of one station or group over another's, ``a/b``; the interval by the delta method, as if independent."""
    pairs = [_station_or_group(report, name) for name in names.split("/")]
    (a, a_ci), (b, b_ci) = pairs
    if not a or not b:
        return (math.nan if not b else 0.0), math.nan
    return a / b, a / b * math.hypot(a_ci / a, b_ci / b)


def _group(report: Report, name: str) -> list[Report]:
    found = [station for station in report["stations"] if name in (station["name"], station["group"])]
    if not found:
        raise FairAirError("measure", f"there is no station {name!r}", "name one of the scenario's")
    return found


def _uplink_ms(report: Report, name: str) -> Pair:
    """Mean wait at the stations of a group, each counted alike."""
    waits = [station["uplink_queue_mean_sojourn_s"]["mean"] for station in _group(report, name)]
    known = [wait for wait in waits if wait is not None]
    return (1e3 * sum(known) / len(known) if known else math.nan), math.nan


def _station_or_group(report: Report, name: str) -> Pair:
    """Goodput of a station, or of all stations of a group; the interval of a group as if they were independent."""
    pairs = [_pair(station["goodput_bps"]) for station in _group(report, name)]
    return sum(p[0] for p in pairs), math.hypot(*(p[1] for p in pairs))


def _sum(stations: list[Report], key: str) -> float:
    return float(sum(station["mac"][key]["mean"] or 0.0 for station in stations))


def _fail(report: Report, name: str) -> Pair:
    """Return the failure probability of an attempt at the stations of a group: collisions and channel."""
    stations = _group(report, name)
    if not _sum(stations, "attempts"):
        return NOTHING
    collided = sum(s["mac"]["collision_probability"]["mean"] * s["mac"]["attempts"]["mean"] for s in stations)
    return (collided + _sum(stations, "frame_errors")) / _sum(stations, "attempts"), math.nan


def _fail_ap(report: Report, _: str) -> Pair:
    """Return that of the AP's segments: its collisions are counted over all frames, errors hit segments alone."""
    collided = report["mac"]["ap"]["collision_probability"]["mean"]
    error = report["scenario"]["stations"][0]["frame_error"]
    return collided + (1.0 - collided) * error, math.nan


def _discard(report: Report, name: str) -> Pair:
    stations = _group(report, name)
    lost = _sum(stations, "discards")
    return lost / (lost + _sum(stations, "delivered")), math.nan


def _discard_ap(report: Report, _: str) -> Pair:
    """Discards over segments served; an ACK of the AP is next to never given up."""
    lost = report["mac"]["ap"]["discards"]["mean"]
    segments = report["directions"]["down"]["goodput_bps"]["mean"] * report["measured_s"] / (8 * 1460)
    return lost / (lost + segments), math.nan


_SCALARS: dict[str, Callable[[Report, str], Pair]] = {
    "level": _named("fairness_level"),
    "up_down": _named("up_down_ratio"),
    "down_up": _down_up,
    "jain": _named("jain_flows"),
    "jain_stations": _named("jain_stations"),
    "total_kbps": _named("goodput_bps", 1e-3),
    "total_mbps": _named("goodput_bps", 1e-6),
    "up_kbps": _named("flow_goodput_up_bps", 1e-3),
    "down_kbps": _named("flow_goodput_down_bps", 1e-3),
    "up_mbps": _named("goodput_up_bps", 1e-6),
    "down_mbps": _named("goodput_down_bps", 1e-6),
    "up_spread": _named("sigma_over_mean_up"),
    "down_spread": _named("sigma_over_mean_down"),
    "ap_queue": _named("ap_queue_packets"),
    "ap_p95_ms": _named("ap_queue_p95_sojourn_s", 1e3),
    "ap_p99_ms": _named("ap_queue_p99_sojourn_s", 1e3),
    "ap_loss_ack": _named("ap_drop_probability_ack"),
    "uplink_ms": _uplink_ms,
    "file_s": lambda report, way: _pair(report["directions"][way]["transfers"]["mean_s"]),
    "station_queue": lambda report, name: _pair(_station(report, name)["uplink_queue_mean_packets"]),
    "station_mbps": lambda report, name: _pair(_station(report, name)["goodput_bps"], 1e-6),
    "stations_ratio": _quotient,
    "fail": _fail,
    "fail_ap": _fail_ap,
    "discard": _discard,
    "discard_ap": _discard_ap,
}


def measure(name: str, report: Report) -> Pair:
    """Return a measure and its 95 % half-width, in the unit of its name; NaN where it does not exist.

    Raises
    ------
    FairAirError
        There is no such measure.
    """
    head, _, tail = name.partition(":")
    if head not in _SCALARS:
        known = ", ".join([*_SCALARS, *TRACES])
        raise FairAirError("measure", f"there is no measure {name!r}", f"use one of: {known}")
    return _SCALARS[head](report, tail)


def _flows(report: Report, direction: str) -> Curve:
    pairs = [_pair(f["goodput_bps"], 1e-3) for f in report["flows"] if f["direction"] == direction]
    labels = tuple(float(k + 1) for k in range(len(pairs)))
    return Curve.of(labels, [p[0] for p in pairs], [p[1] for p in pairs], report["replicas"])


def _series(report: Report, key: str) -> Curve:
    series = report["series"]
    if series is None:
        raise FairAirError("measure", "the scenario takes no samples", "set run.sample_interval")
    head, _, flow = key.partition(":")
    values = series["ap_queue_packets"] if head == "ap_queue" else series["cwnd_segments"][int(flow)]
    kept = [(float(at), math.nan if v is None else float(v)) for at, v in zip(series["at_s"], values, strict=True)]
    return Curve.of(tuple(at for at, _ in kept), [v for _, v in kept], n=1)


def _capacity(report: Report, _: str) -> Curve:
    trace = report["enforce"]["trace"]
    end = float(report["measured_s"])
    # Held between changes, and read each half second, so that means over times are means over time.
    at = np.asarray(trace["at_s"], dtype=np.float64)
    held = np.asarray(trace["capacity_bps"], dtype=np.float64) * 1e-6
    times = np.arange(0.0, end, 0.5)
    index = np.clip(np.searchsorted(at, times, side="right") - 1, 0, len(at) - 1)
    return Curve.of(tuple(times.tolist()), held[index], n=1)


TRACES: dict[str, Callable[[Report, str], Curve]] = {"flow_kbps": _flows, "trace": _series, "capacity": _capacity}


def trace(name: str, report: Report) -> Curve | None:
    """Return a measure that is a whole curve: flows by number, or samples over time; None for other names."""
    head, _, tail = name.partition(":")
    return TRACES[head](report, tail) if head in TRACES else None
