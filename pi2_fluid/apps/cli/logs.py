"""Logs for replays: what tc showed of a queue again and again, or columns of a CSV file."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from pi2_fluid.errors import QuantityError, show_value

if TYPE_CHECKING:
    from pi2_fluid.laws.aqms.pi_family import PiFamily
    from pi2_fluid.tc.observing import Series

# Columns of a log, and what their text is read as.
_DIMENSIONS: Final = {"queue_delay": "time", "backlog": "size"}
_COMMON: Final = (1e-9, 1e9)  # numbers that need no second look
_NAMED: Final = 5  # queues that a message names
_APART: Final = 1.5  # times an update interval: states are no longer of one update after the other


@dataclass(frozen=True, kw_only=True)
class Log:
    """What was logged of one queue.

    `columns` are in SI units, an entry for each update; `law` is None where the log does not say
    it. The controller's variable and the delay were `start` before the first. `notes` say what
    stands between the log and the rule.
    """

    name: str
    columns: dict[str, Any]
    law: PiFamily | None = None
    start: tuple[float, float] = (0.0, 0.0)
    notes: tuple[str, ...] = ()


def read_logs(path: str, dev: str | None = None) -> tuple[list[Log], str]:
    """Return what was logged of each queue, and what form the text had.

    Parameters
    ----------
    path : str
        Of a file, or "-".
    dev : str or None
        The device that is asked for; None: all.

    Raises
    ------
    OSError
        If the file cannot be read.
    QuantityError
        If there is no such column, no row, or something in it that is no number.
    """
    name = "standard input" if path == "-" else path
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8-sig")
        if "queue_delay" in text.lstrip().partition("\n")[0]:
            return [Log(name=name, columns=read_rows(io.StringIO(text, newline=""), name))], ""
        from pi2_fluid.tc.observing import observe, series_of

        reading = observe(text)
        if reading.blocks:
            return _of_series(series_of(reading, one_device=True), text, name, dev), reading.form
        return [Log(name=name, columns=read_rows(io.StringIO(text, newline=""), name))], ""
    except (UnicodeDecodeError, csv.Error):
        raise QuantityError(f"{name} is no CSV text: give a file with a header line.") from None


# What tc showed


def _of_series(series: Sequence[Series], text: str, name: str, dev: str | None) -> list[Log]:
    from pi2_fluid.tc.parsing import parse

    ours = [each for each in series if each.last.ours and not each.last.proposed]
    if not ours:
        parse(text)  # says what there is instead
        raise QuantityError(
            f"{name} asks for queues and shows none: give the output of tc -s qdisc show."
        )
    found = [each for each in ours if dev is None or each.last.dev == dev]
    if not found:
        names = sorted({each.last.dev or "one without a name" for each in ours})
        raise QuantityError(
            f"{name} shows no queue of these kinds on {show_value(dev)}: give"
            f" {' or '.join(names[:_NAMED])}."
        )
    return [_log_of(each, name) for each in found]


def _log_of(series: Series, name: str) -> Log:
    """Return what tc showed of a queue again and again, and its law in the kernel's integers.

    Raises
    ------
    QuantityError, DomainError
        If the queue cannot be read, or has no such counters.
    """
    import dataclasses

    import numpy as np

    from pi2_fluid.tc.parsing import queue_of

    queue = queue_of(series.last)
    counters = [block.statistics or {} for block in series.blocks]
    delays = [
        [counter[key] for key in ("delay", "delay_c", "delay_l") if key in counter]
        for counter in counters
    ]
    if not all(delays) or not all("prob" in counter for counter in counters):
        raise QuantityError(
            f"{name} has a snapshot without prob and delay, which pie and dualpi2 show with -s:"
            " give the output of tc -s qdisc show."
        )
    columns = {
        "queue_delay": np.array([float(max(each)) for each in delays]),
        "backlog": np.array([float(counter.get("backlog", 0.0)) for counter in counters]),
        "logged": np.array([float(counter["prob"]) for counter in counters]),
    }
    law = dataclasses.replace(queue.aqm, arithmetic="fixed")
    start, notes = (0.0, 0.0), _notes_on(series, float(law.update_interval))
    first, delay = float(columns["logged"][0]), float(columns["queue_delay"][0])
    if first > 0.0:
        if len(counters) == 1:
            raise QuantityError(
                f"{name} has only one state of {series.last.name}, in traffic (p {first:g}), and a"
                " replay needs those after it: give them, too."
            )
        start = first, delay
        columns = {key: values[1:] for key, values in columns.items()}
        begins = f"p {first:g} at {1e3 * delay:.4g} ms"
        notes = (f"The log begins in traffic. The replay starts at {begins}.", *notes)
    return Log(name=series.last.name, columns=columns, law=law, start=start, notes=notes)


def _notes_on(series: Series, interval: float) -> tuple[str, ...]:
    """Say where the states that were logged are not those of one update after the other."""
    notes = []
    told = series.last.statistics or {}
    if "avg_dq_rate" in told and not series.last.options.get("dq_rate_estimator"):
        notes.append(
            "The statistics are of Linux 5.4 or older, and the rule is of 5.5 and newer: --variant"
            " has others."
        )
    times = [time for time in series.times if time is not None]
    if len(times) > 1 and len(times) == len(series.times):
        step = median(later - time for time, later in pairwise(times))
        each = f"every {1e3 * step:.3g} ms, and the queue updates every {1e3 * interval:.3g} ms"
        why = ""
        if step > _APART * interval:
            why = "the log lacks updates"
        elif step < interval / _APART:
            why = "the log has updates several times"
        if why:
            notes.append(f"States were logged {each}: {why}, so p differs from the logged one.")
    return tuple(notes)


# Columns


def read_rows(file: Iterable[str] | io.TextIOBase, name: str) -> dict[str, Any]:
    """Return the columns of a CSV text, in SI units.

    Raises
    ------
    QuantityError
        If there is no column queue_delay, no row, or something in it that is no number.
    """
    import numpy as np

    reader = csv.DictReader(file, skipinitialspace=True)
    header = [title.strip() for title in reader.fieldnames or ()]
    reader.fieldnames = header
    if "queue_delay" not in header:
        other = f" but {show_value(', '.join(header))}" if any(header) else ""
        raise QuantityError(
            f"{name} has no column queue_delay{other}: give one, in seconds or with a unit, in a"
            " text whose columns are separated by commas."
        )
    wanted = [column for column in _DIMENSIONS if column in header]
    for column in wanted:
        if header.count(column) > 1:
            raise QuantityError(f"{name} has the column {column} twice: give it once.")
    columns: dict[str, list[float]] = {column: [] for column in wanted}
    for row in reader:
        if any(row.get(None) or ()):  # such as of decimal commas, which would be read as columns
            raise QuantityError(
                f"{name} line {reader.line_num} has more than {len(header)}"
                f" field{'s' * (len(header) > 1)}, one for each column: give numbers with a decimal"
                " point, such as 0.012."
            )
        for column in wanted:
            place = f"{name} line {reader.line_num} {column}"
            columns[column].append(_number(row[column], _DIMENSIONS[column], place))
    if not columns["queue_delay"]:
        raise QuantityError(f"{name} has no rows: give one for each update.")
    return {column: np.array(values) for column, values in columns.items()}


def _number(text: str | None, dimension: str, place: str) -> float:
    from pi2_fluid.units import validate_quantity

    if text is None:
        raise QuantityError(f"{place} is missing: fill the row.")
    value: float | str = text
    try:
        number = float(text)  # a bare number is in SI units
    except ValueError:
        pass
    else:
        if _COMMON[0] <= number <= _COMMON[1]:
            return number
        value = number
    try:
        return float(validate_quantity(value, dimension, place, closed=True))
    except QuantityError as error:
        if text.strip():
            raise
        raise QuantityError(f"{place} = {show_value(text)} is empty: fill it.") from error
