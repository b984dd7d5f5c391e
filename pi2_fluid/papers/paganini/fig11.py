"""Figure 11 of Paganini and others (2002): a sample of sizes with a heavy tail."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

import pi2_fluid as pf
from pi2_fluid.plot import COLORS, page_style, save_figure, write_caption

if TYPE_CHECKING:
    from pi2_fluid.values import IntArray

__all__ = ["COUNT", "MICE", "SIZES", "TOTAL", "draw", "sample", "summed"]

#: The distribution, how many sizes the paper has drawn, and their sum (packets).
SIZES: Final = pf.Pareto(1, 100)
COUNT: Final = 34_078
TOTAL: Final = 3.33e7
#: Packets, below which a flow is a mouse.
MICE: Final = 1000
#: The sample that is drawn; others are summed up.
SEED: Final = 1
SEEDS: Final = 200


class Summed(NamedTuple):
    """What a sample amounts to."""

    small: float
    """Part of the flows with fewer than `MICE` packets."""
    carried: float
    """Part of all packets that these have."""
    total: float
    """Packets."""


def sample(seed: int = SEED) -> IntArray:
    """Return as many sizes as the paper has drawn (packets)."""
    return SIZES.sample(COUNT, seed)


@cache
def summed(seed: int) -> Summed:
    """Return what a sample amounts to."""
    sizes = sample(seed)
    small, total = sizes < MICE, float(sizes.sum())
    return Summed(float(small.mean()), float(sizes[small].sum()) / total, total)


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    from matplotlib.figure import Figure

    sizes, found = sample(), summed(SEED)
    every = [summed(seed) for seed in range(1, SEEDS + 1)]
    totals, carried = (np.array([getattr(each, what) for each in every])
                       for what in ("total", "carried"))  # fmt: skip
    with page_style():
        figure = Figure(figsize=(9.4, 4.6))
        axes: Any = figure.subplots(1, 2)
        axes[0].semilogy(np.arange(COUNT), sizes, ",", color=COLORS[0], rasterized=True)
        axes[0].set(xlabel="flow", ylabel="size [packets]", xlim=(0, COUNT))
        axes[1].semilogx(totals, 100.0 * carried, "o", color=COLORS[1], markersize=3)
        axes[1].plot(found.total, 100.0 * found.carried, "D", color=COLORS[0], label="as drawn")
        axes[1].plot(TOTAL, 25.0, "k+", markersize=10, label="the paper's: 3.33e7, around 25 %")
        axes[1].set(
            xlabel="packets of the sample",
            ylabel=f"carried by flows of fewer than {MICE} [%]",
            ylim=(0, 35),
        )
        axes[1].legend(loc="upper right")
        for ax in axes:
            ax.grid(visible=True)
        middle, low, high = (float(np.quantile(totals, q)) for q in (0.5, 0.1, 0.9))
        write_caption(
            figure,
            "Pareto sizes of shape 1 have no mean: few elephants decide",
            note=(
                f"{COUNT} sizes with scale {SIZES.scale:g}. Left: {100 * found.small:.1f} % are"
                f" below {MICE} packets and carry {100 * found.carried:.0f} % of {found.total:.3g};"
                f" the largest has {sizes.max():.2g}.\n"
                f"Right: {SEEDS} samples. Their sum is {middle:.2g} packets in the median,"
                f" {low:.2g} to {high:.2g} in 8 of 10; mice carry {100 * np.median(carried):.0f} %."
            ),
            source="Paganini et al. (2002), Figure 11",
        )
        columns = [{"flow": np.arange(COUNT), "size_packets": sizes}]
        sums = [{"seed": np.arange(1, SEEDS + 1), "total_packets": totals, "carried": carried}]
        return save_figure(figure, out / "paganini_fig11", columns, samples=sums)
