"""What a trajectory costs, here and elsewhere, and how right it is.

    python bench/fluid.py [--rounds 7] [--clocks]

250 s of Reno flows that come and go on 10 Mbit/s, 100 ms, under PI2, with a sample every 32 ms
(7,813 of them): 10:30:50:30:10 flows of one class whose count changes, or three classes that start
and stop. Times are CPU time of one pinned process, medians over rounds in which the contestants
take turns (the quick ones ten times in each). The error is the largest of the queue delay over all
samples, in parts of its target, against this package's solver with fixed steps of 0.25 ms, which
tests/engines/fluid/test_fluid_contract.py holds to trajectories of two independent solvers.

A second table (`--clocks` gives it alone) compares the two clocks in C, both with the steps that
they take by default: what a trajectory by acknowledgements costs, in parts of its sibling by rates,
and the largest error of each in parts of the target, the ack clock's against its own steps of
20 us. Several classes hand bursts on to one another undamped, and small windows keep them up: there
the phase is lost, and errors are as large as what swings.

jitcdde cannot hold a queue at 0: its clips are smoothed over 1e-6 packets, which is as sharp as its
error asks for; steps of load are passed as its manual says, with blind steps up to them and
`adjust_diff` after them. It has no sampled controller.
"""

# ruff: noqa: E402 - the thread counts below must be set before the libraries that read them load
from __future__ import annotations

import argparse
import dataclasses
import os
import platform
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np
import numpy.typing as npt
from record import Row, record, yardstick
from scipy.integrate import solve_ivp

import pi2_fluid as pf
from pi2_fluid.engines.fluid.accuracy import Accuracy
from pi2_fluid.engines.fluid.acks.compiled import run_compiled as run_by_acks
from pi2_fluid.engines.fluid.compiled import run_compiled

Array = npt.NDArray[np.float64]

BASE_RTT, TARGET, SAMPLE = 0.1, 0.02, 0.032
C = 10e6 / 12000  # packets/s
ALPHA, BETA, T = 0.3125, 3.125, 0.032
EDGES, COUNTS = (50.0, 100.0, 150.0, 200.0), (10, 30, 50, 30, 10)
TIMES = np.arange(7813) * SAMPLE


def reno(count: float, **more: Any) -> pf.Flows:
    """Return a class that begins with a window of 1, in congestion avoidance."""
    return pf.Flows(pf.Reno(), count, BASE_RTT, initial_window=1, slow_start=False, **more)


ONE = pf.Scenario(
    250.0,
    pf.Link("10Mbit/s", "40000 packets"),
    pf.Pi2(),
    reno(10, name="reno"),
    [pf.Change(at, counts={"reno": n}) for at, n in zip(EDGES, COUNTS[1:], strict=True)],
)
THREE = pf.Scenario(
    250.0,
    pf.Link("10Mbit/s", "40000 packets"),
    pf.Pi2(),
    [reno(10), reno(20, start=50, stop=200), reno(20, start=100, stop=150)],
)


# This package


def native(scenario: pf.Scenario, controller: str, tolerance: float) -> Callable[[], Array]:
    """Return the compiled solver alone, with its samples."""
    accuracy = Accuracy(250.0, tolerance)
    return lambda: run_compiled(scenario, controller, accuracy, TIMES).queue[:, 0]


def public(scenario: pf.Scenario, controller: str, tolerance: float) -> Callable[[], Array]:
    """Return `fluid.simulate`, validation and Dataset included."""

    def run() -> Array:
        result = pf.fluid.simulate(scenario, update=controller, tolerance=tolerance, sample=SAMPLE)
        return np.asarray(result.queue)

    return run


def python(scenario: pf.Scenario, controller: str, tolerance: float) -> Callable[[], Array]:
    """Return the readable twin."""

    def run() -> Array:
        result = pf.fluid.simulate(
            scenario, update=controller, tolerance=tolerance, sample=SAMPLE, engine="python"
        )
        return np.asarray(result.queue)

    return run


# Others


