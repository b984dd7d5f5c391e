"""What a module declares about the figure it makes: a `Recipe` named RECIPE.

A figure is made in two steps. `measure` computes everything that it shows and judges, from
scenarios and settings; a page's `draw` draws what was measured and computes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import pi2_fluid as pf
from pi2_fluid.papers.stated import Stated
from pi2_fluid.papers.verdicts import Judged, judge

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase
    from numpy.typing import ArrayLike

#: What a figure is computed from.
Kind = Literal[
    "loop", "fluid", "packets", "fluid and packets", "sample", "diagram", "card", "numbers"
]
#: Curves: one mapping of column name to value or array each, as `plot.write_numbers` takes them.
Rows = Sequence[Mapping[str, Any]]

#: Seeds of a figure that is made in a hurry.
QUICK: Final = 2


class Case(NamedTuple):
    """What one figure is computed with."""

    scenarios: Mapping[str, pf.Scenario]
    """The figure's scenarios, with what was set of them."""
    seeds: int
    """Runs of each."""
    settings: Mapping[str, object]
    """The recipe's parameters, text as in files or SI numbers, with what was set of them."""
    quick: bool
    """Whether few seeds, and where that is not enough fewer points, are wanted."""
    changed: bool = False
    """Whether something was set, so that nothing the paper states is about this figure."""

    def as_printed(self, text: str) -> str:
        """Return words that hold of the paper's own set-up alone; "" if something was set."""
        return "" if self.changed else text


class Measured(NamedTuple):
    """What a figure shows, and what its statements are judged by."""

    tables: Mapping[str, Rows]
    """The plotted numbers, by the name of their CSV file after the figure's: "" for the first."""
    found: Mapping[str, ArrayLike] = {}
    """What came out for each statement, by its key: an array of one number per run, or a number."""


class Caption(NamedTuple):
    """The words of one page.

    `message` may hold of the paper's own set-up alone: a figure that was changed has the recipe's
    `title` instead. All other words are made from what is run, or pass `Case.as_printed`.
    """

    message: str
    """What the eye should learn: the title."""
    note: str = ""
    """Small print below, two lines at most; what is longer belongs on the figure's page."""
    setting: str = ""
    """Parameters, above the first axes."""


class Page(NamedTuple):
    """One picture of a figure."""

    draw: Callable[[FigureBase, Measured, Case], Caption]
    """Draw into an empty figure, or part of one, and return its words."""
    size: tuple[float, float] = (9.0, 5.5)
    """Width and height (in)."""
    shows: str = ""
    """What is on it, if that is not what the recipe's `title` says."""


def _nothing() -> dict[str, pf.Scenario]:
    return {}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a figure is made.

    Attributes
    ----------
    caption : str
        What the paper shows, in our words.
    shows : str
        The same without a number of the set-up, which is the title where something was changed;
        the caption if that has none.
    kind : str
        What it is computed from: loop, fluid, packets, fluid and packets; sample (of a
        distribution); diagram; card (a measurement, not to be repeated); numbers (nothing drawn).
    measure : callable
        `Case` to `Measured`.
    pages : mapping of str to Page
        Pictures by what follows the figure's name in their file names: "" is the paper's, others
        are what we add.
    scenarios : callable
        Returns the scenarios by name; of a loop none.
    parameters : mapping of str to str
        What a loop's figure can be made with other values of, with those it has: {"rtt": "100ms"}.
    changeable : sequence of str, optional
        Which of the usual names can be set of the scenarios; all of them if not given.
    decisions : sequence of str
        What the paper does not say, and we chose, in a sentence each.
    why : mapping of str to str
        By a statement's key, one line: by what it came so. "" is of the whole figure: said
        below the others, and of every statement that has no line of its own.
    conditions : mapping of str to str
        By a statement's key, the decision of ours on which it rests.
    seeds : int
        Runs of each scenario; 1 of what has none.
    least_duration : float
        How long a run has to be (s) to show anything of what is drawn: what begins later is not
        there in a shorter one.
    coarse : bool
        Whether a quick figure has fewer points too, so that what it finds is no part of what whole
        runs find.
    """

    caption: str
    shows: str = ""
    kind: Kind
    measure: Callable[[Case], Measured]
    pages: Mapping[str, Page]
    scenarios: Callable[[], Mapping[str, pf.Scenario]] = _nothing
    parameters: Mapping[str, str] = field(default_factory=dict)
    changeable: Sequence[str] | None = None
    decisions: Sequence[str] = ()
    why: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, str] = field(default_factory=dict)
    seeds: int = 6
    least_duration: float = 0.0
    coarse: bool = False

    @property
    def title(self) -> str:
        """What is shown, whatever the numbers of the set-up are."""
        return self.shows or self.caption

    def judge(self, row: Stated, found: ArrayLike) -> Judged:
        """Return the verdict on a statement about this figure."""
        why = self.why.get(row.key, self.why.get("", ""))
        return judge(row, found, why, self.conditions.get(row.key, ""))

    def causes(self, judged: Iterable[Judged]) -> list[str]:
        """Return every cause once: those of statements, then that of the whole figure."""
        lines = [*(one.why for one in judged), self.why.get("", "")]
        return [line for line in dict.fromkeys(lines) if line]


def shipped(*names: str) -> Callable[[], Mapping[str, pf.Scenario]]:
    """Return what a recipe takes as `scenarios` where they come with the package."""
    return partial(_shipped, names)


def _shipped(names: Sequence[str]) -> dict[str, pf.Scenario]:
    return {name: pf.named_scenario(name) for name in names}
