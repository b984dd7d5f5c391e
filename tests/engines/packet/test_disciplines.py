"""The queue disciplines of the PI family, driven packet by packet."""

from __future__ import annotations

import functools

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
HIT, MISS = 0, 2**64 - 1


def make(law, **queue):
    return _core.QueueDiscipline(*discipline_of(law, LINK), **queue)


def fill(queue, packets, now=0, **packet):
    for _ in range(packets):
        queue.enqueue(now, draws=[MISS, MISS], **packet)


def raise_p(queue, wait=300 * MS, updates=20, packets=10):
    """Let the controller see packets that have waited long; returns the time."""
    now = 0
    for _ in range(updates):
        fill(queue, packets, now)
        now += wait
        for _ in range(packets - 1):
            queue.dequeue(now, draws=[MISS] * 2 * packets)
        queue.tick(now)
        queue.dequeue(now, draws=[MISS] * 2)
    return now


def law_of(kind, **fields):
    kinds = {"pi": pf.Pi, "pi2": pf.Pi2, "coupled": pf.CoupledPi2, "pie": pf.Pie}
    return kinds[kind](**fields)


EVERY = pytest.mark.parametrize("kind", ["pi", "pi2", "coupled", "pie"])
# Without the heuristics that keep PIE from signalling.
PLAIN = {"pie": {"half_target": False, "derandomize": False, "burst": 0.0}}
ARITHMETIC = pytest.mark.parametrize("arithmetic", ["real", "fixed"])


class TestQueue:
    def test_first_in_first_out_while_it_grows(self):
        queue = make(pf.TailDrop(), limit=10**6)
        rng = np.random.default_rng(3)
        sent = left = 0
        for _ in range(300):
            for _ in range(rng.integers(0, 60)):
                queue.enqueue(sent)
                sent += 1
            for _ in range(rng.integers(0, 40)):
                found = queue.dequeue(10**9)
                if found is None:
                    assert left == sent
                    break
                assert found == (left, NOT_ECT, 10**9 - left)
                left += 1
        assert queue.packets == sent - left > 1000
        assert queue.bytes == 1500 * queue.packets

    @pytest.mark.parametrize("kind", ["pi", "pi2", "coupled", "pie", "taildrop"])
    def test_a_full_queue_loses_what_comes(self, kind):
        law = pf.TailDrop() if kind == "taildrop" else law_of(kind)
        queue = make(law, limit=3)
        fill(queue, 5)
        assert queue.packets == 3
        assert queue.counts[DROP_FULL] == 2
        assert queue.counts[SENT] == 5

    @pytest.mark.parametrize(
        "law",
        [
            pf.Pi(), pf.Pi(drop_at="dequeue"), pf.Pi2(), pf.Pi2(drop_at="dequeue"),
            pf.DualPi2(drop_at="enqueue"), pf.DualPi2(drop_at="dequeue"),
            pf.Pie(table="none", burst=0.0), pf.CoDel(), pf.TailDrop(), pf.Price(),
            pf.Rem(), pf.Rem(bytes=True), pf.Avq(), pf.Avq(bytes=False),
        ],
        ids=lambda law: type(law).__name__,
    )  # fmt: skip
    def test_every_packet_is_delivered_or_dropped_or_waits(self, law, rng):
        queue = make(law, limit=60)
        now, tick, taken = 0, queue.first_tick(), 0
        for _ in range(4000):
            now += int(rng.exponential(1.2 * MS))
            if rng.random() < 0.55:
                queue.enqueue(now, ecn=int(rng.integers(4)))
            else:
                taken += queue.dequeue(now) is not None
            while tick is not None and tick <= now:
                before, tick = tick, queue.tick(tick)
                assert tick > before
        lost = sum(queue.counts[kind] for kind in (DROP_AQM, DROP_FULL, DROP_OVERLOAD))
        assert lost > 0
        assert queue.counts[SENT] == taken + lost + queue.packets

    def test_taildrop_has_no_timer(self):
        queue = make(pf.TailDrop())
        assert queue.first_tick() is None
        with pytest.raises(ValueError, match="taildrop has no timer"):
            queue.tick(0)
        assert queue.dequeue(0) is None

    def test_bad_arguments(self):
        with pytest.raises(ValueError, match="'vegas' is not a queue discipline"):
            _core.QueueDiscipline("vegas", {})
        with pytest.raises(
            ValueError, match=r"codel lacks 'target', 'interval', 'ecn', 'ce_threshold'"
        ):
            _core.QueueDiscipline("codel", {"fixed": 1.0})
        with pytest.raises(ValueError, match=r"lottery cannot have these parameters"):
            _core.QueueDiscipline("lottery", {"p": 1.5, "mark": 0.0})


