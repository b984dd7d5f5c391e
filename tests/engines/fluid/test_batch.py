"""Batches: against `simulate`, and one engine against the other.

That lanes come near the oracle, with which laws, and what they refuse is in test_fluid_contract.py.

The compiled engine is the quick one, so most tests use it; the JAX engine is held to it, and to
`simulate` with the laws that only it has.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any, ClassVar

import numpy as np
import pytest
import xarray as xr
from refusals import refused

import pi2_fluid as pf
from pi2_fluid import _core
from pi2_fluid.engines.fluid.batches.batching import batch
from pi2_fluid.engines.fluid.lanes.in_c import run_compiled
from pi2_fluid.engines.fluid.lanes.timetable import tabulate
from pi2_fluid.engines.fluid.lanes.variation import vary
from pi2_fluid.ops import maximum, minimum, where
from pi2_fluid.records.record import quantity

pytestmark = pytest.mark.usefixtures("jax")  # the engine of a batch unless another is asked for


# --- one run or many, one engine or the other -------------------------------------------------


def scene(**changes):
    """A small scenario in which much happens."""
    fields: dict[str, Any] = {
        "duration": 6.0,
        "link": pf.Link("10Mbit/s", buffer=150),
        "aqm": pf.Pi2(),
        "flows": [
            pf.Flows(pf.Reno(), 5, "80ms", name="web"),
            pf.Flows(pf.CReno(), 4, "80ms", start=1, stop=4, slow_start=False),
            pf.Flows(pf.Cbr(rate="1Mbit/s"), 2, start=2),
        ],
        "changes": [
            pf.Change(3, capacity="6Mbit/s"),
            pf.Change(5, counts={"web": 8}, capacity="10Mbit/s"),
        ],
    }
    return pf.Scenario(**fields | changes)


def assert_same(a, b, *, rtol=0.0):
    """All variables agree; with `rtol`, relative to the largest number of each."""
    assert set(a.data_vars) == set(b.data_vars)
    for name in a.data_vars:
        x, y = a[name].to_numpy(), b[name].to_numpy()
        assert np.isfinite(x).all(), name
        np.testing.assert_allclose(x, y, rtol=0, atol=rtol * np.abs(y).max(), err_msg=name)


MIXED = [
    pf.Flows(pf.Reno(), 3, "50ms"),
    pf.Flows(pf.Scalable(), 3, "30ms", slow_start=False, start=1),
]
RAMPED = [
    pf.Flows(pf.Reno(), 12, "60ms", start_jitter="2s", initial_window=3),
    pf.Flows(pf.Cbr(rate="12Mbit/s"), start=3, stop=4, start_jitter="500ms"),
]


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Cautious(pf.Sender):
    """A law of one's own, with a branch."""

    signal: ClassVar = "classic"
    edge: Any = quantity(5.0, "number")

    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        more = where(x > self.edge, 0.02 * (x - self.edge), 0.0)
        return 1.0 / rtt - (0.5 + more) * x * x_delayed / rtt_delayed * signal_delayed


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Doubtful(pf.Aqm):
    """A queue of one's own whose signals follow the queue, and whose state moves between ticks."""

    gain: Any = quantity(1.0, "number")

    def initial(self):
        return (0.0, 0.0)

    def update(self, state, seen, dt):
        return (state[0] + self.gain * dt * (state[1] - 0.02), state[1])

    def saturate(self, state):
        return (minimum(maximum(state[0], 0.0), 1.0), state[1])

    def drift(self, state, seen):
        return (0.0, 5.0 * (seen.queue_delay - state[1]))

    def encode(self, u):
        return pf.Signal(u * u, u)

    def signals(self, state, seen):
        p = minimum(state[0] + where(seen.queue_delay > 0.04, 0.1, 0.0), 1.0)
        return pf.Signal(p * p, p)


