"""Senders and queue by acknowledgements: from the controller's variable to the delay.

A sender without pacing sends one packet per acknowledgement, and one more for each segment that
its window grows by. With dA the packets that a class has sent beyond the rest, over its rate y
(seconds), w = dW/W, theta the waiting of the packet that leaves, tau its rest, R = b + tau and
e = e^{-sR},

    dA = e dA - e^{-sb} theta + R w:    dA = (R w - e^{-sb} theta) / (1 - e).

What it was sent one round trip ago comes back as an acknowledgement, unless it waits longer, and
what the window grows by is added. Packets leave a queue as they came (phi is a class's part of it),

    theta = e^{-s tau} SUM phi dA + A,    A = SUM psi dA of L4S packets, which are served first,

psi being a class's rate over that of the Classic queue. Solved for theta, with the share phi_0 that
nothing clocks (constant rates),

    theta = { e^{-s tau} SUM phi R w/(1 - e) + A } / { phi_0 + SUM phi/(1 - e) }.

One class alone: theta = e^{-s tau} R w. The queue does not integrate windows; it holds them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.ascending import ascending
from pi2_fluid.loop.acks.pauses import Pauses
from pi2_fluid.loop.corners import landmarks_of
from pi2_fluid.loop.ends import plant_bound
from pi2_fluid.loop.response import class_responses, plant_response
from pi2_fluid.loop.state_space import Keeping, LinearController, element_of

if TYPE_CHECKING:
    from pi2_fluid.values import Complex, ComplexArray, FloatArray

    #: From a delay (s) to e^{-s delay}.
    Shift = Callable[[FloatArray], ComplexArray]

#: Seconds over a round-trip time: how long a paced sender's smoothed round-trip time lags behind
#: the measured one. Linux's filter has gain 1/8 per acknowledgement of some two samples a round
#: trip at least; measured responses of paced senders are met with a quarter.
SMOOTHING: Final = 0.25
_GRID: Final = 1000
_HALVINGS: Final = 50
_TRAILING: Final = {
    "growth_by_state": 2, "cut_by_state": 1, "growth_by_signal": 1, "growth_by_acks": 1,
}  # fmt: skip


@dataclass(frozen=True)
class AckClass:
    """One class of flows, linearised. With n states, trailing axes hold them, also if n = 1.

    Attributes
    ----------
    growth_by_state : numpy.ndarray, shape (..., n, n)
        Response of the change of the state, without the cut, to the state (1/s).
    cut_by_state : shape (..., n)
        Response of the cut of the window.
    growth_by_signal, cut_by_signal : shape (..., n) and (...)
        Responses to the controller's variable, as it is heard.
    growth_by_acks, cut_by_acks : shape (..., n) and (...)
        Responses to the rate of acknowledgements, relative to that at rest; 0 if frozen.
    window : shape (...)
        At rest (segments).
    base_rtt, rtt : shape (...)
        Without and with the queue in which the class waits (s).
    heard : shape (...)
        Seconds from where a packet is signalled to its sender.
    share : shape (...)
        The class's rate over that of all packets in the queue that rules.
    waits : bool
        Whether its packets wait there; if not, they are served first.
    prr, paced : bool
        How the window is obeyed, and how packets are sent; see `Sender`.
    number : int
        Of the class, among all.
    late : bool
        Whether a cut is carried out one round trip after it is decided.
    pauses : Pauses, optional
        Of flows that pause after a reduction.
    """

    growth_by_state: FloatArray
    cut_by_state: FloatArray
    growth_by_signal: FloatArray
    cut_by_signal: FloatArray
    growth_by_acks: FloatArray
    cut_by_acks: FloatArray
    window: FloatArray
    base_rtt: FloatArray
    rtt: FloatArray
    heard: FloatArray
    share: FloatArray
    waits: bool
    prr: bool
    paced: bool
    number: int = 0
    late: bool = False
    pauses: Pauses | None = None

    @property
    def size(self) -> int:
        """The number of states."""
        return int(self.cut_by_state.shape[-1])

    @property
    def echoes(self) -> bool:
        """Whether its packets swing undamped: a window's, which wait nowhere."""
        return not (self.waits or self.paced)

    @property
    def returns(self) -> bool:
        """Whether its packets come back from the queue as acknowledgements that send others."""
        return self.waits and not self.paced

    @property
    def follows_acks(self) -> bool:
        """Whether the law is told when acknowledgements come faster or slower."""
        return bool(self.growth_by_acks.any() or self.cut_by_acks.any())


