"""The fluid by the clock of acknowledgements: its numbers, what it keeps, what it refuses.

The numbers are those of `data/ack_trajectories.json`, which another solver of the same equations
has computed in steps of 25 us.
"""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import assert_sentence

import pi2_fluid as pf
from pi2_fluid.engines.fluid.acks.integration import Integrator
from pi2_fluid.engines.fluid.acks.reporting import trace_nodes
from pi2_fluid.engines.fluid.beginning import begin
from pi2_fluid.loop.response import plant_response

DATA: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "data" / "ack_trajectories.json").read_text(encoding="utf-8")
)
LINK = pf.Link("10Mbit/s", "40000 packets")
RENO = pf.Flows(pf.Reno(), 10, "100ms", name="reno")
PI2 = pf.Pi2(drop_at="dequeue")


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Swinging(pf.Pi2):
    """A queue whose p' is given: what cosines are in the middle of each interval.

    The first tick makes up for the interval before it, in which p' is still at rest.
    """

    waves: tuple[tuple[float, float, float], ...] = ((0.1, 7.0, 0.0), (0.1, 15.0, 1.0))

    def given(self, t: float) -> float:
        return 0.02 * (1.0 + sum(a * math.cos(w * t + phase) for a, w, phase in self.waves))

    def update(self, state: Any, seen: Any, dt: Any) -> Any:
        p_prime, ticks = state
        value = self.given((ticks + 1.5) * dt)
        if not ticks:
            value = math.sqrt(value**2 + self.given(0.5 * dt) ** 2 - p_prime**2)
        return value, ticks + 1.0

    def at_rest(self, u: Any, capacity: Any) -> Any:
        return (u, 0.0), self.target


def told(name: str) -> tuple[pf.Scenario, dict[str, Any], Any]:
    """A scenario of the data, where it begins, and its rows."""
    data = DATA[name]
    there = [(count * window, path) for path, count, window, start in data["classes"] if not start]
    capacity = sum(flight / (path + data["target"]) for flight, path in there)
    fields = {"target": data["target"], "drop_at": "dequeue"}
    if data["alpha"] is None:
        aqm: pf.Pi2 = Swinging(**fields, update_interval="1ms")
    else:
        gains = {key: data[key] for key in ("alpha", "beta", "update_interval")}
        aqm = pf.Pi2(**fields, **gains)
    flows = [
        pf.Flows(pf.Reno(), count, path, start=start, slow_start=False, initial_window=window)
        for path, count, window, start in data["classes"]
    ]
    bits = 8.0 * LINK.packet_size * capacity
    changes = ()
    if data["capacity_change"]:
        at, factor = data["capacity_change"]
        changes = (pf.Change(at, capacity=factor * bits),)
    scenario = pf.Scenario(data["duration"], pf.Link(bits, "40000 packets"), aqm, flows, changes)
    initial = {
        "window": [window for _, _, window, _ in data["classes"]],
        "queue": capacity * data["target"],
        "controller": data["p_prime"],
    }
    return scenario, initial, np.array(data["rows"])


def columns(result: Any, times: Any) -> Any:
    """What is compared: delay, backlog and windows."""
    rows = result.sel(time=times, method="nearest")
    assert np.abs(rows.time - times).max() < 1e-9
    return np.column_stack([rows.queue_delay, rows.queue, rows.window])


def distance(name: str, step: float) -> Any:
    """How far each column is from the data, at the most."""
    scenario, initial, rows = told(name)
    result = pf.fluid.simulate(scenario, clock="acks", initial=initial, step=step, sample="10ms")
    return np.abs(columns(result, rows[:, 0]) - rows[:, 1:])


# --- numbers ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_step_of_capacity_is_followed_with_order_two() -> None:
    coarse, fine, finest = (distance("reno80_step", h).max(axis=0) for h in (4e-3, 2e-3, 1e-3))
    assert finest[0] < 1e-7
    assert np.all(np.log2(coarse / fine) > 1.8)
    assert np.all(np.log2(fine / finest) > 1.8)


@pytest.mark.slow
def test_a_signal_that_swings_is_answered_as_it_was_told() -> None:
    # The data's own error is all that is left of the difference.
    error = distance("imposed_mixed", 1e-3).max(axis=0)
    assert np.all(error < 1.5 * np.array(DATA["imposed_mixed"]["error"]))


