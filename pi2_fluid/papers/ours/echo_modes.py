"""Echo modes: unpaced L4S flows over equal paths, and a dual queue at harmonics of 1/RTT."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, Rows
from pi2_fluid.papers.words import share_text
from pi2_fluid.plot import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray

PATHS: Final = (0.032, 0.048, 0.080)  # s
#: Of the paths: all alike, or from 0.8 to 1.2 times as long.
SPREADS: Final = {"equal": 0.0, "spread": 0.2}
_FLOWS: Final = 128
_P_PRIME: Final = 0.02  # at which a Reno window is 70.7 segments and a Scalable one 50
_HARMONICS: Final = 4
_DURATION: Final = 50.0  # s
_WATCHED: Final = 30.0  # s at its end
_BIN: Final = 0.002  # s
_SHOWN: Final = 0.5  # s of the delay
_NEAR: Final = 0.05
_HIGHEST: Final = 330.0  # rad/s
_STYLE: Final[dict[str, dict[str, Any]]] = {
    "equal": {"color": COLORS[1], "linewidth": 1.3},
    "spread": {"color": COLORS[2], "linewidth": 1.0},
}


def scenario(path: float, spread: float) -> pf.Scenario:
    """Return Reno flows, and as many Scalable ones as take half of the link, under DualPi2."""
    paths = path * (np.linspace(1 - spread, 1 + spread, 16) if spread else np.ones(1))
    share = _FLOWS * np.sqrt(2.0) / _P_PRIME / (path + 0.015)  # packets/s of each kind
    kinds = ((pf.Reno(), _FLOWS, 60), (pf.Scalable(), round(share * path * _P_PRIME), 45))
    flows = [
        pf.Flows(
            sender, count // len(paths), b, initial_window=w, slow_start=False, start_jitter="2s"
        )
        for sender, count, w in kinds
        for b in paths
    ]
    return pf.Scenario(_DURATION, pf.Link(24e3 * share, buffer=200_000), pf.DualPi2(), flows)


def lines() -> list[dict[str, Any]]:
    """Return the echo modes of the Scalable flows over equal paths, as columns per path."""
    modes = []
    for path in PATHS:
        loop = pf.Loop(scenario(path, 0.0).network, update="sampled", clock="acks")
        echo = loop.echo(_HARMONICS).sel(flow=1).dropna("harmonic")
        modes.append(
            {
                "path_s": path,
                "gain_margin_db": float(loop.margins().gain_margin_db),
                "harmonic": echo.harmonic.to_numpy(),
                "frequency_rad_s": echo.frequency.to_numpy(),
                "growth_per_s": echo.growth.to_numpy(),
            }
        )
    return modes


def curves() -> list[dict[str, Any]]:
    """Return delay and spectrum of the Classic queue in packets, as columns per path and spread."""
    rows = []
    for path in PATHS:
        for line, spread in SPREADS.items():
            run = pf.packet.simulate(scenario(path, spread), seeds=1, bin=_BIN)
            watched = run.sel(time=slice(_DURATION - _WATCHED, None), seed=1, band="C")
            delay = watched.sojourn.fillna(0.0).to_numpy()
            omega, size = spectrum(delay)
            shown = watched.time.to_numpy() >= _DURATION - _SHOWN
            rows.append(
                {
                    "line": line,
                    "path_s": path,
                    "mean_delay_s": np.array([delay.mean()]),
                    "sd_delay_s": np.array([delay.std()]),
                    "time_s": watched.time.to_numpy()[shown],
                    "delay_s": delay[shown],
                    "frequency_rad_s": omega,
                    "amplitude_s": size,
                }
            )
    return rows


def spectrum(delay: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return angular frequencies and the amplitudes of sines; leakage is kept low by a window."""
    weight = np.hanning(delay.size)
    sines = np.fft.rfft((delay - delay.mean()) * weight)
    size: FloatArray = np.abs(sines).astype(float) * (2.0 / weight.sum())
    omega = np.asarray(2.0 * np.pi * np.fft.rfftfreq(delay.size, _BIN))
    shown = omega <= _HIGHEST
    return omega[shown], size[shown]


