"""Loops of several links: known answers, one queue as a matrix, and what must agree with what."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from networks import built

import pi2_fluid as pf

DATA = Path(__file__).parents[1] / "data"
RESTS = {
    each["name"]: each["network"]
    for each in json.loads((DATA / "network_rests.json").read_text(encoding="utf-8"))
}
KNOWN = json.loads((DATA / "network_loops.json").read_text(encoding="utf-8"))
GAINS = {each["name"]: each["gains"] for each in KNOWN}
NAMES = [each["name"] for each in KNOWN]


def network_of(name: str) -> pf.Network:
    return built(**RESTS[name], **GAINS[name])


@pytest.fixture(scope="module")
def two() -> pf.NetworkLoop:
    loop: Any = pf.Loop(network_of("two_links"), rtt_terms="exact")
    return loop


# --- known answers --------------------------------------------------------------------------


@pytest.mark.parametrize("known", KNOWN, ids=NAMES)
def test_known_margins(known: dict[str, Any]) -> None:
    network = network_of(known["name"])
    for expected in known["margins"]:
        model = {name: expected[name] for name in ("update", "rtt_terms")}
        margins = pf.Loop(network, **model).margins()
        for name in ("gain_margin", "phase_margin_deg", "phase_crossover", "gain_crossover"):
            assert getattr(margins, name) == pytest.approx(expected[name], rel=1e-11), (name, model)
        # that of a grid is a little larger
        on_grid = expected["sigma_min_on_a_grid"]
        assert (1 - 1e-3) * on_grid < margins.sigma_min <= on_grid
        assert margins.verdict == ("stable" if expected["gain_margin"] > 1.0 else "unstable")
        assert margins.uniform


@pytest.mark.slow
@pytest.mark.parametrize("known", KNOWN, ids=NAMES)
def test_known_roots(known: dict[str, Any]) -> None:
    network = network_of(known["name"])
    for terms, expected in known["roots"].items():
        loop: Any = pf.Loop(network, rtt_terms=terms)
        values = np.array([complex(*pair) for pair in expected])
        roots = loop.roots(3)
        assert roots == pytest.approx(values, rel=1e-10)
        assert loop.roots() == roots[0]
        found = np.linalg.det(np.eye(len(loop.links)) + loop(roots))
        assert np.max(np.abs(found)) < 1e-4 * np.max(np.abs(loop(roots)))
        assert loop.nyquist_count() == 2 * np.sum(values.real > 0.0)


def test_textbooks_transport_has_more_margin(two: pf.NetworkLoop) -> None:
    """A link behind a bottleneck is offered more than this lets through."""
    plain = pf.Loop(two.network, rtt_terms="exact", transport="delay").margins().gain_margin
    assert plain == pytest.approx(3.0226, abs=5e-5)
    assert two.margins().gain_margin == pytest.approx(2.8344, abs=5e-5)


def test_queues_in_a_row_have_more_margin_than_one_of_their_delay(two: pf.NetworkLoop) -> None:
    rtt = float(two.operating_point.rtt[0])
    aqm = two.network.nodes[0].aqm
    for p_prime in (0.124, 0.202, 0.236):
        alone = pf.Loop(pf.Reno(), aqm, rtt=rtt, p_prime=p_prime, rtt_terms="exact").margins()
        assert alone.gain_margin < 0.75 * two.margins().gain_margin


# --- one queue ------------------------------------------------------------------------------

ONE = [
    pf.Flows(pf.Reno(), 10, "80ms", route=("wide", "b")),
    pf.Flows(pf.Cubic(), 3, "30ms", route="b"),
    pf.Flows(pf.Cbr(rate="2Mbit/s", thinned=False), 1, "10ms", route="b"),
    pf.Flows(pf.Cbr(rate="50Mbit/s", thinned=False), 1, "10ms", route="wide"),
]


def wide_and_narrow(flows: list[pf.Flows]) -> pf.Network:
    nodes = [
        pf.Node("wide", pf.Link("900Mbit/s"), pf.Pie()),
        pf.Node("b", pf.Link("12Mbit/s"), pf.Pie()),
    ]
    return pf.Network(nodes, flows)


CLOSE = {"rel": 1e-12, "abs": 0}


def test_one_queue_is_the_loop_of_that_queue() -> None:
    """In a network of several nodes, and as a matrix of one entry."""
    network = wide_and_narrow(ONE[:3])
    flows = [pf.Flows(each.sender, each.count, each.base_rtt) for each in ONE[:3]]
    s = np.array([0.3j, 1 + 5j, 30j, -1 + 0j])
    for model in ({}, {"update": "delayed", "rtt_terms": "exact"}):
        alone = pf.Loop(flows, pf.Pie(), capacity="12Mbit/s", **model)
        loop = pf.Loop(network, **model)
        assert type(loop) is pf.Loop
        assert loop(s) == pytest.approx(alone(s), **CLOSE)
        matrix = pf.NetworkLoop(network, **model)
        assert matrix.links == ("b",)
        assert matrix(s)[:, 0, 0] == pytest.approx(alone(s), **CLOSE)
        one, other = alone.margins(), matrix.margins()
        assert not other.uniform
        for name in ("gain_margin", "phase_margin_deg", "delay_margin", "modulus_margin"):
            assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-11), name
        assert other.verdict == one.verdict
        for found, expected in zip(matrix.crossovers(), alone.crossovers(), strict=True):
            assert found[0] == pytest.approx(expected[0], rel=1e-11)


@pytest.mark.slow
def test_one_queue_has_the_same_modes() -> None:
    network = wide_and_narrow(ONE[:2])
    alone, matrix = pf.Loop(network, rtt_terms="exact"), pf.NetworkLoop(network, rtt_terms="exact")
    assert matrix.roots(2) == pytest.approx(alone.roots(2), rel=1e-10)
    assert matrix.disk_margin() == pytest.approx(alone.disk_margin(), rel=1e-7)
    sampled = {"update": "sampled", "rtt_terms": "exact"}
    alone, matrix = pf.Loop(network, **sampled), pf.NetworkLoop(network, **sampled)
    w = np.array([0.3, 5.0, 30.0, 80.0])
    assert matrix(1j * w)[:, 0, 0] == pytest.approx(alone(1j * w), rel=1e-7)
    assert matrix(-1j * w) == pytest.approx(np.conj(matrix(1j * w)))
    one, other = alone.margins(), matrix.margins()
    assert other.gain_margin == pytest.approx(one.gain_margin, rel=1e-9)
    assert other.phase_margin_deg == pytest.approx(one.phase_margin_deg, rel=1e-9)
    assert other.verdict == one.verdict == "stable"


def test_a_hop_before_the_only_queue_counts() -> None:
    """Rates reach the queue later than the delay that they followed, so that it is no `Loop`."""
    late = dataclasses.replace(ONE[0], hops=("0ms", "20ms"))
    loop: Any = pf.Loop(wide_and_narrow([late, ONE[1]]))
    assert type(loop) is pf.NetworkLoop
    assert loop.linear.forward.tolist() == [[0.02], [0.0]]
    alone = pf.Loop(wide_and_narrow(ONE[:2])).margins().gain_margin_db
    assert loop.margins().gain_margin_db == pytest.approx(alone, abs=0.5)
    assert loop.margins().gain_margin_db != pytest.approx(alone, abs=1e-3)


def test_flows_beside_the_only_queue_have_no_part() -> None:
    with_others = pf.Loop(wide_and_narrow(ONE)).margins().gain_margin_db
    assert with_others == pf.Loop(wide_and_narrow(ONE[:3])).margins().gain_margin_db
