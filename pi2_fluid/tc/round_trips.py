"""What ``tc ... dualpi2 max_rtt`` makes of round-trip times, in tc's own arithmetic.

Source: iproute2 7.3, tc/q_dualpi2.c.
"""

from __future__ import annotations

from typing import Final

from pi2_fluid.errors import DomainError
from pi2_fluid.laws.kernel.gains import single
from pi2_fluid.laws.kernel.units import DUALPI2_GAIN

_LARGEST_GAIN: Final = float(2**24 - 1)  # Hz, by tc
#: How many typical round-trip times are a largest one, where only one of them is given.
TYPICAL: Final = 6


def of_round_trips(
    longest: int, typical: int, largest: str, usual: str
) -> tuple[dict[str, int], dict[str, float]]:
    """Return the options that tc asks for, in its units, and the gains (Hz) that stood behind them.

    Parameters
    ----------
    longest, typical : int
        In microseconds, at least 1.
    largest, usual : str
        How they were given, for messages.

    Raises
    ------
    DomainError
        If tc refuses it: typical above longest, gains below 1/256 Hz or too large.
    """
    if typical > longest:
        raise DomainError(
            f"typical_rtt = {usual} is above max_rtt = {largest}: give one up to max_rtt."
        )
    interval = max(int(min(float(typical), longest / 3.0)), 1)
    gains = {
        "alpha": interval / longest / longest * 1e6 * single(0.1),
        "beta": single(0.3) / longest * 1e6,
    }
    if min(gains.values()) * DUALPI2_GAIN.per_si < 1 or gains["beta"] > _LARGEST_GAIN:
        raise DomainError(
            f"max_rtt = {largest} makes alpha = {gains['alpha']:.3g} and beta ="
            f" {gains['beta']:.3g} Hz, which tc refuses outside [1/256, 2^24): give a max_rtt"
            " around 100ms."
        )
    units = {"target": typical, "tupdate": interval}
    units |= {name: int(gain * DUALPI2_GAIN.per_si) for name, gain in gains.items()}
    return units, gains
