"""Findings in words: names, units and errors as people read them."""

from __future__ import annotations

from typing import Final

from pi2_fluid.referee.judging import Finding

_NAMES: Final = {
    "utilization": "utilisation",
    "delay_mean": "mean delay",
    "delay_sd": "sd of delay",
    "drop_fraction": "dropped",
    "mark_fraction": "marked",
    "window": "window",
    "rate": "rate",
    "controller": "controller",
    "timeouts": "timeouts",
    "response": "constant",
}
_PERCENT: Final = ("drop_fraction", "mark_fraction", "controller")
_LARGE: Final = 100.0


def name_of(statistic: str) -> str:
    """Return what a statistic is called.

    Examples
    --------
    >>> name_of("delay_p95"), name_of("peak_50")
    ('p95 of delay', 'peak after 50 s')
    """
    if statistic in _NAMES:
        return _NAMES[statistic]
    kind, _, place = statistic.partition("_")
    return f"{place} of delay" if kind == "delay" else f"{kind} after {place} s"


def value_text(statistic: str, value: float) -> str:
    """Return a value with its unit.

    Examples
    --------
    >>> value_text("delay_mean", 0.022), value_text("drop_fraction", 0.0035)
    ('22.0 ms', '0.350 %')
    """
    if statistic.startswith(("delay", "peak")):
        return f"{_digits(1e3 * value)} ms"
    if statistic.startswith("settling"):
        return f"{value:.1f} s"
    if statistic == "utilization":
        return f"{100 * value:.2f} %"
    if statistic in _PERCENT:
        return f"{_digits(100 * value)} %"
    if statistic == "rate":
        return f"{_digits(1e-6 * value)} Mbit/s"
    return f"{value:.0f}" if statistic == "timeouts" else _digits(value)


def _digits(value: float) -> str:
    """Return three digits, of large numbers all before the point."""
    return f"{value:.0f}" if abs(value) >= _LARGE else f"{value:#.3g}"


def _as_error(finding: Finding, amount: float, sign: str) -> str:
    if finding.statistic.startswith("delay_p"):  # in steps of a packet, wherever they are
        return f"{1e3 * amount:{sign}.2f} ms"
    if not finding.relative:
        return f"{100 * amount:{sign}.2f} points"
    if not finding.reference:
        return value_text(finding.statistic, amount)
    return f"{100 * amount / finding.reference:{sign}.1f} %"


def error_text(finding: Finding) -> str:
    """Return the difference: in percent, of quantiles in ms, of utilisation in points."""
    return _as_error(finding, finding.measured - finding.reference, "+")


def allowed_text(finding: Finding, amount: float | None) -> str:
    """Return a tolerance as `error_text` does; an em dash if there is none."""
    return "—" if amount is None else _as_error(finding, amount, "")
