"""Prague acknowledgement by acknowledgement: recorded traces, mean windows, and its rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from recorded import runs_of
from refusals import refused
from scipy.optimize import brentq
from scipy.stats import gamma

from pi2_fluid import _core
from pi2_fluid.engines.packet.laws import congestion_of
from pi2_fluid.engines.packet.replays.senders import replay_prague
from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError
from pi2_fluid.laws.senders.prague import Prague
from pi2_fluid.laws.senders.reno import Reno

MS = 1_000_000
VECTORS = runs_of("packet_prague.csv", "case")  # every mark, and every 25th acknowledgement
#: Round-trip time (ns), and what the run was made with; "draft" with the rounds of "2024".
CASES: dict[str, tuple[int, dict[str, Any]]] = {
    "2024_1": (10 * MS, congestion_of(Prague())[1]),
    "2024_2": (50 * MS, congestion_of(Prague())[1]),
    "draft_4": (10 * MS, congestion_of(Prague(version="draft"))[1] | {"rounds": 4}),
}
COUNTS = ("next", "cwnd", "round", "ssthresh")


def replay(parameters: dict[str, Any], rtt: int, ce: Any) -> dict[str, Any]:
    n = len(ce)
    numbers, counts = np.empty(3 * n), np.empty(4 * n, dtype=np.int64)
    _core.replay_prague(parameters, 10, rtt, np.asarray(ce, dtype=np.int64), numbers, counts)
    names = ("time", "window", "alpha", *COUNTS)
    return dict(zip(names, (*numbers.reshape(3, n), *counts.reshape(4, n)), strict=True))


# --- recorded traces ------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_every_row_is_met(case):
    rows = VECTORS[case]
    at = np.array([int(row["seq"]) for row in rows])
    ce = np.zeros(at[-1] + 1, dtype=np.int64)
    ce[at] = [int(row["ce"]) for row in rows]
    found = replay(CASES[case][1], CASES[case][0], ce)
    assert at[-1] == 2999
    assert ce.sum() > 100
    for name in COUNTS:
        np.testing.assert_array_equal(found[name][at], [int(row[name]) for row in rows], name)
    for name in ("window", "alpha"):
        np.testing.assert_allclose(found[name][at], [float(row[name]) for row in rows], rtol=1e-9)


def test_the_dataset_is_what_was_replayed():
    ce = np.arange(500) % 40 == 39
    data = replay_prague(ce=ce.astype(int), rtt="50ms")
    found = replay(congestion_of(Prague())[1], 50 * MS, ce)
    for name in ("window", "alpha", *COUNTS):
        np.testing.assert_array_equal(data[name], found[name])
        assert data[name].attrs["units"]
    np.testing.assert_allclose(data.time, found["time"] / 1e9, rtol=1e-15)


# --- mean windows ---------------------------------------------------------------------------


def ratio_to_rest(law: Prague, rtt: float, p: float, ce: Any) -> float:
    """The mean window over time, over that of the law, without the first fifth of the run."""
    data = replay_prague(ce=ce, rtt=rtt, sender=law)
    lasts, windows = np.diff(data.time), data.window.to_numpy()[:-1]
    late = data.time.to_numpy()[:-1] > float(data.time[-1]) / 5
    return float(np.average(windows[late], weights=lasts[late]) / law.at_rest(rtt, p)[0])


@pytest.mark.parametrize(
    ("rtt", "p", "expected"),
    [
        (0.01, 0.02, 1.437),
        (0.01, 0.1, 1.433),
        (0.01, 0.3, 1.393),
        (0.025, 0.02, 1.365),
        (0.05, 0.1, 1.390),
        (0.05, 0.02, 1.380),
    ],
)
def test_independent_marks_leave_1_4_times_the_law(rtt, p, expected):
    rng = np.random.default_rng(1)
    found = ratio_to_rest(Prague(), rtt, p, (rng.random(500_000) < p).astype(int))
    assert found == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("rtt", [0.005, 0.01, 0.018, 0.022, 0.025, 0.05])
def test_the_excess_is_that_of_episodes(rtt):
    """A round without a reduction, and the wait for a mark; those within 25 ms are in vain."""
    p, virtual = 0.02, max(rtt, 0.025)

    def surplus(marks: float) -> float:
        rounds = range(1, int(virtual / rtt) + 1)
        episodes = 1 + sum(gamma.cdf(marks * (virtual / rtt - n), n) for n in rounds)
        return float(marks**2 / (2 * (1 + marks) * episodes) - (1 - p) * (rtt / virtual) ** 2)

    counted = brentq(surplus, 1e-6, 100.0) / p / Prague().at_rest(rtt, p)[0]
    rng = np.random.default_rng(3)
    found = ratio_to_rest(Prague(), rtt, p, (rng.random(500_000) < p).astype(int))
    assert found == pytest.approx(counted, rel=0.04)


@pytest.mark.parametrize(
    ("rtt", "p", "expected"), [(0.01, 0.1, 1.042), (0.01, 0.3, 1.163), (0.05, 0.1, 1.042)]
)
def test_periodic_marks_nearly_leave_the_law(rtt, p, expected):
    """From alpha = 1, its reductions in each virtual round trip."""
    ce = np.diff(np.floor(np.arange(50_001) * p + 1e-9)).astype(np.int64)
    parameters = CASES["draft_4"][1]
    found = replay(parameters, round(rtt * 1e9), ce)
    mean = np.average(found["window"][10_000:-1], weights=np.diff(found["time"][10_000:]))
    assert mean / Prague().at_rest(rtt, p)[0] == pytest.approx(expected, rel=0.005)


def test_periodic_marks_can_lock_into_fewer_reductions():
    """From alpha = 0 the same marks settle at a larger window, which passes round trips."""
    ce = np.diff(np.floor(np.arange(50_001) * 0.1 + 1e-9)).astype(np.int64)
    assert ratio_to_rest(Prague(), 0.01, 0.1, ce) == pytest.approx(1.473, rel=0.005)


# --- rules ----------------------------------------------------------------------------------


def test_a_window_recovers_from_marks_on_all_packets():
    """It stays within what is sent, so that an unmarked segment adds one at most."""
    found = replay_prague(ce=[1] * 1000 + [0] * 3, rtt="30ms")
    window = found.window.to_numpy()
    assert window[500] == window[999] == 1.0
    assert window[1000:].tolist() == pytest.approx([2.0, 2.5, 2.9])


def test_the_first_mark_halves_whatever_alpha_is():
    ce = [0] * 90 + [1]
    for version, alpha in (("2024", 0.0), ("draft", 1.0)):
        data = replay_prague(ce=ce, rtt="10ms", sender=Prague(version=version))
        assert data.window.values[-2:].tolist() == [100.0, 50.0]
        assert data.cwnd.values[-2:].tolist() == [100, 99]  # one segment per acknowledgement
        assert float(data.alpha[-1]) == alpha
        assert int(data.ssthresh[-1]) == 99


def test_short_paths_grow_as_that_of_25_ms_after_the_rounds():
    """(R/25 ms)^2 segments a round trip: a segment per 25 ms, times R/25 ms."""
    ce = np.zeros(4000, dtype=int)
    ce[30] = 1
    data = replay_prague(ce=ce, rtt="10ms")
    first = int(np.flatnonzero(data["round"] == 4)[0]) + 1
    growth = np.diff(data.window) * data.window.to_numpy()[:-1]
    np.testing.assert_allclose(growth[60 : first - 1], 1.0, rtol=1e-9)
    np.testing.assert_allclose(growth[first:], (10 / 25) ** 2, rtol=1e-9)
    slow = replay_prague(ce=ce, rtt="10ms", sender=Prague(version="draft"))
    assert int(slow["round"][-1]) < 500
    np.testing.assert_allclose(np.diff(slow.window[60:]) * slow.window[60:-1].values, 1.0)


def test_no_two_reductions_within_the_target():
    rng = np.random.default_rng(2)
    data = replay_prague(ce=(rng.random(20_000) < 0.1).astype(int), rtt="5ms")
    window, late = data.window.to_numpy(), data["round"].to_numpy() > 4
    fell = np.flatnonzero((np.diff(window) < 0) & late[1:]) + 1
    assert len(fell) > 50
    assert np.diff(data.time.to_numpy()[fell]).min() >= 0.025


def test_a_loss_halves_and_is_the_reduction_of_its_round():
    flow = _core.CongestionControl(*congestion_of(Prague()), window=100)
    assert flow.reduce(0, ecn=False) == 50
    flow.acknowledge(1, 1, 10 * MS, 10 * MS)
    assert flow.cwnd == 50
    for i in range(50):
        flow.acknowledge(1, 0, 10 * MS, 10 * MS + i)
    assert flow.cwnd == 51


def test_it_obeys_what_recovery_leaves():
    flow = _core.CongestionControl(*congestion_of(Prague()), window=100)
    flow.timeout()
    flow.acknowledge(1, 0, 10 * MS, MS)
    assert flow.cwnd == 2  # slow start from one segment
    flow.reduce(2 * MS, ecn=False)
    assert flow.cwnd == 2


def test_flags():
    """Exact marks; nothing but its own rules reduces it."""
    assert _core.CongestionControl(*congestion_of(Prague()), window=10).flags == 3


# --- bad input ------------------------------------------------------------------------------


class Mine(Prague):
    """Another law."""


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"ce": [0, 2]}, DomainError, r"ce = 2 is outside the whole numbers \[0, 1\]: give"),
        ({"ce": []}, QuantityError, r"ce is empty: give 0 or 1"),
        ({"rtt": 0.0}, DomainError, "^rtt = 0"),
        ({"initial_window": 1}, DomainError, "^initial_window = 1 is outside"),
        ({"sender": Reno()}, QuantityError, "sender = Reno is not Prague"),
        ({"sender": Mine()}, UnsupportedError, "^Mine "),
    ],
)
def test_bad_input_is_refused(arguments, error, words):
    with refused(error, match=words):
        replay_prague(**({"ce": [0, 1], "rtt": "10ms"} | arguments))


def test_the_kernel_refuses_what_it_cannot_run():
    two, x, k = np.ones(2, dtype=np.int64), np.zeros(6), np.zeros(8, dtype=np.int64)
    parameters = congestion_of(Prague())[1]
    with pytest.raises(ValueError, match=r"window must lie in"):
        _core.replay_prague(parameters, 1, MS, two, x, k)
    with pytest.raises(ValueError, match=r"rtt must lie in"):
        _core.replay_prague(parameters, 10, 0, two, x, k)
    with pytest.raises(ValueError, match=r"room for 8 numbers"):
        _core.replay_prague(parameters, 10, MS, two, x, k[:7])
