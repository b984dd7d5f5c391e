"""Mutations of a source file: every small change that a test should notice.

``mutations(name, text)`` returns them for Python and for C: operators swapped, boundaries moved,
constants changed, conditions negated, statements dropped, minimum and maximum exchanged, indices
off by one. What a test cannot see, or should not, is left alone: comments, texts, the words of
errors, annotations, imports, declarations of types.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple


@dataclass(frozen=True)
class Mutation:
    """Characters ``start`` to ``end`` of a file, and what stands there in the mutant."""

    start: int
    end: int
    new: str
    kind: str

    def apply(self, text: str) -> str:
        """Return the mutant."""
        return text[: self.start] + self.new + text[self.end :]


class Token(NamedTuple):
    """A piece of source; `kind` is name, number, text or operator."""

    kind: str
    text: str
    start: int
    end: int


Span = tuple[int, int]

_SWAPS: dict[str, dict[str, tuple[str, ...]]] = {
    "arithmetic": {
        "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "**": ("*",), "//": ("*",), "%": ("*",),
        "+=": ("-=",), "-=": ("+=",), "*=": ("/=",), "/=": ("*=",), "++": ("--",), "--": ("++",),
        "<<": (">>",), ">>": ("<<",), "&": ("|",), "|": ("&",),
    },
    "relation": {
        "<": ("<=", ">"), "<=": ("<", ">="), ">": (">=", "<"), ">=": (">", "<="),
        "==": ("!=",), "!=": ("==",),
    },
    "logic": {"and": ("or",), "or": ("and",), "&&": ("||",), "||": ("&&",)},
}  # fmt: skip
_PAIRS = ("min max", "fmin fmax", "minimum maximum", "argmin argmax", "any all", "floor ceil")
_CALLS = {a: b for pair in map(str.split, _PAIRS) for a, b in (pair, pair[::-1])}
_NEGATIONS = ("-", "!", "not")
# After one of these a value begins, so that an operator there has one operand.
_NO_VALUE = frozenset({
    "return", "case", "else", "if", "elif", "while", "and", "or", "not", "in", "is", "lambda",
    "yield", "assert", "del", "for", "sizeof",
})  # fmt: skip
_INDEX = re.compile(r"[ijkmn]|.*index")


def mutations(name: str, text: str) -> list[Mutation]:
    """Return the mutations of a file's text; its name says the language."""
    found = _of_python(text) if name.endswith(".py") else _of_c(text)
    return sorted(set(found), key=lambda m: (m.start, m.end, m.new))


def _of_tokens(tokens: Sequence[Token]) -> Iterator[Mutation]:
    """Yield the swaps of single tokens, the same in both languages."""
    before: Token | None = None
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        binary = before is not None and (
            before.kind in ("number", "text")
            or (before.kind == "name" and before.text not in _NO_VALUE)
            or before.text in (")", "]", "}")
        )
        called = after is not None and after.text == "("
        for new, kind in _replacements(token, binary, called):
            yield Mutation(token.start, token.end, new, kind)
        before = token


def _replacements(token: Token, binary: bool, called: bool) -> Iterator[tuple[str, str]]:
    if token.kind == "number":
        yield from ((new, "constant") for new in _other_numbers(token.text))
    elif token.text in ("True", "False"):
        yield str(token.text == "False"), "constant"
    elif token.text in _CALLS and called:
        yield _CALLS[token.text], "extreme"
    elif binary:
        for kind, swaps in _SWAPS.items():
            yield from ((new, kind) for new in swaps.get(token.text, ()))
    elif token.text in _NEGATIONS:
        yield "", "negation"


def _other_numbers(text: str) -> list[str]:
    """Return c + 1, 2 c, and c - 1 of an integer or c / 2 of a real number."""
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):  # as only C writes it: 0x1p62, 1u
        return [f"({text} + 1)", f"(2 * {text})", f"({text} / 2)"]
    if isinstance(value, complex):
        return [f"(2 * {text})", f"(0.5 * {text})"]
    others = [value + 1, 2 * value, value - 1 if isinstance(value, int) else 0.5 * value]
    return [repr(x) for x in dict.fromkeys(others) if x != value and x >= 0]


