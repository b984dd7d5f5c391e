"""What a figure says is of what it runs: its words, files, numbers and what the shell prints.

Everything that can be set of every figure is set to another value, all at once, and all text is
searched for the old ones. What holds of the paper's set-up alone has to be gone.
"""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from matplotlib.text import Text
from shell import answered, printed

import pi2_fluid as pf
from pi2_fluid.errors import DomainError, QuantityError, ScenarioError
from pi2_fluid.papers import words
from pi2_fluid.papers.gallery import PaperFigure
from pi2_fluid.papers.recipe import Recipe
from pi2_fluid.papers.registry import FIGURES, recipe_of
from pi2_fluid.papers.settings import SHORT_NAMES, changed_stem, changed_text
from pi2_fluid.papers.stages import first_start, stages_of
from pi2_fluid.plot import page_style
from pi2_fluid.units import parse_quantity

#: Another value of each parameter, which no scenario has.
OTHER = {
    "rtt": "37ms",
    "count": "7",
    "initial_window": "3",
    "capacity": "23Mbit/s",
    "buffer": "310 packets",
    "packet_size": "900B",
    "target": "13ms",
    "alpha": "0.21",
    "beta": "2.3",
    "update_interval": "19ms",
    "z": "0.31",
    "eta": "0.17",
}
#: Where these would ask for what cannot be, or for very much.
INSTEAD = {
    "paganini:5": {"capacity": "230Mbit/s", "count": "23"},
    "paganini:10": {
        "capacity": "230Mbit/s",
        "count": "9",
        "rtt": "137ms",
        "update_interval": "4ms",
    },
}
LONGER = 1.7  # s by which runs are longer
#: Figures whose runs take more than a second.
LONG = {
    "pi2:11",
    "pi2:6",
    "pi2:15",
    "pi2:16",
    "pi2:17",
    "pi2:18",
    "pi2:19",
    "pi2:20",
    "paganini:5",
    "paganini:10",
}


@cache
def can_be_set(name: str) -> dict[str, str]:
    """Return what can be set of a figure, with another value each."""
    recipe, wanted = recipe_of(name), OTHER | INSTEAD.get(name, {})
    scenarios = list(recipe.scenarios().values())
    if scenarios:
        wanted["duration"] = f"{float(scenarios[0].duration) + LONGER:g}s"
    if recipe.changeable is not None or not scenarios:
        return {each: wanted[each] for each in (*recipe.parameters, *(recipe.changeable or ()))}
    given = {}
    for each in SHORT_NAMES:
        try:
            PaperFigure(name, settings={each: wanted[each]})
        except (QuantityError, DomainError, ScenarioError):
            continue  # no queue of the figure has it, or it cannot have another value
        given[each] = wanted[each]
    return given


def has_settings(recipe: Recipe) -> bool:
    some = recipe.scenarios() if recipe.changeable is None else recipe.changeable
    return bool(recipe.parameters or some)


SETTABLE = [name for name in FIGURES if has_settings(recipe_of(name))]


@cache
def changed(name: str) -> PaperFigure:
    return PaperFigure(name, seeds=1, quick=True, settings=can_be_set(name))


def texts_of(figure: Any) -> Iterator[str]:
    for text in figure.findobj(Text):
        if text.get_text():
            yield text.get_text()


# --- what old values look like --------------------------------------------------------------

_TIME = re.compile(r"(?<![\w.,])([\d.]+) (s|ms|µs)\b")
_RATE = re.compile(r"(?<![\w.,])([\d.:]+) (Gbit/s|Mbit/s|kbit/s|Mb/s)")
_SIZE = re.compile(r"(?<![\w.,])([\d.]+) (MB|KB|bytes|B)\b")
_COUNT = re.compile(
    r"(?<![\w.,])(\d[\d:]*)(?= (?:Reno|TCP|NewReno|UDP|Cubic|DCTCP|flows?|senders|and \d+ UDP)\b)"
)
# Over what numbers are means is no setting.
_MEANS = re.compile(r"(?i)\bmeans? over [\d.]+ (?:s|ms)\b")
# What stands before a parameter that has no unit.
_SIGNS = {"alpha": "α = ", "beta": "β = ", "z": "z = ", "eta": "η = "}
_SI = {
    "s": 1.0, "ms": 1e-3, "µs": 1e-6, "Gbit/s": 1e9, "Mbit/s": 1e6, "kbit/s": 1e3, "Mb/s": 1e6,
    "MB": 1e6, "KB": 1e3, "bytes": 1.0, "B": 1.0,
}  # fmt: skip


