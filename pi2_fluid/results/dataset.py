"""The schema: what all engines report, under which names, with which units."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.network.routes import places_back_of, places_of
from pi2_fluid.network.scenario import Scenario

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from pi2_fluid.values import FloatArray

#: Labels of the two queues of a dual queue.
BANDS: Final = ("C", "L")
#: Levels of the delay quantiles that summaries have.
QUANTILES: Final = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


#: How many frames of results are kept, and of how many labels at most.
_MOST_FRAMES: Final = 8
_MOST_LABELS: Final = 100_000
_FRAMES: Final[dict[tuple[Any, ...], tuple[dict[str, NDArray[Any]], xr.Dataset]]] = {}


class Column(NamedTuple):
    """One variable or coordinate: its dims, values, units and long name."""

    dims: tuple[str, ...]
    values: Any
    units: str
    long_name: str

    def to_numpy(self) -> NDArray[Any]:
        """Return the values, as an array of xarray's does."""
        return np.asarray(self.values)


@dataclass(frozen=True)
class Columns:
    """A result as plain arrays, for those who need no Dataset of it.

    By its name each variable and coordinate has ``dims`` and ``to_numpy()``, as in a Dataset.

    Parameters
    ----------
    variables, coords, attrs
        Of `make_dataset`.

    Examples
    --------
    >>> made = Columns({"delay": Column(("time",), [0.02, 0.03], "s", "queue delay")}, {}, {})
    >>> made["delay"].to_numpy().max(), dict(made.to_dataset().sizes)
    (np.float64(0.03), {'time': 2})
    """

    variables: Mapping[str, Column]
    coords: Mapping[str, Column]
    attrs: Mapping[str, str | float]

    def __contains__(self, name: object) -> bool:
        return name in self.variables or name in self.coords

    def __getitem__(self, name: str) -> Column:
        return self.variables[name] if name in self.variables else self.coords[name]

    def to_dataset(self) -> xr.Dataset:
        """Return the Dataset."""
        return make_dataset(self.variables, self.coords, self.attrs)