TAPED = [
    pf.Flows(pf.Cubic(), 3, "60ms"),
    pf.Flows(pf.Dctcp(), 2, "30ms", start=1, slow_start=False),
    pf.Flows(pf.Prague(), 2, "30ms", stop=5),
    pf.Flows(Cautious(), 3, "60ms", initial_window=2, start_jitter="100ms"),
    pf.Flows(pf.Reno(growth="per_ack"), 1, "60ms"),
]
ENGINES = {
    "everything": ({}, "sampled", {"aqm.update_interval": [0.032, 0.02, 0.05, 0.032, 0.01]}),
    "coupled": (
        {"aqm": pf.CoupledPi2(k=2.5), "flows": MIXED, "changes": []},
        "continuous",
        {"flows.0.base_rtt": [0.01, 0.02, 0.05, 0.1, 0.03], "link.buffer": [40, 60, 80, 100, 120]},
    ),
    "pie": (
        {"aqm": pf.Pie(target="20ms"), "flows": RAMPED, "changes": []},
        "sampled",
        {"aqm.alpha": np.linspace(0.1, 0.3, 5), "link.capacity": np.linspace(5e6, 1e7, 5)},
    ),
    "red": (
        {"aqm": pf.Red(min=5, max=30, adaptive=True, update_interval="250ms"), "changes": []},
        "sampled",
        {"aqm.max_p": np.linspace(0.05, 0.3, 5), "link.buffer": np.linspace(20, 90, 5)},
    ),
    "pie with a burst allowance": (
        {"aqm": pf.Pie(variant="rfc8033", burst="150ms")},
        "continuous",
        {"aqm.alpha": np.linspace(0.1, 0.3, 5)},
    ),
    "avq": (
        {"aqm": pf.Avq(buffer=40)},
        "continuous",
        {"aqm.alpha": np.linspace(0.1, 0.3, 5)},
    ),
    "price": (
        {"aqm": pf.Price(), "flows": [pf.Flows(pf.Cbr(rate="4Mbit/s"), 2), *TAPED[:1]]}
        | {"changes": [pf.Change(3, capacity="8Mbit/s")]},
        "continuous",
        {"aqm.phi": np.linspace(50, 200, 5)},
    ),
    "own queue": (
        {"aqm": Doubtful()},
        "sampled",
        {"aqm.gain": np.linspace(0.5, 2.0, 5)},
    ),
    "senders by tapes": (
        {"link": pf.Link("40Mbit/s", buffer=300), "aqm": pf.CoupledPi2(), "flows": TAPED}
        | {"changes": [pf.Change(3, capacity="25Mbit/s")]},
        "sampled",
        {
            "flows.0.base_rtt": np.linspace(0.02, 0.1, 5),
            "flows.3.sender.edge": np.linspace(4, 9, 5),
        },
    ),
    "pie, continuous": (
        {"aqm": pf.Pie(table="sqrt2p"), "changes": [pf.Change(3, capacity="4Mbit/s")]}
        | {"flows": [pf.Flows(pf.Reno(), 5, "80ms")]},
        "continuous",
        {"aqm.beta": np.linspace(1, 2, 5), "changes.0.at": np.linspace(1, 5, 5)},
    ),
}


# Loads no network has, which the fluid says: these tests are about something else.
impossible = pytest.mark.filterwarnings("ignore::pi2_fluid.AssumptionWarning")
copies = pytest.mark.filterwarnings("ignore:in a batch the flows of:pi2_fluid.AssumptionWarning")


@pytest.mark.slow
@copies
@pytest.mark.parametrize("name", ENGINES)
def test_engines_agree(name):
    changes, controller, over = ENGINES[name]
    # with rows, runs of different steps would be compiled one by one
    options = {"update": controller, "after": 1} | (
        {} if "aqm.update_interval" in over else {"sample": 0.25}
    )
    compiled, traced = (
        batch(scene(**changes), over, engine=engine, **options) for engine in ("c", "jax")
    )
    assert compiled.queue_delay_max.min() > 0.01
    assert_same(traced, compiled, rtol=1e-11)


@pytest.mark.slow
def test_on_a_gpu(jax):
    """Where there is one, the same numbers but for roundings: it fuses products into sums."""
    if jax.default_backend() != "gpu":
        pytest.skip(f"JAX computes on the {jax.default_backend()} here, and on no GPU")
    for changes, controller, over in ENGINES.values():
        compiled, traced = (
            batch(scene(**changes), over, engine=engine, update=controller, after=1)
            for engine in ("c", "jax")
        )
        assert_same(traced, compiled, rtol=1e-9)


def traced(table, depth, rows, *, is_cpu):
    """What `run_lanes` finds with loops for a CPU or another device, and the compiled program."""
    from pi2_fluid.engines.fluid.lanes import device, jitted

    run, programs = jitted.run_shape, []

    def compiled(shape, samples, *arrays):
        programs.append(run.lower(shape, samples, *arrays).compile())
        return programs[0](*arrays)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jitted, "run_shape", compiled)
        found = jitted.run_lanes(table, depth, rows, device.Device(is_cpu=is_cpu))
    return found, programs[0]


