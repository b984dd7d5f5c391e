"""Flow queueing: whose turn it is, who loses packets, and what a flow waits that sends little."""

from __future__ import annotations

import dataclasses
import math
from collections import deque

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid import _core
from pi2_fluid.engines.packet.laws import discipline_of

LINK = pf.Link("10Mbit/s")
MS = 1_000_000
NOT_ECT, ECT1, ECT0, CE = range(4)
SENT, DELIVERED, DROP_AQM, DROP_FULL, DROP_OVERLOAD, MARK_AQM, MARK_STEP = range(7)
WORD = 2**64 - 1
#: CoDel that never signals.
QUIET = {"target": "900s", "interval": "900s"}


def make(law, **queue):
    return _core.QueueDiscipline(*discipline_of(law, LINK), **queue)


def mix(x):
    """SplitMix64 once more, in Python's integers."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WORD
    return x ^ (x >> 31)


def bucket(flow, flows):
    """Return the queue of a flow where the key of the hash is 0."""
    return ((mix((2 * flow + 1) * 0x9E3779B97F4A7C15 & WORD) >> 32) * flows) >> 32


class Referee:
    """RFC 8290, section 4, in lists of Python: queues are made and found by their numbers."""

    def __init__(self, flows, quantum, limit, memory, batch):
        self.flows, self.quantum, self.limit, self.memory = flows, quantum, limit, memory
        self.batch = batch
        self.waiting, self.deficit = {}, {}
        self.new, self.old = deque(), deque()
        self.lost = 0

    def packets(self):
        return sum(map(len, self.waiting.values()))

    def bytes(self, number=None):
        queues = self.waiting.values() if number is None else [self.waiting[number]]
        return sum(size for queue in queues for _, size in queue)

    def enqueue(self, packet, size, flow):
        number = bucket(flow, self.flows)
        self.waiting.setdefault(number, deque()).append((packet, size))
        if number not in self.new and number not in self.old:
            self.new.append(number)
            self.deficit[number] = self.quantum
        taken = self.bytes() + 804 * self.packets()
        if self.packets() > self.limit or taken > self.memory:
            self.drop()

    def drop(self):
        number = min(self.waiting, key=lambda one: (-self.bytes(one), one))
        half, gone, lost = self.bytes(number) // 2, 0, 0
        while lost < self.batch and (lost == 0 or gone < half):
            gone += self.waiting[number].popleft()[1]
            lost += 1
        self.lost += lost

    def dequeue(self):
        while self.new or self.old:
            which = self.new or self.old
            number = which[0]
            if self.deficit[number] <= 0:
                self.deficit[number] += self.quantum
                which.popleft()
                self.old.append(number)
            elif self.waiting[number]:
                packet, size = self.waiting[number].popleft()
                self.deficit[number] -= size
                return packet
            else:
                which.popleft()
                if which is self.new and self.old:
                    self.old.append(number)
        return None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flows", "quantum", "limit", "memory", "batch", "load"),
    [
        (1024, 1500, 100_000, 2**31, 64, 0.5),
        (16, 256, 100_000, 2**31, 64, 0.8),
        (3, 4000, 60, 2**31, 64, 0.7),
        (1024, 300, 7, 2**31, 1, 0.6),
        (1, 1500, 1000, 30_000, 8, 0.7),
        (16, 1500, 150, 70_000, 64, 0.8),
    ],
)
def test_turns_and_losses_are_those_of_the_rfc(flows, quantum, limit, memory, batch, load):
    rng = np.random.default_rng(flows + quantum)
    law = pf.FqCodel(**QUIET, flows=flows, quantum=quantum, memory_limit=memory, drop_batch=batch)
    queue, referee = make(law, limit=limit), Referee(flows, quantum, limit, memory, batch)
    sent = 0
    for now in range(3000):
        if rng.random() < (load if now < 2000 else 0.1):
            size = int(rng.choice([66, 200, 1500], p=[0.2, 0.2, 0.6]))
            flow = int(rng.integers(12) ** 2 // 12)
            queue.enqueue(now, size, flow=flow)
            referee.enqueue(sent, size, flow)
            sent += 1
        else:
            taken = queue.dequeue(now)
            assert (None if taken is None else taken[0]) == referee.dequeue()
        assert (queue.packets, queue.bytes) == (referee.packets(), referee.bytes())
        assert queue.counts[DROP_FULL] == referee.lost
        assert queue.packets <= limit
    assert (referee.lost > 0) == (limit < 100_000)


@pytest.mark.slow
@pytest.mark.parametrize("ecn", [False, True])
@pytest.mark.parametrize("arithmetic", ["real", "fixed"])
@pytest.mark.parametrize("inner", [pf.CoDel, pf.Pie])
def test_with_one_queue_it_is_the_law_inside(inner, arithmetic, ecn):
    law = inner(arithmetic=arithmetic, ecn=ecn)
    flows = [pf.Flows(pf.Reno(), 4, "30ms"), pf.Flows(pf.Cubic(), 2, "70ms", ecn=True)]
    one = pf.Scenario("8s", pf.Link("10Mbit/s", "10000 packets"), law, flows)
    fair = {pf.CoDel: pf.FqCodel, pf.Pie: pf.FqPie}[inner]
    other = fair(arithmetic=arithmetic, ecn=ecn, flows=1)
    runs = pf.packet.simulate(one, seeds=2)
    found = pf.packet.simulate(dataclasses.replace(one, aqm=other), seeds=2)
    for name in set(runs) - {"controller", "p_aqm"}:
        np.testing.assert_array_equal(found[name], runs[name], err_msg=name)


def test_flows_share_queues_as_often_as_chance_has_it():
    """Of n balls in m bins a ball is alone with probability (1 - 1/m)^(n - 1)."""
    n, m = 20_000, 1024
    share = np.bincount([bucket(flow, m) for flow in range(n)], minlength=m)
    assert share.var() / share.mean() == pytest.approx(1.0, abs=0.15)  # Poisson: 1 +- 0.044
    lonely = np.mean([
        sum(one == 1 for one in np.bincount(numbers)) / 30
        for k in range(300)
        for numbers in [[bucket(30 * k + i, m) for i in range(30)]]
    ])  # fmt: skip
    assert lonely == pytest.approx((1 - 1 / m) ** 29, abs=0.01)


@pytest.mark.slow
def test_the_seed_decides_who_shares():
    """Two flows in two queues share one at half of the seeds, and there the flood takes all."""
    two = pf.Flows(pf.Reno(), 1, "20ms"), pf.Flows(pf.Cbr(bitrate="20Mbit/s"), 1, "20ms")
    law = pf.FqCodel(flows=2)
    one = pf.Scenario("2s", pf.Link("4Mbit/s", "10000 packets"), law, [*two])
    runs = pf.summarize(pf.packet.simulate(one, seeds=40), after="1s")
    ours = runs.throughput.isel(flows=0).values / 4e6
    alone = ours > 0.25
    assert 10 <= alone.sum() <= 30  # 99.9 % of all sets of 40 seeds
    assert np.all(ours[alone] > 0.45)
    assert np.all(ours[~alone] < 0.05)


@pytest.mark.parametrize("law", [pf.FqCodel(), pf.FqPie()], ids=["fq_codel", "fq_pie"])
@pytest.mark.parametrize("kind", ["wire", "htb"])
@pytest.mark.parametrize("cubic", [0, 4])
def test_a_flow_below_its_share_waits_for_one_packet(law, kind, cubic):
    """Its queue is always new: what is in service goes before it, and queues as new as it.

    Those are of flows that had nothing in the queue, and each sends less than two packets: a
    quantum, which is one, and what is left of the packet that exceeds it.
    """
    link = pf.Link("10Mbit/s", "10000 packets", kind=kind)
    slot = 8 * 1500 / 10e6
    thin = pf.Flows(pf.Cbr(bitrate="1.1Mbit/s"), 1, "20ms", name="thin", start="2s")
    load = [pf.Flows(pf.Cbr(bitrate="20Mbit/s"), 2, "20ms", name="flood")]
    load += [pf.Flows(pf.Cubic(), cubic, "20ms", name="cubic")] if cubic else []
    one = pf.Scenario("6s", link, law, [thin, *load])
    runs = pf.packet.simulate(one, seeds=3, trace=200_000)
    ours = ((runs.event_what == 1) & (runs.event_flow == 0)).values
    waits = 1e-9 * runs.event_waited.values[ours]
    assert waits.size > 900
    assert waits.max() <= slot * (1 + 2 * cubic) * (1 + 1e-9)
    assert waits.mean() < 0.7 * slot


@pytest.mark.slow
def test_flows_have_equal_shares_whatever_they_are():
    flows = [
        pf.Flows(pf.Reno(), 2, "20ms", name="reno"),
        pf.Flows(pf.Cubic(), 2, "90ms", name="cubic"),
        pf.Flows(pf.Dctcp(), 2, "20ms", name="dctcp"),
        pf.Flows(pf.Cbr(bitrate="9Mbit/s"), 1, "20ms", name="flood"),
    ]
    one = pf.Scenario("25s", pf.Link("40Mbit/s", "10000 packets"), pf.FqCodel(), flows)
    found = pf.summarize(pf.packet.simulate(one, seeds=2), after="5s")
    each = found.throughput / np.array([2, 2, 2, 1]) / 1e6
    np.testing.assert_allclose(each, 40 / 7, rtol=0.08)
    assert np.all(found.jain > 0.995)


@pytest.mark.parametrize("selector", ["any", "ect1"])
def test_what_has_waited_beyond_the_step_is_marked(selector):
    law = pf.FqCodel(**QUIET, ce_threshold="1ms", ce_threshold_selector=selector)
    queue = make(law)
    for flow, ecn in enumerate((NOT_ECT, ECT1, ECT0, CE)):
        queue.enqueue(0, ecn=ecn, flow=flow)
        queue.enqueue(0, ecn=ecn, flow=flow)
    early = [queue.dequeue(MS)[1] for _ in range(4)]
    assert early == [NOT_ECT, ECT1, ECT0, CE]  # not longer than the step
    late = [queue.dequeue(MS + 1)[1] for _ in range(4)]
    assert late == [NOT_ECT, CE, CE if selector == "any" else ECT0, CE]
    assert queue.counts[MARK_STEP] == (2 if selector == "any" else 1)
    assert queue.counts[DROP_AQM] == queue.counts[MARK_AQM] == 0


def test_the_longest_queue_signals_faster_for_what_it_lost():
    """Linux's CoDel counts packets that made room among its signals."""
    law = pf.FqCodel(target="1ms", interval="10ms", ecn=False, drop_batch=10)
    gaps = []
    for limit in (100_000, 300):
        queue = make(law, limit=limit)
        dropped, now = [], 0
        for _ in range(4000):
            for _ in range(2):
                queue.enqueue(now)
            before = queue.counts[DROP_AQM]
            queue.dequeue(now)
            dropped += [now] * (queue.counts[DROP_AQM] - before)
            now += MS // 10
        gaps.append(len(dropped))
    assert gaps[1] > 2 * gaps[0]


