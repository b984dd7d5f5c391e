"""A recommendation in words: a sentence, and a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from pi2_fluid.design.outcomes.measures import MEASURES

if TYPE_CHECKING:
    from pi2_fluid.design.outcomes.answer import Answer

__all__ = ["percent", "points", "table", "verdict_of"]

_COLUMNS: Final = ("p99", "p99_after", "mean_after", "rate_measured")
_TITLES: Final = ("p99, %", "p99 after, %", "mean after, %", "rate, points")
_ROWS: Final = 8
_LOSES: Final = "loses rate"


def percent(ratio: float) -> float:
    """Return a ratio as a change in percent."""
    return 100.0 * (ratio - 1.0)


def points(difference: float) -> float:
    """Return a difference of shares in hundredths."""
    return 100.0 * difference


def verdict_of(best: Answer) -> str:
    """Return the answer in a sentence."""
    if best.kept:
        tried = "has shown itself" if best.cut_short else "that was tried is certainly"
        return f"Keep what you have, {best.chosen}: nothing {tried} better for this traffic."
    said = []
    for measure, words in (
        ("p99", "the 99th percentile of the delay"),
        ("p99_after", "that after events"),
    ):
        change = percent(best.of(measure)[0])
        if not math.isnan(change):
            said.append(f"{words} {'falls' if change < 0.0 else 'rises'} by {abs(change):.1f} %")
    rate = points(best.of("rate_measured")[0])
    said.append(f"{'more' if rate > 0.0 else 'less'} of the link is used by {abs(rate):.2f} points")
    return f"Run {best.chosen}: {', '.join(said[:-1])}, and {said[-1]}."


def table(best: Answer, verdict: str, line: str | None) -> str:
    """Return the answer, its line for tc, the best candidates, cells, margins and cost."""
    lines = [verdict]
    if line is not None:
        lines.append(line)
    lines += [f"Mind: {caveat}." for caveat in best.traffic.caveats]
    lines += ["", "  ".join(["candidate".ljust(14), *(f"{title:>15}" for title in _TITLES)])]
    rows = best.rows()
    lost = [row for row in rows if row["role"] == _LOSES]
    shown = [row for i, row in enumerate(rows) if i < _ROWS or row["role"] not in ("", _LOSES)]
    shown = [row for row in shown if row["role"] != _LOSES]
    for row in shown:
        cells = [row["changes"][measure].get("all") for measure in _COLUMNS]
        texts = [_with_interval(m, c) for m, c in zip(_COLUMNS, cells, strict=True)]
        role = f"  {row['role']}" if row["role"] else ""
        lines.append(
            "  ".join([row["candidate"].ljust(14), *(f"{text:>15}" for text in texts)]) + role
        )
    if lost:
        lines.append(
            f"{len(lost)} more lose more than {points(best.loss):g} points of rate in some cell:"
            f" {', '.join(row['candidate'] for row in lost)}"
        )
    lines.append("")
    if not best.kept:
        cell, change = best.worst_cell()
        lines.append(f"Least rate in {cell}: {points(change):+.2f} points.")
    for name, at in best.margins.items():
        both = [
            f"{float(margins.gain_margin_db):.1f} dB by {clock}"
            for margins, clock in ((at.rates, "rates"), (at.acks, "acknowledgements"))
            if margins is not None
        ]
        if both:
            lines.append(
                f"At the {name} round trip, {1e3 * at.rtt:.4g} ms with the queue, in {at.cell} with"
                f" windows of {at.window:.0f}: {', '.join(both)}."
            )
    if not math.isnan(best.rtt_6db):
        lines.append(
            f"By acknowledgements of Reno, 6 dB hold {_up_to(best.rtt_6db)}, 0 dB"
            f" {_up_to(best.rtt_0db)}."
        )
    lines.append(f"Stopped: {best.stopped}; {best.runs} runs.")
    return "\n".join(lines)


def _with_interval(measure: str, change: list[float] | None) -> str:
    if change is None:
        return "-"
    if MEASURES[measure].compared == "ratio":
        mean, low, high = (percent(x) for x in change)
        return f"{mean:+.1f} ± {(high - low) / 2.0:.1f}"
    mean, low, high = (points(x) for x in change)
    return f"{mean:+.2f} ± {(high - low) / 2.0:.2f}"


def _up_to(rtt: float) -> str:
    if rtt == 0.0:
        return "nowhere"
    return "everywhere" if math.isinf(rtt) else f"up to {1e3 * rtt:.4g} ms"
