"""Which release a source is, whether it will do, and its edits."""

from __future__ import annotations

import pytest
from archives import source, write_tree
from refusals import refused

from pi2_fluid.engines.linux.building.sources import EDITS, edit, release_of, require_usable
from pi2_fluid.errors import BuildError, UnsupportedError


@pytest.fixture
def tree(tmp_path):
    return lambda *release, **changes: write_tree(tmp_path, source(*release, **changes))


def test_the_release_is_what_its_makefile_says(tree) -> None:
    assert release_of(tree("6.18.3")) == "6.18.3"
    assert release_of(tree(Makefile="VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 0\n")) == "7.3.0"
    text = "VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 0\nEXTRAVERSION = -rc2\n"
    assert release_of(tree(Makefile=text)) == "7.3.0-rc2"


@pytest.mark.parametrize("makefile", [None, "all:\n\techo VERSION\n"])
def test_what_is_no_kernels_source_is_refused(makefile, tree, tmp_path) -> None:
    with refused(UnsupportedError, str(tmp_path), "linux-source-X.Y"):
        release_of(tree(Makefile=makefile))


@pytest.mark.parametrize("release", ["6.17.0", "6.18.2", "7.0.1", "10.0.0"])
def test_a_source_of_6_17_or_later_will_do(release, tree) -> None:
    require_usable(tree(release))


@pytest.mark.parametrize("release", ["6.16.12", "5.17.3"])
def test_an_older_one_is_refused(release, tree) -> None:
    with refused(UnsupportedError, release, "6.17", "pi2-fluid linux build"):
        require_usable(tree(release))


@pytest.mark.parametrize("kconfig", [None, "config HZ\n\tint\n\tdefault 100\n"])
def test_one_without_virtual_time_is_refused(kconfig, tree) -> None:
    with refused(UnsupportedError, "7.2.13", "time travel", "UML_TIME_TRAVEL_SUPPORT"):
        require_usable(tree(arch_um_Kconfig=kconfig))


def test_edits_change_two_lines(tree) -> None:
    root = tree()
    edit(root)
    kconfig = (root / "arch/um/Kconfig").read_text()
    assert kconfig.startswith("config HZ\n\tint\n\tdefault 1000\n")
    random = (root / "drivers/char/random.c").read_text().splitlines()
    assert random[1:5] == ["{", "\tif (crng_ready())", "\t\treturn;", "\tmix(buf, len);"]


@pytest.mark.parametrize("name", ["arch_um_Kconfig", "drivers_char_random_c"])
@pytest.mark.parametrize("changed", [None, "config HZ\n\tint\n\tdefault 250\n"])
def test_a_source_that_cannot_be_edited_is_refused(name, changed, tree) -> None:
    purpose = next(e.purpose for e in EDITS if e.file.replace("/", "_").replace(".", "_") == name)
    with refused(BuildError, "7.2.13", purpose, "--version"):
        edit(tree(**{name: changed}))
