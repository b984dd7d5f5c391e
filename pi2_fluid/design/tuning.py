"""Which alpha, beta and T for a largest RTT: `tune`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from pi2_fluid.design.alternatives import compare_designs, typical_load
from pi2_fluid.design.design import Design, Installed, WorstCase
from pi2_fluid.design.gains import (
    Asked,
    largest_alpha,
    largest_beta,
    largest_factor,
    make_ceiling,
)
from pi2_fluid.design.guarantees.guarantee import Guarantee, guarantee
from pi2_fluid.design.guarantees.tolerances import interval_range, jitter_margin
from pi2_fluid.design.plants import Plants, join, make_plants
from pi2_fluid.design.region import Region, Worst, worst_margins
from pi2_fluid.design.request import (
    ENGINES,
    OBJECTIVES,
    Spans,
    make_region,
    make_template,
    read_asked,
    read_spans,
)
from pi2_fluid.errors import DomainError, SolverError
from pi2_fluid.loop.crossovers import find_crossings
from pi2_fluid.loop.modes import MODES
from pi2_fluid.loop.roots import rightmost_roots
from pi2_fluid.loop.transient import find_bandwidth
from pi2_fluid.model.aqms.pi import Pi
from pi2_fluid.model.aqms.pi_family import PiFamily
from pi2_fluid.model.aqms.pie import Pie
from pi2_fluid.model.sender import Sender
from pi2_fluid.model.senders.reno import Reno
from pi2_fluid.units import validate_choice

__all__ = ["tune"]

_DIGITS: Final = 5  # of alpha and beta: alpha is rounded down, in favour of the margins
_KEPT: Final = 0.9  # of the largest integral gain, where the bandwidth is maximised
_ROUNDS: Final = 8
_SETTLED: Final = 0.02


def tune(
    max_rtt: Any = None,
    *,
    max_base_rtt: Any = None,
    min_rtt: Any = None,
    senders: Sequence[Sender] = (Reno(),),
    aqm: str = "pi2",
    update_interval: Any = None,
    target: Any = None,
    gain_margin_db: float = 6.0,
    phase_margin_deg: float = 30.0,
    modulus_margin: float = 0.0,
    load: tuple[float, float] | None = None,
    max_window: float | None = None,
    mode: str = "sampled",
    objective: str = "recovery",
    verify: str | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Design:
    """Return the gains that respond best within margins, at every RTT and load of a region.

    Parameters
    ----------
    max_rtt, max_base_rtt : float or str
        The largest round-trip time, exactly one of them (s): in the loop, the target delay of the
        queue included, as in the papers; or of the path, without it.
    min_rtt : float or str, optional
        The smallest, of the same kind (s). By default a twentieth of the largest, or the target if
        that is less: no loop through a queue at its target is shorter.
    senders : sequence of Reno, CReno, Cubic or Scalable
        Each must have the margins on its own. Cubic is checked on a grid, not proved.
    aqm : {"pi2", "pi", "pie", "coupled", "dualpi2"}
    update_interval : float or str, optional
        T (s). By default a sixth of the largest RTT, rounded down to two digits: less would gain
        at most a tenth in integral gain.
    target : float or str, optional
        Target queue delay (s). By default the smaller of 20 ms (15 ms for "pie" and "dualpi2") and
        a sixth of the largest RTT, rounded down to two digits.
    gain_margin_db, phase_margin_deg, modulus_margin : float
        The margins to be left everywhere: dB, degrees, and the smallest |1 + L|, the inverse of
        the peak of the sensitivity (0: not asked for).
    load : (float, float), optional
        Range of each sender's p'; 0 is the limit of a vanishing load. By default (0, 1); for
        "pie" from p = 1e-6, where its table ends, for Cubic too, whose gain grows as p falls.
    max_window : float, optional
        The largest window of a flow (segments), which bounds the load from below: the optimum
        rises with it.
    mode : {"sampled", "delayed", "continuous"}
        How the update interval is seen, as in `Loop`.
    objective : {"recovery", "bandwidth", "gain"}
        "recovery": the smallest integral of the delay error after a step of load, capacity or RTT,
        T dp'/alpha, that is, the largest alpha/T. "bandwidth": nine tenths of that alpha with the
        largest beta. "gain": the default gains of the queue times the largest factor.
    verify : {"fluid", "packets"}, optional
        Also try steps of load and capacity at the corners of the region, in the nonlinear fluid or
        packet by packet (seconds).
    progress : callable, optional
        Called as ``progress(done, total)`` while verifying, in cases.

    Returns
    -------
    Design
        With alpha rounded down and beta rounded to five digits.

    Raises
    ------
    DomainError
        If the margins cannot be had: which condition binds, and what would help.
    QuantityError, UnsupportedError
        If an argument cannot be read; if sender and queue have no closed form to design with.

    Notes
    -----
    Exact for one loop: L is linear in alpha and beta, so that the largest alpha is a maximum over
    one frequency; over several loops, a maximum over beta of their smallest ceilings. It begins
    with the loops of the largest RTT at the ends of the load, and adds those of the region that
    turn out worse. The margins hold with R held constant in the window law, as in the papers, and
    without (``rtt_terms`` of `Loop`).

    Source: PI2 paper (CoNEXT'16), equations (4) and (29)-(37); RFC 9332, Appendix A.1, for T.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> design = pf.tune("100ms")
    >>> print(f"{design.alpha:.4f} {design.beta:.3f} {design.update_interval:g}")
    0.0480 2.515 0.016
    >>> design.span
    'paths up to 84 ms + 16 ms target = 100 ms in the loop'
    """
    validate_choice(mode, MODES, "mode")
    validate_choice(objective, OBJECTIVES, "objective")
    if verify is not None:
        validate_choice(verify, ENGINES, "verify")
    asked = read_asked(gain_margin_db, phase_margin_deg, modulus_margin)
    spans = read_spans(max_rtt, max_base_rtt, min_rtt, target, aqm)
    template = make_template(aqm, spans, update_interval, objective)
    region = make_region(spans, senders, template, load, max_window)
    plants = region.corners(template)
    for _ in range(_ROUNDS):
        queue, worst, plants = _solve(region, template, asked, mode, objective, plants)
        proof = guarantee(region, queue, worst, mode)
        if _shortfall(proof.worst, asked) <= 0.0:
            design = _describe(region, queue, proof, mode, objective, spans)
            design = replace(design, installed=_install(design, region))
            return design if verify is None else _verified(design, region, verify, progress)
        plants = join(plants, proof.worst.plants)  # the proof has found a loop with less
    raise _unsettled()


def _solve(
    region: Region,
    template: PiFamily,
    asked: Asked,
    mode: str,
    objective: str,
    plants: Plants,
) -> tuple[PiFamily, Worst, Plants]:
    """The optimum over the loops that bind, found by adding those that turn out worse."""
    for _ in range(_ROUNDS):
        alpha, beta = _best(plants, template, asked, mode, objective, region)
        for _ in range(3):
            queue = replace(template, alpha=alpha, beta=beta)
            worst = worst_margins(region, queue, mode)
            short = _shortfall(worst, asked)
            if short <= 0.0:
                return queue, worst, plants
            if short > 1e-3:
                break
            alpha = _round_down(alpha * (1.0 - 1e-4))  # the rounding of beta
        plants = join(plants, worst.plants)
    raise _unsettled()


def _unsettled() -> SolverError:
    return SolverError(
        f"the gains did not settle within the margins in {_ROUNDS} rounds: ask for a smaller region"
        " or other margins."
    )


def _best(
    plants: Plants, template: PiFamily, asked: Asked, mode: str, objective: str, region: Region
) -> tuple[float, float]:
    interval = float(template.update_interval)
    ceiling, highest, binding = make_ceiling(plants, asked, interval, mode)
    if ceiling is None:
        raise _infeasible(plants.take(binding), asked, interval, mode, region)
    alpha, beta = largest_alpha(ceiling, highest)
    if alpha <= 0.0:
        raise _infeasible(plants, asked, interval, mode, region)
    if objective == "bandwidth":
        alpha *= _KEPT
        beta = largest_beta(ceiling, highest, alpha, beta)
    if objective == "gain":
        alpha, beta = float(template.alpha), float(template.beta)
        factor = largest_factor(ceiling, highest, alpha, beta)
        if factor <= 0.0:
            raise DomainError(
                f"no multiple of alpha = {alpha:g}, beta = {beta:g} with update_interval ="
                f" {interval:g} leaves {_words(asked)} up to rtt = {region.max_rtt:g}: give a"
                ' longer update_interval, smaller margins, or objective="recovery".'
            )
        alpha, beta = factor * alpha, factor * beta
    beta = _round_down(beta) if objective != "recovery" else float(f"{beta:.{_DIGITS}g}")
    # On the flank of the ceiling the rounded beta allows another alpha; it is rounded down.
    return _round_down(min(alpha, float(ceiling(np.array([beta]))[0]))), beta


def _shortfall(worst: Worst, asked: Asked) -> float:
    found = worst.margins
    return max(
        asked.gain_db - float(found.gain_margin_db),
        asked.phase_deg - float(found.phase_margin_deg),
        asked.modulus - float(found.modulus_margin),
    )


def _round_down(value: float) -> float:
    unit = 10.0 ** (math.floor(math.log10(value)) + 1 - _DIGITS)
    return float(f"{math.floor(value / unit * (1.0 + 1e-12)) * unit:.{_DIGITS}g}")


def _infeasible(
    plants: Plants, asked: Asked, interval: float, mode: str, region: Region
) -> DomainError:
    """Find the condition that cannot be had even alone, and say what would help."""
    alone = {
        f"phase_margin_deg = {asked.phase_deg:g}": Asked(0.0, asked.phase_deg),
        f"gain_margin_db = {asked.gain_db:g}": Asked(asked.gain_db, 0.0),
        f"modulus_margin = {asked.modulus:g}": Asked(0.0, 0.0, asked.modulus),
    }
    binding = _words(asked)
    for words, one in alone.items():
        ceiling, highest, _ = make_ceiling(plants, one, interval, mode)
        if ceiling is None or largest_alpha(ceiling, highest)[0] <= 0.0:
            binding = words
            break
    who = type(region.senders[int(plants.sender[0])]).__name__
    load = float(plants.p_prime[0])
    where = "a vanishing load" if load == 0.0 else f"p' = {load:.3g}"
    return DomainError(
        f"{binding} cannot be had with any gains for {who} at rtt = {float(plants.rtt[0]):g} and"
        f" {where}: ask for less, or keep the load away from there by max_window or load."
    )


def _words(asked: Asked) -> str:
    words = f"{asked.gain_db:g} dB and {asked.phase_deg:g} deg"
    return words + (f" and |1 + L| of {asked.modulus:g}" if asked.modulus > 0.0 else "")


def _describe(
    region: Region, queue: PiFamily, proof: Guarantee, mode: str, objective: str, spans: Spans
) -> Design:
    gains = float(queue.alpha), float(queue.beta), float(queue.update_interval)
    typical = make_plants(region.senders[:1], queue, region.max_rtt, [typical_load(region)])
    loop = typical.linear(*gains).element((0, 0))
    slowest = -float(rightmost_roots(loop, "delayed", 1)[0].real)
    worst = proof.worst
    table = compare_designs(region, queue, mode, worst)
    return Design(
        alpha=gains[0],
        beta=gains[1],
        update_interval=gains[2],
        target=float(queue.target),
        k=float(queue.k) if hasattr(queue, "k") else None,
        aqm=queue,
        max_rtt=region.max_rtt,
        max_base_rtt=spans.max_rtt - spans.target,
        min_rtt=region.min_rtt,
        senders=region.senders,
        load=region.load,
        mode=mode,
        objective=objective,
        margins=worst.margins,
        worst=WorstCase(worst.rtt, worst.p_prime, worst.sender),
        rtt_limit=float(table["rtt_limit"].sel(design="tuned")),
        bandwidth=find_bandwidth(loop, mode, find_crossings(loop, mode)),
        settling_time=-math.log(_SETTLED) / slowest if slowest > 0.0 else math.inf,
        interval_range=interval_range(region, queue, mode),
        jitter_margin=jitter_margin(region, queue, mode),
        guarantee=proof.kind,
        guarantee_text=proof.text,
        alternatives=table,
    )


def _verified(
    design: Design,
    region: Region,
    engine: str,
    progress: Callable[[float, float], None] | None,
) -> Design:
    from pi2_fluid.design.verification.verifying import (
        verify,  # the engines are not needed otherwise
    )

    return replace(design, verification=verify(region, design.aqm, engine, progress=progress))


def _install(design: Design, region: Region) -> Installed | None:
    """Judge what the kernel makes of a design in the same way as the design."""
    if type(design.aqm) is Pi:
        return None  # no kernel has it
    kind = "pie" if isinstance(design.aqm, Pie) else "dualpi2"
    try:
        law = design.to_qdisc(kind).aqm
    except DomainError:
        return None
    gains = float(law.alpha), float(law.beta), float(law.update_interval)
    queue = replace(design.aqm, alpha=gains[0], beta=gains[1], update_interval=gains[2])
    proof = guarantee(region, queue, worst_margins(region, queue, design.mode), design.mode)
    return Installed(kind, *gains, proof.margins.gain_db, proof.margins.phase_deg, proof.kind)
