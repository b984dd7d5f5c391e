"""Packets over random networks: nothing is lost from the books, nobody overtakes, time goes on."""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import pi2_fluid as pf

#: How many are run at every test; 5,000 more have been, once.
RUNS = 300
GONE = ("delivered", "drop_aqm", "drop_full", "drop_overload", "queued", "in_flight")
ENQUEUED, DEQUEUED, DROPPED = 0, 1, 2
#: Of the code points ECT(1) and CE: what a dual queue takes for L4S.
SCALABLE = (1, 3)


def random_queue(rng: np.random.Generator) -> Any:
    ecn = bool(rng.integers(2))
    return [
        pf.TailDrop(),
        pf.Pi(alpha=0.125, beta=1.25, target="20ms", ecn=ecn),
        pf.Pi2(ecn=ecn),
        pf.Pie(ecn=ecn, target="15ms"),
        pf.CoupledPi2(ecn=ecn),
        pf.DualPi2(),
        pf.Red(min=3, max=9, ecn=ecn),
        pf.CoDel(),
        pf.Price(update_interval=float(rng.choice([2e-4, 5e-3]))),
        pf.Rem(ecn=ecn, bytes=bool(rng.integers(2)), variant="ns3"),
        pf.Avq(ecn=ecn, bytes=bool(rng.integers(2)), buffer=float(rng.choice([1, 5, 50]))),
    ][rng.integers(11)]


def random_scenario(rng: np.random.Generator) -> pf.Scenario:
    """Some links of 2 to 60 Mbit/s, and classes that cross them in any order, there and back.

    Some classes send transfers, and the capacity of some links changes on the way.
    """
    names = [f"l{place}" for place in range(rng.integers(2, 7))]
    nodes = [
        pf.Node(
            name,
            pf.Link(
                10 ** rng.uniform(6.3, 7.8),
                buffer=int(rng.choice([1, 3, 20, 1000])),
                kind=str(rng.choice(["wire", "htb"])),
                delay_on=str(rng.choice(["return", "forward", "split"])),
                ack_jitter=float(rng.choice([0.0, 1e-5])),
            ),
            random_queue(rng),
        )
        for name in names
    ]
    senders = [
        pf.Cbr(rate="3Mbit/s"), pf.Reno(), pf.CReno(), pf.Cubic(), pf.Dctcp(), pf.Scalable(),
        pf.Prague(), pf.Paganini(),
    ]  # fmt: skip
    flows = []
    for number in range(rng.integers(1, 6)):
        way = [names[place] for place in rng.permutation(len(names))]
        there = int(rng.integers(1, len(names) + 1))
        back = way[there:] if rng.integers(2) else None
        hops = rng.uniform(0.0, 2e-4, there) * rng.integers(2, size=there)
        sender = senders[rng.integers(len(senders))]
        class_: Any = pf.Flows
        more: dict[str, Any] = {"start_jitter": float(rng.uniform(0.0, 5e-3))}
        if sender.constant_rate is None and rng.integers(2):
            class_ = pf.Transfers
            size = [pf.Fixed(1), pf.Exponential(10), pf.Pareto(1, 2)][rng.integers(3)]
            often = [{"idle": 0}, {"idle": "2ms"}, {"arrivals": "500/s"}][rng.integers(3)]
            more = {"size": size, **often}
        flows.append(
            class_(
                sender, int(rng.integers(1, 5)), float(rng.uniform(2e-3, 2e-2)), f"class {number}",
                route=way[:there], hops=hops.tolist(), back=back or None, ecn=bool(rng.integers(2)),
                **more,
            )
        )  # fmt: skip
    changes = [
        pf.Change(at, capacity=10 ** rng.uniform(5.5, 7.8), link=names[rng.integers(len(names))])
        for at in rng.uniform(0.0, 0.05, rng.integers(4)).tolist()
    ]
    return pf.Scenario("50ms", network=pf.Network(nodes, flows), changes=changes)


def assert_counted(runs: Any) -> int:
    """Return the packets that were counted: of every class at every link none is missing."""
    causes = [str(cause) for cause in runs.cause.to_numpy()]
    # Plain arrays, since there are many runs: by cause, then links by classes.
    counted = runs["count"].to_numpy()[0]
    count = {cause: counted[..., k] for k, cause in enumerate(causes)}
    sent, place = count["sent"], runs["place"].to_numpy()
    np.testing.assert_array_equal(sent, sum(count[cause] for cause in GONE))
    assert not sent[place == 0].any()
    for number in range(place.shape[1]):
        for mine in (place[:, number], -place[:, number]):
            way = np.argsort(np.where(mine > 0, mine, 99))[: np.count_nonzero(mine > 0)]
            for first, second in pairwise(way):
                on_the_hop = count["delivered"][first, number] - sent[second, number]
                assert 0 <= on_the_hop < 1000
    for name, start in (("arrivals", "sent"), ("drops", "drop_"), ("marks", "mark_")):
        of = sum(count[cause] for cause in causes if cause.startswith(start))
        np.testing.assert_array_equal(runs[name].to_numpy()[0].sum(axis=0), of)
    return int(sent.sum())


def assert_one_after_the_other(runs: Any) -> int:
    """Return how many transfers there were: a flow sends the next when the last is over."""
    if "transfer_count" not in runs:
        return 0
    total = int(runs.transfer_count[0])
    start, took, flow = (
        runs[f"transfer_{name}"].to_numpy()[0, :total] for name in ("start", "time", "flow")
    )
    assert np.all(np.diff(start) >= 0.0)
    for number in np.unique(flow):
        mine = flow == number
        assert np.all(start[mine][1:] > (start + took)[mine][:-1])  # which NaN is not
    return total


def assert_in_order(scenario: pf.Scenario, runs: Any) -> None:
    """What enters a queue first leaves it first, or is dropped there; time never goes back."""
    total = int(runs.event_count[0])
    what, link, flow, segment, ecn, time = (
        runs[f"event_{name}"].to_numpy()[0, :total]
        for name in ("what", "link", "flow", "segment", "ecn", "time")
    )
    assert np.all(np.diff(time) >= 0)
    bands = [node.aqm.bands for node in scenario.network.nodes]
    queues: list[list[deque[tuple[int, int]]]] = [[deque() for _ in range(n)] for n in bands]
    for k in np.flatnonzero(what <= DROPPED):
        mine, packet = queues[link[k]], (int(flow[k]), int(segment[k]))
        if what[k] == ENQUEUED:
            mine[len(mine) > 1 and int(ecn[k]) in SCALABLE].append(packet)
            continue
        # A mark on the way out does not say any more from which band it came. A packet that was
        # sent again may be there twice: lost as it came is only what has come just before.
        came = what[k - 1] == ENQUEUED and (link[k - 1], flow[k - 1], segment[k - 1]) == (
            link[k], flow[k], segment[k],
        )  # fmt: skip
        if what[k] == DROPPED and came:
            next(band for band in mine if band and band[-1] == packet).pop()
        else:
            next(band for band in mine if band and band[0] == packet).popleft()


@pytest.mark.slow
def test_random_networks_keep_their_books_and_their_order() -> None:
    rng = np.random.default_rng(7)
    packets, transfers = 0, 0
    for seed in range(RUNS):
        scenario = random_scenario(rng)
        runs = pf.packet.simulate(scenario, seeds=[1 + seed], bin="20ms", trace=3000, threads=1)
        packets += assert_counted(runs)
        transfers += assert_one_after_the_other(runs)
        assert_in_order(scenario, runs)
    assert packets > 100 * RUNS
    assert transfers > 3 * RUNS
