"""Do packets swing where the loop says? A dual queue inside and outside of its boundary.

    python tools/cross_boundary.py [--only NAME] [--seeds 4]

Under DualPi2 with Linux's gains, at p' = 0.02, L4S flows take a share of the link below and above
the largest with which the loop is stable by the clock of acknowledgements. The standard deviation
of the Classic delay is printed for links of 250 Mbit/s and for 4 and 16 times as many flows on as
many times the link: what chance does fades with the number of flows, a swing that keeps itself
does not. Two minutes of CPU time.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import pi2_fluid as pf
from pi2_fluid.errors import AssumptionWarning

P_PRIME = 0.02
RATE = 250e6  # bit/s
TIMES = (1, 4, 16)
PATHS = (0.050, 0.085)  # s, from 0.8 to 1.2 times as long, so that nothing echoes
PARTS = 8
DURATION, AFTER = "90s", 30.0
L4S = {
    "Scalable": pf.Scalable(),
    "DCTCP": pf.Dctcp(law="renewal", variant="rfc8257"),
    "Prague": pf.Prague(),
}


def scenario(sender: pf.Sender, path: float, share: float, times: int) -> pf.Scenario:
    """Return flows that rest at about P_PRIME with that share of the link."""
    paths = path * np.linspace(0.8, 1.2, PARTS)
    queue = pf.DualPi2()
    flows = []
    kinds = ((pf.Reno(), 1.0 - share), (sender, share))
    for (law, part), p in zip(kinds, (P_PRIME**2, queue.k * P_PRIME), strict=True):
        for b in paths:
            rtt = b + (queue.target if law.signal == "classic" else 0.0)
            state = law.at_rest(rtt, p)
            window = float(state[0] if isinstance(state, tuple) else state)
            count = part * times * RATE / 12e3 / PARTS / (window / rtt)
            flows.append(
                pf.Flows(
                    law,
                    max(1, round(count)),
                    b,
                    initial_window=round(window),
                    slow_start=False,
                    start_jitter="2s",
                )
            )
    return pf.Scenario(DURATION, pf.Link(times * RATE, buffer=times * 20_000), queue, flows)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="one kind of L4S flows")
    parser.add_argument("--seeds", type=int, default=4)
    options = parser.parse_args()
    warnings.simplefilter("ignore", AssumptionWarning)
    print(
        "| L4S flows | path | boundary by acks, by rates | share of L4S | sd (ms) at x1 | x4 | x16"
        " | p' = 0 at x16 |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    for name, sender in L4S.items():
        if options.only not in name:
            continue
        for path in PATHS:
            limits = {
                clock: float(
                    pf.largest_l4s_share(
                        pf.DualPi2(), base_rtt=path, p_prime=P_PRIME, scalable=sender, clock=clock
                    )
                )
                for clock in ("acks", "rate")
            }
            for share in (limits["acks"] - 0.2, min(limits["acks"] + 0.12, 0.88)):
                cells, emptied = [], 0.0
                for times in TIMES:
                    runs = pf.packet.simulate(
                        scenario(sender, path, share, times), seeds=options.seeds, bin="10ms"
                    )
                    late = runs.sel(time=slice(AFTER, None))
                    delay = late.sojourn.sel(band="C").fillna(0.0)
                    cells.append(f"{1e3 * float(delay.std('time').mean()):.1f}")
                    emptied = float((late.controller <= 0.0).mean())
                print(
                    f"| {name} | {1e3 * path:.0f} ms | {limits['acks']:.2f}, {limits['rate']:.2f}"
                    f" | {share:.2f} | {' | '.join(cells)} | {100 * emptied:.0f} % |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
