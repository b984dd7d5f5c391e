"""The region a design is for, and the worst margins of given gains in it.

The loops of a grid are evaluated together, each near its crossovers; the grid is then refined
around the worst of them, and the worst is searched for all of its crossovers. A grid: what lies
between its points is not proved.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.ascending import ascending
from pi2_fluid.design.linear_plants import (
    NO_LOAD,
    LinearPlants,
    SomePlants,
    join,
    make_linear_plants,
    unit_of,
)
from pi2_fluid.design.plants import Plants, make_points, plant_of, with_exact
from pi2_fluid.design.points import Points, crossings, finer, grid, jump_rtts
from pi2_fluid.design.remembering import remembered
from pi2_fluid.design.scanning import compiled_scan
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.sender import Sender
from pi2_fluid.loop.analytic import MU_LIMIT, solve_margins
from pi2_fluid.loop.limits import rtt_limit
from pi2_fluid.loop.margins import Margins, known
from pi2_fluid.loop.searching import search_of
from pi2_fluid.loop.state_space import AnyLoop, LinearLoop
from pi2_fluid.loop.updates import NEARLY_ALL, respond
from pi2_fluid.loop.zeros import zero_between
from pi2_fluid.network.long_flows import LongFlows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pi2_fluid.values import BoolArray, ComplexArray, Curve, FloatArray, Real

_RTTS: Final = 13
_FEWER_RTTS: Final = 9  # of senders without a closed form
_FEWER_LOADS: Final = 7
#: Loads of the grid at each of them, besides those about jumps.
LOADS: Final = 13
#: The same where only stability is asked for.
FEW_LOADS: Final = 5
#: Flows of any number.
ANY: Final = LongFlows()
_INSIDE: Final = 1.0 + 1e-9
_POINTS: Final = 40  # frequencies per loop
_MOST_STEPS: Final = 12  # of an order of 1.44: from a cell of the grid to the last bits
# In ln w: what is left after a step is by far smaller than the step, and costs the margin 1e-7 dB.
_LAST_STEP: Final = 1e-7
_LAST_DIGIT: Final = 5e-9  # of the largest round-trip time at which all is stable
_SLOW: Final = 0.03  # of w R: far above the window's own rate at no load, below all else
_STRANGE: Final = 10.0  # times lower, where the search then begins
#: Times the largest RTT, where the search for the limit ends.
HIGHEST_LIMIT: Final = 20.0


@dataclass(frozen=True)
class Region:
    """Senders, round-trip times with the queue (s), of each sender the range of p', the long flows.

    The loads are those of the range that the long flows can have, at each round-trip time.
    """

    senders: tuple[Sender, ...]
    min_rtt: float
    max_rtt: float
    load: tuple[tuple[float, float], ...]
    long_flows: LongFlows = ANY
    #: What `remembered` keeps of laws of one's own, as long as this very region is asked.
    kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"kept": {}}

    def ends(self, number: int, rtt: Real) -> tuple[Any, Any]:
        """The least and the largest p' of a sender by round-trip time; swapped where none is."""
        return self.long_flows.ends(self.senders[number], rtt, self.load[number])

    @functools.cached_property
    def hull(self) -> tuple[tuple[float, float], ...]:
        """Of each sender the range of p' at all round-trip times together."""
        found = []
        for number in range(len(self.senders)):
            low, high = self.ends(number, self.rtts(number))
            some = low <= high
            found.append((float(np.min(low[some])), float(np.max(high[some]))))
        return tuple(found)

    def rtts(self, number: int, points: int | None = None) -> FloatArray:
        """The round-trip times of the grid: of a sender, those at which its fewest flows fit."""
        if points is None:
            points = _FEWER_RTTS if plant_of(self.senders[number]) is None else _RTTS
        low, high = self.min_rtt, self.max_rtt
        if low == high:
            return np.array([high])
        ends = tuple(self._too_many(number, math.log(rtt)) for rtt in (low, high))
        if ends[0] > 0.0 > ends[1]:
            too_many, x = functools.partial(self._too_many, number), (math.log(low), math.log(high))
            low = min(math.exp(zero_between(too_many, *x, tolerance=1e-12)) * _INSIDE, high)
        return np.geomspace(low, high, points)

    def _loads(self, number: int) -> int:
        """How many loads the grid has at each of them, besides those about jumps."""
        return _FEWER_LOADS if plant_of(self.senders[number]) is None else LOADS

    def _too_many(self, number: int, x: float) -> float:
        """By how much the load of the fewest flows exceeds what there may be, at ln rtt."""
        long_flows = self.long_flows
        if long_flows.rate is None:
            return -1.0
        load = long_flows.load(self.senders[number], float(long_flows.fewest), math.exp(x))
        return float(load) - self.load[number][1]

    def plants(self, aqm: PiFamily) -> SomePlants:
        """Every loop of the grid, with R held constant in the window law and without."""
        parts = [
            (number, points)
            for number in range(len(self.senders))
            for points in (grid(self, aqm, number, self.rtts(number), self._loads(number)),
                           crossings(self, aqm, number))
        ]  # fmt: skip
        return self._with_exact(aqm, parts)

    def corners(self, aqm: PiFamily) -> SomePlants:
        """The loops of the largest round-trip time at both ends of the load."""
        parts = []
        for number in range(len(self.senders)):
            rtt = float(self.rtts(number)[-1])
            load = ascending([float(end) for end in self.ends(number, rtt)])
            parts.append((number, Points(np.full(load.shape, rtt), load)))
        return self._with_exact(aqm, parts)

    def around(self, aqm: PiFamily, plant: Plants | LinearPlants) -> Plants | LinearPlants:
        """A finer grid between the neighbours of one point of the grid."""
        number = int(plant.sender[0])
        at = float(plant.rtt[0]), float(plant.p_prime[0])
        near = finer(self, aqm, number, self.rtts(number), self._loads(number), at)
        return self.at(aqm, number, near, exact=bool(plant.exact[0]))

    def at(
        self, aqm: PiFamily, number: int, points: Points, *, exact: bool = False
    ) -> Plants | LinearPlants:
        """The loops of one sender by rates, the one of that number, in closed form if it has one.

        `exact` if the window law sees R vary.
        """
        sender = self.senders[number]
        if plant_of(sender) is not None:
            return replace(make_points(sender, aqm, *points, number), exact=exact)
        pairs = tuple(points.rtt.tolist()), tuple(points.p_prime.tolist())
        return make_linear_plants(self, unit_of(aqm), number, pairs, "rate", exact)

    def _with_exact(self, aqm: PiFamily, parts: Sequence[tuple[int, Points]]) -> SomePlants:
        """The loops of some points, and those again in which the window law feels R vary."""
        some = [(number, points) for number, points in parts if points.rtt.size]
        each = join([self.at(aqm, number, points) for number, points in some])
        return join([self._felt(aqm, part) for part in each.parts])

    def _felt(self, aqm: PiFamily, part: Plants | LinearPlants) -> SomePlants:
        if isinstance(part, Plants):
            return with_exact(part)
        again = Points(part.rtt, part.p_prime)  # of what an own law feels nothing is known
        return join([part, self.at(aqm, int(part.sender[0]), again, exact=True)])


