"""What the classes of a network send: windows, and what they hear from the ends of their ways."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from pi2_fluid.engines.fluid.acks.counts import Grid, count_at
from pi2_fluid.engines.fluid.acks.integration import cutting_at_rest
from pi2_fluid.engines.fluid.acks.routes.order import Way
from pi2_fluid.engines.fluid.acks.routes.passages import Feed
from pi2_fluid.engines.fluid.acks.streams import Sent, Stream
from pi2_fluid.engines.fluid.acks.windows import Window
from pi2_fluid.engines.fluid.blame import LAW_ERRORS
from pi2_fluid.errors import DomainError, ScenarioError, SolverError, UnsupportedError
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.bottlenecks import network_equilibrium
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.network import Network
from pi2_fluid.network.scenario import Scenario

#: A law of one's own may know no rest at all, in whatever words.
_NO_REST: Final = (DomainError, ScenarioError, SolverError, UnsupportedError, *LAW_ERRORS)


class Source(Stream):
    """A class, which sends as it hears from the last link of its way.

    Parameters
    ----------
    flows : Flows
        The class.
    times : Grid
        The instants of steps.
    window : Window, optional
        What decides how much is under way; None: packets are sent at a constant rate.
    rate : float
        Packets per second of one flow without window.
    before : float
        Packets per second of the class in the past.
    back : float
        Seconds from the last link to the source.
    """

    def __init__(
        self,
        flows: Flows,
        times: Grid,
        window: Window | None,
        rate: float,
        before: float,
        back: float,
    ) -> None:
        super().__init__(flows, times, window, rate, (before, 0.0, 0.0))
        self.back = back
        self.feed = Feed(self.sent, self.sent, self.given)

    def hear(self, last: Feed) -> None:
        """Listen to what leaves the last link."""
        self.left, self.borne = last.passed, last.signalled
        back = self.ago.place(self.times[-1] - self.back)
        self.acked, self.heard = count_at(self.left, back), count_at(self.borne, back)

    def step(self, t: float, dt: float, delay: float) -> Sent:
        """Send until `t`, for good or until it is taken back; `delay` is that of the queues (s)."""
        sent = self.advance(t, dt, 1.0, delay)
        self.sent.append(sent.packets)
        self.given.append(0.0)  # nobody signals at a source
        return sent

    def take_back(self) -> None:
        """Forget the last step."""
        self.sent.pop()
        self.given.pop()

    def settle(self, sent: Sent) -> None:
        """Take a step for good."""
        self.acked, self.heard, self.silence = sent.acked, sent.heard, sent.silence
        if self.window is not None and sent.moved is not None:
            self.window.keep(sent.moved)
            self.sizes.append(sent.moved.size)
        else:
            self.sizes.append(0.0)


def window_of(
    scenario: Scenario,
    i: int,
    sender: Sender,
    times: Grid,
    round_trips: tuple[float, float],
    begun: tuple[tuple[float, ...], float] | None,
) -> tuple[Window, float]:
    """Return the window of a class before time 0, and the packets per second that it sends then.

    Parameters
    ----------
    scenario : Scenario
        Whose class this is.
    i : int
        Its number.
    sender : Sender
        Its law.
    times : Grid
        The instants of steps.
    round_trips : tuple of float
        As reductions reckon with it, and as it is before time 0 (s).
    begun : tuple, optional
        The state of the law and the probability of a signal then, of a class that sends already.
    """
    flows = scenario.flows[i]
    usual, rtt = round_trips
    if begun is None:
        initial: Any = sender.initial(float(flows.initial_window))
        state = tuple(map(float, initial if isinstance(initial, tuple) else (initial,)))
        slow = bool(flows.slow_start) and sender.signal is not None
        return Window(sender, state, usual, 0.0, times, slow=slow), 0.0
    state, p = begun
    hearing = (state[0] / rtt, p * state[0] / rtt)
    cutting = cutting_at_rest(sender, state, *hearing, rtt)
    window = Window(sender, state, usual, cutting, times, slow=False, hearing=hearing)
    return window, float(flows.count) * state[0] / rtt


def usual_delays(network: Network, ways: tuple[Way, ...]) -> list[list[float]]:
    """Return how long each class waits at each link of its way as a rule (s), where reductions ask.

    As long as where the network rests. Where that is not known, as of dual queues, at the narrowest
    link of its way alone, as long as its law has packets wait there.
    """
    found: list[float] | None = None
    with suppress(*_NO_REST):
        delays = network_equilibrium(network).queue_delay.to_numpy()
        found = delays.reshape(len(network.nodes), -1)[:, 0].tolist()
    usual = [float(node.aqm.usual_delay) for node in network.nodes]
    capacity = [float(node.link.capacity) for node in network.nodes]

    def at(link: int, way: Way, *, l4s: bool) -> float:
        if l4s and network.nodes[link].aqm.bands > 1:
            return 0.0
        if found is not None:
            return found[link]
        return usual[link] * (link == min(way.links, key=lambda each: capacity[each]))

    return [
        [at(link, way, l4s=flow.sender.signal == "scalable") for link in way.links]
        for way, flow in zip(ways, network.flows, strict=True)
    ]
