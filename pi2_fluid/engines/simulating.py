"""`simulate`: a scenario, run by an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pi2_fluid.engines.engine import Engine
from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.network.catalogue import find_scenario
from pi2_fluid.network.scenario import Scenario

if TYPE_CHECKING:
    import xarray

_PLACES: Final = {
    "fluid": "fluid.fluid:Fluid",
    "packet": "packet.packets:Packets",
    "ns3": "ns3.ns3:Ns3",
    "linux": "linux.linux:Linux",
}


class _Engines(Mapping[str, "type[Engine]"]):
    """Each engine is imported when it is asked for: who runs one needs no other."""

    def __getitem__(self, name: str) -> type[Engine]:
        module, _, kind = _PLACES[name].partition(":")
        engine: type[Engine] = getattr(import_module(f"pi2_fluid.engines.{module}"), kind)
        return engine

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)


#: The engines of this package, by name.
ENGINES: Final = _Engines()


def simulate(
    scenario: Scenario | str | Path,
    engine: Engine | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> xarray.Dataset:
    """Run a scenario, and return what it does over time.

    Parameters
    ----------
    scenario : Scenario, str or Path
        A scenario, the name of one that comes with the package, or a TOML file.
    engine : Engine, optional
        How: `Fluid`, the default, `Packets`, `Ns3` where that is installed, or `Linux` where a
        kernel was built, with its options.
    progress : callable, optional
        Called as ``progress(done, total)``, in seconds simulated.

    Returns
    -------
    xarray.Dataset
        Over ``time``, whichever the engine: ``queue_delay`` (s), ``queue`` (packets),
        ``controller``, ``p``, ``p_prime``, ``window`` (segments) and ``throughput`` (bit/s) per
        class of flows, ``capacity`` (bit/s). ``attrs["engine"]`` is the engine's name,
        ``attrs["schema"]`` the kind of result: a "trajectory", sampled at instants, as
        `fluid.simulate` describes it, or "runs" of several seeds, counted in bins, as
        `packet.simulate` does. `summarize` understands both.

    Raises
    ------
    ScenarioError, QuantityError, DomainError
        If the scenario or an argument is not as it should be.
    UnsupportedError
        If the engine cannot run this scenario; ``engine.obstacle(scenario)`` tells beforehand.
    SolverError
        If a trajectory needs too many steps, or ns-3 or a kernel ends before its time.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> for engine in (pf.Fluid(), pf.Packets(seeds=2)):
    ...     result = pf.simulate("pi2_fig11a_pi2", engine)
    ...     delay = float(pf.summarize(result, after="20s").delay_mean.mean())
    ...     print(f"{result.attrs['engine']}: {1e3 * delay:.0f} ms")
    fluid: 20 ms
    packet: 18 ms
    """
    chosen = ENGINES["fluid"]() if engine is None else engine
    require_engine(chosen)
    return chosen.run(find_scenario(scenario), progress)


def require_engine(engine: object, name: str = "engine") -> None:
    """Raise QuantityError unless this is an engine; `name` is what the argument is called."""
    if not isinstance(engine, Engine):
        raise QuantityError(
            f"{name} = {show_value(engine)} is no engine: give one with its options, e.g. Fluid()"
            " or Packets(seeds=10)."
        )
