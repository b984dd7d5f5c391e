"""Plain PI: the controller's variable is the probability itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pi2_fluid.errors import DomainError, show_value
from pi2_fluid.laws.aqm import Signal
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.ops import Number
from pi2_fluid.records.record import OptionalParameter, choice, quantity
from pi2_fluid.units import LONG_WAIT, SLOW_LINK, broadcast_shape, validate_quantity

if TYPE_CHECKING:
    from pi2_fluid.values import Quantity


@dataclass(frozen=True, eq=False, kw_only=True)
class Pi(PiFamily):
    """The PI controller with constant gains: every packet sees p = u.

    Parameters
    ----------
    alpha, beta, target, update_interval, arithmetic, quirks, first_update
        As in `PiFamily`.
    ecn : bool, default False
        Whether packets that can be marked are marked instead of dropped.
    drop_at : {"enqueue", "dequeue"}
        Where packets are judged.
    per_packet : float or str, optional
        Seconds that each queued packet counts for, so that the controller acts on the queue's
        length, as in its original form (`from_hollot` sets it); None: on the time that the packet
        at the head has waited.

    Raises
    ------
    QuantityError
        If a field is no number of its unit, or a word that it does not know.
    DomainError
        If a number is outside its range, as alpha = 0 is: without it
        the delay never settles at its target.

    Notes
    -----
    The last three are for packets only.

    Source: PI2 paper (CoNEXT'16), section 2 and the curve "pi" of Figure 6.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> queue = pf.Pi(alpha="0.5Hz", beta="5Hz", update_interval="16ms")
    >>> queue.encode(0.01)
    Signal(classic=0.01, scalable=0.01)
    >>> print(pf.Loop(pf.Scalable(), queue, rtt="50ms", p=0.1).margins().verdict)
    stable
    """

    discipline: ClassVar = "pi"
    encoder: ClassVar = "linear"
    packets_only: ClassVar = (*PiFamily.packets_only, "ecn", "drop_at", "per_packet")

    ecn: bool = choice(False, (True, False))
    drop_at: str = choice("enqueue", ("enqueue", "dequeue"))
    per_packet: OptionalParameter = quantity(None, "time", usual=LONG_WAIT, optional=True)

    def encode(self, u: Number) -> Signal:
        """Return (u, u)."""
        return Signal(u, u)

    def decode(self, p: Number, signal: str) -> Number:
        """Return p."""
        return p

    @classmethod
    def from_hollot(
        cls,
        a: Quantity,
        b: Quantity,
        frequency: Quantity,
        reference: Quantity,
        capacity: Quantity,
        packet_size: Quantity = "500B",
    ) -> Pi:
        """Return the same controller from the queue-length form of the original publication.

        p += a (q - reference) - b (q_before - reference), `frequency` times per second.

        Parameters
        ----------
        a, b : float
            Gains per packet of queue, a > b > 0.
        frequency : float
            Updates per second (Hz).
        reference : float or str
            Queue length aimed at, in packets.
        capacity : float or str
            Link capacity (bit/s).
        packet_size : float or str, default "500B"
            Mean packet size in bytes (ns-2's default).

        Raises
        ------
        DomainError
            If a <= b: the integral gain would not be positive.

        Notes
        -----
        Source: Hollot, Misra, Towsley, Gong (INFOCOM 2001): alpha = (a - b) C and beta = b C with
        C in packets/s.

        Examples
        --------
        >>> pi = Pi.from_hollot(1.822e-5, 1.816e-5, 160, 200, "15Mbit/s")
        >>> round(pi.alpha, 8), round(pi.beta, 4), round(pi.target, 6)
        (0.000225, 0.0681, 0.053333)
        """
        a = validate_quantity(a, "number", "a")
        b = validate_quantity(b, "number", "b")
        frequency = validate_quantity(frequency, "frequency", "frequency")
        reference = validate_quantity(reference, "packets", "reference")
        capacity = validate_quantity(capacity, "rate", "capacity", usual_from=SLOW_LINK)
        packet_size = validate_quantity(packet_size, "size", "packet_size")
        named = {"a": a, "b": b, "frequency": frequency, "reference": reference}
        broadcast_shape(named | {"capacity": capacity, "packet_size": packet_size})
        if np.any(a <= b):
            raise DomainError(
                f"a = {show_value(a)} and b = {show_value(b)} leave no integral gain (a - b) C:"
                " give a > b > 0."
            )
        packets = capacity / (8.0 * packet_size)
        return cls(
            alpha=(a - b) * packets,
            beta=b * packets,
            target=reference / packets,
            update_interval=1.0 / frequency,
            per_packet=1.0 / packets,
        )
