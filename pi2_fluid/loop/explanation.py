"""The constants behind a loop, with their values, units and meaning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pi2_fluid.html import show_number
from pi2_fluid.loop.equations import ClosedForm
from pi2_fluid.loop.formula import number_in_latex
from pi2_fluid.loop.limits import rtt_limit

if TYPE_CHECKING:
    from pi2_fluid.values import Real, Values

_LATEX: Final = {
    "kappa": r"\kappa", "kappa_A": r"\kappa_A", "R_limit": r"R_\mathrm{limit}", "tau": r"\tau",
    "T_osc": r"T_\mathrm{osc}", "GM_acks": r"G_\mathrm{acks}", "GM_rate": r"G_\mathrm{rate}",
}  # fmt: skip


class Term(NamedTuple):
    """One constant of the loop."""

    name: str
    value: Any
    unit: str
    sentence: str


@dataclass(frozen=True)
class Explanation:
    """The constants of equations (31)-(37), or by acknowledgements, and L(s) as LaTeX.

    `terms` are in reading order, also by name in brackets.
    """

    terms: tuple[Term, ...]
    formula: str

    def __getitem__(self, name: str) -> Term:
        for term in self.terms:
            if term.name == name:
                return term
        raise KeyError(name)

    def __iter__(self) -> Iterator[Term]:
        return iter(self.terms)

    @property
    def latex(self) -> str:
        """The loop's transfer function and its constants, as an `aligned` block."""
        lines = [self.formula.replace("=", "&=", 1)]
        for term in self.terms:
            unit = rf"\;\mathrm{{{term.unit}}}" if term.unit else ""
            lines.append(
                f"{_LATEX.get(term.name, term.name)} &= {number_in_latex(term.value)}{unit}"
            )
        return r"\begin{aligned}" + r" \\ ".join(lines) + r"\end{aligned}"

    def _repr_latex_(self) -> str:
        return f"$$ {self.latex} $$"

    def __str__(self) -> str:
        return "\n".join(
            f"{term.name:8} = {show_number(term.value):>12} {term.unit:8} {term.sentence}"
            for term in self.terms
        )


def explain_form(
    form: ClosedForm, window: Real, period: Values, formula: str, update: str
) -> Explanation:
    """Return the constants of a loop in closed form.

    Parameters
    ----------
    form : ClosedForm
    window : float or array
        Window at rest (segments).
    period : float or array
        Of an oscillation at the phase crossover (s).
    formula : str
        L(s) as LaTeX.
    update : {"continuous", "delayed", "sampled"}
        How the loop sees the update interval.
    """
    reno = form.plant == "reno"
    pole = "s_R" if reno else "s_S"
    law = "s/s_R + (1 + e^-sR)/2" if reno else "s/s_S + e^-sR"
    limit = "1/(2 z_A)" if update == "continuous" else "T beta/(2 alpha)"
    return Explanation(
        (
            Term(
                "W_0",
                window,
                "segments",
                "window of each flow at the operating point, equations (19), (23)",
            ),
            Term(
                "kappa",
                form.kappa,
                "",
                "how strongly a window answers: it falls by kappa percent when the controller's"
                " variable rises by 0.01",
            ),
            Term(
                "kappa_A",
                form.kappa_a,
                "1/s",
                "integral gain per round trip, alpha R/T, after equation (31)",
            ),
            Term(
                "z_A",
                form.zero,
                "rad/s",
                "zero of the controller: at higher frequencies beta rules and the phase recovers,"
                " after equation (31)",
            ),
            Term(
                "s_A",
                1.0 / form.rtt,
                "rad/s",
                "pole of the queue, 1/R: at higher frequencies it integrates the windows, equation"
                " (28)",
            ),
            Term(
                pole,
                form.pole,
                "rad/s",
                f"corner of the window law, {law}: at higher frequencies it integrates, after"
                " equation (34)",
            ),
            Term(
                "R_limit",
                rtt_limit(form.alpha, form.beta, form.update_interval, update),
                "s",
                f"at low load, no gain is stable above this round-trip time: {limit}",
            ),
            Term(
                "T_osc",
                period,
                "s",
                "period of the oscillation when the gain is just too large: 2 pi over the phase"
                " crossover",
            ),
        ),
        formula,
    )


def explain_acks(
    form: ClosedForm,
    window: Real,
    period: Values,
    delay: Real,
    margins: tuple[Values, Values],
    formula: str,
    update: str,
) -> Explanation:
    """Return the constants of the same loop by acknowledgements, of one class.

    Parameters
    ----------
    form : ClosedForm
        By rates.
    window : float or array
        Window at rest (segments).
    period : float or array
        Of an oscillation at the phase crossover by acknowledgements (s).
    delay : float or array
        Seconds from a signal to what the controller sees of it.
    margins : pair of float or array
        Gain margin (dB) by acknowledgements and by rates.
    formula : str
        L(s) as LaTeX.
    update : {"continuous", "delayed", "sampled"}
    """
    told = {term.name: term for term in explain_form(form, window, period, formula, update)}
    reno = form.plant == "reno"
    pole = "s_R" if reno else "s_S"
    law = "s/s_R + (1 + P)/2, P = (1 - e^-sR)/(sR)" if reno else "s/s_S + 1"
    return Explanation(
        (
            *(told[name] for name in ("W_0", "kappa", "kappa_A", "z_A")),
            told[pole]._replace(
                sentence=f"corner of the window law, {law}: at higher frequencies it integrates"
            ),
            Term(
                "tau",
                delay,
                "s",
                "delay from a signal to what the controller sees of it. The queue holds what"
                " windows have grown by, so that there is no pole s_A",
            ),
            told["T_osc"],
            Term("GM_acks", margins[0], "dB", "gain margin of this loop"),
            Term("GM_rate", margins[1], "dB", "gain margin by rates, equations (35)-(37)"),
        ),
        formula,
    )
