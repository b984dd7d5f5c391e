"""Debian's source packages of Linux: which there are, and what is known of each.

What is signed says what is right all the way down: InRelease of a suite has the SHA-256 of its list
of packages, and that the package's. So it does not matter by which way they come. It also says of
which suite it is, and until when it is valid, so that neither another list nor an old one will do.
"""

from __future__ import annotations

import lzma
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from hashlib import sha256
from typing import Final

from pi2_fluid.engines.linux.building.fetching import REMEDY, Package, read, require_mirror
from pi2_fluid.engines.linux.building.signatures import read_signed, require_means
from pi2_fluid.engines.linux.building.sources import OLDEST, version_of
from pi2_fluid.errors import BuildError, QuantityError, UnsupportedError, show_value

MIRROR: Final = "https://deb.debian.org/debian"
#: Where packages are looked for, in this order.
SUITES: Final = ("sid", "forky", "trixie-backports")

_LIST: Final = "main/binary-all/Packages.xz"
# Some ten times what sid had in 2026, in bytes.
_MOST_RELEASE: Final = 2_000_000
_MOST_LIST: Final = 50_000_000
_MOST_LIST_UNPACKED: Final = 250_000_000
_MOST_PACKAGE: Final = 1_500_000_000
_MEMORY: Final = 200_000_000  # of lzma, whose largest preset takes 65 MiB
#: How far a clock may be behind Debian's.
_SLACK: Final = timedelta(hours=1)


def find_package(
    version: str | None,
    mirror: str,
    progress: Callable[[str], None],
    *,
    unchecked: bool = False,
) -> Package:
    """Return the newest package of a version in the first suite that has one.

    Parameters
    ----------
    version : str or None
        "7.2", "7.2.13", or None for any.
    mirror : str
        The address of Debian's archive, above dists and pool.
    progress : callable
        Called with what is read.
    unchecked : bool
        Whether to go on where nothing can check signatures, or with a list out of date.

    Raises
    ------
    QuantityError
        If `version` is no version.
    UnsupportedError
        If no suite has it, or it is older than 6.17.
    BuildError
        If the mirror cannot be reached, or what it says is not what Debian has signed, is out of
        date, or cannot be checked.
    """
    if version is not None:
        _require_version(version)
    require_mirror(mirror)
    require_means(unchecked=unchecked)
    offered: list[Package] = []
    reached = False
    for suite in SUITES:
        progress(f"{mirror}/dists/{suite}")
        packages = _packages_of(suite, mirror.rstrip("/"), unchecked=unchecked)
        reached = reached or packages is not None
        usable = [p for p in packages or [] if version_of(p.release) >= OLDEST]
        fit = [p for p in usable if version is None or f"{p.release}.".startswith(f"{version}.")]
        if fit:
            return max(fit, key=_by_release)
        offered += usable
    if not reached:
        raise BuildError(f"{mirror} has none of {', '.join(SUITES)}: {REMEDY}.")
    known = sorted({package.release for package in offered}) or ["none from 6.17 on"]
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


def _packages_of(suite: str, mirror: str, *, unchecked: bool) -> list[Package] | None:
    """Return the source packages of a suite; None where the mirror does not have it."""
    data = read(f"{mirror}/dists/{suite}/InRelease", _MOST_RELEASE)
    if data is None:
        return None
    signed = read_signed(data, f"InRelease of {suite}", unchecked=unchecked)
    said = _fields(signed.text, f"InRelease of {suite}")
    _require_suite(said, suite)
    stale = _stale(said, suite)
    if stale and not unchecked:
        raise BuildError(
            f"InRelease of {suite} {stale}, as of a mirror that is not renewed, or of somebody who"
            f" sends old lists: {REMEDY}, set the clock if it is wrong, or go on by --unchecked."
        )
    how = f"{signed.how}; the list {stale}" if stale else signed.how
    found = re.search(rf"(?m)^ ([0-9a-f]{{64}}) +(\d+) {re.escape(_LIST)}$", said.get("SHA256", ""))
    if found is None:
        raise BuildError(f"{mirror}/dists/{suite}/InRelease has no SHA-256 of {_LIST}: {REMEDY}.")
    url = f"{mirror}/dists/{suite}/{_LIST}"
    size = _size(found[2], _MOST_LIST, f"the size of {_LIST} in InRelease of {suite}")
    # Under its hash a list stays while its successor is put into its place.
    by_hash = f"{url.rpartition('/')[0]}/by-hash/SHA256/{found[1]}"
    packed = read(by_hash, size)
    if packed is None:
        packed = read(url, _MOST_LIST)
    if packed is None or len(packed) != size or sha256(packed).hexdigest() != found[1]:
        raise BuildError(
            f"{url} has not the SHA-256 that InRelease has, as while a mirror is renewed: try again"
            f" in some minutes, or {REMEDY}."
        )
    return [
        _package(paragraph, mirror, suite, how)
        for paragraph in _unpacked(packed, url).split("\n\n")
        if re.match(r"Package: linux-source-\d", paragraph)
    ]


