"""`Record`: the frozen, validated, JAX-compatible dataclass that senders, queues and flows are.

A record converts and checks its numeric fields when it is made (text becomes SI floats), compares
by value, and is a JAX pytree: numeric fields are leaves, text and flags are static. Unflattening
skips the validation, since `jit`, `vmap` and `tree.map` put placeholders in the place of numbers.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, TypeVar, overload

import numpy as np

from pi2_fluid.errors import QuantityError, ScenarioError, UnsupportedError, show_value
from pi2_fluid.ops import Number, namespace
from pi2_fluid.records.calls import Named
from pi2_fluid.records.counts import Counts
from pi2_fluid.records.pytrees import register_pytree
from pi2_fluid.units import (
    broadcast_shape,
    has_labels,
    is_traced,
    plain_row,
    validate_choice,
    validate_quantity,
)

if TYPE_CHECKING:
    from pi2_fluid.records.unit import Unit
    from pi2_fluid.values import FloatArray, Values

T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R", bound="Record")
T = TypeVar("T")


class _Field(Protocol[T_co]):
    """A numeric field, to whoever reads types: given as any quantity, read as what it has become.

    At run time it is a plain attribute, which `Record` converts once. What may be given is Any
    because mypy reads an inherited field of a frozen dataclass as what it is given.
    """

    @overload
    def __get__(self, record: None, owner: type, /) -> Self: ...
    @overload
    def __get__(self, record: object, owner: type, /) -> T_co: ...
    def __set__(self, record: object, value: Any, /) -> None: ...


# Types of what is no array and holds none.
_NO_ARRAYS = {float, int, str, bool, type(None)}

# Fields of which derivatives make no sense, by what they are declared with.
_STATIC = ("choice", "allowed")

#: The type of a field that `quantity` declares, and of one that may be None.
Parameter: TypeAlias = "_Field[Number]"
OptionalParameter: TypeAlias = "_Field[Number | None]"


def quantity(
    default: Any,
    dimension: str,
    *,
    low: float = 0.0,
    high: float = math.inf,
    closed: bool = False,
    usual: float = math.inf,
    usual_from: float = -math.inf,
    optional: bool = False,
    told: bool = False,
    tc: str | None = None,
    kernel: Unit | None = None,
) -> Any:
    """Declare a numeric field: its dimension (see `pi2_fluid.units`) and its allowed range.

    Parameters
    ----------
    default
        As given to the class, text included.
    dimension, low, high, closed, usual, usual_from
        As for `pi2_fluid.units.validate_quantity`.
    optional
        Whether it may be None.
    told
        Whether engines fill it in, so that text has no key for it.
    tc
        The word that tc has for it, where it knows the law.
    kernel
        What a kernel counts it in, and tc if it has a word for it.
    """
    rule = {"dimension": dimension, "low": low, "high": high, "closed": closed, "usual": usual}
    rule["usual_from"] = usual_from
    metadata = {"quantity": rule, "optional": optional, "told": told, "tc": tc, "kernel": kernel}
    return dataclasses.field(default=default, metadata=metadata)


def quantities(
    dimension: str, *, low: float = 0.0, closed: bool = False, usual: float = math.inf
) -> tuple[Number, ...]:
    """Declare a field of any number of quantities, none by default; single ones, kept as a tuple.

    Parameters
    ----------
    dimension, low, closed, usual
        As in `quantity`.
    """
    each = {"dimension": dimension, "low": low, "closed": closed, "usual": usual}
    field: tuple[Number, ...] = dataclasses.field(default=(), metadata={"quantities": each})
    return field


def choice(
    default: Any,
    options: tuple[Any, ...],
    *,
    optional: bool = True,
    tc: str | None = None,
    kernel: Unit | None = None,
) -> Any:
    """Declare a static field that takes one of a few values.

    Parameters
    ----------
    default
        As given to the class.
    options
        The values.
    optional
        Whether a default of None is one; if not, the field is needed.
    tc, kernel
        As in `quantity`.
    """
    metadata = {"choice": options, "optional": optional, "tc": tc, "kernel": kernel}
    return dataclasses.field(default=default, metadata=metadata)


def described(default: T, allowed: str, *, needed: bool = False) -> T:
    """Declare a static field that is neither a number nor a word; the class itself checks it.

    Parameters
    ----------
    default
        As given to the class.
    allowed
        What it may be, in a few words, for the reference.
    needed
        Whether None, its default, is none.
    """
    rules = {"allowed": allowed, **({"optional": False} if needed else {})}
    field: T = dataclasses.field(default=default, metadata=rules)
    return field


def beside(allowed: str, declared: Callable[[Any], Mapping[str, Any]]) -> tuple[Any, ...]:
    """Declare a static field of pairs of key and value, whose keys in text are the record's own.

    The class itself checks them.

    Parameters
    ----------
    allowed
        As in `described`.
    declared
        From a record to what declares each key that it may have, as a field.
    """
    field: tuple[Any, ...] = dataclasses.field(
        default=(), metadata={"allowed": allowed, "beside": declared}
    )
    return field


def keys_beside(record: Record) -> dict[str, tuple[dataclasses.Field[Any], Any]]:
    """Return what declares each key of a field declared by `beside`, and its value, None if none.

    Examples
    --------
    >>> from pi2_fluid.laws.aqms.qdisc import Qdisc
    >>> keys_beside(Qdisc("cake", rtt="50ms"))["rtt"][1]
    0.05
    """
    found: dict[str, tuple[dataclasses.Field[Any], Any]] = {}
    for field in dataclasses.fields(record):
        if (declared := field.metadata.get("beside")) is not None:
            given = dict(getattr(record, field.name))
            found |= {key: (about, given.get(key)) for key, about in declared(record).items()}
    return found


def again(base: type[Record], name: str, default: Any = None, *, kernel: Unit | None = None) -> Any:
    """Declare a field of a base class once more: with another default, or counted otherwise.

    Parameters
    ----------
    base, name
        The class, and its field.
    default
        None: as there.
    kernel
        None: as there.
    """
    field = base.__dataclass_fields__[name]
    default = field.default if default is None else default
    changed = {} if kernel is None else {"kernel": kernel}
    return dataclasses.field(default=default, metadata={**field.metadata, **changed})


def is_needed(field: dataclasses.Field[Any]) -> bool:
    """Whether a field has no default: None is one only where it is allowed."""
    return field.default is dataclasses.MISSING or (
        field.default is None and not field.metadata.get("optional", False)
    )


def default_of(field: dataclasses.Field[Any]) -> Any:
    """Return the default of a field as an attribute holds it."""
    if "quantity" in field.metadata and field.default not in {None, dataclasses.MISSING}:
        return validate_quantity(field.default, name=field.name, **field.metadata["quantity"])
    return field.default


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Record(metaclass=Named):
    """Base of every description: frozen, keyword-only, validated, equal by value, a JAX pytree."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for base in cls.__bases__:
            if issubclass(base, Record):
                base.complete_class()
        register_pytree(cls, _flatten_with_keys, _unflatten_as(cls))

    @classmethod
    def complete_class(cls) -> None:
        """Make a dataclass of a class that declares fields or defaults and is not decorated as one.

        Asked before the first record of a class is made, or the first subclass: a decorator has run
        by then.
        """
        for one in reversed(cls.__mro__):
            if one is not Record and issubclass(one, Record):
                _complete(one)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.complete_class()
        vars(self).update(state)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            name = f"{type(self).__name__} {field.name}"
            if "quantity" in field.metadata:
                if value is None and field.metadata["optional"]:
                    continue
                bare = plain_row(value)
                number: Values = validate_quantity(bare, name=name, **field.metadata["quantity"])
                if isinstance(number, np.ndarray):
                    number.flags.writeable = False  # a copy, frozen as the record is
                if has_labels(value):
                    number = value.copy(data=number)
                object.__setattr__(self, field.name, number)
            elif "quantities" in field.metadata:
                each = field.metadata["quantities"]
                object.__setattr__(self, field.name, _numbers(value, each, name))
            elif "choice" in field.metadata:
                validate_choice(value, field.metadata["choice"], name)
        arrays = named_arrays(self)
        if not any(has_labels(value) for value in arrays.values()):  # those broadcast by name
            broadcast_shape(arrays)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            _same(getattr(self, field.name), getattr(other, field.name))
            for field in dataclasses.fields(self)
        )

    def __hash__(self) -> int:
        values = (getattr(self, field.name) for field in dataclasses.fields(self))
        return hash((type(self), *(_hashable(value) for value in values)))


