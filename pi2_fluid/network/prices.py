"""Where links that all have a price rest: the dual of sharing them by utilities.

Signals of the links on a route add up: of independent marks, -log(1 - p), which is the price but
for a factor; of marks that are summed, p itself. With s_l >= 0 for each link, S_i the sum on the
route of class i, x_i(S_i) what it sends, which falls, and c_l what the link may carry, rest is

    sum of N_i x_i(S_i) <= c_l,    s_l >= 0,    and one of the two holds with equality:

what minimises the convex function sum_i N_i (integral of x_i from S_i up) + sum_l c_l s_l over
s >= 0. It is found from inside, by a barrier that is lowered, and finished on the full links alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.errors import DomainError, SolverError
from pi2_fluid.network.flows import Flows

if TYPE_CHECKING:
    from pi2_fluid.laws.sender import Sender
    from pi2_fluid.values import FloatArray

#: Between which a signal is looked for: so little that it changes no digit, and all but certain,
# where digits of 1 - p begin to be missing.
LEAST: Final = 1e-300
_UNMARKED: Final = 1e-9
_POINTS: Final = 300
# Of the load: where the barrier ends, where Newton has converged, and what idle links may exceed.
_BARRIER: Final = 1e-24
_LOWER: Final = 0.03
_CONVERGED: Final = 1e-11
# As far as rounding may be felt where nearly everything is marked.
_ROUGH: Final = 1e-6
_NUDGE: Final = 1e-5
_TO_THE_WALL: Final = 0.99
_MOST_STEPS: Final = 30
_BISECTIONS: Final = 40
_NEWTON_STEPS: Final = 60


def share_by_prices(
    names: Sequence[str],
    flows: Sequence[Flows],
    routing: FloatArray,
    capacity: FloatArray,
    combine: str,
) -> FloatArray:
    """Return the probability with which each link marks, where none has a queue.

    Parameters
    ----------
    names : sequence of str
        Of the links, for messages.
    flows : sequence of Flows
        The classes; none of them thinned, and all see the same marks.
    routing : numpy.ndarray
        Links by classes.
    capacity : numpy.ndarray
        What may arrive at each link at rest (packets/s).
    combine : {"product", "sum"}
        As of a `Network`.

    Raises
    ------
    DomainError
        If the flows fill a link even while everything is marked.
    SolverError
        If no rest was found.
    """
    offers = _Offers(flows, combine)
    alone = _alone(names, offers, routing, capacity)
    signals = np.zeros(len(capacity))
    usable = alone > 0.0
    if usable.any():
        dual = _Dual(offers, routing[usable], capacity[usable], alone[usable])
        signals[usable] = alone[usable] * dual.polished(dual.inside())
    beyond = routing @ (signals @ routing > offers.highest) > 0.0
    if beyond.any():
        raise DomainError(
            f"the flows over node {names[int(np.argmax(beyond * signals))]!r} offer more than they"
            " may even where all but one in 1e9 of their packets are signalled: raise the capacity"
            " or lower the counts."
        )
    offers.require_limits(signals @ routing)
    loads = offers.rates(signals @ routing) @ routing.T / capacity
    if np.any(loads > 1.0 + _ROUGH) or np.any((signals > 0.0) & (loads < 1.0 - _ROUGH)):
        raise SolverError(
            f"no prices of the network were found: the loads are {loads.round(6).tolist()} after"
            " the last try; change a capacity or a count a little."
        )
    return signals if combine == "sum" else -np.expm1(-signals)


class _Offers:
    """What the classes send, given the signals on their routes added up."""

    def __init__(self, flows: Sequence[Flows], combine: str) -> None:
        self.counts = np.array([float(flow.count) for flow in flows])
        self.rtts = np.array([float(flow.base_rtt) for flow in flows])
        self.summed = combine == "sum"
        self.highest = 1.0 - _UNMARKED if self.summed else -float(np.log(_UNMARKED))
        self.groups: dict[Sender, list[int]] = {}
        for place, flow in enumerate(flows):
            self.groups.setdefault(flow.sender, []).append(place)

    def rates(self, signals: FloatArray) -> FloatArray:
        """Packets per second of each class, (classes,) or (variants, classes).

        Beyond the highest signal they go on falling, so that there is a way back.
        """
        beyond = np.exp(-np.maximum(signals - self.highest, 0.0))
        signals = np.clip(signals, LEAST, self.highest)
        p = signals if self.summed else -np.expm1(-signals)
        rates = np.empty(p.shape)
        for sender, places in self.groups.items():
            rtt, mine = np.broadcast_to(self.rtts[places], p[..., places].shape), p[..., places]
            if sender.signal is None:
                rtt = np.maximum(rtt, 1.0)  # which may be 0, and is of no account
            with np.errstate(divide="ignore", over="ignore"):  # of signals that are too rare
                state = sender.at_rest(rtt, mine)
                sent = sender.sending_rate_under(state, mine, rtt)
            rates[..., places] = np.minimum(sent, 1e200)
        result: FloatArray = rates * self.counts * beyond
        return result

    def require_limits(self, signals: FloatArray) -> None:
        """Refuse classes that no signal holds back, and who would send without end."""
        for sender, places in self.groups.items():
            if sender.signal is None or not np.any(signals[places] == 0.0):
                continue
            with np.errstate(all="ignore"):
                sent = sender.sending_rate_under(sender.at_rest(1.0, 0.0), 0.0, 1.0)
            if not np.isfinite(sent):
                raise DomainError(
                    f"{type(sender).__name__} needs signals that are too rare to be told from none"
                    " on a route where no other link holds it back: raise its utility."
                )

    def rounding(self, signals: FloatArray) -> float:
        """How far off loads may be, as senders are told p: most where little is left of 1 - p."""
        most = min(float(np.max(signals)), self.highest)
        unmarked = 1.0 - most if self.summed else float(np.exp(-most))
        return max(_CONVERGED, 1e-15 / unmarked)

    def slopes(self, signals: FloatArray) -> FloatArray:
        """How much less each class sends per signal."""
        signals = np.maximum(signals, 10.0 * LEAST)
        h = _NUDGE * signals
        less, more = self.rates(np.stack([signals - h, signals + h]))
        result: FloatArray = np.maximum(less - more, 0.0) / (2.0 * h)
        return result


def _alone(
    names: Sequence[str], offers: _Offers, routing: FloatArray, capacity: FloatArray
) -> FloatArray:
    """The signal with which each link would be full if it were the only one; 0: with none.

    It is the most that the link needs beside others.
    """
    grid = np.geomspace(LEAST, offers.highest, _POINTS)
    loads = offers.rates(np.repeat(grid[:, None], len(offers.counts), 1)) @ routing.T / capacity
    for name, load in zip(names, loads[-1], strict=True):
        if load > 1.0 + _CONVERGED:
            raise DomainError(
                f"the flows over node {name!r} offer {load:.3g} times its capacity even at p = 1:"
                " raise the capacity or lower the counts."
            )
    # The first point of the grid at which the link has room, and so a little more than needed.
    enough = np.argmax(loads <= 1.0 + _CONVERGED, axis=0)
    return np.where(enough == 0, 0.0, grid[enough])


class _Dual:
    """The convex problem, of the links that may be full, in signals over those of each alone."""

    def __init__(
        self, offers: _Offers, routing: FloatArray, capacity: FloatArray, scale: FloatArray
    ) -> None:
        self.offers, self.routing, self.capacity, self.scale = offers, routing, capacity, scale
        #: What a signal of 1 costs at each link.
        self.weight = capacity * scale

    def slack(self, z: FloatArray) -> FloatArray:
        """What is left of each link, over what it may carry."""
        rates = self.offers.rates((z * self.scale) @ self.routing)
        result: FloatArray = 1.0 - (self.routing @ rates) / self.capacity
        return result

    def curvature(self, z: FloatArray) -> FloatArray:
        """The second derivative of the convex function."""
        slopes = self.offers.slopes((z * self.scale) @ self.routing)
        scaled = self.routing * self.scale[:, None]
        result: FloatArray = (scaled * slopes) @ scaled.T
        return result

    def inside(self) -> FloatArray:
        """Return a point that is nearly that of rest, with all signals above 0.

        Newton's method, with a barrier weight / z in the slope that is lowered as it gets there. In
        each step it goes to where the function no longer falls, or almost to the wall.
        """
        z: FloatArray = np.full(len(self.scale), 0.5)
        barrier = 0.1
        slack = self.slack(z)
        steps = 0
        while True:
            slope = slack - barrier / z
            steps += 1
            rounded = np.abs(slope) < self.offers.rounding((z * self.scale) @ self.routing)
            near = (np.abs(slope * z) < 0.5 * barrier) | rounded
            if np.all(near) or steps > _MOST_STEPS:
                if barrier <= _BARRIER:
                    return z
                barrier, steps = _LOWER * barrier, 0
                slope = slack - barrier / z
            curvature = self.curvature(z) + np.diag(self.weight * barrier / z**2)
            size = np.sqrt(np.diag(curvature))
            # A little more than it is, for links that the same flows cross.
            scaled = curvature / size / size[:, None] + 1e-13 * np.eye(len(z))
            step: FloatArray = np.linalg.solve(scaled, -self.weight * slope / size) / size
            low, high = 0.0, min(1.0, _TO_THE_WALL / max(float(np.max(-step / z)), 1e-300))
            tried, portion = z, high
            for _ in range(_BISECTIONS):
                tried = z + portion * step
                slack = self.slack(tried)
                rises = float(self.weight * (slack - barrier / tried) @ step)
                if rises > 0.0:
                    high = portion
                elif portion == high or rises > 0.5 * float(self.weight * slope @ step):
                    break
                else:
                    low = portion
                portion = 0.5 * (low + high)
            z = tried

    def polished(self, z: FloatArray) -> FloatArray:
        """Return the point of rest: Newton's method on the links that are full, until rounding."""
        full = z > self.slack(z)
        z = np.where(full, z, 0.0)
        best, least, both = z, np.inf, np.ix_(full, full)
        for _ in range(_NEWTON_STEPS):
            slack = self.slack(z)[full]
            worst = float(np.max(np.abs(slack), initial=0.0))
            if not worst < least:
                break
            best, least = z, worst
            # By least squares: signals that rates cannot tell apart stay where they are.
            curvature = self.curvature(z)[both]
            size = np.sqrt(np.maximum(np.diag(curvature), 1e-300))
            scaled = curvature / size / size[:, None]
            wanted = -self.weight[full] * slack / size
            step = np.linalg.lstsq(scaled, wanted, rcond=1e-11)[0] / size
            z = z.copy()
            z[full] += step
            if np.any(z[full] <= 0.0):
                break
        return best
