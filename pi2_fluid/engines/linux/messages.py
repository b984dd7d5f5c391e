"""Messages of rtnetlink as bytes: links, addresses, routes, qdiscs, classes and filters.

The guest sends them as they are, so that a new qdisc needs nothing but a function here. Numbers are
little-endian, as on the machines for which a guest is built.

Source: Linux 7.2, include/uapi/linux/rtnetlink.h, if_link.h, if_addr.h, pkt_sched.h, pkt_cls.h,
gen_stats.h.
"""

from __future__ import annotations

import struct
from ipaddress import IPv4Address
from typing import Final, NamedTuple

from pi2_fluid.network.schedule import NS

#: ns in which the kernel's packet scheduler counts time.
TICK: Final = 64

_NEW_LINK, _NEW_ADDRESS, _NEW_ROUTE, _NEW_NEIGHBOUR = 16, 20, 24, 28
_NEW_QDISC, _NEW_CLASS, _NEW_FILTER = 36, 40, 44
_REPLACE, _EXCLUSIVE, _CREATE = 0x100, 0x200, 0x400
_NESTED: Final = 0x8000
_ROOT, _CLSACT_PARENT, _CLSACT_HANDLE, _INGRESS = 0xFFFFFFFF, 0xFFFFFFF1, 0xFFFF0000, 0xFFFFFFF2
_KIND, _OPTIONS = 1, 2  # TCA_KIND, TCA_OPTIONS
_NETWORK: Final = 24  # bits of an address that name its network
_QUEUE_LENGTH: Final = 1000  # of a device, which none of the qdiscs here reads
_MOST: Final = 2**32 - 1


class Message(NamedTuple):
    """A request, without its header."""

    namespace: int
    """In which of the guest's network namespaces it is sent."""
    device: str
    """Whose index the guest writes over bytes 4 to 7 of the payload; "": none."""
    kind: int
    """Of the message: RTM_NEWLINK and others."""
    flags: int
    """Beside NLM_F_REQUEST and NLM_F_ACK, which the guest adds."""
    payload: bytes

    def order(self) -> str:
        """Return it as the guest reads it: namespace, device, kind, flags and bytes."""
        device = self.device or "-"
        return f"nl {self.namespace} {device} {self.kind} {self.flags} {self.payload.hex()}"


def attribute(kind: int, value: int | bytes) -> bytes:
    """Return an attribute of a number of 32 bits, or of bytes, filled up to whole words.

    Examples
    --------
    >>> attribute(6, 1).hex(), attribute(1, b"pie").hex()
    ('0800060001000000', '0700010070696500')
    """
    data = value if isinstance(value, bytes) else struct.pack("<I", value)
    return struct.pack("<HH", len(data) + 4, kind) + data + bytes(-len(data) % 4)


def nest(kind: int, *attributes: bytes) -> bytes:
    """Return an attribute that holds others."""
    return attribute(kind | _NESTED, b"".join(attributes))


# Links, addresses, routes


def enable_link(namespace: int, device: str) -> Message:
    """Return what sets a device up."""
    up = 1  # IFF_UP
    return Message(namespace, device, _NEW_LINK, 0, _link_head(up, up))


def add_veth(
    namespace: int,
    device: str,
    far_fd: int,
    far: str,
    mtu: int,
    hardware: tuple[bytes, bytes],
) -> Message:
    """Return what makes a pair of devices, each end of which sends one segment per packet.

    Parameters
    ----------
    namespace : int
        That of the near end.
    device, far : str
        Names of the ends.
    far_fd : int
        File descriptor of the other end's namespace, in the guest.
    mtu : int
        Bytes of IP that a packet holds at most.
    hardware : tuple of bytes
        Ethernet addresses of the ends.
    """
    near_address, far_address = (attribute(1, one) for one in hardware)  # IFLA_ADDRESS
    # IFLA_MTU, IFLA_GSO_MAX_SEGS, IFLA_TXQLEN
    shape = attribute(4, mtu) + attribute(40, 1) + attribute(13, _QUEUE_LENGTH)
    name, peer, in_namespace = 3, 1, 28  # IFLA_IFNAME, VETH_INFO_PEER, IFLA_NET_NS_FD
    other = _link_head() + attribute(name, _text(far)) + far_address + shape
    other += attribute(in_namespace, far_fd)
    info = nest(18, attribute(1, _text("veth")), nest(2, attribute(peer, other)))  # IFLA_LINKINFO
    payload = _link_head() + attribute(name, _text(device)) + near_address + shape + info
    return Message(namespace, "", _NEW_LINK, _CREATE | _EXCLUSIVE, payload)


