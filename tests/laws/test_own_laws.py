"""Laws of one's own: kinks, and one sentence where a law leads nowhere."""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import pytest

import pi2_fluid as pf

law = dataclasses.dataclass(frozen=True, eq=False, kw_only=True)


@law
class Own(pf.Sender):
    """Reno with a decrease that is a function of the window."""

    signal: ClassVar = "classic"

    def decrease(self, w):
        return 0.5

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        return 1 / rtt - self.decrease(w) * w * w_delayed / rtt_delayed * p_delayed


@law
class Jump(Own):
    def decrease(self, w):
        return 0.3 if w < 10 else 0.8


@law
class Untraced(Own):
    """The same jump, where no symbol can follow."""

    def decrease(self, w):
        return 0.3 if float(w) < 10 else 0.8


@law
class Kink(Own):
    """Continuous, with a slope that jumps at 11 segments."""

    def decrease(self, w):
        return 0.5 + (0.2 * (w - 11) if w > 11 else 0.0)


@law
class Divides(Own):
    def decrease(self, w):
        return 0.5 / (12.0 - w if w < 12.0 else 0.0)


@law
class NoNumber(Own):
    def decrease(self, w):
        return 0.5 if w < 12.0 else math.nan


@law
class Unclipped(pf.Pi2):
    def saturate(self, state):
        return state


def scenario(sender, aqm=None, count=10, initial_window=8):
    flows = pf.Flows(sender, count, "100ms", slow_start=False, initial_window=initial_window)
    return pf.Scenario("6s", pf.Link("10Mbit/s"), aqm or pf.Pi2(), flows)


@pytest.mark.slow
def test_a_kink_is_an_event():
    """With steps that end on the kink the error falls as the fourth power.

    The error of a trajectory whose window crosses the kink, between steps of 4 and 2 ms, against
    one of 1 ms.
    """

    def windows(sender, step, engine="auto"):
        described = dataclasses.replace(scenario(sender), duration=3.0)
        result = pf.fluid.simulate(described, step=step, update="continuous", engine=engine)
        return result.window.to_numpy()

    true = windows(Kink(), "1ms")
    assert true.min() < 11 < true.max()
    coarse, fine = (abs(windows(Kink(), step) - true).max() for step in ("4ms", "2ms"))
    assert coarse / fine > 12
    assert abs(windows(Kink(), "2ms", "python") - true).max() < 1.01 * fine


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sender", "says", "hows"),
    [
        (
            Jump(),
            r"stays where Jump\.rate jumps .* make the law continuous there",
            ({"engine": "python"}, {"step": "10ms"}),
        ),
        (
            Untraced(),
            r"Untraced\.rate has a kink or a jump .* use only .* and pi2_fluid\.ops",
            ({},),
        ),
    ],
    ids=["traced", "untraced"],
)
def test_steps_that_vanish_are_given_up_with_one_sentence(sender, says, hows):
    """The window rests on the jump: below it grows, above it falls, and no step leads on."""
    for how in hows:
        with pytest.raises(pf.SolverError, match=rf"{says}") as raised:
            pf.fluid.simulate(scenario(sender), **how)
        assert "at W = 10, p = 0.0" in str(raised.value)
        assert ", t = " in str(raised.value)


@pytest.mark.parametrize(
    ("sender", "says"),
    [
        (Divides(), r"Divides\.rate raises ZeroDivisionError \(.*\) at W = 1[2-9]"),
        (NoNumber(), r"NoNumber\.rate returns no finite number at W = 1[2-9]"),
    ],
)
def test_what_is_no_number_names_law_and_state(sender, says):
    with pytest.raises(pf.SolverError, match=rf"{says}.*, p = .*, R = .* s, t = .* s:"):
        pf.fluid.simulate(scenario(sender, initial_window=13))


def test_signals_are_probabilities():
    with pytest.raises(
        pf.DomainError,
        match=r"Unclipped signals classic packets with p = .*, outside \[0, 1\], where its"
        r" controller is at .*saturate\(state\)",
    ):
        pf.fluid.simulate(scenario(pf.Reno(), Unclipped(), count=400))


def test_packets_name_the_engine_that_takes_any_law():
    for described in (scenario(Own()), scenario(pf.Reno(), Unclipped())):
        with pytest.raises(pf.UnsupportedError, match=r"law of one's own.* use fluid\.simulate"):
            pf.packet.simulate(described, seeds=1)
