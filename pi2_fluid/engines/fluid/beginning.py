"""Where a trajectory begins, if not with an empty queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pi2_fluid.errors import ScenarioError, show_value, suggest
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.network.bottlenecks import NetworkPoint
from pi2_fluid.network.equilibrium import OperatingPoint
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.units import validate_quantity

if TYPE_CHECKING:
    from pi2_fluid.values import Number

__all__ = ["Beginning", "begin", "begin_links"]

_KEYS: Final = ("window", "queue", "controller")


class Beginning(NamedTuple):
    """The state before time 0."""

    queues: tuple[float, ...]
    """Packets, one per band, or link of several."""
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
    capacity = float(scenario.link.capacity) / (8.0 * float(scenario.link.packet_size))
    if isinstance(initial, OperatingPoint):
        states = list(initial.states)
        queue, u = float(initial.queue), float(initial.controller)
    elif isinstance(initial, Mapping):
        _check_keys(initial)
        queue = _number(initial.get("queue", 0.0), "packets", "initial queue")
        u = _number(initial.get("controller", 0.0), "number", "initial controller", high=1.0)
        states = _states(scenario, initial.get("window"), u, queue / capacity)
    else:
        raise ScenarioError(
            f"initial = {show_value(initial)} is no operating point and no mapping: give"
            ' equilibrium(...) or {"window": [...], "queue": ..., "controller": ...}.'
        )
    _check_count(scenario, states)
    law = scenario.aqm
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
        controllers = [float(u) for u in initial.controller]
    elif isinstance(initial, Mapping):
        _check_keys(initial)
        queues = _by_name(initial.get("queue"), names, "packets", "initial queue")
        controllers = _by_name(initial.get("controller"), names, "number", "initial controller")
        states = [
            flow.sender.initial(_number(window, "number", "initial window"))
            for flow, window in zip(
                scenario.flows, _windows(scenario, initial.get("window")), strict=True
            )
        ]
    else:
        raise ScenarioError(
            f"initial = {show_value(initial)} is no rest of several links and no mapping: give"
            ' equilibrium(network) or {"window": [...], "queue": {...}, "controller": {...}}.'
        )
    _check_count(scenario, states)
    state: list[float] = []
    for node, u in zip(nodes, controllers, strict=True):
        capacity = float(node.link.capacity) / (8.0 * float(node.link.packet_size))
        state += _controller(node.aqm, u, capacity)
    return Beginning(tuple(queues), tuple(state), tuple(_tuple(each) for each in states))


def _by_name(given: object, names: Sequence[str], dimension: str, place: str) -> list[float]:
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
    return [_number(given.get(name, 0.0), dimension, f"{place} {name!r}") for name in names]


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


def _controller(law: Aqm, u: float, capacity: float) -> tuple[float, ...]:
    # A law without states of its own keeps none; one that starts to learn begins at rest.
    controller = law.at_rest(u, capacity)[0] if u > 0.0 else law.initial()
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


def _states(scenario: Scenario, given: object, u: float, delay: float) -> list[Any]:
    flows, windows, states = scenario.flows, _windows(scenario, given), []
    signals = scenario.aqm.encode(u)
    for flow, window in zip(flows, windows, strict=True):
        sender = flow.sender.on_link(scenario.link.packet_size)
        value = _number(window, "number", "initial window")
        if len(sender.states) == 1 or not sender.signal or u == 0.0:
            states.append(sender.initial(value))
        else:  # the other states as they are at rest
            rest = sender.at_rest(flow.base_rtt + delay, getattr(signals, sender.signal))
            states.append((value, *rest[1:]))
    return states


def _number(value: object, dimension: str, name: str, **limits: float) -> float:
    return float(validate_quantity(value, dimension, name, closed=True, **limits))


def _tuple(state: Number | tuple[Number, ...]) -> tuple[float, ...]:
    values = state if isinstance(state, tuple) else (state,)
    return tuple(float(value) for value in values)
