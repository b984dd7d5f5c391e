"""What the compiled engine promises by the ack clock: the oracle's numbers, to rounding.

The oracle is the Python engine. The compiled one does the same operations in the same order, so
that rows at the ends of steps are the same numbers, and what lies between them is off by rounding.
Only p' that is given (`Imposed`) is summed in another order. Delays are compared in seconds: they
are differences of times, which are as large as the duration.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid import _core
from pi2_fluid.engines.fluid.acks import compiled, integration
from pi2_fluid.engines.fluid.acks.integration import Integrator
from pi2_fluid.engines.fluid.beginning import begin
from pi2_fluid.engines.fluid.trace import empty_rows
from pi2_fluid.laws import programs

# Some loads are of no network.
pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.AssumptionWarning")

LINK = pf.Link("10Mbit/s", "40000 packets")
RENO = pf.Flows(pf.Reno(), 10, "60ms", name="reno")
AVOIDING = dataclasses.replace(RENO, slow_start=False)
L4S = pf.Flows(pf.Scalable(), 5, "30ms", start=0.3, name="scalable")
PI2 = pf.Pi2(drop_at="dequeue")
BEGUN = {"window": [40.0, 50.0], "queue": 10.0, "controller": 0.05}
GIVEN = pf.Sines(0.1, [0.01], [5.0])


def scenario(aqm: Any, *flows: pf.Flows, link: Any = LINK, changes: Any = (), duration=1.5) -> Any:
    return pf.Scenario(duration, link, aqm, flows, changes)


CASES: dict[str, pf.Scenario] = {
    "slow start": scenario(PI2, RENO),
    "signals on arrival": scenario(pf.Pi2(), AVOIDING, pf.Flows(pf.Cubic(), 3, "30ms", start=0.5)),
    "backlog measured": scenario(pf.Pi2(variant="pi2-2016"), AVOIDING),
    "coupled": scenario(pf.CoupledPi2(), AVOIDING, L4S),
    "dual queue": scenario(pf.DualPi2(), AVOIDING, L4S, link=pf.Link("40Mbit/s", "40000 packets")),
    "dual queue, both wait": scenario(
        pf.DualPi2(ramp="400us", drop_at="enqueue", variant="rfc9332"),
        RENO,
        dataclasses.replace(L4S, count=15),
        link=pf.Link("4Mbit/s", 100),
    ),
    "given": scenario(
        pf.Imposed(queue=pf.DualPi2(), p_prime=GIVEN, hold="15ms"), AVOIDING, L4S, duration=0.8
    ),
    "counts of what has no window": scenario(
        PI2,
        AVOIDING,
        pf.Flows(pf.Cbr(rate="1Mbit/s", thinned=False), 1, "40ms", name="calls"),
        changes=[pf.Change("0.2s", counts={"calls": 4}), pf.Change("0.6s", counts={"calls": 2})],
        duration=0.8,
    ),
    "counts": scenario(
        PI2,
        dataclasses.replace(AVOIDING, count=4),
        link=pf.Link("5Mbit/s", "40000 packets"),
        changes=[
            pf.Change(at, counts={"reno": n}) for at, n in ((0.4, 9), (0.7, 3), (1, 0), (1.2, 4))
        ],
    ),
    "capacity": scenario(
        pf.Pi(),
        AVOIDING,
        pf.Flows(pf.CReno(), 3, "40ms", stop=1.2),
        changes=[pf.Change(0.5, "2Mbit/s"), pf.Change(1.0, "12Mbit/s")],
    ),
    "full buffer": scenario(PI2, dataclasses.replace(RENO, count=5), link=pf.Link("10Mbit/s", 50)),
    "flood": scenario(
        PI2,
        pf.Flows(pf.Cbr(rate="12Mbit/s", thinned=False), start_jitter=0.3),
        AVOIDING,
        link=pf.Link("10Mbit/s", 150),
    ),
    "thinned": scenario(pf.Pie(), pf.Flows(pf.Cbr(rate="4Mbit/s"), start=0.2, stop=1.0), RENO),
    "cohorts": scenario(PI2, dataclasses.replace(RENO, start_jitter=0.5), duration=0.8),
    "begun": scenario(
        PI2, AVOIDING, pf.Flows(pf.Cubic(), 5, "80ms"), link=pf.Link("50Mbit/s", "40000 packets")
    ),
}


ARRIVING = pf.Pi2()


def over(
    *extra: pf.Flows, queues: Any = (PI2, ARRIVING), buffer: int = 40000, **options: Any
) -> Any:
    """Two bottlenecks: one class over both and one over each, and others."""
    capacities = ("30Mbit/s", "24Mbit/s")
    nodes = [
        pf.Node(name, pf.Link(capacity, buffer), aqm)
        for name, capacity, aqm in zip("ab", capacities, queues, strict=True)
    ]
    jitter = options.pop("start_jitter", 0.0)
    flows = [
        pf.Flows(pf.Reno(), 6, "80ms", "long", route=("a", "b"), hops=("5ms", "10ms")),
        pf.Flows(pf.CReno(), 5, "40ms", "near", route="a", hops="4ms"),
        pf.Flows(pf.Reno(), 8, "60ms", "far", route="b"),
    ]
    late = [dataclasses.replace(flow, start_jitter=jitter) for flow in flows]
    network = pf.Network(nodes, [*late, *extra], combine=options.pop("combine", "product"))
    return pf.Scenario(options.pop("duration", 1.5), network=network, **options)


BOTH: Any = {"route": ("a", "b"), "start": 0.2}
# The second hop is shorter than a step, so that a step looks into itself.
NEAR = pf.Flows(pf.Scalable(), 4, "50ms", "l4s", hops=("3ms", "0.7ms"), **BOTH)
BACK = pf.Flows(pf.Scalable(), 4, "50ms", "back", route=("b", "a"), hops=("5ms", "10ms"))
STEADY = pf.Flows(pf.Cbr(rate="4Mbit/s"), 2, "40ms", "steady", stop=1.1, **BOTH)
FLOOD = pf.Flows(pf.Cbr(rate="16Mbit/s", thinned=False), 2, "40ms", "flood", **BOTH)
DUAL = pf.DualPi2()
ROUTES: dict[str, pf.Scenario] = {
    "two bottlenecks": over(),
    "added signals": over(combine="sum", queues=(ARRIVING, PI2)),
    "no hops": over(pf.Flows(pf.Reno(), 3, "30ms", "at once", **BOTH)),
    "short hops": over(NEAR, queues=(pf.CoupledPi2(), pf.CoupledPi2(drop_at="dequeue"))),
    "two dual queues": over(NEAR, BACK, queues=(DUAL, DUAL)),
    "dual on arrival": over(
        NEAR, BACK, queues=(pf.DualPi2(drop_at="enqueue"), DUAL), combine="sum"
    ),
    "dual and single": over(NEAR, queues=(DUAL, pf.CoupledPi2())),
    "thinned": over(STEADY, queues=(pf.Pie(), pf.Pi())),
    "full buffers": over(FLOOD, buffer=60),
    "full dual buffers": over(NEAR, BACK, FLOOD, queues=(DUAL, DUAL), buffer=60),
    "schedule": over(
        changes=[
            pf.Change(0.5, counts={"long": 10, "far": 2}),
            pf.Change(0.8, capacity="12Mbit/s", link="b"),
            pf.Change(1.0, counts={"long": 3, "near": 0}),
        ]
    ),
    # Later a last digit of a capacity is a tenth of a packet here, by either engine.
    "cohorts": over(start_jitter=0.4, duration=0.5),
}


def run(case: pf.Scenario, engine: str, **options: Any) -> Any:
    return pf.simulate(case, pf.Fluid(clock="acks", engine=engine, **options))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_compiled_engine_is_the_oracle_to_rounding(name: str) -> None:
    case = CASES[name]
    agree(name, case, BEGUN if name == "begun" else None)


@pytest.mark.slow
@pytest.mark.parametrize("name", ROUTES)
def test_so_it_is_over_routes(name: str) -> None:
    agree(name, ROUTES[name])


@pytest.mark.slow
def test_so_it_is_from_where_links_rest() -> None:
    case = over()
    agree("rest", case, pf.equilibrium(case.network))
    dual = over(NEAR, queues=(DUAL, DUAL))
    agree("rest", dual, {"window": [20.0] * 4, "queue": {"b": 15.0}, "controller": {"b": 0.05}})


def agree(name: str, case: pf.Scenario, initial: Any = None) -> None:
    """Ask both engines."""
    # Rows between ticks and at ticks.
    options: Any = {"sample": "1.6ms", "step": "2ms", "initial": initial}
    python, c = (run(case, engine, **options) for engine in ("python", "c"))
    assert (python.attrs["compiled"], c.attrs["compiled"]) == (0, 1)
    for variable in python.data_vars:
        values = python[variable].to_numpy()
        # Rates are differences of counts over a step that may be short.
        rates = ("throughput", "link_throughput", "offered")
        tolerance = 1e-9 if variable in rates else 1e-12
        if name == "cohorts":
            # From 3.12 on, Python's `sum` carries the rounding of floats along, the compiled
            # engine's does not; a last digit at the start is 3e-11 of a full queue by the end,
            # and 1e-9 of a window just halved.
            tolerance = 1e-8
        scale = max(1.0, float(np.nanmax(np.abs(values))))
        np.testing.assert_allclose(
            c[variable], values, rtol=0.0, atol=tolerance * scale, err_msg=str(variable)
        )


def counted(case: pf.Scenario, step: float, initial: Any = None) -> tuple[Integrator, Any]:
    """The oracle's counts at the end, and the compiled engine's."""
    made = [
        Integrator(case, step, None if initial is None else begin(case, initial)) for _ in range(2)
    ]
    made[0].run()
    run = _core.AcksRun(*compiled.pack(made[1]))
    end = np.array([float(case.duration)])
    assert run.advance(end, 0, 10**9, *empty_rows(case, 1)) == (1, "done")
    return made[0], run


@pytest.mark.parametrize(
    "case",
    [
        *(CASES[name] for name in ("full buffer", "dual queue, both wait", "thinned")),
        *(ROUTES[name] for name in ("full buffers", "full dual buffers", "thinned")),
    ],
)
def test_every_packet_that_was_sent_is_somewhere(case: pf.Scenario) -> None:
    oracle, run = counted(case, 4e-3)
    counts = {key: np.array(values) for key, values in run.counts().items()}
    assert run.steps == len(oracle.times) - 2
    np.testing.assert_allclose(counts["sent"], [s.sent[-1] for s in oracle.sources], rtol=1e-12)
    visits = [passage for way in oracle.passages for passage in way]
    for name, mine in (
        ("came", [p.came[-1] for p in visits]),
        ("left", [p.out.passed[-1] for p in visits]),
    ):
        np.testing.assert_allclose(counts[name], mine, rtol=1e-12)
    lines = [line for link in oracle.links for line in link.lines]
    for line, arrived, lost in zip(lines, counts["arrived"], counts["lost"], strict=True):
        came = sum(passage.came[-1] for passage in line.passages)
        real = sum(passage.real[-1] for passage in line.passages)
        assert lost == pytest.approx(came - real, rel=1e-12, abs=1e-9)
        assert arrived + lost == pytest.approx(came, rel=1e-13)
        assert line.served[-1] + line.queue == pytest.approx(arrived, rel=1e-13)


def test_what_is_under_way_and_waits_is_the_windows() -> None:
    # At rest nobody is silent, so that the two are the same to rounding.
    rest = pf.equilibrium(CASES["begun"].network)
    initial = {"window": [float(w) for w in rest.window], "queue": float(rest.queue)}
    _, run = counted(CASES["begun"], 2e-3, initial | {"controller": float(rest.controller)})
    counts = run.counts()
    c = pf.simulate(
        CASES["begun"], pf.Fluid(clock="acks", engine="c", initial=rest, step=2e-3, sample=1.5)
    )
    for i, flow in enumerate(CASES["begun"].flows):
        under_way = counts["sent"][i] - counts["acked"][i]
        assert under_way == pytest.approx(flow.count * float(c.window[-1, i]), rel=1e-9)


def test_the_past_is_forgotten() -> None:
    case = dataclasses.replace(CASES["capacity"], duration=30.0, changes=())
    run = _core.AcksRun(*compiled.pack(Integrator(case, None, None)))
    rows = empty_rows(case, 2)
    kept, place, status = 0, 0, "more"
    while status == "more":
        place, status = run.advance(np.array([0.0, 30.0]), place, 1000, *rows)
        kept = max(kept, run.kept)
    assert status == "done"
    assert run.steps > 20_000
    # The longest path, or how long packets wait, and as much again, in steps of a millisecond.
    assert 50 < kept < 2000


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("_MOST_BYTES", "past that fits into memory"),
        ("_MOST_STEPS", "more than 1000 steps of at most"),
    ],
)
def test_limits_are_named(monkeypatch: Any, limit: str, said: str) -> None:
    monkeypatch.setattr(compiled, limit, 1000)
    flood = pf.Flows(pf.Cbr(rate="20Mbit/s", thinned=False))
    with refused(pf.SolverError, said):
        run(scenario(PI2, flood, link=pf.Link("10Mbit/s", "40000 packets"), duration=9.0), "c")


def test_the_oracle_keeps_no_more_than_fits(monkeypatch: Any) -> None:
    monkeypatch.setattr(integration, "MOST_KEPT", 200)
    with refused(pf.SolverError, "needs more than 100 steps of at most 0.00125 s"):
        run(scenario(PI2, RENO), "python")


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Eager(pf.Reno):
    """A law of one's own."""

    kernel: ClassVar = None

    def acked(self, x: Any, acks: Any, marks: Any, rtt: Any) -> Any:
        return 2.0 * acks / x, self.decrease * x * marks


