"""`summarize`: the statistics of a result over a stretch of time, whichever engine it is from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pi2_fluid.results.packets import summarize_packets
from pi2_fluid.results.schema import RUNS, TRAJECTORY, schema_of
from pi2_fluid.results.trajectories import summarize_trajectory

if TYPE_CHECKING:
    import xarray as xr

_OF: Final = {TRAJECTORY: summarize_trajectory, RUNS: summarize_packets}


def summarize(
    dataset: xr.Dataset, after: float | str = "0s", until: float | str | None = None
) -> xr.Dataset:
    """Return the statistics of a result over a stretch of time.

    Parameters
    ----------
    dataset : xarray.Dataset
        A trajectory, as `fluid.simulate` returns it, or runs, as `packet.simulate` does.
    after, until : float or str
        The stretch (s); `until` None is the end. Of packets, those bins count that lie inside with
        their whole length.

    Returns
    -------
    xarray.Dataset
        ``delay_mean``, ``delay_sd`` and ``delay_p01`` ... ``delay_p99``: the delay that what leaves
        has met (s), weighted by departures; ``queue_delay_mean`` over time; ``queue_delay_max`` and
        ``queue_delay_max_at``, the largest queue delay and when it was (s), of packets that of a
        bin; ``utilization`` of the link; ``drop_fraction`` and ``mark_fraction`` of what arrives;
        per class ``throughput`` (bit/s) and ``window_mean``; ``jain``, the index of fairness
        between all flows but those that end.

        Where the scenario changes in the stretch (capacity, numbers of flows, flows that start or
        stop) there is, over the dim ``change``, what the queue delay does from each change to the
        next: ``change_at``, when it was; ``change_peak`` and ``change_peak_at``, the largest value
        and when; ``change_rest``, the mean over the last quarter; and ``change_settling``, after
        how long it stays within half of that rest, at least 1 ms, from it (0: it never left; inf:
        it leaves in the last quarter). Bins of packets are asked by their mean over 1 s. All in s.

        Of packets all of these have the dim ``seed``, and there are besides ``queue_delay_sd``, the
        standard deviation over time (s); per class ``delay_mean_of`` (s), ``drop_fraction_of``,
        ``mark_fraction_of`` and ``timeouts`` (in the whole run); of a dual queue
        ``delay_quantile`` per queue; and where a link has a ring ``ring_delay_mean`` (s), what
        packets wait in it after their delay in the queue. Delays are of single packets, from the
        end of enqueueing to the start of service. ``delay_sd`` and the quantiles are from
        histograms that were kept for up to a hundred blocks of the run (1 us up to 64 us, 1.6 %
        beyond): the attributes
        ``quantiles_after`` and ``quantiles_until`` (s) say which stretch they are of, the whole
        blocks inside the one asked for, or, if there are none, those around it. What has no
        packets to be of is 0. Of runs with `Transfers` there is what `completions` returns, too.

    Raises
    ------
    QuantityError
        If it is no result of an engine, or fewer than two samples lie in the stretch, or no whole
        bin.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> trajectory = pf.fluid.simulate(pf.named_scenario("pi2_fig11a_pi2"))
    >>> late = pf.summarize(trajectory, after="20s")
    >>> print(f"{1e3 * late.delay_mean:.1f} ms, {100 * late.utilization:.0f} % of the link")
    20.0 ms, 100 % of the link

    A link that falls to a tenth, and what that does for a while:

    >>> link, flows = pf.Link("50Mbit/s"), [pf.Flows(pf.Reno(), 10, "50ms")]
    >>> falls = pf.Scenario("60s", link, pf.Pi2(), flows, [pf.Change("20s", "5Mbit/s")])
    >>> told = pf.summarize(pf.simulate(falls)).isel(change=0)
    >>> print(f"{1e3 * told.change_peak:.0f} ms, settled after {told.change_settling:.1f} s")
    465 ms, settled after 1.2 s
    """
    return _OF[schema_of(dataset)](dataset, after, until)
