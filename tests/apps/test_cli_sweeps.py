"""`pi2-fluid sweep`: a file that says what to ask, and a store that can be gone on with."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import xarray as xr

import pi2_fluid as pf
from pi2_fluid.apps.cli import run
from pi2_fluid.apps.cli.specifications import read_specification
from pi2_fluid.sweeping.axes import Grid, read_axes
from pi2_fluid.sweeping.questions.choosing import question_of

pytest.importorskip("zarr")

PAGE = (Path(__file__).parents[2] / "docs/scale.md").read_text(encoding="utf-8")
SCENARIO = pf.Scenario("2s", pf.Link("4Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 2, "40ms"))
LOOP = '[loop]\nsender = "reno"\naqm = "pi2"\n'
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


def swept(tmp_path: Path, text: str) -> xr.Dataset:
    (tmp_path / "spec.toml").write_text(text)
    store = str(tmp_path / "x.zarr")
    assert run(["sweep", str(tmp_path / "spec.toml"), "--store", store]) == 0
    return xr.open_zarr(store, consolidated=False, chunks=None)


def test_loops_have_the_words_of_scenarios(tmp_path: Path) -> None:
    text = """
    [loop]
    sender = { kind = "reno", decrease = 0.6 }
    aqm.kind = "pie"
    aqm.update_interval = "20ms"
    rtt = "100ms"
    p_prime = 0.1
    update = "sampled"
    [over]
    aqm.alpha = [0.1, 0.125]
    """
    found = swept(tmp_path, text)
    aqm = pf.Pie(update_interval="20ms")
    loop = pf.Loop(pf.Reno(decrease=0.6), aqm, rtt=0.1, p_prime=0.1, update="sampled")
    assert float(found.gain_margin_db[1]) == loop.margins().gain_margin_db


def test_loops_of_flows(tmp_path: Path) -> None:
    text = """
    [loop]
    aqm = "pi2"
    capacity = "10Mbit/s"
    [[loop.flows]]
    sender = "reno"
    count = 10
    base_rtt = "80ms"
    [over]
    flows.0.count = [5, 10]
    """
    loop = pf.Loop(pf.Flows(pf.Reno(), 10, "80ms"), pf.Pi2(), capacity="10Mbit/s")
    found = swept(tmp_path, text)
    assert float(found.gain_margin_db[1]) == loop.margins().gain_margin_db


@pytest.mark.slow
def test_networks_lie_beside_the_file(tmp_path: Path) -> None:
    network = pf.named_scenario("parking_lot").network
    network.save(tmp_path / "mine.toml")
    over = '[over]\n"nodes.a.link.capacity" = ["24Mbit/s"]'
    found = swept(tmp_path, f'network = "mine.toml"\n{over}')
    assert found.window[0].values.tolist() == list(pf.equilibrium(network).window)
    (tmp_path / "loop").mkdir()
    network.save(tmp_path / "loop" / "mine.toml")
    found = swept(tmp_path / "loop", f'[loop]\nnetwork = "mine.toml"\nupdate="sampled"\n{over}')
    margins = pf.Loop(network, update="sampled").margins()
    assert float(found.gain_margin_db[0]) == margins.gain_margin_db


@pytest.mark.parametrize("text", re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL))
def test_the_examples_of_the_page_are_sweeps(tmp_path: Path, text: str) -> None:
    (tmp_path / "spec.toml").write_text(text)
    given = read_specification(tmp_path / "spec.toml")
    question = question_of(given["base"], given.get("engine"), given.get("reduce", pf.summarize))
    assert Grid(read_axes(given["over"], question.dimension)).size > 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x", "is no TOML"),
        ('scenaro = "a"', "'scenario'"),
        ("[over]", "none of scenario, network, loop, tune"),
        ('network = "parking_lot"\n[tune]', "network and tune: give one"),
        ("scenario = 1", "scenario = 1, which is no text"),
        ('[network]\nname = "a"', "which is no text: give the name of a file"),
        ('scenario = "nothing"\n[over]\naqm.target = [1]', "nothing"),
        ('scenario = "pi2_fig11a_pi2"\nover = 1', "no table"),
        ('scenario = "pi2_fig11a_pi2"\n[engine]\nname = "fluit"', "'fluid'"),
        ('scenario = "pi2_fig11a_pi2"\n[engine]\nseeds = 2', "[engine] fluid has 'seeds'"),
        ('scenario = "pi2_fig11a_pi2"\n[summarize]\nfrom = 2', "give one of 'after', 'until'"),
        ('scenario = "pi2_fig11a_pi2"', "nothing to vary"),
        ("[tune]\n[engine]", "beside tune"),
        ('network = "parking_lot"\n[summarize]', "beside network"),
        ('network = "nowhere"\n[over]\nx = [1]', "nowhere is no file"),
        ("loop = 1", "no table: write [loop]"),
        ("[loop]", "[loop] has nobody to send: give one of sender, flows, network"),
        ('[loop]\nsender = "reno"\nnetwork = "x"', "sender and network to send"),
        (f"{LOOP}rt = 1", "'rt', which is unknown: give 'rtt'"),
        (f"{LOOP}rtt = [1, 2]", "rtt = [1, 2]: give one value, and those that vary in [over]"),
        (f'{LOOP}rtt = "1s"', "[loop] p = None and p_prime = None"),
        (f'{LOOP}rtt = "1s"\np = 0.1\nupdate = "often"', "[loop] update = 'often'"),
        (
            '[loop]\nsender = "reno"\naqm = "pi3"',
            "[aqm] kind = 'pi3' is unknown: give 'pi' or 'pie'",
        ),
        ('[loop]\naqm.kind = "pi2"\naqm.a = 1\nsender = "reno"', "[aqm] a is unknown"),
        ('[loop]\nflows = 1\naqm = "pi2"', "flows = 1 is no list of tables"),
        ('[loop]\nnetwork = "parking_lot"\nrtt = 1', "of a network it is solved for"),
        (f'{LOOP}rtt = "1s"\np = 0.1\n[over]\nrt = [1]', "'rt', which base has not"),
        ('[tune]\nsenders = ["reno", "tahoe"]', "[tune] [sender] sender = 'tahoe'"),
        ('[tune]\nmax_rt = "100ms"\n[over]\nmax_rtt = [1]', "'max_rtt'"),
    ],
)
def test_a_file_that_says_something_else(tmp_path: Path, capsys, text: str, reason: str) -> None:
    (tmp_path / "spec.toml").write_text(text)
    words = ["sweep", str(tmp_path / "spec.toml"), "--store", str(tmp_path / "x.zarr")]
    assert run(words) == 2
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "x.zarr").exists()
