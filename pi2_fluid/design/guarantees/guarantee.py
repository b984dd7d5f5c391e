"""What a design's margins rest on: proved over its region, or checked at points of it."""

from __future__ import annotations

from typing import Final, NamedTuple

from pi2_fluid.design.clocks import SENDERS_OF, rounded_down
from pi2_fluid.design.gains import Asked
from pi2_fluid.design.guarantees.certificate import Certificate, certify
from pi2_fluid.design.guarantees.mixtures import any_mixture_is_stable, mixed_load
from pi2_fluid.design.plants import is_classic, plant_of
from pi2_fluid.design.region import Region, Worst, worst_margins
from pi2_fluid.design.remembering import remembered
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.registry import name_of
from pi2_fluid.laws.sender import Sender

#: Parts of the worst margins found that a proof may leave out, tried in turn: the cost grows as
#: they shrink.
_SLACK: Final = (1e-3, 1e-2)
_LARGEST: Final = 80.0  # dB: where nothing crosses, this much is proved
_ROUNDS: Final = 3
_MODELS: Final = {
    "sampled": "sampled model",
    "delayed": "model with updates as a delay of T/2",
    "continuous": "continuous model",
}
_MIXED: Final = "with updates taken as a delay of T/2"


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


@remembered
def guarantee(region: Region, aqm: PiFamily, worst: Worst, update: str) -> Guarantee:
    """Prove the worst margins found in a region, less a thousandth, or say what was checked.

    Where the proof finds a loop that has less, that is the new worst. Of unstable gains nothing is
    to be proved.
    """
    for _ in range(_ROUNDS):
        if worst.margins.verdict_code <= 0:
            break
        found, claimed = _prove(region, aqm, worst, update)
        if found.outcome == "proved":
            words = _words(region, aqm, worst, update, claimed, proved=True)
            return Guarantee("proved", words, claimed, worst, found.boxes)
        if found.outcome == "undecided":
            break
        worst = worst_margins(region, aqm, update, also=found.counterexample)
    margins = _claim(worst, 0.0)
    words = _words(region, aqm, worst, update, margins, proved=False)
    return Guarantee("checked", words, margins, worst, 0)


def _prove(region: Region, aqm: PiFamily, worst: Worst, update: str) -> tuple[Certificate, Asked]:
    for slack in _SLACK:
        claimed = _claim(worst, slack)
        found = certify(region, aqm, claimed, update)
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
    region: Region, aqm: PiFamily, worst: Worst, update: str, margins: Asked, *, proved: bool
) -> str:
    names = [name_of(sender) for sender in region.senders]
    who = f"each of {' and '.join(names)} alone" if len(names) > 1 else names[0]
    where = (
        f"for every round-trip time from {1e3 * region.min_rtt:.4g} to"
        f" {1e3 * region.max_rtt:.4g} ms with the queue, and {_loads(region)}"
    )
    clock = f"by rates ({SENDERS_OF['rate']})"
    how = f"Proved {clock}, {where}"
    if not proved:
        how = f"Checked {clock} at {worst.count} loops, not proved, {where}"
    least = (
        f"{rounded_down(margins.gain_db, 2)} dB, {rounded_down(margins.phase_deg, 1)} deg and |1+L|"
        f" of {rounded_down(margins.modulus, 3)}"
    )
    text = (
        f"{how}: {who} keeps at least {least} in the {_MODELS[update]}. That is with a constant"
        f" round-trip time in the window law, as in the papers{_terms(region)}."
    )
    # Where Scalable flows have a queue of their own, their shares do not sum to one with the rest.
    apart = aqm.bands == 2 and not all(is_classic(one) for one in region.senders)
    if not apart and proved and any_mixture_is_stable(region, aqm):
        senders = "round-trip times and senders" if len(names) > 1 else "round-trip times"
        text += f" Any mix of these {senders} is stable{_up_to(region, aqm)}, {_MIXED}."
    else:
        text += " Not covered: mixtures of flows."
    if aqm.bands == 2:
        text += " Not covered: L4S beside Classic traffic in two queues (see largest_l4s_share)."
    return text


def _terms(region: Region) -> str:
    cubic = any(plant_of(sender) == "cubic" for sender in region.senders)
    return "" if cubic else ", and without"


def _up_to(region: Region, aqm: PiFamily) -> str:
    """The load up to which mixtures are proved, where that is not all of it."""
    _, high = mixed_load(region, aqm)
    classic = [
        end
        for sender, (_, end) in zip(region.senders, region.hull, strict=True)
        if is_classic(sender)
    ]
    if high >= max(classic, default=0.0):
        return ""
    return f" up to p' = {high:.3g}, where every Scalable packet is marked"


def _loads(region: Region) -> str:
    if region.long_flows.bounds:
        return region.long_flows.text
    ends = {(low, high) for low, high in region.load}
    if ends == {(0.0, 1.0)}:
        return "every load"
    if len(ends) == 1:
        return f"p' from {_span(*ends.pop())}"
    texts = [f"{_span(*load)} ({name_of(sender)})" for sender, load in _each(region)]
    return f"p' from {' and '.join(texts)}"


def _each(region: Region) -> list[tuple[Sender, tuple[float, float]]]:
    return list(zip(region.senders, region.load, strict=True))


def _span(low: float, high: float) -> str:
    return f"{low:.3g} to {high:.3g}"
