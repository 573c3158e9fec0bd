"""Models: published values, the shapes of NumPy, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import fairair
from fairair import FairAirError
from fairair.models import capacity, dcf, detti2011, ha2009, pftk, pokhrel2016, unified


def test_pftk_gives_the_published_rates() -> None:
    p = [1e-4, 1e-3, 1e-2, 0.05, 0.1]
    mbps = pftk.approximate_send_rate(np.array(p)[:, None], rtt=0.1, t0=0.4, b=[1, 2]) * 1460 * 8 / 1e6
    published = [[14.292, 10.106], [4.483, 3.170], [1.312, 0.928], [0.4305, 0.3044], [0.2067, 0.1462]]
    np.testing.assert_allclose(mbps, published, rtol=1e-3)


def test_pftk_full_form_is_the_papers_equation_32() -> None:
    p, b, rtt, t0 = 0.01, 2.0, 0.1, 0.4
    w = (2 + b) / (3 * b) + np.sqrt(8 * (1 - p) / (3 * b * p) + ((2 + b) / (3 * b)) ** 2)
    q = min(1.0, (1 - (1 - p) ** 3) * (1 + (1 - p) ** 3 * (1 - (1 - p) ** (w - 3))) / (1 - (1 - p) ** w))
    f = 1 + p + 2 * p**2 + 4 * p**3 + 8 * p**4 + 16 * p**5 + 32 * p**6
    rate = ((1 - p) / p + w + q / (1 - p)) / (rtt * (b / 2 * w + 1) + q * t0 * f / (1 - p))
    assert pftk.send_rate(p, rtt, t0, b) == pytest.approx(rate, rel=1e-9)


def test_detti2011_gives_the_figures_of_the_paper() -> None:
    n_up = np.zeros((6, 5))
    n_up[:, 0] = range(1, 7)
    fig5 = detti2011.solve(n_up, [0, 1, 1, 1, 1]).fairness_level(0)
    np.testing.assert_allclose(fig5, [3.21, 10.53, 12.38, 12.38, 12.38, 12.38], atol=0.01)
    fig6 = detti2011.solve(0, np.column_stack([range(1, 7)] + [[1] * 6] * 4)).fairness_level(0)
    np.testing.assert_allclose(fig6, range(1, 7), rtol=1e-6)
    fig9 = detti2011.solve(np.column_stack([range(1, 7)] + [[1] * 6] * 4), 0)
    np.testing.assert_allclose(fig9.fairness_level(0), [1, 2, 2.14, 2.14, 2.14, 2.14], atol=0.01)
    np.testing.assert_allclose(fig9.q[:, 0], [0, 0, 36, 78, 120, 162], atol=0.5)


def test_arguments_broadcast_as_in_numpy() -> None:
    solution = detti2011.solve(
        [[3, 0, 0]],
        [0, 1, 1],
        np.full((4, 1, 3), 42.0),
        buffer=np.array([[50.0, 75.0]]),
    )
    assert solution.p.shape == (4, 2)
    assert solution.q.shape == (4, 2, 3)
    one = detti2011.solve([3, 0, 0], [0, 1, 1], buffer=75.0)
    np.testing.assert_array_equal(solution.q[2, 1], one.q)
    assert ha2009.downloads([0.01, 0.02], 0.01, np.array([0.5, 0.7]), 100.0).shape == (2, 2)
    load = capacity.carry(np.ones((3, 2, 1)), [[1500], [40]], 11e6, count=[1, 5])
    assert load.mixes_per_s.shape == (3,)
    assert load.discard.shape == (3, 2, 1)
    answer = unified.solve([[1], [0]], [[1], [1]], buffer=[20.0, 100.0, 1000.0])
    assert answer.goodput.shape == (3, 2, 1)
    assert answer.p[0] > answer.p[-1]


def test_ha2009_is_fair_at_its_optimal_p() -> None:
    m, n = 4, np.arange(1, 11)
    p = ha2009.optimal_p(m, n)
    assert np.all((p > 0) & (p < 1))
    for uploads, fair in zip(n, p, strict=True):
        assert ha2009.ratio(m, int(uploads), fair) == pytest.approx(1.0, abs=0.01)


def test_pokhrel2016_tables_follow_their_formula() -> None:
    # Table 4, r = 1, N_u = N_d = 5.
    p_b, b_r = [0.178994, 0.285748, 0.411432], [28.80515, 22.73617, 18.81632]
    np.testing.assert_allclose(pokhrel2016.tabulated_buffer(5, 5, p_b), b_r, rtol=0.015)


def test_dcf_collides_as_bianchi_says() -> None:
    collision = dcf.solve(np.array([[2], [3], [4], [5], [6]]), radio={"phy": "802.11a"}).collision[:, 0]
    np.testing.assert_allclose(collision, [0.105, 0.178, 0.231, 0.272, 0.303], rtol=0.02)


def test_unified_is_the_engine_of_that_name() -> None:
    cell = fairair.Scenario.from_dict(
        {
            "name": "two",
            "run": {"duration": "120 s", "warmup": "20 s", "replicas": 10, "start_spread": "0 s"},
            "station": [{"name": "a", "flows": [{"direction": "up"}]}, {"name": "b", "flows": [{"direction": "down"}]}],
        }
    )
    result = fairair.run(cell, engine="model")
    answer = unified.solve([[1], [0]], [[1], [1]], observed=1000.0)
    np.testing.assert_allclose(result.flows["goodput_bps"], answer.goodput[:, 0] * 1460 * 8, rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pftk.send_rate([0.1, 2.0], 0.1, 0.4), "element 1: p = 2 is outside its range, 0 to 1"),
        (lambda: pftk.send_rate(0.1, 0.0, 0.4), "RTT = 0"),
        (lambda: pftk.send_rate(float("nan"), 0.1, 0.4), "p = NaN"),
        (lambda: pftk.send_rate([0.1, 0.2], [0.1, 0.2, 0.3], 0.4), "do not fit together"),
        (lambda: pftk.send_rate([], 0.1, 0.4), "empty"),
        (lambda: pftk.send_rate("x", 0.1, 0.4), "no array of numbers"),
        (lambda: detti2011.solve([0, 0], [0, 0]), "no flow"),
        (lambda: detti2011.solve([1.5, 0], [0, 1]), "N_up = 1.5"),
        (lambda: ha2009.optimal_p(0, 1), "no flow"),
        (lambda: pokhrel2016.solve(5, 5, 1.5, 0.1), "p_w = 1.5"),
        (lambda: capacity.carry([[0]], [[1500]], 11e6), "flow|packet"),
        (lambda: dcf.solve([1], radio={"phy": "802.11z"}), "802.11z"),
    ],
)
def test_what_has_no_meaning_is_refused(call: object, words: str) -> None:
    assert callable(call)
    with pytest.raises(FairAirError, match=words):
        call()