@pytest.mark.slow
def test_one_loop_of_known_length_is_the_two_of_any():
    """What runs on a GPU, here on whatever there is: the host knows how often, and the memory."""
    from pi2_fluid.engines.fluid.lanes.jitted import bytes_of_a_run

    varied = vary(scene(), {"aqm.beta": np.linspace(2, 4, 5)})
    table = tabulate(varied, continuous=False, step=0.008, after=1, sample=[0, 1.5, 1.501, 6])
    one, program = traced(table, 64, 512, is_cpu=False)
    two, other = traced(table, 64, 512, is_cpu=True)
    true = run_compiled(table, 64)
    for key, values in true.items():
        size = np.abs(values).max()
        np.testing.assert_allclose(one[key], values, rtol=0, atol=1e-11 * size, err_msg=key)
        np.testing.assert_allclose(one[key], two[key], rtol=0, atol=1e-12 * size, err_msg=key)
    # every step, and the last node for its sample
    counts = re.findall(r'"known_trip_count":\{"n":"(\d+)"', program.as_text())
    assert counts == [str(table.last.max() + 1)]
    assert "known_trip_count" not in other.as_text()
    used = program.memory_analysis()
    used = used.argument_size_in_bytes + used.output_size_in_bytes + used.temp_size_in_bytes
    assert 0.8 < bytes_of_a_run(table, 64) / (used / 512) < 1.25


def test_memory_of_a_run(jax):
    """Its past and its traces, to the byte, and not much else."""
    from pi2_fluid.engines.fluid.lanes.jitted import bytes_of_a_run

    def of(depth, samples):
        table = tabulate(
            vary(scene(), {}), continuous=False, step=0.008, after=0, sample=np.arange(samples)
        )
        return bytes_of_a_run(table, depth)

    assert of(128, 0) - of(64, 0) == 8 * 64 * 5  # queue, capacity, signal and two windows
    assert of(64, 4) - of(64, 2) == 8 * 2 * 9  # three traces, and two of each class
    assert of(64, 0) < 8 * 64 * 5 + 1200


@pytest.mark.parametrize(
    ("gigabytes", "each", "lanes", "at_once"),
    [
        (60.0, 3_400, 100_000, 106_496),  # all, rounded up to a sixteenth
        (60.0, 3_400, 2_000_000, 1_048_576),  # two shares, for the sake of progress
        (60.0, 3_400, 1_200_000, 655_360),  # of equal size
        (60.0, 430_000, 100_000, 104_651),  # no more than three quarters of the memory
        (1.0, 10_000, 100_000, 53_248),  # two shares, for no more fits
        (1e-6, 10_000, 100_000, 1),
        (None, 3_400, 100_000, 106_496),
        (60.0, 3_400, 5, 5),
    ],
)
def test_a_device_takes_what_fits(jax, gigabytes, each, lanes, at_once):
    from pi2_fluid.engines.fluid.lanes.device import Device, lanes_at_once

    memory = None if gigabytes is None else int(1e9 * gigabytes)
    found = lanes_at_once(Device(is_cpu=False, memory=memory), lanes, each)
    assert memory is None or found == 1 or found * each <= memory
    assert found == at_once


def test_instruction_sets_agree_to_the_last_bit():
    levels = _core.simd_levels()
    if len(levels) < 2:
        pytest.skip("this machine has one instruction set")
    over = {"aqm.alpha": np.linspace(0.1, 0.5, 40), "flows.0.base_rtt": np.linspace(0.01, 0.2, 40)}
    for controller in (False, True):
        varied = vary(scene(), over)
        table = tabulate(varied, continuous=controller, step=0.008, after=0, sample=[1, 5])
        found = [run_compiled(table, 256, simd) for simd in levels]
        for other in found[1:]:
            for key, values in found[0].items():
                assert (values == other[key]).all(), key


