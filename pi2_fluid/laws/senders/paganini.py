"""Paganini's source: a rate that falls with the price at once, and slowly finds its utility."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from pi2_fluid.errors import DomainError, UnsupportedError, show_value
from pi2_fluid.laws.bitrates import segments_per_second, with_packet_size
from pi2_fluid.laws.exponential import PriceResponse, marked, price_of
from pi2_fluid.laws.packet_limits import require_time, require_whole
from pi2_fluid.laws.sender import Sender
from pi2_fluid.ops import Number, exp, log
from pi2_fluid.records.record import OptionalParameter, Parameter, align, choice, quantity
from pi2_fluid.units import LONG_WAIT

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.values import FloatArray

# Rates (segments/s) between which a utility of one's own is searched.
_RATES: Final = (1e-9, 1e30)
_MOST_MARKS: Final = 128  # that packets remember


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Paganini(Sender):
    """The source of Paganini, Wang, Low and Doyle: for links that signal a `Price`.

    It reads q, the sum of the prices on its path, from the probability p of a mark, q = -ln(1 - p)
    / ln(`phi`). With tau the round-trip time and M the links on its path that have a price,

        x = x_m exp(xi - alpha q / (M tau)),    tau xi' = beta (U'(x) - q):

    the rate x answers a price at once, as much as is stable over any network, and by xi, slowly, it
    comes to the rate that its utility U wants at this price. The state is the window that it would
    have without prices, W = x_m tau exp(xi), and so

        x = W / tau exp(-alpha q / (M tau)),    W' = beta W (U'(x) - q) / tau.

    U'(x) = k / x^fairness, x in segments/s: with `fairness` 1, which is proportional fairness, a
    utility k log x, and at rest x = k / q whatever the round-trip time. With 2 it is minimum
    potential delay; the larger, the nearer to max-min fairness. For other utilities, override
    `marginal_utility`, with a function that falls.

    If `static`, there is no xi, and the rate is x = `max_rate` exp(-alpha q / (M tau)), which makes
    the utility depend on the round-trip time.

    Parameters
    ----------
    alpha : float, default 0.37
        Gain on the price, > 0; below pi/2 the static law is stable over any network.
    beta : float, default 1.5
        Gain of the utility, > 0; beta M / alpha (rad/s) is the zero z of the linearised law.
    k : float, default 50
        Size of the utility, > 0, in segments/s to the power of `fairness`, times seconds: the price
        at which a flow sends 1 segment/s.
    fairness : float, default 1
        Exponent of U', > 0.
    bottlenecks : float, optional
        M, > 0. None: in a network the number of links with a price on the route; otherwise 1.
    phi : float, default 100
        Base of the marking probability, > 1, as that of the links.
    static : bool, default False
        Whether it has no utility of its own.
    max_rate : float or str, optional
        Rate of a static one where the price is 0 (bit/s, headers included).
    packet_size : float or str, optional
        Bytes per segment, for `max_rate`. None, as a rule: operating points and engines fill in the
        link's.
    window : int, default 31
        N, segments whose marks it remembers, 1 to 128; packets only, as all that follows.
    interval : float or str, default "5ms"
        T_s, time between two updates of the window that it expects (s).
    max_increment, max_decrement : float, default 1
        Segments by which its window rises or falls with each acknowledged one, at most, > 0.
    scheme : {"exponential", "window"}
        How it is updated: `next_state`, or `next_window`, which at most doubles it.

    Raises
    ------
    QuantityError
        If a field is no number of its unit, or a word that it does not know.
    DomainError
        If a number is outside its range.

    Notes
    -----
    A trajectory is what both updates of the paper come to as their step shrinks: `next_state`, (23)
    and (24), and `next_window`, (25) to (27). With U = k log x and w = x tau what is under way,

        w' = w (xi' - alpha q'/(M tau)) = beta k - beta q w/tau - alpha q' w/(M tau)

    of either. At the paper's step of 5 ms windows of its Figure 5 differ from that by 0.06 % with
    the second, and by up to 8 % with the first, while they are small.

    In packets, q = -ln(1 - m/n) / ln(`phi`) of the last n = N segments, or as many as there were, m
    of them marked; where all are, m = n - 1/2. tau is the smallest round-trip time so far. Every
    `interval` the window is computed that is expected, 1 at least, and with every acknowledged
    segment the window goes there as fast as the limits allow: there is no slow start. Packets leave
    one at a time, a window in each tau. A loss halves the window and the one that is expected. The
    paper does not say what W is at first, here the flow's `initial_window`, nor what a full
    register reads, nor what a loss does.

    As noise makes a window that is small now or large send less than its mean, and a price that is
    guessed from few marks reads too high, prices in packets are 5 to 15 % below those of this law.

    Source: Paganini, Wang, Low, Doyle (2002), equations (6) and (19) to (27), with (25) to (27) as
    they follow from (19) and (20), and Figure 3.

    Examples
    --------
    >>> sender = Paganini()
    >>> print(f"{sender.demand(0.1):.0f} segments/s, p = {sender.equilibrium(0.04, 500.0):.6f}")
    500 segments/s, p = 0.369043
    """

    congestion: ClassVar = "paganini"
    signal: ClassVar = "scalable"
    packets_only: ClassVar = ("window", "interval", "max_increment", "max_decrement", "scheme")
    paced: ClassVar = True

    alpha: Parameter = quantity(0.37, "number")
    beta: Parameter = quantity(1.5, "number")
    k: Parameter = quantity(50.0, "number")
    fairness: Parameter = quantity(1.0, "number")
    bottlenecks: OptionalParameter = quantity(None, "number", optional=True)
    phi: Parameter = quantity(100.0, "number", low=1.0)
    static: bool = choice(False, (True, False))
    max_rate: OptionalParameter = quantity(None, "rate", optional=True)
    packet_size: OptionalParameter = quantity(None, "size", optional=True, told=True)
    window: Parameter = quantity(31.0, "number", high=float(_MOST_MARKS))
    interval: Parameter = quantity("5ms", "time", usual=LONG_WAIT)
    max_increment: Parameter = quantity(1.0, "number")
    max_decrement: Parameter = quantity(1.0, "number")
    scheme: str = choice("exponential", ("exponential", "window"))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.static and self.max_rate is None:
            raise DomainError(
                "Paganini max_rate = None is missing, for static = True has no other rate at a"
                ' price of 0: give e.g. max_rate="10Mbit/s".'
            )
        if not self.static and self.max_rate is not None:
            raise DomainError(
                f"Paganini max_rate = {show_value(self.max_rate)} is for static = True, since"
                " otherwise the utility finds the rate: leave it out."
            )

    # What it is told of its path

    def on_link(self, packet_size: Number) -> Paganini:
        """Return this law for segments of `packet_size` bytes.

        Raises
        ------
        ScenarioError
            If it has another packet size: on a link all packets have one size.
        """
        return with_packet_size(self, packet_size) if self.static else self

    def on_route(self, queues: Sequence[Aqm]) -> Paganini:
        """Return this law with M the number of these queues that have a price, unless it is set."""
        prices = sum(queue.acts_on == "arrivals" for queue in queues)
        if self.bottlenecks is not None or prices == 0:
            return self
        return dataclasses.replace(self, bottlenecks=prices)

    def packet_parameters(self) -> dict[str, Any]:
        """Return the numbers of the law, of its register and its steps."""
        require_time("Paganini interval", self.interval)
        require_whole(
            self.window,
            f"Paganini window = {show_value(self.window)} is no whole number of segments, whose"
            f" marks are remembered: give one of 1, 2 ... {_MOST_MARKS}.",
        )
        law = ("alpha", "beta", "k", "fairness", "phi")
        own = [name for name in self.packets_only if name != "scheme"]
        return {name: getattr(self, name) for name in (*law, *own)} | {
            "links": 1.0 if self.bottlenecks is None else self.bottlenecks,
            "largest_rate": self.largest_rate if self.static else 0.0,
            "by_window": self.scheme == "window",
        }

    @property
    def timer(self) -> Number:
        """`interval`."""
        return self.interval

    # What it reads, wants, and sends

    def price(self, signal: Number) -> Number:
        """Return q, the price (s) that a probability of marks says; equation (21)."""
        return price_of(signal, self.phi)

    def marginal_utility(self, rate: Number) -> Number:
        """Return U'(x) at a rate x (segments/s): the price (s) at which it is content with x."""
        return self.k / rate**self.fairness

    def demand(self, price: Number) -> Number:
        """Return the rate (segments/s) at which U' is this price (s): what it sends at rest."""
        if type(self).marginal_utility is Paganini.marginal_utility:
            return (self.k / price) ** (1.0 / self.fairness)
        from scipy.optimize import elementwise  # 0.3 s to import, and closed forms need none

        def excess(log_rate: FloatArray, wanted: FloatArray, *arrays: FloatArray) -> FloatArray:
            offered: Any = rebuild(arrays).marginal_utility(np.exp(log_rate))
            result: FloatArray = offered - wanted
            return result

        (prices, *arrays), rebuild = align(self, price=price)
        least, most = (
            np.asarray(rebuild(arrays).marginal_utility(np.full(prices.shape, rate)), float)
            for rate in _RATES
        )
        if not np.all(least > most):
            raise DomainError(
                f"{type(self).__name__} has a marginal utility of {float(least.flat[0]):g} s at"
                f" {_RATES[0]:g} segments/s and of {float(most.flat[0]):g} s at {_RATES[1]:g}: let"
                " marginal_utility fall."
            )
        # A price below all of them buys as much as there is, one above all of them nothing.
        found = elementwise.find_root(
            excess, tuple(np.log(_RATES)), args=(np.clip(prices, most, least), *arrays)
        )
        rates = np.where(
            prices >= least, _RATES[0], np.where(prices <= most, _RATES[1], np.exp(found.x))
        )
        wanted: Number = rates[()]
        return wanted

    def damping(self, price: Number, rtt: Number) -> Number:
        """Return alpha q / (M tau), by whose exponential a price (s) lowers the rate at once."""
        links = 1.0 if self.bottlenecks is None else self.bottlenecks
        return self.alpha * price / (links * rtt)

    @property
    def price_response(self) -> PriceResponse:
        """Its gains, of which a static one has none of a utility."""
        links = 1.0 if self.bottlenecks is None else self.bottlenecks
        return PriceResponse(self.phi, self.alpha, 0.0 if self.static else self.beta, links)

    @property
    def largest_rate(self) -> Number:
        """Segments per second of a static one at a price of 0."""
        if self.max_rate is None:
            raise UnsupportedError(
                f"{type(self).__name__} static = False sends at any rate its utility wants, and has"
                " no largest one: use static=True."
            )
        return segments_per_second(self, "max_rate", self.max_rate)

    def sending_rate_under(self, x: Number, signal_delayed: Number, rtt: Number) -> Number:
        """Return the rate at this price: equation (20), or (6) if static."""
        most = self.largest_rate if self.static else x / rtt
        return most * exp(-self.damping(self.price(signal_delayed), rtt))

    def rate(
        self, x: Number, x_delayed: Number, signal_delayed: Number, rtt: Number, rtt_delayed: Number
    ) -> Number:
        """Return dW/dt, from equation (19); 0 if static."""
        if self.static:
            return 0.0 * x
        sent = self.sending_rate_under(x, signal_delayed, rtt)
        gain = self.beta * x / rtt
        return gain * (self.marginal_utility(sent) - self.price(signal_delayed))

    def at_rest(self, rtt: Number, p: Number) -> Number:
        """Return the window without prices of a flow that sends what it wants at this price."""
        if self.static:
            return self.largest_rate * rtt + 0.0 * p
        q = self.price(p)
        return self.demand(q) * rtt * exp(self.damping(q, rtt))

    def equilibrium(self, rtt: Number, rate: Number) -> Number:
        """Return the p of the price at which a flow rests at `rate` segments/s.

        Raises
        ------
        DomainError
            If a static one sends less at any price.
        """
        if self.static:
            ratio = self.largest_rate / rate
            if np.any(np.asarray(ratio) < 1.0):
                raise DomainError(
                    f"{type(self).__name__} reaches {show_value(rate)} segments/s at no price, as"
                    " its max_rate is lower: raise max_rate."
                )
            q = log(ratio) / self.damping(1.0, rtt)
        else:
            q = self.marginal_utility(rate)
        return marked(q, self.phi)

    # In steps, as computers have it

    def next_state(
        self, x: Number, sent: Number, signal: Number, rtt: Number, dt: Number
    ) -> Number:
        """Return the state `dt` seconds after `x`: equations (23) and (24).

        Parameters
        ----------
        x : float
            The window without prices, before.
        sent : float
            The window that was sent since, x exp(-alpha q / (M tau)) with the q before.
        signal : float
            Probability of a mark now.
        rtt, dt : float
            Round-trip time, and time since the last update (s).

        Notes
        -----
        ``sending_rate_under(next_state(...), signal, rtt) * rtt`` is the new window.
        """
        error = self.marginal_utility(sent / rtt) - self.price(signal)
        return x * exp(self.beta / rtt * error * dt)

    def next_window(
        self, sent: Number, signal: Number, signal_before: Number, rtt: Number, dt: Number
    ) -> Number:
        """Return the window `dt` seconds after `sent`, without an exponential: (25) to (27).

        The paper's second scheme, as it follows from (19) and (20): differentiating (20),

            w' = beta x U'(x) - w (beta q / tau + alpha q' / (M tau)),    x = w / tau,

        of which the first term is taken before the step and the other after it. It rests where (19)
        does. As printed, K stands where the second beta belongs, and what is added in each step is
        not divided, so that windows rest higher by the factor 1 + beta q dt / tau.

        Parameters
        ----------
        sent : float
            The window before (segments).
        signal, signal_before : float
            Probability of a mark now, and at the last update.
        rtt, dt : float
            Round-trip time, and time since the last update (s).
        """
        now, before = self.price(signal), self.price(signal_before)
        added = self.beta * dt * sent / rtt * self.marginal_utility(sent / rtt)
        moved = self.damping(now, rtt) - self.damping(before, rtt)
        return (sent + added) / (1.0 + self.beta * dt / rtt * now + moved)
