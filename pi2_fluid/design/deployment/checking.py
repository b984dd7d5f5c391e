"""`check`: whether the queues that tc shows are stable, how narrowly, and what would help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from pi2_fluid.design.caveats import caveat
from pi2_fluid.design.deployment.remedies import Remedy, find_remedy, on_device
from pi2_fluid.design.design import WorstCase
from pi2_fluid.design.guarantees.guarantee import guarantee
from pi2_fluid.design.plants import make_plants
from pi2_fluid.design.region import Region, Worst, exact_margins, stable_up_to, worst_margins
from pi2_fluid.design.request import LONGEST_INTERVAL, Spans, make_region
from pi2_fluid.errors import DomainError
from pi2_fluid.loop.margins import Margins
from pi2_fluid.loop.modes import MODES
from pi2_fluid.model.sender import Sender
from pi2_fluid.model.senders.reno import Reno
from pi2_fluid.qdisc import Qdisc, parse
from pi2_fluid.units import validate_choice, validate_number

__all__ = ["Checked", "Verdict", "check"]

_RTT: Final = 0.1  # s, the largest that RFC 9332 and the PI2 paper design for
_WORST_FIRST: Final = ("unstable", "undecided", "stable")
_NOTES: Final = {
    "pie": "Judged from p = 1e-6 on, where its table ends.",
    "fq_pie": (
        "Each flow has a queue of its own: judged is one flow alone in its queue, from p = 1e-6"
        " on, where the table ends."
    ),
    "dualpi2": (
        "Judged as its controller in one queue; not covered is L4S beside Classic traffic, in two"
        " queues."
    ),
}


@dataclass(frozen=True)
class _Cure:
    """The search for a remedy, made once for all queues that are alike, and only if asked for."""

    qdisc: Qdisc
    region: Region
    margins: Margins
    mode: str

    @cached_property
    def remedy(self) -> Remedy:
        return find_remedy(self.qdisc, self.region, self.margins, self.mode)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether a queue is stable up to a round-trip time, at every load.

    Attributes
    ----------
    qdisc : Qdisc
        What is judged, as installed.
    verdict : {"stable", "unstable", "undecided"}
        For round-trip times in the loop from `min_rtt` to `rtt` and all loads, each sender on its
        own.
    rtt, min_rtt : float
        In the loop (s), the queue's target included.
    stable_up_to : float
        Largest round-trip time in the loop (s) that is stable at every load; inf beyond 20 times
        `rtt`, 0 if `min_rtt` is unstable.
    margins : Margins
        The smallest there.
    worst : WorstCase
        Where the gain margin is smallest; its ``p_prime`` is 0 for the limit of no load.
    guarantee : {"proved", "checked"}
        Whether the margins, less a thousandth, are proved for the whole region, or the smallest
        found on a grid that is refined around the worst.
    margin_lost_db : float
        What rounding and late timers cost of the gain margin there: asked for less installed (dB),
        negative where they help.
    """

    qdisc: Qdisc
    verdict: str
    rtt: float
    min_rtt: float
    stable_up_to: float
    margins: Margins
    worst: WorstCase
    guarantee: str
    margin_lost_db: float
    _cure: _Cure = field(repr=False, compare=False)

    @property
    def path_up_to(self) -> float:
        """`stable_up_to` without the target: the longest path (s), 0 if there is none."""
        return max(self.stable_up_to - float(self.qdisc.aqm.target), 0.0)

    @property
    def note(self) -> str:
        """What the verdict is of, and what it does not cover."""
        return " ".join(filter(None, (_NOTES[self.qdisc.kind], caveat([self.worst.sender]))))

    @cached_property
    def remedy(self) -> Remedy:
        """What one would change; found when asked for, as it is a search."""
        return on_device(self._cure.remedy, self.qdisc)

    def __str__(self) -> str:
        return (
            f"{self.qdisc.kind} {self.qdisc.handle} up to {1e3 * self.rtt:.4g} ms in the loop:"
            f" {self.verdict}, at least {self.margins.gain_margin_db:.2f} dB and"
            f" {self.margins.phase_margin_deg:.2f} deg"
        )


class Checked(list[Verdict]):
    """A `Verdict` for each queue that `check` has found; in `foreign` those it has skipped."""

    def __init__(self, verdicts: list[Verdict], foreign: list[str]) -> None:
        super().__init__(verdicts)
        self.foreign = foreign

    @property
    def verdict(self) -> str:
        """The worst of them."""
        return min((one.verdict for one in self), key=_WORST_FIRST.index)


