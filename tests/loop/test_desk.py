"""Loops on the desk: compiled code from tapes finds what matrices and the readable search find."""

from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar
from unittest import mock

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid import _core
from pi2_fluid.errors import AssumptionWarning, UnsupportedError
from pi2_fluid.laws.programs import kernel_tape
from pi2_fluid.laws.tapes import tape_of
from pi2_fluid.loop import construction
from pi2_fluid.loop.desk import DeskLoops, sender_on_desk

#: Both ways run the same tapes and the same search; what differs is the order of some sums.
SAME = 1e-9
NUMBERS = (
    "gain_margin_db",
    "phase_margin_deg",
    "gain_crossover",
    "phase_crossover",
    "delay_margin",
    "lower_gain_margin_db",
    "modulus_margin",
)
MIXTURE = (pf.Flows(pf.Reno(), 10, "20ms"), pf.Flows(pf.Scalable(), 5, "20ms"))


@contextmanager
def without_desk() -> Iterator[None]:
    """Build loops of matrices."""
    with (
        mock.patch.object(construction, "settle_on_desk", return_value=None),
        mock.patch.object(construction, "has_place", return_value=False),
    ):
        yield


def answers(*given: Any, **model: Any) -> tuple[Any, ...]:
    """Return what a loop answers, or how it is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        try:
            loop = pf.Loop(*given, **model)
            margins = loop.margins()
            numbers = np.array([getattr(margins, name) for name in NUMBERS])
            return loop.engine, numbers, np.asarray(margins.verdict_code), loop.operating_point
        except (ValueError, TypeError, RuntimeError) as error:
            return type(error).__name__, str(error)


def assert_same(*given: Any, **model: Any) -> str:
    """Compare both ways, and return which one `Loop` went."""
    found = answers(*given, **model)
    with without_desk():
        expected = answers(*given, **model)
    if len(expected) == 2:
        assert found == expected
        return "refused"
    assert expected[0] == "python"
    np.testing.assert_allclose(found[1], expected[1], rtol=SAME, atol=1e-12)
    np.testing.assert_array_equal(found[2], expected[2])
    for name in ("controller", "queue_delay", "p", "rtt", "rate", "window", "queue", "share"):
        one, other = (getattr(point[3], name) for point in (found, expected))
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert found[3].broken == expected[3].broken
    return str(found[0])


def draw(rng: np.random.Generator) -> tuple[Any, ...]:
    """Return classes, queue and model at random: 1 to 5 classes, 10 Mbit/s to 1 Gbit/s."""
    alpha, beta = 10 ** rng.uniform(-2, 0), 10 ** rng.uniform(0.5, 1.6)
    numbers = {"alpha": alpha, "beta": alpha * beta, "target": 10 ** rng.uniform(-2.2, -1.4)}
    numbers["update_interval"] = 10 ** rng.uniform(-2.5, -1.3)
    kinds = [pf.Pi, pf.Pi2, pf.CoupledPi2, pf.CoupledPi2, pf.DualPi2, pf.DualPi2, pf.Pie]
    kind = kinds[rng.integers(len(kinds))]
    both = kind is not pf.Pi2
    flows = []
    for place in range(rng.integers(1, 6)):
        laws = [pf.Reno, pf.CReno, pf.Cubic] + both * bool(place) * [pf.Scalable, pf.Dctcp]
        sender = laws[rng.integers(len(laws))]()
        flows.append(pf.Flows(sender, int(rng.integers(1, 40)), 10 ** rng.uniform(-2.2, -0.9)))
    model = {"update": ("continuous", "delayed", "sampled", "sampled")[rng.integers(4)]}
    model["rtt_terms"] = ("frozen", "exact")[rng.integers(2)]
    return flows, kind(**numbers), {"capacity": 10 ** rng.uniform(7, 9), **model}


@pytest.mark.slow
def test_random_loops():
    rng = np.random.default_rng(20261128)
    ways = []
    for _ in range(60):
        flows, queue, model = draw(rng)
        ways.append(assert_same(flows, queue, **model))
    assert ways.count("desk") > 30
    assert ways.count("refused") > 5
    assert "python" not in ways


@pytest.mark.parametrize("update", ["continuous", "delayed", "sampled"])
@pytest.mark.parametrize("queue", [pf.CoupledPi2(), pf.DualPi2(), pf.Pie()])
def test_a_mixture_has_the_same_margins(queue: pf.Aqm, update: str):
    way = assert_same(MIXTURE, queue, capacity="100Mbit/s", update=update, rtt_terms="exact")
    assert way == "desk"


def test_a_queue_without_updates():
    flows = [pf.Flows(pf.Reno(), 20, "80ms"), pf.Flows(pf.Cubic(), 3, "50ms")]
    assert assert_same(flows, pf.Red(min=20, max=200), capacity="100Mbit/s") == "desk"


def test_traffic_of_constant_rate_beside():
    flows = [pf.Flows(pf.Reno(), 20, "80ms"), pf.Flows(pf.Cbr(rate="1Mbit/s", thinned=False), 9)]
    assert assert_same(flows, pf.Pi2(), capacity="100Mbit/s", update="sampled") == "desk"


def test_an_array_is_each_of_its_loops():
    alpha = np.array([0.1, 0.2, 0.4])
    capacity = np.array([[40e6], [200e6]])
    many = pf.Loop(MIXTURE, pf.CoupledPi2(alpha=alpha), capacity=capacity, update="sampled")
    assert many.engine == "desk"
    margins = many.margins()
    assert np.shape(margins.gain_margin_db) == (2, 3)
    for row, column in np.ndindex(2, 3):
        queue = pf.CoupledPi2(alpha=alpha[column])
        one = pf.Loop(MIXTURE, queue, capacity=capacity[row, 0], update="sampled")
        for name in NUMBERS:
            # the same code with the same numbers
            assert getattr(margins, name)[row, column] == getattr(one.margins(), name)
        assert one._point.rate[0] == many._point.rate[0][row, column]


def test_the_rates_at_rest_fill_the_link():
    point = pf.Loop(MIXTURE, pf.DualPi2(), capacity="100Mbit/s").operating_point
    total = sum(flow.count * rate for flow, rate in zip(MIXTURE, point.rate, strict=True))
    assert total == pytest.approx(point.capacity, rel=1e-13)
    for sender, p, rtt, window in zip(
        (pf.Reno(), pf.Scalable()), point.p, point.rtt, point.window, strict=True
    ):
        assert sender.rate(window, window, p, rtt, rtt) == pytest.approx(0.0, abs=1e-11)


@pytest.mark.parametrize("update", ["continuous", "delayed", "sampled"])
@pytest.mark.parametrize("terms", ["frozen", "exact"])
def test_l_is_that_of_the_matrices(update: str, terms: str):
    flows = [*MIXTURE, pf.Flows(pf.Cubic(), 3, "70ms")]
    loop = pf.Loop(flows, pf.DualPi2(), capacity="1Gbit/s", update=update, rtt_terms=terms)
    assert loop._desk is not None
    on_desk = loop._desk(np.ones((), bool))
    assert isinstance(on_desk, DeskLoops)
    w = np.geomspace(0.01, math.pi / 0.016, 30)
    # |L| is 1e5 at one end, and 1e-5 at the other
    np.testing.assert_allclose(on_desk.response(w)[0], loop(1j * w), rtol=1e-10)


@dataclass(frozen=True, eq=False, kw_only=True)
class Gentle(pf.Sender):
    """A law of one's own without a closed form, of which the desk finds the window."""

    signal: ClassVar = "classic"
    decrease: float = 0.3

    def rate(self, x: Any, x_delayed: Any, signal: Any, rtt: Any, rtt_delayed: Any) -> Any:
        more = pf.ops.where(x > 30.0, 1.5, 1.0)
        return more / rtt - self.decrease * x * x_delayed / rtt_delayed * signal


