"""What is said of a device as its outputs come: rates, the bottleneck, what changed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pi2_fluid.deployment.watching import Instant, Watcher
from pi2_fluid.deployment.watching.openmetrics import metrics_of
from pi2_fluid.tc.observing.following import follow
from pi2_fluid.tc.observing.metrics import sample_in

START = 1_764_270_000


def queue(kind: str = "pfifo", handle: str = "1:", parent: str = "root", **more: Any) -> dict:
    place = {"root": True} if parent == "root" else {"parent": parent}
    counts = {"bytes": 0, "packets": 0, "drops": 0, "overlimits": 0, "backlog": 0, "qlen": 0}
    head = {"kind": kind, "handle": handle, "dev": "wan0", **place, "options": {}}
    return head | counts | more


def shaped(handle: str, rate: int, parent: str | None = None) -> dict:
    place = {"root": True} if parent is None else {"parent": parent}
    return {"class": "htb", "handle": handle, **place, "rate": rate // 8, "ceil": rate // 8}


def seen(*outputs: list[dict], step: float = 1.0) -> list[Instant]:
    watcher = Watcher()
    lines = (
        json.dumps({"time": START + step * n, "shown": shown}) for n, shown in enumerate(outputs)
    )
    found = [watcher.see(output) for output in follow(lines)]
    assert None not in found
    return [one for one in found if one is not None]


def steady(count: int, **more: Any) -> list[list[dict]]:
    """Outputs of one queue that sends 1 Mbit/s in packets of 1250 bytes."""
    return [[queue(bytes=125_000 * n, packets=100 * n, **more)] for n in range(count)]


# --- rates ----------------------------------------------------------------------------------


def test_rates_are_differences_over_the_time_between() -> None:
    first, then = seen(
        [queue(bytes=1000, packets=1, drops=5, backlog=1000, qlen=1)],
        [queue(bytes=26_000, packets=26, drops=10, overlimits=4, backlog=3000, qlen=3)],
        step=0.5,
    )
    assert first.interval is None
    assert first.rows[0].rate_out is None
    (row,) = then.rows
    assert then.interval == 0.5
    assert row.rate_out == 8 * 25_000 / 0.5
    assert row.packets_out == 25 / 0.5
    assert row.drops == 5 / 0.5
    assert row.overlimits == 4 / 0.5
    # what left, and 2000 bytes more that wait, and 5 dropped of 1000 bytes each
    assert row.rate_in == 8 * (25_000 + 2000 + 5 * 1000) / 0.5
    assert (row.delay, row.delay_from) == (3000 / 50_000, "backlog")


def test_a_queue_that_shows_its_delay_is_believed() -> None:
    pie = {"limit": 1000, "target": 15000, "tupdate": 15000, "alpha": 2, "beta": 20}
    (one,) = seen([queue("pie", options=pie, prob=0.125, delay=14_000, ecn_mark=3)])
    assert (one.rows[0].delay, one.rows[0].delay_from, one.rows[0].p) == (0.014, "tc", 0.125)


def test_bands_and_tins_stand_below_their_queue() -> None:
    tins = [{"sent_bytes": 1000 * n, "sent_packets": n, "avg_delay_us": 500} for n in range(3)]
    (one,) = seen([queue("cake", tins=tins)])
    assert [(row.name, row.depth) for row in one.rows] == [
        ("cake 1:", 0),
        ("cake 1: tin Bulk", 1),
        ("cake 1: tin Best Effort", 1),
        ("cake 1: tin Voice", 1),
    ]


def test_the_tree_is_in_order_whatever_order_tc_has() -> None:
    (one,) = seen(
        [
            queue("htb"),
            queue("fq_codel", "120:", "1:20"),
            queue("pie", "110:", "1:10"),
            shaped("1:20", 2_000_000, "1:1"),
            shaped("1:10", 3_000_000, "1:1"),
            shaped("1:1", 5_000_000),
            {"class": "fq_codel", "handle": "120:2f", "parent": "120:"},  # of a flow
        ]
    )
    assert [(row.name, row.depth) for row in one.rows] == [
        ("htb 1:", 0),
        ("class htb 1:1", 1),
        ("class htb 1:20", 2),
        ("fq_codel 120:", 3),
        ("class htb 1:10", 2),
        ("pie 110:", 3),
    ]
    assert [row.limit for row in one.rows] == [None, 5e6, 2e6, None, 3e6, None]


def test_mq_and_its_queues() -> None:
    leaves = [queue("fq_codel", "0:", f":{n}") for n in (1, 2)]
    (one,) = seen([queue("mq", "0:"), *leaves])
    assert [(row.name, row.depth) for row in one.rows] == [
        ("mq 0:", 0),
        ("fq_codel 0: parent :1", 1),
        ("fq_codel 0: parent :2", 1),
    ]


# --- the bottleneck -------------------------------------------------------------------------


def test_the_queue_that_waits_is_the_bottleneck_with_evidence_and_its_shaper() -> None:
    def at(n: int, waits: int) -> list[dict]:
        sent = {"bytes": 125_000 * n, "packets": 100 * n}
        return [
            queue("htb", backlog=1250 * waits, qlen=waits, **sent),
            queue("pfifo", "110:", "1:10", backlog=1250 * waits, qlen=waits, **sent),
            queue("pfifo", "120:", "1:20"),
            shaped("1:10", 1_000_000),
            shaped("1:20", 1_000_000),
        ]

    last = seen(*[at(n, 0 if n in (3, 7) else 40) for n in range(30)])[-1].bottleneck
    assert (last.verdict, last.queue) == ("found", "pfifo 110:")
    assert last.evidence.startswith("backlog 40 packets (50 kB) in 28 of 30 outputs")
    assert last.evidence.endswith("the rate is that of class htb 1:10, 1 Mbit/s")


def test_a_class_stands_for_a_queue_that_is_not_shown() -> None:
    full = shaped("1:10", 1_000_000) | {"stats": {"bytes": 5, "backlog": 50_000, "qlen": 40}}
    outputs = [[queue("htb", bytes=n, backlog=50_000, qlen=40), full] for n in range(6)]
    assert seen(*outputs)[-1].bottleneck.queue == "class htb 1:10"


def test_few_outputs_say_nothing() -> None:
    early = seen(*steady(4, qlen=40, backlog=50_000))[-1].bottleneck
    assert early.verdict == "cannot be told"
    assert "4 of the 5 outputs" in early.evidence


def test_where_nothing_waits_it_is_elsewhere() -> None:
    found = seen(*steady(10))[-1].bottleneck
    assert (found.verdict, found.queue) == ("none here", None)
    assert "0 of 10 outputs" in found.evidence


def test_a_packet_in_hand_is_no_queue_and_some_waiting_is_undecided() -> None:
    assert seen(*steady(10, qlen=1, backlog=100))[-1].bottleneck.verdict == "none here"
    outputs = steady(10)
    for n in (1, 4, 8):
        outputs[n][0] |= {"qlen": 30, "backlog": 30_000}
    assert seen(*outputs)[-1].bottleneck.verdict == "cannot be told"


def test_packets_that_are_held_on_purpose_are_no_evidence() -> None:
    outputs = steady(10, kind="netem", qlen=80, backlog=100_000)
    found = seen(*outputs)[-1].bottleneck
    assert found.verdict == "cannot be told"
    assert "netem 1:, which holds them on purpose" in found.evidence


def test_a_slow_link_with_one_packet_waiting_is_full() -> None:
    """A packet of 1250 bytes at 100 kbit/s waits 100 ms; many more never wait there."""
    outputs = [[queue(bytes=12_500 * n, packets=10 * n, qlen=1, backlog=1250)] for n in range(10)]
    assert seen(*outputs)[-1].bottleneck.queue == "pfifo 1:"


def test_no_more_than_the_window_is_kept() -> None:
    outputs = steady(40, qlen=40, backlog=50_000) + [
        [queue(bytes=125_000 * n, packets=100 * n)] for n in range(40, 80)
    ]
    assert seen(*outputs)[-1].bottleneck.verdict == "none here"


# --- changes --------------------------------------------------------------------------------


def changes(before: list[dict], after: list[dict]) -> list[str]:
    _, last = seen(before, after)
    return [change.what for change in last.fresh]


def test_changes_of_the_tree() -> None:
    pie = queue("pfifo", "110:", "1:10")
    htb = queue("htb")
    assert changes([htb, pie], [htb, pie]) == []
    assert changes([htb], [htb, pie]) == ["pfifo 110: is new"]
    assert changes([htb, pie], [htb]) == ["pfifo 110: is gone"]
    assert changes([htb, pie], [htb, queue("sfq", "8001:", "1:10")]) == [
        "pfifo 110: was replaced by sfq 8001:"
    ]
    assert changes([queue()], [queue("sfq", "8001:")]) == ["pfifo 1: was replaced by sfq 8001:"]


def test_changes_of_options_and_rates() -> None:
    def tbf(rate: int) -> dict:
        return queue("tbf", options={"rate": rate, "burst": "10Kb/1", "direct_packets_stat": rate})

    assert changes([tbf(125_000)], [tbf(250_000)]) == ["rate of tbf 1: from 1 Mbit/s to 2 Mbit/s"]
    before, after = ([queue("htb"), shaped("1:10", rate)] for rate in (5_000_000, 2_000_000))
    assert changes(before, after) == ["rate of class htb 1:10 from 5 Mbit/s to 2 Mbit/s"]
    borrows = shaped("1:10", 5_000_000) | {"ceil": 1_000_000}
    assert changes(before, [queue("htb"), borrows]) == [
        "ceil of class htb 1:10 from 5 Mbit/s to 8 Mbit/s"
    ]
    # an output of queues alone does not say that classes are gone
    assert changes(before, [queue("htb")]) == []
    codel = {"limit": 1000, "target": 4999, "interval": 99_999}
    assert changes(
        [queue("codel", options=codel)], [queue("codel", options=codel | {"target": 14_999})]
    ) == ["target of codel 1: from 4.999 ms to 14.999 ms"]


def test_a_counter_among_options_is_no_change() -> None:
    text = (
        "Time: {}\nqdisc htb 1: dev wan0 root refcnt 2 r2q 10 default 0x10 direct_packets_stat {}"
    )
    text += " direct_qlen 1000\n Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)\n"
    lines = "".join(text.format(START + n, 7 * n) for n in range(3)).splitlines()
    watcher = Watcher()
    found = [watcher.see(output) for output in follow(lines)]
    assert [one.changes for one in found if one is not None] == [[], [], []]


def test_counters_that_begin_again_are_said_and_make_no_rate() -> None:
    _, last = seen([queue(bytes=5000, packets=5)], [queue(bytes=100, packets=1)])
    assert [change.what for change in last.fresh] == ["the counters of pfifo 1: began again"]
    assert last.rows[0].rate_out is None


def test_a_step_of_the_rate_has_the_time_at_which_it_was() -> None:
    sent, outputs = 0, []
    for n in range(20):
        sent += 125_000 if n < 12 else 60_000
        outputs.append([queue(bytes=sent, packets=sent // 1250)])
    found = seen(*outputs)
    said = [change for one in found for change in one.fresh]
    assert [change.what for change in said] == ["rate out of pfifo 1: from 1 Mbit/s to 480 kbit/s"]
    assert said[0].time == START + 12
    assert [one.number for one in found if one.fresh] == [15]  # the third that is other


def test_traffic_that_bursts_is_no_step() -> None:
    sent, outputs = 0, []
    for n in range(40):
        sent += 250_000 if n % 3 == 0 else 50_000
        outputs.append([queue(bytes=sent, packets=sent // 1250)])
    assert all(not one.changes for one in seen(*outputs))


# --- metrics --------------------------------------------------------------------------------


def test_metrics_say_the_same_and_are_read_again() -> None:
    pie = {"limit": 1000, "target": 15000, "tupdate": 15000, "alpha": 2, "beta": 20}
    (one,) = seen(
        [
            queue("htb", bytes=10_000, packets=9),
            queue("pie", "110:", "1:10", options=pie, drops=2, qlen=3, prob=0.25, delay=15_000),
            shaped("1:10", 1_000_000),
        ]
    )
    text = metrics_of([one])
    assert text.endswith("# EOF\n")
    samples = [found for line in text.splitlines() if (found := sample_in(line)) is not None]
    values = {(found.band, found.name): found.value for found in samples}
    assert values["wan0 htb 1:", "bytes"] == 10_000
    assert values["wan0 pie 110:", "drops"] == 2
    assert values["wan0 pie 110:", "prob"] == 0.25
    assert values["wan0 pie 110:", "delay"] == 0.015
    assert 'tc_class_rate_limit_bytes_per_second{device="wan0",kind="htb",class="1:10"' in text
    families = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(families) == len(set(families))  # each is there once, its samples together
    counters = {line.split()[2] for line in text.splitlines() if line.endswith(" counter")}
    named = {line.split("{")[0] for line in text.splitlines() if "{" in line}
    assert {f"{name}_total" for name in counters} <= named


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb"])
def test_names_are_escaped(name: str) -> None:
    (one,) = seen([queue()])
    import dataclasses

    text = metrics_of([dataclasses.replace(one, device=name)])
    assert all(line.count('"') % 2 == 0 or '\\"' in line for line in text.splitlines())
    assert len([line for line in text.splitlines() if "tc_qdisc_bytes_total{" in line]) == 1
