"""Exit codes."""

from __future__ import annotations

from typing import Final

__all__ = [
    "BAD_INPUT",
    "EXPLAINED",
    "FAILED",
    "INTERNAL",
    "INTERRUPTED",
    "NO_LINE",
    "OF_VERDICT",
    "PIPE_CLOSED",
    "STABLE",
    "UNDECIDED",
    "UNSTABLE",
]

STABLE: Final = 0
UNSTABLE: Final = 1
BAD_INPUT: Final = 2
UNDECIDED: Final = 3
FAILED: Final = 4
NO_LINE: Final = 5
INTERNAL: Final = 70
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141

#: Of what is said of a loop.
OF_VERDICT: Final = {"stable": STABLE, "unstable": UNSTABLE, "undecided": UNDECIDED}
#: What all of them mean, for help.
EXPLAINED: Final = (
    "Exit codes: 0 stable or done, 1 unstable, 2 bad input, 3 undecided, 4 numerical failure,"
    " missing package or tool, no network or full disk, 5 gains that tc has no line for, 70"
    " internal error, 130 interrupted, 141 nobody reads the output."
)
