"""Descriptions are values: equal, hashable, frozen, checked when made, and JAX pytrees."""

from __future__ import annotations

import copy
import dataclasses
import operator
import pickle
from typing import Any, ClassVar

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.network.changes import Change
from pi2_fluid.network.link import Link
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.records.record import Record, choice, quantity

RECORDS = [
    pf.Reno(decrease=0.4),
    pf.CReno(),
    pf.Scalable(per_mark=0.25),
    pf.Pi(),
    pf.Pie(table="sqrt2p"),
    pf.Pi2(variant="hpe"),
    pf.CoupledPi2(k=3.0),
    pf.Flows(pf.Reno(), 10, "80ms", "web"),
    Link("10Mbit/s", kind="htb"),
    Change("5s", "1Mbit/s", {"web": 3}),
    Scenario("9s", Link(1e7), pf.Pi2(), pf.Flows(pf.Reno(), 1, 0.1), Change("5s", "1Mbit/s")),
]
NAMES = [type(record).__name__ for record in RECORDS]


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Thing(Record):
    """A user's own record, with every kind of field."""

    kind: ClassVar = "thing"
    size: Any = quantity(1.0, "number")
    delay: Any = quantity(None, "time", optional=True)
    colour: str = choice("red", ("red", "blue"))
    label: str = "plain"
    weight: float = 2.0


class TestValues:
    @pytest.mark.parametrize("record", RECORDS, ids=NAMES)
    def test_equal_by_value(self, record):
        twin = dataclasses.replace(record)
        assert twin is not record
        assert twin == record
        assert hash(twin) == hash(record)
        assert {record: 1}[twin] == 1

    def test_different_values_differ(self):
        assert pf.Reno(decrease=0.4) != pf.Reno(decrease=0.5)
        assert pf.Pi2(variant="hpe") != pf.Pi2()
        assert pf.Flows(pf.Reno(), 1, 0.1) != pf.Flows(pf.Reno(), 1, 0.1, "web")

    def test_different_classes_differ(self):
        assert pf.Reno(decrease=0.3) != pf.CReno(decrease=0.3)
        assert pf.Pi(alpha=0.3, beta=3) != pf.Pi2(alpha=0.3, beta=3)
        assert pf.Reno() != 0.5

    def test_text_and_number_make_the_same(self):
        assert pf.Pi2(target="20ms") == pf.Pi2(target=0.02)
        assert pf.Flows(pf.Reno(), 10, "80ms") == pf.Flows(pf.Reno(), 10.0, 0.08)
        assert pf.Pi(alpha="0.5", beta=1) == pf.Pi(alpha=0.5, beta=1.0)

    @pytest.mark.parametrize("record", RECORDS, ids=NAMES)
    def test_survives_copy_and_pickle(self, record):
        assert copy.deepcopy(record) == record
        assert pickle.loads(pickle.dumps(record)) == record

    @pytest.mark.parametrize("record", RECORDS, ids=NAMES)
    def test_frozen(self, record):
        field = dataclasses.fields(record)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(record, field, 1.0)

    def test_keywords_only(self):
        with pytest.raises(
            TypeError, match="Reno takes nothing without a name, and by name decrea"
        ):
            pf.Reno(0.5)  # type: ignore[call-arg]