VARIED = {
    "duration": [5.5, 6.0, 5.1],
    "link.capacity": [8e6, 1e7, 2e7],
    "link.buffer": [50.0, 100.0, 200.0],
    "link.packet_size": [500.0, 1000.0, 1500.0],
    "aqm.alpha": [0.1, 0.3, 0.5],
    "aqm.update_interval": [0.01, 0.032, 0.05],
    "flows.0.count": [2.0, 4.5, 7.0],
    "flows.web.base_rtt": [0.02, 0.08, 0.15],
    "flows.0.initial_window": [1.0, 4.0, 10.0],
    "flows.1.sender.decrease": [0.2, 0.3, 0.7],
    "flows.2.sender.rate": [1e5, 1e6, 2e6],
    "flows.1.start": [0.5, 1.0, 1.5],
    "flows.1.stop": [3.5, 4.0, 4.2],
    "flows.0.start_jitter": [0.0, 1.0, 2.0],
    "changes.0.at": [2.0, 3.5, 4.4],
    "changes.0.capacity": [4e6, 6e6, 2e7],
    "changes.1.counts.web": [1.0, 9.0, 20.0],
}


def replaced(scenario, key, value):
    """The scenario with one number replaced, by hand."""
    head, *path = key.split(".")
    if not path:
        return dataclasses.replace(scenario, **{head: value})
    if head in {"link", "aqm"}:
        part = dataclasses.replace(getattr(scenario, head), **{path[0]: value})
        return dataclasses.replace(scenario, **{head: part})
    items = list(getattr(scenario, head))
    index = 0 if path[0] == "web" else int(path[0])
    field, new = path[1], value
    if len(path) == 3:
        inner = getattr(items[index], field)
        if field == "sender":
            new = dataclasses.replace(inner, **{path[2]: value})
        else:
            new = {**inner, path[2]: value}
    items[index] = dataclasses.replace(items[index], **{field: new})
    return dataclasses.replace(scenario, **{head: items})


@copies
@pytest.mark.parametrize("key", VARIED)
def test_a_batch_is_its_runs_one_by_one(key):
    runs = batch(scene(), {key: VARIED[key]}, engine="c", after=1)
    assert runs[key].to_numpy().tolist() == VARIED[key]
    for index, value in enumerate(VARIED[key]):
        single = batch(replaced(scene(), key, value), {}, engine="c", after=1)
        # classes that happen to have the same base RTT are summed in another order
        rtol = 1e-12 if key.endswith("base_rtt") else 0.0
        assert_same(runs.isel(run=[index]), single, rtol=rtol)
    found = [runs[name].to_numpy() for name in runs.data_vars if name != "step"]
    assert any(np.ptp(values, axis=0).max() > 0 for values in found)


@pytest.mark.slow
def test_a_batch_with_jax_is_its_runs_one_by_one():
    alpha = [0.1, 0.3, 0.5]
    runs = batch(scene(), {"aqm.alpha": alpha})
    for index, value in enumerate(alpha):
        single = batch(scene(), {"aqm.alpha": value})
        assert_same(runs.isel(run=[index]), single, rtol=1e-12)


@pytest.mark.slow
def test_chunks_change_nothing():
    over = {"aqm.alpha": np.linspace(0.1, 0.5, 70), "duration": np.linspace(5.1, 6.0, 70)}
    whole = batch(scene(), over, engine="c")
    done = []
    parts = batch(scene(), over, engine="c", chunk=32, progress=lambda *counts: done.append(counts))
    assert_same(parts, whole)
    assert done == [(32, 70), (64, 70), (70, 70)]


def test_copies_in_slow_start_are_owned_up_to():
    """One sentence with the class and the round trips, where flows start over more than one."""
    late = [pf.Flows(pf.Reno(), 3, "50ms", start_jitter="2s", name="web")]
    with pytest.warns(pf.AssumptionWarning, match=r"class 'web', .* over 40 round trips"):
        batch(scene(flows=late, changes=[]), {"aqm.alpha": [0.1, 0.2]}, engine="c")
    known = [
        pf.Flows(pf.Reno(), 3, "50ms", start_jitter="50ms"),
        pf.Flows(pf.Reno(), 3, "50ms", start_jitter="2s", slow_start=False),
        pf.Flows(pf.Cbr(rate="1Mbit/s"), 3, start_jitter="2s"),
    ]
    batch(scene(flows=known, changes=[]), {"aqm.alpha": [0.1, 0.2]}, engine="c")


# --- against `simulate` -----------------------------------------------------------------------


