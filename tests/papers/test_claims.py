"""The papers' claims: their verdicts, and their numbers found again by other routes.

Gain margins are checked by counting unstable modes with the gains set a little below and a little
above the margin; phase margins by a dense Bode plot of the loop multiplied out of its blocks with C
and N; sampled loops at low load by the eigenvalues of one update period; constants by hand.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
import re
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import write_claims
from scipy.linalg import expm
from scipy.optimize import brentq

import pi2_fluid as pf
from pi2_fluid.papers.claim import decide, matches
from pi2_fluid.papers.claims import PAPERS, Claim, claims, computed_claims, figure_claims
from pi2_fluid.papers.paganini.joining import run, stages
from pi2_fluid.papers.pi2.claims.scalability import bare
from pi2_fluid.papers.pi2.claims.scaling import random_loops

ROOT = Path(__file__).resolve().parents[2]

EXPECTED = {
    "pi2-01": "reproduced",
    "pi2-02": "reproduced",
    "pi2-03": "reproduced",
    "pi2-04": "reproduced",
    "pi2-05": "depends",
    "pi2-06": "depends",
    "pi2-07": "not_reproduced",
    "pi2-08": "depends",
    "pi2-09": "reproduced",
    "pi2-10": "reproduced",
    "pi2-11": "reproduced",
    "pi2-12": "not_reproduced",
    "pi2-13": "depends",
    "pi2-14": "reproduced",
    "pi2-15": "reproduced",
    "pi2-16": "not_reproduced",
    "pi2-17": "depends",
    "pi2-61": "depends",
    "pi2-62": "reproduced",
    "pi2-63": "depends",
    "pi2-64": "depends",
    "pie-18": "not_reproduced",
    "pie-18b": "not_reproduced",
    "pie-19": "not_reproduced",
    "pie-20": "depends",
    "pie-21": "depends",
    "pie-22": "reproduced",
    "pie-23": "reproduced",
    "pie-24": "reproduced",
    "paganini-25": "reproduced",
    "paganini-26": "reproduced",
    "paganini-27": "reproduced",
    "paganini-28": "reproduced",
    "paganini-29": "reproduced",
    "paganini-30": "reproduced",
    "paganini-31": "not_reproduced",
    "paganini-32": "reproduced",
    "paganini-33": "depends",
    "paganini-36": "depends",
    "paganini-37": "reproduced",
    "paganini-38": "reproduced",
    "paganini-39": "reproduced",
    "paganini-40": "reproduced",
    "paganini-41": "not_reproduced",
    "paganini-42": "reproduced",
    "paganini-43": "reproduced",
    "paganini-44": "reproduced",
    "paganini-45": "depends",
    "paganini-46": "reproduced",
    "paganini-47": "reproduced",
    "paganini-48": "reproduced",
    "paganini-49": "depends",
    "paganini-51": "reproduced",
    "paganini-52": "depends",
    "paganini-53": "not_reproduced",
    "paganini-54": "not_reproduced",
    "paganini-55": "depends",
    "paganini-56": "reproduced",
    "paganini-57": "reproduced",
    "paganini-58": "reproduced",
    "paganini-59": "reproduced",
    "paganini-60": "reproduced",
    "thesis-34": "depends",
    "thesis-35": "reproduced",
}

RTT, T = 0.1, 0.032
PI2 = (0.3125, 3.125)
PIE = (0.125, 1.25)


class Found(dict[str, Claim]):
    """Claims by their ids, each paper's computed one by one until what is asked for is there."""

    def __init__(self) -> None:
        super().__init__()
        self.left = {paper: computed_claims(paper) for paper in PAPERS}

    def __missing__(self, name: str) -> Claim:
        for claim in self.left[name.partition("-")[0]]:
            self[claim.id] = claim
            if claim.id == name:
                return claim
        raise KeyError(name)

    def every(self) -> dict[str, Claim]:
        """Compute the rest; in the order of the papers."""
        done = [[*self.values()], *map(list, self.left.values())]
        claims = {claim.id: claim for some in done for claim in some}
        self.update(claims)
        order = {paper: place for place, paper in enumerate(PAPERS)}
        ids = sorted(claims, key=lambda name: order[name.partition("-")[0]])
        return {name: claims[name] for name in ids}


@pytest.fixture(scope="module")
def found() -> Found:
    return Found()


@pytest.fixture(autouse=True)
def _beyond_the_assumptions() -> Iterator[None]:
    # Windows below two segments and T above the RTT are what some claims are about.
    with warnings.catch_warnings(action="ignore", category=pf.AssumptionWarning):
        yield


# --- reading the numbers of a claim ----------------------------------------------------------

NUMBER = r"((?<![\d.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?!\.?\d))"


def unbroken(page: str) -> str:
    """A page in one line: where its lines end is no matter."""
    return " ".join((ROOT / "docs" / page).read_text(encoding="utf-8").split())


def shown(claim: Claim, pattern: str) -> list[tuple[float, float]]:
    """Return (number, unit of its last digit) for each # of a pattern that occurs once."""
    hits = re.findall(re.escape(pattern).replace(r"\#", NUMBER), claim.computed)
    assert len(hits) == 1, f"{pattern!r} occurs {len(hits)} times in {claim.computed!r}"
    texts = hits if isinstance(hits[0], str) else hits[0]
    return [(float(text), unit_of(text)) for text in texts]


def unit_of(text: str) -> float:
    mantissa, _, exponent = text.partition("e")
    return float(10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2])))


def assert_shows(claim: Claim, pattern: str, *values: float) -> None:
    """Check the numbers at the # of a pattern against values found otherwise, to the last digit."""
    numbers = shown(claim, pattern)
    assert len(numbers) == len(values)
    for (number, unit), value in zip(numbers, values, strict=True):
        assert abs(number - value) <= 0.5 * unit + 1e-6 * abs(value), (pattern, number, value)


@pytest.mark.slow
def test_a_wrong_number_is_seen(found: Found) -> None:
    assert_shows(found["pi2-15"], "; #; #.", 3.464, 1.190)
    for wrong in ((3.465, 1.190), (3.464, 1.191)):
        with pytest.raises(AssertionError):
            assert_shows(found["pi2-15"], "; #; #.", *wrong)
    with pytest.raises(AssertionError, match="occurs 0 times"):
        assert_shows(found["pi2-15"], "# gadgets", 3.464)


# --- other routes to a margin ----------------------------------------------------------------


def is_stable(loop: pf.Loop) -> bool:
    """Count unstable modes; margins are not used."""
    count = int(loop.nyquist_count())
    assert count >= 0, "on the boundary"
    return count == 0


def assert_gain_margin(make: Callable[[float], pf.Loop], number: tuple[float, float]) -> None:
    """Check a gain margin in dB: `make(factor)` is stable just below that gain, unstable above."""
    db, unit = number
    assert is_stable(make(10.0 ** ((db - 0.51 * unit) / 20.0)))
    assert not is_stable(make(10.0 ** ((db + 0.51 * unit) / 20.0)))


def scaled(
    gains: tuple[float, float],
    queue: Any = pf.Pi2,
    sender: pf.Sender | None = None,
    interval: float = T,
    rtt: float = RTT,
    **rest: Any,
) -> Callable[[float], pf.Loop]:
    def make(factor: float) -> pf.Loop:
        aqm = queue(alpha=gains[0] * factor, beta=gains[1] * factor, update_interval=interval)
        return pf.Loop(sender or pf.Reno(), aqm, rtt=rtt, **rest)

    return make


def loop_of_blocks(
    s: Any, law: str, window: float, rtt: float, gains: tuple[float, float], interval: float
) -> Any:
    """L = -P(s) P_queue(s) C_PI(s) with C and N written out: (20), (24), (28), (29)."""
    C, e = 1000.0, np.exp(-s * rtt)
    N = rtt * C / window
    corner = N / (rtt**2 * C)
    if law == "reno_p":
        source = -(rtt * C**2 / (2 * N**2)) * e / (s + corner * (1 + e))
    elif law == "reno_p2":
        source = -(np.sqrt(2) * C / N) * e / (s + corner * (1 + e))
    elif law == "reno_p_rough":  # the PIE paper's: (1 + e) -> 2
        source = -(rtt * C**2 / (2 * N**2)) * e / (s + 2 * corner)
    else:
        source = -(C / (2 * N)) * e / (s + corner * e)
    queue = (N / rtt) / (s + 1 / rtt)
    alpha, beta = gains
    controller = ((beta + alpha / 2) * s + alpha / interval) / (C * s)
    return -source * queue * controller


