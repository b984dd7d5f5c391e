"""What flows answer to a p' that is given: against loops, against another simulator, by hand."""

from __future__ import annotations

import json
import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.comparison.response import sinusoids
from pi2_fluid.engines.packet import compiled

DATA = Path(__file__).parents[1] / "data" / "imposed_responses.json"
MEASURED: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))
OMEGA = [2.0, 3.3, 5.0, 9.5, 16.0, 21.5]
LINK = pf.Link("20Mbit/s", buffer=3000)
RENO = pf.Flows(pf.Reno(), 10, "50ms", initial_window=14, slow_start=False)
SMALL = pf.Scenario("20s", LINK, pf.Pi2(), RENO)
#: Of `SMALL`: quick, and no better than it must be.
QUICK: dict[str, Any] = {"warmup": "5s", "amplitude": 0.1}


# Least squares


def test_sines_are_found_beside_a_trend(rng) -> None:
    t = np.arange(700) * 0.01 + 3.0
    omega, a = np.array([2.0, 5.0, 31.0]), np.array([[1.0 + 2.0j, 0.1], [-1.0j, 2.0], [0.5, 3.0j]])
    values = np.real(np.exp(1j * np.outer(t, omega)) @ a)
    trend = np.outer((t - 4.0) ** 2, [3.0, -7.0]) + 100.0
    np.testing.assert_allclose(sinusoids.amplitudes(t, values + trend, omega, 0.0), a, atol=1e-11)
    # the same of means over bins: the sine's own integral
    h = 0.05
    ends = np.exp(1j * np.outer(t + h, omega)) - np.exp(1j * np.outer(t - h, omega))
    means = np.real(ends / (2j * omega * h) @ a)
    np.testing.assert_allclose(sinusoids.amplitudes(t, means, omega, 2 * h), a, atol=1e-11)


def test_what_holding_makes_of_a_sine() -> None:
    omega, interval = 20.0, 0.03
    ticks = np.arange(4000)
    fine = np.exp(1j * omega * ticks * interval)
    # its Fourier coefficient, the integral of each step by hand
    step = (
        np.exp(-1j * omega * ticks * interval) * (1 - np.exp(-1j * omega * interval)) / (1j * omega)
    )
    mean = np.sum(fine * step) / (ticks.size * interval)
    assert complex(sinusoids.held(np.array([omega]), interval)[0]) == pytest.approx(mean, rel=1e-12)


# The fluid, whose response is that of the loop


def flows_at(point: Any, flows: Any) -> list[pf.Flows]:
    """Return the flows with windows that rest from the beginning."""
    rest = zip(flows, point.window, strict=True)
    return [replace(flow, initial_window=w, slow_start=False) for flow, w in rest]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("aqm", "flows"),
    [
        (pf.Pi2(), [pf.Flows(pf.Reno(), 10, "50ms")]),
        (pf.Pi2(), [pf.Flows(pf.Reno(), 10, "85ms"), pf.Flows(pf.CReno(), 10, "40ms")]),
        (pf.CoupledPi2(), [pf.Flows(pf.Reno(), 10, "85ms"), pf.Flows(pf.Scalable(), 10, "60ms")]),
        (pf.DualPi2(), [pf.Flows(pf.Reno(), 10, "85ms"), pf.Flows(pf.Scalable(), 5, "60ms")]),
    ],
    ids=["reno", "two paths", "coupled", "dual"],
)
def test_the_fluid_answers_as_the_loop_says(aqm: Any, flows: Any) -> None:
    """The loop's plant, L over its PI controller; what is left is of the order of the amplitude."""
    point = pf.equilibrium(flows, aqm, LINK.capacity)
    scenario = pf.Scenario("60s", LINK, aqm, flows_at(point, flows))
    found = pf.identify_response(
        scenario, OMEGA, pf.Fluid(), amplitude=1e-5, warmup="30s", hold_time="5s"
    )
    s = 1j * np.array(OMEGA)
    pi = (aqm.alpha / aqm.update_interval + (aqm.beta + aqm.alpha / 2) * s) / s
    loop = pf.Loop(flows, aqm, capacity=LINK.capacity, update="continuous", rtt_terms="exact")
    expected = -loop(s) / pi * point.controller
    delay = found.delay if aqm.bands == 1 else found.delay.sel(band="C")
    np.testing.assert_allclose(delay / expected, 1.0, rtol=0, atol=3e-5)
    assert float(found.p_prime) == pytest.approx(point.controller, rel=1e-4)
    np.testing.assert_allclose(found.window_mean, point.window, rtol=1e-3)
    if aqm.bands == 1:
        capacity = LINK.capacity / 12_000
        np.testing.assert_allclose(found.queue / capacity, found.delay, rtol=1e-9)
        # what arrives beyond the capacity is what the queue grows by
        share = found.rate_mean / found.rate_mean.sum()
        grown = s * found.queue.to_numpy() / capacity
        np.testing.assert_allclose((found.rate * share).sum("flows"), grown, rtol=0, atol=2e-5)
    assert np.isnan(found.delay_se).all()


