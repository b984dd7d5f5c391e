"""Parts of LaTeX, for tests that read formulas back."""

from __future__ import annotations


def braced(text: str, start: int) -> tuple[str, int]:
    """What stands in braces from a place on, and where they end."""
    depth = 0
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[start + 1 : place], place + 1
    raise AssertionError(text)
