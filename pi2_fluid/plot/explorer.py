"""A picture of one loop that is drawn anew many times a second: Bode, Nyquist, step response.

Axes, ticks and labels are drawn once and kept as pixels; an update draws the lines upon them.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.plot.page import COLORS, page_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Size (inches) and pixels per inch: 1080 by 420 pixels.
_SIZE: Final = (10.8, 4.2)
_DPI: Final = 100
# Fixed, so that nothing but the curves moves.
_FREQUENCIES: Final = (0.1, 1000.0)  # rad/s
_GAINS: Final = (-40.0, 40.0)  # dB
_PHASES: Final = (-360.0, -60.0)  # degrees
_LONGEST: Final = 40.0  # round-trip times of the step response
_STEPS: Final = (-0.5, 2.5)
#: A response this far away is not followed any further: what comes after is rounding.
_LOST: Final = 20.0
_ABOVE: Final = 0.05  # of the height of the axes, from a bar to its number
_COMPRESSION: Final = 1  # of PNG: quick rather than small


@dataclass(frozen=True)
class LoopCurves:
    """What the picture shows of one loop.

    Attributes
    ----------
    w, response, phase_deg : array (n,)
        Frequency (rad/s), L(jw), and its continuous phase (deg).
    delays, step : array (m,)
        Time in round-trip times, and the response of L/(1 + L) to a unit step.
    gain_crossing : (float, float)
        Gain crossover (rad/s) and phase margin (deg); inf for none.
    phase_crossing : (float, float)
        Phase crossover (rad/s) and gain margin (dB); inf for none.
    """

    w: Any
    response: Any
    phase_deg: Any
    delays: Any
    step: Any
    gain_crossing: tuple[float, float]
    phase_crossing: tuple[float, float]


class LoopPicture:
    """A figure of gain and phase, Nyquist curve, and step response, for repeated updates.

    Parameters
    ----------
    reference : LoopCurves
        Drawn in grey, behind whatever comes.
    """

    def __init__(self, reference: LoopCurves) -> None:
        from matplotlib.figure import Figure

        with page_style():
            self.figure = Figure(figsize=_SIZE, dpi=_DPI)
            self._canvas = _canvas_of(self.figure)
            panels = self.figure.subplot_mosaic(
                [["gain", "nyquist", "step"], ["phase", "nyquist", "step"]],
                width_ratios=(1.15, 1.0, 1.15),
            )
            _furnish(panels)
            self._draw(_lines(panels, "0.72", 1.1), reference)
            self._lines = _lines(panels, COLORS[1], 1.8)
            self._bars = _bars(panels)
            for artist in self._moving:
                artist[1].set_animated(True)
            self._canvas.draw()
        self._cuts = _cuts_between(self.figure, panels)
        self._ground = self._canvas.copy_from_bbox(self.figure.bbox)

    @property
    def _moving(self) -> list[tuple[Any, Any]]:
        """The artists that an update draws, each with its axes."""
        return [*self._lines.values(), *self._bars.values()]

    @property
    def widths(self) -> list[int]:
        """Of the three pictures, in pixels."""
        return [right - left for left, right in pairwise(self._cuts)]

    def update(self, curves: LoopCurves) -> tuple[bytes, ...]:
        """Draw these curves, and return three pictures as PNG: Bode, Nyquist and step response.

        Side by side they are one; a narrow screen puts one below the other.
        """
        from PIL import Image

        self._draw(self._lines, curves)
        self._mark(curves)
        self._canvas.restore_region(self._ground)
        for ax, artist in self._moving:
            ax.draw_artist(artist)
        pixels = np.asarray(self._canvas.buffer_rgba())[..., :3]
        found = []
        for left, right in pairwise(self._cuts):
            file = io.BytesIO()
            part = Image.fromarray(np.ascontiguousarray(pixels[:, left:right]))
            part.save(file, format="PNG", compress_level=_COMPRESSION)
            found.append(file.getvalue())
        return tuple(found)

    def _draw(self, lines: dict[str, tuple[Any, Any]], curves: LoopCurves) -> None:
        lines["gain"][1].set_data(curves.w, 20.0 * np.log10(np.abs(curves.response)))
        lines["phase"][1].set_data(curves.w, curves.phase_deg)
        lines["nyquist"][1].set_data(curves.response.real, curves.response.imag)
        lost = np.flatnonzero(~(np.abs(curves.step) < _LOST))
        end = int(lost[0]) if lost.size else curves.step.size
        lines["step"][1].set_data(curves.delays[:end], curves.step[:end])

    def _mark(self, curves: LoopCurves) -> None:
        """Move the bars and the numbers of both margins; they vanish where there is none."""
        w_pc, gm = curves.phase_crossing
        w_gc, pm = curves.gain_crossing
        self._bar("gain", w_pc, (0.0, -gm), _signed(gm, ".1f", " dB"))
        self._bar("phase", w_gc, (-180.0, pm - 180.0), _signed(pm, ".1f", "°"))

    def _bar(self, panel: str, w: float, ends: tuple[float, float], text: str) -> None:
        (ax, bar), (_, label) = self._bars[f"{panel} bar"], self._bars[f"{panel} text"]
        shown = bool(np.isfinite([w, *ends]).all())
        bar.set_visible(shown)
        label.set_visible(shown)
        if shown:
            bottom, top = ax.get_ylim()
            bar.set_data([w, w], ends)
            label.set_position((1.15 * w, max(ends) + _ABOVE * (top - bottom)))
            label.set_text(text)


def _canvas_of(figure: Figure) -> Any:  # whose methods have no types
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    return FigureCanvasAgg(figure)


def _cuts_between(figure: Figure, panels: dict[str, Any]) -> list[int]:
    """The columns of pixels between which the three pictures lie."""
    boxes = [panels[name].get_tightbbox() for name in ("phase", "nyquist", "step")]
    between = [(one.x1 + other.x0) / 2.0 for one, other in pairwise(boxes)]
    return [0, *(round(x) for x in between), round(figure.bbox.width)]


def _signed(value: float, form: str, unit: str) -> str:
    return f"{value:{form}}{unit}".replace("-", "−")


def _lines(panels: dict[str, Any], color: str, width: float) -> dict[str, tuple[Any, Any]]:
    style = {"color": color, "linewidth": width}
    found = {
        name: (panels[name], panels[name].plot([], [], **style)[0])
        for name in ("gain", "phase", "nyquist")
    }
    # The controller sees the delay, and acts, once in T: the value stays until the next update.
    step = panels["step"].plot([], [], drawstyle="steps-post", **style)[0]
    return found | {"step": (panels["step"], step)}


def _bars(panels: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    found = {}
    for name in ("gain", "phase"):
        ax = panels[name]
        bar = ax.plot([], [], color=COLORS[2], linewidth=4.0, alpha=0.65, solid_capstyle="butt")
        found[f"{name} bar"] = (ax, bar[0])
        text = ax.text(1.0, 0.0, "", color=COLORS[2], fontweight="bold", clip_on=True)
        found[f"{name} text"] = (ax, text)
    return found


def _furnish(panels: dict[str, Any]) -> None:
    gain, phase, nyquist, step = (panels[name] for name in ("gain", "phase", "nyquist", "step"))
    for ax in (gain, phase):
        ax.set(xscale="log", xlim=_FREQUENCIES)
        ax.grid(visible=True)
    gain.set(ylim=_GAINS, yticks=range(-40, 41, 20), ylabel="|L| [dB]", title="Bode")
    gain.tick_params(labelbottom=False)
    gain.axhline(0.0, color="0.4", linewidth=0.8)
    phase.set(ylim=_PHASES, yticks=range(-360, -60, 90), ylabel="phase of L [deg]")
    phase.set(xlabel="frequency [rad/s]")
    phase.axhline(-180.0, color="0.4", linewidth=0.8)
    turn = np.linspace(0.0, 2.0 * np.pi, 181)
    nyquist.plot(np.cos(turn), np.sin(turn), color="0.8", linewidth=0.8, zorder=1)
    nyquist.plot([-1.0], [0.0], "+", color=COLORS[2], markersize=11, markeredgewidth=2.0)
    nyquist.annotate("−1", (-1.0, 0.0), (-4, -13), textcoords="offset points", ha="right")
    nyquist.annotate(
        "stable: −1 stays on the left\nof the curve as w rises", (0, 1), (4, -4), fontsize=8,
        xycoords="axes fraction", textcoords="offset points", va="top", color="0.35",
    )  # fmt: skip
    nyquist.axhline(0.0, color="0.7", linewidth=0.8)
    nyquist.axvline(0.0, color="0.7", linewidth=0.8)
    nyquist.set(xlim=(-2.6, 1.0), ylim=(-3.2, 1.9), aspect="equal")
    nyquist.set(xlabel="Re L", ylabel="Im L", title="Nyquist")
    step.axhline(1.0, color="0.4", linewidth=0.8)
    step.set(xlim=(0.0, _LONGEST), ylim=_STEPS, title="Step response of the queue delay")
    step.set(xlabel="time [round-trip times]", ylabel="delay, in units of the step")
    for ax in (nyquist, step):
        ax.grid(visible=True)
