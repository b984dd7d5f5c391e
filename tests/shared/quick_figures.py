"""Figures of papers with as few seeds as they can have, made once for all tests of a process."""

from __future__ import annotations

from functools import cache

import pi2_fluid as pf
from pi2_fluid.papers.gallery import PaperFigure

#: Figures whose intervals no single run has.
OF_TWO = {"ours:what_gains_buy"}


@cache
def quick_figure(name: str) -> PaperFigure:
    """Return a figure as it is made in a hurry, of one seed alone where one is enough."""
    return pf.figure(name, seeds=2 if name in OF_TWO else 1, quick=True)
