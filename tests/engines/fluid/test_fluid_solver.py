"""The fluid solver against closed forms, other solvers, and its own order of convergence."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from typing import ClassVar

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import pi2_fluid as pf
from pi2_fluid.engines.fluid.oracle.history import History, Segment
from pi2_fluid.engines.fluid.oracle.past import Past
from pi2_fluid.engines.fluid.oracle.plant import Plant
from pi2_fluid.engines.fluid.oracle.state import EMPTY, FREE

C = 10e6 / 12000  # packets/s of a 10 Mbit/s link
PI2 = {"alpha": 0.3125, "beta": 3.125, "target": 0.02, "update_interval": 0.032}


def flows(sender, count, base_rtt, window=1.0, **more):
    return pf.Flows(
        sender, count, base_rtt, initial_window=window, slow_start=False, **{"name": None, **more}
    )


@pytest.mark.parametrize("first", [0.0, 3.7, 1e6])
def test_when_what_leaves_now_had_entered(first, rng):
    """Newton's steps against halving, on rising cubics, flat ends and steep ones among them."""
    for _ in range(200):
        rise, h = 10 ** rng.uniform(-3, 2), 10 ** rng.uniform(-4, -1)
        slopes = rise / h * rng.choice([0.0, 1.0, rng.uniform(0, 2.9)], 2)
        ends = ([first], [first + rise], [slopes[0]], [slopes[1]])
        step = Segment(2.0, 2.0 + h, *ends, FREE)
        value = first + rise * rng.choice([0.0, 1.0, rng.uniform()])
        low, high = 2.0, 2.0 + h
        for _ in range(60):
            middle = 0.5 * (low + high)
            below = step.value(step.weights(middle), 0) < value
            low, high = (middle, high) if below else (low, middle)
        found = step.value(step.weights(step.when(0, value)), 0)
        # the same moment, to the rounding of the cubic, and of the time on a slope of 3 rise/h
        rounding = 4.0 * np.spacing(first + rise) + 3.0 * rise / h * 2.0 * np.spacing(high)
        assert abs(found - step.value(step.weights(high), 0)) < rounding


# --- closed forms -----------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Echo(pf.Sender):
    """y' = -y(t - R), the simplest delay-differential equation, for y = window - 10."""

    signal: ClassVar = "classic"

    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        return 10.0 - x_delayed


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Still(pf.Sender):
    """A window that never changes."""

    signal: ClassVar = "classic"

    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        return 0.0


def by_steps(t):
    """y(t) of Echo with R = 1 and y = 1 before 0: a polynomial on each unit interval."""
    past = np.polynomial.Polynomial([1.0])
    pieces, value = [], 1.0
    for _n in range(int(np.max(t)) + 1):
        # y' = -y(t - 1), in the local time s = t - n
        piece = value - past.integ()
        pieces.append(piece)
        past, value = piece, piece(1.0)
    return np.array([pieces[min(int(v), len(pieces) - 1)](v - int(v)) for v in t])


def echo(step):
    scenario = pf.Scenario(
        "3.5s", pf.Link("100Gbit/s", "40000 packets"), pf.Pi2(), flows(Echo(), 1, 1.0, 11.0)
    )
    result = pf.fluid.simulate(scenario, step=step, sample=0.25, update="continuous")
    return result.window.to_numpy()[:, 0] - 10.0


def test_a_linear_delay_equation_by_hand():
    """Polynomials of degree 4 at most so far: exact but for the last piece."""
    exact = by_steps(np.arange(15) * 0.25)
    assert exact[4] == 0.0  # y = 1 - t at t = 1
    assert exact[8] == pytest.approx(-0.5, abs=1e-15)
    errors = [np.abs(echo(step) - exact).max() for step in (0.1, 0.05)]
    assert errors[1] < 1e-7
    assert np.log2(errors[0] / errors[1]) > 3.5


