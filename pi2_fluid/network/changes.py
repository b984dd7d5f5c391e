"""`Change`: what changes while a scenario runs, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pi2_fluid.errors import ScenarioError, show_value
from pi2_fluid.ops import Number
from pi2_fluid.records.counts import Counts
from pi2_fluid.records.record import OptionalParameter, Parameter, Record, described, quantity
from pi2_fluid.units import SLOW_LINK


@dataclass(frozen=True, eq=False)
class Change(Record):
    """A change at one instant; it holds until the next change of the same thing.

    Parameters
    ----------
    at : float or str
        When (s).
    capacity : float or str, optional
        The link's new rate (bit/s); 0 is an outage: it serves nothing until a later change.
    counts : mapping of str to float, optional
        New numbers of flows by the name of their class, >= 0; the other classes keep theirs. At 0
        a class pauses: none of its flows sends until a later change. In the fluid the windows stay
        as they are, so that flows that join are copies of those that are there; to let flows begin
        with their initial window, give them a class of their own with a `start`.
    link : str, optional
        The node whose capacity it is; may be left out where there is one.
    base_rtt : mapping of str to float or str, optional
        New round-trip times (s) without queue, by the name of their class: their paths change
        (packets only). What is under way arrives as if nothing had changed, and what is sent
        afterwards over a shorter path comes behind it: nothing is overtaken.

    Raises
    ------
    ScenarioError
        If neither capacity, counts nor base_rtt are given, or a link without capacity.

    Examples
    --------
    >>> Change("50s", counts={"reno": 15})
    Change(at=50.0, capacity=None, counts={'reno': 15.0}, link=None, base_rtt=None)
    """

    at: Parameter = quantity(None, "time", closed=True)
    capacity: OptionalParameter = quantity(
        None, "rate", usual_from=SLOW_LINK, optional=True, closed=True
    )
    counts: Mapping[str, Number] | None = None
    link: str | None = described(None, "name of a node")
    base_rtt: Mapping[str, Number] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.counts is not None:
            counts = Counts(self.counts, "Change counts")
            object.__setattr__(self, "counts", counts or None)
        if self.base_rtt is not None:
            times = Counts(self.base_rtt, "Change base_rtt", "time", 'give e.g. {"reno": "80ms"}')
            object.__setattr__(self, "base_rtt", times or None)
        if self.capacity is None and self.counts is None and self.base_rtt is None:
            raise ScenarioError(
                f"Change at = {show_value(self.at)} changes nothing: give capacity, counts of"
                " flows, or base_rtt."
            )
        name: object = self.link
        if name is not None and (not isinstance(name, str) or not name):
            raise ScenarioError(
                f"Change link = {show_value(name)} is no name: give that of a node, or None."
            )
        if name is not None and self.capacity is None:
            raise ScenarioError(
                f"Change link = {show_value(name)} is whose capacity changes, and capacity is not"
                " given: give both, or leave link out."
            )
