"""`queues`: what tc shows, or a line asks for, as laws that packets and the kernel run.

Source: tc-codel(8), tc-fq_codel(8), tc-fq_pie(8), tc-cake(8); the defaults are those of Linux 6.18.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError, show_value
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.aqms.codel import CoDel
from pi2_fluid.laws.aqms.fq_codel import FqCodel
from pi2_fluid.laws.aqms.fq_pie import FqPie
from pi2_fluid.laws.aqms.qdisc import Qdisc as KernelQueue
from pi2_fluid.laws.aqms.taildrop import TailDrop
from pi2_fluid.laws.registry import aqm_class, kind_of
from pi2_fluid.tc.codel import codel_numbers
from pi2_fluid.tc.generations import NEWEST, Generation, generation_of
from pi2_fluid.tc.observing import observe
from pi2_fluid.tc.parsing import queue_of, require_hz

if TYPE_CHECKING:
    from pi2_fluid.tc.block import Block

#: The kinds of `codel_line`.
CODELS: Final = ("codel", "fq_codel")
#: What `queues` reads.
QUEUES: Final = ("pie", "fq_pie", "dualpi2", "codel", "fq_codel", "cake", "pfifo")
_PFIFO: Final = 1000.0  # packets, of a device's usual txqueuelen
_DEFAULTS: Final = {"flows": 1024.0, "memory_limit": 2.0**25, "drop_batch": 64.0}
_LIMITS: Final = {"codel": 1000.0, "fq_codel": 10240.0}
_PERCENT: Final = 100.0
_SLIGHT: Final = 1e-9  # of a number that is a whole one but for binary fractions
_FRAME: Final = 1514.0  # bytes, the quantum that a device of 1500 has


class ShownQueue(NamedTuple):
    """A queue of tc's text, ready for a scenario.

    Attributes
    ----------
    name : str
        Its kind, handle and device.
    kind : str
        What tc calls it.
    aqm : Aqm
        Its law: for `Scenario`.
    buffer : float or None
        How many packets it holds: for `Link`. None where it counts bytes, or does not say.
    rate : float or None
        The rate (bit/s) that stands above it in the text, or that a cake shapes to; None without.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> line = "tc qdisc add dev eth0 root fq_codel target 10ms interval 150ms limit 500 flows 64"
    >>> (queue,) = pf.qdisc.queues(line)
    >>> queue.aqm.target, queue.aqm.flows, queue.buffer, queue.rate
    (0.01, 64.0, 500.0, None)
    """

    name: str
    kind: str
    aqm: Aqm
    buffer: float | None
    rate: float | None


def queues(text: str, *, hz: int = 1000, kernel: str | None = None) -> list[ShownQueue]:
    """Return the queues of tc's text as laws that packets or the kernel run.

    Parameters
    ----------
    text : str
        As of `parse`: what ``tc qdisc show`` prints, also in JSON and with lines that ask for a
        queue. pie, fq_pie, dualpi2, codel, fq_codel, cake and pfifo are read; what a line does not
        name has the kernel's default.
    hz : int
        The kernel's ticks per second (CONFIG_HZ), for PIE.
    kernel : str, optional
        The version of the kernel, as in `parse`.

    Returns
    -------
    list of ShownQueue
        In the order of the text. A cake is a `pf.linux.Qdisc`, which only `Linux` runs, without its
        bandwidth: that is `rate`, for the link.

    Raises
    ------
    QuantityError
        If there is none of them, or one cannot be read.
    DomainError
        If one can be read and is no law.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> text = '''
    ... qdisc tbf 1: dev eth0 root refcnt 2 rate 5Mbit burst 5Kb lat 50ms
    ... qdisc fq_codel 2: dev eth0 parent 1:1 limit 1001p flows 1024 quantum 300 target 5ms
    ... '''
    >>> (queue,) = pf.qdisc.queues(text)
    >>> link = pf.Link(queue.rate, buffer=queue.buffer)
    >>> runs = pf.packet.simulate(
    ...     pf.Scenario("5s", link, queue.aqm, pf.Flows(pf.Cubic(), 2, "40ms")), seeds=1)
    >>> queue.aqm.quantum, "seed" in runs.dims
    (300.0, True)
    """
    if not isinstance(text, str):
        raise QuantityError(
            f"text = {show_value(text)} is no text: give the output of `tc qdisc show`."
        )
    require_hz(hz)
    generation = NEWEST if kernel is None else generation_of(kernel)
    reading = observe(text)
    shown = []
    for block in reading.blocks:
        if block.kind not in QUEUES or block.gone:
            continue
        if block.trouble is not None:
            raise block.trouble
        aqm, buffer = law_and_buffer(block, hz, generation)
        shown.append(ShownQueue(block.name, block.kind, aqm, buffer, reading.rate_above(block)))
    if not shown:
        raise QuantityError(
            f"there is no {', '.join(QUEUES[:-1])} or {QUEUES[-1]} in {show_value(text)}: give the"
            " output of `tc qdisc show`, or a line that asks for one."
        )
    return shown


def law_and_buffer(
    block: Block, hz: int = 1000, generation: Generation = NEWEST
) -> tuple[Aqm, float | None]:
    """Return the law of a queue of `QUEUES`, and how many packets it holds.

    Raises
    ------
    QuantityError, DomainError
        As `queues`.
    """
    if block.kind == "pfifo":
        limit = block.words.get("limit")
        digits = str(limit).removesuffix("p")
        return TailDrop(), float(digits) if digits.isdecimal() else _PFIFO
    if block.kind == "cake":
        return KernelQueue("cake", rtt=codel_numbers(block)["rtt"]), None
    if block.kind in CODELS:
        return _codel(block)
    shown = queue_of(block, hz, generation)
    limit = shown.asked["limit"]
    if block.kind != "fq_pie":
        return shown.aqm, limit
    has = {field.name for field in dataclasses.fields(aqm_class(block.kind))}
    law = {
        field.name: getattr(shown.aqm, field.name)
        for field in dataclasses.fields(shown.aqm)
        if field.name in has
    }
    own = {name: float(shown.asked[name]) for name in ("flows", "quantum")}
    own["mark_limit"] = float(shown.asked["ecn_prob"]) / _PERCENT
    return FqPie(**law | own), limit


def _codel(block: Block) -> tuple[Aqm, float | None]:
    numbers: dict[str, Any] = codel_numbers(block)
    shared = {name: numbers[name] for name in ("target", "interval", "ecn")}
    if block.kind == "codel":
        if numbers["ce_threshold"] is not None:
            raise DomainError(
                f"ce_threshold of {block.name} is a step that CoDel has not here: leave it out, or"
                " take fq_codel."
            )
        return CoDel(**shared, arithmetic="fixed"), float(numbers["limit"])
    own = {name: numbers[name] for name in ("flows", "quantum", "memory_limit", "drop_batch")}
    law = FqCodel(
        **shared,
        **own,
        arithmetic="fixed",
        ce_threshold=numbers["ce_threshold"],
        ce_threshold_selector="ect1" if numbers["ect1_alone"] else "any",
    )
    return law, float(numbers["limit"])


def fq_pie_words(aqm: FqPie) -> dict[str, int]:
    """Return what FQ-PIE has beside PIE, in the units of tc.

    Raises
    ------
    DomainError
        If tc has no whole number for it.
    """
    frame = _FRAME if aqm.quantum is None else aqm.quantum
    wanted = {"flows": aqm.flows, "quantum": frame, "ecn_prob": _PERCENT * aqm.mark_limit}
    for word, value in wanted.items():
        if abs(float(value) - round(float(value))) > _SLIGHT * float(value):
            raise DomainError(
                f"{word} = {show_value(value)} of FqPie is no whole number, in which tc counts:"
                " give one."
            )
    return {word: round(float(value)) for word, value in wanted.items()}


def codel_line(aqm: Aqm, kind: str, dev: str, limit: float | None = None) -> str:
    """Return the line that asks tc for such a queue, without what its kernel does by itself.

    Raises
    ------
    UnsupportedError
        If that kind runs another law.
    DomainError
        If a time is less than 1 us, which tc takes for nothing asked.

    Examples
    --------
    >>> codel_line(FqCodel(target="10ms", quantum=300), "fq_codel", "eth0")
    'tc qdisc replace dev eth0 root fq_codel target 10ms interval 100ms quantum 300'
    """
    if kind_of(aqm) != kind:
        raise UnsupportedError(
            f"{kind} cannot run {type(aqm).__name__}: give {aqm_class(kind).__name__}, or another"
            " kind."
        )
    law: Any = aqm
    words = ["tc qdisc replace dev", dev, "root", kind]
    words += ["target", _us(law.target, "target"), "interval", _us(law.interval, "interval")]
    if limit is not None and limit != _LIMITS[kind]:
        words += ["limit", f"{limit:.0f}"]
    if not law.queues_flows:
        return " ".join([*words, *["ecn"] * law.ecn])
    usual = _DEFAULTS | {"quantum": _FRAME}
    for word in ("flows", "quantum", "memory_limit", "drop_batch"):
        value = getattr(law, word)
        if value is not None and value != usual[word]:
            words += [word, f"{value:.0f}"]
    if law.ce_threshold is not None:
        words += ["ce_threshold", _us(law.ce_threshold, "ce_threshold")]
        words += ["ce_threshold_selector", "1/3"] * law.tells_l4s
    return " ".join([*words, *["noecn"] * (not law.ecn)])


def _us(seconds: Any, name: str) -> str:
    """Return a time as a word for tc, cut to whole microseconds."""
    us = int(1e6 * float(seconds) + 1e-6)
    if us < 1:
        raise DomainError(
            f"{name} = {show_value(seconds)} is less than the 1us that tc counts: give a longer"
            " one."
        )
    return f"{us // 1000}ms" if us % 1000 == 0 else f"{us}us"
