"""Sampled loops cross once, proved by the machine; the fast path that rests on it.

What is proved is derived in docs/proofs.md ("The sampled loop crosses once, too"), whose letters
these are: v = wR, u = v^2, theta = T/R, omega = mu/u, and n = 1/theta.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from intervals import TWO_PI, Complex, Interval, around, cos, sin, sinc, slope_of_sinc

import pi2_fluid as pf
from pi2_fluid import _core
from pi2_fluid.loop.analytic import MU_LIMIT
from pi2_fluid.loop.margins import sampled_form_margins
from pi2_fluid.loop.roots import count_unstable
from pi2_fluid.loop.searching import search_of

pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")

# PI2_SAMPLED_THETA, _LAST and _TURN of native/margins/closed/sampled_margins.h
THETA, LAST, TURN = 2.0, 2.6, 1.8
# Up to here |L| falls, and beyond it is smaller than at LAST and TURN.
FALLS, FALLS_TURN = 3.0, 2.3
SMALL = 0.6  # v up to which the phase is looked at by omega, not by mu
PLANTS = [(plant, varies) for plant in ("reno", "scalable") for varies in (False, True)]
PARTS = [(4.0, np.inf, 0), (1.0, 4.0, 3), (1.0 / THETA, 1.0, 4)]  # n, and pairs of aliases


@dataclass(frozen=True)
class Plant:
    """Senders, their round-trip times constant or not."""

    name: str
    varies: bool

    @property
    def most(self):
        """The largest mu, with room for rounding."""
        return MU_LIMIT[self.name] * (1 + 1e-9)

    @property
    def echo(self):
        """|h| is at most this, and |h'|."""
        if self.varies:
            return (2.3095 if self.name == "reno" else 1.4143), 1.2991
        return (2.0 if self.name == "reno" else 1.0), 1.0

    def response(self, x, mu):
        """Return F and F' at x > 0."""
        c, s, one = cos(x), sin(x), (x.square() + 1.0).inverse()
        h, slope = Complex(c, -s), Complex(-s, -c)
        e = h
        if self.varies:
            q, rest = Complex(one, -(x * one)), Complex(1.0 - c, s)
            h = h + rest * q
            moved = e * Complex(x.square() * one, x * one) + rest * q * q
            slope = Complex(moved.im, -moved.re)
        if self.name == "reno":
            h = Complex(h.re + 1.0, h.im)
        d = Complex(mu * h.re, (x + mu * h.im).at_least((x * (1.0 - mu)).low))
        value = e * Complex(-one, -(one / x)) * d.inverse()
        part = Complex(mu * slope.re, mu * slope.im + 1.0) * d.inverse()
        turned = Complex(part.re + x.inverse() + x * one, part.im + 1.0 + one)
        return value, -(value * turned)


def aliases(plant, v, mu, n, pairs):
    """Return A_P, A_Q, u A_P' and u A_Q': the sum A of F over all aliases but v's own.

    Of `pairs` each is enclosed, at k and -k; the others are bounded.
    """
    zero = np.zeros_like(v.low)
    a, b, moves_a, moves_b = (Interval(zero) for _ in range(4))
    for k in range(1, pairs + 1):
        at = k * TWO_PI * n
        (above, above1), (below, below1) = (plant.response(x, mu) for x in (at + v, at - v))
        _, anywhere = plant.response(Interval((at - v).low, (at + v).high), mu)
        change, mean = (above.im - below.im) / v, 2.0 * anywhere.im  # the same, as a mean value
        odd = Interval(np.fmax(change.low, mean.low), np.fmin(change.high, mean.high))
        a, b = a + above.re + below.re, b + odd
        moves_a = moves_a + 0.5 * v * (above1.re - below1.re)
        moves_b = moves_b + 0.5 * (above1.im + below1.im - odd)
    # x = 2 pi n (k - 1/2) and more; sums of (k - 1/2)^-3 + k^-3 and of twice the first
    level, slope = plant.echo
    x = 2 * np.pi * n.low * (pairs + 0.5) * (1 - 1e-9)
    room = np.maximum(1.0 - mu.high, 1.0 - level * mu.high / x)  # |D| over x
    both, twice = (1 / pairs**2, 1 / pairs**2) if pairs else (9.65, 16.9)
    far = both / (2 * np.pi * n.low) ** 3 / room * (1 + 1e-9)
    turns = (1.0 + 2.0 / x + (1.0 + mu.high * slope) / (x * room)) * (1 + 1e-9)
    odd = twice / both * turns * far
    a, b = a + around(far), b + around(odd)
    moves_a = moves_a + around(0.5 * v.high * turns * far)
    return a, b, moves_a, moves_b + around(0.5 * (turns * far + odd))


