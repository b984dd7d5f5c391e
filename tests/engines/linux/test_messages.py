"""Messages of rtnetlink, byte for byte, written down from the kernel's headers."""

from __future__ import annotations

import pytest

from pi2_fluid.engines.linux.messages import (
    Message,
    add_address,
    add_clsact,
    add_default_route,
    add_htb,
    add_neighbour,
    add_netem,
    add_priorities,
    add_qdisc,
    add_veth,
    attribute,
    enable_link,
    mark_as_l4s,
    nest,
    netem_lottery,
    set_htb_class,
)

# struct ifinfomsg, all 0; IFLA_MTU 1486; IFLA_GSO_MAX_SEGS 1; IFLA_TXQLEN 1000
NO_LINK = "00000000 00000000 00000000 00000000"
SHAPE = "0800 0400 ce050000  0800 2800 01000000  0800 0d00 e8030000"

GOLDEN = {
    # ifi_flags and ifi_change: IFF_UP
    "up": (enable_link(0, "lo"), 16, 0, "00000000 00000000 01000000 01000000"),
    # AF_INET, 24 bits, IFA_LOCAL, IFA_ADDRESS
    "address": (
        add_address(0, "s_r", "10.0.1.1"),
        20,
        0x600,
        "02 18 00 00 00000000  0800 0200 0a000101  0800 0100 0a000101",
    ),
    # struct ndmsg: AF_INET, NUD_PERMANENT; NDA_DST, NDA_LLADDR
    "neighbour": (
        add_neighbour(0, "s_r", "10.0.1.2", b"\x02\0\0\0\0\x02"),
        28,
        0x500,
        "02 000000 00000000 8000 00 00  0800 0100 0a000102  0a00 0200 020000000002 0000",
    ),
    # AF_INET, table 254, RTPROT_BOOT, scope 0, RTN_UNICAST, RTA_GATEWAY
    "route": (
        add_default_route(0, "10.0.1.2"),
        24,
        0x600,
        "02 00 00 00 fe 03 00 01 00000000  0800 0500 0a000102",
    ),
    # IFLA_IFNAME "r_s"; IFLA_ADDRESS; the shape; IFLA_LINKINFO { IFLA_INFO_KIND "veth",
    # IFLA_INFO_DATA { VETH_INFO_PEER: ifinfomsg, IFLA_IFNAME "s_r", IFLA_ADDRESS, the shape,
    # IFLA_NET_NS_FD 100 } }
    "veth": (
        add_veth(1, "r_s", 100, "s_r", 1486, (bytes(6), b"\x02\0\0\0\0\x01")),
        16,
        0x600,
        (
            f"{NO_LINK} 0800 0300 725f7300 0a00 0100 000000000000 0000 {SHAPE}"
            " 5c00 1280  0900 0100 76657468 00000000  4c00 0280  4800 0100"
            f" {NO_LINK} 0800 0300 735f7200 0a00 0100 020000000001 0000 {SHAPE}"
            " 0800 1c00 64000000"
        ),
    ),
    # struct tcmsg: handle 1:, TC_H_ROOT; TCA_KIND "htb"; TCA_HTB_INIT: version 3, rate2quantum 10,
    # defcls 1
    "htb": (
        add_htb(1, "r_d", 0x10000),
        36,
        0x600,
        (
            "00000000 00000000 00000100 ffffffff 00000000  0800 0100 68746200"
            " 1c00 0280  1800 0200 03000000 0a000000 01000000 00000000 00000000"
        ),
    ),
    # handle 1:1 in 1:; TCA_HTB_PARMS: two struct tc_ratespec (linklayer 1, cell_align -1,
    # 1250000 byte/s), buffer and cbuffer 1.2 ms in ticks of 64 ns = 18750, quantum 15000
    "class": (
        set_htb_class(1, "r_d", 0x10000, 10e6, 1500),
        40,
        0x600,
        (
            "00000000 00000000 01000100 00000100 00000000  0800 0100 68746200"
            " 3400 0280  3000 0100 00 01 0000 ffff 0000 d0121300  00 01 0000 ffff 0000 d0121300"
            " 3e490000 3e490000 983a0000 00000000 00000000"
        ),
    ),
    # handle 20: in 1:1; struct tc_netem_qopt: limit 200000;
    # TCA_NETEM_LATENCY64 100000000
    "netem": (
        add_netem(2, "d_r", 0x200000, 0x10001, 100_000_000, 200_000),
        36,
        0x600,
        (
            "00000000 00000000 00002000 01000100 00000000  0a00 0100 6e6574656d000000"
            " 2800 0200 00000000 400d0300 00000000 00000000 00000000 00000000"
            " 0c00 0a00 00e1f50500000000"
        ),
    ),
    # struct tc_prio_qopt: bands, and a map of 16 bytes
    "prio": (
        add_priorities(2, "d_r", 0x10000, 2),
        36,
        0x600,
        (
            "00000000 00000000 00000100 ffffffff 00000000  0900 0100 7072696f 00000000"
            " 1800 0200 02000000 00000000 00000000 00000000 00000000"
        ),
    ),
    # TC_H_CLSACT at ffff:
    "clsact": (
        add_clsact(1, "r_s"),
        36,
        0x600,
        "00000000 00000000 0000ffff f1ffffff 00000000  0b00 0100 636c7361637400 00",
    ),
    # on ingress, priority 32, ETH_P_IP; flower: IPv4, TCP, port 5000, the last two bits of TOS are
    # 2; pedit: mask fffcffff on the header's first word, then 1 in its second byte; csum of IPv4
    "l4s": (
        mark_as_l4s(1, "r_s", 5000, 32),
        44,
        0x600,
        (
            "00000000 00000000 00000000 f2ffffff 08002000  0b00 0100 666c6f77657200 00"
            " a800 0280  0600 0800 0800 0000  0500 0900 06 000000  0600 1300 1388 0000"
            " 0500 4900 02 000000  0500 4a00 03 000000"
            " 7c00 0380"
            " 4800 0180  0a00 0100 706564697400 0000  3800 0280  3400 0200"
            " 00000000 00000000 03000000 00000000 00000000  01 00 0000"
            " fffcffff 00010000 00000000 00000000 00000000 00000000"
            " 3000 0280  0900 0100 6373756d 00000000  2000 0280  1c00 0100"
            " 00000000 00000000 00000000 00000000 00000000 01000000"
        ),
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_bytes_are_those_of_the_headers(name: str) -> None:
    message, kind, flags, payload = GOLDEN[name]
    assert (message.kind, message.flags) == (kind, flags)
    assert message.payload.hex() == payload.replace(" ", "")


def test_a_lottery_is_a_netem_that_loses_or_marks() -> None:
    """struct tc_netem_qopt: no latency, limit 100, loss 2^30 of 2^32; TCA_NETEM_ECN."""
    found = netem_lottery(100, 0.25, mark=True).hex()
    zero = "00000000"
    assert found == f"24000200 {zero} 64000000 00000040 {zero * 3} 08000700 01000000".replace(
        " ", ""
    )
    assert netem_lottery(100, 1.0, mark=False).hex()[24:32] == "ffffffff"


def test_attributes_are_filled_up_to_words_but_say_their_own_length() -> None:
    assert attribute(12, b"\x01").hex() == "05000c0001000000"
    assert nest(2, attribute(12, b"\x01")).hex() == "0c000280" + "05000c0001000000"
    assert attribute(2, b"abcd").hex() == "08000200" + b"abcd".hex()


def test_a_rate_beyond_32_bits_has_attributes_of_its_own() -> None:
    wide = set_htb_class(1, "r_d", 0x10000, 80e9, 1500).payload.hex()
    rate = (10**10).to_bytes(8, "little").hex()
    assert wide.endswith(f"0c000600{rate}0c000700{rate}")
    assert "ffffffff" in wide  # what 32 bits hold of it
    assert set_htb_class(1, "r_d", 0x10000, 10e6, 1500, replace=True).flags == 0x400


def test_an_order_is_one_line() -> None:
    qdisc = add_qdisc(1, "r_d", 0x100000, 0x10001, "pfifo", b"")
    assert qdisc.order() == f"nl 1 r_d 36 1536 {qdisc.payload.hex()}"
    assert Message(2, "", 24, 0, b"\x01").order() == "nl 2 - 24 0 01"
