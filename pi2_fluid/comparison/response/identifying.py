"""`identify_response`: what queue, rates and windows answer to p', frequency by frequency."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.comparison.response.sampling import sampled
from pi2_fluid.comparison.response.sinusoids import amplitudes, held, low_crest_phases
from pi2_fluid.engines.simulating import require_engine
from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError, show_value
from pi2_fluid.laws.aqms.imposed import Imposed, can_be_imposed
from pi2_fluid.laws.sines import Sines
from pi2_fluid.network.equilibrium import equilibrium
from pi2_fluid.network.network import refuse_several
from pi2_fluid.network.scenario import Scenario, require_scenario
from pi2_fluid.results import Column, make_dataset
from pi2_fluid.results.dataset import label_coords
from pi2_fluid.units import validate_number, validate_quantity

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.engines.engine import Engine
    from pi2_fluid.values import ComplexArray, FloatArray, Quantity

_INTERVAL: Final = 1e-3  # s between two values of p', and the unit of bins
_PERIODS: Final = 3.0  # of the lowest frequency, and of each beat, that are read at least
_BINS: Final = 12.0  # in a period of the highest frequency
_KEPT: Final = ("flows", "flow_count", "band", "band_of")
#: Of each answer: its dim beside the frequencies, units, and what it is.
_ANSWERS: Final = {
    "delay": ("band", "s", "queue delay of what leaves"),
    "queue": ("band", "packets", "backlog"),
    "rate": ("flows", "1", "rate at which the class arrives, over its mean"),
    "window": ("flows", "1", "window, over its mean"),
}
_RESTS: Final = {
    "delay": ("s", "mean queue delay of what leaves"),
    "queue": ("packets", "mean backlog"),
    "rate": ("packets/s", "mean rate at which the class arrives"),
    "window": ("segments", "mean window of one flow"),
}


class _Series(NamedTuple):
    """What was read of runs: (seed, time, ...) each."""

    t: FloatArray
    """Seconds: of instants, or the middle of bins."""
    width: float
    """Seconds: of a bin, 0 of instants."""
    controlled: FloatArray
    """p' as it was at the last update, and ..."""
    updated: FloatArray
    """... when that was (s)."""
    answers: dict[str, FloatArray]


def identify_response(
    scenario: Scenario,
    frequencies: Sequence[float],
    engine: Engine | None = None,
    *,
    amplitude: float | Sequence[float] = 0.05,
    p_prime: float | None = None,
    warmup: Quantity = "30s",
    hold_time: Quantity = "100s",
    progress: Callable[[float, float], None] | None = None,
) -> xarray.Dataset:
    """Return how queue delay, backlog, rates and windows answer a given p' that oscillates.

    The queue's controller is replaced by sines around a mean (`Imposed`), all at once and small,
    and what they make of the flows is read by least squares: a transfer function that rests on no
    model of senders or queue.

    Parameters
    ----------
    scenario : Scenario
        Link, flows and a queue `Pi2`, `CoupledPi2` or `DualPi2`, at whose target a slow integral
        holds the mean delay. What of its duration comes after `warmup` is read.
    frequencies : sequence of float
        rad/s.
    engine : Engine, optional
        By default ``Packets(seeds=6)``; ``Fluid()`` measures the equations.
    amplitude : float or sequence of float
        Of each sine, relative to the mean of p'. All together at most 1.
    p_prime : float, optional
        The mean. By default where the scenario rests by its laws, from which the integral takes it
        to where packets rest.
    warmup : float or str
        Time that is not read (s).
    hold_time : float or str
        As in `Imposed`; it must be slow against 1/`frequencies`.
    progress : callable, optional
        As in `Engine.run`.

    Returns
    -------
    xarray.Dataset
        Over ``omega`` (rad/s), complex: ``delay`` (s) and ``queue`` (packets), of a dual queue by
        ``band``; ``rate`` and ``window`` by ``flows``, relative to their means: all per relative
        deviation of p'. ``delay_se`` and so on are standard errors of these complex numbers, from
        the scatter over the seeds, NaN of a single one. ``delay_mean`` and so on, and ``p_prime``,
        say where the flows were meanwhile.

        In packets the delay is that of the packets that leave. In the fluid it is the backlog over
        the rate of service, and the rate is window over round-trip time.

        An interrupted measurement (Ctrl-C) has the seeds that were finished, and
        ``attrs["interrupted"]`` is 1.

    Raises
    ------
    ScenarioError, QuantityError, DomainError
        If an argument is not as it should be, or there is too little time to tell the frequencies
        apart.
    UnsupportedError
        If the queue has no p' that can be given, there are several, or the engine cannot run the
        scenario.

    Notes
    -----
    A quadratic trend is fitted beside the sines; what the mean over a bin and the hold of p'
    between two updates do to a sine is taken off. The answer is related to p' as it was, the slow
    integral included.

    With 1500 flows, 110 s, 6 seeds and eight frequencies, standard errors are 3 to 8 %; they fall
    with the square root of each, and with `amplitude`. A frequency that is the sum or the
    difference of two others also answers to their product, of the order of `amplitude`: choose
    others.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> reno = pf.Flows(pf.Reno(), 10, "50ms", initial_window=14, slow_start=False)
    >>> scenario = pf.Scenario("40s", pf.Link("20Mbit/s", buffer=1000), pf.Pi2(), reno)
    >>> found = pf.identify_response(scenario, [2.0, 5.0], pf.Fluid(), amplitude=0.01)
    >>> print(abs(found.window.sel(flows="reno")).round(2).values)
    [0.77 0.44]
    """
    require_scenario(scenario)
    _refuse_several(scenario)
    chosen = _packets() if engine is None else engine
    require_engine(chosen)
    start = validate_number(warmup, "time", "warmup", closed=True)
    omega = _frequencies(frequencies, float(scenario.duration) - start)
    case = imposing(scenario, omega.tolist(), amplitude, p_prime, hold_time)
    bins = max(1.0, np.floor(2.0 * np.pi / (omega.max() * _BINS * _INTERVAL)))
    runs = chosen.with_rows(bins * _INTERVAL).run(case, progress)
    return _dataset(_read(runs, case, omega, start), omega, runs)


