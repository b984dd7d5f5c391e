"""From traffic and wishes to a recommendation: candidates, a race, and what came of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.design.design import Design
from pi2_fluid.design.outcomes.comparing import comparison
from pi2_fluid.design.outcomes.lattice import Kind
from pi2_fluid.design.outcomes.predicting import least_margins, shortlist
from pi2_fluid.design.outcomes.racing import Race, Rules
from pi2_fluid.design.outcomes.recommendation import Recommendation
from pi2_fluid.design.outcomes.running import Client, Runner
from pi2_fluid.design.outcomes.standing import rtt_that_keeps, standing
from pi2_fluid.design.outcomes.wishes import VALUES, Wishes
from pi2_fluid.engines.packet.packets import Packets
from pi2_fluid.errors import DomainError, UnsupportedError
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.gains import has_gains
from pi2_fluid.laws.registry import kind_of
from pi2_fluid.network.traffic import Traffic
from pi2_fluid.results.dataset import Column

if TYPE_CHECKING:
    from pi2_fluid.laws.aqms.pi_family import PiFamily
    from pi2_fluid.values import FloatArray

#: Runs after which no round begins.
_RUNS: Final = 2500
#: s, beyond which blocks of a histogram are longer than a second.
_LONGEST: Final = 100.0
_DB: Final = (6.0, 0.0)


class TuningInterrupted(KeyboardInterrupt):
    """Ctrl-C while candidates race: what is known so far is there.

    Attributes
    ----------
    recommendation : Recommendation
        Of the seeds that were run.
    """

    def __init__(self, recommendation: Recommendation) -> None:
        super().__init__()
        self.recommendation = recommendation


def recommend(
    wishes: Wishes,
    design: Callable[..., Design],
    client: Client | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Recommendation:
    """Return the queue that is better for the people who send such traffic, or the base.

    `design` finds the textbook's gains for a largest round-trip time, as `tune` does.

    Raises
    ------
    UnsupportedError
        If a cell cannot be run with what it has now, and which.
    TuningInterrupted
        On Ctrl-C, with what is known so far.
    """
    begun = time.process_time()
    cells = wishes.traffic.cells
    for cell in cells:
        if (lasts := float(cell.scenario.duration)) > _LONGEST:
            raise DomainError(
                f"cell {cell.name!r} lasts {lasts:g} s, and delays are counted"
                " in hundredths of a run, too long to say what follows an event: give it"
                f" {_LONGEST:g} s or less."
            )
    for cell, law in zip(cells, wishes.bases, strict=True):
        if obstacle := Packets().obstacle(cell.with_aqm(law).scenario):
            raise UnsupportedError(f"cell {cell.name!r} cannot be run packet by packet: {obstacle}")
    field = _Field(wishes, design)
    rules = Rules(
        loss=wishes.loss,
        seeds=len(wishes.seeds),
        runs=_RUNS,
        seconds=wishes.seconds,
    )
    runner = Runner(
        field.scenarios,
        [(cell.steady, cell.after) for cell in cells],
        wishes.seeds,
        VALUES[wishes.value],
        client,
        None if progress is None else lambda done: progress(done, max(done, _RUNS)),
    )
    race = Race(len(field.laws), field.base, runner.sample, rules, frozenset(field.barred))
    try:
        race.run()
    except KeyboardInterrupt:
        if race.seeds_of(field.base) < 2:
            raise
        race.cut("it was interrupted")
        told = _described(wishes, field, race, runner, time.process_time() - begun)
        raise TuningInterrupted(told) from None
    return _described(wishes, field, race, runner, time.process_time() - begun)


class _Field:
    """Who races: the base first, then the default, the textbook's design, and the shortlist."""

    def __init__(self, wishes: Wishes, design: Callable[..., Design]) -> None:
        self.kind, self.cells = wishes.kind, wishes.traffic.cells
        default = self.kind.default
        self.textbook = textbook_of(self.kind, wishes.traffic, design)
        lattice = self.kind.lattice(
            free_target=wishes.free_target, free_interval=wishes.free_interval
        )
        listed = shortlist(self.cells, lattice, default)
        known = [wishes.base, default, *([self.textbook] if self.textbook else [])]
        self.base = 0
        #: None is what each cell has of its own.
        self.laws: list[Aqm | None] = []
        #: The least gain margin of each (dB), NaN where there is no loop.
        self.margins: list[float] = []
        designed = [law for law in (*known, *listed) if has_gains(law)]
        margins = iter(least_margins(self.cells, designed))
        #: Who is compared with, and keeps too little margin to be the answer.
        self.barred: set[int] = set()
        for place, law in enumerate((*known, *listed)):
            margin = float(next(margins)) if has_gains(law) else math.nan
            fit = margin >= wishes.floor_db
            if any(law == other for other in self.laws) or not (fit or place < len(known)):
                continue
            if place > 0 and not fit:  # what runs now can always be kept
                self.barred.add(len(self.laws))
            self.laws.append(law)
            self.margins.append(margin)
        self.scenarios = [
            [
                cell.with_aqm(own if law is None else law).scenario
                for cell, own in zip(self.cells, wishes.bases, strict=True)
            ]
            for law in self.laws
        ]

    def place(self, law: Aqm | None) -> int:
        """Return which of the candidates a queue is."""
        return next(i for i, known in enumerate(self.laws) if known == law)

    @property
    def names(self) -> list[str]:
        """What to call the candidates."""
        names = ["own" if law is None else self.kind.name_of(law) for law in self.laws]
        if names[self.base] in names[self.base + 1 :]:  # which names do not tell
            names[self.base] += " (now)"
        return names


