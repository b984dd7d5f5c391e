"""Random regions, proved or refuted, and loops in them that try to prove the proof wrong.

    python tools/attack_guarantees.py [--regions 400] [--loops 60] [--seed 0]

RTTs over a ratio of up to 1000, T up to 35 times the smallest, any decrease, per_mark and k, with
PI, PIE, PI2 and the coupled queue. What is claimed of a region is what its grid finds, less a
thousandth or a hundredth. The loops, at corners, at random and near the worst, with the round-trip
time held constant in the window law and without, come from their definition: a plain sum over
aliases, every crossing of the negative axis and of the unit circle, and the turns of 1 + L around
0.
"""

from __future__ import annotations

import argparse
import collections
import time
from typing import Any, NamedTuple

import numpy as np

import pi2_fluid as pf
from pi2_fluid.design.gains import Asked
from pi2_fluid.design.guarantees.certificate import certify
from pi2_fluid.design.region import Region, Worst, worst_margins

UPDATES = ("continuous", "delayed", "sampled", "sampled", "sampled")
FREQUENCIES = 250
ALIASES = 12  # and as many times T/R
SLACK = (1e-3, 1e-2)
SIGHT = 1e-4  # of a margin: what the sum and the bisection leave open


class Attack(NamedTuple):
    """One region: what was found of it, by how many loops, in how many CPU seconds."""

    outcome: str
    loops: int
    violations: int
    seconds: float
    what: str


def random_case(rng: Any) -> tuple[Region, Any, str]:
    """Return a region, a queue and an update."""
    longest = 10.0 ** rng.uniform(-3.5, 0.0)
    shortest = longest / 10.0 ** (rng.choice([0.5, 1.5, 3.0]) * rng.uniform())
    T = min(shortest * 10.0 ** rng.uniform(-1.0, np.log10(35.0)), 1.5 * longest)
    kind = rng.choice(["pi2", "coupled", "coupled", "pie", "pi"])
    classic = kind in ("pi2", "pie") or rng.integers(2)
    sender: Any = pf.Scalable(per_mark=rng.uniform(0.05, 0.98))
    if classic:
        sender = pf.Reno(decrease=rng.choice([0.5, 0.3, rng.uniform(0.01, 0.999)]))
    low = 10.0 ** rng.uniform(-3.0, -0.05) if kind in ("pi", "pie") or rng.integers(2) else 0.0
    high = 1.0 if rng.integers(3) else rng.uniform(max(low, 0.05), 1.0)
    # Of the order of what a tuned design has, so that most regions are stable.
    gain = 2.0 * np.sqrt(sender.decrease) if classic else sender.per_mark
    a, b = 0.06 * 10.0 ** rng.uniform(-1.5, 0.0), 10.0 ** rng.uniform(-1.3, -0.5)
    theta = T / longest
    gains = {"alpha": a * theta / longest / gain, "beta": b / longest / gain}
    extra: dict[str, Any] = {}
    if kind == "coupled":
        extra["k"] = rng.uniform(0.3, 5.0)
        if not classic:
            gains = {name: value / extra["k"] for name, value in gains.items()}
    if kind in ("pi", "pie") and classic:
        scale = 2.0 * max(low, 1e-3) if kind == "pi" else 0.5
        gains = {name: scale * value for name, value in gains.items()}
    law = {"pi2": pf.Pi2, "coupled": pf.CoupledPi2, "pie": pf.Pie, "pi": pf.Pi}[str(kind)]
    queue = law(**gains, **extra, update_interval=T)
    return Region((sender,), shortest, longest, ((low, high),)), queue, str(rng.choice(UPDATES))


def response(
    region: Region, queue: Any, update: str, rtt: Any, p_prime: Any, exact: Any, w: Any
) -> Any:
    """Return L of one loop for each entry of `rtt`, from its definition; w may have a last axis."""
    sender, T = region.senders[0], float(queue.update_interval)
    classic = sender.signal == "classic"
    mu = (np.sqrt(sender.decrease) if classic else sender.per_mark) * p_prime
    m = np.full(mu.shape, 2.0 * np.sqrt(sender.decrease) if classic else sender.per_mark)
    if isinstance(queue, pf.CoupledPi2):
        m = m * (1.0 if classic else queue.k)
    elif not isinstance(queue, pf.Pi2):
        p, slope = p_prime**2 if classic else p_prime, 1.0
        if isinstance(queue, pf.Pie) and queue.signal_spacing:  # hears u/1.85 to 0.85, then to 1
            few = p < 0.85 / 1.85
            slope = np.where(few, 1.0 / 1.85, (1.0 - 0.85 / 1.85) / 0.15)
            p = np.where(few, 1.85 * p, 1.0 - (1.0 - p) / slope)
        m = m * slope * queue.gain_factor(p) / (2.0 * p_prime if classic else 1.0)
    rtt, m, mu, exact = (np.asarray(x)[:, None] for x in (rtt, m, mu, exact))

    def plant(v: Any) -> Any:
        late = np.exp(-1j * v)
        h = (1.0 if classic else 0.0) + late + exact * (1.0 - late) / (1.0 + 1j * v)
        return late / (1j * v * (1.0 + 1j * v) * (1j * v + mu * h))

    alpha, beta = float(queue.alpha), float(queue.beta)
    if update != "sampled":
        F = alpha / T + 1j * (beta + alpha / 2.0) * w
        return (
            m * rtt**2 * F * plant(w * rtt) * (np.exp(-0.5j * w * T) if update == "delayed" else 1)
        )
    count = ALIASES + int(np.ceil(ALIASES * T / region.min_rtt))
    total = sum(plant((w + 2.0 * np.pi * k / T) * rtt) for k in range(-count, count + 1))
    return m * rtt**2 * (alpha + beta * (1.0 - np.exp(-1j * w * T))) / T * total