@pytest.mark.parametrize("change", [{"state": [math.nan]}, {"cutting": math.nan}])
def test_what_is_no_number_ends_the_run(change: dict[str, Any]) -> None:
    arguments: Any = list(compiled.pack(Integrator(CASES["slow start"], 1e-3, None)))
    arguments[2] = [arguments[2][0] | change]
    kernel = _core.AcksRun(*arguments)
    rows = [np.zeros(2) for _ in range(7)]
    assert kernel.advance(np.array([0.0, 1.0]), 0, 10_000, *rows) == (1, "not finite")


def test_laws_of_ones_own_are_compiled_if_they_are_operations_on_numbers() -> None:
    own = scenario(PI2, dataclasses.replace(RENO, sender=Eager()), duration=0.3)
    assert run(own, "auto").attrs["compiled"] == 1
    rounded = scenario(PI2, dataclasses.replace(RENO, sender=Rounded()), duration=0.3)
    assert run(rounded, "auto").attrs["compiled"] == 0
    with refused(pf.UnsupportedError, "Rounded, of which no tape can be made", "as float"):
        run(rounded, "c")


class Rounded(Eager):
    def acked(self, x: Any, acks: Any, marks: Any, rtt: Any) -> Any:
        return super().acked(float(x), acks, marks, rtt)


