"""Loops that compiled code makes from the tapes of their laws: where flows rest, and their margins.

`native/desk/` does for one queue and the rate clock what `network/filling`, `linearization`,
`controllers`, `link` and `expansion` do, which stay the readable twin: both are tested against one
another. What it cannot do, such as laws that no tape holds, is left to them, and so are all
refusals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from pi2_fluid import _core
from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqm import Aqm, Signal
from pi2_fluid.laws.programs import kernel_tape
from pi2_fluid.laws.sender import Sender
from pi2_fluid.laws.tape import Tape
from pi2_fluid.laws.tapes import kind_of, numbers_on_tape, tape_by, tape_of
from pi2_fluid.laws.trace import TraceError
from pi2_fluid.loop.compiled import CompiledLoops
from pi2_fluid.loop.controllers import move_by_drift, move_by_update
from pi2_fluid.loop.link import classic_delay, classic_service
from pi2_fluid.loop.searching import Search
from pi2_fluid.loop.state_space import AnyLoop
from pi2_fluid.network.equilibrium import OperatingPoint, Settled
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.links import Links
from pi2_fluid.network.rest import Rest
from pi2_fluid.records.record import leaves

if TYPE_CHECKING:
    from pi2_fluid.values import BoolArray, ComplexArray, FloatArray, Number, Real

_HEARS: Final = {None: 0, "classic": 1, "scalable": 2}
#: From a number, or an array of the loops' shape, to that of the loops asked for, in a row.
Picker: TypeAlias = "Callable[[Number], Real]"

#: States of a sender, and of a queue, that compiled code has room for.
_MOST_STATES: Final = 4
_MOST_CONTROLS: Final = 7
_MOST_LINKS: Final = 24


class _OnDesk(NamedTuple):
    """Laws of one kind, and the tape whose parameters are their numbers."""

    law: Any  # a DeskSender or a DeskQueue
    tape: Tape


class _Kind:
    """A law that stands for all of its kind."""

    def __init__(self, law: Sender | Aqm, kind: tuple[Any, ...]) -> None:
        self.law, self._kind = law, kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Kind) and self._kind == other._kind

    def __hash__(self) -> int:
        return hash(self._kind)


@lru_cache(maxsize=512)
def _on_desk(kind: _Kind) -> _OnDesk | None:
    try:
        return _make_queue(kind.law) if isinstance(kind.law, Aqm) else _make_sender(kind.law)
    except (TraceError, UnsupportedError, ValueError):  # too many registers, among others
        return None


def sender_on_desk(sender: Sender) -> _OnDesk | None:
    """Return a window law as compiled code takes it, None if it does not."""
    kind = kind_of(sender)
    if kind is None or sender.thinned or sender.answers_at_once:
        return None
    return _on_desk(_Kind(sender, kind))


def queue_on_desk(aqm: Aqm) -> _OnDesk | None:
    """Return a queue's law likewise."""
    kind = kind_of(aqm)
    return None if kind is None else _on_desk(_Kind(aqm, kind))


def _make_sender(sender: Sender) -> _OnDesk | None:
    size, solved = len(sender.states), type(sender).at_rest is Sender.at_rest
    if size > _MOST_STATES or (solved and size > 1):
        return None
    rate, sending = tape_of(sender, "rate"), tape_of(sender, "sending_rate_under")
    over = [*sending.inputs[:size], sending.inputs[size + 1]]
    tapes = {"rate": rate, "sending": sending}
    tapes |= {"rate_slopes": rate.slopes(rate.inputs), "sending_slopes": sending.slopes(over)}
    if not solved:
        tapes["at_rest"] = tape_of(sender, "at_rest")
    if not _of_all_numbers(sender, tapes):
        return None
    law = _core.DeskSender(_in_kernel(tapes), size, _HEARS[sender.signal])
    return _OnDesk(law, rate)


def _make_queue(aqm: Aqm) -> _OnDesk | None:
    law = type(aqm)
    by_itself = law.at_rest is Aqm.at_rest or law.load_at is not Aqm.load_at
    if (
        by_itself
        or aqm.acts_on != "queue"
        or aqm.overflows
        or (aqm.bands > 1 and not aqm.rests_apart)
    ):
        return None
    size, bands = len(aqm.initial()), aqm.bands
    ticks = aqm.update_interval is not None and law.drift is Aqm.drift
    if size > _MOST_CONTROLS:
        return None
    names = tuple(f"x{place}" for place in range(size + bands + 2))
    moves = tape_by(aqm, move_by_update if ticks else move_by_drift, names, "update")
    encode, controller = tape_of(aqm, "encode"), tape_of(aqm, "controller")
    tapes = {
        "encode": encode,
        "at_rest": tape_of(aqm, "at_rest"),
        "controller": controller,
        "encode_slopes": encode.slopes(encode.inputs),
        "moves": moves.slopes(names[:-1]),
        "picks": controller.slopes(controller.inputs),
    }
    if bands == 2:
        serve = tape_by(aqm, classic_service, names[:3], "serve")
        delay = tape_by(aqm, classic_delay, names[:3], "delays")
        tapes |= {"serve": serve, "serve_slope": serve.slopes(names[:1])}
        tapes["delay_slopes"] = delay.slopes(names[:2])
    if not _of_all_numbers(aqm, tapes):
        return None
    return _OnDesk(_core.DeskQueue(_in_kernel(tapes), size, bands, ticks), encode)


