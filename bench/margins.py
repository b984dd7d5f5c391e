"""What a pair of margins costs, here and elsewhere, and how right it is.

    python bench/margins.py [--points 1000000] [--rounds 7] [--clocks | --searched]

Every contestant computes the gain and the phase margin of random PI2 loops (Reno under p'^2, frozen
round-trip time, continuous PI). Times are CPU time of one pinned process per point, medians over
rounds in which the contestants take turns. Errors are the largest against 30-digit solutions of
stable loops: on unstable ones other programs follow other conventions (they fold the phase margin
and take the crossover nearest to |L| = 1).

A second table has loops by the clock of acknowledgements beside the same ones by rates, built and
asked for their margins one by one; with --clocks it is all there is. A third one, alone with
--searched, has arrays of loops that are searched for all crossovers, linearised before.
"""

# ruff: noqa: E402 - the thread counts below must be set before the libraries that read them load
from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import control
import mpmath
import numpy as np
import numpy.typing as npt
import scipy
from record import Row, record, yardstick
from scipy.optimize import brentq

from pi2_fluid import _core
from pi2_fluid.errors import AssumptionWarning

Array = npt.NDArray[np.float64]
Answer = tuple[Array, Array]  # gain margin (dB), phase margin (degrees)


@dataclass(frozen=True)
class Points:
    """Loops; arrays of one length. L(jv) = m (a + jcv) e^{-jv} / (jv (1 + jv) (jv + mu h))."""

    p_prime: Array
    rtt: Array  # s
    alpha: Array  # Hz
    beta: Array  # Hz
    m: Array
    mu: Array
    a: Array
    c: Array

    def __len__(self) -> int:
        return len(self.m)

    def take(self, key: slice | Array) -> Points:
        """Select loops."""
        return Points(*(np.ascontiguousarray(getattr(self, f.name)[key]) for f in fields(self)))

    def each(self) -> Iterator[tuple[float, float, float, float]]:
        """Yield (m, mu, a, c) of one loop after the other, as floats."""
        yield from zip(*(x.tolist() for x in (self.m, self.mu, self.a, self.c)), strict=True)


UPDATE_INTERVAL = 0.032  # s


def draw(n: int, seed: int = 1) -> Points:
    """Draw p' in 1e-3..1, R in 5..200 ms, alpha in 0.01..1 log-uniform, beta/alpha in 5..20."""
    rng = np.random.default_rng(seed)

    def spread(low: float, high: float) -> Array:
        return np.exp(rng.uniform(np.log(low), np.log(high), n))

    p_prime, rtt, alpha = spread(1e-3, 1.0), spread(5e-3, 0.2), spread(0.01, 1.0)
    beta = alpha * rng.uniform(5.0, 20.0, n)
    return Points(
        *(p_prime, rtt, alpha, beta),
        m=np.full(n, np.sqrt(2.0)),
        mu=p_prime / np.sqrt(2.0),
        a=alpha * rtt**2 / UPDATE_INTERVAL,
        c=(beta + alpha / 2.0) * rtt,
    )


def exact(points: Points, varies: bool = False) -> Answer:
    """Solve to 30 digits, with round-trip times held constant or not."""
    gm, pm = [], []
    with mpmath.workdps(30):
        for row in points.each():
            m, mu, a, c = (mpmath.mpf(x) for x in row)

            def pole(v, mu=mu):
                e = mpmath.exp(-1j * v)
                return 1j * v + mu * (1 + e) + (mu * (1 - e) / (1 + 1j * v) if varies else 0)

            def loudness(x, m=m, a=a, c=c):
                v = mpmath.exp(x)
                return mpmath.log(m * abs(a + 1j * c * v) / (v * abs(1 + 1j * v) * abs(pole(v))))

            def above(x, a=a, c=c):
                v = mpmath.exp(x)
                lead = mpmath.atan2(c * v, a) - mpmath.atan(v)
                return lead + mpmath.atan2(pole(v).real, pole(v).imag) - v

            tolerance = {"solver": "anderson", "tol": mpmath.mpf(10) ** -50, "maxsteps": 500}
            x = mpmath.findroot(loudness, (-30, 10), **tolerance)
            pm.append(float(mpmath.degrees(above(x))))
            x = mpmath.findroot(above, (-20, mpmath.log(mpmath.pi)), **tolerance)
            gm.append(float(-20 * loudness(x) / mpmath.log(10)))
    return np.array(gm), np.array(pm)


