"""The gallery: names, statements and their tolerances, own settings, records, pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pi2_fluid as pf
from pi2_fluid.papers import gallery as paper_figures
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, shipped
from pi2_fluid.papers.record import (
    _sources_of,
    make_figure,
    read_record,
    recorded,
    recorded_verdicts,
)
from pi2_fluid.papers.registry import FIGURES, TITLES, file_name, find_figures, recipe_of
from pi2_fluid.papers.settings import SHORT_NAMES, with_settings
from pi2_fluid.papers.stated import Stated, stated
from pi2_fluid.papers.verdicts import judge

PAPERS = Path(recipe_of.__code__.co_filename).parent


def a_row(wording: str, value: str = "20", unit: str = "ms") -> Stated:
    return Stated(
        figure="x:1",
        key="y",
        quantity="z",
        value=value,
        unit=unit,
        wording=wording,  # type: ignore[arg-type]
    )


# --- verdicts -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wording", "value", "unit", "good", "bad"),
    [
        ("number", "20", "ms", [17.0, 23.0], [16.9, 23.1]),
        ("about", "20", "ms", [14.0, 26.0], [13.9, 26.1]),
        ("share", "0.7", "", [0.6, 0.8], [0.59, 0.81]),
        ("share", "70", "%", [60.0, 80.0], [59.0, 81.0]),
        ("exact", "2", "", [2.0, 2.4], [2.6, 1.4]),
        ("exact", "1.1", "s", [1.06, 1.14], [1.04, 1.16]),
        ("below", "120", "ms", [119.9], [120.0, 130.0]),
        ("above", "0.9", "", [0.91], [0.9, 0.1]),
        ("less", "", "", [0.99], [1.0, 1.1]),
        ("more", "", "", [1.01], [1.0, 0.9]),
        ("alike", "", "", [0.81, 1.24], [0.79, 1.26]),
        ("holds", "yes", "", [1.0], [0.0]),
    ],
)
def test_how_far_off_is_fixed_by_the_wording(
    wording: str, value: str, unit: str, good: list[float], bad: list[float]
) -> None:
    row = a_row(wording, value, unit)
    assert [judge(row, x).verdict for x in good] == ["reproduced"] * len(good)
    assert [judge(row, x).verdict for x in bad] == ["not_reproduced"] * len(bad)


@pytest.mark.parametrize("wording", ["number", "share", "exact", "below", "above", "less", "holds"])
def test_nan_is_never_what_was_stated(wording: str) -> None:
    assert judge(a_row(wording), np.nan).verdict == "not_reproduced"
    assert judge(a_row(wording), [1.0, np.nan, 1.0]).verdict == "not_reproduced"


def test_a_relation_needs_five_of_six_runs_and_the_median() -> None:
    row = a_row("less")
    assert judge(row, [0.5, 0.5, 0.5, 0.5, 0.5, 2.0]).verdict == "reproduced"
    assert judge(row, [0.5, 0.5, 0.5, 0.5, 2.0, 2.0]).verdict == "not_reproduced"
    # A number needs the median alone.
    assert judge(a_row("number"), [20.0, 20.0, 20.0, 90.0, 90.0]).verdict == "reproduced"


def test_what_rests_on_a_decision_says_if_and_only_where_it_holds() -> None:
    held, failed = (judge(a_row("number"), x, "why", "we chose") for x in (20.0, 40.0))
    assert (held.verdict, held.condition) == ("depends", "we chose")
    assert (failed.verdict, failed.condition) == ("not_reproduced", "")


def test_a_note_is_not_judged() -> None:
    assert judge(a_row("note"), 3.0).verdict is None


@given(st.floats(0.01, 1e6), st.floats(0.5, 1.5))
def test_a_number_is_judged_alike_in_every_unit(value: float, ratio: float) -> None:
    """Milliseconds or seconds: what is 15 % off is so in both."""
    if abs(abs(ratio - 1.0) - 0.15) < 1e-6:
        return
    verdicts = {
        judge(a_row("number", repr(value * scale)), value * scale * ratio).verdict
        for scale in (1.0, 1e3)
    }
    assert verdicts == {"reproduced" if abs(ratio - 1.0) < 0.15 else "not_reproduced"}


# --- names ----------------------------------------------------------------------------------


def test_figures_are_known_by_the_names_of_their_files() -> None:
    for name in FIGURES:
        assert find_figures(name) == find_figures([file_name(name)]) == [name]
    assert len(set(map(file_name, FIGURES))) == len(FIGURES)
    assert find_figures("all") == list(FIGURES)
    for paper in TITLES:
        assert find_figures(paper) == [name for name in FIGURES if name.startswith(f"{paper}:")]


@pytest.mark.parametrize("names", [99, "99", "", [], [17, "x"], True, [4.55], [None], "pi2:"])
def test_an_unknown_figure_is_refused_before_anything_is_drawn(tmp_path: Path, names: Any) -> None:
    out = tmp_path / "out"
    with pytest.raises(pf.QuantityError, match=r"no figure"):
        pf.figures(names, out)
    assert not out.exists()


def test_a_number_that_several_papers_have_is_refused() -> None:
    """Also where one of them has several figures on one page, as PI2's first three."""
    for number, papers in ((15, "pi2:15 or pie:15"), (1, "pie:1 or paganini:1 or pi2:1")):
        with pytest.raises(pf.QuantityError, match=rf"figure '?{number}'?: give {papers}"):
            find_figures(number)
    assert find_figures([17, "4.2", "diagrams"]) == ["pi2:17", "thesis:4.2", "pi2:diagrams"]


