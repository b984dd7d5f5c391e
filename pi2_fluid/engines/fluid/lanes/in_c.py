"""The compiled engine of a batch: a timetable as rows of numbers for the kernel."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid import _core
from pi2_fluid.engines.fluid.lanes.motion import motion_of
from pi2_fluid.engines.fluid.lanes.timetable import Timetable
from pi2_fluid.laws.aqms.pie import STEP, TABLES, just_below
from pi2_fluid.laws.programs import plain_window
from pi2_fluid.laws.tape import Tape, make_tape
from pi2_fluid.laws.tapes import numbers_on_tape, tape_of
from pi2_fluid.laws.trace import TraceError
from pi2_fluid.records.record import declares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.laws.sender import Sender
    from pi2_fluid.values import FloatArray

# The encoders that have code of their own there; all others are tapes.
_ENCODERS: Final = ("linear", "square", "coupled")
_MOST_CLASSES: Final = 32
_MOST_STATES: Final = 4
_MOST_REGISTERS: Final = 512
_TAPES: Final = {"rate": "rate", "leave": "leave_slow_start"}


def obstacle(table: Timetable) -> str:
    """Return what of the runs the compiled engine does not know, "" if it knows everything."""
    if table.aqm.bands > 1:
        return type(table.aqm).__name__
    if not _has_own_queue(table.aqm) and (reason := _untaped_queue(table)):
        return reason
    for sender in table.senders:
        if sender.signal is None and sender.constant_rate is None:
            return f"{type(sender).__name__}, a window without signals,"
        if _own_code(sender)[0] == "tape" and (reason := _untaped(sender)):
            return reason
    if len(table.senders) > _MOST_CLASSES:
        return f"a scenario of more than {_MOST_CLASSES} classes"
    return ""


def _has_own_queue(aqm: Aqm) -> bool:
    """Whether a queue has code of its own there; a subclass is another law."""
    return (
        declares(aqm, "encoder") in _ENCODERS
        and getattr(aqm, "burst", None) is None
        and not aqm.signal_spacing
    )


def _queue_tapes(table: Timetable) -> dict[str, Tape | None]:
    """Return the tapes of a queue, None for what it does not do."""
    aqm, motion = table.aqm, motion_of(table.aqm, continuous=table.continuous)
    thins = table.aqm.thins and any(sender.thinned for sender in table.senders)
    return {
        "update": tape_of(aqm, "update and saturate") if motion.ticks else None,
        "flow": tape_of(aqm, "flow") if motion.flows else None,
        "drift": tape_of(aqm, "drift") if motion.drifts else None,
        "saturate": tape_of(aqm, "saturate") if motion.flows else None,
        "controller": tape_of(aqm, "controller"),
        "signals": tape_of(aqm, "signals"),
        "thin": tape_of(aqm, "encode").only([0]) if thins else None,
    }


def _untaped_queue(table: Timetable) -> str:
    """Return why a queue cannot run as tapes, "" if it can."""
    name = type(table.aqm).__name__
    if len(table.aqm.initial()) > _MOST_STATES:
        return f"{name} with more than {_MOST_STATES} states"
    try:
        tapes = _queue_tapes(table)
    except TraceError as error:
        return str(error).rstrip(".")
    return _too_long(name, *tapes.values())


def _too_long(name: str, *tapes: Tape | None) -> str:
    if any(tape and tape.first + len(tape.rows) > _MOST_REGISTERS for tape in tapes):
        return f"{name}, a law of more than {_MOST_REGISTERS} numbers and operations,"
    return ""


def _own_code(sender: Sender) -> tuple[str, Any]:
    """Return the code that a sender has there, and the number that it takes; "tape": none."""
    if sender.constant_rate is not None:
        return "cbr", sender.sending_rate(1.0, 1.0)
    plain = plain_window(sender)
    if not plain:
        return "tape", 0.0
    return ("reno", plain["decrease"]) if "decrease" in plain else ("scalable", plain["per_mark"])


def _untaped(sender: Sender) -> str:
    """Return why a sender cannot run as a tape, "" if it can."""
    name = type(sender).__name__
    if len(sender.states) > _MOST_STATES:
        return f"{name} with more than {_MOST_STATES} states"
    try:
        sent = tape_of(sender, "sending_rate_under")
        tapes = [tape_of(sender, function) for function in _TAPES.values()]
    except TraceError as error:
        return str(error).rstrip(".")
    # The kernel takes it that all send their window in a round-trip time.
    rtt = sent.inputs.index("rtt")
    usual = make_tape(lambda window, *rest: window / rest[rtt - 1], sent.inputs, sent.parameters)
    if sent.digest != usual.digest:
        return f"{name}, which sends something else than window / rtt,"
    return _too_long(name, *tapes)


def run_compiled(table: Timetable, depth: int, simd: str | None = None) -> dict[str, FloatArray]:
    """Run all of a table's runs; see `run_lanes` for what is returned.

    Parameters
    ----------
    table : Timetable
        The runs; `obstacle` must be "".
    depth : int
        Nodes of the past to keep, a power of two.
    simd : str, optional
        An element of `_core.simd_levels()`; None takes the first. The results are the same.
    """
    n, m, samples = table.h.size, len(table.senders), len(table.sample)
    names = _core.fluid_lanes_rows()
    of_all_classes, of_class, traced = (names[what] for what in ("statistics", "classes", "traces"))
    statistics = np.empty((len(of_all_classes) + m * len(of_class), n))
    rows = len(traced) + 2 * m
    traces = np.empty((samples * rows, n))
    classes = [
        {
            "law": _own_code(sender)[0],
            "group": group,
            "signal": sender.signal,
            "slow_start": bool(slow),
            "thinned": bool(sender.thinned and table.aqm.thins),
            **_tapes(sender, n),
        }
        for sender, group, slow in zip(table.senders, table.group, table.slow_start, strict=True)
    ]
    own_queue = _has_own_queue(table.aqm)
    tuning, edges = _tuning(table.aqm) if own_queue else ("plain", [])
    _core.fluid_lanes(
        classes,
        len(table.base_rtt),
        len(table.event),
        samples,
        not motion_of(table.aqm, continuous=table.continuous).ticks,
        str(table.aqm.encoder) if own_queue else "tape",
        tuning,
        edges,
        _heuristics(table.aqm),
        None if own_queue else _queue(table),
        _numbers(table),
        _nodes(table),
        depth,
        statistics,
        traces,
        simd,
    )
    answers = dict(zip(of_all_classes, statistics, strict=False))
    by_class = statistics[len(of_all_classes) :].reshape(m, len(of_class), n)
    answers |= {name: by_class[:, j] for j, name in enumerate(of_class)}
    if samples:
        shaped = traces.reshape(samples, rows, n)
        answers |= {f"sample_{name}": shaped[:, j] for j, name in enumerate(traced)}
        first = len(traced)
        answers["sample_window"] = shaped[:, first : first + m]
        answers["sample_p"] = shaped[:, first + m :]
    return answers


def _tapes(sender: Sender, runs: int) -> dict[str, Any]:
    """Return how many states a sender has, and its tapes where it is run by them."""
    if _own_code(sender)[0] != "tape":
        return {"states": 1, "rate": None, "leave": None}
    return {"states": len(sender.states)} | {
        name: _packed(sender, tape_of(sender, function), runs) for name, function in _TAPES.items()
    }


def _queue(table: Timetable) -> dict[str, Any]:
    """Return what describes a queue that is run by its tapes."""
    aqm, runs = table.aqm, table.h.size
    return {
        "states": len(aqm.initial()),
        "follows": motion_of(aqm, continuous=table.continuous).follows,
    } | {name: tape and _packed(aqm, tape, runs) for name, tape in _queue_tapes(table).items()}


def _packed(law: Aqm | Sender, tape: Tape, runs: int) -> dict[str, Any]:
    return {
        "parameters": _rows(runs, numbers_on_tape(law, tape)),
        "constants": list(tape.constants),
        "rows": [list(row) for row in tape.rows],
        "outputs": list(tape.outputs),
    }


def _rows(runs: int, values: Iterable[Any]) -> FloatArray:
    """Return numbers, of all runs or of each, as contiguous rows."""
    rows = [np.broadcast_to(np.asarray(value, float), (runs,)) for value in values]
    return np.array(rows).reshape(-1, runs)


def _other_states(table: Timetable) -> list[Any]:
    """Return the states besides windows with which the classes begin."""
    states: list[Any] = []
    for sender, window in zip(table.senders, table.window, strict=True):
        if len(sender.states) > 1:
            states += sender.initial(window)[1:]
    return states


def _tuning(aqm: Aqm) -> tuple[str, list[tuple[float, float]]]:
    """Return the kind of factor on the gains, and its table: (edge, factor below), falling."""
    name = getattr(aqm, "gain_table", None)
    if name is None:
        return "plain", []
    if name == "sqrt2p":
        return "root", []
    return "table", [(just_below(edge), factor) for edge, factor in reversed(TABLES[name])]


def _heuristics(aqm: Aqm) -> dict[str, float]:
    """Return PIE's cap on what an update adds, its boost at long delays, and its idle decay."""
    cap, boost = (STEP if getattr(aqm, name, False) else 0.0 for name in ("caps", "boosts"))
    return {"cap": cap or math.inf, "boost": boost, "decay": getattr(aqm, "idle_decay", 1.0)}


