"""Where flows fill a link: by what its queue signals, or, if it signals nothing, by their delay."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import numpy as np

from pi2_fluid.errors import DomainError, SolverError, UnsupportedError
from pi2_fluid.laws.aqm import Aqm, Signal
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.response import respond
from pi2_fluid.network.rest import Rest, rest_at
from pi2_fluid.network.roots import root_between

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, Number, Real

T = TypeVar("T")

# The smallest controller value searched; at p' = 1e-15 a Reno window is 1e15 segments.
_SMALLEST_CONTROLLER: Final = 1e-15
_STRONGER: Final = float(np.log(10.0))  # of its logarithm, where a law rests at no window so large
# The queue delays (s) between which flows are asked that no signal holds back.
_DELAYS: Final = (1e-9, 1e5)
# So little signalled that no law answers to it but one that rests without signals nowhere.
_HARDLY: Final = (1e-30, 1e-24)
_SAME: Final = 1e-12  # of logarithms of delays
_TOLD: Final = 1e-3  # s, the delay at which they are asked whether they do

#: What flows offer over what a link serves, as a logarithm, of the logarithm of what holds them
#: back and the packets per second.
_Excess: TypeAlias = "Callable[[Number, Number], FloatArray]"


def fill(
    flows: tuple[Flows, ...], aqm: Aqm, packets: Number, shape: tuple[int, ...], *, alone: bool
) -> Rest:
    """Return the queue at rest at which flows offer as many packets per second as a link serves.

    Parameters
    ----------
    flows : tuple of Flows
        The classes.
    aqm : Aqm
        The queue.
    packets : float or array
        Packets per second of the link.
    shape : tuple of int
        Of the arrays among all numbers; () of none.
    alone : bool
        Whether L4S traffic is alone in a dual queue.

    Raises
    ------
    DomainError
        If they offer less however little they wait and hear, or more however much.
    UnsupportedError
        If what they wait for is a delay, and the queue has two or none.
    """
    if not any(_hears(flow) for flow in flows):
        return _fill_by_delay(flows, aqm, packets, shape)
    if aqm.overflows:
        _require_rest_without_signals(flows, aqm)
        return _fill_by_delay(flows, aqm, packets, shape)

    def rest_of(u: Number) -> Rest:
        return rest_at(aqm, u, packets, alone=alone)

    def excess(log_u: Number, packets: Number, *_: object) -> FloatArray:
        u = np.exp(log_u)
        return _excess(flows, aqm, rest_of(u), packets * aqm.load_at(u))

    highest = np.log(np.asarray(aqm.highest, float))[()]
    if shape:
        each = partial(_solve_each, excess, shape, packets, highest)
        return rest_of(_from_weakest(each, float(np.min(highest))))
    at_full = excess(highest, packets)
    if at_full > 0.0:
        raise DomainError(
            f"the flows offer {float(np.exp(at_full)):.3g} times the capacity even at p = 1: raise"
            " the capacity or lower the counts."
        )

    def solve(lowest: float) -> Rest:
        log_u = _zero_between(excess, packets, lowest, float(highest))
        if log_u is not None:
            return rest_of(float(np.exp(log_u)))
        begins: Any = rest_of(_SMALLEST_CONTROLLER).queue_delay
        if aqm.bands == 1 and begins > _DELAYS[0]:  # they wait less than the queue signals at
            return _fill_by_delay(flows, aqm, packets, shape, float(begins))
        raise _too_little(excess(lowest, packets))

    return _from_weakest(solve, float(highest))


def _hears(flow: Flows) -> bool:
    """Return whether signals hold a class back."""
    return flow.sender.signal is not None or flow.sender.thinned


def _excess(flows: tuple[Flows, ...], aqm: Aqm, rest: Rest, load: Number) -> FloatArray:
    rates = respond(flows, aqm, rest)[-1]
    total = sum(flow.count * rate for flow, rate in zip(flows, rates, strict=True))
    with np.errstate(divide="ignore"):  # of thinned traffic nothing is left at p = 1
        result: FloatArray = np.log(total) - np.log(load)
        return result


def _zero_between(excess: _Excess, packets: Number, low: float, high: float) -> float | None:
    """Return where a scalar excess falls through 0, None if it does nowhere."""
    at = np.asarray(packets, float)
    with np.errstate(invalid="ignore"):  # where nothing is offered at either end
        return root_between(lambda x: float(excess(np.float64(x), at)), low, high)


def _too_little(excess: FloatArray) -> DomainError:
    return DomainError(
        f"the flows offer {float(np.exp(excess)):.3g} times the capacity even where next to nothing"
        " is signalled, so that no queue waits: lower the capacity or raise the counts."
    )


def _from_weakest(solve: Callable[[float], T], highest: float) -> T:
    """Return what `solve` finds from the log of the weakest controller value at which laws rest.

    One that outgrows any window under signals so weak is asked again under stronger ones; if it
    then offers too little, it jumps in between, and rests nowhere.
    """
    log_u = float(np.log(_SMALLEST_CONTROLLER))
    outgrown: SolverError | None = None
    while log_u < highest:
        try:
            return solve(log_u)
        except SolverError as error:
            log_u, outgrown = log_u + _STRONGER, error
        except DomainError as error:
            raise outgrown or error from None
    assert outgrown is not None
    raise outgrown


def _solve_each(
    excess: _Excess, shape: tuple[int, ...], packets: Number, highest: Real, lowest: float
) -> FloatArray:
    """Bisect on the whole array at once: fields of flows and queue are arrays of one shape."""
    low = np.full(shape, lowest)
    high = np.full(shape, highest)
    if np.any(excess(high, packets) > 0.0) or np.any(excess(low, packets) < 0.0):
        raise DomainError(
            "some element of the arrays has no operating point with p in (0, 1]: raise the"
            " capacity, lower the counts, or shorten the arrays."
        )
    return np.exp(_bisected(excess, packets, low, high))


def _bisected(excess: _Excess, packets: Number, low: FloatArray, high: FloatArray) -> FloatArray:
    for _ in range(70):  # 35 / 2**70 is below the rounding error of log u
        middle = 0.5 * (low + high)
        too_low = excess(middle, packets) > 0.0
        low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
    result: FloatArray = 0.5 * (low + high)
    return result


def _fill_by_delay(
    flows: tuple[Flows, ...],
    aqm: Aqm,
    packets: Number,
    shape: tuple[int, ...],
    most: float = _DELAYS[1],
) -> Rest:
    """Return the queue at which flows fill the link that hear of their delay alone."""
    if aqm.bands > 1:
        raise UnsupportedError(
            f"{type(aqm).__name__} has two queues, and flows that hear no signal rest by the delay"
            " of one: give a single queue, such as Pi2() or TailDrop(), or flows that obey signals."
        )

    def excess(log_delay: Number, packets: Number, *_: object) -> FloatArray:
        hardly = 0.0 * log_delay + _HARDLY[0]
        rest = Rest(0.0 * log_delay, Signal(hardly, hardly), np.exp(log_delay))
        return _excess(flows, aqm, rest, packets)

    low, high = _least_delay(excess, packets, shape, most), float(np.log(most))
    at_least, at_most = (excess(np.full(shape, end)[()], packets) for end in (low, high))
    if np.any(at_least <= 0.0):
        raise DomainError(
            f"the flows offer {float(np.exp(np.min(at_least))):.3g} times the capacity where no"
            " queue waits, and none does: lower the capacity or raise the counts."
        )
    if np.any(at_most > 0.0):
        raise DomainError(
            f"the flows offer {float(np.exp(np.max(at_most))):.3g} times the capacity however long"
            " they wait: raise the capacity or lower the counts."
        )
    if shape:
        log_delay: Any = _bisected(excess, packets, np.full(shape, low), np.full(shape, high))
    else:
        log_delay = _zero_between(excess, packets, low, high)
    delay = np.exp(log_delay)
    none = 0.0 * delay
    return Rest(_unheeded(aqm, delay, packets), Signal(none, none), delay)


def _least_delay(excess: _Excess, packets: Number, shape: tuple[int, ...], most: float) -> float:
    """Return the log of a delay that is too short, of laws that do not outgrow any window there.

    Raises
    ------
    SolverError
        If they do at all that are: what they offer jumps.
    """
    low, high = float(np.log(_DELAYS[0])), float(np.log(most))
    outgrown: SolverError | None = None
    middle = low
    while high - low > _SAME:
        try:
            offered = excess(np.full(shape, middle)[()], packets)
        except SolverError as error:
            low, outgrown = middle, error
        else:
            if outgrown is None or np.all(offered > 0.0):
                return middle
            high = middle
        middle = 0.5 * (low + high)
    assert outgrown is not None
    raise outgrown


def _unheeded(aqm: Aqm, delay: Number, packets: Number) -> Number:
    """Return where the controller of a queue rests that nobody heeds, while packets wait so long.

    At its lowest below the delay that it aims at, at its highest above.
    """
    highest = np.asarray(aqm.highest, float)
    low, high = 0.0 * delay, highest + 0.0 * delay
    if aqm.overflows:
        return low

    def waits(u: Number) -> Number:
        return aqm.at_rest(u, packets)[1]

    idle, busy = delay <= waits(low + _SMALLEST_CONTROLLER), delay >= waits(high)
    if not np.all(idle | busy):
        for _ in range(70):
            middle = 0.5 * (low + high)
            longer = waits(middle) < delay
            low, high = np.where(longer, middle, low), np.where(longer, high, middle)
    middle = 0.5 * (low + high)
    return np.where(idle, 0.0, np.where(busy, highest, middle))[()]


def _require_rest_without_signals(flows: tuple[Flows, ...], aqm: Aqm) -> None:
    """Refuse classes that grow until they are signalled, at a queue that signals nothing."""
    for flow in flows:
        rtt = flow.base_rtt + _TOLD
        if flow.sender.constant_rate is not None:
            continue
        rates: list[Any] = [
            flow.sender.sending_rate_under(flow.sender.at_rest(rtt, p), p, rtt) for p in _HARDLY
        ]
        if not np.allclose(rates[0], rates[1], rtol=1e-6, atol=0.0):
            aqm.encode(0.0)  # which refuses
