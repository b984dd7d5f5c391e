"""Margins as text, and `--require 6dB`: what exit code says that so much is not there.

Commands that judge loops share it.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

from pi2_fluid.apps.cli import codes
from pi2_fluid.apps.cli.options import option
from pi2_fluid.errors import DomainError, QuantityError, show_value

Require = Annotated[
    str | None,
    option(
        "MARGIN",
        "For scripts: exit with 1 if the gain margin is smaller than this, as 6dB. The smaller of"
        " both clocks counts.",
        None,
        "--require",
    ),
]

#: dB: as much less is rounding. Lines that `tune` and `check` give leave 6 dB but for that.
_FORGIVEN: Final = 0.01
_MARGIN: Final = re.compile(r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))\s*([a-z]*)\s*", re.IGNORECASE)


def read_margin(text: str, option: str, unit: str = "dB") -> float:
    """Return a margin that is given with its unit, dB or deg, or without.

    Raises
    ------
    QuantityError
        If it is no number.

    Examples
    --------
    >>> read_margin("6dB", "--gain-margin"), read_margin("30", "--phase-margin", "deg")
    (6.0, 30.0)
    """
    match = _MARGIN.fullmatch(text)
    if match is None or match[2].lower() not in ("", unit.lower()):
        kind, example = ("gain", "6dB") if unit == "dB" else ("phase", "30deg")
        raise QuantityError(
            f"{option} {show_value(text)} is no {kind} margin: give one in {unit}, such as"
            f" {example}."
        )
    return float(match[1])


def read_required(text: str | None) -> float | None:
    """Return the gain margin (dB) that is required, None where none is.

    Raises
    ------
    QuantityError, DomainError
        If it is no number of dB, or a negative one.

    Examples
    --------
    >>> read_required("6dB")
    6.0
    """
    if text is None:
        return None
    margin = read_margin(text, "--require")
    if margin < 0.0:
        raise DomainError(
            f"--require {text} is negative, and a loop with such a margin is unstable: give 0dB or"
            " more."
        )
    return margin


def code_of(verdict: str, least_db: float, required: float | None) -> int:
    """Return the exit code of a verdict, and of its smallest gain margin (dB).

    Too small a margin counts as unstable.

    Examples
    --------
    >>> code_of("stable", 0.45, None), code_of("stable", 0.45, 6.0), code_of("undecided", 9.0, 6.0)
    (0, 1, 3)
    """
    return codes.UNSTABLE if not _is_kept(least_db, required) else codes.OF_VERDICT[verdict]


def said_of_required(least_db: float, required: float) -> str:
    """Return in a sentence whether the margin that is required is there.

    Examples
    --------
    >>> said_of_required(0.7391, 6.0)
    'Below the 6 dB required: the smallest gain margin is 0.74 dB, so the exit code is 1.'
    """
    least = f"the smallest gain margin is {least_db:.2f} dB"
    if _is_kept(least_db, required):
        return f"The {required:g} dB required are there: {least}."
    return f"Below the {required:g} dB required: {least}, so the exit code is 1."


def to_dict(least_db: float, required: float | None) -> dict[str, Any] | None:
    """Return the same as JSON takes it."""
    if required is None:
        return None
    return {"gain_margin_db": required, "least_db": least_db, "kept": _is_kept(least_db, required)}


def _is_kept(least_db: float, required: float | None) -> bool:
    return required is None or least_db >= required - _FORGIVEN
