"""What says its equations: every law."""

from __future__ import annotations

from typing import ClassVar

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.latex import Formula
from pi2_fluid.laws.formulas import formula_of_law


class Stated:
    """A law that says its equations as LaTeX, found by calling it once with symbols."""

    #: "sender" or "queue".
    role: ClassVar[str]

    def overrides(self, name: str) -> bool:
        """Return whether a law has a method of its own where its contract has one."""
        contract = next(cls for cls in type(self).__mro__ if Stated in cls.__bases__)
        return getattr(type(self), name) is not getattr(contract, name)

    def formula(self) -> Formula:
        r"""Return the equations of the law as LaTeX, which a notebook shows as formulas.

        They are written down from what the law does, whoever wrote it: the motion of a sender's
        state; of a queue what an update makes of its state, and what packets see. W_R and p_R are
        a round trip old, and tau_T was seen at the update before; y_1 stands for a part of its own.

        Raises
        ------
        UnsupportedError
            If the law has no equations here, or does what is no line of operations.

        Examples
        --------
        >>> import pi2_fluid as pf
        >>> print(pf.Reno().formula())
        \frac{dW}{dt} = \frac{1}{R} - \frac{\text{decrease} \cdot W W_R p_R}{R_R}
        """
        return formula_of_law(self)

    def _repr_latex_(self) -> str | None:
        try:
            return self.formula()._repr_latex_()
        except UnsupportedError:
            return None  # a notebook shows its name and numbers
