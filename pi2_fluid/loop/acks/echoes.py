"""Echo modes: L4S flows of one round-trip time make a dual queue swing at its harmonics.

Packets that wait nowhere come back as they were sent, 1/(1 - e), so that without a queue to smooth
them a pattern of one round trip repeats for ever: poles on the axis at 2 pi j k/R. With the loop
closed, 1 + L = 1 + A + B/(1 - e) = 0 moves each of them to where e = 1 + B/(1 + A): to the left, or
to the right. No margin at lower frequencies tells which.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.errors import SolverError
from pi2_fluid.loop.acks.plant import AckClass, AckLoop, answer_of
from pi2_fluid.loop.sampled import sampled_response
from pi2_fluid.loop.updates import respond

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray

HARMONICS: Final = 8  # of each class, unless others are asked for
_ALIASES: Final = 400  # pairs
_ROUNDS: Final = 60
_SAME: Final = 1e-6  # of the update frequency


def find_echoes(loop: AckLoop, update: str, harmonics: int = HARMONICS) -> ComplexArray:
    """Return the echo modes (rad/s) of a scalar loop, of shape (harmonics, classes that echo).

    NaN where a harmonic is a multiple of the update frequency: updates cannot tell it from the
    loop's own modes.
    """
    loop = replace(loop, echoing=True)
    echoing = [cls for cls in loop.classes if cls.echoes]
    found = np.empty((harmonics, len(echoing)), dtype=complex)
    for column, cls in enumerate(echoing):
        for row in range(harmonics):
            found[row, column] = _find(loop, update, cls, row + 1)
    return found


def _find(loop: AckLoop, update: str, cls: AckClass, harmonic: int) -> complex:
    """Newton's method on (1 - e)(1 + L), from beside the pole."""
    R = float(cls.rtt)
    start = 2j * np.pi * harmonic / R
    if update == "sampled":
        updates = harmonic * float(loop.controller.interval) / R
        if abs(updates - round(updates)) < _SAME:
            return complex(np.nan, np.nan)

    def value(s: ComplexArray) -> ComplexArray:
        sampled = update == "sampled"
        L = sampled_response(loop, s, _ALIASES) if sampled else respond(loop, s, update)
        result: ComplexArray = answer_of(cls, s, loop.bunch).back * (1.0 + L)
        return result

    s = start + 0.01 / R
    h = 1e-5 / R
    for _ in range(_ROUNDS):
        here, ahead, behind = value(np.array([s, s + h, s - h]))
        step = 2 * h * here / (ahead - behind)
        # No step leads beyond the neighbouring harmonics.
        s = s - step * min(1.0, 1.0 / (R * abs(step)))
        if abs(step) < 1e-9 * abs(s):
            return complex(s)
    raise SolverError(
        f"harmonic {harmonic} of {R:.3g} s has no echo mode that could be found: move the"
        " round-trip time a little."
    )
