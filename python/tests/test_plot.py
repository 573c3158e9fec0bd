"""Plots: what they show, with units on the axes; what they refuse."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from conftest import REPOSITORY, number
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

import fairair
from fairair import FairAirError, Scenario, plot
from fairair.demo import write_page


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    mpl.use("agg")
    yield
    plt.close("all")


def test_goodput_has_a_bar_a_station_and_direction(cell: Scenario) -> None:
    ax = plot.goodput(fairair.run(cell))
    assert ax.get_xlabel() == "goodput, Mbit/s"
    assert [label.get_text() for label in ax.get_yticklabels()] == ["sta1", *(f"other-{n}" for n in range(1, 5))]
    assert len(ax.patches) == 10


def legend_of(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def test_quantities_are_numbers_on_an_axis_and_equal_keys_have_whole_paths(cell: Scenario) -> None:
    counts = {f"station.{name}.flows.0.count": [1, 2] for name in ("sta1", "other")}
    data = fairair.sweep(cell, {"radio.rate": ["2 Mbit/s", "11 Mbit/s"], **counts}, engine="model")
    ax = plot.against(data, "radio.rate", "jain_stations")
    assert ax.get_xlabel() == "radio.rate, Mbit/s"
    assert np.asarray(ax.lines[0].get_xdata()).tolist() == [2.0, 11.0]
    assert ax.get_ylabel() == "jain stations"
    assert legend_of(ax)[1] == "station.sta1.flows.0.count = 1, station.other.flows.0.count = 2"
    mixed = fairair.sweep(cell, {"radio.rate": ["5500 kbit/s", "11 Mbit/s"]}, engine="model")
    assert plot.against(mixed, "radio.rate", "ap_delay_s").get_ylabel() == "ap delay, s"


def test_a_sweep_is_drawn_against_a_parameter(cell: Scenario) -> None:
    short = cell.with_({"run.duration": "3 s", "run.warmup": "1 s"})
    data = fairair.sweep(short, {"ap.queue.limit": [20, 75], "station.sta1.flows.0.count": [1, 3]})
    ax = plot.against(data, "ap.queue.limit", "goodput_bps")
    assert ax.get_ylabel() == "goodput, Mbit/s"
    assert ax.get_xlabel() == "ap.queue.limit, packets"
    assert ax.lines[0].get_ydata() == pytest.approx(data["goodput_bps"].values[:, 0] / 1e6)
    assert legend_of(ax) == ["count = 1", "count = 3"]
    one = fairair.sweep(short, {"ap.queue.kind": ["droptail", "las"]})
    ax = plot.against(one, "ap.queue.kind", "jain_flows", log=True)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["droptail", "las"]
    assert legend_of(ax) == ["cell"]
    with pytest.raises(FairAirError, match="no 'godput_bps'\n  help: use one of: goodput_bps, packets"):
        plot.against(data, "ap.queue.limit", "godput_bps")


def test_samples_and_files_are_drawn_or_asked_for(cell: Scenario) -> None:
    sampled = fairair.run(cell.with_({"run.sample_interval": "100 ms"}), replicas=1)
    assert plot.queue(sampled).get_ylabel() == "AP queue, packets"
    assert len(plot.cwnd(sampled, [0, 3]).lines) == 2
    with pytest.raises(FairAirError, match="sample_interval"):
        plot.queue(fairair.run(cell, replicas=1))
    web = fairair.run(Scenario.load(REPOSITORY / "scenarios" / "web-and-bulk.toml"), replicas=1)
    ax = plot.transfer_cdf({"web": web})
    assert ax.get_xlabel() == "transfer time, s"
    with pytest.raises(FairAirError, match="no file"):
        plot.transfer_cdf({"bulk": sampled})


def test_remedies_have_a_row_each(cell: Scenario) -> None:
    ax = plot.remedies(fairair.compare(cell, ["vsb", "las"]))
    assert {label.get_text() for label in ax.get_yticklabels()} == {"none", "vsb", "las"}


def test_a_front_has_a_point_a_candidate_and_a_ring() -> None:
    two = Scenario(
        {
            "name": "two",
            "run": {"duration": "5 s", "replicas": 2},
            "station": [{"name": "a", "flows": [{"direction": "up"}]}, {"name": "b", "flows": [{"direction": "down"}]}],
        }
    )
    plan = fairair.plan(two, "a >= 100 kbit/s", deploy="ap")
    best = plan.recommended
    assert best is not None
    # In a terminal and in a notebook it is a table, not the whole of what it holds.
    assert repr(plan).startswith("<fairair.Plan 'two': a >= 100 kbit/s")
    assert len(repr(plan).splitlines()) == len(plan.candidates) + 2
    assert plan._repr_html_().count("<tr>") == len(plan.candidates) + 1
    points, ring = plot.front(plan).collections
    expected = [(point.goodput_bps / 1e6, max(1.0, 1e3 * point.delay_s)) for point in plan.front]
    assert np.allclose(points.get_offsets(), expected)
    assert np.allclose(np.asarray(points.get_array()), [point.fairness for point in plan.front])
    place = (number(best.result.summary, "goodput_bps", "mean") / 1e6, max(1.0, 1e3 * best.delay_s))
    assert np.allclose(ring.get_offsets(), [place])
    # What is not recommended has no ring.
    ax = plot.front(dataclasses.replace(plan, met=False))
    assert len(ax.collections) == 1
    assert ax.get_ylabel() == "delay: p95 at the AP + mean in the box, ms"
    assert {text.get_text() for text in ax.texts} == {point.family for point in plan.front}


def test_a_plot_is_saved_or_says_why_not(cell: Scenario, tmp_path: Path) -> None:
    ax = plot.goodput(fairair.run(cell, replicas=1))
    written = plot.save(ax, tmp_path / "new" / "folder" / "goodput.svg")
    assert written.read_text().startswith("<?xml")
    with pytest.raises(FairAirError, match="cannot write the plot"):
        plot.save(ax, tmp_path / "goodput.docx")
    (tmp_path / "file").touch()
    with pytest.raises(FairAirError, match="cannot write the plot"):
        plot.save(ax, tmp_path / "file" / "goodput.svg")


def test_the_style_leaves_the_users_own_alone(cell: Scenario) -> None:
    before = dict(mpl.rcParams)
    plot.goodput(fairair.run(cell, replicas=1))
    assert dict(mpl.rcParams) == before


def test_the_demonstration_says_who_gets_the_air(tmp_path: Path, cell: Scenario) -> None:
    scenario = tmp_path / "cell.toml"
    scenario.write_text(cell.to_toml())
    page = write_page(scenario, tmp_path / "demo").read_text()
    assert "times</b> the mean of the others" in page
    assert "vsb" in page
    assert "What the planner recommends" in page
    assert (tmp_path / "demo" / "remedies.svg").exists()
    with pytest.raises(FairAirError, match="holds something else"):
        write_page(scenario, tmp_path)
