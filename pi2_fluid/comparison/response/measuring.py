"""`measure_loop`: L(j omega) and margins of a loop that runs, by a signal added to its p'."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.comparison.response.crossings import Estimate, crossed, jackknife
from pi2_fluid.comparison.response.sampling import sampled
from pi2_fluid.comparison.response.sinusoids import amplitudes, low_crest_phases
from pi2_fluid.engines.simulating import require_engine
from pi2_fluid.errors import (
    DomainError,
    QuantityError,
    UnsupportedError,
    quietly,
    show_value,
    warn_of,
)
from pi2_fluid.laws.aqms.injected import Injected, can_be_injected
from pi2_fluid.laws.sines import Sines
from pi2_fluid.loop import Loop
from pi2_fluid.network.network import refuse_several
from pi2_fluid.network.scenario import Scenario, require_scenario
from pi2_fluid.results import Column, make_dataset
from pi2_fluid.units import validate_number, validate_quantity

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.engines.engine import Engine
    from pi2_fluid.laws.aqms.pi_family import PiFamily
    from pi2_fluid.values import ComplexArray, FloatArray, Quantity

_LINES: Final = 10
_AROUND: Final = (0.6, 1.6)  # of the lower and the higher crossover, where lines are by default
_LEAST_LINES: Final = 4
_KEPT_ATTRS: Final = ("engine", "not_modelled", "interrupted", "seed")
_MARGINS: Final = {
    "gain_margin": ("gain_margin_db", "dB", "by how much gains may rise"),
    "phase_margin": (
        "phase_margin_deg",
        "degrees",
        "180 degrees plus the phase of L where it is 1",
    ),
}


class _Records(NamedTuple):
    """What was read: amplitudes at the lines, (record, line), relative to the signal's phases."""

    p_prime: ComplexArray
    """Of p', at updates, per amplitude of what was added."""
    delay: ComplexArray
    """Of the queue delay (s), likewise."""
    mean: FloatArray
    deviation: FloatArray
    clipped: float
    delay_mean: float


