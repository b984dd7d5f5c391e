"""`Network`: nodes, each a link with its queue, and the flows that cross them; one node so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pi2_fluid.errors import ScenarioError, UnsupportedError, show_value
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.link import Link
from pi2_fluid.records.record import Record, as_tuple

__all__ = ["BOTTLENECK", "Network", "Node"]

#: What the node of a scenario is called.
BOTTLENECK = "bottleneck"


@dataclass(frozen=True, eq=False)
class Node(Record):
    """A link with the queue in front of it.

    Parameters
    ----------
    name : str
        What it is called.
    link : Link
        What serves.
    aqm : Aqm
        What waits, and is signalled.

    Raises
    ------
    ScenarioError
        If one of them is something else.
    """

    name: str
    link: Link
    aqm: Aqm

    def __post_init__(self) -> None:
        super().__post_init__()
        name: object = self.name
        if not isinstance(name, str) or not name:
            raise ScenarioError(f"Node name = {show_value(self.name)} is no name: give text.")
        if not isinstance(self.link, Link):
            raise ScenarioError(
                f'Node link = {show_value(self.link)} is no Link: give e.g. Link("10Mbit/s").'
            )
        if not isinstance(self.aqm, Aqm):
            raise ScenarioError(f"Node aqm = {show_value(self.aqm)} is no Aqm: give e.g. Pi2().")


@dataclass(frozen=True, eq=False)
class Network(Record):
    """Nodes, and classes of flows that cross them: a scenario without its schedule.

    Parameters
    ----------
    nodes : Node or sequence of Node
        Kept as a tuple.
    flows : Flows or sequence of Flows
        The classes; kept as a tuple.

    Raises
    ------
    ScenarioError
        If there is no node or no class of flows, or it is something else.
    UnsupportedError
        If there are several nodes.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> node = pf.Node("a", pf.Link("12Mbit/s"), pf.Pi2())
    >>> network = pf.Network(node, pf.Flows(pf.Reno(), 10, "80ms"))
    >>> round(pf.equilibrium(network).window[0], 9)
    10.0
    >>> loop = pf.Loop(pf.named_scenario("thesis_fig4_2_pi2").network, update="sampled")
    >>> f"{loop.margins().gain_margin_db:.2f} dB"
    '1.96 dB'
    """

    nodes: tuple[Node, ...]
    flows: tuple[Flows, ...]

    if TYPE_CHECKING:  # what may be given is wider than what the attributes hold

        def __init__(
            self, nodes: Node | Sequence[Node], flows: Flows | Sequence[Flows]
        ) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "nodes", as_tuple(self.nodes, Node, "Network nodes"))
        object.__setattr__(self, "flows", as_tuple(self.flows, Flows, "Network flows"))
        for name, example in (("nodes", "Node"), ("flows", "Flows")):
            if not getattr(self, name):
                raise ScenarioError(f"Network {name} = () is empty: give at least one {example}.")
        if len(self.nodes) > 1:
            names = ", ".join(show_value(node.name) for node in self.nodes)
            raise UnsupportedError(
                f"Network has the nodes {names}, and loops and engines know of one bottleneck: give"
                " a single Node."
            )

    @property
    def node(self) -> Node:
        """The only node."""
        (node,) = self.nodes
        return node
