"""Which clock do packets keep? Measured responses to an imposed signal against both models.

    python tools/measure_responses.py [--others | --dctcp | --sizes] [--only NAME]
                                      [--flows 600] [--seeds 4]

Prints, for each set-up of docs/ack_clock.md, the root mean square of |measured/model - 1| of the
queue delay over eight frequencies, by the rate clock and by the ack clock without and with
bunching, and the largest error of the phase. Four set-ups, with which the model was found, take a
minute of CPU time at the default size; `--others` are twenty that had no part in that, and take
five; `--dctcp` are four with pauses. The page was made with 1500 flows and six seeds, which is five
times as long.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

import pi2_fluid as pf
from pi2_fluid.errors import AssumptionWarning
from pi2_fluid.laws.aqms.coupled import CoupledFamily
from pi2_fluid.laws.aqms.pi_family import PiFamily

OMEGA = np.array([2.0, 3.3, 5.0, 7.0, 9.5, 12.5, 16.0, 21.0])
CLOCKS = ({"clock": "rate"}, {"clock": "acks"}, {"clock": "acks", "bunch": 1.0})
ONE = pf.Pi2(target="15ms", ecn=True, drop_at="dequeue")
DROPS = pf.Pi2(target="15ms")
MARKS = pf.Pi2(target="15ms", ecn=True)
COUPLED = pf.CoupledPi2(target="15ms", drop_at="dequeue")
DUAL = pf.DualPi2(drop_at="dequeue")
TAIL = pf.DualPi2()
WIDE = pf.DualPi2(drop_at="dequeue", step="100ms")
DCTCP = pf.Dctcp(variant="rfc8257", law="renewal")

Queue = PiFamily | CoupledFamily


class Kind(NamedTuple):
    """Flows of one sender over one path: their part of all."""

    sender: pf.Sender
    path: float
    part: float = 1.0


class Setup(NamedTuple):
    """A queue, the p' around which it signals, and who sends."""

    aqm: Queue
    p_prime: float
    kinds: tuple[Kind, ...]


def reno(window: float) -> float:
    """Return the p' at which a Reno flow has this window."""
    return float(np.sqrt(2.0)) / window


