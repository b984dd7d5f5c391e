"""Measure how far packets follow `loop.delay_sd` and `loop.signal_spread`.

    python tools/measure_spread.py [--seeds 3] [--first 101] [--rows FILE]

Runs, in packets, queues of nine gains with long flows of 19 kinds (half a minute of CPU time with
three seeds), and prints what docs/theory_limits.md, "What chance adds", has of them: the standard
deviation of the backlog in means over 20 ms (`queue_delay`, of a dual queue that of the Classic
band, over what serves it), over the predicted one, from 8 s to 44 s, its variance averaged over
the seeds; and what gains with rho < 0.6 lose of the rate that Linux's gains have. `--rows` keeps
the points, one a line.
"""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binomtest

import pi2_fluid as pf
from pi2_fluid.errors import quietly
from pi2_fluid.loop.linearization import per_class
from pi2_fluid.saving import save_text

START, END = 8.0, 44.0  # s
BIN = 0.02
#: alpha and beta in parts of 256, T and target (s).
GAINS = [
    (41, 819, 0.016, 0.015),  # Linux, to which rates are compared
    (12, 643, 0.016, 0.015),
    (80, 800, 0.032, 0.015),
    (20, 1200, 0.016, 0.015),
    (41, 1450, 0.016, 0.015),
    (80, 1800, 0.016, 0.015),
    (41, 2600, 0.016, 0.015),
    (20, 900, 0.008, 0.010),
    (6, 400, 0.016, 0.020),
]
DCTCP = pf.Dctcp(law="renewal")


class Cell(NamedTuple):
    """Who sends into which queue."""

    rate: str
    flows: list[tuple[pf.Sender, int, str]]
    ecn: bool = False
    queue: str = "dualpi2"


CLASSIC = {
    "1 Cubic, 25 ms, 8 Mbit/s": Cell("8Mbit/s", [(pf.Cubic(), 1, "25ms")]),
    "3 Cubic, 20 ms, 30 Mbit/s": Cell("30Mbit/s", [(pf.Cubic(), 3, "20ms")]),
    "2 Reno, 15 ms, 12 Mbit/s": Cell("12Mbit/s", [(pf.Reno(), 2, "15ms")]),
    "6 Cubic, 10 to 90 ms, 40 Mbit/s": Cell(
        "40Mbit/s", [(pf.Cubic(), 2, "10ms"), (pf.Cubic(), 2, "35ms"), (pf.Cubic(), 2, "90ms")]
    ),
    "15 Reno, 70 ms, 25 Mbit/s": Cell("25Mbit/s", [(pf.Reno(), 15, "70ms")]),
    "25 Reno, 35 ms, 80 Mbit/s": Cell("80Mbit/s", [(pf.Reno(), 25, "35ms")]),
    "20 Cubic, 40 ms, 150 Mbit/s": Cell("150Mbit/s", [(pf.Cubic(), 20, "40ms")]),
    "40 Reno, 90 ms, 150 Mbit/s": Cell("150Mbit/s", [(pf.Reno(), 40, "90ms")]),
    "4 Reno and 4 Cubic, 30 and 60 ms, 30 Mbit/s": Cell(
        "30Mbit/s", [(pf.Reno(), 4, "60ms"), (pf.Cubic(), 4, "30ms")]
    ),
    "10 Cubic, 20 ms, 15 Mbit/s": Cell("15Mbit/s", [(pf.Cubic(), 10, "20ms")]),
    "6 Cubic, ECN, 50 ms, 25 Mbit/s": Cell("25Mbit/s", [(pf.Cubic(), 6, "50ms")], ecn=True),
    "10 Reno, ECN, 30 ms, 60 Mbit/s": Cell("60Mbit/s", [(pf.Reno(), 10, "30ms")], ecn=True),
    "10 Reno, 45 ms, 30 Mbit/s, PI2": Cell("30Mbit/s", [(pf.Reno(), 10, "45ms")], queue="pi2"),
    "8 Cubic, 25 ms, 20 Mbit/s, PI2": Cell("20Mbit/s", [(pf.Cubic(), 8, "25ms")], queue="pi2"),
}
BESIDE_L4S = {
    "2 Cubic and 2 Prague, 25 ms, 20 Mbit/s": Cell(
        "20Mbit/s", [(pf.Cubic(), 2, "25ms"), (pf.Prague(), 2, "25ms")]
    ),
    "10 Reno and 5 Prague, 30 ms, 100 Mbit/s": Cell(
        "100Mbit/s", [(pf.Reno(), 10, "30ms"), (pf.Prague(), 5, "30ms")]
    ),
    "5 Cubic and 3 DCTCP, 40 ms, 50 Mbit/s": Cell(
        "50Mbit/s", [(pf.Cubic(), 5, "40ms"), (DCTCP, 3, "40ms")]
    ),
}
PIE = {
    "10 Cubic, 30 ms, 20 Mbit/s, PIE": Cell("20Mbit/s", [(pf.Cubic(), 10, "30ms")], queue="pie"),
    "12 Reno, 20 ms, 40 Mbit/s, PIE": Cell("40Mbit/s", [(pf.Reno(), 12, "20ms")], queue="pie"),
}
GROUPS = {"Classic flows alone": CLASSIC, "beside L4S": BESIDE_L4S, "PIE": PIE}