class TestLottery:
    @pytest.mark.parametrize("p", [0.0, 0.01, 0.3, 1.0])
    @pytest.mark.parametrize("mark", [False, True])
    def test_fraction(self, p, mark):
        queue = _core.QueueDiscipline("lottery", {"p": p, "mark": mark}, limit=10**6)
        n = 20_000
        for i in range(n):
            queue.enqueue(i, ecn=ECT0 if i % 2 else NOT_ECT)
        for cause, expected in ((DROP_AQM, p * n / (1 + mark)), (MARK_AQM, mark * p * n / 2)):
            assert abs(queue.counts[cause] - expected) <= 5 * np.sqrt(expected * (1 - p))
        assert queue.packets == n - queue.counts[DROP_AQM]
        assert queue.probe() == (p, p, p)

    def test_only_what_can_be_marked_is(self):
        queue = _core.QueueDiscipline("lottery", {"p": 1.0, "mark": 1.0})
        for ecn in (NOT_ECT, ECT1, ECT0, CE):
            queue.enqueue(0, ecn=ecn)
        assert [queue.dequeue(0)[1] for _ in range(3)] == [CE, CE, CE]
        assert queue.counts[DROP_AQM] == 1


class TestTimer:
    @EVERY
    @ARITHMETIC
    def test_first_and_next(self, kind, arithmetic):
        queue = make(law_of(kind, update_interval="32ms", arithmetic=arithmetic))
        assert queue.first_tick() == (500 * MS if kind == "pie" else 32 * MS)
        assert queue.tick(500 * MS) == 532 * MS
        queue = make(law_of(kind, first_update="7ms", arithmetic=arithmetic))
        assert queue.first_tick() == 7 * MS

    def test_variants_whose_timer_is_late(self):
        assert make(pf.Pi2(variant="pi2-2016")).first_tick() == 500 * MS
        assert make(pf.Pie(variant="linux4.14")).first_tick() == 500 * MS
        assert make(pf.Pie(variant="rfc8033")).first_tick() == 15 * MS
        assert make(pf.Pie(first_update=0.0)).first_tick() == 0

    def test_the_dual_queue(self):
        queue = make(pf.DualPi2(update_interval="16ms"))
        assert queue.first_tick() == 16 * MS
        assert queue.tick(16 * MS) == 32 * MS