@pytest.mark.slow
def test_a_class_that_joins_and_falls_silent() -> None:
    # Corners of what was sent come back every round trip, and lie inside of steps.
    coarse, fine = (distance("mixed_class_joins", h) for h in (5e-4, 1e-4))
    assert coarse[:, 0].max() < 5e-5
    assert fine[:, 0].max() < 1e-5
    settled = coarse[80:, 0].max()
    assert settled < 1e-6


@pytest.mark.slow
def test_a_queue_that_runs_empty_and_windows_that_come_in_bursts() -> None:
    error = distance("reno80_step_down", 1e-3)
    # The delay jumps where a silence of the senders passes the queue: a row may be on either side.
    assert np.quantile(error[:, 0], 0.97) < 2e-4
    assert error[-30:, 0].max() < 2e-6
    assert error[:, 2].max() < 0.05


def kicked(scenario: pf.Scenario, p_prime: float, to: float, step: float) -> Integrator:
    """A dual queue at rest, whose p' somebody moves at time 0; Classic flows fill half the link."""
    aqm: Any = scenario.aqm
    windows = [
        float(flow.sender.at_rest(1.0, getattr(aqm.encode(p_prime), flow.sender.signal)))
        for flow in scenario.flows
    ]
    queue = float(aqm.target) * sum(
        flow.count * window / (flow.base_rtt + aqm.target)
        for flow, window in zip(scenario.flows, windows, strict=True)
        if flow.sender.signal == "classic"
    )
    initial = {"window": windows, "queue": queue, "controller": p_prime}
    run = Integrator(scenario, step, begin(scenario, initial))
    run.links[0].state = (to, aqm.target)
    run.run()
    return run


def shared(paths: dict[str, float], count: float, scalable: float, duration: float) -> pf.Scenario:
    """Equal numbers of Classic flows on every path, and of Scalable ones, under Linux's gains."""
    flows = [
        pf.Flows(sender, number, path, name=f"{name} {at}")
        for sender, number, name in ((pf.Reno(), count, "C"), (pf.Scalable(), scalable, "L"))
        for at, path in paths.items()
    ]
    window = {"C": math.sqrt(2.0) / 0.02, "L": 2.0 / 0.04}
    packets = sum(
        flow.count * window[flow.name[0]] / (flow.base_rtt + 0.015 * (flow.name[0] == "C"))
        for flow in flows
    )
    aqm = pf.DualPi2(alpha=0.16015625, beta=3.19921875)
    return pf.Scenario(
        duration, pf.Link(8.0 * LINK.packet_size * packets, "40000 packets"), aqm, flows
    )


@pytest.mark.slow
def test_a_dual_queue_that_is_kicked() -> None:
    data = DATA["dual80_small_kick"]
    paths = {str(path): path for path, *_ in data["classes"][:5]}
    scenario = shared(paths, data["classes"][0][1], data["classes"][5][1], data["duration"])
    run = kicked(scenario, data["p_prime"], 1.01 * data["p_prime"], 1e-3)
    rows = np.array(data["rows"])
    trace = trace_nodes(run, rows[:, 0])
    found = np.column_stack([trace.queue_delay[:, 0], trace.queue[:, 0], trace.window])
    error = np.abs(found - rows[:, 1:]).max(axis=0)
    assert error[0] < 3e-9
    assert np.all(error < 50.0 * np.array(data["error"]))
    assert trace.queue_delay[:, 1].max() == 0.0


