"""The noise of signals: by Lyapunov's equation in time, of arrays, and what it refuses."""

from __future__ import annotations

import control
import numpy as np
import pytest
import xarray as xr
from scipy.linalg import solve_continuous_lyapunov, solve_discrete_lyapunov

import pi2_fluid as pf
from pi2_fluid.loop.response import class_responses, plant_response

ACKS = {"update": "sampled", "clock": "acks"}
#: flows, base RTT (s), capacity (bit/s), alpha, beta (Hz), target, T (s): all of whole steps.
SETTINGS = {
    "quick": (10, 0.044, 20e6, 0.16, 3.2, 0.016, 0.016),
    "one update a round trip": (4, 0.044, 10e6, 0.2, 1.0, 0.016, 0.06),
    "near its margin": (10, 0.044, 30e6, 0.2, 8.0, 0.016, 0.016),
}


def marched(loop, step):
    """Variances of delay and variable, marched through one update in steps of time.

    The equations of docs/theory_acks.md, of one class with PRR that waits in one queue and is
    signalled as it comes, with finite differences: nothing of frequencies. Lyapunov's equation
    says how far chance has spread the loop where it is the same from update to update.
    """
    (cls,) = loop.linear.classes
    queue, T = loop.aqm, float(loop.linear.controller.interval)
    assert loop.linear.measures == "head"
    assert cls.prr
    waits = float(loop.linear.queue_delay)
    round_trip, heard, late, ticks = (
        round(x / step) for x in (float(cls.rtt), float(cls.heard), waits, T)
    )
    # The window as it was up to `late` steps ago, cuts over a round trip, what was signalled, the
    # variable, and the delay that it saw last.
    w, cuts = 0, late + 1
    signals = cuts + round_trip
    u = signals + heard + 1
    size = u + 2
    delay = np.zeros(size)
    delay[late] = float(cls.rtt / cls.window)
    on = np.zeros((size, size))
    for first, end in ((w, cuts), (cuts, signals), (signals, u)):
        for row in range(first + 1, end):
            on[row, row - 1] = 1.0
    on[u, u] = on[u + 1, u + 1] = on[signals, u] = 1.0
    on[cuts, w], on[cuts, signals + heard] = cls.cut_by_state[0], cls.cut_by_signal
    mean = np.zeros(size)
    mean[cuts:signals] = 1.0 / round_trip
    on[w] = -step * mean @ on
    on[w, w] += 1.0 + step * cls.growth_by_state[0, 0]
    tick = np.eye(size)
    tick[u] += (queue.alpha + queue.beta) * delay
    tick[u, u + 1] -= queue.beta
    tick[u + 1] = delay
    p = loop.operating_point.p[0]
    shock = np.zeros((size, size))
    shock[signals, signals] = (1.0 - p) / (4.0 * loop.operating_point.capacity) / step
    kicks, whole = np.zeros((size, size)), np.eye(size)
    for _ in range(ticks):
        kicks, whole = on @ kicks @ on.T + shock, on @ whole
    now = solve_discrete_lyapunov(tick @ whole, tick @ kicks @ tick.T, method="bilinear")
    variable, seen = now[u, u], []
    for _ in range(ticks):
        now = on @ now @ on.T + shock
        seen.append(delay @ now @ delay)
    return np.array([np.mean(seen), variable])


@pytest.mark.parametrize("setting", SETTINGS)
def test_it_is_what_lyapunovs_equation_says_of_the_loop_in_time(setting):
    """Both errors of the steps, of first and second order, are extrapolated away."""
    count, base, capacity, alpha, beta, target, T = SETTINGS[setting]
    queue = pf.CoupledPi2(alpha=alpha, beta=beta, target=target, update_interval=T)
    loop = pf.Loop(pf.Flows(pf.Reno(), count, base), queue, capacity=capacity, **ACKS)
    coarse, middle, fine = (marched(loop, step) for step in (0.004, 0.002, 0.001))
    delay, variable = (8.0 * fine - 6.0 * middle + coarse) / 3.0
    rho = np.sqrt(variable) / loop.operating_point.controller
    assert loop.delay_sd() == pytest.approx(np.sqrt(delay), rel=1e-4)
    assert loop.signal_spread() == pytest.approx(rho, rel=1e-4)
    # Which tells the hold and its images from a delay of T/2.
    late = pf.Loop(loop.flows, queue, capacity=capacity, clock="acks", update="delayed")
    assert abs(late.delay_sd() / np.sqrt(delay) - 1.0) > 3e-4