@dataclass(frozen=True)
class AckLoop(Keeping):
    """A loop by acknowledgements: classes, the queue that rules, its controller.

    Attributes
    ----------
    classes : tuple of AckClass
        Those that a window moves.
    unclocked : numpy.ndarray, shape (...)
        Part of the packets in the queue that come at constant rates.
    queue_delay : shape (...)
        At rest (s).
    measures : {"head", "backlog"}
        What the controller acts on; see `Aqm.measures`.
    bunch : float
        From 0, packets of a window lie evenly over a round trip, to 1, they travel in one burst.
    controller : LinearController
    shape : tuple of int
    echoing : bool
        Whether the echoes of packets that are served first are folded into a sampled loop; if not,
        they are left to `find_echoes`, and the loop ends at its `reach`.
    """

    classes: tuple[AckClass, ...]
    unclocked: FloatArray
    queue_delay: FloatArray
    measures: str
    bunch: float
    controller: LinearController
    shape: tuple[int, ...]
    echoing: bool = True

    @property
    def dual(self) -> bool:
        """Whether packets that are served first come back undamped, as echoes."""
        return any(cls.echoes for cls in self.classes)

    @property
    def exchanges(self) -> bool:
        """Whether classes of several round-trip times wait in one queue, sending on acks."""
        return len({cls.rtt.tobytes() for cls in self.classes if cls.returns}) > 1

    @property
    def reach(self) -> float:
        """The frequency (rad/s) below which the loop ends, where its echoes are left out.

        That is below the first harmonic of L4S packets, which are served first, and of the shortest
        of several round-trip times in one queue.
        """
        if self.echoing:
            return np.inf
        ahead = [float(np.max(cls.rtt)) for cls in self.classes if cls.echoes]
        several = [float(np.min(cls.rtt)) for cls in self.classes if cls.returns]
        ends = [max(ahead)] if ahead else []
        ends += [min(several)] if self.exchanges else []
        return _BELOW_ECHOES * 2.0 * np.pi / max(ends) if ends else np.inf

    def landmarks(self, high: float) -> FloatArray:
        """Return where classes in one queue swing against one another, up to `high` (rad/s).

        Between any two neighbouring harmonics of their round-trip times, and between 0 and the
        first, SUM phi/(1 - e) is once as small as can be, 1/2: what one class sends more the other
        sends less. The nearer the harmonics, the narrower.
        """
        waiting = [cls for cls in self.classes if cls.returns]
        rtts = np.array([float(cls.rtt) for cls in waiting])
        return exchange_landmarks(rtts, np.array([float(cls.share) for cls in waiting]), high)

    def element(self, index: tuple[int, ...]) -> AckLoop:
        """Return the scalar loop at one index of the array."""

        def pick_class(cls: AckClass) -> AckClass:
            arrays = {n: v for n, v in vars(cls).items() if isinstance(v, np.ndarray)}
            picked: dict[str, Any] = {
                name: element_of(value, self.shape, index, _TRAILING.get(name, 0))
                for name, value in arrays.items()
            }
            if cls.pauses is not None:
                picked["pauses"] = cls.pauses.element(self.shape, index)
            return replace(cls, **picked)

        return replace(
            self,
            classes=tuple(pick_class(cls) for cls in self.classes),
            unclocked=element_of(self.unclocked, self.shape, index),
            queue_delay=element_of(self.queue_delay, self.shape, index),
            controller=self.controller.element(self.shape, index),
            shape=(),
        )


