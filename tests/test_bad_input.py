"""Every door against every kind of bad value: a typed error of one sentence, never a NaN.

The matrix is doors (every numeric field of every class and function) times values (everything a
caller might pass by mistake).
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest
from refusals import assert_sentence

import pi2_fluid as pf
from pi2_fluid.network.changes import Change
from pi2_fluid.network.link import Link
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.records.record import quantity

TYPED = (pf.QuantityError, pf.DomainError, pf.ScenarioError, pf.UnsupportedError)


@dataclasses.dataclass(frozen=True)
class Door:
    """One numeric argument: how to pass it, what it is called, and what it takes."""

    name: str
    open: Callable[[Any], Any]
    good: Any
    zero: bool = False  # whether 0 is in the domain
    high: float = math.inf
    bare_text: bool = False  # whether text without a unit is a number
    text: bool = True  # whether text is read at all
    optional: bool = False  # whether None is a value


def field(cls: Any, name: str, good: Any, **rules: Any) -> Door:
    return Door(f"{cls.__name__} {name}", lambda value: cls(**{name: value}), good, **rules)


def flows(**fields: Any) -> pf.Flows:
    return pf.Flows(**{"sender": pf.Reno(), "count": 10, "base_rtt": "80ms", **fields})


def transfers(**fields: Any) -> pf.Transfers:
    waits = {} if "arrivals" in fields else {"idle": "1s"}
    given = {"sender": pf.Reno(), "base_rtt": "80ms", "size": pf.Fixed(9), **waits, **fields}
    return pf.Transfers(**given)


def pareto(**fields: Any) -> pf.Pareto:
    return pf.Pareto(**{"shape": 1.2, "scale": 1e-9, **fields})


def link(**fields: Any) -> Link:
    return Link(**{"capacity": "12Mbit/s", **fields})


def change(**fields: Any) -> Change:
    return Change(**{"at": "5s", "capacity": "12Mbit/s", "counts": {"web": 1}, **fields})


def scenario(**fields: Any) -> Scenario:
    return Scenario(**{"link": link(), "aqm": pf.Pi2(), "flows": flows(), **fields})


def one(**arguments: Any) -> Any:
    return pf.equilibrium_of(**{"sender": pf.Reno(), "aqm": pf.Pi2(), "rtt": 0.1, **arguments})


def many(**arguments: Any) -> Any:
    return pf.equilibrium(
        **{"flows": flows(), "aqm": pf.Pi2(), "capacity": "12Mbit/s", **arguments}
    )


def loop(**arguments: Any) -> Any:
    return pf.Loop(pf.Reno(), pf.Pi2(), **{"rtt": 0.1, **arguments})


def loop_of_flows(**arguments: Any) -> Any:
    return pf.Loop(flows(), pf.Pi2(), **{"capacity": "12Mbit/s", **arguments})


def hollot(**arguments: Any) -> Any:
    good = {
        "a": 1.822e-5,
        "b": 1.816e-5,
        "frequency": 160,
        "reference": 200,
        "capacity": "15Mbit/s",
    }
    return pf.Pi.from_hollot(**{**good, **arguments})


def margins_of(**arguments: Any) -> Any:
    good = {
        "kappa": 10.0,
        "pole": 1.0,
        "plant": "reno",
        "alpha": 0.3125,
        "beta": 3.125,
        "update_interval": 0.032,
        "rtt": 0.1,
    }
    return pf.loop.margins_of(**{**good, **arguments})


def rtt_limit(**arguments: Any) -> Any:
    return pf.loop.rtt_limit(**{"alpha": 0.3, "beta": 3.0, "update_interval": 0.03, **arguments})


def call(function: Callable[..., Any], name: str, good: Any, **rules: Any) -> Door:
    return Door(name, lambda value: function(**{name: value}), good, **rules)


GAINS = {"bare_text": True}
DOORS: dict[str, Door] = {
    door.name.replace(" ", "."): door
    for door in [
        field(pf.Reno, "decrease", 0.4, high=1.0, **GAINS),
        field(pf.CReno, "decrease", 0.4, high=1.0, **GAINS),
        field(pf.Scalable, "per_mark", 0.4, **GAINS),
        *(
            door
            for cls in (pf.Pi, pf.Pie, pf.Pi2, pf.CoupledPi2)
            for door in (
                field(cls, "alpha", 0.4, **GAINS),
                field(cls, "beta", 0.4, zero=True, **GAINS),
                field(cls, "target", "20ms"),
                field(cls, "update_interval", "20ms"),
            )
        ),
        field(pf.CoupledPi2, "k", 2.0, **GAINS),
    ]
}
ARGUMENTS: list[tuple[Callable[..., Any], str, Any, dict[str, Any]]] = [
    (flows, "count", 3, GAINS),
    (flows, "base_rtt", "80ms", {"zero": True}),
    (flows, "start", "5s", {"zero": True}),
    (flows, "stop", "9s", {"optional": True}),
    (flows, "start_jitter", "1s", {"zero": True}),
    (flows, "initial_window", 10, GAINS),
    (transfers, "idle", "1s", {"zero": True}),
    (transfers, "arrivals", "20/s", GAINS),
    (pf.Fixed, "size", "9 packets", {"high": 2.0**30}),
    (pf.Exponential, "mean", "9 packets", {"high": 2.0**30}),
    (pareto, "shape", 1.2, GAINS),
    (pareto, "scale", "9 packets", {"high": 2.0**30}),
    (pareto, "cap", "9 packets", {"high": 2.0**30, "optional": True}),
    (link, "capacity", "10Mbit/s", {}),
    (link, "buffer", "100 packets", {"optional": True}),
    (link, "packet_size", "1000B", {}),
    (link, "ack_jitter", "1us", {"zero": True}),
    (link, "aggregate_time", "4ms", {"optional": True}),
    (change, "at", "5s", {"zero": True}),
    (change, "capacity", "10Mbit/s", {"optional": True, "zero": True}),
    (scenario, "duration", "60s", {}),
    (one, "p", 0.02, {"high": 1.0, **GAINS}),
    (one, "p_prime", 0.1, {"high": 1.0, **GAINS}),
    (many, "capacity", "12Mbit/s", {}),
    (many, "packet_size", "1000B", {}),
    (loop, "p", 0.02, {"high": 1.0, **GAINS}),
    (loop, "p_prime", 0.1, {"high": 1.0, **GAINS}),
    (loop_of_flows, "capacity", "12Mbit/s", {}),
    (loop_of_flows, "packet_size", "1000B", {}),
    (hollot, "a", 2e-5, GAINS),
    (hollot, "b", 1e-5, GAINS),
    (hollot, "frequency", 160, GAINS),
    (hollot, "reference", "200 packets", {}),
    (hollot, "capacity", "10Mbit/s", {}),
    (hollot, "packet_size", "500B", {}),
    (pf.Pi2.from_tc2016, "alpha", 10, GAINS),
    (pf.Pi2.from_tc2016, "beta", 100, {"zero": True, **GAINS}),
    (pf.Pi2.from_tc2016, "target", "20ms", {}),
    (pf.presets.rfc9332, "max_rtt", "100ms", {}),
    (pf.presets.tc_max_rtt, "max_rtt", "100ms", {}),
    (rtt_limit, "alpha", 0.3, GAINS),
    (rtt_limit, "beta", 0.3, {"zero": True, **GAINS}),
    (rtt_limit, "update_interval", "32ms", {}),
    (margins_of, "kappa", 10.0, {"text": False}),
    (margins_of, "pole", 1.0, {"text": False}),
    (margins_of, "alpha", 0.3, {"text": False}),
    (margins_of, "beta", 0.3, {"zero": True, "text": False}),
    (margins_of, "update_interval", 0.03, {"text": False}),
    (margins_of, "rtt", 0.1, {"text": False}),
]
DOORS |= {
    f"{function.__name__}-{name}": call(function, name, good, **rules)
    for function, name, good, rules in ARGUMENTS
}
DOORS |= {
    "change-counts": Door(
        "Change counts['web']",
        lambda value: change(counts={"web": value}),
        3,
        zero=True,
        bare_text=True,
    ),
    "one-rtt": Door("rtt", lambda value: one(rtt=value, p=0.02), "100ms"),
    "loop-rtt": Door("rtt", lambda value: loop(rtt=value, p=0.02), "100ms"),
    "low_load-rtt": Door(
        "rtt", lambda value: pf.loop.low_load(pf.Reno(), pf.Pi2(), value), "100ms"
    ),
}


class Broken:
    """An object that is no number in any way."""

    def __repr__(self) -> str:
        return "Broken(\n    thing,\n)"


# What no door takes: (value, what the message must show of it)
BAD: dict[str, tuple[Any, str]] = {
    "nan": (math.nan, "nan"),
    "inf": (math.inf, "inf"),
    "minus-inf": (-math.inf, "-inf"),
    "numpy-nan": (np.float64("nan"), "nan"),
    "negative": (-1.0, "-1.0"),
    "negative-int": (-3, "-3"),
    "negative-numpy": (np.float64(-2.5), "-2.5"),
    "true": (True, "True"),
    "false": (False, "False"),
    "numpy-bool": (np.True_, "True"),
    "complex": (1 + 0j, "(1+0j)"),
    "numpy-complex": (np.complex128(0.5), "0.5+0j"),
    "bytes": (b"0.1", "b'0.1'"),
    "bytearray": (bytearray(b"1"), "bytearray(b'1')"),
    "object": (Broken(), "Broken( thing, )"),
    "class": (float, "<class 'float'>"),
    "function": (math.sqrt, "<built-in function sqrt>"),
    "dict": ({"p": 0.1}, "{'p': 0.1}"),
    "set": ({0.1}, "{0.1}"),
    "empty-list": ([], "[]"),
    "empty-tuple": ((), "()"),
    "empty-array": (np.array([]), "array([]"),
    "ragged": ([[0.1], [0.1, 0.2]], "[[0.1], [0.1, 0.2]]"),
    "list-with-none": ([0.1, None], "[0.1, None]"),
    "list-with-bool": ([0.1, True], "[0.1, True]"),
    "list-with-text": (["fast", "slow"], "'fast'"),
    "object-array": (np.array([0.1, None], dtype=object), "[0.1, None]"),
    "bool-array": (np.array([True, False]), "array([ True, False])"),
    "text-array": (np.array(["5 parsecs"]), "'5 parsecs'"),
    "complex-array": (np.array([[1j], [2j]]), "array([[0.+1.j], [0.+2.j]])"),
    "float32": (np.float32(0.5), "0.5"),
    "float16": (np.float16(0.5), "0.5"),
    "float32-array": (np.array([0.5], np.float32), "array([0.5], dtype=float32)"),
    "masked": (np.ma.array([0.1, 0.2], mask=[False, True]), "masked_array(data=[0.1, --]"),
    "datetime": (np.datetime64("2020-01-01"), "2020-01-01"),
    "nan-in-array": (np.array([0.1, math.nan]), "nan"),
    "inf-in-array": ([[0.1], [math.inf]], "inf"),
    "negative-in-array": (np.array([0.1, -0.25]), "-0.25"),
    "huge-int": (10**400, "1000000000"),
    "unprintable-int": (10**5000, "int (too long to print)"),
    "huge": (1e200, "1e+200"),
    "tiny": (1e-200, "1e-200"),
    "tiny-in-array": ([0.1, 1e-300], "1e-300"),
    "text-nothing": ("", "''"),
    "text-word": ("fast", "'fast'"),
    "text-nan": ("nan", "'nan'"),
    "text-inf-ms": ("inf ms", "'inf ms'"),
    "text-expression": ("9**9**9 s", "'9**9**9 s'"),
    "text-negative-ms": ("-5ms", "'-5ms'"),
    "text-negative-rate": ("-5Mbit/s", "'-5Mbit/s'"),
    "text-negative": ("-0.5", "'-0.5'"),
    "text-overflow": ("1e999s", "'1e999s'"),
    "text-overflow-number": ("1e999", "'1e999'"),
    "text-bytes-per-second": ("10mbps", "'10mbps'"),
    "text-parsecs": ("5 parsecs", "'5 parsecs'"),
    "text-long": ("9" * 10_000, "'99999999"),
    "text-two-lines": ("1\n2", r"'1\n2'"),
}
# Each of these belongs to one dimension and is refused by the others.
OWN_UNIT = {"5ms": "time", "5Mbit/s": "rate", "5B": "size", "5 packets": "packets", "5Hz": "Hz"}


def assert_typed(error: BaseException, name: str, shown: str = "") -> None:
    """The error is ours; its message is one sentence with the field, the value and a remedy."""
    text = str(error)
    assert type(error) in TYPED
    assert_sentence(text, shown)
    assert len(text) < 400
    assert re.search(rf"(^|\W){re.escape(name)}\W", text), f"does not name {name}: {text}"
    assert re.search(r"[:,;] ?[^:]*\b(give|pass|use|change|fill|raise|lower|load is)\b", text), text


def refuse(door: Door, value: Any, shown: str) -> None:
    with pytest.raises(TYPED) as caught:
        door.open(value)
    assert_typed(caught.value, door.name, shown)


# Good values at the edge of the domain may break assumptions, of which this file is not about.
pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")
every_door = pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)


class TestMatrix:
    @every_door
    def test_takes_a_good_value(self, door):
        door.open(door.good)

    @every_door
    @pytest.mark.parametrize(("value", "shown"), BAD.values(), ids=BAD)
    def test_refuses(self, door, value, shown):
        refuse(door, value, shown)

    @every_door
    def test_none(self, door):
        if door.optional:
            door.open(None)
            return
        # Where an argument may be left out, None is "missing".
        with pytest.raises(TYPED, match=r"None|missing") as caught:
            door.open(None)
        assert_typed(caught.value, door.name)

    @every_door
    def test_zero(self, door):
        zeros = [(0, "0"), (0.0, "0.0"), (-0.0, "0.0"), ([1e-3, 0.0], "0.0")]
        for value, shown in zeros:
            if door.zero:
                door.open(value)
            else:
                refuse(door, value, shown)

    @every_door
    def test_above_the_range(self, door):
        if math.isfinite(door.high):
            refuse(door, door.high * (1 + 1e-9), repr(door.high * (1 + 1e-9)))
            refuse(door, [0.5, 2 * door.high], repr(2 * door.high))
            door.open(0.9 * door.high)
        else:
            refuse(door, 2e20, "2e+20")

    @every_door
    def test_text_of_another_dimension(self, door):
        refused = 0
        for text in OWN_UNIT:
            try:
                door.open(text)
            except TYPED as error:
                assert_typed(error, door.name, repr(text))
                refused += 1
        # It takes its own unit at most, a buffer a time as well, and what has no unit takes none.
        assert refused >= len(OWN_UNIT) - door.text - (door.name == "buffer")

    @every_door
    def test_text_without_a_unit(self, door):
        if door.bare_text:
            door.open(str(door.good))
        else:
            refuse(door, "100", "'100'")


def shapes(**arguments: Any) -> dict[str, Any]:
    return {name: np.full(size, value) for name, (value, size) in arguments.items()}


# Arrays of two and three elements: (call, the names that must be in the message)
CLASHES: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "one": (lambda: one(**shapes(rtt=(0.1, 2), p=(0.02, 3))), ("rtt", "p")),
    "one-linear": (lambda: one(**shapes(rtt=(0.1, 2), p_prime=(0.1, 3))), ("rtt", "p_prime")),
    "one-queue": (
        lambda: one(aqm=pf.Pi2(**shapes(alpha=(0.3, 2))), **shapes(p=(0.02, 3))),
        ("p", "Pi2 alpha"),
    ),
    "one-sender": (
        lambda: one(sender=pf.Reno(**shapes(decrease=(0.3, 2))), **shapes(p=(0.02, 3))),
        ("p", "Reno decrease"),
    ),
    "record": (
        lambda: pf.Pie(**shapes(alpha=(0.3, 2), target=(0.01, 3))),
        ("Pie target", "Pie alpha"),
    ),
    "flows": (
        lambda: flows(**shapes(count=(3, 2), base_rtt=(0.1, 3))),
        ("Flows count", "Flows base_rtt"),
    ),
    "many": (
        lambda: many(flows=flows(**shapes(count=(3, 2))), **shapes(capacity=(12e6, 3))),
        ("capacity", "Flows count"),
    ),
    "many-classes": (
        lambda: many(flows=[flows(**shapes(count=(3, n))) for n in (2, 3)]),
        ("class 0", "class 1"),
    ),
    "many-queue": (
        lambda: many(aqm=pf.Pi2(**shapes(beta=(3, 2))), **shapes(packet_size=(1500, 3))),
        ("packet_size", "Pi2 beta"),
    ),
    "loop": (lambda: loop(**shapes(rtt=(0.1, 2), p=(0.02, 3))), ("rtt", "p")),
    "loop-of-flows": (
        lambda: loop_of_flows(**shapes(capacity=(12e6, 2), packet_size=(1500, 3))),
        ("capacity", "packet_size"),
    ),
    "hollot": (lambda: hollot(**shapes(a=(2e-5, 2), b=(1e-5, 3))), ("a", "b")),
    "rtt_limit": (lambda: rtt_limit(**shapes(alpha=(0.3, 2), beta=(3, 3))), ("alpha", "beta")),
    "low_load": (
        lambda: pf.loop.low_load(pf.Reno(), pf.Pi2(**shapes(alpha=(0.3, 2))), np.full(3, 0.1)),
        ("rtt", "alpha"),
    ),
    "margins_of": (
        lambda: margins_of(**shapes(kappa=(10, 2), rtt=(0.1, 3))),
        ("kappa", "rtt"),
    ),
}


class TestShapes:
    @pytest.mark.parametrize(("call", "names"), CLASHES.values(), ids=CLASHES)
    def test_that_do_not_broadcast(self, call, names):
        with pytest.raises(TYPED) as caught:
            call()
        for name in names:
            assert_typed(caught.value, name)
        assert "(2,)" in str(caught.value)
        assert "(3,)" in str(caught.value)


WORDS: list[Any] = [
    "",
    "Plain",
    "plain ",
    "linux",
    None,
    0,
    True,
    b"plain",
    ["plain"],
    ("plain",),
    {"plain"},
]
WORDS += [np.array(["plain", "hpe"]), np.array("plain"), float]

CHOICES: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    # the one word among WORDS that is allowed, if any, comes last
    "Pie.table": ("Pie table", lambda value: pf.Pie(table=value), "sqrt2p"),
    "Pie.variant": ("Pie variant", lambda value: pf.Pie(variant=value), "linux4.14"),
    "Pi2.variant": ("Pi2 variant", lambda value: pf.Pi2(variant=value), "hpe"),
    "Link.kind": ("Link kind", lambda value: link(kind=value), "htb"),
    "Link.delay_on": ("Link delay_on", lambda value: link(delay_on=value), "split"),
    "Loop.update": ("update", lambda value: loop(p=0.02, update=value), "delayed"),
    "Loop.rtt_terms": ("rtt_terms", lambda value: loop(p=0.02, rtt_terms=value), "exact"),
    "rtt_limit.update": ("update", lambda value: rtt_limit(update=value), "sampled"),
    "low_load.update": (
        "update",
        lambda value: pf.loop.low_load(pf.Reno(), pf.Pi2(), "100ms", value),
        "delayed",
    ),
    "margins_of.plant": ("plant", lambda value: margins_of(plant=value), "reno"),
}
OBJECTS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "one.sender": ("sender", lambda value: one(sender=value, p=0.02)),
    "one.aqm": ("aqm", lambda value: one(aqm=value, p=0.02)),
    "many.flows": ("flows", lambda value: many(flows=value)),
    "many.aqm": ("aqm", lambda value: many(aqm=value)),
    "Flows.sender": ("Flows sender", lambda value: flows(sender=value)),
    "Scenario.link": ("link", lambda value: scenario(duration=9, link=value)),
    "Scenario.aqm": ("aqm", lambda value: scenario(duration=9, aqm=value)),
    "Scenario.flows": ("flows", lambda value: scenario(duration=9, flows=value)),
    "Loop.flows": ("flows", lambda value: pf.Loop(value, pf.Pi2(), capacity="12Mbit/s")),
    "Loop.aqm": ("aqm", lambda value: pf.Loop(pf.Reno(), value, rtt=0.1, p=0.02)),
    "Loop.aqm-of-flows": ("aqm", lambda value: pf.Loop(flows(), value, capacity="12Mbit/s")),
}
NOT_OBJECTS: list[Any] = [
    None,
    5,
    "reno",
    "",
    [],
    [None],
    {},
    pf.Reno,
    [pf.Reno],
    Broken(),
    np.ones(3),
    1.5,
]


class TestNames:
    @pytest.mark.parametrize(("name", "open_", "good"), CHOICES.values(), ids=CHOICES)
    def test_unknown_words(self, name, open_, good):
        open_(good)
        for word in WORDS:
            if name == "Pie table" and word is None:
                continue  # None takes the variant's
            with pytest.raises(TYPED) as caught:
                open_(word)
            assert_typed(caught.value, name)
            assert repr(good) in str(caught.value) or good in str(caught.value), "lists the known"

    @pytest.mark.parametrize("value", [5, 1.5, True, b"web", ["web"], np.array("web"), Broken()])
    def test_label_of_flows(self, value):
        with pytest.raises(TYPED) as caught:
            flows(name=value)
        assert_typed(caught.value, "Flows name")

    @pytest.mark.parametrize(("name", "open_"), OBJECTS.values(), ids=OBJECTS)
    def test_things_of_another_kind(self, name, open_):
        for value in NOT_OBJECTS:
            with pytest.raises(TYPED) as caught:
                open_(value)
            assert_typed(caught.value, name)
            assert isinstance(caught.value, pf.ScenarioError)


class TestContradictions:
    """Values that are fine alone."""

    CALLS: ClassVar[dict[str, tuple[Callable[[], Any], type, str]]] = {
        "both-loads": (lambda: one(p=0.02, p_prime=0.1), pf.DomainError, "both"),
        "no-load": (one, pf.DomainError, "neither"),
        "loop-both-loads": (lambda: loop(p=0.02, p_prime=0.1), pf.DomainError, "both"),
        "loop-no-load": (loop, pf.DomainError, "neither"),
        "loop-no-rtt": (lambda: loop(rtt=None, p=0.02), pf.ScenarioError, "rtt"),
        "loop-capacity-of-a-sender": (
            lambda: loop(p=0.02, capacity="1Mbit/s"),
            pf.ScenarioError,
            "capacity",
        ),
        "loop-rtt-of-flows": (lambda: loop_of_flows(rtt=0.1), pf.ScenarioError, "rtt"),
        "loop-p-of-flows": (lambda: loop_of_flows(p=0.1), pf.ScenarioError, "p"),
        "loop-flows-without-capacity": (
            lambda: loop_of_flows(capacity=None),
            pf.ScenarioError,
            "capacity",
        ),
        "no-base-rtt": (lambda: pf.Flows(pf.Reno()), pf.ScenarioError, "base_rtt"),
        "no-integral": (lambda: pf.Pi2(alpha=0, beta=1), pf.DomainError, "alpha"),
        "no-integral-in-one-element": (
            lambda: pf.Pi2(alpha=[0.1, 0.0], beta=1),
            pf.DomainError,
            "alpha",
        ),
        "negative-beta": (lambda: pf.Pi2(beta=-1), pf.DomainError, "beta"),
        "no-interval": (lambda: pf.Pi2(update_interval=0), pf.DomainError, "update_interval"),
        "no-coupling": (lambda: pf.CoupledPi2(k=0), pf.DomainError, "k"),
        "negative-coupling": (lambda: pf.CoupledPi2(k=-2), pf.DomainError, "k"),
        "a-below-b": (lambda: hollot(a=1e-5, b=2e-5), pf.DomainError, "a"),
        "overload": (lambda: many(capacity="1Mbit/s"), pf.DomainError, "capacity"),
        "overload-in-a-loop": (
            lambda: loop_of_flows(capacity="1Mbit/s"),
            pf.DomainError,
            "capacity",
        ),
        "overload-in-one-element": (
            lambda: many(capacity=[12e6, 1e6]),
            pf.DomainError,
            "capacity",
        ),
        "alpha-cut-to-zero": (lambda: pf.presets.tc_max_rtt(5), pf.DomainError, "max_rtt"),
        "no-closed-limit": (
            lambda: pf.loop.low_load(pf.Scalable(), pf.Pi2(), "100ms"),
            pf.UnsupportedError,
            "Scalable",
        ),
    }

    @pytest.mark.parametrize(("call", "kind", "name"), CALLS.values(), ids=CALLS)
    def test_refused(self, call, kind, name):
        with pytest.raises(kind) as caught:
            call()
        assert_typed(caught.value, name)


class TestOwnLaws:
    def test_declared_fields_are_checked_alike(self):
        @dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
        class Mine(pf.Reno):
            gain: Any = quantity(0.5, "number", high=1.0)

        door = field(Mine, "gain", 0.5, high=1.0, bare_text=True)
        for value, shown in BAD.values():
            refuse(door, value, shown)
        refuse(door, 1.5, "1.5")


class TestLowLoad:
    @pytest.mark.parametrize("value", NOT_OBJECTS)
    def test_things_of_another_kind(self, value):
        for sender, queue in ((value, pf.Pi2()), (pf.Reno(), value)):
            with pytest.raises(pf.UnsupportedError) as caught:
                pf.loop.low_load(sender, queue, "100ms")
            assert_typed(caught.value, "closed-form limit")


def finite(value: Any) -> bool:
    """No NaN, and no infinity, in a number, array or nested tuple."""
    if isinstance(value, tuple):
        return all(finite(item) for item in value)
    return isinstance(value, str) or bool(np.isfinite(value).all())


CLOSED_FORMS = [
    (sender, queue)
    for sender in (pf.Reno, pf.CReno, pf.Scalable)
    for queue in (pf.Pi, pf.Pie, pf.Pi2, pf.CoupledPi2)
    if (sender, queue) != (pf.Scalable, pf.Pi2)
]


class TestNothingNaN:
    """At the far ends of what is accepted, operating points stay finite numbers."""

    ENDS = (1e-20, 1e-9, 1.0, 1e9, 1e20)

    @pytest.mark.parametrize("sender", [pf.Reno, pf.CReno, pf.Scalable])
    @pytest.mark.parametrize("queue", [pf.Pi, pf.Pie, pf.Pi2, pf.CoupledPi2])
    def test_operating_points(self, sender, queue):
        ends = np.array(self.ENDS)
        alpha, interval, rtt = ends[:, None, None, None], ends[:, None, None], ends[:, None]
        aqm = queue(alpha=alpha, update_interval=interval, target=rtt)
        point = pf.equilibrium_of(sender(), aqm, rtt=rtt, p_prime=ends[ends <= 1])
        for name, value in vars(point).items():
            assert finite(value), name

    @pytest.mark.parametrize("end", ENDS)
    def test_mixtures_are_finite_or_refused(self, end):
        for count, base, capacity in [(end, 0.1, 1e7), (10, end, 1e7), (10, 0.1, end)]:
            mixture = [pf.Flows(pf.Reno(), count, base), pf.Flows(pf.Scalable(), 1, 0.1)]
            try:
                point = pf.equilibrium(mixture, pf.CoupledPi2(), capacity)
            except TYPED as error:
                assert_typed(error, "capacity")
            else:
                assert finite(tuple(vars(point).values()))

    @pytest.mark.parametrize("update", ["continuous", "delayed"])
    @pytest.mark.parametrize(("sender", "queue"), CLOSED_FORMS)
    def test_margins(self, sender, queue, update):
        """Infinite where there is no crossing, but a number everywhere."""
        ends = np.array(self.ENDS)
        alpha, interval, rtt = ends[:, None, None, None], ends[:, None, None], ends[:, None]
        for beta in (0.0, *self.ENDS):
            aqm = queue(alpha=alpha, beta=beta, update_interval=interval)
            p_prime = np.minimum(ends, 0.3)
            margins = pf.Loop(sender(), aqm, rtt=rtt, p_prime=p_prime, update=update).margins()
            limit = pf.loop.low_load(sender(), aqm, rtt, update)
            for found in (margins, limit):
                for value in (*found, found.gain_margin_db, found.delay_margin):
                    assert not np.isnan(value).any()
