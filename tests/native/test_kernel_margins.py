"""The compiled margins against an independent solution in 30 digits, and against the figures."""

from __future__ import annotations

import csv
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

from pi2_fluid import _core

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

DATA = Path(__file__).parents[1] / "data"
MU_MAX = {False: 0.7072, True: 0.5}
NAMES = ["gm_db", "pm_deg", "w_gc", "w_pc"]


@dataclass(frozen=True)
class Points:
    """Loops of one plant, arrays of one length: what `_core.margins` takes."""

    scalable: bool
    m: npt.NDArray[np.float64]
    mu: npt.NDArray[np.float64]
    a: npt.NDArray[np.float64]
    c: npt.NDArray[np.float64]
    rtt: npt.NDArray[np.float64]

    def __getitem__(self, key: slice | npt.NDArray[np.intp]) -> Points:
        columns = (self.m, self.mu, self.a, self.c, self.rtt)
        return Points(self.scalable, *(np.ascontiguousarray(x[key]) for x in columns))

    def margins(self, simd: str | None = None) -> npt.NDArray[np.float64]:
        """Return an array (4, n): gm_db, pm_deg, w_gc, w_pc."""
        out = np.full((4, len(self.m)), np.nan)
        _core.margins(
            self.scalable,
            self.m,
            self.mu,
            self.a,
            self.c,
            self.rtt,
            out[0],
            out[1],
            out[2],
            out[3],
            simd,
        )
        return out


def spread(rng: np.random.Generator, low: float, high: float, n: int) -> npt.NDArray[np.float64]:
    """Numbers whose logarithm is uniform."""
    return np.exp(rng.uniform(np.log(low), np.log(high), n))


def ordinary(scalable: bool, n: int, seed: int) -> Points:
    """Loops as people build them: p' 1e-3..1, R 5..200 ms, T = 32 ms; most are stable."""
    rng = np.random.default_rng(seed)
    p_prime, rtt = spread(rng, 1e-3, 1, n), spread(rng, 5e-3, 0.2, n)
    alpha = spread(rng, 0.01, 1, n)
    beta = alpha * rng.uniform(5, 20, n)
    m = np.full(n, 0.5 if scalable else np.sqrt(2))
    mu = p_prime / (2 if scalable else np.sqrt(2))
    return Points(scalable, m, mu, alpha * rtt**2 / 0.032, (beta + alpha / 2) * rtt, rtt)


def wide(scalable: bool, n: int, seed: int, decades: float = 3) -> Points:
    """Far beyond: gains, zero positions and loads over many decades, stable or not."""
    rng = np.random.default_rng(seed)
    x, most = 10.0**decades, MU_MAX[scalable]
    mu = np.where(rng.random(n) < 0.5, rng.uniform(0, most, n), spread(rng, most / x**2, most, n))
    m, a, c = spread(rng, 1 / x, x, n), spread(rng, 1 / x, x, n), spread(rng, 1 / x, x, n)
    return Points(scalable, m, mu, a, c, spread(rng, 1 / x, x, n))


def fall(f: Callable[[mpf], mpf], low: float, high: float) -> mpf:
    """Where `f` falls from + to - over ln v in (low, high): bisection, then the secant method."""
    x, y = mpf(low), mpf(high)
    for _ in range(50):
        middle = (x + y) / 2
        x, y = (middle, y) if f(middle) > 0 else (x, middle)
    return mpmath.findroot(f, (x, y), solver="secant", tol=mpf(10) ** -2 * mp.eps, verify=False)


