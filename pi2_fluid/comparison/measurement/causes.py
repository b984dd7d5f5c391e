"""Why a measurement and a model part: each cause is checked against what is known of both.

As `agreement` does with engines: a cause is named for a number only if it bears on such numbers and
its condition holds. Where none does, that is said, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from pi2_fluid.comparison.agreement.causes import UNKNOWN
from pi2_fluid.comparison.agreement.senders import RunFacts, name_run_causes

if TYPE_CHECKING:
    from pi2_fluid.measured.scenario import Described

_MOST: Final = 2  # causes named for one number
_FEW: Final = 500  # samples of which five are above the 99 % quantile
_SLOTS: Final = 2.0  # packet times
_LONG: Final = 10.0  # path over path
_SHORT: Final = 20.0  # s


class Facts(NamedTuple):
    """What the causes are checked against."""

    described: Described
    seeds: int
    """Of packets; 1 of a fluid."""
    begins: float
    """How long after the last start the numbers begin (s)."""
    lasts: float
    """Length of the stretch (s)."""
    samples: int
    """Answers of the probe that has the fewest."""
    both_ways: bool
    """Whether flows of the other direction were measured, too."""
    alone: bool
    """Whether the probe's queue has nobody else's packets."""
    constants: RunFacts | None = None
    """What is constant under a window law, where the measurement has signals and windows."""
    engines: tuple[tuple[str, str], ...] = ()
    """Of a fluid beside packets: name of a number, and why `agreement` says that they part."""


class Apart(NamedTuple):
    """A number that lies outside."""

    name: str
    measured: float
    low: float
    high: float

    @property
    def gap(self) -> float:
        """How far it is from the range."""
        return max(self.low - self.measured, self.measured - self.high)


def _between_engines(facts: Facts, apart: Apart) -> str:
    """Name why the fluid is not as packets, which the measurement is nearer to."""
    first, _, label = apart.name.partition(".")
    names = {apart.name, f"throughput.{label}" if first == "share" else apart.name}
    return next((why for name, why in facts.engines if name in names and why != UNKNOWN), "")


def _detector(facts: Facts, _: Apart) -> str:
    scenario = facts.described.scenario
    if (
        not any(flow.is_l4s for flow in scenario.flows)
        or scenario.aqm.bands > 1
        or scenario.aqm.queues_flows
    ):
        return ""
    return (
        "Prague of the L4S team's kernels answers as a Classic flow where it finds a Classic queue"
        " (prague_ecn_fallback), and Prague here never does"
    )


def _beside_classic(facts: Facts, _: Apart) -> str:
    scenario = facts.described.scenario
    kinds = {flow.is_l4s for flow in scenario.flows}
    if scenario.aqm.bands < 2 or kinds != {True, False}:
        return ""
    return (
        "packets give Prague some 10 % too much beside Classic flows, as they do in another testbed"
        " (see its page)"
    )


def _signals(facts: Facts, apart: Apart) -> str:
    if facts.constants is None:
        return ""
    said = name_run_causes(facts.constants, apart.name)
    return "" if said == UNKNOWN else said


def _both_ways(facts: Facts, _: Apart) -> str:
    if not facts.both_ways:
        return ""
    return "ping is a round trip through the queues of both directions, and one is simulated"


def _host(facts: Facts, apart: Apart) -> str:
    scenario = facts.described.scenario
    slot = 8.0 * float(scenario.packet_size) / float(scenario.link.capacity)
    if apart.gap > _SLOTS * slot:
        return ""
    return (
        f"that is off by less than two packets take on the link ({2e3 * slot:.2g} ms): hosts and"
        " their clocks are not simulated"
    )


def _alone(facts: Facts, _: Apart) -> str:
    if not facts.alone:
        return ""
    return "nobody else is in the queue of ping, so its delay is that of hosts and schedulers"


def _few(facts: Facts, apart: Apart) -> str:
    if facts.samples >= _FEW or not apart.name.startswith("delay_p99"):
        return ""
    above = max(1, round(0.01 * facts.samples))
    return f"of {facts.samples} answers of ping {above} decide the 99 % quantile"


def _paths(facts: Facts, _: Apart) -> str:
    paths = [float(flow.base_rtt) for flow in facts.described.scenario.flows]
    if min(paths) <= 0.0 or max(paths) < _LONG * min(paths):
        return ""
    return (
        f"a path of {1e3 * max(paths):.3g} ms beside one of {1e3 * min(paths):.3g} ms: packets then"
        " give the short one too much (see the page on the testbed)"
    )


def _starting(facts: Facts, _: Apart) -> str:
    flows = facts.described.scenario.flows
    window = float(facts.described.scenario.link.capacity) * max(
        float(flow.base_rtt) for flow in flows
    )
    segments = window / (8.0 * float(facts.described.scenario.packet_size)) / len(flows)
    # One segment a round trip from half of it on.
    needed = 0.5 * segments * max(float(flow.base_rtt) for flow in flows)
    if facts.begins > needed:
        return ""
    return (
        f"the numbers begin {facts.begins:.3g} s after the last start, and a flow may need"
        f" {needed:.3g} s to reach its share"
    )


def _short(facts: Facts, _: Apart) -> str:
    if facts.lasts >= _SHORT:
        return ""
    return f"the numbers are of {facts.lasts:.3g} s, a few sawteeth"


def _assumed(facts: Facts, apart: Apart) -> str:
    for part, prefixes in _ASSUMED:
        if part in facts.described.assumed and apart.name.startswith(prefixes):
            return f"assumed ({part}): {facts.described.assumed[part]}"
    return ""


def _chance(facts: Facts, apart: Apart) -> str:
    if facts.seeds < 2 or apart.gap > apart.high - apart.low:
        return ""
    return (
        f"by chance alone, one run in {(facts.seeds + 1) / 2:.3g} lies outside of the range of"
        f" {facts.seeds} others"
    )


_SHARES: Final = ("throughput", "share", "rate_ratio", "window", "utilization")
_DELAYS: Final = ("delay_", "tcp_rtt")
_SIGNALLED: Final = ("mark_fraction", "drop_fraction")
_ALL: Final = (*_SHARES, *_DELAYS, *_SIGNALLED)
#: What is assumed, and how the names begin of the numbers that it bears on; most telling first.
_ASSUMED: Final = (
    ("queue", _ALL),
    ("rate", _ALL),
    ("path", _ALL),
    ("senders", _ALL),
    ("directions", _ALL),
    ("paths", (*_SHARES, "tcp_rtt")),
    ("ecn", (*_SHARES, *_SIGNALLED)),
    ("changes of the rate", _ALL),
    ("buffer", ("drop_fraction",)),
    ("numbers of the queue", (*_DELAYS, *_SIGNALLED, *_SHARES)),
)
#: Cause, and how the names begin of the numbers that it bears on; what is most telling comes first.
_CAUSES: Final[tuple[tuple[Callable[[Facts, Apart], str], tuple[str, ...]], ...]] = (
    (_between_engines, _ALL),
    (_detector, (*_SHARES, *_SIGNALLED, "tcp_rtt")),
    (_beside_classic, (*_SHARES, "tcp_rtt")),
    (_both_ways, ("delay_",)),
    (_alone, ("delay_",)),
    (_host, _DELAYS),
    (_few, ("delay_p99",)),
    (_paths, (*_SHARES, *_DELAYS)),
    (_signals, _ALL),
    (_starting, _ALL),
    (_short, (*_SHARES, *_DELAYS)),
    (_assumed, _ALL),
    (_chance, _ALL),
)


def name_causes(facts: Facts, apart: Apart) -> str:
    """Return why a number lies outside: the causes that hold, two at most, as one sentence."""
    said = (cause(facts, apart) for cause, names in _CAUSES if apart.name.startswith(names))
    found = [sentence for sentence in said if sentence]
    return "; ".join(found[:_MOST]) if found else UNKNOWN
