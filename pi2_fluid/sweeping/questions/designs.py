"""Designs of `tune`, and their numbers."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from pi2_fluid.design.design import Design
from pi2_fluid.design.tuning import tune
from pi2_fluid.errors import QuantityError, show_value, suggest
from pi2_fluid.sweeping.axes import TEXT
from pi2_fluid.sweeping.outcomes import Outcome, scalars
from pi2_fluid.sweeping.questions.arguments import dimension_in, replaced
from pi2_fluid.sweeping.questions.question import Pointwise

_REQUESTS: Final = {
    **dict.fromkeys(("max_rtt", "max_base_rtt", "min_rtt", "update_interval", "target"), "time"),
    **dict.fromkeys(("gain_margin_db", "phase_margin_deg", "modulus_margin", "k"), "number"),
    **dict.fromkeys(("max_window", "hz"), "number"),
    **dict.fromkeys(("aqm", "update", "objective"), TEXT),
}


@dataclass(frozen=True)
class Designs(Pointwise):
    """A request to `tune`."""

    arguments: Mapping[str, Any]

    kind: ClassVar[str] = "tune"

    @classmethod
    def of(cls, request: Callable[..., Design]) -> Designs:
        """Return the question of `tune` itself, or of a `functools.partial` of it."""
        if not isinstance(request, functools.partial):
            return cls({})
        known = inspect.signature(tune)
        for name in request.keywords:
            if name not in known.parameters:
                raise QuantityError(
                    f"base gives tune {name}, which it has not: give"
                    f" {suggest(name, list(known.parameters))}."
                )
        given = known.bind_partial(*request.args, **request.keywords).arguments
        return cls({name: value for name, value in given.items() if name != "progress"})

    def dimension(self, name: str) -> str:
        """Return the dimension of an argument, or of a number in one."""
        if name in _REQUESTS:
            return _REQUESTS[name]
        if "." not in name:
            raise QuantityError(
                f"over varies {show_value(name)}, which tune has not: give"
                f" {suggest(name, list(_REQUESTS))}."
            )
        return dimension_in(self.arguments, name, ("senders", "aqm"))

    def at(self, values: Mapping[str, Any]) -> tuple[Outcome, frozenset[str]]:
        """Return the numbers of a design."""
        arguments = dict(self.arguments)
        for name, value in values.items():
            arguments = replaced(arguments, name, int(value) if name == "hz" else value)
        return _design_of(tune(**arguments)), frozenset()

    def describe(self) -> dict[str, str]:
        """Return the arguments."""
        return {"tune": repr(dict(sorted(self.arguments.items())))}

    def parts(self) -> dict[str, object]:
        """Return the arguments."""
        return {"base": dict(sorted(self.arguments.items()))}


def _design_of(design: Design) -> Outcome:
    least = design.least
    numbers = {
        "alpha": (design.alpha, "Hz", "integral gain"),
        "beta": (design.beta, "Hz", "proportional gain"),
        "update_interval": (design.update_interval, "s", "time between updates"),
        "target": (design.target, "s", "target queue delay"),
        "gain_margin_db": (least.gain_margin_db, "dB", "smallest gain margin by either clock"),
        "phase_margin": (least.phase_margin_deg, "degree", "smallest phase margin by either clock"),
        "modulus_margin": (design.margins.modulus_margin, "1", "smallest |1 + L| by rates"),
        "rtt_limit": (design.rtt_limit, "s", "largest stable round-trip time"),
        "bandwidth": (design.bandwidth, "rad/s", "closed-loop bandwidth"),
        "settling_time": (design.settling_time, "s", "time to settle to 2 %"),
        "jitter_margin": (design.jitter_margin, "s", "how early or late updates may come"),
        "proved": (
            float(design.guarantee == "proved"),
            "1",
            "1 if the margins by rates are proved",
        ),
    }
    return scalars(**{name: ([float(x)], *about) for name, (x, *about) in numbers.items()})  # type: ignore[arg-type]