def _require_suite(said: Mapping[str, str], suite: str) -> None:
    if said.get("Codename") != suite:
        raise BuildError(
            f"InRelease of {suite} is that of {show_value(said.get('Codename', 'no suite'))}, which"
            f" somebody has put into its place: {REMEDY}."
        )


def _stale(said: Mapping[str, str], suite: str) -> str:
    """Return in words why a list is out of date; "" if it is not."""
    now = _now()
    begins, ends = (_time(said.get(name), suite) for name in ("Date", "Valid-Until"))
    if begins is None or ends is None:
        return "does not say until when it is valid"
    if begins > now + _SLACK:
        return f"is of {said['Date']}, which is yet to come"
    if ends < now:
        return f"was valid until {said['Valid-Until']}"
    return ""


def _now() -> datetime:
    return datetime.now(UTC)


def _time(said: str | None, suite: str) -> datetime | None:
    if said is None:
        return None
    try:
        time = parsedate_to_datetime(said)
    except (ValueError, OverflowError):
        time = None
    if time is None or time.tzinfo is None:
        raise BuildError(f"InRelease of {suite} has {show_value(said)} for a time: {REMEDY}.")
    return time


def _fields(text: str, name: str) -> dict[str, str]:
    """Return the fields of a paragraph, with lines that go on as they are."""
    said: dict[str, str] = {}
    for field in re.split(r"\n(?![ \t])", text.rstrip("\n")):
        key, colon, value = field.partition(":")
        if not colon or key in said or not re.fullmatch(r"[!-~]+", key):
            raise BuildError(f"{name} has {show_value(field[:60])}, no field of a list: {REMEDY}.")
        said[key] = value.lstrip(" ")
    return said


def _unpacked(packed: bytes, url: str) -> str:
    """Return a list as text: a few bytes of xz can be gigabytes."""
    try:
        data = b""
        while packed:  # one stream after the other
            unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY)
            data += unpacker.decompress(packed, _MOST_LIST_UNPACKED - len(data))
            if not unpacker.eof:
                raise lzma.LZMAError("it is too long, or not whole")
            packed = unpacker.unused_data
        return data.decode("utf-8")
    except (lzma.LZMAError, UnicodeDecodeError) as error:
        raise BuildError(f"{url} cannot be unpacked ({error}): {REMEDY}.") from error


def _package(paragraph: str, mirror: str, suite: str, how: str) -> Package:
    name = f"the list of {suite}"
    fields = _fields(paragraph, name)
    forms = {
        "Version": r"\d{1,5}\.\d{1,5}[\w.+~:-]{0,60}",
        "Filename": r"pool/(?:[\w.+~-]+/)+linux-source[\w.+~-]+\.deb",
        "SHA256": r"[0-9a-f]{64}",
    }
    for field, form in forms.items():
        if not re.fullmatch(form, fields.get(field, ""), re.ASCII) or "/." in fields[field]:
            raise BuildError(
                f"{name} has {field} = {show_value(fields.get(field, ''))} of a package: {REMEDY}."
            )
    size = _size(fields.get("Size", ""), _MOST_PACKAGE, f"the size of {fields['Filename']}")
    url = f"{mirror}/{fields['Filename']}"
    return Package(fields["Version"], url, size, fields["SHA256"], suite, how)


def _size(digits: str, most: int, what: str) -> int:
    if re.fullmatch(r"[0-9]{1,12}", digits) and 0 < int(digits) <= most:
        return int(digits)
    raise BuildError(f"{what} is {show_value(digits[:40])}, outside [1, {most}] bytes: {REMEDY}.")