@dataclass(frozen=True)
class Parts:
    """Of (1 + jv) (jv + mu h) e^{jv} = mu low - u m + jv q, and its size; the slopes over u."""

    m: Interval
    m1: Interval
    low: Interval
    low1: Interval
    q: Interval
    q1: Interval
    size: Interval
    size_by_u: Interval  # over u
    size1: Interval


def parts(plant, v, mu, omega):
    """Return them."""
    u, c, s, sd = v.square(), cos(v), sinc(v), -0.5 * slope_of_sinc(v)
    cd = -0.5 * s
    reno, one = plant.name == "reno", (1.0 + v.square()).inverse()
    m, m1 = c + s, cd + sd
    if reno:
        low, low1, lq, lq1 = 1.0 + c - u * s, cd - s - u * sd, 1.0 + c + s, cd + sd
    else:
        low, low1, lq, lq1 = 1.0 + 0.0 * s, 0.0 * s, 1.0 + 0.0 * s, 0.0 * s
    even, even1, odd, odd1 = c, cd, -s, -sd  # h = even + jv odd
    if plant.varies:
        low, low1, lq, lq1 = low + c - 1.0, low1 + cd, lq + s, lq1 + sd
        more, more_odd = (1.0 - c + u * s) * one, (s - 1.0 + c) * one
        even, even1 = even + more, even1 + (s - cd + u * sd - more) * one
        odd, odd1 = odd + more_odd, odd1 + (sd + cd - more_odd) * one
    if reno:
        even = even + 1.0
    im = (1.0 + mu * odd).at_least(1.0 - mu.high)  # |D|^2 = (mu even)^2 + u im^2
    square = (mu * even).square() + u * im.square()
    by_u = im.square() + mu * omega * even.square()
    square1 = 2.0 * mu.square() * even * even1 + im.square() + 2.0 * u * im * mu * odd1
    return Parts(
        m, m1, low, low1,
        q=c - u * s + mu * lq, q1=cd - s - u * sd + mu * lq1,
        size=(1.0 + u) * square, size_by_u=(1.0 + u) * by_u, size1=square + (1.0 + u) * square1,
    )  # fmt: skip


def turn_of(v, n):
    """Return wT, which is not looked at beyond FALLS_TURN, and theta^2."""
    ends, tau, square = np.isfinite(n.high), v / n, n.square().inverse()
    low = [np.where(ends, value.low, 0.0) for value in (tau, square)]
    tau = Interval(*(np.minimum(end, FALLS_TURN) for end in (low[0], tau.high)))
    return tau, Interval(low[1], square.high)


def falling(plant, box, pairs):
    """Return lower bounds of what is positive where |L| falls, and where |arg(1 + eps)| < 90."""
    v, mu, n = box
    u, p = v.square(), parts(plant, v, mu, Interval(np.zeros_like(v.low)))
    a, b, moves_a, moves_b = aliases(plant, v, mu, n, pairs)
    c = mu * p.low - u * p.m
    c1 = mu * p.low1 - p.m - u * p.m1
    square = a.square() + u * b.square()
    eps = -(u * (p.q * a + c * b))
    eps1 = -(p.q * a + c * b) - (u * p.q1 * a + p.q * moves_a + u * c1 * b + c * moves_b)
    whole = (1.0 + 2.0 * eps + u * p.size * square).at_least(0.0)
    whole1 = 2.0 * eps1 + (p.size + u * p.size1) * square
    whole1 = whole1 + p.size * (2.0 * a * moves_a + u * b.square() + 2.0 * u * b * moves_b)
    tau, theta2 = turn_of(v, n)
    t = tau.low
    large = np.where(t < 0.3, 1.0, t)
    hold = np.where(t < 0.3, 1 / 12, (1 - large / 2 / np.tan(large / 2)) / large**2 - 1e-13)
    falls = p.size1 * whole - p.size * whole1 + p.size * whole * theta2 * hold
    return falls.low, 1.0 + eps.low


