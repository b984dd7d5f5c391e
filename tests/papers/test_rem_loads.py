"""REM and AVQ over loads: what the figure shows, and that the page says what comes out."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.papers.ours import rem_loads

PAGE = (Path(__file__).parents[2] / "docs" / "rem_avq.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def curves() -> dict[str, dict[str, Any]]:
    return {row["queue"]: row for row in rem_loads.curves()}


class TestRem:
    @pytest.mark.slow
    def test_one_set_of_gains_is_right_for_one_load(self, curves: Any) -> None:
        rem, pi2 = curves["REM"], curves["PI2"]
        assert np.all(np.diff(rem["gain_margin_db"]) > 0.0)
        said = re.search(r"from (-\d+) dB at 10 flows over 0 dB at (\d+) to\s(\d+) dB at 320", PAGE)
        assert said is not None
        assert [int(text) for text in said.groups()] == [
            round(rem["gain_margin_db"][0]),
            round(rem_loads.edge(rem)),
            round(rem["gain_margin_db"][-1]),
        ]
        least, most = (round(pi2["gain_margin_db"][k]) for k in (0, -1))
        assert f"where PI2's goes from {least} to {most}" in PAGE

    def test_its_slowest_modes(self) -> None:
        link = {"capacity": "64Mbit/s", "packet_size": "1000B"}
        for count, said in ((160, 8), (320, 54)):
            flows = pf.Flows(pf.Reno(), count, "80ms")
            root = complex(pf.Loop(flows, pf.Rem(), rtt_terms="exact", **link).roots())
            assert root.imag == 0.0
            assert round(-1.0 / root.real) == said
            assert f"{said} s" in PAGE

    @pytest.mark.slow
    def test_packets_scatter_where_the_fluid_swings(self, monkeypatch: Any) -> None:
        monkeypatch.setattr(rem_loads, "SIMULATED", (10, 20, 80))
        fluid, packets = rem_loads.scatter(3)
        assert np.all(fluid["relative_sd_of_price"][:2] > 0.2)
        assert fluid["relative_sd_of_price"][2] < 1e-6
        few, edge, many = packets["relative_sd_of_price"]
        assert few == pytest.approx(1.4, abs=0.15)
        assert edge == pytest.approx(0.7, abs=0.15)
        assert many < 0.1
        assert np.all(np.abs(packets["utilization"][:2] - 0.92) < 0.02)
        assert packets["utilization"][2] == pytest.approx(0.98, abs=0.005)

    @pytest.mark.slow
    def test_pictures_and_numbers(self, curves: Any, tmp_path: Path, monkeypatch: Any) -> None:
        monkeypatch.setattr(rem_loads, "SIMULATED", (20, 160))
        monkeypatch.setattr(rem_loads, "curves", lambda: list(curves.values()))
        assert {path.name for path in pf.figure("rem_loads", quick=True).save(tmp_path)} == {
            *(f"rem_loads.{ending}" for ending in ("png", "svg", "pdf", "csv")),
            "rem_loads_scatter.csv",
            "rem_loads_traces.csv",
        }


@pytest.mark.slow
def test_the_examples_print_what_stands_below_them() -> None:
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 3
    space = {"pf": pf}
    for code, printed in blocks:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(code, space)
        assert out.getvalue() == printed


def rows_of_avq() -> list[tuple[int, list[str]]]:
    found = re.findall(r"^\| (\d+) \| (.*) \|$", PAGE, re.MULTILINE)
    return [(int(count), text.split(" | ")) for count, text in found]


def under_avq(count: int, law: pf.Avq) -> pf.Scenario:
    flows = pf.Flows(
        pf.Reno(), count, "100ms", initial_window=max(2, round(125 / count)), slow_start=False,
        start_jitter="1s", ecn=True,
    )  # fmt: skip
    return pf.Scenario(60, pf.Link("10Mbit/s", "100 packets", "1000B"), law, flows)


class TestAvq:
    def test_the_table_has_the_margins(self) -> None:
        rows = rows_of_avq()
        assert [count for count, _ in rows] == [5, 10, 20, 40]
        for count, (window, *margins, _, _, _) in rows:
            for marking, said in zip(("mm1k", "overflow"), margins, strict=True):
                loop = pf.Loop(under_avq(count, pf.Avq(marking=marking)).network)
                assert float(loop.operating_point.window[0]) == pytest.approx(
                    float(window), abs=0.006
                )
                assert f"{loop.margins().gain_margin:.3f}" == said

    @pytest.mark.slow
    def test_packets_use_what_they_are_let_where_the_loop_is_unstable(self) -> None:
        for count, (*_, used, queue, marked) in rows_of_avq():
            run = pf.simulate(under_avq(count, pf.Avq(ecn=True)), pf.Packets(seeds=4))
            late = run.sel(time=slice(20, None))
            rate = float((late.throughput.sum("flows") / 10e6).mean())
            assert f"{100 * rate:.1f} %" == used
            assert round(float(late.queue.mean())) == pytest.approx(float(queue), abs=1)
            part = float(pf.summarize(run, after=20).mark_fraction.mean())
            assert f"{100 * part:.1f} %" == marked

    @pytest.mark.slow
    def test_a_part_of_the_link_is_left_and_little_waits(self) -> None:
        """As published: near 98 % of the link, and a short queue."""
        link = pf.Link("10Mbit/s", "100 packets", "1000B")
        for ecn, used, waiting in ((True, 98.2, 9), (False, 97.9, 7)):
            flows = [
                pf.Flows(pf.Reno(), 10, f"{ms}ms", ecn=True, start_jitter="2s")
                for ms in (40, 70, 100, 130)
            ]
            run = pf.simulate(pf.Scenario(100, link, pf.Avq(ecn=ecn), flows), pf.Packets(seeds=4))
            rate = float(pf.summarize(run, after=20).utilization.mean())
            assert round(100 * rate, 1) == used
            assert round(float(run.queue.sel(time=slice(20, None)).mean())) == waiting
            assert f"{used} %" in PAGE
            assert re.search(rf"with {waiting}\b", PAGE)
