"""Which kernels there are, and which is taken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from refusals import refused

from pi2_fluid.engines.linux.building.configuration import FRAGMENT
from pi2_fluid.engines.linux.caching import cache_folder
from pi2_fluid.engines.linux.kernels import find_kernel, kernels_folder, list_kernels
from pi2_fluid.engines.linux.linux import Linux
from pi2_fluid.errors import QuantityError, UnsupportedError


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("PI2_FLUID_KERNEL", raising=False)


def put(folder: Path, release: str, built: str = "2026-01-01T00:00:00+00:00") -> Path:
    folder.mkdir(parents=True)
    (folder / "uml").write_bytes(b"image")
    (folder / "config").write_text(FRAGMENT.read_text())
    manifest = {
        "release": release,
        "configuration": "00",
        "source": {"name": "x.deb", "sha256": "11"},
        "built": built,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


@pytest.fixture
def three() -> None:
    put(kernels_folder() / "a", "6.18.30")
    put(kernels_folder() / "b", "7.2.9")
    put(kernels_folder() / "c", "7.2.13", "2026-01-02T00:00:00+00:00")
    put(kernels_folder() / "d", "7.2.13", "2026-01-03T00:00:00+00:00")
    (kernels_folder() / "half").mkdir()


@pytest.mark.parametrize(
    ("which", "release", "name"),
    [
        (None, "7.2.13", "d"),
        ("7.2", "7.2.13", "d"),
        ("7.2.9", "7.2.9", "b"),
        ("6.18", "6.18.30", "a"),
    ],
)
def test_the_newest_that_fits_is_taken(which, release, name, three) -> None:
    kernel = find_kernel(which)
    assert (kernel.release, kernel.folder.name) == (release, name)
    assert kernel.image.read_bytes() == b"image"
    assert "dualpi2" in kernel.qdiscs
    assert "dctcp" in kernel.congestion_controls
    assert kernel.source == "x.deb (SHA-256 11)"


def test_all_are_listed_the_newest_first(three) -> None:
    assert [kernel.folder.name for kernel in list_kernels()] == ["d", "c", "b", "a"]


def test_a_folder_elsewhere_is_taken_by_its_path_or_by_the_environment(
    three, tmp_path, monkeypatch
) -> None:
    folder = put(tmp_path / "elsewhere", "7.3.0")
    assert find_kernel(folder).release == "7.3.0"
    assert find_kernel(str(folder)).release == "7.3.0"
    monkeypatch.chdir(tmp_path)
    assert find_kernel("elsewhere").release == "7.3.0"
    monkeypatch.setenv("PI2_FLUID_KERNEL", str(folder))
    assert find_kernel().release == "7.3.0"
    assert find_kernel("7.2").release == "7.2.13", "what is asked for comes first"


def test_none_is_said_with_what_to_do() -> None:
    for which in (None, "7.2"):
        with refused(UnsupportedError, str(kernels_folder()), "pi2-fluid linux build"):
            find_kernel(which)
    assert list_kernels() == []


def test_another_version_is_said_with_those_there_are(three) -> None:
    with refused(UnsupportedError, "7.3", "7.2.13, 7.2.9, 6.18.30", "--version 7.3"):
        find_kernel("7.3")
    with refused(UnsupportedError, "no Linux 7.2.1 "):
        find_kernel("7.2.1")


def test_what_is_neither_version_nor_folder_is_refused() -> None:
    with refused(QuantityError, "'newest'", "7.2"):
        find_kernel("newest")


def test_a_folder_without_a_kernel_is_refused(tmp_path, monkeypatch) -> None:
    with refused(UnsupportedError, str(tmp_path), "manifest.json"):
        find_kernel(tmp_path)
    monkeypatch.setenv("PI2_FLUID_KERNEL", "/nowhere")
    with refused(UnsupportedError, "PI2_FLUID_KERNEL", "/nowhere"):
        find_kernel()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"release": "7"}'])
def test_a_manifest_that_cannot_be_read_is_said(text, three) -> None:
    (kernels_folder() / "d" / "manifest.json").write_text(text)
    with refused(UnsupportedError, str(kernels_folder() / "d"), "delete the folder"):
        find_kernel()


def test_the_cache_is_where_users_want_it(tmp_path, monkeypatch) -> None:
    assert cache_folder() == tmp_path / "pi2-fluid"
    monkeypatch.setenv("HOME", "/home/somebody")
    for value in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert cache_folder() == Path("/home/somebody/.cache/pi2-fluid")


def test_a_kernel_that_is_built_anew_is_another(three) -> None:
    engine = Linux(kernel="7.2.9")
    before = engine.outside()
    assert Linux(kernel="7.2.9", seeds=2).outside() == before
    manifest = kernels_folder() / "b" / "manifest.json"
    said = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(said | {"edits": ["a.c: for a test"]}))
    assert engine.outside() != before
    assert Linux(kernel="5.1").outside() == {"kernel": ""}  # which workers elsewhere may have