class TestDelaySources:
    @pytest.mark.parametrize("kind", ["pi", "pi2", "coupled"])
    @ARITHMETIC
    def test_the_age_of_the_head(self, kind, arithmetic):
        law = law_of(kind, alpha=0.3125, beta=3.125, arithmetic=arithmetic)
        queue = make(law)
        fill(queue, 2, now=0)
        fill(queue, 5, now=20 * MS)
        queue.tick(50 * MS)
        expected = 0.3125 * 0.03 + 3.125 * 0.05
        assert queue.probe()[0] == pytest.approx(expected, rel=0.02)

    @ARITHMETIC
    def test_the_length(self, arithmetic):
        law = pf.Pi(alpha=0.125, beta=1.25, target="2ms", per_packet="1ms", arithmetic=arithmetic)
        queue = make(law)
        fill(queue, 30)
        queue.tick(7 * MS)
        assert queue.probe()[0] == pytest.approx(0.125 * 0.028 + 1.25 * 0.03, rel=0.02)

    def test_the_form_of_hollot(self):
        law = pf.Pi.from_hollot(1.822e-3, 1.816e-3, 160, 20, "15Mbit/s", "500B")
        queue = make(law)
        p = before = 0.0
        now = 0
        for length in (50, 130, 90, 10, 60):
            while queue.packets < length:
                queue.enqueue(now, bytes=500, draws=[MISS])
            while queue.packets > length:
                queue.dequeue(now)
            now = queue.tick(now)
            # The delay before the first update counts as 0, the length as 0.
            p = min(max(p + 1.822e-3 * (length - 20) - 1.816e-3 * (before - 20), 0), 1)
            if before == 0.0:
                p = 1.822e-3 * (length - 20) + 1.816e-3 * 20
            before = length
            assert queue.probe()[0] == pytest.approx(p, rel=1e-6)

    @pytest.mark.parametrize("law", [pf.Pi2(variant="pi2-2016"), pf.Pie(rate_estimator=True)])
    @ARITHMETIC
    def test_the_departure_rate(self, law, arithmetic):
        fields = {"arithmetic": arithmetic, "quirks": False}
        if isinstance(law, pf.Pie):
            fields |= {"rate_estimator": True, "table": "none", "boost250": False}
        else:
            fields |= {"variant": "pi2-2016"}
        queue = make(type(law)(target="20ms", **fields))
        fill(queue, 400)
        queue.tick(0)
        assert queue.probe()[0] == 0.0  # no rate is known
        now = 0
        for _ in range(200):
            now += 120_000  # 100 Mbit/s: the integers' rate of 205 of 1/256 byte per tick
            queue.dequeue(now)
        queue.tick(now)
        delay = 0.12e-3 * 200
        assert queue.probe()[0] == pytest.approx(
            float(law.alpha) * (delay - 0.02) + float(law.beta) * delay, rel=0.03
        )

    def test_of_ns3_it_is_that_of_2016_without_limit(self):
        """Backlogs of 24 ms, then of 120: p' is the same until 1/2, where the one of 2016 stays."""
        found = []
        for variant in ("ns3", "pi2-2016"):
            queue = make(pf.Pi2(beta=10, target="20ms", variant=variant))
            fill(queue, 400)
            for packet in range(200):
                queue.dequeue(120_000 * (packet + 1))
            queue.tick(24 * MS)
            seen = [queue.probe()[0]]
            fill(queue, 800)
            queue.tick(56 * MS)
            found.append([*seen, queue.probe()[0]])
        assert found[0][0] == found[1][0] == pytest.approx(0.24, rel=0.03)
        assert (found[0][1], found[1][1]) == (1.0, 0.5)  # of 1.2


