"""How much can be outstanding in a scenario: what waits, and what is under way."""

from __future__ import annotations

from typing import Final

from pi2_fluid.network.scenario import Scenario

_MOST_SOCKET: Final = 2**30 - 1  # bytes


def most_outstanding(scenario: Scenario) -> float:
    """Return how many bytes can wait and be under way, with full buffers and the largest rate.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> link = pf.Link("12Mbit/s", "100 packets", "1500B")
    >>> most_outstanding(pf.Scenario("10s", link, pf.Pi2(), pf.Flows(pf.Reno(), 1, "100ms")))
    300000.0
    """
    links = [node.link for node in scenario.as_run.network.nodes]
    rates = [link.capacity for link in links]
    rates += [change.capacity for change in scenario.changes if change.capacity is not None]
    rtt = max(float(flow.base_rtt) for flow in scenario.flows)
    waiting = sum(float(link.buffer) for link in links) * float(scenario.packet_size)
    return max(map(float, rates)) * rtt / 8.0 + waiting


def socket_bytes(scenario: Scenario, least: int) -> int:
    """Return what a socket must hold so that no window is ever too large for it: twice the most."""
    return int(min(max(2.0 * most_outstanding(scenario), least), _MOST_SOCKET))