def test_pie_loses_what_finds_all_full():
    """Nobody makes room, however little it has itself."""
    queue = make(pf.FqPie(), limit=5)
    for _ in range(5):
        queue.enqueue(0, flow=1)
    queue.enqueue(0, bytes=66, flow=2)
    assert (queue.packets, queue.counts[DROP_FULL]) == (5, 1)
    assert [queue.dequeue(MS)[0] for _ in range(5)] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("fields", "error", "sentence"),
    [
        ({"flows": 0}, pf.DomainError, "FqCodel flows = 0 is outside [1, 65536]"),
        ({"flows": 1.5}, pf.DomainError, "FqCodel flows = 1.5 is no whole number"),
        ({"quantum": "300.5B"}, pf.DomainError, "FqCodel quantum = 300.5 is no whole number"),
        ({"quantum": "100B"}, pf.DomainError, "FqCodel quantum = '100B' is outside [256,"),
        ({"drop_batch": 2.5}, pf.DomainError, "FqCodel drop_batch = 2.5 is no whole number"),
        ({"interval": "1us"}, pf.DomainError, "CoDel interval = 1e-06 is shorter than 10 us"),
        ({"flows": [1, 2]}, pf.UnsupportedError, "FqCodel flows is an array of shape (2,)"),
        ({"ce_threshold_selector": "ect0"}, pf.QuantityError, "ce_threshold_selector = 'ect0'"),
        ({"memory_limit": math.nan}, pf.QuantityError, "FqCodel memory_limit = nan"),
    ],
)
def test_bad_numbers_are_refused_by_name(fields, error, sentence):
    with refused(error, sentence):
        make(pf.FqCodel(**fields))


@pytest.mark.parametrize("law", [pf.FqCodel(), pf.FqPie()], ids=["fq_codel", "fq_pie"])
def test_the_fluid_says_what_runs_it(law):
    one = pf.Scenario("1s", LINK, law, pf.Flows(pf.Reno(), 1, "20ms"))
    assert "use Packets(), or Linux()" in pf.Fluid().obstacle(one)
    with refused(pf.UnsupportedError, "a queue for each flow", match=type(law).__name__):
        pf.Loop(pf.Reno(), law, rtt="100ms", p=0.01)
