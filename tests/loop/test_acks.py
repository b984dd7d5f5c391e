"""Loops by the clock of acknowledgements, against a second implementation, packets, and time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.optimize import brentq

import pi2_fluid as pf
from pi2_fluid.loop.acks import find_echoes, without_echoes
from pi2_fluid.loop.acks.pencil import eigenvalues
from pi2_fluid.loop.acks.plant import answer_of
from pi2_fluid.loop.ends import plant_bound
from pi2_fluid.loop.response import plant_response
from pi2_fluid.loop.roots import count_right, count_unstable
from pi2_fluid.loop.sampled import alias_sum, sampled_response
from pi2_fluid.loop.updates import respond

ANSWERS: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "ack_clock.json").read_text(encoding="utf-8")
)
LINUX = {"alpha": 0.16015625, "beta": 3.19921875, "update_interval": 0.016}
TUNED = {"alpha": 0.048, "beta": 2.515, "update_interval": 0.016}
PACKET = 12000.0  # bits
ERRORS = (pf.DomainError, pf.QuantityError, pf.SolverError, pf.UnsupportedError)


@dataclass(frozen=True, eq=False, kw_only=True)
class PacedReno(pf.Reno):
    paced: ClassVar[bool] = True


@dataclass(frozen=True, eq=False, kw_only=True)
class PacedScalable(pf.Scalable):
    paced: ClassVar[bool] = True


SENDERS: dict[tuple[str, bool], Any] = {
    ("reno", False): pf.Reno,
    ("reno", True): PacedReno,
    ("scalable", False): pf.Scalable,
    ("scalable", True): PacedScalable,
    ("dctcp", False): lambda: pf.Dctcp(law="renewal", segments="real"),
}


def loop_of(
    classes: Sequence[dict[str, Any]], gains: dict[str, float], target: float, **options: Any
) -> pf.Loop:
    """Return the loop in which these classes have the windows that they name."""
    options.setdefault("clock", "acks")
    options.setdefault("update", "sampled")
    packets, flows = 0.0, []
    for cls in classes:
        rtt = cls["b"] + (target if cls["band"] == "C" else 0.0)
        packets += cls["N"] * cls["W"] / rtt
        sender = SENDERS[cls["kind"], bool(cls.get("paced"))]()
        flows.append(pf.Flows(sender, count=cls["N"], base_rtt=cls["b"]))
    law: Any = pf.Pi2
    numbers: dict[str, Any] = {"drop_at": options.pop("drop_at", "dequeue")}
    numbers |= {name: options.pop(name) for name in ("k", "variant") if name in options}
    if any(cls["kind"] == "scalable" for cls in classes):
        law = pf.CoupledPi2
    if any(cls["band"] == "L" for cls in classes):
        law, numbers = pf.DualPi2, numbers | {"c_protection": 0.01}
    queue = law(**gains, target=target, **numbers)
    return pf.Loop(flows, queue, capacity=packets * PACKET, **options)


def gains_of(case: dict[str, Any]) -> dict[str, float]:
    gains = case["gains"]
    return {"alpha": gains["al"], "beta": gains["be"], "update_interval": gains["T"]}


def dual_of(base: float, share: float, gains: dict[str, float], **options: Any) -> pf.Loop:
    """Reno beside Scalable on equal paths at p' = 0.02, L4S taking a share of the link."""
    p, target = 0.02, 0.015
    reno, scalable = np.sqrt(2.0) / p, 1.0 / p
    rate = 100 * reno / (base + target) * share / (1.0 - share)
    classes = [
        {"kind": "reno", "band": "C", "b": base, "N": 100, "W": reno},
        {"kind": "scalable", "band": "L", "b": base, "N": rate * base / scalable, "W": scalable},
    ]
    return loop_of(classes, gains, target, **options)


CASES = {case["name"]: case for case in ANSWERS["closed_loop"]}
every_case = pytest.mark.parametrize("name", CASES)
ONE_QUEUE = [name for name, case in CASES.items() if all(c["band"] == "C" for c in case["classes"])]


# --- against a second implementation ----------------------------------------------------------


@every_case
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("acks_sampled", {}),
        ("acks_delayed", {"update": "delayed"}),
        ("acks_bunched", {"bunch": 1.0}),
        ("acks_enqueue", {"drop_at": "enqueue"}),
    ],
)
def test_margins_are_those_of_a_second_implementation(name, kind, options) -> None:
    case = CASES[name]
    answer = case[kind]
    if answer is None:  # not resolved there, beside an echo pole
        assert name == "dual_b150_s0.1_linux"
        return
    loop = loop_of(case["classes"], gains_of(case), case["target"], **options)
    margins = loop.margins()
    if name in ONE_QUEUE or kind == "acks_delayed":
        assert margins.gain_margin_db == pytest.approx(answer["gm_db"], abs=1e-4)
        assert margins.phase_margin_deg == pytest.approx(answer["pm_deg"], abs=1e-3)
        assert margins.phase_crossover == pytest.approx(answer["w_gm"], rel=1e-5)
        return
    # The exact L_d at its phase crossover; poles of folded echoes are among its aliases there.
    value = complex(loop(1j * answer["w_gm"]))
    assert -20.0 * np.log10(abs(value)) == pytest.approx(answer["gm_db"], abs=2e-3)
    assert abs(np.degrees(np.angle(-value))) < 0.02
    # The loop's own margin leaves them out: by 0.02 dB, or, where a strong third harmonic folds to
    # 4 rad/s from the crossover, 0.05.
    near = name == "dual_b50_s0.85_linux"
    assert margins.gain_margin_db == pytest.approx(answer["gm_db"], abs=0.05 if near else 0.02)


