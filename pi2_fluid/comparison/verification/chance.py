"""How much of the queue delay's spread is chance: shot noise of the signals, through the loop.

A signal reaches a packet or it does not. Signals that come at the rate p C and independently of
each other are as good as a controller whose variable u carries white noise of the spectral density

    S = p / (C (dp/du)^2)          (two-sided; 1 / (4 C) of p = u^2),

whatever the window law does with one signal: its reaction cancels, since what answers to noise
answers to the controller in the same way. Through a loop L = K P, K being the controller and P the
rest, the variance of the queue delay is

    (1/pi) integral over w > 0 of |P / (1 + L)|^2 S.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.loop.transfer import Loop
from pi2_fluid.network.equilibrium import equilibrium
from pi2_fluid.network.flows import Flows

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, FloatArray

# 1/R: from far below every mode of a loop to where |P|^2 has fallen to 1e-8 of its height.
_FREQUENCIES: Final = (1e-5, 100.0)
_POINTS: Final = 20_000  # resolves a resonance as narrow as a thousandth
_SMALL: Final = 1e-4  # relative: the difference is exact for p = u and p = u^2


def delay_spread(
    flows: Flows, aqm: PiFamily, capacity: float, controller: float | None = None
) -> float:
    """Return the standard deviation of the queue delay (s) that single signals cause.

    Parameters
    ----------
    flows : Flows
        One class of equal flows.
    aqm : PiFamily
    capacity : float
        Of the link (bit/s).
    controller : float, optional
        Value u at which the controller is, if it is not the one that the window law asks for.
        Packets need 0.7 to 1.1 times that, and the loop gain goes with 1/u.

    Returns
    -------
    float
        inf if the loop is not stable, or the controller at 0.

    Notes
    -----
    Linear: where the spread of the controller reaches its bounds, packets spread less. Packets of
    Reno and Scalable, at their own u, spread 0.7 to 1.3 times as much.

    Examples
    --------
    >>> from pi2_fluid.laws.aqms.pi2 import Pi2
    >>> from pi2_fluid.laws.senders.reno import Reno
    >>> print(f"{1e3 * delay_spread(Flows(Reno(), 60, '80ms'), Pi2(), 120e6):.2f} ms")
    4.39 ms
    """
    at_law = float(equilibrium(flows, aqm, capacity).controller)
    u = at_law if controller is None else controller
    if u <= 0.0:
        return math.inf
    more = at_law / u * float(aqm.gain_factor(u)) / float(aqm.gain_factor(at_law))
    scaled = replace(aqm, alpha=more * float(aqm.alpha), beta=more * float(aqm.beta))
    loop = Loop(flows, scaled, capacity=capacity, update="delayed", rtt_terms="exact")
    if loop.nyquist_count() != 0:
        return math.inf
    scale = 1.0 / float(loop.operating_point.rtt[0])
    w = np.geomspace(_FREQUENCIES[0] * scale, _FREQUENCIES[1] * scale, _POINTS)
    through = loop(1j * w)
    plant = through / _gain(aqm, u, w)
    p, slope = _signal(flows, aqm, u)
    noise = p / (float(loop.operating_point.capacity) * slope**2)
    return math.sqrt(float(np.trapezoid(np.abs(plant / (1.0 + through)) ** 2, w)) * noise / math.pi)


def _gain(aqm: PiFamily, u: float, w: FloatArray) -> ComplexArray:
    """K of equation (29), without the delay of half a sample, which leaves |K| as it is."""
    alpha, beta, interval = (float(x) for x in (aqm.alpha, aqm.beta, aqm.update_interval or 0.0))
    return float(aqm.gain_factor(u)) * (beta + alpha / 2.0 + alpha / (1j * w * interval))


def _signal(flows: Flows, aqm: PiFamily, u: float) -> tuple[float, float]:
    """What these flows see: p and dp/du."""
    name = str(flows.sender.signal)
    low, p, high = (float(getattr(aqm.encode(u * (1.0 + h)), name)) for h in (-_SMALL, 0.0, _SMALL))
    return p, (high - low) / (2.0 * _SMALL * u)