def furthest(scenario, runs, update="sampled"):
    """Largest difference of the queue delay from that of `simulate`, in parts of its largest."""
    sample = float(runs.time[1])
    truth = pf.fluid.simulate(scenario, update=update, sample=sample).queue_delay.to_numpy()
    found = runs.queue_delay.to_numpy()[0]
    rows = min(len(found), len(truth))
    return np.abs(found[:rows] - truth[:rows]).max() / truth.max()


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Hesitant(pf.Sender):
    """A law of one's own with two states: it hears a smoothed signal."""

    signal: ClassVar = "scalable"
    states: ClassVar = ("window", "heard")
    gain: float = quantity(0.5, "number")

    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        then = x_delayed[0] / rtt_delayed
        return (1 / rtt - self.gain * then * x[1], (signal_delayed - x[1]) / rtt)

    def initial(self, window):
        return (window, 0.0)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Integral(pf.Aqm):
    """A queue of one's own with two states: one moves with every packet, the other at ticks."""

    rate: float = 0.05

    def initial(self):
        return (0.0, 0.0)

    def drift(self, state, seen):
        return (0.0 * state[0], 5.0 * (seen.queue_delay - state[1]))

    def update(self, state, seen, dt):
        return (state[0] + self.rate * (state[1] - 0.02), state[1])

    def saturate(self, state):
        return (pf.ops.minimum(pf.ops.maximum(state[0], 0.0), 1.0), state[1])

    def encode(self, u):
        return pf.Signal(u, u)


OWN = [pf.Flows(Hesitant(), 4, "50ms", slow_start=False)]
ALONE = [pf.Flows(pf.Reno(), 5, "80ms", slow_start=False)]
SIMULATED = {
    "slow start": ({"changes": []}, "sampled", "c", 0.02),
    "full buffer": ({"link": pf.Link("10Mbit/s", buffer=40), "changes": []}, "sampled", "c", 0.02),
    "everything": ({}, "continuous", "c", 0.02),
    "own laws": ({"aqm": Integral(), "flows": OWN, "changes": []}, "sampled", "jax", 0.01),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SIMULATED)
def test_simulate(name):
    changes, controller, engine, most = SIMULATED[name]
    scenario = scene(**changes)
    runs = batch(scenario, {}, update=controller, engine=engine, sample=0.04)
    assert furthest(scenario, runs, controller) < most
    if engine == "c" or name == "own laws":
        # the bound is not a matter of luck: it falls with the step
        finer = batch(scenario, {}, update=controller, engine=engine, sample=0.04, step="2ms")
        assert furthest(scenario, finer, controller) < most / 8


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["jax", "c"])
def test_window_of_thinned_traffic_is_what_it_sends(engine):
    """In a round-trip time, as in `equilibrium` and `simulate`, whatever the queue drops of it."""
    flows = [pf.Flows(pf.Reno(), 5, "80ms", slow_start=False)]
    flows.append(pf.Flows(pf.Cbr(rate="6Mbit/s"), base_rtt="40ms", start=2, stop=4))
    scenario = scene(flows=flows, changes=[])
    runs = batch(scenario, {}, engine=engine, after=2, sample=0.04)
    sent = 500.0 * (0.04 + runs.queue_delay)
    sending = (runs.time > 2.01) & (runs.time < 3.99)
    window = runs.window.isel(flows=1)
    np.testing.assert_allclose(window[0, sending], sent[0, sending], rtol=1e-9)
    assert not window[0, (runs.time < 1.99) | (runs.time > 4.01)].any()
    mean = float(sent[0, (runs.time > 1.99) & (runs.time < 4.01)].mean())
    assert float(runs.window_mean[0, 1]) == pytest.approx(mean, rel=0.01)
    dropped = float(runs.p[0, (runs.time > 1.99) & (runs.time < 4.01), 1].mean())
    assert float(runs.p_mean[0, 1]) == pytest.approx(dropped, rel=0.02)
    np.testing.assert_array_equal(runs.p[0, :, 1], runs.p[0, :, 0])
    one = pf.fluid.simulate(scenario, sample=0.04)
    np.testing.assert_allclose(
        one.window[sending.to_numpy(), 1], 500.0 * (0.04 + one.queue_delay[sending]), rtol=1e-9
    )


