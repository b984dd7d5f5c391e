"""The command line, as scripts meet it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from refusals import assert_sentence

from pi2_fluid.apps.cli import run


def strict_json(text: str) -> Any:
    def refuse(literal: str) -> None:
        raise AssertionError(f"{literal} is no JSON")

    return json.loads(text, parse_constant=refuse)


def printed(capsys: Any, words: Sequence[str]) -> str:
    """What a command says that ends well."""
    assert run(words) == 0
    out: str = capsys.readouterr().out
    return out


def answered(capsys: Any, words: Sequence[str]) -> Any:
    """The same of --json, read."""
    return strict_json(printed(capsys, words))


def assert_bad_input(capsys: Any, words: Sequence[str], *said: str) -> None:
    """Code 2, and one sentence, which says all of this."""
    assert run(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert_sentence(err.removesuffix("\n"), *said)
