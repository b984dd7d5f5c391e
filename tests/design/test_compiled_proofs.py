"""Branch and bound in C beside its steps one by one in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.design.guarantees.certificate import least_size
from pi2_fluid.design.guarantees.enclosure import Boxes, Family, enclose_in_python, proof_of
from pi2_fluid.design.guarantees.mixtures import (
    angles_of,
    cells_of,
    count_boxes,
    count_boxes_in_python,
)
from pi2_fluid.design.region import Region

FAR, NEAR, PHASE, MODULUS = 4.0, 0.5, 0.6, 0.3
LIMITS = {"far": FAR, "near": NEAR, "phase": PHASE, "modulus": MODULUS}
GAINS = {"alpha": 0.16, "beta": 3.2, "update_interval": 0.016}


def boxes_near(rng, n, interval):
    """Boxes of frequency, round-trip time and 1/window, small and large."""
    w = np.exp(rng.uniform(np.log(0.05), np.log(0.9 * np.pi / interval), n))
    rtt, mu = np.exp(rng.uniform(np.log(0.01), np.log(0.3), n)), rng.uniform(0.02, 0.5, n)
    centre = np.stack([w, rtt, mu])
    return Boxes(centre, centre * np.exp(rng.uniform(-7.0, -0.5, (3, n))))


def distance_by_points(centre):
    """The distance to points that lie close together on the segment and on the arc."""
    x = np.linspace(0.0, 1.0, 20_001)
    forbidden = np.concatenate([NEAR * x - 1.0, np.exp(1j * (PHASE * x - np.pi))])
    shape = np.array([np.min(np.abs(one - forbidden)) for one in centre])
    return np.minimum(shape, np.abs(1.0 + centre) - MODULUS)


@pytest.mark.parametrize("update", ["sampled", "delayed", "continuous"])
@pytest.mark.parametrize(
    ("scalable", "falling", "exact"), [(False, True, False), (True, False, True)]
)
def test_a_round_excludes_what_its_parts_exclude(update, scalable, falling, exact, rng):
    interval, aliases = 0.016, 3 if update == "sampled" else 0
    boxes = boxes_near(rng, 300, interval)
    family = Family(scalable, 0.5, falling, 0.16, 3.2, interval, update, exact)
    proof = proof_of(family, aliases, **LIMITS)
    low, high = boxes.centre - boxes.half, boxes.centre + boxes.half
    size = least_size(family, high[0], (low[1], high[1]), (np.maximum(low[2], 0.0), high[2]))
    left = ~(size > FAR)
    terms = 0
    for count in sorted({0, aliases}):
        terms += int(left.sum()) * (2 * count + 1)
        discs = enclose_in_python(family, boxes, count)
        left &= ~(distance_by_points(discs.centre) > discs.radius)
    rows, found, looked_at, all_terms, spent = proof.rounds(boxes.rows, 1, 7, 10**6, 5.0, 1e9)
    assert 0.05 < left.mean() < 0.95
    np.testing.assert_array_equal(rows, boxes.rows[:, left])
    assert (looked_at, all_terms, spent) == (307, terms + 5.0, False)
    # The points are 4e-5 from one another, so that a distance is too large by that at most.
    expected = distance_by_points(discs.centre[left])
    np.testing.assert_allclose(found[4], expected, rtol=0.0, atol=4e-5)
    np.testing.assert_array_equal(found[3], discs.widest[left])


def test_two_rounds_are_one_after_the_other_with_halves_between(rng):
    boxes = boxes_near(rng, 200, 0.016)
    proof = proof_of(Family(False, 0.5, False, 0.16, 3.2, 0.016, "sampled"), 3, **LIMITS)
    once, discs, *counted, _ = proof.rounds(boxes.rows, 1, 0, 10**6, 0.0, 1e9)
    halves = Boxes(once[:3], once[3:]).halves(discs[3].astype(int))
    again = proof.rounds(halves.rows, 1, counted[0], 10**6, counted[1], 1e9)
    both = proof.rounds(boxes.rows, 2, 0, 10**6, 0.0, 1e9)
    for one, other in zip(again, both, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("limits", [(199, 1e9), (10**6, 4.0)])
def test_a_proof_says_when_it_has_spent_what_it_may(limits, rng):
    boxes = boxes_near(rng, 200, 0.016)
    proof = proof_of(Family(False, 0.5, False, 0.16, 3.2, 0.016, "sampled"), 3, **LIMITS)
    *_, spent = proof.rounds(boxes.rows, 3, 0, limits[0], 0.0, limits[1])
    assert spent


def random_mixtures(rng, n):
    """Boxes of frequency and load."""
    w, load = np.exp(rng.uniform(np.log(0.1), np.log(150.0), n)), rng.uniform(0.02, 0.5, n)
    centre = np.stack([w, load])
    return Boxes(centre, centre * 10.0 ** rng.uniform(-4.0, -0.3, (2, n)))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    ("law", "factor"), [(pf.CoupledPi2(**GAINS), None), (pf.Pie(**GAINS), 0.125)]
)
def test_the_compiled_half_planes_are_those_of_the_twin(law, factor, exact, rng):
    senders = (pf.Reno(),) if factor else (pf.Reno(), pf.Scalable())
    region = Region(senders, 0.005, 0.1, ((0.0, 1.0),) * len(senders))
    cells, boxes = cells_of(region, law, 64), random_mixtures(rng, 300)
    spread, _ = angles_of(boxes, cells, law, factor, exact)
    held = [
        count_boxes(boxes.take([i]), cells, law, factor, exact, 1) == 1 for i in range(len(boxes))
    ]
    assert 0.2 < np.mean(held) < 0.95
    np.testing.assert_array_equal(held, spread < np.pi)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("most", [40, 4000])
def test_as_many_boxes_are_cut_as_by_the_twin(most, exact):
    """Depth first here, all of a size at once there: the order changes nothing."""
    region = Region((pf.Reno(),), 0.05, 0.1, ((0.0, 1.0),))
    law = pf.CoupledPi2(**GAINS)
    cells = cells_of(region, law, 64)
    boxes = Boxes(np.array([[2.0, 8.0], [0.5, 0.25]]), np.array([[1.0, 4.0], [0.2, 0.2]]))
    found, twin = (
        one(boxes, cells, law, None, exact, most) for one in (count_boxes, count_boxes_in_python)
    )
    assert found == twin
    assert (found is None) == (most == 40)


def test_some_of_the_boxes_are_read_as_all_are(rng):
    """NumPy lays columns that it picks by number one behind the other."""
    boxes = boxes_near(rng, 20, 0.016)
    family = Family(False, 0.5, True, 0.16, 3.2, 0.016, "sampled", False)
    proof = proof_of(family, 3, **LIMITS)
    picked = boxes.take(np.arange(5, 20))
    sliced = boxes.take(slice(5, 20))
    for one, other in zip(
        proof.rounds(picked.rows, 1, 0, 10**6, 0.0, 1e9),
        proof.rounds(np.ascontiguousarray(sliced.rows), 1, 0, 10**6, 0.0, 1e9),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(proof.enclose(picked.rows), proof.enclose(boxes.rows)[:, 5:])


@pytest.mark.slow
def test_a_check_with_a_rate_is_proved():
    found = pf.check(pf.Pi2(), rtt="100ms", rate="20Mbit/s", flows=(1, 20))
    assert found[0].guarantee == "proved"