def measure_loop(
    scenario: Scenario,
    engine: Engine | None = None,
    *,
    frequencies: Sequence[float] | None = None,
    amplitude: float = 0.05,
    times: int = 1,
    gains: float = 1.0,
    warmup: Quantity = "20s",
    progress: Callable[[float, float], None] | None = None,
) -> xarray.Dataset:
    """Return the loop L(j omega) of a scenario as it runs, and its margins with intervals.

    Sines are added to p' while the controller runs on (`Injected`). At their frequencies the
    queue delay and p' give the plant, P = delay / p', whatever chance does besides, and the
    controller C is known: L = -C P.

    Parameters
    ----------
    scenario : Scenario
        Link, flows and a queue with a PI controller. What of its duration comes after `warmup` is
        read, in records of equal length.
    engine : Engine, optional
        By default ``Packets(seeds=4)``; ``Fluid()`` measures the equations.
    frequencies : sequence of float, optional
        rad/s, rising. By default ten around both crossovers of `Loop`; their sums and differences
        are none of them, so that a square (as of PI2) does not disturb.
    amplitude : float
        Root mean square of all that is added, relative to p' at rest.
    times : int
        Runs so many times the flows on so many times the link: chance fades as 1/sqrt(times), and
        what is left is the linear loop.
    gains : float
        Runs alpha and beta times this, and divides L by it, to which L is proportional. So can a
        loop be measured that is unstable, or near it, with 0.5, say.
    warmup : float or str
        Time that is not read (s).
    progress : callable, optional
        As in `Engine.run`.

    Returns
    -------
    xarray.Dataset
        Over ``omega`` (rad/s): ``loop``, L, complex, from the plant; ``return_ratio``, the same
        from what comes back of the signal, L = added / p' - 1, which takes what clips of p' do for
        a part of the loop, and needs to know no controller; ``plant`` (s per unit of p'); each with
        the standard error of the complex number (``loop_se`` ...).

        ``gain_margin_db`` and ``phase_margin_deg``, with ``gain_margin_se`` and
        ``gain_margin_interval`` (90 %, over ``bound``) and so on; ``gain_crossover`` and
        ``phase_crossover`` (rad/s). ``p_prime``, ``p_prime_sd``, ``clipped`` (share of updates that
        left p' at 0 or at its limit) and ``queue_delay`` say where the loop was.

        An interrupted measurement (Ctrl-C) has the seeds that were finished.

    Raises
    ------
    ScenarioError, QuantityError, DomainError
        If an argument is not as it should be, or there is too little time to tell the frequencies
        apart.
    UnsupportedError
        If the queue has no PI controller in real numbers, there are several, the schedule changes
        what `times` multiplies, or anything while the loop is read, or the engine cannot run the
        scenario.

    Warns
    -----
    AssumptionWarning
        If a margin lies outside of the lines, where it is NaN, or does without one of the records,
        so that its interval is NaN; or if p' is often clipped.

    Notes
    -----
    Margins come from ln L as cubics in ln omega, intervals from leaving out one record at a time.

    With `times` = 1 a loop is measured under its own noise, which may add some dB to the margin
    of the linear loop: p' is clipped, and the queue runs empty.

    Source: Middlebrook (Int. J. Electronics 38(4), 1975) on injection; Ljung (System
    Identification, 1999), section 13.5 on joint input-output identification in closed loop.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> reno = pf.Flows(pf.Reno(), 10, "50ms", initial_window=14, slow_start=False)
    >>> scenario = pf.Scenario("60s", pf.Link("20Mbit/s", buffer=1000), pf.Pi2(), reno)
    >>> found = pf.measure_loop(scenario, pf.Fluid(), amplitude=1e-3)
    >>> print(f"{found.gain_margin_db:.1f} dB, {found.phase_margin_deg:.0f} degrees")
    8.8 dB, 46 degrees
    """
    require_scenario(scenario)
    _refuse(scenario, times)
    chosen = _packets() if engine is None else engine
    require_engine(chosen)
    start = validate_number(warmup, "time", "warmup", closed=True)
    _require_steady(scenario, start)
    factor = validate_number(gains, "number", "gains")
    strength = validate_number(amplitude, "number", "amplitude", high=0.5)
    many = _many(scenario, times, factor)
    read = float(scenario.duration) - start
    if read <= 0.0:
        raise DomainError(
            f"warmup = {start:g} s leaves nothing of the {float(scenario.duration):g} s of the"
            " scenario to read: give a longer duration, or a shorter warmup."
        )
    omega, length = _lines(frequencies, scenario, read)
    aqm: Any = many.aqm
    with quietly():
        p_prime = _loop(scenario)[1]
    case = replace(many, aqm=_injected(aqm, omega, strength * p_prime))
    runs = chosen.with_rows(float(aqm.update_interval)).run(case, progress)
    found = _read(runs, case, omega, start, length)
    return _dataset(found, omega, aqm, factor, runs)


def _refuse(scenario: Scenario, times: object) -> None:
    refuse_several(
        scenario.network,
        "a signal is added to one controller, while others would go on to answer",
        "give a scenario of one of them, or ask Loop(network) for the matrix of all",
    )
    if not can_be_injected(scenario.aqm):
        raise UnsupportedError(
            f"{type(scenario.aqm).__name__} has no PI controller to whose p' a signal can be"
            " added: measure with Pi(), Pie(), Pi2(), CoupledPi2() or DualPi2()."
        )
    if isinstance(times, bool) or not isinstance(times, (int, np.integer)) or times < 1:
        raise QuantityError(
            f"times = {show_value(times)} is no whole number from 1 on: give one, such as 16."
        )
    if times > 1 and scenario.changes:
        raise UnsupportedError(
            f"times = {times} would multiply flows and link, but not what the schedule makes of"
            " them: give a scenario without changes, or times = 1."
        )


def _require_steady(scenario: Scenario, start: float) -> None:
    """Refuse changes while the loop is read: before and after it is another."""
    late = [float(change.at) for change in scenario.changes if float(change.at) > start]
    if late:
        raise UnsupportedError(
            f"the schedule changes the scenario at {min(late):g} s, after a warmup of {start:g} s,"
            " so that two loops would be read as one: give a warmup beyond the last change, or a"
            " scenario that ends before the first."
        )


def _packets() -> Engine:
    from pi2_fluid.engines.packet.packets import Packets

    return Packets(seeds=4)


def _many(scenario: Scenario, times: int, gains: float) -> Scenario:
    """Return a scenario with so many times the flows on as much link, and gains times a factor."""
    link = scenario.link
    aqm: Any = scenario.aqm
    given = {"alpha": aqm.alpha * gains, "beta": aqm.beta * gains} if gains != 1.0 else {}
    buffer: Any = link.buffer
    buffer = None if buffer is None else buffer * times  # None is a time, which stays
    return replace(
        scenario,
        link=replace(link, capacity=link.capacity * times, buffer=buffer),
        aqm=replace(aqm, **given),
        flows=tuple(replace(flow, count=flow.count * times) for flow in scenario.flows),
    )


