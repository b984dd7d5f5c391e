"""Sixteen delay-differential problems of the literature, as senders of one class on one link.

A window is y, moved up where y may be negative. Where the delay is constant, the queue is empty and
the delay is `base_rtt`. Where it moves, the queue is the delay: `sending_rate` says C (1 + D'), so
that q/C + base_rtt is D. D' may need y(t - D), which rates of sending do not hear: then that is a
state of its own, w(t) = y(t - D(t)), w' = y'(t - D) (1 - D').

Where what happens before the problem's beginning matters, the run begins earlier: a clock tells the
law since when the equation holds. Until then y goes along its given past, and the delay stands.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar, NamedTuple

import pi2_fluid as pf
from pi2_fluid.ops import exp, maximum, where

C = 1000.0  # packets/s
UP = 10.0  # by how much what may be negative is moved up


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Equation(pf.Sender):
    """A delay-differential equation: `rate` is its right-hand side."""

    signal: ClassVar = "classic"
    smallest_window: ClassVar = 0.0
    begins: ClassVar[tuple[float, ...]] = ()

    def initial(self, window):
        begins = (window, *self.begins)
        return begins if len(begins) > 1 else window


class Problem(NamedTuple):
    """A problem: which window is known when, exactly or from another method."""

    source: str
    law: pf.Sender
    window: float
    base_rtt: float
    duration: float
    exact: Callable[[float], float] | None = None
    """The window at a time of the run, where it is known."""
    delay: float | None = None
    """The delay in the beginning (s), where it moves."""

    @property
    def scenario(self):
        """The problem as a scenario."""
        flows = pf.Flows(
            self.law, 1, self.base_rtt, initial_window=self.window, slow_start=False, name="y"
        )
        capacity = 12e3 * C if self.delay is not None else "100Gbit/s"
        link = pf.Link(capacity, "1000000 packets")
        return pf.Scenario(self.duration, link, pf.TailDrop(), flows)

    @property
    def initial(self):
        """How it begins."""
        waits = 0.0 if self.delay is None else self.delay - self.base_rtt
        return {"window": [self.window], "queue": waits * C}


# --- constant delays


class Simplest(Equation):
    """y' = -y(t - 1)."""

    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        return UP - x_delayed


def by_steps(t, before=1):
    """y' = -y(t - 1), y = 1 before 0, by rational numbers: a polynomial on each unit interval."""
    t, n = Fraction(t), 0
    piece = past = [Fraction(before)]  # coefficients in the time since n
    while True:
        piece = [sum(piece) if n else past[0], *(-c / (k + 1) for k, c in enumerate(past))]
        if t <= n + 1:
            return float(sum(c * (t - n) ** k for k, c in enumerate(piece)))
        past, n = piece, n + 1


class Relay(Equation):
    """y' = -sign y(t - 1)."""

    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        return where(x_delayed > UP, -1.0, 1.0)


def triangle(t):
    """The relay from y = 1/2: down to -1 at 1.5, up to 1 at 3.5, and so on."""
    if t <= 1.5:
        return 0.5 - t
    part = (t - 1.5) % 4.0
    return part - 1.0 if part <= 2.0 else 3.0 - part


class MackeyGlass(Equation):
    """y' = 0.2 y(t - 14)/(1 + y(t - 14)^10) - 0.1 y, in units of 14."""

    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        return 14.0 * (0.2 * x_delayed / (1.0 + x_delayed**10) - 0.1 * x)


class Wheldon(Equation):
    """Chronic granulocytic leukemia, in units of 20."""

    states: ClassVar = ("window", "blood")
    begins: ClassVar = (1.030713491 / 3,)

    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        marrow, blood = x
        leaves = 10.0 * marrow / (1.0 + 40.0 * blood)
        made = 1.1 / (1.0 + math.sqrt(10.0) * x_delayed[0] ** 1.25)
        return 20.0 * (made - leaves), 20.0 * (10.0 * leaves - 2.43 * blood)


