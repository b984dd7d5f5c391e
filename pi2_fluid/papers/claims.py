"""Every checkable statement of the source papers about loops, computed afresh.

They are in the folder of each paper, in modules that hold a tuple CLAIMS of functions without
arguments, each of which computes one `Claim`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib import import_module
from typing import Final

from pi2_fluid.errors import AssumptionWarning, QuantityError
from pi2_fluid.papers.claim import Claim, Verdict

__all__ = ["PAPERS", "Claim", "Verdict", "claims", "each_claim"]

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
    """Return the claims of a paper, or of all, each computed afresh.

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
    >>> for claim in claims("thesis"):
    ...     print(claim.id, claim.verdict)
    thesis-34 depends
    thesis-35 reproduced
    """
    return list(each_claim(paper))


def each_claim(paper: str | None = None) -> Iterator[Claim]:
    """Yield what `claims` returns, one by one as they are computed."""
    if paper is not None and paper not in PAPERS:
        raise QuantityError(f"paper = {paper!r} is unknown: give one of {', '.join(PAPERS)}.")
    for name in (name for key in PAPERS if paper in (None, key) for name in PAPERS[key]):
        for compute in import_module(f"pi2_fluid.papers.{name}").CLAIMS:
            with warnings.catch_warnings(action="ignore", category=AssumptionWarning):
                # The papers' own figures and settings go where windows are below two segments or T
                # exceeds the round trip, and the claims are about them.
                claim = compute()
            yield claim
