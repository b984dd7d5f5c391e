"""The queue discipline of a price: what it counts, how it marks, and whom it spares."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid import _core
from pi2_fluid.engines.packet.laws import discipline_of

LINK = pf.Link("8Mbit/s", "40000 packets", packet_size="1000B")  # 1000 packets/s
MS = 1_000_000
NOT_ECT, ECT1, ECT0, CE = range(4)
SENT, DELIVERED, DROP_AQM, DROP_FULL, DROP_OVERLOAD, MARK_AQM, MARK_STEP = range(7)


def make(law: pf.Price, limit: int = 10**6) -> _core.QueueDiscipline:
    found = _core.QueueDiscipline(*discipline_of(law, LINK), mtu=1000, limit=limit)
    found.capacity = 8e6
    return found


def priced(law: pf.Price, packets: int = 500) -> tuple[_core.QueueDiscipline, float]:
    """Return an empty queue whose price has risen by so many packets, and its probability."""
    queue = make(law)
    for _ in range(packets):
        queue.enqueue(0, ecn=ECT1)
    while queue.dequeue(0, draws=[2**64 - 1]):
        pass
    queue.tick(5 * MS)
    return queue, queue.probe()[1]


def test_updates_are_those_of_the_law(rng: np.random.Generator) -> None:
    law = pf.Price(phi=7.0, utilization=0.8, update_interval="10ms")
    queue, state = make(law), (0.0, 0.0)
    now = queue.first_tick()
    assert now == 10 * MS
    for _ in range(60):
        count = int(rng.poisson(8))
        for _ in range(count):
            queue.enqueue(now - 1, bytes=1000)
        assert queue.tick(now) == now + 10 * MS
        now += 10 * MS
        seen = pf.Seen(0.0, 0.0, 0.0, queue.capacity / 8000.0)
        state = law.saturate(law.update((state[0], float(count)), seen, 0.01))
        found = queue.probe()
        assert found[0] == pytest.approx(state[0], rel=1e-12, abs=1e-15)
        queue.capacity = 8e6 * float(rng.uniform(0.8, 1.2))
        assert found[1] == found[2] == pytest.approx(law.encode(state[0]).scalable, rel=1e-12)
    assert state[0] > 0.0


def test_what_is_lost_at_the_tail_counts_and_a_small_packet_counts_as_less() -> None:
    law = pf.Price(utilization=1.0)
    queue = make(law, limit=2)
    for _ in range(40):
        queue.enqueue(0, bytes=250)
    assert queue.counts[DROP_FULL] == 38
    queue.tick(5 * MS)
    assert queue.probe()[0] == pytest.approx(0.010 - 0.005, rel=1e-12)


def test_marks_are_drawn_as_packets_leave() -> None:
    queue, p = priced(pf.Price())
    assert 0.5 < p < 0.99
    low, high = int((p - 1e-9) * 2**64), int((p + 1e-9) * 2**64)
    for draw, field in ((low, CE), (high, ECT1)):
        queue.enqueue(0, ecn=ECT1, draws=[0])
        assert queue.drawn == 0
        assert queue.dequeue(0, draws=[draw])[1] == field
        assert queue.drawn == 1
    assert queue.counts[MARK_AQM] == 1
    queue.enqueue(0, ecn=CE)  # a mark stays one
    assert queue.dequeue(0, draws=[high])[1] == CE


def test_what_cannot_be_marked_is_lost_each_by_its_own_draw() -> None:
    queue, p = priced(pf.Price())
    assert queue.counts[DROP_AQM] == 0
    n = 4000
    for _ in range(n):
        queue.enqueue(0, ecn=NOT_ECT)
    taken = 0
    while queue.dequeue(0):
        taken += 1
    assert queue.counts[DROP_AQM] == n - taken
    assert abs(n - taken - n * p) <= 5 * np.sqrt(n * p * (1 - p))


def test_flows_can_open_whatever_the_price() -> None:
    """SYNs are spared, and so all flows are there; acknowledgements over a link, too."""
    nodes = [pf.Node(name, LINK, pf.Price(phi=1e6)) for name in ("there", "back")]
    load = pf.Flows(pf.Cbr(rate="9Mbit/s"), 1, "10ms", "load", route="there", ecn=True)
    other = pf.Flows(pf.Cbr(rate="9Mbit/s"), 1, "10ms", "other", route="back", ecn=True)
    late = pf.Flows(
        pf.Scalable(), 20, "10ms", "late", route="there", back="back", start="3s",
        delayed_ack=False,
    )  # fmt: skip
    network = pf.Network(nodes, [load, other, late])
    run = pf.packet.simulate(pf.Scenario("4s", network=network), seeds=1)
    last = run.isel(seed=0, time=-1)
    assert np.all(last.p_aqm.sel(flows="load", link="there") > 0.99)
    assert float(last.active_flows.sel(flows="late")) == 20.0
    assert int(run["count"].sel(flows="late", cause="drop_aqm").sum()) == 0


def test_its_clock() -> None:
    with refused(pf.DomainError, "Price update_interval = 1e-10 is outside"):
        discipline_of(pf.Price(update_interval=1e-10), LINK)
    with pytest.raises(ValueError, match="price cannot have these parameters"):
        _core.QueueDiscipline("price", {"phi": 1.0, "utilization": 0.9, "update_interval": 0.01})
