"""The three ways to see the update interval T: not at all, as a delay of T/2, or exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.loop.response import loop_response
from pi2_fluid.loop.sampled import sampled_response
from pi2_fluid.loop.state_space import AnyLoop

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray

UPDATES: Final = ("continuous", "delayed", "sampled")
#: Of the frequencies of a sampled loop up to pi/T, where it is real: as far as its phase tells from
#: which side it comes. |L| is even about pi/T, so that up to there it changes by 1e-12.
NEARLY_ALL: Final = 1.0 - 1e-6


def respond(loop: AnyLoop, s: ComplexArray, update: str) -> ComplexArray:
    """Return L(s), or L_d at z = e^{sT} with update="sampled"; broadcasts over the loop's shape."""
    if update == "sampled":
        return sampled_response(loop, s)
    return loop_response(loop, s, half_sample=update == "delayed")


def highest_frequency(loop: AnyLoop, update: str) -> float:
    """Return where the frequencies of a scalar loop end: pi/T if it is sampled, else inf."""
    return np.pi / float(loop.controller.interval) if update == "sampled" else np.inf


def longest_delay(loop: AnyLoop, update: str) -> float:
    """Return the longest round-trip time of a scalar loop, with T/2 if it is "delayed" (s)."""
    extra = float(loop.controller.interval) / 2 if update == "delayed" else 0.0
    return max(float(cls.rtt) for cls in loop.classes) + extra
