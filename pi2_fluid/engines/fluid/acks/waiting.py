"""How long packets have waited before time 0, so that queues and windows fit together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pi2_fluid.engines.fluid.acks.beginnings import is_present
from pi2_fluid.engines.fluid.acks.order import Way
from pi2_fluid.engines.fluid.beginning import Beginning
from pi2_fluid.errors import ScenarioError
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.scenario import Scenario

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
    what comes to it while a packet waits there. These delays are found by repeating both: they rise
    from 0 to the only ones that fit.

    Raises
    ------
    ScenarioError
        If the queues hold more than the windows have under way.
    """
    nodes = scenario.network.nodes
    waits = [0.0] * len(nodes)
    if beginning is None:
        return waits
    first = [sum(node.aqm.bands for node in nodes[:k]) for k in range(len(nodes))]
    queues = [beginning.queues[place] for place in first]
    in_line = [
        [
            not (nodes[k].aqm.bands > 1 and sender.signal == "scalable") and queues[k] > 0.0
            for k in range(len(nodes))
        ]
        for sender in senders
    ]
    there = [i for i in range(len(senders)) if is_present(scenario, i, beginning)]
    for _ in range(_MOST):
        comes = [0.0] * len(nodes)
        for i in there:
            flows, sender, way = scenario.flows[i], senders[i], ways[i]
            mine = [k for k in way.links if in_line[i][k]]
            rtt = float(flows.base_rtt) + sum(waits[k] for k in mine)
            if sender.constant_rate is None:
                rate = float(beginning.senders[i][0]) / rtt
            else:
                rate = float(sender.sending_rate(sender.initial(1.0), 1.0))
            for k in mine:
                comes[k] += float(flows.count) * rate
        if any(queue > 0.0 and come <= 0.0 for queue, come in zip(queues, comes, strict=True)):
            break
        found = [
            queue / come if queue > 0.0 else 0.0 for queue, come in zip(queues, comes, strict=True)
        ]
        if max(found) > _TOO_LONG:
            break
        if all(abs(b - a) <= 1e-15 * b for a, b in zip(waits, found, strict=True)):
            return found
        waits = found
    if len(nodes) == 1:
        shown, fewer = f"{queues[0]:g} packets", "a shorter queue"
    else:
        fewer = "shorter queues"
        shown = ", ".join(
            f"{queue:g} packets at {node.name!r}"
            for node, queue in zip(nodes, queues, strict=True)
            if queue > 0.0
        )
    raise ScenarioError(
        f"initial queue = {shown} is not below what the windows have under way: give {fewer}, or"
        " larger windows."
    )
