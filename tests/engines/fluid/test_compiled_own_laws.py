"""Laws that are written in Python alone run in C, from their tapes, as they do in Python."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.ops import maximum, minimum, where


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Recalls(pf.Sender):
    """Halves its window by a mean of the signals that it knew of one round trip ago."""

    signal: ClassVar = "classic"
    states: ClassVar = ("window", "mean")
    smallest_window: ClassVar = 0.0
    gain: float = 0.1

    def initial(self, window: Any) -> Any:
        return (window, 0.0)

    def rate(self, x: Any, x_delayed: Any, p_delayed: Any, rtt: Any, rtt_delayed: Any) -> Any:
        signals = x_delayed[0] / rtt_delayed * (0.5 * p_delayed + 0.5 * x_delayed[1])
        return 1.0 / rtt - 0.5 * x[0] * signals, self.gain * (p_delayed - x[1]) / rtt

    def acked(self, x: Any, acks: Any, marks: Any, rtt: Any) -> Any:
        del rtt
        return (acks / x[0], self.gain * (marks - acks * x[1]) / x[0]), 0.5 * x[0] * marks

    def leave_slow_start(self, x: Any) -> Any:
        return x[0], 0.05


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Smooth(pf.Sender):
    """Of one state, with functions of the library, and sends a tenth less than its window."""

    signal: ClassVar = "scalable"
    smallest_window: ClassVar = 0.0
    power: float = 0.4

    def rate(self, w: Any, w_delayed: Any, p_delayed: Any, rtt: Any, rtt_delayed: Any) -> Any:
        return w**self.power / (2.0 * rtt) - 0.5 * w * w_delayed / rtt_delayed * p_delayed

    def sending_rate(self, x: Any, rtt: Any) -> Any:
        return 0.9 * x / rtt


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Integral(pf.Aqm):
    """An integral controller of three states, of which one counts updates."""

    gain: float = 0.2
    update_interval: float = 0.016

    def initial(self) -> tuple[float, ...]:
        return (0.0, 0.0, 0.0)

    def update(self, state: Any, seen: pf.Seen, dt: Any) -> Any:
        late = seen.queue_delay - 0.02
        return state[0] + self.gain * late + 2.0 * (late - state[1]), late, state[2] + dt

    def flow(self, state: Any, seen: pf.Seen, d_queue_delay: Any) -> Any:
        del state
        late = seen.queue_delay - 0.02
        slope = self.gain / self.update_interval * late + 2.0 * d_queue_delay
        return slope, d_queue_delay, 1.0 + 0.0 * late

    def saturate(self, state: Any) -> Any:
        return (minimum(maximum(state[0], 0.0), 1.0), *state[1:])

    def encode(self, u: Any) -> pf.Signal:
        return pf.Signal(u * u, u)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Curve(pf.Aqm):
    """Signals by the queue itself, without updates and without kinks."""

    update_interval: None = None

    def initial(self) -> tuple[float, ...]:
        return (0.0,)

    def update(self, state: Any, seen: pf.Seen, dt: Any) -> Any:
        raise NotImplementedError

    def drift(self, state: Any, seen: pf.Seen) -> Any:
        return ((seen.queue_delay - state[0]) / 0.05,)

    def encode(self, u: Any) -> pf.Signal:
        return pf.Signal(u / (1.0 + u), u / (1.0 + u))

    def signals(self, state: Any, seen: pf.Seen) -> pf.Signal:
        return self.encode(state[0] + 0.2 * seen.queue_delay)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class OwnDual(pf.DualPi2):
    """A dual queue whose Classic packets see more."""

    def encode(self, u: Any) -> pf.Signal:
        classic, scalable = super().encode(u)
        return pf.Signal(minimum(1.2 * classic, 1.0), scalable)


LINK = pf.Link("10Mbit/s")
OWN = [
    pf.Flows(Recalls(), 4, "60ms", name="recalls", slow_start=False),
    pf.Flows(Smooth(), 3, "40ms", name="smooth", slow_start=False),
]
SLOW = [pf.Flows(Recalls(), 4, "60ms", name="recalls"), OWN[1]]


def compare(scenario: pf.Scenario, tolerance: float = 1e-9, **how: Any) -> None:
    got = pf.simulate(scenario, pf.Fluid(**how))
    want = pf.simulate(scenario, pf.Fluid(**how, engine="python"))
    assert (got.attrs["compiled"], want.attrs["compiled"]) == (1, 0)
    for name in ("queue_delay", "window", "p", "controller"):
        a, b = got[name].values, want[name].values
        scale = np.abs(b).max(axis=0, initial=1e-9)
        assert (np.abs(a - b) / scale).max() <= tolerance, name
    assert float(got["queue_delay"].max()) > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("aqm", [pf.Pi2(), Integral(), Curve()], ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("update", ["sampled", "continuous"])
def test_over_one_link(aqm: pf.Aqm, update: str) -> None:
    compare(pf.Scenario("0.7s", LINK, aqm, SLOW), update=update)


@pytest.mark.slow
def test_over_a_dual_queue() -> None:
    compare(pf.Scenario("0.6s", LINK, OwnDual(), OWN))


@pytest.mark.slow
@pytest.mark.parametrize("aqm", [Integral(), Curve()], ids=lambda law: type(law).__name__)
def test_over_routes(aqm: pf.Aqm) -> None:
    nodes = [pf.Node("first", LINK, aqm), pf.Node("second", pf.Link("8Mbit/s"), pf.Pi2())]
    flows = [
        dataclasses.replace(OWN[0], route=["first", "second"], hops=["5ms", "10ms"]),
        dataclasses.replace(OWN[1], route=["second"]),
        dataclasses.replace(OWN[1], route=["first"], name="other"),
    ]
    compare(pf.Scenario("0.4s", network=pf.Network(nodes=nodes, flows=flows)), tolerance=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("aqm", [pf.Pi2(), Integral()], ids=lambda law: type(law).__name__)
def test_by_acknowledgements(aqm: pf.Aqm) -> None:
    compare(pf.Scenario("1s", LINK, aqm, [SLOW[0]]), clock="acks", step=2e-3)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Deaf(pf.Sender):
    """Answers to the delay alone."""

    smallest_window: ClassVar = 0.0

    def rate(self, w: Any, w_delayed: Any, p_delayed: Any, rtt: Any, rtt_delayed: Any) -> Any:
        return 0.5 * (0.05 / rtt_delayed * w + 10.0 - w) / rtt


@pytest.mark.slow
def test_windows_that_hear_no_signals() -> None:
    flows = [pf.Flows(Deaf(), 4, "50ms"), pf.Flows(pf.Cbr(rate="1Mbit/s"), name="steady")]
    compare(pf.Scenario("1s", LINK, pf.TailDrop(), flows))


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Branches(pf.Sender):
    """Cuts less where its window is small."""

    signal: ClassVar = "classic"

    def rate(self, w: Any, w_delayed: Any, p_delayed: Any, rtt: Any, rtt_delayed: Any) -> Any:
        decrease = 0.5 if w > 12.0 else 0.3
        return 1.0 / rtt - decrease * w * w_delayed / rtt_delayed * p_delayed


@pytest.mark.slow
def test_steps_end_where_a_law_branches() -> None:
    scenario = pf.Scenario("2s", LINK, pf.Pi2(), pf.Flows(Branches(), 5, "80ms", slow_start=False))
    compare(scenario, tolerance=1e-7)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Nine(pf.Sender):
    signal: ClassVar = "classic"
    states: ClassVar = ("window", *(f"x{i}" for i in range(8)))

    def initial(self, window: Any) -> Any:
        return (window, *(0.0,) * 8)

    def rate(self, x: Any, x_delayed: Any, p_delayed: Any, rtt: Any, rtt_delayed: Any) -> Any:
        window = 1.0 / rtt - 0.5 * x[0] * x_delayed[0] / rtt_delayed * p_delayed
        return (window, *((x[i] - x[i + 1]) / rtt for i in range(8)))


class Rounded(Smooth):
    def rate(self, w: Any, w_delayed: Any, p_delayed: Any, rtt: Any, rtt_delayed: Any) -> Any:
        return super().rate(float(w), w_delayed, p_delayed, rtt, rtt_delayed)


@pytest.mark.parametrize(
    ("law", "said"),
    [
        (Nine(), "Nine, whose 9 states are more than 8, is not in the compiled engine"),
        (Rounded(), "Rounded, of which no tape can be made .* as float.* is not in the compiled"),
    ],
)
def test_what_no_tape_can_be_made_of_is_named(law: pf.Sender, said: str) -> None:
    scenario = pf.Scenario("0.1s", LINK, pf.Pi2(), pf.Flows(law, 1, "50ms"))
    with pytest.raises(pf.UnsupportedError, match=said):
        pf.simulate(scenario, pf.Fluid(engine="c"))
    assert pf.simulate(scenario, pf.Fluid(sample=0.05)).attrs["compiled"] == 0


class Fails(Smooth):
    def rate(self, w: Any, w_delayed: Any, p_delayed: Any, rtt: Any, rtt_delayed: Any) -> Any:
        slope = super().rate(w, w_delayed, p_delayed, rtt, rtt_delayed)
        return where(w > 3.0, slope / (0.0 * w), slope)


class Loud(pf.Pi2):
    def encode(self, u: Any) -> pf.Signal:
        return pf.Signal(1.0 + u, 1.0 + u)


@pytest.mark.parametrize("how", [{}, {"update": "continuous"}])
def test_a_law_that_fails_is_named(how: dict[str, Any]) -> None:
    flows = pf.Flows(Fails(), 1, "50ms", slow_start=False)
    with pytest.raises(pf.SolverError, match=r"Fails\.rate .* at W = 10, p = 0"):
        pf.simulate(pf.Scenario("1s", LINK, pf.Pi2(), flows), pf.Fluid(**how, step="10ms"))


def test_signals_that_are_no_probabilities_are_named() -> None:
    scenario = pf.Scenario("1s", LINK, Loud(), pf.Flows(Smooth(), 5, "50ms"))
    with pytest.raises(pf.DomainError, match=r"Loud signals \w+ packets with p = "):
        pf.simulate(scenario, pf.Fluid(step="10ms"))
