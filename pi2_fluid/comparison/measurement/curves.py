"""Curves of a measurement and of engines over the same stretches, and distributions of delays."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.comparison.measurement.observing import base_of_probe, observe_run, probes_in
from pi2_fluid.comparison.measurement.probes import waits_at
from pi2_fluid.measured.evenly import sent_by
from pi2_fluid.results.dataset import Column

if TYPE_CHECKING:
    from pi2_fluid.comparison.measurement.running import Beside
    from pi2_fluid.values import FloatArray, IntArray

_POINTS: Final = 150
_SHORTEST: Final = 0.2  # s, of a stretch that a mean is taken of
_LEVELS: Final = np.linspace(0.0, 1.0, 101)
_ENDS: Final = ("", "_low", "_high")


def curves_of(beside: Beside) -> tuple[dict[str, Column], dict[str, Column]]:
    """Return variables and coordinates: means over stretches, and quantiles of probes.

    ``curve_throughput`` (engine, when, flows), ``curve_delay`` (engine, when, probe) and
    ``quantile_delay`` (engine, level, probe), each with ``_low`` and ``_high``: medians over the
    seeds, and their range.
    """
    described = beside.described
    duration = float(described.scenario.duration)
    count = int(min(_POINTS, max(2.0, duration / _SHORTEST)))
    edges = np.linspace(0.0, duration, count + 1)
    labels = list(described.scenario.class_names)
    probes = probes_in(beside.data, -np.inf, np.inf)
    rates = [_measured_rates(beside, edges, labels)]
    delays = [_measured_delays(beside, edges, list(probes))]
    for run in beside.runs:
        which = np.searchsorted(edges, run.result["time"].to_numpy(), side="left") - 1
        sent = np.atleast_3d(run.result["throughput"].transpose(..., "flows", "time").to_numpy())
        sent = sent.reshape(-1, len(labels), run.result.sizes["time"])
        rates.append(_means(described.goodput * sent, which, count))
        time = run.result["time"].to_numpy()
        waits, _ = waits_at(run.result, described.scenario, time)
        bases = [base_of_probe(beside.data, described, probe) for probe in probes]
        each = np.array([[base + row for base in bases] for row in waits]).reshape(
            len(waits), len(bases), time.size
        )
        delays.append(_means(each, which, count))
    variables = _columns("curve_throughput", rates, "flows", "bit/s", "goodput of a flow", "when")
    coords = {
        "when": Column(("when",), 0.5 * (edges[1:] + edges[:-1]), "s", "middle of a stretch"),
        "flows": Column(("flows",), np.array(labels, dtype=object), "1", "flow"),
    }
    if probes:
        text = "round trip of a probe"
        variables |= _columns("curve_delay", delays, "probe", "s", text, "when")
        variables |= _columns(
            "quantile_delay", _quantiles(beside, list(probes)), "probe", "s", text, "level"
        )
        coords["probe"] = Column(("probe",), np.array(list(probes), dtype=object), "1", "probe")
        coords["level"] = Column(("level",), _LEVELS, "1", "part of the probes that is below")
    return variables, coords


def _columns(
    name: str, rows: list[FloatArray], dim: str, units: str, text: str, along: str
) -> dict[str, Column]:
    """Return medians over the seeds, and their range, of arrays (seeds, labels, points)."""
    found = {}
    taking: tuple[Callable[..., FloatArray], ...] = (np.nanmedian, np.nanmin, np.nanmax)
    for ending, of in zip(_ENDS, taking, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a stretch without a probe is NaN
            taken = np.array([of(row, axis=0).T for row in rows])
        what = {"": "median", "_low": "smallest", "_high": "largest"}[ending]
        found[f"{name}{ending}"] = Column(
            ("engine", along, dim), taken, units, f"{text}, {what} of the seeds"
        )
    return found


def _means(values: FloatArray, which: IntArray, count: int) -> FloatArray:
    """Return means over the stretches of arrays (seeds, labels, time)."""
    inside = (which >= 0) & (which < count)
    held = np.bincount(which[inside], minlength=count)
    found = np.full((*values.shape[:2], count), np.nan)
    for seed in range(values.shape[0]):
        for label in range(values.shape[1]):
            sums = np.bincount(which[inside], values[seed, label, inside], count)
            found[seed, label] = np.where(held > 0, sums / np.maximum(held, 1), np.nan)
    return found


def _measured_rates(beside: Beside, edges: FloatArray, labels: list[str]) -> FloatArray:
    zero = beside.described.zero
    return np.array([[sent_by(beside.data, label).rates(edges + zero) for label in labels]])


def _measured_delays(beside: Beside, edges: FloatArray, probes: list[str]) -> FloatArray:
    zero, count = beside.described.zero, edges.size - 1
    found = np.full((1, len(probes), count), np.nan)
    for place, (times, values) in enumerate(probes_in(beside.data, -np.inf, np.inf).values()):
        which = np.searchsorted(edges, times - zero, side="left") - 1
        found[0, place] = _means(values[None, None, :], which, count)[0, 0]
    return found


def _quantiles(beside: Beside, probes: list[str]) -> list[FloatArray]:
    """Return the quantiles of each probe in the stretch that numbers are of."""
    begin, end, described = beside.begin, beside.end, beside.described
    inside = probes_in(beside.data, begin + described.zero, end + described.zero)
    quantiles = [np.full((1, len(probes), _LEVELS.size), np.nan)]
    for place, probe in enumerate(probes):
        if probe in inside:
            quantiles[0][0, place] = np.quantile(inside[probe][1], _LEVELS)
    for run in beside.runs:
        seen = observe_run(run.result, beside.data, described, begin, end).probes
        seeds = int(run.result.sizes.get("seed", 1))
        mine = np.full((seeds, len(probes), _LEVELS.size), np.nan)
        for place, probe in enumerate(probes):
            if probe in seen:
                mine[:, place] = np.quantile(seen[probe], _LEVELS, axis=1).T
        quantiles.append(mine)
    return quantiles