@impossible
def test_a_delay_beyond_the_first_guess():
    """Seconds of queue: the runs that need a longer past are run again with one."""
    scenario = scene(link=pf.Link("1Mbit/s", buffer=100_000), changes=[], duration=20)
    over = {"flows.0.count": [1.0, 60.0, 3.0]}
    runs = batch(scenario, over, engine="c", sample=0.1)
    assert runs.queue_delay_max[1] > 5
    for index in range(3):
        single = replaced(scenario, "flows.0.count", over["flows.0.count"][index])
        assert furthest(single, runs.isel(run=[index])) < 0.01


# --- the statistics ---------------------------------------------------------------------------


def test_statistics_are_those_of_the_traces():
    scenario = scene(changes=[])
    runs = batch(scenario, {"aqm.alpha": [0.2, 0.4]}, after=2, sample="8ms", engine="c")
    part = runs.sel(time=slice(2 - 1e-9, None))
    weight = np.ones(part.sizes["time"])
    weight[[0, -1]] = 0.5
    weight /= weight.sum()
    delay = part.queue_delay.to_numpy()
    mean = delay @ weight
    np.testing.assert_allclose(runs.queue_delay_mean, mean, rtol=1e-12)
    # between two nodes the delay is taken to be linear
    square = (delay[:, :-1] ** 2 + delay[:, :-1] * delay[:, 1:] + delay[:, 1:] ** 2) / 3
    variance = square.mean(axis=1) - mean**2
    np.testing.assert_allclose(runs.queue_delay_sd, np.sqrt(variance), rtol=1e-9)
    np.testing.assert_array_equal(runs.queue_delay_max, delay.max(axis=1))
    np.testing.assert_array_equal(runs.queue_delay_min, delay.min(axis=1))
    held = part.controller.to_numpy()[:, :-1]
    np.testing.assert_allclose(runs.controller_mean, held.mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(runs.controller_sd, held.std(axis=1), rtol=1e-9)
    web = part.window.sel(flows="web").to_numpy()
    np.testing.assert_allclose(runs.window_mean.sel(flows="web"), web @ weight, rtol=1e-12)
    for name in ("web", "cbr"):  # what obeys it, and what is dropped by it
        p = part.p.sel(flows=name).to_numpy()[:, :-1]
        assert p.min() > 0.0
        np.testing.assert_allclose(runs.p_mean.sel(flows=name), p.mean(axis=1), rtol=1e-12)


@impossible
def test_throughput_and_utilization():
    scenario = scene(changes=[pf.Change(3, capacity="6Mbit/s")])
    runs = batch(scenario, {"flows.0.count": [1.0, 30.0]}, after=2.4, engine="c")
    offered = (0.6 * 1e7 + 3 * 6e6) / 3.6
    np.testing.assert_allclose(runs.throughput.sum("flows"), runs.utilization * offered, rtol=1e-12)
    assert float(runs.utilization[0]) < 0.9
    assert float(runs.utilization[1]) == pytest.approx(1)


def test_overflow_is_what_did_not_fit():
    flood = [pf.Flows(pf.Cbr(rate="12Mbit/s", thinned=False), base_rtt=0)]
    runs = batch(scene(flows=flood, changes=[]), {}, after=2, engine="c")
    assert float(runs.overflow[0]) == pytest.approx(2e6 / 12000)
    assert float(runs.queue_delay_min[0]) == pytest.approx(150 * 12000 / 1e7)
    assert float(runs.throughput[0, 0]) == pytest.approx(1e7)


def test_a_class_counts_while_it_sends():
    runs = batch(scene(), {}, after=4.5, engine="c").isel(run=0)
    silent = runs.sel(flows="creno")  # stopped at 4 s
    for name in ("throughput", "window_mean", "window_min", "p_mean"):
        assert float(silent[name]) == 0
    assert float(runs.window_min.sel(flows="web")) > 0


# --- the Dataset ------------------------------------------------------------------------------


@pytest.mark.slow
def test_dataset(tmp_path):
    over = {"aqm.alpha": [0.2, 0.3], "link.capacity": ["8Mbit/s", "12Mbit/s"], "flows.0.count": 7}
    runs = batch(scene(), over, sample="100ms", engine="c")
    assert runs.sizes == {"run": 2, "flows": 3, "time": 61}
    assert runs["link.capacity"].to_numpy().tolist() == [8e6, 12e6]
    assert runs["flows.0.count"].to_numpy().tolist() == [7, 7]
    assert runs["link.capacity"].units == "bit/s"
    assert runs.flows.to_numpy().tolist() == ["web", "creno", "cbr"]
    assert runs.queue.dims == ("run", "time")
    assert runs.window.dims == ("run", "time", "flows")
    for values in (*runs.variables.values(),):
        assert {"units", "long_name"} <= set(values.attrs)
    assert runs.attrs["engine"] == "fluid.batch (c)"
    assert "interrupted" not in runs.attrs
    assert pf.Scenario.from_toml(runs.attrs["scenario"]) == scene()
    runs.to_netcdf(tmp_path / "runs.nc")
    with xr.open_dataset(tmp_path / "runs.nc") as again:
        xr.testing.assert_identical(again.load(), runs)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["c", "jax"])
