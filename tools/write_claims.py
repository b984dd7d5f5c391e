"""Bring the tables in docs/claims.md up to date: python tools/write_claims.py."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pi2_fluid.papers.claim import count_verdicts
from pi2_fluid.papers.claims import PAPERS, Claim, claims
from pi2_fluid.saving import save_text

PAGE = Path(__file__).resolve().parents[1] / "docs" / "claims.md"
BEGIN = "<!-- tables: begin -->"
END = "<!-- tables: end -->"
TITLES = {
    "pi2": "PI2 paper (De Schepper and others, CoNEXT 2016)",
    "pie": "PIE paper (Pan and others, HPSR 2013)",
    "paganini": "Paganini, Wang, Low and Doyle (2002)",
    "thesis": "Thesis on PI2 in ns-3",
}
VERDICTS = {
    "reproduced": "reproduced",
    "not_reproduced": "**not reproduced**",
    "depends": "*depends*",
}


def tables(found: Sequence[Claim]) -> str:
    """Return one Markdown table per paper."""
    lines = []
    for paper in PAPERS:
        mine = [claim for claim in found if claim.id.startswith((f"{paper}-", f"{paper}:"))]
        lines += [
            f"### {TITLES[paper]}",
            "",
            f"{count_verdicts([one.verdict for one in mine], 'claim')}.",
            "",
        ]
        lines += ["| claim | computed here | verdict |", "| --- | --- | --- |"]
        for claim in mine:
            cells = (
                f"`{claim.id}` {claim.text} *{claim.source}*",
                claim.computed,
                f"{VERDICTS[claim.verdict]}. {claim.why}",
            )
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)


def page_with(text: str, found: Sequence[Claim]) -> str:
    """Return the page with its tables replaced."""
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"the page has no {BEGIN} ... {END}: put both lines where the tables go.")
    return f"{before}{BEGIN}\n\n{tables(found)}\n{END}{after}"


if __name__ == "__main__":
    save_text(PAGE, page_with(PAGE.read_text(encoding="utf-8"), claims()))
