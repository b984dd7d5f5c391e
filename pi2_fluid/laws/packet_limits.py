"""What a queue of packets cannot be asked for, whatever its law."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pi2_fluid.errors import DomainError, UnsupportedError, show_value

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Aqm, Line
    from pi2_fluid.values import Number

_SHORTEST, _LONGEST = 1e-9, 1e3  # s
_LARGEST_PACKET: Final = 65535  # bytes: sizes have 16 bits
_ROUNDING: Final = 1e-9


def require_single(law: Aqm) -> None:
    """Refuse a law that stands for many."""
    for name, value in vars(law).items():
        if getattr(value, "ndim", 0):
            raise UnsupportedError(
                f"{type(law).__name__} {name} is an array of shape {value.shape}, and a queue of"
                " packets is a single one: give one number, and make one run for each."
            )


def require_time(name: str, value: Number, *, closed: bool = False) -> None:
    """Refuse a time of less than 1 ns or more than 1000 s, which itself passes if `closed`."""
    if not _SHORTEST <= value <= _LONGEST or (value == _LONGEST and not closed):
        raise DomainError(
            f"{name} = {show_value(value)} is outside [{_SHORTEST:g}, {_LONGEST:g}"
            f"{']' if closed else ')'} s, where the clock of a queue of packets counts: give a time"
            ' such as "15ms".'
        )


def require_below(name: str, value: Number, most: float) -> None:
    """Refuse a number that is not below `most`."""
    if value >= most:
        raise DomainError(
            f"{name} = {show_value(value)} is beyond what a queue of packets computes with: give"
            f" less than {most:g}."
        )


def require_whole(value: Number, sentence: str) -> None:
    """Refuse, with that sentence, what is no whole number but for rounding."""
    if abs(float(value) - round(float(value))) > _ROUNDING:
        raise DomainError(sentence)


def require_whole_packets(link: Line) -> None:
    """Refuse a link whose packets are no whole number of bytes."""
    size = float(link.packet_size)
    if not 1.0 <= size <= _LARGEST_PACKET or size != round(size):
        raise DomainError(
            f"Link packet_size = {show_value(size)} is none of 1, 2 ... {_LARGEST_PACKET} bytes,"
            ' which a queue of packets counts in: give a size such as "1500B".'
        )
