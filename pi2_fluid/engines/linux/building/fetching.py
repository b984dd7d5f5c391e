"""What comes from a mirror of Debian's: no longer than it may be, and from where it was asked of.

A mirror is anybody: it may send something else, something endless, or send us elsewhere. Whether
what came is right, its hash says, here for packages and in `debian.py` for lists.
"""

from __future__ import annotations

import contextlib
import errno
import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final, NamedTuple
from urllib.parse import urlsplit

from pi2_fluid.engines.linux.building.trees import sha256_of_file
from pi2_fluid.errors import BuildError, show_value

#: What one can do whatever a mirror does.
REMEDY: Final = "give another mirror by --mirror, or a package or tree that you have by --source"

_PATIENCE: Final = 30.0  # s without a byte
_PIECE: Final = 1 << 18


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


def require_mirror(mirror: str) -> None:
    """Refuse what is no address of a mirror.

    Raises
    ------
    BuildError
        If it does not begin with https:// or http:// and a name.
    """
    if not re.fullmatch(r"https?://[^\s/?#]+(/[^\s?#]*)?", mirror):
        raise BuildError(
            f"the mirror {show_value(mirror)} is no address: give one such as"
            " https://deb.debian.org/debian by --mirror."
        )


def read(url: str, most: int) -> bytes | None:
    """Return a file of a mirror; None if there is none.

    Parameters
    ----------
    url : str
    most : int
        How long it may be, in bytes.

    Raises
    ------
    BuildError
        If it is longer or broke off, the mirror cannot be reached, or sends us elsewhere.
    """
    with _answer(url, 0) as answer:
        if answer is None:
            return None
        data = answer.read(most + 1)
        if len(data) > most:
            raise BuildError(f"{url} is longer than the {most} bytes it may have: {REMEDY}.")
        if answer.length:
            raise BuildError(f"{url} broke off at {len(data)} bytes: try again, or {REMEDY}.")
        return data


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
        is not the package of which the list has the hash, which is then deleted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / package.file
    if (
        place.is_file()
        and place.stat().st_size == package.size
        and sha256_of_file(place) == package.sha256
    ):
        return place
    partial_file = folder / f"{package.file}.part"
    if partial_file.is_file() and partial_file.stat().st_size > package.size:
        partial_file.unlink()
    with partial_file.open("ab") as file:
        resumed = file.tell() > 0
        _go_on(package, file, progress)
        size = file.tell()
    if size < package.size:
        raise BuildError(
            f"{package.url} broke off at {size} of {package.size} bytes: the same command goes on."
        )
    if size > package.size or sha256_of_file(partial_file) != package.sha256:
        partial_file.unlink()
        if resumed:  # what was left may be of another mirror's
            return fetch(package, folder, progress)
        wrong = "is longer than" if size > package.size else "has not the SHA-256 of"
        raise BuildError(
            f"{package.url} {wrong} what {package.suite} lists, and was deleted: try again, or"
            f" {REMEDY}."
        )
    return partial_file.replace(place)


def _go_on(package: Package, file: IO[bytes], progress: Callable[[float, float], None]) -> None:
    """Append what is missing of a package, and a byte more if there is one: it is longer then."""
    have = file.seek(0, 2)
    if have == package.size:
        return
    with _answer(package.url, have) as answer:
        if answer is None:
            raise BuildError(f"{package.url} is not there any more: try again, or {REMEDY}.")
        if have and answer.status != http.client.PARTIAL_CONTENT:
            have = 0
            file.truncate(0)
        while piece := answer.read(min(_PIECE, max(package.size + 1 - have, 0))):
            file.write(piece)
            have += len(piece)
            progress(min(have, package.size), package.size)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows within a server, and from http to https of the same name."""

    max_redirections = 4

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        old, new = urlsplit(req.full_url), urlsplit(newurl)
        same = (new.scheme, new.netloc) == (old.scheme, old.netloc)
        if not same and (new.scheme, new.netloc) != ("https", old.hostname):
            fp.close()
            raise BuildError(
                f"{req.full_url} sends us to {show_value(newurl)}, another server: give that by"
                " --mirror if it is one of Debian's, or a package or tree that you have by"
                " --source."
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@contextlib.contextmanager
def _answer(url: str, start: int) -> Iterator[http.client.HTTPResponse | None]:
    """Ask for a file from a byte on; None if there is none."""
    headers = {"Range": f"bytes={start}-"} if start else {}
    try:
        request = urllib.request.Request(url, headers=headers)
        opener = urllib.request.build_opener(_Redirects)
        with opener.open(request, timeout=_PATIENCE) as answer:
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
    why = why.partition("\n")[0].rstrip(".")  # what a server says may be long
    return BuildError(f"cannot fetch {url} ({why}): go online and try again, or {REMEDY}.")