def bode(loop: Callable[[Any], Any], rtt: float) -> tuple[float, float, float]:
    """Return gain margin (dB), phase margin (deg, unwrapped), gain crossover, off a dense grid."""
    w = np.geomspace(1e-4 / rtt, 30 / rtt, 60_001)
    values = loop(1j * w)
    phase = np.degrees(np.unwrap(np.angle(values)))
    phase -= 360.0 * np.round((phase[0] + 90.0) / 360.0)
    assert abs(phase[0] + 90.0) < 60.0, "the grid starts too high"
    gain = np.log10(np.abs(values))
    at_unit = np.flatnonzero(gain < 0.0)[0]
    near = slice(at_unit - 1, at_unit + 1)
    log_w = float(np.interp(0.0, -gain[near], np.log(w[near])))
    at_turn = np.flatnonzero(phase < -180.0)[0]
    turn = slice(at_turn - 1, at_turn + 1)
    db = -20.0 * float(np.interp(180.0, -phase[turn], gain[turn]))
    return db, 180.0 + float(np.interp(log_w, np.log(w), phase)), math.exp(log_w)


def bode_margin(
    law: str, window: float, gains: tuple[float, float], rtt: float = RTT, interval: float = T
) -> float:
    """Return the gain margin in dB off a Bode plot."""
    return bode(lambda s: loop_of_blocks(s, law, window, rtt, gains, interval), rtt)[0]


def bode_reno_p(
    p: float, gains: tuple[float, float], rtt: float = RTT, interval: float = T, rough: bool = False
) -> tuple[float, float, float]:
    law = "reno_p_rough" if rough else "reno_p"
    window = math.sqrt(2.0 / p)
    return bode(lambda s: loop_of_blocks(s, law, window, rtt, gains, interval), rtt)


def times(gains: tuple[float, float], factor: float) -> tuple[float, float]:
    return gains[0] * factor, gains[1] * factor


def low_load_gain(gains: tuple[float, float], rtt: float, interval: float, m: float) -> float:
    """Return the factor on both gains that makes the continuous loop at p' -> 0 critical.

    L = m (a + j c v) e^{-jv} / ((jv)^2 (1 + jv)) in v = wR: two integrators, so the phase is -180
    degrees where atan(c v / a) = v + atan v.
    """
    a, c = gains[0] * rtt**2 / interval, (gains[1] + gains[0] / 2) * rtt
    v = brentq(lambda v: math.atan(c * v / a) - v - math.atan(v), 1e-3, 2.0)
    return float(v * v * math.hypot(1.0, v) / (m * math.hypot(a, c * v)))


def low_load_phase(gains: tuple[float, float], rtt: float, interval: float, m: float) -> float:
    """Return the phase margin (deg) of that loop."""
    a, c = gains[0] * rtt**2 / interval, (gains[1] + gains[0] / 2) * rtt
    v = brentq(lambda v: m * math.hypot(a, c * v) - v * v * math.hypot(1.0, v), 1e-3, 5.0)
    return math.degrees(math.atan(c * v / a) - v - math.atan(v))


def mode_per_update(
    gains: tuple[float, float], rtt: float, interval: float, extra_delay: float = 0.0
) -> complex:
    """Return the largest eigenvalue of one update period of PI2 at p' -> 0, an exact solution.

    There the windows only integrate: w' = -(m/R) u(t - R), d' = w - d/R, m = sqrt(2). The held u
    arrives after whole periods and a rest, so a period is two steps with constant u.
    """
    n, rest = divmod(rtt + extra_delay, interval)
    kept = int(n) + 2  # u now, and the values before that are still on their way

    def step(duration: float) -> Any:
        flow = np.array([[0.0, 0.0, -math.sqrt(2) / rtt], [1.0, -1.0 / rtt, 0.0], [0.0] * 3])
        return expm(flow * duration)[:2]

    late, soon = step(rest), step(interval - rest)
    period = np.zeros((2 + kept, 2 + kept))
    for column, (w, d, *u) in enumerate(np.eye(2 + kept)):
        x = late @ np.array([w, d, u[-1]])
        x = soon @ np.array([*x, u[-2]])
        new = u[0] + gains[0] * x[1] + gains[1] * (x[1] - d)
        period[:, column] = [*x, new, *u[:-1]]
    values = np.linalg.eigvals(period)
    return complex(values[np.argmax(np.abs(values))])


def growth_per_update(
    gains: tuple[float, float], rtt: float, interval: float, extra_delay: float = 0.0
) -> float:
    return abs(mode_per_update(gains, rtt, interval, extra_delay)) - 1.0


# --- the list --------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_claim_is_there_with_its_verdict(found: Found) -> None:
    assert {claim.id: claim.verdict for claim in found.every().values()} == EXPECTED


@pytest.mark.slow
def test_ids_are_unique_and_name_their_paper() -> None:
    for paper in set(PAPERS) - {"pi2"}:
        ids = [claim.id for claim in computed_claims(paper)]
        assert ids == [key for key in EXPECTED if key.startswith(f"{paper}-")]


@pytest.mark.slow
def test_all_of_them_are_those_of_the_papers_in_order(found: Found) -> None:
    # They are a dict: a repeated id would make it shorter than the modules' lists.
    modules = [name for names in PAPERS.values() for name in names]
    listed = [importlib.import_module(f"pi2_fluid.papers.{m}").CLAIMS for m in modules]
    assert list(found.every()) == list(EXPECTED)
    assert len(found.every()) == sum(len(functions) for functions in listed)


@pytest.mark.slow
def test_a_claim_is_frozen_text_that_survives_json(found: Found) -> None:
    for claim in found.every().values():
        record = dataclasses.asdict(claim)
        assert json.loads(json.dumps(record)) == record
        assert list(record) == ["id", "source", "text", "computed", "verdict", "why"]
        assert all(value and value.strip() == value for value in record.values())
        assert re.search(NUMBER, claim.computed)
        assert "nan" not in claim.computed
        assert "inf" not in claim.computed
    with pytest.raises(dataclasses.FrozenInstanceError):
        found["pi2-07"].verdict = "reproduced"  # type: ignore[misc]


def test_an_unknown_paper_is_refused_in_one_sentence() -> None:
    with pytest.raises(pf.QuantityError, match="paper = 'red' is unknown: give one of pi2, pie"):
        claims("red")


@pytest.mark.slow
def test_no_warning_escapes_and_none_is_left_switched_off() -> None:
    with warnings.catch_warnings(record=True, action="always") as seen:
        claims("thesis")
        assert seen == []
        pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.9)
    assert [warning.category for warning in seen] == [pf.AssumptionWarning]


@pytest.mark.parametrize(
    ("readings", "verdict"),
    [
        ((True,), "reproduced"),
        ((True, True), "reproduced"),
        ((False, True), "depends"),
        ((False, False), "not_reproduced"),
    ],
)
def test_the_verdict_follows_the_readings(readings: tuple[bool, ...], verdict: str) -> None:
    assert decide(*readings) == verdict


