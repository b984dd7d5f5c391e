"""Networks of links with a price, from columns of numbers."""

from __future__ import annotations

from typing import Any

import pi2_fluid as pf

PACKET = 12000.0  # bits


def price_links(rates: list[float], **law: Any) -> list[pf.Node]:
    """Links l0, l1, ... that may carry so many packets a second."""
    aqm = pf.Price(**law)
    return [
        pf.Node(f"l{place}", pf.Link(PACKET * rate / aqm.utilization, "40000 packets"), aqm)
        for place, rate in enumerate(rates)
    ]


def known_network(given: dict[str, Any], utilization: float) -> pf.Network:
    """A network of tests/data/price_rests.json."""
    most = given.get("most", [None] * len(given["count"]))
    senders = [
        pf.Paganini(alpha=given["alpha"], max_rate=x and x * PACKET, **given["law"]) for x in most
    ]
    columns = (senders, given["count"], given["base_rtt"], given["route"], given["hops"])
    return pf.Network(
        price_links(given["packets_per_s"], utilization=utilization),
        [
            pf.Flows(sender, n, rtt, route=[f"l{i}" for i in way], hops=times)
            for sender, n, rtt, way, times in zip(*columns, strict=True)
        ],
    )
