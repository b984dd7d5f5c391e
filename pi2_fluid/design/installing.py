"""From a design to tc: the line that asks for it, and what the kernel makes of that line."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final, NamedTuple

from pi2_fluid.errors import DomainError
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.kernel.units import DUALPI2_GAIN, PIE_GAIN
from pi2_fluid.tc.asking import earlier, microseconds, request
from pi2_fluid.tc.installing import install, to_tc
from pi2_fluid.tc.options import KINDS
from pi2_fluid.tc.parsing import require_hz
from pi2_fluid.tc.qdisc import Qdisc
from pi2_fluid.units import validate_choice

_STEPS: Final = PIE_GAIN.per_si  # of PIE's gains in 1 Hz
_MTU: Final = 1500
_OFF: Final = 0.25  # of a gain: rounding off more makes it another design
# The largest alpha/T falls with T like 1/(1 + 0.6 T/R): within 1 % of the optima at T from R/20 to
# R, which keep 0.97, 0.92, 0.84, 0.77 and 0.62 at T/R = 0.05, 0.15, 0.32, 0.5 and 1.
_FALL: Final = 0.6
# On the update interval advised: near T = R, 1 % of alpha is 2 % of T, and beta is in steps, too.
_ROOM: Final = 1.06


class Wanted(NamedTuple):
    """A queue to be installed: its law, the largest RTT with the queue (s), and its objective."""

    law: PiFamily
    max_rtt: float
    objective: str


def line_for(wanted: Wanted, kind: str, *, dev: str = "DEV", hz: int | None = None) -> str:
    """Return the line that asks tc for a queue, see `Design.to_tc`."""
    return to_tc(_in_steps(wanted, kind), kind, dev=dev, hz=hz)


def installed(wanted: Wanted, kind: str, *, hz: int = 1000) -> Qdisc:
    """Return what the kernel makes of `line_for` with this `hz`, see `Design.to_qdisc`."""
    require_hz(hz)
    law = _in_steps(wanted, kind)
    if kind != "dualpi2":
        asked = microseconds(law.update_interval, "update_interval")
        law = replace(law, update_interval=earlier({"tupdate": asked}, hz) / 1e6)
    return install(law, kind, hz=hz)


def _in_steps(wanted: Wanted, kind: str) -> PiFamily:
    """Return the law with PIE's gains in whole steps of tc, alpha rounded down.

    `install` would round alpha to the nearest step, which may be up. DualPI2's gains need nothing:
    tc and kernel cut them off, so that they only ever come out smaller.

    Raises
    ------
    QuantityError
        If there is no such kind.
    DomainError
        If a gain is no number of steps that tc takes, or is far from one.
    UnsupportedError
        If tc has no queue with this law.
    """
    validate_choice(kind, KINDS, "kind")
    law = wanted.law
    if kind == "dualpi2":
        if float(law.alpha) < 1.0 / DUALPI2_GAIN.per_si:
            raise DomainError(
                f"alpha = {float(law.alpha):.3g} Hz is less than 1/256 Hz, the smallest that tc"
                " takes for dualpi2: tune for a shorter max_rtt, or for smaller margins."
            )
        return law
    request(replace(law, alpha=1.0, beta=1.0), kind, _MTU)  # that tc has such a queue at all
    alpha = math.floor(float(law.alpha) * _STEPS * (1.0 + 1e-12))
    exact = float(law.beta) * _STEPS
    # At the optimum of "recovery" the margins hardly depend on beta; elsewhere less is safe.
    recovery = wanted.objective == "recovery"
    beta = round(exact) if recovery else math.floor(exact * (1.0 + 1e-12))
    for name, steps in (("alpha", alpha), ("beta", beta)):
        _require_near(wanted, name, float(getattr(law, name)) * _STEPS, steps)
    return replace(law, alpha=alpha / _STEPS, beta=beta / _STEPS)


def _require_near(wanted: Wanted, name: str, exact: float, steps: int) -> None:
    if 1 <= steps <= PIE_GAIN.high and abs(steps / exact - 1.0) <= _OFF:
        return
    remedy = 'aqm="dualpi2", whose steps are finer'
    if name == "alpha" and (longer := _longer(wanted, exact)) is not None:
        remedy = f'update_interval="{math.ceil(1e3 * longer)}ms", or {remedy}'
    elif exact > PIE_GAIN.high:
        remedy = f"a longer max_rtt, or {remedy}"
    raise DomainError(
        f"{name} = {exact / _STEPS:.4g} Hz is {exact:.3g} sixteenths of 1 Hz, of which PIE takes"
        f" a whole number from 1 to {PIE_GAIN.high}, here at most a quarter off: tune with"
        f" {remedy}."
    )


def _longer(wanted: Wanted, exact: float) -> float | None:
    """Return the update interval (s) at which alpha is the next step up; None if beyond the RTT."""
    theta = float(wanted.law.update_interval) / wanted.max_rtt
    more = theta / (1.0 + _FALL * theta) * math.ceil(exact) / exact
    if _FALL * more >= 1.0:
        return None
    longer = _ROOM * more / (1.0 - _FALL * more) * wanted.max_rtt
    return longer if longer <= wanted.max_rtt else None