def test_a_backlog_is_the_head_heard_a_queue_later() -> None:
    """In one queue: marks at the head and its waiting, or marks at the tail and the backlog."""
    for name in ONE_QUEUE:
        case = CASES[name]
        options: dict[str, Any] = {"drop_at": "enqueue", "variant": "pi2-2016"}
        loop = loop_of(case["classes"], gains_of(case), case["target"], **options)
        assert loop.aqm.measures == "backlog"
        found = loop.margins().gain_margin_db
        assert found == pytest.approx(case["acks_enqueue_qmu"]["gm_db"], abs=1e-4)
        assert found == pytest.approx(case["acks_sampled"]["gm_db"], abs=1e-4)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["root"]])
def test_sampled_roots(name) -> None:
    """They are zeros of 1 + L_d; of a dual queue as far as its aliases were summed there."""
    case = CASES[name]
    loop = loop_of(case["classes"], gains_of(case), case["target"])
    start = complex(*case["root"])

    def value(s: complex) -> complex:
        return complex(1.0 + sampled_response(loop.linear, np.array([s]), 400)[0])

    s, h = start, 1e-5
    for _ in range(8):
        s -= 2 * h * value(s) / (value(s + h) - value(s - h))
    assert abs(s - start) < (5e-8 if name in ONE_QUEUE else 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("case", ANSWERS["critical_share"], ids=lambda case: str(case["base"]))
def test_critical_shares(case) -> None:
    """The share of L4S traffic at which the loop of a dual queue is on its boundary."""
    gains = LINUX if case["gains"] == "linux" else TUNED

    def margin(share: float, drop_at: str) -> float:
        loop = dual_of(case["base"], share, gains, drop_at=drop_at)
        return float(loop.margins().gain_margin_db)

    for key, drop_at in (("acks_head_dequeue", "dequeue"), ("acks_head_enqueue", "enqueue")):
        wanted = case.get(key)
        if wanted == 0.0:
            assert margin(0.002, drop_at) < 0.0
        elif wanted is not None:
            found = brentq(margin, wanted - 0.02, wanted + 0.02, args=(drop_at,), xtol=1e-5)
            assert found == pytest.approx(wanted, abs=0.003)


@pytest.mark.parametrize(
    "case", ANSWERS["echo_modes"], ids=lambda case: f"{case['gains']}-{case['base']}"
)
def test_echo_modes(case) -> None:
    loop = dual_of(case["base"], case["share"], LINUX if case["gains"] == "linux" else TUNED)
    echo = loop.echo(4)
    assert list(echo.flow) == [1]
    folds = 0
    for harmonic, (growth, w) in enumerate(case["harmonics"], start=1):
        mode = echo.sel(harmonic=harmonic, flow=1)
        updates = harmonic * LINUX["update_interval"] / case["base"]
        if abs(updates - round(updates)) < 1e-9:
            assert np.isnan(mode.growth)
            folds += 1
            continue
        assert float(mode.growth) == pytest.approx(growth, abs=0.01)
        assert float(mode.frequency) == pytest.approx(w, rel=0.005)
    assert folds < 3
    margins = loop.margins()
    assert margins.echo == "grows"
    assert "grows" in str(margins)


# --- against packets --------------------------------------------------------------------------


def spread(cls: dict[str, Any], parts: int = 9) -> list[dict[str, Any]]:
    if not cls["spread"]:
        return [cls]
    paths = cls["b"] * (1.0 + cls["spread"] * np.linspace(-1.0, 1.0, parts))
    return [cls | {"b": float(b), "N": cls["N"] / parts} for b in paths]


@pytest.mark.parametrize("name", ANSWERS["responses"])
def test_packets_answer_so(name) -> None:
    """Below w R = 1.3 within 3 standard errors and 0.1, and by rates 1.5 times as far off."""
    case = ANSWERS["responses"][name]
    classes = [part for cls in case["classes"] for part in spread(cls)]
    p = np.sqrt(2.0) / 65.0  # at which Reno's window is the one measured
    alone = all(cls["kind"] == "reno" for cls in classes)
    options: dict[str, Any] = {} if alone else {"k": 0.04 / p}  # and Scalable's, 50
    if any(cls["kind"] == "dctcp" for cls in classes):
        options = {"k": np.sqrt(2.0) / 36.0 / p}
    w, real, imaginary, error = np.array(case["theta"]).T
    measured = real + 1j * imaginary
    rtt = max(cls["b"] for cls in case["classes"]) + case["queue_delay"]
    low = w * rtt < 1.3
    off = {}
    for clock in ("acks", "rate"):
        loop = loop_of(
            classes, LINUX, case["queue_delay"], clock=clock, update="continuous", **options
        )
        assert loop.operating_point.controller == pytest.approx(p, rel=1e-9)
        model = -p * plant_response(loop.linear, 1j * w)
        off[clock] = np.abs(model / measured - 1.0)
    assert np.count_nonzero(low) >= 3
    assert np.all(off["acks"][low] <= (3.0 * error / np.abs(measured) + 0.10)[low])
    root_mean_squares = {clock: np.sqrt(np.mean(one**2)) for clock, one in off.items()}
    assert root_mean_squares["rate"] > 1.5 * root_mean_squares["acks"]


# --- against the equations in time ------------------------------------------------------------


def follow(
    paths: Sequence[float], counts: Sequence[float], w: float, h: float, end: float
) -> tuple[float, complex]:
    """Return tau0 and dtheta/u of Reno classes under p' = p0 (1 + eps sin wt), in counts.

    A = K + N W, D_i(t) = A_i(t - theta), A(t - theta) = C t, dS = dK/(N W) - b W dM/N, and W of
    S and of the cuts that proportional rate reduction spreads over one round trip.
    """
    p0, eps, target = 0.05, 1e-4, 0.02
    W0, cut = np.sqrt(2.0) / p0, 0.5
    rtts = [b + target for b in paths]
    rates = [N * W0 / R for N, R in zip(counts, rtts, strict=True)]
    C, back = sum(rates), round(0.5 / h)
    steps = round(end / h)
    t = h * (np.arange(-back, steps + 1))
    A = np.array([rate * (t + target) for rate in rates])
    D, M = np.array([rate * t for rate in rates]), np.array([p0**2 * rate * t for rate in rates])
    X = np.array([cut * W0 * p0**2 * rate * t / N for rate, N in zip(rates, counts, strict=True)])
    integral = np.array([np.concatenate([[0.0], np.cumsum(h * (x[1:] + x[:-1]) / 2)]) for x in X])
    W = np.full((len(paths), t.size), W0)
    S = [
        W0 - cut * W0 * p0**2 * rate / N * R / 2
        for rate, N, R in zip(rates, counts, rtts, strict=True)
    ]
    theta = np.full(t.size, target)
    bs = [round(b / h) for b in paths]
    rs = [round(R / h) for R in rtts]
    at = int(back - target / h) - 1  # A[at] <= C t
    for n in range(back + 1, t.size):
        for i, N in enumerate(counts):
            dK = (D[i, n - bs[i]] - D[i, n - 1 - bs[i]]) / N
            dM = (M[i, n - bs[i]] - M[i, n - 1 - bs[i]]) / N
            window = W[i, n - 1]
            for _ in range(3):
                middle = 0.5 * (W[i, n - 1] + window)
                grown, reduced = dK / middle, cut * middle * dM
                x = X[i, n - 1] + reduced
                y = integral[i, n - 1] + h * (X[i, n - 1] + x) / 2
                mean = (y - integral[i, n - rs[i]]) / rtts[i]
                window = S[i] + grown - reduced + x - mean
            S[i] += grown - reduced
            X[i, n], integral[i, n], W[i, n] = x, y, window
            A[i, n] = D[i, n - bs[i]] + N * window
        while A[:, at + 1].sum() <= C * t[n]:
            at += 1
        low, high = A[:, at].sum(), A[:, at + 1].sum()
        part = (C * t[n] - low) / (high - low)
        theta[n] = t[n] - (t[at] + part * h)
        p = p0 * (1.0 + eps * np.sin(w * max(t[n] - h / 2, 0.0)))
        for i in range(len(paths)):
            D[i, n] = A[i, at] + part * (A[i, at + 1] - A[i, at])
            M[i, n] = M[i, n - 1] + p * p * (D[i, n] - D[i, n - 1])
    periods = 2.0 * np.pi / w
    kept = t > end - 4.0 * periods
    basis = [np.sin(w * t), np.cos(w * t), np.ones(t.size), t]
    columns = np.array([column[kept] for column in basis]).T
    sine, cosine, *_ = np.linalg.lstsq(columns, theta[kept], rcond=None)[0]
    return target, complex(sine, cosine) / eps


@pytest.mark.slow
@pytest.mark.parametrize("w", [4.0, 25.0])
def test_the_linear_form_is_that_of_the_equations_in_time(w) -> None:
    """Of two classes; the exact form within what the grid leaves, the frozen one within 1/W."""
    paths, counts = (0.03, 0.08), (20.0, 30.0)
    target, found = follow(paths, counts, w, 1e-3, 20.0)
    classes = [
        {"kind": "reno", "band": "C", "b": b, "N": N, "W": np.sqrt(2.0) / 0.05}
        for b, N in zip(paths, counts, strict=True)
    ]
    off = {}
    for terms in ("frozen", "exact"):
        loop = loop_of(classes, LINUX, target, update="continuous", rtt_terms=terms)
        model = -0.05 * plant_response(loop.linear, np.array([1j * w]))[0]
        off[terms] = abs(found / model - 1.0)
    assert off["exact"] < 1e-4
    assert 2e-4 < off["frozen"] < 1.0 / 28.0


# --- against the rate clock -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sender", "queue"),
    [
        (pf.Reno(), pf.Pi2(variant="pi2-2016")),
        (pf.CReno(), pf.Pi2(variant="pi2-2016")),
        (pf.Scalable(), pf.Pi(per_packet="1ms")),
    ],
)
@pytest.mark.parametrize("update", ["continuous", "delayed"])
def test_only_one_factor_differs_in_one_queue(sender, queue, update) -> None:
    """P/(sRW + 1 + P), or 1/(sRW + 1), is what 1/(1 + sR) and the frozen law are by rates."""
    R = 0.1
    options: dict[str, Any] = {"rtt": R, "p_prime": 0.05, "update": update}
    acks, rate = (pf.Loop(sender, queue, **options, clock=clock) for clock in ("acks", "rate"))
    s = 1j * np.geomspace(0.01, 300.0, 200) + np.linspace(0.0, 3.0, 200)
    e, W = np.exp(-s * R), acks.operating_point.window
    P = (1.0 - e) / (s * R)
    if sender.signal == "classic":
        there, here = P / (s * R * W + 1.0 + P), 1.0 / ((1.0 + s * R) * (s * R * W + 1.0 + e))
    else:
        there, here = 1.0 / (s * R * W + 1.0), 1.0 / ((1.0 + s * R) * (s * R * W + e))
    assert np.max(np.abs(acks(s) * here / there / rate(s) - 1.0)) < 1e-12


