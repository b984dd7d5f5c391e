"""Margins of sampled loops against thousands of aliases, summed as the sum is defined.

Nothing is shared with the package: the loops are written down from docs/theory.md, no tail is in
closed form, and crossovers are looked for on a grid that is dense up to pi/T. As a script,
`python tests/loop/test_brute_force.py 20000` does the same for so many loops, and prints the worst.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import pi2_fluid as pf
from pi2_fluid.design.plants import make_plants
from pi2_fluid.design.region import scan

PAIRS = 2000  # of aliases: what is left out is below 1e-7 of L
# Measured, with a margin: over these random loops `Loop` is off by up to 2e-8 dB and 2e-8 degrees,
# `scan` by up to 3e-6 dB and 4e-6 degrees. No bound gives these numbers. 1e-7 of L, what the pairs
# leave out at most, would alone be 9e-7 dB and 6e-6 degrees, but that is where T is 10 R and w near
# pi/T; at most crossovers it is far less. The few aliases of `scan` may leave out 4e-7 of L.
TOLERANCES = (1e-7, 1e-7, 1e-5, 3e-5)
_FEW = 80  # of them, where crossovers are looked for
LAWS = {
    "reno pi": (pf.Reno(), pf.Pi),
    "reno pi2": (pf.Reno(), pf.Pi2),
    "creno pi2": (pf.CReno(), pf.Pi2),
    "reno coupled": (pf.Reno(), pf.CoupledPi2),
    "scalable coupled": (pf.Scalable(), pf.CoupledPi2),
    "scalable pie": (
        pf.Scalable(),
        lambda **gains: pf.Pie(table="none", derandomize=False, **gains),
    ),
    "scalable spread pie": (pf.Scalable(), lambda **gains: pf.Pie(table="none", **gains)),
}


@dataclass(frozen=True)
class Case:
    """One loop, and what it takes to write it down."""

    law: str
    terms: str
    alpha: float
    beta: float
    T: float
    R: float
    p_prime: float

    def __call__(self, w: Any, pairs: int = PAIRS) -> Any:
        """L_d, from (35)-(37) and the definition of the sampled loop."""
        w = np.atleast_1d(np.asarray(w, float))
        s = 1j * (w + 2 * np.pi * np.arange(-pairs, pairs)[:, None] / self.T)
        e, sR = np.exp(-s * self.R), s * self.R
        p = self.p_prime
        if self.law.startswith("scalable"):
            k = 2.0 if self.law.endswith("coupled") else 1.0
            kappa, D = k / p, 2 * sR / p + e
            if "spread" in self.law:  # flows hear u/1.85 up to u = 0.85, then a straight line to 1
                end = 0.85 / 1.85
                kappa *= 1 / 1.85 if p < end else (1 - end) / (1 - 0.85)
            if self.terms == "exact":
                D = D + (1 - e) / (1 + sR)
        else:
            b = 0.3 if self.law.startswith("creno") else 0.5
            kappa = 1 / (2 * p * p) if self.law.endswith("pi") else 1 / p
            D = sR / (2 * np.sqrt(b) * p) + (1 + e) / 2
            if self.terms == "exact":
                D = D + (1 - e) / (2 * (1 + sR))
        plant = kappa * self.R * e / (D * (1 + sR))
        y = np.exp(-1j * w * self.T)
        # (1 - y)/s held, alpha + beta (1 - y) over 1 - y the update: 1 - y cancels.
        return (self.alpha + self.beta * (1 - y)) * np.sum(plant / s, axis=0) / self.T

    def loop(self) -> pf.Loop:
        sender, aqm = LAWS[self.law]
        gains = {"alpha": self.alpha, "beta": self.beta, "update_interval": self.T}
        return pf.Loop(
            sender, aqm(**gains), rtt=self.R, p_prime=self.p_prime, update="sampled",
            rtt_terms=self.terms,
        )  # fmt: skip

    def scanned(self) -> tuple[float, float]:
        sender, aqm = LAWS[self.law]
        law = aqm(alpha=self.alpha, beta=self.beta, update_interval=self.T)
        plants = make_plants((sender,), law, self.R, [np.array([self.p_prime])])
        found = scan(plants, self.alpha, self.beta, self.T, "sampled")
        return float(found.gain_margin_db[0]), float(found.phase_margin_deg[0])

    def margins(self) -> tuple[float, float] | None:
        """(dB, degrees) by brute force; None of loops that cross more than once."""
        end = np.pi / self.T
        low = 1e-3 * min(self.p_prime / self.R, 1 / self.T, self.alpha * self.R / self.T)
        grid = np.concatenate(
            [
                np.geomspace(low, 0.9 * end, 140),
                np.arange(0.02, 1.0, min(0.02, 0.06 * self.T / self.R)) * end,
                (1 - np.geomspace(1e-5, 0.3, 25)) * end,
            ]
        )
        w = np.unique(grid)
        values = self(w, _FEW)
        phase = np.unwrap(np.angle(values))
        assert abs(phase[0] + np.pi / 2) < 0.1  # one integrator, from its asymptote on

        def logarithm(x: float) -> float:
            return float(np.log(np.abs(self(x)[0])))

        def imaginary(x: float) -> float:
            return float(self(x)[0].imag)

        gain = np.log(np.abs(values))
        cells = np.flatnonzero(gain[:-1] * gain[1:] < 0)
        if cells.size > 1:
            return None
        pm = np.inf
        for cell in cells:
            at = brentq(logarithm, w[cell], w[cell + 1], xtol=1e-14 * end)
            angle = float(np.angle(self(at)[0]))
            angle += 2 * np.pi * round((phase[cell] - angle) / (2 * np.pi))
            pm = 180.0 + float(np.degrees(angle))
        cells = np.flatnonzero(
            (values.imag[:-1] * values.imag[1:] < 0)
            & ((values.real[:-1] < 0) | (values.real[1:] < 0))
        )
        sizes = []
        for cell in cells:
            ends = w[cell], w[cell + 1]
            if imaginary(ends[0]) * imaginary(ends[1]) < 0:
                value = self(brentq(imaginary, *ends, xtol=1e-14 * end))[0]
                sizes += [abs(value)] if value.real < 0 else []
        last = self(end)[0]
        # The aliases are paired about pi/T: what is left is rounding, of a sum that may cancel.
        assert abs(last.imag) < 1e-11 * abs(last)
        sizes += [-last.real] if last.real < 0 else []
        if sum(size > 1 for size in sizes) > 1:
            return None
        return (-20 * float(np.log10(max(sizes))) if sizes else np.inf), pm


def random_cases(count: int, seed: int = 1) -> list[Case]:
    """Loops of every law and both RTT terms, with T from R/10 to 10 R."""
    rng = np.random.default_rng(seed)
    cases = []
    for number in range(count):
        T = 10 ** rng.uniform(-3, -1)
        alpha = 10 ** rng.uniform(-3, 0)
        cases.append(
            Case(
                law=list(LAWS)[number % len(LAWS)],
                terms=("frozen", "exact")[number // len(LAWS) % 2],
                alpha=alpha,
                beta=alpha * 10 ** rng.uniform(0, 1.7),
                T=T,
                R=T * 10 ** rng.uniform(-1, 1),
                p_prime=10 ** rng.uniform(-2.5, 0),
            )
        )
    return cases


def difference(a: float, b: float) -> float:
    return 0.0 if a == b else abs(a - b)


def differences(case: Case) -> tuple[float, float, float, float] | None:
    """Of `Loop` and of `scan`, in dB and degrees; None of what crosses more than once."""
    found = case.margins()
    if found is None:
        return None
    mine = case.loop().margins()
    pairs = [(mine.gain_margin_db, mine.phase_margin_deg)]
    pairs += [case.scanned() if case.terms == "frozen" else found]
    return tuple(difference(a, b) for pair in pairs for a, b in zip(pair, found, strict=True))  # type: ignore[return-value]


def survey(cases: list[Case]) -> tuple[Any, list[Case]]:
    """Return the differences, shape (n, 4), and the cases with one crossing, which they are of."""
    with warnings.catch_warnings(action="ignore", category=pf.AssumptionWarning):
        found = [differences(case) for case in cases]
    kept = [case for case, one in zip(cases, found, strict=True) if one is not None]
    return np.array([one for one in found if one is not None]), kept


@pytest.mark.slow
def test_random_loops() -> None:
    errors, kept = survey(random_cases(120))
    assert len(kept) > 110
    assert np.all(np.max(errors, axis=0) < TOLERANCES)


@pytest.mark.slow
@pytest.mark.parametrize("fraction", [1e-4, 3.1e-3, 0.0312, 0.107])
def test_a_crossing_just_below_half_the_sampling_frequency(fraction: float) -> None:
    """The load is chosen to put it there, where no grid of frequencies has its points."""

    def across(p_prime: float) -> float:
        value = Case("reno pi2", "frozen", 0.3125, 3.125, 0.032, R, p_prime)(w)[0]
        return float(value.imag)

    w, found = (1.0 - fraction) * np.pi / 0.032, 0
    for R in np.linspace(0.004, 0.009, 11):
        loads = np.geomspace(0.02, 1.0, 12)
        signs = np.sign([across(p) for p in loads])
        for cell in np.flatnonzero(signs[:-1] * signs[1:] < 0):
            p = brentq(across, loads[cell], loads[cell + 1], xtol=1e-15)
            case = Case("reno pi2", "frozen", 0.3125, 3.125, 0.032, R, p)
            with warnings.catch_warnings(action="ignore", category=pf.AssumptionWarning):
                _, phases = case.loop().crossovers()
                error = differences(case)
            assert any(x == pytest.approx(w, rel=1e-6 * fraction**-0.5) for x in phases)
            assert error is not None
            assert max(error[0], error[2]) < 1e-5
            found += 1
    assert found >= 3


@pytest.mark.slow
def test_five_hundred_random_loops() -> None:
    errors, _ = survey(random_cases(500, seed=2))
    assert np.all(np.max(errors, axis=0) < TOLERANCES)


def test_the_phase_of_a_loop_far_beyond_its_margin_is_not_wrapped() -> None:
    """Its gain crossover lies a turn away from that of the loop without sampling."""
    case = Case("reno pi", "frozen", 0.65471694, 15.51036066, 0.04347084, 0.04554786, 0.00700525)
    _, phase = case.margins() or (0.0, 0.0)
    assert phase < -180.0
    assert case.scanned()[1] == pytest.approx(phase, abs=TOLERANCES[3])


def report(count: int, seed: int) -> None:
    """Print the largest differences, and the loops that they are of."""
    errors, cases = survey(random_cases(count, seed))
    print(f"{len(cases)} of {count} loops cross once")
    for column, what in enumerate(("Loop, dB", "Loop, degrees", "scan, dB", "scan, degrees")):
        for index in np.argsort(errors[:, column])[:-4:-1]:
            print(f"{what:13} {errors[index, column]:.3g}  {cases[index]}")


if __name__ == "__main__":
    report(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