@pytest.mark.slow
@pytest.mark.parametrize(("path", "begin_at", "end_at"), [(0.032, 3.0, 5.0), (0.08, 6.0, 10.0)])
def test_l4s_flows_of_one_path_echo_as_the_loop_says(path, begin_at, end_at) -> None:
    # A harmonic of 1/RTT grows by itself, once what decays slowly beside it is smaller.
    scalable = 100.0 * math.sqrt(2.0) * path / (path + 0.015)  # half of the packets
    scenario = shared({"all": path}, 100.0, scalable, end_at + 1.0)
    run = kicked(scenario, 0.02, 0.02002, 1e-3)
    times = np.arange(0.0, end_at + 1.0, 1e-3)
    delay = trace_nodes(run, times).queue_delay[:, 0]
    loop = pf.Loop(scenario.network, clock="acks", update="sampled")
    echo = loop.echo(2).isel(flow=0)
    fastest = int(np.nanargmax(echo.growth))
    w = float(echo.frequency[fastest])

    def size(start: float) -> float:
        part = (times >= start) & (times < start + 0.9999)
        return abs(np.sum((delay * np.exp(-1j * w * times))[part] * np.hanning(part.sum())))

    growth = math.log(size(end_at) / size(begin_at)) / (end_at - begin_at)
    assert growth > 0.3
    assert growth == pytest.approx(float(echo.growth[fastest]), rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("p_prime", "least", "most"), [(0.02, 0.7, 1.0), (0.1, 0.0, 0.3)])
def test_packets_echo_as_far_as_the_fluid_where_windows_are_large(p_prime, least, most) -> None:
    # 50 segments of Scalable flows, and 10, which chance moves: see docs/ack_clock.md.
    share = 32 * math.sqrt(2.0) / p_prime / 0.045
    window = {"slow_start": False, "initial_window": round(1.1 / p_prime)}
    counts = {pf.Reno(): 32, pf.Scalable(): round(share * 0.03 * p_prime)}
    sizes = []
    for jitter in ("2s", "0s"):  # chance takes packets apart, and nothing the fluid
        flows = [pf.Flows(s, n, "30ms", start_jitter=jitter, **window) for s, n in counts.items()]
        scenario = pf.Scenario("40s", pf.Link(24e3 * share, buffer=200_000), pf.DualPi2(), flows)
        if jitter == "2s":
            run = pf.packet.simulate(scenario, seeds=1, bin="2ms").sel(seed=1, band="C")
            delay = run.sojourn.fillna(0.0)
        else:
            run = pf.fluid.simulate(scenario, clock="acks", sample="2ms")
            assert "chance that ends echoes" in run.attrs["not_modelled"]
            delay = run.queue_delay.sel(band="C")
        late = delay.sel(time=slice(20, None)).to_numpy()
        size = np.abs(np.fft.rfft((late - late.mean()) * np.hanning(late.size)))
        omega = 2 * np.pi * np.fft.rfftfreq(late.size, 0.002)
        sizes.append(float(size[abs(omega - 209.4) < 6.0].max()))
    assert least < sizes[0] / sizes[1] < most


# --- laws of nature --------------------------------------------------------------------------


def lost(run: Integrator) -> float:
    """Packets that found no room."""
    return sum(passage.came[-1] - passage.real[-1] for (passage,) in run.passages)


def followed(scenario: pf.Scenario, step: float, initial: Any = None) -> Integrator:
    """A trajectory with its counts."""
    run = Integrator(scenario, step, None if initial is None else begin(scenario, initial))
    run.run()
    return run


