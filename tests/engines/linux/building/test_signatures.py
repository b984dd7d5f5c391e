"""What gpgv says of signatures, and what is made of it; the form of a signed text."""

from __future__ import annotations

import random

import pytest
from archives import signed
from refusals import refused

from pi2_fluid.engines.linux.building import signatures
from pi2_fluid.engines.linux.building.signatures import KEYS, judge, read_signed
from pi2_fluid.errors import BuildError

FIRST, SECOND = KEYS
OTHER = "A4285295FC7B1A81600062A9605C66F00D6C9793"  # of a stable release: in the keyring, too


def said(outcome: str, primary: str) -> list[str]:
    """What gpgv says of a signature, as version 2.2.40 does."""
    lines = ["NEWSIG", f"KEY_CONSIDERED {primary} 0", "SIG_ID abc 2026-10-30 1793347767"]
    rest = (
        f"1 8 01 1793347770 {outcome[6:]} {primary}" if outcome.startswith("ERRSIG") else "Debian"
    )
    lines.append(f"{outcome[:6] if outcome.startswith('ERRSIG') else outcome} 6ED0 {rest}")
    if outcome in {"GOODSIG", "EXPSIG", "EXPKEYSIG", "REVKEYSIG"}:
        lines.append(f"VALIDSIG 4CB5 2026-10-30 1793347767 0 4 0 1 8 01 {primary}")
    if outcome == "ERRSIG9":
        lines.append("NO_PUBKEY 78DB")
    return [f"[GNUPG:] {line}" for line in lines]


OUTCOMES = ("GOODSIG", "BADSIG", "ERRSIG9", "ERRSIG4", "EXPSIG", "EXPKEYSIG", "REVKEYSIG")


def test_signatures_are_taken_only_if_none_is_wrong_and_one_is_of_the_archive() -> None:
    """Up to four signatures of any outcome by any key, in any order, with any end of gpgv."""
    drawn, taken = random.Random(21), 0
    for _ in range(3000):
        many = range(drawn.randrange(5))
        likely = (6, 1, 2, 1, 1, 1, 1)
        each = [
            (drawn.choices(OUTCOMES, likely)[0], drawn.choice((FIRST, SECOND, OTHER))) for _ in many
        ]
        right = 2 if any(outcome != "GOODSIG" for outcome, _ in each) else 0
        code = drawn.choice((right, right, right, 0, 1, 2, -9))
        good = {key for outcome, key in each if outcome == "GOODSIG"} & KEYS.keys()
        unknown = any(outcome == "ERRSIG9" for outcome, _ in each)
        fits = (
            bool(good)
            and all(outcome in {"GOODSIG", "ERRSIG9"} for outcome, _ in each)
            and (code == 0 or (code == 2 and unknown))
        )
        lines = [line for one in each for line in said(*one)]
        lines.insert(0, "gpgv: Good signature; [GNUPG:] GOODSIG is no line of its own here")
        if fits:
            assert judge(lines, code, "InRelease") == [key for key in KEYS if key in good]
            taken += 1
        else:
            with refused(BuildError, "InRelease"):
                judge(lines, code, "InRelease")
    assert 300 < taken < 2000


def test_a_good_one_without_its_fingerprint_is_refused() -> None:
    lines = [line for line in said("GOODSIG", FIRST) if "VALIDSIG" not in line]
    with refused(BuildError, "nothing of how it was signed"):
        judge(lines, 0, "InRelease")
    with refused(BuildError, "no key of Debian's archive"):
        judge([*lines, "[GNUPG:] VALIDSIG 4CB5 2026-10-30"], 0, "InRelease")


def test_the_keys_are_fingerprints_of_archives() -> None:
    assert all(len(key) == 40 and int(key, 16) for key in KEYS)


