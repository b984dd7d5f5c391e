"""What a trajectory over two links costs, here and with jitcdde, and how right it is.

    python bench/routes.py [--rounds 7]

Two links in a row under PI2 with its continuous controller, a class of Reno flows that crosses
both and one on each, with hops: 60 s with a sample every 32 ms. They begin where they rest but for
controllers that are 10 % too high, and after 20 s eight flows cross the first link instead of five,
until 40 s. Queues never empty and nothing is clipped, for jitcdde could not hold it: there both
solve the same equations, first in, first out, with the time of entry as a state. What jitcdde knows
of the change is a step smoothed over 1e-6 s, which is why its error ends at 1e-8 of the target; its
images, which travel through the first queue to the second link, it finds by its error control.

Times are CPU time of one pinned process, medians over rounds in which the contestants take turns.
The error is the largest of both queue delays over all samples, in parts of their target, against
this package's solver with a tolerance of 1e-13, which tests/native/test_kernel_routes.py holds to
trajectories of independent solvers.
"""

# ruff: noqa: E402 - the thread counts below must be set before the libraries that read them load
from __future__ import annotations

import argparse
import os
import platform
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np
import numpy.typing as npt
from record import Row, record

import pi2_fluid as pf
from pi2_fluid import _core
from pi2_fluid.engines.fluid.accuracy import Accuracy
from pi2_fluid.engines.fluid.compiled import pack

Array = npt.NDArray[np.float64]

C = (1250.0, 1000.0)  # packets/s
TARGET, SAMPLE = 0.02, 0.032
ALPHA, BETA, T = 0.3125, 3.125, 0.032
BASE_RTT, FLOWS = (0.08, 0.04, 0.06), (6.0, 5.0, 8.0)
ROUTES, HOPS = (("a", "b"), ("a",), ("b",)), ((0.005, 0.01), (0.004,), (0.012,))
EDGES, COUNTS = (20.0, 40.0), (5.0, 8.0, 5.0)  # of the second class
HIGH = 1.1
TIMES = np.arange(1876) * SAMPLE

NETWORK = pf.Network(
    [
        pf.Node(
            name,
            pf.Link(12000.0 * rate),
            pf.Pi2(alpha=ALPHA, beta=BETA, update_interval=T, target=TARGET),
        )
        for name, rate in zip("ab", C, strict=True)
    ],
    [
        pf.Flows(pf.Reno(), n, rtt, f"c{i}", route=route, hops=hops, slow_start=False)
        for i, (n, rtt, route, hops) in enumerate(zip(FLOWS, BASE_RTT, ROUTES, HOPS, strict=True))
    ],
)
SCENARIO = pf.Scenario(
    60.0,
    network=NETWORK,
    changes=[pf.Change(at, counts={"c1": n}) for at, n in zip(EDGES, COUNTS[1:], strict=True)],
).as_run
REST = pf.equilibrium(NETWORK)
WINDOWS = [float(window) for window in REST.window]
CONTROLLERS = [HIGH * float(u) for u in REST.controller]


def native(tolerance: float) -> Callable[[], Array]:
    """Return the compiled solver alone, from where the network rests on."""
    limits = Accuracy(60.0, tolerance)
    duration, nodes, classes, changes, continuous, added, _, accuracy = pack(
        SCENARIO, "continuous", limits
    )
    for node, capacity, u in zip(nodes, C, CONTROLLERS, strict=True):
        node |= {"queue": capacity * TARGET, "state": [u, TARGET]}
    for each, window in zip(classes, WINDOWS, strict=True):
        each["state"] = [window]

    def run() -> Array:
        trajectory = _core.RoutesRun(
            duration, nodes, classes, changes, continuous, added, True, accuracy
        )
        sizes = (2, 2, 2, 2, 3, 4, 4)
        rows = [np.empty((len(TIMES), size)) for size in sizes]
        place, status = 0, "more"
        while status == "more":
            place, status = trajectory.advance(TIMES, place, 10**6, *rows)
        assert status == "done", status
        return rows[1]

    return run