def test_rates_are_the_default() -> None:
    options: dict[str, Any] = {"rtt": "100ms", "p_prime": 0.1}
    loop = pf.Loop(pf.Reno(), pf.Pi2(), **options)
    assert loop.clock == "rate"
    assert "clock" not in repr(loop)
    assert loop.margins().gain_margin_db == pytest.approx(4.704341, abs=1e-6)
    assert loop.margins().echo == "not applicable"
    assert "clock='acks', bunch=0.5" in repr(
        pf.Loop(pf.Reno(), pf.Pi2(), **options, clock="acks", bunch=0.5)
    )


STATES = {
    "window": (20.0, 60.0),
    "w_max": (25.0, 80.0),
    "epoch": (0.5, 4.0),
    "variance": (0.1, 4.0),
}


@pytest.mark.parametrize("sender", [pf.Reno(), pf.CReno(), pf.Scalable(), pf.Cubic()])
def test_both_clocks_have_one_law(sender, rng) -> None:
    """Where acknowledgements come at W/R, what they do is the law by rates."""
    for _ in range(20):
        values = tuple(rng.uniform(*STATES[name]) for name in sender.states)
        x, p, R = values if len(values) > 1 else values[0], rng.uniform(1e-3, 0.1), 0.05
        change, cut = sender.acked(x, values[0] / R, values[0] / R * p, R)
        moved = np.atleast_1d(np.asarray(change, dtype=float))
        moved[0] -= cut
        assert moved == pytest.approx(np.atleast_1d(sender.rate(x, x, p, R, R)), rel=1e-12)


