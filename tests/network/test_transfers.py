"""Transfers as descriptions: their sizes, what is refused, and their text."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.network.sizes import SIZES

MADE = [
    pf.Fixed(7),
    pf.Fixed("2.5 packets"),
    pf.Exponential(30),
    pf.Exponential(0.2),
    pf.Pareto(1, 100),
    pf.Pareto(1.2, 0.5),
    pf.Pareto(0.5, 10, cap=2000.5),
    pf.Empirical([1, 3, "3 packets", 700]),
]


def transfers(**given: Any) -> pf.Transfers:
    usual = {"size": pf.Fixed(30), "idle": "1s"}
    return pf.Transfers(pf.Reno(), 2, "40ms", **usual | given)


def scenario(*flows: pf.Flows, **given: Any) -> pf.Scenario:
    return pf.Scenario("10s", pf.Link("10Mbit/s"), pf.Pi2(), flows, **given)


# --- sizes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", MADE, ids=repr)
def test_samples_follow_the_distribution(sizes) -> None:
    """Kolmogorov's distance of 20,000 whole sizes, at which 1 in 10^6 samples would be farther."""
    drawn = sizes.sample(20_000, seed=3)
    values, counts = np.unique(drawn, return_counts=True)
    assert drawn.min() >= 1
    distance = np.abs(np.cumsum(counts) / drawn.size - sizes.cdf(values)).max()
    assert distance < math.sqrt(math.log(2e6) / 2 / drawn.size)
    assert set(np.diff(sizes.cdf([0, 1, 2, 5, 1e3, 1e6])) >= 0) == {True}
    assert sizes.cdf(0) == 0.0 == sizes.cdf(0.999)
    assert sizes.cdf(2.0**30) == 1.0


@pytest.mark.parametrize("sizes", MADE, ids=repr)
def test_means(sizes) -> None:
    """Rounding up adds less than a segment to what the probabilities of more sum up to."""
    if isinstance(sizes, pf.Pareto) and sizes.cap is None:
        assert sizes.mean == {1.0: math.inf, 1.2: pytest.approx(3.0)}[sizes.shape]
        return
    whole = float(np.sum(1.0 - sizes.cdf(np.arange(4000))))
    assert sizes.mean - 1e-9 <= whole < sizes.mean + 1.0


def test_pareto_is_the_inverse_of_one_draw() -> None:
    """Cut down at the cap, and with the same draws at every shape: s = scale u^(-1/shape)."""
    ones = pf.Pareto(1, 1000).sample(50)
    twos = pf.Pareto(2, 1000).sample(50)
    assert np.allclose(ones / 1000, (twos / 1000) ** 2, rtol=3e-3)
    assert np.array_equal(pf.Pareto(1, 1000, cap=4000).sample(50), np.minimum(ones, 4000))
    assert pf.Pareto(1, 10, cap=1000).mean == pytest.approx(10 * (1 + math.log(100)))


def test_samples_are_of_their_seed() -> None:
    sizes = pf.Exponential(100)
    assert np.array_equal(sizes.sample(9, 5), sizes.sample(20, 5)[:9])
    assert not np.array_equal(sizes.sample(9, 5), sizes.sample(9, 6))
    assert sizes.sample(0).size == 0
    for given in ((-1,), (1.5,), (3, -1), (10**9,)):
        with refused(pf.QuantityError, "count = "):
            sizes.sample(*given)


def test_every_kind_is_among_them() -> None:
    assert {sizes.kind for sizes in MADE} == set(SIZES)
    assert {sizes.kind: type(sizes) for sizes in MADE} == SIZES


@pytest.mark.parametrize(
    ("made", "kind", "says"),
    [
        (lambda: pf.Fixed(0), pf.DomainError, "Fixed size = 0"),
        (lambda: pf.Fixed(2.0**31), pf.DomainError, "Fixed size = 2147483648.0"),
        (lambda: pf.Fixed("3kB"), pf.QuantityError, "a number of packets"),
        (lambda: pf.Exponential(math.inf), pf.QuantityError, "Exponential mean = inf"),
        (lambda: pf.Pareto(0, 1), pf.DomainError, "Pareto shape = 0"),
        (lambda: pf.Pareto(1, 10, cap=5), pf.QuantityError, "Pareto cap = 5.0 is below scale"),
        (lambda: pf.Empirical([]), pf.QuantityError, "Empirical sizes are 0"),
        (lambda: pf.Empirical([3, 0]), pf.DomainError, "Empirical sizes 2 = 0"),
    ],
)
def test_sizes_that_are_none(made, kind, says) -> None:
    with refused(kind, says):
        made()


