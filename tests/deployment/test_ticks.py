"""Where a tick of PIE's timer decides, `check` says so, and nowhere else."""

from __future__ import annotations

import random
import re

import pytest

import pi2_fluid as pf
from pi2_fluid.deployment import ticks

LINE = "tc qdisc replace dev eth0 root pie tupdate {}"


def judged(tupdate: str, rtt: float | str, hz: int = 1000):
    (verdict,) = pf.check(LINE.format(tupdate), rtt=rtt, hz=hz)
    return verdict


def words(verdict) -> str:
    return next((note for note in verdict.notes if "A tick of the timer" in note), "")


@pytest.mark.slow
def test_the_interval_asked_for_would_be_unstable():
    """10 ms is stable up to 49.3 ms, 11 ms up to 53.7 ms: in between the late timer decides."""
    found = judged("10ms", "50ms")
    assert found.verdict == "stable"
    assert words(found) == (
        "A tick of the timer of pie decides: tupdate 10 ms runs as 11 ms at HZ 1000, which is"
        " stable, and 10 ms would be unstable."
    )
    assert judged("9ms", "50ms").verdict == "unstable"  # which runs as 10 ms


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tupdate", "rtt", "hz", "said"),
    [
        ("10ms", "54ms", 1000, "runs as 11 ms at HZ 1000, which is unstable, and 12 ms .* stable"),
        ("73ms", 0.2044, 1000, "runs as 80 ms at HZ 1000, which is stable, and 73 ms .* unstable"),
        ("30ms", 0.135, 100, "runs as 40 ms at HZ 100, which is stable, and 30 ms .* unstable"),
        ("10ms", "30ms", 1000, ""),  # far from any edge
        ("10ms", "200ms", 1000, ""),
    ],
)
def test_what_is_said(tupdate, rtt, hz, said):
    found = words(judged(tupdate, rtt, hz))
    assert re.search(said, found) if said else found == ""


def test_a_queue_without_jiffies_has_no_such_words():
    (verdict,) = pf.check("tc qdisc replace dev eth0 root dualpi2", rtt="115ms")
    assert ticks.words_on_ticks(verdict) == ""


@pytest.mark.slow
def test_the_short_cut_hides_nothing(monkeypatch):
    """A change of margin at one place by rates tells which intervals need not be judged."""
    chance = random.Random(7)
    found = []
    for _ in range(5):
        hz, interval = chance.choice((100, 250, 1000)), chance.randint(1, 80)
        limit = judged(f"{interval}ms", "100ms", hz).stable_up_to
        if 0.0 < limit < 2.0:
            verdict = judged(f"{interval}ms", limit * chance.uniform(0.9, 1.1), hz)
            short = ticks.words_on_ticks(verdict)
            with monkeypatch.context() as patch:
                patch.setattr(ticks, "_FARTHEST", 1e9)
                patch.setattr(ticks, "_SPARE", 1e9)
                assert short == ticks.words_on_ticks(verdict)
            found.append(short)
    assert len(found) >= 4
    assert 0 < sum(map(bool, found)) < len(found)
