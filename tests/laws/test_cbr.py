"""Constant bit rate: the same rate whatever happens, alone, in mixtures and beside loops."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.laws.senders.cbr import Cbr


def close(a, b, rel=1e-12):
    return a == pytest.approx(b, rel=rel)


class TestLaw:
    def test_rate_is_the_word_for_both(self):
        """The keyword is the bit rate; the method of that name is the contract's dx/dt."""
        sender = Cbr(rate="6Mbit/s", packet_size="1500B")
        assert sender.bitrate == 6e6
        assert sender.rate(50.0, 8.0, 0.5, 0.1, 0.2) == 0.0
        assert next(iter(inspect.signature(Cbr).parameters)) == "rate"

    @pytest.mark.parametrize("rtt", [0.0, 1e-3, 3.0])
    @pytest.mark.parametrize("window", [0.0, 1e5])
    def test_sends_its_rate_in_segments(self, window, rtt):
        assert Cbr(rate=6e6, packet_size=1500).sending_rate(window, rtt) == 500.0
        assert Cbr(rate=6e6, packet_size="500B").sending_rate(window, rtt) == 1500.0

    @pytest.mark.parametrize("rtt", [0.0, 1e-4, 2.0])
    def test_window_at_rest_is_what_is_in_flight(self, rtt):
        sender = Cbr(rate=6e6, packet_size=1500)
        window = sender.at_rest(rtt, 0.3)
        assert close(window, 500.0 * rtt)
        assert sender.rate(window, 0.0, 0.3, rtt, rtt) == 0.0

    def test_takes_the_packets_of_its_link(self):
        sender = Cbr(rate="6Mbit/s")
        assert sender.packet_size is None
        assert sender.on_link("500B") == Cbr(rate=6e6, packet_size=500)
        bound = sender.on_link(1500.0)
        assert bound.on_link(1500.0) is bound
        assert bound.sending_rate(1.0, 0.1) == 500.0

    def test_a_link_has_packets_of_one_size(self):
        with pytest.raises(
            pf.ScenarioError, match=r"^Cbr packet_size = 200\.0 B is not the link's"
        ):
            Cbr(rate="6Mbit/s", packet_size="200B").on_link("1500B")
        with pytest.raises(pf.ScenarioError, match="packet_size"):
            pf.equilibrium(
                [pf.Flows(Cbr(rate=1e5, packet_size=200)), pf.Flows(pf.Reno(), 1, 0.08)],
                pf.Pi2(),
                "10Mbit/s",
            )

    def test_without_a_link_there_are_no_segments(self):
        for call in (lambda c: c.sending_rate(1.0, 0.1), lambda c: c.at_rest(0.1, 0.1)):
            with pytest.raises(pf.ScenarioError, match=r"^Cbr rate = 6000000\.0 bit/s .* on_link"):
                call(Cbr(rate="6Mbit/s"))

    def test_no_signal_settles_it(self):
        with pytest.raises(pf.UnsupportedError, match=r"^Cbr sends at its own rate .* 20\.0 seg"):
            Cbr(rate="6Mbit/s").equilibrium(0.1, 20.0)

    @pytest.mark.parametrize(
        ("given", "error", "text"),
        [
            ({}, pf.QuantityError, "^Cbr rate = None is no number"),
            ({"rate": None}, pf.QuantityError, "^Cbr rate = None is no number"),
            ({"rate": "6"}, pf.QuantityError, "^Cbr rate = '6' has no unit"),
            ({"rate": "6ms"}, pf.QuantityError, "^Cbr rate = '6ms' has the unit 'ms'"),
            ({"rate": -1.0}, pf.DomainError, "^Cbr rate = -1.0 is outside"),
            ({"rate": 0}, pf.DomainError, "^Cbr rate = 0 is outside"),
            ({"rate": float("nan")}, pf.QuantityError, "^Cbr rate = nan is not finite"),
            ({"rate": 1e6, "packet_size": "1s"}, pf.QuantityError, "^Cbr packet_size = '1s'"),
        ],
    )
    def test_refusals_name_what_was_given(self, given, error, text):
        with pytest.raises(error, match=text):
            Cbr(**given)


