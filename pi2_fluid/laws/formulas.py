r"""Equations of a law as LaTeX, from its tapes.

Symbols are those of the papers: W, W_R of a window now and a round trip ago, p_R, R, u, \tau, C, T.
What a law uses more than once, and is long, has a name of its own, y_1, in a line after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pi2_fluid.latex import Formula
from pi2_fluid.laws.rows import NAMES, operands_of
from pi2_fluid.laws.tape import Tape
from pi2_fluid.laws.tapes import Law, tape_of

if TYPE_CHECKING:
    from pi2_fluid.values import Real

#: An expression: its kind and its parts.
Expression: TypeAlias = "tuple[Any, ...]"

_GREEK: Final = frozenset(
    {"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "kappa", "lambda", "mu"}
    | {"nu", "rho", "sigma", "tau", "phi", "psi"}
)
_SYMBOLS: Final = {
    "window": "W", "signal": "p", "rtt": "R", "queue_delay": r"\tau", "classic_delay": r"\tau_C",
    "l4s_delay": r"\tau_L", "capacity": "C", "dt": "T", "update_interval": "T", "queue": "Q",
    "arrival_rate": r"\lambda", "target": r"\tau_0", "overflow": "o",
}  # fmt: skip
_SIGNS: Final = {"less": "<", "less_equal": r"\le", "equal": "="}
_OPPOSITE: Final = {"<": r"\ge", r"\le": ">", "=": r"\ne"}
#: Parts of an expression that is used twice, above which it has a name.
_LONG: Final = 8
#: What ends the left side of what an update makes of a state.
_BECOMES: Final = r"\leftarrow"
#: A symbol, to which a power may be put without brackets.
_NAME: Final = r"(\\?[A-Za-z]+|\\text\{[^{}]*\})(_\w|_\{[^{}]*(\{[^{}]*\}[^{}]*)*\})?"
_ONE: Final = ("number", 1.0)
_ZERO: Final = ("number", 0.0)


def symbol(name: str) -> str:
    r"""Return the LaTeX of a name of a tape.

    Examples
    --------
    >>> symbol("window_delayed"), symbol("law.alpha"), symbol("law.max_rate")
    ('W_R', '\\alpha', '\\text{max rate}')
    """
    name = name.rpartition(".")[2] if name.startswith("law") else name
    late = name.endswith("_delayed")
    plain = name.removesuffix("_delayed")
    head, *rest = re.sub(r"\[(\d+)\]", r"_\1", plain).split("_")
    if plain in _SYMBOLS:
        text = _SYMBOLS[plain]
    elif head in _GREEK or len(head) == 1:
        text = rf"\{head}" if head in _GREEK else head
        if rest:
            text += f"_{{{_upright(rest)}}}"
    else:
        text = _upright([head, *rest])
    if not late:
        return text
    base, _, below = text.partition("_")
    below = below.removeprefix("{").removesuffix("}")
    return f"{base}_{{{below},R}}" if below else f"{base}_R"


def _upright(words: Sequence[str]) -> str:
    text = " ".join(words)
    return text if len(text) == 1 else rf"\text{{{text}}}"


def number_in_latex(value: Real, digits: int | None = None) -> str:
    r"""Return a number as its shortest decimals or a fraction, with its power of ten as one.

    Examples
    --------
    >>> number_in_latex(1.25e-7), number_in_latex(2.0), number_in_latex(1.0 / 3.0)
    ('1.25 \\times 10^{-7}', '2', '\\frac{1}{3}')
    """
    value = float(value)
    text = repr(value) if digits is None else f"{value:.{digits}g}"
    mantissa, _, power = text.partition("e")
    if len(mantissa) > 8 and digits is None:
        ratio = Fraction(value).limit_denominator(1000)
        if float(ratio) == value:
            return rf"\frac{{{ratio.numerator}}}{{{ratio.denominator}}}"
    mantissa = mantissa.removesuffix(".0")
    return rf"{mantissa} \times 10^{{{int(power)}}}" if power else mantissa


def formula_of_law(law: Law) -> Formula:
    """Return the equations of a law: how its state moves, and what packets see of it.

    Raises
    ------
    UnsupportedError
        If it has none, or they are no line of operations.
    """
    lines: list[str] = []
    following = 1
    for name, sides in _asked(law):
        tape = tape_of(law, name)
        more, following = equations(tape, sides(tape), symbols_of(law), following)
        lines += [line for line in more if name != "drift" or not line.endswith("} = 0")]
    if len(lines) == 1:
        return Formula(lines[0])
    aligned = r" \cr ".join(re.sub(r" (=|\\leftarrow) ", r" &\1 ", line, count=1) for line in lines)
    return Formula(rf"\begin{{aligned}} {aligned} \end{{aligned}}")


def symbols_of(law: Law) -> Callable[[str], str]:
    """Return what says the LaTeX of each name of a law's tapes."""
    if law.role == "sender":
        return symbol
    states = _states_of(law)
    return lambda name: states.get(name) or symbol(name)


