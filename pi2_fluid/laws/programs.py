"""Laws as the compiled fluid runs them: the kernel's own by their names, others by their tapes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from pi2_fluid import _core
from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.sender import Sender
from pi2_fluid.laws.tape import Tape
from pi2_fluid.laws.tapes import numbers_on_tape, tape_of
from pi2_fluid.laws.trace import TraceError
from pi2_fluid.records.record import declares

__all__ = ["MOST_STATES", "obstacle_of", "queue_program", "sender_program"]

#: States that a law may have in the kernel (`PI2_SENDER_STATES` of native/laws/sender.h).
MOST_STATES: Final = 8


def sender_program(sender: Sender) -> _core.SenderLaw:
    """Return a sender as the compiled fluid runs it.

    Raises
    ------
    TraceError
        If it does what cannot be written down as operations on numbers.
    """
    if declares(sender, "kernel") is not None:
        law = _core.SenderLaw(str(sender.kernel), _floats(sender.fluid_parameters()))
        if law.comparisons == _compares(sender, "rate"):
            return law
    rate = tape_of(sender, "rate")
    tapes = {"rate": rate, "differences": _differences(rate)}
    tapes |= {name: tape_of(sender, name) for name in ("sending_rate", "leave_slow_start")}
    tapes |= _tape_if_any(sender, "acked")
    if sender.answers_at_once:
        tapes["sending_rate_under"] = tape_of(sender, "sending_rate_under")
    return _core.SenderLaw(
        _name(sender), _in_kernel(tapes), _numbers(sender, tapes), len(sender.states)
    )


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
    """
    aqm = aqm.pushed()
    flows = aqm.bands == 1 and (continuous or aqm.update_interval is None)
    moves = "flow and signals" if flows else "drift and signals"
    if declares(aqm, "kernel") is not None:
        law = _core.AqmLaw(str(aqm.kernel), _floats(aqm.fluid_parameters()))
        if law.comparisons == _compares(aqm, moves):
            return law
    moving = tape_of(aqm, moves)
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
    return _core.AqmLaw(_name(aqm), _in_kernel(tapes), _numbers(aqm, tapes), aqm.bands, flows)


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
    except ValueError as error:  # of the kernel, on how many numbers a function takes and gives
        return f"{name} ({str(error).rstrip('.')})"
    return ""


def _tape_if_any(law: Sender | Aqm, name: str) -> dict[str, Tape]:
    """Return the tape of a function that a law need not have, by its name."""
    try:
        return {name: tape_of(law, name)}
    except TraceError:
        raise
    except UnsupportedError:
        return {}


def _name(law: Sender | Aqm) -> str:
    return str(declares(law, "kernel") or type(law).__name__)


def _compares(law: Sender | Aqm, name: str) -> int:
    """Return how often a function compares: the kernel's own must hold the answers of all."""
    try:
        return tape_of(law, name).sides
    except UnsupportedError:
        return 0


@lru_cache(maxsize=1024)
def _differences(tape: Tape) -> Tape:
    return tape.differences()


@lru_cache(maxsize=4096)
def _tape(tape: Tape) -> _core.Tape:
    return _core.Tape(
        len(tape.inputs),
        len(tape.parameters),
        list(tape.constants),
        list(tape.rows),
        list(tape.outputs),
        tape.sides,
    )


def _in_kernel(tapes: dict[str, Tape]) -> dict[str, _core.Tape]:
    return {name: _tape(tape) for name, tape in tapes.items()}


def _numbers(law: Sender | Aqm, tapes: dict[str, Tape]) -> list[float]:
    """Return the parameters of those tapes that have any."""
    asking = next((tape for tape in tapes.values() if tape.parameters), None)
    return [] if asking is None else [float(value) for value in numbers_on_tape(law, asking)]


def _floats(numbers: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in numbers.items()}
