"""Every law as the compiled fluid runs it against the law in Python, at random states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pi2_fluid.laws.aqm import Aqm, Seen
from pi2_fluid.laws.aqms.avq import Avq
from pi2_fluid.laws.aqms.coupled import CoupledPi2
from pi2_fluid.laws.aqms.dualpi2 import DualPi2
from pi2_fluid.laws.aqms.pi import Pi
from pi2_fluid.laws.aqms.pi2 import Pi2
from pi2_fluid.laws.aqms.pie import TABLES, Pie
from pi2_fluid.laws.aqms.price import Price
from pi2_fluid.laws.aqms.pushed import PushedQueue
from pi2_fluid.laws.aqms.red import Red
from pi2_fluid.laws.aqms.rem import Rem
from pi2_fluid.laws.aqms.taildrop import TailDrop
from pi2_fluid.laws.packets_only import PacketsOnly
from pi2_fluid.laws.programs import queue_program, sender_program
from pi2_fluid.laws.registry import AQMS, SENDERS, aqm_class, sender_class
from pi2_fluid.laws.sender import Sender
from pi2_fluid.laws.senders.cbr import Cbr
from pi2_fluid.laws.senders.creno import CReno
from pi2_fluid.laws.senders.cubic import Cubic
from pi2_fluid.laws.senders.dctcp import Dctcp
from pi2_fluid.laws.senders.paganini import Paganini
from pi2_fluid.laws.senders.reno import Reno
from pi2_fluid.laws.senders.scalable import Scalable
from pi2_fluid.laws.senders.timeoutreno import TimeoutReno

SENDER_LAWS: list[Sender] = [
    Reno(),
    Reno(decrease=0.8),
    Reno(growth="per_ack"),
    CReno(),
    Scalable(),
    Scalable(per_mark=2.0),
    Dctcp(),
    Dctcp(gain=0.5, variant="rfc8257"),
    Dctcp(law="renewal"),
    Dctcp(law="renewal", gain=0.5, segments="real"),
    Cubic(),
    Cubic(variant="linux3.18", c=1.0, decrease=0.5),
    Cbr(rate="3Mbit/s").on_link("1500B"),
    TimeoutReno(),
    TimeoutReno(decrease=0.3, min_rto="1s"),
    Paganini(),
    Paganini(alpha=1.2, beta=0.7, k=20.0, fairness=2.0, bottlenecks=3.0, phi=1.6),
    Paganini(static=True, max_rate="10Mbit/s").on_link("1500B"),
]
AQM_LAWS: list[Aqm] = [
    Pi(alpha=0.3, beta=4.0, target="5ms", update_interval="10ms"),
    Pi2(),
    Pi2(variant="pi2-2016"),
    CoupledPi2(k=1.5),
    *(Pie(table=table) for table in [*TABLES, "sqrt2p"]),
    *(Pie(variant=variant) for variant in ["linux6.18", "linux4.14", "rfc8033", "hpsr13"]),
    Pie(cap=False, boost250=False, decay=False, burst="150ms"),
    Pie(variant="hpsr13", cap=True, boost250=True, decay=True, burst="50ms"),
    Red(min=5, max=15),
    Red(min=5, max=15, max_p=0.3, weight=0.01, gentle=False),
    Red(min=5, max=15, adaptive=True, update_interval="250ms"),
    DualPi2(),
    DualPi2(ramp="400us", k=1.5, drop_overload=False, variant="rfc9332", c_protection=0.2),
    TailDrop(),
    Price(),
    Price(phi=1.6, utilization=0.8),
    Avq(buffer=15),
    Avq(utilization=0.9, alpha=2.0, start=0.5, buffer=30, buffer_fraction=0.3),
    Avq(marking="overflow"),
    Rem(),
    Rem(gamma=0.01, phi=1.3, alpha=0.4, target=7, weight=0.3),
]


def is_left_out(cls: type, *varied: type) -> bool:
    """Whether a law has no equations, or is run by its queue's."""
    return cls in varied or issubclass(cls, PacketsOnly | PushedQueue)


