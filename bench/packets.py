"""What a packet costs, here and in ns-3, and how the cost grows with the number of flows.

    python bench/packets.py [--rounds 5]

20 Reno flows on 10 Mbit/s, 100 ms, under PI2 and PIE; in ns-3, which has no PI2, under PIE. No
trace of packets, every feature compiled in. Times are CPU time of one pinned process per packet
that enters service, medians over rounds in which the contestants take turns. The number of flows
then goes from 10 to 100,000 at 0.5 Mbit/s each, after the first 5 s, with the memory that the
process needed. Last 26 flows cross a parking lot of three links under PIE, here and in ns-3, the 20
flows several links in a row, and 100,000 flows 5 of 1,000 links each, at random.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from record import Row, record, yardstick

import pi2_fluid as pf
from pi2_fluid import _core
from pi2_fluid.engines.packet.compiled import pack

FLOWS, SECONDS, PEER_SECONDS = 20, 1000.0, 300.0
PER_FLOW = 0.5e6  # bit/s
SETTLED = 5.0  # s: slow start is over
COUNTS = (10, 100, 1_000, 10_000, 100_000)
BIN = 100_000_000  # ns
CHUNK = 100_000  # events
MILLION = 1_000_000  # packets, whose cost is compared with the yardstick
CHAINS = (1, 2, 4, 16)
LINKS, CROSSED, ALL_FLOWS, CLASSES, SHORT = 1_000, 5, 100_000, 1_000, 3.0


def scene(aqm: pf.Aqm, flows: int, seconds: float) -> pf.Scenario:
    """Return the scenario, with so much capacity for each flow."""
    link = pf.Link(PER_FLOW * flows, buffer=1_000_000)
    return pf.Scenario(seconds, link, aqm, pf.Flows(pf.Reno(), flows, "100ms", start_jitter="1s"))


def here(aqm: pf.Aqm, flows: int, seconds: float, after: float = 0.0) -> tuple[float, int]:
    """Return CPU seconds and packets of a run, those of its first `after` seconds left out."""
    run = _core.PacketRun(*pack(scene(aqm, flows, seconds), 1, BIN))
    while run.time < after * 1e9:
        run.advance(CHUNK)
    before = run.outcome()["packets"] if after else 0
    begun = time.process_time()
    while run.advance(CHUNK) == "more":
        pass
    return time.process_time() - begun, run.outcome()["packets"] - before


def in_ns3(described: Callable[[float], pf.Scenario]) -> tuple[float, int] | None:
    """Return CPU seconds and packets of ns-3 beyond a first second, None if it is not installed.

    Starting and compiling are part of the first second. What is counted is counted in the others,
    at every link.
    """
    if pf.Ns3().obstacle(described(1.0)):
        return None

    def spent(seconds: float) -> tuple[float, int]:
        before = os.times()
        runs = pf.simulate(described(seconds), pf.Ns3(seeds=[1], bin=seconds))
        after = os.times()
        cpu = after.children_user + after.children_system
        cpu -= before.children_user + before.children_system
        return cpu, int(runs["departures"].sum())

    (start, few), (cpu, many) = spent(1.0), spent(PEER_SECONDS)
    return cpu - start, many - few


def compare(rounds: int) -> None:
    """Print the cost of a packet, here and there."""
    pie = pf.Pie(target="20ms", update_interval="32ms")
    fixed = []
    costs: dict[str, list[float]] = {"PI2": [], "PIE": [], "ns-3": []}
    for _ in range(rounds):
        fixed.append(yardstick())
        for name, aqm in (
            ("PI2", pf.Pi2()),
            ("PIE", pie),
        ):
            cpu, packets = here(aqm, FLOWS, SECONDS)
            costs[name].append(cpu / packets)
        peer = in_ns3(lambda seconds: scene(pie, FLOWS, seconds))
        if peer:
            costs["ns-3"].append(peer[0] / peer[1])
    print(f"{FLOWS} Reno flows, 10 Mbit/s, 100 ms: ns of CPU per packet (times faster than ns-3)")
    base = statistics.median(costs["ns-3"]) if costs["ns-3"] else None
    for name, found in costs.items():
        if not found:
            print(f'  {name:6} not installed: pip install "pi2-fluid[ns3]"')
            continue
        cost = statistics.median(found)
        ratio = f"{base / cost:8.0f}" if base else ""
        print(f"  {name:6} {1e9 * cost:10.1f} {ratio}   (from {1e9 * min(found):.1f})")
    unit = statistics.median(fixed) / MILLION
    ours = {name: statistics.median(found) for name, found in costs.items() if name != "ns-3"}
    rows = [Row(name, cost / unit) for name, cost in ours.items()]
    record("packets", rows, better="smaller")
    if base:
        rows = [Row(name, base / cost) for name, cost in ours.items()]
        record("packets and ns-3", rows, better="larger")


def grow() -> None:
    """Print how the cost of a packet grows with the number of flows, a process for each."""
    fixed, costs, memories = [yardstick()], {}, {}
    print(f"flows at {PER_FLOW / 1e6:g} Mbit/s each, PI2, 100 ms: ns per packet, memory")
    for count in COUNTS:
        seconds = min(600.0, max(2 * SETTLED, 50_000.0 / count))
        code = (
            "import resource, sys; sys.path.insert(0, sys.argv[1]); import packets;"
            " import pi2_fluid as pf;"
            f" cpu, n = packets.here(pf.Pi2(), {count}, {seconds}, packets.SETTLED);"
            " print(cpu / n, n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)"
        )
        command = [sys.executable, "-c", code, str(Path(__file__).parent)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        cost, packets, memory = map(float, done.stdout.split())
        print(
            f"  {count:7,} {1e9 * cost:10.1f}   {packets:12,.0f} packets {memory / 2**20:8.0f} MiB"
        )
        fixed.append(yardstick())
        costs[f"{count:,} flows"] = cost
        memories[f"{count:,} flows, memory of 10"] = memory
    unit, least = statistics.median(fixed) / MILLION, min(memories.values())
    rows = [Row(name, cost / unit) for name, cost in costs.items()]
    rows += [Row(name, memory / least) for name, memory in memories.items()]
    record("packets by flows", rows, better="smaller")


def chain(links: int) -> pf.Scenario:
    """Return 20 flows over links in a row, the first of which is the slowest."""
    names = [f"link {place}" for place in range(links)]
    rates = ["10Mbit/s", *["15Mbit/s"] * (links - 1)]
    nodes = [
        pf.Node(name, pf.Link(rate, "40000 packets"), pf.Pi2())
        for name, rate in zip(names, rates, strict=True)
    ]
    flows = pf.Flows(pf.Reno(), FLOWS, "100ms", route=names, start_jitter="1s")
    return pf.Scenario(SECONDS, network=pf.Network(nodes, flows))


def parking_lot(seconds: float) -> pf.Scenario:
    """Return the parking lot of three links under PIE, which ns-3 has, too."""
    network = pf.named_scenario("parking_lot").network
    pie = pf.Pie(target="20ms", update_interval="32ms", variant="rfc8033")
    nodes = [
        pf.Node(node.name, pf.Link(node.link.capacity, buffer=1_000), pie) for node in network.nodes
    ]
    flows = [dataclasses.replace(flow, start_jitter="1s") for flow in network.flows]
    return pf.Scenario(seconds, network=pf.Network(nodes, flows))


def lot(rounds: int) -> None:
    """Print what a packet costs at a link of the parking lot, here and in ns-3."""
    fixed = []
    costs: dict[str, list[float]] = {"here": [], "ns-3": []}
    for _ in range(rounds):
        fixed.append(yardstick())
        cpu, _, crossed = crossing(parking_lot(SECONDS))
        costs["here"].append(1e9 * cpu / crossed)
        peer = in_ns3(parking_lot)
        if peer:
            costs["ns-3"].append(1e9 * peer[0] / peer[1])
    told = ", ".join(
        f"{name} {statistics.median(found):,.1f}" for name, found in costs.items() if found
    )
    print(f"a parking lot of three links, PIE: ns of CPU per packet and link: {told}")
    cost = 1e-9 * statistics.median(costs["here"])
    rows = [Row("a packet at a link", MILLION * cost / statistics.median(fixed))]
    record("packets parking lot", rows, better="smaller")
    if costs["ns-3"]:
        rows = [Row("a packet at a link", 1e-9 * statistics.median(costs["ns-3"]) / cost)]
        record("packets parking lot and ns-3", rows, better="larger")


def mesh() -> pf.Scenario:
    """Return flows that cross some of many links each, at random."""
    rng, count = np.random.default_rng(1), ALL_FLOWS // CLASSES
    routes = [rng.choice(LINKS, CROSSED, replace=False) for _ in range(CLASSES)]
    load = count * np.bincount(np.concatenate(routes), minlength=LINKS)
    nodes = [
        pf.Node(str(place), pf.Link(PER_FLOW * max(1, n), buffer=1_000_000), pf.Pi2())
        for place, n in enumerate(load.tolist())
    ]
    flows = [
        pf.Flows(
            pf.Reno(),
            count,
            float(rng.uniform(0.02, 0.2)),
            route=[str(place) for place in route],
            hops=["1ms"] * CROSSED,
            start_jitter="1s",
        )
        for route in routes
    ]
    return pf.Scenario(SHORT, network=pf.Network(nodes, flows))


def crossing(scenario: pf.Scenario) -> tuple[float, int, int]:
    """Return CPU seconds of a run, packets at the end of their routes, and at all links."""
    run = _core.PacketRun(*pack(scenario, 1, round(1e9 * float(scenario.duration))))
    begun = time.process_time()
    while run.advance(CHUNK) == "more":
        pass
    spent, found = time.process_time() - begun, run.outcome()
    return spent, int(found["segments"].sum()), found["packets"]


def route(rounds: int) -> None:
    """Print what further links cost, in a row and in a large network."""
    print("links in a row, PI2: ns of CPU per packet, and per further link")
    fixed, rows = [], []
    costs: dict[int, list[float]] = {links: [] for links in CHAINS}
    for _ in range(rounds):
        fixed.append(yardstick())
        for links, found in costs.items():
            cpu, packets, _ = crossing(chain(links))
            found.append(1e9 * cpu / packets)
    first = statistics.median(costs[CHAINS[0]])
    for links, found in costs.items():
        cost = statistics.median(found)
        further = f"{(cost - first) / (links - 1):8.1f}" if links > 1 else ""
        print(f"  {links:7,} {cost:10.1f} {further}")
        mean = MILLION * 1e-9 * cost / statistics.median(fixed)
        rows.append(Row(f"{links:,} links in a row", mean))
    cpu, _, crossed = crossing(mesh())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(
        f"{ALL_FLOWS:,} flows in {CLASSES:,} classes over {CROSSED} of {LINKS:,} links each,"
        f" {SHORT:g} s: {1e9 * cpu / crossed:.0f} ns per packet and link,"
        f" {crossed:,} of them in {cpu:.0f} s, {memory:.0f} MiB"
    )
    fixed.append(yardstick())
    mean = MILLION * cpu / crossed / statistics.median(fixed)
    rows.append(Row(f"{LINKS:,} links, a packet at each", mean))
    record("packets links", rows, better="smaller")


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(f"pi2_fluid {pf.__version__}, Python {platform.python_version()}, {platform.machine()}")
    compare(arguments.rounds)
    grow()
    lot(arguments.rounds)
    route(arguments.rounds)


if __name__ == "__main__":
    main()