@dataclass(frozen=True)
class Scan:
    """Margins of many loops, shape (n,); the modulus margin on the frequencies evaluated."""

    gain_margin_db: Any
    phase_margin_deg: Any
    modulus_margin: Any


def scan(plants: SomePlants, alpha: float, beta: float, interval: float, update: str) -> Scan:
    """Return the margins of many loops, each evaluated near the crossovers of its cheap twin."""
    each = [_scan_part(part, alpha, beta, interval, update) for part in plants.parts]
    names = ("gain_margin_db", "phase_margin_deg", "modulus_margin")
    return Scan(*(np.concatenate([getattr(one, name) for one in each]) for name in names))


def _scan_part(
    part: Plants | LinearPlants, alpha: float, beta: float, interval: float, update: str
) -> Scan:
    """The same of loops of one kind."""
    gains = alpha, beta, interval
    found = compiled_scan(part, *gains) if update == "sampled" else None
    return scan_in_python(part, *gains, update) if found is None else Scan(*found)


def scan_in_python(
    part: Plants | LinearPlants, alpha: float, beta: float, interval: float, update: str
) -> Scan:
    """Return the same of loops of any one kind: the readable twin of what is compiled."""
    gains = alpha, beta, interval
    return _scan(part.points, part.at(*gains, update), part.numeric, *gains, update)


