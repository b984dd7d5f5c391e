"""Drawing. Takes arrays, returns the artists, never shows a window."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "COLORS",
    "draw_bode",
    "draw_nyquist",
    "label_curve",
    "mark_outside",
    "mark_unstable",
    "new_axes",
    "page_style",
    "sample_decades",
    "save_figure",
    "show_percent",
    "write_caption",
    "write_numbers",
]

#: Colours of increasing lightness (so that they survive greyscale), safe for colour-blind readers
#: (after Okabe and Ito).
COLORS: Final = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")

# Of every saved figure, whatever the reader's matplotlibrc says, so that the bytes are the same.
_PAGE: Final[dict[Any, Any]] = {
    "axes.axisbelow": True,
    "axes.labelsize": 10,
    "axes.linewidth": 0.7,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "figure.constrained_layout.use": True,
    "figure.dpi": 200,
    "font.size": 9,
    "grid.alpha": 0.35,
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "pdf.fonttype": 42,
    "svg.hashsalt": "pi2_fluid",
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
}
# Without what changes from run to run, and without versions.
_METADATA: Final[dict[str, dict[str, Any]]] = {
    ".png": {"Software": None},
    ".svg": {"Creator": None, "Date": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
_DIGITS: Final = 12  # of the numbers written: stable from machine to machine
# How far below an edge "just below" is, relative: more than a table's tolerance for rounding, less
# than any reader sees.
_BELOW: Final = 1e-8


def new_axes(rows: int = 1, **figure: Any) -> Any:
    """Return `rows` axes that share their frequency axis, in a new figure."""
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(rows, 1, sharex=True, layout="constrained", **figure)
    return axes


def draw_bode(
    axes: Any,
    w: Any,
    response: Any,
    phase_deg: Any,
    gain_crossing: tuple[float, float],
    phase_crossing: tuple[float, float],
    label: str | None = None,
) -> list[Any]:
    """Draw gain and phase over frequency, with both margins.

    Parameters
    ----------
    axes : pair of matplotlib Axes
        For the gain and for the phase.
    w, response, phase_deg : arrays
        Frequency (rad/s), L(jw), and its continuous phase (deg).
    gain_crossing : (w_gc, phase margin in deg)
        Not drawn where not finite.
    phase_crossing : (w_pc, gain margin in dB)
        Not drawn where not finite.
    label : str, optional
        For the legend.
    """
    top, bottom = axes
    artists = [
        *top.semilogx(w, 20 * np.log10(np.abs(response)), label=label),
        *bottom.semilogx(w, phase_deg, label=label),
    ]
    color = artists[0].get_color()
    w_gc, pm = gain_crossing
    w_pc, gm = phase_crossing
    if np.isfinite(w_pc) and np.isfinite(gm):
        artists.append(
            top.vlines(w_pc, min(0, -gm), max(0, -gm), color=color, linewidth=3, alpha=0.4)
        )
        top.annotate(f"{gm:.1f} dB", (w_pc, -gm), (6, 2), textcoords="offset points", color=color)
    if np.isfinite(w_gc) and np.isfinite(pm):
        low, high = sorted((-180.0, pm - 180.0))
        artists.append(bottom.vlines(w_gc, low, high, color=color, linewidth=3, alpha=0.4))
        bottom.annotate(
            f"{pm:.1f}°", (w_gc, pm - 180.0), (6, 2), textcoords="offset points", color=color
        )
    top.axhline(0.0, color="0.5", linewidth=0.8)
    bottom.axhline(-180.0, color="0.5", linewidth=0.8)
    top.set_ylabel("|L| [dB]")
    bottom.set_ylabel("phase of L [deg]")
    bottom.set_xlabel("frequency [rad/s]")
    for ax in axes:
        ax.grid(visible=True, which="both", alpha=0.25)
    return artists


def draw_nyquist(ax: Any, response: Any, label: str | None = None) -> list[Any]:
    """Draw L(jw) in the complex plane, around the point -1.

    Parameters
    ----------
    ax : matplotlib Axes
    response : array
        L(jw) for rising w.
    label : str, optional
        For the legend.
    """
    artists = [*ax.plot(response.real, response.imag, label=label)]
    color = artists[0].get_color()
    artists += ax.plot(response.real, -response.imag, color=color, linestyle="--", linewidth=0.8)
    artists += ax.plot([-1.0], [0.0], "+", color="black", markersize=12, label="-1")
    ax.axhline(0.0, color="0.7", linewidth=0.8)
    ax.axvline(0.0, color="0.7", linewidth=0.8)
    ax.set(xlim=(-3, 1), ylim=(-2, 2), aspect="equal", xlabel="Re L", ylabel="Im L")
    ax.grid(visible=True, alpha=0.25)
    return artists


@contextmanager
def page_style() -> Iterator[None]:
    """Draw and save inside this: one look, and the same bytes from the same numbers.

    The reader's own settings are set aside, and come back afterwards.
    """
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_PAGE)
        yield


def save_figure(figure: Figure, stem: Path) -> list[Path]:
    """Write `figure` as PNG, SVG and PDF beside each other, and return their paths.

    Inside `page_style` the files hold no dates and no random names.
    """
    files = []
    for suffix, metadata in _METADATA.items():
        path = stem.with_name(stem.name + suffix)
        figure.savefig(path, metadata=metadata)
        files.append(path)
    return files


def write_numbers(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write curves as CSV: one header line, then the points of one curve after the other.

    Parameters
    ----------
    path : Path
        Of the CSV file.
    rows : sequence of mapping of column name to value or array
        One mapping per curve, all with the same columns; a single value holds for the whole curve.
        Names end in their unit (``rtt_s``, ``gain_margin_db``) unless they have none.
    """
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(rows[0])
        for row in rows:
            for values in np.broadcast(*row.values()):
                writer.writerow([_text(value) for value in values])
    return path


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str) else f"{float(value):.{_DIGITS}g}"


