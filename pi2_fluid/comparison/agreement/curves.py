"""Curves of several engines for one picture: means over the same stretches, and distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pi2_fluid.results.schema import schema_of

if TYPE_CHECKING:
    import xarray
    from numpy.typing import NDArray


def stretch_means(run: xarray.Dataset, name: str, width: float) -> tuple[Any, Any]:
    """Return the middles of stretches of `width` (s) and the means of a variable over them.

    Parameters
    ----------
    run : xarray.Dataset
        A trajectory, or packets: of those the seeds come first and stay.
    name : str
        A variable over time, without other dims than ``seed`` and ``time``.
    width : float
        As many whole samples as come next to it are taken together.
    """
    values, time = run[name].transpose(..., "time").to_numpy(), run["time"].to_numpy()
    if not schema_of(run).binned:  # samples at instants: the mean over a stretch is between them
        values, time = 0.5 * (values[..., 1:] + values[..., :-1]), time[1:]
    step = float(np.median(np.diff(time)))
    each = max(1, round(width / step))
    count = len(time) // each
    shape = (*values.shape[:-1], count, each)
    middles = time[: count * each].reshape(count, each).mean(axis=-1) - 0.5 * step
    return middles, values[..., : count * each].reshape(shape).mean(axis=-1)


def delay_distribution(
    run: xarray.Dataset, after: float, band: int | None = None
) -> tuple[Any, Any]:
    """Return delays (s), and which part of what leaves after `after` has met at most that.

    Parameters
    ----------
    run : xarray.Dataset
        A trajectory: one curve. Packets: of each seed one row, from blocks of the run.
    after : float
        Seconds.
    band : int, optional
        Which queue of a dual queue.
    """
    if not schema_of(run).binned:
        late = run["queue_delay"].sel(time=slice(after, None))
        delay = (late if band is None else late.isel(band=band)).to_numpy()
        rates = run["throughput"].sel(time=slice(after, None)).isel(flows=_classes(run, band))
        order = np.argsort(delay)
        below = np.cumsum(rates.sum("flows").to_numpy()[order])
        # From 0 on, so that a fluid at rest is a step.
        return (
            np.append(delay[order][:1], delay[order]),
            np.append(0.0, below / max(float(below[-1]), np.finfo(float).tiny)),
        )
    blocks = np.flatnonzero(run["block_start"].to_numpy() >= after - 1e-9)
    counts = run["delay_histogram"].isel(block=blocks if blocks.size else [-1])
    if "flows" in counts.dims:
        counts = counts.isel(flows=_classes(run, band)).sum("flows", dtype=np.int64)
    elif "band" in counts.dims:  # of several links they are counted by queue
        counts = counts.isel(band=slice(None) if band is None else [band]).sum("band")
    left = counts.sum("block", dtype=np.int64).transpose("seed", "delay").to_numpy()
    below = np.cumsum(left, axis=1)
    return run["delay_end"].to_numpy(), below / np.maximum(below[:, -1:], 1)


def _classes(run: xarray.Dataset, band: int | None) -> NDArray[np.intp]:
    if band is None:
        return np.arange(run.sizes["flows"])
    return np.flatnonzero(run["band_of"].to_numpy() == band)
