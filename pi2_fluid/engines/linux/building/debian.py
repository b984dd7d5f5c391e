"""Debian's source packages of Linux: which there are, and how they come here.

What is signed says what is right all the way down: InRelease of a suite has the SHA-256 of its list
of packages, and that the package's. So it does not matter by which way they come.
"""

from __future__ import annotations

import contextlib
import errno
import http.client
import lzma
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import IO, Final, NamedTuple

from pi2_fluid.engines.linux.building.archives import sha256_of_file
from pi2_fluid.engines.linux.building.sources import OLDEST, version_of
from pi2_fluid.errors import BuildError, QuantityError, UnsupportedError, show_value

__all__ = ["MIRROR", "SUITES", "Package", "fetch", "find_package"]

MIRROR: Final = "http://deb.debian.org/debian"
#: Where packages are looked for, in this order.
SUITES: Final = ("sid", "forky", "trixie-backports")
#: Debian's keys, where Debian puts them.
KEYRINGS: Final = (
    Path("/usr/share/keyrings/debian-archive-keyring.gpg"),
    Path("/usr/share/keyrings/debian-archive-keyring.pgp"),
)

_LIST: Final = "main/binary-all/Packages.xz"
_PATIENCE: Final = 30.0  # s without a byte
_PIECE: Final = 1 << 18
_REMEDY: Final = "give another mirror by --mirror, or a package or tree that you have by --source"


class Package(NamedTuple):
    """A source package of Linux."""

    version: str
    """As Debian counts: "7.2.13-1"."""
    url: str
    size: int
    """Bytes."""
    sha256: str
    suite: str
    signature: str
    """How the suite's signature was checked, in words."""

    @property
    def file(self) -> str:
        """The name of its file."""
        return self.url.rpartition("/")[2]

    @property
    def release(self) -> str:
        """The kernel's own version: "7.2.13"."""
        return re.split(r"[-~+]", self.version)[0]


def find_package(version: str | None, mirror: str, progress: Callable[[str], None]) -> Package:
    """Return the newest package of a version in the first suite that has one.

    Parameters
    ----------
    version : str or None
        "7.2", "7.2.13", or None for any.
    mirror : str
        The address of Debian's archive, above dists and pool.
    progress : callable
        Called with what is read.

    Raises
    ------
    QuantityError
        If `version` is no version.
    UnsupportedError
        If no suite has it, or it is older than 6.17.
    BuildError
        If the mirror cannot be reached, or what it says is not what Debian has signed.
    """
    if version is not None:
        _require_version(version)
    there: list[Package] = []
    reached = False
    for suite in SUITES:
        progress(f"{mirror}/dists/{suite}")
        packages = _packages_of(suite, mirror.rstrip("/"))
        reached = reached or packages is not None
        usable = [p for p in packages or [] if version_of(p.release) >= OLDEST]
        fit = [p for p in usable if version is None or f"{p.release}.".startswith(f"{version}.")]
        if fit:
            return max(fit, key=_by_release)
        there += usable
    if not reached:
        raise BuildError(f"{mirror} has none of {', '.join(SUITES)}: {_REMEDY}.")
    known = sorted({package.release for package in there}) or ["none from 6.17 on"]
    raise UnsupportedError(
        f"Debian has no source of Linux {version or '6.17 or later'} in {', '.join(SUITES)}, but"
        f" {', '.join(known)}: give another version, or a package or tree by --source."
    )


def _require_version(version: str) -> None:
    if not re.fullmatch(r"\d+\.\d+(\.\d+)?", version):
        raise QuantityError(f"{show_value(version)} is no version of Linux: give 7.2, or 7.2.13.")
    if version_of(version) < OLDEST:
        raise UnsupportedError(
            f"Linux {version} is older than 6.17, the first with DualPI2: give 6.17 or later."
        )


def _by_release(package: Package) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", package.version)]


def _packages_of(suite: str, mirror: str) -> list[Package] | None:
    """Return the source packages of a suite; None where the mirror does not have it."""
    signed = _read(f"{mirror}/dists/{suite}/InRelease")
    if signed is None:
        return None
    text, signature = _text_signed(signed, suite)
    found = re.search(
        rf"(?m)^ ([0-9a-f]{{64}}) +(\d+) {re.escape(_LIST)}$", text.partition("\nSHA256:")[2]
    )
    if found is None:
        raise BuildError(f"{mirror}/dists/{suite}/InRelease has no SHA-256 of {_LIST}: {_REMEDY}.")
    url = f"{mirror}/dists/{suite}/{_LIST}"
    # Under its hash a list stays while its successor is put into its place.
    packed = _read(f"{url.rpartition('/')[0]}/by-hash/SHA256/{found[1]}") or _read(url)
    if packed is None or sha256(packed).hexdigest() != found[1]:
        raise BuildError(
            f"{url} has not the SHA-256 that Debian has signed, as while a mirror is renewed: try"
            f" again in some minutes, or {_REMEDY}."
        )
    packages = []
    for paragraph in lzma.decompress(packed).decode("utf-8").split("\n\n"):
        if re.match(r"Package: linux-source-\d", paragraph):
            said = dict(re.findall(r"(?m)^(Version|Filename|Size|SHA256): (.*)$", paragraph))
            packages.append(
                Package(
                    said["Version"],
                    f"{mirror}/{said['Filename']}",
                    int(said["Size"]),
                    said["SHA256"],
                    suite,
                    signature,
                )
            )
    return packages


