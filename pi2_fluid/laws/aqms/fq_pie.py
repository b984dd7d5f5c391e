"""FQ-PIE: a queue for each flow, with PIE in each."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, ClassVar

from pi2_fluid.laws.aqms.flow_queueing import FlowQueueing
from pi2_fluid.laws.aqms.pie import Pie
from pi2_fluid.records.record import OptionalParameter, Parameter, again

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Line


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class FqPie(FlowQueueing):
    """FQ-PIE: flows have queues of their own that take turns, and Linux's PIE runs in each.

    Parameters
    ----------
    alpha, beta, target, update_interval, arithmetic, quirks, first_update
        As in `Pie`, of each queue.
    rate_estimator, ecn, bytemode
        As in `Pie`.
    mark_limit : float, default 0.1
        Packets that can be marked are marked while p of their queue is at most that; tc's
        ``ecn_prob`` is the same in percent.
    flows : int, default 1024
        Queues into which flows are hashed. Two flows share one by chance, which the seed decides.
    quantum : float or str, optional
        Bytes that a queue sends in its turn; a full packet if None.

    Raises
    ------
    QuantityError
        If a field is no number of its unit, or a word that it does not know.
    DomainError
        If a number is outside its range.
    UnsupportedError
        By every method that a fluid or a loop would call: the loop of one queue is that of `Pie`.

    Notes
    -----
    Queues take turns as in `FqCodel`. One timer updates p of all of them. When more packets wait
    than the link's `buffer`, what arrives is lost, whoever sent it. (Linux counts what exceeds its
    ``memory_limit``, and drops nothing for it.)

    Source: RFC 8033; tc-fq_pie(8); RFC 8290, section 4.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> call = pf.Flows(pf.Cbr(bitrate="100kbit/s"), 1, "20ms", name="call")
    >>> load = pf.Flows(pf.Reno(), 4, "20ms", name="load")
    >>> one = pf.Scenario("10s", pf.Link("10Mbit/s"), pf.FqPie(), [call, load])
    >>> runs = pf.packet.simulate(one, seeds=1)
    >>> waits = pf.summarize(runs, after="2s").delay_mean_of.sel(seed=1)
    >>> print(*(f"{1e3 * wait:.1f} ms" for wait in waits))
    0.6 ms 12.6 ms
    """

    discipline: ClassVar = "fq_pie"
    packets_only: ClassVar = (
        *("arithmetic", "quirks", "first_update", "rate_estimator", "ecn", "mark_limit"),
        "bytemode",
        *("flows", "quantum"),
    )

    alpha: Parameter = again(Pie, "alpha")
    beta: Parameter = again(Pie, "beta")
    target: Parameter = again(Pie, "target")
    update_interval: Parameter = again(Pie, "update_interval")
    arithmetic: str = again(Pie, "arithmetic")
    quirks: bool = again(Pie, "quirks")
    first_update: OptionalParameter = again(Pie, "first_update")
    rate_estimator: bool = again(Pie, "rate_estimator")
    ecn: bool = again(Pie, "ecn")
    mark_limit: Parameter = again(Pie, "mark_limit")
    bytemode: bool = again(Pie, "bytemode")

    @property
    def inner(self) -> Pie:
        """PIE of one queue."""
        shared = {field.name for field in dataclasses.fields(Pie)}
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return Pie(**{name: value for name, value in values.items() if name in shared})

    def packet_parameters(self, link: Line) -> dict[str, Any]:
        """Return what configures the queue discipline, named as in native/packet/queues/fq_pie.c.

        Raises
        ------
        DomainError
            If flows or quantum is no whole number, or as `Pie` does.
        UnsupportedError
            If a field holds an array.
        """
        return {
            **self.queue_parameters(link),
            **self.inner.packet_parameters(link),
            "memory_limit": math.inf,
            "drop_batch": 0,
        }
