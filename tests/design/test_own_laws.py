"""Gains for laws of one's own: against closed forms of the same laws, and against `Loop`."""

from __future__ import annotations

import pickle
from typing import ClassVar

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.design.linear_plants import SeveralPlants, join, make_linear_plants, unit_of
from pi2_fluid.design.plants import make_plants
from pi2_fluid.design.points import Points
from pi2_fluid.design.region import Region, alone, scan
from pi2_fluid.loop.updates import respond
from pi2_fluid.network.long_flows import LongFlows

pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")


SCALABLE = {"aqm": "coupled", "load": (1e-6, 1.0), "update": "delayed"}


class OwnReno(pf.Reno):
    """The same law, of which nothing is known but its rate."""

    def rate(self, *args):
        return pf.Reno.rate(self, *args)


class OwnScalable(pf.Scalable):
    def rate(self, *args):
        return pf.Scalable.rate(self, *args)


class OwnCubic(pf.Cubic):
    def rate(self, *args):
        return pf.Cubic.rate(self, *args)

    def at_rest(self, rtt, p):  # of four states it is not always found
        return pf.Cubic.at_rest(self, rtt, p)

    def acked(self, *args):
        return pf.Cubic.acked(self, *args)


class Gentle(pf.Sender):
    """A quarter off for a signal, and half a segment a round trip."""

    signal: ClassVar = "classic"

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        return 0.5 / rtt - 0.25 * w * w_delayed / rtt_delayed * p_delayed


@pytest.mark.parametrize("update", ["continuous", "delayed", "sampled"])
@pytest.mark.parametrize(
    ("own", "known", "aqm"),
    [
        (OwnReno(), pf.Reno(), pf.Pi2()),
        (OwnReno(), pf.Reno(), pf.Pie()),
        (OwnScalable(), pf.Scalable(), pf.CoupledPi2()),
        (OwnCubic(), pf.Cubic(), pf.DualPi2()),
    ],
    ids=["reno", "pie", "scalable", "cubic"],
)
def test_the_loop_of_a_hidden_law_is_that_of_its_closed_form(own, known, aqm, update) -> None:
    """By another path: automatic differentiation of the rate, and sums over more aliases."""
    rtts, loads = np.array([0.02, 0.02, 0.1, 0.1]), np.array([0.01, 0.4, 0.005, 0.7])
    region = Region((own,), 0.02, 0.1, ((0.005, 0.7),))
    gains = 0.08, 1.1, 0.016
    hidden = region.at(aqm, 0, Points(rtts, loads))
    closed = Region((known,), 0.02, 0.1, ((0.005, 0.7),)).at(aqm, 0, Points(rtts, loads))
    x = np.log(np.geomspace(0.2, 190.0, 25))
    here, there = hidden.at(*gains, update)(x), closed.at(*gains, update)(x)
    # The closed form of a sampled loop sums six pairs of aliases: the rest falls like k^-5.
    np.testing.assert_allclose(here, there, rtol=3e-6 if update == "sampled" else 1e-9)
    A, B = hidden.basis(np.exp(x), 0.016, update)
    np.testing.assert_allclose(0.08 * A + 1.1 * B, here, rtol=1e-9)
    one, other = scan(hidden, *gains, update), scan(closed, *gains, update)
    np.testing.assert_allclose(one.gain_margin_db, other.gain_margin_db, atol=2e-4)
    np.testing.assert_allclose(one.phase_margin_deg, other.phase_margin_deg, atol=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("own", "known", "asked"),
    [(OwnReno(), pf.Reno(), {"load": (1e-3, 1.0)}), (OwnScalable(), pf.Scalable(), SCALABLE)],
    ids=["reno", "scalable"],
)
def test_a_hidden_law_has_the_design_of_its_closed_form(own, known, asked) -> None:
    found, expected = (pf.tune("100ms", senders=(one,), **asked) for one in (own, known))
    assert (found.alpha, found.beta) == (expected.alpha, expected.beta)  # in five digits
    for name in ("gain_margin_db", "phase_margin_deg", "modulus_margin"):
        here, there = getattr(found.margins, name), getattr(expected.margins, name)
        assert here == pytest.approx(there, rel=1e-6)
    assert found.rtt_limit == pytest.approx(expected.rtt_limit, rel=1e-6)
    assert found.settling_time == pytest.approx(expected.settling_time, rel=1e-6)
    assert found.jitter_margin == pytest.approx(expected.jitter_margin, rel=1e-6)
    assert found.guarantee == "checked"
    assert f"{type(own).__name__} keeps at least" in found.guarantee_text