@pytest.mark.slow
@pytest.mark.parametrize("aqm", [pf.CoupledPi2(), pf.DualPi2()])
def test_what_is_sent_and_not_acknowledged_is_the_window_unless_senders_are_silent(aqm) -> None:
    flows = [RENO, pf.Flows(pf.Scalable(), 5, "30ms", start="1s", name="scalable")]
    run = followed(pf.Scenario("6s", LINK, aqm, flows), 1e-3)
    times = np.array(run.times)
    silences = 0
    for source, (passage,) in zip(run.sources, run.passages, strict=True):
        sent, left = np.array(source.sent), np.array(passage.out.passed)
        under_way = sent - np.interp(times - source.path, times, left)
        begun = np.array([source.begun(t) for t in run.times])
        window = source.number * begun * np.array(source.sizes)
        later = times >= source.start
        too_many = (under_way - window)[later]
        assert too_many.min() > -1e-8
        grows = np.diff(sent)[later[1:]] > 1e-9
        assert np.abs(too_many[1:][grows[-len(too_many) + 1 :]]).max() < 1e-8
        silences += int((too_many > 1.0).sum())
        assert np.all(np.diff(sent) >= 0.0)
        assert np.all(np.diff(left) >= 0.0)
    assert silences > 10, "nobody was ever silent: the test asks nothing"
    for line in run.links[0].lines:
        total = sum(np.array(passage.out.real) for passage in line.passages)
        np.testing.assert_allclose(total, line.served, atol=1e-8)
        assert min(np.subtract(line.arrived, line.served)) > -1e-9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sender", "aqm"),
    [
        (pf.Reno(), pf.Pi2()),
        (pf.CReno(), pf.Pi2(drop_at="dequeue")),
        (pf.Cubic(), pf.Pie()),
        (pf.Scalable(), pf.Pi()),
        (pf.Dctcp(law="renewal"), pf.Pi2()),
        (pf.Dctcp(law="renewal", segments="real"), pf.Pi2(drop_at="dequeue")),
    ],
)
def test_rest_stays_at_rest(sender: Any, aqm: Any) -> None:
    flows = [pf.Flows(sender, 10, "50ms"), pf.Flows(sender, 5, "80ms", name="far")]
    scenario = pf.Scenario("2s", pf.Link("50Mbit/s", "40000 packets"), aqm, flows)
    rest = pf.equilibrium(scenario.network)
    result = pf.fluid.simulate(scenario, clock="acks", initial=rest)
    np.testing.assert_allclose(result.queue_delay, rest.queue_delay, rtol=1e-9)
    for i, window in enumerate(rest.window):
        np.testing.assert_allclose(result.window[:, i], window, rtol=1e-9)


@pytest.mark.slow
def test_both_clocks_come_to_the_same_rest() -> None:
    near = dataclasses.replace(RENO, base_rtt=0.03)
    scenario = pf.Scenario("30s", LINK, PI2, [near])
    acks, rate = (pf.fluid.simulate(scenario, clock=clock) for clock in ("acks", "rate"))
    for name in ("queue_delay", "controller", "window", "throughput"):
        np.testing.assert_allclose(acks[name][-1], rate[name][-1], rtol=1e-5)


def test_a_growing_queue_holds_what_windows_have_grown_by_at_once() -> None:
    # One class: the delay follows the window without a lag of its own, q = N W - C base_rtt.
    scenario, initial, _ = told("reno80_step")
    result = pf.fluid.simulate(scenario, clock="acks", initial=initial).sel(time=slice(3, 12))
    ((path, count, _, _),) = DATA["reno80_step"]["classes"]
    packets = result.capacity / (8.0 * LINK.packet_size)
    np.testing.assert_allclose(result.queue, count * result.window[:, 0] - packets * path, atol=0.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("w", "drop_at"), [(3.0, "dequeue"), (12.0, "enqueue"), (31.0, "dequeue"), (31.0, "enqueue")]
)
def test_small_swings_are_those_of_the_loop(w, drop_at) -> None:
    size, target = 1e-4, 0.015
    paths = {"30ms": 40.0, "85ms": 100.0}
    flows = [pf.Flows(pf.Reno(), count, path, name=path) for path, count in paths.items()]
    window = float(pf.Reno().at_rest(1.0, 0.02**2))
    capacity = sum(
        flow.count * window / (flow.base_rtt + target) for flow in flows
    )  # packets per second
    link = pf.Link(8.0 * LINK.packet_size * capacity, "40000 packets")
    fields = {"target": target, "drop_at": drop_at}
    aqm = Swinging(waves=((size, w, 0.0),), update_interval="1ms", **fields)
    result = pf.fluid.simulate(
        pf.Scenario("12s", link, aqm, flows),
        clock="acks",
        initial={"window": [window, window], "queue": capacity * target, "controller": 0.02},
        sample="2ms",
    ).sel(time=slice(6, 12))
    t = result.time.to_numpy()
    waves = np.column_stack([np.exp(1j * w * t), np.exp(-1j * w * t), np.ones(t.size), t - 9.0])
    fitted = np.linalg.lstsq(waves, result.queue_delay.to_numpy(), rcond=None)[0]
    answer = 2.0 * fitted[0] / (0.02 * size)
    network = pf.Network(pf.Node("link", link, pf.Pi2(**fields)), flows)
    loop = pf.Loop(network, clock="acks", rtt_terms="exact")
    model = -plant_response(loop.linear, np.array([1j * w]))[0]
    assert abs(answer / model - 1.0) < 5e-4


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class SwingingCoupled(pf.CoupledPi2):
    """The same with one cosine around a given mean."""

    mean: float = 0.02
    wave: tuple[float, float] = (1e-4, 3.0)

    def update(self, state: Any, seen: Any, dt: Any) -> Any:
        size, w = self.wave
        return self.mean * (1.0 + size * math.cos(w * (state[1] + 1.5) * dt)), state[1] + 1.0

    def at_rest(self, u: Any, capacity: Any) -> Any:
        return (u, 0.0), self.target


