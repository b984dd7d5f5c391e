"""Sources that nobody answers, against the closed forms of queues that they make."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf

LINK = pf.Link("12Mbit/s", "1000000 packets")  # 1 ms of 1500 B
CAPACITY, SLOT = 12e6, 1e-3


def run(*flows: pf.Flows, duration: float = 20.0, seeds: int = 8, **fields: Any) -> Any:
    scenario = pf.Scenario(
        duration, fields.pop("link", LINK), fields.pop("aqm", pf.TailDrop()), flows
    )
    return pf.simulate(scenario, pf.Packets(seeds=seeds, bin="1s", **fields))


def source(rate: str | float, size: float | None = None, ecn: str | None = None, **how: Any) -> Any:
    return pf.Flows(pf.Cbr(rate=rate, **how), packet_size=size, ecn=ecn)


def waits(runs: Any) -> Any:
    """Return the mean time in the queue of each seed and class (s)."""
    packets = runs.departures.sum("time")
    return ((runs.class_sojourn * runs.departures).sum("time") / packets).to_numpy()


def assert_mean(values: Any, expected: float, bias: float = 0.0) -> None:
    """The mean of independent runs is a number, but for four of its standard errors."""
    error = 4.0 * np.std(values, ddof=1) / np.sqrt(len(values))
    assert error < 0.1 * expected  # or it would say little
    assert np.mean(values) == pytest.approx(expected, abs=error + bias)


# --- at random ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("load", "size"), [(0.3, None), (0.8, None), (0.8, 500)])
def test_poisson_packets_wait_as_in_m_d_1(load, size) -> None:
    """Pollaczek and Khinchine: rho S / (2 (1 - rho))."""
    runs = run(source(load * CAPACITY, size, spacing="poisson"), duration=40.0)
    service = SLOT * (size or 1500) / 1500
    assert_mean(waits(runs)[:, 0], load * service / (2.0 * (1.0 - load)))
    assert_mean(runs.rate.to_numpy()[:, 0], load * CAPACITY)


@pytest.mark.slow
def test_poisson_bursts_wait_for_those_before_them_and_for_their_own() -> None:
    """Ten packets at once: the work found is that of one service of 10 S, then half of the own."""
    runs = run(source(0.6 * CAPACITY, burst=15000, spacing="poisson"), duration=100.0)
    found = 0.6 * 10 * SLOT / (2.0 * 0.4)
    assert_mean(waits(runs)[:, 0], found + 4.5 * SLOT)


@pytest.mark.slow
@pytest.mark.parametrize("aqm", ["fifo", "dual"])
def test_work_is_conserved_whoever_goes_first(aqm) -> None:
    """Kleinrock's law: sum of rho W is rho W0 / (1 - rho) in any order, W0 = sum lambda S^2 / 2.

    The dual queue sends small packets of L first, and signals nothing so far below its target.
    """
    loads, sizes = np.array([0.5, 0.2]), np.array([1500.0, 300.0])
    services = SLOT * sizes / 1500.0
    queue: Any = pf.TailDrop()
    if aqm == "dual":
        queue = pf.DualPi2(target="100s", step="100s")
    runs = run(
        *(
            source(load * CAPACITY, size, ecn, spacing="poisson")
            for load, size, ecn in zip(loads, sizes, [None, "ect1"], strict=True)
        ),
        aqm=queue,
        duration=60.0,
    )
    found = waits(runs)
    assert int(runs.drops.sum() + runs.marks.sum()) == 0
    residual = float((loads * services).sum() / 2.0)
    assert_mean((found * loads).sum(axis=1), float(loads.sum() * residual / (1.0 - loads.sum())))
    if aqm == "dual":  # a tenth of turns is left to C: L waits for little but what is in service
        assert (found[:, 1] < 0.5 * found[:, 0]).all()
        assert np.mean(found[:, 1]) > residual


# --- in turns -------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_on_off_source_fills_the_queue_as_a_markov_fluid_does() -> None:
    """P(Q > x) = rho exp(-x (1 / (on (h - c)) - 1 / (off c))), at the rate h > c of its turns.

    Packets of 64 B are nearly a fluid: one more of them waits, or less.
    """
    on, off, high = 0.002, 0.006, 2.0 * CAPACITY
    load = high * on / (on + off) / CAPACITY
    runs = run(source(high, 64, on=on, off=off), duration=100.0, link=small())
    decay = 1.0 / (on * (high - CAPACITY)) - 1.0 / (off * CAPACITY)
    mean = (runs.queue.mean("time") * 64 * 8).to_numpy()
    assert_mean(mean, load / decay, bias=64 * 8)
    assert_mean(runs.rate.to_numpy()[:, 0], load * CAPACITY)


def small() -> pf.Link:
    return dataclasses.replace(LINK, packet_size=64)


@pytest.mark.slow
@pytest.mark.parametrize("how", [{}, {"spacing": "poisson"}, {"burst": 4000}])
def test_pauses_leave_the_mean_rate_that_is_said(how) -> None:
    """Also where a turn holds less than one packet: the clock of packets stands still meanwhile."""
    flow = source("3Mbit/s", on="2ms", off="4ms", **how)
    rates = run(flow, duration=100.0).rate.to_numpy()[:, 0]
    assert flow.sender.constant_rate == pytest.approx(1e6, rel=1e-12)
    assert_mean(rates, 1e6)


# --- bursts, to the packet ------------------------------------------------------------------


def test_a_frame_waits_for_itself() -> None:
    """12,500 B are 8 full packets and 500 B: the k-th waits k slots, all bytes arrive."""
    runs = run(source("3Mbit/s", burst=12500), seeds=1, duration=4.0)
    assert int(runs.departures.sum()) == 9 * 120
    assert waits(runs)[0, 0] == pytest.approx(4.0 * SLOT, rel=1e-9)
    assert float(runs.rate[0, 0]) == pytest.approx(3e6, rel=1e-9)
    # the mean backlog: of each frame 36 packet-slots, 8 x 500 B of which lack 1000 B
    waited = 120 * (36 * 1500 - 8 * 1000) * SLOT / 4.0
    assert float(runs.queue.mean()) * 1500 == pytest.approx(waited, rel=1e-9)


@pytest.mark.parametrize(("peak", "behind"), [("12Mbit/s", 0.0), ("24Mbit/s", 0.5)])
def test_a_paced_frame_waits_for_what_its_pace_is_above_the_link(peak, behind) -> None:
    runs = run(source("3Mbit/s", burst=15000, peak=peak), seeds=1, duration=4.0)
    assert waits(runs)[0, 0] == pytest.approx(4.5 * behind * SLOT, abs=1e-8)


def test_a_burst_may_last_as_long_as_its_interval() -> None:
    """Then it is what an even source of packets is, to the last one."""
    even, paced = (
        run(source("6Mbit/s", **how), seeds=1, duration=1.0)
        for how in ({}, {"burst": 15000, "peak": "6Mbit/s"})
    )
    np.testing.assert_array_equal(even.departures, paced.departures)
    assert waits(paced)[0, 0] == waits(even)[0, 0] == 0.0


# --- sizes ----------------------------------------------------------------------------------


def test_bytes_are_counted_and_limits_are_packets() -> None:
    """20 packets of 300 B at once, room for 7: one in service, which takes a fifth of a slot."""
    link = pf.Link("12Mbit/s", "7 packets")
    runs = run(source("480kbit/s", 300, burst=6000), seeds=1, duration=1.0, link=link)
    assert int(runs.departures.sum()) == 8 * 10
    assert int(runs.drops.sum()) == 12 * 10
    assert float(runs.throughput.sum()) == 8 * 300 * 8 * 10
    assert float(runs.queue.mean()) * 1500 == pytest.approx(10 * 28 * 300 * 0.2 * SLOT, rel=1e-9)


def test_windows_of_small_packets_count_in_them() -> None:
    """A window of W segments over R carries 8 W s / R; full packets also wait for each other."""
    flows = [
        pf.Flows(
            pf.Reno(), 1, "100ms", initial_window=20, slow_start=False, packet_size=size, name=name
        )
        for size, name in ((None, "full"), (600, "small"))
    ]
    rates = run(*flows, seeds=1, duration=5.0).rate[0].to_numpy()
    assert rates[0] / rates[1] == pytest.approx(1500 / 600, rel=0.02)


def test_ping_measures_what_others_make_wait() -> None:
    """Between frames of nine slots at 30 Hz an even ping meets the backlog at its mean."""
    ping = dataclasses.replace(source("5120bit/s", 64), name="ping")  # every 0.1 s
    runs = run(source("3Mbit/s", burst=12500), ping, seeds=1, duration=1.0)
    assert int(runs.departures.sel(flows="ping").sum()) == 10
    # frames and pings of one instant: the ping, of the later class, is behind the frame
    assert waits(runs)[0, 1] == pytest.approx(8.0 * SLOT + SLOT / 3.0, rel=1e-6)


# --- fields ---------------------------------------------------------------------------------


def test_ect1_goes_through_l_and_is_marked_there() -> None:
    flows = [source("2Mbit/s", ecn=ecn) for ecn in (None, "ect0", "ect1")]
    runs = run(*flows, pf.Flows(pf.Cubic(), 2, "20ms"), aqm=pf.DualPi2(), seeds=2)
    assert runs.band_of.values.tolist() == [0, 0, 1, 0]
    assert runs.ecn.values.tolist() == [0, 1, 1, 0]
    marks, drops = (runs[name].sum(("seed", "time")).to_numpy() for name in ("marks", "drops"))
    assert marks[0] == drops[1] == drops[2] == 0
    assert drops[0] > 0
    assert marks[2] > marks[1] > 0


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: pf.Cbr(rate=1e6, on="1s"), pf.ScenarioError, "Cbr on = 1.0 is given without off"),
        (lambda: pf.Cbr(rate=1e6, off="1s"), pf.ScenarioError, "Cbr off = 1.0 is given without on"),
        (
            lambda: pf.Cbr(rate=1e6, peak=2e6),
            pf.ScenarioError,
            "Cbr peak = 2000000.0 bit/s is that",
        ),
        (
            lambda: pf.Cbr(rate=1e6, peak=5e5, burst=9000),
            pf.DomainError,
            "Cbr peak = 500000.0 bit/s is below rate = 1000000.0 bit/s",
        ),
        (lambda: pf.Cbr(rate=1e6, spacing="odd"), pf.QuantityError, "Cbr spacing = 'odd'"),
        (lambda: pf.Flows(pf.Reno(), 1, 0.1, ecn="ce"), pf.QuantityError, "Flows ecn = 'ce'"),
        (
            lambda: run(source(1e6, 2000)),
            pf.ScenarioError,
            "Scenario flows 1 ('cbr') packet_size = 2000 B is more than the link's 1500 B",
        ),
        (
            lambda: run(source(1e6, 20)),
            pf.DomainError,
            "Scenario flows 1 ('cbr') packet_size = 20 is no whole number in [64, 65535]",
        ),
        (
            lambda: run(source(1e6, burst=1e10)),
            pf.DomainError,
            "Scenario flows 1 ('cbr') burst = 10000000000 is no whole number in [1, 1073741824]",
        ),
        (
            lambda: run(source("1kbit/s", on="1ms", off="1s")),
            pf.DomainError,
            "Scenario flows 1 ('cbr') on = 0.001 s is less than a thousandth of the 12 s between",
        ),
    ],
)
def test_what_is_wrong_is_said(make, error, said) -> None:
    with refused(error, said):
        make()


@pytest.mark.slow
@pytest.mark.parametrize(("bytemode", "ratio"), [(False, 1.0), (True, 0.2)])
def test_pie_spares_small_packets_in_byte_mode(bytemode, ratio) -> None:
    """p times their part of a full packet: packets at random meet the same p on average."""
    aqm = pf.Pie(bytemode=bytemode, derandomize=False)
    flows = [source(0.7 * CAPACITY, size, spacing="poisson") for size in (None, 300)]
    runs = run(*flows, aqm=aqm, duration=60.0)
    lost = (runs.drops.sum("time") / runs.arrivals.sum("time")).to_numpy()
    assert_mean(lost[:, 1] / lost[:, 0], ratio)


def test_the_kernels_red_has_room_for_bytes() -> None:
    """Its limit is that of a fifo in bytes: two full packets are ten small ones."""
    link = pf.Link("12Mbit/s", "2 packets")
    aqm = pf.Red(min=100, max=300, arithmetic="fixed", weight=2**-9, gentle=False)
    runs = run(source("480kbit/s", 300, burst=6000), aqm=aqm, seeds=1, duration=1.0, link=link)
    assert int(runs.departures.sum()) == (1 + 10) * 10
