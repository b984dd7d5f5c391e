"""The pictures of Figures 12 and 13 of Paganini and others: transfers with heavy tails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.papers.paganini.heavy_tails import (
    AFTER,
    CLAIMED,
    DRAWN_BIN,
    ELEPHANT,
    LATE,
    MEAN,
    SETTINGS,
    SETTLED,
    Run,
    paths,
    runs,
    setting_of,
    times,
)
from pi2_fluid.papers.paganini.newreno import ASKED
from pi2_fluid.papers.recipe import Caption, Case, Measured, Rows
from pi2_fluid.papers.words import share_text
from pi2_fluid.plot import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray

#: Of a page (in).
SIZE: Final = (9.4, 6.6)
_DASHES: Final = ("-", (0, (5, 1)), "-.")
#: Of both figures: what the paper does not say.
DECISIONS: Final = (
    "A source waits 1 s on average from one transfer to the next, and opens each anew.",
    (f"The text gives no duration. We run {CLAIMED:g} s, and judge one way from {AFTER:g} s on."),
    (
        f"Elephants are transfers of {ELEPHANT} packets and more, {SETTLED:g} s after they began."
        " We look at them in each hundredth of the run."
    ),
)


def shown(case: Case, *settings: str) -> dict[str, tuple[Run, ...]]:
    """Return the runs of settings."""
    return {
        name: runs(setting_of(name, case.scenarios[SETTINGS[name][0]], CLAIMED), case.seeds)
        for name in settings
    }


def tables(found: Mapping[str, Sequence[Run]], own: Sequence[str]) -> dict[str, Rows]:
    """Return queue and utilization of the figure's own settings, elephants and times of all."""
    return {
        "": [_over_time(name, found[name]) for name in own],
        "utilization": [_used(name, found[name]) for name in own],
        "elephants": [_rates(name, each) for name, each in found.items()],
        "times": [times(name, each) for name, each in found.items()],
        "queues": queues(found),
    }


def queues(found: Mapping[str, Sequence[Run]]) -> Rows:
    """Return what is used, and how much waits, in each run."""
    return [
        {
            "line": name,
            "utilization": np.array([one.used for one in each]),
            "queue_packets": np.array([one.waiting for one in each]),
        }
        for name, each in found.items()
    ]


def told(measured: Measured, name: str) -> str:
    """Say what is used, and what waits, of one setting."""
    row = next(row for row in measured.tables["queues"] if row["line"] == name)
    used, waits = np.median(row["utilization"]), np.median(row["queue_packets"])
    return f"{100 * used:.0f} % used, {waits:.0f} packets wait"


def _band(name: str, unit: str, values: FloatArray) -> dict[str, FloatArray]:
    return {
        f"{name}{unit}": np.median(values, axis=0),
        f"{name}_least{unit}": values.min(axis=0),
        f"{name}_most{unit}": values.max(axis=0),
    }


def _over_time(name: str, each: Sequence[Run]) -> dict[str, Any]:
    queue = _band("queue", "_packets", np.array([one.queue for one in each]))
    return {"line": name, "time_s": each[0].queue_time, **queue}


def _used(name: str, each: Sequence[Run]) -> dict[str, Any]:
    used = _band("utilization", "", np.array([one.utilization for one in each]))
    return {"line": name, "time_s": each[0].used_time, **used}


def _rates(name: str, each: Sequence[Run]) -> dict[str, Any]:
    """Return mean and standard deviation of the elephants' rates by path, of all runs together."""
    every = [np.concatenate(path) for path in zip(*(one.rates for one in each), strict=True)]
    return {
        "line": name,
        "path_s": np.array(paths()),
        "relative_rate": np.array([path.mean() if path.size else np.nan for path in every]),
        "relative_rate_sd": np.array([path.std() if path.size else np.nan for path in every]),
        "jain": float(np.median([one.jain for one in each])),
    }


# --- pictures -------------------------------------------------------------------------------