def many_aliases(points: Points, **kind: str) -> Answer:
    """Solve sampled loops with 3,000 pairs of aliases, a hundred times as many, near each root."""
    from pi2_fluid.loop.sampled import sampled_response

    loop = loops(points, update="sampled", **kind)
    margins = loop.margins()
    gm, pm = [], []
    for i in range(len(points)):
        one = loop.linear.element((i,))

        def response(w: float, one: Any = one) -> complex:
            return complex(sampled_response(one, 1j * w, aliases=3000))

        def off_one(w: float, response: Callable[[float], complex] = response) -> float:
            return float(np.log(abs(response(w))))

        def off_axis(w: float, response: Callable[[float], complex] = response) -> float:
            return float(np.angle(-response(w)))

        def root(function: Callable[[float], float], w: float) -> float:
            if w > 0.9999 * np.pi / UPDATE_INTERVAL:  # where L is real
                return w
            result: float = brentq(function, 0.9999 * w, 1.0001 * w, xtol=1e-14 * w)
            return result

        w_gc = root(off_one, margins.gain_crossover[i])
        w_pc = root(off_axis, margins.phase_crossover[i])
        pm.append(np.degrees(off_axis(w_gc)))
        gm.append(-20 * off_one(w_pc) / np.log(10))
    return np.array(gm), np.array(pm)


def compiled(simd: str | None) -> Callable[[Points], Answer]:
    """Call the C kernel, results written into arrays that are reused."""
    buffers: dict[int, Array] = {}

    def run(p: Points) -> Answer:
        if len(p) not in buffers:
            buffers[len(p)] = np.zeros((4, len(p)))
        gm, pm, w_gc, w_pc = buffers[len(p)]
        _core.margins(False, p.m, p.mu, p.a, p.c, p.rtt, gm, pm, w_gc, w_pc, simd)
        return gm, pm

    return run


def portable(p: Points) -> Answer:
    """Run the same problem through the NumPy path of the package."""
    from pi2_fluid.loop.analytic import solve_margins

    gm, pm, _, _ = solve_margins("reno", p.m, p.mu, p.a, p.c, p.rtt)
    return gm, pm


def loops(p: Points, rtt: Array | None = None, **kind: str) -> Any:
    """Build the public class over these points, of other round-trip times if given."""
    import pi2_fluid as pf

    aqm = pf.Pi2(alpha=p.alpha, beta=p.beta, update_interval=UPDATE_INTERVAL)
    rtt = p.rtt if rtt is None else rtt
    return pf.Loop(pf.Reno(), aqm, rtt=rtt, p_prime=p.p_prime, **kind)


def public(p: Points) -> Answer:
    """Take both margins through the public class, checks and operating point included."""
    margins = loops(p).margins()
    return margins.gain_margin_db, margins.phase_margin_deg


def searched(p: Points, **kind: str) -> Answer:
    """Take the margins of loops without a fast path: another, harder question."""
    margins = loops(p, **kind).margins()
    return margins.gain_margin_db, margins.phase_margin_deg


def is_proved(p: Points) -> Array:
    """Return where a sampled loop's crossovers are proved unique, so that no search is needed."""
    _, proved = loops(p, update="sampled")._closed_form_margins()
    return np.asarray(proved)


def followed(p: Points) -> Answer:
    """Search sampled loops for every crossing, also where the crossovers are proved unique."""
    rows = loops(p, update="sampled")._search.margins(np.ones(len(p), dtype=bool))
    return rows[0], rows[1]


def twin(p: Points) -> Answer:
    """Search sampled loops with the readable twin of the compiled search, one by one."""
    from pi2_fluid.loop.crossovers import find_crossings
    from pi2_fluid.loop.margins import margins_from_crossings

    linear = loops(p, update="sampled").linear
    found = [
        margins_from_crossings(
            find_crossings(linear.element((i,)), "sampled"), lambda: 0, settles=True
        )
        for i in range(len(p))
    ]
    gm, pm = np.array(found).T[:2]
    return gm, pm


def judged(p: Points) -> Answer:
    """Take verdict and modulus margin of sampled loops: another question."""
    margins = loops(p, update="sampled").margins()
    return margins.verdict_code, margins.modulus_margin


def rooted(p: Points) -> Answer:
    """Find the rightmost root: another question."""
    roots = loops(p).roots()
    return roots.real, roots.imag


def counted(p: Points) -> Answer:
    """Count the unstable modes: another question."""
    count = loops(p).nyquist_count()
    return count, count


PADE = [np.array(x) for x in control.pade(1.0, 5)]  # of e^{-sR}, in time counted in R


