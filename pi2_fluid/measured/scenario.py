"""`scenario_of`: what a measurement says of rate, path, queue and flows, as a scenario."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.measured.changes_said import changes_of, rates_in
from pi2_fluid.measured.evenly import flow_labels, sent_by
from pi2_fluid.measured.flows_said import flows_of, least_round_trip
from pi2_fluid.measured.queue_said import QueueSaid, queue_of_kind, queue_of_text
from pi2_fluid.network.link import Link
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.units import parse_quantity, rate_in_words, validate_quantity

if TYPE_CHECKING:
    import xarray as xr

    from pi2_fluid.values import Quantity

_FRAME: Final = 66.0  # bytes around a segment: Ethernet, IP, TCP with time stamps
_FULL: Final = 1514.0  # bytes of a full packet, as Linux counts it on Ethernet
_USUAL_SEGMENT: Final = 1400.0  # from which a segment fills a packet, whatever IP it is of
_USUAL_PATH: Final = 0.040  # s, where nothing says it
_LONGEST: Final = 1_000_000  # s of a measurement; beyond it somebody set the clock
_WINDOW: Final = 1.0  # s, of which throughput is taken to tell the rate
_SHORTEST: Final = 1.0  # s


@dataclass(frozen=True)
class Described:
    """A scenario that was read off a measurement, and how much of it is known.

    Parameters
    ----------
    scenario : Scenario
        Its flows have the names that they have in the measurement.
    said : dict of str to str
        By part what the measurement, or its reader, says: a sentence each.
    assumed : dict of str to str
        By part what nothing says, and what is assumed instead: a sentence each.
    zero : float
        When the scenario begins, in the time of the measurement (s): 0, or before its first sample
        if that is of the time before it.
    goodput : float
        Part of a packet that is data: goodput over rate on the wire.

    Examples
    --------
    >>> from pi2_fluid.measured.dataset import Measurement
    >>> measurement = Measurement("mine", about={"rate": 10e6, "rtt": 0.02})
    >>> measurement.add("throughput", "a", [1.0, 2.0, 3.0], [9e6, 9.2e6, 9.5e6])
    >>> described = scenario_of(measurement.to_dataset())
    >>> sorted(described.assumed)
    ['buffer', 'ecn', 'queue', 'senders', 'shaper']
    """

    scenario: Scenario
    said: Mapping[str, str]
    assumed: Mapping[str, str]
    zero: float = 0.0
    goodput: float = 1.0

    def __str__(self) -> str:
        lines = ["Said:", *(f"  {part}: {text}" for part, text in self.said.items())]
        if self.assumed:
            lines += ["Assumed:", *(f"  {part}: {text}" for part, text in self.assumed.items())]
        return "\n".join(lines)


@dataclass
class _Notes:
    said: dict[str, str] = field(default_factory=dict)
    assumed: dict[str, str] = field(default_factory=dict)


def require_measured(data: object, name: str = "measured") -> xr.Dataset:
    """Return a measurement, or refuse what is none.

    Raises
    ------
    QuantityError
        If it is no Dataset that `pi2_fluid.measured.read` returns.
    """
    attrs: Any = getattr(data, "attrs", None)
    if not (hasattr(data, "data_vars") and attrs and {"format", "clock", "about"} <= set(attrs)):
        raise QuantityError(
            f"{name} = {show_value(data)} is no measurement: give what pf.measured.read returns."
        )
    return data  # type: ignore[return-value]  # asked for by its members


def scenario_of(
    measured: xr.Dataset,
    *,
    capacity: Quantity | None = None,
    base_rtt: Quantity | None = None,
    aqm: Aqm | str | None = None,
) -> Described:
    """Return the scenario that a measurement describes, and which parts of it are assumed.

    Parameters
    ----------
    measured : xarray.Dataset
        As `pf.measured.read` returns it, with a throughput.
    capacity : float or str, optional
        The link's rate (bit/s). Default: what the measurement says in a title, in a shaper of tc,
        or at its start; else what all flows together reached.
    base_rtt : float or str, optional
        Round-trip time of the path without queue (s). Default: what the measurement says; else
        the least round trip in it.
    aqm : Aqm or str, optional
        The queue, or the name of its kind. Default: what tc shows in it, or its title names; else
        tail drop.

    Returns
    -------
    Described
        The scenario, what was said, and what is assumed.

    Raises
    ------
    QuantityError, DomainError
        If it is no measurement, nothing in it says who sends, or an argument is no number.

    Notes
    -----
    A scenario is of one link. Of flows in both directions it has those of the direction that sends
    more, and says so. It begins and ends with the measurement. Each flow is a class of its own, and
    starts and stops when the measurement first and last sees it. The queue has the numbers that tc
    shows, else those of Linux by default.

    Examples
    --------
    >>> from pi2_fluid.measured.dataset import Measurement
    >>> about = {"title": "50Mbit 20ms dualpi2", "senders": {"a": "cubic", "b": "prague"}}
    >>> measurement = Measurement("mine", about=about)
    >>> for flow in "ab":
    ...     measurement.add("throughput", flow, [1.0, 2.0, 3.0], [20e6, 23e6, 25e6])
    >>> described = scenario_of(measurement.to_dataset())
    >>> scenario = described.scenario
    >>> scenario.class_names, scenario.link.capacity, scenario.aqm.step
    (('a', 'b'), 50000000.0, 0.001)
    """
    data = require_measured(measured)
    about = {**_of_title(data), **json.loads(data.attrs["about"])}
    notes = _Notes()
    if not flow_labels(data):
        raise QuantityError(
            "the measurement has no throughput, so nothing says who sends: give one with flows, or"
            " write the scenario yourself."
        )
    end = float(np.nanmax(data["time"].to_numpy()))
    if end > _LONGEST:
        raise QuantityError(
            f"the measurement lasts {end:.4g} s, and {_LONGEST} s are the most that is run: give a"
            " part of it, or look at its times, as where somebody set the clock."
        )
    queue = _queue(about, aqm, notes)
    goodput = _goodput(about)
    rate = _rate(data, about, queue, capacity, goodput, notes)
    path = _path(data, about, queue, base_rtt, notes)
    zero = min(0.0, *(sent_by(data, label).start for label in flow_labels(data)))
    flows = flows_of(data, about, path, goodput, zero, notes.said, notes.assumed)
    buffer = _buffer(queue, notes)
    notes.assumed["shaper"] = "a token bucket (htb) shapes the link, as testbeds do"
    if queue.rate is not None:
        notes.said["shaper"] = notes.assumed.pop("shaper")
    changes = changes_of(data, str(about.get("title", "")), rate, goodput, zero)
    if changes:
        steps = ", ".join(
            f"{rate_in_words(float(one.capacity or 0.0))} from {one.at:.3g} s" for one in changes
        )
        notes.assumed["changes of the rate"] = f"the title has two rates: {steps}, by throughput"
    scenario = Scenario(
        max(_SHORTEST, round(end - zero, 3)),
        Link(rate, buffer, packet_size=_packet(about), kind="htb"),
        queue.aqm,
        flows,
        changes,
        name=str(about.get("title", "")),
    )
    return Described(scenario, notes.said, notes.assumed, zero, goodput)


_RTT: Final = re.compile(
    r"rtt[:=\s_-]*(\d+(?:\.\d+)?\s*m?s)\b|\b(\d+(?:\.\d+)?ms)\b", re.IGNORECASE
)


def _of_title(data: xr.Dataset) -> dict[str, Any]:
    """Return what a title says, as "50Mbit 20ms dualpi2"; what a reader said goes before it."""
    title = str(json.loads(data.attrs["about"]).get("title", ""))
    parts: dict[str, Any] = {}
    if rates := rates_in(title):
        parts["rate"] = rates[0]
    if path := _RTT.search(title):
        with contextlib.suppress(QuantityError):
            parts["rtt"] = parse_quantity((path[1] or path[2]).replace(" ", ""), "time")
    for word in re.findall(r"qdisc[:=](\w+)", title) or re.findall(r"[A-Za-z]\w+", title):
        with contextlib.suppress(QuantityError):
            queue_of_kind(word)
            parts["qdisc"] = word
            break
    return parts


def _queue(about: dict[str, Any], given: Aqm | str | None, notes: _Notes) -> QueueSaid:
    """Return the queue: as given, as tc shows it, or as its name says."""
    texts = [str(about[key]) for key in ("qdisc", "tc_after", "tc_before") if about.get(key)]
    shown = [queue for text in texts if "qdisc" in text and (queue := queue_of_text(text))]
    if given is not None:
        queue = queue_of_kind(given) if isinstance(given, str) else _law(given)
        notes.said["queue"] = f"{type(queue.aqm).__name__}, as given"
        return queue._replace(
            rate=shown[0].rate if shown else None, delay=shown[0].delay if shown else None
        )
    if shown:
        notes.said["queue"] = f"tc shows {shown[0].kind}"
        if not shown[0].numbered:
            notes.assumed["numbers of the queue"] = "tc shows none: Linux's defaults"
        return shown[0]
    kind = str(about.get("qdisc", ""))
    if kind:
        with contextlib.suppress(QuantityError):
            queue = queue_of_kind(kind)
            notes.said["queue"] = f"it names {kind}"
            notes.assumed["numbers of the queue"] = "nothing says them: Linux's defaults"
            return queue
        notes.assumed["queue"] = f"it names {kind}, which has no law here: tail drop instead"
    else:
        notes.assumed["queue"] = "nothing says which: tail drop"
    return queue_of_kind("taildrop")


def _law(aqm: object) -> QueueSaid:
    if not isinstance(aqm, Aqm):
        raise QuantityError(f"aqm = {show_value(aqm)} is no queue: give e.g. pf.Pie().")
    return QueueSaid(type(aqm).__name__.lower(), aqm, numbered=True)


def _buffer(queue: QueueSaid, notes: _Notes) -> float | None:
    if queue.buffer is None:
        notes.assumed["buffer"] = "nothing says how many packets the queue holds: 250 ms of them"
        return None
    if queue.numbered:
        notes.said["buffer"] = f"the queue holds {queue.buffer:g} packets"
    else:
        notes.assumed["buffer"] = f"Linux's default of {queue.buffer:g} packets"
    return queue.buffer


def _packet(about: dict[str, Any]) -> float:
    segment = about.get("segment")
    return float(segment) + _FRAME if segment and float(segment) < _USUAL_SEGMENT else _FULL


def _goodput(about: dict[str, Any]) -> float:
    packet = _packet(about)
    segment = float(about.get("segment") or packet - _FRAME)
    return segment / packet if segment < packet else (packet - _FRAME) / packet


def _rate(
    data: xr.Dataset,
    about: dict[str, Any],
    queue: QueueSaid,
    given: Quantity | None,
    goodput: float,
    notes: _Notes,
) -> float:
    """Return the link's rate (bit/s)."""
    if given is not None:
        rate = float(validate_quantity(given, "rate", "capacity"))
        notes.said["rate"] = f"{rate_in_words(rate)}, as given"
        return rate
    for told, text in ((queue.rate, "a shaper of tc has"), (about.get("rate"), "it says")):
        if told:
            notes.said["rate"] = f"{text} {rate_in_words(float(told))}"
            return float(told)
    sent = [sent_by(data, label) for label in flow_labels(data)]
    begin, end = min(one.start for one in sent), max(one.stop for one in sent)
    count = max(1, int((end - begin) / _WINDOW))
    edges = np.linspace(begin, end, count + 1)
    reached = float(np.quantile(np.sum([one.rates(edges) for one in sent], axis=0), 0.95))
    if not reached > 0.0:
        raise QuantityError(
            "the flows of the measurement sent nothing, so nothing says the link's rate: give"
            " capacity= (--rate in the shell), or another measurement."
        )
    rate = reached / goodput
    notes.assumed["rate"] = (
        f"nothing says it: {rate_in_words(rate, 3)}, which all flows together reached"
    )
    return rate


def _path(
    data: xr.Dataset,
    about: dict[str, Any],
    queue: QueueSaid,
    given: Quantity | None,
    notes: _Notes,
) -> float:
    """Return the round-trip time without queue (s)."""
    if given is not None:
        path = float(validate_quantity(given, "time", "base_rtt", closed=True))
        notes.said["path"] = f"{1e3 * path:.4g} ms, as given"
        return path
    for told, text in ((about.get("rtt"), "it says"), (queue.delay, "netem of tc has")):
        if told:
            notes.said["path"] = f"{text} {1e3 * float(told):.4g} ms"
            return float(told)
    least = least_round_trip(data)
    if least is None:
        notes.assumed["path"] = f"nothing says it: {1e3 * _USUAL_PATH:g} ms"
        return _USUAL_PATH
    path, whose = least
    notes.assumed["path"] = f"nothing says it: {1e3 * path:.4g} ms, the least of {whose}"
    return path
