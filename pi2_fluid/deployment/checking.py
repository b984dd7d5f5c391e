"""`check`: whether the queues that tc shows are stable, how narrowly, and what would help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pi2_fluid.deployment.counters import ONE_INSTANT, observed_of
from pi2_fluid.deployment.freebsd import judge_shapers
from pi2_fluid.deployment.judging import Question, decide
from pi2_fluid.deployment.paths import judge_path, longest_through, require_devices
from pi2_fluid.deployment.readings import common_hz, readings
from pi2_fluid.deployment.strangers import Known, Longest, Stranger, judge_stranger, unread
from pi2_fluid.deployment.trees import tree_of, waiting_of
from pi2_fluid.deployment.verdicts import Checked, Verdict
from pi2_fluid.errors import DomainError, QuantityError, renamed, show_value
from pi2_fluid.laws.aqms.pi_family import LOOP_WORDS, PiFamily
from pi2_fluid.laws.gains import has_gains
from pi2_fluid.laws.sender import Sender
from pi2_fluid.laws.senders.reno import Reno
from pi2_fluid.loop.updates import UPDATES
from pi2_fluid.network.long_flows import LongFlows
from pi2_fluid.tc.block import Block
from pi2_fluid.tc.generations import NEWEST, Generation, generation_of
from pi2_fluid.tc.observing import Reading, Series, observe, series_of
from pi2_fluid.tc.parsing import nothing_of_ours, require_hz
from pi2_fluid.tc.qdisc import Qdisc, of_law
from pi2_fluid.units import LONG_PATH, validate_choice, validate_number

if TYPE_CHECKING:
    from pi2_fluid.network.network import Network
    from pi2_fluid.values import Quantity

_RTT: Final = 0.1  # s, the largest that RFC 9332 and the PI2 paper design for
_OLD_GAINS: Final = (
    "Linux up to 5.0 rounds PIE's gains down by up to 7 % more below p = 10 %; the verdict leaves"
    " that out."
)
_NEW_ASSUMED: Final = (
    "Linux 5.1 or newer is assumed, without statistics (tc -s). For an older one give kernel (uname"
    " -r)."
)
_SHAPER: Final = "that of the shaper above it in the text"
_STEP: Final = "A step_thresh that counts packets plays no part in the verdict."
_PROPOSED: Final = "A proposed queue is judged as if tc had run its line."
_UNNAMED: Final = (
    "The proposed line does not name {}: the kernel's defaults are assumed. Where such a queue runs"
    " already, `change` and `replace` keep its values."
)


@renamed(mode="update")
def check(
    text: str | PiFamily,
    *,
    rtt: Quantity | None = None,
    max_base_rtt: Quantity | None = None,
    min_rtt: Quantity | None = None,
    senders: Sequence[Sender] = (Reno(),),
    rate: Quantity | None = None,
    flows: int | tuple[int, int | None] = (1, None),
    max_window: float | None = None,
    hz: int | None = None,
    kernel: str | None = None,
    network: Network | None = None,
    update: str = "sampled",
) -> Checked:
    """Say of each queue in tc's output whether it is stable, as the kernel runs it.

    Parameters
    ----------
    text : str or PiFamily
        The output of ``tc qdisc show``, see `qdisc.parse`; with ``-s`` it says more. Lines such as
        ``tc qdisc replace dev eth0 root dualpi2 max_rtt 100ms`` are judged as if they ran. Also of
        FreeBSD's ``ipfw sched show``, ``queue show`` or ``pipe show``, and of lines for ipfw and
        dnctl: the queues with PIE and FQ_PIE, at the rates of their links. Also files of
        systemd-networkd and of OpenWrt's SQM, as what they make. Or a queue itself, which is judged
        as such, without what a kernel rounds: ``pf.presets.docsis_pie()``.
    rtt : float or str, optional
        The largest round-trip time, the target delay of the queue included (s). By
        default 100 ms.
    max_base_rtt : float or str, optional
        Instead of it the largest round-trip time of a path, to which each queue adds its target.
    min_rtt : float or str, optional
        The smallest (s), of a path if `max_base_rtt` is given. By default the queue's target, or a
        hundredth of its update interval if that is more: no loop through a queue at its target is
        shorter.
    senders : sequence of Sender
        Each is judged on its own.
    rate : float or str, optional
        Of the link (bit/s). The loads judged are then those of whole numbers of flows that fill it,
        none faster than the link; it says whether the buffer is large enough, and RED is judged
        only with it. By default the rate of htb, tbf, cake or netem above the queue in the text, or
        of FreeBSD's pipe; without any, all loads are judged, and a buffer must hold the target up
        to 10 Mbit/s.
    flows : int or (int, int), optional
        With a rate: how many flows share the link, or the fewest and the most. By default from 1 to
        as many as fit.
    max_window : float, optional
        The largest window of one flow (segments).
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
        If sender and queue have no loop to judge.

    Notes
    -----
    The verdict is of the model of `update`, not of packets, and of two clocks: flows that send
    their window over the round-trip time, as in the papers, and flows that send as acknowledgements
    come, on a grid. The smaller margin decides. PIE is judged from p = 1e-6 on, where a Reno flow
    has 1400 segments. Of DualPI2 it is the controller in one queue; L4S beside Classic traffic, in
    two queues, is not covered. In fq_pie it is one flow alone in its queue. The margins by rates
    are the smaller of two models: with R held constant in the window law, as in the papers, and
    without.
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
    >>> pf.check("tc qdisc replace dev eth0 root dualpi2 max_rtt 100ms")[0].verdict
    'stable'
    """
    long_flows = LongFlows(rate=rate, flows=flows, max_window=max_window)
    question = _read_question(rtt, max_base_rtt, min_rtt, senders, long_flows, update)
    if hz is not None:
        require_hz(hz)
    generation = None if kernel is None else generation_of(kernel)
    if has_gains(text):
        if network is not None:
            raise QuantityError(
                f"network is given beside {type(text).__name__}, which is on no device: leave it"
                " out, or give a scenario's network to Loop."
            )
        return Checked([decide([of_law(text)], question)], [])
    if not isinstance(text, str):
        raise QuantityError(
            f"text = {show_value(text)} is no text: give the output of `tc qdisc show`."
        )
    reading = observe(text)
    series = series_of(reading)
    blocks = [each.last for each in series]
    if not reading.shapers and not any(block.kind or block.trouble for block in blocks):
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
    told = _told(question, given=rtt is not None or max_base_rtt is not None)
    known = _Known(hz, generation, common, longest, reading, told)
    verdicts, others, refusals = _judge_series(series, question, known)
    shaped = judge_shapers(reading.shapers, question, known.rtt)
    verdicts += shaped[0]
    others += shaped[1]
    refusals += shaped[2]
    if refusals and not verdicts and len(refusals) == len(others):
        raise refusals[0]
    path = None
    if network is not None:
        placed = {one.qdisc.dev: one.qdisc for one in verdicts}
        queues = {dev: placed[dev] for dev in longest if dev in placed}
        path = judge_path(network, queues, update)
    counted = any(one.observed for one in verdicts) or any(one.observed for one in others)
    once = all(len(each.blocks) == 1 for each in series)
    note = ONE_INSTANT if counted and once else ""
    form = "" if reading.is_plain else reading.form
    return Checked(
        verdicts,
        others,
        path,
        note,
        form,
        waiting=waiting_of(series, reading, question.rate),
        tree=tree_of(series, reading),
    )


def _told(question: Question, *, given: bool) -> float | None:
    """Return the longest round-trip time (s) that was given; None where it was not."""
    return question.longest.rtt if given else None


class _Known(NamedTuple):
    """What is known of the kernel, of the paths through each device, and of rates in the text."""

    hz: int | None
    generation: Generation | None
    common: tuple[int, ...]
    longest: dict[str, Longest]
    reading: Reading
    rtt: float | None = None


def _judge_series(
    series: Sequence[Series], question: Question, known: _Known
) -> tuple[list[Verdict], list[Stranger], list[QuantityError | DomainError]]:
    """Return the verdicts, what is there besides, and why some could not be read or judged."""
    # Queues of many hardware queues are alike: each kind of them is judged once.
    judged: dict[Any, Verdict] = {}
    verdicts: list[Verdict] = []
    others: list[Stranger] = []
    refusals: list[QuantityError | DomainError] = []
    for each in series:
        block = each.last
        asked_here = question._replace(longest=known.longest.get(block.dev or "", question.longest))
        asked_here = asked_here.on_link(known.reading.rate_above(block), _SHAPER)
        observed = observed_of(each, asked_here.rate)
        if not block.ours and block.trouble is None:
            beside = Known(known.rtt, known.reading.classes_of(block))
            other = judge_stranger(
                block, asked_here.longest, asked_here.long_flows, asked_here.senders, beside
            )
            others.append(other._replace(observed=observed))
            continue
        if block.offloaded:
            others.append(unread(block, _OFFLOADED))
            continue
        try:
            if block.trouble is not None:
                raise block.trouble
            found = readings(block, known.hz, known.generation, known.common)
            readable = ((one.kind, *one.asked.values(), one.hz, one.kernel) for one in found)
            alike = (asked_here.longest, asked_here.long_flows, asked_here.rate_of, *readable)
            if alike not in judged:
                judged[alike] = decide(found, asked_here)
            notes = (*judged[alike]._notes, *_notes_on(block, found, known.generation))
            verdicts.append(replace(judged[alike], qdisc=_placed(judged[alike], found),
                            observed=observed, _notes=notes))  # fmt: skip
        except (QuantityError, DomainError) as error:
            refusals.append(error)
            others.append(unread(block, str(error)))
    return verdicts, others, refusals


_OFFLOADED: Final = "it runs in hardware (offloaded), by a law that tc does not show: not judged."


def _read_question(
    rtt: Quantity | None,
    max_base_rtt: Quantity | None,
    min_rtt: Quantity | None,
    senders: Sequence[Sender],
    long_flows: LongFlows,
    update: str,
) -> Question:
    validate_choice(update, UPDATES, "update")
    if rtt is not None and max_base_rtt is not None:
        raise DomainError(
            f"rtt = {show_value(rtt)} and max_base_rtt = {show_value(max_base_rtt)} are both given:"
            " give one, the largest round-trip time with the queue or that of the path."
        )
    if max_base_rtt is None:
        longest = validate_number(_RTT if rtt is None else rtt, "time", "rtt", usual=LONG_PATH)
    else:
        longest = validate_number(max_base_rtt, "time", "max_base_rtt", usual=LONG_PATH)
    return Question(
        Longest(longest, with_queue=max_base_rtt is None),
        None if min_rtt is None else validate_number(min_rtt, "time", "min_rtt", usual=LONG_PATH),
        senders,
        long_flows,
        update,
    )


def _placed(verdict: Verdict, found: Sequence[Qdisc]) -> Qdisc:
    """Return the queue of a block under the reading that was judged of others like it."""
    like = (verdict.qdisc.hz, verdict.qdisc.kernel)
    return next(one for one in found if (one.hz, one.kernel) == like)


def _notes_on(
    block: Block, found: Sequence[Qdisc], generation: Generation | None
) -> tuple[str, ...]:
    notes: list[str] = []
    if block.proposed:
        notes += block.remarks or (_PROPOSED,)
        if left := [word for word in LOOP_WORDS if word not in block.named]:
            notes.append(_UNNAMED.format(", ".join(left)))
    if block.step_packets is not None:
        notes.append(_STEP)
    if any(one.kernel.variant != NEWEST.variant for one in found):
        notes.append(_OLD_GAINS)
    if block.kind == "pie" and generation is None and block.statistics is None:
        notes.append(_NEW_ASSUMED)
    return tuple(notes)
