"""Arrays of loops by acknowledgements as the compiled search for crossovers takes them.

`native/margins/search/ack_loop.c` does what `plant`, `sampled` and `roots` do here, of loops up to
their reach (`without_echoes`); `pi2_fluid.loop.crossovers` is its twin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pi2_fluid import _core
from pi2_fluid.loop.acks.compiled import kind_of, known, numbers_of
from pi2_fluid.loop.acks.plant import AckClass, AckLoop
from pi2_fluid.loop.acks.roots import fades
from pi2_fluid.loop.compiled import CompiledLoops, columns_of, compile_loops, controller_columns
from pi2_fluid.loop.corners import slowest_corner
from pi2_fluid.loop.open_loop import controller_settles

if TYPE_CHECKING:
    from pi2_fluid.loop.acks.compiled import Whole
    from pi2_fluid.values import BoolArray, FloatArray

_POLYNOMIALS = ("own", "own_reduced", "signal", "signal_reduced", "acks", "acks_reduced")


@compile_loops.register(AckLoop)
def compile_ack_loops(
    loop: AckLoop,
    update: str,
    chosen: BoolArray,
    simd: str | None = None,  # noqa: ARG001  the fastest
) -> CompiledLoops | None:
    """Return chosen ones of an array of loops in compiled code, None if they have no place there.

    That is of laws with more than four states, of late cuts, and of flows that pause.
    """
    loops = _loops(loop, update, chosen)
    return None if loops is None else CompiledLoops(loops, int(np.count_nonzero(chosen)))


def margins_near(
    loop: AckLoop, update: str, w_gc: FloatArray, w_pc: FloatArray
) -> FloatArray | None:
    """Return the margins of an array of loops next to known crossovers, None if C knows no such.

    Parameters
    ----------
    loop : AckLoop
    update : {"continuous", "delayed", "sampled"}
    w_gc, w_pc : numpy.ndarray
        Where a model that is nearly the same has its gain and phase crossover (rad/s), of the
        loop's shape; inf where it has none.

    Returns
    -------
    rows : numpy.ndarray, shape (4, ...)
        Gain margin (dB), phase margin (degrees, from -180 to 180), gain and phase crossover; NaN
        where none is near. Other crossovers are not looked for. Sampled loops sum a third of the
        aliases, and are within 0.03 dB.
    """
    loops = _loops(loop, update, np.ones(loop.shape, dtype=bool), rough=True)
    if loops is None:
        return None
    near = [np.ascontiguousarray(np.broadcast_to(w, loop.shape).ravel()) for w in (w_gc, w_pc)]
    return loops.near(*near).reshape(4, *loop.shape)


def _loops(
    loop: AckLoop, update: str, chosen: BoolArray, *, rough: bool = False
) -> _core.AckLoops | None:
    if not loop.classes or not all(known(cls) for cls in loop.classes):
        return None
    each = columns_of(loop.shape, chosen)
    controllers = controller_columns(loop.controller, update, each)
    if controllers is None:
        return None

    def whole(value: FloatArray, *trailing: int) -> FloatArray:
        if loop.shape == ():
            return np.asarray(value, dtype=float).reshape(1, *trailing)
        return np.broadcast_to(value, loop.shape + trailing)[chosen]

    settles: Any = controller_settles(loop.controller)
    for cls in loop.classes:
        settles = settles & fades(cls)
    return _core.AckLoops(
        [_columns(cls, whole) for cls in loop.classes],
        **controllers,
        queue_delay=each(loop.queue_delay),
        unclocked=each(loop.unclocked),
        slow=each(slowest_corner(loop)),
        settles=each(settles).astype(np.int64),
        bunch=loop.bunch,
        head=loop.measures == "head",
        update=update,
        rough=rough,
    )


def _columns(cls: AckClass, whole: Whole) -> dict[str, Any]:
    """Numbers of a class by the names of `pi2_ack_class` and `pi2_ack_size`, by columns."""
    numbers: dict[str, Any] = numbers_of(cls, whole) | _sizes(cls, whole) | kind_of(cls)
    for name in _POLYNOMIALS:
        numbers[name] = np.ascontiguousarray(numbers[name].T)
    return numbers


def _sizes(cls: AckClass, whole: Whole) -> dict[str, FloatArray]:
    """Norms of the law, for bounds beyond a frequency."""
    size = cls.size
    own, cut = whole(cls.growth_by_state, size, size), whole(cls.cut_by_state, size)
    grown = whole(cls.growth_by_signal, size)
    if size == 1:
        rates, grown = np.abs(own[:, 0, 0]) + np.abs(cut[:, 0]), np.abs(grown[:, 0])
    else:
        rates = np.linalg.norm(own, 2, axis=(-2, -1)) + np.linalg.norm(cut, axis=-1)
        grown = np.linalg.norm(grown, axis=-1)
    return {"rates": rates, "grown": grown, "cut": np.abs(whole(cls.cut_by_signal))}
