"""Scenarios read from TOML text: one table a thing, its keys the fields of the class.

What is not known is refused, in one sentence that names the table and the key.
"""

from __future__ import annotations

import re
import sys
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import MISSING, Field, dataclass, fields
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from pi2_fluid.errors import (
    DomainError,
    QuantityError,
    ScenarioError,
    UnsupportedError,
    show_value,
    suggest,
)
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.registry import (
    AQMS,
    PRESETS,
    SENDERS,
    aqm_class,
    keys_of_preset,
    make_aqm,
    sender_class,
)
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.capacity_trace import CapacityTrace
from pi2_fluid.network.changes import Change
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.link import Link
from pi2_fluid.network.mistaken import MEANT, OF_TC, is_of_tc
from pi2_fluid.network.sizes import SIZES, Sizes
from pi2_fluid.network.transfers import Transfers
from pi2_fluid.records.record import Record
from pi2_fluid.saving import save_text
from pi2_fluid.units import validate_quantity

#: What TOML takes for a key without quotes.
BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_TYPED: Final = (QuantityError, DomainError, ScenarioError, UnsupportedError)
#: What a scenario has beside its flows; and of its links, one or several.
_SCHEDULE: Final = ("duration", "name", "changes", "traces")
_ONE: Final = ("link", "aqm")
#: What a network of several has beside them.
_NETWORK: Final = ("combine",)
# Any of these makes a class of flows one of transfers.
_OF_TRANSFERS: Final = frozenset({"size", "idle", "arrivals"})

#: Of a capacity over time: its rows written out, and other keys, there or of a file.
_ROWS: Final = ("times", "capacities")
_WRITTEN_OUT: Final = (*_ROWS, "period", "link")
_IN_FILE: Final = ("file", "format", "unit", "step", "period", "link")
#: As seen from where files are that a text names.
_FOLDER: Final = ContextVar("_FOLDER", default=Path())

T = TypeVar("T", bound=Record)


@dataclass(frozen=True, eq=False)
class Written(Record):
    """What is read from TOML text, and written so."""

    @classmethod
    @abstractmethod
    def from_toml(cls, text: str) -> Self:
        """Return what a TOML text describes."""

    @abstractmethod
    def to_toml(self) -> str:
        """Return it as TOML text, from which `from_toml` makes an equal one."""

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return what a TOML file describes, or standard input if the path is "-".

        Raises
        ------
        OSError
            If the file cannot be read.
        QuantityError, DomainError, ScenarioError
            Naming the file, the table and the key.
        """
        name, text = read_text(path)
        with in_file(name, path):
            return cls.from_toml(text)

    def save(self, path: str | Path) -> None:
        """Write it as TOML to a file.

        Raises
        ------
        OSError
            If the file cannot be written, as `WriteError` if it could not be to its end; an old one
            is as it was then.
        UnsupportedError
            As `to_toml`.
        """
        save_text(path, self.to_toml())


def read_text(path: str | Path) -> tuple[str, str]:
    """Return what a file, or standard input ("-"), is called in messages, and its text."""
    name = "standard input" if str(path) == "-" else str(path)
    data = sys.stdin.buffer.read() if str(path) == "-" else Path(path).read_bytes()
    try:
        return name, data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ScenarioError(
            f"{name} is no text in UTF-8 at byte {error.start}: save it in that encoding, or give"
            " another file."
        ) from None


def read_tables(
    data: dict[str, Any], aqm: Aqm | None = None, beside: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the fields of the scenario that tables describe; see `Scenario.from_toml`.

    Where they describe no queue, `aqm` is its queue, unless that is None; `beside` are keys that
    are read elsewhere. Of several nodes, ``nodes`` are in the place of ``link`` and ``aqm``, and
    ``combined`` are the network's own fields.
    """
    _check_style(data)
    if "changes" not in data and "change" in data:  # as these tables were once called
        data["changes"] = data.pop("change")
    links = ("node", *_NETWORK) if "node" in data else _ONE
    check_keys(data, ("duration", "name", *links, "flows", "changes", "traces", *beside), "")
    tables: dict[str, Any] = {}
    if "node" in data:
        tables["nodes"], tables["combined"] = _read_nodes(data), _own(data)
    else:
        tables["link"] = _build(Link, "[link]", _table(data, "link", "capacity"))
        given = aqm is None or "aqm" in data
        tables["aqm"] = _read_aqm("aqm", _table(data, "aqm", "kind")) if given else aqm
    tables["flows"] = _read_classes(data)
    tables["changes"] = [
        _build(Change, f"[[changes]] {i}:", keys) for i, keys in tables_of(data, "changes")
    ] + _read_traces(data)
    head: dict[str, Any] = {key: data[key] for key in ("duration", "name") if key in data}
    check_values(head, "")
    if "duration" not in head:
        raise ScenarioError('duration is missing: give the length of the run, e.g. "100s".')
    return tables | head


