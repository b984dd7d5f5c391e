"""Where the links of one stage of a schedule rest, as the linear plant asks for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, cast

import numpy as np

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqm import Signal
from pi2_fluid.network.bottlenecks import NetworkPoint, network_equilibrium
from pi2_fluid.network.equilibrium import OperatingPoint, equilibrium
from pi2_fluid.network.network import Network


class Resting(NamedTuple):
    """Links and classes at rest."""

    full: tuple[bool, ...]
    """Of each link: whether it is a bottleneck."""
    controller: tuple[float, ...]
    delays: tuple[tuple[float, float], ...]
    """Of each link: the delays of Classic and of L4S packets (s), which share a single queue."""
    signals: tuple[Signal, ...]
    share: tuple[tuple[float, ...], ...]
    """Of each link: what part of it each class uses."""
    states: tuple[Any, ...]
    p: tuple[float, ...]
    rtt: tuple[float, ...]

    def waits_in_l4s(self, link: int) -> bool:
        """Return whether of a dual queue L4S packets wait, and Classic ones do not."""
        classic, l4s = self.delays[link]
        return l4s > classic


def rest_of(network: Network) -> Resting:
    """Return where a network rests, of one node or several.

    Raises
    ------
    DomainError, SolverError
        As `equilibrium`.
    UnsupportedError
        As there; if nobody hears signals, or what links signal is not unique.
    """
    if not any(flow.sender.signal for flow in network.flows):
        raise UnsupportedError(
            "linear=True is of queues whose signals are heard, and none of these flows hears any:"
            " use linear=False, or ask Loop for the linear answer."
        )
    if len(network.nodes) == 1:
        return _of_one(network, cast("OperatingPoint", equilibrium(network)))
    point = network_equilibrium(network)
    if not point.unique:
        raise UnsupportedError(
            "what the bottlenecks of this network signal is not unique, since the same flows fill"
            " them, so that linear=True has no rest to begin from: leave one of them out, or change"
            " its capacity."
        )
    return _of_several(point)


def _of_one(network: Network, point: OperatingPoint) -> Resting:
    aqm, u, delay = network.node.aqm, float(point.controller), point.queue_delay
    both = delay if isinstance(delay, tuple) else (delay, delay)
    # Without its controller a dual queue may mark L4S packets.
    marks = zip(network.flows, point.p, strict=True)
    l4s = max((float(p) for flow, p in marks if flow.sender.signal == "scalable"), default=0.0)
    shown = aqm.encode(u) if u > 0.0 else (0.0, l4s)
    return Resting(
        (True,),
        (u,),
        ((float(both[0]), float(both[1])),),
        (Signal(*map(float, shown)),),
        (_numbers(point.share),),
        point.states,
        _numbers(point.p),
        _numbers(point.rtt),
    )


def _of_several(point: NetworkPoint) -> Resting:
    delays = np.column_stack([point.queue_delay, point.l4s_delay]).tolist()
    return Resting(
        tuple(map(bool, point.bottleneck)),
        _numbers(point.controller),
        tuple((classic, l4s) for classic, l4s in delays),
        tuple(
            Signal(*each) for each in point.link_p.transpose("link", "signal").to_numpy().tolist()
        ),
        tuple(map(_numbers, point.share.to_numpy())),
        point.states,
        _numbers(point.p),
        _numbers(point.rtt),
    )


def _numbers(values: Iterable[Any]) -> tuple[float, ...]:
    return tuple(map(float, values))
