"""Which alpha, beta and T for a largest RTT: `tune`."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, overload

import numpy as np

from pi2_fluid.design.alternatives import compare_designs, typical_load
from pi2_fluid.design.asked import (
    OBJECTIVES,
    Spans,
    make_region,
    make_template,
    read_asked,
    read_queue,
    read_spans,
)
from pi2_fluid.design.bounds import STEPS
from pi2_fluid.design.by_acks import stable_up_to_by_acks, worst_by_acks
from pi2_fluid.design.design import Design, Installed, WorstCase
from pi2_fluid.design.guarantees.guarantee import Guarantee, guarantee
from pi2_fluid.design.guarantees.tolerances import interval_range, jitter_margin
from pi2_fluid.design.nearest import nearest_law
from pi2_fluid.design.region import Region, alone, loop_at, stable_up_to, worst_margins
from pi2_fluid.design.solving import Task, bound_of, solve
from pi2_fluid.design.stepping import steps_of
from pi2_fluid.engines.engine import Engine
from pi2_fluid.errors import (
    DomainError,
    QuantityError,
    UnsupportedError,
    renamed,
    show_value,
)
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.sender import Sender
from pi2_fluid.laws.senders.reno import Reno
from pi2_fluid.loop.crossovers import find_crossings
from pi2_fluid.loop.roots import rightmost_roots
from pi2_fluid.loop.transient import find_bandwidth
from pi2_fluid.loop.updates import UPDATES
from pi2_fluid.network.long_flows import LongFlows
from pi2_fluid.network.network import refuse_several
from pi2_fluid.units import validate_choice

if TYPE_CHECKING:
    from pi2_fluid.design.outcomes.recommendation import Recommendation
    from pi2_fluid.design.outcomes.running import Client
    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.network.scenario import Scenario
    from pi2_fluid.network.traffic import Source
    from pi2_fluid.tc.qdisc import Qdisc
    from pi2_fluid.values import Quantity

_SETTLED: Final = 0.02  # of a step: within 2 %, as control theory has it


@overload
def tune(
    max_rtt: Quantity | None = None,
    *,
    max_base_rtt: Quantity | None = None,
    min_rtt: Quantity | None = None,
    senders: Sequence[Sender] = (Reno(),),
    aqm: str | PiFamily | None = None,
    k: float | None = None,
    update_interval: Quantity | None = None,
    target: Quantity | None = None,
    gain_margin_db: float = 6.0,
    phase_margin_deg: float = 30.0,
    modulus_margin: float = 0.0,
    load: tuple[float, float] | None = None,
    rate: Quantity | None = None,
    flows: int | tuple[int, int | None] = (1, None),
    max_window: float | None = None,
    update: str = "sampled",
    objective: str = "recovery",
    hz: int | None = 1000,
    verify: Engine | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Design: ...
@overload
def tune(
    *,
    traffic: Source | Sequence[Source] | Mapping[str, Scenario],
    aqm: str | PiFamily | None = None,
    k: float | None = None,
    update_interval: Quantity | None = None,
    target: Quantity | None = None,
    value: str = "balanced",
    loss: float = 1.0,
    floor_db: float = 0.0,
    base: Aqm | Qdisc | None = None,
    seeds: int | Sequence[int] = 24,
    seconds: Quantity | None = None,
    client: Client | None = None,
    hz: int | None = 1000,
    progress: Callable[[float, float], None] | None = None,
) -> Recommendation: ...
@renamed(mode="update")
def tune(
    max_rtt: Quantity | None = None,
    *,
    max_base_rtt: Quantity | None = None,
    min_rtt: Quantity | None = None,
    senders: Sequence[Sender] = (Reno(),),
    aqm: str | PiFamily | None = None,
    k: float | None = None,
    update_interval: Quantity | None = None,
    target: Quantity | None = None,
    gain_margin_db: float = 6.0,
    phase_margin_deg: float = 30.0,
    modulus_margin: float = 0.0,
    load: tuple[float, float] | None = None,
    rate: Quantity | None = None,
    flows: int | tuple[int, int | None] = (1, None),
    max_window: float | None = None,
    update: str = "sampled",
    objective: str = "recovery",
    traffic: Source | Sequence[Source] | Mapping[str, Scenario] | None = None,
    value: str = "balanced",
    loss: float = 1.0,
    floor_db: float = 0.0,
    base: Aqm | Qdisc | None = None,
    seeds: int | Sequence[int] = 24,
    seconds: Quantity | None = None,
    client: Client | None = None,
    hz: int | None = 1000,
    verify: Engine | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Design | Recommendation:
    """Return the gains that respond best within margins, or those that are best for some traffic.

    With a largest round-trip time: the gains that respond best within margins at every round-trip
    time and load of a region, with a proof. With `traffic`: those that are better than what runs
    for the people who send it, with the evidence of packets. Who sends decides which are.

    Parameters
    ----------
    max_rtt, max_base_rtt : float or str
        The largest round-trip time, exactly one of them (s): with the target delay of the queue, as
        in the papers; or of the path, without it.
    min_rtt : float or str, optional
        The smallest, of the same kind (s). By default a twentieth of the largest, or the target if
        that is less: no loop through a queue at its target is shorter.
    senders : sequence of Sender
        Each must have the margins on its own. Reno, CReno and Scalable are proved to; Cubic, Dctcp,
        Prague and laws of one's own are checked on a grid.
    aqm : {"pi2", "pi", "pie", "fq_pie", "coupled", "dualpi2"}, a preset's name, or PiFamily
        The kind of queue, by default "pi2", with `traffic` that of its cells; or a queue itself,
        also one of `presets` by its name ("docsis_pie"), or of a law of one's own: its target,
        update interval and whatever else are kept, while alpha and beta are found. A law that is
        not of this package is checked on a grid, not proved.
    k : float, optional
        Coupling factor of "coupled" and "dualpi2". By default 2, or the queue's own.
    update_interval : float or str, optional
        T (s). By default a sixth of the largest RTT, rounded down to two digits: less would gain
        at most a tenth in integral gain. For a queue of Linux it is longer where tc could not ask
        for the gains otherwise, and of PIE one that the kernel's timer holds: the next from the
        one given on.
    target : float or str, optional
        Target queue delay (s). By default the smaller of 20 ms (15 ms for "pie", "fq_pie" and
        "dualpi2") and a sixth of the largest RTT, rounded down to two digits.
    gain_margin_db, phase_margin_deg, modulus_margin : float
        The margins to be left everywhere, by rates and by acknowledgements: dB, degrees, and the
        smallest |1 + L|, the inverse of the peak of the sensitivity (0: not asked for).
    load : (float, float), optional
        Range of each sender's p'; 0 is the limit of a very light load. By default (0, 1); for
        "pie" from p = 1e-6, by which its table ends, for Cubic too, whose gain grows as p falls.
    rate : float or str, optional
        Of the link (bit/s). The loads are then those of whole numbers of flows that share it, none
        faster than the link: n flows have windows of rate R/n.
    flows : int or (int, int), optional
        With a rate: how many flows share the link, or the fewest and the most. By default from 1 to
        as many as fit.
    max_window : float, optional
        The largest window of a flow (segments), which bounds the load from below: the optimum
        rises with it.
    update : {"sampled", "delayed", "continuous"}
        How the update interval is seen, as in `Loop`.
    objective : {"recovery", "bandwidth", "gain"}
        "recovery": the smallest integral of the delay error after a step of load, capacity or RTT,
        T dp'/alpha, that is, the largest alpha/T. "bandwidth": nine tenths of that alpha with the
        largest beta. "gain": the default gains of the queue times the largest factor.
    traffic : str, Path, Scenario, Traffic, or sequence or mapping of them
        Who sends, as `Traffic` takes it: a word such as "home", or scenarios. Of the arguments
        above `aqm`, `k`, `update_interval` and `target` go with it; the last two may be "free".
        What is left out is as the queue comes.
    value : {"delay", "balanced", "rate"}
        What a hundredth of the capacity is worth: 2, 5 or 20 % of delay.
    loss : float
        Hundredths of the capacity: who certainly loses more in any cell is ruled out.
    floor_db : float
        The least gain margin to be kept (dB), by acknowledgements, in the cell and at the moment
        with the largest windows. May be negative: beyond 0 dB packets break nothing at once.
    base : Aqm or Qdisc, optional
        What runs now, which candidates are compared with. By default the queues of the scenarios,
        if they are of the kind asked for, else that kind as it comes.
    seeds : int or sequence of int
        The most of each candidate, 4 at least, in the order in which they are used.
    seconds : float or str, optional
        After which no round of runs begins (s). By default all that the evidence needs.
    client : optional
        A client of Dask, or an executor of `concurrent.futures`, whose workers run the cells.
    hz : int, optional
        The kernel's ticks per second (CONFIG_HZ), which PIE's timer counts: 100, 250, 300 or 1000.
        The gains of PIE are whole sixteenths of 1 Hz then, as tc takes them. None: of no kernel,
        with gains and T as they come.
    verify : Engine, optional
        Also try steps of load and capacity at the corners of the region, as `verify` does: in the
        nonlinear fluid, ``Fluid()``, or packet by packet, ``Packets(seeds=5)`` (seconds).
    progress : callable, optional
        Called as ``progress(done, total)`` while verifying, in cases; with `traffic` in runs, of
        which the total is the most that there can be.

    Returns
    -------
    Design or Recommendation
        A design with alpha rounded down and beta rounded to five digits, or in whole steps of tc;
        with `traffic` a recommendation, which may be to keep what runs.

    Raises
    ------
    DomainError
        If the margins cannot be had: which condition binds, and what would help.
    QuantityError, ScenarioError, UnsupportedError
        If an argument cannot be read, or has no meaning beside another; if sender and queue have no
        loop; if a cell of the traffic cannot be run.
    SolverError
        If a law of one's own rests at no state that could be found.

    Notes
    -----
    Exact for one loop: L is linear in alpha and beta, so that the largest alpha is a maximum over
    one frequency; over several loops, a maximum over beta of their smallest ceilings. It begins
    with the loops of the largest RTT at the ends of the load, and adds those of the region that
    turn out worse. By rates the margins hold with R held constant in the window law, as in the
    papers, and without (``rtt_terms`` of `Loop`). By acknowledgements the design is
    checked on a grid, for the end of the queue at which it signals; where it has less there than
    was asked for, those loops bind as well. A sender without such a loop is judged by rates alone,
    and ``guarantee_text`` says so. Laws without a closed form are linearised numerically, from
    p = 1e-6 to the load at which windows have one segment, if no `load` is given.

    With `traffic`, candidates are gains around the queue's own, as its kernel counts them. A
    predictor keeps those whose delay varies little (`Loop.delay_sd`), that return to the target
    within 1.5 s, and that keep `floor_db`; some at every beta. These race packet by packet with
    common random numbers, four seeds a round; cell n has the seeds plus n 2^32. The cost of a
    candidate is the mean over cells of the log of the delay (99th percentile steady and after
    events, mean after them), less `value` times the rate. A candidate that certainly loses more
    than `loss` in any cell is out before costs are compared. The leader and those that may still be
    better go on, until no other can be better by more than 2 % with 95 %. Equal arguments give the
    same answer to the last byte, unless `seconds` cut it short. On Ctrl-C what is known so far is
    the ``recommendation`` of `TuningInterrupted`. The notes of `Race` in
    `design/outcomes/racing.py` say why the error rate holds.

    Source: PI2 paper (CoNEXT'16), equations (4) and (29)-(37); RFC 9332, Appendix A.1, for T.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> design = pf.tune("100ms")
    >>> print(f"{design.alpha:.4f} {design.beta:.3f} {design.update_interval:g}")
    0.0480 2.515 0.016
    >>> design.span
    'paths up to 84 ms + 16 ms target = 100 ms round trip'
    """
    if traffic is not None:
        options: dict[str, object] = {
            "max_rtt": max_rtt,
            "max_base_rtt": max_base_rtt,
            "min_rtt": min_rtt,
            "senders": senders,
            "gain_margin_db": gain_margin_db,
            "phase_margin_deg": phase_margin_deg,
            "modulus_margin": modulus_margin,
            "load": load,
            "rate": rate,
            "flows": flows,
            "max_window": max_window,
            "update": update,
            "objective": objective,
            "verify": verify,
        }
        _refuse_beside(options, "goes with a largest round-trip time, not with traffic")
        from pi2_fluid.design.outcomes.recommending import recommend  # packets are not needed else
        from pi2_fluid.design.outcomes.wishes import read_wishes

        wishes = read_wishes(
            traffic,
            aqm,
            k=k,
            hz=hz,
            value=value,
            loss=loss,
            floor_db=floor_db,
            target=target,
            update_interval=update_interval,
            seeds=seeds,
            seconds=seconds,
            base=base,
        )
        return recommend(wishes, tune, client, progress)
    wanted: dict[str, object] = {
        "value": value,
        "loss": loss,
        "floor_db": floor_db,
        "base": base,
        "seeds": seeds,
        "seconds": seconds,
        "client": client,
    }
    _refuse_beside(wanted, "goes with traffic, which is not given")
    refuse_several(
        max_rtt,
        "a queue is tuned by itself",
        "give tune, for each bottleneck of equilibrium(network), the largest round-trip time of the"
        " classes that cross it",
    )
    validate_choice(update, UPDATES, "update")
    validate_choice(objective, OBJECTIVES, "objective")
    if verify is not None:
        from pi2_fluid.comparison.verification.trying import require_verifier  # as in _verified

        require_verifier(verify, "verify")
    asked = read_asked(gain_margin_db, phase_margin_deg, modulus_margin)
    longest = max_base_rtt if max_rtt is None else max_rtt
    queue = read_queue("pi2" if aqm is None else aqm, k, longest)
    spans = read_spans(max_rtt, max_base_rtt, min_rtt, target, queue)
    template = make_template(queue, spans, update_interval, objective)
    long_flows = LongFlows(rate=rate, flows=flows, max_window=max_window)
    region = make_region(spans, senders, template, load, long_flows)
    steps = steps_of(template, queue.tc, hz)
    fixed = update_interval is not None or queue.own
    task = Task(region, template, asked, update, objective, steps, fixed)
    law, proof = solve(task)
    design = _describe(task, law, proof, spans, queue.tc, hz)
    design = replace(design, installed=_install(design, region, proof))
    return design if verify is None else _verified(design, verify, progress)


def _refuse_beside(given: Mapping[str, object], why: str) -> None:
    """Refuse arguments that are given and have no meaning here."""
    known = inspect.signature(tune).parameters
    for name, value in given.items():
        usual = known[name].default
        if value is not usual and not (isinstance(value, type(usual)) and value == usual):
            raise QuantityError(f"{name} = {show_value(value)} {why}: leave it out.")


def _describe(
    task: Task, queue: PiFamily, proof: Guarantee, spans: Spans, tc: str | None, hz: int | None
) -> Design:
    region, update, objective = task.region, task.update, task.objective
    gains = float(queue.alpha), float(queue.beta), float(queue.update_interval)
    longest = float(region.rtts(0)[-1])
    loop = alone(loop_at(queue, region.senders[0], longest, typical_load(region)), *gains)
    slowest = -float(rightmost_roots(loop, "delayed", 1)[0].real)
    worst, by_acks = proof.worst, worst_by_acks(region, queue, update)
    limits = stable_up_to(region, queue, update), stable_up_to_by_acks(region, queue, update)
    return Design(
        alpha=gains[0],
        beta=gains[1],
        update_interval=gains[2],
        target=float(queue.target),
        k=None if queue.coupling is None else float(queue.coupling),
        aqm=queue,
        max_rtt=region.max_rtt,
        max_base_rtt=spans.max_rtt - spans.target,
        min_rtt=region.min_rtt,
        senders=region.senders,
        load=region.hull,
        long_flows=region.long_flows,
        update=update,
        objective=objective,
        tc=tc,
        hz=hz,
        margins=worst.margins,
        worst=WorstCase(worst.rtt, worst.p_prime, worst.sender),
        ack_margins=None if by_acks.worst is None else by_acks.worst.margins,
        ack_worst=None if by_acks.worst is None else WorstCase(*by_acks.worst.place),
        rtt_limit=min(limits),
        bandwidth=find_bandwidth(loop, update, find_crossings(loop, update)),
        settling_time=-math.log(_SETTLED) / slowest if slowest > 0.0 else math.inf,
        interval_range=interval_range(region, queue, update),
        jitter_margin=jitter_margin(region, queue, update),
        guarantee=proof.kind,
        guarantee_text=f"{proof.text} {by_acks.text}",
        bound=bound_of(task, queue, worst),
        _alternatives=partial(compare_designs, region, queue, update, worst),
        _nearest=partial(_describe_nearest, task, spans, tc, hz),
    )


def _describe_nearest(task: Task, spans: Spans, tc: str | None, hz: int | None) -> Design | None:
    """Return the nearest design that tc has a line for, with what it leaves in the same region."""
    law = nearest_law(task)
    if law is None:
        return None
    worst = worst_margins(task.region, law, task.update)
    proof = guarantee(task.region, law, worst, task.update)
    design = replace(_describe(task, law, proof, spans, tc, hz), bound=STEPS)
    return replace(design, installed=_install(design, task.region, proof))


def _verified(
    design: Design,
    engine: Engine,
    progress: Callable[[float, float], None] | None,
) -> Design:
    from pi2_fluid.design.verifying import verify  # engines are not needed otherwise

    try:
        table = verify(design, engine, progress=progress)
    except KeyboardInterrupt:
        raise VerificationInterrupted(design) from None
    return replace(design, verification=table)


class VerificationInterrupted(KeyboardInterrupt):
    """Ctrl-C while a design is verified: the design itself is there.

    Attributes
    ----------
    design : Design
        Without a verification.
    """

    def __init__(self, design: Design) -> None:
        super().__init__()
        self.design = design


def _install(design: Design, region: Region, proof: Guarantee) -> Installed | None:
    """Judge what the kernel makes of a design in the same way as the design."""
    if design.tc is None:
        return None  # no kernel has it
    try:
        law = design.to_qdisc().aqm
    except (DomainError, UnsupportedError):
        return None
    gains = float(law.alpha), float(law.beta), float(law.update_interval)
    asked = design.alpha, design.beta, design.update_interval
    acks = design.ack_margins
    if not np.allclose(gains, asked, rtol=1e-8, atol=0.0):  # of whole steps nothing is lost
        queue = replace(design.aqm, alpha=gains[0], beta=gains[1], update_interval=gains[2])
        proof = guarantee(region, queue, worst_margins(region, queue, design.update), design.update)
        found = worst_by_acks(region, queue, design.update).worst
        acks = None if found is None else found.margins
    return Installed(
        design.tc,
        *gains,
        proof.margins.gain_db,
        proof.margins.phase_deg,
        proof.kind,
        None if acks is None else float(acks.gain_margin_db),
        None if acks is None else float(acks.phase_margin_deg),
    )
