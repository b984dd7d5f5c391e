"""Flows: how many senders of one kind share the queue, and over which path."""

from __future__ import annotations

from dataclasses import dataclass

from pi2_fluid.errors import QuantityError, ScenarioError, show_value
from pi2_fluid.model.record import Record, quantity
from pi2_fluid.model.sender import Sender
from pi2_fluid.ops import Number

__all__ = ["Flows"]


@dataclass(frozen=True, eq=False)
class Flows(Record):
    """A class of equal flows.

    Parameters
    ----------
    sender : Sender
        The window law.
    count : float, default 1
        Number of flows, > 0 (a real number here, an integer in packet simulations).
    base_rtt : float or str
        Round-trip time of the path without queue (s), >= 0.
    name : str, optional
        Label of the class in results.
    """

    sender: Sender
    count: Number = quantity(1.0, "number")
    base_rtt: Number = quantity(None, "time", closed=True, optional=True)
    name: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.sender, Sender):
            raise ScenarioError(
                f"Flows sender = {show_value(self.sender)} is no Sender: give e.g. Reno()."
            )
        if self.base_rtt is None:
            raise ScenarioError(
                'Flows base_rtt = None is missing: give the path\'s round-trip time, e.g. "80ms".'
            )
        if not isinstance(self.name, (str, type(None))):
            raise QuantityError(
                f"Flows name = {show_value(self.name)} is no text: give a label, or None."
            )
