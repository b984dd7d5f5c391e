"""Two kinds of flows under one coupled queue: who they are, and what each sends at a load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.errors import DomainError, ScenarioError, show_value
from pi2_fluid.laws.gains import has_gains
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.rest import own_delay, rest_at
from pi2_fluid.records.record import require_scalars

if TYPE_CHECKING:
    from pi2_fluid.laws.aqms.pi_family import PiFamily
    from pi2_fluid.values import Number, Real

#: Bytes of a packet. Ratios, shares and margins do not depend on it.
PACKET: Final = 1500.0

_EXAMPLES: Final = {"classic": "Reno()", "scalable": "Scalable()"}


class Pair(NamedTuple):
    """A Classic and a Scalable law, and the queue that couples what they see."""

    classic: Sender
    scalable: Sender
    aqm: PiFamily


def read_pair(classic: Any, scalable: Any, aqm: object) -> Pair:
    """Return the pair, if each is of its kind and made of numbers, not arrays.

    Raises
    ------
    ScenarioError
        If a sender is of another kind, or the queue is none that couples.
    QuantityError
        If a field of one of them is an array.
    """
    for signal, sender in (("classic", classic), ("scalable", scalable)):
        if not isinstance(sender, Sender) or sender.signal != signal:
            raise ScenarioError(
                f"{signal} = {show_value(sender)} is no sender that obeys {signal} signals: give"
                f" e.g. {_EXAMPLES[signal]}."
            )
    if not has_gains(aqm) or aqm.coupling is None:
        raise ScenarioError(
            f"aqm = {show_value(aqm)} couples no Classic and Scalable signals: give CoupledPi2(...)"
            " for one queue, or DualPi2(...) for two."
        )
    require_scalars(classic, scalable, aqm)
    return Pair(classic, scalable, aqm)


def require_load(p_prime: Real, highest: Number, name: str, why: str) -> None:
    """Refuse loads above `highest`, naming it and the reason.

    Raises
    ------
    DomainError
        If some element is above.
    """
    if np.any(np.asarray(p_prime) > np.asarray(highest) * (1.0 + 1e-12)):
        raise DomainError(
            f"{name} = {float(np.max(p_prime)):g} is above {float(np.min(highest)):g}, {why}: give"
            f" {name} in (0, {float(np.min(highest)):g}]."
        )


def flow_rates(pair: Pair, base_rtts: tuple[Real, Real], p_prime: Real) -> tuple[Number, Number]:
    """Return the rates (segments/s) of one Classic and one Scalable flow at rest.

    Parameters
    ----------
    pair : Pair
        Who sends.
    base_rtts : (classic, scalable)
        Round trips of the paths (s); arrays broadcast.
    p_prime : float or array
        The controller's variable.
    """
    rest = rest_at(pair.aqm, p_prime, 1.0, alone=False)
    rates = []
    for sender, base_rtt in zip((pair.classic, pair.scalable), base_rtts, strict=True):
        law = sender.on_link(PACKET)
        rtt = base_rtt + own_delay(rest.queue_delay, law)
        p = getattr(rest.signal, str(law.signal))
        rates.append(law.sending_rate_under(law.at_rest(rtt, p), p, rtt))
    return rates[0], rates[1]
