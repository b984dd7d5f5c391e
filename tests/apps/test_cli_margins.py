"""`pi2-fluid margins`: flows on a link, presets, what is required, and the model that is used."""

from __future__ import annotations

import re

import pytest
from shell import answered, printed, strict_json

import pi2_fluid as pf
from pi2_fluid.apps.cli import run
from pi2_fluid.laws.registry import PRESETS, make_aqm

LINK = ["margins", "--flows", "10", "--rate", "20Mbit/s", "--path", "40ms"]
LOAD = ["margins", "--rtt", "100ms", "--p-prime", "0.1"]


def test_the_load_follows_from_flows_rate_and_path(capsys) -> None:
    """W = R C/(8 S n) by hand: 60 ms with the queue, 20 Mbit/s, 1500 bytes, ten flows."""
    answer = answered(capsys, [*LINK, "--json"])
    window = 0.060 * 20e6 / (8 * 1500 * 10)
    inputs = answer["inputs"]
    assert inputs["window"] == pytest.approx(window, rel=1e-9)
    assert inputs["p"] == pytest.approx(2 / window**2, rel=1e-9)
    assert inputs["p_prime"] ** 2 == pytest.approx(inputs["p"], rel=1e-12)
    assert (inputs["flows"], inputs["rate"], inputs["path"]) == (10.0, 20e6, 0.04)
    same = ["margins", "--rtt", "60ms", "--p", repr(inputs["p"]), "--json"]
    by_load = answered(capsys, same)
    for key in ("margins", "ack_margins"):
        for name in ("gain_margin_db", "phase_margin_deg"):
            assert answer[key][name] == pytest.approx(by_load[key][name], rel=1e-6)
    out = printed(capsys, LINK)
    assert "10 reno on 20Mbit/s, path 40ms" in out
    assert "round-trip time 60 ms with the queue" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--p", "0.1"], "--p 0.1 is p (p' 0.316, its square root): 10 % of the packets"),
        (["--p-prime", "0.1"], "--p-prime 0.1 is p' (p 0.01, its square): 1 % of the packets"),
        (
            ["--p", "0.1", "--sender", "scalable", "--aqm", "coupled"],
            "--p 0.1 is p (p' 0.1, the same): 10 % of the packets",
        ),
    ],
)
def test_the_printout_says_which_of_p_and_p_prime_was_given(capsys, words, said) -> None:
    run(["margins", "--rtt", "100ms", *words])
    assert said in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("required", "code"), [(3.0, 0), (6.0, 1)])
def test_a_required_margin_decides_the_code(capsys, required, code) -> None:
    words = [*LOAD, "--require", f"{required:g}dB"]
    margin = answered(capsys, [*LOAD, "--json"])["least"]["gain_margin_db"]
    assert run([*words, "--json"]) == code
    answer = strict_json(capsys.readouterr().out)
    told = {"gain_margin_db": required, "least_db": margin, "kept": code == 0}
    assert (answer["verdict"], answer["required"]) == ("stable", told)
    assert run(words) == code
    assert f"{margin:.2f} dB" in capsys.readouterr().out.splitlines()[1]


def test_an_unstable_loop_says_so_in_its_first_line(capsys) -> None:
    assert run([*LOAD, "--alpha", "3"]) == 1
    assert re.match(r"UNSTABLE: gain margin -\d+\.?\d* dB\n", capsys.readouterr().out)


def test_a_loop_without_updates_is_continuous_by_default(tmp_path, capsys) -> None:
    """RED acts on every packet: there is nothing to sample, and the screen names the model."""
    queue = pf.Red(min=5, max=50)
    flows = pf.Flows(pf.Reno(), 10, "80ms")
    path = tmp_path / "red.toml"
    pf.Network(pf.Node("a", pf.Link("20Mbit/s"), queue), flows).save(path)
    assert run(["margins", str(path), "--json"]) == 1
    answer = strict_json(capsys.readouterr().out)
    assert answer["inputs"]["update"] == "continuous"
    assert run(["margins", str(path)]) == 1
    assert "Model: continuous" in capsys.readouterr().out
    assert run(["margins", str(path), "--update", "sampled"]) == 2
    assert "--update continuous" in capsys.readouterr().err


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_has_margins(capsys, name) -> None:
    text = "tc_max_rtt:max_rtt=100ms" if name == "tc_max_rtt" else name
    numbers = {"max_rtt": "100ms"} if name == "tc_max_rtt" else {}
    run([*LINK, "--aqm", text, "--target", "12ms", "--json"])
    answer = strict_json(capsys.readouterr().out)
    queue = make_aqm(name, numbers | {"target": "12ms"})
    for field in ("alpha", "beta", "update_interval", "target"):
        assert answer["inputs"][field] == getattr(queue, field)
    flows = pf.Flows(pf.Reno(), 10, "40ms")
    loop = pf.Loop(flows, queue, capacity="20Mbit/s", update="sampled")
    assert answer["margins"]["gain_margin_db"] == loop.margins().gain_margin_db
