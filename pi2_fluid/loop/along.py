"""Margins along a schedule: at each instant those that the loop would have if nothing changed."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.errors import DomainError, quietly
from pi2_fluid.loop.transfer import Loop
from pi2_fluid.loop.updates import UPDATES
from pi2_fluid.network.network import refuse_several
from pi2_fluid.network.packets_only import refuse_detours, refuse_losses, refuse_rings
from pi2_fluid.network.scenario import require_scenario
from pi2_fluid.results.dataset import Column, make_dataset
from pi2_fluid.units import validate_choice, validate_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    import xarray

    from pi2_fluid.network.flows import Flows
    from pi2_fluid.network.scenario import Scenario
    from pi2_fluid.values import FloatArray

_WANTED: Final = ("gain_margin_db", "phase_margin_deg", "delay_margin")


class Stage(NamedTuple):
    """From when on (s) so much is served (bit/s), to how many flows of each class."""

    at: float
    capacity: float
    counts: tuple[float, ...]


def margins_along(
    scenario: Scenario, *, update: str = "sampled", clock: str = "rate", least_db: float = 3.0
) -> xarray.Dataset:
    """Return the margins of a scenario's loop over time, each as if nothing changed any more.

    Between two changes of the schedule (of the capacity, as by a `CapacityTrace`, or of the flows
    that are there) they are those of a `Loop` of that capacity and these flows. A loop that is slow
    beside the changes does not settle in between: margins say where it would go.

    Parameters
    ----------
    scenario : Scenario
        Of one link.
    update : {"sampled", "continuous", "delayed"}
        As of `Loop`.
    clock : {"rate", "acks"}
        As of `Loop`.
    least_db : float, default 3
        The gain margin (dB) below which time is counted.

    Returns
    -------
    xarray.Dataset
        With the dim ``time`` (s), at which each stretch begins: ``duration`` (s), ``capacity``
        (bit/s), ``gain_margin_db`` (dB), ``phase_margin_deg`` (degrees), ``delay_margin`` (s), and
        ``at_rest``, 1 where there is an operating point and so a loop. Elsewhere, in outages, where
        nobody sends, and where flows offer too much even at p = 1, margins are NaN. Of the whole
        run: ``part_below``, the part of the time at rest with a gain margin below `least_db`, and
        ``part_at_rest``, the part of the run that this is.

    Raises
    ------
    ScenarioError
        If it is no scenario.
    UnsupportedError
        If it has several links, or a law without a loop; or links lose packets, or paths change.
    QuantityError
        If an option is none of its words, or `least_db` no number.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> trace = pf.CapacityTrace([0.0, 30.0, 40.0], [10e6, 0.0, 50e6])
    >>> scenario = pf.Scenario(
    ...     "100s", pf.Link("10Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 5, "70ms"),
    ...     trace.changes("100s"))
    >>> along = pf.margins_along(scenario)
    >>> along.gain_margin_db.values.round(2).tolist()
    [4.69, nan, 2.76]
    >>> round(float(along.part_below), 3), round(float(along.part_at_rest), 3)
    (0.667, 0.9)
    """
    require_scenario(scenario)
    validate_choice(update, UPDATES, "update")
    least = validate_number(least_db, "number", "least_db", low=-np.inf)
    refuse_several(scenario.network, "margins along a schedule are of one", "give that one alone")
    refuse_losses(scenario.network, "loops do")
    refuse_rings(scenario.network, "loops do")
    refuse_detours(scenario, "loops do")
    stages = list(stages_of(scenario))
    found = np.full((len(stages), len(_WANTED)), np.nan)
    for counts in dict.fromkeys(stage.counts for stage in stages):
        flows = [
            dataclasses.replace(flow, count=count, start=0.0, stop=None, start_jitter=0.0)
            for flow, count in zip(scenario.flows, counts, strict=True)
            if count > 0.0
        ]
        mine = [i for i, stage in enumerate(stages) if stage.counts == counts and stage.capacity]
        if any(flow.sender.constant_rate is None for flow in flows):
            rates, place = np.unique([stages[i].capacity for i in mine], return_inverse=True)
            with quietly():
                found[mine] = _solve(scenario, flows, rates, update, clock)[place]
    at = np.array([stage.at for stage in stages])
    lasted = np.diff(np.append(at, float(scenario.duration)))
    rests = ~np.isnan(found[:, 0])
    resting = float(lasted[rests].sum())
    below = float(lasted[rests & (found[:, 0] < least)].sum())
    each = ("time",)
    return make_dataset(
        {
            "duration": Column(each, lasted, "s", "how long the stretch lasts"),
            "capacity": Column(
                each, np.array([stage.capacity for stage in stages]), "bit/s", "capacity"
            ),
            "gain_margin_db": Column(each, found[:, 0], "dB", "gain margin"),
            "phase_margin_deg": Column(each, found[:, 1], "degree", "phase margin"),
            "delay_margin": Column(each, found[:, 2], "s", "delay margin"),
            "at_rest": Column(each, rests.astype(int), "1", "1 if there is an operating point"),
            "part_below": Column(
                (),
                np.array(below / resting if resting else 0.0),
                "1",
                f"part of the time at rest with a gain margin below {least:g} dB",
            ),
            "part_at_rest": Column(
                (),
                np.array(resting / float(scenario.duration)),
                "1",
                "part of the time with an operating point",
            ),
        },
        {"time": Column(each, at, "s", "when the stretch begins")},
        {"update": update, "clock": clock, "least_db": least, "scenario": scenario.to_toml()},
    )


def stages_of(scenario: Scenario) -> Iterator[Stage]:
    """Return the stretches in which nothing changes, in order."""
    end = float(scenario.duration)
    names = scenario.class_names
    capacity, counts = float(scenario.link.capacity), [float(f.count) for f in scenario.flows]
    steps = {0.0, *(float(change.at) for change in scenario.changes)}
    for flow in scenario.flows:
        steps |= {float(flow.start)} | ({float(flow.stop)} if flow.stop is not None else set())
    changes = list(scenario.changes)
    for at in sorted(step for step in steps if step < end):
        while changes and changes[0].at <= at:
            change = changes.pop(0)
            capacity = capacity if change.capacity is None else float(change.capacity)
            new = change.counts or {}
            counts = [float(new.get(n, old)) for n, old in zip(names, counts, strict=True)]
        there = [
            count if flow.start <= at and (flow.stop is None or at < flow.stop) else 0.0
            for flow, count in zip(scenario.flows, counts, strict=True)
        ]
        yield Stage(at, capacity, tuple(there))


def _solve(
    scenario: Scenario, flows: list[Flows], rates: FloatArray, update: str, clock: str
) -> FloatArray:
    """Return margins at each of the rising rates, NaN where there is no operating point."""
    capacity: Any = rates if len(rates) > 1 else float(rates[0]) if len(rates) else None
    if capacity is None:
        return np.empty((0, len(_WANTED)))
    try:
        loop = Loop(
            flows,
            scenario.aqm,
            capacity=capacity,
            packet_size=scenario.packet_size,
            update=update,
            clock=clock,
        )
        margins = loop.margins()
    except DomainError:
        if len(rates) == 1:
            return np.full((1, len(_WANTED)), np.nan)
        half = len(rates) // 2
        parts = (
            _solve(scenario, flows, part, update, clock) for part in (rates[:half], rates[half:])
        )
        return np.concatenate(list(parts))
    columns = [np.asarray(getattr(margins, name), dtype=float) for name in _WANTED]
    return np.stack([np.broadcast_to(column, len(rates)) for column in columns], axis=-1)
