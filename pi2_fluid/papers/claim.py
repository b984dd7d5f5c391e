"""What a claim is, and how its verdict follows from numbers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

__all__ = ["Claim", "Verdict", "count_claims", "decide", "matches"]

Verdict = Literal["reproduced", "not_reproduced", "depends"]


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
        "depends" if the statement holds in some reading or setting and fails in another.
    why : str
        By what the verdict was decided.
    """

    id: str
    source: str
    text: str
    computed: str
    verdict: Verdict
    why: str


def count_claims(claims: Collection[Claim]) -> str:
    """Return how many claims there are, and how many came out how, in words.

    Examples
    --------
    >>> import dataclasses
    >>> claim = Claim(id="x-1", source="", text="", computed="", verdict="depends", why="")
    >>> count_claims([claim, dataclasses.replace(claim, verdict="reproduced")])
    '2 claims: 1 reproduced, 1 only in some reading or under an assumption of ours'
    """
    words = {
        "reproduced": "reproduced",
        "depends": "only in some reading or under an assumption of ours",
        "not_reproduced": "not reproduced",
    }
    verdicts = [claim.verdict for claim in claims]
    counts = [f"{verdicts.count(v)} {word}" for v, word in words.items() if v in verdicts]
    return f"{len(verdicts)} claim{'' if len(verdicts) == 1 else 's'}: {', '.join(counts)}"


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
