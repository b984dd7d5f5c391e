"""Bring the JSON Schema of scenarios and families up to date: python tools/write_schema.py.

Editors complete and check a scenario's TOML by it. All of it is read off the classes: fields, what
they take, their defaults, and what their docstrings say. What only the whole can tell (a route over
a node that is not there) the package says when it reads the file.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Collection
from dataclasses import MISSING, Field
from inspect import signature
from pathlib import Path
from typing import Any

from pi2_fluid.laws import presets
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.kernel.qdiscs import QDISCS
from pi2_fluid.laws.registry import AQMS, PRESETS, SENDERS, aqm_class, laws_of_tc, sender_class
from pi2_fluid.network.capacity_trace import FORMATS, CapacityTrace
from pi2_fluid.network.cells import Cell
from pi2_fluid.network.changes import Change
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.link import Link
from pi2_fluid.network.network import Network, Node
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.network.sizes import SIZES
from pi2_fluid.network.text import has_more_keys, keys_of
from pi2_fluid.network.transfers import Transfers
from pi2_fluid.saving import save_text
from pi2_fluid.units import DIMENSIONS, si_unit, spellings

FILE = Path(__file__).resolve().parents[1] / "pi2_fluid" / "network" / "scenario.schema.json"
NAMES = {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1}
NUMBER = r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*"

#: What fields take that are neither quantities nor words, by what they say of it.
DESCRIBED: dict[str, Any] = {
    "a name, up to 15 letters, digits, _ and -": {
        "type": "string",
        "pattern": "^[A-Za-z0-9_-]{1,15}$",
    },
    "name of a node": {"type": "string", "minLength": 1},
    "names of nodes": {"anyOf": [{"type": "string", "minLength": 1}, NAMES]},
    "a distribution": {"$ref": "#/definitions/sizes"},
    "a law: Pi2, CoupledPi2 or DualPi2": {"$ref": "#/definitions/imposed_queue"},
    "a number in [0, 1], sines, in Python also a function": {
        "type": "number",
        "minimum": 0,
        "maximum": 1,
    },
    "a law: Pi, Pie, Pi2, CoupledPi2 or DualPi2": {"$ref": "#/definitions/injected_queue"},
    "sines, in Python also a function": {"type": "string", "pattern": r" sin\(.* t.*\)"},
}


def text_of(dimension: str) -> dict[str, Any]:
    """Return what a text with a number and a unit of a dimension looks like."""
    unit = "|".join(re.escape(name) for name in spellings(dimension))
    return {"type": "string", "pattern": rf"^{NUMBER}({unit})\s*$"}


def quantity(rule: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a number in SI units, or a text with a unit."""
    number: dict[str, Any] = {"type": "number"}
    number["minimum" if rule.get("closed") else "exclusiveMinimum"] = rule["low"]
    if rule.get("high", float("inf")) < float("inf"):
        number["maximum"] = rule["high"]
    unit = si_unit(rule["dimension"])
    number["description"] = f"in {unit}" if unit else "a number"
    return {"anyOf": [number, {"$ref": f"#/definitions/{rule['dimension']}"}]}


def taken(field: Field[Any]) -> dict[str, Any]:
    """Return what the key of a field takes."""
    metadata = field.metadata
    if "quantity" in metadata:
        found = quantity(metadata["quantity"])
        other = [{"$ref": f"#/definitions/{metadata['or_as']}"}] if "or_as" in metadata else []
        return {"anyOf": [*found["anyOf"], *other]}
    if "quantities" in metadata:
        item = quantity(metadata["quantities"])
        return {"anyOf": [*item["anyOf"], {"type": "array", "items": item}]}
    if "choice" in metadata:
        options = [option for option in metadata["choice"] if option is not None]
        if all(isinstance(option, bool) for option in options):
            return {"type": "boolean"}
        return {"enum": options}
    if "allowed" in metadata:
        return dict(DESCRIBED[metadata["allowed"]])
    if field.name == "counts":
        item = quantity({"dimension": "number", "low": 0.0, "closed": True})
        return {"type": "object", "additionalProperties": item, "minProperties": 1}
    if field.name == "base_rtt":
        item = quantity({"dimension": "time", "low": 0.0})
        return {"type": "object", "additionalProperties": item, "minProperties": 1}
    return {"type": "string"}  # a name


def properties(cls: Any, without: Collection[str] = ()) -> dict[str, Any]:
    """Return the keys of a class, what each takes, its default, and what is said of it."""
    found = {}
    for key, field in keys_of(cls).items():
        if key in without:
            continue
        made = taken(field)
        if isinstance(field.default, (bool, int, float, str)):
            made["default"] = field.default
        said = sentence(cls, key)
        found[key] = {"description": said, **made} if said else made
    return found


