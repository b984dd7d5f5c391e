"""One Reno flow as a Markov chain: its mean window at a probability, and how that answers.

A loop has one window for all flows, which moves by its mean. Flows draw their signals one by one,
so that their windows scatter; a window that hears one is cut over the next acknowledgements, and
neither grows nor hears more meanwhile; it is a whole number, and counts a window's
acknowledgements before it grows by one. With few segments that is much of what it does. All times
are in round-trip times.

Source: what Linux does (net/ipv4/tcp_input.c, tcp_cong.c): tcp_cwnd_reduction and RFC 6937;
tcp_init_cwnd_reduction, which clears snd_cwnd_cnt; tcp_reno_ssthresh, cwnd >> 1, at least 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from pi2_fluid.values import ComplexArray, FloatArray

_LEAST: Final = 2  # segments, below which no window is cut
_FINE: Final = 4  # states a segment, where windows are no whole numbers
_COUNTED: Final = 8  # phases of the counter of acknowledgements until the window grows
_STEPS: Final = 12  # of a reduction at most, each of ...
_PHASES: Final = 3  # ... so many exponential times
_MORE: Final = 6  # segments beyond the largest of many mean windows
_NEARLY: Final = 1e-6  # of a round trip's inverse: 0, where shares are asked, ...
_TIMES: Final = 3  # ... in so many steps
_ROUND: Final = 1e-6  # 0.7 of 30 is 21


class Rules(NamedTuple):
    """What a flow is taken to do beside growing each round trip and being cut at a signal."""

    pauses: bool = True
    """While a reduction is carried out it does not grow, nor hear another signal."""
    whole: bool = True
    """Windows are whole numbers: half of an odd one is rounded down, and 2 is the least."""
    counts: bool = True
    """It grows when a window has been acknowledged since the last growth or reduction."""


class Law(NamedTuple):
    """By how much it grows and is cut, and whether signals are losses."""

    decrease: float = 0.5
    """Part of the window that a signal takes."""
    increase: float = 1.0
    """Segments a round trip."""
    noticed: float | None = None
    """How long after its acknowledgement was due a loss is noticed; None: signals are marks."""


_USUAL: Final = Law()


class Chain:
    """The states of a flow, and the rates from each to others, in 1/round-trip time.

    Parameters
    ----------
    window : float
        Mean (segments), for which there are states enough.
    rules : Rules
        What it does.
    law : Law
        By how much.
    """

    reach: ClassVar = 3.2
    """Mean windows up to which there are states, and some more."""

    def __init__(self, window: float, rules: Rules, law: Law = _USUAL) -> None:
        self.window, self.rules, self.law = window, rules, law
        self._reduced: dict[int, list[tuple[float, float]]] = {}
        self.step = 1 if rules.whole else _FINE
        self.lowest = _LEAST if rules.whole else 1
        self.highest = self.step * max(12, int(self.reach * window) + _MORE)
        self._number: dict[tuple[int, ...], int] = {}
        self._windows: list[float] = []
        moves = list(self._moves())
        rows, columns, free, heard = (np.array(column) for column in zip(*moves, strict=True))
        size = len(self._windows)
        self.windows: FloatArray = np.array(self._windows)
        self._free, self._heard = (
            _generator(rows, columns, rates, size) for rates in (free, heard)
        )

    def _state(self, window: float, *key: int) -> int:
        """Return the number of a state, a new one if there was none."""
        if key not in self._number:
            self._number[key] = len(self._windows)
            self._windows.append(window)
        return self._number[key]

    def _moves(self) -> Iterator[tuple[int, int, float, float]]:
        """Yield from, to, rate, and what of the rate is for each unit of the probability."""
        step = self.step
        phases = _COUNTED if self.rules.whole and self.rules.counts else 1
        for i in range(self.lowest, self.highest + 1):
            window, new = i / step, self._after(i)
            reduction = self._reductions(i) if self.rules.pauses else []
            first = self._state(reduction[0][1], i, 1, 0) if reduction else self._open(new, 0)
            for phase in range(phases):
                here = self._open(i, phase)
                if i < self.highest:
                    ahead = (i, phase + 1) if phase + 1 < phases else (i + 1, 0)
                    yield here, self._open(*ahead), phases * step * self.law.increase, 0.0
                yield here, first, 0.0, window
            for k, (lasts, held) in enumerate(reduction):
                here = self._state(held, i, 1, k)
                last = k + 1 == len(reduction)
                after = (
                    self._open(new, 0) if last else self._state(reduction[k + 1][1], i, 1, k + 1)
                )
                yield here, after, 1.0 / lasts, 0.0

    def _open(self, i: int, phase: int) -> int:
        return self._state(i / self.step, i, 0, phase)

    def _after(self, i: int) -> int:
        """Return what a cut leaves."""
        return max(int(i * (1.0 - self.law.decrease) + _ROUND), self.lowest)

    def _reductions(self, i: int) -> list[tuple[float, float]]:
        if i not in self._reduced:
            self._reduced[i] = list(self._reduction(i, self._after(i)))
        return self._reduced[i]

    def _reduction(self, i: int, new: int) -> Iterator[tuple[float, float]]:
        """Yield how long each part of a reduction lasts, and what is in flight meanwhile.

        It ends with the acknowledgement of what was sent last before it, of marks 1/W of a round
        trip before a whole one. Until then PRR sends what its part of the new window allows,
        rounded up. A lost packet is out of flight from the beginning, which is one of those cut.
        """
        window, target = i / self.step, new / self.step
        acks = max(int(window) - 1, 1)
        heard = np.arange(1, acks + 1)
        sent = target * heard / window
        sent = np.ceil(sent) if self.rules.whole else sent
        lasts, flight = max(1.0 - 1.0 / window, 0.5), window
        if self.law.noticed is not None:
            lasts, flight = 1.0, window - 1.0
            if self.law.noticed > 0.0:
                yield from _spread(self.law.noticed, flight)
        held = np.maximum(flight - heard + sent, min(target, flight))
        for part in np.array_split(held, min(acks, _STEPS)):
            yield from _spread(len(part) / acks * lasts, float(part.mean()))

    # What it says

    def shares(self, p: float) -> FloatArray:
        """Return the part of the time in each state, at a probability of signals."""
        solve = self._solver(p, _NEARLY)
        found: FloatArray = np.full(len(self.windows), 1.0)
        for _ in range(_TIMES):  # inverse iteration: each time nearer by _NEARLY over what decays
            found = solve(found)
            found = found / found.sum()
        return found

    def _solver(self, p: float, s: complex) -> Callable[[Any], Any]:
        """Return what solves (s - the chain's rates) x = y."""
        from scipy.sparse import identity
        from scipy.sparse.linalg import splu  # 0.1 s to import

        rates: Any = self._free + p * self._heard
        system: Any = s * identity(len(self.windows)) - rates.T
        solve: Callable[[Any], Any] = splu(system.tocsc(), permc_spec="MMD_AT_PLUS_A").solve
        return solve

    def mean(self, p: float) -> float:
        """Return the mean window at a probability of signals."""
        return float(self.shares(p) @ self.windows)

    @cached_property
    def p(self) -> float:
        """The probability at which the mean window is as said."""
        from scipy.optimize import brentq

        def excess(log_p: float) -> float:
            return self.mean(float(np.exp(log_p))) - self.window

        usual = self.law.increase / self.law.decrease / self.window**2  # of one mean window
        low, high = (float(np.log(part * usual)) for part in (0.15, 3.0))
        return float(np.exp(brentq(excess, low, high, xtol=1e-5)))

    def answer(self, angles: FloatArray, p: float | None = None) -> ComplexArray:
        """Return dln(mean window)/dln(p) at s R = j times each of some angles.

        `p` is where, by default where the mean window is as said.
        """
        p = self.p if p is None else p
        shares = self.shares(p)
        driven = (p * (self._heard.T @ shares)).astype(complex)
        found: ComplexArray = np.empty(len(angles), dtype=complex)
        for k, angle in enumerate(angles):
            solved: Any = self._solver(p, 1j * angle)(driven)
            found[k] = self.windows @ solved / (self.windows @ shares)
        return found

    # In flight: what is lost is missing from there on, a sender knows a round trip later

    def flight(self, p: float, early: float = 1.0) -> float:
        """Return the mean of what is under way; losses are `early` before their due times."""
        return self.mean(p) * (1.0 - p * self._early(early))

    def answer_in_flight(
        self, angles: FloatArray, p: float | None = None, early: float = 1.0
    ) -> ComplexArray:
        """Return `answer` of what is under way, over p as it is heard."""
        p = self.p if p is None else p
        early = self._early(early)
        answer = self.answer(angles, p)
        missing = p * np.expm1(1j * angles * early) / (1j * angles)
        found: ComplexArray = (answer - missing * (1.0 + answer)) / (1.0 - p * early)
        return found

    def _early(self, early: float) -> float:
        return 0.0 if self.law.noticed is None else early


def _spread(lasts: float, held: float) -> Iterator[tuple[float, float]]:
    for _ in range(_PHASES):
        yield lasts / _PHASES, held


def _generator(
    rows: FloatArray, columns: FloatArray, rates: FloatArray, size: int
) -> csr_matrix[np.float64]:
    """Return the matrix of rates, whose rows add up to 0."""
    from scipy.sparse import csr_matrix, diags

    places = (rows.astype(int), columns.astype(int))
    matrix: Any = csr_matrix((rates, places), shape=(size, size))
    found: csr_matrix[np.float64] = (matrix - diags(matrix @ np.ones(size))).tocsr()
    return found


def reduction_spread(angles: FloatArray) -> ComplexArray:
    """Return what it makes of a cut to be spread over one round trip, P of docs/theory_acks.md."""
    s = 1j * angles
    result: ComplexArray = -np.expm1(-s) / s
    return result
