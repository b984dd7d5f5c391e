"""Figure 13 of Paganini and others (2002): NewReno with heavy tails, under RED and other queues."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.paganini.heavy_tails import AFTER, CLAIMED, SETTINGS, Run, runs
from pi2_fluid.papers.paganini.heavy_tails_page import (
    DECISIONS,
    SIZE,
    draw_page,
    queues,
    shown,
    tables,
    told,
)
from pi2_fluid.papers.paganini.newreno import ASKED
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, shipped
from pi2_fluid.plot import COLORS

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray

_OURS, _WIDE, _NARROW = "new protocol", "NewReno/RED", "thresholds 5, 20"
#: The queues of which the paper omits the plots -> the scenario that has them.
_OTHERS: Final = {
    "adaptive": "paganini_fig07", "avq": "paganini_fig08", "pi": "paganini_fig09"
}  # fmt: skip
_NAMES: Final = {"adaptive": "adaptive RED", "avq": "AVQ", "pi": "PI"}
_LIMIT: Final = 80.0  # %, which the paper says of them


def with_queue_of(scenario: pf.Scenario, other: pf.Scenario) -> pf.Scenario:
    """Return the part of a scenario that is run, with the queue of another at every link."""
    queue = other.network.nodes[0].aqm
    nodes = [replace(node, aqm=queue) for node in scenario.network.nodes]
    return pf.Scenario(CLAIMED, network=pf.Network(nodes, scenario.network.flows))


def _measure(case: Case) -> Measured:
    runs_here = shown(case, _WIDE, _NARROW, _OURS)
    scenario = case.scenarios["paganini_fig13"]
    others = {
        key: runs(with_queue_of(scenario, case.scenarios[name]), case.seeds)
        for key, name in _OTHERS.items()
    }
    ours = runs_here[_OURS]
    numbers = {
        "high_delay": _over(runs_here[_WIDE], ours, "waiting"),
        "narrow_used": np.array([100.0 * each.used for each in runs_here[_NARROW]]),
    }
    for key, each in others.items():
        numbers[f"{key}_used"] = np.array([100.0 * one.used for one in each])
        numbers[f"{key}_queue"] = _over(each, ours, "waiting")
        numbers[f"{key}_noise"] = np.array(
            [a.judged_queue.std() / b.judged_queue.std() for a, b in zip(each, ours, strict=True)]
        )
    everybody = {**runs_here, **{_NAMES[key]: each for key, each in others.items()}}
    return Measured({**tables(runs_here, [_WIDE, _NARROW]), "queues": queues(everybody)}, numbers)


def _over(each: tuple[Run, ...], ours: tuple[Run, ...], what: str) -> FloatArray:
    return np.array([getattr(a, what) / getattr(b, what) for a, b in zip(each, ours, strict=True)])


def _draw(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    draw_page(figure, measured)
    both = ". ".join(f"{name}: {told(measured, name)}" for name in (_WIDE, _NARROW))
    return Caption(
        "NewReno under RED pays for utilization with delay",
        note=(
            f"Median and range of the runs. {both}.\nBars: mean and standard deviation of the rates"
            " of elephants, over the mean of all such at the time."
        ),
    )


def _draw_queues(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    ax: Any = figure.subplots()
    for k, row in enumerate(measured.tables["queues"]):
        own = list(SETTINGS).index(row["line"]) if row["line"] in SETTINGS else k
        ax.semilogx(
            row["queue_packets"], 100.0 * row["utilization"], "os^Dv<"[own], color=COLORS[own],
            label=row["line"],
        )  # fmt: skip
    ax.axhline(
        _LIMIT, color="0.3", linewidth=0.9, linestyle=":", label=f"stated: less than {_LIMIT:g} %"
    )
    ax.axhline(
        100.0 * ASKED, color="0.3", linewidth=0.9, linestyle="--", label="new protocol's target"
    )
    ax.set(xlabel="mean queue [packets]", ylabel="utilization [%]", ylim=(0, 105))
    ax.legend(loc="lower right", ncols=2)
    ax.grid(visible=True)
    return Caption(
        "Queues of NewReno exchange utilization for delay; the new protocol has both",
        note=f"Each run from {AFTER:g} to {CLAIMED:g} s, one way of the two.",
    )


RECIPE: Final = Recipe(
    caption="NewReno under RED with transfers of heavy-tailed sizes, and other queues",
    kind="packets",
    measure=_measure,
    pages={"": Page(_draw, SIZE), "queues": Page(_draw_queues, (9.0, 5.0))},
    scenarios=shipped("paganini_fig13", "paganini_fig12", *_OTHERS.values()),
    changeable=(),
    decisions=(
        *DECISIONS,
        "RED has max_p 0.1, gentle and spaced marks, as in ns-2. The first window has 2 segments.",
        (
            "Adaptive RED, AVQ and PI count packets as in Figures 7 to 9, and the link has half"
            f" of their capacity; {CLAIMED:g} s. Noise is the standard deviation of the queue over"
            " 20 ms."
        ),
    ),
    why={
        "high_delay": "RED marks only where its average queue is above 100 packets.",
        "narrow_used": "Marks end slow start early, and then windows grow by a segment per round"
        " trip.",
        "avq_used": "We let AVQ's virtual queue hold 5000 packets. So some 2000 wait, and more of"
        " the link is used.",
        "adaptive_used": "Adaptive RED raises its queue until that is between the thresholds.",
        "": "Mice in slow start come in bursts, and marks answer a round trip later.",
    },
)