FOUND_WITH: dict[str, Setup] = {
    "Reno, 85 ms": Setup(ONE, reno(65), (Kind(pf.Reno(), 0.085),)),
    "Reno, 85 ms, W = 20": Setup(ONE, reno(20), (Kind(pf.Reno(), 0.085),)),
    "Reno, 40, 85 and 150 ms": Setup(
        ONE, reno(65), tuple(Kind(pf.Reno(), b, 1 / 3) for b in (0.04, 0.085, 0.15))
    ),
    "Reno and Scalable, 85 ms": Setup(
        COUPLED, reno(65), (Kind(pf.Reno(), 0.085, 0.5), Kind(pf.Scalable(), 0.085, 0.5))
    ),
}
OTHERS: dict[str, Setup] = {
    "Reno, 20 ms": Setup(ONE, 0.05, (Kind(pf.Reno(), 0.02),)),
    "Reno, 50 ms": Setup(ONE, 0.1, (Kind(pf.Reno(), 0.05),)),
    "Reno, 120 ms": Setup(ONE, 0.035, (Kind(pf.Reno(), 0.12),)),
    "CReno, 40 ms": Setup(ONE, 0.04, (Kind(pf.CReno(), 0.04),)),
    "Cubic, 100 ms": Setup(ONE, 0.03, (Kind(pf.Cubic(), 0.1),)),
    "Scalable, 30 ms": Setup(COUPLED, 0.02, (Kind(pf.Scalable(), 0.03),)),
    "Scalable, 100 ms": Setup(COUPLED, 0.03, (Kind(pf.Scalable(), 0.1),)),
    "Reno, 60 ms, drops": Setup(DROPS, 0.05, (Kind(pf.Reno(), 0.06),)),
    "Reno, 60 ms, drops, W = 14": Setup(DROPS, 0.1, (Kind(pf.Reno(), 0.06),)),
    "Reno, 20 and 100 ms": Setup(
        ONE, 0.04, (Kind(pf.Reno(), 0.02, 0.5), Kind(pf.Reno(), 0.1, 0.5))
    ),
    "Reno, 30, 60, 90 and 120 ms": Setup(
        ONE, 0.03, tuple(Kind(pf.Reno(), b, 0.25) for b in (0.03, 0.06, 0.09, 0.12))
    ),
    "Reno, 40 and 80 ms, drops": Setup(
        DROPS, 0.05, (Kind(pf.Reno(), 0.04, 0.5), Kind(pf.Reno(), 0.08, 0.5))
    ),
    "Reno and Scalable, 50 ms": Setup(
        COUPLED, 0.03, (Kind(pf.Reno(), 0.05, 0.5), Kind(pf.Scalable(), 0.05, 0.5))
    ),
    "CReno 30, Scalable 60 ms": Setup(
        COUPLED, 0.03, (Kind(pf.CReno(), 0.03, 0.5), Kind(pf.Scalable(), 0.06, 0.5))
    ),
    "Reno 100, Scalable 20 ms": Setup(
        COUPLED, 0.03, (Kind(pf.Reno(), 0.1, 0.5), Kind(pf.Scalable(), 0.02, 0.5))
    ),
    "Reno and Cubic, 60 ms": Setup(
        ONE, 0.03, (Kind(pf.Reno(), 0.06, 0.5), Kind(pf.Cubic(), 0.06, 0.5))
    ),
    "dual: Reno and Scalable, 50 ms": Setup(
        DUAL, 0.02, (Kind(pf.Reno(), 0.05, 0.5), Kind(pf.Scalable(), 0.05, 0.5))
    ),
    "dual: Reno and Scalable, 85 ms, 3 to 1": Setup(
        DUAL, 0.02, (Kind(pf.Reno(), 0.085, 0.75), Kind(pf.Scalable(), 0.085, 0.25))
    ),
    "dual: CReno 30, Scalable 60 ms": Setup(
        DUAL, 0.03, (Kind(pf.CReno(), 0.03, 0.5), Kind(pf.Scalable(), 0.06, 0.5))
    ),
    "dual, tail: 48, 60 and 72 ms each": Setup(
        TAIL,
        0.02,
        tuple(
            Kind(sender, b, 1 / 6)
            for sender in (pf.Reno(), pf.Scalable())
            for b in (0.048, 0.06, 0.072)
        ),
    ),
}
PAUSING: dict[str, Setup] = {
    "DCTCP, 85 ms": Setup(COUPLED, 0.02, (Kind(DCTCP, 0.085),)),
    "DCTCP, 85 ms, W = 19": Setup(COUPLED, 0.05, (Kind(DCTCP, 0.085),)),
    "Reno and DCTCP, 85 ms": Setup(
        COUPLED, 0.02, (Kind(pf.Reno(), 0.085, 0.5), Kind(DCTCP, 0.085, 0.5))
    ),
    "dual: Reno and DCTCP, 85 ms": Setup(
        WIDE, 0.02, (Kind(pf.Reno(), 0.085, 0.5), Kind(DCTCP, 0.085, 0.5))
    ),
}


def scenario(setup: Setup, flows: int) -> pf.Scenario:
    """Return flows that begin near the windows at which they are to be measured."""
    classes = [
        pf.Flows(kind.sender, round(flows * kind.part), kind.path, slow_start=False, ecn=True)
        for kind in setup.kinds
    ]

    def excess(capacity: float) -> float:
        return float(pf.equilibrium(classes, setup.aqm, capacity).controller) - setup.p_prime

    capacity = brentq(excess, 1e6 * flows, 1e9 * flows, rtol=1e-6)
    windows = pf.equilibrium(classes, setup.aqm, capacity).window
    begun = [
        replace(
            each,
            initial_window=round(float(window)),
            ecn=setup.aqm is not DROPS,
            # What starts at once over one path stays a burst where nothing smooths it.
            start_jitter=2.0 if setup.aqm.bands == 2 else 0.0,
        )
        for each, window in zip(classes, windows, strict=True)
    ]
    link = pf.Link(capacity, buffer=round(capacity / 12000.0))
    return pf.Scenario("110s", link, setup.aqm, begun)