def _states_of(law: Law) -> dict[str, str]:
    """Return the symbols of a queue's state: u, what it saw an update ago, and others."""
    shown, size = tape_of(law, "controller"), len(law.initial())
    names = {f"state{place}": f"x_{place + 1}" for place in range(size)}
    if law.update_interval is not None:
        after = tape_of(law, "update")
        for place, output in enumerate(after.outputs):
            if size <= output < len(after.inputs):
                names[f"state{place}"] = rf"{symbol(after.inputs[output])}_T"
    if shown.outputs[0] < size:
        names[f"state{shown.outputs[0]}"] = "u"
    return names


_Sides: TypeAlias = "Callable[[Tape], Sequence[str]]"


def _asked(law: Law) -> list[tuple[str, _Sides]]:
    """Return the functions of a law that its equations say, with their left sides."""
    if law.role == "sender":
        moving = [rf"\frac{{d{symbol(name)}}}{{dt}}" for name in law.states]
        functions: list[tuple[str, _Sides]] = [("rate", lambda _: moving)]
        if law.answers_at_once or law.overrides("sending_rate"):
            functions.append(("sending_rate_under", lambda _: ["r"]))
        return functions
    names = symbols_of(law)
    states = [names(f"state{place}") for place in range(len(law.initial()))]
    functions = []
    if law.overrides("drift"):
        moving = [rf"\frac{{d{state}}}{{dt}}" for state in states]
        functions.append(("drift", lambda _: moving))
    if law.update_interval is not None:
        functions.append(("update", lambda tape: _updated(tape, states)))
    if "u" not in states:
        functions.append(("controller", lambda _: ["u"]))
    own = law.overrides("signals")
    functions.append(("signals" if own else "encode", _bands))
    return functions


def _bands(tape: Tape) -> list[str]:
    """Return p, or p_C and p_S of Classic and Scalable packets where they see different ones."""
    return ["p", ""] if tape.outputs[0] == tape.outputs[1] else ["p_C", "p_S"]


def _updated(tape: Tape, states: Sequence[str]) -> list[str]:
    """Return the left sides of an update; "" of what is kept, or is what was just seen."""
    return [
        "" if output < len(tape.inputs) else rf"{states[place]} {_BECOMES}"
        for place, output in enumerate(tape.outputs)
    ]


def equations(
    tape: Tape, sides: Sequence[str], names: Callable[[str], str] = symbol, first: int = 1
) -> tuple[list[str], int]:
    """Return the results of a tape as equations, and those of the names that they need.

    Parameters
    ----------
    tape : Tape
    sides : sequence of str
        What stands on the left of each result; "" leaves one out.
    names : callable
        From the name of an input or parameter to its LaTeX.
    first : int
        Number of the first name.

    Returns
    -------
    lines : list of str
        With "=".
    following : int
        The number of the next name.
    """
    asked = [which for which, side in enumerate(sides) if side]
    writer = _Writer(tape.only(asked), names, first)
    lines = [
        f"{sides[which]} {'' if sides[which].endswith(_BECOMES) else '= '}{writer.result(place)}"
        for which, place in zip(asked, writer.tape.outputs, strict=True)
    ]
    return [*lines, *writer.lines], first + len(writer.named)