class TestRecord:
    """`rate` in the constructor, `bitrate` as the field: every way round must come back."""

    SENDERS = (Cbr(rate="6Mbit/s"), Cbr(rate=6e6, packet_size=500))

    @pytest.mark.parametrize("sender", SENDERS, ids=["free", "bound"])
    def test_round_trips(self, sender, jax):
        assert eval(repr(sender), {"Cbr": Cbr}) == sender
        assert dataclasses.replace(sender) == sender
        assert copy.deepcopy(sender) == sender
        assert pickle.loads(pickle.dumps(sender)) == sender
        leaves, structure = jax.tree.flatten(sender)
        assert jax.tree.unflatten(structure, leaves) == sender
        assert hash(sender) == hash(copy.copy(sender))

    @pytest.mark.parametrize("sender", SENDERS, ids=["free", "bound"])
    def test_text_by_its_fields(self, sender):
        """As a writer of text sees it: the key of a field, if it has one, is the keyword."""
        keys = {f.metadata.get("key", f.name): f.name for f in dataclasses.fields(sender)}
        others = ("packet_size", "thinned", "burst", "peak", "spacing", "on", "off")
        assert keys == {"rate": "bitrate"} | {name: name for name in others}
        for names in (keys, dict.fromkeys(keys.values())):  # by key, and by name
            values = {key: getattr(sender, keys.get(key, key)) for key in names}
            assert Cbr(**values) == sender

    def test_replace_by_either_name(self):
        sender = Cbr(rate="6Mbit/s", packet_size=500)
        slower = Cbr(rate="3Mbit/s", packet_size=500)
        by_key = dataclasses.replace(sender, rate="3Mbit/s")  # type: ignore[call-arg]
        assert by_key == slower
        assert dataclasses.replace(sender, bitrate="3Mbit/s") == slower

    def test_repr_shows_the_rate(self):
        shown = "Cbr(rate=6000000.0, packet_size=None, thinned=True)"
        assert repr(Cbr(rate="6Mbit/s")) == shown

    def test_is_frozen(self):
        with pytest.raises(dataclasses.FrozenInstanceError):
            Cbr(rate=1e6).bitrate = 2e6  # type: ignore[misc]

    def test_arrays_and_jax(self, jax):
        sender = Cbr(rate=[3e6, 6e6], packet_size=1500)
        assert sender.sending_rate(1.0, 0.1).tolist() == [250.0, 500.0]
        assert sender.at_rest(0.1, 0.5).tolist() == [25.0, 50.0]
        with jax.enable_x64(True):
            one = jax.jit(lambda c: c.sending_rate(1.0, 0.1))(Cbr(rate=6e6, packet_size=1500))
            slope = jax.grad(lambda r: Cbr(rate=r).on_link(1500).sending_rate(1.0, 0.1))(6e6)
        assert float(one) == 500.0
        assert close(float(slope), 1 / 12000)


