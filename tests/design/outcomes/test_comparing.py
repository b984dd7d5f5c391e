"""Measures of two queues side by side, against scipy's tests and the race's own differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pi2_fluid.design.outcomes.comparing import compared
from pi2_fluid.design.outcomes.measures import MEASURES
from pi2_fluid.design.outcomes.racing import difference_of

NAMES = list(MEASURES)
CELLS, SEEDS = 3, 9


@pytest.fixture(scope="module")
def pair():
    random = np.random.default_rng(4)
    one = 0.02 * np.exp(0.1 * random.standard_normal((CELLS, len(NAMES), SEEDS)))
    return one, one * np.exp(0.05 * random.standard_normal(one.shape) - 0.03)


def test_a_cell_has_the_interval_of_scipys_paired_test(pair):
    one, two = pair
    found = compared(one, two)
    for name, transform in (("p99", np.log), ("rate", lambda x: x)):
        row, place = [x[NAMES.index(name)] for x in found], NAMES.index(name)
        for cell in range(CELLS):
            paired = stats.ttest_rel(transform(one[cell, place]), transform(two[cell, place]))
            ends = paired.confidence_interval(0.95)
            back = np.exp if name == "p99" else lambda x: x
            assert [row[1][cell], row[2][cell]] == pytest.approx(
                [back(ends.low), back(ends.high)], rel=1e-12
            )


def test_the_mean_over_cells_is_the_difference_by_which_a_race_decides(pair):
    """Student's of means over cells is written twice: for one measure, and for a table of them."""
    one, two = pair
    found, place = compared(one, two), NAMES.index("p99")
    other = difference_of(np.log(one[:, place]) - np.log(two[:, place]))
    assert np.log(found.change[place, -1]) == pytest.approx(other.mean, rel=1e-12)
    assert found.error[place, -1] == pytest.approx(other.error, rel=1e-12)
    assert np.log(found.high[place, -1]) == pytest.approx(other.bound(0.025), rel=1e-12)


def test_a_cell_without_a_measure_has_none_and_is_left_out_of_the_mean(pair):
    one, two = (x.copy() for x in pair)
    place = NAMES.index("p99_after")
    one[1, place] = np.nan
    found = compared(one, two)
    assert np.isnan(found.change[place, 1])
    rest = np.log(one[[0, 2], place] / two[[0, 2], place])
    assert np.log(found.change[place, -1]) == pytest.approx(rest.mean(), rel=1e-12)