def quantities(pattern: re.Pattern[str], text: str) -> set[float]:
    """Return the numbers with units in a text (SI), "100:20 Mbit/s" as two."""
    return {
        float(f"{float(number) * _SI[unit]:.9g}")
        for numbers, unit in pattern.findall(text)
        for number in numbers.strip(".:").split(":")
    }


def counts(text: str) -> set[float]:
    return {float(one) for found in _COUNT.findall(text) for one in found.strip(":").split(":")}


def of_scenarios(scenarios: Any, named: dict[str, str]) -> dict[str, set[float]]:
    """Return the values (SI) of what can be read off a text, by kind."""
    values_by_kind: dict[str, set[float]] = {
        "time": set(),
        "rate": set(),
        "size": set(),
        "count": set(),
    }
    for scenario in scenarios:
        reacting = [flow for flow in scenario.flows if flow.sender.signal]
        size, buffer = float(scenario.link.packet_size), float(scenario.link.buffer)
        capacity = float(scenario.link.capacity)
        if "rtt" in named:
            values_by_kind["time"] |= {float(flow.base_rtt) for flow in reacting}
        if "count" in named:
            values_by_kind["count"] |= {float(flow.count) for flow in reacting}
            values_by_kind["count"] |= {stage.number for stage in stages_of(scenario)}
        if "capacity" in named:
            values_by_kind["rate"].add(capacity)
        if "target" in named and hasattr(scenario.aqm, "target"):
            values_by_kind["time"].add(float(scenario.aqm.target))
        if "update_interval" in named and getattr(scenario.aqm, "update_interval", None):
            values_by_kind["time"].add(float(scenario.aqm.update_interval))
        if "duration" in named:
            values_by_kind["time"].add(float(scenario.duration))
        if "packet_size" in named:
            values_by_kind["size"].add(size)
            values_by_kind["time"].add(8.0 * size / capacity)
        if "buffer" in named:
            values_by_kind["size"].add(buffer * size)
            values_by_kind["time"].add(8.0 * buffer * size / capacity)
    return {
        kind: {float(f"{value:.9g}") for value in values} for kind, values in values_by_kind.items()
    }


def stale_words(name: str, texts: list[str]) -> list[str]:
    """Return the texts that have a value as it was before, and which none has now."""
    recipe, given = recipe_of(name), can_be_set(name)
    before = of_scenarios(recipe.scenarios().values(), given)
    now = of_scenarios(changed(name).scenarios.values(), given)
    # Flows that answer no signal keep their number and their rate.
    deaf: list[Any] = [
        flow
        for scenario in changed(name).scenarios.values()
        for flow in scenario.flows
        if not flow.sender.signal
    ]
    kept = {float(flow.count) for flow in deaf}
    sent = {float(flow.sender.bitrate) for flow in deaf}
    for key, text in recipe.parameters.items():
        if key in ("rtt", "update_interval"):
            before["time"].add(parse_quantity(text, "time"))
    signs = [
        rf"(?:{_SIGNS[key]}|[( ](?=[\d., ]+\) × tune)){re.escape(text)}(?![\d.]*\d)"
        for key, text in recipe.parameters.items()
        if key in _SIGNS
    ]
    return [
        text
        for text in texts
        if quantities(_TIME, _MEANS.sub("", text)) & (before["time"] - now["time"])
        or quantities(_RATE, text) & (before["rate"] - now["rate"] - sent)
        or quantities(_SIZE, text) & (before["size"] - now["size"])
        or counts(text) & (before["count"] - now["count"] - kept)
        or any(re.search(sign, text) for sign in signs)
    ]


