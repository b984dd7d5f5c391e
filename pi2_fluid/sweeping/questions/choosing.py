"""Which question goes with what is given."""

from __future__ import annotations

import functools
from typing import Any

from pi2_fluid.design.tuning import tune
from pi2_fluid.engines.fluid.fluid import Fluid
from pi2_fluid.engines.simulating import require_engine
from pi2_fluid.errors import QuantityError, UnsupportedError, show_value
from pi2_fluid.loop.matrix.network_loop import NetworkLoop
from pi2_fluid.loop.transfer import Loop
from pi2_fluid.network.network import Network
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.results.seeds import seed_list
from pi2_fluid.results.summary import summarize
from pi2_fluid.sweeping.questions.designs import Designs
from pi2_fluid.sweeping.questions.loops import Loops
from pi2_fluid.sweeping.questions.networks import NetworkLoops, Rests
from pi2_fluid.sweeping.questions.question import Question
from pi2_fluid.sweeping.questions.runs import Runs


def question_of(base: object, engine: object, reduce: object) -> Question:
    """Return what is asked of a base.

    Raises
    ------
    QuantityError, ScenarioError, UnsupportedError
        If base, engine or function are none, or do not go together.
    """
    if isinstance(base, Scenario):
        chosen: Any = Fluid() if engine is None else engine
        require_engine(chosen)
        if not callable(reduce):
            raise QuantityError(
                f"reduce = {show_value(reduce)} is no function: give one that makes a Dataset of a"
                " Dataset, such as summarize."
            )
        seeds = tuple(seed_list(chosen.seeds)) if hasattr(chosen, "seeds") else ()
        return Runs(base, chosen, reduce, seeds)
    if engine is not None or reduce is not summarize:
        name, value = ("engine", engine) if engine is not None else ("reduce", reduce)
        raise UnsupportedError(
            f"{name} = {show_value(value)} goes with a Scenario, and base is"
            f" {show_value(base)}: leave it out."
        )
    if isinstance(base, Loop):
        return Loops.of(base)
    if isinstance(base, NetworkLoop):
        return NetworkLoops.of(base)
    if isinstance(base, Network):
        return Rests(base)
    if base is tune:
        return Designs.of(tune)
    if isinstance(base, functools.partial) and base.func is tune:
        return Designs.of(base)
    raise QuantityError(
        f"base = {show_value(base)} is nothing to sweep: give a Scenario, a Loop, a Network, or"
        ' functools.partial(tune, max_rtt="100ms").'
    )
