"""The assumptions behind an operating point: warned of when they break, never an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pi2_fluid.errors import warn_of
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.rest import has_ticks, some

if TYPE_CHECKING:
    from pi2_fluid.values import Number


def check_assumptions(
    aqm: Aqm,
    u: Number,
    senders: list[Sender],
    windows: list[Number],
    rtts: list[Number],
    l4s_share: Number = 0.0,
) -> tuple[str, ...]:
    """Return the names of the assumptions that do not hold, and warn of each.

    "window": W is below 2 segments, or the least that the law describes. "update_interval": T
    exceeds a round-trip time. "clamped": the controller's value is one at which the queue clips
    what the flows see, or the controller is held at a bound of its own. "protection": the L4S
    traffic beside Classic traffic would take more of the link than a dual queue leaves it.

    Parameters
    ----------
    aqm : Aqm
        The queue.
    u : float or array
        Value of the controller's variable.
    senders, windows, rtts : list
        One entry per class: the law, its window (segments), its round-trip time (s). Nothing
        is assumed of the window of a constant rate, nor of T by those that hear no signals.
    l4s_share : float or array
        Part of the capacity that L4S traffic takes beside Classic traffic in a dual queue.
    """
    broken = {}
    heard = [index for index, sender in enumerate(senders) if sender.signal is not None]
    small = [
        float(np.min(windows[index]))
        for index, sender in enumerate(senders)
        # rounding is no reason to warn
        if sender.constant_rate is None
        and some(windows[index] < senders[index].smallest_window * (1 - 1e-9))
    ]
    rtts = [rtts[index] for index in heard]
    if small:
        smallest = min(small)
        broken["window"] = (
            f"the window is {smallest:.3g} segments, below the 2 under which timeouts rule and the"
            " window laws do not hold: lower the load."
        )
    interval = aqm.update_interval if has_ticks(aqm, u) else None
    if interval is not None and any(some(interval > r * (1 + 1e-12)) for r in rtts):
        broken["update_interval"] = (
            f"update_interval = {float(np.max(interval)):.3g} s exceeds the round-trip"
            f" time {min(float(np.min(rtt)) for rtt in rtts):.3g} s, so only the exact"
            ' update="sampled" describes the loop: shorten T.'
        )
    clamped = some(u > aqm.clips_at * (1 + 1e-9))
    # One class alone cannot ask for more than p = 1; a Classic one beside it can.
    beside = len(senders) > 1 and any(sender.signal == "scalable" for sender in senders)
    if aqm.coupling is not None and beside:
        clamped = clamped or some(aqm.coupling * u > 1 + 1e-9)
    if clamped:
        broken["clamped"] = (
            f"the controller rests at {float(np.max(u)):.3g}, above the value at which the queue"
            " clips its signal, so the loop is open there: lower the load."
        )
    wanted, load = aqm.full_load, aqm.load_at(u)
    if some(load < wanted * (1 - 1e-9)):
        broken["clamped"] = (
            f"what arrives rests at {float(np.min(load)):.3g} of the capacity, below the"
            f" {float(np.max(wanted)):.3g} that {type(aqm).__name__} aims at, since its controller"
            " is at a bound of its own and acts no more: raise the load."
        )
    if some(l4s_share > (1.0 - aqm.kept_for_classic) * (1 + 1e-9)):
        broken["protection"] = (
            f"L4S traffic would take {100 * float(np.max(l4s_share)):.3g} % of the link, more than"
            " c_protection leaves it while Classic packets wait, so the queue does not rest there:"
            " add Classic flows or lower c_protection."
        )
    for text in broken.values():
        warn_of(text)
    return tuple(broken)