# Kinds that are not varied here come with their defaults. One that is run by another's law is left
# out.
for _laws, _classes in (
    (SENDER_LAWS, map(sender_class, SENDERS)),
    (AQM_LAWS, map(aqm_class, AQMS)),
):
    _there = {type(law) for law in _laws}
    _laws += [cls() for cls in _classes if not cls.only_in and not is_left_out(cls, *_there)]
TRIALS = 300


def same(c: Any, python: Any, scale: float = 1.0) -> None:
    """Compare to 1e-12, relative to the largest of the terms that may cancel."""
    python = np.array([float(value) for value in python])
    assert np.shape(c) == python.shape
    np.testing.assert_allclose(c, python, rtol=1e-12, atol=1e-12 * scale)


def spread(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def test_every_kind_has_a_law_here():
    senders = {cls for cls in map(sender_class, SENDERS) if not cls.only_in}
    assert {type(law) for law in SENDER_LAWS} == senders
    queues = {cls for cls in map(aqm_class, AQMS) if not cls.only_in}
    assert {type(law) for law in AQM_LAWS} == {cls for cls in queues if not is_left_out(cls)}


@pytest.mark.parametrize("law", SENDER_LAWS, ids=repr)
def test_senders(law: Sender):
    c = sender_program(law)
    rng = np.random.default_rng(1)
    many = len(law.states) > 1

    def wrap(values: list[float]) -> Any:
        return tuple(values) if many else values[0]

    def unwrap(value: Any) -> Any:
        return value if isinstance(value, tuple) else (value,)

    for _ in range(TRIALS):
        window, delayed = spread(rng, 0.1, 1e4), spread(rng, 0.1, 1e4)
        p, rtt, rtt_delayed = rng.choice([0.0, 1.0, rng.uniform()]), *np.exp(rng.uniform(-7, 0, 2))
        if law.answers_at_once:
            p *= 0.1  # the rate at the highest price is 0, at which no utility has a slope
        x = list(map(float, unwrap(law.initial(window))))
        x[1:] = [value * spread(rng, 0.1, 10.0) + rng.uniform() for value in x[1:]]
        then = wrap([delayed, *x[1:]])
        slope = unwrap(law.rate(wrap(x), then, p, rtt, rtt_delayed))
        same(c.rate(x, [delayed, *x[1:]], p, rtt, rtt_delayed), slope, 1.0 / rtt)
        if type(law).acked is not Sender.acked and c.has_ack_clock:
            acks, marks = spread(rng, 1.0, 1e4), p * spread(rng, 1.0, 1e4)
            change, cut = law.acked(wrap(x), acks, marks, rtt)
            changed, obeyed = c.acked(x, acks, marks, rtt)
            same([*changed, obeyed], [*unwrap(change), cut], acks)
        same([c.sending_rate(x, rtt)], [law.sending_rate(wrap(x), rtt)])
        sent = law.sending_rate_under(wrap(x), p, rtt)
        same([c.sending_rate_under(x, p, rtt)], [sent], sent)
        same(c.leave_slow_start(x), unwrap(law.leave_slow_start(wrap(x))))


def test_which_senders_have_the_ack_clock():
    has = {type(law) for law in SENDER_LAWS if sender_program(law).has_ack_clock}
    assert has == {type(law) for law in SENDER_LAWS if type(law).acked is not Sender.acked}
    with pytest.raises(ValueError, match="acknowledgements"):
        sender_program(Cbr(rate="3Mbit/s").on_link("1500B")).acked([1.0], 1.0, 0.0, 0.1)


def random_state(rng: np.random.Generator, law: Aqm) -> tuple[float, ...]:
    state = [float(value) for value in law.initial()]
    if isinstance(law, Red):
        return (rng.choice([0.0, rng.uniform(0.0, 60.0)]), spread(rng, 0.005, 0.6))
    if isinstance(law, TailDrop):
        return (0.0,)
    # Below, on and above the edges of gain tables, and beyond what saturation leaves.
    u = rng.choice([0.0, 0.1, 0.01 * (1 - 1e-9), spread(rng, 1e-8, 1.0), rng.uniform(0.0, 1.5)])
    delay = rng.choice([0.0, spread(rng, 1e-4, 0.5)])
    return (u, delay, *(rng.choice([0.0, rng.uniform(0.0, 0.2)]) for _ in state[2:]))[: len(state)]


def random_seen(rng: np.random.Generator, law: Aqm) -> tuple[Seen, dict[str, Any]]:
    delays = [rng.choice([0.0, spread(rng, 1e-5, 0.5)]) for _ in range(2)]
    capacity = spread(rng, 1e2, 1e6)
    arrivals, overflow = rng.choice([0.0, 1.0, 3.0]) * capacity, rng.choice([0.0, 0.5 * capacity])
    queue = sum(delays) * capacity
    if law.bands == 1:
        delays[1] = 0.0
    delay: Any = tuple(delays) if law.bands == 2 else delays[0]
    seen = Seen(delay, queue, arrivals, capacity, overflow)
    return seen, {**seen._asdict(), "queue_delay": tuple(delays)}


@pytest.mark.parametrize("law", AQM_LAWS, ids=repr)
def test_aqms(law: Aqm):
    c = queue_program(law, continuous=False)
    flowing = type(law).flow not in (Aqm.flow, DualPi2.flow)  # which have no continuous form
    continuous = queue_program(law, continuous=True) if flowing else c
    rng = np.random.default_rng(2)
    same(c.initial(), law.initial())
    for _ in range(TRIALS):
        state = random_state(rng, law)
        seen, numbers = random_seen(rng, law)
        x, dt = list(state), spread(rng, 1e-3, 1.0)
        # Slopes: a delay's is multiplied by up to some 100 Hz, RED's average moves per packet.
        scale = 1e3 if not isinstance(law, Red) else float(seen.arrival_rate * seen.queue) + 1.0
        if law.update_interval is not None:
            same(c.update(x, numbers, dt), law.update(state, seen, dt))
            same(c.drift(x, numbers), law.drift(state, seen), scale)
        same(c.saturate(x), law.saturate(state))
        same([c.controller(x)], [law.controller(state)])
        same(c.signals(x, numbers), law.signals(state, seen))
        if flowing:
            d_delay = rng.uniform(-1.0, 5.0)
            same(continuous.flow(x, numbers, d_delay), law.flow(state, seen, d_delay), scale)
            same(continuous.signals(x, numbers), law.signals(state, seen))
        if not isinstance(law, TailDrop):
            same(c.encode(state[0]), law.encode(state[0]))


@pytest.mark.parametrize("law", [law for law in AQM_LAWS if law.bands == 2], ids=repr)
def test_sharing_of_a_dual_queue(law: Any):
    c = queue_program(law, continuous=False)
    rng = np.random.default_rng(3)
    for _ in range(TRIALS):
        waits = (bool(rng.integers(2)), bool(rng.integers(2)))
        arrivals = tuple(rng.choice([0.0, rng.uniform(0.0, 2e3)]) for _ in range(2))
        same(c.serve(waits, arrivals, 1e3), law.serve(waits, arrivals, 1e3))


NOTHING_SEEN: dict[str, Any] = {**Seen(0.0, 0.0, 0.0, 0.0)._asdict(), "queue_delay": (0.0, 0.0)}


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match=r"pi2 takes 2 numbers, not 1"):
        queue_program(Pi2(), continuous=False).saturate([0.0])
    with pytest.raises(ValueError, match=r"dualpi2 has no continuous form"):
        queue_program(DualPi2(), continuous=False).flow([0.0, 0.0], NOTHING_SEEN, 0.0)
    lacking = {name: value for name, value in NOTHING_SEEN.items() if name != "overflow"}
    with pytest.raises(ValueError, match=r"seen lacks 'overflow'\."):
        queue_program(TailDrop(), continuous=False).drift([0.0], lacking)
    with pytest.raises(ValueError, match=r"taildrop has no controller"):
        queue_program(TailDrop(), continuous=False).encode(0.5)
    with pytest.raises(ValueError, match=r"pi2 has one queue"):
        queue_program(Pi2(), continuous=False).serve((True, True), (1.0, 1.0), 1.0)
