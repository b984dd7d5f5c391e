"""Gains of PIE for FreeBSD, whose steps are finer than those of Linux's tc."""

from __future__ import annotations

import math
from dataclasses import replace

from pi2_fluid.deployment.wanted import ENOUGH, KEPT, wanted
from pi2_fluid.design.region import Region, Worst, worst_margins
from pi2_fluid.design.solving import find_law
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.tc.dummynet import PARTS_PER_HERTZ
from pi2_fluid.tc.qdisc import Qdisc


def tuned_near(
    qdisc: Qdisc, region: Region, kind: str, update: str, *, in_steps: bool = True
) -> PiFamily:
    """Return the law that `tune` finds, at the queue's own target and, if it will do, its own T."""
    interval = float(qdisc.asked["tupdate"])
    low, high = (part * region.max_rtt for part in KEPT)
    return find_law(
        region,
        kind,
        ENOUGH,
        update,
        target=float(qdisc.asked["target"]),
        update_interval=interval if low <= interval <= high else None,
        in_steps=in_steps,
    )


def fine_steps(qdisc: Qdisc, region: Region, update: str) -> tuple[PiFamily, PiFamily, Worst]:
    """Return the law as installed, as asked for, and its worst margins: those of `tune`.

    Alpha is cut to parts of 1 Hz, beta is the nearest, and T any.
    """
    tuned = tuned_near(qdisc, region, "pie", update, in_steps=False)
    law = replace(
        qdisc.aqm,
        alpha=math.floor(float(tuned.alpha) * PARTS_PER_HERTZ) / PARTS_PER_HERTZ,
        beta=round(float(tuned.beta) * PARTS_PER_HERTZ) / PARTS_PER_HERTZ,
        update_interval=tuned.update_interval,
    )
    return law, law, worst_margins(region, law, update)


def in_ipfw(law: PiFamily, qdisc: Qdisc) -> str:
    """Return what to give ipfw, whose ``config`` sets to a default what it does not name."""
    asked, kind = qdisc.asked, qdisc.kind.lower()
    words = [
        f"{kind} target {_us(float(law.target))} tupdate {_us(float(law.update_interval))}",
        f"alpha {_fine(float(law.alpha))} beta {_fine(float(law.beta))}",
        f"max_burst {_us(asked['max_burst'])} max_ecnth {asked['max_ecnth']:g}",
        *(f"{word} {asked[word]:g}" for word in ("quantum", "limit", "flows")
          if word in asked and kind == "fq_pie"),
        *("no" * (not asked[flag]) + flag for flag in ("ecn", "capdrop")),
        *["onoff"] * asked["onoff"],
        "dre" if asked["dre"] else "ts",
        "no" * (not asked["derand"]) + "derand",
    ]  # fmt: skip
    return (
        f"gains that leave {wanted()} everywhere. In the `config` of {qdisc.handle}, which sets to"
        f" its default what it does not name: {' '.join(words)}."
    )


def _fine(gain: float) -> str:
    """Return the shortest text from which ipfw, which cuts, makes this gain."""
    parts = round(gain * PARTS_PER_HERTZ)
    texts = (f"{parts / PARTS_PER_HERTZ:.{digits}g}" for digits in range(4, 17))
    return next(text for text in texts if int(float(text) * PARTS_PER_HERTZ) == parts)


def _us(seconds: float) -> str:
    us = round(1e6 * seconds)
    return f"{us // 1000}ms" if us % 1000 == 0 else f"{us}us"