@pytest.mark.parametrize(
    ("value", "printed", "same"),
    [
        (5.4999, "5.5", True),
        (5.4499, "5.5", False),
        (5.5501, "5.5", False),
        (104.95, "105.0", True),
        (104.9, "105.0", False),
        (0.64209, "0.64", True),
        (0.0065, "0.007", True),
        (-2.04, "-2.0", True),
    ],
)
def test_agreement_is_to_the_last_printed_digit(value: float, printed: str, same: bool) -> None:
    assert matches(value, printed) is same


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "name", "value", "index", "verdict"),
    [
        ("pi2.claims.scaling", "EXTENDED_TABLE", "hpsr13", 2, "not_reproduced"),
        ("pi2.claims.scaling", "EXTENDED_TABLE", "none", 4, "not_reproduced"),
        ("pi2.claims.design", "FACTOR", 2.6, 0, "depends"),
        ("pi2.claims.design", "FACTOR", 3.2, 0, "not_reproduced"),
        ("pi2.claims.design", "SHORT_INTERVAL", 0.033, 4, "reproduced"),
        ("pi2.claims.short_flows", "ALIKE", 2.0, 0, "reproduced"),
        ("pie.claims", "STATED", ("29.5", "100.9"), 0, "reproduced"),
        ("pie.claims", "LOWEST", 7e-3, 2, "reproduced"),
        ("pie.claims", "LOWEST", 4e-4, 4, "reproduced"),
        ("paganini.claims", "WINDOW", 5, 4, "not_reproduced"),
        ("paganini.claims", "BETA", 1.1, 6, "reproduced"),
        ("paganini.claims", "ALPHA", 1.6, 7, "not_reproduced"),
        ("paganini.claims", "UTILITY", 100.0, 8, "reproduced"),
        ("paganini.long_flows", "NEAR", 1e-4, 0, "not_reproduced"),
        ("paganini.long_flows", "NEAR", 1e-4, 2, "not_reproduced"),
        ("paganini.long_flows", "SMALL", -1.0, 1, "not_reproduced"),
        ("paganini.packet_flows", "NEAR", 0.01, 0, "not_reproduced"),
        ("paganini.packet_flows", "FULL", 1e-6, 1, "depends"),
        ("paganini.packet_flows", "NEAR", 0.01, 2, "not_reproduced"),
        ("paganini.packet_flows", "SMALL", 1.0, 3, "depends"),
        ("paganini.packet_flows", "NEAR", 0.3, 4, "reproduced"),
        ("paganini.heavy_tails", "OVERSHOOT", 3.0, 2, "depends"),
        ("thesis.claims", "THESIS_INTERVAL", 0.032, 0, "reproduced"),
        ("thesis.claims", "TUNED_PI2", (0.4, 4.0), 0, "not_reproduced"),
        ("thesis.claims", "TUNED_PI2", (0.4, 4.0), 1, "not_reproduced"),
    ],
)
def test_other_numbers_give_another_verdict(
    monkeypatch: pytest.MonkeyPatch, module: str, name: str, value: Any, index: int, verdict: str
) -> None:
    here = importlib.import_module(f"pi2_fluid.papers.{module}")
    compute: Callable[[], Claim] = here.CLAIMS[index]
    before = compute()
    assert before.verdict == EXPECTED[before.id]
    monkeypatch.setattr(here, name, value)
    assert compute().verdict == verdict != before.verdict


# --- PI2 paper: scaling ----------------------------------------------------------------------


@pytest.mark.slow
def test_the_slopes_of_the_fixed_gains(found: Found) -> None:
    step = 0.02  # decades

    def slope(p: float) -> float:
        ends = [bode_reno_p(p * 10.0**x, PIE)[0] for x in (-step, step)]
        return (ends[1] - ends[0]) / (2 * step)

    assert_shows(
        found["pi2-01"],
        "Slope #, #, #, #, # dB per decade",
        *(slope(10.0**k) for k in range(-5, 0)),
    )
    rise = bode_reno_p(1.0, PIE)[0] - bode_reno_p(1e-6, PIE)[0]
    assert_shows(found["pi2-01"], "a rise of # dB", rise)


@pytest.mark.slow
def test_the_sample_holds_both_kinds_of_loops(found: Found) -> None:
    (agree, _), (size, _) = shown(found["pi2-02"], "In # of # random loops")
    rng = np.random.default_rng(2016)
    unstable = sum(not is_stable(random_loops(rng)) for _ in range(int(size)))
    assert agree == size >= 60
    assert 0.2 * size < unstable < 0.8 * size
    assert_shows(found["pi2-02"], "; # of the loops are unstable", unstable)


def test_the_smallest_margins_of_the_extended_table(found: Found) -> None:
    claim = found["pi2-03"]
    gain, load = shown(claim, "gain margin at least # dB (p = #)")
    assert load[0] == 0.01
    # From p = 0.01 on the table halves the gains, from just below 1e-5 down it divides by 512.
    assert_gain_margin(scaled(times(PIE, 1 / 2), pf.Pi, p=0.01), gain)
    below = bode_reno_p(9.99999e-6, times(PIE, 1 / 512))
    assert_shows(claim, "phase margin at least # deg (p = #)", below[1], 9.99999e-6)
    for pattern, factor in (("(PIE paper's", 1 / 8), ("(first drafts'", 1 / 32)):
        ((p, unit),) = shown(claim, f"# {pattern}")
        for load_, stable in ((p - unit, False), (p + unit, True)):
            loop = scaled(times(PIE, factor), pf.Pi, p=load_)(1.0)
            assert is_stable(loop) is stable


def test_the_margins_at_high_load(found: Found) -> None:
    loads = (0.1, 10**-0.5, 1.0)
    full = [bode_reno_p(p, PIE)[0] for p in loads]
    eighth = [bode_reno_p(p, times(PIE, 1 / 8))[0] for p in loads]
    assert_shows(found["pi2-04"], "1: #, #, # dB, against #, #, # dB", *full, *eighth)


# log10 of RFC 8033's factors, one per decade of p from 1e-6 to 1
STEPS = np.log10(2.0) * np.array([-9, -7, -5, -3, -1, 0])
CENTRES = np.arange(-5.5, 0.0)


def test_the_table_against_the_square_root(found: Found) -> None:
    # Least squares of a step function over [-6, 0], whose second moment is 6^3 / 12.
    slope = float(STEPS @ (CENTRES - CENTRES.mean())) / 18.0
    mean = 10.0 ** float(STEPS.mean() - 0.5 * (np.log10(2.0) + CENTRES.mean()))
    lowest = 2.0**-9 / math.sqrt(2e-5)
    highest = 0.5 / math.sqrt(0.02)
    assert_shows(
        found["pi2-05"],
        "from # to #, geometric mean #; log-log slope #.",
        lowest,
        highest,
        mean,
        slope,
    )
    assert_shows(
        found["pi2-06"],
        "# if tune were sqrt(2p); with the table # to #, geometric mean #.",
        2.5 * math.sqrt(2.0),
        2.5 * math.sqrt(2.0) / highest,
        2.5 * math.sqrt(2.0) / lowest,
        2.5 * math.sqrt(2.0) / mean,
    )


def test_the_decibels_of_the_gain_ratio(found: Found) -> None:
    db = 20.0 * math.log10(2.5 * math.sqrt(2.0))
    assert_shows(found["pi2-07"], "differ by # to # dB", db, db)
    assert_shows(found["pi2-07"], "would give #.", db / 2.0)
    # The same from two Bode plots: PIE with sqrt(2p), and PI2.
    p = 0.003
    pie = bode_reno_p(p, times(PIE, math.sqrt(2.0 * p)))[0]
    window = math.sqrt(2.0 / p)
    pi2 = bode_margin("reno_p2", window, PI2)
    assert pie - pi2 == pytest.approx(db, abs=1e-5)


@pytest.mark.parametrize(
    ("terms", "name"), [("frozen", "RTT frozen"), ("exact", "RTT varying with the queue")]
)
def test_where_ten_decibels_are_passed(found: Found, terms: str, name: str) -> None:
    claim = found["pi2-08"]
    ten, _, at_stated, stated, at_one = shown(
        claim, f"{name}: 10 dB at p' = # (p = # %), # dB at #, # dB at 1"
    )
    assert stated[0] == 0.6
    assert_gain_margin(scaled(PI2, p_prime=0.6, rtt_terms=terms), at_stated)
    assert_gain_margin(scaled(PI2, p_prime=1.0, rtt_terms=terms), at_one)
    for load, stable in ((ten[0] - 2e-4, False), (ten[0] + 2e-4, True)):
        make = scaled(PI2, p_prime=load, rtt_terms=terms)
        assert is_stable(make(math.sqrt(10.0))) is stable