# --- flows that pause -------------------------------------------------------------------------

REAL = pf.Dctcp(law="renewal", segments="real")
WHOLE = pf.Dctcp(law="renewal")


def pausing(sender: Any, dual: bool, scale: float = 1.0, **options: Any) -> pf.Loop:
    """DCTCP alone in one queue, or beside Reno in two."""
    gains = TUNED | {key: scale * TUNED[key] for key in ("alpha", "beta")}
    flows = [pf.Flows(sender, 10, "85ms")] + [pf.Flows(pf.Reno(), 10, "60ms")] * dual
    queue = (pf.DualPi2 if dual else pf.CoupledPi2)(**gains, target="15ms", drop_at="dequeue")
    return pf.Loop(flows, queue, capacity="20Mbit/s", clock="acks", **options)


@pytest.mark.parametrize("bunch", [0.0, 0.4])
@pytest.mark.parametrize("sender", [REAL, WHOLE], ids=["real", "whole"])
def test_a_pause_by_hand(sender, bunch) -> None:
    """dW/W over a signal, of alpha's lag, pauses, reductions, and what is counted of growth."""
    loop = pausing(sender, False, update="continuous", bunch=bunch)
    point, s, R, g = loop.operating_point, 1j * np.geomspace(0.3, 60.0, 9), 0.1, 1 / 16
    W, M, e = point.window[0], point.window[0] * point.p[0], np.exp(-s * 0.1)
    P = (1 - bunch) * (1 - e) / (s * R) + bunch * (1 + e) / 2
    rho, alpha = 1 / (1 + M * P), 1 / (1 + s * R / g)
    if sender is REAL:
        down, up, weight, by_window, Q = 1.0, rho - 1, 1.0, 1.0, e
    else:
        q = np.exp(-M)
        steps = 1 / (1 + np.exp((np.arange(1, 5) - M / 2) / (0.28 * np.sqrt(g / (2 - g)))))
        slope = np.sum(steps * (1 - steps)) / (0.28 * np.sqrt(g / (2 - g)))
        weight, Q = M / 2 * slope / steps.sum(), 1.0
        up = ((1 - q) * e**2 * rho - M * P) / (1 - q * e)
        by_window, down = M / (1 - q * e), 1.0
    grown = (1 if sender is REAL else M / (np.exp(M) - 1)) / (1 + M)
    heard = np.exp(-s * 0.085)
    by_hand = (
        -heard
        * (Q * (down * rho + weight * alpha) - up)
        / (s * R * W / grown + by_window + Q * weight)
    )
    cls = loop.linear.classes[0]
    found = answer_of(cls, s, bunch).by_signal / cls.rtt * point.controller
    np.testing.assert_allclose(found, by_hand, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sender", "dual", "options"),
    [
        (REAL, False, {}),
        (REAL, True, {}),
        (WHOLE, False, {"rtt_terms": "exact", "bunch": 0.4}),
        (WHOLE, True, {"rtt_terms": "exact"}),
    ],
    ids=["real", "real, two queues", "whole", "whole, two queues"],
)
def test_roots_of_pauses_by_two_methods(sender, dual, options) -> None:
    loop = pausing(sender, dual, 8.0, update="delayed", **options)
    roots = loop.roots(2)
    # Of several classes with exact terms those of the frozen form.
    frozen = pausing(sender, dual, 8.0, update="delayed", bunch=loop.bunch) if dual else loop
    assert np.max(np.abs(1.0 + frozen(roots))) < 1e-6
    raw = eigenvalues(without_echoes(frozen.linear), True, 48)
    for root in roots:
        assert np.min(np.abs(raw - root)) < 1e-5 * abs(root)
    stable = bool(np.all(roots.real < 0.0))
    assert (loop.nyquist_count() == 0) == stable
    assert np.sign(loop.margins().gain_margin_db) == (1.0 if stable else -1.0)


