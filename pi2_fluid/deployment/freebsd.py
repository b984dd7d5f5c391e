"""PIE of FreeBSD judged: the same loop as Linux's, with gains and a timer of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from pi2_fluid.deployment.judging import Question, decide
from pi2_fluid.deployment.rules import codel_rules
from pi2_fluid.deployment.strangers import Stranger
from pi2_fluid.deployment.verdicts import Verdict
from pi2_fluid.errors import DomainError, QuantityError
from pi2_fluid.laws.clocked import NO_LOOP
from pi2_fluid.tc.dummynet import Shaper

_OTHERWISE: Final = (
    "FreeBSD's PIE follows RFC 8033: gains in steps of 1/8192 Hz, T as asked (Linux's timer is a"
    " tick late), and nothing added above 250 ms."
)
_ESTIMATED: Final = (
    "With DRE the delay is estimated, from the backlog and the time that 16 KB took to leave; the"
    " verdict takes it to be exact. TS measures it."
)
_RESET: Final = (
    "FreeBSD's FQ_PIE forgets p, and grants max_burst anew, whenever a flow's queue runs empty: the"
    " verdict is of a flow that keeps its queue."
)
_ON_OFF: Final = (
    "With OnOff PIE signals nothing from an empty queue until a third of it is full: the verdict is"
    " of PIE while it is on."
)


def judge_shapers(
    shapers: Iterable[Shaper], question: Question, rtt: float | None = None
) -> tuple[list[Verdict], list[Stranger], list[QuantityError | DomainError]]:
    """Return the verdicts, what is there besides, and why some could not be read or judged.

    The rate of a link that is printed is taken where none was given. `rtt` is the longest
    round-trip time (s) that was given, for the rules of CoDel.
    """
    verdicts: list[Verdict] = []
    others: list[Stranger] = []
    refusals: list[QuantityError | DomainError] = []
    for shaper in shapers:
        if shaper.qdisc is None and shaper.trouble is None:
            kind = {"CoDel": "codel", "FQ_CODEL": "fq_codel"}[shaper.kind]
            given = question.on_link(shaper.rate, "").rate
            rules = codel_rules(kind, shaper.times, given, rtt) if shaper.times else ()
            others.append(
                Stranger(shaper.name, shaper.kind, None, NO_LOOP[kind], rules=rules, rate=given)
            )
            continue
        try:
            if shaper.qdisc is None:
                raise shaper.trouble or AssertionError
            verdict = decide(
                [shaper.qdisc], question.on_link(shaper.rate, "that of its pipe or link")
            )
            verdicts.append(replace(verdict, _notes=_notes_on(shaper)))
        except (QuantityError, DomainError) as error:
            refusals.append(error)
            others.append(Stranger(shaper.name, shaper.kind, "undecided", str(error)))
    return verdicts, others, refusals


def _notes_on(one: Shaper) -> tuple[str, ...]:
    asked = {} if one.qdisc is None else one.qdisc.asked
    said = (
        (_OTHERWISE, True),
        (_ESTIMATED, asked.get("dre")),
        (_RESET, one.kind == "FQ_PIE"),
        (_ON_OFF, asked.get("onoff") and one.kind == "PIE"),
    )
    return tuple(note for note, holds in said if holds)
