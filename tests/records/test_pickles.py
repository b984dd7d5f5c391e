"""Whatever the package gives out crosses to another process and comes back the same."""

from __future__ import annotations

import json
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest
import xarray

import pi2_fluid as pf
from pi2_fluid.deployment.remedies import Remedy
from pi2_fluid.laws.registry import AQMS, SENDERS, aqm_class, sender_class
from pi2_fluid.loop.margins import Margins
from pi2_fluid.measured.dataset import Measurement
from pi2_fluid.papers.figures import Figure

pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")

FLOWS = (pf.Flows(pf.Reno(), 5, "20ms"), pf.Flows(pf.Scalable(), 2, "50ms"))
SCENARIO = pf.Scenario(
    duration="1s",
    link=pf.Link("10Mbit/s"),
    aqm=pf.Pi2(),
    flows=[pf.Flows(pf.Reno(), 5, "50ms")],
    changes=[pf.Change("500ms", capacity="5Mbit/s")],
)
WEB = pf.Scenario(
    "2s",
    pf.Link("10Mbit/s"),
    pf.Pi2(),
    pf.Transfers(pf.Reno(), 3, "20ms", size=pf.Exponential(20), idle="0.1s"),
)
#: Widgets live in one notebook, pictures in one process.
STAYS = {"measured", "explore", "plot_comparison"}


def laws() -> dict[str, list[Any]]:
    """One of each kind of sender and queue."""
    data = Path(__file__).parents[1] / "data" / "needed_numbers.json"
    needed = json.loads(data.read_text(encoding="utf-8"))
    classes = {kind: aqm_class(kind) for kind in AQMS} | {
        kind: sender_class(kind) for kind in SENDERS
    }
    return {
        cls.__name__: [cls(**needed.get(kind, {}))]
        for kind, cls in classes.items()
        if not cls.only_in
    }


def two_links() -> pf.Network:
    nodes = [pf.Node(name, pf.Link("10Mbit/s"), pf.Pi2()) for name in ("a", "b")]
    return pf.Network(nodes, pf.Flows(pf.Reno(), 5, "50ms", route="b"))


def two_queues() -> Any:
    other = replace(SCENARIO, aqm=pf.Pie())
    return pf.compare([SCENARIO, other], pf.Packets(seeds=2))


def measured_flow() -> Any:
    measurement = Measurement("mine")
    measurement.add("throughput", "a", [1.0, 2.0, 3.0], [9e6, 9.2e6, 9.5e6])
    return measurement.to_dataset()


def both_full() -> pf.Network:
    short = [pf.Flows(pf.Reno(), 5, "50ms", route=name) for name in ("a", "b")]
    return pf.Network(two_links().nodes, [*two_links().flows, *short])