def _style(name: str) -> dict[str, Any]:
    place = list(SETTINGS).index(name)
    return {"color": COLORS[place], "linestyle": _DASHES[place]}


def draw_page(figure: FigureBase, measured: Measured) -> None:
    """Draw queue and utilization over time, and the rates of elephants."""
    axes: Any = figure.subplot_mosaic([["queue", "queue"], ["used", "rates"]])
    queue, used = axes["queue"], axes["used"]
    for row in measured.tables[""]:
        _draw_band(queue, row, "queue", "_packets", 1.0)
    queue.set_yscale("log")
    queue.set(xlabel="time [s]", ylabel=f"queue over {DRAWN_BIN:g} s [packets]", ylim=(1.0, 1e4))
    for row in measured.tables["utilization"]:
        _draw_band(used, row, "utilization", "", 100.0)
    used.axhline(100.0 * ASKED, color="0.3", linewidth=0.9, linestyle=":", label=share_text(ASKED))
    used.set(xlabel="time [s]", ylabel=f"utilization over {MEAN:g} s [%]", ylim=(0, 105))
    for ax in (queue, used):
        ax.set_xlim(0.0, float(measured.tables[""][0]["time_s"][-1]) + 0.5 * DRAWN_BIN)
    if len(measured.tables[""]) > 1:
        queue.legend(loc="upper right", ncols=2, fontsize=8)
    used.legend(loc="lower right", fontsize=8)
    _draw_rates(axes["rates"], measured.tables["elephants"])
    for ax in axes.values():
        ax.grid(visible=True)


def _draw_band(ax: Axes, row: Mapping[str, Any], name: str, unit: str, factor: float) -> None:
    style = _style(row["line"])
    middle, low, high = (
        np.maximum(factor * row[f"{name}{which}{unit}"], 1.0) for which in ("", "_least", "_most")
    )
    ax.fill_between(row["time_s"], low, high, color=style["color"], alpha=0.3, linewidth=0.0)
    ax.plot(row["time_s"], middle, linewidth=0.9, label=row["line"], **style)


def _draw_rates(ax: Axes, rows: Rows) -> None:
    places = np.arange(len(paths()))
    for k, row in enumerate(rows):
        ax.errorbar(
            places + 0.16 * (k - 0.5 * (len(rows) - 1)), row["relative_rate"],
            row["relative_rate_sd"], fmt="os^"[k], markersize=4, capsize=3,
            color=_style(row["line"])["color"], linestyle="none",
            label=f"{row['line']}: Jain's index {row['jain']:.2f}",
        )  # fmt: skip
    ax.set_xticks(places, [f"{1e3 * path:g}" for path in paths()])
    ax.set(xlabel="path [ms]", ylabel="rate of an elephant, relative", ylim=(0.0, 6.5))
    ax.axhline(1.0, color="0.3", linewidth=0.9, linestyle=":")
    ax.legend(loc="upper right", fontsize=8)


def draw_times(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    """Draw how long transfers take by their size."""
    ax: Any = figure.subplots()
    for row in measured.tables["times"]:
        style = _style(row["line"])
        ax.loglog(row["size_segments"], row["median_s"], label=row["line"], **style)
        ax.loglog(row["size_segments"], row["p95_s"], color=style["color"], linestyle=":")
    ax.set(xlabel="size [packets]", ylabel="time it takes [s]", ylim=(1, 100))
    ticks = [1, 2, 5, 10, 20, 50, 100]
    ax.set_yticks(ticks, map(str, ticks))
    ax.minorticks_off()
    ax.legend(loc="upper left")
    ax.grid(visible=True)
    late = share_text(LATE)
    return Caption(
        f"Mice take longer with the new protocol in the median, and less at {late}",
        note=(
            f"From the SYN to the last acknowledgement: medians, and {late} (dotted), of all paths"
            " and runs, of transfers that began in the first half of a run."
        ),
    )