# --- PI2 paper: design -----------------------------------------------------------------------


def test_the_largest_factor_continuous(found: Found) -> None:
    factor = low_load_gain(times(PIE, 2.5), RTT, T, math.sqrt(2.0))
    phase = low_load_phase(times(PIE, 2.5), RTT, T, math.sqrt(2.0))
    claim = found["pi2-09"]
    assert_shows(claim, "continuous: at least # dB and # deg", 20 * math.log10(factor), phase)
    assert_shows(claim, "as p goes to 0; the factor could be #; sampled: at", 2.5 * factor)
    # No load is worse than the lightest: loaded loops are stable up to that factor.
    for load in (1e-3, 1e-2, 0.1, 0.4, 1.0):
        assert is_stable(scaled(times(PIE, 2.5 * factor), p_prime=load)(1.0))


def test_the_largest_factor_sampled(found: Found) -> None:
    factor = brentq(lambda f: growth_per_update(times(PIE, f), RTT, T), 2.4, 2.7, xtol=1e-9)
    # With so much more delay that the loop is on the edge, the mode turns at the gain crossover.
    gains = times(PIE, 2.5)
    delay = brentq(lambda x: growth_per_update(gains, RTT, T, x), 0.0, 0.01, xtol=1e-12)
    turn = abs(np.angle(mode_per_update(gains, RTT, T, delay))) / T
    claim = found["pi2-09"]
    assert_shows(
        claim,
        "sampled: at least # dB and # deg",
        20 * math.log10(factor / 2.5),
        math.degrees(delay * turn),
    )
    assert_shows(claim, "as p goes to 0; the factor could be #; sampled by", factor)
    for load in (1e-3, 1e-2, 0.1, 0.4, 1.0):
        assert is_stable(scaled(times(PIE, factor), p_prime=load, update="sampled")(1.0))


def test_the_largest_factor_by_acknowledgements(found: Found) -> None:
    (number, _) = shown(found["pi2-09"], "acknowledgements: at least # dB and # deg")
    make = scaled(times(PIE, 2.5), p_prime=1e-3, update="sampled", clock="acks")
    assert_gain_margin(make, number)


def test_the_flat_and_the_diagonal_margin(found: Found) -> None:
    claim = found["pi2-10"]
    low, high, _, _, span = shown(claim, "PI2 # to # dB, fixed PI # to # dB, a span of # dB")
    assert_gain_margin(scaled(PI2, p_prime=1e-3), low)
    assert_gain_margin(scaled(PI2, p_prime=1.0), high)
    fixed = [bode_reno_p(p, PIE)[0] for p in (1e-6, 1.0)]
    assert_shows(claim, "fixed PI # to # dB, a span", *fixed)
    assert span[0] > 4 * (high[0] - low[0])
    base = 20 * math.log10(low_load_gain(PI2, RTT, T, math.sqrt(2.0)))
    rises = [bode_margin("reno_p2", math.sqrt(2) / x, PI2) - base for x in (0.01, 0.1)]
    assert_shows(claim, "by # dB at p' = 0.01 and by # dB at p' = 0.1", *rises)


def test_scalable_senders(found: Found) -> None:
    claim = found["pi2-11"]
    classic = low_load_gain(PI2, RTT, T, math.sqrt(2.0))
    own, doubled = (low_load_gain(times(PI2, f), RTT, T, 0.5) for f in (1.0, 2.0))
    assert_shows(claim, "own gains at least # dB", 20 * math.log10(own))
    # The list follows p' down to 1e-6 only, where 1e-5 dB are still missing to the limit.
    assert_shows(claim, "doubled # to", 20 * math.log10(doubled))
    assert_shows(claim, "could be # times", math.sqrt(8.0))
    assert_shows(claim, "as Reno's, # dB", 20 * math.log10(classic))
    top = shown(claim, "doubled 5.004 to # dB")[0]
    assert_gain_margin(scaled(times(PI2, 2.0), pf.Pi, pf.Scalable(), p_prime=1.0), top)


def test_the_ratio_of_equal_margins(found: Found) -> None:
    claim = found["pi2-12"]

    def ratio(classic_load: float, scalable_load: float) -> float:
        classic = bode_margin("reno_p2", math.sqrt(2) / classic_load, PI2)
        scalable = bode_margin("scal", 2.0 / scalable_load, PI2)
        return 10.0 ** ((scalable - classic) / 20.0)

    assert_shows(claim, "need a ratio of #;", math.sqrt(8.0))
    loads = (0.1, 0.3, 0.6, 1.0)
    assert_shows(claim, "1 it is #, #, #, #.", *(ratio(x, x) for x in loads))
    two = brentq(lambda x: ratio(x, x) - 2.0, 0.1, 0.6, xtol=1e-6)
    same_window = brentq(lambda x: ratio(x, math.sqrt(2) * x) - 2.0, 0.1, 0.6, xtol=1e-6)
    assert_shows(claim, "It is 2 at p' = #,", two)
    assert_shows(claim, "p' = # of Reno, # of Scalable", same_window, math.sqrt(2.0) * same_window)


@pytest.mark.parametrize("interval", [0.032, 0.015])
def test_the_rtt_beyond_which_no_gain_helps(found: Found, interval: float) -> None:
    name = f"T = {1e3 * interval:.0f} ms: "
    margin, continuous, sampled = shown(
        found["pi2-13"],
        f"{name}# dB at RTT 100 ms, p' = 0.001; at low load no gain is stable from RTT # ms on"
        " (# ms sampled)",
    )
    assert_gain_margin(scaled(PI2, interval=interval, p_prime=1e-3), margin)
    for limit, update in ((continuous, "continuous"), (sampled, "sampled")):
        for shift, leads in ((-1.0, True), (1.0, False)):
            # As load and gain vanish the crossover sinks to low frequency: whether -L leads there
            # says whether any gain is stable.
            rtt = 1e-3 * (limit[0] + shift)
            loop = scaled(PI2, interval=interval, rtt=rtt, p_prime=1e-9, update=update)(1.0)
            assert bool(np.angle(-loop(0.05j)) > 0.0) is leads


# --- PI2 paper: constants and experiments ----------------------------------------------------


def test_the_probabilities(found: Found) -> None:
    assert_shows(found["pi2-14"], "# %, # %, # %.", 100 * 0.2**0.5, 100 * 0.5**2, 100 * 0.6**2)


def test_the_window_constants(found: Found) -> None:
    def sawtooth(kept: float) -> float:
        # W falls from its top to `kept` of it and climbs one per round: the packets sent in one
        # tooth are 1/p, so W sqrt(p) = mean of W / sqrt(packets).
        top = 1000.0
        rounds = (1.0 - kept) * top
        mean = (1.0 + kept) / 2.0 * top
        return mean / math.sqrt(rounds * mean)

    def cubic(kept: float) -> float:
        # W(t) = 0.4 (t - K)^3 + top over one tooth, K = cbrt(top removed / 0.4), in a round of 1 s.
        top = 1e6
        removed = 1.0 - kept
        K = (top * removed / 0.4) ** (1 / 3)
        t = np.linspace(0.0, K, 100_001)
        mean = float(np.trapezoid(0.4 * (t - K) ** 3 + top, t)) / K
        return mean / (K * mean) ** 0.75

    claim = found["pi2-15"]
    creno = sawtooth(0.7)
    assert_shows(claim, "#, #, #; ", sawtooth(0.5), creno, cubic(0.8))
    assert_shows(claim, "; #; #.", 1.68**3 / 1.17**2, 2.0 / 1.68)
    assert_shows(claim, "constants are # and #;", 1.0 / math.sqrt(0.5), 1.0 / math.sqrt(0.3))
    # Equal windows at R = 1: creno / p^(1/2) = cubic / p^(3/4), W R^(3/2) at that p.
    same = brentq(lambda x: creno / x**2 - cubic(0.7) / x**3, 0.1, 2.0)
    assert_shows(claim, "would be #.", creno / same**2)


