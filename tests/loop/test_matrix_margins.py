"""What the margins of matrix loops are found by, each part against what it is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.loop.crossovers import Crossings
from pi2_fluid.loop.matrix import margins
from pi2_fluid.loop.matrix.counting import longest_delay
from pi2_fluid.loop.matrix.margins import smallest_singular_value
from pi2_fluid.loop.matrix.sampled import sampled_matrix


def of_curve(curve: Any, w: Any, *, fades: bool) -> float:
    """The smallest singular value of 1 + L, of one entry, whose crossovers end with w."""

    def response(at: Any) -> Any:
        return np.asarray(curve(np.asarray(at)), complex)[:, None, None]

    return smallest_singular_value(response, Crossings((), (), w, response(w)[:, 0]), fades=fades)


def test_sigma_min_is_looked_for_until_nothing_smaller_can_follow() -> None:
    """|L| < 1 from 10 rad/s on, where L is positive; at 30 it is -0.6."""

    def curve(w: Any) -> Any:
        hump = 0.8 * np.exp(-((w - 15.0) ** 2) / 8.0) - 0.6 * np.exp(-((w - 30.0) ** 2) / 8.0)
        return hump + 0.1 / w

    found = of_curve(curve, np.linspace(1.0, 10.0, 40), fades=True)
    assert found == pytest.approx(0.4 + 0.1 / 30.0, abs=1e-4)


def test_sigma_min_between_two_frequencies_is_found_beside_a_smaller_one_on_the_grid() -> None:
    """0.30 at 3 rad/s; 0.38 at both neighbours of 7.05, where it is 0.15."""
    w = np.arange(1.0, 10.01, 0.1)

    def curve(at: Any) -> Any:
        broad = -0.7 * np.exp(-((at - 3.0) ** 2))
        inner = -0.85 * np.exp(-np.log(0.85 / 0.62) * ((at - 7.05) / 0.05) ** 2)
        return broad + np.where(np.abs(at - 7.05) < 1.0, inner, 0.0)

    grid = np.abs(1.0 + curve(w))
    assert np.min(grid) == pytest.approx(0.3, abs=1e-4)
    assert np.min(grid[w > 6.0]) == pytest.approx(0.38, abs=1e-4)
    assert of_curve(curve, w, fades=False) == pytest.approx(0.15, abs=1e-4)


def two_queues(first: str, second: str) -> Any:
    """Reno over two queues with updates of their own."""
    nodes = [
        pf.Node("a", pf.Link("10Mbit/s"), pf.CoupledPi2(update_interval=first)),
        pf.Node("b", pf.Link("9Mbit/s"), pf.CoupledPi2(update_interval=second)),
    ]
    flows = [
        pf.Flows(pf.Reno(), 6, "40ms", route="a"),
        pf.Flows(pf.Reno(), 4, "60ms", route=("a", "b")),
        pf.Flows(pf.Reno(), 5, "30ms", route="b"),
    ]
    return pf.Loop(pf.Network(nodes, flows), update="delayed")


def test_the_longest_delay_is_half_the_longest_interval_late() -> None:
    loop = two_queues("16ms", "30ms")
    assert longest_delay(loop.linear, "continuous") == np.max(loop.linear.rtt)
    assert longest_delay(loop.linear, "delayed") == np.max(loop.linear.rtt) + 0.015


def price_and_queue(interval: float, update: str, gain: float = 1.0) -> Any:
    """A link with a price behind a queue; gains per second are the same at every interval."""
    pi = pf.CoupledPi2(alpha=5.0 * gain * interval, beta=gain, update_interval=interval)
    nodes = [
        pf.Node("queue", pf.Link("12Mbit/s"), pi),
        pf.Node("price", pf.Link("10Mbit/s"), pf.Price(update_interval=interval)),
    ]
    flows = [
        pf.Flows(pf.Paganini(k=10.0), 5, "60ms", route=("queue", "price"), hops=("4ms", "9ms")),
        pf.Flows(pf.Reno(), 4, "40ms", route="queue", hops="3ms"),
        pf.Flows(pf.Paganini(k=20.0), 3, "50ms", route="price", hops="5ms"),
    ]
    return pf.Loop(pf.Network(nodes, flows), update=update)


@pytest.mark.slow
class TestShortIntervals:
    """A sampled loop tends to the continuous one, in every number and in its units."""

    def test_sigma_min_of_a_price_beside_a_queue(self) -> None:
        """Half an interval late by more than a hundred times as near as without."""
        models = ("continuous", "delayed", "sampled")
        plain, late, sampled = (
            price_and_queue(0.01, update).margins().sigma_min for update in models
        )
        assert sampled == pytest.approx(late, rel=2e-4)
        assert sampled == pytest.approx(plain, rel=0.04)

    @pytest.mark.parametrize("gain", [0.3, 1.0])
    def test_every_entry_of_the_matrix(self, gain: float) -> None:
        s = 1j * np.array([1.0, 5.0, 20.0])
        errors = []
        for interval in (4e-3, 2e-3, 1e-3):
            plain, sampled = (
                price_and_queue(interval, update, gain)(s) for update in ("continuous", "sampled")
            )
            errors.append(float(np.max(np.abs(sampled / plain - 1.0))))
        assert errors[0] < 0.1
        assert errors[1] < 0.6 * errors[0]
        assert errors[2] < 0.6 * errors[1]


def wide(shortest: str, longest: str) -> Any:
    """Two prices, and paths of very different lengths."""
    nodes = [
        pf.Node(name, pf.Link(rate), pf.Price(update_interval="10ms"))
        for name, rate in (("a", "20Mbit/s"), ("b", "24Mbit/s"))
    ]
    flows = [
        pf.Flows(pf.Paganini(bottlenecks=2.0), 5, longest, route=("a", "b")),
        pf.Flows(pf.Paganini(static=True, max_rate="40Mbit/s"), 3, shortest, route="b"),
        pf.Flows(pf.Paganini(), 3, "40ms", route="a"),
    ]
    return pf.Loop(pf.Network(nodes, flows), update="sampled")


@pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")
def test_paths_of_very_different_lengths_are_refused_at_once() -> None:
    """Of exactly sampled networks, by what they would take; half an interval late they answer."""
    loop = wide("0.1ms", "10s")
    for ask in (loop.margins, loop.nyquist_count):
        with pytest.raises(pf.SolverError, match=r"from 0\.0001 to 10 s take .* responses"):
            ask()


@pytest.mark.slow
@pytest.mark.parametrize("more", [1e-5, 1e-7, 1e-9])
def test_links_in_series_of_nearly_one_capacity_have_a_rest(more: float) -> None:
    """The tighter one is the bottleneck, however little tighter it is."""
    nodes = [
        pf.Node("a", pf.Link("10Mbit/s"), pf.CoupledPi2()),
        pf.Node("b", pf.Link(10e6 * (1.0 + more)), pf.CoupledPi2()),
    ]
    flows = pf.Flows(pf.Reno(), 5, "40ms", route=("a", "b"))
    loop = pf.Loop(pf.Network(nodes, flows))
    alone = pf.Loop(pf.Flows(pf.Reno(), 5, "40ms"), pf.CoupledPi2(), capacity="10Mbit/s")
    assert loop.margins().gain_margin_db == pytest.approx(alone.margins().gain_margin_db, rel=1e-9)


@pytest.mark.parametrize(("first", "second"), [("100ms", "30ms"), ("20ms", "200ms")])
def test_a_sum_over_far_aliases_is_the_polynomial_through_it(first: str, second: str) -> None:
    """All aliases one by one, from next to 0 to pi/T, to rounding."""
    loop = two_alike(first, second).linear
    end = np.pi / loop.intervals[0]
    s = 1j * np.append(np.geomspace(1e-3 * end, end, 60), end * (1.0 - 1e-6))
    expected = sampled_matrix(loop, s, aliases=32)
    found = sampled_matrix(loop, s)
    sizes = np.max(np.abs(expected), axis=(1, 2), keepdims=True)
    np.testing.assert_array_less(np.abs(found - expected) / sizes, 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), [("100ms", "30ms"), ("20ms", "200ms")])
def test_sampled_crossovers_found_at_once_are_those_bracketed_one_by_one(
    monkeypatch: pytest.MonkeyPatch, first: str, second: str
) -> None:
    """Newton's method on the determinant, and brackets on each eigenvalue."""
    at_once = two_alike(first, second)
    at_once.crossovers()
    monkeypatch.setattr(margins, "_crossings_between", lambda *_: None)
    by_brackets = two_alike(first, second)
    for found, expected in zip(at_once.crossovers(), by_brackets.crossovers(), strict=True):
        assert len(found) > 0
        assert found == pytest.approx(expected, rel=1e-9)
    signs = [[phase.enters for phase in loop._crossings.phase] for loop in (at_once, by_brackets)]
    assert signs[0] == signs[1]


def two_alike(first: str, second: str) -> Any:
    """The sampled loop of two queues that tick together."""
    nodes = [pf.Node(name, pf.Link("10Mbit/s"), pf.Pi2()) for name in "ab"]
    flows = [
        pf.Flows(pf.Reno(), 6, first, route="a"),
        pf.Flows(pf.Reno(), 4, "60ms", route=("a", "b")),
        pf.Flows(pf.Reno(), 5, second, route="b"),
    ]
    return pf.NetworkLoop(pf.Network(nodes, flows), update="sampled")
