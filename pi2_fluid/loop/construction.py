"""What a `Loop` is made of: its arguments read and checked, and the linearised loop itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.errors import DomainError, ScenarioError, UnsupportedError, renamed, show_value
from pi2_fluid.html import html_table, text_table
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.sender import CLOCKS, Sender
from pi2_fluid.loop.acks import AckLoop, linearize_acks, without_echoes
from pi2_fluid.loop.delays import DelayLoop, hears_nothing, linearize_delays
from pi2_fluid.loop.desk import DeskLoops, desk_loops, has_place, settle_on_desk
from pi2_fluid.loop.equations import ClosedForm, closed_form
from pi2_fluid.loop.linearization import RTT_TERMS, TRANSPORTS, linearize, loop_shape
from pi2_fluid.loop.state_space import LinearLoop
from pi2_fluid.loop.strangers import ControlHints
from pi2_fluid.loop.updates import UPDATES, respond
from pi2_fluid.network.equilibrium import (
    OperatingPoint,
    as_flows,
    equilibrium_of,
    require_room,
    settle_flows,
    taken_apart,
)
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.link import Link
from pi2_fluid.network.network import Network
from pi2_fluid.network.rest import has_ticks
from pi2_fluid.records.labels import align_labels, line_up, relabel
from pi2_fluid.records.record import require_untraced
from pi2_fluid.units import validate_choice, validate_number, validate_quantity

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.values import BoolArray, Complex, ComplexArray, ComplexValues, Quantity, Real

_PACKET_SIZE: Final = "1500B"  # as given where nobody gives one
_SHOWN: Final = ("round-trip time", "p", "p'", "window")  # of the operating point


class LinearisedLoop(ControlHints):
    """Senders and a queue linearised where they rest: what `Loop` is, before it is asked anything.

    Its parameters and attributes are those of `Loop`.
    """

    #: Of a network of several nodes the one in whose queue packets wait.
    _sole: Network | None = None

    @renamed(mode="update")
    def __init__(
        self,
        flows: Sender | Flows | Sequence[Flows] | Network,
        aqm: Aqm | None = None,
        *,
        rtt: Quantity | None = None,
        p: Quantity | None = None,
        p_prime: Quantity | None = None,
        capacity: Quantity | None = None,
        packet_size: Quantity = _PACKET_SIZE,
        update: str = "continuous",
        rtt_terms: str = "frozen",
        transport: str = "fifo",
        clock: str = "rate",
        bunch: float = 0.0,
    ) -> None:
        validate_choice(update, UPDATES, "update")
        validate_choice(rtt_terms, RTT_TERMS, "rtt_terms")
        validate_choice(transport, TRANSPORTS, "transport")  # the same in one queue
        validate_choice(clock, CLOCKS, "clock")
        bunch = validate_bunch(bunch, clock)
        numbers = (rtt, p, p_prime, capacity, packet_size)
        require_untraced("Loop", "pf.loop.traced_margins", flows, aqm, numbers)
        link = None
        if isinstance(flows, Network):
            flows = self._sole or flows
            link = flows.node.link
            flows, aqm, capacity, packet_size = taken_apart(flows, aqm, capacity, packet_size)
        elif not isinstance(flows, Sender):
            flows = as_flows(flows)
        if not isinstance(aqm, Aqm):
            raise ScenarioError(f"aqm = {show_value(aqm)} is no Aqm: give e.g. Pi2().")
        given: dict[str, Any] = {"rtt": rtt, "p": p, "p_prime": p_prime, "capacity": capacity}
        given["packet_size"] = packet_size
        laws = (aqm, *(flows if isinstance(flows, tuple) else (flows,)))
        #: The numbers as given, but those that are none, by which it can be built anew.
        self.numbers = {name: value for name, value in given.items() if value is not None}
        given, (aqm, *several), self.labels = align_labels(given, laws)
        flows = tuple(several) if isinstance(flows, tuple) else several[0]
        rtt, p, p_prime, capacity, packet_size = given.values()
        if isinstance(flows, Sender):
            if capacity is not None:
                raise ScenarioError(
                    "capacity goes with Flows, not with a single sender: give rtt and p_prime, or"
                    " Flows(...) and capacity."
                )
            if rtt is None:
                raise ScenarioError('rtt is missing: give the round-trip time, e.g. rtt="100ms".')
            point = equilibrium_of(flows, aqm, rtt, p=p, p_prime=p_prime)
            self.flows: tuple[Flows, ...] = ()
            self.senders: tuple[Sender, ...] = (flows,)
        else:
            if rtt is not None or p is not None or p_prime is not None:
                raise ScenarioError(
                    "rtt, p and p_prime go with a single sender; with Flows they are solved for:"
                    " give capacity."
                )
            if capacity is None:
                raise ScenarioError('capacity is missing: give the link\'s, e.g. "10Mbit/s".')
            self.flows = flows
            point = _rest_of(self.flows, aqm, capacity, packet_size, link)
            size = validate_quantity(packet_size, "size", "packet_size")
            self.senders = tuple(flow.sender.on_link(size) for flow in self.flows)
        _require_model(self.senders, aqm, point, update, clock)
        self.aqm = aqm
        self.update = update
        self.rtt_terms = rtt_terms
        self.clock = clock
        self.bunch = bunch
        self._point = point  # plain, which arrays broadcast by
        self.operating_point: OperatingPoint = point.labelled(self.labels)

    def __repr__(self) -> str:
        who = ", ".join(repr(flow) for flow in self.flows) or repr(self.senders[0])
        clock = "" if self.clock == "rate" else f", clock={self.clock!r}, bunch={self.bunch:g}"
        numbers = "".join(
            f", {name}={show_value(value)}"
            for name, value in self.numbers.items()
            if not (isinstance(value, str) and value == _PACKET_SIZE)
        )
        return (
            f"Loop({who}, {self.aqm!r}{numbers}, update={self.update!r},"
            f" rtt_terms={self.rtt_terms!r}{clock})"
        )

    def __str__(self) -> str:
        return text_table(self._rows())

    def _repr_html_(self) -> str:
        return html_table("Loop", self._rows())

    def _rows(self) -> list[tuple[str, object, str]]:
        who = ", ".join(repr(flow) for flow in self.flows) or repr(self.senders[0])
        return [
            ("senders", who, ""),
            ("queue", repr(self.aqm), ""),
            ("model", f"{self.update}, round-trip time {self.rtt_terms}", ""),
            *((("clock", "acknowledgements", ""),) if self.clock == "acks" else ()),
            *((("array", str(self.shape), ""),) if self.shape else ()),
            *(row for row in self.operating_point.rows() if row[0] in _SHOWN),
        ]

    @property
    def engine(self) -> str:
        """What finds its margins: "desk", compiled code from the laws' tapes, or "python".

        By both the same: `Loop` asks the desk first, and what has no place there, such as loops by
        acknowledgements, or laws that no tape holds, goes the other way.
        """
        return "desk" if self._desk is not None else "python"

    @cached_property
    def _desk(self) -> Callable[[BoolArray], DeskLoops | None] | None:
        """From which of its loops are asked for to those on the desk."""
        if self.clock != "rate" or hears_nothing(self._point):
            return None
        counts = [flow.count for flow in self.flows] or [1.0]
        given = (self.senders, counts, self.aqm, self._point, self.update, self.rtt_terms)
        if not has_place(self.senders, self.aqm, self._point):
            return None
        return partial(desk_loops, *given)

    @cached_property
    def linear(self) -> LinearLoop | AckLoop | DelayLoop:
        """The state matrices, by automatic differentiation of the laws."""
        if hears_nothing(self._point):
            return linearize_delays(self.senders, self.aqm, self._point)
        if self.clock == "acks":
            terms = self.rtt_terms
            return linearize_acks(self.senders, self.aqm, self._point, terms, self.bunch)
        return linearize(self.senders, self.aqm, self._point, self.rtt_terms)

    @cached_property
    def form(self) -> ClosedForm | None:
        """The constants of equations (31)-(37), None for pairs and mixtures without them.

        And None by acknowledgements, which has others.
        """
        return self._rate_form if self.clock == "rate" else None

    @cached_property
    def _rate_form(self) -> ClosedForm | None:
        if hears_nothing(self._point) or (self.flows and len(self.flows) > 1):
            return None
        point = self._point
        if self.flows:
            point = _single(point)
        return closed_form(self.senders[0], self.aqm, point)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array of loops; () for one."""
        return loop_shape(self.senders, self.aqm, self._point)

    def __call__(self, s: Complex | xarray.DataArray) -> ComplexValues:
        """Return L(s); the closed loop's characteristic equation is 1 + L(s) = 0.

        Parameters
        ----------
        s : complex or array
            rad/s, not 0; broadcasts against `shape`, an xarray.DataArray by name. In update
            "sampled" this is L_d at z = e^{sT}, whose frequencies are 0 < w <= pi/T.
        """
        s, labels = line_up("s", s, self.labels, self.shape)
        at: ComplexArray = np.asarray(s, dtype=complex)
        if not np.isfinite(at).all() or np.any(at == 0):
            raise DomainError(
                "s must be finite and not 0, where the controller has its pole: give s != 0."
            )
        if labels is None:
            return respond(self.linear, at, self.update)[()]
        # Loops broadcast from the last axis; in the answer their dimensions come first.
        own = tuple(range(len(self.shape)))
        last = tuple(axis - len(own) for axis in own)
        values = respond(self.linear, np.moveaxis(at, own, last), self.update)
        return relabel(labels, np.moveaxis(values, last, own))

    def _element(self, index: tuple[int, ...]) -> LinearLoop | AckLoop | DelayLoop:
        """One loop; of a dual queue by acknowledgements the part below its echoes."""
        one = self.linear.element(index)
        return without_echoes(one) if isinstance(one, AckLoop) else one

    def _inputs(self) -> dict[str, Real]:
        """Every number that the loop was built from, by name."""
        point = self._point
        if self.flows:
            inputs = {"capacity": point.capacity}
            for index, flow in enumerate(self.flows):
                inputs |= {f"count_{index}": flow.count, f"base_rtt_{index}": flow.base_rtt}
        else:
            inputs = {"rtt": point.rtt, "p_prime": point.p_prime, "p": point.p}
        for record in (self.aqm, *self.senders):
            inputs |= {n: v for n, v in vars(record).items() if isinstance(v, (float, np.ndarray))}
        return inputs

    def _attributes(self) -> dict[str, str | float]:
        """Where numbers come from."""
        attrs: dict[str, str | float] = {
            "engine": "loop",
            "update": self.update,
            "rtt_terms": self.rtt_terms,
            "senders": ", ".join(type(sender).__name__ for sender in self.senders),
            "aqm": type(self.aqm).__name__,
        }
        return attrs if self.clock == "rate" else attrs | {"clock": "acks", "bunch": self.bunch}

    def _require_scalar(self, what: str) -> None:
        if self.shape:
            raise UnsupportedError(
                f"{what} is for one loop, and this is an array of shape {self.shape}: build the one"
                " of interest with scalar parameters."
            )

    def _each(self, function: Callable[[tuple[int, ...]], Any], kind: type = float) -> Real:
        out: Any = np.empty(self.shape, dtype=kind)
        for index in np.ndindex(self.shape):
            out[index] = function(index)
        result: Real = kind(out) if not self.shape else out
        return result


