"""What a queue, single or dual, does to each class of flows while it rests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pi2_fluid.errors import ScenarioError, UnsupportedError, show_value
from pi2_fluid.laws.aqm import Aqm, Signal
from pi2_fluid.laws.sender import Sender
from pi2_fluid.laws.tapes import evaluate
from pi2_fluid.network.flows import Flows

if TYPE_CHECKING:
    from pi2_fluid.values import Number


class Rest(NamedTuple):
    """A queue at rest."""

    controller: Any
    """Value of the controller's variable."""
    signal: Signal
    """What Classic and Scalable packets see."""
    queue_delay: Any
    """Seconds; of a dual queue a pair (Classic, L4S)."""


def rest_at(aqm: Aqm, u: Number, packets: Number, *, alone: bool) -> Rest:
    """Return the queue at rest at controller value `u` on a link of `packets` per second.

    In a dual queue with L4S traffic alone, `u` is the probability that its packets are marked with.

    Raises
    ------
    UnsupportedError
        If it is a dual queue of one's own.
    """
    if aqm.bands == 2 and not aqm.rests_apart:
        raise UnsupportedError(
            f"{type(aqm).__name__} has two queues, for which operating points and loops are built"
            " of DualPi2 only: simulate it instead."
        )
    if alone:
        controller, delay = aqm.at_rest_alone(u)
        return Rest(controller, Signal(0.0 * u, u), (0.0 * u, delay))
    return Rest(u, Signal(*evaluate(aqm, "encode", u)), aqm.at_rest(u, packets)[1])


def own_delay(queue_delay: Number | tuple[Number, Number], sender: Sender) -> Number:
    """Return the delay that a sender's packets meet: that of its band, of a pair of delays."""
    if isinstance(queue_delay, tuple):
        return queue_delay[1 if sender.signal == "scalable" else 0]
    return queue_delay


def require_round_trip(flow: Flows, queues: Sequence[Aqm]) -> None:
    """Refuse flows that heed signals over no path where no link has a queue at rest.

    Raises
    ------
    ScenarioError
        If `base_rtt` is 0, and all queues act on what arrives.
    """
    prices = all(queue.acts_on == "arrivals" for queue in queues)
    if prices and flow.sender.constant_rate is None and np.any(np.asarray(flow.base_rtt) == 0.0):
        raise ScenarioError(
            f"Flows base_rtt = {show_value(flow.base_rtt)} leaves no round-trip time, since a link"
            " with a price has no queue at rest: give base_rtt > 0."
        )


def some(condition: object) -> bool:
    """Return whether a comparison holds anywhere: of numbers, without what NumPy costs."""
    return condition if isinstance(condition, bool) else bool(np.any(np.asarray(condition)))


def has_ticks(aqm: Aqm, controller: Number) -> bool:
    """Return whether what flows see passes through the controller's periodic updates.

    Not if the law acts on every packet (its ticks, if any, adapt it over many seconds), nor if a
    dual queue marks by itself, with its controller at 0. What acts on arrivals counts them in
    between.
    """
    held = type(aqm).drift is Aqm.drift or aqm.acts_on != "queue"
    if aqm.update_interval is None or not held:
        return False
    return some(controller > 0.0)


def l4s_is_alone(flows: tuple[Flows, ...], aqm: Aqm, packets: Number) -> bool:
    """Return whether the Classic band of a dual queue stays empty at rest.

    It does if no Classic flow adapts to it, and what unresponsive flows send fits into the part of
    the link that is kept for Classic traffic.

    Raises
    ------
    ScenarioError
        If a class has no round-trip time.
    UnsupportedError
        If the elements of an array of loops differ in this.
    """
    if not aqm.rests_apart:
        return False
    for flow in flows:
        if flow.sender.signal == "scalable" and np.any(np.asarray(flow.base_rtt) == 0.0):
            raise ScenarioError(
                f"Flows base_rtt = {show_value(flow.base_rtt)} leaves Scalable flows no round-trip"
                " time, since the L4S queue is nearly empty: give base_rtt > 0."
            )
    signals = {flow.sender.signal for flow in flows}
    if "classic" in signals or "scalable" not in signals:
        return False
    unresponsive: Any = 0.0
    for flow in flows:
        if flow.sender.signal is None:
            if flow.sender.constant_rate is None:
                raise UnsupportedError(
                    f"{type(flow.sender).__name__} fills the Classic queue of {type(aqm).__name__}"
                    " by its delay alone, beside L4S traffic, and where both queues then rest is"
                    " not solved for: add Classic flows that obey signals, or simulate it."
                )
            rtt = flow.base_rtt + aqm.target  # type: ignore[attr-defined]
            x = flow.sender.at_rest(rtt, 0.0)
            unresponsive = unresponsive + flow.count * flow.sender.sending_rate(x, rtt)
    fits = np.asarray(unresponsive <= aqm.kept_for_classic * packets)
    if fits.any() and not fits.all():
        raise UnsupportedError(
            "some elements of the arrays have more unresponsive Classic traffic than c_protection"
            " keeps for it, and others less, which are loops of two kinds: split the arrays."
        )
    return bool(fits.all())
