"""Does a design hold where its region ends? Steps of load and capacity at the corners, tried.

Margins speak of small deviations around rest. Here the nonlinear fluid, and packets, go from rest
to rest at the corners of a region, and what the queue delay does on the way is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.design.region import Region
from pi2_fluid.design.request import ENGINES
from pi2_fluid.design.verification.corners import STEPS, Corner, Step, corners_of
from pi2_fluid.design.verification.fluid_case import COLUMNS as FLUID
from pi2_fluid.design.verification.fluid_case import fluid_case
from pi2_fluid.design.verification.packet_case import COLUMNS as PACKETS
from pi2_fluid.design.verification.packet_case import PacketCase, run_corner
from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.fluid.request import UPDATES
from pi2_fluid.model.aqms.pi_family import PiFamily
from pi2_fluid.model.registry import kind_of
from pi2_fluid.packet.request import seed_list
from pi2_fluid.result import Column, make_dataset
from pi2_fluid.units import validate_choice

if TYPE_CHECKING:
    import xarray

__all__ = ["rows_of", "table_of", "verify", "verify_in_fluid", "verify_in_packets"]

_COORDS: Final = {
    "case": ("1", "corner and step"),
    "sender": ("1", "who sends"),
    "rtt": ("s", "round-trip time, queue included"),
    "window": ("segments", "window of a flow"),
    "p_prime": ("1", "load of the sender"),
    "step": ("1", "what changes"),
}
_WORDS: Final = {"case", "sender", "step", "why"}


def verify(
    region: Region,
    queue: PiFamily,
    engine: str,
    *,
    seeds: int | Sequence[int] = 5,
    progress: Callable[[float, float], None] | None = None,
) -> xarray.Dataset:
    """Return what a queue does at the corners of a region, by fluid or by packets.

    Parameters
    ----------
    region : Region
        Senders, round-trip times with the queue and loads.
    queue : PiFamily
        With the gains to be verified.
    engine : {"fluid", "packet"}
        `verify_in_fluid` or `verify_in_packets`.
    seeds : int or sequence of int
        Of packets.
    progress : callable, optional
        Called as ``progress(done, total)``, in cases.

    Raises
    ------
    QuantityError
        If an argument cannot be read.
    DomainError
        If the region has no corner that flows could be at.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> region = Region((pf.Reno(),), 0.1, 0.1, ((0.1, 0.1),))
    >>> table = verify(region, pf.tune("100ms").aqm, "fluid")
    >>> for case in table["case"].to_numpy():
    ...     at = table.sel(case=case)
    ...     print(f"{case}: {1e3 * float(at.peak):.1f} ms, {float(at.settling):.2f} s")
    reno 100 ms W=14.1 flows +10 %: 8.0 ms, 1.58 s
    reno 100 ms W=14.1 flows back: 0.3 ms, 1.58 s
    reno 100 ms W=14.1 capacity -10 %: 8.9 ms, 1.57 s
    reno 100 ms W=14.1 capacity back: 0.3 ms, 1.57 s
    """
    validate_choice(engine, ENGINES, "engine")
    if engine == "fluid":
        return verify_in_fluid(region, queue, progress=progress)
    return verify_in_packets(region, queue, seeds=seeds, progress=progress)


# The fluid


def verify_in_fluid(
    region: Region,
    queue: PiFamily,
    *,
    update: str = "sampled",
    progress: Callable[[float, float], None] | None = None,
) -> xarray.Dataset:
    """Return what steps of load and capacity do to the queue delay of the fluid.

    Parameters
    ----------
    region : Region
        Its corners: of each sender both ends of the round-trip times and of the loads. At either
        end of the loads flows have 200 and 5 segments, or the region's own if those lie between;
        the shortest path is at least a twentieth of the longest, since the target alone may fill
        the shortest loop.
    queue : PiFamily
        With the gains to be verified. Scalable flows under DualPI2 meet a coupled queue with the
        same gains: what the L4S queue does by itself is not part of a design.
    update : {"sampled", "continuous"}
        As in `fluid.simulate`.
    progress : callable, optional
        Called as ``progress(done, total)``, in cases.

    Returns
    -------
    xarray.Dataset
        By ``case``, a corner and a step from rest to rest: ten per cent more flows, and back; ten
        per cent less capacity, and back. With the coordinates ``sender``, ``rtt`` (s, with queue),
        ``window`` (segments), ``p_prime`` and ``step``:

        ``peak``, ``trough``: the largest excursions above and below the target (s).
        ``settling``: until the delay stays within 5 % of the larger of the two (s); inf if it does
        not before nine tenths of ``horizon`` (s), for which the step is followed.
        ``decay_rate`` (1/s), ``frequency`` (rad/s): of what is left at last, as `read_decay` says.
        ``decays``: whether the delay settles, or at least swings less and less.
        ``clamped``: whether p' meets 0 or its largest value on the way.
        ``delay_error``, ``delay_error_theory``: the integral of the delay less the target after the
        step (s^2), and T dp'/alpha, which it is as long as nothing is clamped.

    Raises
    ------
    QuantityError
        If an argument cannot be read.
    DomainError
        If the region has no corner that flows could be at.
    UnsupportedError
        If the queue has no continuous form.

    Notes
    -----
    Of PIE the second integral is over dp / (factor on the gains at p). With the sampled controller
    it is a sum over the updates: a step half-way between two of them makes the two sides agree to
    second order in T.
    """
    _require(region, queue)
    validate_choice(update, UPDATES, "update")
    cases = [(corner, step) for corner in corners_of(region, queue) for step in STEPS]
    found = []
    for done, (corner, step) in enumerate(cases, 1):
        found.append(fluid_case(corner, step, update))
        if progress is not None:
            progress(done, len(cases))
    return table_of(_rows(cases, found), {"engine": "fluid", "update": update})


# Packets


def verify_in_packets(
    region: Region,
    queue: PiFamily,
    *,
    seeds: int | Sequence[int] = 5,
    threads: int | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> xarray.Dataset:
    """Return what steps of load and capacity do to the queue delay of packets.

    Parameters
    ----------
    region, queue
        As in `verify_in_fluid`. Of Scalable flows in one queue with others, marks are switched on.
    seeds : int or sequence of int
        How many runs, or their seeds.
    threads : int, optional
        As in `packet.simulate`.
    progress : callable, optional
        Called as ``progress(done, total)``, in cases.

    Returns
    -------
    xarray.Dataset
        By ``case``, with the same coordinates as from `verify_in_fluid`. The four steps of a corner
        follow each other in one run, each long enough to settle; what comes before the first is not
        looked at.

        ``peak``, ``trough``: of the mean of the seeds, smoothed over a round trip (s), until the
        fluid has settled, ten round trips at least.
        ``settling``: until that mean stays within its band (s): 5 % of its largest excursion, or
        what chance alone is allowed, if that is more. inf if it does not.
        ``mean``, ``sd``, ``p99``: of the delay of all seeds at rest (s), after one and a half times
        the fluid's settling time, in bins of a fifth of a round trip; ``utilization``;
        ``clamped_part`` of that time in which p' is at a bound.
        ``peak_fluid``, ``settling_fluid``: of the fluid (s); ``sd_theory``: what chance makes of
        the delay, by `delay_spread`, at the p' that the packets hold (s).
        ``peak_bound``, ``mean_bound``, ``p99_bound`` (s): up to where the peak, the distance of the
        mean from the target, and the quantile are as they should be. ``within``: whether all are.
        ``why``: if not, what was found.

    Raises
    ------
    QuantityError, DomainError
        As `verify_in_fluid`, and as `packet.simulate`.

    Notes
    -----
    The bounds, with a standard deviation s that is half as much again as `sd_theory`:
    ``mean_bound`` is 5 % of the target and half a packet's time on the link; ``p99_bound`` is
    target + 2.33 s, of a normal distribution, that half, and the 5 % of its largest excursion
    within which the fluid has settled; ``peak_bound`` is the fluid's peak, what the surplus of the
    load adds while the queue's own delay hides it, and three standard errors, 3 s / sqrt(seeds).
    "Half as much again" and the 5 % of the target are room for what is not linear; the rest is
    theory. The bounds say whether packets do what theory says of these gains, not whether the gains
    are good.
    """
    _require(region, queue)
    numbers = seed_list(seeds)
    corners = corners_of(region, queue)
    total = len(corners) * len(STEPS)
    found: list[PacketCase] = []
    for corner in corners:
        done = len(found)

        def report(part: float, done: int = done) -> None:
            if progress is not None:
                progress(done + part * len(STEPS), total)

        fluid = [fluid_case(corner, step) for step in STEPS]
        found += run_corner(corner, [x.transient for x in fluid], numbers, threads, report)
    cases = [(corner, step) for corner in corners for step in STEPS]
    attrs = {"engine": "packet", "seed": ", ".join(map(str, numbers))}
    return table_of(_rows(cases, found), attrs)


# Both


def _require(region: Any, queue: Any) -> None:
    if not isinstance(region, Region):
        raise QuantityError(
            f"region = {show_value(region)} is no Region: give one, with senders, RTTs and loads."
        )
    if not isinstance(queue, PiFamily):
        raise QuantityError(
            f"queue = {show_value(queue)} is no queue with a PI controller: give e.g. Pi2()."
        )


def _rows(cases: Sequence[tuple[Corner, Step]], found: Sequence[Any]) -> list[dict[str, Any]]:
    return [
        {
            "case": f"{corner.name} {step.name}",
            "sender": str(kind_of(corner.sender)),
            "rtt": corner.rtt,
            "window": corner.window,
            "p_prime": corner.p_prime,
            "step": step.name,
            **case._asdict(),
        }
        for (corner, step), case in zip(cases, found, strict=True)
    ]


def rows_of(table: xarray.Dataset) -> list[dict[str, Any]]:
    """Return the cases of a table, each as a mapping of column to number or text."""
    names = [str(name) for name in (*table.coords, *table.data_vars)]
    columns = {name: table[name].to_numpy().tolist() for name in names}
    return [
        {name: column[index] for name, column in columns.items()}
        for index in range(table.sizes["case"])
    ]


def table_of(rows: Sequence[Mapping[str, Any]], attrs: Mapping[str, str]) -> xarray.Dataset:
    """Return the table of which `rows_of` gave the cases; `attrs` name the engine."""

    def column(name: str, units: str, text: str) -> Column:
        values = [row[name] for row in rows]
        words = name in _WORDS
        return Column(("case",), np.array(values, dtype=object if words else None), units, text)

    columns = FLUID if attrs["engine"] == "fluid" else PACKETS
    coords, variables = (
        {name: column(name, units, text) for name, (units, text) in some.items()}
        for some in (_COORDS, columns)
    )
    return make_dataset(variables, coords, dict(attrs))
