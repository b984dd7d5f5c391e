"""`--require 6dB`: an exit code tells a script whether the margin is there that it asks for."""

from __future__ import annotations

import pytest
from shell import assert_bad_input, strict_json

import pi2_fluid as pf
from pi2_fluid.apps.cli import run
from pi2_fluid.apps.cli.requiring import code_of
from pi2_fluid.tc.installing import install
from pi2_fluid.tc.showing import show

LINUX = show(install(pf.presets.linux_dualpi2(), "dualpi2"))
RED = (
    "qdisc red 5: dev eth0 root refcnt 2 limit 400000b min 15000b max 45000b ewma 5"
    " probability 0.02 Scell_log 10"
)


@pytest.mark.parametrize(
    ("verdict", "least", "required", "code"),
    [
        ("stable", 0.45, None, 0),
        ("stable", 0.45, 6.0, 1),
        ("stable", 5.995, 6.0, 0),  # as a line that leaves 6 dB in steps of the kernel
        ("stable", 5.98, 6.0, 1),
        ("unstable", -3.0, None, 1),
        ("unstable", -3.0, 0.0, 1),
        ("undecided", 9.0, 6.0, 3),
        ("undecided", 3.0, 6.0, 1),
    ],
)
def test_a_margin_that_is_too_small_counts_as_unstable(verdict, least, required, code) -> None:
    assert code_of(verdict, least, required) == code


@pytest.mark.slow
def test_check_leaves_with_1_below_what_is_required_and_says_so(capsys) -> None:
    """0.74 dB: stable without the option and at 0.5 dB, too little at 6 dB."""
    least = pf.check(LINUX).gain_margin_db
    assert least == pytest.approx(0.74, abs=5e-3)
    assert run(["check", LINUX, "--require", "0.5dB"]) == 0
    assert "The 0.5 dB required are there: " in capsys.readouterr().out
    assert run(["check", LINUX, "--require", "6 dB"]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("Below the 6 dB required: the smallest gain margin is 0.74 dB")
    assert run(["check", LINUX, "--require", "6dB", "--json"]) == 1
    told = strict_json(capsys.readouterr().out)
    assert (told["verdict"], told["required"]["kept"]) == ("stable", False)
    assert told["required"]["least_db"] == least


def test_a_queue_with_a_loop_of_its_own_counts(capsys) -> None:
    """Of RED, whose margin is one of `others`; a queue without a loop has none."""
    words = ["check", RED, "--rate", "10Mbit/s", "--max-base-rtt", "20ms"]
    assert run(words) == 0
    assert run([*words, "--require", "30dB"]) == 1
    assert "Below the 30 dB required" in capsys.readouterr().out
    codel = "qdisc fq_codel 0: dev eth1 root limit 10240p flows 1024 target 5ms interval 100ms"
    assert run(["check", codel, "--require", "6dB"]) == 3
    assert "required" not in capsys.readouterr().out


def test_what_is_no_margin_is_refused(capsys) -> None:
    for wrong in ("six", "30deg", "dB", "1.2.3dB", "1e999dB", ""):
        assert_bad_input(capsys, ["check", LINUX, "--require", wrong], "such as 6dB")
    assert_bad_input(capsys, ["check", LINUX, "--require", "-1dB"], "0dB or more")
