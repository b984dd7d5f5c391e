"""Equations of laws as LaTeX: read back by sympy they are what the law does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
import write_equations
from braces import braced
from sympy.parsing.sympy_parser import (
    implicit_multiplication,
    parse_expr,
    standard_transformations,
)

import pi2_fluid as pf
from pi2_fluid import ops
from pi2_fluid.laws.formulas import equations
from pi2_fluid.laws.packets_only import PacketsOnly
from pi2_fluid.laws.registry import AQMS, SENDERS, aqm_class, sender_class
from pi2_fluid.laws.tape import Tape, make_tape
from pi2_fluid.laws.tapes import numbers_on_tape, tape_of

NEEDED = {"cbr": {"rate": "3Mbit/s"}, "red": {"min": 5, "max": 15}}


def functions() -> list[Any]:
    rows = []
    for kinds, class_of in ((SENDERS, sender_class), (AQMS, aqm_class)):
        for kind in kinds:
            cls: Any = class_of(kind)
            if kind in ("imposed", "injected") or issubclass(cls, PacketsOnly):
                continue
            if cls.only_in:
                continue
            law = cls(**NEEDED.get(kind, {}))
            if isinstance(law, pf.Sender):
                names = ["rate", "sending_rate_under"]
                law = law.on_link(1500.0)
            else:
                names = ["drift", "signals", "controller"]
                names += ["update"] if law.update_interval is not None else []
            rows += [pytest.param(law, name, id=f"{kind}.{name}") for name in names]
    return rows


def unfolded(text: str) -> str:
    """LaTeX without cases as Python reads it, with multiplication implied."""
    for word, made in (
        (r"\frac", "(({})/({}))"),
        (r"\sqrt[3]", "cbrt({})"),
        (r"\sqrt", "sqrt({})"),
    ):
        while (at := text.find(word + "{")) >= 0:
            parts, end = [], at + len(word)
            for _ in range(made.count("{}")):
                part, end = braced(text, end)
                parts.append(part)
            text = f"{text[:at]} {made.format(*parts)} {text[end:]}"
    while (at := text.find("^{")) >= 0:
        power, end = braced(text, at + 1)
        text = f"{text[:at]}**({power}) {text[end:]}"
    for word, made in {
        r"\left(": "(", r"\right)": ")", r"\left\lvert": "Abs(", r"\right\rvert": ")",
        r"\min": "Min", r"\max": "Max", r"\ln": "log", r"\cdot": "*", r"\times": "*",
        r"\le": "<=", r"\ge": ">=", r"\ne": "!=",
    }.items():  # fmt: skip
        text = text.replace(word, made)
    return re.sub(r"\be\*\*", "E**", text)


def value_of(text: str, known: dict[str, float]) -> float:
    """The value of LaTeX with cases, from the numbers of its symbols."""
    text = text.strip()
    if text.startswith(r"\begin{cases}"):
        body = text.removeprefix(r"\begin{cases}").removesuffix(r"\end{cases}")
        for line in body.split(r"\cr"):
            value, _, condition = line.partition("&")
            if "otherwise" in condition or is_true(condition.replace(r"\text{if }", ""), known):
                return value_of(value, known)
    assert "cases" not in text
    named = {}
    for place, name in enumerate(sorted(known, key=len, reverse=True)):
        whole = re.escape(name) + (r"(?![\w{])" if name[-1].isalnum() else "")
        text = re.sub(rf"(?<![\w\\]){whole}", f" v{place}v ", text)
        named[f"v{place}v"] = sympy.Float(known[name], 30)
    names = named | {"cbrt": sympy.cbrt, "E": sympy.E}
    found = parse_expr(
        unfolded(text),
        local_dict=names,
        transformations=(*standard_transformations, implicit_multiplication),
    )
    return float(found.evalf(30))


def is_true(text: str, known: dict[str, float]) -> bool:
    for word, joined in ((r"\text{ or }", any), (r"\text{ and }", all)):
        if word in text:
            parts = text.split(word)
            return joined(
                is_true(part.strip().removeprefix(r"\left(").removesuffix(r"\right)"), known)
                if r"\text{ and }" in part
                else is_true(part, known)
                for part in parts
            )
    left, sign, right = re.split(r"( < | > | = |\\le |\\ge |\\ne )", text, maxsplit=1)
    a, b = value_of(left, known), value_of(right, known)
    return {
        "<": a < b, ">": a > b, "=": a == b, r"\le": a <= b, r"\ge": a >= b, r"\ne": a != b
    }[sign.strip()]  # fmt: skip


def read_back(tape: Tape, values: list[float]) -> list[float]:
    names = [*tape.inputs, *tape.parameters]
    known = {f"q_{{{place}}}": value for place, value in enumerate(values)}
    lines, _ = equations(
        tape,
        [f"z_{place}" for place in range(len(tape.outputs))],
        lambda name: f"q_{{{names.index(name)}}}",
    )
    said = dict(line.split(" = ", 1) for line in lines)
    for name in sorted((name for name in said if name[0] == "y"), key=lambda y: int(y[3:-1])):
        known[name] = value_of(said[name], known)
    return [value_of(said[f"z_{place}"], known) for place in range(len(tape.outputs))]


@pytest.mark.slow
@pytest.mark.parametrize(("law", "name"), functions())
def test_equations_read_back_are_the_law(law: Any, name: str):
    tape = tape_of(law, name)
    numbers = numbers_on_tape(law, tape)
    rng = np.random.default_rng(5)
    for _ in range(3):
        values = [
            float(rng.uniform(0.01, 0.4) if re.search("delay$|rtt|signal|state0", n) else
                  rng.uniform(1.0, 40.0)) for n in tape.inputs
        ]  # fmt: skip
        # Terms may cancel: to the rounding of what is added.
        np.testing.assert_allclose(
            read_back(tape, [*values, *numbers]),
            np.array(tape(*values, parameters=numbers), float),
            rtol=1e-12,
            atol=1e-13,
        )


LINES = {
    r"x_1 - \left(x_2 - x_1\right)": lambda x, y: x - (y - x),
    r"-\left(x_1 + x_2\right) x_1": lambda x, y: -(x + y) * x,
    r"\frac{x_1}{x_2}^{2}": lambda x, y: (x / y) ** 2.0,
    r"\frac{2 x_1}{3 x_2}": lambda x, y: 2.0 * x / y / 3.0,
    r"x_1 - 3": lambda x, y: x + 0.0 * y - 3.0,
    r"\left(-x_1\right)^{x_2}": lambda x, y: (-x) ** y,
    r"\left\lvert x_1 \right\rvert x_2": lambda x, y: abs(x) * y,
    r"x_1^{3}": lambda x, y: x * x * x,
    r"cases": lambda x, y: ops.where((x < y) | ~(y <= 2.0), ops.where(x == 1.0, x, y), 2.0),
    r"named": lambda x, y: 2.0 * ops.where(x < y, x, y) + ops.where(x < y, x, y),
    r"e": lambda x, y: ops.exp(-x) * ops.log1p(y) - ops.expm1(y) * ops.cbrt(x) ** 2,
    r"truths": lambda x, y: (x < y) * y + (y < x),
}


@pytest.mark.parametrize("line", LINES.values(), ids=list(LINES))
def test_lines_of_every_kind_read_back(line: Any):
    tape = make_tape(line, ["x", "y"])
    sign = -1.0 if line is LINES[r"\left(-x_1\right)^{x_2}"] else 1.0
    for point in ((sign, 2.5), (sign * 0.3, 2.0), (sign * 3.0, 1.5), (sign, 2.0)):
        np.testing.assert_allclose(read_back(tape, list(point)), tape(*point), rtol=1e-13)


def test_formulas_have_the_symbols_of_the_papers():
    assert pf.Pi2().formula() == (
        r"\begin{aligned} u &\leftarrow u + \alpha \left(\tau - \tau_0\right)"
        r" + \beta \left(\tau - \tau_T\right) \cr p &= u^{2} \end{aligned}"
    )
    assert pf.Reno()._repr_latex_() == f"$${pf.Reno().formula()}$$"


def test_a_law_without_equations_has_no_formula():
    with pytest.raises(pf.UnsupportedError):
        pf.linux.Qdisc("cake").formula()
    assert pf.linux.Qdisc("cake")._repr_latex_() is None


@pytest.mark.slow
def test_the_page_of_equations_is_current():
    text = Path(write_equations.PAGE).read_text(encoding="utf-8")
    assert write_equations.page(text) == text, "run python tools/write_equations.py"
