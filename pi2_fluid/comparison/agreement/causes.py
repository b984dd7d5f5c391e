"""Why fluid and packets part: a short list of causes, each checked against scenario and results.

A cause is named for a number only if it bears on such numbers and its condition holds. Where none
does, that is said, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pi2_fluid.comparison.agreement.places import (
    Place,
    at_place,
    capacity_before,
    classic_of,
    delay_of_route,
    signals_of,
)
from pi2_fluid.errors import DomainError, SolverError, UnsupportedError
from pi2_fluid.laws.gains import has_gains
from pi2_fluid.network.routes import on_their_ways
from pi2_fluid.network.scenario import Scenario

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.network.flows import Flows

#: What is said where no cause of the list holds.
UNKNOWN: Final = "no cause that we know of holds here: look closer"
#: What is said of two fluids.
UNLISTED: Final = "causes are known only where an engine simulates packets"

_MOST: Final = 2  # causes named for one number
_CLAMPED: Final = 0.02  # of the time
_SMALL_WINDOW: Final = 4.0  # segments: three duplicate acknowledgements need as many
_LAW: Final = 0.05  # how far the window may be from its law's
_STUCK: Final = 1.2  # of the law's window
_SAWTOOTH: Final = 0.25  # of the queue
_SPARE: Final = 1.3  # what the controller asks for, over signals
_CYCLE: Final = 0.01  # damping
_QUIET: Final = 0.25  # of what is between the packets' quartiles
_LOST: Final = 0.02  # of what would arrive
_ACKS: Final = 0.01  # of the capacity
_RATE: Final = 1000.0  # packets per second: a link to ask at what delay a queue rests
_WAIT: Final = 0.05  # of a round-trip time


class FlowFacts(NamedTuple):
    """What a class of flows that obeys signals does in packets."""

    name: str
    classic: bool
    window: float
    """Segments of one flow, the mean."""
    signals: float
    """Part of its packets that is marked or dropped."""
    law: float
    """Segments that the window law has at these signals; NaN if it has none there."""
    integers: str
    """What lets its windows outgrow its law in integers: `Sender.lost_in_integers`."""
    averaged: str
    """What its law has on average that packets do at times: `Sender.averages`."""
    waits: float = 0.0
    """Part of its round-trip time that acknowledgements wait in queues on their way back."""
    guesses: bool = False
    """Whether it reads a price from its marks, which moves its rate at once."""
    unsent: float = 0.0
    """What it sends less than its mean window in a round trip, as a part of that, if it guesses."""


class Facts(NamedTuple):
    """What the causes are checked against, of one link."""

    flows: tuple[FlowFacts, ...]
    backlog: float
    """Mean backlog of packets (packets)."""
    slot: float
    """Time that a packet takes on the link at its slowest (s)."""
    step: float
    """Delay from which a dual queue marks every L4S packet (s); infinite without one."""
    unresponsive: float
    """Largest part of the capacity that traffic offers which ignores signals."""
    clamped: tuple[float, float]
    """Part of the time that the controller is at 0 or at its limit: in the fluid, in packets."""
    spread: tuple[float, float]
    """Between the quartiles over time of the (Classic) queue's delay (s): in the fluid, in packets.

    These say of most of the time; a standard deviation, of changes in between as well.
    """
    late_starts: bool
    """Whether slow start happens within the stretch."""
    spare: float
    """Controller over signals, of a queue that spares packets; 1 otherwise."""
    aims: bool
    """Whether the queue holds its delay at a target, or at nothing, whatever its p."""
    damping: float
    """Of the fluid's oscillation; 0 of a cycle."""
    lost: float = 0.0
    """Part of what would arrive that packets lose at other links on the way here."""
    acks: float = 0.0
    """Part of the capacity that acknowledgements take."""