class _Writer:
    """Expressions of the registers of one tape."""

    def __init__(self, tape: Tape, names: Callable[[str], str], first: int) -> None:
        self.tape, self.first = tape, first
        self.named: dict[int, str] = {}
        self.lines: list[str] = []
        self._parts: dict[int, Expression] = {
            place: ("symbol", names(name))
            for place, name in enumerate((*tape.inputs, *tape.parameters))
        }
        given = len(self._parts)
        self._parts |= {
            given + place: ("number", value) for place, value in enumerate(tape.constants)
        }
        read = [place for row in tape.rows for place in operands_of(row)]
        self._often = {place for place in read if read.count(place) > 1}
        for place, row in enumerate(tape.rows, tape.first):
            code = NAMES[row[0]]
            x = [self._parts[operand] for operand in operands_of(row)]
            for which, operand in enumerate(operands_of(row)):
                asked = code in {"and", "or", "not"} or (code == "where" and which == 0)
                if x[which][0] in _TRUTHS and not asked:  # a truth that is computed with
                    x[which] = self._name(operand, _as_number(x[which]))
            self._parts[place] = self._kept(place, _operate(code, x))

    def result(self, place: int) -> str:
        """Return a result as LaTeX."""
        if place in self.named:  # needed elsewhere, too
            return self.named[place]
        return _text(_as_number(self._parts[place]))

    def _kept(self, place: int, part: Expression) -> Expression:
        """Return an expression, or a name for it that has a line."""
        inner = part[0] == "cases" and place not in self.tape.outputs
        inner = inner or (part[0] == "cases" and place in self._often)
        long = place in self._often and _size(part) > _LONG and part[0] not in _TRUTHS
        if not (inner or long) or (part[0] == "cases" and self._chained(place)):
            return part
        return self._name(place, part)

    def _name(self, place: int, part: Expression) -> Expression:
        if place not in self.named:
            name = f"y_{{{self.first + len(self.named)}}}"
            self.named[place] = name
            self.lines.append(f"{name} = {_text(part)}")
        return ("symbol", self.named[place])

    def _chained(self, place: int) -> bool:
        """Return whether a choice is only ever the last case of another choice."""
        readers = [row for row in self.tape.rows if place in operands_of(row)]
        return (
            len(readers) == 1
            and NAMES[readers[0][0]] == "where"
            and operands_of(readers[0])[2] == place
            and place not in operands_of(readers[0])[:2]
            and place not in self.tape.outputs
        )


_TRUTHS: Final = {"compare", "and", "or", "not"}


def _operate(code: str, x: Sequence[Expression]) -> Expression:
    if code in _SIGNS:
        return ("compare", _SIGNS[code], _as_number(x[0]), _as_number(x[1]))
    if code in {"and", "or"}:
        return (code, _as_truth(x[0]), _as_truth(x[1]))
    if code == "not":
        return _opposite(_as_truth(x[0]))
    if code == "where":
        return _cases(_as_truth(x[0]), _as_number(x[1]), _as_number(x[2]))
    x = [_as_number(value) for value in x]
    if code == "add":
        return _sum([x[0], x[1]])
    if code == "subtract":
        return _sum([x[0], _product([("number", -1.0), x[1]], [])])
    if code == "negative":
        return _product([("number", -1.0), x[0]], [])
    if code == "multiply":
        return _product([x[0], x[1]], [])
    if code == "divide":
        return _product([x[0]], [x[1]])
    if code == "power":
        return _power(x[0], x[1])
    if code == "expm1":
        return _sum([("exp", x[0]), ("number", -1.0)])
    if code == "log1p":
        return ("log", _sum([_ONE, x[0]]))
    return (code, *x)


