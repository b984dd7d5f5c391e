"""Random rational loops with a delay against a dense grid, roots, and the argument principle.

Nothing is shared with the search: gain crossovers are roots of a polynomial in w^2, phases are sums
over poles and zeros, which need no unwrapping, and what grows at a gain is counted by the argument
of d + g n e^{-sR}. As a script,
`python tests/loop/test_random_loops.py 1000` does the same for so many loops, and prints what is
refused.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from rational_loops import distance_of, margins_of, rational_loop

import pi2_fluid as pf

PER_DECADE = 300
PER_RADIAN = 6
MOST = 40_000  # frequencies: a loop that takes more is not drawn


@dataclass(frozen=True)
class Case:
    """gain * prod(s - zeros)/prod(s - poles) e^{-s delay}."""

    zeros: Any
    poles: Any
    gain: float
    delay: float

    def __call__(self, w: Any) -> Any:
        s = 1j * np.asarray(w, float)
        top, bottom = (np.prod(s[..., None] - roots, axis=-1) for roots in (self.zeros, self.poles))
        return self.gain * top / bottom * np.exp(-s * self.delay)

    @property
    def sides(self) -> tuple[Any, Any]:
        top, bottom = np.real(np.poly(self.zeros)), np.real(np.poly(self.poles))
        return np.atleast_1d(self.gain * top), np.atleast_1d(bottom)

    @property
    def limit(self) -> float:
        """What |L| tends to."""
        return abs(self.gain) if len(self.zeros) == len(self.poles) else 0.0

    @cached_property
    def end(self) -> float:
        """Where |L| is below a hundredth, or where it is what it tends to, for good."""
        far = 1e3 * max(np.max(np.abs(self.poles)), np.max(np.abs(self.zeros), initial=0.0))
        w = np.geomspace(1e-3 * far, 1e6 * far, 2000)
        small = np.abs(self(w)) < max(1e-2, 1.0001 * self.limit)
        return float(max(w[np.argmax(small)], 20.0 / self.delay))

    @cached_property
    def grid(self) -> Any:
        corners = np.concatenate([self.poles, self.zeros])
        sizes = np.abs(corners[np.abs(corners) > 0.0])
        low = 1e-5 * min(np.min(sizes, initial=1.0), 1.0 / self.delay)
        points = int(PER_DECADE * np.log10(self.end / low))
        turns = min(int(PER_RADIAN * self.end * self.delay), MOST)
        around = np.abs(corners.imag)[:, None] + np.abs(corners.real)[:, None] * np.linspace(
            -3, 3, 61
        )
        parts = (
            np.geomspace(low, self.end, points),
            np.linspace(low, self.end, turns),
            around.ravel(),
        )
        w = np.unique(np.concatenate(parts))
        return w[(w >= low) & (w <= self.end)]

    def phase(self, w: Any) -> Any:
        """Continuous from -90 degrees for each pole at 0, below the axis, on."""

        def angle(roots: Any) -> Any:  # of jw - r, from that of 0 - r, pairs together
            real, imag = np.real(roots), np.imag(roots)
            return np.sum(np.where(real == 0.0, 0.5 * np.pi, np.sign(-real) * np.arctan2(
                w[..., None] - imag, np.abs(real))), axis=-1)  # fmt: skip

        value = self(1e-9 * self.grid[:1])[0] * (1e-9j * self.grid[0]) ** np.sum(self.poles == 0.0)
        return angle(self.zeros) - angle(self.poles) - w * self.delay - np.pi * (value.real < 0.0)

    @cached_property
    def factors(self) -> Any:
        """Factors at which L is -1 somewhere, rising, and how many modes then begin to grow."""
        turns = (self.phase(self.grid) - np.pi) / (2.0 * np.pi)
        level = np.maximum(np.floor(turns[:-1]), np.floor(turns[1:]))
        cells = np.flatnonzero(np.floor(turns[:-1]) != np.floor(turns[1:]))
        low, high, level = self.grid[cells], self.grid[cells + 1], level[cells]
        falls = turns[cells] > level
        for _ in range(60):
            middle = 0.5 * (low + high)
            above = (self.phase(middle) - np.pi) / (2.0 * np.pi) > level
            low, high = (
                np.where(above == falls, middle, low),
                np.where(above == falls, high, middle),
            )
        gains, enters = np.abs(self(low)), np.where(falls, 2, -2)
        at_rest = self(np.array([1e-12 * self.grid[0]]))[0]
        if not np.any(self.poles == 0.0) and at_rest.real < 0.0:
            gains = np.append(abs(at_rest), gains)
            enters = np.append(np.where(turns[0] < np.round(turns[0]), 1, -1), enters)
        if self.limit:
            gains, enters = np.append(gains, self.limit), np.append(enters, 2)
        order = np.argsort(1.0 / gains)
        return 1.0 / gains[order], enters[order]

    @cached_property
    def gain_crossings(self) -> Any:
        """Roots of |n|^2 - |d|^2 in w^2."""
        top, bottom = (np.polymul(side, side * (-1.0) ** np.arange(len(side) - 1, -1, -1))
                       for side in self.sides)  # fmt: skip
        squares = np.roots(np.polysub(top, bottom)[-1::-2][::-1])  # in s^2 = -w^2
        near = np.abs(squares.imag) < 1e-7 * np.abs(squares)
        return np.sort(np.sqrt(-squares.real[near & (squares.real < 0.0)]))

    def unstable(self, factor: float) -> int:
        """How many modes grow with so many times the gain."""
        w, scale = self.grid, 1.0 / self.delay
        values = 1.0 + factor * self(w)
        values = values * np.prod(
            (1j * w[:, None] - self.poles) / (1j * w[:, None] + scale), axis=-1
        )
        change = np.sum(np.angle(values[1:] / values[:-1]))
        ends = np.angle(values[[0, -1]]) / np.pi
        rest = ends - np.round(ends)
        return round(float(-change / np.pi + rest[1] - rest[0]))

    def loop(self) -> Any:
        pole = float(np.max(np.abs(self.poles), initial=1.0 / self.delay))
        return rational_loop(*self.sides, self.delay, pole)


def draw(rng: Any) -> Case:
    """Poles and zeros over two decades, a delay from far below on, a gain that matters."""
    while True:
        poles: list[complex] = [0.0] * int(rng.choice([0, 1, 2], p=[0.45, 0.45, 0.1]))
        poles += some(rng, int(rng.integers(1, 5)), unstable=0.15)
        room = len(poles) if rng.random() < 0.2 else len(poles) - 1
        zeros = some(rng, int(rng.integers(0, room + 1)), unstable=0.15)[:room]
        if sum(np.imag(zeros)) != 0.0:
            zeros = zeros[:-1]
        delay = 10 ** rng.uniform(-4.0, 0.8)
        case = Case(np.array(zeros, complex), np.array(poles, complex), 1.0, delay)
        at = abs(case(np.array([10 ** rng.uniform(-1.0, 1.0)]))[0])
        case = Case(
            case.zeros, case.poles, float(rng.choice([-1.0, 1.0], p=[0.1, 0.9])) / at, delay
        )
        if case.limit >= 0.95:
            case = Case(case.zeros, case.poles, rng.uniform(0.05, 0.9), delay)
        if case.end * delay * PER_RADIAN < MOST:
            return case


def some(rng: Any, count: int, unstable: float) -> list[complex]:
    """Roots, some in pairs that are hardly damped, some on the right."""
    found: list[complex] = []
    while len(found) < count:
        size = 10 ** rng.uniform(-1.0, 1.0)
        side = 1.0 if rng.random() < unstable else -1.0
        if rng.random() < 0.4 and len(found) + 2 <= count:
            damping = 10 ** rng.uniform(-2.0, 0.0)
            root = size * complex(side * damping, np.sqrt(1.0 - damping**2))
            found += [root, root.conjugate()]
        else:
            found.append(complex(side * size))
    return found


def disagreements(case: Case) -> list[str]:
    """What the search says that is not so; an error where it refuses."""
    loop = case.loop()
    found, wrong = margins_of(loop), []
    unstable = case.unstable(1.0)
    if found.unstable != unstable:
        wrong.append(f"{found.unstable} modes grow, {unstable} do")
    upper, lower = 10 ** (found.gain_margin_db / 20.0), 10 ** (found.lower_gain_margin_db / 20.0)
    for name, margin, expected in zip(
        ("upper", "lower"), (upper, lower), nearest(case, unstable), strict=True
    ):
        if not np.isclose(margin, expected, rtol=2e-4 if case.limit else 1e-6, atol=0.0):
            wrong.append(f"{name} {margin}, should be {expected}")
    phases = 180.0 + np.degrees(case.phase(case.gain_crossings))
    if unstable == 0:
        phases = phases % 360.0
    expected = np.min(phases, initial=np.inf)
    if not np.isclose(found.phase_margin_deg, expected, rtol=1e-6, atol=1e-5):
        wrong.append(f"phase margin {found.phase_margin_deg}, should be {expected}")
    near = np.argsort(np.abs(1.0 + case(case.grid)))[:20]
    ends = case.grid[np.maximum(near - 1, 0)], case.grid[np.minimum(near + 1, case.grid.size - 1)]
    dense = float(np.min(np.abs(1.0 + case(np.linspace(*ends, 501)))))
    dense = min(dense, 1.0 - case.limit, abs(1.0 + case(np.array([1e-12 * case.grid[0]]))[0]))
    modulus = distance_of(loop)
    if not np.isclose(modulus, dense, rtol=1e-4, atol=1e-4):
        wrong.append(f"|1 + L| {modulus}, should be {dense}")
    return wrong


def nearest(case: Case, unstable: int) -> tuple[float, float]:
    """The factors either way at which the count becomes, or ceases to be, 0."""
    factors, enters = case.factors
    one = int(np.searchsorted(factors, 1.0))
    above, below = factors[one:], factors[:one][::-1]
    if unstable == 0:
        return (above[0] if above.size else np.inf), (below[0] if below.size else 0.0)
    at_more = unstable + np.cumsum(enters[one:])
    at_less = unstable - np.cumsum(enters[:one][::-1])
    upper, lower = 0.0, np.inf
    for ends, counts, last in ((below, at_less, 0.01), (above, at_more, 100.0)):
        good = np.flatnonzero(counts == 0)
        for place in [
            *good[:1],
            *good[-1:],
            *range(min(2, ends.size)),
        ]:  # by the argument principle, too
            far = ends[place + 1] if place + 1 < ends.size else last * ends[place]
            between = float(np.sqrt(ends[place] * far))
            faded = between * abs(case(case.grid[-1:])[0]) < 0.5
            if faded and abs(np.log(far / ends[place])) > 1e-3:
                assert case.unstable(between) == counts[place]
        if good.size and last < 1.0:
            upper = float(ends[good[-1]])
        elif good.size:
            lower = float(ends[good[0]])
    return upper, lower


def ask(size: int, seed: int) -> tuple[list[str], list[str]]:
    """Return what is wrong, and what was refused, of so many loops."""
    rng = np.random.default_rng(seed)
    wrong, refused = [], []
    for number in range(size):
        case = draw(rng)
        try:
            wrong += [f"{number}: {text}: {case}" for text in disagreements(case)]
        except pf.SolverError as error:
            refused.append(f"{number}: {error}")
    return wrong, refused


@pytest.mark.parametrize("seed", [1, 2])
def test_some_are_what_a_dense_grid_and_roots_say(seed):
    assert ask(12, seed) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(11, 21))
def test_a_thousand_are_what_a_dense_grid_and_roots_say(seed):
    assert ask(100, seed) == ([], [])


if __name__ == "__main__":
    told, declined = ask(int(sys.argv[1]), 0)
    print(*told, *declined, f"{len(told)} wrong, {len(declined)} refused", sep="\n")
