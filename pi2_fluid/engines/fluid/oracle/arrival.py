"""What happens at the end of a step, and the breakpoints that it leaves in the past.

An instant at which what arrives at a link is not smooth reaches the next link one queue delay and a
hop later, where what has entered then arrives. So breakpoints have images of three kinds: what a
class hears passes one, the time of entry of what leaves a link does, or the time that lies a hop
ago.

Of one link to which all packets come at once, what has jumped is found by comparing what is before
with what is after: see `Jumps`. Of several links it is told from what follows from what: see
`Kinks`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from pi2_fluid.engines.fluid.accuracy import NEGLIGIBLE
from pi2_fluid.engines.fluid.oracle.events import Event, apply_event
from pi2_fluid.engines.fluid.oracle.jumps import Before, find_jumps
from pi2_fluid.engines.fluid.oracle.kinks import MOST, Part
from pi2_fluid.engines.fluid.oracle.moves import shows_rates
from pi2_fluid.engines.fluid.oracle.state import EMPTY, Mode, View
from pi2_fluid.engines.fluid.oracle.trial import Trials

_STRONGEST: Final = 1  # order of kinks that are noted where steps adapt
_SLIGHT: Final = 1e-12  # of a capacity: jumps of rates below it are none
_APART: Final = 4.0  # of how near images are hit: breakpoints that are no nearer to one another


class Arrivals(Trials):
    """A trajectory in the making, and what happens on its way."""

    def _arrive(self, event: Event | None, images: dict[int, int]) -> None:
        """Do all that happens now."""
        before = Before(self.y, self.f, self.view, self.mode)
        passed = self._pass(images)
        if passed or (event is not None and event.kind != "side"):
            self.mode = self.plant.by_numbers(self.mode)
        if passed:
            self._mark_images(passed, before.f)
        if event is not None:
            self.y, self.mode = apply_event(self.plant, event, self.t, self.y, self.mode)
            self._mark_event(event)
            if self.plant.dual and event.kind in {"empty", "fill"}:
                self._seek()  # the other band's share has jumped, and with it all delays
        self._happen(event)
        if not self.mode.sides:
            self._take_sides(before.mode)
        self.f, self.view = self._slope(self.t, self.y)
        if self.plant.at_once:
            for reader, order in find_jumps(self, before).items():
                self._mark(reader, order)

    def _take_sides(self, past: Mode) -> None:
        """Let every comparison hold the answer that it has now, until an event."""
        before = past.sides[:1]
        self.mode = self.plant.take_sides(self.t, self.y, self.mode, self._past)
        alone = self.plant.at_once and not self.plant.dual
        if alone and before and before != self.mode.sides[:1]:
            self._mark_all()

    def _pass(self, images: dict[int, int]) -> dict[int, int]:
        """Go on to the next stretch of the past, or the last; return orders of the breakpoints."""
        passed = {}
        for group, side in images.items():
            reader = self.readers[group]
            passed[group] = reader.orders[reader.place + (1 if side > 0 else 0)]
            reader.place += side
        self._stand()
        return passed

    def _happen(self, event: Event | None) -> None:
        """Do what is scheduled for now: first the changes, then the ticks."""
        changes, ticks = self.schedule.take(self.t)
        before = self.mode
        if changes or ticks:
            self.mode = self.plant.by_numbers(self.mode)
        if changes:
            for change in changes:
                self.mode = change.apply(self.mode)
            self.y, self.mode = self.plant.hold_bounds(self.t, self.y, self.mode)
            self.y = self.plant.jump(self.t, self.y, before, self.mode)
            self._mark_all()
            self._seek()
        if ticks:
            self._tick(ticks)
        moves = any(self.plant.ticks_move[link] for link in ticks)
        if changes or moves or (event is not None and event.kind == "signalled"):
            self.y, self.mode = self.plant.hold_bounds(self.t, self.y, self.mode)
        self._turn(self._turned(before.bound))
        if self.plant.dual and event is not None and event.kind == "signalled":
            self._seek()  # windows have jumped, and with them what idle bands leave to others

    def _seek(self) -> None:
        view = self.plant.observe(self.t, self.y, self.mode)
        for reader, lag in enumerate(self.plant.layout.lags):
            if lag.queues:  # a breakpoint so near is passed
                ago = self.plant.lag(reader, view.tau)
                self.readers[reader].seek(self.t - ago + self.accuracy.close)
        self._stand()

    def _stand(self) -> None:
        """Take over where the readers are: that is a part of the discrete state."""
        for reader, place in self.plant.entries(self.mode):
            mine = self.readers[reader]
            if place is None or self.y[place] >= mine.times[-1]:
                mine.place = len(mine.times) - 1
        self.mode = self.mode._replace(places=tuple(reader.place for reader in self.readers))
        self.past.stand(self.t, self.y, self.mode)

    # Breakpoints

    def _mark(self, reader: int, order: int) -> None:
        close = _APART * self.accuracy.close
        self.readers[reader].mark(self.t, len(self.history), order, close)

    def _mark_all(self) -> None:
        for reader in range(len(self.readers)):
            self._mark(reader, 0)

    def _note(self, jumps: dict[Part, int]) -> None:
        """Mark the present as a breakpoint for all whom these jumps concern."""
        if self.plant.at_once:
            return
        most = MOST if self.accuracy.tolerance == 0.0 else _STRONGEST
        empty = tuple(bound == EMPTY for bound in self.mode.bound)
        for reader, order in self.plant.kinks.spread(jumps, empty).items():
            if order <= most:
                self._mark(reader, order)

    def _mark_event(self, event: Event) -> None:
        """Note an event: at a bound what leaves a link jumps, at a clip the signal's slope."""
        if self.plant.at_once:
            side = event.kind == "side" and not self.plant.dual
            full = event.kind in {"full", "drain"} and shows_rates(self.plant.nodes[0].aqm)
            if side or full or self.accuracy.tolerance == 0.0:
                self._mark_all()
        elif event.kind in {"empty", "fill"}:
            self._turn([event.place])
        elif event.kind in {"full", "drain"}:
            self._turn(self.plant.layout.queues_of[event.place])
        elif event.kind in {"clip", "release"}:
            self._note({Part("signal", self.plant.law_of(event.place)): 1})
        elif event.kind == "side" and event.place < len(self.plant.laws):
            shown = self.plant.observe(self.t, self.y, self.mode).signals[event.place]
            jumps_now = shown != self.view.signals[event.place]
            self._note({Part("signal", event.place): 0 if jumps_now else 1})
        elif event.kind == "side":
            self._note({Part("window", event.place - len(self.plant.laws)): 1})
        else:
            self._note({Part("window", event.place): 0})

    def _turn(self, queues: Iterable[int]) -> None:
        """Note that queues have reached or left a bound."""
        jumps, y = {}, list(self.y)
        for queue in queues:
            if queue in self.plant.entered and y[queue] <= 0.0:
                y[self.plant.entered[queue]] = self.t
            jumps[Part("outflow", queue)] = 0
            jumps |= {Part("arrival", s): 0 for s in self.plant.layout.arriving[queue]}
            jumps |= dict.fromkeys(self.plant.kinks.beside(queue), 0)
        if jumps:
            self.y = y
            self._note(jumps)
        self._stand()

    def _mark_images(self, passed: dict[int, int], slopes: list[float]) -> None:
        """Note what follows from reading beyond breakpoints.

        Of one link with steps of a fixed length: a jump of derivative n of the signal flow is one
        of derivative n + 1 of the windows that it reaches, and, through the queue, of derivative
        n + 2 of all others that listen. Each costs the method an error of order n + 2 when its own
        image is stepped over, so that those up to the second derivative matter. Where steps adapt,
        the weak ones are left to the error estimate.
        """
        if not self.plant.at_once:
            self._mark_travelled(passed, slopes)
        elif self.accuracy.tolerance == 0.0:
            for reader, order in passed.items():
                if order < MOST:
                    self._mark(reader, order + 1)
            if 0 in passed.values():
                for reader in set(range(len(self.readers))) - set(passed):
                    if self._listened(reader):
                        self._mark(reader, MOST)

    def _listened(self, reader: int) -> bool:
        """Return whether a class hears anything by a reader now."""
        return any(
            self.mode.active[i] and self.plant.listens[i] for i in self.plant.listeners(reader)
        )

    def _mark_travelled(self, passed: dict[int, int], slopes: list[float]) -> None:
        adaptive = self.accuracy.tolerance > 0.0
        heard = {r: order for r, order in passed.items() if not self.plant.carries(r)}
        travelled = {r: order for r, order in passed.items() if self.plant.carries(r)}
        answering = any(self.plant.answering(i) for r in heard for i in self.plant.listeners(r))
        jumped = (bool(travelled) or answering) and self._jumped()
        found: list[tuple[Part, int]] = []
        if adaptive:  # weak kinks are left to the error estimate
            strong = self._strong([r for r, order in heard.items() if order == 0], slopes)
            found += [(Part("window", i), 1) for i in strong]
        else:
            for reader, order in heard.items():
                found += [(Part("window", i), order + 1) for i in self.plant.listeners(reader)]
        for reader, order in heard.items():
            if answering and (not adaptive or (order == 0 and jumped)):
                mine = filter(self.plant.answering, self.plant.listeners(reader))
                found += [(Part("rate", i), order) for i in mine]
        for reader, order in travelled.items():
            if not adaptive or (order == 0 and jumped):
                found += [(part, order) for part in self.plant.fed(reader)]
        jumps: dict[Part, int] = {}
        for part, order in found:
            jumps[part] = min(order, jumps.get(part, order))
        self._note(jumps)
        if jumped:
            self._hold()
            if self.plant.dual:
                self._seek()

    def _hold(self) -> None:
        """Let queues leave or reach their bounds where what arrives has jumped."""
        before = self.mode.bound
        self.y, self.mode = self.plant.hold_bounds(self.t, self.y, self.mode)
        self._turn(self._turned(before))

    def _turned(self, before: tuple[int, ...]) -> list[int]:
        """Return the queues whose bound is another than before."""
        return [k for k, (a, b) in enumerate(zip(before, self.mode.bound, strict=True)) if a != b]

    def _jumped(self) -> bool:
        """Return whether what arrives at or leaves links is another than at the step's end."""
        view = self.plant.observe(self.t, self.y, self.mode)
        least = max(_SLIGHT, NEGLIGIBLE * self.accuracy.tolerance) * min(self.mode.capacity)
        pairs = [
            *zip(view.rates, self.view.rates, strict=True),
            *zip(view.passing, self.view.passing, strict=True),
        ]
        return any(abs(a - b) > least for a, b in pairs)

    def _strong(self, readers: list[int], slopes: list[float]) -> list[int]:
        """Return the classes that hear by some readers whose windows' slopes have jumped."""
        after, _ = self._slope(self.t, self.y)
        found = []
        for i in dict.fromkeys(i for reader in readers for i in self.plant.listeners(reader)):
            where, rtt = self.plant.windows[i], self.view.rtt[i]
            h = min(self.accuracy.step, rtt)
            if self.mode.active[i] and any(
                abs(after[j] - slopes[j]) * h * h / rtt
                > NEGLIGIBLE * self.accuracy.tolerance * (abs(self.y[j]) + 0.1)
                for j in range(where.start, where.stop)
            ):
                found.append(i)
        return found

    def _tick(self, links: list[int]) -> None:
        """Let controllers update; note the jumps of signals for those to whom they matter.

        Of each class by how much its window's slope would jump if it heard them all at once.
        """
        y = self.plant.tick(self.t, self.y, self.mode, links)
        old, view = self.view, self.plant.observe(self.t, y, self.mode)
        if not self.plant.at_once:
            self._mark_signals(old, view, y)
        self.y, self.view = y, view

    def _mark_signals(self, old: View, view: View, y: list[float]) -> None:
        pairs = zip(old.signals, view.signals, strict=True)
        ticked = [link for link, (before, after) in enumerate(pairs) if before != after]
        for i in self._moved(old, view, y):
            path = self.plant.paths[i]
            for link, reader in zip(path.links, path.heard, strict=True):
                if link in ticked:
                    self._mark(reader, 0)
        jumps = {
            Part("arrival", s): 0
            for s in self.plant.thinning
            if self.plant.streams[s].link in ticked
        }
        self._note(jumps)
        if jumps and self.plant.dual:
            self.y = y
            self._seek()

    def _moved(self, old: View, new: View, y: list[float]) -> Iterator[int]:
        """Yield the classes to whom it matters that signals have become others."""
        plant = self.plant
        for i, sender in enumerate(plant.senders):
            if not (self.mode.active[i] and plant.listens[i]):
                continue
            x, rtt = plant.x(y, i), new.rtt[i]
            rates = (sender.rate(x, x, plant.met(v, i), rtt, rtt) for v in (old, new))
            before, after = ((r if isinstance(r, tuple) else (r,)) for r in rates)
            h = min(self.accuracy.step, rtt)
            values = x if isinstance(x, tuple) else (x,)
            if sender.answers_at_once or any(
                abs(b - a) * h > self.accuracy.negligible * (abs(v) + 0.1)
                for a, b, v in zip(before, after, values, strict=True)
            ):
                yield i
