"""What every law of the package owes to engines, text and reader, one kind after the other.

The kinds are those of the registry: a new law is asked all this without a line here. What its
equations do is for tests of its own.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import write_parameters
from refusals import refused

import pi2_fluid as pf
from pi2_fluid import _core, qdisc
from pi2_fluid.design.asked import read_queue
from pi2_fluid.design.plants import plant_gain, plant_of, require_loop
from pi2_fluid.engines.fluid.lanes import in_c
from pi2_fluid.engines.packet.laws import congestion_of, discipline_of
from pi2_fluid.laws.gains import has_gains
from pi2_fluid.laws.kernel.units import told_to_tc
from pi2_fluid.laws.packets_only import PacketsOnly
from pi2_fluid.laws.registry import AQMS, DESIGNED, SENDERS, aqm_class, kind_of, sender_class
from pi2_fluid.laws.tapes import tape_of
from pi2_fluid.records.record import declares
from pi2_fluid.tc.options import KINDS as TC_KINDS
from pi2_fluid.tc.options import OPTIONS as TC_OPTIONS

ROOT = Path(__file__).resolve().parents[2]
LINK = pf.Link("10Mbit/s")
ERRORS = (pf.DomainError, pf.QuantityError, pf.ScenarioError, pf.UnsupportedError)
#: Of laws that nobody can make without a number, such numbers.
NEEDED: dict[str, dict[str, Any]] = json.loads(
    (ROOT / "tests" / "data" / "needed_numbers.json").read_text(encoding="utf-8")
)

KINDS = [*(("aqm", kind) for kind in AQMS), *(("sender", kind) for kind in SENDERS)]
every_law = pytest.mark.parametrize(("place", "kind"), KINDS, ids=[kind for _, kind in KINDS])
every_queue = pytest.mark.parametrize("kind", AQMS)
every_sender = pytest.mark.parametrize("kind", SENDERS)


def law_of(place: str, kind: str) -> Any:
    cls: Any = aqm_class(kind) if place == "aqm" else sender_class(kind)
    return cls(**NEEDED.get(kind, {}))


def queue_of(kind: str) -> Any:
    return law_of("aqm", kind)


def sender_of(kind: str) -> Any:
    sender = law_of("sender", kind)
    return sender.on_link(LINK.packet_size)


def settable(law: Any) -> list[dataclasses.Field[Any]]:
    return [field for field in dataclasses.fields(law) if field.init]


# Text and reader


@every_law
def test_it_is_written_and_read(place: str, kind: str) -> None:
    law = law_of(place, kind)
    aqm, sender = (law, pf.Reno()) if place == "aqm" else (pf.Pi2(), law)
    made = pf.Scenario(9, LINK, aqm, pf.Flows(sender, 3, "100ms"))
    again = pf.Scenario.from_toml(made.to_toml())
    assert again == made
    # what the link tells it is not written: the link is
    told = dataclasses.replace(made, flows=pf.Flows(sender.on_link(LINK.packet_size), 3, "100ms"))
    assert told.to_toml() == made.to_toml()
    assert f'{"kind" if place == "aqm" else "sender"} = "{kind}"' in made.to_toml()
    assert kind_of(again.aqm if place == "aqm" else again.flows[0].sender) == kind
    face = pf.linux if type(law).only_in else pf
    assert type(law) is getattr(face, type(law).__name__), "the face does not show it"


@every_law
def test_its_parameters_are_documented(place: str, kind: str) -> None:
    law = law_of(place, kind)
    known = [doc for doc in (cls.__doc__ or "" for cls in type(law).__mro__) if "Parameters" in doc]
    for field in settable(law):
        key = field.metadata.get("key", field.name)
        assert any(re.search(rf"^    (.*, )?{key}\b.*$", doc, re.MULTILINE) for doc in known), key
    assert set(law.packets_only) <= {field.name for field in dataclasses.fields(law)}


def test_the_reference_has_the_table_of_parameters() -> None:
    text = write_parameters.PAGE.read_text(encoding="utf-8")
    assert write_parameters.page(text) == text, "run python tools/write_parameters.py"


@every_law
def test_it_takes_no_nan(place: str, kind: str) -> None:
    law = law_of(place, kind)
    numbers = [field for field in settable(law) if "quantity" in field.metadata]
    for field in numbers:
        key = field.metadata.get("key", field.name)
        with refused(ERRORS, match=key):
            type(law)(**NEEDED.get(kind, {}) | {key: math.nan})


# Engines


@every_law
def test_the_compiled_fluid_runs_it(place: str, kind: str) -> None:
    law = queue_of(kind) if place == "aqm" else sender_of(kind)
    aqm, sender = (law, pf.Reno()) if place == "aqm" else (pf.Pi2(), law)
    case = pf.Scenario(1, LINK, aqm, pf.Flows(sender, 1, "100ms"))
    if isinstance(law, PacketsOnly) or type(law).only_in:
        with refused(pf.UnsupportedError, match=type(law).__name__):
            pf.fluid.simulate(case, engine="c")
    else:
        assert np.isfinite(pf.fluid.simulate(case, engine="c").queue_delay).all()


#: What lanes that have code of their own for a queue are told of it.
IN_LANES = {"alpha", "beta", "target", "update_interval", "k"}


@every_queue
def test_compiled_lanes_know_all_that_it_reads(kind: str) -> None:
    law = queue_of(kind)
    if law.bands == 2 or not in_c._has_own_queue(law):
        return
    reads = {name for what in ("update", "drift and signals") for name in tape_of(law, what).reads}
    assert {name.removeprefix("law.") for name in reads if name.startswith("law.")} <= IN_LANES


@every_queue
def test_packets_take_its_parameters(kind: str) -> None:
    law = queue_of(kind)
    if type(law).discipline is None:
        with refused(pf.UnsupportedError):
            discipline_of(law, LINK)
        return
    queue = _core.QueueDiscipline(*discipline_of(law, LINK))
    queue.enqueue(0)
    assert queue.packets == 1
    assert queue.dequeue(10**6) is not None


@every_sender
def test_packets_take_its_congestion_control(kind: str) -> None:
    sender = sender_of(kind)
    if type(sender).congestion is None:
        with refused(pf.UnsupportedError):
            congestion_of(sender)
        return
    flow = _core.CongestionControl(*congestion_of(sender), window=10)
    flow.acknowledge(1, 0, 10**7, 10**7)
    assert flow.cwnd >= 10


@every_law
def test_a_subclass_is_another_law(place: str, kind: str) -> None:
    law = law_of(place, kind)
    other = type("Mine", (type(law),), {})(**NEEDED.get(kind, {}))
    assert kind_of(other) is None
    with pytest.raises(pf.UnsupportedError, match="Mine "):
        discipline_of(other, LINK) if place == "aqm" else congestion_of(other)


# What its entry says that it can do


@every_law
def test_it_has_a_loop_if_it_says_so(place: str, kind: str) -> None:
    entry = (AQMS if place == "aqm" else SENDERS)[kind]

    def loop() -> Any:
        law = (aqm_class if place == "aqm" else sender_class)(kind)()
        pair = (pf.Reno(), law) if place == "aqm" else (law, pf.CoupledPi2())
        return pf.Loop(*pair, rtt="100ms", p=0.02)

    if entry.loop:
        assert math.isfinite(loop().margins().gain_margin_db)
        return
    with refused(ERRORS):
        loop()


@every_queue
def test_gains_are_designed_for_it_if_it_says_so(kind: str) -> None:
    entry = AQMS[kind]
    if entry.design:
        queue = read_queue(kind, None)
        assert kind_of(queue.law) == kind
        assert queue.tc == (entry.tc[0] if entry.tc else None)
        return
    if kind in DESIGNED:  # so tc calls a queue in which another law runs, whose gains they are
        queue = read_queue(kind, None)
        assert AQMS[str(kind_of(queue.law))].design
        assert queue.tc == kind
        return
    with refused(ERRORS, match=f"aqm = '{kind}'"):
        pf.tune("100ms", aqm=kind)


@every_sender
def test_gains_are_designed_against_it_if_it_says_so(kind: str) -> None:
    sender = sender_of(kind)
    if SENDERS[kind].design:
        gain, _ = plant_gain(sender, pf.CoupledPi2(), np.array([0.1]), np.array([0.1]))
        assert 0.0 < float(gain[0]) < math.inf
        return
    with refused(ERRORS):
        plant_gain(sender, pf.CoupledPi2(), np.array([0.1]), np.array([0.1]))


@every_queue
@pytest.mark.parametrize("tc", TC_KINDS)
def test_tc_runs_it_if_it_says_so(kind: str, tc: str) -> None:
    law = queue_of(kind)
    if tc in AQMS[kind].tc:
        installed = qdisc.install(law, tc)
        assert installed.kind == tc
        assert installed.aqm.in_one_queue().bands == 1
        return
    with refused(pf.UnsupportedError, match=f"{tc} cannot run {type(law).__name__}"):
        qdisc.install(law, tc)


@every_queue
def test_what_tc_calls_its_parameters_is_what_tc_knows(kind: str) -> None:
    law = queue_of(kind)
    for tc in AQMS[kind].tc:
        options = {option.word: option for option in TC_OPTIONS[tc]}
        told = told_to_tc(law)
        assert set(told) <= set(options)
        assert {"target", "tupdate", "alpha", "beta"} <= set(told)
        for name, unit, default in told.values():
            assert default in unit.numbers
            # What the kernel runs with asks for what it was asked for.
            for number in (unit.low, default, min(unit.high, 40 * max(default, 1))):
                if not (name == "target" and tc != "dualpi2"):  # PIE's clock cuts off
                    assert unit.ask(unit.act(number)) == number
                assert unit.tell(number) in (number, number - 1)


@every_queue
def test_its_bands_are_what_it_says(kind: str) -> None:
    law = queue_of(kind)
    if law.bands == 2:
        served = law.serve((True, True), (100.0, 100.0), 1000.0)
        assert sum(served) == pytest.approx(1000.0, rel=1e-12)
        assert served[0] >= law.kept_for_classic * 1000.0 * (1 - 1e-12)
        assert law.in_one_queue().bands == 1
        return
    assert law.in_one_queue() is law
    assert law.kept_for_classic == 0.0
    for ask in (
        lambda: law.serve((True, True), (1.0, 1.0), 1.0),
        lambda: law.delays((1.0, 1.0), (1.0, 1.0)),
        lambda: law.at_rest_alone(0.1),
    ):
        with pytest.raises(pf.UnsupportedError, match=type(law).__name__):
            ask()


# What rooms above ask of it, instead of what it is


@every_queue
def test_what_it_says_of_its_gains_is_so(kind: str) -> None:
    law = queue_of(kind)
    assert has_gains(law) == law.designable == AQMS[kind].design
    if not has_gains(law):
        return
    other = dataclasses.replace(law, alpha=1.5 * law.alpha, beta=0.5 * law.beta)
    assert (other.alpha, other.beta) == (1.5 * law.alpha, 0.5 * law.beta)
    assert min(float(law.target), float(law.update_interval)) > 0.0
    top = float(law.clips_at)
    for u in (0.5 * top, 0.999 * top, 1.001 * top, 3.0 * top):
        kept = law.saturate((u, *law.initial()[1:]))
        assert float(law.controller(kept)) == pytest.approx(min(u, top), rel=1e-12)
    edges = law.gain_edges
    assert edges is not None
    for low, high in itertools.pairwise([1e-9, *sorted(edges), 1.0]):
        grid = np.geomspace(low * (1 + 1e-9), min(high, 1.0) * (1 - 1e-6), 50)
        assert len({float(law.gain_factor(u)) for u in grid}) == 1, f"steps in {low, high}"


@every_queue
def test_what_it_says_of_what_packets_see_is_so(kind: str) -> None:
    law = queue_of(kind)
    k, phi = law.coupling, law.price_base
    values = np.array([0.01, 0.1, 0.3, 0.7])
    try:
        classic, scalable = law.encode(values)
    except pf.UnsupportedError:
        assert k is None
        assert phi is None
        return
    coupled = np.allclose(classic, values**2) and not np.allclose(scalable, classic)
    assert (k is not None) == coupled
    if k is not None:
        np.testing.assert_allclose(scalable, np.minimum(float(k) * values, 1.0), rtol=1e-12)
    slopes = np.diff(np.log1p(-np.asarray(classic))) / np.diff(values)
    assert (phi is not None) == np.allclose(slopes, slopes[0], rtol=1e-9)
    if phi is not None:
        np.testing.assert_allclose(slopes, -math.log(phi), rtol=1e-9)

    def encode(self: Any, u: Any) -> pf.Signal:
        return pf.Signal(u**3, u**3)

    other: Any = type("Cubed", (type(law),), {"encode": encode})(**NEEDED.get(kind, {}))
    assert other.coupling is None
    assert other.price_base is None


@every_queue
def test_it_marks_where_it_is_asked_to(kind: str) -> None:
    law = queue_of(kind)
    can_say = law.coupling is None and "ecn" in {field.name for field in settable(law)}
    assert law.with_marks() == (dataclasses.replace(law, ecn=True) if can_say else law)


@every_queue
def test_it_signals_what_overflows_if_it_says_so(kind: str) -> None:
    law = queue_of(kind)
    full = pf.Seen(0.1, 100.0, 1250.0, 1000.0, overflow=250.0)
    try:
        lost = law.signals(law.initial(), full if law.bands == 1 else
                           full._replace(queue_delay=(0.1, 0.0))).classic  # fmt: skip
    except pf.UnsupportedError:
        assert not law.overflows
        return
    assert (float(lost) == pytest.approx(0.2, rel=1e-12)) == law.overflows


@every_sender
def test_what_it_says_of_its_rate_is_so(kind: str) -> None:
    sender = sender_of(kind)
    other = sender.at_bitrate(3e6)
    if sender.constant_rate is None:
        assert other is None
    elif other is not None:
        assert other.constant_rate == 3e6
        assert {"rate", "burst", "peak", "poisson", "sends", "pause"} == set(
            sender.packet_parameters()
        )
        assert sender.even
        assert type(other) is type(sender)
    response = sender.price_response
    if response is None:
        return
    rtt, prices = 0.1, np.array([0.01, 0.2])
    sent = sender.sending_rate_under(20.0, 1.0 - response.phi**-prices, rtt)
    fall = response.alpha * prices / (response.bottlenecks * rtt)
    np.testing.assert_allclose(sent, 20.0 / rtt * np.exp(-fall), rtol=1e-9)
    own = {"rate": lambda self, *args: 0.0 * args[0]}
    assert type("Other", (type(sender),), own)().price_response is None  # type: ignore[attr-defined]


@every_sender
def test_its_sentences_can_be_put_together(kind: str) -> None:
    sender = sender_of(kind)
    assert sender.instead.startswith("use ")
    for clause in (sender.instead, sender.averages, sender.lost_in_integers):
        assert not clause.endswith(".")
        assert clause == clause.strip()


# A subclass is another law


@every_sender
def test_a_sender_that_is_not_its_parent_has_nothing_of_its_closed_forms(kind: str) -> None:
    """The parent's law at half the signal, written in the child, and held to its own equations."""
    law: Any = sender_of(kind)
    parent = type(law)

    def rate(self: Any, x: Any, x_delayed: Any, signal: Any, rtt: Any, rtt_delayed: Any) -> Any:
        return law.rate(x, x_delayed, 0.5 * signal, rtt, rtt_delayed)

    def sent(self: Any, x: Any, signal: Any, rtt: Any) -> Any:
        return law.sending_rate_under(x, 0.5 * signal, rtt)

    own = {"rate": rate, **({"sending_rate_under": sent} if law.answers_at_once else {})}
    other: Any = type("Half", (parent,), own)(**NEEDED.get(kind, {}))
    unchanged: Any = type("Twin", (parent,), {})(**NEEDED.get(kind, {}))
    grand: Any = type("Grandchild", (type(other),), {})(**NEEDED.get(kind, {}))
    for one in (other, unchanged, grand):
        assert plant_of(one) is None
    assert (plant_of(law) is not None) == SENDERS[kind].design
    if law.signal is None or law.only_in:
        return  # it rests anywhere, or nobody knows where
    p = 0.02
    for one in (other, grand):
        state, before = one.at_rest(0.1, 2.0 * p), law.at_rest(0.1, p)
        np.testing.assert_allclose(state, before, rtol=1e-8)
        reached = law.sending_rate_under(before, p, 0.1)
        assert one.equilibrium(0.1, reached) == pytest.approx(2.0 * p, rel=1e-8)
        drift = one.rate(state, state, 2.0 * p, 0.1, 0.1)
        np.testing.assert_allclose(np.multiply(drift, 0.1), 0.0, atol=1e-8)
    if not SENDERS[kind].loop:
        return
    # its loop is that of half the signal: the parent's at the same window, linearised
    mine = pf.Loop(other, pf.Pi(), rtt=0.1, p=2.0 * p)
    twin = pf.Loop(unchanged, pf.Pi(alpha=pf.Pi().alpha / 2, beta=pf.Pi().beta / 2), rtt=0.1, p=p)
    closed = pf.Loop(law, pf.Pi(alpha=pf.Pi().alpha / 2, beta=pf.Pi().beta / 2), rtt=0.1, p=p)
    s = 1j * np.geomspace(0.1, 100.0, 7)
    np.testing.assert_allclose(mine(s), twin(s), rtol=1e-5)
    np.testing.assert_allclose(twin(s), closed(s), rtol=1e-6)
    assert (closed.form is None) == (plant_of(law) not in {"reno", "scalable"})
    assert mine.form is None
    assert twin.form is None
    for plants in (mine, twin):
        with pytest.raises(pf.UnsupportedError, match="closed-form limit"):
            pf.loop.low_load(plants.senders[0], pf.Pi(), 0.1)
    with pytest.raises(pf.UnsupportedError, match="no closed form to design with"):
        plant_gain(other, pf.CoupledPi2(), np.array([0.1]), np.array([0.1]))
    require_loop(other, pf.CoupledPi2())  # linearised numerically


