"""Where flows and a queue rest, as equations that JAX differentiates.

Each number that `Loop` finds by a search is one of the unknowns here, and each law that holds there
one of the equations. Closed forms of laws are taken as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.sender import Sender
from pi2_fluid.laws.traceable import call_traceable
from pi2_fluid.loop.elimination import solved
from pi2_fluid.loop.link import link_slopes
from pi2_fluid.network.flows import Flows

if TYPE_CHECKING:
    from pi2_fluid.values import Number

#: A number or an array of JAX, or of NumPy where nothing is traced.
Traced: TypeAlias = Any


class Kind(Enum):
    """Loops that are built of other parts."""

    QUEUE = "a queue holds its flows back by signals"
    L4S_ALONE = "the Classic queue of two is empty"
    AT_ONCE = "signals act on rates at once, or arrivals on the controller: a network of one link"
    DELAY = "flows answer to their delay alone"


class Case(NamedTuple):
    """What a loop is made of, with numbers of JAX."""

    flows: Traced
    aqm: Aqm
    numbers: dict[str, Any]
    update: str
    rtt_terms: str

    @property
    def senders(self) -> tuple[Sender, ...]:
        """The senders, in the order of the classes."""
        if isinstance(self.flows, Sender):
            return (self.flows,)
        return tuple(flow.sender for flow in self.classes)

    @property
    def classes(self) -> tuple[Flows, ...]:
        """The classes of flows, where a capacity is given."""
        return (self.flows,) if isinstance(self.flows, Flows) else self.flows

    @property
    def kind(self) -> Kind:
        """Of which kind the loop is: by its laws, whatever their numbers."""
        heard = {sender.signal for sender in self.senders}
        if self.aqm.acts_on == "arrivals" or any(s.answers_at_once for s in self.senders):
            return Kind.AT_ONCE
        if heard == {None} or self.aqm.overflows:
            return Kind.DELAY
        alone = self.aqm.rests_apart and "scalable" in heard and "classic" not in heard
        return Kind.L4S_ALONE if alone else Kind.QUEUE

    @property
    def solves_queue(self) -> bool:
        """Whether the queue's rest is solved for, and is not a closed form."""
        return solves_rest(self.aqm) and self.kind is not Kind.DELAY

    @property
    def unknowns(self) -> int:
        """Of how many numbers an operating point is solved for."""
        count = 1 + sum(len(law.states) for law in self.senders if solves_rest(law))
        return count + (len(self.aqm.initial()) + 1 if self.solves_queue else 0)


class ClassAtRest(NamedTuple):
    """A class of flows at rest."""

    sender: Sender
    x: tuple[Any, ...]
    p: Traced
    rtt: Traced
    weight: Traced
    """Of `pi2_fluid.loop.link.Coupling`, as are the others."""
    lead: Traced = 0.0
    feels: bool = True


class _Queue(NamedTuple):
    """A queue at rest by itself."""

    u: Traced
    signals: dict[str, Any]
    state: tuple[Any, ...]
    delays: tuple[Any, ...]


class AtRest(NamedTuple):
    """A queue at rest, and who sends through it."""

    u: Traced
    """The controller's variable."""
    state: tuple[Any, ...]
    delays: tuple[Any, ...]
    """Seconds, of each band."""
    capacity: Traced
    """Packets per second."""
    load: Traced
    """What arrives, over that."""
    classes: list[ClassAtRest]


def solves_rest(law: Sender | Aqm) -> bool:
    """Return whether a law has no closed form of where it rests."""
    return type(law).at_rest is (Sender if isinstance(law, Sender) else Aqm).at_rest


def refined(equations: Callable[[Any], Any], numbers: Traced) -> Traced:
    """Return numbers after two of Newton's steps, which carry first and second derivatives."""
    import jax

    for _ in range(2):
        numbers = numbers - solved(jax.jacfwd(equations)(numbers), equations(numbers))
    return numbers


def equations(case: Case, numbers: Traced) -> tuple[AtRest, Any]:
    """Return where a loop rests by the numbers that are solved for, and what is to be 0 there.

    The first number is the controller's variable; of L4S traffic alone the probability that its
    packets are marked with, and of flows that answer to their delay that delay.
    """
    from jax import numpy as jnp

    if isinstance(case.flows, Sender):
        rest, residuals = _of_one_sender(case, case.flows, numbers)
    else:
        rest, residuals = _of_a_link(case, numbers)
    return rest, jnp.stack(residuals)