def test_every_recipe_in_the_folder_is_registered() -> None:
    found = {
        f"{path.parent.name}.{path.stem}"
        for path in PAPERS.rglob("*.py")
        if "\nRECIPE: Final" in path.read_text(encoding="utf-8")
    }
    assert found == set(FIGURES.values())


# --- recipes --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FIGURES)
def test_a_recipe_speaks_of_what_is_stated(name: str) -> None:
    recipe = recipe_of(name)
    keys = {row.key for row in stated(name)}
    assert len(keys) == len(stated(name)), "a key stands twice"
    assert set(recipe.why) - {""} <= keys
    assert set(recipe.conditions) <= keys
    assert recipe.caption
    assert not recipe.caption.endswith(".")
    assert all(text.endswith(".") for text in [*recipe.decisions, *recipe.why.values()])
    assert ("" in recipe.pages) == (recipe.kind != "numbers")
    relations = any(row.wording in ("less", "more", "alike") for row in stated(name))
    assert recipe.seeds >= (6 if relations and "packets" in recipe.kind else 1)


def test_every_statement_has_its_figure() -> None:
    figures = {
        line.partition(",")[0]
        for path in PAPERS.rglob("stated.csv")
        for line in path.read_text(encoding="utf-8").splitlines()[1:]
    }
    assert figures <= set(FIGURES)


# --- settings -------------------------------------------------------------------------------


def test_a_setting_reaches_every_class_that_reacts_and_no_other() -> None:
    scenario = with_settings(pf.named_scenario("pi2_fig11c_pi2"), {"rtt": "50ms", "count": "7"})
    assert [flow.base_rtt for flow in scenario.flows if flow.sender.signal] == [0.05]
    assert [flow.count for flow in scenario.flows] == [7.0, 2.0]


@pytest.mark.parametrize(
    ("short", "value", "place"),
    [
        ("capacity", "20Mbit/s", lambda s: s.link.capacity == 20e6),
        ("buffer", "100 packets", lambda s: s.link.buffer == 100.0),
        ("packet_size", "1000B", lambda s: s.link.packet_size == 1000.0),
        ("target", "5ms", lambda s: s.aqm.target == 0.005),
        ("alpha", "0.2", lambda s: s.aqm.alpha == 0.2),
        ("update_interval", "16ms", lambda s: s.aqm.update_interval == 0.016),
        ("duration", "30s", lambda s: s.duration == 30.0),
        ("initial_window", "4", lambda s: s.flows[0].initial_window == 4.0),
        ("aqm.beta", "2", lambda s: s.aqm.beta == 2.0),
    ],
)
def test_settings_are_named_short_or_as_in_files(short: str, value: str, place: Any) -> None:
    assert place(with_settings(pf.named_scenario("pi2_fig11a_pi2"), {short: value}))


