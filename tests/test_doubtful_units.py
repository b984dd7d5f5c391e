"""A bare number of seconds that looks like milliseconds: taken as it is, with a question."""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.records.record import Record, keys_beside

#: Times of a run, and of a source that sends by turns, which may be as long as one likes.
FREE = {
    "at",
    "duration",
    "hold",
    "hold_time",
    "idle",
    "off",
    "on",
    "period",
    "start",
    "start_jitter",
    "stop",
    "times",
}


def records() -> list[type[Record]]:
    there = [getattr(pf, name) for name in pf.__all__]
    there += [getattr(pf.linux, name) for name in pf.linux.__all__]
    classes = [x for x in there if inspect.isclass(x) and issubclass(x, Record)]
    return [cls for cls in classes if not inspect.isabstract(cls)]


def times() -> Iterator[tuple[type[Record], str, dict[str, Any]]]:
    for cls in records():
        for field in dataclasses.fields(cls):
            for key in ("quantity", "quantities"):
                rule = field.metadata.get(key, {})
                if rule.get("dimension") == "time":
                    yield cls, field.name, rule


def test_every_time_of_a_record_says_up_to_where_a_bare_number_is_usual() -> None:
    found = list(times())
    assert len(found) > 25
    for cls, name, rule in found:
        assert np.isfinite(rule["usual"]) != (name in FREE), (cls.__name__, name)


def test_every_rate_of_a_record_says_from_where_a_bare_number_is_usual() -> None:
    found = {
        (cls.__name__, field.name): field.metadata["quantity"]["usual_from"] > 0.0
        for cls in records()
        for field in dataclasses.fields(cls)
        if field.metadata.get("quantity", {}).get("dimension") == "rate"
    }
    assert len(found) > 3
    # The ceiling of a law of windows is no link, and a trace is read from a file with its units.
    free = {("Paganini", "max_rate"), ("CapacityTrace", "capacities")}
    assert {key for key, said in found.items() if not said} <= free


NEEDED: dict[str, dict[str, Any]] = {
    "Flows": {"sender": pf.Reno(), "count": 1},
    "Red": {"min": 5, "max": 15},
    "Transfers": {"sender": pf.Reno(), "size": pf.Fixed(9), "idle": "1s"},
    "Imposed": {"p_prime": 0.1},
    "Injected": {"added": "0.0 + 0.001 sin(2 t)"},
    "Link": {"capacity": "1Gbit/s"},
}


def make(cls: type[Record], name: str, value: object) -> None:
    """Make a record with one field; whatever else is wrong with it, the number is read first."""
    with suppress(pf.QuantityError, pf.DomainError, pf.ScenarioError):
        cls(**NEEDED.get(cls.__name__, {}) | {name: value})


