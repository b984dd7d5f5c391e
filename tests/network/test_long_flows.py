"""Flows that share a link: how many fit, with which windows and loads, and what is refused."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from refusals import assert_sentence

import pi2_fluid as pf
from pi2_fluid.network.long_flows import LongFlows
from pi2_fluid.units import rate_in_words

SENDERS = (pf.Reno(), pf.CReno(), pf.Cubic(), pf.Scalable())


@pytest.mark.parametrize("sender", SENDERS)
@pytest.mark.parametrize("count", [1, 3, 20])
def test_the_load_is_where_so_many_flows_rest(sender, count):
    """As `equilibrium` has it, which solves for all of a link, and knows nothing of `LongFlows`."""
    law = pf.Pi2() if sender.signal == "classic" else pf.CoupledPi2()
    rest = pf.equilibrium(pf.Flows(sender, count, "60ms"), law, "30Mbit/s")
    rtt = float(rest.rtt[0])
    long_flows = LongFlows(rate="30Mbit/s", flows=count)
    assert long_flows.window(count, rtt) == pytest.approx(float(rest.window[0]), rel=1e-9)
    assert long_flows.load(sender, count, rtt) == pytest.approx(float(rest.p_prime[0]), rel=1e-8)
    assert long_flows.count(sender, rest.p_prime[0], rtt) == pytest.approx(count, rel=1e-8)
    low, high = long_flows.ends(sender, rtt, (0.0, 1.0))
    assert low == high == long_flows.load(sender, count, rtt)


def test_ends_are_those_of_rate_window_and_range_together():
    reno, rtts = pf.Reno(), np.array([0.02, 0.1])
    assert LongFlows().ends(reno, 0.1, (0.1, 0.5)) == (0.1, 0.5)
    low, high = LongFlows(rate="12Mbit/s", flows=(2, 10)).ends(reno, rtts, (0.0, 1.0))
    # 1000 packets/s: 20 and 100 packets, of 2 to 10 flows
    np.testing.assert_allclose(low, np.sqrt(2.0) / [10.0, 50.0])
    np.testing.assert_allclose(high, np.sqrt(2.0) / [2.0, 10.0])
    low, _ = LongFlows(rate="12Mbit/s", flows=(2, 10), max_window=25).ends(reno, rtts, (0.0, 1.0))
    np.testing.assert_allclose(low, np.sqrt(2.0) / [10.0, 25.0])
    # Ten flows with windows of at most 5 do not fill the link at 100 ms: there is no load.
    low, high = LongFlows(rate="12Mbit/s", flows=10, max_window=5).ends(reno, rtts, (0.0, 1.0))
    assert (low <= high).tolist() == [True, False]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, ""),
        ({"flows": 4}, ""),
        ({"rate": "5.5Mbit/s", "flows": (1, 20)}, "1 to 20 flows on 5.5 Mbit/s"),
        ({"rate": 2e6}, "1 or more flows on 2 Mbit/s"),
        ({"rate": 1e9, "flows": 1}, "1 flow on 1 Gbit/s"),
        ({"rate": 64e3, "flows": (2, 2)}, "2 flows on 64 kbit/s"),
        ({"max_window": 64}, "windows up to 64 segments"),
        (
            {"rate": 1e6, "max_window": 64},
            "1 or more flows on 1 Mbit/s with windows up to 64 segments",
        ),
    ],
)
def test_in_words(arguments, words):
    long_flows = LongFlows(**arguments)
    assert long_flows.text == words
    assert long_flows.bounds == bool(words)
    assert LongFlows.from_dict(json.loads(json.dumps(long_flows.to_dict()))) == long_flows
    assert hash(LongFlows(**arguments)) == hash(long_flows)
    assert rate_in_words(900.0) == "900 bit/s"


@pytest.mark.parametrize(
    ("flows", "said"),
    [
        (0, "0 is no whole number from 1 on"),
        (1.5, "1.5 is no whole number"),
        (True, "True is no whole number"),
        ((1, 2, 3), "neither a number nor two"),
        ((5, 2), "ends before it begins"),
        ("1:20", "no whole number"),
        (float("nan"), "no whole number"),
        ((None, 3), "no whole number"),
    ],
)
def test_what_is_no_number_of_flows_is_refused(flows, said):
    with pytest.raises((pf.QuantityError, pf.DomainError), match=re.escape(said)) as refused:
        LongFlows(rate="1Mbit/s", flows=flows)
    assert_sentence(str(refused.value))


@pytest.mark.parametrize("wrong", [{"rate": "5"}, {"rate": -1.0}, {"max_window": 0.0}])
def test_what_is_no_rate_or_window_is_refused(wrong):
    with pytest.raises((pf.QuantityError, pf.DomainError)) as refused:
        LongFlows(**wrong)
    assert_sentence(str(refused.value))