@pytest.mark.parametrize("bunch", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("sender", [REAL, WHOLE], ids=["real", "whole"])
def test_the_bound_of_pauses_is_one(sender, bunch) -> None:
    loop = pausing(sender, False, bunch=bunch).linear
    for w in (300.0, 3000.0):
        bound, falls = plant_bound(loop, w)
        v = w * np.geomspace(1.0, 30.0, 3000)
        assert np.all(np.abs(plant_response(loop, 1j * v)) * (v / w) ** falls <= bound)
        assert np.isfinite(bound)


@pytest.mark.slow
def test_arrays_of_pauses_are_their_elements() -> None:
    paths, gains = np.array([0.02, 0.05]), np.array([[1 / 16], [1 / 4]])

    def loop_of_both(path: Any, gain: Any) -> pf.Loop:
        flows = [
            pf.Flows(pf.Reno(), 10, path),
            pf.Flows(pf.Dctcp(law="renewal", gain=gain), 5, path),
        ]
        return pf.Loop(flows, pf.DualPi2(), capacity="100Mbit/s", update="sampled", clock="acks")

    several = loop_of_both(paths, gains)
    for row, column in np.ndindex(several.shape):
        alone = loop_of_both(float(paths[column]), float(gains[row, 0]))
        assert complex(several(2j)[row, column]) == pytest.approx(complex(alone(2j)), rel=1e-9)
        assert several.margins().verdict[row, column] == alone.margins().verdict


@pytest.mark.slow
@pytest.mark.parametrize(("path", "peak"), [(0.032, 196.4), (0.048, 131.3), (0.08, 78.5)])
def test_packets_of_dctcp_echo_where_it_says(path, peak) -> None:
    """The largest line above 40 rad/s that packets have in docs/ack_clock.md."""
    rates = [128 * np.sqrt(2.0) / 0.02 / (path + 0.015), 128 * 70.7 / (path + 0.015)]
    flows = [
        pf.Flows(pf.Reno(), 128, path),
        pf.Flows(WHOLE, rates[1] * path * 0.04 / 1.85, path),
    ]
    loop = pf.Loop(
        flows, pf.DualPi2(), capacity=sum(rates) * PACKET, update="sampled", clock="acks"
    )
    echo = loop.echo(2)
    grows = echo.growth.to_numpy().ravel()
    found = echo.frequency.to_numpy().ravel()[np.nanargmax(grows > 0.0)]
    assert np.nanmax(grows) < 0.05  # by 1.4 with Scalable
    assert found == pytest.approx(peak, rel=0.005)


# --- what loops answer ------------------------------------------------------------------------


@pytest.mark.slow
@every_case
def test_aliases(name) -> None:
    """48 pairs against 20,000: what crossovers are found with, and the end of the range."""
    case = CASES[name]
    loop = loop_of(case["classes"], gains_of(case), case["target"]).linear
    s = 1j * np.array([0.001, 0.1, 0.5]) * 0.997 * np.pi / float(loop.controller.interval)
    whole = alias_sum(loop, s, 20_000)
    worst = np.abs(alias_sum(loop, s, None) / whole - 1.0)
    one_queue = name in ONE_QUEUE
    assert np.all(worst < ((1e-11, 2e-8, 3e-5) if one_queue else (2e-7, 4e-5, 1e-2)))
    assert np.all(np.abs(alias_sum(loop, s, 400) / whole - 1.0) < 1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.6, 1.5, 3.0])
@pytest.mark.parametrize("name", [name for name in CASES if "spread" not in name])
def test_roots_by_two_methods(name, scale) -> None:
    """Newton's on 1 + L, and eigenvalues of the equations in time: as many as are counted."""
    case = CASES[name]
    gains = gains_of(case)
    gains = gains | {key: scale * gains[key] for key in ("alpha", "beta")}
    loop = loop_of(case["classes"], gains, case["target"], update="delayed")
    # Above, classes of one round-trip time have modes that no delay shows.
    below = 0.8 * 2.0 * np.pi / (max(cls["b"] for cls in case["classes"]) + case["target"])
    below = min(below, without_echoes(loop.linear).reach)
    roots = loop.roots(2)
    assert np.max(np.abs(1.0 + loop(roots))) < 1e-6
    linear = without_echoes(loop.linear)
    raw = eigenvalues(linear, True, 48)
    for root in roots:
        assert np.min(np.abs(raw - root)) < 1e-5 * abs(root)
    right = raw[(raw.real > 1e-6) & (np.abs(raw.imag) < below)]
    assert loop.nyquist_count() == right.size
    assert loop.margins().verdict == ("stable" if right.size == 0 else "unstable")
    assert np.sign(loop.margins().gain_margin_db) == (1.0 if right.size == 0 else -1.0)


@pytest.mark.slow
def test_a_sampled_count_is_that_of_its_margins() -> None:
    for name, case in CASES.items():
        gains = gains_of(case)
        db = loop_of(case["classes"], gains, case["target"]).margins().gain_margin_db
        for more in (-0.3, 0.3):
            factor = 10.0 ** ((db + more) / 20.0)
            scaled = gains | {key: factor * gains[key] for key in ("alpha", "beta")}
            loop = loop_of(case["classes"], scaled, case["target"])
            assert (loop.nyquist_count() > 0) == (more > 0.0), (name, more)


@pytest.mark.parametrize("share", [0.6, 0.618, 0.62, 0.623])
def test_modes_of_a_mixture_are_those_of_its_own_terms(share) -> None:
    """Near the boundary, where frozen terms have another one: zeros of 1 + L inside a contour."""
    loop = dual_of(0.085, share, LINUX, rtt_terms="exact")
    right, top, n = 60.0, 55.0, 20_000
    up, across = np.linspace(0.5, top, n), np.linspace(1e-6, right, n)
    sides = (1e-6 + 1j * up[::-1], across + 0.5j, right + 1j * up, across[::-1] + 1j * top)
    values = 1.0 + loop(np.concatenate(sides))
    inside = np.sum(np.angle(values[1:] / values[:-1])) / (2.0 * np.pi)
    assert inside == pytest.approx(round(inside), abs=1e-2)
    assert loop.nyquist_count() == 2 * round(inside)
    assert np.sign(loop.margins().gain_margin_db) == (1.0 if round(inside) == 0 else -1.0)


