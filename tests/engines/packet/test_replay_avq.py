"""AVQ's queue discipline: its virtual queue row by row, and what happens to packets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from recorded import runs_of
from refusals import refused

import pi2_fluid as pf
from pi2_fluid import _core
from pi2_fluid.engines.packet.laws import discipline_of
from pi2_fluid.packet import replay_avq

ROWS = runs_of("avq_arrivals.csv", "case")
NOT_ECT, ECT0, CE = 0, 2, 3
DROP_AQM, DROP_FULL, MARK_AQM = 2, 3, 5
MS = 1_000_000


def make(limit: int = 1000, **fields: Any) -> _core.QueueDiscipline:
    """A queue before a link of 1000 packets of 1000 bytes per second."""
    link = pf.Link("8Mbit/s", packet_size="1000B")
    discipline = discipline_of(pf.Avq(**fields), link)
    return _core.QueueDiscipline(*discipline, limit=limit, mtu=1000, capacity=8e6)


@pytest.mark.parametrize("case", ["mark", "drop"])
@pytest.mark.parametrize("unit", [1.0, 1000.0])
def test_every_arrival(case: str, unit: float) -> None:
    """Times are kept to whole ns; by that much the virtual queue is served more or less."""
    rows = ROWS[case]
    law = pf.Avq(buffer=20, bytes=unit > 1.0, ecn=case == "mark")
    found = replay_avq(time=[float(row["time"]) for row in rows], law=law)
    assert found.signalled.values.tolist() == [row["signal"] == "1" for row in rows]
    for name in ("virtual_queue", "virtual_capacity"):
        expected = unit * np.array([float(row[name]) for row in rows])
        np.testing.assert_allclose(found[name], expected, rtol=1e-6, atol=5e-5 * unit)
    assert found.signalled.values.sum() > 50


def test_the_first_packet_starts_the_clocks() -> None:
    found = replay_avq(time=[5.0, 5.01], law=pf.Avq(bytes=False))
    # 0.8 of 1250/s, less 0.15 for one packet; then 10 ms of it
    first = 1000.0 - 0.15
    assert found.virtual_capacity.values[0] == pytest.approx(first, rel=1e-12)
    assert found.virtual_queue.values.tolist() == [1.0, 1.0]
    after = first + 0.15 * (0.98 * 1250.0 * 0.01 - 1.0)
    assert found.virtual_capacity.values[1] == pytest.approx(after, rel=1e-9)


def test_sizes_count_in_bytes() -> None:
    law = pf.Avq(buffer=2, ecn=True)
    found = replay_avq(time=[0.0, 0.0, 0.0], bytes=[1500, 500, 40], law=law)
    assert found.virtual_queue.values.tolist() == [1500.0, 2000.0, 2000.0]
    assert found.signalled.values.tolist() == [False, False, True]


def test_the_virtual_capacity_stays_within_the_links() -> None:
    law = pf.Avq(bytes=False, alpha=50.0)
    found = replay_avq(time=[0.0, 0.1, 10.0, *[10.0] * 60], law=law).virtual_capacity.values
    assert found[2] == 1250.0
    assert found[-1] == 0.0


def test_marks_and_drops() -> None:
    for ecn, kept, marked, dropped in ((True, 3, 1, 0), (False, 2, 0, 1)):
        queue = make(buffer=2, bytes=False, ecn=ecn)
        for _ in range(3):
            queue.enqueue(0, bytes=1000, ecn=ECT0)
        assert queue.packets == kept
        assert (queue.counts[MARK_AQM], queue.counts[DROP_AQM]) == (marked, dropped)
    queue = make(buffer=2, bytes=False, ecn=True)
    for _ in range(3):
        queue.enqueue(0, bytes=1000, ecn=NOT_ECT)
    assert queue.packets == 2
    assert (queue.counts[MARK_AQM], queue.counts[DROP_AQM]) == (0, 1)


def test_what_the_link_cannot_hold_is_lost_and_has_arrived() -> None:
    full, free = make(limit=2, bytes=False), make(bytes=False)
    for queue in (full, free):
        for _ in range(6):
            queue.enqueue(0, bytes=1000)
    assert full.counts[DROP_FULL] == 4
    assert full.probe()[0] == free.probe()[0]


def test_it_reports_the_laws_own_variable() -> None:
    queue, law = make(bytes=False), pf.Avq()
    assert queue.probe()[0] == pytest.approx(law.controller((0.8,)), rel=1e-12)
    queue.enqueue(0, bytes=1000)
    share = (800.0 - 0.15) / 1000.0
    assert queue.probe()[0] == pytest.approx(law.controller((share,)), rel=1e-12)
    assert np.isnan(queue.probe()[1])


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"time": [0.1, 0.05]}, pf.DomainError, "time falls from one packet to the next"),
        ({"bytes": [40]}, pf.QuantityError, "bytes has the shape (1,)"),
        ({"law": pf.Pi2()}, pf.QuantityError, "no Avq, which is what is replayed"),
    ],
)
def test_bad_input_gets_one_sentence(change: Any, error: Any, said: str) -> None:
    good: dict[str, Any] = {"time": [0.0, 0.1], "bytes": [1000, 40]}
    with refused(error, said):
        replay_avq(**good | change)


def test_a_virtual_queue_without_room_for_a_packet() -> None:
    link = pf.Link("10Mbit/s")
    with refused(pf.DomainError, "Avq buffer = 1.8 packets", "part 0.5 is held, has room for none"):
        discipline_of(pf.Avq(buffer=1.8, buffer_fraction=0.5), link)
    assert discipline_of(pf.Avq(buffer=2, buffer_fraction=0.5), link)[0] == "avq"


def test_the_kernel_refuses_what_it_cannot_run() -> None:
    numbers = pf.Avq().packet_parameters(pf.Link("10Mbit/s"))
    for wrong in ({"utilization": 1.5}, {"alpha": 0.0}, {"start": 0.0}, {"buffer": 0.0}):
        with pytest.raises(ValueError, match=r"avq cannot have these parameters\."):
            _core.QueueDiscipline("avq", numbers | wrong)
