"""The compiled fluid over several nodes by itself: references, one node, order, refusals."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pi2_fluid import _core
from pi2_fluid.laws.programs import queue_program, sender_program
from pi2_fluid.laws.registry import aqm_class, sender_class

# By two methods of others: Runge-Kutta of fixed steps, and a solver that locates its events.
DATA = Path(__file__).parents[1] / "data"
TRUTH = json.loads((DATA / "network_trajectories.json").read_text("utf-8"))["cases"]
PRICES = json.loads((DATA / "price_trajectories.json").read_text("utf-8"))
# How far these agree with themselves: packets, of the controllers, segments.
WITHIN = {"two_links_nchange": (1e-4, 1e-6, 1e-5), "two_links_sampled": (5e-4, 1e-5, 5e-5)}
GAINS = {"alpha": 0.3125, "beta": 3.125, "target": 0.02, "update_interval": 0.032}
PACKET = 1500.0
NODES = ("queue", "queue_delay", "controller", "capacity")
VISITS = ("p", "leaving")


def node(capacity: float, aqm: str = "pi2", buffer: float = 1e9, **fields: Any) -> dict[str, Any]:
    """A node under a controller of the PI family."""
    return {
        "capacity": capacity,
        "buffer": buffer,
        "aqm": aqm,
        "parameters": GAINS | fields,
        "update_interval": fields.get("update_interval", GAINS["update_interval"]),
        "queues": [0.0],
        "state": [0.0, 0.0],
        "pushes": [],
    }


def flows(count: float, base_rtt: float, route: Any, hops: Any, **fields: Any) -> dict[str, Any]:
    """Reno in congestion avoidance."""
    return {
        "law": "reno",
        "parameters": {"decrease": 0.5},
        "state": [1.0],
        "signal": "classic",
        "thinned": False,
        "slow_start": False,
        "count": count,
        "base_rtt": base_rtt,
        "start": 0.0,
        "stop": math.inf,
        "start_jitter": 0.0,
        "nodes": list(route),
        "hops": list(hops),
    } | fields


def change(at: float, counts: Any, node: int = 0, capacity: float = math.nan) -> dict[str, Any]:
    return {"at": at, "node": node, "capacity": capacity, "counts": list(counts)}


def with_laws(items: Any, *, continuous: bool = False) -> list[dict[str, Any]]:
    """Nodes or classes with the laws that they name, of their numbers."""
    made = []
    for item in items:
        fields = dict(item)
        numbers = fields.pop("parameters")
        if "aqm" in fields:
            nothing = {name for name, value in numbers.items() if value == 0.0}
            others = {name: value for name, value in numbers.items() if name not in nothing}
            queue = aqm_class(fields["aqm"])(**others)
            for name in nothing:  # 0 is no gain that a queue could be given
                object.__setattr__(queue, name, 0.0)
            fields["aqm"] = queue_program(queue, continuous=continuous)
        else:
            sender = sender_class(fields["law"])(**numbers).on_link(PACKET)
            fields["law"] = sender_program(sender)
        made.append(fields)
    return made


def solve(
    nodes: Any,
    classes: Any,
    times: Any,
    changes: Any = (),
    *,
    continuous: bool = True,
    began: bool = False,
    tolerance: float = 1e-10,
    step: float | None = None,
    steps: int = 10**6,
) -> dict[str, Any]:
    times = np.ascontiguousarray(times, dtype=float)
    limits = {
        "step": float(times[-1]) if step is None else step,
        "tolerance": tolerance if step is None else 0.0,
        "most_steps": 1e6,
    }
    run = _core.RoutesRun(
        float(times[-1]),
        with_laws(nodes, continuous=continuous),
        with_laws(classes),
        list(changes),
        continuous,
        False,
        began,
        limits,
    )
    visits = sum(len(item["nodes"]) for item in classes)
    rows = {name: np.full((len(times), len(nodes)), np.nan) for name in NODES}
    rows["window"] = np.full((len(times), len(classes)), np.nan)
    rows |= {name: np.full((len(times), visits), np.nan) for name in VISITS}
    place, status = 0, "more"
    while status == "more":
        place, status = run.advance(times, place, steps, *rows.values())
    assert status == "done", f"{status} at t = {run.time:g} s"
    return rows


LAWS: dict[str, dict[str, Any]] = {
    "reno": {},
    "creno": {"parameters": {"decrease": 0.3}},
    "scalable": {"law": "scalable", "parameters": {"per_mark": 0.5}, "signal": "scalable"},
}


def of_truth(case: dict[str, Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Nodes, classes and changes of a reference, whose flows change in number where they arrive."""
    nodes, classes, changes = [], [], []
    for link in case["links"]:
        gains = {name: link[name] for name in ("alpha", "beta", "update_interval", "target")}
        own = {"k": 2.0} if link["queue"] == "coupled" else {}
        nodes.append(node(link["capacity"], link["queue"], **gains, **own))
    for each in case["classes"]:
        route = ["abc".index(name) for name in each["route"]]
        law = LAWS[each["sender"]]
        classes.append(flows(each["count"], each["base_rtt"], route, each["hops"], **law))
    for at, place, count in case["changes"]:
        counts = [count if i == place else math.nan for i in range(len(classes))]
        changes.append(change(at - case["classes"][place]["hops"][0], counts))
    return nodes, classes, changes


