"""What PIE measures as packets leave: the departure rate, the delay, and its burst allowance."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np
import xarray as xr

from pi2_fluid import _core
from pi2_fluid.engines.packet.columns import LONGEST_DELAY, read_numbers, read_words, spread
from pi2_fluid.engines.packet.replays.result import replay_dataset
from pi2_fluid.engines.packet.replays.variants import law_of, variants
from pi2_fluid.errors import QuantityError, UnsupportedError
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.aqms.pie import pie_parameters
from pi2_fluid.results import Column

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

#: Queue disciplines that measure the rate at which packets leave.
_MEASURING: Final = ("pie",)
#: Bits that the clock (ns) and sizes (bytes) may have.
_CLOCK_BITS, _SIZE_BITS = 62, 40


def replay_rate(
    variant: str | Aqm = "linux6.18",
    *,
    now_ns: ArrayLike,
    pkt_bytes: ArrayLike,
    backlog_bytes: ArrayLike,
    sojourn_us: ArrayLike | None = None,
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

    Notes
    -----
    Source: Linux 6.18, sch_pie; RFC 8033, section 4.3.

    Examples
    --------
    >>> time = 800_000 * np.arange(20)
    >>> found = replay_rate(now_ns=time, pkt_bytes=1000, backlog_bytes=50_000)
    >>> int(found.avg_dq_rate[-1]), float(found.burst_us[-1])
    (21, 137200.0)
    """
    known = {name: variants()[name] for name in ("linux6.18", "linux4.14")}
    law = law_of(variant, known)
    if law.discipline not in _MEASURING:
        raise UnsupportedError(
            f"{type(law).__name__} measures no rate: give a Pie, or one of"
            f" {', '.join(map(repr, known))}."
        )
    now = read_words(now_ns, "now_ns", _CLOCK_BITS).astype(np.int64)
    n = len(now)
    if (np.diff(now) < 0).any():
        place = int(np.argmax(np.diff(now) < 0)) + 1
        raise QuantityError(
            f"now_ns = {now[place]} at {place} is earlier than the one before: give times that do"
            " not fall."
        )
    size, left = (
        spread(read_words(value, name, _SIZE_BITS), n, name).astype(np.int64)
        for value, name in ((pkt_bytes, "pkt_bytes"), (backlog_bytes, "backlog_bytes"))
    )
    us = 0.0 if sojourn_us is None else sojourn_us
    waited = np.rint(1e3 * read_numbers(us, "sojourn_us", "number", 1e6 * LONGEST_DELAY, n))
    parameters = pie_parameters(dataclasses.replace(law, rate_estimator=sojourn_us is None))
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
    return replay_dataset(variables, law)
