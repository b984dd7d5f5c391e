"""Ask the machine's tc what it reads, and compare: python tools/tc_oracle.py [LINES] [--record].

Lines are drawn by a seed and given to ``tc qdisc replace`` in an empty network namespace, which
needs no root (``unshare -rn``). What tc cannot read it refuses; everything else it sends to the
kernel, whatever that makes of it. With strace, what it sends is compared, too. Nothing is built.

``--record`` keeps the rows in tests/data/tc_lines.json, by version; those of others stay as they
are, by which kinds are judged that this tc does not know.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from pi2_fluid.saving import save_text
from pi2_fluid.tc.foreign import FOREIGN
from pi2_fluid.tc.observing import observe
from pi2_fluid.tc.options import OPTIONS, Number, defaults

FILE: Final = Path(__file__).resolve().parents[1] / "tests" / "data" / "tc_lines.json"
BEFORE: Final = "tc qdisc replace dev lo root"
#: The kinds whose words are drawn.
KINDS: Final = tuple(OPTIONS | FOREIGN)
#: Of a line that tc sends and that is refused here: how the refusal is worded, and why it stays.
DELIBERATE: Final = {
    r"is beyond the 4294s|is no number, (of|and what)": "tc makes another number of it",
    r"is negative, and tc refuses it": "older tc make a large number of it",
    r"which ignores what follows": "tc reads a part of it",
    r"is empty, which tc refuses or takes for 0": "a variable of a script that is not set",
    r"which tc takes as not given": "nothing is asked, where something was meant",
    r"is outside what tc and the kernel take|is beyond the 32 bits": "the kernel refuses it",
    r"probability = .* is outside \(0, 1\)": "tc makes another number of it",
}

_NEWQDISC: Final = 36
_OPTIONS: Final = 2  # TCA_OPTIONS
_HEADS: Final = 16 + 20  # bytes: struct nlmsghdr, struct tcmsg
_LINE: Final = re.compile(r" \| [0-9a-f]{5}  ([0-9a-f ]{49}) ")
#: The numbers of attributes, by kind and word.
_ATTRIBUTES: Final = {
    "pie": "- target limit tupdate alpha beta ecn bytemode dq_rate_estimator",
    "fq_pie": (
        "- limit flows target tupdate alpha beta quantum memory_limit ecn_prob ecn bytemode"
        " dq_rate_estimator"
    ),
    "codel": "- target limit interval ecn ce_threshold",
    "fq_codel": ("- target limit interval ecn flows quantum ce_threshold drop_batch memory_limit"),
    "cake": "- - bandwidth - - - overhead rtt - - memlimit - - - mpu - - - fwmark",
}
_MOST_WORDS: Final = 4
_WATCH: Final = ("strace", "-f", "--seccomp-bpf", "-e", "trace=sendmsg")
_TEXTS: Final = {
    "time": (
        *(
            "5ms",
            "20000",
            "0",
            "1us",
            "0.4us",
            "1.9us",
            "0.2s",
            "20msecs",
            "2usecs",
            "1sec",
            "15MS",
        ),
        *("5.ms", ".5ms", "+5ms", " 5ms", "0x10", "1e3", "1e-3s", "4294s", "4294967295", "5000s"),
        *("4294967296", "inf", "infms", "nan", "-1", "-5ms", "-0", "1e400s", "20m", "1ns", ""),
        *("20 ms", "1_000", "\uff15ms", "abc", "0x1p4us", "5 "),
    ),
    "whole": (
        *("10", "1", "0", "010", "08", "0x10", "0x", "+3", " 7", "-1", "32", "33", "99", "100"),
        *(
            "255",
            "256",
            "1000",
            "10240",
            "65536",
            "65537",
            "4294967295",
            "4294967296",
            "1e3",
            "1.5",
        ),
        *("10p", "abc", "1k", "", "99999999999999999999", "-18446744073709551611", "7 "),
    ),
    "size": (
        *(
            "1514",
            "1k",
            "1.5k",
            "2Kb",
            "8mb",
            "8mbit",
            "1g",
            "0",
            "1e3",
            "0x200",
            "1.5",
            "-1",
            "4gb",
        ),
        *(
            "1kib",
            "1kibit",
            "5tbit",
            "5bit",
            "abc",
            "1 k",
            "",
            "+9",
            "nan",
            "inf",
            "5000000000",
            "1mb",
        ),
    ),
    "rate": (
        *("5mbit", "5Mbit", "100", "5", "0", "10kbps", "2gibit", "2Tbit", "2k", "-1", "nan", "inf"),
        *("40gbit", "0x10kbit", "+5mbit", "abc", "", "1e19bps", "2e20", "8bit"),
    ),
    "probability": (
        "0.02",
        "0.1",
        "1e-3",
        "1e-6",
        "0",
        "1",
        "1.1",
        "2%",
        "-0.1",
        "nan",
        "abc",
        ".5",
    ),
    "hertz": ("0.16", "0", "255.99", "-1", "0.0039", "nan", "abc", "0x1", ".5", "1e99", "", "300"),
    "percent": ("10", "100", "101", "0", "0.1", "99.5", "10 %", "nan", "0.01%", "25%", "1e1"),
    "pair": ("1/3", "0x01/0x03", "256/3", "1", "+1/3", "a/b", "1/"),
    "event": ("early_drop block 10", "mark block 0x1", "mark 10", "other block 10", "mark block x"),
    "count": ("44", "-64", "-65", "256", "257", "+3", "0x2c", "010", "abc", "", " 4", "0", "-1"),
}
_WORDS: Final = ("help", "targe", "Target", "ECN", "interval", "flow", "5ms", "limit", "quantum")
_RED: Final = (
    *("limit", "100000", "avpkt", "1000", "min", "10000", "max", "30000", "burst", "20"),
)


class Answer(NamedTuple):
    """What tc did with a line."""

    line: tuple[str, ...]
    sent: bool
    numbers: dict[str, int] | None
    """What it sent, by its words; None if that was not seen."""


def draw(kinds: Sequence[str], count: int, seed: int) -> list[tuple[str, ...]]:
    """Return lines that a seed draws: a kind and its options, right and wrong."""
    chance = random.Random(seed)
    return [_line(chance, chance.choice(kinds)) for _ in range(count)]


def _line(chance: random.Random, kind: str) -> tuple[str, ...]:
    options = OPTIONS[kind] if kind in OPTIONS else FOREIGN[kind]
    words = [*_RED] if kind == "red" and chance.random() < 0.8 else []
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, _MOST_WORDS))):
        if chance.random() < 0.05:
            words.append(chance.choice(_WORDS))
            continue
        option = chance.choice(options)
        if not isinstance(option, Number):
            words.append(chance.choice([word for word in option.words if word is not None]))
            continue
        words.append(option.word)
        if chance.random() < 0.97:
            words += _text(chance, option)
    return (kind, *words)


def _text(chance: random.Random, option: Number) -> list[str]:
    if option.word == "step_thresh" and chance.random() < 0.5:
        return [chance.choice(("3p", "3packets", "0p", "5pkts", "3pkt"))]
    name = option.unit.name
    signed = option.unit.low < 0 or option.word == "mpu"
    text = chance.choice(_TEXTS["count" if signed else name if name in _UNITS else "whole"])
    return text.split() if name == "event" else [text]


_UNITS: Final = {"time", "size", "rate", "probability", "hertz", "percent", "pair", "event"}


def can_ask() -> bool:
    """Say whether there is a tc, and a namespace to ask it in."""
    if not all(map(shutil.which, ("tc", "unshare"))):
        return False
    return (
        subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False).returncode == 0
    )


@cache
def _can_watch() -> bool:
    """Say whether there is an strace that may look."""
    if shutil.which("strace") is None:
        return False
    return not subprocess.run([*_WATCH, "true"], capture_output=True, check=False).returncode


def version() -> str:
    """Return that of the machine's iproute2."""
    said = subprocess.check_output(["tc", "-V"], text=True)
    return said.split("iproute2-")[1].split(",")[0].strip()


