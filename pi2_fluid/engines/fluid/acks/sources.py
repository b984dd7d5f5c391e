"""What classes send: as their windows allow, which hear from the ends of their ways."""

from __future__ import annotations

from typing import NamedTuple

from pi2_fluid.engines.fluid.acks.counts import Cursor, Grid, count_at
from pi2_fluid.engines.fluid.acks.passages import Feed
from pi2_fluid.engines.fluid.acks.windows import Moved, Window
from pi2_fluid.network.flows import Flows

_NEVER = float("inf")


class Sent(NamedTuple):
    """What a class has done at the end of a step, before the queue has served it."""

    packets: float
    """Sent until then."""
    acked: float
    """Acknowledged until then."""
    heard: float
    """Signals heard until then."""
    silence: float
    """Packets that it has under way beyond its window, so that it waits for acknowledgements."""
    moved: Moved | None


class Source:
    """A class, which sends as it hears from the last link of its way.

    The counts are of all its flows, in packets, at every node of the grid.

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
        self.times, self.window, self.rate = times, window, rate
        self.per_flow = 1.0 / float(flows.count)
        self.number, self.path, self.back = float(flows.count), float(flows.base_rtt), back
        self.start, self.jitter = float(flows.start), float(flows.start_jitter)
        self.stop = _NEVER if flows.stop is None else float(flows.stop)
        self.before = before
        self.goes_on = before > 0.0
        self.sent = [before * t for t in times]
        self.unsignalled = [0.0] * len(times)
        self.sizes = [window.now.size if window else 0.0] * len(times)
        self.silence = 0.0
        self.ago = Cursor(times)
        self.feed = Feed(self.sent, self.sent, self.unsignalled)

    def hear(self, last: Feed) -> None:
        """Listen to what leaves the last link."""
        self.last = last
        self.acked, self.heard = self._heard(self.times[-1])

    def _heard(self, t: float) -> tuple[float, float]:
        """Return what is acknowledged until `t`, and the signals among it."""
        back = self.ago.place(t - self.back)
        return count_at(self.last.passed, back), count_at(self.last.signalled, back)

    def copy(self, other: Source) -> None:
        """Begin with the window that another class has now."""
        if self.window is not None and other.window is not None:
            self.window.copy(other.window)
            self.sizes[-1] = self.window.now.size

    def begun(self, t: float) -> float:
        """Return the part of the class's flight, or of its constant rate, that is built up at `t`.

        A window is built up evenly over one path, so that it is not sent as one burst.
        """
        since = t - self.start
        ramp = self.path if self.window is not None else self.jitter
        if self.goes_on and self.window is not None:
            return 1.0
        return min(1.0, max(0.0, since / ramp)) if ramp > 0.0 else float(since >= 0.0)

    def instants(self) -> list[float]:
        """Return when what it sends has a kink."""
        ramp = self.path if self.window is not None else self.jitter
        return [self.start, self.start + ramp, self.stop]

    def step(self, t: float, dt: float, delay: float) -> Sent:
        """Send until `t`, for good or until it is taken back; `delay` is that of the queues (s)."""
        sent = self._advance(t, dt, delay)
        self.sent.append(sent.packets)
        self.unsignalled.append(0.0)
        return sent

    def _advance(self, t: float, dt: float, delay: float) -> Sent:
        middle = t - 0.5 * dt
        sends = self.start <= middle < self.stop
        if self.window is None:
            share = 0.5 * (self.begun(t - dt) + self.begun(t))
            packets = self.number * self.rate * share * dt if sends else 0.0
            return Sent(self.sent[-1] + packets, 0.0, 0.0, 0.0, None)
        acked, heard = self._heard(t)
        if not sends:
            return Sent(self.sent[-1], acked, heard, 0.0, self.window.rest(dt))
        moved = self.window.move(
            t,
            dt,
            (acked - self.acked) * self.per_flow,
            (heard - self.heard) * self.per_flow,
            self.path + delay,
        )
        wanted = acked + self.number * self.begun(t) * moved.size
        return Sent(max(self.sent[-1], wanted), acked, heard, self.sent[-1] - wanted, moved)

    def take_back(self) -> None:
        """Forget the last step."""
        self.sent.pop()
        self.unsignalled.pop()

    def settle(self, sent: Sent) -> None:
        """Take a step for good."""
        self.acked, self.heard, self.silence = sent.acked, sent.heard, sent.silence
        if self.window is not None and sent.moved is not None:
            self.window.keep(sent.moved)
            self.sizes.append(sent.moved.size)
        else:
            self.sizes.append(0.0)