def _text_signed(signed: bytes, suite: str) -> tuple[str, str]:
    """Return what is signed of InRelease, and how that was checked, in words."""
    program = shutil.which("gpgv")
    keyring = next((path for path in KEYRINGS if path.is_file()), None)
    if program is None or keyring is None:
        missing = "gpgv" if program is None else "debian-archive-keyring"
        head, _, rest = signed.partition(b"\n\n")
        text, end, _ = rest.partition(b"\n-----BEGIN PGP SIGNATURE-----\n")
        if not (head.startswith(b"-----BEGIN PGP SIGNED MESSAGE-----\n") and end):
            raise BuildError(f"InRelease of {suite} is not signed: {_REMEDY}.")
        return text.decode("utf-8") + "\n", f"not checked: {missing} is not installed"
    with tempfile.NamedTemporaryFile() as file:
        file.write(signed)
        file.flush()
        done = subprocess.run(
            [program, "--status-fd=2", "--keyring", str(keyring), "--output=-", file.name],
            capture_output=True,
            check=False,
        )
    states = re.findall(rb"\[GNUPG:\] (VALIDSIG|BADSIG)", done.stderr)
    if b"VALIDSIG" not in states or b"BADSIG" in states:
        raise BuildError(
            f"InRelease of {suite} is not signed by a key of {keyring}: {_REMEDY}; renew"
            " debian-archive-keyring if it is old."
        )
    return done.stdout.decode("utf-8"), f"checked by gpgv with {keyring}"


def fetch(package: Package, folder: Path, progress: Callable[[float, float], None]) -> Path:
    """Bring a package into a folder, and return its path; what is there of it is not fetched again.

    Parameters
    ----------
    package : Package
    folder : Path
        Is made.
    progress : callable
        Called as ``progress(done, total)``, in bytes.

    Raises
    ------
    BuildError
        If the mirror cannot be reached or breaks off, after which the next call goes on, or if it
        is not the package that Debian has signed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / package.file
    if place.is_file() and sha256_of_file(place) == package.sha256:
        return place
    part = folder / f"{package.file}.part"
    if part.is_file() and part.stat().st_size > package.size:
        part.unlink()
    with part.open("ab") as file:
        _go_on(package, file, progress)
        size = file.tell()
    if size < package.size:
        raise BuildError(
            f"{package.url} broke off at {size} of {package.size} bytes: the same command goes on."
        )
    if sha256_of_file(part) != package.sha256:
        part.unlink()
        raise BuildError(
            f"{package.url} has not the SHA-256 that Debian has signed, and was deleted: try again,"
            f" or {_REMEDY}."
        )
    return part.replace(place)


def _go_on(package: Package, file: IO[bytes], progress: Callable[[float, float], None]) -> None:
    have = file.seek(0, 2)
    if have == package.size:
        return
    with _answer(package.url, have) as answer:
        if answer is None:
            raise BuildError(f"{package.url} is not there any more: try again, or {_REMEDY}.")
        if have and answer.status != http.client.PARTIAL_CONTENT:
            have = 0
            file.truncate(0)
        while piece := answer.read(_PIECE):
            file.write(piece)
            have += len(piece)
            progress(have, package.size)


def _read(url: str) -> bytes | None:
    with _answer(url, 0) as answer:
        return None if answer is None else answer.read()


@contextlib.contextmanager
def _answer(url: str, start: int) -> Iterator[http.client.HTTPResponse | None]:
    """Ask for a file from a byte on; None if there is none."""
    headers = {"Range": f"bytes={start}-"} if start else {}
    try:
        request = urllib.request.Request(url, headers=headers)
        with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:
            yield answer
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != http.client.NOT_FOUND:
            raise _unreachable(url, f"{error.code} {error.reason}") from error
        yield None
    except (OSError, ValueError, http.client.HTTPException) as error:
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
            raise  # what is written here is at fault
        raise _unreachable(url, str(getattr(error, "reason", error))) from error


def _unreachable(url: str, why: str) -> BuildError:
    return BuildError(f"cannot fetch {url} ({why}): go online and try again, or {_REMEDY}.")