@pytest.mark.parametrize(
    "changed",
    [
        lambda text: b"x" + text,
        lambda text: b"\n" + text,
        lambda text: text + b"x",
        lambda text: text + b"\n",
        lambda text: text + text,
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text.replace(b"Hash: SHA256\n", b"Hash: SHA256\n\tx\n"),
        lambda text: text.replace(b"Hash: SHA256\n", b"Hash: SHA256\nx: y\n"),
        lambda text: text.replace(b"b: c", b"- b: c"),
        lambda text: text.replace(b"b: c", b"-----BEGIN PGP SIGNED MESSAGE-----"),
        lambda text: text.replace(
            b"-----BEGIN PGP SIGNATURE-----", b"-----BEGIN PGP SIGNATURE----- "
        ),
        lambda text: text.replace(b"\nnone\n", b"\nno ne\n"),
        lambda text: text.replace(b"\nnone\n", b"\n"),
        lambda text: text[:-2],
        lambda text: b"",
    ],
)
def test_a_text_with_anything_around_it_is_refused(changed, monkeypatch) -> None:
    """Even where nothing can check the signatures."""
    monkeypatch.setattr(signatures, "KEYRINGS", ())
    text = signed("a: b\nb: c")
    assert read_signed(text, "InRelease", unchecked=True).text == "a: b\nb: c\n"
    with refused(BuildError, "InRelease", "more in it"):
        read_signed(changed(text), "InRelease", unchecked=True)


def test_what_is_no_text_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(signatures, "KEYRINGS", ())
    with refused(BuildError, "UTF-8"):
        read_signed(signed("a: b").replace(b"b", b"\xff"), "InRelease", unchecked=True)


# --- gpgv itself, as it may be ----------------------------------------------------------------


@pytest.fixture
def gpgv(tmp_path, monkeypatch):
    """A gpgv that says this, hands that text back, and ends so."""

    def install(lines: list[str], text: bytes, code: int) -> None:
        (tmp_path / "status").write_text("\n".join(lines) + "\n")
        (tmp_path / "text").write_bytes(text)
        program = tmp_path / "gpgv"
        program.write_text(
            "#!/bin/sh\n/bin/cat > /dev/null\n"
            f'while [ $# -gt 1 ]; do\n[ "$1" = --output ] && /bin/cp {tmp_path}/text "$2"\n'
            "shift; done\n"
            f"/bin/cat {tmp_path}/status\nexit {code}\n"
        )
        program.chmod(0o755)

    (tmp_path / "keyring").touch()
    monkeypatch.setattr(signatures, "KEYRINGS", (tmp_path / "keyring",))
    monkeypatch.setenv("PATH", str(tmp_path))
    return install


TEXT = b"a: b\n"


def test_what_gpgv_hands_back_is_read(gpgv) -> None:
    gpgv(said("GOODSIG", FIRST), TEXT, 0)
    found = read_signed(signed(TEXT.decode().rstrip()), "InRelease", unchecked=False)
    assert found.text == TEXT.decode()
    assert FIRST in found.how


@pytest.mark.parametrize(
    ("lines", "text", "code", "words"),
    [
        (said("GOODSIG", FIRST) + said("BADSIG", SECOND), TEXT, 1, "BADSIG"),
        (said("GOODSIG", FIRST), TEXT, 1, "exit status 1"),
        (said("GOODSIG", FIRST), TEXT, 2, "exit status 2"),
        (said("GOODSIG", FIRST), b"a: c\n", 0, "another text"),
        (said("GOODSIG", FIRST), b"", 0, "another text"),
        (said("GOODSIG", OTHER), TEXT, 0, "no key of Debian's archive"),
        ([], TEXT, 0, "no key of Debian's archive"),
    ],
)
def test_anything_else_is_refused(lines, text, code, words, gpgv) -> None:
    gpgv(lines, text, code)
    with refused(BuildError, "InRelease", words):
        read_signed(signed(TEXT.decode().rstrip()), "InRelease", unchecked=False)
