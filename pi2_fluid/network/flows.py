"""Flows: how many senders of one kind share the queue, over which path, and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pi2_fluid.errors import QuantityError, ScenarioError, UnsupportedError, show_value
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.sender import Sender
from pi2_fluid.ops import Number
from pi2_fluid.records.record import (
    OptionalParameter,
    Parameter,
    Record,
    choice,
    described,
    leaves,
    quantities,
    quantity,
)
from pi2_fluid.units import LONG_PATH, format_quantity, is_traced


@dataclass(frozen=True, eq=False)
class Flows(Record):
    """A class of equal flows.

    Loops and operating points use the first four fields, and those of a network `route`; the others
    describe a scenario.

    Parameters
    ----------
    sender : Sender
        The window law.
    count : float, default 1
        Number of flows, > 0 (a real number here, an integer in packet simulations).
    base_rtt : float or str
        Round-trip time of the path without queue (s), >= 0. May be left out for a sender of
        constant rate.
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
    push_every : float, optional
        Segments from one with TCP's PSH flag to the next, 0: none has it (packets only). Receivers
        acknowledge those at once. None: as often as the sending program of `Linux` sets it, which
        keeps its socket full.
    ecn : bool or str, optional
        Whether packets are marked instead of dropped; None: those of scalable senders. "ect0" or
        "ect1" says as what, whatever the sender is: a dual queue takes ECT(1) for L4S traffic.
    route : str or sequence of str, optional
        Names of the nodes that the class crosses, in order; kept as a tuple. None: the only node.
    hops : float, str, or sequence of them
        Propagation times (s), >= 0: from the source to the first node, from the first to the
        second, and so on; none: 0 each. The rest of `base_rtt` lies behind the last node.
    back : str or sequence of str, optional
        Names of the nodes that acknowledgements cross, in order, none of them on the route; kept as
        a tuple (packets only). None: they cross none.
    back_hops : float, str, or sequence of them
        Propagation times (s) as `hops`, from the receiver on. What both leave of `base_rtt` lies
        behind the last node there, or back.
    packet_size : float or str, optional
        Bytes of a full packet, at most the link's (of windows, in packets only). None: the link's.

    Raises
    ------
    QuantityError
        If a field is no number of its unit, or a name no text.
    DomainError
        If a number is outside its range.
    ScenarioError
        If `sender` is none, `base_rtt` is missing for one that answers signals, `hops` take longer
        than it or are more than the nodes, or `back` crosses a node of the route.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> flows = pf.Flows(pf.Cubic(), 10, "80ms", start="5s", stop="20s")
    >>> flows.count, flows.base_rtt, flows.start
    (10.0, 0.08, 5.0)
    """

    #: Whether its flows end, as those of `Transfers` do.
    finite: ClassVar[bool] = False

    sender: Sender
    count: Parameter = quantity(1.0, "number")
    base_rtt: Parameter = quantity(None, "time", usual=LONG_PATH, closed=True, optional=True)
    name: str | None = None
    start: Parameter = quantity(0.0, "time", closed=True)
    stop: OptionalParameter = quantity(None, "time", optional=True)
    start_jitter: Parameter = quantity(0.0, "time", closed=True)
    initial_window: Parameter = quantity(10.0, "number")
    slow_start: bool = choice(True, (True, False))
    delayed_ack: bool = choice(True, (True, False))
    push_every: OptionalParameter = quantity(None, "number", closed=True, optional=True)
    ecn: str | bool | None = choice(None, (None, True, False, "ect0", "ect1"))
    route: tuple[str, ...] | None = described(None, "names of nodes")
    hops: tuple[Number, ...] = quantities("time", usual=LONG_PATH, closed=True)
    back: tuple[str, ...] | None = described(None, "names of nodes")
    back_hops: tuple[Number, ...] = quantities("time", usual=LONG_PATH, closed=True)
    packet_size: OptionalParameter = quantity(None, "size", optional=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.sender, Sender):
            raise ScenarioError(
                f"Flows sender = {show_value(self.sender)} is no Sender: give e.g. Reno()."
            )
        missing = vars(self)["base_rtt"] is None  # which it is no longer after this
        if missing and self.sender.constant_rate is not None:
            object.__setattr__(self, "base_rtt", 0.0)
        elif missing:
            raise ScenarioError(
                'Flows base_rtt = None is missing: give the path\'s round-trip time, e.g. "80ms".'
            )
        if not isinstance(self.name, (str, type(None))):
            raise QuantityError(
                f"Flows name = {show_value(self.name)} is no text: give a label, or None."
            )
        if self.route is not None:
            object.__setattr__(self, "route", _names(self.route, "route"))
        if self.back is not None:
            object.__setattr__(self, "back", _names(self.back, "back"))
        for name in self.back or ():
            if name in (self.route or ()):
                raise ScenarioError(
                    f"Flows back = {show_value(self.back)} crosses {show_value(name)}, which is on"
                    " the route: give the other direction a node of its own."
                )
        self._check_hops()

    @property
    def ecn_capable(self) -> bool:
        """Whether its packets can be marked: `ecn`, or where that is None what the sender obeys."""
        return self.sender.signal == "scalable" if self.ecn is None else bool(self.ecn)

    @property
    def is_l4s(self) -> bool:
        """Whether its packets are ECT(1), which a dual queue sends through its L4S queue."""
        if isinstance(self.ecn, str):
            return self.ecn == "ect1"
        return self.ecn_capable and self.sender.signal == "scalable"

    def _check_hops(self) -> None:
        """Refuse hops of another number than that of the nodes, or longer than the path."""
        there = 1 if self.route is None else len(self.route)
        for name, hops, what, nodes in (
            ("hops", self.hops, "the route", there),
            ("back_hops", self.back_hops, "the way back", len(self.back or ())),
        ):
            if hops and len(hops) != nodes:
                raise ScenarioError(
                    f"Flows {name} = {show_value(hops)} are {len(hops)} and the nodes of {what}"
                    f" {nodes}: give one time for each node, or none."
                )
        hops = (*self.hops, *self.back_hops)
        if not hops or any(is_traced(leaf) for leaf in leaves((hops, self.base_rtt))):
            return
        way, path = sum(map(float, hops)), float(np.min(np.asarray(self.base_rtt)))
        if way > path * (1 + 1e-12):  # sums of decimals are rounded
            raise ScenarioError(
                f"Flows hops take {format_quantity(way, 'time')}, longer than base_rtt ="
                f" {format_quantity(path, 'time')}: shorten them, or raise base_rtt."
            )


def class_names(classes: Sequence[Flows]) -> tuple[str, ...]:
    """Return the name of each class of flows, in order.

    A class without a name is called after its sender, by its `label`, the sender's class in lower
    case as a rule; the next ones of that kind kind2, kind3, ..., leaving out names that are given.
    """
    taken = {flows.name for flows in classes}
    names = []
    for flows in classes:
        name = flows.name
        if name is None:
            kind = flows.sender.label
            name, number = kind, 1
            while name in taken:
                number += 1
                name = f"{kind}{number}"
            taken.add(name)
        names.append(name)
    return tuple(names)


def require_responsive(classes: Sequence[Flows]) -> None:
    """Refuse flows of which none adapts.

    Raises
    ------
    UnsupportedError
        Saying what to add.
    """
    if all(flow.sender.constant_rate is not None for flow in classes):
        raise UnsupportedError(
            "no class of flows obeys congestion signals, or its delay, so there is no loop: add"
            ' e.g. Flows(Reno(), base_rtt="80ms").'
        )


def refuse_finite(classes: Sequence[Flows], instead: str = "Packets()") -> None:
    """Refuse flows that end and begin anew.

    Parameters
    ----------
    classes : sequence of Flows
        The classes.
    instead : str
        What to use, for messages.

    Raises
    ------
    UnsupportedError
        Naming the class.
    """
    for flow, name in zip(classes, class_names(classes), strict=True):
        if flow.finite:
            raise UnsupportedError(
                f"flows {name!r} are Transfers, which end and begin anew packet by packet alone:"
                f" use {instead}, or give Flows that send on and on."
            )


def require_equal_packets(
    classes: Sequence[Flows], queues: Sequence[Aqm], packet_size: Number
) -> None:
    """Refuse classes whose packets are not what equations take them for.

    Parameters
    ----------
    classes : sequence of Flows
        The classes.
    queues : sequence of Aqm
        Those that they cross.
    packet_size : float
        Bytes of the segments that windows are counted in.

    Raises
    ------
    UnsupportedError
        If a window is one of smaller packets, or ECN fields send a class through another queue of a
        dual queue than what its sender obeys.
    """
    coupled = any(queue.coupling is not None for queue in queues)
    for flow, name in zip(classes, class_names(classes), strict=True):
        size, sender = flow.packet_size, flow.sender
        if size is not None and sender.constant_rate is None and np.any(size != packet_size):
            raise UnsupportedError(
                f"flows {name!r} packet_size = {show_value(size)} B is not that of the link, in"
                " which equations count all windows: leave it out, or use Packets()."
            )
        if coupled and isinstance(flow.ecn, str) and flow.is_l4s != (sender.signal == "scalable"):
            raise UnsupportedError(
                f"flows {name!r} ecn = {flow.ecn!r} makes of {type(sender).__name__} what it is not"
                " in the equations of coupled queues, which go by what a sender obeys: leave it"
                " out, or use Packets()."
            )


def _names(route: object, field: str) -> tuple[str, ...]:
    """Names of nodes from one of them, or a sequence."""
    given = (route,) if isinstance(route, str) else route
    names = tuple(given) if isinstance(given, Sequence) else ()
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ScenarioError(
            f"Flows {field} = {show_value(route)} names no nodes: give their names in order, e.g."
            ' ("a", "b").'
        )
    for name in () if len(set(names)) == len(names) else names:
        if names.count(name) > 1:
            raise ScenarioError(
                f"Flows {field} = {show_value(route)} crosses {show_value(name)} twice, and a class"
                " visits a node at most once: leave one out, or add a node."
            )
    return names
