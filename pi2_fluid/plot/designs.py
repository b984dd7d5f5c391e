"""Designs: response against robustness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.plot.page import COLORS

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from pi2_fluid.values import FloatArray

# Shapes as well as colours, so that a picture in grey can be read.
_MARKERS: Final = "osD^vP"


def draw_trade_off(
    ax: Axes, phase_deg: FloatArray, strength: FloatArray, points: Mapping[str, tuple[float, float]]
) -> list[Artist]:
    """Draw the largest integral gain over the phase margin it leaves, and designs as points.

    Parameters
    ----------
    ax : matplotlib Axes
    phase_deg, strength : array
        The curve: phase margin (deg) and integral gain alpha/T (1/s^2).
    points : mapping of name to (phase margin, integral gain)
        Designs; the first is drawn larger. A phase margin below -20 degrees, or none, is drawn at
        that edge.
    """
    artists: list[Artist] = [*ax.plot(phase_deg, strength, color="0.5", label="largest possible")]
    low = -20.0
    for index, (name, (phase, gain)) in enumerate(points.items()):
        x = phase if np.isfinite(phase) and phase > low else low
        color = COLORS[index % len(COLORS)]
        marker = _MARKERS[index % len(_MARKERS)]
        style: dict[str, Any] = {
            "marker": marker,
            "markersize": 8 if index == 0 else 5,
            "color": color,
        }
        label = name if x == phase else f"{name} (beyond the edge)"
        artists += ax.plot([x], [gain], linestyle="", label=label, clip_on=False, **style)
    ax.axvline(0.0, color="#B22222", linewidth=0.9, zorder=1)
    ax.axvspan(low, 0.0, color="#B22222", alpha=0.09, linewidth=0, zorder=0)
    ax.set_yscale("log")
    ax.set_xlim(left=low)
    ax.set(xlabel="smallest phase margin [deg]", ylabel="integral gain alpha/T [1/s²]")
    ax.grid(visible=True, which="both", alpha=0.25)
    ax.legend(loc="upper right")
    return artists


def draw_outcomes(
    ax: Axes,
    rate: Sequence[float],
    delay: Sequence[float],
    names: Sequence[str],
    roles: Sequence[str],
    when: str,
) -> list[Artist]:
    """Draw candidates by what they cost in rate and in delay; returns the artists.

    Parameters
    ----------
    ax : matplotlib Axes
    rate, delay : sequence of float
        Against what runs now: points of the capacity, percent of the 99th percentile.
    names, roles : sequence of str
        What each candidate is called, and what it is; one with a role is named.
    when : str
        Of which part of the runs the delay is.
    """
    plain = [i for i, role in enumerate(roles) if role in ("", "loses rate")]
    artists: list[Artist] = [
        *ax.plot(
            [rate[i] for i in plain],
            [delay[i] for i in plain],
            linestyle="",
            marker=".",
            color="0.55",
            label="other candidates",
        )
    ]
    named = [i for i in range(len(roles)) if i not in plain]
    for place, i in enumerate(named):
        color, marker = COLORS[place % len(COLORS)], _MARKERS[place % len(_MARKERS)]
        label = f"{names[i]}: {roles[i]}"
        artists += ax.plot(
            [rate[i]], [delay[i]], linestyle="", marker=marker, color=color, label=label
        )
    ax.axhline(0.0, color="0.8", linewidth=0.8, zorder=0)
    ax.axvline(0.0, color="0.8", linewidth=0.8, zorder=0)
    ax.set(xlabel="rate gained [points]", ylabel=f"99th percentile of the delay, {when} [%]")
    ax.grid(visible=True, alpha=0.25)
    ax.legend(loc="best")
    return artists
