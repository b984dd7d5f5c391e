"""What tests depend on, by their text: against what they open and run, and against small trees."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import deque
from pathlib import Path

import pytest
import unchanged
from programs import printed_by

#: Runs files of tests, and prints for each which files of the repository were read or run.
WATCH = """
import json, sys
from collections import defaultdict
from pathlib import Path

root, *tests = sys.argv[1:]
met, now = defaultdict(set), []

def watch(event, asked):
    # Hypothesis reads the source of all that is loaded, for constants: of code, what runs counts.
    if now and event == "open" and isinstance(asked[0], str) and not asked[0].endswith(".py"):
        met[now[0]].add(asked[0])

def called(frame, event, given):
    if now:
        met[now[0]].add(frame.f_code.co_filename)

import pytest

class Watched:
    def pytest_runtest_logstart(self, nodeid):
        now[:] = [nodeid.partition("::")[0]]
        sys.setprofile(called)

    def pytest_runtest_logfinish(self):
        sys.setprofile(None)
        now.clear()

sys.addaudithook(watch)
pytest.main(["-q", "-m", "not slow", *tests], plugins=[Watched()])
print()
for test, files in met.items():
    inside = [str(Path(x).relative_to(root)) for x in files if x.startswith(root + "/")]
    print("MET", json.dumps([test, inside]))