def _numbers(table: Timetable) -> dict[str, FloatArray]:
    """Return the rows of numbers; those of a queue that is run by its tapes are theirs."""
    own_queue = _has_own_queue(table.aqm)
    n = table.h.size
    names = ("alpha", "beta", "target", "limit", "k")
    interval = table.aqm.update_interval
    whole = {"window": table.window, "ramp": table.ramp, "capacity": table.capacity}
    arrays: dict[str, Iterable[Any]] = {
        "h": [table.h],
        **{name: [getattr(table.aqm, name, 1.0) if own_queue else 1.0] for name in names},
        "update_interval": [math.inf if interval is None else interval],
        "buffer": [table.buffer],
        "base_rtt": table.base_rtt,
        "gain": [_own_code(sender)[1] for sender in table.senders],
        "state": _other_states(table),
        "law": [] if own_queue else table.aqm.initial(),
    }
    return {
        **{name: _rows(n, values) for name, values in arrays.items()},
        **{name: np.ascontiguousarray(value, float) for name, value in whole.items()},
        "count": np.ascontiguousarray(table.count.reshape(-1, n), float),
    }


def _nodes(table: Timetable) -> dict[str, NDArray[np.int32]]:
    names = ("ticks", "first", "last", "start", "stop", "event", "sample")
    return {
        name: np.ascontiguousarray(getattr(table, name), np.int32).reshape(-1, table.h.size)
        for name in names
    }
