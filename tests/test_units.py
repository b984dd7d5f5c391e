"""Text to SI and back: what is read, what is refused, and what the refusal says."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from refusals import assert_sentence

import pi2_fluid as pf
from pi2_fluid.errors import show_value
from pi2_fluid.units import broadcast_shape, format_quantity, parse_quantity, validate_quantity

patient = settings(deadline=None)  # a loaded machine is no reason to fail

DIMENSIONS = ["time", "rate", "size", "packets", "frequency", "number", "fraction"]

ACCEPTED = [
    ("100ms", "time", 0.1),
    ("100 ms", "time", 0.1),
    ("  100ms\t", "time", 0.1),
    ("+100ms", "time", 0.1),
    ("1e2ms", "time", 0.1),
    ("1E+2ms", "time", 0.1),
    (".1s", "time", 0.1),
    ("0.s", "time", 0.0),
    ("32ms", "time", 0.032),
    ("15us", "time", 15e-6),
    ("15\u00b5s", "time", 15e-6),  # the micro sign
    ("15\u03bcs", "time", 15e-6),  # the Greek letter
    ("3ns", "time", 3e-9),
    ("2min", "time", 120.0),
    ("1h", "time", 3600.0),
    ("-5ms", "time", -0.005),  # the sign is a matter of the range, not of the spelling
    ("10Mbit/s", "rate", 1e7),
    ("10Mb/s", "rate", 1e7),
    ("10mbit", "rate", 1e7),  # tc's own spellings
    ("10Mbit", "rate", 1e7),
    ("1gbit", "rate", 1e9),
    ("1Gbit", "rate", 1e9),
    ("500kbit", "rate", 5e5),
    ("500kb/s", "rate", 5e5),
    ("8bit", "rate", 8.0),
    ("2.5 Gbit/s", "rate", 2.5e9),
    ("1500B", "size", 1500.0),
    ("64kB", "size", 64e3),
    ("64KiB", "size", 65536.0),
    ("1MiB", "size", 1048576.0),
    ("40000 packets", "packets", 4e4),
    ("1 packet", "packets", 1.0),
    ("40000p", "packets", 4e4),
    ("0.3125", "frequency", 0.3125),
    ("0.3125Hz", "frequency", 0.3125),
    ("1kHz", "frequency", 1e3),
    ("0.5", "number", 0.5),
    ("1e-3", "number", 1e-3),
    ("10Mbps", "rate", 1e7),
    ("2.5 Gbps", "rate", 2.5e9),
    ("1%", "fraction", 0.01),
    ("0.01", "fraction", 0.01),
    ("12.5 %", "fraction", 0.125),
]

REFUSED = [
    # no unit where one is needed
    ("100", "time"),
    ("1e5", "time"),
    ("1e7", "rate"),
    ("1500", "size"),
    ("40000", "packets"),
    # tc reads these as bytes
    ("10mbps", "rate"),
    ("10MBps", "rate"),
    ("10kbps", "rate"),
    ("50%", "rate"),
    # expressions and code
    ("9**9**9 s", "time"),
    ("1+1s", "time"),
    ("2*50ms", "time"),
    ("__import__('os')", "time"),
    # not finite
    ("1e999s", "time"),
    ("1e308h", "time"),
    ("nan ms", "time"),
    ("nan", "number"),
    ("inf s", "time"),
    ("inf", "frequency"),
    ("Infinity", "number"),
    # a unit of another dimension, or of none
    ("100ms", "rate"),
    ("10Mbit/s", "time"),
    ("1500B", "time"),
    ("40000 packets", "size"),
    ("100ms", "frequency"),
    ("5%", "number"),
    ("5s", "number"),
    ("5 parsecs", "time"),
    ("5m", "time"),
    ("100MS", "time"),
    ("5e", "time"),
    # not one number
    ("", "time"),
    ("   ", "time"),
    ("ms", "time"),
    ("s5", "time"),
    ("1,5s", "time"),
    ("1.5.5s", "time"),
    ("1_000ms", "time"),
    ("0x10s", "time"),
    ("1e5.5s", "time"),
    ("--5ms", "time"),
    ("- 5ms", "time"),
    ("5ms 6ms", "time"),
    ("5m s", "time"),
    ("10 Mbit / s", "rate"),
    ("\u0661\u0660ms", "time"),  # Arabic-Indic digits, which float() would read
    ("\uff11\uff10ms", "time"),  # full-width digits
    ("\u221e s", "time"),
    ("5ms\x00", "time"),
    # long
    ("9" * 100_000 + "s", "time"),
    (" " * 100_000 + "5ms", "time"),
    ("1" + "ms" * 100_000, "time"),
]


def assert_one_sentence(text: str, name: str) -> None:
    """One line, one full stop at its end; says whose value it is, and what to do."""
    assert_sentence(text)
    assert text.startswith(name)
    assert re.search(r": (give|pass|enable|fill|format) ", text), text


@pytest.mark.parametrize(("text", "dimension", "value"), ACCEPTED)
def test_reads(text, dimension, value):
    assert parse_quantity(text, dimension) == value


@pytest.mark.parametrize(
    ("text", "dimension"), REFUSED, ids=[f"{d}-{t[:20]!a}" for t, d in REFUSED]
)
def test_refuses(text, dimension):
    with pytest.raises(pf.QuantityError) as caught:
        parse_quantity(text, dimension, "Link thing")
    message = str(caught.value)
    assert_one_sentence(message, "Link thing = ")
    shown = repr(text) if len(repr(text)) <= 64 else repr(text)[:64] + "..."
    assert f"Link thing = {shown} " in message
    assert len(message) < 300


def test_wrong_unit_lists_the_right_ones():
    with pytest.raises(pf.QuantityError, match=r"give a time such as .* s, ms, us, µs, ns, min, h"):
        parse_quantity("5 parsecs", "time")


@pytest.mark.parametrize("dimension", DIMENSIONS)
@patient
@given(value=st.floats(allow_nan=False, allow_infinity=False))
@example(value=0.1 + 0.2)
@example(value=5e-324)
@example(value=1.7976931348623157e308)
@example(value=-0.0)
def test_format_and_parse_round_trip(dimension, value):
    text = format_quantity(value, dimension)
    assert len(text) <= 40
    assert parse_quantity(text, dimension) == value
    # NumPy scalars print differently, but are the same number
    assert format_quantity(np.float64(value), dimension) == text


@pytest.mark.parametrize(
    ("value", "dimension", "text"),
    [
        (0.032, "time", "32ms"),
        (15e-6, "time", "15us"),
        (1.0, "time", "1s"),
        (1e7, "rate", "10Mbit/s"),
        (1500.0, "size", "1500B"),
        (40000.0, "packets", "40000 packets"),
        (0.3125, "frequency", "0.3125Hz"),
        (0.5, "number", "0.5"),
    ],
)
def test_format_is_short(value, dimension, text):
    assert format_quantity(value, dimension) == text


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, [1.0, 2.0], None, True])
def test_format_refuses(value):
    with pytest.raises(pf.QuantityError) as caught:
        format_quantity(value, "time")
    assert_one_sentence(str(caught.value), "value = ")


@pytest.mark.parametrize(
    ("unit", "dimension", "factor"),
    [
        ("ms", "time", Fraction(1, 10**3)),
        ("us", "time", Fraction(1, 10**6)),
        ("ns", "time", Fraction(1, 10**9)),
        ("min", "time", Fraction(60)),
        ("kbit/s", "rate", Fraction(10**3)),
        ("Mbit/s", "rate", Fraction(10**6)),
        ("Gbit/s", "rate", Fraction(10**9)),
        ("KiB", "size", Fraction(1024)),
    ],
)
@patient
@given(count=st.integers(-(10**6), 10**6))
def test_whole_numbers_of_a_unit_are_correctly_rounded(unit, dimension, factor, count):
    assert parse_quantity(f"{count}{unit}", dimension) == float(count * factor)


@pytest.mark.parametrize("dimension", DIMENSIONS)
@patient
@given(
    text=st.one_of(
        st.text(max_size=80), st.text("0123456789.eE+-*/ _,mskMGbitBHzpµμnaf", max_size=20)
    )
)
def test_any_text_is_read_or_refused(dimension, text):
    try:
        value = parse_quantity(text, dimension)
    except pf.QuantityError as error:
        # without the text itself, which may hold anything
        assert_one_sentence(str(error).replace(show_value(text), "''", 1), "value = ")
    else:
        assert math.isfinite(value)


class TestValidate:
    def test_scalars_become_floats(self):
        for given_value in (1, 1.0, np.float64(1.0), np.int8(1), np.array(1.0), "1s"):
            value = validate_quantity(given_value, "time", "rtt")
            assert type(value) is float
            assert value == 1.0

    def test_arrays_become_copies_in_double_precision(self):
        mine = np.array([1.0, 2.0])
        theirs = validate_quantity(mine, "time", "rtt")
        mine[0] = 7.0
        assert theirs.dtype == np.float64
        assert theirs.tolist() == [1.0, 2.0]
        assert validate_quantity([[1], [2]], "time", "rtt").shape == (2, 1)

    def test_long_double_is_taken_as_double(self):
        assert validate_quantity(np.longdouble("0.5"), "number", "p") == 0.5

    @pytest.mark.parametrize(
        ("value", "range_", "allowed"),
        [
            (0.0, {}, False),
            (0.0, {"closed": True}, True),
            (-1e-9, {"closed": True}, False),
            (1.0, {"high": 1.0}, True),
            (1.0 + 1e-15, {"high": 1.0}, False),
            (1e-20, {}, True),
            (9e-21, {}, False),
            (1e20, {}, True),
            (1.1e20, {}, False),
        ],
    )
    def test_range(self, value, range_, allowed):
        if allowed:
            assert validate_quantity(value, "number", "p", **range_) == value
            return
        with pytest.raises(pf.DomainError, match=r"^p = ") as caught:
            validate_quantity(value, "number", "p", **range_)
        assert_one_sentence(str(caught.value), f"p = {value!r} ")

    def test_range_is_named(self):
        with pytest.raises(pf.DomainError, match=r"is outside \(0, 1\]"):
            validate_quantity(2.0, "number", "p", high=1.0)
        with pytest.raises(pf.DomainError, match=r"is outside \[0, inf\)"):
            validate_quantity(-2.0, "number", "beta", closed=True)

    def test_text_is_shown_as_it_was_given(self):
        with pytest.raises(pf.DomainError, match=r"^rtt = '-5ms' is outside"):
            validate_quantity("-5ms", "time", "rtt")

    def test_first_bad_element_is_shown(self):
        with pytest.raises(pf.DomainError, match=r"outside \(1, inf\): .* such as 2\.$"):
            pf.Price(phi=1)
        with pytest.raises(pf.DomainError, match=r"^rtt = -4\.0 is outside"):
            validate_quantity([[1.0, 2.0], [-4.0, -5.0]], "time", "rtt")
        with pytest.raises(pf.QuantityError, match=r"^rtt = nan is not finite"):
            validate_quantity([1.0, math.nan], "time", "rtt")

    def test_traced_values_pass_in_double_precision_only(self, jax):
        def double(x: Any) -> Any:
            return 2.0 * validate_quantity(x, "time", "rtt")

        with jax.enable_x64(True):
            assert float(jax.jit(double)(0.25)) == 0.5
            assert float(jax.grad(double)(0.25)) == 2.0
        with pytest.raises(pf.DomainError, match="enable 64 bits") as caught:
            jax.jit(double)(0.25)
        assert_one_sentence(str(caught.value), "rtt is float32")


class TestBroadcastShape:
    def test_follows_numpy(self):
        arrays = {"a": 1.0, "b": np.ones((3, 1)), "c": np.ones(2), "d": np.ones((1, 1))}
        assert broadcast_shape(arrays) == (3, 2)
        assert broadcast_shape({}) == ()

    def test_names_those_that_disagree(self):
        with pytest.raises(pf.QuantityError) as caught:
            broadcast_shape({"rtt": 1.0, "alpha": np.ones(2), "beta": np.ones(3)})
        message = str(caught.value)
        assert_one_sentence(message, "alpha of shape (2,) and beta of shape (3,) ")


class TestShowValue:
    def test_is_one_short_line(self):
        shown = show_value(np.ones((50, 50)))
        assert "\n" not in shown
        assert len(shown) <= 67

    def test_survives_integers_that_python_does_not_print(self):
        assert show_value(10**5000) == "int (too long to print)"
