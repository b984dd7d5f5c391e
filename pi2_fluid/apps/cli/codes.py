"""Exit codes, and the error of an interrupt that has something to say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

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
#: Of each code what it means in a few words, and what more there is to say of it.
MEANINGS: Final[Mapping[int, tuple[str, str]]] = {
    STABLE: ("stable or done", "Every queue that has a loop is stable; other commands are done."),
    UNSTABLE: (
        "unstable",
        (
            "One queue at least oscillates, or has less margin than `--require`. `figure --check`"
            " and `validate`: a result is not the recorded one."
        ),
    ),
    BAD_INPUT: (
        "bad input",
        "Nothing was computed. The sentence on standard error says what to give.",
    ),
    UNDECIDED: (
        "undecided",
        "What was given allows both answers, or no queue has a loop. The text says what to add.",
    ),
    FAILED: (
        "failed",
        (
            "A computation did not converge, a package or tool is missing, there is no network, or"
            " the disk is full."
        ),
    ),
    NO_LINE: ("no line for tc", "`tune` found gains, and tc cannot be told them."),
    INTERNAL: ("internal error", "A mistake of ours: please report it, with the command."),
    INTERRUPTED: ("interrupted", "By Ctrl-C. What was finished is printed or kept."),
    PIPE_CLOSED: ("output closed", "Nobody reads the output, as behind `| head`."),
}
#: Those that are not of a verdict, in a list.
OTHERS: Final = ", ".join(
    f"{code} {means}" for code, (means, _) in MEANINGS.items() if code > UNDECIDED
)


class BrokenOff(Exception):  # noqa: N818  an interrupt is no error
    """Ctrl-C came, and this is kept: said in the one line that tells of it."""
