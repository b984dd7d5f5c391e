"""DualPI2: the coupled controller over two queues, and the L4S queue's own marking."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from pi2_fluid.errors import DomainError, UnsupportedError, show_value
from pi2_fluid.laws.aqm import Signal
from pi2_fluid.laws.aqms.coupled import CoupledFamily, CoupledPi2
from pi2_fluid.laws.aqms.pi_family import (
    PiFamily,
    controller_numbers,
    controller_parameters,
    dualpi2_gains,
    first_update_of,
)
from pi2_fluid.laws.kernel.units import (
    AT_ENQUEUE,
    COUPLING,
    MICROSECONDS,
    PACKETS,
    PERCENT,
    SWITCH,
)
from pi2_fluid.laws.packet_limits import (
    require_below,
    require_single,
    require_time,
    require_whole,
    require_whole_packets,
)
from pi2_fluid.laws.seen import Seen
from pi2_fluid.ops import Number, maximum, minimum, namespace, where
from pi2_fluid.records.record import OptionalParameter, Parameter, again, choice, quantity
from pi2_fluid.units import LONG_WAIT

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Line

# The ramp's inverse and back may exceed 1 by a rounding error; that is not its upper corner.
_ROUNDING: Final = 1e-12
_LARGEST: Final = 1e6  # Hz, and of k: what packets compute with
#: What does not depend on there being two queues.
_OF_ONE_QUEUE: Final = (
    *("alpha", "beta", "target", "update_interval", "k", "drop_at"),
    *PiFamily.packets_only,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class DualPi2(CoupledFamily):
    """DualPI2: a Classic and an L4S queue ("C" and "L") behind one PI controller.

    The controller's variable is p'. Classic packets see p'^2. L4S packets, those of Scalable
    senders, see max(k p', native), where native is the L queue's own marking: 1 while its delay
    exceeds `step`, or, with `ramp`, rising linearly from 0 to 1 around `step`.

    **Delays.** With two queues every delay is a pair (Classic, L4S). The controller acts on the
    larger of the two ("linux6.18"), or on that of C alone ("rfc9332", Appendix A.1). It is the
    backlog over the rate at which the queue is served (`serve`, `delays`), so the delay of C grows
    when L takes more of the link. Kernels measure the time that the head packet has spent in the
    queue, which lags behind that by up to itself; where L traffic dominates, this makes the loop
    worse than the one described here.

    **Sharing.** The queues take turns by weight: C is left a fraction `c_protection` of the link
    while both have packets, and a queue without backlog is served as its packets come. In the fluid
    that is generalised processor sharing; the credit of single packets in the kernel's weighted
    round robin is not modelled. Nor are the drops of L packets at p' > 1/k (`drop_overload`): they
    see the probability 1.

    Parameters
    ----------
    alpha, beta
        Gains on p' in Hz.
    target, update_interval, arithmetic, quirks, first_update
        As in `PiFamily`; the target is that of C.
    k : float, default 2
        Coupling factor, > 0.
    step : float or str
        Delay of L above which all its packets are marked (s).
    ramp : float or str, optional
        Width of a linear ramp centred on `step` (s), at most twice `step`; None for a step. RFC
        9332's default, 0.8 to 1.2 ms, is step "1ms" with ramp "400us".
    c_protection : float, default 0.1
        Fraction of the link that C gets at least while it has packets. At 0, L4S packets always go
        first, at 1 Classic ones; the fluid, in which the others would wait for ever, lies between.
    drop_overload : bool, default True
        Whether p' may rise beyond 1/k, where L is full of marks and its packets are dropped, too;
        otherwise p' stays at or below 1/k.
    drop_at : {"dequeue", "enqueue"}
        Where packets are signalled (packets, and loops by acknowledgements, only).
    min_step_packets : float or str, default 0
        Packets that must wait in L when a packet arrives for L's own marking to apply to it; a
        whole number (packets only).
    variant : {"linux6.18", "rfc9332"}
        Which delay drives the controller.

    Raises
    ------
    QuantityError
        If a field is no number of its unit, or a word that it does not know.
    DomainError
        If a number is outside its range, as alpha = 0 is: without it
        the delay never settles at its target.

    Notes
    -----
    Source: RFC 9332, section 2 and Appendix A; Linux, sch_dualpi2.

    Examples
    --------
    >>> queue = DualPi2()
    >>> seen = Seen((0.015, 0.0005), 20.0, 1000.0, 1000.0)
    >>> classic, scalable = queue.signals((0.1, 0.015), seen)
    >>> print(f"{classic:.2f} {scalable:.2f}")
    0.01 0.20
    >>> queue.signals((0.1, 0.015), seen._replace(queue_delay=(0.015, 0.0011))).scalable
    1.0
    """

    discipline: ClassVar = "dualpi2"
    encoder: ClassVar = "coupled"
    bands: ClassVar[int] = 2
    rests_apart: ClassVar = True
    packets_only: ClassVar = (*CoupledFamily.packets_only, "drop_at", "min_step_packets")

    alpha: Parameter = again(CoupledFamily, "alpha", 0.16)
    beta: Parameter = again(CoupledFamily, "beta", 3.2)
    target: Parameter = again(CoupledFamily, "target", "15ms")
    update_interval: Parameter = again(CoupledFamily, "update_interval", "16ms")
    step: Parameter = quantity(
        "1ms", "time", usual=LONG_WAIT, tc="step_thresh", kernel=MICROSECONDS
    )
    ramp: OptionalParameter = quantity(None, "time", usual=LONG_WAIT, optional=True)
    c_protection: Parameter = quantity(
        0.1, "number", high=1.0, closed=True, tc="classic_protection", kernel=PERCENT
    )
    drop_overload: bool = choice(True, (True, False), tc="drop_on_overload", kernel=SWITCH)
    drop_at: str = choice("dequeue", ("dequeue", "enqueue"), tc="drop_enqueue", kernel=AT_ENQUEUE)
    variant: str = choice("linux6.18", ("linux6.18", "rfc9332"))
    min_step_packets: Parameter = quantity(
        0.0, "packets", closed=True, tc="min_qlen_step", kernel=PACKETS
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        traced = namespace(self.ramp, self.step) is not np
        if self.ramp is not None and not traced and np.any(np.greater(self.ramp, 2 * self.step)):
            raise DomainError(
                f"DualPi2 ramp = {show_value(self.ramp)} around step = {show_value(self.step)}"
                " begins below a delay of 0: give ramp up to twice step."
            )

    # The controller

    def driving_delay(self, queue_delay: tuple[Number, Number]) -> Number:
        """Return the delay that the controller acts on, of (Classic, L4S)."""
        classic, l4s = queue_delay
        if self.variant == "rfc9332":
            return classic
        return where(classic >= l4s, classic, l4s)  # `maximum` has half a derivative at a tie

    def update(self, state: tuple[Number, ...], seen: Seen, dt: Number) -> tuple[Number, ...]:
        """Return (p', delay) after one update."""
        delay = self.driving_delay(seen.queue_delay)
        return super().update(state, seen._replace(queue_delay=delay), dt)

    def flow(
        self, state: tuple[Number, ...], seen: Seen, d_queue_delay: Number
    ) -> tuple[Number, ...]:
        """Refuse: with two queues the delay jumps whenever one of them runs empty."""
        raise UnsupportedError(
            "DualPi2 has two queues, whose delays jump as one runs empty, so that its controller"
            ' has no continuous form: use update="sampled".'
        )

    def in_one_queue(self) -> CoupledPi2:
        """Return the controller with one queue, where L4S packets wait behind Classic ones."""
        return CoupledPi2(ecn=True, **{name: getattr(self, name) for name in _OF_ONE_QUEUE})

    @property
    def kept_for_classic(self) -> Number:
        """The fraction of the link that C gets at least while it has packets."""
        return self.c_protection

    @property
    def marking_step(self) -> Number:
        """`step`, unless a ramp leads there."""
        return math.inf if self.ramp else self.step

    @property
    def limit(self) -> Number:
        """The largest p': 1, or 1/k without `drop_overload`."""
        return 1.0 if self.drop_overload else minimum(1.0, 1.0 / self.k)

    # What configures it in the kernel

    def packet_parameters(self, link: Line) -> dict[str, Any]:
        """Return what configures the queue discipline, named as in native/packet/queues/dualpi2.c.

        Raises
        ------
        DomainError
            If packet_size is no whole number of bytes, c_protection none of percent,
            min_step_packets none of packets, an interval too long, or, with
            ``arithmetic="fixed"``, k none of 1, 2 ... 255 or a gain that the kernel's integers miss
            by more than 1 %.
        UnsupportedError
            If a field holds an array.
        """
        fixed = self.arithmetic == "fixed"
        self._require_countable(link)
        return (
            controller_numbers(self)
            | (dualpi2_gains(self) if fixed else {})
            | {
                "k": self.k,
                "step": self.step,
                "ramp": self.ramp or 0.0,
                "c_protection": self.c_protection,
                "classic_drives": self.variant == "rfc9332",
                "drop_overload": self.drop_overload,
                "at_enqueue": self.drop_at == "enqueue",
                "min_step_packets": self.min_step_packets,
                "fixed": fixed,
                "quirks": self.quirks,
                "first_update": first_update_of(self, late=False),
            }
        )

    def update_parameters(self, link: Line) -> tuple[str, dict[str, Any]]:
        """Return the coupled controller's, which updates likewise at the delay that drives it."""
        self._require_countable(link)
        return "coupled", controller_parameters(self)

    def _require_countable(self, link: Line) -> None:
        require_single(self)
        require_whole_packets(link)
        require_whole(
            PERCENT.per_si * self.c_protection,
            f"DualPi2 c_protection = {show_value(self.c_protection)} is no whole number of percent,"
            " which the queue discipline counts in: give one of 0, 0.01, 0.02 ... 1.",
        )
        require_whole(
            self.min_step_packets,
            f"DualPi2 min_step_packets = {show_value(self.min_step_packets)} is no whole number of"
            " packets: give one, such as 2.",
        )
        if self.arithmetic == "fixed" and self.k not in COUPLING.numbers:
            raise DomainError(
                f"DualPi2 k = {show_value(self.k)} is none of 1, 2 ... {COUPLING.high}, which"
                ' Linux can couple by: give one of them, or arithmetic = "real".'
            )
        for name in ("target", "step", "update_interval"):
            require_time(f"DualPi2 {name}", getattr(self, name))
        require_time("DualPi2 first_update", first_update_of(self, late=False))
        for name in ("alpha", "beta", "k"):
            require_below(f"DualPi2 {name}", getattr(self, name), _LARGEST)

    # The signals

    @property
    def ramp_ends(self) -> tuple[Number, Number]:
        """The delays of L (s) at which its own marking begins and is complete."""
        half = 0.0 if self.ramp is None else 0.5 * self.ramp
        return self.step - half, self.step + half

    def native(self, l4s_delay: Number) -> Number:
        """Return the probability with which L marks by itself, at its queue delay (s)."""
        if self.ramp is None:
            return where(l4s_delay > self.step, 1.0, 0.0)
        inner = (l4s_delay - self.ramp_ends[0]) / self.ramp
        return where(inner > 0.0, where(inner <= 1.0 + _ROUNDING, inner, 1.0), 0.0)

    def signals(self, state: tuple[Number, ...], seen: Seen) -> Signal:
        """Return (p'^2, max(k p', native)), the second at most 1."""
        classic, coupled = self.encode(self.controller(state))
        native = self.native(seen.queue_delay[1])
        return Signal(classic, where(coupled >= native, coupled, native))

    def holds(self) -> bool:
        """Return True: what C packets see is the controller's."""
        return True

    # The link

    def serve(
        self, backlogged: Sequence[Any], arrivals: Sequence[Number], capacity: Number
    ) -> tuple[Number, Number]:
        """Return what C and L get of the link, as `Aqm.serve`: C a part if both have a backlog."""
        need_c, need_l = (
            where(waiting, np.inf, arriving)
            for waiting, arriving in zip(backlogged, arrivals, strict=True)
        )
        protected = self.c_protection * capacity
        to_c = minimum(need_c, maximum(protected, capacity - need_l))
        to_l = minimum(need_l, maximum(capacity - protected, capacity - need_c))
        return to_c, to_l

    def delays(self, queues: Sequence[Number], served: Sequence[Number]) -> tuple[Number, Number]:
        """Return the queue delays (s), as `Aqm.delays`: backlog over service rate, 0 if empty."""
        classic, l4s = (
            where(queue > 0.0, queue / where(queue > 0.0, rate, 1.0), 0.0 * queue)
            for queue, rate in zip(queues, served, strict=True)
        )
        return classic, l4s

    # At rest

    def at_rest(self, u: Number, capacity: Number) -> tuple[tuple[Number, ...], Any]:
        """Return the state and both delays at rest beside Classic traffic: (target, 0)."""
        return (u, self.target), (self.target, 0.0 * self.target)

    def at_rest_alone(self, p: Number) -> tuple[Number, Number]:
        """Return p' and the delay of L at which L4S traffic alone sees the probability `p`.

        On the ramp, with the controller at 0. Under "linux6.18" the controller takes over if L's
        own marking would let its delay exceed the target.

        Raises
        ------
        UnsupportedError
            If L's own marking is a step below the target: it never rests, but switches to and fro.
        """
        zero = 0.0 * p
        delay = self.ramp_ends[0] + p * (0.0 if self.ramp is None else self.ramp)
        takes_over = delay > self.target if self.variant == "linux6.18" else False
        if self.ramp is None and not np.all(takes_over):
            raise UnsupportedError(
                "DualPi2 marks L4S traffic alone by a step, which switches to and fro and never"
                ' rests, so that there is no loop: give a ramp, e.g. ramp = "400us", or add'
                " Classic flows."
            )
        return (
            where(takes_over, p / self.k, zero),
            where(takes_over, self.target + zero, delay),
        )
