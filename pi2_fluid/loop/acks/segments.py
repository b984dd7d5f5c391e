"""`by_segments`: the loop by acknowledgements of flows that have few segments, and count them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError, show_value
from pi2_fluid.loop.acks.counted import (
    CHAIN,
    OTHERS,
    Place,
    counts_segments,
    factor_of,
    mean_loop,
    place_of,
)
from pi2_fluid.loop.lines import Crossed, crossed_on
from pi2_fluid.network.equilibrium import require_room
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
PARTS: Final = CHAIN + OTHERS
_KNOTS: Final = 14  # frequencies at which the chain is asked, between which its answer is smooth
_AROUND: Final = (0.4, 2.0)  # of both crossovers, where they lie
_GRID: Final = 1200


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
        One queue with a PI controller, or a dual queue, and any classes of flows. Classes of
        `Reno`, `CReno` and `Cubic` with 3 to 100 segments a flow are counted, one at least. Others
        answer as in `Loop(clock="acks")`, DCTCP by its law "renewal". A scenario is
        taken as ``Loop(scenario.network)``: all its flows, whenever they start and stop, at the
        capacity and the counts of its beginning, without its changes.
    frequencies : sequence of float, optional
        rad/s, rising, at which L is returned. By default fourteen around both crossovers.
    leave_out : collection of str
        Parts that are left out, each with those that build on it, to see what it does (of `Cubic`
        the first four together):

        * ``"scatter"``: windows differ, and larger ones are signalled more and cut by more, so
          that p' is smaller at the same mean window, and the gain larger;
        * ``"pauses"``: during a reduction a flow neither grows nor hears another signal;
        * ``"whole"``: half of an odd window is rounded down;
        * ``"counts"``: a flow grows when a whole window has been acknowledged since it last grew,
          or was reduced;
        * ``"delayed_acks"``: an acknowledgement of two segments makes the first of them wait for
          the second, so that half a segment more is under way, and the path is longer by half of
          what lies between two of them, except for marks, which are told at once (where the flows
          have `delayed_ack`);
        * ``"bunches"``: a window's packets travel in one burst;
        * ``"recovery"``: where signals are losses, the packet is missing at once, and the sender
          notices it some acknowledgements late, and cuts the rest in one round trip. It builds on
          ``"pauses"``.

    Returns
    -------
    xarray.Dataset
        ``loop`` over ``omega`` (rad/s), complex, without echoes; ``gain_margin_db``,
        ``phase_margin_deg``, ``gain_crossover``, ``phase_crossover`` (rad/s), NaN where there is
        none within 0.4 to 2 times those of `Loop`; ``p_prime``, the controller's variable at rest;
        ``window`` (segments in flight) over ``flow``.

    Raises
    ------
    QuantityError, DomainError
        If an argument is not as it should be, or a class that is counted has more segments than 100
        or fewer than 3; if the buffer holds less than waits at rest; if the loop is far beyond its
        boundary, where its gain falls through 1 and its phase has long passed -180 degrees.
    UnsupportedError
        If there are several queues, no class that is counted, or no PI controller.
    SolverError
        If no rest was found.

    Notes
    -----
    L is that of ``Loop(clock="acks", update="sampled")`` where flows rest so, with the answer of a
    Markov chain, class by class, in place of that of one mean window. Nothing is fitted. Against
    loops that were measured in packets (`measure_loop`) of one and several classes, marks and
    drops, single and dual queues, phase margins are right within 3 degrees and gain margins within
    0.6 dB (root mean square): docs/ack_clock.md.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> reno = pf.Flows(pf.Reno(), 20, "50ms", ecn=True)
    >>> link = pf.Link("17.14Mbit/s", buffer=1000)
    >>> queue = pf.Pi2(ecn=True, drop_at="dequeue")
    >>> found = pf.loop.by_segments(pf.Network(pf.Node("a", link, queue), reno))
    >>> print(f"{found.gain_margin_db:.1f} dB, {found.phase_margin_deg:.0f} degrees")
    9.4 dB, 70 degrees
    >>> plain = {"capacity": "17.14Mbit/s", "clock": "acks", "update": "sampled"}
    >>> margins = pf.Loop(reno, queue, **plain).margins()
    >>> print(f"{margins.gain_margin_db:.1f} dB, {margins.phase_margin_deg:.0f} degrees")
    10.0 dB, 88 degrees
    """
    from scipy.interpolate import CubicSpline  # 0.2 s to import

    one = network.network if isinstance(network, Scenario) else network
    one = _require_countable(one)
    parts = _parts(leave_out)
    place = place_of(one, parts)
    require_room(place.loop.operating_point.queue, one.nodes[0].link)
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
    factor = factor_of(place, knots)
    grid = np.linspace(np.log(around[0]), np.log(around[-1]), _GRID)
    smooth = CubicSpline(np.log(knots), np.log(factor))(grid)
    plain = mean_loop(place, np.exp(grid))
    phase = np.unwrap(np.angle(plain))
    phase -= 2.0 * np.pi * np.ceil((phase[0] - 0.5 * np.pi) / (2.0 * np.pi))
    found = crossed_on(grid, np.log(abs(plain)) + smooth.real, phase + smooth.imag)
    _require_margins(found, float(margins.gain_margin_db))
    loop = mean_loop(place, omega) * factor[np.searchsorted(knots, omega)]
    return _dataset(omega, loop, found, float(place.loop.operating_point.controller), place)