@pytest.mark.slow
def test_echo_modes_without_sampling_are_eigenvalues() -> None:
    """And they exist with bursts, too, but not of paced senders."""
    for options in ({"update": "delayed"}, {"update": "continuous", "bunch": 1.0}):
        loop = dual_of(0.08, 0.5, LINUX, **options)
        modes = find_echoes(loop.linear, loop.update, 3)[:, 0]
        raw = eigenvalues(loop.linear, loop.update == "delayed", 64)
        for mode in modes:
            assert np.min(np.abs(raw - mode)) < 1e-5 * abs(mode)
    flows = [pf.Flows(pf.Reno(), 10, "50ms"), pf.Flows(PacedScalable(), 10, "50ms")]
    loop = pf.Loop(flows, pf.DualPi2(), capacity="200Mbit/s", clock="acks")
    assert loop.margins().echo == "not applicable"
    with pytest.raises(pf.UnsupportedError, match="nothing echoes"):
        loop.echo()


def test_a_share_of_constant_rate() -> None:
    """It steadies one queue: theta = R w / (phi_0 (1 - e) + phi), against the formula."""
    flows = [
        pf.Flows(pf.Reno(), 20, "80ms"),
        pf.Flows(pf.Cbr(rate="5Mbit/s", thinned=False), 2, "10ms"),
    ]
    loop = pf.Loop(flows, pf.Pi2(drop_at="dequeue"), capacity="40Mbit/s", clock="acks")
    share = loop.operating_point.share[1]
    assert share == pytest.approx(0.25, rel=1e-9)
    s = 1j * np.array([0.5, 5.0, 50.0])
    R, W, u = 0.1, loop.operating_point.window[0], loop.operating_point.controller
    e = np.exp(-s * R)
    P = (1.0 - e) / (s * R)
    w = -2.0 * P * np.exp(-s * 0.08) / (s * R * W + 1.0 + P) / u
    theta = np.exp(-s * 0.02) * (1.0 - share) * R * w / (share * (1.0 - e) + 1.0 - share)
    assert np.max(np.abs(plant_response(loop.linear, s) / -theta - 1.0)) < 1e-12
    assert loop.margins().verdict == "stable"


def test_the_bound_is_one() -> None:
    for case in CASES.values():
        for bunch in (0.0, 1.0):
            loop = loop_of(case["classes"], gains_of(case), case["target"], bunch=bunch).linear
            if loop.dual or loop.exchanges:
                assert plant_bound(loop, 20.0)[0] == np.inf
                continue
            for w in (5.0, 20.0, 100.0, 400.0):
                bound, falls = plant_bound(loop, w)
                v = np.geomspace(w, 100.0 * w, 4000)
                size = np.abs(plant_response(loop, 1j * v))
                assert np.all(size <= bound)
                assert falls in (1, 2)


@pytest.mark.slow
def test_arrays_labels_and_views() -> None:
    xr = pytest.importorskip("xarray")
    p = xr.DataArray([0.01, 0.1], dims="traffic", coords={"traffic": ["low", "high"]})
    options: dict[str, Any] = {"rtt": "100ms", "update": "sampled", "clock": "acks"}
    margins = pf.Loop(pf.Reno(), pf.Pi2(), p_prime=p, **options).margins()
    assert list(margins.gain_margin_db.traffic) == ["low", "high"]
    for value, db in zip((0.01, 0.1), margins.gain_margin_db.values, strict=True):
        loop = pf.Loop(pf.Reno(), pf.Pi2(), p_prime=value, **options)
        assert loop.margins().gain_margin_db == pytest.approx(db, rel=1e-12)
    swept = pf.Loop(pf.Reno(), pf.Pi2(), p_prime=np.array([0.01, 0.1]), **options).sweep()
    assert swept.attrs["clock"] == "acks"
    assert swept.gain_margin_db.values == pytest.approx(margins.gain_margin_db.values)
    assert "acknowledgements" in loop._repr_html_()
    gains, _ = loop.crossovers()
    assert loop.margins().gain_crossover == pytest.approx(gains[0])
    assert gains[0] < loop.bandwidth() < 100.0
    assert loop.step(np.array([0.0, 60.0])) == pytest.approx([0.0, 1.0], abs=1e-3)
    assert loop.margins().modulus_margin == pytest.approx(loop.disk_margin(1.0).alpha, rel=1e-6)
    assert abs(loop.sensitivity(gains[0])) < 1.0 / loop.margins().modulus_margin + 1e-6
    dual = dual_of(0.05, 0.5, LINUX)
    assert dual.bode()
    assert dual.nyquist()
    assert "echo modes" in dual.margins()._repr_html_()
    assert complex(loop.to_control(w=[3.0, 5.0])(5j)) == pytest.approx(complex(loop(5j)))


@pytest.mark.slow
@pytest.mark.parametrize("update", ["continuous", "sampled"])
def test_arrays_are_their_elements(update) -> None:
    """Of a dual queue with Cubic, whose states are a matrix, under two gains by three paths."""
    paths, gains = np.array([0.02, 0.05, 0.08]), np.array([[0.1], [0.2]])
    s = np.array([2j, 9j, 31j])

    def loop_of_both(path: Any, alpha: Any) -> pf.Loop:
        flows = [pf.Flows(pf.Cubic(), 10, path), pf.Flows(pf.Scalable(), 5, path)]
        queue = pf.DualPi2(alpha=alpha)
        return pf.Loop(flows, queue, capacity="100Mbit/s", update=update, clock="acks")

    several = loop_of_both(paths, gains)
    assert several.shape == (2, 3)
    found, echo = several(2j), several.margins().echo
    for row, column in np.ndindex(several.shape):
        alone = loop_of_both(float(paths[column]), float(gains[row, 0]))
        assert complex(found[row, column]) == pytest.approx(complex(alone(2j)), rel=1e-9)
        assert several.nyquist_count()[row, column] == alone.nyquist_count()
        assert echo[row, column] == alone.margins().echo
    assert alone(s).shape == s.shape


