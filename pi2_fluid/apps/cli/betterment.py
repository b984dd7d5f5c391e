"""What runs beside what would be better for those who send: `pi2-fluid check --traffic`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pi2_fluid.apps.cli.checked import name_of
from pi2_fluid.apps.cli.output import make_console
from pi2_fluid.apps.cli.pasting import in_shell
from pi2_fluid.errors import DomainError, UnsupportedError
from pi2_fluid.progress import Progress

if TYPE_CHECKING:
    from pi2_fluid.deployment.verdicts import Verdict
    from pi2_fluid.design.outcomes.recommendation import Recommendation
    from pi2_fluid.network.traffic import Traffic

#: Kinds of tc that are one queue for all flows, as scenarios have.
_ONE_QUEUE: Final = ("pie", "dualpi2")
_HZ: Final = 1000


class Bettered(NamedTuple):
    """Of a queue the recommendation and its line, or why there is none."""

    name: str
    best: Recommendation | None
    tc: str | None = None
    why_not: str = ""
    interrupted: bool = False


def find_better(verdicts: Sequence[Verdict], traffic: Traffic) -> list[Bettered]:
    """Return what would be better than each queue for some traffic; laws that are alike once."""
    from pi2_fluid.deployment.remedies import Remedy, on_device

    known: dict[Any, Bettered] = {}
    answers = []
    for verdict in verdicts:
        queue, law = verdict.qdisc, verdict.qdisc.aqm
        if (why := _why_not(verdict)) is not None:
            answers.append(Bettered(name_of(verdict), None, why_not=why))
            continue
        if law not in known:
            known[law] = _found(verdict, traffic)
        best = known[law].best
        line = None
        if best is not None and not best.kept:
            line = on_device(Remedy(text="", asked=best.aqm), queue).tc  # type: ignore[arg-type]
        answers.append(known[law]._replace(name=name_of(verdict), tc=line))
        if known[law].interrupted:
            break
    return answers


def _why_not(one: Verdict) -> str | None:
    queue = one.qdisc
    if queue.is_law:
        return "no kernel runs it under this name: ask tune, with --traffic and --aqm."
    if queue.kind not in _ONE_QUEUE:
        return f"in {queue.kind} each flow has a queue of its own, which no cell of traffic has."
    if one.cases:
        return "what runs depends on the kernel: give --hz, and --kernel if that is not enough."
    return None


def _found(verdict: Verdict, traffic: Traffic) -> Bettered:
    from pi2_fluid.design.outcomes.recommending import TuningInterrupted
    from pi2_fluid.design.tuning import tune

    queue = verdict.qdisc
    with Progress("racing", "runs at most") as progress:
        try:
            best = tune(traffic=traffic, aqm=queue.kind, base=queue, hz=queue.hz or _HZ,
                        progress=progress)  # fmt: skip
        except TuningInterrupted as interruption:
            return Bettered(name_of(verdict), interruption.recommendation, interrupted=True)
        except (DomainError, UnsupportedError) as error:
            return Bettered(name_of(verdict), None, why_not=str(error))
    return Bettered(name_of(verdict), best)


def print_better(answers: Sequence[Bettered], traffic: Traffic) -> None:
    """Print of each queue whether to leave it, or what one would gain and lose."""
    from pi2_fluid.design.outcomes.wording import gains_of, notes_of, outcomes_of

    console = make_console()
    for answer in answers:
        who = traffic.name or traffic.title or "this traffic"
        console.print(f"\n{answer.name}, for {who}", style="bold")
        if answer.best is None:
            console.print(f"Not compared: {answer.why_not}")
            continue
        console.print(gains_of(answer.best))
        if answer.tc is not None:
            console.print(in_shell(answer.tc), soft_wrap=True, style="bold")
        for line in ("", *outcomes_of(answer.best), ""):
            console.print(line, soft_wrap=True)
        for note in notes_of(answer.best):
            console.print(note)


def to_dict(one: Bettered) -> dict[str, Any]:
    """Return it as JSON takes it."""
    from pi2_fluid.design.outcomes.wording import gains_of

    return {
        "name": one.name,
        "text": None if one.best is None else gains_of(one.best),
        "tc": one.tc,
        "why_not": one.why_not or None,
        "recommendation": None if one.best is None else one.best.to_dict(),
    }
