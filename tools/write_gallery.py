"""Bring the gallery up to date from a folder of whole runs: python tools/write_gallery.py gallery.

Takes what `pi2-fluid figure all --out gallery` made: records go into the package, pictures
and numbers beside the pages in docs/gallery/. Figures that are named after the folder are taken
alone. Without a folder only the pages are written, from what is recorded.
"""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from PIL import Image

from pi2_fluid.papers import record as records
from pi2_fluid.papers.record import Record, counted, read_record, recorded, recorded_verdicts
from pi2_fluid.papers.registry import (
    FIGURES,
    TITLES,
    file_name,
    find_figures,
    page_title,
    recipe_of,
)
from pi2_fluid.papers.verdicts import Judged, found_text, stated_text, tolerance_text
from pi2_fluid.saving import save_bytes, save_text

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "gallery"
RECORDED = ROOT / "pi2_fluid" / "papers" / "recorded.json"
WIDTH = 1100  # pixels of a picture on a page
#: Bytes above which numbers are not kept beside the page; the command makes them.
LARGEST = 150_000
NAMES = {
    "pi2": "PI2: A Linearized AQM for both Classic and Scalable TCP (CoNEXT'16)",
    "pie": "PIE: A Lightweight Control Scheme to Address the Bufferbloat Problem (HPSR'13)",
    "thesis": "The thesis on PI2 in ns-3",
    "paganini": "Paganini, Wang, Low and Doyle: A New TCP/AQM for Stable Operation (2002)",
    "ours": "Our own figures",
}
VERDICTS = {
    "reproduced": "reproduced",
    "depends": "only if",
    "not_reproduced": "**not reproduced**",
    None: "nothing to judge",
}
CORNERS = {
    "reproduced": "reproduced",
    "depends": "only if",
    "mixed": "partly",
    "not_reproduced": "not reproduced",
    "nothing": "nothing stated",
}
#: How many choices there are before the last of so many, in words.
_NUMBERS = {2: "one", 3: "two", 4: "three", 5: "four", 6: "five", 7: "six"}

INTRO = """\
# Gallery

This package draws every figure of four papers again, and judges what each paper says about it. The
verdict stands below the picture. *Only if* means: reproduced only under an assumption of ours,
which the page of the figure names. Remarks that cannot be judged are on these pages, and not
counted. `pi2-fluid claims` counts more: also statements that no figure is about.

The paper's wording sets how far our result may be off. These limits were fixed before anything was
judged.

| the paper gives | our result may be off by |
| --- | --- |
| a number | 15 % |
| a number that is "about" or "nearly", or that we read off a plot | 30 % |
| a share of a distribution | ten points |
| a count | nothing |
| a bound | nothing, in the median of the runs |
| a relation, as "lower" | nothing, in the median and in five of six runs |
| "alike" | a ratio from 0.8 to 1.25, in the median and in five of six runs |

```sh
pi2-fluid figure                              # this list, in a terminal
pi2-fluid figure pi2:15                       # one figure: pictures, numbers, verdicts
pi2-fluid figure pi2:7 --set rtt=50ms         # with another number; picture and files say which
pi2-fluid figure pie:10 --check               # draws nothing: are the verdicts as recorded?
make gallery                                  # all of them with all seeds
```

In Python, [`pf.figure("pie", 10)`][pi2_fluid.figure] has the scenarios, the numbers as a Dataset,
the paper's statements, and the verdicts. It draws into axes of your own.
"""


def take_in(folder: Path, names: Sequence[str] = ()) -> None:
    """Take records, pictures and numbers of whole runs over, and leave out what is gone.

    Where there are `names`, the other figures stay as they are recorded.
    """
    before = json.loads(RECORDED.read_text(encoding="utf-8"))
    whole = {name: before.get(name) for name in FIGURES}
    taken = find_figures(names) if names else list(FIGURES)
    for name in taken:
        record = read_record(folder / f"{file_name(name)}.json")
        if record is None:
            raise FileNotFoundError(f"{folder} has no record of {name}: make gallery first.")
        whole[name] = {
            "seeds": record.seeds,
            "seconds": record.seconds,
            "digest": record.digest,
            "found": {k: [float(f"{x:.12g}") for x in v] for k, v in record.found.items()},
            "files": [file for file in record.files if is_kept(folder / file)],
        }
    save_text(RECORDED, json.dumps(whole, indent=1) + "\n")
    records.forget()
    PAGES.mkdir(parents=True, exist_ok=True)
    kept = {file for name in FIGURES if name not in taken for file in whole[name]["files"]}
    for path in PAGES.iterdir():
        if path.name not in kept:
            path.unlink()
    for name in taken:
        for file in whole[name]["files"]:
            if file.endswith(".png"):
                shrink(folder / file, PAGES / file)
            else:
                save_bytes(PAGES / file, (folder / file).read_bytes())