@pytest.mark.parametrize("name", TRUTH)
def test_trajectories_of_others(name: str):
    case = TRUTH[name]
    rows = np.array(case["rows"])
    nodes, classes, changes = of_truth(case)
    got = solve(nodes, classes, rows[:, 0], changes, continuous=not case["sampled"])
    links = len(nodes)
    parts = np.split(rows[:, 1:], [links, 2 * links], axis=1)
    for key, want, within in zip(
        ("queue", "controller", "window"), parts, WITHIN.get(name, (1e-6, 1e-8, 1e-6)), strict=True
    ):
        np.testing.assert_allclose(got[key], want, rtol=0.0, atol=within, err_msg=key)


# Links of prices are this many times as fast as they let flows be: nothing waits.
FAST = 1000.0


def of_prices(case: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    nodes, classes = [], []
    for target, price in zip(case["c"], case["p0"], strict=True):
        parameters = {"phi": 100.0, "utilization": 1.0 / FAST, "update_interval": 0.005}
        law = {"aqm": "price", "parameters": parameters, "state": [price, 0.0]}
        nodes.append(node(FAST * target) | law)
    many = len(case["routes"])
    for i, route in enumerate(case["routes"]):
        static, most = case["law"] == "static", case["xm"][i]
        parameters = {
            "alpha": case["alpha"],
            "beta": case.get("beta", 1.0),
            "k": case.get("K", 1.0),
            "fairness": 1.0,
            "bottlenecks": float(case["M"][i]),
            "phi": 100.0,
        }
        if static:
            parameters |= {"static": True, "max_rate": most * 8.0 * PACKET}
        law = {"law": "paganini", "parameters": parameters, "signal": "scalable"}
        stop = (case["stop"] or [None] * many)[i]
        law |= {
            "state": [most * case["tau"][i]],
            "start": float((case["start"] or [0.0] * many)[i]),
            "stop": math.inf if stop is None else stop,
        }
        hops = np.diff([0.0, *(case["f"][link][i] for link in route)])
        classes.append(flows(float(case["n"][i]), case["tau"][i], route, hops, **law))
    return nodes, classes


@pytest.mark.parametrize("name", PRICES)
def test_prices_of_others(name: str):
    case = PRICES[name]
    rows = np.array(case["rows"])
    got = solve(*of_prices(case), rows[:, 0], began=case["start"] is None)
    np.testing.assert_allclose(got["controller"], rows[:, 1:], rtol=0.0, atol=1e-8)


def test_what_is_sent_keeps_within_its_law_whenever_flows_join():
    """Three classes, of which the second is too small to be felt; the times are rounded."""
    tau, most, hour = 0.055, 375.0, 80.0
    law = {"phi": 100.0, "utilization": 0.05, "update_interval": 0.005}
    link = node(2e5) | {"aqm": "price", "parameters": law}
    sender: dict[str, Any] = {
        "law": "paganini",
        "parameters": {"alpha": 0.37, "beta": 1.5, "k": 50.0, "fairness": 1.0}
        | {"bottlenecks": 1.0, "phi": 100.0, "static": True, "max_rate": most * 8.0 * PACKET},
        "signal": "scalable",
        "state": [most * tau],
    }
    for after in np.arange(0.005, 0.08, 0.01):
        joins = ((30.0, 0.0), (1e-3, after), (30.0, after + tau))
        classes = [
            flows(count, tau, [0], [0.0], start=hour + round(at, 6), **sender)
            for count, at in joins
        ]
        got = solve([link], classes, hour + np.arange(5e-4, 0.2, 1e-3), tolerance=1e-6)
        assert not got["queue"].any()
        sent = got["leaving"] / [count for count, _ in joins]
        assert sent.max() <= most * (1.0 + 1e-12), f"after {after:g} s"
        np.testing.assert_allclose(got["window"], np.where(sent > 0.0, sent * tau, got["window"]))


TIMES = np.linspace(0.0, 4.0, 201)


@pytest.mark.parametrize("continuous", [False, True])
def test_a_node_alone_is_one_of_several(continuous: bool):
    """Flows that join and leave, a full buffer, slow start, a capacity that changes.

    Alone it keeps no rates of the past, has a fast case for Reno under PI, and other error control:
    all of that is left out where there is a second node, though nobody crosses it.
    """
    classes = [
        flows(6.0, 0.08, [0], [0.0], slow_start=True),
        flows(4.0, 0.03, [0], [0.0], start=1.0, stop=3.1),
        flows(
            2.0, 0.03, [0], [0.0], law="cbr", parameters={"rate": 100.0 * 8.0 * PACKET}, signal=None
        ),
    ]
    changes = [change(2.0, [20.0, math.nan, math.nan], 0, 900.0)]
    one, idle = node(1250.0, buffer=60.0), node(1000.0)
    alone, beside = (
        solve(nodes, classes, TIMES, changes, continuous=continuous)
        for nodes in ([one], [one, idle])
    )
    assert alone["queue"].max() == 60.0, "the buffer should fill"
    np.testing.assert_allclose(alone["queue"][:, 0], beside["queue"][:, 0], rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(alone["window"], beside["window"], rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(alone["leaving"], beside["leaving"], rtol=1e-6, atol=1e-4)
    np.testing.assert_allclose(alone["p"], beside["p"], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("hop", [0.0, 0.01])
def test_a_second_link_ten_times_as_fast_is_none(hop: float):
    classes = [flows(6.0, 0.08, [0, 1], [0.0, hop]), flows(4.0, 0.03, [0, 1], [0.0, hop])]
    changes = [change(2.0, [20.0, math.nan])]
    first = node(1250.0, buffer=60.0)
    on_one = [item | {"nodes": [0], "hops": [0.0]} for item in classes]
    want = solve([first], on_one, TIMES, changes, continuous=False)
    got = solve([first, node(12500.0)], classes, TIMES, changes, continuous=False)
    np.testing.assert_allclose(got["queue"][:, 0], want["queue"][:, 0], rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(got["window"], want["window"], rtol=0.0, atol=1e-7)
    assert not got["queue"][:, 1].any(), "nothing waits behind the bottleneck"


def test_a_slower_second_link_gets_what_the_first_lets_through():
    """All that leaves the first has left the second or waits in it."""
    times = np.linspace(0.0, 2.0, 40001)
    classes = [flows(8.0, 0.06, [0, 1], [0.004, 0.006]), flows(5.0, 0.04, [0], [0.0])]
    got = solve([node(1250.0), node(600.0)], classes, times, [change(1.0, [20.0, 1.0])])
    sent, _, _ = (got["leaving"][:, k] for k in (0, 1, 2))
    late = round(0.006 / times[1])
    arrived = np.trapezoid(sent[:-late], dx=times[1])
    left = np.trapezoid(got["leaving"][:, 1], dx=times[1])
    assert abs(arrived - left - got["queue"][-1, 1]) < 0.02, "of some 1000 packets"
    assert got["queue"][-1, 1] > 10.0


def constant(rate: float, route: Any) -> dict[str, Any]:
    law = {
        "law": "cbr",
        "parameters": {"rate": rate * 8.0 * PACKET},
        "signal": None,
        "thinned": True,
    }
    return flows(1.0, 0.05, route, [0.0] * len(route), **law)


@pytest.mark.parametrize(
    "classes",
    [
        [constant(2000.0, [0, 1])],
        [constant(2000.0, [0, 1]), flows(10.0, 0.05, [0, 1], [0.0, 0.0], state=[10.0])],
        [flows(10.0, 0.05, route, [0.0, 0.0], state=[10.0]) for route in ([0, 1], [1, 0])],
    ],
    ids=["thinned", "thinned_and_reno", "ring"],
)
def test_without_hops_the_first_row_is_what_the_links_let_through(classes: Any):
    """Nothing has left a queue that begins to fill: what leaves goes on as it begins."""
    got = solve([node(400.0), node(700.0)], classes, [0.0, 1e-9, 1e-3])
    first, soon, _ = got["leaving"]
    assert got["queue"][-1, 0] > 1.0, "the first link should be full"
    np.testing.assert_allclose(first, soon, rtol=1e-6)


def test_rings_of_equals_stay_equal():
    """Three links in a ring, each route two of them, without hops: one turn is like another."""
    ring = [flows(5.0, 0.05, [k, (k + 1) % 3], [0.0, 0.0]) for k in range(3)]
    got = solve([node(1000.0)] * 3, ring, TIMES[:101], tolerance=1e-8)
    assert got["queue"].max() > 20.0
    np.testing.assert_allclose(got["queue"], got["queue"][:, [1, 2, 0]], atol=1e-7)
    np.testing.assert_allclose(got["window"], got["window"][:, [1, 2, 0]], atol=1e-7)


def test_the_order_is_four_where_jumps_travel_over_two_hops():
    """Twenty flows for five: a jump that waits in two queues and comes over two hops."""
    nodes, classes, changes = of_truth(TRUTH["two_links_nchange"])
    times = np.linspace(0.0, 3.6, 181)
    reference = solve(nodes, classes, times, changes, tolerance=1e-12)["queue"]
    errors = [
        np.abs(solve(nodes, classes, times, changes, step=step)["queue"] - reference).max()
        for step in (4e-3, 5e-4)
    ]
    assert math.log2(errors[0] / errors[1]) / 3.0 > 3.5


def test_the_order_is_four_where_a_signal_is_clipped_and_heard_again():
    """Thirty flows for ten: p comes to 1 and leaves it, and all hear that, a queue later."""
    case = {
        "nodes": [node(10e6 / 12e3, alpha=1.3, beta=2.5)],
        "classes": [flows(10.0, 0.1, [0], [0.0], state=[9.0])],
        "times": np.linspace(0.0, 6.0, 301),
        "changes": [change(3.0, [30.0])],
    }
    reference = solve(**case, tolerance=1e-12)
    assert reference["p"].max() == 1.0
    errors = [
        np.abs(solve(**case, step=step)["queue_delay"] - reference["queue_delay"]).max()
        for step in (4e-3, 1e-3)
    ]
    assert math.log2(errors[0] / errors[1]) / 2.0 > 3.5


def echo(b: float, t: float) -> float:
    """y' = -b y(t - 1) from y = 1: by the method of steps, in fractions."""
    at, rate = Fraction(t), Fraction(b)
    terms = range(1, math.ceil(t) + 1)
    return float(1 + sum((-rate) ** k * (at - k + 1) ** k / math.factorial(k) for k in terms))


@pytest.mark.parametrize("b", [0.25, 1.0, 1.5])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-7, 1e-10])
def test_the_tolerance_governs_what_is_heard_alone(b: float, tolerance: float):
    """Scalable windows under a constant signal: nothing but the past says where they go.

    W' = 1 - per_mark p W(t - 1), with per_mark p = b. Measured: up to 5.5 times the tolerance.
    """
    deaf = node(1e4, "pi", alpha=0.0, beta=0.0) | {"state": [0.5, 0.0]}
    parameters = {"per_mark": 2.0 * b}
    law = LAWS["scalable"] | {"parameters": parameters, "state": [1.5 / b]}
    times = np.linspace(0.0, 15.0, 61)
    found = solve(
        [deaf], [flows(1.0, 1.0, [0], [0.0], **law)], times, began=True, tolerance=tolerance
    )
    exact = [1.0 / b + 0.5 / b * echo(b, t) for t in times]
    np.testing.assert_allclose(found["window"][:, 0], exact, rtol=0.0, atol=10.0 * tolerance / b)


def test_interrupted_it_goes_on_as_it_was():
    nodes, classes, changes = of_truth(TRUTH["two_links_sampled"])
    whole = solve(nodes, classes, TIMES[:41], changes, continuous=False)
    parts = solve(nodes, classes, TIMES[:41], changes, continuous=False, steps=7)
    for name, rows in whole.items():
        np.testing.assert_array_equal(rows, parts[name], err_msg=name)


def test_what_rests_goes_on_resting():
    """Queues at their targets, and the windows and signals that hold them there."""
    rtts, rates = [0.12, 0.06, 0.08], [49.99290359812721, 190.0085156822474, 87.50532230140472]
    p = [0.1240482614945964, 0.20201822088917581]
    nodes, classes, _ = of_truth(TRUTH["two_links"])
    for k, queue in enumerate((25.0, 20.0)):
        nodes[k] |= {"queues": [queue], "state": [p[k], 0.02]}
    for item, rtt, rate in zip(classes, rtts, rates, strict=True):
        item["state"] = [rtt * rate]
    got = solve(nodes, classes, TIMES, began=True, tolerance=1e-8)
    np.testing.assert_allclose(got["queue"], [[25.0, 20.0]] * len(TIMES), atol=1e-7)
    np.testing.assert_allclose(got["controller"], [p] * len(TIMES), atol=1e-9)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"nodes": [0, 2]}, "class 0 node 2 is unknown, or comes twice"),
        ({"nodes": [1, 1]}, "class 0 node 1 is unknown, or comes twice"),
        ({"nodes": []}, "class 0 nodes is empty"),
        ({"hops": [0.0]}, "class 0 hops takes 2 numbers, not 1"),
        ({"hops": [0.0, -1.0]}, "class 0 hops are not all at least 0"),
    ],
)
def test_routes_that_lead_nowhere(what: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        solve([node(1.0), node(1.0)], [flows(1.0, 0.1, [0, 1], [0.0, 0.0]) | what], [0.0, 1.0])


def test_each_band_has_a_queue():
    with pytest.raises(ValueError, match="node 0 queues takes 1 numbers, not 2"):
        solve([node(1.0) | {"queues": [0.0, 0.0]}], [flows(1.0, 0.1, [0], [0.0])], [0.0, 1.0])
