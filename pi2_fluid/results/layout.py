"""Which numbers of the packet kernel belong to which link, class and queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pi2_fluid.network.routes import places_back_of, places_of
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.results.dataset import BANDS, link_dims, most_bands

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pi2_fluid.values import IntArray


class Layout(NamedTuple):
    """The kernel counts by legs: each class at each link of its route, then of its way back."""

    links: int
    bands: Sequence[int]
    """Through which queue of a dual one each class goes."""
    link: IntArray
    """Of each leg."""
    flows: IntArray
    """Its class."""
    band: IntArray
    """Its queue, if that of the link is dual: acknowledgements are no L4S packets."""
    first: IntArray
    """The first leg of each class."""
    last: IntArray
    """The last on the way to the receiver."""
    duals: IntArray
    """Of each link whether its queue is dual."""
    dual: bool
    """Whether any is."""
    routed: bool
    """Whether there are several links; otherwise legs are classes."""

    @property
    def queue_dims(self) -> tuple[str, ...]:
        """Names of the dims of what each queue has."""
        return (*(("link",) if self.routed else ()), *(("band",) if self.dual else ()))

    @property
    def histogram_dims(self) -> tuple[str, ...]:
        """Names of the dims of the histograms of delays, that of the delay left out."""
        return self.queue_dims if self.routed else ("flows",)

    @property
    def class_dims(self) -> tuple[str, ...]:
        """Names of the dims of what each class has at each link."""
        return ("link", "flows") if self.routed else ("flows",)

    def of_links(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of links (the last dim) with that dim only where there are several."""
        found: NDArray[Any] = values if self.routed else values[..., 0]
        return found

    def of_queues(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of all bands, link after link, by link and band: 0 where there is none."""
        if not self.routed:
            return values
        found = np.zeros((*values.shape[:-1], self.links, 1 + self.dual), dtype=values.dtype)
        first = np.cumsum(1 + self.duals) - 1 - self.duals
        found[..., 0] = values[..., first]
        if self.dual:
            twice = np.flatnonzero(self.duals)
            found[..., twice, 1] = values[..., first[twice] + 1]
        return found

    def at_links(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of legs (the last dim) by link and class: 0 where it does not cross it."""
        if not self.routed:
            return values
        found = np.zeros((*values.shape[:-1], self.links, len(self.bands)), dtype=values.dtype)
        found[..., self.link, self.flows] = values
        return found

    def by_signal(self, classic: NDArray[Any], scalable: NDArray[Any]) -> NDArray[Any]:
        """Return which of two values each class meets, those of links as `of_links` returns them.

        By link, too, where there are several: 0 where the class does not cross it.
        """
        if not self.routed:
            classic, scalable = classic[..., None], scalable[..., None]
        return self.at_links(np.where(self.band, scalable[..., self.link], classic[..., self.link]))

    def at_ends(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of legs (the last dim) of each class at its last link."""
        found: NDArray[Any] = values[..., self.last]
        return found

    def on_routes(self, p: NDArray[Any]) -> NDArray[Any]:
        """Return the probability that one of the links of a class signals, of those of legs."""
        if not self.routed:
            return p
        there = np.arange(p.shape[-1]) <= self.last[self.flows]
        passed: NDArray[Any] = np.multiply.reduceat(1.0 - there * p, self.first, axis=-1)
        return 1.0 - passed

    def by_queue(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sums of what legs (the last dim) have in each queue."""
        if self.routed:
            return self._added(values)
        if self.dual:
            by_band: NDArray[Any] = values @ self.belongs.astype(values.dtype)
            return by_band
        total: NDArray[Any] = values.sum(axis=-1)
        return total

    def of_histograms(self, histograms: NDArray[Any]) -> NDArray[Any]:
        """Return histograms of legs (the last dim but one), by class or, of several links, queue.

        Of many links and classes those of each class at each link would be large and mostly empty.
        """
        if not self.routed:
            return histograms
        return np.moveaxis(self._added(np.moveaxis(histograms, -2, -1)), -2 - self.dual, -1)

    def queues_of(self, histograms: NDArray[Any]) -> NDArray[Any]:
        """Return what `of_histograms` returned by queue."""
        if self.routed:
            return histograms
        sums = self.by_queue(np.moveaxis(histograms, -2, -1))
        return np.moveaxis(sums, -1, -2) if self.dual else sums

    def _added(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sums of what legs (the last dim) have at each link and band of several."""
        queues = 1 + self.dual
        queue: IntArray = self.link * queues + self.band * self.duals[self.link]
        found = np.zeros((self.links * queues, *values.shape[:-1]), dtype=values.dtype)
        np.add.at(found, queue, np.moveaxis(values, -1, 0))
        found = np.moveaxis(found, 0, -1)
        return found.reshape(*found.shape[:-1], self.links, queues) if self.dual else found

    @property
    def belongs(self) -> NDArray[Any]:
        """Whether a class goes through a band."""
        found: NDArray[Any] = np.array(self.bands)[:, None] == np.arange(len(BANDS))
        return found


def layout_of(scenario: Scenario, bands: Sequence[int]) -> Layout:
    """Return the layout of what the kernel counts of a scenario.

    Parameters
    ----------
    scenario : Scenario
        What was simulated.
    bands : sequence of int
        Through which queue of a dual one each class goes.
    """
    names, classes = scenario.node_names, scenario.flows
    there, back = places_of(names, classes), places_back_of(names, classes)
    routes = [[*each, *way] for each, way in zip(there, back, strict=True)]
    lengths = np.array([len(route) for route in routes])
    first: IntArray = np.cumsum(lengths) - lengths
    last: IntArray = first + np.array([len(route) - 1 for route in there])
    flows: IntArray = np.repeat(np.arange(len(routes)), lengths)
    forward = np.arange(flows.size) <= last[flows]
    return Layout(
        links=len(scenario.node_names),
        bands=bands,
        link=np.concatenate([np.array(route, dtype=int) for route in routes]),
        flows=flows,
        band=np.where(forward, np.array(bands)[flows], 0),
        first=first,
        last=last,
        duals=np.array([node.aqm.bands == 2 for node in scenario.network.nodes], dtype=int),
        dual=most_bands(scenario) == 2,
        routed=bool(link_dims(scenario)),
    )
