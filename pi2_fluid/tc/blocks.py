"""What tc prints of a queue, taken apart: its options as printed and its statistics.

Text and JSON end in the same `Block`, whose options are words and numbers in tc's units. Where they
stand in a text, `pi2_fluid.tc.observing` finds.
"""

from __future__ import annotations

import re
from typing import Any, Final

from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.tc.block import Block, noting
from pi2_fluid.tc.numbers import read_json, read_text
from pi2_fluid.tc.options import NULL, OPTIONS, Number, Switch
from pi2_fluid.tc.statistics import from_json, from_line
from pi2_fluid.tc.strangers import strange_json, strange_line

_HANDLE: Final = re.compile(r"[0-9a-f]{1,4}:")
# What tc prints of any queue before its options: words with a value, and words alone.
_WITH_VALUE: Final = {"dev", "parent", "refcnt", "ingress_block", "egress_block"}
_ALONE: Final = {"root", "offloaded"}
_REMEDY: Final = "give the output of `tc qdisc show` as printed"
_STEP_IN_PACKETS: Final = "step-thresh-pkts"
_PACKETS: Final = re.compile(r"([0-9]{1,9})(?:p|pkt)")


# Text


def block_of_words(
    words: list[str], *, dev: str | None = None, namespace: str | None = None
) -> Block:
    """Return the queue of a line that tc prints; what cannot be read of it is its `trouble`.

    `dev` and `namespace` are known from elsewhere.
    """
    gone = words[0] == "deleted"
    kind, handle, *rest = [*words[1 + gone :], "", ""]
    block = Block(kind=kind, handle=handle, gone=gone, dev=dev, namespace=namespace)
    rest = rest[: len(words) - 3 - gone] if len(words) > 3 + gone else []
    block.offloaded = "offloaded" in rest
    if not block.ours:
        block.parent = _parent_of(rest)
        block.words = dict(zip(rest, [*rest[1:], ""], strict=False))
        return block
    with noting(block):
        _require_handle(block, handle)
        _read_words(block, rest)
        _require_all(block)
    return block


def add_line(block: Block, words: list[str]) -> None:
    """Read a line below a queue, which may be one of its counters."""
    found: dict[str, Any] = {}
    if not block.ours:
        found = strange_line(block.kind, words, block.name)
    else:
        with noting(block):
            found = from_line(block.kind, words, block.name)
    if found:
        block.statistics = (block.statistics or {}) | found


def _parent_of(words: list[str]) -> str | None:
    if "parent" in words[:-1]:
        return words[words.index("parent") + 1]
    return "root" if "root" in words else None


def _require_handle(block: Block, given: object) -> None:
    if not _HANDLE.fullmatch(block.handle):
        raise QuantityError(
            f"the handle {show_value(given)} of {block.kind} cannot be read: {_REMEDY}."
        )


def _read_words(block: Block, words: list[str]) -> None:
    numbers = {option.word: option for option in OPTIONS[block.kind] if isinstance(option, Number)}
    switches = {
        word: (option, state)
        for option in OPTIONS[block.kind]
        if isinstance(option, Switch)
        for state, word in enumerate(option.words)
        if word is not None
    }
    rest = iter(words)
    for word in rest:
        if word in numbers:
            text = next(rest, "")
            name = f"{word} of {block.name}"
            if word == "step_thresh" and (packets := _PACKETS.fullmatch(text)):
                block.step_packets = int(packets[1])
                _put(block, word, numbers[word].default)
            else:
                _put(block, word, read_text(numbers[word], text, name))
        elif word in switches:
            option, state = switches[word]
            _put(block, option.word, state)
        elif word in _WITH_VALUE:
            value = next(rest, None)
            if value is None:
                raise QuantityError(f"{word} of {block.name} has no value: {_REMEDY}.")
            if word == "parent":
                block.parent = value
        elif word in _ALONE:
            block.parent = word if word == "root" else block.parent
        else:
            raise _unknown(block, word)


def _put(block: Block, word: str, value: float) -> None:
    if word in block.options:
        raise QuantityError(f"{word} of {block.name} is there twice: {_REMEDY}.")
    block.options[word] = value


def _require_all(block: Block) -> None:
    """Refuse what is cut off: tc prints every number, and of two words one."""
    if not block.options:
        raise QuantityError(
            f"the options of {block.name} are not shown: this tc is older than {block.kind}, or the"
            " line is cut off, so give the whole output of an iproute2 that knows it."
        )
    for option in OPTIONS[block.kind]:
        if option.word in block.options:
            continue
        if isinstance(option, Number) and not option.everywhere:
            continue
        if isinstance(option, Switch) and None in option.words:
            block.options[option.word] = option.words.index(None)
        else:
            words = (option.word,) if isinstance(option, Number) else option.words
            raise QuantityError(
                f"{' or '.join(map(str, words))} of {block.name} is missing, and tc always prints"
                f" it: {_REMEDY}, to its end."
            )


def _unknown(block: Block, word: object) -> QuantityError:
    if str(word).startswith(("[Unknown", "[cannot")):
        return QuantityError(
            f"the options of {block.name} are not shown, as tc is older than this queue: give the"
            " output of an iproute2 that knows it."
        )
    return QuantityError(f"{show_value(word)} of {block.name} is not known: {_REMEDY}.")


# JSON


def block_of_json(
    entry: dict[str, Any], *, dev: str | None = None, namespace: str | None = None
) -> Block:
    """Return the queue of an object that tc prints, as `block_of_words` does of a line."""
    handle, parent = (entry.get(key) for key in ("handle", "parent"))
    block = Block(
        kind=entry["kind"],
        handle=handle if isinstance(handle, str) else "",
        dev=dev,
        namespace=namespace,
        parent="root" if entry.get("root") is True else parent if isinstance(parent, str) else None,
        gone=entry.get("deleted") is True,
        offloaded=entry.get("offloaded") is True,
    )
    options = entry.get("options")
    if not block.ours:
        block.words = options if isinstance(options, dict) else {}
        block.statistics = strange_json(block.kind, entry)
        return block
    with noting(block):
        _require_handle(block, handle)
        if not isinstance(options, dict):
            raise QuantityError(f"the options of {block.name} are missing: {_REMEDY}.")
        _read_keys(block, options)
        block.statistics = from_json(block.kind, entry, block.name)
    return block


def _read_keys(block: Block, given: dict[str, Any]) -> None:
    known = {option.key: option for option in OPTIONS[block.kind]}
    for key, value in given.items():
        name = f"{key} of {block.name}"
        if key == _STEP_IN_PACKETS and block.kind == "dualpi2" and type(value) is int:
            block.step_packets = value
            block.options["step_thresh"] = known["step-thresh-us"].default
            continue
        if key not in known:
            raise _unknown(block, key)
        option = known[key]
        if isinstance(option, Number):
            block.options[option.word] = read_json(option, value, name)
        else:
            block.options[option.word] = _state(option, value, name)
    for option in known.values():
        if isinstance(option, Switch) and None in option.values:
            block.options.setdefault(option.word, option.values.index(None))
    _require_all(block)


def _state(option: Switch, value: object, name: str) -> int:
    printed = NULL if value is None else value
    for state, word in enumerate(option.values):
        if word is not None and type(word) is type(printed) and word == printed:
            return state
    raise QuantityError(
        f"{name} = {show_value(value)} cannot be read: give the output of `tc -j qdisc show`."
    )
