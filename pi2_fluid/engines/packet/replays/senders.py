"""Senders' own arithmetic, step by step and without a network, for comparison with a kernel's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import xarray as xr

from pi2_fluid import _core
from pi2_fluid.engines.packet.columns import (
    as_array,
    read_columns,
    read_numbers,
    read_row,
    spread,
)
from pi2_fluid.engines.packet.laws import congestion_of, require_congestion
from pi2_fluid.errors import DomainError, QuantityError
from pi2_fluid.laws.senders.cubic import Cubic
from pi2_fluid.laws.senders.dctcp import Dctcp
from pi2_fluid.laws.senders.paganini import Paganini
from pi2_fluid.laws.senders.prague import Prague
from pi2_fluid.network.schedule import NS
from pi2_fluid.results import Column, make_dataset
from pi2_fluid.units import LONG_PATH, plain_row, validate_number, validate_quantity

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pi2_fluid.values import BoolArray, IntArray, Quantity

# Rows belong to the last acknowledgement before them; their times are given to 0.1 ms.
_HALF_STEP: Final = 50_000
_MOST_SEGMENTS: Final = 2**31 - 1
_ONE: Final = 1024  # alpha = 1
_MOST_FIRST: Final = 1_000_000  # segments
_A_DAY: Final = 86_400.0  # s
_RTT: Final[dict[str, Any]] = {"low": 1e-6, "high": 3600.0, "closed": True, "usual": LONG_PATH}


def replay_cubic(
    *, tcp_friendliness: ArrayLike = 1, rtt_ms: ArrayLike, W: ArrayLike, t_s: ArrayLike
) -> xr.Dataset:
    """Return Linux's Cubic some time after a signal, with even acknowledgements of 2 segments.

    At time 0 a window of `W` segments meets a signal and is reduced at once. From then on nothing
    is lost, round-trip times are constant, and an acknowledgement comes every 2/window of one.
    Consecutive rows with the same `tcp_friendliness`, `rtt_ms` and `W`, and rising times, are one
    run. A row shows what holds after the last acknowledgement up to 50 us after its time, since
    recorded times are rounded to 0.1 ms.

    Parameters
    ----------
    tcp_friendliness : array-like of int, default 1
        1: never slower than the estimate of a Reno flow; 0: the cubic alone.
    rtt_ms : array-like
        Round-trip time (ms), in [1, 10000].
    W : array-like of int
        Window before the signal (segments), in [2, 100000].
    t_s : array-like
        Time after the signal (s), in [0, 60].
        All of shape (n,) or scalar.

    Returns
    -------
    xarray.Dataset
        Over ``step``: ``cwnd``, ``cnt`` (segments acknowledged per segment of growth), ``tcp_cwnd``
        (the Reno-friendly estimate), ``K`` (1/1024 s), ``origin`` (window of the plateau), all
        integers; the arguments as coordinates.

    Raises
    ------
    QuantityError
        For what is not a finite number, or a whole one where that is asked for, and for shapes
        that differ.
    DomainError
        For numbers outside their ranges.

    Notes
    -----
    Source: the arithmetic of Linux 6.18's tcp_cubic at HZ = 1000; RFC 9438.

    Examples
    --------
    >>> replay_cubic(rtt_ms=10, W=20, t_s=[0.0, 1.0003]).cwnd.values
    array([14, 65])
    """
    friendly, rtt, window, time = read_columns(
        tcp_friendliness=(tcp_friendliness, 0, 1, True),
        rtt_ms=(rtt_ms, 1.0, 1e4, False),
        W=(W, 2, 100_000, True),
        t_s=(t_s, 0.0, 60.0, False),
    )
    rows = np.zeros((5, len(time)), dtype=np.int64)
    parameters = congestion_of(Cubic(hystart=False))[1]
    at = np.rint(time * NS).astype(np.int64) + _HALF_STEP
    same = (np.diff(friendly) == 0) & (np.diff(rtt) == 0) & (np.diff(window) == 0)
    for part in _runs(same & (np.diff(time) >= 0.0), len(time)):
        results = np.empty(5 * len(at[part]), dtype=np.int64)
        parameters["friendly"] = float(friendly[part][0])
        rtt_ns = round(float(rtt[part][0]) * 1e6)
        _core.replay_cubic(parameters, int(window[part][0]), rtt_ns, at[part], results)
        rows[:, part] = results.reshape(5, -1)
    meaning = {
        "cwnd": ("segments", "window"),
        "cnt": ("segments", "segments acknowledged per segment of growth"),
        "tcp_cwnd": ("segments", "window that a Reno flow would have"),
        "K": ("1/1024 s", "time from the signal to the plateau"),
        "origin": ("segments", "window of the plateau"),
    }
    return _dataset(
        {
            name: Column(("step",), row, *meaning[name])
            for name, row in zip(meaning, rows, strict=True)
        },
        {
            "tcp_friendliness": (friendly, "1", "whether growth is at least that of Reno"),
            "rtt_ms": (rtt, "ms", "round-trip time"),
            "W": (window, "segments", "window before the signal"),
            "t_s": (time, "s", "time after the signal"),
        },
        "cubic, linux",
    )


def replay_dctcp(
    *,
    delivered: ArrayLike,
    ce: ArrayLike,
    alpha_before: ArrayLike = _ONE,
    round: ArrayLike | None = None,
    case: ArrayLike | None = None,
    sender: Dctcp | None = None,
) -> xr.Dataset:
    """Return DCTCP's alpha, window by window, and the windows that a reduction would leave.

    Alpha is carried from row to row; `alpha_before` counts only in the first row of a run. A run
    ends where `case` changes, or where `round` does not rise.

    Parameters
    ----------
    delivered, ce : array-like of int
        Segments delivered in each window, in [1, 2^31 - 1], and how many of them were marked.
    alpha_before : array-like, default 1024
        Alpha at the beginning of a run (1/1024), in [0, 1024]; whole numbers for Linux's integers.
    round : array-like, optional
        Number of the window within its run.
    case : array-like, optional
        Name of the run.
        All of shape (n,) or scalar.
    sender : Dctcp, optional
        ``Dctcp()``, Linux's integers, if None.

    Returns
    -------
    xarray.Dataset
        Over ``step``: ``alpha_before`` and ``alpha_after`` (1/1024; integers for Linux's), and
        ``ss10``, ``ss100``, ``ss1000``, the windows that a reduction after this step leaves of
        10, 100 and 1000 segments; ``delivered``, ``ce`` as coordinates.

    Raises
    ------
    QuantityError
        For what is not a finite number, or a whole one where that is asked for, and for shapes
        that differ.
    DomainError
        For numbers outside their ranges.
    UnsupportedError
        For a subclass of Dctcp, or a gain that Linux does not have.

    Notes
    -----
    Source: the arithmetic of tcp_dctcp in Linux 6.18 and 3.18; RFC 8257, sections 3.3 and 3.4.

    Examples
    --------
    >>> replay_dctcp(delivered=[100, 100], ce=[0, 10]).alpha_after.values
    array([960, 906])
    """
    law = Dctcp() if sender is None else sender
    parameters = require_congestion(law, "dctcp")
    fixed = law.counts_parts
    packets, marked, alpha = read_columns(
        delivered=(delivered, 1, _MOST_SEGMENTS, True),
        ce=(ce, 0, _MOST_SEGMENTS, True),
        alpha_before=(alpha_before, 0, _ONE, fixed),
    )
    more = np.flatnonzero(marked > packets)
    if len(more):
        raise DomainError(
            f"ce[{more[0]}] = {marked[more[0]]} is more than delivered[{more[0]}] ="
            f" {packets[more[0]]}: give how many of the delivered segments were marked."
        )
    n = len(packets)
    alphas, thresholds = np.zeros((2, n)), np.zeros((3, n), dtype=np.int64)
    for part in _runs(_continues(round, case, n), n):
        a, s = np.empty(2 * len(packets[part])), np.empty(3 * len(packets[part]), dtype=np.int64)
        first = float(alpha[part][0])
        _core.replay_dctcp(parameters, first, packets[part], marked[part], a, s)
        alphas[:, part], thresholds[:, part] = a.reshape(2, -1), s.reshape(3, -1)
    values = alphas.astype(np.int64) if fixed else alphas
    variables = {
        "alpha_before": Column(("step",), values[0], "1/1024", "marked fraction before the window"),
        "alpha_after": Column(("step",), values[1], "1/1024", "marked fraction after the window"),
    }
    for index, size in enumerate((10, 100, 1000)):
        long_name = f"what a reduction leaves of {size} segments"
        variables[f"ss{size}"] = Column(("step",), thresholds[index], "segments", long_name)
    coords = {
        "delivered": (packets, "segments", "segments delivered"),
        "ce": (marked, "segments", "segments marked"),
    }
    return _dataset(variables, coords, f"dctcp, {law.variant}")


def replay_prague(
    *, ce: ArrayLike, rtt: float | str, initial_window: int = 10, sender: Prague | None = None
) -> xr.Dataset:
    """Return Prague acknowledgement by acknowledgement, from slow start over a constant RTT.

    Every segment is acknowledged by itself; the next acknowledgement comes one round-trip time
    over the window later, which acts at once.

    Parameters
    ----------
    ce : array-like of int
        Whether each segment was marked, 0 or 1, in the order of sending; shape (n,).
    rtt : duration
        Round-trip time, in [1 us, 1 h].
    initial_window : int, default 10
        Segments, in [2, 1000000].
    sender : Prague, optional
        ``Prague()`` if None.

    Returns
    -------
    xarray.Dataset
        Over ``step``, after each acknowledgement: ``window`` with its fraction and ``cwnd`` in
        whole segments, ``alpha``, ``round``, the number of those that ended after slow start, and
        ``ssthresh`` (-1: none yet); ``next``, the first segment that was not sent before it. ``ce``
        and ``time`` (s) as coordinates.

    Raises
    ------
    QuantityError
        For what is not a number, or a whole one where that is asked for, or a duration.
    DomainError
        For numbers outside their ranges.
    UnsupportedError
        For a subclass of Prague.

    Notes
    -----
    Source: draft-briscoe-iccrg-prague-congestion-control; the rules of its public code.

    Examples
    --------
    >>> data = replay_prague(ce=[0, 0, 1, 0], rtt="10ms")
    >>> data.window.values.round(3)
    array([11.   , 12.   ,  6.   ,  6.167])
    >>> data.cwnd.values
    array([11, 12, 11, 10])
    """
    law = Prague() if sender is None else sender
    parameters = require_congestion(law, "prague")
    marked = _each_segment(ce)
    n = len(marked)
    seconds = validate_number(rtt, "time", "rtt", **_RTT)
    window = int(read_row([initial_window], "initial_window", 2, _MOST_FIRST)[0])
    numbers, counts = np.empty(3 * n), np.empty(4 * n, dtype=np.int64)
    _core.replay_prague(parameters, window, round(seconds * NS), marked, numbers, counts)
    time, windows, alpha = numbers.reshape(3, n)
    after, cwnd, rounds, threshold = counts.reshape(4, n)
    variables = {
        "window": Column(("step",), windows, "segments", "window with its fraction"),
        "cwnd": Column(("step",), cwnd, "segments", "window in whole segments"),
        "alpha": Column(("step",), alpha, "1", "smoothed marked fraction"),
        "round": Column(("step",), rounds, "1", "rounds that ended after slow start"),
        "ssthresh": Column(("step",), threshold, "segments", "threshold of slow start"),
        "next": Column(("step",), after, "segments", "next segment to be sent, before this step"),
    }
    coords = {
        "ce": (marked, "1", "whether the segment was marked"),
        "time": (time / NS, "s", "time of the acknowledgement"),
    }
    return _dataset(variables, coords, f"prague, {law.version}")


def replay_paganini(
    *,
    ce: ArrayLike,
    rtt: Quantity,
    time: Quantity | None = None,
    lost: ArrayLike = 0,
    initial_window: int = 1,
    sender: Paganini | None = None,
) -> xr.Dataset:
    """Return Paganini's source acknowledgement by acknowledgement, one for each segment.

    Parameters
    ----------
    ce : array-like of int
        Whether each segment was marked, 0 or 1, in the order of sending; shape (n,).
    rtt : duration, or array-like of such
        Round-trip time that each acknowledgement measures, in [1 us, 1 h]; one for all or n.
    time : array-like of float, optional
        When each comes (s), not falling, at most a day; shape (n,). None: one after the other in
        the round-trip time over the window.
    lost : array-like of int, default 0
        Whether a loss is found just before it, 0 or 1.
    initial_window : int, default 1
        Segments, in [1, 1000000].
    sender : Paganini, optional
        ``Paganini()`` if None.

    Returns
    -------
    xarray.Dataset
        Over ``step``, after each acknowledgement: ``window`` and ``expected``, the window that it
        moves to, with their fractions, ``cwnd`` in whole segments, ``xi``, and the ``price`` of the
        last update (s). ``ce``, ``lost``, ``rtt`` and ``time`` (s) as coordinates.

    Raises
    ------
    QuantityError
        For what is not a number, or a whole one where that is asked for, or a duration.
    DomainError
        For numbers outside their ranges, or time that falls.
    UnsupportedError
        For a subclass of Paganini.

    Notes
    -----
    Source: Paganini, Wang, Low, Doyle (2002), Figure 3.

    Examples
    --------
    >>> data = replay_paganini(ce=[0, 1, 0, 0, 0], rtt="10ms", initial_window=4)
    >>> data.expected.values.round(3), data.price.values.round(3)
    (array([4.   , 4.393, 4.393, 4.393, 1.   ]), array([0.   , 0.   , 0.   , 0.   , 0.062]))
    """
    law = Paganini() if sender is None else sender
    parameters = require_congestion(law, "paganini")
    marked = _each_segment(ce)
    n = len(marked)
    losses = read_row(spread(lost, n, "lost"), "lost", 0, 1)
    seconds = validate_quantity(plain_row(rtt), "time", "rtt", **_RTT)
    rtts = np.rint(spread(seconds, n, "rtt") * NS).astype(np.int64)
    at = np.empty(0, dtype=np.int64)
    if time is not None:
        at = np.rint(read_numbers(time, "time", "time", _A_DAY, n) * NS).astype(np.int64)
        if np.any(np.diff(at) < 0):
            raise DomainError("time falls: give the acknowledgements in the order of time.")
    window = int(read_row([initial_window], "initial_window", 1, _MOST_FIRST)[0])
    numbers, cwnd = np.empty(5 * n), np.empty(n, dtype=np.int64)
    _core.replay_paganini(parameters, window, at, rtts, marked, losses, numbers, cwnd)
    when, windows, expected, xi, price = numbers.reshape(5, n)
    variables = {
        "window": Column(("step",), windows, "segments", "window with its fraction"),
        "cwnd": Column(("step",), cwnd, "segments", "window in whole segments"),
        "expected": Column(("step",), expected, "segments", "window that it moves to"),
        "xi": Column(("step",), xi, "1", "logarithm of the window without prices"),
        "price": Column(("step",), price, "s", "price as of the last update"),
    }
    coords = {
        "ce": (marked, "1", "whether the segment was marked"),
        "lost": (losses, "1", "whether a loss was found before it"),
        "rtt": (rtts / NS, "s", "round-trip time"),
        "time": (when / NS, "s", "time of the acknowledgement"),
    }
    return _dataset(variables, coords, f"paganini, {law.scheme}")


def _dataset(
    variables: dict[str, Column], coords: dict[str, tuple[Any, str, str]], sender: str
) -> xr.Dataset:
    """Build the Dataset of a replay: everything lies along ``step``."""
    labels = {name: Column(("step",), *entry) for name, entry in coords.items()}
    return make_dataset(variables, labels, {"engine": "replay", "sender": sender})


def _each_segment(ce: ArrayLike) -> IntArray:
    """Return whether each segment was marked, of one at least."""
    marked = read_row(ce, "ce", 0, 1)
    if not len(marked):
        raise QuantityError("ce is empty: give 0 or 1 for each segment, such as [0, 0, 1].")
    return marked


def _continues(number: ArrayLike | None, case: ArrayLike | None, n: int) -> BoolArray:
    """Whether each row but the first goes on with the run of the one before."""
    same = np.ones(max(n - 1, 0), dtype=bool)
    for name, labels in (("round", number), ("case", case)):
        if labels is None:
            continue
        column = as_array(labels, name)
        if column.ndim and column.shape != (n,):
            raise QuantityError(
                f"{name} has the shape {column.shape}, delivered the length {n}: give as many."
            )
        column = np.broadcast_to(column, (n,))
        if name == "case" or column.dtype.kind not in "iuf":
            same &= column[1:] == column[:-1]
        else:
            same &= column[1:] > column[:-1]
    return same


def _runs(continues: BoolArray, n: int) -> list[slice]:
    """Return the stretches of rows that belong together."""
    if n == 0:
        return []
    starts = [0, *(np.flatnonzero(~continues) + 1).tolist()]
    return [slice(a, b) for a, b in zip(starts, [*starts[1:], n], strict=True)]
