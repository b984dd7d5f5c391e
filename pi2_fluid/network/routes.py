"""Routes: which nodes each class of flows crosses, and in what order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from pi2_fluid.errors import ScenarioError, show_value, suggest
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.network.flows import Flows
from pi2_fluid.ops import Number
from pi2_fluid.values import FloatArray


def check_routes(owner: str, nodes: Sequence[str], classes: Sequence[Flows]) -> None:
    """Refuse routes over nodes that are not there, and none where there are several nodes.

    Parameters
    ----------
    owner : str
        Whose flows they are, in messages.
    nodes : sequence of str
        The names of the nodes.
    classes : sequence of Flows
        The classes.

    Raises
    ------
    ScenarioError
        Naming the class by its place.
    """
    known = set(nodes)
    for number, flows in enumerate(classes, 1):
        place = f"{owner} flows {number}"
        if flows.route is None and len(nodes) > 1:
            raise ScenarioError(
                f"{place} route = None is missing, for there are {len(nodes)} nodes: name those"
                f" that it crosses, in order, of {', '.join(map(repr, nodes))}."
            )
        for field, way in (("route", flows.route), ("back", flows.back)):
            for name in way or ():
                if name not in known:
                    raise ScenarioError(
                        f"{place} {field} = {show_value(way)} has {show_value(name)}, which is no"
                        f" node: give {suggest(name, nodes)}."
                    )
        if flows.route is None and flows.back:
            raise ScenarioError(
                f"{place} back = {show_value(flows.back)} crosses the only node, as its route does:"
                " give the other direction a node of its own."
            )


def places_of(nodes: Sequence[str], classes: Sequence[Flows]) -> list[list[int]]:
    """Return the places of the nodes on each class's route, in its order."""
    places = {name: place for place, name in enumerate(nodes)}
    return [[places[name] for name in flows.route or nodes[:1]] for flows in classes]


def places_back_of(nodes: Sequence[str], classes: Sequence[Flows]) -> list[list[int]]:
    """Return the places of the nodes that each class's acknowledgements cross, in their order."""
    places = {name: place for place, name in enumerate(nodes)}
    return [[places[name] for name in flows.back or ()] for flows in classes]


def routing_of(nodes: Sequence[str], classes: Sequence[Flows]) -> FloatArray:
    """Return the routing matrix: 1 where a class (column) crosses a node (row), else 0."""
    matrix = np.zeros((len(nodes), len(classes)))
    for column, places in enumerate(places_of(nodes, classes)):
        matrix[places, column] = 1.0
    return matrix


def on_their_ways(
    classes: Sequence[Flows], queues: Mapping[str, Aqm], packet_size: Number
) -> tuple[Flows, ...]:
    """Return the classes with senders that know their segments and the queues on their routes.

    Parameters
    ----------
    classes : sequence of Flows
        The classes.
    queues : mapping of str to Aqm
        The queue of each node by its name.
    packet_size : float
        Bytes of a segment.
    """
    told = []
    for flows in classes:
        way = [queues[name] for name in flows.route or list(queues)[:1]]
        sender = flows.sender.on_link(packet_size).on_route(way)
        told.append(flows if sender is flows.sender else replace(flows, sender=sender))
    return tuple(told)