def control_pade(p: Points) -> Answer:
    """Make each loop rational, e^{-sR} by Pade of order 5, and call control.margin."""
    num, den = PADE
    gm, pm = [], []
    for m, mu, a, c in p.each():
        top = m * np.polymul([c, a], num)
        bottom = np.polymul(
            [1, 1, 0], np.polyadd(np.polymul([1, 0], den), mu * np.polyadd(den, num))
        )
        gain, phase, _, _ = control.margin(control.tf(top, bottom))
        gm.append(20 * np.log10(gain))
        pm.append(phase)
    return np.array(gm), np.array(pm)


def control_frd(p: Points) -> Answer:
    """Sample each loop at 1000 frequencies and call control.stability_margins."""
    v = np.geomspace(1e-4, 10.0, 1000)
    jv, delay = 1j * v, np.exp(-1j * v)
    gm, pm = [], []
    for m, mu, a, c in p.each():
        response = m * (a + c * jv) * delay / (jv * (1 + jv) * (jv + mu * (1 + delay)))
        gain, phase, *_ = control.stability_margins(control.frd(response, v, smooth=True))
        gm.append(20 * np.log10(gain))
        pm.append(phase)
    return np.array(gm), np.array(pm)


def scipy_brentq(p: Points) -> Answer:
    """Solve both crossovers of the closed form with scipy.optimize.brentq, in plain floats."""
    from math import atan, atan2, cos, degrees, exp, hypot, log, sin

    gm, pm = [], []
    for m, mu, a, c in p.each():

        def loudness(x: float, m: float = m, mu: float = mu, a: float = a, c: float = c) -> float:
            v = exp(x)
            pole = hypot(mu * (1 + cos(v)), v - mu * sin(v))
            return log(m * hypot(a, c * v) / (v * hypot(1, v) * pole))

        def above(v: float, mu: float = mu, a: float = a, c: float = c) -> float:
            return atan2(c * v, a) - atan(v) + atan2(mu * (1 + cos(v)), v - mu * sin(v)) - v

        pm.append(degrees(above(exp(brentq(loudness, -30.0, 10.0, xtol=1e-15, rtol=1e-15)))))
        v = brentq(above, 1e-9, 3.1, xtol=1e-15, rtol=1e-15)
        gm.append(-20 / log(10) * loudness(log(v)))
    return np.array(gm), np.array(pm)


@dataclass
class Contestant:
    """A way to get margins; `points` is how many one timed run computes."""

    name: str
    run: Callable[[Points], Answer]
    points: int
    error_points: int = 60
    truth: Callable[[Points], Answer] | None = exact
    where: Callable[[Points], Array] | None = None

    def part(self, points: Points, n: int) -> Points:
        """Return the first n loops that it is asked about."""
        return points.take(
            slice(n) if self.where is None else np.flatnonzero(self.where(points))[:n]
        )