def _in_kernel(tapes: dict[str, Tape]) -> dict[str, _core.Tape]:
    return {name: kernel_tape(tape) for name, tape in tapes.items()}


def _of_all_numbers(law: Sender | Aqm, tapes: dict[str, Tape]) -> bool:
    """Return whether the parameters of all tapes are all numbers of a law, in one order.

    A law that asks for the value of a number has a tape of that value alone.
    """
    parameters = {tape.parameters for tape in tapes.values()}
    return len(parameters) == 1 and len(next(iter(parameters))) == len(leaves(law))


def desk_of(
    aqm: Aqm,
    flows: Sequence[tuple[Sender, Number, Number]],
    packets: Number,
    pick: Picker,
    size: int,
) -> _core.Desk | None:
    """Return flows and their queue in compiled code, None if they have no place there.

    Parameters
    ----------
    aqm : Aqm
    flows : sequence of tuple
        A sender, how many, and their base round-trip time (s), for each class.
    packets : float or array
        Packets per second of the link.
    pick : callable
        From a number, or an array of the loops' shape, to that of the loops asked for, in a row.
    size : int
        How many loops these are.
    """
    queue = queue_on_desk(aqm)
    if queue is None:
        return None
    classes = []
    for sender, count, base_rtt in flows:
        on_desk = sender_on_desk(sender)
        if on_desk is None:
            return None
        numbers = tuple(map(pick, numbers_on_tape(sender, on_desk.tape)))
        classes.append((on_desk.law, numbers, pick(count), pick(base_rtt)))
    return _core.Desk(
        queue.law,
        tuple(map(pick, numbers_on_tape(aqm, queue.tape))),
        highest=pick(aqm.highest),
        load=pick(aqm.full_load),
        packets=pick(packets),
        interval=0.0 if aqm.update_interval is None else pick(aqm.update_interval),
        classes=classes,
        n=size,
    )


def picker(shape: tuple[int, ...], chosen: BoolArray | None = None) -> Picker:
    """Return what takes from a number that of some loops of an array of this shape, in a row."""

    def pick(value: Number) -> Real:
        if type(value) is float:
            return value
        given = np.asarray(value, dtype=float)
        if given.ndim == 0:
            return float(given)
        whole = np.broadcast_to(given, shape)
        return np.ascontiguousarray(whole.ravel() if chosen is None else whole[chosen])

    return pick


def settle_on_desk(
    flows: tuple[Flows, ...], aqm: Aqm, packets: Number, shape: tuple[int, ...]
) -> Settled | None:
    """Return where flows rest that hear their queue, None if compiled code does not find it."""
    pick = picker(shape)
    size = int(np.prod(shape))
    given = [(flow.sender, flow.count, flow.base_rtt) for flow in flows]
    desk = desk_of(aqm, given, packets, pick, size)
    rows = None if desk is None else desk.rest()
    if rows is None:
        return None
    row: Any = rows.ravel().tolist() if shape == () else rows.reshape(-1, *shape)
    u, delays, at = row[0], (row[1], row[2]), 3
    signal = Signal(u, u)
    found: list[tuple[Any, ...]] = []
    for flow in flows:
        several = len(flow.sender.states)
        p, rtt, rate = row[at : at + 3]
        state = row[at + 3] if several == 1 else tuple(row[at + 3 : at + 3 + several])
        found.append((p, rtt, state, rate))
        at += 3 + several
    return Settled(
        Rest(u, signal, delays[0] if aqm.bands == 1 else delays), *zip(*found, strict=True)
    )


def settle_links_on_desk(links: Links) -> FloatArray | None:
    """Return the coordinates of several links at rest, None if compiled code does not find them.

    Parameters
    ----------
    links : Links
        What arrives at each.
    """
    if len(links.laws) > _MOST_LINKS or any(law.alone for law in links.laws):
        return None
    queues, classes = [], []
    for law in links.laws:
        queue = queue_on_desk(law.aqm)
        if queue is None:
            return None
        numbers = list(map(float, numbers_on_tape(law.aqm, queue.tape)))
        queues.append((queue.law, numbers, float(law.highest), law.full_load, law.capacity))
    for flow, route in zip(links.flows, links.places, strict=True):
        sender = sender_on_desk(flow.sender)
        if sender is None:
            return None
        numbers = list(map(float, numbers_on_tape(flow.sender, sender.tape)))
        classes.append((sender.law, numbers, float(flow.count), float(flow.base_rtt), route))
    return _core.rest_of_network(queues, classes, adds=links.combine == "sum")