@pytest.mark.parametrize("sender", [pf.CReno(), pf.Scalable()])
def test_an_explanation_is_the_loop(sender) -> None:
    """Its constants, put together as its LaTeX says."""
    queue = pf.CoupledPi2(k=1.5)
    loop = pf.Loop(sender, queue, rtt="100ms", p_prime=0.1, update="sampled", clock="acks")
    told = loop.explain()
    s, R = 4j, 0.1
    P = (1.0 - np.exp(-s * R)) / (s * R)
    reno = isinstance(sender, pf.CReno)
    law = s / told["s_R"].value + (1.0 + P) / 2.0 if reno else s / told["s_S"].value + 1.0
    gain = told["kappa"].value * told["kappa_A"].value * (s / told["z_A"].value + 1.0)
    form = gain * (P if reno else 1.0) * np.exp(-s * told["tau"].value) / law / s
    continuous = pf.Loop(sender, queue, rtt="100ms", p_prime=0.1, clock="acks")
    assert complex(continuous(s)) == pytest.approx(form, rel=1e-12)
    assert told["GM_acks"].value == loop.margins().gain_margin_db
    rates = pf.Loop(sender, queue, rtt="100ms", p_prime=0.1, update="sampled").margins()
    assert told["GM_rate"].value == rates.gain_margin_db
    assert r"e^{-\tau s}" in told.latex
    assert "s_A" not in told.latex


def test_cubic_of_two_regimes() -> None:
    """Cubic grows in time where Reno would grow by acknowledgements: both have a loop."""
    for p_prime, calm in ((0.2, True), (0.01, True)):
        loop = pf.Loop(
            pf.Cubic(), pf.Pi2(), rtt="100ms", p_prime=p_prime, update="delayed", clock="acks"
        )
        root = loop.roots()
        assert abs(1.0 + loop(root)) < 1e-6
        assert (root.real < 0.0) == (loop.nyquist_count() == 0) == calm


def test_l4s_traffic_alone_on_its_ramp() -> None:
    flows = pf.Flows(pf.Scalable(), 10, "20ms")
    queue = pf.DualPi2(ramp="400us")
    loop = pf.Loop(flows, queue, capacity="100Mbit/s", clock="acks")
    delay = float(loop.operating_point.queue_delay[1])
    assert 0.0008 < delay < 0.0012
    s = np.array([3j, 30j])
    R, W = 0.02 + delay, loop.operating_point.window[0]
    p = loop.operating_point.p[0]
    w = -np.exp(-s * 0.02) / (s * R * W + 1.0) / p / 0.0004
    assert loop(s) == pytest.approx(-np.exp(-s * delay) * R * w, rel=1e-9)


