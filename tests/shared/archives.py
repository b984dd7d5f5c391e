"""Sources of kernels in miniature, and an archive of them as Debian's, on this machine alone."""

from __future__ import annotations

import contextlib
import email.utils
import hashlib
import http.server
import io
import lzma
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

MAKEFILE = "VERSION = {}\nPATCHLEVEL = {}\nSUBLEVEL = {}\nEXTRAVERSION =\nNAME = A Test\n"
FILES = {
    "Kbuild": "obj-y += net/\n",
    "arch/um/Kconfig": (
        "config HZ\n\tint\n\tdefault 100\n\nconfig UML_TIME_TRAVEL_SUPPORT\n\tbool\n"
    ),
    "drivers/char/random.c": (
        "static void _mix_pool_bytes(const void *buf, size_t len)\n{\n\tmix(buf, len);\n}\n"
    ),
    "drivers/gpu/drm/Kconfig": "config DRM\n",
    "drivers/gpu/drm/drm.c": "int drm;\n",
    "net/sched/sch_pie.c": "int pie;\n",
}


def source(release: str = "7.2.13", **changes: str | None) -> dict[str, str]:
    """A kernel's source, by paths; changes by paths with _ for / and ., None: not there."""
    files = FILES | {"Makefile": MAKEFILE.format(*release.split("."))}
    named = {path.replace("/", "_").replace(".", "_"): path for path in files}
    for name, text in changes.items():
        if text is None:
            del files[named[name]]
        else:
            files[named[name]] = text
    return files


def write_tree(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def tar(files: dict[str, bytes], top: str = "") -> bytes:
    """A tar archive, compressed by xz."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:xz", preset=0) as archive:
        if top:
            folder = tarfile.TarInfo(top.rstrip("/"))
            folder.type = tarfile.DIRTYPE
            archive.addfile(folder)
        for name, data in files.items():
            member = tarfile.TarInfo(top + name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return held.getvalue()


def tarball(files: dict[str, str], top: str = "linux-7.2/") -> bytes:
    return tar({name: text.encode() for name, text in files.items()}, top)


def package(files: dict[str, str], version: str = "7.2") -> bytes:
    """A package linux-source-X.Y."""
    inner = tarball(files, f"linux-source-{version}/")
    return deb({f"usr/src/linux-source-{version}.tar.xz": inner})


def deb(files: dict[str, bytes], packed: str = "xz") -> bytes:
    """A package with these files: an archive of ar, whose data.tar says how it is packed."""
    parts = {
        "debian-binary": b"2.0\n",
        "control.tar.xz": tar({"control": b"Package: x\n"}, "./"),
        f"data.tar.{packed}": tar(files, "./"),
    }
    written = b"!<arch>\n"
    for name, part in parts.items():
        written += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(part):<10}`\n".encode()
        written += part + b"\n" * (len(part) % 2)
    return written


def hexadecimal(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def signed(text: str) -> bytes:
    """A text in the form in which InRelease is signed, by nobody."""
    return (
        "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n"
        f"{text}\n-----BEGIN PGP SIGNATURE-----\n\nnone\n-----END PGP SIGNATURE-----\n"
    ).encode()


def paragraph(version: str, path: str, data: bytes) -> str:
    """An entry of a list of packages."""
    name = "linux-source-" + ".".join(version.split(".")[:2])
    return (
        f"Package: {name}\nSource: linux\nVersion: {version}\nFilename: {path}\n"
        f"Size: {len(data)}\nSHA256: {hexadecimal(data)}\n"
    )


def dated(days: float) -> str:
    """A time so many days from now, as lists have it."""
    return email.utils.format_datetime(datetime.now(UTC) + timedelta(days), usegmt=True)


def suite(
    packages: dict[str, bytes], name: str = "sid", begins: str | None = None, ends: str = ""
) -> tuple[dict[str, bytes], str]:
    """Files of an archive by their paths below a suite and pool, and what is to be signed."""
    files, entries = {}, ["Package: linux-source\nVersion: 0\n"]
    for version, data in packages.items():
        path = f"pool/main/l/linux/linux-source_{version}_all.deb"
        files[path] = data
        entries.append(paragraph(version, path, data))
    listed = lzma.compress("\n".join(entries).encode(), preset=0)
    files["main/binary-all/Packages.xz"] = listed
    text = (
        f"Origin: Test\nCodename: {name}\nDate: {begins or dated(-1)}\n"
        f"Valid-Until: {ends or dated(6)}\nMD5Sum:\n 00 1 main/binary-all/Packages.xz\nSHA256:\n"
        f" {hexadecimal(listed)} {len(listed)} main/binary-all/Packages.xz\n"
    )
    return files, text


def mirror(suites: dict[str, dict[str, bytes]]) -> dict[str, bytes]:
    """Files of an archive by their paths: packages by version, of each suite."""
    there = {}
    for name, packages in suites.items():
        files, text = suite(packages, name)
        for path, data in files.items():
            there[path if path.startswith("pool") else f"dists/{name}/{path}"] = data
        there[f"dists/{name}/InRelease"] = signed(text)
    return there


MORE = b"x" * (1 << 16)


class Served:
    """A server's files, what it was asked for, and how it is to lie."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files, self.asked = files, list[tuple[str, str | None]]()
        self.breaks_at: int | None = None
        self.url = ""
        self.ranges = True
        #: Paths below which it sends to another address instead.
        self.elsewhere: dict[str, str] = {}
        #: Paths of which it sends more and more, up to so many bytes.
        self.endless: dict[str, int] = {}


@contextmanager
def serving(files: dict[str, bytes]) -> Iterator[Served]:
    served = Served(files)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, wanted = self.path.lstrip("/"), self.headers["Range"]
            served.asked.append((path, wanted))
            if path in served.elsewhere:
                self.send_response(302)
                self.send_header("Location", served.elsewhere[path])
                self.end_headers()
                return
            if path not in served.files:
                self.send_error(404)
                return
            data = served.files[path]
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
            partial = bool(wanted) and served.ranges
            data = data[start:] if partial else data
            self.send_response(206 if partial else 200)
            if path not in served.endless:
                self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # whoever has enough goes
                self.wfile.write(data[: served.breaks_at])
                for _ in range(served.endless.get(path, 0) // len(MORE)):
                    self.wfile.write(MORE)

        def log_message(self, *words: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
