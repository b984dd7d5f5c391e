"""A scenario is a value: checked when made, sorted, named, hashable, and a JAX pytree."""

from __future__ import annotations

import copy
import dataclasses
import operator
import pickle
import re
from typing import Any, ClassVar

import numpy as np
import pytest
import refusals

import pi2_fluid as pf
from pi2_fluid.laws.senders.cbr import Cbr
from pi2_fluid.network.changes import Change
from pi2_fluid.network.link import Link
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.records.counts import Counts


def flows(**fields: Any) -> pf.Flows:
    return pf.Flows(**{"sender": pf.Reno(), "count": 10, "base_rtt": "100ms", **fields})


def scenario(**fields: Any) -> Scenario:
    good: dict[str, Any] = {
        "duration": "250s",
        "link": Link("10Mbit/s"),
        "aqm": pf.Pi2(),
        "flows": [flows(), flows(count=20, start="50s", stop="200s")],
        "changes": [Change("50s", "20Mbit/s", {"reno": 15})],
    }
    return Scenario(**{**good, **fields})


class Mine(pf.Reno):
    """A law that is not of the package."""


def assert_sentence(error: BaseException, *shown: str) -> None:
    """One sentence, with what was given and a remedy."""
    text = str(error)
    refusals.assert_sentence(text, *shown)
    assert re.search(r"[:,] ?[^:]*\b(give|raise|lower|leave|use)\b", text), f"no remedy: {text}"


class TestLink:
    def test_a_buffer_as_a_time_holds_what_the_link_serves_in_it(self):
        # 5 Mbit/s are 416.7 packets of 1500 bytes a second
        assert Link("5Mbit/s", buffer="250ms").buffer == 105.0
        assert Link("5Mbit/s", buffer="250ms", packet_size="500B").buffer == 313.0
        np.testing.assert_array_equal(Link([5e6, 10e6], buffer="0.25s").buffer, [105.0, 209.0])
        link = Link("5Mbit/s", buffer="250ms")
        assert dataclasses.replace(link, capacity="10Mbit/s").buffer == 105.0  # packets by now

    @pytest.mark.parametrize("buffer", ["250", "-3ms", "0ms", "5Mbit"])
    def test_a_buffer_that_is_neither_packets_nor_a_time(self, buffer):
        with pytest.raises((pf.QuantityError, pf.DomainError), match="Link buffer = "):
            Link("5Mbit/s", buffer=buffer)

    def test_text_and_defaults(self):
        link = Link("10Mbit/s")
        assert (link.capacity, link.buffer, link.packet_size) == (1e7, None, 1500.0)
        assert (link.kind, link.delay_on, link.ack_jitter) == ("wire", "return", 1e-6)
        assert Link("10Mbit/s", "200 packets", "1000B") == Link(1e7, 200, 1000)

    def test_capacity_is_required(self):
        with pytest.raises(pf.QuantityError, match="Link capacity = None"):
            Link()

    @pytest.mark.parametrize("name", ["kind", "delay_on"])
    def test_words(self, name):
        with pytest.raises(pf.QuantityError, match=f"Link {name} = 'tape' is unknown"):
            Link("10Mbit/s", **{name: "tape"})


class TestChange:
    def test_counts_are_a_value(self):
        given = {"reno": 15, "web": "3"}
        change = Change("50s", counts=given)
        given["reno"] = 99
        assert change.counts == {"web": 3.0, "reno": 15.0}
        assert change == Change(50, counts={"web": 3, "reno": 15})
        assert hash(change) == hash(Change(50, counts={"web": 3, "reno": 15}))
        assert change != Change(50, counts={"web": 4, "reno": 15})
        with pytest.raises(TypeError, match="item assignment"):
            change.counts["reno"] = 1  # type: ignore[index]

    def test_a_class_may_pause(self):
        assert Change("50s", counts={"reno": 0}).counts == {"reno": 0.0}

    def test_repr_makes_an_equal_one(self):
        change = Change("50s", "1Mbit/s", {"reno": 0.1})
        assert eval(repr(change)) == change

    def test_no_counts_are_none(self):
        assert Change("50s", "1Mbit/s", {}) == Change("50s", "1Mbit/s")

    BAD: ClassVar[dict[str, tuple[dict[str, Any], type, tuple[str, ...]]]] = {
        "nothing": ({}, pf.ScenarioError, ("at = 50.0", "changes nothing")),
        "empty": ({"counts": {}}, pf.ScenarioError, ("changes nothing",)),
        "negative": ({"counts": {"reno": -1}}, pf.DomainError, ("counts['reno'] = -1",)),
        "nan": ({"counts": {"reno": float("nan")}}, pf.QuantityError, ("counts['reno'] = nan",)),
        "list": ({"counts": [15]}, pf.ScenarioError, ("counts = [15]", "mapping")),
        "text": ({"counts": "reno"}, pf.ScenarioError, ("counts = 'reno'", "mapping")),
        "key": ({"counts": {1: 15}}, pf.ScenarioError, ("counts has the key 1",)),
        "capacity": ({"capacity": -1}, pf.DomainError, ("capacity = -1",)),
        "time": ({"at": -1, "capacity": 1e6}, pf.DomainError, ("at = -1",)),
    }

    @pytest.mark.parametrize(("fields", "kind", "shown"), BAD.values(), ids=BAD)
    def test_refused(self, fields, kind, shown):
        with pytest.raises(kind) as caught:
            Change(**{"at": "50s", **fields})
        assert_sentence(caught.value, "Change", *shown)