def found_near(row: Mapping[str, Any], frequency: float) -> float:
    """Return the frequency (rad/s) of the largest line within a twentieth of a predicted one."""
    omega = row["frequency_rad_s"]
    near = np.abs(omega / frequency - 1.0) < _NEAR
    return float(omega[np.argmax(np.where(near, row["amplitude_s"], 0.0))])


def _measure(_: Case) -> Measured:
    rows = curves()
    parts = {
        "": ("frequency_rad_s", "amplitude_s"),
        "delays": ("time_s", "delay_s"),
        "scatter": ("mean_delay_s", "sd_delay_s"),
    }
    tables: dict[str, Rows] = {
        part: [_columns(row, names) for row in rows] for part, names in parts.items()
    }
    return Measured(tables | {"predicted": lines()})


def _columns(row: Mapping[str, Any], names: tuple[str, str]) -> dict[str, Any]:
    return {name: row[name] for name in ("line", "path_s", *names)}


def _draw(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    tables = measured.tables
    axes: Any = figure.subplots(len(PATHS), 2, sharex="col", width_ratios=(1, 1.25))
    for (left, right), modes in zip(axes, tables["predicted"], strict=True):
        delays, spectra = (
            [row for row in tables[part] if row["path_s"] == modes["path_s"]]
            for part in ("delays", "")
        )
        _draw_delays(left, delays, modes)
        _draw_spectra(right, spectra, modes)
    axes[0][0].legend(loc="upper right", fontsize=8)
    axes[-1][0].set_xlabel("time [s]")
    axes[-1][1].set_xlabel("angular frequency [rad/s]")
    figure.supylabel("Classic queue delay [ms]", fontsize=10)
    return Caption(
        "Echoes of one round trip make a dual queue oscillate at lines that no margin shows",
        note=(
            f"{_FLOWS} Reno flows and as many unpaced Scalable ones as take half of the link, under"
            f" DualPi2, in packets. Right: amplitude of the delay's sines over {_WATCHED:g} s.\n"
            "Dashed: echo modes that grow over equal paths, and how fast, by the linear loop by"
            " acknowledgements; dotted: those that decay."
        ),
    )


def _draw_delays(ax: Axes, rows: Rows, modes: Mapping[str, Any]) -> None:
    for row in rows:
        label = (
            "equal paths" if row["line"] == "equal" else f"paths ±{share_text(SPREADS['spread'])}"
        )
        ax.plot(row["time_s"], 1e3 * row["delay_s"], label=label, **_STYLE[row["line"]])
    ax.set(ylim=(0, 36), xlim=(_DURATION - _SHOWN, _DURATION), yticks=(0, 15, 30))
    ax.grid(visible=True)
    ax.set_title(
        f"path {1e3 * modes['path_s']:g} ms, gain margin {modes['gain_margin_db']:.1f} dB",
        fontsize=9.5,
    )


def _draw_spectra(ax: Axes, rows: Rows, modes: Mapping[str, Any]) -> None:
    top = 1.45e3 * max(row["amplitude_s"].max() for row in rows)
    for row in rows:
        ax.plot(row["frequency_rad_s"], 1e3 * row["amplitude_s"], **_STYLE[row["line"]], zorder=2)
    equal = next(row for row in rows if row["line"] == "equal")
    for omega, growth in zip(modes["frequency_rad_s"], modes["growth_per_s"], strict=True):
        if omega > _HIGHEST:
            continue
        style = "--" if growth > 0.0 else ":"
        ax.axvline(omega, color="0.35", linestyle=style, linewidth=1.0, zorder=1)
        if growth > 0.0:
            text = f"predicted {omega:.1f}\nfound {found_near(equal, omega):.1f}\n+{growth:.2f}/s"
            ax.annotate(
                text, (omega, top), (-4, -3), textcoords="offset points", ha="right", va="top",
                fontsize=8, color="0.2",
            )  # fmt: skip
    ax.set(xlim=(0, _HIGHEST), ylim=(0, top))


RECIPE: Final = Recipe(
    caption="Delay of a dual queue and its spectrum, with L4S flows over equal and unequal paths",
    kind="packets",
    measure=_measure,
    pages={"": Page(_draw, (9.4, 7.2))},
    seeds=1,
    decisions=("Unequal paths are 0.8 to 1.2 times as long, and leave little of the modes.",),
)