def test_a_constant_window_fills_the_queue_along_its_closed_form():
    """R' = K/R - 1 with K = N W / C: t = R0 - R + K ln((K - R0)/(K - R)).

    From an empty queue, R0 = base_rtt, to the rest at R = K.
    """
    base, count, window = 0.1, 2.0, 60.0
    scenario = pf.Scenario(
        "0.5s",
        pf.Link("10Mbit/s", "40000 packets"),
        pf.TailDrop(),
        flows(Still(), count, base, window),
    )
    result = pf.fluid.simulate(scenario, sample=0.01)
    K = count * window / C

    def time(R):
        return base - R + K * np.log((K - base) / (K - R))

    for t, delay in zip(result.time.to_numpy()[1:], result.queue_delay.to_numpy()[1:], strict=True):
        R = brentq(lambda R, t=t: time(R) - t, base, K * (1 - 1e-15), xtol=1e-15)
        assert delay == pytest.approx(R - base, abs=1e-11)


def test_the_queue_begins_when_the_windows_fill_the_path():
    """Windows grow by 1/base_rtt: q leaves 0 at (base_rtt C/N - W0) base_rtt."""
    scenario = pf.Scenario(
        "2s", pf.Link("10Mbit/s", "40000 packets"), pf.Pi2(**PI2), flows(pf.Reno(), 5, 0.1)
    )
    result = pf.fluid.simulate(scenario, sample="1ms")
    begins = (0.1 * C / 5 - 1) * 0.1
    queue, time = result.queue.to_numpy(), result.time.to_numpy()
    assert np.all(queue[time < begins] == 0.0)
    first = np.argmax(queue > 0)
    assert time[first] == pytest.approx(begins, abs=1.01e-3)
    # and grows quadratically from there, N (t - begins)^2 / (2 R^2), to first order
    since = time[first + 1] - begins
    assert queue[first + 1] == pytest.approx(5 * since**2 / (2 * 0.1**2), rel=5 * since / 0.1)


# --- other solvers ----------------------------------------------------------------------------

STEPPED = pf.Scenario(
    "8s",
    pf.Link("10Mbit/s", "40000 packets"),
    pf.Pi2(**PI2),
    flows(pf.Reno(), 10, 0.1, name="reno"),
    [pf.Change("2s", counts={"reno": 12}), pf.Change("5s", counts={"reno": 11})],
)


def rest():
    return pf.equilibrium(STEPPED.flows, STEPPED.aqm, "10Mbit/s")


def slopes(t, y, late, count):
    """Written for this test, from the equations: Reno under PI2, continuous controller."""
    w, q, _u = y
    R = 0.1 + q / C
    w_d, q_d, u_d = late(t - R)
    dq = count * w / R - C
    dw = 1 / R - 0.5 * w * w_d / (0.1 + q_d / C) * u_d**2
    du = 0.3125 / 0.032 * (q / C - 0.02) + (3.125 + 0.3125 / 2) * dq / C
    return [dw, dq, du]


def method_of_steps():
    """SciPy's DOP853 in pieces shorter than the delay; history from its dense output."""
    point = rest()
    y = [point.window[0], point.queue, point.controller]
    start = list(y)
    ends = np.arange(1, 801) * 0.01
    solutions, out = [], [start]

    def late(t):
        return start if t <= 0 else solutions[min(int(t / 0.01), len(solutions) - 1)](t)

    for end in ends:
        count = 10 if end <= 2 + 1e-9 else 12 if end <= 5 + 1e-9 else 11
        piece = solve_ivp(
            slopes,
            (end - 0.01, end),
            y,
            "DOP853",
            args=(late, count),
            dense_output=True,
            rtol=1e-11,
            atol=1e-12,
        )
        solutions.append(piece.sol)
        y = piece.y[:, -1]
        out.append(y)
    return np.array(out)


@pytest.fixture(scope="module")
def stepped():
    result = pf.fluid.simulate(STEPPED, update="continuous", sample=0.01, initial=rest())
    return np.stack([result.window[:, 0], result.queue, result.controller], axis=1)


@pytest.mark.slow
def test_scipy_agrees(stepped):
    """1e-6 packets: two steps of load, no clips."""
    errors = np.abs(stepped - method_of_steps()).max(axis=0)
    assert np.all(errors < [1e-7, 1e-6, 1e-8])
    assert np.ptp(stepped[:, 1]) > 1.0  # there was something to agree on