def known(kinds: Iterable[str]) -> list[str]:
    """Return those kinds that the machine's tc knows."""
    # Of a kind that it does not know it reads no option.
    some = {"red": " ".join(_RED), "cake": "nat"}
    asked = [(kind, *some.get(kind, "limit 5").split()) for kind in kinds]
    return [answer.line[0] for answer in ask(asked) if answer.sent]


def ask(lines: Sequence[tuple[str, ...]]) -> list[Answer]:
    """Return what tc does with each line: one process each, all in one namespace."""
    script = "".join(
        f"tc qdisc replace dev lo handle {number:x}: root {shlex.join(line)} >/dev/null 2>&1;"
        " echo $?\n"
        for number, line in enumerate(lines, 1)
    )
    with tempfile.NamedTemporaryFile("r") as trace:
        watch = [*_WATCH, "-e", "write=all", "-o", trace.name] if _can_watch() else []
        done = subprocess.run(
            ["unshare", "-rn", *watch, "sh"],
            input=script,
            capture_output=True,
            text=True,
            check=True,
        )
        seen = _requests(trace.read()) if watch else {}
    states = [int(word) for word in done.stdout.split()]
    return [
        # 2: the kernel does not know the kind, or refuses it; 0: it runs.
        Answer(line, state in {0, 2}, _numbers(line[0], seen[number]) if number in seen else None)
        for number, (line, state) in enumerate(zip(lines, states, strict=True), 1)
    ]


