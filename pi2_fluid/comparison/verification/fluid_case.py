"""The fluid at one corner of a region: one step, from rest to rest."""

from __future__ import annotations

import dataclasses
import math
from typing import Final, NamedTuple

import numpy as np

from pi2_fluid.comparison.verification.corners import Corner, Step
from pi2_fluid.comparison.verification.transients import Transient, read_decay, read_transient
from pi2_fluid.engines.fluid.fluid import Fluid
from pi2_fluid.errors import SolverError, quietly
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.loop.transfer import Loop
from pi2_fluid.network.equilibrium import equilibrium

_REST: Final = 2.5  # updates before the step, which falls between two of them
_LIVES: Final = 14.0  # time constants of the slowest mode that are followed,
_TRIPS: Final = 40.0  # after so many round trips,
_MOST_UPDATES: Final = 1e5  # but a second of computing at most;
_SOME_UPDATES: Final = 6000.0  # if that is not enough, or nothing decays, so many updates
_SHORT: Final = 6.0  # of a sixth of a round trip or longer
_PER_UPDATE: Final = 2  # half samples: an integral between two updates is good to 1e-4 with four,
_PER_TRIP: Final = 5.0  # and with ten in a round trip
_CELLS: Final = 20_000  # of the integral over the gains of PIE
_DECAYING: Final = 0.99  # of the largest excursion of the record's second quarter, in its last


#: Units and meaning of each field of a `FluidCase`.
COLUMNS: Final = {
    "peak": ("s", "largest excursion above the target"),
    "trough": ("s", "largest excursion below the target"),
    "settling": ("s", "time until the delay stays within 5 % of the largest excursion"),
    "decay_rate": ("1/s", "rate at which the excursion dies out"),
    "frequency": ("rad/s", "frequency of the last swings"),
    "decays": ("1", "whether the excursion dies out"),
    "clamped": ("1", "whether p' meets a bound on the way"),
    "delay_error": ("s^2", "integral of the delay error"),
    "delay_error_theory": ("s^2", "the same of a loop without bounds, T dp'/alpha"),
    "horizon": ("s", "time for which the step is followed"),
}


class FluidCase(NamedTuple):
    """One step at one corner, in the fluid; `COLUMNS` says what is what."""

    peak: float
    trough: float
    settling: float
    decay_rate: float
    frequency: float
    decays: bool
    clamped: bool
    delay_error: float
    delay_error_theory: float
    horizon: float

    @property
    def transient(self) -> Transient:
        """The height and the length of it."""
        return Transient(self.peak, self.trough, self.settling)


def fluid_case(corner: Corner, step: Step, engine: Fluid) -> FluidCase:
    """Return what one step does at one corner.

    Parameters
    ----------
    corner : Corner
    step : Step
    engine : Fluid
        With its beginning and its rows left open.
    """
    queue, interval = corner.queue, float(corner.queue.update_interval or 0.0)
    with quietly():
        rest, goal = (
            equilibrium(corner.flows(state), queue, corner.capacity(state))
            for state in (step.before, step.after)
        )
        horizon = _horizon(corner, step)
    half = max(_PER_UPDATE, math.ceil(_PER_TRIP * interval / corner.rtt))
    sample = interval / (2.0 * half)
    horizon = sample * round(horizon / sample)
    at = _REST * interval
    run = dataclasses.replace(engine, initial=rest, sample=sample).run(
        corner.scenario(at + horizon, [(0.0, step.before), (at, step.after)])
    )
    begin = round(2.0 * half * _REST)
    delay = run["queue_delay"]
    classic = (delay.isel(band=0) if "band" in delay.dims else delay).to_numpy()
    error = classic[begin:] - float(queue.target)
    stride = 2 * half * max(1, round(corner.rtt / (4.0 * interval)))
    transient, decay = read_transient(error, sample), read_decay(error, sample, stride)
    ratio = math.exp(-decay.rate * horizon / 2.0)
    return FluidCase(
        *transient,
        decay.rate,
        decay.frequency,
        decays=math.isfinite(transient.settling) or ratio < _DECAYING,
        clamped=bool(np.any(corner.clamped(run["controller"].to_numpy()[begin:]))),
        delay_error=float(np.trapezoid(error, dx=sample)),
        delay_error_theory=_delay_error(queue, float(rest.controller), float(goal.controller)),
        horizon=horizon,
    )


def _horizon(corner: Corner, step: Step) -> float:
    """For how long a step is to be followed: as long as its slowest mode lasts (s)."""
    interval = float(corner.queue.update_interval or 0.0)
    most = _MOST_UPDATES * interval
    some = min(most, _SOME_UPDATES * max(interval, corner.rtt / _SHORT))
    loop = Loop(
        corner.flows(step.after),
        corner.queue,
        capacity=corner.capacity(step.after),
        update="delayed",
        rtt_terms="exact",
    )
    try:
        rate = -float(complex(loop.roots()).real)
    except SolverError:
        return some
    needed = _TRIPS * corner.rtt + _LIVES / rate if rate > 0.0 else math.inf
    return needed if needed <= most else some


def _delay_error(queue: PiFamily, begin: float, end: float) -> float:
    """T/alpha times the integral of du / (factor on the gains at u)."""
    edges = np.linspace(begin, end, _CELLS + 1)
    factor = np.asarray(queue.gain_factor(0.5 * (edges[1:] + edges[:-1])), dtype=float)
    changed = float(np.mean(1.0 / factor)) * (end - begin)
    return float(queue.update_interval or 0.0) / float(queue.alpha) * changed