class Jitcdde:
    """The same equations, compiled by jitcdde; clips by smooth conditionals."""

    def __init__(self, classes: int, rtol: float, *, sampled: bool = True) -> None:
        from jitcdde import jitcdde, t, y
        from jitcxde_common.symbolic import conditional
        from symengine import Symbol

        self.classes, self.rtol, self.sampled = classes, rtol, sampled
        n, width = classes, 1e-6
        counts = [Symbol(f"N{i}") for i in range(n)]
        # 0 before its start and after its stop: the law of a class that sends
        sends = [Symbol(f"on{i}") for i in range(n)]
        q, u = y(n), y(n + 1)
        R = BASE_RTT + q / C
        d = t - R
        R_then = BASE_RTT + y(n, d) / C
        net = sum(N * y(i) for i, N in enumerate(counts)) / R - C
        dq = conditional(q, 0, conditional(net, 0, 0, net, 100 * width), net, width)
        raw = ALPHA / T * (q / C - TARGET) + (BETA + ALPHA / 2) * dq / C
        up, down = conditional(raw, 0, 0, raw, width), conditional(raw, 0, raw, 0, width)
        near = 1e-3 * width
        du = conditional(u, 0, up, conditional(u, 1, raw, down, near), near)
        windows = []
        for i in range(n):
            signals = y(i, d) / R_then * y(n + 1, d) ** 2
            if i:  # none from before its start
                signals *= conditional(d, EDGES[i - 1], 0, 1, 1e-6)
            windows.append(sends[i] * (1 / R - 0.5 * y(i) * signals))
        # helpers in the order of the states
        self.dde = jitcdde(
            [*windows, dq, du], max_delay=2.0, control_pars=[*counts, *sends], verbose=False
        )
        begin = time.perf_counter()
        self.dde.compile_C(simplify=False)
        self.compiled = time.perf_counter() - begin

    def load(self, stage: int) -> list[float]:
        """Return counts and switches of one stage."""
        if self.classes == 1:
            return [float(COUNTS[stage]), 1.0]
        on = [1.0, float(1 <= stage <= 3), float(stage == 2)]
        return [10.0, 20.0 * on[1], 20.0 * on[2], *on]

    def __call__(self) -> Array:
        """Return the queue at all samples."""
        dde, n = self.dde, self.classes
        dde.purge_past()
        dde.constant_past([1.0] * n + [0.0, 0.0], time=0.0)
        dde.reset_integrator()
        dde.set_integration_parameters(
            rtol=self.rtol, atol=self.rtol, first_step=1e-3, max_step=0.1
        )
        dde.set_parameters(*self.load(0))
        dde.adjust_diff()
        stage, out = 0, [0.0]
        for x in TIMES[1:]:
            edge = EDGES[stage] if stage < len(EDGES) else np.inf
            if x > edge:
                if dde.t < edge:
                    dde.integrate_blindly(edge, 2e-3)
                stage += 1
                dde.set_parameters(*self.load(stage))
                dde.adjust_diff()
                dde.integrate_blindly(edge + 4e-3, 1e-3)
            if edge - 0.3 < x <= edge and dde.t < x:
                row = dde.integrate_blindly(x, 2e-3)
            elif self.sampled or x == TIMES[-1]:
                row = dde.integrate(x)
            out.append(row[n])
        return np.array(out)


def method_of_steps(rtol: float) -> Callable[[], Array]:
    """Return SciPy's DOP853 in pieces of 50 ms, one class, clips in the right-hand side."""

    def run() -> Array:
        pieces: list[Any] = []
        start = np.array([1.0, 0.0, 0.0])

        def past(at: float) -> Array:
            return start if at <= 0 else pieces[min(int(at / 0.05), len(pieces) - 1)](at)

        def slopes(at: float, state: Array, count: float) -> list[float]:
            w, q, u = state
            R = BASE_RTT + q / C
            w_then, q_then, u_then = past(at - R)
            dq = count * w / R - C
            dq = max(dq, 0.0) if q <= 0 else dq
            du = ALPHA / T * (q / C - TARGET) + (BETA + ALPHA / 2) * dq / C
            du = max(du, 0.0) if u <= 0 else min(du, 0.0) if u >= 1 else du
            return [1 / R - 0.5 * w * w_then / (BASE_RTT + q_then / C) * u_then**2, dq, du]

        state = start
        for k in range(5000):
            count = COUNTS[int(np.searchsorted(EDGES, k * 0.05 + 1e-9))]
            piece = solve_ivp(
                slopes,
                (k * 0.05, (k + 1) * 0.05),
                state,
                "DOP853",
                args=(count,),
                dense_output=True,
                rtol=rtol,
                atol=rtol,
            )
            pieces.append(piece.sol)
            state = np.maximum(piece.y[:, -1], [0.0, 0.0, 0.0])
        return np.array([past(at)[1] for at in TIMES])

    return run


