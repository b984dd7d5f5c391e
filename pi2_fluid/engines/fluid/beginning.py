"""Where a trajectory begins, if not with an empty queue."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pi2_fluid.errors import ScenarioError, show_value, suggest
from pi2_fluid.laws.aqm import Aqm, Signal
from pi2_fluid.network.bottlenecks import NetworkPoint
from pi2_fluid.network.equilibrium import OperatingPoint
from pi2_fluid.network.network import Node
from pi2_fluid.network.response import met
from pi2_fluid.network.rest import Rest
from pi2_fluid.network.routes import places_of
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.units import validate_quantity

if TYPE_CHECKING:
    from pi2_fluid.values import Number

_KEYS: Final = ("window", "queue", "controller")
_ROUNDED: Final = 1e-9  # by what part a queue at rest may seem longer than its buffer


class Beginning(NamedTuple):
    """The state before time 0."""

    queues: tuple[float, ...]
    """Packets of each band, of several links one after the other."""
    controller: tuple[float, ...]
    """State of the queue's law, or of those of several links one after the other."""
    senders: tuple[tuple[float, ...], ...]
    """State of each class."""


def begin(scenario: Scenario, initial: object) -> Beginning:
    """Return the state that `initial` describes: an operating point, or numbers by name.

    Raises
    ------
    ScenarioError
        If it is neither, or does not fit the scenario.
    """
    law, capacity = scenario.aqm, _packets(scenario.network.node)
    if isinstance(initial, OperatingPoint):
        states = list(initial.states)
        queue, u = float(initial.queue), float(initial.controller)
    elif isinstance(initial, Mapping):
        _check_keys(initial)
        queue = _number(initial.get("queue", 0.0), "packets", "initial queue")
        highest = float(law.highest)
        u = _number(initial.get("controller", 0.0), "number", "initial controller", high=highest)
        states = _states(scenario, initial.get("window"), [_rest(law, u, queue / capacity)])
    else:
        raise ScenarioError(
            f"initial = {show_value(initial)} is no operating point and no mapping: give"
            ' equilibrium(...) or {"window": [...], "queue": ..., "controller": ...}.'
        )
    _check_count(scenario, states)
    queue = _held(queue, scenario.network.node, "initial queue")
    queues = (queue,) if law.bands == 1 else (queue, 0.0)
    return Beginning(
        queues, _controller(law, u, capacity), tuple(_tuple(state) for state in states)
    )


def begin_links(scenario: Scenario, initial: object) -> Beginning:
    """Return the state of several links that `initial` describes: a rest, or numbers by name.

    ``queue`` and ``controller`` are then mappings from names of nodes to numbers.

    Raises
    ------
    ScenarioError
        If it is neither, or does not fit the scenario.
    """
    names, nodes = scenario.node_names, scenario.network.nodes
    if isinstance(initial, NetworkPoint):
        states = list(initial.states)
        known = [str(name) for name in initial.queue.link.to_numpy()]
        if known != list(names):
            raise ScenarioError(
                f"initial describes the links {', '.join(known)} where the scenario has"
                f" {', '.join(names)}: give equilibrium(scenario.network)."
            )
        queues = [float(queue) for queue in initial.queue]
        # Of a tail drop it is what part is lost, which follows from its buffer.
        controllers = [
            0.0 if node.aqm.overflows else float(u)
            for node, u in zip(nodes, initial.controller, strict=True)
        ]
    elif isinstance(initial, Mapping):
        _check_keys(initial)
        highest = [float(node.aqm.highest) for node in nodes]
        given = initial.get("queue"), initial.get("controller")
        queues = _by_name(given[0], names, "packets", "initial queue")
        controllers = _by_name(given[1], names, "number", "initial controller", highest)
        rests = [
            _rest(node.aqm, u, queue / _packets(node))
            for node, u, queue in zip(nodes, controllers, queues, strict=True)
        ]
        states = _states(scenario, initial.get("window"), rests)
    else:
        raise ScenarioError(
            f"initial = {show_value(initial)} is no rest of several links and no mapping: give"
            ' equilibrium(network) or {"window": [...], "queue": {...}, "controller": {...}}.'
        )
    _check_count(scenario, states)
    queues = [
        _held(queue, node, f"initial queue {node.name!r}")
        for node, queue in zip(nodes, queues, strict=True)
    ]
    resting, state = isinstance(initial, NetworkPoint), list[float]()
    for node, u in zip(nodes, controllers, strict=True):
        state += _controller(node.aqm, u, _packets(node), resting=resting)
    waiting, in_l = list[float](), [False] * len(nodes)
    if isinstance(initial, NetworkPoint):
        in_l = (initial.l4s_delay > initial.queue_delay).to_numpy().tolist()
    for node, queue, l4s in zip(nodes, queues, in_l, strict=True):
        # Of two bands in the Classic one, unless L4S packets alone wait.
        waiting += [queue] if node.aqm.bands == 1 else [0.0, queue] if l4s else [queue, 0.0]
    return Beginning(tuple(waiting), tuple(state), tuple(_tuple(each) for each in states))


