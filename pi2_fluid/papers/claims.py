"""Every checkable statement of the papers: about loops computed afresh, about figures recorded.

The former are in the folder of each paper, in modules that hold a tuple CLAIMS of functions without
arguments, each of which computes one `Claim`. The latter are judged by the whole runs of the
figures, which take minutes: their results are recorded with the package.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib import import_module
from typing import Final

from pi2_fluid.errors import AssumptionWarning, QuantityError
from pi2_fluid.papers.claim import Claim, Verdict
from pi2_fluid.papers.record import recorded_verdicts
from pi2_fluid.papers.registry import FIGURES, page_title
from pi2_fluid.papers.verdicts import Judged, found_text, stated_text, tolerance_text

#: The papers' short names, and the modules with their claims.
PAPERS: Final = {
    "pi2": (
        "pi2.claims.scaling",
        "pi2.claims.design",
        "pi2.claims.practice",
        "pi2.claims.short_flows",
        "pi2.claims.scalability",
    ),
    "pie": ("pie.claims",),
    "paganini": (
        "paganini.claims",
        "paganini.protocol",
        "paganini.long_flows",
        "paganini.packet_flows",
        "paganini.newreno",
        "paganini.heavy_tails",
    ),
    "thesis": ("thesis.claims",),
}


def claims(paper: str | None = None) -> list[Claim]:
    """Return the claims of a paper, or of all.

    Those about loops are computed afresh. What a paper states about its figures is judged by what
    was recorded of whole runs, which `figure` makes again; their ids are those of the figure and of
    the statement, "pi2:15 pie_dctcp".

    Parameters
    ----------
    paper : {"pi2", "pie", "paganini", "thesis"}, optional
        All of them if not given, which takes some seconds.

    Raises
    ------
    QuantityError
        If the paper is unknown.

    Examples
    --------
    >>> for claim in claims("thesis")[:2]:
    ...     print(claim.id, claim.verdict)
    thesis-34 depends
    thesis-35 reproduced
    """
    return list(each_claim(paper))


def each_claim(paper: str | None = None) -> Iterator[Claim]:
    """Yield what `claims` returns, one by one as they are computed."""
    if paper is not None and paper not in PAPERS:
        raise QuantityError(f"paper = {paper!r} is unknown: give one of {', '.join(PAPERS)}.")
    yield from computed_claims(paper)
    yield from figure_claims(paper)


def computed_claims(paper: str | None = None) -> Iterator[Claim]:
    """Yield the claims of a paper, or of all, that are computed when they are asked for."""
    for name in (name for key in PAPERS if paper in (None, key) for name in PAPERS[key]):
        for compute in import_module(f"pi2_fluid.papers.{name}").CLAIMS:
            with warnings.catch_warnings(action="ignore", category=AssumptionWarning):
                # The papers' own figures and settings go where windows are below two segments or T
                # exceeds the round trip, and the claims are about them.
                claim = compute()
            yield claim


def figure_claims(paper: str | None = None) -> Iterator[Claim]:
    """Yield what a paper, or all, state about their figures, with verdicts as recorded."""
    for figure in FIGURES:
        if paper not in (None, figure.partition(":")[0]):
            continue
        for judged in recorded_verdicts(figure).values():
            if judged.verdict is not None:
                yield _claim_of(figure, judged, judged.verdict)


def _claim_of(figure: str, judged: Judged, verdict: Verdict) -> Claim:
    runs = f", {len(judged.found)} seeds" if len(judged.found) > 1 else ""
    condition = f" Only if {judged.condition}." if judged.condition else ""
    return Claim(
        id=f"{figure} {judged.stated.key}",
        source=page_title(figure),
        text=f"{judged.stated.quantity}: {stated_text(judged.stated)}.",
        computed=f"{found_text(judged)} (recorded{runs}).",
        verdict=verdict,
        why=f"May be off: {tolerance_text(judged.stated)}.{condition} {judged.why}".rstrip(),
    )