def acts_at_once(network: Network) -> bool:
    """Whether signals act on rates at once, or what arrives on controllers, without a queue."""
    return any(node.aqm.acts_on == "arrivals" for node in network.nodes) or any(
        flow.sender.answers_at_once for flow in network.flows
    )


def require_states_between(senders: Sequence[Sender], aqm: Aqm) -> None:
    """Refuse what acts at once: signals on what is sent, or what arrives on the controller.

    Raises
    ------
    UnsupportedError
        Naming the law.
    """
    if aqm.thins:
        refuse_thinned(senders)
    for sender in senders:
        if sender.answers_at_once:
            raise UnsupportedError(
                f"{type(sender).__name__} lets signals act on its rate at once, which the loop of"
                " one queue does not describe: give Loop a network."
            )
    if aqm.acts_on == "arrivals":
        raise UnsupportedError(
            f"{type(aqm).__name__} acts on what arrives, not on the queue, which the loop of one"
            " queue does not describe: give Loop a network."
        )


def validate_bunch(bunch: float, clock: str) -> float:
    """Return `bunch` as a number in [0, 1]; UnsupportedError if the clock does not ask for it."""
    number = validate_number(bunch, "number", "bunch", high=1.0, closed=True)
    if clock == "rate" and number > 0.0:
        raise UnsupportedError(
            f"bunch = {number:g} says where packets of a window are, which the rate clock does"
            ' not ask: leave it out, or use clock="acks".'
        )
    return number