@dataclass(frozen=True)
class Contestant:
    """Somebody who computes the queue (packets) at all samples."""

    name: str
    run: Callable[[], Array]
    scenario: str
    controller: str = "continuous"
    peer: str | None = None
    rounds: int | None = None
    repeats: int = 1


def contestants() -> list[Contestant]:
    """Everyone who takes part; `peer` names whom a row is compared with."""
    jit = {rtol: Jitcdde(1, rtol) for rtol in (1e-7, 1e-8)}
    jit_three = Jitcdde(3, 1e-7)
    print(f"jitcdde compiled in {jit[1e-7].compiled:.2f} and {jit_three.compiled:.2f} s (wall)\n")
    single, three = "jitcdde, rtol 1e-7", "jitcdde, rtol 1e-7, three classes"

    def ours(
        name: str, how: Callable[..., Callable[[], Array]], scenario: str, kind: str, tol: float
    ) -> Contestant:
        law = ONE if scenario == "one" else THREE
        peer = single if scenario == "one" else three
        label = f"{name}, tolerance {tol:g}"
        return Contestant(label, how(law, kind, tol), scenario, kind, peer, repeats=10)

    return [
        Contestant(single, jit[1e-7], "one"),
        Contestant("jitcdde, rtol 1e-8", jit[1e-8], "one", peer=single),
        Contestant(
            "SciPy DOP853, method of steps, 1e-8",
            method_of_steps(1e-8),
            "one",
            peer=single,
            rounds=1,
        ),
        ours("C", native, "one", "continuous", 3e-6),
        ours("C", native, "one", "continuous", 1e-7),
        ours("C", native, "one", "continuous", 1e-10),
        ours("simulate", public, "one", "continuous", 3e-6),
        Contestant(
            "the same in Python, tolerance 1e-06",
            python(ONE, "continuous", 1e-6),
            "one",
            peer=single,
            rounds=1,
        ),
        ours("C, sampled", native, "one", "sampled", 1e-6),
        ours("C, sampled", native, "one", "sampled", 1e-10),
        Contestant(three, jit_three, "three"),
        ours("C, three classes", native, "three", "continuous", 3e-6),
        ours("simulate, three", public, "three", "continuous", 3e-6),
        ours("simulate, three, sampled", public, "three", "sampled", 3e-6),
    ]


# The two clocks


def rested(scenario: pf.Scenario) -> pf.Fluid:
    """Return the fluid from the state of rest of a scenario on."""
    return pf.Fluid(initial=pf.equilibrium(scenario.network))


def two_links() -> pf.Scenario:
    """Return one class over two bottlenecks, and one over each, and that one gets narrower."""
    nodes = [
        pf.Node(name, pf.Link(capacity, "40000 packets"), pf.Pi2(drop_at=drop_at))
        for name, capacity, drop_at in (("a", 30e6, "dequeue"), ("b", 24e6, "enqueue"))
    ]
    flows = [
        pf.Flows(pf.Reno(), 6, "80ms", "long", route=("a", "b"), hops=("5ms", "10ms")),
        pf.Flows(pf.CReno(), 5, "40ms", "near", route="a", hops="4ms"),
        pf.Flows(pf.Reno(), 8, "60ms", "far", route="b", hops="12ms"),
    ]
    drop = pf.Change("5s", capacity="23.8Mbit/s", link="b")
    return pf.Scenario("15s", network=pf.Network(nodes, flows), changes=drop)


def siblings() -> dict[str, tuple[pf.Scenario, pf.Fluid]]:
    """Return what both clocks follow, and from where on."""
    near, far, slow = (
        pf.Flows(sender, 10, path)
        for sender, path in ((pf.Reno(), "30ms"), (pf.Reno(), "100ms"), (pf.Cubic(), "60ms"))
    )
    link, drop = pf.Link("40Mbit/s", "40000 packets"), pf.Change("5s", capacity="38Mbit/s")
    pi2 = pf.Pi2(drop_at="dequeue")
    one = pf.Scenario("100s", link, pi2, far, drop)
    mixed = pf.Scenario("100s", link, pi2, [near, far, slow], drop)
    dual = [far, pf.Flows(pf.Scalable(), 5, "50ms", name="L4S")]
    return {
        "one class, 5 % less capacity": (one, rested(one)),
        "Reno, Reno and Cubic, likewise": (mixed, rested(mixed)),
        "one class whose count changes": (ONE, pf.Fluid()),
        "three classes that come and go": (THREE, pf.Fluid()),
        "three classes over two links": (two_links(), rested(two_links())),
        "dual queue, start-up": (pf.Scenario("30s", link, pf.DualPi2(), dual), pf.Fluid()),
    }