# In a process of its own, with a folder of its own: it compiles, and leaves files behind.
JITCDDE = """
import json, sys
from jitcdde import jitcdde, t, y
from symengine import Symbol

C, start = json.loads(sys.argv[1])
number = Symbol("number")
R = 0.1 + y(1) / C
R_d = 0.1 + y(1, t - R) / C
dq = number * y(0) / R - C
system = [
    1 / R - 0.5 * y(0) * y(0, t - R) / R_d * y(2, t - R) ** 2,
    dq,
    0.3125 / 0.032 * (y(1) / C - 0.02) + (3.125 + 0.3125 / 2) * dq / C,
]
dde = jitcdde(system, max_delay=0.5, control_pars=[number], verbose=False)
dde.constant_past(start)
dde.set_integration_parameters(rtol=1e-9, atol=1e-9, first_step=1e-3, max_step=0.01)
out = [start]
for stage, n in ((200, 10.0), (500, 12.0), (800, 11.0)):
    dde.set_parameters(n)
    dde.adjust_diff()
    first = len(out)
    while len(out) <= stage:
        # Short fixed steps over the kink that begins a stage, and so as to end one exactly:
        # the adaptive ones step past the end, and read what they passed.
        end = len(out) * 0.01
        blindly = len(out) < first + 2 or len(out) > stage - 5
        row = dde.integrate_blindly(end, 0.001) if blindly else dde.integrate(end)
        out.append(list(row))
print(json.dumps(out))
"""


@pytest.mark.slow
def test_jitcdde_agrees(stepped, tmp_path):
    """A tenth of its own tolerance, 1e-9 relative in each of some thousand steps."""
    pytest.importorskip("jitcdde")
    point = rest()
    given = json.dumps([C, [point.window[0], point.queue, point.controller]])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", JITCDDE, given],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    errors = np.abs(stepped - np.array(json.loads(done.stdout))).max(axis=0)
    assert np.all(errors < [1e-7, 1e-6, 1e-8])


# --- order of convergence ---------------------------------------------------------------------

ONE = pf.Scenario(
    "3s",
    pf.Link("10Mbit/s", "40000 packets"),
    pf.Pi2(**PI2),
    flows(pf.Reno(), 10, 0.1, name="reno"),
    [pf.Change("1.6s", counts={"reno": 30}), pf.Change("2.2s", capacity="20Mbit/s")],
)
TWO = pf.Scenario(
    "3s",
    pf.Link("40Mbit/s", "40000 packets"),
    pf.CoupledPi2(**PI2),
    [
        flows(pf.Reno(), 6, 0.05, window=10.0, name="reno"),
        flows(pf.Scalable(), 4, 0.09, window=10.0, name="scalable", start="0.5s"),
    ],
    [pf.Change("1.6s", counts={"scalable": 12}), pf.Change("2.2s", capacity="30Mbit/s")],
)

# PIE's gains jump at the edges of its table, its cap and its decay begin and end, and it is idle
# for a second while p is above 0.
COMPARING = pf.Scenario(
    "4s",
    pf.Link("10Mbit/s", "40000 packets"),
    pf.Pie(decay=True),
    flows(pf.Reno(), 10, 0.1, name="reno"),
    [pf.Change("1.6s", counts={"reno": 30}), pf.Change("2.4s", counts={"reno": 3})],
)


def queue(scenario, controller, step):
    result = pf.fluid.simulate(scenario, update=controller, step=step, sample=0.032)
    return result.queue.to_numpy()