def _loop(scenario: Scenario) -> tuple[Any, float]:
    """Return the loop by acknowledgements, where there is one, else by rates, and p' at rest."""
    try:
        loop = Loop(scenario.network, update="sampled", clock="acks")
        _ = loop.linear  # which a law that says nothing of acknowledgements refuses
    except UnsupportedError:
        loop = Loop(scenario.network, update="sampled")
    return loop, float(loop.operating_point.controller)


def _lines(given: object, scenario: Scenario, read: float) -> tuple[FloatArray, float]:
    """Return the frequencies (rad/s), and how long a record is (s)."""
    if given is not None:
        omega = np.array(validate_quantity(given, "number", "frequencies"), dtype=float)
        if omega.ndim != 1 or omega.size < _LEAST_LINES or np.any(np.diff(omega) <= 0.0):
            raise QuantityError(
                f"frequencies = {show_value(given)} is no rising row of {_LEAST_LINES} or more"
                " numbers, of which a cubic could be made: give such a list, in rad/s."
            )
        least = float(np.min(np.diff(omega, prepend=0.0)))
        _require_time(2.0 * np.pi / least, read)
    else:
        with quietly():
            margins = _loop(scenario)[0].margins()
        ends = sorted((float(margins.gain_crossover), float(margins.phase_crossover)))
        if not np.isfinite(ends[1]):
            raise DomainError(
                f"the loop of the scenario has crossovers at {ends[0]:g} and {ends[1]:g} rad/s,"
                " around which no lines can be laid: give frequencies."
            )
        low, high = _AROUND[0] * ends[0], _AROUND[1] * ends[1]
        wished = np.geomspace(low, high, _LINES)
        # Odd multiples of a base: their sums and differences are even ones.
        base = max((wished[1] - wished[0]) / 2.0, 2.0 * np.pi / read)
        omega = base * np.unique(2.0 * np.round((wished / base - 1.0) / 2.0) + 1.0)
        least = base
        _require_time(2.0 * np.pi / base * (1.0 if omega.size >= _LEAST_LINES else np.inf), read)
    records = max(1, int(read * least / (2.0 * np.pi) * (1.0 + 1e-9)))
    return omega, read / records


def _require_time(needed: float, read: float) -> None:
    if needed > read * (1.0 + 1e-9):
        raise DomainError(
            f"{read:g} s after the warmup are too short to tell the lines apart: give a duration"
            + (
                f" that leaves {needed:.3g} s."
                if np.isfinite(needed)
                else " several times as long."
            )
        )


def _injected(aqm: PiFamily, omega: FloatArray, rms: float) -> Injected:
    count = len(omega)
    each = rms * np.sqrt(2.0 / count)
    sines = Sines(0.0, [each] * count, omega.tolist(), low_crest_phases(count))
    return Injected(queue=aqm, added=sines)


# What runs say


def _read(
    runs: xarray.Dataset, case: Scenario, omega: FloatArray, start: float, length: float
) -> _Records:
    """Return what records of packets, by bin, or of a fluid, by instant, have at the lines."""
    law: Any = case.aqm
    rows = sampled(runs, omega)
    controller = rows.series("controller")
    delay = rows.delay
    if case.aqm.bands == 2:
        delay = delay[..., 0]  # C, which drives the controller
    delay = np.nan_to_num(delay)  # where nothing left, nothing waited
    updated, middle = rows.updated(float(law.update_interval)), rows.middle
    phase: Any = np.array(law.added.phases) - 0.5 * np.pi
    added = np.array(law.added.amplitudes) * np.exp(1j * phase)
    moved, answered, used = [], [], np.zeros(rows.time.size, dtype=bool)
    for begin in np.arange(start, float(case.duration) - 0.999 * length, length):
        record = (rows.time - rows.width >= begin - 1e-9) & (rows.time <= begin + length + 1e-9)
        record &= rows.whole
        used |= record
        moved.append(amplitudes(updated[record], controller[:, record].T, omega, 0.0).T / added)
        at = amplitudes(middle[record], delay[:, record].T, omega, rows.width)
        answered.append(at.T / added)
    read = controller[:, used]
    limit = float(law.queue.clips_at)
    return _Records(
        np.concatenate(moved),
        np.concatenate(answered),
        read.mean(axis=1),
        read.std(axis=1),
        float(np.mean((read <= 0.0) | (read >= limit))),
        float(delay[:, used].mean()),
    )


