"""Run what a public testbed measured in packets: `make testbed`.

Each row of tests/data/testbed.csv is one scenario with four seeds. What is finished stays in --out
until the compiled engine changes, and the next call goes on. It prints the table of
docs/testbed.md and how far packets are off; --write stores the table and its picture.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure

import pi2_fluid as pf
from pi2_fluid import _core
from pi2_fluid.laws import presets
from pi2_fluid.plot import page_style, save_picture
from pi2_fluid.saving import save_text

ROOT: Final = Path(__file__).resolve().parents[1]
MEASURED: Final = ROOT / "tests" / "data" / "testbed.csv"
PAGE: Final = ROOT / "docs" / "testbed.md"
PICTURE: Final = ROOT / "docs" / "images" / "testbed.png"
BEGIN, END = "<!-- rows: begin -->\n", "<!-- rows: end -->\n"
SEEDS: Final = 4
#: The testbed's 250 s begin when all flows have long been there; slow start over 100 ms takes 30 s.
BEFORE: Final = 50.0
PIE: Final = "qdisc pie 1: root refcnt 2 limit 1000p target 15ms tupdate 16ms alpha 2 beta 20 ecn"
#: Column of the file, what it is called, and its digits.
COLUMNS: Final = {
    "rate_ratio": ("rate ratio", 2),
    "c_mean": ("mean delay ms (PIE, or C)", 1),
    "c_p99": ("99 % ms", 1),
    "l_mean": ("mean delay L ms", 2),
    "l_p99": ("99 % ms", 2),
    "marked": ("marked %", 2),
    "used": ("link used %", 1),
}

Row = Mapping[str, Any]


def rows() -> list[dict[str, Any]]:
    """Return what was measured: words and numbers by column, NaN where there is nothing."""
    lines = [line for line in MEASURED.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    words = ("queue", "first", "second")
    return [
        {key: x if key in words else float(x or math.nan) for key, x in row.items()}
        for row in csv.DictReader(lines)
    ]


def scenario_of(row: Row, duration: float = BEFORE + 250.0) -> pf.Scenario:
    """Return the scenario of a row, of Linux 5.10: PSH is not acknowledged at once."""
    senders: dict[str, pf.Sender] = {
        "prague": pf.Prague(version="draft"),
        "cubic": pf.Cubic(),
        "reno": pf.Reno(),
    }
    dual = row["queue"] == "dualpi2"
    aqm = presets.linux_dualpi2() if dual else pf.qdisc.parse(PIE)[0].aqm
    first = senders[row["first"]]
    flows = [pf.Flows(first, 1, row["first_path"] / 1e3, "first", ecn=True, push_every=0)]
    if row["second_path"]:
        second = senders[row["second"]]
        flows.append(pf.Flows(second, 1, row["second_path"] / 1e3, "second", push_every=0))
    link = pf.Link("40Mbit/s", packet_size="1514B", kind="htb")
    return pf.Scenario(duration, link, aqm, flows)


def delays_of(run: Any, flow: int) -> tuple[float, float]:
    """Return mean and 99 % delay (ms) of a class."""
    own = run.isel(flows=flow)
    mean = float((own.class_sojourn * own.departures).sum() / own.departures.sum())
    counts = own.delay_histogram.sum(("seed", "block")).to_numpy()
    part = np.concatenate([[0.0], counts.cumsum() / counts.sum()])
    edges = np.concatenate([own.delay.to_numpy()[:1], own.delay_end.to_numpy()])
    return 1e3 * mean, 1e3 * float(np.interp(0.99, part, edges))


def simulated(row: Row, duration: float = BEFORE + 250.0, seeds: int = SEEDS) -> dict[str, float]:
    """Return what packets have in the columns of the file."""
    scenario = scenario_of(row, duration)
    after = slice(BEFORE + 1e-9, None)
    run = pf.packet.simulate(scenario, seeds=seeds).sel(time=after, block=after)
    rate = run.throughput.mean(("time", "seed"))
    first = run.isel(flows=0)
    numbers = dict.fromkeys(COLUMNS, math.nan)
    numbers["used"] = 100.0 * float(rate.sum()) / float(scenario.link.capacity)
    numbers["marked"] = 100.0 * float(first.marks.sum() / first.departures.sum())
    if row["second_path"]:
        numbers["rate_ratio"] = float(rate[0] / rate[1])
    if row["queue"] == "pie":
        numbers["c_mean"], numbers["c_p99"] = delays_of(run, 0)
    else:
        numbers["l_mean"], numbers["l_p99"] = delays_of(run, 0)
        if row["second_path"]:
            numbers["c_mean"], numbers["c_p99"] = delays_of(run, 1)
    return numbers


def run_all(out: Path) -> list[dict[str, float]]:
    """Simulate every row, or read it where this engine has done so."""
    engine = hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()
    found, begun = [], time.time()
    for number, row in enumerate(rows(), 1):
        told = f"{engine} {scenario_of(row).to_toml()} {SEEDS}"
        path = out / f"{hashlib.sha256(told.encode()).hexdigest()[:16]}.json"
        if not path.exists():
            save_text(path, json.dumps(simulated(row)) + "\n")
            print(f"{number} of {len(rows())}, {time.time() - begun:.0f} s", flush=True)
        found.append(json.loads(path.read_text(encoding="utf-8")))
    return found


def cell(measured: float, packets: float, digits: int) -> str:
    """Return what was measured and what packets have."""
    return "" if math.isnan(measured) else f"{measured:.{digits}f} / {packets:.{digits}f}"


def table(found: Iterable[Row]) -> Iterator[str]:
    """Yield the lines of the table, measured / packets."""
    yield "| queue, senders | paths ms | " + " | ".join(x for x, _ in COLUMNS.values()) + " |"
    yield "|---" * (len(COLUMNS) + 2) + "|"
    for row, packets in zip(rows(), found, strict=True):
        second = f"{row['second_path']:.0f}" if row["second_path"] else "-"
        ecn = " ECN" if row["queue"] == "pie" else ""
        who = f"{row['queue']}, {row['first']}{ecn} / {row['second']}"
        cells = [cell(row[key], packets[key], digits) for key, (_, digits) in COLUMNS.items()]
        yield f"| {who} | {row['first_path']:.0f} / {second} | " + " | ".join(cells) + " |"


def errors(found: Iterable[Row]) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield, of each pair of queue and senders, the median relative errors (%) by column."""
    both = list(zip(rows(), found, strict=True))
    for queue, second in dict.fromkeys((row["queue"], row["second"]) for row, _ in both):
        own = [pair for pair in both if (pair[0]["queue"], pair[0]["second"]) == (queue, second)]
        medians = {}
        for key in ("rate_ratio", "c_mean", "l_mean", "l_p99", "marked"):
            off = [abs(packets[key] / row[key] - 1.0) for row, packets in own]
            if not all(map(math.isnan, off)):
                medians[key] = 100.0 * float(np.nanmedian(off))
        yield f"{queue}, {own[0][0]['first']} / {second}", medians


