"""What a trajectory costs in a batch, with either engine, and how right it is.

    python bench/batch.py [--runs 1024] [--rounds 5]
    python bench/batch.py --device [--runs 100000] [--rounds 5]

The scenario: 10 Mbit/s, PI2 with the paper's gains but alpha, which is what varies; 10 Reno flows
from 0 to 250 s, 20 more from 50 to 200 s, and another 20 from 100 to 150 s, base RTT 100 ms. Times
are CPU time of one pinned process per trajectory, medians over rounds in which the contestants take
turns. Errors are those of the queue delay over all 250 s against `simulate` at its default
tolerance, largest and root mean square of eight trajectories, in parts of the target of 20 ms. All
loops are stable: an unstable one, in its limit cycle, gathers phase errors (alpha = 0.6: 5e-2).

With --device, what JAX's device computes in a second of wall time, beside one core in C, and how
far their mean delays are apart.
"""

# ruff: noqa: E402 - the thread counts below must be set before the libraries that read them load
from __future__ import annotations

import argparse
import dataclasses
import os
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import jax
import numpy as np
from record import Row, record, yardstick

import pi2_fluid as pf
from pi2_fluid import _core
from pi2_fluid.engines.fluid.batches.batching import batch
from pi2_fluid.engines.fluid.lanes.in_c import run_compiled
from pi2_fluid.engines.fluid.lanes.jitted import runs_at_once
from pi2_fluid.engines.fluid.lanes.timetable import tabulate, take_runs
from pi2_fluid.engines.fluid.lanes.variation import vary

SAMPLE = 0.032  # s: a multiple of every step below


def scene() -> pf.Scenario:
    """Return the scenario."""
    plain = {"initial_window": 1, "slow_start": False}
    return pf.Scenario(
        duration="250s",
        link=pf.Link("10Mbit/s", "40000 packets"),
        aqm=pf.Pi2(),
        flows=[
            pf.Flows(pf.Reno(), 10, "100ms", **plain),
            pf.Flows(pf.Reno(), 20, "100ms", start="50s", stop="200s", **plain),
            pf.Flows(pf.Reno(), 20, "100ms", start="100s", stop="150s", **plain),
        ],
    )


def gains(runs: int) -> dict[str, Any]:
    """Return what varies, over stable loops."""
    return {"aqm.alpha": np.linspace(0.1, 0.4, runs)}


def follow(count: int, step: float | None = None) -> Any:
    """Return the delays of `count` of the trajectories, one by one; accurately without a step."""
    rows = []
    for alpha in gains(count)["aqm.alpha"]:
        scenario = scene()
        scenario = dataclasses.replace(scenario, aqm=dataclasses.replace(scenario.aqm, alpha=alpha))
        rows.append(pf.fluid.simulate(scenario, sample=SAMPLE, step=step).queue_delay.to_numpy())
    return np.array(rows)


@dataclasses.dataclass
class Contestant:
    """A way to compute trajectories: `run` computes `runs` of them, `trace` the delays of eight."""

    name: str
    run: Callable[[], Any]
    runs: int
    step: float
    trace: Callable[[], Any] | None


def one_by_one(step: float) -> Contestant:
    """Call `simulate`, the yardstick."""

    def run() -> Any:
        return pf.fluid.simulate(scene(), sample="1s", step=step)

    return Contestant(f"simulate, step {1e3 * step:g} ms", run, 1, step, lambda: follow(8, step))


def batched(engine: str, runs: int, step: float, chunk: int = 512) -> Contestant:
    """Call `batch`."""

    def run() -> Any:
        return batch(scene(), gains(runs), engine=engine, step=step, chunk=chunk)

    def trace() -> Any:
        found = batch(scene(), gains(8), engine=engine, step=step, sample=SAMPLE)
        return found.queue_delay.to_numpy()

    name = f'batch, "{engine}", step {1e3 * step:g} ms, chunk {chunk}'
    return Contestant(name, run, runs, step, trace)


def kernel(simd: str, runs: int, step: float) -> Contestant:
    """Call the kernel alone, with one instruction set."""
    table = tabulate(vary(scene(), gains(runs)), continuous=False, step=step, after=0, sample=None)
    name = f"  kernel alone, {simd}"
    return Contestant(name, lambda: run_compiled(table, 64, simd), runs, step, None)