@pytest.mark.slow
def test_a_hidden_cubic_is_tuned_for_a_round_trip_time_that_varies_too() -> None:
    """In closed form it is constant where the cubic rules, so that alpha may be 1 % larger."""
    asked = {"update": "delayed", "update_interval": "16ms", "min_rtt": "100ms"}
    own, known = (pf.tune("100ms", senders=(one,), **asked) for one in (OwnCubic(), pf.Cubic()))
    assert 0.99 * known.alpha < own.alpha < known.alpha
    assert own.load == known.load
    assert own.ack_margins is not None
    law = own.aqm
    grid = {"rtt": 0.1, "p_prime": np.geomspace(1e-3, 1.0, 30)}
    for terms in ("frozen", "exact"):
        loop = pf.Loop(pf.Cubic(), law, update="delayed", rtt_terms=terms, **grid)
        margins = loop.margins()
        assert np.min(margins.phase_margin_deg) > 30.0 - 1e-3
        assert np.min(margins.gain_margin_db) > 6.0


@pytest.mark.slow
@pytest.mark.parametrize(("aqm", "update"), [("pi2", "sampled"), ("pie", "delayed")])
def test_loops_on_a_grid_keep_what_a_design_says(aqm, update) -> None:
    """`Loop` searches each for all of its crossovers; the design looks near those of a twin."""
    asked = {"update_interval": "16ms", "hz": None, "update": update}
    design = pf.tune("80ms", senders=(Gentle(),), aqm=aqm, **asked)
    (low, high), least = design.load[0], design.margins
    grid = {
        "rtt": np.append(np.geomspace(design.min_rtt, design.max_rtt, 6), design.worst.rtt),
        "p_prime": np.append(np.geomspace(low, high, 8), design.worst.p_prime)[:, None],
    }
    smallest = []
    for terms in ("frozen", "exact"):
        loop = pf.Loop(Gentle(), design.aqm, update=update, rtt_terms=terms, **grid)
        margins = loop.margins()
        assert np.all(margins.verdict_code == 1)
        smallest.append((np.min(margins.gain_margin_db), np.min(margins.phase_margin_deg)))
    gain, phase = np.min(smallest, axis=0)
    assert phase >= least.phase_margin_deg - 1e-3
    assert gain == pytest.approx(least.gain_margin_db, abs=1e-3)
    # One is as small as was asked for, so that the gains are no smaller than they must be.
    assert min(least.gain_margin_db - 6.0, (least.phase_margin_deg - 30.0) / 10.0) < 0.01
    assert design.bound.endswith("by rates")


@pytest.mark.slow
def test_dctcp_is_tuned_with_its_average() -> None:
    design = pf.tune("100ms", senders=(pf.Dctcp(),), aqm="coupled", hz=None)
    grid = {"rtt": np.geomspace(0.005, 0.1, 5)[:, None], "p_prime": np.geomspace(1e-6, 1.0, 9)}
    loop = pf.Loop(pf.Dctcp(), design.aqm, update="sampled", **grid)
    assert np.min(loop.margins().phase_margin_deg) == pytest.approx(30.0, abs=0.01)
    plain = pf.tune("100ms", senders=(pf.Scalable(),), aqm="coupled", hz=None)
    assert design.alpha < plain.alpha / 10.0  # which its average over 16 round trips costs


@pytest.mark.slow
def test_loads_end_where_a_queue_can_signal_no_more() -> None:
    class Capped(pf.PiFamily):
        def encode(self, u):
            p = pf.ops.minimum(u * u, 0.25)
            return pf.Signal(p, p)

    capped = pf.tune("100ms", aqm=Capped())
    assert capped.load[0] == pytest.approx((1e-3, 0.5), rel=1e-5)
    plain = pf.tune("100ms", load=(1e-3, 0.5), aqm=pf.Pi2(update_interval="32ms"))
    assert (capped.alpha, capped.beta) == pytest.approx((plain.alpha, plain.beta), rel=1e-3)