def passing(plant, v, mu, omega, n, pairs):
    """Return a lower bound of what is positive where the phase passes downwards.

    Infinite where it can be no odd multiple of 180 degrees, whatever beta/alpha.
    """
    u, p = v.square(), parts(plant, v, mu, omega)
    a, b, moves_a, moves_b = aliases(plant, v, mu, n, pairs)
    big = p.m - omega * p.low + b * p.size  # M/u
    q = p.q - a * p.size
    q1 = p.q1 - a * p.size1 - moves_a * p.size_by_u
    slope = p.m1 + b * p.size1 + moves_b * p.size_by_u - omega * p.low1
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.nextafter((omega * p.low).low / u.high, 0.0)
        slope = Interval(slope.low + np.where(u.low > 0.0, least, least * (1 - 1e-12)), np.inf)
    tau, theta2 = turn_of(v, n)
    hold = -0.5 * theta2 * slope_of_sinc(tau) / sinc(tau)
    some, positive = big.at_least(0.0), q.at_least(0.0)
    with np.errstate(invalid="ignore"):
        one = (slope - (hold + q1 / positive) * some).low
        two = Interval(slope.low) * positive - (hold * positive + q1) * some
    value = np.fmax(np.nan_to_num(one, nan=-np.inf), np.nan_to_num(two.low, nan=-np.inf))
    beyond = v.high * q.high * (1 + 1e-12) < np.tan(tau.low / 2) * (1 - 1e-12) * u.low * big.low
    return np.where((big.high < 0.0) | (q.high < 0.0) | beyond, np.inf, value)


def size_of(plant, v, mu, n, pairs):
    """Return n |H|, H = 2 sin(wT/2) times the sum of F over all aliases."""
    total, _ = plant.response(v, mu)
    for k in range(1, pairs + 1):
        at = k * TWO_PI * n
        (above, _), (below, _) = (plant.response(x, mu) for x in (at + v, at - v))
        total = total + above + below.conjugate()
    rest = beyond_pairs(plant, mu, n, pairs)
    size = (total.size() + around(rest)).at_least(0.0)
    if np.all(np.isfinite(n.high)):
        half = v / n * 0.5
        peak = half.high > np.pi / 2
        low = np.sin(np.minimum(half.low, np.pi / 2)) - 1e-12
        chord = Interval(low, np.where(peak, 1.0, np.sin(half.high)) + 1e-12) * n * 2.0
    else:
        chord = Interval(v.low * (1 - (v.high / n.low) ** 2 / 24), v.high)
    return chord.at_least(0.0) * size


def beyond_pairs(plant, mu, n, pairs):
    """Return a bound of F summed over all aliases but v's own and the first pairs of them."""
    x = 2 * np.pi * n.low * (pairs + 0.5) * (1 - 1e-9)
    room = np.maximum(1.0 - mu.high, 1.0 - plant.echo[0] * mu.high / x)
    return (1 / pairs**2 if pairs else 9.65) / (2 * np.pi * n.low) ** 3 / room * (1 + 1e-9)