def flows_loop(
    gains: tuple[float, float],
    queue: Any,
    count: int,
    base: str,
    capacity: str,
    update: str,
    terms: str,
    clock: str,
) -> Callable[[float], pf.Loop]:
    flows = pf.Flows(pf.Reno(), count=count, base_rtt=base)

    def make(factor: float) -> pf.Loop:
        aqm = queue(alpha=gains[0] * factor, beta=gains[1] * factor, update_interval=T)
        model = {"update": update, "rtt_terms": terms, "clock": clock}
        return pf.Loop(flows, aqm, capacity=capacity, **model)

    return make


MODELS = (
    ("continuous", "frozen", "rate"),
    ("sampled", "frozen", "rate"),
    ("sampled", "exact", "rate"),
    ("sampled", "frozen", "acks"),
)
LISTED = (
    "# dB continuous, # dB sampled, # dB sampled with the RTT varying,"
    " # dB sampled by acknowledgements"
)


def test_the_untuned_controller_with_few_flows(found: Found) -> None:
    claim = found["pi2-16"]
    numbers = shown(claim, f"margin {LISTED}; 30")
    for model, number in zip(MODELS, numbers, strict=True):
        make = flows_loop(PIE, pf.Pi, 10, "10ms", "100Mbit/s", *model)
        assert_gain_margin(make, number)
        assert is_stable(make(1.0))
    # C = 100 Mb/s / 12 kbit; W = 0.03 C / N
    more = [bode_reno_p(2.0 / (250.0 / n) ** 2, PIE, rtt=0.03)[0] for n in (30, 50)]
    assert_shows(claim, "30 flows # dB; 50 flows # dB", *more)
    edge = shown(claim, "edge: # dB continuous, # dB sampled.")
    for update, number in zip(("continuous", "sampled"), edge, strict=True):
        assert_gain_margin(scaled(PIE, pf.Pi, rtt=0.03, p=1e-3, update=update), number)


@pytest.mark.parametrize("count", [5, 10, 50])
def test_the_experiments_with_pi2(found: Found, count: int) -> None:
    ending = "; 10" if count == 5 else ""  # which "50 flows" has not
    numbers = shown(found["pi2-17"], f"{count} flows: {LISTED}{ending}")
    for model, number in zip(MODELS, numbers, strict=True):
        make = flows_loop(PI2, pf.Pi2, count, "100ms", "10Mbit/s", *model)
        assert_gain_margin(make, number)
    # W = 0.12 s C / N with C = 10 Mb/s / 12 kbit
    by_bode = bode_margin("reno_p2", 100.0 / count, PI2, rtt=0.12)
    assert numbers[0][0] == pytest.approx(by_bode, abs=0.0051)


@pytest.mark.slow
def test_short_flows_without_completion_times(found: dict[str, Claim]) -> None:
    """The setting that is farthest apart, from the table of transfers."""
    claim = found["pi2-61"]
    (rate, _), (rtt, _), (load, _) = shown(claim, "with # Mbit/s, # ms and # %.")
    mean = {}
    for name in ("pie", "pi2"):
        web = pf.Transfers(
            pf.Reno(), 2000, 1e-3 * rtt, size=pf.Pareto(1.2, 4, cap=200),
            arrivals=load / 100 * rate * 1e6 / (12_000 * pf.Pareto(1.2, 4, cap=200).mean),
            push_every=0,
        )  # fmt: skip
        aqm = pf.named_scenario(f"pi2_fig12_{name}").aqm
        flows = [pf.Flows(pf.Reno(), 1, 1e-3 * rtt, push_every=0), web]
        scenario = pf.Scenario(2e3 / rate, pf.Link(1e6 * rate, 40_000), aqm, flows)
        runs = pf.simulate(scenario, pf.Packets(seeds=2))
        over = runs.transfer_start + runs.transfer_time
        mean[name] = float(runs.transfer_time.where(over > 10.0).mean("transfer").mean())
    assert_shows(claim, "and # %, with", 100 * abs(mean["pi2"] / mean["pie"] - 1.0))


@pytest.mark.slow
def test_exponents_by_hand(found: Found) -> None:
    """sqrt(2/p), sqrt(1/(0.3 p)), 1.032 (R/p)^(3/4) and 2/p, between two loads."""
    names = ("Reno", "Cubic in its Reno mode", "Cubic", "DCTCP", "DCTCP, renewal", "Scalable")
    powers = (0.5, 0.5, 0.75, 1.0, 1.0, 1.0)
    told = ", ".join(f"{name} {power:.3f}" for name, power in zip(names, powers, strict=True))
    assert found["pi2-62"].computed == f"{told}."


@pytest.mark.slow
def test_a_step_marks_otherwise_than_lots(found: Found) -> None:
    """The window that quadruples more than halves p, where 1/p would quarter it."""
    marked = {}
    for path in ("20ms", "80ms"):
        scenario = pf.Scenario(
            90.0, pf.Link("40Mbit/s", 40_000), pf.DualPi2(step="2ms"),
            pf.Flows(pf.Dctcp(variant="rfc8257"), 1, path),
        )  # fmt: skip
        runs = pf.packet.simulate(scenario, bin=1.0).sel(time=slice(30.0, None))
        marked[path] = float(runs.marks.sum() / runs.arrivals.sum())
        window = float(runs.window.mean())
        assert window * marked[path] ** 2 == pytest.approx(1.0, abs=0.15)
    assert marked["20ms"] / marked["80ms"] == pytest.approx(2.07, abs=0.1)
    ((exponent, _), *_) = shown(found["pi2-63"], "the exponent is # (")
    assert exponent == pytest.approx(1.8, abs=0.1)


@pytest.mark.slow
def test_bare_pie_differs_where_the_target_is_short(found: Found) -> None:
    """By Figure 14's scenarios with 5 and 20 ms, from one seed each."""
    apart = {}
    for target in ("5ms", "20ms"):
        scenario = pf.named_scenario(f"pi2_fig14a_{target}_pie")
        means = [
            float(
                pf.packet.simulate(dataclasses.replace(scenario, aqm=aqm), seeds=2, bin=1.0)
                .queue_delay.sel(time=slice(6.0, None))
                .mean()
            )
            for aqm in (scenario.aqm, bare(scenario.aqm))
        ]
        apart[target] = means[1] / means[0] - 1.0
    assert apart["5ms"] < -0.15
    assert abs(apart["20ms"]) < 0.06
    assert "the mean delay most in 14a, 5ms" in found["pi2-64"].computed


# --- PIE paper -------------------------------------------------------------------------------

PIE_T = 0.030


def pie_phase(p: float, alpha: float, rtt: float = RTT, rough: bool = False) -> float:
    return bode_reno_p(p, (alpha, 10 * alpha), rtt, PIE_T, rough)[1]


def load_at(phase: float, alpha: float, low: float = 1e-5, rough: bool = False) -> float:
    return float(brentq(lambda p: pie_phase(p, alpha, rough=rough) - phase, low, 0.5, xtol=1e-9))


@pytest.mark.slow
def test_the_illustration_of_a_shorter_rtt(found: Found) -> None:
    claim = found["pie-18"]
    alphas = (0.125, 0.0625, 0.0156)
    at_half = [pie_phase(load_at(29.5, alpha), alpha, RTT / 2) for alpha in alphas]
    assert_shows(claim, "give #, #, # deg at 50 ms", *at_half)
    # kappa as printed is twice the derived one, which is twice the gains.
    p = load_at(29.5, 0.25)
    assert_shows(claim, "p = # at 100 ms and 2 p at 50 ms", p)
    best = pie_phase(2 * p, 0.25, RTT / 2)
    ((nearest, unit),) = shown(claim, "readings: # deg at 50 ms (kappa printed")
    assert abs(nearest - best) <= 0.5 * unit + 1e-3
    assert max(at_half) < best < 105.0
    factor, load = shown(claim, "would need # times the largest gains, at p = #.")
    alpha = 0.125 * factor[0]
    assert pie_phase(load_at(29.5, alpha), alpha, RTT / 2) == pytest.approx(105.0, abs=0.1)
    assert load_at(29.5, alpha) == pytest.approx(load[0], abs=1e-3)


