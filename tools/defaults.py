"""Shows fields and their defaults in the reference as they are, not as the sources declare them.

An extension of Griffe, which reads sources for mkdocstrings: `alpha: Parameter = again(PiFamily,
"alpha", 0.3125)` comes out as `alpha: Parameter = 0.3125`.
"""

from __future__ import annotations

import dataclasses
import importlib
import operator
import re
from typing import Any

import griffe

from pi2_fluid.records.record import is_needed

#: The functions of `pi2_fluid/records/record.py` that declare a field.
DECLARING = {"quantity", "quantities", "choice", "described", "again"}
#: What may be given for a field, by the type that it is declared with.
GIVEN = {"Parameter": "Quantity", "OptionalParameter": "Quantity | None"}
#: Parameters that a docstring describes together, with what it says of them.
TOGETHER = re.compile(r"^(\w+(?:, \w+)+)\n((?:    .*\n?|\n(?=    ))+)", re.MULTILINE)


class Defaults(griffe.Extension):
    """Replaces the declaration of a field by its default; describes parameters one by one."""

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """Replace what declares the fields of one class; leave out what is none."""
        for member in cls.members.values():
            if not member.is_attribute:
                continue
            # Griffe knows ClassVar[...] alone, and takes this for a parameter.
            if str(member.annotation) == "ClassVar":
                member.labels.discard("instance-attribute")
            elif declares(member.value):
                inside = cls.path.removeprefix(f"{cls.module.path}.")
                module = importlib.import_module(cls.module.path)
                record: Any = operator.attrgetter(inside)(module)
                fields = {field.name: field for field in dataclasses.fields(record)}
                annotation = str(member.annotation)
                member.value = default_text(fields[member.name], annotation)
                member.annotation = GIVEN.get(annotation, member.annotation)

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Take apart what is described together, or Griffe gives all of it the first's default."""
        if obj.docstring:
            obj.docstring.value = one_by_one(obj.docstring.value)


def declares(value: Any) -> bool:
    """Whether the value of an attribute, as its source has it, declares a field."""
    return isinstance(value, griffe.ExprCall) and str(value.function) in DECLARING


def default_text(field: dataclasses.Field[Any], annotation: str) -> str | None:
    """Return a default as Python has it; None, which is no default, where one has to be given."""
    needed = is_needed(field) and not annotation.endswith("| None")
    return None if needed else repr(field.default)


def one_by_one(docstring: str) -> str:
    """Return a docstring that says of each parameter what it says of several."""
    head, title, rest = docstring.partition("Parameters\n----------\n")
    parameters, end, after = rest.partition("\n\n")

    def each(match: re.Match[str]) -> str:
        said = match[2].rstrip("\n")
        return "".join(f"{name}\n{said}\n" for name in match[1].split(", "))

    return head + title + TOGETHER.sub(each, parameters + "\n").rstrip("\n") + end + after
