"""What every trajectory has to fulfil, and what happens in extreme places."""

from __future__ import annotations

import dataclasses
import warnings
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pi2_fluid as pf

# Extremes go beyond what the laws describe, which `test_small_windows` is about.
pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.AssumptionWarning")

SENDERS = st.sampled_from([pf.Reno(), pf.CReno(), pf.Scalable(), pf.Dctcp(), pf.Cubic()])
AQMS = st.sampled_from(
    [
        pf.Pi2(),
        pf.Pi(alpha=0.02, beta=0.2),
        pf.Pie(),
        pf.Pie(burst="150ms", variant="linux4.14"),
        pf.CoupledPi2(),
        pf.DualPi2(),
        pf.DualPi2(ramp="400us", variant="rfc9332"),
        pf.Red(min=20, max=60),
        pf.Red(min=20, max=60, adaptive=True),
        pf.TailDrop(),
    ]
)


@st.composite
def scenarios(draw):
    classes = [
        pf.Flows(
            draw(SENDERS),
            draw(st.integers(1, 30)),
            draw(st.sampled_from([0.01, 0.02, 0.05, 0.1])),
            start=draw(st.sampled_from([0.0, 0.7, 1.3])),
            stop=draw(st.sampled_from([None, 2.1])),
            slow_start=draw(st.booleans()),
            start_jitter=draw(st.sampled_from([0.0, 0.2])),
            name=f"class{index}",
        )
        for index in range(draw(st.integers(1, 3)))
    ]
    if draw(st.booleans()):
        classes.append(
            pf.Flows(pf.Cbr(rate="8Mbit/s", thinned=draw(st.booleans())), 1, start=1.0, stop=2.0)
        )
    changes = []
    if draw(st.booleans()):
        changes.append(pf.Change(1.5, capacity=draw(st.sampled_from([3e6, 2e7]))))
    link = pf.Link("10Mbit/s", buffer=draw(st.sampled_from([100, 1000])))
    return pf.Scenario(3.0, link, draw(AQMS), classes, changes)


@pytest.mark.slow
@settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(scenarios(), st.sampled_from(["sampled", "continuous"]))
def test_bounds_hold_and_packets_are_conserved(scenario, controller):
    if isinstance(scenario.aqm, pf.DualPi2):
        controller = "sampled"
    result = pf.fluid.simulate(scenario, update=controller, tolerance=1e-6, sample=0.01)
    for name, values in result.data_vars.items():
        assert np.isfinite(values).all(), name
    queue = result.queue.to_numpy().reshape(len(result.time), -1)
    assert np.all(queue >= 0.0)
    assert np.all(queue.sum(axis=1) <= scenario.link.buffer * (1 + 1e-12))
    assert np.all((result.p >= 0.0) & (result.p <= 1.0))
    assert np.all((result.p_prime >= 0.0) & (result.p_prime <= 1.0))
    assert np.all(result.throughput >= 0.0)
    assert np.all(result.throughput.sum("flows") <= result.capacity * (1 + 1e-9))
    # work conserving: a backlogged link is fully used
    busy = queue.sum(axis=1) > 1e-6
    used = (result.throughput.sum("flows") / result.capacity).to_numpy()
    assert np.all(used[busy] > 1 - 1e-6)


