"""A network at rest -> its matrix loop by acknowledgements.

Window laws are linearised as for one queue (`pi2_fluid.loop.acks`), controllers too. What a network
adds is where things are on the way, as in `pi2_fluid.loop.matrix.system`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.sender import Sender
from pi2_fluid.loop.acks.linearization import linearize_class
from pi2_fluid.loop.acks.plant import AckClass, exchange_landmarks
from pi2_fluid.loop.matrix.network_matrices import NetworkMatrices
from pi2_fluid.loop.matrix.system import linearize_network
from pi2_fluid.loop.matrix.ways import arrivals_along
from pi2_fluid.loop.state_space import LinearController
from pi2_fluid.network.bottlenecks import NetworkPoint
from pi2_fluid.network.network import Network
from pi2_fluid.network.routes import on_their_ways, places_of

if TYPE_CHECKING:
    from pi2_fluid.values import BoolArray, FloatArray, IntArray

#: Of the lowest harmonic of the shortest round trip: below this part of it the loop ends.
_BELOW_ECHOES: Final = 0.8


class Ways(NamedTuple):
    """The ways of classes through the queues at rest; of dual queues, through the Classic ones."""

    crosses: FloatArray
    """1 where the link is on the route, else 0: (classes, queues)."""
    waits: FloatArray
    """1 where packets wait in the queue; 0 off the route, and where they are served first."""
    forward: FloatArray
    """Seconds from the source to the link, queues on the way included; 0 off the route."""
    late: FloatArray
    """Seconds that packets wait there at rest."""
    shares: FloatArray
    """The class's rate over that of all packets in the queue."""

    def of(self, rows: list[int]) -> Ways:
        """Return those of some classes."""
        return Ways(*(values[rows] for values in self))


@dataclass(frozen=True, eq=False)
class AckMatrixLoop(NetworkMatrices):
    """A network linearised at rest by acknowledgements, with all that has a queue there.

    Attributes
    ----------
    classes : tuple of AckClass
        Those that a window moves, in any order. They answer to the probability p of a signal as it
        is heard, and to acknowledgements as they come: neither is late in themselves.
    controllers : tuple of LinearController
        Of each link that signals.
    signals : tuple of int
        Which queues these links are.
    heads : numpy.ndarray of bool, shape (links that signal,)
        Whether the controller acts on what the head of the queue has waited; else on the backlog.
    delays : numpy.ndarray, shape (queues,)
        Queue delay at rest (s).
    ways : Ways
        Of the classes.
    slopes : numpy.ndarray, shape (classes, links that signal)
        Of p of the class over the variable of the link's controller.
    heard : numpy.ndarray, shape (classes, links that signal)
        Seconds from where the link signals a packet to its sender.
    passive : Ways
        Of what nothing clocks, and queues delay all the same.
    bunch : float
        As of `pi2_fluid.loop.acks.plant.AckLoop`.
    """

    classes: tuple[AckClass, ...]
    controllers: tuple[LinearController, ...]
    signals: tuple[int, ...]
    heads: BoolArray
    delays: FloatArray
    ways: Ways
    slopes: FloatArray
    heard: FloatArray
    passive: Ways
    bunch: float

    @cached_property
    def reach(self) -> float:
        """The frequency (rad/s) at which the loop ends; inf where nothing is exchanged unseen.

        Beyond it, from the lowest harmonic of the shortest round trip on, classes exchange packets
        among themselves, hardly damped. In one queue classes of one round trip do so unseen. And
        from the lowest harmonic of all on, L4S packets that wait nowhere echo.
        """
        paced = np.array([cls.paced for cls in self.classes])
        windows = self.rtt[~paced & ~self.echoing]
        ends = [float(np.max(self.rtt[self.echoing]))] if self.echoing.any() else []
        if len(self.delays) > 1 or np.unique(windows).size > 1:
            ends.append(float(np.min(windows if windows.size else self.rtt)))
        return float(_BELOW_ECHOES * 2.0 * np.pi / max(ends)) if ends else float("inf")

    @cached_property
    def echoing(self) -> BoolArray:
        """Which classes send by acknowledgements of packets that wait nowhere."""
        ahead = ~np.any(self.ways.waits > 0.0, axis=1) & np.any(self.ways.crosses > 0.0, axis=1)
        result: BoolArray = ahead & ~np.array([cls.paced for cls in self.classes])
        return result

    @cached_property
    def follows_acks(self) -> bool:
        """Whether several windows are told when acknowledgements come faster or slower."""
        return sum(cls.follows_acks and not cls.paced for cls in self.classes) > 1

    def frozen(self) -> AckMatrixLoop:
        """Return the loop whose windows are not told."""
        classes = [
            replace(cls, growth_by_acks=0.0 * cls.growth_by_acks, cut_by_acks=0.0 * cls.cut_by_acks)
            for cls in self.classes
        ]
        return replace(self, classes=tuple(classes))

    def landmarks(self, low: float, high: float) -> FloatArray:
        """Return harmonics of the round trips between two frequencies (rad/s), and what is between.

        Where two of them lie close together classes exchange packets, in narrow resonances: near
        their middle, and where they would in one queue alone.
        """
        orders = np.arange(1, int(high * float(np.max(self.rtt)) / (2.0 * np.pi)) + 2)
        poles = np.unique(np.outer(orders, 2.0 * np.pi / self.rtt))
        windows = np.array([not cls.paced for cls in self.classes])
        swings = [
            exchange_landmarks(self.rtt[on], self.ways.shares[on, queue], high)
            for queue, on in enumerate(windows & (self.ways.waits.T > 0.0))
        ]
        found = np.unique(np.concatenate([poles, 0.5 * (poles[1:] + poles[:-1]), *swings]))
        # A harmonic itself is where a term has no end: beside it.
        found = found * (1.0 + 1e-9)
        result: FloatArray = found[(found > low) & (found < high)]
        return result


