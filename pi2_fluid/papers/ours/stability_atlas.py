"""Stability atlas: margins of deployed gains over path, rate and update interval, and a design's.

Every point is a loop of one flow of Reno, exactly sampled: in the papers' model nothing else of a
link with equal flows matters than its rate per flow, by which a window and so a load p' belong to
each round-trip time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe
from pi2_fluid.papers.words import share_text
from pi2_fluid.plot import COLORS, draw_contours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.contour import ContourSet
    from matplotlib.figure import FigureBase
    from numpy.typing import NDArray

    from pi2_fluid.values import FloatArray

#: Queue delay of every panel (s): what is behind the path in each round-trip time.
TARGET: Final = 0.015
_PATHS: Final = (0.005, 0.5)  # s
_RATES: Final = (1e5, 1e9)  # bit/s
_BITS: Final = 12e3  # of a packet
#: Paths and rates of a panel, in a hurry and in full, where nine panels have a million loops.
_FEW: Final = (16, 29)
_MANY: Final = (345, 360)
_FEWEST_SEGMENTS: Final = 2.0  # in a window, below which timeouts rule
#: Of the gain margin (dB): unstable, less than one asks for, good, slow, sluggish.
_LEVELS: Final = (0.0, 6.0, 12.0, 20.0)
_PHASE: Final = 30.0  # degrees, what one asks for
_REACH: Final = 100.0  # ms, for which the designs are
_LONGEST: Final = 1e-3 * _REACH - TARGET  # s of path
_LISTED: Final = 45  # rates of a panel whose borders are listed
#: The bands between the levels, in a word each.
_WORDS: Final = ("unstable", "too little", "good", "slow", "sluggish")
_LOADS: Final = {0.1: f"p′ = {share_text(0.1)}", 0.01: share_text(0.01)}


class Gains(NamedTuple):
    """Gains of one queue, a row of panels: at each update interval (s) alpha and beta (Hz)."""

    title: str
    aqm: pf.Pi2 | pf.Pie
    at: Mapping[float, tuple[float, float]]
    said: Mapping[float, str]
    """What is written over a panel, behind its update interval."""


def _deployed(title: str, law: pf.DualPi2 | pf.Pie, alone: pf.Pi2 | pf.Pie) -> Gains:
    interval, gains = float(law.update_interval), (float(law.alpha), float(law.beta))
    intervals = (0.001, interval, 0.032)
    said = {each: "T alone changed" if each != interval else "as deployed" for each in intervals}
    title = f"{title}: α {gains[0]:.4g} Hz, β {gains[1]:.4g} Hz"
    return Gains(title, alone, dict.fromkeys(intervals, gains), said)


#: What `pf.tune("100ms", update_interval=...)` returns for each interval.
_TUNED: Final = {0.001: (0.0032564, 2.6581), 0.016: (0.047998, 2.5146), 0.032: (0.088371, 2.3791)}
GAINS: Final = (
    _deployed("Linux dualpi2, Classic traffic", pf.presets.linux_dualpi2(), pf.Pi2(target=TARGET)),
    _deployed("Linux PIE", pf.presets.linux_pie(), pf.presets.linux_pie()),
    Gains(
        f'pf.tune("{_REACH:g}ms"), a design for each T',
        pf.Pi2(target=TARGET),
        _TUNED,
        {each: f"α {alpha:.4f} Hz, β {beta:.2f} Hz" for each, (alpha, beta) in _TUNED.items()},
    ),
)


def grid_of(quick: bool) -> tuple[FloatArray, FloatArray]:
    """Return paths (s) and rates per flow (bit/s) of a panel, of four digits."""
    ends = zip((_PATHS, _RATES), _FEW if quick else _MANY, strict=True)
    paths, rates = (
        np.array([float(f"{x:.4g}") for x in np.geomspace(*end, count)]) for end, count in ends
    )
    return paths, rates


def load_of(path: FloatArray, rate: FloatArray) -> FloatArray:
    """Return p' of a flow of Reno at this rate (bit/s), with the queue at its target."""
    window = rate * (path + TARGET) / _BITS
    result: FloatArray = np.sqrt(2.0) / window
    return result


def charts(gains: Gains, paths: FloatArray, rates: FloatArray) -> list[dict[str, Any]]:
    """Return the margins of one row of panels, as columns of one panel each.

    A point whose window is smaller than any p' up to 1 makes it has NaN.
    """
    path, rate = (x.ravel() for x in np.meshgrid(paths, rates, indexing="ij"))
    load = load_of(path, rate)
    inside = load <= 1.0
    loop = pf.Loop(pf.Reno(), gains.aqm, rtt="100ms", p_prime=0.1, update="sampled")
    margins = pf.sweep(
        loop,
        {
            ("aqm.update_interval", "aqm.alpha", "aqm.beta"): [
                (interval, *pair) for interval, pair in gains.at.items()
            ],
            ("rtt", "p_prime"): list(zip(path[inside] + TARGET, load[inside], strict=True)),
        },
        on_error="raise",
        progress=False,
    )
    rows = []
    for number, interval in enumerate(gains.at):
        row: dict[str, Any] = {
            "gains": gains.title,
            "interval_s": interval,
            "path_s": path,
            "rate_bit_s": rate,
        }
        for name, column in (
            ("gain_margin_db", "gain_margin_db"),
            ("phase_margin", "phase_margin_deg"),
        ):
            values = np.full(path.shape, np.nan)
            # Two decimals are far more than a picture shows, and a million numbers are many.
            values[inside] = np.round(margins[name].to_numpy()[number], 2)
            row[column] = values
        row["verdict"] = np.full(path.shape, np.nan)
        row["verdict"][inside] = margins.verdict_code.to_numpy()[number]
        rows.append(row)
    return rows


