"""Who has signed a list of Debian's archive, and whether anybody here can tell.

InRelease of a suite is text with its signatures below (RFC 9580, section 7). gpgv verifies them
with the keyring that Debian publishes, of which only the keys of the archive itself count (`KEYS`).
Read is what gpgv hands back, never what lies around it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from pi2_fluid.engines.linux.building.fetching import REMEDY
from pi2_fluid.errors import BuildError

#: Debian's keys, where Debian's package puts them, which other distributions have, too.
KEYRINGS: Final = (
    Path("/usr/share/keyrings/debian-archive-keyring.gpg"),
    Path("/usr/share/keyrings/debian-archive-keyring.pgp"),
)
#: The keys that sign sid, testing and backports, by fingerprint: those of the archive, as
#: https://ftp-master.debian.org/keys.html and debian-archive-keyring 2023.3+deb12u2 have them. Keys
#: of stable releases and of the security archive are in the same keyring, and sign other lists.
KEYS: Final[Mapping[str, str]] = {
    "B8B80B5B623EAB6AD8775C45B7C5D7D6350947F8": "12/bookworm",
    "04B54C3CDCA79751B16BC6B5225629DF75B188BD": "13/trixie",
}

_KEYRING_PACKAGES: Final = "debian-archive-keyring (Fedora: debian-keyring)"
_PATIENCE: Final = 60  # s
# Nothing before, between or behind, and one text only; no line of Debian's lists begins with a
# dash, so that there is nothing to be unescaped.
_FORM: Final = re.compile(
    rb"-----BEGIN PGP SIGNED MESSAGE-----\n(?:Hash: [^\n]*\n)*\n"
    rb"((?:(?!-)[^\n\r]*\n)+)"
    rb"-----BEGIN PGP SIGNATURE-----\n(?:[A-Za-z]+: [^\n]*\n)*\n(?:[A-Za-z0-9+/=]+\n)+"
    rb"-----END PGP SIGNATURE-----\n?"
)
# GnuPG's doc/DETAILS: of each signature one of these is said.
_OUTCOMES: Final = ("GOODSIG", "BADSIG", "ERRSIG", "EXPSIG", "EXPKEYSIG", "REVKEYSIG")
_UNKNOWN_KEY: Final = "9"  # ERRSIG's last code: there is no such key


class Signed(NamedTuple):
    """A text that was signed."""

    text: str
    how: str
    """Who has signed it, or why that is not known, in words."""


def require_means(*, unchecked: bool) -> None:
    """Refuse to begin where signatures cannot be checked.

    Parameters
    ----------
    unchecked : bool
        Whether to begin all the same.

    Raises
    ------
    BuildError
        With what is missing.
    """
    missing = _missing()
    if missing and not unchecked:
        packages = " ".join("gpgv" if name == "gpgv" else _KEYRING_PACKAGES for name in missing)
        raise BuildError(
            f"nothing here can tell whether what comes is Debian's, as {' and '.join(missing)}"
            f" {'is' if len(missing) == 1 else 'are'} not installed: install {packages}, give a"
            " package or tree that you trust by --source, or go on without by --unchecked."
        )


def _missing() -> list[str]:
    there = {
        "gpgv": shutil.which("gpgv") is not None,
        "debian-archive-keyring": _keyring() is not None,
    }
    return [name for name, is_there in there.items() if not is_there]


def _keyring() -> Path | None:
    return next((path for path in KEYRINGS if path.is_file()), None)


def read_signed(data: bytes, name: str, *, unchecked: bool) -> Signed:
    """Return the text that is signed of a message in clear text.

    Parameters
    ----------
    data : bytes
    name : str
        What errors call it.
    unchecked : bool
        Whether to read it where nothing can check it. What is wrongly signed is refused all the
        same.

    Raises
    ------
    BuildError
        If it is not signed, has more in it than what is signed, or is not signed by a key of
        `KEYS` alone; or if that cannot be checked.
    """
    require_means(unchecked=unchecked)
    form = _FORM.fullmatch(data)
    if form is None:
        raise BuildError(
            f"{name} is not signed, or has more in it than a text and its signatures: {REMEDY}."
        )
    missing = _missing()
    if missing:
        return Signed(_decoded(form[1], name), f"not checked: {missing[0]} is not installed")
    keyring = _keyring()
    with tempfile.TemporaryDirectory() as folder:
        verified = Path(folder, "verified")
        command = ["gpgv", "--homedir", folder, "--keyring", str(keyring)]
        command += ["--status-fd", "1", "--output", str(verified)]
        try:
            done = subprocess.run(
                command,
                input=data,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                check=False,
                timeout=_PATIENCE,
            )
        except subprocess.TimeoutExpired as error:
            raise BuildError(
                f"gpgv has not verified {name} in {_PATIENCE} s: try again, or {REMEDY}."
            ) from error
        text = verified.read_bytes() if verified.is_file() else b""
    signers = judge(done.stdout.decode("utf-8", "replace").split("\n"), done.returncode, name)
    if text != form[1]:
        raise BuildError(f"gpgv has verified another text than that of {name}: {REMEDY}.")
    keys = " and ".join(f"{KEYS[signer]} ({signer})" for signer in signers)
    return Signed(_decoded(text, name), f"checked by gpgv with {keyring}: Debian's key {keys}")


def judge(status: Iterable[str], code: int, name: str) -> list[str]:
    """Return the fingerprints of the keys in `KEYS` that have signed a text, in their order there.

    One good signature of theirs is enough. Others beside it, by keys that the keyring does not
    have, say nothing: so it is whenever Debian begins to sign by a new key, too. One that is bad,
    expired, or by a key that is expired or revoked, refuses all.

    Parameters
    ----------
    status : iterable of str
        The lines that gpgv says by ``--status-fd``.
    code : int
        How it ended.
    name : str
        What errors call the text.

    Raises
    ------
    BuildError
        If no key of `KEYS` has, or something is wrong with a signature.

    Examples
    --------
    >>> key = "B8B80B5B623EAB6AD8775C45B7C5D7D6350947F8"
    >>> good = ["[GNUPG:] GOODSIG 6E Debian", f"[GNUPG:] VALIDSIG 4C d t 0 4 0 1 8 01 {key}"]
    >>> judge(good, 0, "InRelease") == [key]
    True
    >>> judge([*good, "[GNUPG:] BADSIG 78 Debian"], 1, "InRelease")
    Traceback (most recent call last):
    pi2_fluid.errors.BuildError: InRelease has a signature of which gpgv says BADSIG: give another
    mirror by --mirror, or a package or tree that you have by --source.
    """
    lines = [line.split(" ") for line in status if line.startswith("[GNUPG:] ")]
    said = [words[1:] for words in lines]
    outcomes = [words for words in said if words[0] in _OUTCOMES]
    unknown = [words for words in outcomes if words[0] == "ERRSIG" and words[6:7] == [_UNKNOWN_KEY]]
    good = [words for words in outcomes if words[0] == "GOODSIG"]
    wrong = [words[0] for words in outcomes if words not in good and words not in unknown]
    valid = [words for words in said if words[0] == "VALIDSIG"]
    # A key that is not there makes gpgv end with 2, and nothing else may.
    if not wrong and (code not in ({0, 2} if unknown else {0}) or len(valid) != len(good)):
        wrong = [f"nothing but exit status {code}" if code else "nothing of how it was signed"]
    if wrong:
        raise BuildError(f"{name} has a signature of which gpgv says {wrong[0]}: {REMEDY}.")
    # The tenth word is the fingerprint of the key of which the one that signed is a part.
    primaries = {words[10] for words in valid if len(words) > 10}
    signers = [key for key in KEYS if key in primaries]
    if not signers:
        raise BuildError(
            f"{name} is signed by no key of Debian's archive that is known here: {REMEDY}, or renew"
            " debian-archive-keyring and pi2-fluid if they are old."
        )
    return signers


def _decoded(text: bytes, name: str) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BuildError(f"{name} is no text in UTF-8: {REMEDY}.") from error