@pytest.mark.parametrize("kind", [kind for kind, entry in AQMS.items() if entry.design])
def test_a_queue_that_is_not_its_parent_has_nothing_of_its_closed_forms(kind: str) -> None:
    """What packets see is half of what they see of the parent."""
    law: Any = queue_of(kind)
    parent = type(law)

    def encode(self: Any, u: Any) -> pf.Signal:
        return pf.Signal(*(0.5 * signal for signal in parent.encode(self, u)))

    def update(self: Any, state: Any, seen: Any, dt: Any) -> Any:
        return parent.update(self, state, seen, dt)

    other: Any = type("Half", (parent,), {"encode": encode})()
    assert declares(other, "encoder") is None
    for signal in ("classic", "scalable"):
        u = law.decode(0.1, signal)
        assert other.decode(0.05, signal) == pytest.approx(u, rel=1e-9)
        assert getattr(other.encode(u), signal) == pytest.approx(0.05, rel=1e-12)
    loop = pf.Loop(pf.Reno(), other, rtt=0.1, p=0.05)
    assert loop.form is None
    ticks: Any = type("Ticks", (parent,), {"update": update})()
    if law.bands == 1:
        assert ticks.at_rest(0.1, 1000.0)[1] == pytest.approx(law.at_rest(0.1, 1000.0)[1], rel=1e-6)
    seen = pf.Seen(0.02, 20.0, 1000.0, 1000.0)
    with pytest.raises(pf.UnsupportedError, match="Ticks has no continuous form"):
        ticks.flow(ticks.initial(), seen, 0.0)
    with pytest.raises(pf.UnsupportedError, match="closed-form limit"):
        pf.loop.low_load(pf.Reno(), other, 0.1)
