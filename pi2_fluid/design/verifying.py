"""Does a design hold where its region ends? Steps of load and capacity at the corners, tried.

Margins speak of small deviations around rest. Here an engine, such as the nonlinear fluid or
packets, goes from rest to rest at the corners of a region, and what the queue delay does on the way
is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pi2_fluid.comparison.verification.corners import queue_met
from pi2_fluid.comparison.verification.trying import require_verifier, try_corners
from pi2_fluid.design.design import Design
from pi2_fluid.design.plants import require_loop
from pi2_fluid.design.region import Region
from pi2_fluid.engines.engine import Engine
from pi2_fluid.engines.fluid.fluid import Fluid
from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.laws.gains import has_gains

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.laws.aqms.pi_family import PiFamily


def verify(
    design: Design,
    engine: Engine | None = None,
    *,
    aqm: PiFamily | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> xarray.Dataset:
    """Return what steps of load and capacity do at the corners of a design's region.

    Parameters
    ----------
    design : Design
        As `tune` finds it: its senders, round-trip times and loads. Of each sender both ends of the
        round-trip times and of the loads are tried. At either end of the loads flows have 200 and 5
        segments, or the region's own if those lie between; the shortest path is at least a
        twentieth of the longest, since the target alone may fill the shortest loop.
    engine : Engine, optional
        In what: `Fluid`, the default, `Packets`, or one of one's own. Where it begins and how long
        its rows are is chosen here.
    aqm : PiFamily, optional
        Another queue to try in the same region, such as ``presets.linux_dualpi2()``. Scalable flows
        under DualPI2 meet a coupled queue with the same gains: what the L4S queue does by itself is
        not part of a design. In one queue with others, marks are switched on for them.
    progress : callable, optional
        Called as ``progress(done, total)``, in cases.

    Returns
    -------
    xarray.Dataset
        By ``case``, a corner and a step from rest to rest: ten per cent more flows, and back; ten
        per cent less capacity, and back. With the coordinates ``sender``, ``rtt`` (s, with queue),
        ``window`` (segments), ``p_prime`` and ``step``; ``attrs["engine"]`` and
        ``attrs["options"]`` say in what engine, ``attrs["read_as"]`` in which of two ways.

        "fluid", each step a trajectory of its own:

        ``peak``, ``trough``: the largest excursions above and below the target (s).
        ``settling``: until the delay stays within 5 % of the larger of the two (s); inf if it does
        not before nine tenths of ``horizon`` (s), for which the step is followed.
        ``decay_rate`` (1/s), ``frequency`` (rad/s): of what is left at last, as `read_decay` says.
        ``decays``: whether the delay settles, or at least oscillates less and less.
        ``clamped``: whether p' meets 0 or its largest value on the way.
        ``delay_error``, ``delay_error_theory``: the integral of the delay less the target after the
        step (s^2), and T dp'/alpha, which it is as long as nothing is clamped.

        "runs", of packets and of all other engines: the four steps of a corner follow each other in
        one run of each seed, each long enough to settle; what comes before the first is not looked
        at.

        ``peak``, ``trough``: of the mean of the seeds, smoothed over a round trip (s), until the
        fluid has settled, ten round trips at least.
        ``settling``: until that mean stays within its band (s): 5 % of its largest excursion, or
        what chance alone is allowed, if that is more. inf if it does not.
        ``mean``, ``sd``, ``p99``: of the settled delay of all seeds (s), after one and a half times
        the fluid's settling time, in bins of a fifth of a round trip; ``utilization``;
        ``clamped_part`` of that time in which p' is at a bound.
        ``peak_fluid``, ``settling_fluid``: of the fluid (s); ``sd_theory``: what chance makes of
        the delay, by `delay_spread`, at the p' that the packets hold (s).
        ``peak_bound``, ``mean_bound``, ``p99_bound`` (s): up to where the peak, the distance of the
        mean from the target, and the quantile are as they should be. ``within``: whether all are.
        ``why``: if not, what was found.

    Raises
    ------
    QuantityError
        If an argument is not as it should be, or the engine has a beginning or rows of its own.
    DomainError
        If the region has no corner that flows could be at.
    UnsupportedError
        If the engine cannot run the scenarios of some corner; before any has run.

    Notes
    -----
    *Fluid.* Of PIE the second integral is over dp / (factor on the gains at p). With the sampled
    controller it is a sum over the updates: a step half-way between two of them makes the two sides
    agree to second order in T.

    *Runs.* The bounds, with a standard deviation s that is half as much again as `sd_theory`:
    ``mean_bound`` is 5 % of the target and half a packet's time on the link; ``p99_bound`` is
    target + 2.33 s, of a normal distribution, that half, and the 5 % of its largest excursion
    within which the fluid has settled; ``peak_bound`` is the fluid's peak, what the surplus of the
    load adds while the queue's own delay hides it, and three standard errors, 3 s / sqrt(seeds).
    "Half as much again" and the 5 % of the target are room for what is not linear; the rest is
    theory. The bounds say whether packets do what theory says of these gains, not whether the gains
    are good.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> design = pf.tune("100ms", min_rtt="100ms", load=(0.1, 0.1))
    >>> table = pf.verify(design, pf.Fluid())
    >>> for case in table["case"].to_numpy():
    ...     at = table.sel(case=case)
    ...     print(f"{case}: {1e3 * float(at.peak):.1f} ms, {float(at.settling):.2f} s")
    reno 100 ms W=14.1 flows +10 %: 7.9 ms, 1.70 s
    reno 100 ms W=14.1 flows back: 3.0 ms, 1.76 s
    reno 100 ms W=14.1 capacity -10 %: 8.8 ms, 1.68 s
    reno 100 ms W=14.1 capacity back: 3.3 ms, 1.75 s
    """
    if not isinstance(design, Design):
        raise QuantityError(
            f"design = {show_value(design)} is no Design: give one, as tune returns it."
        )
    region = design.region
    chosen = Fluid() if engine is None else engine
    return verify_region(region, design.aqm if aqm is None else aqm, chosen, progress)


def verify_region(
    region: Region,
    queue: PiFamily,
    engine: Engine,
    progress: Callable[[float, float], None] | None = None,
) -> xarray.Dataset:
    """Return what `verify` does, of a region and a queue."""
    if not isinstance(region, Region):
        raise QuantityError(
            f"region = {show_value(region)} is no Region: give one, with senders, RTTs and loads."
        )
    if not has_gains(queue):
        raise QuantityError(
            f"aqm = {show_value(queue)} is no queue with a PI controller: give e.g. Pi2()."
        )
    require_verifier(engine, "engine")
    for sender in region.senders:  # that it is a pair with a loop
        require_loop(sender, queue_met(sender, queue))
    return try_corners(region, queue, engine, progress)