class Logistic(Equation):
    """y' = 3.5 y (1 - y(t - 0.74)/19)."""

    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        return 3.5 * x * (1.0 - x_delayed / 19.0)


class Enzymes(Equation):
    """Four concentrations, of which the last inhibits the first after 4 s."""

    states: ClassVar = ("window", "second", "third", "fourth")
    begins: ClassVar = (10.0, 10.0, 20.0)

    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        first, second, third, fourth = x
        z = 1.0 / (1.0 + 0.0005 * x_delayed[3] ** 3)
        return 10.5 - z * first, z * first - second, second - third, third - 0.5 * fourth


class Heart(Equation):
    """The baroreflex, 4 s late: pressures of arteries and veins, pulse; R sinks by 0.21."""

    states: ClassVar = ("window", "veins", "pulse", "more")
    begins: ClassVar = (
        93.0 / (1.0 + 1.05 / 0.068),
        93.0 / (1.05 * 67.9) / (1.0 + 0.068 / 1.05),
        0.21,
    )

    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        arteries, veins, pulse, more = x
        resistance = 0.84 + more
        through = (arteries - veins) / resistance
        sympathetic = 1.0 / (1.0 + (x_delayed[0] / 93.0) ** 7)
        vagal = 1.0 / (1.0 + (93.0 / arteries) ** 7)
        return (
            (67.9 * pulse - through) / 1.55,
            (through - veins / 0.068) / 519.0,
            0.84 * sympathetic - 1.17 * vagal,
            -more,
        )


class Blowflies(Equation):
    """y' = 30 y(t - 1) exp(-y(t - 1)) - 3 y."""

    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        return 30.0 * x_delayed * exp(-x_delayed) - 3.0 * x


class PredatorPrey(Equation):
    """Predators that grow by what was eaten 1 s ago."""

    states: ClassVar = ("window", "predators")
    begins: ClassVar = (30.0,)

    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        prey, predators = x
        return (
            0.25 * prey * (1.0 - prey / 200.0) - 0.01 * prey * predators,
            0.01 * x_delayed[0] * x_delayed[1] - predators,
        )


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Since(Equation):
    """An equation that holds from `since` on, by a clock that is its second state."""

    states: ClassVar = ("window", "clock")
    since: float = 0.0
    early: float = 0.5
    """How long before that the run begins."""

    def initial(self, window):
        return (window, self.since - self.early, *self.begins)


class JumpBefore(Since):
    """y' = y - y(t - 1/5), y = 0 before 0 and y(0) = 1: a past that jumps."""

    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        past = where(x_delayed[1] < self.since, 0.0, x_delayed[0] - UP)
        return where(x[1] < self.since, 0.0, x[0] - UP - past), 1.0


def after_jump(t):
    """Its solution, a sum over what has come back so often."""
    t -= 0.5
    return sum(
        (-1.0) ** k * (t - k / 5) ** k / math.factorial(k) * math.exp(t - k / 5)
        for k in range(int(t * 5) + 1)
    )  # fmt: skip


# --- delays that depend on time


class Logarithm(Since):
    """y' = 1 - y(exp(1 - 1/t)), from t = 2 on: y = log t."""

    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        return where(x[1] < self.since, 1.0 / x[1], 1.0 - x_delayed[0]), 1.0

    def sending_rate(self, x, rtt):
        speed = exp(1.0 - 1.0 / x[1]) / (x[1] * x[1])
        return C * where(x[1] < self.since, 1.0, 2.0 - speed)


class Halved(Since):
    """y' = -1 - y, and 2 more where y(t/2) < 0; from t = 1 on."""

    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        more = where((x[1] >= self.since) & (x_delayed[0] < UP), 2.0, 0.0)
        return more - 1.0 - (x[0] - UP), 1.0

    def sending_rate(self, x, rtt):
        return C * where(x[1] < self.since, 1.0, 1.5)


def halved(t):
    """Its solution: three exponentials."""
    t += 0.5
    if t <= 2.0 * math.log(2.0):
        return 2.0 * math.exp(-t) - 1.0
    return 1.0 - 6.0 * math.exp(-t) if t <= 2.0 * math.log(6.0) else 66.0 * math.exp(-t) - 1.0


