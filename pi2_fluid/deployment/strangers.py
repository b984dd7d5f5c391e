"""Queues that are not judged like those of the PI family: RED by its own loop, the others not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np

from pi2_fluid.deployment.rules import Rule, codel_rules, codel_tc
from pi2_fluid.deployment.shaper_rules import htb_rules, netem_rules, tbf_rules
from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError
from pi2_fluid.laws.aqms.red import Red
from pi2_fluid.laws.clocked import CLOCKED, NO_LOOP
from pi2_fluid.laws.sender import Sender
from pi2_fluid.loop.transfer import Loop
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.long_flows import LongFlows
from pi2_fluid.tc.block import Block
from pi2_fluid.tc.codel import CODEL_KINDS, NETWORK_PROCESSOR, codel_numbers
from pi2_fluid.tc.numbers import as_fraction, as_whole
from pi2_fluid.tc.observing.rates import ShapedClass
from pi2_fluid.units import rate_in_words

#: Why a queue that is proposed is not judged.
_UNBUILT: Final = {
    "pi2": (
        "no tc of Linux has this kind: propose dualpi2, which runs the same controller, with a"
        " second queue for L4S."
    ),
}
#: The numbers of CoDel's queues that `compare` takes, and how it writes them.
_COMPARED: Final = {
    **dict.fromkeys(("target", "interval", "rtt", "ce_threshold"), "time"),
    "quantum": "size",
    "flows": "count",
}
_COUNTS: Final = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
_MULTIQUEUE: Final = (
    "mq gives each hardware queue of the device a queue of its own, and shapes nothing: they fill"
    " only where the device itself is the slowest of the path."
)
_FRAME: Final = 1500.0  # bytes, as loops count packets
_SPACED: Final = 2.0  # times as many signals as the profile says, by the way Linux spaces them


class Longest(NamedTuple):
    """The largest round-trip time (s), and whether that of the queue is in it."""

    rtt: float
    with_queue: bool


class Known(NamedTuple):
    """What is known beside a queue's own line: the longest round trip that was given, classes."""

    rtt: float | None = None
    classes: Mapping[str, ShapedClass] = MappingProxyType({})


class Stranger(NamedTuple):
    """A queue that is none of pie, fq_pie and dualpi2, or one of them that could not be judged.

    Attributes
    ----------
    name : str
        Its kind, handle and device.
    kind : str
    verdict : {"stable", "unstable", "undecided"} or None
        None where there is no loop that a verdict could be of.
    text : str
        Why, in a sentence; "" where there is nothing to say.
    observed : tuple of str
        What the counters of ``tc -s`` say of it, as those of a `Verdict`.
    gain_margin_db : float or None
        The smallest (dB), where a loop was judged.
    dev, parent : str or None
        As tc prints them.
    rules : tuple of Rule
        Rules of thumb, and whether it keeps them: CoDel's of codel, fq_codel and cake, the bursts
        of htb and tbf, the limit of netem. No verdict is of them.
    lines : tuple of str
        The lines for tc that keep the rules that are not kept, as far as they can be written.
    word : str
        What `pi2-fluid compare --aqm` calls it, with its numbers; "" where it does not run it.
    rate : float or None
        The rate (bit/s) that is given, or stands above it in the text.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> text = "qdisc fq_codel 0: dev eth1 root limit 10240p flows 1024 target 5ms interval 100ms"
    >>> (other,) = pf.check(text).others
    >>> other.kind, other.verdict
    ('fq_codel', None)
    >>> print(other.text)
    fq_codel drops by CoDel's clock: it has no linear loop, and no margins. The engine Packets runs
    it: kind = "fq_codel".
    """

    name: str
    kind: str
    verdict: str | None
    text: str
    observed: tuple[str, ...] = ()
    gain_margin_db: float | None = None
    dev: str | None = None
    parent: str | None = None
    rules: tuple[Rule, ...] = ()
    lines: tuple[str, ...] = ()
    word: str = ""
    rate: float | None = None