def contestants(n: int) -> list[Contestant]:
    """Everyone who takes part, the yardstick first."""
    mine = [Contestant(f"pi2_fluid, C ({simd})", compiled(simd), n) for simd in _core.simd_levels()]
    return [
        Contestant("control.margin, Pade 5", control_pade, 200),
        Contestant("control.stability_margins, FRD 1000", control_frd, 10, error_points=20),
        Contestant("scipy.optimize.brentq, closed form", scipy_brentq, 1000),
        Contestant("pi2_fluid, NumPy", portable, max(1, n // 10)),
        *mine,
        Contestant("pi2_fluid, Loop(...).margins()", public, n),
        Contestant(
            "same, exact RTT",
            partial(searched, rtt_terms="exact"),
            5000,
            truth=partial(exact, varies=True),
        ),
        Contestant(
            "same, exactly sampled",
            partial(searched, update="sampled"),
            5000,
            error_points=20,
            truth=many_aliases,
        ),
        Contestant(
            "same, sampled, proved unique",
            partial(searched, update="sampled"),
            50_000,
            error_points=20,
            truth=many_aliases,
            where=is_proved,
        ),
        Contestant("same, sampled, searched", followed, 5000, error_points=20, truth=many_aliases),
        Contestant(
            "same, both",
            partial(searched, update="sampled", rtt_terms="exact"),
            5000,
            error_points=20,
            truth=partial(many_aliases, rtt_terms="exact"),
        ),
        Contestant("same, sampled, in Python", twin, 40, error_points=20, truth=many_aliases),
        Contestant("same, sampled, verdict and |1 + L|", judged, 5000, truth=None),
        Contestant("same, rightmost root", rooted, 40, truth=None),
        Contestant("same, unstable modes counted", counted, 5000, truth=None),
    ]


CLOCKS = ("rate", "acks")
SEVERAL = 12  # loops in one timed run


def one_class(i: int, **kind: str) -> Any:
    """Reno alone under PI2, at a load and a round-trip time of SEVERAL."""
    import pi2_fluid as pf

    rtt, p_prime = np.linspace(0.03, 0.15, SEVERAL), np.geomspace(0.003, 0.3, SEVERAL)
    return pf.Loop(pf.Reno(), pf.Pi2(), rtt=float(rtt[i]), p_prime=float(p_prime[i]), **kind)


def three_classes(i: int, **kind: str) -> Any:
    """Two paths of Reno and one of Scalable in one queue."""
    return mixed("CoupledPi2", (1.0, 0.6, 1.7), i, **kind)


def two_queues(i: int, **kind: str) -> Any:
    """Reno beside Scalable under DualPI2, over one path."""
    return mixed("DualPi2", (1.0, 1.0), i, **kind)


def mixed(queue: str, paths: tuple[float, ...], i: int, **kind: str) -> Any:
    """Build a mixture of 20 flows each, whose paths have these lengths."""
    import pi2_fluid as pf

    base = float(np.linspace(0.03, 0.15, SEVERAL)[i])
    laws = (pf.Reno(), pf.Scalable(), pf.Reno())
    flows = [pf.Flows(law, 20, base * path) for law, path in zip(laws, paths, strict=False)]
    return pf.Loop(flows, getattr(pf, queue)(), capacity="200Mbit/s", **kind)


PAIRS: dict[str, Callable[..., Any]] = {
    "one class, sampled": partial(one_class, update="sampled"),
    "three classes, sampled": partial(three_classes, update="sampled"),
    "dual queue, sampled": partial(two_queues, update="sampled"),
    "three classes, continuous": partial(three_classes, update="continuous"),
    "three classes, delayed": partial(three_classes, update="delayed"),
    "dual queue, continuous": partial(two_queues, update="continuous"),
    "one class, exact RTT": partial(one_class, rtt_terms="exact"),
    "one class, continuous": one_class,
    "one class, delayed": partial(one_class, update="delayed"),
}
MANY = 100_000  # loops of one class in one array


def compare_clocks(rounds: int) -> None:
    """Time loops by both clocks in turns, and print what the ack clock costs more."""
    times: dict[tuple[str, str], list[float]] = {}
    fixed = []
    points = draw(MANY)
    arrays = {
        f"one class, {update}, array of {MANY}": update for update in ("continuous", "delayed")
    }
    for turn in range(rounds + 1):
        fixed.append(yardstick())
        for name, update in arrays.items():
            for clock in CLOCKS:
                start = time.process_time()
                loops(points, rtt=points.rtt + 0.02, update=update, clock=clock).margins()
                if turn:
                    spent = (time.process_time() - start) / MANY
                    times.setdefault((name, clock), []).append(spent)
        fixed.append(yardstick())
        for name, build in PAIRS.items():
            for clock in CLOCKS:
                start = time.process_time()
                for i in range(SEVERAL):
                    build(i, clock=clock).margins()
                if turn:
                    spent = (time.process_time() - start) / SEVERAL
                    times.setdefault((name, clock), []).append(spent)
    rows = []
    print(f"\n{'':40}{'rate, us/loop':>15}{'acks, us/loop':>15}{'acks/rate':>11}")
    for name in (*PAIRS, *arrays):
        rate, acks = (1e6 * statistics.median(times[name, clock]) for clock in CLOCKS)
        print(f"{name:40}{rate:15.5g}{acks:15.5g}{acks / rate:11.2f}")
        for clock, cost in zip(CLOCKS, (rate, acks), strict=True):
            rows.append(Row(f"{name}, {clock}", 1e-6 * cost / statistics.median(fixed)))
    record("margins clocks", rows, better="smaller")


ARRAY = 300  # loops of one array
SEARCHED = {
    "Reno": (("Reno",), "Pi2"),
    "Cubic, four states": (("Cubic",), "Pi2"),
    "Prague, two states": (("Prague",), "CoupledPi2"),
    "three classes": (("Reno", "Scalable", "Reno"), "CoupledPi2"),
    "dual queue": (("Reno", "Scalable"), "DualPi2"),
}


def searched_loops(name: str, update: str) -> Any:
    """Build an array of loops over its paths, with 20 flows a class and exact round-trip times."""
    import pi2_fluid as pf

    senders, queue = SEARCHED[name]
    base = np.geomspace(0.02, 0.1, ARRAY)
    lengths = (1.0, 0.6, 1.7) if len(senders) == 3 else (1.0, 1.0)
    flows = [
        pf.Flows(getattr(pf, sender)(), 20, base * path)
        for sender, path in zip(senders, lengths, strict=False)
    ]
    kind = {"update": update, "rtt_terms": "exact"}
    loop = pf.Loop(flows, getattr(pf, queue)(), capacity="100Mbit/s", **kind)
    assert loop.linear.shape == (ARRAY,)
    return loop


def compare_searched(rounds: int) -> None:
    """Time what is searched in compiled code, loops of all kinds by rates, in turns."""
    times: dict[tuple[str, str, str], list[float]] = {}
    fixed = []
    for turn in range(rounds + 1):
        for name in SEARCHED:
            fixed.append(yardstick())
            for update in ("sampled", "delayed"):
                loop = searched_loops(name, update)
                for what in ("margins", "nyquist_count"):
                    start = time.process_time()
                    getattr(loop, what)()
                    if turn:
                        spent = (time.process_time() - start) / ARRAY
                        times.setdefault((name, what, update), []).append(spent)
    print(f"\n{'us per loop':24}{'margins, sampled':>18}{'delayed':>10}", end="")
    rows = []
    print(f"{'modes, sampled':>18}{'delayed':>10}")
    for name in SEARCHED:
        print(f"{name:24}", end="")
        for what in ("margins", "nyquist_count"):
            for update, width in (("sampled", 18), ("delayed", 10)):
                cost = statistics.median(times[name, what, update])
                print(f"{1e6 * cost:{width}.3g}", end="")
                rows.append(Row(f"{name}, {what}, {update}", cost / statistics.median(fixed)))
        print()
    record("margins searched", rows, better="smaller")


def errors(who: Contestant, points: Points, truth: Answer) -> tuple[float, float]:
    """Return the largest errors, in dB and degrees; a missing margin counts as infinite."""
    k = len(points)
    got = who.run(points)
    gm, pm = (np.nan_to_num(np.abs(x - y[:k]), nan=np.inf) for x, y in zip(got, truth, strict=True))
    return float(gm.max()), float(pm.max())


def main() -> None:
    """Run and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--clocks", action="store_true", help="compare the two clocks alone")
    parser.add_argument("--searched", action="store_true", help="searched loops alone")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

    # the sampled loop is asked about loads and intervals it warns of; the numbers are right
    warnings.simplefilter("ignore", AssumptionWarning)

    if options.clocks:
        compare_clocks(options.rounds)
        return

    if options.searched:
        compare_searched(options.rounds)
        return

    points = draw(options.points)
    gm, pm = compiled(None)(points)
    stable = points.take(np.flatnonzero((gm > 0) & (pm > 0))[:60])
    exactly = exact(stable)

    everyone = contestants(options.points)
    times: dict[str, list[float]] = {who.name: [] for who in everyone}
    parts = {who.name: who.part(points, who.points) for who in everyone}
    for turn in range(options.rounds + 1):
        for who in everyone:
            start = time.process_time()
            who.run(parts[who.name])
            if turn:  # the first warms caches, pages and imports
                times[who.name].append((time.process_time() - start) / len(parts[who.name]))

    print(
        f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__},",
        end=" ",
    )
    print(f"scipy {scipy.__version__}, control {control.__version__}, kernel {_core.simd()}")
    print(
        f"CPU time per point (gain and phase margin), median of {options.rounds} interleaved runs\n"
    )
    rows = []
    base = statistics.median(times[everyone[0].name])
    print(f"{'':37}{'points':>8}{'us/point':>12}{'ratio':>11}{'error dB':>11}{'deg':>10}")
    for who in everyone:
        median = statistics.median(times[who.name])
        row = f"{who.name:37}{who.points:8d}{1e6 * median:12.4f}{base / median:11,.5g}"
        if who.truth is not None:
            few = who.part(stable, who.error_points)
            truth = exactly if who.truth is exact else who.truth(few)
            off = errors(who, few, truth)
            row += f"{off[0]:11.1e}{off[1]:10.1e}"
        else:
            off = ()
            row += "   (another question)"
        print(row)
        rows.append(Row(who.name, base / median, off))
    part = np.mean(is_proved(points.take(slice(100_000))))
    print(f"\nof the sampled loops {part:.0%} are proved to cross once")
    record("margins", rows, better="larger")
    compare_clocks(options.rounds)
    compare_searched(options.rounds)


if __name__ == "__main__":
    main()
