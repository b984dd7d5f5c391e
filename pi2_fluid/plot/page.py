"""The page: one look for every saved figure, its files, and the numbers behind it."""

from __future__ import annotations

import csv
import io
import logging
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.saving import save_bytes, save_text

if TYPE_CHECKING:
    from typing import SupportsFloat

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase
    from matplotlib.text import Annotation

    from pi2_fluid.values import FloatArray

#: The colours of `page.mplstyle`, in its order.
COLORS: Final = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")

#: The look of every saved figure: `page.mplstyle`, beside this file.
STYLE: Final = "pi2_fluid.plot.page"

# Part of the width that the corner may take.
_CORNER: Final = 0.45
# Without what changes from run to run, and without versions.
_METADATA: Final[dict[str, dict[str, Any]]] = {
    ".png": {"Software": None},
    ".svg": {"Creator": None, "Date": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
# By what name a file says more about itself.
_SAID: Final = {".png": "Description", ".svg": "Description", ".pdf": "Subject"}
# Characters per inch: of a note, of a title, of the source in its corner.
_NOTE_DENSITY: Final = 17
_TITLE_DENSITY: Final = 10.5
_SOURCE_DENSITY: Final = 13.0
_DIGITS: Final = 12  # of the numbers written: stable from machine to machine
# How far below an edge "just below" is, relative: more than a table's tolerance for rounding, less
# than any reader sees.
_BELOW: Final = 1e-8


@contextmanager
def page_style() -> Iterator[None]:
    """Draw and save inside this: one look, and the same bytes from the same numbers.

    The look is the style sheet ``pi2_fluid.plot.page``, whatever the reader's matplotlibrc says:
    the reader's own settings are set aside, and come back afterwards.
    """
    import matplotlib as mpl
    import matplotlib.style

    # It complains of the dates in matplotlib's own fonts when they go into a PDF.
    fonts = logging.getLogger("fontTools")
    level = fonts.level
    with mpl.rc_context():
        mpl.rcdefaults()
        matplotlib.style.use(STYLE)
        fonts.setLevel(logging.ERROR)
        try:
            yield
        finally:
            fonts.setLevel(level)


def save_figure(
    figure: Figure,
    stem: Path,
    rows: Sequence[Mapping[str, Any]],
    **more: Sequence[Mapping[str, Any]],
) -> list[Path]:
    """Write `figure` as PNG, SVG and PDF and its numbers as CSV, and return all their paths.

    Numbers are as `write_numbers` takes them; `more` of them go to files of their own, ``peaks=``
    to STEM_peaks.csv. Inside `page_style` the files hold no dates and no random names.
    """
    tables = {"": rows} | {f"_{name}": numbers for name, numbers in more.items()}
    return [
        *(save_picture(figure, stem.with_name(stem.name + suffix)) for suffix in _METADATA),
        *(write_numbers(stem.with_name(f"{stem.name}{k}.csv"), v) for k, v in tables.items()),
    ]


def save_picture(figure: Figure, path: Path, said: str = "") -> Path:
    """Write `figure` as what the path ends in, .png, .svg or .pdf, and return the path.

    Inside `page_style` the file holds no date and no random names. What is `said` goes into it for
    those who read files, not pictures.
    """
    ending = path.suffix.lower()
    drawn = io.BytesIO()
    kept = _METADATA[ending] | ({_SAID[ending]: said} if said else {})
    figure.savefig(drawn, format=ending[1:], metadata=kept)
    # Not its buffer, which an error may hold: Python 3.12.1 crashes where it collects one.
    save_bytes(path, drawn.getvalue())
    return path


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
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow(rows[0])
    for row in rows:
        for values in np.broadcast(*row.values()):
            writer.writerow([_text(value) for value in values])
    save_text(path, made.getvalue())
    return path


def _text(value: str | SupportsFloat) -> str:
    return str(value) if isinstance(value, str) else f"{float(value):.{_DIGITS}g}"


def sample_decades(low: int, high: int, per_decade: int, edges: Iterable[float] = ()) -> FloatArray:
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


def label_curve(
    ax: Axes,
    point: tuple[float, float],
    text: str,
    color: str,
    side: str = "right",
    **style: Any,
) -> Annotation:
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


def write_caption(
    figure: Figure, message: str, setting: str = "", note: str = "", source: str = ""
) -> None:
    """Put what the figure shows above it, then its parameters, and a note below in small print.

    `source`, which figure of which paper this is and what was changed of it, goes into the upper
    right corner. Lines that are too long for the figure are broken.
    """
    wide = figure.get_figwidth()
    corner = [
        line
        for part in source.splitlines()
        for line in textwrap.wrap(part, int(_CORNER * _SOURCE_DENSITY * wide))
    ]
    room = wide - max(map(len, corner), default=0) / _SOURCE_DENSITY
    title = textwrap.wrap(message, int(_TITLE_DENSITY * room))
    # As many lines as the corner has, for which the axes then leave room.
    title += [""] * (len(corner) - len(title))
    figure.suptitle("\n".join(title), x=0.01, ha="left", fontsize=11, fontweight="bold")
    write_corner(figure, "\n".join(corner))
    if setting:
        figure.axes[0].set_title(setting, fontsize=9, color="0.25", linespacing=1.4)
    if note:
        wide = int(_NOTE_DENSITY * figure.get_figwidth())
        lines = [textwrap.fill(line, wide, break_on_hyphens=False) for line in note.split("\n")]
        figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=7.5, color="0.3")


def write_corner(figure: FigureBase, text: str) -> None:
    """Put text into the upper right corner of a figure or of a part of one; nothing if it is ""."""
    if text:
        figure.text(0.995, 0.99, text, ha="right", va="top", fontsize=9, color="0.35")
