"""Results of packets: what the kernel counted, in SI units."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pi2_fluid.engines.packet.compiled import ECT1, ecn_field
from pi2_fluid.laws.registry import kind_of
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.network.transfers import Transfers
from pi2_fluid.results.dataset import Columns
from pi2_fluid.results.runs import runs_columns
from pi2_fluid.results.schema import RUNS, provenance


def packet_columns(
    scenario: Scenario, outcomes: Mapping[int, Mapping[str, Any]], length: int, interrupted: bool
) -> Columns:
    """Return what was counted of the finished seeds.

    Parameters
    ----------
    scenario : Scenario
        What was simulated.
    outcomes : mapping of int to mapping
        Of each seed what `_core.PacketRun.outcome` returned.
    length : int
        Of a bin (ns).
    interrupted : bool
        Whether more seeds were asked for.
    """
    bands = [int(ecn_field(flow) == ECT1) for flow in scenario.flows]
    return runs_columns(scenario, outcomes, length, bands, {"interrupted": int(interrupted)})


def described(counted: Columns, scenario: Scenario) -> Columns:
    """Return what was counted with the attributes that results have, the scenario among them."""
    stopped = bool(counted.attrs["interrupted"])
    attrs = provenance(scenario, "packet", RUNS, _not_modelled(scenario), interrupted=stopped)
    if heavy := _without_mean(scenario):
        attrs["sizes_without_mean"] = ", ".join(heavy)
    return replace(counted, attrs={**attrs, **counted.attrs})


def _without_mean(scenario: Scenario) -> list[str]:
    """Return the classes whose transfers have no mean size, so that few of them decide."""
    return [
        name
        for flow, name in zip(scenario.flows, scenario.class_names, strict=True)
        if isinstance(flow, Transfers) and flow.size is not None and flow.size.mean == math.inf
    ]


def _not_modelled(scenario: Scenario) -> list[str]:
    """Return what of the scenario packets cannot feel: drops thin every traffic here."""
    senders = [kind_of(flow.sender) for flow in scenario.flows]
    return ["flows.sender.thinned"] if "cbr" in senders else []
