"""Hashes of values by what they are made of, down to the code of functions and classes.

The same in every process of one Python: no address, no order of a set, no number of a line is in
them. What is installed counts by name and version; pieces of somebody's own by their content.
"""

from __future__ import annotations

import copyreg
import dataclasses
import functools
import hashlib
import importlib
import inspect
import sys
import types
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np

from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.sweeping.identity.bytecode import read_code
from pi2_fluid.sweeping.identity.origins import PYTHON, Origin, is_named, origin_of

_ATOMS: Final = (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented))
_BOUND_IN_C: Final = (types.BuiltinFunctionType, types.MethodWrapperType)
_UNBOUND_IN_C: Final = (
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)
#: What a class has that says nothing of what it does, or that Python made of the rest.
_MADE: Final = frozenset({"__annotate__", "__annotate_func__", "__annotations__"}) | {
    *("__annotations_cache__", "__dict__", "__doc__", "__firstlineno__", "__module__"),
    *("__qualname__", "__slotnames__", "__static_attributes__", "__weakref__", "_abc_impl"),
}
_MOST: Final = 10**6


@dataclasses.dataclass(frozen=True)
class Content:
    """What a value is made of."""

    digest: str
    """The SHA-256, in hexadecimal digits."""
    is_code: bool
    """Whether compiled code is in it, which another Python compiles otherwise."""
    libraries: frozenset[Origin]
    """What it uses that is installed."""


def content_of(value: object, name: str, version: str | None = None) -> Content:
    """Return what a value is made of.

    Parameters
    ----------
    value : object
        Anything: numbers, records, functions, classes.
    name : str
        What it is called in messages.
    version : str, optional
        What stands for all code of somebody's own, which is then not looked at.

    Raises
    ------
    QuantityError
        If something in it cannot be read, such as an open file or compiled code of nobody known.
    """
    walk = _Walk(version)
    walk.read(value, name)
    walk.finish()
    return Content(walk.hash.hexdigest(), walk.is_code, frozenset(walk.libraries - {PYTHON}))