def test_old_values_are_found_in_what_figures_said() -> None:
    """What stood in pictures before words were made of what is run."""
    for name, text in (
        ("pi2:14", "a) 20 Reno flows, target 5 ms"),
        ("pi2:14", "10 Mbit/s, RTT 0.1 s; median and range."),
        ("pi2:12", "100:20:100 Mbit/s, RTT 100 ms, 7 Reno flows"),
        ("pi2:13", "10:30:50:30:10 Reno flows"),
        ("thesis:4.2", "5 NewReno flows over 23 Mbit/s, 97 ms of buffer"),
        ("thesis:4.2", "160 ms of buffer"),
        ("pie:7", "7 TCP flows, RTT 37 ms, buffer 2 MB"),
        ("pie:10", "packets of 1000 bytes"),
        ("pi2:7", "R = 100 ms, T = 19 ms"),
        ("pi2:7", "reno pie (0.125, 2.3) × tune"),
        ("paganini:1", "α = 1, z = 0.31/s"),
    ):  # fmt: skip
        assert stale_words(name, [text]) == [text]
    for name, text in (
        ("pi2:14", "a) 7 Reno and 2 UDP flows, target 13 ms"),
        ("pi2:7", "reno pi2 (0.525, 5.75), R = 37 ms"),
        ("pi2:12", "100:20:100 Mbit/s, RTT 37 ms"),  # which cannot be set there
    ):
        assert not stale_words(name, [text])


# --- pictures -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in SETTABLE],
)
def test_a_changed_figure_says_what_was_run(name: str) -> None:
    made, recipe = changed(name), recipe_of(name)
    with warnings.catch_warnings(action="ignore", category=pf.AssumptionWarning):
        made.measured  # noqa: B018
    said = changed_text(can_be_set(name))
    for page in recipe.pages:
        with page_style():
            drawn = made.draw(page=page)
        texts = list(texts_of(drawn))
        assert not stale_words(name, texts), page
        # In the corner, whose lines are broken.
        assert any(said in " ".join(text.split()) for text in texts), page
        assert not any("stated" in text or "nan" in text.split() for text in texts), page
    assert not stale_words(name, [made.caption, repr(made)])
    assert (made.decisions, made.causes) == ((), [])
    shown = [
        str(value)
        for table in made.numbers.variables.values()
        for value in table.values.flat
        if isinstance(value, str)
    ]
    assert not stale_words(name, sorted(set(shown)))


def shortest(name: str) -> float:
    """Return how long (s) a run of a figure may be at least, and a second."""
    recipe = recipe_of(name)
    begins = [
        first_start(scenario) + stage.begin
        for scenario in recipe.scenarios().values()
        for stage in stages_of(scenario)
    ]
    stops = [float(f.stop or 0.0) for s in recipe.scenarios().values() for f in s.flows]
    return max(recipe.least_duration, *begins, *stops) + 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in SETTABLE if name not in LONG and not recipe_of(name).parameters]
)
def test_a_short_run_has_numbers_for_all_it_says(name: str) -> None:
    made = PaperFigure(name, seeds=1, settings={"duration": shortest(name)})
    for page in made.recipe.pages:
        with page_style():
            texts = list(texts_of(made.draw(page=page)))
        assert not any(re.search(r"\b(?:nan|inf)\b", text) for text in texts), page


@pytest.mark.parametrize("name", ["pi2:11", "pi2:14", "pie:4", "pie:10", "pie:11"])
def test_a_run_that_ends_before_what_is_shown_is_refused(name: str) -> None:
    least = recipe_of(name).least_duration
    with pytest.raises(DomainError, match=rf"ends before .* more than {least:g} s"):
        PaperFigure(name, settings={"duration": least})
    PaperFigure(name, settings={"duration": least + 1.0})


def test_what_a_short_run_is_looked_at_from_is_said() -> None:
    made = pf.figure("thesis:4.10", seeds=1, settings={"duration": "30s"})
    texts = list(texts_of(made.draw()))
    (note,) = (text for text in texts if "without queue" in text)
    assert "packets from 15 s on" in " ".join(note.split())
    assert any(f"1 seed of {made.recipe.seeds}" in text for text in texts)
    assert pf.figure("thesis:4.10").fewer == ""
    assert pf.figure("thesis:4.10", quick=True).fewer == f"2 seeds of {made.recipe.seeds}"


def test_a_changed_part_of_a_picture_says_so() -> None:
    from matplotlib.figure import Figure

    holder = pf.figure("pi2", 7, settings={"rtt": "37ms"}).draw(Figure().subplots())
    assert "changed: rtt 37 ms" in list(texts_of(holder))
    holder = pf.figure("pi2", 7).draw(Figure().subplots())
    assert not any("changed" in text for text in texts_of(holder))


# --- files and the shell --------------------------------------------------------------------


