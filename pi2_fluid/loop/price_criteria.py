"""When a network of links with a price is stable whatever its routes and round-trip times.

Of sources whose rate answers the sum of prices on their route, and links that integrate what
arrives over their capacity, after Paganini, Wang, Low and Doyle (2002): with the gain alpha of all
sources at most, the longest round-trip time tau_max, and z = beta M/alpha, the rate at which
sources move to their utility, only alpha and eta = z tau_max matter. The static law has eta = 0.
docs/proofs.md proves it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pi2_fluid.network.routes import on_their_ways
from pi2_fluid.records.labels import align_labels, relabel
from pi2_fluid.units import validate_quantity

if TYPE_CHECKING:
    from pi2_fluid.network.bottlenecks import NetworkPoint
    from pi2_fluid.network.network import Network
    from pi2_fluid.values import FloatArray, Quantity, Values

_HALVINGS: Final = 60


def alpha_max(eta: Quantity) -> Values:
    """Return the gain below which every network of sources with this eta is stable.

    theta sin(theta), where theta/tan(theta) = eta: pi/2 of the static law (Theorem 2 of the paper),
    0 from eta = 1 on. No larger gain will do: equal sources on one link that have a utility only
    (nu/kappa without bound) oscillate at it, with the frequency theta/tau.

    Where all sources have alpha at most, the uniform gain margin is at least alpha_max(eta)/alpha.
    The phase margin of the static law is at least pi/2 - alpha.

    Parameters
    ----------
    eta : float or array
        z tau_max, the longest round-trip time times the rate at which sources move to their
        utility; >= 0.

    Raises
    ------
    QuantityError, DomainError
        If it is no number, or negative.

    Notes
    -----
    M, by which a source divides its gain, is the number of bottlenecks on its route, or more; the
    routing matrix of the bottlenecks has full row rank.

    Examples
    --------
    >>> print(f"{alpha_max(0):.5f} {alpha_max(0.3):.5f}")
    1.57080 1.32043

    The paper's own simulation has alpha = 0.37, beta = 1.5 and 200 ms, which its Proposition 3 does
    not cover:

    >>> eta = 1.5 / 0.37 * 0.2
    >>> print(f"{eta:.3f} {alpha_max(eta):.5f} {alpha_max_published(eta):.1f}")
    0.811 0.49811 0.0
    """

    def largest(eta: FloatArray) -> FloatArray:
        def excess(theta: FloatArray) -> FloatArray:
            return eta * np.sin(theta) - theta * np.cos(theta)

        theta = _rising_root(excess, eta.shape)
        return np.where(eta < 1.0, theta * np.sin(theta), 0.0)

    return _of_number(largest, "eta", eta)


def eta_max(alpha: Quantity) -> Values:
    """Return the eta below which every network of sources with this gain is stable.

    The inverse of `alpha_max`; 0 from alpha = pi/2 on, where even the static law may oscillate.

    Parameters
    ----------
    alpha : float or array
        The largest gain of a source, > 0.

    Raises
    ------
    QuantityError, DomainError
        If it is no number, or negative.

    Examples
    --------
    >>> print(f"{eta_max(0.37):.4f} {eta_max(2.0):.1f}")
    0.8645 0.0
    """

    def largest(alpha: FloatArray) -> FloatArray:
        def excess(theta: FloatArray) -> FloatArray:
            return theta * np.sin(theta) - alpha

        theta = _rising_root(excess, alpha.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            eta = theta / np.tan(theta)
        return np.where(alpha < math.pi / 2, np.where(theta > 0.0, eta, 1.0), 0.0)

    return _of_number(largest, "alpha", alpha)


def alpha_max_published(eta: Quantity) -> Values:
    """Return the gain below which the paper's Proposition 3 says so, at most `alpha_max`.

    (pi/2 - atan eta)/sqrt(1 + eta^2) for eta < 1/tan(1) = 0.642, above which it says nothing: 0.

    Parameters
    ----------
    eta : float or array
        As for `alpha_max`.

    Raises
    ------
    QuantityError, DomainError
        If it is no number, or negative.

    Examples
    --------
    >>> print(f"{alpha_max_published(0.3):.4f}")
    1.2254
    """

    def largest(eta: FloatArray) -> FloatArray:
        found = (math.pi / 2 - np.arctan(eta)) / np.sqrt(1.0 + eta**2)
        return np.where(eta < 1.0 / math.tan(1.0), found, 0.0)

    return _of_number(largest, "eta", eta)


def _of_number(function: Callable[[FloatArray], FloatArray], name: str, value: Quantity) -> Values:
    """Ask a function of an array; numbers come back as numbers, labelled arrays labelled."""
    given, _, labels = align_labels({name: value}, ())
    number = np.asarray(validate_quantity(given[name], "number", name, closed=True), dtype=float)
    found = function(number)
    return relabel(labels, found) if found.ndim else float(found)


def _rising_root(
    function: Callable[[FloatArray], FloatArray], shape: tuple[int, ...]
) -> FloatArray:
    """Where a function of an angle, negative at first, turns positive; pi/2 if it never does."""
    low: FloatArray = np.zeros(shape)
    step = math.pi / 2
    for _ in range(_HALVINGS):
        step /= 2
        low = np.where(function(low + step) > 0.0, low, low + step)
    return low + step


class PriceCriteria(NamedTuple):
    """What the largest gain and the longest round-trip time say about a network of prices.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> network = pf.named_scenario("paganini_fig05").network
    >>> criteria = pf.Loop(network).criteria()
    >>> criteria.stable, f"{criteria.alpha:.2f} < {criteria.alpha_max:.2f}"
    (True, '0.37 < 0.50')
    """

    alpha: float
    """The largest gain of a source."""
    eta: float
    """The largest z = beta M/alpha of a source, times the longest round-trip time; 0 if static."""
    alpha_max: float
    """`alpha_max(eta)`: stable below it."""
    alpha_published: float
    """`alpha_max_published(eta)`: stable below it by the paper, by Theorem 2 or Proposition 3."""
    missing: tuple[str, ...]
    """What the proofs ask for and this network has not; they then say nothing."""

    @property
    def stable(self) -> bool:
        """Whether the network is stable by `alpha_max`; False says nothing of it."""
        return not self.missing and self.alpha < self.alpha_max

    @property
    def stable_by_the_paper(self) -> bool:
        """Whether it is by Theorem 2, or Proposition 3."""
        return not self.missing and self.alpha < self.alpha_published

    @property
    def least_gain_margin(self) -> float:
        """What all links may at least be multiplied by, 0 if nothing is known."""
        return self.alpha_max / self.alpha if self.stable else 0.0


def price_criteria(
    network: Network, point: NetworkPoint, update: str = "continuous"
) -> PriceCriteria:
    """Return what the criteria say of a network at rest; asked as `NetworkLoop.criteria`.

    Parameters
    ----------
    network : Network
        Of any senders and links; the criteria are of `Paganini` and `Price` alone.
    point : NetworkPoint
        Where it rests.
    update : {"continuous", "delayed", "sampled"}
        How its loop sees the update interval, of which the proofs know nothing.
    """
    queues = {node.name: node.aqm for node in network.nodes}
    full = point.bottleneck.to_numpy()
    names = [node.name for node, is_full in zip(network.nodes, full, strict=True) if is_full]
    size = network.packet_size
    senders = [flow.sender for flow in on_their_ways(network.flows, queues, size)]
    routes = [flow.route or network.node_names for flow in network.flows]
    phis = {name: queues[name].price_base for name in names if queues[name].acts_on == "arrivals"}
    prices = [name for name, phi in phis.items() if phi is not None]
    moving = [
        (sender, sum(name in prices for name in route))
        for sender, route in zip(senders, routes, strict=True)
        if sender.signal is not None and any(name in names for name in route)
    ]
    answers = [(sender.price_response, crossed) for sender, crossed in moving]
    sources = [(answer, crossed) for answer, crossed in answers if answer is not None]
    bases = {float(phi) for phi in phis.values() if phi is not None}
    bases |= {float(answer.phi) for answer, _ in sources}
    missing = []
    if len(sources) < len(moving) or len(prices) < len(names):
        missing.append("only sources and links of prices")
    if len(bases) > 1:
        missing.append("one phi")
    if update != "continuous":
        missing.append("prices without updates")
    if network.combine != "product":
        missing.append("signals by independent draws")
    if not point.unique:
        missing.append("independent rows of the routing matrix")
    if any(answer.bottlenecks < crossed for answer, crossed in sources):
        missing.append("M of at least the full links on each route")
    alpha = max((float(answer.alpha) for answer, _ in sources), default=math.nan)
    fastest = max(
        (float(answer.beta * answer.bottlenecks / answer.alpha) for answer, _ in sources),
        default=math.nan,
    )
    eta = fastest * max(float(flow.base_rtt) for flow in network.flows)
    if not sources:
        return PriceCriteria(alpha, eta, math.nan, math.nan, tuple(missing))
    known = float(np.asarray(alpha_max(eta))), float(np.asarray(alpha_max_published(eta)))
    return PriceCriteria(alpha, eta, *known, tuple(missing))