def add_address(namespace: int, device: str, address: str) -> Message:
    """Return what gives a device an IPv4 address in a network of 24 bits."""
    head = struct.pack("<BBBBI", 2, _NETWORK, 0, 0, 0)  # AF_INET
    packed = IPv4Address(address).packed
    local, remote = attribute(2, packed), attribute(1, packed)  # IFA_LOCAL, IFA_ADDRESS
    return Message(namespace, device, _NEW_ADDRESS, _CREATE | _EXCLUSIVE, head + local + remote)


def add_neighbour(namespace: int, device: str, address: str, hardware: bytes) -> Message:
    """Return what says for good which Ethernet address an IPv4 address behind a device has.

    So none is asked for: the answer would come back as late as acknowledgements do.
    """
    permanent = 0x80  # NUD_PERMANENT
    head = struct.pack("<B3xiHBB", 2, 0, permanent, 0, 0)  # AF_INET
    payload = head + attribute(1, IPv4Address(address).packed) + attribute(2, hardware)
    return Message(namespace, device, _NEW_NEIGHBOUR, _CREATE | _REPLACE, payload)


def add_default_route(namespace: int, gateway: str) -> Message:
    """Return what sends everything else to a gateway."""
    table, boot, unicast = 254, 3, 1  # RT_TABLE_MAIN, RTPROT_BOOT, RTN_UNICAST
    head = struct.pack("<BBBBBBBBI", 2, 0, 0, 0, table, boot, 0, unicast, 0)
    payload = head + attribute(5, IPv4Address(gateway).packed)  # RTA_GATEWAY
    return Message(namespace, "", _NEW_ROUTE, _CREATE | _EXCLUSIVE, payload)


# Qdiscs


def add_qdisc(
    namespace: int, device: str, handle: int, parent: int | None, kind: str, options: bytes
) -> Message:
    """Return what adds a qdisc.

    Parameters
    ----------
    namespace, device : int, str
        Where.
    handle : int
        Its own, major number in the upper 16 bits.
    parent : int or None
        The class it is in; None: it is the root.
    kind : str
        As the kernel calls it.
    options : bytes
        Its TCA_OPTIONS with their header; b"" for none.
    """
    above = _ROOT if parent is None else parent
    return _traffic(namespace, device, _NEW_QDISC, handle, above, kind, options)


def add_htb(namespace: int, device: str, handle: int) -> Message:
    """Return what adds a hierarchical token bucket as the root, all of whose traffic is in class 1.

    Its version is 3; 10 turns rates to quanta, which a bucket of one class does not use.
    """
    options = nest(_OPTIONS, attribute(2, struct.pack("<5I", 3, 10, 1, 0, 0)))  # TCA_HTB_INIT
    return add_qdisc(namespace, device, handle, None, "htb", options)


def set_htb_class(
    namespace: int, device: str, handle: int, rate: float, burst: int, *, replace: bool = False
) -> Message:
    """Return what adds class 1 of a token bucket, or gives it another rate.

    Parameters
    ----------
    namespace, device, handle : int, str, int
        Of the bucket.
    rate : float
        Bit/s, of which the kernel keeps whole bytes per second.
    burst : int
        Bytes that may go at once after idle time.
    replace : bool
        Whether there is one already.
    """
    per_second = round(rate / 8.0)
    ethernet, no_shift = 1, -1  # TC_LINKLAYER_ETHERNET; sizes count from 1
    spec = struct.pack("<BBHhHI", 0, ethernet, 0, no_shift, 0, min(per_second, _MOST))
    tokens = round(burst / per_second * NS / TICK)
    numbers = spec + spec + struct.pack("<5I", tokens, tokens, 10 * burst, 0, 0)
    options = attribute(1, numbers)  # TCA_HTB_PARMS
    if per_second > _MOST:
        wide = struct.pack("<Q", per_second)
        options += attribute(6, wide) + attribute(7, wide)  # TCA_HTB_RATE64, TCA_HTB_CEIL64
    how = 0 if replace else _EXCLUSIVE
    return _traffic(
        namespace, device, _NEW_CLASS, handle | 1, handle, "htb", nest(_OPTIONS, options), how
    )


