"""Figure 5 of Paganini and others as a fluid: what its curves must be."""

from __future__ import annotations

import numpy as np
import pytest

from pi2_fluid.papers.paganini import fig05

pytestmark = pytest.mark.slow


def test_each_stage_comes_to_half_the_rate_and_twice_the_price() -> None:
    rests = fig05.equilibria()
    for number, rest in enumerate(rests):
        assert float(rest.controller) == pytest.approx(2**number * 32 * 50 / 237_500, rel=1e-12)
        assert np.allclose(rest.rate, 237_500 / (32 * 2**number), rtol=1e-12)


def test_the_first_flows_grow_as_beta_k_over_their_path() -> None:
    first = fig05.rates(fig05.run()).isel(flows=0).sel(time=slice(0.3, 2.0))
    growth = np.diff(first) / np.diff(first.time)
    assert growth == pytest.approx(1.5 * 50 / 0.04, rel=1e-6)


def test_nothing_waits_where_delays_are_held() -> None:
    assert fig05.run_with_constant_delays().queue.max() < 1e-9
    assert fig05.backlog(fig05.run()).max() < 10.0  # what leaves a full link is its capacity