def text_of(simulated_rows: list[dict[str, float]]) -> str:
    """Return what the page has between its marks."""
    heads = {
        "rate_ratio": "rate ratio",
        "c_mean": "mean delay (PIE, or C)",
        "l_mean": "mean delay L",
    }
    heads |= {"l_p99": "99 % L", "marked": "marked"}
    lines = ["| median error (%) | " + " | ".join(heads.values()) + " |", "|---" * 6 + "|"]
    for who, medians in errors(simulated_rows):
        cells = (f"{medians[key]:.1f}" if key in medians else "" for key in heads)
        lines.append(f"| {who} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", *table(simulated_rows)]) + "\n"


def draw(found: list[dict[str, float]], path: Path) -> None:
    """Draw packets over what was measured: ratio of rates, delays of PIE or C, and of L."""
    shown = {"rate_ratio": "ratio of rates", "c_mean": "mean delay, PIE or C [ms]"}
    shown |= {"l_mean": "mean delay, L [ms]"}
    with page_style():
        figure = Figure(figsize=(9, 3.2), layout="tight")
        for ax, (key, label) in zip(figure.subplots(1, 3), shown.items(), strict=True):
            for (queue, style), name in zip(
                (("dualpi2", "C0o"), ("pie", "C1s")), ("DualPI2", "PIE"), strict=True
            ):
                pairs = [(row[key], x[key]) for row, x in zip(rows(), found, strict=True)
                         if row["queue"] == queue and not math.isnan(row[key])]  # fmt: skip
                if pairs:
                    ax.plot(*zip(*pairs, strict=True), style, label=name)
            ends = ax.get_xlim()
            ax.plot(ends, ends, "k--", lw=0.8, zorder=0)
            ax.set(xlabel=f"measured: {label}", ylabel="packets")
            ax.legend()
        path.parent.mkdir(parents=True, exist_ok=True)
        save_picture(figure, path)


def stored() -> str:
    """Return what the page has between its marks."""
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]


def main() -> None:
    """Simulate, print, and store where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "testbed")
    parser.add_argument("--write", action="store_true", help="store the table and the picture")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    found = run_all(given.out)
    told = text_of(found)
    print(told)
    if given.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        save_text(PAGE, before + BEGIN + told + END + rest.partition(END)[2])
        draw(found, PICTURE)


if __name__ == "__main__":
    main()
