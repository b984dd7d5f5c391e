"""Formulas as people would type them: what the search of the documentation finds and shows."""

from __future__ import annotations

import html
import re
from functools import cache
from typing import Any

#: Formulas as arithmatex marks them, in a line and on lines of their own.
INLINE = re.compile(r"\\\((.+?)\\\)", re.DOTALL)
DISPLAYED = re.compile(r"\\\[.+?\\\]", re.DOTALL)
#: What needs no parentheses in a fraction: a number, a letter with its subscript.
SINGLE = re.compile(r"\d+|[^\W\d_](_\w+)?'*")


def _fraction(node: Any, l2tobj: Any) -> str:
    parts = [l2tobj.nodelist_to_text([part]) for part in node.nodeargs]
    return "/".join(part if SINGLE.fullmatch(part) else f"({part})" for part in parts)


@cache
def _converter() -> Any:
    from pylatexenc.latex2text import (
        LatexNodes2Text,
        MacroTextSpec,
        get_default_latex_context_db,
    )

    known = get_default_latex_context_db()
    ours = [
        MacroTextSpec("frac", simplify_repl=_fraction),
        MacroTextSpec("Im", "Im"),
        MacroTextSpec("Re", "Re"),
        MacroTextSpec("lvert", "|"),
        MacroTextSpec("rvert", "|"),
    ]
    known.add_context_category("pi2_fluid", prepend=True, macros=ours)
    return LatexNodes2Text(latex_context=known, math_mode="text")


def typed(tex: str) -> str:
    r"""Return a formula of TeX in plain letters and signs.

    Examples
    --------
    >>> typed(r"\frac v2 \le \alpha R_0/T")
    'v/2 ≤ α R_0/T'
    """
    # TeX takes a space after a name for its end; here it is a space between two symbols.
    spaced = re.sub(r"(\\(?!sqrt|frac|lvert|bar|hat|dot)[A-Za-z]+) ", r"\1{} ", tex)
    text: str = _converter().latex_to_text(spaced.replace("''", "\N{DOUBLE PRIME}"))
    return re.sub(r"\s+", " ", text).strip()


def searched(text: str) -> str:
    """Return what is searched of a page: formulas in lines as typed, without those between them."""

    def plain(found: re.Match[str]) -> str:
        return html.escape(typed(html.unescape(found[1])), quote=False)

    return INLINE.sub(plain, DISPLAYED.sub("\N{HORIZONTAL ELLIPSIS}", text))