@pytest.mark.parametrize("sender", [pf.Reno(), pf.Cubic()])
def test_by_rates_it_is_the_h2_norm_of_a_state_space(sender):
    """Delays as Pade approximations of order 8, closed by python-control, then Lyapunov's."""
    flows, queue = pf.Flows(sender, 10, "60ms"), pf.Pi2(alpha=0.1, beta=1.5)
    loop = pf.Loop(flows, queue, capacity="20Mbit/s")
    top, bottom, unit = loop.linear.controller.continuous_image
    powers = unit ** np.arange(len(top))
    inverse = control.ss(control.tf((bottom * powers)[::-1], (top * powers)[::-1]))
    noise_to_delay = inverse * control.feedback(loop.to_control("ss", order=8))
    A, B, C = noise_to_delay.A, noise_to_delay.B, noise_to_delay.C
    covariance = solve_continuous_lyapunov(A, -B @ B.T)
    point = loop.operating_point
    density = (1.0 - point.p[0]) / (4.0 * point.capacity)
    expected = np.sqrt(density * (C @ covariance @ C.T).item())
    assert loop.delay_sd() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("clock", ["acks", "rate"])
def test_what_classes_do_one_by_one_is_what_they_do_together(clock):
    s = 1j * np.geomspace(0.1, 150.0, 40)
    for flows in MIXTURES.values():
        for queue in (pf.DualPi2(), pf.CoupledPi2()):
            linear = pf.Loop(flows, queue, capacity="20Mbit/s", clock=clock).linear
            together = plant_response(linear, s)
            np.testing.assert_allclose(sum(class_responses(linear, s)), together, rtol=1e-12)


