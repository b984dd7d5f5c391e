"""The corners of a region, as flows on a link, and the steps of load and capacity tried there.

A corner of a region is a limit: no load at one end, a loss of every packet at the other, and at the
short end of the round-trip times less than the queue alone takes. What is simulated lies as near as
flows make sense, and is reported with the results.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from pi2_fluid.errors import DomainError
from pi2_fluid.laws.gains import coupling_of
from pi2_fluid.laws.registry import kind_of
from pi2_fluid.laws.sender import Sender, load_of
from pi2_fluid.network.changes import Change
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.link import Link
from pi2_fluid.network.scenario import Scenario

if TYPE_CHECKING:
    from pi2_fluid.laws.aqms.pi_family import PiFamily
    from pi2_fluid.values import BoolArray, FloatArray

#: Segments of a flow at the ends of the load, where the region itself goes further. Below four, TCP
#: is ruled by timeouts: five are left four and a half by a step of a tenth.
LARGEST_WINDOW: Final = 200.0
SMALLEST_WINDOW: Final = 5.0
#: Flows: so many that a sawtooth is small beside the queue, and that a tenth of them is whole.
COUNT: Final = 50
#: A path is at least this part of the longest, where the target alone would fill the shortest loop.
SHORTEST_PATH: Final = 1.0 / 20.0
_PACKET_BITS: Final = 12000.0
_ROOM: Final = 10.0  # times all windows: nothing overflows


class State(NamedTuple):
    """What is there, as a multiple of the corner's own flows and capacity."""

    flows: float = 1.0
    capacity: float = 1.0


class Step(NamedTuple):
    """One change, from rest to rest."""

    name: str
    before: State
    after: State

    @property
    def surplus(self) -> float:
        """By which part of the capacity the flows send too much at first, 0 if too little."""
        sent = self.after.flows / self.before.flows * self.before.capacity / self.after.capacity
        return max(0.0, sent - 1.0)


#: The corner itself.
BASE: Final = State()
_MORE: Final = State(flows=1.1)
_LESS: Final = State(capacity=0.9)
_CLOSE: Final = 1e-6  # of a bound: what is clipped there may lie below it, by a step of integers
#: In the order in which packets take them: each begins where the one before it ends.
STEPS: Final = (
    Step("flows +10 %", BASE, _MORE),
    Step("flows back", _MORE, BASE),
    Step("capacity -10 %", BASE, _LESS),
    Step("capacity back", _LESS, BASE),
)


class Reach(Protocol):
    """How far a region goes."""

    @property
    def senders(self) -> tuple[Sender, ...]:
        """Who sends."""

    @property
    def min_rtt(self) -> float:
        """The smallest round-trip time (s), queue included."""

    @property
    def max_rtt(self) -> float:
        """The largest."""

    def ends(self, number: int, rtt: float) -> tuple[float, float]:
        """The least and the largest p' of a sender at a round-trip time (s)."""


@dataclass(frozen=True)
class Corner:
    """Equal flows of one sender through the queue.

    Attributes
    ----------
    sender : Sender
    queue : PiFamily
        As these flows meet it.
    rtt : float
        Round-trip time (s), the target included.
    window : float
        Segments of each flow.
    p_prime : float
        The sender's load there.
    number : int
        Which of those that would have the same name.
    """

    sender: Sender
    queue: PiFamily
    rtt: float
    window: float
    p_prime: float
    number: int = 1

    @property
    def name(self) -> str:
        """Sender, round-trip time and window in a few words; a number if others have the same."""
        words = f"{kind_of(self.sender)} {1e3 * self.rtt:.3g} ms W={self.window:.3g}"
        return words if self.number == 1 else f"{words} ({self.number})"

    def clamped(self, controller: FloatArray) -> BoolArray:
        """Whether values of the controller's variable are at a bound of what these flows see."""
        top = float(self.queue.limit)
        if self.sender.signal == "scalable":
            top = min(top, 1.0 / float(coupling_of(self.queue)))
        return (controller <= 0.0) | (controller >= (1.0 - _CLOSE) * top)

    @property
    def packets(self) -> float:
        """Capacity in packets per second, which all flows just fill."""
        return COUNT * self.window / self.rtt

    def capacity(self, state: State = BASE) -> float:
        """The link's rate (bit/s)."""
        return _PACKET_BITS * self.packets * state.capacity

    def flows(self, state: State = BASE) -> Flows:
        """The flows; those that begin do so with the window that they will have."""
        return Flows(
            self.sender,
            round(COUNT * state.flows),
            self.rtt - float(self.queue.target),
            name="flows",
            initial_window=round(self.window),
            slow_start=False,
        )

    def scenario(self, duration: float, changes: list[tuple[float, State]]) -> Scenario:
        """The run that begins in the first of the states, at time 0, and goes on to the others."""
        (_, first), *others = changes
        link = Link(self.capacity(first), buffer=math.ceil(_ROOM * COUNT * self.window))
        steps = [
            Change(
                at,
                capacity=self.capacity(state),
                counts={"flows": round(COUNT * state.flows)},
            )
            for at, state in others
        ]
        return Scenario(duration, link, self.queue, self.flows(first), steps, name=self.name)


