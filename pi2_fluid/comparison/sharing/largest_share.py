"""`largest_l4s_share`: how much of a dual queue's link Scalable traffic may take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.optimize import brentq

from pi2_fluid.comparison.sharing.pairs import PACKET, Pair, flow_rates, read_pair, require_load
from pi2_fluid.errors import ScenarioError, quietly, renamed, show_value
from pi2_fluid.laws.aqms.dualpi2 import DualPi2
from pi2_fluid.laws.gains import coupling_of
from pi2_fluid.laws.presets import linux_dualpi2
from pi2_fluid.laws.sender import CLOCKS, Sender
from pi2_fluid.laws.senders.reno import Reno
from pi2_fluid.laws.senders.scalable import Scalable
from pi2_fluid.loop.linearization import RTT_TERMS
from pi2_fluid.loop.transfer import Loop
from pi2_fluid.loop.updates import UPDATES
from pi2_fluid.network.flows import Flows
from pi2_fluid.units import LONG_PATH, broadcast_shape, validate_choice, validate_quantity

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, Quantity, Real

_EDGE: Final = 1e-9  # so near the whole room: at it the scheduler holds Scalable traffic back
_STEPS: Final = 24  # of the share: between two of them, stability is taken to be lost once at most
_LEAST: Final = 1e-9  # share: nearly no Scalable traffic at all
_PACKETS: Final = 1e4  # per second; nothing depends on it, since counts are real numbers
_DIGITS: Final = 1e-9  # of the share
_WIDEST: Final = 200.0  # dB, in place of an infinite margin


@renamed(mode="update")
def largest_l4s_share(
    aqm: DualPi2 | None = None,
    *,
    base_rtt: Quantity,
    p_prime: Quantity,
    classic: Sender | None = None,
    scalable: Sender | None = None,
    base_rtt_scalable: Quantity | None = None,
    update: str = "sampled",
    rtt_terms: str = "exact",
    clock: str = "acks",
) -> Real:
    """Return the largest share of a dual queue's link with which its coupled loop is stable.

    While Classic packets wait, the controller of a dual queue rules, and Scalable packets pass
    them: what these take is missing in the service of the Classic queue, whose delay answers the
    more strongly the smaller the Classic share is. From some share on, the loop is unstable.

    Parameters
    ----------
    aqm : DualPi2, optional
        The queue; by default Linux's, `presets.linux_dualpi2`.
    base_rtt : float, array or str
        Round-trip time of the paths, without the queue (s).
    p_prime : float or array
        The load p', in (0, 1/k]; it is kept while the share changes.
    classic, scalable : Sender, optional
        The window laws. By default Reno() and Scalable().
    base_rtt_scalable : float, array or str, optional
        The Scalable flows' path, if it is another (s).
    update, rtt_terms : str
        As in `Loop`. The defaults are what a queue runs.
    clock : {"acks", "rate"}
        As in `Loop`: what flows without pacing do, whose packets decide, or the papers' model.

    Returns
    -------
    float or array
        The loop is stable with every smaller share. 0 if it is unstable with Classic traffic alone;
        1 - c_protection if it is stable up to there, where the scheduler begins to hold Scalable
        traffic back and the loop is another one.

    Raises
    ------
    ScenarioError, QuantityError
        If a sender or the queue is not of its kind, or an argument cannot be read.
    UnsupportedError
        If a sender has no loop by acknowledgements.
    DomainError
        If a number is out of range, or every Scalable packet marked at such a load.

    Notes
    -----
    **A boundary of the loop**, below 0.8 of the harmonic of the Scalable flows. Flows of one path
    that do not pace have echo modes beside it, at harmonics of their round-trip time; these are no
    part of the number, see `Loop.echo` and ``echo_growth`` of `coexistence`.

    **A prediction**, of mean windows. Packets under Linux's rules confirm that Scalable traffic
    destabilises this loop, while the same flows settle in one coupled queue. Over paths of 50 ms
    they begin to oscillate between 76 and 82 % (80 % by acknowledgements, 74 % by rates),
    over 85 ms between 54 and 75 % (62 %, and 31 % by rates), with paths that differ by up to a
    fifth. The documentation's page on coexistence says how that was measured.

    Source: the coupling is that of RFC 9332, section 2.1, and Linux's sch_dualpi2; the loop is
    derived in the documentation's page on theory.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> print(f"{pf.largest_l4s_share(base_rtt='85ms', p_prime=0.02):.3f}")
    0.621
    >>> slower = pf.presets.rfc9332("200ms")
    >>> print(f"{pf.largest_l4s_share(slower, base_rtt='85ms', p_prime=0.02):.3f}")
    0.875
    """
    validate_choice(update, UPDATES, "update")
    validate_choice(rtt_terms, RTT_TERMS, "rtt_terms")
    validate_choice(clock, CLOCKS, "clock")
    model: dict[str, Any] = {"update": update, "rtt_terms": rtt_terms, "clock": clock}
    queue = linux_dualpi2() if aqm is None else aqm
    if getattr(queue, "bands", 1) == 1:
        raise ScenarioError(
            f"aqm = {show_value(aqm)} has no L4S queue of its own: give e.g. DualPi2()."
        )
    pair = read_pair(
        Reno() if classic is None else classic,
        Scalable() if scalable is None else scalable,
        queue,
    )
    paths = validate_quantity(base_rtt, "time", "base_rtt", usual=LONG_PATH)
    given = base_rtt if base_rtt_scalable is None else base_rtt_scalable
    mine = validate_quantity(given, "time", "base_rtt_scalable", usual=LONG_PATH)
    load = validate_quantity(p_prime, "number", "p_prime", high=1.0)
    highest = min(float(queue.limit), 1.0 / float(coupling_of(queue)))
    require_load(load, highest, "p_prime", "where every Scalable packet is marked already")
    shape = broadcast_shape({"base_rtt": paths, "base_rtt_scalable": mine, "p_prime": load})
    shares = np.empty(shape)
    rows = [np.broadcast_to(value, shape) for value in (paths, mine, load)]
    for index in np.ndindex(shape):
        r_c, r_l, u = (float(row[index]) for row in rows)
        shares[index] = _largest(pair, (r_c, r_l), u, model)
    return shares if shape else float(shares)


def _largest(
    pair: Pair, base_rtts: tuple[float, float], p_prime: float, model: dict[str, Any]
) -> float:
    """Return where the gain margin first falls to 0, between the steps of the share."""

    def margin(share: Real) -> FloatArray:
        loop = _loop(pair, base_rtts, p_prime, share, model)
        return np.clip(loop.margins().gain_margin_db, -_WIDEST, _WIDEST)

    room = 1.0 - float(pair.aqm.kept_for_classic)
    if room <= _LEAST:
        return 0.0
    # Up to the scheduler's share, not at it: there another regime begins.
    shares = np.linspace(_LEAST, room * (1.0 - _EDGE), _STEPS + 1)
    unstable = np.flatnonzero(~(margin(shares) > 0.0))
    if unstable.size == 0:
        return room
    first = int(unstable[0])
    if first == 0:
        return 0.0
    return float(brentq(lambda x: float(margin(x)), shares[first - 1], shares[first], xtol=_DIGITS))


def _loop(
    pair: Pair,
    base_rtts: tuple[float, float],
    p_prime: float,
    share: Real,
    model: dict[str, Any],
) -> Loop:
    """The loop in which Scalable flows take `share` of the link, and all of it is used at p'."""
    to_c, to_l = flow_rates(pair, base_rtts, p_prime)
    flows = [
        Flows(pair.classic, (1.0 - share) * _PACKETS / to_c, base_rtts[0]),
        Flows(pair.scalable, share * _PACKETS / to_l, base_rtts[1]),
    ]
    with quietly():
        # Shares up to the very edge are asked for; the other assumptions are the load's.
        return Loop(
            flows,
            pair.aqm,
            capacity=8.0 * PACKET * _PACKETS,
            packet_size=PACKET,
            **model,
        )
