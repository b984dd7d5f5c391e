"""The tolerance governs the error: solvers against exact answers, and those of a third method.

Solvers that share their decisions cannot see each other's faults. The third method of
tests/shared/third_method.py shares none with them; first it is itself held to exact answers.
"""

from __future__ import annotations

import fluid_answers
import numpy as np
import pytest
import write_fluid_answers
from delay_problems import PROBLEMS, UP, by_steps
from fluid_answers import MOST, TOLERANCES
from third_method import Third

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.registry import AQMS, SENDERS, aqm_class, sender_class

pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.AssumptionWarning")

CASES = fluid_answers.cases()
EXACT = [name for name, problem in PROBLEMS.items() if problem.exact is not None]


# --- the third method itself


def third(name, **how):
    """What the third method finds of a problem, in parts of its scale."""
    case = CASES[name]
    delay, window = Third(case.scenario, case.update, initial=case.initial, **how).run(case.times)
    return fluid_answers.error(fluid_answers.answer(name, case), delay, window)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXACT)
def test_the_third_method_is_right(name):
    """To 1e-11 of the largest value: the tightest tolerance allows 3e-9."""
    assert third(name) < 1e-11


def test_polynomials_by_hand():
    assert by_steps(0.5) == 0.5
    assert by_steps(2.0) == -0.5
    # y(1 + s) = -s + s^2/2, hence y(2 + s) = -1/2 + s^2/2 - s^3/6
    assert by_steps(2.5) == pytest.approx(-0.5 + 0.5**2 / 2 - 0.5**3 / 6, abs=1e-15)


def test_the_third_method_has_a_high_order():
    """Its steps are of order 8, and its past of order 7, in steps of a part of the delay."""
    errors = [third("linear", tolerance=1e3, part=part) for part in (0.5, 0.25)]
    assert np.log2(errors[0] / errors[1]) > 6.0
    assert errors[1] > 1e-14


@pytest.mark.slow
def test_delays_that_the_queue_makes_are_those_that_were_meant():
    """D = 1 + |y| all along, though only D' = |y|' was put in."""
    problem = PROBLEMS["longer by |y|"]
    times = np.arange(6, 100) * (problem.duration / 100)
    delay, window = Third(problem.scenario, initial=problem.initial).run(times)
    found, meant = problem.base_rtt + delay[:, 0], 1.0 + np.abs(window[:, 0] - UP)
    np.testing.assert_allclose(found, meant, rtol=1e-11)


# --- its answers


CHEAP = [
    "blood cells",
    "heart",
    "predators",
    "pi2, load and capacity, continuous",
    "pi, reno, sampled",
    "price, paganini, continuous",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", CHEAP)
def test_answers_are_current(name):
    """As the tool writes them, to what their own error allows."""
    case = CASES[name]
    kept = fluid_answers.answer(name, case)
    anew = write_fluid_answers.answer(case)
    assert fluid_answers.error(kept, anew["delay"], anew["window"]) <= 2.0 * kept.off + 1e-12


@pytest.mark.parametrize("name", fluid_answers.kept_cases())
def test_answers_are_better_than_what_is_asked(name):
    """A fifth of what the tightest tolerance allows."""
    assert 0.0 < fluid_answers.answer(name, CASES[name]).off < 0.2 * MOST * min(TOLERANCES)


def test_every_law_is_asked_that_has_a_fluid():
    scenarios = fluid_answers.scenarios().values()
    queues = {type(case.scenario.aqm) for case in scenarios}
    senders = {type(flows.sender) for case in scenarios for flows in case.scenario.flows}
    left = {sender_class(kind) for kind in SENDERS} - senders
    assert all(sender.only_in for sender in left)
    for queue in {aqm_class(kind) for kind in AQMS} - queues:
        if not queue.only_in:
            with pytest.raises(UnsupportedError, match="neither fluid nor loop"):
                queue().initial()


def test_misses_are_of_what_is_asked():
    assert set(fluid_answers.misses()) <= set(fluid_answers.asked())


# --- the solvers


def rows():
    for name, way, wanted in fluid_answers.asked():
        marks = [pytest.mark.slow] if way.startswith("python") else []
        known = fluid_answers.misses().get((name, way, wanted))
        if known is not None:
            marks.append(pytest.mark.xfail(strict=True, reason=f"{known[1]}: {known[0]:g}"))
        yield pytest.param(name, way, wanted, marks=marks)


@pytest.mark.parametrize(("name", "way", "wanted"), list(rows()))
def test_the_tolerance_governs_the_error(name, way, wanted):
    """At most 30 times the tolerance; of steps of a fixed length, the order is four."""
    try:
        value, enough = fluid_answers.measured(name, way, wanted)
    except UnsupportedError as refusal:
        pytest.skip(str(refusal))
    assert enough, f"{value:g}"
