"""Steps of load and capacity at the corners of a region, tried in an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from pi2_fluid.comparison.verification.corners import BASE, STEPS, Corner, Reach, corners_of
from pi2_fluid.comparison.verification.fluid_case import FluidCase, fluid_case
from pi2_fluid.comparison.verification.packet_case import PacketCase, run_corner
from pi2_fluid.comparison.verification.table import FLUID, RUNS, table_of
from pi2_fluid.engines.engine import Engine
from pi2_fluid.engines.fluid.fluid import Fluid
from pi2_fluid.engines.simulating import require_engine
from pi2_fluid.errors import QuantityError
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.registry import name_of

if TYPE_CHECKING:
    import xarray

_LONG: Final = 1.0  # s, of a scenario that is not run


def try_corners(
    region: Reach,
    queue: PiFamily,
    engine: Engine,
    progress: Callable[[float, float], None] | None = None,
) -> xarray.Dataset:
    """Return what steps of load and capacity do to a queue at the corners of a region.

    `pi2_fluid.verify` describes arguments, result and errors.
    """
    require_verifier(engine, "engine")
    corners = corners_of(region, queue)
    for corner in corners:
        engine.require(corner.scenario(_LONG, [(0.0, BASE)]))
    if isinstance(engine, Fluid):
        found: list[Any] = _in_fluid(corners, engine, progress)
        read_as = FLUID
    else:
        found, read_as = _in_runs(corners, engine, progress), RUNS
    attrs = {"engine": engine.name, "options": repr(engine), "read_as": read_as}
    return table_of(_rows(corners, found), attrs)


def require_verifier(engine: Any, name: str) -> None:
    """Refuse what is no engine, or an engine that leaves no choice of rows or of a beginning.

    Parameters
    ----------
    engine : object
        What is to verify.
    name : str
        What the argument is called.
    """
    require_engine(engine, name)
    if isinstance(engine, Fluid) and engine.initial is not None:
        raise QuantityError(
            f"{engine!r} has an initial state, and a verification begins at the rest of"
            " each corner: leave initial out."
        )
    if engine.with_rows(_LONG) == engine:
        raise QuantityError(
            f"{engine!r} has rows of its own length, and a verification chooses it for"
            " each corner: leave that option out."
        )


def _in_fluid(
    corners: Sequence[Corner],
    engine: Fluid,
    progress: Callable[[float, float], None] | None,
) -> list[FluidCase]:
    cases = [(corner, step) for corner in corners for step in STEPS]
    found = []
    for done, (corner, step) in enumerate(cases, 1):
        found.append(fluid_case(corner, step, engine))
        if progress is not None:
            progress(done, len(cases))
    return found


def _in_runs(
    corners: Sequence[Corner],
    engine: Engine,
    progress: Callable[[float, float], None] | None,
) -> list[PacketCase]:
    total = len(corners) * len(STEPS)
    found: list[PacketCase] = []
    for corner in corners:
        done = len(found)

        def report(part: float, done: int = done) -> None:
            if progress is not None:
                progress(done + part * len(STEPS), total)

        fluid = [fluid_case(corner, step, Fluid()) for step in STEPS]
        found += run_corner(corner, [x.transient for x in fluid], engine, report)
    return found


def _rows(corners: Sequence[Corner], results: Sequence[Any]) -> list[dict[str, Any]]:
    cases = [(corner, step) for corner in corners for step in STEPS]
    return [
        {
            "case": f"{corner.name} {step.name}",
            "sender": name_of(corner.sender),
            "rtt": corner.rtt,
            "window": corner.window,
            "p_prime": corner.p_prime,
            "step": step.name,
            **case._asdict(),
        }
        for (corner, step), case in zip(cases, results, strict=True)
    ]
