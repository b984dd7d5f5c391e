"""The controllers of the PI family fed with delays, update by update.

In the kernels' integers every value comes out as the kernel's own code computes it, bit by bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
import xarray as xr

from pi2_fluid import _core
from pi2_fluid.engines.packet.columns import read_backlogs, read_delays, read_numbers
from pi2_fluid.engines.packet.laws import discipline_of
from pi2_fluid.engines.packet.replays.result import replay_dataset
from pi2_fluid.engines.packet.replays.variants import law_of
from pi2_fluid.errors import DomainError, UnsupportedError
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.network.link import Link
from pi2_fluid.results import Column

if TYPE_CHECKING:
    from pi2_fluid.laws.aqms.pi_family import PiFamily
    from pi2_fluid.values import FloatArray, IntArray, Quantity

#: The controller, what Classic packets see, the state, and one column more.
_Found: TypeAlias = tuple[np.ndarray[Any, Any], ...]


class _Start(NamedTuple):
    """The controller's variable, and the delay (ns), before the first update."""

    controller: float
    delay: int


#: Queue disciplines whose controllers have a burst allowance.
_ALLOWING: Final = ("pie",)
#: By what HPE couples the queues of a law that has one.
_COUPLED: Final = 2.0
#: The controllers know nothing of it.
_LINK: Final = Link("10Mbit/s")


def replay(
    variant: str | Aqm,
    *,
    queue_delay: Quantity,
    backlog: Quantity | None = None,
    controller_before: float = 0.0,
    delay_before: Quantity = 0.0,
) -> xr.Dataset:
    """Update a controller once for each of the given queue delays.

    It begins with p = 0 and the delay before 0, or with what is given. No burst allowance is left.

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
    controller_before : float
        The controller's own variable before the first update, in [0, 1].
    delay_before : float or str
        The queue delay at the update before the first (s), in [0, 60].

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
        If a delay, a backlog or the variable is out of range.
    UnsupportedError
        If the queue is not of the PI family, or has no such integers.

    Notes
    -----
    Source: Linux 6.18 and 4.14, sch_pie; Linux 6.18, sch_dualpi2; github.com/olgabo/dualpi2,
    sch_pi2 (2016); RFC 8033, section 4.2.

    Examples
    --------
    >>> steps = replay("linux6.18", queue_delay=[0.0, 0.03, 0.03])
    >>> [hex(int(state)) for state in steps.state]
    ['0x0', '0x1428f532e24', '0x23851e04bed']
    >>> from pi2_fluid.laws.aqms.pi2 import Pi2
    >>> replay(Pi2.from_tc2016(arithmetic="fixed"), queue_delay=[0.03]).controller.item()
    0.096...

    A queue in traffic goes on from where it is:

    >>> then = {"controller_before": 0.01, "delay_before": "20ms"}
    >>> f"{replay('linux6.18', queue_delay=[0.02], **then).p.item():.6f}"
    '0.010312'
    """
    law = law_of(variant)
    delays = read_delays(queue_delay, "queue_delay")
    start = _Start(
        float(read_numbers(controller_before, "controller_before", "number", 1.0, 1)[0]),
        int(read_delays(delay_before, "delay_before", 1)[0]),
    )
    waiting = read_backlogs(0.0 if backlog is None else backlog, "backlog", len(delays))
    if getattr(law, "variant", "") == "hpe":
        found, extra = _replay_hpe(law, delays, start), "overload"
    else:
        found, extra = _replay_update(law, delays, waiting, start), "burst"
    controller, classic, state, last = found
    variables = {
        "p": Column(("step",), classic, "1", "probability that a Classic packet is signalled"),
        "controller": Column(("step",), controller, "1", "the controller's own variable"),
        "state": Column(("step",), state, "1", "the same in the kernel's units"),
    }
    if extra == "overload":
        variables[extra] = Column(("step",), last, "1", "1 while packets are dropped, not marked")
    elif law.discipline in _ALLOWING:
        variables[extra] = Column(("step",), last, "s", "burst allowance that is left")
    return replay_dataset(variables, law)


def _replay_update(law: PiFamily, delay: IntArray, backlog: FloatArray, start: _Start) -> _Found:
    n = len(delay)
    found = np.empty(n), np.empty(n), np.zeros(n, np.uint64), np.empty(n)
    discipline_of(law, _LINK)  # refuses other laws, and those that are many
    name, parameters = law.update_parameters(_LINK)
    _core.replay_update(name, parameters, delay, np.ceil(backlog).astype(np.int64), *found, *start)
    return found


def _replay_hpe(law: PiFamily, delay: IntArray, start: _Start) -> _Found:
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
    coupling = round(256 * float(_COUPLED if law.coupling is None else law.coupling))
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
    _core.replay_hpe(*numbers, delay, controller, classic, state, overload, *start)
    return controller, classic, state, overload
