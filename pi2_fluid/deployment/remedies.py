"""What one would change of a queue that is installed: gains of the same kind, and the line for tc.

The gains are those that `tune` finds for the largest round-trip time at the queue's own target. Of
PIE, whose gains are whole sixteenths of 1 Hz, they are the largest alpha/T among those that tc can
ask for.
"""

from __future__ import annotations

import shlex
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from pi2_fluid.deployment.shaper_gains import fine_steps, in_ipfw, tuned_near
from pi2_fluid.deployment.wanted import ENOUGH, KEPT, wanted
from pi2_fluid.design.binding import Binding
from pi2_fluid.design.by_acks import worst_by_acks
from pi2_fluid.design.clocks import Least, least_of, said
from pi2_fluid.design.gains import Loops, make_ceiling
from pi2_fluid.design.region import Region, Worst, worst_margins
from pi2_fluid.design.solving import find_law
from pi2_fluid.design.stepping import Gains, first_that_keeps, largest_in_steps
from pi2_fluid.errors import DomainError, SolverError, UnsupportedError
from pi2_fluid.laws.aqms.pi_family import LOOP_WORDS, PiFamily
from pi2_fluid.laws.aqms.pie import Pie
from pi2_fluid.laws.kernel.units import DUALPI2_GAIN, PIE_GAIN, unit_of
from pi2_fluid.loop.margins import Margins
from pi2_fluid.tc import kernel
from pi2_fluid.tc.installing import install, other_words, to_tc
from pi2_fluid.tc.qdisc import Qdisc

if TYPE_CHECKING:
    from collections.abc import Callable

# dB and deg: the kernel cuts beta, on which the margins hardly depend at the optimum.
_FORGIVEN: Final = (0.01, 0.05)
_ROUNDS: Final = 8
_PARTS: Final = DUALPI2_GAIN.per_si  # of 1 Hz, the steps of DualPI2's gains
_COUPLED: Final = 2  # the k that `tune` designs for
_WORDS: Final = 2 * len(LOOP_WORDS)  # those of the loop, each with its value


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """What one would change of a queue.

    Attributes
    ----------
    text : str
        In a sentence.
    tc : str or None
        The line for tc that changes it, if there is one.
    asked, aqm : PiFamily or None
        The law that the line asks for, and the one that the kernel runs then.
    margins, ack_margins : Margins or None
        The smallest in the same region, as installed: by rates, and by acknowledgements.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> text = pf.qdisc.show(pf.qdisc.install(pf.DualPi2(), "dualpi2"))
    >>> (judged,) = pf.check(text)
    >>> judged.remedy.tc
    'tc qdisc replace dev DEV root dualpi2 target 15ms tupdate 16ms alpha 0.047998 beta 2.5146'
    """

    text: str
    tc: str | None = None
    asked: PiFamily | None = None
    aqm: PiFamily | None = None
    margins: Margins | None = None
    ack_margins: Margins | None = None


def is_enough(margins: Margins, ack_margins: Margins | None = None) -> bool:
    """Say whether loops have the margins of `ENOUGH` by both clocks, but for rounding."""
    return _is_enough(margins) and (ack_margins is None or _is_enough(ack_margins))


def _is_enough(margins: Margins) -> bool:
    return bool(
        margins.verdict == "stable"
        and margins.gain_margin_db >= ENOUGH.gain_db - _FORGIVEN[0]
        and margins.phase_margin_deg >= ENOUGH.phase_deg - _FORGIVEN[1]
    )


def find_remedy(
    qdisc: Qdisc, region: Region, margins: Margins, ack_margins: Margins | None, update: str
) -> Remedy:
    """Return what one would change of a queue so that it has the margins of `ENOUGH`.

    Parameters
    ----------
    qdisc : Qdisc
    region : Region
        The round-trip times, senders and loads that it is for.
    margins, ack_margins : Margins
        Those it has there, by rates and, if there is such a loop, by acknowledgements.
    update : {"continuous", "delayed", "sampled"}
    """
    if is_enough(margins, ack_margins):
        return Remedy(text=f"nothing: {wanted()} are left everywhere.")
    try:
        law, proposed, worst = _search_for(qdisc)(qdisc, region, update)
    except (DomainError, SolverError, UnsupportedError) as error:
        return Remedy(text=str(error))
    acks = _by_acks(region, law, update)
    if qdisc.of_freebsd and is_enough(worst.margins, acks):
        return Remedy(text=in_ipfw(law, qdisc), asked=proposed, aqm=law, margins=worst.margins,
                      ack_margins=acks)  # fmt: skip
    if not is_enough(worst.margins, acks):
        return Remedy(text=_too_coarse(qdisc, least_of(worst.margins, acks)))
    text = f"gains that leave {wanted()} everywhere."
    if qdisc.is_law:  # of which there is no line
        gains = f"alpha {float(law.alpha):.4g} Hz and beta {float(law.beta):.4g} Hz"
        text = f"{gains} leave {wanted()} everywhere."
    return Remedy(text=text, asked=proposed, aqm=law, margins=worst.margins, ack_margins=acks)


