"""Scenario: the one description of link, queue, flows and schedule that the engines share."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from pi2_fluid.network.network import BOTTLENECK, Network, Node, show_nodes
from pi2_fluid.network.text import format_tables, located, parse_tables, read_text
from pi2_fluid.ops import Number
from pi2_fluid.records.record import Record, as_tuple, leaves, map_leaves, quantity
from pi2_fluid.saving import save_text
from pi2_fluid.units import is_traced

if TYPE_CHECKING:
    from pi2_fluid.values import Quantity

__all__ = ["Scenario", "require_scenario"]


@dataclass(frozen=True, eq=False)
class Scenario(Record):
    """A link, its queue, the flows, and when what changes: all that a run needs to know.

    Every number in it is a single one: a scenario is one run.

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

    Raises
    ------
    QuantityError, DomainError, ScenarioError
        If something in it is no number, is of another type, or contradicts the rest.

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
    """

    # field() alone is what type checkers know for a field without default
    duration: Number = dataclasses.field(metadata=quantity(None, "time").metadata)
    link: Link
    aqm: Aqm
    flows: tuple[Flows, ...]
    changes: tuple[Change, ...] = ()
    name: str = ""

    if TYPE_CHECKING:  # what may be given is wider than what the attributes hold

        def __init__(
            self,
            duration: Quantity,
            link: Link,
            aqm: Aqm,
            flows: Flows | Sequence[Flows],
            changes: Change | Sequence[Change] = (),
            name: str = "",
        ) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.link, Link):
            raise ScenarioError(
                f'Scenario link = {show_value(self.link)} is no Link: give e.g. Link("10Mbit/s").'
            )
        if not isinstance(self.aqm, Aqm):
            raise ScenarioError(
                f"Scenario aqm = {show_value(self.aqm)} is no Aqm: give e.g. Pi2()."
            )
        if not isinstance(self.name, str):
            raise ScenarioError(f"Scenario name = {show_value(self.name)} is no text: give text.")
        object.__setattr__(self, "flows", as_tuple(self.flows, Flows, "Scenario flows"))
        if not self.flows:
            raise ScenarioError("Scenario flows = () is empty: give at least one Flows.")
        object.__setattr__(self, "changes", as_tuple(self.changes, Change, "Scenario changes"))
        check_labels(self.flows)
        check_only_node(self.flows, BOTTLENECK)
        map_leaves(_require_number, self)
        # Nothing can be said about numbers that JAX is tracing.
        if not any(is_traced(leaf) for leaf in leaves(self)):
            changes = tuple(sorted(self.changes, key=lambda change: float(change.at)))
            object.__setattr__(self, "changes", changes)
            check_times(self)
            check_changes(self)

    def _repr_html_(self) -> str:
        rows = [
            ("duration", self.duration, "s"),
            ("link", repr(self.link), ""),
            ("queue", repr(self.aqm), ""),
            *(
                (name, repr(one), "")
                for name, one in zip(self.class_names, self.flows, strict=True)
            ),
            *((f"at {change.at:g} s", repr(change), "") for change in self.changes),
        ]
        return html_table(f"Scenario {self.name}".rstrip(), rows)

    @property
    def network(self) -> Network:
        """What the run is of, without its schedule: one node, which is link and queue."""
        return Network(Node(BOTTLENECK, self.link, self.aqm), self.flows)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The name of each class of flows, in order.

        A class without a name is called after its kind of sender, which is the sender's class in
        lower case; the next ones of that kind kind2, kind3, ..., leaving out names that are given.
        """
        return class_names(self.flows)

    @classmethod
    def from_toml(cls, text: str) -> Scenario:
        """Return the scenario that a TOML text describes.

        Quantities are numbers in SI units, or text with a unit. The tables are ``[link]``,
        ``[aqm]`` with its ``kind``, ``[[flows]]`` with the kind of their ``sender``, and
        ``[[changes]]``; the keys are the fields of the classes.

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
        tables = parse_tables(text)
        with located("", "Scenario"):
            return cls(**tables)

    def to_toml(self) -> str:
        """Return the scenario as TOML text, from which `from_toml` makes an equal one.

        Raises
        ------
        UnsupportedError
            If the queue or a sender is a law of one's own, which text cannot name.
        """
        return format_tables(self, self.link, self.aqm, self.flows, self.changes)

    @classmethod
    def load(cls, path: str | Path) -> Scenario:
        """Return the scenario in a TOML file, or on standard input if the path is "-".

        Raises
        ------
        OSError
            If the file cannot be read.
        QuantityError, DomainError, ScenarioError
            Naming the file, the table and the key.
        """
        name, text = read_text(path)
        with located(f"{name}:"):
            return cls.from_toml(text)

    def save(self, path: str | Path) -> None:
        """Write the scenario as TOML to a file.

        Raises
        ------
        OSError
            If the file cannot be written, as `WriteError` if it could not be to its end; an old one
            is as it was then.
        UnsupportedError
            As `to_toml`.
        """
        save_text(path, self.to_toml())


def require_scenario(scenario: object) -> None:
    """Raise ScenarioError unless this is a scenario; UnsupportedError of a network."""
    if isinstance(scenario, Network):
        raise UnsupportedError(
            f"{show_nodes(scenario)} without a schedule, and only a Scenario, with its single node,"
            " is run: give Scenario(duration, link, aqm, flows), or ask equilibrium(network) where"
            " it rests."
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