@settings(max_examples=15, deadline=None)
@given(st.floats(0.1, 10.0), st.sampled_from([pf.Pi2(), pf.Pie(cap=False, boost250=False)]))
def test_time_scales(factor, aqm):
    """Slower by a factor: every time stretched, every rate and gain divided. Same windows."""

    def run(scale):
        law = dataclasses.replace(
            aqm,
            alpha=aqm.alpha / scale,
            beta=aqm.beta / scale,
            target=aqm.target * scale,
            update_interval=aqm.update_interval * scale,
        )
        flows = [pf.Flows(pf.Reno(), 8, 0.05 * scale), pf.Flows(pf.CReno(), 3, 0.02 * scale)]
        scenario = pf.Scenario(
            3 * scale,
            pf.Link(1e7 / scale, "40000 packets"),
            law,
            flows,
            pf.Change(2 * scale, capacity=5e6 / scale),
        )
        return pf.fluid.simulate(scenario, sample=0.05 * scale, tolerance=1e-9)

    one, other = run(1.0), run(factor)
    np.testing.assert_allclose(other.time / factor, one.time, rtol=1e-12)
    np.testing.assert_allclose(other.queue, one.queue, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(other.window, one.window, rtol=1e-5)


def test_equal_classes_are_one():
    """Two classes of 3 and 5 equal flows are one of 8."""
    split = [pf.Flows(pf.Reno(), n, "50ms") for n in (3, 5)]
    results = [
        pf.fluid.simulate(
            pf.Scenario(5.0, pf.Link("10Mbit/s", "40000 packets"), pf.Pi2(), flows), sample=0.05
        )
        for flows in (split, pf.Flows(pf.Reno(), 8, "50ms"))
    ]
    # Slow start ends at two events instead of one, so the steps are others: 1e-10 in each.
    np.testing.assert_allclose(results[0].queue, results[1].queue, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        results[0].throughput.sum("flows"), results[1].throughput.sum("flows"), rtol=1e-6
    )


# --- a law of one's own -------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class MyReno(pf.Sender):
    signal: ClassVar = "classic"

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        return 1 / rtt - 0.5 * w * w_delayed / rtt_delayed * p_delayed


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Derived(pf.Reno):
    """A law that inherits from one of ours must not run as that one."""

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        return super().rate(w, w_delayed, 2 * p_delayed, rtt, rtt_delayed)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Ramp(pf.Aqm):
    """A queue of one's own: signals in proportion to its delay."""

    def initial(self):
        return (0.0,)

    def update(self, state, seen, dt):
        return (5.0 * seen.queue_delay,)

    def saturate(self, state):
        return (min(state[0], 1.0),)

    def encode(self, u):
        return pf.Signal(u, u)


@pytest.mark.slow
def test_a_law_of_ones_own_is_simulated_as_it_is():
    def run(sender, aqm=None, **how):
        scenario = pf.Scenario(
            3.0, pf.Link("10Mbit/s", "40000 packets"), aqm or pf.Pi2(), pf.Flows(sender, 10, "50ms")
        )
        return pf.fluid.simulate(scenario, step="4ms", **how)

    ours = run(pf.Reno(), engine="python")
    mine = run(MyReno())
    assert mine.attrs["compiled"] == 1
    assert "MyReno" in mine.attrs["scenario"]
    np.testing.assert_allclose(mine.queue, ours.queue, rtol=1e-12, atol=1e-12)
    assert float(run(Derived()).window[-1, 0]) != pytest.approx(float(ours.window[-1, 0]))
    assert run(pf.Reno(), Ramp()).attrs["compiled"] == 1


# --- slow start, starts and stops ---------------------------------------------------------------


def test_slow_start_doubles_every_round_trip():
    """Until the first signal: the queue stays empty on a link that is much too large."""
    scenario = pf.Scenario(
        "0.5s", pf.Link("10Gbit/s", "40000 packets"), pf.Pi2(), pf.Flows(pf.Reno(), 1, "100ms")
    )
    result = pf.fluid.simulate(scenario, sample=0.1)
    np.testing.assert_allclose(result.window[:, 0], 10 * 2.0 ** np.arange(6), rtol=1e-9)


def test_slow_start_ends_at_the_first_signal_or_a_full_buffer():
    def run(aqm, buffer):
        flows = pf.Flows(pf.Reno(), 1, "100ms")
        scenario = pf.Scenario("4s", pf.Link("10Mbit/s", buffer=buffer), aqm, flows)
        return pf.fluid.simulate(scenario, sample="1ms")

    signalled, full = run(pf.Pi2(), 1e5), run(pf.Pi2(alpha=1e-6, beta=0.0), 50)
    for result in (signalled, full):
        window = result.window.to_numpy()[:, 0]
        # exponential, at ln 2 W/R > 50 segments/s, before; afterwards 1/R, below 10
        speed = np.diff(window) / np.diff(result.time)
        end = int(np.argmax(speed < 30))
        assert 300 < end < 3000
        assert speed[: end - 1].min() > 50
        assert speed[end + 1 :].max() < 10.001
    # the buffer is full when the window holds the path, 83.3 packets, and 50 more
    at_full = float(full.window[int(np.argmax(full.queue.to_numpy() >= 50)), 0])
    assert 133 < at_full < 230


@pytest.mark.parametrize("engine", ["python", "c"])
@pytest.mark.parametrize("sender", [pf.Reno(), pf.Cubic(), pf.TimeoutReno()], ids=str)
def test_nobody_starts_slowly_into_a_full_buffer(engine, sender):
    """Who starts while it overflows leaves slow start at once: no event would ever end it.

    The controller hardly moves, so that nothing but the full buffer could.
    """
    scenario = pf.Scenario(
        "8s",
        pf.Link("10Mbit/s", buffer=50),
        pf.Pi2(alpha=1e-6, beta=0.0),
        [
            pf.Flows(pf.Cbr(rate="12Mbit/s", thinned=False), name="cbr"),
            pf.Flows(sender, 2, "50ms", start=3, name="late"),
        ],
    )
    result = pf.fluid.simulate(scenario, engine=engine)
    assert float(result.queue.sel(time=slice(1, None)).min()) == 50
    window = result.window.sel(flows="late")
    # 1/R for 5 s at R = 50 ms + 60 ms is 45 segments; doubling every R would make 10 of them 1e14
    assert 20 < float(window[-1]) < 10 + 5 / 0.11 + 1


def test_traffic_without_window_that_ramps_up():
    """With start_jitter its count grows linearly: half of it after half of the time."""
    scenario = pf.Scenario(
        "1s",
        pf.Link("1Gbit/s", "40000 packets"),
        pf.Pi2(),
        pf.Flows(pf.Cbr(rate="1Mbit/s"), 10, start="0.2s", start_jitter="0.4s"),
    )
    result = pf.fluid.simulate(scenario, sample=0.1)
    expected = 1e6 * np.array([0, 0, 0, 2.5, 5, 7.5, 10, 10, 10, 10, 10])
    np.testing.assert_allclose(result.throughput[:, 0], expected, rtol=1e-9, atol=1e-6)


def test_throughput_is_what_left_the_queue():
    """First in, first out: a class that stops goes on leaving for one queue delay."""
    flows = [
        pf.Flows(pf.Cbr(rate="6Mbit/s"), 1, name="a"),
        pf.Flows(pf.Cbr(rate="6Mbit/s"), 1, stop="2s", name="b"),
    ]
    scenario = pf.Scenario("5s", pf.Link("10Mbit/s", "40000 packets"), pf.TailDrop(), flows)
    result = pf.fluid.simulate(scenario, sample=0.01)
    # 2 Mbit/s too much for 2 s: 4 Mbit of queue, 0.4 s, which drains at 4 Mbit/s in 1 s
    assert float(result.queue_delay.sel(time=2.0)) == pytest.approx(0.4, rel=1e-9)
    b = result.throughput.sel(flows="b")
    np.testing.assert_allclose(b.sel(time=slice(0.01, 2.39)), 5e6, rtol=1e-9)
    np.testing.assert_allclose(b.sel(time=slice(2.41, 5.0)), 0.0, atol=1e-3)
    a = result.throughput.sel(flows="a")
    np.testing.assert_allclose(a.sel(time=slice(2.41, 2.99)), 10e6, rtol=1e-9)
    np.testing.assert_allclose(a.sel(time=slice(3.01, 5.0)), 6e6, rtol=1e-9)


def test_a_full_buffer_tells_senders_under_tail_drop():
    """p = (arrivals - C)/arrivals while the buffer is full, 0 before; Reno then oscillates."""
    scenario = pf.Scenario(
        "20s", pf.Link("10Mbit/s", buffer=50), pf.TailDrop(), pf.Flows(pf.Reno(), 5, "50ms")
    )
    result = pf.fluid.simulate(scenario, sample=0.01)
    full = result.queue.to_numpy() >= 50 * (1 - 1e-12)
    p = result.p.to_numpy()[:, 0]
    assert full.any()
    assert np.all(p[~full] == 0.0)
    # at the end of slow start it sends about 1 + ln 2 times what gets through
    assert 0.3 < p[full].max() < 0.42
    assert result.window.to_numpy()[500:, 0].max() < 60


def test_thinned_traffic_leaves_room():
    """12 Mbit/s of UDP on 10 Mbit/s: carried in full it fills the buffer, dropped it fits."""

    def run(thinned):
        flows = pf.Flows(pf.Cbr(rate="12Mbit/s", thinned=thinned))
        link = pf.Link("10Mbit/s", buffer="400 packets")
        return pf.fluid.simulate(pf.Scenario("60s", link, pf.Pi2(), flows)).isel(time=-1)

    full, fits = run(False), run(True)
    assert float(full.queue) == 400
    assert float(fits.queue_delay) == pytest.approx(0.02, rel=1e-6)
    assert float(fits.p[0]) == pytest.approx(1 - 10 / 12, rel=1e-6)


# --- extreme places -----------------------------------------------------------------------------

EXTREMES = {
    "rtt far below T": {"base_rtt": "1ms"},
    "rtt of 20 us": {"base_rtt": "20us", "duration": "0.3s", "capacity": "10Gbit/s"},
    "rtt of 300 ms": {"base_rtt": "300ms"},
    "one flow": {"count": 1},
    "ten thousand flows": {"count": 10_000, "capacity": "10Gbit/s"},
    "10 kbit/s": {"capacity": "10kbit/s", "count": 1},
    "1 Tbit/s": {"capacity": 1e12, "count": 1000},
    "a hundredth of a packet of buffer": {"buffer": 0.01},
    "a queue that never updates": {"aqm": pf.Pi2(update_interval="100s")},
    "a start at the very end": {"start": "4.9999s"},
    "huge gains": {"aqm": pf.Pi2(alpha=1e3, beta=1e4)},
    "a window of 1e6": {"window": 1e6},
}


@pytest.mark.parametrize("case", EXTREMES)
def test_extremes_give_answers(case):
    given_ = {"duration": "5s", "capacity": "10Mbit/s", "buffer": 40000, "aqm": pf.Pi2()}
    given_ |= {"count": 10, "base_rtt": "50ms", "start": "0s", "window": 10} | EXTREMES[case]
    flows = pf.Flows(
        pf.Reno(),
        given_["count"],
        given_["base_rtt"],
        start=given_["start"],
        initial_window=given_["window"],
    )
    link = pf.Link(given_["capacity"], buffer=given_["buffer"])
    scenario = pf.Scenario(given_["duration"], link, given_["aqm"], flows)
    result = pf.fluid.simulate(scenario, tolerance=1e-6, sample=0.05)
    for name, values in result.data_vars.items():
        assert np.isfinite(values).all(), name
    assert np.all(result.queue >= 0)


def test_changes_at_equal_times_and_on_ticks():
    """Two changes and a tick at one instant are one: first the changes, then the tick."""
    flows = pf.Flows(pf.Reno(), 10, "50ms", name="reno")
    aqm = pf.Pi2(update_interval="50ms")
    apart = [pf.Change(1.0, capacity=2e7), pf.Change(1.0, counts={"reno": 20})]
    together = [pf.Change(1.0, capacity=2e7, counts={"reno": 20})]
    results = [
        pf.fluid.simulate(
            pf.Scenario(2.0, pf.Link("10Mbit/s", "40000 packets"), aqm, flows, changes)
        )
        for changes in (apart, together)
    ]
    np.testing.assert_array_equal(results[0].queue, results[1].queue)
    assert np.isfinite(results[0].queue).all()


def test_nobody_sends():
    scenario = pf.Scenario(
        2.0,
        pf.Link("10Mbit/s", "40000 packets"),
        pf.Pi2(),
        pf.Flows(pf.Reno(), 3, "50ms", start="1.9s"),
    )
    before = pf.fluid.simulate(scenario).sel(time=slice(0, 1.89))
    assert np.all(before.queue == 0)
    assert np.all(before.throughput == 0)
    assert np.all(before.controller == 0)


# --- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "error", "part"),
    [
        ({"update": "analog"}, pf.QuantityError, "update = 'analog'"),
        ({"engine": "fortran"}, pf.QuantityError, "engine = 'fortran'"),
        ({"sample": "0s"}, pf.DomainError, "sample"),
        ({"sample": "9s"}, pf.DomainError, "sample"),
        ({"sample": 1e-9}, pf.QuantityError, "asks for"),
        ({"step": "1ms", "tolerance": 1e-6}, pf.QuantityError, "give one"),
        ({"step": -1.0}, pf.DomainError, "step"),
        ({"tolerance": 1.0}, pf.DomainError, "tolerance"),
        ({"initial": {"windows": 3}}, pf.ScenarioError, "'windows'"),
        ({"initial": {"window": [3, 4]}}, pf.ScenarioError, "has 2 numbers"),
        ({"initial": "rest"}, pf.ScenarioError, "initial = 'rest'"),
        ({"initial": {"queue": -1}}, pf.DomainError, "initial queue"),
    ],
)
def test_bad_arguments(how, error, part):
    scenario = pf.Scenario(
        2.0, pf.Link("10Mbit/s", "40000 packets"), pf.Pi2(), pf.Flows(pf.Reno(), 3, "50ms")
    )
    with pytest.raises(error, match=part):
        pf.fluid.simulate(scenario, **how)


