"""One flow as a chain, against the same flow packet by packet under a p that swings."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

import numpy as np
import pytest

from pi2_fluid.loop.acks.chain import Chain, Law, Rules

P_OF = Callable[[float], float]
DEPTH, EVERY, SETTLED = 0.4, 0.25, 50.0


class Flow:
    """Reno over a path of one round trip without a queue, in whole segments.

    It hears a mark with the acknowledgement, a loss `noticed` later than that was due. Reductions
    are RFC 6937's; written from the RFC and from no rate of the chain.
    """

    def __init__(self, law: Law, p_of: P_OF, rng: np.random.Generator, window: int) -> None:
        self.law, self.p_of, self.rng = law, p_of, rng
        self.events: list[tuple[float, int, bool]] = []  # when, number, whether it arrived
        self.window, self.counter, self.number = window, 0, 0
        self.unheard = self.under_way = 0  # as the sender counts, and as they are
        self.reducing, self.high, self.before, self.target = False, 0, 0, 0
        self.delivered = self.sent = 0
        for k in range(window):
            self.send(k / window - 1.0)

    def send(self, now: float) -> None:
        """Send one packet, which may be lost at once."""
        self.number += 1
        self.unheard += 1
        late = self.law.noticed
        lost = late is not None and self.rng.random() < self.p_of(now)
        self.under_way += not lost
        due = now + 1.0 + (late if lost and late is not None else 0.0)
        heapq.heappush(self.events, (due, self.number, not lost))

    def hear(self) -> float:
        """Take up what comes next, and return when that was."""
        now, number, arrived = heapq.heappop(self.events)
        self.unheard -= 1
        self.under_way -= arrived
        marked = self.law.noticed is None and self.rng.random() < self.p_of(now)
        if self.reducing and number > self.high:
            self.reducing, self.window, self.counter = False, self.target, 0
        if not self.reducing and (marked or not arrived):
            self.reducing, self.high, self.before = True, self.number, self.window
            self.target = max(int(self.window * (1.0 - self.law.decrease) + 1e-6), 2)
            self.delivered = self.sent = 0
        if not self.reducing:
            self.counter += 1
            if self.counter >= self.window:
                self.counter, self.window = 0, self.window + 1
            room = self.window - self.unheard
        else:
            self.delivered = max(self.delivered + arrived, 1)
            part = math.ceil(self.target * self.delivered / self.before) - self.sent
            room = part if self.unheard > self.target else self.target - self.unheard
            self.sent += max(room, 0)
        for _ in range(room):
            self.send(now)
        return now

    def run(self, end: float) -> list[int]:
        """Return what is under way, over time."""
        rows: list[int] = []
        while (now := self.events[0][0]) < end:
            while len(rows) * EVERY <= now:
                rows.append(self.under_way)
            self.hear()
        return rows


def simulated(
    law: Law, p: float, angle: float, window: int, flows: int = 80, end: float = 400.0
) -> tuple[complex, float]:
    """Return dln(flight)/dln(p as it is heard), and the mean flight, of many flows."""
    early = 0.0 if law.noticed is None else 1.0  # what is lost is heard of a round trip later

    def p_of(now: float) -> float:
        return p * (1.0 + DEPTH * math.sin(angle * (now + early)))

    rows = [
        Flow(law, p_of, np.random.default_rng([7, k]), window).run(end)[: int(end / EVERY) - 8]
        for k in range(flows)
    ]
    total = np.sum(rows, axis=0) / flows
    time = EVERY * np.arange(total.size)
    turn = 2.0 * np.pi / angle
    last = SETTLED + turn * int((time[-1] - SETTLED) / turn)
    kept = (time >= SETTLED) & (time < last)
    mean = float(total[kept].mean())
    swing = total[kept] / mean - 1.0
    return complex(2j * np.mean(swing * np.exp(-1j * angle * time[kept])) / DEPTH), mean


@pytest.mark.slow
@pytest.mark.parametrize(
    "law", [Law(), Law(decrease=0.3), Law(noticed=0.3), Law(decrease=0.3, noticed=0.2)], ids=str
)
def test_packets_of_one_flow_answer_alike(law: Law) -> None:
    """Within 10 % and 6 degrees: chance of 80 flows is 4 %, and they gather in bursts."""
    window, angle = 8, 0.4
    chain = Chain(float(window), Rules(), law)
    found, mean = simulated(law, chain.p, angle, window)
    assert mean == pytest.approx(chain.flight(chain.p), rel=0.06)  # a swing of 0.4 adds 3 %
    expected = complex(chain.answer_in_flight(np.array([angle]))[0])
    assert abs(found) == pytest.approx(abs(expected), rel=0.1)
    assert np.angle(found / expected) == pytest.approx(0.0, abs=math.radians(6.0))


@pytest.mark.slow
def test_recovery_is_what_makes_losses_differ() -> None:
    """At high frequencies the packet that is lost, early, works against the cut that comes late."""
    law, angles = Law(noticed=0.3), np.array([1.0])
    chain = Chain(8.0, Rules(), law)
    found, _ = simulated(law, chain.p, 1.0, 8)
    lost = complex(chain.answer_in_flight(angles)[0])
    marked = complex(Chain(8.0, Rules()).answer_in_flight(angles)[0])
    assert abs(found) == pytest.approx(abs(lost), rel=0.15)
    assert abs(marked) > 1.25 * abs(found)
