"""The compiled engine of a batch: a timetable as rows of numbers for the kernel."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from pi2_fluid import _core
from pi2_fluid.fluid.lanes.timetable import Timetable
from pi2_fluid.model.aqms.coupled import CoupledPi2
from pi2_fluid.model.aqms.pi import Pi
from pi2_fluid.model.aqms.pi2 import Pi2
from pi2_fluid.model.aqms.pie import STEP, TABLES, Pie, just_below
from pi2_fluid.model.senders.cbr import Cbr
from pi2_fluid.model.senders.creno import CReno
from pi2_fluid.model.senders.reno import Reno
from pi2_fluid.model.senders.scalable import Scalable

__all__ = ["obstacle", "run_compiled"]

# The numbers of fluid_lanes.h.
_LAWS: Final[dict[type, int]] = {Reno: 0, CReno: 0, Scalable: 1, Cbr: 2}
_ENCODERS: Final[dict[type, int]] = {Pi: 0, Pie: 0, Pi2: 1, CoupledPi2: 2}
_PLAIN, _TABLE, _ROOT = 0, 1, 2
_MOST_CLASSES: Final = 32
_STATISTICS: Final = (
    "delay",
    "delay_square",
    "delay_min",
    "delay_max",
    "controller",
    "controller_square",
    "controller_min",
    "controller_max",
    "served",
    "lost",
    "deepest",
)
_CLASS_STATISTICS: Final = ("sent", "window", "signal", "window_min")
_TRACES: Final = ("sample_queue", "sample_delay", "sample_controller")


def obstacle(table: Timetable) -> str:
    """Return what of the runs the compiled engine does not know, "" if it knows everything.

    A subclass is another law, even where it only has another name.
    """
    for law, known in ((table.aqm, _ENCODERS), *((sender, _LAWS) for sender in table.senders)):
        if type(law) not in known:
            return type(law).__name__
    if getattr(table.aqm, "burst", None) is not None:
        return f"{type(table.aqm).__name__} with a burst allowance"
    if len(table.senders) > _MOST_CLASSES:
        return f"a scenario of more than {_MOST_CLASSES} classes"
    return ""


def run_compiled(table: Timetable, depth: int, simd: str | None = None) -> dict[str, Any]:
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
    statistics = np.empty((len(_STATISTICS) + m * len(_CLASS_STATISTICS), n))
    rows = len(_TRACES) + 2 * m
    traces = np.empty((samples * rows, n))
    classes = [
        (
            _LAWS[type(sender)],
            group,
            int(sender.signal == "scalable"),
            int(slow),
            int(sender.thinned),
        )
        for sender, group, slow in zip(table.senders, table.group, table.slow_start, strict=True)
    ]
    tuning, edges = _tuning(table.aqm)
    _core.fluid_lanes(
        classes,
        len(table.base_rtt),
        len(table.event),
        samples,
        table.continuous,
        _ENCODERS[type(table.aqm)],
        tuning,
        edges,
        _heuristics(table.aqm),
        _numbers(table),
        _nodes(table),
        depth,
        statistics,
        traces,
        simd,
    )
    found = dict(zip(_STATISTICS, statistics, strict=False))
    each = statistics[len(_STATISTICS) :].reshape(m, len(_CLASS_STATISTICS), n)
    found |= {name: each[:, j] for j, name in enumerate(_CLASS_STATISTICS)}
    if samples:
        traced = traces.reshape(samples, rows, n)
        found |= {name: traced[:, j] for j, name in enumerate(_TRACES)}
        first = len(_TRACES)
        found["sample_window"] = traced[:, first : first + m]
        found["sample_p"] = traced[:, first + m :]
    return found


def _tuning(aqm: Any) -> tuple[int, list[tuple[float, float]]]:
    """Return the kind of factor on the gains, and its table: (edge, factor below), falling."""
    if not isinstance(aqm, Pie):
        return _PLAIN, []
    if aqm.gain_table == "sqrt2p":
        return _ROOT, []
    table = reversed(TABLES[aqm.gain_table])
    return _TABLE, [(just_below(edge), factor) for edge, factor in table]


def _heuristics(aqm: Any) -> tuple[float, float, float]:
    """Return PIE's cap on what an update adds, its boost at long delays, and its idle decay."""
    if not isinstance(aqm, Pie):
        return math.inf, 0.0, 1.0
    return (STEP if aqm.caps else math.inf, STEP if aqm.boosts else 0.0, aqm.idle_decay)


def _gain(sender: Any) -> Any:
    if isinstance(sender, Reno):
        return sender.decrease
    if isinstance(sender, Scalable):
        return sender.per_mark
    return sender.sending_rate(0.0, 0.0)


def _numbers(table: Timetable) -> Any:
    aqm: Any = table.aqm
    n = table.h.size
    head = [table.h, aqm.alpha, aqm.beta, aqm.target, aqm.update_interval, aqm.limit]
    head += [getattr(aqm, "k", 1.0), table.buffer]
    gains = [_gain(sender) for sender in table.senders]
    rows = [
        np.broadcast_to(np.asarray(row, float), (n,)) for row in [*head, *table.base_rtt, *gains]
    ]
    tables = [table.window, table.ramp, table.capacity, table.count.reshape(-1, n)]
    return np.ascontiguousarray(np.concatenate([np.array(rows), *tables]))


def _nodes(table: Timetable) -> Any:
    parts = [
        [table.ticks],
        [table.first],
        [table.last],
        table.start,
        table.stop,
        table.event,
        table.sample,
    ]
    return np.ascontiguousarray(np.concatenate([np.asarray(part, np.int32) for part in parts]))
