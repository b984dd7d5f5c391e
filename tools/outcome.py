"""Judge what `pf.tune` recommends for traffic that it was not made with: `make outcome`.

Each family is tuned for with two sets of seeds. What comes out runs again with seeds that neither
saw, beside the default, the textbook's design and a grid of gains. With --kernel the answer and the
default run in Linux, too. Each part is kept in --out, and the next call goes on; --write puts the
table into docs/outcomes.md.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
from outcome_families import FAMILIES, KERNEL, SET_ASIDE
from scipy import special

import pi2_fluid as pf
from pi2_fluid.design.outcomes.comparing import compared
from pi2_fluid.design.outcomes.lattice import read_kind
from pi2_fluid.design.outcomes.measures import MEASURES
from pi2_fluid.design.outcomes.predicting import least_margins
from pi2_fluid.design.outcomes.racing import difference_of
from pi2_fluid.design.outcomes.running import Job, costs, run_job
from pi2_fluid.design.outcomes.wishes import VALUES
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.saving import save_text
from pi2_fluid.values import FloatArray

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "docs" / "outcomes.md"
#: Seeds of the two searches, and the first of those that judge.
STARTS: Final = (1, 1001)
FRESH: Final = 1_000_001
APART: Final = 2**32  # between the seeds of cells
GRID: Final = tuple((a, b) for a in (12, 41, 80) for b in (643, 819, 1000, 1200, 1450, 1800))
PARTS: Final = 256  # of 1 Hz
NAMES: Final = tuple(MEASURES)
#: Words of the package that are judged as well; other queues than DualPI2, and their families.
WORDS: Final = ("home", "pages", "office")
OTHERS: Final = (("pi2", "school"), ("pi2", "reader"), ("pie", "school"), ("pie", "reader"))


def traffic_of(name: str) -> pf.Traffic:
    """Return a family of `outcome_families`, or of the package."""
    if name in FAMILIES:
        return pf.Traffic(FAMILIES[name](), name=name)
    return pf.Traffic(name)


def measured(traffic: pf.Traffic, law: PiFamily, seeds: int) -> FloatArray:
    """Return every measure of a queue in every cell, of shape (cells, measures, seeds)."""
    here = version("pi2-fluid")
    return np.array(
        [
            run_job(
                Job(
                    cell.with_aqm(law).scenario,
                    cell.steady,
                    cell.after,
                    tuple(FRESH + seed + place * APART for seed in range(seeds)),
                    here,
                )
            )
            for place, cell in enumerate(traffic.cells)
        ]
    )


def against(measures: FloatArray, base: FloatArray) -> dict[str, Any]:
    """Return how one queue does against another: score, ratios, points of rate, certain losses."""
    weight = VALUES["balanced"]
    score = difference_of(costs(measures, weight) - costs(base, weight))
    away = score.bound(0.025) - score.mean
    row: dict[str, Any] = {"score": [score.mean, score.mean - away, score.mean + away]}
    told = compared(measures, base)
    for name in ("p99", "p99_after", "mean_after", "l4s_p99", "completion"):
        ends = [float(x[NAMES.index(name), -1]) for x in (told.change, told.low, told.high)]
        if not math.isnan(ends[0]):
            row[name] = ends
    rate = NAMES.index("rate_measured")
    row["rate"] = [100.0 * float(x[rate, -1]) for x in (told.change, told.low, told.high)]
    mean, error = 100.0 * told.change[rate, :-1], 100.0 * told.error[rate, :-1]
    away = -float(special.stdtrit(measures.shape[-1] - 1, 0.05 / len(mean)))
    row["certain"] = [float(x) for x in mean + away * error]  # what is surely lost, if below 0
    row["worst"] = float(mean.min())
    return row


def judge(name: str, aqm: str, seeds: int) -> dict[str, Any]:
    """Tune for a family from both starts, and measure with fresh seeds what came out."""
    traffic, kind = traffic_of(name), read_kind(aqm, None, 1000)
    verdict: dict[str, Any] = {"family": name, "aqm": aqm, "cells": len(traffic.cells), "tuned": []}
    laws: dict[str, PiFamily] = {}
    for start in STARTS:
        begun = time.process_time()
        best = pf.tune(traffic=traffic, aqm=aqm, seeds=range(start, start + 24))
        spent = time.process_time() - begun
        laws[f"tuned from {start}"] = best.aqm or best.default  # type: ignore[assignment]
        verdict["tuned"].append(
            {"chosen": best.chosen, "kept": best.kept, "runs": best.runs, "cpu": spent,
             "beta": best.beta, "alpha": best.alpha, "stopped": best.stopped}
        )  # fmt: skip
    base = measured(traffic, best.default, seeds)
    if best.textbook is not None:
        laws["textbook"] = best.textbook
        verdict["textbook"] = kind.name_of(best.textbook)
    verdict["against"] = {
        key: against(measured(traffic, law, seeds), base) for key, law in laws.items()
    }
    if aqm == "dualpi2":
        grid = {}
        laws_there = [kind.law(alpha=a / PARTS, beta=b / PARTS) for a, b in GRID]
        margins = least_margins(traffic.cells, laws_there)
        for law, margin in zip(laws_there, margins, strict=True):
            if margin >= 0.0:  # what candidates had to keep
                row = against(measured(traffic, law, seeds), base)
                grid[kind.name_of(law)] = row | {"gain_margin_db": float(margin)}
        verdict["grid"] = grid
    return verdict


def in_kernel(seeds: int) -> dict[str, Any]:
    """Tune for the cells that a kernel can run, and measure there what came out."""
    traffic = pf.Traffic(KERNEL(), name="kernel")
    rows = {}
    for name in ("long", "short"):
        cells = {
            c.name: c.scenario for c in traffic.cells if ("pulses" in c.name) == (name == "short")
        }
        best = pf.tune(traffic=pf.Traffic(cells, name=name))
        table = best.confirm(pf.Linux(seeds=seeds))
        rows[name] = {
            "chosen": best.chosen,
            "compared": str(table.attrs["candidate"]),
            "rms_z": float(table.attrs["rms_z"]),
            "cells": [str(x) for x in table["cell"].to_numpy()],
            "measures": [str(x) for x in table["measure"].to_numpy()],
            **{
                key: table[key].to_numpy().tolist()
                for key in ("change", "low", "high", "error", "packets", "packets_error", "z")
            },
        }
    return rows


def kept(path: Path, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what a file has, or make it and keep it there."""
    if not path.exists():
        begun = time.time()
        save_text(path, json.dumps(make(), indent=1) + "\n")
        print(f"{path.stem}: {time.time() - begun:.0f} s", flush=True)
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def bars(judged: Mapping[str, Any]) -> Iterator[tuple[str, str, str, bool]]:
    """Yield what was asked of a family: what, the bar, what came out, whether it holds."""
    first, second = (judged["against"][f"tuned from {start}"] for start in STARTS)
    spent = max(x["cpu"] for x in judged["tuned"])
    runs = max(x["runs"] for x in judged["tuned"])
    yield "CPU", "<= 35 s", f"{spent:.1f} s", spent <= 35.0
    yield "runs", "<= 2,500", f"{runs:,}", runs <= 2500
    apart = abs(first["score"][0] - second["score"][0])
    yield "two starts", "<= 0.03", f"{apart:.3f}", apart <= 0.03
    lost = -min(0.0, *first["certain"], *second["certain"])
    yield "certain loss in a cell", "<= 1.5 points", f"{lost:.2f}", lost <= 1.5
    if "grid" in judged:
        fit = [row for row in judged["grid"].values() if min(row["certain"]) >= -1.0]
        least = min([0.0, *(row["score"][0] for row in fit)])
        behind = max(first["score"][0], second["score"][0]) - least
        yield "behind the best of the grid", "<= 0.03", f"{behind:.3f}", behind <= 0.03


