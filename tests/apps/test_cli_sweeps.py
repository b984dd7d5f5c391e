"""`pi2-fluid sweep`: a file that says what to ask, and a store that can be gone on with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import xarray as xr

import pi2_fluid as pf
from pi2_fluid.apps.cli import run

pytest.importorskip("zarr")

SCENARIO = pf.Scenario("2s", pf.Link("4Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 2, "40ms"))
SPEC = """
scenario = "mine.toml"
[over]
aqm.target = ["10ms", "20ms"]
"link.capacity, flows.0.count" = [["4Mbit/s", 2], ["8Mbit/s", 4], ["9Mbit/s", -1]]
[engine]
name = "fluid"
sample = "20ms"
[summarize]
after = "1s"
"""


@pytest.mark.slow
def test_a_file_becomes_a_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    SCENARIO.save(tmp_path / "mine.toml")
    (tmp_path / "spec.toml").write_text(SPEC)
    words = ["sweep", str(tmp_path / "spec.toml"), "--store", str(tmp_path / "x.zarr")]
    assert run([*words, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["points"], said["without_a_result"]) == (6, 2)
    assert "-1" in said["first_error"]
    found = xr.open_zarr(said["store"], consolidated=False, chunks=None)
    one = pf.simulate(SCENARIO, pf.Fluid(sample="20ms"))
    assert float(found.delay_mean[1, 0]) == float(pf.summarize(one, after="1s").delay_mean)
    assert run(words) == 0
    assert "6 points, 2 with an error" in capsys.readouterr().out
    (tmp_path / "spec.toml").write_text(SPEC.replace("10ms", "11ms"))
    assert run(words) == 2
    assert "another sweep" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x", "is no TOML"),
        ('scenaro = "a"', "'scenario'"),
        ("[over]", "neither of scenario and tune"),
        ('scenario = "nothing"\n[over]\naqm.target = [1]', "nothing"),
        ('scenario = "pi2_fig11a_pi2"\nover = 1', "no table"),
        ('scenario = "pi2_fig11a_pi2"\n[engine]\nname = "fluit"', "'fluid'"),
        ('scenario = "pi2_fig11a_pi2"\n[engine]\nseeds = 2', "engine.seeds"),
        ('scenario = "pi2_fig11a_pi2"\n[summarize]\nfrom = 2', "after or until"),
        ('scenario = "pi2_fig11a_pi2"', "nothing to vary"),
        ("[tune]\n[engine]", "beside tune"),
        ('[tune]\nmax_rt = "100ms"\n[over]\nmax_rtt = [1]', "'max_rtt'"),
    ],
)
def test_a_file_that_says_something_else(tmp_path: Path, capsys, text: str, reason: str) -> None:
    (tmp_path / "spec.toml").write_text(text)
    words = ["sweep", str(tmp_path / "spec.toml"), "--store", str(tmp_path / "x.zarr")]
    assert run(words) == 2
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "x.zarr").exists()