def is_kept(path: Path) -> bool:
    """Whether a file of a figure has a place beside its page."""
    return path.suffix == ".png" or (path.suffix == ".csv" and path.stat().st_size <= LARGEST)


def shrink(source: Path, target: Path) -> None:
    """Write a picture as it is looked at on a page."""
    with Image.open(source) as picture:
        height = round(picture.height * WIDTH / picture.width)
        small = picture.convert("RGB").resize((WIDTH, height), Image.Resampling.LANCZOS)
        written = io.BytesIO()
        small.quantize(64, dither=Image.Dither.NONE).save(written, "PNG", optimize=True)
    save_bytes(target, written.getvalue())


def front_page() -> str:
    """Return the page of thumbnails."""
    lines = [INTRO, f"{counted(list(FIGURES))}.", ""]
    for paper in TITLES:
        mine = [name for name in FIGURES if name.startswith(f"{paper}:")]
        lines += [f"## {NAMES[paper]}", "", f"{counted(mine)}.", ""]
        lines += ['<div class="gallery" markdown>', ""]
        for name in mine:
            corner = corner_of(recorded_verdicts(name))
            lines += [f'<figure class="{corner}" markdown>']
            title = short_title(name)
            picture = first_picture(name)
            if picture:
                lines += [f"[![{title}]({picture})]({file_name(name)}.md)"]
            verdict = "" if paper == "ours" else f"<br><span>{CORNERS[corner]}</span>"
            lines += [f"<figcaption markdown>[{title}]({file_name(name)}.md){verdict}</figcaption>"]
            lines += ["</figure>", ""]
        lines += ["</div>", ""]
    return "\n".join(lines)


def short_title(name: str) -> str:
    """Return what a figure is called below the heading of its paper."""
    title = page_title(name)
    return title.partition(", ")[2] or title


def link_text(other: str, name: str) -> str:
    """Return what a figure is called on another figure's page."""
    paper = name.partition(":")[0]
    return short_title(other) if other.startswith(f"{paper}:") else page_title(other)


def corner_of(verdicts: dict[str, Judged]) -> str:
    """Return the kind of verdict on a whole figure."""
    kinds = {one.verdict for one in verdicts.values()} - {None}
    if not kinds:
        return "nothing"
    if "not_reproduced" in kinds:
        return "mixed" if len(kinds) > 1 else "not_reproduced"
    return "depends" if "depends" in kinds else "reproduced"


def first_picture(name: str) -> str:
    """Return the file of a figure's first picture, "" if it has none."""
    there = recorded(name)
    return next((f for f in there.files if f.endswith(".png")), "") if there else ""


