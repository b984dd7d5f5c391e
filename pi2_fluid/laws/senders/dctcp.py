"""DCTCP: the window falls in proportion to the smoothed fraction of marks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.sender import Sender
from pi2_fluid.ops import Number, exp, log, maximum, minimum, sqrt, where
from pi2_fluid.records.record import Parameter, choice, quantity

_State: TypeAlias = tuple[Number, Number]

_MOST_GAIN_BITS: Final = 10
#: The spread of alpha W/2 among flows, of which a logistic distribution has this scale, over
#: sqrt(gain/(2 - gain)). The noise of alpha alone makes it 0.40 (sqrt(M/2)/2 of alpha's relative
#: deviation, M = 1.85, over the 1.70 by which a normal deviation is wider than a logistic scale);
#: windows take back a part. Fitted to windows at rest under random marks.
_SPREAD: Final = 0.28
_STEPS: Final = 4  # of whole segments that the spread blurs; beyond, half a segment is lost
_FARTHEST: Final = 50.0  # scales from a step: e^50 of nothing
_SMALL: Final = 1e-4  # marks, below which 1/(e^M - 1) is taken from its series
_ROUNDS: Final = 12  # of Newton's method, from below, where it cannot overshoot


@dataclass(frozen=True, eq=False, kw_only=True)
class Dctcp(Sender):
    """DCTCP: after a round trip with marks the window falls by a fraction alpha / 2.

    alpha tracks the fraction of packets that are marked, with M = W(t-R) p(t-R) the marks that are
    expected in a round trip. On average ("rate"), with a reduction in each round trip that has
    marks,

        dalpha/dt = gain (p(t-R) - alpha) / R(t)
        dW/dt = 1/R(t) - alpha W / 2 * min(M, 1) / R(t)

    At rest M = 2, so that every round trip has its reduction; only where marks are rare (M < 1) do
    some round trips pass without one. Both clocks tick once per round trip that passes now, R(t).

    Under independent marks ("renewal") it is otherwise: a reduction lasts one round trip, in which
    the window does not grow and hears no marks, and the next mark comes after 1/M round trips on
    average. So a part 1/(1 + M) of the flows is open,

        dW/dt = (1 - M alpha W / 2) / ((1 + M) R(t))
        dW/dt = M (1/(e^M - 1) - E floor(alpha W / 2)) / ((1 + M) R(t))

    in real numbers, where M = sqrt(2) at rest, and in whole segments: growth is counted from the
    end of a reduction, and what is counted when a mark comes is lost, and so are fractions of a
    reduction. Then M = 1.85 at rest, as alpha W / 2 scatters about 0.92: four reductions of five
    take nothing.

    Parameters
    ----------
    gain : float, default 1/16
        Weight of the last round trip in alpha, in (0, 1].
    variant : {"linux", "linux3.18", "rfc8257"}
        Differs in packets only. Linux counts alpha in 1024ths: a marked fraction below 1/64 adds
        nothing, and alpha below 1/64 becomes 0. Linux 3.18, of the PI2 paper's testbed, counts so,
        too, but alpha stays at 15/1024 (1/gain - 1 parts), so that each reduction takes at least
        0.7 % of the window, and a loss is answered as a mark is, by alpha/2 instead of 1/2. RFC
        8257 has real numbers.
    law : {"rate", "renewal"}
        Which of the two; packets need none. By acknowledgements there is the second alone.
    segments : {"whole", "real"}
        Of the renewal law: whether windows are whole segments, as in Linux and in packets here.

    Raises
    ------
    QuantityError
        If a field is no number of its unit, or a word that it does not know.
    DomainError
        If a number is outside its range.

    Notes
    -----
    **Which one.** The averaged law is the papers', and what Linux does under periodic marks, as a
    step or a steady queue gives them (2.0/p for p = 0.5 to 20 %). Independent marks, as queues draw
    them, are the renewal law's: packets measure W p = 1.83, 1.86, 1.88, 1.87 and 1.80 at p = 2, 5,
    10, 20 and 40 % (`variant="rfc8257"`), where the law in whole segments has 1.85; 1.96, 1.69 and
    1.31 with gains of 1/64, 1/4 and 1, where it has 1.92, 1.73 and 1.48. The spread of alpha W / 2
    is the one number of the law that is fitted; that of alpha alone, without fit, would be 1.4
    times as wide, and M = 1.80. In real numbers another simulator has 1.41, 1.38, 1.37 and 1.33 at
    p = 2, 4, 5 and 10 %. Neither law has Linux's integers: below p = 3 % they set alpha to 0, and
    windows are 1.5 to 2.5 times as large; those of 3.18, which stop at 15/1024, make windows
    smaller instead, W p = 1.35 at p = 1 %.

    **How they answer.** In the averaged law the window hears of a change of p through alpha alone,
    a lag of R / gain. In the renewal law it also hears by how often it reduces: at once. In real
    numbers that is as much again; in whole segments a change of alpha or W by 1 % changes what
    reductions take by some 15 %, and of p what is grown by 2.2 %. So margins of loops of the
    averaged law are rough where a queue draws lots; `docs/coexistence.md` has an example.

    Source: PI2 paper (CoNEXT'16), equations (9)-(11); RFC 8257, section 3.3; Alizadeh, Javanmard,
    Prabhakar (SIGMETRICS 2011), equations (1) and (2), with alpha W / 2 per round trip. The renewal
    law: `docs/theory_acks.md`, "DCTCP".

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> rest = pf.equilibrium_of(pf.Dctcp(), pf.Pi(), rtt="50ms", p=0.1)
    >>> print(f"{rest.window:.1f} segments")
    20.0 segments
    """

    congestion: ClassVar = "dctcp"
    signal: ClassVar = "scalable"
    packets_only: ClassVar = ("variant",)
    states: ClassVar = ("window", "alpha")
    instead: ClassVar = (
        "use Scalable for what it would be without its average over 16 round trips, which costs it"
        " tens of dB"
    )
    gain: Parameter = quantity(1 / 16, "number", high=1.0)
    variant: str = choice("linux", ("linux", "linux3.18", "rfc8257"))
    law: str = choice("rate", ("rate", "renewal"))
    segments: str = choice("whole", ("whole", "real"))

    @property
    def reduction(self) -> str:
        """A segment, or less than one, which rate reduction by its rounding delays to the end."""
        return "at once" if self.segments == "whole" else "late"

    @property
    def counts_parts(self) -> bool:
        """Whether packets have alpha in the kernel's integers, 1024ths."""
        return self.variant != "rfc8257"

    @property
    def averages(self) -> str:
        """What the averaged law has of reductions."""
        return (
            ""
            if self.pauses
            else (
                "reduces the window in every round trip; packets pause after a reduction, and so"
                ' does Dctcp(law="renewal")'
            )
        )

    @property
    def lost_in_integers(self) -> str:
        """What becomes of alpha in Linux's integers of today."""
        return (
            ""
            if self.variant != "linux"
            else ("Linux's integers set DCTCP's alpha to 0 below 1/64, and the window hardly falls")
        )

    @property
    def pauses(self) -> bool:
        """By the renewal law."""
        return self.law == "renewal"

    @property
    def counts(self) -> bool:
        """By the renewal law, in whole segments."""
        return self.pauses and self.segments == "whole"

    def rate(
        self,
        x: _State,
        x_delayed: _State,
        signal_delayed: Number,
        rtt: Number,
        rtt_delayed: Number,
    ) -> tuple[Number, Number]:
        """Return d(W, alpha)/dt per second."""
        window, alpha = x
        marks = x_delayed[0] * signal_delayed
        change = self.gain * (signal_delayed - alpha) / rtt
        if self.law == "rate":
            reductions = where(marks < 1.0, marks, 1.0)
            return (1.0 - 0.5 * alpha * window * reductions) / rtt, change
        growth = _grown(marks) if self.counts else 1.0
        return (growth - marks * self._taken(window, alpha)) / ((1.0 + marks) * rtt), change

    def acked(
        self, x: _State, acks: Number, marks: Number, rtt: Number
    ) -> tuple[tuple[Number, Number], Number]:
        """Return what acknowledgements to flows that do not pause do; alpha hears all alike.

        In whole segments without the growth, which is counted.

        Raises
        ------
        UnsupportedError
            By the averaged law.
        """
        if self.law == "rate":
            raise UnsupportedError(
                'Dctcp law = "rate" does not say what one acknowledgement does to its window, so'
                ' that it has no loop or trajectory by acknowledgements: use law="renewal", or'
                ' clock="rate".'
            )
        window, alpha = x
        change = self.gain * (marks / maximum(acks, 1e-300) - alpha) / rtt
        growth = 0.0 * window if self.counts else acks / window
        return (growth, change), marks * self._taken(window, alpha)

    def _taken(self, window: Number, alpha: Number) -> Number:
        """Return the segments that a reduction takes; of whole ones, on average."""
        cut = 0.5 * alpha * window
        return _blurred_floor(cut, self._spread) if self.counts else cut

    @property
    def _spread(self) -> Number:
        return _SPREAD * sqrt(self.gain / (2.0 - self.gain))

    @property
    def _marks_at_rest(self) -> Number:
        """M, of which growth and reductions balance."""
        if self.law == "rate":
            return 2.0
        if not self.counts:
            return math.sqrt(2.0)
        spread, marks = self._spread, 2.0 - 4.0 * self._spread
        for _ in range(_ROUNDS):
            steps, grows = _steps(0.5 * marks, spread), exp(marks)
            slope = 0.5 * sum(s * (1.0 - s) for s in steps) / sum(steps) / spread
            marks -= log(sum(steps) * (grows - 1.0)) / (slope + grows / (grows - 1.0))
        return marks

    def packet_parameters(self) -> dict[str, Any]:
        """Return the gain, and whether it acts in Linux's integers, which have it as a shift.

        Raises
        ------
        UnsupportedError
            For a gain that is no power of two where those integers are asked for.
        """
        gain, linux = float(self.gain), self.counts_parts
        bits = -math.log2(gain)
        if linux and (bits != round(bits) or bits > _MOST_GAIN_BITS):
            raise UnsupportedError(
                f"Dctcp gain = {gain:g} is none that Linux has, 1, 1/2, 1/4 ... 1/1024, in packets:"
                ' give one of these, or variant="rfc8257".'
            )
        return {"gain": gain, "fixed": linux, "old": self.variant == "linux3.18"}

    def initial(self, window: Number) -> tuple[Number, Number]:
        """Return (window, 1): alpha starts at 1 in Linux and in RFC 8257."""
        return (window, 1.0)

    def at_rest(self, rtt: Number, p: Number) -> tuple[Number, Number]:
        """Return (M/p, p), with M = 2 of the averaged law, equation (11): twice its kink."""
        return (self._marks_at_rest / p, p + 0.0 * rtt)

    def equilibrium(self, rtt: Number, rate: Number) -> Number:
        """Return the p at which the flow sends `rate` segments/s."""
        return self._marks_at_rest / (rate * rtt)


def _blurred_floor(x: Number, spread: Number) -> Number:
    """Return the mean of floor(x) where x scatters, by a logistic distribution of that scale."""
    beyond: Number = maximum(x - (_STEPS + 0.5), 0.0 * x)
    return sum(_steps(x, spread), start=beyond)


def _steps(x: Number, spread: Number) -> list[Number]:
    """Return how far each whole segment is reached."""
    return [
        1.0 / (1.0 + exp(minimum((step - x) / spread, 0.0 * x + _FARTHEST)))
        for step in range(1, _STEPS + 1)
    ]


def _grown(marks: Number) -> Number:
    """Return M/(e^M - 1): M times the segments grown until a mark, of M a round trip, comes."""
    safe = maximum(marks, 0.0 * marks + _SMALL)
    left = exp(-safe)
    return where(marks < _SMALL, 1.0 - 0.5 * marks, safe * left / (1.0 - left))
