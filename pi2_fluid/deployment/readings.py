"""What the output of tc leaves open: of which kernel it is, and how often that ticks.

Queues shown together are of one kernel. PIE's update interval is a whole number of its ticks, and
statistics with a rate of departure that was not asked for are those of an older one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pi2_fluid.errors import QuantityError
from pi2_fluid.tc.block import Block
from pi2_fluid.tc.generations import NEWEST, OLDER, Generation
from pi2_fluid.tc.parsing import installed
from pi2_fluid.tc.qdisc import Qdisc

#: What kernels are built with (CONFIG_HZ).
_USUAL: Final = (100, 250, 300, 1000)
_ANY: Final = 1000  # of what has a timer in ns


def common_hz(blocks: Iterable[Block]) -> tuple[int, ...]:
    """Return the usual numbers of ticks per second that can show all of these queues.

    All of them if none can, as of outputs of several machines.
    """
    left = set(_USUAL)
    for block in blocks:
        if _ticks(block):
            left &= {hz for hz in _USUAL if _shows(block, hz)}
    return tuple(hz for hz in _USUAL if not left or hz in left)


def readings(
    block: Block, hz: int | None, generation: Generation | None, common: tuple[int, ...]
) -> list[Qdisc]:
    """Return the queue that a block shows, once for each kernel that it can be of.

    Parameters
    ----------
    hz, generation
        What is known of the kernel; None if it is not.
    common : tuple of int
        What `common_hz` has left of the numbers of ticks.

    Raises
    ------
    QuantityError, DomainError
        If it cannot be read, or is of none of them.
    """
    generations: tuple[Generation, ...] = (generation or NEWEST,)
    if generation is None and _is_old(block):
        generations = OLDER
    if not _ticks(block):
        return [installed(block, _ANY if hz is None else hz, generations[0])]
    known = (hz,) if hz is not None else tuple(each for each in common if _shows(block, each))
    if not known:
        raise QuantityError(
            f"tupdate of {block.name} = {block.options['tupdate'] / 1000:g}ms is no whole number of"
            f" ticks at any of the usual {', '.join(map(str, _USUAL))} per second: give hz, the"
            " kernel's CONFIG_HZ."
        )
    return [installed(block, each, one) for one in generations for each in known]


def _ticks(block: Block) -> bool:
    return block.kind != "dualpi2" and block.trouble is None


def _is_old(block: Block) -> bool:
    told = block.statistics or {}
    return "avg_dq_rate" in told and not block.options["dq_rate_estimator"] and block.kind == "pie"


def _shows(block: Block, hz: int) -> bool:
    try:
        installed(block, hz, NEWEST)
    except QuantityError:
        return False
    return True
