"""What a measurement has, and what it would have had of a run: both by one set of definitions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.comparison.measurement.probes import as_printed, resolution_of, waits_at
from pi2_fluid.measured.dataset import samples_of
from pi2_fluid.measured.evenly import sent_by

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.measured.scenario import Described
    from pi2_fluid.values import FloatArray

_HOST: Final = 0.05  # part of the path by which hosts may lengthen the least round trip
_LEVELS: Final = (50, 95, 99)


@dataclass(frozen=True)
class Value:
    """A number, in each seed if there are any."""

    units: str
    seeds: FloatArray
    """(seeds,)."""
    printed: float = 0.0
    """By how much it may be off as it was printed."""
    base: float = 0.0
    """Part of it that no queue makes: the path of a round trip."""


@dataclass
class Observed:
    """What is seen between two times: of a measurement one row, of packets one for each seed."""

    rates: dict[str, FloatArray] = field(default_factory=dict)
    """Goodput of each flow (bit/s): (seeds,)."""
    probes: dict[str, FloatArray] = field(default_factory=dict)
    """Round trips of each probe (s): (seeds, samples)."""
    rtts: dict[str, FloatArray] = field(default_factory=dict)
    """Mean round-trip time that each sender smooths (s): (seeds,)."""
    windows: dict[str, FloatArray] = field(default_factory=dict)
    """Mean window of each flow (packets): (seeds,)."""
    shares: dict[str, FloatArray] = field(default_factory=dict)
    """Parts of packets, as of those marked: (seeds,)."""


def observe_measured(
    data: xarray.Dataset, described: Described, begin: float, end: float
) -> Observed:
    """Return what a measurement has between two times of the scenario (s)."""
    low, high = begin + described.zero, end + described.zero
    seen = Observed()
    for label in described.scenario.class_names:
        seen.rates[label] = np.array([sent_by(data, label).rate(low, high)])
        for name, kept in (("tcp_rtt", seen.rtts), ("window", seen.windows)):
            if name in data:
                times, values = samples_of(data, name, label)
                inside = values[(times >= low) & (times <= high)]
                if inside.size:
                    kept[label] = np.array([inside.mean()])
    for label, (_, values) in probes_in(data, low, high).items():
        seen.probes[label] = values[None, :]
    seen.shares = _counted(data, low, high)
    return seen


def _counted(data: xarray.Dataset, low: float, high: float) -> dict[str, FloatArray]:
    """Return which parts of the packets were marked and dropped, by the counters of the queue.

    Of several queues in the measurement it is that which sent the most packets.
    """
    if "packets" not in data or "band" not in data["packets"].dims:
        return {}
    grown = {}
    for name in ("packets", "ecn_mark", "drops", "dropped"):
        for label in data["band"].to_numpy() if name in data else []:
            times, values = samples_of(data, name, str(label))
            inside = values[(times >= low) & (times <= high)]
            if inside.size > 1:
                grown[name, str(label)] = float(inside[-1] - inside[0])
    sent = {label: count for (name, label), count in grown.items() if name == "packets"}
    if not sent or max(sent.values()) <= 0.0:
        return {}
    label = max(sent, key=lambda one: sent[one])
    lost = max(grown.get(("drops", label), 0.0), grown.get(("dropped", label), 0.0))
    found = {"drop_fraction": np.array([lost / (sent[label] + lost)])}
    if ("ecn_mark", label) in grown:
        found["mark_fraction"] = np.array([grown["ecn_mark", label] / sent[label]])
    return found


def probes_in(
    data: xarray.Dataset, low: float, high: float
) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return of each probe when it was answered between two times, and its round trips (s)."""
    found = {}
    for label in data["probe"].to_numpy() if "delay" in data else []:
        times, values = samples_of(data, "delay", str(label))
        inside = np.isfinite(values) & (times >= low) & (times <= high)
        if inside.any():
            found[str(label)] = (times[inside], values[inside])
    return found


def base_of_probe(data: xarray.Dataset, described: Described, probe: str) -> float:
    """Return the round trip of a probe without queue (s).

    It is the least that it ever had, which has the hosts in it, if that is near the path's; else
    the path's own.
    """
    path = float(described.scenario.flows[0].base_rtt)
    _, values = samples_of(data, "delay", probe)
    least = float(np.nanmin(values))
    return least if path <= least <= (1.0 + _HOST) * path else path


