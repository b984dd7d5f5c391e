"""Compare what the benches recorded with the stored baseline, and say what has become worse.

    python bench/compare.py            # build/bench beside bench/baseline.json
    python bench/compare.py --store    # keep what is recorded as the new baseline

`make bench` ends with the first, `make baseline` is the second: it replaces the tables that were
recorded and leaves the others. A ratio is worse where it costs 25 % more than the stored one, since
ratios of interleaved runs on a machine that others use, too, move by ten to twenty per cent by
themselves. An error is worse where it is ten times the stored one, a digit: rounding errors depend
on the processor. This warns and never fails, for a machine may be busy.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from record import RECORDED, ROOT, Row

from pi2_fluid.saving import save_text

BASELINE: Final = ROOT / "bench" / "baseline.json"
DEARER: Final = 1.25
DIGIT: Final = 10.0
ROUNDING: Final = 1e-13  # errors below it are nothing but rounding


class UnreadableError(Exception):
    """A file does not hold tables of ratios; the message is the sentence that says so."""


@dataclass(frozen=True)
class Table:
    """Ratios of one bench: which are better, under which conditions they were measured, and all."""

    better: str
    conditions: Mapping[str, str]
    rows: Mapping[str, Row]

    def cost(self, before: Row, now: Row) -> float:
        """Return how many times as much a row costs as before."""
        rise = now.ratio / before.ratio
        return rise if self.better == "smaller" else 1 / rise


def table_from(told: Any) -> Table:
    """Return the table that was kept as plain values."""
    rows = {
        name: Row(name, float(row["ratio"]), tuple(float(error) for error in row["errors"]))
        for name, row in told["rows"].items()
    }
    if told["better"] not in {"larger", "smaller"}:
        raise ValueError(told["better"])
    if not all(row.ratio > 0 for row in rows.values()):
        raise ValueError("ratios are positive")
    return Table(told["better"], dict(told["conditions"]), rows)


def read(path: Path) -> Any:
    """Return what a JSON file holds."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UnreadableError(
            f"{path} is no JSON ({error}): remove it, and measure again."
        ) from None


def tables_in(told: Mapping[str, Any], path: Path) -> dict[str, Table]:
    """Return tables by their names."""
    try:
        return {name: table_from(one) for name, one in told.items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UnreadableError(
            f"{path} holds no tables of ratios as bench/record.py writes them ({error!r}):"
            " remove it, and measure again."
        ) from None


def recorded(folder: Path) -> dict[str, Any]:
    """Return what the benches recorded, by tables."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        told = read(path)
        tables_in({path.stem: told}, path)
        found[str(told.pop("table", path.stem))] = told
    return found


def stored(path: Path) -> dict[str, Any]:
    """Return the baseline; empty where none is stored."""
    if not path.exists():
        return {}
    told = read(path)
    tables_in(told, path)
    return dict(told)


def compared(name: str, before: Table, now: Table) -> Iterator[str]:
    """Print both columns of a table, and yield a sentence for each row that is worse or missing."""
    print(f"\n{name}: {now.better} is better")
    print(f"  {'':54}{'before':>10}{'now':>10}{'cost':>8}  errors before, now")
    for row in now.rows.values():
        old = before.rows.get(row.name)
        if old is None:
            print(f"  {row.name:54}{'new':>10}{row.ratio:10.4g}{'':8}  {errors_of(row)}")
            continue
        cost = now.cost(old, row)
        print(
            f"  {row.name:54}{old.ratio:10.4g}{row.ratio:10.4g}{100 * (cost - 1):+7.0f}%"
            f"  {errors_of(old)}{', ' if row.errors else ''}{errors_of(row)}"
        )
        if cost > DEARER:
            yield (
                f"worse: {name}, {row.name}: {old.ratio:.4g} before, {row.ratio:.4g} now,"
                f" {100 * (cost - 1):.0f} % dearer"
            )
        for was, is_now in zip(old.errors, row.errors, strict=False):
            if math.isnan(is_now) or is_now > DIGIT * max(was, ROUNDING):
                yield f"worse: {name}, {row.name}: an error of {was:.1e} before, {is_now:.1e} now"
    for gone in (row for row in before.rows if row not in now.rows):
        yield f"missing: {name}, {gone}: stored, and not measured now"


def errors_of(row: Row) -> str:
    """Return a row's errors in few words."""
    return " / ".join(f"{error:.0e}" for error in row.errors)


def changed_conditions(before: Table, now: Table) -> list[str]:
    """Say what besides the code is no longer what it was."""
    return [
        f"{name} was {before.conditions.get(name, 'unknown')}, is {value}"
        for name, value in now.conditions.items()
        if name not in {"commit", "date"} and before.conditions.get(name) != value
    ]


def compare(folder: Path, baseline: Path) -> None:
    """Print everything recorded beside what is stored, and at the end what became worse."""
    before = tables_in(stored(baseline), baseline)
    now = tables_in(recorded(folder), folder)
    if not now:
        print(f"Nothing is recorded in {folder}: make bench records, or any file of bench/ alone.")
        return
    if not before:
        print(f"No baseline is stored in {baseline}: make baseline stores what was measured.")
        return
    notes: list[str] = []
    others: dict[str, None] = {}  # in order, once each
    for name, table in now.items():
        if name in before:
            notes += compared(name, before[name], table)
            others.update(dict.fromkeys(changed_conditions(before[name], table)))
        else:
            print(f"\n{name}: new, {len(table.rows)} rows: nothing is stored to compare them with")
    dates = sorted({table.conditions.get("date", "unknown") for table in before.values()})
    print(f"\nThe baseline is of {dates[0]}{f' to {dates[-1]}' if dates[1:] else ''}.")
    for line in (*others, *notes):
        print(line)
    if absent := sorted(before.keys() - now.keys()):
        print(f"not measured: {', '.join(absent)}")
    if not any(note.startswith("worse") for note in notes):
        print(
            f"Nothing became dearer by more than {100 * (DEARER - 1):.0f} %, or wrong by a digit."
        )


def store(folder: Path, baseline: Path) -> None:
    """Keep what is recorded as the baseline, and what is not recorded as it was."""
    now = recorded(folder)
    if not now:
        print(f"Nothing is recorded in {folder}: make bench records what can be stored.")
        return
    told = dict(sorted({**stored(baseline), **now}.items()))
    save_text(baseline, json.dumps(told, indent=1) + "\n")
    print(f"{baseline}: stored {', '.join(now)}")


def main(words: list[str] | None = None) -> None:
    """Compare, or store."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--store", action="store_true", help="store what was recorded")
    parser.add_argument("--recorded", type=Path, default=RECORDED, metavar="FOLDER")
    parser.add_argument("--baseline", type=Path, default=BASELINE, metavar="FILE")
    asked = parser.parse_args(words)
    try:
        (store if asked.store else compare)(asked.recorded, asked.baseline)
    except UnreadableError as error:
        if asked.store:
            raise SystemExit(str(error)) from None
        print(error)


if __name__ == "__main__":
    main()
