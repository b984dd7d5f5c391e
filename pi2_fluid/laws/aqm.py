"""The Aqm contract: a controller, exactly as a queue runs it, and an encoder for its signal."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Protocol, Self

import numpy as np

from pi2_fluid.errors import (
    DomainError,
    QuantityError,
    SolverError,
    UnsupportedError,
    show_value,
)
from pi2_fluid.laws.seen import Seen
from pi2_fluid.laws.stated import Stated
from pi2_fluid.laws.tapes import evaluate
from pi2_fluid.ops import Number
from pi2_fluid.records.record import (
    OptionalParameter,
    Record,
    align,
    numbers_of,
    quantity,
    solve_again,
)
from pi2_fluid.units import LONG_WAIT

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

_SCALE: Final = 0.02  # s: a typical queue delay, from which a law's own rest is searched


class Line(Protocol):
    """What a queue of packets is told of the link it stands before: a `Link` is one."""

    @property
    def capacity(self) -> Number:
        """Rate at which it serves (bit/s)."""

    @property
    def buffer(self) -> Number:
        """Packets that the queue holds at most."""

    @property
    def packet_size(self) -> Number:
        """Bytes of a full packet."""


class Signal(NamedTuple):
    """Probability that a packet is signalled (dropped or marked), per kind of sender.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> signal = pf.Signal(classic=0.01, scalable=0.2)
    >>> signal.scalable
    0.2
    """

    classic: Number
    scalable: Number


#: What may have a closed form, and what it follows from.
_CLOSED_FORMS: Final = {
    "at_rest": ("update", "controller"),
    "coupling": ("encode",),
    "decode": ("encode",),
    "flow": ("update", "drift"),
    "holds": ("signals", "drift"),
    "price_base": ("encode",),
}


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Aqm(Stated, Record, ABC):
    """An active queue management law: the contract that every queue fulfils.

    To write your own law:

    1. `initial` returns the state of an idle queue, a tuple of numbers.
    2. `update` returns the state after one tick. It never clips: `saturate` does, and only the
       time-domain engines call it. Loops differentiate `update`.
    3. `controller` picks the controlled variable out of the state; `encode` turns it into what
       Classic and Scalable packets see. That split is the idea of the PI2 paper (its Figure 1).
    4. `at_rest` and `decode` are solved numerically unless you give the closed forms. A subclass
       that overrides `update` or `encode` inherits no closed form of its parent's.
    5. What `encode` returns are probabilities. The law may branch (``if``, `pi2_fluid.ops.where`):
       solvers end their steps where what it compares changes its answer.

    Every tick comes after `update_interval` seconds; between ticks the state is held, unless
    `drift` says how it moves. A law without ticks (`update_interval` None) has a `drift` alone.

    Parameters
    ----------
    update_interval : float or str, optional
        Time from one tick to the next (s); None: without ticks.

    Raises
    ------
    QuantityError, DomainError
        If a field is none of what its declaration allows.
    UnsupportedError
        By a method for which the law is not written.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import pi2_fluid as pf
    >>> @dataclass(frozen=True, eq=False, kw_only=True)
    ... class Integral(pf.Aqm):  # p grows while the delay is above 20 ms
    ...     update_interval: float = 0.016
    ...     def initial(self):
    ...         return (0.0,)
    ...     def update(self, state, seen, dt):
    ...         return (state[0] + 0.1 * (seen.queue_delay - 0.02),)
    ...     def encode(self, u):
    ...         return pf.Signal(u, u)
    >>> margins = pf.Loop(pf.Reno(), Integral(), rtt="100ms", p=0.1).margins()
    >>> print(f"{margins.gain_margin_db:.2f} dB")
    6.20 dB
    """

    role: ClassVar[str] = "queue"
    #: Number of queues: 1, or 2 for a dual queue (Classic and L4S).
    bands: ClassVar[int] = 1
    #: Name of the queue discipline that runs it packet by packet, None if there is none.
    discipline: ClassVar[str | None] = None
    #: What packets see of the controller's variable u: "linear", u, or of spread signals a part
    #: of it; "square", u^2; "coupled", u^2 (Classic) and min(k u, 1) (Scalable). None: something
    #: else. Closed forms and batches ask.
    encoder: ClassVar[str | None] = None
    #: Whether gains can be designed for it. It is a `PiFamily`, or has what those have: the fields
    #: `alpha`, `beta`, `target` and `update_interval`, `gain_factor`, `gain_edges` and `limit`.
    designable: ClassVar[bool] = False
    #: Whether it has no variable of its own, and signals what its full buffer loses.
    overflows: ClassVar[bool] = False
    #: Whether packets may be spared what `encode` says: while few wait, or after one that was not.
    spares: ClassVar[bool] = False
    #: Whether operating points and loops can be built of its two queues: of bands, `serve`,
    #: `delays`, `at_rest_alone`, and a `target` that is that of the Classic one.
    rests_apart: ClassVar[bool] = False
    #: What its controller acts on: "queue", how long packets wait; "arrivals", how many come, so
    #: that its variable is a price and, at rest, no queue waits; or "both", where a queue waits,
    #: and `drift` does nothing but count what comes until the next update.
    acts_on: ClassVar[str] = "queue"
    #: Whether the rest of several links is solved for with it: it rests at a target, by a profile,
    #: by a price or at its buffer, as `at_rest` says, and alone in its link.
    rests_among_links: ClassVar[bool] = False
    #: A sentence on what its loop leaves out that may decide, printed beside its margins.
    caution: ClassVar[str] = ""
    #: Fields that only a packet simulation can act on.
    packets_only: ClassVar[tuple[str, ...]] = ()
    #: The engine that alone runs it, since it has no equations here; "": any that can.
    only_in: ClassVar[str] = ""
    #: Whether flows have queues of their own, so that packets keep their order within a flow alone.
    queues_flows: ClassVar[bool] = False
    #: Whether thinned traffic loses what is signalled of it before it enters the queue. What a full
    #: buffer loses has never entered, thinned or not.
    thins: ClassVar[bool] = True

    update_interval: OptionalParameter = quantity("32ms", "time", usual=LONG_WAIT, optional=True)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        solve_again(cls, Aqm, _CLOSED_FORMS)

    @abstractmethod
    def initial(self) -> tuple[Number, ...]:
        """Return the controller's state before the first packet."""
        raise NotImplementedError

    @abstractmethod
    def update(self, state: tuple[Number, ...], seen: Seen, dt: Number) -> tuple[Number, ...]:
        """Return the state after one update that comes `dt` seconds after the last."""
        raise NotImplementedError

    @abstractmethod
    def encode(self, u: Number) -> Signal:
        """Return the signal probabilities for the value `u` of the controller's variable."""
        raise NotImplementedError

    def check_link(self, link: Line) -> None:
        """Refuse a link that contradicts what the law was told; any will do, if not overridden.

        Parameters
        ----------
        link : Line
            Before which it is put, such as a `Link`.
        """
        del link

    def packet_parameters(self, link: Line) -> dict[str, Any]:
        """Return what configures the queue discipline, by the names it has there.

        Parameters
        ----------
        link : Line
            Whose packets it queues, such as a `Link`.

        Raises
        ------
        DomainError
            If a number is beyond what packets, or the kernel's integers, can count.
        UnsupportedError
            If no kernel computes so in integers.
        """
        return numbers_of(self)

    def pushes(self, duration: float) -> FloatArray:
        """Return what somebody else adds to the controller's variable before each update.

        Compiled engines are told so; here `update` does it by itself. Nothing unless overridden.

        Parameters
        ----------
        duration : float
            Length of the run (s).
        """
        return np.empty(0)

    def pushed(self) -> Aqm:
        """Return the law that compiled engines run, to which they add the `pushes`: itself."""
        return self

    def saturate(self, state: tuple[Number, ...]) -> tuple[Number, ...]:
        """Return the state as clipped by the queue after an update (unchanged by default)."""
        return state

    @property
    def highest(self) -> Number:
        """The value of the controller's variable above which all that can be is signalled."""
        return 1.0

    @property
    def clips_at(self) -> Number:
        """The largest value of the controller's variable that `saturate` lets it have."""
        return self.highest

    @property
    def coupling(self) -> Number | None:
        """`k`, if Classic packets see u^2 and Scalable ones min(k u, 1); None: if not so."""
        return None

    @property
    def price_base(self) -> Number | None:
        """Phi, if packets see 1 - phi^-u, so that marks of several links add up; None: else."""
        return None

    @property
    def full_load(self) -> Number:
        """What arrives at a bottleneck at rest, over its capacity."""
        return 1.0

    def load_at(self, u: Number) -> Number:
        """Return what arrives at a bottleneck where the controller rests at `u`, over its capacity.

        `full_load`, unless a controller may rest at a bound of its own.
        """
        return self.full_load

    @property
    def target_delay(self) -> Number | None:
        """The queue delay (s) that it aims at, whatever the capacity: its `target`; or None."""
        return getattr(self, "target", None)

    @property
    def usual_delay(self) -> Number:
        """The queue delay (s) around which flows find it as a rule: `target_delay`, or 0."""
        target = self.target_delay
        return 0.0 if target is None else target

    @property
    def measures(self) -> str:
        """What packets' queue takes for its delay.

        "head", the time that the packet which leaves has waited; or "backlog", what waits over the
        rate at which it is served, as all fluids do.
        """
        return "backlog"

    @property
    def signals_at(self) -> str:
        """Where packets are signalled: "dequeue", as they leave, or "enqueue", as they arrive."""
        at: str = getattr(self, "drop_at", "enqueue")
        return at

    @property
    def signals_by_lot(self) -> bool:
        """Whether each packet is signalled by a lot of its own, whatever came of those before."""
        return True

    @property
    def signal_spacing(self) -> float:
        """To what the probabilities of packets add up from a signal to the first that may follow.

        0 of independent lots. Signals are 1 + `signal_spacing` over the probability apart.
        """
        return 0.0

    def controller(self, state: tuple[Number, ...]) -> Number:
        """Return the controller's variable, the first state unless overridden."""
        return state[0]

    def signals(self, state: tuple[Number, ...], seen: Seen) -> Signal:
        """Return what packets that arrive now see.

        ``encode(controller(state))``, unless a law reacts to the queue itself as well: the L4S
        band of a dual queue, a full buffer.
        """
        return self.encode(self.controller(state))

    def holds(self) -> bool:
        """Return whether what packets see changes with updates alone, until the next one.

        But for what L4S packets see of the delay of their own queue.
        """
        law = type(self)
        return (
            self.update_interval is not None
            and law.signals is Aqm.signals
            and law.drift is Aqm.drift
        )

    def drift(self, state: tuple[Number, ...], seen: Seen) -> tuple[Number, ...]:
        """Return d(state)/dt between two updates: 0, unless the law acts on every packet."""
        return tuple(0.0 for _ in state)

    def flow(
        self, state: tuple[Number, ...], seen: Seen, d_queue_delay: Number
    ) -> tuple[Number, ...]:
        """Return d(state)/dt of the controller in continuous time, if the law has such a form.

        Parameters
        ----------
        state : tuple
            The controller's state.
        seen : Seen
            What the queue sees now.
        d_queue_delay : float
            Rate of change of the queue delay (s/s); `flow` must be affine in it, so that a jump
            of the delay has a meaning.
        """
        if self.update_interval is None:
            return self.drift(state, seen)
        raise UnsupportedError(
            f'{type(self).__name__} has no continuous form: use update="sampled".'
        )

    def at_rest(self, u: Number, capacity: Number) -> tuple[tuple[Number, ...], Number]:
        """Return the state, and the queue delay (s), at which the controller rests at `u`.

        Solved from ``update(state) = state, controller(state) = u``, for the state and the delay
        together, unless a law overrides it with its closed form.

        Parameters
        ----------
        u : float or array
            Value of the controller's variable.
        capacity : float or array
            Packets per second.

        Raises
        ------
        SolverError
            If no such state was found.
        """
        (at, served, *arrays), rebuild = align(self, u=u, capacity=capacity)
        start = [float(np.mean(value)) for value in self.initial()]
        states = np.empty((len(start), *at.shape))
        delays = np.empty(at.shape)
        for index in np.ndindex(at.shape):
            law = rebuild([float(array[index]) for array in arrays])
            solution = law._rest_one(start, float(at[index]), float(served[index]))
            states[(slice(None), *index)], delays[index] = solution[:-1], solution[-1]
        return tuple(state[()] for state in states), delays[()]

    def with_marks(self) -> Self:
        """Return the law that marks all packets that can be marked, instead of dropping them.

        By its field `ecn`; a law without one is taken to do so already.
        """
        known = {field.name for field in dataclasses.fields(self)}
        marks: dict[str, Any] = {"ecn": True}
        return dataclasses.replace(self, **marks) if "ecn" in known else self

    # Of two queues

    def in_one_queue(self) -> Aqm:
        """Return the controller with one queue for all packets: itself, if it has one."""
        return self

    @property
    def kept_for_classic(self) -> Number:
        """The fraction of the link that Classic packets get at least while they wait."""
        return 0.0

    @property
    def tells_l4s(self) -> bool:
        """Whether it treats packets of Scalable senders, ECT(1), otherwise than ECT(0)."""
        return self.bands > 1

    @property
    def marking_step(self) -> Number:
        """The queue delay (s) above which L4S packets are all marked, at once; inf: none."""
        return math.inf

    def serve(
        self, backlogged: Sequence[Any], arrivals: Sequence[Number], capacity: Number
    ) -> tuple[Number, Number]:
        """Return the rates at which two queues, C and L, are served (packets/s).

        Parameters
        ----------
        backlogged : pair of bool
            Whether C and L have packets waiting. One that has none needs what arrives.
        arrivals : pair of float
            Packets per second arriving at C and L.
        capacity : float
            Packets per second of the link.
        """
        raise self._has_one_queue()

    def delays(self, queues: Sequence[Number], served: Sequence[Number]) -> tuple[Number, Number]:
        """Return the queue delays (s) of C and L.

        Parameters
        ----------
        queues : pair of float
            Packets waiting in C and L.
        served : pair of float
            As `serve` returns them.
        """
        raise self._has_one_queue()

    def at_rest_alone(self, p: Number) -> tuple[Number, Number]:
        """Return the controller's variable and L's delay at which L4S alone sees `p`."""
        raise self._has_one_queue()

    def _has_one_queue(self) -> UnsupportedError:
        return UnsupportedError(
            f"{type(self).__name__} says nothing of two queues: give a law that does, such as"
            " DualPi2()."
        )

    def _rest_one(self, start: list[float], u: float, capacity: float) -> FloatArray:
        from scipy.optimize import root

        dt: Any = self.update_interval  # None for a law without ticks, which rests at no delay

        def residual(unknown: FloatArray) -> FloatArray:
            state, delay = tuple(unknown[:-1]), unknown[-1] * _SCALE
            after = self.update(state, Seen(delay, delay * capacity, capacity, capacity), dt)
            if any(isinstance(new, (str, bytes)) for new in after):
                raise QuantityError(
                    f"{type(self).__name__}.update gives {show_value(after)}, in which is text:"
                    " return numbers."
                )
            drift = [new - old for new, old in zip(after, state, strict=True)]
            return np.array([*drift, self.controller(state) - u], dtype=float)

        found = root(residual, np.array([u, *start[1:], 1.0]), tol=1e-14)
        if np.max(np.abs(found.fun)) > 1e-10:
            raise SolverError(
                f"{type(self).__name__} rests at no queue delay for the controller value {u:g}:"
                " override at_rest(u, capacity) with the closed form."
            )
        return np.array([*found.x[:-1], found.x[-1] * _SCALE])

    def decode(self, p: Number, signal: str) -> Number:
        """Return the controller's value at which packets of kind `signal` see probability `p`.

        Parameters
        ----------
        p : float or array
            Probability in (0, 1].
        signal : {"classic", "scalable"}
            Which packets.

        Raises
        ------
        DomainError
            If no value in (0, 1] gives that probability.
        """
        from scipy.optimize import elementwise  # 0.3 s to import, and closed forms need none

        def excess(u: FloatArray, p: FloatArray, *arrays: FloatArray) -> FloatArray:
            heard: Any = getattr(Signal(*evaluate(rebuild(arrays), "encode", u)), signal)
            result: FloatArray = heard - p
            return result

        (wanted, *arrays), rebuild = align(self, p=p)
        found = elementwise.find_root(excess, (1e-300, 1.0), args=(wanted, *arrays))
        if not np.all(found.success):
            raise DomainError(
                f"{type(self).__name__} encodes p = {float(wanted[~found.success].flat[0])!r} for"
                f" {signal} packets at no controller value in (0, 1]: lower p."
            )
        return found.x[()]
