"""`LongFlows`: how many long flows share a link of which rate, and so which loads they can be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.errors import DomainError, QuantityError, show_value
from pi2_fluid.laws.sender import Sender
from pi2_fluid.records.record import OptionalParameter, Record, described, quantity
from pi2_fluid.units import SLOW_LINK, rate_in_words

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, Real

#: Of a full packet, as loops count packets.
PACKET_BITS: Final = 8.0 * 1500.0


_FIT: Final = 1e-9  # of the window that is left where everything is signalled


@dataclass(frozen=True, eq=False, kw_only=True)
class LongFlows(Record):
    """Long flows of one kind that share a link: how many, at which rate, with which windows.

    n equal flows at rest fill a link of capacity C, so that each has the window C R/n, packets of
    1500 bytes: none is faster than the link. Without a rate there may be any number of them.

    Parameters
    ----------
    rate : float or str, optional
        Of the link (bit/s). None: any.
    flows : int or (int, int), default 1 or more
        How many, or the fewest and the most of them, the latter None for as many as fit. It bounds
        loads only together with a rate.
    max_window : float, optional
        The largest window of one flow (segments), as its receiver's. None: any.

    Raises
    ------
    QuantityError, DomainError
        If a field is no number of its unit, or no whole numbers of flows.

    Examples
    --------
    >>> long_flows = LongFlows(rate="5.5Mbit/s", flows=(1, 20))
    >>> long_flows.text
    '1 to 20 flows on 5.5 Mbit/s'
    >>> print(f"{long_flows.window(1, 0.097):.1f} {long_flows.window(20, 0.097):.1f} segments")
    44.5 2.2 segments
    """

    rate: OptionalParameter = quantity(None, "rate", usual_from=SLOW_LINK, optional=True)
    flows: int | tuple[int, int | None] = described((1, None), "a whole number, or two")
    max_window: OptionalParameter = quantity(None, "number", optional=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "flows", read_counts(self.flows))

    @property
    def fewest(self) -> int:
        """How many flows there are at least."""
        return read_counts(self.flows)[0]

    @property
    def most(self) -> int | None:
        """How many there are at most, None for as many as fit."""
        return read_counts(self.flows)[1]

    @property
    def bounds(self) -> bool:
        """Whether it leaves out any load."""
        return self.rate is not None or self.max_window is not None

    @property
    def text(self) -> str:
        """The same in words, as after "for"; "" of any."""
        few, most = read_counts(self.flows)
        words = ""
        if self.rate is not None:
            count = f"{few} to {most}" if most is not None else f"{few} or more"
            count = f"{few}" if most == few else count
            noun = "flow" if most == few == 1 else "flows"
            words = f"{count} {noun} on {rate_in_words(float(self.rate))}"
        if self.max_window is not None:
            largest = f"windows up to {float(self.max_window):.4g} segments"
            words = f"{words} with {largest}" if words else largest
        return words

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, as JSON takes them."""
        return {"rate": self.rate, "flows": [self.fewest, self.most], "max_window": self.max_window}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> LongFlows:
        """Return the flows that `to_dict` described."""
        return cls(rate=data["rate"], flows=tuple(data["flows"]), max_window=data["max_window"])

    def window(self, count: Real, rtt: Real) -> Real:
        """Return the window (segments) of each of `count` flows at a round-trip time (s).

        Only with a rate.
        """
        assert self.rate is not None
        return float(self.rate) * rtt / (PACKET_BITS * count)

    def load(self, sender: Sender, count: Real, rtt: Real) -> FloatArray:
        """Return p' where so many flows of a sender fill the link; above 1 where they do not fit.

        Only with a rate.
        """
        return _load(sender, self.window(count, rtt), rtt)

    def count(self, sender: Sender, p_prime: Real, rtt: Real) -> FloatArray:
        """Return how many flows fill the link at a load, a real number; only with a rate."""
        p_prime = np.asarray(p_prime, float)
        p = p_prime**2 if sender.signal == "classic" else p_prime
        state: Any = sender.at_rest(rtt, p)
        window = state[0] if isinstance(state, tuple) else state
        result: FloatArray = self.window(1.0, rtt) / np.asarray(window, float)
        return result

    def ends(
        self, sender: Sender, rtt: Real, load: tuple[float, float]
    ) -> tuple[FloatArray, FloatArray]:
        """Return the least and the largest p' that are possible within a range, by rtt (s).

        The first is above the second where none is: so many flows do not fit on the link there, or
        do not fill it.
        """
        rtt = np.asarray(rtt, float)
        low, high = (np.full(rtt.shape, end) for end in load)
        if self.max_window is not None:
            low = np.maximum(low, _load(sender, float(self.max_window), rtt))
        if self.rate is not None:
            few, most = read_counts(self.flows)
            low = np.maximum(low, self.load(sender, float(few), rtt))
            if most is not None:
                high = np.minimum(high, self.load(sender, float(most), rtt))
        return low, high


def _load(sender: Sender, window: Real, rtt: Real) -> FloatArray:
    """The p' of windows (segments), above 1 where none up to 1 leaves them."""
    try:
        p = np.asarray(sender.equilibrium(rtt, window / rtt), float)
    except DomainError:  # a law that is solved numerically, and has none somewhere
        state: Any = sender.at_rest(rtt, np.ones(np.shape(rtt)))
        least = np.asarray(state[0] if isinstance(state, tuple) else state) * (1.0 + _FIT)
        p = np.asarray(sender.equilibrium(rtt, np.maximum(window, least) / rtt), float)
        p = np.where(window >= least, p, math.inf)
    return np.sqrt(p) if sender.signal == "classic" else p


def read_counts(counts: object, name: str = "flows") -> tuple[int, int | None]:
    """Return the fewest and the most flows, the latter None for as many as fit.

    Raises
    ------
    QuantityError, DomainError
        If they are no whole numbers from 1 on, or the wrong way round.
    """
    ends = [counts, counts]
    if isinstance(counts, (Sequence, np.ndarray)) and not isinstance(counts, str):
        ends = list(counts)
    if len(ends) != 2:
        raise QuantityError(
            f"{name} = {show_value(counts)} is neither a number nor two: give how many, or the"
            " fewest and the most, e.g. (1, 20)."
        )
    few = _whole(ends[0], counts, name)
    most = None if ends[1] is None else _whole(ends[1], counts, name)
    if most is not None and most < few:
        raise DomainError(f"{name} = {show_value(counts)} ends before it begins: swap the two.")
    return few, most


def _whole(value: object, counts: object, name: str) -> int:
    count = math.nan
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        count = float(value)
    if not math.isfinite(count) or count != int(count) or count < 1:
        raise QuantityError(
            f"{name} = {show_value(counts)}: {show_value(value)} is no whole number from 1 on: give"
            " how many, or the fewest and the most, e.g. (1, 20)."
        )
    return int(count)