def linearize_network_acks(
    network: Network, point: NetworkPoint, rtt_terms: str = "frozen", bunch: float = 0.0
) -> AckMatrixLoop:
    """Linearise a network where it rests, by acknowledgements.

    Parameters
    ----------
    network : Network
        Of any number of nodes.
    point : NetworkPoint
        Where it rests.
    rtt_terms : {"frozen", "exact"}
        Whether windows are told that acknowledgements come faster or slower.
    bunch : float
        From 0, packets of a window lie evenly over a round trip, to 1, they travel in one burst.

    Raises
    ------
    UnsupportedError
        If no queue signals, or what queues signal is not unique; if a law does not say what an
        acknowledgement does, cannot be differentiated, or acts on what arrives.
    """
    for node in network.nodes:
        if node.aqm.acts_on != "queue":
            raise UnsupportedError(
                f"{type(node.aqm).__name__} at node {node.name!r} acts on what arrives, which"
                ' clock="acks" does not count here: use clock="rate".'
            )
    _require_classic_delays(network, point)
    # Where controllers and queues are does not depend on the clock.
    rates = linearize_network(network, point, rtt_terms)
    delays, signalled = point.numbers("queue_delay"), point.numbers("controller") > 0.0
    places = np.flatnonzero(point.numbers("bottleneck") & (signalled | (delays > 0.0)))
    queues = {node.name: node.aqm for node in network.nodes}
    flows = on_their_ways(network.flows, queues, network.packet_size)
    senders = [flow.sender for flow in flows]
    ways = _ways_of(network, point, places, senders)
    moved = [i for i, sender in enumerate(senders) if sender.constant_rate is None]
    left = [i for i in range(len(senders)) if i not in moved]
    told, classes = 1.0 if rtt_terms == "exact" else 0.0, []
    for i in moved:
        rest = point.states[i], float(point.numbers("p")[i]), float(point.numbers("rtt")[i])
        waited = np.array(float(np.sum(ways.late[i])))
        cls = linearize_class(senders[i], rest, np.ones(()), waited, ())
        classes.append(
            replace(
                cls,
                growth_by_acks=told * cls.growth_by_acks,
                cut_by_acks=told * cls.cut_by_acks,
                base_rtt=np.zeros(()),
                heard=np.zeros(()),
                number=i,
            )
        )
    signals = [places.tolist().index(rates.places[queue]) for queue in rates.signals]
    laws = [network.nodes[place].aqm for place in places[signals]]
    leaves = np.array([float(law.signals_at == "dequeue") for law in laws])
    signalled_at = ways.forward[:, signals] + leaves * ways.late[:, signals]
    return AckMatrixLoop(
        classes=tuple(classes),
        controllers=rates.controllers,
        signals=tuple(signals),
        heads=np.array([law.measures == "head" for law in laws]),
        delays=delays[places],
        ways=ways.of(moved),
        slopes=rates.slopes[[rates.moving.index(i) for i in moved]],
        heard=(point.numbers("rtt")[:, None] - signalled_at)[moved],
        passive=ways.of(left),
        bunch=bunch,
    )


def _require_classic_delays(network: Network, point: NetworkPoint) -> None:
    """Refuse dual queues whose L4S packets wait: there they are no longer served as they come."""
    delays, full = point.numbers("l4s_delay"), point.numbers("bottleneck")
    for node, is_full, delay in zip(network.nodes, full, delays, strict=True):
        if is_full and node.aqm.bands > 1 and float(delay) > 0.0:
            raise UnsupportedError(
                f'L4S packets wait at node {node.name!r} at rest, which clock="acks" describes of'
                ' one link only: use clock="rate", or more Classic flows there.'
            )


def _ways_of(
    network: Network, point: NetworkPoint, places: IntArray, senders: Sequence[Sender]
) -> Ways:
    """Return the ways of all classes through some nodes."""
    routes = places_of(network.node_names, network.flows)
    dual = np.array([node.aqm.bands > 1 for node in network.nodes])
    l4s = np.array([sender.signal == "scalable" for sender in senders])
    crosses = np.array([np.isin(places, route) for route in routes], float)
    waits = crosses * ~(l4s[:, None] & dual[places])
    delays = point.numbers("queue_delay")
    forward = np.array(
        [
            arrivals_along(flow, route, np.where(dual & ahead, 0.0, delays))[places]
            for flow, route, ahead in zip(network.flows, routes, l4s, strict=True)
        ]
    )
    shares = point.numbers("share")[places].T
    shares = shares / np.sum(waits * shares, axis=0)
    return Ways(crosses, waits, forward * crosses, waits * delays[places], shares * crosses)
