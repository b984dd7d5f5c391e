"""What Tab completes: names of what there is, read without loading anything heavy.

The scripts of the shells, and when they ask, are the shell library's.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

#: Engines, whose own room loads numerical libraries.
ENGINES: Final = ("fluid", "packet", "ns3", "linux")


def words() -> list[str] | None:
    """Return the command line that is being completed; None where it is run."""
    if "_PI2_FLUID_COMPLETE" not in os.environ:
        return None
    line = os.environ.get("COMP_WORDS", os.environ.get("_TYPER_COMPLETE_ARGS", ""))
    return line.split()[1:]


def one_of(*names: str) -> Callable[[], list[str]]:
    """Return what completes any of these names."""
    return lambda: list(names)


engines: Final = one_of(*ENGINES)


def scenarios() -> list[str]:
    """Return the scenarios that come with the package."""
    from pi2_fluid.network.catalogue import scenario_names

    return list(scenario_names())


def traffic() -> list[str]:
    """Return the words for who sends."""
    from pi2_fluid.network.catalogue import traffic_names

    return list(traffic_names())


def queues() -> list[str]:
    """Return queues that can be put into a scenario, and those of the kernel."""
    from pi2_fluid.laws.kernel.qdiscs import QDISCS
    from pi2_fluid.laws.registry import AQMS, PRESETS

    return list(dict.fromkeys([*AQMS, *PRESETS, *QDISCS]))


def senders() -> list[str]:
    """Return who can send."""
    from pi2_fluid.laws.registry import SENDERS

    return list(SENDERS)


def figures() -> list[str]:
    """Return papers, and figures as their files are called: a colon ends a word in bash."""
    from pi2_fluid.papers.registry import FIGURES, TITLES, file_name

    return ["all", *TITLES, *map(file_name, FIGURES)]


def papers() -> list[str]:
    """Return the papers that claim something."""
    from pi2_fluid.papers.registry import TITLES

    return [paper for paper, title in TITLES.items() if title]
