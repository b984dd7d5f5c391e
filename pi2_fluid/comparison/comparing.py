"""`compare`: one scenario in engines, several queues under one traffic, or a measurement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pi2_fluid.comparison.agreement.agreement import run_all, tabulate
from pi2_fluid.comparison.measurement.running import is_dataset, run_beside
from pi2_fluid.comparison.measurement.table import tabulate_beside
from pi2_fluid.comparison.queues.running import run_queues
from pi2_fluid.comparison.queues.table import tabulate_queues
from pi2_fluid.measured.scenario import Described

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.engines.engine import Engine
    from pi2_fluid.network.scenario import Scenario


def compare(
    scenario: Scenario | Described | str | Path | Sequence[Scenario | str | Path],
    *engines: Engine | xarray.Dataset,
    after: float | str | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> xarray.Dataset:
    """Run a scenario in engines, queues under one traffic, or what was measured: one table.

    Parameters
    ----------
    scenario : Scenario, Described, str or Path, or a sequence of them
        A scenario, the name of one that comes with the package, or a TOML file. Of several,
        queues are compared: they have the same traffic, and differ in their queues and buffers.
        Of a measurement what `scenario_of` makes of it, or a scenario whose classes have the names
        of its flows.
    *engines : Engine or xarray.Dataset
        Of one scenario: all that run it, with which the first is compared. Default: `Fluid` and
        `Packets`. Where they leave it open, all have rows of the same length, a few in every round
        trip, and a fluid a tolerance of 1e-6. Of several scenarios: each runs in the first of
        these that can. Default: `Packets`, and `Linux` for what only the kernel has, ten seeds
        each. A measurement among them, as `pf.measured.read` returns it, is put beside what the
        engines make of it. Default then: `Packets` of twelve seeds.
    after : float or str, optional
        Where the statistics begin (s). Default: when slow start is over, taken to be after 20 s,
        or after a fifth of the run if that is less. Beside a measurement both are counted from when
        all of its flows send, and the statistics end when the first of them stops.
    progress : callable, optional
        Called as ``progress(done, total)``, in seconds simulated, by one engine after the other; of
        several queues, of all together.

    Returns
    -------
    xarray.Dataset
        Of engines; the notes describe that of queues, and of a measurement. Dims ``engine`` and
        ``name``. An engine is called by its name; of two with the same name those with options are
        called like ``fluid(linear=True)``. The coordinate ``unit`` belongs to a name; ``options``
        (the engine as Python writes it), ``seeds`` and ``not_modelled`` to an engine. The names are
        those of `summarize`: ``delay_mean``, ``delay_sd``, ``delay_p05`` to ``delay_p99``,
        ``queue_delay_mean`` (of a dual queue ``queue_delay_mean.C`` and ``.L``, in packets the mean
        over time of what they spend in it), ``utilization``, ``drop_fraction``, ``mark_fraction``;
        of the PI family ``controller``, its mean; ``frequency`` (rad/s) and ``damping`` (ratio) of
        the dominant oscillation; and per class ``throughput.reno``, ``window.reno`` and so on (a
        window only if the class obeys signals).

        Of several links, what is of a queue says of which: ``delay_mean.a``, ``controller.a``,
        ``queue_delay_mean.a.C``; the coordinate ``link`` is empty of a class. More than ten have no
        ``frequency`` and ``damping``.

        ``value``, the median over the seeds, and ``low`` and ``high``, their range, which is the
        value itself where there are no seeds. Compared with the first engine: ``relative``,
        value / first - 1, which is 0 if both are 0 and infinite if only the first is;
        ``disagreement``, whether the two ranges lie apart by more than 10 % of this one's nearer
        end; and ``why``: causes that hold in this scenario and bear on that number, empty if the
        two agree.

    Raises
    ------
    ScenarioError, QuantityError, DomainError
        If the scenario or an argument is not as it should be.
    UnsupportedError
        If an engine cannot run it, before any has begun: a law that has no fluid form (CoDel), or
        that no packets follow (a law of one's own), or that ns-3 lacks.
    SolverError
        If the trajectory needs too many steps.

    Notes
    -----
    *Several queues.* Dims ``queue`` and ``name``. A queue is called by the name of its scenario, if
    each has another, or as its law. ``value`` is the mean over the seeds, ``low`` and ``high`` are
    the ends of its interval of 95 % (Student's t). All queues have the same seeds, so that flows
    start and transfers are drawn alike: ``difference``, ``difference_low`` and ``difference_high``
    say the mean over seeds of this queue's value minus that of the first one, and its interval;
    ``differs``, whether that leaves out 0. NaN is an end that there is not, as of one seed, or a
    number that an engine does not have. ``each`` has the values by ``seed``. Coordinates of a queue
    are ``law``, ``engine``, ``options``, ``seeds`` and ``not_modelled``.

    The names are those of `summarize`: ``delay_mean``, ``delay_p50``, ``delay_p99``,
    ``queue_delay_max`` (the largest mean of a row of at most 20 ms), ``utilization``,
    ``drop_fraction``, ``mark_fraction``, ``jain``; of each change ``change_peak.20s`` and
    ``change_settling.20s`` (inf: some seed did not settle); per class ``throughput.reno`` and
    ``share.reno``, its part of all throughput, ``delay_mean_of.reno``, ``delay_p99_of.reno``,
    ``drop_fraction_of.reno`` and ``mark_fraction_of.reno``; of transfers ``completion_p50.web`` and
    ``completion_p95.web``. Of a queue of two bands maxima and settling times are those of the
    slower band. Ctrl-C leaves the seeds that were finished; ``attrs["left_out"]`` names the queues
    that have none.

    *A measurement.* Dims ``engine``, whose first is "measured", and ``name``. ``value``, ``low``
    and ``high`` are the median over the seeds and their range; ``relative`` is value / measured -
    1. ``outside`` says whether what was measured lies outside of the range, by more than its last
    digit and 1 % (of a trajectory, 10 %); ``why`` has likely causes. One more run of the same lies
    outside of the range of n seeds in 2 of n + 1 cases. All numbers are what the measurement would
    have had of a run: ``throughput.a`` and ``share.a`` of goodput, ``rate_ratio`` of the first of
    two flows over the second, ``utilization``, ``delay_mean``, ``delay_p50``, ``delay_p95`` and
    ``delay_p99`` of the round trips of a probe, at its instants and in its digits, ``tcp_rtt.a``,
    ``window.a``, and ``mark_fraction`` and ``drop_fraction`` where counters were measured.
    Variables that begin with ``curve`` and ``quantile`` are those that `plot_comparison` draws.

    *Oscillations* are read off the autocorrelation of the (Classic) queue's delay: its first
    maximum after it has been negative is one period away, and its height, what is left after one
    period, gives the damping ratio: 0 in a limit cycle. Where that is too low to be told
    from noise, the first minimum serves, half a period away; where that is, too, nothing
    oscillates: frequency 0, damping 1. Such a frequency is right within a few per cent where the
    oscillation is lightly damped, and rough from a damping of 0.3 on.

    Of packets it is the delay after the start-up of the last stage of the schedule, kept moving by
    chance. A fluid that cycles there is read in the same way. One that has come to rest is pushed:
    the autocorrelation of its answer to one small push is what white noise arriving at its queue
    would give, so the two are the same measure. Of several queues each is pushed alone, and the
    autocorrelations of what one answers to all are added, as noise at each of them would.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> flows = pf.Flows(pf.Reno(), 20, "80ms")
    >>> scenario = pf.Scenario("60s", pf.Link("40Mbit/s", 40_000), pf.Pi2(), flows)
    >>> table = pf.compare(scenario, pf.Fluid(), pf.Packets(seeds=4))
    >>> mean = table.sel(name="delay_mean")
    >>> [round(1e3 * float(value)) for value in mean.value], mean.disagreement.values.tolist()
    ([20, 20], [False, False])

    Is PI2's delay below that of tail drop, by more than chance?

    >>> import dataclasses
    >>> other = dataclasses.replace(scenario, aqm=pf.TailDrop(), link=pf.Link("40Mbit/s", "100ms"))
    >>> table = pf.compare([scenario, other], pf.Packets(seeds=4))
    >>> late = table.sel(queue="taildrop", name="delay_mean")
    >>> bool(late.differs), bool(late.difference > 0.03), table.engine.values.tolist()
    (True, True, ['packet', 'packet'])
    """
    measured = [one for one in engines if is_dataset(one)]
    chosen = cast("list[Engine]", [one for one in engines if not is_dataset(one)])
    if measured:
        beside = run_beside(scenario, chosen, measured, after=after, progress=progress)
        return tabulate_beside(beside)
    if isinstance(scenario, Described):
        scenario = scenario.scenario
    if isinstance(scenario, Sequence) and not isinstance(scenario, str):
        queues = run_queues(scenario, *chosen, after=after, progress=progress)
        return tabulate_queues(queues)
    return tabulate(run_all(scenario, *chosen, after=after, progress=progress))
