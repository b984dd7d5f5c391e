"""REM, random exponential marking: a price of what arrives too much and of the queue.

Below the class: its numbers as the packet kernel takes them, named as in
native/packet/queues/rem.c.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pi2_fluid.errors import DomainError, show_value
from pi2_fluid.laws.aqm import Aqm, Signal
from pi2_fluid.laws.exponential import highest_price, marked, price_of
from pi2_fluid.laws.packet_limits import require_single, require_time, require_whole_packets
from pi2_fluid.laws.seen import Seen
from pi2_fluid.ops import Number, log1p, maximum, where
from pi2_fluid.records.record import OptionalParameter, Parameter, choice, numbers_of, quantity
from pi2_fluid.units import LONG_WAIT

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Line

_VARIANTS: Final = ("ns2", "ns3")


@dataclass(frozen=True, eq=False, kw_only=True)
class Rem(Aqm):
    """REM: its price rises while more arrives than leaves, and while the queue is too long.

    With the n packets that have arrived since the last update, `update_interval` T ago, and q that
    wait,

        average <- average + weight (n - average),
        price <- max(0, price + gamma (average + alpha (q - target) - C T)),

    and packets are signalled with p = 1 - `phi` ** -price. Where several links signal, what is let
    through is `phi` to the power of minus the sum of their prices.

    What arrives too much is what the queue grows by, so that with `weight` 1 this is the PI
    controller of a queue in packets, whose gains at each update are alpha gamma on the error and
    gamma on the change, with an exponential encoder in place of the square of PI2. In continuous
    time

        price' = gamma (y - C) + (alpha gamma / T) (q - target),

    with y packets per second that arrive; while no queue waits, y - C goes on counting. Rest is
    where y = C and the target waits, at any load. The bilinear image of the updates has
    gamma (1 + alpha/2) (y - C) in its place: loops with ``update="continuous"`` or ``"delayed"``
    leave alpha/2 out, sampled ones have it.

    Parameters
    ----------
    gamma : float, default 0.001
        Of the price, per packet that arrives too much in an interval.
    phi : float, default 1.001
        Base of the probability, > 1.
    alpha : float, default 0.1
        What a packet of queue above the target counts for, in packets that arrive too much.
    target : float or str, default "20 packets"
        Queue aimed at (packets).
    weight : float, default 1
        Of the packets of one interval in their average, in (0, 1]; 1: no average.
    update_interval : float or str, default "2ms"
        Time between two updates (s), T.
    packet : float or str, optional
        Size (bytes) of the packets in which queue and capacity are counted; None: those of the
        link. ns has 1000 bytes.
    bytes : bool, default False
        Whether arrivals, queue and buffer are counted in bytes, in units of `packet`, and packets
        are signalled in proportion to their size.
    ecn : bool, default False
        Whether packets that can be marked are marked, as they leave, instead of dropped as they
        arrive.
    variant : {"ns2", "ns3"}
        "ns2" drops what would fill the buffer, so that one packet less waits; "ns3", its port, does
        not, counts whole packets of queue in `bytes`, and signals all sizes alike.

    Raises
    ------
    QuantityError
        If a field is no number of its unit, or a word that it does not know.
    DomainError
        If a number is outside its range.

    Notes
    -----
    The last four are for packets only. Trajectories count packets, too: the state is the price, the
    average and the packets since the last update.

    Source: Athuraliya, Low, Li, Yin, "REM: Active Queue Management" (IEEE Network, 2001), where
    alpha is gamma's factor of the queue; defaults, units and order of ns-2 (rem.cc), which lets
    packets pass that it would mark and cannot.

    Examples
    --------
    >>> queue = Rem()
    >>> print(f"{queue.encode(57.187).classic:.6f}, {queue.decode(0.5, 'classic'):.2f}")
    0.055556, 693.49
    """

    discipline: ClassVar = "rem"
    rests_among_links: ClassVar = True
    acts_on: ClassVar = "both"
    packets_only: ClassVar = ("packet", "bytes", "ecn", "variant")

    gamma: Parameter = quantity(0.001, "number")
    phi: Parameter = quantity(1.001, "number", low=1.0)
    alpha: Parameter = quantity(0.1, "number")
    target: Parameter = quantity("20 packets", "packets")
    weight: Parameter = quantity(1.0, "number", high=1.0)
    update_interval: Parameter = quantity("2ms", "time", usual=LONG_WAIT)
    packet: OptionalParameter = quantity(None, "size", optional=True)
    bytes: bool = choice(False, (True, False))
    ecn: bool = choice(False, (True, False))
    variant: str = choice("ns2", _VARIANTS)

    def initial(self) -> tuple[Number, ...]:
        """Return (price, average, packets since the last update), all 0."""
        return (0.0, 0.0, 0.0)

    def update(self, state: tuple[Number, ...], seen: Seen, dt: Number) -> tuple[Number, ...]:
        """Return the price and the average after one update, and no packets."""
        price, average, count = state
        average = average + self.weight * (count - average)
        excess = average + self.alpha * (seen.queue - self.target) - seen.capacity * dt
        return (price + self.gamma * excess, average, 0.0 * count)

    def drift(self, state: tuple[Number, ...], seen: Seen) -> tuple[Number, ...]:
        """Return d(price, average, packets)/dt between two updates: packets are counted."""
        return (0.0 * state[0], 0.0 * state[1], seen.arrival_rate)

    def flow(
        self, state: tuple[Number, ...], seen: Seen, d_queue_delay: Number
    ) -> tuple[Number, ...]:
        """Return d(price, average, packets)/dt in continuous time: nothing is counted.

        An average over intervals follows what arrives with the rate at which it forgets.
        """
        T, averages = self.update_interval, self.weight < 1.0
        forgets = -log1p(-where(averages, self.weight, 0.5)) / T
        arriving = where(averages, state[1] / T, seen.arrival_rate)
        follows = where(averages, forgets * (seen.arrival_rate * T - state[1]), 0.0 * state[1])
        excess = arriving - seen.capacity + self.alpha / T * (seen.queue - self.target)
        return (self.gamma * excess, follows, 0.0 * state[2])

    def saturate(self, state: tuple[Number, ...]) -> tuple[Number, ...]:
        """Return the state with a price of 0 or more."""
        return (maximum(state[0], 0.0), *state[1:])

    def encode(self, u: Number) -> Signal:
        """Return 1 - phi^-price, for both kinds."""
        p = marked(u, self.phi)
        return Signal(p, p)

    def decode(self, p: Number, signal: str) -> Number:
        """Return the price."""
        return price_of(p, self.phi)

    def at_rest(self, u: Number, capacity: Number) -> tuple[tuple[Number, ...], Number]:
        """Return the state just after an update, and the target as a queue delay, at any load."""
        state = (u, capacity * self.update_interval + 0.0 * u, 0.0 * u)
        return state, self.target / capacity + 0.0 * u

    @property
    def price_base(self) -> Number:
        """`phi`."""
        return self.phi

    @property
    def highest(self) -> Number:
        """The price at which all but one in 1e15 packets are signalled; it may go on above."""
        return highest_price(self.phi)

    @property
    def target_delay(self) -> None:
        """None: its target is a queue in packets."""

    @property
    def signals_at(self) -> str:
        """Marks are set as packets leave; they are dropped as they arrive."""
        return "dequeue" if self.ecn else "enqueue"

    def packet_parameters(self, link: Line) -> dict[str, Any]:
        """Return what configures the queue discipline, named as in native/packet/queues/rem.c.

        Raises
        ------
        DomainError
            If packet_size is no whole number of bytes, the update interval beyond the clock, or the
            buffer one that never lets a full packet in.
        UnsupportedError
            If a field holds an array.
        """
        require_single(self)
        require_whole_packets(link)
        require_time("Rem update_interval", self.update_interval)
        size = link.packet_size if self.packet is None else self.packet
        full = float(link.packet_size / size) if self.bytes else 1.0  # of the buffer
        if self.variant == "ns2" and link.buffer == full:
            raise DomainError(
                f"Link buffer = {show_value(link.buffer)} lets no packet in, since Rem as in ns-2"
                f" drops what would fill it: give {full + 1.0:g} packets or more, or variant ="
                ' "ns3".'
            )
        if link.buffer < full:
            raise DomainError(
                f"Link buffer = {show_value(link.buffer)} lets no packet in, since Rem counts"
                f" packets of {float(size):g} bytes and those of the link are {full:.3g} times as"
                " large: give more, or leave packet out."
            )
        own = {"packet": size, "ns3": self.variant == "ns3"}
        return numbers_of(self, without=("variant",)) | own
