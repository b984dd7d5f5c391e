"""In which order a step asks sources and links, and how long it may be so that there is one.

A step is known at its end where each count follows from others that lie before it: what arrives at
a link from what left the one before, a hop ago, what a source sends from what is acknowledged, the
way back ago. A delay longer than the step leads to what is known already. What a shorter one leads
to must be asked first.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from pi2_fluid.errors import QuantityError, UnsupportedError
from pi2_fluid.network.network import Network
from pi2_fluid.network.routes import places_of
from pi2_fluid.network.scenario import Scenario

PARTS: Final = 32  # of the shortest path: steps in which acknowledgements are on their way
LONGEST: Final = 1.25e-3  # s: with it the delay is right to some 1e-7 s where nothing empties
_ROUNDING: Final = 1e-6  # by which a step may be longer than it was meant to be


class Way(NamedTuple):
    """The way of one class."""

    links: tuple[int, ...]
    hops: tuple[float, ...]
    """Seconds from the source or the link before to each link."""
    back: float
    """Seconds from the last link to the source."""
    clocked: bool
    """Whether acknowledgements let the source send."""


class Place(NamedTuple):
    """Where something happens in a step: at a source, by its class, or at a link."""

    kind: str
    number: int


def ways_of(network: Network) -> tuple[Way, ...]:
    """Return the way of each class of a network."""
    found = []
    places = places_of(network.node_names, network.flows)
    for flow, links in zip(network.flows, places, strict=True):
        hops = tuple(float(hop) for hop in flow.hops) or (0.0,) * len(links)
        back = max(0.0, float(flow.base_rtt) - sum(hops))
        found.append(Way(tuple(links), hops, back, flow.sender.constant_rate is None))
    return tuple(found)


def order_within(ways: tuple[Way, ...], links: int, step: float) -> list[Place] | None:
    """Return an order of all sources and links for steps of at most `step` s, None without one."""
    after: dict[Place, set[Place]] = {Place("link", k): set() for k in range(links)}
    for number, way in enumerate(ways):
        source = Place("source", number)
        after[source] = set()
        places = [source, *(Place("link", k) for k in way.links)]
        for place, former, hop in zip(places[1:], places, way.hops, strict=False):
            if hop <= step * (1.0 + _ROUNDING):
                after[place].add(former)
        if way.clocked and way.back <= step * (1.0 + _ROUNDING):
            after[source].add(places[-1])
    order: list[Place] = []
    while after:
        ready = [place for place, former in after.items() if not former & after.keys()]
        if not ready:
            return None
        order += ready
        after = {place: former for place, former in after.items() if place not in ready}
    return order


def step_of(scenario: Scenario, step: float | None) -> float:
    """Return the longest step (s), if not given a 32nd of the shortest path, at most 1.25 ms.

    Raises
    ------
    QuantityError
        If the one given is longer than the shortest path.
    """
    paths = [float(f.base_rtt) for f in scenario.flows if f.sender.constant_rate is None]
    shortest = min(paths, default=math.inf)
    if step is None:
        return min(LONGEST, shortest / PARTS)
    if step * (1.0 + _ROUNDING) >= shortest:
        raise QuantityError(
            f"step = {step:g} s is longer than the shortest path, {shortest:g} s, whose"
            f" acknowledgements a step must not outrun: give at most {shortest / 2.0:g} s."
        )
    return step


def step_and_order(
    network: Network, ways: tuple[Way, ...], most: float, *, asked: bool
) -> tuple[float, list[Place]]:
    """Return the longest step (s) and the order in it: `most`, or less where there is none.

    Parameters
    ----------
    network : Network
        Whose ways these are.
    ways : tuple of Way
        Of each class.
    most : float
        Seconds of a step.
    asked : bool
        Whether it must be these.

    Raises
    ------
    QuantityError
        If a step that was asked for is too long.
    UnsupportedError
        If routes lead around a ring in no time.
    """
    links = len(network.nodes)
    delays = {delay for way in ways for delay in (*way.hops, way.back) if 0.0 < delay <= most}
    shorter = [delay * (1.0 - 2.0 * _ROUNDING) for delay in sorted(delays, reverse=True)]
    for step in [most, *shorter]:
        order = order_within(ways, links, step)
        if order is None:
            continue
        if asked and step < most:
            raise QuantityError(
                f"step = {most:g} s is longer than packets take to a next link, {step:.4g} s, where"
                f" routes lead around a ring: give at most {step:.4g} s."
            )
        return step, order
    raise UnsupportedError(
        "routes lead around a ring of links in no time, so that what enters them would follow from"
        " itself: give hops between them."
    )
