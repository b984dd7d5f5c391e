"""DCTCP: the window falls in proportion to the smoothed fraction of marks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.sender import Sender
from pi2_fluid.ops import Number, where
from pi2_fluid.records.record import Parameter, choice, quantity

__all__ = ["Dctcp"]

_State: TypeAlias = tuple[Number, Number]

_MOST_GAIN_BITS: Final = 10


@dataclass(frozen=True, eq=False, kw_only=True)
class Dctcp(Sender):
    """DCTCP: once per round trip with marks, the window falls by the fraction alpha / 2.

    alpha tracks the fraction of packets that are marked, with M = W(t-R) p(t-R) the marks that are
    expected in a round trip:

        dalpha/dt = gain (p(t-R) - alpha) / R(t)
        dW/dt = 1/R(t) - alpha W / 2 * min(M, 1) / R(t)

    At rest M = 2, so that every round trip has its reduction; only where marks are rare (M < 1) do
    some round trips pass without one. Both clocks tick once per round trip that passes now, R(t).

    Parameters
    ----------
    gain : float, default 1/16
        Weight of the last round trip in alpha, in (0, 1].
    variant : {"linux", "rfc8257"}
        Differs in packets only. Linux counts alpha in 1024ths: a marked fraction below 1/64 adds
        nothing, and alpha below 1/64 becomes 0. RFC 8257 has real numbers.

    Notes
    -----
    The window at rest, 2/p, is that of Linux under periodic marks (2.0/p for p = 0.5 to 20 %). Not
    in these equations: that Linux does not grow in a round trip with a reduction, that independent
    marks come in clusters, and its integers. Linux's code measures 1.82 to 1.86 / p under
    independent marks for p = 5 to 30 %, and 1.5 to 2.5 times the window of this law for p of 2 %
    and less, where its integers set alpha to 0.

    With a reduction in every round trip, the window hears of a change of p through alpha alone, a
    lag of R / gain. Independent marks also reduce it more or less often, which is faster: where
    that lag counts, a crowd of flows under a queue that draws lots follows p with less phase lag
    than this law, but also with a larger gain (simulated at R = 30 ms and p = 5 %, 4 to 10 rad/s:
    58 to 74 degrees, 1.4 to 3 times). Margins of its loops are rough there, to either side.

    Source: PI2 paper (CoNEXT'16), equations (9)-(11); RFC 8257, section 3.3; Alizadeh, Javanmard,
    Prabhakar (SIGMETRICS 2011), equations (1) and (2), with alpha W / 2 per round trip.
    """

    kernel: ClassVar = "dctcp"
    congestion: ClassVar = "dctcp"
    signal: ClassVar = "scalable"
    packets_only: ClassVar = ("variant",)
    states: ClassVar = ("window", "alpha")
    gain: Parameter = quantity(1 / 16, "number", high=1.0)
    variant: str = choice("linux", ("linux", "rfc8257"))

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
        reductions = where(marks < 1.0, marks, 1.0)
        return (
            (1.0 - 0.5 * alpha * window * reductions) / rtt,
            self.gain * (signal_delayed - alpha) / rtt,
        )

    def packet_parameters(self) -> dict[str, Any]:
        """Return the gain, and whether it acts in Linux's integers, which have it as a shift.

        Raises
        ------
        UnsupportedError
            For a gain that is no power of two where those integers are asked for.
        """
        gain, linux = float(self.gain), self.variant == "linux"
        bits = -math.log2(gain)
        if linux and (bits != round(bits) or bits > _MOST_GAIN_BITS):
            raise UnsupportedError(
                f"Dctcp gain = {gain:g} is none that Linux has, 1, 1/2, 1/4 ... 1/1024, in packets:"
                ' give one of these, or variant="rfc8257".'
            )
        return {"gain": gain, "fixed": linux}

    def initial(self, window: Number) -> tuple[Number, Number]:
        """Return (window, 1): alpha starts at 1 in Linux and in RFC 8257."""
        return (window, 1.0)

    def switches(self, x: _State, signal: Number, rtt: Number) -> tuple[Number, ...]:
        """Return M - 1: the law has a kink where one mark per round trip is expected."""
        return (x[0] * signal - 1.0,)

    def at_rest(self, rtt: Number, p: Number) -> tuple[Number, Number]:
        """Return (2/p, p), equation (11): the kink lies at half of that window."""
        return (2.0 / p, p + 0.0 * rtt)

    def equilibrium(self, rtt: Number, rate: Number) -> Number:
        """Return the p at which the flow sends `rate` segments/s."""
        return 2.0 / (rate * rtt)
