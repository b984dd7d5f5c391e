"""Loops of scenarios and networks in a file: what `pi2-fluid margins FILE` says of them."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi2_fluid.apps.cli.output import make_console, make_grid, print_json

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pi2_fluid.loop import Loop, Margins
    from pi2_fluid.loop.matrix.network_loop import NetworkLoop
    from pi2_fluid.network.network import Network

__all__ = ["margins_of_network"]

_SAID = (
    "gain_margin_db",
    "phase_margin_deg",
    "gain_crossover",
    "phase_crossover",
    "delay_margin",
    "modulus_margin",
    "verdict",
)


def margins_of_network(given: str, model: dict[str, Any], *, as_json: bool) -> str:
    """Print the margins of the scenario or network in a file, or of that name; return the verdict.

    Parameters
    ----------
    given : str
        A file, "-" for standard input, or the name of a scenario.
    model : dict
        The arguments of `Loop` that say how it is seen.
    as_json : bool
        Whether to print JSON.

    Raises
    ------
    OSError, QuantityError, DomainError, ScenarioError, SolverError, UnsupportedError
        As reading it, and as `Loop`.
    """
    from pi2_fluid.loop.transfer import Loop

    network = _read(given)
    loop = _loop(network, model)
    found = loop.margins()
    links = _signalling(network, loop) if isinstance(loop, Loop) else loop.links
    each: dict[str, Margins] = {}
    if not isinstance(loop, Loop) and len(links) > 1:
        each = _each(loop)
    point = loop.operating_point
    classes = [
        {"name": name, "rtt": rtt, "p": p, "window": window, "rate": rate}
        for name, rtt, p, window, rate in zip(
            network.class_names, *map(_numbers, (point.rtt, point.p, point.window, point.rate)),
            strict=True,
        )
    ]  # fmt: skip
    if as_json:
        print_json(
            {
                "inputs": {"nodes": list(network.node_names), **model},
                "bottlenecks": list(links),
                "uniform": found.uniform,
                **_said(found),
                "each": {name: _said(margins) for name, margins in each.items()},
                "classes": classes,
            }
        )
    else:
        _print(network, links, model, classes, found, each)
    return str(found.verdict)


def _read(given: str) -> Network:
    from pi2_fluid.network.catalogue import find_scenario
    from pi2_fluid.network.network import Network
    from pi2_fluid.network.scenario import Scenario
    from pi2_fluid.network.text import located

    if given != "-" and not Path(given).exists():
        return find_scenario(given).network
    text = sys.stdin.read() if given == "-" else Path(given).read_text(encoding="utf-8")
    with located(f"{'standard input' if given == '-' else given}:"):
        try:
            whole = "duration" in tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            whole = True  # which says what is wrong with it
        return Scenario.from_toml(text).network if whole else Network.from_toml(text)


def _loop(network: Network, model: dict[str, Any]) -> Loop | NetworkLoop:
    from pi2_fluid.loop.transfer import Loop

    return Loop(network, **model)


def _signalling(network: Network, loop: Loop) -> tuple[str, ...]:
    """The only bottleneck of a scalar loop."""
    if len(network.nodes) == 1:
        return network.node_names
    return tuple(
        node.name for node in network.nodes if node.aqm is loop.aqm or node.aqm == loop.aqm
    )[:1]


def _each(loop: NetworkLoop) -> dict[str, Margins]:
    return {
        name: loop.close(*(other for other in loop.links if other != name)).margins()
        for name in loop.links
    }


def _said(found: Margins) -> dict[str, Any]:
    return {name: getattr(found, name) for name in _SAID}


def _numbers(values: ArrayLike) -> list[float]:
    import numpy as np

    found: list[float] = np.asarray(values, dtype=float).tolist()
    return found


def _print(
    network: Network,
    links: tuple[str, ...],
    model: dict[str, Any],
    classes: list[dict[str, Any]],
    found: Margins,
    each: dict[str, Margins],
) -> None:
    console = make_console()
    laws = {node.name: type(node.aqm).__name__ for node in network.nodes}
    shown = ", ".join(f"{name} ({laws[name]})" for name in links)
    idle = [name for name in network.node_names if name not in links]
    beside = f"; without signals: {', '.join(idle)}" if idle else ""
    if len(network.nodes) == 1:
        console.print(f"queue {laws[links[0]]}")
    else:
        console.print(f"bottleneck{'s' * (len(links) > 1)} {shown}{beside}")
    clock = "" if model["clock"] == "rate" else f", clock of acks, bunch {model['bunch']:g}"
    console.print(f"{model['update']}, rtt terms {model['rtt_terms']}{clock}\n")
    grid = make_grid("left", "right", "right", "right")
    grid.add_row("class", "rtt [ms]", "p [%]", "window")
    for one in classes:
        grid.add_row(
            one["name"], f"{1e3 * one['rtt']:.4g}", f"{1e2 * one['p']:.4g}", f"{one['window']:.4g}"
        )
    console.print(grid)
    console.print()
    table = make_grid("left", "right", "left")
    at_phase, at_gain = (
        f"at {getattr(found, name):.4g} rad/s" for name in ("phase_crossover", "gain_crossover")
    )
    smallest = "smallest singular value of I + L" if len(links) > 1 else "smallest |1 + L|"
    for name, value, unit in (
        ("gain margin", found.gain_margin_db, f"dB   {at_phase}"),
        ("phase margin", found.phase_margin_deg, f"deg  {at_gain}"),
        ("delay margin", 1e3 * found.delay_margin, "ms"),
        ("modulus margin", found.modulus_margin, f"     {smallest}"),
    ):
        table.add_row(name, f"{value:.4g}", unit)
    table.add_row("verdict", str(found.verdict), f"in the {found.update} model")
    console.print(table)
    if each:
        console.print("\nuniform: of all links scaled, turned or delayed together. Alone:")
        alone = make_grid("left", "right", "right")
        for name, margins in each.items():
            alone.add_row(
                name,
                f"{margins.gain_margin_db:.4g} dB",
                f"{margins.phase_margin_deg:.4g} deg",
            )
        console.print(alone)
