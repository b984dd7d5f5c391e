"""Networks in the shell: margins of files, and what is refused beside them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from shell import answered, assert_bad_input, printed

import pi2_fluid as pf
from pi2_fluid import plot


@pytest.fixture
def file(tmp_path) -> str:
    path = tmp_path / "two.toml"
    two_links().save(path)
    return str(path)


def two_links() -> pf.Network:
    nodes = [
        pf.Node("a", pf.Link("15Mbit/s"), pf.Pi2()),
        pf.Node("b", pf.Link("12Mbit/s"), pf.Pi2()),
        pf.Node("c", pf.Link("1Gbit/s"), pf.Pi2()),
    ]
    return pf.Network(
        nodes,
        [
            pf.Flows(pf.Reno(), 6, "80ms", "long", route=("a", "b", "c"), hops=("5ms", "10ms", 0)),
            pf.Flows(pf.Reno(), 5, "40ms", route="a", hops="4ms"),
            pf.Flows(pf.Reno(), 8, "60ms", route="b", hops="12ms"),
        ],
    )


def test_margins_of_a_network_are_those_of_its_loop(file, capsys) -> None:
    found = answered(capsys, ["margins", file, "--rtt-terms", "exact", "--json"])
    loop = pf.Loop(two_links(), rtt_terms="exact", update="sampled")
    assert found["bottlenecks"] == ["a", "b"]
    assert found["uniform"] is True
    assert found["margins"]["gain_margin_db"] == loop.margins().gain_margin_db
    assert found["margins"]["modulus_margin"] == loop.margins().sigma_min
    acks = pf.Loop(two_links(), rtt_terms="exact", update="sampled", clock="acks")
    assert found["ack_margins"]["gain_margin_db"] == acks.margins().gain_margin_db
    assert (found["why_no_acks"], found["verdict"]) == (None, "stable")
    assert found["each"]["a"]["phase_margin_deg"] == loop.close("b").margins().phase_margin_deg
    assert [one["name"] for one in found["classes"]] == list(two_links().class_names)
    assert found["classes"][0]["rtt"] == pytest.approx(0.12)


def test_margins_of_a_network_as_text(file, capsys) -> None:
    out = " ".join(printed(capsys, ["margins", file]).split())
    assert out.startswith("STABLE: gain margin ")
    assert "bottlenecks a (Pi2), b (Pi2) no signals at c" in out
    assert "These margins change all queues together. One queue alone may change by: a " in out
    assert "verdict stable" in out
    assert "Model: sampled" in out


def test_margins_of_a_virtual_queue_say_that_packets_decide(tmp_path, capsys) -> None:
    link = pf.Link("10Mbit/s", packet_size="1000B")
    network = pf.Network(pf.Node("a", link, pf.Avq()), pf.Flows(pf.Reno(), 40, "100ms"))
    path = tmp_path / "avq.toml"
    network.save(path)
    out = " ".join(printed(capsys, ["margins", str(path)]).split())
    assert "verdict stable caution: the fluid of Avq has no noise" in out
    assert "packets decide" in out
    assert answered(capsys, ["margins", str(path), "--json"])["caution"] == pf.Avq.caution


def test_margins_of_a_scenario_are_those_of_its_queue(capsys) -> None:
    words = ["margins", "pi2_fig11a_pi2", "--update", "sampled", "--clock", "acks", "--json"]
    found = answered(capsys, words)
    network = pf.named_scenario("pi2_fig11a_pi2").network
    loop = pf.Loop(network, update="sampled", clock="acks")
    assert found["ack_margins"]["phase_margin_deg"] == loop.margins().phase_margin_deg
    assert not found["uniform"]
    assert not found["each"]


def test_the_only_bottleneck_is_named_and_who_crosses_it(tmp_path, capsys) -> None:
    """Also where an equal queue idles before it, and a class that crosses that one alone."""
    path = tmp_path / "idle.toml"
    nodes = [pf.Node("a", pf.Link("1Gbit/s"), pf.Pi2()), pf.Node("b", pf.Link(12e6), pf.Pi2())]
    cbr = pf.Flows(pf.Cbr(rate="1Mbit/s", thinned=False), 1, "20ms", route="a")
    flows = pf.Flows(pf.Reno(), 6, "80ms", route=("a", "b"))
    pf.Network(nodes, [cbr, flows]).save(path)
    found = answered(capsys, ["margins", str(path), "--json"])
    assert found["bottlenecks"] == ["b"]
    assert [(one["name"], round(one["rtt"], 9)) for one in found["classes"]] == [("reno", 0.1)]
    alone = pf.Loop(pf.Network(nodes[1], pf.Flows(pf.Reno(), 6, "80ms")), update="sampled")
    assert found["margins"]["gain_margin_db"] == alone.margins().gain_margin_db
    assert re.search(
        r"bottleneck +b \(Pi2\) +\nno signals at +a", printed(capsys, ["margins", str(path)])
    )


@pytest.mark.parametrize(
    "option",
    [
        ["--rtt", "3ms"],
        ["--sender", "creno"],
        ["--sender", "reno"],
        ["--aqm", "pi2"],
        ["--alpha", "1"],
        ["--flows", "3"],
    ],
)
def test_what_a_scenario_has_is_not_given_beside_it(file, capsys, option) -> None:
    assert_bad_input(capsys, ["margins", file, *option], option[0], "leave one of them out")


def test_a_file_that_is_no_scenario_is_refused(tmp_path, capsys) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("[[node]", encoding="utf-8")
    assert_bad_input(capsys, ["margins", str(path)], "no TOML")
    path.write_bytes(b"\xff")
    assert_bad_input(capsys, ["margins", str(path)], "no text in UTF-8")
    assert_bad_input(capsys, ["margins", str(tmp_path / "none.toml")], "No such file")


# --- several engines ------------------------------------------------------------------------

SHORT = ["--seeds", "1", "--tolerance", "1e-3"]


@pytest.fixture
def scenario(tmp_path) -> str:
    path = tmp_path / "scenario.toml"
    pf.Scenario("3s", network=two_links(), name="two").save(path)
    return str(path)


def test_compare_has_rows_of_links_and_of_classes(scenario, capsys) -> None:
    shown = printed(capsys, ["compare", scenario, *SHORT])
    rows = {line.split("  ")[0] for line in shown.splitlines()}
    assert {"delay_mean.a", "utilization.c", "throughput.long", "window.reno2"} <= rows
    (use,) = (line for line in shown.splitlines() if line.startswith("utilization.a"))
    assert " % " in use


def test_compare_of_many_links_shows_what_differs(scenario, capsys, monkeypatch) -> None:
    monkeypatch.setattr("pi2_fluid.apps.cli.comparisons._MOST_ROWS", 10)
    found = answered(capsys, ["compare", scenario, *SHORT, "--json"])
    apart = [one["name"] for one in found["disagreement"]]
    shown = printed(capsys, ["compare", scenario, *SHORT])
    every = len(found["engines"]["fluid"]["value"])
    assert f"{every - len(apart)} of {every} numbers of 3 links agree within 10 %" in shown
    for name in found["engines"]["fluid"]["value"]:
        row = any(line.startswith(f"{name} ") for line in shown.splitlines())
        assert row == (name in apart)


@pytest.mark.slow
def test_compare_draws_the_links_that_wait_longest(scenario, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr("pi2_fluid.apps.cli.comparing._MOST_LINKS", 2)
    figures: list[Any] = []
    save = plot.save_picture
    monkeypatch.setattr(plot, "save_picture", lambda *of: figures.append(of[0]) or save(*of))
    printed(capsys, ["compare", scenario, *SHORT, "--plot", str(tmp_path / "both.png")])
    (figure,) = figures
    assert [ax.get_title(loc="left") for ax in figure.axes[::3]] == ["a", "b"]
    said = " ".join(text.get_text() for text in figure.texts)
    assert "Of 3 links those with the longest delays." in " ".join(said.split())
