"""`Engine`: what everything that can run a scenario promises."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pi2_fluid.errors import DomainError, QuantityError, ScenarioError, UnsupportedError
from pi2_fluid.records.calls import Named

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.network.scenario import Scenario


class Engine(metaclass=Named):
    """A way to run scenarios, with its options. It never changes once it is made.

    A subclass is a frozen dataclass, all of whose fields have defaults and are checked when it is
    made. It says what it can do in `require`, does it in `run`, and returns what
    `pi2_fluid.results.dataset` describes, so that `summarize`, `compare` and the pictures work.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> pf.Fluid(update="continuous").name, pf.Packets() == pf.Packets(seeds=10)
    ('fluid', True)
    >>> pf.Packets(seeds=3)
    Packets(seeds=3)
    """

    #: What it is called: at the shell, and in the attribute ``engine`` of its results.
    name: ClassVar[str]
    #: What its results are from, in a sentence: "not modelled in packets". "": its name.
    medium: ClassVar[str] = ""

    @abstractmethod
    def require(self, scenario: Scenario) -> None:
        """Refuse a scenario that this engine cannot run, with a typed error of one sentence."""

    @abstractmethod
    def run(
        self, scenario: Scenario, progress: Callable[[float, float], None] | None = None
    ) -> xarray.Dataset:
        """Run a scenario that `require` has nothing against.

        Parameters
        ----------
        scenario : Scenario
            What to run.
        progress : callable, optional
            Called as ``progress(done, total)``, in seconds simulated.
        """

    def obstacle(self, scenario: Scenario) -> str:
        """Return why this engine cannot run a scenario, in one sentence; "" if it can.

        Examples
        --------
        >>> import pi2_fluid as pf
        >>> codel = pf.named_scenario("pie_fig10a_codel")
        >>> pf.Packets().obstacle(codel), pf.Fluid().obstacle(codel)[:30]
        ('', 'CoDel decides packet by packet')
        """
        try:
            self.require(scenario)
        except (DomainError, QuantityError, ScenarioError, UnsupportedError) as error:
            return str(error)
        return ""

    def with_rows(self, step: float) -> Self:
        """Return this engine with a row of its result every `step` (s), if nothing else is set."""
        del step
        return self

    def with_tolerance(self, tolerance: float) -> Self:
        """Return this engine with a relative error of `tolerance`, if it has one left open."""
        del tolerance
        return self

    def way(self, result: xarray.Dataset) -> str:
        """Return how a result of this engine was made, as part of a sentence: "as a fluid"."""
        del result
        return f"in {self.medium or self.name}"

    def remarks(self, result: xarray.Dataset) -> dict[str, Any]:
        """Return what a result's attributes say that only this engine knows, by name."""
        del result
        return {}

    def outside(self) -> dict[str, str]:
        """Return what a run follows from besides: the build of a program that is not this one's.

        Examples
        --------
        >>> import pi2_fluid as pf
        >>> pf.Packets().outside()
        {}
        """
        return {}

    def __repr__(self) -> str:
        """Return the options that are not as usual."""
        engine: Any = self
        fields: Any = dataclasses.fields(engine) if dataclasses.is_dataclass(engine) else ()
        given = [(field.name, getattr(self, field.name), field.default) for field in fields]
        shown = [f"{name}={value!r}" for name, value, usual in given if value != usual]
        return f"{type(self).__name__}({', '.join(shown)})"
