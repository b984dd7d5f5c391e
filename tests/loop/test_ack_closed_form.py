"""Margins by the ack clock without a search: one class in one queue, and what is proved of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid import _core
from pi2_fluid.loop.acks import closed_form_ack_margins
from pi2_fluid.loop.crossovers import find_crossings
from pi2_fluid.loop.margins import margins_from_crossings

pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")

LAST = 4.49  # PI2_ACK_LAST of native/margins/closed/ack_margins.h


@dataclass(frozen=True, eq=False, kw_only=True)
class PacedReno(pf.Reno):
    paced: ClassVar[bool] = True


def random_loop(rng: np.random.Generator, update: str) -> pf.Loop:
    alpha = 10 ** rng.uniform(-2.5, 0.3)
    sender: Any = rng.choice([pf.Reno(), pf.CReno(), pf.Scalable()])
    queue = pf.CoupledPi2(
        alpha=alpha,
        beta=alpha * 10 ** rng.uniform(-1.0, 2.5),
        update_interval=10 ** rng.uniform(-2.3, -1.3),
        target="2ms",
        drop_at=str(rng.choice(["enqueue", "dequeue"])),
        variant=str(rng.choice(["plain", "pi2-2016"])),
    )
    terms = str(rng.choice(["frozen", "exact"]))
    numbers = {"rtt": 10 ** rng.uniform(-2.0, -0.3), "p_prime": 10 ** rng.uniform(-4.0, 0.0)}
    return pf.Loop(sender, queue, **numbers, update=update, rtt_terms=terms, clock="acks")


@pytest.mark.parametrize(
    ("flows", "options"),
    [
        ([pf.Flows(pf.Reno(), 5, "40ms"), pf.Flows(pf.Reno(), 5, "80ms")], {}),
        (pf.Flows(PacedReno(), 5, "40ms"), {}),
        (pf.Flows(pf.Dctcp(law="renewal"), 5, "40ms"), {}),
        (pf.Flows(pf.Reno(), 5, "40ms"), {"bunch": 0.5}),
    ],
    ids=["two classes", "paced", "two states", "in bursts"],
)
def test_what_has_none(flows, options) -> None:
    loop = pf.Loop(flows, pf.CoupledPi2(), capacity="20Mbit/s", clock="acks", **options)
    assert closed_form_ack_margins(loop.linear, half_sample=False) is None
    alone = pf.Loop(pf.Flows(pf.Reno(), 5, "40ms"), pf.Pi2(), capacity="20Mbit/s", clock="acks")
    assert closed_form_ack_margins(alone.linear, half_sample=False) is not None


@pytest.mark.slow
@pytest.mark.parametrize("update", ["continuous", "delayed"])
def test_they_are_those_of_the_search(rng, update) -> None:
    valid = 0
    for _ in range(40):
        loop = random_loop(rng, update)
        crossings = find_crossings(loop.linear, update)
        expected = margins_from_crossings(crossings, lambda loop=loop: loop.nyquist_count())
        found = closed_form_ack_margins(loop.linear, half_sample=update == "delayed")
        assert found is not None
        if not found[1]:
            assert max(crossing.w for crossing in crossings.gain) * loop._point.rtt > LAST
            continue
        valid += 1
        np.testing.assert_allclose(found[0], expected[:4], rtol=1e-9, atol=1e-9)
        margins = loop.margins()
        assert margins.delay_margin == pytest.approx(expected[4], rel=1e-9)
        assert (margins.verdict == "stable") == (loop.nyquist_count() == 0)
    assert valid > 30


def reduction(v: Any) -> Any:
    return (1.0 - np.exp(-1j * v)) / (1j * v)


def response(form: dict[str, float], v: Any) -> Any:
    P = reduction(v)
    L = form["gain"] * (form["a"] + 1j * form["c"] * v) * P * np.exp(-1j * v * form["delay"])
    return L / (1j * v * (1j * v + form["own"] + form["cut"] * P))


def test_what_the_proof_says(rng) -> None:
    """On dense grids: sizes fall, the phase passes once; and the numbers that it rests on."""
    v = np.linspace(1e-3, 9 * np.pi, 20_000)
    below, P = v < LAST, reduction(v)
    assert np.all(np.diff(P.real[below]) < 0.0)
    assert np.all(P.real > -0.25)
    assert np.abs(P[~below][0]) > 1.0 / np.pi >= np.max(np.abs(P[v > 2.0 * np.pi]))
    tried = with_margins = 0
    for _ in range(40):
        own = 10 ** rng.uniform(-4.0, 0.5)
        form = {
            "gain": 10 ** rng.uniform(-2.0, 2.0),
            "a": 1.0,
            "c": 10 ** rng.uniform(-2.0, 2.0),
            "own": own,
            "cut": own * rng.uniform(0.0, 1.0),
            "delay": rng.uniform(0.3, 2.5),
        }
        columns = {name: np.array([value]) for name, value in form.items()}
        gm, pm, v_gc, v_pc = _core.ack_margins(reduces=True, **columns)[:, 0]
        n = form["cut"]
        if not (n < 2.0 and 3.0 * (1.0 - n / 2.0) ** 2 > n * (own + n)):
            assert np.isnan(gm)
            continue
        tried += 1
        L = response(form, v)
        size, above = np.abs(L), np.pi + np.unwrap(np.angle(L))
        assert np.all(np.diff(size[below]) < 0.0)
        assert np.max(size[~below]) <= size[~below][0]
        assert np.count_nonzero(np.diff(np.sign(above[below]))) <= 1
        if np.isnan(gm):
            continue
        with_margins += 1
        assert response(form, v_pc) == pytest.approx(-(10.0 ** (-gm / 20.0)), rel=1e-9)
        assert response(form, v_gc) == pytest.approx(-np.exp(1j * np.radians(pm)), rel=1e-9)
        assert abs(np.degrees(np.interp(v_gc, v, above)) - pm) < 180.0
    assert tried > 25
    assert with_margins > 15


@pytest.mark.parametrize("reduces", [True, False])
def test_blocks_are_their_points(rng, reduces) -> None:
    """Whole blocks in vector code, and what is left over; some of them beyond the proof."""
    size = 4 * 64 + 7
    own = 10 ** rng.uniform(-12.0, 0.1, size)
    columns = {
        "gain": 10 ** rng.uniform(-9.0, 9.0, size),
        "a": 10 ** rng.uniform(-9.0, 9.0, size),
        "c": rng.choice([0.0, 1.0], size) * 10 ** rng.uniform(-9.0, 9.0, size),
        "own": own,
        "cut": own * rng.choice([0.0, 0.5, 1.0], size),
        "delay": rng.choice([0.0, 1.0], size) * 10 ** rng.uniform(-2.0, 1.0, size),
    }
    columns["gain"][5], columns["a"][70] = np.nan, -1.0
    many = _core.ack_margins(reduces=reduces, **columns)
    for i in range(size):
        one = {name: value[i : i + 1].copy() for name, value in columns.items()}
        alone = _core.ack_margins(reduces=reduces, **one)[:, 0]
        np.testing.assert_allclose(many[:, i], alone, rtol=1e-11, atol=1e-9)
    assert 0.2 < np.mean(np.isfinite(many)) < 0.9


def test_beyond_the_proof_loops_are_searched() -> None:
    """A gain crossover far out, two classes, paced ones, bursts, a constant rate, and PIE's law."""
    queue = pf.CoupledPi2(alpha=30.0, beta=300.0)
    wild = pf.Loop(pf.Reno(), queue, rtt="100ms", p_prime=0.1, clock="acks")
    found = closed_form_ack_margins(wild.linear, half_sample=False)
    assert found is not None
    assert not found[1]
    assert wild.margins().gain_crossover * 0.1 > LAST
    assert wild.margins().verdict == "unstable"
    options: dict[str, Any] = {"rtt": "100ms", "p_prime": 0.1, "clock": "acks"}
    flows = [pf.Flows(pf.Reno(), 5, "50ms"), pf.Flows(pf.Reno(), 5, "90ms")]
    cbr = [flows[0], pf.Flows(pf.Cbr(rate="1Mbit/s", thinned=False), 2, "50ms")]
    for loop in (
        pf.Loop(PacedReno(), pf.Pi2(), **options),
        pf.Loop(pf.Cubic(), pf.Pi2(), **options),
        pf.Loop(pf.Reno(), pf.Pi2(), **options, bunch=0.5),
        pf.Loop(flows, pf.Pi2(), capacity="40Mbit/s", clock="acks"),
        pf.Loop(cbr, pf.Pi2(), capacity="40Mbit/s", clock="acks"),
    ):
        assert closed_form_ack_margins(loop.linear, half_sample=False) is None
    ones = dict.fromkeys(("gain", "a", "c", "own", "cut", "delay"), np.ones(1))
    for name, value in (("own", 0.9), ("a", np.nan), ("gain", np.inf), ("delay", -1.0)):
        wrong = ones | {name: np.array([value])}
        assert np.all(np.isnan(_core.ack_margins(reduces=True, **wrong)))
    with pytest.raises(ValueError, match="of one length"):
        _core.ack_margins(reduces=True, **ones | {"a": np.ones(2)})


def test_arrays_are_their_elements() -> None:
    options: dict[str, Any] = {"clock": "acks", "update": "delayed"}
    rtt, p = np.array([0.05, 0.1, 0.2]), np.array([[0.01], [0.3]])
    many = pf.Loop(pf.CReno(), pf.Pi2(), rtt=rtt, p_prime=p, **options).margins()
    assert np.shape(many.gain_margin_db) == (2, 3)
    for row, column in np.ndindex(2, 3):
        one = pf.Loop(
            pf.CReno(), pf.Pi2(), rtt=rtt[column], p_prime=float(p[row, 0]), **options
        ).margins()
        assert one.phase_margin_deg == pytest.approx(many.phase_margin_deg[row, column], rel=1e-12)
        assert one.gain_margin_db == pytest.approx(many.gain_margin_db[row, column], rel=1e-12)
        assert one.verdict == many.verdict[row, column]