class TestVerdicts:
    @ARITHMETIC
    def test_one_draw_of_pi(self, arithmetic):
        queue = make(pf.Pi(ecn=True, arithmetic=arithmetic))
        now = raise_p(queue, updates=2)
        p = queue.probe()[0]
        assert 0.1 < p < 0.9
        fill(queue, 4, now)
        for ecn in (NOT_ECT, ECT1, ECT0, CE):
            queue.enqueue(now, ecn=ecn, draws=[int((p - 1e-6) * 2**64)])
            assert queue.drawn == 1
            queue.enqueue(now, ecn=ecn, draws=[int((p + 1e-6) * 2**64)])
        assert queue.counts[MARK_AQM] == 3
        assert queue.counts[DROP_AQM] == 1
        assert queue.probe()[1:] == (p, p)

    @ARITHMETIC
    @pytest.mark.parametrize("kind", ["pi2", "coupled"])
    def test_two_draws(self, kind, arithmetic):
        queue = make(law_of(kind, ecn=False, arithmetic=arithmetic))
        now = raise_p(queue, updates=1, wait=100 * MS)
        u, classic, scalable = queue.probe()
        assert 0.1 < u < 0.5
        assert classic == pytest.approx(u * u, rel=1e-12)
        low, high = int((u - 1e-6) * 2**64), int((u + 1e-6) * 2**64)
        fill(queue, 4, now)
        for draws, used, drops in (([high, low], 1, 0), ([low, high], 2, 0), ([low, low], 2, 1)):
            before = queue.counts[DROP_AQM]
            queue.enqueue(now, ecn=ECT0, draws=draws)
            assert (queue.drawn, queue.counts[DROP_AQM] - before) == (used, drops)
        if kind == "coupled":
            assert scalable == pytest.approx(2 * u, rel=1e-9)
            for ecn in (ECT1, CE):
                before = queue.counts[MARK_AQM]
                queue.enqueue(now, ecn=ecn, draws=[int((2 * u - 1e-6) * 2**64)])
                assert queue.drawn == 1
                assert queue.counts[MARK_AQM] == before + 1
                queue.enqueue(now, ecn=ecn, draws=[int((2 * u + 1e-6) * 2**64)])
                assert queue.counts[MARK_AQM] == before + 1

    @EVERY
    def test_marks_travel_with_the_packet(self, kind):
        queue = make(law_of(kind, ecn=True, **PLAIN.get(kind, {})))
        now = raise_p(queue, updates=1, wait=60 * MS)
        fill(queue, 2, now, bytes=9000)
        queue.enqueue(now, ecn=ECT0, draws=[HIT, HIT])
        assert queue.counts[MARK_AQM] == 1
        ecn = [queue.dequeue(now)[1] for _ in range(3)]
        assert ecn == [NOT_ECT, NOT_ECT, CE]
        assert queue.dequeue(now) is None

    @EVERY
    @pytest.mark.parametrize("drop_at", ["enqueue", "dequeue"])
    def test_the_floor_of_two_packets(self, kind, drop_at):
        queue = make(law_of(kind, drop_at=drop_at, **PLAIN.get(kind, {})), mtu=1000)
        now = raise_p(queue, updates=40)
        assert queue.probe()[0] > 0.5
        base = queue.counts[DROP_AQM]

        def lost(backlog):
            """Drops of one packet that meets `backlog` bytes, which then are taken away again."""
            before = queue.counts[DROP_AQM]
            if drop_at == "enqueue":
                queue.enqueue(now, bytes=backlog, draws=[MISS, MISS])
                queue.enqueue(now, bytes=10, draws=[HIT, HIT])
                while queue.dequeue(now):
                    pass
            else:
                queue.enqueue(now, bytes=10)
                queue.enqueue(now, bytes=backlog)
                while queue.dequeue(now, draws=[HIT, HIT, MISS, MISS]):
                    pass
            return queue.counts[DROP_AQM] - before

        assert base == queue.counts[DROP_AQM]
        assert [lost(1999), lost(2000), lost(1999)] == [0, 1, 0]

    @EVERY
    def test_drops_on_departure_cost_no_time(self, kind):
        queue = make(law_of(kind, drop_at="dequeue", **PLAIN.get(kind, {})))
        now = raise_p(queue, updates=40)
        fill(queue, 8, now)
        assert queue.packets == 8
        draws = 2 if kind in ("pi2", "coupled") else 1
        found = queue.dequeue(now, draws=[HIT] * 3 * draws + [MISS] * 2)
        assert queue.counts[DROP_AQM] == 3
        assert queue.packets == 4
        assert found[1:] == (NOT_ECT, 0)

    @pytest.mark.parametrize("kind", ["pi", "pi2", "coupled", "pie", "dualpi2"])
    def test_each_packet_that_leaves_has_draws_of_its_own(self, kind):
        """Also in the call that has just dropped others: else one drop would empty the queue."""
        law = pf.DualPi2 if kind == "dualpi2" else functools.partial(law_of, kind)
        queue = make(law(drop_at="dequeue", **PLAIN.get(kind, {})), limit=10**5)
        now = raise_p(queue, updates=1, wait=100 * MS) if kind != "pie" else raise_p(queue)
        p, n, base = queue.probe()[1], 4000, queue.counts[DROP_AQM]
        assert 0.05 < p < 0.95
        for _ in range(n):
            queue.enqueue(now)
        while queue.dequeue(now):
            pass
        assert abs(queue.counts[DROP_AQM] - base - n * p) <= 5 * np.sqrt(n * p * (1 - p))


