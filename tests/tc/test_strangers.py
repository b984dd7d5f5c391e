"""Counters of queues whose law is not read: what tc prints in text and in JSON is read alike."""

from __future__ import annotations

import json

import pytest

from pi2_fluid.tc.observing import observe
from pi2_fluid.tc.strangers import strange_line

CAKE = """qdisc cake 1: dev eth1 root refcnt 2 bandwidth 5Mbit diffserv3 rtt 100ms
 Sent 7984000 bytes 67770 pkt (dropped 13, overlimits 8986 requeues 0)
 backlog 1514b 1p requeues 0
 memory used: 29440b of 4Mb
 capacity estimate: 10Mbit
 min/max network layer size: 28 / 1400

                   Bulk  Best Effort        Voice
  thresh      312Kbit        5Mbit      1250Kbit
  target       58.1ms          5ms       14.5ms
  interval      153ms        100ms        110ms
  pk_delay        0us       40.5ms          2us
  av_delay        0us          4ms          1us
  sp_delay        0us          2us          1us
  backlog          0b        1514b           0b
  pkts              0        67000          783
  bytes             0      8001300         4000
  drops             0           13            0
  marks             0            7            0
  un_flows          0            1            0
"""


def statistics_of(text: str) -> dict:
    (block,) = observe(text).blocks
    return block.statistics


def test_tins_of_text_and_json_are_the_same():
    columns = [
        {"target_us": target, "interval_us": interval, "peak_delay_us": peak, "avg_delay_us": mean}
        | {"base_delay_us": base, "backlog_bytes": backlog, "sent_packets": packets}
        | {"sent_bytes": size, "drops": drops, "ecn_mark": marks, "unresponsive_flows": stubborn}
        for target, interval, peak, mean, base, backlog, packets, size, drops, marks, stubborn in (
            (58100, 153000, 0, 0, 0, 0, 0, 0, 0, 0, 0),
            (5000, 100000, 40500, 4000, 2, 1514, 67000, 8001300, 13, 7, 1),
            (14500, 110000, 2, 1, 1, 0, 783, 4000, 0, 0, 0),
        )
    ]
    entry = {"kind": "cake", "handle": "1:", "dev": "eth1", "root": True, "bytes": 7984000}
    entry |= {"packets": 67770, "drops": 13, "overlimits": 8986, "requeues": 0, "backlog": 1514}
    entry |= {"qlen": 1, "memory_used": 29440, "memory_limit": 4 << 20, "tins": columns}
    entry |= {"options": {"bandwidth": 625000}}
    text = statistics_of(CAKE)
    assert text.pop("capacity_estimate") == "10Mbit"
    assert text == statistics_of(json.dumps([entry]))
    assert text["tins"] == ("Bulk", "Best Effort", "Voice")
    assert text["tin_pk_delay"] == (0.0, 0.0405, 2e-6)
    assert text["backlog"] == 1514  # of all, not of a tin


def test_codel_tells_a_time():
    words = ["count", "7", "lastcount", "1", "ldelay", "12.5ms", "dropping", "drop_next", "3.1ms"]
    assert strange_line("codel", words, "codel 1:") == {"ldelay": 0.0125}


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("cake", "pk_delay soon later"),
        ("cake", "average network hdr offset: 14"),
        ("cake", "Bulk Best Effort Video Voice"),
        ("codel", "count 1 ldelay never"),
        ("hfsc", "period 3 level 1"),
    ],
)
def test_what_is_not_known_is_passed_over(kind, line):
    assert strange_line(kind, line.split(), f"{kind} 1:") == {}
