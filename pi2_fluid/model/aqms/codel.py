"""CoDel: described here, run by packet-level simulations only."""

from __future__ import annotations

import dataclasses
from typing import Any

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.model.aqm import Aqm
from pi2_fluid.model.record import quantity
from pi2_fluid.ops import Number

__all__ = ["CoDel"]


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class CoDel(Aqm):
    """Controlled delay: drops at growing pace while the delay has stayed above a target.

    Parameters
    ----------
    target : float or str
        Delay (s) that a standing queue may have.
    interval : float or str
        Time (s) above the target before the first drop; the n-th next one comes after
        interval / sqrt(n).

    Notes
    -----
    Its next step depends on when it dropped last, packet by packet, not on a state that a mean
    rate of packets could move: there is no honest fluid form. Every method raises
    `UnsupportedError`.

    Source: RFC 8289.
    """

    target: Number = quantity("5ms", "time")
    interval: Number = quantity("100ms", "time")
    update_interval: None = dataclasses.field(default=None, init=False, repr=False)

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: a packet-level law."""
        raise UnsupportedError(
            "CoDel decides packet by packet from the time since its last drop and has no honest"
            " fluid form, so neither fluid nor loop can run it: use a packet-level simulation."
        )

    # Engines begin with `initial`, operating points with `at_rest` or `decode`.
    initial = _refuse
    update = _refuse
    encode = _refuse
    saturate = _refuse
    controller = _refuse
    signals = _refuse
    drift = _refuse
    flow = _refuse
    switches = _refuse
    at_rest = _refuse
    decode = _refuse
