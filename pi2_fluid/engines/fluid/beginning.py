"""Where a trajectory begins, if not with an empty queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pi2_fluid.errors import ScenarioError, show_value
from pi2_fluid.network.equilibrium import OperatingPoint
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.units import validate_quantity

if TYPE_CHECKING:
    from pi2_fluid.values import Number

__all__ = ["Beginning", "begin"]

_KEYS: Final = ("window", "queue", "controller")


class Beginning(NamedTuple):
    """The state before time 0."""

    queues: tuple[float, ...]
    """Packets, one per band."""
    controller: tuple[float, ...]
    """State of the queue's law."""
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
        unknown = [key for key in initial if key not in _KEYS]
        if unknown:
            raise ScenarioError(
                f"initial has the key {unknown[0]!r}: give any of {', '.join(_KEYS)}."
            )
        queue = _number(initial.get("queue", 0.0), "packets", "initial queue")
        u = _number(initial.get("controller", 0.0), "number", "initial controller", high=1.0)
        states = _states(scenario, initial.get("window"), u, queue / capacity)
    else:
        raise ScenarioError(
            f"initial = {show_value(initial)} is no operating point and no mapping: give"
            ' equilibrium(...) or {"window": [...], "queue": ..., "controller": ...}.'
        )
    if len(states) != len(scenario.flows):
        raise ScenarioError(
            f"initial describes {len(states)} classes of flows where the scenario has"
            f" {len(scenario.flows)}: give one window for each."
        )
    law = scenario.aqm
    # A law without states of its own keeps none; one that starts to learn begins at rest.
    controller = law.at_rest(u, capacity)[0] if u > 0.0 else law.initial()
    queues = (queue,) if law.bands == 1 else (queue, 0.0)
    return Beginning(
        queues,
        tuple(float(value) for value in controller),
        tuple(_tuple(state) for state in states),
    )


def _states(scenario: Scenario, windows: object, u: float, delay: float) -> list[Any]:
    flows = scenario.flows
    if windows is None:
        windows = [float(flow.initial_window) for flow in flows]
    elif not isinstance(windows, Sequence) or isinstance(windows, str):
        windows = [windows]
    if len(windows) != len(flows):
        raise ScenarioError(
            f"initial window has {len(windows)} numbers where the scenario has {len(flows)}"
            " classes of flows: give one for each."
        )
    states = []
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
