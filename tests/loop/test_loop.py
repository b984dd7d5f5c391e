"""The Loop object: responses, views, sweeps, and what it refuses."""

from __future__ import annotations

import dataclasses
import warnings
from typing import ClassVar

import control
import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr
from refusals import refused

import pi2_fluid as pf

mpl.use("Agg")


@pytest.fixture
def loop():
    return pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1)


def simulate(loop, update, times):
    """Step response by stepping the delay equation: Heun, h = R/2000, the update every T."""
    (cls,) = loop.linear.classes
    T, R = float(loop.linear.controller.interval), float(cls.rtt)
    h = R / 2000
    delay = 2000
    count = int(np.ceil(times[-1] / h)) + 2
    a0, a1, b = float(cls.a0), float(cls.a1), float(cls.b)
    drive = float(cls.weight * cls.c)
    leak = float(cls.weight * cls.r)
    aqm = loop.aqm
    x, d, u = (np.zeros(count + delay + 1) for _ in range(3))
    integral, held, before = 0.0, 0.0, 0.0
    ticks = {round(k * T / h) for k in range(int(times[-1] / T) + 2)}
    for n in range(delay, count + delay):
        # the error is d minus a unit step: L/(1+L) from the step to d
        error = d[n] - 1.0
        if update == "sampled":
            if (n - delay) in ticks:
                held += aqm.alpha * error + aqm.beta * (error - before)
                before = error
            u[n] = held
        else:
            u[n] = (aqm.beta + aqm.alpha / 2) * error + aqm.alpha / T * integral
            integral += h * error
        slope = (a0 * x[n] + a1 * x[n - delay] + b * u[n - delay], drive * x[n] + leak * d[n])
        xe, de = x[n] + h * slope[0], d[n] + h * slope[1]
        late = a1 * x[n + 1 - delay] + b * u[n + 1 - delay]
        x[n + 1] = x[n] + h * (slope[0] + a0 * xe + late) / 2
        d[n + 1] = d[n] + h * (slope[1] + drive * xe + leak * de) / 2
        # history before 0 is rest
    index = delay + np.round(times / h).astype(int)
    return d[index]


@pytest.mark.parametrize("update", ["continuous", "sampled"])
@pytest.mark.parametrize(("gain", "stable"), [(1.0, True), (2.5, False)])
def test_step_response_against_stepping_in_time(update, gain, stable):
    aqm = pf.Pi2(alpha=0.3125 * gain, beta=3.125 * gain)
    one = pf.Loop(pf.Reno(), aqm, rtt=0.1, p_prime=0.1, update=update)
    assert (one.nyquist_count() == 0) == stable
    times = 0.032 * np.array([1, 4, 5, 6, 10, 20, 40])
    response = one.step(times)
    # Heun with h = R/2000; the rectangle rule of the integral and the rounding of ticks to the grid
    # (20 micro-seconds in 32 ms) leave errors of a few 1e-4
    expected = simulate(one, update, times)
    np.testing.assert_allclose(response, expected, atol=3e-3 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("update", ["continuous", "delayed", "sampled"])
def test_nothing_has_happened_before_the_step(update):
    loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=0.1, update=update)
    np.testing.assert_array_equal(loop.step([-1.0, 0.0]), [0.0, 0.0])
    assert loop.step([]).size == 0


@pytest.mark.slow
def test_a_loop_that_grows_beyond_all_numbers_is_not_followed():
    loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.3, p_prime=0.001, update="sampled")
    assert loop.margins().verdict == "unstable"
    with pytest.raises(pf.SolverError, match="grown beyond all numbers: ask for shorter"):
        loop.step([800.0])


@pytest.mark.parametrize("update", ["continuous", "delayed", "sampled"])
def test_step_response_waits_and_settles(update):
    one = pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=0.3, update=update)
    early = one.step(np.array([-1.0, 0.0, 0.05, 0.0999]))
    np.testing.assert_allclose(early, 0.0, atol=1e-7)
    assert one.step(np.array(8.0)) == pytest.approx(1.0, abs=1e-6)


