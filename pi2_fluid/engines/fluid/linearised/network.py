"""The network of a linear trajectory: where it begins, and its stages."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pi2_fluid.engines.fluid.beginning import Beginning
from pi2_fluid.engines.fluid.linearised.places import LaidOut
from pi2_fluid.engines.fluid.linearised.resting import rest_of
from pi2_fluid.engines.fluid.linearised.stages import Stage, expand
from pi2_fluid.engines.fluid.oracle.state import EMPTY, Mode
from pi2_fluid.network.scenario import Scenario

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray


class LinearNetwork(LaidOut):
    """A scenario whose laws are their tangents.

    Parameters
    ----------
    scenario : Scenario
        Of one link or several.
    update : {"sampled", "continuous"}
        How controllers move.
    beginning : Beginning, optional
        The state before time 0.
    """

    def __init__(self, scenario: Scenario, update: str, beginning: Beginning | None = None) -> None:
        super().__init__(scenario, update)
        self.beginning = beginning
        self._stages: dict[tuple[object, ...], Stage] = {}

    def initial(self) -> tuple[FloatArray, Mode]:
        """Return the state before time 0, and who sends then."""
        z = np.zeros(self.places.states)
        for aqm, where in zip(self.aqms, self.places.laws, strict=True):
            z[where] = [float(value) for value in aqm.initial()]
        for flow, sender, where in zip(self.flows, self.senders, self.places.windows, strict=True):
            x = sender.initial(float(flow.initial_window))
            z[where] = [float(v) for v in (x if isinstance(x, tuple) else (x,))]
        none = (False,) * len(self.flows)
        bits = 8.0 * float(self.network.packet_size)
        mode = Mode(
            capacity=tuple(float(node.link.capacity) / bits for node in self.nodes),
            counts=tuple(float(flow.count) for flow in self.flows),
            started=none,
            active=none,
            ramping=none,
            slow=none,
            floored=none,
            bound=(EMPTY,) * self.queues,
            held=(),
            signalling=False,
        )
        if (given := self.beginning) is None:
            return z, mode
        z[: self.queues] = given.queues
        z[self.places.laws[0].start : self.places.laws[-1].stop] = given.controller
        for x, where in zip(given.senders, self.places.windows, strict=True):
            z[where] = x
        active = tuple(flow.start == 0.0 for flow in self.flows)
        return z, mode._replace(started=active, active=active, signalling=True)

    def stage(self, mode: Mode) -> Stage:
        """Return the expansion for who sends now."""
        key = mode.capacity, mode.counts, mode.active, mode.ramping
        if key not in self._stages:
            acting = [i for i, active in enumerate(mode.active) if active and mode.counts[i] > 0.0]
            if any(self.listens[i] for i in acting):
                self._stages[key] = self._expand(mode, acting)
            else:
                self._stages[key] = Stage(self, mode)
        return self._stages[key]

    def _expand(self, mode: Mode, acting: list[int]) -> Stage:
        bits = 8.0 * float(self.network.packet_size)
        nodes = tuple(
            replace(node, link=replace(node.link, capacity=bits * C))
            for node, C in zip(self.nodes, mode.capacity, strict=True)
        )
        flows = tuple(replace(self.network.flows[i], count=mode.counts[i]) for i in acting)
        return expand(self, mode, acting, rest_of(replace(self.network, nodes=nodes, flows=flows)))
