"""Where packets and the ack clock part: margins of loops that run, and which part takes what.

    python tools/measure_segments.py [--only PART] [--seeds 6] [--switched]

Prints for each set-up of docs/ack_clock.md both margins as measured in packets with 16 times the
flows (`measure_loop`), as `Loop` has them, and as `by_segments` has them with one part after the
other. `--switched` measures two set-ups with one thing switched off in packets at a time. Each
takes about three minutes of CPU time.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import pi2_fluid as pf
from pi2_fluid.errors import AssumptionWarning
from pi2_fluid.loop.acks.segments import PARTS

FLOWS = 20
TARGET = 0.02
MARKS = pf.Pi2(ecn=True, drop_at="dequeue")
TAIL = pf.Pi2(ecn=True)
DROPS = pf.Pi2(drop_at="dequeue")


class Setup(NamedTuple):
    """Segments of a flow, the path (s), the queue, and the gains at which it is measured."""

    window: float
    path: float
    queue: pf.Pi2 = MARKS
    gains: float = 1.0


SETUPS: dict[str, Setup] = {
    "58 segments, 50 ms": Setup(58, 0.05),
    "20 segments, 50 ms": Setup(20, 0.05),
    "8 segments, 50 ms": Setup(8, 0.05),
    "5 segments, 50 ms": Setup(5, 0.05),
    "20 segments, 20 ms": Setup(20, 0.02),
    "8 segments, 20 ms": Setup(8, 0.02),
    "20 segments, 100 ms": Setup(20, 0.1, gains=0.5),
    "8 segments, 100 ms": Setup(8, 0.1, gains=0.5),
    "8 segments, 50 ms, tail": Setup(8, 0.05, TAIL),
    "20 segments, 50 ms, drops": Setup(20, 0.05, DROPS),
    "8 segments, 50 ms, drops": Setup(8, 0.05, DROPS),
}


def scenario(setup: Setup, **fields: Any) -> pf.Scenario:
    """Return Reno flows with a mean window of so many segments at the target."""
    capacity = FLOWS * setup.window / (setup.path + TARGET) * 12e3
    flows = pf.Flows(pf.Reno(), FLOWS, setup.path, ecn=setup.queue.ecn, **fields)
    return pf.Scenario("120s", pf.Link(capacity, buffer="0.5s"), setup.queue, flows)


def both(gain: Any, phase: Any) -> str:
    """Return both margins as text."""
    return f"{float(gain):.1f}, {float(phase):.0f}°"


def measured(one: pf.Scenario, seeds: int, gains: float = 1.0) -> Any:
    """Return the loop of 16 times the flows."""
    return pf.measure_loop(one, pf.Packets(seeds=seeds), times=16, gains=gains)


def with_errors(found: Any) -> str:
    """Return measured margins with their standard errors."""
    return (
        f"{float(found.gain_margin_db):.1f} ± {float(found.gain_margin_se):.1f},"
        f" {float(found.phase_margin_deg):.0f} ± {float(found.phase_margin_se):.0f}°"
    )


def compare(only: str, seeds: int) -> None:
    """Print measured margins beside those of both models, and with one part after the other."""
    print(
        "| set-up | measured | by rates | by acks |",
        " | ".join(PARTS),
        "| p' measured, by acks, by segments |",
    )
    print("|" + "---|" * (5 + len(PARTS)))
    off: dict[str, list[tuple[float, float]]] = {"rate": [], "acks": [], "segments": []}
    for name, setup in SETUPS.items():
        if only not in name:
            continue
        one = scenario(setup)
        found = measured(one, seeds, setup.gains)
        cells = [with_errors(found)]
        truth = np.array([float(found.gain_margin_db), float(found.phase_margin_deg)])
        for clock in ("rate", "acks"):
            margins = pf.Loop(one.network, clock=clock, update="sampled").margins()
            ours = np.array([float(margins.gain_margin_db), float(margins.phase_margin_deg)])
            cells.append(both(*ours))
            off[clock].append(tuple(ours - truth))
        steps = [pf.loop.by_segments(one, leave_out=PARTS[k:]) for k in range(len(PARTS) + 1)]
        cells += [both(step.gain_margin_db, step.phase_margin_deg) for step in steps[1:]]
        last = np.array([float(steps[-1].gain_margin_db), float(steps[-1].phase_margin_deg)])
        off["segments"].append(tuple(last - truth))
        rests = (found.p_prime, steps[0].p_prime, steps[-1].p_prime)
        cells.append(", ".join(f"{float(rest):.3f}" for rest in rests))
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    for model, errors in off.items():
        gain, phase = np.array(errors).T
        print(
            f"{model}: gain {gain.mean():+.1f} dB, rms {np.sqrt(np.mean(gain**2)):.1f};"
            f" phase {phase.mean():+.0f}, rms {np.sqrt(np.mean(phase**2)):.0f} degrees"
        )


def switched(seeds: int) -> None:
    """Print what it changes in packets to switch one thing off."""
    print("| set-up | as it is | no delayed acks | paths 42 to 58 ms | PI on p, not p'² |")
    print("|---|---|---|---|---|")
    for name in ("8 segments, 50 ms", "5 segments, 50 ms"):
        setup = SETUPS[name]
        one = scenario(setup)
        plain = measured(one, seeds)
        paths = [
            replace(one.flows[0], count=FLOWS // 5, base_rtt=setup.path * part, name=f"x{part}")
            for part in (0.84, 0.92, 1.0, 1.08, 1.16)
        ]
        slope = 2.0 * float(plain.p_prime)  # dp/dp' where it rests
        linear = pf.Pi(
            alpha=setup.queue.alpha * slope,
            beta=setup.queue.beta * slope,
            update_interval=setup.queue.update_interval,
            target=setup.queue.target,
            ecn=True,
            drop_at="dequeue",
        )
        others = (
            scenario(setup, delayed_ack=False),
            replace(one, flows=tuple(paths)),
            replace(one, aqm=linear),
        )
        cells = [with_errors(plain), *(with_errors(measured(other, seeds)) for other in others)]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="a part of the names of those to measure")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--switched", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", AssumptionWarning)
    if asked.switched:
        switched(asked.seeds)
    else:
        compare(asked.only, asked.seeds)


if __name__ == "__main__":
    main()