def _search_for(qdisc: Qdisc) -> Callable[[Qdisc, Region, str], tuple[PiFamily, PiFamily, Worst]]:
    """Return how gains are looked for, by how finely they can be asked for."""
    if qdisc.is_law:
        return _free
    if qdisc.of_freebsd:
        return fine_steps
    return _whole_steps if unit_of(qdisc.aqm, "alpha") is PIE_GAIN else _tuned


def _by_acks(region: Region, law: PiFamily, update: str) -> Margins | None:
    found = worst_by_acks(region, law, update).worst
    return None if found is None else found.margins


def on_device(remedy: Remedy, qdisc: Qdisc) -> Remedy:
    """Return a remedy with the line that changes this queue, where it is, and nothing else of it.

    A kernel's default queue, of handle 0, is none that tc can change: tc makes one in its place, at
    the root or below a queue with a handle; below one without a handle, as ":3", it cannot.
    """
    if remedy.asked is None or qdisc.of_freebsd or qdisc.is_law:
        return remedy
    # Both come from the text, and go into a line for a shell.
    parent, dev = shlex.quote(qdisc.parent or "root"), shlex.quote(qdisc.dev or "DEV")
    default = qdisc.handle == "0:" and not qdisc.proposed
    if default and parent.startswith(":"):
        above = f"{_tc(qdisc)} qdisc replace dev {dev} root handle 1: mq"
        return Remedy(
            text="tc cannot change a default queue below a parent without a handle: first give the"
            f" parent one, as by `{above}` for mq, and check again."
        )
    if qdisc.proposed:
        return replace(remedy, tc=_proposal(remedy.asked, qdisc, parent, dev))
    words = to_tc(remedy.asked, qdisc.kind).partition(f" {qdisc.kind} ")[2].split()[:_WORDS]
    verb = "replace" if default else "change"
    place = parent if parent == "root" else f"parent {parent}"
    return replace(
        remedy, tc=f"{_tc(qdisc)} qdisc {verb} dev {dev} {place} {qdisc.kind} {' '.join(words)}"
    )


def _tc(qdisc: Qdisc) -> str:
    """Return the command, in the namespace of a queue."""
    return "tc" if qdisc.namespace is None else f"tc -n {shlex.quote(qdisc.namespace)}"


def _proposal(asked: PiFamily, qdisc: Qdisc, parent: str, dev: str) -> str:
    """Return the line of a proposed queue with other gains, and all else that it asked for."""
    loop = to_tc(asked, qdisc.kind).partition(f" {qdisc.kind} ")[2].split()[:_WORDS]
    place = parent if parent == "root" else f"parent {parent}"
    handle = [] if qdisc.handle is None else ["handle", shlex.quote(qdisc.handle)]
    words = [_tc(qdisc), "qdisc replace dev", dev, place, *handle, qdisc.kind, *loop]
    return " ".join([*words, *other_words(qdisc)])


def _tuned(qdisc: Qdisc, region: Region, update: str) -> tuple[PiFamily, PiFamily, Worst]:
    """Return the law as installed, as asked for, and its worst margins: by `tune`, for DualPI2."""
    tuned = tuned_near(qdisc, region, "dualpi2", update)
    if tuned.alpha < 1 / _PARTS:
        raise DomainError(
            f"{wanted()} up to rtt = {region.max_rtt:g} s need alpha = {tuned.alpha:.3g} Hz, less"
            f" than dualpi2's step of 1/{_PARTS} Hz: try a shorter rtt."
        )
    law = replace(
        qdisc.aqm,
        alpha=tuned.alpha,
        beta=tuned.beta,
        target=tuned.target,
        update_interval=tuned.update_interval,
    )
    running = install(law, qdisc.kind, hz=qdisc.hz).aqm
    return running, law, worst_margins(region, running, update)


