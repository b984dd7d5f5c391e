"""Verdicts: how far ours may be from what a paper states, by how the paper says it.

The tolerances were fixed before the figures were judged, and have no exceptions. A number may be 15
% off; what is "about", or was read off a plot, 30 %; a share of a distribution ten points. A bound
must hold in the median, a count exactly. A relation (less, more, alike) must hold in the median of
the runs and in five of six of them; alike is a ratio of 0.8 to 1.25.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.papers.claim import Verdict, matches
from pi2_fluid.papers.stated import Stated

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pi2_fluid.values import BoolArray, FloatArray

_NUMBER, _ABOUT, _POINTS = 0.15, 0.30, 0.10
_ALIKE: Final = (0.8, 1.25)
# What a ratio must lie between, and what says by 1 or 0 whether something holds.
_RELATED: Final = {
    "less": (-np.inf, 1.0),
    "more": (1.0, np.inf),
    "alike": _ALIKE,
    "holds": (0.5, 1.5),
}
_MOST: Final = 5.0 / 6.0  # of the runs in which a relation must hold


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A statement beside what came out.

    Attributes
    ----------
    stated : Stated
        The statement.
    found : tuple of float
        What came out, run by run, in the unit of the statement; of what holds 1 or 0.
    verdict : {"reproduced", "depends", "not_reproduced"}, optional
        "depends" if it holds only after a decision of ours; None where nothing is stated that could
        be judged.
    why : str
        One line: by what it came so.
    condition : str
        The decision of ours on which it rests, if it does.
    """

    stated: Stated
    found: tuple[float, ...]
    verdict: Verdict | None
    why: str = ""
    condition: str = ""

    @property
    def median(self) -> float:
        """Median over the runs."""
        return float(np.median(self.found))


def judge(row: Stated, values: ArrayLike, why: str = "", condition: str = "") -> Judged:
    """Return the verdict on a statement.

    Parameters
    ----------
    row : Stated
        The statement.
    values : array of float, shape (runs,) or ()
        What came out in each run; one number of what has no runs. NaN is not near anything.
    why, condition : str
        As in `Judged`.

    Examples
    --------
    >>> row = Stated(figure="pie:7", key="red", quantity="delay", value="30", unit="ms",
    ...     wording="number")
    >>> [judge(row, np.array(x)).verdict for x in ([34.0, 34.4], 35.0)]
    ['reproduced', 'not_reproduced']
    """
    runs = np.atleast_1d(np.asarray(values, dtype=float))
    verdict: Verdict | None = None
    if row.wording != "note":
        good = holds(row, runs)
        verdict = ("depends" if condition else "reproduced") if good else "not_reproduced"
    return Judged(
        stated=row,
        found=tuple(float(value) for value in runs),
        verdict=verdict,
        why=why,
        condition=condition if verdict == "depends" else "",
    )


def holds(row: Stated, runs: FloatArray) -> bool:
    """Return whether a statement holds, within the tolerance of its wording."""
    median = float(np.median(runs))
    match row.wording:
        case "less" | "more" | "alike" | "holds":
            return _relates(row, np.array(median)).item() and bool(
                np.mean(_relates(row, runs)) >= _MOST - 1e-9
            )
        case "exact":
            return matches(median, row.value)
        case "below":
            return median < row.number
        case "above":
            return median > row.number
        case _:
            return abs(median - row.number) <= _width(row) * (1.0 + 1e-12)


def _relates(row: Stated, runs: FloatArray) -> BoolArray:
    low, high = _RELATED[row.wording]
    result: BoolArray = (runs > low) & (runs < high)
    return result


def _width(row: Stated) -> float:
    if row.wording == "share":
        return _POINTS * (100.0 if row.unit == "%" else 1.0)
    return (_NUMBER if row.wording == "number" else _ABOUT) * abs(row.number)


def tolerance_text(row: Stated) -> str:
    """Return how far ours may be off, in words.

    Examples
    --------
    >>> row = Stated(figure="x:1", key="y", quantity="z", value="20", unit="ms", wording="about")
    >>> tolerance_text(row)
    '±30 %'
    """
    return {
        "number": f"±{100 * _NUMBER:.0f} %",
        "about": f"±{100 * _ABOUT:.0f} %",
        "share": f"±{100 * _POINTS:.0f} points",
        "less": "median and 5 of 6 below 1",
        "more": "median and 5 of 6 above 1",
        "alike": f"median and 5 of 6 in {_ALIKE[0]:g} to {_ALIKE[1]:g}",
        "holds": "median and 5 of 6",
        "exact": "exactly",
        "below": "median below",
        "above": "median above",
        "note": "nothing to judge",
    }[row.wording]


def stated_text(row: Stated) -> str:
    """Return what is stated, as short as in a table.

    Examples
    --------
    >>> row = Stated(figure="x:1", key="y", quantity="z", value="20", unit="ms", wording="about")
    >>> stated_text(row)
    'about 20 ms'
    """
    value = f"{row.value} {row.unit}".rstrip()
    return {
        "less": "below 1",
        "more": "above 1",
        "alike": "alike",
        "holds": "holds",
        "about": f"about {value}",
        "below": f"below {value}",
        "above": f"above {value}",
    }.get(row.wording, value)


def found_text(judged: Judged) -> str:
    """Return what came out: the median of the runs, and their range.

    Examples
    --------
    >>> row = Stated(figure="x:1", key="y", quantity="z", value="20", unit="ms", wording="about")
    >>> found_text(judge(row, [18.0, 21.0, 20.2])), found_text(judge(row, 18.0))
    ('20.2 (18 to 21) ms', '18 ms')
    """
    runs, row = np.array(judged.found), judged.stated
    if row.wording == "holds":
        return ("yes" if judged.median == 1.0 else "no") + (
            f" ({np.sum(runs == 1.0):.0f} of {runs.size})" if runs.size > 1 else ""
        )
    spread = f" ({runs.min():.3g} to {runs.max():.3g})" if np.ptp(runs) > 0.0 else ""
    return f"{judged.median:.3g}{spread} {row.unit}".rstrip()
