"""Loops: Bode and Nyquist plots, and the furniture of axes that show margins over load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from pi2_fluid.values import ComplexArray, FloatArray


def new_axes(rows: int = 1, **figure: Any) -> Any:
    """Return `rows` axes that share their frequency axis, in a new figure."""
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(rows, 1, sharex=True, layout="constrained", **figure)
    return axes


def draw_bode(
    axes: Sequence[Axes],
    w: FloatArray,
    response: ComplexArray,
    gain_crossing: tuple[float, float],
    phase_crossing: tuple[float, float],
    label: str | None = None,
) -> list[Artist]:
    """Draw gain and phase over frequency, with both margins.

    Parameters
    ----------
    axes : pair of matplotlib Axes
        For the gain and for the phase.
    w, response : arrays
        Frequency (rad/s), and L(jw), with less than half a turn from one to the next.
    gain_crossing : (w_gc, phase margin in deg)
        Not drawn where not finite.
    phase_crossing : (w_pc, gain margin in dB)
        Not drawn where not finite.
    label : str, optional
        For the legend.
    """
    top, bottom = axes
    phase_deg = np.degrees(np.unwrap(np.angle(response)))
    lines = [
        *top.semilogx(w, 20 * np.log10(np.abs(response)), label=label),
        *bottom.semilogx(w, phase_deg, label=label),
    ]
    artists: list[Artist] = [*lines]
    color = lines[0].get_color()
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


def draw_nyquist(ax: Axes, response: ComplexArray, label: str | None = None) -> list[Artist]:
    """Draw L(jw) in the complex plane, around the point -1.

    Parameters
    ----------
    ax : matplotlib Axes
    response : array
        L(jw) for rising w.
    label : str, optional
        For the legend.
    """
    artists = _draw_both_halves(ax, response, label) + _draw_plane(ax)
    ax.set(xlabel="Re L", ylabel="Im L")
    return artists


def _draw_both_halves(ax: Axes, response: ComplexArray, label: str | None) -> list[Artist]:
    """A curve for positive frequencies, and dashed its mirror image."""
    lines = ax.plot(response.real, response.imag, label=label)
    color = lines[0].get_color()
    mirrored = ax.plot(response.real, -response.imag, color=color, linestyle="--", linewidth=0.8)
    return [*lines, *mirrored]


def _draw_plane(ax: Axes) -> list[Artist]:
    """The axes around -1, and this point."""
    artists = ax.plot([-1.0], [0.0], "+", color="black", markersize=12, label="-1")
    ax.axhline(0.0, color="0.7", linewidth=0.8)
    ax.axvline(0.0, color="0.7", linewidth=0.8)
    ax.set(xlim=(-3, 1), ylim=(-2, 2), aspect="equal")
    ax.grid(visible=True, alpha=0.25)
    return [*artists]


def draw_eigenloci(ax: Axes, loci: ComplexArray) -> list[Artist]:
    """Draw the eigenvalues of a matrix L(jw) in the complex plane, around the point -1.

    Parameters
    ----------
    ax : matplotlib Axes
    loci : array (frequencies, loci)
        For rising w.
    """
    artists: list[Artist] = []
    for number, locus in enumerate(loci.T, start=1):
        artists += _draw_both_halves(ax, locus, f"eigenvalue {number}")
    artists += _draw_plane(ax)
    ax.set(xlabel="real part", ylabel="imaginary part")
    return artists


def show_percent(ax: Axes) -> None:
    """Label the decades of the logarithmic x axis of `ax` as percentages."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.xaxis.set_major_locator(LogLocator(base=10, numticks=20))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:.6g} %"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def mark_unstable(ax: Axes, at: float = 0.0) -> None:
    """Shade margins below zero; call it once the limits of `ax` are set.

    The word stands `at` this fraction of the width.
    """
    ax.axhspan(ax.get_ylim()[0], 0.0, color="#B22222", alpha=0.09, linewidth=0, zorder=0)
    ax.axhline(0.0, color="#B22222", linewidth=0.9, zorder=1)
    ax.annotate(
        "unstable", (at, 0), (5, -4), xycoords=("axes fraction", "data"),
        textcoords="offset points", va="top", color="#8B1A1A", fontsize=8,
    )  # fmt: skip


def mark_outside(ax: Axes, right_of: float, text: str) -> None:
    """Shade where a model has ended, `right_of` a value; call it once the limits are set."""
    ax.axvspan(right_of, ax.get_xlim()[1], color="0.5", alpha=0.12, linewidth=0, zorder=0)
    ax.annotate(
        text, (right_of, 1), (3, -3), xycoords=("data", "axes fraction"),
        textcoords="offset points", va="top", color="0.35", fontsize=7,
    )  # fmt: skip


