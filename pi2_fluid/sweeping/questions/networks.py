"""Where networks rest, and the margins of their loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
import xarray as xr

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.loop.matrix.network_loop import NetworkLoop
from pi2_fluid.loop.transfer import Loop
from pi2_fluid.network.bottlenecks import NetworkPoint
from pi2_fluid.network.equilibrium import OperatingPoint, equilibrium
from pi2_fluid.network.network import Network
from pi2_fluid.records.paths import dimension_at, replace_path
from pi2_fluid.sweeping.outcomes import Outcome, outcome_of
from pi2_fluid.sweeping.questions.loops import margins_of
from pi2_fluid.sweeping.questions.question import Pointwise

_OF_LINKS: Final = {
    "load": ("1", "what arrives over the capacity"),
    "controller": ("1", "the controller's own variable"),
    "queue_delay": ("s", "queueing delay"),
    "queue": ("packets", "backlog"),
    "bottleneck": ("1", "1 if the link is full"),
}
_OF_CLASSES: Final = {
    "p": ("1", "probability that a packet is signalled"),
    "p_prime": ("1", "linear form of the signal probability"),
    "window": ("segments", "window of one flow"),
    "rtt": ("s", "round-trip time, queues included"),
    "rate": ("packets/s", "rate of one flow"),
}


@dataclass(frozen=True)
class NetworkLoops(Pointwise):
    """The loop of a network, whose margins are asked for."""

    network: Network
    options: Mapping[str, Any]
    closed: tuple[str, ...]

    kind: ClassVar[str] = "network loop"

    @classmethod
    def of(cls, loop: NetworkLoop) -> NetworkLoops:
        """Return the question that a loop is built for."""
        names = ("update", "rtt_terms", "transport", "clock", "bunch")
        options = {name: getattr(loop, name) for name in names}
        return cls(loop.network, options, loop.closed)

    def dimension(self, name: str) -> str:
        """Return the dimension of a number of the network."""
        return dimension_at(self.network, name)

    def at(self, values: Mapping[str, Any]) -> tuple[Outcome, frozenset[str]]:
        """Return the margins at a point."""
        loop: Any = Loop(_with_all(self.network, values), **self.options)
        if self.closed:
            loop = loop.close(*self.closed)
        return margins_of(loop.margins(), 1), frozenset()

    def describe(self) -> dict[str, str]:
        """Return the network as TOML, if it can be, and the options."""
        return {"network": _network_text(self.network), "loop": repr((self.options, self.closed))}

    def parts(self) -> dict[str, object]:
        """Return the network, and the options."""
        return {"base": (self.network, self.options, self.closed)}


@dataclass(frozen=True)
class Rests(Pointwise):
    """A network, of which is asked where it rests."""

    network: Network

    kind: ClassVar[str] = "network"

    def dimension(self, name: str) -> str:
        """Return the dimension of a number of the network."""
        return dimension_at(self.network, name)

    def at(self, values: Mapping[str, Any]) -> tuple[Outcome, frozenset[str]]:
        """Return the rest at a point."""
        network = _with_all(self.network, values)
        return outcome_of(_rest_dataset(equilibrium(network), network))

    def describe(self) -> dict[str, str]:
        """Return the network as TOML, if it can be."""
        return {"network": _network_text(self.network)}

    def parts(self) -> dict[str, object]:
        """Return the network."""
        return {"base": self.network}


def _rest_dataset(point: OperatingPoint | NetworkPoint, network: Network) -> xr.Dataset:
    """Return where a network rests as a Dataset."""
    columns: dict[str, Any] = {}
    if isinstance(point, OperatingPoint):
        columns["controller"] = ((), float(point.controller), *_OF_LINKS["controller"])
        columns["queue"] = ((), float(point.queue), *_OF_LINKS["queue"])
        delay = np.asarray(point.queue_delay, dtype=float)
        dims = ("band",) if delay.ndim else ()
        columns["queue_delay"] = (dims, delay, *_OF_LINKS["queue_delay"])
    else:
        for name, about in _OF_LINKS.items():
            columns[name] = (("link",), getattr(point, name).to_numpy().astype(float), *about)
        if any(node.aqm.bands == 2 for node in network.nodes):
            both = np.column_stack([point.queue_delay, point.l4s_delay])
            columns["queue_delay"] = (("link", "band"), both, *_OF_LINKS["queue_delay"])
    for name, about in _OF_CLASSES.items():
        columns[name] = (("flows",), np.array(getattr(point, name), dtype=float), *about)
    labels = {"flows": list(network.class_names)}
    if not isinstance(point, OperatingPoint):
        labels["link"] = list(network.node_names)
    return xr.Dataset(
        {
            name: (dims, values, {"units": units, "long_name": text})
            for name, (dims, values, units, text) in columns.items()
        },
        {
            name: (name, np.array(names, dtype=object), {"units": "1", "long_name": name})
            for name, names in labels.items()
        },
    )


def _with_all(network: Network, values: Mapping[str, Any]) -> Network:
    for name, value in values.items():
        network = replace_path(network, name, value)
    return network


def _network_text(network: Network) -> str:
    try:
        return network.to_toml()
    except UnsupportedError:  # laws of one's own have no name in a file
        return repr(network)