class TestArrays:
    def test_equality_and_hash(self):
        a = pf.Pi2(alpha=[0.1, 0.2])
        assert a == pf.Pi2(alpha=np.array([0.1, 0.2]))
        assert hash(a) == hash(pf.Pi2(alpha=(0.1, 0.2)))
        assert a != pf.Pi2(alpha=[0.1, 0.3])
        assert a != pf.Pi2(alpha=[[0.1, 0.2]])
        assert a != pf.Pi2(alpha=0.1)

    def test_equal_zeros_hash_alike(self):
        plus, minus = pf.Pi2(beta=[0.0, 1.0]), pf.Pi2(beta=[-0.0, 1.0])
        assert plus == minus
        assert hash(plus) == hash(minus)

    def test_are_copied_and_frozen(self):
        mine = np.array([0.1, 0.2])
        queue = pf.Pi2(alpha=mine)
        mine[0] = 9.0
        assert queue.alpha.tolist() == [0.1, 0.2]
        with pytest.raises(ValueError, match="read-only"):
            queue.alpha[0] = 9.0

    def test_fields_must_broadcast(self):
        pf.Pi2(alpha=np.full((2, 1), 0.1), beta=np.full(3, 1.0))
        with pytest.raises(pf.QuantityError, match=r"Pi2 alpha of shape \(2,\) and Pi2 beta of"):
            pf.Pi2(alpha=np.full(2, 0.1), beta=np.full(3, 1.0))
        with pytest.raises(pf.QuantityError, match=r"Reno decrease .* Flows count"):
            pf.Flows(pf.Reno(decrease=[0.4, 0.5]), [1, 2, 3], 0.1)


class TestPytree:
    @pytest.mark.parametrize("record", RECORDS, ids=NAMES)
    def test_round_trip(self, record, jax):
        leaves, structure = jax.tree.flatten(record)
        assert jax.tree.unflatten(structure, leaves) == record
        assert all(isinstance(leaf, float) for leaf in leaves)

    def test_keys_are_the_fields(self, jax):
        paths, _ = jax.tree_util.tree_flatten_with_path(pf.Flows(pf.Reno(), 10, 0.08))
        named = {jax.tree_util.keystr(path): leaf for path, leaf in paths}
        assert named == {
            ".sender.decrease": 0.5,
            ".count": 10.0,
            ".base_rtt": 0.08,
            ".start": 0.0,
            ".start_jitter": 0.0,
            ".initial_window": 10.0,
        }

    def test_text_is_static(self, jax):
        structures = {jax.tree.structure(pf.Pi2(variant=v)) for v in ("plain", "hpe")}
        assert len(structures) == 2
        assert len({jax.tree.structure(pf.Pi2(alpha=alpha)) for alpha in (0.1, 0.2)}) == 1

    def test_map(self, jax):
        doubled = jax.tree.map(lambda x: 2 * x, pf.CoupledPi2())
        assert isinstance(doubled, pf.CoupledPi2)
        assert (doubled.alpha, doubled.k) == (0.625, 4.0)

    def test_map_of_two(self, jax):
        total = jax.tree.map(operator.add, pf.Reno(decrease=0.1), pf.Reno(decrease=0.2))
        assert total == pf.Reno(decrease=0.1 + 0.2)

    def test_truth_values_in_place_of_numbers_stay_leaves(self, jax):
        same = jax.tree.map(operator.eq, pf.Pi(alpha=0.1), pf.Pi(alpha=0.2))
        assert not jax.tree.all(same)
        assert len(jax.tree.leaves(same)) == 4

    def test_unflatten_checks_nothing(self, jax):
        structure = jax.tree.structure(pf.Reno())
        placeholder = jax.tree.unflatten(structure, [object()])
        assert isinstance(placeholder, pf.Reno)
        assert jax.tree.unflatten(structure, [-1.0]).decrease == -1.0

    def test_jit(self, jax):
        @jax.jit
        def rest_of(sender, p):
            return sender.at_rest(0.1, p)

        with jax.enable_x64(True):
            assert float(rest_of(pf.Reno(), 0.02)) == pytest.approx(10.0, rel=1e-15)
            assert float(rest_of(pf.Scalable(), 0.02)) == pytest.approx(100.0, rel=1e-15)

    def test_jit_returns_records(self, jax):
        with jax.enable_x64(True):
            faster = jax.jit(lambda queue: jax.tree.map(lambda x: 2 * x, queue))(pf.Pi2())
            assert isinstance(faster, pf.Pi2)
            assert faster == pf.Pi2(alpha=0.625, beta=6.25, target=0.04, update_interval=0.064)
            assert hash(faster) == hash(
                pf.Pi2(alpha=0.625, beta=6.25, target=0.04, update_interval=0.064)
            )

    def test_vmap_over_a_record(self, jax):
        decreases = np.array([0.3, 0.5, 0.7])
        with jax.enable_x64(True):
            windows = jax.vmap(lambda s: s.at_rest(0.1, 0.02))(pf.Reno(decrease=decreases))
        np.testing.assert_allclose(windows, 1 / np.sqrt(0.02 * decreases), rtol=1e-15)

    def test_vmap_with_a_record_of_axes(self, jax):
        def controller(queue, delay):
            return queue.update((0.1, 0.02), pf.Seen(delay, 0, 0, 0), 0.032)[0]

        alphas = np.array([0.1, 0.2])
        queues = pf.Pi2(alpha=alphas)
        axes = jax.tree.map(lambda leaf: 0 if np.ndim(leaf) else None, queues)
        with jax.enable_x64(True):
            values = jax.vmap(controller, in_axes=(axes, None))(queues, 0.03)
        expected = [controller(pf.Pi2(alpha=alpha), 0.03) for alpha in alphas]
        np.testing.assert_allclose(values, expected, rtol=1e-15)

    def test_vmap_returns_records_of_arrays(self, jax):
        with jax.enable_x64(True):
            made = jax.vmap(lambda d: pf.Reno(decrease=d))(np.array([0.3, 0.5]))
        assert made == pf.Reno(decrease=[0.3, 0.5])
        assert hash(made) == hash(pf.Reno(decrease=[0.3, 0.5]))

    def test_grad_through_a_field(self, jax):
        # W = (b p)^(-1/2), so dW/db = -W / (2 b)
        with jax.enable_x64(True):
            slope = jax.grad(lambda b: pf.Reno(decrease=b).at_rest(0.1, 0.02))(0.5)
            record = jax.grad(lambda sender: sender.at_rest(0.1, 0.02))(pf.Reno())
        assert float(slope) == pytest.approx(-10.0, rel=1e-14)
        assert isinstance(record, pf.Reno)
        assert float(record.decrease) == pytest.approx(-10.0, rel=1e-14)

    def test_single_precision_is_refused_when_made_under_jit(self, jax):
        with pytest.raises(pf.DomainError, match="Reno decrease is float32"):
            jax.jit(lambda b: pf.Reno(decrease=b).at_rest(0.1, 0.02))(0.5)


