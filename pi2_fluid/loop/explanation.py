"""The constants behind a loop, with their values, units and meaning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pi2_fluid.loop.equations import ClosedForm

__all__ = ["Explanation", "Term", "explain_form"]


class Term(NamedTuple):
    """One constant of the loop."""

    name: str
    value: Any
    unit: str
    sentence: str


@dataclass(frozen=True)
class Explanation:
    """The constants of equations (31)-(37); `terms` in reading order, also by name in brackets."""

    terms: tuple[Term, ...]

    def __getitem__(self, name: str) -> Term:
        for term in self.terms:
            if term.name == name:
                return term
        raise KeyError(name)

    def __iter__(self) -> Iterator[Term]:
        return iter(self.terms)

    def __str__(self) -> str:
        def shown(value: Any) -> str:
            return (
                f"{value:.5g}"
                if np.ndim(value) == 0
                else f"[{np.min(value):.4g} .. {np.max(value):.4g}]"
            )

        return "\n".join(
            f"{term.name:8} = {shown(term.value):>12} {term.unit:8} {term.sentence}"
            for term in self.terms
        )


def explain_form(form: ClosedForm, window: Any) -> Explanation:
    """Return the constants of a loop in closed form.

    Parameters
    ----------
    form : ClosedForm
    window : float or array
        Window at rest (segments).
    """
    reno = form.plant == "reno"
    pole = "s_R" if reno else "s_S"
    law = "s/s_R + (1 + e^-sR)/2" if reno else "s/s_S + e^-sR"
    return Explanation(
        (
            Term("W_0", window, "segments", "window of each flow at rest, equations (19), (23)"),
            Term(
                "kappa",
                form.kappa,
                "",
                "elasticity: a rise of the controller's variable by 0.01 shrinks the window by"
                " 0.01 kappa, relative",
            ),
            Term(
                "kappa_A",
                form.kappa_a,
                "1/s",
                "integral gain per round trip, alpha R/T, below (31)",
            ),
            Term(
                "z_A",
                form.zero,
                "rad/s",
                "zero of the controller: above it the proportional part beta rules and phase is"
                " regained, below (31)",
            ),
            Term(
                "s_A",
                1.0 / form.rtt,
                "rad/s",
                "pole of the queue: above 1/R the queue integrates the windows, equation (28)",
            ),
            Term(
                pole,
                form.pole,
                "rad/s",
                f"corner of the window law ({law}): above it the windows integrate, below (34)",
            ),
            Term(
                "R_limit",
                1.0 / (2.0 * form.zero),
                "s",
                "above this round-trip time no gain is stable at low load: 1/z_A < 2R",
            ),
        )
    )
