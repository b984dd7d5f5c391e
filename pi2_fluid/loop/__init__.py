"""The scene as a loop: Laplace transforms, margins, characteristic roots."""

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