def add_priorities(namespace: int, device: str, handle: int, bands: int) -> Message:
    """Return what adds a root of several bands, of which a socket's priority names one."""
    options = attribute(_OPTIONS, struct.pack("<i16x", bands))
    return add_qdisc(namespace, device, handle, None, "prio", options)


def add_netem(
    namespace: int, device: str, handle: int, parent: int, delay: int, limit: int
) -> Message:
    """Return what delays packets by so many ns, and holds as many as `limit`."""
    # struct tc_netem_qopt, then TCA_NETEM_LATENCY64.
    numbers = struct.pack("<6I", 0, limit, 0, 0, 0, 0) + attribute(10, struct.pack("<q", delay))
    return add_qdisc(namespace, device, handle, parent, "netem", attribute(_OPTIONS, numbers))


def netem_lottery(limit: int, chance: float, *, mark: bool) -> bytes:
    """Return the options of a netem that loses each packet by chance, or marks it.

    Parameters
    ----------
    limit : int
        Packets that it holds at most.
    chance : float
        Of each packet, of which the kernel keeps 32 bits.
    mark : bool
        Whether packets that can be marked are marked instead.
    """
    lost = min(round(chance * 2**32), _MOST)
    # struct tc_netem_qopt; TCA_NETEM_ECN.
    return attribute(
        _OPTIONS, struct.pack("<6I", 0, limit, lost, 0, 0, 0) + attribute(7, int(mark))
    )


# What rewrites packets


def add_clsact(namespace: int, device: str) -> Message:
    """Return what lets a device have filters for what comes in."""
    return add_qdisc(namespace, device, _CLSACT_HANDLE, _CLSACT_PARENT, "clsact", b"")


def mark_as_l4s(namespace: int, device: str, port: int, priority: int) -> Message:
    """Return a filter of what comes in: ECT(0) to a TCP port becomes ECT(1).

    Linux's DCTCP sends ECT(0), and a dual queue looks for ECT(1). Flower finds the packets, pedit
    turns the last two bits of the second byte from 2 to 1, csum mends the header's sum.
    """
    ip = 0x0800
    on, out = 3, 0  # TC_ACT_PIPE, TC_ACT_OK
    keep, turn = struct.pack("4B", 255, 0xFC, 255, 255), struct.pack("4B", 0, 1, 0, 0)
    one_key = struct.pack("<IIiii", 0, 0, on, 0, 0) + struct.pack("<BBxx", 1, 0)
    edit = one_key + keep + turn + struct.pack("<4I", 0, 0, 0, 0)
    of_ip = struct.pack("<IIiii", 0, 0, out, 0, 0) + struct.pack("<I", 1)  # TCA_CSUM_UPDATE_FLAG_..
    actions = nest(3, _action(1, "pedit", 2, edit), _action(2, "csum", 1, of_ip))  # ..IPV4HDR
    options = nest(
        _OPTIONS,
        attribute(8, struct.pack(">H", ip)),  # TCA_FLOWER_KEY_ETH_TYPE
        attribute(9, b"\x06"),  # TCA_FLOWER_KEY_IP_PROTO: TCP
        attribute(19, struct.pack(">H", port)),  # TCA_FLOWER_KEY_TCP_DST, all of it
        attribute(73, b"\x02"),  # TCA_FLOWER_KEY_IP_TOS and its mask
        attribute(74, b"\x03"),
        actions,
    )
    protocol = int.from_bytes(struct.pack(">H", ip), "little")
    about = priority << 16 | protocol
    return _traffic(
        namespace, device, _NEW_FILTER, 0, _INGRESS, "flower", options, _EXCLUSIVE, about
    )


def _action(order: int, kind: str, number: int, numbers: bytes) -> bytes:
    return nest(order, attribute(1, _text(kind)), nest(2, attribute(number, numbers)))


def _traffic(
    namespace: int,
    device: str,
    what: int,
    handle: int,
    parent: int,
    kind: str,
    options: bytes,
    how: int = _EXCLUSIVE,
    about: int = 0,
) -> Message:
    """Return a struct tcmsg with its kind and options."""
    head = struct.pack("<B3xiIII", 0, 0, handle, parent, about)
    payload = head + attribute(_KIND, _text(kind)) + options
    return Message(namespace, device, what, _CREATE | how, payload)


def _link_head(flags: int = 0, change: int = 0) -> bytes:
    """Return a struct ifinfomsg."""
    return struct.pack("<BxHiII", 0, 0, 0, flags, change)


def _text(word: str) -> bytes:
    return word.encode() + b"\0"
