"""Compare `delay_sd` with packets at 46 loads and in networks: the tables of docs/packets.md.

    python tools/measure_noise.py [--seeds 4] [--first 1] [--end 64]

Each load has a gain margin above 3 dB by acknowledgements. Packets: the standard deviation of what
the controller's queue waits (of a dual queue, Classic packets) in means over 20 ms, from 8 s to the
end, its variance averaged over the seeds; and for which part of the time the controller's variable
is above 0. Some minutes of CPU time with four seeds of 64 s.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

import pi2_fluid as pf
from pi2_fluid.errors import quietly

START: Final = 8.0  # s
BIN: Final = 0.02
ABOVE: Final = 0.98  # of the time, for which bars hold
BARS: Final = {"one class": 0.25, "mixture": 0.35}

PI2, PI2_ECN, COUPLED, DUAL = pf.Pi2(), pf.Pi2(ecn=True), pf.CoupledPi2(), pf.DualPi2()
LINUX_PIE = pf.Pie()  # which spreads its signals
PIE, PIE_ECN = pf.Pie(derandomize=False), pf.Pie(derandomize=False, ecn=True)
RENO, CUBIC, CRENO = pf.Reno(), pf.Cubic(), pf.CReno()
SCALABLE, PRAGUE, DCTCP = pf.Scalable(), pf.Prague(), pf.Dctcp(law="renewal")
Who = tuple[pf.Sender, int, str]


class Load(NamedTuple):
    """Who sends into which queue; whether Classic senders have ECN."""

    aqm: pf.Aqm
    rate: str
    flows: tuple[Who, ...]
    ecn: bool = False
    gain: float = 1.0  # times the queue's gains


def of(aqm: pf.Aqm, rate: str, *flows: Who, ecn: bool = False, gain: float = 1.0) -> Load:
    """Return a load."""
    return Load(aqm, rate, flows, ecn, gain)


LOADS: Final = (
    of(DUAL, "40Mbit/s", (RENO, 10, "80ms")),
    of(DUAL, "40Mbit/s", (RENO, 10, "40ms")),
    of(DUAL, "40Mbit/s", (RENO, 10, "20ms")),
    of(DUAL, "100Mbit/s", (RENO, 20, "40ms")),
    of(DUAL, "100Mbit/s", (RENO, 60, "100ms")),
    of(DUAL, "10Mbit/s", (RENO, 10, "50ms")),
    of(DUAL, "40Mbit/s", (RENO, 10, "80ms"), gain=0.3),
    of(DUAL, "200Mbit/s", (RENO, 50, "30ms"), gain=0.5),
    of(DUAL, "40Mbit/s", (RENO, 10, "40ms"), ecn=True),
    of(DUAL, "25Mbit/s", (CUBIC, 6, "50ms"), ecn=True),
    of(PI2, "40Mbit/s", (RENO, 10, "60ms")),
    of(PI2, "30Mbit/s", (RENO, 15, "45ms")),
    of(PI2, "100Mbit/s", (RENO, 40, "40ms")),
    of(PI2, "20Mbit/s", (CUBIC, 8, "25ms")),
    of(PI2_ECN, "100Mbit/s", (RENO, 30, "60ms"), ecn=True),
    of(PI2_ECN, "100Mbit/s", (RENO, 60, "80ms"), ecn=True),
    of(PI2_ECN, "60Mbit/s", (CRENO, 15, "40ms"), ecn=True),
    of(PI2_ECN, "20Mbit/s", (RENO, 3, "30ms"), ecn=True),
    of(COUPLED, "60Mbit/s", (SCALABLE, 10, "30ms")),
    of(COUPLED, "60Mbit/s", (DCTCP, 10, "30ms")),
    of(PIE, "40Mbit/s", (RENO, 12, "20ms")),
    of(PIE, "20Mbit/s", (CUBIC, 10, "30ms")),
    of(PIE, "40Mbit/s", (RENO, 20, "60ms")),
    of(PIE_ECN, "40Mbit/s", (RENO, 20, "30ms"), ecn=True),
    of(PI2, "40Mbit/s", (RENO, 5, "20ms"), (RENO, 5, "80ms")),
    of(PI2, "60Mbit/s", (RENO, 20, "50ms"), (RENO, 20, "90ms")),
    of(PI2, "40Mbit/s", (CUBIC, 2, "10ms"), (CUBIC, 2, "35ms"), (CUBIC, 2, "90ms")),
    of(PI2_ECN, "60Mbit/s", (RENO, 10, "30ms"), (CUBIC, 10, "50ms"), ecn=True),
    of(DUAL, "30Mbit/s", (RENO, 4, "60ms"), (CUBIC, 4, "30ms")),
    of(DUAL, "60Mbit/s", (RENO, 30, "70ms"), (RENO, 5, "120ms")),
    of(PIE, "40Mbit/s", (RENO, 5, "20ms"), (CUBIC, 5, "40ms")),
    of(COUPLED, "60Mbit/s", (RENO, 10, "30ms"), (SCALABLE, 5, "30ms")),
    of(COUPLED, "60Mbit/s", (RENO, 20, "70ms"), (SCALABLE, 5, "70ms")),
    of(COUPLED, "60Mbit/s", (RENO, 10, "40ms"), (PRAGUE, 5, "20ms")),
    of(COUPLED, "100Mbit/s", (CUBIC, 10, "30ms"), (DCTCP, 10, "30ms")),
    of(DUAL, "32Mbit/s", (RENO, 10, "20ms"), (SCALABLE, 10, "20ms")),
    of(DUAL, "60Mbit/s", (RENO, 6, "40ms"), (PRAGUE, 14, "40ms")),
    of(DUAL, "50Mbit/s", (CUBIC, 5, "40ms"), (DCTCP, 3, "40ms")),
    of(DUAL, "20Mbit/s", (CUBIC, 2, "25ms"), (PRAGUE, 2, "25ms")),
    of(DUAL, "100Mbit/s", (RENO, 20, "20ms"), (PRAGUE, 5, "40ms"), ecn=True),
    of(LINUX_PIE, "40Mbit/s", (RENO, 12, "20ms")),
    of(LINUX_PIE, "40Mbit/s", (RENO, 20, "60ms")),
    of(LINUX_PIE, "20Mbit/s", (RENO, 20, "50ms")),
    of(LINUX_PIE, "40Mbit/s", (RENO, 20, "80ms")),
    of(LINUX_PIE, "20Mbit/s", (CUBIC, 10, "30ms")),
    of(LINUX_PIE, "60Mbit/s", (RENO, 20, "50ms"), (RENO, 20, "90ms")),
)


def _line(rates: tuple[str, str], *flows: pf.Flows, aqm: pf.Aqm = PI2) -> pf.Network:
    """Return two links in a row."""
    nodes = [pf.Node(n, pf.Link(r, 20_000), aqm) for n, r in zip(("a", "b"), rates, strict=True)]
    return pf.Network(nodes, flows)


def _class(count: int, rtt: str, route: tuple[str, ...], sender: pf.Sender = RENO) -> pf.Flows:
    return pf.Flows(sender, count, rtt, "".join(route), route=route, start_jitter="1s")


NETWORKS: Final = {
    "15 and 12 Mbit/s; Reno: 6 of 80 ms over both, 5 of 40, 8 of 60 ms": _line(
        ("15Mbit/s", "12Mbit/s"), _class(6, "80ms", ("a", "b")), _class(5, "40ms", ("a",)),
        _class(8, "60ms", ("b",)),
    ),
    "60 and 80 Mbit/s; Reno: 20 of 40 ms over both, 10 of 20, 20 of 30 ms": _line(
        ("60Mbit/s", "80Mbit/s"), _class(20, "40ms", ("a", "b")), _class(10, "20ms", ("a",)),
        _class(20, "30ms", ("b",)),
    ),
    "40 and 40 Mbit/s; Cubic: 10 of 30 ms over both, 5 of 30, 5 of 40 ms": _line(
        ("40Mbit/s", "40Mbit/s"), _class(10, "30ms", ("a", "b"), CUBIC),
        _class(5, "30ms", ("a",), CUBIC), _class(5, "40ms", ("b",), CUBIC),
    ),
}  # fmt: skip


class Row(NamedTuple):
    """A load: what the loop says (s), by acknowledgements as a rule, and packets."""

    name: str
    kind: str
    margin: float
    equal: float
    varied: float
    by_rate: float
    packets: float
    error: float
    above: float

    def text(self) -> str:
        """The line of the table."""
        low = [f"{x / self.packets:.2f}" for x in (self.equal, self.varied, self.by_rate)]
        sd = f"{1e3 * self.packets:.2f} ± {1e3 * self.error:.2f}"
        return (
            f"| {self.name} | {self.margin:.1f} | {1e3 * self.equal:.2f} | {sd} |"
            f" {' | '.join(low)} | {100 * self.above:.1f} |"
        )


def name_of(load: Load) -> str:
    """Return a load in words."""
    queue = {"CoupledPi2": "coupled PI2", "Pi2": "PI2", "DualPi2": "DualPI2", "Pie": "PIE"}
    who = ", ".join(
        f"{count} {type(sender).__name__} {rtt.replace('ms', ' ms')}"
        for sender, count, rtt in load.flows
    )
    gain = f", gains × {load.gain:g}" if load.gain != 1.0 else ""
    ecn = ", ECN" if load.ecn else ""
    rate = load.rate.replace("Mbit", " Mbit")
    name = "PIE, signals spread" if load.aqm.signal_spacing else queue[type(load.aqm).__name__]
    return f"{name}, {rate}, {who}{ecn}{gain}"


def queue_of(load: Load) -> pf.Aqm:
    """Return its queue."""
    law: Any = load.aqm
    queue: pf.Aqm = replace(law, alpha=load.gain * law.alpha, beta=load.gain * law.beta)
    return queue


def spread_of(delay: Any) -> tuple[float, float]:
    """Standard deviation over time of seeds together, and its standard error."""
    each = delay.std("time").to_numpy()
    error = float(each.std(ddof=1) / np.sqrt(each.size)) if each.size > 1 else np.nan
    return float(np.sqrt(np.mean(each**2))), error


def measure(seeds: list[int], end: float) -> Iterator[Row]:
    """Yield a row for each load."""
    for load in LOADS:
        aqm: Any = queue_of(load)
        flows = []
        for number, (sender, count, rtt) in enumerate(load.flows):
            who = pf.Flows(sender, count, rtt, str(number), start_jitter="1s")
            marked = load.ecn and sender.signal == "classic"
            flows.append(replace(who, ecn=True) if marked else who)
        model: dict[str, Any] = {"capacity": load.rate, "update": "sampled"}
        with quietly():
            loop = pf.Loop(flows, aqm, clock="acks", **model)
            rates: Any = pf.Loop(flows, aqm, **model).delay_sd(BIN)
            equal: Any = loop.delay_sd(BIN)
            varied: Any = loop.delay_sd(BIN, cuts="varied")
            margin: Any = loop.margins().gain_margin_db
        scenario = pf.Scenario(end, pf.Link(load.rate, buffer=20_000), aqm, flows)
        runs = pf.packet.simulate(scenario, seeds=seeds, bin=BIN, threads=1)
        runs = runs.sel(time=slice(START, None))
        delay = runs.sojourn.isel(band=0) if "band" in runs.sojourn.dims else runs.sojourn
        above = float((runs.controller > 0.0).mean())
        kind = "one class" if len(flows) == 1 else "mixture"
        kind = "spread" if load.aqm.signal_spacing else kind
        sd, error = spread_of(delay)
        yield Row(name_of(load), kind, margin, equal, varied, rates, sd, error, above)


def measure_networks(seeds: list[int], end: float) -> Iterator[Row]:
    """Yield a row for each link of the networks; by rates alone."""
    for name, network in NETWORKS.items():
        loop: Any = pf.Loop(network, update="sampled")
        equal, varied = (loop.delay_sd(BIN, cuts=cuts) for cuts in ("equal", "varied"))
        margin = float(loop.margins().gain_margin_db)
        runs = pf.packet.simulate(
            pf.Scenario(end, network=network), seeds=seeds, bin=BIN, threads=1
        )
        runs = runs.sel(time=slice(START, None))
        for link in network.node_names:
            own = runs.sel(link=link)
            low, high = (float(each.sel(link=link)) for each in (equal, varied))
            above = float((own.controller > 0.0).mean())
            sd, error = spread_of(own.sojourn)
            yield Row(f"{link} of {name}", "network", margin, low, high, low, sd, error, above)


def summary(kind: str, rows: list[Row], bar: float) -> Iterator[str]:
    """How many keep a bar, where the variable is above 0 nearly always."""
    inside = [row for row in rows if row.kind == kind and row.above >= ABOVE]
    left = sum(row.kind == kind for row in rows) - len(inside)
    for name in ("equal", "varied", "by_rate"):
        ratio = np.array([getattr(row, name) / row.packets for row in inside])
        kept = int(np.sum(np.abs(ratio - 1.0) <= bar))
        yield (
            f"{kind}, {name}: {kept} of {len(inside)} within {100 * bar:.0f} %,"
            f" {ratio.min():.2f} to {ratio.max():.2f}, median {np.median(ratio):.2f}"
            f" ({left} left out)"
        )


def main() -> None:
    """Measure, and print the tables and who keeps the bars."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--end", type=float, default=64.0, help="length of each run (s)")
    given = parser.parse_args()
    seeds = list(range(given.first, given.first + given.seeds))
    rows: list[Row] = []
    for found in (measure, measure_networks):
        for row in found(seeds, given.end):
            rows.append(row)
            print(row.text(), flush=True)
    for kind, bar in (*BARS.items(), ("spread", 0.25), ("network", 0.35)):
        for line in summary(kind, rows, bar):
            print(line)


if __name__ == "__main__":
    main()