def test_how_fast_a_dual_queue_moves_the_instant_that_is_heard():
    """By hand: d(t - R)/dt = 1 - (q' + tau a') / (C - a), where L4S flows leave C - a."""
    link = pf.Link("10Mbit/s", "40000 packets")
    classes = [flows(pf.Reno(), 5, 0.04, 20.0), flows(pf.Scalable(), 2, 0.02, 3.0)]
    plant = Plant(pf.Scenario(link=link, aqm=pf.DualPi2(), flows=classes, duration=1.0), "sampled")
    y, update = plant.initial()
    update = update._replace(active=(True, True), started=(True, True), bound=(FREE, EMPTY))
    y[0], f = 12.0, [0.0] * plant.size
    f[0], f[plant.windows[1].start] = 80.0, 25.0
    plant.attach(Past(History(*plant.initial()), []))
    view = plant.observe(0.0, y, update)
    capacity, taken = 10e6 / (8.0 * link.packet_size), 2 * 3.0 / 0.02
    tau = 12.0 / (capacity - taken)
    assert view.rtt == pytest.approx((0.04 + tau, 0.02))
    moves = (80.0 + tau * 2 * 25.0 / 0.02) / (capacity - taken)
    # the slope is taken over a millionth of R, during which it changes by a few parts of that
    slow, fast = (plant.delayed(reader, 0.0, y, f, view, update) for reader in plant.group)
    assert slow is not None
    assert slow == pytest.approx((-view.rtt[0], 1.0 - moves), rel=1e-6)
    assert fast == (-0.02, 1.0)


@pytest.mark.parametrize("scenario", [ONE, TWO], ids=["one class", "two classes"])
@pytest.mark.parametrize("controller", ["sampled", "continuous"])
def test_order_four_through_clips_and_steps(scenario, controller):
    """The error falls by 2^3.5 at least when the step is halved, twice in a row on average.

    The runs begin with an empty queue and the controller clipped at 0; the steps of load and
    capacity drive q to 0 and, with the continuous controller, p' to a clip again.
    """
    truth = queue(scenario, controller, 0.25e-3)
    assert np.any(truth[1:] == 0.0)
    errors = [np.abs(queue(scenario, controller, h) - truth).max() for h in (8e-3, 4e-3, 2e-3)]
    assert errors[0] < 1e-2
    assert np.log2(errors[0] / errors[2]) / 2 > 3.5


def test_order_four_through_every_comparison_of_a_law():
    """As above: a law that is asked on the other side of an edge makes a method of first order."""

    def queue(step):
        return pf.fluid.simulate(COMPARING, step=step, update="continuous", sample=0.032)

    truth = queue(0.25e-3)
    idle = (truth.queue.to_numpy() == 0.0) & (truth.controller.to_numpy() > 0.01)
    assert idle.sum() > 20  # u decays
    assert float(truth.controller.max()) > 0.5  # beyond all edges
    errors = [float(np.abs(queue(h).queue - truth.queue).max()) for h in (8e-3, 4e-3, 2e-3)]
    assert errors[0] < 3e-4
    assert np.log2(errors[0] / errors[2]) / 2 > 3.9


def test_the_tolerance_governs_pie():
    """To twice its tolerance of the largest delay, twelve times the target, where load trebles."""
    link, classes = pf.Link("10Mbit/s", "40000 packets"), flows(pf.Reno(), 10, 0.1, name="reno")
    change = pf.Change("20s", counts={"reno": 30})
    scenario = pf.Scenario("40s", link, pf.Pie(), classes, change)

    def delay(**how):
        result = pf.fluid.simulate(scenario, update="continuous", sample=0.02, **how)
        return result.queue_delay.to_numpy()

    truth = delay(step=0.5e-3)  # off by 1e-10 of it
    for tolerance in (1e-6, 1e-8):
        error = np.abs(delay(tolerance=tolerance) - truth).max()
        assert error < 2.0 * tolerance * truth.max()


def falling(links: int) -> pf.Scenario:
    """Return a scenario whose windows fall at rates that steps of 0.14 s do not follow."""
    queue, route = pf.CoupledPi2(update_interval="100ms"), ["a", "b"][:links]
    flows = pf.Flows(pf.Cubic(), 7, "473ms", route=route, initial_window=1, slow_start=False)
    nodes = [
        pf.Node(name, pf.Link(f"{5.8 * k}Mbit/s", "40000 packets"), queue)
        for k, name in enumerate(route, 1)
    ]
    drop = pf.Change(10, link="a", capacity="1Mbit/s")
    return pf.Scenario(15, network=pf.Network(nodes, flows), changes=[drop])