@pytest.mark.parametrize(
    ("cls", "name", "usual"), [(c, n, r["usual"]) for c, n, r in times() if np.isfinite(r["usual"])]
)
def test_a_bare_number_beyond_asks_what_is_meant(
    cls: type[Record], name: str, usual: float
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for value in (usual, f"{4 * usual:g}s", timedelta(seconds=4 * usual), f"{usual:g}ms"):
            make(cls, name, value)
    for value in (4 * usual, int(4 * usual), np.float64(4 * usual)):
        with pytest.warns(pf.AssumptionWarning, match=f"{name}.* did you mean '{4 * usual:g}ms'"):
            make(cls, name, value)


REFUSALS = (pf.QuantityError, pf.DomainError, pf.UnsupportedError, pf.SolverError)
LOAD = {"p_prime": 0.1}
FLOWS = pf.Flows(pf.Reno(), 5, "50ms")
CALLS: dict[str, tuple[Any, str]] = {
    "Loop": (lambda: pf.Loop(pf.Reno(), pf.Pi2(), rtt=100, **LOAD), "rtt = 100 is 100 s"),
    "an array": (lambda: pf.Loop(pf.Reno(), pf.Pi2(), rtt=[0.1, 50.0], **LOAD), "rtt = 50 is 50 s"),
    "equilibrium_of": (
        lambda: pf.equilibrium_of(pf.Reno(), pf.Pi2(), rtt=np.array([30.0]), **LOAD),
        "rtt = 30",
    ),
    "Pi2": (lambda: pf.Pi2(target=20), "Pi2 target = 20 is 20 s: did you mean '20ms'?"),
    "replace": (lambda: dataclasses.replace(pf.Pi2(), target=20), "Pi2 target = 20 is"),
    "Flows": (lambda: pf.Flows(pf.Reno(), 5, 50), "Flows base_rtt = 50 is 50 s"),
    "tune": (lambda: pf.tune(100), "max_rtt = 100 is 100 s: did you mean '100ms'?"),
    "Link": (lambda: pf.Link(20), "Link capacity = 20 is 20 bit/s: did you mean '20Mbit/s'?"),
    "Change": (lambda: pf.Change("1s", capacity=4), "Change capacity = 4 is 4 bit/s"),
    "Cbr": (lambda: pf.Cbr(rate=2.5), "Cbr rate = 2.5 is 2.5 bit/s"),
    "flows on a link": (
        lambda: pf.Loop(FLOWS, pf.Pi2(), capacity=100),
        "capacity = 100 is 100 bit/s: did you mean '100Mbit/s'?",
    ),
    "tune on a link": (lambda: pf.tune("100ms", rate=20), "rate = 20 is 20 bit/s"),
    "rates": (lambda: pf.margin_map(pf.Pi2(), rtts=[0.1], rates=[20, 50]), "rates = 20 is"),
    "target": (lambda: pf.tune("100s", target=15), "target = 15"),
    "check": (lambda: pf.check("tc qdisc add dev e root pie", rtt=100, hz=250), "rtt = 100"),
    "margin_map": (lambda: pf.margin_map(pf.Pi2(), rtts=[100], rates="1Mbit/s"), "rtts = 100"),
    "coexistence": (lambda: pf.coexistence(rtts=20, load=0.1), "rtts = 20 is"),
    "low_load": (lambda: pf.loop.low_load(pf.Reno(), pf.Pi2(), 100), "rtt = 100"),
    "rtt_limit": (lambda: pf.loop.rtt_limit(0.3125, 3.125, 32), "update_interval = 32"),
    "tc_max_rtt": (lambda: pf.presets.rfc9332(100), "max_rtt = 100"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_functions_ask_once(name: str) -> None:
    call, said = CALLS[name]
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with suppress(*REFUSALS):
            call()
    asked = [one for one in heard if "did you mean" in str(one.message)]
    assert len(asked) == 1, [str(one.message) for one in heard]
    assert said in str(asked[0].message)
    assert asked[0].filename == __file__


def test_a_slow_link_that_has_a_unit_or_is_given_in_bits_is_not_asked() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rate in ("20bit/s", "1kbit/s", 10e3, 9600 * 2, np.float64(64e3)):
            pf.Link(rate)
            pf.Cbr(rate=rate)


def test_what_had_a_unit_is_not_asked_again_within() -> None:
    scenario = pf.Scenario(
        "90s", pf.Link("1Mbit/s"), pf.Pi2(target="6s"), pf.Flows(pf.Reno(), 1, "20s")
    )
    loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt="1s", p_prime=0.1)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        pf.Scenario.from_toml(scenario.to_toml())
        pf.sweep(loop, {"rtt": ["20s", "30s"], "aqm.target": ["6s"]}, progress=False, workers=1)
        dataclasses.replace(scenario, duration="80s")
        keys_beside(pf.linux.Qdisc("cake", rtt="900ms"))
    assert not [one for one in heard if "did you mean" in str(one.message)]
    with pytest.warns(pf.AssumptionWarning, match="did you mean '9ms'"):
        pf.linux.Qdisc("fq_codel", target=9)
