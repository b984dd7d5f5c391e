"""Where flows that count whole segments rest, and what they make of a loop of mean windows.

Each class of them has its own `Chain`. What its windows answer takes the place of what one mean
window answers, class by class, in the queue of `Loop`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.errors import DomainError, SolverError, UnsupportedError
from pi2_fluid.loop.acks.chain import Chain, Law, Rules, reduction_spread
from pi2_fluid.loop.acks.cubic_chain import CubicChain, Path
from pi2_fluid.loop.acks.plant import AckClass, AckLoop, answer_of, class_delays
from pi2_fluid.loop.acks.roots import without_echoes
from pi2_fluid.loop.transfer import Loop
from pi2_fluid.loop.updates import respond
from pi2_fluid.records.record import declares

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.laws.sender import Sender
    from pi2_fluid.network.flows import Flows
    from pi2_fluid.network.network import Network
    from pi2_fluid.values import ComplexArray, FloatArray

#: Parts of the chain, in the order in which one builds on another, and ...
CHAIN: Final = ("scatter", "pauses", "whole", "counts")
#: ... those that stand by themselves.
OTHERS: Final = ("delayed_acks", "bunches", "recovery")
_LEAST, _MOST = 3.0, 100.0  # segments
_ROUNDS, _CLOSE = 60, 1e-8  # of the search for the rest
_NEAR: Final = 0.02  # a chain has states enough for means that differ by so much
_STEP: Final = 1e-6  # relative, of a derivative
_DUPLICATES: Final = 3  # acknowledgements after which Linux takes a segment for lost, or after ...
_REORDERING: Final = 0.25  # ... this part of the path, whichever is first (RFC 8985, section 6.2)


class _Class:
    """One class of flows while its rest is searched: how it differs from one of mean windows.

    Attributes
    ----------
    part : float
        Segments in flight over those of the sender's law at the same signals.
    waited : float
        By how much delayed acknowledgements make its path longer (s).
    window : float
        In flight (segments).
    chain : Chain, optional
        Of a class that counts segments.
    lost : bool
        Whether its signals are losses whose recovery counts.
    """

    def __init__(self, flow: Flows, aqm: Aqm, parts: frozenset[str]) -> None:
        self.flow, self._parts = flow, parts
        self.counts = counts_segments(flow.sender)
        plain = declares(flow.sender, "plant") == "reno"
        self._scatters = {"scatter"} <= parts if plain else set(CHAIN) <= parts
        marked = flow.ecn_capable and getattr(aqm, "ecn", True)
        self.lost = not marked and {"recovery", "pauses"} <= parts
        self.part, self.waited, self.window = 1.0, 0.0, np.nan
        self.chain: Chain | None = None

    def moved(self) -> Flows:
        """Return so many flows of its law, over such a path, as take the same rate."""
        many: Any = self.flow.count
        path = float(self.flow.base_rtt) + self.waited
        return replace(self.flow, count=many * self.part, base_rtt=path)

    def settle(self, rtt: float, mean: float, p: float) -> None:
        """Take up where those flows rest."""
        self.window = mean * self.part
        if not self.counts:
            return
        if "delayed_acks" in self._parts and self.flow.delayed_ack:
            self.waited = rtt / (2.0 * self.window)
        if self._scatters:
            self.chain = self._chain(rtt)
            self.part = self.chain.flight(p, 1.0 - self.waited / rtt) / mean

    def _chain(self, rtt: float) -> Chain:
        """Return a chain with states enough: the one there was, if it has."""
        self.require_segments(beyond=1.0)
        window = self.window
        if self.chain is not None and abs(window / self.chain.window - 1.0) < _NEAR:
            return self.chain
        rules = Rules(*(name in self._parts for name in CHAIN[1:]))
        sender: Any = self.flow.sender
        noticed = self._noticed(window, rtt) if self.lost else None
        if declares(sender, "plant") == "cubic":
            path = Path(rtt, float(self.flow.base_rtt), bool(self.flow.delayed_ack))
            return CubicChain(window, sender, path, noticed)
        return Chain(window, rules, Law(float(sender.decrease), float(sender.increase), noticed))

    def _noticed(self, window: float, rtt: float) -> float:
        """Return how long a loss goes unnoticed after its acknowledgement was due, over rtt.

        Acknowledgements of what follows come each R/W. Linux waits for three of them, or for a
        quarter of the smallest round trip, and for one at least.
        """
        each = rtt / window
        wait = min(_DUPLICATES * each, max(each, _REORDERING * float(self.flow.base_rtt)))
        return max(wait - self.waited, 0.0) / rtt

    def require_segments(self, beyond: float = 0.0) -> None:
        """Refuse windows without a chain, or, while they are searched, those so far beyond."""
        if self.counts and not _LEAST - beyond <= self.window <= _MOST + beyond:
            raise DomainError(
                f"flows have windows of {self.window:.5g} segments, where {_LEAST:g} to {_MOST:g}"
                " can be counted: give another capacity or number of flows, or ask"
                ' Loop(clock="acks").'
            )


class Place(NamedTuple):
    """A network at rest as packets have it, and the loop of mean windows there."""

    loop: Loop
    """Of so many flows of mean windows as take the same rates at the same signals."""
    classes: tuple[_Class, ...]

    @property
    def names(self) -> list[str]:
        """Of the classes."""
        return [str(one.flow.name) for one in self.classes]

    @property
    def windows(self) -> FloatArray:
        """In flight (segments), by class."""
        return np.array([one.window for one in self.classes])


def counts_segments(sender: Sender) -> bool:
    """Return whether a sender grows per segment, and loses a part of its window at a signal."""
    plant, form = declares(sender, "plant"), ("growth", "per_segment")
    if plant == "cubic":
        form = ("variant", "linux")
    elif plant != "reno":
        return False
    return bool(getattr(sender, form[0], "") == form[1])


def place_of(network: Network, parts: frozenset[str]) -> Place:
    """Return where a network rests. Classes that count no segments rest as their laws do."""
    options: dict[str, Any] = {"clock": "acks", "update": "sampled"}
    options["bunch"] = 1.0 if "bunches" in parts else 0.0
    loop = Loop(network, **options)
    if loop.shape:
        raise UnsupportedError(
            f"windows are counted of one loop, and these numbers are arrays of {loop.shape}: ask"
            ' for each by itself, or Loop(clock="acks") for all.'
        )
    classes = tuple(_Class(flow, network.nodes[0].aqm, parts) for flow in network.flows)
    for _ in range(_ROUNDS):
        before = [(one.part, one.waited) for one in classes]
        point = loop.operating_point
        for one, *found in zip(classes, point.rtt, point.window, point.p, strict=True):
            one.settle(*(float(value) for value in found))
        if np.allclose([(one.part, one.waited) for one in classes], before, _CLOSE, 0.0):
            break
        loop = Loop(replace(network, flows=tuple(one.moved() for one in classes)), **options)
    else:
        raise SolverError(
            f"where flows that count segments rest was not found in {_ROUNDS} steps: give another"
            ' capacity or number of flows, or ask Loop(clock="acks").'
        )
    for one in classes:
        one.require_segments()
    return Place(loop, classes)


def mean_loop(place: Place, omega: FloatArray) -> ComplexArray:
    """Return L(j omega) of mean windows, as margins have it: without echoes."""
    linear = place.loop.linear
    assert isinstance(linear, AckLoop)
    return respond(without_echoes(linear), 1j * omega, place.loop.update)


def factor_of(place: Place, omega: FloatArray) -> ComplexArray:
    """Return by what the loop of mean windows is to be multiplied."""
    linear = place.loop.linear
    assert isinstance(linear, AckLoop)
    s = 1j * omega
    delays = class_delays(linear, s)
    changed: Any = sum(
        delay * _answer_over_mean(place, cls, s)
        for cls, delay in zip(linear.classes, delays, strict=True)
    )
    result: ComplexArray = changed / np.asarray(sum(delays))
    return result


def _answer_over_mean(place: Place, cls: AckClass, s: ComplexArray) -> ComplexArray:
    """Return the answer of a class's windows over that of one mean window."""
    one, point = place.classes[cls.number], place.loop.operating_point
    if one.chain is None:
        return np.ones(len(s), dtype=complex)
    p, rtt = float(point.p[cls.number]), float(point.rtt[cls.number])
    angles: FloatArray = np.asarray(s.imag * rtt, dtype=float)
    answer: Any = one.chain.answer_in_flight(angles, p, 1.0 - one.waited / rtt)
    if not one.chain.rules.pauses:  # it cuts at once, and carries that out over a round trip
        spread, own = reduction_spread(angles), s * rtt * float(cls.window)
        grown = one.chain.law.increase
        answer = answer * spread * (own + 2.0 * grown) / (own + grown * (1.0 + spread))
    if not one.lost:  # a marked packet is acknowledged at once
        answer = answer * np.exp(s * one.waited)
    heard = answer_of(cls, s, 0.0).by_signal * np.exp(s * cls.heard)
    result: ComplexArray = answer * rtt * _slope(place.loop) / heard
    return result


def _slope(loop: Loop) -> float:
    """Return dln(p)/d(controller's variable) of Classic senders."""
    aqm: Any = loop.aqm
    u = float(loop.operating_point.controller)
    up, down = (float(aqm.encode(u * (1.0 + step)).classic) for step in (_STEP, -_STEP))
    return float(np.log(up / down) / (2.0 * _STEP * u))