class Divides(Eager):
    def acked(self, x: Any, acks: Any, marks: Any, rtt: Any) -> Any:
        return acks / 0.0, 0.0


class NoNumber(Eager):
    def acked(self, x: Any, acks: Any, marks: Any, rtt: Any) -> Any:
        return math.nan * acks, 0.0


class Unclipped(pf.Pi2):
    """A controller whose probability leaves [0, 1]."""

    kernel: ClassVar = None

    def saturate(self, state: Any) -> Any:
        return (state[0] + 2.0,)


@pytest.mark.parametrize(
    ("sender", "said"),
    [
        (Divides(), r"Divides\.acked raises ZeroDivisionError \(.*\) at W = 4, R = .*, t = .* s:"),
        (NoNumber(), r"NoNumber\.acked returns no finite number at W = 4, R = .*, t = .* s:"),
    ],
)
def test_what_is_no_number_names_law_and_state(sender: Any, said: str) -> None:
    flows = dataclasses.replace(RENO, sender=sender, initial_window=4.0, slow_start=False)
    with pytest.raises(pf.SolverError, match=said):
        run(scenario(PI2, flows, duration=0.3), "python")


def test_signals_are_probabilities() -> None:
    with pytest.raises(pf.DomainError, match=r"Unclipped signals classic packets with p = "):
        run(scenario(Unclipped(), RENO, duration=0.3), "python")


