"""The compiled engine of a batch: a timetable as rows of numbers for the kernel."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid import _core
from pi2_fluid.engines.fluid.lanes.timetable import Timetable
from pi2_fluid.laws.aqms.pie import STEP, TABLES, just_below
from pi2_fluid.records.record import declares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.values import FloatArray

__all__ = ["obstacle", "run_compiled"]

# What it knows of senders by their names in the compiled fluid, with the one number that it takes
# of each, and of encoders.
_GAINS: Final = {"reno": "decrease", "scalable": "per_mark", "cbr": "rate"}
_ENCODERS: Final = ("linear", "square", "coupled")
_MOST_CLASSES: Final = 32


def obstacle(table: Timetable) -> str:
    """Return what of the runs the compiled engine does not know, "" if it knows everything.

    A subclass is another law, even where it only has another name.
    """
    if declares(table.aqm, "encoder") not in _ENCODERS or table.aqm.bands > 1:
        return type(table.aqm).__name__
    for sender in table.senders:
        if declares(sender, "kernel") not in _GAINS:
            return type(sender).__name__
        if sender.signal is None and sender.constant_rate is None:
            return f"{type(sender).__name__}, a window without signals,"
        if getattr(sender, "increase", 1.0) != 1.0:
            return f"{type(sender).__name__} with growth per acknowledgement"
    if getattr(table.aqm, "burst", None) is not None:
        return f"{type(table.aqm).__name__} with a burst allowance"
    if len(table.senders) > _MOST_CLASSES:
        return f"a scenario of more than {_MOST_CLASSES} classes"
    return ""


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
    own, of_class, traced = (names[what] for what in ("statistics", "classes", "traces"))
    statistics = np.empty((len(own) + m * len(of_class), n))
    rows = len(traced) + 2 * m
    traces = np.empty((samples * rows, n))
    classes = [
        {
            "law": str(sender.kernel),
            "group": group,
            "signal": sender.signal,
            "slow_start": bool(slow),
            "thinned": bool(sender.thinned),
        }
        for sender, group, slow in zip(table.senders, table.group, table.slow_start, strict=True)
    ]
    tuning, edges = _tuning(table.aqm)
    _core.fluid_lanes(
        classes,
        len(table.base_rtt),
        len(table.event),
        samples,
        table.continuous,
        str(table.aqm.encoder),
        tuning,
        edges,
        _heuristics(table.aqm.fluid_parameters()),
        _numbers(table),
        _nodes(table),
        depth,
        statistics,
        traces,
        simd,
    )
    found = dict(zip(own, statistics, strict=False))
    each = statistics[len(own) :].reshape(m, len(of_class), n)
    found |= {name: each[:, j] for j, name in enumerate(of_class)}
    if samples:
        shaped = traces.reshape(samples, rows, n)
        found |= {f"sample_{name}": shaped[:, j] for j, name in enumerate(traced)}
        first = len(traced)
        found["sample_window"] = shaped[:, first : first + m]
        found["sample_p"] = shaped[:, first + m :]
    return found


def _tuning(aqm: Aqm) -> tuple[str, list[tuple[float, float]]]:
    """Return the kind of factor on the gains, and its table: (edge, factor below), falling."""
    name = getattr(aqm, "gain_table", None)
    if name is None:
        return "plain", []
    if name == "sqrt2p":
        return "root", []
    return "table", [(just_below(edge), factor) for edge, factor in reversed(TABLES[name])]


def _heuristics(numbers: dict[str, Any]) -> dict[str, float]:
    """Return PIE's cap on what an update adds, its boost at long delays, and its idle decay."""
    cap, boost = (STEP if numbers.get(name) else 0.0 for name in ("cap", "boost"))
    return {"cap": cap or math.inf, "boost": boost, "decay": numbers.get("decay", 1.0)}


def _numbers(table: Timetable) -> dict[str, FloatArray]:
    n, aqm = table.h.size, table.aqm.fluid_parameters()

    def rows(*values: Any) -> FloatArray:
        return np.array([np.broadcast_to(np.asarray(value, float), (n,)) for value in values])

    names = ("alpha", "beta", "target", "update_interval", "limit")
    gains = [sender.fluid_parameters()[_GAINS[str(sender.kernel)]] for sender in table.senders]
    whole = {"window": table.window, "ramp": table.ramp, "capacity": table.capacity}
    return {
        "h": rows(table.h),
        **{name: rows(aqm[name]) for name in names},
        "k": rows(aqm.get("k", 1.0)),
        "buffer": rows(table.buffer),
        "base_rtt": rows(*table.base_rtt),
        "gain": rows(*gains),
        **{name: np.ascontiguousarray(value, float) for name, value in whole.items()},
        "count": np.ascontiguousarray(table.count.reshape(-1, n), float),
    }


def _nodes(table: Timetable) -> dict[str, NDArray[np.int32]]:
    names = ("ticks", "first", "last", "start", "stop", "event", "sample")
    return {
        name: np.ascontiguousarray(getattr(table, name), np.int32).reshape(-1, table.h.size)
        for name in names
    }
