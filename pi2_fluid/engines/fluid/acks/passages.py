"""The packets of one class at one link of its route: come, signalled and left."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, MutableSequence
from typing import NamedTuple

from pi2_fluid.engines.fluid.acks.counts import Cursor, Grid, Place, count_at


class Feed(NamedTuple):
    """What leaves a place, in packets until every node of the grid."""

    passed: MutableSequence[float]
    """All packets, those included that found no room on the way."""
    real: MutableSequence[float]
    """Those that are still there."""
    signalled: MutableSequence[float]
    """Those that have been signalled on the way."""


class Past(NamedTuple):
    """What a passage was like before time 0."""

    rate: float
    """Packets per second."""
    took: float
    """Seconds from the source to here."""
    waited: float
    """Seconds that packets waited here."""
    met: float
    """Probability that a packet had been signalled before."""
    p: float
    """Probability that it was signalled here."""


class Passage:
    """One class at one link.

    What finds no room counts as acknowledged with those before and after it, and so goes on with
    them, but fills no queue. A packet may be signalled at any link, and counts once.

    Parameters
    ----------
    owner : int
        The class.
    feed : Feed
        What leaves the place before.
    lag : float
        Seconds from there.
    times : Grid
        The instants of steps.
    past : Past
        Before time 0.
    adds : bool
        Whether probabilities of links are added; else each link draws by itself.
    thinned : bool
        Whether what the link signals does not enter its queue.
    """

    def __init__(
        self,
        owner: int,
        feed: Feed,
        lag: float,
        times: Grid,
        past: Past,
        *,
        adds: bool,
        thinned: bool,
    ) -> None:
        self.owner, self.feed, self.lag, self.past = owner, feed, lag, past
        self.adds, self.thinned = adds, thinned
        self.ago = Cursor(times)
        kept = 1.0 - past.p if thinned else 1.0
        came = [past.rate * (t - past.took) for t in times]
        left = [kept * past.rate * (t - past.took - past.waited) for t in times]
        both = self._joined(1.0, past.met, past.p)
        #: What the feed has brought, of which a part is thinned.
        self.fed, self.fed_real = _counts(came), _counts(came)
        self.came = _counts(kept * count for count in came)
        self.real = _counts(self.came)
        #: Signals of what has come, before and after this link's own, and of what has left.
        self.met = _counts(past.met * count for count in self.came)
        self.given = _counts(both * count for count in self.came)
        self.met_by_left = _counts(past.met * count for count in left)
        self.out = Feed(_counts(left), _counts(left), _counts(both * count for count in left))

    def _joined(self, packets: float, signalled: float, p: float) -> float:
        """Return how many of some packets are signalled behind a link that signals with `p`."""
        if self.adds:
            return min(packets, signalled + p * packets)
        return signalled + p * (packets - signalled)

    def arrive(self, t: float, p: float) -> float:
        """Let come what does until `t`, signalled with `p`; return how many are really there."""
        fed, real, met = self._fed(t)
        kept = 1.0 - p if self.thinned else 1.0
        came = self.came[-1] + kept * (fed - self.fed[-1]) if self.thinned else fed
        # Nothing, to the last digit, where all packets have found room.
        lost_before, missed_before = self.came[-1] - self.real[-1], self.fed[-1] - self.fed_real[-1]
        there = came - (lost_before + kept * (fed - real - missed_before))
        joined = self._joined(came - self.came[-1], met - self.met[-1], p)
        self.fed.append(fed)
        self.fed_real.append(real)
        self.came.append(came)
        self.real.append(there)
        self.met.append(met)
        self.given.append(self.given[-1] + joined)
        return there

    def _fed(self, t: float) -> tuple[float, float, float]:
        """Return what the place before has let go that is here at `t`."""
        passed, real, signalled = self.feed
        if self.lag <= 0.0:
            return passed[-1], real[-1], signalled[-1]
        before = self.ago.place(t - self.lag)
        return count_at(passed, before), count_at(real, before), count_at(signalled, before)

    def lose(self, part: float) -> None:
        """Let a part of what came in the last step find no room."""
        self.real[-1] -= part * (self.real[-1] - self.real[-2])

    def leave(self, entered: Place, p: float, *, at_dequeue: bool) -> None:
        """Let everything leave that entered until some place; `p` is the signal at the exit."""
        passed, met = count_at(self.came, entered), count_at(self.met, entered)
        out = self.out
        if at_dequeue:
            joined = self._joined(passed - out.passed[-1], met - self.met_by_left[-1], p)
            out.signalled.append(out.signalled[-1] + joined)
        else:
            out.signalled.append(count_at(self.given, entered))
        out.passed.append(passed)
        out.real.append(count_at(self.real, entered))
        self.met_by_left.append(met)

    def take_back(self) -> None:
        """Forget the last step."""
        out = self.out
        for counts in (self.fed, self.fed_real, self.came, self.real, self.met, self.given):
            counts.pop()
        for counts in (out.passed, out.real, out.signalled, self.met_by_left):
            counts.pop()


def _counts(values: Iterable[float]) -> MutableSequence[float]:
    """Return numbers in a quarter of the memory of a list."""
    return array("d", values)