# --- delays that depend on the state


class Folded(Since):
    """y' = -2 y(t - 1 - |y|) (1 - y^2), y = 1/2 before 0."""

    states: ClassVar = ("window", "clock", "heard")
    begins: ClassVar = (0.5,)

    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        slope = -2.0 * (x_delayed[0] - UP) * (1.0 - (x[0] - UP) ** 2)
        slope_then = -2.0 * x_delayed[2] * (1.0 - (x_delayed[0] - UP) ** 2)
        slope_then = where(x_delayed[1] < self.since, 0.0, slope_then)
        before = x[1] < self.since
        heard = slope_then * (1.0 - self._lengthens(x))
        return where(before, 0.0, slope), 1.0, where(before, 0.0, heard)

    def _lengthens(self, x):
        y = x[0] - UP
        return where(y < 0.0, -1.0, 1.0) * -2.0 * x[2] * (1.0 - y * y)

    def sending_rate(self, x, rtt):
        return C * (1.0 + where(x[1] < self.since, 0.0, self._lengthens(x)))


def _size(x):
    return maximum(x, -x)


class TwoStates(Since):
    """y' = -2 y(t - D), D' = (|y(t - D)| - |y|)/(1 + |y(t - D)|)."""

    states: ClassVar = ("window", "clock", "heard")
    begins: ClassVar = (1.0,)

    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        before = x[1] < self.since
        slope_then = where(x_delayed[1] < self.since, 0.0, -2.0 * x_delayed[2])
        heard = slope_then * (1.0 - self._lengthens(x))
        slope = -2.0 * (x_delayed[0] - UP)
        return where(before, 0.0, slope), 1.0, where(before, 0.0, heard)

    def _lengthens(self, x):
        then = _size(x[2])
        return (then - _size(x[0] - UP)) / (1.0 + then)

    def sending_rate(self, x, rtt):
        return C * (1.0 + where(x[1] < self.since, 0.0, self._lengthens(x)))


class LogOfItself(Since):
    """y' = y y(log y - 1)/(t + 1), y = 1 before 0."""

    states: ClassVar = ("window", "clock", "heard")
    begins: ClassVar = (1.0,)

    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        before = x[1] < self.since
        slope_then = x_delayed[0] * x_delayed[2] / (x_delayed[1] + 1.0)
        slope_then = where(x_delayed[1] < self.since, 0.0, slope_then)
        slope = x[0] * x_delayed[0] / (x[1] + 1.0)
        heard = slope_then * x[2] / (x[1] + 1.0)
        return where(before, 0.0, slope), 1.0, where(before, 0.0, heard)

    def sending_rate(self, x, rtt):
        return C * where(x[1] < self.since, 1.0, 2.0 - x[2] / (x[1] + 1.0))


def log_of_itself(t):
    """Its solution: three pieces."""
    t -= 0.5
    if t <= 0.0:
        return 1.0
    if t <= math.e - 1.0:
        return t + 1.0
    if t <= math.e**2 - 1.0:
        return math.exp((t + 1.0) / math.e)
    return (math.e / (3.0 - math.log(t + 1.0))) ** math.e


class Reciprocal(Since):
    """y1' = y2, y2' = -y2(exp(1 - y2)) y2^2 exp(1 - y2), from t = 2 on: y1 = log t, y2 = 1/t."""

    states: ClassVar = ("window", "clock", "slope", "heard")

    def initial(self, window):
        begin = self.since - self.early
        return (window, begin, 1.0 / begin, math.exp(1.0 / self.since - 1.0))

    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        before = x[1] < self.since
        falls = -x_delayed[2] * x[2] * x[2] * exp(1.0 - x[2])
        fell = where(
            x_delayed[1] < self.since,
            -1.0 / (x_delayed[1] * x_delayed[1]),
            -x_delayed[3] * x_delayed[2] * x_delayed[2] * exp(1.0 - x_delayed[2]),
        )
        return (
            where(before, 1.0 / x[1], x[2]),
            1.0,
            where(before, -1.0 / (x[1] * x[1]), falls),
            where(before, 0.0, fell * self._moves(x)),
        )

    def _moves(self, x):
        """How fast the instant moves that is heard."""
        read = exp(1.0 - x[2])
        return read * read * x[3] * x[2] * x[2]

    def sending_rate(self, x, rtt):
        return C * where(x[1] < self.since, 1.0, 2.0 - self._moves(x))


