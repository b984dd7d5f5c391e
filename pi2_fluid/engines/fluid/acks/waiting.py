"""How long packets have waited before time 0, so that queues and windows fit together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.engines.fluid.acks.beginnings import is_present
from pi2_fluid.engines.fluid.acks.order import Way
from pi2_fluid.engines.fluid.beginning import Beginning
from pi2_fluid.errors import ScenarioError
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.scenario import Scenario

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

_MOST: Final = 100_000  # sweeps
_TOO_LONG: Final = 1e6  # s


def waits_before(
    scenario: Scenario,
    ways: Sequence[Way],
    senders: Sequence[Sender],
    beginning: Beginning | None,
) -> list[float]:
    """Return how long packets have waited at each link before time 0, all alike (s).

    Each class sends its window in each round trip, with all queues of its way in it, and a queue is
    what comes to it while a packet waits there. These delays are found link by link, over and over:
    they rise from 0 to the only ones that fit.

    Raises
    ------
    ScenarioError
        If the queues hold more than the windows have under way.
    """
    nodes = scenario.network.nodes
    waits = np.zeros(len(nodes))
    if beginning is None:
        return waits.tolist()
    first = [sum(node.aqm.bands for node in nodes[:k]) for k in range(len(nodes))]
    queues = [beginning.queues[place] for place in first]
    filled = [k for k, queue in enumerate(queues) if queue > 0.0]
    lines = np.zeros((len(nodes), len(senders)))
    flights, rates, paths = (np.zeros(len(senders)) for _ in range(3))
    for i, (flows, sender, way) in enumerate(zip(scenario.flows, senders, ways, strict=True)):
        if not is_present(scenario, i, beginning):
            continue
        for k in way.links:
            lines[k, i] = not (nodes[k].aqm.bands > 1 and sender.signal == "scalable")
        paths[i], number = float(flows.base_rtt), float(flows.count)
        if sender.constant_rate is None:
            flights[i] = number * float(beginning.senders[i][0])
        else:
            rates[i] = number * float(sender.sending_rate(sender.initial(1.0), 1.0))
    for _ in range(_MOST):
        before = waits.copy()
        for k in filled:
            mine = (lines[k] > 0.0) & (flights > 0.0)
            without = (paths + waits @ lines)[mine] - waits[k]
            waits[k] = _wait(queues[k], rates @ lines[k], flights[mine], without, waits[k])
        if waits.max() > _TOO_LONG:
            break
        if not np.any(waits > before):
            return waits.tolist()
    if len(nodes) == 1:
        shown, fewer = f"{queues[0]:g} packets", "a shorter queue"
    else:
        fewer = "shorter queues"
        shown = ", ".join(f"{queues[k]:g} packets at {nodes[k].name!r}" for k in filled)
    raise ScenarioError(
        f"initial queue = {shown} is not below what the windows have under way: give {fewer}, or"
        " larger windows."
    )


def _wait(
    queue: float, steady: float, flights: FloatArray, without: FloatArray, wait: float
) -> float:
    """Return how long packets wait in a queue (s), from a time on that is not longer.

    Newton's method, which never goes beyond: what comes while they wait rises ever less with it.

    Parameters
    ----------
    queue : float
        Packets.
    steady : float
        Packets per second that come at a constant rate.
    flights, without : array
        Of classes with a window: packets under way, and the round-trip time without this wait (s).
    """
    while wait <= _TOO_LONG:
        round_trips = without + wait
        lacks = queue - wait * (steady + float(np.sum(flights / round_trips)))
        slope = steady + float(np.sum(flights * without / round_trips**2))
        longer = wait + lacks / slope if slope > 0.0 else math.inf
        if lacks <= 0.0 or longer <= wait:
            return wait
        wait = longer
    return 2.0 * _TOO_LONG
