"""DualPI2's two queues replayed, event by event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import xarray as xr

from pi2_fluid.engines.packet.columns import FULL
from pi2_fluid.engines.packet.laws import discipline_of, require_discipline
from pi2_fluid.engines.packet.replays.events import ETHERNET, EventLog, event_columns, run_events
from pi2_fluid.engines.packet.replays.result import replay_dataset
from pi2_fluid.laws.aqms.dualpi2 import DualPi2
from pi2_fluid.network.link import Link
from pi2_fluid.results import Column
from pi2_fluid.units import validate_number

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def replay_dualpi2(
    *,
    t_us: ArrayLike,
    op: Sequence[str],
    bytes: ArrayLike,
    ecn: ArrayLike,
    rolls: ArrayLike,
    p_base: float | None = None,
    law: DualPi2 | None = None,
    link: Link = ETHERNET,
) -> xr.Dataset:
    """Run packets through DualPI2's queues, one event after the other.

    Parameters
    ----------
    t_us : array of int, shape (ev,)
        When each event happens (us), not falling.
    op : sequence of {"E", "D", "T"}, shape (ev,)
        A packet arrives, the link takes one, or the controller updates.
    bytes, ecn : array of int, shape (ev,)
        Size and ECN field (0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE) of packets that arrive; not read
        of other events.
    rolls : array of int
        The 32-bit random numbers that are consumed, in order; a roll succeeds at or below the
        probability. More than needed do no harm.
    p_base : float, optional
        p', held until the first "T"; None begins at 0.
    law : DualPi2, optional
        Linux's defaults in Linux's integers if None.
    link : Link
        Its packet_size, of which two are the least backlog that is signalled, and its buffer.

    Returns
    -------
    xarray.Dataset
        Along `ev`: id (packets are numbered as they arrive; -1: none), bytes, ecn (as it arrived,
        or as it leaves), n_rolls, result (of arrivals QUEUE or DROP; of departures the ids dropped
        before, or -), ce_set_here (1 if marked here), qlen_C, qlen_L (packets), credit (bytes times
        percent), p_base (p'), the last four after the event.

    Raises
    ------
    QuantityError, DomainError
        If an array is none of numbers, of another length or out of range, or `rolls` are too few.

    Notes
    -----
    Source: Linux 6.18, sch_dualpi2; RFC 9332, Appendix A.

    Examples
    --------
    >>> events = {"t_us": [0, 5000], "op": ["E", "D"], "bytes": [1500, 0], "ecn": [1, 0]}
    >>> replay_dualpi2(**events, rolls=[], p_base=0.1).ecn.values  # marked: 5 ms are above the step
    array([1, 3])
    """
    law = DualPi2(arithmetic="fixed") if law is None else law
    require_discipline(law, "dualpi2", link)
    held = None
    if p_base is not None:
        held = int(validate_number(p_base, "number", "p_base", high=1.0, closed=True) * FULL)
    found = run_events(
        discipline_of(law, link), link, EventLog(t_us, op, bytes, ecn), rolls, held, timer=True
    )
    names = ("id", "bytes", "ecn", "n_rolls", "ce_set_here", "qlen_C", "qlen_L", "result")
    variables = event_columns(found, *names)
    variables["credit"] = Column(("ev",), found["own0"], "B percent", "credit of the Classic queue")
    variables["p_base"] = Column(
        ("ev",), found["own1"] / FULL, "1", "the controller's own variable"
    )
    return replay_dataset(variables, law)