class TestCounts:
    def test_is_a_mapping_sorted_by_name(self):
        counts = Counts({"web": 15, "bulk": 2})
        assert list(counts) == ["bulk", "web"]
        assert (len(counts), counts["web"], "bulk" in counts) == (2, 15.0, True)
        assert counts != {"web": 15.0}
        assert counts != 5

    def test_equal_zeros_hash_alike(self):
        assert hash(Counts({"web": 0.0})) == hash(Counts({"web": -0.0}))

    def test_arrays_are_copied_and_frozen(self):
        counts = Counts({"web": [1, 2]})
        assert counts == Counts({"web": np.array([1.0, 2.0])})
        assert counts != Counts({"web": [1, 3]})
        with pytest.raises(ValueError, match="read-only"):
            counts["web"][0] = 5.0


class TestMade:
    def test_one_flows_will_do(self):
        made = scenario(flows=flows(), changes=())
        assert made.flows == (flows(),)
        assert made == scenario(flows=[flows()], changes=[])

    def test_one_change_will_do(self):
        change = Change("20s", "1Mbit/s")
        assert scenario(changes=change).changes == (change,)

    def test_any_iterable_will_do(self):
        assert scenario(flows=(flows() for _ in range(3)), changes=()).class_names == (
            "reno",
            "reno2",
            "reno3",
        )

    def test_its_text_and_network_are_made_once(self):
        scenario = pf.Scenario("2s", pf.Link("10Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 1, "50ms"))
        assert scenario.network is scenario.network
        assert scenario.to_toml() is scenario.to_toml()
        other = dataclasses.replace(scenario, duration="3s", link=pf.Link("20Mbit/s"))
        assert other.network.nodes[0].link == pf.Link("20Mbit/s")
        assert 'duration = "3s"' in other.to_toml()
        assert pf.Scenario.from_toml(scenario.to_toml()) == scenario
        assert pickle.loads(pickle.dumps(scenario)) == scenario

    def test_changes_are_sorted_by_time_and_keep_their_order(self):
        late, first, second = (
            Change("90s", "1Mbit/s"),
            Change("20s", "2Mbit/s"),
            Change("20s", counts={"reno": 3}),
        )
        assert scenario(changes=[late, first, second]).changes == (first, second, late)
        assert scenario(changes=[late, second, first]).changes == (second, first, late)

    def test_edges_that_are_allowed(self):
        scenario(changes=[Change(0, "1Mbit/s")])
        scenario(flows=flows(stop="900s"), changes=())  # as good as None
        scenario(flows=flows(start="1s", stop="2s", start_jitter="1s"), changes=())
        scenario(flows=flows(start="20s"), changes=[Change("10s", counts={"reno": 5})])
        scenario(flows=[flows(sender=Cbr(rate="6Mbit/s"), base_rtt=None)], changes=())

    def test_without_what_is_required(self):
        with refusals.refused(pf.ScenarioError, "Scenario aqm = None is no Aqm: give"):
            Scenario("10s", Link("10Mbit/s"), flows=flows())  # type: ignore[call-overload]

    BAD: ClassVar[dict[str, tuple[dict[str, Any], type, tuple[str, ...]]]] = {
        "no-flows": ({"flows": []}, pf.ScenarioError, ("flows = ()", "at least one")),
        "link": ({"link": "10Mbit/s"}, pf.ScenarioError, ("link = '10Mbit/s'", "Link(")),
        "aqm": ({"aqm": pf.Pi2}, pf.ScenarioError, ("aqm = <class", "Pi2()")),
        "flows": ({"flows": pf.Reno()}, pf.ScenarioError, ("flows = Reno(", "Flows")),
        "flows-none": ({"flows": None}, pf.ScenarioError, ("flows = None", "Flows")),
        "flows-text": ({"flows": "reno"}, pf.ScenarioError, ("flows = 'reno'", "Flows")),
        "one-of-flows": ({"flows": [flows(), 5]}, pf.ScenarioError, ("flows 2 = 5", "Flows")),
        "changes": ({"changes": {"at": 5}}, pf.ScenarioError, ("changes = {'at': 5}", "Change")),
        "name": ({"name": 5}, pf.ScenarioError, ("name = 5", "text")),
        "duration-zero": ({"duration": 0}, pf.DomainError, ("duration = 0",)),
        "duration-bare": ({"duration": "250"}, pf.QuantityError, ("duration = '250'", '"100ms"')),
        "array-of-queue": (
            {"aqm": pf.Pi2(alpha=[0.1, 0.2])},
            pf.ScenarioError,
            ("aqm.alpha has the shape (2,)", "one number"),
        ),
        "array-of-flows": (
            {"flows": [flows(), flows(count=[1, 2])]},
            pf.ScenarioError,
            ("flows[1].count has the shape (2,)",),
        ),
        "array-of-counts": (
            {"changes": Change(5, counts={"reno": [1, 2]})},
            pf.ScenarioError,
            ("changes[0].counts['reno'] has the shape (2,)",),
        ),
        "array-of-times": (
            {"changes": Change([5, 6], "1Mbit/s")},
            pf.ScenarioError,
            ("changes[0].at has the shape (2,)",),
        ),
        "same-name": (
            {"flows": [flows(name="web"), flows(), flows(name="web")]},
            pf.ScenarioError,
            ("flows 3 name = 'web'", "class 1"),
        ),
        "empty-name": ({"flows": flows(name="")}, pf.ScenarioError, ("flows 1 name = ''",)),
        "late-start": (
            {"flows": flows(start="250s")},
            pf.ScenarioError,
            ("flows 1 ('reno') start = 250s", "duration = 250s"),
        ),
        "stop-before-start": (
            {"flows": [flows(), flows(name="web", start="50s", stop="10s")]},
            pf.ScenarioError,
            ("flows 2 ('web') stop = 10s", "start = 50s"),
        ),
        "stop-at-start": (
            {"flows": flows(start="50s", stop="50s")},
            pf.ScenarioError,
            ("stop = 50s is not after start = 50s",),
        ),
        "jitter-beyond-stop": (
            {"flows": flows(start="50s", stop="51s", start_jitter="2s")},
            pf.ScenarioError,
            ("start_jitter = 2s", "at 52s", "ends at 51s"),
        ),
        "jitter-beyond-end": (
            {"flows": flows(start_jitter="251s")},
            pf.ScenarioError,
            ("start_jitter = 251s", "ends at 250s"),
        ),
        "cbr-with-window": (
            {"flows": flows(sender=Cbr(rate=1e6), initial_window=3)},
            pf.ScenarioError,
            ("flows 1 ('cbr') initial_window = 3", "no window"),
        ),
        "cbr-of-another-size": (
            {"flows": flows(sender=Cbr(rate=1e6, packet_size="500B"))},
            pf.ScenarioError,
            ("flows 1 ('cbr')", "packet_size = 500.0", "1500.0"),
        ),
        "late-change": (
            {"changes": Change("250s", "1Mbit/s")},
            pf.ScenarioError,
            ("change at 250s", "duration = 250s"),
        ),
        "unknown-class": (
            {"changes": Change("5s", counts={"rno2": 1})},
            pf.ScenarioError,
            ("change at 5s counts 'rno2'", "give 'reno2'"),
        ),
        "change-of-what-stopped": (
            {"changes": Change("200s", counts={"reno2": 1})},
            pf.ScenarioError,
            ("change at 200s counts 'reno2'", "stops at 200s"),
        ),
        "capacity-twice": (
            {"changes": [Change("5s", 1e6), Change("6s", 1e6), Change(5, 2e6, {"reno": 1})]},
            pf.ScenarioError,
            ("change at 5s sets the capacity twice",),
        ),
        "count-twice": (
            {"changes": [Change("5s", counts={"reno": 1}), Change(5, 2e6, {"reno": 1})]},
            pf.ScenarioError,
            ("change at 5s sets the count of 'reno' twice",),
        ),
    }

    @pytest.mark.parametrize(("fields", "kind", "shown"), BAD.values(), ids=BAD)
    def test_refused(self, fields, kind, shown):
        with pytest.raises(kind) as caught:
            scenario(**fields)
        assert_sentence(caught.value, "Scenario", *shown)


class TestClassNames:
    def test_are_kinds_with_numbers(self):
        senders = [pf.Reno(), pf.CReno(), pf.Reno(), Cbr(rate=1e6), pf.Scalable(), pf.Reno()]
        made = scenario(flows=[flows(sender=sender) for sender in senders], changes=())
        assert made.class_names == ("reno", "creno", "reno2", "cbr", "scalable", "reno3")

    def test_given_names_stay_and_are_left_out(self):
        given = [flows(), flows(name="bulk"), flows(), flows(name="reno2"), flows(name="reno")]
        assert scenario(flows=given, changes=()).class_names == (
            "reno3",
            "bulk",
            "reno4",
            "reno2",
            "reno",
        )

    def test_a_law_of_ones_own_goes_by_its_class(self):
        made = scenario(flows=[flows(sender=Mine()), flows(sender=Mine()), flows()], changes=())
        assert made.class_names == ("mine", "mine2", "reno")


class TestPytree:
    def test_round_trip(self, jax):
        leaves, structure = jax.tree.flatten(scenario())
        assert all(isinstance(leaf, float) for leaf in leaves)
        assert jax.tree.unflatten(structure, leaves) == scenario()

    def test_keys_lead_to_every_number(self, jax):
        paths, _ = jax.tree_util.tree_flatten_with_path(scenario())
        named = {jax.tree_util.keystr(path): leaf for path, leaf in paths}
        assert named[".duration"] == 250.0
        assert named[".link.capacity"] == 1e7
        assert named[".aqm.alpha"] == 0.3125
        assert named[".flows[1].start"] == 50.0
        assert named[".flows[0].sender.decrease"] == 0.5
        assert named[".changes[0].counts['reno']"] == 15.0

    def test_map_checks_nothing(self, jax):
        less = jax.tree.map(lambda leaf: -leaf, scenario())
        assert less.changes[0].counts == {"reno": -15.0}
        placeholders = jax.tree.map(lambda _: object(), scenario())
        assert placeholders.class_names == ("reno", "reno2")
        same = jax.tree.map(operator.eq, scenario(), scenario())
        assert jax.tree.all(same)

    def test_names_are_static(self, jax):
        structures = {jax.tree.structure(scenario(name=name)) for name in ("a", "b")}
        assert len(structures) == 2
        assert len({jax.tree.structure(scenario(duration=t)) for t in (300, 400)}) == 1

    def test_jit_returns_scenarios(self, jax):
        with jax.enable_x64(True):
            longer = jax.jit(lambda given: dataclasses.replace(given, duration=2 * given.duration))(
                scenario()
            )
            assert isinstance(longer, Scenario)
            assert longer == scenario(duration="500s")
        assert hash(longer) == hash(scenario(duration="500s"))
        assert longer.to_toml() == scenario(duration="500s").to_toml()

    def test_made_under_jit(self, jax):
        """Times that JAX traces cannot be compared, so they are not checked and not sorted."""

        @jax.jit
        def load(at):
            made = scenario(changes=[Change(at, "1Mbit/s"), Change("5s", "2Mbit/s")])
            return made.changes[0].at * made.flows[0].count

        with jax.enable_x64(True):
            assert float(load(900.0)) == 9000.0

    def test_vmap_over_some_of_its_numbers(self, jax):
        base = scenario()
        capacities = np.array([1e6, 1e7])
        with jax.enable_x64(True):
            many = jax.vmap(
                lambda c: dataclasses.replace(base, link=dataclasses.replace(base.link, capacity=c))
            )(capacities)
            per_flow = jax.vmap(
                lambda s: s.link.capacity / s.flows[0].count / s.changes[0].counts["reno"]
            )(many)
        np.testing.assert_allclose(per_flow, capacities / 150.0, rtol=1e-15)

    def test_grad(self, jax):
        with jax.enable_x64(True):
            slopes: Any = jax.grad(lambda s: s.aqm.alpha * s.changes[0].counts["reno"])(scenario())
        assert float(slopes.changes[0].counts["reno"]) == 0.3125
        assert float(slopes.aqm.alpha) == 15.0
        assert isinstance(slopes, Scenario)


class TestValue:
    def test_equal_hashable_and_frozen(self):
        assert scenario() == scenario()
        assert {scenario(): 1}[scenario()] == 1
        assert scenario() != scenario(name="other")
        assert scenario() != scenario(flows=[flows(), flows(count=21, start="50s", stop="200s")])
        with pytest.raises(dataclasses.FrozenInstanceError):
            scenario().duration = 5.0  # type: ignore[misc]

    def test_replace_checks_again(self):
        assert dataclasses.replace(scenario(), duration="300s").duration == 300.0
        with pytest.raises(pf.ScenarioError, match="start = 50s is not before the end"):
            dataclasses.replace(scenario(), duration="40s")

    def test_survives_copy_and_pickle(self):
        assert copy.deepcopy(scenario()) == scenario()
        assert pickle.loads(pickle.dumps(scenario())) == scenario()


@pytest.mark.parametrize(
    ("flag", "value"), [("slow_start", "yes"), ("delayed_ack", 2), ("ecn", "on")]
)
def test_flags_of_flows(flag, value):
    with pytest.raises(pf.QuantityError, match=f"Flows {flag} = .* is unknown: give one of"):
        pf.Flows(pf.Reno(), 1, 0.1, **{flag: value})
