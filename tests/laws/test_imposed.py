"""A queue whose p' is given: it signals that, in the fluid as in packets, and nothing else."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.engines.fluid import compiled
from pi2_fluid.engines.packet.laws import discipline_of

SINES = pf.Sines(0.1, [0.01, 0.02], [2.0, 5.0], [0.0, 1.0])
LINK = pf.Link("20Mbit/s", buffer=10_000)
RENO = pf.Flows(pf.Reno(), 10, "50ms", initial_window=14, slow_start=False)
ECN = replace(RENO, ecn=True)
BOTH = [RENO, pf.Flows(pf.Scalable(), 10, "40ms", initial_window=10, slow_start=False)]


def step_at_1(t: float) -> float:
    return 0.05 + 0.05 * (t >= 1.0)


def scene(flows: Any = RENO, duration: float = 3.0, **fields: Any) -> pf.Scenario:
    imposed = pf.Imposed(**{"p_prime": SINES, "update_interval": "4ms"} | fields)
    return pf.Scenario(duration, LINK, imposed, flows)


CASES = {
    "constant": scene(p_prime=0.1),
    "sines": scene(),
    "function": scene(p_prime=step_at_1),
    "held": scene(hold="10ms", hold_time="5s"),
    "clipped": scene(p_prime=0.02, hold="2ms", hold_time="20ms"),
    "coupled": scene(BOTH, queue=pf.CoupledPi2(k=1.5)),
    "dual": scene(BOTH, queue=pf.DualPi2(), p_prime=0.3, hold="10ms"),
    "dual, a ramp": scene(BOTH, queue=pf.DualPi2(ramp="1ms", variant="rfc9332"), hold="5ms"),
}  # fmt: skip
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


# What is given


def test_sines_are_what_they_say() -> None:
    t = np.linspace(0.0, 7.0, 50)
    expected = 0.1 + 0.01 * np.sin(2.0 * t) + 0.02 * np.sin(5.0 * t + 1.0)
    np.testing.assert_allclose(SINES(t), expected, rtol=1e-15)
    assert SINES(0.7) == pytest.approx(0.1 + 0.01 * math.sin(1.4) + 0.02 * math.sin(4.5))
    assert pf.Sines.parse(str(SINES)) == SINES
    assert pf.Sines(0.1, [], []) == pf.Sines.parse("0.1")
    assert pf.Sines(0.1, [0.01], [2.0]) == pf.Sines.parse("0.1 + 0.01 sin(2 t)")
    assert SINES.highest == pytest.approx(0.13, rel=1e-15)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pf.Sines(0.1, [0.01], [2.0, 3.0]), "Sines has 1 amplitudes, 2 frequencies and 2"),
        (lambda: pf.Sines(0.1, [0.06, 0.05], [2.0, 3.0]), "together above the mean, 0.1"),
        (lambda: pf.Sines(0.1, [0.01, 0.01], [2.0, 2.0]), "has one of them twice"),
        (lambda: pf.Sines(0.1, 0.01, 2.0), "amplitudes = 0.01 is no sequence"),
        (lambda: pf.Sines(0.1, [0.01], [-2.0]), r"Sines frequencies = -2\.0 is outside"),
        (lambda: pf.Sines(0.1, [0.01], [2.0], [math.inf]), "phases has inf, no angle"),
        (lambda: pf.Sines(-0.1, [], []), r"Sines mean = -0\.1 is outside"),
        (lambda: pf.Sines.parse("0.1 + sin(t)"), "is no sum of sines"),
        (pf.Imposed, "Imposed p_prime = None is no number"),
        (lambda: pf.Imposed(p_prime=1.5), r"Imposed p_prime = 1\.5 is outside \[0, 1\]"),
        (lambda: pf.Imposed(p_prime=pf.Sines(0.9, [0.2], [1.0])), "rises to 1.1, which is no prob"),
        (lambda: pf.Imposed(p_prime=lambda t: -1.0), r"p_prime = -1\.0 at 0 s is no probability"),
        (lambda: pf.Imposed(p_prime=lambda t: "much"), "p_prime = 'much' at 0 s is no probability"),
        (lambda: pf.Imposed(p_prime=0.0, hold="10ms"), "p_prime is 0 at first"),
        (lambda: pf.Imposed(p_prime=0.1, queue=pf.Pie()), "has no p' that can be given: give Pi2"),
        (lambda: pf.Imposed(p_prime=0.1, queue="pi2"), "queue = 'pi2' has no p' that can be given"),
        (
            lambda: pf.Imposed(p_prime=0.1, queue=pf.CoupledPi2(k=[1.0, 2.0])),
            "CoupledPi2 k is an array",
        ),
        (lambda: pf.Imposed(p_prime="loud"), "p_prime = 'loud' is not one number"),
        (lambda: pf.Imposed(p_prime=0.1, update_interval=None), "update_interval = None is no num"),
    ],
)
def test_what_cannot_be_given(make: Any, message: str) -> None:
    with refused((pf.DomainError, pf.QuantityError), match=message):
        make()


def test_a_function_that_leaves_the_probabilities_is_refused_when_it_is_run() -> None:
    case = scene(p_prime=lambda t: 0.1 * t, duration=11.0)
    for run in (pf.fluid.simulate, pf.packet.simulate):
        with pytest.raises(pf.DomainError, match=r"p_prime = 1\.0\d* at 10\.\d* s is no probab"):
            run(case)


# Engines


@pytest.mark.slow
@every_case
def test_the_compiled_fluid_is_the_law_in_python(case: pf.Scenario) -> None:
    assert compiled.obstacle(case, "sampled") == ""
    short = replace(case, duration=1.2)
    # At the default a rounding decides about one step of the dual queue's ramp: 6e-10 then, within
    # what the tolerance allows.
    c, python = (
        pf.fluid.simulate(short, engine=engine, tolerance=1e-12) for engine in ("c", "python")
    )
    for name in ("controller", "queue_delay", "window", "p"):
        np.testing.assert_allclose(c[name], python[name], rtol=1e-11, atol=1e-13, err_msg=name)


def test_the_fluid_sees_what_is_given() -> None:
    run = pf.fluid.simulate(CASES["sines"])
    t = run.time.to_numpy()
    np.testing.assert_allclose(run.controller[1:], SINES(t[1:]), rtol=0, atol=1e-15)
    np.testing.assert_allclose(run.p[1:, 0], SINES(t[1:]) ** 2, rtol=0, atol=1e-15)
    assert run.controller[0] == 0.0
    run = pf.fluid.simulate(CASES["function"])
    np.testing.assert_allclose(run.controller.sel(time=[0.5, 2.0], method="nearest"), [0.05, 0.1])


@pytest.mark.parametrize("name", ["sines", "coupled", "dual, a ramp"])
def test_packets_see_what_is_given(name: str) -> None:
    case = CASES[name]
    law: Any = case.aqm
    free = pf.Scenario(3.0, LINK, pf.Imposed(**vars(law) | {"hold": None}), case.flows)
    runs = pf.packet.simulate(free, seeds=1, bin="40ms")
    # the row is as at the end of its bin, where an update comes after it
    t = runs.time.to_numpy()[1:-1] - 0.004
    np.testing.assert_allclose(runs.controller[0, 1:-1], SINES(t), rtol=0, atol=1e-9)
    assert float(runs["count"].sel(cause=["mark_aqm", "drop_aqm"]).sum()) > 0.0


def test_packets_are_signalled_as_often_as_is_said() -> None:
    case = scene(duration=60.0, p_prime=0.1, queue=pf.Pi2(ecn=True), flows=ECN)
    run = pf.packet.simulate(case, seeds=1)
    counts = run["count"].sel(seed=1, flows="reno")
    sent = float(counts.sel(cause="delivered"))
    marked = float(counts.sel(cause="mark_aqm"))
    # a queue of less than two packets is not signalled, so none is where it runs empty
    assert marked / sent == pytest.approx(0.01, rel=0.08)


def test_the_delay_is_held() -> None:
    """At a p' that is off by 20 %, which left alone gives a delay of 13 instead of 6 ms."""
    case = scene(p_prime=0.1, hold="15ms", hold_time="20s", duration=60.0)
    loose, held = (
        float(pf.fluid.simulate(one).queue_delay[-1000:].mean())
        for one in (scene(p_prime=0.1, duration=60.0), case)
    )
    assert held == pytest.approx(0.015, rel=1e-3)
    assert abs(loose - 0.015) > 0.005
    packets = pf.packet.simulate(case, seeds=1).queue_delay[0, 300:].mean()
    assert float(packets) == pytest.approx(0.015, rel=0.1)


