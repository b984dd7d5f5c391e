"""PIE as numbers for the kernel, named as in native/laws/aqms/pie.h and native/packet/queues/pie.c.

What a variant leaves open, such as its burst allowance, is settled here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.model.aqms.pi_packets import (
    controller_numbers,
    first_update_of,
    require_computable,
    require_integer_gains,
)
from pi2_fluid.model.packet_limits import require_single

if TYPE_CHECKING:
    from pi2_fluid.model.aqms.pie import Pie

__all__ = ["heuristic_numbers", "pie_parameters"]

#: Gain tables of PIE, in the order of their numbers in the kernel; those that shifts can express.
_TABLES: Final = ("none", "rfc8033", "rfc8034", "hpsr13", "ietf_early", "sqrt2p")
_BY_SHIFTS: Final = {
    "linux6.18": ("rfc8033", "hpsr13", "ietf_early", "none"),
    "linux4.14": ("hpsr13", "ietf_early", "none"),
}
_ARITHMETIC: Final = {"linux6.18": 1, "linux4.14": 2}
#: Of each variant of PIE: burst allowance (s), bytes and weight of the rate estimator.
_BURST: Final = {"linux6.18": 0.15, "linux4.14": 0.1, "rfc8033": 0.15, "hpsr13": 0.1}
_CYCLE: Final = {"linux6.18": 16384, "linux4.14": 10000, "rfc8033": 16384, "hpsr13": 10000}
_WEIGHT: Final = {"rfc8033": 0.5}
_LINUX: Final = ("linux6.18", "linux4.14")
_MARK_LIMIT: Final = 0.1


def heuristic_numbers(law: Pie) -> dict[str, Any]:
    """Return the table of gains by its number, and the heuristics that are in force."""
    return {
        "table": _TABLES.index(law.gain_table),
        "cap": law.caps,
        "boost": law.boosts,
        "decay": law.idle_decay,
    }


def pie_parameters(law: Pie) -> dict[str, Any]:
    """Return what configures the queue discipline "pie".

    Returns
    -------
    dict of str to float
        As native/packet/queues/pie.c says: the law's numbers, whose burst is -1 unless it runs out
        at updates; arithmetic, 0 real, 1 of 56 bits, 2 of 32 bits; half_target, 0 no, 1 latest
        delay, 2 last update's.

    Raises
    ------
    UnsupportedError
        If a field holds an array, or ``arithmetic="fixed"`` is asked of a variant or a table that
        no kernel has.
    DomainError
        If a time or a gain is beyond what packets, or the kernel's integers, can count.
    """
    require_single(law)
    variant, linux = law.variant, law.variant in _LINUX
    require_computable(law)
    if law.arithmetic == "fixed":
        _require_kernel(law)
        require_integer_gains(law)
    burst = _BURST[variant] if law.burst is None else law.burst
    half = variant != "hpsr13" if law.half_target is None else law.half_target
    spread = variant == "linux6.18" if law.derandomize is None else law.derandomize
    return (
        controller_numbers(law)
        | heuristic_numbers(law)
        | {
            "burst": -1.0 if linux else burst,
            "allowance": burst,
            "burst_by_update": not linux,
            "strict_idle": linux,
            "first_update": first_update_of(law, late=linux),
            "arithmetic": _ARITHMETIC[variant] if law.arithmetic == "fixed" else 0,
            "quirks": law.quirks,
            "half_target": (1 if linux else 2) if half else 0,
            "derandomize": spread,
            "rate_estimator": law.rate_estimator,
            "rate_threshold": _CYCLE[variant],
            "rate_weight": _WEIGHT.get(variant, 1 / 8),
            "ecn": law.ecn,
            "mark_limit": _MARK_LIMIT,
            "at_dequeue": law.drop_at == "dequeue",
        }
    )


def _require_kernel(law: Pie) -> None:
    if law.variant not in _BY_SHIFTS:
        raise UnsupportedError(
            f'Pie variant = "{law.variant}" is no kernel, so that arithmetic = "fixed" has no'
            f' meaning: give variant = "linux6.18" or "linux4.14", or arithmetic = "real".'
        )
    known = _BY_SHIFTS[law.variant]
    if law.gain_table not in known:
        raise UnsupportedError(
            f'Pie table = "{law.gain_table}" is more than the integers of {law.variant} can'
            f' express: give one of {", ".join(known)}, or arithmetic = "real".'
        )