def test_every_short_name_is_tried_above() -> None:
    assert set(SHORT_NAMES) == {
        "rtt", "count", "initial_window", "capacity", "buffer", "packet_size", "target", "alpha",
        "beta", "update_interval", "duration",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"rtt": "50"}, pf.QuantityError, "50"),
        ({"rtt": "-1s"}, pf.DomainError, "-1"),
        ({"capacity": "20Mbit/s"}, pf.ScenarioError, "changes"),
        ({"aqm.gamma": "2"}, pf.ScenarioError, "gamma"),
    ],
)
def test_a_bad_setting_gets_one_sentence(given: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        with_settings(pf.named_scenario("pi2_fig12_pi2"), given)


# --- one figure -----------------------------------------------------------------------------


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> list[Case]:
    """Put a figure of two runs in the place of a real one, and return what it is asked for."""
    cases: list[Case] = []

    def measure(case: Case) -> Measured:
        cases.append(case)
        runs = np.arange(case.seeds) + 85.0
        return Measured(
            {"": [{"line": "a", "rtt_s": np.array([0.1, 0.2])}], "peaks": [{"delay_ms": 3.0}]},
            {"margin_100ms": 29.5, "margin_50ms": runs},
        )

    def draw(figure: Any, measured: Measured, _: Case) -> Caption:
        figure.subplots().plot(measured.tables[""][0]["rtt_s"])
        return Caption("What the eye should learn", "small print")

    recipe = Recipe(
        caption="A line",
        kind="packets",
        measure=measure,
        pages={"": Page(draw), "more": Page(draw)},
        scenarios=shipped("pi2_fig11a_pi2"),
    )
    monkeypatch.setattr("pi2_fluid.papers.gallery.recipe_of", lambda _: recipe)
    return cases


def test_nothing_is_computed_before_it_is_asked_for_and_nothing_twice(tiny: list[Case]) -> None:
    made = pf.figure("pie", 14)
    assert [row.key for row in made.truth] == ["margin_100ms", "margin_50ms"]
    assert list(made.scenarios) == ["pi2_fig11a_pi2"]
    assert tiny == []
    assert made.verdicts["margin_100ms"].verdict == "reproduced"
    assert made.verdict == "1 reproduced, 1 not reproduced"
    data = made.numbers
    assert (data.rtt_s.attrs["units"], data.peaks_delay_ms.attrs["units"]) == ("s", "ms")
    assert data.line.to_numpy().tolist() == ["a", "a"]
    assert len(tiny) == 1


def test_seeds_are_the_figures_own_two_in_a_hurry_or_as_given(tiny: list[Case]) -> None:
    for asked, seeds in (({}, 6), ({"quick": True}, 2), ({"quick": True, "seeds": 3}, 3)):
        made = pf.figure("pie:14", **asked)  # type: ignore[arg-type]
        assert made.seeds == seeds
        assert made.measured.found["margin_50ms"].shape == (seeds,)  # type: ignore[union-attr]
    for bad in (0, -1, 2.0, True, "3"):
        with pytest.raises(pf.QuantityError, match="runs"):
            pf.figure("pie:14", seeds=bad)  # type: ignore[arg-type]


def test_what_was_changed_is_not_judged(tiny: list[Case]) -> None:
    made = pf.figure("pie", 14, settings={"rtt": "50ms"})
    assert (made.truth, made.verdicts, made.verdict) == ((), {}, "changed: not judged")
    assert made.scenarios["pi2_fig11a_pi2"].flows[0].base_rtt == 0.05
    with pytest.raises(pf.QuantityError, match=r"no setting 'rt'.*rtt"):
        pf.figure("pie", 14, settings={"rt": "50ms"})


def test_a_page_takes_the_place_of_axes(tiny: list[Case]) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2)
    made = pf.figure("pie", 14)
    holder = made.draw(axes[0])
    assert axes[0] not in figure.axes
    assert holder in figure.subfigs
    assert made.draw(page="more").axes
    with pytest.raises(pf.QuantityError, match=r"no page 'x'.*'more'"):
        made.draw(page="x")
    with pytest.raises(pf.QuantityError, match=r"plt\.subplots"):
        made.draw(figure.add_axes((0, 0, 1, 1)))
    plt.close(figure)


@pytest.mark.parametrize(
    ("figure", "table"), [("ours:designed_gains", "designed_gains.csv"), ("thesis:4.2", "ns3.csv")]
)
def test_a_figure_is_told_by_the_tables_that_it_reads(figure: str, table: str) -> None:
    assert table in {path.name for path in _sources_of(FIGURES[figure])}


@pytest.mark.slow
def test_files_are_made_again_only_if_something_changed(
    tiny: list[Case], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = make_figure(pf.figure("pie", 14), tmp_path)
    names = {f"pie_fig14{page}{end}" for page in ("", "_more") for end in (".png", ".svg", ".pdf")}
    assert set(record.files) == names | {"pie_fig14.csv", "pie_fig14_peaks.csv"}
    assert record.found["margin_50ms"] == [85.0, 86.0, 87.0, 88.0, 89.0, 90.0]
    assert len(tiny) == 1
    assert make_figure(pf.figure("pie", 14), tmp_path) == record
    assert len(tiny) == 1
    monkeypatch.setattr(paper_figures, "_SUFFIXES", (".svg",))  # one is enough to be lost
    others: list[Any] = [{"seeds": 2}, *({"settings": {"rtt": rtt}} for rtt in ("5ms", "6ms"))]
    keys = {make_figure(pf.figure("pie", 14, **other), tmp_path).key for other in others}
    assert len(keys | {record.key}) == 4
    # What was broken off, or lost a file, is made again.
    make_figure(pf.figure("pie", 14), tmp_path)
    (tmp_path / "pie_fig14.svg").unlink()
    count = len(tiny)
    make_figure(pf.figure("pie", 14), tmp_path)
    assert len(tiny) == count + 1
    (tmp_path / "pie_fig14.json").write_text("{", encoding="utf-8")
    assert read_record(tmp_path / "pie_fig14.json") is None


# --- what is recorded -----------------------------------------------------------------------


@pytest.mark.parametrize("name", FIGURES)
def test_every_statement_is_recorded(name: str) -> None:
    record = recorded(name)
    assert record is not None
    recipe = recipe_of(name)
    assert record.seeds == recipe.seeds
    assert list(record.found) == [row.key for row in stated(name)]
    for values in record.found.values():
        assert recipe.kind == "numbers" or len(values) in (1, recipe.seeds)
    assert list(recorded_verdicts(name)) == list(record.found)


def test_what_is_recorded_is_strict_json() -> None:
    text = (PAPERS / "recorded.json").read_text(encoding="utf-8")

    def refuse(name: str) -> None:
        raise AssertionError(name)

    json.loads(text, parse_constant=refuse)