def test_laws_without_a_fluid_say_so():
    flows = pf.Flows(pf.Reno(), 3, "50ms")
    with pytest.raises(pf.UnsupportedError, match="CoDel"):
        pf.fluid.simulate(pf.Scenario(2.0, pf.Link("10Mbit/s", "40000 packets"), pf.CoDel(), flows))
    dual = pf.Scenario(2.0, pf.Link("10Mbit/s", "40000 packets"), pf.DualPi2(), flows)
    with pytest.raises(pf.UnsupportedError, match="sampled"):
        pf.fluid.simulate(dual, update="continuous")
    with pytest.raises(pf.ScenarioError, match="no Scenario"):
        pf.fluid.simulate("pi2")  # type: ignore[arg-type]
    with pytest.raises(pf.DomainError, match="base_rtt = 0"):
        pf.fluid.simulate(
            pf.Scenario(
                2.0, pf.Link("10Mbit/s", "40000 packets"), pf.Pi2(), pf.Flows(pf.Reno(), 3, 0.0)
            )
        )


def test_what_is_not_modelled_is_said():
    senders = pf.Reno(), pf.Cubic(), pf.Dctcp()
    flows = [pf.Flows(sender, 3, "50ms", slow_start=False) for sender in senders]
    scenario = pf.Scenario(2.0, pf.Link("10Mbit/s", "40000 packets"), pf.Pie(), flows)
    with warnings.catch_warnings(action="error"):
        names = pf.fluid.simulate(scenario, tolerance=1e-5).attrs["not_modelled"].split(", ")
    of_link_and_flows = {
        "link.kind", "link.ack_jitter", "flows.delayed_ack", "flows.push_every", "flows.ecn",
    }  # fmt: skip
    of_laws = {"aqm.half_target", "flows.sender.hystart", "flows.sender.variant"}
    assert of_link_and_flows | of_laws <= set(names)


@pytest.mark.parametrize("engine", ["c", "python"])
def test_a_class_that_pauses(engine):
    """At a count of 0 nothing is sent and the window stands still; later it goes on from there."""
    flows = [
        pf.Flows(pf.Reno(), 5, "50ms", name="a"),
        pf.Flows(pf.Reno(), 5, "50ms", name="b", slow_start=False),
    ]
    changes = [pf.Change(1.0, counts={"b": 0}), pf.Change(3.0, counts={"b": 5})]
    scenario = pf.Scenario("5s", pf.Link("10Mbit/s", "40000 packets"), pf.Pi2(), flows, changes)
    result = pf.fluid.simulate(scenario, sample=0.1, engine=engine, tolerance=1e-6)
    b = result.sel(flows="b")
    paused = b.sel(time=slice(1.05, 2.95))
    assert np.ptp(paused.window.to_numpy()) < 1e-13  # interpolated
    assert float(paused.throughput[-5:].max()) == 0.0
    assert float(b.throughput.sel(time=4.5)) > 1e6
