"""DualPI2's queue discipline against Linux's own, event by event, and what must hold of any run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import runs_of

from pi2_fluid import _core
from pi2_fluid.engines.packet.replays.dualpi2 import replay_dualpi2
from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError
from pi2_fluid.laws.aqm import Seen
from pi2_fluid.laws.aqms.codel import CoDel
from pi2_fluid.laws.aqms.dualpi2 import DualPi2
from pi2_fluid.network.link import Link

FULL = 2**32 - 1
LINK = Link("10Mbit/s", packet_size="1500B")


TRACES = runs_of("linux_dualpi2_trace.csv", "drop_early", "p_base")
UPDATES = runs_of("linux_dualpi2_updates.csv", "variant", "case")


def column(rows, name):
    return [int(row[name]) for row in rows]


class TestLinuxTrace:
    """The whole path of a packet, row by row."""

    @pytest.mark.parametrize("name", TRACES)
    def test_every_event(self, name):
        rows = TRACES[name]
        consumed = [row["rolls"] for row in rows if row["rolls"] != "-"]
        rolls = [int(roll, 16) for text in consumed for roll in text.split(";")]
        early = rows[0]["drop_early"] == "1"
        found = replay_dualpi2(
            t_us=column(rows, "t_us"),
            op=[row["op"] for row in rows],
            bytes=column(rows, "bytes"),
            ecn=column(rows, "ecn"),
            rolls=rolls,
            p_base=float(rows[0]["p_base"]),
            law=DualPi2(arithmetic="fixed", drop_at="enqueue" if early else "dequeue"),
        )
        assert found.n_rolls.values.sum() == len(rolls)
        assert found.result.values.tolist() == [row["result"] for row in rows]
        for key in ("id", "n_rolls", "ce_set_here", "qlen_C", "qlen_L", "credit"):
            np.testing.assert_array_equal(found[key], column(rows, key), err_msg=key)
        sent = [row["op"] == "D" and row["id"] != "-1" for row in rows]
        for key in ("bytes", "ecn"):
            np.testing.assert_array_equal(found[key][sent], np.array(column(rows, key))[sent])

    def test_the_trace_covers_what_can_happen(self):
        rows = [row for rows in TRACES.values() for row in rows]
        assert {row["op"] for row in rows} == {"E", "D"}
        assert any(";" in row["result"] for row in rows), "several drops before one departure"
        assert any(row["op"] == "D" and row["id"] == "-1" for row in rows), "an empty queue"
        assert any(int(row["credit"]) > 0 for row in rows), "a turn of C"


VARIANTS = {
    "dp2-6.18-default": DualPi2(arithmetic="fixed"),
    "dp2-6.18-overflow": DualPi2(arithmetic="fixed", drop_overload=False),
    "dp2-6.18-rtt50": DualPi2(
        arithmetic="fixed",
        alpha=85 / 256,
        beta=1535 / 256,
        target="8333us",  # netlink carries whole us
        update_interval=0.05 / 6,
    ),
}


def updates(law, delays_ns):
    found = np.empty(len(delays_ns), np.int64)
    numbers = np.array(delays_ns, np.int64)
    _core.replay_dualpi2_updates(law.packet_parameters(LINK), numbers, found)
    return found


class TestLinuxUpdate:
    """p' itself."""

    @pytest.mark.parametrize("name", UPDATES)
    def test_every_update(self, name):
        rows = UPDATES[name]
        delays = [1000 * int(row["qdelay_us"]) for row in rows]
        found = updates(VARIANTS[rows[0]["variant"]], delays)
        np.testing.assert_array_equal(found, [int(row["p_base_hex"], 16) for row in rows])


