"""Margins along a trace of capacity: what `pi2-fluid margins --along FILE` says."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pi2_fluid.apps.cli.output import make_console, make_grid, print_json
from pi2_fluid.apps.cli.requiring import said_of_required, to_dict
from pi2_fluid.errors import (
    AssumptionWarning,
    DomainError,
    QuantityError,
    SolverError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import xarray

    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.laws.sender import Sender
    from pi2_fluid.network.scenario import Scenario

_CLOCKS: Final = {"rate": "by rates", "acks": "by acknowledgements"}


class Along(NamedTuple):
    """The verdict on all of a trace, and the smallest gain margin (dB)."""

    verdict: str
    gain_margin_db: float


def margins_along_trace(
    file: str,
    who: Sender,
    queue: Aqm,
    options: Mapping[str, str | None],
    model: Mapping[str, Any],
    required: float | None,
    *,
    as_json: bool,
) -> Along:
    """Print the margins along a trace of capacity, and return the worst of them.

    Parameters
    ----------
    file : str
        A CSV file with times and rates, or a trace of mahimahi.
    who, queue
        Sender and queue.
    options : mapping
        ``flows`` and ``path``; anything else that is not None is refused.
    model : mapping
        ``update`` and ``clock``, as of the command.
    required : float or None
        The gain margin (dB) that there is to be.
    as_json : bool
        Whether to print JSON.

    Raises
    ------
    OSError, QuantityError, DomainError, ScenarioError, UnsupportedError
        As `pf.CapacityTrace.load` and `pf.margins_along`.
    """
    from pi2_fluid.loop.along import margins_along

    scenario = _scenario(file, who, queue, options)
    datasets: dict[str, xarray.Dataset] = {}
    why = ""
    clock = model["clock"]
    update = model["update"] or ("sampled" if hasattr(queue, "update_interval") else "continuous")
    for name in _CLOCKS if clock is None else (clock,):
        try:
            with warnings.catch_warnings():
                if datasets:  # what is assumed is said once
                    warnings.simplefilter("ignore", AssumptionWarning)
                datasets[name] = margins_along(scenario, update=update, clock=name)
        except (DomainError, SolverError, UnsupportedError) as error:
            if not datasets:
                raise
            why = str(error)
    summaries = {name: _summary(each) for name, each in datasets.items()}
    smallest = [one["min_gain_margin_db"] for one in summaries.values()]
    least = min((gain for gain in smallest if gain is not None), default=float("inf"))
    verdict = "undecided"
    if least < float("inf"):
        verdict = "stable" if least > 0.0 else "unstable"
    if as_json:
        print_json(
            {
                "inputs": {
                    "file": file,
                    "duration": float(scenario.duration),
                    "flows": float(scenario.flows[0].count),
                    "path": float(scenario.flows[0].base_rtt or 0.0),
                    "update": next(iter(datasets.values())).attrs["update"],
                },
                "verdict": verdict,
                "along": summaries,
                "why_no_acks": why or None,
                "required": to_dict(least, required),
            }
        )
    else:
        _print(summaries, scenario, file, why)
        if required is not None and verdict != "undecided":
            make_console().print(f"\n{said_of_required(least, required)}")
    return Along(verdict, least)


def _scenario(file: str, who: Sender, queue: Aqm, options: Mapping[str, str | None]) -> Scenario:
    """Return flows and a queue on a link whose capacity is that of the file, from end to end.

    The last rate of a CSV file lasts as long as the others do on average.
    """
    import numpy as np

    from pi2_fluid.network.capacity_trace import CapacityTrace
    from pi2_fluid.network.flows import Flows
    from pi2_fluid.network.link import Link
    from pi2_fluid.network.scenario import Scenario

    for name, value in options.items():
        option = "a scenario" if name == "scenario" else f"--{name.replace('_', '-')}"
        if name in {"flows", "path"} and value is None:
            raise QuantityError(
                f"{option} is missing beside --along: give --flows and --path, as --flows 10 --path"
                " 40ms."
            )
        if name not in {"flows", "path"} and value is not None:
            raise QuantityError(
                f"{option} is given beside --along, which takes flows, a queue and a path: leave"
                " one of them out."
            )
    trace: Any = CapacityTrace.load(file)
    times, rates = np.asarray(trace.times), np.asarray(trace.capacities)
    last = float(np.diff(times).mean()) if len(times) > 1 else 1.0
    end = float(times[-1]) + last if trace.period is None else float(trace.period)
    first = float(rates[rates > 0.0][0])
    flows: Any = options["flows"]
    path: Any = options["path"]
    return Scenario(end, Link(first), queue, Flows(who, flows, path), trace.changes(end))


def _summary(dataset: xarray.Dataset) -> dict[str, Any]:
    """Return the smallest, the median over time, and the part of the time below 3 dB."""
    import numpy as np

    gain, lasts = dataset["gain_margin_db"].to_numpy(), dataset["duration"].to_numpy()
    rests = ~np.isnan(gain)
    out: dict[str, Any] = dict.fromkeys(
        ("min_gain_margin_db", "median_gain_margin_db", "at", "capacity", "min_phase_margin_deg")
    )
    if rests.any():
        worst = int(np.nanargmin(gain))
        order = np.argsort(gain[rests])
        below = np.cumsum(lasts[rests][order])
        middle = order[int(np.searchsorted(below, below[-1] / 2.0))]
        out |= {
            "min_gain_margin_db": float(gain[worst]),
            "median_gain_margin_db": float(gain[rests][middle]),
            "min_phase_margin_deg": float(np.nanmin(dataset["phase_margin_deg"].to_numpy())),
            "at": float(dataset["time"].to_numpy()[worst]),
            "capacity": float(dataset["capacity"].to_numpy()[worst]),
        }
    return out | {
        "part_below": float(dataset["part_below"]),
        "least_db": float(dataset.attrs["least_db"]),
        "part_at_rest": float(dataset["part_at_rest"]),
    }


def _print(
    summaries: Mapping[str, dict[str, Any]], scenario: Scenario, file: str, why: str
) -> None:
    from pi2_fluid.units import rate_in_words

    console = make_console()
    flow = scenario.flows[0]
    path = f"{1e3 * float(flow.base_rtt or 0.0):.6g} ms"
    duration = float(scenario.duration)
    console.print(
        f"{float(flow.count):g} {type(flow.sender).__name__} through"
        f" {type(scenario.aqm).__name__} along {file}, {duration:.6g} s, path {path}\n"
    )
    least = next(iter(summaries.values()))["least_db"]
    grid = make_grid("left", "right", "right", "right", "left")
    grid.add_row("gain margin", "smallest", "median", f"below {least:g} dB", "smallest at")
    for name, one in summaries.items():
        if one["min_gain_margin_db"] is None:
            grid.add_row(_CLOCKS[name], "-", "-", "-", "no operating point at any time")
            continue
        grid.add_row(
            _CLOCKS[name],
            f"{one['min_gain_margin_db']:.2f} dB",
            f"{one['median_gain_margin_db']:.2f} dB",
            f"{100.0 * one['part_below']:.3g} %",
            f"{one['at']:.6g} s, {rate_in_words(one['capacity'], 3)}",
        )
    console.print(grid)
    part = next(iter(summaries.values()))["part_at_rest"]
    console.print(
        f"\nThere is an operating point {100.0 * part:.3g} % of the time. Each margin is as if its"
        " rate stayed: a loop that is slow beside the changes does not settle in between."
    )
    if why:
        console.print(f"There is no loop by acknowledgements: {why}")
