"""Why fluid and packets part: a short list of causes, each checked against scenario and results.

A cause is named for a number only if it bears on such numbers and its condition holds. Where none
does, that is said, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pi2_fluid.errors import DomainError, UnsupportedError
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.aqms.pie import Pie
from pi2_fluid.laws.senders.dctcp import Dctcp
from pi2_fluid.network.scenario import Scenario

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.laws.aqm import Aqm

__all__ = ["UNKNOWN", "UNLISTED", "Facts", "FlowFacts", "gather_facts", "name_causes"]

#: What is said where no cause of the list holds.
UNKNOWN: Final = "none of the known causes holds here: look closer"
#: What is said of two fluids.
UNLISTED: Final = "causes are known where one engine at least simulates packets"

_MOST: Final = 2  # causes named for one number
_CLAMPED: Final = 0.02  # of the time
_SMALL_WINDOW: Final = 4.0  # segments: three duplicate acknowledgements need as many
_LAW: Final = 0.05  # how far the window may be from its law's
_STUCK: Final = 1.2  # of the law's window
_SAWTOOTH: Final = 0.25  # of the queue
_SPARE: Final = 1.3  # controller over signals
_CYCLE: Final = 0.01  # damping
_QUIET: Final = 0.25  # of the packets' standard deviation


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
    integers: bool
    """Whether it is a DCTCP that counts alpha in Linux's integers."""
    averaged: bool
    """Whether it is a DCTCP by its averaged law, which does not pause after a reduction."""


class Facts(NamedTuple):
    """What the causes are checked against."""

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
    """Standard deviation over time of the (Classic) queue's delay (s): in the fluid, in packets."""
    late_starts: bool
    """Whether slow start happens within the stretch."""
    spare: float
    """Controller over signals, of a PIE; 1 otherwise."""
    aims: bool
    """Whether the queue holds its delay at a target, whatever its p."""
    damping: float
    """Of the fluid's oscillation; 0 of a cycle."""


def gather_facts(
    scenario: Scenario,
    fluid: xarray.Dataset,
    packets: xarray.Dataset,
    of_packets: xarray.Dataset,
    after: float,
    damping: float,
) -> Facts:
    """Return the facts of two runs.

    Parameters
    ----------
    scenario : Scenario
        What was run.
    fluid, packets : xarray.Dataset
        Both results, from `after` on.
    of_packets : xarray.Dataset
        The summary of packets as medians over the seeds.
    after : float
        Where the stretch begins (s).
    damping : float
        Of the fluid's oscillation.
    """
    slowest = float(fluid["capacity"].min())
    packet = 8.0 * float(scenario.link.packet_size)
    delay = float(of_packets["delay_mean"])
    flows = tuple(
        _flow_facts(scenario, index, of_packets, delay)
        for index, flow in enumerate(scenario.flows)
        if flow.sender.signal is not None
    )
    aqm = scenario.aqm
    offered = sum(
        float(flow.count) * float(flow.sender.constant_rate)
        for flow in scenario.flows
        if flow.sender.constant_rate is not None
    )
    queue = packets["queue"]
    return Facts(
        flows=flows,
        backlog=float((queue.sum("band") if "band" in queue.dims else queue).mean()),
        slot=packet / slowest,
        step=float(aqm.marking_step),
        unresponsive=offered / slowest,
        clamped=(_clamped(aqm, fluid), _clamped(aqm, packets)),
        spread=(_swing(fluid), _swing(packets)),
        late_starts=any(f.slow_start and float(f.start) >= after for f in scenario.flows)
        or any(change.counts and float(change.at) >= after for change in scenario.changes),
        spare=_spare(aqm, packets, of_packets),
        aims=isinstance(aqm, PiFamily),
        damping=damping,
    )


def _flow_facts(scenario: Scenario, index: int, means: xarray.Dataset, delay: float) -> FlowFacts:
    flow = scenario.flows[index]
    mine = means.isel(flows=index)
    signals = float(mine["drop_fraction_of"] + mine["mark_fraction_of"])
    sender = flow.sender.on_link(scenario.link.packet_size)
    law = math.nan
    if 0.0 < signals <= 1.0:
        own = float(mine["delay_mean_of"]) if "band" in means.dims else delay
        try:
            state = sender.at_rest(float(flow.base_rtt) + own, signals)
            law = float(state[0] if isinstance(state, tuple) else state)
        except (DomainError, UnsupportedError):
            law = math.nan
    return FlowFacts(
        name=scenario.class_names[index],
        classic=flow.sender.signal == "classic",
        window=float(mine["window_mean"]),
        signals=signals,
        law=law,
        integers=isinstance(sender, Dctcp) and sender.variant == "linux",
        averaged=isinstance(sender, Dctcp) and sender.law == "rate",
    )


def _clamped(aqm: Aqm, run: xarray.Dataset) -> float:
    if not isinstance(aqm, PiFamily):
        return 0.0
    u = run["controller"].to_numpy()
    # Packets report a law's integers, which stop a little below the limit.
    return float(np.mean((u <= 0.0) | (u >= (1.0 - 1e-6) * float(aqm.limit))))


def _swing(run: xarray.Dataset) -> float:
    delay = run["queue_delay"]
    return float((delay.isel(band=0) if "band" in delay.dims else delay).std("time").mean())


def _spare(aqm: Aqm, packets: xarray.Dataset, means: xarray.Dataset) -> float:
    if not isinstance(aqm, Pie):
        return 1.0
    signals = float(means["drop_fraction"] + means["mark_fraction"])
    return float(packets["controller"].mean()) / signals if signals > 0.0 else 1.0