def needed(cls: Any, without: Collection[str] = ()) -> list[str]:
    """Return the keys of a class that have no default, as its reader asks for them."""
    return [
        key
        for key, field in keys_of(cls).items()
        if key not in without
        and (
            field.default is MISSING
            or (field.default is None and field.metadata.get("optional") is False)
        )
    ]


def sentence(cls: Any, key: str) -> str:
    """Return what the docstring of a class, or of one that it comes from, says of a key."""
    for base in getattr(cls, "__mro__", (cls,)):  # a preset is a function
        text = inspect.cleandoc((base.__doc__ if base is cls else vars(base).get("__doc__")) or "")
        told = text.partition("\nParameters\n----------\n")[2]
        rows = re.split(r"\n\n\w+\n---", told)[0].splitlines()
        heard = False
        said: list[str] = []
        for row in rows:
            if row and not row.startswith(" "):
                heard = key in row.partition(" :")[0].split(", ")
            elif heard:
                said.append(row.strip())
        whole = " ".join(said).replace("`", "").strip()
        whole = re.sub(r"^As in \w+: ", "", whole)
        if whole and not whole.startswith("As in"):
            return whole
        like = re.match(r"As in (\w+)", whole)
        if like and like[1] in (known := vars(sys.modules[base.__module__])):
            return sentence(known[like[1]], key)  # no base: the law that runs in each of its queues
    return ""


def first_sentence(cls: Any) -> str:
    """Return what a class is."""
    return inspect.cleandoc(cls.__doc__).partition("\n\n")[0].replace("`", "").replace("\n", " ")


def of_a_kind(key: str, kind: str, cls: Any) -> dict[str, Any]:
    """Return the schema of a table whose kind decides what else is in it."""
    return {
        "title": kind,
        "description": first_sentence(cls),
        "type": "object",
        "properties": {key: {"const": kind}} | properties(cls),
        "required": [key, *needed(cls)],
        "additionalProperties": False,
    }


def of_queue(kind: str) -> list[dict[str, Any]]:
    """Return the schemas of a kind of queue: of one whose name decides more, one for each name."""
    made = of_a_kind("kind", kind, aqm_class(kind))
    if not has_more_keys(aqm_class(kind)):
        return [made]
    return [
        made
        | {
            "title": f"{kind} {name}",
            "properties": made["properties"]
            | {"name": {"const": name}}
            | {
                word: {"description": option.said, **taken(option.field)}
                for word, option in options.items()
            },
        }
        for name, options in QDISCS.items()
    ]


def of_presets() -> list[dict[str, Any]]:
    """Return the schemas of queues by presets, of those together that have the same keys."""
    alike: dict[Any, list[str]] = {}
    for name, preset in PRESETS.items():
        own = signature(getattr(presets, name)).parameters
        alike.setdefault((preset.kind, *map(str, own.values())), []).append(name)
    return [of_preset(names) for names in alike.values()]


def of_preset(names: list[str]) -> dict[str, Any]:
    """Return the schema of presets of a kind: the keys of its class, and the presets' own."""
    make = getattr(presets, names[0])
    made = of_a_kind("kind", "", aqm_class(names[0]))
    made["title"] = ", ".join(names)
    for told in made["properties"].values():
        told.pop("default", None)  # each preset has its own
    made["properties"]["kind"] = {"enum": names}
    for key, parameter in signature(make).parameters.items():
        rule = quantity({"dimension": "time", "low": 0.0})
        made["properties"][key] = {"description": sentence(make, key)} | rule
        made["required"] += [key] if parameter.default is parameter.empty else []
    return made


def of_flows(kind: str) -> dict[str, Any]:
    """Return the schema of a class of flows: the keys of its sender, and its own."""
    cls = sender_class(kind)
    made = of_a_kind("sender", kind, cls)
    made["properties"] |= properties(Transfers, {"sender"})
    if cls.signal is not None:
        made["required"].append("base_rtt")
    return made


def of_cell() -> dict[str, Any]:
    """Return the schema of a cell of a family: a scenario of one link, and what is said of it."""
    own = ("duration", "name", "link", "aqm", "flows", "changes", "traces")
    said = {
        key: {"description": sentence(Cell, key), "type": "string"} for key in ("why", "source")
    }
    return {
        "description": first_sentence(Cell),
        "type": "object",
        "properties": {key: {"$ref": f"#/definitions/{key}"} for key in own} | said,
        "required": ["name", "duration", "link", "flows"],
        "additionalProperties": False,
    }


