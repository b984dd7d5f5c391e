"""Measure with ping, fping, irtt, iperf3 and flent: python tools/measure_with_tools.py FOLDER.

Writes what each tool wrote into FOLDER. The small ones are in tests/data/measured, where
tests/measured read them. Two network namespaces are joined by a link that this file emulates (two
TUN devices, a rate, a delay, a limit, losses), for not every kernel has netem. Needs root, and the
tools: apt-get install iperf3 irtt fping iputils-ping flent; netserver and netperf, where the
machine has them, for Flent's tests of TCP. Takes three minutes.
"""

from __future__ import annotations

import fcntl
import gzip
import heapq
import os
import random
import re
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from pi2_fluid.saving import save_bytes, save_text

NEAR: Final = "10.77.0.1"
FAR: Final = "10.77.0.2"
#: What says which machine it was, and what stands there instead.
_HIDDEN: Final = (
    (
        re.compile(r"\bLinux \S+ \d+\.\d+\.\d+\S* #\d+ .*?x86_64"),
        "Linux near 6.18.44 #1 SMP x86_64",
    ),
    (re.compile(r"6\.18\.44-fc-\w+"), "6.18.44"),
    (re.compile(r'("(?:hostname|LOCAL_HOST)": )"[^"]*"'), r'\1"near"'),
    (re.compile(r"/tmp/\S*?/(?=net)"), "/usr/bin/"),
)


class Line(NamedTuple):
    """What the link does in both directions."""

    rate: float
    """bit/s"""
    delay: float
    """one way, s"""
    limit: int
    """packets"""
    loss: float = 0.0


class _Direction:
    """A queue of packets in front of a rate, and a delay behind it."""

    def __init__(self, link: Line, random_: random.Random) -> None:
        self._link, self._random = link, random_
        self._free = 0.0
        self._leave: list[float] = []

    def arrive(self, packet: bytes, now: float) -> float | None:
        """Return when a packet that comes now is at the other end (s), None if it is lost."""
        self._leave = [at for at in self._leave if at > now]
        if len(self._leave) >= self._link.limit or self._random.random() < self._link.loss:
            return None
        self._free = max(self._free, now) + 8.0 * len(packet) / self._link.rate
        self._leave.append(self._free)
        return self._free + self._link.delay


@contextmanager
def joined(link: Line) -> Iterator[None]:
    """Join the namespaces ``near`` and ``far`` by a link."""
    ends = []
    for name, address in (("near", NEAR), ("far", FAR)):
        file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        # TUNSETIFF, with IFF_TUN and IFF_NO_PI
        fcntl.ioctl(file, 0x400454CA, struct.pack("16sH", b"tun" + name.encode(), 0x1001))
        ends.append(file)
        for command in (
            f"ip netns add {name}",
            f"ip link set tun{name} netns {name}",
            f"ip -n {name} addr add {address}/24 dev tun{name}",
            f"ip -n {name} link set tun{name} up",
            f"ip -n {name} link set lo up",
        ):
            subprocess.run(command.split(), check=True)
    stopped = threading.Event()
    worker = threading.Thread(target=_carry, args=(ends, link, stopped))
    worker.start()
    try:
        yield
    finally:
        stopped.set()
        worker.join()
        for file in ends:
            os.close(file)
        for name in ("near", "far"):
            subprocess.run(["ip", "netns", "del", name], check=False)


def _carry(ends: Sequence[int], link: Line, stopped: threading.Event) -> None:
    draws = random.Random(1)
    ways = [_Direction(link, draws) for _ in ends]
    due: list[tuple[float, int, int, bytes]] = []
    count = 0
    while not stopped.is_set():
        wait = min(0.1, max(0.0, due[0][0] - time.monotonic())) if due else 0.1
        ready = select.select(ends, [], [], wait)[0]
        for index, file in enumerate(ends):
            while file in ready:
                try:
                    packet = os.read(file, 2048)
                except BlockingIOError:
                    break
                at = ways[index].arrive(packet, time.monotonic())
                if at is not None:
                    count += 1
                    heapq.heappush(due, (at, count, ends[1 - index], packet))
        while due and due[0][0] <= time.monotonic():
            _, _, file, packet = heapq.heappop(due)
            os.write(file, packet)


def run(folder: Path, name: str, command: str, *, errors: bool = False) -> None:
    """Keep what a command prints in the namespace ``near``."""
    done = subprocess.run(
        ["ip", "netns", "exec", "near", "timeout", "30", "bash", "-c", command],
        capture_output=True,
        text=True,
        check=False,
    )
    text = done.stdout + (done.stderr if errors else "")
    keep(folder / name, text)


def keep(path: Path, text: str) -> None:
    """Store a text without what says whose machine it was."""
    for pattern, instead in _HIDDEN:
        text = pattern.sub(instead, text)
    if path.suffix == ".gz":
        save_bytes(path, gzip.compress(text.encode(), 9, mtime=0))
    else:
        save_text(path, text)
    print(f"{path.stat().st_size:8d} {path.name}", flush=True)


@contextmanager
def served(command: str) -> Iterator[subprocess.Popen[str]]:
    """Run a server in the namespace ``far``."""
    server = subprocess.Popen(
        ["ip", "netns", "exec", "far", *command.split()], stdout=subprocess.PIPE, text=True
    )  # what a server prints is read at its end, and is short
    time.sleep(0.5)
    try:
        yield server
    finally:
        if server.poll() is None:
            server.terminate()
            server.communicate()


