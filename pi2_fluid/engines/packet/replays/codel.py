"""CoDel's queue replayed, event by event, and its law alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from pi2_fluid import _core
from pi2_fluid.engines.packet.columns import read_row
from pi2_fluid.engines.packet.laws import discipline_of, require_discipline
from pi2_fluid.engines.packet.replays.events import ETHERNET, EventLog, event_columns, run_events
from pi2_fluid.engines.packet.replays.result import replay_dataset
from pi2_fluid.errors import DomainError, show_value
from pi2_fluid.laws.aqms.codel import CoDel
from pi2_fluid.network.link import Link
from pi2_fluid.results import Column, make_dataset
from pi2_fluid.units import LONG_WAIT, validate_number

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def replay_codel(
    *,
    t_us: ArrayLike,
    op: Sequence[str],
    bytes: ArrayLike,
    ecn: ArrayLike,
    law: CoDel | None = None,
    link: Link = ETHERNET,
) -> xr.Dataset:
    """Run packets through CoDel's queue, one event after the other.

    Parameters
    ----------
    t_us, op, bytes, ecn
        As of `replay_dualpi2`, without "T".
    law : CoDel, optional
        Linux's defaults in Linux's integers if None.
    link : Link
        Its packet_size, up to which a backlog is not signalled, and its buffer.

    Returns
    -------
    xarray.Dataset
        Along `ev`: id, bytes, ecn, result, ce_set_here as of `replay_dualpi2`; sojourn_us (whole us
        of the last packet taken), count, lastcount, dropping (CoDel's own), backlog_bytes.

    Raises
    ------
    QuantityError, DomainError
        As `replay_dualpi2`.

    Notes
    -----
    Source: Linux 6.18, codel_impl.h; RFC 8289.

    Examples
    --------
    >>> events = {"t_us": [0, 2000], "op": ["E", "D"], "bytes": [1500, 0], "ecn": [0, 0]}
    >>> replay_codel(**events).sojourn_us.values
    array([   0, 1999])
    """
    law = CoDel(arithmetic="fixed") if law is None else law
    require_discipline(law, "codel", link)
    found = run_events(discipline_of(law, link), link, EventLog(t_us, op, bytes, ecn))
    own = {
        "sojourn_us": (found["own3"] // 1000, "us", "time in the queue of the last packet taken"),
        "count": (found["own0"], "1", "signals since the dropping state began"),
        "lastcount": (found["own1"], "1", "count with which the dropping state began"),
        "dropping": (found["own2"], "1", "1 in the dropping state"),
    }
    variables = event_columns(found, "id", "bytes", "ecn", "ce_set_here", "backlog_bytes", "result")
    variables |= {name: Column(("ev",), *column) for name, column in own.items()}
    return replay_dataset(variables, law)


def codel_law(count: int, *, interval: float | str = "100ms") -> xr.Dataset:
    """Return the gaps between CoDel's signals in Linux's integers, beside the exact ones.

    Parameters
    ----------
    count : int
        How many signals, 1 to 1e6.
    interval : float or str
        CoDel's interval (s), 10 us to 1000 s.

    Returns
    -------
    xarray.Dataset
        Along `count` = 1, 2 ...: rec_inv_sqrt (1/sqrt(count) in 1/2^16), step_1024ns (the gap in
        units of 1.024 us), step_us, exact_us (interval / sqrt(count)).

    Raises
    ------
    QuantityError, DomainError
        If count or interval are no numbers, or out of range.

    Notes
    -----
    Source: Linux 6.18, codel_impl.h.

    Examples
    --------
    >>> codel_law(3).step_1024ns.values
    array([97654, 48829, 54931])
    """
    seconds = validate_number(interval, "time", "interval", usual=LONG_WAIT)
    if not 1e-5 <= seconds <= 1e3:
        raise DomainError(
            f"interval = {show_value(interval)} is outside [1e-05, 1000] s: give a time such as"
            ' "100ms".'
        )
    number = int(read_row([count], "count", 1, 10**6)[0])
    found = np.empty((number, 2), np.int64)
    _core.codel_law(round(seconds * 1e9) >> 10, found)
    counts = np.arange(1, number + 1)
    columns = {
        "rec_inv_sqrt": (found[:, 0], "2^-16", "reciprocal square root of count"),
        "step_1024ns": (found[:, 1], "1.024 us", "gap to the next signal"),
        "step_us": (1.024 * found[:, 1], "us", "gap to the next signal"),
        "exact_us": (
            1e6 * seconds / np.sqrt(counts),
            "us",
            "interval over the square root of count",
        ),
    }
    return make_dataset(
        {name: Column(("count",), *column) for name, column in columns.items()},
        {"count": Column(("count",), counts, "1", "signals since the dropping state began")},
        {"engine": "replay", "interval": seconds},
    )