@pytest.mark.slow
@pytest.mark.parametrize(
    ("segments", "w", "beside"),
    [("real", 12.0, True), ("real", 31.0, False), ("whole", 12.0, True), ("whole", 31.0, False)],
)
def test_small_swings_of_dctcp_are_those_of_the_loop(segments, w, beside) -> None:
    fields = {"target": "15ms", "drop_at": "dequeue"}
    dctcp = pf.Dctcp(law="renewal", segments=segments)
    flows = [pf.Flows(dctcp, 10, "85ms")] + [pf.Flows(pf.Reno(), 10, "60ms")] * beside
    point = pf.equilibrium(flows, pf.CoupledPi2(**fields), LINK.capacity)
    aqm = SwingingCoupled(**fields, mean=point.controller, wave=(1e-4, w), update_interval="1ms")
    scenario = pf.Scenario("12s", LINK, aqm, flows)
    result = pf.fluid.simulate(scenario, clock="acks", initial=point, sample="2ms")
    result = result.sel(time=slice(6, 12))
    t = result.time.to_numpy()
    waves = [np.exp(1j * w * t), np.exp(-1j * w * t), np.ones(t.size), t - 9.0, (t - 9.0) ** 2]
    fitted = np.linalg.lstsq(np.column_stack(waves), result.queue_delay.to_numpy(), rcond=None)[0]
    answer = 2.0 * fitted[0] / (point.controller * 1e-4)
    network = pf.Network(pf.Node("link", LINK, pf.CoupledPi2(**fields)), flows)
    loop = pf.Loop(network, clock="acks", rtt_terms="exact")
    model = -plant_response(loop.linear, np.array([1j * w]))[0]
    assert abs(answer / model - 1.0) < 5e-4


def test_dctcp_averaged_has_no_acknowledgements() -> None:
    scenario = pf.Scenario("1s", LINK, pf.CoupledPi2(), [pf.Flows(pf.Dctcp(), 2, "20ms")])
    with pytest.raises(pf.UnsupportedError, match='use law="renewal", or clock="rate"'):
        pf.fluid.simulate(scenario, clock="acks")


# --- schedules -------------------------------------------------------------------------------


@pytest.mark.slow
def test_flows_start_stop_and_share_with_constant_rates() -> None:
    flows = [
        RENO,
        pf.Flows(pf.Reno(), 10, "100ms", start="10s", start_jitter="1s", stop="20s", name="guests"),
        pf.Flows(pf.Cbr(rate="2Mbit/s", thinned=False), start="25s", name="video"),
    ]
    scenario = pf.Scenario("32s", pf.Link("20Mbit/s", "40000 packets"), PI2, flows)
    result = pf.fluid.simulate(scenario, clock="acks")
    sent = result.throughput.sel(flows="guests")
    assert np.all(sent.sel(time=slice(0, 9.9)) == 0.0)
    assert float(sent.sel(time=slice(11, 20)).mean()) > 4e6
    assert np.all(sent.sel(time=slice(21, 32)) == 0.0)
    end = result.sel(time=slice(27, 32)).throughput.mean("time")
    assert float(end.sel(flows="video")) == pytest.approx(2e6, rel=5e-3)
    assert float(end.sum()) == pytest.approx(20e6, rel=1e-6)


