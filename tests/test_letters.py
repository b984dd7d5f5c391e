"""Letters to maintainers: whatever number they state is one of the pages that they name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

LETTERS = sorted((Path(__file__).parents[1] / "docs" / "letters").glob("*.md"))
#: A number with a point, or of a per cent, a unit, a pair of gains, a share or an uncertainty.
NUMBER = re.compile(r"[+−-]?\d+\.\d+|\d+/\d+|[+−-]?\d+(?= ±)")


def told(letter: Path) -> set[str]:
    """The numbers of a letter, but for versions and what commands are given."""
    text = re.sub(
        r"```.*?```|Linux [\d.]+", "", letter.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    return {number.lstrip("+−-") for number in NUMBER.findall(text)}


@pytest.mark.parametrize("letter", LETTERS, ids=lambda letter: letter.stem)
def test_numbers_are_those_of_pages(letter: Path) -> None:
    text = letter.read_text(encoding="utf-8")
    pages = {letter.parent / link for link in re.findall(r"\]\((\.\./[^)#]+)", text)}
    known = " ".join(page.read_text(encoding="utf-8") for page in pages)
    numbers = told(letter)
    assert len(numbers) > 20
    without = {n for n in numbers if not re.search(rf"(?<![\d.]){re.escape(n)}(?!\d)", known)}
    assert without == set()


@pytest.mark.parametrize("letter", LETTERS, ids=lambda letter: letter.stem)
def test_it_says_where_numbers_are_from_and_what_is_not_known(letter: Path) -> None:
    text = letter.read_text(encoding="utf-8")
    for words in ("In the kernel:", "In packets:", "What we do not know", "To repeat it:"):
        assert words in text