@pytest.mark.parametrize("sender", [pf.Dctcp(), pf.TimeoutReno()])
@pytest.mark.parametrize("engine", ["auto", "c", "python"])
def test_both_refuse_the_same(engine: str, sender: Any) -> None:
    name, why = type(sender).__name__, "does not say what one acknowledgement does"
    with refused(pf.UnsupportedError, name, why):
        run(scenario(PI2, dataclasses.replace(RENO, sender=sender)), engine)


def test_progress_is_told_and_may_stop_it() -> None:
    told: list[float] = []

    def stop(done: float, duration: float) -> None:
        told.append(done / duration)
        if len(told) > 2:
            raise KeyboardInterrupt

    long = dataclasses.replace(CASES["begun"], duration=2000.0)
    with pytest.raises(KeyboardInterrupt):
        pf.Fluid(clock="acks").run(long, stop)
    assert 0.0 < told[0] < told[1] < told[2] < 0.5


NODES, CLASSES, CHANGES, ORDER, VISIT, LIMITS = 1, 2, 3, 4, -1, 7


@pytest.mark.parametrize(
    ("place", "change", "sentence"),
    [
        (NODES, {"aqm": pf.TailDrop()}, "taildrop does not hold what it signals"),
        (NODES, {"capacity": 0.0}, "node 0 capacity is not above 0"),
        (LIMITS, {"step": 1.0}, "shortest path"),
        (LIMITS, {"step": 0.06}, "shortest path"),
        (CLASSES, {"law": pf.Dctcp()}, "dctcp has no form"),
        (CHANGES, [(0.5, 0, math.nan)], "the capacity of a change is not above 0"),
        (CHANGES, [(0.5, 1, 1e3)], "a change is of no node"),
        (CLASSES, {"copied": 7}, "no class has the number"),
        (CLASSES, {"count": 0.0}, "no flows"),
        (CLASSES, {"unheard": 1}, "knows no 'unheard'"),
        (CLASSES, {"visits": []}, "visits is empty"),
        (VISIT, {"band": 1}, "outside"),
        (VISIT, {"node": 1}, "outside"),
        (VISIT, {"hop": math.nan}, "hop is not finite"),
        (ORDER, [0], "another length"),
        (ORDER, [1, 1], "not all classes and nodes once"),
        (ORDER, [1, 0], "before what comes to it"),
    ],
)
def test_the_kernel_refuses_what_it_cannot_run(place: int, change: Any, sentence: str) -> None:
    arguments: Any = list(compiled.pack(Integrator(CASES["slow start"], 1e-3, None)))
    if place == VISIT:
        (visit,), place = arguments[CLASSES][0]["visits"], CLASSES
        change = {"visits": [visit | change]}
    elif "aqm" in change:
        change = {"aqm": programs.queue_program(change["aqm"], continuous=False)}
    elif "law" in change:
        change = {"law": programs.sender_program(change["law"])}
    if place in {NODES, CLASSES}:
        change = [arguments[place][0] | change]
    arguments[place] = arguments[place] | change if place == LIMITS else change
    with pytest.raises(ValueError, match=sentence):
        _core.AcksRun(*arguments)