def test_step_response_by_residues(loop):
    """Late in the transient only the rightmost pair is left: amplitude and phase by its residue."""
    s = loop.roots()
    h = 1e-6
    slope = (loop(s + h) - loop(s - h)) / (2 * h)
    t = np.linspace(4.0, 5.0, 11)
    tail = 2 * np.real(loop(s) / slope / s * np.exp(s * t))
    # the next root is at -3.64: by t = 4 s its part is e^(-2.56 x 4) = 4e-5 of the pair's
    np.testing.assert_allclose(loop.step(t) - 1, tail, atol=1e-4 * np.abs(tail).max())


@pytest.mark.slow
def test_unstable_loops_have_growing_steps():
    one = pf.Loop(pf.Reno(), pf.Pi2(alpha=0.6, beta=6.0), rtt=0.1, p_prime=0.1)
    assert one.margins().verdict == "unstable"
    t = np.linspace(0, 10, 400)
    y = np.abs(one.step(t) - 1)
    rate = np.log(y[-60:].max() / y[100:160].max()) / (t[-30] - t[130])
    assert rate == pytest.approx(one.roots().real, rel=0.1)


def test_sensitivity_and_modulus_margin(loop):
    w = np.geomspace(0.1, 100, 4000)
    peak = np.max(np.abs(loop.sensitivity(w)))
    assert loop.margins().modulus_margin == pytest.approx(1 / peak, rel=1e-4)
    assert loop.margins().modulus_margin <= 1 / peak


def test_bandwidth_against_python_control(loop):
    theirs = control.bandwidth(control.feedback(loop.to_control("pade", order=8)))
    assert loop.bandwidth() == pytest.approx(theirs, rel=1e-6)


def test_to_control(loop):
    w = np.geomspace(0.1, 50, 60)
    frd = loop.to_control(w=w)
    np.testing.assert_allclose(
        frd.frdata[0, 0] if hasattr(frd, "frdata") else frd.fresp[0, 0], loop(1j * w), rtol=1e-14
    )
    pade = loop.to_control("pade", order=5)
    assert isinstance(pade, control.TransferFunction)
    low = w[w < 15]
    np.testing.assert_allclose(pade(1j * low), loop(1j * low), rtol=1e-6)
    half = pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=0.1, update="delayed")
    np.testing.assert_allclose(half.to_control("pade")(1j * low), half(1j * low), rtol=1e-6)
    mixed = pf.Loop(
        [pf.Flows(pf.Reno(), 5, "20ms"), pf.Flows(pf.Scalable(), 5, "80ms")],
        pf.CoupledPi2(),
        capacity="20Mbit/s",
        rtt_terms="exact",
    )
    np.testing.assert_allclose(
        mixed.to_control("pade", order=6)(1j * low), mixed(1j * low), rtol=1e-6
    )
    with pytest.raises(pf.UnsupportedError):
        pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=0.1, update="sampled").to_control("pade")
    with pytest.raises(pf.DomainError):
        loop.to_control("pade", order=20)
    with pytest.raises(pf.QuantityError):
        loop.to_control("tf")


def test_drawing_takes_axes_and_returns_artists(loop):
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(2, 1)
    artists = loop.bode(ax=axes)
    assert len(artists) >= 2
    assert "dB" in axes[0].get_ylabel()
    assert "rad/s" in axes[1].get_xlabel()
    text = {annotation.get_text() for ax in axes for annotation in ax.texts}
    assert text == {"4.7 dB", "20.0°"}
    assert loop.nyquist()
    assert loop.bode()
    plt.close("all")
    with pytest.raises(pf.UnsupportedError, match="shape"):
        pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=np.array([0.1, 0.2])).bode()


