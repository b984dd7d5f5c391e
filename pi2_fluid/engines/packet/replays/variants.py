"""The kernels and rules of the PI family that replays know by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pi2_fluid.errors import QuantityError, UnsupportedError, show_value
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.aqms.dualpi2 import DualPi2
from pi2_fluid.laws.aqms.pi2 import Pi2
from pi2_fluid.laws.aqms.pie import Pie
from pi2_fluid.laws.gains import has_gains
from pi2_fluid.laws.packet_limits import require_single


@cache
def _variants() -> dict[str, Aqm]:
    older: dict[str, Any] = {"target": "20ms", "update_interval": "32ms", "rate_estimator": True}
    hpe: dict[str, Any] = {"variant": "hpe", "arithmetic": "fixed"}
    dualpi2 = DualPi2(alpha=41 / 256, beta=819 / 256, arithmetic="fixed")
    linux414 = Pie(variant="linux4.14", arithmetic="fixed", **older)
    return {
        "linux6.18": Pie(arithmetic="fixed"),
        "linux6.18-t20": Pie(target="20ms", arithmetic="fixed"),
        "linux4.14": linux414,
        "linux4.14(2013-table)": linux414,
        "rfc8033-float": Pie(variant="rfc8033"),
        "pi2-2016-default": Pi2.from_tc2016(arithmetic="fixed"),
        "pi2-2016-a5b50t15": Pi2.from_tc2016(5, 50, target="15ms", arithmetic="fixed"),
        "hpe-default-15ms": Pi2(alpha=0.15, beta=3.2, target="15ms", update_interval="15ms", **hpe),
        "hpe-20ms-tu4ms": Pi2(alpha=0.0225, beta=2.4, target="20ms", update_interval="4ms", **hpe),
        "dp2-6.18-default": dualpi2,
        "dp2-6.18-overflow": DualPi2(
            alpha=41 / 256, beta=819 / 256, drop_overload=False, arithmetic="fixed"
        ),
        "dp2-6.18-rtt50": DualPi2(
            alpha=85 / 256,
            beta=1535 / 256,
            target="8333us",
            update_interval="8333us",
            arithmetic="fixed",
        ),
    }


def variants() -> dict[str, Aqm]:
    """Return the kernels and rules that `replay` knows by name, and their queues.

    Returns
    -------
    dict of str to Aqm
        Its representation shows a queue's parameters. "linux6.18" and "linux6.18-t20": PIE in 56
        bits, at the target of 15 or 20 ms. "linux4.14", also called "linux4.14(2013-table)": PIE in
        32 bits, as from 3.14 to 5.0. "rfc8033-float": PIE by the RFC in real numbers. "pi2-2016-*":
        the code of the PI2 paper. "hpe-*": HPE's PI2. "dp2-6.18-*": DualPI2.

    Examples
    --------
    >>> variants()["linux6.18"].target
    0.015
    """
    return dict(_variants())


def law_of(variant: object, known: Mapping[str, Aqm] | None = None) -> Any:
    """Return the queue that a name out of `known`, or of `variants`, stands for; or the queue."""
    known = _variants() if known is None else known
    if has_gains(variant):
        require_single(variant)
        return variant
    if isinstance(variant, Aqm):
        raise UnsupportedError(
            f"{type(variant).__name__} is no queue of the PI family, whose updates can be"
            " replayed: give Pi, Pie, Pi2, CoupledPi2 or DualPi2."
        )
    if not isinstance(variant, str) or variant not in known:
        raise QuantityError(
            f"variant = {show_value(variant)} is unknown: give one of"
            f" {', '.join(map(repr, known))}, or a queue."
        )
    return known[variant]
