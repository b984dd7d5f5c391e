"""What the same package costs from several wheels: other compilers, other Pythons, other ABIs.

    python bench/wheels.py [--rounds 15] PYTHON [PYTHON ...]

Each PYTHON has a wheel installed, as `make wheels` leaves some in build/wheels/tried*. All stay
alive and take turns in every question: margins by the fastest instructions, a trajectory, packets,
a call that computes nearly nothing. Times are CPU time, medians over the rounds, beside the first
one's.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
from typing import Final

#: What each Python runs: it answers the number of a question with its CPU seconds.
WORKER: Final = """
import json, sys, time
import numpy as np
import pi2_fluid as pf
from pi2_fluid import _core

rng = np.random.default_rng(1)
def points(n):
    spread = lambda low, high: np.exp(rng.uniform(np.log(low), np.log(high), n))
    p, rtt, alpha = spread(1e-3, 1), spread(5e-3, 0.2), spread(0.01, 1)
    return [np.full(n, 2**0.5), p / 2**0.5, alpha * rtt**2 / 0.032, 15.5 * alpha * rtt, rtt]
def margins(n, simd=None):
    asked, out = points(n), list(np.zeros((4, n)))
    return lambda: _core.margins(False, *asked, *out, simd)
one = pf.Scenario(duration="20s", link=pf.Link("10Mbit/s", "40000 packets"), aqm=pf.Pi2(),
                  flows=[pf.Flows(pf.Reno(), 10, "100ms")])
def sampled():
    fresh = pf.Loop(pf.Reno(), pf.Pi2(), rtt=np.linspace(0.04, 0.1, 20)[:, None],
                    p_prime=np.logspace(-3, -1, 50), update="sampled")
    return fresh.margins().gain_margin_db
ASKED = {
    "margins of 1,000 loops, times 1,000": (margins(1000), 1000),
    "the same by SSE2 or NEON": (margins(1000, "baseline"), 1000),
    "one loop, times 20,000": (margins(1), 20000),
    "margins of 1,000 sampled loops, times 10": (sampled, 10),
    "a trajectory of 20 s, times 10": (lambda: pf.fluid.simulate(one), 10),
    "packets of 20 s, 5 seeds": (lambda: pf.packet.simulate(one, seeds=5), 1),
}
print(json.dumps({"python": sys.version.split()[0], "file": _core.__file__.rpartition("/")[2],
                  "simd": _core.simd(), "asked": list(ASKED)}), flush=True)
for line in sys.stdin:
    run, times = ASKED[json.loads(line)]
    begin = time.process_time()
    for _ in range(times):
        run()
    print(time.process_time() - begin, flush=True)
"""


def main() -> None:
    """Ask all of them in turns, and print medians beside the first one's."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pythons", nargs="+")
    parser.add_argument("--rounds", type=int, default=15)
    asked = parser.parse_args()
    pipe = subprocess.PIPE
    # -P: what is installed, not the folder that this is called from
    workers = [
        subprocess.Popen([python, "-P", "-c", WORKER], stdin=pipe, stdout=pipe, text=True)
        for python in asked.pythons
    ]
    told = [json.loads(worker.stdout.readline()) for worker in workers if worker.stdout]
    for number, one in enumerate(told):
        print(f"{number}: Python {one['python']}, {one['file']}, {one['simd']}")
    print(f"\n{'CPU time, ms, and over that of 0':<40}", *(f"{i:>18}" for i in range(len(told))))
    for question in told[0]["asked"]:
        times: list[list[float]] = [[] for _ in workers]
        for turn in range(asked.rounds + 1):
            for worker, kept in zip(workers, times, strict=True):
                assert worker.stdin
                assert worker.stdout
                worker.stdin.write(json.dumps(question) + "\n")
                worker.stdin.flush()
                spent = float(worker.stdout.readline())
                if turn:  # the first time is for what is made once
                    kept.append(spent)
        medians = [statistics.median(kept) for kept in times]
        shown = (f"{1e3 * x:>10.2f} {x / medians[0]:>7.3f}" for x in medians)
        print(f"{question:<40}", *shown)
    for worker in workers:
        assert worker.stdin
        worker.stdin.close()
        worker.wait()


if __name__ == "__main__":
    main()