def corners_of(region: Reach, queue: PiFamily) -> list[Corner]:
    """Return the corners of a region: of each sender, both ends of its RTTs and of its loads.

    Parameters
    ----------
    region : Reach
    queue : PiFamily
        Its gains. Scalable flows under DualPi2 are given a coupled queue with the same gains: they
        are not in the queue whose delay its controller holds, while they control it with others.

    Raises
    ------
    DomainError
        If flows have windows below five segments everywhere in the region.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from pi2_fluid.laws.aqms.pi2 import Pi2
    >>> from pi2_fluid.laws.senders.reno import Reno
    >>> region = SimpleNamespace(
    ...     senders=(Reno(),), min_rtt=0.005, max_rtt=0.1, ends=lambda number, rtt: (0.0, 1.0)
    ... )
    >>> [corner.name for corner in corners_of(region, Pi2())]
    ['reno 24 ms W=200', 'reno 24 ms W=5', 'reno 100 ms W=200', 'reno 100 ms W=5']
    """
    corners = []
    for number, sender in enumerate(region.senders):
        own = queue_met(sender, queue)
        for rtt in _rtts(region, own):
            low, high = (float(end) for end in region.ends(number, rtt))
            for window in _windows(sender, rtt, low, high) if low <= high else ():
                load = load_of(sender, window, rtt)
                corners.append(Corner(sender, own, rtt, window, load))
    named = Counter[str]()
    for index, corner in enumerate(corners):
        named[corner.name] += 1
        corners[index] = replace(corner, number=named[corner.name])
    return corners


def queue_met(sender: Sender, queue: PiFamily) -> PiFamily:
    """Return the queue that a sender's flows meet where the queue of all is this."""
    if sender.signal == "classic":
        return queue
    if queue.bands == 2:
        return queue.in_one_queue()
    # The law of Scalable flows is of marks; those of one queue for all have to be switched on.
    return queue.with_marks()


def _rtts(region: Reach, queue: PiFamily) -> list[float]:
    target = float(queue.target)
    if region.max_rtt <= target:
        raise DomainError(
            f"target = {target:g} s leaves no path within the largest RTT,"
            f" {region.max_rtt:g} s: give a smaller target."
        )
    shortest = max(region.min_rtt, target + SHORTEST_PATH * (region.max_rtt - target))
    return sorted({shortest, region.max_rtt})


def _windows(sender: Sender, rtt: float, low: float, high: float) -> list[float]:
    """Both ends of the window, largest first, where the load goes from `low` to `high`."""

    def window(load: float) -> float:
        settled: Any = sender.at_rest(rtt, load**2 if sender.signal == "classic" else load)
        return float(settled[0] if isinstance(settled, tuple) else settled)

    largest = min(LARGEST_WINDOW, window(low) if low > 0.0 else math.inf)
    smallest = max(SMALLEST_WINDOW, window(high))
    if largest < SMALLEST_WINDOW:
        raise DomainError(
            f"the load of {type(sender).__name__} from p' on leaves windows of {largest:.3g}"
            f" segments at most, below the {SMALLEST_WINDOW:g} that can be simulated: give a load"
            " that begins lower."
        )
    return sorted({largest, min(smallest, largest)}, reverse=True)
