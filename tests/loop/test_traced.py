"""Margins under JAX: their derivatives against differences of `Loop`, and of the closed form."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.laws.aqm import Signal
from pi2_fluid.records.record import quantity

law = dataclasses.dataclass(frozen=True, eq=False, kw_only=True)


@law
class Own(pf.Sender):
    """Branches, and says not where it rests."""

    signal: ClassVar = "classic"
    bend: Any = quantity(0.5, "number")

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        grown = 1.0 if w > 4.0 else 0.5
        return grown / rtt - self.bend * w * w_delayed / rtt_delayed * p_delayed


@law
class OwnQueue(pf.Aqm):
    """An integrator that says not where it rests, and encodes in a way of its own."""

    gain: Any = quantity(0.3, "frequency")
    target: Any = quantity("20ms", "time")
    update_interval: Any = quantity("16ms", "time")

    def initial(self):
        return (0.0, 0.0)

    def update(self, state, seen, dt):
        u, before = state
        d = seen.queue_delay
        return (u + self.gain * (d - self.target) + 10.0 * self.gain * (d - before), d)

    def encode(self, u):
        return Signal(u**1.5, u)


@law
class OwnAtOnce(pf.Sender):
    """Grows to a window that signals lower at once."""

    signal: ClassVar = "classic"
    states: ClassVar = ("window",)
    most: Any = quantity(40.0, "packets")

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        return (self.most * (1.0 - p_delayed) - w) / rtt

    def sending_rate_under(self, x, p, rtt):
        return x * (1.0 - p) / rtt


@law
class OwnByDelay(pf.Sender):
    """Hears no signals: its window grows as long as 5 packets and fewer wait."""

    signal: ClassVar = None
    wanted: Any = quantity(5.0, "packets")

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        return (self.wanted - w_delayed * (1.0 - 0.08 / rtt_delayed)) / rtt


def flows(sender: pf.Sender, **numbers: Any) -> pf.Flows:
    return pf.Flows(sender, **{"count": 10, "base_rtt": "80ms", **numbers})


DCTCP = flows(pf.Dctcp(), count=2)

CASES = {
    "Reno, PIE, p": (lambda ask, x: ask(pf.Reno(), pf.Pie(), rtt=0.1, p=x), 0.015),
    "Cubic, sampled, alpha": (
        lambda ask, x: ask(pf.Cubic(), pf.Pi2(alpha=x), rtt=0.1, p=0.01, update="sampled"),
        0.3,
    ),
    "DCTCP and Prague, RED, exact, capacity": (
        lambda ask, x: ask(
            [flows(pf.Dctcp(), count=2), flows(pf.Prague(), base_rtt=0.03)],
            pf.Red(min=5, max=50),
            capacity=x,
            rtt_terms="exact",
        ),
        2e7,
    ),
    "own sender, own queue, delayed, bend": (
        lambda ask, x: ask(flows(Own(bend=x)), OwnQueue(), capacity=2e7, update="delayed"),
        0.5,
    ),
    "Cubic and DCTCP, DualPI2, capacity": (
        lambda ask, x: ask([flows(pf.Cubic()), DCTCP], pf.DualPi2(), capacity=x),
        4e7,
    ),
    "Reno and Prague, DualPI2, sampled, exact, k": (
        lambda ask, x: ask(
            [flows(pf.Reno()), flows(pf.Prague(), count=2)],
            pf.DualPi2(k=x),
            capacity=4e7,
            update="sampled",
            rtt_terms="exact",
        ),
        2.0,
    ),
    "DCTCP alone, DualPI2 marks by its ramp": (
        lambda ask, x: ask(
            [DCTCP, flows(pf.Cbr(bitrate="1Mbit/s", thinned=False), count=2)],
            pf.DualPi2(ramp=x),
            capacity=4e7,
        ),
        4e-4,
    ),
    "DCTCP alone, DualPI2 by its controller": (
        lambda ask, x: ask(
            DCTCP,
            pf.DualPi2(step=0.1, target=0.005, alpha=x),
            capacity=4e7,
            update="delayed",
        ),
        0.16,
    ),
    "Reno, DualPI2, p', alpha": (
        lambda ask, x: ask(pf.Reno(), pf.DualPi2(alpha=x), rtt=0.1, p_prime=0.1),
        0.16,
    ),
    "Reno, REM, target": (
        lambda ask, x: ask(flows(pf.Reno()), pf.Rem(target=x), capacity=4e7),
        20.0,
    ),
    "Reno, REM, sampled, weight": (
        lambda ask, x: ask(flows(pf.Reno()), pf.Rem(weight=x), capacity=4e7, update="sampled"),
        0.5,
    ),
    "Reno, AVQ, count": (
        lambda ask, x: ask(flows(pf.Reno(), count=x), pf.Avq(), capacity=1e7),
        10.0,
    ),
    "Reno, AVQ that overflows, capacity": (
        lambda ask, x: ask(flows(pf.Reno()), pf.Avq(marking="overflow"), capacity=x),
        4e7,
    ),
    "Reno, price, sampled, utilization": (
        lambda ask, x: ask(
            flows(pf.Reno()), pf.Price(utilization=x), capacity=4e7, update="sampled"
        ),
        0.95,
    ),
    "Paganini, price, sampled, count": (
        lambda ask, x: ask(
            [
                flows(pf.Paganini(), count=32, base_rtt=0.04),
                flows(pf.Paganini(), count=x, base_rtt=0.2),
            ],
            pf.Price(),
            capacity=2e9,
            update="sampled",
        ),
        480.0,
    ),
    "own that answers at once, PI2, exact, most": (
        lambda ask, x: ask(flows(OwnAtOnce(most=x)), pf.Pi2(), capacity=4e7, rtt_terms="exact"),
        40.0,
    ),
    "own by its delay, capacity": (
        lambda ask, x: ask(flows(OwnByDelay()), pf.Pi2(), capacity=x),
        1e7,
    ),
}


def ordinary(given: Any, aqm: pf.Aqm, **numbers: Any) -> np.ndarray:
    """Margins of `Loop`, of what acts at once of a network of one link."""
    classes = (given,) if isinstance(given, (pf.Flows, pf.Sender)) else tuple(given)
    at_once = isinstance(given, pf.Flows | list) and any(f.sender.answers_at_once for f in classes)
    if at_once or aqm.acts_on == "arrivals":
        node = pf.Node("link", pf.Link(numbers.pop("capacity")), aqm)
        margins = pf.Loop(pf.Network(node, classes), **numbers).margins()
    else:
        margins = pf.Loop(given, aqm, **numbers).margins()
    names = ("gain_margin_db", "phase_margin_deg", "gain_crossover", "phase_crossover")
    return np.array([getattr(margins, name) for name in names], float)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=list(CASES))
def test_derivatives_are_those_of_differences_of_the_ordinary_margins(jax, case):
    build, x = CASES[case]
    with jax.enable_x64(True):
        values, slopes = jax.jvp(
            lambda x: jax.numpy.stack(build(pf.loop.traced_margins, x)), (x,), (1.0,)
        )
    np.testing.assert_array_equal(values, build(ordinary, x))
    h = 1e-4 * x
    near, far = (build(ordinary, x + d) - build(ordinary, x - d) for d in (h, 2.0 * h))
    # Differences of fourth order over 1e-4 of x, of margins that are right to 1e-14 or so, of phase
    # crossovers to 1e-13, and of sums over aliases to 1e-8.
    quotient = (8.0 * near - far) / (12.0 * h)
    np.testing.assert_allclose(x * np.asarray(slopes), x * quotient, rtol=1e-8, atol=2e-8)


@pytest.mark.slow
def test_second_derivatives_backwards_compiled_and_mapped_are_those_of_the_closed_form(jax):
    """Of Reno under PI2 the margins are also `margins_of`, a body of its own."""

    def traced(alpha: Any) -> Any:
        queue = pf.Pi2(alpha=alpha, beta=3.125, update_interval=0.032)
        return pf.loop.traced_margins(pf.Reno(), queue, rtt=0.1, p_prime=0.1)[0]

    def closed(alpha: Any) -> Any:
        pole = 2.0**0.5 * 0.1 / 0.1
        return pf.loop.margins_of(10.0, pole, "reno", alpha, 3.125, 0.032, 0.1)[0]

    with jax.enable_x64(True):
        expected = jax.jvp(jax.grad(closed), (0.3,), (1.0,))
        np.testing.assert_allclose(jax.jvp(jax.grad(traced), (0.3,), (1.0,)), expected, rtol=1e-9)
        at = np.array([0.2, 0.4])
        mapped = jax.jit(jax.vmap(traced))(at)
        np.testing.assert_allclose(mapped, [closed(x) for x in at], rtol=1e-12)


def test_a_network_of_one_link_is_its_flows_queue_and_capacity(jax):
    def by_network(capacity: Any) -> Any:
        node = pf.Node("link", pf.Link(capacity), pf.Price())
        return pf.loop.traced_margins(pf.Network(node, flows(pf.Reno())))[0]

    def by_flows(capacity: Any) -> Any:
        return pf.loop.traced_margins(flows(pf.Reno()), pf.Price(), capacity=capacity)[0]

    with jax.enable_x64(True):
        one, other = (jax.jvp(f, (4e7,), (1.0,)) for f in (by_network, by_flows))
    assert one == other


def test_second_derivatives_of_a_law_whose_rest_is_searched(jax):
    """The search passes on first derivatives alone, so that rest follows from its controller."""

    def build(ask: Any, count: Any) -> Any:
        return ask(flows(pf.Reno(), count=count), pf.Avq(), capacity=1e7)[0]

    def slope(count: Any) -> Any:
        return jax.jvp(lambda x: build(pf.loop.traced_margins, x), (count,), (1.0,))[1]

    with jax.enable_x64(True):
        second = float(jax.jvp(slope, (10.0,), (1.0,))[1])
    h = 0.05
    values = [build(ordinary, 10.0 + n * h) for n in (-2, -1, 0, 1, 2)]
    # Of fourth order: what is left out is h^4/90 of the sixth derivative, some 1e-7 of a part.
    quotient = np.dot([-1.0, 16.0, -30.0, 16.0, -1.0], values) / (12.0 * h * h)
    assert second == pytest.approx(quotient, rel=1e-5)


def test_what_it_does_not_differentiate_is_refused_in_one_sentence(jax):
    udp = flows(pf.Cbr(bitrate="15Mbit/s", thinned=False), count=1)
    two = pf.Network(
        [pf.Node(name, pf.Link("20Mbit/s"), pf.Pi2()) for name in "ab"],
        pf.Flows(pf.Reno(), 10, "80ms", route=("a", "b")),
    )
    ask = pf.loop.traced_margins
    with jax.enable_x64(True):
        with pytest.raises(pf.UnsupportedError, match="give Loop a network"):
            ask(pf.Reno(), pf.Price(), rtt=0.1, p=0.01)
        with pytest.raises(pf.UnsupportedError, match="2 links, whose loop is a matrix"):
            ask(two)
        with pytest.raises(pf.UnsupportedError, match="constant rate take more of the link"):
            ask([DCTCP, udp], pf.DualPi2(), capacity=4e7)
        with pytest.raises(pf.ScenarioError, match="aqm is missing"):
            ask(pf.Reno(), rtt=0.1, p=0.01)
    with pytest.raises(pf.DomainError, match="float32"):
        ask(pf.Reno(), pf.Pi2(), rtt=0.1, p=0.01)