def _as_number(x: Expression) -> Expression:
    return _cases(x, _ONE, _ZERO) if x[0] in _TRUTHS else x


def _as_truth(x: Expression) -> Expression:
    return x if x[0] in _TRUTHS else ("compare", r"\ne", x, _ZERO)


def _opposite(x: Expression) -> Expression:
    if x[0] == "compare" and x[1] in _OPPOSITE:
        return ("compare", _OPPOSITE[x[1]], *x[2:])
    return ("not", x)


def _cases(condition: Expression, yes: Expression, no: Expression) -> Expression:
    rest = no[1:] if no[0] == "cases" else ((None, no),)
    return ("cases", (condition, yes), *rest)


def _sum(terms: Sequence[Expression]) -> Expression:
    """A sum of terms, the numbers among them added up if they are next to one another."""
    flat: list[Expression] = []
    for term in terms:
        flat += term[1:] if term[0] == "sum" else [term]
    flat = [term for term in flat if term != _ZERO]
    numbers = [term[1] for term in flat if term[0] == "number"]
    if len(numbers) > 1:
        flat = [term for term in flat if term[0] != "number"]
        flat.append(("number", float(sum(numbers))))
    if len(flat) < 2:
        return flat[0] if flat else _ZERO
    return ("sum", *flat)


def _product(over: Sequence[Expression], under: Sequence[Expression]) -> Expression:
    """(number) * factors / factors."""
    number = 1.0
    above: list[Expression] = []
    below: list[Expression] = []
    for side, factors in ((1, over), (-1, under)):
        for factor in factors:
            if factor[0] == "number":
                if side < 0 and factor[1] == 0.0:
                    return ("quotient", _product(over, []), factor)
                number = number * factor[1] if side > 0 else number / factor[1]
            elif factor[0] == "product":
                number = number * factor[1] if side > 0 else number / factor[1]
                top, bottom = factor[2:] if side > 0 else factor[:1:-1]
                above += top
                below += bottom
            else:
                (above if side > 0 else below).append(factor)
    if number == 0.0:
        return _ZERO
    if not above and not below:
        return ("number", number)
    if number == 1.0 and not below and len(above) == 1:
        return above[0]
    if number == -1.0 and not below and len(above) == 1 and above[0][0] == "sum":
        turned = [_product([("number", -1.0), term], []) for term in above[0][1:]]
        return ("sum", *sorted(turned, key=_is_negative))  # 1 - x, not -x + 1
    return ("product", number, tuple(above), tuple(below))


def _is_negative(x: Expression) -> bool:
    return x[0] in {"number", "product"} and x[1] < 0.0


def _power(base: Expression, exponent: Expression) -> Expression:
    if exponent == _ONE:
        return base
    return ("sqrt", base) if exponent == ("number", 0.5) else ("power", base, exponent)


def _size(part: Expression) -> int:
    return 1 + sum(
        _size(inner)
        if inner and isinstance(inner[0], str)
        else sum(map(_size, filter(None, inner)))
        for inner in part
        if isinstance(inner, tuple)
    )


# As text


