"""L(s) as LaTeX, read back and evaluated, against L(s)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import sympy
from braces import braced
from refusals import refused
from sympy.parsing.sympy_parser import (
    implicit_multiplication,
    parse_expr,
    standard_transformations,
)

import pi2_fluid as pf

W = np.array([0.3, 2.0, 7.0, 31.0])
AT = {"rtt": "100ms", "p_prime": 0.1}
ONE: dict[str, Any] = {
    "reno": pf.Loop(pf.Reno(), pf.Pi2(), **AT),
    "exact": pf.Loop(pf.Reno(), pf.Pi2(), rtt_terms="exact", update="delayed", **AT),
    "pie": pf.Loop(pf.CReno(), pf.Pie(), rtt="80ms", p=0.01),
    "scalable": pf.Loop(pf.Scalable(), pf.Pi(), rtt_terms="exact", **AT),
    "sampled": pf.Loop(pf.Reno(), pf.Pi2(), update="sampled", **AT),
    "acks": pf.Loop(pf.Reno(), pf.Pi2(), clock="acks", update="delayed", **AT),
    "acks of scalable": pf.Loop(pf.Scalable(), pf.CoupledPi2(), clock="acks", **AT),
    "acks, dropped at the tail": pf.Loop(
        pf.Reno(), pf.Pi2(drop_at="enqueue"), clock="acks", update="sampled", **AT
    ),
    "linux": pf.Loop(pf.Reno(), pf.presets.linux_dualpi2(), clock="acks", **AT),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Late(pf.Reno):
    """A law of one's own, without closed form."""

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        return 1.0 / rtt - 0.4 * w * w_delayed**0.8 * p_delayed / rtt_delayed


FLOWS = [pf.Flows(pf.Reno(), 5, "50ms"), pf.Flows(pf.CReno(), 5, "80ms")]
PARTS: dict[str, Any] = {
    "two classes": pf.Loop(FLOWS, pf.Pi2(), capacity="10Mbit/s"),
    "two, exact": pf.Loop(
        FLOWS, pf.Pi2(), capacity="10Mbit/s", rtt_terms="exact", update="delayed"
    ),
    "two, sampled": pf.Loop(FLOWS, pf.Pi2(), capacity="10Mbit/s", update="sampled"),
    "own law": pf.Loop(Late(), pf.Pi2(), **AT),
}


def as_python(latex: str) -> str:
    """An expression of LaTeX as sympy reads it."""
    text = latex.replace(r"\left(", "(").replace(r"\right)", ")")
    while (at := text.find(r"\frac")) >= 0:
        top, middle = braced(text, at + 5)
        bottom, end = braced(text, middle)
        text = f"{text[:at]}(({top})/({bottom})){text[end:]}"
    while (found := re.search(r"(e|10|\{?s\}?)\^\{", text)) is not None:
        power, end = braced(text, found.end() - 1)
        power = as_python(power)
        base = {"e": "exp({})", "10": "10**({})"}.get(found[1], "s**({})").format(power)
        text = f"{text[: found.start()]}{base}{text[end:]}"
    text = text.replace(r"\times", "*").replace(r"\cdot", "*").replace("Rs", "R s")
    return re.sub(r"\\([a-z]+)", r"\1", text)


def value_of(latex: str, s: Any, symbols: dict[str, float]) -> Any:
    known = {name: sympy.Symbol(name) for name in (*symbols, "s")}
    transformations = (*standard_transformations, implicit_multiplication)
    found = parse_expr(as_python(latex), local_dict=known, transformations=transformations)
    return sympy.lambdify(known["s"], found.subs(symbols), "numpy")(s)


def evaluated(latex: str, s: Any, symbols: dict[str, float]) -> Any:
    """L at some s, whichever form it has."""
    parts = dict(part.split(" = ", 1) for part in latex.split(r", \quad "))
    if "L(z)" not in parts:
        plant = value_of(parts["G(s)"], s, symbols) if "G(s)" in parts else 1.0
        return value_of(parts["L(s)"].replace(" G(s)", ""), s, symbols) * plant
    law = parts["L(z)"].partition(r" \sum")[0]
    apart = parts["s_k"].removeprefix("s + ").replace(r"2 \pi j k", "1")
    k = np.arange(-20_000, 20_001)[:, None]
    s_k = s + 2j * np.pi * k * value_of(apart, s, symbols)
    return value_of(law, s, symbols) * np.sum(value_of(parts["G(s)"], s_k, symbols) / s_k, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE)
def test_its_symbols_with_their_values_are_the_loop(name) -> None:
    loop = ONE[name]
    named = {"kappa_A", "kappa", "z_A", "s_A", "s_R", "s_S", "tau"}
    symbols = {t.name: float(t.value) for t in loop.explain() if t.name in named}
    form = loop._rate_form
    symbols |= {"R": form.rtt, "T": form.update_interval, "alpha": form.alpha, "beta": form.beta}
    symbols.setdefault("s_A", 1.0 / form.rtt)
    np.testing.assert_allclose(evaluated(loop.formula(), 1j * W, symbols), loop(1j * W), rtol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*ONE, *PARTS])
def test_its_numbers_are_the_loop(name) -> None:
    loop = (ONE | PARTS)[name]
    latex = loop.formula(numbers=True, digits=12)
    assert not re.search(r"kappa|alpha|beta|tau|z_A|s_A|_R", latex)
    # A sum over 40,001 aliases, whose terms fall like 1/k^3.
    np.testing.assert_allclose(evaluated(latex, 1j * W, {}), loop(1j * W), rtol=1e-7)


@pytest.mark.parametrize("name", [*ONE, *PARTS])
@pytest.mark.parametrize("numbers", [False, True])
def test_matplotlib_and_a_page_can_set_it(name, numbers) -> None:
    """By the rules for pages: no sign after a backslash, no bar, no star, no operatorname."""
    from matplotlib.mathtext import MathTextParser

    latex = (ONE | PARTS)[name].formula(numbers=numbers)
    MathTextParser("path").parse(f"${latex}$")
    assert not re.search(r"\\[^a-zA-Z]|operatorname|[*|]", latex)
    assert latex._repr_latex_() == f"$${latex}$$"


def test_a_loop_is_shown_by_it() -> None:
    loop = ONE["reno"]
    assert loop._repr_latex_() == f"$${loop.formula()}$$"
    assert loop.formula() in loop.explain().latex.replace("&=", "=")
    several = pf.Loop(FLOWS, pf.Pi2(), capacity="10Mbit/s", clock="acks")
    assert several._repr_latex_() is None


def test_what_has_no_formula() -> None:
    with refused(pf.UnsupportedError, "this loop has no formula here", "loop(1j * w)"):
        pf.Loop(FLOWS, pf.Pi2(), capacity="10Mbit/s", clock="acks").formula()
    with refused(pf.UnsupportedError, "a law with several states"):
        pf.Loop(pf.Cubic(), pf.Pi2(), **AT).formula(numbers=True)
    with refused(pf.UnsupportedError, "formula(numbers=True) is for one loop"):
        pf.Loop(pf.Reno(), pf.Pi2(), rtt=[0.1, 0.2], p_prime=0.1).formula(numbers=True)
