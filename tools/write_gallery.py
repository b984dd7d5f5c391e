"""Bring the gallery up to date from a folder of whole runs: python tools/write_gallery.py gallery.

Takes what `pi2-fluid figures all --full --out gallery` made: records go into the package, pictures
and numbers beside the pages in docs/gallery/. Figures that are named after the folder are taken
alone. Without a folder only the pages are written, from what is recorded.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
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
    "ours": "Our own",
}
VERDICTS = {
    "reproduced": "reproduced",
    "depends": "if",
    "not_reproduced": "**not reproduced**",
    None: "nothing to judge",
}
CORNERS = {
    "reproduced": "holds",
    "depends": "holds if",
    "mixed": "partly",
    "not_reproduced": "does not hold",
    "nothing": "nothing stated",
}
INTRO = """\
# Gallery

Every figure of the papers, made afresh by this package, beside what the paper says of it. The
corner says whether that holds: how far ours may be off was fixed by the wording of the paper before
anything was judged, without exceptions. A stated number may be 15 % off; what is "about", "nearly"
or was read off a plot, 30 %; a share of a distribution ten points; a bound must hold in the median,
a count exactly; a relation must hold in the median of six runs and in five of six, and "alike" is a
ratio from 0.8 to 1.25. *If* means that it holds only after a decision of ours, which is named.

```sh
pi2-fluid figures                             # this list, in a terminal
pi2-fluid figure pi2:15                       # one figure: pictures, numbers, verdicts
pi2-fluid figure pi2:7 --set rtt=50ms         # something changed, as picture and files then say
pi2-fluid figure pie:10 --check               # draws nothing: are the verdicts as recorded?
make gallery                                  # all of them in full
```

In Python [`pf.figure("pie", 10)`][pi2_fluid.figure] has the scenarios, the numbers as a Dataset,
what the paper states, and the verdicts, and draws into axes of your own.
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
    lines = [INTRO, f"In all: {counted(list(FIGURES))}.", ""]
    for paper in TITLES:
        mine = [name for name in FIGURES if name.startswith(f"{paper}:")]
        lines += [f"## {NAMES[paper]}", "", f"{counted(mine)}.", ""]
        lines += ['<div class="gallery" markdown>', ""]
        for name in mine:
            corner = corner_of(recorded_verdicts(name))
            lines += [f'<figure class="{corner}" markdown>']
            picture = first_picture(name)
            if picture:
                lines += [f"[![{page_title(name)}]({picture})]({file_name(name)}.md)"]
            title = name.partition(":")[2] if paper == "ours" else page_title(name)
            lines += [f"<figcaption markdown>[{title}]({file_name(name)}.md)<br>"]
            lines += [f"<span>{CORNERS[corner]}</span></figcaption>", "</figure>", ""]
        lines += ["</div>", ""]
    return "\n".join(lines)


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
    names = list(FIGURES)
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
    else:
        lines += ["Nothing is stated about it that could be judged.", ""]
    causes = recipe.causes(verdicts.values())
    if causes:
        lines += ["## Why", "", *(f"* {cause}" for cause in causes), ""]
    if recipe.decisions:
        lines += ["## What the text leaves open, and what was chosen", ""]
        lines += [*(f"* {decision}" for decision in recipe.decisions), ""]
    if pictures[1:]:
        lines += ["## More", "", *(f"![{page_title(name)}]({file})\n" for file in pictures[1:])]
    lines += ["## Made with", "", *made_with(name, record), ""]
    lines += [
        (
            f"[{page_title(before)}]({file_name(before)}.md) · [all](index.md) ·"
            f" [{page_title(after)}]({file_name(after)}.md)"
        ),
        "",
    ]
    return "\n".join(lines)


def made_with(name: str, record: Record) -> list[str]:
    """Return command, seeds, seconds and files."""
    recipe = recipe_of(name)
    runs = "" if record.seeds == 1 else f"{record.seeds} seeds, "
    lines = ["```sh", f"pi2-fluid figure {name}", "```", ""]
    lines += [
        f"Computed from: {recipe.kind}. {runs.capitalize()}{record.seconds:.1f} s on two cores;"
    ]
    lines += [f"digest of the numbers `{record.digest}`."]
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
