"""Which clock do packets keep? Measured responses to an imposed signal against both models.

    python tools/measure_responses.py [--flows 600] [--seeds 4]

Prints, for each set-up of docs/ack_clock.md, the root mean square of |measured/model - 1| of the
queue delay over eight frequencies, by the rate clock and by the ack clock without and with
bunching, and the largest error of the phase. A minute of CPU time at the default size, five at 1500
flows and six seeds, with which the page was made.
"""

from __future__ import annotations

import argparse
import warnings
from typing import NamedTuple

import numpy as np

import pi2_fluid as pf
from pi2_fluid.errors import AssumptionWarning
from pi2_fluid.laws.aqms.pi_family import PiFamily

OMEGA = np.array([2.0, 3.3, 5.0, 7.0, 9.5, 12.5, 16.0, 21.0])
CLOCKS = ({"clock": "rate"}, {"clock": "acks"}, {"clock": "acks", "bunch": 1.0})
ONE = pf.Pi2(target="15ms", ecn=True, drop_at="dequeue")
COUPLED = pf.CoupledPi2(target="15ms", drop_at="dequeue")
WINDOW = 65.0  # segments of a Reno flow


class Kind(NamedTuple):
    """Flows of one sender over one path: their part of all."""

    sender: pf.Sender
    path: float
    part: float = 1.0
    window: float = WINDOW


SETUPS: dict[str, tuple[PiFamily, tuple[Kind, ...]]] = {
    "Reno, 85 ms": (ONE, (Kind(pf.Reno(), 0.085),)),
    "Reno, 85 ms, W = 20": (ONE, (Kind(pf.Reno(), 0.085, window=20.0),)),
    "Reno, 40, 85 and 150 ms": (ONE, tuple(Kind(pf.Reno(), b, 1 / 3) for b in (0.04, 0.085, 0.15))),
    "Reno and Scalable, 85 ms": (
        COUPLED,
        (Kind(pf.Reno(), 0.085, 0.5), Kind(pf.Scalable(), 0.085, 0.5)),
    ),
}


def scenario(aqm: PiFamily, kinds: tuple[Kind, ...], flows: int) -> pf.Scenario:
    """Return flows that begin near the windows at which they are to be measured."""
    classes = [
        pf.Flows(
            kind.sender,
            round(flows * kind.part),
            kind.path,
            initial_window=round(kind.window),
            slow_start=False,
            ecn=True,
        )
        for kind in kinds
    ]
    rates = [
        each.count * k.window / (k.path + 0.015) for each, k in zip(classes, kinds, strict=True)
    ]
    link = pf.Link(12000.0 * sum(rates), buffer=10 * flows * int(WINDOW))
    return pf.Scenario("110s", link, aqm, classes)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--flows", type=int, default=600)
    parser.add_argument("--seeds", type=int, default=4)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", AssumptionWarning)
    print(
        "| set-up | standard error | rate clock | ack clock | the same, bunched |\n"
        "|---|---|---|---|---|"
    )
    for name, (aqm, kinds) in SETUPS.items():
        one = scenario(aqm, kinds, asked.flows)
        found = pf.identify_response(
            one, OMEGA, pf.Packets(seeds=asked.seeds), amplitude=0.05, warmup="30s"
        )
        measured, s = found.delay.to_numpy(), 1j * OMEGA
        error = float((found.delay_se / abs(found.delay)).mean())
        pi = (aqm.alpha / aqm.update_interval + (aqm.beta + aqm.alpha / 2) * s) / s
        cells = []
        for clock in CLOCKS:
            loop = pf.Loop(one.network, update="continuous", rtt_terms="exact", **clock)
            ratio = measured / (-loop(s) / pi * float(loop.operating_point.controller))
            rms = np.sqrt(np.mean(np.abs(ratio - 1.0) ** 2))
            cells.append(f"{rms:.2f}, {np.abs(np.angle(ratio, deg=True)).max():.0f}°")
        print(f"| {name} | {error:.2f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
