"""Bufferbloat: one link without AQM, with Linux's DualPI2, and with gains for its path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.ours.designed_gains import GAINS, TARGET
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe
from pi2_fluid.papers.words import quantity_text
from pi2_fluid.plot import COLORS
from pi2_fluid.results.runs import uninterrupted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

_FLOWS: Final = 100
_PATH: Final = 0.2  # s
_CAPACITY: Final = 200e6
_BUFFER: Final = 5000  # packets: 0.3 s of the link
#: By a short name: what a picture calls a queue, and the queue.
QUEUES: Final[dict[str, tuple[str, pf.Aqm]]] = {
    "none": ("no AQM, a large buffer", pf.TailDrop()),
    "linux": ("dualpi2, Linux's gains", GAINS["linux"].aqm),
    "tuned": ("dualpi2, gains for this path", GAINS["tune_215ms"].aqm),
}
#: The same in small print.
_SHORT: Final = {"none": "no AQM", "linux": "Linux's gains", "tuned": "gains for this path"}
_STYLE: Final[dict[str, dict[str, Any]]] = {
    "none": {"color": COLORS[0], "linestyle": "-", "linewidth": 1.6},
    "linux": {"color": COLORS[2], "linestyle": (0, (4, 1)), "linewidth": 1.6},
    "tuned": {"color": COLORS[1], "linestyle": "-", "linewidth": 1.8},
}
_BEGIN, _DURATION = 30.0, 60.0  # s: what is shown and counted
_SHOWN: Final = 20.0  # s
_BIN: Final = 0.02  # s


def scenario(queue: str) -> pf.Scenario:
    """Return long Reno flows over a long path, through one of the queues."""
    return pf.Scenario(
        _DURATION,
        pf.Link(_CAPACITY, kind="htb", buffer=_BUFFER),
        QUEUES[queue][1],
        [pf.Flows(pf.Reno(), _FLOWS, _PATH, start_jitter="2s")],
    )


def curves(seeds: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the first run's delay over time, and numbers of all runs, as columns per queue."""
    traces, numbers = [], []
    for queue, (_, aqm) in QUEUES.items():
        runs = uninterrupted(pf.packet.simulate(scenario(queue), seeds=seeds, bin=_BIN))
        runs = runs.sel(time=slice(_BEGIN, None))
        delay = runs.queue_delay.sel(band="C") if aqm.bands == 2 else runs.queue_delay
        first = delay.isel(seed=0)
        used = runs.throughput.sum("flows").mean("time") / _CAPACITY
        traces.append(
            {
                "queue": queue,
                "time_s": first.time.to_numpy() - _BEGIN,
                "queue_delay_s": first.to_numpy(),
            }
        )
        numbers.append(
            {
                "queue": queue,
                "seed": runs.seed.to_numpy(),
                "mean_delay_s": delay.mean("time").to_numpy(),
                "sd_delay_s": delay.std("time").to_numpy(),
                "utilization": used.to_numpy(),
            }
        )
    return traces, numbers


def _measure(case: Case) -> Measured:
    traces, numbers = curves(case.seeds)
    return Measured({"": numbers, "traces": traces})


def _draw(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    traces = {row["queue"]: row for row in measured.tables["traces"]}
    left, right = figure.subplots(1, 2, sharex=True)
    _draw_delays(left, {name: traces[name] for name in ("none", "linux")})
    _draw_delays(right, {name: traces[name] for name in ("linux", "tuned")})
    left.set(xlim=(0.0, _SHOWN), ylim=(0, 325), ylabel="queue delay [ms]")
    left.legend(loc="upper right", bbox_to_anchor=(1.0, 0.36))
    right.set(ylim=(0, 43))
    right.legend(loc="upper right")
    left.set_title("An AQM ends bufferbloat ...", fontsize=10.5)
    right.set_title("... and its gains decide whether it oscillates", fontsize=10.5)
    said = "; ".join(
        f"{_SHORT[row['queue']]} {1e3 * row['mean_delay_s'].mean():.0f} ±"
        f" {1e3 * row['sd_delay_s'].mean():.2g} ms, {100 * row['utilization'].mean():.1f} %"
        for row in measured.tables[""]
    )
    return Caption(
        "The same link and traffic under three queues",
        note=(
            f"{_FLOWS} Reno flows over {1e3 * _PATH:g} ms on {quantity_text(_CAPACITY, 'rate')},"
            f" simulated packet by packet; target {1e3 * TARGET:g} ms. Mean delay ± standard"
            f" deviation, and use of the link: {said}."
        ),
    )


def _draw_delays(ax: Axes, traces: Mapping[str, Mapping[str, Any]]) -> None:
    for name, row in traces.items():
        ax.plot(row["time_s"], 1e3 * row["queue_delay_s"], label=QUEUES[name][0], **_STYLE[name])
    ax.grid(visible=True)
    ax.set(xlabel="time [s]", xticks=np.arange(0.0, _SHOWN + 1.0, 5.0))


RECIPE: Final = Recipe(
    caption="Queue delay of one link without AQM, with Linux's gains, and with gains for its path",
    kind="packets",
    measure=_measure,
    pages={"": Page(_draw, (8.4, 3.9))},
    seeds=6,
    decisions=(
        "Without AQM the buffer has room for 5000 packets, 300 ms of the link.",
        (
            "Linux's dualpi2 has alpha 41/256 Hz, beta 819/256 Hz and T = 16 ms. The other line is"
            ' what pf.tune("215ms", aqm="dualpi2") designs for this path and the target: 5/256,'
            " 299/256 and 35 ms."
        ),
        (
            "The picture begins 30 s after the flows: until then slow start fills and empties the"
            " queue. The tuned queue takes some 10 s to come back from it, the others less. The"
            " curves are those of the first seed."
        ),
        (
            "With Cubic in Reno's place, Linux's gains leave a standard deviation of 8.8 ms and the"
            " others one of 4.9 ms."
        ),
    ),
)
