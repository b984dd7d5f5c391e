"""Classes of one's own that declare fields and defaults, and are not decorated as dataclasses."""

from __future__ import annotations

import dataclasses
import pickle
from typing import ClassVar

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf


class Quick(pf.Pi2):
    update_interval = "16ms"
    alpha = 0.1


class Slower(Quick):
    more: float = 2.0
    beta = 1.5

    def encode(self, u):
        return pf.Signal(self.more * u * u, u)


class Steps(pf.Aqm):
    update_interval = 0.016
    limit: ClassVar = 3

    def initial(self):
        return (0.0,)

    def update(self, state, seen, dt):
        return (state[0] + 0.1 * (seen.queue_delay - 0.02),)

    def encode(self, u):
        return pf.Signal(u, u)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Decorated(Quick):
    alpha: float = 0.2


class Named(pf.Reno):
    @property
    def label(self):
        return "mine"


def test_defaults_that_a_class_declares_are_its_own() -> None:
    assert (Quick().alpha, Quick().update_interval, Quick().beta) == (0.1, 0.016, 3.125)
    assert Quick(alpha=0.3).alpha == 0.3
    assert Quick() == Quick()
    assert Quick() != Quick(alpha=0.3)
    assert "alpha=0.1" in repr(Quick())
    assert Steps().update_interval == 0.016
    loop = pf.Loop(pf.Reno(), Quick(), rtt="100ms", p_prime=0.1, update="sampled")
    same = pf.Pi2(alpha=0.1, update_interval="16ms")
    expected = pf.Loop(pf.Reno(), same, rtt="100ms", p_prime=0.1, update="sampled")
    s = 1j * np.geomspace(0.1, 100.0, 5)
    np.testing.assert_allclose(loop(s), expected(s), rtol=1e-12)


def test_fields_that_a_class_declares_are_its_own() -> None:
    law = Slower(more=3.0)
    assert (law.more, law.beta, law.alpha) == (3.0, 1.5, 0.1)
    assert dataclasses.replace(law, alpha=0.2).more == 3.0
    assert law != Slower()
    assert pickle.loads(pickle.dumps(law)) == law
    assert Steps.limit == 3
    with refused(pf.UnsupportedError, "Slower has no 'mores': give 'more'"):
        Slower(mores=1.0)


def test_values_are_read_as_the_parent_reads_them() -> None:
    class Wrong(pf.Pi2):
        alpha = -1.0

    with refused(pf.DomainError, "Wrong alpha = -1.0 is outside"):
        Wrong()


def test_decorated_classes_and_properties_stay_what_they_are() -> None:
    assert (Decorated().alpha, Decorated().update_interval) == (0.2, 0.016)
    assert Named().label == "mine"

    class Marks(pf.Reno):
        signal = "scalable"  # of the class, and no field

    assert "signal" not in {field.name for field in dataclasses.fields(Marks())}
    assert Marks.signal == Marks().signal == "scalable"
    assert "__dataclass_params__" not in vars(Named)
    assert pickle.loads(pickle.dumps(Named())) == Named()


def test_a_parent_with_an_init_of_its_own_is_said() -> None:
    class Fast(pf.Cbr):
        thinned = False

    with refused(pf.UnsupportedError, "Fast thinned = False does not reach Cbr"):
        Fast(rate="1Mbit/s")
    with pytest.raises(dataclasses.FrozenInstanceError):
        Quick().alpha = 1.0
