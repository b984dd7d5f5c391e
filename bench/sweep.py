"""What a sweep costs beside the same work asked by hand, in memory and into a store.

    python bench/sweep.py [--rounds 5] [--designs 20] [--quick]

A million sampled margins of one class, a thousand packet runs (10 points of 100 seeds), a thousand
trajectories, and designs of `tune` (200 of them take minutes, and the share is the same). By hand
is a loop over the points with the calls that the sweep makes, which keeps what each returns and
puts nothing together. CPU time of one pinned process with one worker, contestants taking turns,
medians over rounds; all must have the same numbers. Afterwards the million on all cores, by the
wall.
"""

# ruff: noqa: E402 - the thread counts below must be set before the libraries that read them load
from __future__ import annotations

import argparse
import functools
import os
import platform
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np
from record import Row, record

import pi2_fluid as pf
from pi2_fluid.design.remembering import forget
from pi2_fluid.errors import AssumptionWarning

PARTS = 10  # arrays of a tenth of a second: larger ones cost more of the caches
TOGETHER = 32  # seeds in a call, as in a sweep
SEEDS = 100
SCENARIO = pf.Scenario(
    "100s",
    pf.Link("10Mbit/s", "40000 packets"),
    pf.Pi2(),
    pf.Flows(pf.Reno(), 20, "100ms"),
    name="bench",
)
SHORT = pf.Scenario("10s", SCENARIO.link, SCENARIO.aqm, SCENARIO.flows)


class Work(NamedTuple):
    """What is asked at some points."""

    name: str
    points: int
    base: Any
    over: Mapping[str, Any]
    engine: pf.Engine | None
    by_hand: Callable[[], Any]
    """Returns the numbers of `check`."""
    check: str

    def sweep(self, **given: Any) -> Any:
        """Ask for all of it, and return the numbers of `check`."""
        forget()
        found = pf.sweep(self.base, self.over, self.engine, progress=False, **given)
        return found[self.check].to_numpy().ravel()

    def stored(self, **given: Any) -> Any:
        """Ask for all of it into a store."""
        with tempfile.TemporaryDirectory() as folder:
            return self.sweep(store=Path(folder) / "x.zarr", **given)


def margins(points: int) -> Work:
    """Margins of sampled loops of one class."""
    side = round(points**0.5)
    rtt, p_prime = np.geomspace(0.02, 0.2, side), np.geomspace(0.01, 0.5, side)
    made = functools.partial(pf.Loop, pf.Reno(), pf.Pi2(), update="sampled")

    def by_hand() -> Any:
        found = []
        for some in np.array_split(rtt, PARTS):
            one = made(rtt=np.repeat(some, side), p_prime=np.tile(p_prime, some.size)).margins()
            numbers = one.gain_crossover, one.phase_crossover, one.delay_margin
            found.append((one.gain_margin_db, one.phase_margin_deg, one.verdict_code, *numbers))
        return np.concatenate([each[0] for each in found])

    base = made(rtt=0.1, p_prime=0.1)
    over = {"rtt": rtt, "p_prime": p_prime}
    return Work("sampled margins", side**2, base, over, None, by_hand, "gain_margin_db")


def runs(name: str, scenario: pf.Scenario, points: int, engine: pf.Engine | None) -> Work:
    """Summaries of runs of a scenario, whose target varies."""
    seeds = list(range(1, SEEDS + 1)) if engine else []
    over = {"aqm.target": np.linspace(0.01, 0.03, max(1, points // max(1, len(seeds))))}
    link, flows = scenario.link, scenario.flows

    def by_hand() -> Any:
        found = []
        for target in over["aqm.target"].tolist():
            one = pf.Scenario(scenario.duration, link, pf.Pi2(target=target), flows)
            if not seeds:
                found.append(pf.summarize(pf.simulate(one)))
            for start in range(0, len(seeds), TOGETHER):
                some = pf.Packets(seeds=seeds[start : start + TOGETHER], threads=1)
                found.append(pf.summarize(pf.simulate(one, some)))
        return np.concatenate([np.atleast_1d(each["delay_mean"].to_numpy()) for each in found])

    count = len(over["aqm.target"]) * max(1, len(seeds))
    return Work(name, count, scenario, over, engine, by_hand, "delay_mean")


def designs(points: int) -> Work:
    """Gains for Reno up to a round-trip time."""
    over = {"max_rtt": np.linspace(0.05, 0.2, points)}

    def by_hand() -> Any:
        forget()
        found = [pf.tune(limit) for limit in over["max_rtt"].tolist()]
        return np.array([each.alpha for each in found])

    return Work("designs", points, pf.tune, over, None, by_hand, "alpha")


def all_work(designs_asked: int, parts: int) -> Iterator[Work]:
    """Everything that is measured, or one of so many parts of it."""
    yield margins(1_000_000 // parts)
    yield runs("packet runs", SHORT, 1000 // parts, pf.Packets(seeds=SEEDS))
    yield runs("trajectories", SCENARIO, 1000 // parts, None)
    yield designs(max(2, designs_asked // parts))


@contextmanager
def pinned() -> Iterator[None]:
    """Stay on one core."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    usual = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(usual)})
    yield
    os.sched_setaffinity(0, usual)


def compare(work: Work, rounds: int) -> list[Row]:
    """Print what a sweep costs, in parts of the work by hand."""
    contestants: dict[str, Callable[[], Any]] = {
        "by hand": work.by_hand,
        "sweep": functools.partial(work.sweep, workers=1),
        "sweep into a store": functools.partial(work.stored, workers=1),
    }
    times: dict[str, list[float]] = {name: [] for name in contestants}
    expected = work.by_hand()
    for _ in range(rounds):
        for name, run in contestants.items():
            begun = time.process_time()
            found = run()
            times[name].append(time.process_time() - begun)
            if not np.array_equal(found, expected):
                raise SystemExit(f"{work.name}: {name} has other numbers")
    middle = {name: statistics.median(found) for name, found in times.items()}
    rows = []
    for name, taken in middle.items():
        share = taken / middle["by hand"]
        each = 1e6 * taken / work.points
        print(f"{work.points:8,} {work.name:16} {name:19}{taken:8.2f} s{each:12.3g} us"
              f"{100 * (share - 1):+8.1f} %")  # fmt: skip
        if name != "by hand":
            rows.append(Row(f"{work.name}, {name}", share))
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--designs", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="a tenth of it, once")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", AssumptionWarning)
    print(f"pi2_fluid {pf.__version__}, Python {platform.python_version()}, {platform.machine()}")
    print(f"{'':45}{'CPU time':>10}{'a point':>15}{'more':>10}")
    rows = []
    parts, rounds = (10, 1) if asked.quick else (1, asked.rounds)
    with pinned():
        for work in all_work(2, 100):  # imports, and whatever else happens once
            work.stored()
        for work in all_work(asked.designs, parts):
            rows += compare(work, rounds)
    million = margins(1_000_000 // parts)
    begun = time.perf_counter()
    million.sweep()
    taken = time.perf_counter() - begun
    print(f"{million.points:,} {million.name} on {os.cpu_count()} cores: {taken:.2f} s by the wall")
    if not asked.quick:
        record("sweep", rows, better="smaller")


if __name__ == "__main__":
    main()
