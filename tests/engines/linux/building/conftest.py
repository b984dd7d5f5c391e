"""A machine to build a kernel on, with a make that compiles nothing, and keys to sign with."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from signing import GPG, GPGV, Signer, signing

from pi2_fluid.engines.linux.building import signatures
from pi2_fluid.engines.linux.building.compiling import TOOLS

# Says where it runs and for what; "linux" is what is in the file, of the tree that it is made in.
MAKE = """#!/bin/sh
echo "$PWD $*" >> "$HOME/calls"
for word; do case "$word" in KCONFIG_CONFIG=*) config=${word#KCONFIG_CONFIG=};; esac; done
case "$*" in
    *olddefconfig*) sed -i '/TCP_CONG_PRAGUE/d' "$config";;
    *defconfig*) printf 'CONFIG_NET=y\\nCONFIG_IPV6=y\\n' > "$config";;
    *) echo "  CC      net/sched/sch_pie.o"; . "$HOME/compile";;
esac
"""
COMPILE = 'cat arch/um/Kconfig > linux; echo "$KBUILD_BUILD_TIMESTAMP$ARCH" >> linux\n'
STRIP = '#!/bin/sh\ncp "$3" "$2"\n'
GCC = '#!/bin/sh\necho "gcc (Test) 1.2.3"\necho more\n'


class Machine(NamedTuple):
    home: Path
    tools: Path
    cache: Path

    def calls(self) -> list[str]:
        there = self.home / "calls"
        return there.read_text().splitlines() if there.exists() else []

    def left(self) -> list[str]:
        return sorted(path.name for path in self.cache.iterdir())


@pytest.fixture
def machine(tmp_path, monkeypatch) -> Machine:
    home, tools = tmp_path / "home", tmp_path / "tools"
    home.mkdir()
    tools.mkdir()
    for name in (*TOOLS, "strip"):
        (tools / name).write_text({"make": MAKE, "strip": STRIP, "gcc": GCC}.get(name, "#!/bin/sh"))
        (tools / name).chmod(0o755)
    for name in ("sh", "sed", "cat", "cp", "sleep"):
        found = shutil.which(name)
        assert found is not None
        (tools / name).symlink_to(found)
    (home / "compile").write_text(COMPILE)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setenv("ARCH", "arm64")  # of somebody who builds other kernels, too
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(signatures, "KEYRINGS", ())
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    return Machine(home, tools, tmp_path / "cache" / "pi2-fluid")


@pytest.fixture(scope="session")
def signer(tmp_path_factory) -> Iterator[Signer]:
    if not (GPG and GPGV):
        pytest.skip("there is no gpg and gpgv on this machine")
    with signing(tmp_path_factory.mktemp("gpg")) as made:
        yield made
