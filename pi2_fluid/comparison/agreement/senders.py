"""Why two simulators of packets part: what their senders make of signals, read off both results.

As with the causes between a fluid and packets, one is named for a number only if it bears on such
numbers and its condition holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from pi2_fluid.comparison.agreement.causes import UNKNOWN
from pi2_fluid.comparison.agreement.places import signals_of
from pi2_fluid.network.scenario import Scenario

_MORE: Final = 2.0  # times as many timeouts
_RARE: Final = 1e-4  # timeouts in a packet, below which they do not matter
_CONSTANT: Final = 0.05  # by which two constants may differ


class RunFacts(NamedTuple):
    """What two simulators did with the same scenario; of pairs the other's comes second."""

    labels: tuple[str, str]
    timeouts: tuple[float, float]
    """Timeouts for each packet that left the network."""
    constants: tuple[tuple[str, float, float], ...]
    """What is constant under a window law, by what it is called: W sqrt(p), or W p."""


def gather_run_facts(
    scenario: Scenario, labels: tuple[str, str], runs: tuple[Any, Any], means: tuple[Any, Any]
) -> RunFacts:
    """Return the facts of two simulations of packets.

    Parameters
    ----------
    scenario : Scenario
        What was run.
    labels : pair of str
        What the engines are called.
    runs, means : pair of xarray.Dataset
        Their results, and their summaries as medians over the seeds.
    """
    first, other = (_constants(scenario, one) for one in means)
    return RunFacts(
        labels=labels,
        timeouts=(_timeouts(runs[0]), _timeouts(runs[1])),
        constants=tuple((name, first[name], other[name]) for name in first if name in other),
    )


def name_run_causes(facts: RunFacts, name: str) -> str:
    """Return why a number differs: the causes that hold, as one sentence."""
    found = [cause(facts) for cause, prefixes in _CAUSES if name.startswith(prefixes)]
    return "; ".join(sentence for sentence in found if sentence) or UNKNOWN


def _timeouts(runs: Any) -> float:
    left = runs["departures"]
    if "link" in left.dims:  # of each class behind its last one
        left = left.where(runs["place"] == runs["place"].max("link"), 0)
    return float(runs["timeouts"].sum()) / max(1.0, float(left.sum()))


def _constants(scenario: Scenario, means: Any) -> dict[str, float]:
    found = {}
    for index, flow in enumerate(scenario.flows):
        p, window = signals_of(means, index), float(means["window_mean"].isel(flows=index))
        if flow.sender.signal is not None and p > 0.0 and window > 0.0:
            classic = flow.sender.signal == "classic"
            what = "W sqrt(p)" if classic else "W p"
            label = f"{what} of {scenario.class_names[index]}"
            found[label] = window * (math.sqrt(p) if classic else p)
    return found


def _recovery(facts: RunFacts) -> str:
    few, many = sorted(facts.timeouts)
    if many < _RARE or many < _MORE * few:
        return ""
    one, two = (
        f"{1e3 * part:.2g} in {label}"
        for part, label in zip(facts.timeouts, facts.labels, strict=True)
    )
    return f"of 1000 packets {one} and {two} end in a timeout: the two recover losses otherwise"


def _windows(facts: RunFacts) -> str:
    apart = [one for one in facts.constants if abs(one[2] / one[1] - 1.0) > _CONSTANT]
    if not apart:
        return ""
    name, first, other = max(apart, key=lambda one: abs(math.log(one[2] / one[1])))
    mine, its = facts.labels
    return (
        f"{name} is {first:.2f} in {mine} and {other:.2f} in {its}: the same signals leave other"
        " windows"
    )


_SIGNALS: Final = ("drop_fraction", "mark_fraction", "controller", "throughput", "window")
_MOTION: Final = ("delay_", "queue_delay_mean", "utilization", "frequency", "damping")
#: Cause, and how the names begin of the numbers that it bears on; what is most telling comes first.
_CAUSES: Final[tuple[tuple[Callable[[RunFacts], str], tuple[str, ...]], ...]] = (
    (_windows, _SIGNALS),
    (_recovery, (*_SIGNALS, *_MOTION)),
)
