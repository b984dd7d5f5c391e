"""`diagnose`: where a delay is, whether it oscillates, and whether the capacity changed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.comparison.diagnosis.recorded import loaded, own_delays, probe_of
from pi2_fluid.comparison.diagnosis.series import measured_of
from pi2_fluid.comparison.diagnosis.steps import Step, find_steps
from pi2_fluid.comparison.diagnosis.swings import LEAST_SAMPLES, find_swing
from pi2_fluid.measured.evenly import flow_labels, sent_by
from pi2_fluid.units import rate_in_words, validate_quantity

if TYPE_CHECKING:
    import xarray as xr

    from pi2_fluid.values import FloatArray, Quantity

_SECOND: Final = 1.0  # s, of which throughput is taken for steps
_REACTS: Final = 3.0  # s around a step, in which the delay is looked at
_ROSE: Final = 1.3  # of the delay of before, from which on it has reacted
_SHARE: Final = 0.5  # of the delay above the path, from which on a queue has most of it
_ANSWERS: Final = 10  # of ping, from which on a median says something
_LONGEST: Final = 1_000_000  # s of load; beyond it somebody set the clock
_GAPS: Final = 5  # usual steps for each sample, beyond which most of the time has no sample
_SECONDS: Final = 8  # of throughput, which a step needs to be seen
_KNOWN: Final = 0.001  # s above the path, below which there is nothing to find


@dataclass(frozen=True)
class Finding:
    """A sentence about a measurement, and what it rests on.

    Parameters
    ----------
    kind : {"where", "queue", "oscillation", "capacity"}
        Which question it answers.
    told : bool
        False where the measurement does not tell, and the sentence says what to record.
    text : str
        The answer.
    evidence : str
        The numbers that it rests on.

    Examples
    --------
    >>> print(Finding("where", True, "Ping takes 31 ms.", "median of 200 answers"))
    Ping takes 31 ms. (median of 200 answers)
    """

    kind: str
    told: bool
    text: str
    evidence: str

    def __str__(self) -> str:
        return f"{self.text} ({self.evidence})"


def diagnose(series: object, *, base_rtt: Quantity | None = None) -> list[Finding]:
    """Say where a delay is, whether it oscillates, and whether the capacity changed.

    Parameters
    ----------
    series : str, Path, Dataset, DataArray, Series, or a list or mapping of them
        A file that `pf.measured.read` reads, what that returns, or round-trip times (s) over time
        (s). A list of files, or of measurements, of the same time is joined first, see
        `pf.measured.join`. Of a mapping the keys are "delay" (round trips), "queue_delay" (the
        queue's own, as tc shows it), "throughput" (bit/s) and "tcp_rtt".
    base_rtt : float or str, optional
        Round-trip time of the path without queue (s). Default: what the file says, else the least
        round trip.

    Returns
    -------
    list of Finding
        Four questions: where the delay is, whether it is in the queue that was recorded, whether
        it oscillates, and whether the capacity changed. What cannot be told says what to record.

    Raises
    ------
    QuantityError
        If it is none of these, or a series has another name.
    OSError
        If a file cannot be opened.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> time = np.arange(0.0, 60.0, 0.1)
    >>> delay = 0.02 + 0.005 * (1.0 + np.sin(2.0 * np.pi * time / 2.0))
    >>> found = diagnose(xr.DataArray(delay, {"time": time}, "time"))
    >>> [one.text for one in found if one.kind == "oscillation"]
    ['The round trip of ping oscillates: period 2 s, amplitude 4.91 ms, damping ratio 0.01.']
    """
    data = measured_of(series)
    path, whose = _path(data, base_rtt)
    steps = _steps(data)
    return [
        *_where(data, path, whose),
        _in_queue(data, path),
        *_oscillations(data, steps),
        *_capacity(data, steps),
    ]


def _path(data: xr.Dataset, given: Quantity | None) -> tuple[float | None, str]:
    if given is not None:
        return float(validate_quantity(given, "time", "base_rtt", closed=True)), "as given"
    said = json.loads(str(data.attrs["about"])).get("rtt")
    if said:
        return float(said), "as the file says"
    _, values = probe_of(data)
    return (float(values.min()), "its least") if values.size else (None, "")


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms"


def _where(data: xr.Dataset, path: float | None, whose: str) -> list[Finding]:
    times, values = probe_of(data)
    begin, end = loaded(data)
    inside = values[(times >= begin) & (times <= end)]
    if inside.size < _ANSWERS or path is None:
        lost = int(data["lost"].to_numpy().sum()) if "lost" in data else 0
        some = f"{inside.size} round trips under load, {lost} probes lost; {_ANSWERS} are needed"
        return [
            Finding(
                "where",
                told=False,
                text="Where the delay is cannot be told: record ping -D -i 0.2 beside the load.",
                evidence=some if values.size or lost else "no round trips in it",
            )
        ]
    middle, high = (float(np.quantile(inside, level)) for level in (0.5, 0.99))
    if path > middle:
        return [
            Finding(
                "where",
                told=False,
                text=f"Ping takes {_ms(middle)}, which is less than the path of {_ms(path)}: give"
                " the round-trip time without queue.",
                evidence=f"median of {inside.size} answers; path {whose}",
            )
        ]
    above = middle - path
    if above < _KNOWN:
        text = (
            f"Ping takes {_ms(middle)}, within 1 ms of the path of {_ms(path)}: hosts may add that"
            " much without a queue."
        )
        numbers = f"median of {inside.size} answers, 99 % below {_ms(high)}; path {whose}"
        return [Finding("where", told=True, text=text, evidence=numbers)]
    return [
        Finding(
            "where",
            told=True,
            text=f"Of {_ms(middle)} that ping takes, {_ms(path)} are the path and"
            f" {_ms(above)} are queues, of either direction.",
            evidence=f"median of {inside.size} answers, 99 % below {_ms(high)}; path {whose}",
        )
    ]


def _in_queue(data: xr.Dataset, path: float | None) -> Finding:
    times, values = probe_of(data)
    _, delays, label = own_delays(data)
    begin, end = loaded(data)
    values = values[(times >= begin) & (times <= end)]
    if not delays.size or not values.size or path is None:
        missing = "the delay of a queue" if values.size else "round trips"
        return Finding(
            "queue",
            told=False,
            text="Whether this queue has the delay cannot be told: record tc -s qdisc show in a"
            " loop beside ping (pi2-fluid watch does).",
            evidence=f"{missing} not in it",
        )
    above = float(np.median(values)) - path
    mine = float(np.median(delays))
    if above < _KNOWN:
        text = f"There is next to no delay to find: {_ms(max(0.0, above))} above the path."
    elif mine >= _SHARE * above:
        text = f"The delay is in this queue: {_ms(mine)} of {_ms(above)} above the path."
    else:
        text = (
            f"The delay is elsewhere: this queue has {_ms(mine)} of {_ms(above)} above the path."
            " Look at the modem, Wi-Fi, or the other direction, or shape below the slowest link."
        )
    return Finding(
        "queue",
        told=True,
        text=text,
        evidence=f"median of {delays.size} delays that {label} shows, and of ping",
    )


def _even(times: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Return a series at even times: at its usual step, lost samples between their neighbours."""
    step = float(np.median(np.diff(times)))
    grid = np.arange(float(times[0]), float(times[-1]) + 0.5 * step, step)
    return grid, np.interp(grid, times, values), step


def _oscillations(data: xr.Dataset, steps: list[tuple[float, Step]]) -> list[Finding]:
    found = []
    times, values = probe_of(data)
    own_times, own, label = own_delays(data)
    for name, at, delays in (
        ("round trip of ping", times, values),
        (f"delay of {label}", own_times, own),
    ):
        if at.size:
            found.append(_oscillation(data, name, at, delays, steps))
    return found or [
        Finding(
            "oscillation",
            told=False,
            text="Whether the delay oscillates cannot be told: record ping -D -i 0.05, or tc in a"
            " loop.",
            evidence="no delays in it",
        )
    ]


def _oscillation(
    data: xr.Dataset,
    name: str,
    times: FloatArray,
    values: FloatArray,
    steps: list[tuple[float, Step]],
) -> Finding:
    begin, end = _stretch(data, steps)
    inside = (times >= begin) & (times <= end)
    if inside.sum() < LEAST_SAMPLES:
        return Finding(
            "oscillation",
            told=False,
            text=f"Whether the {name} oscillates cannot be told: record a longer load, or more"
            " often.",
            evidence=f"{int(inside.sum())} samples under a load that does not change, and"
            f" {LEAST_SAMPLES} are needed",
        )
    usual = float(np.median(np.diff(times[inside])))
    span = float(np.ptp(times[inside]))
    if not 0.0 < span <= _GAPS * usual * inside.sum():
        return Finding(
            "oscillation",
            told=False,
            text=f"Whether the {name} oscillates cannot be told: record at even times, without"
            " gaps.",
            evidence=f"{int(inside.sum())} samples in {span:.4g} s, half of them within"
            f" {_ms(usual)} of the one before",
        )
    _, even, step = _even(times[inside], values[inside])
    swing = find_swing(even, step)
    seen = f"periods from {2.0 * step:.2g} s to {even.size * step / 5.0:.3g} s can be seen"
    if swing is None:
        return Finding(
            "oscillation",
            told=True,
            text=f"The {name} does not oscillate more than noise does.",
            evidence=f"{even.size} samples, one in {step:.3g} s; {seen}",
        )
    return Finding(
        "oscillation",
        told=True,
        text=f"The {name} oscillates: period {swing.period:.2g} s, amplitude"
        f" {_ms(swing.amplitude)}, damping ratio {swing.damping:.2f}.",
        evidence=f"less than {100 * swing.chance:.2g} % of noise of the same memory is as clear;"
        f" {seen}",
    )


def _stretch(data: xr.Dataset, steps: list[tuple[float, Step]]) -> tuple[float, float]:
    """Return the longest time in which the same flows send at the same rate (s)."""
    sent = [sent_by(data, label) for label in flow_labels(data)]
    time = data["time"].to_numpy()
    edges = {float(np.nanmin(time)), float(np.nanmax(time)), *(at for at, _ in steps)}
    for one in sent:
        edges |= {one.start, one.stop}
    begin, end = loaded(data)
    ordered = sorted(edge for edge in edges if begin <= edge <= end)
    if len(ordered) < 2:
        return begin, end
    return max(pairwise(ordered), key=lambda pair: pair[1] - pair[0])


def _steps(data: xr.Dataset) -> list[tuple[float, Step]]:
    """Return when the throughput of all flows together changed, while all of them sent."""
    sent = [sent_by(data, label) for label in flow_labels(data)]
    if not sent:
        return []
    begin, end = max(one.start for one in sent) + _SECOND, min(one.stop for one in sent)
    if not 2.0 * _SECOND < end - begin < _LONGEST:
        return []
    edges = np.arange(begin, end, _SECOND)
    total = np.sum([one.rates(edges) for one in sent], axis=0)
    return [(float(edges[step.place]), step) for step in find_steps(total)]


def _capacity(data: xr.Dataset, steps: list[tuple[float, Step]]) -> list[Finding]:
    if not flow_labels(data):
        return [
            Finding(
                "capacity",
                told=False,
                text="Whether the capacity changed cannot be told: record the throughput of flows"
                " that fill the link, as iperf3 -J does.",
                evidence="no throughput in it",
            )
        ]
    if not steps:
        return [_no_step(data)]
    return [_reaction(data, at, step) for at, step in steps]


def _no_step(data: xr.Dataset) -> Finding:
    """Say what a throughput without a step means, as far as it is long enough to have one."""
    sent = [sent_by(data, label) for label in flow_labels(data)]
    together = min(one.stop for one in sent) - max(one.start for one in sent)
    if together > _LONGEST:
        return Finding(
            "capacity",
            told=False,
            text="Whether the capacity changed cannot be told: give a shorter part, or look at the"
            " times, as where somebody set the clock.",
            evidence=f"the flows seem to send for {together:.4g} s",
        )
    if together < _SECONDS + _SECOND:
        return Finding(
            "capacity",
            told=False,
            text="Whether the capacity changed cannot be told: record a longer load.",
            evidence=f"all flows send together for {max(0.0, together):.3g} s, and"
            f" {_SECONDS + _SECOND:g} s are needed",
        )
    return Finding(
        "capacity",
        told=True,
        text="The throughput has no step: if the flows filled the link, its capacity did not"
        " change.",
        evidence="means of a second, all flows together; steps of a fifth can be seen",
    )


def _reaction(data: xr.Dataset, at: float, step: Step) -> Finding:
    """Say what a step of the throughput means, by what the delay does then."""
    verb = "falls" if step.after < step.before else "rises"
    what = (
        f"At {at:.3g} s the throughput {verb} from {rate_in_words(step.before, 3)} to"
        f" {rate_in_words(step.after, 3)}"
    )
    times, values = probe_of(data)
    before = values[(times >= at - _REACTS) & (times < at - _SECOND)]
    since = values[(times >= at - _SECOND) & (times <= at + _REACTS)]
    if not before.size or not since.size:
        return Finding(
            "capacity",
            told=False,
            text=f"{what}. Whether the capacity did, or senders, cannot be told: record ping, too.",
            evidence="no round trips around it",
        )
    least = float(values.min())
    usual, peak = float(np.median(before)) - least, float(since.max()) - least
    evidence = (
        f"round trip above its least: median {_ms(usual)} before, at most {_ms(peak)} within"
        f" {_REACTS:g} s"
    )
    grew = peak > _ROSE * usual + _KNOWN
    if verb == "falls" and grew:
        return Finding(
            "capacity", True, f"{what}, and the delay jumps: the capacity fell.", evidence
        )
    if verb == "rises" and not grew:
        text = f"{what} without more delay: the capacity rose, or senders had left a part unused."
        return Finding("capacity", True, text, evidence)
    text = f"{what}. Senders may have done it: the delay does not say that the capacity changed."
    return Finding("capacity", False, text, evidence)
