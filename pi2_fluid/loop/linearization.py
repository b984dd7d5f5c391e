"""Any Sender x any Aqm -> state matrices, by automatic differentiation of the laws themselves.

A class of flows becomes, for small deviations x of its state, u of the controller's variable and
d of the queue delay, with e the delay of one round-trip time,

    dx/dt = (A0 + A1 e) x + b e u + (e0 + e1 e) d,        rate y = c x + r d,

and the queue, d' = sum of weight * y over the classes (see `pi2_fluid.loop.link`), closes the loop
together with the controller (see `pi2_fluid.loop.controllers`).

`rtt_terms="frozen"` drops e0 and e1, as the papers do when they hold R(t) constant in the window
law; ``"exact"`` keeps them, and so does a law without signals, which has no other feedback. The
motion of the *argument* t - R(t) contributes nothing at first order, because all derivatives vanish
at rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import numpy as np

from pi2_fluid.errors import DomainError, UnsupportedError
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.derivatives import as_arrays, differentiate, numeric
from pi2_fluid.laws.sender import Sender
from pi2_fluid.loop.controllers import linearize_aqm
from pi2_fluid.loop.link import Coupling, couple
from pi2_fluid.loop.state_space import LinearClass, LinearLoop
from pi2_fluid.network.equilibrium import OperatingPoint
from pi2_fluid.records.record import named_arrays

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, Number, Real

T = TypeVar("T")

RTT_TERMS: Final = ("frozen", "exact")
#: How rates get from one queue to the next; of one queue both are the same.
TRANSPORTS: Final = ("fifo", "delay")


def linearize(
    senders: Sequence[Sender], aqm: Aqm, point: OperatingPoint, rtt_terms: str = "frozen"
) -> LinearLoop:
    """Linearise senders and queue at their operating point.

    A class that neither the queue nor its own state moves, such as one of constant bit rate, has no
    part in the loop and is left out.

    Parameters
    ----------
    senders : sequence of Sender
        One per class.
    aqm : Aqm
        The queue.
    point : OperatingPoint
        Where to linearise; its ``states`` has one entry per class.
    rtt_terms : {"frozen", "exact"}
        Whether the window law's explicit dependence on R is dropped.

    Raises
    ------
    DomainError
        If a window is 0.
    UnsupportedError
        If the law reacts to the arrival rate, or cannot be differentiated, or no window answers to
        what is signalled.
    """
    require_windows(senders, point)
    shape = loop_shape(senders, aqm, point)
    slopes, controller = linearize_aqm(aqm, point, shape)
    couplings = couple(senders, aqm, point, shape)
    at_rest = zip(senders, point.states, per_class(point.p), per_class(point.rtt), strict=True)
    alone = [linearize_sender(*one, shape) for one in at_rest]
    none = np.zeros(shape)
    classes = [
        one.through(coupling, slopes[sender.signal], rtt_terms)
        if sender.signal
        else one.through(coupling, none, "exact")
        for sender, one, coupling in zip(senders, alone, couplings, strict=True)
    ]
    if not any(np.any(one.b) for one in classes):
        raise UnsupportedError(
            f"no window of these flows answers to what {type(aqm).__name__} signals where they"
            " rest, so that there is no loop: give laws whose rate() depends on the signal."
        )
    moving = tuple(cls for cls in classes if np.any(cls.c) or np.any(cls.r))
    return LinearLoop(moving, controller, shape)


def loop_shape(senders: Sequence[Sender], aqm: Aqm, point: OperatingPoint) -> tuple[int, ...]:
    """Return the shape to which everything that a loop is built from broadcasts."""
    values = [*per_class(point.rtt), *per_class(point.p), point.controller, point.capacity]
    for record in (aqm, *senders):
        values += named_arrays(record).values()
    shapes = {np.shape(value) for value in values if type(value) is not float}
    return np.broadcast_shapes(*shapes) if shapes else ()


def per_class(value: T | tuple[T, ...]) -> tuple[T, ...]:
    """Return what an operating point says of each class, also where there is one alone."""
    return value if isinstance(value, tuple) else (value,)


def rate_slopes(
    sender: Sender, x: tuple[Number, ...], p: Number, rtt: Number
) -> tuple[tuple[tuple[Number, ...], ...], tuple[Number, ...]]:
    """Differentiate a window law at rest: a pure function, under jit, vmap and grad as well.

    Parameters
    ----------
    sender : Sender
        The law.
    x : tuple
        Its state at rest, one entry per state.
    p, rtt : float or array
        Signal probability and round-trip time (s); all arguments of one shape.

    Returns
    -------
    rate : tuple of tuple
        [j][i] is d(rate_i) over the j-th of (x, x delayed, p delayed, rtt, rtt delayed).
    sending : tuple
        d(sending rate) over the states and over rtt.
    """
    slopes = differentiate(sender, "rate", (*x, *x, p, rtt, rtt))
    signal = len(x)
    over = (*range(signal), signal + 1)
    sending = differentiate(sender, "sending_rate_under", (*x, p, rtt), over)
    return slopes, tuple(slope for (slope,) in sending)


def feed_through(sender: Sender, state: Real | tuple[Real, ...], p: Real, rtt: Real) -> FloatArray:
    """Differentiate the sending rate at rest over the signal that it hears at once, if it does."""
    if not sender.answers_at_once:
        return np.zeros(())
    x = state if isinstance(state, tuple) else (state,)
    ((slope,),) = differentiate(sender, "sending_rate_under", (*x, p, rtt), [len(x)])
    return numeric(slope, (), f"{type(sender).__name__}.sending_rate_under")


class LinearSender(NamedTuple):
    """A window law at rest by itself, whatever queues its packets meet; entry by entry."""

    columns: list[list[FloatArray]]
    """[j][i] is d(rate_i) over the j-th of (x, x delayed, p delayed, rtt, rtt delayed)."""
    sending: list[FloatArray]
    """d(sending rate) over the states and over rtt."""
    rtt: FloatArray
    """Seconds."""

    def through(self, coupling: Coupling, slope: FloatArray, rtt_terms: str) -> LinearClass:
        """Return the class of such flows at one queue.

        Parameters
        ----------
        coupling : Coupling
            What they do to its delay.
        slope : numpy.ndarray
            Of p over its controller's variable.
        rtt_terms : {"frozen", "exact"}
            As for `linearize`.
        """
        columns, sending = self.columns, self.sending
        size = len(sending) - 1
        feels = 1.0 if coupling.feels else 0.0
        exact = feels if rtt_terms == "exact" else 0.0
        b = [entry * slope for entry in columns[2 * size]]
        e0 = [entry * exact for entry in columns[2 * size + 1]]
        e1 = [entry * exact for entry in columns[2 * size + 2]]
        c, r = sending[:size], sending[size] * feels
        (weight,), lead = as_arrays([coupling.weight], np.shape(self.rtt)), coupling.lead
        if size == 1:
            a0, a1 = columns[0][0], columns[1][0]
            return LinearClass(a0, a1, b[0], e0[0], e1[0], c[0], r, weight, self.rtt, size, lead)
        # columns[j][i] is d(rate_i)/d(x_j): move both to the end as [i, j]
        a0 = np.moveaxis(np.array(columns[:size]), (0, 1), (-1, -2))
        a1 = np.moveaxis(np.array(columns[size : 2 * size]), (0, 1), (-1, -2))
        bv, e0v, e1v, cv = (np.moveaxis(np.array(v), 0, -1) for v in (b, e0, e1, c))
        return LinearClass(a0, a1, bv, e0v, e1v, cv, r, weight, self.rtt, size, lead)


def require_windows(senders: Sequence[Sender], point: OperatingPoint) -> None:
    """Refuse flows that do not send where they rest.

    Raises
    ------
    DomainError
        If a window is 0.
    """
    for sender, window in zip(senders, per_class(point.window), strict=True):
        if sender.constant_rate is None and not np.all(np.asarray(window) > 0.0):
            raise DomainError(
                f"{type(sender).__name__} rests at a window of 0 segments at this load, and flows"
                " that do not send have no loop: lower the load."
            )


def linearize_sender(
    sender: Sender, state: Real | tuple[Real, ...], p: Real, rtt: Real, shape: tuple[int, ...]
) -> LinearSender:
    """Linearise a window law at rest, for any queues."""
    values = state if isinstance(state, tuple) else (state,)
    *x, p, rtt = as_arrays([*values, p, rtt], shape)
    what = f"{type(sender).__name__}.rate"
    rate, sending = rate_slopes(sender, tuple(x), p, rtt)
    columns = [[numeric(entry, shape, what) for entry in column] for column in rate]
    return LinearSender(columns, [numeric(entry, shape, what) for entry in sending], rtt)
