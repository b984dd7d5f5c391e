"""RED's queue discipline against Linux's own, packet by packet, and what must hold of any run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import runs_of

from pi2_fluid import _core
from pi2_fluid.engines.packet.laws import discipline_of
from pi2_fluid.engines.packet.replays.red import replay_red, replay_red_adaptation
from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError
from pi2_fluid.laws.aqms.red import Red
from pi2_fluid.network.link import Link

LINK = Link("8Mbit/s", packet_size="1000B")
FULL = 2**32 - 1
PROFILE = {"min": 20, "max": 60, "max_p": 0.02, "weight": 2.0**-9, "gentle": False}
FIXED = Red(**PROFILE, adaptive=True, arithmetic="fixed", idle_decay=True)


TRACES = runs_of("linux_red.csv", "case")
ROWS = TRACES["min20k-max60k-w9-p02"]


def replay_trace(law, **changes):
    return replay_red(
        law=law,
        backlog_bytes=[int(row["backlog_bytes"]) for row in ROWS],
        rnd=[int(row["rnd_hex"], 16) for row in ROWS],
        idle_us=[40_000 * int(row["idle"]) for row in ROWS],
        adapt_every=500,
        **changes,
    )


class TestLinuxTrace:
    def test_every_packet(self):
        found = replay_trace(FIXED)
        assert [f"{value:.3f}" for value in found.avg_bytes.values] == [
            row["avg_bytes"] for row in ROWS
        ]
        np.testing.assert_array_equal(found.qcount, [int(row["qcount"]) for row in ROWS])
        assert found.action.values.tolist() == [row["action"] for row in ROWS]
        # the trace prints max_p as it was meant, before it was cut to 2^-32
        meant = [float(row["max_p"]) for row in ROWS]
        np.testing.assert_allclose(found.max_p, meant, rtol=0, atol=9 * 2.0**-32)
        # and computes Pb with the max_p it began with
        linear = found.Pb * PROFILE["max_p"] / found.max_p
        np.testing.assert_allclose(linear, [float(row["Pb"]) for row in ROWS], rtol=1e-7)

    def test_every_adaptation(self):
        rows = TRACES["adaptive-only"]
        average = [float(row["avg_bytes"]) for row in rows]
        found = replay_red_adaptation(law=FIXED, avg_bytes=average)
        assert [f"{value:.9g}" for value in found.max_p.values] == [row["max_p"] for row in rows]

    def test_the_trace_covers_what_can_happen(self):
        assert {row["action"] for row in ROWS} == {"PASS", "PROB"}
        assert any(row["idle"] == "1" for row in ROWS)


class TestFixedRules:
    """What the trace leaves out."""

    def test_above_max_every_packet_is_dropped(self):
        law = Red(min=1, max=2, max_p=0.5, weight=0.5, gentle=False, arithmetic="fixed")
        found = replay_red(law=law, backlog_bytes=[0, 1999, 4000, 4000], rnd=[0] * 4)
        assert found.avg_bytes.values.tolist() == [0.0, 999.5, 2500.0, 3250.0]
        assert found.action.values.tolist() == ["PASS", "PASS", "HARD", "HARD"]
        assert found.qcount.values.tolist() == [-1, -1, -1, -1]
        assert found.Pb.values.tolist() == [0.0, 0.0, 1.0, 1.0]

    @pytest.mark.parametrize(("idle_ms", "shift"), [(400, 0), (600, 1), (20_000, 31)])
    def test_long_idling_is_a_shift(self, idle_ms, shift):
        """1/-log(1 - 2^-9) packets of 1 ms, or some 511 ms, halve the average."""
        law = Red(**PROFILE, arithmetic="fixed", idle_decay=True)
        found = replay_red(
            law=law, backlog_bytes=[10**6, 0], rnd=[0, 0], idle_us=[0, 1000 * idle_ms]
        )
        begin, after = found.avg_bytes.values
        expected = int(begin * 2**9) >> (shift or 1)  # the first cells take off half at most
        assert after * 2**9 == expected

    def test_a_cell_of_idling_is_at_most_2_to_the_31_microseconds(self):
        """Linux keeps its length as a shift below 32; half a cell takes off half the average."""
        law = Red(**PROFILE, arithmetic="fixed", idle_decay=True)
        slow = Link("80bit/s", packet_size="1000B")
        found = replay_red(
            law=law, link=slow, backlog_bytes=[2**20, 0], rnd=[0, 0], idle_us=[0, 2**30]
        )
        assert found.avg_bytes.values.tolist() == [2.0**11, 2.0**10]

    def test_a_profile_too_flat_for_32_bits_signals_more_than_asked(self):
        """max_p / (max - min) is kept in whole units of 2^-32 per byte, at least one of them."""
        law = Red(min=1, max=400_000, max_p=0.01, weight=0.5, gentle=False, arithmetic="fixed")
        found = replay_red(law=law, backlog_bytes=[3 * 10**8] * 40, rnd=[FULL] * 40)
        above = np.floor(found.avg_bytes.values) - 1000
        # the first packet above min draws; then a signal is due once count (average - min) >= rnd
        due = 1 + np.flatnonzero(np.arange(1, 40) * above[1:] >= FULL)[0]
        assert np.flatnonzero(found.action.values == "PROB")[0] == due

    def test_idling_counts_only_if_asked_for(self):
        law = Red(**PROFILE, arithmetic="fixed")
        found = replay_red(law=law, backlog_bytes=[10**6, 0], rnd=[0, 0], idle_us=[0, 10**6])
        assert found.avg_bytes.values[1] == pytest.approx(found.avg_bytes.values[0], rel=0.01)


class TestRealAndFixed:
    def test_on_the_trace(self):
        """What the integers take off the average they round down: it is less than a byte higher."""
        real = Red(**PROFILE, adaptive=True, idle_decay=True)
        ours, theirs = replay_trace(real), replay_trace(FIXED)
        before = slice(0, 600)  # then Linux takes off half, which a link idle for 40 ms does not
        gap = theirs.avg_bytes.values[before] - ours.avg_bytes.values[before]
        assert np.all((gap > -1e-9) & (gap < 1.0))
        np.testing.assert_allclose(
            ours.Pb[before], theirs.Pb[before], rtol=0, atol=1.01 * 0.02 / 4e4
        )
        signals = [np.flatnonzero(found.action.values == "PROB") for found in (ours, theirs)]
        assert len(signals[0]) == len(signals[1]) == 2
        assert np.all(np.abs(signals[0] - signals[1]) <= 1)
        decay = ours.avg_bytes.values[600] / ours.avg_bytes.values[599]
        assert decay == pytest.approx((1 - 2**-9) ** 40, rel=1e-12)

    def test_adaptation(self):
        average = [50e3] * 40 + [25e3] * 60
        ours, theirs = (
            replay_red_adaptation(law=law, avg_bytes=average).max_p.values
            for law in (Red(**PROFILE, adaptive=True), FIXED)
        )
        np.testing.assert_allclose(ours, theirs, rtol=2e-6)

    def test_gentle(self):
        law = Red(min=5, max=15, max_p=0.1, weight=0.999)
        found = replay_red(law=law, backlog_bytes=[22_500] * 30 + [40_000] * 30, rnd=[0] * 60)
        assert found.Pb.values[29] == pytest.approx(law.profile(22.5, 0.1), rel=1e-6)
        assert set(found.action.values[40:]) == {"HARD"}
        assert set(found.action.values[:29]) <= {"PROB", "PASS"}


@pytest.mark.parametrize(
    ("spacing", "shortest", "mean", "longest"),
    [("uniform", 1, 0.5, 1.02), ("wait", 100, 1.5, 2.02), ("none", 1, 1.0, np.inf)],
)
def test_spacing(spacing, shortest, mean, longest, rng):
    """Packets from one signal to the next, times p = 0.01."""
    law = Red(min=10, max=30, max_p=0.02, weight=0.5, spacing=spacing)
    count = 300_000
    found = replay_red(law=law, backlog_bytes=[20_000] * count, rnd=rng.integers(0, 2**32, count))
    assert found.Pb.values[-1] == pytest.approx(0.01)
    gaps = np.diff(np.flatnonzero(found.action.values == "PROB"))[1:]
    assert 0.01 * gaps.mean() == pytest.approx(mean, rel=0.05)
    assert gaps.min() >= shortest
    assert 0.01 * gaps.max() <= longest


def run(law, events, given, link):
    """The queue discipline itself: rows of what each event gave, and what was lost."""
    answer = np.zeros((len(events), 13), np.int64)
    draws = np.asarray(given, np.uint64) << np.uint64(32)
    size, limit = int(link.packet_size), int(link.buffer)
    parameters = discipline_of(law, link)[1]
    lost = _core.replay_queue("red", parameters, size, limit, None, events, draws, answer)
    return answer, lost


@settings(max_examples=40, deadline=None)
@given(
    events=st.lists(
        st.tuples(
            st.integers(0, 10**6),
            st.sampled_from([0, 1, 1, 2]),
            st.integers(40, 1000),
            st.integers(0, 3),
        ),
        min_size=1,
        max_size=300,
    ),
    seed=st.integers(0, 2**32 - 1),
    arithmetic=st.sampled_from(["real", "fixed"]),
    flags=st.fixed_dictionaries(
        {key: st.booleans() for key in ("ecn", "harddrop", "idle_decay", "adaptive")}
    ),
    buffer=st.integers(1, 40),
)
def test_nothing_is_lost_or_overtakes(events, seed, arithmetic, flags, buffer):
    rows = np.array(events, np.int64)
    rows[:, 0] = np.cumsum(rows[:, 0])
    law = Red(min=1, max=4, max_p=0.5, weight=0.25, gentle=False, arithmetic=arithmetic, **flags)
    link = Link("8Mbit/s", f"{buffer} packets", "1000B")
    random = np.random.default_rng(seed).integers(0, 2**32, len(rows))
    found, lost = run(law, rows, random, link)
    arrived, left = rows[:, 1] == 1, (rows[:, 1] == 0) & (found[:, 0] >= 0)
    assert arrived.sum() == left.sum() + len(lost) + found[-1, 5]
    assert found[:, 5].max() <= buffer
    order = found[left, 0]
    assert np.all(np.diff(order) > 0)
    marked = found[left, 4] == 1
    came = rows[arrived, 3][order]
    assert np.all(found[left, 2][marked] == 3)
    assert np.all(found[left, 2][~marked] == came[~marked])
    assert flags["ecn"] or not marked.any()
    assert np.all(found[:, 3] <= 1)


BAD = [
    (
        {"law": Red(min=5, max=15, arithmetic="fixed")},
        DomainError,
        r"Red gentle = True is unknown to Linux, .*: give gentle = False\.",
    ),
    (
        {"law": Red(min=5, max=15, gentle=False, arithmetic="fixed")},
        DomainError,
        r"Red weight = 0\.002 is none of 1, 1/2, 1/4 \.\.\. 2\*\*-31, which arithmetic",
    ),
    (
        {"law": Red(**PROFILE, arithmetic="fixed", spacing="wait")},
        DomainError,
        r"Red spacing = 'wait' is unknown to Linux, .*: give spacing = \"uniform\"\.",
    ),
    (
        {"law": Red(**PROFILE | {"min": 1, "max": 1.0001}, arithmetic="fixed")},
        DomainError,
        r"Red max = 1\.0001 is less than a byte above min = 1\.0, .*: give a larger max, or an",
    ),
    (
        {"law": Red(min=5, max=1e7)},
        DomainError,
        r"Red max = 10000000\.0 packets of 1000 bytes is beyond the 1e\+09 bytes .*: give a",
    ),
    (
        {"law": Red(min=[5, 6], max=15)},
        UnsupportedError,
        r"Red min is an array of shape \(2,\), and a queue of packets is a single one: give one",
    ),
    (
        {"law": Red(min=5, max=15, adaptive=True, update_interval="1h")},
        DomainError,
        r"Red update_interval = 3600\.0 is outside \[1e-09, 1000\) s, .*: give a time such as",
    ),
    ({"rnd": [-1]}, DomainError, r"rnd = -1 is outside the whole numbers \[0, 4294967295\]: give"),
    ({"rnd": [1, 2]}, QuantityError, r"rnd has the shape \(2,\) instead of a row of 1, as many"),
    ({"backlog_bytes": [True]}, QuantityError, r"backlog_bytes = \[True\] is no row of numbers"),
    ({"idle_us": [-5]}, DomainError, r"idle_us = -5 is outside the whole numbers \[0, 10+\]"),
    ({"adapt_every": 0.5}, DomainError, r"adapt_every = 0\.5 is outside the whole numbers \[0, 1"),
]


@pytest.mark.parametrize(("change", "error", "sentence"), BAD)
def test_bad_input_gets_one_sentence(change, error, sentence):
    good = {"law": Red(min=5, max=15), "backlog_bytes": [0], "rnd": [0]}
    with pytest.raises(error, match=sentence):
        replay_red(**good | change)


def test_bad_averages_get_one_sentence():
    law = Red(min=5, max=15, adaptive=True)
    with pytest.raises(DomainError, match=r"avg_bytes = \[2000000000\.0\] is outside a row of"):
        replay_red_adaptation(law=law, avg_bytes=[2e9])
    with pytest.raises(DomainError, match=r"Red adaptive = False leaves max_p as it is: give a"):
        replay_red_adaptation(law=Red(min=5, max=15), avg_bytes=[1e3])


def test_the_kernel_refuses_what_it_cannot_run():
    nothing, answer = np.zeros((0, 4), np.int64), np.zeros((0, 13), np.int64)
    draws = np.zeros(0, np.uint64)
    with pytest.raises(ValueError, match=r"'vegas' is no queue discipline that can be replayed\."):
        _core.replay_queue("vegas", {}, 1000, 10, None, nothing, draws, answer)
    with pytest.raises(ValueError, match=r"red lacks 'min', 'max', "):
        _core.replay_queue("red", {"weight": 5.0}, 1000, 10, None, nothing, draws, answer)
    wrong = Red(min=5, max=15).packet_parameters(LINK) | {"min": 15.0, "max": 5.0}
    with pytest.raises(ValueError, match=r"red cannot have these parameters\."):
        _core.replay_queue("red", wrong, 1000, 10, None, nothing, draws, answer)
