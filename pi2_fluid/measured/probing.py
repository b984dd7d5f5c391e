"""Round trips as ping and fping print them: answers, with or without times, and what was lost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pi2_fluid.measured.dataset import Measurement

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, IntArray

#: From here on (s) ping prints whole milliseconds.
_COARSE = 0.1
#: Sequence numbers of ICMP have 16 bits.
_WRAP = 1 << 16
#: Numbers in a row that a text may leave out; what leaves out more is damaged.
_MOST_LOST = 1_000_000


@dataclass
class Probes:
    """The probes of one run, by their sequence numbers.

    Parameters
    ----------
    interval : float
        Seconds from one to the next; NaN: nothing says it.
    sent : int
        How many the tool says it sent.

    Examples
    --------
    >>> probes = Probes()
    >>> probes.answer(1, 10.0, 0.02)
    >>> probes.answer(3, 10.4, 0.03)
    >>> times, delays = probes.samples()
    >>> times.tolist(), delays.tolist()
    ([10.0, 10.2, 10.4], [0.02, nan, 0.03])
    """

    interval: float = math.nan
    sent: int = 0
    coarse: bool = False
    times: dict[int, float] = field(default_factory=dict)
    delays: dict[int, float] = field(default_factory=dict)
    _last: int | None = None

    def answer(self, number: int, time: float, delay: float) -> None:
        """Keep an answer; a second one to the same probe says nothing of the path."""
        number = self._unwrapped(number)
        if number not in self.delays:
            self.times[number], self.delays[number] = time, delay

    def miss(self, number: int, time: float = math.nan) -> None:
        """Keep that a probe had no answer; one that comes later takes its place."""
        self.times.setdefault(self._unwrapped(number), time)

    def _unwrapped(self, number: int) -> int:
        if self._last is not None:
            number += round((self._last - number) / _WRAP) * _WRAP
        self._last = number
        return number

    @property
    def timed(self) -> bool:
        """Whether a time was printed."""
        return any(map(math.isfinite, self.times.values()))

    @property
    def step(self) -> float:
        """Seconds from one probe to the next; 1 s, the tools' own choice, where nothing says it."""
        return self.interval if math.isfinite(self.interval) else 1.0

    def samples(self, begin: float | None = None) -> tuple[FloatArray, FloatArray]:
        """Return times (s) and delays (s, NaN of lost ones), of every number there must have been.

        Parameters
        ----------
        begin : float, optional
            The time of the first probe (s), of a run whose times were not printed. Default: as
            printed, and in between where a lost probe had no line.
        """
        numbers = self._numbers()
        delays = np.array([self.delays.get(number, math.nan) for number in numbers.tolist()])
        if begin is not None:
            return begin + self.step * (numbers - numbers[0]), delays
        timed = [number for number in sorted(self.times) if math.isfinite(self.times[number])]
        known = np.array([self.times[number] for number in timed])
        times = np.interp(numbers, timed, known)
        step = self.step
        if len(timed) > 1:
            step = float(known[-1] - known[0]) / (timed[-1] - timed[0])
        before, behind = numbers < timed[0], numbers > timed[-1]
        times[before] = known[0] + step * (numbers[before] - timed[0])
        times[behind] = known[-1] + step * (numbers[behind] - timed[-1])
        return times, delays

    def _numbers(self) -> IntArray:
        """Return the numbers from the first to the last that was sent."""
        seen = sorted(self.times)
        most = _MOST_LOST + len(seen)
        for last in (max(seen[-1], seen[0] + self.sent - 1), seen[-1]):
            if last - seen[0] < most:
                return np.arange(seen[0], last + 1)
        return np.array(seen)  # damaged: so many are not lost in a row


def add_probes(
    read: Measurement, runs: Mapping[str, Sequence[Probes]], *, prefix: str = ""
) -> None:
    """Add what each target answered, and warn of what the text leaves out.

    Parameters
    ----------
    read : Measurement
    runs : mapping
        The runs towards each target, in the order of the text.
    prefix : str
        Before each target in the label.
    """
    every = [run for each in runs.values() for run in each]
    timed = all(run.timed for run in every)
    read.clock = "unix" if timed else "relative"
    if not timed:
        said = all(math.isfinite(run.interval) for run in every)
        read.warn(
            f"{read.tool} printed no times (option -D does): they are made of the sequence"
            " numbers, "
            + (
                "and of the time that its summary says."
                if said
                else "one second from one to the next."
            )
        )
    for target, each in runs.items():
        rows: list[tuple[FloatArray, FloatArray]] = []
        for run in each:
            behind = float(rows[-1][0][-1]) + run.step if rows else 0.0
            rows.append(run.samples(None if timed else behind))
        times, delays = (np.concatenate(columns) for columns in zip(*rows, strict=True))
        read.add("delay", prefix + target, times, delays)
    if any(run.coarse for run in every):
        read.warn(
            f"{read.tool} printed whole milliseconds from {1e3 * _COARSE:g} ms on: there, delays"
            " are known to 1 ms."
        )
