"""Random networks of several links, of laws that have loops."""

from __future__ import annotations

import numpy as np

import pi2_fluid as pf
from pi2_fluid.errors import DomainError, SolverError, UnsupportedError

SENDERS = [pf.Reno(), pf.CReno(), pf.Cubic(), pf.Scalable(), pf.Prague(), pf.Dctcp()]
#: How a network may be refused that has no rest or no loop.
REFUSALS = (DomainError, SolverError, UnsupportedError)


def random_network(seed: int) -> pf.Network:
    """Two to four links, a third of them dual or with a price, and two to nine classes."""
    rng = np.random.default_rng(seed)
    names = list("abcd"[: rng.integers(2, 5)])
    queues: list[pf.Aqm] = [pf.Pi2(), pf.Pi(), pf.Pie(), pf.DualPi2(), pf.Pi2(target="5ms")]
    dual = rng.random() < 0.4
    nodes = []
    for name in names:
        rate = f"{10 ** rng.uniform(0.8, 2.2):.4g}Mbit/s"
        queue = queues[int(rng.choice([0, 3, 4] if dual else [0, 1, 2, 4]))]
        nodes.append(pf.Node(name, pf.Link(rate), queue))
    flows = []
    for number in range(rng.integers(2, 10)):
        start = int(rng.integers(len(names)))
        # each route runs forward, or all around: what rings do is then part of it
        along = [names[(start + k) % len(names)] for k in range(rng.integers(1, len(names) + 1))]
        sender = SENDERS[int(rng.integers(6 if dual else 3))]
        hops = [f"{rng.uniform(0, 8):.3g}ms" for _ in along]
        rtt = f"{10 ** rng.uniform(1.7, 2.3):.4g}ms"
        flows.append(
            pf.Flows(sender, int(rng.integers(1, 20)), rtt, str(number), route=along, hops=hops)
        )
    return pf.Network(nodes, flows)
