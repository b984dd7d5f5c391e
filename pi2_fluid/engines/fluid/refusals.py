"""What a trajectory is asked of: checked before it is computed."""

from __future__ import annotations

from typing import Final

import numpy as np

from pi2_fluid.errors import DomainError, UnsupportedError
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.scenario import Scenario

__all__ = ["UPDATES", "not_modelled", "require_rates_of_states", "require_round_trips"]

UPDATES: Final = ("sampled", "continuous")
# Of a link and of flows: what only packets can feel.
_PACKETS_ONLY: Final = (
    "link.kind",
    "link.delay_on",
    "link.ack_jitter",
    "flows.delayed_ack",
    "flows.ecn",
)


def require_round_trips(scenario: Scenario) -> None:
    """Raise DomainError if a window law has no round-trip time (in any run, if they vary)."""
    for flow in scenario.flows:
        if flow.sender.signal is not None and np.any(np.equal(flow.base_rtt, 0.0)):
            raise DomainError(
                "Flows base_rtt = 0.0 leaves no round-trip time while the queue is empty, so that"
                " the window law is singular: give base_rtt in (0, inf) s."
            )


def require_rates_of_states(scenario: Scenario) -> None:
    """Raise UnsupportedError if a rate hears signals itself, which no trajectory has yet."""
    for flow in scenario.flows:
        if flow.sender.answers_at_once:
            raise UnsupportedError(
                f"{type(flow.sender).__name__} lets signals act on its rate at once, which"
                " trajectories do not follow yet: ask equilibrium where it rests."
            )


def not_modelled(scenario: Scenario) -> list[str]:
    """Return what of a scenario a fluid cannot feel."""
    laws: list[tuple[str, Aqm | Sender]] = [("aqm", scenario.aqm)]
    laws += [("flows.sender", flow.sender) for flow in scenario.flows]
    found = [f"{place}.{name}" for place, law in laws for name in law.packets_only]
    return [*_PACKETS_ONLY, *dict.fromkeys(found)]
