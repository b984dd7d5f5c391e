"""`Network`: nodes, each a link with its queue, and the flows that cross them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pi2_fluid.errors import ScenarioError, UnsupportedError, show_value
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.checks import check_labels
from pi2_fluid.network.flows import Flows, class_names
from pi2_fluid.network.link import Link, with_buffer
from pi2_fluid.network.routes import check_routes, routing_of
from pi2_fluid.network.text import Written, located, parse_nodes
from pi2_fluid.network.writing import format_nodes
from pi2_fluid.ops import Number
from pi2_fluid.records.record import Record, as_tuple, choice

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.network.changes import Change

#: What the node of a scenario is called.
BOTTLENECK = "bottleneck"
#: How the signals of several links do; see `Network`.
COMBINATIONS: Final = ("product", "sum")


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

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> node = pf.Node("access", pf.Link("20Mbit/s"), pf.Pi2())
    >>> node.name, node.link.capacity
    ('access', 20000000.0)
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
        self.aqm.check_link(self.link)


@dataclass(frozen=True, eq=False)
class Network(Written):
    """Nodes, and classes of flows that cross them: a scenario without its schedule.

    Parameters
    ----------
    nodes : Node or sequence of Node
        Kept as a tuple.
    flows : Flows or sequence of Flows
        The classes; kept as a tuple. Where there are several nodes, each says its `route`.
    combine : {"product", "sum"}
        With what probability some link of a route signals a packet, where several do: by
        independent draws, 1 - prod(1 - p), or the sum of p, 1 at most, as textbooks have it.

    Raises
    ------
    ScenarioError
        If there is no node or no class of flows, or it is something else; if two nodes or two
        classes have one name, or a route leads over a node that is not there.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> node = pf.Node("a", pf.Link("12Mbit/s"), pf.Pi2())
    >>> network = pf.Network(node, pf.Flows(pf.Reno(), 10, "80ms"))
    >>> round(pf.equilibrium(network).window[0], 9)
    10.0
    >>> loop = pf.Loop(pf.named_scenario("thesis_fig4_2_pi2").network, update="sampled")
    >>> f"{loop.margins().gain_margin_db:.2f} dB"
    '3.91 dB'

    Of several nodes, `equilibrium` says which are bottlenecks:

    >>> nodes = [pf.Node(name, pf.Link("12Mbit/s"), pf.Pi2()) for name in ("a", "b")]
    >>> network = pf.Network(nodes, [
    ...     pf.Flows(pf.Reno(), 5, "80ms", route=("a", "b"), hops=("5ms", "10ms")),
    ...     pf.Flows(pf.Reno(), 5, "80ms", route="b"),
    ... ])
    >>> network.routing_matrix.to_numpy().tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    >>> pf.equilibrium(network).bottleneck.to_numpy().tolist()
    [False, True]
    """

    nodes: tuple[Node, ...]
    flows: tuple[Flows, ...]
    combine: str = choice("product", COMBINATIONS)

    if TYPE_CHECKING:  # what may be given is wider than what the attributes hold

        def __init__(
            self,
            nodes: Node | Sequence[Node],
            flows: Flows | Sequence[Flows],
            combine: str = "product",
        ) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "nodes", as_tuple(self.nodes, Node, "Network nodes"))
        object.__setattr__(self, "flows", as_tuple(self.flows, Flows, "Network flows"))
        for name, example in (("nodes", "Node"), ("flows", "Flows")):
            if not getattr(self, name):
                raise ScenarioError(f"Network {name} = () is empty: give at least one {example}.")
        names = self.node_names
        for name in () if len(set(names)) == len(names) else names:
            if names.count(name) > 1:
                raise ScenarioError(
                    f"Network nodes has {show_value(name)} {names.count(name)} times: give each"
                    " Node a name of its own."
                )
        check_labels(self.flows, "Network")
        check_routes("Network", names, self.flows)

    @property
    def node(self) -> Node:
        """The only node.

        Raises
        ------
        UnsupportedError
            If there are several.
        """
        refuse_several(self, "this asks for the only one", "name one of its nodes")
        return self.nodes[0]

    @property
    def node_names(self) -> tuple[str, ...]:
        """The name of each node, in order."""
        return tuple(node.name for node in self.nodes)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The name of each class of flows, in order, as of a `Scenario`."""
        return class_names(self.flows)

    @property
    def laws(self) -> tuple[Aqm | Sender, ...]:
        """Every queue, node by node, then every sender, class by class."""
        return (*(node.aqm for node in self.nodes), *(flow.sender for flow in self.flows))

    @property
    def parts(self) -> list[tuple[str, Link, Aqm]]:
        """Name, link and queue of each node."""
        return [(node.name, node.link, node.aqm) for node in self.nodes]

    @property
    def packet_size(self) -> Number:
        """Bytes of a full packet, the same on all links.

        Raises
        ------
        UnsupportedError
            If it is not.
        """
        sizes = {float(node.link.packet_size): node.name for node in self.nodes}
        if len(sizes) > 1:
            shown = " and ".join(f"{size:g} B at {name!r}" for size, name in sizes.items())
            raise UnsupportedError(
                f"Network packet_size is {shown}, and the windows of flows count one size: give all"
                " links the same."
            )
        return self.nodes[0].link.packet_size

    @property
    def routing_matrix(self) -> xarray.DataArray:
        """1 where a class crosses a link, else 0; dimensions `link` and `flows`."""
        import xarray

        return xarray.DataArray(
            routing_of(self.node_names, self.flows),
            {"link": list(self.node_names), "flows": list(self.class_names)},
            ("link", "flows"),
        )

    def with_buffers(self, changes: Iterable[Change] = ()) -> Network:
        """Return it with the buffer of each link as a number: the default, where none is given.

        Parameters
        ----------
        changes : iterable of Change
            A schedule, whose largest capacity of a link counts.
        """
        given = [(change.link, change.capacity) for change in changes]
        nodes = []
        for node in self.nodes:
            mine = [rate for link, rate in given if link in {None, node.name} and rate is not None]
            nodes.append(replace(node, link=with_buffer(node.link, mine)))
        return replace(self, nodes=tuple(nodes))

    @classmethod
    def from_toml(cls, text: str) -> Network:
        """Return the network that a TOML text describes.

        The tables are ``[[node]]``, with its ``name`` and the keys of `Link`, each followed by its
        ``[node.aqm]``, and ``[[flows]]`` as in a scenario, with ``route`` and ``hops``; above them
        ``combine``, if it is given.

        Raises
        ------
        QuantityError, DomainError, ScenarioError
            Naming the table and the key.

        Examples
        --------
        >>> Network.from_toml('''
        ... [[node]]
        ... name = "a"
        ... capacity = "15Mbit/s"
        ... [node.aqm]
        ... kind = "pi2"
        ... [[node]]
        ... name = "b"
        ... capacity = "12Mbit/s"
        ... [node.aqm]
        ... kind = "pie"
        ... [[flows]]
        ... sender = "reno"
        ... count = 6
        ... base_rtt = "80ms"
        ... route = ["a", "b"]
        ... hops = ["5ms", "10ms"]
        ... ''').flows[0].hops
        (0.005, 0.01)
        """
        nodes, flows, own = parse_nodes(text)
        with located("", "Network"):
            return cls([Node(*node) for node in nodes], flows, **own)

    def to_toml(self) -> str:
        """Return the network as TOML text, from which `from_toml` makes an equal one.

        Raises
        ------
        UnsupportedError
            If a queue or a sender is a law of one's own, which text cannot name.
        """
        return format_nodes(self.parts, self.flows, self)


def show_nodes(network: Network) -> str:
    """Return what a network consists of, for messages."""
    names = ", ".join(show_value(node.name) for node in network.nodes)
    return f"Network has the node{'s' * (len(network.nodes) > 1)} {names}"


def refuse_several(network: object, why: str, remedy: str) -> None:
    """Raise UnsupportedError if this is a network of several nodes; anything else may pass.

    Parameters
    ----------
    network : object
        What was given.
    why, remedy : str
        Why several are too many here, and what to do; in messages.
    """
    if isinstance(network, Network) and len(network.nodes) > 1:
        raise UnsupportedError(f"{show_nodes(network)}, and {why}: {remedy}.")
