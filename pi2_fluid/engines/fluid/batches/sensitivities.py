"""`sensitivities`: how a whole trajectory moves with the numbers of its scenario.

All of them at once, forwards: the lanes of a batch, all of one scenario, each with the derivative
over another number beside its state. Nothing is nudged. What jumps within a step does so at an
instant that moves with the numbers, and lanes cut their steps there, so that this is followed, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.engines.fluid.batches.batching import beyond_lanes, check_varied, depth_for
from pi2_fluid.engines.fluid.lanes.timetable import Timetable, tabulate
from pi2_fluid.engines.fluid.lanes.variation import Variation, vary
from pi2_fluid.engines.fluid.refusals import UPDATES, not_modelled
from pi2_fluid.errors import DomainError, QuantityError, ScenarioError, UnsupportedError
from pi2_fluid.network.scenario import Scenario, require_scenario
from pi2_fluid.records.paths import read_path
from pi2_fluid.results import Column, make_dataset
from pi2_fluid.results.schema import scenario_text
from pi2_fluid.units import validate_choice, validate_quantity

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.values import FloatArray, Quantity

#: What decides when something happens: lanes put it on the end of a step, which no number moves.
_INSTANTS: Final = frozenset({"duration", "start", "stop", "start_jitter", "at", "update_interval"})
_VARIABLES: Final = {
    "queue_delay": ("sample_delay", "s", "queueing delay"),
    "queue": ("sample_queue", "packets", "backlog"),
    "controller": ("sample_controller", "1", "the controller's own variable"),
    "window": ("sample_window", "segments", "window of one flow"),
    "p": ("sample_p", "1", "probability that a packet is signalled"),
}


def sensitivities(
    scenario: Scenario,
    of: str | Iterable[str],
    *,
    update: str = "sampled",
    step: Quantity = "2ms",
    sample: Quantity | None = None,
) -> xarray.Dataset:
    """Return the derivatives of a trajectory over numbers of its scenario, at each time.

    Parameters
    ----------
    scenario : Scenario
        Of one link with one queue, of any laws, your own included.
    of : str or iterable of str
        Paths of the numbers, as `sweep` and `batch` name them: ``"aqm.alpha"``,
        ``"link.capacity"``, ``"flows.0.count"``, ``"flows.reno.base_rtt"``,
        ``"flows.0.sender.decrease"``, ``"changes.0.capacity"``.
    update : {"sampled", "continuous"}
        As in `Fluid`.
    step : float or str, default "2ms"
        Longest step (s), as in `batch`.
    sample : float or str, optional
        Time between two rows (s); by default the update interval, or 10 ms without one.

    Returns
    -------
    xarray.Dataset
        Dims ``parameter`` and ``time``; of each class ``flows``. ``queue_delay``, ``queue``,
        ``controller``, ``window`` and ``p`` are derivatives, per SI unit of the number at the path;
        the coordinate ``per`` has that unit, ``value`` the number. With ``trajectory_`` before the
        name, over ``time``, the trajectory itself. ``time`` is where rows are: at ends of steps.

    Raises
    ------
    ScenarioError
        If a path leads to no number, or is given twice.
    QuantityError, DomainError
        If step or sample is no time, or longer than the run; if the derivatives leave the range of
        floats.
    UnsupportedError
        If a number says when something happens, or batches do not run the scenario; without JAX.

    Notes
    -----
    Forward mode of automatic differentiation through the steps of `batch`: laws by the slopes of
    their own operations, at any number of parameters for the cost of one batch with a run for each.
    It is exact for these steps, to rounding, and the steps are of order 2: what is returned tends
    to the derivative of the exact trajectory as that itself does.

    **Events.** A tick is at an end of a step, and a change, a start or a stop at the nearest one,
    whatever the numbers: take a step of which their times are multiples.
    What jumps at a tick is heard a round trip later, at an instant that moves with the queue delay:
    steps are cut there, and the derivative has that move in it. So it has that of a queue that runs
    empty or full, and of a clip of the controller, where it converges less regularly: within 1 % of
    the largest at 8 ms, 0.2 % at 1 ms. The move of a change of capacity is lost where it is heard
    in one step with another end of a step: derivatives are then off by up to 1 % of the largest.
    Where a full buffer's signals set in between ends of steps, or a window law branches, order is
    1. At the instant of a jump itself there is no derivative of what jumps: the controller and p
    have one on either side.

    A buffer that is not given is a whole number of packets, and does not move with the capacity.

    See `gradient` for one number of the trajectory, by differences of exact ones.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> scenario = pf.Scenario(
    ...     "20s", pf.Link("10Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 10, "50ms"))
    >>> slopes = pf.fluid.sensitivities(scenario, ["aqm.target", "link.capacity"], step="16ms")
    >>> last = slopes.queue_delay.isel(time=-1)
    >>> print(f"{float(last.sel(parameter='aqm.target')):.2f} s/{last.per.values[0]}")
    1.00 s/s
    """
    require_scenario(scenario)
    validate_choice(update, UPDATES, "update")
    beyond = beyond_lanes(scenario, "rate")
    if beyond:
        raise UnsupportedError(
            f"{beyond} is not in the lanes that carry derivatives: use pf.fluid.gradient, by"
            " differences."
        )
    paths = _paths(scenario, of)
    longest = float(validate_quantity(step, "time", "step"))
    varied = vary(
        scenario, {path: np.full(len(paths), read_path(scenario, path)) for path in paths}
    )
    check_varied(varied, 0.0)
    times = _times(scenario, sample)
    table = tabulate(
        varied, continuous=update == "continuous", step=longest, after=0.0, sample=times
    )
    table = _apart(table, varied)
    try:
        from pi2_fluid.engines.fluid.lanes.tangents import push_lanes
    except ModuleNotFoundError as error:
        if error.name != "jax":
            raise
        raise UnsupportedError(
            "sensitivities needs JAX, which is not installed: pip install jax, or take differences"
            " by pf.fluid.gradient."
        ) from error
    depth, needed = 0, depth_for(table)
    while needed > depth:  # until the past that is kept is as long as the longest wait
        depth = needed
        values, slopes = push_lanes(scenario, table, paths, depth)
        needed = depth_for(table, np.max(values["deepest"]))
    _require_finite(slopes, paths)
    attrs: dict[str, str | float] = {
        "engine": "fluid.sensitivities",
        "update": update,
        "longest_step": longest,
    }
    return _dataset(scenario, varied, table, values, slopes, attrs)


def _paths(scenario: Scenario, of: str | Iterable[str]) -> list[str]:
    paths = [of] if isinstance(of, str) else list(of)
    if not paths:
        raise ScenarioError('of = [] names no number: give e.g. ["aqm.alpha", "link.capacity"].')
    for path in paths:
        read_path(scenario, path)
        last = path.split(".")[-1]
        if last in _INSTANTS:
            raise UnsupportedError(
                f"{path} says when something happens, which here is at the end of a step, wherever"
                " that lies: use pf.fluid.gradient, which moves the instants themselves."
            )
    return paths


def _times(scenario: Scenario, sample: Quantity | None) -> FloatArray:
    duration, interval = float(scenario.duration), scenario.aqm.update_interval
    if sample is None:
        every = min(0.01 if interval is None else float(interval), duration)
    else:
        every = float(validate_quantity(sample, "time", "sample"))
    if every > duration:
        raise QuantityError(
            f"sample = {every:g} s is longer than duration = {duration:g} s: give less."
        )
    return np.arange(int(duration / every * (1.0 + 1e-12)) + 1, dtype=float) * every


def _apart(table: Timetable, varied: Variation) -> Timetable:
    """Return a table in which each class has a round-trip time of its own, which alone may move."""
    rows = [np.broadcast_to(flow.base_rtt, table.h.shape) for flow in varied.scenario.flows]
    return table._replace(base_rtt=np.array(rows, float), group=tuple(range(len(rows))))


def _require_finite(slopes: Mapping[str, FloatArray], paths: list[str]) -> None:
    for place, path in enumerate(paths):
        if not all(np.isfinite(value[..., place]).all() for value in slopes.values()):
            raise DomainError(
                f"the derivatives over {path} leave the range of floats: where a law has no slope,"
                " as a square root at 0, or where the trajectory diverges. Give another number, or"
                " a shorter step."
            )


def _dataset(
    scenario: Scenario,
    varied: Variation,
    table: Timetable,
    values: Mapping[str, FloatArray],
    slopes: Mapping[str, FloatArray],
    attrs: Mapping[str, str | float],
) -> xarray.Dataset:
    """Return both as a Dataset; engines' arrays are over time, of classes the class, and lanes."""
    paths = list(varied.axes)
    columns = {}
    for name, (key, units, text) in _VARIABLES.items():
        each = ("flows",) if slopes[key].ndim == 3 else ()
        lanes_first = np.moveaxis(slopes[key], -1, 0)
        columns[name] = Column(
            ("parameter", "time", *each),
            lanes_first,
            f"{units} per unit of the parameter",
            f"derivative of the {text}",
        )
        columns[f"trajectory_{name}"] = Column(("time", *each), values[key][..., 0], units, text)
    at = np.array([float(read_path(scenario, path)) for path in paths])
    per = np.array([varied.axes[path].units for path in paths])
    coords = {
        "parameter": Column(("parameter",), np.array(paths), "1", "path of the number"),
        "value": Column(("parameter",), at, "SI", "the number at the path"),
        "per": Column(("parameter",), per, "1", "unit of the number at the path"),
        "time": Column(("time",), table.sample[:, 0] * table.h[0], "s", "time"),
        "flows": Column(("flows",), np.array(scenario.class_names), "1", "class of flows"),
    }
    known: dict[str, str | float] = {
        "not_modelled": ", ".join(not_modelled(scenario)),
        "scenario": scenario_text(scenario),
        "step": float(table.h[0]),
    }
    return make_dataset(columns, coords, {**attrs, **known})