def draw_root_locus(
    ax: Axes,
    factor: FloatArray,
    root: ComplexArray,
    crossings: Sequence[tuple[float, float]],
    interval: float | None = None,
) -> list[Artist]:
    """Draw branches of a root locus, where they are at factor 1, and where they cross.

    Parameters
    ----------
    ax : matplotlib Axes
    factor : array (m,)
        On the gain, rising.
    root : array (branches, m)
        In s (rad/s), or with an interval in z.
    crossings : sequence of (factor, w)
        Where a mode crosses the imaginary axis or the unit circle; w in rad/s.
    interval : float, optional
        T of a sampled loop (s).
    """
    artists: list[Artist] = []
    for branch in root:
        artists += ax.plot(branch.real, branch.imag, color="C0", linewidth=1.4)
        artists += _draw_direction(ax, branch)
    begin, here = root[:, 0], root[:, int(np.argmin(np.abs(factor - 1.0)))]
    for at, marker, size, label in (
        (begin, "x", 7, f"gain times {factor[0]:.3g}"),
        (here, "o", 5, "gain as it is"),
    ):
        artists += ax.plot(
            at.real, at.imag, marker, color="black", markersize=size, linestyle="", label=label
        )
    for number, (times, w) in enumerate(crossings):
        edge: complex = 1j * w if interval is None else np.exp(1j * w * interval)
        both = np.array([edge, np.conj(edge)])
        artists += ax.plot(
            both.real, both.imag, "D", color="#B22222", markersize=5, linestyle="",
            label="" if number else "boundary of stability",
        )  # fmt: skip
        text = f"gain times {times:.3g} ({20 * np.log10(times):+.1f} dB)\n{w:.3g} rad/s"
        ax.annotate(
            text,
            (edge.real, edge.imag),
            (8, 4),
            textcoords="offset points",
            color="#8B1A1A",
            fontsize=8,
            bbox={"color": "white", "alpha": 0.7, "pad": 1.0},
        )
    if interval is None:
        _furnish_s(ax, here, [w for _, w in crossings])
    else:
        _furnish_z(ax)
    ax.grid(visible=True, alpha=0.25)
    ax.legend(loc="upper left", fontsize=8)
    ax.set_title("Root locus: modes of the closed loop as the gain rises", fontsize=10)
    return artists


def _draw_direction(ax: Axes, branch: ComplexArray) -> list[Artist]:
    """An arrow on a branch, towards more gain."""
    way = branch[np.isfinite(branch)]
    length = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(way)))])
    if length[-1] == 0.0:
        return []
    at = min(int(np.searchsorted(length, 0.6 * length[-1])), way.size - 2)
    one, other = way[at], way[at + 1]
    return [
        ax.annotate(
            "", (other.real, other.imag), (one.real, one.imag),
            arrowprops={"arrowstyle": "-|>", "color": "C0", "lw": 1.0}, annotation_clip=True,
        )
    ]  # fmt: skip


def _furnish_s(ax: Axes, here: ComplexArray, crossings: Sequence[float]) -> None:
    """The half planes, around the slowest modes."""
    slow = here[np.argsort(-here.real)][:2]
    high = 2.2 * max([*np.abs(slow), *crossings])
    ax.set(xlim=(-1.1 * high, 0.9 * high), ylim=(-high, high))
    ax.axvspan(0.0, 0.9 * high, color="#B22222", alpha=0.07, linewidth=0, zorder=0)
    ax.annotate(
        "unstable", (1, 0), (-5, 5), xycoords="axes fraction", textcoords="offset points",
        ha="right", color="#8B1A1A", fontsize=8,
    )  # fmt: skip
    ax.axvline(0.0, color="0.4", linewidth=0.8)
    ax.axhline(0.0, color="0.7", linewidth=0.8)
    ax.set(xlabel="growth, Re s [1/s]", ylabel="frequency, Im s [rad/s]")


def _furnish_z(ax: Axes) -> None:
    """The unit circle, outside of which modes grow."""
    turn = np.exp(2j * np.pi * np.linspace(0.0, 1.0, 361))
    ax.plot(turn.real, turn.imag, color="0.4", linewidth=0.8)
    ax.axhline(0.0, color="0.7", linewidth=0.8)
    ax.axvline(0.0, color="0.7", linewidth=0.8)
    ax.set(xlim=(-1.35, 1.6), ylim=(-1.3, 1.3), aspect="equal", xlabel="Re z", ylabel="Im z")
    ax.annotate(
        "unstable outside\nof the circle", (1, 0), (-5, 5), xycoords="axes fraction",
        textcoords="offset points", ha="right", color="#8B1A1A", fontsize=8,
    )  # fmt: skip
