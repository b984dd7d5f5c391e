"""Queues as published or deployed, by name.

Those of DualPI2 have two queues. Their controller in one queue, where Scalable traffic waits behind
Classic traffic, is `CoupledPi2` with the same numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pi2_fluid.errors import DomainError, show_value
from pi2_fluid.laws.aqms.dualpi2 import DualPi2
from pi2_fluid.laws.aqms.pi2 import Pi2
from pi2_fluid.laws.aqms.pie import Pie
from pi2_fluid.laws.kernel.gains import PARTS_PER_HERTZ
from pi2_fluid.units import LONG_PATH, validate_quantity

if TYPE_CHECKING:
    from pi2_fluid.values import Number, Quantity

__all__ = [
    "docsis_pie",
    "linux_dualpi2",
    "linux_pie",
    "pi2_paper",
    "rfc8033",
    "rfc9332",
    "tc_max_rtt",
]


def pi2_paper() -> Pi2:
    """Return PI2 as analysed in the paper for R = 100 ms (CoNEXT'16, Figure 7).

    Examples
    --------
    >>> queue = pi2_paper()
    >>> queue.target, queue.update_interval, queue.alpha, queue.beta
    (0.02, 0.032, 0.3125, 3.125)
    """
    return Pi2(alpha=0.3125, beta=3.125, target=0.020, update_interval=0.032)


def rfc8033() -> Pie:
    """Return PIE with the defaults of RFC 8033, section 4.

    Examples
    --------
    >>> queue = rfc8033()
    >>> queue.target, queue.update_interval, queue.alpha, queue.beta
    (0.015, 0.015, 0.125, 1.25)
    """
    return Pie(alpha=0.125, beta=1.25, target=0.015, update_interval=0.015, variant="rfc8033")


def linux_pie() -> Pie:
    """Return PIE as Linux configures it by default (sch_pie, since 5.1).

    Examples
    --------
    >>> queue = linux_pie()
    >>> queue.target, queue.update_interval, queue.alpha, queue.beta
    (0.015, 0.015, 0.125, 1.25)
    """
    return Pie(alpha=0.125, beta=1.25, target=0.015, update_interval=0.015, variant="linux6.18")


def docsis_pie() -> Pie:
    """Return the controller of PIE in DOCSIS cable modems (RFC 8034, Appendix A): 10 ms, 16 ms.

    There the probability is for packets of 1024 bytes and grows with the packet's size; a loop here
    has packets of that size.

    Examples
    --------
    >>> queue = docsis_pie()
    >>> queue.target, queue.update_interval, queue.alpha, queue.beta
    (0.01, 0.016, 0.25, 2.5)
    """
    return Pie(alpha=0.25, beta=2.5, target=0.010, update_interval=0.016, table="rfc8034")


def linux_dualpi2() -> DualPi2:
    """Return DualPI2 as Linux configures it by default (41/256 and 819/256 Hz, step of 1 ms).

    Examples
    --------
    >>> queue = linux_dualpi2()
    >>> queue.target, queue.update_interval, queue.alpha, queue.beta
    (0.015, 0.016, 0.16015625, 3.19921875)
    """
    return DualPi2(
        alpha=41 / 256,
        beta=819 / 256,
        target=0.015,
        update_interval=0.016,
        k=2.0,
        step=0.001,
        c_protection=0.1,
        variant="linux6.18",
    )


def rfc9332(max_rtt: Quantity = "100ms") -> DualPi2:
    """Return DualPI2 by the rule of RFC 9332, Appendix A.1.

    T = min(target, max_rtt/3), alpha = 0.1 T / max_rtt^2, beta = 0.3 / max_rtt, target 15 ms; the
    L4S queue marks on a ramp from 0.8 to 1.2 ms.

    Parameters
    ----------
    max_rtt : float or str
        Largest round-trip time (s).

    Raises
    ------
    QuantityError, DomainError
        If `max_rtt` is no time above 0.

    Examples
    --------
    >>> queue = rfc9332("100ms")
    >>> round(queue.alpha, 12), round(queue.beta, 12), queue.update_interval
    (0.15, 3.0, 0.015)
    """
    longest = validate_quantity(max_rtt, "time", "max_rtt", usual=LONG_PATH)
    interval = np.minimum(0.015, longest / 3)[()]
    return DualPi2(
        alpha=0.1 * interval / longest**2,
        beta=0.3 / longest,
        target=0.015,
        update_interval=interval,
        step=0.001,
        ramp=0.0004,
        variant="rfc9332",
    )


def tc_max_rtt(max_rtt: Quantity) -> DualPi2:
    """Return DualPI2 as ``tc ... dualpi2 max_rtt`` sets it, otherwise with Linux's defaults.

    typical = max_rtt / 6; target = T = typical; alpha = 0.1 T / max_rtt^2 and beta = 0.3 / max_rtt,
    both cut to multiples of 1/256 Hz.

    Parameters
    ----------
    max_rtt : float or str
        Largest round-trip time (s).

    Raises
    ------
    DomainError
        If alpha is cut to zero (max_rtt above about 4.2 s).

    Notes
    -----
    Source: tc-dualpi2(8), iproute2.

    Examples
    --------
    >>> queue = tc_max_rtt("300ms")
    >>> 256 * queue.alpha, 256 * queue.beta
    (14.0, 256.0)
    """
    longest = validate_quantity(max_rtt, "time", "max_rtt", usual=LONG_PATH)
    typical = longest / 6
    alpha = _cut(0.1 * typical / longest**2)
    if np.any(alpha == 0.0):
        raise DomainError(
            f"max_rtt = {show_value(max_rtt)} makes tc cut alpha to 0/256 Hz: give max_rtt up to"
            " about 4.2 s."
        )
    return DualPi2(alpha=alpha, beta=_cut(0.3 / longest), target=typical, update_interval=typical)


def _cut(gain: Number) -> Number:
    """Cut to a multiple of 1/256 as the netlink attribute does."""
    # 1e-9 forgives the rounding of 0.3/0.3
    return np.floor(gain * PARTS_PER_HERTZ * (1 + 1e-9)) / PARTS_PER_HERTZ