def _complete(cls: type[Record]) -> None:
    if "__dataclass_params__" in vars(cls):
        return
    inherited, attributes = {field.name: field for field in dataclasses.fields(cls)}, vars(cls)
    annotations = dict(attributes.get("__annotations__", {}))
    changed = [
        name
        for name, value in attributes.items()
        if name in inherited
        and not hasattr(value, "__get__")
        and "ClassVar" not in str(annotations.get(name, ""))
    ]
    if not changed and set(annotations) <= set(cls.__dataclass_fields__):
        return
    made = getattr(cls.__init__, "__code__", None)
    if made is None or made.co_filename != "<string>":
        if changed:
            raise UnsupportedError(
                f"{cls.__name__} {changed[0]} = {show_value(attributes[changed[0]])} does not reach"
                f" {cls.__base__.__name__ if cls.__base__ else ''}, which is made by an __init__ of"
                " its own: give it where one is made."
            )
        return
    for name in changed:
        annotations.setdefault(name, inherited[name].type)
        if not isinstance(attributes[name], dataclasses.Field):
            field = dataclasses.field(default=attributes[name], metadata=inherited[name].metadata)
            setattr(cls, name, field)
    cls.__annotations__ = annotations
    dataclasses.dataclass(frozen=True, eq=False, kw_only=True)(cls)


