"""Chains: PI2 queues in a row that share flows have less margin than one of them alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, Rows
from pi2_fluid.plot import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from pi2_fluid.laws.aqms.pi_family import PiFamily

CHAINS: Final = (1, 2, 3)  # queues in a row
RTT: Final = 0.100  # s, of the flows through all queues, these included
#: Round-trip times of the flows that cross one queue (s).
CROSS: Final = (0.100, 0.050)
#: Parts of every link that the flows through all queues take.
SHARES: Final = (0.02, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_P_PRIME: Final = 0.1  # of every queue
_CAPACITY: Final = 10_000.0  # packets/s
#: The same, packet by packet.
SIMULATED: Final = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9)
_EDGE: Final = 0.0  # dB, of stability
_DURATION: Final = 40.0  # s
_SETTLED: Final = 10.0  # s
_SHOWN: Final = 8.0  # s at its end
_BIN: Final = 0.02  # s
_STYLE: Final[dict[int, dict[str, Any]]] = {
    1: {"color": COLORS[0], "linestyle": "-"},
    2: {"color": COLORS[1], "linestyle": "--"},
    3: {"color": COLORS[2], "linestyle": "-."},
}


def chain(
    queues: int,
    share: float,
    cross: float,
    queue: PiFamily | None = None,
    p_prime: float = _P_PRIME,
) -> pf.Network:
    """Return queues in a row, each at the p' of every other.

    Parameters
    ----------
    queues : int
        How many.
    share : float
        The part of each link that flows through all of them take; the rest crosses one queue.
    cross : float
        Round-trip time of those that cross one queue (s).
    queue : PiFamily, optional
        The law of all of them, by default Pi2 with the gains of the paper.
    p_prime : float
        What each of them signals.
    """
    queue = pf.Pi2() if queue is None else queue
    target, p = float(queue.target), p_prime**2
    sender = pf.Reno()
    rate_through = float(sender.at_rest(RTT, 1.0 - (1.0 - p) ** queues)) / RTT
    rate_cross = float(sender.at_rest(cross, p)) / cross
    names = [f"queue {number}" for number in range(1, queues + 1)]
    through = pf.Flows(
        sender,
        share * _CAPACITY / rate_through,
        RTT - queues * target,
        "through",
        route=tuple(names),
    )
    crossing = [
        pf.Flows(
            sender, (1.0 - share) * _CAPACITY / rate_cross, cross - target, f"at {name}",
            route=(name,),
        )
        for name in names
    ]  # fmt: skip
    link = pf.Link(12e3 * _CAPACITY, 40_000)
    return pf.Network([pf.Node(name, link, queue) for name in names], [through, *crossing])


def curves() -> list[dict[str, Any]]:
    """Return the uniform margins over the share, as columns per chain and cross traffic."""
    rows = []
    for cross in CROSS:
        for queues in CHAINS:
            found = [
                pf.Loop(chain(queues, share, cross), update="sampled", rtt_terms="exact").margins()
                for share in SHARES
            ]
            rows.append(
                {
                    "cross_rtt_s": cross,
                    "queues": queues,
                    "share": np.array(SHARES),
                    "gain_margin_db": np.array([float(one.gain_margin_db) for one in found]),
                    "phase_margin_deg": np.array([float(one.phase_margin_deg) for one in found]),
                }
            )
    return rows


def packets(seeds: int) -> list[dict[str, Any]]:
    """Return standard deviation and traces of the last queue's delay, as columns per chain."""
    rows = []
    for queues in CHAINS:
        scatter, traces = [], {}
        for share in SIMULATED:
            network = chain(queues, share, RTT)
            flows = [
                replace(
                    one, count=max(1, round(float(one.count))), start_jitter="2s",
                    initial_window=round(np.sqrt(2.0) / _P_PRIME), slow_start=False,
                )
                for one in network.flows
            ]  # fmt: skip
            run = pf.simulate(
                pf.Scenario(_DURATION, network=pf.Network(network.nodes, flows)),
                pf.Packets(seeds=seeds, bin=_BIN),
            )
            delay = run.queue_delay.sel(time=slice(_SETTLED, None))
            if queues > 1:
                delay = delay.isel(link=-1)
            scatter.append(float(delay.std("time").median("seed")))
            traces[share] = delay.isel(seed=0).sel(time=slice(_DURATION - _SHOWN, None))
        last = traces[SIMULATED[-1]]
        rows.append(
            {
                "queues": queues,
                "seeds": seeds,
                "share": np.array(SIMULATED),
                "sd_delay_s": np.array(scatter),
                "time_s": last.time.to_numpy() - (_DURATION - _SHOWN),
                "delay_s": last.to_numpy(),
            }
        )
    return rows


