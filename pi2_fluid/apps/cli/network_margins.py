"""Loops of scenarios and networks in a file: what `pi2-fluid margins FILE` says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pi2_fluid.apps.cli.margin_tables import margin_table, said_of
from pi2_fluid.apps.cli.output import make_console, make_grid, print_json

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pi2_fluid.loop import Margins
    from pi2_fluid.loop.matrix.network_loop import NetworkLoop
    from pi2_fluid.network.network import Network

__all__ = ["margins_of_network"]


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
        As `find_network`, and as `Loop`.
    """
    from pi2_fluid.loop.transfer import Loop
    from pi2_fluid.network.catalogue import find_network

    network = find_network(given)
    loop: Loop | NetworkLoop = Loop(network, **model)  # a NetworkLoop of several bottlenecks
    found = loop.margins()
    each: dict[str, Margins] = {}
    if isinstance(loop, Loop):
        links, names = _only(network)
    else:
        links, names = loop.links, network.class_names
        if len(links) > 1:
            each = _each(loop)
    point = loop.operating_point
    classes = [
        {"name": name, "rtt": rtt, "p": p, "window": window, "rate": rate}
        for name, rtt, p, window, rate in zip(
            names, *map(_numbers, (point.rtt, point.p, point.window, point.rate)), strict=True
        )
    ]
    if as_json:
        print_json(
            {
                "inputs": {"nodes": list(network.node_names), **model},
                "bottlenecks": list(links),
                "uniform": found.uniform,
                **said_of(found),
                "caution": found.caution,
                "each": {name: said_of(margins) for name, margins in each.items()},
                "classes": classes,
            }
        )
    else:
        _print(network, links, model, classes, found, each)
    return str(found.verdict)


def _only(network: Network) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the queue of a scalar loop, and the classes that cross it, by their names."""
    from pi2_fluid.network.bottlenecks import only_bottleneck

    only = only_bottleneck(network) or network
    links = only.node_names
    classes = zip(network.class_names, network.flows, strict=True)
    return links, tuple(name for name, flow in classes if links[0] in (flow.route or links))


def _each(loop: NetworkLoop) -> dict[str, Margins]:
    return {
        name: loop.close(*(other for other in loop.links if other != name)).margins()
        for name in loop.links
    }


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
    smallest = "singular value of I + L" if len(links) > 1 else "|1 + L|"
    console.print(margin_table(said_of(found), found.update, smallest))
    if found.caution:
        console.print(f"\ncaution: {found.caution}")
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
