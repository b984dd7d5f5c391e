"""`by_segments`: the loop by acknowledgements of flows that have few segments, and count them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError, show_value
from pi2_fluid.loop.acks.chain import Chain, Rules, mean_field, reduction_spread
from pi2_fluid.loop.lines import Crossed, crossed_on
from pi2_fluid.loop.transfer import Loop
from pi2_fluid.network.network import Network, refuse_several
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.records.record import declares
from pi2_fluid.results import Column, make_dataset
from pi2_fluid.units import validate_quantity

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.network.flows import Flows
    from pi2_fluid.values import ComplexArray, FloatArray

#: What is left out of `Loop`, in the order in which one builds on another.
PARTS: Final = ("scatter", "pauses", "whole", "counts", "delayed_acks", "bunches")
_CHAIN: Final = PARTS[:4]
_MOST: Final = 100.0  # segments
_KNOTS: Final = 14  # frequencies at which the chain is asked, between which its answer is smooth
_AROUND: Final = (0.4, 2.0)  # of both crossovers, where they lie
_GRID: Final = 1200


class _Place(NamedTuple):
    """A network with what its flows do in packets, and where they rest."""

    network: Network
    loop: Loop
    window: float
    rtt: float


def by_segments(
    network: Network | Scenario,
    frequencies: Sequence[float] | None = None,
    *,
    leave_out: Collection[str] = (),
) -> xarray.Dataset:
    """Return L(j omega) and margins by acknowledgements, of flows that have few segments.

    `Loop` has one window for all flows, a real number. With some ten segments or fewer that misses
    most of what makes a flow's answer late. Here each flow draws its signals by itself, and does
    with whole segments what Linux does (`Chain`).

    Parameters
    ----------
    network : Network or Scenario
        One queue with a PI controller, and one class of `Reno` with at most 100 segments a flow.
    frequencies : sequence of float, optional
        rad/s, rising, at which L is returned. By default fourteen around both crossovers.
    leave_out : collection of str
        Parts that are left out, each with those that build on it, to see what it does:

        * ``"scatter"``: windows differ, and larger ones are signalled more and cut by more, so
          that p' is smaller at the same mean window, and the gain larger;
        * ``"pauses"``: during a reduction a flow neither grows nor hears another signal;
        * ``"whole"``: half of an odd window is rounded down;
        * ``"counts"``: a flow grows when a whole window has been acknowledged since it last grew,
          or was reduced;
        * ``"delayed_acks"``: an acknowledgement of two segments makes the first of them wait for
          the second, so that half a segment more is under way, and the path is longer by half of
          what lies between two of them (where the flows have `delayed_ack`);
        * ``"bunches"``: a window's packets travel in one burst.

    Returns
    -------
    xarray.Dataset
        ``loop`` over ``omega`` (rad/s), complex; ``gain_margin_db``, ``phase_margin_deg``,
        ``gain_crossover``, ``phase_crossover`` (rad/s), NaN where there is none within 0.3 to 3
        times those of `Loop`; ``p_prime``, the controller's variable at rest; ``window``
        (segments).

    Raises
    ------
    QuantityError, DomainError
        If an argument is not as it should be, or there are more segments than 100 or fewer than 3.
    UnsupportedError
        If there are several queues, classes or senders other than Reno, or the queue has no PI
        controller or two bands.

    Notes
    -----
    L is that of ``Loop(clock="acks", update="sampled")`` times the answer of a Markov chain over
    that of one mean window, and times the p' of `Loop` over that of the chain. Nothing is fitted.
    Against loops of marked flows that were measured in packets (`measure_loop`) phase margins are
    right within 4 degrees, and gain margins 0.5 dB too small: docs/ack_clock.md.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> reno = pf.Flows(pf.Reno(), 20, "50ms", ecn=True)
    >>> link = pf.Link("17.14Mbit/s", buffer=1000)
    >>> queue = pf.Pi2(ecn=True, drop_at="dequeue")
    >>> found = pf.loop.by_segments(pf.Network(pf.Node("a", link, queue), reno))
    >>> print(f"{found.gain_margin_db:.1f} dB, {found.phase_margin_deg:.0f} degrees")
    8.8 dB, 68 degrees
    >>> plain = {"capacity": "17.14Mbit/s", "clock": "acks", "update": "sampled"}
    >>> margins = pf.Loop(reno, queue, **plain).margins()
    >>> print(f"{margins.gain_margin_db:.1f} dB, {margins.phase_margin_deg:.0f} degrees")
    10.0 dB, 88 degrees
    """
    from scipy.interpolate import CubicSpline  # 0.2 s to import

    one = network.network if isinstance(network, Scenario) else network
    flow = _require_one_class(one)
    parts = _parts(leave_out)
    place = _place(one, flow, parts)
    margins = place.loop.margins()
    ends = sorted((float(margins.gain_crossover), float(margins.phase_crossover)))
    if not np.isfinite(ends[1]):
        raise DomainError(
            f"the loop has crossovers at {ends[0]:g} and {ends[1]:g} rad/s: with other gains, at"
            " which it has both, this can be asked."
        )
    around = np.geomspace(_AROUND[0] * ends[0], _AROUND[1] * ends[1], _KNOTS)
    omega = around if frequencies is None else _frequencies(frequencies)
    knots = around if frequencies is None else np.union1d(around, omega)
    factor, controller = _factor(place, knots, parts)
    grid = np.linspace(np.log(around[0]), np.log(around[-1]), _GRID)
    smooth = CubicSpline(np.log(knots), np.log(factor))(grid)
    plain = np.asarray(place.loop(1j * np.exp(grid)))
    phase = np.unwrap(np.angle(plain))
    phase -= 2.0 * np.pi * np.ceil((phase[0] - 0.5 * np.pi) / (2.0 * np.pi))
    found = crossed_on(grid, np.log(abs(plain)) + smooth.real, phase + smooth.imag)
    loop = np.asarray(place.loop(1j * omega)) * factor[np.searchsorted(knots, omega)]
    return _dataset(omega, loop, found, controller, place.window)


def _require_one_class(network: object) -> Flows:
    if not isinstance(network, Network):
        raise QuantityError(
            f"network = {show_value(network)} is none: give a Network or a Scenario."
        )
    refuse_several(
        network,
        "windows are counted of flows through one of them",
        "give a network of one, or ask Loop(network)",
    )
    aqm = network.nodes[0].aqm
    if declares(aqm, "encoder") is None or aqm.bands > 1 or not aqm.designable:
        raise UnsupportedError(
            f"{type(aqm).__name__} has no PI controller before one queue: give Pi(), Pie(), Pi2()"
            ' or CoupledPi2(), or ask Loop(clock="acks").'
        )
    flow = network.flows[0] if len(network.flows) == 1 else None
    if flow is None or not _halves(flow.sender):
        raise UnsupportedError(
            "windows are counted of one class of Reno() that halves them and grows per segment:"
            ' give such a class, or ask Loop(clock="acks").'
        )
    return flow


def _halves(sender: object) -> bool:
    """Return whether a sender halves its window at a signal, and grows by one a round trip."""
    numbers = (getattr(sender, "decrease", None), getattr(sender, "increase", None))
    return bool(declares(sender, "plant") == "reno" and numbers == (0.5, 1.0))


def _parts(leave_out: object) -> frozenset[str]:
    """Return the parts that are not left out: of those of the chain, up to the first that is."""
    if isinstance(leave_out, str) or not isinstance(leave_out, Collection):
        raise QuantityError(
            f"leave_out = {show_value(leave_out)} is no list of parts: give some of"
            f" {', '.join(PARTS)}."
        )
    for part in leave_out:
        if part not in PARTS:
            raise QuantityError(
                f"leave_out has {show_value(part)}, which is no part: give some of"
                f" {', '.join(PARTS)}."
            )
    end = min((_CHAIN.index(part) for part in leave_out if part in _CHAIN), default=len(_CHAIN))
    return frozenset(_CHAIN[:end]) | (set(PARTS[len(_CHAIN) :]) - set(leave_out))


def _place(network: Network, flow: Flows, parts: frozenset[str]) -> _Place:
    options: dict[str, Any] = {"clock": "acks", "update": "sampled"}
    options["bunch"] = 1.0 if "bunches" in parts else 0.0
    loop = Loop(network, **options)
    if loop.shape:
        raise UnsupportedError(
            f"windows are counted of one loop, and these numbers are arrays of {loop.shape}: ask"
            ' for each by itself, or Loop(clock="acks") for all.'
        )
    rtt, window = float(loop.operating_point.rtt[0]), float(loop.operating_point.window[0])
    if "delayed_acks" in parts and flow.delayed_ack:
        longer = replace(flow, base_rtt=float(flow.base_rtt) + rtt / (2.0 * window))
        network = replace(network, flows=(longer,))
        loop = Loop(network, **options)
        rtt, window = float(loop.operating_point.rtt[0]), float(loop.operating_point.window[0])
    if not 3.0 <= window <= _MOST:
        raise DomainError(
            f"flows have windows of {window:.5g} segments, where 3 to {_MOST:g} can be counted:"
            ' give another capacity or number of flows, or ask Loop(clock="acks").'
        )
    return _Place(network, loop, window, rtt)


def _frequencies(given: object) -> FloatArray:
    omega = np.array(validate_quantity(given, "number", "frequencies"), dtype=float)
    if omega.ndim != 1 or omega.size == 0 or np.any(np.diff(omega) <= 0.0):
        raise QuantityError(
            f"frequencies = {show_value(given)} is no rising row of numbers: give a list, in rad/s."
        )
    return omega


def _factor(place: _Place, omega: FloatArray, parts: frozenset[str]) -> tuple[ComplexArray, float]:
    """Return by what a loop of one mean window is to be multiplied, and its variable at rest."""
    aqm: Any = place.network.nodes[0].aqm
    before = float(place.loop.operating_point.controller)
    if "scatter" not in parts:
        return np.ones(len(omega), dtype=complex), before
    angles = omega * place.rtt
    rules = Rules(*(name in parts for name in _CHAIN[1:]))
    chain = Chain(place.window, rules)
    answer = chain.answer(angles)
    if not rules.pauses:  # cuts at once, which are carried out over a round trip all the same
        spread = reduction_spread(angles)
        s = 1j * angles * place.window
        answer = answer * spread * (s + 2.0) / (s + 1.0 + spread)
    after = float(aqm.decode(chain.p, "classic"))
    gain = before / after * float(aqm.gain_factor(after)) / float(aqm.gain_factor(before))
    return gain * answer / mean_field(place.window, angles), after


def _dataset(
    omega: FloatArray, loop: ComplexArray, found: Crossed, controller: float, window: float
) -> xarray.Dataset:
    variables = {
        "loop": Column(("omega",), loop, "1", "L(j omega)"),
        "gain_margin_db": Column((), found.gain_margin_db, "dB", "by how much gains may rise"),
        "phase_margin_deg": Column((), found.phase_margin_deg, "degrees", "phase margin"),
        "gain_crossover": Column((), found.gain_crossover, "rad/s", "gain crossover"),
        "phase_crossover": Column((), found.phase_crossover, "rad/s", "phase crossover"),
        "p_prime": Column((), controller, "1", "controller's variable at rest"),
        "window": Column((), window, "segments", "mean window"),
    }
    coords = {"omega": Column(("omega",), omega, "rad/s", "angular frequency")}
    return make_dataset(variables, coords, {})
