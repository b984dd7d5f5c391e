"""State events: where a bound, a clip or a switch of the laws is reached inside a step."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple, TypeAlias, TypeVar

from pi2_fluid.engines.fluid.oracle.history import Segment
from pi2_fluid.engines.fluid.oracle.plant import Plant
from pi2_fluid.engines.fluid.oracle.state import EMPTY, FREE, FULL, Heard, Mode, View

T = TypeVar("T")

#: What every class hears at an instant, given the view of that instant.
Past: TypeAlias = Callable[[float, View], list[Heard | None]]
# Packets that a queue may miss: one that has just left 0 may begin a rounding error below.
_TINY: Final = 1e-9
_ROUNDED: Final = 1e-9  # of what a comparison looks at: more than rounding
_WITHIN: Final = 1e-13  # of a step: how well an event is located on its cubic


class Event(NamedTuple):
    """A state event: what it is, of which component, and what is negative beyond it."""

    kind: str
    place: int
    value: Callable[[float, list[float]], float]
    bound: float = 0.0
    """Of a clip: where it stops the motion, and"""
    side: float = 0.0
    """from which side: +1 from below, -1 from above."""
    number: int = 0
    """Of a comparison, among those of its law."""


class Trial(NamedTuple):
    """A step that may still be rejected."""

    t: float
    y: list[float]
    f: list[float]
    view: View
    error: float


def crossed_events(plant: Plant, mode: Mode, trial: Trial, start: Trial, past: Past) -> list[Event]:
    """Return the events that a trial step has passed that begins at `start`.

    `past` says what the classes hear at an instant and a view of it.
    """
    found = _crossed_bounds(plant, mode, trial)
    found += _crossed_clips(plant, mode, trial)
    found += _crossed_floors(plant, mode, trial, past)
    found += _crossed_sides(plant, mode, trial, start, past)
    for i, slow in enumerate(mode.slow):
        if slow and trial.y[plant.expected[i]] > 1.0:
            found.append(Event("signalled", i, partial(_distance, plant.expected[i], 1.0, 1.0)))
    return found


def _crossed_bounds(plant: Plant, mode: Mode, trial: Trial) -> list[Event]:
    def net(k: int, t: float, y: list[float]) -> float:
        return -plant.observe(t, y, mode).net[k]

    def room(b: int, _: float, y: list[float]) -> float:
        queues, size = plant.basins[b]
        return size - sum(y[queues])

    def growth(b: int, t: float, y: list[float]) -> float:
        return plant.growth(b, plant.observe(t, y, mode).net, mode)

    found = []
    for k, bound in enumerate(mode.bound):
        if bound in {FREE, FULL} and trial.y[k] < -_TINY:
            found.append(Event("empty", k, partial(_distance, k, 0.0, -1.0)))
        if bound == EMPTY and trial.view.net[k] > 0.0:
            found.append(Event("fill", k, partial(net, k)))
    for b, basin in enumerate(plant.basins):
        full = FULL in mode.bound[basin.queues]
        if not full and room(b, trial.t, trial.y) < 0.0:
            found.append(Event("full", b, partial(room, b)))
        if full and plant.growth(b, trial.view.net, mode) < 0.0:
            found.append(Event("drain", b, partial(growth, b)))
    return found


def _crossed_clips(plant: Plant, mode: Mode, trial: Trial) -> list[Event]:
    if not plant.continuous:
        return []

    def outward(j: int, held: float, t: float, y: list[float]) -> float:
        return held * plant.controller_slope(y, mode, plant.observe(t, y, mode))[j]

    found = []
    state = trial.y[plant.state]
    clipped = plant.clipped(state)
    slopes = plant.controller_slope(trial.y, mode, trial.view)
    for j, held in enumerate(mode.held):
        if held == 0.0 and state[j] != clipped[j]:
            bound, side = float(clipped[j]), math.copysign(1.0, state[j] - clipped[j])
            distance = partial(_distance, plant.state.start + j, bound, side)
            found.append(Event("clip", j, distance, bound, side))
        elif held * slopes[j] < 0.0:
            found.append(Event("release", j, partial(outward, j, held)))
    return found


def _crossed_floors(plant: Plant, mode: Mode, trial: Trial, past: Past) -> list[Event]:
    def held_back(i: int, t: float, y: list[float]) -> float:
        view = plant.observe(t, y, mode)
        heard = past(t, view)[i]
        return 0.0 if heard is None else -plant.window_slope(i, y, mode, view, heard)

    found = []
    for i, floored in enumerate(mode.floored):
        place = plant.windows[i].start
        if not mode.active[i] or not plant.listens[i]:
            continue
        if not floored and trial.y[place] < 0.0:
            found.append(Event("floor", i, partial(_distance, place, 0.0, -1.0)))
        elif floored and held_back(i, trial.t, trial.y) < 0.0:
            found.append(Event("lift", i, partial(held_back, i)))
    return found


def _crossed_sides(plant: Plant, mode: Mode, trial: Trial, start: Trial, past: Past) -> list[Event]:
    if not any(mode.sides):
        return []

    def distances(k: int, t: float, y: list[float], view: View) -> list[float]:
        compared, sides = plant.compared[k], mode.sides[k]
        values = plant.asked(k, y, mode, view, past(t, view)) if sides else None
        return [] if compared is None or values is None else compared.distances(values, sides)

    def off(k: int, number: int, t: float, y: list[float]) -> float:
        return distances(k, t, y, plant.observe(t, y, mode))[number]

    found = []
    for k in range(len(plant.compared)):
        after = distances(k, trial.t, trial.y, trial.view)
        if min(after, default=0.0) >= 0.0:
            continue
        # What stands still a rounding error beyond has not crossed. What is far beyond was carried
        # there by another answer.
        before = distances(k, start.t, start.y, start.view)
        found += [
            Event("side", k, partial(off, k, number), number=number)
            for number, (was, now) in enumerate(zip(before, after, strict=True))
            if now < 0.0 and (now < was or was < -_ROUNDED)
        ]
    return found


def _distance(place: int, bound: float, side: float, _: float, y: list[float]) -> float:
    """How far a component is from a bound that it comes up to (side +1) or down to (-1)."""
    return side * (bound - y[place])


def locate_event(step: Segment, event: Event) -> float:
    """Return at which part of a step an event comes (regula falsi, Illinois)."""
    h = step.end - step.start

    def value(part: float) -> float:
        t = step.start + part * h
        return event.value(t, step.values(t))

    low, high = 0.0, 1.0
    at_low, at_high = value(0.0), value(1.0)
    if at_low <= 0.0:
        # It begins on the event (the other branch has just been left): look where it is off it.
        parts = (n / 16.0 for n in range(15, 0, -1))
        low = next((part for part in parts if value(part) > 0.0), 0.0)
        if low == 0.0:
            return 0.0
        at_low = value(low)
    for _ in range(100):
        if high - low <= _WITHIN or at_high == 0.0:
            break
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        at_middle = value(middle)
        if at_middle <= 0.0:
            if high - middle < 0.5 * (high - low):
                at_low *= 0.5
            high, at_high = middle, at_middle
        else:
            if middle - low < 0.5 * (high - low):
                at_high *= 0.5
            low, at_low = middle, at_middle
    return high


def apply_event(
    plant: Plant, event: Event, t: float, y: list[float], mode: Mode
) -> tuple[list[float], Mode]:
    """Return the state, put exactly on the bound that it has reached, and the mode from now on."""
    y, k = list(y), event.place
    if event.kind == "empty":
        y[k] = 0.0
        mode = mode._replace(bound=_put(mode.bound, k, EMPTY))
    elif event.kind == "fill":
        mode = mode._replace(bound=_put(mode.bound, k, FREE))
    elif event.kind == "full":
        queues, size = plant.basins[k]
        longest = max(range(queues.start, queues.stop), key=y.__getitem__)
        y[longest] += size - sum(y[queues])
        mode = mode._replace(bound=_turned(mode.bound, queues, FREE, FULL))
        y, mode = plant.end_slow_start(plant.crossing(k), y, mode)
    elif event.kind == "drain":
        mode = mode._replace(bound=_turned(mode.bound, plant.basins[k].queues, FULL, FREE))
    elif event.kind == "clip":
        y[plant.state.start + k] = event.bound
        mode = mode._replace(held=_put(mode.held, k, event.side))
    elif event.kind == "release":
        mode = mode._replace(held=_put(mode.held, k, 0.0))
    elif event.kind == "floor":
        y[plant.windows[k].start] = 0.0
        mode = mode._replace(floored=_put(mode.floored, k, True))
    elif event.kind == "lift":
        mode = mode._replace(floored=_put(mode.floored, k, False))
    elif event.kind == "side":
        if mode.sides:  # else what is compared decides just now
            sides, n = mode.sides[k], event.number
            assert sides is not None, "it has one"
            mode = mode._replace(sides=_put(mode.sides, k, _put(sides, n, 1 - sides[n])))
    else:
        y, mode = plant.end_slow_start([k], y, mode)
    if event.kind in {"empty", "full"} and plant.continuous:
        mode = mode._replace(held=plant.clips(y, mode, plant.observe(t, y, mode)))
    return y, mode


def _turned(bound: tuple[int, ...], queues: slice, old: int, new: int) -> tuple[int, ...]:
    """Return the bounds with those of some queues that are `old` made `new`."""
    mine = tuple(new if b == old else b for b in bound[queues])
    return (*bound[: queues.start], *mine, *bound[queues.stop :])


def _put(values: tuple[T, ...], i: int, value: T) -> tuple[T, ...]:
    return (*values[:i], value, *values[i + 1 :])
