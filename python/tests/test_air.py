"""The air: every PPDU of a part of a run, and its picture."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import PolyCollection

import fairair
from fairair import Air, FairAirError, Scenario, plot


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    mpl.use("agg")
    yield
    plt.close("all")


def test_the_air_carries_the_goodput_of_the_result(cell: Scenario) -> None:
    seen = fairair.air(cell, 100.0)
    assert (seen.from_s, seen.to_s) == (2.0, 12.0)
    assert seen.nodes == ("AP", "sta1", "other-1", "other-2", "other-3", "other-4")
    columns = seen.columns
    # What arrived of the uploads, 40 bytes of headers a segment off, against the goodput that the simulator counts.
    arrived = (columns["sender"] == 1) & (columns["kind"] == "data") & (columns["lost"] == 0) & ~columns["collided"]
    payload = (columns["ip_bytes"] - 40 * columns["mpdus"])[arrived].sum()
    said = fairair.run(cell, replicas=1).stations.loc["sta1", "goodput_up_bps"]
    assert 8 * payload / 10.0 == pytest.approx(said, rel=0.01)


def test_only_collisions_overlap(cell: Scenario) -> None:
    seen = fairair.air(cell, 1.0)
    at, whole = seen.columns["at_s"], ~seen.columns["collided"]
    assert len(at) > 500
    assert (np.diff(at) >= 0).all()
    ends = at + seen.columns["duration_s"]
    assert (at[1:] - ends[:-1] > -1e-9)[whole[1:] & whole[:-1]].all()
    assert seen.columns["collided"].any()
    shares = seen.shares()
    assert list(shares) == list(seen.nodes)
    # Without answers and idle slots less than all of the time; 802.11b at 11 Mbit/s has most of it.
    taken = np.sum(seen.columns["duration_s"][(seen.columns["mpdus"] > 0) & whole])
    assert 0.5 < taken < sum(shares.values()) < 1.2


def test_a_part_is_a_part_of_the_whole(cell: Scenario) -> None:
    whole, part = fairair.air(cell, 0.5, from_s=3.0), fairair.air(cell, 0.1, from_s=3.2)
    inside = (whole.columns["at_s"] >= 3.2) & (whole.columns["at_s"] < 3.2 + 0.1)
    assert inside.sum() > 50
    for name, column in part.columns.items():
        assert np.array_equal(column, whole.columns[name][inside]), name
    # Before the end of the warm-up; the first flow starts after 0.3 s.
    early = fairair.air(cell, 0.5, from_s=0.0)
    assert early.to_s == 0.5
    assert 0.3 < early.columns["at_s"].min() < early.columns["at_s"].max() < 0.5
    nothing = fairair.air(cell, 0.1, from_s=0.0)
    assert nothing.table.empty
    assert set(nothing.shares().values()) == {0.0}
    assert not any(collection.get_paths() for collection in plot.air(nothing).collections)
    boxed = fairair.air(cell, 0.1, from_s=3.2, remedy="vsb")
    assert not np.array_equal(boxed.columns["at_s"], part.columns["at_s"])


def test_its_table_names_nodes_and_units(cell: Scenario) -> None:
    table = fairair.air(cell, 0.2).table
    assert set(table["sender"]) > {"AP", "sta1"}
    assert set(table["kind"]) == {"data", "TCP ACK", "ACK"}
    assert table.attrs["units"]["rate_bps"] == "bit/s"
    assert set(table.loc[table["kind"] == "data", "rate_bps"]) == {11e6}


def test_a_part_without_end_ends_with_the_run(cell: Scenario) -> None:
    assert fairair.air(cell, float("inf"), from_s=11.5).to_s == 12.0


def test_what_is_no_part_of_the_run_is_refused(cell: Scenario) -> None:
    for from_s in (-1.0, 12.0):
        with pytest.raises(FairAirError, match="no time of a run of 12 s"):
            fairair.air(cell, from_s=from_s)
    with pytest.raises(FairAirError, match="from_s: nan is no number"):
        fairair.air(cell, from_s=float("nan"))
    for seconds in (0.0, -1.0):
        with pytest.raises(FairAirError, match="not above 0"):
            fairair.air(cell, seconds)
    with pytest.raises(FairAirError, match="use one of"):
        fairair.air(cell, remedy="magic")


def drawn(seen: Air) -> dict[str, list[PolyCollection]]:
    """Return the rectangles of a plot by their names."""
    found: dict[str, list[PolyCollection]] = {}
    for collection in plot.air(seen).collections:
        assert isinstance(collection, PolyCollection)
        label = str(collection.get_label())
        # Those without a name of their own are TCP ACKs.
        found.setdefault("TCP ACK" if label.startswith("_") else label, []).append(collection)
    return found


def test_every_ppdu_is_drawn_once_in_the_lane_of_its_sender(cell: Scenario) -> None:
    seen = fairair.air(cell, 0.5)
    columns = seen.columns
    boxes = drawn(seen)
    assert set(boxes) <= {
        "ACK, BlockAck",
        "RTS, CTS and others",
        "11 Mbit/s",
        "TCP ACK",
        "collided",
        "lost",
        "sent again",
    }
    whole = ~columns["collided"]
    for label, those in {
        "ACK, BlockAck": whole & (columns["kind"] == "ACK"),
        "11 Mbit/s": whole & (columns["kind"] == "data"),
        "TCP ACK": whole & (columns["kind"] == "TCP ACK"),
        "collided": ~whole,
    }.items():
        paths = [path.vertices for collection in boxes[label] for path in collection.get_paths()]
        assert len(paths) == those.sum() > 0, label
        for path, at, length, lane in zip(
            paths, columns["at_s"][those], columns["duration_s"][those], columns["sender"][those], strict=True
        ):
            corners = np.asarray(path)
            assert corners[:, 0].min() == at
            assert corners[:, 0].max() == pytest.approx(at + length, abs=1e-12)
            assert lane - 0.5 < corners[:, 1].min() < corners[:, 1].max() < lane + 0.5


def test_the_picture_says_who_sends_and_what_colours_mean(cell: Scenario) -> None:
    seen = fairair.air(cell, 0.2)
    ax = plot.air(seen)
    assert ax.get_xlabel() == "time, s"
    assert ax.get_xlim() == (seen.from_s, seen.to_s)
    shares = seen.shares()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [
        f"{node}  {100 * shares[node]:.1f} %" for node in seen.nodes
    ]
    legend = ax.get_legend()
    assert legend is not None
    assert {"TCP ACKs only", "ACK, BlockAck", "11 Mbit/s"} <= {text.get_text() for text in legend.get_texts()}


def test_larger_aggregates_are_higher() -> None:
    today = Scenario(
        {
            "name": "today",
            "run": {"duration": "3 s", "warmup": "1 s"},
            "radio": {"phy": "802.11ac"},
            "station": [{"name": "a", "flows": [{"direction": "up"}]}, {"name": "b", "flows": [{"direction": "down"}]}],
        }
    )
    seen = fairair.air(today, 0.5)
    sends = seen.columns["mpdus"] > 0
    assert seen.columns["mpdus"].max() > 4
    assert "BlockAck" in seen.columns["kind"]
    height: dict[float, int] = {}
    for label, collections in drawn(seen).items():
        if label.endswith("Mbit/s") or label == "TCP ACK":
            for collection in collections:
                for path in collection.get_paths():
                    corners = np.asarray(path.vertices)
                    (row,) = np.flatnonzero(sends & (seen.columns["at_s"] == corners[:, 0].min()))
                    height[round(float(np.ptp(corners[:, 1])), 6)] = int(seen.columns["mpdus"][row])
    sizes = [height[key] for key in sorted(height)]
    assert len(sizes) > 2
    assert sizes == sorted(set(sizes))
