"""Queues by their names at the shell: a kind, or a preset, with other numbers if they are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Final

from pi2_fluid.apps.cli.parameters import owners
from pi2_fluid.errors import QuantityError, UnsupportedError, show_value, suggest
from pi2_fluid.laws.clocked import CLOCKED, refusal
from pi2_fluid.laws.registry import (
    PRESETS,
    aqm_class,
    keys_of_preset,
    make_aqm,
    queues_with,
)

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Aqm

_WITH_LOOP: Final = queues_with("loop")
#: Presets that have a loop.
PRESET_NAMES: Final = tuple(name for name in _WITH_LOOP if name in PRESETS)
#: What help calls the presets that `read_aqm` takes, and what it says of them beside kinds.
PRESETS_IN_HELP: Final = f"{', '.join(PRESET_NAMES)}:max_rtt=100ms"
NAMES_IN_HELP: Final = (
    f"Or a preset, with the numbers of a paper, an RFC or Linux: {PRESETS_IN_HELP}"
)


def split_name(text: str) -> tuple[str, dict[str, str]]:
    """Return the name of a queue, and the numbers behind it.

    Raises
    ------
    QuantityError
        If what is behind the colon is no list of numbers with names.

    Examples
    --------
    >>> split_name("tc_max_rtt:max_rtt=60ms")
    ('tc_max_rtt', {'max_rtt': '60ms'})
    """
    name, _, behind = text.partition(":")
    numbers = {}
    for part in filter(None, behind.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise QuantityError(
                f"--aqm {show_value(text)} has no value for {key}: give it, as {name}:{key}=100ms."
            )
        numbers[key.strip()] = value.strip()
    return name, numbers


def read_aqm(text: str, options: Mapping[str, str]) -> Aqm:
    """Return a queue with a loop, with the numbers of options in the place of its own.

    Parameters
    ----------
    text : str
        Its name, behind a colon numbers of its own.
    options : mapping
        What options say, by the names of fields.

    Raises
    ------
    QuantityError, DomainError
        If the queue is unknown, or a number does not apply to it.
    UnsupportedError
        If it has no loop, because it drops by a clock.

    Examples
    --------
    >>> read_aqm("docsis_pie", {"target": "15ms"}).target
    0.015
    """
    name, numbers = split_name(text)
    if name in CLOCKED:
        raise UnsupportedError(f"--aqm {name} {refusal(name)}")
    if name not in _WITH_LOOP:
        close = suggest(name, _WITH_LOOP, most=len(_WITH_LOOP)).replace("'", "")
        raise QuantityError(f"--aqm {name!r} is unknown: give {close}.")
    has = {field.name for field in fields(aqm_class(name))}
    for key in options:
        if key not in has:
            owner = owners(key, _WITH_LOOP)[0]
            raise QuantityError(
                f"--{key} does not apply to --aqm {name}: leave it out, or use --aqm {owner}."
            )
    own = keys_of_preset(name)
    for key in numbers:
        if key not in (*own, *has):
            raise QuantityError(
                f"--aqm {show_value(text)} has no number {key}: give {suggest(key, own or has)}."
            )
    return make_aqm(name, numbers | dict(options))
