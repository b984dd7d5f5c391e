"""Messages against what iproute2 sends for the same, as tools/record_netlink.py has recorded it.

They are compared attribute by attribute, wherever these stand. What differs is listed, byte for
byte, with why it may.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pi2_fluid as pf
from pi2_fluid.engines.linux import messages
from pi2_fluid.engines.linux.laws import qdisc_of
from pi2_fluid.engines.linux.messages import Message
from pi2_fluid.laws.kernel.qdiscs import QDISCS

DATA = Path(__file__).resolve().parents[2] / "data" / "iproute2_messages.json"
RECORDED: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))

LINK = pf.Link("10Mbit/s", kind="htb", buffer=1000)
QUEUE, OWN, PARENT = "tc qdisc add dev lo parent 1:1 handle 10: ", 0x100000, 0x10001
SHAPE = "mtu 1486 gso_max_segs 1 txqueuelen 1000"
HTB = "dev lo parent 1: classid 1:1 htb rate"
BURST = "burst 1500 cburst 1500"

MESSAGES: dict[str, Message] = {
    f"ip link add name r_s address 02:00:00:00:00:02 {SHAPE} type veth peer name s_r address"
    f" 02:00:00:00:00:01 {SHAPE} netns host": (
        messages.add_veth(1, "r_s", 4, "s_r", 1486, (b"\2\0\0\0\0\2", b"\2\0\0\0\0\1"))
    ),
    "ip link set dev lo up": messages.enable_link(0, "lo"),
    "ip address add 10.0.1.1/24 dev lo": messages.add_address(0, "lo", "10.0.1.1"),
    "ip neighbour replace 10.0.1.2 lladdr 02:00:00:00:00:02 dev lo nud permanent": (
        messages.add_neighbour(0, "lo", "10.0.1.2", b"\2\0\0\0\0\2")
    ),
    "ip route add default via 10.0.1.2": messages.add_default_route(0, "10.0.1.2"),
    "tc qdisc add dev lo root handle 1: htb default 1": messages.add_htb(1, "lo", 0x10000),
    f"tc class add {HTB} 10mbit {BURST}": messages.set_htb_class(1, "lo", 0x10000, 10e6, 1500),
    f"tc class replace {HTB} 20mbit {BURST}": (
        messages.set_htb_class(1, "lo", 0x10000, 20e6, 1500, replace=True)
    ),
    f"tc class add {HTB} 100gbit {BURST}": messages.set_htb_class(1, "lo", 0x10000, 1e11, 1500),
    "tc qdisc add dev lo root handle 1: prio bands 3": messages.add_priorities(2, "lo", 0x10000, 3),
    "tc qdisc add dev lo parent 1:1 handle 20: netem delay 100ms limit 200000": (
        messages.add_netem(2, "lo", 0x200000, PARENT, 100_000_000, 200_000)
    ),
    "tc qdisc add dev lo parent 1:1 handle 10: netem limit 1000 loss 25% ecn": messages.add_qdisc(
        1, "lo", 0x100000, PARENT, "netem", messages.netem_lottery(1000, 0.25, mark=True)
    ),
    "tc qdisc add dev lo clsact": messages.add_clsact(1, "lo"),
    "tc filter add dev lo ingress protocol ip pref 32 flower ip_proto tcp dst_port 5001"
    " ip_tos 2/3 action pedit munge ip tos set 1 retain 3 pipe action csum ip4h": (
        messages.mark_as_l4s(1, "lo", 5001, 32)
    ),
}

RED = pf.Red(min=8, max=40, gentle=False, weight=2**-8)
MEMORY = "memlimit 2147483647"
PI2_TIMES = "target 20ms tupdate 32ms alpha 0.3125 beta 3.125"
LAWS: dict[str, pf.Aqm] = {
    "pie limit 1000 target 15ms tupdate 14ms alpha 2 beta 20 ecn no_dq_rate_estimator": pf.Pie(
        alpha=0.125, beta=1.25, target="15ms", update_interval="15ms", ecn=True
    ),
    "pie limit 1000 target 20ms tupdate 31ms alpha 1 beta 10 noecn dq_rate_estimator": pf.Pie(
        alpha=1 / 16,
        beta=10 / 16,
        target="20ms",
        update_interval="32ms",
        rate_estimator=True,
    ),
    f"dualpi2 limit 1000 {MEMORY} target 15ms tupdate 16ms alpha 0.1602 beta 3.1993 step_thresh 1ms"
    " min_qlen_step 0 coupling_factor 2 drop_on_overload drop_dequeue classic_protection 10": (
        pf.DualPi2()
    ),
    f"dualpi2 limit 1000 {MEMORY} {PI2_TIMES} step_thresh 2ms min_qlen_step 3 coupling_factor 4"
    " overflow drop_enqueue classic_protection 25": pf.DualPi2(
        target="20ms",
        update_interval="32ms",
        alpha=0.3125,
        beta=3.125,
        k=4,
        step="2ms",
        min_step_packets=3,
        c_protection=0.25,
        drop_overload=False,
        drop_at="enqueue",
    ),
    f"dualpi2 limit 1000 {MEMORY} {PI2_TIMES} coupling_factor 1 drop_on_overload drop_enqueue": (
        pf.Pi2()
    ),
    "codel limit 1000 target 5ms interval 100ms noecn": pf.CoDel(),
    "codel limit 1000 target 13ms interval 200ms ecn": pf.CoDel(
        target="13ms", interval="200ms", ecn=True
    ),
    "red limit 1500000 min 12000 max 60000 avpkt 1500 burst 50 probability 0.1": RED,
    "red limit 1500000 min 12000 max 60000 avpkt 1500 burst 50 probability 0.02 ecn harddrop": (
        pf.Red(min=8, max=40, gentle=False, weight=2**-8, max_p=0.02, ecn=True, harddrop=True)
    ),
    "pfifo limit 1000": pf.TailDrop(),
}
#: The options of the kernel's own, in the words of tc and in those of `Qdisc`.
OPAQUE: dict[str, dict[str, Any]] = {
    "fq_codel limit 1000": {},
    "fq_codel limit 1000 target 4ms interval 80ms ecn flows 64 quantum 300 ce_threshold 1ms"
    " memory_limit 1000000 drop_batch 32": {
        "target": "4ms",
        "interval": "80ms",
        "ecn": True,
        "flows": 64,
        "quantum": 300,
        "ce_threshold": "1ms",
        "memory_limit": "1MB",
        "drop_batch": 32,
    },
    "fq_codel limit 1000 noecn": {"ecn": False},
    "fq_pie limit 1000": {},
    "fq_pie limit 1000 flows 64 target 20ms tupdate 30ms alpha 3 beta 25 quantum 300"
    " memory_limit 1000000 ecn_prob 20 ecn bytemode dq_rate_estimator": {
        "flows": 64,
        "target": "20ms",
        "tupdate": "30ms",
        "alpha": 3,
        "beta": 25,
        "quantum": "300B",
        "memory_limit": 1e6,
        "ecn_prob": 20,
        "ecn": True,
        "bytemode": True,
        "dq_rate_estimator": True,
    },
    "fq_pie limit 1000 noecn nobytemode no_dq_rate_estimator": {
        "ecn": False,
        "bytemode": False,
        "dq_rate_estimator": False,
    },
    "cake": {},
    "cake rtt 50ms": {"rtt": "50ms"},
    "cake bandwidth 8mbit diffserv4 dual-srchost wash ingress ack-filter memlimit 2000000"
    " overhead 18 mpu 64 no-split-gso": {
        "bandwidth": "8Mbit/s",
        "diffserv": "diffserv4",
        "isolation": "dual-srchost",
        "wash": True,
        "ingress": True,
        "ack_filter": True,
        "memlimit": "2MB",
        "overhead": 18,
        "mpu": "64B",
        "split_gso": False,
    },
    "cake overhead -10 nowash egress no-ack-filter split-gso": {
        "overhead": -10,
        "wash": False,
        "ingress": False,
        "ack_filter": False,
        "split_gso": True,
    },
    "cake bandwidth 40gbit precedence srchost ack-filter-aggressive": {
        "bandwidth": "40Gbit/s",
        "diffserv": "precedence",
        "isolation": "srchost",
        "ack_filter": "aggressive",
    },
    "cake besteffort flowblind": {"diffserv": "besteffort", "isolation": "flowblind"},
    "cake diffserv3 dsthost": {"diffserv": "diffserv3", "isolation": "dsthost"},
    "cake diffserv8 hosts": {"diffserv": "diffserv8", "isolation": "hosts"},
    **{f"cake {mode}": {"isolation": mode} for mode in ("flows", "dual-dsthost", "triple-isolate")},
    "fq limit 1000": {},
    "fq limit 1000 flow_limit 50 quantum 3000 initial_quantum 30000 maxrate 4mbit buckets 256"
    " refill_delay 20ms low_rate_threshold 400kbit ce_threshold 1ms timer_slack 5us horizon 5s"
    " horizon_cap pacing": {
        "flow_limit": 50,
        "quantum": 3000,
        "initial_quantum": 30000,
        "maxrate": "4Mbit/s",
        "buckets": 256,
        "refill_delay": "20ms",
        "low_rate_threshold": "400kbit/s",
        "ce_threshold": "1ms",
        "timer_slack": "5us",
        "horizon": "5s",
        "horizon_drop": False,
        "pacing": True,
    },
    "fq limit 1000 nopacing horizon_drop": {"pacing": False, "horizon_drop": True},
    "sfq limit 1000": {},
    "sfq limit 1000 perturb 10 quantum 3000 flows 64 divisor 512 depth 32 headdrop": {
        "perturb": "10s",
        "quantum": 3000,
        "flows": 64,
        "divisor": 512,
        "depth": 32,
        "headdrop": True,
    },
}


def queue(law: pf.Aqm) -> Message:
    told = qdisc_of(law, LINK)
    return messages.add_qdisc(1, "lo", OWN, PARENT, told.kind, told.options)


MESSAGES |= {QUEUE + words: queue(law) for words, law in LAWS.items()}
MESSAGES |= {
    QUEUE + words: queue(pf.linux.Qdisc(words.split()[0], **options))
    for words, options in OPAQUE.items()
}

ANYTHING = "anything"  # in the place of bytes
#: By the beginning of a command: attribute -> ours and tc's, None where it is left out.
EXPLAINED: dict[str, dict[tuple[int, ...], tuple[str | None, str | None]]] = {
    # cell_log of both rates is of tc's tables of times, TCA_HTB_CTAB and TCA_HTB_RTAB, which the
    # kernel reads for link layers that it does not know only. Of the quantum, which a bucket of
    # one class does not use, the kernel warns where it makes it by itself and finds it too large.
    "tc class add dev lo parent 1: classid 1:1 htb rate 10mbit": {
        (2, 1): (
            "00010000ffff0000d012130000010000ffff0000d01213003e4900003e490000983a0000" + 16 * "0",
            "03010000ffff0000d012130003010000ffff0000d01213003e4900003e490000" + 24 * "0",
        ),
        (2, 3): (None, ANYTHING),
        (2, 4): (None, ANYTHING),
    },
    "tc class replace dev lo parent 1: classid 1:1 htb rate 20mbit": {
        (2, 1): (
            "00010000ffff0000a025260000010000ffff0000a02526009f2400009f240000983a0000" + 16 * "0",
            "03010000ffff0000a025260003010000ffff0000a02526009f2400009f240000" + 24 * "0",
        ),
        (2, 3): (None, ANYTHING),
        (2, 4): (None, ANYTHING),
    },
    "tc class add dev lo parent 1: classid 1:1 htb rate 100gbit": {
        (2, 1): (
            "00010000ffff0000ffffffff00010000ffff0000ffffffff0200000002000000983a0000" + 16 * "0",
            "03010000ffff0000ffffffff03010000ffff0000ffffffff0200000002000000" + 24 * "0",
        ),
        (2, 3): (None, ANYTHING),
        (2, 4): (None, ANYTHING),
    },
    # The map from priorities to bands is for packets whose priority names no class, of which there
    # are none; tc's names bands that fewer than 3 do not have. It ends with an empty nest.
    "tc qdisc add dev lo root handle 1: prio": {
        (2,): ("03000000" + 32 * "0", "0300000001020202010200000101010101010101" + "04000200"),
    },
    # TCA_FLOWER_FLAGS of 0, as where it is left out: neither only in hardware nor never there.
    "tc filter": {(2, 22): (None, "00000000")},
    # Plog, for kernels without TCA_RED_MAX_P; Scell_log and TCA_RED_STAB, by which tc lets the mean
    # decay while nothing waits, and no bucket asks an empty queue.
    f"{QUEUE}red limit 1500000 min 12000 max 60000 avpkt 1500 burst 50 probability 0.1": {
        (2, 1): ("60e31600e02e000060ea0000081f0000", "60e31600e02e000060ea000008131300"),
        (2, 2): (512 * "0", ANYTHING),
    },
    f"{QUEUE}red limit 1500000 min 12000 max 60000 avpkt 1500 burst 50 probability 0.02": {
        (2, 1): ("60e31600e02e000060ea0000081f0000", "60e31600e02e000060ea000008161300"),
        (2, 2): (512 * "0", ANYTHING),
    },
    # TCA_CAKE_AUTORATE of 0, as where it is left out.
    f"{QUEUE}cake bandwidth": {(2, 9): (None, "00000000")},
}

HEADS = {16: 16, 20: 8, 24: 12, 28: 12, 36: 20, 40: 20, 44: 20}  # bytes in front of the attributes
NESTED = 0x8000
VETH_PEER = (18, 2, 1)  # which holds a struct ifinfomsg and attributes


def attributes(data: bytes) -> dict[int, bytes]:
    """Attributes by number, with the nested flag that not all of tc's have."""
    found = {}
    while data:
        length, number = (int.from_bytes(data[at : at + 2], "little") for at in (0, 2))
        assert number not in found
        found[number] = data[4:length]
        data = data[(length + 3) // 4 * 4 :]
    return found


def differences(
    ours: bytes, theirs: bytes, place: tuple[int, ...] = ()
) -> dict[tuple[int, ...], tuple[str | None, str | None]]:
    """Compare two rows of attributes; what is nested is what ours say is."""
    found: dict[tuple[int, ...], tuple[str | None, str | None]] = {}
    mine = attributes(ours)
    tcs = {number & ~NESTED: value for number, value in attributes(theirs).items()}
    for number, value in mine.items():
        here = (*place, number & ~NESTED)
        other = tcs.pop(number & ~NESTED, None)
        if other is not None and (number & NESTED or here == VETH_PEER):
            head = 16 if here == VETH_PEER else 0
            assert value[:head] == other[:head]
            found |= differences(value[head:], other[head:], here)
        elif value != other:
            found[here] = (value.hex(), None if other is None else other.hex())
    return found | {(*place, number): (None, value.hex()) for number, value in tcs.items()}


def test_it_was_recorded_with_a_current_iproute2() -> None:
    assert RECORDED["iproute2"] == "7.3.0"
    assert set(RECORDED["sent"]) == set(MESSAGES)


@pytest.mark.parametrize("command", MESSAGES)
def test_it_is_what_iproute2_sends(command: str) -> None:
    message, recorded = MESSAGES[command], RECORDED["sent"][command]
    assert message.kind == recorded["kind"]
    assert message.flags | 0x5 == recorded["flags"]  # NLM_F_REQUEST | NLM_F_ACK, of the guest
    theirs, head = bytes.fromhex(recorded["payload"]), HEADS[message.kind]
    index = bytes([1, 0, 0, 0]) if message.device else bytes(4)  # lo, and in the guest written over
    ours = message.payload[:4] + index + message.payload[8:] if message.device else message.payload
    assert ours[:head] == theirs[:head]
    known = [why for start, why in EXPLAINED.items() if command.startswith(start)]
    expected = known[0] if known else {}
    found = differences(ours[head:], theirs[head:])
    assert set(found) == set(expected)
    for place, (mine, tcs) in expected.items():
        assert found[place][0] == mine
        assert tcs in (ANYTHING, found[place][1])


def test_every_explanation_is_needed() -> None:
    for start in EXPLAINED:
        assert any(command.startswith(start) for command in MESSAGES), start


def test_every_option_of_the_kernels_own_is_among_them() -> None:
    asked: dict[str, set[str]] = {name: set() for name in QDISCS}
    for words, options in OPAQUE.items():
        asked[words.split()[0]] |= set(options)
    assert asked == {name: set(options) for name, options in QDISCS.items()}