class Jitcdde:
    """The same equations, compiled by jitcdde."""

    def __init__(self) -> None:
        from jitcdde import jitcdde, t, y
        from jitcxde_common.symbolic import conditional

        def count(i: int, at: Any) -> Any:
            if i != 1:
                return FLOWS[i]
            jumps = zip(EDGES, np.diff(COUNTS), strict=True)
            return COUNTS[0] + sum(
                conditional(at, edge, 0.0, float(by), 1e-6) for edge, by in jumps
            )

        def rtt(i: int, *at: Any) -> Any:
            return BASE_RTT[i] + sum(
                y(3 + "ab".index(n), *at) / C["ab".index(n)] for n in ROUTES[i]
            )

        def sent(i: int, at: Any) -> Any:
            return count(i, at) * y(i, at) / rtt(i, at)

        def entered(at: Any) -> tuple[Any, Any]:
            """What entered the first link, of the class that goes on and of the other."""
            return sent(0, at - HOPS[0][0]), sent(1, at - HOPS[1][0])

        before = t - HOPS[0][1]  # when what comes to the second link left the first, and entered it
        mine, other = entered(before - y(7, before))
        first = sum(entered(t))
        second = C[0] * mine / (mine + other) + sent(2, t - HOPS[2][0])
        growth = [first - C[0], second - C[1]]
        tau = [y(3) / C[0], y(4) / C[1]]
        p = [
            [
                y(5 + "ab".index(n), t - (BASE_RTT[i] - sum(HOPS[i][: k + 1]) + sum(later))) ** 2
                for k, n in enumerate(route)
                for later in [[tau["ab".index(m)] for m in route[k:]]]
            ]
            for i, route in enumerate(ROUTES)
        ]
        signals = [1 - (1 - p[0][0]) * (1 - p[0][1]), p[1][0], p[2][0]]
        windows = []
        for i in range(3):
            then = t - rtt(i)
            windows.append(1 / rtt(i) - 0.5 * y(i) * y(i, then) / rtt(i, then) * signals[i])
        controllers = [
            ALPHA / T * (delay - TARGET) + (BETA + ALPHA / 2) * grows / capacity
            for delay, grows, capacity in zip(tau, growth, C, strict=True)
        ]
        waited = 1 - C[0] / sum(entered(t - y(7)))
        self.dde = jitcdde([*windows, *growth, *controllers, waited], max_delay=0.5, verbose=False)
        begin = time.perf_counter()
        self.dde.compile_C(simplify=False)
        self.compiled = time.perf_counter() - begin

    def run(self, rtol: float) -> Array:
        """Return both queue delays at all samples."""
        dde = self.dde
        dde.purge_past()
        queues = [capacity * TARGET for capacity in C]
        dde.constant_past([*WINDOWS, *queues, *CONTROLLERS, TARGET], time=0.0)
        dde.reset_integrator()
        dde.set_integration_parameters(rtol=rtol, atol=rtol, first_step=1e-3, max_step=0.1)
        dde.adjust_diff()
        rows = [queues, *(dde.integrate(x)[3:5] for x in TIMES[1:])]
        return np.array(rows) / C


def main() -> None:
    """Run and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    warnings.simplefilter("ignore")  # jitcdde's, of small sampling steps
    truth, home = native(1e-13)(), Path.cwd()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)  # jitcdde compiles where it stands, and reads the project file there
        other = Jitcdde()
        os.chdir(home)
        everyone: list[tuple[str, Callable[[], Array], int]] = [
            *((f"jitcdde, rtol {r:g}", lambda r=r: other.run(r), 0) for r in (1e-7, 1e-9)),
            *((f"C, tolerance {tol:g}", native(tol), peer) for tol, peer in ((3e-7, 0), (1e-9, 1))),
            ("C, tolerance 1e-10", native(1e-10), 1),
        ]
        spent: list[list[float]] = [[] for _ in everyone]
        errors = [0.0] * len(everyone)
        for turn in range(options.rounds + 1):
            for who, (_, run, _peer) in enumerate(everyone):
                start = time.process_time()
                found = run()
                if turn:  # the first warms caches and imports
                    spent[who].append(time.process_time() - start)
                errors[who] = float(np.abs(found - truth).max()) / TARGET

    print(f"jitcdde compiled in {other.compiled:.2f} s (wall)")
    print(f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}")
    print("60 s over two links, 1,876 samples; CPU time, median of interleaved runs\n")
    medians = [statistics.median(values) for values in spent]
    rows = []
    print(f"{'':24}{'ms':>10}{'x its peer':>12}{'error':>10}")
    for (name, _, peer), mine, error in zip(everyone, medians, errors, strict=True):
        print(f"{name:24}{1e3 * mine:10.3f}{medians[peer] / mine:12.3g}{error:10.1e}")
        rows.append(Row(name, medians[peer] / mine, (error,)))
    record("routes", rows, better="larger")


if __name__ == "__main__":
    main()