def averaged(one: pf.Scenario) -> pf.Scenario:
    """Return a scenario whose DCTCP is that of the papers, which the rate clock is compared as."""
    flows = [
        replace(flow, sender=pf.Dctcp()) if isinstance(flow.sender, pf.Dctcp) else flow
        for flow in one.flows
    ]
    return replace(one, flows=flows)


def measure(one: pf.Scenario, seeds: int) -> str:
    """Return the standard error and the distance to each model as cells of a table."""
    aqm = one.aqm
    found = pf.identify_response(one, OMEGA, pf.Packets(seeds=seeds), amplitude=0.05, warmup="30s")
    measured, error = found.delay, found.delay_se
    if "band" in found.delay.dims:
        measured, error = measured.sel(band="C"), error.sel(band="C")
    s = 1j * OMEGA
    cells = [f"{float((error / abs(measured)).mean()):.2f}"]
    pi = (aqm.alpha / aqm.update_interval + (aqm.beta + aqm.alpha / 2) * s) / s
    for clock in CLOCKS:
        network = averaged(one).network if clock["clock"] == "rate" else one.network
        loop = pf.Loop(network, update="continuous", rtt_terms="exact", **clock)
        model = -loop(s) / pi * float(loop.operating_point.controller)
        ratio = measured.to_numpy() / model
        rms = np.sqrt(np.mean(np.abs(ratio - 1.0) ** 2))
        cells.append(f"{rms:.2f}, {np.abs(np.angle(ratio, deg=True)).max():.0f}°")
    return " | ".join(cells)


def sizes(flows: int, seeds: int) -> None:
    """Print what drops, and delayed acknowledgements, change of the response of marked flows."""
    print("| W | changed | size at each frequency, over that with marks | degrees later |")
    print("|---|---|---|---|")
    for window in (14, 28, 65):
        kinds = (Kind(pf.Reno(), 0.06),)
        marked, dropped = (
            scenario(Setup(aqm, reno(window), kinds), flows) for aqm in (MARKS, DROPS)
        )
        each = replace(marked, flows=[replace(f, delayed_ack=False) for f in marked.flows])
        ways = {"": marked, "drops": dropped, "no delayed acks": each}
        answers = {
            name: pf.identify_response(one, OMEGA, pf.Packets(seeds=seeds)).delay.to_numpy()
            for name, one in ways.items()
        }
        for name in ("drops", "no delayed acks"):
            ratio = answers[name] / answers[""]
            size = " ".join(f"{value:.2f}" for value in abs(ratio))
            later = " ".join(f"{-value:.0f}" for value in np.angle(ratio, deg=True))
            print(f"| {window} | {name} | {size} | {later} |", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--others", action="store_true")
    parser.add_argument("--dctcp", action="store_true")
    parser.add_argument("--sizes", action="store_true", help="of recovery and delayed acks")
    parser.add_argument("--only", default="", help="a part of the names of those to measure")
    parser.add_argument("--flows", type=int, default=600)
    parser.add_argument("--seeds", type=int, default=4)
    options = parser.parse_args()
    warnings.simplefilter("ignore", AssumptionWarning)
    if options.sizes:
        sizes(options.flows, options.seeds)
        return
    print(
        "| set-up | standard error | rate clock | ack clock | the same, bunched |\n"
        "|---|---|---|---|---|"
    )
    chosen = PAUSING if options.dctcp else OTHERS if options.others else FOUND_WITH
    for name, setup in chosen.items():
        if options.only in name:
            print(
                f"| {name} | {measure(scenario(setup, options.flows), options.seeds)} |", flush=True
            )


if __name__ == "__main__":
    main()