def _requests(trace: str) -> dict[int, dict[int, bytes]]:
    """Return the options that were sent, by the number in the handle."""
    found = {}
    for call in trace.split("sendmsg(")[1:]:
        rows = filter(None, map(_LINE.match, call.splitlines()))
        data = b"".join(bytes.fromhex(row[1]) for row in rows)
        if len(data) >= _HEADS and int.from_bytes(data[4:6], "little") == _NEWQDISC:
            number = int.from_bytes(data[24:28], "little") >> 16
            whole = int.from_bytes(data[:4], "little")
            found[number] = _attributes(_attributes(data[_HEADS:whole]).get(_OPTIONS, b""))
    return found


def _attributes(data: bytes) -> dict[int, bytes]:
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack("<2H", data[:4])
        found[kind & 0x3FFF] = data[4:length]
        data = data[length + 3 & ~3 :]
    return found


def _numbers(kind: str, options: dict[int, bytes]) -> dict[str, int]:
    """Return what was sent by tc's words; of RED what the kernel averages and compares with."""
    if kind == "red":
        limit, low, high, shift = struct.unpack("<3IB", options[1][:13])
        largest, flags = (int.from_bytes(options[number][-4:], "little") for number in (3, 4))
        flags = int.from_bytes(options[4][:4], "little")
        return {
            "limit": limit,
            "min": low,
            "max": high,
            "ewma": shift,
            "probability": largest,
            **{word: flags >> bit & 1 for bit, word in enumerate(_FLAGS)},
        }
    words = _ATTRIBUTES.get(kind, "").split()
    found = {
        words[number]: int.from_bytes(data, "little", signed=words[number] == "overhead")
        for number, data in options.items()
        if number < len(words) and words[number] != "-"
    }
    if kind == "fq_codel" and 10 in options:
        value, mask = (int.from_bytes(options[number], "little") for number in (10, 11))
        found["ce_threshold_selector"] = value << 8 | mask
    return found


_FLAGS: Final = ("ecn", "harddrop", "adaptive", "nodrop")


