"""Where packets and the ack clock part: margins of loops that run, and which part takes what.

    python tools/measure_segments.py [--only PART] [--seeds 6] [--switched]

Prints for each set-up of docs/ack_clock.md both margins as measured in packets with 16 times the
flows (`measure_loop`; 4 times beside L4S flows, whose step does not grow with the link), as `Loop`
has them, and as `by_segments` has them with one part after the other. Then what is left, kind by
kind. `--switched` measures two set-ups with one thing switched off in packets at a time. All take
some ten minutes of CPU time, or three.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
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
DROPS_AT_TAIL = pf.Pi2()
LINEAR = pf.Pi(ecn=True, drop_at="dequeue")
MODELS = ("rate", "acks", "segments")


class Setup(NamedTuple):
    """What is measured, of which kind, with how many times the flows, and at which gains."""

    kind: str
    scenario: pf.Scenario
    times: int = 16
    gains: float = 1.0


def over(capacity: float, queue: Any, *flows: pf.Flows) -> pf.Scenario:
    """Return flows over one link (bit/s)."""
    return pf.Scenario("120s", pf.Link(capacity, buffer="0.5s"), queue, flows)


def alone(
    window: float, path: float, queue: Any = MARKS, sender: Any = None, **fields: Any
) -> pf.Scenario:
    """Return flows of one class with a mean window of so many segments at the target."""
    capacity = FLOWS * window / (path + float(queue.target)) * 12e3
    given: dict[str, Any] = {"ecn": getattr(queue, "ecn", False)} | fields
    return over(capacity, queue, pf.Flows(sender or pf.Reno(), FLOWS, path, **given))


def class_of(sender: Any, count: int, path: float, *, ecn: bool | None = True) -> pf.Flows:
    """Return a class of several."""
    name = f"{type(sender).__name__} {1e3 * path:g} ms"
    return pf.Flows(sender, count, path, name=name, ecn=ecn)


def one_class() -> Iterator[tuple[str, Setup]]:
    """Yield set-ups of one class of Reno, CReno or Cubic."""
    reno = "Reno, marks"
    for window, path, gains in (
        (58, 0.05, 1.0), (20, 0.05, 1.0), (8, 0.05, 1.0), (5, 0.05, 1.0), (20, 0.02, 1.0),
        (8, 0.02, 1.0), (20, 0.1, 0.5), (8, 0.1, 0.5),
    ):  # fmt: skip
        yield f"{window} segments, {1e3 * path:g} ms", Setup(reno, alone(window, path), 16, gains)
    yield "8 segments, 50 ms, tail", Setup(reno, alone(8, 0.05, TAIL))
    for window, queue in ((20, DROPS), (8, DROPS)):
        yield f"{window} segments, 50 ms, drops", Setup("Reno, drops", alone(window, 0.05, queue))
    for window in (20, 8, 5):
        name = f"{window} segments, 50 ms, drops at the tail"
        yield name, Setup("Reno, drops", alone(window, 0.05, DROPS_AT_TAIL))
    slow = replace(LINEAR, alpha=LINEAR.alpha / 4, beta=LINEAR.beta / 4)
    linear = "PI on p"
    yield "PI, 20 segments, 50 ms", Setup(linear, alone(20, 0.05, slow))
    yield "PI, 8 segments, 50 ms", Setup(linear, alone(8, 0.05, LINEAR), 16, 0.5)
    yield "PI, 8 segments, 50 ms, drops", Setup(linear, alone(8, 0.05, pf.Pi()), 16, 0.5)
    for sender in (pf.CReno(), pf.Cubic()):
        kind = type(sender).__name__
        for window in (20, 8):
            one = alone(window, 0.08, sender=sender)
            yield f"{kind}, {window} segments, 80 ms", Setup(kind, one, 16, 0.5)


def classes() -> Iterator[tuple[str, Setup]]:
    """Yield set-ups of several classes in one queue, and of dual queues."""
    reno, several = pf.Reno(), "several classes"
    paths = over(25e6, MARKS, class_of(reno, 10, 0.02), class_of(reno, 10, 0.09))
    yield "Reno over 20 and 90 ms", Setup(several, paths, 16, 0.5)
    mixed = over(25e6, MARKS, class_of(reno, 10, 0.05), class_of(pf.CReno(), 10, 0.05))
    yield "Reno beside CReno, 50 ms", Setup(several, mixed)
    queue, lone = pf.DualPi2(), "dual queue, Classic alone"
    for ecn, name in ((False, "drops"), (True, "ECN")):
        one = alone(6, 0.05, queue, ecn=ecn)
        yield f"dual, Reno with {name}, 6 segments, 50 ms", Setup(lone, one)
    for name, capacity, ecn, sender, many, other, more, path in (
        ("Reno beside DCTCP", 36e6, True, reno, 10, pf.Dctcp(), 10, 0.05),
        ("Reno with drops beside DCTCP", 36e6, False, reno, 10, pf.Dctcp(), 10, 0.05),
        ("Reno beside Scalable", 50e6, True, reno, 20, pf.Scalable(), 10, 0.05),
        ("CReno beside Prague", 40e6, True, pf.CReno(), 8, pf.Prague(), 8, 0.04),
    ):
        beside = class_of(other, more, path, ecn=None)
        both_of = over(capacity, queue, class_of(sender, many, path, ecn=ecn), beside)
        yield f"dual, {name}, {1e3 * path:g} ms", Setup("dual queue, both", both_of, 4)


SETUPS: dict[str, Setup] = dict(one_class()) | dict(classes())


def both(gain: Any, phase: Any) -> str:
    """Return both margins as text."""
    if not np.isfinite(float(gain)):
        return "-"
    return f"{float(gain):.1f}, {float(phase):.0f}°"


def measured(one: pf.Scenario, seeds: int, times: int = 16, gains: float = 1.0) -> Any:
    """Return the loop of so many times the flows."""
    return pf.measure_loop(one, pf.Packets(seeds=seeds), times=times, gains=gains)


def with_errors(found: Any) -> str:
    """Return measured margins with their standard errors."""
    return (
        f"{float(found.gain_margin_db):.1f} ± {float(found.gain_margin_se):.1f},"
        f" {float(found.phase_margin_deg):.0f} ± {float(found.phase_margin_se):.0f}°"
    )


def margins_of(one: pf.Scenario, clock: str) -> tuple[float, float]:
    """Return both margins by a clock; NaN where a law says nothing of acknowledgements."""
    try:
        margins = pf.Loop(one.network, clock=clock, update="sampled").margins()
    except pf.UnsupportedError:
        return np.nan, np.nan
    return float(margins.gain_margin_db), float(margins.phase_margin_deg)


def counted(one: pf.Scenario) -> list[Any]:
    """Return the loop by segments with one part after the other; [] where nothing is counted."""
    try:
        return [pf.loop.by_segments(one, leave_out=PARTS[k:]) for k in range(len(PARTS) + 1)]
    except pf.UnsupportedError:
        return []


def compare(only: str, seeds: int) -> None:
    """Print measured margins beside those of models, and with one part after the other."""
    heads = ("set-up", "measured", *MODELS[:2], *PARTS, "p' measured, by acks, by segments")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    off: dict[str, list[tuple[tuple[float, float], ...]]] = {}
    for name, setup in SETUPS.items():
        if only not in name:
            continue
        one = setup.scenario
        found = measured(one, seeds, setup.times, setup.gains)
        steps = counted(one)
        ours = [margins_of(one, clock) for clock in MODELS[:2]]
        ours += [(float(step.gain_margin_db), float(step.phase_margin_deg)) for step in steps[1:]]
        rests = (found, *((steps[0], steps[-1]) if steps else ()))
        cells = [name, with_errors(found), *(both(*margins) for margins in ours)]
        cells += ["-"] * (len(heads) - 1 - len(cells))
        print(f"| {' | '.join(cells)} | {', '.join(f'{float(r.p_prime):.3f}' for r in rests)} |")
        truth = (float(found.gain_margin_db), float(found.phase_margin_deg))
        last = ours[-1] if steps else (np.nan, np.nan)
        off.setdefault(setup.kind, []).append((truth, ours[0], ours[1], last))
    summarise(off)


def summarise(off: dict[str, list[tuple[tuple[float, float], ...]]]) -> None:
    """Print the root mean square of what models miss, by kind, in dB and degrees."""
    print(f"\n| kind | set-ups | {' | '.join(MODELS)} |\n|{'---|' * (2 + len(MODELS))}")
    every = [row for rows in off.values() for row in rows]
    for kind, rows in (*off.items(), ("all", every)):
        numbers = np.array(rows)
        errors = numbers[:, 1:] - numbers[:, :1]
        cells = []
        for model in range(len(MODELS)):
            known = errors[np.isfinite(errors[:, model, 0]), model]
            gain, phase = np.sqrt(np.mean(known**2, axis=0)) if len(known) else (np.nan, np.nan)
            beside = f" ({len(known)})" if len(known) < len(rows) else ""
            cells.append(f"{gain:.1f}, {phase:.0f}°{beside}" if len(known) else "-")
        print(f"| {kind} | {len(rows)} | {' | '.join(cells)} |", flush=True)


def switched(seeds: int) -> None:
    """Print what it changes in packets to switch one thing off."""
    print("| set-up | as it is | no delayed acks | paths 42 to 58 ms | PI on p, not p'² |")
    print("|---|---|---|---|---|")
    for window in (8, 5):
        name, path = f"{window} segments, 50 ms", 0.05
        one = SETUPS[name].scenario
        plain = measured(one, seeds)
        paths = [
            replace(one.flows[0], count=FLOWS // 5, base_rtt=path * part, name=f"x{part}")
            for part in (0.84, 0.92, 1.0, 1.08, 1.16)
        ]
        slope = 2.0 * float(plain.p_prime)  # dp/dp' where it rests
        linear = pf.Pi(
            alpha=MARKS.alpha * slope,
            beta=MARKS.beta * slope,
            update_interval=MARKS.update_interval,
            target=MARKS.target,
            ecn=True,
            drop_at="dequeue",
        )
        others = (
            alone(window, path, delayed_ack=False),
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
