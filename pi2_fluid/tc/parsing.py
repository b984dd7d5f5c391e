"""`parse`: what ``tc qdisc show`` prints, with ``-s``, ``-d`` or ``-j``, to queues as installed."""

from __future__ import annotations

from typing import Any, Final

from pi2_fluid.errors import DomainError, QuantityError, show_value
from pi2_fluid.tc.block import Block
from pi2_fluid.tc.generations import NEWEST, Generation, generation_of
from pi2_fluid.tc.numbers import asked_for
from pi2_fluid.tc.observing import observe
from pi2_fluid.tc.options import KINDS, OPTIONS, Switch
from pi2_fluid.tc.qdisc import Qdisc, build

_NAMED: Final = 8  # foreign queues that a message names
#: What kernels are built with: kernel/Kconfig.hz, and those of arm, mips and alpha.
_HZ: Final = (100, 250, 300, 1000)
_RARE_HZ: Final = (24, 32, 48, 64, 128, 200, 256, 500, 1024, 1200)


class Found(list[Qdisc]):
    """The queues that `parse` finds; `foreign` has the names of those it skips.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> found = pf.qdisc.parse('''
    ... qdisc noqueue 0: dev lo root refcnt 2
    ... qdisc pie 8001: dev eth0 root limit 1000p target 15ms tupdate 15ms alpha 2 beta 20
    ... ''')
    >>> len(found), found[0].kind, found.foreign
    (1, 'pie', ['noqueue 0: dev lo'])
    """

    def __init__(self, queues: list[Qdisc], foreign: list[str]) -> None:
        super().__init__(queues)
        self.foreign = foreign


def parse(text: str, *, hz: int = 1000, kernel: str | None = None) -> Found:
    """Read what tc shows of the queues pie, fq_pie and dualpi2, among others.

    Parameters
    ----------
    text : str
        The output of ``tc qdisc show``, with any of ``-s``, ``-d`` and ``-j``. Times in text have
        three digits; in JSON they are exact. Also lines that ask for a queue, ``tc qdisc replace``,
        ``add`` or ``change``: they are read as tc reads them, and are `proposed`. Sessions,
        scripts, logs and mail may be around both: they say the device where tc does not.
    hz : int
        The kernel's ticks per second (CONFIG_HZ): 100, 250, 300 or 1000. PIE's update interval is
        a number of them.
    kernel : str, optional
        The version of the kernel, as ``uname -r`` prints it; by default one since 5.5. Older ones
        run another PIE.

    Returns
    -------
    Found
        A list of `Qdisc`, in the order of the text; its `foreign` lists the queues of other kinds.

    Raises
    ------
    QuantityError
        If nothing is a pie, fq_pie or dualpi2, or something of theirs cannot be read: cut off,
        twice there, no number, or nothing that the kernel can show; if tc or the kernel would
        refuse a line, of whatever kind.
    DomainError
        If it can be read but is no law: alpha = 0, a step that counts packets.

    Examples
    --------
    >>> shown = "qdisc pie 8001: root refcnt 2 limit 1000p target 20ms tupdate 32ms alpha 2 beta 20"
    >>> queue = parse(shown)[0]
    >>> queue.aqm.alpha, queue.aqm.update_interval  # the timer is one jiffy late
    (0.125, 0.033)
    >>> line = "tc qdisc replace dev eth0 root dualpi2 max_rtt 200ms typical_rtt 20ms"
    >>> f"{parse(line)[0].aqm.alpha:.6f}"
    '0.043656'

    Source: iproute2 7.3; Linux 6.18.
    """
    if not isinstance(text, str):
        raise QuantityError(
            f"text = {show_value(text)} is no text: give the output of `tc qdisc show`."
        )
    require_hz(hz)
    generation = NEWEST if kernel is None else generation_of(kernel)
    queues: list[Qdisc] = []
    foreign: list[str] = []
    for block in observe(text).blocks:
        if block.ours or block.trouble is not None:
            queues.append(queue_of(block, hz, generation))
        else:
            foreign.append(block.name)
    if not queues:
        raise nothing_of_ours(text, foreign)
    return Found(queues, foreign)


