"""Equations (29) to (37) of the PI2 paper, corrected: the readable twin of the linearisation.

Nothing here is clever. The general path (`linearization`) is tested against these formulas, and the
fast path of the margins uses their constants. Corrections to the paper as printed:

* (30): the numerator is ((beta + alpha/2) s + alpha/T) / W0; printed without the outer bracket.
* after (34): s_R = sqrt(2) p0'/R0 = sqrt(2 p0)/R0; printed without the radical over p0.
* (25): both terms have the same sign; with the printed minus, (34) would not follow.
* `decrease` is what a loss removes from the window: 0.5 for Reno, 0.3 for CReno (printed 0.7).

kappa is the elasticity -d ln W / dx with respect to the controller's variable x, so the constants
below hold for every pair of sender and queue that has such a form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.gains import has_gains
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.equilibrium import OperatingPoint
from pi2_fluid.records.record import declares
from pi2_fluid.values import Complex, Real

Plant = Literal["reno", "scalable"]


@dataclass(frozen=True)
class ClosedForm:
    """The constants of a loop that has a closed form.

    Attributes
    ----------
    plant : {"reno", "scalable"}
        Which denominator: s/pole + (1 + e)/2, equations (32), (33), or s/pole + e, equation (34).
    kappa : float or array
        -d ln W / dx: 1/(2p) (Reno, x = p), 1/p' (Reno, x = p'), 1/p (Scalable, x = p).
    pole : float or array
        s_R or s_S (rad/s).
    alpha, beta : float or array
        Gains on x in Hz, PIE's table included.
    update_interval, rtt : float or array
        Seconds.
    """

    plant: Plant
    kappa: Real
    pole: Real
    alpha: Real
    beta: Real
    update_interval: Real
    rtt: Real

    @property
    def kappa_a(self) -> Real:
        """kappa_A = alpha R0 / T, below (31)."""
        return self.alpha * self.rtt / self.update_interval

    @property
    def zero(self) -> Real:
        """z_A = alpha / (T (beta + alpha/2)) in rad/s, below (31)."""
        return self.alpha / (self.update_interval * (self.beta + self.alpha / 2))


def closed_form(sender: Sender, aqm: Aqm, point: OperatingPoint) -> ClosedForm | None:
    """Return the constants of (35)-(37) for this pair at its operating point, None if it has none.

    Exists for {Reno, CReno} x {Pi, Pie, Pi2, CoupledPi2, DualPi2} and Scalable x {Pi, Pie,
    CoupledPi2}.
    """
    if not has_gains(aqm):
        return None
    p, rtt, u = point.p, point.rtt, point.controller
    plant: Plant
    factor: Any = 1.0
    interval: Any = aqm.update_interval
    encoder = declares(aqm, "encoder")
    if encoder == "linear":
        factor = aqm.heard_factor(p)
    shape, law = declares(sender, "plant"), cast(Any, sender)
    if shape == "reno" and encoder in ("linear", "square", "coupled"):
        plant = "reno"
        kappa = 1.0 / (2.0 * p) if encoder == "linear" else 1.0 / u  # kappa_R, or kappa_S = 1/p0'
        pole = (
            2.0 * np.sqrt(law.increase * law.decrease * p) / rtt
        )  # s_R = sqrt(2 p0)/R0 for decrease 0.5
    elif shape == "scalable" and encoder in ("linear", "coupled") and aqm.bands == 1:
        plant = "scalable"
        kappa = 1.0 / (p if encoder == "linear" else u)  # p = k u is linear in u: its elasticity
        pole = law.per_mark * p / rtt  # s_S = p0'/(2 R0) for half a segment per mark
    else:
        return None
    return ClosedForm(
        plant=plant,
        kappa=kappa,
        pole=pole,
        alpha=aqm.alpha * factor,
        beta=aqm.beta * factor,
        update_interval=interval,
        rtt=rtt,
    )


def pi_response(s: Complex, form: ClosedForm) -> Complex:
    """Return C_PI(s) times C: from queue delay to x, equation (29)."""
    return form.beta + form.alpha / 2 + form.alpha / (form.update_interval * s)


def aqm_response(s: Complex, form: ClosedForm) -> Complex:
    """Return A(s) times W0: PI and queue together, from window to x, equation (31)."""
    return form.kappa_a * (s / form.zero + 1) / ((s * form.rtt + 1) * s)


def window_response(s: Complex, form: ClosedForm, rtt_terms: str = "frozen") -> Complex:
    """Return P(s) / W0: from x to window, equations (32), (33), (34).

    With ``rtt_terms="exact"`` the denominator keeps what the papers drop when they freeze R(t),
    seen through the queue: (1 - e) / (2 (1 + s R0)) for Reno, twice that for Scalable.
    """
    e = np.exp(-s * form.rtt)
    extra = (1 - e) / (1 + s * form.rtt) if rtt_terms == "exact" else 0.0
    if form.plant == "reno":
        denominator = s / form.pole + (1 + e) / 2 + extra / 2
    else:
        denominator = s / form.pole + e + extra
    return -form.kappa * e / denominator


def loop_response(s: Complex, form: ClosedForm, rtt_terms: str = "frozen") -> Complex:
    """Return L(s) = -P(s) A(s), equations (35), (36), (37), for complex `s` in rad/s."""
    return -window_response(s, form, rtt_terms) * aqm_response(s, form)