"""
WATCHED = ("tests/laws/test_red.py", "tests/tc/test_tc_page.py", "tests/network/test_catalogue.py")


@pytest.fixture(scope="module")
def tree():
    return unchanged.Tree()


@pytest.fixture
def small(tmp_path):
    """Return what makes a tree of files with these contents."""

    def make(**contents):
        contents = {"pi2_fluid/__init__.pyi": "", "tests/conftest.py": "", **contents}
        for name, content in contents.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        return unchanged.Tree(tmp_path)

    return make


@pytest.mark.slow
def test_tests_open_and_run_nothing_that_they_do_not_name(tree):
    told = printed_by(WATCH, str(unchanged.ROOT), *WATCHED, cwd=unchanged.ROOT)
    lines = [line.removeprefix("MET ") for line in told.splitlines() if line.startswith("MET ")]
    met = {test: set(files) & tree.files for test, files in map(json.loads, lines)}
    assert set(met) == set(WATCHED)
    for test, files in met.items():
        assert test in files
        assert len(files) > 5
        # The stub of the face is read name by name.
        assert files - {"pi2_fluid/__init__.pyi"} <= tree.beneath(test)


def test_what_lies_beneath_is_what_a_walk_meets(tree):
    for test in ("tests/loop/test_margins.py", "notebooks/04_tune.ipynb", "tests/tc/test_tc.py"):
        left = deque(tree.below(test, *unchanged.BENEATH_ALL))
        met = set(left)
        while left:
            new = tree.needed(left.popleft()) - met
            met |= new
            left.extend(new)
        assert tree.beneath(test) == met
        assert met < tree.files


@pytest.mark.parametrize(
    ("below", "above", "apart"),
    [
        (
            "pi2_fluid/loop/margins.py",
            "tests/loop/test_margins.py",
            "tests/engines/linux/test_reader.py",
        ),
        ("pi2_fluid/apps/cli/shell.py", "tests/apps/test_cli.py", "tests/loop/test_margins.py"),
        ("docs/choosing.md", "tests/deployment/test_choosing.py", "tests/loop/test_margins.py"),
        ("pi2_fluid/papers/pi2/stated.csv", "tests/papers/test_claims.py", "tests/tc/test_tc.py"),
        ("pi2_fluid/design/tuning.py", "notebooks/04_tune.ipynb", "tests/loop/test_margins.py"),
        ("tests/data/tc_show.txt", "tests/loop/test_margins.py", ""),
        ("README.md", "tests/test_style.py", "tests/loop/test_margins.py"),
    ],
)
def test_known_pairs(tree, below, above, apart):
    assert below in tree.files
    assert below in tree.beneath(above)
    assert not apart or below not in tree.beneath(apart)


class TestWhatAFileNames:
    @pytest.mark.parametrize(
        "text",
        [
            "import pi2_fluid.loop.gains",
            "def f():\n    from pi2_fluid.loop import gains",
            "import pi2_fluid as pf\nx = pf.gain_of(3)",
            "import pi2_fluid as pf\nx = pf.loop.gains.y",
            "import pi2_fluid as pf\nx = getattr(pf, 'gain' + '_of')",
            "import importlib\nimportlib.import_module('pi2_fluid.loop.gains')",
            "run('import pi2_fluid as pf; pf.gain_of(3)')",
            "warn('ignore::pi2_fluid.loop.gains.Sorry')",
            "ROOT / 'pi2_fluid/loop/gains.py'",
            "ROOT.glob('pi2_fluid/loop/*.py')",
        ],
    )
    def test_by(self, small, text):
        tree = small(
            **{
                "pi2_fluid/__init__.pyi": "from pi2_fluid.loop.gains import gain_of as gain_of\n",
                "pi2_fluid/__init__.py": "",
                "pi2_fluid/loop/gains.py": "",
                "pi2_fluid/units.py": "",
                "tests/loop/test_gains.py": text,
            }
        )
        assert "pi2_fluid/loop/gains.py" in tree.beneath("tests/loop/test_gains.py")

    def test_and_what_it_does_not(self, small):
        tree = small(
            **{
                "pi2_fluid/__init__.pyi": "from pi2_fluid.loop.gains import gain_of as gain_of\n",
                "pi2_fluid/loop/gains.py": "from ..units import parse",
                "pi2_fluid/loop/table.csv": "",
                "pi2_fluid/loop/roots.py": "",
                "pi2_fluid/units.py": "",
                "tests/loop/test_gains.py": '"""Of pi2_fluid.loop.roots."""\n'
                "import pi2_fluid.loop.gains",
            }
        )
        assert tree.beneath("tests/loop/test_gains.py") == {
            "tests/loop/test_gains.py",
            "tests/conftest.py",
            "pi2_fluid/loop/gains.py",
            "pi2_fluid/loop/table.csv",
            "pi2_fluid/units.py",
        }

    def test_names_made_at_run_time_are_all_of_the_folder(self, small):
        tree = small(
            **{
                "pi2_fluid/laws/registry.py": "from importlib import import_module\n"
                "def law(name): return import_module(f'pi2_fluid.laws.{name}')",
                "pi2_fluid/laws/queues/red.py": "",
                "tests/laws/test_laws.py": "from pi2_fluid.laws import registry",
            }
        )
        assert "pi2_fluid/laws/queues/red.py" in tree.beneath("tests/laws/test_laws.py")

    def test_the_extension_is_all_that_is_compiled(self, small):
        tree = small(
            **{
                "pi2_fluid/_core.pyi": "",
                "pi2_fluid/native/laws.c": "",
                "tests/laws/test_laws.py": "from pi2_fluid import _core",
            }
        )
        assert "pi2_fluid/native/laws.c" in tree.beneath("tests/laws/test_laws.py")


class TestDigests:
    def test_a_change_beneath_changes_them(self, small):
        files = {"pi2_fluid/units.py": "", "tests/a/test_a.py": "import pi2_fluid.units"}
        before = small(**files).digest("tests/a/test_a.py")
        assert small(**files).digest("tests/a/test_a.py") == before
        assert small(**files, **{"docs/new.md": "hello"}).digest("tests/a/test_a.py") == before
        files["pi2_fluid/units.py"] = "# changed"
        assert small(**files).digest("tests/a/test_a.py") != before

    def test_what_asks_all_rooms_depends_on_all(self, small):
        files = {"tests/test_all.py": ""}
        before = small(**files).digest("tests/test_all.py")
        assert small(**files, **{"docs/new.md": ""}).digest("tests/test_all.py") != before

    def test_other_versions_run_all(self, monkeypatch, tmp_path):
        installed = {"numpy": "2.1"}
        kept = {"with": {"numpy": "2.1"}, "digests": {"a": "b"}}
        (tmp_path / "kept.json").write_text(json.dumps(kept), encoding="utf-8")
        monkeypatch.setattr(unchanged, "KEPT", str(tmp_path / "kept.json"))
        monkeypatch.setattr(unchanged, "surroundings", lambda: installed)
        assert unchanged.kept_digests() == {"a": "b"}
        installed["numpy"] = "2.2"
        assert unchanged.kept_digests() == {}

    def test_some_of_the_unchanged_are_drawn(self, monkeypatch, tree):
        digests = {name: tree.digest(name) for name in unchanged.names(tree)}
        monkeypatch.setattr(unchanged, "kept_digests", lambda: digests)
        same = unchanged.unchanged(tree)
        # Of 849 files a tenth, within five standard deviations.
        assert abs(len(same) / len(digests) - 0.9) < 5 * (0.09 / len(digests)) ** 0.5
        changed = "pi2_fluid/units.py"
        monkeypatch.setattr(unchanged, "kept_digests", lambda: digests | {changed: "other"})
        again = unchanged.unchanged(tree)
        assert changed not in again
        assert again != same - {changed}, "others are drawn"


#: A small repository: files of tests that pass and fail, and pages that others follow.
OUTCOMES = {
    "tests/a/test_good.py": "def test_good(): pass",
    "tests/a/test_bad.py": "def test_bad(): assert False\ndef test_good(): pass",
    "tests/a/test_set_up.py": "def test_set_up(missing): pass",
    "tests/a/test_of_files.py": "import pathlib, pytest\n"
    "page = pathlib.Path(__file__).parents[2] / 'README.md'\n"
    "@pytest.mark.parametrize('path', [page])\n"
    "def test_file(path): assert not path",
    "tests/test_pages.py": "import pathlib, pytest\n"
    "pages = sorted(pathlib.Path(__file__).parents[1].rglob('*.md'))\n"
    "@pytest.mark.parametrize('path', pages)\n"
    "def test_page(path): assert path.read_text() == 'right'",
    "docs/howto/right.md": "right",
    "docs/howto/wrong.md": "wrong",
    "README.md": "right",
}


def run_small(root: Path, *options: str) -> str | None:
    """Run the tests in a folder with the plugins of this repository, and return what failed."""
    told = root / "failed"
    places = [unchanged.ROOT / place for place in ("tests", "tests/shared", "tools")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "--failed", str(told)]
    subprocess.run(
        [*command, "--rootdir", str(root), *options, "tests"],
        cwd=root,
        check=False,
        capture_output=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, places))},
    )
    return told.read_text(encoding="utf-8") if told.exists() else None


@pytest.mark.slow
@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "xdist"])
def test_what_passed_is_kept_though_others_failed(small, tmp_path, workers):
    dies = {"tests/a/test_dies.py": "import os\ndef test_dies(): os._exit(1)"} if workers else {}
    tree = small(**OUTCOMES, **dies)
    kept = tmp_path / "kept.json"
    unchanged.store(kept, tree)
    before = json.loads(kept.read_text(encoding="utf-8"))
    failed = run_small(tmp_path, *workers)
    bad = {"tests/a/test_bad.py", "tests/a/test_set_up.py", "tests/a/test_of_files.py", *dies}
    assert set(failed.split()) == bad | {"docs/howto/wrong.md"}
    unchanged.drop(kept, {*failed.split(), "pi2_fluid/native"})
    after = json.loads(kept.read_text(encoding="utf-8"))
    gone = set(failed.split()) | {"pi2_fluid/native"}
    assert gone < set(before["digests"])
    assert after["digests"] == {n: d for n, d in before["digests"].items() if n not in gone}
    assert {"tests/a/test_good.py", "docs/howto/right.md", "README.md"} == set(after["digests"])
    assert after["with"] == before["with"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [["-x"], ["-x", "-n", "1"], ["--maxfail=2"], ["tests/a/none.py"]]
)
def test_of_a_run_that_did_not_end_nothing_is_known(small, tmp_path, options):
    small(**OUTCOMES)
    assert run_small(tmp_path, *options) is None


def test_a_file_that_follows_pages_and_died_takes_all_of_them_with_it(tmp_path):
    names = ["README.md", "docs/howto/a.md", "notebooks/b.ipynb", "tests/a/test_a.py"]
    kept = tmp_path / "kept.json"
    kept.write_text(json.dumps({"with": {}, "digests": dict.fromkeys(names, "0")}), "utf-8")
    unchanged.drop(kept, {"tests/test_pages.py"})
    left = json.loads(kept.read_text(encoding="utf-8"))["digests"]
    assert set(left) == {"notebooks/b.ipynb", "tests/a/test_a.py"}


@pytest.mark.slow
def test_pytest_leaves_out_what_is_unchanged(monkeypatch):
    command = [sys.executable, "-m", "pytest", "-q", "--changed", "--collect-only", "tests/tc"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=unchanged.ROOT, check=False)
    told = {line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line}
    files = {str(Path(path)) for path in unchanged.Tree().files if path.startswith("tests/tc/")}
    assert told == {f for f in files - unchanged.unchanged() if Path(f).name.startswith("test_")}
