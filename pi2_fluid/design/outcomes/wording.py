"""A recommendation in words: a sentence, and a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from pi2_fluid.design.outcomes.measures import MEASURES
from pi2_fluid.intervals import Interval
from pi2_fluid.latex import LatexTable
from pi2_fluid.units import rate_in_words

if TYPE_CHECKING:
    from pi2_fluid.design.outcomes.answer import Answer
    from pi2_fluid.design.outcomes.standing import Standing

_COLUMNS: Final = {
    "p99": "p99, %",
    "p99_after": "p99 after, %",
    "mean_after": "mean after, %",
    "rate_measured": "rate, points",
}
#: What rows are of, in order; "base" is what runs now.
_ROLES: Final = {"chosen": "chosen", "base": "now", "default": "default", "textbook": "textbook"}
_LOSES: Final = "loses rate"
_WIDTH: Final = 13
_FELT: Final = {
    "p99": "of the 99th percentile of the delay",
    "p99_after": "of that after events",
    "rate_measured": "points of rate",
}


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
        what = "the default" if best.base == best.default else "what you have"
        return f"Keep {what}, {best.chosen}: nothing {tried} better for this traffic."
    said = []
    for measure, words in (
        ("p99", "the 99th percentile of the delay"),
        ("p99_after", "that after events"),
    ):
        change = percent(best.of(measure)[0])
        if not math.isnan(change):
            said.append(f"{words} {'falls' if change < 0.0 else 'rises'} by {abs(change):.1f} %")
    rate = points(best.of("rate_measured")[0])
    said.append(f"the link carries {abs(rate):.2f} points {'more' if rate > 0.0 else 'less'}")
    return f"Run {best.chosen}: {', '.join(said[:-1])}, and {said[-1]}."


def gains_of(best: Answer) -> str:
    """Return what who runs the base would certainly gain and lose, or that to leave it is best."""
    if best.kept:
        return "Leave it: nothing that was tried is certainly better for this traffic."
    gains, losses = [], []
    for measure, words in _FELT.items():
        mean, low, high = best.of(measure)
        if math.isnan(mean):
            continue
        if measure == "rate_measured":
            text, better, worse = f"{abs(points(mean)):.2f} {words}", low > 0.0, high < 0.0
        else:
            text, better, worse = f"{abs(percent(mean)):.1f} % {words}", high < 1.0, low > 1.0
        gains += [text] * better
        losses += [text] * worse
    gained = " and ".join(gains) or "nothing by itself"
    return (
        f"With {best.chosen} you would gain {gained}, and lose {' and '.join(losses) or 'nothing'}."
    )


def outcomes_of(best: Answer) -> list[str]:
    """Return the table of outcomes: the answer, what runs now, the default and the textbook's."""
    rows = _outcomes(best)
    wide = max(len(f"{name}  {words}") for name, (words, _) in rows.items())
    title = "against what runs now".ljust(wide)
    lines = [" ".join([title, *(text.rjust(_WIDTH) for text in _COLUMNS.values())])]
    for name, (words, changes) in rows.items():
        cells = [change_in_words(measure, changes.get(measure)) for measure in _COLUMNS]
        head = f"{name}  {words}".ljust(len(title))
        lines.append(" ".join([head, *(cell.rjust(_WIDTH) for cell in cells)]))
    return lines


def latex_of(best: Answer) -> LatexTable:
    """Return the same table with intervals, to be written as LaTeX."""
    rows = []
    for name, (words, changes) in _outcomes(best).items():
        cells = [_interval(measure, changes.get(measure)) for measure in _COLUMNS]
        rows.append([name, words, *cells])
    return LatexTable(("queue", "what it is", *_COLUMNS.values()), rows)


def _interval(measure: str, change: list[float] | None) -> Interval | float:
    if change is None:
        return math.nan
    ratio = MEASURES[measure].compared == "ratio"
    mean, low, high = (percent(x) if ratio else points(x) for x in change)
    return Interval(mean, (high - low) / 2.0)


def _outcomes(best: Answer) -> dict[str, tuple[str, dict[str, list[float]]]]:
    """Who is in the table: in words, and its changes by measure."""
    rows: dict[str, tuple[str, dict[str, list[float]]]] = {}
    for role, word in _ROLES.items():
        for row in best.rows():
            if role in row["role"].split(", "):
                words = ", ".join([*filter(None, [rows.get(row["candidate"], ("",))[0]]), word])
                changes = {name: one.get("all") for name, one in row["changes"].items()}
                rows[row["candidate"]] = words, changes
    return rows


