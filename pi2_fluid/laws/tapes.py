"""The tapes of a law: of each of its functions, made once for all laws of its class and options."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from pi2_fluid.errors import QuantityError, UnsupportedError
from pi2_fluid.laws.seen import Seen
from pi2_fluid.laws.tape import Tape, make_tape
from pi2_fluid.laws.trace import TextError, TraceError, flat
from pi2_fluid.records.record import leaves, map_leaves
from pi2_fluid.values import Number

#: A `Sender` or an `Aqm`, whose modules import this one.
Law: TypeAlias = Any


class _Named(NamedTuple):
    """What stands in a law for a number; no str, which fields of plain types may have as well."""

    name: str


_SEEN: Final = ("queue", "arrival_rate", "capacity", "overflow")

# Tapes by the kind of law, the function and the names of its inputs.
_kept: dict[tuple[Any, ...], Tape] = {}
_MOST_KEPT: Final = 4096
_NUMBERS: Final = {float, int, np.float64, np.ndarray}


def _state(law: Law, values: Sequence[Number]) -> object:
    return tuple(values) if len(law.states) > 1 else values[0]


def _states(law: Law) -> list[str]:
    return list(law.states)


def _rate(law: Law, *values: Number) -> object:
    n = len(law.states)
    return law.rate(_state(law, values[:n]), _state(law, values[n : 2 * n]), *values[2 * n :])


def _of_state(name: str) -> Callable[..., Any]:
    def call(law: Law, *values: Number) -> object:
        n = len(law.states)
        return getattr(law, name)(_state(law, values[:n]), *values[n:])

    return call


#: Of each function of a sender: the names of its inputs, and how it is called with them.
SENDER_FUNCTIONS: Final[dict[str, tuple[Callable[[Law], list[str]], Callable[..., Any]]]] = {
    "rate": (
        lambda law: [
            *_states(law),
            *(f"{name}_delayed" for name in law.states),
            "signal_delayed",
            "rtt",
            "rtt_delayed",
        ],
        _rate,
    ),
    "acked": (lambda law: [*_states(law), "acks", "marks", "rtt"], _of_state("acked")),
    "sending_rate": (lambda law: [*_states(law), "rtt"], _of_state("sending_rate")),
    "sending_rate_under": (
        lambda law: [*_states(law), "signal_delayed", "rtt"],
        _of_state("sending_rate_under"),
    ),
    "initial": (lambda _: ["window"], lambda law, window: law.initial(window)),
    "at_rest": (lambda _: ["rtt", "signal"], lambda law, rtt, signal: law.at_rest(rtt, signal)),
    "leave_slow_start": (_states, _of_state("leave_slow_start")),
}


def _controls(law: Law) -> list[str]:
    return [f"state{place}" for place in range(len(law.initial()))]


def _watches(law: Law) -> list[str]:
    delays = ["queue_delay"] if law.bands == 1 else ["classic_delay", "l4s_delay"]
    return [*_controls(law), *delays, *_SEEN]


def _seen(
    law: Law, values: Sequence[Number]
) -> tuple[tuple[Number, ...], Seen, tuple[Number, ...]]:
    """Return a state, what the queue sees, and what is left of the inputs."""
    n, bands = len(law.initial()), law.bands
    delays, rest = values[n : n + bands], values[n + bands :]
    delay = delays[0] if bands == 1 else tuple(delays)
    return tuple(values[:n]), Seen(delay, *rest[: len(_SEEN)]), tuple(rest[len(_SEEN) :])


def _watching(name: str) -> Callable[..., Any]:
    def call(law: Law, *values: Number) -> object:
        state, seen, rest = _seen(law, values)
        return getattr(law, name)(state, seen, *rest)

    return call


def _updating(law: Law, *values: Number) -> object:
    state, seen, rest = _seen(law, values)
    return law.saturate(law.update(state, seen, *rest))


def _moving(name: str) -> Callable[..., Any]:
    """Return how the controller moves and what packets see, together: their comparisons are one."""

    def call(law: Law, *values: Number) -> object:
        state, seen, rest = _seen(law, values)
        return (*getattr(law, name)(state, seen, *rest), *law.signals(state, seen))

    return call


#: Of each function of a queue: the names of its inputs, and how it is called with them.
QUEUE_FUNCTIONS: Final[dict[str, tuple[Callable[[Law], list[str]], Callable[..., Any]]]] = {
    "initial": (lambda _: [], lambda law: law.initial()),
    "update": (lambda law: [*_watches(law), "dt"], _watching("update")),
    "update and saturate": (lambda law: [*_watches(law), "dt"], _updating),
    "flow": (lambda law: [*_watches(law), "d_queue_delay"], _watching("flow")),
    "drift": (_watches, _watching("drift")),
    "signals": (_watches, _watching("signals")),
    "flow and signals": (lambda law: [*_watches(law), "d_queue_delay"], _moving("flow")),
    "drift and signals": (_watches, _moving("drift")),
    "saturate": (_controls, lambda law, *state: law.saturate(state)),
    "controller": (_controls, lambda law, *state: law.controller(state)),
    "at_rest": (
        lambda _: ["u", "capacity"],
        lambda law, u, capacity: law.at_rest(u, capacity),
    ),
    "load_at": (lambda _: ["u"], lambda law, u: law.load_at(u)),
    "encode": (lambda _: ["u"], lambda law, u: law.encode(u)),
    "serve": (
        lambda _: [
            "classic_backlogged",
            "l4s_backlogged",
            "classic_arrivals",
            "l4s_arrivals",
            "capacity",
        ],
        lambda law, *values: law.serve(values[:2], values[2:4], values[4]),
    ),
    "delays": (
        lambda _: ["classic_queue", "l4s_queue", "classic_served", "l4s_served"],
        lambda law, *values: law.delays(values[:2], values[2:]),
    ),
}


def tape_of(law: Law, name: str) -> Tape:
    """Return a function of a law as a tape.

    The law's numbers are its parameters ("law.alpha"), in the order of `numbers_on_tape`, so that
    one tape serves all laws of a class with the same options. A law that asks for the value of a
    number of its own has a tape without parameters, in which its numbers are constants.

    Parameters
    ----------
    law : Sender or Aqm
        Any law, own ones too.
    name : str
        Of `SENDER_FUNCTIONS` or `QUEUE_FUNCTIONS`, which say what the inputs are.

    Raises
    ------
    TraceError
        If the law does what cannot be written down as operations on numbers.
    UnsupportedError
        If the law has no such function.

    Examples
    --------
    >>> from pi2_fluid.laws.senders.reno import Reno
    >>> tape = tape_of(Reno(), "rate")
    >>> tape.inputs
    ('window', 'window_delayed', 'signal_delayed', 'rtt', 'rtt_delayed')
    >>> tape(10.0, 10.0, 0.02, 0.1, 0.1, parameters=numbers_on_tape(Reno(), tape))
    (0.0,)
    """
    if law.role == "sender":
        inputs = SENDER_FUNCTIONS[name][0](law)
    else:
        inputs = QUEUE_FUNCTIONS[name][0](law)
    return tape_by(law, function_of(law, name), tuple(inputs), name.partition(" ")[0])


def tape_by(law: Law, function: Callable[..., Any], inputs: tuple[str, ...], what: str) -> Tape:
    """Return the tape of any function of a law and of numbers, as `tape_of`.

    Parameters
    ----------
    law : Sender or Aqm
        The first argument of `function`.
    function : callable
        The same object at each call, for its tapes are kept.
    inputs : tuple of str
        Names for its other arguments.
    what : str
        What of the law it is, for messages.

    Raises
    ------
    TraceError
        As `tape_of`.
    """
    kind = kind_of(law)
    if kind is not None and (kept := _kept.get((kind, function, inputs))) is not None:
        return kept
    try:
        tape = _tape(map_leaves(lambda _, place: _Named(f"law{place}"), law), function, inputs)
    except TextError as error:
        raise QuantityError(f"{type(law).__name__}.{what} gives no numbers: {error}") from None
    if isinstance(tape, Tape):
        if kind is not None:
            if len(_kept) >= _MOST_KEPT:
                _kept.clear()
            _kept[kind, function, inputs] = tape
    else:
        # Arrays, and numbers that JAX traces, are no constants.
        partly = map_leaves(
            lambda leaf, place: leaf if isinstance(leaf, (float, int)) else _Named(f"law{place}"),
            law,
        )
        tape = _tape(partly, function, inputs)
    if isinstance(tape, Tape):
        return tape
    raise TraceError(
        f"{type(law).__name__}.{what} is no line of operations ({tape}):"
        " use only + - * / **, comparisons, if and pi2_fluid.ops in it."
    ) from tape


def evaluate(law: Law, name: str, *values: Number) -> tuple[Number, ...]:
    """Return what a function of a law gives for arrays, which may branch differently.

    By its tape, for ``if`` asks an array for one answer. A law that no tape can hold is called
    itself.

    Parameters
    ----------
    law, name
        As for `tape_of`.
    *values
        One for each of its inputs.

    Returns
    -------
    tuple
        The numbers, without nesting.
    """
    try:
        tape = tape_of(law, name)
    except TraceError:
        return tuple(flat(function_of(law, name)(law, *values)))  # type: ignore[arg-type]
    return tape(*values, parameters=numbers_on_tape(law, tape))


def numbers_on_tape(law: Law, tape: Tape) -> list[Any]:
    """Return the numbers of a law that are the parameters of its tape."""
    if not tape.parameters:
        return []
    if (fields := _fields_behind(tape)) is not None:
        values = vars(law)
        return [values[name] for name in fields]
    named: dict[str, Any] = {}
    map_leaves(lambda leaf, place: named.setdefault(f"law{place}", leaf), law)
    return [named[name] for name in tape.parameters]


def kind_of(law: Law) -> tuple[Any, ...] | None:
    """Return what a law is but for its numbers: its class, its options, and which numbers it has.

    None of a law that has more than numbers and options, such as a record of its own. Laws of one
    kind have the same tapes, and to find them by this takes a tenth of the time that it takes to
    put names in the place of a law's numbers.
    """
    cls: Any = type(law)
    values = vars(law)
    found: list[Any] = [cls]
    for name, is_option in _fields_of(cls):
        value = values.get(name)
        if type(value) in _NUMBERS and not is_option:
            found.append(_Named)
        elif value is None or isinstance(value, (str, bool)):
            found.append(value)
        else:
            return None
    return tuple(found)


@lru_cache(maxsize=256)
def _fields_of(cls: type) -> tuple[tuple[str, bool], ...]:
    """Return the fields of a class, and whether each is an option, of which there are no slopes."""
    options = ("choice", "allowed")
    return tuple(
        (field.name, not field.metadata.keys().isdisjoint(options))
        for field in dataclasses.fields(cls)
    )


@lru_cache(maxsize=1024)
def _fields_behind(tape: Tape) -> tuple[str, ...] | None:
    """Return the fields of a law that are the parameters of its tape; None if others are, too."""
    names = [name.removeprefix("law.") for name in tape.parameters]
    return tuple(names) if all(name.isidentifier() for name in names) else None


@lru_cache(maxsize=1024)
def _tape(skeleton: Law, function: Callable[..., Any], inputs: tuple[str, ...]) -> Tape | Exception:
    """Return the tape whose parameters are what a law has names for in the place of numbers.

    Or what was raised instead, to be remembered as well.
    """
    parameters = [leaf.name for leaf in leaves(skeleton) if isinstance(leaf, _Named)]

    def traced(*values: Number) -> object:
        symbols = iter(values[len(inputs) :])
        law = map_leaves(
            lambda leaf, _: next(symbols) if isinstance(leaf, _Named) else leaf, skeleton
        )
        return function(law, *values[: len(inputs)])

    try:
        return make_tape(traced, inputs, parameters)
    except TextError:
        raise
    except (TypeError, AttributeError, ValueError, ArithmeticError) as error:
        if isinstance(error, UnsupportedError) and not isinstance(error, TraceError):
            raise
        return error


def function_of(law: Law, name: str) -> Callable[..., Any]:
    """Return a function of `SENDER_FUNCTIONS` or `QUEUE_FUNCTIONS`: of a law and numbers."""
    if law.role == "sender":
        return SENDER_FUNCTIONS[name][1]
    return QUEUE_FUNCTIONS[name][1]
