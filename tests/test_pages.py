"""Tutorials and how-tos: who does what they say gets what they show."""

from __future__ import annotations

import re
from pathlib import Path

import pages
import pytest

import pi2_fluid as pf

ROOT = Path(__file__).resolve().parents[1]
RENEW = "look at what changed, and store it with: python tools/pages.py"
KNOWN = {"console", "python", "text", "toml", "json", "sh"}

every_page = pytest.mark.parametrize("path", pages.pages(), ids=lambda path: path.stem)


@every_page
@pytest.mark.slow
def test_its_reader_gets_what_it_shows(path, tmp_path) -> None:
    apart = pages.differences(path, tmp_path)
    assert not apart, "\n".join([*apart, RENEW])


@every_page
def test_nothing_that_it_shows_goes_untried(path) -> None:
    """Each block is saved, run, or the output of the one before.

    What is not run is for tc, takes minutes, or needs a kernel that was built.
    """
    found = pages.blocks(path.read_text(encoding="utf-8"))
    assert found
    for before, block in zip([None, *found], found, strict=False):
        assert block.kind in KNOWN
        if block.kind == "console":
            assert pages.commands(block.text)
        elif block.kind == "text" and block.title is None:
            assert before is not None
            assert before.kind == "python"
        elif block.kind == "sh":
            assert re.search(
                r"\b(sudo|tc|zgrep|pip|ssh|make|linux build|engine linux)\b", block.text
            )
        else:
            assert block.title is not None or block.kind == "python"


@every_page
def test_its_links_lead_somewhere(path) -> None:
    text = path.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    for link in links:
        assert (path.parent / link).resolve().exists(), link


class TestWhatCountsAsShown:
    def followed(self, text, folder):
        return [now for _, now in pages.follow(text, folder)]

    def test_a_console_keeps_its_folder_and_exit_code(self, tmp_path) -> None:
        text = (
            '```text title="a.txt"\nhello\n```\n\n```console\n$ cat a.txt\n$ false\n$ echo $?\n```'
        )
        assert self.followed(text, tmp_path) == ["$ cat a.txt\nhello\n$ false\n$ echo $?\n1\n"]

    def test_python_is_one_interpreter_and_its_text_stands_below(self, tmp_path) -> None:
        text = "```python\na = 2\n```\n\n```python\nprint(a)\n```\n\n```text\n3\n```\n"
        assert self.followed(text, tmp_path) == ["2\n"]

    def test_what_is_printed_must_be_shown(self, tmp_path) -> None:
        with pytest.raises(ValueError, match="no text block"):
            self.followed("```python\nprint(1)\n```\n", tmp_path)

    def test_lines_can_be_left_out(self, tmp_path) -> None:
        text = "```console\n$ seq 9\n1\n...\n9\n```\n"
        assert self.followed(text, tmp_path) == ["$ seq 9\n1\n...\n9\n"]

    def test_another_number_is_a_difference(self, tmp_path) -> None:
        path = tmp_path / "page.md"
        path.write_text("```console\n$ echo 2.50 dB\n2.70 dB\n```\n", encoding="utf-8")
        (found,) = pages.differences(path, tmp_path)
        assert "2.70" in found
        pages.store(path)
        assert "$ echo 2.50 dB\n2.50 dB\n" in path.read_text(encoding="utf-8")


def test_the_router_is_given_what_check_printed_and_shows_what_it_makes_of_it() -> None:
    """There is no router here: its part of the tutorial is what the package knows of tc."""
    found = pages.blocks((ROOT / "docs/tutorials/router_engineer.md").read_text(encoding="utf-8"))
    (line,) = (
        row.removeprefix("sudo ")
        for block in found
        if block.kind == "sh"
        for row in block.text.splitlines()
        if "qdisc change" in row
    )
    assert any(block.kind == "console" and f"\n{line}\n" in block.text for block in found)
    (shown,) = (block.text for block in found if block.title == "after.txt")
    words = dict(zip(*[iter(line.split(" pie ")[1].split())] * 2, strict=True))
    law = pf.Pie(
        alpha=int(words["alpha"]) / 16,
        beta=int(words["beta"]) / 16,
        target=words["target"],
        update_interval=words["tupdate"],
    )
    queue = pf.qdisc.install(law, "pie", hz=1000)
    assert shown.partition("limit")[2].split() == pf.qdisc.show(queue).partition("limit")[2].split()