def exchange_landmarks(rtts: FloatArray, shares: FloatArray, high: float) -> FloatArray:
    """Return `AckLoop.landmarks` of windows in one queue, by round-trip times and shares of it."""
    if ascending(rtts).size < 2:
        return np.array([])
    half = rtts / 2.0
    orders = np.arange(int(high * np.max(half) / np.pi) + 2)  # with 0
    poles = ascending(np.outer(orders, np.pi / half))
    low, up = poles[:-1], poles[1:]
    for _ in range(_HALVINGS):  # of Im 2/(1 - e) = cot(w R/2), which falls from inf to -inf
        middle = 0.5 * (low + up)
        with np.errstate(divide="ignore"):
            falls = np.sum(shares / np.tan(np.outer(middle, half)), axis=1) > 0.0
        low, up = np.where(falls, middle, low), np.where(falls, up, middle)
    found: FloatArray = np.sort(np.concatenate([poles, low]))
    return found[(found > 0.0) & (found < high)]


#: Of the lowest harmonic: below this part of it the loop ends.
_BELOW_ECHOES: Final = 0.8


class Answer(NamedTuple):
    """What a class sends beyond the rest, over its rate: dA = (by_signal u - lost theta) / back."""

    by_signal: ComplexArray
    """Seconds per unit of the controller's variable."""
    lost: ComplexArray
    """Of each second by which packets wait longer."""
    back: ComplexArray
    """1 - e of a window, whose packets come back as acknowledgements."""


def _shift_of(s: ComplexArray) -> Shift:
    return lambda delay: np.exp(-s * delay)


def reduction_response(
    cls: AckClass, s: ComplexArray, e: ComplexArray, bunch: float
) -> ComplexArray:
    """Return P(s), from a cut that is decided to one that is carried out.

    Proportional rate reduction halves (or so) what acknowledgements release for one round trip. Of
    packets that lie evenly in it, the cut is spread as evenly; of a burst, half of it acts at once
    and half with the burst's return. What is less than a segment is late: all of it is carried out
    at the end.
    """
    if cls.late:
        return e
    if not cls.prr:
        one: ComplexArray = np.ones_like(e)
        return one
    return _mean(cls, s, e, bunch)


def _mean(cls: AckClass, s: ComplexArray, e: ComplexArray, bunch: float) -> ComplexArray:
    """Return the mean over what is acknowledged in one round trip."""
    even: Any = (1.0 - e) / (s * cls.rtt) if bunch < 1.0 else 0.0
    together: Any = (1.0 + e) / 2.0 if bunch > 0.0 else 0.0
    result: ComplexArray = (1.0 - bunch) * even + bunch * together
    return result


def answer_of(cls: AckClass, s: ComplexArray, bunch: float, shift: Shift | None = None) -> Answer:
    """Return how a class answers to the controller's variable and to the waiting of its packets.

    `shift` is e^{-s delay}, where it is known at less cost than anew.

    With kappa the relative rate of acknowledgements beyond the rest, s(dA - R w) by the equations
    above, and w = Hu u + Hk kappa, both are solved at once: dA (1 - e G) = R Hu u - G e^{-sb}
    theta, G = 1 + s R Hk.
    """
    late = _shift_of(s) if shift is None else shift
    e = late(cls.rtt)
    released = late(cls.base_rtt) if cls.waits else np.zeros_like(e)
    by_signal, by_acks = _windows(cls, s, e, bunch)
    by_signal = by_signal * late(cls.heard)
    if cls.paced:
        lag = 1.0 + s * SMOOTHING * cls.rtt
        back = s * (1.0 - e * by_acks)
        return Answer(by_signal, (s * by_acks + 1.0 / (cls.rtt * lag)) * released, back)
    if not cls.follows_acks:
        return Answer(cls.rtt * by_signal, released, 1.0 - e)
    gain = 1.0 + s * cls.rtt * by_acks
    return Answer(cls.rtt * by_signal, gain * released, 1.0 - e * gain)