def map_leaves(function: Callable[[Any, str], object], tree: Any, path: str = "") -> Any:
    """Return a record with ``function(leaf, place)`` for each number in it, its place as in code.

    Also of counts, tuples and lists, as deep as they go: what `jax.tree.map` does, without JAX.
    Nothing is validated.
    """
    if isinstance(tree, Record):
        made: Record = object.__new__(type(tree))
        for field in dataclasses.fields(tree):
            value = getattr(tree, field.name)
            if not _is_static(field, value):
                value = map_leaves(function, value, f"{path}.{field.name}")
            object.__setattr__(made, field.name, value)
        return made
    if isinstance(tree, Counts):
        numbers = [map_leaves(function, tree[key], f"{path}[{key!r}]") for key in tree]
        return Counts.tree_unflatten(tuple(tree), numbers)
    if type(tree) in {tuple, list}:
        return type(tree)(map_leaves(function, v, f"{path}[{i}]") for i, v in enumerate(tree))
    return None if tree is None else function(tree, path)


def leaves(tree: object) -> list[Any]:
    """Return the numbers of a record, as `jax.tree.leaves` does, without JAX."""
    found: list[Any] = []
    map_leaves(lambda leaf, _: found.append(leaf), tree)
    return found


def named_arrays(record: object) -> dict[str, Any]:
    """Return the array fields of a record and of the records in it, by the names of messages."""
    arrays: dict[str, Any] = {}
    if not isinstance(record, Record):
        return arrays
    values = vars(record)
    for name in type(record).__dataclass_fields__:
        value = values.get(name)  # of a class variable there is none
        if type(value) in _NO_ARRAYS:
            continue
        arrays |= named_arrays(value)
        if _rank(value) > 0:
            arrays[f"{type(record).__name__} {name}"] = value
    return arrays


def numbers_of(record: Record, without: Collection[str] = ()) -> dict[str, Any]:
    """Return the numbers and flags among the fields of a record by their names, None left out.

    Examples
    --------
    >>> from pi2_fluid.laws.senders.timeoutreno import TimeoutReno
    >>> numbers_of(TimeoutReno(), without=("min_rto",))
    {'decrease': 0.5}
    """
    values = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    return {
        name: value
        for name, value in values.items()
        if name not in without and value is not None and not isinstance(value, str)
    }


def declares(law: object, name: str) -> Any:
    """Return what the class of a law itself says of `name`, None if it only inherits it.

    A subclass is another law: what its parent is to an engine, it is not.
    """
    return vars(type(law)).get(name)


def solve_again(cls: type, contract: type, derived: Mapping[str, tuple[str, ...]]) -> None:
    """Let a class that overrides part of a law derive anew what its parents derived from that part.

    A closed form is inherited with the equations that it was found from, or not at all.

    Parameters
    ----------
    cls : type
        A new class.
    contract : type
        Whose methods derive things from any equations.
    derived : mapping of str to tuple of str
        Methods with closed forms, and the methods that these follow from.
    """
    own = vars(cls)
    for name, origins in derived.items():
        if name not in own and any(origin in own for origin in origins):
            setattr(cls, name, vars(contract)[name])


def require_scalars(*laws: object) -> None:
    """Refuse laws with arrays, where single ones are meant.

    Raises
    ------
    QuantityError
        Naming the first array.
    """
    for law in laws:
        for name in named_arrays(law):
            raise QuantityError(
                f"{name} is an array, and here a law is a single one: give one number, and call"
                " once for each."
            )