def _scan(
    plants: Plants,
    at: Curve,
    numeric: bool,
    alpha: float,
    beta: float,
    interval: float,
    update: str,
) -> Scan:
    """The same of loops L that are those of a closed form, or `numeric` ones at the same points."""
    k = 1.0 if update == "continuous" else 1.0 + interval / (2.0 * plants.rtt)
    gm, pm, w_gc, w_pc = _twin(plants, alpha, beta, interval, k)
    end = np.pi / interval if update == "sampled" else np.inf
    top = NEARLY_ALL * end
    low = np.minimum(np.minimum(w_gc, np.where(w_pc > 0.0, w_pc, np.inf)), top / 4.0) / 3.0
    # The twin is of another load there, or of Reno.
    strange = (plants.mu > _mu_limit(plants)) | (plants.kappa > 0.0) | numeric
    other = strange | plants.exact  # than the twin's loop
    low = np.where(strange, low / _STRANGE, low)
    slow = np.where(plants.kappa > 0.0, plants.kappa / (_STRANGE * plants.rtt), np.inf)
    low = np.minimum(low, slow)
    high = np.full(len(plants), top)
    if update != "sampled":
        high = 4.0 * np.maximum(np.minimum(w_gc, 1e3 / plants.rtt), w_pc)
    steps = np.linspace(0.0, 1.0, _POINTS)
    x = np.log(low)[:, None] + np.log(high / low)[:, None] * steps
    values = at(x)
    if numeric:
        twin = np.array([pm, w_gc, k * plants.rtt])
        gm, pm = _crossings(x, values, at, twin, plants.kappa > 0.0, end)
        # A phase that starts below -180 degrees, as where there are hardly any signals.
        never = (values[:, 0].real < 0.0) & (values[:, 0].imag > 0.0)
        gm = np.where(never, -np.inf, gm)
    elif update == "sampled":
        twin = np.array([pm, w_gc, k * plants.rtt])
        gm, pm = _crossings(x, values, at, twin, plants.kappa > 0.0, end)
        # Above the limit of existence the phase of the limit of no load starts below -180 degrees.
        never = (plants.mu == 0.0) & (plants.rtt >= rtt_limit(alpha, beta, interval, update))
        gm = np.where(never, -np.inf, gm)
    elif (beyond := np.flatnonzero(other)).size:
        few = plants.take(beyond).at(alpha, beta, interval, update)
        dips = plants.kappa[beyond] > 0.0
        twin = np.array([pm, w_gc, k * plants.rtt])[:, beyond]
        gm[beyond], pm[beyond] = _crossings(x[beyond], values[beyond], few, twin, dips, end)
    return Scan(gm, pm, np.minimum(np.min(np.abs(1.0 + values), axis=1), 1.0))


def _twin(plants: Plants, alpha: float, beta: float, interval: float, k: Real) -> FloatArray:
    """The margins of the loops without sampling, by their closed form."""
    a, c = alpha * plants.rtt**2 / interval, (beta + alpha / 2.0) * plants.rtt
    rows = np.empty((4, len(plants)))
    k = np.broadcast_to(k, plants.rtt.shape)
    for plant in ("reno", "scalable"):
        mask = plants.scalable == (plant == "scalable")
        mu = np.minimum(plants.mu[mask], MU_LIMIT[plant])  # beyond, only where to look
        args = (plants.m[mask], mu, a[mask], c[mask], plants.rtt[mask], k[mask])
        if mask.any():
            rows[:, mask] = solve_margins(plant, *args)
    return rows


