"""The stub of the compiled extension is what nanobind writes of the binding."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from pi2_fluid import _core

TOOL = "tools/write_stub.py"


def members() -> list[tuple[str, Any]]:
    """Return what the binding declares: functions, classes, and what these have."""
    found = [(name, value) for name, value in vars(_core).items() if not name.startswith("_")]
    for name, value in list(found):
        if isinstance(value, type):
            inner = ((f"{name}.{own}", vars(value)[own]) for own in vars(value))
            found += [(own, member) for own, member in inner if "._" not in own]
    return found


def test_it_is_what_nanobind_writes() -> None:
    pytest.importorskip("nanobind")
    import write_stub

    assert write_stub.STUB.read_text(encoding="utf-8") == write_stub.stub(), f"run python {TOOL}"


@pytest.mark.parametrize(("name", "member"), members(), ids=[name for name, _ in members()])
def test_arguments_have_names_and_types(name: str, member: Any) -> None:
    for signature in getattr(getattr(member, "fget", None) or member, "__nb_signature__", ()):
        assert not re.search(r"\b(object|arg\d*)\b", signature[0]), name


def test_what_is_not_for_tests_says_what_it_does() -> None:
    for name, member in members():
        if "." not in name:
            assert inspect.getdoc(member), name
