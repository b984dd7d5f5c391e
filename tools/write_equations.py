"""Bring docs/reference/equations.md up to date: python tools/write_equations.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.registry import AQMS, SENDERS, aqm_class, sender_class
from pi2_fluid.saving import save_text

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "equations.md"
BEGIN = "<!-- equations: begin -->"
END = "<!-- equations: end -->"
NEEDED: dict[str, dict[str, Any]] = {"cbr": {"rate": "3Mbit/s"}, "red": {"min": 5, "max": 15}}


def sections() -> Iterator[str]:
    """Yield a section for each law that has equations."""
    for title, kinds, class_of in (
        ("Senders", SENDERS, sender_class),
        ("Queues", AQMS, aqm_class),
    ):
        yield f"## {title}\n"
        for kind in kinds:
            cls: Any = class_of(kind)
            if cls.only_in or kind in ("imposed", "injected"):  # moved over time
                continue
            law = cls(**NEEDED.get(kind, {}))
            try:
                formula = law.formula()
            except UnsupportedError:
                continue
            yield f"### {cls.__name__}\n\n$$\n{formula}\n$$\n"


def page(text: str) -> str:
    """Return the page with its equations as they are."""
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    body = "\n".join(sections())
    return f"{before}{BEGIN}\n\n{body}\n{END}{after}"


if __name__ == "__main__":
    save_text(PAGE, page(PAGE.read_text(encoding="utf-8")))