def imposing(
    scenario: Scenario,
    frequencies: Sequence[float],
    amplitude: float | Sequence[float] = 0.05,
    p_prime: float | None = None,
    hold_time: Quantity = "100s",
) -> Scenario:
    """Return a scenario with its controller replaced by sines; arguments as `identify_response`."""
    _refuse_several(scenario)
    if not can_be_imposed(scenario.aqm):
        raise UnsupportedError(
            f"{type(scenario.aqm).__name__} has no p' that can be given: measure the response with"
            " Pi2(), CoupledPi2() or DualPi2()."
        )
    count = len(frequencies)
    parts = _amplitudes(amplitude, count)
    if p_prime is None:
        link = scenario.link
        point = equilibrium(scenario.flows, scenario.aqm, link.capacity, link.packet_size)
        p_prime = float(point.controller)
    mean = validate_number(p_prime, "number", "p_prime", high=1.0)
    given = Sines(mean, [part * mean for part in parts], frequencies, low_crest_phases(count))
    imposed = Imposed(
        queue=scenario.aqm,
        p_prime=given,
        hold=scenario.aqm.target,
        hold_time=hold_time,
        update_interval=_INTERVAL,
    )
    return replace(scenario, aqm=imposed)


def _refuse_several(scenario: Scenario) -> None:
    refuse_several(
        scenario.network,
        "a p' that is given takes the place of one controller, while others would go on to answer",
        "give a scenario of one of them, or ask Loop(network) for the matrix of all",
    )


def _packets() -> Engine:
    from pi2_fluid.engines.packet.packets import Packets

    return Packets(seeds=6)


def _amplitudes(amplitude: object, count: int) -> list[float]:
    """Return the relative amplitude of each sine, which together leave p' above 0."""
    parts = np.array(validate_quantity(amplitude, "number", "amplitude"), dtype=float)
    if parts.shape not in {(), (count,)}:
        raise QuantityError(
            f"amplitude = {show_value(amplitude)} is neither one number nor {count}, one for each"
            " frequency: give either."
        )
    each = np.broadcast_to(parts, (count,))
    if each.sum() > 1.0:
        raise DomainError(
            f"amplitude = {show_value(amplitude)} of {count} sines is together {each.sum():g} of"
            f" the mean of p', which would fall below 0: give at most {1.0 / count:g} each."
        )
    return [float(part) for part in each]