@pytest.mark.slow
def test_classes_that_hardly_differ_swing_against_one_another() -> None:
    """Reno at 80 and Scalable at 81 ms: a mode beyond the loop, which no delay but theirs shows."""
    queue = pf.CoupledPi2(alpha=0.32, beta=6.4, target=0.015, update_interval=0.016)

    def loop_at(path: float) -> pf.Loop:
        flows = [pf.Flows(pf.Reno(), 50, 0.08), pf.Flows(pf.Scalable(), 50, path)]
        return pf.Loop(flows, queue, capacity="600Mbit/s", clock="acks")

    loop = loop_at(0.081)
    raw = eigenvalues(loop.linear, False, 64)
    (mode,) = raw[(raw.real > 1e-6) & (raw.imag > 0.0) & (raw.imag < 100.0)]
    assert mode.imag == pytest.approx(65.72, abs=0.01)
    assert mode.real < 0.01
    whole = loop.linear  # all of it, with the resonance of 1/30 rad/s between its harmonics
    assert loop.linear.landmarks(100.0)[2] == pytest.approx(mode.imag, abs=0.05)
    assert (
        count_right(
            lambda w: 1j * w / (1j * w + 1.0) * (1.0 + respond(whole, 1j * w, "continuous")),
            1,
            0.1,
            0.1,
            whole.landmarks,
        )
        == 2
    )
    assert without_echoes(loop.linear).reach == pytest.approx(0.8 * 2.0 * np.pi / 0.095)
    assert loop.nyquist_count() == 0
    near, equal = (loop_at(path).margins().gain_margin_db for path in (0.081, 0.08))
    assert near == pytest.approx(equal, abs=0.1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")
@pytest.mark.parametrize(("near", "far", "growing"), [(1, 400, 2), (1, 1000, 6), (30, 700, 2)])
def test_modes_of_paths_far_apart_are_all_found(near: float, far: float, growing: int) -> None:
    """Resonances of 0.01 rad/s below each harmonic of the long path, from the first one on."""
    flows = [pf.Flows(pf.Reno(), 10, 1e-3 * path) for path in (near, far)]
    loop = pf.Loop(flows, pf.Pi2(), capacity="100Mbit/s", clock="acks")
    reach = without_echoes(loop.linear).reach
    w = np.concatenate([np.geomspace(1e-6, 1.0, 1000), np.arange(1.0, reach, 2e-4)])
    path = 1.0 + loop(np.concatenate([1j * w, np.geomspace(1e-6, 1e6, 2000) + 1j * reach]))
    turned = np.sum(np.angle(path[1:] / path[:-1])) / np.pi
    assert round(0.5 - turned) == growing  # it begins at -90 degrees: one integrator
    assert count_unstable(loop.linear, "continuous") == loop.nyquist_count() == growing
    assert loop.margins().verdict == "unstable"
    assert sum(2 for root in loop.roots(growing // 2 + 1) if root.real > 0.0) == growing
    assert loop.delay_sd() == np.inf


def test_exact_terms_move_margins_by_a_window() -> None:
    frozen, exact = (mixture(rtt_terms=terms) for terms in ("frozen", "exact"))
    assert exact.roots() == pytest.approx(frozen.roots())
    off = exact.margins().gain_margin_db - frozen.margins().gain_margin_db
    assert 1e-4 < abs(off) < 0.1
    assert exact.margins().verdict == "stable"
    single = [one(rtt_terms=terms, update="delayed").margins() for terms in ("frozen", "exact")]
    assert single[0].gain_margin_db == pytest.approx(single[1].gain_margin_db, rel=1e-9)


# --- what loops refuse ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class Own(pf.Reno):
    def rate(self, x: Any, x_delayed: Any, signal_delayed: Any, rtt: Any, rtt_delayed: Any) -> Any:
        return 2.0 / rtt - x * x_delayed / rtt_delayed * signal_delayed


@dataclass(frozen=True, eq=False, kw_only=True)
class Told(Own):
    def acked(self, x: Any, acks: Any, marks: Any, rtt: Any) -> Any:
        return 2.0 * acks / x, x * marks


def test_a_law_of_ones_own() -> None:
    """Overriding the law by rates leaves none by acknowledgements, until it is given, too."""
    options: dict[str, Any] = {"rtt": "100ms", "p_prime": 0.1, "clock": "acks"}
    with pytest.raises(pf.UnsupportedError, match=r"Own does not say .* define acked"):
        pf.Loop(Own(), pf.Pi2(), **options).margins()
    found = pf.Loop(Told(), pf.Pi2(), **options).linear.classes[0]
    assert found.window == pytest.approx(np.sqrt(2.0) / 0.1)
    assert found.growth_by_state[0, 0] == pytest.approx(-2.0 / found.window / 0.1)
    with pytest.raises(pf.UnsupportedError, match="reduction = 'slowly'"):

        class Slow(pf.Reno):
            reduction = "slowly"


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p=0.1, clock="tick"), "'rate', 'acks'"),
        (lambda: pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p=0.1, bunch=0.5), "rate clock"),
        (lambda: pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p=0.1, bunch=1.5, clock="acks"), "1.5"),
        (
            lambda: one(pf.Reno(), pf.Pi2(update_interval=0.002), rtt=0.01).margins(),
            "shorter than the queue delay",
        ),
        (lambda: one(pf.Dctcp(), pf.CoupledPi2()).margins(), 'law = "rate" does not say'),
        (lambda: one(update="sampled").roots(), "delayed"),
        (lambda: one().step(1.0), 'update="sampled"'),
        (lambda: mixture().explain(), "no closed form to explain"),
        (lambda: one().to_control("ss"), 'kind="frd"'),
        (lambda: one().to_control("pade"), 'kind="frd"'),
        (lambda: one().echo(), "nothing echoes"),
        (lambda: dual_of(0.05, 0.5, LINUX).echo(0), "harmonics >= 1"),
        (lambda: dual_of(0.05, 0.5, LINUX).echo(1.5), "harmonics = 1.5 were asked for"),
        (lambda: one().roots("two"), "n = 'two' roots were asked for"),
        (lambda: mixture(11).roots(), "merge classes"),
    ],
)
def test_what_is_refused_is_refused_in_one_sentence(ask, sentence) -> None:
    with pytest.raises(ERRORS) as caught:
        ask()
    text = str(caught.value)
    assert sentence in text
    assert text.endswith(".")
    assert ". " not in text


def one(sender: Any = None, queue: Any = None, rtt: float = 0.1, **options: Any) -> pf.Loop:
    laws = sender or pf.Reno(), queue or pf.Pi2()
    return pf.Loop(*laws, rtt=rtt, p_prime=0.1, clock="acks", **options)


def mixture(classes: int = 2, **options: Any) -> pf.Loop:
    flows = [pf.Flows(pf.Reno(), 10, 0.05 + 0.013 * i) for i in range(classes)]
    return pf.Loop(flows, pf.Pi2(), capacity="100Mbit/s", clock="acks", **options)


# What the pages say

ROOT = Path(__file__).parents[2]
GAINS = {
    '`tune("100ms")`': {"alpha": 0.047998, "beta": 2.5146, "update_interval": "16ms"},
    "Linux": {"alpha": 0.16, "beta": 3.2, "update_interval": "16ms", "target": "15ms"},
    "PI2 paper": {"alpha": 0.3125, "beta": 3.125, "update_interval": "32ms", "target": "20ms"},
}


def rows_of(page: str) -> list[tuple[str, list[str]]]:
    lines = (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [(name, rest) for name, *rest in cells if name in GAINS and len(rest) == 3]


@pytest.mark.parametrize("name", GAINS)
def test_the_page_has_these_margins(name) -> None:
    (said,) = [rest for row, rest in rows_of("ack_clock.md") if row == name]
    for told, clock, drop_at in zip(
        said, ("rate", "acks", "acks"), ("enqueue", "dequeue", "enqueue"), strict=True
    ):
        queue = pf.CoupledPi2(**({"target": "16ms"} | GAINS[name]), drop_at=drop_at)
        loop = pf.Loop(pf.Reno(), queue, rtt="100ms", p_prime=0.001, update="sampled", clock=clock)
        found = loop.margins()
        assert f"{found.gain_margin_db:.2f}, {found.phase_margin_deg:.1f}" == told, name
