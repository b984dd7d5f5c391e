"""Shared fixtures: known answers that ship with the tests."""

from __future__ import annotations

import csv
import gc
import json
import os
import sys
from pathlib import Path

# Small matrices on every core at once: threads of the linear algebra would only wait.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# What JAX compiles is run a few times here: to make it fast takes longer than it saves.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

import numpy as np
import pytest
import unchanged

DATA = Path(__file__).parent / "data"

# What the tests of one of these files need first (figures, designs, compiled lanes) costs more than
# they do: with --dist loadgroup one process runs them all, so that it is made once.
SHARING = {
    "test_agreement",
    "test_batch",
    "test_check",
    "test_choosing",
    "test_claims",
    "test_coexistence",
    "test_design_tc",
    "test_dualpi2_loop",
    "test_figures",
    "test_fluid_contract",
    "test_fluid_figures",
    "test_fluid_gradient",
    "test_gallery_pages",
    "test_maps",
    "test_packet_figures",
    "test_tune",
    "test_verification",
}
#: Files that look at what those of another need, too.
BESIDE = {"test_echo_modes": "test_gallery_pages"}


# What is imported and collected stays: garbage is looked for only in what tests leave behind.
gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


def pytest_unconfigure():
    gc.unfreeze()  # what caches keep of the compiled extension goes before it does


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items):
    for item in items:
        group = BESIDE.get(item.path.stem, item.path.stem)
        if group in SHARING:
            item.add_marker(pytest.mark.xdist_group(group))


def read_table(name):
    """Columns of a CSV in tests/data, numbers as float arrays."""
    lines = [x for x in (DATA / name).read_text().splitlines() if not x.startswith("#")]
    rows = list(csv.DictReader(lines))
    columns = {}
    for key in rows[0]:
        values = [row[key] for row in rows]
        try:
            columns[key] = np.array([float(value) for value in values])
        except ValueError:
            columns[key] = np.array(values)
    return columns


class NoJax:
    """A finder that finds JAX nowhere, for `--without-jax`."""

    def find_spec(self, name, path=None, target=None):
        if name == "jax":
            raise ModuleNotFoundError("No module named 'jax'", name=name)


def pytest_addoption(parser):
    parser.addoption(
        "--without-jax",
        action="store_true",
        help="run as where JAX is not installed, and skip the tests that ask for it",
    )
    parser.addoption(
        "--changed",
        action="store_true",
        help="leave out most files beneath which nothing changed since all tests were run",
    )
    parser.addoption(
        "--failed",
        metavar="FILE",
        help="write there which files of tests, and pages they follow, have not passed",
    )


def pytest_configure(config):
    if config.getoption("--without-jax"):
        sys.meta_path.insert(0, NoJax())
        config.option.doctest_ignore_import_errors = True  # modules that are written with JAX
    if config.getoption("--changed"):
        config.pluginmanager.register(Unchanged(config))
    if config.getoption("--failed"):
        config.pluginmanager.register(Failed(config))


class Unchanged:
    """Leaves out the files of tests, and the pages tests follow, beneath which nothing changed."""

    def __init__(self, config):
        worker = getattr(config, "workerinput", None)
        self.names = set(worker["unchanged"]) if worker else unchanged.unchanged()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node):
        node.workerinput["unchanged"] = sorted(self.names)  # found once, for all of xdist's

    def pytest_report_header(self):
        return f"--changed: nothing changed beneath {len(self.names)} files, which are left out"

    def pytest_ignore_collect(self, collection_path):
        return name_of(collection_path, unchanged.ROOT) in self.names or None

    def pytest_collection_modifyitems(self, config, items):
        same = [item for item in items if page_of(item) in self.names]
        config.hook.pytest_deselected(items=same)
        items[:] = [item for item in items if item not in same]


class Failed:
    """Writes which files have a test that failed, if all tests that were asked for were run."""

    def __init__(self, config):
        self.file = Path(config.getoption("--failed"))
        self.writes = not hasattr(config, "workerinput")
        self.names = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item):
        report = yield
        if report.failed and (page := page_of(item)):
            report.user_properties.append(("page", page))  # xdist hands it on
        return report

    def pytest_runtest_logreport(self, report):
        if report.failed:
            pages = [value for key, value in report.user_properties if key == "page"]
            self.names.update(pages or [report.nodeid.partition("::")[0]])

    def pytest_sessionfinish(self, session, exitstatus):
        ended = exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}
        if self.writes and ended and not (session.shouldstop or session.shouldfail):
            self.file.write_text("\n".join(sorted(self.names)), encoding="utf-8")


def page_of(item):
    """The name of the page or notebook that a test follows, None of other tests."""
    root = item.config.rootpath
    callspec = getattr(item, "callspec", None)
    if callspec is None or name_of(item.path, root) not in unchanged.FOLLOWED.values():
        return None
    return name_of(callspec.params.get("path"), root)


def name_of(path, root):
    """A path from the root on, None of what is none or lies elsewhere."""
    try:
        return str(path.relative_to(root))
    except (AttributeError, ValueError):
        return None


@pytest.fixture(autouse=True)
def no_figure_left():
    """Close what a test has drawn: the next that draws into the current figure begins a new one."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def jax():
    """JAX, for the tests that use it, or anything that does: they are skipped where it is not."""
    return pytest.importorskip("jax")


@pytest.fixture(scope="session")
def table():
    return read_table


@pytest.fixture(scope="session")
def known():
    answers = json.loads((DATA / "known_answers.json").read_text())["answers"]
    return {answer["name"]: answer for answer in answers}


@pytest.fixture
def rng(request):
    """A generator whose seed is the test's own name: reproducible, and different in each test.

    Its file counts, wherever that lies, and not the group that pytest-xdist hangs on to it.
    """
    _, _, name = request.node.nodeid.removesuffix(f"@{request.path.stem}").partition("::")
    return np.random.default_rng(list(f"tests/{request.path.name}::{name}".encode()))
