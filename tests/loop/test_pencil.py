"""The ack clock's equations in time, against the formula of L(s), at any s and in every form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.loop.acks.pencil import closed_equations
from pi2_fluid.loop.acks.roots import count_in_strip


@dataclass(frozen=True, eq=False, kw_only=True)
class PacedReno(pf.Reno):
    paced: ClassVar[bool] = True


@dataclass(frozen=True, eq=False, kw_only=True)
class LateScalable(pf.Scalable):
    reduction: ClassVar[str] = "late"


S = np.array([0.3 + 2.0j, -0.5 + 7.0j, 0.1 + 40.0j])
SENDERS: dict[str, list[Any]] = {
    "reno": [pf.Reno()],
    "cubic": [pf.Cubic()],
    "dctcp": [pf.Dctcp(law="renewal")],
    "paced": [PacedReno()],
    "late": [LateScalable()],
    "mixed": [pf.Reno(), pf.Scalable(), PacedReno()],
    "constant": [pf.Reno(), pf.Cbr(rate="2Mbit/s", thinned=False)],
}
FORMS = [
    {"bunch": 0.0, "drop_at": "dequeue"},
    {"bunch": 0.4, "drop_at": "enqueue"},
    {"bunch": 1.0, "drop_at": "dequeue"},
]


def loop_of(senders: list[Any], factor: float, *, bunch: float, drop_at: str, **options: Any):
    """Return the loop of gains times a factor, at the same rest."""
    queue = pf.CoupledPi2(alpha=factor, beta=8.0 * factor, update_interval=0.02, drop_at=drop_at)
    flows = [pf.Flows(each, 8, 0.03 * (i + 1)) for i, each in enumerate(senders)]
    return pf.Loop(flows, queue, capacity="60Mbit/s", clock="acks", bunch=bunch, **options)


def determinants(loop: pf.Loop, half: bool) -> Any:
    """Return det(s E - sum of M e^{-s delay}) at each of S."""
    E, delayed = closed_equations(loop.linear, half).matrices()
    return np.array(
        [np.linalg.det(s * E - sum(M * np.exp(-s * d) for d, M in delayed.items())) for s in S]
    )


@pytest.mark.parametrize("update", ["continuous", "delayed"])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"bunch {form['bunch']}")
@pytest.mark.parametrize("name", SENDERS)
def test_determinants_of_two_gains_are_as_one_plus_l(name, form, update) -> None:
    """det P(s) is 1 + L(s), times what no gain changes."""
    single, double = (
        loop_of(SENDERS[name], factor, update=update, **form) for factor in (0.3, 0.6)
    )
    half = update == "delayed"
    ratio = determinants(double, half) / determinants(single, half)
    expected = (1.0 + double(S)) / (1.0 + single(S))
    np.testing.assert_allclose(ratio, expected, rtol=1e-9)
    assert np.max(np.abs(expected - 1.0)) > 1e-3


@pytest.mark.parametrize(
    ("zeros", "poles", "inside"),
    [
        ([], [-1.0], 0),
        ([2.0], [-1.0], 1),
        ([-2.0], [-1.0], 0),
        ([0.1 + 3.0j, 0.1 - 3.0j], [-1.0, -2.0], 2),
        ([0.1 + 3.0j, 0.1 - 3.0j, 2.0], [-1.0, -2.0, -3.0], 3),
        ([0.1 + 30.0j, 0.1 - 30.0j, 2.0], [-1.0, -2.0, -3.0], 1),
    ],
)
def test_zeros_in_a_strip_are_those_that_were_put_there(zeros, poles, inside) -> None:
    """Real parts above 0, imaginary ones below 10: of a fraction that tends to 1."""

    def curve(s: Any) -> Any:
        top, bottom = (np.prod([s - root for root in roots], axis=0) for roots in (zeros, poles))
        return top / bottom if len(zeros) == len(poles) else 1.0 + 1.0 / bottom

    assert count_in_strip(curve, 1e-3, 10.0, 1.0, np.array([])) == inside
