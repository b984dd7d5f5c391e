"""How the rates of the classes move the queue delay of a link, with one queue or two.

One queue: q' = sum of count * y - C and d = q/C, so d' = sum of weight * y, weight = count/C.

Two queues, Classic traffic waiting: L4S packets are served as they come and take their rate y_L
from the Classic queue, which is served at mu = C - y_L. Then q' = y_C - mu and d = q/mu: a rising
y_L makes the queue grow and, at once, slower. For small deviations, with d0 the delay at rest,

    d' = (y_C + y_L + d0 y_L') / mu:    every weight is count/mu, and L4S classes have the lead d0.

The derivatives are those of the queue's own `serve` and `delays`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.derivatives import as_arrays, differentiate, numeric
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.equilibrium import OperatingPoint

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, Number, Real

_APART: Final = 1e-9


class Coupling(NamedTuple):
    """What one class does to the queue delay."""

    weight: Real
    """Seconds of delay per second and per (packet per second) of one flow."""
    lead: FloatArray | None
    """As in `LinearClass`: seconds, or None."""
    feels: bool
    """Whether that delay is part of the class's own round-trip time."""


def couple(
    senders: Sequence[Sender], aqm: Aqm, point: OperatingPoint, shape: tuple[int, ...]
) -> list[Coupling]:
    """Return what each class does to the delay of the queue that rules.

    Raises
    ------
    UnsupportedError
        If L4S traffic is up against what a dual queue keeps for Classic traffic.
    """
    shares, rates = (x if isinstance(x, tuple) else (x,) for x in (point.share, point.rate))
    # count / capacity, which is share / rate
    per_link = [share / rate for share, rate in zip(shares, rates, strict=True)]
    if not aqm.rests_apart:
        return [Coupling(weight, None, True) for weight in per_link]
    scalable = [sender.signal == "scalable" for sender in senders]
    to_l = sum((s for s, l4s in zip(shares, scalable, strict=True) if l4s), np.zeros(()))
    packets, queue_delay, to_l = as_arrays([point.capacity, point.queue_delay[0], to_l], shape)
    to_c, to_l = packets * (1.0 - to_l), packets * to_l
    if not np.any(queue_delay):
        # The L queue rules, and the Classic one is empty.
        _, served = aqm.serve((False, True), (to_c, to_l), packets)
        return [
            Coupling(weight * packets / served if l4s else 0.0 * weight, None, l4s)
            for weight, l4s in zip(per_link, scalable, strict=True)
        ]
    served, _ = aqm.serve((True, False), (to_c, to_l), packets)
    _require_room_for_l4s(served, to_c, packets)
    what = f"{type(aqm).__name__}.serve"
    found = link_slopes(aqm, queue_delay * served, to_c, to_l, packets)
    by_queue, by_service, service = (numeric(value, shape, what) for value in found)
    lead = -by_service / by_queue
    return [
        Coupling(-by_queue * service * weight * packets, lead, False)
        if l4s
        else Coupling(by_queue * weight * packets, None, True)
        for weight, l4s in zip(per_link, scalable, strict=True)
    ]


def require_plain_sharing(
    aqm: Aqm, arriving: tuple[float, float], queue_delay: tuple[float, float], packets: float
) -> None:
    """Refuse a dual queue of which not one queue waits, while the other is served as packets come.

    Parameters
    ----------
    aqm : Aqm
        The law.
    arriving : pair of float
        Classic and L4S packets per second.
    queue_delay : pair of float
        Seconds; the longer one is that of the queue that waits.
    packets : float
        Packets per second of the link.

    Raises
    ------
    UnsupportedError
        If L4S traffic is up against what is kept for Classic traffic, or a law of one's own shares
        the link in another way.
    """
    classic, l4s = queue_delay
    to_c, to_l = arriving
    if l4s > classic:
        plain = abs(float(aqm.serve((False, True), arriving, packets)[1]) - to_l) < _APART * packets
    else:
        served = aqm.serve((True, False), arriving, packets)[0]
        _require_room_for_l4s(served, to_c, packets)
        queue, in_c, in_l, total = as_arrays([classic * to_c, to_c, to_l, packets], ())
        slopes = link_slopes(aqm, queue, in_c, in_l, total)
        by_queue, by_service, service = (np.asarray(slope, float) for slope in slopes)
        found = [by_queue * to_c, -by_service / by_queue / classic, -service]
        plain = bool(np.allclose(found, 1.0, rtol=_APART, atol=0.0))
    if not plain:
        raise UnsupportedError(
            f"{type(aqm).__name__} shares its link in a way of its own, for which loops are built"
            " of one link only: give DualPi2, or a network of one node."
        )


def _require_room_for_l4s(served: Number, to_c: Number, packets: Number) -> None:
    if np.any(np.abs(np.asarray(served - to_c)) > _APART * np.asarray(packets)):
        raise UnsupportedError(
            "L4S traffic takes more of the link than c_protection leaves it, so that both queues"
            " fill and each is a loop of its own, which is not built here: lower c_protection, or"
            " add Classic flows."
        )


def link_slopes(
    aqm: Aqm, queue: Number, to_c: Number, to_l: Number, packets: Number
) -> tuple[Number, Number, Number]:
    """Differentiate the Classic delay over queue and service, and the service over L4S arrivals.

    A pure function, as `rate_slopes`: Classic packets wait, L4S packets are served as they come.
    """
    served = classic_service(aqm, to_l, to_c, packets)
    (by_queue,), (by_service,) = differentiate(
        aqm, "delays", (queue, served, packets), [0, 1], classic_delay
    )
    ((service,),) = differentiate(aqm, "serve", (to_l, to_c, packets), [0], classic_service)
    return by_queue, by_service, service


def classic_service(aqm: Aqm, to_l: Number, to_c: Number, packets: Number) -> Number:
    """Return what Classic packets get that wait, of L4S and Classic arrivals (packets/s)."""
    return aqm.serve((True, False), (to_c, to_l), packets)[0]


def classic_delay(aqm: Aqm, waiting: Number, served: Number, packets: Number) -> Number:
    """Return their delay (s) where so many wait, and so many per second are served."""
    return aqm.delays((waiting, 0.0 * waiting), (served, packets))[0]
