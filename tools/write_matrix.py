"""Try all kinds of scenarios in all ways to ask: python tools/write_matrix.py.

Brings the table of docs/reference/engines.md up to date.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pi2_fluid as pf
from pi2_fluid.saving import save_text

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "engines.md"
BEGIN = "<!-- matrix: begin -->"
END = "<!-- matrix: end -->"


@dataclass(frozen=True, eq=False, kw_only=True)
class Aimd(pf.Sender):
    """A sender of one's own: each signal takes a part of the window, each round trip adds to it."""

    signal: ClassVar[str] = "classic"
    more: float = 0.8
    decrease: float = 0.3

    def rate(self, x: Any, x_then: Any, p_then: Any, rtt: Any, rtt_then: Any) -> Any:
        """Return the slope of the window (segments/s)."""
        return self.more / rtt - self.decrease * x * x_then / rtt_then * p_then

    def acked(self, x: Any, acks: Any, marks: Any, rtt: Any) -> tuple[Any, Any]:
        """Return the same, acknowledgement by acknowledgement."""
        return self.more * acks / x, self.decrease * x * marks


def links(aqm: pf.Aqm, *flows: pf.Flows) -> pf.Scenario:
    """Return a scenario of two links in a row, of which the second is the narrower one."""
    narrow = pf.Node("b", pf.Link("10Mbit/s", 1000), aqm)
    network = pf.Network([pf.Node("a", pf.Link("12Mbit/s", 1000), aqm), narrow], flows)
    return pf.Scenario("2s", network=network)


def link(aqm: pf.Aqm, *flows: pf.Flows) -> pf.Scenario:
    """Return a scenario of one link."""
    return pf.Scenario("2s", pf.Link("10Mbit/s", 1000), aqm, flows)


def flows(*senders: pf.Sender, **where: Any) -> list[pf.Flows]:
    """Return two flows of each sender over 60 ms."""
    return [pf.Flows(sender, 2, "60ms", start=0.0, **where) for sender in senders]


def _coupled(**where: Any) -> list[pf.Flows]:
    """Return flows of both kinds, which one queue would signal for ever behind a slow start."""
    return flows(pf.Reno(), pf.Scalable(), slow_start=False, **where)


_BOTH = {"route": ["a", "b"]}
SCENARIOS: dict[str, pf.Scenario] = {
    "one link, PI2": link(pf.Pi2(), *flows(pf.Reno())),
    "one link, own sender": link(pf.Pi2(), *flows(Aimd())),
    "one link, PI2 coupled": link(pf.CoupledPi2(), *_coupled()),
    "one link, DualPI2": link(pf.DualPi2(), *flows(pf.Reno(), pf.Scalable())),
    "two links, PI2": links(pf.Pi2(), *flows(pf.Reno(), **_BOTH)),
    "two links, own sender": links(pf.Pi2(), *flows(Aimd(), **_BOTH)),
    "two links, PI2 coupled": links(pf.CoupledPi2(), *_coupled(**_BOTH)),
    "two links, DualPI2": links(pf.DualPi2(), *flows(pf.Reno(), pf.Scalable(), **_BOTH)),
}


def _fluid(**options: Any) -> Callable[[pf.Scenario], Any]:
    return lambda scenario: pf.simulate(scenario, pf.Fluid(tolerance=1e-4, **options))


def _acks(scenario: pf.Scenario) -> Any:
    return pf.simulate(scenario, pf.Fluid(clock="acks", engine="c"))


def _batch(engine: str, **options: Any) -> Callable[[pf.Scenario], Any]:
    def batch(scenario: pf.Scenario) -> Any:
        where = "network." if len(scenario.network.nodes) > 1 else ""
        over = {f"{where}flows.0.count": [2, 3]}
        return pf.fluid.batch(scenario, over, engine=engine, **options)

    return batch


def _loop(**options: Any) -> Callable[[pf.Scenario], Any]:
    def margins(scenario: pf.Scenario) -> Any:
        if len(scenario.network.nodes) > 1:
            return pf.NetworkLoop(scenario.network, **options).margins()
        return pf.Loop(
            scenario.flows, scenario.aqm, capacity=scenario.link.capacity, **options
        ).margins()

    return margins


WAYS: dict[str, Callable[[pf.Scenario], Any]] = {
    "fluid, sampled": _fluid(update="sampled"),
    "continuous": _fluid(update="continuous"),
    "linear": _fluid(linear=True),
    "by acknowledgements, in C": _acks,
    "batch": _batch("auto"),
    "batch in C lanes": _batch("c"),
    "batch by acknowledgements": _batch("threads", clock="acks"),
    "packets": lambda scenario: pf.simulate(scenario, pf.Packets(seeds=1)),
    "loop": _loop(update="continuous"),
    "loop, sampled": _loop(update="sampled"),
    "loop by acknowledgements": _loop(update="sampled", clock="acks"),
}


def tried(scenario: pf.Scenario, way: Callable[[pf.Scenario], Any]) -> str:
    """Return "" where a way answers, and the sentence with which it refuses otherwise."""
    try:
        way(scenario)
    except (pf.UnsupportedError, pf.ScenarioError, pf.DomainError) as error:
        return str(error)
    return ""


def matrix() -> dict[tuple[str, str], str]:
    """Return for each scenario and way what `tried` returns."""
    return {
        (name, asked): tried(scenario, way)
        for name, scenario in SCENARIOS.items()
        for asked, way in WAYS.items()
    }


def table(found: dict[tuple[str, str], str]) -> str:
    """Return the table, and below it why each cell is refused."""
    numbers = {
        sentence: k for k, sentence in enumerate(dict.fromkeys(filter(None, found.values())), 1)
    }
    lines = [f"| | {' | '.join(WAYS)} |", "|---|" + "---|" * len(WAYS)]
    for name in SCENARIOS:
        cells = [f"no ({numbers[s]})" if (s := found[name, way]) else "yes" for way in WAYS]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    answered = sum(not sentence for sentence in found.values())
    lines += ["", f"{answered} of {len(found)} answer. The others refuse with one sentence:", ""]
    lines += [f"{number}. {sentence}" for sentence, number in numbers.items()]
    return "\n".join(lines)


def page(text: str, found: dict[tuple[str, str], str]) -> str:
    """Return the page with the table of `found`."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{table(found)}\n\n{END}{after}"


if __name__ == "__main__":
    save_text(PAGE, page(PAGE.read_text(encoding="utf-8"), matrix()))
