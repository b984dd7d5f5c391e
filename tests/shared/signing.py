"""Keys of one's own to sign texts with, by gpg, in a folder that is deleted with them."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Tests take other programs off the way.
GPG, GPGV = shutil.which("gpg") or "", shutil.which("gpgv") or ""
_LONG_AGO = "20200101T000000!"


class Signer:
    """Makes keys, and signs with them."""

    def __init__(self, home: Path) -> None:
        self.home, self.made = home, dict[str, str]()

    def run(self, *words: str, given: bytes = b"") -> bytes:
        command = [GPG, "--homedir", str(self.home), "--batch", "--passphrase", ""]
        command += ["--pinentry-mode", "loopback", *words]
        done = subprocess.run(command, input=given, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def key(self, name: str) -> str:
        """The fingerprint of a key, made when first asked for: expired and revoked ones, too."""
        if name not in self.made:
            times = ("--faked-system-time", _LONG_AGO) if name in {"expired", "old"} else ()
            until = "1d" if name == "expired" else "never"
            self.run(
                *times, "--quick-generate-key", f"{name}@example.org", "ed25519", "sign", until
            )
            said = self.run("--with-colons", "--list-keys", f"{name}@example.org").decode()
            found = re.search(r"(?m)^fp.:+([0-9A-F]{40}):", said)
            assert found is not None
            self.made[name] = found[1]
        return self.made[name]

    def sign(self, text: str, *names: str, expires: bool = False) -> bytes:
        """A text with the signatures of these keys below."""
        times = ["--faked-system-time", _LONG_AGO] if expires or "expired" in names else []
        if expires:
            times += ["--default-sig-expire", "1d"]
        users = [word for name in names for word in ("--local-user", self.key(name))]
        return self.run(*times, *users, "--clearsign", given=text.encode())

    def keyring(self, *names: str) -> bytes:
        """The public keys, as gpgv wants them; the one called revoked is."""
        whole = self.run("--export", *(self.key(name) for name in names))
        if "revoked" not in names:
            return whole
        prepared = self.home / "openpgp-revocs.d" / f"{self.key('revoked')}.rev"
        with_it = self.home / "revoked"
        with_it.mkdir(exist_ok=True, mode=0o700)
        other = Signer(with_it)
        other.run("--import", given=whole)
        # gpg puts a colon before it, so that nobody revokes a key by mistake.
        other.run("--import", given=prepared.read_bytes().replace(b":-----BEGIN", b"-----BEGIN"))
        return other.run("--export")


def with_signatures_of(text: bytes, *others: bytes) -> bytes:
    """A signed text below which the signatures of other texts are, too."""
    head, _, _ = text.partition(b"-----BEGIN PGP SIGNATURE-----\n")
    body = base64.encodebytes(b"".join(_packets(one) for one in (text, *others)))
    return head + b"-----BEGIN PGP SIGNATURE-----\n\n" + body + b"-----END PGP SIGNATURE-----\n"


def _packets(signed: bytes) -> bytes:
    _, _, armor = signed.partition(b"-----BEGIN PGP SIGNATURE-----\n")
    lines = armor.partition(b"\n-----END")[0].split(b"\n")
    lines = lines[lines.index(b"") + 1 :]
    return base64.b64decode(b"".join(line for line in lines if not line.startswith(b"=")))


@contextmanager
def signing(home: Path) -> Iterator[Signer]:
    home.chmod(0o700)
    try:
        yield Signer(home)
    finally:
        for folder in (home, home / "revoked"):
            subprocess.run([f"{GPG}conf", "--homedir", str(folder), "--kill", "all"], check=False)
