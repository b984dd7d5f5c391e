"""RED: every packet moves an average of the queue, and a profile turns it into a probability."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from pi2_fluid.errors import DomainError, UnsupportedError, show_value
from pi2_fluid.laws.aqm import Aqm, Signal
from pi2_fluid.laws.aqms.red_ramps import (
    SECOND_RAMP,
    anywhere,
    check_second_ramp,
    count_in_packets,
    require_integers,
)
from pi2_fluid.laws.packet_limits import require_single, require_time, require_whole_packets
from pi2_fluid.laws.seen import Seen
from pi2_fluid.ops import Number, log1p, maximum, minimum, where
from pi2_fluid.records.record import OptionalParameter, Parameter, choice, numbers_of, quantity
from pi2_fluid.units import LONG_WAIT, is_traced

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Line

# Adaptive RED: where in the span from min to max the average is to be, how max_p is moved there
# and within which limits (Floyd, Gummadi, Shenker, section 3).
_BAND: Final = (0.4, 0.6)
_LARGEST_STEP: Final = 0.01
_SHARE: Final = 4.0
_SHRINK: Final = 0.9
_SMALLEST: Final = 0.01
_LARGEST: Final = 0.5
_INTERVAL: Final = 0.5

_THRESHOLD = quantity(None, "packets")
_MARKS = quantity(None, "packets", optional=True)

#: Distances between the signals, in the order of their numbers in the kernel.
_SPACINGS: Final = ("uniform", "wait", "none")
_MOST_BYTES: Final = 1e9


@dataclass(frozen=True, eq=False, kw_only=True)
class Red(Aqm):
    """RED, and adaptive RED: p follows a profile of the averaged queue.

    Each arriving packet moves the average by the fraction `weight` towards the queue. The profile
    is 0 below `min`, rises linearly to `max_p` at `max`, and from there to 1 at twice `max` if
    `gentle`, or is 1 above `max`. The state is (average in packets, max_p).

    The probability is the profile's own, p_b. Linux and ns space their signals evenly instead of
    drawing each one alone, and that changes how many there are: in Linux, and in ns without "wait",
    the distance between two signals is uniform on 0 .. 1/p_b packets, its mean 1/(2 p_b), so that
    up to twice as many packets are signalled; in ns with "wait", its default, it is uniform on
    1/p_b .. 2/p_b, its mean 1.5/p_b; packet simulations do as `spacing` says. The decay of the
    average while the link is idle is not modelled by the fluid: nothing arrives then.

    Loops and operating points keep the average of an adaptive RED within its target band by the
    `max_p` to which it adapts, and then hold that `max_p`: it moves over many seconds.

    The threshold K of a switch for DCTCP is a step: ``Red(min=K, max=K, weight=1, gentle=False,
    ecn=True)``, where every packet is marked that finds K packets or more.

    Switches have a second ramp for packets that can be marked: ``Red(min="2MB", max="8MB",
    weight=1, gentle=False, ecn=True, mark_min="500kB", mark_max="2MB", mark_max_p=0.05)`` marks
    those long before it drops others. One average serves both, and each ramp spaces its own
    signals. Such a queue never drops what it can mark, but where it is full, or by `harddrop`.

    Parameters
    ----------
    min, max : float or str
        Thresholds on the average queue (packets), max >= min; the profile is a step where they are
        equal, of which there is no linear loop. Or a size, such as ``"104kB"``: bytes, in packets
        of `packet_size`.
    max_p : float, default 0.1
        Probability at `max`, in (0, 1]; where adaptation begins, if adaptive.
    weight : float, default 0.002
        Of one packet in the average, in (0, 1]; 1 takes the queue as it is, for packets only.
    gentle : bool, default True
        Whether the profile rises to 1 between `max` and twice `max`.
    adaptive : bool, default False
        Whether max_p is adapted every `update_interval`.
    update_interval : float or str, optional
        Only if adaptive: time between two adaptations (s), 0.5 if not given.
    ecn : bool, default False
        Whether packets that can be marked are marked instead of dropped (packets only).
    harddrop : bool, default False
        Whether these, too, are dropped where the profile is 1, as RFC 3168, section 7, advises and
        ns-3 does by default (packets only; in `tc`, "ecn harddrop").
    nodrop : bool, default False
        Whether what cannot be marked passes, with `ecn`, instead of being dropped; `harddrop` drops
        it nevertheless where the profile is 1 (packets only; in `tc`, "ecn nodrop").
    mark_min, mark_max : float or str, optional
        Of a second ramp, for packets that can be marked, as `min` and `max` are: from `mark_max` on
        all of them are marked. The first is for the others then (packets only; with `ecn`).
    mark_max_p : float, default 0.1 with a second ramp
        Its probability at `mark_max`, in (0, 1].
    bytes : bool, default True
        Whether the queue is counted in bytes, as Linux and switches do, so that small packets are
        parts of a full one; or in packets of whatever size (packets only).
    packet_size : float or str, optional
        Bytes of a full packet, in which thresholds are counted that were given as sizes: those of
        the link. 1500 if not given, and some threshold is a size.
    arithmetic : {"real", "fixed"}
        "fixed" counts in the integers of Linux, which has no `gentle` and only weights 1, 1/2,
        1/4 ... 2^-31, and spaces its signals uniformly (packets only).
    idle_decay : bool, default False
        Whether the average decays while the link is idle (packets only). Linux knows that only
        where RED is asked for packets in vain, which a token bucket above it does not do.
    spacing : {"uniform", "wait", "none"}
        How many packets pass from one signal to the next (packets only): uniform on 0 .. 1/p_b, as
        in Linux; uniform on 1/p_b .. 2/p_b, as in ns-2 and ns-3; or every packet by itself.

    Raises
    ------
    QuantityError
        If a field is no number of its unit, or a word that it does not know.
    DomainError
        If a number is outside its range, `max` is below `min` or `mark_max` below `mark_min`,
        `nodrop` or a second ramp is without `ecn`, or the link's packets are of another size than
        `packet_size`.
    UnsupportedError
        If a fluid, a loop or an operating point is asked for that has one ramp alone.

    Notes
    -----
    Source: Floyd and Jacobson (IEEE/ACM Transactions on Networking, 1993); Floyd, Gummadi, Shenker,
    "Adaptive RED" (2001); tc-red(8); for the step, Alizadeh et al. (SIGCOMM 2010), section 3.1; for
    the second ramp, SAI's interface to switches, "WRED" and its "ECN" thresholds (Open Compute
    Project, saiwred.h), and what is marked from Kmax on, Zhu et al. (SIGCOMM 2015), section 3.1.

    Examples
    --------
    >>> queue = Red(min=5, max="15 packets")
    >>> queue.profile(10.0, queue.max_p)
    0.05
    >>> Red(min="104kB", max="312kB").max
    208.0
    """

    discipline: ClassVar = "red"
    rests_among_links: ClassVar = True
    packets_only: ClassVar = (
        "ecn", "harddrop", "nodrop", *SECOND_RAMP, "bytes", "packet_size", "arithmetic",
        "idle_decay", "spacing",
    )  # fmt: skip

    min: Parameter = field(
        default=_THRESHOLD.default, metadata={**_THRESHOLD.metadata, "or_as": "size"}
    )
    max: Parameter = field(
        default=_THRESHOLD.default, metadata={**_THRESHOLD.metadata, "or_as": "size"}
    )
    max_p: Parameter = quantity(0.1, "number", high=1.0)
    weight: Parameter = quantity(0.002, "number", high=1.0)
    gentle: bool = choice(True, (True, False))
    adaptive: bool = choice(False, (True, False))
    update_interval: OptionalParameter = quantity(None, "time", usual=LONG_WAIT, optional=True)
    ecn: bool = choice(False, (True, False))
    harddrop: bool = choice(False, (True, False))
    nodrop: bool = choice(False, (True, False))
    mark_min: OptionalParameter = field(
        default=_MARKS.default, metadata={**_MARKS.metadata, "or_as": "size"}
    )
    mark_max: OptionalParameter = field(
        default=_MARKS.default, metadata={**_MARKS.metadata, "or_as": "size"}
    )
    mark_max_p: OptionalParameter = quantity(None, "number", high=1.0, optional=True)
    bytes: bool = choice(True, (True, False))
    packet_size: OptionalParameter = quantity(None, "size", optional=True)
    arithmetic: str = choice("real", ("real", "fixed"))
    idle_decay: bool = choice(False, (True, False))
    spacing: str = choice("uniform", _SPACINGS)

    def __post_init__(self) -> None:
        if self.adaptive is True and self.update_interval is None:
            object.__setattr__(self, "update_interval", _INTERVAL)
        if self.mark_max_p is None and self.mark_min is not None:
            object.__setattr__(self, "mark_max_p", 0.1)
        count_in_packets(self)
        super().__post_init__()
        if self.update_interval is not None and not self.adaptive:
            raise DomainError(
                f"Red update_interval = {show_value(self.update_interval)} is for adaptive = True,"
                " since plain RED acts on every packet: leave it out."
            )
        if anywhere(lambda low, high: high < low, self.min, self.max):
            raise DomainError(
                f"Red max = {show_value(self.max)} is below min = {show_value(self.min)}: give"
                " max >= min."
            )
        if self.nodrop and not self.ecn:
            raise DomainError(
                "Red nodrop = True spares what cannot be marked, and ecn = False marks nothing:"
                " give ecn = True, or leave nodrop out."
            )
        check_second_ramp(self)

    def check_link(self, link: Line) -> None:
        """Refuse packets of another size than that in which thresholds were counted.

        Raises
        ------
        DomainError
            If they are.
        """
        if self.packet_size is None or is_traced(link.packet_size) or is_traced(self.packet_size):
            return
        if np.any(np.not_equal(self.packet_size, link.packet_size)):
            raise DomainError(
                f"Red packet_size = {show_value(self.packet_size)} is in what its thresholds are"
                f" counted, and packets of the link have {show_value(link.packet_size)} bytes: give"
                " Red the packet_size of the link."
            )

    def _require_one_ramp(self) -> None:
        if self.mark_min is not None:
            raise UnsupportedError(
                f"Red mark_min = {show_value(self.mark_min)} is of a second ramp, and fluids, loops"
                " and operating points have one: simulate Packets(), or give min, max and max_p of"
                " the ramp that your senders meet, and leave the second out."
            )

    def initial(self) -> tuple[Number, ...]:
        """Return (average, max_p) of an idle queue: an average of 0."""
        return (0.0, self.max_p)

    def _require_average(self) -> None:
        if anywhere(lambda weight: weight >= 1.0, self.weight):
            raise DomainError(
                "Red weight = 1.0 takes no average, whose rate would be infinite in the fluid and"
                " in loops: give weight in (0, 1), or simulate packets by Packets()."
            )

    def packet_parameters(self, link: Line) -> dict[str, Any]:
        """Return what configures the queue discipline, named as in native/packet/queues/red.c.

        Raises
        ------
        DomainError
            If packet_size is no whole number of bytes, the thresholds are beyond 1e9 bytes, or
            Linux's integers, which ``arithmetic="fixed"`` asks for, do not know gentle, the spacing
            or the weight, or the thresholds fall together there alone.
        UnsupportedError
            If a field holds an array.
        """
        require_single(self)
        require_whole_packets(link)
        self.check_link(link)
        for name in ("max", "mark_max"):
            high = float((getattr(self, name) or 0.0) * link.packet_size)
            if not high < _MOST_BYTES:
                raise DomainError(
                    f"Red {name} = {show_value(getattr(self, name))} packets of"
                    f" {link.packet_size:g} bytes is beyond the {_MOST_BYTES:g} bytes that its"
                    f" average is kept for: give a smaller {name}."
                )
        if self.arithmetic == "fixed":
            require_integers(self, link)
        if self.update_interval is not None:
            require_time("Red update_interval", self.update_interval)
        interval = math.inf if self.update_interval is None else self.update_interval
        return numbers_of(self, without=self.packets_only) | {
            "update_interval": interval,
            "ecn": self.ecn,
            "harddrop": self.harddrop,
            "nodrop": self.nodrop,
            "packets": not self.bytes,
            **{name: float(getattr(self, name) or 0.0) for name in SECOND_RAMP},
            "fixed": self.arithmetic == "fixed",
            "idle_decay": self.idle_decay,
            "spacing": _SPACINGS.index(self.spacing),
        }

    def profile(self, average: Number, max_p: Number) -> Number:
        """Return the probability p_b at an average queue (packets)."""
        span = self.max - self.min
        rising = max_p * (average - self.min) / where(span > 0.0, span, 1.0)  # or never
        if self.gentle:
            steep = max_p + (1.0 - max_p) * (average - self.max) / self.max
            above = where(average < 2.0 * self.max, steep, 1.0)
        else:
            above = 1.0
        return where(average < self.min, 0.0, where(average < self.max, rising, above))

    def controller(self, state: tuple[Number, ...]) -> Number:
        """Return p_b."""
        return self.profile(state[0], state[1])

    def encode(self, u: Number) -> Signal:
        """Return (u, u)."""
        return Signal(u, u)

    def decode(self, p: Number, signal: str) -> Number:
        """Return p."""
        return p

    def drift(self, state: tuple[Number, ...], seen: Seen) -> tuple[Number, ...]:
        """Return d(average, max_p)/dt: one step of the average per arriving packet; max_p held."""
        self._require_one_ramp()
        self._require_average()
        # n steps leave (1 - weight)^n of a difference: an exponential in the number of arrivals.
        rate = -log1p(-self.weight) * seen.arrival_rate
        return (rate * (seen.queue - state[0]), 0.0 * state[1])

    def update(self, state: tuple[Number, ...], seen: Seen, dt: Number) -> tuple[Number, ...]:
        """Return the state after one adaptation of max_p; unchanged if not adaptive."""
        if not self.adaptive:
            return state
        average, max_p = state
        return (average, max_p + self._adapt(average, max_p, _SHRINK - 1.0))

    def flow(
        self, state: tuple[Number, ...], seen: Seen, d_queue_delay: Number
    ) -> tuple[Number, ...]:
        """Return d(average, max_p)/dt: the drift, and the adaptation spread over its interval."""
        moved, held = self.drift(state, seen)
        if not self.adaptive:
            return (moved, held)
        adapted = self._adapt(state[0], state[1], math.log(_SHRINK))
        assert self.update_interval is not None, "an adaptive one has it, see __post_init__"
        return (moved, adapted / self.update_interval)

    def _adapt(self, average: Number, max_p: Number, shrink: float) -> Number:
        """Change of max_p per adaptation: up above the band, `shrink` times itself below it."""
        low, high = self._band
        up = where(max_p <= _LARGEST, minimum(_LARGEST_STEP, max_p / _SHARE), 0.0 * max_p)
        down = where(max_p >= _SMALLEST, shrink * max_p, 0.0 * max_p)
        return where(average > high, up, where(average < low, down, 0.0 * max_p))

    @property
    def _band(self) -> tuple[Number, Number]:
        span = self.max - self.min
        return self.min + _BAND[0] * span, self.min + _BAND[1] * span

    def at_rest(self, u: Number, capacity: Number) -> tuple[tuple[Number, ...], Number]:
        """Return the state at rest and the queue delay: it depends on the load, there is no target.

        If not gentle, no average gives a `u` between max_p and 1: the queue then rests at `max`,
        switching between the two; so it does on a step at any `u`.
        """
        self._require_one_ramp()
        max_p = self.max_p + 0.0 * u
        average = self._inverse(u, max_p)
        if self.adaptive:
            low, high = self._band
            # From where it begins, max_p moves no further than until the average is in its band.
            raised = maximum(max_p, minimum(u / _BAND[1], _LARGEST))
            lowered = minimum(max_p, maximum(u / _BAND[0], _SMALLEST))
            max_p = where(average > high, raised, where(average < low, lowered, max_p))
            average = self._inverse(u, max_p)
        return (average, max_p), average / capacity

    def _inverse(self, u: Number, max_p: Number) -> Number:
        """The average at which the profile gives u."""
        rising = self.min + u / max_p * (self.max - self.min)
        above: Any = self.max
        if self.gentle:
            left = where(max_p < 1.0, 1.0 - max_p, 1.0)
            above = self.max * (1.0 + (u - max_p) / left)
        return where(u <= max_p, rising, above)
