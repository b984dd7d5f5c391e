"""Designed gains: the stored runs of the kernel are whole, packets agree, pages say the same."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.engines.linux.laws import qdisc_of
from pi2_fluid.papers.ours import designed_gains as ours

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/choosing.md").read_text(encoding="utf-8")
SEEDS = 20
#: How many standard errors of both sides means in packets may be from the kernel's, all and each.
POOLED, FAR = 1.4, 5.0


def test_the_stored_runs_are_whole() -> None:
    first, *_ = ours.KERNEL.read_text(encoding="utf-8").splitlines()
    assert re.match(r"# Measured with .* of Linux \d+\.\d+\.\d+ ", first)
    runs = ours.kernel_runs()
    assert set(runs) == set(ours.kernel_cells())
    for found in runs.values():
        assert {len(numbers) for numbers in found.values()} == {SEEDS}
        # Seeds are runs of their own: none is there twice.
        assert len(set(zip(*found.values(), strict=True))) == SEEDS
        assert np.all((found["utilization"] > 0.7) & (found["utilization"] < 1.001))
        assert np.all((found["peak_s"] > found["p99_s"]) & (found["peak_s"] < 0.5))
        assert np.all((found["settling_s"] > 0.0) & (found["settling_s"] <= 15.0))
        assert np.all(found["swing_s"] < found["p99_s"])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rtt"), [("tune_100ms", "100ms"), ("tune_215ms", "215ms")])
def test_designs_are_what_tune_finds_in_the_kernels_parts(name: str, rtt: str) -> None:
    design = pf.tune(rtt, aqm="dualpi2")
    law = design.to_qdisc("dualpi2").aqm
    link = pf.Link("10Mbit/s", 40_000)
    assert qdisc_of(ours.GAINS[name].aqm, link) == qdisc_of(law, link)
    assert law.target == ours.TARGET


def test_deployed_gains_are_linuxs_and_the_papers() -> None:
    assert ours.GAINS["linux"].aqm == pf.presets.linux_dualpi2()
    paper, queue = ours.GAINS["paper"].aqm, pf.presets.pi2_paper()
    assert (paper.alpha, paper.beta, paper.update_interval) == (
        queue.alpha,
        queue.beta,
        queue.update_interval,
    )


@pytest.mark.slow
def test_packets_do_what_the_kernel_does() -> None:
    """Within the scatter of both sides: as differences of means over their standard errors."""
    found = []
    for cell in ours.kernel_cells():
        kernel, packets = ours.kernel_runs()[cell], ours.measure_packets(*cell, seeds=6)
        for name in ("delay_s", "p99_s", "swing_s", "utilization", "peak_s"):
            a, b = packets[name], kernel[name]
            scatter = np.sqrt(a.var(ddof=1) / a.size + b.var(ddof=1) / b.size)
            if b.std() > 1e-4:  # of a link that is always full nothing is to be compared
                found.append((a.mean() - b.mean()) / scatter)
    assert len(found) > 90
    assert np.sqrt(np.mean(np.square(found))) < POOLED
    assert np.max(np.abs(found)) < FAR


@pytest.mark.slow
def test_pictures_and_numbers(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(ours, "PATHS", (0.03, 0.2))
    made = pf.figure("designed_gains", quick=True)
    assert {path.name for path in made.save(tmp_path)} == {
        *(f"designed_gains.{ending}" for ending in ("png", "svg", "pdf", "csv")),
        "designed_gains_kernel.csv",
    }
    lines, points = made.measured.tables[""], made.measured.tables["kernel"]
    assert {row["seeds"] for row in lines} == {2}
    assert {row["seeds"] for row in points} == {SEEDS}
    assert len(lines) == len(points) + 1  # the paper's gains with few flows


def test_the_page_says_what_the_kernel_did() -> None:
    """Each cell has Linux's defaults and both designs; 15 s is what was watched."""
    rows = re.findall(r"^\| (\d+) flows, (\d+) ms \| (.*) \|$", PAGE, re.MULTILINE)
    assert len(rows) == 2 * len(ours.KERNEL_PATHS)
    for flows, path, cells in rows:
        load = next(name for name, each in ours.LOADS.items() if each.flows == int(flows))
        names = ("swing_s", "utilization", "peak_s", "settling_s")
        formats = ("{:.1f}", "{:.1f}", "{:.0f}", "{:.1f}")
        for cell, name, form in zip(cells.split(" | "), names, formats, strict=True):
            factor = {"swing_s": 1e3, "peak_s": 1e3, "utilization": 1e2}.get(name, 1.0)
            said = []
            for gains in ("linux", "tune_100ms", "tune_215ms"):
                runs = ours.kernel_runs()[gains, load, int(path) / 1e3][name]
                middle = float(np.median(runs))
                never = name == "settling_s" and middle > 14.99
                said.append("never" if never else form.format(factor * middle))
            assert cell == ", ".join(said), (flows, path, name)