@dataclass(frozen=True, eq=False, kw_only=True)
class Untraceable(pf.Sender):
    """One that asks for numbers, which no tape holds."""

    signal: ClassVar = "classic"

    def rate(self, x: Any, x_delayed: Any, signal: Any, rtt: Any, rtt_delayed: Any) -> Any:
        return np.reciprocal(rtt) - 0.5 * x * x_delayed / rtt_delayed * signal


def test_a_law_of_ones_own():
    flows = [pf.Flows(Gentle(decrease=0.2), 10, "40ms"), pf.Flows(pf.Reno(), 5, "60ms")]
    assert assert_same(flows, pf.Pi2(), capacity="50Mbit/s", update="sampled") == "desk"


def test_laws_of_ones_own_keep_their_numbers():
    one, other = (
        pf.Loop(pf.Flows(Gentle(decrease=decrease), 9, "40ms"), pf.Pi2(), capacity="50Mbit/s")
        for decrease in (0.2, 0.4)
    )
    # half the decrease at the same window: half the p
    assert other.operating_point.p[0] == pytest.approx(one.operating_point.p[0] / 2.0, rel=1e-12)


def test_what_no_tape_holds_goes_the_other_way():
    assert sender_on_desk(Untraceable()) is None
    loop = pf.Loop(pf.Flows(pf.Reno(), 5, "40ms"), pf.Pi2(), capacity="50Mbit/s", clock="acks")
    assert loop.engine == "python"
    price = pf.Loop(pf.Flows(pf.Reno(), 5, "40ms"), pf.Rem(), capacity="50Mbit/s")
    assert price.engine == "python"


