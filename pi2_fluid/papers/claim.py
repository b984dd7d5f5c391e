"""What a claim is, and how its verdict follows from numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, Literal

Verdict = Literal["reproduced", "not_reproduced", "depends"]
#: Verdicts as they are read, in this order.
_WORDS: Final[Mapping[Verdict, str]] = {
    "reproduced": "reproduced",
    "depends": "only under an assumption of ours",
    "not_reproduced": "not reproduced",
}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A published statement beside what the models give.

    Attributes
    ----------
    id : str
        Paper and number, "pi2-09"; of a figure its number and the statement, "pi2:15 pie_dctcp".
    source : str
        Paper and section.
    text : str
        The statement, in our words.
    computed : str
        What came out here: computed when the claim was asked for, or recorded of whole runs.
    verdict : {"reproduced", "not_reproduced", "depends"}
        "depends" if it holds only under an assumption of ours: in one of several readings.
    why : str
        By what the verdict was decided.
    """

    id: str
    source: str
    text: str
    computed: str
    verdict: Verdict
    why: str


def count_verdicts(verdicts: Collection[Verdict | None], what: str = "") -> str:
    """Return how many statements came out how, in words; None, which cannot be judged, as none.

    Parameters
    ----------
    verdicts : collection of str or None
    what : str
        What they are, one of them: "claim"; how many there are is then said, too.

    Examples
    --------
    >>> count_verdicts(["depends", "reproduced", None, "reproduced"], "claim")
    '3 claims: 2 reproduced, 1 only under an assumption of ours'
    >>> count_verdicts(["not_reproduced"])
    '1 not reproduced'
    >>> count_verdicts([None])
    'nothing stated'
    """
    known = [one for one in verdicts if one is not None]
    counts = [f"{known.count(v)} {word}" for v, word in _WORDS.items() if v in known]
    said = ", ".join(counts) or "nothing stated"
    if not what or not known:
        return said
    return f"{len(known)} {what}{'' if len(known) == 1 else 's'}: {said}"


def decide(*readings: bool) -> Verdict:
    """Return the verdict on a statement from whether it holds in each of its readings.

    Examples
    --------
    >>> decide(True, True), decide(True, False), decide(False)
    ('reproduced', 'depends', 'not_reproduced')
    """
    if all(readings):
        return "reproduced"
    return "depends" if any(readings) else "not_reproduced"


def matches(value: float, printed: str) -> bool:
    """Return whether `value` rounds to a number as it was printed, at its last printed digit.

    Examples
    --------
    >>> matches(3.464, "3.5"), matches(3.464, "3.50"), matches(44.72, "45")
    (True, False, True)
    """
    decimals = len(printed.partition(".")[2])
    # A hair more than half a digit, so that a tie counts whichever way it is rounded.
    return abs(value - float(printed)) <= 0.5 * 10.0**-decimals * (1.0 + 1e-9)
