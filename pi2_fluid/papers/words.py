"""What is run, in words: numbers of a scenario as they stand in titles, labels and notes.

Whatever a picture says of its set-up is made here, so that it is true of a set-up that was changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import pi2_fluid as pf
from pi2_fluid.papers.stages import stages_of
from pi2_fluid.units import RATES

#: The units a number is shown in, the largest first: the first in which it is 1 or more.
_UNITS: Final[Mapping[str, tuple[tuple[str, float], ...]]] = {
    "time": (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)),
    "rate": RATES,
    "size": (("MB", 1e6), ("KB", 1e3), ("B", 1.0)),
    "frequency": (("Hz", 1.0),),
    "packets": (("packets", 1.0),),
    "number": (("", 1.0),),
}


def quantity_text(value: float, dimension: str) -> str:
    """Return a number (SI) with the unit in which it is best read.

    Examples
    --------
    >>> quantity_text(0.1, "time"), quantity_text(1.5, "time"), quantity_text(2e7, "rate")
    ('100 ms', '1.5 s', '20 Mbit/s')
    """
    return _in_unit([value], dimension, " ")


def listed(values: Iterable[float], dimension: str, between: str = " and ") -> str:
    """Return numbers (SI) that are different, in one unit, in the order in which they come.

    Examples
    --------
    >>> listed([0.005, 0.02, 0.005], "time")
    '5 and 20 ms'
    """
    return _in_unit(list(dict.fromkeys(values)), dimension, between)


def _in_unit(values: list[float], dimension: str, between: str) -> str:
    """Return numbers in the unit that suits the largest of them."""
    units, largest = _UNITS[dimension], max(map(abs, values), default=0.0)
    fits = [one for one in units if largest >= one[1] * (1.0 - 1e-9)]
    unit, factor = (fits or [units[-1] if largest else units[0]])[0]
    *first, last = (f"{value / factor:.6g}" for value in values)
    return between.join([*([", ".join(first)] if first else []), last]) + (
        f" {unit}" if unit else ""
    )


def share_text(part: float) -> str:
    """Return a part of a whole in percent.

    Examples
    --------
    >>> share_text(0.25)
    '25 %'
    """
    return f"{100.0 * part:.6g} %"


def seeds_text(count: int) -> str:
    """Return a number of seeds.

    Examples
    --------
    >>> seeds_text(1), seeds_text(6)
    ('1 seed', '6 seeds')
    """
    return f"{count} seed" + ("" if count == 1 else "s")


# --- of scenarios ---------------------------------------------------------------------------


def rtt_text(*scenarios: pf.Scenario) -> str:
    """Return the round-trip times of flows that answer signals, without queue.

    Examples
    --------
    >>> rtt_text(pf.named_scenario("pi2_fig11a_pi2"))
    '100 ms'
    """
    return listed(
        (
            float(flow.base_rtt)
            for scenario in scenarios
            for flow in scenario.flows
            if flow.sender.signal is not None
        ),
        "time",
    )


def rate_text(*scenarios: pf.Scenario) -> str:
    """Return what the links serve, in the beginning."""
    return listed((float(scenario.link.capacity) for scenario in scenarios), "rate")


def link_text(scenario: pf.Scenario) -> str:
    """Return what a link serves, one stage after the other.

    Examples
    --------
    >>> link_text(pf.named_scenario("pi2_fig12_pi2"))
    '100:20:100 Mbit/s'
    """
    rates = [stage.capacity for stage in stages_of(scenario)]
    shown = rates if len(set(rates)) > 1 else rates[:1]
    return _in_unit(shown, "rate", ":").replace(", ", ":")


def flows_text(scenario: pf.Scenario, reno: str = "Reno", *, rated: bool = False) -> str:
    """Return how many flows of which kind a scenario has.

    Parameters
    ----------
    scenario : Scenario
    reno : str
        What the paper calls flows of Reno: "TCP".
    rated : bool
        Whether the rates of those that answer no signal are said, too.

    Examples
    --------
    >>> mixed = pf.named_scenario("pi2_fig11c_pi2")
    >>> flows_text(mixed), flows_text(mixed, "TCP", rated=True)
    ('5 Reno and 2 UDP flows', '5 TCP and 2 UDP flows of 6 Mbit/s')
    """
    counts: dict[str, float] = {}
    for flow in scenario.flows:
        kind = _kind(flow, reno)
        counts[kind] = counts.get(kind, 0.0) + float(flow.count)
    said = " and ".join(f"{count:g} {kind}" for kind, count in counts.items())
    plural = "" if sum(counts.values()) == 1.0 else "s"
    sent = sent_text(scenario) if rated else ""
    return f"{said} flow{plural}" + (f" of {sent}" if sent else "")


def sent_text(*scenarios: pf.Scenario) -> str:
    """Return the rates of single flows that answer no signal; "" if there are none."""
    senders: list[Any] = [flow.sender for scenario in scenarios for flow in scenario.flows]
    rates = [float(sender.bitrate) for sender in senders if isinstance(sender, pf.Cbr)]
    return listed(rates, "rate") if rates else ""


def stages_text(scenario: pf.Scenario) -> str:
    """Return how many flows of which kind there are, one stage after the other.

    Examples
    --------
    >>> stages_text(pf.named_scenario("pi2_fig13_pi2"))
    '10:30:50:30:10 Reno flows'
    """
    kinds = dict.fromkeys(_kind(flow, "Reno") for flow in scenario.flows)
    counts = [stage.number for stage in stages_of(scenario)]
    shown = counts if len(set(counts)) > 1 else counts[:1]
    return f"{':'.join(f'{count:g}' for count in shown)} {' and '.join(kinds)} flows"


def _kind(flow: pf.Flows | pf.Transfers, reno: str) -> str:
    name = type(flow.sender).__name__
    return {"Cbr": "UDP", "Reno": reno}.get(name, name)


def target_text(*scenarios: pf.Scenario) -> str:
    """Return the delays at which the queues are to be, of those that have one in time."""
    targets = (getattr(scenario.aqm, "target", None) for scenario in scenarios)
    return listed((float(target) for target in targets if target is not None), "time")


def buffer_text(scenario: pf.Scenario) -> str:
    """Return the room of the queue in bytes.

    Examples
    --------
    >>> buffer_text(pf.named_scenario("pie_fig07_red"))
    '2 MB'
    """
    link: Any = scenario.link
    return quantity_text(float(link.buffer) * float(link.packet_size), "size")
