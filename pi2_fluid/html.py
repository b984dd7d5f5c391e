"""Descriptions as small tables: in HTML for notebooks, and in text."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def html_table(title: str, rows: Iterable[tuple[str, object, str]]) -> str:
    """Return a table with a title; each row is a name, a value (text or numbers), and its unit.

    Examples
    --------
    >>> html_table("Link", [("capacity", 1e7, "bit/s")])[:43]
    '<table><caption style="text-align:left"><b>'
    """
    from html import escape  # its names of characters take a while, and few look at tables

    body = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(f"{show_number(value)} {unit}".rstrip())}</td></tr>'
        for name, value, unit in rows
    )
    caption = f'<caption style="text-align:left"><b>{escape(title)}</b></caption>'
    return f"<table>{caption}<tbody>{body}</tbody></table>"


def text_table(rows: Iterable[tuple[str, object, str]]) -> str:
    """Return the same rows as lines of text.

    Examples
    --------
    >>> print(text_table([("capacity", 1e7, "bit/s"), ("rtt", 0.1, "s")]))
    capacity  1e+07 bit/s
    rtt       0.1 s
    """
    lines = [(name, f"{show_number(value)} {unit}".rstrip()) for name, value, unit in rows]
    wide = max(len(name) for name, _ in lines)
    return "\n".join(f"{name:<{wide}}  {value}" for name, value in lines)


def show_number(value: object) -> str:
    """Return a number, the range of an array, several of them, or text as it is.

    Examples
    --------
    >>> show_number(0.1234567), show_number(np.array([1.0, 2.0])), show_number((1.0, 0.5))
    ('0.12346', '[1 .. 2]', '1, 0.5')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return ", ".join(show_number(item) for item in value)
    numbers = np.asarray(value)
    if numbers.ndim == 0:
        return f"{numbers.item():.5g}"
    return f"[{np.min(numbers):.4g} .. {np.max(numbers):.4g}]"
