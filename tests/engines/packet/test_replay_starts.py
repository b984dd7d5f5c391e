"""A replay that begins in traffic: from any update on it answers as the whole does."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.packet import replay, variants


@pytest.mark.parametrize("variant", variants())
def test_from_any_update_on_it_is_the_whole(variant):
    """Of delays around the targets, so that nothing saturates, and some of an empty queue."""
    rng = np.random.default_rng(20)
    for _ in range(10):
        delays = rng.uniform(0.0, 0.04, 40) * rng.integers(0, 2, 40)
        whole = replay(variant, queue_delay=delays)
        for begin in rng.integers(1, 39, 3):
            rest = replay(
                variant,
                queue_delay=delays[begin:],
                controller_before=float(whole.controller[begin - 1]),
                delay_before=delays[begin - 1],
            )
            # a unit of the kernel's integers is 2^-32 of p or less, and 2016 keeps k p'
            for name in ("controller", "p"):
                np.testing.assert_allclose(rest[name], whole[name][begin:], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ({"controller_before": 1.1}, "controller_before"),
        ({"controller_before": -0.1}, "controller_before"),
        ({"controller_before": "some"}, "controller_before"),
        ({"delay_before": "61s"}, "delay_before"),
        ({"delay_before": float("nan")}, "delay_before"),
        ({"delay_before": [0.1, 0.2]}, "delay_before"),
    ],
)
def test_starts_that_are_none(start, said):
    with refused((pf.QuantityError, pf.DomainError), said):
        replay("linux6.18", queue_delay=[0.02], **start)
