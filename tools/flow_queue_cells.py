"""Measure flow queueing in the real kernel: python tools/flow_queue_cells.py [CELL ...].

Each cell runs in guests of the engine Linux, three seeds of 20 s, and what is read off after 5 s is
kept in tests/data/linux_flow_queues.csv, by which packets are judged. Rates and round trips are
odd, so that packet times, round trips and clocks do not fall together.
"""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Any, Final

import numpy as np
import xarray

import pi2_fluid as pf
from pi2_fluid.saving import save_text

FILE: Final = Path(__file__).resolve().parents[1] / "tests" / "data" / "linux_flow_queues.csv"
AFTER: Final = 5.0
SEEDS: Final = 3
#: Of all, and of each class.
OF_ALL: Final = ("utilization", "delay_mean", "drop_fraction", "mark_fraction")
OF_CLASS: Final = (
    *("delay_mean_of", "drop_fraction_of", "mark_fraction_of", "throughput", "window_mean"),
)

Row = tuple[str, str, str]


def _cell(capacity: str, queue: pf.Aqm, *flows: pf.Flows, buffer: int = 10240) -> pf.Scenario:
    link = pf.Link(capacity, f"{buffer} packets", kind="htb", delay_on="return", ack_jitter=0)
    return pf.Scenario("20s", link, queue, list(flows))


def _tcp(sender: pf.Sender, count: int, rtt: str, *, ecn: bool | None = None) -> pf.Flows:
    name = type(sender).__name__.lower()
    return pf.Flows(sender, count, rtt, ecn=ecn, start_jitter="1s", name=name)


def _udp(rate: str, count: int = 2, name: str = "udp") -> pf.Flows:
    return pf.Flows(pf.Cbr(bitrate=rate), count, "10ms", name=name)


def _codel(**fields: Any) -> pf.Aqm:
    return pf.FqCodel(arithmetic="fixed", **fields)


def _pie(**fields: Any) -> pf.Aqm:
    return pf.FqPie(arithmetic="fixed", update_interval="16ms", **fields)


