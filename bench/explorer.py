"""What one move of a slider costs, and one map of margins.

    python bench/explorer.py [--rounds 15]

The explorer computes Bode and Nyquist curve, step response, margins and verdict of one sampled
loop, and draws them upon what is drawn already. Settings are taken from all over the sliders: every
combination of three values of T, of the round-trip time, of the load and of alpha. CPU time,
medians over rounds; the slowest setting is named.
"""

from __future__ import annotations

import argparse
import itertools
import platform
import statistics
import time
import warnings
from collections.abc import Callable

from record import Row, record, yardstick

import pi2_fluid as pf
from pi2_fluid.apps.explorer.explorer import explorer_curves
from pi2_fluid.errors import AssumptionWarning
from pi2_fluid.plot import LoopCurves, LoopPicture

INTERVALS = (0.004, 0.016, 0.064)  # s
RTTS = (0.010, 0.100, 0.300)  # s
LOADS = (1e-3, 0.05, 1.0)  # p'
ALPHAS = (0.01, 0.05, 0.25)  # Hz


def milliseconds(function: Callable[[], object], rounds: int) -> float:
    """Return the median CPU time of a call."""
    function()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        function()
        times.append(1e3 * (time.process_time() - start))
    return statistics.median(times)


def shown(interval: float, rtt: float, load: float, alpha: float) -> LoopCurves:
    """Compute everything that one setting of the sliders shows."""
    aqm = pf.Pi2(alpha=alpha, beta=2.5, update_interval=interval)
    found = explorer_curves(aqm, pf.Reno(), rtt, load)
    margins = found.margins
    return LoopCurves(
        found.w, found.response, found.phase_deg, found.t / rtt, found.step,
        (margins.gain_crossover, margins.phase_margin_deg),
        (margins.phase_crossover, margins.gain_margin_db),
    )  # fmt: skip


def main() -> None:
    """Time everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    warnings.simplefilter("ignore", AssumptionWarning)
    print(f"{platform.machine()}, Python {platform.python_version()}, {rounds} rounds\n")
    settings = list(itertools.product(INTERVALS, RTTS, LOADS, ALPHAS))
    fixed = [yardstick() for _ in range(rounds)]
    costs = {one: milliseconds(lambda one=one: shown(*one), rounds) for one in settings}
    worst = max(costs, key=lambda one: costs[one])
    curves = shown(0.016, 0.1, 0.05, 0.05)
    picture = LoopPicture(curves)
    print(f"compute   {statistics.median(costs.values()):6.1f} ms, median of {len(costs)} settings")
    print(
        f"          {costs[worst]:6.1f} ms, the slowest: T = {1e3 * worst[0]:g} ms,"
        f" R = {1e3 * worst[1]:g} ms, p' = {worst[2]:g}, alpha = {worst[3]:g} Hz"
    )
    drawing = milliseconds(lambda: picture.update(curves), rounds)
    print(f"draw      {drawing:6.1f} ms, PNG included")
    linux = pf.presets.linux_dualpi2()
    cost = milliseconds(lambda: pf.margin_map(linux), 3)
    print(f"one map   {cost:6.0f} ms, 121 x 121 points")
    found = {
        "compute": statistics.median(costs.values()),
        "compute, the slowest setting": costs[worst],
        "draw": drawing,
        "one map": cost,
    }
    fixed += [yardstick() for _ in range(rounds)]
    unit = 1e3 * statistics.median(fixed)
    record("explorer", [Row(name, ms / unit) for name, ms in found.items()], better="smaller")


if __name__ == "__main__":
    main()