def _windows(
    cls: AckClass, s: ComplexArray, e: ComplexArray, bunch: float
) -> tuple[ComplexArray, ComplexArray]:
    """Return Hu and Hk: dW/W over the signal that is heard, and over acknowledgements."""
    P = reduction_response(cls, s, e, bunch)
    if cls.size == 1 and cls.pauses is None:
        matrix = s - cls.growth_by_state[..., 0, 0] + P * cls.cut_by_state[..., 0]
        unit: Any = cls.window * matrix
        return (
            (cls.growth_by_signal[..., 0] - P * cls.cut_by_signal) / unit,
            (cls.growth_by_acks[..., 0] - P * cls.cut_by_acks) / unit,
        )
    first, cut = _first(cls), np.asarray(P)[..., None]
    by_signal: Any = cls.growth_by_signal - cut * first * np.asarray(cls.cut_by_signal)[..., None]
    by_acks: Any = cls.growth_by_acks - cut * first * np.asarray(cls.cut_by_acks)[..., None]
    if cls.pauses is not None:
        paused = cls.pauses.respond(e, _mean(cls, s, e, bunch))
        opened: Any = cls.pauses.growth - cut * first * np.asarray(cls.pauses.cut)[..., None]
        opened = opened * np.asarray(paused.opened)[..., None]
        opened = opened + first * np.asarray(paused.counted)[..., None]
        alone = opened + first * np.asarray(paused.heard)[..., None]
        by_signal = by_signal + alone * np.asarray(cls.pauses.signal)[..., None]
        if cls.follows_acks:
            by_acks = by_acks + opened
    drives = np.stack(np.broadcast_arrays(by_signal, by_acks), axis=-1)
    solved: Any = np.linalg.solve(state_matrix(cls, s, e, bunch), drives)
    window = np.asarray(cls.window)
    return solved[..., 0, 0] / window, solved[..., 0, 1] / window


def _first(cls: AckClass) -> FloatArray:
    first = np.zeros(cls.size)
    first[0] = 1.0
    return first


def state_matrix(cls: AckClass, s: ComplexArray, e: ComplexArray, bunch: float) -> ComplexArray:
    """Return what a class's state, by itself, solves with: shape (..., n, n)."""
    first, P = _first(cls), np.asarray(reduction_response(cls, s, e, bunch))
    matrix: Any = np.asarray(s)[..., None, None] * np.eye(cls.size) - cls.growth_by_state
    matrix = matrix + P[..., None, None] * first[:, None] * cls.cut_by_state[..., None, :]
    if cls.pauses is not None:
        paused = cls.pauses.respond(e, _mean(cls, s, e, bunch))
        matrix = matrix + np.asarray(paused.window)[..., None, None] * first[:, None] * first
    result: ComplexArray = matrix
    return result


def delay_response(
    loop: AckLoop, s: ComplexArray, *, echoes: bool = True, shift: Shift | None = None
) -> ComplexArray:
    """Return G(s), from the controller's variable to minus the delay that the controller acts on.

    Parameters
    ----------
    loop : AckLoop
        Of any shape; it broadcasts against `s`.
    s : complex or array
        rad/s, not 0.
    echoes : bool
        Whether packets that are served first come back: without, 1/(1 - e) is 1, its mean over a
        harmonic.
    shift : callable, optional
        As in `answer_of`.
    """
    s = np.asarray(s, dtype=complex)
    shift = _shift_of(s) if shift is None else shift
    parts = [_parts(loop, cls, s, shift, echoes=echoes) for cls in loop.classes]
    waiting, released, ahead = (sum(part) for part in zip(*parts, strict=True))
    return _delay(loop, s, shift, waiting, released, ahead)


@class_responses.register(AckLoop)
def class_delays(loop: AckLoop, s: ComplexArray, *, echoes: bool = True) -> list[ComplexArray]:
    """Return `delay_response` class by class: of what each hears alone."""
    s = np.asarray(s, dtype=complex)
    shift = _shift_of(s)
    parts = [_parts(loop, cls, s, shift, echoes=echoes) for cls in loop.classes]
    released = sum(lost for _, lost, _ in parts)
    return [_delay(loop, s, shift, waits, released, ahead) for waits, _, ahead in parts]