def textbook_of(kind: Kind, traffic: Traffic, design: Callable[..., Design]) -> PiFamily | None:
    """Return the design for the longest round-trip time of some traffic, as the kernel runs it.

    None where the margins cannot be had, and without long flows.
    """
    if not any(cell.windows for cell in traffic.cells):
        return None
    rtt = traffic.longest_rtt + float(kind.default.target)
    name: Any = kind_of(kind.default)
    requests: list[dict[str, Any]] = [{"aqm": kind.default}]
    if name is not None:
        requests.append({"aqm": name, "target": float(kind.default.target)})
    for request in requests:
        try:
            law = design(rtt, hz=kind.hz if kind.tc else None, **request).aqm
            names = ("alpha", "beta", "update_interval")
            return kind.law(**{name: float(getattr(law, name)) for name in names})
        except (DomainError, UnsupportedError):
            continue
    return None


def _described(
    wishes: Wishes, field: _Field, race: Race, runner: Runner, cpu: float
) -> Recommendation:
    leader = race.leader
    base_wins = leader == race.base or not race.certainly_better(leader)
    chosen = race.base if base_wins else leader
    law = field.laws[chosen]
    measured = [i for i in sorted(race.tallies) if race.seeds_of(i) >= 2]
    references = {"default": wishes.kind.default, "textbook": field.textbook, "now": wishes.base}
    known = {
        name: runner.measured[field.place(other)]
        for name, other in references.items()
        if not (name == "textbook" and other is None) and field.place(other) in race.tallies
    }
    attrs: dict[str, str | float] = {
        "runs": float(runner.runs),
        "cpu": cpu,
        "stopped": race.stopped,
        "value": wishes.value,
    }
    outcomes = comparison(
        [runner.measured[i] for i in measured],
        known,
        _labels(wishes, field, race, measured, chosen),
        [cell.name for cell in field.cells],
        attrs,
    )
    family = wishes.traffic
    margins, keeps = {}, [math.nan, math.nan]
    if has_gains(law) and (windows := [c.windows[1] for c in field.cells if c.windows]):
        ends = {"longest": family.longest_rtt, "typical": family.typical_rtt}
        for name, rtt in ends.items():
            if (at := standing(field.cells, law, rtt)) is not None:
                margins[name] = at
        keeps = [rtt_that_keeps(law, max(windows), db) for db in _DB]
    return Recommendation(
        aqm=law,
        base=wishes.base,
        textbook=field.textbook,
        _kind=wishes.kind,
        traffic=family,
        _bases=wishes.bases,
        value=wishes.value,
        loss=wishes.loss,
        floor_db=wishes.floor_db,
        kept=base_wins,
        _compared=outcomes,
        margins=margins,
        rtt_6db=keeps[0],
        rtt_0db=keeps[1],
        runs=runner.runs,
        cpu=cpu,
        stopped=race.stopped,
        cut_short=race.cut_short,
    )


def _labels(
    wishes: Wishes, field: _Field, race: Race, measured: Sequence[int], chosen: int
) -> dict[str, Column]:
    laws = [field.laws[i] for i in measured]
    dims = ("candidate",)

    def numbers(name: str) -> FloatArray:
        values = [getattr(law, name, None) for law in laws]
        return np.array([math.nan if value is None else float(value) for value in values])

    scores = [race.against(i, race.base) for i in measured]
    away = [race.against(i, race.base).bound(0.025) - race.against(i, race.base).mean
            for i in measured]  # fmt: skip
    margins = [field.margins[i] for i in measured]
    what = ["" for _ in measured]
    for place, i in enumerate(measured):
        roles = [
            ("base", i == race.base),
            ("default", field.laws[i] == wishes.kind.default),
            ("textbook", field.textbook is not None and field.laws[i] == field.textbook),
            ("chosen", i == chosen),
            ("loses rate", i in race.ruled_out),
        ]
        what[place] = ", ".join(role for role, is_it in roles if is_it)
    names = [field.names[i] for i in measured]
    return {
        "candidate": Column(dims, np.array(names), "1", "candidate, by its gains"),
        "alpha": Column(dims, numbers("alpha"), "Hz", "integral gain"),
        "beta": Column(dims, numbers("beta"), "Hz", "proportional gain"),
        "update_interval": Column(dims, numbers("update_interval"), "s", "time between updates"),
        "target": Column(dims, numbers("target"), "s", "target queue delay"),
        "role": Column(dims, np.array(what), "1", "what it is"),
        "seeds": Column(dims, np.array([race.seeds_of(i) for i in measured]), "1", "seeds"),
        "score": Column(
            dims, np.array([x.mean for x in scores]), "1", "cost less that of the base"
        ),
        "score_error": Column(
            dims, np.array(away), "1", "half of its interval of 95 %"
        ),
        "gain_margin_db": Column(
            dims, np.array(margins), "dB", "least by acknowledgements where windows are largest"
        ),
    }  # fmt: skip
