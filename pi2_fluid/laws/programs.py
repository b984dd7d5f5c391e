"""Laws as the compiled fluid runs them: their tapes, and what engines have inline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeVar

from pi2_fluid import _core
from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.aqms.coupled import CoupledPi2
from pi2_fluid.laws.aqms.pi import Pi
from pi2_fluid.laws.aqms.pi2 import Pi2
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.seen import Seen
from pi2_fluid.laws.sender import Sender
from pi2_fluid.laws.senders.reno import Reno
from pi2_fluid.laws.senders.scalable import Scalable
from pi2_fluid.laws.tape import Tape
from pi2_fluid.laws.tapes import numbers_on_tape, tape_of
from pi2_fluid.laws.trace import TraceError

L = TypeVar("L")

#: States that a law may have in the kernel (`PI2_SENDER_STATES` of native/laws/sender.h).
MOST_STATES: Final = 8
_PLAIN: Final = ("alpha", "beta", "target", "update_interval", "limit", "k")


@lru_cache(maxsize=256)
def sender_program(sender: Sender) -> _core.SenderLaw:
    """Return a sender as the compiled fluid runs it.

    Raises
    ------
    TraceError
        If it does what cannot be written down as operations on numbers.
    """
    tapes = sender_tapes(sender)
    numbers = _numbers(sender, tapes)
    plain = plain_window(sender)
    if plain:
        plain = {name: float(plain.get(name, 0.0)) for name in ("decrease", "per_mark")}
    name = type(sender).__name__.lower()
    return _core.SenderLaw(name, _in_kernel(tapes), numbers, len(sender.states), plain)


def sender_tapes(sender: Sender) -> dict[str, Tape]:
    """Return the functions of a sender that the compiled fluid calls, as tapes.

    Raises
    ------
    TraceError
        As `sender_program`.
    """
    rate = tape_of(sender, "rate")
    tapes = {"rate": rate, "differences": _differences(rate)}
    tapes |= {name: tape_of(sender, name) for name in ("sending_rate", "leave_slow_start")}
    tapes |= _tape_if_any(sender, "acked")
    if sender.answers_at_once:
        tapes["sending_rate_under"] = tape_of(sender, "sending_rate_under")
    return tapes


@lru_cache(maxsize=256)
def queue_program(aqm: Aqm, *, continuous: bool) -> _core.AqmLaw:
    """Return a queue as the compiled fluid runs it.

    Parameters
    ----------
    aqm : Aqm
        Any law, own ones too.
    continuous : bool
        Whether it moves by its `flow` instead of its updates.

    Raises
    ------
    TraceError
        If it does what cannot be written down as operations on numbers.
    UnsupportedError
        If it has no equations, or no flow.
    DomainError
        If it cannot have its numbers.
    """
    aqm = aqm.pushed()
    flows = _flows(aqm, continuous=continuous)
    tapes = queue_tapes(aqm, continuous=continuous)
    # A tape is made whatever the numbers are: here a law refuses those that it cannot have.
    aqm.drift(aqm.initial(), Seen(0.0 if aqm.bands == 1 else (0.0, 0.0), 0.0, 0.0, 1.0))
    numbers = _numbers(aqm, tapes)
    plain = plain_controller(tapes, numbers, flows=flows)
    name = type(aqm).__name__.lower()
    return _core.AqmLaw(name, _in_kernel(tapes), numbers, aqm.bands, flows, plain)


def queue_tapes(aqm: Aqm, *, continuous: bool) -> dict[str, Tape]:
    """Return the functions of a queue that the compiled fluid calls, as tapes.

    Raises
    ------
    TraceError, UnsupportedError
        As `queue_program`.
    """
    flows = _flows(aqm, continuous=continuous)
    moving = tape_of(aqm, "flow and signals" if flows else "drift and signals")
    states = len(moving.outputs) - 2
    names = ["initial", "saturate", "controller"]
    if not flows:
        names.append("update")
    if aqm.bands == 2:
        names.append("serve")
    tapes = {name: tape_of(aqm, name) for name in names} | _tape_if_any(aqm, "encode")
    tapes |= {
        "slopes": moving.only(range(states)),
        "signals": moving.only(range(states, states + 2)),
        "differences": _differences(moving),
    }
    return tapes


def plain_window(sender: Sender) -> dict[str, Any]:
    """Return the decrease or the per_mark of a sender that engines have inline; {}: of another.

    That is one whose functions do what those of Reno or of Scalable do.
    """
    tapes = sender_tapes(sender)
    for forms, names, _ in _plain_senders():
        if forms == _forms(tapes):
            return dict(zip(names, numbers_on_tape(sender, tapes["rate"]), strict=True))
    return {}


def plain_controller(
    tapes: Mapping[str, Tape], numbers: Sequence[float], *, flows: bool
) -> dict[str, Any]:
    """Return the numbers of a PI controller that engines have inline; {}: of another queue.

    That is one whose functions do what those of Pi, of Pi2 or of CoupledPi2 do.

    Parameters
    ----------
    tapes, numbers
        Of `queue_tapes`, and their parameters.
    flows : bool
        Whether it moves by its flow.
    """
    for forms, names, reference in _plain_queues(flows=flows):
        if forms == _forms(tapes):
            known = {"k": 1.0, "limit": reference.limit} | dict(zip(names, numbers, strict=True))
            return {name: known[name] for name in _PLAIN} | {"encoder": reference.encoder}
    return {}


def _forms(tapes: Mapping[str, Tape]) -> dict[str, str]:
    return {name: tape.digest for name, tape in tapes.items()}


def _known(law: L, tapes: Mapping[str, Tape]) -> tuple[dict[str, str], list[str], L]:
    """Return what a law does, the names of its numbers, and itself."""
    names = next(tape.parameters for tape in tapes.values() if tape.parameters)
    return _forms(tapes), [name.removeprefix("law.") for name in names], law


@lru_cache
def _plain_senders() -> list[tuple[dict[str, str], list[str], Sender]]:
    return [_known(law, sender_tapes(law)) for law in (Reno(), Scalable())]


@lru_cache
def _plain_queues(*, flows: bool) -> list[tuple[dict[str, str], list[str], PiFamily]]:
    laws = (Pi2(), Pi(), CoupledPi2())
    return [_known(law, queue_tapes(law, continuous=flows)) for law in laws]


def obstacle_of(law: Sender | Aqm, *, continuous: bool) -> str:
    """Return why the compiled fluid cannot run a law, "" if it can."""
    name = type(law).__name__
    try:
        many = len(law.states if isinstance(law, Sender) else law.initial())
        if many > MOST_STATES:
            return f"{name}, whose {many} states are more than {MOST_STATES},"
        if isinstance(law, Sender):
            sender_program(law)
        else:
            queue_program(law, continuous=continuous)
    except TraceError as error:
        return f"{name}, of which no tape can be made ({error.__cause__ or error}),"
    except UnsupportedError:
        return name
    except (DomainError, QuantityError):
        raise
    except ValueError as error:  # of the kernel, on how many numbers a function takes and gives
        return f"{name} ({str(error).rstrip('.')})"
    return ""


def _flows(aqm: Aqm, *, continuous: bool) -> bool:
    """Return whether a queue moves by its flow."""
    return aqm.bands == 1 and (continuous or aqm.update_interval is None)


def _tape_if_any(law: Sender | Aqm, name: str) -> dict[str, Tape]:
    """Return the tape of a function that a law need not have, by its name."""
    try:
        return {name: tape_of(law, name)}
    except TraceError:
        raise
    except UnsupportedError:
        return {}


@lru_cache(maxsize=1024)
def _differences(tape: Tape) -> Tape:
    return tape.differences()


@lru_cache(maxsize=4096)
def kernel_tape(tape: Tape) -> _core.Tape:
    """Return a tape as compiled code runs it."""
    return _core.Tape(
        len(tape.inputs),
        len(tape.parameters),
        list(tape.constants),
        list(tape.rows),
        list(tape.outputs),
        tape.sides,
    )


def _in_kernel(tapes: dict[str, Tape]) -> dict[str, _core.Tape]:
    return {name: kernel_tape(tape) for name, tape in tapes.items()}


def _numbers(law: Sender | Aqm, tapes: dict[str, Tape]) -> list[float]:
    """Return the parameters of those tapes that have any."""
    asking = next((tape for tape in tapes.values() if tape.parameters), None)
    return [] if asking is None else [float(value) for value in numbers_on_tape(law, asking)]
