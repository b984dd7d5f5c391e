"""Measure how loops beyond their gain margin cycle: the table of docs/theory_limits.md.

    python tools/measure_cycles.py [--seeds 8]

Prints for each link, number of Reno flows, path and gains what `Loop.cycle` says, what the fluid of
the same equations comes to, and what packets do: all of them under DualPI2 with a target of 15 ms.
It takes about a minute of CPU time.
"""

from __future__ import annotations

import argparse
import dataclasses
from typing import Final, NamedTuple

import numpy as np
from scipy.stats import t as student

import pi2_fluid as pf

_DURATION, _SETTLED = 60.0, 20.0  # s
_WATCHED: Final = 40.0  # s, from when on the fluid is


class Case(NamedTuple):
    """Reno flows, their path (s), and gains in 1/256 Hz."""

    capacity: float
    flows: int
    path: float
    alpha: int
    beta: int

    @property
    def scenario(self) -> pf.Scenario:
        """For a minute, all starting within a second."""
        gains = {"alpha": self.alpha / 256, "beta": self.beta / 256}
        aqm = dataclasses.replace(pf.presets.linux_dualpi2(), **gains)
        flows = pf.Flows(pf.Reno(), self.flows, self.path, start_jitter="1s")
        return pf.Scenario(_DURATION, pf.Link(self.capacity, buffer=200_000), aqm, flows)


CASES: Final = (
    Case(200e6, 60, 0.1, 12, 643),
    Case(200e6, 60, 0.1, 41, 1800),
    Case(200e6, 60, 0.1, 41, 2600),
    Case(200e6, 60, 0.1, 160, 3200),
    Case(200e6, 60, 0.1, 41, 5000),
    Case(200e6, 60, 0.185, 20, 1200),
    Case(200e6, 60, 0.185, 41, 1800),
    Case(200e6, 60, 0.185, 41, 819),
    Case(200e6, 20, 0.1, 41, 2600),
    Case(200e6, 200, 0.1, 41, 1800),
    Case(200e6, 200, 0.1, 41, 2600),
    Case(200e6, 200, 0.1, 160, 3200),
    Case(20e6, 40, 0.185, 12, 643),
    Case(20e6, 40, 0.185, 41, 819),
    Case(20e6, 40, 0.185, 41, 1800),
    Case(20e6, 20, 0.185, 12, 643),
    Case(20e6, 20, 0.185, 41, 819),
    Case(20e6, 20, 0.185, 41, 1800),
    Case(20e6, 4, 0.1, 12, 643),
    Case(20e6, 4, 0.1, 41, 1800),
)


def told(case: Case, clock: str) -> tuple[float, tuple[float, float, float]]:
    """Return the gain margin (dB) of the sampled loop, and its cycle."""
    scenario = case.scenario
    loop = pf.Loop(scenario.network, update="sampled", clock=clock)
    return float(loop.margins().gain_margin_db), loop.cycle()


def fluid(case: Case) -> tuple[float, float, float]:
    """Return period, amplitude, and how far the mean is below the target (s)."""
    run = pf.Fluid(update="sampled", sample="5ms").run(case.scenario)
    run = run.sel(time=slice(_WATCHED, None))
    delay, time = run.queue_delay.sel(band="C").to_numpy(), run.time.to_numpy()
    mean = float(delay.mean())
    rises = time[1:][(delay[1:] > mean) & (delay[:-1] <= mean)]
    return (
        float(np.diff(rises).mean()),
        float(np.ptp(delay)) / 2.0,
        float(case.scenario.aqm.target) - mean,
    )


def packets(case: Case, seeds: int) -> str:
    """Return standard deviation and mean of the delay (ms), and utilisation with its interval."""
    runs = pf.packet.simulate(case.scenario, seeds=seeds, bin=0.02, threads=1)
    found = pf.summarize(runs, after=_SETTLED)
    used = 100.0 * found.utilization.to_numpy()
    half = student.ppf(0.975, seeds - 1) * used.std(ddof=1) / seeds**0.5
    below = 1e3 * max(float(case.scenario.aqm.target) - float(found.delay_mean.mean()), 0.0)
    return f"{1e3 * float(found.delay_sd.mean()):.1f}, {below:.1f} | {used.mean():.2f} ± {half:.2f}"


def swing_text(cycle: tuple[float, float, float]) -> str:
    """Return a cycle as the table has it: "0.94 s, 5.2, 0.6", or that there is none."""
    period, amplitude, below = cycle
    if amplitude < 1e-4:
        return "settles"
    return f"{period:.2f} s, {1e3 * amplitude:.1f}, {1e3 * max(below, 0.0):.1f}"


def row_text(case: Case) -> str:
    """Return what the table has of a case before anything is simulated."""
    (by_rates, cycle), (by_acks, _) = told(case, "rate"), told(case, "acks")
    link = f"{1e-6 * case.capacity:g} Mbit/s, {case.flows}, {1e3 * case.path:g} ms"
    size = 1e3 * case.flows * 12e3 / case.capacity
    margins = f"{by_rates:.1f}, {by_acks:.1f}"
    cells = (link, f"{size:.1f}", f"{case.alpha}/{case.beta}", margins, swing_text(cycle))
    return " | ".join(cells)


def main(seeds: int) -> None:
    """Print the table."""
    print("| link, flows, path | N/C, ms | gains | dB: rates, acks | `cycle()` | fluid", end="")
    print(" | packets: sd, below | rate, % |")
    for case in CASES:
        row = f"{row_text(case)} | {swing_text(fluid(case))} | {packets(case, seeds)}"
        print(f"| {row} |".replace("-", "\N{MINUS SIGN}"), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=8)
    main(parser.parse_args().seeds)
