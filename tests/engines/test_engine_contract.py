"""What every engine promises, asked of all of them alike."""

from __future__ import annotations

import dataclasses
import importlib.util
import pickle
from typing import Any

import numpy as np
import pytest
from cached_kernel import why_no_kernel
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.engines.simulating import ENGINES
from pi2_fluid.results.schema import row_length, schema_of

FLOWS = (pf.Flows(pf.Reno(), 5, "60ms"), pf.Flows(pf.Scalable(), 3, "30ms", ecn=True))
SCENARIO = pf.Scenario("4s", pf.Link("10Mbit/s"), pf.CoupledPi2(), FLOWS)
ALONE = dataclasses.replace(SCENARIO, aqm=pf.Pi2(), flows=FLOWS[0])
ALL: dict[str, pf.Engine] = {
    "fluid in C": pf.Fluid(engine="c", tolerance=1e-6),
    "fluid in Python": pf.Fluid(engine="python", step="20ms"),
    "continuous fluid": pf.Fluid(update="continuous", tolerance=1e-6),
    "linear fluid": pf.Fluid(linear=True, step="20ms"),
    "fluid by acks": pf.Fluid(clock="acks", step="2ms"),
    "packets": pf.Packets(seeds=2),
    "ns-3": pf.Ns3(seeds=2),
    "Linux": pf.Linux(seeds=2),
}
#: What an engine is asked to run if it does not have the laws of `SCENARIO`.
OTHERS = {
    "ns3": dataclasses.replace(
        SCENARIO,
        aqm=pf.Pie(ecn=True),
        flows=(FLOWS[0], pf.Flows(pf.Dctcp(), 3, "30ms", ecn=True, name="scalable")),
    )
}
OTHERS["linux"] = dataclasses.replace(OTHERS["ns3"], link=pf.Link("10Mbit/s", kind="htb"))
UNITS = {
    "queue_delay": "s", "queue": "packets", "controller": "1", "p": "1", "p_prime": "1",
    "window": "segments", "throughput": "bit/s", "capacity": "bit/s",
}  # fmt: skip
BY_CLASS = {"p", "p_prime", "window", "throughput"}


@pytest.fixture(params=ALL)
def engine(request) -> Any:
    chosen = ALL[request.param]
    if chosen.name == "ns3" and importlib.util.find_spec("ns3") is None:
        pytest.skip("the wheel of ns-3 is not installed")
    if chosen.name == "linux" and (why := why_no_kernel()):
        pytest.skip(why)
    return chosen


@pytest.fixture
def scenario(engine) -> pf.Scenario:
    return OTHERS.get(engine.name, SCENARIO)


def test_each_engine_of_the_package_is_here() -> None:
    assert {type(engine) for engine in ALL.values()} == set(ENGINES.values())
    assert all(ENGINES[engine.name] is type(engine) for engine in ALL.values())


def test_schema_units_and_attributes(engine, scenario) -> None:
    result = pf.simulate(scenario, engine)
    schema = schema_of(result)
    for name, units in UNITS.items():
        variable = result[name]
        assert variable.attrs["units"] == units
        seeds = {"seed"} if schema.binned and name != "capacity" else set()
        assert set(variable.dims) == {"time", *seeds, *({"flows"} if name in BY_CLASS else ())}
        assert np.isfinite(variable).all()
    for variable in result.variables.values():
        assert variable.attrs["units"]
        assert variable.attrs["long_name"]
    assert {schema.waited, schema.signal} <= set(result.data_vars)
    assert result.flows.values.tolist() == ["reno", "scalable"]
    assert result.attrs["engine"] == engine.name
    assert result.attrs["scenario"] == scenario.to_toml()
    assert result.attrs["interrupted"] == 0
    assert {"not_modelled", "package_version", "created"} <= set(result.attrs)
    assert float(result.time[-1]) == pytest.approx(4.0, abs=row_length(result))
    summary = pf.summarize(result, after="1s")
    assert summary.attrs["engine"] == engine.name
    assert float(summary.utilization.mean()) > 0.0


@pytest.mark.slow
def test_rows_are_as_long_as_asked_for_unless_the_engine_says_so(engine, scenario) -> None:
    result = engine.with_rows(0.05).run(scenario)
    assert row_length(result) == pytest.approx(0.05, rel=1e-12)
    own = dataclasses.replace(engine, **{"bin" if schema_of(result).binned else "sample": "20ms"})
    assert own.with_rows(0.05) == own