def contestants(runs: int) -> list[Contestant]:
    """Everyone who takes part, the yardstick first."""
    few = max(1, runs // 8)
    return [
        one_by_one(8e-3),
        batched("c", runs, 8e-3),
        *(kernel(simd, few, 8e-3) for simd in _core.simd_levels()),
        batched("c", runs, 16e-3),
        batched("c", runs, 4e-3),
        batched("c", 32, 8e-3),
        batched("c", 1, 8e-3),
        batched("jax", runs, 8e-3, 1024),
        batched("jax", runs, 8e-3),
        batched("jax", few, 8e-3, 128),
        batched("jax", 1, 8e-3, 1),
    ]


def beside_a_core(runs: int, rounds: int) -> None:
    """Print what the device does with so many runs, and a core with some of them."""
    few = min(runs, 1024)
    table = tabulate(vary(scene(), gains(runs)), continuous=False, step=8e-3, after=0, sample=None)
    part = take_runs(table, np.linspace(0, runs - 1, few).astype(int))
    lanes = runs_at_once(table, 64)
    started = time.perf_counter()
    found = batch(scene(), gains(runs), engine="jax")
    first = time.perf_counter() - started
    device, core = [], []
    for _ in range(rounds):
        started = time.perf_counter()
        batch(scene(), gains(runs), engine="jax")
        device.append((time.perf_counter() - started) / runs)
        started = time.process_time()
        known = run_compiled(part, 64)
        core.append((time.process_time() - started) / few)
    mean = known["delay"] / (2.0 * part.last)
    own = found.queue_delay_mean.to_numpy()[np.linspace(0, runs - 1, few).astype(int)]
    each, of_core = statistics.median(device), statistics.median(core)
    print(f"{jax.devices()[0].device_kind}, {runs} runs, {lanes} at once, jax {jax.__version__}")
    print(f"device: {1 / each:10.0f} per s of wall time, {first - each * runs:.1f} s to compile")
    print(f"core:   {1 / of_core:10.0f} per s of CPU time, {_core.simd()}")
    print(f"ratio:  {of_core / each:10.1f}, mean delays apart {np.abs(own / mean - 1).max():.1e}")


def main() -> None:
    """Run and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, help="default 1024; 100000 on a device")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", action="store_true", help="JAX's device beside one core in C")
    options = parser.parse_args()
    if options.device:
        beside_a_core(options.runs or 100_000, options.rounds)
        return
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

    everyone = contestants(options.runs or 1024)
    first: dict[str, float] = {}
    times: dict[str, list[float]] = {who.name + str(who.runs): [] for who in everyone}
    fixed = []
    for turn in range(options.rounds + 1):
        fixed.append(yardstick())
        for who in everyone:
            start = time.process_time()
            who.run()
            taken = time.process_time() - start
            if turn:
                times[who.name + str(who.runs)].append(taken / who.runs)
            else:  # the first compiles, and warms caches and pages
                first[who.name + str(who.runs)] = taken

    truth = follow(8)
    print(f"{platform.machine()}, jax {jax.__version__}, kernel {_core.simd()}")
    print(
        f"CPU time per trajectory of 250 s, median of {options.rounds} interleaved rounds;"
        " compiling is not in it\n"
    )
    rows = []
    unit = statistics.median(fixed)
    print(f"{'':41}{'runs':>6}{'per s':>8}{'ns/step':>9}{'compile':>9}{'max':>10}{'rms':>9}")
    for who in everyone:
        median = statistics.median(times[who.name + str(who.runs)])
        compiling = max(0.0, first[who.name + str(who.runs)] - median * who.runs)
        row = f"{who.name:41}{who.runs:6d}{1 / median:8.0f}{1e9 * median * who.step / 250:9.1f}"
        row += f"{compiling:7.1f} s" if '"jax"' in who.name else f"{'':9}"
        errors = []
        if who.trace is not None:
            found = who.trace()
            error = (found[:, : truth.shape[1]] - truth[:, : found.shape[1]]) / 0.02
            errors = [float(np.abs(error).max()), float(np.sqrt(np.mean(error**2)))]
            row += f"{errors[0]:10.1e}{errors[1]:9.1e}"
        print(row)
        rows.append(Row(f"{who.name.strip()}, {who.runs} runs", median / unit, errors))
    record("batch", rows, better="smaller")


if __name__ == "__main__":
    main()
