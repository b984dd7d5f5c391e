"""The links of a scenario, and what a result says of each: as if it were of that link alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pi2_fluid.network.routes import places_of

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.network.flows import Flows
    from pi2_fluid.network.network import Node
    from pi2_fluid.network.scenario import Scenario


class Place(NamedTuple):
    """One link of a scenario."""

    name: str
    """Empty of the only one."""
    node: Node
    classes: tuple[int, ...]
    """Places of the classes whose data crosses it."""

    @property
    def suffix(self) -> str:
        """What follows a number's name to say of which link it is."""
        return f".{self.name}" if self.name else ""


def places_in(scenario: Scenario) -> list[Place]:
    """Return the links of a scenario, in order."""
    nodes = scenario.network.nodes
    crossing: list[list[int]] = [[] for _ in nodes]
    for number, route in enumerate(places_of(scenario.node_names, scenario.flows)):
        for index in route:
            crossing[index].append(number)
    several = len(nodes) > 1
    return [
        Place(node.name if several else "", node, tuple(classes))
        for node, classes in zip(nodes, crossing, strict=True)
    ]


def at_place(dataset: xarray.Dataset, place: Place) -> xarray.Dataset:
    """Return what a result, or its summary, says of one link, under the names of a single one."""
    if not place.name:
        return dataset
    mine = dataset.sel(link=place.name, drop=True)
    if "band" in mine.dims and place.node.aqm.bands == 1:  # beside a dual queue
        mine = mine.isel(band=0, drop=True)
    if "link_throughput" in mine:
        mine = mine.assign(throughput=mine["link_throughput"], p=mine["link_p"])
    return mine


def signals_of(summary: xarray.Dataset, index: int) -> float:
    """Return what part of a class's packets some link of its route marks or drops."""
    mine = summary.isel(flows=index)
    met = mine["drop_fraction_of"] + mine["mark_fraction_of"]
    if "link" not in met.dims:
        return float(met)
    return float(1.0 - (1.0 - met.where(mine["place"] > 0, 0.0)).prod("link"))


def delay_of_route(summary: xarray.Dataset, index: int, *, back: bool = False) -> float:
    """Return the mean delay (s) of a class in all queues of its route, or of its way back."""
    mine = summary.isel(flows=index)
    met = mine["delay_mean_of"]
    if "link" not in met.dims:
        return 0.0 if back else float(met)
    there = mine["place"] < 0 if back else mine["place"] > 0
    return float(met.where(there, 0.0).sum())


def capacity_before(scenario: Scenario, flow: Flows, place: Place) -> float:
    """Return the least capacity (bit/s) of the links that a class crosses before one of them."""
    route = flow.route or (place.node.name,)
    rates = {node.name: float(node.link.capacity) for node in scenario.network.nodes}
    before = route[: route.index(place.node.name)]
    return min((rates[name] for name in before), default=float("inf"))


def classic_of(delay: xarray.DataArray) -> xarray.DataArray:
    """Return the delay of the only queue, or of the Classic one of two."""
    return delay.isel(band=0) if "band" in delay.dims else delay