def _mu_limit(plants: Plants) -> FloatArray:
    return np.where(plants.scalable, MU_LIMIT["scalable"], MU_LIMIT["reno"])


def _crossings(
    x: FloatArray, values: ComplexArray, at: Curve, twin: FloatArray, dips: BoolArray, end: float
) -> tuple[FloatArray, FloatArray]:
    """The smallest gain margin (dB) and the phase margin (deg) of each row.

    At the `end` of its frequencies, pi/T, a sampled loop is real, which counts as a crossing. The
    others are where the imaginary part vanishes, over what vanishes with it there. The phase of
    rows of `dips` may fall below -180 degrees and recover, which a stable loop may survive. Which
    turn the phase is in is known from that of the `twin`: its margin, where that is, and its delay.
    """

    def odd(x: FloatArray) -> FloatArray:
        return np.cos(np.pi / 2 * np.exp(x) / end)

    gain = np.log(np.abs(values))
    crossed, where = _first_root(x, gain, gain[:, :-1] > 0.0, lambda v: np.log(np.abs(at(v))))
    pm = np.degrees(np.angle(-at(where[:, None])[:, 0]))
    twin_pm, w_gc, delay = twin
    near = twin_pm - np.degrees(delay * (np.exp(where) - w_gc))
    pm = pm + 360.0 * np.round((np.where(np.isfinite(near), near, 0.0) - pm) / 360.0)
    pm = np.where(crossed, pm, np.inf)
    negative = (values.real[:, :-1] < 0.0) & (values.real[:, 1:] < 0.0)
    falls = negative & (values.imag[:, :-1] < 0.0)
    survived = (dips & crossed & (pm > 0.0))[:, None]
    allowed = np.where(survived, negative & (np.abs(values[:, 1:]) < 1.0), falls)
    across = values.imag / odd(x)
    crossed, where = _first_root(x, across, allowed, lambda v: at(v).imag / odd(v))
    size = np.where(crossed, np.abs(at(where[:, None])[:, 0]), 0.0)
    if np.isfinite(end):
        size = np.maximum(size, np.maximum(-values[:, -1].real, 0.0))
    with np.errstate(divide="ignore"):
        return -20.0 * np.log10(size), pm


def _first_root(
    x: FloatArray, f: FloatArray, allowed: BoolArray, function: Callable[[FloatArray], FloatArray]
) -> tuple[NDArray[Any], FloatArray]:
    """Of each row: whether f changes its sign in an allowed cell, and where it first does."""
    changes = (np.sign(f[:, :-1]) * np.sign(f[:, 1:]) < 0.0) & allowed
    has_root: NDArray[Any] = np.any(changes, axis=1)
    cell = np.argmax(changes, axis=1)
    row = np.arange(x.shape[0])
    a, b, fa, fb = x[row, cell], x[row, cell + 1], f[row, cell], f[row, cell + 1]
    fa = np.where(has_root, fa, fb)  # of a row without one any finite place will do
    root = b
    for _ in range(_MOST_STEPS):  # regula falsi with the Illinois rule
        with np.errstate(invalid="ignore", divide="ignore"):
            step = np.where(fa == fb, 0.0, fb * (b - a) / (fb - fa))
        root = np.clip(b - step, np.minimum(a, b), np.maximum(a, b))
        value = function(root[:, None])[:, 0]
        kept = value * fb > 0.0
        a, fa = np.where(kept, a, b), np.where(kept, fa / 2.0, fb)
        moved = np.max(np.abs(root - b)[has_root], initial=0.0)
        b, fb = root, value
        if moved < _LAST_STEP:
            break
    return has_root, root


