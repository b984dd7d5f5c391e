"""Laws as tapes: what a tape computes is what the law does, and its slopes are the law's."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pi2_fluid as pf
from pi2_fluid import ops
from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqms.qdisc import Qdisc
from pi2_fluid.laws.registry import AQMS, SENDERS, aqm_class, sender_class
from pi2_fluid.laws.tape import make_tape
from pi2_fluid.laws.tapes import (
    QUEUE_FUNCTIONS,
    SENDER_FUNCTIONS,
    kind_of,
    numbers_on_tape,
    tape_of,
)
from pi2_fluid.laws.trace import TraceError

#: What laws need that have no defaults.
NEEDED = json.loads((Path(__file__).parents[1] / "data" / "needed_numbers.json").read_text())

SENDERS_WITH_EQUATIONS = [
    cls(**NEEDED.get(kind, {})).on_link(1500.0)
    for kind in SENDERS
    if not (cls := sender_class(kind)).only_in
]
QUEUES_WITH_EQUATIONS = [
    cls(**NEEDED.get(kind, {}))
    for kind in AQMS
    if not (cls := aqm_class(kind)).only_in
    and kind not in ("imposed", "injected")  # of whose p' something is given over time
]


def draw(rng: np.random.Generator, name: str) -> float:
    if "rtt" in name or "delay" in name:
        return float(rng.choice([0.0, 0.01, 0.3], p=[0.1, 0.6, 0.3])) + 0.01 * rng.uniform()
    if name in {"signal_delayed", "state0", "u", "alpha", "alpha_delayed"}:
        return float(rng.uniform(0.0, 0.5))
    if name.endswith("backlogged"):
        return float(rng.choice([0.0, 1.0]))
    return float(np.exp(rng.uniform(0.0, 6.0)))


def functions() -> list[Any]:
    rows = []
    for law in [*SENDERS_WITH_EQUATIONS, *QUEUES_WITH_EQUATIONS]:
        for name in SENDER_FUNCTIONS if isinstance(law, pf.Sender) else QUEUE_FUNCTIONS:
            if name == "at_rest" and not law.overrides(name):
                continue  # it is solved for
            try:
                tape_of(law, name)
            except UnsupportedError as error:
                assert not isinstance(error, TraceError)  # noqa: PT017
                continue
            rows.append(pytest.param(law, name, id=f"{type(law).__name__}.{name}"))
    return rows


def call(law: Any, name: str, values: Any) -> list[Any]:
    table: Any = SENDER_FUNCTIONS if isinstance(law, pf.Sender) else QUEUE_FUNCTIONS
    result = table[name][1](law, *values)

    def flat(value: Any) -> list[Any]:
        return [x for part in value for x in flat(part)] if isinstance(value, tuple) else [value]

    return flat(result)


@pytest.mark.parametrize(("law", "name"), functions())
def test_a_tape_gives_what_its_law_gives(law: Any, name: str):
    tape = tape_of(law, name)
    numbers = numbers_on_tape(law, tape)
    bound = tape.bound(numbers)
    rng = np.random.default_rng(7)
    for _ in range(20):
        values = [draw(rng, name) for name in tape.inputs]
        with np.errstate(all="ignore"):
            expected = np.array(call(law, name, values), float)
        # The same operations in the same order; pow of floats may differ in the last bit.
        found = np.array(tape(*values, parameters=numbers), float)
        np.testing.assert_allclose(found, expected, rtol=1e-15, atol=0.0)
        np.testing.assert_array_equal(np.array(bound(*values), float), found)
        # A side that each comparison would take anyway changes nothing.
        sides = sides_of(tape, values, numbers)
        held = np.array(tape(*values, parameters=numbers, sides=sides), float)
        np.testing.assert_array_equal(held, found)


def sides_of(tape: Any, values: Any, numbers: Any) -> list[bool]:
    """By the definition: the first operand is less (less or equal, equal) than the second."""
    differences = np.array(tape.differences()(*values, parameters=numbers), float)
    answers = []
    for number, difference in enumerate(differences):
        code = tape.code(number)
        answers.append(
            difference == 0.0
            if code == "equal"
            else difference <= 0.0
            if code == "less_equal"
            else difference < 0.0
        )
    return answers


@pytest.mark.slow
@pytest.mark.parametrize(("law", "name"), functions())
def test_slopes_are_those_of_jax(law: Any, name: str):
    jax = pytest.importorskip("jax")
    tape = tape_of(law, name)
    if not tape.inputs:
        return
    numbers = numbers_on_tape(law, tape)
    slopes = tape.slopes(tape.inputs)
    rng = np.random.default_rng(3)
    values = [draw(rng, name) + 1e-3 for name in tape.inputs]
    rows = np.array(slopes(*values, parameters=numbers), float)
    with jax.enable_x64(True):
        by_jax = jax.jacfwd(
            lambda v: jax.numpy.stack([1.0 * x for x in tape(*v, parameters=numbers)])
        )(jax.numpy.array(values))
    np.testing.assert_allclose(
        rows.reshape(len(values), -1).T, np.array(by_jax), rtol=1e-12, atol=1e-15
    )


def test_one_tape_serves_all_laws_of_a_class_with_the_same_options():
    one, other = pf.Pi2(alpha=0.1, beta=1.0), pf.Pi2(alpha=0.7, beta=2.0)
    assert tape_of(one, "update") is tape_of(other, "update")
    assert tape_of(pf.Pie(), "flow") is not tape_of(pf.Pie(table="hpsr13"), "flow")


def test_classes_that_do_the_same_have_the_same_digest():
    class Renamed(pf.Reno):
        def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
            return 1.0 / rtt - self.decrease * x * x_delayed / rtt_delayed * signal_delayed

    class Halved(pf.Reno):
        def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
            return 0.5 / rtt - self.decrease * x * x_delayed / rtt_delayed * signal_delayed

    same = tape_of(Renamed(), "rate").digest == tape_of(pf.Reno(), "rate").digest
    values = (10.0, 8.0, 0.01, 0.1, 0.12)
    assert same == (
        [row[0] for row in tape_of(Renamed(), "rate").rows]
        == [row[0] for row in tape_of(pf.Reno(), "rate").rows]
    )
    assert tape_of(Halved(), "rate").digest != tape_of(Renamed(), "rate").digest
    assert tape_of(Renamed(), "rate")(*values, parameters=[0.5])[0] == pytest.approx(
        pf.Reno().rate(*values), rel=1e-15
    )


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Branching(pf.Sender):
    signal: ClassVar = "scalable"
    edge: float = 10.0

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        more = 0.0
        if w > self.edge and not p_delayed > 0.5:
            more = 0.1 * (w - self.edge)
        elif w <= 1 or w > 100:
            return 1 / rtt
        return 1 / rtt - (0.5 + more) * w_delayed / rtt_delayed * p_delayed


@pytest.mark.parametrize("w", [0.5, 5.0, 10.0, 50.0, 200.0])
@pytest.mark.parametrize("p", [0.1, 0.9])
def test_a_law_may_branch(w: float, p: float):
    law = Branching()
    tape = tape_of(law, "rate")
    values = (w, 7.0, p, 0.1, 0.12)
    assert tape(*values, parameters=numbers_on_tape(law, tape)) == (law.rate(*values),)


class ByValue(pf.Scalable):
    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        power = math.sqrt(float(self.per_mark))
        return 1.0 / rtt - power * x_delayed / rtt_delayed * signal_delayed


def test_a_law_that_asks_for_its_own_numbers_keeps_them_as_constants():
    tape = tape_of(ByValue(per_mark=0.25), "rate")
    assert not tape.parameters
    values = (10.0, 8.0, 0.01, 0.1, 0.12)
    assert tape(*values) == (ByValue(per_mark=0.25).rate(*values),)
    assert tape_of(ByValue(per_mark=0.81), "rate")(*values) != tape(*values)


class OfTheWindow(pf.Scalable):
    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        return math.sqrt(x) / rtt


class Endless(pf.Scalable):
    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        while x > 1.0:
            x = x - 1.0
        return x


@pytest.mark.parametrize(
    ("law", "why"), [(OfTheWindow(), "asks for the value"), (Endless(), "branches in more than")]
)
def test_what_is_no_line_of_operations_is_refused(law: Any, why: str):
    with pytest.raises(TraceError, match=why) as error:
        tape_of(law, "rate")
    assert f"{type(law).__name__}.rate" in str(error.value)


class Timed(pf.Sender):
    """Its second state is called as what `rate` is told."""

    signal: ClassVar = "scalable"
    states: ClassVar = ("window", "rtt")

    def initial(self, window):
        return (window, 0.1)

    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        return (1.0 / x[1] - x_delayed[0] * signal_delayed / rtt_delayed, rtt - x[1])


def test_a_state_may_be_called_as_an_argument():
    tape = tape_of(Timed(), "rate")
    assert len(set(tape.inputs)) == 7
    values = (10.0, 0.2, 9.0, 0.3, 0.01, 0.1, 0.12)
    assert tape(*values) == Timed().rate(values[:2], values[2:4], *values[4:])


def test_a_constant_keeps_its_sign_at_nothing():
    tape = make_tape(lambda x: (x * -0.0, -0.0), ["x"])
    assert [math.copysign(1.0, value) for value in tape(1.0)] == [-1.0, -1.0]


def test_numpy_may_be_used_instead_of_ops():
    def by_numpy(x, y):
        low = np.minimum(np.sqrt(x), np.float64(2.0) * y)
        return np.where(np.greater(x, 3.0), low, np.exp(-x)), np.clip(x, 1.0, 2.0)

    tape = make_tape(by_numpy, ["x", "y"])
    for x in (0.5, 1.5, 4.0):
        assert tape(x, 0.7) == tuple(float(value) for value in by_numpy(x, 0.7))


@pytest.mark.parametrize("sides", [None, [1, 1]])
def test_a_held_comparison_keeps_its_answer(sides):
    def law(x):
        return ops.where(x < 1.0, 2.0 * x, 3.0), ops.minimum(x, 5.0)

    tape = make_tape(law, ["x"])
    assert tape.sides == 2
    assert tape.differences()(7.0) == (6.0, 2.0)
    assert tape(7.0, sides=sides) == ((3.0, 5.0) if sides is None else (14.0, 7.0))
    assert tape(np.array([7.0]), sides=sides)[0] == tape(7.0, sides=sides)[0]


def test_part_of_a_tape_keeps_the_numbers_of_its_comparisons():
    tape = make_tape(lambda x: (abs(x), ops.maximum(x, 1.0)), ["x"])
    part = tape.only([1])
    assert part.sides == tape.sides == 2
    assert part(0.0, sides=[0, 1]) == (1.0,)
    assert part(3.0, sides=[0, 1]) == (1.0,)
    assert part.differences()(3.0) == (0.0, 2.0)
    assert not part.only([]).rows


def test_what_a_tape_depends_on():
    tape = tape_of(pf.Rem(), "drift and signals")
    # (price, queue before, arrivals since the update): only what is counted moves between updates.
    moved = [tape.depends(place, ["arrival_rate"]) for place in range(len(tape.outputs))]
    assert moved == [False, False, True, False, False]
    assert "queue_delay" not in tape_of(pf.Pi2(), "signals").reads
    assert "queue_delay" in tape_of(pf.Pi2(), "update").reads


@given(
    x=st.floats(0.1, 10.0),
    y=st.floats(-3.0, 3.0),
    order=st.permutations(range(8)),
)
@settings(max_examples=60, deadline=None)
def test_slopes_of_any_line_against_differences(x: float, y: float, order: list[int]):
    def small(u: Any) -> Any:  # lest numbers overflow
        return ops.expm1(0.1 * ops.minimum(u, 9.0))

    steps = [
        lambda u, v: (u + v, u),
        lambda u, v: (ops.exp(-ops.sqrt(1.0 + u * u)), v),
        lambda u, v: (u * v - 2.0, u / (3.0 + v * v)),
        lambda u, v: ((1.0 + u * u) ** 0.3, ops.log1p(v * v)),
        lambda u, v: (ops.where(u > v, u - v, u * 0.5), v),
        lambda u, v: (ops.minimum(u, v), ops.maximum(u, 2.0 * v)),
        lambda u, v: (abs(u) + ops.cbrt(v + 9.0), 1.5 ** (0.1 * ops.minimum(v, 40.0))),
        lambda u, v: (small(u), (2.0 + v * v) ** (2.0 * small(u)) - ops.log(3.0 + u * u)),
    ]

    def line(u: Any, v: Any) -> Any:
        for place in order:
            u, v = steps[place](u, v)
        return u, v

    tape = make_tape(line, ["u", "v"])
    np.testing.assert_allclose(tape(x, y), line(x, y), rtol=1e-14)
    step = 1e-6
    near = np.abs(tape.differences()(x, y))
    if np.any(near < 1e-4):  # a kink within the difference quotient's reach
        return
    slopes = np.array(tape.slopes(["u", "v"])(x, y)).reshape(2, 2)
    for place, (dx, dy) in enumerate([(step, 0.0), (0.0, step)]):
        ahead, behind = np.array(line(x + dx, y + dy)), np.array(line(x - dx, y - dy))
        quotient = (ahead - behind) / (2.0 * step)
        np.testing.assert_allclose(slopes[place], quotient, rtol=1e-5, atol=1e-7)


def test_second_slopes_are_slopes_of_slopes():
    tape = make_tape(lambda x, y: x**3.0 * ops.exp(y), ["x", "y"])
    first = tape.slopes(["x", "y"])
    second = first.slopes(["x", "y"])(2.0, 0.5)
    e = math.exp(0.5)
    np.testing.assert_allclose(second, [12.0 * e, 12.0 * e, 12.0 * e, 8.0 * e], rtol=1e-14)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (pf.Pi2(alpha=0.2), pf.Pi2(alpha=0.3, target="5ms"), True),
        (pf.Pi2(alpha=0.2), pf.Pi2(alpha=np.array([0.2, 0.3])), True),
        (pf.CoupledPi2(), pf.CoupledPi2(variant="hpe"), False),
        (pf.DualPi2(), pf.DualPi2(ramp="400us"), False),
        (pf.Reno(), pf.Reno(growth="per_ack"), False),
        (pf.Pi2(), pf.CoupledPi2(), False),
    ],
)
def test_laws_of_one_kind_share_their_tapes(one: Any, other: Any, same: bool):
    assert kind_of(one) is not None
    assert (kind_of(one) == kind_of(other)) is same
    name = "rate" if one.role == "sender" else "encode"
    assert (tape_of(one, name) is tape_of(other, name)) is same


def test_a_law_of_more_than_numbers_and_options_has_no_kind():
    law = Qdisc("cake", rtt="50ms")  # keeps pairs of key and value
    assert kind_of(law) is None


def test_numbers_of_laws_of_one_kind_stay_their_own():
    for law in (pf.Pi2(alpha=0.2), pf.Pi2(alpha=0.3)):
        tape = tape_of(law, "update")
        numbers = dict(zip(tape.parameters, numbers_on_tape(law, tape), strict=True))
        assert numbers["law.alpha"] == law.alpha