def unread(block: Block, why: str) -> Stranger:
    """Return a queue that ought to be judged, and could not be."""
    return Stranger(block.name, block.kind, "undecided", why, dev=block.dev, parent=block.parent)


def judge_stranger(
    block: Block,
    longest: Longest,
    long_flows: LongFlows,
    senders: Sequence[Sender],
    known: Known | None = None,
) -> Stranger:
    """Return what can be said of a queue of another kind."""
    rate = None if long_flows.rate is None else float(long_flows.rate)
    found = _judge(block, longest, long_flows, senders)
    try:
        rules, lines = _rules(block, rate, known or Known())
    except (QuantityError, DomainError) as error:  # what is cut off keeps no rule and breaks none
        rules, lines = (), ()
        found = found if found.text else found._replace(text=str(error))
    return found._replace(
        dev=block.dev,
        parent=block.parent,
        rules=rules,
        lines=lines if any(one.kept is False for one in rules) else (),
        word=_word(block),
        rate=rate,
    )


def _rules(
    block: Block, rate: float | None, known: Known
) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """Return the rules for a kind, and the lines that keep them.

    Raises
    ------
    QuantityError, DomainError
        If a number of it cannot be read.
    """
    kind = block.kind.removeprefix(NETWORK_PROCESSOR)
    if kind in CODEL_KINDS and block.trouble is None:
        if not block.words.keys() & {"target", "interval", "rtt", "bandwidth"} and (
            not block.proposed
        ):
            return (), ()
        numbers = codel_numbers(block)
        line = codel_tc(block, numbers, rate, known.rtt) if kind == block.kind else None
        return codel_rules(kind, numbers, rate, known.rtt), () if line is None else (line,)
    if kind == "htb":
        return htb_rules(block, known.classes)
    if kind == "tbf":
        return tbf_rules(block), ()
    if kind == "netem":
        rules, line = netem_rules(block, rate)
        return rules, () if line is None else (line,)
    return (), ()


def _word(block: Block) -> str:
    """Return what `compare` calls a queue, with the numbers of it that are not the kernel's."""
    if block.kind not in CLOCKED:
        return ""
    try:
        numbers = codel_numbers(block)
    except QuantityError:
        return block.kind
    usual = codel_numbers(Block(kind=block.kind, handle=""))
    told = [
        f"{word}={_as_word(numbers[word], form)}"
        for word, form in _COMPARED.items()
        if word in numbers
        and numbers[word] != usual[word]
        and (block.kind == "cake") == (word == "rtt")
    ]
    return f"{block.kind}:{','.join(told)}" if told else block.kind


def _as_word(value: float, form: str) -> str:
    if form == "time":
        return f"{1e3 * value:.6g}ms"
    return f"{value:.0f}{'B' * (form == 'size')}"


def _judge(
    block: Block, longest: Longest, long_flows: LongFlows, senders: Sequence[Sender]
) -> Stranger:
    if block.proposed and block.kind in _UNBUILT:
        return unread(block, _UNBUILT[block.kind])
    if block.kind != "red":
        return Stranger(block.name, block.kind, None, _why(block.kind))
    if block.offloaded:
        return unread(block, "it runs in hardware (offloaded), of which tc shows no law.")
    if long_flows.rate is None:
        return unread(
            block, "the loop of RED depends on the rate of the link: give the rate, as 10Mbit/s."
        )
    try:
        return _judge_red(block, _red(block), longest, long_flows, senders)
    except (QuantityError, DomainError) as error:
        return unread(block, str(error))


def _why(kind: str) -> str:
    """Return why there is no verdict; "" where nobody would expect one."""
    inner = kind.removeprefix(NETWORK_PROCESSOR)
    if inner != kind and inner in NO_LOOP:
        return (
            f"{kind} runs in a network processor (NSS), by CoDel's clock as far as its words say:"
            " it has no linear loop, and no margins."
        )
    return _MULTIQUEUE if kind == "mq" else NO_LOOP.get(kind, "")