HOME: Final = Line(rate=10e6, delay=10e-3, limit=60)
FAR_AWAY: Final = Line(rate=4e6, delay=80e-3, limit=100, loss=0.02)
#: What is run over which link: the file, and the command.
RUNS: Final[dict[Line, dict[str, str]]] = {
    HOME: {
        "ping_times.txt": f"ping -D -i 0.1 -c 40 {FAR}",
        "ping_no_times.txt": f"ping -i 0.2 -c 12 {FAR}",
        "ping_short.txt": f"ping -D -c 1 {FAR}",
        "ping_nobody.txt": "ping -D -O -i 0.2 -w 2 10.77.0.9",
        "fping_flent.txt": f"timeout 4 fping -D -l -p 100 {FAR}",
        "fping_count.txt": f"fping -D -p 100 -c 20 {FAR} 10.77.0.1",
        "irtt.json.gz": f"irtt client -i 20ms -d 2s -l 60 -q -o - {FAR}",
        "irtt_few.json": f"irtt client -i 100ms -d 600ms -q -o - {FAR}",
        "irtt_monotonic.json.gz": f"irtt client -i 50ms -d 2s --clock=monotonic -q -o - {FAR}",
        "irtt_no_stamps.json.gz": f"irtt client -i 50ms -d 2s --tstamp=none -q -o - {FAR}",
        "iperf3_cubic.json": f"iperf3 -c {FAR} -J -t 5 -C cubic",
        "iperf3_bbr_fine.json.gz": f"iperf3 -c {FAR} -J -t 4 -i 0.1 -C bbr",
        "iperf3_reno_two.json": f"iperf3 -c {FAR} -J -t 3 -P 2 -C reno",
        "iperf3_reverse.json": f"iperf3 -c {FAR} -J -t 3 -R -C cubic",
        "iperf3_both.json": f"iperf3 -c {FAR} -J -t 3 --bidir",
        "iperf3_omit.json": f"iperf3 -c {FAR} -J -t 4 -O 2",
        "iperf3_udp.json": f"iperf3 -c {FAR} -J -t 3 -u -b 2M",
        "iperf3_nobody.json": f"iperf3 -c {FAR} -p 9 -J -t 2",
        "iperf3_cubic.txt": f"iperf3 -c {FAR} -t 5 -C cubic",
        "iperf3_two.txt": f"iperf3 -c {FAR} -t 3 -P 2",
        "iperf3_reverse.txt": f"iperf3 -c {FAR} -t 3 -R",
        "iperf3_both.txt": f"iperf3 -c {FAR} -t 3 --bidir",
        "iperf3_udp.txt": f"iperf3 -c {FAR} -t 3 -u -b 2M",
        "iperf3_verbose.txt": f"iperf3 -c {FAR} -t 3 -V -C reno",
        "iperf3_times.txt": f"iperf3 -c {FAR} -t 3 -f k -i 0.5 --timestamps='%s '",
    },
    FAR_AWAY: {
        "ping_far.txt": f"ping -D -i 0.1 -c 60 {FAR}",
        "ping_outstanding.txt": f"ping -D -O -i 0.3 -c 40 {FAR}",
        "ping_far_no_times.txt": f"ping -O -i 0.2 -c 40 {FAR}",
        "fping_far.txt": f"fping -D -p 200 -c 40 {FAR}",
        "irtt_far.json.gz": f"irtt client -i 20ms -d 3s -l 60 -q -o - {FAR}",
        "iperf3_far.json": f"iperf3 -c {FAR} -J -t 6 -C bbr",
        "iperf3_far.txt": f"iperf3 -c {FAR} -t 6 -O 1 -C cubic",
    },
}
#: Flent's tests, with what follows ``flent``.
FLENT: Final = {
    "flent_ping.flent.gz": f"ping -l 5 -s 0.2 -H {FAR} -t 'rate:10Mbit rtt:20ms qdisc:pfifo'",
    "flent_irtt.flent.gz": f"voip -l 3 -s 0.2 -H {FAR}",
    "flent_two.flent.gz": f"tcp_nup -l 5 -s 0.2 -H {FAR} --test-parameter upload_streams=2"
    " --test-parameter cc_algos=cubic,bbr --socket-stats -t two_flows",
    "flent_rrul.flent.gz": f"rrul_be -l 4 -s 0.2 -H {FAR}",
}


def flent(folder: Path) -> None:
    """Keep what Flent writes."""
    for name, test in FLENT.items():
        inside = folder / "flent"
        inside.mkdir(exist_ok=True)
        command = f"PATH=$PATH:$NETPERF flent {test} -D {inside} -o {inside}/out.txt"
        done = subprocess.run(
            ["ip", "netns", "exec", "near", "bash", "-c", command],
            capture_output=True,
            text=True,
            check=False,
        )
        found = sorted(inside.glob("*.flent.gz"))
        if found:
            keep(folder / name, gzip.decompress(found[0].read_bytes()).decode())
        else:
            print(f"no {name}: {done.stderr.strip()[-300:]}")
        for file in inside.iterdir():
            file.unlink()
        inside.rmdir()


def main() -> None:
    """Run what is asked for."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    wanted = re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    for link, runs in RUNS.items():
        with joined(link), served("irtt server"):
            for name, command in runs.items():
                if wanted.search(name):
                    with served("iperf3 -s -1"):  # anew: it keeps a sender's choice otherwise
                        run(folder, name, command, errors="nobody" in name)
    if wanted.search("flent"):
        with (
            joined(HOME),
            served("irtt server"),
            served(f"{os.environ.get('NETPERF', '/usr/bin')}/netserver -D"),
        ):
            flent(folder)
    if wanted.search("server"):
        with joined(HOME), served("iperf3 -s -J -1") as server:
            run(folder, "iperf3_client_of_server.json", f"iperf3 -c {FAR} -J -t 3")
            keep(folder / "iperf3_server.json", server.communicate()[0])


if __name__ == "__main__":
    main()
