"""`pi2-fluid tune --traffic` and `check --traffic`, as people and scripts meet them."""

from __future__ import annotations

import dataclasses
import re

import pytest
from shell import answered, assert_bad_input, printed, strict_json

import pi2_fluid as pf
from pi2_fluid.apps.cli import run
from pi2_fluid.apps.cli.families import load_traffic
from pi2_fluid.design import tuning
from pi2_fluid.design.outcomes.recommending import TuningInterrupted

TINY = """\
title = "Tiny"
[[cells]]
name = "short_beside_long"
duration = "16s"
link.capacity = "8Mbit/s"
[[cells.flows]]
sender = "cubic"
base_rtt = "20ms"
[[cells.flows]]
name = "short"
sender = "cubic"
count = 20
base_rtt = "20ms"
size = {kind = "fixed", size = 40}
arrivals = "2/s"
[[cells]]
name = "load"
duration = "20s"
link.capacity = "8Mbit/s"
[[cells.flows]]
sender = "reno"
count = 4
base_rtt = "20ms"
[[cells.flows]]
name = "more"
sender = "reno"
count = 4
base_rtt = "20ms"
start = "11s"
stop = "16s"
"""
SLOW_QUEUE = (
    "qdisc dualpi2 1: dev wan0 root refcnt 2 limit 10000p memlimit 30000000B target 15ms tupdate"
    " 16ms alpha 0.042969 beta 2.507812 step_thresh 1ms min_qlen_step 0p coupling_factor 2"
    " drop_on_overload drop_dequeue classic_protection 10% l4s_ect split_gso\n"
)
PIE = "qdisc pie 2: dev wan1 root refcnt 2 limit 1000p target 15ms tupdate 20ms alpha 1 beta 20\n"
FQ_PIE = (
    "qdisc fq_pie 3: dev wan2 root refcnt 2 limit 10240p flows 1024 target 15ms tupdate 20ms"
    " alpha 1 beta 20 quantum 1514b memory_limit 32Mb ecn_prob 10\n"
)
INTERVAL = r"[+-]\d+\.\d+ ± \d+\.\d+"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    path = tmp_path_factory.mktemp("traffic") / "tiny.toml"
    path.write_text(TINY)
    return path


@pytest.fixture(scope="module")
def best(tiny):
    """What all printouts are of, and one race: against a queue that is slow for such traffic."""
    (queue,) = pf.qdisc.parse(SLOW_QUEUE)
    found = pf.tune(traffic=tiny, base=queue, seeds=8)
    assert not found.kept
    return found


@pytest.fixture
def once(monkeypatch, best):
    """Let the shell find that, and keep what it asked for."""
    asked = []

    def found(**arguments):
        asked.append(arguments)
        return best

    monkeypatch.setattr(tuning, "tune", found)
    return asked


@pytest.mark.slow
def test_the_answer_stands_first_then_outcomes_then_margins(capsys, tiny, best, once):
    text = printed(capsys, ["tune", "--traffic", str(tiny), "--value", "delay", "--floor", "-3dB"])
    (asked,) = once
    assert asked["value"] == "delay"
    assert asked["floor_db"] == -3.0
    assert [cell.name for cell in asked["traffic"].cells] == ["short_beside_long", "load"]
    flat = " ".join(text.split())
    assert flat.startswith(f"Run {best.chosen}: the 99th percentile of the delay falls by")
    assert re.search(r"^tc qdisc replace dev DEV root dualpi2 target 15ms", text, re.MULTILINE)
    for row in (f"{best.chosen}  chosen", "12/643  now", "41/819  default"):
        (line,) = [line for line in text.splitlines() if line.startswith(row)]
        assert len(re.findall(INTERVAL, line)) == 4
    assert "Gain margin for the flows of these cells: " in flat
    assert "by rates" in flat
    assert re.search(r"by acknowledgements: 6 dB (up to|on) .*, stable (up to|on) ", flat)
    assert flat.endswith(f"{best.runs} runs. Why no more: {best.stopped}.")
    assert max(map(len, text.splitlines())) <= 80
    assert len(text.splitlines()) <= 24
    assert "".join(str(best).split()) == "".join(text.split()).replace("\\", "")


@pytest.mark.slow
def test_json_has_the_recommendation_and_the_picture_is_drawn(capsys, tiny, best, once, tmp_path):
    picture = tmp_path / "front.png"
    command = ["tune", "--traffic", str(tiny), "--json", "--plot", str(picture)]
    told = answered(capsys, command)
    assert told["confirmation"] is None
    assert told["recommendation"] == best.to_dict()
    assert picture.stat().st_size > 10_000
    assert len(once) == 1


@pytest.mark.slow
def test_another_engine_confirms(capsys, tiny, best, once):
    # As many seeds as the race had: of three, intervals are so wide that rows take two lines.
    command = ["tune", "--traffic", str(tiny), "--confirm", "packet:seeds=8,threads=1"]
    text = printed(capsys, command)
    assert f"{best.chosen} against what runs now, in packet and (in packets):" in text
    assert re.search(rf"^load +{INTERVAL} \([+-]\S+\)", text, re.MULTILINE)
    assert "standard errors (root mean square)" in " ".join(text.split())
    found = answered(capsys, [*command, "--json"])["confirmation"]
    assert set(found["measures"]["p99_after"]["load"]) >= {"change", "low", "high", "packets", "z"}
    assert len(once) == 2


