"""Queues in a row: what the figure says, and that a queue is deaf to what others hold back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

import pi2_fluid as pf
from pi2_fluid.papers.ours import chains

PAGE = (Path(__file__).parents[2] / "docs" / "networks.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """The figure with fewer points: its files, its margins and its packets."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chains, "SHARES", (0.02, 0.5, 0.9))
        patch.setattr(chains, "SIMULATED", (0.1, 0.9))
        made = pf.figure("chains")
        files = made.save(tmp_path_factory.mktemp("chains"))
    rows, runs = (made.measured.tables[part] for part in ("", "scatter"))
    return files, {(row["cross_rtt_s"], row["queues"]): row for row in rows}, runs


@pytest.mark.slow
def test_pictures_and_numbers(drawn) -> None:
    assert {path.name for path in drawn[0]} == {
        *(f"chains.{ending}" for ending in ("png", "svg", "pdf", "csv")),
        "chains_scatter.csv",
        "chains_traces.csv",
    }


@pytest.mark.slow
@pytest.mark.parametrize("cross", chains.CROSS)
def test_every_further_queue_takes_margin(drawn, cross) -> None:
    one, two, three = (drawn[1][cross, queues]["gain_margin_db"] for queues in chains.CHAINS)
    assert np.all(one > two)
    assert np.all(two > three)
    assert one[0] - three[0] < 0.15  # hardly any through flows


@pytest.mark.slow
def test_packets_swing_where_the_margin_is_negative_and_not_in_one_queue(drawn) -> None:
    _, rows, runs = drawn
    for run in runs:
        row = rows[chains.RTT, run["queues"]]
        few, many = run["sd_delay_s"]
        swings = row["gain_margin_db"][-1] < 0.0
        assert swings == (run["queues"] > 1)
        assert few < 0.006
        assert many > 0.011 if swings else many < 0.006
    assert chains.edge(rows[chains.RTT, 1]) == np.inf
    assert 0.5 < chains.edge(rows[chains.RTT, 3]) < chains.edge(rows[chains.RTT, 2]) < 0.9


@pytest.mark.slow
def test_the_page_says_where_three_have_no_margin_left() -> None:
    def margin(share: float) -> float:
        network = chains.chain(3, share, chains.RTT)
        found = pf.Loop(network, update="sampled", rtt_terms="exact").margins()
        return float(found.gain_margin_db)

    share = brentq(margin, 0.4, 0.7, xtol=1e-3)
    assert f"{100 * share:.0f} % of the links; at 70 % and more" in PAGE


@pytest.mark.parametrize("share", [0.3, 0.75])
def test_to_each_queue_what_others_hold_back_is_a_constant_rate(share) -> None:
    """With rates that travel unchanged, modes of equal queues against each other are that of one
    queue beside traffic that does not answer: no difference of theirs reaches a through flow."""
    network = chains.chain(3, share, chains.RTT)
    loci = pf.Loop(network, transport="delay").eigenloci([1.0, 3.0, 9.0])
    rest = pf.equilibrium(network)
    rate = f"{share * 12e4:.12g}kbit/s"
    deaf = pf.Flows(pf.Cbr(rate=rate, thinned=False), 1, "80ms")
    alone = pf.Loop([network.flows[1], deaf], pf.Pi2(), capacity="120Mbit/s")
    assert alone.operating_point.controller == pytest.approx(rest.controller[0].item(), rel=1e-9)
    for frequency in (1.0, 3.0, 9.0):
        modes = loci.sel(frequency=frequency).to_numpy()
        near = np.sort(np.abs(modes / alone(1j * frequency) - 1.0))
        assert np.all(near[:2] < 1e-7)  # the network's rest is known to 1e-11, roots to the half
        assert near[2] > 1e-3


@pytest.mark.slow
def test_queues_that_are_tuned_one_by_one_keep_what_the_page_says() -> None:
    law = pf.tune("100ms", aqm="dualpi2").to_qdisc("dualpi2").aqm.in_one_queue()

    def kept(queues: int, share: float) -> float:
        network = chains.chain(queues, share, 0.1, law, 0.05)
        return min(
            pf.Loop(network, update="sampled", rtt_terms=terms).margins().gain_margin_db
            for terms in ("frozen", "exact")
        )

    two, three = kept(2, 0.9), kept(3, 0.75)
    said = f"keep {two:.1f} dB together at a share of 0.9"
    assert said in PAGE
    assert f"three keep {three:.1f} dB at 0.75 and none at 0.9" in PAGE
    assert kept(3, 0.9) < 0.0