def signs(families: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, str, bool]]:
    """Yield what was asked of both regimes, and of homes."""
    beta = [beta_of(x["chosen"]) for x in families["pages"]["tuned"]]
    rows = [families["pages"]["against"][f"tuned from {start}"] for start in STARTS]
    rate = min(row["rate"][0] for row in rows)
    yield "pages: beta", "<= 1000/256", f"{max(beta)}/256", max(beta) <= 1000
    yield "pages: mean rate", ">= -0.5 points", f"{rate:+.2f}", rate >= -0.5
    beta = [beta_of(x["chosen"]) for x in families["uplink"]["tuned"]]
    rows = [families["uplink"]["against"][f"tuned from {start}"] for start in STARTS]
    after = max(row["p99_after"][0] for row in rows)
    yield "many long flows: beta", ">= 1450/256", f"{min(beta)}/256", min(beta) >= 1450
    yield "many long flows: p99 after", "<= 0.85", f"{after:.3f}", after <= 0.85
    rows = [families["home"]["against"][f"tuned from {start}"] for start in STARTS]
    for name, bar in (("p99", 0.97), ("p99_after", 0.91)):
        worst = max(row[name][0] for row in rows)
        yield f"home: {name}", f"<= {bar}", f"{worst:.3f}", worst <= bar
    rate, cell = min(row["rate"][0] for row in rows), min(row["worst"] for row in rows)
    yield "home: mean rate", ">= -0.4 points", f"{rate:+.2f}", rate >= -0.4
    yield "home: worst cell", ">= -2 points", f"{cell:+.2f}", cell >= -2.0