def gather_facts(
    scenario: Scenario,
    place: Place,
    fluid: xarray.Dataset,
    packets: xarray.Dataset,
    of_packets: xarray.Dataset,
    after: float,
    damping: float,
) -> Facts:
    """Return the facts of two runs at one link.

    Parameters
    ----------
    scenario : Scenario
        What was run.
    place : Place
        The link.
    fluid, packets : xarray.Dataset
        Both results, from `after` on.
    of_packets : xarray.Dataset
        The summary of packets as medians over the seeds.
    after : float
        Where the stretch begins (s).
    damping : float
        Of the fluid's oscillation.
    """
    flows = [scenario.flows[index] for index in place.classes]
    announced = on_their_ways(
        scenario.flows,
        {node.name: node.aqm for node in scenario.network.nodes},
        scenario.packet_size,
    )
    lost = _lost_before(scenario, place, packets)
    sending = packets["active_flows"].mean(("seed", "time"))
    fluid, packets = (at_place(run, place) for run in (fluid, packets))
    here = at_place(of_packets, place)
    slowest = float(fluid["capacity"].min())
    aqm, queue = place.node.aqm, packets["queue"]
    offered = sum(
        min(
            float(flow.count) * float(flow.sender.constant_rate),
            capacity_before(scenario, flow, place),
        )
        for flow in flows
        if flow.sender.constant_rate is not None
    )
    return Facts(
        flows=tuple(
            _flow_facts(
                scenario.class_names[index],
                announced[index],
                index,
                of_packets,
                8.0 * float(scenario.packet_size) * float(sending.isel(flows=index)),
            )
            for index in place.classes
            if announced[index].sender.signal is not None
        ),
        backlog=float((queue.sum("band") if "band" in queue.dims else queue).mean()),
        slot=8.0 * float(scenario.packet_size) / slowest,
        step=float(aqm.marking_step),
        unresponsive=offered / slowest,
        clamped=(_clamped(aqm, fluid), _clamped(aqm, packets)),
        spread=(_swing(fluid), _swing(packets)),
        late_starts=any(f.slow_start and float(f.start) >= after for f in flows)
        or any(change.counts and float(change.at) >= after for change in scenario.changes),
        spare=_spare(aqm, packets, here),
        aims=_aims(aqm),
        damping=damping,
        lost=lost,
        acks=_acks(place, packets),
    )


def _flow_facts(
    name: str, flow: Flows, index: int, means: xarray.Dataset, bits: float
) -> FlowFacts:
    """Return what a class does, whose sender knows its segments and the queues on its route.

    `bits` are those of one segment of each of its flows.
    """
    signals, sender = signals_of(means, index), flow.sender
    window = float(means["window_mean"].isel(flows=index))
    waits = delay_of_route(means, index, back=True)
    rtt = float(flow.base_rtt) + delay_of_route(means, index) + waits
    law = math.nan
    if 0.0 < signals <= 1.0:
        try:
            state = sender.at_rest(rtt, signals)
            law = float(sender.sending_rate_under(state, signals, rtt)) * rtt
        except (DomainError, UnsupportedError):
            law = math.nan
    return FlowFacts(
        name=name,
        classic=sender.signal == "classic",
        window=window,
        signals=signals,
        law=law,
        integers=sender.lost_in_integers,
        averaged=sender.averages,
        waits=waits / rtt,
        guesses=sender.answers_at_once,
        unsent=1.0 - float(means["throughput"].isel(flows=index)) / bits * rtt / window
        if sender.answers_at_once and bits * window > 0.0
        else 0.0,
    )


def _lost_before(scenario: Scenario, place: Place, packets: xarray.Dataset) -> float:
    """Return what part of the packets on their way to a link is dropped at those before it."""
    if not place.name:
        return 0.0
    arrived = packets["arrivals"].sum(("seed", "time"))
    dropped = packets["drops"].sum(("seed", "time"))
    lost = 0.0
    for index in place.classes:
        route = list(scenario.flows[index].route or ())
        before = route[: route.index(place.name)]
        lost += float(dropped.isel(flows=index).sel(link=before).sum())
    return lost / max(1.0, lost + float(arrived.sel(link=place.name).sum()))


def _acks(place: Place, packets: xarray.Dataset) -> float:
    """Return what part of a link acknowledgements take, `packets` being those there."""
    if not place.name:
        return 0.0
    others = np.delete(np.arange(packets.sizes["flows"]), place.classes)
    back = packets["throughput"].isel(flows=others).sum("flows").mean("seed")
    return float((back / packets["capacity"]).mean())


def _clamped(aqm: Aqm, run: xarray.Dataset) -> float:
    if not has_gains(aqm):
        return 0.0
    u = run["controller"].to_numpy()
    # Packets report a law's integers, which stop a little below the limit.
    return float(np.mean((u <= 0.0) | (u >= (1.0 - 1e-6) * float(aqm.clips_at))))