class TestBesideOthers:
    def flows(self, rate="3Mbit/s", count=2, **fields):
        return [
            pf.Flows(pf.Reno(), 5, "80ms"),
            pf.Flows(Cbr(rate=rate, thinned=False), count, **fields),
        ]

    def test_others_take_what_it_leaves(self):
        # 1000 packets/s, of which 2 x 250 are taken
        point = pf.equilibrium(self.flows(), pf.Pi2(), "12Mbit/s")
        assert close(point.rate, (100.0, 250.0))
        assert close(point.share, (0.5, 0.5))
        assert close(point.window, (10.0, 250.0 * 0.02))
        assert close(point.rtt, (0.1, 0.02))
        assert point.p[1] == point.p_prime[1] == 0.0
        alone = pf.equilibrium(pf.Flows(pf.Reno(), 5, "80ms"), pf.Pi2(), "6Mbit/s")
        assert close(point.controller, alone.controller)

    def test_packet_size_of_the_link_counts(self):
        point = pf.equilibrium(self.flows(), pf.Pi2(), "12Mbit/s", packet_size="500B")
        assert close(point.rate, (300.0, 750.0))

    def test_its_own_path_changes_its_window_only(self):
        near = pf.equilibrium(self.flows(), pf.Pi2(), "12Mbit/s")
        far = pf.equilibrium(self.flows(base_rtt="280ms"), pf.Pi2(), "12Mbit/s")
        assert close(far.window[1], 250.0 * 0.3)
        assert close(far.rate, near.rate)

    def test_arrays(self):
        point = pf.equilibrium(self.flows(rate=[1e6, 3e6]), pf.Pi2(), "12Mbit/s")
        for index, rate in enumerate((1e6, 3e6)):
            one = pf.equilibrium(self.flows(rate=rate), pf.Pi2(), "12Mbit/s")
            assert close(point.controller[index], one.controller)
            assert close(np.broadcast_to(point.rate[1], 2)[index], one.rate[1])

    def test_no_assumption_is_made_of_it(self):
        """Half a packet in flight, and a round trip shorter than T: no reason to warn."""
        point = pf.equilibrium(self.flows(rate="120kbit/s"), pf.Pi2(), "6Mbit/s")
        assert point.window[1] < 2.0
        assert point.rtt[1] < pf.Pi2().update_interval
        assert point.broken == ()

    def test_overload(self):
        with pytest.raises(pf.DomainError, match=r"the flows offer 1\.\d+ times the capacity"):
            pf.equilibrium(self.flows(rate="6.1Mbit/s"), pf.Pi2(), "12Mbit/s")

    def test_alone_it_has_no_loop(self):
        with pytest.raises(pf.UnsupportedError, match="no class of flows obeys"):
            pf.equilibrium(pf.Flows(Cbr(rate=1e6)), pf.Pi2(), "12Mbit/s")
        with pytest.raises(pf.UnsupportedError, match="Cbr ignores congestion signals"):
            pf.equilibrium_of(Cbr(rate=1e6), pf.Pi2(), rtt=0.1, p=0.1)

    @pytest.fixture
    def mixture(self):
        return [
            pf.Flows(pf.Reno(), 5, "80ms"),
            pf.Flows(Cbr(rate="3Mbit/s", thinned=False), 2),
        ]

    @pytest.mark.parametrize("update", ["continuous", "delayed"])
    def test_loop_beside_it(self, mixture, update):
        """Reno on half of the link: with x = dW/W and d the queue delay, d' = x/2 - d/(2 R).

        Alone on a link of that half it would be d' = x - d/R: the plant has half the gain, and half
        of the damping by R.
        """
        loop = pf.Loop(mixture, pf.Pi2(), capacity="12Mbit/s", update=update)
        alone = pf.Loop(mixture[0], pf.Pi2(), capacity="6Mbit/s", update=update)
        s, rtt = 1j * np.geomspace(0.1, 50.0, 9), 0.1
        expected = 0.5 * alone(s) * (s + 1 / rtt) / (s + 0.5 / rtt)
        np.testing.assert_allclose(loop(s), expected, rtol=1e-12)

    @pytest.mark.parametrize("update", ["continuous", "delayed", "sampled"])
    def test_loop_has_margins(self, mixture, update):
        loop = pf.Loop(mixture, pf.Pi2(), capacity="12Mbit/s", update=update)
        margins = loop.margins()
        assert margins.verdict == "stable"
        assert 0.0 < margins.gain_margin_db < 40.0
        assert 0.0 < margins.phase_margin_deg < 90.0
        if update != "sampled":
            assert loop.roots(1).real < 0.0

    def test_loop_counts_in_the_packets_of_its_link(self, mixture):
        loops = [
            pf.Loop(mixture, pf.Pi2(), capacity="12Mbit/s", packet_size=size)
            for size in ("1500B", "750B")
        ]
        rates = [loop.operating_point.rate[1] for loop in loops]
        assert rates == pytest.approx([250.0, 500.0])
        assert loops[0].senders[1] == Cbr(rate="3Mbit/s", packet_size=1500, thinned=False)


