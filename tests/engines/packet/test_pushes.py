"""TCP's PSH flag: which segments have it, and that receivers acknowledge them at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pi2_fluid as pf

QUICK = 16  # segments that are acknowledged at once at the beginning
SEGMENTS = 770
ENQUEUED, DEQUEUED = 0, 1
SLOT = 1_200_000  # ns of a packet


def acknowledged(push_every: int | None, **others: Any) -> list[int]:
    """Return how many segments each acknowledgement answers, of a flow that is alone.

    Acknowledgements cross a link of their own, and come to it with the segment that made them due.
    The window is larger than the path, so that segments come one by one, without a break.
    """
    link = pf.Link("10Mbit/s", "40000 packets", ack_jitter=0)
    nodes = [pf.Node(name, link, pf.TailDrop()) for name in ("there", "back")]
    flow = pf.Flows(
        pf.Reno(), 1, "5ms", slow_start=False, route="there", back="back", push_every=push_every,
        **others,
    )  # fmt: skip
    scenario = pf.Scenario("1s", network=pf.Network(nodes, flow))
    runs = pf.packet.simulate(scenario, seeds=1, trace=20_000).isel(seed=0)
    what, node, time = (runs[f"event_{name}"].to_numpy() for name in ("what", "link", "time"))
    left = time[(what == DEQUEUED) & (node == 0)][1 : SEGMENTS + 1]  # without the SYN
    answered = time[(what == ENQUEUED) & (node == 1)][1:]
    upto = np.searchsorted(left, answered[answered <= left[-1] + SLOT], side="left")
    return np.diff(upto, prepend=0).tolist()


def pushed_by_guests() -> set[int]:
    """Return which segments have PSH, as seen in guests of Linux 7.2.13 while windows are small.

    Of 1434 bytes a socket of 1 MiB holds 462, written at once, and then 155 or 156 each time that
    a third is acknowledged. Of 65,535 bytes offered in the handshake half is full after 23, of
    81,920 later after 29.
    """
    gaps = 20 * [23] + [2] + 5 * [29] + [11] + 5 * [29]
    return set((np.cumsum(gaps) - 1).tolist())


def expected(pushed: set[int]) -> list[int]:
    """Return the same of a receiver that answers every other segment, and those that have PSH."""
    answers, waiting = [], 0
    for segment in range(SEGMENTS):
        waiting += 1
        if segment < QUICK or waiting == 2 or segment in pushed:
            answers.append(waiting)
            waiting = 0
    return answers


@pytest.mark.parametrize("every", [0, 1, 2, 3, 7, 50])
def test_one_of_so_many_segments_has_it(every: int) -> None:
    assert acknowledged(every) == expected(set(range(every - 1, SEGMENTS, every or SEGMENTS)))


def test_a_program_that_keeps_its_socket_full() -> None:
    assert acknowledged(None) == expected(pushed_by_guests())
    assert len(expected(pushed_by_guests())) > len(expected(set())) + 10


def test_nothing_waits_where_every_segment_has_it() -> None:
    assert acknowledged(1) == acknowledged(0, delayed_ack=False)
