"""REM over loads: a PI controller with an exponential encoder has no margin that holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, Rows
from pi2_fluid.plot import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray

#: Flows of Reno, over which margins are drawn.
LOADS: Final = (10, 13, 16, 20, 25, 32, 40, 50, 64, 80, 100, 128, 160, 200, 256, 320)
#: The same, packet by packet.
SIMULATED: Final = (10, 14, 20, 28, 40, 56, 80, 112, 160)
#: At which the queue is drawn over time: without margin, and with plenty.
SHOWN: Final = (20, 160)
_CAPACITY: Final = 64e6  # bit/s: 8000 packets/s
_RTT: Final = 0.080  # s, without queue
_LINK: Final = pf.Link(_CAPACITY, 1000, "1000B")
_LAWS: Final = {"REM": pf.Rem(ecn=True), "PI2": pf.Pi2()}
_EDGE: Final = 0.0  # dB, of stability
_DURATION: Final = 90.0  # s
_SETTLED: Final = 30.0  # s
_TRACE: Final = 10.0  # s at its end
_BIN: Final = 0.05  # s
_STYLE: Final[dict[str, dict[str, Any]]] = {
    "REM": {"color": COLORS[1], "linestyle": "-"},
    "PI2": {"color": COLORS[0], "linestyle": "--"},
}


def _flows(count: int) -> pf.Flows:
    """Return flows that begin with their share of the path, at different times of a second."""
    window = max(2, round(_CAPACITY / 8000.0 * _RTT / count))
    return pf.Flows(
        pf.Reno(), count, _RTT, initial_window=window, slow_start=False, start_jitter="1s", ecn=True
    )


def scenario(count: int) -> pf.Scenario:
    """Return so many flows under REM with the defaults of ns-2."""
    return pf.Scenario(_DURATION, _LINK, _LAWS["REM"], _flows(count))


def curves() -> list[dict[str, Any]]:
    """Return margins and round-trip times over the load, as columns per queue."""
    rows = []
    for name, law in _LAWS.items():
        loops = [
            pf.Loop(pf.Network(pf.Node("a", _LINK, law), _flows(count)), update="sampled",
                    rtt_terms="exact")
            for count in LOADS
        ]  # fmt: skip
        margins = [loop.margins() for loop in loops]
        rows.append(
            {
                "queue": name,
                "flows": np.array(LOADS),
                "p": np.array([float(loop.operating_point.p[0]) for loop in loops]),
                "gain_margin_db": np.array([float(one.gain_margin_db) for one in margins]),
                "phase_margin_deg": np.array([float(one.phase_margin_deg) for one in margins]),
            }
        )
    return rows


def edge(row: Mapping[str, Any]) -> float:
    """Return the number of flows at which the gain margin is 0 dB; it grows with them."""
    return float(np.exp(np.interp(_EDGE, row["gain_margin_db"], np.log(row["flows"]))))


def scatter(seeds: int) -> list[dict[str, Any]]:
    """Return scatter of the price and utilization over the load, as columns per engine."""
    rows = []
    for name, engine in (("fluid", pf.Fluid()), ("packets", pf.Packets(seeds=seeds, bin=_BIN))):
        spread, used = [], []
        for count in SIMULATED:
            run = pf.simulate(scenario(count), engine).sel(time=slice(_SETTLED, None))
            price, rate = run.controller, run.throughput.sum("flows") / _CAPACITY
            spread.append(float((price.std("time") / price.mean("time")).median()))
            used.append(float(rate.mean("time").median()))
        rows.append(
            {
                "engine": name,
                "seeds": seeds,
                "flows": np.array(SIMULATED),
                "relative_sd_of_price": np.array(spread),
                "utilization": np.array(used),
            }
        )
    return rows


def traces(count: int) -> dict[str, FloatArray]:
    """Return the queue at the end of a run in both engines: time (s), packets, of columns."""
    since = _DURATION - _TRACE
    packets = pf.simulate(scenario(count), pf.Packets(seeds=1, bin=_BIN)).queue.isel(seed=0)
    packets = packets.sel(time=slice(since, None))
    fluid = pf.simulate(scenario(count), pf.Fluid()).queue
    times = packets.time.to_numpy()
    return {
        "flows": np.full(times.size, count),
        "time_s": times - since,
        "fluid_packets": np.interp(times, fluid.time.to_numpy(), fluid.to_numpy()),
        "packets": packets.to_numpy(),
    }


def _measure(case: Case) -> Measured:
    shown = [traces(count) for count in SHOWN]
    return Measured({"": curves(), "scatter": scatter(case.seeds), "traces": shown})


def _draw(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    rows, spread, shown = (measured.tables[part] for part in ("", "scatter", "traces"))
    axes: Any = figure.subplots(2, 2)
    (rem,) = (row for row in rows if row["queue"] == "REM")
    _draw_margins(axes[0][0], rows)
    _draw_scatter(axes[0][1], spread)
    for ax in axes[0]:
        ax.axvline(edge(rem), color="0.5", linewidth=0.8, linestyle=":")
        ax.set(xscale="log", xlim=(LOADS[0], LOADS[-1]), xlabel="flows of Reno")
        ax.set_xticks([10, 20, 50, 100, 200], ["10", "20", "50", "100", "200"])
        ax.minorticks_off()
        ax.grid(visible=True)
    highest = 1.05 * float(max(each["packets"].max() for each in shown))
    for ax, columns in zip(axes[1], shown, strict=True):
        _draw_traces(ax, columns, highest)
    axes[1][1].legend(loc="upper right")
    least, most = (float(rem["gain_margin_db"][k]) for k in (0, -1))
    return Caption(
        f"REM: the same gains, and margins from {least:.0f} to {most:.0f} dB".replace(
            "-", "\N{MINUS SIGN}"
        ),
        note=(
            f"Reno with a path of {1e3 * _RTT:g} ms on {1e-6 * _CAPACITY:g} Mbit/s; REM with the"
            " defaults of ns-2, PI2 with the gains of its paper. Margins: sampled loop.\nDotted:"
            f" where REM's is {_EDGE:g} dB, {edge(rem):.0f} flows. Scatter: median of"
            f" {spread[0]['seeds']} seeds. Below: the last {_TRACE:g} of {_DURATION:g} s."
        ),
    )


def _draw_margins(ax: Axes, rows: Rows) -> None:
    for row in rows:
        ax.plot(row["flows"], row["gain_margin_db"], label=row["queue"], **_STYLE[row["queue"]])
    ax.axhline(0.0, color="0.5", linewidth=0.8)
    ax.set(ylim=(-20, 60), ylabel="gain margin [dB]")
    ax.set_title("loop", fontsize=9.5)
    ax.legend(loc="upper left")


def _draw_scatter(ax: Axes, spread: Rows) -> None:
    for row in spread:
        packets = row["engine"] == "packets"
        ax.plot(
            row["flows"], row["relative_sd_of_price"], color=COLORS[2 if packets else 1],
            label=row["engine"], marker="o" if packets else "s", markersize=4,
        )  # fmt: skip
    ax.set(ylim=(0, None), ylabel="standard deviation over mean")
    ax.set_title("scatter of REM's price", fontsize=9.5)
    ax.legend(loc="upper right")


def _draw_traces(ax: Axes, columns: Mapping[str, Any], highest: float) -> None:
    ax.plot(columns["time_s"], columns["packets"], color=COLORS[2], linewidth=0.8, label="packets")
    ax.plot(columns["time_s"], columns["fluid_packets"], color=COLORS[1], label="fluid")
    ax.set(xlim=(0, _TRACE), ylim=(0, highest), xlabel="time [s]", ylabel="queue [packets]")
    ax.set_title(f"{columns['flows'][0]:.0f} flows", fontsize=9.5)
    ax.grid(visible=True)


RECIPE: Final = Recipe(
    caption="Margins and packets of REM over the number of flows, and PI2's margins beside them",
    kind="fluid and packets",
    measure=_measure,
    pages={"": Page(_draw, (9.4, 7.0))},
    seeds=3,
    decisions=(
        (
            "The link carries 8000 packets of 1000 bytes a second, and queues mark. REM has gamma"
            " 0.001, phi 1.001 and a target of 20 packets, PI2 one of 20 ms."
        ),
        f"Exact round-trip times; scatter from {_SETTLED:g} s on.",
    ),
)
