"""`gradient`: how a figure of merit of a trajectory moves with the numbers of its scenario.

Differentiating a fixed-step solver of a sampled controller is wrong by several per cent however
small its step: the jumps of the signal reach the windows at instants that move with the
parameters, and the derivative of a fixed grid does not see them move. Here every such instant is
the end of a step, wherever it lies, so that differences of whole trajectories have the right limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.engines.fluid.fluid import simulate
from pi2_fluid.engines.fluid.refusals import UPDATES
from pi2_fluid.engines.fluid.timeline import shortest_interval
from pi2_fluid.errors import DomainError, ScenarioError, SolverError, renamed, show_value
from pi2_fluid.network.scenario import Scenario, require_scenario
from pi2_fluid.records.paths import read_path, replace_path
from pi2_fluid.units import validate_choice

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.values import Number

_NUDGE: Final = 1e-3  # relative, and half of it
_TOLERANCE: Final = 1e-12
_AGREEMENT: Final = 1e-2  # of the two differences, relative to the larger of the derivatives
_ROUNDING: Final = 1e-9  # of the objective, per relative nudge: what differences cannot resolve


@renamed(controller="update")
def gradient(
    scenario: Scenario,
    objective: Callable[[xarray.Dataset], Number],
    wrt: str | Iterable[str],
    *,
    update: str = "sampled",
    **how: Any,
) -> dict[str, float]:
    """Return the derivative of a number of a trajectory over numbers of its scenario.

    Parameters
    ----------
    scenario : Scenario
        Where to differentiate.
    objective : callable
        From a trajectory, as `simulate` returns it, to one number, smooth in the trajectory.
    wrt : str or iterable of str
        Paths of the numbers to vary: ``"aqm.alpha"``, ``"link.capacity"``, ``"flows.0.count"``; of
        several links ``"network.nodes.a.aqm.alpha"``.
    update : {"sampled", "continuous"}
        As in `Fluid`.
    **how
        Other arguments of `simulate`. The trajectories are all sampled at the same times.

    Returns
    -------
    dict
        Path to derivative, per SI unit of the number at that path.

    Raises
    ------
    ScenarioError
        If a path leads to no number, or `objective` does not return one.
    DomainError
        If the number at a path is 0, so that no relative nudge moves it.
    SolverError
        If two differences do not agree: the objective has a kink or a jump there.

    Notes
    -----
    Central differences of event-aligned trajectories at two nudges, extrapolated (Richardson):
    four trajectories for each path, relative accuracy about 1e-6.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> scenario = pf.Scenario(
    ...     "40s", pf.Link("10Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 10, "50ms"))
    >>> slope = pf.fluid.gradient(scenario, lambda ds: ds.queue_delay[-1], "aqm.target")
    >>> round(slope["aqm.target"], 2)
    1.0
    """
    require_scenario(scenario)
    validate_choice(update, UPDATES, "update")
    if not callable(objective):
        raise ScenarioError(
            f"objective = {show_value(objective)} cannot be called: give a function of a"
            " trajectory, e.g. lambda ds: float(ds.queue_delay.mean())."
        )
    how = {"tolerance": _TOLERANCE, **how} if "step" not in how else how
    if how.get("sample") is None:
        interval = shortest_interval(scenario) or 0.01
        how["sample"] = min(interval, float(scenario.duration))

    def value(path: str, number: float) -> float:
        changed = replace_path(scenario, path, number)
        result = np.asarray(objective(simulate(changed, update=update, **how)), float)
        if result.shape or not np.isfinite(result):
            raise ScenarioError(
                f"objective returned {show_value(result)}: it must return one finite number."
            )
        return float(result)

    return {path: _slope(path, scenario, value) for path in _paths(wrt)}


def _paths(wrt: str | Iterable[str]) -> list[str]:
    return [wrt] if isinstance(wrt, str) else list(wrt)


def _slope(path: str, scenario: Scenario, value: Callable[[str, float], float]) -> float:
    at = float(read_path(scenario, path))
    if at == 0.0:
        raise DomainError(
            f"{path} = 0.0 has no relative neighbourhood to differentiate in: give it a value."
        )
    slopes, sizes = [], []
    for nudge in (_NUDGE, 0.5 * _NUDGE):
        above, below = value(path, at * (1.0 + nudge)), value(path, at * (1.0 - nudge))
        slopes.append((above - below) / (2.0 * nudge * at))
        sizes.append(max(abs(above), abs(below)))
    coarse, fine = slopes
    noise = _ROUNDING * max(sizes) / (_NUDGE * abs(at))
    if abs(fine - coarse) > _AGREEMENT * max(abs(fine), abs(coarse)) + noise:
        raise SolverError(
            f"the derivative over {path} is {coarse:.6g} or {fine:.6g}, depending on how far it is"
            " nudged: the objective has a kink there, so vary another number or smooth it."
        )
    return fine + (fine - coarse) / 3.0
