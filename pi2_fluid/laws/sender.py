"""The Sender contract: how a window reacts to congestion signals."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from pi2_fluid.errors import DomainError, SolverError, UnsupportedError, show_value
from pi2_fluid.laws.resting import WINDOW_RANGE, relax, search_rest
from pi2_fluid.laws.stated import Stated
from pi2_fluid.laws.tapes import evaluate
from pi2_fluid.ops import Number
from pi2_fluid.records.record import Record, align, numbers_of, solve_again

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.laws.exponential import PriceResponse
    from pi2_fluid.values import FloatArray, Real

#: What makes senders send: a rate of their own, window / round-trip time, or acknowledgements.
CLOCKS: Final = ("rate", "acks")

#: How a window that falls is obeyed; see `Sender.reduction`.
REDUCTIONS: Final = ("at once", "prr", "late")

_FIRST: Final = 10.0  # segments from which a law with several states sets out that hears no signal
_LEAST_RATE: Final = 1e-300  # segments/s: a law may send nothing where everything is signalled
#: What may have a closed form, and what it follows from.
_CLOSED_FORMS: Final = {
    "at_rest": ("rate", "sending_rate_under"),
    "equilibrium": ("rate", "sending_rate", "sending_rate_under"),
    "acked": ("rate", "sending_rate", "sending_rate_under"),
    "price_response": ("rate", "sending_rate_under"),
}


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Sender(Stated, Record, ABC):
    """A window law: the contract that every congestion control fulfils.

    To write your own law:

    1. Set `signal`: ``"classic"`` if the sender sees what the queue encodes for Classic traffic
       (p), ``"scalable"`` if it sees what is encoded for Scalable traffic, ``None`` if it ignores
       congestion signals, and answers to its delay alone. Nothing tells such a law to leave slow
       start, so that fluids begin without.
    2. Write `rate`, with ``+ - * / **`` and `pi2_fluid.ops` only, so that it runs on floats, NumPy
       and JAX alike. Do not clip inside.
    3. With more than one state, name them in `states` (the window first); `rate` then takes and
       returns tuples in that order, and `initial` must return one.
    4. It may branch, by ``if`` or `pi2_fluid.ops.where`: solvers end their steps where what it
       compares changes its answer.

    The operating point and the linearisation are derived from `rate`; nothing else is needed. A
    subclass that overrides `rate` inherits no closed form of its parent's `rate`.

    Raises
    ------
    QuantityError, DomainError
        If a field is none of what its declaration allows.
    UnsupportedError
        By a method for which the law is not written.

    Examples
    --------
    >>> import dataclasses
    >>> from typing import ClassVar
    >>> import pi2_fluid as pf
    >>> @dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
    ... class HalfPerMark(pf.Sender):
    ...     signal: ClassVar = "scalable"
    ...     def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
    ...         return 1 / rtt - 0.5 * w_delayed / rtt_delayed * p_delayed
    >>> round(pf.equilibrium_of(HalfPerMark(), pf.Pi(), rtt=0.1, p=0.1).window, 6)
    20.0
    >>> class Cautious(HalfPerMark):  # removes more above 10 segments
    ...     def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
    ...         more = 0.1 * (w - 10) if w > 10 else 0.0
    ...         return 1 / rtt - (0.5 + more) * w_delayed / rtt_delayed * p_delayed
    """

    role: ClassVar[str] = "sender"
    #: Which kind of congestion signal the sender obeys: "classic", "scalable" or None.
    signal: ClassVar[str | None] = None
    #: Names of the state variables; the first is the window in segments.
    states: ClassVar[tuple[str, ...]] = ("window",)
    #: Shape of its plant in closed form, "reno", "scalable" or "cubic"; None if it has none.
    plant: ClassVar[str | None] = None
    #: What comes closest to it where a closed form is asked of it that it has not, as an advice.
    instead: ClassVar[str] = "use Reno, CReno, Cubic or Scalable"
    #: Name of the congestion control that runs it packet by packet, None if there is none.
    congestion: ClassVar[str | None] = None
    #: The engine that alone runs it, since it has no equations here; "": any that can.
    only_in: ClassVar[str] = ""
    #: Fields that only a packet simulation can act on.
    packets_only: ClassVar[tuple[str, ...]] = ()
    #: Whether packets are sent evenly, window / smoothed round-trip time, instead of one per
    #: acknowledgement.
    paced: ClassVar[bool] = False
    #: Segments below which the law is no description of a TCP any more: timeouts rule.
    smallest_window: ClassVar[float] = 2.0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        solve_again(cls, Sender, _CLOSED_FORMS)
        reduction: Any = cls.reduction
        if isinstance(reduction, str) and reduction not in REDUCTIONS:
            raise UnsupportedError(
                f"{cls.__name__} reduction = {show_value(cls.reduction)} is no way to obey a window"
                ' that falls: set "at once", "prr" or "late".'
            )
        if cls.signal not in ("classic", "scalable", None):
            raise UnsupportedError(
                f"{cls.__name__} signal = {show_value(cls.signal)} is no kind of signal: set"
                ' "classic", "scalable" or None.'
            )

    @property
    def at_once(self) -> int:
        """How many packets at least a paced sender sends at once; 0 if it is not paced."""
        return int(self.paced)

    @property
    def cut_variance(self) -> Number:
        """By what the variance of random cuts exceeds that of the law's; see `Loop.delay_sd`.

        1 where a signal cuts the same whatever the window, or is not known.
        """
        return 1.0

    @abstractmethod
    def rate(
        self, x: Any, x_delayed: Any, signal_delayed: Number, rtt: Number, rtt_delayed: Number
    ) -> Any:
        """Return dx/dt.

        Parameters
        ----------
        x, x_delayed : float or tuple
            The state now and one round trip ago (scalar if there is one state, else a tuple).
        signal_delayed : float
            Probability that a packet of this class was signalled, one round trip ago.
        rtt, rtt_delayed : float
            Round-trip time now and one round trip ago, in seconds.
        """
        raise NotImplementedError

    def acked(self, x: Any, acks: Number, marks: Number, rtt: Number) -> tuple[Any, Number]:
        """Return how acknowledgements move the state, and by how much they cut the window.

        The same law as `rate`, by the clock that real senders have: of windows at rest, where
        acknowledgements come at the rate window / rtt, the change less the cut is `rate`. A law
        without this has no loop by acknowledgements.

        Parameters
        ----------
        x : float or tuple
            The state now (scalar if there is one state, else a tuple).
        acks, marks : float
            Acknowledgements per second, and how many of them bring a congestion signal.
        rtt : float
            Round-trip time in seconds.

        Returns
        -------
        change : float or tuple
            Per second, of every state, without the cut.
        cut : float
            Segments per second that the window falls by, in the way that `reduction` says.
        """
        raise UnsupportedError(
            f"{type(self).__name__} does not say what one acknowledgement does to its window, so"
            ' that it has no loop by acknowledgements: define acked(), or use clock="rate".'
        )

    # How reductions happen. Most laws say it once for all of theirs, such as
    # ``reduction: ClassVar = "prr"``; it may follow from their fields.

    @property
    def reduction(self) -> str:
        """How a window that falls is obeyed: "at once", "prr" or "late".

        "at once", the sender is silent until what is in flight fits into it; "prr", by
        proportional rate reduction, spread over one round trip; or "late", at the end of that, as
        rate reduction does with less than a segment, since it rounds up.
        """
        return "at once"

    @property
    def pauses(self) -> bool:
        """Whether a flow that has reduced neither grows nor hears signals for one round trip.

        `acked` is then told what comes to those flows that do.
        """
        return False

    @property
    def counts(self) -> bool:
        """Whether, besides, a window grows by whole segments.

        One for each window of acknowledgements since a pause, so that what is counted when a
        signal comes is lost. `acked` then leaves out this growth.
        """
        return False

    def packet_parameters(self) -> dict[str, Any]:
        """Return what configures the congestion control, by the names it has there."""
        return numbers_of(self)

    @property
    def label(self) -> str:
        """What flows without a name are called after: the class in lower case."""
        return type(self).__name__.lower()

    @property
    def constant_rate(self) -> Number | None:
        """Bit/s that every flow sends whatever happens; None if its window decides."""
        return None

    def at_bitrate(self, bitrate: float) -> Sender | None:
        """Return the law at another constant rate (bit/s); None if its rate cannot be set."""
        return None

    @property
    def even(self) -> bool:
        """Whether a sender of constant rate sends packets one by one, evenly, without pauses."""
        return True

    @property
    def price_response(self) -> PriceResponse | None:
        """How it answers prices, if that is a form that proofs over any network know; or None."""
        return None

    @property
    def averages(self) -> str:
        """What its law has on average that packets do at times, as a clause; "": nothing."""
        return ""

    @property
    def lost_in_integers(self) -> str:
        """What lets windows of packets outgrow it where they count in integers; "": nothing."""
        return ""

    @property
    def timer(self) -> Number | None:
        """Seconds between two steps that packets' senders make by a clock; None: they have none."""
        return None

    @property
    def thinned(self) -> bool:
        """Whether what is signalled of this traffic is dropped before it enters the queue.

        Drops are the signal of Classic traffic: a sender that is thinned must not be "scalable".
        """
        return False

    def sending_rate(self, x: Any, rtt: Number) -> Number:
        """Return the sending rate in segments/s at state `x`: window / rtt unless overridden."""
        window: Number = x[0] if isinstance(x, tuple) else x
        return window / rtt

    def sending_rate_under(self, x: Any, signal_delayed: Number, rtt: Number) -> Number:
        """Return the sending rate in segments/s while a signal arrives: `sending_rate`.

        A law whose rate hears the signal itself, not through its state alone, overrides this. The
        first state is then the window that it would have without signals; what is under way is this
        rate times the round-trip time.

        Parameters
        ----------
        x : float or tuple
            The state now.
        signal_delayed : float
            Probability that a packet of this class was signalled, one round trip ago.
        rtt : float
            Round-trip time now (s).
        """
        return self.sending_rate(x, rtt)

    @property
    def answers_at_once(self) -> bool:
        """Whether the sending rate hears signals itself: see `sending_rate_under`."""
        return type(self).sending_rate_under is not Sender.sending_rate_under

    def initial(self, window: Number) -> Any:
        """Return the state of a new flow that starts with `window` segments."""
        if len(self.states) > 1:
            raise UnsupportedError(
                f"{type(self).__name__} has the states {self.states} but no `initial`:"
                " define initial(window) to return one value for each."
            )
        return window

    def on_link(self, packet_size: Number) -> Sender:
        """Return this law for segments of `packet_size` bytes: itself, unless it counts in bits."""
        return self

    def on_route(self, queues: Sequence[Aqm]) -> Sender:
        """Return this law for a path through these queues: itself, unless it counts prices."""
        return self

    def leave_slow_start(self, x: Any) -> Any:
        """Return the state with which congestion avoidance begins after slow start at `x`.

        With the same window: the delays of a dual queue would jump with the flow's rate.
        """
        return x

    def equilibrium(self, rtt: Number, rate: Number) -> Number:
        """Return the signal probability at which a flow settles at `rate` segments/s.

        Solved from ``rate(...) = 0`` unless a law overrides it with its closed form.

        Raises
        ------
        DomainError
            If no probability in (0, 1] does.
        """
        from scipy.optimize import elementwise  # 0.3 s to import, and closed forms need none

        def excess(
            log_p: FloatArray, rtt: FloatArray, target: FloatArray, *arrays: FloatArray
        ) -> FloatArray:
            law, p = rebuild(arrays), np.exp(log_p)
            sent = np.maximum(rate_under(law, law.at_rest(rtt, p), p, rtt), _LEAST_RATE)
            return np.log(sent) - np.log(target)

        (rtt, rate, *arrays), rebuild = align(self, rtt=rtt, rate=rate)
        found = elementwise.find_root(excess, (np.log(1e-15), 0.0), args=(rtt, rate, *arrays))
        if not np.all(found.success):
            raise DomainError(
                f"{type(self).__name__} reaches {_first(rate, ~found.success)} segments/s at no"
                " signal probability in (0, 1]: change the rate or the round-trip time."
            )
        return _plain(np.exp(found.x))

    def at_rest(self, rtt: Number, p: Number) -> Any:
        """Return the state at which the law is at rest under signal probability `p`.

        Solved from ``rate(x, x, p, rtt, rtt) = 0`` unless a law overrides it with its closed form.
        A window that falls whatever it is, as one does that grows by what is not signalled (1 - p)
        where everything is, rests at 0.

        Raises
        ------
        SolverError
            If no such state was found.
        """
        (rtt, p, *arrays), rebuild = align(self, rtt=rtt, p=p)
        if len(self.states) > 1:
            return self._at_rest_many(rtt, p, arrays, rebuild)

        from scipy.optimize import elementwise

        def drift(
            log_window: FloatArray, rtt: FloatArray, p: FloatArray, *arrays: FloatArray
        ) -> FloatArray:
            window = np.exp(log_window)
            slope: Any = evaluate(rebuild(arrays), "rate", window, window, p, rtt, rtt)[0]
            result: FloatArray = slope * rtt
            return result

        bracket = tuple(np.log(WINDOW_RANGE))
        found = elementwise.find_root(drift, bracket, args=(rtt, p, *arrays))
        # A window that falls below a rest and grows above it stays nowhere near.
        below, above = found.f_bracket
        rests = found.success & (below >= 0.0) & (above <= 0.0)
        if np.all(rests):
            return _plain(np.exp(found.x))
        windows = np.array(np.exp(found.x))
        for index in np.ndindex(rtt.shape):
            if not rests[index]:
                numbers = [float(array[index]) for array in (rtt, p, *arrays)]
                windows[index] = search_rest(type(self).__name__, drift, numbers)
        return _plain(windows)

    def _at_rest_many(
        self,
        rtt: FloatArray,
        p: FloatArray,
        arrays: list[FloatArray],
        rebuild: Callable[[Sequence[Real]], Sender],
    ) -> tuple[Real, ...]:
        result = np.empty((len(self.states), *rtt.shape))
        for index in np.ndindex(rtt.shape):
            r, q = float(rtt[index]), float(p[index])
            law = rebuild([float(array[index]) for array in arrays])

            def drift(x: FloatArray, r: float = r, q: float = q, law: Sender = law) -> FloatArray:
                return np.stack(law.rate(tuple(x), tuple(x), q, r, r)) * r

            window = 2.0 / q if q > 0.0 else _FIRST
            state = relax(drift, np.array(law.initial(window), float))
            if state is None:
                raise SolverError(
                    f"{type(self).__name__} is at rest at no state that could be found for"
                    f" p = {q:g}, rtt = {r:g} s: override at_rest(rtt, p) with the closed form."
                )
            result[(slice(None), *index)] = state
        return tuple(_plain(state) for state in result)


def _first(values: ArrayLike, bad: ArrayLike) -> float:
    return float(np.asarray(values)[np.asarray(bad)].flat[0])


def _plain(value: FloatArray) -> Real:
    return float(value) if np.ndim(value) == 0 else value


def rate_under(sender: Sender, x: Any, signal_delayed: Number, rtt: Number) -> Number:
    """Return `Sender.sending_rate_under` of states that are arrays."""
    states = x if isinstance(x, tuple) else (x,)
    return evaluate(sender, "sending_rate_under", *states, signal_delayed, rtt)[0]


def load_of(sender: Sender, window: float, rtt: float) -> float:
    """Return the p' at which a flow has a window (segments).

    Examples
    --------
    >>> from pi2_fluid.laws.senders.reno import Reno
    >>> from pi2_fluid.laws.senders.scalable import Scalable
    >>> print(f"{load_of(Reno(), 14.142, 0.1):.4f} {load_of(Scalable(), 20.0, 0.1):.4f}")
    0.1000 0.1000
    """
    p = float(sender.equilibrium(rtt, window / rtt))
    return float(np.sqrt(p)) if sender.signal == "classic" else p
