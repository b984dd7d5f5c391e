"""The reference: every public name is there, and says what it takes, raises and is good for."""

from __future__ import annotations

import importlib
import inspect
import operator
import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

import pi2_fluid as pf
from pi2_fluid.records.record import Record
from pi2_fluid.units import si_unit

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in sorted(REFERENCE.glob("*.md")))
#: Where each entry comes from, and what it is called there.
ENTRIES = re.findall(r"^::: (\S+)\n    options:\n      heading: (\S+)$", TEXT, re.MULTILINE)
SECTION = r"^{}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)"
#: Of a section: names that are described together, their type, and what is said of them.
DESCRIBED = re.compile(
    r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : (.+))?\n((?:    .*\n?|\n)*)", re.MULTILINE
)
#: A description that is given elsewhere.
ELSEWHERE = re.compile(r"\bAs (?:in|of|for) `?\w+|\bOther arguments of `\w+`")
#: How a description says its unit.
UNITS = {
    "s": r"\(s\b|\bSeconds\b|\bseconds\b|\bms\b",
    "Hz": r"\bHz\b",
    "bit/s": r"\bbit/s",
    "B": r"\b[Bb]ytes\b",
    "packets": r"\b[Pp]ackets\b|\b[Ss]egments\b",
}


def shown(path: str) -> Any:
    module, name = path.rsplit(".", 1)
    return getattr(importlib.import_module(module), name)


def section(entry: Any, title: str) -> str:
    found = re.search(SECTION.format(title), inspect.getdoc(entry) or "", re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def described(entry: Any) -> dict[str, tuple[str, str]]:
    """Type and description of what an entry takes or has, by name."""
    text = section(entry, "Parameters") + section(entry, "Attributes")
    return {
        name.strip("*"): (kind, said)
        for names, kind, said in DESCRIBED.findall(text)
        for name in names.split(", ")
    }


def takes(entry: Any) -> list[str]:
    """What a function is called with, or of what a checked class or a result consists."""
    if inspect.isclass(entry):
        own = fields(entry) if is_dataclass(entry) else ()
        named = [(one.metadata.get("key", one.name), one.init) for one in own]
        return [name for name, given in named if given and not name.startswith("_")]
    return list(inspect.signature(entry).parameters)


def may_raise(path: str, entry: Any) -> bool:
    """Whether an entry checks what it is given: not so, by its kind, what is listed here."""
    if inspect.isclass(entry):
        # Errors are what is raised; results are made by functions, which have checked all.
        return issubclass(entry, (Record, pf.Engine)) and bool(takes(entry))
    # Mathematics raises what NumPy and JAX do.
    return bool(takes(entry)) and not path.startswith("pi2_fluid.ops.")


every_entry = pytest.mark.parametrize(
    ("path", "heading"), ENTRIES, ids=[heading for _, heading in ENTRIES]
)


def test_it_has_everything_that_is_public() -> None:
    there = [shown(path) for path, _ in ENTRIES]
    for path, heading in ENTRIES:
        if heading.startswith("pf."):
            assert operator.attrgetter(heading.removeprefix("pf."))(pf) is shown(path), path
    public = {name: getattr(pf, name) for name in dir(pf) if not name.startswith("_")}
    for module in ("fluid", "linux", "loop", "measured", "packet", "presets", "qdisc", "ops"):
        inside = public.pop(module)
        public |= {f"{module}.{name}": getattr(inside, name) for name in inside.__all__}
    del public["ops.Number"]  # a type, for annotations
    assert [name for name, entry in public.items() if entry not in there] == []


@every_entry
def test_it_has_an_example(path: str, heading: str) -> None:
    assert ">>> " in section(shown(path), "Examples")


@every_entry
def test_it_says_what_it_raises(path: str, heading: str) -> None:
    entry = shown(path)
    raised = re.findall(r"^(\w.*)\n    \S", section(entry, "Raises"), re.MULTILINE)
    if may_raise(path, entry):
        assert raised
    for name in ", ".join(raised).split(", ") if raised else ():
        assert hasattr(pf, name) or issubclass(
            getattr(importlib.import_module("builtins"), name), Exception
        )


@every_entry
def test_it_says_what_it_takes_and_in_which_unit(path: str, heading: str) -> None:
    entry = shown(path)
    if path.startswith("pi2_fluid.ops."):
        return  # numbers of any kind and shape
    known = described(entry)
    for name in takes(entry):
        kind, said = known[name]
        assert kind or ELSEWHERE.search(said) or re.search("|".join(UNITS.values()), said), name
    for one in fields(entry) if is_dataclass(entry) else ():
        rule = one.metadata.get("quantity", {})
        unit = si_unit(rule["dimension"]) if rule else ""
        said = " ".join(known[one.metadata.get("key", one.name)]) if unit else ""
        if unit and not ELSEWHERE.search(said):
            assert re.search(UNITS[unit], said), f"{one.name}: {said}"


@every_entry
def test_it_says_what_comes_back(path: str, heading: str) -> None:
    entry = shown(path)
    if inspect.isclass(entry) or path.startswith("pi2_fluid.ops."):
        return
    first = (inspect.getdoc(entry) or "").partition("\n")[0]
    returned = inspect.signature(entry).return_annotation
    assert returned in ("None", None) or section(entry, "Returns") or first.startswith("Return ")
