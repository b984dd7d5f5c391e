"""A queue whose controller runs on while a known signal is added to its p': to measure its loop."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError, show_value
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.aqms.pi2 import Pi2
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.aqms.pushed import PushedQueue
from pi2_fluid.laws.seen import Seen
from pi2_fluid.laws.sines import Sines
from pi2_fluid.ops import Number
from pi2_fluid.records.record import (
    OptionalParameter,
    declares,
    described,
    quantity,
    require_scalars,
)
from pi2_fluid.units import LONG_WAIT

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Line
    from pi2_fluid.values import FloatArray


@dataclass(frozen=True, eq=False, kw_only=True)
class Injected(PushedQueue):
    """A queue with its controller, to whose p' a known signal is added: its loop stays closed.

    At every update the controller's variable is what the controller makes of the delay, plus
    `added` at that instant. Clips act on the sum. `measure_loop` reads the loop L from what comes
    back.

    Parameters
    ----------
    queue : Pi, Pie, Pi2, CoupledPi2 or DualPi2
        Which runs on. It computes in real numbers.
    added : Sines or callable
        What is added to p' (of `Pi` and `Pie`: p) over time (s): sines around 0, also as text, or
        any function that returns a number.
    update_interval : float or str, optional
        Time between updates (s), in place of the queue's; None: as the queue says.

    Raises
    ------
    QuantityError
        If `queue` has no PI controller, or `added` is no signal.
    UnsupportedError
        If the queue computes in integers, or its gains follow a curve.

    Notes
    -----
    Packets update first after `update_interval`, whatever the timer of the variant, so that the
    signal begins when it says. For the loop ask the queue itself.

    Source: injection at one point of a closed loop, as Middlebrook (Int. J. Electronics 38(4),
    1975) does it in circuits.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> law = Injected(queue=pf.Pi2(), added=Sines(0.0, [0.005], [2.0]))
    >>> law.update_interval, law.pushes(0.1).round(6).tolist()
    (0.032, [0.00032, 0.000318, 0.000316, 0.000312])
    >>> state = law.update(law.initial(), Seen(0.02, 10.0, 1e3, 1e3), 0.032)
    >>> print(f"{law.controller(state):.5f}")  # 3.125 Hz times 20 ms, and 0.00032
    0.06282
    """

    discipline = PushedQueue.discipline  # said anew: a subclass is another law

    queue: PiFamily = described(Pi2(), "a law: Pi, Pie, Pi2, CoupledPi2 or DualPi2")
    added: Sines | Callable[[float], float] | None = described(
        None, "sines, in Python also a function"
    )
    update_interval: OptionalParameter = quantity(None, "time", usual=LONG_WAIT, optional=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not can_be_injected(self.queue):
            raise QuantityError(
                f"Injected queue = {show_value(self.queue)} has no PI controller to whose p' a"
                " signal can be added: give Pi(), Pie(), Pi2(), CoupledPi2() or DualPi2()."
            )
        require_scalars(self.queue)
        if self.update_interval is None:
            object.__setattr__(self, "update_interval", self.queue.update_interval)
        else:
            queue = replace(self.queue, update_interval=self.update_interval)
            object.__setattr__(self, "queue", queue)
        if self.queue.arithmetic != "real":
            raise UnsupportedError(
                f"Injected queue has arithmetic = {show_value(self.queue.arithmetic)}, to whose"
                ' integers no signal can be added: give arithmetic = "real".'
            )
        if self.queue.gain_edges is None:
            raise UnsupportedError(
                "Injected queue has gains that follow a curve of p, which has no value where the"
                ' signal takes p below 0: give a table, such as "rfc8033".'
            )
        object.__setattr__(self, "added", _read(self.added))
        self._at(0.0)

    def _at(self, t: Number) -> float:
        added: Any = self.added
        value = added(t)
        if not isinstance(value, (float, int, np.number)) or not math.isfinite(value):
            raise DomainError(
                f"Injected added = {show_value(value)} at {t:g} s is no number that p' can take:"
                " give finite ones."
            )
        return float(value)

    def pushes(self, duration: float) -> FloatArray:
        """Return by how much what is added has changed at each update."""
        interval = float(self.update_interval)  # type: ignore[arg-type]
        times = np.arange(1, int(duration / interval) + 2) * interval
        if isinstance(self.added, Sines):
            values = np.asarray(self.added(times))
        else:
            values = np.array([self._at(t) for t in times.tolist()])
        return np.diff(values, prepend=0.0)

    def pushed(self) -> Aqm:
        """Return its queue."""
        return self.queue

    # The law

    def initial(self) -> tuple[Number, ...]:
        """Return the queue's state before the first packet, and how many updates there were."""
        return (*self.queue.initial(), 0.0)

    def _of_queue(self, state: tuple[Number, ...]) -> tuple[Number, ...]:
        return state[:-1]

    def update(self, state: tuple[Number, ...], seen: Seen, dt: Number) -> tuple[Number, ...]:
        """Return the state after one more: what is added has changed, then the queue updates."""
        u, *rest, done = state
        before = self._at(done * dt) if done else 0.0
        moved = (u + (self._at((done + 1.0) * dt) - before), *rest)
        return (*self.queue.update(moved, seen, dt), done + 1.0)

    def saturate(self, state: tuple[Number, ...]) -> tuple[Number, ...]:
        """Return the state with p' within the clips of the queue."""
        return (*self.queue.saturate(state[:-1]), state[-1])

    def at_rest(self, u: Number, capacity: Number) -> tuple[tuple[Number, ...], Number]:
        """Refuse: what is added never rests."""
        raise UnsupportedError(
            "Injected adds a signal that never rests, so that it has no operating point and no"
            " loop of its own: ask its queue, or measure_loop."
        )

    @property
    def target_delay(self) -> Number | None:
        """The target of the queue (s)."""
        return self.queue.target_delay

    @property
    def spares(self) -> bool:  # type: ignore[override]
        """As the queue says."""
        return self.queue.spares

    @property
    def signals_by_lot(self) -> bool:
        """As the queue says."""
        return self.queue.signals_by_lot

    def packet_parameters(self, link: Line) -> dict[str, Any]:
        """Return the queue's own, with its first update after one interval.

        Raises
        ------
        DomainError, UnsupportedError
            As the queue's.
        """
        return replace(self.queue, first_update=self.update_interval).packet_parameters(link)


def can_be_injected(aqm: Aqm) -> bool:
    """Return whether a signal can be added to the variable of a queue: a PI controller's.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> can_be_injected(pf.Pie()), can_be_injected(pf.CoDel())
    (True, False)
    """
    return isinstance(aqm, PiFamily) and bool(declares(aqm, "encoder"))


def _read(given: object) -> Sines | Callable[[float], float]:
    """Return what a caller, or text, gave as a signal over time."""
    if isinstance(given, str):
        given = Sines.parse(given)
    if isinstance(given, Sines) or callable(given):
        kept: Sines | Callable[[float], float] = given
        return kept
    raise QuantityError(
        f"Injected added = {show_value(given)} is no signal: give Sines(0, ...), text such as"
        ' "0.0 + 0.001 sin(2 t)", or a function of time.'
    )
