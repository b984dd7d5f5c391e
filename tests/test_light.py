"""A light load: what judges and sets a queue imports, and what the rest says that is missing."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
import try_wheel
from programs import printed_by

from pi2_fluid.missing import MissingFinder, require

ROOT = Path(__file__).parents[1]
PIE = "qdisc pie 1: dev eth0 root refcnt 2 limit 1000p target 15ms tupdate 16ms alpha 2 beta 20"
#: By what is asked, one after the other in one process: what of others is loaded by then.
LOADED = {
    ("--help",): ["typer"],
    ("margins", "--rtt", "100ms", "--p-prime", "0.1"): ["numpy", "typer"],
    ("check", PIE): ["numpy", "typer"],
    ("tune", "--max-rtt", "100ms"): ["numpy", "typer"],
    ("tune", "--traffic", "SCENE", "--seconds", "1ms"): ["numpy", "scipy", "typer"],
}
#: What rich prints prettily, and f2py of NumPy reads Fortran with, where they are there.
LOOKED_FOR = {"attrs", "charset-normalizer"}
#: What each of these lacks there.
LACKING = {
    ("simulate", "SCENE", "--engine", "packet"): "xarray",
    ("simulate", "SCENE", "--output", "x.nc"): "h5netcdf",
    ("compare", "SCENE"): "xarray",
    ("tune", "--traffic", "SCENE", "--plot", "x.png"): "matplotlib",
    ("tune", "--max-rtt", "100ms", "--verify", "packet"): "xarray",
    ("figure", "pi2:4"): "matplotlib",
}
ASK = """
import io, json, sys
begun = set(sys.modules)
from pi2_fluid.apps.cli import run
told = []
for words in json.loads(sys.argv[1]):
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    code = run(words)
    loaded = sorted({name.partition(".")[0] for name in set(sys.modules) - begun})
    told.append([code, sys.stderr.getvalue(), loaded])
print(json.dumps(told), file=sys.__stdout__)
"""
#: As where nothing else is installed.
HIDE = """
import sys
from importlib.machinery import PathFinder
class Light:
    find_distributions = PathFinder.find_distributions
    def find_spec(name, path=None, target=None):
        there = name.partition(".")[0] not in HIDDEN
        return PathFinder.find_spec(name, path, target) if there else None
sys.meta_path = [Light if finder is PathFinder else finder for finder in sys.meta_path]
"""


def ask(commands, scene, before=""):
    """Return of each command, run one after the other, its code, its errors and what is loaded."""
    filled = [[str(scene) if word == "SCENE" else word for word in words] for words in commands]
    return json.loads(printed_by(before + ASK, json.dumps(filled), cwd=scene.parent))


def names_of(requirements):
    """Return whose they are, as packages are called where they are compared."""
    return [re.match(r"[\w-]+", x)[0].lower().replace("_", "-") for x in requirements]


def brought_by(name):
    """Return a package and all that it asks for on this machine or another."""
    found, new = set(), {name}
    while new:
        one = new.pop()
        found.add(one)
        try:
            asked = requires(one) or []
        except PackageNotFoundError:  # for another machine
            continue
        new |= set(names_of(x for x in asked if "extra ==" not in x)) - found
    return found


@pytest.fixture(scope="module")
def owners():
    """Whose each module is, of those that are installed: typer's are all that it brings."""
    shell = brought_by("typer")
    return {
        top: "typer" if name in shell else name
        for top, names in packages_distributions().items()
        for name in names_of(names)
        if name != "pi2-fluid"
    }


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "scene.toml"
    path.write_text(try_wheel.FEW)
    return path


@pytest.mark.slow
def test_what_is_imported_to_judge_and_set_a_queue(scene, owners):
    for (words, expected), (code, errors, loaded) in zip(
        LOADED.items(), ask(LOADED, scene), strict=True
    ):
        assert code in (0, 1), errors
        used = {owners[name] for name in loaded if name in owners}
        assert sorted(used - LOOKED_FOR) == expected, words


@pytest.mark.slow
def test_where_that_alone_is_installed_the_rest_says_what_to_install(scene, owners):
    """That all else runs there, tools/try_wheel.py tries in a fresh environment."""
    hidden = {top for top, owner in owners.items() if owner not in {"numpy", "scipy", "typer"}}
    found = ask(LACKING, scene, f"HIDDEN = {hidden}\n{HIDE}")
    for (words, name), (code, errors, _) in zip(LACKING.items(), found, strict=True):
        assert code == 4, words
        assert errors.endswith(f"error: the package {name} is missing: pip install {name}.\n")
        assert "simulat" not in errors, "it did not run before"


def test_the_page_lists_what_is_used_by_the_versions_that_are_asked_for():
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = try_wheel.light()
    assert set(listed) <= set(asked["dependencies"])
    assert names_of(listed) == sorted({name for used in LOADED.values() for name in used})


# --- the sentence -------------------------------------------------------------------------------


def test_an_import_by_this_package_says_what_to_install():
    with pytest.raises(ModuleNotFoundError, match=r"^the package no_such is missing: pip install"):
        exec("import no_such", {"__name__": "pi2_fluid.results.dataset"})


@pytest.mark.parametrize(
    ("name", "who"),
    [
        ("no_such", "elsewhere"),
        ("pi2_fluid.no_such", "pi2_fluid.results.dataset"),
        ("numpy.no_such", "pi2_fluid.results.dataset"),
    ],
)
def test_all_else_is_answered_as_by_python(name, who):
    with pytest.raises(ModuleNotFoundError, match=f"No module named '{name}'"):
        exec(f"import {name}", {"__name__": who})
    assert MissingFinder().find_spec(name) is None


def test_to_look_for_a_package_is_no_import():
    assert importlib.util.find_spec("no_such") is None


def test_what_is_there_is_not_missed():
    require("numpy")
    with pytest.raises(ModuleNotFoundError, match="the package no_such is missing") as caught:
        require("no_such")
    assert caught.value.name == "no_such"


@pytest.mark.slow
def test_to_look_for_jax_where_it_is_not_is_no_import():
    """Which a finder of this package does, too."""
    printed_by(
        f"HIDDEN = {{'jax'}}\n{HIDE}\nimport importlib.util, pi2_fluid as pf\npf.Reno()\n"
        "assert importlib.util.find_spec('jax') is None"
    )