def branch(holds, box, within):
    """Prove something in a box, halved along its longest side where it does not show; how often."""
    boxes, scale = np.array([box], dtype=float), np.array([1.0, 0.7, 0.7])
    count = 0
    for _ in range(60):
        boxes = boxes[within(boxes)]
        proved = np.concatenate(
            [holds(boxes[k : k + 20_000]) for k in range(0, len(boxes), 20_000)] or [[]]
        ).astype(bool)
        count += int(proved.sum())
        left = boxes[~proved]
        if not len(left):
            return count
        assert len(left) < 300_000, f"no proof near {left[0]}"
        width = (left[:, 1::2] - left[:, ::2]) / scale
        width[:, 2] = np.where(np.isfinite(left[:, 5]), width[:, 2] / left[:, 4], 0.0)
        axis, row = width.argmax(axis=1), np.arange(len(left))
        middle = 0.5 * (left[row, 2 * axis] + left[row, 2 * axis + 1])
        lower, upper = left.copy(), left.copy()
        lower[row, 2 * axis + 1] = upper[row, 2 * axis] = middle
        boxes = np.concatenate([lower, upper])
    raise AssertionError(f"no proof near {boxes[0]}")


def sides(boxes):
    """Return the intervals of boxes."""
    return tuple(Interval(boxes[:, k], boxes[:, k + 1]) for k in (0, 2, 4))


def prove(plant, low, high, pairs):
    """Prove all that the fast path asks for, for n from `low` to `high`; return how many boxes."""
    most = plant.most

    def near(boxes):
        return boxes[:, 0] <= FALLS_TURN * boxes[:, 5]

    def falls(boxes):
        return np.minimum(*falling(plant, sides(boxes), pairs)) > 0.0

    def passes(boxes):
        v, mu, n = sides(boxes)
        return passing(plant, v, mu, mu / v.square(), n, pairs) > 0.0

    def slowly(boxes):
        v, omega, n = sides(boxes)
        mu = omega * v.square()
        mu = Interval(np.maximum(mu.low, 0.0), np.minimum(mu.high, most))
        return passing(plant, v, mu, omega, n, pairs) > 0.0

    def above(boxes):
        """M < 0 where omega is larger than that: M/mu = m u/mu - l + A_Q |..|^2/mu."""
        share, mu, n = sides(boxes)  # u/mu
        v = (share * mu).root()
        p = parts(plant, v, mu, Interval(np.zeros_like(v.low)))
        _, b, _, _ = aliases(plant, v, mu, n, pairs)
        level = plant.echo[0]  # |D| <= v + level mu
        by_mu = (1.0 + v.square()) * (share + 2.0 * level * v + level**2 * mu)
        return (share * p.m - p.low + b * Interval(np.zeros_like(v.low), by_mu.high)).high < 0.0

    def little(boxes):
        v, mu, n = sides(boxes)
        last = np.minimum(LAST, TURN * n.low), np.minimum(LAST, TURN * n.high)
        if np.isfinite(high):
            v = Interval(v.low, np.minimum(v.high, np.pi * n.high * (1 + 1e-15)))
        there = size_of(plant, Interval(*last), mu, n, pairs)
        return size_of(plant, v, mu, n, pairs).high < there.low

    def far(boxes):
        after = boxes[:, 1] >= np.minimum(FALLS, FALLS_TURN * boxes[:, 4])
        return after & (boxes[:, 0] <= np.pi * boxes[:, 5])

    def few(boxes):
        return near(boxes) & (boxes[:, 2] * boxes[:, 0] ** 2 <= most)

    top = np.pi * high if np.isfinite(high) else 12.0
    count = branch(falls, (0.0, FALLS, 0.0, most, low, high), near)
    count += branch(slowly, (0.0, SMALL, 0.0, 4.0, low, high), few)
    count += branch(
        above, (0.0, 0.25, 0.0, most, low, high), lambda b: b[:, 0] * b[:, 2] <= SMALL**2
    )
    count += branch(passes, (SMALL, FALLS, 0.0, most, low, high), near)
    count += branch(little, (min(FALLS, FALLS_TURN * low), top, 0.0, most, low, high), far)
    if not np.isfinite(
        high
    ):  # v > 12: n |H| <= v |F| + v |A| with |F| <= 1/(v^3 (1 - mu)), v <= pi n
        for start in np.linspace(0.0, most, 65)[:-1]:
            mu, n = Interval([start], [start + most / 64 * (1 + 1e-9)]), Interval([low], [high])
            size = 1 / (144 * (1 - mu.high)) + np.pi * low * beyond_pairs(plant, mu, n, pairs)
            assert size < size_of(plant, Interval([LAST]), mu, n, pairs).low
    return count


