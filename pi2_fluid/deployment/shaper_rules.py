"""Rules of thumb for shapers and netem: bursts against the clock, limits against rate and delay.

htb and tbf send until their tokens are used up, then wait for a timer of high resolution. Tokens
that are more than a burst are lost, so a burst has to last as long as the kernel may be late: some
0.1 ms where it is busy, more on a small router. That a burst is to be the rate times a tick (1/HZ),
as manuals say, was true of timers that tick. By itself tc gives htb a burst of one packet.

Source: Linux 6.18, net/sched/sch_htb.c, sch_tbf.c, sch_netem.c, sch_api.c (qdisc_watchdog);
iproute2 7.3, tc/q_htb.c, tc/tc_core.c; tc-netem(8); SQM's scripts, whose bursts last 1 ms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final

from pi2_fluid.deployment.flow_counters import in_ms
from pi2_fluid.deployment.rules import FRAME, Rule, placed, tc_of
from pi2_fluid.errors import QuantityError
from pi2_fluid.tc.block import Block
from pi2_fluid.tc.numbers import as_time
from pi2_fluid.tc.observing.rates import ShapedClass, as_rate, as_size
from pi2_fluid.units import rate_in_words

_LATE: Final = 1e-4  # s, by which a busy kernel comes back late
_BURST: Final = 1e-3  # s, that a burst is to last
_DEFAULT_BURST: Final = 1600.0  # bytes, of tc's own, where timers are of high resolution
_NETEM_LIMIT: Final = 1000.0  # packets
_ROOM: Final = 1.2  # times what is under way
_PROMPT: Final = 2  # digits of a limit
_UNUSED: Final = frozenset({"", "0", "0x0"})


def htb_rules(
    block: Block, classes: Mapping[str, ShapedClass]
) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """Return the rules for an htb and its classes, and the lines that keep them."""
    handle = block.handle.removesuffix(":")
    below = {
        place: one
        for place, one in classes.items()
        if place.partition(":")[0] == handle.lstrip("0") and one.kind in {"htb", ""}
    }
    rules: list[Rule] = []
    lines: list[str] = []
    for one in below.values():
        above = below.get(one.parent)
        if above is not None and above.rate and one.assured and one.assured > above.rate:
            rules.append(_above_its_parent(one, above))
        shorter = _shorter(one)
        if shorter is None:
            continue
        rules.append(_burst(f"class {one.place}", *shorter))
        if not rules[-1].kept:
            lines.append(_class_line(block, one))
    return (*rules, *_default(block, below)), tuple(lines)


def _shorter(one: ShapedClass) -> tuple[float, float] | None:
    """Return the burst (bytes) of a class that lasts less long, and its rate (bit/s)."""
    if one.rate is None or one.assured is None:
        return None
    both = ((one.burst, one.assured), (one.cburst, one.rate))
    known = [(burst or _DEFAULT_BURST, rate) for burst, rate in both]
    return min(known, key=lambda each: each[0] / each[1])


def _burst(name: str, size: float, rate: float) -> Rule:
    seconds, there = 8.0 * size / rate, rate_in_words(rate, 3)
    has = f"{name}: a burst of {size:.0f} bytes lasts {in_ms(seconds)} at {there}"
    if seconds >= _LATE:
        return Rule("burst as long as the kernel is late", True, f"{has}.")
    return Rule(
        "burst as long as the kernel is late",
        False,
        f"{has}. A busy kernel comes back some {in_ms(_LATE)} late, and the tokens of that time are"
        f" lost: give a burst of {in_ms(_BURST)}, {rate * _BURST / 8.0:.0f} bytes.",
    )


def _above_its_parent(one: ShapedClass, above: ShapedClass) -> Rule:
    assured, most = (rate_in_words(float(rate or 0.0), 3) for rate in (one.assured, above.rate))
    return Rule(
        "rate within its parent's",
        False,
        f"class {one.place}: its rate, {assured}, is more than class {above.place} above it lets"
        f" through, {most}: the class above decides.",
    )


def _default(block: Block, below: Mapping[str, ShapedClass]) -> Iterator[Rule]:
    """Say where packets go that no filter takes."""
    name = "a default class"
    text = str(block.words.get("default", ""))
    passed = str(block.words.get("direct_packets_stat", "0"))
    count = f" {passed} packets did." if passed not in _UNUSED else ""
    if text in _UNUSED:
        yield Rule(
            name,
            False,
            "it has no default class: packets that no filter puts into one pass without shaping."
            + count,
        )
    elif below and not any(_minor(place) == _hex(text) for place in below):
        yield Rule(
            name,
            None,
            f"its default, {text}, is no class in the text: without that class such packets pass"
            f" without shaping.{count}",
        )


def _minor(place: str) -> int | None:
    return _hex(place.rpartition(":")[2])


def _hex(text: str) -> int | None:
    try:
        return int(text, 16)
    except ValueError:
        return None


def _class_line(block: Block, one: ShapedClass) -> str:
    parent = one.parent if ":" in one.parent else block.handle
    words = [f"rate {_rate(one.assured)}", f"ceil {_rate(one.rate)}"]
    words += [f"burst {_size(one.assured)}", f"cburst {_size(one.rate)}", *one.words]
    dev = placed(block).split()[1]
    place = f"dev {dev} parent {parent} classid {one.place} htb"
    return f"{tc_of(block)} class change {place} {' '.join(words)}"


def _rate(rate: float | None) -> str:
    return f"{float(rate or 0.0) / 1e3:.15g}kbit"


def _size(rate: float | None) -> str:
    return f"{max(float(rate or 0.0) * _BURST / 8.0, _DEFAULT_BURST):.0f}"


def tbf_rules(block: Block) -> tuple[Rule, ...]:
    """Return the rules for a tbf."""
    rate, burst = as_rate(block.words.get("rate")), as_size(block.words.get("burst"))
    burst = as_size(block.words.get("buffer")) if burst is None else burst
    if rate is None or burst is None:
        return ()
    return (_burst("tbf", burst, rate),)


def netem_rules(block: Block, rate: float | None) -> tuple[tuple[Rule, ...], str | None]:
    """Return the rule for netem's limit, and the line that keeps it.

    Its limit counts all packets that are under way in it. `rate` is that of the link (bit/s) where
    it is known, beside netem's own.
    """
    delay = _delay(block)
    if not delay:
        return (), None
    limit = _limit(block)
    rates = [one for one in (rate, as_rate(_own_rate(block))) if one]
    held = limit * 8.0 * FRAME / delay
    name = "limit above rate times delay"
    has = f"its limit of {limit:.0f} packets is full of what is under way in {in_ms(delay)}"
    if not rates:
        return (
            Rule(
                name,
                None,
                f"{has} above {rate_in_words(held, 3)} of full packets ({limit / delay:.4g} packets"
                " a second), and it drops then: give rate (that of the link).",
            ),
        ), None
    least = min(rates) * delay / (8.0 * FRAME)
    there = rate_in_words(min(rates), 3)
    if least <= limit:
        text = f"{least:.0f} full packets are under way at {there}, of {limit:.0f} that it holds."
        return (Rule(name, True, text),), None
    wanted = _rounded_up(_ROOM * least)
    text = (
        f"{has} above {rate_in_words(held, 3)}, and it drops then: at {there}, {least:.0f} full"
        f" packets are under way. Give a limit of {wanted:.0f}, or more for small packets."
    )
    return (Rule(name, False, text),), _netem_line(block, wanted)


def _rounded_up(count: float) -> float:
    step = 10.0 ** max(math.floor(math.log10(count)) - _PROMPT + 1, 0)
    return math.ceil(count / step) * step


def _limit(block: Block) -> float:
    given = block.words.get("limit")
    digits = str(given).removesuffix("p")
    return float(digits) if digits.isdecimal() else _NETEM_LIMIT


def _own_rate(block: Block) -> object:
    given = block.words.get("rate", "")
    return given.get("rate") if isinstance(given, dict) else given


def _delay(block: Block) -> float:
    """Return the longest that it delays (s), jitter included; 0 where it does not."""
    given = block.words.get("delay")
    if isinstance(given, dict):
        parts = [given.get(name) for name in ("delay", "jitter")]
        return sum(float(part) for part in parts if isinstance(part, int | float))
    if not isinstance(given, str):
        return 0.0
    delay = _time(given)
    return 0.0 if delay is None else delay + (_time(str(block.words.get(given, ""))) or 0.0)


def _time(text: str) -> float | None:
    """Return a time as tc has it, a bare number in microseconds; None of what is none."""
    try:
        return as_time(f"{text}us" if text.isdecimal() else text, "delay") / 1e6
    except QuantityError:
        return None


def _netem_line(block: Block, limit: float) -> str | None:
    """Return the line with another limit; None where its words are not known in their order."""
    words = list(block.words)
    after = [str(block.words[word]) for word in words]
    if after[:-1] != words[1:] or not all(isinstance(value, str) for value in block.words.values()):
        return None
    begin = next((at for at, word in enumerate(words) if word in {"limit", "delay", "rate"}), 0)
    options = words[begin:]
    if "limit" in options:
        at = options.index("limit")
        del options[at : at + 2]
    verb = "replace" if block.proposed else "change"
    return (
        f"{tc_of(block)} qdisc {verb} {placed(block)} netem {' '.join(options)} limit {limit:.0f}"
    )
