"""The compiled search of loops by acknowledgements against its readable twin, and against roots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid import _core
from pi2_fluid.loop.acks import AckLoop, compile_ack_loops, without_echoes
from pi2_fluid.loop.compiled import CompiledLoops
from pi2_fluid.loop.crossovers import find_crossings, smallest_distance
from pi2_fluid.loop.roots import count_unstable, rightmost_roots
from pi2_fluid.loop.searching import Search, searched_margins
from pi2_fluid.loop.updates import UPDATES, respond

pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")


@dataclass(frozen=True, eq=False, kw_only=True)
class PacedReno(pf.Reno):
    paced: ClassVar[bool] = True


class Drawing:
    """Random numbers of a loop: gains, link, flows, whose base round-trip times are spread."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.path = rng.uniform(0.008, 0.15)
        self.capacity = 10 ** rng.uniform(7.0, 9.0)

    def gains(self) -> dict[str, Any]:
        alpha = 10 ** self.rng.uniform(-2.0, 0.3)
        return {
            "alpha": alpha,
            "beta": alpha * 10 ** self.rng.uniform(-0.2, 1.4),
            "update_interval": self.rng.uniform(0.002, 0.06),
            "target": self.rng.uniform(0.004, 0.03),
        }

    def flows(self, sender: pf.Sender, spread: float = 0.0) -> pf.Flows:
        path = self.path * 10 ** self.rng.uniform(-spread, spread)
        return pf.Flows(sender, self.rng.uniform(1.0, 40.0), path)


def _one(d: Drawing) -> tuple[Any, Any, dict[str, Any]]:
    return [d.flows(pf.Reno())], pf.Pi2(**d.gains()), {}


def _scalable(d: Drawing) -> tuple[Any, Any, dict[str, Any]]:
    return [d.flows(pf.Scalable())], pf.Pi(**d.gains()), {}


def _bunched(d: Drawing) -> tuple[Any, Any, dict[str, Any]]:
    return [d.flows(pf.Reno())], pf.Pi2(**d.gains()), {"bunch": d.rng.uniform()}


def _one_path(d: Drawing) -> tuple[Any, Any, dict[str, Any]]:
    return [d.flows(pf.Reno()), d.flows(pf.Scalable())], pf.CoupledPi2(**d.gains()), {}


def _several(d: Drawing) -> tuple[Any, Any, dict[str, Any]]:
    flows = [d.flows(pf.Reno()), d.flows(pf.Scalable(), 0.8), d.flows(pf.CReno(), 0.5)]
    return flows, pf.CoupledPi2(**d.gains()), {}


def _exact(d: Drawing) -> tuple[Any, Any, dict[str, Any]]:
    return [d.flows(pf.Reno())], pf.Pi2(**d.gains()), {"rtt_terms": "exact"}


def _exact_several(d: Drawing) -> tuple[Any, Any, dict[str, Any]]:
    flows = [d.flows(pf.Reno()), d.flows(pf.Scalable(), 0.8)]
    return flows, pf.CoupledPi2(**d.gains()), {"rtt_terms": "exact"}


def _dual(d: Drawing) -> tuple[Any, Any, dict[str, Any]]:
    return [d.flows(pf.Reno()), d.flows(pf.Scalable(), 0.5)], pf.DualPi2(**d.gains()), {}


def _dual_several(d: Drawing) -> tuple[Any, Any, dict[str, Any]]:
    flows = [d.flows(pf.Reno()), d.flows(pf.CReno(), 0.3), d.flows(pf.Scalable(), 0.5)]
    return flows, pf.DualPi2(**d.gains()), {}


def _paced(d: Drawing) -> tuple[Any, Any, dict[str, Any]]:
    return [d.flows(PacedReno()), d.flows(pf.Reno(), 0.3)], pf.Pi2(**d.gains()), {}


def _states(d: Drawing) -> tuple[Any, Any, dict[str, Any]]:
    return [d.flows(pf.Cubic()), d.flows(pf.Prague(), 0.3)], pf.CoupledPi2(**d.gains()), {}


def _pie(d: Drawing) -> tuple[Any, Any, dict[str, Any]]:
    return [d.flows(pf.CReno())], pf.Pie(), {}


def _unclocked(d: Drawing) -> tuple[Any, Any, dict[str, Any]]:
    steady = pf.Flows(pf.Cbr(rate=0.2 * d.capacity, thinned=False), 1, d.path)
    return [d.flows(pf.Reno()), steady], pf.Pi2(**d.gains()), {}