@pytest.mark.slow
def test_windows_below_a_segment_are_no_load() -> None:
    class Missing(pf.Sender):  # grows by what is not signalled: nothing is left at p = 1
        signal: ClassVar = "classic"

        def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
            sent = w_delayed / rtt_delayed
            return sent * (1.0 - p_delayed) / w - 0.5 * w * sent * p_delayed

    ((low, high),) = pf.tune("50ms", senders=(Missing(),), update="continuous").load
    assert low == pytest.approx(1e-3)
    assert high == pytest.approx(np.sqrt(2.0 / 3.0), rel=1e-6)  # (1 - p)/p = 1/2


def test_whole_flows_that_do_not_fit_are_no_load() -> None:
    flows = LongFlows(rate="10Mbit/s", flows=(1, 500))
    windows = flows.window(np.array([4.0, 500.0]), 0.05)
    found = flows.load(OwnScalable(), np.array([4.0, 500.0]), 0.05)
    assert found[0] == pytest.approx(2.0 / windows[0], rel=1e-9)
    assert found[1] == np.inf


def test_several_kinds_are_one_sequence() -> None:
    region = Region((pf.Reno(), OwnReno()), 0.05, 0.1, ((0.01, 1.0), (0.01, 1.0)))
    plants = region.corners(pf.Pi2())
    assert isinstance(plants, SeveralPlants)
    senders = [int(plants.take(index).sender[0]) for index in range(len(plants))]
    assert sorted(set(senders)) == [0, 1]
    assert senders == sorted(senders)
    with pytest.raises(IndexError):
        plants.take(len(plants))
    found = scan(plants, 0.05, 2.5, 0.016, "sampled")
    least = [np.min(found.gain_margin_db[np.array(senders) == one]) for one in (0, 1)]
    assert least[0] == pytest.approx(least[1], abs=1e-4)
    assert len(join([plants, plants])) == 2 * len(plants)
    again = pickle.loads(pickle.dumps(region))
    assert again == region
    assert not again.kept


def test_answers_of_own_laws_are_kept_with_the_region() -> None:
    region = Region((OwnReno(),), 0.05, 0.1, ((0.01, 1.0),))
    asked = unit_of(pf.Pi2()), 0, ((0.1,), (0.1,)), "rate"
    assert make_linear_plants(region, *asked) is make_linear_plants(region, *asked)
    other = Region((OwnReno(),), 0.05, 0.1, ((0.01, 1.0),))
    assert make_linear_plants(other, *asked) is not make_linear_plants(region, *asked)


def test_a_plant_of_one_point_is_its_loop() -> None:
    plant = Region((Gentle(),), 0.1, 0.1, ((0.2, 0.2),)).at(
        pf.Pi2(), 0, Points(np.array([0.1]), np.array([0.2]))
    )
    queue = pf.Pi2(alpha=0.1, beta=1.5, update_interval="16ms")
    s = 1j * np.geomspace(0.1, 100.0, 9)
    loop = alone(plant, 0.1, 1.5, 0.016)
    for update in ("continuous", "sampled"):
        expected = pf.Loop(Gentle(), queue, rtt=0.1, p_prime=0.2, update=update)(s)
        np.testing.assert_allclose(respond(loop, s, update), expected, rtol=1e-12)
    assert len(make_plants((pf.Reno(),), queue, 0.1, [0.2])) == 1


def test_what_tune_cannot_set_is_said() -> None:
    class Deaf(pf.Sender):
        signal: ClassVar = None

        def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
            return 1.0 / rtt - (rtt - 0.05) * w

    class Other(pf.Aqm):
        def initial(self):
            return (0.0,)

        def update(self, state, seen, dt):
            return (state[0] + seen.queue_delay,)

        def encode(self, u):
            return pf.Signal(u, u)

    class Bent(pf.Pi2):
        def update(self, state, seen, dt):
            after = pf.Pi2.update(self, state, seen, dt)
            return (after[0] + (seen.queue_delay - self.target) ** 2, *after[1:])

    with refused(pf.UnsupportedError, "Deaf hears no signals (its signal is None)"):
        pf.tune("100ms", senders=(Deaf(),))
    with refused(pf.QuantityError, "is no queue with alpha and beta, all that tune finds"):
        pf.tune("100ms", aqm=Other())
    for sender in (pf.Reno(), Gentle()):
        with refused(pf.UnsupportedError, "Bent has an update of its own"):
            pf.tune("100ms", senders=(sender,), aqm=Bent())
    for sender in (pf.Scalable(), OwnScalable(), pf.Dctcp()):
        with refused(pf.UnsupportedError, "is Scalable, and Pi2 squares its p'"):
            pf.tune("100ms", senders=(sender,))
