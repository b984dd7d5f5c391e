"""How long the steps of a trajectory are, and what of it they may leave out."""

from __future__ import annotations

from typing import Final, NamedTuple

from pi2_fluid.engines.fluid.timeline import SAME

#: Of the tolerance: jumps below it are stepped over.
NEGLIGIBLE: Final = 0.1
_COARSEST: Final = 0.1  # the tolerance where none is given: then a step is shorter than asked for
_FIXED: Final = 1e-9  # as a tolerance, of jumps of signals, when steps do not adapt


class Accuracy(NamedTuple):
    """How long steps are: at tolerance 0 all of length `step`, else as the tolerance allows.

    Those of a fixed length are cut where they would be off by a tenth of the state: beyond, what
    they do not follow grows from step to step.
    """

    step: float
    tolerance: float
    most_steps: int = 20_000_000

    @property
    def allowed(self) -> float:
        """What a step may be off by, as a part of the state."""
        return self.tolerance or _COARSEST

    @property
    def negligible(self) -> float:
        """Jumps of what signals do in a round trip, as a part of the state, that are none."""
        return NEGLIGIBLE * (self.tolerance or _FIXED)

    @property
    def close(self) -> float:
        """How near the image of a breakpoint must be hit (s)."""
        return max(SAME, 1e-3 * self.tolerance)

    def explain_end(self, taken: int, t: float) -> str:
        """Return why a trajectory went no further than `t` (s), after so many steps."""
        remedy = "shorten the duration, raise base_rtt, or give a longer step"
        if self.tolerance == 0.0 and taken <= self.most_steps:
            remedy = (
                f"what falls there does so faster than steps of {self.step:g} s can follow, so give"
                " a shorter step, or a tolerance"
            )
        return f"the trajectory took {taken} steps to t = {t:g} s and came no further: {remedy}."