@pytest.mark.parametrize(("name", "varies"), PLANTS)
def test_it_crosses_once_where_updates_are_frequent(name, varies):
    """T <= R/4."""
    assert prove(Plant(name, varies), *PARTS[0]) > 40


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS[1:], ids=["T<R", "T<2R"])
@pytest.mark.parametrize(("name", "varies"), PLANTS)
def test_it_crosses_once_up_to_two_round_trips(name, varies, part):
    """The whole domain of the fast path."""
    assert prove(Plant(name, varies), *part) > 2000


def test_bounds_hold_what_they_bound(rng):
    """Of single points: what is proved positive is, by differences of sums over 800 aliases."""
    for name, varies in PLANTS:
        plant, size = Plant(name, varies), 40
        theta, mu = rng.uniform(0.1, THETA, size), rng.uniform(0.0, plant.most, size)
        v = rng.uniform(0.05, 1.0, size) * np.minimum(FALLS, FALLS_TURN / theta)
        point = [Interval(value, value + 1e-12) for value in (v, mu, 1.0 / theta)]
        shown = np.minimum(*falling(plant, point, 6)) > 0.0
        passes = passing(plant, point[0], point[1], point[1] / point[0].square(), point[2], 6)
        sums = [summed(plant, v + d, mu, theta) for d in (-1e-5, 0.0, 1e-5)]
        loud = [
            np.abs(np.sin((v + d) * theta / 2) * s)
            for d, s in zip((-1e-5, 1e-5), sums[::2], strict=True)
        ]
        assert np.all(loud[1] < loud[0])
        assert shown.mean() > 0.9
        angle = [-np.angle(-s) for s in sums]
        needed = [
            np.sin(t) / np.tan(phi) - (1 - np.cos(t))
            for t, phi in zip(((v + d) * theta for d in (-1e-5, 0.0, 1e-5)), angle, strict=True)
        ]
        inside = (angle[1] > 1e-3) & (angle[1] < np.pi / 2 - v * theta / 2 - 1e-3)
        assert inside.any()
        assert np.all((passes > 0.0)[inside])
        assert np.all(np.isfinite(passes[inside]))
        assert np.all((needed[2] < needed[0])[inside])
        enclosed = size_of(plant, *point, 6)
        there = np.abs(2 * np.sin(v * theta / 2) * sums[1]) / theta
        assert np.all((enclosed.low <= there * (1 + 1e-9)) & (there <= enclosed.high * (1 + 1e-9)))


def summed(plant, v, mu, theta):
    """Return the sum of F over 800 aliases."""
    x = v + 2 * np.pi * np.arange(-400, 401)[:, None] / theta
    e, s = np.exp(-1j * x), 1j * x
    h = e + (plant.name == "reno") + ((1 - e) / (1 + s) if plant.varies else 0.0)
    return np.sum(e / (s * (1 + s) * (s + mu * h)), axis=0)


def test_the_statements_fail_beyond_their_range():
    """The proofs are not vacuous: with mu far above its limit |L| rises,"""
    plant, theta, mu = Plant("reno", False), 0.5, 2.5
    v = np.linspace(0.1, FALLS, 200)
    size = np.abs(np.sin(v * theta / 2) * summed(plant, v, mu, theta))
    assert np.any(np.diff(size) > 0.0)


# --- the fast path ----------------------------------------------------------------------------


def drawn(rng, sender, size, terms):
    """Loops of all kinds about the domain."""
    rtt = 10 ** rng.uniform(-3, 0, size)
    alpha = 10 ** rng.uniform(-3, 1, size)
    aqm = (pf.Pi2 if sender.signal == "classic" else pf.Pi)(
        alpha=alpha,
        beta=alpha * 10 ** rng.uniform(-2, 2, size),
        update_interval=rtt * 10 ** rng.uniform(-3, 0.4, size),
    )
    load = {"rtt": rtt, "p_prime": 10 ** rng.uniform(-6, 0, size)}
    return pf.Loop(sender, aqm, **load, update="sampled", rtt_terms=terms)


