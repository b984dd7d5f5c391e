"""What a model of senders leaves out that bears on margins, in a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pi2_fluid.design.plants import plant_of
from pi2_fluid.laws.sender import Sender

_CUBIC: Final = (
    "Cubic is judged by the averages of its window law, on a grid and from p = 1e-6 on; where its"
    " cubic rules (long paths, large windows) simulated flows have windows 16 to 26 % larger, and"
    " margins may be 1 to 3 dB less than shown."
)


def caveat(senders: Iterable[Sender]) -> str:
    """Return what to know of margins for these senders, "" if there is nothing.

    Examples
    --------
    >>> from pi2_fluid.laws.senders.cubic import Cubic
    >>> caveat([Cubic()])[:48]
    'Cubic is judged by the averages of its window la'
    """
    return _CUBIC if any(plant_of(sender) == "cubic" for sender in senders) else ""
