"""The command line, as scripts meet it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from refusals import assert_sentence

from pi2_fluid.apps.cli import run
from pi2_fluid.apps.cli.shell import declared


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
    answer = strict_json(printed(capsys, words))
    assert_explained(words, answer)
    return answer


def assert_explained(words: Sequence[str], answer: Mapping[str, Any]) -> None:
    """Help says of each key what it means, and of none that is not there.

    What one form of a command alone prints says so; keys below another are all there, or none is.
    """
    there = dict(one for each in declared(words) for one in each.each())
    name = words[0] if words[0] in there else " ".join(words[:2])
    keys = there[name].json
    top = {key for key in keys if "." not in key}
    assert set(answer) <= top, name
    always = {key for key in top if not keys[key].startswith(("of ", "with"))}
    assert always <= set(answer), name
    for above in {key.partition(".")[0] for key in keys} & set(answer):
        below = {key.partition(".")[2] for key in keys if key.startswith(f"{above}.")}
        value = answer[above]
        for one in (value if isinstance(value, list) else [value]) if below else []:
            assert one is None or set(one) == below, f"{name}: {above}"


def assert_bad_input(capsys: Any, words: Sequence[str], *said: str) -> None:
    """Code 2, and one sentence, which says all of this."""
    assert run(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert_sentence(err.removesuffix("\n"), *said)