def by_both(scenario: pf.Scenario, how: pf.Fluid) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Return what follows a scenario by rates, and what by acknowledgements, in C alone."""
    rates = how._prepare(scenario)
    clocked = dataclasses.replace(how, clock="acks")._prepare_acks(scenario)
    split = rates.cohorts
    return (
        lambda: run_compiled(
            split.scenario, "sampled", rates.accuracy, rates.times, split.beginning
        ),
        lambda: run_by_acks(clocked.integrator, clocked.times),
    )


def compare_clocks(rounds: int) -> None:
    """Print what each clock costs, and how right it is."""
    print(f"\n{'':34}{'rate, ms':>10}{'acks, ms':>10}{'ratio':>8}{'error, rate':>13}{'acks':>10}")
    rows = []
    for name, (scenario, how) in siblings().items():
        both = by_both(scenario, how)
        times: list[list[float]] = [[], []]
        fixed = []
        for _ in range(rounds):
            fixed.append(yardstick())
            for run, spent in zip(both, times, strict=True):
                start = time.process_time()
                for _ in range(5):
                    run()
                spent.append((time.process_time() - start) / 5)
        fine = (
            dataclasses.replace(how, tolerance=1e-13),
            dataclasses.replace(how, clock="acks", step=20e-6),
        )
        errors = []
        for run, truth in zip(both, fine, strict=True):
            delay = run().queue_delay
            exact = np.asarray(truth.run(scenario).queue_delay).reshape(delay.shape)
            errors.append(float(np.abs(delay - exact).max()) / TARGET)
        rate, acks = (1e3 * statistics.median(spent) for spent in times)
        print(
            f"{name:34}{rate:10.2f}{acks:10.2f}{acks / rate:8.2f}{errors[0]:13.0e}{errors[1]:10.0e}"
        )
        for clock, spent, error in zip(("rates", "acks"), (rate, acks), errors, strict=True):
            cost = 1e-3 * spent / statistics.median(fixed)
            rows.append(Row(f"{name}, by {clock}", cost, (error,)))
    record("fluid clocks", rows, better="smaller")


def references() -> dict[tuple[str, str], Array]:
    """Return the queue by fixed steps of 0.25 ms."""
    return {
        (name, controller): np.asarray(
            pf.fluid.simulate(scenario, update=controller, sample=SAMPLE, step=0.25e-3).queue
        )
        for name, scenario in (("one", ONE), ("three", THREE))
        for controller in ("continuous", "sampled")
    }


def main() -> None:
    """Run and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--clocks", action="store_true", help="compare the two clocks alone")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    warnings.simplefilter("ignore")  # jitcdde's, of small sampling steps
    if options.clocks:
        compare_clocks(options.rounds)
        return
    truth = references()
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)  # jitcdde compiles where it stands, and reads the project file there
        everyone = contestants()
        os.chdir(home)
        times: dict[str, list[float]] = {who.name: [] for who in everyone}
        errors: dict[str, float] = {}
        for turn in range(options.rounds + 1):
            for who in everyone:
                if turn > (options.rounds if who.rounds is None else who.rounds):
                    continue
                start = time.process_time()
                for _ in range(who.repeats):
                    queue = who.run()
                spent = (time.process_time() - start) / who.repeats
                known = truth[who.scenario, who.controller]
                rows = min(len(queue), len(known))
                errors[who.name] = float(np.abs(queue[:rows] - known[:rows]).max() / (C * TARGET))
                if turn:  # the first warms caches and imports
                    times[who.name].append(spent)

    print(f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}")
    print("250 s, 7,813 samples; CPU time, median of interleaved runs\n")
    medians = {name: statistics.median(values) for name, values in times.items()}
    rows = []
    print(f"{'':42}{'ms':>10}{'x its peer':>12}{'error':>10}")
    for who in everyone:
        ratio = medians[who.peer] / medians[who.name] if who.peer else 1.0
        print(f"{who.name:42}{1e3 * medians[who.name]:10.3f}{ratio:12.3g}{errors[who.name]:10.1e}")
        rows.append(Row(who.name, ratio, (errors[who.name],)))
    record("fluid", rows, better="larger")
    compare_clocks(options.rounds)


if __name__ == "__main__":
    main()