class Point(NamedTuple):
    """A cell behind a queue."""

    cell: str
    gains: tuple[float, ...]
    predicted: float
    rho: float
    measured: float
    rate: float


def queue_of(kind: str, gains: tuple[float, ...]) -> pf.Aqm:
    """Return a queue with gains in parts of 256, or of PIE, whose table divides them, in 16ths."""
    alpha, beta, T, target = gains
    same: dict[str, Any] = {"update_interval": T, "target": target}
    if kind == "pie":  # Linux's 2/16 and 20/16 where the others have theirs
        scale = 20 / 16 / (819 / 256)
        return pf.Pie(alpha=alpha / 256 * scale, beta=beta / 256 * scale, derandomize=False, **same)
    law: Callable[..., pf.Aqm] = pf.Pi2 if kind == "pi2" else pf.DualPi2
    return law(alpha=alpha / 256, beta=beta / 256, **same)


def measure(name: str, cell: Cell, seeds: list[int]) -> Iterator[Point]:
    """Yield the points of a cell, Linux's gains first."""
    flows = []
    for number, (sender, count, rtt) in enumerate(cell.flows):
        ecn = {"ecn": True} if cell.ecn else {}
        flows.append(pf.Flows(sender, count, rtt, str(number), start_jitter="1s", **ecn))
    link = pf.Link(cell.rate, buffer=20_000)
    for gains in GAINS:
        aqm = queue_of(cell.queue, gains)
        with quietly():
            loop = pf.Loop(flows, aqm, capacity=cell.rate, update="sampled", clock="acks")
        runs = pf.packet.simulate(
            pf.Scenario(END, link, aqm, flows), seeds=seeds, bin=BIN, threads=1
        ).sel(time=slice(START, None))
        delay, ahead = runs.queue_delay, 0.0
        if aqm.bands == 2:
            delay = delay.sel(band="C")
            shares = per_class(loop.operating_point.share)
            ahead = sum(
                share
                for share, sender in zip(shares, loop.senders, strict=True)
                if sender.signal == "scalable"
            )
        sd = float(np.sqrt(delay.var("time").mean())) / (1.0 - ahead)
        rate = float(runs.throughput.sum("flows").mean()) / float(link.capacity)
        yield Point(name, gains, loop.delay_sd(BIN), loop.signal_spread(), sd, rate)


def shown(points: list[Point]) -> str:
    """How far the points of some cells follow."""
    inside = [p for p in points if p.predicted < 0.6 * p.gains[3]]
    predicted, measured = (
        np.array([getattr(p, n) for p in inside]) for n in ("predicted", "measured")
    )
    ratio = measured / predicted
    good = int(np.sum((ratio >= 0.9) & (ratio <= 1.4)))
    interval = binomtest(good, len(inside)).proportion_ci()
    low, middle, high = np.quantile(ratio, [0.1, 0.5, 0.9])
    alike = np.corrcoef(np.log(predicted), np.log(measured))[0, 1]
    return (
        f"{len(inside)} of {len(points)} below 0.6 of the target: {low:.2f} {middle:.2f} {high:.2f}"
        f" (10, 50, 90 %), {100 * good / len(inside):.0f} % in 0.9 to 1.4"
        f" ({100 * interval.low:.0f} to {100 * interval.high:.0f} %), correlation of logarithms"
        f" {alike:.3f}"
    )


def lost(points: list[Point]) -> str:
    """What rate is lost against Linux's gains at the same target, by rho."""
    texts = []
    for name, test in (("below", lambda rho: rho < 0.6), ("above", lambda rho: rho >= 0.6)):
        changes = []
        for start in range(0, len(points), len(GAINS)):
            default, *others = points[start : start + len(GAINS)]
            changes += [
                100.0 * (p.rate - default.rate)
                for p in others
                if test(p.rho) and p.gains[3] == default.gains[3]
            ]
        worse = sum(change < -0.3 for change in changes)
        most = max([-change for change in changes], default=0.0)
        texts.append(
            f"rho {name} 0.6: {worse} of {len(changes)} lose more than 0.3 points, the worst"
            f" {most:.2f}"
        )
    return "; ".join(texts)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=101, help="the first seed")
    parser.add_argument("--rows", type=Path, help="a file for the points")
    options = parser.parse_args()
    seeds = list(range(options.first, options.first + options.seeds))
    by_group: dict[str, list[Point]] = {}
    for group, cells in GROUPS.items():
        by_group[group] = []
        for name, cell in cells.items():
            points = list(measure(name, cell, seeds))
            by_group[group] += points
            ratios = " ".join(f"{p.measured / p.predicted:5.2f}" for p in points)
            spreads = " ".join(f"{p.rho:5.2f}" for p in points)
            print(f"{name:45} sd {ratios}   rho {spreads}", flush=True)
    for group, points in by_group.items():
        print(f"{group}: {shown(points)}; {lost(points)}")
    if options.rows:
        text = io.StringIO(newline="")
        rows = csv.writer(text)
        rows.writerow(("cell", "gains", "predicted_s", "rho", "measured_s", "rate"))
        for p in (p for points in by_group.values() for p in points):
            numbers = [f"{x:.5g}" for x in (p.predicted, p.rho, p.measured, p.rate)]
            rows.writerow((p.cell, " ".join(map(str, p.gains)), *numbers))
        save_text(options.rows, text.getvalue())


if __name__ == "__main__":
    main()