class TestThinned:
    def test_equilibrium_counts_what_enters(self):
        """6 Mbit/s that lose p of themselves, beside Reno: the rates that enter fill the link."""
        flows = [
            pf.Flows(pf.Reno(), 5, "100ms"),
            pf.Flows(Cbr(rate="6Mbit/s"), 2),
        ]
        point = pf.equilibrium(flows, pf.Pi(), "10Mbit/s")
        p = point.p[1]
        assert p == point.p[0]
        packets = 5 * point.rate[0] + 2 * 500 * (1 - p)
        assert packets == pytest.approx(10e6 / 12000, rel=1e-9)
        assert point.rate[1] == pytest.approx(500 * (1 - p))

    def test_has_no_loop(self):
        flows = [pf.Flows(pf.Reno(), 5, "100ms"), pf.Flows(Cbr(rate=1e6))]
        with pytest.raises(pf.UnsupportedError, match="thinned = True"):
            pf.Loop(flows, pf.Pi2(), capacity="10Mbit/s")


class TestHowItComes:
    """Bursts are of packets alone; pauses leave a mean rate to anything else."""

    TURNS = Cbr(rate="6Mbit/s", on="1s", off="2s", burst="9000B")

    def test_all_but_packets_take_the_mean_rate(self):
        bound = self.TURNS.on_link(1500)
        assert self.TURNS.constant_rate == 2e6
        assert close(bound.sending_rate(1.0, 0.1), 2e6 / 12000)
        assert self.TURNS.at_bitrate(1e6) == dataclasses.replace(self.TURNS, rate=3e6)
        assert not self.TURNS.even

    def test_a_trajectory_is_that_of_its_mean(self):
        plain, turns = (
            pf.simulate(
                pf.Scenario("3s", pf.Link("10Mbit/s"), pf.Pi2(), [pf.Flows(law), beside]),
                pf.Fluid(),
            )
            for law in (Cbr(rate="2Mbit/s"), self.TURNS)
        )
        np.testing.assert_array_equal(plain.queue_delay, turns.queue_delay)
        assert "flows.sender.burst" in turns.attrs["not_modelled"]


beside = pf.Flows(pf.Reno(), 2, "40ms")


class TestWhatEquationsRefuse:
    def test_windows_of_smaller_packets(self):
        small = pf.Flows(pf.Reno(), 2, "40ms", packet_size="600B", name="small")
        scenario = pf.Scenario("3s", pf.Link("10Mbit/s"), pf.Pi2(), small)
        for call in (
            lambda: pf.simulate(scenario, pf.Fluid()),
            lambda: pf.equilibrium(small, pf.Pi2(), "10Mbit/s"),
            lambda: pf.Loop(small, pf.Pi2(), capacity="10Mbit/s"),
        ):
            with pytest.raises(pf.UnsupportedError, match=r"'small' packet_size = 600\.0 B is"):
                call()
        same = dataclasses.replace(small, packet_size=1500)
        assert pf.equilibrium(same, pf.Pi2(), "10Mbit/s").window[0] > 2

    def test_but_rates_have_no_packets(self):
        voice = pf.Flows(Cbr(rate="80kbit/s"), 3, packet_size="200B")
        plain = pf.Flows(Cbr(rate="80kbit/s"), 3)
        one, two = (pf.equilibrium([f, beside], pf.Pi2(), "10Mbit/s") for f in (voice, plain))
        assert one.p_prime == two.p_prime

    @pytest.mark.parametrize("aqm", [pf.DualPi2(), pf.CoupledPi2()])
    def test_fields_that_no_sender_of_that_kind_has(self, aqm):
        udp = pf.Flows(Cbr(rate="1Mbit/s"), ecn="ect1")
        scenario = pf.Scenario("3s", pf.Link("10Mbit/s"), aqm, [udp, beside])
        for call in (
            lambda: pf.simulate(scenario, pf.Fluid()),
            lambda: pf.equilibrium([udp, beside], aqm, "10Mbit/s"),
        ):
            with pytest.raises(pf.UnsupportedError, match="'cbr' ecn = 'ect1' makes of Cbr what"):
                call()
