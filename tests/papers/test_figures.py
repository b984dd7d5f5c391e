"""The figures of margins: their files, their numbers against an independent table, their bytes.

Those of trajectories are in test_fluid_figures.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from programs import printed_by

import pi2_fluid as pf
from pi2_fluid.loop.equations import ClosedForm, loop_response
from pi2_fluid.papers import figures as module
from pi2_fluid.papers.figures import figures
from pi2_fluid.papers.pi2 import fig07
from pi2_fluid.papers.pi2.scene import RTT
from pi2_fluid.plot import sample_decades, write_numbers

# Drawing costs more than asking what was drawn.
pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[1] / "data"
STEMS = {
    "pi2_fig04": ["pi2_fig04"],
    "pi2_fig05": ["pi2_fig05"],
    "pi2_fig07": ["pi2_fig07", "pi2_fig07_sampled"],
}
PICTURES = [".png", ".svg", ".pdf"]
TABLES = {
    "pi2_fig04": ["pi2_fig04"],
    "pi2_fig05": ["pi2_fig05"],
    "pi2_fig07": ["pi2_fig07", "pi2_fig07_sampled", "pi2_fig07_limits"],
}
MARGINS = [
    "gain_margin_db",
    "phase_margin_deg",
    "gain_crossover_rad_s",
    "phase_crossover_rad_s",
]
LOOP = ["rtt_s", "update_interval_s"]
GAINS = ["tune", "alpha_hz", "beta_hz"]
FIG07 = ["line", "update", *LOOP, "p_prime", "p", *GAINS, *MARGINS]
HEADERS = {
    "pi2_fig04": ["line", *LOOP, "p", *GAINS, *MARGINS],
    "pi2_fig05": ["line", "p", "tune", "tune_over_sqrt2p"],
    "pi2_fig07": FIG07,
    "pi2_fig07_sampled": FIG07,
}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory) -> tuple[Path, list[Any], list[str]]:
    folder = tmp_path_factory.mktemp("figures") / "made" / "here"
    told: list[str] = []
    return folder, figures(["pi2:4", "pi2:5", "pi2:7"], folder, progress=told.append), told


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def column(rows: list[dict[str, str]], name: str) -> Any:
    return np.array([float(row[name]) for row in rows])


def digests(files: Any) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


# --- the files ------------------------------------------------------------------------------


def test_every_figure_leaves_pictures_and_numbers(drawn) -> None:
    folder, records, told = drawn
    assert [record.name for record in records] == list(STEMS)
    for record in records:
        names = [stem + suffix for stem in STEMS[record.name] for suffix in PICTURES]
        tables = [f"{stem}.csv" for stem in TABLES[record.name]]
        assert [path.name for path in record.files] == names + tables
        assert all(path.parent == folder for path in record.files)
    assert told == ["pi2:4 (1 of 3)", "pi2:5 (2 of 3)", "pi2:7 (3 of 3)"]


@pytest.mark.parametrize("stem", HEADERS)
def test_the_pictures_are_pictures(drawn, stem) -> None:
    folder = drawn[0]
    png = (folder / f"{stem}.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    width, height = int.from_bytes(png[16:20]), int.from_bytes(png[20:24])
    assert width >= 1400
    assert height >= 900
    assert len(png) > 50_000
    assert (folder / f"{stem}.pdf").read_bytes().startswith(b"%PDF")
    drawing = (folder / f"{stem}.svg").read_text(encoding="utf-8")
    assert "</svg>" in drawing
    assert f"PI2 paper, Figure {int(stem[7:9])}" in drawing


@pytest.mark.slow
@pytest.mark.parametrize(("stem", "header"), HEADERS.items())
def test_the_numbers_have_a_header_with_units_and_no_gaps(drawn, stem, header) -> None:
    rows = read(drawn[0] / f"{stem}.csv")
    assert list(rows[0]) == header
    for name in set(header) - {"line", "update"}:
        assert np.isfinite(column(rows, name)).all()


@pytest.mark.parametrize("names", [20, "20", [20], ["20", "pi2:20"]])
def test_names_are_numbers_or_text_and_each_figure_is_drawn_once(
    tmp_path, monkeypatch, names: Any
) -> None:
    class Record(NamedTuple):
        files: list[str]

    monkeypatch.setattr(module, "make_figure", lambda made, _: Record([made.name]))
    assert figures(names, tmp_path) == [("pi2_fig20", (tmp_path / "pi2:20",))]


# --- the numbers ----------------------------------------------------------------------------

TRUTH_COLUMNS = dict(zip(["gm_db", "pm_deg", "w_gc", "w_pc"], MARGINS, strict=True))


def compare_with_truth(rows, truth, line, x, x_truth) -> int:
    """Compare one line at all shared abscissae; return how many there were."""
    ours = [row for row in rows if row["line"] == line]
    at = column(ours, x)
    shared = 0
    for row in (row for row in truth if row["line"] == line):
        found = np.flatnonzero(np.abs(at / float(row[x_truth]) - 1) < 1e-11)
        if found.size == 0:
            continue
        shared += 1
        for theirs, name in TRUTH_COLUMNS.items():
            assert float(ours[found[0]][name]) == pytest.approx(float(row[theirs]), rel=1e-9), (
                line,
                row[x_truth],
                name,
            )
    return shared


@pytest.mark.parametrize("line", ["tune=1", "tune=1/2", "tune=1/8", "auto_rfc8033"])
def test_figure_4_agrees_with_the_independent_table(drawn, line) -> None:
    truth = [row for row in read(DATA / "margins_fig4.csv") if row["grid"] == "p"]
    rows = read(drawn[0] / "pi2_fig04.csv")
    assert compare_with_truth(rows, truth, line, "p", "p") == 61


@pytest.mark.parametrize("line", ["reno pie", "reno pi2", "scal pi"])
def test_figure_7_agrees_with_the_independent_table(drawn, line) -> None:
    truth = [row for row in read(DATA / "margins_fig7.csv") if row["grid"] == "pprime"]
    rows = read(drawn[0] / "pi2_fig07.csv")
    assert compare_with_truth(rows, truth, line, "p_prime", "p_prime") == 31


@pytest.mark.parametrize("line", ["reno pie", "reno pi2", "scal pi"])
@pytest.mark.parametrize("update", ["continuous", "sampled"])
def test_the_sampled_figure_agrees_with_the_independent_table(drawn, line, update) -> None:
    suffix = "cont" if update == "continuous" else "sampled"
    rows = [
        row
        for row in read(drawn[0] / "pi2_fig07_sampled.csv")
        if (row["line"], row["update"]) == (line, update)
    ]
    at = column(rows, "p_prime")
    truth = [row for row in read(DATA / "margins_fig7_variants.csv") if row["line"] == line]
    assert len(truth) == 31
    for row in truth:
        index = int(np.argmin(np.abs(at / float(row["p_prime"]) - 1)))
        assert at[index] == pytest.approx(float(row["p_prime"]), rel=1e-11)
        gm, pm = float(row[f"gm_db_frozen_{suffix}"]), float(row[f"pm_deg_frozen_{suffix}"])
        # The table has ten digits, and its alias sums are cut: 1e-6 of a dB or degree.
        assert float(rows[index]["gain_margin_db"]) == pytest.approx(gm, abs=1e-6)
        assert float(rows[index]["phase_margin_deg"]) == pytest.approx(pm, abs=1e-6)


@pytest.mark.parametrize(
    ("stem", "line"),
    [
        *(("pi2_fig04", line) for line in ("tune=1", "tune=1/2", "tune=1/8", "auto_rfc8033")),
        *(("pi2_fig07", line) for line in ("reno pie", "reno pi2", "scal pi")),
    ],
)
def test_the_crossovers_lie_on_the_papers_equations(drawn, stem, line) -> None:
    """At w_pc L is real and negative, at w_gc of size 1, by (35) to (37), on every row."""
    rows = [row for row in read(drawn[0] / f"{stem}.csv") if row["line"] == line]
    p, rtt = column(rows, "p"), 0.1
    kappa, pole = {
        "reno pi2": (1 / np.sqrt(p), np.sqrt(2 * p) / rtt),
        "scal pi": (1 / p, p / (2 * rtt)),
    }.get(line, (1 / (2 * p), np.sqrt(2 * p) / rtt))
    form = ClosedForm(
        "scalable" if line == "scal pi" else "reno",
        kappa,
        pole,
        column(rows, "alpha_hz"),
        column(rows, "beta_hz"),
        0.032,
        rtt,
    )
    gm, pm, w_gc, w_pc = (column(rows, name) for name in MARGINS)
    at_phase, at_gain = (loop_response(1j * w, form) for w in (w_pc, w_gc))
    assert np.abs(np.angle(-at_phase)) == pytest.approx(0.0, abs=1e-8)
    assert -20 * np.log10(np.abs(at_phase)) == pytest.approx(gm, abs=1e-8)
    assert np.abs(at_gain) == pytest.approx(1.0, abs=1e-9)
    turns = (np.degrees(np.angle(at_gain)) + 180 - pm) / 360
    assert turns == pytest.approx(np.round(turns), abs=1e-9)


def test_the_table_steps_are_drawn_from_both_sides(drawn) -> None:
    rows = [row for row in read(drawn[0] / "pi2_fig04.csv") if row["line"] == "auto_rfc8033"]
    p, gm, tune = (column(rows, name) for name in ("p", "gain_margin_db", "tune"))
    # Gain margin below and on each edge, dB: from the independent analysis of the step extremes.
    extremes = {
        1e-5: (20.29, 8.25),
        1e-4: (18.52, 6.48),
        1e-3: (17.19, 5.15),
        1e-2: (16.75, 4.704),
        1e-1: (17.52, 11.50),
    }
    for edge, (below, on) in extremes.items():
        index = int(np.flatnonzero(p == edge)[0])
        assert p[index - 1] == pytest.approx(edge, rel=2e-8)
        assert gm[index - 1] == pytest.approx(below, abs=0.005)
        assert gm[index] == pytest.approx(on, abs=0.005)
        assert tune[index] / tune[index - 1] == (2 if edge == 1e-1 else 4)


def test_figure_5_shows_the_published_tables(drawn) -> None:
    rows = read(drawn[0] / "pi2_fig05.csv")
    # RFC 8033, section 4.2: "if p < edge then divide by", first match wins.
    steps = [(1e-6, 2048), (1e-5, 512), (1e-4, 128), (1e-3, 32), (1e-2, 8), (1e-1, 2)]
    known = {"rfc8033": steps, "ietf_early": steps[3:], "hpsr13": steps[4:]}
    for row in rows:
        p, tune = float(row["p"]), float(row["tune"])
        if row["line"] == "sqrt2p":
            assert tune == pytest.approx((2 * p) ** 0.5, rel=1e-11)
        else:
            divisor = next((d for edge, d in known[row["line"]] if p < edge), 1)
            assert tune * divisor == pytest.approx(1.0, rel=1e-11)
    ratio = column([row for row in rows if row["line"] == "rfc8033"], "tune_over_sqrt2p")
    assert (ratio.min(), ratio.max()) == pytest.approx((0.437, 3.536), abs=5e-4)


def test_sampling_hits_the_decades_exactly_and_every_edge_twice() -> None:
    points = sample_decades(-6, 0, 7, edges=[3e-4, 1e-2, 1e-6, 2.0])
    assert {10.0**k for k in range(-6, 1)} - set(points) == set()
    for edge in (3e-4, 1e-2):
        left, right = points[np.searchsorted(points, edge) - 1 :][:2]
        assert (left / edge, right) == (pytest.approx(1 - 1e-8, abs=1e-12), edge)
    assert points[0] == 1e-6
    assert points[-1] == 1.0
    assert np.all(np.diff(points) > 0)


def test_numbers_broadcast_within_a_curve(tmp_path) -> None:
    path = write_numbers(
        tmp_path / "x.csv", [{"line": "a", "x_s": np.array([1 / 3, 2.0]), "k": 7.0}]
    )
    assert path.read_bytes() == b"line,x_s,k\na,0.333333333333,7\na,2,7\n"


# --- what the paper states ------------------------------------------------------------------


def test_pie_s_table_is_a_root_but_for_its_steps() -> None:
    """Every step begins at 2**(1/2), 5/3 ... times the root: by hand, from the table's divisors."""
    found = pf.figure("pi2", 5).measured.found
    # Within a step the ratio falls by 10**(1/2), so that its mean is the first over 10**(1/4).
    first = [10**6 / 512**2, 10**5 / 128**2, 10**4 / 32**2, 1000 / 8**2, 100 / 2**2, 10.0]
    expected = (np.prod(first) / 2**6) ** (1 / 12) / 10**0.25
    assert found["mean"] == pytest.approx(expected, rel=1e-3)
    assert found["exponent"] == pytest.approx(0.5435, abs=1e-3)


