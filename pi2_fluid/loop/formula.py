"""L(s) as LaTeX: the paper's form where a loop has one, else its parts, with symbols or numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.loop.equations import ClosedForm
from pi2_fluid.loop.state_space import LinearClass, LinearLoop

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, Real

_SYMBOLS: Final = {
    "kappa": r"\kappa", "kappa_A": r"\kappa_A", "z_A": "z_A", "s_A": "s_A", "s_R": "s_R",
    "s_S": "s_S", "R": "R", "T": "T", "tau": r"\tau", "alpha": r"\alpha", "beta": r"\beta",
}  # fmt: skip


def number_in_latex(value: Real, digits: int = 5) -> str:
    r"""Return a number with its power of ten as one, or the ends of an array.

    Examples
    --------
    >>> number_in_latex(1.25e-7), number_in_latex(np.array([1.0, 2.0]))
    ('1.25 \\times 10^{-7}', '1 \\ldots 2')
    """
    if np.ndim(value):
        ends = (number_in_latex(end, digits) for end in (np.min(value), np.max(value)))
        return r" \ldots ".join(ends)
    mantissa, _, power = f"{value:.{digits}g}".partition("e")
    return rf"{mantissa} \times 10^{{{int(power)}}}" if power else mantissa


def closed_formula(
    form: ClosedForm,
    update: str,
    rtt_terms: str = "frozen",
    heard: Real | None = None,
    digits: int | None = None,
) -> str:
    """Return L(s) of a loop in closed form, equations (31) to (37).

    Parameters
    ----------
    form : ClosedForm
    update : {"continuous", "delayed", "sampled"}
    rtt_terms : {"frozen", "exact"}
    heard : float or array, optional
        By acknowledgements: from a signal to what the controller sees of it (s).
    digits : int, optional
        Numbers with so many in the place of symbols.
    """
    pole = "s_R" if form.plant == "reno" else "s_S"
    values = {
        "kappa": form.kappa, "kappa_A": form.kappa_a, "z_A": form.zero, "s_A": 1.0 / form.rtt,
        pole: form.pole, "R": form.rtt, "T": form.update_interval, "alpha": form.alpha,
        "beta": form.beta, "tau": 0.0 if heard is None else heard,
    }  # fmt: skip

    def say(name: str) -> str:
        if digits is None:
            return _SYMBOLS[name]
        text = number_in_latex(values[name], digits)
        return rf"\left({text}\right)" if r"\times" in text else text

    delay = say("R") if digits is None else f"{say('R')} "
    late = f"e^{{-{delay}s}}"
    if heard is None:
        signal = late
        h = rf"\frac{{1 + {late}}}{{2}}" if pole == "s_R" else late
        if rtt_terms == "exact":
            part = (
                rf"2 \left(s/{say('s_A')} + 1\right)" if pole == "s_R" else rf"s/{say('s_A')} + 1"
            )
            h += rf" + \frac{{1 - {late}}}{{{part}}}"
        queue = rf" \left(s/{say('s_A')} + 1\right)"
    else:
        mean = rf"\frac{{1 - {late}}}{{{delay}s}}"
        signal = f"e^{{-{say('tau')} s}}"
        signal, h = (
            (rf"{mean} {signal}", rf"\frac{{1}}{{2}} + \frac{{1 - {late}}}{{2 \cdot {delay}s}}")
            if pole == "s_R"
            else (signal, "1")
        )
        queue = ""
    window = rf"\left(s/{say(pole)} + {h}\right){queue}"
    if update == "sampled":
        plant = rf"G(s) = \frac{{{say('kappa')} \cdot {say('R')} \cdot {signal}}}{{{window}}}"
        step = rf"{say('alpha')} + {say('beta')} \left(1 - e^{{-{say('T')} s}}\right)"
        return _sampled(rf"\frac{{{step}}}{{{say('T')}}}", plant, say("T"))
    top = rf"{say('kappa')} \cdot {say('kappa_A')} \left(s/{say('z_A')} + 1\right) \cdot {signal}"
    half = rf" \cdot e^{{-{say('T')} s/2}}" if update == "delayed" else ""
    return rf"L(s) = \frac{{{top}}}{{{window} s}}{half}"


def formula_of_parts(loop: LinearLoop, update: str, digits: int | None = None) -> str:
    """Return L(s) of any loop by rates, from its controller C(s) and its classes of flows.

    Parameters
    ----------
    loop : LinearLoop
        With numbers, a scalar loop.
    update : {"continuous", "delayed", "sampled"}
    digits : int, optional
        Numbers with so many in the place of symbols.

    Raises
    ------
    UnsupportedError
        If numbers are asked for of a law with several states.
    """
    if digits is None:
        drive = r"\sum_i w_i c_i \Phi_i(s) b_i e^{-R_i s}"
        feedback = r"\sum_i w_i \left(r_i + c_i \Phi_i(s) \left(f_i + g_i e^{-R_i s}\right)\right)"
        law = r"\quad \Phi_i(s) = \left(s - A_i - B_i e^{-R_i s}\right)^{-1}"
        plant = rf"G(s) = \frac{{-{drive}}}{{s - {feedback}}}, {law}"
        if update == "sampled":
            return _sampled(r"\frac{C(z) \left(1 - e^{-T s}\right)}{T}", plant, "T")
        half = r" e^{-T s/2}" if update == "delayed" else ""
        return rf"L(s) = C(s) G(s){half}, \quad {plant}"
    if any(cls.size > 1 for cls in loop.classes):
        raise UnsupportedError(
            "a law with several states has no L(s) in a line of numbers: ask formula() for its"
            " parts, and loop.linear for their matrices."
        )
    parts = [_class_in_numbers(cls, digits) for cls in loop.classes]
    drive = " ".join(part[0] for part in parts).removeprefix("+ ")
    feedback = " ".join(part[1] for part in parts)
    plant = rf"G(s) = \frac{{{drive}}}{{s {feedback}}}"
    controller = loop.controller
    if update == "sampled":
        T = number_in_latex(float(controller.interval), digits)
        sides = (
            _polynomial(side, rf"e^{{-{T} s}}", digits)
            for side in (controller.numerator, controller.denominator)
        )
        law = rf"\frac{{{next(sides)}}}{{{next(sides)}}}"
        return _sampled(rf"{law} \cdot \frac{{1 - e^{{-{T} s}}}}{{{T}}}", plant, T)
    top, bottom, unit = controller.continuous_image
    sides = (
        _polynomial([c * unit**k for k, c in enumerate(side)], "s", digits)
        for side in (top, bottom)
    )
    half = ""
    if update == "delayed":
        half = rf" \cdot e^{{-{number_in_latex(float(controller.interval) / 2, digits)} s}}"
    return rf"L(s) = \frac{{{next(sides)}}}{{{next(sides)}}} G(s){half}, \quad {plant}"


def _sampled(controller: str, plant: str, T: str) -> str:
    aliases = r"\sum_{k=-\infty}^{\infty} \frac{G(s_k)}{s_k}"
    return (
        rf"L(z) = {controller} {aliases}, \quad s_k = s + \frac{{2 \pi j k}}{{{T}}}, \quad {plant}"
    )


def _class_in_numbers(cls: LinearClass, digits: int) -> tuple[str, str]:
    """A class's part of the drive, and of the feedback with its sign turned."""

    def signed(value: Real) -> str:
        value = float(value)
        return f"{'-' if value < 0.0 else '+'} {number_in_latex(abs(value), digits)}"

    late = f"e^{{-{number_in_latex(float(cls.rtt), digits)} s}}"
    own = rf"s {signed(-cls.a0)} {signed(-cls.a1)} \cdot {late}"
    weight = cls.weight * cls.c
    ahead = ""
    if cls.lead is not None:
        ahead = rf" \left(1 {signed(cls.lead)} s\right)"
    drive = rf"{signed(-weight * cls.b)} \cdot \frac{{{late}{ahead}}}{{{own}}}"
    feedback = signed(-cls.weight * cls.r)
    if np.any(cls.e0) or np.any(cls.e1):
        answer = rf"{signed(-weight * cls.e0)} {signed(-weight * cls.e1)} \cdot {late}"
        answer = answer.removeprefix("+ ")
        feedback += rf" + \frac{{{answer}}}{{{own}}}"
    return drive, feedback


def _polynomial(coefficients: Sequence[FloatArray], variable: str, digits: int) -> str:
    terms = []
    for power, coefficient in enumerate(coefficients):
        value = float(coefficient)
        if value == 0.0 and len(coefficients) > 1:
            continue
        sign = "-" if value < 0.0 else "+"
        factor = {0: "", 1: rf" \cdot {variable}"}.get(power, rf" \cdot {{{variable}}}^{{{power}}}")
        terms.append(f"{sign} {number_in_latex(abs(value), digits)}{factor}")
    return " ".join(terms).removeprefix("+ ")
