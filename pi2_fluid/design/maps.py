"""The safe region of given gains: their margins over round-trip time and rate per flow.

A flow at rate x through a loop of round-trip time R has the window W = x R / (8 packet_size), and
its loop is that of mu = 1/W, whatever the capacity and the number of flows. High rates are the
worse side: there the window is large, the load small, and what damping the window's own decay gives
is gone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.design.plants import make_plants, plant_gain, plant_of
from pi2_fluid.design.region import scan
from pi2_fluid.errors import (
    DomainError,
    QuantityError,
    UnsupportedError,
    quietly,
    renamed,
    show_value,
)
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.gains import has_gains
from pi2_fluid.laws.sender import CLOCKS, Sender
from pi2_fluid.laws.senders.reno import Reno
from pi2_fluid.loop.acks import AckLoop, margins_near
from pi2_fluid.loop.transfer import Loop
from pi2_fluid.loop.updates import UPDATES
from pi2_fluid.records.record import require_scalars
from pi2_fluid.results import Column, make_dataset
from pi2_fluid.results.ratios import with_ratios
from pi2_fluid.units import (
    LONG_PATH,
    SLOW_LINK,
    plain_row,
    validate_choice,
    validate_number,
    validate_quantity,
)

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.values import BoolArray, FloatArray, Quantity

_POINTS: Final = 121
_RTTS: Final = (1e-3, 1.0)  # s
_RATES: Final = (1e4, 1e10)  # bit/s
_BITS: Final = 8.0
_WILD: Final = -360.0  # degrees
# A load of 1 that was computed from its own window may come out a little above.
_ROUNDING: Final = 1e-12


@renamed(mode="update")
def margin_map(
    aqm: PiFamily,
    sender: Sender = Reno(),  # noqa: B008  frozen
    *,
    rtts: Quantity | None = None,
    rates: Quantity | None = None,
    packet_size: Quantity = "1500B",
    update: str = "sampled",
    clock: str = "rate",
) -> xarray.Dataset:
    """Return the margins of a queue's gains over round-trip time and rate per flow.

    Parameters
    ----------
    aqm : Pi, Pie, Pi2, CoupledPi2 or DualPi2
        With its gains. Of the dual queue it is the controller's loop through one class of senders,
        as if it had one queue.
    sender : Reno, CReno, Cubic or Scalable
    rtts : array or str, optional
        Round-trip times, the target of the queue included (s); by default 121 from 1 ms
        to 1 s, even in the logarithm.
    rates : array or str, optional
        Rates of one flow (bit/s); by default 121 from 10 kbit/s to 10 Gbit/s.
    packet_size : float or str
        Size of a packet as the queue counts it (B).
    update : {"sampled", "delayed", "continuous"}
        How the update interval is seen, as in `Loop`.
    clock : {"rate", "acks"}
        Whether rates follow windows over the round-trip time, or acknowledgements, as in `Loop`.

    Returns
    -------
    xarray.Dataset
        ``gain_margin_db`` (dB), ``gain_margin`` (a ratio) and ``phase_margin`` (degree, not
        wrapped) over ``rtt`` and ``rate``, with ``window`` (segments) and ``p_prime`` of the same
        shape. ``inside`` is False where the
        rate asks for a window that no p' up to 1 gives: 1.41 segments of Reno, 1.83 of CReno, 2 of
        Scalable, and of Cubic what `Cubic.at_rest` gives at p = 1. Nothing rests there; both
        margins are NaN there, and nowhere else. By acknowledgements ``inside`` is False, too, where
        the round-trip time is not above the target, which leaves nothing for the path. Below some
        four segments timeouts rule, and no fluid describes the flow well.

    Raises
    ------
    QuantityError, DomainError
        If an argument cannot be read, or no point is inside.
    UnsupportedError
        For pairs without a closed form.

    Notes
    -----
    R is held constant in the window law (``rtt_terms="frozen"``). By rates that is pessimistic in
    gain margin, and up to 5 degrees optimistic in phase margin where windows are small. Margins are
    those of `Loop`, which finds every crossover; of Cubic under a sampled controller they sum fewer
    aliases, and are within 2e-5 dB. By acknowledgements sampled loops have the crossovers next to
    those with a delay of half an interval, within 0.03 dB. To search each for all of its crossovers
    takes thirty times as long, and finds the same. PIE's table ends at p = 1e-6: beyond it the
    margins of Reno fall without bound as the rate grows.

    Source: PI2 paper (CoNEXT'16), equations (19) and (29)-(37); docs/theory.md.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> linux = pf.margin_map(pf.presets.linux_dualpi2(), rtts="100ms", rates="1Mbit/s")
    >>> print(f"{linux.gain_margin_db.item():.2f} dB at {linux.window.item():.2f} segments")
    5.16 dB at 8.33 segments
    """
    validate_choice(update, UPDATES, "update")
    validate_choice(clock, CLOCKS, "clock")
    _check_laws(aqm, sender)
    rtt = _axis(rtts, "time", "rtts", _RTTS, LONG_PATH)
    rate = _axis(rates, "rate", "rates", _RATES, usual_from=SLOW_LINK)
    size = validate_number(packet_size, "size", "packet_size")
    window = np.outer(rtt, rate) / (_BITS * size)
    plant_gain(sender, aqm, np.ones_like(rtt), rtt)  # that there is a loop
    rest: Any = sender.at_rest(rtt, np.ones_like(rtt))
    smallest = np.asarray(rest[0] if isinstance(rest, tuple) else rest)
    p = sender.equilibrium(rtt[:, None], window / rtt[:, None])
    p_prime = np.sqrt(p) if sender.signal == "classic" else p
    inside = np.asarray(p_prime) <= 1.0 + _ROUNDING
    if not inside.any():
        raise DomainError(
            f"rates up to {float(rate[-1]):.3g} bit/s give windows up to {float(window.max()):.3g}"
            f" segments, below {float(smallest.min()):.3g}, where p' would exceed 1: give higher"
            " rates or longer rtts."
        )
    if clock == "acks":
        inside = inside & _leaves_a_path(aqm, rtt)[:, None]
    gain, phase = _margins(aqm, sender, rtt, np.minimum(p_prime, 1.0), inside, update, clock)
    table = {
        "gain_margin_db": (gain, "dB", "gain margin, NaN where not inside"),
        "phase_margin": (phase, "degree", "phase margin, not wrapped, NaN where not inside"),
        "window": (window, "segments", "window of one flow"),
        "p_prime": (p_prime, "1", "load, above 1 where not inside"),
        "inside": (inside, "1", "whether a load of at most 1 gives this window"),
    }
    made = make_dataset(
        {name: Column(("rtt", "rate"), *column) for name, column in table.items()},
        {
            "rtt": Column(("rtt",), rtt, "s", "round-trip time, queue included"),
            "rate": Column(("rate",), rate, "bit/s", "rate of one flow"),
        },
        _provenance(aqm, sender, size, update) | {"clock": clock},
    )
    return with_ratios(made)


def _margins(
    aqm: PiFamily,
    sender: Sender,
    rtt: FloatArray,
    p_prime: FloatArray,
    inside: BoolArray,
    update: str,
    clock: str,
) -> tuple[FloatArray, FloatArray]:
    """Both margins, NaN where not inside."""
    gain, phase = np.full((2, *p_prime.shape), np.nan)
    if update == "sampled" and clock == "rate" and plant_of(sender) == "cubic":
        _scan_rows(gain, phase, aqm, sender, rtt, p_prime, inside)
        return gain, phase
    at = np.broadcast_to(rtt[:, None], inside.shape)[inside]
    # A map is drawn to show where T exceeds R and windows are small, too.
    with quietly():
        if update == "sampled" and clock == "acks":
            found = _sampled_by_acks(aqm, sender, at, p_prime[inside])
        else:
            found = _of_loops(aqm, sender, at, p_prime[inside], update, clock)
    gain[inside], phase[inside] = found
    return gain, phase


def _of_loops(
    aqm: PiFamily, sender: Sender, rtt: FloatArray, p_prime: FloatArray, update: str, clock: str
) -> tuple[Any, Any]:
    """Both margins of loops, searched for all of their crossovers."""
    options: dict[str, Any] = {"rtt": rtt, "p_prime": p_prime, "update": update, "clock": clock}
    found = Loop(sender, aqm.in_one_queue(), **options).margins()
    return found.gain_margin_db, found.phase_margin_deg


def _sampled_by_acks(
    aqm: PiFamily, sender: Sender, rtt: FloatArray, p_prime: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Both margins next to the crossovers with a delay of T/2; where there are none near, all."""
    options: dict[str, Any] = {"rtt": rtt, "p_prime": p_prime, "clock": "acks"}
    delayed = Loop(sender, aqm.in_one_queue(), update="delayed", **options)
    linear, guess = delayed.linear, delayed.margins()
    assert isinstance(linear, AckLoop)
    crossovers = (np.asarray(w) for w in (guess.gain_crossover, guess.phase_crossover))
    near = margins_near(linear, "sampled", *crossovers)
    gain, phase = (near if near is not None else np.full((4, rtt.size), np.nan))[:2]
    phase = phase + 360.0 * np.round((np.asarray(guess.phase_margin_deg) - phase) / 360.0)
    # Whose phase has fallen by full turns may cross many times.
    apart = np.isnan(gain) | np.isnan(phase) | (np.asarray(guess.phase_margin_deg) < _WILD)
    # Where one model is stable and the other is not, margins may be of crossovers far from these.
    stable = np.asarray(guess.gain_margin_db) > 0.0
    apart |= ((gain > 0.0) != stable) | ((phase > 0.0) != stable)
    if apart.any():
        gain[apart], phase[apart] = _of_loops(
            aqm, sender, rtt[apart], p_prime[apart], "sampled", "acks"
        )
    return gain, phase


def _leaves_a_path(aqm: PiFamily, rtt: FloatArray) -> BoolArray:
    """Which round-trip times are above the target.

    Raises
    ------
    DomainError
        If none is.
    """
    target = float(aqm.target)
    above: BoolArray = rtt > target
    if not above.any():
        raise DomainError(
            f"rtts up to {float(rtt[-1]):.4g} s are not above the target, {target:.4g} s, which"
            " leaves nothing for the path that acknowledgements take: give longer rtts, or lower"
            " the target."
        )
    return above


def _scan_rows(
    gain: FloatArray,
    phase: FloatArray,
    aqm: PiFamily,
    sender: Sender,
    rtt: FloatArray,
    p_prime: FloatArray,
    inside: BoolArray,
) -> None:
    """Fill in the margins of sampled loops of Cubic, a quarter of the cost of searching all.

    One round-trip time after the other: each needs its own number of aliases.
    """
    gains = float(aqm.alpha), float(aqm.beta), float(aqm.update_interval)
    for index, where in enumerate(inside):
        load = p_prime[index, where]
        if not load.size:
            continue
        found = scan(make_plants([sender], aqm, rtt[index], [load]), *gains, "sampled")
        gain[index, where], phase[index, where] = found.gain_margin_db, found.phase_margin_deg


def _check_laws(aqm: object, sender: object) -> None:
    if not has_gains(aqm):
        raise UnsupportedError(
            f"aqm = {show_value(aqm)} has no alpha, beta and update_interval: give Pi, Pie, Pi2,"
            " CoupledPi2 or DualPi2."
        )
    if not isinstance(sender, Sender):
        raise QuantityError(f"sender = {show_value(sender)} is no sender: give one, e.g. Reno().")
    require_scalars(aqm, sender)


def _axis(
    values: Quantity | None,
    dimension: str,
    name: str,
    ends: tuple[float, float],
    usual: float = math.inf,
    usual_from: float = -math.inf,
) -> FloatArray:
    if values is None:
        return np.geomspace(*ends, _POINTS)
    row = plain_row(values)
    axis = np.atleast_1d(
        validate_quantity(row, dimension, name, usual=usual, usual_from=usual_from)
    )
    if axis.ndim != 1 or np.any(np.diff(axis) <= 0.0):
        raise QuantityError(f"{name} is no rising sequence: give numbers in one row, in order.")
    return axis


def _provenance(aqm: PiFamily, sender: Sender, packet_size: float, update: str) -> dict[str, Any]:
    names = ("alpha", "beta", "update_interval", "target")
    return {
        "engine": "loop",
        "update": update,
        "rtt_terms": "frozen",
        "aqm": type(aqm).__name__,
        **{name: float(getattr(aqm, name)) for name in names},
        "sender": repr(sender),
        "packet_size": packet_size,
    }