@pytest.mark.slow
def test_numbers_of_flows_change_as_if_by_classes_of_their_own() -> None:
    few = dataclasses.replace(RENO, count=4)
    changes = [
        pf.Change("6s", counts={"reno": 10}),
        pf.Change("10s", counts={"reno": 4}),
        pf.Change("14s", counts={"reno": 0}),
        pf.Change("15s", counts={"reno": 4}),
    ]
    link = pf.Link("5Mbit/s", "40000 packets")
    result = pf.fluid.simulate(pf.Scenario("20s", link, PI2, few, changes), clock="acks")
    alone = pf.fluid.simulate(pf.Scenario("20s", link, PI2, few), clock="acks")
    before = slice(0, 5.9)
    np.testing.assert_array_equal(result.window.sel(time=before), alone.window.sel(time=before))
    window, delay = result.window[:, 0], result.queue_delay
    # Copies have the window of those who are there, and begin with nothing under way.
    jump = np.abs(window.sel(time=slice(5.9, 6.2)).diff("time")).max()
    assert jump < 1.0
    assert float(window.sel(time=slice(8, 10)).mean()) < 0.7 * float(
        window.sel(time=slice(4, 6)).mean()
    )
    assert float(result.throughput.sel(time=slice(14.5, 15)).max()) == 0.0
    assert float(delay.sel(time=slice(14.5, 15)).max()) == 0.0
    held = window.sel(time=slice(14.01, 14.99))
    assert np.all(held == held[0])
    # Those who come then begin with the window that was held.
    begins = window.sel(time=slice(14.9, 15.1))
    assert np.abs(begins - held[0]).max() < 0.1
    assert float(result.throughput[-1, 0]) == pytest.approx(5e6, rel=1e-6)


@pytest.mark.slow
def test_flows_that_leave_are_those_of_a_class_that_stops() -> None:
    both = dataclasses.replace(RENO, count=6)
    stay, leave = (
        dataclasses.replace(RENO, count=count, name=name, stop=stop)
        for count, name, stop in ((2, "stay", None), (4, "leave", 6.0))
    )
    scenario = pf.Scenario("9s", LINK, PI2, both, pf.Change("6s", counts={"reno": 2}))
    one = pf.fluid.simulate(scenario, clock="acks")
    two = pf.fluid.simulate(
        dataclasses.replace(scenario, flows=[stay, leave], changes=()), clock="acks"
    )
    np.testing.assert_allclose(one.queue_delay, two.queue_delay, atol=1e-9)
    np.testing.assert_allclose(one.window[:, 0], two.window[:, 0], rtol=1e-9)
    np.testing.assert_allclose(one.throughput.sum("flows"), two.throughput.sum("flows"), rtol=1e-6)


def test_windows_double_every_round_trip_in_slow_start() -> None:
    scenario = pf.Scenario("0.5s", pf.Link("10Gbit/s", "40000 packets"), PI2, [RENO])
    # The corners of what is sent come back after 100 ms, here between two steps.
    options: Any = {"clock": "acks", "step": "1ms", "sample": "10ms"}
    window = pf.fluid.simulate(scenario, **options).window[:, 0]
    # The first flight is sent over one round trip, and acknowledged over the next.
    for done in (1, 2, 3):
        assert float(window.sel(time=0.1 * (done + 1), method="nearest")) == pytest.approx(
            10.0 * 2.0**done, rel=1e-9
        )


# --- options, and what is refused ------------------------------------------------------------


def test_the_dataset_says_which_clock() -> None:
    scenario = pf.Scenario("2s", LINK, PI2, [RENO])
    acks, rate = (pf.simulate(scenario, pf.Fluid(clock=clock)) for clock in ("acks", "rate"))
    assert acks.attrs["clock"] == "acks"
    assert "clock" not in rate.attrs, "results by the rate clock are what they were"
    assert set(acks.data_vars) == set(rate.data_vars)
    assert acks.sizes == rate.sizes
    assert "aqm.drop_at" in rate.attrs["not_modelled"]
    assert "aqm.drop_at" not in acks.attrs["not_modelled"]
    assert "by acknowledgements" in pf.Fluid(clock="acks").way(acks)