def test_explanation(loop):
    terms = loop.explain()
    assert terms["kappa"].value == pytest.approx(10.0)
    assert terms["z_A"].value == pytest.approx(0.3125 / (0.032 * (3.125 + 0.15625)))
    assert terms["s_A"].value == pytest.approx(10.0)
    assert terms["s_R"].value == pytest.approx(np.sqrt(2) * 0.1 / 0.1)
    assert terms["s_R"].unit == "rad/s"
    assert terms["R_limit"].value == pytest.approx(pf.loop.rtt_limit(0.3125, 3.125, 0.032))
    sampled = pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=0.1, update="sampled").explain()
    assert sampled["R_limit"].value == pytest.approx(0.032 * 3.125 / (2 * 0.3125), rel=1e-12)
    assert "T beta/(2 alpha)" in sampled["R_limit"].sentence
    assert str(terms).count("\n") == len(list(terms)) - 1
    with pytest.raises(KeyError):
        terms["nothing"]
    mixed = [pf.Flows(pf.Reno(), 5, "20ms"), pf.Flows(pf.Reno(), 5, "80ms")]
    with pytest.raises(pf.UnsupportedError):
        pf.Loop(mixed, pf.Pi2(), capacity="20Mbit/s").explain()


def test_sweep(tmp_path):
    rtt = np.array([0.05, 0.1, 0.2])[:, None]
    p_prime = np.array([0.01, 0.1, 0.3, 0.5])
    swept = pf.Loop(
        pf.Reno(), pf.Pi2(alpha=np.array([0.1, 0.2, 0.3, 0.4])), rtt=rtt, p_prime=p_prime
    )
    ds = swept.sweep()
    assert dict(ds.sizes) == {"rtt": 3, "p_prime": 4}
    assert ds.alpha.dims == ("p_prime",)
    np.testing.assert_array_equal(ds.rtt, [0.05, 0.1, 0.2])
    np.testing.assert_array_equal(ds.gain_margin_db, swept.margins().gain_margin_db)
    assert all("units" in ds[name].attrs and "long_name" in ds[name].attrs for name in ds.variables)
    assert ds.attrs["engine"] == "loop"
    with warnings.catch_warnings(action="ignore", category=FutureWarning):  # the ratio is read
        ds.to_netcdf(tmp_path / "sweep.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "sweep.nc", engine="h5netcdf") as back:
        xr.testing.assert_identical(back.load(), ds)


def test_sweep_of_a_single_loop_and_of_mixtures(loop):
    assert dict(loop.sweep().sizes) == {}
    flows = pf.Flows(pf.Reno(), np.array([5.0, 10.0]), "80ms")
    assert dict(pf.Loop(flows, pf.Pi2(), capacity="10Mbit/s").sweep().sizes) == {"count_0": 2}


def test_crossovers(loop):
    gain, phase = loop.crossovers()
    assert abs(loop(1j * gain[0])) == pytest.approx(1.0, rel=1e-12)
    for w in phase:
        value = loop(1j * w)
        assert value.real < 0
        assert abs(value.imag) < 1e-9 * abs(value.real)
    assert phase == sorted(phase)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Ringing(pf.Sender):
    """A made-up law whose window rings at `omega` around 2/p: its loop has a resonance peak."""

    signal: ClassVar = "scalable"
    states: ClassVar = ("window", "trend")
    omega: float = 20.0
    damping: float = 0.02

    def initial(self, window):
        return (window, 0.0)

    def rate(self, x, x_delayed, p_delayed, rtt, rtt_delayed):
        pull = self.omega**2 * (2 / p_delayed - x[0])
        return (x[1] * 1.0, pull - 2 * self.damping * self.omega * x[1])


@pytest.mark.slow
def test_a_resonant_loop_shows_all_its_crossings():
    """The gain falls below 1, rises above it at the peak, and falls again: three crossovers."""
    one = pf.Loop(Ringing(), pf.Pi(alpha=0.015, beta=0.15), rtt=0.1, p=0.1)
    w = np.geomspace(0.01, 1000, 200_000)
    value = one(1j * w)
    crossings = np.flatnonzero(np.diff(np.sign(np.abs(value) - 1)))
    gain, phase = one.crossovers()
    assert len(crossings) == 3
    np.testing.assert_allclose(gain, w[crossings], rtol=1e-4)
    margins = one.margins()
    # a full turn lost between the crossovers: -154 degrees, but stable, with 91 at the first
    phases = np.degrees(np.unwrap(np.angle(one(1j * w))))[crossings] + 180
    assert np.min(phases) < -150
    assert margins.verdict == "stable"
    assert one.roots().real < 0
    assert margins.phase_margin_deg == pytest.approx(np.min(phases % 360), rel=1e-3)
    assert margins.delay_margin == pytest.approx(
        np.min(np.radians(phases % 360) / w[crossings]), rel=1e-3
    )
    assert np.isclose(phase, margins.phase_crossover, rtol=1e-12, atol=0.0).any()
    # the delay margin is a true minimum: that much more delay, and the curve goes through -1
    late = one(1j * w) * np.exp(-1j * w * margins.delay_margin)
    assert np.min(np.abs(1 + late)) < 2e-3


def test_a_peak_that_just_touches_is_not_missed():
    """Two gain crossovers closer together than the grid: found by the extremum between them."""
    gains = {"alpha": 0.003, "beta": 0.03}
    loud = pf.Loop(Ringing(), pf.Pi(**gains), rtt=0.1, p=0.1)
    top = np.max(np.abs(loud(1j * np.linspace(19, 21, 100_001))))
    for factor, count in ((1 + 1e-7, 3), (1 - 1e-5, 1)):
        scaled = {name: value * factor / top for name, value in gains.items()}
        gain, _ = pf.Loop(Ringing(), pf.Pi(**scaled), rtt=0.1, p=0.1).crossovers()
        assert len(gain) == count


def test_contradictions_are_refused():
    with pytest.raises(pf.ScenarioError, match="capacity"):
        pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p=0.1, capacity=1e7)
    with pytest.raises(pf.ScenarioError, match="capacity is missing"):
        pf.Loop(pf.Flows(pf.Reno(), 1, "80ms"), pf.Pi2())
    with pytest.raises(pf.ScenarioError, match="solved for"):
        pf.Loop(pf.Flows(pf.Reno(), 1, "80ms"), pf.Pi2(), capacity=1e7, p=0.1)
    with pytest.raises(pf.ScenarioError, match="rtt"):
        pf.Loop(pf.Reno(), pf.Pi2(), p=0.1)
    with pytest.raises(pf.QuantityError, match="update"):
        pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p=0.1, update="discrete")
    with pytest.raises(pf.QuantityError, match="rtt_terms"):
        pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p=0.1, rtt_terms="both")
    one = pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p=0.1)
    with pytest.raises(pf.DomainError):
        one(0.0)
    with pytest.raises(pf.DomainError):
        one(np.nan)
    with pytest.raises(pf.DomainError):
        one.roots(0)
    with pytest.raises(pf.QuantityError):
        one.step([0.0, np.nan])