@pytest.fixture(scope="module")
def everything() -> dict[str, list[Any]]:
    """By public name what it stands for: of classes instances, of functions what they return."""
    single = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1)
    several = pf.Loop(pf.Reno(), pf.Pi2(), rtt=[0.05, 0.1], p_prime=0.1, update="sampled")
    mixture, acks = (
        pf.Loop(FLOWS, pf.CoupledPi2(), capacity="20Mbit/s", update="sampled", clock=clock)
        for clock in ("rate", "acks")
    )
    assert abs(mixture(1j) / acks(1j)) > 0.0  # by compiled code, which stays here
    margins = single.margins()
    assert margins.verdict == "stable"
    assert margins.modulus_margin > 0.0
    linux = pf.qdisc.install(pf.DualPi2(), "dualpi2")
    checked = pf.check(pf.qdisc.show(linux))
    design = pf.tune("50ms")
    table = pf.margin_map(pf.Pi2(), rtts="50ms", rates="1Mbit/s")
    trajectory = pf.fluid.simulate(SCENARIO)
    judged = pf.figure("pie", 14)
    assert judged.verdicts
    errors = {name: [getattr(pf, name)("why")] for name in pf.__all__ if name.endswith("Error")}
    return (errors | laws()) | {
        "Pi2": [pf.Pi2(alpha=[0.1, 0.2])],
        "AssumptionWarning": [pf.AssumptionWarning("why")],
        "Sender": [pf.Sender],
        "Aqm": [pf.Aqm],
        "Seen": [pf.Seen(0.1, 1.0, 2.0, 3.0)],
        "Sines": [pf.Sines(0.1, [0.01], [2.0])],
        "Signal": [pf.Signal(0.1, 0.2)],
        "PiFamily": [pf.PiFamily],
        "Flows": list(FLOWS),
        "Transfers": list(WEB.flows),
        "Fixed": [pf.Fixed(12)],
        "Exponential": [pf.Exponential(20)],
        "Pareto": [pf.Pareto(1.2, 100, cap=1e5)],
        "Empirical": [pf.Empirical([1, 10, 200])],
        "completions": [pf.completions(pf.simulate(WEB, pf.Packets(seeds=1)))],
        "Link": [SCENARIO.link],
        "Change": list(SCENARIO.changes),
        "CapacityTrace": [pf.CapacityTrace([0.0, 1.0], [1e7, 0.0], period="2s")],
        "Scenario": [SCENARIO],
        "Network": [SCENARIO.network],
        "Node": list(SCENARIO.network.nodes),
        "scenario_names": [pf.scenario_names()],
        "Traffic": [pf.Traffic("pages")],
        "Cell": list(pf.Traffic("pages").cells),
        "traffic_names": [pf.traffic_names()],
        "named_scenario": [pf.named_scenario("pi2_fig12_pi2")],
        "summarize": [pf.summarize(trajectory)],
        "to_latex": [pf.to_latex(single.margins())],
        "Engine": [pf.Engine],
        "Fluid": [pf.Fluid(tolerance=1e-8, initial={"queue": 3.0})],
        "Packets": [pf.Packets(seeds=[3, 5], bin="10ms")],
        "Ns3": [pf.Ns3(seeds=2)],
        "Linux": [pf.Linux(seeds=2)],
        "simulate": [pf.simulate(SCENARIO, pf.Fluid(step="10ms"))],
        "sweep": [
            pf.sweep(SCENARIO, {"aqm.target": ["10ms"]}, pf.Fluid(step="10ms"), progress=False)
        ],
        "OperatingPoint": [single.operating_point],
        "NetworkPoint": [pf.equilibrium(two_links())],
        "diagnose": pf.diagnose(measured_flow()),
        "scenario_of": [pf.scenario_of(measured_flow()).scenario],
        "equilibrium": [pf.equilibrium(FLOWS, pf.CoupledPi2(), "20Mbit/s")],
        "equilibrium_of": [pf.equilibrium_of(pf.Reno(), pf.Pi2(), [0.05, 0.1], p=0.01)],
        "Loop": [
            single,
            several,
            mixture,
            acks,
            single.linear,
            single.form,
            single.explain(),
            several.sweep(),
        ],
        "NetworkLoop": [pf.Loop(both_full(), update="sampled"), pf.Loop(both_full()).close("a")],
        "margins_along": [pf.margins_along(SCENARIO)],
        "Margins": [margins, single.margins(), several.margins(), mixture.margins()],
        "compare": [pf.compare(SCENARIO), two_queues()],
        "coexistence": [table],
        "identify_response": [table],
        "measure_loop": [table],
        "largest_l4s_share": [0.5],
        "check": [checked, checked[0], Remedy(text="none")],
        "margin_lost_db": [pf.margin_lost_db(linux, pf.Reno(), "50ms", 0.1)],
        "margin_map": [table],
        "Design": [pf.Design.from_dict(design.to_dict())],
        "tune": [design],
        "verify": [pf.verify(design)],
        "claims": [pf.claims("thesis")],
        "figure": [pf.figure("pie", 14, settings={"rtt": "50ms"})],
        "PaperFigure": [judged],
        "figures": [Figure("pi2_fig07", ("pi2_fig07.png",))],
        "validate": [pf.validate(None, seeds=2, cells=["reno_loss_3"])],
        "fluid": [trajectory],
        "loop": [pf.loop.low_load(pf.Reno(), pf.Pi2(), "100ms")],
        "linux": [pf.linux.Qdisc("cake", rtt="50ms"), pf.linux.Congestion("bbr")],
        "packet": [pf.packet.simulate(SCENARIO), pf.packet.replay("linux6.18", queue_delay=[0.03])],
        "presets": [pf.presets.pi2_paper()],
        "qdisc": [
            linux,
            pf.qdisc.parse(pf.qdisc.show(linux)),
            *pf.qdisc.queues(pf.qdisc.show(linux)),
        ],
        "ops": [pf.ops.sqrt],
        "__version__": [pf.__version__],
    }


def same(a: Any, b: Any) -> bool:
    """Whether two are alike in all that is public, and in what is computed when asked for."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (type, FunctionType, ModuleType)):
        return a is b
    if isinstance(a, (xarray.Dataset, xarray.DataArray)):
        return a.identical(b)
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, Exception):
        return same(a.args, b.args)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (pf.Loop, pf.NetworkLoop)):
        return repr(a) == repr(b) and same(a.margins(), b.margins())
    if isinstance(a, pf.PaperFigure):
        return repr(a) == repr(b) and same(a.scenarios, b.scenarios) and a.found == b.found
    if isinstance(a, Margins):
        mine, theirs = ((x.modulus_margin, x.verdict_code) for x in (a, b))
        if not (np.array_equal(mine[0], theirs[0]) and np.array_equal(mine[1], theirs[1])):
            return False
    if is_dataclass(a):
        shown = (field.name for field in fields(a) if not field.name.startswith("_"))
        return all(same(getattr(a, name), getattr(b, name)) for name in shown)
    return bool(a == b)


@pytest.mark.slow
def test_the_list_is_complete(everything):
    assert set(everything) | STAYS == set(pf.__all__)


@pytest.mark.slow
def test_what_is_pickled_comes_back_the_same(everything):
    for name, objects in everything.items():
        for one in objects:
            assert same(pickle.loads(pickle.dumps(one)), one), (name, type(one))


def use(name: str, objects: list[Any]) -> tuple[str, list[Any], list[Any]]:
    """In the other process: ask margins for what is computed late, and send all of it back."""
    late = [(x.verdict_code, x.modulus_margin) for x in objects if isinstance(x, Margins)]
    return name, objects, late


@pytest.mark.slow
def test_a_pool_of_processes_takes_everything(everything):
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        found = list(pool.map(use, everything, everything.values()))
    assert [name for name, _, _ in found] == list(everything)
    for name, objects, late in found:
        assert all(map(same, objects, everything[name])), name
        mine = [m for m in everything[name] if isinstance(m, Margins)]
        for (code, modulus), margins in zip(late, mine, strict=True):
            np.testing.assert_array_equal(code, margins.verdict_code)
            np.testing.assert_array_equal(modulus, margins.modulus_margin)
