"""A queue whose p' is given over time: what flows answer is their response, without a loop."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError, show_value
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.aqms.dualpi2 import DualPi2
from pi2_fluid.laws.aqms.pi2 import Pi2
from pi2_fluid.laws.aqms.pushed import PushedQueue
from pi2_fluid.laws.seen import Seen
from pi2_fluid.laws.sines import Sines
from pi2_fluid.ops import Number
from pi2_fluid.records.record import (
    OptionalParameter,
    Parameter,
    declares,
    described,
    quantity,
    require_scalars,
)
from pi2_fluid.units import LONG_WAIT, parse_quantity, validate_number

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Line
    from pi2_fluid.laws.aqms.pi_family import PiFamily
    from pi2_fluid.values import FloatArray

_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, kw_only=True)
class Imposed(PushedQueue):
    """A queue with a given p' and no controller, to measure with.

    Everything but the controller is that of `queue`: what packets see of p', where they are
    signalled, the bands of a dual queue and how they share the link. p' is what is given at the
    last update, plus, with `hold`, a slow integral that keeps the mean delay where it is meant to
    be. Before the first update nothing is signalled.

    Parameters
    ----------
    queue : Pi2, CoupledPi2 or DualPi2
        Whose controller is replaced. Its gains and its update interval do not count.
    p_prime : float, Sines or callable
        p' over time (s), in [0, 1]: a constant, a mean with sines around it (also as text), or any
        function that returns a number.
    hold : float or str, optional
        Queue delay at which a slow integral keeps the queue (s): p' moves, too, by its mean in
        `hold_time` where the delay is off by all of `hold`. None: p' is what is given alone.
    hold_time : float or str
        Of that integral (s). The mean of a function is taken to be its value at 0.
    update_interval : float or str
        Time between two values of p' (s).

    Raises
    ------
    QuantityError
        If `queue` is none whose p' can be given, or a field no number of its unit.
    DomainError
        If a number is outside its range.

    Notes
    -----
    It rests nowhere, so that it has no operating point and no loop.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> queue = Imposed(queue=pf.DualPi2(), p_prime=Sines(0.1, [0.005], [2.0]), hold="15ms")
    >>> queue.bands, queue.update_interval
    (2, 0.001)
    >>> state = queue.update(queue.initial(), Seen((0.015, 0.0), 10.0, 1e3, 1e3), 1e-3)
    >>> print(f"{queue.controller(state):.5f}")
    0.10001
    """

    discipline = PushedQueue.discipline  # said anew: a subclass is another law

    queue: PiFamily = described(Pi2(), "a law: Pi2, CoupledPi2 or DualPi2")
    p_prime: float | Sines | Callable[[float], float] | None = described(
        None, "a number in [0, 1], sines, in Python also a function"
    )
    hold: OptionalParameter = quantity(None, "time", optional=True)
    hold_time: Parameter = quantity("100s", "time")
    update_interval: Parameter = quantity("1ms", "time", usual=LONG_WAIT)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not can_be_imposed(self.queue):
            raise QuantityError(
                f"Imposed queue = {show_value(self.queue)} has no p' that can be given: give"
                " Pi2(), CoupledPi2() or DualPi2()."
            )
        require_scalars(self.queue)
        object.__setattr__(self, "p_prime", _read(self.p_prime))
        self._given(0.0)
        if isinstance(self.p_prime, Sines) and self.p_prime.lowest < -_ROUNDING:
            raise DomainError(
                f"Imposed p_prime = {show_value(str(self.p_prime))} falls to"
                f" {self.p_prime.lowest:g}, which is no probability: give sines around a mean"
                " above 0, or add them to a running controller's p' (Injected)."
            )
        if isinstance(self.p_prime, Sines) and self.p_prime.highest > 1.0:
            raise DomainError(
                f"Imposed p_prime = {show_value(str(self.p_prime))} rises to"
                f" {self.p_prime.highest:g}, which is no probability: give values in [0, 1]."
            )
        if self.hold is not None and self._mean == 0.0:
            raise DomainError(
                "Imposed p_prime is 0 at first, of which no part can hold the delay: give one"
                " above 0, or no hold."
            )

    # What is given

    @property
    def _mean(self) -> float:
        return self.p_prime.mean if isinstance(self.p_prime, Sines) else self._given(0.0)

    def _given(self, t: Number) -> float:
        given: Any = self.p_prime
        value = given(t) if callable(given) else given
        if not isinstance(value, (float, int, np.number)) or not -_ROUNDING <= value <= 1.0:
            raise DomainError(
                f"Imposed p_prime = {show_value(value)} at {t:g} s is no probability: give values"
                " in [0, 1]."
            )
        return float(value)

    def pushes(self, duration: float) -> FloatArray:
        """Return by how much what is given has changed at each update."""
        count = int(duration / float(self.update_interval)) + 1
        times = np.arange(1, count + 1) * float(self.update_interval)
        if isinstance(self.p_prime, Sines):  # within its bounds wherever it is
            values = self.p_prime(times)
        else:
            values = np.array([self._given(t) for t in times.tolist()])
        return np.diff(values, prepend=0.0)

    def pushed(self) -> Aqm:
        """Return its queue, with a controller that is the slow integral alone."""
        queue = copy(self.queue)
        for name, value in self._integral.items():  # beta = 0 is none that a queue could be given
            object.__setattr__(queue, name, value)
        return queue

    # The law

    def initial(self) -> tuple[Number, ...]:
        """Return p' before the first update, 0, and how many updates there have been."""
        return (0.0, 0.0)

    def update(self, state: tuple[Number, ...], seen: Seen, dt: Number) -> tuple[Number, ...]:
        """Return (p', updates) after one more."""
        p_prime, done = state
        before = self._given(done * dt) if done else 0.0
        step: Number = self._given((done + 1.0) * dt) - before
        if self.hold is not None:
            step += self._gain * (self._driving_delay(seen) - self.hold)
        return (p_prime + step, done + 1.0)

    def _driving_delay(self, seen: Seen) -> Number:
        delay = seen.queue_delay
        return self.queue.driving_delay(delay) if isinstance(self.queue, DualPi2) else delay

    @property
    def _gain(self) -> Number:
        """What an update adds to p' for a delay that is too long (Hz)."""
        if self.hold is None:
            return 0.0
        return self._mean * self.update_interval / (self.hold * self.hold_time)

    def saturate(self, state: tuple[Number, ...]) -> tuple[Number, ...]:
        """Return the state with p' within the clips of the queue."""
        return (self.queue.saturate((state[0], 0.0))[0], state[1])

    def at_rest(self, u: Number, capacity: Number) -> tuple[tuple[Number, ...], Number]:
        """Refuse: it signals what is given."""
        raise UnsupportedError(
            "Imposed signals what is given, whatever the queue does, so that it rests nowhere and"
            " has no loop: ask its queue, or simulate it."
        )

    @property
    def usual_delay(self) -> Number:
        """Where it is held; without `hold` where its queue would be."""
        return self.queue.usual_delay if self.hold is None else self.hold

    # What runs it in packets: the queue's own law, pushed

    def packet_parameters(self, link: Line) -> dict[str, Any]:
        """Return the same of the queue discipline, in real numbers.

        Raises
        ------
        DomainError, UnsupportedError
            As the queue's.
        """
        interval = self.update_interval
        queue = replace(
            self.queue, update_interval=interval, arithmetic="real", first_update=interval
        )
        return queue.packet_parameters(link) | self._integral

    @property
    def _integral(self) -> dict[str, Any]:
        target = self.queue.target if self.hold is None else self.hold
        return {
            "alpha": self._gain,
            "beta": 0.0,
            "target": target,
            "update_interval": self.update_interval,
        }


def can_be_imposed(aqm: Aqm) -> TypeGuard[PiFamily]:
    """Return whether the p' of a queue can be given: whether it says that its variable is one.

    Examples
    --------
    >>> from pi2_fluid.laws.aqms.pi import Pi
    >>> can_be_imposed(DualPi2()), can_be_imposed(Pi())
    (True, False)
    """
    return declares(aqm, "encoder") in ("square", "coupled")


def _read(given: object) -> float | Sines | Callable[[float], float]:
    """Return what a caller, or text, gave as p' over time."""
    if isinstance(given, Sines) or callable(given):
        kept: Sines | Callable[[float], float] = given
        return kept
    if isinstance(given, str) and " t " in given:
        return Sines.parse(given)
    if isinstance(given, str):
        given = parse_quantity(given, "number", "Imposed p_prime")
    return validate_number(given, "number", "Imposed p_prime", high=1.0, closed=True)