@pytest.mark.parametrize("update", ["continuous", "delayed", "sampled"])
@pytest.mark.parametrize("part", [0.9, 1.1])
@pytest.mark.parametrize(
    ("sender", "aqm"), [(pf.Reno(), pf.Pi()), (pf.Scalable(), pf.Pie(table="sqrt2p"))]
)
@pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")
def test_a_limit_that_does_not_exist_is_where_light_loads_go(sender, aqm, part, update):
    """Reno's gain grows without bound under PI, Scalable's vanishes under PIE's ideal scaling."""
    rtt = part * pf.loop.rtt_limit(aqm.alpha, aqm.beta, aqm.update_interval, update)
    limit = pf.loop.low_load(sender, aqm, rtt, update)
    light, lighter = (
        pf.Loop(sender, aqm, rtt=rtt, p_prime=p, update=update).margins() for p in (1e-5, 1e-7)
    )
    # each decade of p' takes at least 10 dB, so that both lie beyond any number
    assert abs(lighter.gain_margin_db - light.gain_margin_db) > 19.9
    assert limit.gain_margin_db == np.copysign(
        np.inf, lighter.gain_margin_db - light.gain_margin_db
    )
    assert limit.phase_crossover == pytest.approx(lighter.phase_crossover, rel=1e-4, abs=0.01)
    if isinstance(sender, pf.Scalable):
        assert abs(lighter.phase_margin_deg) < 0.04
        assert limit.phase_margin_deg == limit.gain_crossover == 0.0
        # what is missing to the limit falls as the square of the frequency
        missing = [found.delay_margin - limit.delay_margin for found in (light, lighter)]
        square = (lighter.gain_crossover / light.gain_crossover) ** 2
        assert missing[1] / missing[0] == pytest.approx(square, rel=0.01)
    else:
        assert limit.gain_crossover == np.inf


