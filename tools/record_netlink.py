"""Record what iproute2 sends to the kernel: python tools/record_netlink.py FOLDER.

FOLDER holds a `tc` and an `ip`, such as those of Debian's iproute2 unpacked by ``dpkg-deb -x``; if
it holds ld.so and the libraries, too (``usr/lib/x86_64-linux-gnu``), they run with these. Each
command line in tests/data/iproute2_messages.json is run under strace in namespaces of its own, so
that no root is needed, and what it sends is stored there. Whether this kernel knows what it is
asked for is no matter. A line that is new is added there with anything behind it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pi2_fluid.saving import save_text

FILE = Path(__file__).resolve().parents[1] / "tests" / "data" / "iproute2_messages.json"

#: In namespaces of their own: a device that is up, and a namespace to name.
_INSIDE = """
mount -t tmpfs tmpfs /run && mkdir /run/netns && touch /run/netns/host
mount --bind /proc/self/ns/net /run/netns/host
"$1"/ip link set dev lo up && "$1"/ip address add 10.0.1.9/24 dev lo
shift; exec strace -o "$@"
"""
_HEAD = 16  # bytes of struct nlmsghdr
_LINE = re.compile(r" \| ([0-9a-f]{5})  ([0-9a-f ]{49}) ")
_NEW = {16, 20, 24, 28, 36, 40, 44}  # RTM_NEWLINK and others, which ask for something


def programs(folder: Path, into: Path) -> None:
    """Write a `tc` and an `ip` that run those of a folder."""
    found = {path.name: path for path in folder.glob("usr/*bin/*") if path.name in {"tc", "ip"}}
    loader = next(folder.rglob("ld-linux-x86-64.so.2"), None)
    for name, path in found.items():
        with_ = f"{loader} --library-path {loader.parent} " if loader else ""
        (into / name).write_text(f'#!/bin/sh\nexec {with_}{path} "$@"\n', encoding="utf-8")
        (into / name).chmod(0o755)


def sent(command: str, binaries: Path) -> dict[str, Any]:
    """Return the only request of a command that asks for something new: kind, flags, payload."""
    with tempfile.NamedTemporaryFile("r") as trace:
        words = [trace.name, "-f", "-e", "trace=sendmsg,sendto", "-e", "write=all"]
        program, *rest = command.split()
        inside = ["sh", "-c", _INSIDE, "sh", binaries, *words, str(binaries / program), *rest]
        done = subprocess.run(
            ["unshare", "--map-root-user", "--net", "--mount", *inside],
            capture_output=True,
            text=True,
            check=False,
        )
        packets: list[bytes] = []
        for line in trace.read().splitlines():
            if match := _LINE.match(line):
                packets += [b""] if match[1] == "00000" else []
                packets[-1] += bytes.fromhex(match[2])
    asked = [one for one in packets if int.from_bytes(one[4:6], "little") in _NEW]
    if len(asked) != 1:
        raise SystemExit(f"{command}: {len(asked)} requests; it said: {done.stderr.strip()}")
    kind, flags = (int.from_bytes(asked[0][at : at + 2], "little") for at in (4, 6))
    return {"kind": kind, "flags": flags, "payload": asked[0][_HEAD:].hex()}


def main(folder: str) -> None:
    """Record all commands."""
    with tempfile.TemporaryDirectory() as place:
        binaries = Path(place)
        programs(Path(folder).resolve(), binaries)
        version = subprocess.check_output([binaries / "tc", "-V"], text=True)
        commands = json.loads(FILE.read_text(encoding="utf-8"))["sent"]
        found = {command: sent(command, binaries) for command in commands}
    text = {"iproute2": version.split("iproute2-")[1].split(",")[0], "sent": found}
    save_text(FILE, json.dumps(text, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
