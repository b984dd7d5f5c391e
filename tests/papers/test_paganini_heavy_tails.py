"""Figures 11 to 13 of Paganini and others: their numbers by another way."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.papers.gallery import figure
from pi2_fluid.papers.paganini import fig11, fig13, heavy_tails, heavy_tails_page
from pi2_fluid.papers.stated import stated

PAGE = Path(__file__).parents[2] / "docs" / "paganini.md"


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    """What the claims have computed, by their numbers."""
    claims = [claim() for claim in heavy_tails.CLAIMS]
    return {claim.id.removeprefix("paganini-"): claim.computed for claim in claims}


def test_sums_of_sizes_without_a_mean() -> None:
    """By a generator of NumPy's: the same share of mice, and the same scatter of sums."""
    rng = np.random.default_rng(11)
    sizes = np.ceil(100.0 / (1.0 - rng.random((200, fig11.COUNT))))
    totals, mice = sizes.sum(axis=1), np.where(sizes < fig11.MICE, sizes, 0.0).sum(axis=1)
    found = [fig11.summed(seed) for seed in range(1, 201)]
    ours = np.array([each.total for each in found])
    for level in (0.1, 0.5, 0.9):
        assert np.quantile(ours, level) == pytest.approx(np.quantile(totals, level), rel=0.15)
    carried = np.array([each.carried * each.total for each in found])
    assert carried.mean() == pytest.approx(mice.mean(), rel=2e-3)
    # Of Pareto's law itself: 100 ln 10 packets of each flow, and half a packet of rounding.
    assert mice.mean() / fig11.COUNT == pytest.approx(100 * np.log(10) + 0.45, rel=3e-3)


@pytest.mark.slow
def test_claims_by_the_totals_of_the_runs(said) -> None:
    """Utilization by the bits of classes, and the queue by the delays of packets."""
    for number, setting in (("56", "new protocol"), ("60", "thresholds 5, 20")):
        name, thresholds = heavy_tails.SETTINGS[setting]
        text = pf.named_scenario(name).to_toml()
        if thresholds:
            text = text.replace('min = "100 packets"\nmax = "2500 packets"', "min = 5\nmax = 20")
        scenario = pf.Scenario.from_toml(text)
        short = pf.Scenario("40s", network=scenario.network)
        summary = pf.summarize(pf.simulate(short, pf.Packets(seeds=1)), "10s").sel(link="there")
        ((used, _),) = re.findall(r"^(\d+\.\d) %( are used| from 10 to 40 s)", said[number])
        assert float(used) == pytest.approx(100 * float(summary.utilization[0]), abs=0.06)
        if number == "60":
            ((waits,),) = [re.findall(r"([\d.]+) packets wait", said["60"])]
            mean = summary.queue_delay_mean[0] * 1e9 / 8000
            assert float(waits) == pytest.approx(float(mean), abs=0.06)


@pytest.mark.slow
def test_what_the_figures_show(monkeypatch) -> None:
    """Of one run of 24 s; mice are quicker with NewReno in the median, and slower at 95 %."""
    monkeypatch.setattr(heavy_tails_page, "CLAIMED", 24.0)
    monkeypatch.setattr(fig13, "CLAIMED", 24.0)
    made = {n: figure("paganini", n, seeds=1, quick=True) for n in (12, 13)}
    for number, each in made.items():
        found = each.measured.found
        assert set(found) == {row.key for row in stated(f"paganini:{number}")}
        assert all(np.isfinite(values).all() for values in found.values())
    tables = made[13].measured.tables
    mice = {row["line"]: row for row in tables["times"]}
    assert mice["NewReno/RED"]["median_s"][0] < mice["new protocol"]["median_s"][0]
    assert mice["NewReno/RED"]["p95_s"][0] > mice["new protocol"]["p95_s"][0]
    rates = {row["line"]: row["relative_rate"] for row in tables["elephants"]}
    assert np.nanmax(rates["new protocol"]) < 2.0
    assert rates["NewReno/RED"][0] > 2 * rates["NewReno/RED"][-1]
    (row,) = (row for row in tables["queues"] if row["line"] == "thresholds 5, 20")
    assert 100 * row["utilization"] == pytest.approx(made[13].measured.found["narrow_used"])


@pytest.mark.slow
def test_what_is_judged_is_from_10_s_on() -> None:
    found = heavy_tails.run("thresholds 5, 20")
    assert found.judged_queue.size == 1500
    assert found.judged_queue.mean() == pytest.approx(found.waiting, rel=1e-12)
    assert found.queue[100:].mean() == pytest.approx(found.waiting, rel=1e-9)
    assert found.utilization[5:].mean() == pytest.approx(found.used, rel=1e-9)
    assert (found.queue_time[0], found.used_time[0]) == pytest.approx((0.05, 1.0))


def test_the_queue_of_another_figure_at_both_links() -> None:
    scenario, other = map(pf.named_scenario, ("paganini_fig13", "paganini_fig09"))
    changed = fig13.with_queue_of(scenario, other)
    assert [node.aqm for node in changed.network.nodes] == [other.network.nodes[0].aqm] * 2
    assert [node.link.capacity for node in changed.network.nodes] == [1e9] * 2


@pytest.mark.slow
def test_the_page_says_what_claims_say() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for setting in heavy_tails.SETTINGS:
        ((used, waits, even),) = re.findall(
            rf"^\| {setting} \| ([\d.]+) \| (\d+) \| ([\d.]+) \|", page, re.MULTILINE
        )
        found = heavy_tails.run(setting)
        assert used == f"{100 * found.used:.1f}"
        assert waits == f"{found.waiting:.0f}"
        assert even == f"{found.jain:.2f}"
    ours, other = (
        heavy_tails.times(name, [heavy_tails.run(name)]) for name in ("new protocol", "NewReno/RED")
    )
    text = " ".join(page.split())
    assert (
        f"slow start: {ours['median_s'][0]:.1f} s in place of {other['median_s'][0]:.1f} s" in text
    )
    assert f"for {round(ours['size_segments'][0], -1):.0f} packets" in text
    assert f"over within {ours['p95_s'][0]:.1f} s instead of {other['p95_s'][0]:.1f} s" in text
    crossing = ours["size_segments"][ours["median_s"] < other["median_s"]].min()
    assert 3000 < crossing < 5000  # of a range that begins at 3200


def test_who_is_an_elephant() -> None:
    """Transfers that are large, settled and under way over a whole block, on the way there."""
    import xarray as xr

    columns: dict[str, Any] = {
        "transfer_size": [20_000, 20_000, 20_000, 500, 20_000, 20_000, 20_000, 20_000],
        "transfer_start": [0.0, 0.0, 4.5, 0.0, 0.0, 0.0, 0.0, 0.0],
        "transfer_time": [np.nan, 8.5, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan],
        "transfer_flow": [0, 1, 2, 3, 4, 5, 6, 7],
        "transfer_class": [0, 0, 0, 0, 7, 1, 1, 4],
    }
    runs = xr.Dataset(
        {name: ("transfer", np.array(values)) for name, values in columns.items()}
        | {"flow_segments": (("block", "flow"), np.array([[9] * 8, [3, 9, 9, 9, 9, 1, 1, 1]]))},
        {"block": [8.0, 9.0], "block_start": ("block", [7.0, 8.0])},
    )
    rates, jain = heavy_tails._elephants(runs)
    assert [path.tolist() for path in rates] == [[1.0, 1.0], [1.0, 1.0], [], [], [1.0]]
    assert jain == 1.0  # of the first block alone: in the second there are but four
