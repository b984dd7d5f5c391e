"""REM replayed: its price, update by update."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import xarray as xr

from pi2_fluid import _core
from pi2_fluid.engines.packet.columns import read_row
from pi2_fluid.engines.packet.compiled import ECT0
from pi2_fluid.engines.packet.laws import discipline_of, require_discipline
from pi2_fluid.engines.packet.replays.result import replay_dataset
from pi2_fluid.errors import DomainError
from pi2_fluid.laws.aqms.rem import Rem
from pi2_fluid.network.link import Link
from pi2_fluid.network.schedule import NS
from pi2_fluid.results import Column

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

#: That of the ns scripts: 1250 packets per second.
_LINK: Final = Link("10Mbit/s", packet_size="1000B")
_MOST: Final = 10**6


def replay_rem(
    *, arrivals: ArrayLike, backlog: ArrayLike, law: Rem | None = None, link: Link = _LINK
) -> xr.Dataset:
    """Run REM's price update by update, with given arrivals and queues.

    Parameters
    ----------
    arrivals : array of int, shape (i,)
        Packets of the link that have arrived since the update before, or were lost.
    backlog : array of int, shape (i,)
        Packets that wait at the update: no more than waited before and have arrived.
    law : Rem, optional
        ns-2's defaults if None. Nothing is lost here, whatever its `ecn`.
    link : Link
        Its packet_size and its capacity.

    Returns
    -------
    xarray.Dataset
        Along `i`, after the update: price, probability (of a signal).

    Raises
    ------
    QuantityError, DomainError
        If an array is none of numbers, of another length or out of range.

    Notes
    -----
    Source: ns-2, rem.cc; Athuraliya, Low, Li, Yin (2001).

    Examples
    --------
    >>> replay_rem(arrivals=[40, 3], backlog=[30, 31]).price.values.round(6)
    array([0.0385, 0.0401])
    """
    law = Rem() if law is None else law
    require_discipline(law, "rem", link)
    come = read_row(arrivals, "arrivals", 0, _MOST)
    left = read_row(backlog, "backlog", 0, _MOST, len(come))
    before = np.concatenate([[0], left])[:-1]
    if np.any(left > before + come):
        at = int(np.argmax(left > before + come))
        raise DomainError(
            f"backlog = {left[at]} at update {at} is more than the {before[at] + come[at]} packets"
            " that waited before or have arrived: give no more than these."
        )
    # What is marked is not lost: what waits is what is asked for.
    discipline = discipline_of(replace(law, ecn=True), link)
    size = round(float(link.packet_size))
    queue = _core.QueueDiscipline(
        *discipline, limit=4 * _MOST, mtu=size, capacity=float(link.capacity)
    )
    interval = round(float(law.update_interval) * NS)
    found = np.empty((len(come), 2))
    for i, (count, waiting) in enumerate(zip(come.tolist(), left.tolist(), strict=True)):
        for _ in range(count):
            queue.enqueue(i * interval, bytes=size, ecn=ECT0)
        while queue.packets > waiting:
            queue.dequeue(i * interval)
        queue.tick((i + 1) * interval)
        found[i] = queue.probe()[:2]
    columns = {
        "price": Column(("i",), found[:, 0], "1", "price"),
        "probability": Column(("i",), found[:, 1], "1", "probability of a signal"),
    }
    return replay_dataset(columns, law)
