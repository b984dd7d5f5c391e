"""Figure 9 of Paganini and others (2002): see `pi2_fluid.papers.paganini.newreno`."""

from __future__ import annotations

from functools import partial
from typing import Final

from pi2_fluid.papers.paganini.newreno import draw_figure

__all__ = ["draw"]

#: Draw the figure into a folder and return the files written.
draw: Final = partial(draw_figure, 9)