class TestPie:
    def test_burst_allowance_of_linux_runs_out_between_departures(self):
        queue = make(pf.Pie(half_target=False, derandomize=False, table="none"))
        fill(queue, 300)
        queue.dequeue(0)
        queue.dequeue(149 * MS)
        queue.tick(149 * MS)
        queue.enqueue(149 * MS, draws=[HIT])
        assert (queue.counts[DROP_AQM], queue.drawn) == (0, 0)
        assert queue.probe()[1] == 0.0 < queue.probe()[0]
        queue.dequeue(151 * MS)
        queue.enqueue(151 * MS, draws=[HIT])
        assert (queue.counts[DROP_AQM], queue.drawn) == (1, 1)

    def test_burst_allowance_of_the_rfc_runs_out_with_updates(self):
        queue = make(pf.Pie(variant="rfc8033", half_target=False, burst="45ms", table="none"))
        fill(queue, 300)
        now = 0
        for update in range(5):
            now += 15 * MS
            queue.dequeue(now)
            queue.tick(now)
            before = queue.counts[DROP_AQM]
            queue.enqueue(now, draws=[HIT])
            # An update is calm, and gives it anew, until a delay reaches half the target.
            assert queue.counts[DROP_AQM] - before == (1 if update >= 2 else 0)

    def test_no_allowance(self):
        queue = make(pf.Pie(burst=0.0, half_target=False, derandomize=False, table="none"))
        fill(queue, 300)
        queue.dequeue(50 * MS)
        queue.tick(50 * MS)
        queue.enqueue(50 * MS, draws=[HIT])
        assert queue.counts[DROP_AQM] == 1

    def test_below_half_the_target(self):
        for half, expected in ((None, 0), (False, 1)):
            queue = make(pf.Pie(burst=0.0, half_target=half, derandomize=False, table="none"))
            fill(queue, 300)
            queue.dequeue(50 * MS)
            queue.tick(50 * MS)
            fill(queue, 1, 50 * MS)
            for _ in range(299):
                queue.dequeue(50 * MS)
            fill(queue, 20, 50 * MS)
            queue.dequeue(57 * MS)  # the latest delay counts in Linux, though p is still positive
            queue.dequeue(57 * MS)
            queue.enqueue(57 * MS, draws=[HIT])
            assert queue.counts[DROP_AQM] == expected

    def test_the_rfc_looks_at_the_delay_of_the_last_update(self):
        queue = make(pf.Pie(variant="rfc8033", burst=0.0, table="none"))
        fill(queue, 300)
        queue.dequeue(50 * MS)
        queue.tick(50 * MS)
        while queue.packets > 1:
            queue.dequeue(50 * MS)
        fill(queue, 20, 50 * MS)
        queue.dequeue(51 * MS)
        queue.dequeue(51 * MS)
        queue.enqueue(51 * MS, draws=[HIT])
        assert queue.counts[DROP_AQM] == 1

    @pytest.mark.parametrize(("p_high", "marked"), [(False, 1), (True, 0)])
    def test_marks_up_to_10_percent(self, p_high, marked):
        law = pf.Pie(ecn=True, burst=0.0, derandomize=False, half_target=False, boost250=False)
        queue = make(law)
        now = raise_p(queue, updates=60 if p_high else 3, wait=100 * MS)
        assert (queue.probe()[0] > 0.1) is p_high
        fill(queue, 5, now)
        queue.enqueue(now, ecn=ECT0, draws=[HIT])
        assert queue.counts[MARK_AQM] == marked
        assert queue.counts[DROP_AQM] == 1 - marked

    @pytest.mark.parametrize("arithmetic", ["real", "fixed"])
    @pytest.mark.parametrize(("limit", "marks"), [(0.0, False), (0.5, False), (1.0, True)])
    def test_marks_up_to_the_limit_that_is_given(self, limit, marks, arithmetic):
        """At p = 1; packets that cannot be marked are dropped at any limit."""
        off = {
            "quirks": False,
            "derandomize": False,
            "half_target": False,
            "boost250": False,
            "cap": False,
        }
        queue = make(pf.Pie(ecn=True, burst=0.0, mark_limit=limit, arithmetic=arithmetic, **off))
        now = raise_p(queue, updates=60, wait=900 * MS)
        assert queue.probe()[0] == pytest.approx(1.0)
        fill(queue, 5, now)
        dropped = queue.counts[DROP_AQM]
        queue.enqueue(now, ecn=ECT0, draws=[HIT])
        assert queue.counts[MARK_AQM] == int(marks)
        assert queue.counts[DROP_AQM] - dropped == int(not marks)
        queue.enqueue(now, ecn=NOT_ECT, draws=[HIT])
        assert queue.counts[DROP_AQM] - dropped == int(not marks) + 1

    def test_storm_of_marks(self):
        """Above a sum of 8.5 every packet is marked, until one is dropped."""
        queue = make(pf.Pie(ecn=True, burst=0.0, boost250=False))
        now = raise_p(queue, updates=40, wait=60 * MS)
        p = queue.probe()[0]
        assert 0.01 < p < 0.1
        fill(queue, 3, now)
        queue.dequeue(now + 60 * MS)
        base = queue.counts[MARK_AQM]
        for _ in range(int(8.5 / p) + 200):
            queue.enqueue(now, ecn=ECT0, draws=[MISS])
            queue.dequeue(now + 60 * MS)
            fill(queue, 0)
        storm = queue.counts[MARK_AQM] - base
        assert storm > 100
        queue.enqueue(now, ecn=ECT0, draws=[MISS])
        assert queue.drawn == 0
        assert queue.counts[MARK_AQM] - base == storm + 1
        queue.enqueue(now, ecn=NOT_ECT, draws=[MISS])
        assert queue.counts[DROP_AQM] == 1
        queue.enqueue(now, ecn=ECT0, draws=[MISS])
        assert queue.counts[MARK_AQM] - base == storm + 1

    def test_an_idle_queue_gives_the_allowance_anew(self):
        queue = make(pf.Pie(derandomize=False, half_target=False, table="none"))
        fill(queue, 300)
        queue.dequeue(0)
        queue.dequeue(500 * MS)
        queue.enqueue(500 * MS)
        while queue.packets:
            queue.dequeue(500 * MS)
        queue.tick(500 * MS)
        queue.tick(515 * MS)
        fill(queue, 300, 600 * MS)
        queue.dequeue(700 * MS)
        queue.tick(700 * MS)
        queue.enqueue(700 * MS, draws=[HIT])
        assert queue.counts[DROP_AQM] == 0


