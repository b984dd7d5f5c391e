"""Capacity over time: what files say, repeated, as a schedule, and as text without the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.errors import DomainError, QuantityError, ScenarioError

TOML = """
duration = "3s"
[link]
capacity = "12Mbit/s"
[aqm]
kind = "pi2"
[[flows]]
sender = "reno"
base_rtt = "40ms"
[[changes]]
at = 0.5
counts = { reno = 3 }
"""


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def steps(trace: pf.CapacityTrace, duration: float = 10.0) -> list[tuple[float, float]]:
    return [(float(c.at), float(c.capacity or 0.0)) for c in trace.changes(duration)]


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("time (s),rate (Mbit/s)\n0,8\n1.5,0\n2,5\n", None),
        ("# measured\nms [ms];down [kbit/s]\n0;8000\n\n1500;0\n2000;5000\n", None),
        ("0\t8Mbit/s\n1500ms\t0bit/s\n2\t5Mbit/s\n", None),
        ("0 8\n1.5 0\n2.0 5.0\n", "Mbit/s"),
        ("time,rate,cell\n0,8,a\n1.5,0,b\n2,5,a\n", "Mbit/s"),
    ],
)
def test_a_csv_file_has_times_and_rates(tmp_path: Path, text: str, unit: str | None) -> None:
    trace = pf.CapacityTrace.load(written(tmp_path / "cell.csv", text), unit=unit)
    assert steps(trace) == [(0.0, 8e6), (1.5, 0.0), (2.0, 5e6)]


def test_a_trace_of_mahimahi_is_opportunities_of_a_packet_that_repeat(tmp_path: Path) -> None:
    # By the manual of mm-link: a 1500-byte packet at each line's ms, from the start after the last.
    at = [1, 1, 99, 100, 101, 350, 400]
    path = written(tmp_path / "cell.up", "".join(f"{ms}\n" for ms in at))
    trace = pf.CapacityTrace.load(path)
    assert trace.period == pytest.approx(0.4)
    wanted = [480e3, 120e3, 0.0, 240e3, 480e3, 120e3, 0.0, 240e3, 480e3]
    found = np.array(steps(trace, 0.9))
    np.testing.assert_allclose(found, np.transpose([np.arange(9) * 0.1, wanted]), atol=1e-12)
    # To the ms, each packet's bits are served where its line is, and no others.
    finest = pf.CapacityTrace.load(path, "mahimahi", step="1ms")
    times, rates = finest.until(0.8)
    ends = np.append(times[1:], 0.8)
    served = [rates[np.searchsorted(times, ms * 1e-3 - 5e-4) - 1] / 12e6 for ms in range(1, 801)]
    wanted = [at.count(ms) + at.count(ms - 400) for ms in range(1, 801)]
    np.testing.assert_allclose(served, wanted, rtol=1e-9)
    assert float(rates @ (ends - times)) == pytest.approx(2 * len(at) * 12e3)


def test_a_period_repeats_rows_and_a_mean_is_over_the_run() -> None:
    trace = pf.CapacityTrace([0.0, 2.0], ["20Mbit/s", 0], period="3s")
    assert steps(trace, 7.0) == [(0.0, 2e7), (2.0, 0.0), (3.0, 2e7), (5.0, 0.0), (6.0, 2e7)]
    assert trace.mean("6s") == pytest.approx(2e7 * 2 / 3)
    late = pf.CapacityTrace([1.0, 2.0], [1e6, 3e6])
    assert steps(late) == [(1.0, 1e6), (2.0, 3e6)]
    assert late.mean("4s") == pytest.approx((1e6 + 2 * 3e6) / 3)


def test_a_scenario_names_the_file_beside_it_and_needs_it_no_more(tmp_path: Path) -> None:
    rates = np.random.default_rng(1).uniform(1.0, 20.0, 60).round(3)
    rows = "".join(f"{0.05 * i:.2f},{rate}\n" for i, rate in enumerate(rates))
    written(tmp_path / "cell.csv", f"time (s),rate (Mbit/s)\n{rows}")
    path = written(tmp_path / "s.toml", f'{TOML}[[traces]]\nfile = "cell.csv"\n')
    scenario = pf.Scenario.load(path)
    assert [c.capacity for c in scenario.changes if c.counts is None] == pytest.approx(1e6 * rates)
    text = scenario.to_toml()
    assert text.count("\n") < 30
    assert pf.Scenario.from_toml(text) == scenario
    # Of several nodes, and of a family.
    node = '[[node]]\nname = "{}"\ncapacity = "9Mbit/s"\n[node.aqm]\nkind = "pi2"\n'
    several = 'duration = "3s"\n' + node.format("a") + node.format("b")
    several += '[[flows]]\nsender = "reno"\nbase_rtt = "40ms"\nroute = ["a", "b"]\n'
    several += '[[traces]]\nfile = "cell.csv"\nlink = "b"\n'
    routed = pf.Scenario.load(written(tmp_path / "several.toml", several))
    assert {change.link for change in routed.changes} == {"b"}
    assert pf.Scenario.from_toml(routed.to_toml()) == routed
    family = '[[cells]]\nname = "x"\nduration = "30s"\n[cells.link]\ncapacity = "9Mbit/s"\n'
    family += (
        '[[cells.flows]]\nsender = "reno"\nbase_rtt = "40ms"\n[[cells.traces]]\nfile = "cell.csv"\n'
    )
    traffic = pf.Traffic(written(tmp_path / "family.toml", family))
    assert len(traffic.cells[0].scenario.changes) == 60
    assert pf.Traffic.from_toml(traffic.to_toml()) == traffic


def test_a_change_of_counts_at_the_same_time_stays_in_its_place() -> None:
    changes = [pf.Change(0.1 * i, capacity=1e6 * (i + 1)) for i in range(1, 30)]
    changes.insert(5, pf.Change(changes[4].at, counts={"reno": 2}))
    flows = pf.Flows(pf.Reno(), 1, "40ms")
    scenario = pf.Scenario("4s", pf.Link("10Mbit/s"), pf.Pi2(), flows, changes)
    assert pf.Scenario.from_toml(scenario.to_toml()) == scenario


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no line with numbers"),
        ("time,rate\n", "has no line with numbers"),
        ("0,5\n1,6\n", "line 1: rate = '5' has no unit: begin the file with a header"),
        ("0,5Mbit/s\n1\n", "line 2: '1' is not a time and a rate"),
        ("0,5Mbit/s\n1,fast\n", "line 2: rate = 'fast'"),
        ("0,5Mbit/s\n0,6Mbit/s\n", "do not rise"),
        ("0,-5Mbit/s\n", "outside [0, inf)"),
        ("0,0bit/s\n", "are all 0"),
        ("5\n4\n", "line 2: 4 ms is before the line above"),
        ("0\n0\n", "ends at 0 ms"),
    ],
)
def test_what_a_file_must_not_say_is_said_with_its_line(
    tmp_path: Path, text: str, said: str
) -> None:
    path = written(tmp_path / "cell.csv", text)
    with pytest.raises((ScenarioError, QuantityError, DomainError)) as raised:
        pf.CapacityTrace.load(path)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('file = "none.csv"', r"traces\]\] 1: file = 'none.csv' cannot be read"),
        ("file = 3", "file = 3 is no text"),
        ('file = "x"\ntimes = [0]', "times is unknown"),
        ("times = [0, 1]\ncapacities = [1e6]", "2 times and 1 capacities"),
        ("times = [7]\ncapacities = [1e6]", "begin at 7 s, and duration is 3 s"),
        ("times = [0, 1]\ncapacities = [1e6, 2e6]\nperiod = 1", "period = 1 s is not after"),
        ('times = [0]\ncapacities = [1e6]\nlink = "b"', "link = 'b', which is no node"),
    ],
)
def test_a_table_of_a_trace_is_checked(table: str, said: str) -> None:
    with pytest.raises((ScenarioError, QuantityError), match=said):
        pf.Scenario.from_toml(f"{TOML}[[traces]]\n{table}\n")


def test_an_unknown_format_and_too_many_rounds_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "cell", "1\n2\n")
    with pytest.raises(QuantityError, match="give 'csv' or 'mahimahi'"):
        pf.CapacityTrace.load(path, "pps")
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScenarioError, match="give a CSV file"):
        pf.CapacityTrace.load(path)
    with pytest.raises(QuantityError, match="more than 1000000"):
        pf.CapacityTrace([0.0, 0.001], [1e6, 2e6], period="2ms").until("1h")
