"""`pi2-fluid replay` of logs as people keep them: the same queue, the same answers."""

from __future__ import annotations

import json

import pytest
from recorded import runs_of
from shell import answered, assert_bad_input, printed

STEPS = 40


def rows() -> list[dict[str, str]]:
    """What Linux made of a step of the delay, update by update."""
    return runs_of("linux_pie_updates.csv", "variant", "case")["linux6.18/step"][:STEPS]


def shown(
    number: int, row: dict[str, str], place: str = "dev eth0 root", handle: str = "1:"
) -> str:
    return (
        f"qdisc pie {handle} {place} limit 1000p target 15ms tupdate 15ms alpha 2 beta 20 \n"
        f" Sent {1000 * number} bytes {10 * number} pkt (dropped 0, overlimits 0 requeues 0) \n"
        f" backlog {row['backlog_bytes']}b 0p requeues 0\n"
        f"  prob {row['prob']} delay {row['qdelay_us']}us\n"
        f"  pkts_in {10 * number} overlimit 0 dropped 0 maxq 5 ecn_mark 0\n"
    )


def as_json(number: int, row: dict[str, str]) -> dict:
    return {
        "kind": "pie",
        "handle": "1:",
        "root": True,
        "options": {"limit": 1000, "target": 15000, "tupdate": 15000, "alpha": 2, "beta": 20},
        "packets": 10 * number,
        "backlog": int(row["backlog_bytes"]),
        "prob": float(row["prob"]),
        "delay": int(row["qdelay_us"]),
    }


def clock(number: int) -> str:
    return f"20:00:{number % 60:02}"