class DeskLoops:
    """Loops on the desk in a row, at where they rest; NaN where it has none.

    Parameters
    ----------
    desk : _core.Desk
    rests : numpy.ndarray
        As `_core.Desk.rest` returns them.
    update : {"continuous", "delayed", "sampled"}
    exact : bool
        Whether laws' own dependence on the round-trip time counts.
    """

    def __init__(self, desk: _core.Desk, rests: FloatArray, update: str, *, exact: bool) -> None:
        self._desk, self._given = desk, (rests, update, exact)

    def margins(self, first: int, last: int) -> FloatArray:
        """Return the numbers of `SearchedMargins` of those from first to last - 1, as rows."""
        return self._desk.margins(*self._given, first, last)

    def nearest(self, first: int, last: int) -> FloatArray:
        """Return their smallest |1 + L|, one row."""
        return self._desk.nearest(*self._given, first, last)

    def unstable(self, first: int, last: int) -> FloatArray:
        """Return how many of their closed-loop modes grow, one row."""
        return self._desk.unstable(*self._given, first, last)

    def response(self, w: FloatArray) -> ComplexArray:
        """Return L(jw) of each at frequencies (rad/s), a row each."""
        parts = self._desk.response(*self._given, w)
        values: ComplexArray = (parts[0::2] + 1j * parts[1::2]).T
        return values


def has_place(senders: Sequence[Sender], aqm: Aqm, point: OperatingPoint) -> bool:
    """Return whether laws that rest there are known to the desk."""
    ruled = np.ndim(point.controller) > 0 or bool(point.controller > 0.0)
    on_desk = all(sender_on_desk(sender) is not None for sender in senders)
    return ruled and on_desk and queue_on_desk(aqm) is not None


def desk_loops(
    senders: Sequence[Sender],
    counts: Sequence[Number],
    aqm: Aqm,
    point: OperatingPoint,
    update: str,
    rtt_terms: str,
    chosen: BoolArray,
) -> DeskLoops | None:
    """Return chosen loops of an array on the desk, from where they rest; None if they are not.

    Parameters
    ----------
    senders, counts : sequence
        One per class, and how many flows it has.
    aqm : Aqm
    point : OperatingPoint
    update, rtt_terms : str
        As for `Loop`.
    chosen : numpy.ndarray of bool
        Of the loops' shape.
    """
    shape = chosen.shape
    pick = picker(shape, chosen if shape else None)
    size = int(np.count_nonzero(chosen))
    given = [(sender, count, 0.0) for sender, count in zip(senders, counts, strict=True)]
    desk = desk_of(aqm, given, point.capacity, pick, size)
    if desk is None:
        return None
    delays = point.queue_delay if isinstance(point.queue_delay, tuple) else (point.queue_delay, 0.0)
    numbers = [point.controller, *delays]
    several = isinstance(point.p, tuple)
    for place, state in enumerate(point.states):
        each = [point.p, point.rtt, point.rate]
        numbers += [value[place] for value in each] if several else each
        numbers += state if isinstance(state, tuple) else (state,)
    rests = np.empty((len(numbers), size))
    for row, value in zip(rests, numbers, strict=True):
        row[...] = pick(value)
    return DeskLoops(desk, rests, update, exact=rtt_terms == "exact")


class DeskSearch(Search):
    """An array of loops whose crossovers are searched for on the desk, elsewhere where it has none.

    Parameters
    ----------
    make : callable
        From which loops are chosen to those on the desk.
    linear : callable
        The loops themselves, for what the desk leaves.
    update, element
        As for `Search`.
    """

    def __init__(
        self,
        make: Callable[[BoolArray], DeskLoops | None],
        linear: Callable[[], AnyLoop],
        update: str,
        element: Callable[[tuple[int, ...]], AnyLoop],
    ) -> None:
        self._make, self._linear = make, linear
        self.update = update
        self._element = element
        self._last = None

    @property
    def loop(self) -> AnyLoop:
        """The loops as matrices."""
        return self._linear()

    def _ways(self) -> Iterable[Callable[[BoolArray], CompiledLoops | None]]:
        """The desk, and what it leaves elsewhere."""

        def on_desk(chosen: BoolArray) -> CompiledLoops | None:
            found = self._make(chosen)
            if found is None:
                return None
            return CompiledLoops(found, int(np.count_nonzero(chosen)))

        yield on_desk
        yield from super()._ways()