def _of_one_sender(case: Case, sender: Sender, numbers: Traced) -> tuple[AtRest, list[Any]]:
    aqm, given, left = case.aqm, case.numbers, list(numbers[1:])
    assert sender.signal is not None, "Loop has refused others"
    p, rtt = given.get("p"), given["rtt"]
    if p is None:
        p = given["p_prime"] ** (2.0 if sender.signal == "classic" else 1.0)
    moves: list[Any] = []
    x = _state_of(sender, p, rtt, left, moves)
    (rate,) = call_traceable(sender, "sending_rate_under", *x, p, rtt)
    load = _load(aqm, numbers[0])
    capacity = rate / load
    u, signals, state, delays = _queue(case, numbers[0], capacity, left, moves)
    (weight,), (lead,) = _couplings(case, delays, [sender], [load], [1.0 / capacity], capacity)
    feels = case.kind is Kind.L4S_ALONE or not (aqm.rests_apart and sender.signal == "scalable")
    classes = [ClassAtRest(sender, x, p, rtt, weight, lead, feels)]
    return AtRest(u, state, delays, capacity, load, classes), [signals[sender.signal] - p, *moves]


def _of_a_link(case: Case, numbers: Traced) -> tuple[AtRest, list[Any]]:
    aqm, given = case.aqm, case.numbers
    size = given.get("packet_size", 1500.0)
    capacity = given["capacity"] / (8.0 * size)
    of_queue = len(aqm.initial()) + 1 if case.solves_queue else 0
    left, solved = list(numbers[1 : len(numbers) - of_queue]), numbers[len(numbers) - of_queue :]
    moves: list[Any] = []
    if case.kind is Kind.DELAY:
        load, at = 1.0, _Queue(0.0 * numbers[0], {}, (), (numbers[0],))
    else:
        load = _load(aqm, numbers[0])
        at = _queue(case, numbers[0], capacity, list(solved), moves)
    u, signals, state, delays = at
    senders = [flow.sender.on_link(size) for flow in case.classes]
    in_l = [aqm.rests_apart and sender.signal == "scalable" for sender in senders]
    found, shares = [], []
    for flow, sender, l4s in zip(case.classes, senders, in_l, strict=True):
        p = signals.get(sender.signal or "", 0.0 * u)
        rtt = flow.base_rtt + delays[1 if l4s else 0]
        x = _state_of(sender, p, rtt, left, moves)
        (rate,) = call_traceable(sender, "sending_rate_under", *x, p, rtt)
        shares.append(flow.count * rate / capacity)
        found.append((sender, x, p, rtt))
    per_link = [flow.count / capacity for flow in case.classes]
    weights, leads = _couplings(case, delays, senders, shares, per_link, capacity)
    alone = case.kind is Kind.L4S_ALONE
    classes = [
        ClassAtRest(*rest, weight, lead, l4s == alone)
        for rest, weight, lead, l4s in zip(found, weights, leads, in_l, strict=True)
    ]
    rest = AtRest(u, state, delays, capacity, load, classes)
    return rest, [sum(shares) / load - 1.0, *moves]


def _state_of(
    sender: Sender, p: Traced, rtt: Traced, left: list[Any], moves: list[Any]
) -> tuple[Any, ...]:
    if not solves_rest(sender):
        return call_traceable(sender, "at_rest", rtt, p)
    x = tuple(left.pop(0) for _ in sender.states)
    moves += [move * rtt for move in call_traceable(sender, "rate", *x, *x, p, rtt, rtt)]
    return x


def _load(aqm: Aqm, u: Traced) -> Traced:
    """Return what arrives over the capacity: of what acts on arrivals, all that it lets flows have.

    `Loop` refuses one that rests at a bound of its own, at a smaller load.
    """
    if aqm.acts_on != "queue":
        return aqm.full_load
    (load,) = call_traceable(aqm, "load_at", u)
    return load


