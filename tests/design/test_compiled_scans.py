"""The compiled scan of many loops beside the same in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from ack_plants import make_ack_plants

import pi2_fluid as pf
from pi2_fluid.design.points import Points
from pi2_fluid.design.region import Region, scan_in_python
from pi2_fluid.design.scanning import compiled_scan

# Root finding stops where a step is below 1e-7 of ln w, in all loops together or in each: that is
# 1e-7 dB and some 1e-6 degrees.
CLOSE = {"rtol": 1e-6, "atol": 1e-5}
RENO, ALL = (pf.Reno(),), (pf.Reno(), pf.CReno(), pf.Scalable())


def compare(plants, gains):
    found = compiled_scan(plants, *gains)
    assert found is not None
    twin = scan_in_python(plants, *gains, "sampled")
    rows = (twin.gain_margin_db, twin.phase_margin_deg, twin.modulus_margin)
    for row, expected in zip(found, rows, strict=True):
        np.testing.assert_allclose(row, expected, **CLOSE)
    return found


@pytest.mark.parametrize(
    ("aqm", "senders", "low"),
    [
        (pf.presets.linux_dualpi2(), ALL, 0.0),
        (pf.presets.linux_pie(), RENO, 0.01),
        (pf.presets.pi2_paper(), RENO, 0.0),
    ],
)
@pytest.mark.parametrize("factor", [0.2, 1.0, 4.0])
def test_loops_by_rates_have_the_margins_of_the_twin(aqm, senders, low, factor):
    """Stable and unstable ones, those of no load, and those in which the window law sees R vary."""
    region = Region(senders, 0.01, 0.2, ((low, 1.0),) * len(senders))
    gains = factor * float(aqm.alpha), factor * float(aqm.beta), float(aqm.update_interval)
    compare(region.plants(aqm), gains)


@pytest.mark.parametrize("factor", [0.2, 1.0, 4.0])
def test_loops_of_cubic_have_the_margins_of_the_twin(factor):
    """Their phase dips at low frequencies, which a stable loop may survive."""
    rtt, load = (x.ravel() for x in np.meshgrid([0.02, 0.08, 0.2], np.geomspace(0.003, 1.0, 9)))
    region = Region((pf.Cubic(),), 0.01, 0.2, ((0.0, 1.0),))
    plants = region.at(pf.CoupledPi2(), 0, Points(rtt, load))
    assert np.any(plants.kappa > 0.0)
    compare(plants, (0.16 * factor, 3.2 * factor, 0.016))


@pytest.mark.parametrize("sender", [pf.Reno(), pf.Scalable(), pf.Cubic()])
@pytest.mark.parametrize("factor", [0.2, 1.0, 4.0])
def test_loops_by_acknowledgements_have_the_margins_of_the_twin(sender, factor):
    aqm = pf.presets.linux_dualpi2()
    region = Region((sender,), 0.016, 0.2, ((0.0, 1.0),))
    plants = make_ack_plants(
        region, aqm, 0, np.geomspace(0.016, 0.2, 5), np.geomspace(1e-6, 1.0, 6)
    )
    gains = factor * float(aqm.alpha), factor * float(aqm.beta), float(aqm.update_interval)
    compare(plants, gains)


def test_one_loop_of_a_row_is_scanned_as_in_it():
    aqm = pf.presets.linux_dualpi2()
    region = Region(RENO, 0.016, 0.2, ((0.0, 1.0),))
    gains = float(aqm.alpha), float(aqm.beta), float(aqm.update_interval)
    plants = make_ack_plants(region, aqm, 0, np.array([0.05, 0.1]), np.array([0.01, 0.1]))
    whole = compiled_scan(plants, *gains)
    for index in range(len(plants)):
        alone = compiled_scan(plants.take(index), *gains)
        np.testing.assert_array_equal(alone[:, 0], whole[:, index])


def test_a_law_of_ones_own_is_left_to_the_twin():
    class Own(pf.Reno):
        plant = None

    region = Region((Own(),), 0.02, 0.1, ((0.01, 1.0),))
    plants = region.plants(pf.Pi2())
    parts = [part for part in plants.parts if part.numeric]
    assert parts
    assert compiled_scan(parts[0], 0.3, 3.0, 0.032) is None


def test_a_loop_that_is_no_number_has_no_margins():
    """PIE's gain has no bound where hardly any packet is dropped."""
    aqm = pf.presets.linux_pie()
    plants = Region(RENO, 0.1, 0.1, ((0.0, 1.0),)).plants(aqm)
    found = compiled_scan(plants, 0.125, 1.25, 0.015)
    strange = ~np.isfinite(plants.m)
    assert strange.any()
    assert np.all(np.isnan(found[:, strange]))
    assert not np.any(np.isnan(found[:, ~strange]))
