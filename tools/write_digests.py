"""Bring tests/data/packet_digests.json up to date: python tools/write_digests.py.

Fifteen small scenarios of packets, as different as can be, and what they count. CONTRIBUTING.md
says when new numbers are legitimate.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

import pi2_fluid as pf
from pi2_fluid.saving import save_text

FILE = Path(__file__).resolve().parents[1] / "tests" / "data" / "packet_digests.json"
SEEDS = 2
#: What is counted: whole numbers, so that no compiler and no platform can round them otherwise.
COUNTERS = (
    "arrivals", "departures", "drops", "marks", "count", "retransmissions", "timeouts",
    "flow_segments", "delay_histogram",
)  # fmt: skip


def _scenario(duration: float, link: Any, aqm: Any, *flows: Any, changes: Any = ()) -> Any:
    return pf.Scenario(duration, link, aqm, flows, changes)


def scenarios() -> dict[str, Any]:
    """Return the scenarios by name: every sender and queue, drops and marks, and what disturbs."""
    reno, mbit = pf.Reno(), pf.Link("10Mbit/s", "40000 packets")
    small = pf.Link("2Mbit/s", buffer=12)
    split = pf.Link(
        "8Mbit/s", "40000 packets", packet_size=1000, kind="htb", delay_on="split", ack_jitter="1ms"
    )
    udp = pf.Flows(pf.Cbr(rate="3Mbit/s"), 2, start=1)
    return {
        "pie of linux 6.18, htb, late and split acknowledgements": _scenario(
            8, split, pf.Pie(variant="linux6.18", arithmetic="fixed"), pf.Flows(reno, 5, "60ms")
        ),
        "pie of linux 4.14, udp, flows that come and go": _scenario(
            8,
            mbit,
            pf.Pie(variant="linux4.14", burst="100ms", rate_estimator=True),
            pf.Flows(reno, 4, "100ms", start=0.6, start_jitter=1),
            pf.Flows(pf.CReno(), 3, "20ms", start=3, stop=6),
            udp,
        ),
        "pi2 of 2016, steps of capacity and counts": _scenario(
            9,
            mbit,
            pf.Pi2(variant="pi2-2016", arithmetic="fixed"),
            pf.Flows(reno, 6, "40ms", name="web", delayed_ack=False),
            changes=[
                pf.Change(3, capacity="3Mbit/s"),
                pf.Change(6, capacity="20Mbit/s", counts={"web": 2}),
            ],
        ),
        "pi, cubic with hystart and without": _scenario(
            9,
            pf.Link("40Mbit/s", "40000 packets"),
            pf.Pi(alpha=0.125, beta=1.25),
            pf.Flows(pf.Cubic(), 2, "80ms"),
            pf.Flows(pf.Cubic(variant="linux3.18"), 2, "30ms", start=2),
        ),
        "coupled queue, cubic and dctcp": _scenario(
            8,
            mbit,
            pf.CoupledPi2(ecn=True),
            pf.Flows(pf.Cubic(), 2, "20ms", ecn=True),
            pf.Flows(pf.Dctcp(), 2, "20ms"),
            pf.Flows(reno, 1, "20ms"),
        ),
        "dual queue, scalable, dctcp and udp": _scenario(
            8,
            pf.Link("20Mbit/s", "40000 packets"),
            pf.DualPi2(arithmetic="fixed"),
            pf.Flows(reno, 2, "15ms"),
            pf.Flows(pf.Dctcp(variant="rfc8257"), 2, "15ms"),
            pf.Flows(pf.Scalable(), 2, "25ms", start=2),
            udp,
        ),
        "dual queue of few packets, prague beside cubic, marked and not": _scenario(
            8,
            pf.Link("20Mbit/s", buffer=40),
            pf.DualPi2(),
            pf.Flows(pf.Cubic(), 1, "10ms"),
            pf.Flows(pf.Prague(), 2, "10ms"),
            pf.Flows(pf.Prague(version="draft"), 1, "40ms", ecn=False, start=2),
        ),
        "price of few packets, paganini by xi, by windows and static": _scenario(
            8,
            pf.Link("20Mbit/s", buffer=60),
            pf.Price(),
            pf.Flows(pf.Paganini(), 3, "40ms", delayed_ack=False, initial_window=1),
            pf.Flows(pf.Paganini(scheme="window", window=100), 2, "80ms", start=2),
            pf.Flows(pf.Paganini(static=True, max_rate="9Mbit/s"), 1, "20ms", start=4, stop=6),
            pf.Flows(pf.Cubic(), 1, "20ms", start=3),
        ),
        "codel": _scenario(
            8, mbit, pf.CoDel(target="5ms", interval="100ms"), pf.Flows(reno, 4, "50ms")
        ),
        "red, adaptive": _scenario(
            8,
            mbit,
            pf.Red(min=10, max=40, max_p=0.1, adaptive=True),
            pf.Flows(reno, 4, "50ms"),
        ),
        "rem in bytes, marked and not": _scenario(
            8,
            pf.Link("10Mbit/s", packet_size=1000, buffer=60),
            pf.Rem(gamma=0.005, weight=0.5, bytes=True, ecn=True),
            pf.Flows(reno, 4, "50ms", ecn=True),
            pf.Flows(reno, 1, "30ms", ecn=False, start=2),
        ),
        "avq": _scenario(8, mbit, pf.Avq(alpha=0.5, buffer=30), pf.Flows(reno, 6, "50ms")),
        "tail drop in a small buffer, timeouts": _scenario(
            10, small, pf.TailDrop(), pf.Flows(reno, 12, "30ms"), pf.Flows(pf.Cubic(), 3, "90ms")
        ),
        "pie of rfc 8033 that marks, one packet at a time": _scenario(
            8,
            pf.Link("1Mbit/s", "40000 packets"),
            pf.Pie(variant="rfc8033", ecn=True),
            pf.Flows(reno, 2, "10ms", initial_window=1, slow_start=False, ecn=True),
            pf.Flows(reno, 8, "10ms", initial_window=1, start=2),
        ),
        "transfers of sources and as they arrive, their last segments lost": _scenario(
            8,
            pf.Link("4Mbit/s", buffer=15),
            pf.Pie(),
            pf.Transfers(reno, 8, "40ms", size=pf.Pareto(1, 3), idle="300ms", start_jitter=1),
            pf.Transfers(pf.Cubic(), 3, "20ms", size=pf.Empirical([1, 2, 40]), arrivals="6/s"),
            pf.Transfers(reno, 1, "20ms", size=pf.Exponential(9), idle=0, start=2, stop=5),
        ),
    }


def digest(scenario: Any) -> dict[str, Any]:
    """Return what two seeds count: some numbers to read, and a hash of all of them."""
    runs = pf.packet.simulate(scenario, seeds=SEEDS, bin="500ms")
    hashed = hashlib.sha256()
    for name in COUNTERS:
        values = runs[name].to_numpy()
        whole = np.ascontiguousarray(values.astype("<i8"))
        if (whole != values).any():
            raise ValueError(f"{name} is not whole: only what is counted has a digest.")
        hashed.update(f"{name}{values.shape}".encode())
        hashed.update(whole.tobytes())
    totals = {name: int(runs[name].sum()) for name in COUNTERS[:7] if name != "count"}
    return {**totals, "sha256": hashed.hexdigest()}


def main() -> None:
    """Write the file, and say what is new in it."""
    old = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    new = {name: digest(scenario) for name, scenario in scenarios().items()}
    save_text(FILE, json.dumps(new, indent=1) + "\n")
    changed = [name for name in new if new[name] != old.get(name)]
    print(f"{FILE.name}: {len(changed)} of {len(new)} changed", *changed, sep="\n  ")


if __name__ == "__main__":
    main()
