"""Loops of networks in compiled code beside their readable twin, on random networks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from random_networks import REFUSALS, random_network

import pi2_fluid as pf
from pi2_fluid import _core
from pi2_fluid.errors import quietly
from pi2_fluid.loop.matrix.bounds import response_bound
from pi2_fluid.loop.matrix.response import (
    matrix_characteristic,
    matrix_response,
    plant_matrix,
)

#: What both may differ by: rounding, times how far the polish of a crossover carries it.
CLOSE = 1e-9


def loops_of(seed: int) -> tuple[pf.NetworkLoop, pf.NetworkLoop] | None:
    """A random loop, and its twin in Python; None if it has no loop."""
    rng = np.random.default_rng(1000 + seed)
    model: Any = {
        "update": str(rng.choice(["continuous", "delayed", "sampled"])),
        "rtt_terms": str(rng.choice(["frozen", "exact"])),
    }
    try:
        network = random_network(seed)
        rest = pf.equilibrium(network)
        loop, twin = (pf.NetworkLoop(network, _point=rest, **model) for _ in range(2))
        if len(loop.links) > 1 and rng.random() < 0.3:
            loop, twin = (each.close(loop.links[0]) for each in (loop, twin))
    except REFUSALS:
        return None
    vars(twin)["_compiled"] = None
    return loop, twin


def numbers_of(loop: pf.NetworkLoop) -> Any:
    """Everything that margins are made of, or what refused them."""
    try:
        margins = loop.margins()
        crossovers = loop.crossovers()
        return crossovers, [
            margins.gain_margin_db,
            margins.phase_margin_deg,
            margins.delay_margin,
            margins.gain_crossover,
            margins.phase_crossover,
            margins.modulus_margin,
            float(loop.nyquist_count()),
            {"stable": 1.0, "unstable": -1.0}.get(str(margins.verdict), 0.0),
        ]
    except REFUSALS as error:
        return type(error).__name__, str(error)


def compare(seeds: range) -> tuple[int, int]:
    """Compare pairs of random loops; return how many there were, and how many are stable."""
    compared = stable = 0
    for seed in seeds:
        with quietly():  # of windows below two segments, among others
            pair = loops_of(seed)
        if pair is None:
            continue
        loop, twin = pair
        assert twin.engine == "python"
        # Far aliases of a sampled loop may be no polynomial.
        assert loop.engine == "compiled" or loop.update == "sampled"
        compared += loop.engine == "compiled"
        found, wanted = map(numbers_of, pair)
        if isinstance(wanted[0], str):
            assert found == wanted, seed
            continue
        for mine, own in zip(found[0], wanted[0], strict=True):
            assert mine == pytest.approx(own, rel=CLOSE), seed
        assert found[1] == pytest.approx(wanted[1], rel=CLOSE, abs=CLOSE), seed
        stable += wanted[1][-1] == 1.0
    return compared, stable


def test_some_random_networks_have_the_margins_of_the_twin() -> None:
    compared, stable = compare(range(6))
    assert compared >= 3
    assert stable > 0


@pytest.mark.slow
def test_many_random_networks_have_the_margins_of_the_twin() -> None:
    compared, stable = compare(range(6, 256))
    assert compared >= 150
    assert 0.2 * compared < stable < compared


@pytest.mark.parametrize("seed", range(4))
def test_response_bound_and_characteristic_are_those_of_the_twin(seed: int) -> None:
    with quietly():
        pair = next(found for found in map(loops_of, range(40 * seed, 40 * seed + 40)) if found)
    loop, half = pair[1], pair[0].update == "delayed"
    compiled = pair[0]._compiled
    assert compiled is not None
    native, linear = compiled._loop, loop.linear
    # A sampled loop ends at pi/T.
    sampled = loop.update == "sampled"
    w = np.geomspace(1e-3, np.pi / linear.intervals[0] if sampled else 1e3, 60)
    for mine, own in (
        (native.response(w), loop(1j * w)),
        (native.plant(w), plant_matrix(linear, 1j * w)),
    ):
        # of the largest entry: others are what is left of such
        size = np.max(np.abs(own), axis=(1, 2))
        assert np.max(np.max(np.abs(mine - own), axis=(1, 2)) / size) < 1e-9
    for without in ((), range(len(linear.controllers))):
        found = native.characteristic(w, closed=not without)
        own = matrix_characteristic(
            linear, 1j * w, 1.0 / compiled.longest, half_sample=half, without=without
        )
        assert found == pytest.approx(own, rel=1e-10)
    for at in () if sampled else (1.0, 30.0, 1e3, 1e5):
        assert native.bound(at) == pytest.approx(loop._bound(at), rel=1e-10)


def two_links() -> pf.NetworkLoop:
    network = pf.Network(
        [pf.Node(name, pf.Link("15Mbit/s"), pf.Pi2()) for name in "ab"],
        [
            pf.Flows(pf.Reno(), 6, "80ms", "both", route=("a", "b"), hops=("5ms", "10ms")),
            pf.Flows(pf.Reno(), 5, "40ms", "one", route="a"),
            pf.Flows(pf.Reno(), 7, "60ms", "other", route="b"),
        ],
    )
    return pf.NetworkLoop(network)


def test_the_bound_holds() -> None:
    """Checked against the response itself, not against the twin's bound."""
    loop = two_links()
    compiled = loop._compiled
    assert compiled is not None
    for at in (10.0, 100.0):
        w = np.geomspace(at, 100 * at, 500)
        largest = np.max(np.abs(np.linalg.eigvals(matrix_response(loop.linear, 1j * w))))
        assert largest <= compiled._loop.bound(at)
        assert response_bound(loop.linear, at).shape == (2, 2)


def test_crossings_are_where_the_determinant_is_zero() -> None:
    loop = two_links()
    margins = loop.margins()
    assert loop.engine == "compiled"
    at_gain = margins.gain_margin * loop(1j * margins.phase_crossover)
    turned = np.exp(-1j * np.radians(margins.phase_margin_deg))
    at_phase = turned * loop(1j * margins.gain_crossover)
    for matrix in (at_gain, at_phase):
        assert abs(np.linalg.det(np.eye(2) + matrix)) < 1e-9


def test_the_smallest_singular_value_is_that_of_a_fine_grid() -> None:
    loop = two_links()
    w = np.geomspace(0.1, 100.0, 20_000)
    fine = np.linalg.svd(np.eye(2) + loop(1j * w), compute_uv=False)[:, -1].min()
    assert loop.margins().modulus_margin == pytest.approx(fine, rel=1e-6)
    assert loop.margins().modulus_margin <= fine


def test_equal_links_are_left_to_the_twin() -> None:
    """Two links that nothing tells apart have loci that coincide, where Newton's steps mix them."""
    nodes = [pf.Node(name, pf.Link("15Mbit/s"), pf.Pi2()) for name in "ab"]
    flows = [pf.Flows(pf.Reno(), 5, "40ms", name, route=name) for name in "ab"]
    loop = pf.NetworkLoop(pf.Network(nodes, flows))
    one = pf.Loop(flows[:1], pf.Pi2(), capacity="15Mbit/s").margins()
    assert loop.margins().gain_margin_db == pytest.approx(one.gain_margin_db, rel=1e-9)
    assert loop.margins().phase_margin_deg == pytest.approx(one.phase_margin_deg, rel=1e-9)


def test_the_binding_refuses_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="lacks"):
        _core.MatrixLoop({}, 1.0)