@pytest.mark.slow
def test_where_packets_are_signalled_counts() -> None:
    early, late = (
        pf.fluid.simulate(pf.Scenario("5s", LINK, pf.Pi2(drop_at=at), [RENO]), clock="acks")
        for at in ("enqueue", "dequeue")
    )
    assert np.abs(early.queue_delay - late.queue_delay).max() > 1e-3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"linear": True}, "linear = True"),
        ({"update": "continuous"}, "update = 'continuous'"),
        ({"tolerance": 1e-6}, "give a step"),
        ({"step": 0.2}, "shortest path"),
    ],
)
def test_options_of_the_other_clock_are_refused(options: Any, said: str) -> None:
    engine = pf.Fluid(clock="acks", **options)
    assert_sentence(engine.obstacle(pf.Scenario("2s", LINK, PI2, [RENO])), said)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"aqm": pf.TailDrop()}, "hold their signal"),
        ({"flows": dataclasses.replace(RENO, sender=pf.Dctcp())}, "Dctcp"),
        ({"flows": dataclasses.replace(RENO, sender=pf.TimeoutReno())}, "TimeoutReno"),
    ],
)
def test_scenarios_that_it_does_not_follow_are_refused(fields: Any, said: str) -> None:
    scenario = dataclasses.replace(pf.Scenario("2s", LINK, PI2, [RENO]), **fields)
    assert_sentence(pf.Fluid(clock="acks").obstacle(scenario), said)


@pytest.mark.parametrize(("aqm", "packets"), [(PI2, 3.1134848), (pf.DualPi2(), 2.6870454)])
def test_a_full_buffer_ends_slow_start_and_loses_what_comes(aqm, packets) -> None:
    many = dataclasses.replace(RENO, count=5)
    run = followed(pf.Scenario("4s", pf.Link("10Mbit/s", 50), aqm, many), 1e-3)
    queue = np.array([sum(node.queue) for node in run.nodes])
    assert queue.max() == pytest.approx(50.0, abs=1e-6)
    # As in the limit of short steps: slow start ends when the buffer is full, not a step later.
    assert lost(run) == pytest.approx(packets, abs=2e-4)
    assert run.sources[0].sent[-1] == pytest.approx(run.links[0].lines[0].arrived[-1] + lost(run))
    result = pf.fluid.simulate(run.scenario, clock="acks")
    assert float(result.throughput.sum("flows").max()) < 10e6 * (1.0 + 1e-9)
    peak = float(result.window.max())
    roomy = pf.fluid.simulate(dataclasses.replace(run.scenario, link=LINK), clock="acks")
    assert peak < 0.8 * float(roomy.window.max())


def test_a_clock_is_one_of_two() -> None:
    with pytest.raises(pf.QuantityError, match="clock"):
        pf.Fluid(clock="ticks")


def test_more_than_the_link_carries_is_lost_at_the_full_buffer() -> None:
    flood = pf.Flows(pf.Cbr(rate="12Mbit/s", thinned=False), name="flood")
    scenario = pf.Scenario("4s", pf.Link("10Mbit/s", 150), PI2, [flood, RENO])
    run = followed(scenario, 1e-3)
    come = sum(source.sent[-1] for source in run.sources)
    assert lost(run) > 4.0 * 2e6 / 12000.0 - 150.0
    (line,) = run.links[0].lines
    assert come == pytest.approx(line.served[-1] + line.queue + lost(run), rel=1e-12)
    assert line.delays[-1] == pytest.approx(150.0 * 12000.0 / 10e6, rel=1e-9)


@pytest.mark.parametrize("engine", ["python", "c"])
def test_a_full_buffer_takes_the_same_part_of_everybody(engine: str) -> None:
    # Of what comes it has room for what leaves; in whole packets each class has lost its part.
    rates = {"first": 8e6, "second": 4e6}
    flows = [
        pf.Flows(pf.Cbr(rate=rate, thinned=False), name=name, start=0.5 * (name == "second"))
        for name, rate in rates.items()
    ]
    scenario = pf.Scenario("2s", pf.Link("6Mbit/s", 50), PI2, flows)
    found = pf.fluid.simulate(scenario, clock="acks", engine=engine).throughput
    alone, both = (found.sel(time=slice(*when)).mean("time") for when in ((0.3, 0.5), (1, 2)))
    np.testing.assert_allclose(alone, [6e6, 0.0], rtol=1e-9, atol=1e-3)
    np.testing.assert_allclose(both, [4e6, 2e6], rtol=1e-9)