def _free(qdisc: Qdisc, region: Region, update: str) -> tuple[PiFamily, PiFamily, Worst]:
    """The same for a law as such, at its own update interval: no kernel rounds it."""
    law = find_law(
        region,
        qdisc.aqm,
        ENOUGH,
        update,
        target=float(qdisc.aqm.target),
        update_interval=float(qdisc.aqm.update_interval),
        in_steps=False,
    )
    return law, law, worst_margins(region, law, update)


def _whole_steps(qdisc: Qdisc, region: Region, update: str) -> tuple[PiFamily, PiFamily, Worst]:
    """The same for PIE: gains in whole steps, and T in jiffies, with the largest alpha/T.

    One loop after another is added that turns out worse, as `tune` does.
    """
    version = "{}.{}".format(*qdisc.kernel.since)
    plants = Binding(region.corners(qdisc.aqm))
    for _ in range(_ROUNDS):
        count, gains = _fewest_jiffies(qdisc, plants, region.max_rtt, update)
        proposed = Pie(
            alpha=gains[0],
            beta=gains[1],
            target=float(qdisc.asked["target"]),
            update_interval=kernel.jiffies_to_us(count, qdisc.hz) / 1e6,
            variant=qdisc.kernel.variant,
        )
        running = install(proposed, qdisc.kind, hz=qdisc.hz, kernel=version).aqm
        running = replace(running, update_interval=_period(qdisc, count))
        worst = worst_margins(region, running, update)
        acks = worst_by_acks(region, running, update).worst
        if is_enough(worst.margins, None if acks is None else acks.margins):
            break
        plants = plants.and_by_rates(worst.plants)
        plants = plants if acks is None else plants.and_by_acks(acks.plants)
    return running, proposed, worst


def _fewest_jiffies(
    qdisc: Qdisc, plants: Loops, rtt: float, update: str
) -> tuple[int, tuple[float, float]]:
    """Return for how many jiffies to ask, and the gains: the largest alpha/T is at the least T.

    Raises
    ------
    DomainError
        If no T up to `rtt` allows the smallest alpha of tc.
    """

    def best(count: int) -> Gains:
        ceiling, _, _ = make_ceiling(plants, ENOUGH, _period(qdisc, count), update)
        return None if ceiling is None else largest_in_steps(ceiling)

    own = kernel.jiffies(round(1e6 * qdisc.asked["tupdate"]), qdisc.hz)
    low, high = (part * rtt for part in KEPT)
    if low <= _period(qdisc, own) <= high and (gains := best(own)) is not None:
        return own, gains
    longest = bisect_right(range(1, int(rtt * qdisc.hz) + 1), rtt, key=partial(_period, qdisc))
    counts = range(1, longest + 1)
    found = first_that_keeps(counts, best, lambda count: best(count) is not None)
    if found is None:
        raise DomainError(
            f"no gains of {qdisc.kind} leave {wanted()} up to rtt = {rtt:g} s, as they are whole"
            " sixteenths of 1 Hz up to 2 Hz, and T is whole ticks: use dualpi2, whose gains are"
            " finer."
        )
    return found


def _period(qdisc: Qdisc, count: int) -> float:
    """Return the T (s) that comes of asking for so many jiffies, many flows included."""
    asked = kernel.jiffies(round(1e6 * qdisc.asked["tupdate"]), qdisc.hz)
    rounds = round(float(qdisc.aqm.update_interval) * qdisc.hz) - qdisc.kernel.period(asked)
    return (qdisc.kernel.period(count) + rounds) / qdisc.hz


def _too_coarse(qdisc: Qdisc, least: Least) -> str:
    remedy = "a shorter rtt"
    if qdisc.kind == "dualpi2" and qdisc.asked["coupling_factor"] > _COUPLED:
        remedy = f"coupling_factor {_COUPLED}, for which the gains are, or {remedy}"
    return (
        f"the kernel rounds the best gains of {qdisc.kind} to {said(least, 1)}, less than"
        f" {wanted()}: try {remedy}."
    )