def test_what_is_found_of_figure_7() -> None:
    found = pf.figure("pi2", 7).measured.found
    loop = pf.Loop(
        pf.Reno(), pf.presets.pi2_paper(), rtt="100ms", p_prime=found["p_of_10_db"] / 100
    )
    assert loop.margins().gain_margin_db == pytest.approx(10.0, abs=1e-3)
    # 2.5 sqrt(2) over the mean of tune / sqrt(2p)
    assert found["gain"] * pf.figure("pi2", 5).measured.found["mean"] == pytest.approx(12.5**0.5)
    assert found["gain_db"] == pytest.approx(20 * np.log10(found["gain"]))


@pytest.mark.parametrize("number", [4, 7])
def test_loops_are_drawn_with_what_is_set(number) -> None:
    made = pf.figure(
        "pi2", number, settings={"rtt": "50ms", "update_interval": "16ms", "alpha": "0.25"}
    )
    row = made.measured.tables[""][-1]
    factor = 1.0 if number == 4 else 5.0
    sender = pf.Reno() if number == 4 else pf.Scalable()
    for at in (0, 100):  # beyond, Reno's window is too small for the model
        p, tune, found = (
            float(np.broadcast_to(row[name], row["p"].shape)[at])
            for name in ("p", "tune", "gain_margin_db")
        )
        gains = {"alpha": 0.25 * factor * tune, "beta": 1.25 * factor * tune}
        law = pf.Pi(**gains, update_interval="16ms")
        assert found == pytest.approx(
            pf.Loop(sender, law, rtt="50ms", p=p).margins().gain_margin_db
        )
    assert made.truth == ()


