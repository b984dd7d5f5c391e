"""What `tune` is asked for: its arguments read, completed and checked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from pi2_fluid.design.alternatives import within_reach
from pi2_fluid.design.gains import Asked
from pi2_fluid.design.plants import plant_gain, plant_of, require_loop
from pi2_fluid.design.points import grid
from pi2_fluid.design.region import ANY, Region
from pi2_fluid.errors import (
    DomainError,
    QuantityError,
    SolverError,
    UnsupportedError,
    show_value,
)
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.clocked import CLOCKED, refusal
from pi2_fluid.laws.gains import has_gains
from pi2_fluid.laws.opaque import require_equations
from pi2_fluid.laws.registry import (
    AQMS,
    DESIGNED,
    PRESETS,
    aqm_class,
    keys_of_preset,
    kind_of,
    laws_of_tc,
    make_aqm,
)
from pi2_fluid.laws.sender import Sender, load_of
from pi2_fluid.network.long_flows import LongFlows
from pi2_fluid.records.record import declares, require_scalars
from pi2_fluid.units import LONG_PATH, LONG_WAIT, rate_in_words, validate_choice, validate_number

OBJECTIVES: Final = ("recovery", "bandwidth", "gain")
_PART: Final = 6.0  # of the largest RTT that the defaults of T and target are
#: The longest T, in parts of the smallest RTT: each costs an alias.
LONGEST_INTERVAL: Final = 100.0
_LOWEST: Final = 1e-6  # p', from which the load is searched up to which windows have a segment
_HALVINGS: Final = 30  # of the logarithm of a load: to 1e-8 of it
_BELOW: Final = 1.0 - 1e-6  # of a ceiling of p', where its slope is still that below
_SMALLEST: Final = 20.0  # part of the largest RTT at which the grid begins


@dataclass(frozen=True)
class Spans:
    """Largest and smallest RTT with the queue, and the target (s)."""

    max_rtt: float
    min_rtt: float
    target: float


def read_asked(gain_db: object, phase_deg: object, modulus: object) -> Asked:
    """Return the margins asked for."""
    gain = validate_number(gain_db, "number", "gain_margin_db", closed=True, high=60.0)
    phase = validate_number(phase_deg, "number", "phase_margin_deg", closed=True)
    if phase >= 90.0:
        raise DomainError(
            f"phase_margin_deg = {phase:g} cannot be had: on short paths, and where windows are"
            " large, the phase margin tends to 90 degrees or less: give less than 90."
        )
    distance = validate_number(modulus, "number", "modulus_margin", closed=True, high=0.99)
    return Asked(gain, phase, distance)


@dataclass(frozen=True)
class Queue:
    """The queue to design: its law, whether it was given as one, what tc calls it if it can."""

    law: PiFamily
    own: bool
    tc: str | None


def _is_designed(kind: str) -> bool:
    return kind in AQMS and AQMS[kind].design


def read_queue(aqm: Any, k: object, max_rtt: object = None) -> Queue:
    """Return the queue of that kind, or the one given, as such or as a preset.

    `max_rtt` is the largest round-trip time, for presets that depend on one.
    """
    if isinstance(aqm, Aqm):
        require_equations(aqm)
    is_law = not isinstance(aqm, str) or aqm in PRESETS
    law: Any = aqm
    if isinstance(aqm, str):
        if aqm in CLOCKED:
            raise UnsupportedError(f"aqm = {show_value(aqm)} {refusal(aqm)}")
        validate_choice(aqm, (*DESIGNED, *PRESETS), "aqm")
        if aqm in PRESETS:
            given = {key: max_rtt for key in keys_of_preset(aqm) if max_rtt is not None}
            law = make_aqm(aqm, given)
        else:
            law = (aqm_class(aqm) if _is_designed(aqm) else laws_of_tc(aqm)[0])()
    elif not has_gains(aqm):
        raise QuantityError(
            f"aqm = {show_value(aqm)} is no queue with alpha and beta, all that tune finds: give"
            f" one of {', '.join((*DESIGNED, *PRESETS))}, or a law of yours derived from one"
            " of their classes, and try numbers of other queues with pf.sweep."
        )
    require_scalars(law)
    if k is not None:
        factor = validate_number(k, "number", "k")
        if law.coupling is None:
            name = type(law).__name__ if is_law else aqm
            raise DomainError(
                f"k = {factor:g} has no meaning for {name}, which couples nothing: leave it out, or"
                ' use aqm="coupled" or aqm="dualpi2".'
            )
        law = replace(law, k=factor)
    kind = kind_of(law)
    names = AQMS[kind].tc if kind else ()
    asked = isinstance(aqm, str) and aqm in names
    tc = str(aqm) if asked else next(iter(names), None)
    return Queue(law, is_law, tc)


def read_spans(
    max_rtt: object, max_base_rtt: object, min_rtt: object, target: object, queue: Queue
) -> Spans:
    """Return the round-trip times, the target included."""
    if max_rtt is None and max_base_rtt is None:
        raise DomainError(
            "the largest round-trip time is missing: give max_rtt, with the queue's delay, or"
            ' max_base_rtt, without it, e.g. max_rtt="100ms".'
        )
    if max_rtt is not None and max_base_rtt is not None:
        raise DomainError(
            "max_rtt and max_base_rtt are both given: give one, the largest round-trip time with"
            " the queue's delay or without it."
        )
    in_loop = max_rtt is not None
    given, name = (max_rtt, "max_rtt") if in_loop else (max_base_rtt, "max_base_rtt")
    longest = validate_number(given, "time", name, usual=LONG_PATH)
    if target is not None:
        aim = validate_number(target, "time", "target", usual=LONG_WAIT)
    elif queue.own:
        aim = float(queue.law.target)
    else:
        aim = min(
            float(queue.law.target), _two_digits(longest / (_PART if in_loop else _PART - 1.0))
        )
    if in_loop and aim >= longest:
        raise DomainError(
            f"target = {aim:g} s is not below max_rtt = {longest:g} s, which includes it: give a"
            " smaller target, or max_base_rtt."
        )
    extra = 0.0 if in_loop else aim
    whole = longest + extra
    if min_rtt is None:
        return Spans(whole, min(whole / _SMALLEST, aim), aim)
    shortest = validate_number(min_rtt, "time", "min_rtt", usual=LONG_PATH)
    if shortest > longest:
        raise DomainError(
            f"min_rtt = {show_value(min_rtt)} exceeds the largest, {longest:g} s: give a smaller"
            " min_rtt."
        )
    return Spans(whole, shortest + extra, aim)


def make_template(queue: Queue, spans: Spans, update_interval: object, objective: str) -> PiFamily:
    """Return the queue with its target, its update interval, and the gains to begin with."""
    if update_interval is not None:
        interval = validate_number(update_interval, "time", "update_interval", usual=LONG_WAIT)
    elif queue.own or objective == "gain":
        interval = float(queue.law.update_interval)
    else:
        interval = _two_digits(min(spans.max_rtt / _PART, LONGEST_INTERVAL * spans.min_rtt))
    if interval > spans.max_rtt * (1.0 + 1e-9):
        raise DomainError(
            f"update_interval = {interval:g} s exceeds the largest round-trip time with the queue's"
            f" delay, {spans.max_rtt:g} s: give a shorter update_interval, by default a sixth."
        )
    if interval > LONGEST_INTERVAL * spans.min_rtt:
        raise DomainError(
            f"update_interval = {interval:g} s is more than {LONGEST_INTERVAL:g} times the smallest"
            f" round-trip time with the queue's delay, {spans.min_rtt:g} s: give a shorter"
            f" update_interval, or a min_rtt of {interval / LONGEST_INTERVAL:.3g} s and more."
        )
    return replace(queue.law, target=spans.target, update_interval=interval)


def make_region(
    spans: Spans, senders: object, aqm: PiFamily, load: object, long_flows: LongFlows
) -> Region:
    """Return the region: of each sender the loads asked for that the long flows can have."""
    chosen: tuple[Any, ...] = (senders,)
    if not isinstance(senders, Sender):
        chosen = tuple(senders) if isinstance(senders, Iterable) else ()
    if not chosen or not all(isinstance(one, Sender) for one in chosen):
        raise QuantityError(
            f"senders = {show_value(senders)} are no senders: give a sequence, e.g. (Reno(),)."
        )
    require_scalars(*chosen, aqm)
    if long_flows.rate is None and long_flows.flows != ANY.flows:
        raise DomainError(
            f"flows = {show_value(long_flows.flows)} bounds no load without the rate of the link"
            " that they share: give rate, e.g. 10Mbit/s."
        )
    low, high = (0.0, 1.0) if load is None else _read_load(load)
    for sender in chosen:
        require_loop(sender, aqm)
    ends = [high if load is not None else _last_load(sender, aqm, spans, high) for sender in chosen]
    ranges = tuple((low, end) for end in ends)
    region = Region(chosen, spans.min_rtt, spans.max_rtt, ranges, long_flows)
    for number in range(len(chosen)):
        _require_loads(region, aqm, number)
    if load is None and not long_flows.bounds:
        region = within_reach(region, aqm)
    for sender, (begin, _) in zip(chosen, region.hull, strict=True):
        if plant_of(sender) is None:
            continue  # its loads begin above 0
        if not np.isfinite(plant_gain(sender, aqm, np.array([begin]), spans.max_rtt)[0]).all():
            other = "" if declares(aqm, "encoder") == "square" else ', or use aqm="pi2"'
            raise DomainError(
                f"load from 0 leaves no gains: under {type(aqm).__name__} the loop gain of"
                f" {type(sender).__name__} grows without bound as p' -> 0: give max_window or"
                f" load=(0.01, 1.0){other}."
            )
    return region


def _last_load(sender: Sender, aqm: PiFamily, spans: Spans, high: float) -> float:
    """Return the largest p', up to `high`, that there is.

    A queue of one's own may not signal every packet, one that spreads its signals does so up to
    some p alone, and of a sender without a closed form, which may grow by what is not signalled,
    windows are to have a segment at least.
    """
    if declares(aqm, "encoder") is None:
        most = float(getattr(aqm.encode(aqm.highest), str(sender.signal)))
        most = math.sqrt(most) if sender.signal == "classic" else most
        high = min(high, most * _BELOW) if most < 1.0 else high
    if spacing := aqm.signal_spacing:
        # From there on no signal waits for others before it, and the gain leaps.
        most = float(aqm.encode(spacing).classic)
        high = min(high, _BELOW * (math.sqrt(most) if sender.signal == "classic" else most))
    if plant_of(sender) is not None:
        return high

    def segments(p_prime: float) -> float:
        p = p_prime**2 if sender.signal == "classic" else p_prime
        try:
            rests: Any = [sender.at_rest(rtt, p) for rtt in (spans.min_rtt, spans.max_rtt)]
        except SolverError:
            return 0.0
        return min(float(x[0] if isinstance(x, tuple) else x) for x in rests)

    if segments(high) >= 1.0:
        return high
    low = _LOWEST
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if segments(middle) >= 1.0 else (low, middle)
    return low


def _require_loads(region: Region, aqm: PiFamily, number: int) -> None:
    """Refuse long flows that no round-trip time of a region has a load of.

    Raises
    ------
    DomainError
        With what would have to change.
    """
    if grid(region, aqm, number, region.rtts(number), 2).rtt.size:
        return
    sender, long_flows = region.senders[number], region.long_flows
    name, (low, high) = type(sender).__name__, region.load[number]
    if long_flows.rate is None:
        window = float(long_flows.max_window)  # type: ignore[arg-type]
        needed = min(load_of(sender, window, rtt) for rtt in (region.min_rtt, region.max_rtt))
        raise DomainError(
            f"max_window = {window:g} segments needs p' = {needed:.3g} of {name}, above the largest"
            f" load {high:g}: give a larger window."
        )
    few = long_flows.fewest
    if long_flows.load(sender, few, region.max_rtt) > high:
        least = long_flows.window(long_flows.count(sender, high, region.max_rtt), region.max_rtt)
        raise DomainError(
            f"{few} {name} flow{'s' * (few > 1)} on {rate_in_words(float(long_flows.rate))}"
            f" cannot be held back: at round-trip times up to {1e3 * region.max_rtt:.4g} ms each"
            f" sends at least {float(least):.3g} segments, whatever is signalled: give fewer flows,"
            " a higher rate, or a longer round-trip time."
        )
    raise DomainError(
        f"{long_flows.text} have no load of {name} with p' from {low:g} to {high:g} at round-trip"
        f" times of {1e3 * region.min_rtt:.4g} to {1e3 * region.max_rtt:.4g} ms: give more flows,"
        " a lower rate, or larger windows."
    )


def _read_load(load: Any) -> tuple[float, float]:
    pair = isinstance(load, (Sequence, np.ndarray)) and not isinstance(load, str)
    if not pair or np.shape(load) != (2,):
        raise QuantityError(
            f"load = {show_value(load)} is no pair: give the smallest and the largest p',"
            " e.g. (0.0, 1.0)."
        )
    low = validate_number(load[0], "number", "load from", closed=True, high=1.0)
    high = validate_number(load[1], "number", "load to", high=1.0)
    if low > high:
        raise DomainError(f"load = {show_value(load)} ends before it begins: swap the two.")
    return low, high


def _two_digits(value: float) -> float:
    """Round down to two digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.floor(value / unit * (1.0 + 1e-9)) * unit:.2g}")
