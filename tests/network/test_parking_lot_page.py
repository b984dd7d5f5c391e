"""The page on the parking lot: its examples print what it says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import fsolve

import pi2_fluid as pf

PAGE = (Path(__file__).parents[2] / "docs" / "parking_lot.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_examples_print_what_stands_below_them() -> None:
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 2
    space = {"pf": pf}
    for code, printed in blocks:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(code, space)
        assert out.getvalue() == printed


def test_utilities_give_nearly_the_same_rates() -> None:
    network = pf.named_scenario("parking_lot").network
    rest, routing = pf.equilibrium(network), network.routing_matrix.to_numpy()
    count = np.array([flow.count for flow in network.flows])
    capacity = np.array([node.link.capacity / 12e3 for node in network.nodes])

    def rates(log_price: np.ndarray) -> np.ndarray:
        return np.sqrt(2.0 / (routing.T @ np.exp(log_price))) / rest.rtt.to_numpy()

    price = fsolve(lambda x: np.log(routing @ (count * rates(x)) / capacity), np.log([0.01] * 3))
    one, *others = (f"{rate:.1f}" for rate in rates(price))
    assert f"would give {one}, {', '.join(others[:-1])} and {others[-1]}" in PAGE


def test_first_in_first_out_is_not_pure_delay() -> None:
    network = pf.named_scenario("parking_lot").network
    fifo, delay = (
        pf.Loop(network, rtt_terms="exact", transport=transport).margins().gain_margin
        for transport in ("fifo", "delay")
    )
    assert f"gain margin of {fifo:.3f} so, and of {delay:.3f} with" in PAGE