Draw = Callable[[Drawing], "tuple[Any, Any, dict[str, Any]]"]
DRAWS: dict[str, Draw] = {
    "one class": _one,
    "Scalable": _scalable,
    "in bursts": _bunched,
    "one path": _one_path,
    "several paths": _several,
    "exact terms": _exact,
    "exact terms, several": _exact_several,
    "dual queue": _dual,
    "dual queue, several": _dual_several,
    "paced": _paced,
    "many states": _states,
    "PIE": _pie,
    "constant rate": _unclocked,
}


def draw(rng: np.random.Generator, kind: str, update: str) -> AckLoop:
    """Return a random loop that has a rest."""
    while True:
        numbers = Drawing(rng)
        flows, aqm, options = DRAWS[kind](numbers)
        options |= {"clock": "acks", "update": update, "capacity": numbers.capacity}
        try:
            linear = pf.Loop(flows, aqm, **options).linear
        except (pf.DomainError, pf.UnsupportedError):
            continue  # too many flows, or too few, for any p'
        assert isinstance(linear, AckLoop)
        return linear


def ask(loop: AckLoop, update: str) -> tuple[np.ndarray, float, int]:
    """Return what compiled code says of one loop."""
    compiled = compile_ack_loops(loop, update, np.ones(loop.shape, dtype=bool))
    assert compiled is not None
    asked = [f(lambda _: None) for f in (compiled.margins, compiled.distances, compiled.counts)]
    return asked[0][:, 0], float(asked[1][0, 0]), int(asked[2][0, 0])


def compare(loop: AckLoop, update: str) -> None:
    """Ask both everything."""
    one = without_echoes(loop)
    crossings = find_crossings(one, update)
    count = count_unstable(one, update)
    expected = searched_margins(one, update, crossings, count)
    found, distance, unstable = ask(loop, update)
    # Roots are good to 1e-14; beside an echo the curve turns by a radian in 1e-6 of its frequency.
    np.testing.assert_allclose(found[:6], expected[:6], rtol=1e-9, atol=1e-9)
    assert unstable == count
    assert np.isnan(found[6]) or found[6] == count
    assert distance == pytest.approx(smallest_distance(one, update, crossings), abs=1e-8)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("kind", ["one class", "several paths", "dual queue"])
def test_a_few_loops_are_those_of_the_twin(rng, kind, update):
    compare(draw(rng, kind, update), update)


@pytest.mark.slow
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("kind", DRAWS)
def test_many_loops_are_those_of_the_twin(rng, kind, update):
    for _ in range(9):
        compare(draw(rng, kind, update), update)


@pytest.mark.slow
def test_a_law_that_acts_on_every_packet(rng):
    for _ in range(6):
        flows = [pf.Flows(pf.Reno(), rng.uniform(5, 12), path) for path in ("30ms", "50ms")]
        red = pf.Red(min=5, max=200, weight=10 ** rng.uniform(-4, -2))
        options = {"clock": "acks", "update": "continuous", "capacity": "100Mbit/s"}
        compare(pf.Loop(flows, red, **options).linear, "continuous")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["one class", "several paths", "exact terms", "dual queue", "PIE"])
def test_margins_meet_roots(rng, kind):
    """Below the gain margin all roots are on the left, beyond it some are on the right."""
    judged = 0
    while judged < 4:
        loop = draw(rng, kind, "delayed")
        found, _, unstable = ask(loop, "delayed")
        if unstable or not np.isfinite(found[0]):
            continue
        judged += 1
        gain = 10 ** (found[0] / 20.0)
        for factor in (0.99, 1.01):
            scaled = times(loop, gain * factor)
            rightmost = rightmost_roots(without_echoes(scaled), "delayed", 1)[0]
            assert (rightmost.real < 0.0) == (factor < 1.0), (kind, factor, rightmost)
        assert rightmost.imag == pytest.approx(found[3], rel=0.05)


@pytest.mark.parametrize("kind", ["one class", "one path", "dual queue"])
def test_modes_of_a_sampled_loop_grow_beyond_its_margin(rng, kind):
    """At the gain margin 1 + L is 0 where the twin has L; beyond it two modes more are counted."""
    loop = draw(rng, kind, "sampled")
    found, _, unstable = ask(loop, "sampled")
    while unstable:
        loop = times(loop, 0.1)
        found, _, unstable = ask(loop, "sampled")
    gain = 10 ** (found[0] / 20.0)
    L = respond(without_echoes(loop), np.array([1j * found[3]]), "sampled")
    assert abs(1.0 + gain * L[0]) < 1e-9
    assert ask(times(loop, 0.99 * gain), "sampled")[2] == 0
    assert ask(times(loop, 1.01 * gain), "sampled")[2] > 0


def times(loop: AckLoop, factor: float) -> AckLoop:
    """The same loop with another gain."""
    top = tuple(value * factor for value in loop.controller.numerator)
    return replace(loop, controller=replace(loop.controller, numerator=top))


