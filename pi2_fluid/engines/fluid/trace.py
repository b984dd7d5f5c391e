"""Trace: what an engine reports at each sample, as arrays, whichever engine it was."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pi2_fluid.network.routes import places_of
from pi2_fluid.network.scenario import Scenario

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray


class Trace(NamedTuple):
    """Samples of a trajectory, in packets and seconds. n samples, m classes, b bands.

    Of a network of several links these take the place of bands, or stand before them if a queue is
    dual, with 0 for the L4S queue of one that is not; `controller` and `capacity` have the shape
    (n, links).
    """

    time: FloatArray
    """Seconds, shape (n,)."""
    queue: FloatArray
    """Packets, shape (n, b)."""
    queue_delay: FloatArray
    """Seconds, shape (n, b)."""
    controller: FloatArray
    """The controller's variable, shape (n,)."""
    p: FloatArray
    """Signal probability per class, shape (n, m)."""
    window: FloatArray
    """Segments of one flow, shape (n, m)."""
    leaving: FloatArray
    """Packets per second of each class that leave the last link of its route, shape (n, m)."""
    capacity: FloatArray
    """Packets per second, shape (n,)."""
    link_p: FloatArray | None = None
    """Of several links: signal probability of each, shape (n, links, m); 0 off the route."""
    link_leaving: FloatArray | None = None
    """Of several links: packets per second that leave each, shape (n, links, m)."""


class Rows(NamedTuple):
    """What every engine reports of n samples, queue by queue, link by link, class by class.

    A visit is a class at a link of its route: those of a class are one after the other.
    """

    queue: FloatArray
    """Packets, shape (n, queues)."""
    queue_delay: FloatArray
    """Seconds, shape (n, queues)."""
    controller: FloatArray
    """Of each link, shape (n, links)."""
    capacity: FloatArray
    """Packets per second, shape (n, links)."""
    window: FloatArray
    """Segments of one flow, shape (n, classes)."""
    p: FloatArray
    """Probability of a signal, shape (n, visits)."""
    leaving: FloatArray
    """Packets per second that leave, shape (n, visits)."""


def empty_rows(scenario: Scenario, n: int) -> Rows:
    """Return rows to be filled."""
    network = scenario.network
    queues = sum(node.aqm.bands for node in network.nodes)
    links, classes = len(network.nodes), len(scenario.flows)
    visits = sum(map(len, places_of(network.node_names, scenario.flows)))
    shapes = (queues, queues, links, links, classes, visits, visits)
    return Rows(*(np.empty((n, size)) for size in shapes))


def trace_of(scenario: Scenario, time: FloatArray, rows: Rows) -> Trace:
    """Return rows at each time (s) as samples of a trajectory."""
    network, classes = scenario.network, len(scenario.flows)
    links = len(network.nodes)
    if links == 1:
        controller, capacity = rows.controller[:, 0], rows.capacity[:, 0]
        return Trace(time=time, **rows._replace(controller=controller, capacity=capacity)._asdict())
    firsts = np.cumsum([0, *(node.aqm.bands for node in network.nodes)])
    queues_of = [range(first, end) for first, end in pairwise(firsts)]
    places = places_of(network.node_names, scenario.flows)
    link_p, link_leaving = (np.zeros((len(time), links, classes)) for _ in range(2))
    visits = ((link, i) for i, route in enumerate(places) for link in route)
    for visit, (link, i) in enumerate(visits):
        link_p[:, link, i], link_leaving[:, link, i] = rows.p[:, visit], rows.leaving[:, visit]
    last = [route[-1] for route in places]
    return Trace(
        time=time,
        queue=by_band(queues_of, rows.queue),
        queue_delay=by_band(queues_of, rows.queue_delay),
        controller=rows.controller,
        p=_met(link_p, network.combine),
        window=rows.window,
        leaving=link_leaving[:, last, list(range(classes))],
        capacity=rows.capacity,
        link_p=link_p,
        link_leaving=link_leaving,
    )


def _met(link_p: FloatArray, combine: str) -> FloatArray:
    """Return with what probability a packet is signalled on its way."""
    by_draws: FloatArray = 1.0 - np.prod(1.0 - link_p, axis=1)
    added: FloatArray = np.minimum(link_p.sum(axis=1), 1.0)
    return added if combine == "sum" else by_draws


def by_band(queues_of: Sequence[Sequence[int]], values: FloatArray) -> FloatArray:
    """Return values of all queues by link, or by link and band, 0 where a link has one, if not all.

    Parameters
    ----------
    queues_of : sequence of sequence of int
        The queues of each link.
    values : array, shape (n, queues)
        Of each sample.
    """
    most = max(map(len, queues_of))
    if most == 1:
        return values
    found = np.zeros((len(values), len(queues_of), most))
    for link, queues in enumerate(queues_of):
        found[:, link, : len(queues)] = values[:, list(queues)]
    return found
