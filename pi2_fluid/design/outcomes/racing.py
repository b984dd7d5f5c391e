"""Which of some candidates is better for people: rounds of runs until none of the others can be.

Every candidate runs in the same cells with the same seeds (common random numbers), and what is
compared are differences of pairs. Each cell has seeds of its own, so that cells are independent.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pi2_fluid.values import FloatArray


class Tally(NamedTuple):
    """What was measured of a candidate, of shape (cells, seeds): less cost is better."""

    cost: FloatArray
    rate: FloatArray
    """Part of the capacity that was used."""


class Request(NamedTuple):
    """Runs of a candidate in every cell, with the seeds from one place of the list to another."""

    candidate: int
    first: int
    last: int


class Difference(NamedTuple):
    """A mean over cells, its standard error, and the degrees of freedom of that."""

    mean: float
    error: float
    freedom: float

    def bound(self, level: float) -> float:
        """Return what the true mean exceeds with the probability `level` at most."""
        return self.mean - float(special.stdtrit(self.freedom, level)) * self.error


@dataclass(frozen=True)
class Rules:
    """When a race rules out, and when it ends.

    Parameters
    ----------
    loss : float
        Part of the capacity: who certainly loses more than this in any cell is ruled out, and who
        does with `enough` seeds by more than a standard error.
    indifference : float
        Differences of cost that do not matter.
    level : float
        The probability that an answer is wrong, at most.
    first : int
        Seeds of each round.
    enough : int
        Seeds that the base must have to be the answer.
    seeds : int
        The most that a candidate may have, and what any other answer must have.
    rivals : int
        How many of the others go on with the leader in a round.
    runs : int
        After which no round begins.
    seconds : float
        The same, of time passed.
    """

    loss: float = 0.01
    indifference: float = 0.02
    level: float = 0.05
    first: int = 4
    enough: int = 12
    seeds: int = 24
    rivals: int = 4
    runs: float = math.inf
    seconds: float = math.inf

    @property
    def looks(self) -> int:
        """How often a candidate can be judged."""
        return -(-self.seeds // self.first)


_CONVERGED: Final = "no other can be better by more than {:g} % (95 %)"
_TOO_CLOSE: Final = "the seeds are used up; another may still be better by {:.1f} % (95 %)"


@dataclass(eq=False)
class Race:
    """A race of candidates against a base, which is one of them.

    Parameters
    ----------
    count : int
        How many candidates there are.
    base : int
        The one that the others must not be worse than.
    sample : callable
        Yields the tallies of some requests, in their order.
    rules : Rules

    Attributes
    ----------
    tallies : dict
        What is known of each candidate, by its number; it grows while the race runs, and stays
        when it is interrupted.
    barred : frozenset of int
        Who is measured, and cannot be the answer.
    ruled_out : dict
        Of those that lose too much: the cell, and the mean loss there.
    stopped : str
        Why the race ended; "" while it runs.

    Notes
    -----
    Why the answer is wrong with the probability `Rules.level` at most, whenever the race stops. A
    candidate can be judged only when it has `first`, 2 `first` ... seeds: at `looks` times that are
    fixed beforehand, whoever leads and whoever was sampled. At each of them an interval of paired
    differences is one of Student, of level/(looks x cells) for a loss in one cell and of
    level/(looks x pairs) for costs, so that by Bonferroni all intervals of a candidate hold
    together, at every look, with the probability 1 - level. The best candidate that loses nothing
    (one of fixed number) is therefore ruled out or left behind by more than the indifference with
    the probability `level` at most in each of both ways. Student's intervals are exact of normal
    differences; of means over cells, which have variances of their own, the degrees of freedom are
    Satterthwaite's. What the rounds choose to sample does not enter.

    Beside this stands caution. Who is to be recommended must not only be free of a proof that it
    loses: with `enough` seeds, a loss that exceeds what is allowed by a standard error rules out,
    too, and whoever loses exactly what is allowed goes so with a probability of 16 % in each look.
    And who leads has been lucky: another than the base is the answer only with all of the seeds,
    the last of which came after it took the lead as a rule.
    """

    count: int
    base: int
    sample: Callable[[Sequence[Request]], Iterator[Tally]]
    rules: Rules
    barred: frozenset[int] = frozenset()
    tallies: dict[int, Tally] = field(default_factory=dict)
    ruled_out: dict[int, tuple[int, float]] = field(default_factory=dict)
    stopped: str = ""
    cut_short: bool = False

    def run(self) -> None:
        """Race to the end."""
        rules, begun = self.rules, time.monotonic()
        self._more([self.base, *range(self.count)], rules.first)
        while True:
            leader = self.leader
            rivals = self.rivals(leader)
            seeds = self.seeds_of(leader)
            open_ = [i for i in rivals if self.seeds_of(i) < rules.seeds or seeds < rules.seeds]
            least = rules.enough if leader == self.base else rules.seeds
            if seeds >= min(least, rules.seeds) and not open_:
                self.stopped = (
                    _TOO_CLOSE.format(100.0 * max(rivals.values()))
                    if rivals
                    else _CONVERGED.format(100.0 * rules.indifference)
                )
                return
            if self.runs >= rules.runs or time.monotonic() - begun >= rules.seconds:
                self.cut(
                    f"{rules.runs:g} runs were made"
                    if self.runs >= rules.runs
                    else f"{rules.seconds:g} s had passed"
                )
                return
            behind = [i for i in rivals if self.seeds_of(i) < rules.seeds]
            chosen = [self.base, leader, *behind[: rules.rivals]]
            self._more(chosen, min(seeds + rules.first, rules.seeds))

    def cut(self, why: str) -> None:
        """End before the evidence does: who has lost too much so far is not the answer."""
        self.stopped, self.cut_short = why, True
        for candidate in list(self.tallies):
            self._judge(candidate)

    def seeds_of(self, candidate: int) -> int:
        """Return how many seeds a candidate has."""
        return self.tallies[candidate].cost.shape[1] if candidate in self.tallies else 0

    @property
    def runs(self) -> int:
        """How many runs were made."""
        return sum(tally.cost.size for tally in self.tallies.values())

    @property
    def racing(self) -> list[int]:
        """Who is measured, and is neither ruled out nor barred."""
        return [i for i in sorted(self.tallies) if i not in self.ruled_out and i not in self.barred]

    @property
    def leader(self) -> int:
        """Who has the least cost against the base among those that are not ruled out."""
        return min(self.racing, key=lambda i: (self.against(i, self.base).mean, i))

    def rivals(self, leader: int) -> dict[int, float]:
        """Return who may be better than the leader by more than the indifference, and by how much.

        The likeliest first.
        """
        others = {i: self.against(i, leader) for i in self.racing if i != leader}
        lead = {i: x._replace(mean=-x.mean).bound(self._pair_level) for i, x in others.items()}
        able = [i for i, most in lead.items() if most > self.rules.indifference]
        return {i: lead[i] for i in sorted(able, key=lambda i: (others[i].mean, i))}

    def certainly_better(self, candidate: int) -> bool:
        """Return whether a candidate certainly costs less than the base."""
        if candidate == self.base:
            return False
        return self.against(candidate, self.base).bound(self._pair_level) < 0.0

    def against(self, candidate: int, other: int) -> Difference:
        """Return by how much a candidate costs more than another, with the seeds of both."""
        one, two = self.tallies[candidate].cost, self.tallies[other].cost
        shared = min(one.shape[1], two.shape[1])
        return difference_of(one[:, :shared] - two[:, :shared])

    def _more(self, candidates: Iterable[int], upto: int) -> None:
        each = [i for i in dict.fromkeys(candidates) if self.seeds_of(i) < upto]
        requests = [Request(i, self.seeds_of(i), upto) for i in each]
        for i, tally in zip(each, self.sample(requests), strict=True):
            known = self.tallies.get(i)
            self.tallies[i] = tally if known is None else _joined(known, tally)
            self._judge(i)

    def _judge(self, candidate: int) -> None:
        if candidate == self.base or candidate in self.ruled_out:
            return
        own, other = self.tallies[candidate].rate, self.tallies[self.base].rate
        shared = min(own.shape[1], other.shape[1])
        lost = other[:, :shared] - own[:, :shared]
        cells = certain_loss(lost, self.rules.loss, self.rules.level / self.rules.looks)
        if self.cut_short or shared >= min(self.rules.enough, self.rules.seeds):
            error = lost.std(axis=1, ddof=1) / math.sqrt(shared)
            cells |= lost.mean(axis=1) - error > self.rules.loss
        if cells.any():
            mean = np.where(cells, lost.mean(axis=1), -np.inf)
            worst = int(np.argmax(mean))
            self.ruled_out[candidate] = worst, float(mean[worst])

    @property
    def _pair_level(self) -> float:
        return self.rules.level / (self.rules.looks * max(1, self.count - 1))


def difference_of(differences: FloatArray) -> Difference:
    """Return the mean over cells of differences of shape (cells, seeds), cells being independent.

    Examples
    --------
    >>> import numpy as np
    >>> difference_of(np.array([[0.0, 2.0], [4.0, 4.0]]))
    Difference(mean=2.5, error=0.5, freedom=1.0)
    """
    cells, seeds = differences.shape
    parts = differences.var(axis=1, ddof=1) / (seeds * cells**2)
    whole = float(parts.sum())
    freedom = whole**2 / float((parts**2).sum() / (seeds - 1)) if whole > 0.0 else seeds - 1.0
    return Difference(float(differences.mean()), math.sqrt(whole), freedom)


def certain_loss(lost: FloatArray, allowed: float, level: float) -> NDArray[np.bool_]:
    """Return in which cells more than `allowed` is lost, but for a `level` of all of them together.

    Parameters
    ----------
    lost : array (cells, seeds)
        What is lost in each run.
    allowed : float
        What may be lost on average.
    level : float
        The probability that any cell is named although no more is lost there.

    Examples
    --------
    >>> import numpy as np
    >>> lost = np.array([[0.02, 0.03, 0.02, 0.03], [0.0, 0.05, -0.02, 0.07]])
    >>> certain_loss(lost, 0.01, 0.05).tolist()
    [True, False]
    """
    cells, seeds = lost.shape
    error = lost.std(axis=1, ddof=1) / math.sqrt(seeds)
    away = -float(special.stdtrit(seeds - 1, level / cells))
    found: NDArray[np.bool_] = lost.mean(axis=1) - away * error > allowed
    return found


def _joined(known: Tally, more: Tally) -> Tally:
    return Tally(*(np.concatenate(pair, axis=1) for pair in zip(known, more, strict=True)))