# The causes: each returns a sentence, or nothing


def _overload(facts: Facts) -> str:
    if facts.unresponsive < 1.0:
        return ""
    return (
        f"traffic that ignores signals offers {facts.unresponsive:.3g} times the capacity: what is"
        " left for the others is a small difference of large numbers"
    )


def _clamp(facts: Facts) -> str:
    fluid, packets = facts.clamped
    if max(fluid, packets) < _CLAMPED:
        return ""
    return (
        f"the controller is at 0 or at its limit for {100 * fluid:.0f} % of the time in the fluid"
        f" and {100 * packets:.0f} % in packets: it does not control then"
    )


def _timeouts(facts: Facts) -> str:
    small = [flow for flow in facts.flows if flow.window < _SMALL_WINDOW]
    if not small:
        return ""
    flow = min(small, key=lambda one: one.window)
    return (
        f"{flow.name} has windows of {flow.window:.2g} segments: below about 4 TCP is ruled by"
        " timeouts, which the fluid does not know"
    )


def _lattice(facts: Facts) -> str:
    if facts.slot < facts.step:
        return ""
    return (
        f"one packet takes {1e3 * facts.slot:.3g} ms of the link, no less than the step of"
        f" {1e3 * facts.step:.3g} ms: every L4S packet that waits for another is marked"
    )


def _integers(facts: Facts) -> str:
    for flow in facts.flows:
        if _stuck(flow):
            return (
                f"{flow.name} has {flow.window:.3g} segments where its law has {flow.law:.3g}:"
                " Linux's integers set DCTCP's alpha to 0 below 1/64, and it hardly falls then"
            )
    return ""


def _averages(facts: Facts) -> str:
    for flow in facts.flows:
        if flow.averaged:
            return (
                f"the averaged law of {flow.name} reduces in every round trip, while packets pause"
                ' after a reduction: Dctcp(law="renewal") knows that'
            )
    return ""


def _stuck(flow: FlowFacts) -> bool:
    return flow.integers and flow.window > _STUCK * flow.law


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


def _moved(facts: Facts) -> str:
    sentence = "" if facts.aims else _constant(facts)
    return f"{sentence}; the delay of this queue follows its p" if sentence else ""


def _wander(facts: Facts) -> str:
    if facts.damping > _CYCLE:
        return ""
    return "the fluid's cycle repeats itself exactly, while chance shifts the phase of packets'"


def _spacing(facts: Facts) -> str:
    if facts.spare < _SPARE:
        return ""
    return (
        "PIE spaces its drops and exempts short queues, so that it needs"
        f" p = {facts.spare:.2f} times what it drops"
    )


def _slow_start(facts: Facts) -> str:
    if not facts.late_starts:
        return ""
    return (
        "flows start within the stretch: all of a class leave slow start together in the fluid, one"
        " by one in packets"
    )


def _sawtooth(facts: Facts) -> str:
    if not facts.flows or facts.backlog <= 0.0:
        return ""
    flow = max(facts.flows, key=lambda one: one.window)
    share = 0.5 * flow.window / facts.backlog
    if share < _SAWTOOTH:
        return ""
    return (
        f"few flows for such a queue: half a window of {flow.name} is {100 * share:.0f} % of the"
        " mean backlog, so that each sawtooth shows"
    )


def _chance(facts: Facts) -> str:
    fluid, packets = facts.spread
    if fluid >= _QUIET * packets:
        return ""
    return "the fluid comes to rest, while chance in arrivals and signals keeps packets moving"


_DELAYS: Final = ("delay_mean", "queue_delay_mean")
_SPREADS: Final = ("delay_sd", "delay_p")
_SWING: Final = ("frequency", "damping")
_SIGNALS: Final = ("drop_fraction", "mark_fraction", "controller")
_SHARES: Final = ("throughput", "window")
_USE: Final = ("utilization",)
#: Cause, and how the names begin of the numbers that it bears on; what is most telling comes first.
_CAUSES: Final[tuple[tuple[Callable[[Facts], str], tuple[str, ...]], ...]] = (
    (_overload, (*_DELAYS, *_SIGNALS, *_SHARES)),
    (_wander, ("damping",)),
    (_clamp, (*_DELAYS, *_SPREADS, *_SWING, *_SIGNALS, *_SHARES, *_USE)),
    (_lattice, (*_SIGNALS, *_SHARES)),
    (_timeouts, (*_SIGNALS, *_SHARES, *_SWING)),
    (_integers, (*_SIGNALS, *_SHARES, *_SWING)),
    (_averages, (*_SPREADS, *_SWING)),
    (_spacing, ("controller",)),
    (_constant, (*_SIGNALS, *_SHARES, *_SWING)),
    (_moved, (*_DELAYS, *_SPREADS)),
    (_slow_start, (*_DELAYS, *_SPREADS, *_SIGNALS, *_USE)),
    (_sawtooth, (*_DELAYS, *_SPREADS, *_SWING, *_USE)),
    (_chance, (*_SPREADS, *_DELAYS, *_USE)),
)


def name_causes(facts: Facts, name: str) -> str:
    """Return why a number differs: the causes that hold, two at most, as one sentence."""
    found = [cause(facts) for cause, prefixes in _CAUSES if name.startswith(prefixes)]
    said = [sentence for sentence in found if sentence][:_MOST]
    return "; ".join(said) if said else UNKNOWN