class _Walk:
    """One way through a value. Functions, classes and modules are numbered as they are met.

    What each of these is made of follows once, behind all else, so that circles end.
    """

    def __init__(self, version: str | None) -> None:
        self.hash = hashlib.sha256()
        self.is_code = False
        self.libraries: set[Origin] = set()
        self._version = version
        self._numbers: dict[int, int] = {}
        self._waiting: deque[tuple[Any, str, Callable[[Any, str], None]]] = deque()
        self._modules: list[types.ModuleType] = []
        self._names = {"__getattr__"}
        self._open: dict[int, int] = {}
        self._held: list[object] = []  # so that no number of an object is another's
        self._count = 0

    def finish(self) -> None:
        """Read all that was met."""
        told: set[tuple[int, str]] = set()
        while self._waiting:
            while self._waiting:
                value, name, read = self._waiting.popleft()
                read(value, name)
            # Of modules what some code that was met has a name of, wherever that was.
            for place, module in enumerate(self._modules):
                for attribute in sorted(self._names & vars(module).keys()):
                    if (place, attribute) not in told:
                        told.add((place, attribute))
                        self._say("of module", str(place), attribute)
                        self.read(vars(module)[attribute], f"{module.__name__}.{attribute}")

    def read(self, value: object, name: str) -> None:
        """Add a value."""
        self._count += 1
        if self._count > _MOST:
            raise self._refused(value, name, "is made of more than a million pieces")
        kind = type(value)
        if kind in _ATOMS:
            self._say(kind.__name__, hex(value) if type(value) is int else repr(value))
        elif id(value) in self._open:
            self._say("above", str(len(self._open) - self._open[id(value)]))
        elif not (self._read_code(value, kind, name) or self._read_named(value, name)):
            self._open[id(value)] = len(self._open)
            self._held.append(value)
            self._read_parts(value, kind, name)
            del self._open[id(value)]

    def _say(self, *words: str) -> None:
        for word in words:
            self.hash.update(f"{len(word)}:{word}".encode("utf-8", "surrogatepass"))

    def _refer(self, kind: str, value: object, name: str, read: Callable[[Any, str], None]) -> None:
        """Add the number of what is read later."""
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self._numbers)
            self._held.append(value)
            self._waiting.append((value, name, read))
        self._say(kind, str(self._numbers[id(value)]))

    # --- what has a name of its own ------------------------------------------------------------

    def _read_named(self, value: object, name: str) -> bool:
        """Add what is installed under its name, and modules; return whether it was one of these."""
        if isinstance(value, types.ModuleType):
            origin = origin_of(value.__name__)
            if origin is None:
                self._refer("module", value, name, self._meet)
            else:
                self._install(origin, value.__name__)
            return True
        module = getattr(value, "__module__", None)
        own = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        if isinstance(module, str) and isinstance(own, str) and is_named(value, module, own):
            origin = origin_of(module)
            if origin is not None:
                self._install(origin, module, own)
                return True
        return False

    def _install(self, origin: Origin, *words: str) -> None:
        self.libraries.add(origin)
        self._say("installed", *words)

    def _meet(self, module: types.ModuleType, _: str) -> None:
        self._modules.append(module)

    # --- code ----------------------------------------------------------------------------------

    def _read_code(self, value: object, kind: type, name: str) -> bool:
        """Add functions and classes of somebody's own; return whether it was one of these."""
        if kind is types.GenericAlias or not isinstance(value, (types.FunctionType, type)):
            return False
        module = str(value.__module__)
        if is_named(value, module, value.__qualname__) and origin_of(module) is not None:
            return False
        if self._version is not None:
            self._say("version", self._version, value.__qualname__)
        elif isinstance(value, type):
            self._refer("class", value, name, self._read_class)
        else:
            self._refer("function", value, name, self._read_function)
        return True

    def _read_function(self, function: types.FunctionType, name: str) -> None:
        self.is_code = True
        reading = read_code(function.__code__)
        for word in reading.words:
            self.read(word, name)
        self._names |= reading.names
        for part in (function.__defaults__, function.__kwdefaults__, vars(function)):
            self.read(part, name)
        for variable, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            self._say("closure", variable)
            self.read(cell, f"{variable} in {name}")
        for word in reading.looked_up:
            if word in function.__globals__:
                self._say("global", word)
                self.read(function.__globals__[word], f"{word} in {name}")
        for imported, level in reading.imported:
            self._import(imported, level, function, name)

    def _import(self, module: str, level: int, function: types.FunctionType, name: str) -> None:
        package = str(function.__globals__.get("__package__") or "")
        above = package.split(".")[: len(package.split(".")) - level + 1]
        whole = ".".join([*above, *([module] if module else [])]) if level else module
        if origin_of(whole) is None and whole not in sys.modules:
            try:
                importlib.import_module(whole)  # as the function itself does when it runs
            except ImportError:
                return
        for place in range(1, whole.count(".") + 2):
            found = sys.modules.get(".".join(whole.split(".")[:place]))
            if found is not None:
                self.read(found, f"{whole} in {name}")
            else:
                self._say("installed", whole)

    def _read_class(self, own: type, name: str) -> None:
        self.is_code = True
        self._say(own.__name__)
        self.read(type(own), f"the class of {name}")
        self.read(own.__bases__, name)
        for attribute in sorted(vars(own).keys() - _MADE):
            self._say("attribute", attribute)
            self.read(vars(own)[attribute], f"{attribute} of {name}")

    # --- values --------------------------------------------------------------------------------

    def _read_parts(self, given: object, kind: type, name: str) -> None:
        value: Any = given  # by whose type it is decided what it has
        if kind in {tuple, list}:
            self._all(kind.__name__, value, name)
        elif kind in {dict, types.MappingProxyType}:
            self._all("dict", (part for item in value.items() for part in item), name)
        elif kind in {set, frozenset}:
            each = [content_of(item, name, self._version) for item in value]
            self.is_code |= any(content.is_code for content in each)
            self.libraries.update(*(content.libraries for content in each))
            self._say("set", *sorted(content.digest for content in each))
        elif isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind != "O":
            bare = np.ascontiguousarray(value)
            self._all("array", (value.dtype.str, value.shape, bare.tobytes()), name)
        elif kind is types.CellType:
            self._all("cell", _contents(value), name)
        elif kind is types.MethodType:
            self._all("method", (value.__func__, value.__self__), name)
        elif kind in {staticmethod, classmethod}:
            self._all(kind.__name__, (value.__func__,), name)
        elif kind is property:
            self._all("property", (value.fget, value.fset, value.fdel), name)
        elif isinstance(value, _BOUND_IN_C):
            self._read_in_c(value, value.__self__, name)
        elif isinstance(value, _UNBOUND_IN_C):
            self._all("in C", (value.__name__, value.__objclass__), name)
        elif kind is functools.cached_property:
            self._all("cached", (value.func,), name)
        elif callable(value) and hasattr(value, "__wrapped__"):
            asked: Mapping[str, Any] = getattr(value, "cache_parameters", dict)()
            self._all("wrapped", (kind, asked, value.__wrapped__), name)
        else:
            self._read_object(value, kind, name)

    def _all(self, what: str, parts: Iterable[Any], name: str) -> None:
        self._say(what)
        for part in parts:
            self.read(part, name)
        self._say("end")

    def _read_in_c(self, value: object, owner: object, name: str) -> None:
        if owner is None or isinstance(owner, types.ModuleType):
            raise self._refused(value, name, "is compiled")
        self._all("bound in C", (getattr(value, "__name__", ""), owner), name)

    def _read_object(self, value: object, kind: type, name: str) -> None:
        """Add an object as it would be copied: its class, and what it has."""
        try:
            made: Any = value.__reduce_ex__(4)
        except (TypeError, AttributeError, NotImplementedError):
            raise self._refused(value, name, "cannot be read") from None
        if isinstance(made, str):  # found by its name alone
            if not is_named(value, str(getattr(value, "__module__", None)), made):
                known = [m for m in tuple(sys.modules) if is_named(value, m, made)]
                if not any(origin_of(module) for module in known):
                    raise self._refused(value, name, "cannot be read")
            self._all("called", (kind, made), name)
            return
        function, given, state, items, pairs = (*made, None, None, None)[:5]
        if function in {copyreg.__newobj__, copyreg.__newobj_ex__}:  # type: ignore[attr-defined]
            function = None
        self._all("object", (kind, function, given), name)
        if isinstance(state, dict):
            state = _kept(state, kind)
        elif isinstance(state, tuple) and len(state) == 2 and isinstance(state[0], dict):
            state = _kept(state[0], kind), state[1]
        self.read(state, name)
        self._all("items", items or (), name)
        self._all("pairs", (part for pair in pairs or () for part in pair), name)

    def _refused(self, value: object, name: str, why: str) -> QuantityError:
        return QuantityError(
            f"{name} is {show_value(value)}, which {why}, so that a store cannot tell whether it"
            " is the same another time: do without it, or give a version, such as version='1', and"
            " another one whenever your code changes."
        )


def _contents(cell: types.CellType) -> tuple[object, ...]:
    """Return what a variable of a closure has: nothing if it has no value yet."""
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def _kept(state: Mapping[str, Any], kind: type) -> dict[str, Any]:
    """Return what an object has, in order of names, without what follows from the rest."""
    fields = getattr(kind, "__dataclass_fields__", {})
    return {
        key: state[key]
        for key in sorted(state)
        if key in fields or not _makes(inspect.getattr_static(kind, key, None))
    }


def _makes(attribute: object) -> bool:
    """Return whether a class has what makes a value when it is asked for: a cached property."""
    return hasattr(attribute, "__get__") and not isinstance(attribute, types.FunctionType)