_RENO, _CUBIC, _DCTCP = pf.Reno(), pf.Cubic(), pf.Dctcp()
_LATE: Final = {"target": "50ms", "interval": "500ms"}  # so that the queue is full before
CELLS: Final = {
    "codel_mix": _cell(
        "10.3Mbit/s", _codel(), _tcp(_RENO, 4, "21.7ms"), _tcp(_CUBIC, 2, "43.3ms"),
        _udp("311kbit/s", 1, "thin"),
    ),
    "codel_many": _cell("9.7Mbit/s", _codel(), _tcp(_RENO, 30, "33.1ms")),
    "codel_udp": _cell("10.3Mbit/s", _codel(), _tcp(_RENO, 3, "21.7ms"), _udp("7.3Mbit/s")),
    "codel_full": _cell(
        "10.3Mbit/s", _codel(**_LATE), _tcp(_RENO, 4, "52.3ms"), _udp("5.3Mbit/s"), buffer=120
    ),
    "codel_memory": _cell(
        "10.3Mbit/s", _codel(**_LATE, memory_limit="200kB"), _tcp(_RENO, 4, "52.3ms"),
        _udp("5.3Mbit/s"),
    ),
    "codel_ecn": _cell(
        "10.3Mbit/s", _codel(), _tcp(_CUBIC, 3, "37.7ms", ecn=True), _tcp(_RENO, 2, "17.3ms")
    ),
    "codel_few": _cell("10.3Mbit/s", _codel(flows=1, quantum=300), _tcp(_RENO, 6, "27.7ms")),
    "pie_mix": _cell(
        "10.3Mbit/s", _pie(), _tcp(_RENO, 4, "21.7ms"), _tcp(_CUBIC, 2, "43.3ms"),
        _udp("311kbit/s", 1, "thin"),
    ),
    "pie_many": _cell("9.7Mbit/s", _pie(), _tcp(_RENO, 30, "33.1ms")),
    "pie_udp": _cell("10.3Mbit/s", _pie(), _tcp(_RENO, 3, "21.7ms"), _udp("7.3Mbit/s")),
    "pie_full": _cell(
        "10.3Mbit/s", _pie(target="150ms"), _tcp(_RENO, 4, "52.3ms"), _udp("5.3Mbit/s"), buffer=100
    ),
    "pie_ecn": _cell(
        "10.3Mbit/s", _pie(ecn=True), _tcp(_CUBIC, 3, "37.7ms", ecn=True), _tcp(_RENO, 2, "17.3ms")
    ),
    "pie_slow": _cell("3.1Mbit/s", _pie(target="5ms"), _tcp(_RENO, 3, "41.3ms")),
    "pie_quantum": _cell("10.3Mbit/s", _pie(quantum=300), _tcp(_RENO, 6, "27.7ms")),
    "step_two": _cell("20.3Mbit/s", _codel(ce_threshold="1.1ms"), _tcp(_DCTCP, 3, "11.3ms")),
    "step_cubic": _cell(
        "10.3Mbit/s", _codel(ce_threshold="1.3ms"), _tcp(_DCTCP, 2, "20.9ms"),
        _tcp(_CUBIC, 2, "31.1ms"),
    ),
    "step_ect1": _cell(
        "40.3Mbit/s", _codel(ce_threshold="1.3ms", ce_threshold_selector="ect1"),
        _tcp(_DCTCP, 2, "20.9ms"), _tcp(_CUBIC, 2, "31.1ms", ecn=True),
    ),
    "step_mix": _cell(
        "27.1Mbit/s", _codel(ce_threshold="2.3ms", ce_threshold_selector="ect1"),
        _tcp(_DCTCP, 4, "14.7ms"), _tcp(_CUBIC, 4, "14.7ms", ecn=True), _tcp(_RENO, 2, "31.7ms"),
    ),
    "step_alone": _cell(
        "15.7Mbit/s", _codel(ce_threshold="3.7ms", ecn=False), _tcp(_CUBIC, 3, "23.9ms", ecn=True),
        _tcp(_RENO, 3, "23.9ms"),
    ),
    "step_long": _cell(
        "30.7Mbit/s", _codel(ce_threshold="1.7ms"), _tcp(_DCTCP, 2, "47.3ms"),
        _tcp(_RENO, 2, "47.3ms"),
    ),
}  # fmt: skip


def statistics(runs: xarray.Dataset) -> dict[tuple[str, str], np.ndarray]:
    """Return each statistic, by the class that it is of ("": all) and its name, seed by seed."""
    found = pf.summarize(runs, after=AFTER)
    rows = {("", name): found[name].to_numpy() for name in OF_ALL}
    for group in found.flows.to_numpy():
        rows |= {(str(group), name): found[name].sel(flows=group).to_numpy() for name in OF_CLASS}
    return rows


def read() -> dict[str, dict[tuple[str, str], np.ndarray]]:
    """Return what the file has of each cell."""
    found: dict[str, dict[tuple[str, str], np.ndarray]] = {}
    with FILE.open(encoding="utf-8", newline="") as file:
        for cell, group, name, *values in csv.reader(line for line in file if line[0] != "#"):
            found.setdefault(cell, {})[group, name] = np.array(values, dtype=float)
    return found


def main(names: list[str]) -> None:
    """Measure those cells, all if none is named, and keep what was found."""
    measured = read() if FILE.exists() else {}
    release = ""
    for name in names or CELLS:
        print(f"measuring {name} ...", flush=True)
        runs = pf.simulate(CELLS[name], pf.Linux(seeds=SEEDS))
        release = runs.attrs["kernel"]
        measured[name] = statistics(runs)
        text = io.StringIO()
        text.write(
            f"# Linux {release} in guests, by python tools/flow_queue_cells.py: cell, class"
            ' ("": all), statistic in SI units, and its value in each run.\n'
        )
        writer = csv.writer(text, lineterminator="\n")
        for cell in CELLS:
            for (group, statistic), values in measured.get(cell, {}).items():
                writer.writerow([cell, group, statistic, *(f"{value:.6g}" for value in values)])
        save_text(FILE, text.getvalue())


if __name__ == "__main__":
    main(sys.argv[1:])
