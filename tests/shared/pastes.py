"""What people paste: outputs of tc of several devices, one after the other and mixed, with what
stands around them in logs, sessions, mail and traces.

Each piece comes with the queues that are in it, as (device, kind, handle, parent, packets).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

DEVICES = ("wan0", "lan0", "eth0.7", "mid.l", "ifb4wan0")
HANDLES = ("1:", "8001:", "ab:")
PIE = "limit 1000p target 15ms tupdate 16ms alpha 2 beta 20"
KINDS = {
    "pie": PIE,
    "fq_codel": "limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms ecn",
    "htb": "r2q 10 default 0x10 direct_packets_stat 0 direct_qlen 1000",
}
#: How a device is known: by the line itself, or by what stands before the output.
SAID = ("line", "prompt", "trace", "root prompt", "heading", "watch", "script", "namespace")


#: What stands between outputs, and shows no queue.
COMMENTS = (
    "",
    "# before the run",
    "cli\n---",
    "as one can see:",
    "$ ping -c 1 192.0.2.1\n64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=0.5 ms",
    "+ ip tcp_metrics show\n10.9.9.2 age 12.120sec ssthresh 23 cwnd 36 rtt 22846us",
    "tc qdisc del dev wan0 root",
    "{\n  [ -z tc ]\n}",
)


class Queue(NamedTuple):
    """A queue at one instant."""

    dev: str
    kind: str
    handle: str
    parent: str
    packets: int


class Output(NamedTuple):
    """What tc printed of one device at one instant, and how the text says of which."""

    dev: str
    said: str
    queues: tuple[Queue, ...]
    time: str
    comment: str
    form: str = "text"

    def text(self, number: int) -> str:
        named = self.said in {"line", "script"}
        lines = [self.comment, stamp(self.time, number)]
        lines += [introduced(self.said, self.dev, number)]
        if self.form == "text":
            for queue in self.queues:
                lines += printed(queue, named=named)
        else:
            objects = [as_object(queue, named=named) for queue in self.queues]
            lines.append(json.dumps(objects, indent=4 if self.form == "pretty" else None))
        lines += [f"class {queue.kind} {queue.handle}1 root rate 5Mbit" for queue in self.queues]
        return "".join(f"{line}\n" for line in lines if line is not None)


def printed(queue: Queue, *, named: bool) -> list[str]:
    dev = f" dev {queue.dev}" * named
    place = queue.parent if queue.parent == "root" else f"parent {queue.parent}"
    sent = f"{1500 * queue.packets} bytes {queue.packets} pkt"
    lines = [
        f"qdisc {queue.kind} {queue.handle}{dev} {place} refcnt 2 {KINDS[queue.kind]} ",
        f" Sent {sent} (dropped 0, overlimits 0 requeues 0) ",
        " backlog 0b 0p requeues 0 ",
    ]
    if queue.kind == "pie":
        lines += [
            "  prob 0.000000 delay 0us",
            f"  pkts_in {queue.packets} overlimit 0 dropped 0 maxq 3 ecn_mark 0",
        ]
    if queue.kind == "fq_codel":
        lines += [
            "  maxpacket 1514 drop_overlimit 0 new_flow_count 4 ecn_mark 0",
            "  new_flows_len 0 old_flows_len 0",
        ]
    return lines


def as_object(queue: Queue, *, named: bool) -> dict[str, Any]:
    """The object that `tc -j -s` prints."""
    words = KINDS[queue.kind].split()
    pairs = dict(zip(words[::2], words[1::2], strict=False))
    options: dict[str, Any] = pairs
    if queue.kind == "pie":
        options = {"limit": 1000, "target": 15000, "tupdate": 16000, "alpha": 2, "beta": 20}
    place = {"root": True} if queue.parent == "root" else {"parent": queue.parent}
    return {
        "kind": queue.kind,
        "handle": queue.handle,
        **({"dev": queue.dev} if named else {}),
        **place,
        "options": options,
        "bytes": 1500 * queue.packets,
        "packets": queue.packets,
        "drops": 0,
        "overlimits": 0,
        "requeues": 0,
        "backlog": 0,
        "qlen": 0,
    }


def introduced(heading: str, dev: str, number: int) -> str | None:
    clock = f"20:{number // 60:02}:{number % 60:02}"
    return {
        "line": None,
        "prompt": f"user@fw:~$ sudo tc -s -d qdisc show dev {dev}",
        "trace": f"+ tc -s -d qdisc show dev {dev}",
        "root prompt": f"# /sbin/tc -s qd sh dev {dev}",
        "heading": f"=== {dev} ===" if dev[-1].isdigit() else f"dev {dev}:",
        "watch": f"Every 1.0s: tc -s qdisc show dev {dev}     fw: Fri Nov 27 {clock} 2026\n",
        "script": "tc -s qdisc show",
        "namespace": f"$ ip netns exec ns{dev} tc -s qdisc ls dev {dev} 2>/dev/null || true",
    }[heading]


def stamp(time: str, number: int) -> str | None:
    clock = f"20:{number // 60:02}:{number % 60:02}"
    return {
        "": None,
        "date": f"Fri Nov 27 {clock} UTC 2026",
        "Time": f"---\nTime: {1_764_270_000 + number}.25",
        "epoch": str(1_764_270_000_000 + number),
        "iso": f"2026-11-27T{clock}+00:00",
        "---": "---",
    }[time]


def quoted(text: str, way: str) -> str:
    """What mail, Windows, a terminal or a list makes of a text."""
    if way == "mail":
        return "".join(f"> {line}\n" for line in text.splitlines())
    if way == "windows":
        return text.replace("\n", "\r\n")
    if way == "colours":
        return text.replace("qdisc", "\x1b[1;32mqdisc\x1b[0m")
    if way == "journal":
        before = "Nov 27 20:00:00 fw sh[12]: "
        return "".join(f"{before}{line}\n" for line in text.splitlines())
    if way == "numbered":
        return "".join(f"{n:6}\t{line}\n" for n, line in enumerate(text.splitlines(), start=1))
    if way == "grep -n":
        return "".join(f"a/tc.log:{n}:{line}\n" for n, line in enumerate(text.splitlines()))
    if way == "indented":
        return "".join(f"    {line}\n" for line in text.splitlines())
    return text


@st.composite
def outputs(draw: st.DrawFn) -> list[Output]:
    """Up to ten outputs of up to five devices; the counters of each queue never fall."""
    devices = draw(st.lists(st.sampled_from(DEVICES), min_size=1, max_size=5, unique=True))
    trees = {dev: draw(trees_of(dev)) for dev in devices}
    #: One device is always said alike: who says it otherwise may mean another machine.
    statistics = {dev: draw(st.sampled_from(SAID)) for dev in devices}
    forms = {dev: draw(st.sampled_from(("text", "text", "json", "pretty"))) for dev in devices}
    order = draw(st.lists(st.sampled_from(devices), min_size=1, max_size=10))
    found = []
    packets = dict.fromkeys(devices, 0)
    for dev in order:
        packets[dev] += draw(st.integers(0, 3000))
        queues = tuple(queue._replace(packets=packets[dev]) for queue in trees[dev])
        comment = draw(st.sampled_from(COMMENTS))
        time = draw(st.sampled_from(("", "", "date", "Time", "epoch", "iso", "---")))
        # one device is shown alike, as other counters are of another form
        found.append(Output(dev, statistics[dev], queues, time, comment, forms[dev]))
    return found


@st.composite
def trees_of(draw: st.DrawFn, dev: str) -> tuple[Queue, ...]:
    handle = draw(st.sampled_from(HANDLES))
    if draw(st.booleans()):
        return (Queue(dev, draw(st.sampled_from(("pie", "fq_codel"))), handle, "root", 0),)
    below = draw(st.lists(st.sampled_from(("pie", "fq_codel")), min_size=1, max_size=3))
    return (
        Queue(dev, "htb", handle, "root", 0),
        *(
            Queue(dev, kind, f"{number}{handle[-2:]}", f"{handle}{number}", 0)
            for number, kind in enumerate(below, start=10)
        ),
    )


def text_of(found: Sequence[Output]) -> str:
    return "".join(output.text(number) for number, output in enumerate(found))
