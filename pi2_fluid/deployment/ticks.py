"""Where a tick of PIE's timer decides: the interval that is asked for, or the next it can have.

PIE's timer counts jiffies and fires on the slots of a wheel, so that the update interval is another
than asked for, up to an eighth longer. That is in the verdict; here it is said where another
interval as near would have another verdict.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from pi2_fluid.deployment.verdicts import Verdict, worst_of
from pi2_fluid.design.by_acks import worst_by_acks
from pi2_fluid.design.region import exact_margins, loop_at, worst_margins
from pi2_fluid.tc import kernel
from pi2_fluid.tc.qdisc import Qdisc

_TICKING: Final = ("pie", "fq_pie")
_FARTHEST: Final = 6.0  # dB, beyond which a tick is not asked about
_SPARE: Final = 2.0  # how much more than by rates a tick may change a margin


def words_on_ticks(verdict: Verdict) -> str:
    """Return a sentence if the update interval as asked, or one tick from it, is judged otherwise.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> line = "tc qdisc replace dev eth0 root pie tupdate 10ms"
    >>> (judged,) = pf.check(line, hz=1000, rtt="50ms")
    >>> print(words_on_ticks(judged))
    A tick of the timer of pie decides: tupdate 10 ms runs as 11 ms at HZ 1000, which is stable,\
 and 10 ms would be unstable.
    """
    queue, update = verdict.qdisc, verdict.margins.update
    if queue.kind not in _TICKING or verdict.cases or verdict.verdict == "undecided":
        return ""
    if abs(verdict.least.gain_margin_db) > _FARTHEST or update == "continuous":
        return ""
    asked, runs = float(queue.asked["tupdate"]), float(queue.aqm.update_interval)
    for interval in (asked, *_neighbours(queue)):
        found = _judged_at(verdict, interval)
        if found not in {verdict.verdict, "undecided"}:
            return (
                f"A tick of the timer of {queue.kind} decides: tupdate {_ms(asked)} runs as"
                f" {_ms(runs)} at HZ {queue.hz}, which is {verdict.verdict}, and {_ms(interval)}"
                f" would be {found}."
            )
    return ""


def _neighbours(queue: Qdisc) -> tuple[float, ...]:
    """Return the intervals (s) next to a queue's that its timer can have."""
    count = kernel.jiffies(round(1e6 * float(queue.asked["tupdate"])), queue.hz)
    period = queue.kernel.period(count)
    rounds = round(float(queue.aqm.update_interval) * queue.hz) - period
    longer = queue.kernel.period(count + period)  # surely
    others = sorted({queue.kernel.period(near) for near in range(1, count + period)} | {longer})
    at = others.index(period)
    near = [*others[max(at - 1, 0) : at], *others[at + 1 : at + 2]]
    return tuple((one + rounds) / queue.hz for one in near)


def _judged_at(verdict: Verdict, interval: float) -> str:
    """Return what it would be with another update interval (s)."""
    law, update = verdict.qdisc.aqm, verdict.margins.update
    # By far most of them are not near enough for that: one place by rates says so.
    worst = verdict.worst
    plant = loop_at(law, worst.sender, worst.rtt, worst.p_prime)
    alpha, beta, now = (float(n) for n in (law.alpha, law.beta, law.update_interval))
    here, there = (
        float(exact_margins(plant, alpha, beta, each, update).gain_margin_db)
        for each in (now, interval)
    )
    least = verdict.least.gain_margin_db
    if abs(least) > _SPARE * abs(there - here) + 0.1:
        return verdict.verdict
    other: Any = replace(law, update_interval=interval)
    region = verdict._cure.region
    by_rates = str(worst_margins(region, other, update).margins.verdict)
    if by_rates == "unstable":
        return by_rates
    acks, _ = worst_by_acks(region, other, update)
    return by_rates if acks is None else worst_of([by_rates, str(acks.margins.verdict)])


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.4g} ms"
