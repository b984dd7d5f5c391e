"""The figure of bufferbloat: which queue oscillates, by its loop and by what was recorded."""

from __future__ import annotations

import csv

import pytest
import write_gallery

import pi2_fluid as pf
from pi2_fluid.papers.ours import bufferbloat


def recorded(name: str, queue: str) -> list[float]:
    """The stored numbers of a queue, run by run."""
    with (write_gallery.PAGES / "bufferbloat.csv").open(encoding="utf-8") as file:
        return [float(row[name]) for row in csv.DictReader(file) if row["queue"] == queue]


@pytest.mark.parametrize(("queue", "verdict"), [("linux", "unstable"), ("tuned", "stable")])
def test_the_loop_says_which_gains_oscillate(queue: str, verdict: str) -> None:
    scenario = bufferbloat.scenario(queue)
    for clock in ("rate", "acks"):
        loop = pf.Loop(
            scenario.flows, scenario.aqm, capacity=scenario.link.capacity, update="sampled",
            clock=clock,
        )  # fmt: skip
        assert loop.margins().verdict == verdict


def test_packets_show_what_the_loop_says() -> None:
    # An oscillation that empties the queue idles the link, in every run; chance does neither.
    assert max(recorded("utilization", "linux")) < 0.99 < min(recorded("utilization", "tuned"))
    linux, tuned = (recorded("sd_delay_s", queue) for queue in ("linux", "tuned"))
    assert min(linux) > 1.5 * max(tuned)
    # Without AQM the delay is most of what the buffer holds, 300 ms.
    assert 0.2 < min(recorded("mean_delay_s", "none")) < max(recorded("mean_delay_s", "none")) < 0.3


@pytest.mark.slow
def test_the_first_run_is_the_one_recorded() -> None:
    _, numbers = bufferbloat.curves(1)
    for row in numbers:
        for name in ("mean_delay_s", "sd_delay_s", "utilization"):
            assert row[name][0] == pytest.approx(recorded(name, row["queue"])[0])