def loops_of(region: Region, worst: Worst, count: int, rng: Any) -> tuple[Any, Any]:
    """Return round-trip times and loads of corners, at random, and near the worst loop."""
    (low, high), shortest, longest = region.load[0], region.min_rtt, region.max_rtt
    least = max(low, 1e-7)
    corner = np.meshgrid([shortest, np.sqrt(shortest * longest), longest], [least, high])
    away = 10.0 ** rng.uniform(-5.0, -0.3, (2, count // 2)) * rng.choice([-1.0, 1.0], count // 2)
    rtt = [
        corner[0].ravel(),
        np.exp(rng.uniform(np.log(shortest), np.log(longest), count - count // 2)),
        worst.rtt * (1.0 + away[0]),
    ]
    p_prime = [
        corner[1].ravel(),
        np.exp(rng.uniform(np.log(max(low, 1e-4 * high)), np.log(high), count - count // 2)),
        max(worst.p_prime, least) * (1.0 + away[1]),
    ]
    return (
        np.clip(np.concatenate(rtt), shortest, longest),
        np.clip(np.concatenate(p_prime), least, high),
    )


def shortfalls(
    region: Region, queue: Any, update: str, rtt: Any, p_prime: Any, exact: Any, claim: Asked
) -> int:
    """Return how many loops touch what the claim forbids, or are unstable."""
    top = np.pi / float(queue.update_interval) if update == "sampled" else 300.0 / region.min_rtt
    w = np.geomspace(np.full(rtt.shape, 1e-4 / region.max_rtt), top, FREQUENCIES, axis=-1)
    L = response(region, queue, update, rtt, p_prime, exact, w)
    bad = np.zeros(rtt.size, bool)
    # The turns of 1 + L: it begins below the real axis and ends near 1, having gone round nowhere.
    turned = np.unwrap(np.angle(1.0 + L), axis=1)
    bad |= np.abs(turned[:, -1] - 2.0 * np.pi * (turned[:, 0] > 0.5)) > 1.0
    bad |= np.min(np.abs(1.0 + L), axis=1) < claim.modulus * (1.0 - SIGHT)

    def crossings(f: Any) -> tuple[Any, Any]:
        row, cell = np.nonzero(np.sign(f(L[:, :-1])) * np.sign(f(L[:, 1:])) < 0.0)
        a, b = w[row, cell], w[row, cell + 1]
        sign = np.sign(f(L[row, cell]))
        for _ in range(20):
            middle = np.sqrt(a * b)
            value = response(
                region, queue, update, rtt[row], p_prime[row], exact[row], middle[:, None]
            )[:, 0]
            left = np.sign(f(value)) == sign
            a, b = np.where(left, middle, a), np.where(left, b, middle)
        return row, value

    row, value = crossings(np.imag)
    near = 10.0 ** (-claim.gain_db * (1.0 - SIGHT) / 20.0)
    np.logical_or.at(bad, row, (value.real < -near) & (value.real > -1.0))
    row, value = crossings(lambda x: np.abs(x) - 1.0)
    phase = np.degrees(np.angle(-value))
    np.logical_or.at(bad, row, (phase >= 0.0) & (phase < claim.phase_deg * (1.0 - SIGHT)))
    return int(np.count_nonzero(bad))


def attack(seed: int, loops: int) -> Attack:
    """Return what a random region came to."""
    rng = np.random.default_rng(seed)
    region, queue, update = random_case(rng)
    worst = worst_margins(region, queue, update)
    margins = worst.margins
    what = (
        f"{type(queue).__name__} {region.senders[0]!r} {update} R {region.min_rtt:.3g} to"
        f" {region.max_rtt:.3g} T {float(queue.update_interval):.3g} p' {region.load[0]}"
    )
    if margins.verdict_code <= 0 or not float(margins.gain_margin_db) > 0.0:
        return Attack("unstable", 0, 0, 0.0, what)
    begun = time.process_time()
    for slack in SLACK:  # as `guarantee` tries them
        claim = Asked(
            (1.0 - slack) * min(float(margins.gain_margin_db), 80.0),
            (1.0 - slack) * float(np.clip(margins.phase_margin_deg, 0.0, 90.0)),
            (1.0 - slack) * min(float(margins.modulus_margin), 1.0),
        )
        outcome = certify(region, queue, claim, update).outcome
        if outcome != "undecided":
            break
    seconds = time.process_time() - begun
    if outcome != "proved":
        return Attack(outcome, 0, 0, seconds, what)
    rtt, p_prime = loops_of(region, worst, loops, rng)
    both = np.concatenate([rtt, rtt]), np.concatenate([p_prime, p_prime])
    exact = np.arange(2 * rtt.size) >= rtt.size
    bad = shortfalls(region, queue, update, *both, exact, claim)
    return Attack(outcome, 2 * rtt.size, bad, seconds, what)


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--regions", type=int, default=400)
    parser.add_argument("--loops", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    attacks = []
    for seed in range(arguments.seed, arguments.seed + arguments.regions):
        one = attack(seed, arguments.loops)
        attacks.append(one)
        if one.violations or one.seconds > 5.0 or one.outcome == "undecided":
            print(f"{seed}: {one.outcome}, {one.violations} short, {one.seconds:.1f} s; {one.what}")
    counts = collections.Counter(one.outcome for one in attacks)
    print(", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    print(
        f"loops tried {sum(one.loops for one in attacks):,}, short of the claim"
        f" {sum(one.violations for one in attacks)}, longest proof"
        f" {max(one.seconds for one in attacks):.1f} s of CPU"
    )


if __name__ == "__main__":
    main()