def beta_of(candidate: str) -> int:
    """Return beta (1/256 Hz) of a candidate called by its gains."""
    return int(candidate.partition("/")[2].partition(",")[0])


def ratio(values: list[float] | None) -> str:
    """Return a ratio in per cent, with half of its interval."""
    if values is None:
        return "-"
    mean, low, high = (100.0 * (x - 1.0) for x in values)
    return f"{mean:+.1f} ± {(high - low) / 2:.1f}"


def report(families: Mapping[str, Mapping[str, Any]], kernel: Mapping[str, Any] | None) -> str:
    """Return all of it as Markdown."""
    lines = [
        "| family | answer | p99 % | p99 after % | mean after % | rate, points | worst cell |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, one in families.items():
        rows = [
            (x["chosen"] + (", kept" if x["kept"] else ""), f"tuned from {start}")
            for start, x in zip(STARTS, one["tuned"], strict=True)
        ]
        rows = list(dict(reversed(rows)).items())[::-1]  # equal answers of both starts once
        rows += [(f"textbook {one['textbook']}", "textbook")] if "textbook" in one else []
        aside = " (set aside)" if name.partition(" ")[0] in SET_ASIDE else ""
        for answer, key in rows:
            row = one["against"][key]
            rate, low, high = row["rate"]
            changes = [
                *(ratio(row.get(x)) for x in ("p99", "p99_after", "mean_after")),
                f"{rate:+.2f} ± {(high - low) / 2:.2f}",
                f"{row['worst']:+.2f}",
            ]
            cells = ["" for _ in changes] if answer.endswith("kept") else changes
            lines.append(f"| {' | '.join([name + aside, answer, *cells])} |")
    lines += ["", "| asked of each | held | missed |", "|---|---|---|"]
    lines += [
        f"| {what} | {held} of {held + len(missed)} | {', '.join(missed)} |"
        for what, held, missed in tallied(families)
    ]
    lines += ["", "| asked | | measured | |", "|---|---|---|---|"]
    checks: list[tuple[str, str, str, bool]] = []
    if {"pages", "uplink", "home"} <= families.keys():
        checks += signs(families)
    for name, one in (kernel or {}).items():
        z = one["rms_z"]
        what = f"kernel, {name} ({len(one['cells'])} cells): rms z of {one['compared']}"
        checks.append((what, "<= 1.3", f"{z:.2f}", z <= 1.3))
    lines += [f"| {a} | {b} | {c} | {'' if ok else '**missed**'} |" for a, b, c, ok in checks]
    return "\n".join(lines)


def tallied(found: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, int, list[str]]]:
    """Return of each bar how many families are within it, and what the others have."""
    table: dict[str, tuple[int, list[str]]] = {}
    for name, one in found.items():
        for what, bar, value, ok in bars(one):
            held, missed = table.get(f"{what} {bar}", (0, []))
            table[f"{what} {bar}"] = held + ok, missed + ([] if ok else [f"{name} {value}"])
    return [(what, *row) for what, row in table.items()]


def main() -> None:
    """Judge all, print it, and put it into the page if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, default=ROOT / "build" / "outcome", help="where parts are kept"
    )
    parser.add_argument("--seeds", type=int, default=16, help="fresh seeds that judge")
    parser.add_argument("--families", nargs="*", help="these alone")
    parser.add_argument("--kernel", action="store_true", help="run the answers in Linux, too")
    parser.add_argument("--write", action="store_true", help="put the table into docs/outcomes.md")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    asked = [(name, "dualpi2") for name in (*FAMILIES, *WORDS)] + [
        (name, aqm) for aqm, name in OTHERS
    ]
    found = {}
    for name, aqm in asked:
        if not options.families or name in options.families:
            key = name if aqm == "dualpi2" else f"{name} {aqm}"
            path = options.out / f"{key.replace(' ', '_')}.json"
            found[key] = kept(path, lambda name=name, aqm=aqm: judge(name, aqm, options.seeds))  # type: ignore[misc]
    kernel = kept(options.out / "kernel.json", lambda: in_kernel(8)) if options.kernel else None
    text = report(found, kernel)
    print(text)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        begin, end = "<!-- outcome: begin -->", "<!-- outcome: end -->"
        before, _, rest = page.partition(begin)
        save_text(PAGE, f"{before}{begin}\n\n{text}\n\n{end}{rest.partition(end)[2]}")


if __name__ == "__main__":
    main()
