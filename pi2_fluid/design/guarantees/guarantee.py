"""What a design's margins rest on: proved over its region, or checked at points of it."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from pi2_fluid.design.gains import Asked
from pi2_fluid.design.guarantees.certificate import Certificate, certify
from pi2_fluid.design.guarantees.mixtures import any_mixture_is_stable
from pi2_fluid.design.plants import is_classic
from pi2_fluid.design.region import Region, Worst, worst_margins
from pi2_fluid.model.aqms.dualpi2 import DualPi2
from pi2_fluid.model.aqms.pi_family import PiFamily
from pi2_fluid.model.registry import kind_of

__all__ = ["Guarantee", "guarantee"]

#: Parts of the worst margins found that a proof may leave out, tried in turn: the cost grows as
#: they shrink.
_SLACK: Final = (1e-3, 1e-2)
_LARGEST: Final = 80.0  # dB: where nothing crosses, this much is proved
_ROUNDS: Final = 3
_MODELS: Final = {
    "sampled": "the exact sampled loop",
    "delayed": "the half-sample loop",
    "continuous": "the continuous loop",
}


class Guarantee(NamedTuple):
    """Margins of gains in a region, and how they are known.

    Attributes
    ----------
    kind : {"proved", "checked"}
    text : str
        The same in a sentence: what is claimed, of which loops, by what.
    margins : Asked
        What is proved, or the smallest found.
    worst : Worst
        The smallest found.
    boxes : int
        How many the proof took, 0 without one.
    """

    kind: str
    text: str
    margins: Asked
    worst: Worst
    boxes: int


def guarantee(region: Region, aqm: PiFamily, worst: Worst, mode: str) -> Guarantee:
    """Prove the worst margins found in a region, less a thousandth, or say what was checked.

    Where the proof finds a loop that has less, that is the new worst. Of unstable gains nothing is
    to be proved.
    """
    for _ in range(_ROUNDS):
        if worst.margins.verdict_code <= 0:
            break
        found, claimed = _prove(region, aqm, worst, mode)
        if found.outcome == "proved":
            words = _words(region, aqm, worst, mode, claimed, found.boxes)
            return Guarantee("proved", words, claimed, worst, found.boxes)
        if found.outcome == "undecided":
            break
        worst = worst_margins(region, aqm, mode, also=found.counterexample)
    margins = _claim(worst, 0.0)
    return Guarantee("checked", _words(region, aqm, worst, mode, margins, None), margins, worst, 0)


def _prove(region: Region, aqm: PiFamily, worst: Worst, mode: str) -> tuple[Certificate, Asked]:
    for slack in _SLACK:
        claimed = _claim(worst, slack)
        found = certify(region, aqm, claimed, mode)
        if found.outcome != "undecided":
            break
    return found, claimed


def _claim(worst: Worst, slack: float) -> Asked:
    """Return the margins found less a part of them; 0 of what is negative."""
    found = worst.margins
    return Asked(
        *(
            max(0.0, min(float(value), most)) * (1.0 - slack)
            for value, most in (
                (found.gain_margin_db, _LARGEST),
                (found.phase_margin_deg, 90.0),
                (found.modulus_margin, 1.0),
            )
        )
    )


def _words(
    region: Region, aqm: PiFamily, worst: Worst, mode: str, margins: Asked, boxes: int | None
) -> str:
    who = " and ".join(str(kind_of(sender)) for sender in region.senders)
    span = (
        f"RTT from {1e3 * region.min_rtt:.4g} to {1e3 * region.max_rtt:.4g} ms in the loop and"
        f" {_loads(region)}"
    )
    if boxes is None:
        text = (
            f"checked, not proved: {_MODELS[mode]} of {who} at {worst.count} points of a grid,"
            f" {span}, refined around the worst"
        )
    else:
        text = (
            f"proved for every {span} ({boxes} boxes): {_MODELS[mode]} of {who} has at least"
            f" {_down(margins.gain_db, 2)} dB, {_down(margins.phase_deg, 1)} deg and |1+L| of"
            f" {_down(margins.modulus, 3)}"
        )
    # Where Scalable flows have a queue of their own, their shares do not sum to one with the rest.
    apart = isinstance(aqm, DualPi2) and not all(is_classic(one) for one in region.senders)
    if not apart and boxes is not None and any_mixture_is_stable(region, aqm):
        text += "; any mix of these RTTs and senders is stable (half-sample loop)"
    else:
        text += "; each sender and RTT on its own, mixtures not proved"
    if isinstance(aqm, DualPi2):
        text += ". Not covered: L4S beside Classic traffic in two queues (see largest_l4s_share)"
    return text + "."


def _loads(region: Region) -> str:
    ends = {(low, high) for low, high in region.load}
    if ends == {(0.0, 1.0)}:
        return "every load"
    texts = [f"{low:.3g} to {high:.3g}" for low, high in sorted(ends)]
    return f"p' from {' and '.join(texts)}"


def _down(value: float, digits: int) -> str:
    """Return a number rounded down, in favour of the claim."""
    scale: Any = 10**digits
    return f"{int(value * scale) / scale:.{digits}f}"