def test_traces_of_different_steps(engine):
    """Steps of 8, 7.5 and 5 ms: rows lie at the nearest node of each run."""
    over = {"aqm.update_interval": [0.032, 0.03, 0.005]}
    runs = batch(scene(changes=[]), over, sample=0.01, engine=engine)
    np.testing.assert_allclose(runs.step, [0.008, 0.0075, 0.005])
    for index, interval in enumerate(over["aqm.update_interval"]):
        single = batch(
            scene(changes=[], aqm=pf.Pi2(update_interval=interval)), {}, sample=0.01, engine="c"
        )
        np.testing.assert_allclose(runs.queue[index], single.queue[0], atol=1e-9)


def test_steps_divide_the_update_interval_and_are_no_longer_than_the_shortest_path():
    assert float(batch(scene(), {}, step="9ms", engine="c").step[0]) == pytest.approx(0.008)
    short = batch(scene(), {"flows.0.base_rtt": "5ms"}, engine="c")
    assert float(short.step[0]) == pytest.approx(0.032 / 7)


def test_interruption_keeps_what_is_finished(monkeypatch):
    def stop(done, total):
        if done >= 64:
            raise KeyboardInterrupt

    over = {"aqm.alpha": np.linspace(0.1, 0.5, 100)}
    runs = batch(scene(), over, engine="c", chunk=32, progress=stop)
    assert runs.attrs["interrupted"] == 1
    assert runs.run.to_numpy().tolist() == list(range(64))
    assert_same(runs, batch(scene(), over, engine="c").isel(run=slice(64)))

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pi2_fluid.engines.fluid.batches.batching.run_compiled", interrupt)
    with pytest.raises(KeyboardInterrupt):
        batch(scene(), over, engine="c")


def test_runs_that_are_not_finite_are_pointed_out(monkeypatch):
    def run(table, depth):
        found = run_compiled(table, depth)
        found["delay"][3:5] = np.nan
        return found

    monkeypatch.setattr("pi2_fluid.engines.fluid.batches.batching.run_compiled", run)
    with pytest.warns(pf.AssumptionWarning, match="2 of 9 runs, the first of them run 3, left"):
        batch(scene(), {"aqm.alpha": np.linspace(0.1, 0.5, 9)}, engine="c")