class TestOwnRecords:
    def test_is_checked(self):
        assert Thing(size=2, delay="5ms").delay == 0.005
        with pytest.raises(pf.DomainError, match="Thing size = 0 "):
            Thing(size=0)
        with pytest.raises(pf.QuantityError, match="Thing colour = 'green' is unknown"):
            Thing(colour="green")

    def test_is_a_pytree(self, jax):
        thing = Thing(size=[1.0, 2.0], label="mine")
        leaves, structure = jax.tree.flatten(thing)
        assert [np.shape(leaf) for leaf in leaves] == [(2,), ()]
        assert jax.tree.unflatten(structure, leaves) == thing

    def test_missing_number_is_no_leaf(self, jax):
        assert jax.tree.leaves(Thing()) == [1.0, 2.0]
        assert jax.tree.leaves(Thing(delay=3.0)) == [1.0, 3.0, 2.0]
        assert jax.tree.map(lambda x: x + 1, Thing()).delay is None
        assert Thing() != Thing(delay=3.0)

    def test_a_subclass_of_a_law_is_one(self, jax):
        @dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
        class Gentle(pf.Reno):
            increase: Any = quantity(1.0, "number")

        gentle = Gentle(increase=2.0)
        assert gentle != pf.Reno()
        assert jax.tree.leaves(gentle) == [0.5, 2.0]
        assert isinstance(jax.tree.map(lambda x: x, gentle), Gentle)

    def test_declared_without_default(self):
        @dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
        class Bare(Record):
            size: Any = quantity(dataclasses.MISSING, "number")

        assert Bare(size=1).size == 1.0
        with pytest.raises(TypeError, match="size"):
            Bare()