@pytest.mark.slow
def test_an_interrupted_race_prints_what_is_known(capsys, monkeypatch, tiny, best):
    def stop(**_):
        raise TuningInterrupted(best)

    monkeypatch.setattr(tuning, "tune", stop)
    assert run(["tune", "--traffic", str(tiny)]) == 130
    out, err = capsys.readouterr()
    assert f"{best.chosen}  chosen" in out
    assert "interrupted" in err
    monkeypatch.setattr(pf, "tune", stop)
    path = tiny.with_name("queue.txt")
    path.write_text(SLOW_QUEUE)
    assert run(["check", str(path), "--traffic", str(tiny)]) == 130
    assert "you would gain" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_a_limit_of_time_is_said_and_leaves_what_runs(capsys, tiny):
    line = "tc qdisc replace dev wan0 root dualpi2 target 15ms tupdate 16ms alpha 0.0468 beta 2.512"
    limit = ["--base", line, "--seconds", "1ms"]
    told = answered(capsys, ["tune", "--traffic", str(tiny), *limit, "--json"])["recommendation"]
    assert told["cut_short"]
    assert told["stopped"]
    (base,) = (row for row in told["candidates"] if "base" in row["role"])
    assert base["beta"] == pytest.approx(2.51, abs=0.01)


@pytest.mark.slow
def test_check_says_what_one_would_gain_and_lose(capsys, tiny, best, once):
    path = tiny.with_name("several.txt")
    path.write_text(SLOW_QUEUE + PIE + FQ_PIE)
    code = run(["check", str(path), "--traffic", str(tiny)])
    out = capsys.readouterr().out
    flat = " ".join(out.split())
    assert code == 0
    (asked,) = once
    assert asked["base"].aqm.beta == pytest.approx(2.51, abs=0.01)
    assert "dualpi2 1: dev wan0 root, for Tiny" in out
    assert f"With {best.chosen} you would gain " in flat
    assert re.search(r"% of that after events, and lose (nothing|\d+\.\d+ points of rate)\.", flat)
    assert "tc qdisc change dev wan0 root dualpi2 target 15ms" in flat
    assert "Not compared: what runs depends on the kernel: give --hz" in flat
    assert "Not compared: in fq_pie each flow has a queue of its own" in flat
    run(["check", str(path), "--traffic", str(tiny), "--json"])
    told = strict_json(capsys.readouterr().out)["traffic"]
    assert [one["recommendation"] is None for one in told] == [False, True, True]
    assert told[0]["tc"].startswith("tc qdisc change dev wan0 root dualpi2 ")
    assert told[0]["text"].startswith(f"With {best.chosen} you would gain")


@pytest.mark.slow
def test_who_should_keep_what_runs_is_told_to_leave_it(capsys, monkeypatch, tiny, best):
    kept = dataclasses.replace(best, kept=True)
    monkeypatch.setattr(tuning, "tune", lambda **_: kept)
    path = tiny.with_name("good.txt")
    path.write_text(SLOW_QUEUE)
    assert run(["check", str(path), "--traffic", str(tiny)]) == 0
    out = capsys.readouterr().out
    assert "Leave it: nothing that was tried is certainly better" in " ".join(out.split())
    assert "tc qdisc change" not in out
    assert "Keep what you have" in printed(capsys, ["tune", "--traffic", str(tiny)])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), ("say who sends", "--traffic home", "give --max-rtt")),
        (("--rate", "20Mbit/s"), ("say who sends",)),
        (
            ("--traffic", "home", "--phase-margin", "45"),
            (
                "--phase-margin goes with a largest round-trip time, not with traffic",
                "leave it out",
            ),
        ),
        (("--rtt", "30ms", "--max-rtt", "100ms"), ("--max-rtt goes with a largest",)),
        (("--max-rtt", "100ms", "--value", "rate"), ("--value goes with traffic",)),
        (("--max-rtt", "100ms", "a.toml"), ("a file goes with traffic",)),
        (("--traffic", "hom"), ("traffic = 'hom' is no word", "'home'")),
        (("--traffic", "home", "--value", "both"), ("--value", "delay")),
        (("--traffic", "home", "--floor", "much"), ("--floor 'much' is no gain margin",)),
        (("--long", "few"), ("--long 'few' is no number",)),
        (("--rtt", "10ms..eighty"), ("rtt", "eighty")),
        (
            ("--traffic", "home", "--base", "qdisc noqueue 0: dev lo"),
            ("there is no pie, fq_pie or dualpi2",),
        ),
        (("--traffic", "home", "--seeds", "2"), ("--seeds", "4 or more")),
        (("--traffic", "home", "--confirm", "kernel"), ("--confirm = 'kernel' is unknown",)),
    ],
    ids=lambda words: " ".join(words) or "nothing" if isinstance(words, tuple) else None,
)
def test_what_means_nothing_is_one_sentence(capsys, words, said):
    assert_bad_input(capsys, ["tune", *words], *said)


def test_check_knows_the_words_before_it_judges(capsys):
    assert_bad_input(
        capsys, ["check", SLOW_QUEUE, "--traffic", "hom"], "--traffic hom is", "'home'"
    )


def test_several_names_are_one_family(tiny):
    other = tiny.with_name("other.toml")
    other.write_text(TINY.replace("short_beside_long", "a").replace('"load"', '"b"'))
    assert len(load_traffic([str(tiny), str(other)]).cells) == 4
