"""Loops of laws that signal by what arrives at once, against known ones and a closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.laws.aqm import Aqm, Seen, Signal
from pi2_fluid.ops import Number, maximum
from pi2_fluid.records.record import OptionalParameter, Parameter, quantity

PACKET = 12000.0  # bits


@dataclass(frozen=True, eq=False, kw_only=True)
class AtOnce(pf.Price):
    """A virtual queue whose capacity adapts, as of Kunniyur and Srikant (2001): load to signal."""

    adapts: Parameter = quantity(0.15, "number")
    room: Parameter = quantity(100.0, "number")
    update_interval: OptionalParameter = quantity(None, "time", optional=True)

    def initial(self) -> tuple[Number, ...]:
        return (0.8,)

    def update(self, state: tuple[Number, ...], seen: Seen, dt: Number) -> tuple[Number, ...]:
        return state

    def drift(self, state: tuple[Number, ...], seen: Seen) -> tuple[Number, ...]:
        return (self.adapts * (self.utilization - seen.arrival_rate / seen.capacity),)

    def flow(
        self, state: tuple[Number, ...], seen: Seen, d_queue_delay: Number
    ) -> tuple[Number, ...]:
        return self.drift(state, seen)

    def controller(self, state: tuple[Number, ...]) -> Number:
        return self.utilization / state[0]

    def encode(self, u: Number) -> Signal:
        u = maximum(u, 1e-3)
        p = (1.0 - u) * u**self.room / (1.0 - u ** (self.room + 1.0))
        return Signal(p, p)

    def signals(self, state: tuple[Number, ...], seen: Seen) -> Signal:
        return self.encode(seen.arrival_rate / (seen.capacity * state[0]))

    def decode(self, p: Number, signal: str) -> Number:
        return Aqm.decode(self, p, signal)

    def saturate(self, state: tuple[Number, ...]) -> tuple[Number, ...]:
        return state

    def at_rest(self, u: Number, capacity: Number) -> tuple[tuple[Number, ...], Number]:
        return (self.utilization / maximum(u, 1e-3),), 0.0 * u

    @property
    def highest(self) -> Number:
        return 20.0


#: Flows, packets per second, round-trip time, alpha; gain and phase margin, min |1 + L|, root.
OF_AT_ONCE = [
    (
        (20, 1250.0, 0.1, 0.15),
        (0.5290171129994165, -75.56399949546754, 0.62924),
        4.2924668413553695 + 18.700378214256425j,
    ),
    (
        (40, 1250.0, 0.1, 0.15),
        (1.203893447501697, 21.979369965959485, 0.1541802),
        -0.1247342977511368,
    ),
    (
        (100, 12500.0, 0.04, 0.5),
        (0.6635370388962014, -45.62657241354382, 0.421993),
        6.700288077515768 + 45.3638966754043j,
    ),
]


def at_once(count: int, packets: float, rtt: float, adapts: float, sender: Any = None) -> Any:
    node = pf.Node("a", pf.Link(packets * PACKET), AtOnce(adapts=adapts, utilization=0.98))
    return pf.Loop(pf.Network(node, pf.Flows(sender or pf.Reno(), count, rtt)))


@pytest.mark.parametrize(("given", "margins", "root"), OF_AT_ONCE)
def test_known_loops_at_once(
    given: tuple[int, float, float, float], margins: tuple[float, float, float], root: complex
) -> None:
    loop = at_once(*given)
    found = loop.margins()
    assert found.gain_margin == pytest.approx(margins[0], rel=1e-10)
    assert found.phase_margin_deg == pytest.approx(margins[1], rel=1e-10)
    assert found.modulus_margin == pytest.approx(margins[2], rel=1e-5)
    assert loop.roots() == pytest.approx(root, rel=1e-9)
    assert (loop.nyquist_count() == 0) == (root.real < 0.0) == (found.verdict == "stable")


def test_at_once_in_closed_form() -> None:
    """L = (E/W) e^{-sR} (1 + alpha rho/s)/(s R + (1 + e^{-sR})/W) of Reno."""
    R, adapts = 0.1, 0.4
    loop = at_once(20, 1250.0, R, adapts)
    point = loop.operating_point
    W, rho = float(point.window[0]), float(point.controller[0])
    law = AtOnce()
    slope = float(law.encode(rho + 1e-6).classic - law.encode(rho - 1e-6).classic) / 2e-6
    E = rho * slope / float(point.p[0])
    s = np.array([0.2j, 3j, 40j])
    e = np.exp(-s * R)
    expected = E / W * e * (1 + adapts * rho / s) / (s * R + (1 + e) / W)
    assert loop(s)[:, 0, 0] == pytest.approx(expected, rel=1e-7)


def test_what_has_no_loop_is_said() -> None:
    with refused(pf.UnsupportedError, "Paganini lets signals act on its rate at once, and AtOnce"):
        at_once(20, 1250.0, 0.1, 0.15, pf.Paganini(k=5.0))
    with refused(pf.UnsupportedError, "AtOnce acts here on every packet", "continuous"):
        pf.Loop(at_once(20, 1250.0, 0.1, 0.15).network, update="sampled")