@dataclass(frozen=True, eq=False)
class Worst:
    """The smallest margins in a region.

    Attributes
    ----------
    margins : Margins
        Each the smallest, whichever loop it is of.
    rtt, p_prime, sender
        The loop of the smallest gain margin.
    count : int
        How many loops were evaluated.
    plants : Plants, LinearPlants or SeveralPlants
        Those that were searched for all of their crossovers.
    """

    margins: Margins
    rtt: float
    p_prime: float
    sender: Sender
    count: int
    plants: SomePlants


@remembered
def worst_margins(region: Region, aqm: PiFamily, update: str, also: Plants | None = None) -> Worst:
    """Return the worst margins of a queue's gains in a region, and of loops that are known bad."""
    gains = float(aqm.alpha), float(aqm.beta), float(aqm.update_interval)
    plants = region.plants(aqm)
    count = len(plants)
    found = scan(plants, *gains, update)
    names = ("gain_margin_db", "phase_margin_deg", "modulus_margin")
    picked: list[Plants | LinearPlants] = []
    for index in dict.fromkeys(int(np.argmin(getattr(found, name))) for name in names):
        near = region.around(aqm, plants.take(index))
        finer = scan(near, *gains, update)
        count += len(near)
        picked += [near.take(i) for i in {int(np.argmin(getattr(finer, name))) for name in names}]
    if also is not None:
        picked += [also.take(i) for i in range(len(also))]
    each = [exact_margins(plant, *gains, update) for plant in picked]
    margins, index = smallest_of(each, update)
    which = picked[index]
    sender = region.senders[int(which.sender[0])]
    load = float(which.p_prime[0])
    load = 0.0 if which.numeric and load <= NO_LOAD else load
    return Worst(margins, float(which.rtt[0]), load, sender, count, join(picked))


def smallest_of(several: Sequence[Margins], update: str) -> tuple[Margins, int]:
    """Return the smallest of each margin of some loops, and which has the smallest gain margin."""
    by_gain = min(several, key=lambda one: float(one.gain_margin_db))
    by_phase = min(several, key=lambda one: float(one.phase_margin_deg))
    margins = Margins(
        gain_margin_db=by_gain.gain_margin_db,
        phase_margin_deg=by_phase.phase_margin_deg,
        gain_crossover=by_phase.gain_crossover,
        phase_crossover=by_gain.phase_crossover,
        delay_margin=min(float(one.delay_margin) for one in several),
        update=update,
        _modulus=known(min(float(one.modulus_margin) for one in several)),
        _verdict=known(min(int(one.verdict_code) for one in several)),
    )
    return margins, several.index(by_gain)


def loop_at(aqm: PiFamily, sender: Sender, rtt: float, load: float) -> Plants | LinearPlants:
    """Return the loop of a sender by rates at one round-trip time (s) and load."""
    points = Points(np.array([rtt]), np.array([load]))
    return Region((sender,), rtt, rtt, ((load, load),)).at(aqm, 0, points)


def alone(plant: Plants | LinearPlants, alpha: float, beta: float, interval: float) -> LinearLoop:
    """Return the loop of one point by rates, of these gains."""
    loop = plant.linear(alpha, beta, interval)
    one = loop.element((0, 0)) if loop.shape else loop
    assert isinstance(one, LinearLoop)
    return one


def exact_margins(
    plant: Plants | LinearPlants, alpha: float, beta: float, interval: float, update: str
) -> Margins:
    """Return the margins of one loop, searched for all of its crossovers."""
    loop = alone(plant, alpha, beta, interval)
    search, this = search_of(loop, update), np.array(True)
    gm, pm, w_gc, w_pc, delay, *_ = search.margins(this).ravel().tolist()
    mu = plant.points.mu[0]
    count = int(search.counts(this)[0]) if mu > 0.0 else None
    if mu == 0.0 and plant.rtt[0] >= rtt_limit(alpha, beta, interval, update):
        gm, w_pc = -math.inf, 0.0
    if plant.numeric and plant.p_prime[0] <= NO_LOAD and starts_below(plant, loop, update):
        gm, w_pc = -math.inf, 0.0
    code = int(np.sign(gm)) if count is None else {0: 1, -1: 0}.get(count, -1)
    modulus = float(search.distances(this)[0])
    return Margins(
        gain_margin_db=gm,
        phase_margin_deg=pm,
        gain_crossover=w_gc,
        phase_crossover=w_pc,
        delay_margin=delay,
        update=update,
        _modulus=known(modulus),
        _verdict=known(code),
    )


