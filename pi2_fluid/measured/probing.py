"""Round trips as ping and fping print them: answers, with or without times, and what was lost."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pi2_fluid.measured.dataset import Measurement

__all__ = ["Probes", "add_probes"]

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
    >>> times, delays = probes.samples(lambda count: count * 1.0)
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

    def samples(self, untimed: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return times (s) and delays (s, NaN of lost ones), of every number there must have been.

        Parameters
        ----------
        untimed : callable
            The times of numbers, where fewer than two have one.
        """
        seen = sorted(self.times)
        last = max(seen[-1], seen[0] + self.sent - 1)
        if last - seen[0] > _MOST_LOST + len(seen):
            last = seen[-1]
        numbers = (
            np.arange(seen[0], last + 1)
            if last - seen[0] <= _MOST_LOST + len(seen)
            else np.array(seen)
        )
        delays = np.array([self.delays.get(int(number), math.nan) for number in numbers])
        timed = np.array([number for number in seen if math.isfinite(self.times[number])])
        known = np.array([self.times[int(number)] for number in timed])
        if timed.size == 0:
            return untimed(numbers), delays
        times = np.interp(numbers, timed, known)
        step = _step(timed, known, self.interval)
        times[numbers < timed[0]] = known[0] + (numbers[numbers < timed[0]] - timed[0]) * step
        times[numbers > timed[-1]] = known[-1] + (numbers[numbers > timed[-1]] - timed[-1]) * step
        return times, delays


def _step(numbers: np.ndarray, times: np.ndarray, interval: float) -> float:
    """Return the seconds between probes."""
    if numbers.size > 1:
        return float(times[-1] - times[0]) / float(numbers[-1] - numbers[0])
    return interval if math.isfinite(interval) else 1.0


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
    timed = [any(map(math.isfinite, run.times.values())) for each in runs.values() for run in each]
    read.clock = "unix" if all(timed) else "relative"
    if not all(timed):
        known = [run.interval for each in runs.values() for run in each]
        read.warn(
            f"{read.tool} printed no times (option -D does): they are made of the sequence"
            " numbers, "
            + (
                "and of the time that its summary says."
                if all(map(math.isfinite, known))
                else "one second from one to the next."
            )
        )
    for target, each in runs.items():
        rows, begin = [], 0.0
        for run in each:
            step = run.interval if math.isfinite(run.interval) else 1.0
            rows.append(
                run.samples(lambda count, at=begin, by=step: at + (count - count[0]) * by)  # type: ignore[misc]
            )
            begin = float(rows[-1][0][-1]) + step
        times, delays = (np.concatenate(columns) for columns in zip(*rows, strict=True))
        read.add("delay", prefix + target, times, delays)
    if any(run.coarse for each in runs.values() for run in each):
        read.warn(
            f"{read.tool} printed whole milliseconds from {1e3 * _COARSE:g} ms on: there, delays"
            " are known to 1 ms."
        )
