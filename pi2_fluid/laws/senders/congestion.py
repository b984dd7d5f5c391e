"""A congestion control of the Linux kernel that has no equations here: its name."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, ClassVar, Final, NoReturn

from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.laws.opaque import no_equations
from pi2_fluid.laws.sender import Sender
from pi2_fluid.ops import Number
from pi2_fluid.records.record import described

_NEEDED: Any = None
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,15}")  # TCP_CA_NAME_MAX, and no space


@dataclasses.dataclass(frozen=True, eq=False)
class Congestion(Sender):
    """A congestion control of the Linux kernel that has no equations here.

    Parameters
    ----------
    control : str
        What the kernel calls it: "bbr", or any other that it has. Up to 15 letters, digits,
        underscores and hyphens.

    Raises
    ------
    QuantityError
        If it is no such name.

    Notes
    -----
    Whether it asks for ECN is `ecn` of its flows; what it sends, ECT(0) or ECT(1), is its own. BBR
    of Linux (version 1) does not answer marks, and paces by itself whatever queue its host has.
    Prague is in no kernel of kernel.org, but in the tree of the L4S team; there `Prague` runs, too.

    Nothing is known of it but what the kernel does: no fluid, no loop and no packets here run it,
    and every method raises `UnsupportedError`.

    Examples
    --------
    >>> Congestion("bbr")
    Congestion('bbr')
    """

    signal: ClassVar = "classic"
    only_in: ClassVar = "Linux()"

    control: str = described(_NEEDED, "a name, up to 15 letters, digits, _ and -", needed=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        control: Any = self.control
        if control is None:
            raise QuantityError(
                'Congestion control = None is missing: give what the kernel calls it, e.g. "bbr".'
            )
        if not isinstance(control, str) or not _NAME.fullmatch(control):
            raise QuantityError(
                f"Congestion control = {show_value(control)} is no name of one: give up to 15"
                ' letters, digits, underscores and hyphens, e.g. "bbr".'
            )

    def __repr__(self) -> str:
        return f"Congestion({self.control!r})"

    @property
    def label(self) -> str:
        """The kernel's name."""
        return self.control

    def rate(
        self, x: Number, x_delayed: Number, signal_delayed: Number, rtt: Number, rtt_delayed: Number
    ) -> NoReturn:
        """Refuse: no equations."""
        raise no_equations(self)

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        """Refuse: no equations."""
        raise no_equations(self)

    acked = _refuse
    initial = _refuse
    sending_rate = _refuse
    leave_slow_start = _refuse
    equilibrium = _refuse
    at_rest = _refuse
    packet_parameters = _refuse
