"""Several queues under one traffic: what `pi2-fluid compare` prints of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import typer

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.comparison.queues.running import QueueComparison


class _Shown(NamedTuple):
    """A column of a block."""

    head: str
    name: str
    """Of the number in the table."""
    factor: float
    unit: str


_EXACT: Final = 1e-9  # of a mean: what rounding may make of no width
_DECIMALS: Final = 4
_DIGITS: Final = 5
_DELAYS: Final = (
    ("mean", "delay_mean"),
    ("P99", "delay_p99"),
    ("largest", "queue_delay_max"),
)
_OF_LINK: Final = (
    ("used", "utilization"),
    ("dropped", "drop_fraction"),
    ("marked", "mark_fraction"),
)


def print_queues(
    title: str, comparison: QueueComparison, table: xarray.Dataset, note: str = ""
) -> None:
    """Print the table of several queues: a block for each kind of number, a row for each queue."""
    begin, end = table.attrs["after"], table.attrs["until"]
    unfinished = ", interrupted" if comparison.interrupted else ""
    # What is no table is echoed, so that it is not broken into lines where nobody looks at them.
    typer.echo(f"{title}\n{begin:.4g} s to {end:.4g} s{unfinished}")
    for way, labels in ways_of(comparison).items():
        typer.echo(f"{way}: {', '.join(labels)}")
    for head, columns in _blocks(comparison, table):
        there = [
            column
            for column in columns
            if column.name in table["name"] and _says_something(table.sel(name=column.name))
        ]
        if there:
            typer.echo(f"\n{head}")
            _echo(_lines(table, there, "value"))
    first = str(table["queue"][0].item())
    others = table.isel(queue=slice(1, None))
    if others.sizes["queue"]:
        typer.echo(f"\ndifference from {first}, seed by seed")
        _echo(_lines(others, _differences(comparison), "difference"))
    typer.echo(f"\n± is half of an interval of 95 %. *: not as {first}, by more than chance.")
    if note:
        typer.echo(note)
    if len(set(table["engine"].to_numpy())) > 1:
        typer.echo(
            "Two engines: some per cent of a difference between queues of both may be theirs."
            " --engine linux runs all in the kernel."
        )
    if comparison.left_out:
        typer.echo(f"not run: {', '.join(comparison.left_out)}")


def _echo(lines: Iterator[str]) -> None:
    for line in lines:
        typer.echo(line)


def ways_of(comparison: QueueComparison) -> dict[str, list[str]]:
    """Return by which way and with how many seeds queues were run, and which ones."""
    ways: dict[str, list[str]] = {}
    for run in comparison.runs:
        seeds = run.result.sizes.get("seed", 0)
        counted = f", {seeds} seed{'s' * (seeds > 1)}" if seeds else ""
        ways.setdefault(f"{run.engine.way(run.result)}{counted}", []).append(run.label)
    return ways


def _says_something(values: xarray.Dataset) -> bool:
    """Whether a column is worth a place: marks where there are none are not."""
    return str(values["name"].item()).partition(".")[0] not in _OFTEN_ZERO or bool(
        (values["value"] > 0.0).any()
    )


_OFTEN_ZERO: Final = ("mark_fraction", "mark_fraction_of", "drop_fraction_of")


def _blocks(
    comparison: QueueComparison, table: xarray.Dataset
) -> Iterator[tuple[str, list[_Shown]]]:
    """Yield headings, and what stands below each."""
    names = comparison.scenario.node_names
    for suffix, of in [("", "")] if len(names) == 1 else [(f".{n}", f" of {n}") for n in names]:
        yield (
            f"queue delay{of} [ms]",
            [_Shown(head, f"{name}{suffix}", 1e3, "ms") for head, name in _DELAYS],
        )
        parts = [_Shown(head, f"{name}{suffix}", 100.0, "%") for head, name in _OF_LINK]
        alone = sum(float(flow.count) for flow in comparison.scenario.flows) == 1.0
        jain = [] if suffix or alone else [_Shown("Jain's index", "jain", 1.0, "")]
        yield f"link{of} [%]", [*parts, *jain]
        for at, what in _changes(comparison, table):
            yield (
                f"after {what} at {at:.4g} s{of}",
                [
                    _Shown("largest [ms]", f"change_peak.{at:g}s{suffix}", 1e3, "ms"),
                    _Shown("settled after [s]", f"change_settling.{at:g}s{suffix}", 1.0, "s"),
                ],
            )
    for name in comparison.scenario.class_names:
        yield (
            f"flows {name}",
            [
                _Shown("share [%]", f"share.{name}", 100.0, "%"),
                _Shown("Mbit/s", f"throughput.{name}", 1e-6, ""),
                _Shown("mean [ms]", f"delay_mean_of.{name}", 1e3, "ms"),
                _Shown("P99 [ms]", f"delay_p99_of.{name}", 1e3, "ms"),
                _Shown("dropped [%]", f"drop_fraction_of.{name}", 100.0, "%"),
                _Shown("marked [%]", f"mark_fraction_of.{name}", 100.0, "%"),
            ]
            if f"share.{name}" in table["name"]
            else [],
        )
        yield (
            f"transfers {name} take [s]",
            [_Shown(f"P{level}", f"completion_p{level}.{name}", 1.0, "s") for level in (50, 95)],
        )


def _changes(comparison: QueueComparison, table: xarray.Dataset) -> list[tuple[float, str]]:
    from pi2_fluid.results.settling import changes_of

    return changes_of(comparison.runs[0].result, table.attrs["after"], table.attrs["until"])


def _differences(comparison: QueueComparison) -> list[_Shown]:
    first = comparison.scenario.node_names[0]
    suffix = f".{first}" if len(comparison.scenario.node_names) > 1 else ""
    return [
        *(_Shown(f"{head} [ms]", f"{name}{suffix}", 1e3, "ms") for head, name in _DELAYS[:2]),
        *(_Shown(f"{head} [points]", f"{name}{suffix}", 100.0, "%") for head, name in _OF_LINK[:2]),
    ]


def _lines(table: xarray.Dataset, columns: Sequence[_Shown], key: str) -> Iterator[str]:
    """Yield a row for each queue, and of each number its interval.

    They are never folded: who compares many queues has a wide window, or a file.
    """
    labels = [str(label) for label in table["queue"].to_numpy()]
    blocks = [["", *labels]]
    for column in columns:
        cells = [_cell(table.sel(queue=label, name=column.name), column, key) for label in labels]
        wide = max(len(value) for value, _ in cells)
        texts = [f"{value:>{wide}}{width}" for value, width in cells]
        middle = max(0, wide - len(column.head))
        blocks.append([" " * middle + column.head, *texts])
    widths = [max(map(len, block)) for block in blocks]
    for row in zip(*blocks, strict=True):
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def _cell(at: xarray.Dataset, column: _Shown, key: str) -> tuple[str, str]:
    """Return a mean, and half of its interval, as text."""
    low = "low" if key == "value" else f"{key}_low"
    mean = column.factor * float(at[key])
    half = mean - column.factor * float(at[low])
    sign, star = ("", " *" * bool(at["differs"])) if key == "value" else ("+", "")
    if math.isinf(mean) and key == "value":
        each = [float(x) for x in at["each"].to_numpy() if not math.isnan(x)]
        return "not", f" in {sum(map(math.isinf, each))} of {len(each)}"
    if not math.isfinite(mean):
        return "-", ""
    if not half > abs(mean) * _EXACT:  # NaN, too
        return f"{mean:{sign}.4g}", star
    digits = math.floor(math.log10(half))
    digits -= half < 2.0 * 10.0**digits  # two digits of 1.0 to 1.9
    size = math.floor(math.log10(abs(mean))) if mean else 0
    decimals = max(0, min(-digits, _DECIMALS, _DIGITS - 1 - size))
    width = f"{half:.{decimals}f}"
    known = f" ± {width}" if float(width) else ""
    return f"{mean:{sign}.{decimals}f}", f"{known}{star}"


def queues_as_json(comparison: QueueComparison, table: xarray.Dataset) -> dict[str, Any]:
    """Return what JSON says of several queues."""
    names = [str(name) for name in table["name"].to_numpy()]

    def about(label: str) -> dict[str, Any]:
        of_queue = table.sel(queue=label)
        numbers = {
            key: dict(zip(names, of_queue[key].to_numpy().tolist(), strict=True))
            for key in (
                *("value", "low", "high"),
                *("difference", "difference_low", "difference_high"),
            )
        }
        words = {key: str(of_queue[key].item()) for key in _WORDS}
        seeds = [int(seed) for seed in words["seeds"].split(", ") if seed]
        missing = words["not_modelled"].split(", ") if words["not_modelled"] else []
        return {**words, "seeds": seeds, "not_modelled": missing, **numbers}

    return {
        "duration": float(comparison.scenario.duration),
        "after": comparison.after,
        "interrupted": comparison.interrupted,
        "queues": {run.label: about(run.label) for run in comparison.runs},
        "left_out": list(comparison.left_out),
    }


_WORDS: Final = ("law", "engine", "options", "seeds", "not_modelled")
