"""Price: a link that knows nothing of its queue, only how much more arrives than it should."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pi2_fluid.laws.aqm import Aqm, Signal
from pi2_fluid.laws.exponential import highest_price, marked, price_of
from pi2_fluid.laws.packet_limits import require_time
from pi2_fluid.laws.seen import Seen
from pi2_fluid.ops import Number, maximum
from pi2_fluid.records.record import Parameter, quantity
from pi2_fluid.units import LONG_WAIT

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Line


@dataclass(frozen=True, eq=False, kw_only=True)
class Price(Aqm):
    """The link of Paganini, Wang, Low and Doyle: its price integrates the excess of arrivals.

    With y what arrives and c = `utilization` times the capacity, both in packets per second,

        price' = (y - c) / c,    held at 0 where it would fall below,

    so that the price is the delay (s) that a queue would have, were the link only c fast; of the
    real queue it knows nothing. Packets are counted, and the price moves once in `update_interval`:

        price <- max(0, price + (count / (c T) - 1) T).

    Packets are marked with p = 1 - `phi` ** -price. Several links mark independently, so that what
    is left unmarked is `phi` to the power of minus the sum of their prices: marks add prices up.
    At rest a link is full in that y = c, and no queue waits; or its price is 0.

    Parameters
    ----------
    phi : float, default 100
        Base of the marking probability, > 1, the same for all links and senders of a network.
    utilization : float, default 0.95
        Part of the capacity that it lets flows have, in (0, 1].
    update_interval : float or str, default "5ms"
        Time between two updates of the price (s).

    Raises
    ------
    QuantityError
        If a field is no number of its unit, or a word that it does not know.
    DomainError
        If a number is outside its range.

    Notes
    -----
    Trajectories count, too: the state is the price and the packets since the last update. Packets
    are marked as they leave, and what cannot be marked is lost instead, but for a SYN and for
    acknowledgements, whose number follows from no price. They are counted by their size, all that
    come, whether there is room for them or not.

    Source: Paganini, Wang, Low, Doyle (2002), equations (5), (21) and (28) and Figure 4, whose
    y(k) is a number of packets, and where a packet is marked if what is drawn is below p.

    Examples
    --------
    >>> queue = Price()
    >>> print(f"{queue.encode(0.1).scalable:.6f}, {queue.decode(0.5, 'scalable'):.6f} s")
    0.369043, 0.150515 s
    """

    discipline: ClassVar = "price"
    rests_among_links: ClassVar = True
    acts_on: ClassVar = "arrivals"

    phi: Parameter = quantity(100.0, "number", low=1.0)
    utilization: Parameter = quantity(0.95, "number", high=1.0)
    update_interval: Parameter = quantity("5ms", "time", usual=LONG_WAIT)

    def initial(self) -> tuple[Number, ...]:
        """Return (price, packets since the last update), both 0."""
        return (0.0, 0.0)

    def update(self, state: tuple[Number, ...], seen: Seen, dt: Number) -> tuple[Number, ...]:
        """Return the price after one update, and no packets: equation (28)."""
        price, count = state
        return (price + count / (self.utilization * seen.capacity) - dt, 0.0 * count)

    def drift(self, state: tuple[Number, ...], seen: Seen) -> tuple[Number, ...]:
        """Return d(price, packets)/dt between two updates: packets are counted."""
        return (0.0 * state[0], seen.arrival_rate)

    def flow(
        self, state: tuple[Number, ...], seen: Seen, d_queue_delay: Number
    ) -> tuple[Number, ...]:
        """Return d(price, packets)/dt in continuous time, equation (5): nothing is counted."""
        return (seen.arrival_rate / (self.utilization * seen.capacity) - 1.0, 0.0 * state[1])

    def saturate(self, state: tuple[Number, ...]) -> tuple[Number, ...]:
        """Return the state with a price of 0 or more."""
        return (maximum(state[0], 0.0), state[1])

    def encode(self, u: Number) -> Signal:
        """Return 1 - phi^-price, for both kinds."""
        p = marked(u, self.phi)
        return Signal(p, p)

    def decode(self, p: Number, signal: str) -> Number:
        """Return the price."""
        return price_of(p, self.phi)

    def at_rest(self, u: Number, capacity: Number) -> tuple[tuple[Number, ...], Number]:
        """Return the state just after an update, (price, 0), and no queue delay, at any load."""
        return (u, 0.0 * u), 0.0 * u

    def packet_parameters(self, link: Line) -> dict[str, Any]:
        """Return the numbers of the discipline "price", its fields."""
        require_time("Price update_interval", self.update_interval)
        return super().packet_parameters(link)

    @property
    def signals_at(self) -> str:
        """Where packets are signalled: as they leave."""
        return "dequeue"

    @property
    def price_base(self) -> Number:
        """`phi`."""
        return self.phi

    @property
    def highest(self) -> Number:
        """The price at which all but one in 1e15 packets are marked; trajectories go on above."""
        return highest_price(self.phi)

    @property
    def full_load(self) -> Number:
        """`utilization`."""
        return self.utilization
