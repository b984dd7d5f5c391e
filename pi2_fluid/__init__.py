"""TCP and active queue management: loops, margins, trajectories, packets.

    >>> import pi2_fluid as pf
    >>> loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1)
    >>> print(f"{loop.margins().gain_margin_db:.2f} dB")
    4.70 dB

Names are loaded on first use: importing the package alone costs next to nothing.
"""

from importlib import import_module
from typing import Any

_EXPORTS = {
    # modules
    "fluid": "pi2_fluid.fluid",
    "loop": "pi2_fluid.loop",
    "packet": "pi2_fluid.packet",
    "presets": "pi2_fluid.model.presets",
    "qdisc": "pi2_fluid.qdisc",
    "ops": "pi2_fluid.ops",
    # errors
    "AssumptionWarning": "pi2_fluid.errors",
    "DomainError": "pi2_fluid.errors",
    "QuantityError": "pi2_fluid.errors",
    "ScenarioError": "pi2_fluid.errors",
    "SolverError": "pi2_fluid.errors",
    "UnsupportedError": "pi2_fluid.errors",
    "WriteError": "pi2_fluid.errors",
    # senders
    "Sender": "pi2_fluid.model.sender",
    "Reno": "pi2_fluid.model.senders.reno",
    "CReno": "pi2_fluid.model.senders.creno",
    "Scalable": "pi2_fluid.model.senders.scalable",
    "Dctcp": "pi2_fluid.model.senders.dctcp",
    "Cubic": "pi2_fluid.model.senders.cubic",
    "Cbr": "pi2_fluid.model.senders.cbr",
    "TimeoutReno": "pi2_fluid.model.senders.timeoutreno",
    # queues
    "Aqm": "pi2_fluid.model.aqm",
    "Seen": "pi2_fluid.model.aqm",
    "Signal": "pi2_fluid.model.aqm",
    "PiFamily": "pi2_fluid.model.aqms.pi_family",
    "Pi": "pi2_fluid.model.aqms.pi",
    "Pie": "pi2_fluid.model.aqms.pie",
    "Pi2": "pi2_fluid.model.aqms.pi2",
    "CoupledPi2": "pi2_fluid.model.aqms.coupled",
    "DualPi2": "pi2_fluid.model.aqms.dualpi2",
    "Red": "pi2_fluid.model.aqms.red",
    "CoDel": "pi2_fluid.model.aqms.codel",
    "TailDrop": "pi2_fluid.model.aqms.taildrop",
    # scenarios
    "Flows": "pi2_fluid.model.flows",
    "Link": "pi2_fluid.model.scenario",
    "Change": "pi2_fluid.model.scenario",
    "Scenario": "pi2_fluid.model.scenario",
    "scenario_names": "pi2_fluid.model.catalogue",
    "named_scenario": "pi2_fluid.model.catalogue",
    "summarize": "pi2_fluid.result",
    # engines
    "Engine": "pi2_fluid.result.engine",
    "Fluid": "pi2_fluid.fluid.engine",
    "Packets": "pi2_fluid.packet.engine",
    "simulate": "pi2_fluid.engines.simulating",
    # operating point
    "OperatingPoint": "pi2_fluid.model.operating_point",
    "equilibrium": "pi2_fluid.model.operating_point",
    "equilibrium_of": "pi2_fluid.model.operating_point",
    # loop
    "Loop": "pi2_fluid.loop.transfer",
    "Margins": "pi2_fluid.loop.margins",
    # decisions
    "compare": "pi2_fluid.design.comparison.agreement",
    "coexistence": "pi2_fluid.design.sharing.coexistence",
    "largest_l4s_share": "pi2_fluid.design.sharing.largest_share",
    "explore": "pi2_fluid.design.explorer.explorer",
    "check": "pi2_fluid.design.deployment.checking",
    "margin_lost_db": "pi2_fluid.design.deployment.quantisation",
    "margin_map": "pi2_fluid.design.maps",
    "Design": "pi2_fluid.design.design",
    "tune": "pi2_fluid.design.tuning",
    # the papers
    "figures": "pi2_fluid.paper.figures",
    "claims": "pi2_fluid.paper.claims",
    "validate": "pi2_fluid.paper.validation",
}
_MODULES = frozenset({"fluid", "loop", "packet", "presets", "qdisc", "ops"})

__all__ = [*_EXPORTS, "__version__"]  # noqa: PLE0604  names are strings


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("pi2-fluid")
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_EXPORTS[name])
    value = module if name in _MODULES else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
