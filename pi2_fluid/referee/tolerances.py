"""How far simulated statistics may lie from measured ones.

*Tight* is three standard deviations of the difference between the mean of ten simulated runs and
that of three measured ones, by the simulator's own scatter, rounded; *loose* is twice that, what
another sane implementation of the same rules should reach. Loose is what is judged; tight is
reported. They were set with an earlier, separate program, before this simulator was written.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Tolerance(NamedTuple):
    """Of one statistic: parts of the reference, or, for utilisation, of the capacity."""

    tight: float
    loose: float | None
    """None: reported only."""
    slots: tuple[float, float] = (0.0, 0.0)
    """Besides, times of one packet on the link: of quantiles, which move in such steps."""
    absolute: bool = False


_Family = dict[str, Tolerance]

_SLOTS: Final = (1.0, 2.0)


def _points(tight: float, loose: float) -> Tolerance:
    return Tolerance(0.01 * tight, 0.01 * loose, absolute=True)


def _percent(tight: float, loose: float | None) -> Tolerance:
    return Tolerance(0.01 * tight, None if loose is None else 0.01 * loose)


def _quantile(tight: float, loose: float | None, slots: tuple[float, float] = _SLOTS) -> Tolerance:
    return _percent(tight, loose)._replace(slots=slots)


def _family(
    utilization: tuple[float, float],
    mean: tuple[float, float],
    sd: tuple[float, float] | None = None,
    middle: tuple[float, float] | None = None,
    p95: tuple[float, float] | None = None,
    p99: tuple[float, float | None] | None = None,
    drop: tuple[float, float] | None = None,
    window: tuple[float, float] | None = None,
    **others: tuple[float, float],
) -> _Family:
    """Return the tolerances of a kind of cell: points of utilisation, % of everything else."""
    table = {"utilization": _points(*utilization), "delay_mean": _percent(*mean)}
    if sd:
        table["delay_sd"] = _percent(*sd)
    if middle:
        table |= {f"delay_p{level}": _quantile(*middle) for level in (25, 50, 75)}
    if p95:
        table["delay_p95"] = _quantile(*p95)
    if p99 or p95:
        table["delay_p99"] = _quantile(*(p99 or p95 or (0.0, 0.0)))
    if drop:
        table["drop_fraction"] = _percent(*drop)
    if window:
        table["window"] = _percent(*window)
    return table | {name: _percent(*pair) for name, pair in others.items()}


_SLOT_ONLY: Final = (0.0, 0.0)
_L_TAIL: Final = _quantile(0.0, 0.0, (2.0, 2.0))

_DUAL_C: Final = _family(
    (0.03, 0.1), (2.5, 5), (20, 40), (5, 10), (7, 14), drop=(14, 28), window=(7, 14), rate=(7, 14),
    controller=(5, 10),
)  # fmt: skip
_DUAL_L: Final = _family(
    (0.03, 0.1), (2, 4), (20, 40), (5, 10), window=(3.5, 7), mark_fraction=(3.5, 7),
) | {"delay_p95": _L_TAIL, "delay_p99": _L_TAIL}  # fmt: skip

#: By kind of cell; where the groups of flows of a cell differ, its kind and the group.
TOLERANCES: Final[dict[str, _Family]] = {
    "pie": _family(
        (0.4, 0.8), (3.5, 7), (16, 30), (10, 20), (8, 20), (12, 20), (5, 10), (0.7, 1.5)
    ),
    "pi2": _family((0.8, 1.5), (3, 6), (6, 12), (5, 10), (5, 10), None, (5, 12), (1.2, 2.5)),
    "codel, red": _family(
        (1, 2), (4.5, 9), (2, 5), _SLOT_ONLY, _SLOT_ONLY, None, (5, 10), (1.5, 3)
    ),
    "fifo": _family((0.1, 0.3), (3.5, 7), (9, 18), (6, 12), _SLOT_ONLY, None, (6, 12), (1.5, 3)),
    "50 flows": _family(
        (0.05, 0.2), (0.7, 1.5), (6, 12), _SLOT_ONLY, (4, 8), None, (2, 4), (1, 2),
        timeouts=(15, 30), controller=(2, 4),
    ),
    "20 flows": _family(
        (0.3, 0.6), (2.3, 4.5), (7, 12), _SLOT_ONLY, (7, 14), None, (3, 6), (0.6, 1.5)
    ),
    "steps": _family(
        (0.1, 0.3), (3, 6), (10, 20), (7, 14), (5, 10), (35, None), (3, 6), (3, 5)
    ),
    "overload, reno": _family(
        (0.03, 0.1), (2, 4), (18, 30), (5, 15), (9, 20), (13, 20), (4.5, 9), (4, 8),
        rate=(8, 15), timeouts=(15, 30),
    ),
    "overload, udp": _family(
        (0.03, 0.1), (2, 4), (18, 30), (5, 15), (9, 20), (13, 20), (2, 4)
    ),
    "dual, cubic": _DUAL_C,
    "dual, dctcp": _DUAL_L,
    "ties, cubic": _family((0.1, 0.3), (5, 10), drop=(10, 25)),
    "ties, dctcp": _family((0.1, 0.3), (6, 12), rate=(35, 35), mark_fraction=(35, 35)),
    "pie ecn, cubic": _family(
        (0.15, 0.45), (9, 18), (30, 60), (22.5, 22.5), (15, 30), None, (34.5, 67.5), (22.5, 45)
    ),
    "pie ecn, dctcp": _family(
        (0.15, 0.45), (9, 18), (30, 60), (22.5, 22.5), (15, 30), None, None, (12, 24)
    ),
    "response, reno": {"response": _percent(3, 6)},
    "response, dctcp": {"response": _percent(1.5, 3)},
}  # fmt: skip
