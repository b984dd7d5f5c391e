"""Pictures: a result of any engine over time."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.network.scenario import Scenario
    from pi2_fluid.values import FloatArray

#: As results of packets have the delay (s).
_BIN: Final = 0.02


def draw_result(
    dataset: xarray.Dataset,
    title: str,
    target: float | None,
    path: Path,
    scenario: Scenario | None = None,
) -> None:
    """Save queue delay, throughput and probability over time.

    Parameters
    ----------
    dataset : xarray.Dataset
        A trajectory, or the packets of several seeds.
    title : str
        Above the picture.
    target : float or None
        Queue delay aimed at (s).
    path : Path
        Its ending says which kind of picture.
    scenario : Scenario, optional
        Of a fluid: draws what chance would add, as a ribbon about the delay.
    """
    from matplotlib.figure import Figure

    from pi2_fluid.plot import draw_trajectory, page_style, save_picture
    from pi2_fluid.results.schema import schema_of

    # The time that packets spent in their queue: what a dual queue serves of each is not constant.
    schema = schema_of(dataset)
    several = "link" in dataset.dims
    delay = _by_label(dataset[schema.waited], "link", "band")
    labels = {f"queue {band}" if band else "": values for band, values in delay.items()}
    chance = None if scenario is None else _ribbons(scenario, dataset, delay)
    with page_style():
        figure = Figure(figsize=(8.0, 6.4))
        draw_trajectory(
            figure.subplots(3, 1, sharex=True),
            dataset.time.to_numpy(),
            labels,
            _by_label(dataset.throughput, "flows"),
            _by_label(dataset.capacity, "link") if several else dataset.capacity.to_numpy(),
            _probabilities(dataset, schema.signal),
            target,
            chance,
        )
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
        save_picture(figure, path)


def _ribbons(
    scenario: Scenario, dataset: xarray.Dataset, delay: dict[str, Any]
) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return what chance adds to each queue of a fluid, of dual queues to the Classic one."""
    from pi2_fluid.loop.chance_along import delay_sd_along, ribbon

    found, nodes = {}, {node.name: node.aqm for node in scenario.network.nodes}
    for link, sd in delay_sd_along(scenario, dataset.time.to_numpy(), _BIN).items():
        label = next(each for each in delay if each in ("", "C", link, f"{link} C"))
        ends = ribbon(delay[label], sd, float(getattr(nodes[link], "target", 0.0)))
        found[f"queue {label}" if label else ""] = ends
    return found


def _by_label(variable: xarray.DataArray, *dims: str) -> dict[str, Any]:
    """Return the arrays ([seed,] time) of a variable, by the labels of dims that it may have."""
    mine = [dim for dim in dims if dim in variable.dims]
    labels = product(*(variable[dim].to_numpy() for dim in mine))
    return {
        " ".join(map(str, each)): variable.sel(dict(zip(mine, each, strict=True))).to_numpy()
        for each in labels
    }


def _probabilities(dataset: xarray.Dataset, signal: str) -> dict[str, Any]:
    """Return the controller's variable, and each signal probability that differs, by who sees it.

    Of packets the law's own probability: what happened to the few of a bin is too noisy.
    """
    met = dataset[signal]
    if "link" in met.dims:  # by any of the links that the class crosses
        met = 1.0 - (1.0 - met.where(dataset.place > 0, 0.0)).prod("link")
    values = _by_label(met, "flows")
    if "link" in dataset.dims:
        controllers = _by_label(dataset.controller, "link")
        seen_by = {f"seen by {name}": seen for name, seen in values.items()}
        return {f"controller {name}": u for name, u in controllers.items()} | seen_by
    u = dataset.controller.to_numpy()
    who: dict[bytes, list[str]] = {}
    for name, seen in values.items():
        if seen.any() and (seen != u).any():
            who.setdefault(seen.tobytes(), []).append(name)
    shown = {f"seen by {', '.join(names)}": values[names[0]] for names in who.values()}
    return {"controller": u} | shown