@pytest.mark.slow
def test_it_is_deterministic_reports_its_progress_and_outlives_a_pickle(engine, scenario) -> None:
    again = pickle.loads(pickle.dumps(engine))
    assert again == engine
    assert hash(again) == hash(engine)
    assert repr(again) == repr(engine)
    told: list[tuple[float, float]] = []
    one, two = engine.run(scenario, lambda *part: told.append(part)), again.run(scenario)
    one.attrs["created"] = two.attrs["created"] = ""
    assert one.identical(two)
    assert told
    assert told == sorted(told)
    assert len({total for _, total in told}) == 1
    assert 0.0 <= told[0][0] <= told[-1][0] <= told[-1][1]


def test_it_can_be_interrupted(engine, scenario) -> None:
    def interrupt(*_: float) -> None:
        raise KeyboardInterrupt

    long = dataclasses.replace(scenario, duration="300s")
    try:
        result = engine.run(long, interrupt)
    except KeyboardInterrupt:
        return
    assert result.attrs["interrupted"] == 1


def test_what_it_cannot_do_it_says_before_it_starts(engine, scenario, monkeypatch) -> None:
    class Own(pf.Reno):
        pass

    def start(*_: Any, **__: Any) -> None:
        raise AssertionError("it ran")

    for place in (
        *("fluid.compiled.run_compiled", "fluid.fluid._run_python", "packet.packets._run_all"),
        *("ns3.ns3.run_seeds", "linux.linux.run_guests"),
    ):
        monkeypatch.setattr(f"pi2_fluid.engines.{place}", start)
    impossible = {
        "fluid": dataclasses.replace(ALONE, aqm=pf.CoDel()),
        "packet": dataclasses.replace(ALONE, flows=pf.Flows(Own(), 5, "60ms")),
        "ns3": ALONE,
        "linux": ALONE,
    }[engine.name]
    reason = engine.obstacle(impossible)
    assert reason.endswith(".")
    with pytest.raises(pf.UnsupportedError) as raised:
        pf.simulate(impossible, engine)
    assert str(raised.value) == reason
    assert engine.obstacle(scenario) == ""
    with pytest.raises(pf.ScenarioError):
        engine.run("pi2_fig11a_pi2")


def test_it_says_how_it_ran_and_what_only_it_knows(engine, scenario) -> None:
    result = engine.with_tolerance(1e-5).run(scenario)
    assert engine.way(result)
    assert set(engine.remarks(result)) <= set(result.attrs)
    assert set(result.attrs) - set(engine.remarks(result)) <= {
        "engine", "schema", "scenario", "not_modelled", "interrupted", "seed", "package_version",
        "created", "changes",
    }  # fmt: skip


def test_it_never_changes(engine) -> None:
    field = dataclasses.fields(engine)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(engine, field, None)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: pf.Fluid(update="delayed"), "update = 'delayed' is unknown"),
        (lambda: pf.Fluid(linear="yes"), "linear = 'yes' is unknown"),  # type: ignore[arg-type]
        (lambda: pf.Fluid(tolerance=1.0), "tolerance = 1"),
        (lambda: pf.Fluid(step="1ms", tolerance=1e-8), "give one"),
        (lambda: pf.Fluid(sample="0s"), "sample = '0s'"),
        (lambda: pf.Packets(seeds=0), "seeds = 0"),
        (lambda: pf.Packets(bin="5"), "bin = '5'"),
        (lambda: pf.Packets(threads=0), "threads = 0"),
        (lambda: pf.Packets(trace=-1), "trace = -1"),
    ],
)
def test_options_are_checked_when_it_is_made(make, reason) -> None:
    with refused((pf.QuantityError, pf.DomainError), match=reason):
        make()


def test_what_is_no_result_has_no_summary() -> None:
    result = pf.simulate(ALONE, pf.Fluid(tolerance=1e-6))
    with pytest.raises(pf.QuantityError, match="no result of an engine"):
        pf.summarize(result.drop_attrs())
    with pytest.raises(pf.QuantityError, match="engine = 'fluid' is no engine"):
        pf.simulate(ALONE, "fluid")  # type: ignore[arg-type]
