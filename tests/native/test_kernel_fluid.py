"""The compiled engine by itself: beginnings, samples, order, interruptions and what it refuses.

That its numbers are those of its Python twin is in test_fluid_contract.py.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from pi2_fluid import _core
from pi2_fluid.engines.fluid import compiled
from pi2_fluid.engines.fluid.beginning import begin
from pi2_fluid.engines.fluid.oracle.integration import Accuracy, Run
from pi2_fluid.engines.fluid.oracle.plant import Plant
from pi2_fluid.engines.fluid.oracle.rows import trace_rows
from pi2_fluid.engines.fluid.timeline import Schedule
from pi2_fluid.engines.fluid.trace import Trace
from pi2_fluid.errors import SolverError
from pi2_fluid.laws.aqms.coupled import CoupledPi2
from pi2_fluid.laws.aqms.dualpi2 import DualPi2
from pi2_fluid.laws.aqms.pi2 import Pi2
from pi2_fluid.laws.aqms.taildrop import TailDrop
from pi2_fluid.laws.senders.cbr import Cbr
from pi2_fluid.laws.senders.cubic import Cubic
from pi2_fluid.laws.senders.reno import Reno
from pi2_fluid.laws.senders.scalable import Scalable
from pi2_fluid.network.changes import Change
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.link import Link
from pi2_fluid.network.scenario import Scenario

FIXED = Accuracy(0.02, 0.0)
ADAPTIVE = Accuracy(10.0, 1e-6)
SAMPLE = 0.017


def avoiding(sender: Any, count: float, base_rtt: str, **fields: Any) -> Flows:
    """Flows in congestion avoidance from the beginning."""
    fields = {"slow_start": False, "initial_window": 1.0} | fields
    return Flows(sender, count, base_rtt, **fields)


def scenario(
    aqm: Any, *flows: Flows, link: Link | None = None, changes: Any = (), duration: float = 4.0
) -> Scenario:
    return Scenario(duration, link or Link("10Mbit/s", "40000 packets"), aqm, flows, changes)


RENO = avoiding(Reno(), 10, "50ms", name="reno")
COUNTS = scenario(  # R' = 2 after the second change: the delayed time runs backwards
    Pi2(),
    RENO,
    changes=[Change(1.5, counts={"reno": 3}), Change(2.5, counts={"reno": 30})],
)
ONE_CLASS = scenario(Pi2(), RENO)
COUPLED = scenario(
    CoupledPi2(),
    avoiding(Reno(), 3, "20ms"),
    avoiding(Scalable(), 2, "20ms", name="scalable"),
    changes=[Change(1.5, counts={"scalable": 8}), Change(2.5, counts={"scalable": 0})],
)
TAILDROP = scenario(
    TailDrop(),
    Flows(Reno(), 3, "50ms"),
    Flows(Cbr(rate="2Mbit/s", thinned=True), start=1.0),
    link=Link("10Mbit/s", 40),
)
DUAL = scenario(
    DualPi2(step="2ms", ramp="2ms"),
    avoiding(Reno(), 3, "30ms"),
    avoiding(Scalable(), 2, "30ms"),
    link=Link("40Mbit/s", "40000 packets"),
    duration=1.2,
)


def times(scenario: Scenario) -> Any:
    return np.arange(0.0, float(scenario.duration), SAMPLE)


def in_c(scenario: Scenario, controller: str, accuracy: Accuracy, **how: Any) -> Trace:
    assert not compiled.obstacle(scenario, controller)
    return compiled.run_compiled(scenario, controller, accuracy, times(scenario), **how)


def python(scenario: Scenario, controller: str, accuracy: Accuracy, beginning: Any = None) -> Trace:
    plant = Plant(scenario, controller, beginning)
    schedule = Schedule(scenario, ticks=controller == "sampled")
    return trace_rows(plant, list(Run(plant, schedule, accuracy).follow(times(scenario))))


def assert_same(got: Trace, want: Trace, tolerance: float) -> None:
    for name in Trace._fields:
        a, b = getattr(got, name), getattr(want, name)
        if b is None:  # of several links
            assert a is None
            continue
        assert a.shape == b.shape, name
        assert np.isfinite(a).all(), name
        scale = np.abs(b).max(axis=0, initial=1e-9)  # of each class and queue
        worst = (np.abs(a - b) / scale).max()
        assert worst <= tolerance, f"{name} differs by {worst:.1e} of its largest value"


@pytest.mark.parametrize("controller", ["sampled", "continuous"])
@pytest.mark.parametrize(
    "initial", [{"window": [5.0, 8.0], "queue": 20, "controller": 0.1}, {"queue": 60}]
)
def test_a_given_beginning(controller: str, initial: dict[str, Any]):
    case = scenario(Pi2(), Flows(Reno(), 5, "50ms"), Flows(Cubic(), 3, "30ms"), duration=2.0)
    beginning = begin(case, initial)
    got = in_c(case, controller, FIXED, beginning=beginning)
    assert_same(got, python(case, controller, FIXED, beginning), 1e-10)
    assert got.queue[0, 0] == initial["queue"]


@pytest.mark.slow
def test_the_past_is_kept_as_far_back_as_delays_reach():
    """Hundreds of steps within a round-trip time, of which the oldest are forgotten on the way."""
    case = scenario(
        Pi2(),
        avoiding(Reno(), 10, "50ms", initial_window=4.0),
        avoiding(Reno(), 10, "20ms", initial_window=4.0),
        link=Link("10Mbit/s", 40),
        changes=Change(0.5, "5Mbit/s"),
        duration=0.8,
    )
    short = Accuracy(4e-4, 0.0)
    assert_same(in_c(case, "sampled", short), python(case, "sampled", short), 1e-10)


def test_samples_may_lie_anywhere():
    case = COUPLED
    coarse = in_c(case, "sampled", ADAPTIVE)
    some = [0.0, 0.0, 0.3, 0.3 + 1e-13, 2.5, 3.999]
    fine = compiled.run_compiled(case, "sampled", ADAPTIVE, sorted([*coarse.time, *some]))
    places = np.searchsorted(fine.time, coarse.time, side="right") - 1
    for got, want in zip(fine, coarse, strict=True):
        if want is not None:  # what is of several links
            np.testing.assert_allclose(got[places], want, rtol=1e-9, atol=1e-9)


def test_the_order_is_four():
    case = COUNTS
    reference = in_c(case, "continuous", Accuracy(10.0, 1e-12))
    errors = [
        np.abs(in_c(case, "continuous", Accuracy(step, 0.0)).queue - reference.queue).max()
        for step in (0.005, 0.0025, 0.00125)
    ]
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert orders.min() > 3.8, (errors, orders)


SOFT = scenario(  # settles slowly
    Pi2(alpha=0.02, beta=0.2), RENO, changes=Change(6.0, "12Mbit/s"), duration=12.0
)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6])
def test_steps_may_be_longer_than_a_delay(tolerance: float):
    """With errors below a tolerance, as with steps that never read themselves."""
    exact = in_c(SOFT, "continuous", Accuracy(0.04, 1e-12))
    scale = np.abs(exact.queue).max()
    errors, steps = [], []
    for longest in (12.0, 0.045):  # of 50 ms and more
        run = _core.RoutesRun(*compiled.pack(SOFT, "continuous", Accuracy(longest, tolerance)))
        rows = [np.empty((len(times(SOFT)), 1)) for _ in range(7)]
        assert run.advance(times(SOFT), 0, 10**6, *rows) == (len(rows[0]), "done")
        errors.append(np.abs(rows[0] - exact.queue).max() / scale)
        steps.append(run.steps)
    assert max(errors) < tolerance
    assert steps[0] < 0.8 * steps[1]


def test_the_twin_reads_itself_alike():
    case = dataclasses.replace(SOFT, duration=8.0)
    accuracy = Accuracy(8.0, 1e-5)
    assert_same(in_c(case, "continuous", accuracy), python(case, "continuous", accuracy), 1e-4)


def test_progress_and_interruption(monkeypatch: Any):
    case, seen = ONE_CLASS, []
    monkeypatch.setattr(compiled, "_STEPS", 50)
    in_c(case, "sampled", FIXED, progress=lambda done, end: seen.append((done, end)))
    done, end = np.transpose(seen)
    assert (end == case.duration).all()
    assert (np.diff(done) >= 0.0).all()
    assert done[0] < 1.0
    assert done[-1] >= times(case)[-1]

    def interrupt(done: float, end: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_c(case, "sampled", FIXED, progress=interrupt)


def test_errors_are_sentences(monkeypatch: Any):
    case = ONE_CLASS
    with pytest.raises(SolverError, match=r"took 101 steps to t = [\d.]+ s and came no further"):
        in_c(case, "sampled", Accuracy(0.01, 0.0, 100))
    packed = compiled.pack(case, "sampled", FIXED)
    unknown = [one | {"state": [np.nan]} for one in packed[2]]
    monkeypatch.setattr(compiled, "pack", lambda *_: (*packed[:2], unknown, *packed[3:]))
    with pytest.raises(SolverError, match=r"no longer finite at t = .* give a shorter step"):
        in_c(case, "sampled", FIXED)


def test_a_law_of_ones_own_is_not_taken_for_its_base():
    @dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
    class MyReno(Reno):
        def rate(self, x: Any, *past: Any) -> Any:
            return 2.0 * super().rate(x, *past)

    @dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
    class MyPi2(Pi2):
        pass

    @dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
    class Rounded(Reno):
        def rate(self, x: Any, *past: Any) -> Any:
            return super().rate(round(x), *past)

    for own in (
        scenario(Pi2(), RENO, avoiding(MyReno(), 1, "50ms")),
        scenario(MyPi2(), avoiding(MyReno(), 1, "50ms")),
    ):
        assert compiled.obstacle(own, "sampled") == ""
        assert_same(in_c(own, "sampled", FIXED), python(own, "sampled", FIXED), 1e-10)
    assert compiled.obstacle(scenario(Pi2(), avoiding(Rounded(), 1, "50ms")), "sampled") == (
        "Rounded, of which no tape can be made (a law asks for the value of a number that it is to"
        " compute with, as float() and math do: use + - * / ** and pi2_fluid.ops.),"
    )


def test_what_no_law_can_do_is_an_obstacle():
    dual = DUAL
    assert compiled.obstacle(dual, "continuous") == 'DualPi2 with update="continuous"'


def test_bad_arguments_are_refused():
    case = COUPLED
    packed = list(compiled.pack(case, "sampled", FIXED))
    rows = [np.zeros((3, k)) for k in (1, 1, 1, 1, 2, 2, 2)]
    start: Any = _core.RoutesRun
    run = start(*packed)
    with pytest.raises(ValueError, match=r"an array has 6 elements instead of 8"):
        run.advance(np.zeros(4), 0, 10, *(np.empty((4, 1)),) * 4, *rows[4:])
    with pytest.raises(TypeError):
        run.advance(np.zeros(3, np.float32), 0, 10, *rows)
    with pytest.raises(TypeError):
        run.advance(np.zeros(3), 0, 10, *[row.astype(np.float32) for row in rows])
    for place, value, message in [
        (1, [{"capacity": 1.0}], r"node 0 lacks 'buffer', 'aqm', 'update_interval', 'queues', 's"),
        (1, [packed[1][0] | {"queues": []}], r"node 0 queues takes 1 numbers, not 0"),
        (2, [packed[2][0] | {"signal": "loud"}], r"class 0 signal = 'loud' is unknown\."),
        (2, [packed[2][0] | {"rtt": 1.0}], r"class 0 knows no 'rtt'\."),
        (2, [packed[2][0] | {"law": "reno"}], r"class 0 law is no law of the kernel\."),
        (2, [], r"classes is empty"),
        (3, [packed[3][0] | {"counts": [1.0]}], r"change 0 takes 2 numbers, not 1"),
        (7, packed[7] | {"order": 4.0}, r"accuracy knows no 'order'\."),
    ]:
        with pytest.raises(ValueError, match=message):
            start(*packed[:place], value, *packed[place + 1 :])
    with pytest.raises(TypeError):
        start(*packed[:1], "coupled", *packed[2:])


def test_what_a_law_lacks_is_refused_by_the_kernel_too():
    dual = compiled.pack(DUAL, "continuous", FIXED)
    with pytest.raises(ValueError, match="dualpi2 has no continuous form"):
        _core.RoutesRun(*dual)
    duration, nodes, classes, *rest = compiled.pack(TAILDROP, "sampled", FIXED)
    thinned = [one | {"thinned": True} for one in classes]
    with pytest.raises(ValueError, match="reno cannot be thinned by taildrop"):
        _core.RoutesRun(duration, nodes, thinned, *rest)
