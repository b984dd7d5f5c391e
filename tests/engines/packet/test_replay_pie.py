"""PIE's arithmetic against Linux's own, row by row, and what must hold of any run."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import rows_of, runs_of
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.packet import replay, replay_drop, replay_rate, variants

FULL = {"linux6.18": 2**56 - 1, "linux4.14": 2**32 - 1}
TICK = 64e-9
DELAYS = (st.integers(0, 10**8) | st.integers(0, 6 * 10**10)).map(lambda ns: ns / 1e9)


UPDATES = runs_of("linux_pie_updates.csv", "variant", "case")
INTEGERS = [name for name in UPDATES if not name.startswith("rfc")]
DROPS = runs_of("linux_pie_drop.csv", "variant", "prob")
GUARDS = [name for name in DROPS if name.startswith("guard")]


def replay_run(name, law=None):
    rows = UPDATES[name]
    delay = np.array([int(row["qdelay_us"]) for row in rows]) / 1e6
    backlog = [float(row["backlog_bytes"] or 0) for row in rows]
    return replay(law or name.split("/")[0], queue_delay=delay, backlog=backlog)


class TestLinuxUpdates:
    @pytest.mark.parametrize("name", INTEGERS)
    def test_every_state(self, name):
        found = replay_run(name)
        expected = [int(row["prob_hex"], 16) for row in UPDATES[name]]
        np.testing.assert_array_equal(found.state, np.array(expected, np.uint64))
        burst = [int(row["burst_us"]) for row in UPDATES[name]]
        np.testing.assert_array_equal(np.rint(found.burst * 1e6), burst)
        printed = [float(row["prob"]) for row in UPDATES[name]]
        np.testing.assert_allclose(found.controller, printed, rtol=1e-8, atol=1e-15)
        np.testing.assert_array_equal(found.p, np.minimum(found.controller, 1.0))

    @pytest.mark.parametrize("name", [name for name in UPDATES if name.startswith("rfc")])
    def test_the_rule_of_the_rfc(self, name):
        found = replay_run(name)
        expected = [float(row["prob"]) for row in UPDATES[name]]
        np.testing.assert_allclose(found.p, expected, rtol=1e-8, atol=1e-9)
        assert not found.state.any()

    def test_both_names_of_the_older_generation(self):
        assert variants()["linux4.14"] is variants()["linux4.14(2013-table)"]


def smooth_delays(n=600):
    """A walk of whole ticks around the target, without zeros and long delays."""
    rng = np.random.default_rng(5)
    ms = np.clip(16.0 + np.cumsum(rng.normal(0.02, 1.5, n)), 1.0, 60.0)
    return np.rint(ms * 1e-3 / TICK / 125) * 125 * TICK


class TestRealNumbers:
    @pytest.mark.parametrize("target", ["15ms", "20ms"])
    def test_as_the_integers_of_linux(self, target):
        law = pf.Pie(target=target)
        integers = dataclasses.replace(law, arithmetic="fixed")
        delay = np.concatenate([np.full(200, 0.04), smooth_delays()])
        real = replay(law, queue_delay=delay).p.values
        fixed = replay(integers, queue_delay=delay).p.values
        assert real.max() > 0.1
        np.testing.assert_allclose(fixed, real, rtol=1e-4, atol=1e-8)

    @pytest.mark.parametrize("case", ["step", "ramp", "sine"])
    def test_on_the_samples_of_the_trace(self, case):
        fixed = replay_run(f"linux6.18/{case}")
        real = replay_run(f"linux6.18/{case}", pf.Pie())
        np.testing.assert_allclose(real.p, fixed.p, rtol=1e-4, atol=1e-8)

    def test_the_law_is_the_one_of_the_fluid(self):
        law, state = pf.Pie(variant="rfc8033"), (0.0, 0.0)
        delay = [0.0, 0.0, 0.03, 0.3, 0.3, 0.5, 0.001, 0.0, 0.0, 0.0]
        expected = []
        for sample in delay:
            state = law.saturate(law.update(state, pf.Seen(sample, 0.0, 0.0, 0.0), 0.015))
            expected.append(float(state[0]))
        np.testing.assert_allclose(replay(law, queue_delay=delay).p, expected, rtol=1e-12)


class TestQuirks:
    @pytest.mark.parametrize("variant", ["linux6.18", "linux4.14"])
    def test_none_acts_on_an_ordinary_queue(self, variant):
        law = pf.Pie(variant=variant, arithmetic="fixed")
        without = dataclasses.replace(law, quirks=False)
        delay = smooth_delays()
        np.testing.assert_array_equal(
            replay(law, queue_delay=delay).state, replay(without, queue_delay=delay).state
        )

    def test_the_decay_of_the_older_generation(self):
        law = pf.Pie(variant="linux4.14", target="20ms", arithmetic="fixed")
        delay = [*np.full(100, 0.03), 0.0, 0.0]
        kernel, sound = (
            replay(dataclasses.replace(law, quirks=quirks), queue_delay=delay).state.values
            for quirks in (True, False)
        )
        np.testing.assert_array_equal(kernel[:-1], sound[:-1])
        # Between 1 and 10 % the integers hold a gain of 17 per tick.
        before = int(sound[-2]) - 17 * (20_000_000 >> 6)
        assert before / 2**32 == pytest.approx(0.0273, abs=1e-4)
        # From 1.02 % on the product with 98 does not fit into 32 bits.
        assert int(sound[-1]) == before * 98 // 100
        assert int(kernel[-1]) == before * 98 % 2**32 // 100

    def test_the_step_of_the_older_generation_changes_its_sign(self):
        law = pf.Pie(variant="linux4.14", target="20ms", arithmetic="fixed")
        delay = [*np.full(60, 0.6), 0.005]
        kernel = replay(law, queue_delay=delay).controller.values
        sound = replay(dataclasses.replace(law, quirks=False), queue_delay=delay).controller.values
        assert kernel[-2] == sound[-2] == 1.0
        assert kernel[-1] == 1.0
        assert sound[-1] == pytest.approx(0.26, abs=0.01)

    def test_the_newer_generation_winds_up_beyond_1(self):
        law = pf.Pie(arithmetic="fixed")
        delay = np.full(90, 0.6)
        kernel = replay(law, queue_delay=delay)
        sound = replay(dataclasses.replace(law, quirks=False), queue_delay=delay)
        assert float(kernel.controller[-1]) == pytest.approx(3.6, abs=0.1)
        assert float(kernel.p.max()) == 1.0
        assert float(sound.controller.max()) == 1.0
        assert int(sound.state.max()) == FULL["linux6.18"]

    @pytest.mark.slow
    def test_what_is_wound_up_drops_from_an_empty_queue(self):
        """After slow start into a deep buffer the kernel uses 91 % of the link, in twelve runs."""
        link = pf.Link("10Mbit/s", "1000 packets", kind="htb")
        flows = [
            pf.Flows(pf.Reno(), 2, "20ms", start_jitter="100ms"),
            pf.Flows(pf.Dctcp(), 1, "30ms", start_jitter="100ms"),
            pf.Flows(pf.Cbr(rate="1Mbit/s"), 1),
        ]
        half = pf.Change("2s", capacity="5Mbit/s")
        used = []
        for quirks in (True, False):
            law = pf.Pie(ecn=True, arithmetic="fixed", quirks=quirks)
            scenario = pf.Scenario("4s", link, law, flows, changes=half)
            runs = pf.packet.simulate(scenario, seeds=12)
            used.append(float(pf.summarize(runs, after="1s").utilization.mean()))
        # Seeds deviate by 2.6 points, so that a mean of twelve does by less than one.
        assert used[0] == pytest.approx(0.913, abs=0.03)
        assert used[1] > 0.96

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(DELAYS, min_size=1),
        st.sampled_from(["linux6.18", "linux4.14"]),
        st.sampled_from(["real", "fixed"]),
    )
    def test_p_stays_in_range(self, delay, variant, arithmetic):
        law = pf.Pie(variant=variant, arithmetic=arithmetic, quirks=False)
        found = replay(law, queue_delay=delay)
        assert float(found.controller.min()) >= 0.0
        assert float(found.controller.max()) <= 1.0
        if arithmetic == "fixed":
            assert int(found.state.max()) <= FULL[variant]

    @settings(max_examples=30, deadline=None)
    @given(st.lists(DELAYS, min_size=1))
    def test_what_packets_see_is_a_probability_with_quirks_too(self, delay):
        for variant in FULL:
            p = replay(pf.Pie(variant=variant, arithmetic="fixed"), queue_delay=delay).p
            assert 0.0 <= float(p.min()) <= float(p.max()) <= 1.0


class TestHeuristics:
    """Each of them can be left out."""

    def test_cap(self):
        delay = [*np.full(80, 0.1), 0.3]
        laws = [pf.Pie(arithmetic="fixed", cap=cap, boost250=False) for cap in (True, False)]
        capped, free = (replay(law, queue_delay=delay).p.values for law in laws)
        assert capped[-2] == free[-2] > 0.1
        assert capped[-1] - capped[-2] == pytest.approx(0.02, rel=1e-9)
        assert free[-1] - free[-2] == pytest.approx(0.125 * 0.285 + 1.25 * 0.2, rel=1e-6)

    def test_boost(self):
        delay = np.full(30, 0.3)
        boosted, free = (
            replay(pf.Pie(arithmetic="fixed", boost250=boost), queue_delay=delay).p.values
            for boost in (True, False)
        )
        # The first step is the same but for the boost.
        assert boosted[0] - free[0] == pytest.approx(0.02, rel=1e-6)

    @pytest.mark.parametrize(("backlog", "falls"), [(0, True), (1500, False)])
    def test_decay_waits_for_an_empty_queue(self, backlog, falls):
        # The integral term at a delay of 0 lowers p, too: leave it out of the comparison.
        for arithmetic in ("real", "fixed"):
            sound = pf.Pie(arithmetic=arithmetic, quirks=False)
            laws = [dataclasses.replace(sound, decay=decay) for decay in (True, False)]
            delay = [*np.full(300, 0.1), 0.0, 0.0]
            waiting = [*np.full(301, 1500.0), float(backlog)]
            found = [replay(law, queue_delay=delay, backlog=waiting).p.values for law in laws]
            assert found[0][-2] == found[1][-2]
            ratio = found[0][-1] / found[1][-1]
            assert ratio == pytest.approx(63 / 64 if falls else 1.0, rel=1e-9)

    def test_gain_tables(self):
        delay = np.full(3, 0.03)
        for table, factor in (("rfc8033", 2048), ("ietf_early", 32), ("hpsr13", 8), ("none", 1)):
            law = pf.Pie(arithmetic="fixed", table=table)
            first = float(replay(law, queue_delay=delay).p[0])
            assert first == pytest.approx((0.125 * 0.015 + 1.25 * 0.03) / factor, rel=1e-6)


class TestDecisions:
    @pytest.mark.parametrize("name", [name for name in DROPS if name not in GUARDS])
    def test_every_decision(self, name):
        rows = DROPS[name]
        found = replay_drop(
            "linux6.18",
            p=float(rows[0]["prob"]),
            rnd=[int(row["rnd_hex"], 16) for row in rows],
        )
        for column in ("rnd_used", "drop"):
            np.testing.assert_array_equal(found[column], [int(row[column]) for row in rows])
        sums = [float(row["accu_prob"]) for row in rows]
        np.testing.assert_allclose(found.accu_prob, sums, atol=1e-9)

    @pytest.mark.parametrize("name", GUARDS)
    def test_every_guard(self, name):
        (row,) = DROPS[name]
        guard = dict(pair.split("=") for pair in row["variant"].removeprefix("guard:").split(";"))
        found = replay_drop(
            "linux6.18",
            p=float(row["prob"]),
            rnd=[int(row["rnd_hex"], 16)],
            queue_delay=int(guard["qdelay_us"]) / 1e6,
            burst=int(guard["burst_us"]) / 1e6,
            backlog=int(guard["backlog"]),
            accu_prob=1.0,
        )
        assert int(found["drop"][0]) == int(row["drop"])
        assert float(found.accu_prob[0]) == float(row["accu_prob"])

    def test_the_older_generation_draws_32_bits_for_every_packet(self):
        threshold = int(0.3 * (2**32 - 1))
        found = replay_drop("linux4.14", p=0.3, rnd=[threshold - 1, threshold, 0, 2**32 - 1])
        assert found["drop"].values.tolist() == [1, 0, 1, 0]
        assert found.rnd_used.values.tolist() == [1, 1, 1, 1]

    def test_a_packet_that_meets_p_of_0_ends_the_sum(self):
        """RFC 8033, section 5.1: accu_prob is set to 0, and to no more, when drop_prob is 0."""
        found = replay_drop("linux6.18", p=0.0, rnd=[0, 0], accu_prob=[8.4, np.nan])
        assert found.accu_prob.values.tolist() == [0.0, 0.0]
        assert found["drop"].values.tolist() == [0, 0]

    def test_too_large_a_sum_drops_without_a_draw(self):
        found = replay_drop("linux6.18", p=0.1, rnd=[2**64 - 1] * 2, accu_prob=[8.4, np.nan])
        assert found["drop"].values.tolist() == [1, 0]
        assert found.rnd_used.values.tolist() == [0, 0]
        assert found.accu_prob.values.tolist() == pytest.approx([0.0, 0.1])

    def test_the_mean_spacing_of_drops(self):
        """One drop in ceil(0.85/p) - 1 + 1/p packets."""
        rng = np.random.default_rng(7)
        rnd = rng.integers(0, 2**64, 200_000, np.uint64)
        fraction = float(replay_drop("linux6.18", p=0.01, rnd=rnd)["drop"].mean())
        assert fraction == pytest.approx(1 / (84 + 100), rel=0.03)
        law = pf.Pie(derandomize=False)
        assert float(replay_drop(law, p=0.01, rnd=rnd)["drop"].mean()) == pytest.approx(
            0.01, rel=0.07
        )


class TestDepartures:
    @pytest.mark.parametrize("mode", ["estimator", "timestamp"])
    def test_every_row(self, mode):
        rows = [row for row in rows_of("linux_pie_departures.csv") if row["mode"] == mode]
        numbers = {key: np.array([int(row[key]) for row in rows]) for key in list(rows[0])[1:]}
        given_ = {key: numbers[key] for key in ("now_ns", "pkt_bytes", "backlog_bytes")}
        if mode == "timestamp":
            # One packet of 1000 bytes in 0.8 ms, when the queue was filled at once.
            given_["sojourn_us"] = numbers["backlog_bytes"] * 0.8
        found = replay_rate("linux6.18", **given_)
        np.testing.assert_array_equal(found.x, numbers["x"])
        np.testing.assert_array_equal(found.burst_us, numbers["burst_us"])
        if mode == "estimator":
            np.testing.assert_array_equal(found.avg_dq_rate, numbers["avg_dq_rate"])

    def test_two_packets_at_one_instant_end_no_cycle(self):
        found = replay_rate(now_ns=[0, 0, 0], pkt_bytes=16384, backlog_bytes=50_000)
        assert found.avg_dq_rate.values.tolist() == [0, 0, 0]
        assert found.x.values.tolist() == [16384, 32768, 49152]


BAD = [
    ({"queue_delay": [0.1, np.nan]}, pf.QuantityError, r"not finite"),
    ({"queue_delay": [-0.1]}, pf.DomainError, r"queue_delay = -0.1 is outside \[0, 60\]"),
    ({"queue_delay": [61.0]}, pf.DomainError, r"outside"),
    ({"queue_delay": 0.1}, pf.QuantityError, r"one-dimensional"),
    ({"queue_delay": [[0.1]]}, pf.QuantityError, r"one-dimensional"),
    ({"queue_delay": []}, pf.QuantityError, r"empty"),
    ({"queue_delay": "soon"}, pf.QuantityError, r"give a time"),
    ({"queue_delay": [0.1, 0.1], "backlog": [1.0, 2.0, 3.0]}, pf.QuantityError, r"shape \(3,\)"),
    ({"queue_delay": [0.1], "backlog": [-1.0]}, pf.DomainError, r"backlog"),
]


class TestBadInput:
    @pytest.mark.parametrize(("arguments", "error", "words"), BAD)
    def test_replay(self, arguments, error, words):
        with refused(error, match=words):
            replay("linux6.18", **arguments)

    @pytest.mark.parametrize("variant", ["linux7", None, 5, ["linux6.18"]])
    def test_variant(self, variant):
        with pytest.raises(pf.QuantityError, match=r"is unknown: give one of 'linux6.18'"):
            replay(variant, queue_delay=[0.1])

    def test_queues_that_have_no_such_update(self):
        with pytest.raises(pf.UnsupportedError, match="TailDrop is no queue of the PI family"):
            replay(pf.TailDrop(), queue_delay=[0.1])
        with pytest.raises(pf.UnsupportedError, match="is no kernel"):
            replay(pf.Pie(variant="rfc8033", arithmetic="fixed"), queue_delay=[0.1])
        with pytest.raises(pf.UnsupportedError, match="more than the integers"):
            replay(pf.Pie(table="sqrt2p", arithmetic="fixed"), queue_delay=[0.1])
        with pytest.raises(pf.UnsupportedError, match="alpha is an array"):
            replay(pf.Pie(alpha=[0.1, 0.2]), queue_delay=[0.1])

    def test_gains_that_the_integers_do_not_hold(self):
        with pytest.raises(pf.DomainError, match=r"multiple of 1/16 Hz .*, such as 0.125, or"):
            replay(pf.Pie(alpha=0.15, arithmetic="fixed"), queue_delay=[0.1])
        with pytest.raises(pf.DomainError, match=r"up to 2 Hz, such as 2.0"):
            replay(pf.Pie(beta=3.0, arithmetic="fixed"), queue_delay=[0.1])

    @pytest.mark.parametrize(
        ("arguments", "error", "words"),
        [
            ({"p": 1.5, "rnd": [1]}, pf.DomainError, r"p = 1.5 is outside"),
            ({"p": 0.5, "rnd": [-1]}, pf.DomainError, r"rnd = -1 is outside"),
            ({"p": 0.5, "rnd": [0.5]}, pf.QuantityError, r"whole numbers"),
            ({"p": 0.5, "rnd": []}, pf.QuantityError, r"whole numbers"),
            ({"p": [0.5, 0.5], "rnd": [1]}, pf.QuantityError, r"p has the shape \(2,\) where 1"),
            ({"p": 0.5, "rnd": [1], "ecn": 1}, pf.UnsupportedError, r"ecn = 1 plays no part"),
            ({"p": 0.5, "rnd": [1], "accu_prob": 256.0}, pf.DomainError, r"accu_prob"),
            (
                {"p": 0.5, "rnd": [1], "accu_prob": "much"},
                pf.QuantityError,
                r"accu_prob = 'much' is",
            ),
            ({"p": 0.5, "rnd": [1], "burst": -1.0}, pf.DomainError, r"burst"),
            ({"p": [[1], [1, 0]], "rnd": [1]}, pf.QuantityError, r"p = .* is no rectangular"),
        ],
    )
    def test_decisions(self, arguments, error, words):
        with pytest.raises(error, match=words):
            replay_drop("linux6.18", **arguments)

    def test_32_bits(self):
        with pytest.raises(pf.DomainError, match="give whole numbers of 32 bits"):
            replay_drop("linux4.14", p=0.5, rnd=[2**32])

    def test_departures(self):
        with pytest.raises(pf.QuantityError, match=r"now_ns = 5 at 1 is earlier"):
            replay_rate(now_ns=[9, 5], pkt_bytes=1, backlog_bytes=1)
        with pytest.raises(pf.QuantityError, match=r"pkt_bytes has the shape \(3,\)"):
            replay_rate(now_ns=[1, 5], pkt_bytes=[1, 1, 1], backlog_bytes=1)
        with pytest.raises(pf.UnsupportedError, match="Pi2 measures no rate"):
            replay_rate(pf.Pi2(), now_ns=[1], pkt_bytes=1, backlog_bytes=1)
