"""PIE as in Linux spreads its signals: what flows hear, in the law, its loop, fluid and packets."""

import dataclasses
import itertools

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.laws.derivatives import differentiate

SPREAD, LOTS = pf.Pie(), pf.Pie(derandomize=False)
FLOWS = pf.Flows(pf.Reno(), 40, "60ms")
RATE = "100Mbit/s"


@pytest.mark.parametrize("u", [0.002, 0.0101, 0.05, 0.17, 0.3])
def test_packets_see_what_the_rule_of_the_kernel_signals(u: float) -> None:
    """The rule, run packet by packet, signals at most 1/(1 - u/1.85) times as much (its ceil)."""
    rng, packets = np.random.default_rng(1), 400_000
    total, signals = 0.0, 0
    for lot in rng.random(packets).tolist():
        total += u
        if total >= 8.5 or (total >= 0.85 and lot < u):
            total, signals = 0.0, signals + 1
    seen = float(SPREAD.encode(u).classic)
    # Counts of a renewal process vary by less than their square root.
    chance = 3.0 * np.sqrt(signals) / packets
    assert seen - chance < signals / packets < seen / (1.0 - u / 1.85) + chance


def test_the_law_says_what_part_of_u_flows_hear() -> None:
    u = np.array([0.0, 1e-9, 0.01, 0.5, 0.85, 0.9, 1.0])
    p = np.asarray(SPREAD.encode(u).classic)
    np.testing.assert_allclose(p[:5], u[:5] / 1.85, rtol=1e-15)
    assert p[-1] == 1.0
    assert np.all(np.diff(p) > 0.0)
    np.testing.assert_allclose(SPREAD.decode(p, "classic"), u, rtol=1e-14)
    assert LOTS.encode(0.3) == (0.3, 0.3)
    assert pf.Pie(variant="hpsr13").encode(0.3) == (0.3, 0.3)
    assert pf.presets.rfc8033().encode(0.3) == (0.3, 0.3)
    burst = dataclasses.replace(SPREAD, burst="150ms")
    seen = pf.Seen(0.02, 20.0, 1e3, 1e3)
    assert burst.signals((0.185, 0.02, 0.0), seen) == pytest.approx((0.1, 0.1))
    assert burst.signals((0.185, 0.02, 0.1), seen) == (0.0, 0.0)


@pytest.mark.parametrize("p", [1e-7, 0.003, 0.02, 0.2, 0.4, 0.6])
def test_the_factor_of_a_design_is_that_of_table_and_encoder(p: float) -> None:
    for law in (SPREAD, LOTS, pf.Pie(table="sqrt2p"), pf.Pie(table="rfc8034")):
        u = law.decode(p, "classic")
        ((slope, _),) = differentiate(law, "encode", (u,))
        assert law.heard_factor(p) == pytest.approx(float(law.gain_factor(u)) * float(slope))


def test_the_factor_steps_at_its_edges_alone() -> None:
    edges = SPREAD.heard_edges
    assert edges is not None
    assert edges == pytest.approx([*(10.0**-n / 1.85 for n in range(6, 0, -1)), 0.85 / 1.85])
    ends = np.array([1e-9, *edges, 1.0])
    for low, high in itertools.pairwise(ends):
        inside = SPREAD.heard_factor(np.linspace(low * (1.0 + 1e-6), high * (1.0 - 1e-6), 7))
        np.testing.assert_allclose(inside, np.broadcast_to(np.asarray(inside)[..., :1], (7,)))
    assert LOTS.heard_edges == LOTS.gain_edges
    assert pf.Pie(table="sqrt2p").heard_edges is None


@pytest.mark.parametrize(
    "model", [{}, {"update": "sampled"}, {"update": "sampled", "clock": "acks"}]
)
def test_a_loop_is_that_of_flows_which_hear_a_part(model: dict[str, str]) -> None:
    """By hand: gains by the table at 1.85 p, over 1.85; here an edge of the table lies between."""
    spread, lots = (pf.Loop(FLOWS, law, capacity=RATE, **model) for law in (SPREAD, LOTS))
    p = float(lots.operating_point.controller)
    assert spread.operating_point.controller == pytest.approx(1.85 * p)
    assert spread.operating_point.p == pytest.approx(lots.operating_point.p)
    factor = 20.0 * np.log10(0.5 / 0.125 / 1.85)
    assert p < 0.01 < 1.85 * p
    found = spread.margins().gain_margin_db
    assert found == pytest.approx(lots.margins().gain_margin_db - factor, abs=1e-6)
    small = pf.Loop(pf.Reno(), SPREAD, rtt="60ms", p=0.05, **model)
    other = pf.Loop(pf.Reno(), LOTS, rtt="60ms", p=0.05, **model)
    less = small.margins().gain_margin_db - other.margins().gain_margin_db
    assert less == pytest.approx(20.0 * np.log10(1.85), abs=1e-6)


@pytest.mark.slow
def test_the_fluid_rests_where_packets_do() -> None:
    """The controller asks for 1.85 times what is dropped, in both; means of 24 s and two seeds."""
    flows = pf.Flows(pf.Reno(), 20, "60ms", start_jitter="1s")
    scenario = pf.Scenario("32s", pf.Link("40Mbit/s", buffer=20_000), SPREAD, flows)
    ratios, delays = [], []
    for engine in (pf.Fluid(), pf.Packets(seeds=2)):
        runs = pf.simulate(scenario, engine)
        found = pf.summarize(runs, after="8s")
        controller = runs.controller.sel(time=slice(8.0, None)).mean()
        ratios.append(float(controller / found.drop_fraction.mean()))
        delays.append(float(found.delay_mean.mean()))
    assert ratios[0] == pytest.approx(1.85, rel=1e-3)
    assert ratios[1] == pytest.approx(1.85, rel=0.08)  # packets are spared while few wait
    assert delays == pytest.approx([0.015, 0.015], rel=0.05)


@pytest.mark.slow
def test_packets_have_the_margin_of_the_loop() -> None:
    """Sines added to p': 40 flows beside an edge of the table, where spreading takes 6.7 dB."""
    found = []
    for law in (SPREAD, LOTS):
        scenario = pf.Scenario("100s", pf.Link(RATE, buffer=20_000), law, FLOWS)
        measured = pf.measure_loop(scenario, pf.Packets(seeds=4), times=4)
        found.append(float(measured.gain_margin_db))
    # 5.3 and 12.9 dB with eight times as much data, each to 0.4 to 0.8 dB.
    assert found[0] < 7.5
    assert found[1] - found[0] > 4.0