def undelayed_phase(p: float, alpha: float, rtt: float, kappa: float, rough: bool) -> float:
    """Return the phase margin of the loop with the delay's own phase taken out."""
    gains = (alpha * kappa / 0.5, 10 * alpha * kappa / 0.5)
    _, phase, w = bode_reno_p(p, gains, rtt, PIE_T, rough)
    return phase + math.degrees(w * rtt)


def test_the_illustration_without_delay(found: Found) -> None:
    claim = found["pie-18b"]
    both = [undelayed_phase(1e-4, 0.0156, rtt, 0.5, True) for rtt in (RTT, RTT / 2)]
    assert_shows(claim, "p = 0.0001: # deg at 100 ms, but # deg at 50 ms", *both)
    p = brentq(lambda p: undelayed_phase(p, 0.125, RTT, 2.0, False) - 29.5, 1e-3, 0.2, xtol=1e-9)
    near = undelayed_phase(4 * p, 0.125, RTT / 2, 2.0, False)
    assert_shows(claim, "readings: # deg at 50 ms (kappa doubled, (1+e)/2 kept", near)
    assert_shows(claim, "p = # at 100 ms and 4 p", p)


def test_the_margin_at_light_load(found: Found) -> None:
    claim = found["pie-19"]
    for name, alpha in (("derived", 0.0156), ("printed", 0.0312)):
        for shape, rough in (("kept", False), ("taken as 1", True)):
            phase = pie_phase(1e-4, alpha, rough=rough)
            assert_shows(claim, f"# (kappa {name}, (1+e)/2 {shape}, one delay)", phase)
        loop = scaled((alpha, 10 * alpha), pf.Pi, interval=PIE_T, p=1e-4)(1.0)
        assert not is_stable(loop)
    loads = [100 * load_at(25.0, alpha) for alpha in (0.0156, 0.0312)]
    assert_shows(claim, "at p = # % (kappa derived) and # % (printed)", *loads)
    undelayed = [undelayed_phase(1e-4, 0.0156, RTT, kappa, True) for kappa in (0.5, 1.0)]
    assert_shows(claim, "delay # and # deg", *undelayed)


@pytest.mark.parametrize(("kappa", "factor"), [("derived", 1.0), ("printed", 2.0)])
@pytest.mark.parametrize("alpha", [0.125, 0.0625])
def test_gains_too_large_below_one_percent(
    found: Found, kappa: str, factor: float, alpha: float
) -> None:
    limit, phase = shown(
        found["pie-20"], f"kappa {kappa}, alpha = {alpha:g}: unstable below p = # %, # deg at 1 %"
    )
    gains = (alpha * factor, 10 * alpha * factor)
    for load, stable in ((limit[0] - limit[1], False), (limit[0] + limit[1], True)):
        assert is_stable(scaled(gains, pf.Pi, interval=PIE_T, p=load / 100)(1.0)) is stable
    assert abs(phase[0] - pie_phase(0.01, gains[0])) <= 0.5 * phase[1] + 1e-4


def test_three_steps_of_gains(found: Found) -> None:
    claim = found["pie-21"]
    # The smallest margin from 1 % up is where the half gains set in.
    assert_shows(claim, "at least # deg for p >= 1 %", pie_phase(0.01, 0.0625))
    for p, alpha in ((0.02, 0.0625), (0.0999, 0.0625), (0.1, 0.125), (0.3, 0.125)):
        assert pie_phase(p, alpha) > pie_phase(0.01, 0.0625)
    ((limit, unit),) = shown(claim, "unstable below p = #,")
    for p, stable in ((limit - unit, False), (limit + unit, True)):
        assert is_stable(scaled((0.015625, 0.15625), pf.Pi, interval=PIE_T, p=p)(1.0)) is stable
    assert_shows(claim, "kappa printed: # deg", pie_phase(0.01, 0.125))


def test_lower_gains(found: Found) -> None:
    claim = found["pie-22"]
    plots = [bode_reno_p(0.01, (a, 10 * a), RTT, PIE_T) for a in (0.125, 0.0625, 0.0156)]
    assert_shows(claim, "cross at #, #, # rad/s", *(plot[2] for plot in plots))
    assert_shows(claim, "with #, #, # deg", *(plot[1] for plot in plots))
    ((limit, _),) = shown(claim, "this order up to p = # %")
    for percent, ordered in ((limit - 2, True), (limit + 2, False)):
        phases = [pie_phase(percent / 100, a) for a in (0.125, 0.0625, 0.0156)]
        assert (phases == sorted(phases)) is ordered


def test_the_worst_case_covers_the_others(found: Found) -> None:
    assert_shows(found["pie-23"], "# violations in # + # random cases", 0.0, 400.0, 400.0)
    rng = np.random.default_rng(77)
    stable = 0
    while stable < 40:
        alpha, p = 10.0 ** rng.uniform(-3, 0), 10.0 ** rng.uniform(-5, -1)
        rtt = 10.0 ** rng.uniform(-2, -0.3)
        case = partial(scaled, (alpha, 10 * alpha), pf.Pi, interval=PIE_T)
        if is_stable(case(rtt=rtt, p=p)(1.0)):
            stable += 1
            shorter, higher = rtt * rng.uniform(0.2, 1.0), p ** rng.uniform(0.1, 1.0)
            assert is_stable(case(rtt=shorter, p=higher)(1.0))
    gains = [
        abs(loop_of_blocks(10j, "reno_p", math.sqrt(2e4), rtt, (0.0156, 0.156), PIE_T))
        for rtt in (0.1, 0.05, 0.025)
    ]
    assert gains == sorted(gains)
    assert_shows(found["pie-23"], "#, #, # at 100, 50, 25 ms", *gains)


def test_the_oversubscription(found: Found) -> None:
    assert_shows(found["pie-24"], "# %.", 20.0)


# --- Paganini and others ---------------------------------------------------------------------


def settles(alpha: float, delay: float = 1.0) -> bool:
    """Follow x'(t) = -alpha x(t - delay) for 400 delays: does it fade?"""
    steps = 200
    h = delay / steps
    x = np.zeros(400 * steps)
    x[:steps] = 1.0
    for start in range(steps - 1, x.size - steps, steps):
        # The right-hand side of one delay is known: integrate it by the trapezoidal rule.
        past = x[start - steps + 1 : start + 1]
        before = np.concatenate([[x[max(start - steps, 0)]], past[:-1]])
        x[start + 1 : start + 1 + steps] = x[start] - alpha * h * np.cumsum(past + before) / 2
    first, last = np.abs(x[50 * steps : 60 * steps]).max(), np.abs(x[-20 * steps :]).max()
    return bool(last < first)


def test_the_bound_on_alpha(found: Found) -> None:
    claim = found["paganini-25"]
    assert_shows(claim, "stable up to alpha = # (", math.pi / 2)
    assert settles(0.99 * math.pi / 2)
    assert not settles(1.01 * math.pi / 2)
    for factor, (growth, unit) in zip((0.99, 1.01), shown(claim, "root is # and #."), strict=True):
        # On |s| = alpha e^{-Re s}: the two real equations of s + alpha e^{-s} = 0.
        alpha = factor * math.pi / 2
        w = math.sqrt((alpha * math.exp(-growth)) ** 2 - growth**2)
        residual = growth + alpha * math.exp(-growth) * math.cos(w)
        assert abs(residual) < 5 * unit


def test_critical_damping(found: Found) -> None:
    assert_shows(found["paganini-26"], "s = # at alpha = #.", -1.0, math.exp(-1.0))


@pytest.mark.slow
def test_the_bounds_on_eta(found: Found) -> None:
    claim = found["paganini-27"]
    # v / tan v falls: v < tan v makes its derivative negative. So the smallest is at v = 1.
    assert_shows(claim, "#. At high", math.cos(1.0) / math.sin(1.0))
    theta = np.linspace(0.5, 4.0, 1_000_001)
    for alpha in (0.37, 1.0, 1.2, 1.5):
        ((eta, unit),) = shown(claim, f"# (alpha = {alpha:g})")
        turned = [
            math.sqrt(1 + e * e) * alpha * np.exp(-1j * (theta + math.atan(e))) / (1j * theta)
            for e in (eta - unit, eta + unit)
        ]
        crossing = [curve[np.flatnonzero(np.diff(np.sign(curve.imag)))[0]].real for curve in turned]
        assert crossing[0] > -1.0 > crossing[1]


