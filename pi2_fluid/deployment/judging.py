"""One queue judged: by both clocks, and under each reading of what tc shows of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pi2_fluid.deployment.buffers import rate_held, too_small
from pi2_fluid.deployment.strangers import Longest
from pi2_fluid.deployment.ticks import words_on_ticks
from pi2_fluid.deployment.verdicts import Case, Cure, Verdict, unsaid, worst_of
from pi2_fluid.design.asked import LONGEST_INTERVAL, Spans, make_region
from pi2_fluid.design.by_acks import stable_up_to_by_acks, worst_by_acks
from pi2_fluid.design.design import WorstCase
from pi2_fluid.design.guarantees.guarantee import guarantee
from pi2_fluid.design.region import Worst, exact_margins, loop_at, stable_up_to, worst_margins
from pi2_fluid.errors import DomainError
from pi2_fluid.network.long_flows import LongFlows
from pi2_fluid.tc.qdisc import Qdisc


class Question(NamedTuple):
    """What is asked of every queue; `rate_of` says whose the rate is, where it was not given."""

    longest: Longest
    shortest: float | None
    senders: Any
    long_flows: LongFlows
    update: str
    rate_of: str = ""

    @property
    def rate(self) -> float | None:
        """Of the link (bit/s), None if it is not known."""
        return None if self.long_flows.rate is None else float(self.long_flows.rate)

    def on_link(self, rate: float | None, whose: str) -> Question:
        """Return the question at the rate (bit/s) of a link in the text, if none is given."""
        if self.rate is not None or rate is None:
            return self
        return self._replace(long_flows=replace(self.long_flows, rate=rate), rate_of=whose)


def decide(found: Sequence[Qdisc], question: Question) -> Verdict:
    """Return the verdict of one queue, from what it is under each reading of it.

    Where there are several, the one with the least margin stands for them.
    """
    if len(found) == 1:
        verdict = _judge(found[0], question, prove=True)
    else:
        verdicts = [_judge(one, question, prove=False) for one in found]
        cases = tuple(
            Case(
                one.qdisc.hz,
                one.qdisc.kernel.name,
                float(one.qdisc.aqm.update_interval),
                one.verdict,
                one.stable_up_to,
                one.least.gain_margin_db,
                one.least.phase_margin_deg,
            )
            for one in verdicts
        )
        verdict = min(verdicts, key=lambda one: (one.stable_up_to, one.least.gain_margin_db))
        same = len({one.verdict for one in verdicts}) == 1
        if same and verdict.verdict == "stable":
            verdict = _judge(verdict.qdisc, question, prove=True)
        verdict = replace(verdict, cases=cases)
        if not same:
            verdict = replace(
                verdict,
                verdict="undecided",
                reason=f"it depends on the kernel: give {unsaid(cases)}.",
            )
    notes = tuple(filter(None, [words_on_ticks(verdict)]))
    if tail := too_small(verdict.qdisc, question.rate):
        verdict = replace(verdict, verdict="undecided", reason=tail)
    return replace(verdict, _notes=notes)


def _judge(qdisc: Qdisc, question: Question, *, prove: bool) -> Verdict:
    """Return the verdict of a queue as installed."""
    law, update = qdisc.aqm, question.update
    spans = _spans(qdisc, question)
    region = make_region(spans, question.senders, law, None, question.long_flows)
    worst = worst_margins(region, law, update)
    acks, text = worst_by_acks(region, law, update)
    limit = min(stable_up_to(region, law, update), stable_up_to_by_acks(region, law, update))
    kind = "checked"
    if prove:
        proof = guarantee(region, law, worst, update)
        worst, kind = proof.worst, proof.kind
    # The grid of the limit is coarser in the load, but finds what lies between.
    verdicts = [str(worst.margins.verdict)] + ([] if acks is None else [str(acks.margins.verdict)])
    verdicts += ["unstable"] if limit < spans.max_rtt else []
    ack_margins = None if acks is None else acks.margins
    return Verdict(
        qdisc=qdisc,
        verdict=worst_of(verdicts),
        rtt=spans.max_rtt,
        min_rtt=region.min_rtt,
        stable_up_to=limit,
        margins=worst.margins,
        worst=WorstCase(worst.rtt, worst.p_prime, worst.sender),
        guarantee=kind,
        long_flows=question.long_flows,
        _rate_of=question.rate_of,
        margin_lost_db=_lost(qdisc, worst, update),
        rate_held=rate_held(qdisc),
        ack_margins=ack_margins,
        ack_worst=None if acks is None else WorstCase(*acks.place),
        _why_no_acks=text if acks is None else "",
        _cure=Cure(qdisc, region, worst.margins, ack_margins, update),
    )


def _spans(qdisc: Qdisc, question: Question) -> Spans:
    """Return the round-trip times to look at, the target included.

    Raises
    ------
    DomainError
        If there are none.
    """
    name, target = qdisc.name, float(qdisc.aqm.target)
    with_queue = question.longest.with_queue
    added = 0.0 if with_queue else target
    rtt = question.longest.rtt + added
    if target >= rtt:
        raise DomainError(
            f"the target {target:g} s of {name} is not below rtt = {rtt:g} s, which includes it:"
            " give a larger rtt, path and target together, or max_base_rtt."
        )
    least = float(qdisc.aqm.update_interval) / LONGEST_INTERVAL
    shortest = max(target, least) if question.shortest is None else question.shortest + added
    if not least <= shortest <= rtt:
        raise DomainError(
            f"min_rtt = {shortest:g} s of {name} is outside [{least:g}, {rtt:g}] s, from a"
            " hundredth of its update interval to rtt: give one within, or another rtt."
        )
    return Spans(rtt, shortest, target)


def _lost(qdisc: Qdisc, found: Worst, update: str) -> float:
    """Return the gain margin asked for less that installed, at the worst place (dB)."""
    alpha, beta, interval = (float(qdisc.asked[word]) for word in ("alpha", "beta", "tupdate"))
    plant = loop_at(qdisc.aqm, found.sender, found.rtt, found.p_prime)
    asked = float(exact_margins(plant, alpha, beta, interval, update).gain_margin_db)
    installed = float(found.margins.gain_margin_db)
    return 0.0 if asked == installed else asked - installed
