"""The laws that text can name: kinds of senders and queues, the classes behind them, their powers.

A queue can also be named by a preset: a kind with the numbers of a paper, a standard or a kernel. A
class or a preset is imported when it is asked for, so that listing the names, and which of them can
do what, costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pi2_fluid.errors import QuantityError, show_value, suggest

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.laws.aqms.pi_family import PiFamily
    from pi2_fluid.laws.sender import Sender


class Entry(NamedTuple):
    """Where the law of a kind is, and what it can do without being told more than a kind."""

    place: str
    """Its class, as "module:class"."""
    loop: bool = False
    """Whether it has a loop at a load that is given."""
    design: bool = False
    """Whether gains can be designed for it: of senders, against it."""
    tc: tuple[str, ...] = ()
    """What tc calls the queues that run it, the one to ask for first."""


class Preset(NamedTuple):
    """Where the function is that makes a queue with the numbers of somebody."""

    place: str
    """As "module:function"."""
    kind: str
    """Of the queue."""


_LAWS: Final = "pi2_fluid.laws"
#: Kind of sender -> its law.
SENDERS: Final = {
    "reno": Entry(f"{_LAWS}.senders.reno:Reno", loop=True, design=True),
    "creno": Entry(f"{_LAWS}.senders.creno:CReno", loop=True, design=True),
    "scalable": Entry(f"{_LAWS}.senders.scalable:Scalable", loop=True, design=True),
    "dctcp": Entry(f"{_LAWS}.senders.dctcp:Dctcp", loop=True),
    "prague": Entry(f"{_LAWS}.senders.prague:Prague", loop=True),
    "cubic": Entry(f"{_LAWS}.senders.cubic:Cubic", loop=True, design=True),
    "cbr": Entry(f"{_LAWS}.senders.cbr:Cbr"),
    "paganini": Entry(f"{_LAWS}.senders.paganini:Paganini"),
    "timeoutreno": Entry(f"{_LAWS}.senders.timeoutreno:TimeoutReno"),
    "congestion": Entry(f"{_LAWS}.senders.congestion:Congestion"),
}
#: Kind of queue -> its law.
AQMS: Final = {
    "pi": Entry(f"{_LAWS}.aqms.pi:Pi", loop=True, design=True),
    "pie": Entry(f"{_LAWS}.aqms.pie:Pie", loop=True, design=True, tc=("pie", "fq_pie")),
    "pi2": Entry(f"{_LAWS}.aqms.pi2:Pi2", loop=True, design=True, tc=("dualpi2",)),
    "coupled": Entry(f"{_LAWS}.aqms.coupled:CoupledPi2", loop=True, design=True, tc=("dualpi2",)),
    "dualpi2": Entry(f"{_LAWS}.aqms.dualpi2:DualPi2", loop=True, design=True, tc=("dualpi2",)),
    "red": Entry(f"{_LAWS}.aqms.red:Red"),
    "codel": Entry(f"{_LAWS}.aqms.codel:CoDel"),
    "fq_codel": Entry(f"{_LAWS}.aqms.fq_codel:FqCodel"),
    "fq_pie": Entry(f"{_LAWS}.aqms.fq_pie:FqPie"),
    "imposed": Entry(f"{_LAWS}.aqms.imposed:Imposed"),
    "injected": Entry(f"{_LAWS}.aqms.injected:Injected"),
    "price": Entry(f"{_LAWS}.aqms.price:Price"),
    "rem": Entry(f"{_LAWS}.aqms.rem:Rem"),
    "avq": Entry(f"{_LAWS}.aqms.avq:Avq"),
    "taildrop": Entry(f"{_LAWS}.aqms.taildrop:TailDrop"),
    "qdisc": Entry(f"{_LAWS}.aqms.qdisc:Qdisc"),
}
#: Queues as published or deployed, by the name of their preset.
PRESETS: Final = {
    name: Preset(f"{_LAWS}.presets:{name}", kind)
    for name, kind in (
        ("pi2_paper", "pi2"),
        ("rfc8033", "pie"),
        ("linux_pie", "pie"),
        ("docsis_pie", "pie"),
        ("linux_dualpi2", "dualpi2"),
        ("rfc9332", "dualpi2"),
        ("tc_max_rtt", "dualpi2"),
    )
}
_DESIGNS: Final = {kind for kind, entry in AQMS.items() if entry.design}
#: Queues that can be designed, by their kinds and by what tc calls them.
DESIGNED: Final = tuple(
    dict.fromkeys(
        name
        for kind, entry in AQMS.items()
        if kind in _DESIGNS
        for name in (kind, *(other for other in entry.tc if other not in _DESIGNS))
    )
)
_KIND_OF: Final = {entry.place: kind for kind, entry in (*SENDERS.items(), *AQMS.items())}


def sender_class(kind: object, name: str = "sender") -> type[Sender]:
    """Return the class of senders of a kind.

    Parameters
    ----------
    kind : str
        One of `SENDERS`.
    name : str
        What the kind is called in messages.

    Raises
    ------
    QuantityError
        If there is no such kind, with the nearest ones.

    Examples
    --------
    >>> sender_class("creno")()
    CReno(decrease=0.3, growth='per_segment')
    """
    cls: type[Sender] = _load(kind, SENDERS, name)
    return cls


def aqm_class(kind: object, name: str = "kind") -> type[Aqm]:
    """Return the class of queues of a kind, one of `AQMS`, or of a preset, one of `PRESETS`.

    Raises
    ------
    QuantityError
        As `sender_class`; of a queue that only Linux has, with what to give instead.
    """
    if isinstance(kind, str) and kind not in {*AQMS, *PRESETS}:
        from pi2_fluid.laws.kernel.qdiscs import QDISCS  # for a word that is wrong

        if kind in QDISCS:
            raise QuantityError(
                f'{name} = {kind!r} is Linux\'s own, without equations here: give kind = "qdisc",'
                f' name = "{kind}" and a link of kind = "htb", for the engine Linux (--engine'
                " linux)."
            )
    _require_known(kind, (*AQMS, *PRESETS), name)
    assert isinstance(kind, str)
    cls: type[Aqm] = _load(PRESETS[kind].kind if kind in PRESETS else kind, AQMS, name)
    return cls


def make_aqm(name: str, numbers: Mapping[str, Any] | None = None) -> Aqm:
    """Return the queue of a kind or of a preset, with other numbers where some are given.

    Parameters
    ----------
    name : str
        One of `AQMS` or `PRESETS`.
    numbers : mapping, optional
        Fields of its class, and parameters of the preset.

    Raises
    ------
    QuantityError
        If there is no such queue, or a number is missing that the preset has no default for.
    QuantityError, DomainError
        As the class.

    Examples
    --------
    >>> queue = make_aqm("docsis_pie", {"target": "15ms"})
    >>> queue.target, queue.alpha, queue.gain_table
    (0.015, 0.25, 'rfc8034')
    >>> round(make_aqm("rfc9332", {"max_rtt": "50ms"}).beta, 9)
    6.0
    """
    given = dict(numbers or {})
    if name not in PRESETS:
        return aqm_class(name)(**given)
    preset: Callable[..., Aqm] = _load(name, PRESETS, "preset")
    own = signature(preset).parameters
    for word, parameter in own.items():
        if parameter.default is parameter.empty and word not in given:
            raise QuantityError(f'{word} is missing for {name}: give it, as {word} = "100ms".')
    law = preset(**{word: given.pop(word) for word in own if word in given})
    return replace(law, **given)


def keys_of_preset(name: str) -> tuple[str, ...]:
    """Return the parameters of a preset, none of a kind.

    Examples
    --------
    >>> keys_of_preset("tc_max_rtt"), keys_of_preset("pie")
    (('max_rtt',), ())
    """
    return tuple(signature(_load(name, PRESETS, "preset")).parameters) if name in PRESETS else ()


def queues_with(power: str) -> tuple[str, ...]:
    """Return the names of queues, of kinds and of presets, that have a "loop", or a "design".

    Examples
    --------
    >>> queues_with("loop")[:6]
    ('pi', 'pie', 'pi2', 'coupled', 'dualpi2', 'pi2_paper')
    """
    return tuple(name for name, entry in AQMS.items() if getattr(entry, power)) + tuple(
        name for name, preset in PRESETS.items() if getattr(AQMS[preset.kind], power)
    )


def kind_of(law: Sender | Aqm) -> str | None:
    """Return the kind of a sender or queue, None for a law that is not of this package.

    Examples
    --------
    >>> from pi2_fluid.laws.aqms.coupled import CoupledPi2
    >>> kind_of(CoupledPi2())
    'coupled'
    """
    return _KIND_OF.get(f"{type(law).__module__}:{type(law).__qualname__}")


def tc_queues(law: Sender | Aqm) -> tuple[str, ...]:
    """Return what tc calls the queues that run a law, or the law that it is a subclass of.

    Examples
    --------
    >>> from pi2_fluid.laws.aqms.pie import Pie
    >>> tc_queues(Pie())
    ('pie', 'fq_pie')
    """
    for cls in type(law).__mro__:
        if (kind := _KIND_OF.get(f"{cls.__module__}:{cls.__qualname__}")) is not None:
            return AQMS[kind].tc if kind in AQMS else ()
    return ()


def name_of(law: Sender | Aqm) -> str:
    """Return what to call a law in a sentence: its kind, or the class of one that has none.

    Examples
    --------
    >>> from pi2_fluid.laws.senders.reno import Reno
    >>> name_of(Reno()), name_of(type("MyReno", (Reno,), {})())
    ('reno', 'MyReno')
    """
    return kind_of(law) or type(law).__name__


def laws_of_tc(name: str) -> tuple[type[PiFamily], ...]:
    """Return the classes of queues that tc's queue of that name runs.

    Examples
    --------
    >>> [law.__name__ for law in laws_of_tc("dualpi2")]
    ['Pi2', 'CoupledPi2', 'DualPi2']
    """
    return tuple(_load(kind, AQMS, "kind") for kind, entry in AQMS.items() if name in entry.tc)


def _load(kind: Any, kinds: Mapping[str, Entry | Preset], name: str) -> Any:
    _require_known(kind, kinds, name)
    module, _, attribute = kinds[kind].place.partition(":")
    return getattr(import_module(module), attribute)


def _require_known(kind: object, known: Collection[str], name: str) -> None:
    # A list, which TOML may hold here, cannot be looked up.
    if not isinstance(kind, str) or kind not in known:
        raise QuantityError(f"{name} = {show_value(kind)} is unknown: give {suggest(kind, known)}.")