def sample_decades(low: int, high: int, per_decade: int, edges: Any = ()) -> Any:
    """Return points from 10**low to 10**high, even in the logarithm and exact at each decade.

    Every edge strictly inside is there twice, from both sides, so that a step is drawn as one.

    Examples
    --------
    >>> [float(x) for x in sample_decades(-2, 0, 1, edges=[0.5])]
    [0.01, 0.1, 0.499999995, 0.5, 1.0]
    """
    exponents = np.arange(low * per_decade, high * per_decade + 1) / per_decade
    even = np.array([float(f"{10.0**exponent:.15g}") for exponent in exponents])
    inside = np.array([edge for edge in edges if even[0] < edge < even[-1]], dtype=float)
    return np.unique(np.concatenate([even, inside, inside * (1.0 - _BELOW)]))


def show_percent(ax: Axes) -> None:
    """Label the decades of the logarithmic x axis of `ax` as percentages."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.xaxis.set_major_locator(LogLocator(base=10, numticks=20))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:.6g} %"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def mark_unstable(ax: Axes) -> None:
    """Shade margins below zero; call it once the limits of `ax` are set."""
    ax.axhspan(ax.get_ylim()[0], 0.0, color="#B22222", alpha=0.09, linewidth=0, zorder=0)
    ax.axhline(0.0, color="#B22222", linewidth=0.9, zorder=1)
    ax.annotate(
        "unstable", (0, 0), (5, -4), xycoords=("axes fraction", "data"),
        textcoords="offset points", va="top", color="#8B1A1A", fontsize=8,
    )  # fmt: skip


def mark_outside(ax: Axes, right_of: float, text: str) -> None:
    """Shade where a model has ended, `right_of` a value; call it once the limits are set."""
    ax.axvspan(right_of, ax.get_xlim()[1], color="0.5", alpha=0.12, linewidth=0, zorder=0)
    ax.annotate(
        text, (right_of, 1), (3, -3), xycoords=("data", "axes fraction"),
        textcoords="offset points", va="top", color="0.35", fontsize=7,
    )  # fmt: skip


def label_curve(
    ax: Axes, point: tuple[float, float], text: str, color: str, side: str = "right", **style: Any
) -> Any:
    """Write the name of a curve beside its `point`, on a light ground."""
    from matplotlib import patheffects

    dx, dy, ha, va = {
        # Shifted in height too, away from a curve that rises to the right.
        "left": (-6, 5, "right", "center"),
        "right": (6, -5, "left", "center"),
        "above": (0, 4, "center", "bottom"),
    }[side]
    ground = [patheffects.withStroke(linewidth=2.5, foreground="white")]
    return ax.annotate(
        text, point, (dx, dy), textcoords="offset points", ha=ha, va=va, color=color,
        path_effects=ground, zorder=6, **style,
    )  # fmt: skip


def write_caption(figure: Figure, message: str, setting: str, note: str = "") -> None:
    """Put what the figure shows above it, then its parameters, and a note below in small print."""
    figure.suptitle(message, x=0.01, ha="left", fontsize=11, fontweight="bold")
    figure.axes[0].set_title(setting, fontsize=9, color="0.25", linespacing=1.4)
    if note:
        figure.supxlabel(note, x=0.01, ha="left", fontsize=7.5, color="0.3")
