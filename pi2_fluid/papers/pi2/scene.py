"""The loops of the PI2 paper's Figures 4 and 7, which most of its claims are about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.optimize import brentq

import pi2_fluid as pf
from pi2_fluid.units import validate_number

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, Real

RTT: Final = 0.1
INTERVAL: Final = 0.032
#: (alpha, beta) in Hz of PIE before its table, and of PI2.
PIE: Final = (0.125, 1.25)
TUNED_PI2: Final = (0.3125, 3.125)
CLASSIC: Final = pf.Reno()
#: Segments in a window, below which timeouts rule.
FEWEST: Final = 2
#: What is said of loads at which they do.
OUTSIDE: Final = (
    f"Grey: Reno's window W is below {FEWEST} segments there, and the model no description of TCP."
)
# What a figure of a loop can be made with other values of.
_DIMENSIONS: Final = {
    "rtt": "time",
    "update_interval": "time",
    "alpha": "frequency",
    "beta": "frequency",
}


def read_settings(settings: Mapping[str, object]) -> dict[str, float]:
    """Return the settings of a loop's figure in SI units.

    Raises
    ------
    QuantityError, DomainError
        If one has no unit or another's, or is not above 0.
    """
    return {name: validate_number(text, _DIMENSIONS[name], name) for name, text in settings.items()}


def fixed_pi(tune: float = 1.0) -> pf.Pi:
    """Return the PI queue with PIE's gains, times a constant."""
    return pf.Pi(alpha=PIE[0] * tune, beta=PIE[1] * tune, update_interval=INTERVAL)


def pie(table: str) -> pf.Pie:
    """Return PIE with the named table, and without the spread signals of Linux and the RFC."""
    return pf.Pie(
        alpha=PIE[0], beta=PIE[1], update_interval=INTERVAL, table=table, derandomize=False
    )


def gain_margin(
    sender: pf.Sender,
    aqm: pf.Aqm,
    *,
    p: Real | None = None,
    p_prime: Real | None = None,
    rtt: float = RTT,
    update: str = "continuous",
    rtt_terms: str = "frozen",
    clock: str = "rate",
) -> FloatArray:
    """Return the gain margin in dB; the load is given as for `pf.Loop`."""
    model: dict[str, Any] = {"update": update, "rtt_terms": rtt_terms, "clock": clock}
    loop = pf.Loop(sender, aqm, rtt=rtt, p=p, p_prime=p_prime, **model)
    return np.asarray(loop.margins().gain_margin_db)


def decades(lowest: int, per_decade: int = 100) -> FloatArray:
    """Return loads from 10**lowest to 1, evenly spaced on a logarithmic axis."""
    return 10.0 ** np.linspace(lowest, 0, -lowest * per_decade + 1)


def load_where(function: Callable[[float], Any], low: float, high: float) -> float:
    """Return the load in [low, high] at which `function` is zero; it must change sign once."""
    return float(
        np.exp(
            brentq(
                lambda x: float(function(float(np.exp(x)))), np.log(low), np.log(high), xtol=1e-13
            )
        )
    )
