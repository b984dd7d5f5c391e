"""What packages say agrees, placeholders are listed, and workflows call what there is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import requirements
import try_wheel
import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
CODEMETA = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
RECIPE = yaml.safe_load((ROOT / "conda/recipe.yaml").read_text(encoding="utf-8"))
PAPER = (ROOT / "paper/paper.md").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
RELEASING = (ROOT / "docs/releasing.md").read_text(encoding="utf-8")
#: What stands for an address, a name, a number or a sentence that there is not yet.
PLACEHOLDER = re.compile(
    r"https://example\.org/pi2_fluid|[\w.]+@pi2-fluid\.invalid|\b0{64}\b|\b0000-0000-0000-0000\b"
    r"|[\w-]+-placeholder\b|Placeholder for[\w' ]+|\[Placeholder, which docs/releasing\.md lists"
)


def told(requirement: str) -> tuple[str, str]:
    """Return whose a requirement is, and of which versions."""
    found = re.match(r"([\w-]+)(?:\[\w+\])? *([^;]*)", requirement)
    assert found
    return found[1], found[2].strip()


def test_versions_and_names_agree() -> None:
    assert {CITATION["version"], CODEMETA["version"], RECIPE["context"]["version"]} == {
        PROJECT["version"]
    }
    assert RECIPE["package"]["name"] == PROJECT["name"]
    assert CODEMETA["name"] == CITATION["title"]
    assert (
        CODEMETA["author"][0]["name"]
        == CITATION["authors"][0]["name"]
        == PROJECT["authors"][0]["name"]
    )


def test_licence_description_and_keywords_agree() -> None:
    assert CITATION["license"] == RECIPE["about"]["license"] == PROJECT["license"]
    assert CODEMETA["license"] == f"https://spdx.org/licenses/{PROJECT['license']}"
    assert CODEMETA["description"] == CITATION["abstract"]
    assert CITATION["abstract"].startswith(PROJECT["description"])
    assert RECIPE["about"]["summary"] == PROJECT["description"]
    assert CODEMETA["keywords"] == CITATION["keywords"]
    assert set(CITATION["keywords"]) <= set(PROJECT["keywords"])


def test_addresses_agree() -> None:
    urls = PROJECT["urls"]
    assert CODEMETA["url"] == RECIPE["about"]["homepage"] == urls["Homepage"]
    assert CODEMETA["codeRepository"] == RECIPE["about"]["repository"] == urls["Source"]
    assert CODEMETA["softwareHelp"] == RECIPE["about"]["documentation"] == urls["Documentation"]
    assert CODEMETA["issueTracker"] == urls["Issues"]


def test_requirements_agree() -> None:
    asked = dict(map(told, PROJECT["dependencies"]))
    assert sorted(asked) == CODEMETA["softwareRequirements"]
    in_conda = [x if isinstance(x, str) else x["then"] for x in RECIPE["requirements"]["run"]]
    conda = {
        name.replace("matplotlib-base", "matplotlib"): version
        for name, version in map(told, in_conda)
    }
    assert conda == asked | {"python": ""}
    entry = RECIPE["build"]["python"]["entry_points"]
    assert entry == [f"{name} = {where}" for name, where in PROJECT["scripts"].items()]


def test_every_placeholder_is_listed_and_every_listed_one_is_there() -> None:
    listed: dict[str, set[str]] = {}
    for shown, where in re.findall(
        r"^\| `([^`]+)` \| ((?:`[^`]+`,? ?)+) \|", RELEASING, re.MULTILINE
    ):
        listed[shown] = set(re.findall(r"`([^`]+)`", where))
    assert listed
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if tracked.returncode:
        pytest.skip("not a repository")
    found: dict[str, set[str]] = {}
    for name in tracked.stdout.splitlines():
        path = ROOT / name
        if name in ("docs/releasing.md", "tests/test_packaging.py") or not path.is_file():
            continue
        for placeholder in PLACEHOLDER.findall(path.read_text(encoding="utf-8", errors="ignore")):
            found.setdefault(placeholder, set()).add(name)
    assert found == listed


def test_groups_are_followed_and_nothing_of_the_package_itself_is_asked_for() -> None:
    dev = requirements.requirements("dev")
    assert {"cmake", "pytest", "mypy", "zarr", "ipywidgets", "distributed"} <= {
        told(x)[0] for x in dev
    }
    assert len(dev) == len(set(dev))
    assert requirements.requirements("mutants") == dev
    assert not any(x.startswith("pi2-fluid") for x in dev)
    with pytest.raises(KeyError):
        requirements.requirements("nothing")


def test_extras_are_those_that_the_page_lists() -> None:
    page = (ROOT / "docs/installing.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == set(
        PROJECT["optional-dependencies"]
    )


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_call_what_there_is(workflow: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    called = 0
    for job in yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"].values():
        for line in (step["run"] for step in job["steps"] if "run" in step):
            program, *words = line.split()
            called += 1
            if program == "make":
                assert words[0] in targets
            else:
                assert (ROOT / (words[0] if program == "python" else program)).is_file()
    assert called


def test_the_readme_is_tried_whole() -> None:
    code, lines = try_wheel.readme()
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert code.count("import pi2_fluid as pf") == 1
    assert code.count("print(") == text.count("```python") == 2
    asked = [line.split(" | ")[-1].split()[1] for line in lines]
    assert asked == ["check", "compare", "check", "margins", "tune"]


def test_a_wheel_sees_no_compiler() -> None:
    surroundings = try_wheel.programs(Path(sys.executable))
    assert surroundings["PATH"] == str(Path(sys.executable).parent)


def test_the_paper_has_what_the_journal_asks_for() -> None:
    sections = re.findall(r"^# (.+)$", PAPER, re.MULTILINE)
    required = ["Summary", "Statement of need", "State of the field", "Software design"]
    required += [
        "Research impact statement",
        "AI usage disclosure",
        "Acknowledgements",
        "References",
    ]
    assert sections == required
    body = PAPER.split("---", 2)[2]
    assert 750 <= len(body.split()) <= 1750
    keys = set(
        re.findall(r"^@\w+\{(\w+),", (ROOT / "paper/paper.bib").read_text("utf-8"), re.MULTILINE)
    )
    assert set(re.findall(r"@(\w+)", body)) == keys
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    counts = re.search(
        r"(\d+) statements: (\d+) reproduced, (\d+) only under an assumption of ours, (\d+) not",
        " ".join(readme.split()),
    )
    assert counts
    said = re.search(
        r"of (\d+) statements,\s(\d+) are reproduced, (\d+) under .+?, and (\d+) are not",
        body,
        re.DOTALL,
    )
    assert said
    assert said.groups() == counts.groups()
