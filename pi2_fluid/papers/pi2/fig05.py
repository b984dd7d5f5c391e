"""Figure 5 of the PI2 paper: the factor of PIE's table against the square root it approximates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.laws.aqms.pie import TABLES
from pi2_fluid.plot import label_curve, page_style, sample_decades, save_figure, write_caption

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["curves", "draw"]

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


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    from matplotlib.figure import Figure

    rows = curves()
    with page_style():
        figure = Figure(figsize=(7.2, 4.8))
        ax = figure.subplots()
        for row, (_, color, dashes, width) in zip(rows, _LINES, strict=True):
            ax.plot(row["p"], row["tune"], color=color, linestyle=dashes, linewidth=width)
        _scale_axes(ax)
        label_curve(ax, (1e-4, 1 / 110), "RFC 8033", "#0072B2", "right")
        label_curve(ax, (2e-5, 1 / 32), "early IETF drafts", "#A87400", "above")
        label_curve(ax, (2e-5, 1 / 8), "PIE paper (2013)", "#000000", "above")
        label_curve(ax, (2e-2, 0.2), "√(2p)", "#B34700", "right")
        ratio = rows[0]["tune_over_sqrt2p"]
        write_caption(
            figure,
            "PIE's table is a square root in steps",
            "Factor on both gains over drop probability; both axes logarithmic, base 2",
            f"The table of RFC 8033 lies between {ratio.min():.2f} and {ratio.max():.2f}"
            " times √(2p) in this range. The lowest step of the drafts is at\n"
            "p = 0.1 %, that of the PIE paper at 1 %; above these all tables agree.",
            source="PI2 paper, Figure 5",
        )
        return save_figure(figure, out / "pi2_fig05", rows)


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
