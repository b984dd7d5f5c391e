"""What chance adds to the delay of a loop, as commands say it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pi2_fluid.errors import DomainError, SolverError, UnsupportedError, quietly

if TYPE_CHECKING:
    from pi2_fluid.loop import Loop
    from pi2_fluid.loop.matrix.network_loop import NetworkLoop


class Chance(NamedTuple):
    """Standard deviation of the delay by the lots of signals alone (s), and rho, link by link."""

    delay_sd: dict[str, float]
    spread: dict[str, float]
    several: bool
    """Whether it is of the links of a network."""


def chance_of(loop: Loop | NetworkLoop) -> Chance | None:
    """Return what chance adds; None where that is not derived, or how many flows is not said."""
    import numpy as np

    from pi2_fluid.deployment.chance import BIN
    from pi2_fluid.loop.matrix.network_loop import NetworkLoop

    if not isinstance(loop, NetworkLoop) and not loop.flows:
        return None  # a load by itself
    try:
        with quietly():
            sd, spread = loop.delay_sd(BIN, cuts="varied"), loop.signal_spread()
    except (DomainError, SolverError, UnsupportedError):
        return None
    names = ["queue"]
    if isinstance(loop, NetworkLoop):
        names = list(loop.network.node_names)
    pairs = zip(
        names, np.atleast_1d(np.asarray(sd)), np.atleast_1d(np.asarray(spread)), strict=True
    )
    kept = [(n, float(x), float(rho)) for n, x, rho in pairs if x > 0.0]
    return Chance(
        {n: x for n, x, _ in kept}, {n: rho for n, _, rho in kept}, isinstance(loop, NetworkLoop)
    )


def in_json(chance: Chance | None) -> dict[str, Any]:
    """Return it as JSON has it: a number of one queue, numbers by link of a network."""
    if chance is None:
        return {"delay_sd": None, "signal_spread": None}
    if chance.several:
        return {"delay_sd": chance.delay_sd, "signal_spread": chance.spread}
    (sd,), (spread,) = chance.delay_sd.values(), chance.spread.values()
    return {"delay_sd": sd, "signal_spread": spread}


def said_of_chance(found: Sequence[Chance | None]) -> list[str]:
    """Return a cell for each clock; none of a network, whose links have a table of their own."""
    if all(one is None for one in found) or any(one is not None and one.several for one in found):
        return []
    return ["unknown" if one is None else plus_minus(*one.delay_sd.values()) for one in found]


def plus_minus(sd: float) -> str:
    """Return a standard deviation (s) in words.

    Examples
    --------
    >>> plus_minus(0.00442), plus_minus(float("inf"))
    ('±4.42 ms', 'no end')
    """
    return "no end" if sd == float("inf") else f"±{1e3 * sd:.3g} ms"


def caution_of(found: Sequence[Chance | None]) -> str:
    """Return a line where chance is so large that the linear loop says too much of it."""
    from pi2_fluid.deployment.chance import LARGE

    rho = max((max(one.spread.values()) for one in found if one is not None), default=0.0)
    if not LARGE < rho < float("inf"):
        return ""
    return (
        "Chance drives p' to 0 now and then: packets scatter less than said here, and the link"
        " may lose some of its rate."
    )
