"""Bring docs/validation.md and its pictures up to date: python tools/write_validation.py."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pi2_fluid.referee import Validation, validate
from pi2_fluid.referee.report import markdown
from pi2_fluid.saving import save_bytes, save_text

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "validation.md"
BEGIN = "<!-- findings: begin -->"
END = "<!-- findings: end -->"


def page_with(text: str, found: Validation) -> str:
    """Return the page with its findings replaced."""
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"the page has no {BEGIN} ... {END}: put both lines where they go.")
    return f"{before}{BEGIN}\n\n{markdown(found)}\n{END}{after}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        found = validate(folder, progress=print)
        if found.interrupted:
            raise KeyboardInterrupt
        for path in found.files:
            if path.suffix == ".png":
                save_bytes(DOCS / "images" / path.name, path.read_bytes())
    save_text(PAGE, page_with(PAGE.read_text(encoding="utf-8"), found))
