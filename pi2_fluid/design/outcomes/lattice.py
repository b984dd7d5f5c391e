"""Candidates: gains around those that a kernel begins with, in its own whole parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pi2_fluid.design.asked import read_queue
from pi2_fluid.design.installing import Wanted, installed
from pi2_fluid.design.stepping import steps_of
from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.gains import has_gains
from pi2_fluid.laws.kernel.units import unit_of
from pi2_fluid.laws.registry import kind_of
from pi2_fluid.tc.options import LAWS, defaults
from pi2_fluid.tc.qdisc import build

#: Of the default's gains. RFC 9332's rule for 100 ms is the default of DualPI2, to a part of 256.
_ALPHAS: Final = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8)
_BETAS: Final = (0.55, 0.67, 0.8, 1.0, 1.22, 1.47, 1.77, 2.2, 2.7, 3.2)
#: Of the default's target and update interval, where those are free.
_TARGETS: Final = (2 / 3, 0.8, 1.0, 1.25)
_INTERVALS: Final = (0.5, 1.0, 2.0)  # times the one that runs
_MTU: Final = 1500
#: The gains of a queue.
GAINS: Final = ("alpha", "beta")
_DIGITS: Final = 5  # of gains that no kernel counts


@dataclass(frozen=True)
class Kind:
    """A kind of queue to choose from: as it comes, and what tc calls it if a kernel runs it.

    Examples
    --------
    >>> kind = read_kind("dualpi2", None, 1000)
    >>> kind.name_of(kind.default)
    '41/819'
    """

    default: PiFamily
    tc: str | None
    hz: int

    def law(self, **fields: float) -> PiFamily:
        """Return the queue with other numbers (SI), as the kernel runs it if one does."""
        changed: dict[str, Any] = dict(fields)
        law = replace(self.default, **changed)
        return law if self.tc is None else self.in_kernel(law)

    def in_kernel(self, law: PiFamily) -> PiFamily:
        """Return what the kernel makes of a law, with gains down to its whole parts."""
        assert self.tc is not None
        made = installed(Wanted(law, math.inf, "recovery"), self.tc, hz=self.hz).aqm
        return replace(made, arithmetic=self.default.arithmetic)

    def parts(self, law: PiFamily) -> tuple[int, int] | None:
        """Return alpha and beta in what tc counts them in; None if no kernel does."""
        if self.tc is None:
            return None
        alpha, beta = (unit_of(law, name).ask(float(getattr(law, name))) for name in GAINS)
        return alpha, beta

    def name_of(self, law: Aqm) -> str:
        """Return gains in a word, and target and T where they are not the default's."""
        if not has_gains(law):
            return type(law).__name__.lower()
        known = self.parts(law) if type(law) is type(self.default) else None
        gains = known or tuple(f"{float(getattr(law, name)):.4g}" for name in GAINS)
        words = ["{}/{}".format(*gains)]
        for field, word in (("target", "target"), ("update_interval", "T")):
            value = float(getattr(law, field))
            if not math.isclose(value, float(getattr(self.default, field)), rel_tol=1e-6):
                words.append(f"{word} {1e3 * value:.4g} ms")
        return ", ".join(words)

    def lattice(self, *, free_target: bool, free_interval: bool) -> list[list[PiFamily]]:
        """Return the candidates, those of one target and one update interval together.

        alpha grows with the update interval, so that alpha/T is one of the same; the first list is
        that of the default's own.
        """
        target, interval = float(self.default.target), float(self.default.update_interval)
        targets = [float(f"{target * x:.2g}") for x in _TARGETS] if free_target else []
        intervals = [interval * x for x in _INTERVALS] if free_interval else []
        pairs = dict.fromkeys(
            [(target, interval)]
            + [(t, T) for T in (intervals or [interval]) for t in (targets or [target])]
        )
        return [self._around(*pair) for pair in pairs]

    def _around(self, target: float, interval: float) -> list[PiFamily]:
        longer = interval / float(self.default.update_interval)
        fields = {"target": target, "update_interval": interval}
        gains = [
            (alpha, beta)
            for beta in self._steps("beta", _BETAS)
            for alpha in self._steps("alpha", [longer * x for x in _ALPHAS])
        ]
        return [self.law(alpha=alpha, beta=beta, **fields) for alpha, beta in gains]

    def _steps(self, name: str, factors: Sequence[float]) -> list[float]:
        """Return a gain (Hz) times some factors, in whole parts of the kernel if one counts it."""
        value = float(getattr(self.default, name))
        if self.tc is None:
            return [float(f"{value * x:.{_DIGITS}g}") for x in factors]
        unit = unit_of(self.default, name)
        parts = {max(1, min(unit.high, round(unit.ask(value) * x))) for x in factors}
        return [count / unit.per_si for count in sorted(parts)]


def read_kind(aqm: object, k: object, hz: int | None) -> Kind:
    """Return the kind of queue asked for: by its name as Linux has it by default, or the one given.

    Raises
    ------
    UnsupportedError
        Of fq_pie, whose flows each have a queue of their own.
    """
    queue = read_queue(aqm, k)
    if queue.tc == "fq_pie" and not queue.own:
        raise UnsupportedError(
            'aqm = "fq_pie" gives each flow a queue of its own, which packets do not follow here:'
            ' give aqm="pie".'
        )
    steps = steps_of(queue.law, queue.tc, hz)
    if steps is None or queue.tc is None or LAWS[queue.tc] != kind_of(queue.law):
        return Kind(queue.law, None, 1000)
    assert hz is not None
    law = queue.law
    if not queue.own:
        made: Any = build(queue.tc, defaults(queue.tc, _MTU), hz).aqm
        law = made if k is None else replace(made, k=queue.law.k)  # type: ignore[attr-defined]
    return Kind(law, queue.tc, hz)
