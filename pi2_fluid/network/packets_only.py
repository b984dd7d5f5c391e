"""What of links and of the schedule only packets feel, refused where something else is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pi2_fluid.errors import UnsupportedError, show_value
from pi2_fluid.units import format_quantity

if TYPE_CHECKING:
    from pi2_fluid.network.network import Network
    from pi2_fluid.network.scenario import Scenario


def refuse_losses(network: Network, who: str) -> None:
    """Raise UnsupportedError if a link loses packets at random, which `who` does not know."""
    for node in network.nodes:
        if np.any(np.not_equal(node.link.loss, 0.0)):
            raise UnsupportedError(
                f"Link loss = {node.link.loss} is random loss, which {who} not know: simulate"
                " Packets(), or leave it out."
            )


def refuse_detours(scenario: Scenario, who: str) -> None:
    """Raise UnsupportedError if the path of a class changes, which `who` does not know."""
    for change in scenario.changes:
        if change.base_rtt:
            at = format_quantity(float(change.at), "time")
            raise UnsupportedError(
                f"Scenario change at {at} sets base_rtt, and {who} not know paths that change:"
                " simulate Packets(), or give a class for each path, with its start and stop."
            )


def refuse_aggregates(network: Network, who: str) -> None:
    """Raise UnsupportedError if a link sends several packets as one."""
    for node in network.nodes:
        if node.link.aggregates:
            raise UnsupportedError(
                f"Link aggregate and aggregate_time send packets together, which {who} not know:"
                " simulate Packets(), or leave both out."
            )


def refuse_rings(network: Network, who: str) -> None:
    """Raise UnsupportedError if a link has a ring below its queue."""
    for node in network.nodes:
        link = node.link
        if link.ring is None or np.all(np.equal(link.ring, 1.0)):
            continue
        full = 8.0 * np.max((link.ring - 1.0) * link.packet_size / link.capacity)
        raise UnsupportedError(
            f"Link ring = {show_value(link.ring)} holds packets below the queue, which {who} not"
            " know: simulate Packets(), or leave it out, and add to base_rtt what a full one adds"
            f" ({format_quantity(float(full), 'time')} without byte queue limits)."
        )
