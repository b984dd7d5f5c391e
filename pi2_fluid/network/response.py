"""What classes of flows make of the queues on their way while these rest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.sender import Sender, rate_under
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.rest import Rest, own_delay
from pi2_fluid.ops import minimum

if TYPE_CHECKING:
    from pi2_fluid.values import Number


def respond(flows: tuple[Flows, ...], aqm: Aqm, rest: Rest) -> tuple[tuple[Any, ...], ...]:
    """Return (p, rtt, state, rate) of every class while one queue rests."""
    rows = []
    for flow in flows:
        p, rtt, state, rate = answer(flow, [rest], "product")
        # Of thinned traffic only what is not dropped enters the queue.
        thinned = flow.sender.thinned and aqm.thins
        rows.append((p, rtt, state, rate * (1.0 - p) if thinned else rate))
    return tuple(zip(*rows, strict=True))


def answer(flow: Flows, rests: Sequence[Rest], combine: str) -> tuple[Any, Any, Any, Any]:
    """Return (p, rtt, state, rate) of a class while the queues on its way rest.

    Parameters
    ----------
    flow : Flows
        The class.
    rests : sequence of Rest
        The queues, in order.
    combine : {"product", "sum"}
        How their signals do; see `Network`.

    Returns
    -------
    tuple
        The rate is what one flow sends, dropped or not.
    """
    sender = flow.sender
    p, delay = met(sender, rests, combine)
    rtt = flow.base_rtt + delay
    state = sender.at_rest(rtt, p)
    return p, rtt, state, rate_under(sender, state, p, rtt)


def met(sender: Sender, rests: Sequence[Rest], combine: str) -> tuple[Number, Number]:
    """Probability that some queue signals a sender's packet, and the delay in all of them."""
    seen = "classic" if sender.thinned else sender.signal or ""
    signals = [getattr(rest.signal, seen, 0.0) for rest in rests]
    delays = [own_delay(rest.queue_delay, sender) for rest in rests]
    if combine == "sum":
        return minimum(reduce(add, signals), 1.0), reduce(add, delays)
    return reduce(lambda p, q: p + q - p * q, signals), reduce(add, delays)


def linear_form(sender: Sender, p: Number) -> Number:
    """Return p' of a probability: its square root for a classic sender, itself for any other."""
    prime: Number = np.sqrt(p)[()] if sender.signal == "classic" else p
    return prime


def window_of(
    sender: Sender, state: Number | tuple[Number, ...], rate: Number, rtt: Number
) -> Number:
    """Return the window: the first state, or what is under way if signals act on rates at once."""
    if sender.answers_at_once:
        return rate * rtt
    return state[0] if isinstance(state, tuple) else state


def plain(value: Any) -> Any:
    """Return Python floats for scalars, so that they print as numbers; in tuples too."""
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    return float(value) if np.ndim(value) == 0 else value