def check(
    text: str,
    *,
    rtt: Any = None,
    min_rtt: Any = None,
    senders: Sequence[Sender] = (Reno(),),
    hz: int = 1000,
    mode: str = "sampled",
) -> Checked:
    """Say of each queue that tc shows whether it is stable, as the kernel runs it.

    Parameters
    ----------
    text : str
        The output of ``tc qdisc show``, see `qdisc.parse`.
    rtt : float or str, optional
        The largest round-trip time in the loop, the target delay of the queue included (s). By
        default 100 ms.
    min_rtt : float or str, optional
        The smallest (s). By default the queue's target, or a hundredth of its update interval if
        that is more: no loop through a queue at its target is shorter.
    senders : sequence of Reno, CReno, Cubic or Scalable
        Each is judged on its own.
    hz : int
        The kernel's ticks per second (CONFIG_HZ).
    mode : {"sampled", "delayed", "continuous"}
        How the update interval is seen, as in `Loop`; a kernel's is sampled.

    Returns
    -------
    Checked
        A list of `Verdict`, in the order of the text.

    Raises
    ------
    QuantityError, DomainError
        As `qdisc.parse`; if a target is not below `rtt`, or `min_rtt` is above it.
    UnsupportedError
        If sender and queue have no closed form to judge with.

    Notes
    -----
    PIE is judged from p = 1e-6 on, where its table ends. Of DualPI2 it is the controller in one
    queue; L4S beside Classic traffic, in two queues, is not covered. In fq_pie it is
    one flow alone in its queue. The margins are the smaller of two models: with R held constant in
    the window law, as in the papers, and without.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> asked = pf.qdisc.install(pf.presets.pi2_paper(), "dualpi2")
    >>> found = pf.check(pf.qdisc.show(asked), rtt="100ms")
    >>> print(found[0])
    dualpi2 0: up to 100 ms in the loop: stable, at least 0.23 dB and 0.55 deg
    >>> found.verdict, f"{1e3 * found[0].stable_up_to:.1f} ms"
    ('stable', '101.2 ms')
    """
    validate_choice(mode, MODES, "mode")
    longest = validate_number(_RTT if rtt is None else rtt, "time", "rtt")
    shortest = None if min_rtt is None else validate_number(min_rtt, "time", "min_rtt")
    found = parse(text, hz=hz)
    # Queues of many hardware queues are alike: each kind of them is judged once.
    judged: dict[Any, Verdict] = {}
    verdicts = []
    for queue in found:
        alike = (queue.kind, *queue.asked.values())
        if alike not in judged:
            judged[alike] = _judge(queue, longest, shortest, senders, mode)
        verdicts.append(replace(judged[alike], qdisc=queue))
    return Checked(verdicts, found.foreign)


def _judge(qdisc: Qdisc, rtt: float, min_rtt: float | None, senders: Any, mode: str) -> Verdict:
    """Return the verdict of one queue."""
    law = qdisc.aqm
    region = make_region(_spans(qdisc, rtt, min_rtt), senders, law, None, None)
    found = worst_margins(region, law, mode)
    limit = stable_up_to(region, law, mode)
    proof = guarantee(region, law, found, mode)
    found = proof.worst
    # The grid of the limit is coarser in the load, but finds what lies between.
    verdict = "unstable" if limit < rtt else str(found.margins.verdict)
    return Verdict(
        qdisc=qdisc,
        verdict=verdict,
        rtt=rtt,
        min_rtt=region.min_rtt,
        stable_up_to=limit,
        margins=found.margins,
        worst=WorstCase(found.rtt, found.p_prime, found.sender),
        guarantee=proof.kind,
        margin_lost_db=_lost(qdisc, found, mode),
        _cure=_Cure(qdisc, region, found.margins, mode),
    )


def _spans(qdisc: Qdisc, rtt: float, min_rtt: float | None) -> Spans:
    """Return the round-trip times to look at.

    Raises
    ------
    DomainError
        If there are none.
    """
    name, target = f"{qdisc.kind} {qdisc.handle}", float(qdisc.aqm.target)
    if target >= rtt:
        raise DomainError(
            f"the target {target:g} s of {name} is not below rtt = {rtt:g} s, which includes it:"
            " give a larger rtt, path and target together."
        )
    least = float(qdisc.aqm.update_interval) / LONGEST_INTERVAL
    shortest = max(target, least) if min_rtt is None else min_rtt
    if not least <= shortest <= rtt:
        raise DomainError(
            f"min_rtt = {shortest:g} s of {name} is outside [{least:g}, {rtt:g}] s, a hundredth of"
            " its update interval to rtt: give one within, or another rtt."
        )
    return Spans(rtt, shortest, target)


def _lost(qdisc: Qdisc, found: Worst, mode: str) -> float:
    """Return the gain margin asked for less that installed, at the worst place (dB)."""
    alpha, beta, interval = (float(qdisc.asked[word]) for word in ("alpha", "beta", "tupdate"))
    plant = make_plants((found.sender,), qdisc.aqm, found.rtt, [found.p_prime])
    asked = float(exact_margins(plant, alpha, beta, interval, mode).gain_margin_db)
    installed = float(found.margins.gain_margin_db)
    return 0.0 if asked == installed else asked - installed
