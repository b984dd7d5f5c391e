"""Cells of which nothing was recorded: where packets are least sure, for the kernel at hand."""

from __future__ import annotations

from typing import Final

import pi2_fluid as pf
from pi2_fluid.referee.cells import Cell

_PIE_INTERVAL: Final = "33ms"  # 32 jiffies of 1 ms, and one by which the timer wheel is late
# Guests have no noise. Rates and times are odd, so that none is a multiple of another (of packets,
# jiffies, CoDel's interval) and nothing hangs on less than a microsecond.
_RATE: Final = "10.3Mbit/s"
_SHORT, _MIDDLE, _LONG = "21.7ms", "53.9ms", "97.3ms"
# In the kernel the queue's timer has a phase of its own. Begun with the run, it would strike with
# the jiffies by which timeouts are sent, again and again just before a packet leaves.
_PI2_FIRST: Final = "32.1ms"


def _cell(
    name: str, title: str, aqm: pf.Aqm, *flows: pf.Flows, seconds: int = 60, remark: str = ""
) -> Cell:
    link = pf.Link(_RATE, "100000 packets", kind="htb", delay_on="return", ack_jitter=0)
    return Cell(name, title, pf.Scenario(f"{seconds}s", link, aqm, list(flows)), "", remark=remark)


def _flows(
    sender: pf.Sender, count: int, rtt: str, *, ecn: bool | None = None, jitter: str = "1s"
) -> pf.Flows:
    return pf.Flows(sender, count, rtt, ecn=ecn, start_jitter=jitter)


def _udp() -> pf.Flows:
    return pf.Flows(pf.Cbr(rate="6.17Mbit/s"), 2, name="udp")


def _pi2(
    target: str = "20ms", *, first: str = _PI2_FIRST, drop_at: str = "dequeue", ecn: bool = False
) -> pf.Pi2:
    return pf.Pi2(target=target, first_update=first, arithmetic="fixed", drop_at=drop_at, ecn=ecn)


def _pie(target: str = "20ms", *, ecn: bool = False) -> pf.Pie:
    return pf.Pie(
        alpha=0.125, beta=1.25, target=target, update_interval=_PIE_INTERVAL, ecn=ecn,
        arithmetic="fixed",
    )  # fmt: skip


_RENO, _DCTCP = pf.Reno(), pf.Dctcp()

#: Shown with z, not judged by tolerances: the kernel at hand is all there is.
LIVE_CELLS: Final = (
    _cell("pi2_udp_5ms", "PI2 5 ms, 12.3 Mbit/s of UDP alone", _pi2("5ms"), _udp()),
    _cell("pi2_5ms_5", "PI2 5 ms, 5 Reno, 21.7 ms", _pi2("5ms"), _flows(_RENO, 5, _SHORT)),
    _cell("pi2_5ms_10", "PI2 5 ms, 10 Reno, 21.7 ms", _pi2("5ms"), _flows(_RENO, 10, _SHORT)),
    _cell("pi2_2ms_10", "PI2 2 ms, 10 Reno, 21.7 ms", _pi2("2ms"), _flows(_RENO, 10, _SHORT)),
    _cell(
        "pi2_5ms_enqueue", "PI2 5 ms, dropping at enqueue, 10 Reno, 21.7 ms",
        _pi2("5ms", drop_at="enqueue"), _flows(_RENO, 10, _SHORT),
    ),
    _cell(
        "pi2_5ms_overload", "PI2 5 ms, 5 Reno, 21.7 ms, and 12.3 Mbit/s of UDP",
        _pi2("5ms"), _flows(_RENO, 5, _SHORT), _udp(),
    ),
    _cell("pie_2", "PIE, 2 Reno, 97.3 ms", _pie(), _flows(_RENO, 2, _LONG), seconds=100),
    _cell("pie_10", "PIE, 10 Reno, 53.9 ms", _pie(), _flows(_RENO, 10, _MIDDLE)),
    _cell("pie_5ms_10", "PIE 5 ms, 10 Reno, 21.7 ms", _pie("5ms"), _flows(_RENO, 10, _SHORT)),
    _cell(
        "codel_20ms_5", "CoDel 20 ms, 5 Reno, 97.3 ms",
        pf.CoDel(target="20ms", arithmetic="fixed"), _flows(_RENO, 5, _LONG),
    ),
    _cell("pie_udp", "PIE, 12.3 Mbit/s of UDP alone", _pie(), _udp()),
    _cell(
        "pie_ecn_syn", "PIE with ECN, 30 Reno, 97.3 ms, that come within 40 s",
        _pie(ecn=True), _flows(_RENO, 30, _LONG, ecn=True, jitter="40s"), seconds=80,
    ),
    _cell(
        "pi2_ecn_syn", "PI2 with ECN, 30 Reno, 97.3 ms, that come within 40 s",
        _pi2(ecn=True),
        _flows(_RENO, 30, _LONG, ecn=True, jitter="40s"), seconds=80,
        remark="Nearly all drops are of flows whose first SYN was dropped.",
    ),
    _cell(
        "pie_dctcp", "PIE with ECN, 2 DCTCP, 97.3 ms", _pie(ecn=True), _flows(_DCTCP, 2, _LONG),
        remark="At times PIE marks every packet, so that runs differ by more than the means.",
    ),
    _cell(
        "dual_dctcp", "DualPI2, 2 DCTCP alone, 97.3 ms",
        pf.DualPi2(arithmetic="fixed"), _flows(_DCTCP, 2, _LONG),
        remark="A packet takes longer than 1 ms, the step: the second of a burst is marked.",
    ),
)  # fmt: skip