@pytest.mark.slow
def test_double_precision_leaves_the_configuration_alone(jax):
    assert not jax.config.read("jax_enable_x64")
    runs = batch(scene(), {"aqm.alpha": [0.1, 0.3, 0.5]})
    assert runs.queue_delay_mean.dtype == np.float64
    assert not jax.config.read("jax_enable_x64")
    assert jax.numpy.ones(1).dtype == np.float32


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("over", "kind", "message"),
    [
        ({"aqm.gamma": 1.0}, pf.ScenarioError, r"aqm\.gamma.*leads nowhere.*'gamma'.*alpha"),
        ({"queue.alpha": 1.0}, pf.ScenarioError, "there is no 'queue'.*aqm"),
        ({"flows.7.count": 1.0}, pf.ScenarioError, "there is no '7'.*web"),
        (
            {"flows.0": 1.0},
            pf.ScenarioError,
            'no number of the scenario: give e.g. "flows.0.count"',
        ),
        ({"flows": 1.0}, pf.ScenarioError, "no number of the scenario"),
        ({"aqm": 1.0}, pf.ScenarioError, "no number of the scenario: vary numbers only"),
        ({"aqm.variant": "plain"}, pf.ScenarioError, "vary numbers only"),
        ({"flows.0.slow_start": 0.0}, pf.ScenarioError, "vary numbers only"),
        ({"flows.0.name": "x"}, pf.ScenarioError, "vary numbers only"),
        ({"aqm.alpha.x": 1.0}, pf.ScenarioError, "vary numbers only"),
        ({"changes.0.counts.web": 1.0}, pf.ScenarioError, "no count that the change sets"),
        ({"changes.1.counts.creno": 1.0}, pf.ScenarioError, "no count that the change sets"),
        ({0: 1.0}, pf.ScenarioError, "is no path"),
        ({"flows.0.count": 1.0, "flows.web.count": 2.0}, pf.ScenarioError, "are the same number"),
        ([("aqm.alpha", 1.0)], pf.ScenarioError, "is no mapping"),
        (
            {"aqm.alpha": [0.1, 0.2], "aqm.beta": [1.0]},
            pf.QuantityError,
            "asks for 2 runs .* for 1: give",
        ),
        ({"aqm.alpha": np.ones((2, 2))}, pf.QuantityError, r"shape \(2, 2\)"),
        ({"aqm.alpha": []}, pf.QuantityError, "empty"),
        ({"aqm.alpha": [0.1, np.nan]}, pf.QuantityError, "not finite"),
        ({"aqm.alpha": [True, False]}, pf.QuantityError, "no real number"),
        ({"aqm.alpha": "often"}, pf.QuantityError, "often"),
        ({"link.capacity": ["1Mbit/s", "1ms"]}, pf.QuantityError, "1ms"),
        ({"aqm.alpha": [0.1, -0.2]}, pf.DomainError, "Pi2 alpha = -0.2"),
        ({"flows.1.sender.decrease": [0.5, 1.5]}, pf.DomainError, "CReno decrease = 1.5"),
        ({"duration": [6.0, -1.0]}, pf.DomainError, "Scenario duration = -1.0"),
        ({"flows.0.base_rtt": [0.1, 0.0]}, pf.DomainError, "base_rtt = 0.0 leaves no"),
        ({"flows.1.start": [1.0, 5.0]}, pf.ScenarioError, "In run 1, .*stop = 4s is not after"),
        ({"changes.0.at": [1.0, 7.0]}, pf.ScenarioError, "In run 1, .*at 7s is not before the end"),
        ({"flows.0.base_rtt": 1e-8}, pf.DomainError, "run 0 would take 6e.08 steps"),
    ],
)
def test_bad_variations(over, kind, message):
    with refused(kind, match=message):
        batch(scene(), over, engine="c")


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"update": "digital"}, pf.QuantityError, "update = 'digital' is unknown"),
        ({"clock": "wall"}, pf.QuantityError, "clock = 'wall' is unknown"),
        ({"clock": "acks"}, pf.UnsupportedError, "clock = 'acks' is not in engine = \"c\""),
        ({"engine": "fortran"}, pf.QuantityError, "engine = 'fortran' is unknown"),
        ({"step": 0}, pf.DomainError, "step = 0"),
        ({"after": "6s"}, pf.QuantityError, "after = 6 s leaves nothing"),
        ({"sample": "7s"}, pf.QuantityError, "sample = 7 s is longer than"),
        ({"chunk": 0}, pf.QuantityError, "chunk = 0"),
        ({"chunk": True}, pf.QuantityError, "chunk = True"),
    ],
)
def test_bad_options(options, kind, message):
    with pytest.raises(kind, match=message):
        batch(scene(), {}, **{"engine": "c"} | options)


def test_traces_need_one_duration():
    with pytest.raises(pf.ScenarioError, match="do not go together"):
        batch(scene(), {"duration": [5.5, 6.0]}, sample="1s", engine="c")


def test_no_scenario():
    with pytest.raises(pf.ScenarioError, match="is no Scenario"):
        batch(pf.Pi2(), {})


@pytest.mark.slow
def test_a_full_buffer_has_nothing_to_thin():
    """What it loses has never entered, so `thinned` changes nothing."""
    found = [
        batch(
            pf.Scenario(
                "4s",
                pf.Link("10Mbit/s", buffer=40),
                pf.TailDrop(),
                [pf.Flows(pf.Reno(), 3, "50ms"), pf.Flows(pf.Cbr(rate="2Mbit/s", thinned=thinned))],
            ),
            {"flows.cbr.count": [1.0, 2.0]},
        )
        for thinned in (False, True)
    ]
    assert found[0].overflow.max() > 0.0
    assert_same(found[1], found[0], rtol=0.0)
