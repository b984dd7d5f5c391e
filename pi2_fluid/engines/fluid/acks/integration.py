"""From a scenario to the counts of its packets, step by step, without a derivative.

Until t, class i has sent A_i, of which D_i has left the queue and K_i is acknowledged:

    A_i(t) = max(A_i before, K_i(t) + N_i W_i(t)),   K_i(t) = D_i(t - path_i),
    D(t) = min(A(t), D before + what the link could serve),   D_i(t) = A_i(u), with A(u) = D(t),

so that u is when what leaves at t came, and t - u how long it waited. A dual queue has two such
lines, which share the link as its law says of what each needs in a step. All of it is known at the
end of a step no longer than the shortest path: W_i moves with acknowledgements that have come.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from pi2_fluid.engines.fluid.acks.counts import Cursor, Grid, Place
from pi2_fluid.engines.fluid.acks.streams import Sent, Stream
from pi2_fluid.engines.fluid.acks.windows import Window
from pi2_fluid.engines.fluid.beginning import Beginning
from pi2_fluid.engines.fluid.blame import require_probability
from pi2_fluid.errors import QuantityError, ScenarioError, SolverError
from pi2_fluid.laws.seen import Seen
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.scenario import Scenario

PARTS: Final = 32  # of the shortest path: steps in which acknowledgements are on their way
LONGEST: Final = 1.25e-3  # s: with it the delay is right to some 1e-7 s where nothing empties
TOO_MANY_STEPS: Final = (
    "the trajectory needs more than {most} steps of at most {step:g} s: give a longer step, or a"
    " shorter duration."
)
MOST_KEPT: Final = 5_000_000  # steps, of each class and of the queue: some 2 GB, for all are kept
SAME: Final = 1e-12  # s: instants closer than this are one
TINY: Final = 1e-9  # packets, and seconds: what is no backlog, and no step worth splitting
CORNER: Final = 1e-3  # packets: how far off a corner of what is sent may lie inside a step
AGES: Final = 4.0  # longest delays that the past before time 0 reaches back


class Node(NamedTuple):
    """What is true at an instant, just after all that happens then."""

    t: float
    queue: tuple[float, ...]
    queue_delay: tuple[float, ...]
    controller: float
    capacity: float
    p: tuple[float, ...]


class _Trial(NamedTuple):
    """A step that may still be split."""

    t: float
    per_second: float
    sent: list[Sent]
    arrived: list[float]
    served: list[float]
    lost: list[float]
    split: float
    """The part of it after which something happens that it must end on; 1: nothing."""


def step_of(scenario: Scenario, step: float | None) -> float:
    """Return the longest step (s), if not given a 32nd of the shortest path, at most 1.25 ms.

    Raises
    ------
    QuantityError
        If the one given is longer than the shortest path.
    """
    paths = [float(f.base_rtt) for f in scenario.flows if f.sender.constant_rate is None]
    shortest = min(paths, default=math.inf)
    if step is None:
        return min(LONGEST, shortest / PARTS)
    if step >= shortest:
        raise QuantityError(
            f"step = {step:g} s is longer than the shortest path, {shortest:g} s, whose"
            f" acknowledgements a step must not outrun: give at most {shortest / 2.0:g} s."
        )
    return step


class Fifo:
    """One queue, first in, first out: what has arrived at it, and what has left it."""

    def __init__(self, times: Grid, streams: list[Stream]) -> None:
        self.times, self.streams = times, streams
        self.arrived = [sum(s.sent[k] for s in streams) for k in (0, 1)]
        self.served = [sum(s.left[k] for s in streams) for k in (0, 1)]
        self.entry = Cursor(self.arrived)
        self.delay = 0.0
        #: Packets that found no room. They are acknowledged where they would have been, by those
        #: that came before and after them.
        self.lost = 0.0

    @property
    def queue(self) -> float:
        """Packets that wait."""
        return max(0.0, self.arrived[-1] - self.served[-1])

    def keep(self, arrived: float, served: float, lost: float) -> Place:
        """Take a step for good, and return where what leaves at its end had come."""
        arrived -= lost
        self.lost += lost
        self.arrived.append(arrived)
        self.served.append(served)
        entered, times = self.entry.place(served), self.times
        width = times[entered.cell + 1] - times[entered.cell]
        came = times[entered.cell] + entered.part * width
        self.delay = times[-1] - came if arrived - served > TINY else 0.0
        return entered


class Integrator:
    """One trajectory by acknowledgements, in steps of order 2.

    Parameters
    ----------
    scenario : Scenario
        In which no number of flows changes.
    step : float
        Longest step (s).
    beginning : Beginning, optional
        The state before time 0.
    copied : tuple
        Of each class: with whose window it begins, or None.
    """

    def __init__(
        self,
        scenario: Scenario,
        step: float,
        beginning: Beginning | None,
        copied: tuple[int | None, ...] = (),
    ) -> None:
        self.copied = copied
        self.scenario, self.step, self.aqm = scenario, step, scenario.aqm
        self.bits = 8.0 * float(scenario.link.packet_size)
        self.capacity = float(scenario.link.capacity) / self.bits
        self.buffer = float(scenario.link.buffer)
        self.at_dequeue = self.aqm.signals_at == "dequeue"
        self.state: tuple[Any, ...] = tuple(map(float, self.aqm.initial()))
        if beginning is not None:
            self.state = beginning.controller
        self.waited = waited = _waited(scenario, beginning)
        paths = [float(flow.base_rtt) for flow in scenario.flows]
        past = AGES * (1.0 + waited + max(paths))
        self.times = Grid(past)
        self.senders = [f.sender.on_link(scenario.link.packet_size) for f in scenario.flows]
        thins = self.aqm.thins
        #: Which signal a class sees, drops of what is thinned included.
        self.kinds = [("classic" if thins and s.thinned else s.signal) for s in self.senders]
        #: Which line a class waits in: of two, scalable senders in the second.
        self.band = bands_of(scenario)
        waits = (waited, 0.0)[: self.aqm.bands]
        self.p = self._signals(waits, waited * self.capacity, 0.0)
        self.streams = [self._stream(i, waits[band], beginning) for i, band in enumerate(self.band)]
        self.lines = [
            Fifo(self.times, [s for s, b in zip(self.streams, self.band, strict=True) if b == k])
            for k in range(self.aqm.bands)
        ]
        self.lines[0].delay = waited
        self.nodes = [self._node()]

    def _stream(self, i: int, waited: float, beginning: Beginning | None) -> Stream:
        flows, sender = self.scenario.flows[i], self.senders[i]
        if sender.constant_rate is not None:
            rate = float(sender.sending_rate(sender.initial(1.0), 1.0))
            before = rate * float(flows.count) if is_present(self.scenario, i, beginning) else 0.0
            return Stream(flows, self.times, None, rate, (before * self._kept(i), waited, 0.0))
        path = float(flows.base_rtt)
        there = is_present(self.scenario, i, beginning)
        if there and beginning is not None:
            state, p, rtt = beginning.senders[i], self.p[i], path + waited
            before = float(flows.count) * state[0] / rtt
            hearing = (state[0] / rtt, p * state[0] / rtt)
            cutting = cutting_at_rest(sender, state, *hearing, rtt)
        else:
            initial = sender.initial(float(flows.initial_window))
            state = tuple(map(float, initial if isinstance(initial, tuple) else (initial,)))
            before, cutting, p, hearing = 0.0, 0.0, 0.0, (0.0, 0.0)
        # A reduction reckons with the queue delay that there is as a rule.
        rest = path + (float(self.aqm.usual_delay) if self.band[i] == 0 else 0.0)
        slow = bool(flows.slow_start) and sender.signal is not None and not there
        window = Window(sender, state, rest, cutting, self.times, slow=slow, hearing=hearing)
        return Stream(flows, self.times, window, 0.0, (before, waited, p))

    def _kept(self, i: int) -> float:
        if not (self.aqm.thins and self.senders[i].thinned):
            return 1.0
        return 1.0 - float(self.aqm.encode(self.aqm.controller(self.state)).classic)

    def _signals(self, delays: tuple[float, ...], queue: float, rate: float) -> list[float]:
        seen = Seen(delays if len(delays) > 1 else delays[0], queue, rate, self.capacity)
        signals = self.aqm.signals(self.state, seen)
        require_probability(self.aqm, self.times[-1], self.state, signals)
        return [float(getattr(signals, kind)) if kind else 0.0 for kind in self.kinds]

    # In time

    def run(self, progress: Callable[[float, float], None] | None = None) -> None:
        """Follow the scenario to its end."""
        end, reported = float(self.scenario.duration), -1
        capacity = {
            float(change.at): float(change.capacity) / self.bits
            for change in self.scenario.changes
            if change.capacity is not None
        }
        ticking = self.aqm.update_interval
        assert ticking is not None, "what has no ticks has been refused"
        interval = float(ticking)
        for at, ticks in _instants(self, capacity, interval):
            self._reach(at)
            for stream, other in zip(self.streams, self.copied, strict=False):
                if other is not None and abs(stream.start - at) <= SAME:
                    stream.copy(self.streams[other])
            for when in list(capacity):
                if when <= at + SAME:
                    self.capacity = capacity.pop(when)
            if ticks:
                self._tick(interval)
            self.nodes[-1] = self._node()
            part = int(100 * at / end)
            if progress is not None and part > reported:
                progress(at, end)
                reported = part

    def _reach(self, at: float) -> None:
        """Go to an instant, before which nothing happens that is known beforehand."""
        steps, dt = 0, 0.0
        while (left := at - self.times[-1]) > SAME:
            if steps <= 1:  # at first, after a step that was split, and for what rounding leaves
                steps = max(1, math.ceil(left / self.step - 1e-9))
                dt = left / steps
            else:
                steps -= 1
            trial = self._try(dt)
            least = TINY / dt
            if least < trial.split < 1.0 - least:
                trial, steps = self._try(trial.split * dt), 0
            self._keep(trial)
            most = MOST_KEPT // (1 + len(self.streams))
            if len(self.times) > most:
                raise SolverError(TOO_MANY_STEPS.format(most=most, step=self.step))

    def _try(self, dt: float) -> _Trial:
        t = self.times[-1] + dt
        sent = [
            stream.advance(t, dt, self._kept(i), self.lines[band].delay)
            for i, (stream, band) in enumerate(zip(self.streams, self.band, strict=True))
        ]
        arrived = [
            sum(s.packets for s, b in zip(sent, self.band, strict=True) if b == k) - line.lost
            for k, line in enumerate(self.lines)
        ]
        served, split = [], 1.0
        for k, line in enumerate(self.lines):
            could = line.served[-1] + self._service(k, arrived, dt)
            served.append(min(arrived[k], could))
            if line.queue > CORNER and arrived[k] - could < -CORNER:
                split = min(split, line.queue / (line.queue + could - arrived[k]))
        for stream, after in zip(self.streams, sent, strict=True):
            window = stream.window
            if window is not None and window.slow and after.moved and after.moved.expected > 1.0:
                before = window.now.expected
                split = min(split, (1.0 - before) / (after.moved.expected - before))
            if stream.silence > CORNER and after.silence < -CORNER:
                split = min(split, stream.silence / (stream.silence - after.silence))
        lost = [0.0] * len(self.lines)
        over = sum(arrived) - sum(served) - self.buffer
        if over > 0.0:
            room = self.buffer - self._queue()
            if room > CORNER and over > CORNER:
                split = min(split, room / (room + over))
            lost = self._overflow(over, arrived, served)
        return _Trial(t, 1.0 / dt, sent, arrived, served, lost, split)

    def _overflow(self, over: float, arrived: list[float], served: list[float]) -> list[float]:
        """Return which packets of a step find no room: of those that came in it, and would wait."""
        late = [
            min(a - s, a - line.arrived[-1])
            for a, s, line in zip(arrived, served, self.lines, strict=True)
        ]
        part = min(1.0, over / sum(late)) if sum(late) > 0.0 else 0.0
        return [part * packets for packets in late]

    def _service(self, k: int, arrived: list[float], dt: float) -> float:
        """Return how many packets of a line the link could serve in a step."""
        if len(self.lines) == 1:
            return self.capacity * dt
        needs = [a - line.served[-1] for a, line in zip(arrived, self.lines, strict=True)]
        backlogged = [j == k for j in range(len(self.lines))]
        return float(self.aqm.serve(backlogged, [n / dt for n in needs], self.capacity)[k]) * dt

    def _keep(self, trial: _Trial) -> None:
        self.times.grow(trial.t, trial.per_second)
        room = self.buffer - (sum(trial.arrived) - sum(trial.served) - sum(trial.lost))
        for stream, sent, p in zip(self.streams, trial.sent, self.p, strict=True):
            stream.keep(sent, p)
            window = stream.window
            if window is None or not window.slow:
                continue
            full = room < CORNER and stream.start <= trial.t
            if full or window.now.expected >= 1.0 - TINY:
                window.leave_slow_start()
        steps = zip(self.lines, trial.arrived, trial.served, trial.lost, strict=True)
        entered = [line.keep(a, served, lost) for line, a, served, lost in steps]
        if len(self.lines) > 1:  # L4S packets are marked by their own delay, too
            self.p = self._signals(self._delays(), self._queue(), 0.0)
        for stream, band, p in zip(self.streams, self.band, self.p, strict=True):
            stream.serve(entered[band], p, at_dequeue=self.at_dequeue)
        self.nodes.append(self._node())

    def _queue(self) -> float:
        return sum(line.queue for line in self.lines)

    def _delays(self) -> tuple[float, ...]:
        return tuple(line.delay for line in self.lines)

    def _tick(self, interval: float) -> None:
        queue, dt = self._queue(), self.times[-1] - self.times[-2]
        rate = sum(line.arrived[-1] - line.arrived[-2] for line in self.lines) / dt
        delays = self._delays()
        if self.aqm.measures != "head":
            delays = tuple(line.queue / self.capacity for line in self.lines)
        seen = Seen(delays if len(delays) > 1 else delays[0], queue, rate, self.capacity)
        state = self.aqm.saturate(self.aqm.update(self.state, seen, interval))
        self.state = tuple(map(float, state))
        self.p = self._signals(self._delays(), queue, rate)

    def _node(self) -> Node:
        return Node(
            self.times[-1],
            tuple(line.queue for line in self.lines),
            self._delays(),
            float(self.aqm.controller(self.state)),
            self.capacity,
            tuple(self.p),
        )


def _instants(
    run: Integrator, capacity: dict[float, float], interval: float
) -> Iterator[tuple[float, bool]]:
    """Yield every instant at which something happens, and whether the controller ticks then."""
    end = float(run.scenario.duration)
    ticks = [k * interval for k in range(1, int(end / interval * (1.0 + SAME)) + 1)]
    others = [*capacity, *(at for stream in run.streams for at in stream.instants()), end]
    found = sorted([(at, True) for at in ticks] + [(at, False) for at in others if 0.0 < at <= end])
    before, ticked = 0.0, False
    for at, ticks_now in found:
        if at > before + SAME:
            if before > 0.0:
                yield before, ticked
            before, ticked = at, ticks_now
        else:
            ticked = ticked or ticks_now
    if before > 0.0:
        yield before, ticked


def bands_of(scenario: Scenario) -> tuple[int, ...]:
    """Return which line each class waits in: of two, scalable senders in the second."""
    two = scenario.aqm.bands == 2
    return tuple(int(two and flow.sender.signal == "scalable") for flow in scenario.flows)


def is_present(scenario: Scenario, i: int, beginning: Beginning | None) -> bool:
    """Return whether a class has sent before time 0."""
    return beginning is not None and scenario.flows[i].start == 0.0


def _waited(scenario: Scenario, beginning: Beginning | None) -> float:
    """Return how long packets have waited before time 0, all alike: the delay of that queue.

    Windows and queue fit together where the windows' packets that are not on their path are those
    that wait: a queue at rest does.
    """
    if beginning is None or beginning.queues[0] <= 0.0:
        return 0.0
    queue = beginning.queues[0]
    there = [
        i
        for i, band in enumerate(bands_of(scenario))
        if band == 0 and is_present(scenario, i, beginning)
    ]
    flights = [
        (float(flow.count) * beginning.senders[i][0], float(flow.base_rtt))
        for i, flow in enumerate(scenario.flows)
        if i in there and flow.sender.constant_rate is None
    ]
    steady = sum(
        float(scenario.flows[i].count)
        * float(scenario.flows[i].sender.on_link(scenario.link.packet_size).sending_rate(1.0, 1.0))
        for i in there
        if scenario.flows[i].sender.constant_rate is not None
    )

    def waiting(delay: float) -> float:
        return delay * (steady + sum(n / (path + delay) for n, path in flights))

    if not steady and queue >= sum(n for n, _ in flights):
        raise ScenarioError(
            f"initial queue = {queue:g} packets is not below what the windows have under way: give"
            " a shorter queue, or larger windows."
        )
    low, high = 0.0, 1.0
    while waiting(high) < queue:
        low, high = high, 2.0 * high
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in {low, high}:
            break
        low, high = (middle, high) if waiting(middle) < queue else (low, middle)
    return high


def cutting_at_rest(
    sender: Sender, state: tuple[float, ...], acks: float, marks: float, rtt: float
) -> float:
    """Return the segments per second that were cut in a past that goes on as it is."""
    if sender.reduction == "at once":
        return 0.0
    x: Any = state if len(state) > 1 else state[0]
    part = 1.0 / (1.0 + marks * rtt) if sender.pauses else 1.0
    return float(sender.acked(x, part * acks, part * marks, rtt)[1])
