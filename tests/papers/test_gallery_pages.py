"""The pages of the gallery: current, whole, and what is on them does not change unseen."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import write_gallery
from PIL import Image
from quick_figures import quick_figure

from pi2_fluid.papers import gallery
from pi2_fluid.papers.record import counted, recorded
from pi2_fluid.papers.registry import FIGURES, TITLES, find_figures
from pi2_fluid.papers.stated import stated

SIDE = 16  # of the grid of light and dark that stands for a picture
#: Of its 256 steps from light to dark, how many may differ between one seed and many: a third of
#: them differ, and more, between two different figures (see below).
FAR = 64
#: Pictures whose axes hold intervals, which two seeds make some ten times as wide: 70 differ.
WITH_INTERVALS = {"what_gains_buy.png": 80}


def brightness_steps(path: Path) -> np.ndarray:
    """Return where a picture gets darker from left to right, on a coarse grid."""
    with Image.open(path) as picture:
        small = picture.convert("L").resize((SIDE + 1, SIDE), Image.Resampling.BOX)
    # What differs by less than a hundredth is alike: paper is white whatever the rounding.
    return np.diff(np.asarray(small, dtype=float), axis=1) < -2.5


def test_the_pages_are_current() -> None:
    pages = write_gallery.pages()
    for name, text in pages.items():
        there = (write_gallery.PAGES / name).read_text(encoding="utf-8")
        assert there == text, f"{name}: run python tools/write_gallery.py"
    kept = {path.name for path in write_gallery.PAGES.iterdir() if path.suffix == ".md"}
    assert kept == set(pages)


def test_what_a_page_shows_and_links_to_is_there() -> None:
    there = {path.name for path in write_gallery.PAGES.iterdir()}
    for text in write_gallery.pages().values():
        links = set(re.findall(r"\]\(([^)#:]+)\)", text))
        assert links <= there
    assert sum((write_gallery.PAGES / name).stat().st_size for name in there) < 12e6


def test_the_readme_counts_as_the_gallery_does() -> None:
    readme = (write_gallery.ROOT / "README.md").read_text(encoding="utf-8")
    assert counted(list(FIGURES)) in " ".join(readme.split())


@pytest.mark.parametrize("paper", [*TITLES, "all"])
def test_the_verdicts_that_are_counted_add_up_to_the_statements(paper: str) -> None:
    """Of each paper and of all, by what the text itself says."""
    total = counted(find_figures(paper))
    head, _, verdicts = total.partition(": ")
    every = [row for figure in find_figures(paper) for row in stated(figure)]
    if not every:
        assert total == f"{len(find_figures(paper))} figures, nothing stated"
        return
    figures, statements = (
        int(number[1]) if (number := re.search(rf"(\d+) {what}", head)) else 0
        for what in ("figure", "statement")
    )
    assert figures == len(find_figures(paper))
    assert statements == sum(row.wording != "note" for row in every)
    assert sum(map(int, re.findall(r"\d+", verdicts))) == statements


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_one_seed_gives_what_is_recorded_of_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every run is made by its seed alone, so the first of the whole is that of the quick."""
    record, made = recorded(name), quick_figure(name)
    assert record is not None
    for key, found in made.found.items():
        if made.recipe.coarse:
            assert np.isfinite(found).all()
        else:
            # Twelve digits are recorded; loops and fluids differ by rounding between machines.
            assert found == pytest.approx(record.found[key][: len(found)], rel=1e-6), key
    # In the other formats a picture is drawn by the same calls, and nothing looks at it here.
    monkeypatch.setattr(gallery, "_SUFFIXES", (".png",))
    for path in made.save(tmp_path):
        if path.suffix == ".png":
            old, new = map(brightness_steps, (write_gallery.PAGES / path.name, path))
            assert np.sum(old != new) <= WITH_INTERVALS.get(path.name, FAR), path.name


def test_two_figures_are_told_apart() -> None:
    pictures = [
        write_gallery.PAGES / f"{name}.png" for name in ("pi2_fig07", "pi2_fig13_transients")
    ]
    one, other = map(brightness_steps, pictures)
    assert np.sum(one != other) > FAR
