"""`check`: whether the queues that tc shows are stable, how narrowly, and what would help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pi2_fluid.deployment.buffers import rate_held, too_small
from pi2_fluid.deployment.paths import PathVerdict, judge_path, longest_through, require_devices
from pi2_fluid.deployment.readings import common_hz, readings
from pi2_fluid.deployment.remedies import Remedy, find_remedy, is_enough, on_device
from pi2_fluid.deployment.strangers import Longest, Stranger, judge_stranger, unread
from pi2_fluid.design.asked import LONGEST_INTERVAL, Spans, make_region
from pi2_fluid.design.by_acks import stable_up_to_by_acks, worst_by_acks
from pi2_fluid.design.caveats import caveat
from pi2_fluid.design.clocks import Least, least_of, said
from pi2_fluid.design.design import WorstCase
from pi2_fluid.design.guarantees.guarantee import guarantee
from pi2_fluid.design.plants import make_plants
from pi2_fluid.design.region import Region, Worst, exact_margins, stable_up_to, worst_margins
from pi2_fluid.errors import DomainError, QuantityError, renamed, show_value
from pi2_fluid.laws.sender import Sender
from pi2_fluid.laws.senders.reno import Reno
from pi2_fluid.loop.margins import Margins
from pi2_fluid.loop.updates import UPDATES
from pi2_fluid.tc import Qdisc
from pi2_fluid.tc.blocks import Block, blocks_of
from pi2_fluid.tc.generations import NEWEST, Generation, generation_of
from pi2_fluid.tc.parsing import nothing_of_ours, require_hz
from pi2_fluid.units import validate_choice, validate_number

if TYPE_CHECKING:
    from pi2_fluid.network.network import Network
    from pi2_fluid.values import Quantity

__all__ = ["Case", "Checked", "Verdict", "check"]

_RTT: Final = 0.1  # s, the largest that RFC 9332 and the PI2 paper design for
_WORST_FIRST: Final = ("unstable", "undecided", "stable")
_NOTES: Final = {
    "pie": "PIE is judged from p = 1e-6 on, where its table ends.",
    "fq_pie": (
        "In fq_pie each flow has a queue of its own: judged is one flow alone in its queue, from"
        " p = 1e-6 on, where the table ends."
    ),
    "dualpi2": (
        "DualPI2 is judged as its controller in one queue; L4S beside Classic traffic, in two"
        " queues, is not covered."
    ),
}
_MODELS: Final = {
    "sampled": "the sampled model, an average over packets under a controller that updates every T",
    "delayed": "the model with a delay of T/2 for the update interval",
    "continuous": "the continuous model, which knows no update interval",
}
_OF_A_MODEL: Final = (
    "Verdicts and margins are those of {}. Packets keep less where windows are small: some 3 dB"
    " less with four segments per flow."
)
_CLOCKS: Final = (
    "By rates flows send their window over the round-trip time, by acknowledgements (on a grid) as"
    " these come; the smaller margin decides."
)
_OLD_GAINS: Final = (
    "Up to Linux 5.0 integers cut PIE's gains by up to 7 % more below p = 10 %, which is not in the"
    " verdict."
)
_NEW_ASSUMED: Final = (
    "PIE is taken for that of Linux 5.1 and newer, as no statistics (tc -s) say otherwise: for"
    " an older kernel give its version."
)
_STEP: Final = "A step_thresh that counts packets plays no part in the verdict."


class Case(NamedTuple):
    """What a queue is under one reading of what tc shows of it.

    `hz` is the kernel's CONFIG_HZ, `kernel` its versions in words; margins are the smaller of both
    clocks, and the rest is as in `Verdict`.
    """

    hz: int
    kernel: str
    update_interval: float
    verdict: str
    stable_up_to: float
    gain_margin_db: float
    phase_margin_deg: float


@dataclass(frozen=True)
class _Cure:
    """The search for a remedy, made once for all queues that are alike, and only if asked for."""

    qdisc: Qdisc
    region: Region
    margins: Margins
    ack_margins: Margins | None
    update: str

    @cached_property
    def remedy(self) -> Remedy:
        both = self.margins, self.ack_margins
        return find_remedy(self.qdisc, self.region, *both, self.update)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether a queue is stable up to a round-trip time, at every load, in the model of `update`.

    Judged by rates, as in the papers, and by acknowledgements: the smaller margin decides.

    Attributes
    ----------
    qdisc : Qdisc
        What is judged, as installed; of several `cases` the one with the least margin.
    verdict : {"stable", "unstable", "undecided"}
        For round-trip times, queue included, from `min_rtt` to `rtt` and all loads, each sender on
        its own; "undecided" also where the `cases` differ, or the buffer is too small to judge.
    reason : str
        Why it is undecided, in a sentence; "" where it is not, or by a margin of 0 alone.
    rtt, min_rtt : float
        Round-trip times (s), the queue's target included.
    stable_up_to : float
        Largest round-trip time (s), queue included, that is stable at every load by both clocks;
        inf beyond 20 times `rtt`, 0 if `min_rtt` is unstable.
    margins : Margins
        The smallest there, by rates.
    worst : WorstCase
        Where that gain margin is smallest; its ``p_prime`` is 0 for the limit of no load.
    ack_margins : Margins or None
        The smallest found by acknowledgements, on a grid; None where there is no such loop, of
        which `note` says why.
    ack_worst : WorstCase or None
        Where that gain margin is smallest.
    least : Least
        The smaller gain margin and phase margin of both clocks, and whose each is. That of the gain
        margin decides.
    guarantee : {"proved", "checked"}
        Whether the margins by rates, less a thousandth, are proved for the whole region, or the
        smallest found on a grid that is refined around the worst.
    margin_lost_db : float
        What rounding and late timers cost of the gain margin there: asked for less installed (dB),
        negative where they help.
    rate_held : float
        The rate of the link (bit/s) above which the buffer is full below the target.
    cases : tuple of Case
        The verdict for each kernel that can have shown this queue, if there are several: by
        CONFIG_HZ, and by the generation of PIE. Empty if there is one.
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
    rate_held: float
    ack_margins: Margins | None = None
    ack_worst: WorstCase | None = None
    reason: str = ""
    cases: tuple[Case, ...] = ()
    _notes: tuple[str, ...] = field(default=(), repr=False, compare=False)
    _why_no_acks: str = field(default="", repr=False, compare=False)
    _cure: _Cure = field(repr=False, compare=False)

    @property
    def least(self) -> Least:
        """The smaller margins of both clocks, with the clock of each."""
        return least_of(self.margins, self.ack_margins)

    @property
    def path_up_to(self) -> float:
        """`stable_up_to` without the target: the longest path (s), 0 if there is none."""
        return max(self.stable_up_to - float(self.qdisc.aqm.target), 0.0)

    @property
    def decisive(self) -> WorstCase:
        """Where the smaller gain margin of both clocks is."""
        acks = self.ack_worst if self.least.gain_clock == "acks" else None
        return self.worst if acks is None else acks

    @property
    def window(self) -> float:
        """The window (packets) of a flow in the `decisive` case; inf in the limit of no load."""
        worst = self.decisive
        plant = make_plants((worst.sender,), self.qdisc.aqm, worst.rtt, [worst.p_prime])
        per_window = float(plant.mu[0])
        return 1.0 / per_window if per_window > 0.0 else float("inf")

    @property
    def note(self) -> str:
        """What the verdict is of, and what it does not cover."""
        return " ".join(self.notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """The sentences of `note`."""
        model = _OF_A_MODEL.format(_MODELS[self.margins.update])
        clocks = self._why_no_acks or _CLOCKS
        cubic = caveat([self.worst.sender])
        return tuple(filter(None, (model, clocks, _NOTES[self.qdisc.kind], *self._notes, cubic)))

    @cached_property
    def remedy(self) -> Remedy:
        """What one would change; found when asked for, as it is a search."""
        if self.cases and not is_enough(self.margins, self.ack_margins):
            return Remedy(text=f"first give {_unsaid(self.cases)}: the line depends on it.")
        return on_device(self._cure.remedy, self.qdisc)

    def __str__(self) -> str:
        return (
            f"{self.qdisc.kind} {self.qdisc.handle} up to {1e3 * self.rtt:.4g} ms round trip:"
            f" {self.verdict} in the {self.margins.update} model, at least {said(self.least)}"
        )


class Checked(list[Verdict]):
    """A `Verdict` for each queue that `check` has judged.

    In `others` there is a `Stranger` for each of the other queues, and for those that could not be
    read or judged. If a network was given, `path` is the `PathVerdict` of all of its queues
    together, else None.
    """

    def __init__(
        self, verdicts: list[Verdict], others: list[Stranger], path: PathVerdict | None = None
    ) -> None:
        super().__init__(verdicts)
        self.others = others
        self.path = path

    @property
    def foreign(self) -> list[str]:
        """The names of queues that have no loop here."""
        return [one.name for one in self.others if one.verdict is None]

    @property
    def verdict(self) -> str:
        """The worst of them; "undecided" if there is none."""
        found = [one.verdict for one in self]
        found += [one.verdict for one in self.others if one.verdict is not None]
        found += [] if self.path is None else [self.path.verdict]
        return min(found, key=_WORST_FIRST.index, default="undecided")


@renamed(mode="update")
def check(
    text: str,
    *,
    rtt: Quantity | None = None,
    max_base_rtt: Quantity | None = None,
    min_rtt: Quantity | None = None,
    senders: Sequence[Sender] = (Reno(),),
    rate: Quantity | None = None,
    hz: int | None = None,
    kernel: str | None = None,
    network: Network | None = None,
    update: str = "sampled",
) -> Checked:
    """Say of each queue that tc shows whether it is stable, as the kernel runs it.

    Parameters
    ----------
    text : str
        The output of ``tc qdisc show``, see `qdisc.parse`; with ``-s`` it says more.
    rtt : float or str, optional
        The largest round-trip time, the target delay of the queue included (s). By
        default 100 ms.
    max_base_rtt : float or str, optional
        Instead of it the largest round-trip time of a path, to which each queue adds its target.
    min_rtt : float or str, optional
        The smallest (s), of a path if `max_base_rtt` is given. By default the queue's target, or a
        hundredth of its update interval if that is more: no loop through a queue at its target is
        shorter.
    senders : sequence of Reno, CReno, Cubic or Scalable
        Each is judged on its own.
    rate : float or str, optional
        Of the link (bit/s). RED is judged only with it; of other queues it says whether the buffer
        is large enough. Without it, a buffer must hold the target up to 10 Mbit/s.
    hz : int, optional
        The kernel's ticks per second (CONFIG_HZ), which matter for PIE. Without it, PIE is judged
        for each of 100, 250, 300 and 1000 that can show the update intervals of all queues.
    kernel : str, optional
        Its version, as ``uname -r`` prints it. Without it, PIE is that of Linux 5.1 and newer,
        unless its statistics are those of an older one: then it is judged for each that they can
        be of.
    network : Network, optional
        Flows, and the nodes that they cross, which are called like devices. Each queue is then
        judged by itself up to the longest round-trip time through it, the targets of all queues on
        the way included, and all of them together where those flows rest. Nodes that tc does not
        show keep the queue of the network.
    update : {"sampled", "delayed", "continuous"}
        How the update interval is seen, as in `Loop`; a kernel's is sampled. Queues of a network
        that differ in it are "delayed" together.

    Returns
    -------
    Checked
        A list of `Verdict`, in the order of the text.

    Raises
    ------
    QuantityError, DomainError
        As `qdisc.parse`, if nothing else is there; if a target is not below `rtt`, or `min_rtt` is
        above it; if both `rtt` and `max_base_rtt` are given, or one of them beside a network; if
        several queues are shown for a node, or none signals where the flows rest.
    ScenarioError
        If no node of the network is called like a device that is shown.
    UnsupportedError
        If sender and queue have no closed form to judge with.

    Notes
    -----
    The verdict is of the model of `update`, not of packets, and of two clocks: flows that send
    their window over the round-trip time, as in the papers, and flows that send as acknowledgements
    come, on a grid. The smaller margin decides. PIE is judged from p = 1e-6 on, where its table
    ends. Of DualPI2 it is the controller in one queue; L4S beside Classic traffic, in two queues,
    is not covered. In fq_pie it is one flow alone in its queue. The margins by rates are the
    smaller of two models: with R held constant in the window law, as in the papers, and without.
    RED is judged by rates, at the longest path for numbers of flows from 1 on, with twice the
    probability of its profile, as Linux spaces its signals.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> asked = pf.qdisc.install(pf.presets.pi2_paper(), "dualpi2")
    >>> found = pf.check(pf.qdisc.show(asked), rtt="100ms")
    >>> print(found[0])
    dualpi2 0: up to 100 ms round trip: stable in the sampled model, at least 0.23 dB and 0.55 deg\
 by rates
    >>> found.verdict, f"{1e3 * found[0].stable_up_to:.1f} ms"
    ('stable', '101.2 ms')
    """
    if not isinstance(text, str):
        raise QuantityError(
            f"text = {show_value(text)} is no text: give the output of `tc qdisc show`."
        )
    question = _read_question(rtt, max_base_rtt, min_rtt, senders, rate, update)
    if hz is not None:
        require_hz(hz)
    generation = None if kernel is None else generation_of(kernel)
    blocks = [block for block in blocks_of(text) if not block.gone]
    if not any(block.kind for block in blocks):
        raise nothing_of_ours(text, [])
    common = common_hz(block for block in blocks if block.ours)
    longest: dict[str, Longest] = {}
    if network is not None:
        if rtt is not None or max_base_rtt is not None:
            raise DomainError(
                f"rtt = {show_value(rtt)} and max_base_rtt = {show_value(max_base_rtt)} are given"
                " beside a network, whose flows have their own: leave them out."
            )
        mine = require_devices(network, blocks)
        laws = {dev: readings(one, hz, generation, common)[0].aqm for dev, one in mine.items()}
        longest = {dev: Longest(longest_through(network, laws, dev), True) for dev in mine}
    # Queues of many hardware queues are alike: each kind of them is judged once.
    judged: dict[Any, Verdict] = {}
    verdicts: list[Verdict] = []
    others: list[Stranger] = []
    refusals: list[QuantityError | DomainError] = []
    for block in blocks:
        own = question._replace(longest=longest.get(block.dev or "", question.longest))
        if not block.ours:
            others.append(judge_stranger(block, own.longest, own.rate, senders))
            continue
        if block.offloaded:
            others.append(unread(block, _OFFLOADED))
            continue
        try:
            if block.trouble is not None:
                raise block.trouble
            found = readings(block, hz, generation, common)
            readable = ((one.kind, *one.asked.values(), one.hz, one.kernel) for one in found)
            alike = (own.longest, *readable)
            if alike not in judged:
                judged[alike] = _decide(found, own)
            notes = _notes_on(block, found, generation)
            verdicts.append(replace(judged[alike], qdisc=_placed(judged[alike], found),
                            _notes=notes))  # fmt: skip
        except (QuantityError, DomainError) as error:
            refusals.append(error)
            others.append(unread(block, str(error)))
    if refusals and not verdicts and len(refusals) == len(others):
        raise refusals[0]
    path = None
    if network is not None:
        placed = {one.qdisc.dev: one.qdisc for one in verdicts}
        queues = {dev: placed[dev] for dev in longest if dev in placed}
        path = judge_path(network, queues, update)
    return Checked(verdicts, others, path)


_OFFLOADED: Final = (
    "it runs in hardware (offloaded), which has a law of its own that tc does not show: not judged."
)


class _Question(NamedTuple):
    """What is asked of every queue."""

    longest: Longest
    shortest: float | None
    senders: Any
    rate: float | None
    update: str


def _read_question(
    rtt: Quantity | None,
    max_base_rtt: Quantity | None,
    min_rtt: Quantity | None,
    senders: Sequence[Sender],
    rate: Quantity | None,
    update: str,
) -> _Question:
    validate_choice(update, UPDATES, "update")
    if rtt is not None and max_base_rtt is not None:
        raise DomainError(
            f"rtt = {show_value(rtt)} and max_base_rtt = {show_value(max_base_rtt)} are both given:"
            " give one, the largest round-trip time with the queue or that of the path."
        )
    if max_base_rtt is None:
        longest = validate_number(_RTT if rtt is None else rtt, "time", "rtt")
    else:
        longest = validate_number(max_base_rtt, "time", "max_base_rtt")
    return _Question(
        Longest(longest, with_queue=max_base_rtt is None),
        None if min_rtt is None else validate_number(min_rtt, "time", "min_rtt"),
        senders,
        None if rate is None else validate_number(rate, "rate", "rate"),
        update,
    )


def _placed(verdict: Verdict, found: Sequence[Qdisc]) -> Qdisc:
    """Return the queue of a block under the reading that was judged of others like it."""
    like = (verdict.qdisc.hz, verdict.qdisc.kernel)
    return next(one for one in found if (one.hz, one.kernel) == like)


def _notes_on(
    block: Block, found: Sequence[Qdisc], generation: Generation | None
) -> tuple[str, ...]:
    notes = []
    if block.step_packets is not None:
        notes.append(_STEP)
    if any(one.kernel.variant != NEWEST.variant for one in found):
        notes.append(_OLD_GAINS)
    if block.kind == "pie" and generation is None and block.statistics is None:
        notes.append(_NEW_ASSUMED)
    return tuple(notes)


def _decide(found: Sequence[Qdisc], question: _Question) -> Verdict:
    """Return the verdict of one queue, from what it is under each reading of it.

    Where there are several, the one with the least margin stands for them.
    """
    if len(found) == 1:
        verdict = _judge(found[0], question, prove=True)
    else:
        each = [_judge(one, question, prove=False) for one in found]
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
            for one in each
        )
        verdict = min(each, key=lambda one: (one.stable_up_to, one.least.gain_margin_db))
        same = len({one.verdict for one in each}) == 1
        if same and verdict.verdict == "stable":
            verdict = _judge(verdict.qdisc, question, prove=True)
        verdict = replace(verdict, cases=cases)
        if not same:
            verdict = replace(
                verdict,
                verdict="undecided",
                reason=f"it depends on the kernel: give {_unsaid(cases)}.",
            )
    if tail := too_small(verdict.qdisc, question.rate):
        verdict = replace(verdict, verdict="undecided", reason=tail)
    return verdict


def _unsaid(cases: Sequence[Case]) -> str:
    """Return what would have to be known of the kernel."""
    parts = []
    if len({case.hz for case in cases}) > 1:
        parts.append("hz (its CONFIG_HZ, see /boot/config-*)")
    if len({case.kernel for case in cases}) > 1:
        parts.append("kernel (what uname -r prints)")
    return " and ".join(parts)


def _judge(qdisc: Qdisc, question: _Question, *, prove: bool) -> Verdict:
    """Return the verdict of a queue as installed."""
    law, update = qdisc.aqm, question.update
    spans = _spans(qdisc, question)
    region = make_region(spans, question.senders, law, None, None)
    found = worst_margins(region, law, update)
    acks, text = worst_by_acks(region, law, update)
    limit = min(stable_up_to(region, law, update), stable_up_to_by_acks(region, law, update))
    kind = "checked"
    if prove:
        proof = guarantee(region, law, found, update)
        found, kind = proof.worst, proof.kind
    # The grid of the limit is coarser in the load, but finds what lies between.
    verdicts = [str(found.margins.verdict)] + ([] if acks is None else [str(acks.margins.verdict)])
    verdicts += ["unstable"] if limit < spans.max_rtt else []
    ack_margins = None if acks is None else acks.margins
    return Verdict(
        qdisc=qdisc,
        verdict=min(verdicts, key=_WORST_FIRST.index),
        rtt=spans.max_rtt,
        min_rtt=region.min_rtt,
        stable_up_to=limit,
        margins=found.margins,
        worst=WorstCase(found.rtt, found.p_prime, found.sender),
        guarantee=kind,
        margin_lost_db=_lost(qdisc, found, update),
        rate_held=rate_held(qdisc),
        ack_margins=ack_margins,
        ack_worst=None if acks is None else WorstCase(*acks.place),
        _why_no_acks=text if acks is None else "",
        _cure=_Cure(qdisc, region, found.margins, ack_margins, update),
    )


def _spans(qdisc: Qdisc, question: _Question) -> Spans:
    """Return the round-trip times to look at, the target included.

    Raises
    ------
    DomainError
        If there are none.
    """
    name, target = f"{qdisc.kind} {qdisc.handle}", float(qdisc.aqm.target)
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
            f"min_rtt = {shortest:g} s of {name} is outside [{least:g}, {rtt:g}] s, a hundredth of"
            " its update interval to rtt: give one within, or another rtt."
        )
    return Spans(rtt, shortest, target)


def _lost(qdisc: Qdisc, found: Worst, update: str) -> float:
    """Return the gain margin asked for less that installed, at the worst place (dB)."""
    alpha, beta, interval = (float(qdisc.asked[word]) for word in ("alpha", "beta", "tupdate"))
    plant = make_plants((found.sender,), qdisc.aqm, found.rtt, [found.p_prime])
    asked = float(exact_margins(plant, alpha, beta, interval, update).gain_margin_db)
    installed = float(found.margins.gain_margin_db)
    return 0.0 if asked == installed else asked - installed
