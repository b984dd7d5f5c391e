"""Constant bit rate: traffic that ignores every signal."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar

from pi2_fluid.errors import UnsupportedError, show_value
from pi2_fluid.laws.bitrates import segments_per_second, with_packet_size
from pi2_fluid.laws.sender import Sender
from pi2_fluid.ops import Number
from pi2_fluid.records.record import OptionalParameter, choice, quantity
from pi2_fluid.units import SLOW_LINK, validate_quantity

if TYPE_CHECKING:
    from pi2_fluid.values import Quantity

__all__ = ["Cbr"]


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Cbr(Sender):
    """Constant bit rate: every flow sends `rate`, whatever the queue signals.

    Parameters
    ----------
    rate : float or str
        Rate of one flow (bit/s), headers included; read it back as `bitrate`.
    packet_size : float or str, optional
        Bytes per segment. None, as a rule: operating points and engines fill in the link's.
    thinned : bool, default True
        Whether what the queue signals of it is dropped on arrival, so that only 1 - p of it enters
        the queue, as of any traffic that cannot be marked. False is the fluid literature's, and
        that of a loop: it enters in full, and an overload lasts.

    Raises
    ------
    QuantityError
        If a field is no number of its unit, or a word that it does not know.
    DomainError
        If a number is outside its range.

    Examples
    --------
    >>> Cbr(rate="6Mbit/s")
    Cbr(rate=6000000.0, packet_size=None, thinned=True)
    >>> Cbr(rate="6Mbit/s").on_link("1500B").sending_rate(10.0, rtt=0.1)
    500.0
    """

    kernel: ClassVar = "cbr"
    signal: ClassVar = None
    # In a contract where `rate` is dx/dt the field cannot have that name. Its key in text is what
    # the constructor calls it; the constructor takes both names, so that `replace` works with both.
    bitrate: Number = dataclasses.field(
        metadata={**quantity(None, "rate", usual_from=SLOW_LINK).metadata, "key": "rate"}
    )
    packet_size: OptionalParameter = quantity(None, "size", optional=True)
    thinned: bool = choice(True, (True, False))

    def __init__(
        self,
        *,
        rate: Quantity | None = None,
        packet_size: Quantity | None = None,
        thinned: bool = True,
        bitrate: Quantity | None = None,
    ) -> None:
        # `rate` goes first: replace(cbr, rate=...) hands over the old bitrate as well.
        value = validate_quantity(
            bitrate if rate is None else rate, "rate", "Cbr rate", usual_from=SLOW_LINK
        )
        object.__setattr__(self, "bitrate", value)
        object.__setattr__(self, "packet_size", packet_size)
        object.__setattr__(self, "thinned", thinned)
        self.__post_init__()

    def __repr__(self) -> str:
        fields = f"packet_size={self.packet_size!r}, thinned={self.thinned!r}"
        return f"Cbr(rate={self.bitrate!r}, {fields})"

    def on_link(self, packet_size: Number) -> Cbr:
        """Return this law for segments of `packet_size` bytes.

        Raises
        ------
        ScenarioError
            If it has another packet size: on a link all packets have one size.
        """
        return with_packet_size(self, packet_size)

    def fluid_parameters(self) -> dict[str, Any]:
        """Return the rate in segments per second."""
        return {"rate": self.sending_rate(0.0, 1.0)}

    def rate(
        self, x: Number, x_delayed: Number, signal_delayed: Number, rtt: Number, rtt_delayed: Number
    ) -> Number:
        """Return dW/dt = 0: the window is the initial one, and without effect."""
        return 0.0 * x

    @property
    def constant_rate(self) -> Number:
        """Bit/s of every flow: `bitrate`."""
        return self.bitrate

    def at_bitrate(self, bitrate: float) -> Cbr:
        """Return the law at another rate."""
        return dataclasses.replace(self, bitrate=bitrate)

    def sending_rate(self, x: Number, rtt: Number) -> Number:
        """Return the segments per second, the same at any state and round-trip time."""
        return segments_per_second(self, "rate", self.bitrate)

    def at_rest(self, rtt: Number, p: Number) -> Number:
        """Return the packets in flight, at any `p`: what a window of that rate would be."""
        return self.sending_rate(0.0, rtt) * rtt

    def equilibrium(self, rtt: Number, rate: Number) -> Number:
        """Refuse: no signal changes the rate.

        Raises
        ------
        UnsupportedError
            Always.
        """
        raise UnsupportedError(
            "Cbr sends at its own rate whatever the signal, so no probability settles it at"
            f" {show_value(rate)} segments/s: ask a responsive sender."
        )