def effective(law):
    """The gains (Hz) that Linux's integers leave of those asked for."""
    units = [((round(256 * gain) * FULL) >> 2) // 10**9 for gain in (law.alpha, law.beta)]
    return [unit * 1e9 / 64 / FULL for unit in units]


class TestRealAndFixed:
    @pytest.mark.parametrize("variant", VARIANTS)
    def test_same_updates_but_for_rounding(self, variant, rng):
        """With the gains that the integers leave, each update rounds by 2^-32."""
        fixed = VARIANTS[variant]
        alpha, beta = effective(fixed)
        fields = {"target": fixed.target, "update_interval": fixed.update_interval}
        fields["drop_overload"] = fixed.drop_overload
        real = DualPi2(alpha=alpha, beta=beta, **fields)
        delays = np.abs(np.cumsum(rng.normal(0.0, 4e6, 2000))).astype(np.int64)
        ours, theirs = updates(real, delays) / FULL, updates(fixed, delays) / FULL
        assert 0.2 < np.ptp(theirs) <= 1.0
        # a clip forgets the roundings before it
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=2000 / 2**32)

    def test_gains_asked_for_are_at_most_these_off(self):
        law = DualPi2(arithmetic="fixed")
        assert effective(law) == pytest.approx([0.16007, 3.19778], rel=1e-5)
        delays = [20_000_000] * 50
        assert updates(law, delays)[-1] == pytest.approx(updates(DualPi2(), delays)[-1], rel=1e-3)

    def test_integers_are_a_fixed_point(self):
        """A law with the gains that Linux really runs is run with the same integers."""
        law = DualPi2(arithmetic="fixed")
        alpha, beta = effective(law)
        again = DualPi2(arithmetic="fixed", alpha=alpha, beta=beta)
        delays = [0, 20_000_000, 35_000_000, 5_000_000]
        np.testing.assert_array_equal(updates(law, delays), updates(again, delays))

    def test_wrap_is_a_quirk(self):
        """A fall by more than 1/beta leaves a large p' in Linux, where it should be 0."""
        delays = [500_000_000] * 20 + [1_000_000]
        wrapped, right = (
            updates(DualPi2(arithmetic="fixed", quirks=quirks), delays)[-1] / FULL
            for quirks in (True, False)
        )
        assert wrapped > 0.1
        assert right == 0.0

    def test_real_is_the_law_of_the_fluid(self, rng):
        law = DualPi2(drop_overload=False)
        state = law.initial()
        delays = np.abs(np.cumsum(rng.normal(0.0, 8e6, 300))).astype(np.int64)
        expected = []
        for delay in delays * 1e-9:
            seen = Seen((delay, 0.0), 0.0, 0.0, 1.0)
            state = law.saturate(law.update(state, seen, law.update_interval))
            expected.append(state[0])
        assert max(expected) == 0.5
        np.testing.assert_allclose(updates(law, delays) / FULL, expected, rtol=0, atol=3e-10)


def packets(*arrivals, departures=0, start=0, gap=10):
    """Events: arrivals (bytes, ecn) at `start`, one per us, then departures `gap` us apart."""
    times = [start + i for i in range(len(arrivals))]
    times += [start + len(arrivals) + gap * (i + 1) for i in range(departures)]
    blank = [(0, 0)] * departures
    size, ecn = zip(*arrivals, *blank, strict=True)
    return {
        "t_us": times,
        "op": ["E"] * len(arrivals) + ["D"] * departures,
        "bytes": size,
        "ecn": ecn,
    }


