"""`pi2-fluid margins --along FILE`: margins at each rate of a trace of capacity."""

from __future__ import annotations

import pytest
from shell import assert_bad_input, strict_json

import pi2_fluid as pf
from pi2_fluid.apps.cli import run

TRACE = "time,rate\n0,10Mbit/s\n30,0Mbit/s\n40,50Mbit/s\n100,2Mbit/s\n"
LASTS = {10e6: 30.0, 50e6: 60.0, 2e6: 100.0 / 3.0}  # the last as long as others on average


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "lte.csv"
    path.write_text(TRACE)
    return str(path)


def margins(trace: str, *words: str) -> int:
    return run(["margins", "--flows", "4", "--path", "70ms", "--along", trace, *words])


@pytest.mark.slow
def test_each_rate_has_the_margins_of_its_own_loop(capsys, trace):
    """By one loop after the other; the median is that of time, and the outage has none."""
    assert margins(trace, "--json") == 0
    answer = strict_json(capsys.readouterr().out)
    assert answer["inputs"]["duration"] == pytest.approx(100.0 + 100.0 / 3.0)
    for clock, said in answer["along"].items():
        flows = pf.Flows(pf.Reno(), 4, "70ms")
        model = {"update": "sampled", "clock": clock}
        loops = {rate: pf.Loop(flows, pf.Pi2(), capacity=rate, **model) for rate in LASTS}
        gains = {rate: float(loop.margins().gain_margin_db) for rate, loop in loops.items()}
        assert said["min_gain_margin_db"] == pytest.approx(min(gains.values()), abs=1e-6)
        assert said["capacity"] == min(gains, key=gains.get)
        resting = sum(LASTS.values())
        below = sum(lasts for rate, lasts in LASTS.items() if gains[rate] < 3.0)
        assert said["part_below"] == pytest.approx(below / resting)
        assert said["part_at_rest"] == pytest.approx(resting / (resting + 10.0))
        middle, passed = sorted(LASTS, key=gains.get), 0.0
        for rate in middle:
            passed += LASTS[rate]
            if passed >= resting / 2.0:
                break
        assert said["median_gain_margin_db"] == pytest.approx(gains[rate], abs=1e-6)


@pytest.mark.slow
def test_it_is_printed_and_a_margin_can_be_required(capsys, trace):
    assert margins(trace, "--require", "3dB") == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "4 Reno through Pi2 along" in out
    assert "smallest median below 3 dB smallest at" in out
    assert "There is an operating point 92.5 % of the time." in out
    assert "Below the 3 dB required" in out
    assert margins(trace, "--clock", "acks") == 0
    assert "by rates" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--flows", "4"], "--path is missing beside --along"),
        (["--flows", "4", "--path", "70ms", "--rate", "5Mbit/s"], "--rate is given beside --along"),
        (["--flows", "4", "--path", "70ms", "--bunch", "0.5"], "--bunch is given beside"),
        (["x.toml", "--flows", "4", "--path", "70ms"], "a scenario is given beside --along"),
    ],
)
def test_what_contradicts_it_is_refused(capsys, trace, words, said):
    assert_bad_input(capsys, ["margins", *words, "--along", trace], said)


def test_a_file_that_is_no_trace(capsys, tmp_path):
    path = tmp_path / "empty.csv"
    path.write_text("\n")
    words = ["margins", "--flows", "4", "--path", "70ms", "--along", str(path)]
    assert_bad_input(capsys, words, "has no line with numbers")