@pytest.mark.parametrize(
    ("flows", "queue", "said"),
    [
        (pf.Flows(pf.Reno(), 1000, "20ms"), pf.Pi2(), "times the capacity even at p = 1"),
        (pf.Flows(pf.Scalable(), 2, "20ms"), pf.DualPi2(), "by a step"),
        (pf.Flows(pf.Cbr(rate="1Mbit/s"), 2), pf.Pi2(), "obeys"),
    ],
)
def test_refusals_are_those_of_the_matrices(flows: pf.Flows, queue: pf.Aqm, said: str):
    found = answers(flows, queue, capacity="1Mbit/s", update="sampled")
    with without_desk():
        assert answers(flows, queue, capacity="1Mbit/s", update="sampled") == found
    assert said in found[1]


def test_tapes_of_another_shape_are_refused():
    rate = kernel_tape(tape_of(pf.Reno(), "rate"))
    with pytest.raises(ValueError, match="sending is missing"):
        _core.DeskSender({"rate": rate}, 1, 1)
    with pytest.raises(ValueError, match="takes 5 numbers and gives 1 instead of 3 and 1"):
        _core.DeskSender({"rate": rate, "sending": rate}, 1, 1)
    with pytest.raises(ValueError, match="states are outside"):
        _core.DeskSender({"rate": rate}, 9, 1)


def test_what_was_asked_crosses_to_another_process():
    loop = pf.Loop(MIXTURE, pf.CoupledPi2(), capacity="100Mbit/s", update="sampled")
    margins = loop.margins()
    loop.crossovers()
    for copied in (pickle.loads(pickle.dumps(margins)), pickle.loads(pickle.dumps(loop)).margins()):
        assert copied.gain_margin_db == margins.gain_margin_db
        assert copied.modulus_margin == margins.modulus_margin
        assert copied.verdict == margins.verdict


def test_other_things_of_a_loop_still_come_from_its_matrices():
    loop = pf.Loop(MIXTURE, pf.CoupledPi2(), capacity="100Mbit/s", update="sampled")
    gains, phases = loop.crossovers()
    margins = loop.margins()
    assert min(gains) == pytest.approx(margins.gain_crossover, rel=1e-9)
    assert min(phases) == pytest.approx(margins.phase_crossover, rel=1e-9)
    with pytest.raises(UnsupportedError):
        loop.roots()
