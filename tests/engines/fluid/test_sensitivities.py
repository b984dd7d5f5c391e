"""Derivatives of whole trajectories against differences of those with exact events."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.records.paths import read_path, replace_path
from pi2_fluid.records.record import quantity


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Own(pf.Sender):
    """Grows by another rule than any here."""

    signal: ClassVar = "classic"
    bend: Any = quantity(0.5, "number")

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        return 2.0 / (1.0 + 0.1 * w) / rtt - self.bend * w * w_delayed / rtt_delayed * p_delayed


def scenario(sender: pf.Sender, aqm: pf.Aqm, *changes: pf.Change) -> pf.Scenario:
    flows = pf.Flows(sender, 8, "60ms", initial_window=10, slow_start=False)
    return pf.Scenario("3s", pf.Link("10Mbit/s", buffer=200), aqm, flows, changes=changes)


def by_differences(made: pf.Scenario, path: str, **how: Any) -> dict[str, np.ndarray]:
    """Of fourth order, of trajectories whose every event ends a step."""
    at = float(read_path(made, path))
    h = 1e-4 * at

    def run(nudge: float) -> Any:
        changed = replace_path(made, path, at + nudge)
        return pf.fluid.simulate(changed, sample="64ms", tolerance=1e-12, **how)

    ahead, behind, further, back = (run(n * h) for n in (1, -1, 2, -2))
    return {
        name: ((8.0 * (ahead[name] - behind[name]) - (further[name] - back[name])) / (12 * h))
        .transpose("time", ...)
        .to_numpy()
        for name in ("queue_delay", "window")
    }


def errors(
    found: Any, known: dict[str, dict[str, np.ndarray]], over: Callable[..., Any]
) -> np.ndarray:
    """Largest or median over time, relative to the largest derivative: (parameters, variables)."""
    return np.array(
        [
            [
                over(np.abs(found[name].sel(parameter=path).to_numpy() - values))
                / np.max(np.abs(values))
                for name, values in each.items()
            ]
            for path, each in known.items()
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize("update", ["sampled", "continuous"])
def test_they_tend_to_differences_of_exact_trajectories_as_steps_shrink(jax, update):
    """Through ticks heard a round trip later, and joins and leaves."""
    made = scenario(
        Own(),
        pf.Pi2(),
        pf.Change(at="1s", counts={"own": 10}),
        pf.Change(at="2s", counts={"own": 7}),
    )
    paths = [
        *("aqm.alpha", "aqm.target", "link.capacity", "flows.0.count", "flows.0.base_rtt"),
        *("flows.0.sender.bend", "changes.0.counts.own"),
    ]
    known = {path: by_differences(made, path, update=update) for path in paths}
    coarse, fine = (
        pf.fluid.sensitivities(made, paths, update=update, sample="64ms", step=step)
        for step in ("8ms", "2ms")  # at whose ends all changes and rows are
    )
    assert coarse.queue_delay.dims == ("parameter", "time")
    assert coarse.window.dims == ("parameter", "time", "flows")
    assert coarse.per.to_numpy().tolist()[:3] == ["Hz", "s", "bit/s"]
    assert np.all(errors(fine, known, np.max) < 2e-3)
    # A method of order 2: a sixteenth at a quarter of the step, but for what events leave.
    before, after = (errors(one, known, np.median) for one in (coarse, fine))
    assert np.median(before / after) > 8.0, before / after


@pytest.mark.slow
def test_a_change_of_capacity_is_followed_but_for_its_image(jax):
    """A step that hears two nodes is cut at one of them."""
    made = scenario(Own(), pf.Pi2(), pf.Change(at="1s", capacity="14Mbit/s"))
    paths = ["aqm.alpha", "changes.0.capacity"]
    known = {path: by_differences(made, path) for path in paths}
    found = pf.fluid.sensitivities(made, paths, sample="64ms", step="8ms")
    assert np.all(errors(found, known, np.max) < 1e-2)


def test_what_lanes_do_not_run_or_move_is_refused_in_one_sentence():
    made = scenario(pf.Reno(), pf.Pi2())
    ask = pf.fluid.sensitivities
    for path in ("aqm.update_interval", "duration", "flows.0.start"):
        with pytest.raises(pf.UnsupportedError, match=f"{path} says when something happens"):
            ask(made, path)
    with pytest.raises(pf.UnsupportedError, match="a law of 2 queues, is not in the lanes"):
        ask(scenario(pf.Reno(), pf.DualPi2()), "aqm.alpha")
    with pytest.raises(pf.ScenarioError, match="gamma"):
        ask(made, "aqm.gamma")
    with pytest.raises(pf.ScenarioError, match="names no number"):
        ask(made, [])
    with pytest.raises(pf.QuantityError, match="longer than duration"):
        ask(made, "aqm.alpha", sample="10s")
