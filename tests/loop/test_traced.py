"""Margins under JAX: their derivatives against differences of `Loop`, and of the closed form."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.laws.aqm import Signal
from pi2_fluid.records.record import quantity

law = dataclasses.dataclass(frozen=True, eq=False, kw_only=True)


@law
class Own(pf.Sender):
    """Branches, and says not where it rests."""

    signal: ClassVar = "classic"
    bend: Any = quantity(0.5, "number")

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        grown = 1.0 if w > 4.0 else 0.5
        return grown / rtt - self.bend * w * w_delayed / rtt_delayed * p_delayed


@law
class OwnQueue(pf.Aqm):
    """An integrator that says not where it rests, and encodes in a way of its own."""

    gain: Any = quantity(0.3, "frequency")
    target: Any = quantity("20ms", "time")
    update_interval: Any = quantity("16ms", "time")

    def initial(self):
        return (0.0, 0.0)

    def update(self, state, seen, dt):
        u, before = state
        d = seen.queue_delay
        return (u + self.gain * (d - self.target) + 10.0 * self.gain * (d - before), d)

    def encode(self, u):
        return Signal(u**1.5, u)


def flows(sender: pf.Sender, **numbers: Any) -> pf.Flows:
    return pf.Flows(sender, **{"count": 10, "base_rtt": "80ms", **numbers})


CASES = {
    "Reno, PIE, p": (lambda ask, x: ask(pf.Reno(), pf.Pie(), rtt=0.1, p=x), 0.015),
    "Cubic, sampled, alpha": (
        lambda ask, x: ask(pf.Cubic(), pf.Pi2(alpha=x), rtt=0.1, p=0.01, update="sampled"),
        0.3,
    ),
    "DCTCP and Prague, RED, exact, capacity": (
        lambda ask, x: ask(
            [flows(pf.Dctcp(), count=2), flows(pf.Prague(), base_rtt=0.03)],
            pf.Red(min=5, max=50),
            capacity=x,
            rtt_terms="exact",
        ),
        2e7,
    ),
    "own sender, own queue, delayed, bend": (
        lambda ask, x: ask(flows(Own(bend=x)), OwnQueue(), capacity=2e7, update="delayed"),
        0.5,
    ),
}


def ordinary(*args: Any, **numbers: Any) -> np.ndarray:
    margins = pf.Loop(*args, **numbers).margins()
    names = ("gain_margin_db", "phase_margin_deg", "gain_crossover", "phase_crossover")
    return np.array([getattr(margins, name) for name in names], float)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=list(CASES))
def test_derivatives_are_those_of_differences_of_the_ordinary_margins(jax, case):
    build, x = CASES[case]
    with jax.enable_x64(True):
        values, slopes = jax.jvp(
            lambda x: jax.numpy.stack(build(pf.loop.traced_margins, x)), (x,), (1.0,)
        )
    np.testing.assert_array_equal(values, build(ordinary, x))
    h = 1e-4 * x
    near, far = (build(ordinary, x + d) - build(ordinary, x - d) for d in (h, 2.0 * h))
    # Differences of fourth order, of margins that are right to 1e-14 or so: over 1e-4 of x.
    quotient = (8.0 * near - far) / (12.0 * h)
    np.testing.assert_allclose(slopes, quotient, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_second_derivatives_backwards_compiled_and_mapped_are_those_of_the_closed_form(jax):
    """Of Reno under PI2 the margins are also `margins_of`, a body of its own."""

    def traced(alpha: Any) -> Any:
        queue = pf.Pi2(alpha=alpha, beta=3.125, update_interval=0.032)
        return pf.loop.traced_margins(pf.Reno(), queue, rtt=0.1, p_prime=0.1)[0]

    def closed(alpha: Any) -> Any:
        pole = 2.0**0.5 * 0.1 / 0.1
        return pf.loop.margins_of(10.0, pole, "reno", alpha, 3.125, 0.032, 0.1)[0]

    with jax.enable_x64(True):
        expected = jax.jvp(jax.grad(closed), (0.3,), (1.0,))
        np.testing.assert_allclose(jax.jvp(jax.grad(traced), (0.3,), (1.0,)), expected, rtol=1e-9)
        at = np.array([0.2, 0.4])
        mapped = jax.jit(jax.vmap(traced))(at)
        np.testing.assert_allclose(mapped, [closed(x) for x in at], rtol=1e-12)


def test_what_it_does_not_differentiate_is_refused_in_one_sentence(jax):
    with jax.enable_x64(True):
        for queue, why in ((pf.DualPi2(), "two queues"), (pf.Rem(), "acts on what arrives")):
            with pytest.raises(pf.UnsupportedError, match=why):
                pf.loop.traced_margins(pf.Reno(), queue, rtt=0.1, p=0.01)
    with pytest.raises(pf.DomainError, match="float32"):
        pf.loop.traced_margins(pf.Reno(), pf.Pi2(), rtt=0.1, p=0.01)
