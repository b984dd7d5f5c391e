"""Bursts: what trains of packets in either queue do to a Cubic and a Prague flow beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, Rows
from pi2_fluid.plot import COLORS
from pi2_fluid.results.delays import delay_quantiles

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray

QUEUES: Final[dict[str, pf.Aqm]] = {
    "DualPI2": pf.DualPi2(),
    "one coupled queue": pf.CoupledPi2(alpha=0.16, beta=3.2, target="15ms", update_interval="16ms"),
    "PIE": pf.Pie(ecn=True),
}
#: Who sends the trains: their packets go into the Classic queue, or into that for L4S.
SENDERS: Final[dict[str, pf.Sender]] = {"C": pf.Reno(), "L": pf.Dctcp(variant="rfc8257")}
TRAINS: Final = (1, 5, 20, 80)  # segments of a train; 0 is no train
_SHARE: Final = 5e6  # bit/s of trains, a tenth of the link
_RTT: Final = 0.02  # s
_CAPACITY: Final = 50e6
_SEGMENT: Final = 12e3  # bits
_AT_ONCE: Final = 100  # trains under way, of which there are never so many
_DURATION, _SETTLED = 40.0, 10.0  # s
_LEVEL: Final = 0.99
_FLOWS: Final = {"cubic": ("Cubic", COLORS[2]), "prague": ("Prague", COLORS[1])}


def scenario(queue: str, where: str, train: int) -> pf.Scenario:
    """Return one flow each of Cubic and Prague, beside trains of so many segments at random times.

    All trains together are a tenth of the link, however long each is; 0 is none.
    """
    flows = [
        pf.Flows(pf.Cubic(), 1, _RTT, name="cubic"),
        pf.Flows(pf.Prague(), 1, _RTT, name="prague"),
    ]
    if train:
        trains = pf.Transfers(
            SENDERS[where],
            _AT_ONCE,
            _RTT,
            size=pf.Fixed(train),
            arrivals=_SHARE / (_SEGMENT * train),
            initial_window=train,
            name="trains",
        )
        flows.append(trains)
    return pf.Scenario(_DURATION, pf.Link(_CAPACITY, 40_000), QUEUES[queue], flows)


def percentile_of(run: xr.Dataset, name: str, level: float = _LEVEL) -> FloatArray:
    """Return a quantile of the delay of a class's packets once all has settled (s), per seed."""
    watched = run.delay_histogram.sel(flows=name)
    watched = watched.isel(block=run.block_start.to_numpy() >= _SETTLED)
    counts = watched.sum("block").transpose("seed", "delay").to_numpy().astype(np.int64)
    edges = run.delay.to_numpy(), run.delay_end.to_numpy()
    return delay_quantiles(counts, *edges, [level])[:, 0]


def curves(seeds: int) -> list[dict[str, Any]]:
    """Return rates, delays and use of the link over the length of trains, as columns per run."""
    rows: list[dict[str, Any]] = []
    for queue in QUEUES:
        for where in SENDERS:
            for train in (0, *TRAINS):
                if train == 0 and where != "C":  # the same without trains
                    rows.append(rows[-len(TRAINS) - 1] | {"trains_in": where})
                    continue
                run = pf.packet.simulate(scenario(queue, where, train), seeds=seeds, bin=0.1)
                summary = pf.summarize(run, after=_SETTLED)
                rates = {
                    f"{name}_mbit_s": 1e-6 * summary.throughput.sel(flows=name).to_numpy()
                    for name in _FLOWS
                }
                delays = {f"{name}_p99_s": percentile_of(run, name) for name in _FLOWS}
                rows.append(
                    {
                        "queue": queue,
                        "trains_in": where,
                        "train_segments": np.full(seeds, train),
                        "seed": summary.seed.to_numpy(),
                        **rates,
                        **delays,
                        "utilization": summary.utilization.to_numpy(),
                    }
                )
    return rows


def _measure(case: Case) -> Measured:
    return Measured({"": curves(case.seeds)})


def _draw(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    rows = measured.tables[""]
    axes: Any = figure.subplots(3, len(QUEUES), sharex=True, sharey="row")
    for column, queue in zip(axes.T, QUEUES, strict=True):
        for where, line in (("C", "-"), ("L", "--")):
            shown = [r for r in rows if (r["queue"], r["trains_in"]) == (queue, where)]
            for name, (label, color) in _FLOWS.items():
                said = f"{label}, trains in {where}"
                _line(column[0], shown, f"{name}_mbit_s", 1.0, color, line, said)
                _line(column[1], shown, f"{name}_p99_s", 1e3, color, line, said)
            _line(column[2], shown, "utilization", 100.0, "0.2", line, f"trains in {where}")
        column[0].set_title(queue, fontsize=9.5)
        column[2].set_xlabel("segments of a train")
        for ax in column:
            ax.grid(visible=True)
    axes[0][0].set(ylabel="rate [Mbit/s]", ylim=(0, 50))
    axes[1][0].set(ylabel=f"{100.0 * _LEVEL:g} % delay [ms]", yscale="log", ylim=(0.3, 150))
    axes[1][0].set_yticks([1, 10, 100], ["1", "10", "100"])
    axes[2][0].set(ylabel="link used [%]", ylim=(83, 101))
    axes[0][1].legend(loc="upper right", fontsize=7.5, ncols=2, columnspacing=1.0)
    axes[2][0].legend(loc="lower left", fontsize=8)
    axes[2][0].set_xticks(range(len(TRAINS) + 1), ["none", *map(str, TRAINS)])
    count = len(rows[0]["seed"])
    return Caption(
        "Trains of packets: under DualPI2 those in C leave Prague alone, those in L take its share",
        note=(
            f"One flow each over {1e3 * _RTT:g} ms on {1e-6 * _CAPACITY:g} Mbit/s, and trains that"
            f" are a tenth of it: of Reno (C) or DCTCP (L), unpaced. Mean of {count} seeds, bars"
            f" from the\nsmallest to the largest; {_SETTLED:g} to {_DURATION:g} s. Cubic without"
            " ECN. In one queue trains of either kind wait with all others."
        ),
    )


def _line(ax: Axes, rows: Rows, name: str, scale: float, color: str, line: str, label: str) -> None:
    """Draw the mean over seeds, with bars from the least to the most."""
    values = [scale * np.asarray(row[name]) for row in rows]
    mean = np.array([one.mean() for one in values])
    spread = np.array([(one.mean() - one.min(), one.max() - one.mean()) for one in values]).T
    ax.errorbar(
        range(len(values)), mean, spread, color=color, linestyle=line, linewidth=1.4,
        elinewidth=0.8, marker="o", markersize=3, label=label,
    )  # fmt: skip


RECIPE: Final = Recipe(
    caption="One Cubic and one Prague flow beside trains of packets, over their length",
    kind="packets",
    measure=_measure,
    pages={"": Page(_draw, (9.4, 7.2))},
    seeds=6,
    decisions=(
        (
            "A train is a transfer whose initial window holds all of it, so its segments leave at"
            " once after the handshake. Trains come at random. Longer ones are fewer, so all"
            " together send 5 Mbit/s."
        ),
        (
            "DualPi2 has its defaults, the one queue has the same gains and target, and PIE is as"
            " in Linux."
        ),
    ),
)
