"""What RED's thresholds are given in, and what contradicts its ramps: of a law that is a `Red`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from pi2_fluid.errors import DomainError, QuantityError, show_value
from pi2_fluid.ops import Number, namespace
from pi2_fluid.units import parse_quantity, validate_quantity

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Line
    from pi2_fluid.values import Truth

#: The fields of the ramp for packets that can be marked.
SECOND_RAMP: Final = ("mark_min", "mark_max", "mark_max_p")
_THRESHOLDS: Final = ("min", "max", "mark_min", "mark_max")
_FULL_PACKET: Final = 1500.0  # bytes
_SMALLEST_WEIGHT: Final = 2.0**-31


class Ramps(Protocol):
    """What is asked of a `Red`, by the names of its fields."""

    @property
    def min(self) -> Number:
        """Where the first ramp begins (packets)."""

    @property
    def max(self) -> Number:
        """Where it ends (packets)."""

    @property
    def weight(self) -> Number:
        """Of one packet in the average."""

    @property
    def gentle(self) -> bool:
        """Whether it rises to 1 beyond."""

    @property
    def ecn(self) -> bool:
        """Whether packets are marked."""

    @property
    def mark_min(self) -> Number | None:
        """Where the second ramp begins (packets)."""

    @property
    def mark_max(self) -> Number | None:
        """Where that ends (packets)."""

    @property
    def bytes(self) -> bool:
        """Whether bytes are counted."""

    @property
    def packet_size(self) -> Number | None:
        """In which thresholds are counted (bytes)."""

    @property
    def arithmetic(self) -> str:
        """Of which integers, if any."""

    @property
    def spacing(self) -> str:
        """Of signals."""


def count_in_packets(law: Ramps) -> None:
    """Turn thresholds that are sizes into packets, of `packet_size` or 1500 bytes.

    Raises
    ------
    QuantityError, DomainError
        If packet_size is no size, or 0.
    """
    sizes = {name: getattr(law, name) for name in _THRESHOLDS if _is_size(getattr(law, name))}
    if not sizes:
        return
    full = _FULL_PACKET if law.packet_size is None else law.packet_size
    packet = validate_quantity(full, "size", "Red packet_size")
    object.__setattr__(law, "packet_size", packet)
    for name, text in sizes.items():
        given = validate_quantity(text, "size", f"Red {name}")
        object.__setattr__(law, name, given / packet)


def _is_size(value: object) -> bool:
    """Return whether a threshold is text with a unit of bytes."""
    if not isinstance(value, str):
        return False
    try:
        parse_quantity(value, "size")
    except QuantityError:
        return False  # which is said of packets
    return True


def check_second_ramp(law: Ramps) -> None:
    """Refuse half of a second ramp, one that nothing meets, or one that falls.

    Raises
    ------
    DomainError
        If it is such.
    """
    given = [name for name in SECOND_RAMP if getattr(law, name) is not None]
    if not given:
        return
    if law.mark_min is None or law.mark_max is None:
        raise DomainError(
            f"Red {given[0]} = {show_value(getattr(law, given[0]))} is of a second ramp, which"
            " goes from mark_min to mark_max: give both, or neither."
        )
    if not law.ecn or law.arithmetic == "fixed":
        why = (
            'Linux has none, whose integers arithmetic = "fixed" asks for: give "real"'
            if law.ecn
            else "ecn = False marks nothing: give ecn = True"
        )
        raise DomainError(
            f"Red mark_min = {show_value(law.mark_min)} is of a second ramp, for packets that can"
            f" be marked, and {why}, or leave it out."
        )
    if anywhere(lambda low, high: high < low, law.mark_min, law.mark_max):
        raise DomainError(
            f"Red mark_max = {show_value(law.mark_max)} is below mark_min ="
            f" {show_value(law.mark_min)}: give mark_max >= mark_min."
        )


def anywhere(test: Callable[..., Truth], *values: Number) -> bool:
    """Whether the test is true anywhere; not asked of values that JAX is tracing."""
    return namespace(*values) is np and bool(np.any(test(*(np.asarray(v, float) for v in values))))


def require_integers(law: Ramps, link: Line) -> None:
    """Refuse what Linux's integers cannot express.

    Raises
    ------
    DomainError
        If a field is such.
    """
    if law.gentle:
        raise DomainError(
            'Red gentle = True is unknown to Linux, whose integers arithmetic = "fixed" asks for:'
            " give gentle = False."
        )
    if not law.bytes:
        raise DomainError(
            'Red bytes = False counts packets, and Linux, whose integers arithmetic = "fixed" asks'
            " for, counts bytes: leave it out."
        )
    if law.spacing != "uniform":
        raise DomainError(
            f"Red spacing = {law.spacing!r} is unknown to Linux, whose integers"
            ' arithmetic = "fixed" asks for: give spacing = "uniform".'
        )
    if math.frexp(law.weight)[0] != 0.5 or law.weight < _SMALLEST_WEIGHT:
        raise DomainError(
            f"Red weight = {show_value(law.weight)} is none of 1, 1/2, 1/4 ... 2**-31, which"
            ' arithmetic = "fixed" averages by: give one of them, such as 2**-9.'
        )
    if 0.0 < (law.max - law.min) * link.packet_size < 1.0:
        raise DomainError(
            f"Red max = {show_value(law.max)} is less than a byte above min ="
            f' {show_value(law.min)}, and arithmetic = "fixed" counts in bytes: give a larger max,'
            " or an equal one."
        )
