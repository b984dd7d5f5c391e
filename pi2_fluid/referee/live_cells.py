"""Cells of which nothing was recorded: where packets are least sure, for the kernel at hand."""

from __future__ import annotations

from typing import Any, Final

import pi2_fluid as pf
from pi2_fluid.referee.cells import Cell

__all__ = ["LIVE_CELLS"]

_PIE_INTERVAL: Final = "33ms"  # 32 jiffies of 1 ms, and one by which the timer wheel is late


def _cell(name: str, title: str, aqm: pf.Aqm, *flows: pf.Flows, seconds: int = 60) -> Cell:
    link = pf.Link("10Mbit/s", "100000 packets", kind="htb", delay_on="return")
    return Cell(name, title, pf.Scenario(f"{seconds}s", link, aqm, list(flows)), "")


def _flows(sender: pf.Sender, count: int, rtt: str, **others: Any) -> pf.Flows:
    return pf.Flows(sender, count, rtt, **({"start_jitter": "1s"} | others))


def _udp() -> pf.Flows:
    return pf.Flows(pf.Cbr(rate="6Mbit/s"), 2, name="udp")


def _pi2(target: str, drop_at: str = "dequeue") -> pf.Pi2:
    return pf.Pi2(target=target, arithmetic="fixed", drop_at=drop_at)


def _pie(target: str = "20ms", *, ecn: bool = False) -> pf.Pie:
    return pf.Pie(
        alpha=0.125, beta=1.25, target=target, update_interval=_PIE_INTERVAL, ecn=ecn,
        arithmetic="fixed",
    )  # fmt: skip


_RENO, _DCTCP = pf.Reno(), pf.Dctcp()

#: Shown with z, not judged by tolerances: the kernel at hand is all there is.
LIVE_CELLS: Final = (
    _cell("pi2_udp_5ms", "PI2 5 ms, 12 Mbit/s of UDP alone", _pi2("5ms"), _udp()),
    _cell("pi2_5ms_5", "PI2 5 ms, 5 Reno, 20 ms", _pi2("5ms"), _flows(_RENO, 5, "20ms")),
    _cell("pi2_5ms_10", "PI2 5 ms, 10 Reno, 20 ms", _pi2("5ms"), _flows(_RENO, 10, "20ms")),
    _cell("pi2_2ms_10", "PI2 2 ms, 10 Reno, 20 ms", _pi2("2ms"), _flows(_RENO, 10, "20ms")),
    _cell(
        "pi2_5ms_enqueue", "PI2 5 ms, dropping at enqueue, 10 Reno, 20 ms",
        _pi2("5ms", "enqueue"), _flows(_RENO, 10, "20ms"),
    ),
    _cell(
        "pi2_5ms_overload", "PI2 5 ms, 5 Reno, 20 ms, and 12 Mbit/s of UDP",
        _pi2("5ms"), _flows(_RENO, 5, "20ms"), _udp(),
    ),
    _cell("pie_2", "PIE, 2 Reno, 100 ms", _pie(), _flows(_RENO, 2, "100ms"), seconds=100),
    _cell("pie_10", "PIE, 10 Reno, 50 ms", _pie(), _flows(_RENO, 10, "50ms")),
    _cell("pie_5ms_10", "PIE 5 ms, 10 Reno, 20 ms", _pie("5ms"), _flows(_RENO, 10, "20ms")),
    _cell("pie_udp", "PIE, 12 Mbit/s of UDP alone", _pie(), _udp()),
    _cell(
        "pie_ecn_syn", "PIE with ECN, 30 Reno, 100 ms, that come within 40 s",
        _pie(ecn=True), _flows(_RENO, 30, "100ms", ecn=True, start_jitter="40s"), seconds=80,
    ),
    _cell("pie_dctcp", "PIE with ECN, 2 DCTCP, 100 ms", _pie(ecn=True), _flows(_DCTCP, 2, "100ms")),
    _cell(
        "dual_dctcp", "DualPI2, 2 DCTCP alone, 100 ms",
        pf.DualPi2(arithmetic="fixed"), _flows(_DCTCP, 2, "100ms"),
    ),
)  # fmt: skip