def refuse_thinned(senders: Sequence[Sender]) -> None:
    """Refuse traffic that is dropped before it enters a queue.

    Raises
    ------
    UnsupportedError
        Naming the law.
    """
    for sender in senders:
        if sender.thinned:
            kind = type(sender).__name__
            other = "Cbr(thinned=False)" if sender.constant_rate is not None else "Reno"
            raise UnsupportedError(
                f"{kind} thinned = True lets p act on the queue at once, beside the loop through"
                f" the senders, which no loop here describes: use {other}, or simulate it."
            )


def require_ticks(aqm: Aqm, controller: Real, update: str) -> None:
    """Refuse a model of the update interval for a queue that has none where it rests.

    Raises
    ------
    UnsupportedError
        Naming the law.
    """
    if update != "continuous" and not has_ticks(aqm, controller):
        raise UnsupportedError(
            f"{type(aqm).__name__} acts here on every packet and holds no signal for an update"
            f' interval, so update = {update!r} has no meaning: use update="continuous".'
        )


def _rest_of(
    flows: Sequence[Flows], aqm: Aqm, capacity: Quantity, packet_size: Quantity, link: Link | None
) -> OperatingPoint:
    """Return where flows rest, in the buffer of a link if it is known."""
    point = settle_flows(tuple(flows), aqm, capacity, packet_size, by=settle_on_desk)
    if link is not None and hears_nothing(point):
        require_room(point.queue, link)
    return point


def _require_model(
    senders: Sequence[Sender], aqm: Aqm, point: OperatingPoint, update: str, clock: str
) -> None:
    """Refuse models of what a loop does not have, and what no loop of one queue describes."""
    require_states_between(senders, aqm)
    if not hears_nothing(point):
        require_ticks(aqm, point.controller, update)
        for sender in senders:
            if clock == "acks" and sender.signal is None and sender.constant_rate is None:
                raise UnsupportedError(
                    f"{type(sender).__name__} hears no signals and answers to its delay, which the"
                    ' loop by acknowledgements does not describe: use clock="rate".'
                )
        return
    if update != "continuous":
        raise UnsupportedError(
            f"nothing is signalled to these flows, which answer to their delay, so that update ="
            f' {update!r} has no meaning: use update="continuous".'
        )
    if clock == "acks":
        raise UnsupportedError(
            "nothing is signalled to these flows, which answer to their delay, and the loop of"
            ' that is by rates: use clock="rate".'
        )


def _single(point: OperatingPoint) -> OperatingPoint:
    """The operating point of the only class, as `equilibrium_of` would give it."""
    names = ("p", "p_prime", "window", "rtt", "rate", "share")
    return replace(point, **{name: getattr(point, name)[0] for name in names})