def _by_name(
    given: object,
    names: Sequence[str],
    dimension: str,
    place: str,
    highest: Sequence[float] = (),
) -> list[float]:
    """Return the numbers that a mapping has for each node, 0 for those that it leaves out."""
    if given is None:
        return [0.0] * len(names)
    if not isinstance(given, Mapping):
        raise ScenarioError(
            f"{place} = {show_value(given)} is no mapping: give a number by the name of each node."
        )
    for name in given:
        if name not in names:
            raise ScenarioError(
                f"{place} has {show_value(name)}, which is no node: give {suggest(name, names)}."
            )
    most = highest or [math.inf] * len(names)
    return [
        _number(given.get(name, 0.0), dimension, f"{place} {name!r}", high=high)
        for name, high in zip(names, most, strict=True)
    ]


def _check_keys(initial: Mapping[Any, Any]) -> None:
    unknown = [key for key in initial if key not in _KEYS]
    if unknown:
        raise ScenarioError(f"initial has the key {unknown[0]!r}: give any of {', '.join(_KEYS)}.")


def _check_count(scenario: Scenario, states: Sequence[object]) -> None:
    if len(states) != len(scenario.flows):
        raise ScenarioError(
            f"initial describes {len(states)} classes of flows where the scenario has"
            f" {len(scenario.flows)}: give one window for each."
        )


def _controller(law: Aqm, u: float, capacity: float, *, resting: bool = False) -> tuple[float, ...]:
    # A law without states of its own keeps none; one that starts to learn begins at rest.
    rests = u > 0.0 or (resting and law.acts_on == "arrivals")
    controller = law.at_rest(u, capacity)[0] if rests else law.initial()
    return tuple(float(value) for value in controller)


def _windows(scenario: Scenario, windows: object) -> Sequence[object]:
    flows = scenario.flows
    if windows is None:
        return [float(flow.initial_window) for flow in flows]
    found = [windows] if not isinstance(windows, Sequence) or isinstance(windows, str) else windows
    if len(found) != len(flows):
        raise ScenarioError(
            f"initial window has {len(found)} numbers where the scenario has {len(flows)}"
            " classes of flows: give one for each."
        )
    return found


def _held(queue: float, node: Node, place: str) -> float:
    """Return a queue, and all of the buffer where only rounding is between them."""
    buffer = float(node.link.buffer)
    if queue > buffer * (1.0 + _ROUNDED):
        raise ScenarioError(
            f"{place} = {queue:g} packets is more than the buffer of {buffer:g} holds: give a"
            " longer buffer, or a shorter queue."
        )
    return buffer if queue > buffer * (1.0 - _ROUNDED) else queue


def _packets(node: Node) -> float:
    """Return the packets per second that a node serves."""
    return float(node.link.capacity) / (8.0 * float(node.link.packet_size))


def _rest(law: Aqm, u: float, delay: float) -> Rest:
    """Return what flows meet; nothing of a law whose controller is at 0, or that has none."""
    return Rest(u, law.encode(u) if u > 0.0 else Signal(0.0, 0.0), delay)


def _states(scenario: Scenario, given: object, rests: Sequence[Rest]) -> list[Any]:
    """Return the state of each class: its window as given, all else as the queues on its way rest.

    A class that hears no signals has just begun.
    """
    network, windows, states = scenario.network, _windows(scenario, given), []
    flows, ways = network.flows, places_of(network.node_names, network.flows)
    for flow, window, way in zip(flows, windows, ways, strict=True):
        sender = flow.sender.on_link(scenario.packet_size)
        value = _number(window, "number", "initial window")
        p, delay = met(sender, [rests[place] for place in way], network.combine)
        if len(sender.states) == 1 or not sender.signal or p == 0.0:
            states.append(sender.initial(value))
        else:
            rest = sender.at_rest(flow.base_rtt + delay, p)
            states.append((value, *rest[1:]))
    return states


def _number(value: object, dimension: str, name: str, **limits: float) -> float:
    return float(validate_quantity(value, dimension, name, closed=True, **limits))


def _tuple(state: Number | tuple[Number, ...]) -> tuple[float, ...]:
    values = state if isinstance(state, tuple) else (state,)
    return tuple(float(value) for value in values)
