"""Lines that ask tc for a queue, ``tc qdisc replace ...``, read as tc would read them.

What a line does not name is the kernel's default, as where no queue of its kind runs yet. Of kinds
whose law is not read it is known what tc takes, and of RED what it makes of it.

Source: iproute2 7.3, tc/tc_qdisc.c, tc/q_pie.c, q_fq_pie.c, q_dualpi2.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from pi2_fluid.errors import QuantityError, show_value, suggest
from pi2_fluid.tc.arguments import as_microseconds, as_packets, read_argument
from pi2_fluid.tc.block import Block, noting
from pi2_fluid.tc.foreign import FOREIGN, ONCE
from pi2_fluid.tc.options import KINDS, OPTIONS, Number, Switch, defaults, memory_of
from pi2_fluid.tc.red import red_as_shown
from pi2_fluid.tc.round_trips import TYPICAL, of_round_trips

#: Words of tc before the kind, by how many arguments they have.
_PLACES: Final = {
    "dev": 1,
    "handle": 1,
    "root": 0,
    "parent": 1,
    "ingress_block": 1,
    "egress_block": 1,
    "estimator": 2,
    "stab": 0,
    **dict.fromkeys(("mtu", "mpu", "tsize", "overhead", "linklayer"), 1),  # behind stab
}
_ROUND_TRIPS: Final = ("max_rtt", "typical_rtt")
#: What turns a switch off and on where that is not what tc prints.
_OFF_AND_ON: Final = {
    "ecn": ("noecn", "ecn"),
    "bytemode": ("nobytemode", "bytemode"),
    "dq_rate_estimator": ("no_dq_rate_estimator", "dq_rate_estimator"),
}
_EVENTS: Final = ("early_drop", "mark")
_MTU: Final = 1500


def read_proposal(words: Sequence[str], namespace: str | None = None) -> Block:
    """Return the queue that a line asks for, given as its words behind ``tc qdisc add``.

    What cannot be read of it is its `trouble`.

    Examples
    --------
    >>> read_proposal("dev eth0 root pie limit 200".split()).options["limit"]
    200.0
    """
    rest = iter(words)
    block = Block(kind="", handle="", namespace=namespace, proposed=True)
    with noting(block):
        _read_place(block, rest)
        if block.kind in OPTIONS or block.kind in FOREIGN:
            _read_options(block, list(rest))
        else:
            options = list(rest)
            block.words = dict(zip(options, [*options[1:], ""], strict=False))
    return block


def _read_place(block: Block, words: Iterator[str]) -> None:
    """Read where the queue is to be, up to its kind.

    Raises
    ------
    QuantityError
        If there is no kind, or something without its value.
    """
    for word in words:
        if word not in _PLACES:
            block.kind = word
            break
        values = [next(words, "") for _ in range(_PLACES[word])]
        if "" in values:
            raise QuantityError(f"{word} of the proposed line has no value: give one.")
        if word == "dev":
            block.dev = values[0]
        elif word == "handle":
            block.handle = values[0] if values[0].endswith(":") else f"{values[0]}:"
        elif word in {"root", "parent"}:
            block.parent = values[0] if values else word
    if not block.kind:
        raise QuantityError(
            f"the proposed line names no queue: write its kind after root or parent, one of"
            f" {', '.join(KINDS)}."
        )


def _read_options(block: Block, given: list[str]) -> None:
    """Read the options of a kind.

    Raises
    ------
    QuantityError, DomainError
        If tc or the kernel would refuse one of them.
    """
    kind = block.kind
    options = _Asked(kind, given, block.name)
    block.exact = dict(options.exact)
    if not block.ours:
        block.words = dict(options.units)
        if kind == "red":
            block.words = red_as_shown(options.units, options.exact.get("probability"), block.name)
        return
    units = dict(options.units)
    if options.trips:
        made, exact_gains = _of_trips(options.trips, block.name)
        units |= made  # tc ignores the four where round-trip times are given
        block.exact |= exact_gains
    block.step_packets = options.step_packets
    block.options = _with_defaults(kind, units)
    block.named = frozenset(units)


class _Asked:
    """What the words of a line ask for, of any kind that is known."""

    def __init__(self, kind: str, given: list[str], block: str) -> None:
        options = OPTIONS[kind] if kind in OPTIONS else FOREIGN[kind]
        self.numbers = {option.word: option for option in options if isinstance(option, Number)}
        self.units: dict[str, int] = {}
        self.exact: dict[str, float] = {}
        self.trips: dict[str, str] = {}
        self.step_packets: int | None = None
        switches = _switches(options)
        round_trips = _ROUND_TRIPS if kind == "dualpi2" else ()
        once: list[str] = []
        rest = iter(given)
        for word in rest:
            if word in ONCE.get(kind, ()):
                once.append(word)
            if len(once) > 1:
                raise QuantityError(
                    f"{block} has {once[0]} and {once[1]}, of which tc takes one: leave one out."
                )
            if word in switches:
                option, state = switches[word]
                self.units[option.word] = state
                continue
            if word not in self.numbers and word not in round_trips:
                known = [*self.numbers, *switches, *round_trips]
                raise QuantityError(
                    f"{show_value(word)} is no word of tc for {kind}: give {suggest(word, known)}."
                )
            name, text = f"{word} of {block}", next(rest, None)
            if text is None:
                raise QuantityError(f"{name} has no value: write one after it.")
            if word in round_trips:
                self.trips[word] = text
            elif word == "qevent":
                text = _block_of(name, [text, *(next(rest, "") for _ in range(2))])
                self._read(word, text, name)
            elif word == "step_thresh" and (packets := as_packets(text)) is not None:
                self.step_packets = packets
            else:
                self._read(word, text, name)

    def _read(self, word: str, text: str, name: str) -> None:
        number, exact = read_argument(self.numbers[word], text, name)
        self.units[word] = number
        if exact is not None:
            self.exact[word] = exact


def _block_of(name: str, texts: list[str]) -> str:
    """Return the number of the block of filters that an event of RED has."""
    event, word, number = texts
    if event not in _EVENTS or word != "block":
        raise QuantityError(
            f"{name} = {show_value(' '.join(texts).rstrip())} cannot be read by tc: write it as"
            f" {_EVENTS[0]} block 10."
        )
    return number


def _switches(options: tuple[Number | Switch, ...]) -> dict[str, tuple[Switch, int]]:
    return {
        word: (option, state)
        for option in options
        if isinstance(option, Switch)
        for state, word in enumerate(_OFF_AND_ON.get(option.word, option.words))
        if word is not None
    }


def _of_trips(trips: dict[str, str], name: str) -> tuple[dict[str, int], dict[str, float]]:
    read = {word: as_microseconds(text, f"{word} of {name}") for word, text in trips.items()}
    # A 0 is for tc what was not asked for.
    longest, typical = (read.get(word, 0) for word in _ROUND_TRIPS)
    if not longest and not typical:
        raise QuantityError(
            f"{' and '.join(trips)} of {name}: 0 in whole microseconds, which tc takes as not"
            " given: give a time such as 100ms."
        )
    typical = typical or max(longest // TYPICAL, 1)
    said = trips.get("max_rtt", f"{TYPICAL} times typical_rtt")
    return of_round_trips(
        longest or TYPICAL * typical, typical, said, trips.get("typical_rtt", "not given")
    )


def _with_defaults(kind: str, asked: dict[str, int]) -> dict[str, float]:
    """Return all options: what was asked for, and the kernel's defaults beside it."""
    nothing = {
        option.word
        for option in OPTIONS[kind]
        if isinstance(option, Number) and not option.passes_zero
    }
    passed = {word: value for word, value in asked.items() if value or word not in nothing}
    units = defaults(kind, _MTU)
    if kind == "dualpi2" and "limit" in passed:  # which the memory follows
        units["memlimit"] = memory_of(passed["limit"], _MTU)
    return {word: float(value) for word, value in (units | passed).items()}