# --- classes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"size": None}, "size = None is no distribution"),
        ({"size": 30}, "size = 30 is no distribution of sizes: give e.g. Fixed(30)"),
        ({"idle": None}, "idle = None is missing"),
        ({"arrivals": "20/s"}, "arrivals = 20.0 are given beside idle = 1.0"),
        ({"sender": pf.Cbr(rate="1Mbit/s")}, "is not acknowledged"),
        ({"idle": None, "arrivals": 2, "start_jitter": "1s"}, "start_jitter = 1.0"),
    ],
)
def test_contradictions(given, says) -> None:
    sender = given.pop("sender", pf.Reno())
    with refused(pf.ScenarioError, says):
        replace(transfers(**given), sender=sender)


def test_counts_of_arrivals_do_not_change() -> None:
    change = pf.Change("5s", counts={"web": 4})
    scenario(transfers(name="web"), changes=change)
    with refused(pf.ScenarioError, "counts 'web', whose transfers arrive"):
        scenario(transfers(name="web", idle=None, arrivals="20/s"), changes=change)


def test_who_else_refuses_them() -> None:
    """The fluid in all forms, loops, operating points and ns-3: in one sentence each."""
    made = scenario(transfers(name="web"))
    for asked in (
        lambda: pf.simulate(made, pf.Fluid()),
        lambda: pf.simulate(made, pf.Fluid(clock="acks")),
        lambda: pf.simulate(made, pf.Fluid(linear=True)),
        lambda: pf.compare(made),
        lambda: pf.Loop(made.network),
        lambda: pf.equilibrium(made.network),
        lambda: pf.equilibrium(transfers(name="web"), pf.Pi2(), "10Mbit/s"),
        lambda: pf.fluid.batch(made, {"link.capacity": [9e6, 1e7]}, engine="c"),
    ):
        with refused(pf.UnsupportedError, "flows 'web' are Transfers", "Packets()"):
            asked()
    assert "are Transfers" in pf.Ns3().obstacle(made) or "not installed" in pf.Ns3().obstacle(made)


# --- text -----------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", MADE, ids=repr)
def test_text_keeps_them(sizes) -> None:
    made = scenario(
        transfers(size=sizes, idle=0),
        pf.Flows(pf.Cubic(), 3, "20ms"),
        transfers(size=sizes, idle=None, arrivals="12.5/s", name="web"),
    )
    assert pf.Scenario.from_toml(made.to_toml()) == made


def test_networks_keep_them() -> None:
    nodes = [pf.Node(name, pf.Link("10Mbit/s"), pf.Pi2()) for name in "ab"]
    network = pf.Network(nodes, transfers(route=("b", "a"), hops=("1ms", "2ms")))
    assert pf.Network.from_toml(network.to_toml()) == network
    made = pf.Scenario("5s", network=network)
    assert pf.Scenario.from_toml(made.to_toml()) == made


TEXT = """
duration = "10s"
link.capacity = "10Mbit/s"
aqm.kind = "pi2"
[[flows]]
sender = "reno"
base_rtt = "40ms"
size = { kind = "pareto", shape = 1.2, scale = "10 packets" }
idle = "1s"
"""


def test_what_is_read() -> None:
    (web,) = pf.Scenario.from_toml(TEXT).flows
    assert web == pf.Transfers(pf.Reno(), 1, "40ms", size=pf.Pareto(1.2, 10), idle="1s")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('idle = "1s"', "", "[[flows]] 1: idle is missing"),
        ('kind = "pareto", ', "", "[[flows]] 1: size kind is missing"),
        ('"pareto"', '"parito"', "kind = 'parito' is unknown: give 'pareto'"),
        ("shape = 1.2, ", "", "[[flows]] 1: size shape is missing"),
        ("shape", "shap", "shap is unknown for kind = 'pareto': give 'shape'"),
        ('{ kind = "pareto", shape = 1.2, scale = "10 packets" }', "30", "size = 30 is no table"),
        ('idle = "1s"', 'arrival = "1/s"', "arrival is unknown for sender = 'reno'"),
    ],
)
def test_what_is_not(old, new, says) -> None:
    with refused((pf.ScenarioError, pf.QuantityError), says):
        pf.Scenario.from_toml(TEXT.replace(old, new))
