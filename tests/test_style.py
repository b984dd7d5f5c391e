"""The style sheet `pi2_fluid.plot.page`: readers and the package's own figures have one look."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib import style

import pi2_fluid.plot
from pi2_fluid.plot import COLORS, STYLE, page_style

ROOT = Path(__file__).parents[1]
SHEET = mpl.rc_params_from_file(
    files("pi2_fluid.plot") / "page.mplstyle", use_default_template=False
)


def test_the_sheet_says_what_pictures_must_have():
    assert SHEET["svg.hashsalt"] == "pi2_fluid"  # the same bytes from the same numbers
    assert SHEET["pdf.fonttype"] == 42  # letters that publishers can search
    assert SHEET["axes.prop_cycle"].by_key()["color"] == list(COLORS)
    assert len(SHEET) > 15


def test_readers_and_figures_have_one_look():
    with mpl.rc_context({"font.size": 17.0, "axes.grid": True}):
        with page_style():
            ours = dict(mpl.rcParams)
        assert mpl.rcParams["font.size"] == 17.0  # the reader's own come back
    with style.context(STYLE, after_reset=True):
        theirs = dict(mpl.rcParams)
    differing = {key for key in ours if ours[key] != theirs[key]}
    assert differing <= {"backend"}
    assert {key: ours[key] for key in SHEET} == dict(SHEET)


def test_matplotlib_finds_it_by_the_name_in_the_documentation():
    page = (ROOT / "docs/reference/results.md").read_text(encoding="utf-8")
    assert f'plt.style.use("{STYLE}")' in page
    assert Path(pi2_fluid.plot.__file__).with_name(f"{STYLE.rpartition('.')[2]}.mplstyle").is_file()


@pytest.mark.parametrize("name", ["wheel.exclude", "sdist.exclude"])
def test_nothing_keeps_it_out_of_what_is_installed(name):
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]
    kind, key = name.split(".")
    for pattern in options.get(kind, {}).get(key, []):
        assert not Path("pi2_fluid/plot/page.mplstyle").match(pattern)