@pytest.mark.slow
def test_amplitudes_scale() -> None:
    whole, half = (
        pf.identify_response(SMALL, [2.0, 9.5], pf.Fluid(), warmup="5s", amplitude=amplitude)
        for amplitude in ([2e-4, 1e-4], 1e-4)
    )
    np.testing.assert_allclose(whole.delay, half.delay, rtol=2e-3)
    assert whole.delay.dtype == np.complex128


# Packets


def measured_case(name: str, flows: int) -> tuple[dict[str, Any], pf.Scenario]:
    """Return what another simulator found of so many flows as it had, and a scenario of fewer."""
    settings = MEASURED[name]
    part = flows / sum(one["N"] for one in settings["classes"])
    classes = []
    for one in settings["classes"]:
        sender = pf.Reno() if one["kind"] == "reno" else pf.Scalable()
        paths = 10 if one["spread"] else 1
        for place in (np.arange(paths) + 0.5) / paths * 2.0 - 1.0:
            classes.append(
                pf.Flows(
                    sender, round(one["N"] * part / paths), one["b"] * (1 + one["spread"] * place),
                    initial_window=one["W"], slow_start=False, delayed_ack=False, ecn=True,
                    start_jitter="100ms",
                )
            )  # fmt: skip
    where: dict[str, Any] = {"target": settings["target"], "drop_at": "dequeue"}
    aqm = {
        "reno": pf.Pi2(ecn=True, **where),
        "coupled": pf.CoupledPi2(ecn=True, **where),
        "dual": pf.DualPi2(step="100ms", **where),
    }[name]
    link = pf.Link(settings["capacity"] * part * 12_000, buffer=100_000)
    return settings, pf.Scenario("60s", link, aqm, classes)


def of_band(found: Any, band: int) -> tuple[Any, Any]:
    """Return the window of all flows of a band, relative to its mean, and its standard error."""
    bands = found.band_of if "band_of" in found.coords else 0 * found.flow_count
    weight = (found.window_mean * found.flow_count).where(bands == band, 0.0)
    share = weight / weight.sum()
    error = np.sqrt(((found.window_se * share) ** 2).sum("flows"))
    return (found.window * share).sum("flows"), error


@pytest.mark.slow
@pytest.mark.parametrize("name", ["reno", "coupled", "dual"])
def test_packets_answer_as_those_of_another_simulator(name: str) -> None:
    recorded, scenario = measured_case(name, 200)
    rows = [row for row in recorded["rows"] if row["omega"] in {2.0, 3.3, 7.0, 9.5}]
    omega = np.array([row["omega"] for row in rows])
    response = pf.identify_response(
        scenario,
        omega,
        pf.Packets(seeds=4),
        amplitude=0.1,
        p_prime=recorded["p_prime"],
        warmup="20s",
    )
    assert float(response.p_prime) == pytest.approx(recorded["p_prime"], rel=0.03)
    dual = name == "dual"
    delay, error = (
        one.sel(band="C") if dual else one for one in (response.delay, response.delay_se)
    )

    def compare(ours: Any, own_error: Any, theirs: Any, their_error: Any) -> None:
        apart = np.abs(ours.to_numpy() - theirs)
        allowed = 3.0 * np.hypot(own_error, their_error) + 0.03 * np.abs(theirs)
        assert (apart <= allowed).all(), (apart / allowed.to_numpy()).round(2)
        assert (own_error / np.abs(theirs) < 0.2).all()

    def column(key: str) -> tuple[Any, Any]:
        numbers = np.array([row[key] for row in rows])
        return numbers[:, 0] + 1j * numbers[:, 1], numbers[:, 2]

    compare(delay, error, *column("delay"))
    # Theirs is the window to which a flow reduces; here it comes down over one round trip (PRR).
    window, apart = column("window")
    angle = 1j * omega * (0.085 + recorded["target"])
    reno = (1.0 - np.exp(-angle)) / angle
    if name != "coupled":
        compare(*of_band(response, 0), window * reno, apart)
    if dual:
        compare(*of_band(response, 1), *column("window_l4s"))