class TestQueues:
    def test_share_of_a_full_link(self):
        """Nine of ten bytes are L's while both have packets."""
        events = packets(*[(1500, 1), (1500, 0)] * 2000, departures=2000)
        found = replay_dualpi2(**events, rolls=[FULL] * 10000, p_base=0.0, law=DualPi2())
        served = found.ecn.values[-1000:] != 0
        assert abs(served.sum() - 900) <= 1
        assert found.credit.values[0] == 1514 * (10 - 90)

    @pytest.mark.parametrize("share", [0.0, 0.01, 0.25, 0.5, 1.0])
    def test_other_shares(self, share):
        events = packets(*[(1000, 1), (1000, 0)] * 2000, departures=2000)
        law = DualPi2(c_protection=share)
        found = replay_dualpi2(**events, rolls=[FULL] * 10000, p_base=0.0, law=law)
        classic = (found.ecn.values[-1000:] == 0).sum()
        assert abs(classic - 1000 * share) <= 2

    def test_step_needs_packets_at_arrival(self):
        events = packets(*[(1500, 1)] * 6, departures=6, gap=2000)
        for least, marks in ((0, 6), (2, 4), (9, 0)):
            law = DualPi2(min_step_packets=least)
            found = replay_dualpi2(**events, rolls=[FULL] * 20, p_base=0.0, law=law)
            assert found.ce_set_here.values[6:].sum() == marks

    def test_step_is_strict_and_alone_below_two_packets(self):
        at = packets((1500, 1), departures=1, gap=999)
        found = replay_dualpi2(**at, rolls=[], p_base=0.9, law=DualPi2())
        assert found.ce_set_here.values.tolist() == [0, 0]
        above = packets((1500, 1), departures=1, gap=1000)
        found = replay_dualpi2(**above, rolls=[], p_base=0.9, law=DualPi2())
        assert found.ce_set_here.values.tolist() == [0, 1]

    @pytest.mark.slow
    @pytest.mark.parametrize("drop_at", ["dequeue", "enqueue"])
    def test_ramp_by_one_draw(self, drop_at, rng):
        """Between its ends the ramp marks max(k p', ramp) of all packets."""
        law = DualPi2(ramp="400us", drop_at=drop_at)
        rounds = 3000
        # four come and leave together: the first two leave as much as the floor asks for
        came = np.repeat(10_000 * np.arange(rounds), 8)
        op, ecn, size = ["E"] * 4 + ["D"] * 4, [1] * 8, [1514] * 8
        rolls = rng.integers(0, 2**32, 4 * rounds)
        for waited, p_base, expected in ((900, 0.05, 0.25), (900, 0.2, 0.4), (700, 0.1, 0.2)):
            time = came + np.tile([0] * 4 + [waited] * 4, rounds)
            events = {"t_us": time, "op": op * rounds, "ecn": ecn * rounds, "bytes": size * rounds}
            found = replay_dualpi2(**events, rolls=rolls, p_base=p_base, law=law)
            marked = found.ce_set_here.values.reshape(rounds, 8)
            assert marked[:, 4:6].mean() == pytest.approx(expected, abs=0.025), (waited, p_base)
            # below the floor the ramp acts alone
            ramp = max(waited - 800, 0) / 400
            assert marked[:, 6:].mean() == pytest.approx(ramp, abs=0.025)
            assert not marked[:, :4].any()
            assert found.n_rolls.values.reshape(rounds, 8)[:, 4:].max() == 1

    def test_which_delay_drives(self):
        """RFC 9332 looks at C alone, Linux at the older of both heads."""
        events = packets((1500, 1), (1500, 0))
        for key, value in (("t_us", 40_000), ("op", "T"), ("bytes", 0), ("ecn", 0)):
            events[key] = [*events[key], value]
        events["t_us"][1] = 30_000  # C has waited for 10 ms, L for 40
        linux, rfc = (
            replay_dualpi2(**events, rolls=[], law=DualPi2(variant=variant)).p_base.values[-1]
            for variant in ("linux6.18", "rfc9332")
        )
        assert linux == pytest.approx(0.16 * 0.025 + 3.2 * 0.04, abs=1e-9)
        assert rfc == pytest.approx(-0.16 * 0.005 + 3.2 * 0.01, abs=1e-9)

    def test_full_queue_drops_the_newcomer(self):
        events = packets(*[(1500, ecn) for ecn in (0, 1, 2, 3)], departures=4)
        link = Link("10Mbit/s", "3 packets")
        found = replay_dualpi2(**events, rolls=[FULL] * 9, p_base=0.0, link=link)
        assert found.result.values.tolist()[:4] == ["QUEUE"] * 3 + ["DROP"]
        assert found.id.values.tolist()[4:] == [1, 0, 2, -1]

    @settings(max_examples=40, deadline=None)
    @given(
        events=st.lists(
            st.tuples(
                st.sampled_from("EEED D T".replace(" ", "")),
                st.integers(0, 9000),
                st.integers(40, 1500),
                st.integers(0, 3),
            ),
            min_size=1,
            max_size=300,
        ),
        seed=st.integers(0, 2**32 - 1),
        drop_at=st.sampled_from(["dequeue", "enqueue"]),
        ramp=st.sampled_from([None, "400us"]),
        arithmetic=st.sampled_from(["real", "fixed"]),
        drop_overload=st.booleans(),
        buffer=st.integers(1, 40),
    )
    def test_nothing_is_lost_or_overtakes(self, events, seed, buffer, **fields):
        op, gaps, size, ecn = zip(*events, strict=True)
        law = DualPi2(**fields)
        link = Link("10Mbit/s", f"{buffer} packets")
        random = np.random.default_rng(seed).integers(0, 2**32, 5 * len(op))
        time = np.cumsum(gaps)
        found = replay_dualpi2(
            t_us=time, op=op, bytes=size, ecn=ecn, rolls=random, law=law, link=link
        )
        arrived, left = np.array(op) == "E", (np.array(op) == "D") & (found.id.values >= 0)
        result = found.result.values
        dropped = sum(text == "DROP" for text in result[arrived])
        dropped += sum(len(text.split(";")) for text in result[~arrived] if text != "-")
        queued = found.qlen_C.values + found.qlen_L.values
        assert arrived.sum() == left.sum() + dropped + queued[-1]
        assert queued.max() <= buffer
        came = np.array(ecn)[arrived]
        ids = found.id.values[left]
        for band in (0, 1):
            order = [i for i in ids if came[i] % 2 == band]
            assert order == sorted(set(order))
        leaving, before = found.ecn.values[left], came[ids]
        marked = found.ce_set_here.values[left] == 1
        assert np.all(leaving[marked] == 3)
        assert np.all(leaving[~marked] == before[~marked])
        assert np.all(before[marked] != 0)
        assert np.all((found.p_base >= 0.0) & (found.p_base <= law.limit + 1e-12))


