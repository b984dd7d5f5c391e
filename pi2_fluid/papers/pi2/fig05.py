"""Figure 5 of the PI2 paper: the factor of PIE's table against the square root it approximates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.laws.aqms.pie import TABLES
from pi2_fluid.papers.pi2.claims.scaling import table_fit
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe
from pi2_fluid.papers.words import share_text
from pi2_fluid.plot import label_curve, sample_decades

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

# table, colour, dashes, width; drawn in this order, so that the thin lines show on the thick one
_LINES: Final[tuple[tuple[Any, ...], ...]] = (
    ("rfc8033", "#0072B2", "-", 2.6),
    ("ietf_early", "#E69F00", (0, (4, 1.5)), 1.1),
    ("hpsr13", "#000000", (0, (1, 1)), 1.1),
    ("sqrt2p", "#B34700", "-", 1.1),
)


def curves() -> list[dict[str, Any]]:
    """Return the plotted numbers, one mapping of columns per table."""
    rows = []
    for table, *_ in _LINES:
        edges = [edge for edge, _ in TABLES.get(table, ())]
        p = sample_decades(-6, 0, 40, edges)
        tune = pf.Pie(table=table).gain_factor(p)
        rows.append(
            {"line": table, "p": p, "tune": tune, "tune_over_sqrt2p": tune / np.sqrt(2 * p)}
        )
    return rows


def _measure(_: Case) -> Measured:
    mean, exponent = table_fit()
    return Measured({"": curves()}, {"mean": mean, "exponent": exponent})


def _draw(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    rows = measured.tables[""]
    ax = figure.subplots()
    for row, (_, color, dashes, width) in zip(rows, _LINES, strict=True):
        ax.plot(row["p"], row["tune"], color=color, linestyle=dashes, linewidth=width)
    _scale_axes(ax)
    label_curve(ax, (1e-4, 1 / 110), "RFC 8033", "#0072B2", "right")
    label_curve(ax, (2e-5, 1 / 32), "early IETF drafts", "#A87400", "above")
    label_curve(ax, (2e-5, 1 / 8), "PIE paper (2013)", "#000000", "above")
    label_curve(ax, (2e-2, 0.2), "√(2p)", "#B34700", "right")
    ratio = rows[0]["tune_over_sqrt2p"]
    drafts, paper = (
        share_text(min(edge for edge, _ in TABLES[table])) for table in ("ietf_early", "hpsr13")
    )
    return Caption(
        "PIE's table is a square root in steps",
        note=f"The table of RFC 8033 lies between {ratio.min():.2f} and {ratio.max():.2f}"
        " times √(2p) in this range. The lowest step of the drafts is at\n"
        f"p = {drafts}, that of the PIE paper at {paper}; above these all tables agree.",
        setting="Factor on both gains over drop probability; both axes logarithmic, base 2",
    )


def _scale_axes(ax: Axes) -> None:
    """Both axes in powers of two, as printed; the probability in percent above."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    ax.set(xlim=(1e-6, 1), ylim=(2**-10, 2), ylabel="tune", xlabel="drop probability p")
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ax.xaxis.set_major_locator(FixedLocator([2.0**k for k in range(-18, 1, 3)]))
    ax.yaxis.set_major_locator(FixedLocator([2.0**k for k in (-9, -7, -5, -3, -1, 0, 1)]))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"1/{1 / y:g}" if y < 1 else f"{y:g}"))
    ax.grid(visible=True)
    above = ax.secondary_xaxis("top")
    above.xaxis.set_major_locator(FixedLocator([10.0**k for k in range(-6, 1)]))
    above.xaxis.set_minor_locator(NullLocator())
    above.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:.6g} %"))


RECIPE: Final = Recipe(
    caption="The factor of PIE's table over the drop probability, and the root of 2p",
    kind="loop",
    measure=_measure,
    pages={"": Page(_draw, (7.2, 4.8))},
    seeds=1,
    decisions=(
        (
            "PIE's table is that of RFC 8033: the paper cites its draft. The two earlier tables"
            " are drawn, too."
        ),
        (
            "The paper says that the table broadly fits for p from 0.0001 % to 100 %. We judge"
            " this by the mean of tune / √(2p), and by the power of p that tune follows."
        ),
    ),
    conditions={
        "mean": "the paper means the mean over the loads",
        "exponent": "the paper means the trend over the loads",
    },
    why={
        "": "Single steps lie at 0.44 to 3.5 times √(2p). Steps of a factor of four could stay"
        " within a factor of two (claim pi2-05)."
    },
)
