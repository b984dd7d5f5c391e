"""A trajectory at one instant: its discrete state, and what follows from the whole state."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from pi2_fluid.engines.fluid.oracle.sides import Sides
from pi2_fluid.laws.aqm import Signal
from pi2_fluid.laws.seen import Seen

#: The state of a sender: a number, or a tuple of several.
State: TypeAlias = float | tuple[float, ...]
#: What a class hears: its state, its signal, and its round-trip time, one round trip ago.
Heard: TypeAlias = tuple[State, float, float]

EMPTY: Final = -1
FREE: Final = 0
FULL: Final = 1


class Mode(NamedTuple):
    """The discrete state: constant between two events."""

    capacity: tuple[float, ...]
    """Packets per second of each link."""
    counts: tuple[float, ...]
    """Flows of each class, once all have started."""
    started: tuple[bool, ...]
    """Whether the class has started, and not stopped."""
    active: tuple[bool, ...]
    """Whether it sends: it does not while its count is 0."""
    ramping: tuple[bool, ...]
    """Whether its flows are still starting, one after the other."""
    slow: tuple[bool, ...]
    """Whether the class is in slow start."""
    floored: tuple[bool, ...]
    """Whether the class's window is held at 0, where its law would carry it below."""
    bound: tuple[int, ...]
    """Of each queue: EMPTY or FULL while held there, else FREE."""
    held: tuple[float, ...]
    """Of each controller state: the direction (+1, -1) in which a clip stops it, else 0."""
    sides: tuple[Sides, ...] = ()
    """Answers of the comparisons of each queue's law, and of each class's; none: by the numbers."""
    signalling: bool = True
    """False before time 0: nobody has been signalled yet."""
    places: tuple[int, ...] = ()
    """Where in the past is read, by those whose reading of it is a part of the state."""


class View(NamedTuple):
    """What follows from the state of one instant, without looking at the past."""

    tau: tuple[float, ...]
    """Queue delay of each queue (s)."""
    rtt: tuple[float, ...]
    """Round-trip time of each class (s)."""
    rates: tuple[float, ...]
    """Packets per second of each class that enter the queue."""
    net: tuple[float, ...]
    """Growth of each queue, were it free (packets/s)."""
    served: tuple[float, ...]
    """Packets per second that leave each queue."""
    seen: tuple[Seen, ...]
    """What each law knows of its queue."""
    signals: tuple[Signal, ...]
    """What each law makes of it."""
    passing: tuple[float, ...] = ()
    """Of links from which classes go on: how fast the time of entry moves, and what leaves."""


class Basin(NamedTuple):
    """Queues that share a buffer."""

    queues: slice
    size: float
    """Packets."""