def test_the_table_of_prices(found: Found) -> None:
    for phi in (10, 100, 1000):
        (low, u), (high, v) = shown(found["paganini-28"], f"phi = {phi}: # to # s")
        assert 1.0 - phi**-low == pytest.approx(0.05, abs=u * math.log(phi))
        assert 1.0 - phi**-high == pytest.approx(0.95, abs=v * math.log(phi))


def test_the_delay_of_an_average(found: Found) -> None:
    # A ramp averaged over 31 packets lags by the mean age of its samples.
    ages = np.arange(31)
    assert_shows(found["paganini-29"], "31: # tau/w", float(ages.mean()))
    assert_shows(found["paganini-29"], "# by the formula, # % high", 15.5, 100 * (15.5 / 15 - 1))


def test_the_marking_at_equilibrium(found: Found) -> None:
    capacity = 0.95 * 250 * 1000

    def price(flows: int) -> float:
        # K log x: each source wants K / q, and together they fill the virtual capacity.
        return float(brentq(lambda q: flows * 50 / q - capacity, 1e-6, 10.0, xtol=1e-14))

    claim = found["paganini-30"]
    phi = math.exp(-math.log(0.95) / price(512))
    assert_shows(claim, "Price # s at 512 flows, so phi = #;", price(512), phi)
    assert_shows(
        claim,
        "at 32 flows # s and # %.",
        price(32),
        100 * (1 - math.exp(-price(32) * math.log(phi))),
    )
    marks = [100 * (1 - math.exp(-price(n) * math.log(100))) for n in (32, 64, 128, 256, 512)]
    assert_shows(found["paganini-33"], "#, #, #, #, # % at", *marks)


def test_the_condition_of_the_theorem(found: Found) -> None:
    claim = found["paganini-31"]
    z = 1.5 / 0.37
    assert_shows(claim, "z = #/s", z)
    assert_shows(claim, "eta = #; the proof needs eta < #.", 0.2 * z, 1 / math.tan(1))
    # The phase margin by turning the loop until it meets -1.
    rate = 237_500 / 512
    ((margin, unit),) = shown(claim, "phase margin of # deg")
    w = np.geomspace(0.1, 100, 400_001)
    total = sum(
        n
        / 512
        * 0.37
        * (1j * w + z)
        * np.exp(-1j * w * tau)
        / (1j * w * tau * (1j * w + 1.5 * 50 / (tau * rate)))
        for n, tau in ((32, 0.04), (32, 0.08), (64, 0.12), (128, 0.16), (256, 0.2))
    )
    distance = np.abs(1 + total[None] * np.exp(-1j * np.radians([[margin], [0.0]])))
    assert distance[0].min() < math.radians(unit)
    assert distance[1].min() > 0.3


def test_the_delay_that_is_tolerated(found: Found) -> None:
    claim = found["paganini-32"]
    ((ratio, unit),) = shown(claim, "delay of # tau")
    assert settles(0.37, 1.0 + ratio - 0.05)
    assert not settles(0.37, 1.0 + ratio + 0.05)
    assert abs(0.37 * (1.0 + ratio) - math.pi / 2) < unit
    assert_shows(claim, "at least # packets", 31 / 2 / (math.pi / 0.74 - 1))


def test_curves_of_sources_come_together(found: Found) -> None:
    # |V - 1| = |eta (1 - 1/ratio)| / |j theta + eta/ratio|: largest at theta = 1 and ratio 0.1.
    for rtt in (0.001, 0.01, 0.1, 1.0):
        eta = 0.2 * rtt
        apart = 9.0 * eta / math.hypot(1.0, 10.0 * eta)
        ((percent, unit),) = shown(found["paganini-36"], f"# % (tau = {1e3 * rtt:g} ms)")
        assert abs(percent - 100.0 * apart) < unit


def test_no_line_separates_them(found: Found) -> None:
    """A point of one curve above the axis and one of another far out: -1 is between them."""

    def value(theta: float, eta: float, ratio: float) -> complex:
        lead = (1j * theta + eta) / (1j * theta + eta / ratio)
        return complex(np.exp(-1j * theta) / (1j * theta)) * lead

    far, up = value(0.05, 0.2, 1000.0), value(1.9, 0.2, 1.0)
    assert far.imag < 0.0 < up.imag
    part = up.imag / (up.imag - far.imag)
    assert part * far.real + (1.0 - part) * up.real < -1.0  # and 0 is on the other side
    ((deep, _),) = shown(found["paganini-37"], "0, # deep")
    assert deep > 0.0
    ((left, _),) = shown(found["paganini-37"], "leave it out by # or more")
    assert left > 0.0


def test_where_the_dashed_curve_crosses(found: Found) -> None:
    claim = found["paganini-38"]
    dashed = -math.hypot(1.0, 0.2) / (math.pi / 2 - math.atan(0.2))
    assert_shows(claim, "axis at #, the dashed one", -2.0 / math.pi)
    assert_shows(claim, "eta = 0.2 at #.", dashed)
    for alpha in (0.37, 1.0, 1.2, 1.5):
        (published, _), (tight, unit) = shown(claim, f"# and # (alpha = {alpha:g})")
        theta = float(brentq(lambda x, eta=tight: x / math.tan(x) - eta, 1e-6, math.pi / 2))
        assert theta * math.sin(theta) == pytest.approx(alpha, abs=2.0 * unit)
        assert published < tight


def test_shares_growth_and_steps_of_the_protocol(found: Found) -> None:
    claim = found["paganini-39"]
    assert_shows(claim, "to # digits, and rate times price is K to #.", 12, 12)
    # x = 1000 e^{-0.37 q/tau}, and all groups together 237500
    groups = list(zip((32, 32, 64, 128, 256), (0.04, 0.08, 0.12, 0.16, 0.2), strict=True))
    q = brentq(
        lambda q: sum(n * 1000 * math.exp(-0.37 * q / tau) for n, tau in groups) - 237_500, 0, 1
    )
    assert_shows(claim, "would get # times", math.exp(0.37 * q * (1 / 0.04 - 1 / 0.2)))
    assert_shows(found["paganini-40"], "by # segments/s, # times #,", 75, 1.5, 50)
    assert_shows(found["paganini-40"], "# packets/s^2 at", 75 / 0.04)
    price, tau, step = 512 * 50 / 237_500, 0.2, 0.005
    printed = 1.5 * tau / price * (1.0 + 50 * step * price / tau)
    outside = 50 * tau / price * (1.0 + 1.5 * step * price / tau)
    claim = found["paganini-41"]
    assert_shows(claim, "settles at # segments", 50 * tau / price)
    assert_shows(claim, "as printed at #;", printed)
    assert_shows(claim, "in (26) at #;", outside)
    assert_shows(claim, "divided, too, at #.", 50 * tau / price)


def burst(*, first_round_trip: bool) -> float:
    """The queue (packets) after 256 flows join 256 that rest, by Euler's method.

    Whether the flows hear of the price that there is already in their first round trip.
    """
    step, cohorts, steps = 0.001, 8, 2000
    count = np.repeat([32, 32, 64, 128, 256], cohorts) / cohorts
    tau = np.repeat([0.04, 0.08, 0.12, 0.16, 0.2], cohorts)
    begin = np.where(tau < 0.2, -1.0, np.tile((np.arange(cohorts) + 0.5) / cohorts, 5) * 0.1)
    rest = 256 * 50 / 237_500
    window = np.where(tau < 0.2, 50 / rest * tau * np.exp(0.37 * rest / tau), 1.0)
    price, queue, most = np.full(steps + 200, rest), 0.0, 0.0
    back = np.rint(tau / step).astype(int)
    for k in range(steps - 1):
        heard = first_round_trip | ((k - back) * step >= begin)
        q = np.where(heard, price[200 + k - back], 0.0)
        x = np.where(k * step >= begin, window / tau * np.exp(-0.37 * q / tau), 0.0)
        window += np.where(x > 0.0, step * 1.5 * window * (50 / np.maximum(x, 1e-9) - q) / tau, 0.0)
        arriving = count @ x
        price[201 + k] = max(0.0, price[200 + k] + step * (arriving / 237_500 - 1.0))
        queue = max(0.0, queue + step * (arriving - 250_000))
        most = max(most, queue)
    return most


