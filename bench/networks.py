"""What uniform margins of a network cost, here and with python-control, and how right they are.

    python bench/networks.py [--rounds 5] [--orders 3 4]

A network of three bottlenecks and twelve classes, round-trip time frozen, continuous PI. With
python-control its linearised parts, every delay by a Pade approximation, are put together by
`control.interconnect`; the eigenvalues of the frequency response are followed on a grid, and each
crossover is then bracketed and found. Times are CPU time of one process; errors are the largest of
both margins against those of this package with other code: every bracket solved, eigenvalue by
eigenvalue, on a grid ten times as fine.
"""

# ruff: noqa: E402 - the thread counts below must be set before the libraries that read them load
from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import control
import numpy as np
import numpy.typing as npt
from record import Row, record
from scipy.optimize import brentq

import pi2_fluid as pf

Array = npt.NDArray[np.complex128]
Answer = tuple[float, float]  # gain margin (dB), phase margin (degrees)

ROUTES = [("a", "b", "c"), ("a", "b"), ("b", "c"), ("a",), ("b",), ("c",)]
GRID = np.geomspace(0.5, 40.0, 300)  # rad/s, in which all crossovers lie


def network() -> pf.Network:
    """Twelve classes over six routes, at round-trip times of 20 to 108 ms without queues."""
    rates = {"a": "120Mbit/s", "b": "100Mbit/s", "c": "80Mbit/s"}
    nodes = [
        pf.Node(name, pf.Link(rate, "40000 packets"), pf.Pi2()) for name, rate in rates.items()
    ]
    flows = []
    for number in range(12):
        route = ROUTES[number % 6]
        hops = [0.002] * len(route)
        sender = pf.Reno() if number < 6 else pf.CReno()
        flows.append(pf.Flows(sender, 5 + number, 0.02 + 0.008 * number, route=route, hops=hops))
    return pf.Network(nodes, flows)


def rational(loop: pf.NetworkLoop, order: int) -> control.StateSpace:
    """Put the loop's linearised parts together, from what controllers say to queue delays."""
    parts, s = [], control.tf("s")
    linear = loop.linear
    links = range(len(loop.links))
    arriving: dict[int, list[str]] = {link: [] for link in links}

    def block(system: Any, source: str | list[str], name: str) -> None:
        sources = [source] if isinstance(source, str) else source
        found = control.ss(system, inputs=sources, outputs=[name], name=f"block {name}")
        parts.append(found)

    def late(delay: float) -> Any:
        return control.tf(*control.pade(delay, order))

    def total(sources: list[str], factors: list[float], name: str) -> None:
        gains = control.ss([], [], [], [factors])
        block(gains, sources, name)

    for link in links:
        top, bottom, unit = linear.controllers[link].continuous_image
        over = [[float(v) * unit**k for k, v in enumerate(side)][::-1] for side in (top, bottom)]
        block(control.tf(*over), f"error{link}", f"u{link}")
    for i, cls in enumerate(linear.classes):
        crossed = [link for link in links if linear.crosses[i, link]]
        rtt = float(cls.rtt)
        heard = []
        for link in crossed:
            name = f"heard{i}_{link}"
            gain = float(cls.b) * float(linear.slopes[i, link])
            block(gain * late(rtt - linear.forward[i, link]), f"u{link}", name)
            heard.append(name)
        total([*heard, f"before{i}"], [1.0] * (len(heard) + 1), f"drive{i}")
        block(1 / (s - float(cls.a0)), f"drive{i}", f"window{i}")
        block(float(cls.a1) * late(rtt), f"window{i}", f"before{i}")
        delays = [f"delay{link}" for link in crossed]
        total([f"window{i}", *delays], [float(cls.c), *[float(cls.r)] * len(delays)], f"rate{i}")
        for link in crossed:
            name = f"arriving{i}_{link}"
            block(float(linear.weight[i, link]) * late(linear.forward[i, link]), f"rate{i}", name)
            arriving[link].append(name)
    for passing in linear.passings:
        for number, (share, delay) in enumerate(zip(passing.shares, passing.delays, strict=True)):
            name = f"passed{passing.at}_{passing.before}_{number}"
            block(-float(share) * late(float(delay)), f"growth{passing.before}", name)
            arriving[passing.at].append(name)
    for link in links:
        total(arriving[link], [1.0] * len(arriving[link]), f"growth{link}")
        block(1 / s, f"growth{link}", f"delay{link}")
    names = [f"{kind}{link}" for kind in ("error", "delay") for link in links]
    return control.interconnect(
        parts, inputs=names[: len(links)], outputs=names[len(links) :], check_unused=False
    )


