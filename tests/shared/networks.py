"""Networks of several links: from columns of numbers, and at random."""

from __future__ import annotations

from typing import Any

import numpy as np

import pi2_fluid as pf

PACKET = 12000.0  # bits
SENDERS: dict[str, Any] = {
    "Reno": lambda decrease: pf.Reno(decrease=decrease),
    "Scalable": lambda decrease: pf.Scalable(),
}


def built(
    queue, packets_per_s, target, sender, decrease, count, base_rtt, route, hops, **gains
) -> pf.Network:
    """A network of columns: of links, with gains of their own if given, then of classes."""
    columns = {"target": target} | gains
    nodes = [
        pf.Node(
            f"l{place}",
            pf.Link(PACKET * rate, "40000 packets"),
            getattr(pf, law)(**{name: column[place] for name, column in columns.items()}),
        )
        for place, (law, rate) in enumerate(zip(queue, packets_per_s, strict=True))
    ]
    rows = zip(sender, decrease, count, base_rtt, route, hops, strict=True)
    return pf.Network(
        nodes,
        [
            pf.Flows(SENDERS[law](by), n, rtt, route=[f"l{i}" for i in way], hops=times)
            for law, by, n, rtt, way, times in rows
        ],
    )


def random_network(rng: np.random.Generator) -> pf.Network:
    names = [f"l{place}" for place in range(rng.integers(2, 7))]
    laws = [pf.Pi, pf.Pi2, pf.Pie, pf.CoupledPi2]
    senders = [pf.Reno(), pf.Reno(decrease=0.3), pf.Scalable(), pf.CReno()]
    nodes = [
        pf.Node(
            name,
            pf.Link(10 ** rng.uniform(6.7, 8)),
            laws[rng.integers(4)](target=rng.uniform(0.005, 0.03)),
        )
        for name in names
    ]
    flows = [
        pf.Flows(
            senders[rng.integers(4)],
            rng.uniform(0.5, 5),
            rng.uniform(0.02, 0.2),
            route=[names[i] for i in rng.permutation(len(names))[: rng.integers(1, len(names))]],
        )
        for _ in range(rng.integers(3, 13))
    ]
    return pf.Network(nodes, flows)