def border(paths: FloatArray, margins: FloatArray, level: float) -> float:
    """Return the shortest path (s) with less than a level: 0 if all have, inf if none drawn has.

    The paths may begin with some of no margin, NaN, which are left out.
    """
    there = ~np.isnan(margins)
    paths, above = np.log(paths[there]), margins[there] - level
    if not above.size:
        return np.nan
    first = int(np.argmax(above < 0.0))
    if not above[first] < 0.0:
        return np.inf
    if first == 0:
        return 0.0
    near = slice(first - 1, first + 1)
    return float(np.exp(np.interp(0.0, above[near][::-1], paths[near][::-1])))


def _borders(row: Mapping[str, Any], paths: FloatArray, rates: FloatArray) -> dict[str, Any]:
    """Return up to which path a panel is stable, and keeps what one asks for, over some rates."""
    # The highest rate, where the border ends, is one of them.
    listed = np.arange(rates.size)[:: -max(1, rates.size // _LISTED)][::-1]
    gain, phase = (
        row[name].reshape(paths.size, rates.size)[:, listed].T
        for name in ("gain_margin_db", "phase_margin_deg")
    )
    return {
        "gains": row["gains"],
        "interval_s": row["interval_s"],
        "rate_bit_s": rates[listed],
        "stable_to_s": np.array([border(paths, each, _LEVELS[0]) for each in gain]),
        "enough_db_to_s": np.array([border(paths, each, _LEVELS[1]) for each in gain]),
        "enough_deg_to_s": np.array([border(paths, each, _PHASE) for each in phase]),
    }


def _counts(row: Mapping[str, Any], gains: Gains) -> dict[str, Any]:
    """Return how many loops a panel has, how many of them count as what, and its gains."""
    margin = row["gain_margin_db"]
    alpha, beta = gains.at[row["interval_s"]]
    enough = (margin >= _LEVELS[1]) & (row["phase_margin_deg"] >= _PHASE)
    return {
        "gains": row["gains"],
        "interval_s": row["interval_s"],
        "alpha_hz": alpha,
        "beta_hz": beta,
        "loops": np.sum(~np.isnan(margin)),
        "unstable": np.sum(row["verdict"] < 0.0),
        "below_6_db_or_30_deg": np.sum(~np.isnan(margin) & ~enough),
        "above_20_db": np.sum(margin >= _LEVELS[3]),
    }


def _measure(case: Case) -> Measured:
    paths, rates = grid_of(case.quick)
    rows = [(row, gains) for gains in GAINS for row in charts(gains, paths, rates)]
    return Measured(
        {
            "": [row for row, _ in rows],
            "borders": [_borders(row, paths, rates) for row, _ in rows],
            "counts": [_counts(*each) for each in rows],
        }
    )


def _draw(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    rows = measured.tables[""]
    axes: Any = figure.subplots(len(GAINS), len(rows) // len(GAINS), sharex=True, sharey=True)
    for ax, row in zip(axes.flat, rows, strict=True):
        filled = _draw_chart(ax, row)
    for line, gains in zip(axes, GAINS, strict=True):
        for ax, (interval, said) in zip(line, gains.said.items(), strict=True):
            # A line above for what all of them share.
            ax.set_title(f"\nT = {1e3 * interval:g} ms, {said}", fontsize=9)
        shared = line[0].annotate(
            gains.title, (0, 1), (0, 20), xycoords="axes fraction", textcoords="offset points",
            fontweight="bold", fontsize=9.5,
        )  # fmt: skip
        shared.set_in_layout(False)
        line[0].set_ylabel("rate per flow [Mbit/s]")
    for ax in axes[-1]:
        ax.set_xlabel("path without queue [ms]")
    _draw_bar(figure, filled, axes)
    return Caption(
        "Alpha acts once per update: with a shorter T alone, deployed gains lose their stability",
        note=(
            "Reno flows that share a link equally: their rate is its capacity over their number."
            f" The round-trip time is the path's and {1e3 * TARGET:g} ms of queue, its target;"
            " dotted: the load p′ there.\n"
            "Each point is an exactly sampled loop, by rates. Blue: what the designs are for,"
            f" {_REACH:g} ms with the queue, at every rate. PIE by its table of steps."
        ),
    )


def _draw_bar(figure: FigureBase, filled: ContourSet, axes: NDArray[np.object_]) -> None:
    """Draw the colour bar, with a word for each of its bands."""
    bar = figure.colorbar(
        filled, ax=axes, location="bottom", spacing="uniform", ticks=_LEVELS, aspect=45, pad=0.02
    )
    bar.set_label(f"gain margin [dB]; black dashed line: a phase margin of {_PHASE:g} degrees")
    for place, word in enumerate(_WORDS):
        bar.ax.text(
            (place + 0.5) / len(_WORDS), 0.5, word, color="black" if place else "white",
            transform=bar.ax.transAxes, ha="center", va="center",
        )  # fmt: skip


def _draw_chart(ax: Axes, row: Mapping[str, Any]) -> ContourSet:
    from matplotlib import patheffects

    ground = [patheffects.withStroke(linewidth=2.2, foreground="white")]
    paths, rates = np.unique(row["path_s"]), np.unique(row["rate_bit_s"])
    shape = paths.size, rates.size
    gain = np.ma.masked_invalid(row["gain_margin_db"].reshape(shape).T)
    # Of a loop whose gain stays below 1 the phase margin is infinite.
    phase = np.ma.masked_invalid(np.minimum(row["phase_margin_deg"], 1e3).reshape(shape).T)
    x, y = 1e3 * paths, 1e-6 * rates
    ax.set(xscale="log", yscale="log", xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
    filled = draw_contours(ax, x, y, gain, _LEVELS, " dB")
    ax.contour(
        x, y, phase, levels=[_PHASE], colors="black", linewidths=1.2, linestyles=[(0, (4, 2))]
    )
    fine = np.geomspace(paths[0], paths[-1], 60)
    small: dict[str, Any] = {"textcoords": "offset points", "fontsize": 7, "color": "0.2"}
    for load, text in _LOADS.items():
        there = _rate_of(fine, np.sqrt(2.0) / load)
        ax.plot(1e3 * fine, there, color="0.25", linewidth=0.8, linestyle=":")
        at = (1e3 * fine[2], there[2])
        ax.annotate(text, at, (0, 2), path_effects=ground, **small)
    ax.fill_between(1e3 * fine, y[0], _rate_of(fine, _FEWEST_SEGMENTS), color="0.85", zorder=2.5)
    ax.annotate(
        f"fewer than {_FEWEST_SEGMENTS:g} segments",
        (0, 0),
        (4, 4),
        xycoords="axes fraction",
        **small,
    )
    inside = np.append(fine[fine < _LONGEST], _LONGEST)
    edge = np.append(_rate_of(inside, _FEWEST_SEGMENTS), y[-1])
    ax.plot(
        1e3 * np.append(inside, _LONGEST), edge, color=COLORS[1], linewidth=2.4, zorder=3,
        path_effects=[patheffects.withStroke(linewidth=4.0, foreground="white")],
    )  # fmt: skip
    ax.set_xticks([5, 10, 20, 50, 100, 200, 500], ["5", "10", "20", "50", "100", "200", "500"])
    ax.set_yticks([0.1, 1, 10, 100, 1000], ["0.1", "1", "10", "100", "1,000"])
    ax.minorticks_off()
    return filled


def _rate_of(path: FloatArray, window: float) -> FloatArray:
    """Return the rate (Mbit/s) of a flow with this window."""
    result: FloatArray = 1e-6 * _BITS * window / (path + TARGET)
    return result


RECIPE: Final = Recipe(
    caption=(
        "Gain and phase margins of deployed gains and of designs over path, rate per flow and"
        " update interval"
    ),
    kind="loop",
    measure=_measure,
    pages={"": Page(_draw, (9.4, 9.6))},
    seeds=1,
    coarse=True,
    decisions=(
        (
            "A path, a rate per flow and the queue's target give a window, W = rate × (path + 15"
            " ms)/12000 bit, and the load p′ = √2/W that keeps it. The capacity and the number of"
            " flows are nowhere else in the loop. Loops with a p′ above 1 are left out."
        ),
        (
            "Under dualpi2 there is Classic traffic alone, and its loop is that of PI2. The window"
            " law has constant round-trip times, and senders send by rates, not by"
            " acknowledgements."
        ),
        (
            "Why T matters: queue and controller are two integrators in a row. Where windows are"
            " large the phase starts at -180 degrees, and only beta lifts it, if R < T beta/(2"
            " alpha). At T = 1 ms that is 10 ms for Linux's gains and 5 ms for PIE's, less than"
            " the queue alone. Scaling both gains does not help. A longer T alone weakens the"
            " integral and moves the border out."
        ),
        (
            "PIE's table divides its gains in steps as p falls, hence the teeth. After a large"
            " division there is much gain margin and little phase margin. The table ends at p ="
            " 1e-6, and below it margins fall with the rate."
        ),
        (
            'The designs are from pf.tune("100ms", update_interval=T) for Reno, for 5 to 100 ms,'
            " queue included, and every load. They are proved at T = 16 and 32 ms and checked on a"
            " grid at 1 ms. Their alpha depends on T, their borders hardly do."
        ),
    ),
)
