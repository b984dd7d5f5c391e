"""What chance adds to the delay of a queue that runs, with the flows that there may be."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pi2_fluid.errors import DomainError, SolverError, UnsupportedError, quietly
from pi2_fluid.loop.transfer import Loop
from pi2_fluid.network.flows import Flows

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.laws.sender import Sender
    from pi2_fluid.network.long_flows import LongFlows
    from pi2_fluid.ops import Number

#: As results of packets have the delay.
BIN: Final = "20ms"
#: Of p' by chance over its rest: beyond, it falls to 0 now and then, which no linear loop knows.
LARGE: Final = 0.6


class Chance(NamedTuple):
    """How far the lots that a queue draws drive its delay, by acknowledgements.

    `delay_sd` is `Loop.delay_sd` (s), with cuts that vary and in means over 20 ms, `signal_spread`
    `Loop.signal_spread`, of so many equal `flows`.
    """

    flows: int
    delay_sd: float
    signal_spread: float

    @property
    def large(self) -> bool:
        """Whether p' falls to 0 now and then, so that packets scatter less than said."""
        return self.signal_spread > LARGE


def chance_of(aqm: Aqm, sender: Sender, rtt: float, long_flows: LongFlows) -> tuple[Chance, ...]:
    """Return it for the most and for the fewest flows, as far as it is known.

    Parameters
    ----------
    aqm : Aqm
    sender : Sender
    rtt : float
        Seconds, the target included.
    long_flows : LongFlows
    """
    path = rtt - float(getattr(aqm, "target", 0.0))
    if long_flows.rate is None or path < 0.0:
        return ()
    counts = [n for n in (long_flows.most, long_flows.fewest) if n is not None]
    found = [_of(aqm, sender, n, path, long_flows.rate) for n in dict.fromkeys(counts)]
    return tuple(one for one in found if one is not None)


def _of(aqm: Aqm, sender: Sender, count: int, path: float, rate: Number) -> Chance | None:
    try:
        with quietly():
            model: dict[str, Any] = {"capacity": rate, "update": "sampled", "clock": "acks"}
            loop = Loop(Flows(sender, count, path), aqm, **model)
            found: Any = loop.delay_sd(BIN, cuts="varied"), loop.signal_spread()
    except (DomainError, SolverError, UnsupportedError):
        return None
    sd, spread = map(float, found)
    return Chance(count, sd, spread) if math.isfinite(sd) else None
