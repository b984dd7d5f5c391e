"""Numbers of a scenario by their names in text."""

from __future__ import annotations

import pytest

import pi2_fluid as pf
from pi2_fluid.engines.fluid.lanes.variation import vary
from pi2_fluid.records.paths import read_path, replace_path

SCENARIO = pf.Scenario(
    "10s",
    pf.Link("10Mbit/s"),
    pf.Pi2(),
    [pf.Flows(pf.Reno(), 10, "50ms"), pf.Flows(pf.Cbr(rate="1Mbit/s"))],
    pf.Change("5s", capacity="5Mbit/s", counts={"reno": 4}),
)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("duration", 10.0),
        ("link.capacity", 1e7),
        ("aqm.alpha", 0.3125),
        ("flows.0.count", 10.0),
        ("flows.reno.count", 10.0),
        ("flows.0.sender.decrease", 0.5),
        ("flows.1.sender.rate", 1e6),
        ("changes.0.capacity", 5e6),
        ("changes.0.counts.reno", 4.0),
    ],
)
def test_read_and_replace(path, value):
    assert read_path(SCENARIO, path) == value
    changed = replace_path(SCENARIO, path, 0.9 * value)
    assert read_path(changed, path) == pytest.approx(0.9 * value)
    assert replace_path(changed, path, value) == SCENARIO


@pytest.mark.parametrize(
    "path",
    ["duration", "link.capacity", "aqm.alpha", "flows.0.count", "flows.reno.base_rtt",
     "flows.0.sender.decrease", "changes.0.at", "changes.0.counts.reno"],
)  # fmt: skip
def test_a_batch_means_the_same_by_a_path(path):
    value = 0.9 * read_path(SCENARIO, path)
    varied = vary(SCENARIO, {path: value})
    assert varied.scenario == replace_path(SCENARIO, path, value)


@pytest.mark.parametrize("path", ["changes.0.counts.cbr", "flows.0.slow_start", "aqm.x", "aqm"])
def test_a_batch_refuses_the_same_paths(path):
    with pytest.raises(pf.ScenarioError):
        read_path(SCENARIO, path)
    with pytest.raises(pf.ScenarioError):
        vary(SCENARIO, {path: 1.0})


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("", "names nothing"),
        (3, "names nothing"),
        ("aqm.alhpa", "'alpha'"),
        ("aqm", "no number"),
        ("aqm.variant", "no number"),
        ("flows.2.count", "from 0 to 1"),
        ("flows.cubic.count", "from 0 to 1"),
        ("aqm.alpha.x", "shorter"),
        ("flows.0.slow_start", "no number"),
    ],
)
def test_wrong_paths(path, part):
    with pytest.raises(pf.ScenarioError, match=part):
        read_path(SCENARIO, path)


def test_a_replaced_number_is_checked():
    with pytest.raises(pf.DomainError, match="alpha"):
        replace_path(SCENARIO, "aqm.alpha", -1.0)
    with pytest.raises(pf.ScenarioError, match="before the end"):
        replace_path(SCENARIO, "duration", 4.0)