def compare(loop):
    """Hold both paths against one another; return how many loops take the fast one."""
    rows, valid = sampled_form_margins(loop.form, loop.rtt_terms)
    known = search_of(loop.linear, "sampled").margins(np.ones(loop.shape, dtype=bool))[:, valid]
    np.testing.assert_allclose(rows[0, valid], known[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(rows[1, valid], known[1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(rows[2:, valid], known[2:4], rtol=1e-10)
    return int(valid.sum())


@pytest.mark.parametrize("terms", ["frozen", "exact"])
@pytest.mark.parametrize("sender", [pf.Reno(), pf.CReno(), pf.Scalable()])
def test_it_finds_what_the_search_for_all_crossings_finds(rng, sender, terms):
    assert compare(drawn(rng, sender, 60, terms)) > 20


@pytest.mark.slow
@pytest.mark.parametrize("terms", ["frozen", "exact"])
@pytest.mark.parametrize("sender", [pf.Reno(), pf.CReno(), pf.Scalable()])
def test_it_finds_the_same_of_many(rng, sender, terms):
    """A hundred thousand of them in all six."""
    assert compare(drawn(rng, sender, 25_000, terms)) > 16_700


def test_its_verdict_is_that_of_counting(rng):
    for terms in ("frozen", "exact"):
        for sender in (pf.Reno(), pf.Scalable()):
            loop = drawn(rng, sender, 20, terms)
            margins = loop.margins()
            assert np.any(sampled_form_margins(loop.form, terms)[1])
            counts = [count_unstable(loop.linear.element((i,)), "sampled") for i in range(20)]
            assert np.all(margins.verdict_code == np.where(np.array(counts) == 0, 1, -1))


def test_one_loop_is_the_array_s(rng):
    """A loop's answer does not depend on its neighbours."""
    loop = drawn(rng, pf.Reno(), 19, "exact")
    rows, valid = sampled_form_margins(loop.form, "exact")
    assert np.any(valid)
    columns = dimensionless(loop)
    for i in range(19):
        one = {name: value[i : i + 1] for name, value in columns.items()}
        alone = _core.sampled_margins(scalable=False, varies=True, **one)[:, 0]
        np.testing.assert_array_equal(alone[:2], rows[:2, i])


def dimensionless(loop):
    """Return the numbers of a Reno loop as compiled code takes them."""
    form = loop.form
    mu = form.pole * form.rtt / 2
    numbers = {"m": form.kappa * form.pole * form.rtt, "mu": mu, "rho": form.beta / form.alpha}
    numbers |= {"a": form.alpha * form.rtt**2 / form.update_interval}
    return numbers | {"theta": form.update_interval / form.rtt}


def test_instruction_sets_agree(rng):
    columns = dimensionless(drawn(rng, pf.Reno(), 60, "frozen"))
    known = _core.sampled_margins(scalable=False, varies=False, **columns)
    for simd in _core.simd_levels():
        found = _core.sampled_margins(scalable=False, varies=False, **columns, simd=simd)
        np.testing.assert_allclose(found, known, rtol=1e-10, atol=1e-10)


def test_what_is_not_proved_is_left_to_the_search():
    good = {"m": 1.4, "mu": 0.1, "a": 0.05, "rho": 10.0, "theta": 0.2}
    columns = {name: np.array([value]) for name, value in good.items()}
    kind = {"scalable": False, "varies": False}
    assert np.all(np.isfinite(_core.sampled_margins(**kind, **columns)))
    for name, value in (
        ("theta", 2.01), ("theta", np.nan), ("mu", 0.71), ("mu", 0.0), ("rho", -1.0), ("a", np.inf),
        ("m", 1e3), ("a", 0.0),
    ):  # fmt: skip
        found = _core.sampled_margins(**kind, **columns | {name: np.array([value])})
        assert np.all(np.isnan(found)), (name, value)
    with pytest.raises(ValueError, match="of one length"):
        _core.sampled_margins(**kind, **columns | {"a": np.ones(2)})
