"""Figure 11 of Paganini and others (2002): a sample of sizes with a heavy tail."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe
from pi2_fluid.papers.words import share_text
from pi2_fluid.plot import COLORS

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import IntArray

#: The distribution, how many sizes the paper has drawn, and their sum (packets).
SIZES: Final = pf.Pareto(1, 100)
COUNT: Final = 34_078
TOTAL: Final = 3.33e7
_CARRIED: Final = 0.25  # by mice, in the paper's sample
_PAPER: Final = f"{TOTAL:.3g}".replace("e+0", "e") + f", around {share_text(_CARRIED)}"
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


def _measure(case: Case) -> Measured:
    # Samples cost so little that all are made in a hurry, too.
    number = SEEDS if case.quick else case.seeds
    every = [summed(seed) for seed in range(1, number + 1)]
    small, carried, totals = (
        np.array([getattr(each, what) for each in every]) for what in ("small", "carried", "total")
    )
    return Measured(
        {
            "": [{"flow": np.arange(COUNT), "size_packets": sample()}],
            "samples": [
                {
                    "seed": np.arange(1, number + 1),
                    "total_packets": totals,
                    "small": small,
                    "carried": carried,
                }
            ],
        },
        {
            "shape": SIZES.shape,
            "scale": SIZES.scale,
            "count": COUNT,
            "total": totals,
            "mice": 100.0 * small,
            "carried": 100.0 * carried,
        },
    )


def _draw(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    (sizes,), (sums,) = measured.tables[""], measured.tables["samples"]
    totals, carried = sums["total_packets"], sums["carried"]
    axes: Any = figure.subplots(1, 2)
    axes[0].semilogy(sizes["flow"], sizes["size_packets"], ",", color=COLORS[0], rasterized=True)
    axes[0].set(xlabel="flow", ylabel="size [packets]", xlim=(0, COUNT))
    axes[1].semilogx(totals, 100.0 * carried, "o", color=COLORS[1], markersize=3)
    axes[1].plot(totals[0], 100.0 * carried[0], "D", color=COLORS[0], label="as drawn")
    axes[1].plot(TOTAL, 100.0 * _CARRIED, "k+", markersize=10, label=f"the paper's: {_PAPER}")
    axes[1].set(
        xlabel="packets of the sample",
        ylabel=f"carried by flows of fewer than {MICE} [%]",
        ylim=(0, 35),
    )
    axes[1].legend(loc="upper right")
    for ax in axes:
        ax.grid(visible=True)
    middle, low, high = (float(np.quantile(totals, q)) for q in (0.5, 0.1, 0.9))
    return Caption(
        "Pareto sizes of shape 1 have no mean: few elephants decide",
        note=(
            f"Left: {100 * sums['small'][0]:.1f} % are below {MICE} packets and carry"
            f" {100 * carried[0]:.0f} % of {totals[0]:.3g}; the largest has"
            f" {sizes['size_packets'].max():.2g}.\n"
            f"Right: {totals.size} samples. Their sum is {middle:.2g} packets in the median,"
            f" {low:.2g} to {high:.2g} in 8 of 10; mice carry {100 * np.median(carried):.0f} %."
        ),
    )


RECIPE: Final = Recipe(
    caption="One sample of sizes from a Pareto distribution of shape 1",
    kind="sample",
    measure=_measure,
    pages={"": Page(_draw, (9.4, 4.6))},
    seeds=SEEDS,
    decisions=(
        "Sizes are rounded up to whole packets.",
        f"The paper has one sample. We judge by {SEEDS}, since a few sizes decide.",
    ),
    why={
        "total": "A distribution of shape 1 has no mean. In 8 of 10 samples the sum is between"
        " 3.3e7 and 6.5e7, as in the paper's.",
        "mice": "Exactly 90 % of Pareto sizes are below ten times the scale. Samples scatter about"
        " that by 0.2 points, and half of them are below.",
        "carried": "The part is 25 % where the sum is as small as in the paper (claim"
        " paganini-55).",
        "": "This is as in the scenarios of Figures 12 and 13.",
    },
)
