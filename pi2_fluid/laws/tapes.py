"""The tapes of a law: of each of its functions, made once for all laws of its class and options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqm import Aqm, Seen
from pi2_fluid.laws.sender import Sender
from pi2_fluid.laws.tape import Tape, make_tape
from pi2_fluid.laws.trace import TraceError
from pi2_fluid.records.record import leaves, map_leaves
from pi2_fluid.values import Number

__all__ = ["QUEUE_FUNCTIONS", "SENDER_FUNCTIONS", "numbers_on_tape", "tape_of"]

_SEEN: Final = ("queue", "arrival_rate", "capacity", "overflow")


def _state(law: Sender, values: Sequence[Number]) -> object:
    return tuple(values) if len(law.states) > 1 else values[0]


def _states(law: Sender) -> list[str]:
    return list(law.states)


def _rate(law: Sender, *values: Number) -> object:
    n = len(law.states)
    return law.rate(_state(law, values[:n]), _state(law, values[n : 2 * n]), *values[2 * n :])


def _of_state(name: str) -> Callable[..., Any]:
    def call(law: Sender, *values: Number) -> object:
        n = len(law.states)
        return getattr(law, name)(_state(law, values[:n]), *values[n:])

    return call


#: Of each function of a sender: the names of its inputs, and how it is called with them.
SENDER_FUNCTIONS: Final[dict[str, tuple[Callable[[Sender], list[str]], Callable[..., Any]]]] = {
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
    "leave_slow_start": (_states, _of_state("leave_slow_start")),
}


def _controls(law: Aqm) -> list[str]:
    return [f"state{place}" for place in range(len(law.initial()))]


def _watches(law: Aqm) -> list[str]:
    delays = ["queue_delay"] if law.bands == 1 else ["classic_delay", "l4s_delay"]
    return [*_controls(law), *delays, *_SEEN]


def _seen(
    law: Aqm, values: Sequence[Number]
) -> tuple[tuple[Number, ...], Seen, tuple[Number, ...]]:
    """Return a state, what the queue sees, and what is left of the inputs."""
    n, bands = len(law.initial()), law.bands
    delays, rest = values[n : n + bands], values[n + bands :]
    delay = delays[0] if bands == 1 else tuple(delays)
    return tuple(values[:n]), Seen(delay, *rest[: len(_SEEN)]), tuple(rest[len(_SEEN) :])


def _watching(name: str) -> Callable[..., Any]:
    def call(law: Aqm, *values: Number) -> object:
        state, seen, rest = _seen(law, values)
        return getattr(law, name)(state, seen, *rest)

    return call


def _moving(name: str) -> Callable[..., Any]:
    """Return how the controller moves and what packets see, together: their comparisons are one."""

    def call(law: Aqm, *values: Number) -> object:
        state, seen, rest = _seen(law, values)
        return (*getattr(law, name)(state, seen, *rest), *law.signals(state, seen))

    return call


#: Of each function of a queue: the names of its inputs, and how it is called with them.
QUEUE_FUNCTIONS: Final[dict[str, tuple[Callable[[Aqm], list[str]], Callable[..., Any]]]] = {
    "initial": (lambda _: [], lambda law: law.initial()),
    "update": (lambda law: [*_watches(law), "dt"], _watching("update")),
    "flow": (lambda law: [*_watches(law), "d_queue_delay"], _watching("flow")),
    "drift": (_watches, _watching("drift")),
    "signals": (_watches, _watching("signals")),
    "flow and signals": (lambda law: [*_watches(law), "d_queue_delay"], _moving("flow")),
    "drift and signals": (_watches, _moving("drift")),
    "saturate": (_controls, lambda law, *state: law.saturate(state)),
    "controller": (_controls, lambda law, *state: law.controller(state)),
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


def tape_of(law: Sender | Aqm, name: str) -> Tape:
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
    skeleton = map_leaves(lambda _, place: f"law{place}", law)
    try:
        return _general(skeleton, name)
    except _ParticularError:
        return _particular(law, name)


def numbers_on_tape(law: Sender | Aqm, tape: Tape) -> list[Number]:
    """Return the numbers of a law that are the parameters of its tape."""
    return leaves(law) if tape.parameters else []


class _ParticularError(Exception):
    """The tape of a law depends on its numbers."""


@lru_cache(maxsize=1024)
def _general(skeleton: Sender | Aqm, name: str) -> Tape:
    """Return the tape whose parameters are the leaves of a law, named in its skeleton."""
    inputs, call = _function(skeleton, name)
    parameters = leaves(skeleton)

    def function(*values: Number) -> object:
        symbols = iter(values[len(inputs) :])
        return call(map_leaves(lambda *_: next(symbols), skeleton), *values[: len(inputs)])

    try:
        return make_tape(function, inputs, parameters)
    except (TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise _ParticularError from error


@lru_cache(maxsize=256)
def _particular(law: Sender | Aqm, name: str) -> Tape:
    inputs, call = _function(law, name)
    try:
        return make_tape(lambda *values: call(law, *values), inputs)
    except (TypeError, AttributeError, ValueError, ArithmeticError) as error:
        if isinstance(error, UnsupportedError) and not isinstance(error, TraceError):
            raise
        raise TraceError(
            f"{type(law).__name__}.{name.partition(' ')[0]} is no line of operations ({error}):"
            " use only + - * / **, comparisons, if and pi2_fluid.ops in it."
        ) from error


def _function(law: Sender | Aqm, name: str) -> tuple[list[str], Callable[..., Any]]:
    if isinstance(law, Sender):
        of_sender, call = SENDER_FUNCTIONS[name]
        return of_sender(law), call
    of_queue, call = QUEUE_FUNCTIONS[name]
    return of_queue(law), call
