"""AVQ, the adaptive virtual queue: signals by a queue that is only reckoned, on a slower link.

Below the class: what a queue of finite length loses of arrivals by chance, and at which load.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pi2_fluid.errors import DomainError, show_value
from pi2_fluid.laws.aqm import Aqm, Signal
from pi2_fluid.laws.packet_limits import require_single, require_whole_packets
from pi2_fluid.laws.seen import Seen
from pi2_fluid.ops import Number, exp, expm1, log, maximum, minimum, where
from pi2_fluid.records.record import Parameter, choice, quantity

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Line

_MARKINGS: Final = ("mm1k", "overflow")
#: What a load or a virtual capacity is taken for that is 0, of which there is no logarithm.
_NOTHING: Final = 1e-30
#: Logarithms of load within which it is 1, where the loss is a quotient of zeros, and its
#: elasticity a difference of infinities.
_AT_ONE: Final = 1e-12
_NEAR_ONE: Final = 1e-7
#: Logarithms of load between which the inverse is sought, and bisections before a Newton step.
_LOWEST, _HIGHEST, _BISECTIONS = -60.0, 40.0, 52


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Avq(Aqm):
    """The adaptive virtual queue: it signals the packets that a slower link would lose.

    Every arrival also enters a queue that is only reckoned: it is served at the virtual capacity
    Cv, holds `buffer_fraction` times `buffer`, and what does not fit in is signalled. With y what
    arrives and C the capacity,

        Cv' = alpha (utilization C - y),    held within [0, C],

    so that at rest a part `utilization` of the link is used, and no queue waits. The state is Cv/C.

    In packets that is all. A fluid must be told what a virtual queue loses at a load rho = y/Cv:

        "mm1k":      (1 - rho) rho^B / (1 - rho^(B + 1)),    as if packets came and left by chance,
        "overflow":  max(0, 1 - 1/rho),                      as if they came evenly,

    with B the packets it holds. Neither is what happens: rates of a fluid have no noise of arrivals
    inside the virtual queue, which smooths what packets see of the load, so that the fluid and its
    loop are unstable where packets work. Margins say little here; packets decide.

    Where that much is lost below rho = `utilization`, Cv rests at C and less than `utilization` of
    the link is used: rests are then "clamped".

    Parameters
    ----------
    utilization : float, default 0.98
        Part of the capacity that it lets flows have, in (0, 1].
    alpha : float or str, default 0.15
        How fast Cv follows (Hz).
    start : float, default 0.8
        Cv/C in the beginning, in (0, 1].
    buffer : float or str, default "100 packets"
        What the virtual queue is compared with (packets). ns-2 takes the link's own buffer.
    buffer_fraction : float, default 1
        The part of it that the virtual queue holds.
    bytes : bool, default True
        Whether packets count in bytes, of which the buffer holds those of full packets.
    ecn : bool, default False
        Whether packets that can be marked are marked instead of dropped.
    marking : {"mm1k", "overflow"}
        What a fluid takes for the loss of the virtual queue.

    Raises
    ------
    QuantityError
        If a field is no number of its unit, or a word that it does not know.
    DomainError
        If a number is outside its range.

    Notes
    -----
    `bytes` and `ecn` are for packets only, `marking` for fluids and loops.

    Source: Kunniyur, Srikant (SIGCOMM 2001; IEEE/ACM Transactions on Networking, 2004); rules and
    defaults of ns-2 (vq.cc), where a packet that is dropped for the virtual queue does not count
    as arrived.

    Examples
    --------
    >>> queue = Avq()
    >>> print(f"{queue.lost(1.05):.4f}, {queue.load_of(0.05):.4f}")
    0.0480, 1.0523
    """

    discipline: ClassVar = "avq"
    rests_among_links: ClassVar = True
    acts_on: ClassVar = "arrivals"
    thins: ClassVar = False  # what is lost follows from all that arrives now
    packets_only: ClassVar = ("bytes", "ecn")
    caution: ClassVar = (
        "the fluid of Avq has no noise of arrivals inside the virtual queue, so that its loop is"
        " far steeper than what packets see: packets decide"
    )

    utilization: Parameter = quantity(0.98, "number", high=1.0)
    alpha: Parameter = quantity(0.15, "frequency")
    start: Parameter = quantity(0.8, "number", high=1.0)
    buffer: Parameter = quantity("100 packets", "packets")
    buffer_fraction: Parameter = quantity(1.0, "number")
    bytes: bool = choice(True, (True, False))
    ecn: bool = choice(False, (True, False))
    marking: str = choice("mm1k", _MARKINGS)
    update_interval: None = dataclasses.field(default=None, init=False, repr=False)

    @property
    def holds_at_most(self) -> Number:
        """Packets that fit into the virtual queue."""
        return self.buffer_fraction * self.buffer

    def lost(self, load: Number) -> Number:
        """Return the part that the virtual queue loses of what arrives, at load rho = y/Cv."""
        if self.marking == "overflow":
            return maximum(1.0 - 1.0 / maximum(load, _NOTHING), 0.0)
        return _lost_by_chance(log(maximum(load, _NOTHING)), self.holds_at_most)

    def load_of(self, p: Number) -> Number:
        """Return the load at which the part `p` is lost: at least 1 by "overflow"."""
        if self.marking == "overflow":
            return 1.0 / (1.0 - minimum(p, 1.0 - _AT_ONE))
        return exp(_log_load(p, self.holds_at_most))

    def initial(self) -> tuple[Number, ...]:
        """Return (Cv/C,), `start`."""
        return (self.start,)

    def update(self, state: tuple[Number, ...], seen: Seen, dt: Number) -> tuple[Number, ...]:
        """Return the state as it is: there are no updates."""
        return state

    def drift(self, state: tuple[Number, ...], seen: Seen) -> tuple[Number, ...]:
        """Return d(Cv/C)/dt, wherever it leads."""
        slope = self.alpha * (self.utilization - seen.arrival_rate / seen.capacity)
        return (slope + 0.0 * state[0],)

    def saturate(self, state: tuple[Number, ...]) -> tuple[Number, ...]:
        """Return the state with Cv within [0, C]."""
        return (minimum(maximum(state[0], 0.0), 1.0),)

    def controller(self, state: tuple[Number, ...]) -> Number:
        """Return what is lost as soon as `utilization` of the capacity arrives."""
        return self.lost(self.utilization / maximum(state[0], _NOTHING))

    def signals(self, state: tuple[Number, ...], seen: Seen) -> Signal:
        """Return what is lost of what arrives now, for both kinds."""
        p = self.lost(seen.arrival_rate / (seen.capacity * maximum(state[0], _NOTHING)))
        return Signal(p, p)

    def encode(self, u: Number) -> Signal:
        """Return (u, u)."""
        return Signal(u, u)

    def decode(self, p: Number, signal: str) -> Number:
        """Return p."""
        return p

    def load_at(self, u: Number) -> Number:
        """Return `utilization`, or less where Cv rests at C."""
        return minimum(self.load_of(u), self.utilization)

    def at_rest(self, u: Number, capacity: Number) -> tuple[tuple[Number, ...], Number]:
        """Return the state (Cv/C,) at which `u` is lost, and no queue delay."""
        load = self.load_of(u)
        return (minimum(self.utilization / load, 1.0),), 0.0 * u

    @property
    def full_load(self) -> Number:
        """`utilization`."""
        return self.utilization

    def packet_parameters(self, link: Line) -> dict[str, Any]:
        """Return what configures the queue discipline, named as in native/packet/queues/avq.c.

        Raises
        ------
        DomainError
            If packet_size is no whole number of bytes, or the virtual queue holds no packet.
        UnsupportedError
            If a field holds an array.
        """
        require_single(self)
        require_whole_packets(link)
        if self.holds_at_most < 1.0:
            raise DomainError(
                f"Avq buffer = {show_value(self.buffer)} packets, of which the part"
                f" {show_value(self.buffer_fraction)} is held, has room for none, so that all would"
                " be signalled: give a longer one."
            )
        names = ("utilization", "alpha", "start", "bytes", "ecn")
        return {name: getattr(self, name) for name in names} | {
            "buffer": self.holds_at_most,
            "overflow": self.marking == "overflow",
        }


def _lost_by_chance(log_load: Number, room: Number) -> Number:
    """Return the loss of an M/M/1/K queue: e^{B min(x, 0)} (1 - e^{-|x|})/(1 - e^{-(B + 1)|x|})."""
    above, below = maximum(log_load, 0.0), minimum(log_load, 0.0)
    size = maximum(above - below, _AT_ONE)
    return exp(room * below) * expm1(-size) / expm1(-(room + 1.0) * size)


def _log_load(p: Number, room: Number) -> Number:
    """Return the logarithm of the load at which that queue loses the part `p`."""
    wanted = minimum(maximum(p, _NOTHING), 1.0 - _AT_ONE)
    low, high = _LOWEST + 0.0 * wanted * room, _HIGHEST + 0.0 * wanted * room
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        short = _lost_by_chance(middle, room) < wanted
        low, high = where(short, middle, low), where(short, high, middle)
    # The last step is for derivatives, too, which bisections do not pass on.
    x = 0.5 * (low + high)
    return x - (log(_lost_by_chance(x, room)) - log(wanted)) / _elasticity(x, room)


def _elasticity(log_load: Number, room: Number) -> Number:
    """Return d(log loss)/d(log load) of that queue."""
    above, below = maximum(log_load, 0.0), minimum(log_load, 0.0)
    size = maximum(above - below, _NEAR_ONE)
    falls = _decaying(size) - (room + 1.0) * _decaying((room + 1.0) * size)
    return where(log_load < 0.0, room - falls, falls)


def _decaying(x: Number) -> Number:
    """Return 1/(e^x - 1), of positive x of any size."""
    return -exp(-x) / expm1(-x)
