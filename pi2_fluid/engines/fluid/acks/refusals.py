"""What the fluid by acknowledgements cannot run, each with its reason."""

from __future__ import annotations

from contextlib import suppress

from pi2_fluid.engines.fluid.blame import LAW_ERRORS
from pi2_fluid.engines.fluid.refusals import not_modelled
from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.scenario import Scenario


def require_clocked(scenario: Scenario) -> None:
    """Refuse laws that have no form by acknowledgements here."""
    for node in scenario.network.nodes:
        _require_queue(node.aqm)
    for flow in scenario.flows:
        _require_sender(flow.sender)


def _require_queue(aqm: Aqm) -> None:
    if aqm.acts_on != "queue":
        raise UnsupportedError(
            f'{type(aqm).__name__} acts on what arrives, which clock="acks" does not count here:'
            ' use clock="rate", or packets.'
        )
    if not aqm.holds():
        raise UnsupportedError(
            f"{type(aqm).__name__} signals by what the queue does between two ticks, and"
            ' clock="acks" simulates controllers that hold their signal until the next tick: use'
            ' clock="rate", or packets.'
        )


def _require_sender(sender: Sender) -> None:
    name = type(sender).__name__
    if sender.constant_rate is not None:
        return
    if sender.paced:
        raise UnsupportedError(
            f'{name} paces its packets, which acknowledgements do not clock: use clock="rate".'
        )
    if type(sender).acked is Sender.acked:
        raise UnsupportedError(
            f"{name} does not say what one acknowledgement does to its window, so that it has no"
            ' trajectory by acknowledgements: define acked(), or use clock="rate".'
        )
    # One that has no form says why not; one that fails is named with its state where it does.
    with suppress(*LAW_ERRORS):
        sender.acked(sender.initial(10.0), 1.0, 0.0, 1.0)


def beyond_packets(scenario: Scenario) -> list[str]:
    """Return what of a scenario is not felt; where packets are signalled is, by this clock.

    Of two queues L4S flows of one path echo for ever here, as packets do where windows are large.
    """
    dual = any(node.aqm.bands > 1 for node in scenario.network.nodes)
    echoing = dual and any(
        flow.sender.signal == "scalable" and not flow.sender.paced for flow in scenario.flows
    )
    names = [name for name in not_modelled(scenario) if name != "aqm.drop_at"]
    return names + ["chance that ends echoes of small windows"] * echoing