def make_dataset(
    variables: Mapping[str, Column], coords: Mapping[str, Column], attrs: Mapping[str, str | float]
) -> xr.Dataset:
    """Build a Dataset whose every variable and coordinate has ``units`` and ``long_name``.

    Parameters
    ----------
    variables, coords : mapping of name to Column
        SI units.
    attrs : mapping
        Provenance: text and numbers only, so that netCDF and Zarr keep them. The package version
        and the time of creation are added.
    """
    data = {name: _plain(column) for name, column in variables.items()}
    labels = {name: _plain(column) for name, column in coords.items()}
    made = _frame(variables, data, coords, labels).copy(data=data)
    found = made.variables
    for name, values in labels.items():
        if coords[name].dims != (name,):  # an index is frozen, others are not to be shared
            found[name].data = values
    made.attrs = {
        **attrs,
        "package_version": _version(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return made


def _plain(column: Column) -> NDArray[Any]:
    """Return the values of a column as netCDF and Zarr keep them."""
    values = np.asarray(column.values)
    if values.dtype.kind == "U":
        return values.astype(object)
    if values.dtype.kind == "i":
        # C's long long and long may be of one size; Zarr knows but one of them.
        return values.view(f"i{values.dtype.itemsize}")
    return values


def _frame(
    variables: Mapping[str, Column],
    data: Mapping[str, NDArray[Any]],
    coords: Mapping[str, Column],
    labels: Mapping[str, NDArray[Any]],
) -> xr.Dataset:
    """Return a Dataset like the one that is to be made, but for its data.

    To copy one takes xarray a fraction of the time that it takes to make one, and results that
    follow each other mostly differ in their data alone.
    """
    parts = ((variables, data), (coords, labels))
    key = tuple(
        (name, column.dims, values[name].shape, column.units, column.long_name)
        for columns, values in parts
        for name, column in columns.items()
    )
    known = _FRAMES.get((len(variables), *key))
    if known is not None and all(_same(labels[name], kept) for name, kept in known[0].items()):
        return known[1]

    def entry(column: Column, values: NDArray[Any]) -> tuple[Any, ...]:
        return column.dims, values, {"units": column.units, "long_name": column.long_name}

    import xarray as xr  # 0.3 s, and who counts packets for itself needs none

    frame = xr.Dataset(
        {
            name: entry(column, np.broadcast_to(0.0, data[name].shape))
            for name, column in variables.items()
        },
        {name: entry(column, labels[name].copy()) for name, column in coords.items()},
    )
    if sum(values.size for values in labels.values()) <= _MOST_LABELS:
        if len(_FRAMES) >= _MOST_FRAMES:
            _FRAMES.pop(next(iter(_FRAMES)), None)
        _FRAMES[len(variables), *key] = (
            {name: values.copy() for name, values in labels.items()},
            frame,
        )
    return frame


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    # Of few labels, `array_equal` takes ten times as long; shapes are those of one key.
    if one.dtype != other.dtype:
        return False
    if one.dtype.kind == "O":
        return bool(one.tolist() == other.tolist())
    return one.tobytes() == other.tobytes()


@cache
def _version() -> str:
    from importlib.metadata import version  # which margins do without

    return version("pi2-fluid")


def quantile_name(level: float) -> str:
    """Return what the delay quantile of a level is called.

    Examples
    --------
    >>> quantile_name(0.05)
    'delay_p05'
    """
    return f"delay_p{round(100 * level):02d}"


def shared_variables(
    scenario: Scenario,
    dims: tuple[str, ...],
    values: Mapping[str, Any],
) -> dict[str, Column]:
    """Return the variables that every engine reports.

    Parameters
    ----------
    scenario : Scenario
        What was simulated.
    dims : tuple of str
        The leading dims of all values but the capacity's, which has ``time`` instead.
    values : mapping of str to array
        ``queue_delay`` (s) and ``queue`` (packets) with the queues last; ``controller``; ``p``,
        ``window`` (segments) and ``throughput`` (bit/s) with the classes last; ``capacity``
        (bit/s). Of several links all but those of classes have ``link`` behind the leading dims,
        and there are ``link_p`` and ``link_throughput`` with links and classes last, 0 where the
        class does not cross the link.
    """
    links = link_dims(scenario)
    of_links = (*dims, *links)
    dual = most_bands(scenario) == 2
    queues = (*of_links, "band") if dual else of_links
    classes = (*dims, "flows")
    classic = np.array([flow.sender.signal == "classic" for flow in scenario.flows])
    p = values["p"]

    def band(of_queues: FloatArray) -> FloatArray:
        return of_queues if dual else of_queues[..., 0]

    shared = {
        "queue_delay": Column(queues, band(values["queue_delay"]), "s", "queueing delay"),
        "queue": Column(queues, band(values["queue"]), "packets", "backlog"),
        "controller": Column(of_links, values["controller"], "1", "the controller's own variable"),
        "p": Column(classes, p, "1", "probability that a packet is signalled"),
        "p_prime": Column(
            classes,
            np.where(classic, np.sqrt(np.maximum(p, 0.0)), p),
            "1",
            "linear form of the signal probability",
        ),
        "window": Column(classes, values["window"], "segments", "window of one flow"),
        "throughput": Column(
            classes, values["throughput"], "bit/s", "rate at which the class leaves the link"
        ),
        "capacity": Column(("time", *links), values["capacity"], "bit/s", "capacity of the link"),
    }
    if links:
        crossing = (*of_links, "flows")
        shared["p"] = shared["p"]._replace(long_name="probability that a link signals a packet")
        shared["throughput"] = shared["throughput"]._replace(
            long_name="rate at which the class leaves its last link"
        )
        shared["link_p"] = Column(
            crossing, values["link_p"], "1", "probability that this link signals a packet"
        )
        shared["link_throughput"] = Column(
            crossing, values["link_throughput"], "bit/s", "rate at which the class leaves the link"
        )
    return shared


def link_dims(scenario: Scenario) -> tuple[str, ...]:
    """Return the dims of what each link has, none where there is one."""
    return ("link",) if len(scenario.node_names) > 1 else ()


def most_bands(scenario: Scenario) -> int:
    """Return 2 if a queue of the scenario is dual, 1 if none is."""
    return max(node.aqm.bands for node in scenario.network.nodes)


def class_coords(scenario: Scenario, bands: Sequence[int]) -> dict[str, Column]:
    """Return the coordinates that say which classes and queues there are.

    Parameters
    ----------
    scenario : Scenario
        What was simulated.
    bands : sequence of int
        Through which queue each class goes, of a dual queue.
    """
    marked = [flow.ecn_capable for flow in scenario.flows]
    coords = {
        "flows": Column(("flows",), np.array(scenario.class_names), "1", "class of flows"),
        "flow_count": Column(
            ("flows",), [float(flow.count) for flow in scenario.flows], "1", "flows of the class"
        ),
        "ecn": Column(
            ("flows",), np.array(marked, dtype=int), "1", "1 if packets are marked, not dropped"
        ),
    }
    if link_dims(scenario):
        place = np.zeros((len(scenario.node_names), len(scenario.flows)), dtype=int)
        for ways, sign in ((places_of, 1), (places_back_of, -1)):
            for column, way in enumerate(ways(scenario.node_names, scenario.flows)):
                place[way, column] = sign * np.arange(1, len(way) + 1)
        coords["link"] = Column(("link",), np.array(scenario.node_names), "1", "link")
        coords["place"] = Column(
            ("link", "flows"),
            place,
            "1",
            "place of the link on the route, from 1 on, or the way back, from -1; 0: neither",
        )
    if most_bands(scenario) == 2:
        coords["band_of"] = Column(
            ("flows",), np.array(bands, dtype=int), "1", "which queue the class goes through"
        )
        coords["band"] = Column(("band",), np.array(BANDS), "1", "queue of the dual queue")
    return coords


def label_coords(dataset: xr.Dataset, names: Iterable[str]) -> dict[str, Column]:
    """Return those of the named coordinates that a Dataset has, for another made from it."""
    return {
        name: Column(
            tuple(map(str, dataset[name].dims)),
            dataset[name].to_numpy(),
            dataset[name].attrs["units"],
            dataset[name].attrs["long_name"],
        )
        for name in names
        if name in dataset.coords
    }