class TestParameters:
    def test_names(self):
        laws = [pf.Pi(), pf.Pi2(), pf.CoupledPi2(), pf.Pie(), pf.TailDrop()]
        assert [discipline_of(law, LINK)[0] for law in laws] == [
            "pi",
            "pi2",
            "coupled",
            "pie",
            "taildrop",
        ]

    def test_a_subclass_is_another_law(self):
        class Mine(pf.Pi2):
            pass

        with pytest.raises(pf.UnsupportedError, match=r"Mine has no queue discipline .* Pi2, "):
            discipline_of(Mine(), LINK)

    @pytest.mark.parametrize(
        ("law", "error", "words"),
        [
            (pf.Pi2(variant="hpe"), pf.UnsupportedError, "updates whenever packets come"),
            (
                pf.Pi2(variant="ns3", arithmetic="fixed"),
                pf.UnsupportedError,
                'variant = "ns3" has no integers',
            ),
            (pf.Pi2(alpha=[0.1, 0.2]), pf.UnsupportedError, r"alpha is an array of shape \(2,\)"),
            (
                pf.Pi2(update_interval="1e-12s"),
                pf.DomainError,
                "update_interval = 1e-12 is outside",
            ),
            (
                pf.Pie(target="10000s"),
                pf.DomainError,
                r"target = 10000.0 is outside \[1e-09, 1000\] s",
            ),
            (pf.Pi(beta=1e9), pf.DomainError, "beta = 1000000000.0 is above the 100000 Hz"),
            (pf.Pi(per_packet="10000s"), pf.DomainError, "per_packet"),
            (pf.Pie(burst="10000s"), pf.DomainError, "burst"),
        ],
        ids=str,
    )
    def test_what_packets_cannot_do(self, law, error, words):
        with refused(error, match=words):
            discipline_of(law, LINK)

    @pytest.mark.parametrize("variant", ["linux6.18", "linux4.14", "rfc8033", "hpsr13"])
    def test_every_variant_of_pie_runs(self, variant):
        queue = make(pf.Pie(variant=variant))
        now = raise_p(queue, updates=5)
        assert 0.0 < queue.probe()[0] <= 1.0
        assert queue.tick(now) > now

    def test_defaults_of_the_variants(self):
        names = ("allowance", "burst_by_update", "strict_idle", "half_target", "derandomize")
        expected = {
            "linux6.18": [0.15, 0, 1, 1, 1],
            "linux4.14": [0.1, 0, 1, 1, 0],
            "rfc8033": [0.15, 1, 0, 2, 0],
            "hpsr13": [0.1, 1, 0, 0, 0],
        }
        for variant, numbers in expected.items():
            parameters = discipline_of(pf.Pie(variant=variant), LINK)[1]
            assert [parameters[name] for name in names] == numbers