def _text(x: Expression) -> str:
    kind = x[0]
    writers: dict[str, Callable[[], str]] = {
        "symbol": lambda: str(x[1]),
        "number": lambda: number_in_latex(x[1]),
        "sum": lambda: _text_of_sum(x[1:]),
        "product": lambda: _text_of_product(x[1], x[2], x[3]),
        "quotient": lambda: rf"\frac{{{_text(x[1])}}}{{{_text(x[2])}}}",
        "power": lambda: f"{_factor(x[1], base=True)}^{{{_text(x[2])}}}",
        "cases": lambda: _text_of_cases(x[1:]),
        "compare": lambda: f"{_text(x[2])} {x[1]} {_text(x[3])}",
        "and": lambda: rf"{_condition(x[1])} \text{{ and }} {_condition(x[2])}",
        "or": lambda: rf"{_condition(x[1])} \text{{ or }} {_condition(x[2])}",
        "not": lambda: rf"\text{{not }} {_condition(x[1])}",
        "minimum": lambda: rf"\min\left({_text(x[1])}, {_text(x[2])}\right)",
        "maximum": lambda: rf"\max\left({_text(x[1])}, {_text(x[2])}\right)",
        "absolute": lambda: rf"\left\lvert {_text(x[1])} \right\rvert",
        "exp": lambda: f"e^{{{_text(x[1])}}}",
        "log": lambda: rf"\ln\left({_text(x[1])}\right)",
        "sqrt": lambda: rf"\sqrt{{{_text(x[1])}}}",
        "cbrt": lambda: rf"\sqrt[3]{{{_text(x[1])}}}",
    }
    return writers[kind]()


def _text_of_sum(terms: Sequence[Expression]) -> str:
    text = ""
    for term in terms:
        part = _text(term)
        if not text:
            text = part
        elif part.startswith("-"):
            text += f" - {part[1:]}"
        else:
            text += f" + {part}"
    return text


def _text_of_product(
    number: float, above: Sequence[Expression], below: Sequence[Expression]
) -> str:
    sign = "-" if number < 0.0 else ""
    number = abs(number)
    factor = "" if number == 1.0 else number_in_latex(number)
    if below:
        alone = number != 1.0 and (r"\times" in factor or r"\frac" in factor)
        top = _line(above, "" if alone else factor, enclosed=True) or "1"
        lead = rf"{factor} \cdot " if alone else ""
        return rf"{sign}{lead}\frac{{{top}}}{{{_line(below, '', enclosed=True)}}}"
    return sign + _line(above, factor)


def _line(factors: Sequence[Expression], number: str, *, enclosed: bool = False) -> str:
    """Factors side by side, one that comes again as a power; one alone may be enclosed already."""
    counted: dict[str, int] = {}
    only = len(factors) == 1 and not number and enclosed
    for x in factors:
        text = _text(x) if only else _factor(x)
        counted[text] = counted.get(text, 0) + 1
    words = [number] if number else []
    for text, times in counted.items():
        if times == 1:
            words.append(text)
        else:
            simple = re.fullmatch(_NAME, text)
            base = text if simple or text.startswith(r"\left(") else rf"\left({text}\right)"
            words.append(f"{base}^{{{times}}}")
    line = words[0] if words else ""
    for before, word in pairwise(words):  # a name beside others would read as one with them
        named = r"\text" in word[:5] or r"\text" in before[:5]
        line += r" \cdot " if named and before != number else " "
        line += word
    return line


def _factor(x: Expression, *, base: bool = False) -> str:
    """Return a factor, or the base of a power, in brackets where it needs them."""
    text = _text(x)
    bare = {"symbol", "minimum", "maximum", "absolute", "sqrt", "cbrt", "log"}
    if not base:
        bare |= {"power", "exp"}
    if x[0] in bare or (x[0] == "number" and not base and x[1] >= 0.0):
        return text
    if base and x[0] == "number" and re.fullmatch(r"[\d.]+", text):
        return text
    return rf"\left({text}\right)"


def _condition(x: Expression) -> str:
    return _text(x) if x[0] in {"compare", "not"} else rf"\left({_text(x)}\right)"


def _text_of_cases(rows: Sequence[tuple[Expression | None, Expression]]) -> str:
    lines = [
        rf"{_text(value)} & \text{{otherwise}}"
        if condition is None
        else rf"{_text(value)} & \text{{if }} {_text(condition)}"
        for condition, value in rows
    ]
    body = r" \cr ".join(lines)
    return rf"\begin{{cases}} {body} \end{{cases}}"
