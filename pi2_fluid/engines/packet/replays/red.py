"""RED replayed, packet by packet, and the adaptation of its max_p alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import xarray as xr

from pi2_fluid import _core
from pi2_fluid.engines.packet.columns import LATEST, MOST_BYTES, read_rolls, read_row
from pi2_fluid.engines.packet.laws import discipline_of, require_discipline
from pi2_fluid.engines.packet.replays.result import replay_dataset
from pi2_fluid.errors import DomainError, show_value
from pi2_fluid.laws.aqms.red import Red
from pi2_fluid.network.link import Link
from pi2_fluid.results import Column
from pi2_fluid.units import plain_row, validate_quantity

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

#: One packet of 1000 bytes per ms.
_LINK: Final = Link("8Mbit/s", "10000 packets", "1000B")
_ACTIONS: Final = np.array(["PASS", "PROB", "HARD"])


def replay_red(
    *,
    law: Red,
    backlog_bytes: ArrayLike,
    rnd: ArrayLike,
    idle_us: ArrayLike | None = None,
    adapt_every: int = 0,
    link: Link = _LINK,
) -> xr.Dataset:
    """Run RED packet by packet, each at a given backlog.

    Parameters
    ----------
    law : Red
        Thresholds in packets of the link's packet_size.
    backlog_bytes : array of int, shape (i,)
        Bytes waiting when each packet arrives.
    rnd : array of int, shape (i,)
        The 32-bit random number for each packet, should it draw one.
    idle_us : array of int, shape (i,), optional
        For how long the link has been idle (us); heeded if the law has `idle_decay`.
    adapt_every : int
        Packets from one adaptation of max_p to the next; 0: none.
    link : Link
        Its packet_size and, for the decay on an idle link, its capacity.

    Returns
    -------
    xarray.Dataset
        Along `i`, after the packet: avg_bytes, Pb (the profile's probability), qcount (packets
        since the last signal; -1: none is counted), action (PASS, PROB by chance, HARD above the
        profile), max_p.

    Raises
    ------
    QuantityError, DomainError
        If an array is none of numbers, of another length or out of range.

    Notes
    -----
    Source: Linux 6.18, red.h; Floyd, Jacobson (1993).

    Examples
    --------
    >>> law = Red(min=20, max=60, max_p=0.02, weight=2**-9, gentle=False, arithmetic="fixed")
    >>> replay_red(law=law, backlog_bytes=[2276, 3691], rnd=[0, 0]).avg_bytes.values.round(3)
    array([ 4.445, 11.646])
    """
    require_discipline(law, "red", link)
    backlog = read_row(backlog_bytes, "backlog_bytes", 0, MOST_BYTES)
    size = len(backlog)
    draws = read_rolls(rnd, "rnd", size)
    given = np.zeros(size) if idle_us is None else idle_us
    idle = 1000 * read_row(given, "idle_us", 0, LATEST, size)
    every = int(read_row([adapt_every], "adapt_every", 0, 10**9)[0])
    found = np.empty((size, 5))
    _core.replay_red(*_red(law, link), backlog, idle, draws, every, found)
    average, p, max_p, count, action = found.T
    columns = {
        "avg_bytes": (average, "B", "average queue"),
        "Pb": (p, "1", "probability by the profile"),
        "max_p": (max_p, "1", "probability at the upper threshold"),
        "qcount": (count.astype(np.int64), "packets", "packets since the last signal"),
        "action": (_ACTIONS[action.astype(np.int64)], "1", "what becomes of the packet"),
    }
    return replay_dataset({name: Column(("i",), *column) for name, column in columns.items()}, law)


def replay_red_adaptation(*, law: Red, avg_bytes: ArrayLike, link: Link = _LINK) -> xr.Dataset:
    """Show what the adaptation of max_p makes of averages that are given.

    Parameters
    ----------
    law : Red
        With ``adaptive=True``; thresholds in packets of the link's packet_size.
    avg_bytes : array of float, shape (i,)
        The average queue (bytes) at each adaptation, below 1e9.
    link : Link
        Its packet_size.

    Returns
    -------
    xarray.Dataset
        Along `i`: max_p after each adaptation.

    Raises
    ------
    QuantityError, DomainError
        If the averages are no numbers or out of range, or the law is not adaptive.

    Notes
    -----
    Source: Floyd, Gummadi, Shenker, "Adaptive RED" (2001); Linux 6.18, red.h.

    Examples
    --------
    >>> law = Red(min=20, max=60, adaptive=True)
    >>> replay_red_adaptation(law=law, avg_bytes=[50e3, 30e3]).max_p.values
    array([0.11 , 0.099])
    """
    require_discipline(law, "red", link)
    if not law.adaptive:
        raise DomainError(
            "Red adaptive = False leaves max_p as it is: give a law with adaptive = True."
        )
    average = np.atleast_1d(
        validate_quantity(plain_row(avg_bytes), "number", "avg_bytes", closed=True)
    )
    if average.ndim > 1 or not np.all(average < MOST_BYTES):
        raise DomainError(
            f"avg_bytes = {show_value(avg_bytes)} is outside a row of [0, 1e9) bytes: give one"
            " average for each adaptation."
        )
    found = np.empty(len(average))
    _core.replay_red_adaptation(*_red(law, link), average, found)
    variables = {"max_p": Column(("i",), found, "1", "probability at the upper threshold")}
    return replay_dataset(variables, law)


def _red(law: Red, link: Link) -> tuple[dict[str, float], int, float]:
    return discipline_of(law, link)[1], round(float(link.packet_size)), float(link.capacity)