def _red(block: Block) -> Red:
    """Return the law of a RED as Linux runs it.

    Raises
    ------
    QuantityError
        If what tc shows cannot be read, or is without details.
    """
    shown: dict[str, Any] = block.words
    if not {"min", "max"} <= shown.keys():
        raise QuantityError(f"the options of {block.name} are not shown.")
    if not {"ewma", "probability"} <= shown.keys():
        raise QuantityError(
            f"tc shows the average and the probability of {block.name} only with -d: give the"
            " output of `tc -d qdisc show`."
        )
    low, high = (as_whole(_size(shown[key]), f"{key} of {block.name}", "size")
                 for key in ("min", "max"))  # fmt: skip
    shift = as_whole(str(shown["ewma"]), f"ewma of {block.name}")
    largest = as_fraction(str(shown["probability"]), f"probability of {block.name}")
    flags = [shown.get(name, False) is not False for name in ("adaptive", "adaptative")]
    return Red(
        min=low / _FRAME,
        max=high / _FRAME,
        max_p=min(_SPACED * largest, 1.0),
        weight=2.0**-shift,
        gentle=False,
        adaptive=any(flags),
    )


def _size(shown: object) -> str:
    return f"{shown}b" if type(shown) is int else str(shown)


def _judge_red(
    block: Block, law: Red, longest: Longest, long_flows: LongFlows, senders: Sequence[Sender]
) -> Stranger:
    """Judge RED's loop at the longest path, for more and more flows of each sender.

    Raises
    ------
    DomainError
        If there is no path, or no loop.
    """
    if law.min == law.max or law.weight == 1.0:
        why = (
            "its min is its max, and a step has no slope"
            if law.min == law.max
            else "ewma 0 takes no average, and the queue itself is signalled by"
        )
        raise DomainError(
            f"{block.name} has no linear loop here, as {why}: simulate packets, with pf.Red() and"
            " pf.Packets()."
        )
    rate = float(long_flows.rate)  # type: ignore[arg-type]
    # The least that its queue adds, where it begins to signal.
    queue = float(law.min) * 8.0 * _FRAME / rate
    path = longest.rtt - queue if longest.with_queue else longest.rtt
    if path <= 0.0:
        raise DomainError(
            f"the queue of {block.name} alone takes {queue:.3g} s at this rate, which leaves no"
            f" path within rtt = {longest.rtt:g} s: give a larger rtt."
        )
    tries: list[tuple[float, int, Sender, str]] = []
    for sender in senders:
        for count in _counts(long_flows):
            try:
                loop = Loop(Flows(sender, count, path), law, capacity=rate)
                margins = loop.margins()
            except (DomainError, UnsupportedError):
                break  # so many flows are beyond its profile
            (window,) = np.atleast_1d(loop.operating_point.window)
            if long_flows.max_window is not None and window > long_flows.max_window:
                continue  # so few do not fill the link
            tries.append((float(margins.gain_margin_db), count, sender, str(margins.verdict)))
    if not tries:
        raise DomainError(
            f"{block.name} has no operating point on its profile with these flows over this link:"
            " give the rate and the flows that it has."
        )
    margin, count, sender, verdict = min(tries, key=lambda one: one[0])
    flows = f"{count} {type(sender).__name__} flow{'s' * (count > 1)}"
    tried = [one[1] for one in tries]
    safe = [one[1] for one in tries if one[2] is sender and one[3] == "stable"]
    from_there = verdict != "stable" and safe
    text = (
        f"{verdict.upper()} at {rate_in_words(rate)} over paths of {1e3 * path:.4g} ms. Smallest"
        f" margin: {margin:.2f} dB, with {flows} ({min(tried)} to {max(tried)} were tried)"
        f"{f'; from {min(safe)} flows on it is stable' if from_there else ''}. The model is"
        " continuous, by rates."
    )
    return Stranger(block.name, block.kind, verdict, text, gain_margin_db=margin)


def _counts(long_flows: LongFlows) -> list[int]:
    """Return the numbers of flows to try."""
    few, most = long_flows.fewest, long_flows.most
    ends = {few} if most is None else {few, most}
    return sorted(n for n in {*_COUNTS, *ends} if few <= n and (most is None or n <= most))