@pytest.mark.parametrize("links", [1, 2])
def test_steps_too_long_for_what_falls_are_cut(links):
    """Were they not, windows would grow without bound, and the queue to 30,000 packets."""
    how = {"update": "continuous", "sample": "50ms"}
    truth = pf.simulate(falling(links), pf.Fluid(tolerance=1e-8, **how)).queue
    found = pf.simulate(falling(links), pf.Fluid(step="142ms", **how)).queue
    assert float(abs(found - truth).max()) < 0.01 * float(truth.max())


def test_steps_are_cut_after_slow_start():
    # p' is 0.7 then: windows fall by more in 5 ms than a step of that length can follow.
    flows = pf.Flows(pf.Reno(), 10, "50ms", start=0.5, start_jitter=2)
    scenario = pf.Scenario(6, pf.Link("20Mbit/s", "40000 packets"), pf.Pi2(), flows)
    truth, found = (
        pf.simulate(scenario, pf.Fluid(**how)).queue
        for how in ({"tolerance": 1e-8}, {"step": "5ms"})
    )
    assert float(abs(found - truth).max()) < 0.01 * float(truth.max())


def test_both_engines_cut_the_same_steps():
    one, other = (
        pf.simulate(falling(1), pf.Fluid(step="142ms", update="continuous", engine=engine)).queue
        for engine in ("c", "python")
    )
    np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("engine", ["c", "python"])
def test_both_engines_cut_what_is_longer_than_a_delay(engine):
    found, truth = (
        pf.simulate(falling(1), pf.Fluid(update="continuous", **how)).queue
        for how in ({"step": "142ms", "engine": engine}, {"tolerance": 1e-8})
    )
    assert float(abs(found - truth).max()) < 0.01 * float(truth.max())


@pytest.mark.parametrize("step", ["40ms", "4ms"])
@pytest.mark.parametrize("engine", ["c", "python"])
@pytest.mark.filterwarnings("ignore::pi2_fluid.AssumptionWarning")  # of p = 1
def test_a_step_too_long_for_a_strong_signal_is_cut(engine, step):
    """After slow start p is 1, and windows of hundreds of segments fall within milliseconds.

    Those of 4 ms are beyond the limit of the method, b p W/R times the step = 2.785.
    """
    scenario = pf.Scenario(
        0.9, pf.Link("100Mbit/s", "40000 packets"), pf.Pi2(), pf.Flows(pf.Reno(), 5, "70ms")
    )
    found = pf.fluid.simulate(scenario, step=step, sample="4ms", engine=engine)
    truth = pf.fluid.simulate(scenario, tolerance=1e-8, sample="4ms")
    rate = 0.5 * truth.p[:, 0] * truth.window[:, 0] / (0.07 + truth.queue_delay)
    assert 0.004 * float(rate.max()) > 2.785
    assert float(np.abs(found.window - truth.window).max()) < 0.02 * float(truth.window.max())


def test_a_tolerance_bounds_the_error():
    truth = queue(TWO, "sampled", 0.25e-3)
    for tolerance, most in ((1e-6, 1e-3), (1e-8, 1e-5), (1e-10, 1e-7)):
        result = pf.fluid.simulate(TWO, tolerance=tolerance, sample=0.032)
        assert np.abs(result.queue.to_numpy() - truth).max() < most


def test_a_past_too_long_to_be_kept_is_not_taken_for_one_that_is_lost():
    """Steps laid out for speed move no reader's place, by which one asks what has been forgotten.

    300,000 steps of a queue, a controller and two windows are 38 MB of cubics. From 16 MB on only
    what packets in flight can reach is kept. With a buffer of a second, that is all there is.
    """
    pair = flows(pf.Reno(), 10, 0.05), flows(pf.Reno(), 5, 0.02)
    long, short = (
        pf.fluid.simulate(
            pf.Scenario("60s", pf.Link("20Mbit/s", buffer=buffer), pf.Pi2(), pair),
            step="0.2ms",
            sample="1s",
        )
        for buffer in (10**9, 1600)
    )
    assert 0.0 < float(short.queue.max()) < 1600.0
    for name in ("queue", "controller", "window"):
        np.testing.assert_array_equal(long[name], short[name])