def page_of(name: str, number: int) -> str:
    """Return the page of one figure, the `number`-th in the list."""
    recipe, record, verdicts = recipe_of(name), recorded(name), recorded_verdicts(name)
    if record is None:
        raise ValueError(f"{name} is not recorded: make gallery first.")
    names, is_ours = list(FIGURES), name.startswith("ours:")
    before, after = names[number - 1], names[(number + 1) % len(names)]
    lines = [f"# {page_title(name)}", "", f"{recipe.caption}.", ""]
    pictures = [file for file in record.files if file.endswith(".png")]
    lines += [f"![{page_title(name)}]({file})\n" for file in pictures[:1]]
    if verdicts:
        lines += ["| what | stated | here, median (range) | may be off | verdict |"]
        lines += ["| --- | --- | --- | --- | --- |"]
        for one in verdicts.values():
            verdict = VERDICTS[one.verdict] + (f" {one.condition}" if one.condition else "")
            row = one.stated
            cells = (row.quantity, stated_text(row), found_text(one), tolerance_text(row), verdict)
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    elif not is_ours:
        lines += ["The paper states nothing that can be judged.", ""]
    causes = recipe.causes(verdicts.values())
    if causes:
        lines += ["## Why", "", *(f"* {cause}" for cause in causes), ""]
    choices = choices_of(name)
    if choices:
        heading = "How it is made" if is_ours else "What the paper leaves open, and our choice"
        lines += [f"## {heading}", "", *(f"* {choice}" for choice in choices), ""]
    if pictures[1:]:
        lines += ["## More", "", *(f"![{page_title(name)}]({file})\n" for file in pictures[1:])]
    lines += ["## Command", "", *made_with(name, record), ""]
    lines += [
        (
            f"[{link_text(before, name)}]({file_name(before)}.md) · [all](index.md) ·"
            f" [{link_text(after, name)}]({file_name(after)}.md)"
        ),
        "",
    ]
    return "\n".join(lines)


@cache
def told_first() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return each decision of several figures: the first of them, and the others.

    A figure takes two decisions or more from the same page, or none.
    """
    owners: dict[str, list[str]] = {}
    for name in FIGURES:
        for choice in recipe_of(name).decisions:
            owners.setdefault(choice, []).append(name)
    pairs = Counter((names[0], other) for names in owners.values() for other in names[1:])
    told = {
        choice: (first, tuple(other for other in others if pairs[first, other] > 1))
        for choice, (first, *others) in owners.items()
    }
    return {choice: (first, others) for choice, (first, others) in told.items() if others}


def choices_of(name: str) -> list[str]:
    """Return the decisions about a figure as its page says them, each in full on one page."""
    alone: list[str] = []
    elsewhere: list[str] = []
    shared: dict[tuple[str, ...], list[str]] = {}
    for choice in recipe_of(name).decisions:
        first, others = told_first().get(choice, ("", ()))
        if name in others:
            elsewhere.append(f"[{short_title(first)}]({file_name(first)}.md)")
        elif name == first:
            shared.setdefault(others, []).append(choice)
        else:
            alone.append(choice)
    own = alone
    for others, choices in shared.items():
        figures = enumerate_figures([other.partition(":")[2] for other in others])
        own += choices[:-1]
        before = f", like the {_NUMBERS[len(choices)]} before" if choices[1:] else ""
        own.append(f"{choices[-1]} (Also for {figures}{before}.)")
    if elsewhere:
        pages = list(dict.fromkeys(elsewhere))
        there = "their pages" if pages[1:] else "its page"
        own.append(f"Choices shared with {' and '.join(pages)} are on {there}.")
    return own


def enumerate_figures(numbers: Sequence[str]) -> str:
    """Return "Figure 4", or "Figures 4, 5 and 6"."""
    *first, last = numbers
    return f"Figures {', '.join(first)} and {last}" if first else f"Figure {last}"


def made_with(name: str, record: Record) -> list[str]:
    """Return command, seeds, files, and what can be set."""
    recipe = recipe_of(name)
    runs = "" if record.seeds == 1 else f"; {record.seeds} seeds"
    lines = ["```sh", f"pi2-fluid figure {name}", "```", ""]
    lines += [f"From: {recipe.kind}{runs}."]
    numbers = [file for file in record.files if file.endswith(".csv")]
    if numbers:
        lines += ["", "Numbers: " + ", ".join(f"[{file}]({file})" for file in numbers) + "."]
    settable = [*recipe.parameters, *(recipe.changeable or ())]
    if settable:
        lines += ["", f"`--set` takes {', '.join(f'`{each}`' for each in settable)}."]
    return lines


def pages() -> dict[str, str]:
    """Return all pages by what their files are called."""
    each = {f"{file_name(name)}.md": page_of(name, k) for k, name in enumerate(FIGURES)}
    return {"index.md": front_page()} | each


if __name__ == "__main__":
    if sys.argv[1:]:
        take_in(Path(sys.argv[1]), sys.argv[2:])
    for file, text in pages().items():
        save_text(PAGES / file, text)