def truth(points: Points) -> npt.NDArray[np.float64]:
    """Solve |L| = 1 and phase = -180 degrees with mpmath; no formula shared with the kernel."""
    rows = []
    with mp.workdps(30):
        for numbers in zip(points.m, points.mu, points.a, points.c, points.rtt, strict=True):
            m, mu, a, c, rtt = (mpf(float(x)) for x in numbers)

            def pole(v: mpf, mu: mpf = mu) -> mpf:
                h = mpmath.exp(-1j * v) + (0 if points.scalable else 1)
                return 1j * v + mu * h

            def loudness(x: mpf, m: mpf = m, a: mpf = a, c: mpf = c) -> mpf:
                v = mpmath.exp(x)
                return mpmath.log(
                    m * abs(mpmath.mpc(a, c * v)) / (v * abs(1 + 1j * v) * abs(pole(v)))
                )

            def above(x: mpf, a: mpf = a, c: mpf = c) -> mpf:
                """Continuous phase + 180 degrees, in radians."""
                v = mpmath.exp(x)
                lead = mpmath.atan2(c * v, a) - mpmath.atan(v)
                return lead + mpmath.atan2(pole(v).real, pole(v).imag) - v

            x = fall(loudness, -500, 250)
            w_gc, pm = mpmath.exp(x) / rtt, mpmath.degrees(above(x))
            if mu == 0 and c <= 2 * a:
                rows.append((-mp.inf, pm, w_gc, 0))
                continue
            x = fall(above, -250, float(mpmath.log(mp.pi / (2 if points.scalable else 1))))
            gm = -20 * loudness(x) / mpmath.log(10)
            rows.append((gm, pm, w_gc, mpmath.exp(x) / rtt))
        return np.array([[float(x) for x in row] for row in rows]).T


