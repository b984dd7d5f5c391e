"""How long transfers took: means and quantiles, of all and by their sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.errors import QuantityError, UnsupportedError, show_value
from pi2_fluid.results.dataset import QUANTILES, Column, label_coords, make_dataset
from pi2_fluid.results.schema import schema_of
from pi2_fluid.units import validate_quantity

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import ArrayLike

    from pi2_fluid.values import BoolArray, FloatArray

#: Segments from which each range of sizes reaches to the next; the last has no end.
SIZES: Final = (1.0, 10.0, 100.0, 1000.0, 10000.0)


def completions(
    dataset: xr.Dataset,
    after: float | str = "0s",
    until: float | str | None = None,
    *,
    sizes: ArrayLike = SIZES,
) -> xr.Dataset:
    """Return how long the transfers took that finished in a stretch of time.

    Parameters
    ----------
    dataset : xarray.Dataset
        Runs with `Transfers`, as `packet.simulate` returns them.
    after, until : float or str
        The stretch (s); `until` None is the end.
    sizes : array-like
        From how many segments on each range of sizes reaches, in rising order; the last has no end.

    Returns
    -------
    xarray.Dataset
        Of each seed and class: ``finished`` in the stretch, and ``unfinished`` at its end (of the
        transfers that began before it); ``completion_mean`` and ``completion_median`` (s);
        ``completion_quantile`` (s), at the levels ``quantile``. With the dim ``size`` the same of
        those of each range: ``finished_of``, ``completion_mean_of``, ``completion_quantile_of``.
        NaN where none was finished. The time of a transfer is from its SYN to its last
        acknowledgement.

    Raises
    ------
    QuantityError
        If sizes do not rise, or the stretch is none.
    UnsupportedError
        If there are no transfers.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> web = pf.Transfers(pf.Reno(), 1, "40ms", size=pf.Fixed(1), idle="1s")
    >>> scenario = pf.Scenario("20s", pf.Link("12Mbit/s"), pf.TailDrop(), web)
    >>> found = pf.completions(pf.simulate(scenario, pf.Packets(seeds=1)))
    >>> f"{1e3 * float(found.completion_median[0, 0]):.1f} ms"
    '81.1 ms'
    """
    schema_of(dataset)
    if "transfer_size" not in dataset:
        raise UnsupportedError(
            "dataset has no transfers, of which completion times are: give runs of packets of a"
            " scenario with Transfers."
        )
    edges = np.atleast_1d(np.asarray(validate_quantity(sizes, "packets", "sizes", closed=True)))
    if edges.ndim > 1 or np.any(np.diff(edges) <= 0.0):
        raise QuantityError(
            f"sizes = {show_value(sizes)} do not rise: give each range's first size, e.g. [1, 100]."
        )
    last = float(dataset["time"][-1])
    begin = float(validate_quantity(after, "time", "after", closed=True))
    end = last if until is None else float(validate_quantity(until, "time", "until"))
    if end <= begin:
        raise QuantityError(
            f"after = {begin:g} s and until = {end:g} s are no stretch of time: give an earlier"
            " after, or a later until."
        )
    if "seed" not in dataset.dims:  # one was selected
        names = [name for name in dataset if str(name).startswith("transfer_")]
        dataset = dataset.assign({name: dataset[name].expand_dims("seed") for name in names})
        dataset = dataset.assign_coords(seed=np.atleast_1d(dataset["seed"]))
        dataset["seed"].attrs = {"units": "1", "long_name": "seed of the run"}
    variables = completion_variables(dataset, tuple(edges), begin, end)
    coords = label_coords(dataset, ("seed", "flows", "quantile")) | size_coords(tuple(edges))
    engine = dataset.attrs.get("engine", "")
    return make_dataset(variables, coords, {"engine": engine, "after": begin, "until": end})


def size_coords(sizes: Sequence[float]) -> dict[str, Column]:
    """Return the coordinates of ranges of sizes."""
    return {
        "size": Column(("size",), sizes, "segments", "size from which the range reaches"),
        "size_end": Column(("size",), (*sizes[1:], np.inf), "segments", "size below which it ends"),
    }


def completion_variables(
    dataset: xr.Dataset, sizes: Sequence[float], begin: float, end: float
) -> dict[str, Column]:
    """Return what `completions` describes, of transfers that were finished from begin to end."""
    seeds, classes = dataset.sizes["seed"], dataset.sizes["flows"]
    start = dataset["transfer_start"].to_numpy()
    took = dataset["transfer_time"].to_numpy()
    size, owner = dataset["transfer_size"].to_numpy(), dataset["transfer_class"].to_numpy()
    over = start + took
    now = (over > begin) & (over <= end)
    left = (start <= end) & ~(over <= end)
    within = np.searchsorted(sizes, size, side="right") - 1
    shape = (seeds, classes)
    finished, unfinished = np.zeros(shape, int), np.zeros(shape, int)
    mean, levels = np.full(shape, np.nan), np.full((*shape, len(QUANTILES)), np.nan)
    middle = np.full(shape, np.nan)
    of = (*shape, len(sizes))
    finished_of, mean_of = np.zeros(of, int), np.full(of, np.nan)
    levels_of = np.full((*of, len(QUANTILES)), np.nan)
    for at in np.ndindex(shape):
        seed, class_ = at
        mine = owner[seed] == class_
        unfinished[at] = np.count_nonzero(mine & left[seed])
        picked = mine & now[seed]
        finished[at], mean[at], levels[at] = _described(took[seed], picked)
        middle[at] = levels[at][QUANTILES.index(0.5)]
        for k in range(len(sizes)):
            place = (*at, k)
            finished_of[place], mean_of[place], levels_of[place] = _described(
                took[seed], picked & (within[seed] == k)
            )
    each, ranges = ("seed", "flows"), ("seed", "flows", "size")
    return {
        "finished": Column(each, finished, "1", "transfers finished"),
        "unfinished": Column(each, unfinished, "1", "transfers under way at the end"),
        "completion_mean": Column(each, mean, "s", "mean time that transfers took"),
        "completion_median": Column(each, middle, "s", "median time that transfers took"),
        "completion_quantile": Column(
            ("seed", "quantile", "flows"),
            np.moveaxis(levels, -1, 1),
            "s",
            "quantile of the time that transfers took",
        ),
        "finished_of": Column(ranges, finished_of, "1", "transfers of these sizes finished"),
        "completion_mean_of": Column(
            ranges, mean_of, "s", "mean time that transfers of these sizes took"
        ),
        "completion_quantile_of": Column(
            ("seed", "quantile", "flows", "size"),
            np.moveaxis(levels_of, -1, 1),
            "s",
            "quantile of the time that transfers of these sizes took",
        ),
    }


def _described(took: FloatArray, picked: BoolArray) -> tuple[int, float, FloatArray]:
    """Return how many were picked, the mean of what they took, and its quantiles."""
    chosen = took[picked]
    if not chosen.size:
        return 0, np.nan, np.full(len(QUANTILES), np.nan)
    return chosen.size, float(chosen.mean()), np.quantile(chosen, QUANTILES)
