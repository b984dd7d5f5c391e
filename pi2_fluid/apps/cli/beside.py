"""`pi2-fluid compare` with a measurement: its numbers beside those of engines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from pi2_fluid.apps.cli.compared import Compared, Wanted
from pi2_fluid.apps.cli.output import make_console, make_grid
from pi2_fluid.apps.cli.queues import split_name
from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.progress import Progress

if TYPE_CHECKING:
    import xarray
    from rich.table import Table

    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.measured.scenario import Described

_SEEDS: Final = "12"
#: What people read: factor and unit, by the unit of the table.
_SHOWN: Final = {"s": (1e3, "ms"), "bit/s": (1e-6, "Mbit/s"), "1": (1.0, ""), "packets": (1.0, "")}
_PERCENT: Final = ("share", "utilization", "drop_fraction", "mark_fraction")
_SCENARIO: Final = re.compile(
    r"^\s*(\[\[?(aqm|flows|link|nodes?|network)\b|duration\s*=)", re.MULTILINE
)
#: Options that describe a traffic without a file, which a measurement has of its own.
_OWN: Final = {"count": "--flows", "sender": "--sender", "duration": "--duration"}


def is_measurement(given: str) -> bool:
    """Say whether an argument is a file of something else than a scenario."""
    path = Path(given)
    if given == "-" or path.suffix.lower() == ".toml" or not path.is_file():
        return False
    from pi2_fluid.measured.source import Source

    return not _SCENARIO.search(Source(path).head)


def require_all_there(files: list[str]) -> None:
    """Refuse measurements among which is something else.

    Raises
    ------
    QuantityError
        If one is a measurement, and another is a scenario or no file.
    """
    measured = [file for file in files if is_measurement(file)]
    if measured:
        other = next(file for file in files if file not in measured)
        what = "is a scenario" if other == "-" or Path(other).is_file() else "is no file"
        raise QuantityError(
            f"{other} {what}, and {measured[0]} is a measurement: give measurements of the same"
            " time, or scenarios."
        )


def compare_measurement(wanted: Wanted) -> Compared:
    """Run what a measurement describes, and put both beside each other.

    Parameters
    ----------
    wanted : Wanted
        Its files were recorded at the same time; `aqm` is the queue, and `traffic` has rate and
        path, if they are given.

    Raises
    ------
    QuantityError, DomainError, ScenarioError, UnsupportedError, OSError
        If something is not as it should be.
    """
    for name, option in _OWN.items():
        if wanted.traffic.get(name) is not None:
            raise QuantityError(f"{option} has no meaning beside a measurement: leave it out.")
    engines = wanted.engines(("packet",), _SEEDS)
    from pi2_fluid.comparison.measurement.running import run_beside
    from pi2_fluid.comparison.measurement.table import tabulate_beside
    from pi2_fluid.measured.joining import join
    from pi2_fluid.measured.scenario import scenario_of

    measured = join(*wanted.files)
    file = ", ".join(wanted.files)
    scenario = scenario_of(
        measured,
        capacity=wanted.traffic.get("capacity"),
        base_rtt=wanted.traffic.get("base_rtt"),
        aqm=_queue(wanted.aqm),
    )
    with Progress("simulating") as progress:
        beside = run_beside(scenario, engines, [measured], after=wanted.after, progress=progress)
    table = tabulate_beside(beside)

    def draw(path: Path) -> None:
        from pi2_fluid.comparison.measurement.picture import plot_comparison

        plot_comparison(table, path)

    kept = [str(name) for name in table.data_vars if set(table[name].dims) == {"engine", "name"}]
    return Compared(
        table[kept],  # a row for each engine and number is enough for a file
        beside.interrupted,
        lambda: _as_json(file, scenario, table),
        lambda: _print_text(file, scenario, table, str(measured.attrs["warnings"])),
        draw,
    )


def _queue(aqm: Sequence[str]) -> Aqm | None:
    from pi2_fluid.laws.registry import AQMS, PRESETS, make_aqm
    from pi2_fluid.measured.queue_said import queue_of_kind

    text = ",".join(aqm)
    if not text:
        return None
    name, numbers = split_name(text)
    if name not in AQMS and name not in PRESETS:
        return queue_of_kind(name).aqm
    if "," in text.partition(":")[0]:
        raise QuantityError(f"--aqm {show_value(text)} are several: a measurement has one queue.")
    return make_aqm(name, numbers)


def _as_json(file: str, scenario: Described, table: xarray.Dataset) -> dict[str, Any]:
    names = [str(name) for name in table["name"].to_numpy()]
    first, *labels = (str(label) for label in table["engine"].to_numpy())

    def numbers(label: str, key: str) -> dict[str, Any]:
        values = table[key].sel(engine=label).to_numpy().tolist()
        return dict(zip(names, values, strict=True))

    def engine(label: str) -> dict[str, Any]:
        mine = table.sel(engine=label)
        seeds = [int(seed) for seed in str(mine["seeds"].item()).split(", ") if seed]
        missing = str(mine["not_modelled"].item())
        return {
            "options": str(mine["options"].item()),
            "seeds": seeds,
            "not_modelled": missing.split(", ") if missing else [],
            **{key: numbers(label, key) for key in ("value", "low", "high", "relative")},
        }

    rows = [
        (label, name, table.sel(engine=label, name=name))
        for label in labels
        for name in names
        if bool(table["outside"].sel(engine=label, name=name))
    ]
    return {
        "measurement": file,
        "format": table.attrs["format"],
        "said": dict(scenario.said),
        "assumed": dict(scenario.assumed),
        "duration": float(scenario.scenario.duration),
        "after": table.attrs["after"],
        "until": table.attrs["until"],
        "interrupted": bool(table.attrs["interrupted"]),
        "measured": numbers(first, "value"),
        "engines": {label: engine(label) for label in labels},
        "outside": [
            {
                "engine": label,
                "name": name,
                "measured": float(table["value"].sel(engine=first, name=name)),
                "low": float(row["low"]),
                "high": float(row["high"]),
                "relative": float(row["relative"]),
                "why": str(row["why"].item()),
            }
            for label, name, row in rows
        ],
    }


def _print_text(file: str, scenario: Described, table: xarray.Dataset, warnings: str) -> None:
    from pi2_fluid.comparison.measurement.picture import outside_by_cause

    begin, end = table.attrs["after"], table.attrs["until"]
    unfinished = ", interrupted" if table.attrs["interrupted"] else ""
    typer.echo(scenario.scenario.name or file)
    for head, told in (("The file says", scenario.said), ("Assumed", scenario.assumed)):
        if told:
            typer.echo(f"\n{head}")
            for part, text in told.items():
                typer.echo(f"  {part}: {text}")
    for warning in warnings.splitlines():
        typer.echo(f"\n{warning}")
    typer.echo(f"\n{begin:.4g} s to {end:.4g} s of the measurement{unfinished}\n")
    make_console().print(_grid(table))
    _, *labels = (str(label) for label in table["engine"].to_numpy())
    count = table.sizes["name"]
    for label in labels:
        causes = outside_by_cause(table, label)
        apart = sum(map(len, causes.values()))
        typer.echo(f"\n{count - apart} of {count} measured numbers lie in the range of {label}.")
        if causes:
            typer.echo(f"* {apart} lie outside. Likely causes:")
        for sentence, names in causes.items():
            typer.echo(f"\n{', '.join(names)}:\n  {sentence}.")


def _grid(table: xarray.Dataset) -> Table:
    first, *labels = (str(label) for label in table["engine"].to_numpy())
    sides: list[Any] = [
        "left",
        "right",
        *(["right", "left", "right", "left"] * len(labels)),
        "left",
    ]
    grid = make_grid(*sides)
    head = ["", first]
    for label in labels:
        several = "," in str(table["seeds"].sel(engine=label).item())
        head += [label, "range of seeds" if several else "", "off", ""]
    grid.add_row(*head, "")
    for name in table["name"].to_numpy():
        row = table.sel(name=name)
        factor, unit = _scale(str(name), str(row["unit"].item()))
        cells = [str(name), f"{factor * float(row['value'].sel(engine=first)):.4g}"]
        for label in labels:
            mine = row.sel(engine=label)
            value, low, high = (f"{factor * float(mine[key]):.4g}" for key in _KEYS)
            off = 100.0 * float(mine["relative"])
            cells += [value, "" if low == high else f"({low} to {high})", f"{off:+.1f} %"]
            cells.append("*" if bool(mine["outside"]) else "")
        grid.add_row(*cells, unit)
    return grid


_KEYS: Final = ("value", "low", "high")


def _scale(name: str, unit: str) -> tuple[float, str]:
    """Return by what to multiply a number, and the unit that it has then."""
    if name.partition(".")[0] in _PERCENT:
        return 100.0, "%"
    return _SHOWN.get(unit, (1.0, unit))