# What they mean


def _dataset(
    records: _Records, omega: FloatArray, aqm: PiFamily, gains: float, runs: xarray.Dataset
) -> xarray.Dataset:
    y = np.exp(-1j * omega * float(aqm.update_interval))
    factor = np.asarray(aqm.gain_factor(float(records.mean.mean())))
    controller = factor * (aqm.alpha + aqm.beta * (1.0 - y)) / (1.0 - y)
    count = len(records.p_prime)

    def plant(weight: FloatArray) -> ComplexArray:
        ratio: ComplexArray = weight @ records.delay / (weight @ records.p_prime)
        return ratio

    def loop(weight: FloatArray) -> ComplexArray:
        ratio: ComplexArray = -controller * plant(weight) / gains
        return ratio

    def returned(weight: FloatArray) -> ComplexArray:
        ratio: ComplexArray = (weight.sum() / (weight @ records.p_prime) - 1.0) / gains
        return ratio

    lines = {
        "loop": (jackknife(count, loop), "1", "L, by the plant"),
        "return_ratio": (jackknife(count, returned), "1", "L, by what comes back of the signal"),
        "plant": (jackknife(count, plant), "s", "queue delay per p' at updates"),
    }
    error = lines["loop"][0].error if count > 1 else None
    margins = jackknife(count, lambda weight: np.array(crossed(omega, loop(weight), error)))
    variables: dict[str, Column] = {}
    for name, (estimate, units, text) in lines.items():
        variables[name] = Column(("omega",), estimate.value, units, text)
        said = f"standard error of {name}"
        variables[f"{name}_se"] = Column(("omega",), estimate.error, units, said)
    variables |= _margins(margins)
    variables |= {
        "p_prime": Column((), records.mean.mean(), "1", "mean of p'"),
        "p_prime_sd": Column((), records.deviation.mean(), "1", "standard deviation of p'"),
        "clipped": Column((), records.clipped, "1", "share of updates with p' at 0 or its limit"),
        "queue_delay": Column((), records.delay_mean, "s", "mean queue delay of what leaves"),
    }
    coords = {
        "omega": Column(("omega",), omega, "rad/s", "angular frequency"),
        "bound": Column(("bound",), np.array(["low", "high"]), "", "end of a 90 % interval"),
    }
    attrs = {name: runs.attrs[name] for name in _KEPT_ATTRS if name in runs.attrs}
    _warn(margins, omega, records.clipped, count)
    return make_dataset(variables, coords, attrs | {"records": float(count)})


def _margins(found: Estimate) -> dict[str, Column]:
    columns = {}
    for i, (name, (own, units, text)) in enumerate(_MARGINS.items()):
        ends = found.value[i] + found.reach[i] * np.array([-1.0, 1.0])
        columns[own] = Column((), found.value[i], units, text)
        columns[f"{name}_se"] = Column((), found.error[i], units, f"standard error of {own}")
        columns[f"{name}_interval"] = Column(("bound",), ends, units, f"90 % interval of {own}")
    for i, name in ((2, "phase_crossover"), (3, "gain_crossover")):
        columns[name] = Column((), found.value[i], "rad/s", name.replace("_", " "))
    return columns


_OFTEN: Final = 0.05  # of the updates


def _warn(margins: Estimate, omega: FloatArray, clipped: float, records: int) -> None:
    if np.isnan(margins.value).any():
        what = "gain" if np.isnan(margins.value[3]) else "phase"
        warn_of(
            f"the loop has no {what} crossover between {omega[0]:.3g} and {omega[-1]:.3g} rad/s,"
            " where it was measured, so that margins are NaN: give frequencies around it."
        )
    elif records > 1 and np.isnan(margins.error).any():
        warn_of(
            f"without one or other of the {records} records the loop has no crossover between"
            f" {omega[0]:.3g} and {omega[-1]:.3g} rad/s, so that intervals are NaN: give more"
            " seeds, a longer run, or times=16."
        )
    if clipped > _OFTEN:
        warn_of(
            f"p' was at a bound after {clipped:.0%} of the updates, where the loop is open: the"
            " margin is that of the loop under its own noise; times=16 shows the linear one."
        )
