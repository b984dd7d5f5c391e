"""What a kernel's integers and timers cost: margins asked for and margins installed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.aqms.pi_family import LOOP_WORDS
from pi2_fluid.laws.sender import Sender
from pi2_fluid.loop.transfer import Loop
from pi2_fluid.tc.qdisc import Qdisc

if TYPE_CHECKING:
    from pi2_fluid.values import Quantity, Real


def margin_lost_db(qdisc: Qdisc, sender: Sender, rtt: Quantity, p_prime: Quantity) -> Real:
    """Return the gain margin that rounding costs (dB): that asked for less that installed.

    Both of the sampled loop. Of DualPI2 it is the controller's loop through one class of senders,
    as if it had one queue. Negative where the kernel's loop has more of it, as rounding makes it
    slower: gains that are cut off, a timer that is late.

    Parameters
    ----------
    qdisc : Qdisc
        As `qdisc.parse` or `qdisc.install` return it.
    sender : Sender
        Who sends.
    rtt : float, array or str
        Round-trip time, queue included (s).
    p_prime : float or array
        The load, in (0, 1].

    Raises
    ------
    QuantityError
        If `qdisc` is none, and as `Loop` for the rest.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> queue = pf.qdisc.install(pf.presets.linux_pie(), "pie")  # its timer is a jiffy late
    >>> print(f"{pf.margin_lost_db(queue, pf.Reno(), '50ms', 0.1):.2f} dB")
    -0.32 dB
    """
    if not isinstance(qdisc, Qdisc):
        raise QuantityError(
            f"qdisc = {show_value(qdisc)} is no Qdisc: give what pf.qdisc.parse or"
            " pf.qdisc.install returns."
        )
    asked, installed = (
        np.asarray(
            Loop(sender, law, rtt=rtt, p_prime=p_prime, update="sampled").margins().gain_margin_db
        )
        for law in (_law(qdisc, **_asked(qdisc)), _law(qdisc))
    )
    both = np.isinf(asked) & np.isinf(installed)  # no crossing, before and after
    with np.errstate(invalid="ignore"):
        lost = np.where(both, 0.0, asked - installed)
    return lost[()] if lost.ndim else float(lost)


def _asked(qdisc: Qdisc) -> dict[str, float]:
    return {told.name: qdisc.asked[word] for word, told in LOOP_WORDS.items()}


def _law(qdisc: Qdisc, **changes: Any) -> Aqm:
    """Return the controller of a queue with one band, with `changes`."""
    return replace(qdisc.aqm.in_one_queue(), **changes)
