"""The controllers of the PI family fed by hand: with delays, with random numbers, with departures.

In the kernels' integers every value comes out as the kernel's own code computes it, bit by bit.
Names of what comes out are the columns of the traces of Linux under tests/data.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import numpy as np
import xarray as xr

from pi2_fluid import _core
from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError, show_value
from pi2_fluid.model.aqm import Aqm
from pi2_fluid.model.aqms.coupled import CoupledPi2
from pi2_fluid.model.aqms.dualpi2 import DualPi2
from pi2_fluid.model.aqms.pi2 import Pi2
from pi2_fluid.model.aqms.pi_family import PiFamily
from pi2_fluid.model.aqms.pie import Pie
from pi2_fluid.model.scenario import Link
from pi2_fluid.packet.disciplines import discipline_of
from pi2_fluid.packet.pi_parameters import controller_parameters
from pi2_fluid.packet.pie_parameters import pie_parameters
from pi2_fluid.result import Column, make_dataset
from pi2_fluid.units import validate_quantity

__all__ = ["replay", "replay_drop", "replay_rate", "variants"]

_LONGEST: Final = 60.0  # s
_MOST_BYTES: Final = 2.0**40
_MTU: Final = 1514  # bytes: Ethernet's 1500 and its header
_LINK: Final = Link("10Mbit/s", packet_size=_MTU)
_BACKLOG: Final = 20_000  # bytes, enough not to matter
_NOT_GIVEN: Final = np.nan
_WORD: Final = 32  # bits of the random numbers of kernels whose p has 32


@cache
def _variants() -> dict[str, Aqm]:
    older: dict[str, Any] = {"target": "20ms", "update_interval": "32ms", "rate_estimator": True}
    hpe: dict[str, Any] = {"variant": "hpe", "arithmetic": "fixed"}
    dualpi2 = DualPi2(alpha=41 / 256, beta=819 / 256, arithmetic="fixed")
    linux414 = Pie(variant="linux4.14", arithmetic="fixed", **older)
    return {
        "linux6.18": Pie(arithmetic="fixed"),
        "linux6.18-t20": Pie(target="20ms", arithmetic="fixed"),
        "linux4.14": linux414,
        "linux4.14(2013-table)": linux414,
        "rfc8033-float": Pie(variant="rfc8033"),
        "pi2-2016-default": Pi2.from_tc2016(arithmetic="fixed"),
        "pi2-2016-a5b50t15": Pi2.from_tc2016(5, 50, target="15ms", arithmetic="fixed"),
        "hpe-default-15ms": Pi2(alpha=0.15, beta=3.2, target="15ms", update_interval="15ms", **hpe),
        "hpe-20ms-tu4ms": Pi2(alpha=0.0225, beta=2.4, target="20ms", update_interval="4ms", **hpe),
        "dp2-6.18-default": dualpi2,
        "dp2-6.18-overflow": DualPi2(
            alpha=41 / 256, beta=819 / 256, drop_overload=False, arithmetic="fixed"
        ),
        "dp2-6.18-rtt50": DualPi2(
            alpha=85 / 256,
            beta=1535 / 256,
            target="8333us",
            update_interval="8333us",
            arithmetic="fixed",
        ),
    }


def variants() -> dict[str, Aqm]:
    """Return the kernels and rules that `replay` knows by name, and their queues.

    Returns
    -------
    dict of str to Aqm
        Its representation shows a queue's parameters. "linux6.18" and "linux6.18-t20": PIE in 56
        bits, at the target of 15 or 20 ms. "linux4.14", also called "linux4.14(2013-table)": PIE in
        32 bits, as from 3.14 to 5.0. "rfc8033-float": PIE by the RFC in real numbers. "pi2-2016-*":
        the code of the PI2 paper. "hpe-*": HPE's PI2. "dp2-6.18-*": DualPI2.

    Examples
    --------
    >>> variants()["linux6.18"].target
    0.015
    """
    return dict(_variants())


def replay(variant: str | Aqm, *, queue_delay: Any, backlog: Any = None) -> xr.Dataset:
    """Update a controller once for each of the given queue delays.

    It begins with p = 0 and the delay before 0. No burst allowance is left.

    Parameters
    ----------
    variant : str or Aqm
        A name out of `variants`, or a queue of the PI family; with ``arithmetic="fixed"`` in the
        integers of the kernel that its variant stands for.
    queue_delay : array of float, shape (step,)
        Delays in [0, 60] s, in order. Kernels cut them off to whole ticks of 64 ns or to ns.
    backlog : array of float, shape (step,), optional
        Bytes waiting at each update, which matter where the delay is 0: then p does not decay.
        None: none.

    Returns
    -------
    xarray.Dataset
        Along `step`, after each update: p, what Classic packets see; controller, the queue's own
        variable (p of PI and PIE, p' of the others; PIE's may exceed 1 in the integers of Linux
        6.18); state (uint64), the same in the kernel's units: p of PIE in 1/(2^56 - 1) or
        1/(2^32 - 1), p_s = k p' of "pi2-2016" and p' of DualPI2 in 1/(2^32 - 1), p' of HPE in
        1/2^32, 0 in real numbers. PIE adds burst (s), the allowance that is left; HPE overload, 1
        while it drops instead of marking.

    Raises
    ------
    QuantityError
        If the variant is unknown, or an array is no rectangular one of finite numbers, not
        one-dimensional, or of another length.
    DomainError
        If a delay or a backlog is out of range.
    UnsupportedError
        If the queue is not of the PI family, or has no such integers.

    Source: Linux 6.18 and 4.14, sch_pie; Linux 6.18, sch_dualpi2; github.com/olgabo/dualpi2,
    sch_pi2 (2016); RFC 8033, section 4.2.

    Examples
    --------
    >>> steps = replay("linux6.18", queue_delay=[0.0, 0.03, 0.03])
    >>> [hex(int(state)) for state in steps.state]
    ['0x0', '0x1428f532e24', '0x23851e04bed']
    >>> replay(Pi2.from_tc2016(arithmetic="fixed"), queue_delay=[0.03]).controller.item()
    0.096...
    """
    law = _law(variant)
    delays = _numbers(queue_delay, "time", "queue_delay", _LONGEST)
    waiting = _as_long(0.0 if backlog is None else backlog, len(delays), "backlog")
    ns = np.rint(delays * 1e9).astype(np.int64)
    if getattr(law, "variant", "") == "hpe":
        found, extra = _replay_hpe(law, ns), "overload"
    else:
        found, extra = _replay_update(law, ns, waiting), "burst"
    controller, classic, state, last = found
    variables = {
        "p": Column(("step",), classic, "1", "probability that a Classic packet is signalled"),
        "controller": Column(("step",), controller, "1", "the controller's own variable"),
        "state": Column(("step",), state, "1", "the same in the kernel's units"),
    }
    if extra == "overload":
        variables[extra] = Column(("step",), last, "1", "1 while packets are dropped, not marked")
    elif isinstance(law, Pie):
        variables[extra] = Column(("step",), last, "s", "burst allowance that is left")
    return _dataset(variables, law)


def _replay_update(law: Any, delay: Any, backlog: Any) -> tuple[Any, ...]:
    n = len(delay)
    found = np.empty(n), np.empty(n), np.zeros(n, np.uint64), np.empty(n)
    # The delay is told, so that no rate need be known before PIE's allowance is given anew.
    name, parameters = discipline_of(_with_estimator(law, False), _LINK)
    if type(law) is DualPi2:
        name, parameters = "coupled", controller_parameters(law)
    _core.replay_update(name, parameters, delay, np.ceil(backlog).astype(np.int64), *found)
    return found


def _replay_hpe(law: Any, delay: Any) -> tuple[Any, ...]:
    if law.arithmetic != "fixed":
        raise UnsupportedError(
            f'{type(law).__name__} variant = "hpe" with arithmetic = "real" has no rule of its own'
            ' to replay: give arithmetic = "fixed", or variant = "plain".'
        )
    n = len(delay)
    controller, classic = np.empty(n), np.empty(n)
    state, overload = np.zeros(n, np.uint64), np.zeros(n, np.uint64)
    # The queue's own parameters are for a target and an update interval of 1 ms.
    target, interval = float(law.target) * 1e3, float(law.update_interval) * 1e3
    alpha = round(256 * float(law.alpha) * target**2 / interval)
    beta = round(256 * float(law.beta) * target)
    coupling = round(256 * float(getattr(law, "k", 2.0)))
    numbers = (alpha, beta, coupling, round(target * 1e6), round(interval * 1e6))
    if not 1e-4 <= law.target <= 1.0:
        raise DomainError(
            f"{type(law).__name__} target = {law.target!r} is outside [0.0001, 1] s, which HPE's"
            ' integers hold: give a time such as "15ms".'
        )
    if not (1 <= alpha < 1 << 23 and beta < 1 << 23 and 1 <= coupling < 1 << 23):
        raise DomainError(
            f"{type(law).__name__} alpha = {law.alpha!r}, beta = {law.beta!r} are outside what"
            " HPE's integers hold at this target and interval: give gains nearer to its defaults,"
            " 2.25 and 48 at 1 ms."
        )
    _core.replay_hpe(*numbers, delay, controller, classic, state, overload)
    return controller, classic, state, overload


def replay_drop(
    variant: str | Aqm = "linux6.18",
    *,
    p: Any,
    rnd: Any,
    rnd2: Any = None,
    ecn: Any = None,
    queue_delay: Any = None,
    backlog: Any = None,
    burst: Any = None,
    accu_prob: Any = None,
) -> xr.Dataset:
    """Let a queue decide about packets, with the random numbers that it draws given.

    All arrays have one number for each packet, or one for all of them.

    Parameters
    ----------
    variant : str or Aqm
        "linux6.18", "linux4.14" or a `Pie`: whether a packet is to be signalled. "pi2-2016" or a
        `CoupledPi2`: whether it is dropped or marked.
    p : array of float, shape (i,)
        Probability in [0, 1]: of PIE its own, of the coupled queue what Scalable packets see, k p'.
    rnd : array of int, shape (i,)
        The numbers offered: of 64 bits in "linux6.18" and in real numbers of PIE, else of 32.
    rnd2 : array of int, shape (i,), optional
        Of the coupled queue: the second number, used only after a hit of the first (default 0).
    ecn : array of int, shape (i,), optional
        Of the coupled queue: ECN field, 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE (default 0).
    queue_delay, backlog, burst : array of float, shape (i,), optional
        Of PIE: latest delay (s; default 1 us above the target), bytes waiting (20 000), burst
        allowance that is left (s; 0).
    accu_prob : array of float, shape (i,), optional
        Of PIE: sum of probabilities before each packet; NaN, the default: as the last one left it.

    Returns
    -------
    xarray.Dataset
        Along `i`, of PIE: rnd_used and drop (uint64, 0 or 1), accu_prob after the packet, a drop
        setting it to 0. Of the coupled queue: rnds_used, drop and ce_set (uint64), which is 1 if
        the packet gets a mark here.

    Raises
    ------
    QuantityError
        If the variant is unknown, or an array is not one-dimensional, of another length, or none of
        usable numbers.
    DomainError
        If a number is out of range.
    UnsupportedError
        If the queue decides otherwise, or an argument is not for its kind.

    Source: Linux 6.18, sch_pie; github.com/olgabo/dualpi2, sch_pi2 (2016).

    Examples
    --------
    >>> replay_drop("linux6.18", p=0.5, rnd=[0, 0, 2**63])["drop"].values
    array([0, 1, 0], dtype=uint64)
    """
    law = _law(variant, _decisive())
    if isinstance(law, Pie):
        _refuse(law, rnd2=rnd2, ecn=ecn)
        above = float(law.target) + 1e-6 if queue_delay is None else queue_delay
        waiting = _BACKLOG if backlog is None else backlog
        left = 0.0 if burst is None else burst
        return _pie_drop(law, p, rnd, (above, left, waiting), accu_prob)
    if isinstance(law, CoupledPi2):
        _refuse(law, queue_delay=queue_delay, backlog=backlog, burst=burst, accu_prob=accu_prob)
        return _coupled_drop(law, p, rnd, 0 if rnd2 is None else rnd2, 0 if ecn is None else ecn)
    raise UnsupportedError(
        f"{type(law).__name__} decides about packets in no way that can be replayed: give a Pie or"
        ' a CoupledPi2, or one of "linux6.18", "linux4.14", "pi2-2016".'
    )


@cache
def _decisive() -> dict[str, Aqm]:
    coupled = CoupledPi2(variant="pi2-2016", ecn=True, arithmetic="fixed")
    known = _variants()
    return {name: known[name] for name in ("linux6.18", "linux4.14")} | {"pi2-2016": coupled}


def _pie_drop(law: Pie, p: Any, rnd: Any, guards: tuple[Any, ...], accu_prob: Any) -> xr.Dataset:
    older = law.arithmetic == "fixed" and law.variant == "linux4.14"
    words = _integers(rnd, _WORD if older else 64, "rnd")
    n = len(words)
    delay, left = (
        np.rint(_as_long(value, n, name, "time", _LONGEST) * 1e9).astype(np.int64)
        for value, name in zip(guards, ("queue_delay", "burst"), strict=False)
    )
    waiting = _as_long(guards[2], n, "backlog").astype(np.int64)
    found = np.empty(n, np.uint64), np.empty(n, np.uint64), np.empty(n)
    _core.replay_pie_drop(
        pie_parameters(law),
        _MTU,
        _as_long(p, n, "p", "number", 1.0),
        words << np.uint64(_WORD) if older else words,
        delay,
        left,
        waiting,
        _sums(accu_prob, n),
        *found,
    )
    used, drop, accumulated = found
    variables = {
        "rnd_used": Column(("i",), used, "1", "random numbers drawn"),
        "drop": Column(("i",), drop, "1", "1 if the packet is to be dropped or marked"),
        "accu_prob": Column(("i",), accumulated, "1", "sum of probabilities since the last drop"),
    }
    return _dataset(variables, law)


def _sums(accu_prob: Any, n: int) -> Any:
    if accu_prob is None:
        return np.full(n, _NOT_GIVEN)
    values = np.array(accu_prob, dtype=float, ndmin=1)
    given = ~np.isnan(values)
    if given.any():
        _numbers(values[given].ravel(), "number", "accu_prob", 255.0)
    return _spread(values if np.ndim(accu_prob) else values[0], n, "accu_prob")


def _coupled_drop(law: CoupledPi2, p: Any, rnd: Any, rnd2: Any, ecn: Any) -> xr.Dataset:
    first = _integers(rnd, _WORD, "rnd")
    n = len(first)
    second = _spread(_integers(rnd2, _WORD, "rnd2"), n, "rnd2")
    fields = _spread(_integers(ecn, 2, "ecn"), n, "ecn").astype(np.int64)
    u = _as_long(p, n, "p", "number", 1.0) / float(law.k)
    found = tuple(np.empty(n, np.uint64) for _ in range(3))
    shift = np.uint64(_WORD)
    _core.replay_coupled_drop(
        controller_parameters(law), u, fields, first << shift, second << shift, *found
    )
    used, drop, mark = found
    variables = {
        "rnds_used": Column(("i",), used, "1", "random numbers drawn"),
        "drop": Column(("i",), drop, "1", "1 if the packet is dropped"),
        "ce_set": Column(("i",), mark, "1", "1 if the packet is marked here"),
    }
    return _dataset(variables, law)


def replay_rate(
    variant: str | Aqm = "linux6.18",
    *,
    now_ns: Any,
    pkt_bytes: Any,
    backlog_bytes: Any,
    sojourn_us: Any = None,
) -> xr.Dataset:
    """Let PIE measure the queue as packets leave it.

    Parameters
    ----------
    variant : str or Pie
        "linux6.18", "linux4.14" or a `Pie`, whose burst allowance runs out on the way.
    now_ns : array of int, shape (i,)
        When each packet leaves, ns, not falling.
    pkt_bytes, backlog_bytes : array of int, shape (i,)
        Its size, and what stays behind.
    sojourn_us : array of float, shape (i,), optional
        What each packet has waited, us, which then is the delay; None: PIE estimates the rate.

    Returns
    -------
    xarray.Dataset
        Along `i`, after each packet: x, bytes of the cycle that is measured (-1: none) or, with
        `sojourn_us`, the delay in us; avg_dq_rate in 1/256 byte per tick of 64 ns, 0 before the
        first cycle has ended; burst_us, what is left of the allowance. Units are those of the
        kernel's trace, not SI.

    Raises
    ------
    QuantityError
        If the variant is unknown, or an array is not one-dimensional, of another length, or none of
        usable numbers; if time runs backwards.
    DomainError
        If a number is out of range.
    UnsupportedError
        If the queue is no PIE.

    Source: Linux 6.18, sch_pie; RFC 8033, section 4.3.

    Examples
    --------
    >>> time = 800_000 * np.arange(20)
    >>> found = replay_rate(now_ns=time, pkt_bytes=1000, backlog_bytes=50_000)
    >>> int(found.avg_dq_rate[-1]), float(found.burst_us[-1])
    (21, 137200.0)
    """
    known = {name: law for name, law in _decisive().items() if type(law) is Pie}
    law = _law(variant, known)
    if not isinstance(law, Pie):
        raise UnsupportedError(
            f"{type(law).__name__} measures no rate: give a Pie, or one of"
            f" {', '.join(map(repr, known))}."
        )
    now = _integers(now_ns, 62, "now_ns").astype(np.int64)
    n = len(now)
    if (np.diff(now) < 0).any():
        place = int(np.argmax(np.diff(now) < 0)) + 1
        raise QuantityError(
            f"now_ns = {now[place]} at {place} is earlier than the one before: give times that do"
            " not fall."
        )
    size, left = (
        _spread(_integers(value, 40, name), n, name).astype(np.int64)
        for value, name in ((pkt_bytes, "pkt_bytes"), (backlog_bytes, "backlog_bytes"))
    )
    us = 0.0 if sojourn_us is None else sojourn_us
    waited = np.rint(1e3 * _as_long(us, n, "sojourn_us", "number", 1e6 * _LONGEST))
    parameters = pie_parameters(_with_estimator(law, sojourn_us is None))
    count, delay, burst = (np.empty(n, np.int64) for _ in range(3))
    rate = np.empty(n, np.uint64)
    times = (now, size, left, waited.astype(np.int64))
    _core.replay_leave(parameters, *times, count, delay, rate, burst)
    x = count if sojourn_us is None else delay / 1e3
    variables = {
        "x": Column(("i",), x, "B" if sojourn_us is None else "us", "bytes counted, or delay"),
        "avg_dq_rate": Column(("i",), rate, "B/(256*64ns)", "departure rate"),
        "burst_us": Column(("i",), burst // 1000, "us", "burst allowance that is left"),
    }
    return _dataset(variables, law)


def _with_estimator(law: Any, on: bool) -> Any:
    return dataclasses.replace(law, rate_estimator=on) if type(law) is Pie else law


# Checks


def _law(variant: Any, known: Mapping[str, Aqm] | None = None) -> Any:
    known = _variants() if known is None else known
    if isinstance(variant, PiFamily):
        return variant
    if isinstance(variant, Aqm):
        raise UnsupportedError(
            f"{type(variant).__name__} is no queue of the PI family, whose updates can be"
            " replayed: give Pi, Pie, Pi2, CoupledPi2 or DualPi2."
        )
    if not isinstance(variant, str) or variant not in known:
        raise QuantityError(
            f"variant = {show_value(variant)} is unknown: give one of"
            f" {', '.join(map(repr, known))}, or a queue."
        )
    return known[variant]


def _refuse(law: Aqm, **given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise UnsupportedError(
                f"{name} = {show_value(value)} plays no part in the decisions of"
                f" {type(law).__name__}: leave it out."
            )


def _numbers(value: Any, dimension: str, name: str, high: float) -> Any:
    """Return a one-dimensional float array of what lies in [0, high]."""
    array = np.asarray(
        validate_quantity(value, dimension, name, low=0.0, high=high, closed=True), dtype=float
    )
    if array.ndim != 1:
        raise QuantityError(
            f"{name} has the shape {array.shape}: give a one-dimensional array, such as [0.01]."
        )
    return np.ascontiguousarray(array)


def _as_long(
    value: Any, n: int, name: str, dimension: str = "size", high: float = _MOST_BYTES
) -> Any:
    """Return `n` floats of an array of that length, or of one number."""
    if np.ndim(value) == 0:
        value = validate_quantity(value, dimension, name, low=0.0, high=high, closed=True)
    else:
        value = _numbers(value, dimension, name, high)
    return _spread(value, n, name).astype(float)


def _integers(value: Any, bits: int, name: str) -> Any:
    """Return unsigned integers of that many bits."""
    # NumPy would turn a list of numbers on both sides of 2^63 into floats.
    array = np.array(value, dtype=object) if isinstance(value, (list, tuple)) else np.asarray(value)
    whole = array.dtype.kind in "iu" or (
        array.dtype == object
        and all(type(item) is int or isinstance(item, np.integer) for item in array.flat)
    )
    if not whole or array.size == 0 or array.ndim > 1:
        raise QuantityError(
            f"{name} = {show_value(value)} is no one-dimensional array of whole numbers: give one,"
            " such as [0, 1]."
        )
    top = 2**bits - 1
    if int(array.min()) < 0 or int(array.max()) > top:
        worst = int(array.min()) if int(array.min()) < 0 else int(array.max())
        raise DomainError(
            f"{name} = {worst} is outside [0, {top}]: give whole numbers of {bits} bits."
        )
    return np.atleast_1d(array).astype(np.uint64)


def _spread(value: Any, n: int, name: str) -> Any:
    array = np.atleast_1d(np.asarray(value))
    if array.ndim != 1 or array.size not in {1, n}:
        raise QuantityError(
            f"{name} has the shape {array.shape} where {n} values are needed: give as many as the"
            " other arrays have, or one."
        )
    return np.ascontiguousarray(np.broadcast_to(array, (n,)))


def _dataset(variables: dict[str, Column], law: Aqm) -> xr.Dataset:
    return make_dataset(variables, {}, {"engine": "replay", "law": repr(law)})
