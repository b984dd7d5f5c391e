"""The recipe of Figures 6 to 9 of Paganini and others: NewReno under one queue and another."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.paganini.newreno import (
    ASKED,
    CLAIMED,
    FLOWS,
    MEAN,
    MUCH,
    QUEUES,
    STAGE,
    Run,
    run_narrow,
    runs,
)
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, Rows, shipped
from pi2_fluid.plot import COLORS
from pi2_fluid.plot.pairs import scale_root

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray

_WAYS: Final = {"both ways": True, "one way": False}
_STYLES: Final = {"both ways": (COLORS[1], "-"), "one way": (COLORS[2], "--")}
_RED: Final = 6  # figure, whose thresholds are also made smaller, and others compared with

_DECISIONS: Final = (
    "Utilization and queue of a stage are of its second half, one way.",
    f'"Much lower" is {100 * MUCH:g} points below the {100 * ASKED:g} % of the new protocol.',
    "Groups join in the order of their paths, the shortest first, each within 100 ms.",
    (
        f"With few seeds we run {100 * CLAIMED:g} % of links, flows and the queue's thresholds,"
        " otherwise all."
    ),
    "TCP is NewReno of Linux; the paper had that of ns-2.",
)
_ELSE: Final[Mapping[int, tuple[str, ...]]] = {
    6: (
        "RED has the defaults of ns-2: max_p 0.1, gentle, spaced marks.",
        "Thresholds of 5 and 20 run with the first 32 flows, on whole links, from 10 to 20 s.",
    ),
    7: ("Thresholds and weight are those of RED, and max_p begins at 0.1.",),
    8: ("Utilization 0.98 and alpha 0.15 are those of ns-2. The virtual queue has 5000 packets.",),
    9: ("The gains are those of ns-2: a = 1.822e-5, b = 1.816e-5, 170 times a second.",),
}
_LOW: Final = {
    6: "RED's queue holds enough for halved windows, since its marks are spread over 32 flows.",
    7: "Adaptive RED raises its queue until it is between the thresholds, and with it the"
    " utilization.",
    8: "AVQ's virtual queue of 5000 packets lets a real one grow, which fills the link when"
    " windows are halved.",
    9: "PI's queue of some packets is too short for windows of 300 segments that are halved, and"
    " bursts of acknowledgements make bursts of data.",
}
_BESIDE: Final = {
    9: "PI's queue is too short to fill the link, and RED's is not. We chose PI's gains."
}


def make_recipe(figure: int) -> Recipe:
    """Return the recipe of one of the figures, a key of `QUEUES`."""
    name, queue = _name(figure), QUEUES[figure]
    why = {
        "low_load": _LOW[figure],
        "improves": "More flows have smaller windows, and one at a time is halved.",
        "delay_grows": "More flows need more marks, and so a longer queue.",
    }
    if figure == _RED:
        why |= {
            "max_delay": "2500 packets leave at 250 000 a second.",
            "narrow_queue": "The queue ends where marks begin, at a few packets.",
            "narrow_used": "32 windows are halved at different times, and add up to more than"
            " half. With max_p from 0.02 to 1, not gentle, or with every packet acknowledged it is"
            " 60 to 70 %. The load that the paper means is open.",
        }
    else:
        why["little_difference"] = _BESIDE.get(figure, "RED's queue fills the link, too.")
    return Recipe(
        caption=f"NewReno under {queue} with 32 to 512 long flows each way",
        kind="packets",
        measure=partial(_measure, figure),
        pages={"": Page(partial(_draw, figure), (9.0, 5.2))},
        scenarios=shipped(*dict.fromkeys([name, _name(_RED)])),
        changeable=(),
        coarse=True,
        decisions=(*_DECISIONS, *_ELSE[figure]),
        why=why,
    )


def _name(figure: int) -> str:
    return f"paganini_fig{figure:02d}"


def _measure(figure: int, case: Case) -> Measured:
    share = CLAIMED if case.quick else 1.0
    scenario, red = case.scenarios[_name(figure)], case.scenarios[_name(_RED)]
    shown = {way: runs(scenario, share, case.seeds, both_ways=both) for way, both in _WAYS.items()}
    used, waiting = (
        np.array([getattr(each, what) for each in shown["both ways"]])
        for what in ("used", "waiting")
    )
    numbers = {
        "low_load": (used[:, 0] + MUCH) / ASKED,
        "improves": used[:, -1] / used[:, 0],
        "delay_grows": waiting[:, -1] / waiting[:, 0],
    }
    if figure == _RED:
        numbers |= _narrow(red, case.seeds, waiting[:, 0])
    else:
        beside = np.array([each.used[0] for each in runs(red, share, case.seeds)])
        numbers["little_difference"] = used[:, 0] / beside
    return Measured(
        {
            "": [_curve(way, each) for way, each in shown.items()],
            "stages": [{"part": share, **_stages(way, each)} for way, each in shown.items()],
        },
        numbers,
    )


def _narrow(scenario: pf.Scenario, seeds: int, wide: FloatArray) -> dict[str, Any]:
    used, queue = run_narrow(scenario, seeds)
    node = scenario.network.nodes[0]
    red: Any = node.aqm
    return {
        "max_delay": 1e3 * red.max * 8 * node.link.packet_size / node.link.capacity,
        "narrow_queue": queue[:, 0] / wide,
        "narrow_used": 100.0 * used[:, 0],
    }


def _curve(way: str, each: tuple[Run, ...]) -> dict[str, Any]:
    row: dict[str, Any] = {"line": way, "time_s": each[0].time}
    for name, unit in (("utilization", ""), ("queue", "_packets")):
        values = np.array([getattr(run, name) for run in each])
        row[f"{name}{unit}"] = np.median(values, axis=0)
        row[f"{name}_least{unit}"], row[f"{name}_most{unit}"] = (
            values.min(axis=0),
            values.max(axis=0),
        )
    return row


def _stages(way: str, each: tuple[Run, ...]) -> dict[str, Any]:
    return {
        "line": way,
        "flows": np.array(FLOWS),
        "utilization": np.median([run.used for run in each], axis=0),
        "queue_packets": np.median([run.waiting for run in each], axis=0),
    }


# --- the picture ----------------------------------------------------------------------------


def _draw(figure: int, picture: FigureBase, measured: Measured, _: Case) -> Caption:
    rows, stages = measured.tables[""], measured.tables["stages"]
    axes: Any = picture.subplots(2, 1, sharex=True)
    used, waiting = axes
    _draw_lines(used, rows, stages, "utilization", "", 100.0)
    _draw_lines(waiting, rows, stages, "queue", "_packets", 1.0)
    used.axhline(100.0 * ASKED, color="0.3", linewidth=0.9, linestyle=":", label="new protocol")
    used.set(ylabel=f"utilization over {MEAN:g} s [%]", ylim=(0, 105))
    used.legend(loc="lower right", ncols=3, fontsize=8)
    waiting.set(ylabel=f"queue over {MEAN:g} s [packets]\n(square-root scale)", xlabel="time [s]")
    waiting.set_xlim(0, STAGE * len(FLOWS))
    scale_root(waiting, max(float(row["queue_most_packets"].max()) for row in rows))
    for ax in axes:
        ax.grid(visible=True)
        for k in range(1, len(FLOWS)):
            ax.axvline(k * STAGE, color="0.7", linewidth=0.8, zorder=0)
    for k, flows in enumerate(FLOWS):
        used.annotate(
            f"{flows} flows", ((k + 0.5) * STAGE, 1.01), xycoords=("data", "axes fraction"),
            ha="center", va="bottom", fontsize=8, color="0.3",
        )  # fmt: skip
    both, alone = map(_numbers, stages)
    return Caption(
        f"NewReno under {QUEUES[figure]}: {_said(stages[0])}",
        note=(
            f"{_part(stages[0]['part'])}median and range of the runs; bars: second halves of the"
            f" stages. Both ways: {both}.\nOne way, without acknowledgements in the queue: {alone}."
        ),
    )


def _draw_lines(ax: Axes, rows: Rows, stages: Rows, name: str, unit: str, factor: float) -> None:
    for row, bars in reversed(list(zip(rows, stages, strict=True))):
        color, dashes = _STYLES[row["line"]]
        middle, low, high = (
            factor * row[f"{name}{which}{unit}"] for which in ("", "_least", "_most")
        )
        ax.fill_between(row["time_s"], low, high, color=color, alpha=0.3, linewidth=0.0)
        ax.plot(
            row["time_s"], middle, color=color, linewidth=1.0, linestyle=dashes, label=row["line"]
        )
        for k, mean in enumerate(factor * bars[f"{name}{unit}"]):
            ax.hlines(mean, (k + 0.5) * STAGE, (k + 1) * STAGE, color=color, linewidth=2.5)


def _part(part: float) -> str:
    return "Whole links: " if part == 1.0 else f"{100 * part:g} % of the links and flows: "


def _numbers(stage: Mapping[str, Any]) -> str:
    used = " ".join(f"{100 * value:.0f}" for value in stage["utilization"])
    return f"{used} % used, {' '.join(f'{n:.0f}' for n in stage['queue_packets'])} packets wait"


def _said(stage: Mapping[str, Any]) -> str:
    """Say what becomes of utilization and queue."""
    used, waits = 100.0 * stage["utilization"], stage["queue_packets"]
    return (
        f"{used.min():.0f} to {used.max():.0f} % used, a queue from {waits[0]:.0f} to"
        f" {waits[-1]:.0f} packets"
    )
