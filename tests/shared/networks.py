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


def two_dual_links(gain: float = 1.0, interval: float = 16e-3) -> pf.Network:
    """Reno and L4S flows through two DualPI2 queues, and through one of them.

    With gains that are the same in continuous time, whatever the interval between updates.
    """

    def dual(**more: Any) -> pf.DualPi2:
        alpha, beta = gain * 10.0 * interval, gain * 3.2
        return pf.DualPi2(alpha=alpha, beta=beta, update_interval=interval, **more)

    def flows(sender: pf.Sender, count: float, rtt: str, route: Any, hops: Any) -> pf.Flows:
        return pf.Flows(sender, count, rtt, route=route, hops=hops, slow_start=False)

    nodes = [
        pf.Node("a", pf.Link("25Mbit/s"), dual()),
        pf.Node("b", pf.Link("20Mbit/s"), dual(k=1.5, target="20ms")),
    ]
    return pf.Network(
        nodes,
        [
            flows(pf.Reno(), 2, "60ms", ("a", "b"), ("5ms", "10ms")),
            flows(pf.Scalable(), 2, "40ms", ("a", "b"), ("5ms", "8ms")),
            flows(pf.Reno(), 3, "50ms", "a", "4ms"),
            flows(pf.Scalable(), 2, "30ms", "a", "3ms"),
            flows(pf.Reno(), 2, "70ms", "b", "4ms"),
            flows(pf.Scalable(), 1, "30ms", "b", "6ms"),
        ],
    )