@pytest.mark.slow
def test_a_second_change_keeps_the_files_of_the_first(tmp_path: Path) -> None:
    kept: set[Path] = set()
    for given in ({}, {"rtt": "37ms"}, {"rtt": "38ms"}, {"rtt": "37ms", "update_interval": "19ms"}):
        files = set(pf.figure("pie:16", settings=given).save(tmp_path))
        assert not files & kept
        kept |= files
    assert tmp_path / "pie_fig16-rtt=37ms-update_interval=19ms.pdf" in kept
    with (tmp_path / "pie_fig16-rtt=37ms.csv").open(encoding="utf-8", newline="") as file:
        assert {row["changed"] for row in csv.DictReader(file)} == {"rtt 37 ms"}
    assert b"changed: rtt 37 ms" in (tmp_path / "pie_fig16-rtt=37ms.png").read_bytes()
    assert "changed: rtt 37 ms" in (tmp_path / "pie_fig16-rtt=37ms.svg").read_text("utf-8")
    assert "changed" not in (tmp_path / "pie_fig16.csv").read_text("utf-8")


def test_names_of_files_are_safe_and_tell_settings_apart() -> None:
    settings: list[dict[str, object]] = [
        {"rtt": "30ms"},
        {"rtt": "30s"},
        {"capacity": "10Mbit/s"},
        {"capacity": "10kbit/s"},
        {"buffer": "10 packets"},
        {"flows.0.name": "a/b"},
        {"flows.0.name": "a_b"},
        {"flows.0.name": "a\\b"},
        {"flows.0.name": "ä"},
        {"flows.0.name": "x" * 300},
        {"flows.0.name": "x" * 301},
        {"rtt": "30ms", "target": "5ms"},
        {"target": "5ms", "rtt": "30ms"},
        {"aqm.burst": "5us"},
    ]
    stems = [changed_stem(given) for given in settings]
    assert len(set(stems)) == len(stems)
    assert all(re.fullmatch(r"[A-Za-z0-9.,+_=-]{1,140}", stem) for stem in stems)
    assert changed_stem({}) == changed_text({}) == ""
    # However it is written, and whether as text or number.
    same: list[dict[str, object]] = [{"rtt": "30ms"}, {"rtt": "0.03s"}, {"rtt": 0.03}]
    assert {changed_stem(given) for given in same} == {"-rtt=30ms"}


@pytest.mark.slow
def test_the_shell_prints_what_was_run(tmp_path: Path, capsys: Any) -> None:
    command = ["figure", "thesis:4.2", "--quick", "--seeds", "1", "--out", str(tmp_path)]
    for name, value in can_be_set("thesis:4.2").items():
        command += ["--set", f"{name}={value}"]
    said = printed(capsys, command)
    assert not stale_words("thesis:4.2", said.splitlines())
    assert "changed: rtt 37 ms" in said
    assert "Not judged" in said
    record = answered(capsys, [*command, "--json"])
    assert record["changed"] == changed_text(can_be_set("thesis:4.2"))
    assert (record["verdicts"], record["causes"], record["decisions"]) == ([], [], [])
    assert not stale_words("thesis:4.2", [record["caption"]])


@pytest.mark.parametrize(
    ("name", "setting", "said"),
    [
        ("pie:1", "alpha", "none of this figure's queues has alpha"),
        ("pie:1", "update_interval", "none of this figure's queues has update_interval"),
        ("pie:6", "rtt", "rtt is of flows that answer signals"),
    ],
)
def test_what_would_change_nothing_is_refused(name: str, setting: str, said: str) -> None:
    with pytest.raises(QuantityError, match=said):
        pf.figure(name, settings={setting: OTHER[setting]})


# --- words ----------------------------------------------------------------------------------


def test_quantities_have_the_unit_in_which_they_are_read() -> None:
    for value, dimension, text in (
        (0.0, "time", "0 s"),
        (5e-6, "time", "5 µs"),
        (0.0999999999999, "time", "100 ms"),
        (1.0, "time", "1 s"),
        (2e9, "rate", "2 Gbit/s"),
        (5.5e6, "rate", "5.5 Mbit/s"),
        (40000.0, "packets", "40000 packets"),
        (0.3125, "number", "0.3125"),
    ):
        assert words.quantity_text(value, dimension) == text
    assert words.listed([0.0, 50.0, 100.0], "time") == "0, 50 and 100 s"
    assert words.listed([0.005], "time") == "5 ms"
