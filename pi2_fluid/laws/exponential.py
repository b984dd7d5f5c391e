"""Exponential marking: a price as the probability of a mark, so that independent marks add it up.

What is left unmarked by several links is phi ** -(sum of their prices).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from pi2_fluid.ops import Number, expm1, log, log1p, minimum

# Beyond it, what is left unmarked is lost in rounding.
_CERTAIN: Final = 1.0 - 1e-15


class PriceResponse(NamedTuple):
    """How a source answers prices: a rate that falls by alpha q / (M tau), and slowly to a utility.

    Examples
    --------
    >>> from pi2_fluid.laws.senders.paganini import Paganini
    >>> Paganini(bottlenecks=3).price_response
    PriceResponse(phi=100.0, alpha=0.37, beta=1.5, bottlenecks=3.0)
    """

    phi: Number
    """Base of the marking probability."""
    alpha: Number
    """Gain on the sum of prices, q."""
    beta: Number
    """Gain of the utility; 0: it has none of its own."""
    bottlenecks: Number
    """M, the links with a price that it reckons with."""


def marked(price: Number, phi: Number) -> Number:
    """Return the probability that a packet is marked at a price: 1 - phi ** -price.

    Examples
    --------
    >>> print(f"{marked(0.1, 100.0):.6f}")
    0.369043
    """
    return -expm1(-price * log(phi))


def price_of(p: Number, phi: Number) -> Number:
    """Return the price at which packets are marked with probability `p`, `highest_price` at most.

    Examples
    --------
    >>> print(f"{price_of(0.369043, 100.0):.6f}")
    0.100000
    """
    return -log1p(-minimum(p, _CERTAIN)) / log(phi)


def highest_price(phi: Number) -> Number:
    """Return the price above which all are the same: all but one in 1e15 packets are marked."""
    return price_of(1.0, phi)
