"""Errors as people read them: one sentence each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


def assert_sentence(text: str, *said: str) -> None:
    """One sentence, which says all of this."""
    assert "\n" not in text
    assert text.endswith(".")
    assert not re.search(r"[.!?]\s+[A-Z]", text.replace("e.g. ", "")), f"two sentences: {text}"
    for part in said:
        assert part in text, f"does not say {part}: {text}"


@contextmanager
def refused(kind: Any, *said: str, match: str | None = None) -> Iterator[Any]:
    """What is done here is refused, with one sentence."""
    with pytest.raises(kind, match=match) as caught:
        yield caught
    assert_sentence(str(caught.value), *said)