def require_untraced(what: str, instead: str, *values: object) -> None:
    """Refuse numbers that JAX traces, where what is done with them needs their values.

    Raises
    ------
    UnsupportedError
        With what to use `instead`.
    """
    if "jax" in sys.modules and any(is_traced(leaf) for leaf in leaves(values)):
        raise UnsupportedError(
            f"JAX traces a number here, and {what} needs its value: use {instead} for derivatives."
        )


def align(record: R, **named: Number) -> tuple[list[FloatArray], Callable[[Sequence[Any]], R]]:
    """Broadcast named numbers and a record's arrays to one shape, for solvers by element.

    Returns
    -------
    values : list of numpy.ndarray
        The named numbers, then the array fields of the record.
    rebuild : callable
        From as many values as there are array fields to the same record around those.
    """
    shape = broadcast_shape(named | named_arrays(record))
    values = (*named.values(), *(leaf for leaf in leaves(record) if _rank(leaf) > 0))

    def rebuild(values: Sequence[Any]) -> R:
        given = iter(values)
        made: R = map_leaves(lambda leaf, _: next(given) if _rank(leaf) > 0 else leaf, record)
        return made

    return [np.broadcast_to(np.asarray(value, float), shape) for value in values], rebuild


def _numbers(value: object, each: Mapping[str, Any], name: str) -> tuple[Number, ...]:
    """A tuple of single numbers from one quantity, or a sequence of them."""
    items: Iterable[object] = (value,)
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str):
        items = value
    numbers = []
    for place, item in enumerate(items, 1):
        number = validate_quantity(item, name=f"{name} {place}", **each)
        if np.ndim(number):
            raise QuantityError(
                f"{name} {place} = {show_value(item)} is an array: give one number."
            )
        numbers.append(number)
    return tuple(numbers)


def _rank(value: object) -> int:
    return int(getattr(value, "ndim", 0))


def _same(a: Any, b: Any) -> bool:
    if has_labels(a) or has_labels(b):
        return has_labels(a) and has_labels(b) and bool(a.equals(b))
    if _rank(a) or _rank(b):
        return np.array_equal(a, b)
    return bool(a == b)


def _hashable(value: Any) -> Any:
    if has_labels(value):
        return (value.dims, _hashable(value.to_numpy()))
    if isinstance(value, np.ndarray) or namespace(value) is not np:
        # Adding 0 turns -0.0 into 0.0: they are equal, so must hash alike.
        array = np.asarray(value) + 0.0
        return (array.shape, array.tobytes()) if array.ndim else float(array)
    return value


# The names of the leaves, and the other fields with their values.
_Static: TypeAlias = tuple[tuple[str, ...], tuple[tuple[str, object], ...]]


def _is_static(field: dataclasses.Field[Any], value: Any) -> bool:
    # A quantity stays a leaf whatever `tree.map` has put in its place, a truth value included.
    if "quantity" in field.metadata:
        return False
    return not field.metadata.keys().isdisjoint(_STATIC) or isinstance(value, (str, bool))


def _flatten_with_keys(record: Record) -> tuple[list[tuple[Any, Any]], _Static]:
    from jax.tree_util import GetAttrKey

    children, static = [], []
    # Read the fields now, not at registration: the dataclass decorator runs after
    # `__init_subclass__`.
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if _is_static(field, value):
            static.append((field.name, value))
        else:
            children.append((GetAttrKey(field.name), value))
    names = tuple(key.name for key, _ in children)
    return children, (names, tuple(static))


def _unflatten_as(cls: type[Record]) -> Any:
    def unflatten(aux: Any, children: Any) -> Record:
        names, static = aux
        record = object.__new__(cls)
        for name, value in (*zip(names, children, strict=True), *static):
            object.__setattr__(record, name, value)
        return record

    return unflatten


def as_tuple(value: Any, kind: type[R], place: str) -> tuple[R, ...]:
    """Return a tuple of records of a kind, from one of them or a sequence.

    Parameters
    ----------
    value : object
        What was given.
    kind : type
        What each is to be.
    place : str
        Whose and which field it is, in messages.

    Raises
    ------
    ScenarioError
        If it is something else.
    """
    if isinstance(value, kind):
        return (value,)
    try:
        items = None if isinstance(value, (str, bytes, Mapping)) else tuple(value)
    except TypeError:
        items = None
    if items is None:
        raise ScenarioError(
            f"{place} = {show_value(value)} is no {kind.__name__}: give one, or a sequence of them."
        )
    for number, item in enumerate(items, 1):
        if not isinstance(item, kind):
            raise ScenarioError(
                f"{place} {number} = {show_value(item)} is no {kind.__name__}: give a"
                f" sequence of {kind.__name__}."
            )
    return items