def observe_run(
    run: xarray.Dataset,
    data: xarray.Dataset,
    described: Described,
    begin: float,
    end: float,
) -> Observed:
    """Return what the measurement would have had of a run, between two times of the scenario (s).

    Goodput is the data in what leaves the link. A probe meets the queue at the instants at which
    the measurement had one, and is printed in as many digits.
    """
    late = run.sel(time=slice(begin, end))
    seen = Observed()
    there = observe_measured(data, described, begin, end)
    for index, label in enumerate(described.scenario.class_names):
        flow = described.scenario.flows[index]
        mine = late.isel(flows=index)
        seen.rates[label] = described.goodput * _mean(mine["throughput"])
        if label in there.windows and flow.sender.signal is not None:
            seen.windows[label] = _mean(mine["window"])
        if label in there.rtts and flow.sender.signal is not None:
            seen.rtts[label] = float(flow.base_rtt) + _waited(mine)
    if there.shares and "departures" in late:
        left, lost, marked = (
            np.atleast_1d(late[name].sum(("time", "flows")).to_numpy()).astype(float)
            for name in ("departures", "drops", "marks")
        )
        seen.shares["drop_fraction"] = lost / np.maximum(left + lost, 1.0)
        seen.shares["mark_fraction"] = marked / np.maximum(left, 1.0)
    low, high = begin + described.zero, end + described.zero
    for probe, (times, values) in probes_in(data, low, high).items():
        waits, _ = waits_at(run, described.scenario, times - described.zero)
        met = base_of_probe(data, described, probe) + waits
        seen.probes[probe] = as_printed(met, resolution_of(values))
    return seen


def _mean(values: xarray.DataArray) -> FloatArray:
    return np.atleast_1d(values.mean("time").to_numpy())


def _waited(mine: xarray.Dataset) -> FloatArray:
    """Return the mean delay of a class over time (s), as tools that ask TCP at times see it."""
    if "class_sojourn" not in mine:
        delay = mine["queue_delay"]
        if "band" in delay.dims:
            delay = delay.isel(band=int(mine["band_of"]))
        return _mean(delay)
    return _mean(mine["class_sojourn"])


def _step_at(delays: FloatArray) -> float:
    """Return the step (s) in which the median of delays was printed."""
    middle = float(np.median(delays))
    return next(step for low, high, step in resolution_of(delays) if low <= middle < high)


def values_of(seen: Observed, capacity: float, goodput: float, path: float) -> dict[str, Value]:
    """Return the numbers of what was seen, by name.

    Parameters
    ----------
    seen : Observed
    capacity : float
        Of the link over the stretch, its mean (bit/s).
    goodput : float
        Part of a packet that is data.
    path : float
        Round-trip time without queue (s).
    """
    total = np.sum(list(seen.rates.values()), axis=0)
    numbers = {f"throughput.{label}": Value("bit/s", rate) for label, rate in seen.rates.items()}
    if len(seen.rates) > 1:
        least = np.maximum(total, np.finfo(float).tiny)
        numbers |= {
            f"share.{label}": Value("1", rate / least) for label, rate in seen.rates.items()
        }
    if len(seen.rates) == 2:
        first, second = seen.rates.values()
        numbers["rate_ratio"] = Value("1", first / np.maximum(second, np.finfo(float).tiny))
    numbers["utilization"] = Value("1", total / (goodput * capacity))
    for label, delays in seen.probes.items():
        where = f".{label}" if len(seen.probes) > 1 else ""
        numbers[f"delay_mean{where}"] = Value("s", delays.mean(axis=1), base=path)
        printed = 0.5 * _step_at(delays[0])
        for level in _LEVELS:
            taken = np.quantile(delays, level / 100, axis=1)
            numbers[f"delay_p{level}{where}"] = Value("s", taken, printed, path)
    numbers |= {f"tcp_rtt.{label}": Value("s", rtt, base=path) for label, rtt in seen.rtts.items()}
    numbers |= {f"window.{label}": Value("packets", w) for label, w in seen.windows.items()}
    numbers |= {name: Value("1", part) for name, part in seen.shares.items()}
    return numbers
