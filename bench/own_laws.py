"""What a trajectory costs whose sender is written in Python alone, compiled and in Python.

    python bench/own_laws.py [--rounds 7]

An own class that is Reno, so that its results are known: 250 s of ten flows on 10 Mbit/s, 100 ms,
under PI2, sampled; and 60 s of the two links of bench/routes.py, continuous. Whole calls of
`fluid.simulate`, their Dataset included, in CPU time of one process: medians over rounds of the
compiled engine, against one run of the Python engine. The error is the largest difference of the
queue delay, in parts of the target.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import time
from typing import Any, ClassVar

import numpy as np
from record import Row, record
from routes import NETWORK, TARGET

import pi2_fluid as pf


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Own(pf.Sender):
    """Reno, as a user writes it."""

    signal: ClassVar = "classic"
    decrease: float = 0.5

    def rate(self, w: Any, w_delayed: Any, p_delayed: Any, rtt: Any, rtt_delayed: Any) -> Any:
        """Return the equation of Reno."""
        return 1.0 / rtt - self.decrease * w * w_delayed / rtt_delayed * p_delayed


def own(flows: pf.Flows) -> pf.Flows:
    """Return a class with the own sender."""
    return dataclasses.replace(flows, sender=Own())


ONE_LINK = pf.Scenario("250s", pf.Link("10Mbit/s"), pf.Pi2(), own(pf.Flows(pf.Reno(), 10, "100ms")))
ROUTES = pf.Scenario("60s", network=dataclasses.replace(NETWORK, flows=[*map(own, NETWORK.flows)]))
CASES: dict[str, tuple[pf.Scenario, dict[str, Any]]] = {
    "own sender, PI2, 250 s": (ONE_LINK, {}),
    "own sender, two links, 60 s": (ROUTES, {"update": "continuous"}),
}


def timed(scenario: pf.Scenario, engine: str, how: dict[str, Any]) -> tuple[float, Any]:
    """Return what a call costs (s), and the queue delays."""
    start = time.process_time()
    run = pf.simulate(scenario, pf.Fluid(**how, engine=engine, sample="32ms"))
    return time.process_time() - start, run.queue_delay.to_numpy()


def main() -> None:
    """Compare both engines."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    rows = []
    for name, (scenario, how) in CASES.items():
        costs = [timed(scenario, "c", how) for _ in range(rounds)]
        compiled = statistics.median(cost for cost, _ in costs)
        python, true = timed(scenario, "python", how)
        error = float(np.abs(costs[0][1] - true).max() / TARGET)
        rows.append(Row(name, python / compiled, (error,)))
        print(
            f"{name:30} {1e3 * compiled:8.1f} ms compiled, {python:6.1f} s in Python:"
            f" {python / compiled:5.0f} times, error {error:.0e}"
        )
    record("own laws", rows, better="larger")


if __name__ == "__main__":
    main()
