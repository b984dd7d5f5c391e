"""`CapacityTrace`: what a link serves over time, as a file has it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.errors import QuantityError, ScenarioError, show_value
from pi2_fluid.network.changes import Change
from pi2_fluid.records.record import OptionalParameter, Parameter, Record, quantity
from pi2_fluid.units import parse_quantity, validate_number

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, Quantity

#: What a file of a capacity over time may be.
FORMATS: Final = ("csv", "mahimahi")
#: Bits of an opportunity of mahimahi: a packet of 1500 bytes (manual of mm-link).
_OPPORTUNITY: Final = 12_000.0
_MS: Final = 1e-3
#: Steps of one run at most: a run of one day with ten a second has as many.
_MOST_STEPS: Final = 1_000_000
_BRACKETED: Final = re.compile(r"[(\[]\s*([^)\]]+?)\s*[)\]]")


@dataclass(frozen=True, eq=False)
class CapacityTrace(Record):
    """Capacity over time: each rate holds from its time to the next.

    Parameters
    ----------
    times : array of float
        When each rate begins (s), rising. Before the first the link has its own capacity.
    capacities : array of float
        The rates (bit/s); 0 is an outage.
    period : float or str, optional
        After how long it begins anew (s), later than all times. None: the last rate stays.

    Raises
    ------
    QuantityError, DomainError
        If something is no number of its unit, or outside its range.
    ScenarioError
        If there are not as many times as rates, they do not rise, or all rates are 0.

    Examples
    --------
    >>> trace = CapacityTrace([0.0, 2.0], [20e6, 0.0], period="3s")
    >>> [(change.at, change.capacity) for change in trace.changes("7s")]
    [(0.0, 20000000.0), (2.0, 0.0), (3.0, 20000000.0), (5.0, 0.0), (6.0, 20000000.0)]
    """

    times: Parameter = quantity(None, "time", closed=True)
    capacities: Parameter = quantity(None, "rate", closed=True)
    period: OptionalParameter = quantity(None, "time", optional=True)

    def __post_init__(self) -> None:
        for name in ("times", "capacities"):
            row = np.asarray(getattr(self, name), dtype=object)
            each = [
                parse_quantity(v, _OF[name], name) if isinstance(v, str) else v for v in row.flat
            ]
            object.__setattr__(self, name, np.array(each, dtype=float))
        times, capacities = self._rows()
        if times.size == 0 or times.shape != capacities.shape:
            raise ScenarioError(
                f"CapacityTrace has {times.size} times and {capacities.size} capacities: give as"
                " many of each, at least one."
            )
        super().__post_init__()
        if not (np.diff(times) > 0.0).all():
            raise ScenarioError(
                f"CapacityTrace times = {show_value(times.tolist())} do not rise: give each later"
                " than the one before."
            )
        if self.period is not None and not float(self.period) > times[-1]:
            raise ScenarioError(
                f"CapacityTrace period = {float(self.period):g} s is not after the last of times,"
                f" {times[-1]:g} s: raise period, or leave it out."
            )
        if not capacities.any():
            raise ScenarioError(
                "CapacityTrace capacities are all 0, so that nothing is ever served: give rates."
            )

    def _rows(self) -> tuple[FloatArray, FloatArray]:
        return np.asarray(self.times, dtype=float), np.asarray(self.capacities, dtype=float)

    def until(self, duration: Quantity) -> tuple[FloatArray, FloatArray]:
        """Return the times (s) before `duration`, repeated as need be, and the rates (bit/s).

        Raises
        ------
        QuantityError, DomainError
            If `duration` is no time above 0, or there are more than a million steps before it.
        ScenarioError
            If it is over before the first of the times.
        """
        end = validate_number(duration, "time", "duration")
        times, rates = self._rows()
        if times[0] >= end:
            raise ScenarioError(
                f"CapacityTrace times begin at {times[0]:g} s, and duration is {end:g} s: give"
                " times that count from the beginning of the run, or a longer duration."
            )
        if self.period is not None:
            period = float(self.period)
            rounds = max(1, math.ceil(end / period))
            if rounds * times.size > _MOST_STEPS:
                raise QuantityError(
                    f"duration = {end:g} s repeats a trace of {times.size} steps {rounds} times,"
                    f" more than {_MOST_STEPS} steps: give a shorter duration, or longer steps."
                )
            times = (np.arange(rounds)[:, np.newaxis] * period + times).ravel()
            rates = np.tile(rates, rounds)
        changed = np.append(True, rates[1:] != rates[:-1]) & (times < end)
        return times[changed], rates[changed]

    def changes(self, duration: Quantity, link: str | None = None) -> tuple[Change, ...]:
        """Return the schedule that it is, up to the end of a run.

        Parameters
        ----------
        duration : float or str
            Length of the run (s).
        link : str, optional
            The node whose capacity it is; may be left out where there is one.

        Raises
        ------
        QuantityError, DomainError
            As `until`.
        ScenarioError
            As `until`; and if `link` is no name.

        Examples
        --------
        >>> CapacityTrace([0.0, 1.0], [8e6, 5e6]).changes("10s")[1].capacity
        5000000.0
        """
        times, rates = self.until(duration)
        first = Change(at=float(times[0]), capacity=float(rates[0]), link=link)
        # The others are like the first, of numbers that were checked with the whole.
        return (
            first,
            *(
                _like(first, *row)
                for row in zip(times[1:].tolist(), rates[1:].tolist(), strict=True)
            ),
        )

    def mean(self, duration: Quantity) -> float:
        """Return the time mean (bit/s) from the first of its times to the end of a run.

        Raises
        ------
        QuantityError, DomainError, ScenarioError
            As `until`.

        Examples
        --------
        >>> CapacityTrace([0.0, 1.0], [8e6, 5e6]).mean("4s")
        5750000.0
        """
        end = validate_number(duration, "time", "duration")
        times, rates = self.until(end)
        return float(np.dot(rates, np.diff(np.append(times, end))) / (end - times[0]))

    @classmethod
    def load(
        cls,
        path: str | Path,
        format: str | None = None,
        *,
        unit: str | None = None,
        step: Quantity = "100ms",
        period: Quantity | None = None,
    ) -> CapacityTrace:
        """Return what a file says.

        Parameters
        ----------
        path : str or Path
            The file: a time and a rate in each line (CSV), or mahimahi's, where each line is the
            millisecond of an opportunity to send 1500 bytes.
        format : {"csv", "mahimahi"}, optional
            None: mahimahi's if each line is one whole number, else CSV.
        unit : str, optional
            Of the rates of a CSV file, such as ``"Mbit/s"``, if neither its header nor each number
            has one.
        step : float or str
            Over which opportunities of mahimahi are counted (s): each step has their mean rate.
        period : float or str, optional
            After how long a CSV file begins anew (s); mahimahi's does at its last line.

        Raises
        ------
        OSError
            If the file cannot be read.
        QuantityError, DomainError, ScenarioError
            Naming the file, and the line where there is one.
        """
        name = str(path)
        if format is not None and format not in FORMATS:
            raise QuantityError(
                f"format = {show_value(format)} is unknown: give {' or '.join(map(repr, FORMATS))}."
            )
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise ScenarioError(
                f"{name} is no text in UTF-8: give a CSV file, or a trace of mahimahi."
            ) from None
        lines = [
            (number, line)
            for number, line in enumerate(map(str.strip, text.splitlines()), 1)
            if line and not line.startswith("#")
        ]
        if not lines:
            raise ScenarioError(f"{name} has no line with numbers: give times and rates.")
        if format == "mahimahi" or (format is None and all(line.isdecimal() for _, line in lines)):
            return of_opportunities(lines, name, validate_number(step, "time", "step"))
        times, rates = _of_rows(lines, name, unit)
        return cls(times, rates, period)


_OF: Final = {"times": "time", "capacities": "rate"}


def _like(change: Change, at: float, capacity: float) -> Change:
    made = object.__new__(Change)
    vars(made).update(vars(change) | {"at": at, "capacity": capacity})
    return made


def of_opportunities(lines: Sequence[tuple[int, str]], name: str, step: float) -> CapacityTrace:
    """Return the mean rates of steps of a trace of mahimahi.

    An opportunity at ms k ends the ms from k - 1 on.

    Parameters
    ----------
    lines : sequence of (int, str)
        The lines that are not empty, with their numbers.
    name : str
        What messages call the trace.
    step : float
        Length of the steps (s).

    Raises
    ------
    ScenarioError
        If a line is no whole number, or one is before the line above, or all are 0.

    Examples
    --------
    >>> of_opportunities([(1, "1"), (2, "2"), (3, "4")], "trace", 0.002).capacities.tolist()
    [12000000.0, 6000000.0]
    """
    for number, line in lines:
        if not line.isdecimal():
            raise ScenarioError(
                f"{name}, line {number}: {show_value(line)} is no whole number of milliseconds,"
                " which mahimahi has one of in each line: correct it, or give format = 'csv'."
            )
    at = np.array([int(line) for _, line in lines])
    back = np.flatnonzero(np.diff(at) < 0)
    if back.size:
        raise ScenarioError(
            f"{name}, line {lines[back[0] + 1][0]}: {at[back[0] + 1]} ms is before the line above:"
            " give milliseconds that do not fall."
        )
    if at[-1] == 0:
        raise ScenarioError(f"{name} ends at 0 ms, so that it has no length: give later lines.")
    period = float(at[-1]) * _MS
    edges = np.append(np.arange(0.0, period * (1.0 - 1e-12), step), period)
    if edges.size > 2 and edges[-1] - edges[-2] < 0.5 * step:
        edges = np.delete(edges, -2)  # no short step whose rate would be of one packet or none
    where = np.clip(np.searchsorted(edges, at * _MS - 1e-9, side="left") - 1, 0, edges.size - 2)
    rates = np.bincount(where, minlength=edges.size - 1) * _OPPORTUNITY / np.diff(edges)
    return CapacityTrace(edges[:-1], rates, period)


def _of_rows(
    lines: Sequence[tuple[int, str]], name: str, unit: str | None
) -> tuple[list[float], list[float]]:
    """Return times and rates of lines with a time and a rate each."""
    split = next((sign for sign in ",;\t" if sign in lines[0][1]), None)
    rows = [(number, [part.strip() for part in line.split(split)]) for number, line in lines]
    units = ["s", unit]
    if not _is_number(rows[0][1][0]):
        for column, word in enumerate(rows.pop(0)[1][:2]):
            if inside := _BRACKETED.search(word):
                units[column] = inside[1]
    columns: tuple[list[float], list[float]] = ([], [])
    for number, row in rows:
        place = f"{name}, line {number}:"
        if len(row) < 2:
            raise ScenarioError(
                f"{place} {show_value(' '.join(row))} is not a time and a rate: give both, with a"
                " comma between them."
            )
        for text, own, dimension, to in zip(row, units, ("time", "rate"), columns, strict=False):
            to.append(_number(text, own, dimension, place))
    if not columns[0]:
        raise ScenarioError(f"{name} has no line with numbers: give times and rates.")
    return columns


def _is_number(text: str) -> bool:
    return text[:1].isdigit() or text[:1] in {"-", "+", "."}


def _number(text: str, unit: str | None, dimension: str, place: str) -> float:
    try:
        bare = float(text)
    except ValueError:
        return parse_quantity(text, dimension, f"{place} {dimension}")
    if unit is None:
        raise ScenarioError(
            f"{place} rate = {show_value(text)} has no unit: begin the file with a header such as"
            ' "time (s),rate (Mbit/s)", or give unit = "Mbit/s".'
        )
    return bare * parse_quantity(f"1{unit}", dimension, f"{place} unit of the {dimension}")
