"""Whether a queue has gains to design: asked of the law, whatever its class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeGuard

import numpy as np

from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.seen import Seen

if TYPE_CHECKING:
    from pi2_fluid.laws.aqms.pi_family import PiFamily
    from pi2_fluid.ops import Number

#: Where an update is looked at: its variable, and two delays over the target, so near to it that
#: what acts on long delays alone does not.
_PLACES: Final = ((0.01, 1.0, 1.001), (0.2, 1.001, 1.0), (0.4, 0.999, 0.9985))
_ROUNDING: Final = 1e-6  # of what an update adds, which is a small difference


def has_gains(law: object) -> TypeGuard[PiFamily]:
    """Return whether a law is a queue with gains, which a design may set: see `Aqm.designable`.

    Examples
    --------
    >>> from pi2_fluid.laws.aqms.pi2 import Pi2
    >>> from pi2_fluid.laws.aqms.taildrop import TailDrop
    >>> has_gains(Pi2()), has_gains(TailDrop())
    (True, False)
    """
    return isinstance(law, Aqm) and law.designable


def coupling_of(aqm: Aqm) -> Number:
    """Return how much more Scalable packets see than Classic ones: k, or 1 without a coupling.

    Examples
    --------
    >>> from pi2_fluid.laws.aqms.coupled import CoupledPi2
    >>> from pi2_fluid.laws.aqms.pi2 import Pi2
    >>> coupling_of(CoupledPi2(k=3)), coupling_of(Pi2())
    (3.0, 1.0)
    """
    return 1.0 if aqm.coupling is None else aqm.coupling


def acts_as_pi(law: PiFamily) -> bool:
    """Return whether a law updates near its target as a PI controller of one delay does.

    u += gain_factor(u) (alpha (delay - target) + beta (delay - delay before)), with the state (u,
    delay before, ...).

    Parameters
    ----------
    law : PiFamily
        With single numbers.

    Examples
    --------
    >>> from pi2_fluid.laws.aqms.dualpi2 import DualPi2
    >>> from pi2_fluid.laws.aqms.pie import Pie
    >>> acts_as_pi(Pie()), acts_as_pi(DualPi2())
    (True, False)
    """
    state = law.initial()
    if law.bands != 1 or len(state) < 2:
        return False
    alpha, beta, target = float(law.alpha), float(law.beta), float(law.target)
    for u, before, now in _PLACES:
        delay, last = now * target, before * target
        seen = Seen(queue_delay=delay, queue=1e3 * delay, arrival_rate=1e3, capacity=1e3)
        after = law.update((u, last, *state[2:]), seen, float(law.update_interval))
        step = float(law.gain_factor(np.float64(u))) * (
            alpha * (delay - target) + beta * (delay - last)
        )
        added = float(law.controller(after)) - float(law.controller((u, last, *state[2:])))
        if abs(added - step) > _ROUNDING * abs(step) + 1e-15:
            return False
    return True
