"""The scene as a loop: Laplace transforms, margins, characteristic roots.

Names are loaded on first use: most need few of the rooms behind them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pi2_fluid.loop.acks.segments import by_segments
    from pi2_fluid.loop.analytic import margins_of
    from pi2_fluid.loop.limits import low_load, rtt_limit
    from pi2_fluid.loop.margins import Margins
    from pi2_fluid.loop.matrix.network_loop import NetworkLoop
    from pi2_fluid.loop.price_criteria import PriceCriteria, alpha_max, alpha_max_published, eta_max
    from pi2_fluid.loop.traced import traced_margins
    from pi2_fluid.loop.transfer import Loop

__all__ = [
    "Loop",
    "Margins",
    "NetworkLoop",
    "PriceCriteria",
    "alpha_max",
    "alpha_max_published",
    "by_segments",
    "eta_max",
    "low_load",
    "margins_of",
    "rtt_limit",
    "traced_margins",
]

_PLACES = {
    "Loop": "pi2_fluid.loop.transfer",
    "Margins": "pi2_fluid.loop.margins",
    "NetworkLoop": "pi2_fluid.loop.matrix.network_loop",
    "PriceCriteria": "pi2_fluid.loop.price_criteria",
    "alpha_max": "pi2_fluid.loop.price_criteria",
    "alpha_max_published": "pi2_fluid.loop.price_criteria",
    "by_segments": "pi2_fluid.loop.acks.segments",
    "eta_max": "pi2_fluid.loop.price_criteria",
    "low_load": "pi2_fluid.loop.limits",
    "margins_of": "pi2_fluid.loop.analytic",
    "rtt_limit": "pi2_fluid.loop.limits",
    "traced_margins": "pi2_fluid.loop.traced",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_PLACES[name]), name)
    globals()[name] = value
    return value