def _queue(
    case: Case, first: Traced, capacity: Traced, left: list[Any], moves: list[Any]
) -> _Queue:
    """Return a queue at rest by the first of the unknowns, and by those that are left."""
    aqm, u = case.aqm, first
    if case.kind is Kind.L4S_ALONE:
        u, waits = call_traceable(aqm, "at_rest_alone", first, function=_at_rest_alone)
        state, _ = _split(aqm, call_traceable(aqm, "at_rest", u, capacity))
        signals = {"classic": 0.0 * first, "scalable": first}
        return _Queue(u, signals, state, (0.0 * first, waits))
    signals = dict(zip(("classic", "scalable"), call_traceable(aqm, "encode", u), strict=True))
    if not case.solves_queue:
        told = _told_by_controller(aqm, u, capacity)
        if told is not None:
            return _Queue(u, signals, told, (0.0 * u,))
        return _Queue(u, signals, *_split(aqm, call_traceable(aqm, "at_rest", u, capacity)))
    state, delay = tuple(left[:-1]), left[-1]
    interval: Traced = aqm.update_interval
    seen = (delay, delay * capacity, capacity, capacity, 0.0)
    after = call_traceable(aqm, "update", *state, *seen, interval)
    moves += [new - old for new, old in zip(after, state, strict=True)]
    moves += [value - u for value in call_traceable(aqm, "controller", *state)]
    return _Queue(u, signals, state, (delay,))


def _at_rest_alone(aqm: Aqm, p: Number) -> tuple[Number, ...]:
    return aqm.at_rest_alone(p)


def _split(aqm: Aqm, flat: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the state and the delays of what `at_rest` returns."""
    return flat[: -aqm.bands], flat[-aqm.bands :]


def _told_by_controller(aqm: Aqm, u: Traced, capacity: Traced) -> tuple[Any, ...] | None:
    """Return the one state of a law without a queue at rest, by what its variable is of that state.

    `at_rest` is the inverse, and may be a search that passes on first derivatives alone, as that of
    `Avq` is. None of other laws.
    """
    if aqm.acts_on != "arrivals" or type(aqm).controller is Aqm.controller:
        return None
    import jax
    from jax import numpy as jnp

    law, *where = jax.tree.map(jax.lax.stop_gradient, (aqm, u, capacity))
    state, _ = _split(aqm, call_traceable(law, "at_rest", *where))
    if len(state) != 1:
        return None

    def excess(x: Traced) -> Traced:
        return jnp.stack([value - u for value in call_traceable(aqm, "controller", x[0])])

    return (refined(excess, jnp.stack(state))[0],)


def _couplings(
    case: Case,
    delays: tuple[Any, ...],
    senders: list[Sender],
    shares: list[Any],
    per_link: list[Any],
    packets: Traced,
) -> tuple[list[Any], list[Any]]:
    """Return what each class does to the delay of the queue that rules, as `couple` does."""
    aqm, none = case.aqm, [0.0] * len(senders)
    if not aqm.rests_apart:
        return per_link, none
    l4s = [sender.signal == "scalable" for sender in senders]
    to_l = packets * sum(share for share, is_l in zip(shares, l4s, strict=True) if is_l)
    to_c = packets - to_l
    if case.kind is Kind.L4S_ALONE:
        _, served = aqm.serve((False, True), (to_c, to_l), packets)
        weights = [
            weight * packets / served if is_l else 0.0 * weight
            for weight, is_l in zip(per_link, l4s, strict=True)
        ]
        return weights, none
    served, _ = aqm.serve((True, False), (to_c, to_l), packets)
    by_queue, by_service, service = link_slopes(aqm, delays[0] * served, to_c, to_l, packets)
    weights = [
        (-by_queue * service if is_l else by_queue) * weight * packets
        for weight, is_l in zip(per_link, l4s, strict=True)
    ]
    return weights, [-by_service / by_queue if is_l else 0.0 for is_l in l4s]


def require_one_kind(case: Case, *, alone: bool, signalled: bool) -> None:
    """Refuse a loop whose kind its numbers decide, and decide otherwise than its laws.

    Raises
    ------
    UnsupportedError
        Saying what to do instead.
    """
    instead = "take differences of Loop(...).margins()"
    if not signalled and case.kind is not Kind.DELAY:
        raise UnsupportedError(
            "nothing is signalled to these flows, which could hear signals and rest by their delay,"
            f" and JAX cannot tell such loops from others before it has their numbers: {instead}."
        )
    if case.kind is Kind.L4S_ALONE and not alone:
        raise UnsupportedError(
            "Classic flows of constant rate take more of the link than c_protection keeps for"
            " them, so that their queue rules beside L4S traffic, and JAX cannot tell such loops"
            f" from others before it has their numbers: {instead}."
        )