def of_trace() -> dict[str, Any]:
    """Return the schema of a capacity over time: a file, or its rows."""

    def each(key: str, value: dict[str, Any]) -> dict[str, Any]:
        return {"description": sentence(CapacityTrace, key) or sentence(load, key), **value}

    load, time = CapacityTrace.load, quantity({"dimension": "time", "low": 0.0})
    rows = {
        key: each(key, {"type": "array", "items": taken(field), "minItems": 1})
        for key, field in keys_of(CapacityTrace).items()
        if key != "period"
    }
    shared = {
        "link": each("link", {"type": "string", "minLength": 1})
        | {"description": sentence(CapacityTrace.changes, "link")},
        "period": each("period", time),
    }
    of_file = {
        "file": each("path", {"type": "string", "minLength": 1}),
        "format": each("format", {"enum": list(FORMATS)}),
        "unit": each("unit", {"type": "string"}),
        "step": each("step", time),
    }
    return {
        "description": first_sentence(CapacityTrace),
        "type": "object",
        "oneOf": [
            {
                "properties": given | shared,
                "required": needed,
                "additionalProperties": False,
            }
            for given, needed in ((rows, list(rows)), (of_file, ["file"]))
        ],
    }


def parts() -> dict[str, Any]:
    """Return the schemas of what a scenario consists of."""
    return {
        "duration": {"description": sentence(Scenario, "duration")}
        | quantity({"dimension": "time", "low": 0.0}),
        "name": {"description": "What it is called.", "type": "string"},
        "link": {
            "description": first_sentence(Link),
            "type": "object",
            "properties": properties(Link),
            "required": needed(Link),
            "additionalProperties": False,
        },
        "node": {
            "description": first_sentence(Node),
            "type": "object",
            "properties": {
                "name": {"description": "What routes call it.", "type": "string"},
                "aqm": {"$ref": "#/definitions/aqm"},
            }
            | properties(Link),
            "required": ["name", "aqm", *needed(Link)],
            "additionalProperties": False,
        },
        "flows": {
            "type": "array",
            "minItems": 1,
            "items": {
                "description": first_sentence(Flows),
                "oneOf": [of_flows(kind) for kind in SENDERS],
            },
        },
        "changes": {
            "type": "array",
            "items": {
                "description": first_sentence(Change),
                "type": "object",
                "properties": properties(Change),
                "required": needed(Change),
                "anyOf": [{"required": [what]} for what in ("capacity", "counts", "base_rtt")],
                "dependencies": {"link": ["capacity"]},
                "additionalProperties": False,
            },
        },
        "traces": {"type": "array", "items": of_trace()},
    }


def schema() -> dict[str, Any]:
    """Return the schema of today."""
    known, dual = {entry: aqm_class(entry) for entry in AQMS}, laws_of_tc("dualpi2")
    keys = ("duration", "name", "link", "aqm", "flows", "changes", "traces")
    of_family = {
        key: {"description": f"Of a family: {said}.", "type": "string"}
        for key, said in (("title", "what it is, in a line"), ("note", "what is to be said of it"))
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A scenario, a network, or a family of traffic, of pi2_fluid",
        "type": "object",
        "properties": {key: {"$ref": f"#/definitions/{key}"} for key in keys}
        | {
            "combine": properties(Network, {"nodes", "flows"})["combine"],
            "node": {
                "type": "array",
                "minItems": 1,
                "items": {"$ref": "#/definitions/node"},
            },
            "cells": {"type": "array", "minItems": 1, "items": of_cell()},
        }
        | of_family,
        # One link, or several; a network has no schedule; or cells, each with a link.
        "oneOf": [
            {"required": ["link", "aqm", "duration", "flows"]},
            {"required": ["node", "flows"]},
            {"required": ["cells"]},
        ],
        "dependencies": {
            "node": {"properties": {"link": False, "aqm": False}},
            "cells": {"properties": dict.fromkeys(sorted({*keys, "node"} - {"name"}), False)},
            "link": ["aqm"],
            "aqm": ["link"],
            "combine": ["node"],
            "changes": ["duration"],
            "traces": ["duration"],
            "name": {"anyOf": [{"required": ["duration"]}, {"required": ["cells"]}]},
            **{key: ["cells"] for key in of_family},
        },
        "additionalProperties": False,
        "definitions": {dimension: text_of(dimension) for dimension in DIMENSIONS}
        | parts()
        | {
            "aqm": {"oneOf": [one for kind in known for one in of_queue(kind)] + of_presets()},
            "imposed_queue": {
                "oneOf": [
                    of_a_kind("kind", kind, cls) for kind, cls in known.items() if cls in dual
                ]
            },
            "injected_queue": {
                "oneOf": [
                    of_a_kind("kind", kind, cls)
                    for kind, cls in known.items()
                    if issubclass(cls, PiFamily)
                ]
            },
            "sizes": {"oneOf": [of_a_kind("kind", kind, cls) for kind, cls in SIZES.items()]},
        },
    }


def text() -> str:
    """Return the file of today."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    save_text(FILE, text())
