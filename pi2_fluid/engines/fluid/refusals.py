"""What a trajectory is asked of: checked before it is computed."""

from __future__ import annotations

from typing import Final

import numpy as np

from pi2_fluid.errors import DomainError, UnsupportedError, show_value
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.opaque import require_equations
from pi2_fluid.laws.seen import Seen
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.flows import Flows, refuse_finite, require_equal_packets
from pi2_fluid.network.network import Network
from pi2_fluid.network.packets_only import refuse_detours, refuse_losses, refuse_rings
from pi2_fluid.network.routes import places_of
from pi2_fluid.network.scenario import Scenario

UPDATES: Final = ("sampled", "continuous")
# Of a link and of flows: what only packets can feel.
_PACKETS_ONLY: Final = (
    "link.kind",
    "link.delay_on",
    "link.ack_jitter",
    "flows.delayed_ack",
    "flows.push_every",
    "flows.ecn",
)
# Of several links: what is dropped at one of them does not arrive at the next.
_NETWORKS_ONLY: Final = ("room that drops leave downstream",)


def require_round_trips(scenario: Scenario) -> None:
    """Raise DomainError if a window law has no round-trip time (in any run, if they vary).

    Also if a queue leaves one of its bands nothing; UnsupportedError if flows end, or a law has no
    equations.
    """
    refuse_losses(scenario.network, "the fluid does")
    refuse_rings(scenario.network, "the fluid does")
    refuse_detours(scenario, "the fluid does")
    require_equations(*scenario.network.laws)
    require_shares(scenario.network)
    refuse_finite(scenario.flows)
    queues = [node.aqm for node in scenario.network.nodes]
    require_equal_packets(scenario.flows, queues, scenario.network.nodes[0].link.packet_size)
    for flow in scenario.flows:
        if flow.sender.constant_rate is None and np.any(np.equal(flow.base_rtt, 0.0)):
            raise DomainError(
                "Flows base_rtt = 0.0 leaves no round-trip time while the queue is empty, so that"
                " the window law is singular: give base_rtt in (0, inf) s."
            )


def require_shares(network: Network) -> None:
    """Raise DomainError if a queue of two bands leaves one of them nothing while both are used.

    What waits there would wait for ever.
    """
    classic = [flow.sender.signal != "scalable" for flow in network.flows]
    if all(classic) or not any(classic):
        return
    for node in network.nodes:
        kept = np.asarray(node.aqm.kept_for_classic)
        if node.aqm.bands > 1 and np.any((kept == 0.0) | (kept == 1.0)):
            raise DomainError(
                f"{type(node.aqm).__name__} c_protection = {show_value(kept)} leaves one of both"
                " queues nothing while packets wait in the other, and a fluid would wait for ever:"
                " give one between 0 and 1, or simulate packets by Packets()."
            )


def require_rates_of_states(scenario: Scenario) -> None:
    """Raise UnsupportedError if a rate hears signals itself, which is for the fluid by rates."""
    for flow in scenario.flows:
        if flow.sender.answers_at_once:
            raise UnsupportedError(
                f"{type(flow.sender).__name__} lets signals act on its rate at once, which only"
                " the fluid by rates follows, without linear=True: use Fluid(), or ask Loop."
            )


def not_modelled(scenario: Scenario) -> list[str]:
    """Return what of a scenario a fluid cannot feel."""
    nodes = scenario.network.nodes
    laws: list[tuple[str, Aqm | Sender]] = [("aqm", node.aqm) for node in nodes]
    laws += [("flows.sender", flow.sender) for flow in scenario.flows]
    found = [f"{place}.{name}" for place, law in laws for name in law.packets_only]
    found += ["flows.slow_start"] * any(map(_begins_at_once, scenario.flows))
    found += ["flows.packet_size"] * any(flow.packet_size is not None for flow in scenario.flows)
    found += ["link.aggregate"] * any(node.link.aggregates for node in nodes)
    found += ["flows.back"] * any(flow.back for flow in scenario.flows)
    return [*_PACKETS_ONLY, *_NETWORKS_ONLY * (len(nodes) > 1), *dict.fromkeys(found)]


def _begins_at_once(flow: Flows) -> bool:
    """Return whether a class that would leave slow start by a signal hears none."""
    sender = flow.sender
    return flow.slow_start and sender.signal is None and sender.constant_rate is None


def require_hops_in_rings(network: Network) -> None:
    """Raise UnsupportedError if routes lead around a ring of links without any propagation time.

    What enters each of its links would follow from itself at the same instant.
    """
    if ring := _ring(network, only_at_once=True):
        raise UnsupportedError(
            f"routes lead around a ring of the links {ring} in no time, so that what enters"
            " them would follow from itself: give hops between them."
        )


def require_tangents(network: Network) -> None:
    """Raise UnsupportedError if the linear form does not know a network."""
    for node in network.nodes:
        if node.aqm.acts_on == "arrivals":
            raise UnsupportedError(
                f"{type(node.aqm).__name__} at node {node.name!r} acts on what arrives, and"
                " linear=True is of queues: use linear=False, or ask Loop for the linear answer."
            )
    if ring := _ring(network, only_at_once=False):
        raise UnsupportedError(
            f"routes lead around a ring of the links {ring}, which linear=True does not"
            " describe: leave it out, or ask Loop for the linear answer."
        )


def _ring(network: Network, *, only_at_once: bool) -> str:
    """Return the names of the links of rings, "" without any; perhaps of those without times."""
    places = places_of(network.node_names, network.flows)
    ahead: dict[int, set[int]] = {}
    for flows, route in zip(network.flows, places, strict=True):
        for k in range(1, len(route)):
            if not (only_at_once and flows.hops and float(flows.hops[k]) > 0.0):
                ahead.setdefault(route[k - 1], set()).add(route[k])
    # Take away links from which no such way leads on, until only rings are left.
    while ahead:
        left = {link: after & ahead.keys() for link, after in ahead.items()}
        left = {link: after for link, after in left.items() if after}
        if left == ahead:
            return ", ".join(repr(network.node_names[link]) for link in sorted(left))
        ahead = left
    return ""


def require_flow(scenario: Scenario) -> None:
    """Raise UnsupportedError if a law of two queues has no continuous form: it says so itself."""
    for node in scenario.network.nodes:
        if node.aqm.bands > 1:
            node.aqm.flow(node.aqm.initial(), Seen(0.0, 0.0, 0.0, 1.0), 0.0)


def require_one_band(scenario: Scenario, *, linear: bool) -> None:
    """Raise UnsupportedError if a link has a dual queue where these are not known.

    That is in the linear form of laws of one's own, and for senders that let signals act on their
    rate at once.
    """
    answering = any(flow.sender.answers_at_once for flow in scenario.flows)
    for node in scenario.network.nodes:
        kind = type(node.aqm).__name__
        if node.aqm.bands > 1 and linear and not node.aqm.rests_apart:
            raise UnsupportedError(
                f"node {node.name!r} has two queues ({kind}), which linear=True describes of"
                " DualPi2 only: use linear=False, or DualPi2."
            )
        if node.aqm.bands > 1 and answering:
            raise UnsupportedError(
                f"{kind} has two queues, and trajectories of senders that let signals act on their"
                " rate at once are of single ones: use CoupledPi2, or other senders."
            )