@pytest.mark.parametrize(
    ("name", "value", "error", "said"),
    [
        ("rtt", "50", pf.QuantityError, "rtt = '50' has no unit: give a time"),
        ("update_interval", "-1ms", pf.DomainError, "update_interval = .* is outside"),
        ("alpha", "2s", pf.QuantityError, "alpha = '2s' has the unit 's'"),
    ],
)
def test_settings_that_cannot_be_are_refused_in_a_sentence(name, value, error, said) -> None:
    with pytest.raises(error, match=said):
        _ = pf.figure("pi2", 7, settings={name: value}).measured


# --- what the pictures say ------------------------------------------------------------------


def texts_of(figure: Any) -> str:
    from matplotlib.text import Text

    texts = (text.get_text() for text in figure.findobj(Text))
    return "\n".join(" ".join(text.split()) for text in texts)  # however they are folded


def sampled_page(made: pf.PaperFigure) -> str:
    return texts_of(made.draw(page="sampled"))


def test_the_numbers_in_the_sampled_figure_are_those_of_low_load(monkeypatch) -> None:
    before, after = (
        pf.loop.low_load(pf.Reno(), pf.presets.pi2_paper(), "100ms", update).gain_margin_db
        for update in ("continuous", "sampled")
    )
    made = pf.figure("pi2", 7)
    said = sampled_page(made)
    assert f"{before:.1f} dB on paper, {after:.1f} dB sampled, by rates" in said
    assert "sent by acknowledgements: 1.4 dB (reno pi2)." in said
    assert f"reno pi2: {before:.1f} → {after:.1f} dB" in said

    assert "the smallest" in said
    curves = made.measured.tables["sampled"]
    for name, (sender, aqm) in list(fig07.lines().items())[1:]:
        for row in (row for row in curves if row["line"] == name):
            limit = pf.loop.low_load(sender, aqm, RTT, row["update"]).gain_margin_db
            assert limit < row["gain_margin_db"].min() < limit + 0.1

    # And they are computed, not typed: another limit gives another text.
    other = type("Limit", (), {"gain_margin_db": 9.87})()
    monkeypatch.setattr(pf.loop, "low_load", lambda *_: other)
    said = sampled_page(pf.figure("pi2", 7))
    assert "9.9 dB on paper" in said
    assert "2.0 dB" not in said