def _frequencies(frequencies: object, read: float) -> FloatArray:
    """Return the frequencies, which `read` seconds must be able to tell apart."""
    omega = np.array(validate_quantity(frequencies, "number", "frequencies"), dtype=float)
    if omega.ndim != 1 or omega.size == 0:
        raise QuantityError(
            f"frequencies = {show_value(frequencies)} is no row of numbers: give a list, in rad/s."
        )
    least = float(np.min(np.diff(np.sort(omega), prepend=0.0)))
    if least * read < _PERIODS * 2.0 * np.pi:
        needed = _PERIODS * 2.0 * np.pi / least if least > 0.0 else np.inf
        raise DomainError(
            f"frequencies = {show_value(frequencies)} are as little as {least:g} rad/s apart, from"
            f" each other or from 0, for which {read:g} s after the warmup are too short: give a"
            f" duration that leaves {needed:.3g} s, or others."
        )
    return omega


# What runs say


def _read(runs: xarray.Dataset, case: Scenario, omega: FloatArray, start: float) -> _Series:
    """Return the series of a result after `start`, of packets by bin, of a fluid by instant."""
    rows = sampled(runs, omega)
    used = (rows.time - rows.width >= start) & rows.whole
    dual = case.aqm.bands == 2
    queue, delay = rows.series("queue")[:, used], rows.delay[:, used]
    answers = {
        "delay": delay if dual else delay[..., None],
        "queue": queue if dual else queue[..., None],
        "window": rows.series("window")[:, used],
    }
    if rows.counted:
        answers["rate"] = rows.series("arrivals")[:, used] / rows.width
    else:
        answers["rate"] = _rates(case, answers["window"], answers["delay"])
    controlled, updated = rows.series("controller")[:, used], rows.updated(_INTERVAL)[used]
    return _Series(rows.middle[used], rows.width, controlled, updated, answers)


def _rates(case: Scenario, window: FloatArray, delay: FloatArray) -> FloatArray:
    """Return packets per second of each class of a fluid: its windows over its round-trip time."""
    columns = []
    for i, flow in enumerate(case.flows):
        sender = flow.sender.on_link(case.link.packet_size)
        band = int(case.aqm.bands == 2 and sender.signal == "scalable")
        rtt = float(flow.base_rtt) + delay[..., band]
        rate = sender.sending_rate(sender.initial(window[..., i]), rtt)
        columns.append(np.broadcast_to(float(flow.count) * rate, rtt.shape))
    return np.stack(columns, axis=-1)


# What they mean


def _dataset(series: _Series, omega: FloatArray, runs: xarray.Dataset) -> xarray.Dataset:
    mean_p = series.controlled.mean(axis=1)
    given = _of_seeds(series.updated, series.controlled, omega, 0.0)
    moved = given * held(omega, _INTERVAL) / mean_p[:, None]
    variables = {
        "p_prime": Column((), mean_p.mean(), "1", "mean of p'"),
    }
    dual = "band" in runs.coords
    for name, (dim, units, text) in _ANSWERS.items():
        values = series.answers[name]
        mean = values.mean(axis=1)
        found = _of_seeds(series.t, values, omega, series.width) / moved[..., None]
        if dim == "flows":
            found = found / mean[:, None, :]
        own: tuple[str, ...] = (dim,)
        if dim == "band" and not dual:
            found, mean, own = found[..., 0], mean[..., 0], ()
        said = f"{text}, per relative deviation of p'"
        error = Column(("omega", *own), _error(found), units, f"standard error of {name}")
        variables |= {
            name: Column(("omega", *own), found.mean(axis=0), units, said),
            f"{name}_se": error,
            f"{name}_mean": Column(own, mean.mean(axis=0), *_RESTS[name]),
        }
    coords = {
        "omega": Column(("omega",), omega, "rad/s", "angular frequency"),
        **label_coords(runs, _KEPT),
    }
    return make_dataset(variables, coords, _attrs(runs.attrs))


def _of_seeds(t: FloatArray, values: FloatArray, omega: FloatArray, width: float) -> ComplexArray:
    """Return the amplitudes of each seed: (seed, frequency, ...)."""
    return np.moveaxis(amplitudes(t, np.moveaxis(values, 0, 1), omega, width), 1, 0)


def _error(found: ComplexArray) -> FloatArray:
    """Return the standard error of the mean over the seeds, NaN of a single one."""
    count = len(found)
    if count == 1:
        return np.full(found.shape[1:], np.nan)
    scatter = np.sum(np.abs(found - found.mean(axis=0)) ** 2, axis=0)
    error: FloatArray = np.sqrt(scatter / (count * (count - 1)))
    return error


def _attrs(attrs: Mapping[Any, Any]) -> dict[str, str | float]:
    names = ("engine", "scenario", "not_modelled", "interrupted", "seed")
    return {name: attrs[name] for name in names if name in attrs}