def _aims(aqm: Aqm) -> bool:
    """Return whether a queue rests with the same delay, whatever its p."""
    try:
        low, high = (aqm.at_rest(part * aqm.highest, _RATE)[1] for part in (0.25, 0.75))
    except (DomainError, SolverError, UnsupportedError):  # it rests nowhere
        return False
    return bool(np.allclose(np.asarray(low, float), np.asarray(high, float), rtol=1e-6))


def _swing(run: xarray.Dataset) -> float:
    low, high = classic_of(run["queue_delay"]).quantile([0.25, 0.75], "time")
    return float((high - low).mean())


def _spare(aqm: Aqm, packets: xarray.Dataset, means: xarray.Dataset) -> float:
    if not aqm.spares:
        return 1.0
    signals = float(means["drop_fraction"] + means["mark_fraction"])
    asked = float(aqm.encode(float(packets["controller"].mean())).classic)
    return asked / signals if signals > 0.0 else 1.0


# The causes: each returns a sentence, or nothing


def _overload(facts: Facts) -> str:
    if facts.unresponsive < 1.0:
        return ""
    return (
        f"traffic that ignores signals offers {facts.unresponsive:.3g} times the capacity, so the"
        " little that it leaves for the others is uncertain"
    )


def _clamp(facts: Facts) -> str:
    fluid, packets = facts.clamped
    if max(fluid, packets) < _CLAMPED:
        return ""
    return (
        "the controller is at 0 or at its limit, and does not control, for"
        f" {100 * fluid:.0f} % of the time in the fluid and {100 * packets:.0f} % in packets"
    )


def _timeouts(facts: Facts) -> str:
    small = [flow for flow in facts.flows if flow.window < _SMALL_WINDOW]
    if not small:
        return ""
    flow = min(small, key=lambda one: one.window)
    return (
        f"{flow.name} has windows of {flow.window:.2g} segments: below about 4, timeouts rule TCP,"
        " and the fluid has none"
    )


def _lattice(facts: Facts) -> str:
    if facts.slot < facts.step:
        return ""
    return (
        f"one packet takes {1e3 * facts.slot:.3g} ms of the link, and the step is"
        f" {1e3 * facts.step:.3g} ms: every L4S packet that waits for another is marked"
    )


def _integers(facts: Facts) -> str:
    for flow in facts.flows:
        if _stuck(flow):
            return (
                f"{flow.name} has {flow.window:.3g} segments where its law has {flow.law:.3g}:"
                f" {flow.integers}"
            )
    return ""


def _averages(facts: Facts) -> str:
    for flow in facts.flows:
        if flow.averaged:
            return f"the averaged law of {flow.name} {flow.averaged}"
    return ""


def _stuck(flow: FlowFacts) -> bool:
    return bool(flow.integers) and flow.window > _STUCK * flow.law


def _constant(facts: Facts) -> str:
    known = [flow for flow in facts.flows if math.isfinite(flow.law) and not _stuck(flow)]
    off = [flow for flow in known if abs(flow.window / flow.law - 1.0) > _LAW]
    if not off:
        return ""
    flow = max(off, key=lambda one: abs(math.log(one.window / one.law)))
    root = math.sqrt(flow.signals) if flow.classic else flow.signals
    what = "W sqrt(p)" if flow.classic else "W p"
    return (
        f"sawteeth under random signals: {what} of {flow.name} is {root * flow.window:.2f} in"
        f" packets, {root * flow.law:.2f} by its law"
    )


def _guesses(facts: Facts) -> str:
    off = [flow for flow in facts.flows if flow.guesses and flow.unsent > _LAW]
    if not off:
        return ""
    flow = max(off, key=lambda one: one.unsent)
    return (
        f"{flow.name} guesses its price from few marks, and sends"
        f" {100 * flow.unsent:.0f} % less than its mean window in a round trip"
    )


def _moved(facts: Facts) -> str:
    sentence = "" if facts.aims else _constant(facts)
    return f"{sentence}; the delay of this queue follows its p" if sentence else ""


def _wander(facts: Facts) -> str:
    if facts.damping > _CYCLE:
        return ""
    return "the fluid's cycle repeats exactly; in packets chance shifts its phase"