@pytest.mark.parametrize("update", UPDATES)
def test_an_array_is_its_loops(update):
    """Rows of an array, and none but the chosen ones, are those of each loop by itself."""
    flows = [
        pf.Flows(pf.Reno(), [[4], [8]], "80ms"),
        pf.Flows(pf.Scalable(), 5, ["20ms", "40ms", "80ms"]),
    ]
    loop = pf.Loop(flows, pf.CoupledPi2(), capacity="40Mbit/s", clock="acks", update=update)
    linear = loop.linear
    assert linear.shape == (2, 3)
    chosen = np.array([[True, False, True], [False, True, True]])
    search = Search(linear, update, linear.element)
    rows, distances, counts = (
        search.margins(chosen),
        search.distances(chosen),
        search.counts(chosen),
    )
    for place, index in enumerate(np.argwhere(chosen).tolist()):
        found, distance, unstable = ask(linear.element(tuple(index)), update)
        np.testing.assert_allclose(rows[:, place], found, rtol=1e-11)
        assert distances[place] == pytest.approx(distance, rel=1e-11)
        assert counts[place] == unstable


def test_what_it_cannot_take_is_left_to_the_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flows that pause, late cuts and laws of many states have no place in compiled code."""
    options = {"capacity": "100Mbit/s", "clock": "acks", "update": "delayed"}
    dctcp = pf.Dctcp(law="renewal", segments="real")
    loop = pf.Loop([pf.Flows(dctcp, 5, "20ms")], pf.CoupledPi2(), **options)
    every = np.ones((), dtype=bool)
    assert compile_ack_loops(loop.linear, "delayed", every) is None
    assert np.isfinite(loop.margins().gain_margin_db)
    mixture = pf.Loop(
        [pf.Flows(pf.Reno(), 5, path) for path in ("20ms", "60ms")], pf.Pi2(), **options
    )
    found = mixture.margins()
    linear = mixture.linear
    assert isinstance(linear, AckLoop)
    late = replace(linear, classes=tuple(replace(cls, late=True) for cls in linear.classes))
    assert compile_ack_loops(late, "delayed", every) is None
    monkeypatch.setattr(CompiledLoops, "margins", lambda _, tell: np.full((7, 1), np.nan))
    again = pf.Loop(
        [pf.Flows(pf.Reno(), 5, path) for path in ("20ms", "60ms")], pf.Pi2(), **options
    ).margins()
    assert again.gain_margin_db == pytest.approx(found.gain_margin_db, rel=1e-12)


def test_refusals_are_those_of_the_twin():
    """A gain that never falls below 1 is told of in the twin's words."""
    wild = pf.Pi2(alpha=1e12, beta=1e13)
    options = {"clock": "acks", "update": "delayed", "rtt_terms": "exact", "bunch": 1.0}
    loop = pf.Loop(pf.Reno(), wild, rtt=1.0, p_prime=0.1, **options)
    with pytest.raises(pf.SolverError, match=r"too often to follow|does not fall"):
        loop.margins()


def test_it_refuses_what_it_does_not_know():
    one, row = np.ones(1), np.ones((1, 1))
    polynomials = ["own", "own_reduced", "signal", "signal_reduced", "acks", "acks_reduced"]
    numbers = ["base_rtt", "rtt", "heard", "share", "smoothing", "rates", "grown", "cut"]
    cls: dict[str, Any] = dict.fromkeys(polynomials, row) | dict.fromkeys(numbers, one)
    cls |= dict.fromkeys(["waits", "reduces", "paced"], True)
    given: dict[str, Any] = {"top": row, "bottom": row, "bunch": 0.0, "head": True}
    given |= dict.fromkeys(["unit", "interval", "queue_delay", "unclocked", "slow"], one)
    given |= {"settles": np.ones(1, dtype=np.int64), "update": "sampled"}
    with pytest.raises(ValueError, match="there must be a class"):
        _core.AckLoops([], **given)
    with pytest.raises(ValueError, match="5 rows at most"):
        _core.AckLoops([cls | {"acks": np.ones((6, 1))}], **given)
    with pytest.raises(ValueError, match="queue_delay has 2 numbers for 1 loops"):
        _core.AckLoops([cls], **given | {"queue_delay": np.ones(2)})
    with pytest.raises(ValueError, match="interval must be positive"):
        _core.AckLoops([cls], **given | {"interval": np.zeros(1)})
    with pytest.raises(ValueError, match="a class of flows lacks 'cut'"):
        _core.AckLoops([{k: v for k, v in cls.items() if k != "cut"}], **given)
    with pytest.raises(ValueError, match="outside the array"):
        _core.AckLoops([cls], **given).margins(0, 2)
