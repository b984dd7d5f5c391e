"""The compiled plant by the ack clock, and its sums over aliases, against those of arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import pi2_fluid as pf
from pi2_fluid import _core
from pi2_fluid.loop.acks.compiled import compiled_plants
from pi2_fluid.loop.acks.plant import AckLoop, delay_response
from pi2_fluid.loop.acks.sampled import sum_all
from pi2_fluid.loop.response import plant_response
from pi2_fluid.loop.sampled import alias_sum

patient = settings(deadline=None, max_examples=20)  # a loaded machine is no reason to fail
pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")


@dataclass(frozen=True, eq=False, kw_only=True)
class PacedReno(pf.Reno):
    paced: ClassVar[bool] = True


@dataclass(frozen=True, eq=False, kw_only=True)
class BluntScalable(pf.Scalable):
    """One that cuts at once."""

    reduction: ClassVar[str] = "at once"


CAPACITY = "1Gbit/s"
SENDERS = [pf.Reno(), pf.CReno(), pf.Cubic(), pf.Scalable(), PacedReno(), BluntScalable()]
flows = st.builds(
    pf.Flows,
    st.sampled_from(SENDERS),
    count=st.integers(1, 20),
    base_rtt=st.floats(0.01, 0.3),
)
queues = st.builds(
    lambda law, **numbers: law(**numbers),
    st.sampled_from([pf.CoupledPi2, pf.DualPi2]),
    target=st.sampled_from(["1ms", "15ms"]),
    update_interval=st.floats(0.004, 0.05),
    drop_at=st.sampled_from(["enqueue", "dequeue"]),
)


@st.composite
def loops(draw: st.DrawFn) -> AckLoop:
    """Of one to five classes in one queue or two, with all that the ack clock asks about."""
    senders, queue = draw(st.lists(flows, min_size=1, max_size=5)), draw(queues)
    options: dict[str, Any] = {
        "clock": "acks",
        "rtt_terms": draw(st.sampled_from(["frozen", "exact"])),
        "bunch": draw(st.sampled_from([0.0, 0.3, 1.0])),
    }
    classic = pf.Flows(pf.Reno(), 5, "50ms")  # without which the other queue rules
    try:
        linear = pf.Loop([classic, *senders], queue, capacity=CAPACITY, **options).linear
    except pf.UnsupportedError:  # L4S traffic fills its queue, too
        reject()
    measures = draw(st.sampled_from(["head", "backlog"]))
    return replace(linear, measures=measures, echoing=draw(st.booleans()))


@pytest.mark.slow
@patient
@given(loop=loops(), angle=st.floats(0.3, 1.4))
def test_it_is_the_plant_of_arrays(loop, angle) -> None:
    """Up to near pi/T, where harmonics may be, and beside the axis, where poles of echoes are."""
    end = angle if loop.dual else np.pi / 2
    s = np.geomspace(1e-2, 0.997, 37) * np.exp(1j * np.linspace(angle, end, 37))
    s *= np.pi / float(loop.controller.interval)
    assert compiled_plants(loop) is not None
    np.testing.assert_allclose(plant_response(loop, s), delay_response(loop, s), rtol=1e-12)
    np.testing.assert_allclose(alias_sum(loop, s, None), sum_all(loop, s), rtol=1e-12)


@pytest.mark.parametrize("sender", [*SENDERS, pf.Prague()], ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("shape", [(3, 1), (2, 3, 1), (3,), (1, 1)], ids=str)
def test_arrays_of_loops_are_summed_too(sender, shape) -> None:
    """Along axes of their own, and beside points that lie along these."""
    rtt = np.linspace(0.03, 0.2, np.prod(shape)).reshape(shape)
    load = np.linspace(0.3, 0.02, shape[0]).reshape(-1, *(1,) * (len(shape) - 1))
    queue = pf.CoupledPi2()
    options: dict[str, Any] = {"clock": "acks", "rtt_terms": "exact"}
    linear = pf.Loop(sender, queue, rtt=rtt, p_prime=load, **options).linear
    T = np.full(shape, 0.01)
    T.flat[-1] = 0.02
    linear = replace(linear, controller=replace(linear.controller, interval=T))
    assert compiled_plants(linear) is not None
    s = 1j * np.geomspace(0.1, 100.0, 7)
    points = [s[:1], s.reshape(-1, 1, 1, 1), 1j * rtt]
    for at in (*points, s) if shape[-1] == 1 else points:
        found = alias_sum(linear, at, None)
        assert found.shape == np.broadcast_shapes(at.shape, shape)
        np.testing.assert_allclose(found, sum_all(linear, at), rtol=1e-12)


def test_what_it_does_not_take() -> None:
    """Laws of more states than there is room for are left to NumPy."""
    options: dict[str, Any] = {"rtt": "100ms", "p_prime": 0.1, "clock": "acks"}
    linear = pf.Loop(pf.Cubic(), pf.Pi2(), **options).linear
    assert compiled_plants(linear) is not None
    (cls,) = linear.classes
    more = -np.eye(5)
    more[:4, :4] = cls.growth_by_state
    wide = {
        name: np.append(getattr(cls, name), 0.0)
        for name in ("cut_by_state", "growth_by_signal", "growth_by_acks")
    }
    large = replace(linear, classes=(replace(cls, growth_by_state=more, **wide),))
    assert compiled_plants(large) is None
    s = np.array([2j, 20j])
    np.testing.assert_allclose(plant_response(large, s), plant_response(linear, s), rtol=1e-12)


def test_it_refuses_what_it_does_not_know() -> None:
    queue: dict[str, Any] = {"queue_delay": 0.01, "bunch": 0.0, "head": True}
    with pytest.raises(ValueError, match=r"a class of flows lacks 'own', .*'paced'"):
        _core.AckPlant([{}], **queue)
    names = ["own", "own_reduced", "signal", "signal_reduced", "acks", "acks_reduced"]
    numbers = dict.fromkeys(["base_rtt", "rtt", "heard", "share", "smoothing"], 0.1)
    cls: dict[str, Any] = {name: [1.0] for name in names} | numbers
    cls |= dict.fromkeys(["waits", "reduces", "paced"], True)
    with pytest.raises(ValueError, match="acks takes 5 coefficients at most, not 6"):
        _core.AckPlant([cls | {"acks": [1.0] * 6}], **queue)
    plant = _core.AckPlant([cls], **queue)
    weights: dict[str, Any] = {"whole": np.ones(4), "mean": np.ones(4), "echoing": True}
    with pytest.raises(ValueError, match="interval must be positive"):
        _core.AckSums([plant], interval=[0.0], **weights)
    with pytest.raises(ValueError, match="an interval for each plant"):
        _core.AckSums([plant], interval=[], **weights)
    with pytest.raises(ValueError, match="of one length"):
        _core.AckSums([plant], interval=[0.1], **weights | {"mean": np.ones(2)})
    with pytest.raises(ValueError, match="a row for each plant"):
        _core.AckSums([plant], interval=[0.1], **weights).at(np.ones((2, 3), complex))
    for odd in (0, 3):
        weights |= {"whole": np.ones(odd), "mean": np.ones(odd)}
        with pytest.raises(ValueError, match="pairs of aliases"):
            _core.AckSums([plant], interval=[0.1], **weights)
