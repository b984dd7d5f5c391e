"""What windows are before time 0, and how long packets wait as a rule."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from pi2_fluid.engines.fluid.acks.counts import Grid
from pi2_fluid.engines.fluid.acks.order import Way
from pi2_fluid.engines.fluid.acks.windows import Window
from pi2_fluid.engines.fluid.beginning import Beginning
from pi2_fluid.engines.fluid.blame import LAW_ERRORS
from pi2_fluid.errors import DomainError, ScenarioError, SolverError, UnsupportedError
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.bottlenecks import network_equilibrium
from pi2_fluid.network.network import Network
from pi2_fluid.network.scenario import Scenario

#: A law of one's own may know no rest at all, in whatever words.
_NO_REST: Final = (DomainError, ScenarioError, SolverError, UnsupportedError, *LAW_ERRORS)


def is_present(scenario: Scenario, i: int, beginning: Beginning | None) -> bool:
    """Return whether a class has sent before time 0."""
    return beginning is not None and scenario.flows[i].start == 0.0


def window_of(
    scenario: Scenario,
    i: int,
    sender: Sender,
    times: Grid,
    round_trips: tuple[float, float],
    begun: tuple[tuple[float, ...], float] | None,
) -> tuple[Window, float]:
    """Return the window of a class before time 0, and the packets per second that it sends then.

    Parameters
    ----------
    scenario : Scenario
        Whose class this is.
    i : int
        Its number.
    sender : Sender
        Its law.
    times : Grid
        The instants of steps.
    round_trips : tuple of float
        As reductions reckon with it, and as it is before time 0 (s).
    begun : tuple, optional
        The state of the law and the probability of a signal then, of a class that sends already.
    """
    flows = scenario.flows[i]
    usual, rtt = round_trips
    if begun is None:
        initial: Any = sender.initial(float(flows.initial_window))
        state = tuple(map(float, initial if isinstance(initial, tuple) else (initial,)))
        slow = bool(flows.slow_start) and sender.signal is not None
        return Window(sender, state, usual, 0.0, times, slow=slow), 0.0
    state, p = begun
    hearing = (state[0] / rtt, p * state[0] / rtt)
    cutting = cutting_at_rest(sender, state, *hearing, rtt)
    window = Window(sender, state, usual, cutting, times, slow=False, hearing=hearing)
    return window, float(flows.count) * state[0] / rtt


def cutting_at_rest(
    sender: Sender, state: tuple[float, ...], acks: float, marks: float, rtt: float
) -> float:
    """Return the segments per second that were cut in a past that goes on as it is."""
    if sender.reduction == "at once":
        return 0.0
    x: Any = state if len(state) > 1 else state[0]
    part = 1.0 / (1.0 + marks * rtt) if sender.pauses else 1.0
    return float(sender.acked(x, part * acks, part * marks, rtt)[1])


def usual_delays(network: Network, ways: tuple[Way, ...]) -> list[list[float]]:
    """Return how long each class waits at each link of its way as a rule (s), where reductions ask.

    As long as where several links rest. Where that is not known, as of dual queues, and of one
    link, at the narrowest link of its way alone, as long as its law has packets wait there.
    """
    found: list[float] | None = None
    if len(network.nodes) > 1:
        with suppress(*_NO_REST):
            delays = network_equilibrium(network).queue_delay.to_numpy()
            found = delays.reshape(len(network.nodes), -1)[:, 0].tolist()
    usual = [float(node.aqm.usual_delay) for node in network.nodes]
    capacity = [float(node.link.capacity) for node in network.nodes]

    def at(link: int, way: Way, *, l4s: bool) -> float:
        if l4s and network.nodes[link].aqm.bands > 1:
            return 0.0
        if found is not None:
            return found[link]
        return usual[link] * (link == min(way.links, key=lambda each: capacity[each]))

    return [
        [at(link, way, l4s=flow.sender.signal == "scalable") for link in way.links]
        for way, flow in zip(ways, network.flows, strict=True)
    ]
