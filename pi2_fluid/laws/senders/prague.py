"""TCP Prague: DCTCP by a virtual round-trip time, so that short paths have no more than 25 ms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

from pi2_fluid.laws.sender import Sender
from pi2_fluid.ops import Number, sqrt, where
from pi2_fluid.records.record import Parameter, choice, quantity
from pi2_fluid.units import LONG_PATH

_State: TypeAlias = tuple[Number, Number]

# Of each version: alpha at the beginning, and round trips after slow start until the virtual
# round-trip time counts.
_VERSIONS: Final = {"2024": (0.0, 4), "draft": (1.0, 500)}


@dataclass(frozen=True, eq=False, kw_only=True)
class Prague(Sender):
    """TCP Prague: `Dctcp` with a virtual round-trip time V = max(R, `target_rtt`), and paced.

    Of the acknowledgements that come, W(t-R)/R(t-R) a second, a fraction p(t-R) is marked. Those
    that are not add (R/V)^2 / W each; at most once per V the window falls by the fraction
    alpha / 2, alpha being what is marked, smoothed:

        dalpha/dt = gain (p(t-R) - alpha) / V(t)
        dW/dt = (R(t)/V(t))^2 (1 - p(t-R)) W(t-R) / (R(t-R) W)
                - alpha W / 2 * min(M, 1) / V(t),    M = p(t-R) W(t-R) V(t-R) / R(t-R)

    At rest W = 2 (1 - p)/p R/V: a rate of 2 (1 - p)/(p V) segments/s, the same over every path
    shorter than `target_rtt`. With 1500 bytes and 25 ms that is 0.96 (1/p - 1) Mbit/s; Prague's
    own documentation says 1/p - 1. M = 2 (1 - p) there, so that marks are too rare for a reduction
    in each V above p = 1/2 only, where W = sqrt(2 (1 - p))/p R/V.

    Parameters
    ----------
    gain : float, default 1/16
        Weight of the last virtual round trip in alpha, in (0, 1].
    target_rtt : float or str, default "25ms"
        Round-trip time (s) that shorter ones count as, > 0.
    version : {"2024", "draft"}
        Of the public code; differs in packets only. "2024" begins with alpha = 0, halves the window
        at the first mark all the same, and goes over to the virtual round-trip time 4 round trips
        after slow start; "draft" begins with alpha = 1, goes over after 500, and sends pairs.
    pairs : bool, optional
        Whether two segments leave at once, as one packet that the network card cuts, where 250 us
        carry less; as Linux sends where nobody says otherwise (`net.ipv4.tcp_min_tso_segs`). By
        default as `version` does. Differs in packets only.

    Raises
    ------
    QuantityError
        If a field is no number of its unit, or a word that it does not know.
    DomainError
        If a number is outside its range.

    Notes
    -----
    Under independent marks packets keep 1.35 to 1.6 times this window (p = 2 to 30 %, measured;
    most at round-trip times of 15 to 22 ms): some virtual round trips have no mark, and a mark that
    comes too soon after a reduction makes the whole round trip go without one. Under a queue whose
    p follows the load, that is Prague's share beside others.

    As with `Dctcp`, the window hears of a change of p through alpha, a lag of V / gain, 0.4 s or
    more; margins of its loops are rough where that lag counts. Those by acknowledgements, of a
    paced sender, are 15 dB above those by rates in one queue, and packets are with them.

    Left out, in packets, too: the fractional windows of "2024" below four segments, and that it
    paces 3 % faster and slower by turns; the detector of Classic queues, off by default.

    Source: draft-briscoe-iccrg-prague-congestion-control, and the rules that its public Linux code
    follows, 0.6 ("draft") and 0.7 of 2024; the rate is that of its documentation. The page "beside
    a testbed" has packets of "draft" beside real machines.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> rest = pf.equilibrium_of(pf.Prague(), pf.DualPi2(ramp="400us"), rtt="20ms", p=0.1)
    >>> print(f"{rest.window:.1f} segments")
    14.4 segments
    """

    congestion: ClassVar = "prague"
    signal: ClassVar = "scalable"
    packets_only: ClassVar = ("version", "pairs")
    states: ClassVar = ("window", "alpha")
    instead: ClassVar = (
        "use Scalable for what it would be over paths of 25 ms or more without its average over 16"
        " round trips, which costs it tens of dB"
    )
    paced: ClassVar = True
    gain: Parameter = quantity(1 / 16, "number", high=1.0)
    target_rtt: Parameter = quantity("25ms", "time", usual=LONG_PATH)
    version: str = choice("2024", tuple(_VERSIONS))
    pairs: bool | None = choice(None, (None, True, False))

    @property
    def at_once(self) -> int:
        """How many packets at least it sends at once; 0 if it is not paced."""
        by_version = self.version == "draft"
        return super().at_once * (1 + (by_version if self.pairs is None else self.pairs))

    def virtual_rtt(self, rtt: Number) -> Number:
        """Return the round-trip time by which a path of `rtt` seconds counts."""
        return where(rtt > self.target_rtt, rtt, self.target_rtt)

    def rate(
        self,
        x: _State,
        x_delayed: _State,
        signal_delayed: Number,
        rtt: Number,
        rtt_delayed: Number,
    ) -> tuple[Number, Number]:
        """Return d(W, alpha)/dt per second."""
        acks = x_delayed[0] / rtt_delayed
        marks = acks * signal_delayed
        grown, alpha, cut = self._moves(x, acks - marks, marks, signal_delayed, rtt, rtt_delayed)
        return (grown - cut, alpha)

    def acked(
        self, x: _State, acks: Number, marks: Number, rtt: Number
    ) -> tuple[tuple[Number, Number], Number]:
        """Return what unmarked acknowledgements add and alpha's motion, and alpha / 2 of W."""
        grown, alpha, cut = self._moves(x, acks - marks, marks, marks / acks, rtt, rtt)
        return (grown, alpha), cut

    def _moves(
        self,
        x: _State,
        unmarked: Number,
        marks: Number,
        fraction: Number,
        rtt: Number,
        rtt_delayed: Number,
    ) -> tuple[Number, Number, Number]:
        """Growth of the window, motion of alpha, and the cut, of so many packets per second."""
        window, alpha = x
        virtual = self.virtual_rtt(rtt)
        expected = marks * self.virtual_rtt(rtt_delayed)
        reductions = where(expected < 1.0, expected, 1.0) / virtual
        part = rtt / virtual
        return (
            part * part * unmarked / window,
            self.gain * (fraction - alpha) / virtual,
            0.5 * alpha * window * reductions,
        )

    def packet_parameters(self) -> dict[str, Any]:
        """Return the numbers, alpha before the first mark, and the round trips by the real RTT."""
        first_alpha, rounds = _VERSIONS[self.version]
        numbers = {"gain": self.gain, "target_rtt": self.target_rtt}
        return numbers | {"first_alpha": first_alpha, "rounds": rounds}

    def initial(self, window: Number) -> tuple[Number, Number]:
        """Return (window, 1), which halves the window at the first marks."""
        return (window, 1.0)

    def at_rest(self, rtt: Number, p: Number) -> tuple[Number, Number]:
        """Return the window of the class's formulas, and p."""
        per_round = where(p < 0.5, 2.0 * (1.0 - p), sqrt(2.0 * (1.0 - p))) / p
        return (per_round * rtt / self.virtual_rtt(rtt), p + 0.0 * rtt)

    def equilibrium(self, rtt: Number, rate: Number) -> Number:
        """Return the p at which the flow sends `rate` segments/s."""
        per_round = rate * self.virtual_rtt(rtt)
        rare = 2.0 / (1.0 + sqrt(1.0 + 2.0 * per_round * per_round))
        return where(per_round > 2.0, 2.0 / (2.0 + per_round), rare)
