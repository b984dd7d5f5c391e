"""The stub of the compiled extension says what the binding does: names, arguments, types."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

import pi2_fluid
from pi2_fluid import _core

STUB = ast.parse(Path(pi2_fluid.__file__).with_name("_core.pyi").read_text(encoding="utf-8"))
# Where the binding takes or gives any object it checks it by hand: there the stub says more.
ANY = {"object", "list", "dict", "tuple", "typing.Any"}


def stub_functions() -> dict[str, ast.FunctionDef]:
    """Return the functions and methods of the stub, by the names they are called by."""
    found = {node.name: node for node in STUB.body if isinstance(node, ast.FunctionDef)}
    for cls in STUB.body:
        if isinstance(cls, ast.ClassDef):
            inner = (node for node in cls.body if isinstance(node, ast.FunctionDef))
            found |= {f"{cls.name}.{node.name}": node for node in inner}
    return found


def bound_functions() -> dict[str, Any]:
    """Return the functions and methods of the extension that the binding declares."""
    found: dict[str, Any] = {}
    for name, value in vars(_core).items():
        if name.startswith("_"):
            continue
        if not isinstance(value, type):
            found[name] = value
            continue
        for inner, member in vars(value).items():
            if inner == "__init__" or not inner.startswith("_"):
                found[f"{name}.{inner}"] = getattr(member, "fget", None) or member
    return found


def arguments(signature: str) -> tuple[list[tuple[str, str, str | None]], str]:
    """Return (name, type, place of its default) of each argument, and the type returned."""
    inner, _, back = signature.partition("(")[2].rpartition(") -> ")
    parts, depth = [""], 0
    for letter in inner:
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    found = []
    for part in map(str.strip, parts):
        name, _, rest = part.partition(":")
        kind, _, default = rest.partition(" = ")
        if name not in {"", "self", "*", "/"}:
            # Without nb::arg a method's arguments have no names.
            found.append((name, kind.strip(), default or None))
    return found, back


def in_stub(kind: str) -> str:
    """Return a type of the binding as the stub writes it."""
    kind = re.sub(r"ndarray\[dtype=(\w+)[^]]*\]", r"npt.NDArray[np.\1]", kind)
    return kind.replace("collections.abc.Mapping", "dict").replace(
        "collections.abc.Sequence", "list"
    )


def agree(bound: str, stub: str) -> bool:
    return bound in ANY or in_stub(bound) == stub


def test_both_have_the_same_names() -> None:
    assert set(stub_functions()) == set(bound_functions())


@pytest.mark.parametrize("name", bound_functions())
def test_both_take_and_give_the_same(name: str) -> None:
    stub = stub_functions()[name]
    text, _, defaults = bound_functions()[name].__nb_signature__[0]
    bound, back = arguments(text)
    written = [argument for argument in stub.args.args if argument.arg != "self"]
    written += stub.args.kwonlyargs
    assert len(written) == len(bound)
    given = [*stub.args.defaults, *(value for value in stub.args.kw_defaults if value)]
    values = iter([ast.literal_eval(value) for value in given])
    for argument, (called, kind, default) in zip(written, bound, strict=True):
        assert called in {argument.arg, "arg"} or re.fullmatch(r"arg\d*", called)
        assert argument.annotation is not None
        assert agree(kind, ast.unparse(argument.annotation)), argument.arg
        if default is not None:
            value = next(values)
            expected = defaults[int(default.strip("\\"))]
            assert value == expected or (not value and not expected)
    assert list(values) == []
    assert stub.returns is not None
    assert agree(back, ast.unparse(stub.returns))
