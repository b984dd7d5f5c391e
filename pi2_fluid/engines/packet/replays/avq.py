"""AVQ replayed: its virtual queue and virtual capacity, packet by packet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import xarray as xr

from pi2_fluid import _core
from pi2_fluid.engines.packet.columns import read_numbers, read_row
from pi2_fluid.engines.packet.laws import discipline_of, require_discipline
from pi2_fluid.engines.packet.replays.result import replay_dataset
from pi2_fluid.errors import DomainError
from pi2_fluid.laws.aqms.avq import Avq
from pi2_fluid.network.link import Link
from pi2_fluid.network.schedule import NS
from pi2_fluid.results import Column

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pi2_fluid.values import Quantity

#: 1250 packets per second.
_LINK: Final = Link("10Mbit/s", packet_size="1000B")
_LATEST: Final = 1e6  # s


def replay_avq(
    *,
    time: Quantity,
    bytes: ArrayLike | None = None,
    law: Avq | None = None,
    link: Link = _LINK,
) -> xr.Dataset:
    """Return AVQ's virtual queue after each packet that arrives.

    Parameters
    ----------
    time : array of float, shape (i,)
        When each packet arrives (s), rising, kept to whole ns.
    bytes : array of int, shape (i,), optional
        Their sizes; packets of the link if not given.
    law : Avq, optional
        ns-2's defaults if None. All packets can be marked.
    link : Link
        Its packet_size and its capacity. Of its buffer nothing is asked.

    Returns
    -------
    xarray.Dataset
        Along `i`, after the packet: virtual_queue (bytes, or packets if the law does not count in
        bytes), virtual_capacity (the same per second), signalled.

    Raises
    ------
    QuantityError, DomainError
        If an array is none of numbers, of another length or out of range.

    Notes
    -----
    Source: ns-2, vq.cc; Kunniyur, Srikant (2001).

    Examples
    --------
    >>> law = Avq(buffer=1, bytes=False, ecn=True)
    >>> replay_avq(time=[0.0, 0.0005, 0.01], law=law).signalled.values
    array([False,  True, False])
    """
    law = Avq() if law is None else law
    require_discipline(law, "avq", link)
    times = np.rint(read_numbers(time, "time", "time", _LATEST) * NS).astype(np.int64)
    if np.any(np.diff(times) < 0):
        raise DomainError("time falls from one packet to the next: give the packets in order.")
    size = round(float(link.packet_size))
    given: Any = np.full(len(times), size) if bytes is None else bytes
    sizes = read_row(given, "bytes", 0, 65535, len(times))
    found = np.empty((len(times), 3))
    parameters = discipline_of(law, link)[1]
    _core.replay_avq(parameters, size, float(link.capacity), times, sizes, found)
    unit = "B" if law.bytes else "packets"
    columns = {
        "virtual_queue": Column(("i",), found[:, 0], unit, "what the virtual queue holds"),
        "virtual_capacity": Column(("i",), found[:, 1], f"{unit}/s", "rate at which it is served"),
        "signalled": Column(("i",), found[:, 2] > 0.0, "1", "whether the packet was signalled"),
    }
    return replay_dataset(columns, law)
