"""What the counters of queues without AQM say: shapers, netem, fq, and queues that drop at a tail.

Source: Linux 6.18, net/sched/sch_htb.c, sch_tbf.c, sch_netem.c, sch_fq.c, sch_generic.c.
"""

from __future__ import annotations

from typing import Final

from pi2_fluid.deployment.heard import Heard

_TAIL: Final = frozenset({"pfifo", "bfifo", "pfifo_fast", "sfq"})
_SHAPERS: Final = frozenset({"htb", "tbf"})
#: The kinds that this file has words for.
OTHERS: Final = frozenset({*_TAIL, *_SHAPERS, "netem", "fq", "mq"})


def of_others(heard: Heard) -> tuple[str, ...]:
    """Return what there is to say of such a queue."""
    kind, when = heard.kind, heard.when
    held, dropped = int(heard.totals.get("overlimits", 0)), heard.dropped
    lost = f"{dropped} of {heard.sent + dropped} packets were dropped {when}"
    sentences: list[str] = []
    if kind in _SHAPERS:
        sentences.append(
            f"it shapes: {held} times {when} packets had to wait for its rate."
            if held
            else f"not the bottleneck: of {heard.sent} packets sent {when} none had to wait for its"
            " rate."
        )
    if kind == "netem" and dropped:
        sentences.append(f"{lost}: as its limit was full, or as the loss that it is asked for.")
    if kind == "fq":
        sentences += [_paced(heard), _of_one_flow(heard)]
    if kind in _TAIL and dropped:
        sentences.append(
            f"{lost} as it was full: it drops at its tail, and no controller keeps its delay short."
        )
    return tuple(filter(None, sentences))


def _paced(heard: Heard) -> str:
    throttled = int(heard.totals.get("throttled", 0))
    if not throttled:
        return ""
    return f"it paces: {throttled} times {heard.when} a flow waited for its own rate."


def _of_one_flow(heard: Heard) -> str:
    full = heard.at_the_limit
    if not full:
        return ""
    return (
        f"{full} packets were dropped {heard.when} as one flow had its flow_limit waiting: a sender"
        " above it does not hold back (no TCP small queues, or UDP)."
    )