def test_searching_many_loops_reports_progress():
    calls = []
    kind = {"update": "delayed", "rtt_terms": "exact"}
    loops = pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=np.array([0.1, 0.2]), **kind)
    loops.margins(progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 2), (2, 2)]
    assert "2 loops" in str(loops.margins())


def test_arrays_that_do_not_enter_the_closed_form_still_shape_the_result():
    """The target moves the base RTT, not the loop at a given RTT: three equal margins."""
    targets = pf.Pi2(target=np.array([0.005, 0.01, 0.02]))
    for update in ("continuous", "sampled"):
        loops = pf.Loop(pf.Reno(), targets, rtt=0.1, p_prime=0.1, update=update)
        gain_margins = loops.margins().gain_margin_db
        assert gain_margins.shape == loops.shape == (3,)
        assert np.ptp(gain_margins) < 1e-12
        assert loops.margins().verdict.shape == loops.nyquist_count().shape == (3,)


def test_a_name_that_a_loop_has_not_is_answered_by_the_nearest() -> None:
    for given, meant in (("pprime", "p_prime"), ("rtts", "rtt"), ("rtt_term", "rtt_terms")):
        with refused(pf.UnsupportedError, f"Loop has no {given!r}: give '{meant}'"):
            pf.Loop(pf.Reno(), pf.Pi2(), **{"rtt": 0.1, "p_prime": 0.1, given: 0.1})
    with refused(pf.UnsupportedError, "Loop lacks flows: give it."):
        pf.Loop()
    with refused(pf.QuantityError, "mode = 'sampled' is now called update"):
        pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=0.1, mode="sampled")


def test_margins_are_asked_by_name() -> None:
    one = pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=0.1).margins()
    with refused(pf.UnsupportedError, "margins[0] has no meaning: ask by name, gain_margin_db"):
        one[0]
    several = pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=[0.1, 0.2]).margins()
    with refused(pf.UnsupportedError, "write margins.gain_margin_db[1], or have a table"):
        several[1]
    assert several.gain_margin_db[1] > several.gain_margin_db[0]


def test_a_printed_loop_says_where_it_is() -> None:
    loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1)
    lines = dict(line.split("  ", 1) for line in str(loop).splitlines())
    assert {
        name: text.strip() for name, text in lines.items() if name not in ("senders", "queue")
    } == {
        "model": "continuous, round-trip time frozen",
        "round-trip time": "0.1 s",
        "p": "0.01",
        "p'": "0.1",
        "window": "14.142 segments",
    }
    assert ", rtt='100ms', p_prime=0.1, update=" in repr(loop)
    shared = pf.Loop(pf.Flows(pf.Reno(), 10, "80ms"), pf.Pi2(), capacity="20Mbit/s")
    assert f"{float(shared.operating_point.p_prime[0]):.5g}" in str(shared)
    assert ", capacity='20Mbit/s', update=" in repr(shared)
