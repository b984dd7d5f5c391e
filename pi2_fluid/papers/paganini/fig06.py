"""Figure 6 of Paganini and others (2002): see `pi2_fluid.papers.paganini.newreno_page`."""

from __future__ import annotations

from typing import Final

from pi2_fluid.papers.paganini.newreno_page import make_recipe
from pi2_fluid.papers.recipe import Recipe

RECIPE: Final[Recipe] = make_recipe(6)
