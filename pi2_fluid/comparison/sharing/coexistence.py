"""`coexistence`: how Classic and Scalable flows share a link under one coupled controller."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.comparison.sharing.pairs import PACKET, Pair, flow_rates, read_pair, require_load
from pi2_fluid.errors import QuantityError, quietly, renamed, show_value
from pi2_fluid.laws.aqms.coupled import CoupledPi2
from pi2_fluid.laws.aqms.dualpi2 import DualPi2
from pi2_fluid.laws.gains import coupling_of
from pi2_fluid.laws.sender import CLOCKS, Sender
from pi2_fluid.laws.senders.reno import Reno
from pi2_fluid.laws.senders.scalable import Scalable
from pi2_fluid.loop.acks import AckLoop, find_echoes
from pi2_fluid.loop.linearization import RTT_TERMS
from pi2_fluid.loop.transfer import Loop
from pi2_fluid.loop.updates import UPDATES
from pi2_fluid.network.equilibrium import OperatingPoint, equilibrium
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.network import refuse_several
from pi2_fluid.results import Column, make_dataset
from pi2_fluid.units import LONG_PATH, validate_choice, validate_quantity

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.laws.aqms.pi_family import PiFamily
    from pi2_fluid.values import BoolArray, ComplexArray, FloatArray, Quantity, Real

# p' = 1/k times k may exceed 1 by a rounding error.
_ROUNDING: Final = 1e-12
#: In the order of the dims.
_COORDS: Final = {
    "rtt_classic": ("s", "round-trip time of the Classic flows' path, without the queue"),
    "rtt_scalable": ("s", "round-trip time of the Scalable flows' path, without the queue"),
    "load": ("1", "p', the controller's variable"),
    "k": ("1", "coupling factor"),
}
_MARGINS: Final = {
    "gain_margin_db": ("dB", "gain margin"),
    "phase_margin_deg": ("degree", "phase margin, not wrapped"),
    "verdict_code": ("1", "1 stable, -1 unstable, 0 undecided or without rest"),
}
_ECHOES: Final = {
    "echo_growth": ("1/s", "growth of the fastest echo mode of the L4S flows; nan without any"),
    "echo_frequency": ("rad/s", "frequency of that mode"),
}


@renamed(mode="update")
def coexistence(
    classic: Sender | None = None,
    scalable: Sender | None = None,
    k: Quantity | None = None,
    *,
    rtts: Quantity,
    load: Quantity,
    aqm: CoupledPi2 | DualPi2 | None = None,
    counts: tuple[float, float] = (1.0, 1.0),
    update: str = "sampled",
    rtt_terms: str = "exact",
    clock: str = "acks",
    progress: Callable[[int, int], None] | None = None,
) -> xarray.Dataset:
    """Return how Classic and Scalable flows share a link, and the margins of their common loop.

    Parameters
    ----------
    classic, scalable : Sender, optional
        The window laws. By default Reno() and Scalable().
    k : float or array (k,), optional
        Coupling factor: Scalable packets see k p', Classic ones p'^2. By default that of `aqm`.
    rtts : float, text, or sequence of either (n,)
        Round-trip times of the paths, without the queue (s). Every Classic flow's is combined with
        every Scalable flow's.
    load : float or array (load,)
        p', in (0, 1]; with `counts` it sets the capacity per flow.
    aqm : CoupledPi2 or DualPi2, optional
        CoupledPi2, the default, is one queue, whose target is part of both round trips. DualPi2 is
        two: Scalable packets wait for nothing, and their round trip is that of the path.
    counts : (float, float)
        Numbers of Classic and Scalable flows; for all that is returned but `capacity`, only their
        ratio matters.
    update, rtt_terms : str
        As in `Loop`, of the margins. The defaults are what a queue runs.
    clock : {"acks", "rate"}
        As in `Loop`, of the margins: what flows without pacing do, whose packets decide, or the
        papers' model. Everything else is the same by both.
    progress : callable, optional
        Called as ``progress(done, total)`` after each loop.

    Returns
    -------
    xarray.Dataset
        Dims ``rtt_classic``, ``rtt_scalable``, ``load`` and ``k``, without those that were given as
        one number. ``rate_ratio`` is the rate of one Classic flow over that of one Scalable flow;
        ``window_classic``, ``window_scalable`` (segments), ``share_scalable`` of the link,
        ``p_prime`` as it was solved for, and ``capacity`` (packets/s), which these flows fill;
        ``gain_margin_db``, ``phase_margin_deg`` and ``verdict_code`` of the loop.

        ``echo_growth`` and ``echo_frequency`` (1/s, rad/s): the echo mode of the Scalable flows of
        a dual queue that grows most, or fades least, of its first eight; see `Loop.echo`. No
        margin, and no verdict, has it in it: it is of flows of one path, and a spread of the paths
        by a fifth removes it. NaN where nothing echoes: in one queue, by the rate clock, of paced
        flows.

        ``saturated``: k p' > 1, so that every Scalable packet is marked and more load no longer
        slows these flows; numbers and margins are those of the flows as they then are.
        ``protected``: in the dual queue, the Scalable flows would take more than the
        1 - c_protection that it leaves them. Nothing rests there: windows, ratio and share are what
        the coupling alone asks for, the margins are NaN and the verdict is 0.

    Raises
    ------
    ScenarioError, QuantityError
        If a sender or the queue is not of its kind, or an argument cannot be read.
    UnsupportedError
        If a sender has no loop by acknowledgements.
    DomainError
        If a number is out of range, or p' beyond the largest that the queue's variant lets it have.

    Notes
    -----
    **What k equalises.** At rest W_classic = w_c / p' and W_scalable = w_s / (k p'), with w_c =
    1 / sqrt(decrease) and w_s = 1 / per_mark. Windows are equal for k = w_s / w_c: sqrt(2) for Reno
    beside Scalable(), 1.095 for CReno. Equation (14) of the PI2 paper has 1.19 for CReno, from
    w_c = 1.68 in place of 1.83, and the paper then sets k = 2, on empirical grounds and for equal
    gains. By these laws that makes one Classic window 1.41 Scalable ones (Reno) or 1.83 (CReno), at
    every load up to p' = 1/k.

    Rates are windows over round trips. In one queue they differ further by the ratio of the round
    trips, target included. In the dual queue only the Classic round trip has the target, so that
    over equal paths of length R the ratio is k w_c / w_s * R / (R + target): with k = 2 and 15 ms
    it is 1 at R = 36 ms (Reno) or 18 ms (CReno), and the Scalable flow is ahead on shorter paths.

    Source: PI2 paper (CoNEXT'16), equations (5)-(14), (19) and (23); RFC 9332, section 2.1.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> table = pf.coexistence(rtts=["20ms", "80ms"], load=0.1)
    >>> table.rate_ratio.dims
    ('rtt_classic', 'rtt_scalable')
    >>> table.rate_ratio.round(2).values.tolist()
    [[1.41, 3.54], [0.57, 1.41]]
    >>> one = pf.coexistence(rtts="36.2ms", load=0.1, aqm=pf.DualPi2())
    >>> round(one.rate_ratio.item(), 3), round(one.gain_margin_db.item(), 1)
    (1.0, 8.9)
    >>> print(f"{one.echo_growth.item():.2f}/s at {one.echo_frequency.item():.0f} rad/s")
    0.63/s at 174 rad/s
    """
    refuse_several(
        classic,
        "two classes share one queue here",
        "ask equilibrium(network) for the rates of all classes, or give two senders",
    )
    validate_choice(update, UPDATES, "update")
    validate_choice(rtt_terms, RTT_TERMS, "rtt_terms")
    validate_choice(clock, CLOCKS, "clock")
    pair = read_pair(
        Reno() if classic is None else classic,
        Scalable() if scalable is None else scalable,
        CoupledPi2() if aqm is None else aqm,
    )
    numbers = _read_counts(counts)
    grid = _read_grid(rtts, load, coupling_of(pair.aqm) if k is None else k)
    spread, shape = _spread(grid)
    pair = pair._replace(aqm=_coupled(pair.aqm, spread["k"]))
    require_load(
        spread["load"], pair.aqm.limit, "load", "the largest p' that this queue lets itself have"
    )
    paths = spread["rtt_classic"], spread["rtt_scalable"]
    rates = flow_rates(pair, paths, spread["load"])
    capacity = np.broadcast_to(numbers[0] * rates[0] + numbers[1] * rates[1], shape)
    flows = _flows(pair, numbers, paths)
    point = equilibrium(flows, pair.aqm, 8.0 * PACKET * capacity, PACKET)
    table = _at_rest(point, spread, pair.aqm, shape)
    resting = ~table["protected"][0]
    model: dict[str, Any] = {"update": update, "rtt_terms": rtt_terms, "clock": clock}
    table |= _margins(pair, numbers, spread, capacity, resting, model, progress)
    attrs: dict[str, str | float] = {
        "engine": "loop",
        "classic": repr(pair.classic),
        "scalable": repr(pair.scalable),
        "aqm": type(pair.aqm).__name__,
        "count_classic": numbers[0],
        "count_scalable": numbers[1],
        **model,
    }
    return _dataset(table, grid, shape, attrs)


def _coupled(aqm: PiFamily, k: Real) -> PiFamily:
    """Return a queue with another coupling factor."""
    numbers: dict[str, Any] = {"k": k}
    return replace(aqm, **numbers)


def _read_grid(rtts: Quantity, load: Quantity, k: Quantity) -> dict[str, Real]:
    paths = _read_axis(rtts, "time", "rtts", usual=LONG_PATH)
    return {
        "rtt_classic": paths,
        "rtt_scalable": paths,
        "load": _read_axis(load, "number", "load", 1.0),
        "k": _read_axis(k, "number", "k"),
    }


def _read_axis(
    given: object, dimension: str, name: str, high: float = math.inf, usual: float = math.inf
) -> Real:
    """Return one number, or a row of them, from numbers or text."""
    value = given
    items = given if isinstance(given, Sequence) and not isinstance(given, str) else ()
    if any(isinstance(item, str) for item in items):
        value = [
            validate_quantity(item, dimension, name) if isinstance(item, str) else item
            for item in items
        ]
    numbers = validate_quantity(value, dimension, name, high=high, usual=usual)
    if np.ndim(numbers) > 1:
        raise QuantityError(
            f"{name} = {show_value(value)} has {np.ndim(numbers)} axes: give one number, or a row"
            " of them."
        )
    return numbers


def _read_counts(counts: object) -> tuple[float, float]:
    numbers = np.asarray(validate_quantity(counts, "number", "counts"))
    if np.shape(numbers) != (2,):
        raise QuantityError(
            f"counts = {show_value(counts)} is no pair: give the numbers of Classic and of Scalable"
            " flows, e.g. (1, 1)."
        )
    return float(numbers[0]), float(numbers[1])


def _dims(grid: dict[str, Any]) -> tuple[str, ...]:
    return tuple(name for name in _COORDS if np.ndim(grid[name]))


def _spread(grid: dict[str, Any]) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Return the rows of numbers, each along an axis of its own, and the shape of all together."""
    dims = _dims(grid)
    spread = {
        name: np.reshape(value, [-1 if dim == name else 1 for dim in dims])
        if name in dims
        else value
        for name, value in grid.items()
    }
    return spread, np.broadcast_shapes(*(np.shape(value) for value in spread.values()))


def _dataset(
    table: dict[str, tuple[Any, str, str]],
    grid: dict[str, Any],
    shape: tuple[int, ...],
    attrs: dict[str, str | float],
) -> xarray.Dataset:
    dims = _dims(grid)
    variables = {
        name: Column(dims, np.broadcast_to(value, shape), units, text)
        for name, (value, units, text) in table.items()
    }
    coords = {
        name: Column((name,) if name in dims else (), value, *_COORDS[name])
        for name, value in grid.items()
    }
    return make_dataset(variables, coords, attrs)


def _flows(pair: Pair, counts: tuple[float, float], base_rtts: tuple[Any, Any]) -> list[Flows]:
    senders = (pair.classic, pair.scalable)
    return [
        Flows(sender, count, base_rtt)
        for sender, count, base_rtt in zip(senders, counts, base_rtts, strict=True)
    ]


def _at_rest(
    point: OperatingPoint, spread: dict[str, Any], aqm: PiFamily, shape: tuple[int, ...]
) -> dict[str, tuple[Any, str, str]]:
    share = np.broadcast_to(point.share[1], shape)
    room = 1.0 - aqm.kept_for_classic
    saturated = np.broadcast_to(spread["k"] * spread["load"] > 1.0 + _ROUNDING, shape)
    return {
        "rate_ratio": (
            point.rate[0] / point.rate[1],
            "1",
            "rate of one Classic flow over that of one Scalable flow",
        ),
        "window_classic": (point.window[0], "segments", "window of one Classic flow"),
        "window_scalable": (point.window[1], "segments", "window of one Scalable flow"),
        "share_scalable": (share, "1", "part of the link that the Scalable flows take"),
        "p_prime": (point.controller, "1", "the controller's variable, solved for"),
        "capacity": (point.capacity, "packets/s", "capacity that these flows fill"),
        "saturated": (saturated, "1", "whether every Scalable packet is marked"),
        "protected": (
            share > room * (1.0 + 1e-9),
            "1",
            "whether the Scalable flows ask for more than the dual queue leaves them",
        ),
    }


def _margins(
    pair: Pair,
    counts: tuple[float, float],
    spread: dict[str, Any],
    capacity: FloatArray,
    resting: BoolArray,
    model: dict[str, Any],
    progress: Callable[[int, int], None] | None,
) -> dict[str, tuple[Any, str, str]]:
    """Margins of the loops that have a state of rest; NaN, and no verdict, of the others."""
    gain, phase, growth, frequency = (np.full(resting.shape, np.nan) for _ in range(4))
    code = np.zeros(resting.shape, dtype=int)
    if resting.any():
        own = {name: np.broadcast_to(v, resting.shape)[resting] for name, v in spread.items()}
        # said by `equilibrium` already
        with quietly():
            loop = Loop(
                _flows(pair, counts, (own["rtt_classic"], own["rtt_scalable"])),
                _coupled(pair.aqm, own["k"]),
                capacity=8.0 * PACKET * capacity[resting],
                packet_size=PACKET,
                **model,
            )
        margins = loop.margins(progress=progress)
        gain[resting], phase[resting] = margins.gain_margin_db, margins.phase_margin_deg
        code[resting] = margins.verdict_code
        fastest = _fastest_echoes(loop)
        growth[resting], frequency[resting] = fastest.real, fastest.imag
    values = (gain, phase, code, growth, frequency)
    return {
        name: (value, *about)
        for (name, about), value in zip((_MARGINS | _ECHOES).items(), values, strict=True)
    }


def _fastest_echoes(loop: Loop) -> ComplexArray:
    """Of each loop of a row the echo mode (rad/s) that grows most; NaN where nothing echoes."""
    fastest = np.full(loop.shape, complex(np.nan, np.nan))
    if isinstance(loop.linear, AckLoop) and loop.linear.dual:
        for index in np.ndindex(loop.shape):
            modes = find_echoes(loop.linear.element(index), loop.update).ravel()
            found = modes[np.isfinite(modes)]  # not of multiples of the update frequency
            if found.size:
                fastest[index] = found[np.argmax(found.real)]
    return fastest
