"""`check` of a queue as such, by its law or by the name of a preset."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from refusals import refused
from shell import assert_bad_input, strict_json

import pi2_fluid as pf
from pi2_fluid.apps.cli import run
from pi2_fluid.laws.registry import PRESETS, make_aqm

DOCSIS = pf.presets.docsis_pie()


@pytest.mark.slow
def test_a_law_is_judged_as_it_is() -> None:
    """The loop where it is worst has that margin, and none of a grid has less."""
    (judged,) = pf.check(DOCSIS, max_base_rtt="60ms")
    assert (judged.verdict, judged.margin_lost_db) == ("unstable", 0.0)
    assert judged.rtt == pytest.approx(0.07)
    assert math.isinf(judged.rate_held)
    worst = {"rtt": judged.worst.rtt, "p_prime": judged.worst.p_prime, "update": "sampled"}
    margins = [
        pf.Loop(pf.Reno(), DOCSIS, rtt_terms=terms, **worst).margins().gain_margin_db
        for terms in ("frozen", "exact")
    ]
    assert min(margins) == pytest.approx(judged.margins.gain_margin_db, abs=0.02)
    p = np.geomspace(1e-6, 0.3, 60)
    grid = pf.Loop(pf.Reno(), DOCSIS, rtt=0.07, p=p, update="sampled").margins()
    assert np.min(grid.gain_margin_db) >= judged.margins.gain_margin_db - 0.02


@pytest.mark.slow
def test_its_remedy_has_gains_and_no_line() -> None:
    (judged,) = pf.check(DOCSIS, max_base_rtt="60ms")
    assert judged.remedy.tc is None
    assert judged.remedy.aqm.gain_table == "rfc8034"
    gains = re.match(r"alpha (\S+) Hz and beta (\S+) Hz leave", judged.remedy.text)
    assert float(gains[1]) == pytest.approx(judged.remedy.aqm.alpha, rel=1e-3)
    found = pf.check(judged.remedy.aqm, max_base_rtt="60ms")
    assert found.verdict == "stable"
    assert found[0].least.gain_margin_db >= 5.99


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_judged_at_the_shell(name, capsys) -> None:
    text = "tc_max_rtt:max_rtt=80ms" if name == "tc_max_rtt" else name
    numbers = {"max_rtt": "80ms"} if name == "tc_max_rtt" else {}
    code = run(["check", "--aqm", text, "--max-base-rtt", "20ms", "--json"])
    answer = strict_json(capsys.readouterr().out)
    assert code == {"stable": 0, "unstable": 1}[answer["verdict"]]
    (one,) = answer["qdiscs"]
    queue = make_aqm(name, numbers)
    assert one["installed"]["alpha"] == queue.alpha
    assert one["installed"]["update_interval"] == queue.update_interval
    (judged,) = pf.check(queue, max_base_rtt="20ms")
    assert one["least"]["gain_margin_db"] == judged.least.gain_margin_db


@pytest.mark.slow
def test_the_shell_names_it_as_it_was_asked_for(capsys) -> None:
    assert run(["check", "--aqm", "docsis_pie", "--max-base-rtt", "20ms"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("docsis_pie\n")
    assert "tc qdisc" not in out


def test_what_has_no_meaning_for_a_law_is_refused(capsys) -> None:
    assert_bad_input(capsys, ["check", "x.txt", "--aqm", "docsis_pie"], "leave one of them out")
    assert_bad_input(capsys, ["check", "--aqm", "docsis"], "give docsis_pie")
    assert_bad_input(capsys, ["check"], "as --aqm docsis_pie")
    network = pf.Network(pf.Node("a", pf.Link("10Mbit/s"), DOCSIS), pf.Flows(pf.Reno(), 4, "40ms"))
    with refused(pf.QuantityError, "network is given beside Pie"):
        pf.check(DOCSIS, network=network)
