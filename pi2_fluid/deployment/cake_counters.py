"""What the counters of cake say, for each of its tins.

Its delays are averages over packets that leave: `av_delay` over some 256, `pk_delay` quick to rise
and slow to fall, `sp_delay` the other way around. What it calls memory used is the most that was.

Source: Linux 6.18, net/sched/sch_cake.c; tc-cake(8).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pi2_fluid.deployment.flow_counters import in_ms, overloaded, who_marks
from pi2_fluid.deployment.heard import Heard
from pi2_fluid.tc.observing.rates import as_rate
from pi2_fluid.units import rate_in_words

_EMPTY: Final = 0.1  # of the target: an average delay below is none
_FULL: Final = 0.9  # of the memory


def of_cake(heard: Heard) -> tuple[str, ...]:
    """Return what there is to say of a cake: where the delay is, then tin by tin."""
    return tuple(filter(None, (*_elsewhere(heard), *_tins(heard), _memory(heard), _made(heard))))


def _elsewhere(heard: Heard) -> Iterator[str]:
    """Say that its queue is empty, so that what people feel is elsewhere."""
    delays, targets = heard.of_tins("av_delay"), heard.of_tins("target")
    peaks = heard.of_tins("pk_delay")
    used = [k for k, count in enumerate(heard.of_tins("pkts")) if count > 0]
    if not used or not len(delays) == len(targets) == len(peaks):
        return
    waits = any(one.get("backlog", 0) or any(one.get("tin_backlog", ())) for one in heard.now)
    if waits or any(delays[k] > _EMPTY * targets[k] or peaks[k] > targets[k] for k in used):
        return
    longest = max(used, key=lambda k: peaks[k])
    bandwidth = heard.options.get("bandwidth", 0.0)
    at = f", {rate_in_words(bandwidth)}," if bandwidth else ""
    shaper = f"its bandwidth{at} is more than the line carries now"
    if bandwidth is None:
        shaper = "it shapes nothing (bandwidth unlimited)"
    yield (
        f"its queue is empty: packets wait {in_ms(delays[longest])} on average and"
        f" {in_ms(peaks[longest])} at peaks, target {in_ms(targets[longest])}. Where people feel"
        f" delay, it is not here: {shaper}, or the traffic does not pass it (the other direction,"
        " another device)."
    )


def _tins(heard: Heard) -> Iterator[str]:
    """Say of each tin that is used how long its packets wait, and who signals."""
    names = heard.now[-1].get("tins", ())
    packets, drops, marks = (heard.of_tins(word) for word in ("pkts", "drops", "marks"))
    average, peak, target = (heard.of_tins(word) for word in ("av_delay", "pk_delay", "target"))
    stubborn = heard.of_tins("un_flows")
    columns = (packets, drops, marks, average, peak, target)
    if any(len(column) != len(names) for column in columns):
        return
    for k, name in enumerate(names):
        if packets[k] <= 0:
            continue
        sentences = [
            f"{packets[k]:.0f} packets {heard.when}, {drops[k]:.0f} drops, {marks[k]:.0f} marks"
        ]
        if average[k] > target[k]:
            sentences.append(
                f"they wait {in_ms(average[k])} on average ({average[k] / target[k]:.2g} times the"
                f" target) and {in_ms(peak[k])} at peaks"
            )
        else:
            sentences.append(
                f"they wait {in_ms(average[k])} on average and {in_ms(peak[k])} at peaks, target"
                f" {in_ms(target[k])}"
            )
        yield f"{name}: {'; '.join(sentences)}."
        more = [overloaded(drops[k], packets[k] - drops[k], heard.when)]
        more.append(who_marks(drops[k], marks[k], heard.when))
        if len(stubborn) == len(names) and stubborn[k]:
            more.append(f"{stubborn[k]:.0f} flows do not answer now, and BLUE drops of them.")
        yield from (f"{name}: {text}" for text in more if text)


def _memory(heard: Heard) -> str:
    used, limit = (heard.now[-1].get(name, 0) for name in ("memory_used", "memory_limit"))
    if not limit or used < _FULL * limit:
        return ""
    return (
        f"its memory was full ({used / 1e6:.3g} of {limit / 1e6:.3g} MB): packets were dropped for"
        " that. Give a larger memlimit, or the line is overloaded."
    )


def _made(heard: Heard) -> str:
    """Say what the estimate of capacity is, where it is none."""
    text, bandwidth = heard.now[-1].get("capacity_estimate"), heard.options.get("bandwidth")
    estimate = as_rate(text)
    if estimate is None or heard.options.get("autorate") or bandwidth in {None, estimate}:
        return ""
    return (
        f"its capacity estimate, {rate_in_words(estimate)}, is no measurement: without"
        " autorate-ingress it is the bandwidth that this cake was made with."
    )