def test_digits_do_not_depend_on_pushes_of_zero() -> None:
    """A constant p' is the queue with a controller that never moves, from the first update on."""
    case = scene(p_prime=0.1)
    name, numbers = discipline_of(case.aqm, LINK)
    assert name == "pi2"
    assert numbers["alpha"] == numbers["beta"] == 0.0
    assert case.aqm.pushes(3.0)[0] == 0.1
    assert not case.aqm.pushes(3.0)[1:].any()
    assert pf.Pi2().pushes(3.0).size == 0


# Text, and who refuses it


def test_it_is_text() -> None:
    for case in CASES.values():
        if callable(case.aqm.p_prime) and not isinstance(case.aqm.p_prime, pf.Sines):
            with pytest.raises(
                pf.UnsupportedError, match=r"p_prime = .* is a function, which TOML"
            ):
                case.to_toml()
        else:
            assert pf.Scenario.from_toml(case.to_toml()) == case
        assert pickle.loads(pickle.dumps(case)) == case
    text = CASES["dual, a ramp"].to_toml()
    assert '[aqm.queue]\nkind = "dualpi2"\nramp = "1ms"' in text
    assert 'p_prime = "0.1 + 0.01 sin(2.0 t + 0.0) + 0.02 sin(5.0 t + 1.0)"' in text
    with pytest.raises(pf.ScenarioError, match=r"\[aqm\.queue\] step is unknown for kind = 'pi2'"):
        pf.Scenario.from_toml(text.replace("dualpi2", "pi2").replace("ramp", "step"))
    with pytest.raises(pf.QuantityError, match=r"\[aqm\] p_prime is missing"):
        pf.Scenario.from_toml(CASES["constant"].to_toml().replace("p_prime = 0.1\n", ""))


@pytest.mark.parametrize(
    "ask",
    [
        lambda law: pf.Loop(pf.Reno(), law, rtt="100ms", p=0.02),
        lambda law: pf.Loop(RENO, law, capacity="20Mbit/s"),
        lambda law: pf.equilibrium(RENO, law, "20Mbit/s"),
        lambda law: pf.fluid.simulate(pf.Scenario(3, LINK, law, RENO), update="continuous"),
        lambda law: pf.fluid.simulate(pf.Scenario(3, LINK, law, RENO), linear=True),
        lambda law: pf.fluid.batch(pf.Scenario(3, LINK, law.in_one_queue(), RENO), {}, engine="c"),
    ],
)
@pytest.mark.parametrize("queue", [pf.Pi2(), pf.DualPi2()], ids=["pi2", "dualpi2"])
def test_what_it_has_not(ask: Any, queue: Any) -> None:
    with refused(pf.UnsupportedError, match="Imposed"):
        ask(pf.Imposed(queue=queue, p_prime=0.1, hold="15ms"))
