"""REM's queue discipline: its price row by row, and what happens to packets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from recorded import runs_of
from refusals import refused

import pi2_fluid as pf
from pi2_fluid import _core
from pi2_fluid.engines.packet.laws import discipline_of
from pi2_fluid.packet import replay_rem

ROWS = runs_of("rem_updates.csv", "case")
LAWS = {
    "ns2": (pf.Rem(), "10Mbit/s"),
    "fast": (pf.Rem(gamma=0.005, phi=1.01, weight=0.5), "64Mbit/s"),
}
NOT_ECT, ECT1, ECT0, CE = range(4)
DROP_AQM, DROP_FULL, MARK_AQM = 2, 3, 5
HIT, MISS = 0, 2**64 - 1
MS = 1_000_000


def make(buffer: int = 1000, size: str = "1000B", **fields: Any) -> _core.QueueDiscipline:
    link = pf.Link("10Mbit/s", f"{buffer} packets", size)
    law = pf.Rem(**fields)
    mtu = int(link.packet_size)
    return _core.QueueDiscipline(*discipline_of(law, link), limit=buffer, mtu=mtu, capacity=1e7)


@pytest.mark.parametrize("case", LAWS)
def test_every_update(case: str) -> None:
    law, capacity = LAWS[case]
    rows = ROWS[case]
    link = pf.Link(capacity, "40000 packets", packet_size="1000B")
    columns = [[int(row[name]) for row in rows] for name in ("count", "backlog")]
    found = replay_rem(arrivals=columns[0], backlog=columns[1], law=law, link=link)
    for name in ("price", "probability"):
        expected = [float(row[name]) for row in rows]
        np.testing.assert_allclose(found[name], expected, rtol=1e-12, atol=1e-13)
    assert float(found.price.min()) == 0.0
    assert float(found.probability.max()) > (0.5 if case == "fast" else 0.002)


def test_arrivals_count_even_if_they_are_lost() -> None:
    queue = make(buffer=5)
    for _ in range(40):
        queue.enqueue(0, bytes=1000)
    assert queue.packets == 4
    assert queue.counts[DROP_FULL] == 36
    queue.tick(2 * MS)
    # 2.5 are served in 2 ms
    assert queue.probe()[0] == pytest.approx(1e-3 * (40 - 2.5 + 0.1 * (4 - 20)), rel=1e-12)


def test_the_port_to_ns3_fills_the_buffer() -> None:
    queue = make(buffer=5, variant="ns3")
    for _ in range(40):
        queue.enqueue(0, bytes=1000)
    assert queue.packets == 5


@pytest.mark.parametrize("variant", ["ns2", "ns3"])
def test_bytes(variant: str) -> None:
    """A packet of 1500 bytes is one and a half of 1000; of the queue ns-3 counts whole ones."""
    queue = make(40, "1500B", bytes=True, packet="1000B", variant=variant, target=5)
    for _ in range(3):
        queue.enqueue(0, bytes=1500)
    queue.tick(2 * MS)
    excess = 4.5 - 2.5 + 0.1 * ((4.5 if variant == "ns2" else 4.0) - 5.0)
    assert queue.probe()[0] == pytest.approx(1e-3 * excess, rel=1e-12)
    for _ in range(100):
        queue.enqueue(0, bytes=1500)
    assert queue.bytes <= 40_000 < queue.bytes + 1500


def raised(**fields: Any) -> _core.QueueDiscipline:
    """A queue whose probability is near 1/2, in one update."""
    queue = make(buffer=10**5, gamma=1.0, phi=2.0, target=1.0, alpha=1.0, **fields)
    count = 0
    while count < 4:
        queue.enqueue(0, bytes=1000, draws=[MISS])
        count += 1
    for _ in range(3):
        queue.dequeue(0, draws=[MISS])
    queue.tick(2 * MS)
    assert queue.probe()[1] == pytest.approx(1.0 - 2.0**-1.5, rel=1e-12)  # 4 - 2.5 + 1 - 1
    return queue


def draw(p: float) -> list[int]:
    return [int(p * 2.0**53) << 11]


def test_drops_at_arrival() -> None:
    queue = raised()
    for p, waiting in ((0.64, 1), (0.65, 2)):  # 1 - 2^-1.5 = .6464
        queue.enqueue(2 * MS, bytes=1000, ecn=ECT0, draws=draw(p))
        assert queue.packets == waiting
    assert queue.counts[DROP_AQM] == 1
    queue.dequeue(3 * MS, draws=[HIT])
    assert queue.drawn == 0
    assert queue.counts[MARK_AQM] == 0


def test_marks_at_departure_and_drops_what_cannot_be_marked_as_it_comes() -> None:
    queue = raised(ecn=True)
    queue.dequeue(2 * MS, draws=[MISS])
    for ecn, p in ((ECT0, 0.64), (ECT1, 0.64), (NOT_ECT, 0.64), (NOT_ECT, 0.65), (ECT0, 0.65)):
        queue.enqueue(2 * MS, bytes=1000, ecn=ecn, draws=draw(p))
    assert (queue.packets, queue.counts[DROP_AQM]) == (4, 1)
    left = [queue.dequeue(3 * MS, draws=draw(p)) for p in (0.64, 0.64, 0.64, 0.65)]
    assert [packet and packet[1] for packet in left] == [CE, CE, NOT_ECT, ECT0]
    assert queue.counts[MARK_AQM] == 2
    assert queue.counts[DROP_AQM] == 1


@pytest.mark.parametrize(("variant", "lost"), [("ns2", [1, 1, 0]), ("ns3", [1, 0, 1])])
def test_short_packets_are_lost_less_often_in_ns2(variant: str, lost: list[int]) -> None:
    queue = raised(bytes=True, variant=variant)
    drops = queue.counts[DROP_AQM]
    found = []
    for size, p in ((1000, 0.6), (1500, 0.9), (500, 0.4)):  # p = .646, .970, .323
        queue.enqueue(2 * MS, bytes=size, draws=draw(p))
        found.append(queue.counts[DROP_AQM] - drops)
        drops = queue.counts[DROP_AQM]
    assert found == lost


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"backlog": [3, 12]}, pf.DomainError, "backlog = 12 at update 1 is more than the 8"),
        ({"backlog": [3]}, pf.QuantityError, "backlog has the shape (1,)"),
        ({"arrivals": [0.5, 1]}, pf.DomainError, "arrivals = 0.5"),
        ({"law": pf.Pi2()}, pf.QuantityError, "no Rem, which is what is replayed"),
    ],
)
def test_bad_input_gets_one_sentence(change: Any, error: Any, said: str) -> None:
    good: dict[str, Any] = {"arrivals": [5, 5], "backlog": [3, 4]}
    with refused(error, said):
        replay_rem(**good | change)


def test_the_kernel_refuses_what_it_cannot_run() -> None:
    numbers = pf.Rem().packet_parameters(pf.Link("10Mbit/s", "40000 packets"))
    for wrong in ({"phi": 1.0}, {"gamma": 0.0}, {"weight": 1.5}, {"packet": 0.0}):
        with pytest.raises(ValueError, match=r"rem cannot have these parameters\."):
            _core.QueueDiscipline("rem", numbers | wrong)


def test_a_buffer_of_one_packet_takes_none_in_ns2() -> None:
    small = pf.Link("10Mbit/s", "1 packet")
    with refused(pf.DomainError, "Link buffer = 1.0 lets no packet in", 'variant = "ns3"'):
        discipline_of(pf.Rem(), small)
    assert discipline_of(pf.Rem(variant="ns3"), small)[0] == "rem"


@pytest.mark.parametrize(
    ("variant", "buffer", "said"),
    [
        ("ns2", 3, "since Rem as in ns-2 drops what would fill it: give 4 packets"),
        ("ns2", 2, "counts packets of 500 bytes and those of the link are 3 times as large"),
        ("ns3", 2, "counts packets of 500 bytes and those of the link are 3 times as large"),
    ],
)
def test_a_buffer_in_small_packets_that_takes_no_full_one(
    variant: str, buffer: int, said: str
) -> None:
    law = pf.Rem(variant=variant, bytes=True, packet="500B")
    with refused(pf.DomainError, said):
        discipline_of(law, pf.Link("10Mbit/s", buffer))
    assert discipline_of(law, pf.Link("10Mbit/s", 4 if variant == "ns2" else 3))
    assert discipline_of(pf.Rem(variant=variant, packet="500B"), pf.Link("10Mbit/s", 2))
