"""Flows: how many senders of one kind share the queue, over which path, and when."""

from __future__ import annotations

from dataclasses import dataclass

from pi2_fluid.errors import QuantityError, ScenarioError, show_value
from pi2_fluid.laws.sender import Sender
from pi2_fluid.records.record import OptionalParameter, Parameter, Record, choice, quantity

__all__ = ["Flows"]


@dataclass(frozen=True, eq=False)
class Flows(Record):
    """A class of equal flows.

    Loops and operating points use the first four fields; the others describe a scenario.

    Parameters
    ----------
    sender : Sender
        The window law.
    count : float, default 1
        Number of flows, > 0 (a real number here, an integer in packet simulations).
    base_rtt : float or str
        Round-trip time of the path without queue (s), >= 0. May be left out for a sender that
        ignores signals.
    name : str, optional
        Label of the class in results.
    start, stop : float or str
        When the class sends (s); `stop` None means to the end.
    start_jitter : float or str
        Time over which the flows start, one after the other (s): at random in packets, in ten
        equal parts in the fluid.
    initial_window : float, default 10
        Segments (RFC 6928).
    slow_start : bool, default True
        Whether the class begins in slow start.
    delayed_ack : bool, default True
        Whether receivers acknowledge every other segment (packets only).
    ecn : bool, optional
        Whether packets are marked instead of dropped; None: those of scalable senders.
    """

    sender: Sender
    count: Parameter = quantity(1.0, "number")
    base_rtt: Parameter = quantity(None, "time", closed=True, optional=True)
    name: str | None = None
    start: Parameter = quantity(0.0, "time", closed=True)
    stop: OptionalParameter = quantity(None, "time", optional=True)
    start_jitter: Parameter = quantity(0.0, "time", closed=True)
    initial_window: Parameter = quantity(10.0, "number")
    slow_start: bool = choice(True, (True, False))
    delayed_ack: bool = choice(True, (True, False))
    ecn: bool | None = choice(None, (None, True, False))

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.sender, Sender):
            raise ScenarioError(
                f"Flows sender = {show_value(self.sender)} is no Sender: give e.g. Reno()."
            )
        missing = vars(self)["base_rtt"] is None  # which it is no longer after this
        if missing and self.sender.signal is None:
            object.__setattr__(self, "base_rtt", 0.0)
        elif missing:
            raise ScenarioError(
                'Flows base_rtt = None is missing: give the path\'s round-trip time, e.g. "80ms".'
            )
        if not isinstance(self.name, (str, type(None))):
            raise QuantityError(
                f"Flows name = {show_value(self.name)} is no text: give a label, or None."
            )