#: Where a problem has parameters, they are those of its source, unless it says otherwise.
PROBLEMS = {
    "linear": Problem(
        "Hairer, Norsett, Wanner, Solving ODEs I, II.17, (17.3)",
        Simplest(), UP + 1.0, 1.0, 8.0, lambda t: UP + by_steps(t),
    ),
    "relay": Problem(
        "Shustin, Fridman, Fridman (1993), the simplest relay",
        Relay(), UP + 0.5, 1.0, 8.0, lambda t: UP + triangle(t),
    ),
    "blood cells": Problem(
        "Mackey, Glass (1977); Enright, Hayashi (1997), A1", MackeyGlass(), 0.5, 1.0, 6.0
    ),
    "leukemia": Problem(
        "Wheldon, Kirk, Finlay (1974); Enright, Hayashi (1997), A2",
        Wheldon(), 1.05767027 / 3, 1.0, 2.0,
    ),
    "logistic": Problem(
        "Tavernini (1996); Shampine, Thompson (2001), from 12 instead of near the rest at 19",
        Logistic(), 12.0, 0.74, 8.0,
    ),
    "enzymes": Problem(
        "Okamoto, Hayashi (1984); Hairer, Norsett, Wanner, II.17, (17.16)",
        Enzymes(), 60.0, 4.0, 24.0,
    ),
    "heart": Problem(
        "Ottesen (1997); Shampine, Thompson (2001), from the time when R begins to sink",
        Heart(), 93.0, 4.0, 24.0,
    ),
    "blowflies": Problem(
        "Gurney, Blythe, Nisbet (1980), in units of the delay, P = 30 and d = 3",
        Blowflies(), 0.5, 1.0, 10.0,
    ),
    "predators": Problem(
        "Wangersky, Cunningham (1957), with a limit of 200", PredatorPrey(), 80.0, 1.0, 20.0
    ),
    "jump in the past": Problem(
        "Heffernan, Corless (2006)", JumpBefore(), UP + 1.0, 0.2, 3.5,
        lambda t: UP + (1.0 if t <= 0.5 else after_jump(t)),
    ),
    "logarithm": Problem(
        "Neves (1975); Enright, Hayashi (1997), B1, from t = 2",
        Logarithm(since=2.0, early=0.4), math.log(1.6), 0.2, 6.4,
        lambda t: math.log(t + 1.6), 2.0 - math.exp(0.5),
    ),
    "half the time": Problem(
        "Neves, Thompson (1992); Enright, Hayashi (1997), B2, from t = 1",
        Halved(since=1.0), UP + halved(0.0), 0.25, 7.5, lambda t: UP + halved(t), 0.5,
    ),
    "longer by |y|": Problem(
        "Paul (1994); Enright, Hayashi (1997), C1", Folded(), UP + 0.5, 0.5, 10.0, None, 1.5
    ),
    "a delay of its own": Problem(
        "Paul (1994); Enright, Hayashi (1997), C2", TwoStates(), UP + 1.0, 0.1, 10.0, None, 0.5
    ),
    "log of itself": Problem(
        "Paul (1992); Corwin, Sarafyan, Thompson (1997)",
        LogOfItself(), 1.0, 0.5, 8.5, log_of_itself, 1.0,
    ),
    "reciprocal": Problem(
        "Neves (1975); Enright, Hayashi (1997), D1, from t = 2",
        Reciprocal(since=2.0, early=0.4), math.log(1.6), 0.2, 5.4,
        lambda t: math.log(t + 1.6), 2.0 - math.exp(0.5),
    ),
}  # fmt: skip