HTB = "qdisc htb 1: dev eth0 root refcnt 2 r2q 10 default 0x1 direct_packets_stat 0\n"
HTB += " Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0) \n backlog 0b 0p requeues 0\n"
#: Forms of a log, each from the number of a state and its numbers.
FORMS = {
    "one after the other": shown,
    "no device": lambda n, row: shown(n, row, "root"),
    "epoch before": lambda n, row: f"{1764270000 + 0.015 * n:.3f}\n{shown(n, row)}",
    "epoch before each line": lambda n, row: "".join(
        f"{1764270000000 + 15 * n} {line}\n" for line in shown(n, row).splitlines()
    ),
    "date": lambda n, row: f"Fri Nov 27 {clock(n)} UTC 2026\n{shown(n, row)}",
    "local date": lambda n, row: f"Fri 27 Nov 2026 08:00:{n % 60:02} PM CET\n{shown(n, row)}",
    "ISO": lambda n, row: f"[2026-11-27T{clock(n)}.250+01:00] {shown(n, row)}",
    "Time and dashes": lambda n, row: f"---\nTime: {1764270000 + 0.015 * n:.3f}\n{shown(n, row)}",
    "watch": lambda n, row: (
        f"Every 0.1s: tc -s qdisc show dev eth0     fw: Fri Nov 27 {clock(n)} 2026\n\n"
        + shown(n, row, "root")
    ),
    "trace": lambda n, row: (
        f"+ date +%s\n{1764270000 + n}\n+ tc -s qdisc show dev eth0\n{shown(n, row, 'root')}"
    ),
    "JSON lines": lambda n, row: json.dumps([as_json(n, row)]) + "\n",
    "JSON with a time beside": lambda n, row: (
        json.dumps({"time": 1764270000 + 0.015 * n, "qdiscs": [as_json(n, row)]}) + "\n"
    ),
    "JSON behind a time": lambda n, row: (
        f"{1764270000 + 0.015 * n} {json.dumps([as_json(n, row)])}\n"
    ),
    "JSON, pretty": lambda n, row: json.dumps([as_json(n, row)], indent=4) + "\n",
    "other queues": lambda n, row: HTB + shown(n, row, "dev eth0 parent 1:1", "2:"),
    "Windows": lambda n, row: f"{n}\n{shown(n, row)}".replace("\n", "\r\n"),
    "a mail": lambda n, row: "".join(f"> {line}\n" for line in shown(n, row).splitlines()),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_log_is_replayed_alike(form, tmp_path, capsys):
    path = tmp_path / "tc.log"
    states = [FORMS[form](number, row) for number, row in enumerate(rows())]
    path.write_text("".join(states), encoding="utf-8", newline="")
    answer = answered(capsys, ["replay", str(path), "--json"])
    assert len(answer["p"]) == STEPS
    assert max(answer["logged"]) > 0.001
    # six digits of p, as tc prints it
    assert answer["controller"] == pytest.approx(answer["logged"], rel=1e-6, abs=1e-6)
    out = printed(capsys, ["replay", str(path)])
    assert f"{STEPS} {'outputs that name no' if 'eth0' not in states[0] else 'instants of'}" in out


def test_a_log_that_begins_in_traffic_goes_on_from_there(tmp_path, capsys):
    path = tmp_path / "tc.log"
    path.write_text("".join(shown(n, row) for n, row in enumerate(rows())))
    whole = answered(capsys, ["replay", str(path), "--json"])
    begin = next(n for n, p in enumerate(whole["logged"]) if p > 0.001)
    assert 0 < begin < STEPS - 10
    path.write_text("".join(shown(n, row) for n, row in enumerate(rows()) if n >= begin))
    part = answered(capsys, ["replay", str(path), "--json"])
    # the state was printed with six digits
    assert part["controller"] == pytest.approx(whole["controller"][begin + 1 :], abs=2e-6)
    (note,) = part["notes"]
    assert note.startswith("The log begins in traffic. The replay starts at p 0.00")


def test_several_devices_are_replayed_one_after_the_other(tmp_path, capsys):
    path = tmp_path / "tc.log"
    path.write_text(
        "".join(
            shown(n, row) + shown(n, rows()[0], "dev eth1 root") for n, row in enumerate(rows())
        )
    )
    out = printed(capsys, ["replay", str(path)])
    assert "2 devices (eth0, eth1), 40 instants of eth0, 40 instants of eth1" in out
    assert out.count("queue delay [ms]") == 2
    for words in (["--json"], ["-o", str(tmp_path / "x.csv")]):
        assert_bad_input(capsys, ["replay", str(path), *words], "has 2 queues", "by --dev")
    answer = answered(capsys, ["replay", str(path), "--json", "--dev", "eth1"])
    assert answer["logged"] == [float(rows()[0]["prob"])] * STEPS
    assert_bad_input(capsys, ["replay", str(path), "--dev", "eth2"], "give eth0 or eth1")


@pytest.mark.parametrize(
    ("apart", "said"),
    [(1.0, "lacks updates"), (0.001, "several times"), (0.016, None)],
)
def test_states_that_are_not_those_of_each_update_are_said(apart, said, tmp_path, capsys):
    path = tmp_path / "tc.log"
    path.write_text(
        "".join(f"{1764270000 + apart * n:.3f}\n{shown(n, row)}" for n, row in enumerate(rows()))
    )
    notes = answered(capsys, ["replay", str(path), "--json"])["notes"]
    assert [said in note for note in notes] == ([] if said is None else [True])


def test_a_queue_made_anew_is_another(tmp_path, capsys):
    path = tmp_path / "tc.log"
    path.write_text(2 * "".join(shown(n, row) for n, row in enumerate(rows())))
    assert printed(capsys, ["replay", str(path)]).count("queue delay [ms]") == 2


def test_an_old_kernel_is_said(tmp_path, capsys):
    path = tmp_path / "tc.log"
    text = "".join(shown(n, row) for n, row in enumerate(rows()))
    path.write_text(text.replace("us\n", "us avg_dq_rate 0\n"))
    (note,) = answered(capsys, ["replay", str(path), "--json"])["notes"]
    assert "Linux 5.4 or older" in note