def test_the_burst_of_the_long_flows_without_an_engine(found: Found) -> None:
    ((claimed, _),) = shown(found["paganini-43"], "at most, # if round-trip times")
    # Of the method's first order and of 8 groups in the place of the engine's.
    assert claimed == pytest.approx(burst(first_round_trip=False), rel=0.03)
    page = unbroken("paganini.md")
    assert f"and some {round(burst(first_round_trip=True), -2):,.0f} if flows heard" in page
    assert f"constant; then it would be {claimed:,.0f}," in page


def settled(name: str, stage: int, phi: float) -> tuple[Any, float]:
    """Rates of the classes over the fair one, and the price by what was marked, in 10 s."""
    data, seconds = run(name), slice(20 * stage + 10, 20 * stage + 20)
    flows = 32 * 2**stage
    sent = data.flow_segments.isel(block=seconds).sum("block").to_numpy() / 10.0
    owner = data.flow_class.to_numpy()
    rates = [sent[owner == k].mean() * flows / 237_500 for k in range(stage + 1)]
    rows = data.sel(time=slice(20 * stage + 10.01, 20 * stage + 20.01))
    marked = float(rows.marks.sum() / rows.departures.sum())
    return np.array(rates), -math.log(1.0 - marked) / math.log(phi)


@pytest.mark.slow
def test_long_flows_packet_by_packet(found: Found) -> None:
    """By the segments of every flow, and by marks, instead of bits and the link's own price."""
    each = [settled("paganini_fig05", stage, 100.0) for stage in range(5)]
    claim = found["paganini-45"]
    ((off, _),) = shown(claim, "rate is within # %")
    assert off == pytest.approx(100 * max(np.abs(r - 1).max() for r, _ in each), abs=0.1)
    low = [1.0 - price / (50 * 32 * 2**k / 237_500) for k, (_, price) in enumerate(each)]
    least, most = shown(claim, "price is # to # % below")
    assert (least[0], most[0]) == pytest.approx((100 * min(low), 100 * max(low)), abs=0.5)
    apart = [100 * np.ptp(rates) for rates, _ in each[1:]]
    numbers = [value for value, _ in shown(found["paganini-47"], "by #, #, #, # % of")]
    assert numbers == pytest.approx(apart, abs=0.1)
    p = 1.0 - 100.0 ** -each[-1][1]
    assert_shows(found["paganini-46"], "flows # % are", 100 * p)
    assert_shows(found["paganini-46"], "off by # points", 100 * math.sqrt(p * (1 - p) / 31))


@pytest.mark.slow
def test_the_page_has_the_table_of_packets() -> None:
    page = unbroken("paganini.md")
    for stage in stages("paganini_fig05"):
        rates = ", ".join(f"{rate:.2f}" for rate in stage.rates)
        row = (
            f"| {stage.flows} | {100 * stage.marked:.1f} % | {1e3 * stage.price:.2f} ms"
            f" | {1e3 * stage.rest:.2f} ms | {100 * stage.used:.1f} % | {rates}"
            f" | {stage.queue:.0f} |"
        )
        assert row in page
    most = float(run("paganini_fig05").queue.max())
    assert f"some {round(most, -2):,.0f} packets wait" in page
    few = stages("paganini_fig10")[-1].rates
    assert f"more, {100 * (few[0] - 1.0):.0f} % over 40 ms" in page


@pytest.mark.slow
def test_few_marks_packet_by_packet(found: Found) -> None:
    each = [settled("paganini_fig10", stage, 1.609) for stage in range(5)]
    numbers = [value for value, _ in shown(found["paganini-49"], "#, #, #, #, # % marked")]
    marked = [100 * (1.0 - 1.609**-price) for _, price in each]
    assert numbers == pytest.approx(marked, abs=0.02)
    assert_shows(found["paganini-49"], "up to # % of", 100 * max(np.ptp(r) for r, _ in each))
    assert all(rates[0] == rates.max() for rates, _ in each)


# --- Thesis ----------------------------------------------------------------------------------


@pytest.mark.parametrize("interval", [0.032, 0.030])
def test_the_longest_rtt(found: Found, interval: float) -> None:
    continuous, sampled = shown(
        found["thesis-34"],
        f"T = {1e3 * interval:.0f} ms: stable at every load up to # ms (continuous),"
        " # ms (sampled)",
    )
    m = math.sqrt(2.0)
    for (limit, unit), growth in (
        (continuous, lambda rtt: 1.0 - low_load_gain(PI2, rtt, interval, m)),
        (sampled, lambda rtt: growth_per_update(PI2, rtt, interval)),
    ):
        assert growth(1e-3 * (limit - unit)) < 0.0 < growth(1e-3 * (limit + unit))


def test_the_thesis_at_100_ms(found: Found) -> None:
    claim = found["thesis-34"]
    continuous = low_load_gain(PI2, RTT, PIE_T, math.sqrt(2.0))
    sampled = brentq(lambda f: growth_per_update(times(PI2, f), RTT, PIE_T), 0.8, 1.2)
    assert_shows(
        claim,
        "to 0: # dB, sampled # dB, unstable",
        20 * math.log10(continuous),
        20 * math.log10(sampled),
    )
    ((edge, unit),) = shown(claim, "unstable below p' = #;")
    for load, stable in ((edge - unit, False), (edge + unit, True)):
        assert is_stable(scaled(PI2, interval=PIE_T, p_prime=load, update="sampled")(1.0)) is stable
    ((number, unit),) = shown(claim, "acknowledgements at least # dB from")
    lightest = scaled(PI2, interval=PIE_T, p_prime=1e-3, update="sampled", clock="acks")
    assert_gain_margin(lightest, (number, unit))
    # W = 0.1 s * 1250 packets/s / N
    for count in (5, 50):
        numbers = shown(claim, f"its {count} flows: # dB, sampled # dB")
        load = math.sqrt(2.0) / (125.0 / count)
        for update, number in zip(("continuous", "sampled"), numbers, strict=True):
            assert_gain_margin(scaled(PI2, interval=PIE_T, p_prime=load, update=update), number)


def test_the_setup_of_the_thesis(found: Found) -> None:
    assert_shows(found["thesis-35"], "# and # times; # ms.", 2.5, 2.5, 100.0)


# --- the page --------------------------------------------------------------------------------


def listed(found: Found) -> list[Claim]:
    return [*found.every().values(), *figure_claims()]


@pytest.mark.slow
def test_the_page_is_current(found: Found) -> None:
    text = (ROOT / "docs/claims.md").read_text(encoding="utf-8")
    assert write_claims.page_with(text, listed(found)) == text, "run python tools/write_claims.py"


@pytest.mark.slow
def test_an_outdated_page_would_be_seen(found: Found) -> None:
    text = (ROOT / "docs/claims.md").read_text(encoding="utf-8")
    changed = [
        dataclasses.replace(claim, computed="9.99 dB") if claim.id == "pi2-07" else claim
        for claim in listed(found)
    ]
    page = write_claims.page_with(text, changed)
    assert page != text
    assert write_claims.page_with(page, listed(found)) == text
    with pytest.raises(ValueError, match="put both lines"):
        write_claims.page_with("no place for tables", changed)


@pytest.mark.slow
def test_the_page_speaks_of_every_failure(found: Found) -> None:
    prose = (ROOT / "docs/claims.md").read_text(encoding="utf-8").partition(write_claims.BEGIN)[0]
    for claim in found.every().values():
        if claim.verdict == "not_reproduced":
            assert f"`{claim.id}`" in prose
