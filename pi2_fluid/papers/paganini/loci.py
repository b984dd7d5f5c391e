"""The curves that all loops of Paganini's network are made of, one for each source.

The eigenvalues of its loop are, at each frequency, among the convex combinations of 0 and of

    lambda(jw) = alpha e^{-j theta} / (j theta) * (j theta + eta) / (j theta + eta kappa/nu),

equation (16) with theta = tau w and eta = z tau: those of the sources at this frequency.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.spatial import ConvexHull

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, FloatArray

#: Of Figure 1; the paper names the ends of the last two.
ALPHA: Final = 1.0
Z: Final = 0.2  # rad/s
RTTS: Final = (0.001, 0.01, 0.1, 1.0)  # s
RATIOS: Final = (0.1, 1.0, 10.0, 1000.0)  # nu/kappa
# Where curves have left the origin's neighbourhood, and where they have wound about it three times.
_LOW, _HIGH = 1e-4, 6 * np.pi


def locus(theta: FloatArray, eta: float, ratio: float, alpha: float = ALPHA) -> ComplexArray:
    """Return lambda at theta = tau w, of a source with eta = z tau and nu/kappa = `ratio`."""
    lead = (1j * theta + eta) / (1j * theta + eta / ratio)
    result: ComplexArray = alpha * np.exp(-1j * theta) / (1j * theta) * lead
    return result


def perturbed(theta: FloatArray, eta: float, alpha: float = ALPHA) -> ComplexArray:
    """Return the curve that bounds lambda from w = 1/tau_max on, by (17) and (18); for eta = 0 all.

    The curve of nu = kappa, larger by sqrt(1 + eta^2) and turned by -atan(eta).
    """
    result: ComplexArray = (1.0 - 1j * eta) * locus(theta, 0.0, 1.0, alpha)
    return result


def crossing(points: ComplexArray) -> float:
    """Return where a curve first crosses the negative real axis from below."""
    up = np.flatnonzero((points.imag[:-1] < 0.0) & (points.imag[1:] >= 0.0))
    k = int(up[points.real[up] < 0.0][0])
    part = -points.imag[k] / (points.imag[k + 1] - points.imag[k])
    return float(points.real[k] + part * (points.real[k + 1] - points.real[k]))


def reach(points: ComplexArray, angles: int = 7200) -> float:
    """Return how far -1 is from the convex hull of points: below 0, so deep inside.

    The best of so many lines that have all points on one side.
    """
    corners = ConvexHull(np.column_stack([points.real, points.imag])).vertices
    normals = np.exp(2j * np.pi * np.arange(angles) / angles)
    away = points[corners, None] + 1.0
    return float(np.max(np.min(away.real * normals.real + away.imag * normals.imag, axis=0)))


@cache
def hulls(z: float = Z, alpha: float = ALPHA) -> tuple[float, float]:
    """Return how far -1 is from the hull of all points of Figure 1 and 0, and at one frequency.

    The second is the least of all frequencies; eigenvalues lie in such a hull.
    """
    theta = np.geomspace(_LOW, _HIGH, 2001)
    sources = [(rtt, ratio) for rtt in RTTS for ratio in RATIOS]
    every = [locus(theta, z * rtt, ratio, alpha) for rtt, ratio in sources]
    frequencies = np.geomspace(1e-3, 1e4, 701)
    each = np.array([locus(frequencies * t, z * t, ratio, alpha) for t, ratio in sources])
    return reach(np.concatenate([*every, [0j]])), min(
        reach(np.append(points, 0j), 720) for points in each.T
    )


def signed(value: float, digits: int) -> str:
    """Return a number with so many decimals and a sign as it is set in print."""
    return f"{value:.{digits}f}".replace("-", "\N{MINUS SIGN}")