# Python


def _of_python(text: str) -> Iterator[Mutation]:
    starts = [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]
    lines = text.splitlines()
    tree = ast.parse(text)

    def span(node: ast.AST) -> Span:
        def offset(row: int, column: int) -> int:
            return starts[row - 1] + len(lines[row - 1].encode()[:column].decode())

        return (
            offset(node.lineno, node.col_offset),  # type: ignore[attr-defined]
            offset(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
        )

    skipped = [span(node) for node in _silent_nodes(tree)]
    found = [
        *_of_tokens(list(_python_tokens(text, starts))),
        *(Mutation(*span(node), "pass", "dropped") for node in _droppable(tree)),
        *(_around(text, span(node), "not ({})", "negation") for node in _conditions(tree)),
        *(_around(text, span(node), "{} + 1", "index") for node in _indices(tree)),
    ]
    for mutation in found:
        inside = any(a <= mutation.start and mutation.end <= b for a, b in skipped)
        if not inside or (mutation.new == "pass" and _is_raise(text, mutation)):
            yield mutation


def _around(text: str, span: Span, pattern: str, kind: str) -> Mutation:
    return Mutation(*span, pattern.format(text[slice(*span)]), kind)


def _is_raise(text: str, mutation: Mutation) -> bool:
    return text.startswith("raise", mutation.start)


def _python_tokens(text: str, starts: Sequence[int]) -> Iterator[Token]:
    kinds = {
        tokenize.NAME: "name",
        tokenize.NUMBER: "number",
        tokenize.STRING: "text",
        tokenize.OP: "operator",
    }
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in kinds:
            start, end = (starts[row - 1] + column for row, column in (token.start, token.end))
            yield Token(kinds[token.type], token.string, start, end)


def _silent_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what no test can see, or should: texts, errors' words, annotations, imports."""
    for node in ast.walk(tree):
        match node:
            case ast.Raise() | ast.Assert() | ast.Import() | ast.ImportFrom() | ast.JoinedStr():
                yield node
            case ast.Expr(value=ast.Constant()):
                yield node
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                yield node
            case ast.AnnAssign() | ast.arg() if node.annotation:
                yield node.annotation
            case ast.FunctionDef():
                yield from node.decorator_list
                if node.returns:
                    yield node.returns
            case ast.ClassDef():
                yield from node.decorator_list
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield node
            case ast.keyword(arg="strict"):  # of zip
                yield node
            case ast.Call(func=ast.Name(id="cast" | "TypeVar" | "ParamSpec")):
                yield node.args[0]


def _droppable(tree: ast.AST) -> Iterator[ast.stmt]:
    """Yield statements without which a function still has every name it reads."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    ends = [function.body[-1] for function in functions]
    for function in functions:
        known: set[str] = set()
        for node in sorted(ast.walk(function), key=lambda x: getattr(x, "lineno", 0)):
            match node:
                case ast.Raise() | ast.AugAssign() | ast.Continue() | ast.Break():
                    yield node
                case ast.Expr(value=ast.Call()):
                    yield node
                case ast.Return() if node not in ends:
                    yield node
                case ast.Assign():
                    names = {
                        x.id
                        for target in node.targets
                        for x in ast.walk(target)
                        if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)
                    }
                    if names <= known:
                        yield node
                    known |= names


def _conditions(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        match node:
            case ast.If() | ast.While() | ast.IfExp():
                yield node.test
            case ast.comprehension():
                yield from node.ifs


def _indices(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            index = node.slice
            parts = [index.lower, index.upper] if isinstance(index, ast.Slice) else [index]
            for part in parts:
                if isinstance(part, ast.Name) and _INDEX.fullmatch(part.id):
                    yield part


# C

_C_TOKEN = re.compile(
    r"""(?P<silent>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:\\\n|[^\n])*)
    |(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
    |(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<operator><<=|>>=|->|\+\+|--|<<|>>|[-+*/%&|^<>=!]=|&&|\|\||.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_C_TYPES = frozenset(("const", "static", "struct", "union", "enum", "unsigned", "signed"))
_C_HEADS = frozenset(("if", "else", "for", "while", "do", "switch", "case", "default"))
_OPEN, _CLOSED = frozenset("([{"), frozenset(")]}")


def _of_c(text: str) -> Iterator[Mutation]:
    tokens = [
        Token(str(m.lastgroup), m.group(), m.start(), m.end())
        for m in _C_TOKEN.finditer(text)
        if m.lastgroup != "silent"
    ]
    closing = _closing(tokens)
    statements = list(_statements(tokens, closing))
    live = {i for a, b in _blocks(tokens, closing) for i in range(a, b)}
    for first, last, _ in statements:
        if _declares(tokens[first:last]):
            equals = (i for i in range(first, last) if tokens[i].text == "=")
            live -= set(range(first, next(equals, last)))
    spans = {tokens[i].start for i in live}
    yield from (m for m in _of_tokens(tokens) if m.start in spans)
    for i in sorted(live):
        if tokens[i].text in ("if", "while") and tokens[i + 1].text == "(":
            inside = tokens[i + 1].end, tokens[closing[i + 1]].start
            yield _around(text, inside, "!({})", "negation")
        if tokens[i].text == "[" and closing[i] == i + 2 and _INDEX.fullmatch(tokens[i + 1].text):
            yield _around(text, (tokens[i + 1].start, tokens[i + 1].end), "{} + 1", "index")
    for first, last, guarded in statements:
        if first in live and _may_go(tokens[first:last], guarded):
            yield Mutation(tokens[first].start, tokens[last].end, ";", "dropped")


def _closing(tokens: Sequence[Token]) -> dict[int, int]:
    """Return where each bracket closes."""
    opened, found = [], {}
    for i, token in enumerate(tokens):
        if token.text in _OPEN:
            opened.append(i)
        elif token.text in _CLOSED:
            found[opened.pop()] = i
    return found


def _blocks(tokens: Sequence[Token], closing: dict[int, int]) -> Iterator[Span]:
    """Yield the bodies of functions and of enums, and initial values, but no struct."""
    i, head = 0, 0
    while i < len(tokens):
        if tokens[i].text == "{":
            names = {token.text for token in tokens[head:i]}
            if tokens[i - 1].text in (")", "=") or "enum" in names:
                yield i + 1, closing[i]
        if i in closing:
            i = closing[i]
        if tokens[i].text in (";", "}"):
            head = i + 1
        i += 1


def _statements(
    tokens: Sequence[Token], closing: dict[int, int]
) -> Iterator[tuple[int, int, bool]]:
    """Yield first token and semicolon of each simple statement, and whether it is conditional."""
    i, depth, guarded = 0, 0, False
    while i < len(tokens):
        text = tokens[i].text
        if text in ("{", "}"):
            depth += 1 if text == "{" else -1
            i, guarded = i + 1, False
        elif text in ("if", "for", "while", "switch"):
            i, guarded = closing[i + 1] + 1, True
        elif text in ("else", "do"):
            i, guarded = i + 1, True
        else:
            label = text in ("case", "default")
            first, stops = i, (":",) if label else (";", "}") if depth else (";", "{")
            while i < len(tokens) and tokens[i].text not in stops:
                i = closing.get(i, i) + 1
            if i < len(tokens) and tokens[i].text in (";", ":"):
                if depth and not label and i > first:
                    yield first, i, guarded or depth > 1
                i += 1
            guarded = False


def _declares(tokens: Sequence[Token]) -> bool:
    names = [token.kind == "name" for token in tokens]
    texts = [token.text for token in tokens]
    if texts[0] in _NO_VALUE | _C_HEADS or not names[0]:
        return False
    pointer = len(texts) > 2 and texts[1] == "*" and (names[2] or texts[2] == "*")
    return texts[0] in _C_TYPES or (len(texts) > 1 and names[1]) or pointer


def _may_go(tokens: Sequence[Token], guarded: bool) -> bool:
    texts = [token.text for token in tokens]
    if _declares(tokens) or texts[0] in _C_HEADS or texts[:3] == ["(", "void", ")"]:
        return False
    return guarded or texts[0] != "return"