def assert_close(got: npt.NDArray[np.float64], want: npt.NDArray[np.float64]) -> None:
    """1e-9 dB, 1e-9 degrees (1e-12 of them beyond 1000), crossovers to 1e-12."""
    np.testing.assert_allclose(got[0], want[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(got[1], want[1], rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(got[2:], want[2:], rtol=1e-12, atol=0)


@pytest.mark.slow
@pytest.mark.parametrize("scalable", [False, True])
@pytest.mark.parametrize("make", [ordinary, wide])
def test_margins_agree_with_thirty_digits(make: Callable[..., Points], scalable: bool):
    points = make(scalable, 40, seed=11)
    want = truth(points)
    for simd in _core.simd_levels():
        assert_close(points.margins(simd), want)


@pytest.mark.parametrize("scalable", [False, True])
def test_extreme_points(scalable: bool):
    # v up to 1e20, where sin v needs an exact reduction, and gains down to 1e-60
    points = wide(scalable, 25, seed=5, decades=15)
    assert_close(points.margins(), truth(points))


@pytest.mark.parametrize("scalable", [False, True])
def test_low_load_limit_is_a_regular_point(scalable: bool):
    points = ordinary(scalable, 20, seed=3)
    points.mu[:] = 0.0
    points.c[:5] = points.a[:5] * [2.0, 2.0 + 1e-9, 2.1, 1.9, 1e-3]  # both sides of c = 2a
    got = points.margins()
    assert_close(got, truth(points))
    assert got[0, [0, 3, 4]].tolist() == [-np.inf] * 3
    assert got[3, [0, 3, 4]].tolist() == [0.0] * 3
    points.mu[:] = 1e-60
    near = points.margins()
    crosses = np.isfinite(got[0])
    np.testing.assert_allclose(near[:, crosses], got[:, crosses], rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(near[1:3], got[1:3], rtol=1e-13, atol=1e-13)
    assert np.isfinite(near).all()
    assert (near[0, ~crosses] < -500).all()


@pytest.mark.parametrize("figure", [4, 7])
def test_figures(figure: int):
    with (DATA / f"margins_fig{figure}.csv").open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    for plant in {row["plant"] for row in rows}:
        mine = [row for row in rows if row["plant"] == plant]
        column = {
            name: np.array([float(row[name]) for row in mine])
            for name in ["p_prime", "alpha", "beta", "R", "T", *NAMES]
        }
        p_prime, rtt = column["p_prime"], column["R"]
        scalable = plant == "scal"
        m = {
            "reno_p": np.sqrt(2) / (2 * p_prime),
            "reno_p2": np.full_like(p_prime, np.sqrt(2)),
            "scal": np.full_like(p_prime, 0.5),
        }[plant]
        got = Points(
            scalable,
            m,
            p_prime / (2 if scalable else np.sqrt(2)),
            column["alpha"] * rtt**2 / column["T"],
            (column["beta"] + column["alpha"] / 2) * rtt,
            rtt,
        ).margins()
        for name, value in zip(NAMES, got, strict=True):
            np.testing.assert_allclose(value, column[name], rtol=1e-12, atol=1e-10, err_msg=name)


@pytest.mark.parametrize("scalable", [False, True])
@pytest.mark.parametrize("simd", _core.simd_levels())
def test_an_answer_does_not_depend_on_its_neighbours(simd: str, scalable: bool):
    parts = [ordinary(scalable, 500, 1), wide(scalable, 400, 2), wide(scalable, 100, 3, decades=12)]
    points = Points(
        scalable,
        *(np.concatenate([getattr(p, x) for p in parts]) for x in ["m", "mu", "a", "c", "rtt"]),
    )
    want = points.margins(simd)
    assert np.isfinite(want).all()
    order = np.random.default_rng(4).permutation(1000)
    assert (points[order].margins(simd) == want[:, order]).all()
    for n in [0, 1, 2, 63, 64, 65, 127, 128, 129, 1000]:
        assert (points[:n].margins(simd) == want[:, :n]).all()
    for i in [0, 63, 64, 950]:
        assert (points[i : i + 1].margins(simd) == want[:, i : i + 1]).all()


def test_instruction_sets():
    levels = _core.simd_levels()
    assert _core.simd() == levels[0]
    assert levels[-1] == "baseline"
    with pytest.raises(ValueError, match=r"'sse9' is not .* give one of .*baseline"):
        ordinary(False, 1, 0).margins("sse9")


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="elsewhere nothing else says what the processor has",
)
def test_instruction_sets_are_those_that_the_operating_system_lists():
    shown = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    flags = set(shown.partition("\nflags")[2].partition("\n")[0].split())
    wide = {"fma", "avx512f", "avx512dq", "avx512bw", "avx512vl"}
    expected = {"baseline"}
    expected |= {"avx2"} if flags >= {"fma", "avx2"} else set()
    expected |= {"avx512"} if flags >= wide else set()
    assert set(_core.simd_levels()) == expected


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"m": np.ones(8, np.float32)}, TypeError, "m must be a contiguous .* float64"),
        ({"mu": np.ones(8, int)}, TypeError, "mu must be"),
        ({"a": np.ones((2, 4))}, TypeError, "a must be"),
        ({"c": np.ones(16)[::2]}, TypeError, "c must be"),
        ({"rtt": [1.0] * 8}, TypeError, "rtt must be"),
        ({"rtt": np.ones(7)}, ValueError, "rtt has 7 elements where m has 8"),
        ({"w_pc": np.ones(9)}, ValueError, "w_pc has 9 elements"),
        ({"gm_db": np.frombuffer(bytes(64))}, TypeError, "gm_db must be .* written to"),
        (
            {"mu": np.array([0.1] * 5 + [0.9] + [np.nan] * 2)},
            ValueError,
            r"Point 5 .*mu = 0\.9.*7072",
        ),
        ({"m": np.array([1.0] * 7 + [-1.0])}, ValueError, r"Point 7 \(m = -1"),
        ({"a": np.array([np.inf] + [1.0] * 7)}, ValueError, "Point 0 .*a = inf"),
        ({"c": np.zeros(8)}, ValueError, "Point 0 .*c = 0"),
        ({"rtt": np.full(8, np.nan)}, ValueError, "Point 0 .*rtt = nan"),
    ],
)
def test_bad_arguments_are_refused(change, error, message):
    arguments = {name: np.full(8, 0.25) for name in ["m", "mu", "a", "c", "rtt", *NAMES]} | change
    with pytest.raises(error, match=message):
        _core.margins(False, **arguments)


def test_results_must_not_share_memory():
    x = np.full(16, 0.25)
    arguments: dict[str, Any] = dict.fromkeys(["m", "mu", "a", "c", "rtt"], x[:8])
    arguments |= {name: np.empty(8) for name in NAMES}
    with pytest.raises(ValueError, match="gm_db shares memory"):
        _core.margins(False, **arguments | {"gm_db": x[4:12]})
    _core.margins(False, **arguments | {"gm_db": x[8:]})
    assert np.isfinite(x).all()


def test_scalable_senders_have_their_own_bound():
    points = ordinary(True, 1, 0)
    points.mu[:] = 0.5
    assert np.isfinite(points.margins()).all()
    points.mu[:] = 0.5 + 1e-8
    with pytest.raises(ValueError, match=r"\[1e-100, 0\.5\]"):
        points.margins()
