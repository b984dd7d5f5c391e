"""Margins of one class in one queue by acknowledgements, of arrays of loops at once.

Senders and queue are theta = e^{-s tau} R w there, so that with v = w R the loop is

    L(jv) = gain (a + jcv) N e^{-jv delay} / (jv (jv + own + cut P)),    N = P or 1,

whose crossovers docs/proofs.md proves unique ("Why there is one crossover of each kind").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pi2_fluid import _core
from pi2_fluid.loop.acks.plant import AckLoop

if TYPE_CHECKING:
    from pi2_fluid.values import BoolArray, FloatArray


def closed_form_ack_margins(
    loop: AckLoop, *, half_sample: bool
) -> tuple[FloatArray, BoolArray] | None:
    """Return (gain_margin_db, phase_margin_deg, w_gc, w_pc) as rows, and where they are valid.

    None if the loop is none of one window with one state that is cut, alone in one queue, under a
    controller of a proportional and an integral part. If the law follows acknowledgements, that
    has no part in such a loop.
    """
    (cls, *others), controller = loop.classes, loop.controller
    if others or cls.size > 1 or cls.paced or not cls.waits or (cls.prr and loop.bunch > 0.0):
        return None
    top, bottom, unit = controller.continuous_image
    if len(top) != 2 or len(bottom) != 2 or np.any(bottom[0]):
        return None
    if np.any(loop.unclocked) or np.any(cls.growth_by_signal):
        return None
    if cls.late or cls.pauses is not None:
        return None
    R: Any = cls.rtt
    delay = cls.heard + (loop.queue_delay if loop.measures == "head" else 0.0)
    if half_sample:
        delay = delay + controller.interval / 2
    growth, cut = -cls.growth_by_state[..., 0, 0] * R, cls.cut_by_state[..., 0] * R
    columns = {
        "gain": cls.cut_by_signal * R**3 / (cls.window * bottom[1] * unit),
        "a": top[0],
        "c": top[1] * unit / R,
        "own": growth if cls.prr else growth + cut,
        "cut": cut if cls.prr else 0.0,
        "delay": delay / R,
    }
    flat = {
        name: np.ascontiguousarray(np.broadcast_to(value, loop.shape).ravel(), dtype=float)
        for name, value in columns.items()
    }
    rows = _core.ack_margins(reduces=cls.prr, **flat).reshape(4, *loop.shape)
    rows[2:] /= R
    return rows, np.isfinite(rows[0])
