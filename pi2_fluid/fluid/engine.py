"""`simulate`: from a scenario to its trajectory, as a Dataset."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.errors import QuantityError, UnsupportedError, show_value
from pi2_fluid.fluid import native
from pi2_fluid.fluid.beginning import begin
from pi2_fluid.fluid.cohorts import Cohorts, split_starts
from pi2_fluid.fluid.integration import Accuracy, integrate
from pi2_fluid.fluid.linear import LinearPlant
from pi2_fluid.fluid.plant import Plant
from pi2_fluid.fluid.request import CONTROLLERS, describe, require_round_trips
from pi2_fluid.fluid.schedule import Schedule
from pi2_fluid.fluid.trace import Trace, trace_rows
from pi2_fluid.fluid.validity import check_trajectory
from pi2_fluid.model.operating_point import OperatingPoint
from pi2_fluid.model.record import require_untraced
from pi2_fluid.model.scenario import Scenario, require_scenario
from pi2_fluid.result import trajectory_dataset
from pi2_fluid.units import validate_choice, validate_quantity

if TYPE_CHECKING:
    import xarray

__all__ = ["ENGINES", "simulate"]

ENGINES: Final = ("auto", "c", "python")
_TOLERANCE: Final = 1e-10
_SAMPLE: Final = 0.01  # s, of a queue that never ticks
_MOST_SAMPLES: Final = 10_000_000


def simulate(
    scenario: Scenario,
    *,
    controller: str = "sampled",
    linear: bool = False,
    sample: float | str | None = None,
    engine: str = "auto",
    initial: OperatingPoint | Mapping[str, Any] | None = None,
    step: float | str | None = None,
    tolerance: float | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> xarray.Dataset:
    """Return the trajectory of a scenario: windows, queue, probability and throughput over time.

    Parameters
    ----------
    scenario : Scenario
        Link, queue, flows and schedule, all of them numbers (for arrays there is `batch`).
    controller : {"sampled", "continuous"}
        Whether the queue updates every `update_interval` and holds its signal in between, as
        kernels do, or moves by its continuous image, equation (29) of the PI2 paper.
    linear : bool
        Simulate the laws linearised around the operating point of each stage of the schedule,
        without bounds: what the loop's margins speak of.
    sample : float or str, optional
        Time between two rows (s). Default: the update interval, or 10 ms if there is none.
    engine : {"auto", "c", "python"}
        "c" for the laws of this package, "python" for any law; "auto" takes the faster.
    initial : OperatingPoint or mapping, optional
        State before time 0, which is otherwise an empty queue, windows of `initial_window`, and
        no signals: where `equilibrium` says the scenario rests, or any of ``window`` (one number
        for each class), ``queue`` (packets) and ``controller``, with signals as they follow from
        these. Slow start is over then.
    step : float or str, optional
        Fixed longest step (s), instead of steps that adapt to a tolerance. Order 4.
    tolerance : float, optional
        Relative error allowed in each step, default 1e-10.
    progress : callable, optional
        Called as ``progress(done, duration)``, in seconds of the trajectory.

    Returns
    -------
    xarray.Dataset
        Dims ``time``, ``flows`` and, for a dual queue, ``band``: ``queue_delay`` (s), ``queue``
        (packets), ``controller``, ``p``, ``p_prime``, ``window`` (segments), ``throughput`` and
        ``capacity`` (bit/s). Rows hold what is true just after all that happens at their time.
        ``attrs["not_modelled"]`` lists what of the scenario has no meaning in a fluid,
        ``attrs["beyond_the_laws"]`` which windows fell below what their law describes (2 segments),
        or whom p = 1 could not slow down, from when on and for how long.

    Warns
    -----
    AssumptionWarning
        If either of these makes up more than a second, and half of the time in which the class
        sends or its end.

    Raises
    ------
    ScenarioError, QuantityError, DomainError
        If the scenario or an argument is not as it should be.
    UnsupportedError
        If a law has no fluid form, or none in the engine asked for.
    SolverError
        If the trajectory needs too many steps.

    Notes
    -----
    Delay-differential equations with a state-dependent delay R(t) = base_rtt + q/C, solved by an
    event-aligned Runge-Kutta method of order 4: ticks, jumps of load and capacity, clips, and the
    delayed images of all of these are step boundaries.

    Source: PI2 paper (CoNEXT'16), equations (15) to (22) with their delays kept; Misra, Gong,
    Towsley (SIGCOMM 2000).

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> scenario = pf.Scenario(
    ...     duration="20s", link=pf.Link("10Mbit/s"), aqm=pf.Pi2(),
    ...     flows=[pf.Flows(pf.Reno(), 10, "100ms")],
    ... )
    >>> result = pf.fluid.simulate(scenario)
    >>> print(f"{float(result.queue_delay[-1]):.4f} s")
    0.0200 s
    """
    require_scenario(scenario)
    require_untraced("simulate", "pf.fluid.gradient", scenario)
    require_round_trips(scenario)
    validate_choice(controller, CONTROLLERS, "controller")
    validate_choice(engine, ENGINES, "engine")
    times = _samples(scenario, sample)
    accuracy = _accuracy(scenario, step, tolerance)
    beginning = None if initial is None else begin(scenario, initial)
    whole = Cohorts(scenario, tuple(range(len(scenario.flows))), beginning)
    # Linear laws have neither windows that start nor slow start: their counts grow as they are.
    cohorts = whole if linear else split_starts(scenario, beginning)
    trace, used = _trace(cohorts, controller, linear, engine, accuracy, times, progress)
    trace = cohorts.merge(trace)
    attrs: dict[str, str | float] = {
        "engine": f"fluid ({used})",
        "controller": controller,
        "linear": int(linear),
        "beyond_the_laws": "" if linear else check_trajectory(scenario, trace),
        **describe(scenario),
    }
    return trajectory_dataset(trace, scenario, attrs)


def _trace(
    cohorts: Cohorts,
    controller: str,
    linear: bool,
    engine: str,
    accuracy: Accuracy,
    times: Any,
    progress: Callable[[float, float], None] | None,
) -> tuple[Trace, str]:
    scenario, beginning = cohorts.scenario, cohorts.beginning
    # A law says here whether it has a fluid form at all.
    plant = (LinearPlant if linear else Plant)(scenario, controller, beginning)
    reason = "linear=True" if linear else native.obstacle(scenario, controller)
    if engine == "c" and reason:
        raise UnsupportedError(
            f'{reason} is not in the compiled engine: use engine="python" or "auto".'
        )
    if engine == "c" or (engine == "auto" and not reason):
        trace = native.run_native(scenario, controller, accuracy, times, beginning, progress)
        return trace, "c"
    schedule = Schedule(scenario, ticks=controller == "sampled")
    rows, duration, reported = [], float(scenario.duration), -1
    for row in integrate(plant, schedule, accuracy, times.tolist()):
        rows.append(row)
        part = int(100 * row.t / duration)
        if progress is not None and part > reported:
            progress(row.t, duration)
            reported = part
    return trace_rows(plant, rows), "python"


def _samples(scenario: Scenario, sample: float | str | None) -> Any:
    if sample is None:
        interval = scenario.aqm.update_interval or _SAMPLE
        sample = min(float(interval), float(scenario.duration))
    step = validate_quantity(sample, "time", "sample", high=float(scenario.duration))
    count = int(np.floor(scenario.duration / step * (1.0 + 1e-12)))
    if count > _MOST_SAMPLES:
        raise QuantityError(
            f"sample = {step:g} s asks for {count} rows, more than {_MOST_SAMPLES}: give a longer"
            " sample."
        )
    return np.arange(count + 1) * step


def _accuracy(scenario: Scenario, step: float | str | None, tolerance: float | None) -> Accuracy:
    if step is not None:
        if tolerance is not None:
            raise QuantityError(
                f"step = {show_value(step)} and tolerance = {tolerance!r} are both given: the step"
                " is fixed, or it adapts to a tolerance; give one."
            )
        return Accuracy(float(validate_quantity(step, "time", "step")), 0.0)
    tolerance = _TOLERANCE if tolerance is None else tolerance
    value = validate_quantity(tolerance, "number", "tolerance", low=1e-13, high=1e-2, closed=True)
    return Accuracy(float(scenario.duration), float(value))
