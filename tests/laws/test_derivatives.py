"""Slopes: against symbolic differentiation, against JAX, and in laws of every kind."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
import pytest
import sympy

import pi2_fluid as pf
from pi2_fluid import ops
from pi2_fluid.laws.aqm import Seen
from pi2_fluid.laws.derivatives import differentiate
from pi2_fluid.laws.packets_only import PacketsOnly
from pi2_fluid.laws.registry import AQMS, SENDERS, aqm_class, sender_class
from pi2_fluid.laws.tape import make_tape
from pi2_fluid.laws.traceable import by_jax
from pi2_fluid.records.record import quantity

# Each is read with the operators and functions of sympy, and with those of the symbols.
FORMULAS = [
    "x + y", "x + 3", "3 + x", "x - y", "x - 3", "3 - x", "x * y", "x * 3", "3 * x", "x / y",
    "x / 3", "3 / x", "x ** 2", "x ** 0.5", "x ** -1.5", "x ** 0", "x ** y", "3 ** x", "-x", "+x",
    "exp(x)", "log(x)", "expm1(x)", "log1p(x)", "sqrt(x)", "cbrt(x)", "abs(x - 2)", "abs(x)",
    "1 / (1 + x * y) ** 2",
    "sqrt(exp(x) / (1 + y)) - log(x + y) / cbrt(y)", "x ** 2 * y ** 3 - y / (x + 2) ** y",
]  # fmt: skip


def slopes(function: Any, *args: Any) -> tuple[Any, ...]:
    names = ["x", "y"][: len(args)]
    return make_tape(function, names).slopes(names)(*args)


@pytest.mark.parametrize("formula", FORMULAS)
def test_slopes_are_those_of_symbolic_differentiation(formula, rng):
    x, y = sympy.symbols("x y", positive=True)
    exact = eval(formula, {"abs": sympy.Abs, "expm1": lambda x: sympy.exp(x) - 1,
        "log1p": lambda x: sympy.log(1 + x), **{n: getattr(sympy, n) for n in (
        "exp", "log", "sqrt", "cbrt")}}, {"x": x, "y": y})  # fmt: skip
    names = {name: getattr(ops, name) for name in ("exp", "expm1", "log", "log1p", "sqrt", "cbrt")}
    points = rng.uniform(0.1, 3.0, (2, 10))
    by_x, by_y = slopes(lambda x, y: eval(formula, names, {"x": x, "y": y}), *points)
    for found, symbol in ((by_x, x), (by_y, y)):
        slope = sympy.lambdify((x, y), sympy.diff(exact, symbol), "numpy")
        # Ten roundings, of terms that may cancel.
        np.testing.assert_allclose(
            found + 0.0 * points[0], slope(*points) + 0.0 * points[0], rtol=1e-14, atol=4e-15
        )


def test_a_constant_has_no_slope_and_numbers_need_no_arrays():
    found = slopes(lambda x, y: (2.0, x * y, y), 3.0, 4.0)
    assert found == (0.0, 4.0, 0.0, 0.0, 3.0, 1.0)


def test_choices_take_the_slope_of_what_they_choose(rng):
    x = np.array([-1.0, 0.0, 2.0])

    def chosen(x, y):
        return (
            ops.where(x > 0.0, x * y, -x),
            ops.minimum(x, y),
            ops.maximum(y, x),
            ops.where(y == 0.0, x, 5.0),
            ops.minimum(x, 1.0),
        )

    found = [np.broadcast_to(row, 3) for row in slopes(chosen, x, np.zeros(3))]
    by_x, by_y = found[:5], found[5:]
    # Where both are the same, half of each: between the one-sided slopes, as with JAX.
    assert [row.tolist() for row in by_x] == [
        [-1, -1, 0], [1, 0.5, 0], [0, 0.5, 1], [1, 1, 1], [1, 1, 0],
    ]  # fmt: skip
    assert [row.tolist() for row in by_y] == [
        [0, 0, 2], [0, 0.5, 1], [1, 0.5, 0], [0, 0, 0], [0, 0, 0],
    ]  # fmt: skip


def test_a_branch_that_is_not_taken_leaves_no_trace():
    (slope,) = slopes(lambda x: ops.where(x < 0.0, ops.log(x) / x, x), np.zeros(1))
    assert slope == 1.0
    (slope,) = slopes(lambda x: ops.where(x < 1.0, 2 * x, 1 / x), np.zeros(1))
    assert slope == 2.0


# --- the laws, against JAX ------------------------------------------------------------------


def agree(jax, law, method, function, points):
    """At each point, tapes and JAX differ by the rounding of terms that cancel at most."""
    with jax.enable_x64(True):
        columns = jax.jit(
            jax.jacfwd(lambda x: jax.numpy.stack([1.0 * v for v in function(law, *x)]))
        )
        expected = np.array([columns(np.array(x)) for x in points])
    for x, exact in zip(points, expected, strict=True):
        found = np.array(differentiate(law, method, tuple(x), function=function)).T
        size = np.max(np.abs(exact * x), axis=1, keepdims=True) / np.abs(x)
        assert np.all(np.abs(found - exact) <= 8e-15 * size)


SENDER_LAWS = [
    sender_class(kind)(**({"rate": 1e6, "packet_size": 1500} if kind == "cbr" else {}))
    for kind in SENDERS
    if not sender_class(kind).only_in
]


@pytest.mark.parametrize("law", SENDER_LAWS, ids=lambda law: type(law).__name__)
def test_senders_have_the_slopes_that_jax_finds(law, rng, jax):
    size = len(law.states)

    def moved(law, *args):
        now, before, (p, rtt, rtt_before) = args[:size], args[size : 2 * size], args[2 * size :]
        if size == 1:
            now, before = now[0], before[0]
        rate = law.rate(now, before, p, rtt, rtt_before)
        return (*(rate if size > 1 else (rate,)), law.sending_rate_under(now, p, rtt))

    # An exponential of a price is rounded by so many times its last digit.
    highest = -0.5 if law.answers_at_once else 0.0
    points = []
    for _ in range(30):
        rtt, rtt_before, p = *rng.uniform(0.01, 0.3, 2), 10 ** rng.uniform(-4, highest)
        rest = np.array(law.at_rest(rtt, p)).ravel()
        around = (rest * rng.uniform(0.3, 3.0, size) for _ in range(2))
        points.append([*np.concatenate([*around]), p, rtt, rtt_before])
    agree(jax, law, "rate", moved, np.array(points))


QUEUE_LAWS = [
    *(pf.Pie(variant=v) for v in ("linux6.18", "rfc8033", "hpsr13")), pf.Pie(burst="150ms"),
    pf.Pi(), pf.Pi2(), pf.CoupledPi2(), pf.DualPi2(), pf.DualPi2(ramp="800us"),
    *(pf.Red(min=5, max=15, gentle=g, adaptive=a) for g in (True, False) for a in (True, False)),
    pf.Price(), pf.Rem(), pf.Rem(weight=0.3), pf.TailDrop(),
    pf.Avq(), pf.Avq(marking="overflow"),
]  # fmt: skip
GIVEN = pf.Imposed | pf.Injected
# Kinds that are not varied here come with their defaults.
_VARIED = {type(law) for law in QUEUE_LAWS}
QUEUE_LAWS += [
    cls()
    for cls in map(aqm_class, AQMS)
    if not cls.only_in and cls not in _VARIED and not issubclass(cls, PacketsOnly | GIVEN)
]


def test_no_queue_is_left_out():
    """What packets alone run has no fluid form, and of Imposed and Injected the law is given."""
    every = {law for law in map(aqm_class, AQMS) if not issubclass(law, PacketsOnly)}
    assert {type(law) for law in QUEUE_LAWS} == every - {pf.Imposed, pf.Injected}


@pytest.mark.parametrize("law", QUEUE_LAWS, ids=repr)
def test_queues_have_the_slopes_that_jax_finds(law, rng, jax):
    start = law.initial()
    n, bands = len(start), law.bands

    def moved(law, *args):
        state, delays, (arriving, capacity, trend) = args[:n], args[n:-3], args[-3:]
        delay = delays if bands == 2 else delays[0]
        seen = Seen(delay, sum(delays) * capacity, arriving, capacity, 20.0)
        found = (*law.drift(state, seen), *law.signals(state, seen), law.controller(state))
        if law.update_interval is None:
            return found
        found = (*found, *law.update(state, seen, law.update_interval))
        return found if bands == 2 else (*found, *law.flow(state, seen, trend))

    size = [25.0, 0.6] if isinstance(law, pf.Red) else [0.6] * n
    points = np.column_stack(
        [
            rng.uniform(0.01, 1.0, (30, n)) * size,
            rng.uniform(1e-4, 0.06, (30, bands)),
            rng.uniform(100.0, 2000.0, (30, 2)),
            rng.uniform(-0.5, 0.5, 30),
        ]
    )
    agree(jax, law, "update", moved, points)


# --- laws of one's own ----------------------------------------------------------------------

law = dataclasses.dataclass(frozen=True, eq=False, kw_only=True)


@law
class Own(pf.Sender):
    signal: ClassVar = "classic"
    bend: Any = quantity(0.5, "number")

    def grown(self, w):
        return 1.0

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        return self.grown(w) / rtt - self.bend * w * w_delayed / rtt_delayed * p_delayed

    def at_rest(self, rtt, p):
        return (self.bend * p) ** -0.5 + 0.0 * rtt


@law
class Branches(Own):
    def grown(self, w):
        return 0.5 * w if w > 4.0 else 0.25 * w


@law
class Bends(Own):
    def grown(self, w):
        return ops.namespace(w).tanh(w)


def slope(sender, w=5.0):
    from pi2_fluid.loop.linearization import rate_slopes

    return rate_slopes(sender, (w,), 0.01, 0.1)[0][0][0]


def test_a_law_may_branch_on_a_value():
    assert slope(Branches()) == pytest.approx(5.0 - 0.25, rel=1e-15)
    assert slope(Branches(), 3.0) == pytest.approx(2.5 - 0.15, rel=1e-15)


def test_arrays_in_a_law_broadcast():
    bend = np.array([0.1, 0.2, 0.5])
    np.testing.assert_allclose(slope(Own(bend=bend)), -0.5 * bend, rtol=1e-15)


@pytest.mark.slow
def test_a_law_with_other_functions_is_differentiated_by_jax_in_double_precision(jax):
    found = slope(Bends(), 1.0)
    assert float(found) == pytest.approx((1 - np.tanh(1.0) ** 2) / 0.1 - 0.05, rel=1e-13)
    assert jax.numpy.ones(1).dtype == np.float32


@law
class Counts(Own):
    def grown(self, w):
        return sum(w / (1 + step) for step in range(int(np.max(self.bend) * 4)))


def test_a_law_may_ask_for_its_own_numbers():
    assert slope(Counts(bend=0.5)) == pytest.approx(1.5 / 0.1 - 0.25, rel=1e-15)


def test_numbers_that_jax_traces_may_be_in_a_law(jax):
    with jax.enable_x64(True):
        found = jax.jit(lambda bend: slope(Own(bend=bend)))(0.3)
    assert float(found) == pytest.approx(-0.15, rel=1e-15)


@law
class Refusing(Own):
    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        if not self.bend < 1.0:
            raise pf.DomainError("bend is 1 or more: give less.")
        return super().rate(w, w_delayed, p_delayed, rtt, rtt_delayed)


def test_a_law_refuses_numbers_in_its_own_words():
    assert slope(Refusing(bend=0.5)) == pytest.approx(-0.25, rel=1e-15)
    with pytest.raises(pf.DomainError, match="give less"):
        slope(Refusing(bend=2.0))


@pytest.mark.slow
def test_a_branch_that_is_not_taken_leaves_no_trace_under_jax(jax):
    """At x = 0 both branches of a choice are evaluated, and one has an infinite slope there."""

    def line(x):
        return ops.where(x > 0.0, ops.sqrt(x) + 3.0 * x * x, x * x - 2.0 * x)

    function = by_jax(make_tape(line, ["x"]))
    with jax.enable_x64(True):
        for of, at_0, at_4 in (
            (jax.grad, -2.0, 24.25),
            (lambda f: jax.grad(jax.grad(f)), 2.0, 6.0 - 0.25 / 8.0),
            (lambda f: jax.jacfwd(jax.grad(f)), 2.0, 6.0 - 0.25 / 8.0),
        ):
            slope = jax.jit(jax.vmap(of(lambda x: function(x)[0])))
            np.testing.assert_allclose(slope(np.array([0.0, 4.0])), [at_0, at_4], rtol=1e-14)
        assert np.isnan(jax.grad(line)(0.0)), "what JAX makes of the same line"
