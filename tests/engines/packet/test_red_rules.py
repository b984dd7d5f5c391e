"""RED's queue discipline beside its rules, written out in Python, on random laws and packets.

The rules are those of Floyd and Jacobson (1993), Floyd, Gummadi and Shenker (2001) and tc-red(8):
below `min` nothing is signalled, between both some, evenly spaced, from `max` on everything. What
is signalled is marked if it asks for it, and dropped otherwise, from `max` on always if `harddrop`
says so. What cannot be marked passes with `nodrop`, and is not marked. A second ramp judges what
can be marked by the same average, and spaces its signals by itself. What finds no room is dropped:
in Linux's queue none in bytes, below which a fifo lies.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid import _core
from pi2_fluid.engines.packet.laws import discipline_of
from pi2_fluid.laws.aqms.red import Red
from pi2_fluid.network.link import Link

SIZE, CAPACITY = 1000, 1e9  # bytes; bit/s, of the bench
DEQUEUE, ENQUEUE, TICK = range(3)
SENT, MARKED, COUNT = 0, 4, 9
NOT_ECT = 0
AQM, FULL, OVERLOAD = "aqm", "full", "overload"
CAUSES = dict(enumerate([AQM, FULL, OVERLOAD], start=2))  # as the kernel numbers them
WORD = 2**32
PERCENT = round(WORD / 100)


class Average:
    """In real numbers, and packets; the profile and how signals are spaced."""

    def __init__(self, law: Red, draws) -> None:
        self.law, self.draws = law, draws
        self.average, self.max_p = 0.0, float(law.max_p)
        self.count, self.reach = -1, 0.0
        self.second = self.count, self.reach

    def see(self, backlog: int) -> None:
        self.average += self.law.weight * (backlog / SIZE - self.average)

    def idle(self, ns: float) -> None:
        packets = ns / (8e9 * SIZE / CAPACITY)
        keep = 1.0 - self.law.weight
        self.average *= keep**packets if keep else 0.0

    def p(self) -> float:
        low, high = self.law.min, self.law.max
        if self.average < low:
            return 0.0
        if self.average < high:
            return self.max_p * (self.average - low) / (high - low)
        if self.law.gentle and self.average < 2 * high:
            return self.max_p + (1 - self.max_p) * (self.average - high) / high
        return 1.0

    def mark(self) -> float:
        """Return the second ramp."""
        low, high = self.law.mark_min, self.law.mark_max
        if low <= self.average < high:
            return self.law.mark_max_p * (self.average - low) / (high - low)
        return float(self.average >= high)

    def signal(self) -> str:
        """Nothing, "some" or "all"."""
        return self.space(self.p())

    def signal_second(self) -> str:
        """The same of the second ramp, whose counter is another."""
        first, self.count, self.reach = (self.count, self.reach), *self.second
        found = self.space(self.mark())
        self.second = self.count, self.reach
        self.count, self.reach = first
        return found

    def space(self, p: float) -> str:
        if p in (0.0, 1.0):
            self.count = -1
            return "all" if p else ""
        self.count += 1
        if self.law.spacing == "none":
            return "some" * (next(self.draws) / WORD < p)
        if self.count and self.count * p < self.reach:
            return ""
        self.reach = (self.law.spacing == "wait") + next(self.draws) / WORD
        if not self.count:
            return ""
        self.count = 0
        return "some"

    def adapt(self) -> None:
        low, high = self.law.min, self.law.max
        if self.average > low + 0.6 * (high - low) and self.max_p <= 0.5:
            self.max_p += min(0.01, self.max_p / 4)
        elif self.average < low + 0.4 * (high - low) and self.max_p >= 0.01:
            self.max_p *= 0.9


class Integers(Average):
    """In the kernel's integers: bytes in parts of the weight, probabilities in parts of 2^32."""

    def __init__(self, law: Red, draws) -> None:
        super().__init__(law, draws)
        self.shift = round(-math.log2(law.weight))
        self.low, self.high = (round(edge * SIZE) for edge in (law.min, law.max))
        self.span = max(self.high - self.low, 1)
        self.average, self.max_p, self.gap = 0, min(int(law.max_p * WORD), WORD - 1), 0

    def see(self, backlog: int) -> None:
        self.average += backlog - (self.average >> self.shift)

    def signal(self) -> str:
        above = self.average - (self.low << self.shift)
        if above < 0 or self.average >= self.high << self.shift:
            self.count = -1
            return "all" if above >= 0 else ""
        self.count += 1
        if self.count and (above >> self.shift) * self.count < self.gap:
            return ""
        self.gap = next(self.draws) // max(self.max_p // self.span, 1)
        if not self.count:
            return ""
        self.count = 0
        return "some"

    def adapt(self) -> None:
        mean, fifth = self.average >> self.shift, self.span // 5
        if mean > self.low + 3 * fifth and self.max_p <= 50 * PERCENT:
            self.max_p += min(PERCENT, self.max_p // 4)
        elif mean < self.low + 2 * fifth and self.max_p >= PERCENT:
            self.max_p = self.max_p // 10 * 9


def by_the_rules(law: Red, events, numbers, buffer: int):
    """What becomes of each packet: (marked, why it was dropped), and the count after each event."""
    kind = Integers if law.arithmetic == "fixed" else Average
    red = kind(law, iter(numbers.tolist()))
    waiting: list[int] = []
    full = buffer * SIZE

    def fits(size: int) -> bool:
        if law.arithmetic == "fixed":
            return sum(waiting) + size <= full
        return len(waiting) < buffer

    fates, counts, idle_since = [], [], None
    for now, what, size, ecn in events.tolist():
        if what == TICK:
            red.adapt()
        elif what == DEQUEUE and waiting:
            gone = waiting.pop(0)
            if law.idle_decay and not waiting:
                idle_since = now + int(8e9 * gone / CAPACITY)
        elif what == ENQUEUE:
            if idle_since is not None and now > idle_since:
                red.idle(now - idle_since)
            else:
                red.see(sum(waiting) if law.bytes else SIZE * len(waiting))
            idle_since, capable = None, law.ecn and ecn != NOT_ECT
            if capable and law.mark_min is not None:
                signal = red.signal_second() and "some"
                hard = law.harddrop and red.p() >= 1.0
            else:
                signal = red.signal()
                hard = law.harddrop and signal == "all"
            marked, why = False, ""
            if hard or (signal and not capable and not law.nodrop):
                why = OVERLOAD if capable else AQM
            elif not fits(size):
                why = FULL
            else:
                marked = bool(signal and capable)  # of a packet with CE, too, as Linux counts
                waiting.append(size)
            fates.append((marked, why))
        counts.append(red.count)
    return fates, counts


def by_the_discipline(law: Red, events, numbers, buffer: int):
    link = Link("8Mbit/s", f"{buffer} packets", f"{SIZE}B")
    answer = np.zeros((len(events), 13), np.int64)
    draws = numbers << np.uint64(32)
    parameters = discipline_of(law, link)[1]
    lost = _core.replay_queue("red", parameters, SIZE, buffer, None, events, draws, answer)
    arrived = answer[events[:, 1] == ENQUEUE]
    fates = [(bool(row[MARKED]), "") for row in arrived]
    for _, packet, cause in lost:
        fates[packet] = (False, CAUSES[cause])
    return fates, answer[:, COUNT].tolist()


def drawn(chance: np.random.Generator) -> Red:
    """A law of random parameters, Linux's integers or not."""
    fixed = bool(chance.integers(2))
    low = chance.integers(1, 6) if fixed else chance.uniform(0.2, 6.0)
    step = chance.random() < 0.25
    weight = 2.0 ** -chance.integers(0, 7) if chance.random() < 0.7 else chance.uniform(0.02, 1.0)
    if fixed:
        weight = 2.0 ** -chance.integers(0, 7)
    adaptive = bool(chance.integers(2))
    ecn, harddrop, gentle, idle = (bool(one) for one in chance.integers(0, 2, 4))
    nodrop, bytes_, second = (bool(one) for one in chance.integers(0, 2, 3))
    mark_low = float(chance.uniform(0.2, 6.0)) if second and ecn and not fixed else None
    return Red(
        min=float(low),
        max=float(low if step else low + chance.integers(1, 12)),
        max_p=float(chance.choice([0.02, 0.1, 0.5, 1.0])),
        weight=float(weight),
        gentle=gentle and not fixed,
        adaptive=adaptive,
        ecn=ecn,
        harddrop=harddrop,
        nodrop=nodrop and ecn,
        bytes=bytes_ or fixed,
        mark_min=mark_low,
        mark_max=None if mark_low is None else mark_low * float(chance.choice([1.0, 1.5, 4.0])),
        mark_max_p=None if mark_low is None else float(chance.choice([0.05, 0.5, 1.0])),
        arithmetic="fixed" if fixed else "real",
        idle_decay=idle and not fixed,  # whose table has a test of its own
        spacing="uniform" if fixed else str(chance.choice(["uniform", "wait", "none"])),
    )


def packets(chance: np.random.Generator, law: Red, count: int):
    """More arrivals than departures at first, then fewer; with ticks if it adapts."""
    busy = np.where(np.arange(count) < count // 2, 0.7, 0.45)
    what = np.where(chance.random(count) < busy, ENQUEUE, DEQUEUE)
    what[chance.random(count) < 0.05 * law.adaptive] = TICK
    times = np.cumsum(chance.integers(0, 20_000, count))
    sizes = chance.choice([SIZE, SIZE, 40, 600], count)
    return np.stack([times, what, sizes, chance.integers(0, 4, count)], axis=1).astype(np.int64)


@pytest.mark.parametrize("seed", range(80))
def test_the_discipline_keeps_the_rules(seed):
    chance = np.random.default_rng(seed)
    law = drawn(chance)
    events, buffer = packets(chance, law, 250), int(chance.integers(4, 40))
    numbers = chance.integers(0, WORD, len(events)).astype(np.uint64)
    theirs, ours = (run(law, events, numbers, buffer) for run in (by_the_rules, by_the_discipline))
    assert ours == theirs


def test_the_draws_cover_what_can_happen():
    found: set[tuple[bool, str]] = set()
    laws = []
    for seed in range(80):
        chance = np.random.default_rng(seed)
        law = drawn(chance)
        laws.append(law)
        numbers = chance.integers(0, WORD, 250).astype(np.uint64)
        found |= set(by_the_rules(law, packets(chance, law, 250), numbers, 20)[0])
    assert found == {(False, ""), (True, ""), (False, AQM), (False, FULL), (False, OVERLOAD)}
    assert sum(law.min == law.max for law in laws) >= 5
    assert sum(law.weight == 1.0 for law in laws) >= 3
    assert sum(law.mark_min is not None for law in laws) >= 3
    assert sum(law.nodrop for law in laws) >= 5
    assert sum(not law.bytes for law in laws) >= 5


@pytest.mark.parametrize("arithmetic", ["real", "fixed"])
@pytest.mark.parametrize("count", [1, 2])
def test_the_threshold_of_dctcp_keeps_the_queue_where_its_authors_say(arithmetic, count):
    """K + N packets at most, and a sawtooth of A = sqrt(2 N (C R + K))/2 below: (8) to (10) of
    Alizadeh et al. (2010), section 3.3, for flows in step: 60.9 packets on the average of two. Ours
    are not quite in step, and their first packet above K is on its way for a round-trip time."""
    threshold, rate, rtt = 65, 10e9, 100e-6
    law = Red(min=threshold, max=threshold, weight=1, gentle=False, ecn=True, arithmetic=arithmetic)
    scenario = pf.Scenario(
        link=pf.Link(rate, buffer=1000),
        aqm=law,
        flows=[pf.Flows(pf.Dctcp(), count, rtt)],
        duration="200ms",
    )
    found = pf.Packets().run(scenario)
    sawtooth = 0.5 * math.sqrt(2 * count * (rate * rtt / 12000 + threshold))
    expected = threshold + count - sawtooth / 2
    assert float(found.queue.sel(time=slice(0.05, None)).mean()) == pytest.approx(
        expected, rel=0.04
    )
    assert float(found.drops.sum()) == 0.0


@pytest.mark.slow
def test_the_threshold_of_dctcp_has_the_mean_of_its_authors_but_for_the_packet_in_service():
    """60.9 packets (Alizadeh et al. 2010), of K = 65, two flows, 10 Gbit/s and 100 us: ours are
    59.61, with a half interval of 0.04 at 95 % over ten seeds. Theirs is what is under way beyond
    C R, the packet in service with it; ours is what waits behind that. What is left, 0.3 packets,
    is what the two flows are not in step."""
    law = Red(min=65, max=65, weight=1, gentle=False, ecn=True)
    link, flows = pf.Link(10e9, buffer=1000), pf.Flows(pf.Dctcp(), 2, 100e-6)
    run = pf.Packets(seeds=10).run(pf.Scenario("200ms", link, law, flows))
    means = run.queue.sel(time=slice(0.05, None)).mean("time").to_numpy()
    half = 2.262 * means.std(ddof=1) / math.sqrt(10)  # Student's t, 9 degrees of freedom
    assert half < 0.1
    assert abs(means.mean() + 1.0 - 60.9) < 0.5  # under 1 %
    assert means.mean() + 1.0 + half < 60.9  # and it is not chance
