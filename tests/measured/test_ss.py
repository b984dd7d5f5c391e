"""Logs of ``ss -ti``: windows, round-trip times and rates of each socket."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import pi2_fluid as pf
from pi2_fluid.errors import QuantityError
from pi2_fluid.measured.dataset import samples_of

HEADER = "State Recv-Q Send-Q Local Address:Port  Peer Address:Port Process\n"
PAIR = "10.0.0.1:58164 > 10.0.0.2:5201"


def socket(
    *, cwnd: int, acked: int, retrans: int = 0, sender: str = "cubic", peer: str = "10.0.0.2:5201"
) -> str:
    again = f" retrans:0/{retrans}" if retrans else ""
    return (
        f"ESTAB 0      1448   10.0.0.1:58164 {peer}\n"
        f"\t ts sack ecn {sender} wscale:7,7 rto:204 rtt:20.5/1.25 mss:1448 pmtu:1500 cwnd:{cwnd}"
        f" ssthresh:7 bytes_sent:9 bytes_acked:{acked} segs_out:101 data_segs_out:99"
        f" bbr:(bw:1bps,mrtt:0.005) send 84.9Mbps lastsnd:20 pacing_rate 7.5Mbps"
        f" delivery_rate 4.25Mbps delivered:100 busy:8ms{again} rcv_space:65495 minrtt:0.5\n"
    )


def log(*outputs: str, start: float = 1764270000.0, step: float = 0.5) -> str:
    return "".join(f"{start + step * n:.3f}\n{HEADER}{each}" for n, each in enumerate(outputs))


def warned(data: Any) -> list[str]:
    return [line for line in data.attrs["warnings"].split("\n") if line]


def test_numbers_of_a_socket() -> None:
    data = pf.measured.read(
        log(
            socket(cwnd=10, acked=1000),
            socket(cwnd=12, acked=126_000, retrans=2),
            socket(cwnd=6, acked=126_000, retrans=5),
        )
    )
    flow = f"{PAIR} (cubic)"
    assert data.flows.values.tolist() == [flow]
    assert data.time.values.tolist() == [0, 0.5, 1.0]
    assert samples_of(data, "window", flow)[1].tolist() == [10, 12, 6]
    assert samples_of(data, "tcp_rtt", flow)[1].tolist() == [0.0205] * 3
    assert samples_of(data, "tcp_rttvar", flow)[1].tolist() == [0.00125] * 3
    assert samples_of(data, "delivery_rate", flow)[1].tolist() == [4.25e6] * 3
    times, rates = samples_of(data, "throughput", flow)
    assert times.tolist() == [0.5, 1.0]
    assert rates.tolist() == [8 * 125_000 / 0.5, 0]
    assert samples_of(data, "retransmissions", flow)[1].tolist() == [2, 3]
    assert samples_of(data, "interval", flow)[1].tolist() == [0.5, 0.5]
    assert json.loads(data.attrs["about"])["senders"] == {flow: "cubic"}
    assert data.delivery_rate.attrs["units"] == "bit/s"
    assert data.attrs["clock"] == "unix"
    assert warned(data) == []


def test_flows_are_told_apart_and_may_come_late() -> None:
    other = "[2001:db8::2]:443"
    data = pf.measured.read(
        log(
            socket(cwnd=10, acked=1),
            socket(cwnd=11, acked=2) + socket(cwnd=4, acked=5, sender="bbr", peer=other),
            socket(cwnd=12, acked=3) + socket(cwnd=5, acked=6, sender="bbr", peer=other),
        )
    )
    late = f"10.0.0.1:58164 > {other} (bbr)"
    assert data.flows.values.tolist() == [f"{PAIR} (cubic)", late]
    assert samples_of(data, "window", late)[0].tolist() == [0.5, 1.0]
    assert math.isnan(data.window.sel(flows=late).values[0])


@pytest.mark.parametrize("line", ["tcp   ESTAB 0 0 ", "ESTAB 0 0 "])
def test_a_line_for_each_socket(line: str) -> None:
    info = "reno rto:204 rtt:3/1 cwnd:10 bytes_acked:5"
    text = f'1764270000\n{line} 10.0.0.1:1 10.0.0.2:2 users:(("a",pid=1,fd=3)) {info}\n'
    data = pf.measured.read(text)
    assert data.flows.values.tolist() == ["10.0.0.1:1 > 10.0.0.2:2 (reno)"]
    assert data.window.values.tolist() == [[10]]


def test_a_sender_that_is_not_said_is_not_made_up() -> None:
    text = "1764270000\nESTAB 0 0 10.0.0.1:1 10.0.0.2:2\n\t ts sack wscale:7,7 rto:204 cwnd:10\n"
    assert pf.measured.read(text).flows.values.tolist() == ["10.0.0.1:1 > 10.0.0.2:2"]


def test_without_times_samples_are_numbered() -> None:
    data = pf.measured.read(HEADER + "".join(socket(cwnd=n, acked=n) for n in (4, 5, 6)))
    assert data.time.values.tolist() == [0, 1, 2]
    assert "throughput" not in data
    assert "has no times" in warned(data)[0]


def test_counters_of_another_connection_are_said() -> None:
    data = pf.measured.read(log(socket(cwnd=4, acked=900), socket(cwnd=4, acked=10)))
    assert "another connection" in warned(data)[0]
    assert "throughput" not in data


def test_nothing_of_tcp_is_refused() -> None:
    with pytest.raises(QuantityError, match="has no socket with a window"):
        pf.measured.read("udp UNCONN 0 0 *:68 *:*\n", format="ss")