def starts_below(plant: LinearPlants | Plants, loop: AnyLoop, update: str) -> bool:
    """Say whether the phase of a loop of hardly any signals is below -180 degrees from the start.

    Then no gain is too small.
    """
    low = complex(respond(loop, np.asarray(1j * _SLOW / plant.rtt[0]), update))
    return low.real < 0.0 < low.imag


@remembered
def stable_up_to(region: Region, aqm: PiFamily, update: str) -> float:
    """Return the largest round-trip time with the queue (s) up to which every load is stable.

    Of every sender, the loads of the region. The search begins at the smallest RTT of the
    region, takes stability to be lost once, and ends at 20 times the largest RTT; inf beyond. 0 if
    the smallest RTT is unstable already.
    """
    gains = float(aqm.alpha), float(aqm.beta), float(aqm.update_interval)

    def smallest(rtt: Real) -> FloatArray:
        least = np.full(np.shape(np.atleast_1d(rtt)), np.inf)
        for number in range(len(region.senders)):
            points = grid(region, aqm, number, rtt, FEW_LOADS)
            if points.rtt.size:
                plants = region.at(aqm, number, points)
                found = scan(plants, *gains, update).gain_margin_db
                least = np.minimum(least, least_by_rtt(plants.rtt, found, rtt))
        return least

    return last_stable(region.min_rtt, HIGHEST_LIMIT * region.max_rtt, smallest,
                       also=limits_also(region, aqm))  # fmt: skip


def least_by_rtt(rtts: FloatArray, found: FloatArray, rtt: Real) -> FloatArray:
    """Return the smallest of what was found at each round-trip time, inf where there is nothing."""
    return np.array([np.min(found[rtts == one], initial=np.inf) for one in np.atleast_1d(rtt)])


def limits_also(region: Region, aqm: PiFamily) -> FloatArray:
    """Return round-trip times (s) at which numbers of flows are about to pass a jump."""
    ends = region.min_rtt, HIGHEST_LIMIT * region.max_rtt
    found = [jump_rtts(region, aqm, number, ends)[0] for number in range(len(region.senders))]
    return np.concatenate(found) * (1.0 - 1e-7)


def last_stable(
    low: float,
    high: float,
    smallest: Callable[[Real], FloatArray],
    also: FloatArray | None = None,
) -> float:
    """Return the round-trip time (s) at which the smallest gain margin falls to 0; inf, or 0.

    Up to `high` and from `low` on, `smallest` being a function of one or several; `also` are some
    at which it may dip.
    """
    for beginning in (True, False):
        grid = np.geomspace(low, high, 17)
        if also is not None:
            grid = ascending(grid, also[(also > low) & (also < high)])
        margin = smallest(grid)
        unstable = np.flatnonzero(~(margin > 0.0))
        if unstable.size == 0:
            return math.inf
        first = int(unstable[0])
        if first == 0:
            return 0.0 if beginning else low
        low, high = float(grid[first - 1]), float(grid[first])
        ends = _clipped(margin[first - 1]), _clipped(margin[first])

    def margin_at(part: float) -> float:
        return _clipped(smallest(part * high)[0])

    return high * zero_between(margin_at, low / high, 1.0, tolerance=_LAST_DIGIT, ends=ends)


def _clipped(margin: Real) -> float:
    return float(np.clip(margin, -1.0, 1.0))
