"""The schema of scenarios: up to date, and of one mind with what reads them."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import write_schema
from shell import printed

import pi2_fluid as pf

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = [
    *(ROOT / "pi2_fluid/network/scenarios").glob("*.toml"),
    *(ROOT / "pi2_fluid/network/families").glob("*.toml"),
    # of files of tests those that are one scenario
    *(
        path
        for path in (ROOT / "tests/data").glob("*.toml")
        if "flows" in tomllib.loads(path.read_text("utf-8"))
    ),
]
PAGES = [*ROOT.glob("docs/**/*.md"), ROOT / "README.md"]
WRITTEN = {
    f"{page.name} {number}": text
    for page in PAGES
    for number, text in enumerate(
        re.findall(r"^```toml[^\n]*\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    )
    if "[[flows]]" in text and ("[link]" in text or "[[node]]" in text)
}
TEXT = """
duration = "20s"

[link]
capacity = "10Mbit/s"

[aqm]
kind = "pi2"
alpha = 0.3125

[[flows]]
sender = "reno"
count = 5
base_rtt = "100ms"

[[changes]]
at = "10s"
counts = { reno = 8 }
"""


@pytest.fixture(scope="module")
def validator():
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(write_schema.FILE.read_text("utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def test_it_is_up_to_date() -> None:
    stored = write_schema.FILE.read_text("utf-8")
    assert stored == write_schema.text(), "run python tools/write_schema.py"


def test_the_shell_prints_it(capsys) -> None:
    assert printed(capsys, ["schema"]) == write_schema.FILE.read_text("utf-8")


def test_every_scenario_here_is_one_by_it(validator) -> None:
    assert len(SCENARIOS) > 60
    for path in SCENARIOS:
        found = [
            error.message for error in validator.iter_errors(tomllib.loads(path.read_text("utf-8")))
        ]
        assert not found, (path.name, found)


@pytest.mark.parametrize("name", WRITTEN)
def test_every_scenario_of_a_page_is_one_by_it(validator, name) -> None:
    assert validator.is_valid(tomllib.loads(WRITTEN[name]))


def test_what_is_written_is_one_by_it(validator) -> None:
    """With every key that is not at its default, and numbers in SI units."""
    for name in ("pi2_fig12_pie", "parking_lot", "paganini_fig05", "pie_fig10a_codel"):
        assert validator.is_valid(tomllib.loads(pf.named_scenario(name).to_toml())), name


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('duration = "20s"', ""),
        ('duration = "20s"', 'duration = "20"'),
        ('duration = "20s"', 'duration = "20Mbit/s"'),
        ('capacity = "10Mbit/s"', ""),
        ('capacity = "10Mbit/s"', "capacity = 0"),
        ('capacity = "10Mbit/s"', "capcity = 1e7"),
        ('kind = "pi2"', ""),
        ('kind = "pi2"', 'kind = "pi3"'),
        ("alpha = 0.3125", "alpha = -1"),
        ("alpha = 0.3125", 'alpha = "0.3125ms"'),
        ("alpha = 0.3125", "table = 'rfc8033'"),
        ('kind = "pi2"', 'kind = "docsis_pie"\nk = 3'),
        ('kind = "pi2"', 'kind = "docsis_pie"\nmax_rtt = "60ms"'),
        ('kind = "pi2"', 'kind = "tc_max_rtt"'),
        ("alpha = 0.3125", "ecn = 1"),
        ("alpha = 0.3125", "drop_at = 'tail'"),
        ('sender = "reno"', 'sender = "renno"'),
        ("count = 5", "counts = 5"),
        ('base_rtt = "100ms"', ""),
        ('base_rtt = "100ms"', "k = 2"),
        ("[[changes]]", "[[change_]]"),
        ('at = "10s"', ""),
        ("counts = { reno = 8 }", ""),
        ("counts = { reno = 8 }", "counts = { reno = -8 }"),
        ("[link]", "[[node]]\nname = 'a'"),
    ],
)
def test_what_it_refuses_is_refused(validator, old, new) -> None:
    """By both: else an editor would mark what runs, or let pass what the reader tells at once."""
    assert validator.is_valid(tomllib.loads(TEXT))
    assert pf.Scenario.from_toml(TEXT).duration == 20.0
    text = TEXT.replace(old, new)
    assert text != TEXT
    assert not validator.is_valid(tomllib.loads(text))
    with pytest.raises((pf.ScenarioError, pf.QuantityError, pf.DomainError)):
        pf.Scenario.from_toml(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('duration = "20s"', "duration = 20"),
        ('duration = "20s"', 'duration = "2.e1 s"'),
        ("alpha = 0.3125", 'alpha = "0.3125"'),
        ("alpha = 0.3125", 'update_interval = "32000\N{GREEK SMALL LETTER MU}s"'),
        ("count = 5", "count = 5\nstop = '15s'"),
        ("[link]", "[link]\nbuffer = '100p'"),
        ('kind = "pi2"', 'kind = "docsis_pie"\ntarget = "15ms"'),
        ('kind = "pi2"', 'kind = "tc_max_rtt"\nmax_rtt = "60ms"'),
    ],
)
def test_what_it_takes_is_read(validator, old, new) -> None:
    text = TEXT.replace(old, new)
    assert text != TEXT
    assert validator.is_valid(tomllib.loads(text))
    pf.Scenario.from_toml(text)


def test_everything_in_it_is_explained() -> None:
    """An editor shows a sentence for every key."""
    schema = write_schema.schema()
    parts = schema["definitions"]
    senders = parts["flows"]["items"]["oneOf"]
    tables = [*senders, *parts["aqm"]["oneOf"], parts["link"], parts["node"]]
    tables += [schema["properties"]["cells"]["items"]]
    dumb = {
        (table.get("title"), key)
        for table in tables
        for key, value in table["properties"].items()
        if value.keys().isdisjoint(("description", "const", "$ref")) and key != "kind"
    }
    assert not dumb


FAMILY = """
title = "Mine"

[[cells]]
name = "download"
duration = "20s"
why = "One download."

[cells.link]
capacity = "20Mbit/s"

[[cells.flows]]
sender = "cubic"
base_rtt = "40ms"
"""


def test_a_family_is_one_by_it(validator) -> None:
    assert validator.is_valid(tomllib.loads(FAMILY))
    assert validator.is_valid(tomllib.loads(pf.Traffic("home").to_toml()))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"Mine"', "3"),
        ("title", "titles"),
        ('name = "download"', ""),
        ('duration = "20s"', ""),
        ("why =", "because ="),
        ('"One download."', "1"),
        ("[cells.link]", "[cells.node]"),
        ("[[cells.flows]]", "[[flows]]"),
        ("[[cells]]", 'duration = "20s"\n[[cells]]'),
        ("[[cells]]", 'link.capacity = "20Mbit/s"\naqm.kind = "pi2"\n[[cells]]'),
        ('sender = "cubic"', 'sender = "cubik"'),
    ],
)
def test_what_it_refuses_of_a_family_is_refused(validator, old, new) -> None:
    text = FAMILY.replace(old, new, 1)
    assert text != FAMILY
    assert not validator.is_valid(tomllib.loads(text))
    with pytest.raises((pf.ScenarioError, pf.QuantityError, pf.DomainError)):
        pf.Traffic.from_toml(text)