def disagreements(answers: Iterable[Answer]) -> list[str]:
    """Return in words where the reader here does otherwise, but for what is `DELIBERATE`."""
    return [text for answer in answers for text in _disagreement(answer)]


def _disagreement(answer: Answer) -> list[str]:
    line = shlex.join(answer.line)
    (block,) = observe(f"{BEFORE} {line}").blocks
    if block.trouble is not None:
        text = str(block.trouble)
        if answer.sent and not any(re.search(pattern, text) for pattern in DELIBERATE):
            return [f"{line}: tc sends it; refused here: {text}"]
        return []
    if not answer.sent:
        return [f"{line}: tc refuses it; read here as {block.options or block.words}"]
    if answer.numbers is None:
        return []
    ours = _ours(answer.line[0], block.options if block.ours else block.words, block.named)
    usual = defaults(answer.line[0], 1500) if block.ours else {}  # where nothing is asked
    theirs = {word: answer.numbers.get(word, usual.get(word)) for word in ours}
    return [] if ours == theirs else [f"{line}: tc sends {theirs}; read here as {ours}"]


def _ours(kind: str, read: dict[str, float], named: frozenset[str]) -> dict[str, int | None]:
    """Return what is asked for, by the words that tc sends; None for what it does not send."""
    if kind == "red":
        found: dict[str, int | None] = {word: int(read[word]) for word in ("limit", "min", "max")}
        found |= {"ewma": int(read["ewma"]), "probability": int(read["probability"] * 2**32)}
        return found | {word: int(bool(read.get(word))) for word in _FLAGS}
    words = _ATTRIBUTES[kind].split()
    options = {option.word: option for option in (OPTIONS | FOREIGN)[kind]}
    if kind == "cake" and any(not isinstance(options[word], Number) for word in read):
        words = ["bandwidth"] * (
            "unlimited" not in read
        )  # others are parts of what such words mean
    asked = {}
    for word in [*words, "ce_threshold_selector"] if kind != "cake" else words:
        if word in read and (kind not in OPTIONS or word in named):
            option = options[word]
            nothing = isinstance(option, Number) and not read[word] and 0 not in option.unit.numbers
            asked[word] = None if nothing else int(read[word])
    return asked


def keep(name: str, answers: Iterable[Answer]) -> None:
    """Keep answers in the file: the line, whether it was sent, and what."""
    kept = json.loads(FILE.read_text(encoding="utf-8"))
    # Each line once, those of a kind together.
    rows = {shlex.join(one.line): [int(one.sent), one.numbers] for one in answers}
    kept["rows"][name] = [[line, *rows[line]] for line in sorted(rows)]
    written = (
        f"{json.dumps(name)}: [\n" + ",\n".join(map(json.dumps, some)) + "\n]"
        for name, some in kept["rows"].items()
    )
    about = json.dumps(kept["about"])
    save_text(FILE, f'{{"about": {about},\n"rows": {{\n' + ",\n".join(written) + "\n}}\n")


def kept_answers() -> dict[str, list[Answer]]:
    """Return the answers that are kept, by the version of iproute2."""
    kept = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: [Answer(tuple(shlex.split(line)), bool(sent), said) for line, sent, said in rows]
        for name, rows in kept["rows"].items()
    }


def main(words: Sequence[str]) -> int:
    """Ask, compare, and record if that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("lines", nargs="?", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args(words)
    if not can_ask():
        raise SystemExit("there is no tc, or no namespace to ask it in: unshare -rn true fails.")
    kinds = known(KINDS)
    answers = ask(draw(kinds, given.lines, given.seed))
    found = disagreements(answers)
    sent = sum(answer.sent for answer in answers)
    print(f"iproute2 {version()}, kinds {', '.join(kinds)}: {len(answers)} lines, {sent} sent")
    print(f"{len(found)} read otherwise here", *found, sep="\n")
    if given.record:
        keep(version(), answers)
    return len(found) > 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