def notes_of(best: Answer) -> list[str]:
    """Return sentences: the worst cell, margins, what the traffic lacks, and what it took."""
    cell, lost = best.worst_cell()
    places = dict(best.margins)
    if len({(at.rtt, at.window) for at in places.values()}) == 1:
        places.pop("typical", None)  # the longest is the only one
    allowed = f"{points(best.loss):g} point{'' if points(best.loss) == 1.0 else 's'}"
    doubt = f", which may be chance: {allowed} may be lost" if -lost > best.loss else ""
    notes = [_traffic(best)]
    if not best.kept:
        notes.append(f"Worst for the rate is {cell}: {points(lost):+.2f} points{doubt}.")
    losers = [row["candidate"] for row in best.rows() if _LOSES in row["role"]]
    if losers:
        notes.append(
            f"Ruled out, since each certainly loses more than {allowed} of rate in some cell:"
            f" {'; '.join(losers)}."
        )
    margins = [
        f"{said} at the {name} round trip ({1e3 * at.rtt:.4g} ms with the queue, windows of"
        f" {at.window:.0f})"
        for name, at in places.items()
        if (said := _margins(at))
    ]
    if margins:
        notes.append(f"Gain margin for the flows of these cells: {'; '.join(margins)}.")
    if not math.isnan(best.rtt_6db):
        notes.append(
            "Reno flows with the largest of these windows, by acknowledgements: 6 dB"
            f" {_up_to(best.rtt_6db)}, stable {_up_to(best.rtt_0db)}."
        )
    notes += [f"Mind: {caveat}." for caveat in best.traffic.caveats]
    notes.append(f"{best.runs} runs. Why no more: {best.stopped}.")
    return notes


def _traffic(best: Answer) -> str:
    """Return who sends over which links, as was taken or assumed."""
    cells = best.traffic.cells
    rates = [float(cell.scenario.link.capacity) for cell in cells]
    long = [count for cell in cells for count in cell.long_flows]
    ends = [end for cell in cells if cell.windows for end in cell.windows]
    rate = " to ".join(dict.fromkeys(map(rate_in_words, (min(rates), max(rates)))))
    said = [f"{len(cells)} cells" if len(cells) > 1 else "1 cell", rate]
    if ends:
        family = best.traffic
        paths = _span(1e3 * family.shortest_rtt, 1e3 * family.longest_rtt)
        said += [f"paths of {paths} ms", f"{_span(min(long), max(long))} long flows at once"]
        said.append(f"windows of {_span(min(ends), max(ends))} segments")
    return f"For {best.traffic.name or 'this traffic'}: {', '.join(said)}."


def _span(low: float, high: float) -> str:
    return " to ".join(dict.fromkeys((f"{low:.3g}", f"{high:.3g}")))


def summary_of(best: Answer, line: str | None) -> str:
    """Return the answer, its line for tc, the outcomes and the notes as text."""
    told = [verdict_of(best), *([] if line is None else [line])]
    return "\n".join([*told, "", *outcomes_of(best), "", *notes_of(best)])


def change_in_words(measure: str, change: list[float] | None) -> str:
    """Return a change with half of its interval, in percent or points.

    Examples
    --------
    >>> change_in_words("p99", [0.95, 0.93, 0.97]), change_in_words("rate", [0.01, 0.0, 0.02])
    ('-5.0 ± 2.0', '+1.00 ± 1.00')

    Of a measure that a cell has not, as where nothing happens in it, there is none:

    >>> change_in_words("p99_after", [float("nan")] * 3)
    '-'
    """
    if change is None or math.isnan(change[0]):
        return "-"
    if MEASURES[measure].compared == "ratio":
        mean, low, high = (percent(x) for x in change)
        text = f"{mean:+.1f} ± {(high - low) / 2.0:.1f}"
    else:
        mean, low, high = (points(x) for x in change)
        text = f"{mean:+.2f} ± {(high - low) / 2.0:.2f}"
    return text.removesuffix(" ± nan")  # of one run, which has no interval


def _margins(at: Standing) -> str:
    each = [(at.rates, "by rates"), (at.acks, "by acknowledgements")]
    return ", ".join(
        f"{float(margins.gain_margin_db):.1f} dB {clock}"
        for margins, clock in each
        if margins is not None
    )


def _up_to(rtt: float) -> str:
    if rtt == 0.0:
        return "on no path"
    return "on every path" if math.isinf(rtt) else f"up to {1e3 * rtt:.4g} ms with the queue"