def nothing_of_ours(text: str, foreign: list[str]) -> QuantityError:
    """Return what to say of a text in which there is no queue that is read here."""
    seen = ", ".join(foreign[:_NAMED]) + (", ..." if len(foreign) > _NAMED else "")
    among = f"among {show_value(seen)}" if foreign else f"in {show_value(text)}"
    return QuantityError(
        f"there is no {', '.join(KINDS[:-1])} or {KINDS[-1]} {among}: give the output of"
        " `tc qdisc show`."
    )


def queue_of(block: Block, hz: int = 1000, generation: Generation = NEWEST) -> Qdisc:
    """Return the queue of a block, as `installed`.

    Raises
    ------
    QuantityError
        If it cannot be read.
    DomainError
        If it is no law.
    """
    if block.trouble is not None:
        raise block.trouble
    if block.step_packets is not None:
        raise DomainError(
            f"step_thresh of {block.name} = '{block.step_packets}p' counts packets, and the law"
            " here takes a time: give step_thresh as a time such as 1ms."
        )
    return installed(block, hz, generation)


def require_hz(hz: object) -> None:
    """Refuse what is no number of ticks per second.

    Raises
    ------
    QuantityError
        If it is none that kernels are built with.
    """
    if type(hz) is not int or hz not in (*_HZ, *_RARE_HZ):
        raise QuantityError(
            f"hz = {show_value(hz)} is none that kernels are built with: give its CONFIG_HZ, one of"
            f" {', '.join(map(str, _HZ))}; on arm, mips or alpha also one of"
            f" {', '.join(map(str, _RARE_HZ))}."
        )


def installed(block: Block, hz: int, generation: Generation) -> Qdisc:
    """Return the queue that tc shows, as a kernel with this `hz` of this generation has installed.

    What its tc does not show, and a step that counts packets, are None in `asked` and `shown`; its
    law has the kernel's default there.

    Raises
    ------
    QuantityError
        If it shows what no such kernel can.
    DomainError
        If it is no law.
    """
    if block.proposed:
        return _as_if_asked(block, hz, generation)
    units: dict[str, int] = {}
    shown: dict[str, Any] = {}
    unknown = ["step_thresh"] if block.step_packets is not None else []
    for option in OPTIONS[block.kind]:
        if option.word not in block.options:
            units[option.word] = option.default
            unknown.append(option.word)
            continue
        read = block.options[option.word]
        if isinstance(option, Switch):
            units[option.word] = int(read)
            shown[option.word] = bool(read)
            continue
        name = f"{option.word} of {block.name}"
        units[option.word] = asked_for(block.kind, option, read, hz, name)
        if option.unit.name == "hertz":
            read = round(read)
        shown[option.word] = option.unit.in_si(read)
    nothing: dict[str, Any] = dict.fromkeys(unknown)
    return build(
        block.kind,
        units,
        hz,
        generation,
        parameters=nothing,
        shown=shown | nothing,
        handle=block.handle,
        dev=block.dev,
        parent=block.parent,
        namespace=block.namespace,
        statistics=block.statistics,
    )


def _as_if_asked(block: Block, hz: int, generation: Generation) -> Qdisc:
    """Return the queue that would run if a line were given to tc."""
    exact: dict[str, Any] = dict(block.exact)
    exact |= {} if block.step_packets is None else {"step_thresh": None}
    return build(
        block.kind,
        {word: int(value) for word, value in block.options.items()},
        hz,
        generation,
        parameters=exact,
        handle=block.handle or None,
        dev=block.dev,
        parent=block.parent,
        namespace=block.namespace,
        proposed=True,
    )