# --- the bytes ------------------------------------------------------------------------------

ELSEWHERE = """
import json, sys
from pathlib import Path
import matplotlib
assert matplotlib.rcParams["font.size"] == 17
from pi2_fluid.papers.figures import figures
figures(["pi2:4", "pi2:5"], sys.argv[1])
assert matplotlib.rcParams["font.size"] == 17
print(json.dumps("matplotlib.pyplot" in sys.modules))
"""


def test_another_process_with_other_settings_writes_the_same_bytes(drawn, tmp_path) -> None:
    (tmp_path / "matplotlibrc").write_text("font.size: 17\nsvg.hashsalt: other\nbackend: svg\n")
    environment = os.environ | {
        "MATPLOTLIBRC": str(tmp_path),
        "PYTHONHASHSEED": "1234",
        "SOURCE_DATE_EPOCH": "86400",
    }
    loaded = printed_by(ELSEWHERE, str(tmp_path), env=environment)
    assert json.loads(loaded) is False, "drawing loaded pyplot and its global state"
    files = [path for record in drawn[1][:2] for path in record.files]
    assert digests(tmp_path / path.name for path in files) == digests(files)


def test_drawing_again_writes_the_same_bytes(drawn, tmp_path) -> None:
    files = [
        path for record in figures(["pi2:4", "pi2:5", "pi2:7"], tmp_path) for path in record.files
    ]
    assert digests(files) == digests(path for record in drawn[1] for path in record.files)