@pytest.mark.slow
def test_seeds_decide_and_scatter() -> None:
    once, again, other = (
        pf.identify_response(SMALL, [3.0, 7.0], pf.Packets(seeds=seeds), **QUICK)
        for seeds in ([1, 2], [1, 2], [3, 4])
    )
    assert once.drop_attrs().identical(again.drop_attrs())
    assert not np.array_equal(once.delay, other.delay)
    assert once.attrs["seed"] == "1, 2"
    assert once.attrs["engine"] == "packet"
    assert 'kind = "imposed"' in once.attrs["scenario"]
    one, two = (
        pf.identify_response(SMALL, [3.0, 7.0], pf.Packets(seeds=[seed]), **QUICK)
        for seed in (1, 2)
    )
    np.testing.assert_allclose(once.delay, (one.delay + two.delay) / 2, rtol=1e-12)
    np.testing.assert_allclose(once.delay_se, abs(one.delay - two.delay) / 2, rtol=1e-12)
    assert set(once.dims) == {"omega", "flows"}
    assert once.rate.dims == ("omega", "flows")


def test_an_interrupt_leaves_the_seeds_that_are_finished(monkeypatch) -> None:
    real, finished = compiled.run_packets, []

    def run(arguments: tuple[Any, ...], ended: Any, report: Any) -> Any:
        seed = arguments[5]
        while seed == 8 and not ended():
            time.sleep(0.01)
        found = real(arguments, ended, report)
        finished.append(seed)
        return found

    def interrupt(*_: float) -> None:
        if {5, 6, 7} <= set(finished):
            raise KeyboardInterrupt

    monkeypatch.setattr(compiled, "run_packets", run)
    engine = pf.Packets(seeds=[5, 6, 7, 8], threads=4)
    found = pf.identify_response(SMALL, [3.0], engine, progress=interrupt, **QUICK)
    assert found.attrs["interrupted"] == 1
    assert found.attrs["seed"] == "5, 6, 7"


# What is refused


@pytest.mark.parametrize(
    ("kind", "changed", "match"),
    [
        (pf.ScenarioError, {"scenario": "a scenario"}, "no Scenario"),
        (pf.QuantityError, {"frequencies": "2 rad/s"}, "frequencies = '2 rad/s'"),
        (pf.QuantityError, {"frequencies": 2.0}, r"frequencies = 2\.0 is no row of numbers"),
        (pf.QuantityError, {"frequencies": []}, r"frequencies = \[\] is an empty"),
        (pf.DomainError, {"frequencies": [2.0, -1.0]}, r"frequencies = -1\.0 is outside"),
        (pf.DomainError, {"frequencies": [2.0, 2.0]}, "are as little as 0 rad/s apart"),
        (pf.DomainError, {"frequencies": [2.0, 2.5]}, "as 0.5 rad/s apart.* leaves 37.7 s"),
        (pf.DomainError, {"frequencies": [0.1]}, r"15 s after the warmup are too short"),
        (pf.DomainError, {"amplitude": 0.6}, "amplitude = 0.6 of 2 sines is together 1.2 of"),
        (pf.DomainError, {"amplitude": -0.1}, "amplitude = -0.1 is outside"),
        (pf.QuantityError, {"amplitude": [0.1] * 3}, "neither one number nor 2"),
        (pf.DomainError, {"p_prime": 1.5}, r"p_prime = 1\.5 is outside"),
        (pf.DomainError, {"hold_time": 0.0}, r"hold_time = 0\.0 is outside"),
        (pf.DomainError, {"warmup": "1h"}, "too short"),
        (pf.QuantityError, {"engine": "packet"}, "engine = 'packet' is no"),
        (pf.DomainError, {"engine": pf.Packets(seeds=1, bin="1s")}, "bins of 1 s are longer than"),
        (pf.UnsupportedError, {"engine": pf.Ns3(seeds=1)}, "Imposed|ns-3"),
        (pf.UnsupportedError, {"scenario": replace(SMALL, aqm=pf.Pie())}, "Pie has no p' that can"),
    ],
)  # fmt: skip
def test_what_is_refused(kind: Any, changed: dict[str, Any], match: str) -> None:
    given = {"scenario": SMALL, "frequencies": [2.0, 5.0], "engine": pf.Fluid()} | QUICK | changed
    with refused(kind, match=match):
        pf.identify_response(**given)


def test_six_seeds_of_packets_are_usual(monkeypatch) -> None:
    ran = []

    def run(self: pf.Packets, *_: object) -> None:
        ran.append(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(pf.Packets, "run", run)
    with pytest.raises(KeyboardInterrupt):
        pf.identify_response(SMALL, [5.0], **QUICK)
    assert ran[0].seeds == 6
    # a bin is a twelfth of the period, in whole updates
    assert ran[0].bin == pytest.approx(0.104)
    assert math.isclose(2 * math.pi / 5.0 / ran[0].bin, 12.0, rel_tol=0.01)
