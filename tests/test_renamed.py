"""What had another name once: refused in one sentence that says the new one, or read in TOML."""

from __future__ import annotations

from typing import Any

import pytest

import pi2_fluid as pf
from pi2_fluid.apps.cli import run

SCENARIO = pf.Scenario("1s", pf.Link("10Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 5, "50ms"))
CALLS: dict[str, Any] = {
    "Loop": (lambda **how: pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p=0.1, **how), "mode"),
    "low_load": (lambda **how: pf.loop.low_load(pf.Reno(), pf.Pi2(), 0.1, **how), "mode"),
    "rtt_limit": (lambda **how: pf.loop.rtt_limit(0.3125, 3.125, 0.032, **how), "mode"),
    "tune": (lambda **how: pf.tune("100ms", **how), "mode"),
    "check": (lambda **how: pf.check("pie", max_rtt="100ms", **how), "mode"),
    "margin_map": (lambda **how: pf.margin_map(pf.Reno(), pf.Pi2(), **how), "mode"),
    "coexistence": (lambda **how: pf.coexistence(pf.Reno(), pf.Dctcp(), **how), "mode"),
    "largest_l4s_share": (lambda **how: pf.largest_l4s_share(pf.Reno(), **how), "mode"),
    "fluid.simulate": (lambda **how: pf.fluid.simulate(SCENARIO, **how), "controller"),
    "fluid.batch": (lambda **how: pf.fluid.batch(SCENARIO, {}, **how), "controller"),
    "fluid.gradient": (
        lambda **how: pf.fluid.gradient(SCENARIO, float, "aqm.alpha", **how),
        "controller",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_update_had_two_names(name) -> None:
    call, old = CALLS[name]
    expected = f"^{old} = 'sampled' is now called update: give update='sampled'.$"
    with pytest.raises(pf.QuantityError, match=expected):
        call(**{old: "sampled"})


@pytest.mark.parametrize(
    "words",
    [
        "margins --rtt 100ms --p 0.1 --mode sampled",
        "tune --max-rtt 100ms --mode sampled",
        "simulate pi2_fig11a_pi2 --controller sampled",
        "compare pi2_fig11a_pi2 --controller sampled",
    ],
)
def test_so_at_the_shell(words, capsys) -> None:
    old = words.split()[-2]
    assert run(words.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"error: {old} is now called --update: see pi2-fluid {words.split()[0]} -h.\n"


def test_engines_were_words() -> None:
    """What verifies a design is an engine with its options, no longer its name."""
    expected = "verify = 'packet' is no engine: give one with its options"
    with pytest.raises(pf.QuantityError, match=expected):
        pf.tune("100ms", verify="packet")  # type: ignore[arg-type]