def edge(row: Mapping[str, Any]) -> float:
    """Return the share at which the gain margin is 0 dB, inf if it is above everywhere."""
    margin, share = row["gain_margin_db"], row["share"]
    below = np.flatnonzero(margin < _EDGE)
    if below.size == 0:
        return np.inf
    k = int(below[0])
    return float(np.interp(0.0, margin[[k, k - 1]], share[[k, k - 1]]))


def _measure(case: Case) -> Measured:
    runs = packets(case.seeds)
    scatter = ("queues", "seeds", "share", "sd_delay_s")
    traces = ("queues", "time_s", "delay_s")
    return Measured(
        {
            "": curves(),
            "scatter": [{name: run[name] for name in scatter} for run in runs],
            "traces": [{name: run[name] for name in traces} for run in runs],
        }
    )


def _draw(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    rows, scatter = measured.tables[""], measured.tables["scatter"]
    axes: Any = figure.subplots(2, 2)
    for ax, cross in zip(axes[0], CROSS, strict=True):
        _draw_margins(ax, [row for row in rows if row["cross_rtt_s"] == cross], cross)
    axes[0][0].legend(loc="lower left")
    _draw_scatter(axes[1][0], scatter, [row for row in rows if row["cross_rtt_s"] == RTT])
    _draw_traces(axes[1][1], measured.tables["traces"])
    return Caption(
        "PI2 queues in a row have less margin than one of them alone",
        note=(
            f"Reno under PI2 with the gains of the paper, p' = {_P_PRIME:g} at each queue. Above:"
            " sampled loop. Below: packets on the last link, cross traffic of"
            f" {1e3 * RTT:g} ms;\nleft, median of {scatter[0]['seeds']} seeds, thin lines where the"
            f" margin is {_EDGE:g} dB."
        ),
    )


def _draw_margins(ax: Axes, rows: Rows, cross: float) -> None:
    for row in rows:
        queues = row["queues"]
        label = "one queue" if queues == 1 else f"{queues} queues in a row"
        ax.plot(row["share"], row["gain_margin_db"], label=label, **_STYLE[queues])
    ax.axhline(0.0, color="0.5", linewidth=0.8)
    ax.grid(visible=True)
    ax.set(
        xlim=(0, 1),
        ylim=(-12, 13),
        xlabel="share of flows through all queues",
        ylabel="uniform gain margin [dB]",
    )
    ax.set_title(f"cross traffic of {1e3 * cross:g} ms", fontsize=9.5)


def _draw_scatter(ax: Axes, runs: Rows, rows: Rows) -> None:
    for run, row in zip(runs, rows, strict=True):
        style = _STYLE[run["queues"]]
        ax.plot(run["share"], 1e3 * run["sd_delay_s"], marker="o", markersize=4, **style)
        if np.isfinite(edge(row)):
            ax.axvline(edge(row), linewidth=0.8, **style)
    ax.grid(visible=True)
    ax.set(
        xlim=(0, 1),
        ylim=(0, None),
        xlabel="share of flows through all queues",
        ylabel="standard deviation of delay [ms]",
    )
    ax.set_title("packets: scatter of the last queue", fontsize=9.5)


def _draw_traces(ax: Axes, runs: Rows) -> None:
    for run in runs:
        style = _STYLE[run["queues"]] | {"linewidth": 1.0}
        ax.plot(run["time_s"], 1e3 * run["delay_s"], **style)
    ax.grid(visible=True)
    ax.set(xlim=(0, _SHOWN), ylim=(0, None), xlabel="time [s]", ylabel="queue delay [ms]")
    ax.set_title(f"packets: the last queue at a share of {SIMULATED[-1]:g}", fontsize=9.5)


RECIPE: Final = Recipe(
    caption="Margins and packets of one to three PI2 queues in a row, over the share of long flows",
    kind="packets",
    measure=_measure,
    pages={"": Page(_draw, (9.4, 7.0))},
    seeds=3,
    decisions=(
        (
            f"Flows through all queues have a round-trip time of {1e3 * RTT:g} ms, however many"
            f" these are; links of {12e-3 * _CAPACITY:g} Mbit/s, exact round-trip times."
        ),
        (
            "Flows that another queue holds back hardly answer this one, like traffic of a"
            " constant rate."
        ),
    ),
)
