"""A queue to whose p' something is added while its controller runs on: both clocks, packets."""

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

SINES = pf.Sines(0.0, [0.01, 0.005], [2.0, 5.0], [0.0, 1.0])
LINK = pf.Link("20Mbit/s", buffer=10_000)
RENO = pf.Flows(pf.Reno(), 10, "50ms", initial_window=14, slow_start=False)
QUEUES = {
    "pi": pf.Pi(),
    "pie": pf.Pie(burst="0s"),
    "pi2": pf.Pi2(),
    "coupled": pf.CoupledPi2(),
    "dual": pf.DualPi2(),
}
every_queue = pytest.mark.parametrize("queue", QUEUES.values(), ids=QUEUES)


def scene(queue: pf.PiFamily, added: Any = SINES, duration: float = 3.0) -> pf.Scenario:
    return pf.Scenario(duration, LINK, pf.Injected(queue=queue, added=added), RENO)


def test_sines_around_nothing() -> None:
    t = np.linspace(0.0, 7.0, 50)
    expected = 0.01 * np.sin(2.0 * t) + 0.005 * np.sin(5.0 * t + 1.0)
    np.testing.assert_allclose(SINES(t), expected, rtol=0, atol=1e-16)
    assert pf.Sines.parse(str(SINES)) == SINES
    assert SINES.lowest == -SINES.highest == pytest.approx(-0.015, rel=1e-15)


@pytest.mark.slow
@every_queue
def test_the_compiled_fluid_is_the_law_in_python(queue: pf.PiFamily) -> None:
    case = scene(queue, duration=1.2)
    assert compiled.obstacle(case, "sampled") == ""
    c, python = (
        pf.fluid.simulate(case, engine=engine, tolerance=1e-12) for engine in ("c", "python")
    )
    for name in ("controller", "queue_delay", "window", "p"):
        np.testing.assert_allclose(c[name], python[name], rtol=1e-10, atol=1e-13, err_msg=name)


@every_queue
def test_packets_without_a_signal_are_the_queue_itself(queue: pf.PiFamily) -> None:
    nothing = scene(queue, added=lambda t: 0.0)
    alone = replace(nothing, aqm=replace(queue, first_update=queue.update_interval))
    one, other = (pf.packet.simulate(case, seeds=1) for case in (nothing, alone))
    np.testing.assert_array_equal(one.controller, other.controller)
    np.testing.assert_array_equal(one.departures, other.departures)


@every_queue
def test_packets_add_what_is_said(queue: pf.PiFamily) -> None:
    """A step at an update, of which the controller knows nothing: the next value is higher."""
    step = 0.02
    width = float(queue.update_interval)
    at = round(2.0 / width) * width

    def added(t: float) -> float:
        return step * (t >= at - 1e-6)

    still, moved = (
        pf.packet.simulate(scene(queue, given), seeds=1, bin=width).controller[0].to_numpy()
        for given in (lambda t: 0.0, added)
    )
    k = round(at / width)  # the row before the update at its end, and the one after it
    np.testing.assert_array_equal(still[:k], moved[:k])
    assert moved[k] - still[k] == pytest.approx(step, rel=1e-6)


@every_queue
def test_it_is_text(queue: pf.PiFamily) -> None:
    case = scene(queue)
    assert pf.Scenario.from_toml(case.to_toml()) == case
    assert pickle.loads(pickle.dumps(case)) == case
    assert 'added = "0.0 + 0.01 sin(2.0 t + 0.0) + 0.005 sin(5.0 t + 1.0)"' in case.to_toml()


def test_it_updates_as_its_queue() -> None:
    assert pf.Injected(queue=pf.Pie(), added=SINES).update_interval == 0.015
    other = pf.Injected(queue=pf.Pie(), added=SINES, update_interval="8ms")
    assert other.queue.update_interval == other.update_interval == 0.008
    assert pf.Injected(queue=pf.DualPi2(), added=SINES).in_one_queue().bands == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (pf.Injected, "Injected added = None is no signal: give Sines"),
        (lambda: pf.Injected(added=0.1), r"Injected added = 0\.1 is no signal"),
        (lambda: pf.Injected(added="loud"), "'loud' is no sum of sines"),
        (lambda: pf.Injected(added=lambda t: math.nan), "added = nan at 0 s is no number that p'"),
        (lambda: pf.Injected(added=SINES, queue=pf.CoDel()), "has no PI controller to whose p'"),
        (
            lambda: pf.Injected(added=SINES, queue=pf.Pi2(arithmetic="fixed", alpha=0.25)),
            "arithmetic = 'fixed', to whose integers",
        ),
        (
            lambda: pf.Injected(added=SINES, queue=pf.Pie(table="sqrt2p")),
            "gains that follow a curve",
        ),
        (
            lambda: pf.Injected(added=SINES, queue=pf.CoupledPi2(k=[1.0, 2.0])),
            "CoupledPi2 k is an array",
        ),
        (lambda: pf.Imposed(p_prime=SINES), r"falls to -0\.015, which is no probability"),
    ],
)
def test_what_cannot_be_given(make: Any, message: str) -> None:
    with refused((pf.DomainError, pf.QuantityError, pf.UnsupportedError), match=message):
        make()


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
    with refused(pf.UnsupportedError, match="Injected"):
        ask(pf.Injected(queue=queue, added=SINES))