BAD = [
    ({"op": ["E", "X"]}, QuantityError, r"op = 'X' is unknown: give one of 'D', 'E', 'T'\."),
    ({"t_us": [5, 1]}, DomainError, r"t_us falls, and time does not: give the events in the"),
    ({"t_us": [0.5, 1]}, DomainError, r"t_us = 0\.5 is outside the whole numbers \[0, 1000000000"),
    ({"t_us": ["0", "1"]}, QuantityError, r"t_us = \['0', '1'\] is no row of numbers: give whole"),
    ({"ecn": [4, 0]}, DomainError, r"ecn = 4 is outside the whole numbers \[0, 3\]: give whole"),
    ({"bytes": [-1, 0]}, DomainError, r"bytes = -1 is outside the whole numbers \[0, 10+\]"),
    ({"bytes": [65536, 0]}, DomainError, r"bytes = 65536 is outside the whole numbers \[0, 65535"),
    ({"bytes": [1500]}, QuantityError, r"bytes has the shape \(1,\) instead of a row of 2, as"),
    ({"rolls": [2**32]}, DomainError, r"rolls = 4294967296 is outside the whole numbers \[0, 429"),
    ({"rolls": [np.nan]}, DomainError, r"rolls = nan is outside the whole numbers"),
    (
        {"rolls": [[1], [1, 2]]},
        QuantityError,
        r"rolls = \[\[1\], \[1, 2\]\] is no rectangular array",
    ),
    ({"law": CoDel()}, QuantityError, r"law = CoDel\(.* is no DualPi2, which is what is replayed"),
    ({"p_base": 1.5}, DomainError, r"p_base = 1\.5 is outside \[0, 1\]: give a number without"),
    ({"p_base": [0.1]}, QuantityError, r"p_base = \[0\.1\] is an array: give one number\."),
    (
        {"law": DualPi2(k=1.5, arithmetic="fixed")},
        DomainError,
        r"DualPi2 k = 1\.5 is none of 1, 2 \.\.\. 255, which Linux can couple by: give one of",
    ),
    (
        {"law": DualPi2(c_protection=0.125)},
        DomainError,
        r"DualPi2 c_protection = 0\.125 is no whole number of percent, .*: give one of 0, 0\.01",
    ),
    (
        {"law": DualPi2(min_step_packets=1.5)},
        DomainError,
        r"DualPi2 min_step_packets = 1\.5 is no whole number of packets: give one, such as 2\.",
    ),
    (
        {"law": DualPi2(target="1h")},
        DomainError,
        r"DualPi2 target = 3600\.0 is outside \[1e-09, 1000\) s, .*: give a time such as",
    ),
    (
        {"link": Link("10Mbit/s", packet_size="1500.5B")},
        DomainError,
        r"Link packet_size = 1500\.5 is none of 1, 2 \.\.\. 65535 bytes, .*: give a size such as",
    ),
    ({"law": DualPi2(beta=1e9)}, DomainError, r"DualPi2 beta = 1000000000\.0 is beyond what a"),
    (
        {"law": DualPi2(beta=[1.0, 2.0])},
        UnsupportedError,
        r"DualPi2 beta is an array of shape \(2,\), and a queue of packets is a single one: give",
    ),
]


@pytest.mark.parametrize(("change", "error", "sentence"), BAD)
def test_bad_input_gets_one_sentence(change, error, sentence):
    good = packets((1500, 0), departures=1)
    with pytest.raises(error, match=sentence):
        replay_dualpi2(**good | {"rolls": []} | change)


def test_too_few_rolls_are_refused():
    events = packets(*[(1500, 0)] * 5, departures=2)
    with pytest.raises(
        DomainError, match=r"are 1 random numbers, and the events consume more: give"
    ):
        replay_dualpi2(**events, rolls=[FULL])


def test_result_has_units_and_provenance():
    found = replay_dualpi2(**packets((1500, 0), departures=1), rolls=[])
    for variable in found.values():
        assert variable.attrs["units"]
        assert variable.attrs["long_name"]
    assert "DualPi2" in found.law