def _spacing(facts: Facts) -> str:
    if facts.spare < _SPARE:
        return ""
    return (
        "the queue spares packets while few wait, so it asks for"
        f" {facts.spare:.2f} times what it drops"
    )


def _upstream(facts: Facts) -> str:
    if facts.lost < _LOST:
        return ""
    return (
        f"links before this one drop {100 * facts.lost:.1f} % of what would arrive; the fluid"
        " carries it on"
    )


def _way_back(facts: Facts) -> str:
    if facts.acks >= _ACKS:
        return f"acknowledgements take {100 * facts.acks:.1f} % of the link, and the fluid has none"
    slow = max(facts.flows, key=lambda flow: flow.waits, default=None)
    if slow is None or slow.waits < _WAIT:
        return ""
    return (
        f"acknowledgements of {slow.name} spend {100 * slow.waits:.0f} % of its round-trip time in"
        " queues, and do not in the fluid"
    )


def _slow_start(facts: Facts) -> str:
    if not facts.late_starts:
        return ""
    return (
        "flows start within the stretch: a class leaves slow start together in the fluid, flow by"
        " flow in packets"
    )


def _sawtooth(facts: Facts) -> str:
    cut = [flow for flow in facts.flows if not flow.guesses]
    if not cut or facts.backlog <= 0.0:
        return ""
    flow = max(cut, key=lambda one: one.window)
    share = 0.5 * flow.window / facts.backlog
    if share < _SAWTOOTH:
        return ""
    return (
        f"few flows: half a window of {flow.name} is {100 * share:.0f} % of the mean backlog, so"
        " each sawtooth shows"
    )


def _chance(facts: Facts) -> str:
    fluid, packets = facts.spread
    if fluid >= _QUIET * packets:
        return ""
    return "the fluid settles, and chance in arrivals and signals keeps packets moving"


_DELAYS: Final = ("delay_mean", "queue_delay_mean")
_SPREADS: Final = ("delay_sd", "delay_p")
_SWING: Final = ("frequency", "damping")
_SIGNALS: Final = ("drop_fraction", "mark_fraction", "controller")
_SHARES: Final = ("throughput", "window")
_USE: Final = ("utilization",)
#: Cause, and how the names begin of the numbers that it bears on; what is most telling comes first.
_CAUSES: Final[tuple[tuple[Callable[[Facts], str], tuple[str, ...]], ...]] = (
    (_overload, (*_DELAYS, *_SIGNALS, *_SHARES)),
    (_way_back, (*_SIGNALS, *_SHARES, *_SWING, *_USE)),
    (_upstream, (*_SIGNALS, *_SHARES, *_USE)),
    (_wander, ("damping",)),
    (_clamp, (*_DELAYS, *_SPREADS, *_SWING, *_SIGNALS, *_SHARES, *_USE)),
    (_lattice, (*_SIGNALS, *_SHARES)),
    (_timeouts, (*_SIGNALS, *_SHARES, *_SWING)),
    (_integers, (*_SIGNALS, *_SHARES, *_SWING)),
    (_averages, (*_SPREADS, *_SWING)),
    (_spacing, ("controller",)),
    (_guesses, (*_SIGNALS, *_SHARES)),
    (_constant, (*_SIGNALS, *_SHARES, *_SWING)),
    (_moved, (*_DELAYS, *_SPREADS)),
    (_slow_start, (*_DELAYS, *_SPREADS, *_SIGNALS, *_USE)),
    (_sawtooth, (*_DELAYS, *_SPREADS, *_SWING, *_USE)),
    (_chance, (*_SPREADS, *_DELAYS, *_USE)),
)


def name_causes(facts: Facts | Mapping[str, Facts], name: str) -> str:
    """Return why a number differs: the causes that hold, two at most, as one sentence.

    Of several links, which are all that bear on the number, a cause says where it holds.
    """
    places = facts if isinstance(facts, Mapping) else {"": facts}
    sentences: list[str] = []
    for cause, prefixes in _CAUSES:
        if name.startswith(prefixes) and len(sentences) < _MOST:
            found: dict[str, list[str]] = {}
            for place, mine in places.items():
                found.setdefault(cause(mine), []).append(place)
            found.pop("", None)
            sentences += [
                sentence if len(where) == len(places) else f"at {', '.join(where)}: {sentence}"
                for sentence, where in found.items()
            ]
    return "; ".join(sentences[:_MOST]) if sentences else UNKNOWN
