"""The packets of one class: sent, left and marked, and what sends them."""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import NamedTuple

from pi2_fluid.engines.fluid.acks.counts import Cursor, Grid, Place, count_at
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


class Stream:
    """One class of flows; the counts are of all of them, in packets, at every node of the grid.

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
    past : tuple of float
        Packets per second in the past, the time (s) each waited, and the probability of a signal.
    """

    def __init__(
        self,
        flows: Flows,
        times: Grid,
        window: Window | None,
        rate: float,
        past: tuple[float, float, float],
    ) -> None:
        self.times, self.window, self.rate = times, window, rate
        self.per_flow = 1.0 / float(flows.count)
        self.number, self.path = float(flows.count), float(flows.base_rtt)
        #: Seconds from what `left` and `borne` count to the acknowledgement.
        self.back = self.path
        self.start, self.jitter = float(flows.start), float(flows.start_jitter)
        self.stop = _NEVER if flows.stop is None else float(flows.stop)
        before, waited, p = past
        self.before = before
        self.goes_on = before > 0.0
        self.sent = [before * t for t in times]
        self.left: MutableSequence[float] = [before * (t - waited) for t in times]
        #: Signals given to what has arrived, and to what has left.
        self.given = [p * count for count in self.sent]
        self.borne: MutableSequence[float] = [p * count for count in self.left]
        self.sizes = [window.now.size if window else 0.0] * len(times)
        self.silence = 0.0
        self.ago = Cursor(times)
        back = self.ago.place(times[-1] - self.back)
        self.acked, self.heard = count_at(self.left, back), count_at(self.borne, back)

    def copy(self, other: Stream) -> None:
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

    def advance(self, t: float, dt: float, kept: float, delay: float) -> Sent:
        """Return what it has sent at the end of a step.

        Parameters
        ----------
        t, dt : float
            The end of the step and its length (s).
        kept : float
            Part of what is sent at a constant rate that enters the queue.
        delay : float
            Queue delay (s).
        """
        middle = t - 0.5 * dt
        sends = self.start <= middle < self.stop
        if self.window is None:
            share = 0.5 * (self.begun(t - dt) + self.begun(t))
            packets = self.number * self.rate * share * kept * dt if sends else 0.0
            return Sent(self.sent[-1] + packets, 0.0, 0.0, 0.0, None)
        back = self.ago.place(t - self.back)
        acked, heard = count_at(self.left, back), count_at(self.borne, back)
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

    def keep(self, sent: Sent, p: float) -> None:
        """Take a step for good; what has been sent in it was signalled with probability `p`."""
        self.given.append(self.given[-1] + p * (sent.packets - self.sent[-1]))
        self.sent.append(sent.packets)
        self.acked, self.heard, self.silence = sent.acked, sent.heard, sent.silence
        if self.window is not None and sent.moved is not None:
            self.window.keep(sent.moved)
            self.sizes.append(sent.moved.size)
        else:
            self.sizes.append(0.0)

    def serve(self, entered: Place, p: float, *, at_dequeue: bool) -> None:
        """Let everything leave that entered until some place; `p` is the signal at the exit."""
        left = count_at(self.sent, entered)
        if at_dequeue:
            self.borne.append(self.borne[-1] + p * (left - self.left[-1]))
        else:
            self.borne.append(count_at(self.given, entered))
        self.left.append(left)
