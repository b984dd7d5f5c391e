"""Any Sender that says what an acknowledgement does, and any Aqm -> a loop by acknowledgements.

The laws' `acked` is differentiated where it rests, as `rate` is for the rate clock. The numbers of
acknowledgements that come per second move with the queue; ``rtt_terms="frozen"`` holds what they
add to a window and what marks they bring at W/R, ``"exact"`` lets both follow. At rest the one is
what the other takes away, so that the difference is of the order of 1/W, and none for one class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pi2_fluid.errors import DomainError, UnsupportedError
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.derivatives import as_arrays, differentiate, numeric
from pi2_fluid.laws.sender import Sender
from pi2_fluid.laws.tapes import evaluate
from pi2_fluid.loop.acks.pauses import Pauses
from pi2_fluid.loop.acks.plant import AckClass, AckLoop
from pi2_fluid.loop.controllers import linearize_aqm
from pi2_fluid.loop.linearization import loop_shape, per_class, require_windows
from pi2_fluid.loop.link import couple
from pi2_fluid.network.equilibrium import OperatingPoint

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, Number


def linearize_acks(
    senders: Sequence[Sender],
    aqm: Aqm,
    point: OperatingPoint,
    rtt_terms: str = "frozen",
    bunch: float = 0.0,
) -> AckLoop:
    """Linearise senders and queue at their operating point, by acknowledgements.

    Parameters
    ----------
    senders : sequence of Sender
        One per class.
    aqm : Aqm
        The queue.
    point : OperatingPoint
        Where to linearise.
    rtt_terms : {"frozen", "exact"}
        Whether the laws are told that acknowledgements come faster or slower.
    bunch : float
        See `AckLoop`.

    Raises
    ------
    DomainError
        If a round-trip time leaves nothing for the path, or a window is 0.
    UnsupportedError
        If a law does not say what an acknowledgement does, or cannot be differentiated, or L4S
        traffic is up against what a dual queue keeps for Classic traffic.
    """
    require_windows(senders, point)
    shape = loop_shape(senders, aqm, point)
    slopes, controller = linearize_aqm(aqm, point, shape)
    couple(senders, aqm, point, shape)  # refuses what no loop is built of
    shares = as_arrays(list(per_class(point.share)), shape)
    l4s = [aqm.rests_apart and sender.signal == "scalable" for sender in senders]
    delays = point.queue_delay if isinstance(point.queue_delay, tuple) else (point.queue_delay,)
    alone = len(delays) > 1 and not np.any(delays[0])
    (queue_delay,) = as_arrays([delays[1] if alone else delays[0]], shape)
    waiting = [in_l == alone for in_l in l4s] if len(delays) > 1 else [True] * len(senders)
    total: Any = sum(share for share, waits in zip(shares, waiting, strict=True) if waits)
    classes, unclocked = [], np.zeros(shape)
    states = zip(senders, point.states, per_class(point.p), per_class(point.rtt), strict=True)
    each = zip(states, shares, waiting, strict=True)
    for number, ((sender, *rest), share, waits) in enumerate(each):
        if sender.constant_rate is not None:
            unclocked = unclocked + (share / total if waits else 0.0)
            continue
        if alone and not waits:
            raise UnsupportedError(
                f"{type(sender).__name__} flows share the link with L4S traffic whose queue rules"
                " alone, and their own is empty, so that they have no part in its loop: leave them"
                " out."
            )
        slope = slopes[sender.signal] if sender.signal else np.zeros(shape)
        own_delay = queue_delay if waits else np.zeros(shape)
        cls = linearize_class(sender, rest, slope, own_delay, shape)
        late = cls.rtt if aqm.signals_at == "enqueue" else cls.base_rtt
        acks = 1.0 if rtt_terms == "exact" else 0.0
        classes.append(
            replace(
                cls,
                growth_by_acks=acks * cls.growth_by_acks,
                cut_by_acks=acks * cls.cut_by_acks,
                heard=late,
                share=share / total,
                waits=waits,
                number=number,
            )
        )
    return AckLoop(tuple(classes), unclocked, queue_delay, aqm.measures, bunch, controller, shape)


def ack_slopes(
    sender: Sender, x: tuple[Number, ...], acks: Number, marks: Number, rtt: Number
) -> tuple[tuple[Number, ...], ...]:
    """Differentiate a window law's `acked` at rest: a pure function, as `rate_slopes`.

    Returns
    -------
    tuple of tuple
        [j][i] is d(change_i), and with i = n d(cut), over the j-th of (x, acks, marks).
    """
    return differentiate(sender, "acked", (*x, acks, marks, rtt), range(len(x) + 2))


def linearize_class(
    sender: Sender,
    rest: Sequence[Any],
    slope: FloatArray,
    queue_delay: FloatArray,
    shape: tuple[int, ...],
) -> AckClass:
    """A class that waits, signalled as it leaves."""
    state, p, rtt = rest
    values = state if isinstance(state, tuple) else (state,)
    arrays = as_arrays([*values, p, rtt], shape)
    window, round_trip, size = arrays[0], arrays[-1], len(arrays) - 2
    path = np.asarray(round_trip - queue_delay)
    if np.any(path < 0.0):
        raise DomainError(
            f"rtt = {float(np.min(round_trip)):.4g} s is shorter than the queue delay at rest,"
            f" {float(np.max(queue_delay)):.4g} s, which leaves nothing for the path that"
            " acknowledgements take: raise rtt, or lower the target."
        )
    *x, p, rtt = [float(array) for array in arrays] if shape == () else arrays  # much faster so
    acks: Any = evaluate(sender, "sending_rate", *x, rtt)[0] + (np.zeros(shape) if shape else 0.0)
    each = acks * p * rtt
    if sender.pauses:
        acks = acks / (1.0 + each)  # of those that do not
    marks = acks * p
    *grown, lost = evaluate(sender, "acked", *x, acks, marks, rtt)  # or it says that it cannot
    what = f"{type(sender).__name__}.acked"
    columns = [
        [numeric(entry, shape, what) for entry in column]
        for column in ack_slopes(sender, tuple(x), acks, marks, rtt)
    ]
    by_state = np.array(columns[:size])  # [j, i]: move both to the end as [i, j]
    by_acks = [a * acks + m * marks for a, m in zip(columns[size], columns[size + 1], strict=True)]
    by_signal = [m * acks * slope for m in columns[size + 1]]
    pauses = None
    if sender.pauses:
        pauses = Pauses(
            marks=np.asarray(each),
            signal=np.asarray(slope / p),
            growth=np.moveaxis(np.array(by_acks[:size]), 0, -1),
            cut=np.asarray(by_acks[size]),
            counted=np.asarray(lost - grown[0] if sender.counts else 0.0) + np.zeros(shape),
            window=window,
        )
    return AckClass(
        growth_by_state=np.moveaxis(by_state[:, :size], (0, 1), (-1, -2)),
        cut_by_state=np.moveaxis(by_state[:, size], 0, -1),
        growth_by_signal=np.moveaxis(np.array(by_signal[:size]), 0, -1),
        cut_by_signal=np.asarray(by_signal[size]),
        growth_by_acks=np.moveaxis(np.array(by_acks[:size]), 0, -1),
        cut_by_acks=np.asarray(by_acks[size]),
        window=window,
        base_rtt=path,
        rtt=round_trip,
        heard=path,
        share=np.ones(shape),
        waits=True,
        prr=sender.reduction == "prr" and not sender.paced,  # a pace is lowered at once
        paced=bool(sender.paced),
        late=sender.reduction == "late" and not sender.paced,
        pauses=pauses,
    )