def parse_nodes(text: str) -> tuple[list[tuple[str, Link, Aqm]], list[Flows], dict[str, Any]]:
    """Return nodes, flows, and the network's own fields, of a TOML text: `Network.from_toml`."""
    data = parse_toml(text)
    _check_style(data)
    for name in (*_ONE, *_SCHEDULE):
        if name in data:
            shown = f"[{name}]" if name in _ONE else name
            raise ScenarioError(
                f"{shown} is of a scenario, and a network has [[node]] and [[flows]] only: read it"
                " with Scenario.from_toml(text).network."
            )
    check_keys(data, ("node", "flows", *_NETWORK), "")
    return _read_nodes(data), _read_classes(data), _own(data)


def is_scenario(text: str) -> bool:
    """Return whether a TOML text has what only a scenario has, and `parse_nodes` refuses."""
    return not parse_toml(text).keys().isdisjoint((*_ONE, *_SCHEDULE))


def read_laws(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table with the laws that ``sender``, ``senders``, ``flows`` and ``aqm`` describe.

    A sender or a queue is a name, or a table with its ``kind`` and numbers; ``flows`` is a list of
    tables, as in a scenario. Other keys stay as they are.

    Raises
    ------
    QuantityError, DomainError, ScenarioError
        Naming the table and the key.

    Examples
    --------
    >>> found = read_laws({"sender": "reno", "aqm": {"kind": "pi2", "alpha": 0.2}, "rtt": "100ms"})
    >>> found["sender"].decrease, found["aqm"].alpha, found["rtt"]
    (0.5, 0.2, '100ms')
    """
    found = dict(table)
    if "sender" in found:
        found["sender"] = _read_sender(_named(found, "sender"))
    if isinstance(found.get("senders"), list):
        each = [_named({"sender": one}, "sender") for one in found["senders"]]
        found["senders"] = tuple(map(_read_sender, each))
    if "flows" in found:
        found["flows"] = _read_classes(found)
    if "aqm" in found:
        found["aqm"] = _read_aqm("aqm", _named(found, "aqm"))
    return found


def _named(data: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the table of a law, of which a name alone may be given."""
    return {"kind": data[name]} if isinstance(data[name], str) else _table(data, name, "kind")


def _own(data: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a network that are no tables."""
    own = {key: data[key] for key in _NETWORK if key in data}
    check_values(own, "")
    return own


def _check_style(data: dict[str, Any]) -> None:
    """Refuse a text that is of a scenario, and of a network, too."""
    both = [name for name in _ONE if name in data]
    if "node" in data and both:
        raise ScenarioError(
            f"[{both[0]}] is the only link of a scenario or its queue, and [[node]] one of several:"
            " use [link] and [aqm], or [[node]] and [node.aqm]."
        )


def _read_nodes(data: dict[str, Any]) -> list[tuple[str, Link, Aqm]]:
    nodes = [_read_node(index, keys) for index, keys in tables_of(data, "node")]
    if not nodes:
        raise ScenarioError("[[node]] is missing: give at least one such table, with a name.")
    return nodes


def _read_node(index: int, keys: dict[str, Any]) -> tuple[str, Link, Aqm]:
    place = f"[[node]] {index}:"
    shared = list(keys_of(Link))
    check_keys(keys, ["name", "aqm", *shared], place)
    if "name" not in keys:
        raise ScenarioError(f'{place} name is missing: give what routes call it, e.g. "a".')
    link = _build(Link, place, {key: keys[key] for key in keys if key in shared})
    with located(place):
        aqm = _read_aqm("node.aqm", _table(keys, "aqm", "kind", "node.aqm"))
    return keys["name"], link, aqm


def _read_traces(data: dict[str, Any]) -> list[Change]:
    """Return the changes of capacities that traces, in files or written out, make of a run."""
    changes: list[Change] = []
    for number, keys in tables_of(data, "traces"):
        place = f"[[traces]] {number}:"
        check_values({key: value for key, value in keys.items() if key not in _ROWS}, place)
        check_keys(keys, _IN_FILE if "file" in keys else _WRITTEN_OUT, place)
        if "duration" not in data:
            raise ScenarioError('duration is missing: give the length of the run, e.g. "100s".')
        link = keys.pop("link", None)
        with located(place):
            file = keys.pop("file", None)
            if file is not None and not isinstance(file, str):
                raise ScenarioError(f"file = {show_value(file)} is no text: give a file's name.")
            trace = (
                CapacityTrace(**{key: keys.get(key) for key in (*_ROWS, "period")})
                if file is None
                else _traced_by(file, keys)
            )
            changes += trace.changes(data["duration"], link)
    return changes


def _traced_by(file: str, keys: dict[str, Any]) -> CapacityTrace:
    try:
        return CapacityTrace.load(_FOLDER.get() / file, **keys)
    except OSError as error:
        raise ScenarioError(
            f"file = {show_value(file)} cannot be read ({error.strerror}): give a file's name as"
            " seen from the TOML file."
        ) from None


def _read_classes(data: dict[str, Any]) -> list[Flows]:
    flows = [_read_flows(index, keys) for index, keys in tables_of(data, "flows")]
    if not flows:
        raise ScenarioError("[[flows]] is missing: give at least one such table, with a sender.")
    return flows


def parse_toml(text: object) -> dict[str, Any]:
    """Return the tables of a TOML text, or say where it is none."""
    if not isinstance(text, str):
        raise ScenarioError(f"text = {show_value(text)} is no text: give TOML as a str.")
    import tomllib  # 0.01 s, and what Python describes needs none

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        if is_of_tc(text):
            raise ScenarioError(f"the text {OF_TC}") from None
        what, _, where = str(error).removesuffix(")").partition(" (at ")
        raise ScenarioError(
            f"the text is no TOML at {where} ({what[:1].lower()}{what[1:]}): use lines of"
            ' key = number or key = "text".'
        ) from None
    except (ValueError, RecursionError) as error:  # thousands of digits or brackets
        raise ScenarioError(
            f"the text is no TOML that can be read ({show_value(str(error))}): give tables of"
            " numbers and text."
        ) from None


def _read_aqm(name: str, keys: dict[str, Any]) -> Aqm:
    """Make a queue of its table, and those that it consists of of theirs."""
    place = f"[{name}]"
    kind = _kind(keys, "kind", place, (*AQMS, *PRESETS))
    with located(place):
        cls = aqm_class(kind)
    for key in keys_of(cls):
        if isinstance(keys.get(key), dict):
            keys[key] = _read_aqm(f"{name}.{key}", dict(keys[key]))
    of = f" for kind = {kind!r}"
    if kind not in PRESETS:
        return _build(cls, place, keys, of)
    known = keys_of(cls)
    check_keys(keys, [*keys_of_preset(kind), *known], place, of)
    check_values({key: keys[key] for key in keys if key in known}, place, known)
    with located(place, cls.__name__):
        return make_aqm(kind, keys)


def _read_sender(keys: dict[str, Any]) -> Sender:
    place = "[sender]"
    kind = _kind(keys, "kind", place, SENDERS)
    with located(place):
        cls = sender_class(kind)
    return _build(cls, place, keys, f" for kind = {kind!r}")


def _read_flows(index: int, keys: dict[str, Any]) -> Flows:
    place = f"[[flows]] {index}:"
    kind = _kind(keys, "sender", place, SENDERS)
    with located(place):
        cls = sender_class(kind)
    kind_of_flows = Transfers if _OF_TRANSFERS & keys.keys() else Flows
    own = list(keys_of(cls))
    shared = [key for key in keys_of(kind_of_flows) if key != "sender"]
    check_keys(keys, [*own, *shared], place, f" for sender = {kind!r}")
    sender = _build(cls, place, {key: keys[key] for key in keys if key in own})
    rest = {key: keys[key] for key in keys if key in shared}
    if "size" in rest:
        rest["size"] = _read_size(place, _table(rest, "size", "kind", "flows.size"))
    return _build(kind_of_flows, place, rest, sender=sender)


def _read_size(place: str, keys: dict[str, Any]) -> Sizes:
    """Make a distribution of sizes of its table."""
    place = f"{place} size"
    if "kind" not in keys:
        raise ScenarioError(f"{place} kind is missing: give {suggest('', SIZES)}.")
    kind = keys.pop("kind")
    if kind not in SIZES:
        raise ScenarioError(
            f"{place} kind = {show_value(kind)} is unknown: give {suggest(kind, SIZES)}."
        )
    return _build(SIZES[kind], place, keys, f" for kind = {kind!r}")


def _build(cls: type[T], place: str, keys: dict[str, Any], of: str = "", **given: object) -> T:
    """Make a record from the keys of its table, with errors that name the table and the key."""
    known = {key: field for key, field in keys_of(cls).items() if key not in given}
    if not has_more_keys(cls):  # which the class itself checks
        check_keys(keys, list(known), place, of)
    check_values({key: keys[key] for key in keys if key in known}, place, known)
    with located(place, cls.__name__):
        for key, field in known.items():
            if field.default is MISSING and key not in keys:
                validate_quantity(None, name=key, **field.metadata["quantity"])
        return cls(**given, **keys)


def keys_of(cls: type[Record]) -> dict[str, Field[Any]]:
    """Return the fields of a class by their keys: their names, unless they have another.

    Without one whose items are keys themselves, see `has_more_keys`, and those that engines tell.
    """
    return {
        field.metadata.get("key", field.name): field
        for field in fields(cls)
        if field.init and not ("beside" in field.metadata or field.metadata.get("told"))
    }


def has_more_keys(cls: type[Record]) -> bool:
    """Return whether a class has keys that depend on the values of others."""
    return any("beside" in field.metadata for field in fields(cls))


@contextmanager
def in_file(name: str, path: str | Path) -> Iterator[None]:
    """Name a file in errors about its text, whose other files are named as seen from there."""
    token = _FOLDER.set(Path(path).parent)
    try:
        with located(f"{name}:"):
            yield
    finally:
        _FOLDER.reset(token)


@contextmanager
def located(place: str, owner: str = "") -> Iterator[None]:
    """Turn an error about a class and its field into one about a table and its key."""
    try:
        yield
    except _TYPED as error:
        text = str(error).removeprefix(f"{owner} ")
        # TOML has no None: the key is not there.
        text = re.sub(r" = None is (no number|missing)", " is missing", text)
        text = text.replace(", or None.", ", or leave it out.")
        text = re.sub(r"^flows (?=\d)", "[[flows]] ", text)
        text = re.sub(r"^change (?=at)", "[[changes]] ", text)
        raise type(error)(f"{place} {text}".lstrip()) from None


def _table(data: dict[str, Any], name: str, key: str, place: str = "") -> dict[str, Any]:
    if name not in data:
        raise ScenarioError(f"[{place or name}] is missing: give that table, with its {key}.")
    if not isinstance(data[name], dict):
        raise ScenarioError(
            f"{name} = {show_value(data[name])} is no table: use [{place or name}] once, and keys"
            " below it."
        )
    return dict(data[name])


def tables_of(data: dict[str, Any], name: str) -> list[tuple[int, dict[str, Any]]]:
    """Return the tables of a name with their numbers, from 1 on; or say that it has others."""
    tables = data.get(name, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ScenarioError(
            f"{name} = {show_value(tables)} is no list of tables: use [[{name}]], in double"
            " brackets, before each."
        )
    return list(enumerate(tables, 1))


def _kind(keys: dict[str, Any], key: str, place: str, kinds: Collection[str]) -> Any:
    if key not in keys:
        raise ScenarioError(f"{place} {key} is missing: give {suggest('', kinds)}.")
    return keys.pop(key)


def check_keys(keys: Mapping[str, Any], known: Collection[str], place: str, of: str = "") -> None:
    """Refuse a key that is not known there."""
    for key in keys:
        if key not in known:
            shown = key if BARE_KEY.fullmatch(key) else show_value(key)
            meant = MEANT.get(key, "")
            instead = repr(meant) if meant in known else suggest(key, known)
            raise ScenarioError(f"{place} {shown} is unknown{of}: give {instead}.".lstrip())


def check_values(
    keys: Mapping[str, Any], place: str, known: Mapping[str, Field[Any]] | None = None
) -> None:
    """Refuse lists, which classes take for arrays, and what is no flag where one is needed."""
    for key, value in keys.items():
        if isinstance(value, list) and not (known and _takes_several(known[key])):
            raise ScenarioError(
                f"{place} {key} = {show_value(value)} is a list: give one value.".lstrip()
            )
        kind = known[key].type if known else ""
        if str(kind).startswith("bool") and not isinstance(value, bool):
            raise ScenarioError(
                f"{place} {key} = {show_value(value)} is no flag: give true or false."
            )


def _takes_several(field: Field[Any]) -> bool:
    """Whether a field is a list in text."""
    return "quantities" in field.metadata or str(field.type).startswith("tuple[str")
