"""`Traffic`: a family of scenarios, which says who sends through a queue."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

from pi2_fluid.errors import QuantityError, ScenarioError, show_value
from pi2_fluid.html import html_table
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.network.adapting import at_rate, over_paths, with_l4s, with_long_flows
from pi2_fluid.network.catalogue import (
    is_file,
    named_scenario,
    scenario_names,
    traffic_names,
    traffic_text,
)
from pi2_fluid.network.cells import Cell
from pi2_fluid.network.family_text import format_family, is_family, read_family
from pi2_fluid.network.scenario import Scenario, require_scenario
from pi2_fluid.network.text import Written, in_file, read_text

if TYPE_CHECKING:
    from pi2_fluid.values import Quantity

#: What results call the mean over all cells.
ALL: Final = "all"
_HEAD: Final = ("name", "title", "note")
#: The family of which only numbers are known.
_ANY: Final = "link"
#: What a family is made of.
Source: TypeAlias = "Traffic | Cell | Scenario | str | Path"


class _Family(NamedTuple):
    """Cells, and what a family says of itself."""

    cells: Sequence[Cell]
    name: str = ""
    title: str = ""
    note: str = ""


@dataclasses.dataclass(frozen=True, eq=False, init=False)
class Traffic(Written):
    """A family of scenarios, its cells: who sends, over which link and paths, and what changes.

    A word is a family that comes with the package, an opinion with the sources of its cells; see
    `traffic_names`. What a queue is best at depends on who sends, so a family has short flows
    beside its fewest long ones, and an event after which less is offered; where one is missing,
    `caveats` say so.

    Parameters
    ----------
    cells : str, Path, Scenario, Cell, Traffic, or a sequence or mapping of them
        A word, a file of a family or of a scenario, the name of a scenario that comes with the
        package, or what is one. In a mapping scenarios are called by their keys. None: ``"link"``,
        of which only the numbers below are known; at least one of them is needed then.
    rate : float or str, optional
        The rate of every cell (bit/s). Changes of the capacity, senders of constant rate and
        arrivals of transfers go in proportion, and buffers hold packets for as long as they did.
    rtt : float or str, or two of them, optional
        The shortest and the longest base round-trip time of long flows (s). Those of all cells are
        mapped from their own span to this one, by logarithms; those of short flows beyond it go to
        the nearest end.
    long : int or (int, int), optional
        The fewest and the most long flows at once. Those of all cells are mapped from their own
        span to this one, by logarithms, to whole numbers: the cell with the fewest gets the fewest.
        Every class keeps at least one flow; where they are more than the most, a warning says so.
    l4s : float, optional
        The share of long flows of each cell that is L4S, in [0, 1], in whole flows, half a one left
        out. Classic flows become Prague, or L4S flows the cell's usual Classic ones.
    name, title, note : str, optional
        What it is called, what it is in a line, and what is to be said of it; None: as what is
        given says.

    Raises
    ------
    ScenarioError
        If there is no cell, or two have one name.
    QuantityError, DomainError
        If a number is none of its unit, outside its range, or the first of two the larger; if a
        word or a file is given twice.
    QuantityError, DomainError, ScenarioError, UnsupportedError
        Naming file, cell and key of what is wrong there.

    Examples
    --------
    Scenarios are a family:

    >>> import pi2_fluid as pf
    >>> long = pf.Flows(pf.Cubic(), 2, "30ms")
    >>> web = pf.Transfers(pf.Cubic(), 9, "30ms", size=pf.Pareto(1.3, 8, cap=2000), idle="2s")
    >>> link, queue = pf.Link("20Mbit/s"), pf.presets.linux_dualpi2()
    >>> mine = pf.Traffic({"long": pf.Scenario("40s", link, queue, [long]),
    ...                    "pages": pf.Scenario("40s", link, queue, [long, web])})
    >>> [cell.name for cell in mine.cells], mine.longest_rtt
    (['long', 'pages'], 0.03)
    >>> mine.caveats
    ('no cell has an event after which less is offered, where some gains let the link idle',)
    >>> pf.Traffic.from_toml(mine.to_toml()) == mine
    True

    Numbers act on any family:

    >>> family = pf.Traffic("link", rate="50Mbit/s", rtt=("10ms", "40ms"), long=(1, 8))
    >>> family.longest_rtt, max(cell.long_flows[1] for cell in family.cells)
    (0.04, 8)
    """

    cells: tuple[Cell, ...]
    name: str = ""
    title: str = ""
    note: str = ""

    def __init__(
        self,
        cells: Source | Sequence[Source] | Mapping[str, Scenario] | None = None,
        *,
        rate: Quantity | None = None,
        rtt: Quantity | tuple[Quantity, Quantity] | None = None,
        long: int | tuple[int, int] | None = None,
        l4s: Quantity | None = None,
        name: str | None = None,
        title: str | None = None,
        note: str | None = None,
    ) -> None:
        if cells is None and (rate, rtt, long, l4s) != (None,) * 4:
            cells = _ANY
        family = _family_of(cells)
        made = _called(family.cells)
        if rate is not None:
            made = at_rate(made, rate)
        if rtt is not None:
            made = over_paths(made, rtt, _ends(_rtts(made)))
        if long is not None:
            made = with_long_flows(made, long)
        if l4s is not None:
            made = with_l4s(made, l4s)
        object.__setattr__(self, "cells", tuple(made))
        for field, given in zip(_HEAD, (name, title, note), strict=True):
            word: object = getattr(family, field) if given is None else given
            if not isinstance(word, str):
                raise ScenarioError(f"Traffic {field} = {show_value(word)} is no text: give text.")
            object.__setattr__(self, field, word)
        self.__post_init__()

    def with_aqm(self, aqm: Aqm) -> Traffic:
        """Return it with every cell behind this queue, and all else as it is.

        Raises
        ------
        ScenarioError
            If it is no queue.

        Examples
        --------
        >>> import pi2_fluid as pf
        >>> family = pf.Traffic("pi2_fig11a_pie").with_aqm(pf.presets.linux_dualpi2())
        >>> family.cells[0].scenario.aqm.beta
        3.19921875
        """
        return dataclasses.replace(self, cells=tuple(cell.with_aqm(aqm) for cell in self.cells))

    @property
    def shortest_rtt(self) -> float:
        """The shortest base round-trip time of a long flow (s)."""
        return _ends(self._rtts)[0]

    @property
    def longest_rtt(self) -> float:
        """The longest base round-trip time of a long flow (s)."""
        return _ends(self._rtts)[1]

    @property
    def typical_rtt(self) -> float:
        """The median base round-trip time (s): of the long flows of a cell, all cells alike."""
        half = sum(share for _, share in self._rtts) / 2.0
        passed = 0.0
        for rtt, share in self._rtts:
            passed += share
            if passed >= half * (1.0 - 1e-12):  # shares are rounded
                return rtt
        return self.longest_rtt

    @cached_property
    def caveats(self) -> tuple[str, ...]:
        """What it lacks, and without which a recommendation may do harm; a sentence each."""
        fewest = min((few for cell in self.cells if (few := cell.long_flows[0])), default=0)
        missing = []
        if not fewest:
            missing.append("no cell has long flows, and they are whom gains slow down or speed up")
        elif not any(cell.short_beside(fewest) for cell in self.cells):
            missing.append(
                f"no cell has short flows beside its fewest long ones ({fewest}), where large gains"
                " cost the long ones their rate"
            )
        if not any(event.falls for cell in self.cells for event in cell.events):
            missing.append(
                "no cell has an event after which less is offered, where some gains let the link"
                " idle"
            )
        return tuple(missing)

    @classmethod
    def from_toml(cls, text: str) -> Traffic:
        """Return the family that a TOML text describes.

        `title` and `note` are its own keys, and each table ``[[cells]]`` is a cell: its `name`,
        `why` and `source`, and a scenario's keys, ``[cells.link]``, ``[[cells.flows]]`` and so on.
        Without ``[cells.aqm]`` it is behind Linux's default of DualPI2.

        Raises
        ------
        QuantityError, DomainError, ScenarioError, UnsupportedError
            Naming the cell, the table and the key.

        Examples
        --------
        >>> Traffic.from_toml('''
        ... title = "One download"
        ... [[cells]]
        ... name = "download"
        ... duration = "20s"
        ... link.capacity = "20Mbit/s"
        ... [[cells.flows]]
        ... sender = "cubic"
        ... base_rtt = "40ms"
        ... ''').cells[0].steady
        (8.0, 20.0)
        """
        family = _read(text)
        return cls(family.cells, name=family.name, title=family.title, note=family.note)

    def to_toml(self) -> str:
        """Return it as TOML text, from which `from_toml` makes an equal one.

        Raises
        ------
        UnsupportedError
            If a queue or a sender is a law of one's own, which text cannot name.
        """
        head = {field: getattr(self, field) for field in _HEAD}
        return format_family(head, [(cell.scenario, cell.why, cell.source) for cell in self.cells])

    def to_dict(self) -> dict[str, Any]:
        """Return what is known of it and its cells, as JSON takes it; times in s.

        Its scenarios are in `to_toml`.
        """
        return {
            **{field: getattr(self, field) for field in _HEAD},
            "shortest_rtt": self.shortest_rtt,
            "typical_rtt": self.typical_rtt,
            "longest_rtt": self.longest_rtt,
            "caveats": self.caveats,
            "cells": [cell.to_dict() for cell in self.cells],
        }

    def _repr_html_(self) -> str:
        rows = [(cell.name, cell.why or repr(cell.scenario.link), "") for cell in self.cells]
        return html_table(self.title or f"Traffic {self.name}".rstrip(), rows)

    @cached_property
    def _rtts(self) -> list[tuple[float, float]]:
        return _rtts(self.cells)


def _rtts(cells: Sequence[Cell]) -> list[tuple[float, float]]:
    """Return base round-trip times (s) of long flows in order, with their share of a cell.

    Of a family without long flows, those of all that obey signals.
    """
    pairs: list[tuple[float, float]] = []
    for wanted in ("long_classes", "short_classes"):
        for cell in cells:
            named = zip(cell.scenario.class_names, cell.scenario.flows, strict=True)
            chosen = [flow for name, flow in named if name in getattr(cell, wanted)]
            total = sum(float(flow.count) for flow in chosen)
            pairs += [(float(flow.base_rtt), float(flow.count) / total) for flow in chosen]
        if pairs:
            break
    if not pairs:
        raise ScenarioError(
            "no cell has flows that obey signals, so that there is no round-trip time: give cells"
            ' with e.g. Flows(Cubic(), 2, "40ms").'
        )
    return sorted(pairs)


def _ends(rtts: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return rtts[0][0], rtts[-1][0]


def _read(text: str) -> _Family:
    head, parts = read_family(text)
    return _Family([Cell(*each) for each in parts], **head)


def _family_of(source: object) -> _Family:
    """Return the cells of whatever a family is given as."""
    if isinstance(source, Traffic):
        return _Family(source.cells, source.name, source.title, source.note)
    if isinstance(source, Cell):
        return _Family([source])
    if isinstance(source, Scenario):
        return _Family([Cell(source)])
    if isinstance(source, (str, Path)):
        return _family_at(source)
    if isinstance(source, Mapping):
        return _Family([_named(name, scenario) for name, scenario in source.items()])
    if isinstance(source, Iterable):
        source = tuple(source)
        _require_each_once(source)
        return _Family([cell for each in source for cell in _family_of(each).cells])
    raise ScenarioError(f"traffic = {show_value(source)} is no family: give {_ways()}.")


def _require_each_once(sources: Sequence[object]) -> None:
    """Refuse a word or a file that is given twice."""
    words = [str(source) for source in sources if isinstance(source, (str, Path))]
    for number, word in enumerate(words):
        if word in words[:number]:
            raise QuantityError(f"traffic = {show_value(word)} is given twice: give it once.")


def _family_at(source: str | Path) -> _Family:
    """Return the family of a word, a file, or the name of a scenario."""
    if isinstance(source, Path) or is_file(source):
        name, text = read_text(source)
        with in_file(name, source):
            if is_family(text):
                return _read(text)
            scenario = Scenario.from_toml(text)
            return _Family([_named(scenario.name or Path(source).stem, scenario)])
    if source in traffic_names():
        family = _read(traffic_text(source))
        return family._replace(name=family.name or source)
    if source in scenario_names():
        return _Family([Cell(named_scenario(source))])
    raise QuantityError(
        f"traffic = {show_value(source)} is no word, no file and no scenario's name: give"
        f" {_ways()}."
    )


def _ways() -> str:
    words = ", ".join(map(repr, traffic_names()))
    return f"one of {words}, a file of a family or of a scenario, or scenarios"


def _named(name: str, scenario: object) -> Cell:
    require_scenario(scenario)
    return Cell(dataclasses.replace(cast("Scenario", scenario), name=name))


def _called(cells: Sequence[Cell]) -> list[Cell]:
    """Return cells, those without a name called by their number; or say that two have one name."""
    if not cells:
        raise ScenarioError(f"traffic has no cell: give {_ways()}.")
    called = []
    numbers: dict[str, int] = {}
    for number, cell in enumerate(cells, 1):
        named_cell = (
            cell
            if cell.name
            else dataclasses.replace(
                cell, scenario=dataclasses.replace(cell.scenario, name=f"cell{number}")
            )
        )
        if (first := numbers.setdefault(named_cell.name, number)) != number:
            raise ScenarioError(
                f"cells {first} and {number} are both called {show_value(named_cell.name)}: give"
                " each a name of its own, as results call it."
            )
        if named_cell.name == ALL:
            raise ScenarioError(
                f"cell {number} is called {ALL!r}, as results call the mean over all cells: give it"
                " another name."
            )
        called.append(named_cell)
    return called
