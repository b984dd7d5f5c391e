"""The loop by acknowledgements: another plant before the same controller."""

from pi2_fluid.loop.acks.closed_form import closed_form_ack_margins
from pi2_fluid.loop.acks.echoes import HARMONICS, find_echoes
from pi2_fluid.loop.acks.linearization import linearize_acks
from pi2_fluid.loop.acks.plant import AckLoop, class_delays
from pi2_fluid.loop.acks.roots import without_echoes
from pi2_fluid.loop.acks.sampled import alias_sum_of_acks
from pi2_fluid.loop.acks.searched import compile_ack_loops, margins_near

__all__ = [
    "HARMONICS",
    "AckLoop",
    "alias_sum_of_acks",
    "class_delays",
    "closed_form_ack_margins",
    "compile_ack_loops",
    "find_echoes",
    "linearize_acks",
    "margins_near",
    "without_echoes",
]
