"""Scenario: the one description of links, queues, flows and schedule that the engines share."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np

from pi2_fluid.errors import ScenarioError, UnsupportedError, show_value
from pi2_fluid.html import html_table
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.network.changes import Change
from pi2_fluid.network.checks import (
    check_changes,
    check_labels,
    check_only_node,
    check_times,
)
from pi2_fluid.network.flows import Flows, class_names
from pi2_fluid.network.link import Link
from pi2_fluid.network.network import BOTTLENECK, Network, Node, refuse_several, show_nodes
from pi2_fluid.network.text import Written, located, parse_toml, read_tables
from pi2_fluid.network.writing import format_nodes, format_tables
from pi2_fluid.ops import Number
from pi2_fluid.records.record import as_tuple, leaves, map_leaves, quantity
from pi2_fluid.units import is_traced

if TYPE_CHECKING:
    from pi2_fluid.values import Quantity


class _NetworkOfOne:
    """The network of a scenario that keeps link, queue and flows; not of one that keeps it.

    It is made once, and from then on what the scenario has under its name.
    """

    # Without __set__, so that what a scenario keeps itself comes first.
    @overload
    def __get__(self, scenario: None, owner: type) -> _NetworkOfOne: ...
    @overload
    def __get__(self, scenario: Scenario, owner: type) -> Network: ...
    def __get__(self, scenario: Scenario | None, owner: type) -> Network | _NetworkOfOne:
        if scenario is None:
            return self
        network = Network(Node(BOTTLENECK, scenario.link, scenario.aqm), scenario.flows)
        vars(scenario)["network"] = network
        return network


@dataclass(frozen=True, eq=False, init=False)
class Scenario(Written):
    """All that a run needs: links, their queues, the flows, and what changes when.

    Every number in it is a single one: a scenario is one run. It is given as a link with its queue
    and the flows, or as a `Network`; of one node, both are the same.

    Parameters
    ----------
    duration : float or str
        Length of the run, which begins at 0 (s).
    link : Link
        The bottleneck.
    aqm : Aqm
        The queue in front of it.
    flows : Flows or sequence of Flows
        The classes of flows; kept as a tuple.
    changes : Change or sequence of Change
        The schedule; kept as a tuple sorted by time.
    name : str
        What the scenario is called.
    network : Network
        In place of link, queue and flows. A scenario of several nodes has no `link` and no `aqm` of
        its own: whatever asks for one refuses it.

    Raises
    ------
    QuantityError, DomainError, ScenarioError
        If something in it is no number, is of another type, or contradicts the rest.
    UnsupportedError
        If links of several nodes differ in their packet size.

    Examples
    --------
    >>> from pi2_fluid.laws.aqms.pi2 import Pi2
    >>> from pi2_fluid.laws.senders.reno import Reno
    >>> flows = [Flows(Reno(), 10, "100ms"), Flows(Reno(), 20, "100ms", start="50s")]
    >>> scenario = Scenario("100s", Link("10Mbit/s"), Pi2(), flows)
    >>> scenario.class_names
    ('reno', 'reno2')
    >>> Scenario.from_toml(scenario.to_toml()) == scenario
    True
    >>> Scenario("100s", network=scenario.network) == scenario
    True

    Of several nodes:

    >>> nodes = [Node(name, Link("10Mbit/s"), Pi2()) for name in ("a", "b")]
    >>> network = Network(nodes, Flows(Reno(), 10, "100ms", route=("a", "b")))
    >>> change = Change("50s", capacity="8Mbit/s", link="a")
    >>> Scenario("100s", network=network, changes=change).network.node_names
    ('a', 'b')
    """

    # field() alone is what type checkers know for a field without default
    duration: Number = dataclasses.field(metadata=quantity(None, "time").metadata)
    link: Link
    aqm: Aqm
    flows: tuple[Flows, ...]
    changes: tuple[Change, ...] = ()
    name: str = ""

    #: What the run is of, without its schedule: one node, which is link and queue, or several.
    network = _NetworkOfOne()

    @overload
    def __init__(
        self,
        duration: Quantity,
        link: Link,
        aqm: Aqm,
        flows: Flows | Sequence[Flows],
        changes: Change | Sequence[Change] = (),
        name: str = "",
    ) -> None: ...
    @overload
    def __init__(
        self,
        duration: Quantity,
        *,
        network: Network,
        changes: Change | Sequence[Change] = (),
        name: str = "",
    ) -> None: ...
    def __init__(
        self,
        duration: Quantity,
        link: Link | None = None,
        aqm: Aqm | None = None,
        flows: Flows | Sequence[Flows] = (),
        changes: Change | Sequence[Change] = (),
        name: str = "",
        *,
        network: Network | None = None,
    ) -> None:
        fields: dict[str, Any] = {"link": link, "aqm": aqm, "flows": flows}
        changes = as_tuple(changes, Change, "Scenario changes")
        if network is not None:
            _require_alone(network, fields)
            fields, changes = _parts_of(network, changes)
        # Which fields it has depends on what is kept, and so on what is given.
        if "network" in fields:
            object.__setattr__(self, "__class__", _Routed)
        elif isinstance(self, _Routed):  # one that was, and is made anew of one node
            object.__setattr__(self, "__class__", Scenario)
        fields |= {"duration": duration, "changes": changes, "name": name}
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, fields[field.name])
        self.__post_init__()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_parts()
        if not isinstance(self.name, str):
            raise ScenarioError(f"Scenario name = {show_value(self.name)} is no text: give text.")
        map_leaves(_require_number, self)
        # Nothing can be said about numbers that JAX is tracing.
        if not any(is_traced(leaf) for leaf in leaves(self)):
            changes = tuple(sorted(self.changes, key=lambda change: float(change.at)))
            object.__setattr__(self, "changes", changes)
            check_times(self)
            check_changes(self)

    def _check_parts(self) -> None:
        """Refuse what is no link, no queue or no flows."""
        if not isinstance(self.link, Link):
            raise ScenarioError(
                f'Scenario link = {show_value(self.link)} is no Link: give e.g. Link("10Mbit/s").'
            )
        if not isinstance(self.aqm, Aqm):
            raise ScenarioError(
                f"Scenario aqm = {show_value(self.aqm)} is no Aqm: give e.g. Pi2()."
            )
        self.aqm.check_link(self.link)
        object.__setattr__(self, "flows", as_tuple(self.flows, Flows, "Scenario flows"))
        if not self.flows:
            raise ScenarioError("Scenario flows = () is empty: give at least one Flows.")
        check_labels(self.flows)
        check_only_node(self.flows, BOTTLENECK)

    def _repr_html_(self) -> str:
        rows = [
            ("duration", self.duration, "s"),
            *self._node_rows(),
            *(
                (name, repr(one), "")
                for name, one in zip(self.class_names, self.flows, strict=True)
            ),
            *((f"at {change.at:g} s", repr(change), "") for change in self.changes),
        ]
        return html_table(f"Scenario {self.name}".rstrip(), rows)

    def _node_rows(self) -> list[tuple[str, Any, str]]:
        return [("link", repr(self.link), ""), ("queue", repr(self.aqm), "")]

    @property
    def as_run(self) -> Scenario:
        """The scenario with numbers for what follows from the rest: buffers that are not given.

        Examples
        --------
        >>> import pi2_fluid as pf
        >>> link, faster = pf.Link("5Mbit/s"), pf.Change("9s", capacity="50Mbit/s")
        >>> flows = pf.Flows(pf.Reno(), 1, "50ms")
        >>> pf.Scenario("20s", link, pf.TailDrop(), flows, faster).as_run.link.buffer
        1042.0
        """
        if all(node.link.buffer is not None for node in self.network.nodes):
            return self
        network = self.network.with_buffers(self.changes)
        made = copy.copy(self)  # not checked anew: all else in it was
        vars(made).pop("_text", None)
        vars(made)["network"] = network
        if "link" in vars(made):
            vars(made)["link"] = network.node.link
        return made

    @property
    def node_names(self) -> tuple[str, ...]:
        """The name of each node, in order."""
        return (BOTTLENECK,)

    @property
    def packet_size(self) -> Number:
        """Bytes of a full packet on every link."""
        return self.link.packet_size

    @property
    def class_names(self) -> tuple[str, ...]:
        """The name of each class of flows, in order.

        A class without a name is called after its kind of sender, which is the sender's class in
        lower case; the next ones of that kind kind2, kind3, ..., leaving out names that are given.
        """
        return class_names(self.flows)

    def with_classes(self, flows: Sequence[Flows], changes: Sequence[Change]) -> Scenario:
        """Return it with other classes of flows over the same links, and another schedule."""
        return dataclasses.replace(self, flows=tuple(flows), changes=tuple(changes))

    @classmethod
    def from_toml(cls, text: str) -> Scenario:
        """Return the scenario that a TOML text describes.

        Quantities are numbers in SI units, or text with a unit. The tables are ``[link]``,
        ``[aqm]`` with its ``kind``, ``[[flows]]`` with the kind of their ``sender``, and
        ``[[changes]]``; the keys are the fields of the classes. Of several nodes there are
        ``[[node]]`` and ``[node.aqm]`` instead of the first two, as in a `Network`.

        Raises
        ------
        QuantityError, DomainError, ScenarioError
            Naming the table and the key.

        Examples
        --------
        >>> Scenario.from_toml('''
        ... duration = "60s"
        ... link.capacity = "10Mbit/s"
        ... [aqm]
        ... kind = "pie"
        ... target = "20ms"
        ... [[flows]]
        ... sender = "creno"
        ... count = 5
        ... base_rtt = "100ms"
        ... ''').class_names
        ('creno',)
        """
        return read_scenario(parse_toml(text))

    def to_toml(self) -> str:
        """Return the scenario as TOML text, from which `from_toml` makes an equal one.

        Raises
        ------
        UnsupportedError
            If a queue or a sender is a law of one's own, which text cannot name.
        """
        return self._text

    @cached_property
    def _text(self) -> str:
        return format_tables(self, self.link, self.aqm, self.flows, self.changes)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class _Routed(Scenario):
    """A scenario of several nodes: it keeps their network in the place of link, queue and flows."""

    network: Network = dataclasses.field(kw_only=True)

    if not TYPE_CHECKING:  # whose fields they are not, but ways to say no, or to the network
        link: ClassVar[property] = property(lambda self: _refuse_only(self.network))
        aqm: ClassVar[property] = property(lambda self: _refuse_only(self.network))
        flows: ClassVar[property] = property(lambda self: self.network.flows)

    def __repr__(self) -> str:
        fields = ((field.name, getattr(self, field.name)) for field in dataclasses.fields(self))
        return f"Scenario({', '.join(f'{name}={value!r}' for name, value in fields)})"

    def _check_parts(self) -> None:
        """Refuse links that count packets differently; the rest is checked in the network."""
        _ = self.network.packet_size

    def _node_rows(self) -> list[tuple[str, Any, str]]:
        return [(node.name, f"{node.link!r}, {node.aqm!r}", "") for node in self.network.nodes]

    @property
    def node_names(self) -> tuple[str, ...]:
        """The name of each node, in order."""
        return self.network.node_names

    @property
    def packet_size(self) -> Number:
        """Bytes of a full packet on every link."""
        return self.network.packet_size

    def with_classes(self, flows: Sequence[Flows], changes: Sequence[Change]) -> Scenario:
        """Return it with other classes of flows over the same links, and another schedule."""
        network = dataclasses.replace(self.network, flows=tuple(flows))
        return dataclasses.replace(self, network=network, changes=tuple(changes))

    @cached_property
    def _text(self) -> str:
        network = self.network
        return format_nodes(network.parts, network.flows, network, self, self.changes)


def _refuse_only(network: Network) -> None:
    refuse_several(
        network,
        "what was asked for is of one link",
        "simulate several by rates or packet by packet, or give a scenario of one of them",
    )


def _require_alone(network: object, others: dict[str, Any]) -> None:
    """Refuse what is no network, and a network with a link, a queue or flows beside it."""
    if not isinstance(network, Network):
        raise ScenarioError(
            f"Scenario network = {show_value(network)} is no Network: give e.g. Network(nodes,"
            " flows)."
        )
    for name, value in others.items():
        if value is not None and value != ():
            raise ScenarioError(
                f"Scenario {name} = {show_value(value)} is given beside a network, which has its"
                " own: give one of them."
            )


def _parts_of(
    network: Network, changes: tuple[Change, ...]
) -> tuple[dict[str, Any], tuple[Change, ...]]:
    """Return what a scenario keeps of a network, and its changes: of one node, without its name."""
    if len(network.nodes) > 1:
        return {"network": network}, changes
    (node,) = network.nodes
    flows = tuple(dataclasses.replace(flow, route=None) for flow in network.flows)
    changes = tuple(
        dataclasses.replace(change, link=None) if change.link == node.name else change
        for change in changes
    )
    return {"link": node.link, "aqm": node.aqm, "flows": flows}, changes


def read_scenario(
    data: dict[str, Any], aqm: Aqm | None = None, beside: Sequence[str] = ()
) -> Scenario:
    """Return the scenario that tables describe, as `Scenario.from_toml` that of a text.

    Where they describe no queue, it has this one, unless that is None. Keys `beside` are not its.
    """
    tables = read_tables(data, aqm, beside)
    if "nodes" in tables:
        with located("", "Network"):
            nodes = [Node(*node) for node in tables.pop("nodes")]
            own = tables.pop("combined")
            tables["network"] = Network(nodes, tables.pop("flows"), **own)
    with located("", "Scenario"):
        return Scenario(**tables)


def require_scenario(scenario: object) -> None:
    """Raise ScenarioError unless this is a scenario; UnsupportedError of a network."""
    if isinstance(scenario, Network):
        raise UnsupportedError(
            f"{show_nodes(scenario)} without a schedule, and only a Scenario is run: give"
            " Scenario(duration, network=network), or ask equilibrium(network) where it rests."
        )
    if not isinstance(scenario, Scenario):
        raise ScenarioError(
            f"scenario = {show_value(scenario)} is no Scenario: build one, or load one with"
            " Scenario.load(path)."
        )


def _require_number(leaf: Any, place: str) -> None:
    if np.ndim(leaf):
        raise ScenarioError(
            f"Scenario {place.removeprefix('.')} has the shape {np.shape(leaf)}, but a scenario is"
            " one run: give one number."
        )
