"""`PathVerdict`: whether queues that the same flows cross are stable together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from pi2_fluid.deployment.remedies import is_enough
from pi2_fluid.errors import DomainError, ScenarioError, UnsupportedError, show_value
from pi2_fluid.laws.gains import has_gains
from pi2_fluid.loop.linearization import RTT_TERMS
from pi2_fluid.network.bottlenecks import network_equilibrium
from pi2_fluid.network.network import Network, Node

if TYPE_CHECKING:
    from pi2_fluid.loop.margins import Margins
    from pi2_fluid.loop.matrix.network_loop import NetworkLoop
    from pi2_fluid.network.bottlenecks import NetworkPoint
    from pi2_fluid.tc.block import Block
    from pi2_fluid.tc.qdisc import Qdisc

_NOTE: Final = (
    "The queues together are judged by rates, at the operating point of these flows: other numbers"
    " of flows have another. The less of a queue's traffic answers to it alone, the less margin it"
    " has."
)
_MODELS: Final = {
    "sampled": "All of them are taken to update at the same instants.",
    "delayed": "Each update counts as a delay of T/2, as intervals may differ.",
}


#: Steps of 1.5 dB.
_FACTORS: Final[tuple[float, ...]] = tuple(2.0 ** (-k / 4) for k in range(25))


@dataclass(frozen=True, kw_only=True)
class PathVerdict:
    """Whether the queues of a network, as installed, are stable together.

    Attributes
    ----------
    network : Network
        What was given, with the queues that tc shows in place of its own.
    shown : tuple of str
        The nodes whose queues tc shows.
    loop : NetworkLoop
        The loop of all, where the network rests: of the two models, with R held constant in the
        window law or without, the one that is worse by its verdict, then by its gain margin.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> eth0 = pf.Node("eth0", pf.Link("50Mbit/s"), pf.Pie())
    >>> wan = pf.Node("wan", pf.Link("20Mbit/s"), pf.Pi2())
    >>> through = pf.Flows(pf.Reno(), 20, "60ms", route=("eth0", "wan"))
    >>> network = pf.Network([eth0, wan], [through, pf.Flows(pf.Reno(), 20, "40ms", route="eth0")])
    >>> shown = "qdisc pie 8001: dev eth0 root limit 1000p target 15ms tupdate 15ms alpha 2 beta 20"
    >>> path = pf.check(shown, network=network, hz=1000).path
    >>> path.shown, path.verdict
    (('eth0',), 'stable')
    """

    network: Network
    shown: tuple[str, ...]
    loop: NetworkLoop

    @property
    def rest(self) -> NetworkPoint:
        """Where the network rests."""
        return self.loop.operating_point

    @property
    def bottlenecks(self) -> tuple[str, ...]:
        """The nodes whose queues signal there."""
        return self.loop.links

    @cached_property
    def margins(self) -> Margins:
        """The uniform margins: of all queues scaled, turned or delayed together."""
        return self.loop.margins()

    @cached_property
    def each(self) -> dict[str, Margins]:
        """The margins of each bottleneck alone, while the loops of the others are closed."""
        names = self.bottlenecks
        return {
            name: self.loop.close(*(other for other in names if other != name)).margins()
            for name in names
        }

    @property
    def verdict(self) -> str:
        """Of the network there: "stable", "unstable" or "undecided"."""
        return str(self.margins.verdict)

    @cached_property
    def factor(self) -> float | None:
        """By what alpha and beta of all bottlenecks would be multiplied to leave 6 dB and 30 deg.

        1 if they leave that already, None if no factor down to 1/64 does; found when asked for, as
        it is a search. A bottleneck without such gains, as RED, stays as it is.
        """
        for factor in _FACTORS:
            margins = self.margins
            if factor < 1.0:
                law = _scaled(self.network, self.bottlenecks, factor)
                margins = _loop(law, self.loop.update, self.loop.rtt_terms, self.rest).margins()
            if is_enough(margins):
                return factor
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        """What the verdict is of."""
        model = _MODELS.get(self.loop.update)
        return (_NOTE,) if model is None else (_NOTE, model)

    def __str__(self) -> str:
        margins = self.margins
        return (
            f"path {', '.join(self.bottlenecks)} with these flows: {self.verdict} in the"
            f" {margins.update} model, at least {margins.gain_margin_db:.2f} dB and"
            f" {margins.phase_margin_deg:.2f} deg together"
        )


def require_devices(network: object, blocks: Iterable[Block]) -> dict[str, Block]:
    """Return the queues that are shown of a network, by the nodes called like their devices.

    Raises
    ------
    ScenarioError
        If it is no network, or no node is called like a device.
    QuantityError, DomainError
        If a queue cannot be read, or a device has several.
    UnsupportedError
        If its flows do not share the queue.
    """
    if not isinstance(network, Network):
        raise ScenarioError(
            f"network = {show_value(network)} is no Network: give the nodes and the flows that"
            " cross them, e.g. Network.load(path)."
        )
    by_node: dict[str, Block] = {}
    for block in blocks:
        name = block.dev
        if not block.ours or name is None or name not in network.node_names:
            continue
        if name in by_node:
            raise DomainError(
                f"dev {name} has several queues, and a node of the network is one: give the output"
                " with the one that the flows cross."
            )
        if block.kind == "fq_pie":
            raise UnsupportedError(
                f"{block.name} gives each flow a queue of its own, so that flows share none: leave"
                f" node {name!r} out of the network."
            )
        by_node[name] = block
        if block.trouble is not None:
            raise block.trouble
    if not by_node:
        names = ", ".join(map(repr, network.node_names))
        raise ScenarioError(
            f"no queue is shown for the nodes {names}: call nodes like devices, as eth0."
        )
    return by_node


def longest_through(network: Network, law_of: Mapping[str, Any], name: str) -> float:
    """Return the longest round-trip time (s) of flows through a node, with all targets on it.

    Parameters
    ----------
    network : Network
        What was given.
    law_of : mapping
        The laws that run at nodes, where they are not the network's own.
    name : str
        Which node.
    """
    own = {node.name: node.aqm for node in network.nodes} | dict(law_of)
    names = network.node_names
    found = [
        float(flow.base_rtt) + sum(float(own[each].target_delay or 0.0) for each in route)
        for flow in network.flows
        for route in [flow.route or names[:1]]
        if name in route
    ]
    return max(found, default=0.0)


def judge_path(network: Network, queues: Mapping[str, Qdisc], update: str) -> PathVerdict:
    """Return the verdict of a network with these queues in place of its own, by node.

    Raises
    ------
    DomainError, SolverError, UnsupportedError
        As `Loop` of a network.
    """
    nodes = tuple(
        replace(node, aqm=queues[node.name].aqm.in_one_queue()) if node.name in queues else node
        for node in network.nodes
    )
    whole = replace(network, nodes=nodes)
    point = network_equilibrium(whole)
    signalling = [node for node in nodes if float(point.controller.sel(link=node.name)) > 0.0]
    if not signalling:
        raise DomainError(
            "no queue of the network signals at the operating point of these flows, so there is no"
            " loop: raise their counts, or give the smaller capacity that holds them back."
        )
    if update == "sampled" and len({node.aqm.update_interval for node in signalling}) > 1:
        update = "delayed"
    loops = [_loop(whole, update, terms, point) for terms in RTT_TERMS]
    found = [one.margins() for one in loops]
    worst = min((int(m.verdict_code), float(m.gain_margin_db), k) for k, m in enumerate(found))
    loop = loops[worst[-1]]
    return PathVerdict(network=whole, shown=tuple(queues), loop=loop)


def _loop(network: Network, update: str, terms: str, rest: NetworkPoint) -> NetworkLoop:
    """Return the loop of a network where it is known to rest: gains have no part in that."""
    from pi2_fluid.loop.matrix.network_loop import NetworkLoop  # which few ask for

    return NetworkLoop(network, update=update, rtt_terms=terms, _point=rest)


def _scaled(network: Network, names: Iterable[str], factor: float) -> Network:
    """Return the network with other gains of these nodes, those that have alpha and beta."""

    def scaled(node: Node) -> Node:
        law = node.aqm
        if node.name not in names or not has_gains(law):
            return node
        return replace(node, aqm=replace(law, alpha=factor * law.alpha, beta=factor * law.beta))

    return replace(network, nodes=tuple(map(scaled, network.nodes)))
