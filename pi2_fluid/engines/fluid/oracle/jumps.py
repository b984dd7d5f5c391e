"""What has jumped at the end of a step, of one link to which all packets come at once.

Found by comparing what is before with what is after, and noted for those who read it: of which
order a jump is, 0 of the value and 1 of the slope, and whether it is more than the tolerance lets
pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from pi2_fluid.engines.fluid.oracle.state import Mode, View

if TYPE_CHECKING:
    from pi2_fluid.engines.fluid.oracle.trial import Trials

_RELATIVE: Final = 0.1  # added to a window (segments) to make its jumps relative
_QUEUE: Final = 1e-3  # s, added to a delay
_NUDGE: Final = 1e-6  # s, over which slopes of rates are taken
_LOOKED_AHEAD: Final = 4.0  # of a step: for so long a slope of a rate may be stepped over


class Before(NamedTuple):
    """The state at the end of a step, before anything happens."""

    y: list[float]
    f: list[float]
    view: View
    mode: Mode


def find_jumps(run: Trials, before: Before) -> dict[int, int]:
    """Return the readers for whom something has jumped, and the order of the lowest jump."""
    plant, found = run.plant, dict[int, int]()

    def note(reader: int, order: int | None) -> None:
        if order is not None:
            found[reader] = min(order, found.get(reader, order))

    rates = _order_of_rates(run, before) if plant.dual else None
    for i, path in enumerate(plant.paths):
        note(path.round_trip, rates)
        for queue in path.queues:
            note(path.round_trip, _order_of_queue(run, before, queue))
        if run.mode.active[i] and plant.listens[i]:
            note(path.round_trip, _order_of_window(run, before, i))
            note(path.round_trip, _order_of_signals(run, before, i))
    return found


def _order_of_queue(run: Trials, before: Before, queue: int) -> int | None:
    allowed = run.accuracy.negligible
    then, now = before.view.tau[queue], run.view.tau[queue]
    if run.plant.dual:
        if abs(now - then) > allowed * (now + _QUEUE):
            return 0
        slopes = [_delay_slope(run, queue, each) for each in (before, _now(run))]
        return 1 if abs(slopes[1] - slopes[0]) > allowed else None
    if now != then:
        return 0
    jump = abs(run.f[queue] - before.f[queue])
    return 1 if jump > allowed * run.mode.capacity[0] else None


def _now(run: Trials) -> Before:
    return Before(run.y, run.f, run.view, run.mode)


def _order_of_window(run: Trials, before: Before, i: int) -> int | None:
    rtt, order = run.view.rtt[i], None
    h, where = min(run.accuracy.step, rtt), run.plant.windows[i]
    for j in range(where.start, where.stop):
        scale = run.accuracy.negligible * (abs(run.y[j]) + _RELATIVE)
        if abs(run.y[j] - before.y[j]) > scale:
            return 0
        if abs(run.f[j] - before.f[j]) * (h * h / rtt) > scale:
            order = 1
    return order


def _order_of_signals(run: Trials, before: Before, i: int) -> int | None:
    """Return of which order the jump of the link's signals is for class `i`."""
    plant, mode = run.plant, run.mode
    (aqm, where), rtt = plant.laws[0], run.view.rtt[i]
    h, turned = min(run.accuracy.step, rtt), before.mode.sides[:1] != mode.sides[:1]
    states, watched = (before.y[where], run.y[where]), (before.view.seen[0], run.view.seen[0])
    same = not turned and (watched[0] == watched[1] or not plant.shows_queue[0])
    for order in (0, 1):
        if order == 1:  # back: ahead there may be a clip
            slopes = before.f[where], run.f[where]
            back = (
                tuple(v - h * slope for v, slope in zip(run.y[where], each, strict=True))
                for each in slopes
            )
            if slopes[0] == slopes[1] and same:
                break
            first, second = ([float(v) for v in aqm.saturate(each)] for each in back)
            states = first, second
        elif states[0] == states[1] and same:
            continue
        modes = before.mode, mode
        p, q = (
            plant.signal(plant.shown(0, state, seen, each), i)
            for state, seen, each in zip(states, watched, modes, strict=True)
        )
        if _matters(run, i, p, q, h, rtt):
            return order
    return 1 if turned and plant.shows_queue[0] else None  # what is seen moves as well


def _matters(run: Trials, i: int, p: float, q: float, h: float, rtt: float) -> bool:
    """Return whether a class would move in another way if it heard `q` instead of `p`."""
    x, sender = run.plant.x(run.y, i), run.plant.senders[i]
    rates = (sender.rate(x, x, each, rtt, rtt) for each in (p, q))
    old, new = (rate if isinstance(rate, tuple) else (rate,) for rate in rates)
    values = x if isinstance(x, tuple) else (x,)
    return any(
        abs(b - a) * h > run.accuracy.negligible * (abs(v) + _RELATIVE)
        for a, b, v in zip(old, new, values, strict=True)
    )


def _order_of_rates(run: Trials, before: Before) -> int | None:
    """Return of which order jumps are of what arrives."""
    scale = run.accuracy.negligible * run.mode.capacity[0]
    h = min(_LOOKED_AHEAD * run.proposal, run.accuracy.step)
    order, now = None, _now(run)
    old, new = (_rate_slopes(run, each) for each in (before, now))
    rates = zip(before.view.rates, run.view.rates, old, new, strict=True)
    for was, is_now, slope, slope_now in rates:
        if abs(is_now - was) > scale:
            return 0
        if abs(slope_now - slope) * h > scale:
            order = 1
    return order


def _rate_slopes(run: Trials, at: Before) -> Sequence[float]:
    ends = [
        run.plant.observe(run.t + nudge, _moved(at, nudge), at.mode).rates
        for nudge in (-_NUDGE, _NUDGE)
    ]
    return [(b - a) / (2.0 * _NUDGE) for a, b in zip(*ends, strict=True)]


def _delay_slope(run: Trials, queue: int, at: Before) -> float:
    before, after = (
        run.plant.observe(run.t + nudge, _moved(at, nudge), at.mode).tau[queue]
        for nudge in (-_NUDGE, _NUDGE)
    )
    return (after - before) / (2.0 * _NUDGE)


def _moved(at: Before, by: float) -> list[float]:
    return [y + by * f for y, f in zip(at.y, at.f, strict=True)]