def _parts(
    loop: AckLoop, cls: AckClass, s: ComplexArray, shift: Shift, *, echoes: bool
) -> tuple[Complex, Complex, Complex]:
    """Of a class phi by_signal/back and phi lost/back in the queue that rules, and A over u."""
    by_signal, lost, back = answer_of(cls, s, loop.bunch, shift)
    if cls.waits:
        part = cls.share / back
        return part * by_signal, part * lost, 0.0
    ahead = by_signal / back if echoes or not cls.echoes else by_signal
    return 0.0, 0.0, cls.share * ahead


def _delay(
    loop: AckLoop,
    s: ComplexArray,
    shift: Shift,
    waiting: Complex,
    released: Complex,
    ahead: Complex,
) -> ComplexArray:
    """What the controller acts on, over its variable, and less than 0, of sums of such parts."""
    late = shift(loop.queue_delay)
    denominator = 1.0 + late * released
    if loop.measures == "head":
        found = (late * waiting + ahead) / denominator
    else:
        # (dA_C - dD_C) / y_C, and what a slower service makes of the backlog at rest
        found = (waiting - ahead * released) / denominator + ahead
        found = found + loop.queue_delay * s * ahead
    result: ComplexArray = -found
    return result


@landmarks_of.register(AckLoop)
def _landmarks_of_acks(loop: AckLoop, high: float) -> FloatArray:
    return loop.landmarks(high)


@plant_bound.register(AckLoop)
def _bound_of_acks(loop: AckLoop, w: float) -> tuple[float, int]:
    """Of one class, and of classes that share a round-trip time, for certain.

    Of paced senders, and with exact terms, on a grid. Loops of several round-trip times end before
    anything need be bounded.
    """
    several = loop.exchanges or loop.dual
    seen = any(cls.paced or cls.follows_acks for cls in loop.classes)
    largest, falls = 0.0, 2
    for cls in loop.classes:
        bound, power = window_bound(cls, w, loop.bunch)
        if not np.isfinite(bound):
            return np.inf, power
        # Of one path what is not clocked, phi_0, leaves at least this of the denominator.
        part = float(cls.share) / (1.0 - float(loop.unclocked))
        largest += part * bound
        falls = min(falls, power)
    if several:
        return np.inf, falls
    if not seen:
        return largest, falls
    v = w * np.geomspace(1.0, 100.0, _GRID)
    size = np.abs(plant_response(loop, 1j * v)) * (v / w) ** falls
    return 1.5 * float(np.max(size)), falls


def window_bound(cls: AckClass, w: float, bunch: float) -> tuple[float, int]:
    """An upper bound of R |Hu(jv)| over v >= w, and the power of 1/v with which it falls."""
    matrix = np.atleast_2d(cls.growth_by_state)
    rest = w - float(np.linalg.norm(matrix, 2)) - float(np.linalg.norm(cls.cut_by_state))
    more = 0.0
    if cls.pauses is not None:
        one = cls.pauses
        rho, counted = one.bound(w * float(cls.rtt), bunch)
        opened = float(np.linalg.norm(one.growth)) + abs(float(one.cut))
        more = abs(float(one.signal)) * (opened * (rho + 1.0) + counted)
        rest -= float(one.counted * one.marks / one.window / (1.0 - one.clear))
    if rest <= 0.0 or not np.isfinite(more):
        return np.inf, 1
    unit = float(cls.rtt / cls.window) / rest
    if cls.pauses is not None:
        growth = float(np.linalg.norm(cls.growth_by_signal)) + abs(float(cls.cut_by_signal))
        return unit * (growth + more), 1
    growth, cut = float(np.linalg.norm(cls.growth_by_signal)), abs(float(cls.cut_by_signal))
    if growth == 0.0 and cls.prr and bunch == 0.0:
        return unit * cut * min(1.0, 2.0 / (w * float(cls.rtt))), 2
    return unit * (growth + cut), 1