def _require_countable(network: object) -> Network:
    """Return the network, DCTCP in it as flows under marks at random have it."""
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
    if declares(aqm, "encoder") is None or not aqm.designable:
        raise UnsupportedError(
            f"{type(aqm).__name__} has no PI controller: give Pi(), Pie(), Pi2(), CoupledPi2() or"
            ' DualPi2(), or ask Loop(clock="acks").'
        )
    if not any(counts_segments(flow.sender) for flow in network.flows):
        raise UnsupportedError(
            "windows are counted of flows that grow per segment, and lose a part of it at a"
            ' signal: give a class of Reno(), CReno() or Cubic(), or ask Loop(clock="acks").'
        )
    return replace(network, flows=tuple(_renewing(flow) for flow in network.flows))


def _require_margins(found: Crossed, of_mean: float) -> None:
    """Refuse loops whose phase passes -180 degrees far below where their gain falls through 1."""
    if found.phase_margin_deg < 0.0 and not np.isfinite(found.gain_margin_db):
        raise DomainError(
            f"the loop is far beyond its boundary, at a gain margin of about {of_mean:.2g} dB: give"
            ' lower gains, or ask Loop(clock="acks").'
        )


def _renewing(flow: Flows) -> Flows:
    sender: Any = flow.sender
    if getattr(sender, "law", "") == "rate":  # the other says what an acknowledgement does
        return replace(flow, sender=replace(sender, law="renewal"))
    return flow


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
    end = min((CHAIN.index(part) for part in leave_out if part in CHAIN), default=len(CHAIN))
    return frozenset(CHAIN[:end]) | (set(OTHERS) - set(leave_out))


def _frequencies(given: object) -> FloatArray:
    omega = np.array(validate_quantity(given, "number", "frequencies"), dtype=float)
    if omega.ndim != 1 or omega.size == 0 or np.any(np.diff(omega) <= 0.0):
        raise QuantityError(
            f"frequencies = {show_value(given)} is no rising row of numbers: give a list, in rad/s."
        )
    return omega


def _dataset(
    omega: FloatArray, loop: ComplexArray, found: Crossed, controller: float, place: Place
) -> xarray.Dataset:
    variables = {
        "loop": Column(("omega",), loop, "1", "L(j omega)"),
        "gain_margin_db": Column((), found.gain_margin_db, "dB", "by how much gains may rise"),
        "phase_margin_deg": Column((), found.phase_margin_deg, "degrees", "phase margin"),
        "gain_crossover": Column((), found.gain_crossover, "rad/s", "gain crossover"),
        "phase_crossover": Column((), found.phase_crossover, "rad/s", "phase crossover"),
        "p_prime": Column((), controller, "1", "controller's variable at rest"),
        "window": Column(("flow",), place.windows, "segments", "mean window in flight"),
    }
    coords = {"omega": Column(("omega",), omega, "rad/s", "angular frequency")}
    coords["flow"] = Column(("flow",), np.array(place.names), "1", "class of flows")
    return make_dataset(variables, coords, {})
