"""Loops of scenarios and networks in a file: what `pi2-fluid margins FILE` says of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from pi2_fluid.apps.cli.chance import Chance, plus_minus
from pi2_fluid.apps.cli.margin_tables import BothClocks, find_margins, print_margins, said_of
from pi2_fluid.apps.cli.output import make_console, make_grid, print_json
from pi2_fluid.apps.cli.requiring import to_dict

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pi2_fluid.loop import Margins
    from pi2_fluid.loop.matrix.network_loop import NetworkLoop
    from pi2_fluid.network.network import Network


def margins_of_network(
    source: str, model: dict[str, Any], rtt_terms: str, required: float | None, *, as_json: bool
) -> BothClocks:
    """Print the margins of the scenario or network in a file, or of that name, and return them.

    Parameters
    ----------
    source : str
        A file, "-" for standard input, or the name of a scenario.
    model : dict
        The arguments of `find_margins` that say how it is seen.
    rtt_terms : str
        As of `Loop`.
    required : float or None
        The gain margin (dB) that there is to be.
    as_json : bool
        Whether to print JSON.

    Raises
    ------
    OSError, QuantityError, DomainError, ScenarioError, SolverError, UnsupportedError
        As `find_network`, and as `Loop`.
    """
    from pi2_fluid.loop.matrix.network_loop import NetworkLoop
    from pi2_fluid.loop.transfer import Loop
    from pi2_fluid.network.catalogue import find_network

    network = find_network(source)
    # A NetworkLoop of several bottlenecks.
    clocks = find_margins(partial(Loop, network, rtt_terms=rtt_terms), **model)
    loop = clocks.first
    by_bottleneck: dict[str, Margins] = {}
    if isinstance(loop, NetworkLoop):
        links, names = loop.links, network.class_names
        if len(links) > 1:
            by_bottleneck = _each(loop)
    else:
        links, names = _only(network)
    point = loop.operating_point
    classes = [
        {"name": name, "rtt": rtt, "p": p, "window": window, "rate": rate}
        for name, rtt, p, window, rate in zip(
            names, *map(_numbers, (point.rtt, point.p, point.window, point.rate)), strict=True
        )
    ]
    first = next(iter(clocks.margins.values()))
    if as_json:
        inputs = {"update": loop.update, "rtt_terms": rtt_terms, "clocks": list(clocks.loops)}
        print_json(
            {
                "inputs": {"nodes": list(network.node_names), **inputs, "bunch": model["bunch"]},
                "bottlenecks": list(links),
                "uniform": first.uniform,
                **clocks.to_dict(),
                "required": to_dict(clocks.least.gain_margin_db, required),
                "caution": first.caution,
                "each": {name: said_of(margins) for name, margins in by_bottleneck.items()},
                "classes": classes,
            }
        )
    else:
        _print(network, links, classes, clocks, required)
        _print_each(by_bottleneck, next(iter(clocks.chance.values())))
    return clocks


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
    classes: list[dict[str, Any]],
    clocks: BothClocks,
    required: float | None,
) -> None:
    laws = {node.name: type(node.aqm).__name__ for node in network.nodes}
    idle = [name for name in network.node_names if name not in links]
    of = {}
    if len(network.nodes) == 1:
        of["queue"] = laws[links[0]]
    else:
        shown = ", ".join(f"{name} ({laws[name]})" for name in links)
        of[f"bottleneck{'s' * (len(links) > 1)}"] = shown
    if idle:
        of["no signals at"] = ", ".join(idle)
    for one in classes:
        of[one["name"]] = (
            f"round-trip time {1e3 * one['rtt']:.4g} ms, p {1e2 * one['p']:.4g} %, windows of"
            f" {one['window']:.4g} segments"
        )
    smallest = "singular value of I + L" if len(links) > 1 else "|1 + L|"
    print_margins(make_console(), clocks, of, required, smallest)


def _print_each(each: dict[str, Margins], chance: Chance | None) -> None:
    """Print the margins of each bottleneck while the others stay, and what chance adds there."""
    if not each:
        return
    console = make_console()
    console.print("\nThese margins change all queues together. One queue alone may change by:")
    alone = make_grid("left", "right", "right", "right")
    for name, margins in each.items():
        gain, phase = f"{margins.gain_margin_db:.4g} dB", f"{margins.phase_margin_deg:.4g} deg"
        by_chance = "" if chance is None else plus_minus(chance.delay_sd.get(name, 0.0))
        alone.add_row(name, gain, phase, by_chance)
    console.print(alone)
    if chance is not None:
        console.print("± is what chance adds: the standard deviation of the delay.")
