"""Constant bit rate: traffic that ignores every signal, evenly, in bursts or at random."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pi2_fluid.errors import DomainError, ScenarioError, UnsupportedError, show_value
from pi2_fluid.laws.bitrates import segments_per_second, with_packet_size
from pi2_fluid.laws.sender import Sender
from pi2_fluid.ops import Number
from pi2_fluid.records.record import OptionalParameter, choice, quantity
from pi2_fluid.units import SLOW_LINK, is_traced, validate_quantity

if TYPE_CHECKING:
    from pi2_fluid.values import Quantity


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Cbr(Sender):
    """Constant bit rate: every flow sends `rate`, whatever the queue signals.

    What packets alone tell apart is how it comes: one by one and evenly unless `burst`, `spacing`
    or `off` say otherwise. Anything else takes the mean rate. Of an interactive video of 30 frames
    a second, of 12.5 kB each, `burst` is "12500B" at a `rate` of 3 Mbit/s; a ping is a flow of
    small packets, and what it measures the `class_sojourn` of its class.

    Parameters
    ----------
    rate : float or str
        Rate of one flow while it sends (bit/s), headers included; read it back as `bitrate`.
    packet_size : float or str, optional
        Bytes per segment. None, as a rule: operating points and engines fill in the link's. How
        large packets are, `Flows` says.
    thinned : bool, default True
        Whether what the queue signals of it is dropped on arrival, so that only 1 - p of it enters
        the queue, as of any traffic that cannot be marked. False is the fluid literature's, and
        that of a loop: it enters in full, and an overload lasts.
    burst : float or str, optional
        Bytes that are sent together, as those of a video frame, every 8 burst / rate seconds: full
        packets, and one of what is left. None: packets come one by one.
    peak : float or str, optional
        Rate at which the packets of a burst leave (bit/s), at least `rate`. None: back to back, all
        at once.
    spacing : str, default "even"
        "even", or "poisson": the times between packets, or bursts, are independent and exponential.
    on, off : float or str, optional
        Mean times (s) for which it sends and pauses in turns, both exponential; it begins by
        sending. None: it never pauses.

    Raises
    ------
    QuantityError
        If a field is no number of its unit, or a word that it does not know.
    DomainError
        If a number is outside its range, or `peak` below `rate`.
    ScenarioError
        If `on` is given without `off`, or `peak` without `burst`.

    Examples
    --------
    >>> Cbr(rate="6Mbit/s")
    Cbr(rate=6000000.0, packet_size=None, thinned=True)
    >>> Cbr(rate="3Mbit/s", burst="12500B", on="2s", off="1s").constant_rate
    2000000.0
    >>> Cbr(rate="6Mbit/s").on_link("1500B").sending_rate(10.0, rtt=0.1)
    500.0
    """

    signal: ClassVar = None
    packets_only: ClassVar = ("burst", "peak", "spacing")
    # In a contract where `rate` is dx/dt the field cannot have that name. Its key in text is what
    # the constructor calls it; the constructor takes both names, so that `replace` works with both.
    bitrate: Number = dataclasses.field(
        metadata={**quantity(None, "rate", usual_from=SLOW_LINK).metadata, "key": "rate"}
    )
    packet_size: OptionalParameter = quantity(None, "size", optional=True, told=True)
    thinned: bool = choice(True, (True, False))
    burst: OptionalParameter = quantity(None, "size", optional=True)
    peak: OptionalParameter = quantity(None, "rate", usual_from=SLOW_LINK, optional=True)
    spacing: str = choice("even", ("even", "poisson"))
    on: OptionalParameter = quantity(None, "time", optional=True)
    off: OptionalParameter = quantity(None, "time", optional=True)

    def __init__(
        self,
        *,
        rate: Quantity | None = None,
        packet_size: Quantity | None = None,
        thinned: bool = True,
        burst: Quantity | None = None,
        peak: Quantity | None = None,
        spacing: str = "even",
        on: Quantity | None = None,
        off: Quantity | None = None,
        bitrate: Quantity | None = None,
    ) -> None:
        # `rate` goes first: replace(cbr, rate=...) hands over the old bitrate as well.
        value = validate_quantity(
            bitrate if rate is None else rate, "rate", "Cbr rate", usual_from=SLOW_LINK
        )
        given = {
            "bitrate": value,
            "packet_size": packet_size,
            "thinned": thinned,
            "burst": burst,
            "peak": peak,
            "spacing": spacing,
            "on": on,
            "off": off,
        }
        for name, number in given.items():
            object.__setattr__(self, name, number)
        self.__post_init__()

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.on is None) != (self.off is None):
            name, other = ("on", "off") if self.off is None else ("off", "on")
            raise ScenarioError(
                f"Cbr {name} = {show_value(getattr(self, name))} is given without {other}, and it"
                f" sends and pauses in turns: give {other}, too, or leave {name} out."
            )
        if self.peak is None:
            return
        if self.burst is None:
            raise ScenarioError(
                f"Cbr peak = {show_value(self.peak)} bit/s is that of bursts, and there are none:"
                " give burst, or leave peak out."
            )
        if any(map(is_traced, (self.peak, self.bitrate))):
            return
        if np.any(np.asarray(self.peak) < self.bitrate):
            raise DomainError(
                f"Cbr peak = {show_value(self.peak)} bit/s is below rate ="
                f" {show_value(self.bitrate)} bit/s, so that bursts would never end: raise peak, or"
                " lower rate."
            )

    def __repr__(self) -> str:
        fields = f"packet_size={self.packet_size!r}, thinned={self.thinned!r}"
        for field in dataclasses.fields(self):
            if field.name in (*self.packets_only, "on", "off"):
                value = getattr(self, field.name)
                fields += "" if value == field.default else f", {field.name}={value!r}"
        return f"Cbr(rate={self.bitrate!r}, {fields})"

    def on_link(self, packet_size: Number) -> Cbr:
        """Return this law for segments of `packet_size` bytes.

        Raises
        ------
        ScenarioError
            If it has another packet size: a link's is what segments are counted in.
        """
        return with_packet_size(self, packet_size)

    def rate(
        self, x: Number, x_delayed: Number, signal_delayed: Number, rtt: Number, rtt_delayed: Number
    ) -> Number:
        """Return dW/dt = 0: the window is the initial one, and without effect."""
        return 0.0 * x

    @property
    def constant_rate(self) -> Number:
        """Bit/s of every flow: `bitrate`, times the part of time in which it sends."""
        return self.bitrate * self._sends

    @property
    def _sends(self) -> Number:
        """The part of time in which it does not pause."""
        if self.on is None or self.off is None:
            return 1.0
        return self.on / (self.on + self.off)

    @property
    def even(self) -> bool:
        """Whether its packets come one by one, evenly, without pauses."""
        return self.burst is None and self.off is None and self.spacing == "even"

    def packet_parameters(self) -> dict[str, Any]:
        """Return what configures the source, times in s: 0 is without bursts, peak, pauses."""
        return {
            "rate": self.bitrate,
            "burst": self.burst or 0.0,
            "peak": self.peak or 0.0,
            "poisson": self.spacing == "poisson",
            "sends": self.on or 0.0,
            "pause": self.off or 0.0,
        }

    def at_bitrate(self, bitrate: float) -> Cbr:
        """Return the law at another rate."""
        return dataclasses.replace(self, bitrate=bitrate / self._sends)

    def sending_rate(self, x: Number, rtt: Number) -> Number:
        """Return the segments per second, the same at any state and round-trip time."""
        return segments_per_second(self, "rate", self.constant_rate)

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