def crossed(response: Callable[[float], Array], values: Array, grid: Any) -> Answer:
    """Find every crossover of followed eigenvalues, each in its bracket."""
    loci = values.copy()
    for k in range(1, len(grid)):
        left = list(range(values.shape[1]))
        for place, value in enumerate(loci[k - 1]):
            best = min(left, key=lambda j: abs(np.log(values[k, j] / value)))
            loci[k, place] = values[k, best]
            left.remove(best)
    gains, phases = [], []
    for locus in loci.T:
        for k in range(len(grid) - 1):
            low, high = grid[k], grid[k + 1]
            start, end = complex(locus[k]), complex(locus[k + 1])

            def at(w: float, low=low, high=high, start=start, end=end) -> complex:
                near = start * (end / start) ** ((w - low) / (high - low))
                found = np.linalg.eigvals(response(w))
                return complex(found[np.argmin(np.abs(np.log(found / near)))])

            if (abs(start) > 1) != (abs(end) > 1):
                w = brentq(lambda w: abs(at(w)) - 1, low, high, xtol=1e-13)
                phases.append(180 + np.degrees(np.angle(at(w))))
            if start.real < 0 and start.imag * end.imag < 0:
                w = brentq(lambda w: at(w).imag, low, high, xtol=1e-13)
                gains.append(-20 * np.log10(abs(at(w))))
    return min(gains), min(phase - 360 if phase > 180 else phase for phase in phases)


def by_control(system: control.StateSpace) -> Answer:
    """Find the margins of L = -system."""

    def response(w: float) -> Array:
        return -np.asarray(system(1j * w))

    values = -np.moveaxis(system(1j * GRID), -1, 0)
    return crossed(response, np.linalg.eigvals(values), GRID)


def by_brackets(loop: pf.NetworkLoop) -> Answer:
    """Find the margins of the exact response, on a fine grid."""
    grid = np.geomspace(GRID[0], GRID[-1], 10 * GRID.size)
    return crossed(lambda w: loop(1j * w), np.linalg.eigvals(loop(1j * grid)), grid)


def by_package(loop: pf.NetworkLoop) -> Answer:
    """Find the margins anew, of a network that is linearised."""
    margins = loop.close().margins()
    return margins.gain_margin_db, margins.phase_margin_deg


def from_the_start() -> Answer:
    """Find where the network rests, linearise it, find the margins."""
    margins = pf.NetworkLoop(network()).margins()
    return margins.gain_margin_db, margins.phase_margin_deg


def timed(run: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """Return the median CPU time of a run, and what it returned."""
    spent = []
    answer = run()
    for _ in range(rounds):
        start = time.process_time()
        answer = run()
        spent.append(time.process_time() - start)
    return statistics.median(spent), answer


def main() -> None:
    """Run everyone, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--orders", type=int, nargs="+", default=[3, 4])
    asked = parser.parse_args()
    loop = pf.NetworkLoop(network())
    truth = by_brackets(loop)
    rows = []
    for order in asked.orders:
        building, system = timed(partial(rational, loop, order), 1)
        spent, answer = timed(partial(by_control, system), 1)
        name = f"control.interconnect, Pade {order}, {system.nstates} states"
        rows.append((name, building + spent, answer))
        rows.append(("  of it, once it is put together", spent, answer))
    rows.append(("NetworkLoop(network).margins()", *timed(from_the_start, asked.rounds)))
    rows.append(("  of it, once it is linearised", *timed(lambda: by_package(loop), asked.rounds)))
    kept, whole = [], ""
    print(f"{'':45}{'ms':>10}{'error, dB':>12}{'error, deg':>12}")
    for name, spent, answer in rows:
        off = [abs(mine - right) for mine, right in zip(answer, truth, strict=True)]
        print(f"{name:45}{1e3 * spent:10.4g}{off[0]:12.1e}{off[1]:12.1e}")
        whole = whole if name.startswith(" ") else name
        kept.append(Row(name if name == whole else f"{whole},{name[1:]}", rows[0][1] / spent, off))
    print(
        f"python {platform.python_version()}, numpy {np.__version__}, control {control.__version__}"
    )
    record("networks", kept, better="larger")


if __name__ == "__main__":
    main()