#: Of which the curve turns in less than a tenth of a radian per round trip, and grows above reach.
NARROW = [
    (
        [pf.Flows(pf.Prague(), 52, 0.0016), pf.Flows(pf.CReno(), 18, 0.4214792, "far")],
        (0.70333469, 0.32651139, 0.00109434545),
        34868330.0,
    ),
    (
        [
            pf.Flows(pf.Dctcp(law="renewal"), 52, 0.46636901, "far"),
            pf.Flows(pf.Dctcp(law="renewal"), 14, 0.01357005),
            pf.Flows(pf.CReno(), 43, 0.0139095, "near"),
        ],
        (0.5112977, 6.8632088, 0.00612517),
        53130703.0,
    ),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")
@pytest.mark.parametrize("case", range(len(NARROW)))
def test_a_narrow_ring_is_not_taken_for_growth(case):
    """Nor growth for a ring: modes are counted by how often 1 + L winds about 0, on a fine grid."""
    flows, (alpha, beta, T), capacity = NARROW[case]
    queue = pf.CoupledPi2(alpha=alpha, beta=beta, update_interval=T)
    loop = pf.Loop(flows, queue, capacity=capacity, **ACKS)
    phase = np.unwrap(np.angle(1.0 + loop(1j * np.linspace(1e-3, np.pi / T, 200_000))))
    assert np.abs(np.diff(phase)).max() < 2.0  # below pi: no turn is missed
    assert phase[0] == pytest.approx(-0.5 * np.pi, abs=0.1)  # of the controller's integrator
    assert loop.nyquist_count() == round(-phase[-1] / np.pi)
    assert np.isfinite(loop.delay_sd()) == (loop.nyquist_count() == 0)


GAINS = {"alpha": np.array([[0.05], [0.16], [0.5]]), "beta": np.array([0.8, 3.2, 7.0, 14.0])}
MIXTURES = {
    "one class": [pf.Flows(pf.Cubic(), 2, "30ms")],
    "two paths": [pf.Flows(pf.Reno(), 4, "20ms"), pf.Flows(pf.Cubic(), 3, "70ms", "far")],
    "beside L4S": [
        pf.Flows(pf.Reno(), 10, "30ms"),
        pf.Flows(pf.Scalable(), 1, "25ms", "l4s"),
        pf.Flows(pf.Cbr(rate="1Mbit/s", thinned=False), 1, "20ms", "cbr"),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("update", ["sampled", "delayed", "continuous"])
@pytest.mark.parametrize("clock", ["acks", "rate"])
@pytest.mark.parametrize("mixture", MIXTURES)
def test_arrays_say_what_each_of_their_loops_says(mixture, clock, update):
    """And inf of those, and those alone, of which modes grow by another count."""
    model = {"capacity": "20Mbit/s", "update": update, "clock": clock}
    loops = pf.Loop(MIXTURES[mixture], pf.DualPi2(**GAINS), **model)
    sd, rho = loops.delay_sd("20ms"), loops.signal_spread()
    assert sd.shape == rho.shape == (3, 4)
    np.testing.assert_array_equal(np.isinf(sd), loops.nyquist_count() != 0)
    np.testing.assert_array_equal(np.isinf(rho), np.isinf(sd))
    for index in ((0, 0), (1, 2), (2, 1)):
        alpha, beta = GAINS["alpha"][index[0], 0], GAINS["beta"][index[1]]
        one = pf.Loop(MIXTURES[mixture], pf.DualPi2(alpha=alpha, beta=beta), **model)
        # Parts of the range are halved for the worst of an array.
        assert one.delay_sd("20ms") == pytest.approx(sd[index], rel=3e-4)
        assert one.signal_spread() == pytest.approx(rho[index], rel=3e-4)


@pytest.mark.slow
def test_arrays_of_paths_and_intervals_beside_gains():
    """One axis changes the plant, one the update, one the gains; labels stay with them."""
    gains = xr.DataArray([1.6, 3.2], dims="beta", coords={"beta": [1.6, 3.2]})
    intervals = xr.DataArray([0.008, 0.032], dims="T")
    rtts = xr.DataArray([0.02, 0.06, 0.1], dims="rtt")
    queue = pf.CoupledPi2(alpha=0.16, beta=gains, update_interval=intervals)
    found = pf.Loop(pf.Flows(pf.Reno(), 10, rtts), queue, capacity="20Mbit/s", **ACKS).delay_sd()
    assert set(found.dims) == {"beta", "T", "rtt"}
    one = pf.CoupledPi2(alpha=0.16, beta=3.2, update_interval=0.032)
    alone = pf.Loop(pf.Flows(pf.Reno(), 10, 0.06), one, capacity="20Mbit/s", **ACKS).delay_sd()
    assert float(found.isel(T=1, rtt=1).sel(beta=3.2)) == pytest.approx(alone, rel=3e-4)


def test_of_each_class_by_itself():
    """Equal classes make what their sum makes as one; what sends at a constant rate makes none."""
    whole = pf.Loop(pf.Flows(pf.Reno(), 8, "40ms"), pf.Pi2(), capacity="20Mbit/s", **ACKS)
    halves = [pf.Flows(pf.Reno(), count, "40ms", str(count)) for count in (2, 6)]
    parts = pf.Loop(halves, pf.Pi2(), capacity="20Mbit/s", **ACKS).delay_sd(by="class")
    assert np.hypot(*parts) == pytest.approx(whole.delay_sd(), rel=1e-6)
    assert parts[1] / parts[0] == pytest.approx(np.sqrt(3.0), rel=1e-6)
    beside = pf.Loop(MIXTURES["beside L4S"], pf.DualPi2(), capacity="20Mbit/s", **ACKS)
    *moving, still = beside.delay_sd(by="class")
    assert still == 0.0
    assert min(moving) > 0.0


def test_more_load_is_as_noisy_and_bins_hide_what_is_quick():
    """The noise in p' is (1 - p)/(4 C) whatever the load; a bin hides what is quicker than it."""
    loop = pf.Loop(pf.Flows(pf.Reno(), 10, "40ms"), pf.Pi2(), capacity="20Mbit/s", **ACKS)
    sizes = [loop.delay_sd(bin) for bin in (None, "1ms", "20ms", "1s", "100s")]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[1] == pytest.approx(sizes[0], rel=1e-5)
    # Of a long mean what is left is the noise at 0, where the integral keeps the delay at rest.
    assert sizes[-1] < 0.01 * sizes[0]


#: Whose packets: the sender, its path, flows and capacity, one with L4S beside it; and with which
#: gains (alpha, beta). `tools/measure_spread.py` has 170 such points.
PACKETS = {
    "Cubic": ([pf.Flows(pf.Cubic(), 3, "20ms", start_jitter="1s")], "30Mbit/s", (0.16, 5.6)),
    "Reno": ([pf.Flows(pf.Reno(), 10, "40ms", start_jitter="1s")], "40Mbit/s", (0.08, 3.2)),
    "beside L4S": (
        [
            pf.Flows(pf.Cubic(), 2, "25ms", start_jitter="1s"),
            pf.Flows(pf.Prague(), 2, "25ms", "l4s", start_jitter="1s"),
        ],
        "20Mbit/s",
        (0.16, 3.2),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PACKETS)
def test_packets_scatter_as_far(name):
    """Backlog in means over 20 ms; a run scatters by some 5 %, and cuts of several sizes add 15."""
    flows, capacity, (alpha, beta) = PACKETS[name]
    queue = pf.DualPi2(alpha=alpha, beta=beta)
    loop = pf.Loop(flows, queue, capacity=capacity, **ACKS)
    scenario = pf.Scenario(38.0, pf.Link(capacity, buffer=20_000), queue, flows)
    runs = pf.packet.simulate(scenario, seeds=[301, 302], bin=0.02, threads=1)
    delay = runs.queue_delay.sel(band="C", time=slice(8.0, None))
    point = loop.operating_point
    ahead = sum(point.share) - point.share[0]  # `queue_delay` has the backlog over the whole link
    measured = float(np.sqrt(delay.var("time").mean())) / (1.0 - ahead)
    assert 0.95 < measured / loop.delay_sd("20ms") < 1.25


REFUSED = {
    "RED": (pf.Reno(), lambda: pf.Red(min=5, max=50), "continuous", "Red does not draw lots"),
    "L4S alone": (
        pf.Scalable(),
        lambda: pf.DualPi2(ramp="400us"),
        "continuous",
        "DualPi2 does not draw lots here",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_derived_is_refused(case):
    sender, queue, update, said = REFUSED[case]
    loop = pf.Loop(pf.Flows(sender, 20, "50ms"), queue(), capacity="20Mbit/s", update=update)
    for ask in (loop.delay_sd, loop.signal_spread):
        with pytest.raises(pf.UnsupportedError, match=said):
            ask()


def test_bad_numbers_are_refused():
    loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1)
    with pytest.raises(pf.QuantityError, match=r"bin = .* is an array: give one length"):
        loop.delay_sd([0.1, 0.2])
    with pytest.raises(pf.DomainError, match="bin"):
        loop.delay_sd("-1ms")
    with pytest.raises(pf.QuantityError, match="by = 'flow' is unknown: give one of 'class'"):
        loop.delay_sd(by="flow")


def near_its_boundary(model: dict[str, str], less: float) -> pf.Loop:
    """PI2 with a gain margin of 1 + `less`."""
    flows = pf.Flows(pf.Reno(), 10, "60ms")
    loop = pf.Loop(flows, pf.Pi2(), capacity="40Mbit/s", **model)
    gain = float(loop.margins().gain_margin) * (1.0 - less)
    queue = pf.Pi2(alpha=gain * float(pf.Pi2().alpha), beta=gain * float(pf.Pi2().beta))
    return pf.Loop(flows, queue, capacity="40Mbit/s", **model)


@pytest.mark.parametrize("less", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("model", [{}, {"rtt_terms": "exact"}])
def test_a_ring_however_narrow_has_the_variance_of_its_mode(model, less):
    """By the residue of the mode s that rings: 2 |r|^2 over 2 |Re s|, but for O(|Re s|)."""
    loop = near_its_boundary(model, less)
    root = complex(loop.roots())
    h = 1e-5 * abs(root)
    slope = (complex(loop(root + h)) - complex(loop(root - h))) / (2.0 * h)
    residue = complex(plant_response(loop.linear, np.array([root]))[0]) / slope
    point = loop.operating_point
    density = (1.0 - point.p[0]) / (4.0 * point.capacity)
    expected = np.sqrt(density * abs(residue) ** 2 / abs(root.real))
    # Tolerance: a thousandth is what the integral allows; the rest of the loop is `less` of it.
    assert loop.delay_sd() == pytest.approx(expected, rel=6e-4 + less)


@pytest.mark.parametrize("model", [{}, {"update": "delayed"}, {"clock": "acks"}])
def test_a_narrow_ring_that_bins_all_but_hide_is_found(model):
    """Bins of about its period leave some per cent of the variance in a range of 1e-6 of it.

    Its tails are far too small to be noticed there. By the density, with nodes that are as close
    as the range asks: w0 + width sinh(t).
    """
    loop = near_its_boundary(model, 1e-6)
    w = np.linspace(2.0, 20.0, 40_001)
    density = np.asarray(loop.delay_spectrum(w))
    peak = float(w[density.argmax()])
    for scale in (1e-4, 1e-6):
        near = peak + scale * np.linspace(-5.0, 5.0, 4001)
        density = np.asarray(loop.delay_spectrum(near))
        peak = float(near[density.argmax()])
    half = near[density > 0.5 * density.max()]
    width = max(float(half[-1] - half[0]) / 2.0, 1e-12)
    bins = 2.0 * np.pi / peak * (1.0 + 1e-4)

    def seen(at):
        return np.asarray(loop.delay_spectrum(at)) * np.sinc(at * bins / (2.0 * np.pi)) ** 2

    reach = 0.5 * peak
    t = np.linspace(-np.arcsinh(reach / width), np.arcsinh(reach / width), 4001)
    around = seen(peak + width * np.sinh(t)) * width * np.cosh(t)
    ring, narrow = (np.trapezoid(around[near], t[near]) for near in (t < 99.0, abs(t) < 5.0))
    x = np.log(np.array([1e-3, 0.5, 1.5, 3e3]) * peak)
    rest = [
        np.trapezoid(seen(np.exp(at)) * np.exp(at), at)
        for at in (np.linspace(x[0], x[1], 4001), np.linspace(x[2], x[3], 12_001))
    ]
    assert loop.delay_sd(bins) == pytest.approx(np.sqrt(ring + sum(rest)), rel=2e-3)
    assert 0.02 < narrow / (ring + sum(rest)) < 0.2  # within 74 of its widths, 1e-4 rad/s
