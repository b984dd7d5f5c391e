"""Mirrors that lie: each is refused by one sentence, and leaves nothing that is taken later.

All are on this machine, with archives in miniature that keys of one's own have signed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import pytest
from archives import Served, dated, hexadecimal, mirror, package, serving, source, suite
from refusals import assert_sentence, refused
from signing import GPGV, Signer, with_signatures_of

from pi2_fluid.engines.linux.building import signatures
from pi2_fluid.engines.linux.building.builder import build_kernel
from pi2_fluid.errors import BuildError

pytestmark = pytest.mark.slow  # they make keys

HONEST = package(source())
EVIL = package(source(net_sched_sch_pie_c="evil"))
RELEASE = "dists/sid/InRelease"
LIST = "dists/sid/main/binary-all/Packages.xz"
POOL = "pool/main/l/linux/linux-source_7.2.13-1_all.deb"
# What a mirror sends beyond what it should: a client that took all would come to an end.
ENDLESS = 1 << 26


class Debian(NamedTuple):
    """An archive, and who signs for it."""

    served: Served
    signer: Signer

    def release(self, *, held: bytes = HONEST, **dates: str) -> str:
        return suite({"7.2.13-1": held}, **dates)[1]

    def sign(self, text: str, *names: str) -> bytes:
        return self.signer.sign(text, *(names or ("debian",)))

    def signs(self, *names: str) -> None:
        self.served.files[RELEASE] = self.sign(self.release(), *names)

    def dates(self, begins: str, ends: str) -> None:
        self.served.files[RELEASE] = self.sign(self.release(begins=begins, ends=ends))

    def says(self, was: str, becomes: str) -> None:
        """Sign another text."""
        self.served.files[RELEASE] = self.sign(self.release().replace(was, becomes))

    def files(self) -> dict[str, bytes]:
        there = mirror({"sid": {"7.2.13-1": HONEST}})
        return there | {RELEASE: self.sign(self.release())}


@pytest.fixture
def debian(machine, signer, monkeypatch, tmp_path):
    keyring = tmp_path / "keyring.gpg"
    keyring.write_bytes(signer.keyring("debian", "next", "stable", "expired", "revoked", "old"))
    keys = {signer.key(name): name for name in ("debian", "next", "expired", "revoked", "old")}
    monkeypatch.setattr(signatures, "KEYRINGS", (tmp_path / "none", keyring))
    monkeypatch.setattr(signatures, "KEYS", keys)
    monkeypatch.setenv("PATH", str(machine.tools))
    (machine.tools / "gpgv").symlink_to(GPGV)
    with serving({}) as served:
        made = Debian(served, signer)
        served.files |= made.files()
        yield made


def unsigned(it: Debian) -> None:
    it.served.files[RELEASE] = it.release(held=EVIL).encode()
    it.served.files[POOL] = EVIL


def changed_after_it_was_signed(it: Debian) -> None:
    old, new = (hexadecimal(suite({"7.2.13-1": x})[0][LIST[10:]]) for x in (HONEST, EVIL))
    assert old.encode() in it.served.files[RELEASE]
    it.served.files[RELEASE] = it.served.files[RELEASE].replace(old.encode(), new.encode())
    it.served.files[LIST] = suite({"7.2.13-1": EVIL})[0][LIST[10:]]


def bad_beside_good(it: Debian) -> None:
    it.served.files[RELEASE] = with_signatures_of(
        it.sign(it.release()), it.sign("another text", "next")
    )


def another_text_in_front(it: Debian) -> None:
    it.served.files[RELEASE] = it.release(held=EVIL).encode() + it.served.files[RELEASE]


def another_text_behind(it: Debian) -> None:
    it.served.files[RELEASE] += it.release(held=EVIL).encode()


def another_message_in_front(it: Debian) -> None:
    forged = it.sign(it.release(held=EVIL), "stranger")
    it.served.files[RELEASE] = forged + it.served.files[RELEASE]


def text_among_the_signatures(it: Debian) -> None:
    it.served.files[RELEASE] = it.served.files[RELEASE].replace(
        b"-----BEGIN PGP SIGNATURE-----\n", b"-----BEGIN PGP SIGNATURE-----\nSuite: x\nevil\n"
    )


def text_among_the_hashes(it: Debian) -> None:
    it.served.files[RELEASE] = it.served.files[RELEASE].replace(
        b"\nHash: ", b"\nCodename: forky\nHash: "
    )


def expired_signature(it: Debian) -> None:
    it.served.files[RELEASE] = it.signer.sign(it.release(), "old", expires=True)


def another_list(it: Debian) -> None:
    it.served.files[LIST] = suite({"7.2.13-1": EVIL})[0][LIST[10:]]
    it.served.files[POOL] = EVIL


def endless(path: str) -> Callable[[Debian], None]:
    return lambda it: it.served.endless.update({path: ENDLESS})


def sent(path: str, elsewhere: str) -> Callable[[Debian], None]:
    return lambda it: it.served.elsewhere.update({path: elsewhere})


def pool(data: bytes) -> Callable[[Debian], None]:
    return lambda it: it.served.files.update({POOL: data})


LIES: dict[str, tuple[Callable[[Debian], None], str]] = {
    "unsigned": (unsigned, "is not signed"),
    "by a stranger": (lambda it: it.signs("stranger"), "no key of Debian's archive that is known"),
    "by another key of Debian's": (lambda it: it.signs("stable"), "no key of Debian's archive"),
    "by an expired key": (lambda it: it.signs("expired"), "gpgv says EXPKEYSIG"),
    "by a revoked key": (lambda it: it.signs("debian", "revoked"), "gpgv says REVKEYSIG"),
    "long ago": (expired_signature, "gpgv says EXPSIG"),
    "bad beside good": (bad_beside_good, "gpgv says BADSIG"),
    "changed after it was signed": (changed_after_it_was_signed, "gpgv says BADSIG"),
    "another text in front": (another_text_in_front, "has more in it"),
    "another text behind": (another_text_behind, "has more in it"),
    "another message in front": (another_message_in_front, "has more in it"),
    "text among the signatures": (text_among_the_signatures, "has more in it"),
    "text among the hashes": (text_among_the_hashes, "has more in it"),
    "an old list": (lambda it: it.dates(dated(-30), dated(-23)), "was valid until"),
    "a list of tomorrow": (lambda it: it.dates(dated(1), dated(8)), "yet to come"),
    "a list for ever": (lambda it: it.says("Valid-Until", "Until"), "until when it is valid"),
    "a list of no time": (lambda it: it.says("Date: ", "Date: Lent, "), "for a time"),
    "another suite's": (lambda it: it.says("Codename: sid", "Codename: forky"), "that of 'forky'"),
    "two hashes": (lambda it: it.says("MD5Sum:", "SHA256:"), "no field of a list"),
    "no hash": (lambda it: it.says("SHA256:", "SHA512:"), "no SHA-256"),
    "a release without end": (endless(RELEASE), "longer than the 2000000 bytes"),
    "another list of packages": (another_list, "has not the SHA-256"),
    "a list without end": (endless(LIST), "longer than the"),
    "a package without end": (endless(POOL), "is longer than what sid lists"),
    "a package that is longer": (pool(HONEST + b"x"), "is longer than what sid lists"),
    "a package changed": (pool(HONEST[:-1] + b"x"), "has not the SHA-256 of what sid lists"),
    "a package cut": (pool(HONEST[:-100]), "broke off"),
    "another package cut": (pool(EVIL[:-300]), "broke off"),
    "a release elsewhere": (sent(RELEASE, "http://127.0.0.2:9/x"), "'http://127.0.0.2:9/x'"),
    "a package elsewhere": (sent(POOL, "https://127.0.0.2:9/x"), "another server"),
    "a package at another port": (sent(POOL, "http://127.0.0.1:9/x"), "another server"),
    "a file of this machine": (sent(POOL, "file:///etc/passwd"), "not allowed"),
    "in a circle": (sent(RELEASE, f"/{RELEASE}"), "cannot fetch"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_refused_and_nothing_of_it_is_taken_later(lie, debian, machine) -> None:
    tell, said = LIES[lie]
    tell(debian)
    begun = time.monotonic()
    for _ in range(2):  # neither what is left of it
        with pytest.raises(BuildError) as caught:
            build_kernel(mirror=debian.served.url)
        assert_sentence(str(caught.value), said)
        assert any(what in str(caught.value) for what in ("--source", "the same command goes on"))
    assert time.monotonic() - begun < 60  # an end, however slow the machine is
    assert machine.calls() == [], "nothing is configured and nothing compiled"
    assert not (machine.cache / "kernels").exists()
    assert not list(machine.cache.rglob("tree*"))
    assert not list(machine.cache.rglob("*.deb"))
    # What one of them has left does no harm to the honest one after it.
    debian.served.endless, debian.served.elsewhere = {}, {}
    debian.served.files |= debian.files()
    kernel = build_kernel(mirror=debian.served.url, keep_source=True)
    assert kernel.manifest["source"]["sha256"] == hexadecimal(HONEST)
    assert kernel.manifest["source"]["signature"].startswith("checked by gpgv")
    (tree,) = machine.cache.glob("building/*/tree")
    assert (tree / "net/sched/sch_pie.c").read_text() == source()["net/sched/sch_pie.c"]


# What --unchecked may go on with: what nothing here can check, and what is out of date.
GOES_ON = {"an old list", "a list of tomorrow", "a list for ever"}


@pytest.mark.parametrize("lie", sorted(set(LIES) - GOES_ON))
def test_a_lie_that_is_seen_is_refused_unchecked_too(lie, debian, machine) -> None:
    LIES[lie][0](debian)
    with refused(BuildError, LIES[lie][1]):
        build_kernel(mirror=debian.served.url, unchecked=True)
    assert machine.calls() == []


@pytest.mark.parametrize("lie", sorted(GOES_ON))
def test_a_list_out_of_date_is_taken_unchecked_and_said(lie, debian) -> None:
    LIES[lie][0](debian)
    kernel = build_kernel(mirror=debian.served.url, unchecked=True)
    assert kernel.manifest["source"]["signature"].startswith("checked by gpgv")
    assert LIES[lie][1] in kernel.manifest["source"]["signature"]


@pytest.mark.parametrize("names", [("debian",), ("debian", "next"), ("stranger", "debian")])
def test_the_truth_is_taken(names, debian, signer) -> None:
    """Also of an archive that begins to sign by a key that the keyring does not have yet."""
    debian.signs(*names)
    said = build_kernel(mirror=debian.served.url).manifest["source"]["signature"]
    for name in names:
        assert (signer.key(name) in said) == (name != "stranger")


def test_a_redirect_within_a_server_is_followed(debian) -> None:
    debian.served.files["moved"] = debian.served.files[POOL]
    debian.served.elsewhere[POOL] = "/moved"
    assert build_kernel(mirror=debian.served.url).release == "7.2.13"


@pytest.mark.parametrize("missing", ["gpgv", "debian-archive-keyring", "both"])
def test_without_means_to_check_nothing_is_fetched(missing, debian, machine, monkeypatch) -> None:
    if missing != "gpgv":
        monkeypatch.setattr(signatures, "KEYRINGS", ())
    if missing != "debian-archive-keyring":
        (machine.tools / "gpgv").unlink()
    names = ("gpgv", "debian-archive-keyring") if missing == "both" else (missing,)
    with refused(BuildError, *names, "--source", "--unchecked", "install"):
        build_kernel(mirror=debian.served.url)
    assert debian.served.asked == []
    kernel = build_kernel(mirror=debian.served.url, unchecked=True)
    assert kernel.manifest["source"]["signature"].startswith("not checked")
