"""One link: its queues, and the law that signals what goes through them."""

from __future__ import annotations

from typing import Any, Final

from pi2_fluid.engines.fluid.acks.counts import Cursor, Grid, Place
from pi2_fluid.engines.fluid.acks.passages import Passage
from pi2_fluid.engines.fluid.blame import require_probability
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.seen import Seen

TINY: Final = 1e-9  # packets, and seconds: what is no backlog, and no step worth splitting
CORNER: Final = 1e-3  # packets: how far off a corner of what is sent may lie inside a step


class Line:
    """One queue of a link, first in, first out; all counts are of packets that are really there."""

    def __init__(self, times: Grid, passages: list[Passage], waited: float) -> None:
        self.times, self.passages = times, passages
        self.arrived = [sum(p.real[k] for p in passages) for k in (0, 1)]
        self.served = [sum(p.out.real[k] for p in passages) for k in (0, 1)]
        self.entry = Cursor(self.arrived)
        self.delays = [waited, waited]

    @property
    def queue(self) -> float:
        """Packets that wait."""
        return max(0.0, self.arrived[-1] - self.served[-1])

    def entered(self, served: float) -> Place:
        """Serve until `served` at the last node; return where what leaves then had come."""
        self.served.append(served)
        place, times = self.entry.place(served), self.times
        came = times[place.cell] + place.part * (times[place.cell + 1] - times[place.cell])
        waits = self.arrived[-1] - served > TINY
        self.delays.append(times[-1] - came if waits else 0.0)
        return place

    def take_back(self) -> None:
        """Forget the last step."""
        for counts in (self.arrived, self.served, self.delays):
            counts.pop()
        for passage in self.passages:
            passage.take_back()


class Link:
    """One link with its queues; a dual one has two, its Classic one first.

    Parameters
    ----------
    aqm : Aqm
        Its law.
    capacity, buffer : float
        Packets per second, and packets.
    state : tuple of float
        Of the law.
    lines : list of Line
        Its queues.
    kinds : list of str or None
        Of each class of the network: which signal it sees here.
    p : tuple of float
        With what probability it signals each class of the network.
    """

    def __init__(
        self,
        aqm: Aqm,
        capacity: float,
        buffer: float,
        state: tuple[Any, ...],
        lines: list[Line],
        kinds: list[str | None],
        p: tuple[float, ...],
    ) -> None:
        self.aqm, self.capacity, self.buffer, self.state = aqm, capacity, buffer, state
        self.lines, self.kinds, self.p = lines, kinds, p
        self.at_dequeue = aqm.signals_at == "dequeue"
        self.p_before = p

    @property
    def queue(self) -> float:
        """Packets that wait in all its queues."""
        return sum([line.queue for line in self.lines])

    @property
    def delays(self) -> tuple[float, ...]:
        """Seconds that what leaves each queue has waited."""
        return tuple([line.delays[-1] for line in self.lines])

    def step(self, t: float, dt: float) -> float:
        """Let packets come, wait and leave until `t`.

        Returns the part of the step after which something happens that it must end on; 1: nothing.
        """
        split, before, self.p_before = 1.0, self.queue, self.p
        arrived = [
            sum([passage.arrive(t, self.p[passage.owner]) for passage in line.passages])
            for line in self.lines
        ]
        served = []
        for k, line in enumerate(self.lines):
            could = line.served[-1] + self._service(k, arrived, dt)
            served.append(min(arrived[k], could))
            if line.queue > CORNER and arrived[k] - could < -CORNER:
                split = min(split, line.queue / (line.queue + could - arrived[k]))
        over = sum(arrived) - sum(served) - self.buffer
        if over > 0.0:
            room = self.buffer - before
            if room > CORNER and over > CORNER:
                split = min(split, room / (room + over))
            self._overflow(over, arrived, served)
        places = []
        for line, count, done in zip(self.lines, arrived, served, strict=True):
            line.arrived.append(count)
            places.append(line.entered(done))
        if len(self.lines) > 1:  # L4S packets are marked by their own delay, too
            self.p = signals(self.aqm, self.state, self._seen(0.0), self.kinds, t)
        for line, place in zip(self.lines, places, strict=True):
            for passage in line.passages:
                passage.leave(place, self.p[passage.owner], at_dequeue=self.at_dequeue)
        return split

    def _service(self, k: int, arrived: list[float], dt: float) -> float:
        """Return how many packets of a line the link could serve in a step."""
        if len(self.lines) == 1:
            return self.capacity * dt
        needs = [a - line.served[-1] for a, line in zip(arrived, self.lines, strict=True)]
        backlogged = [j == k for j in range(len(self.lines))]
        return float(self.aqm.serve(backlogged, [n / dt for n in needs], self.capacity)[k]) * dt

    def _overflow(self, over: float, arrived: list[float], served: list[float]) -> None:
        """Lose what came in this step and finds no room: of each line as much as would wait."""
        late = [
            min(a - s, a - line.arrived[-1])
            for a, s, line in zip(arrived, served, self.lines, strict=True)
        ]
        part = min(1.0, over / sum(late)) if sum(late) > 0.0 else 0.0
        for k, line in enumerate(self.lines):
            came = arrived[k] - line.arrived[-1]
            for passage in line.passages:
                passage.lose(part * late[k] / came if came > 0.0 else 0.0)
            arrived[k] -= part * late[k]

    def take_back(self) -> None:
        """Forget the last step."""
        self.p = self.p_before
        for line in self.lines:
            line.take_back()

    def is_full(self) -> bool:
        """Return whether hardly anything more finds room."""
        return self.buffer - self.queue < CORNER

    def tick(self, times: Grid, interval: float) -> None:
        """Update the controller."""
        dt = times[-1] - times[-2]
        rate = sum(line.arrived[-1] - line.arrived[-2] for line in self.lines) / dt
        delays = self.delays
        if self.aqm.measures != "head":
            delays = tuple(line.queue / self.capacity for line in self.lines)
        seen = Seen(delays if len(delays) > 1 else delays[0], self.queue, rate, self.capacity)
        state = self.aqm.saturate(self.aqm.update(self.state, seen, interval))
        self.state = tuple(map(float, state))
        self.p = signals(self.aqm, self.state, self._seen(rate), self.kinds, times[-1])

    def _seen(self, rate: float) -> Seen:
        delays = self.delays
        return Seen(delays if len(delays) > 1 else delays[0], self.queue, rate, self.capacity)


def signals(
    aqm: Aqm, state: tuple[Any, ...], seen: Seen, kinds: list[str | None], t: float
) -> tuple[float, ...]:
    """Return with what probability a law signals each class.

    Raises
    ------
    DomainError
        If one is no probability.
    """
    found = aqm.signals(state, seen)
    require_probability(aqm, t, state, found)
    return tuple([float(getattr(found, kind)) if kind else 0.0 for kind in kinds])
