"""What chance does to a loop: the noise of its signals, in the delay and in the signal itself."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.loop.acks import AckLoop
from pi2_fluid.loop.answers import LoopAnswers
from pi2_fluid.loop.controllers import encode_slopes
from pi2_fluid.loop.delays import DelayLoop
from pi2_fluid.loop.linearization import per_class
from pi2_fluid.loop.lots import CUTS, cut_factor, positive, require_lots, window_of
from pi2_fluid.loop.spread import find_density, find_spread, may_grow_alone
from pi2_fluid.records.labels import relabel
from pi2_fluid.units import validate_choice

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pi2_fluid.values import FloatArray, Quantity, Values


class NoisyLoop(LoopAnswers):
    """A loop that says how far the lots drive it that a queue draws for its packets."""

    def delay_sd(
        self, bin: Quantity | None = None, *, by: str | None = None, cuts: str = "equal"
    ) -> Values | tuple[Values, ...]:
        """Return the standard deviation (s) of the queue delay that chance alone makes.

        A queue draws lots for its packets, so senders hear a probability with white noise. The
        loop damps this noise or oscillates with it. Nothing is fitted.

        Parameters
        ----------
        bin : float or str, optional
            See the delay as means over bins of that length (s), as results of packets have it.
            None: at any instant.
        by : {"class"}, optional
            Of the lots of each class of flows by themselves, in their order: the squares add up.
        cuts : {"equal", "varied"}
            What signals cut: windows that are all equal, as those of the loop, or such as random
            signals leave behind. The larger ones are signalled more and cut by more, so that Reno's
            noise has 2/(2 - decrease) times the variance; see `Sender.cut_variance`.

        Returns
        -------
        float or array, or tuple of them
            Of `shape`. inf where the loop is unstable or on its boundary: what it does then, chance
            does not decide. It rises without end on the way there, and what it says above some
            0.6 of the target packets do not do: the empty queue and p' = 0 bound them.

        Raises
        ------
        UnsupportedError
            If the queue draws no lots, or not one for each packet by a probability that is held
            between updates (`Red`; the L4S queue of `DualPi2` alone; what acts on arrivals), or
            nothing is signalled to the flows.
        QuantityError, DomainError
            If `bin` is no time of 0 or more, or `by` or `cuts` is unknown.

        Notes
        -----
        The delay is the one that the controller acts on: of a dual queue, of Classic packets; those
        of L4S do not wait in this loop. `delay_spectrum` has it over frequency. With
        p_i the probability of class i, y_i its packets per second, and p_i' the slope of p_i over
        the controller's variable, the noise has the density S_i = p_i (1 - p_i)/(y_i p_i'^2); of
        one class of Classic flows under p = p'^2 (1 - p)/(4 C), whatever the load. In closed loop
        that is an integral over all frequencies, those above pi/T and their images too, right to
        1e-3 and better. docs/theory_limits.md derives it and says how far packets follow: under the
        square within some 20 %, while `Pie`, whose table jumps within the reach of its noise,
        varies 1.2 to 1.9 times as far as this. Where L4S packets are served first,
        echoes of flows with one round-trip time are left out. `Pie` with `derandomize` spreads its
        signals, so that their number varies less. The noise of a sender that is none of
        its signals (slow start, short flows, switching on and off) is not in it.

        Examples
        --------
        >>> import pi2_fluid as pf
        >>> flows = pf.Flows(pf.Reno(), 10, "40ms")
        >>> model = {"capacity": "40Mbit/s", "update": "sampled", "clock": "acks"}
        >>> loop = pf.Loop(flows, pf.DualPi2(), **model)
        >>> print(f"{1e3 * loop.delay_sd():.2f} ms, {1e3 * loop.delay_sd('20ms'):.2f} ms in bins")
        4.45 ms, 4.44 ms in bins

        Of many gains at once:

        >>> queues = pf.DualPi2(alpha=0.16, beta=[1.6, 3.2, 6.4, 25.6])
        >>> print(1e3 * pf.Loop(flows, queues, **model).delay_sd("20ms").round(5))
        [5.32 4.44 4.1   inf]
        """
        if by is not None:
            validate_choice(by, ("class",), "by")
        variances, _ = self._noise(window_of(bin), cuts)
        if by is None:
            sd: Values = relabel(self.labels, np.sqrt(variances.sum(axis=0))[()])
            return sd
        return tuple(relabel(self.labels, np.sqrt(one)[()]) for one in variances)

    def delay_spectrum(
        self, w: ArrayLike, *, by: str | None = None, cuts: str = "equal"
    ) -> FloatArray | tuple[FloatArray, ...]:
        """Return the density of the delay's variance by chance over frequency, s^2 per rad/s.

        Its integral over all w > 0 is ``delay_sd()`` squared. It is largest where the loop rings.

        Parameters
        ----------
        w : array
            rad/s, above 0. Frequencies above pi/T are images of those below, and have their part.
        by, cuts
            As of `delay_sd`.

        Returns
        -------
        numpy.ndarray, or tuple of them
            Of the shape of `w`; inf where the loop is unstable or on its boundary.

        Raises
        ------
        UnsupportedError
            As `delay_sd`, and for arrays of loops.
        QuantityError, DomainError
            If `w` is not positive and finite, or a word is unknown.

        Examples
        --------
        >>> import numpy as np
        >>> import pi2_fluid as pf
        >>> loop = pf.Loop(pf.Flows(pf.Reno(), 10, "40ms"), pf.Pi2(), capacity="40Mbit/s")
        >>> w = np.geomspace(0.01, 1000, 2000)
        >>> density = loop.delay_spectrum(w)
        >>> print(f"most at {w[density.argmax()]:.1f} rad/s")
        most at 5.6 rad/s
        >>> print(f"{np.trapezoid(density, w) ** 0.5 / loop.delay_sd():.4f}")
        1.0000
        """
        if by is not None:
            validate_choice(by, ("class",), "by")
        at = positive(w)
        self._require_scalar("delay_spectrum")
        variances, _ = self._noise(0.0, cuts)
        linear = self.linear
        assert not isinstance(linear, DelayLoop), "of which nothing is signalled"
        densities = self._densities(cuts)
        if np.isfinite(variances).all():
            moving = [density for density in densities if density is not None]
            found = find_density(linear, self.update, moving, at.ravel(), self._in_common)
            each = iter(self._shared_out(found))
            still = np.zeros(at.size)
            rows = [(still if one is None else next(each)).reshape(at.shape) for one in densities]
        else:
            rows = [np.full(at.shape, np.inf)] * len(densities)
        return tuple(rows) if by is not None else np.sum(rows, axis=0)

    def signal_spread(self) -> Values:
        """Return rho: the standard deviation of the controller's variable by chance, over its rest.

        Of a queue with p = p'^2, sd(p')/p'. The delay is linear in p' only while p' is above 0:
        well below 1 the loop is as good as linear; from some 0.6 on p' is driven to 0 now and
        then, its mean rises, and the delay and the rate fall.

        Returns
        -------
        float or array
            Of `shape`, inf where the loop is not stable.

        Raises
        ------
        UnsupportedError
            As `delay_sd`.

        Examples
        --------
        >>> import pi2_fluid as pf
        >>> model = {"capacity": "40Mbit/s", "update": "sampled", "clock": "acks"}
        >>> for count in (1, 10):
        ...     flows = pf.Flows(pf.Cubic(), count, "40ms")
        ...     print(count, round(pf.Loop(flows, pf.DualPi2(), **model).signal_spread(), 2))
        1 2.6
        10 0.22
        """
        # It does not depend on how the delay is seen.
        window = next((window for window, cuts in self._noises if cuts == "equal"), 0.0)
        _, variance = self._noise(window)
        spread: Any = np.sqrt(variance) / np.asarray(self._point.controller)
        found: Values = relabel(self.labels, spread[()])
        return found

    @cached_property
    def _noises(self) -> dict[tuple[float, str], tuple[FloatArray, FloatArray]]:
        return {}

    def _noise(self, window: float, cuts: str = "equal") -> tuple[FloatArray, FloatArray]:
        """Variances of the delay by the noise of each class, the first axis, and of the variable.

        inf where the loop does not settle.
        """
        validate_choice(cuts, CUTS, "cuts")
        if (window, cuts) not in self._noises:
            self._require_lots()
            linear = self.linear
            assert not isinstance(linear, DelayLoop), "of which nothing is signalled"
            moving = [density for density in self._densities(cuts) if density is not None]
            found = find_spread(linear, self.update, moving, window, self._in_common)
            growing = found.growing.copy()
            unsure = np.isnan(growing) | (growing < 0.0) | may_grow_alone(linear)
            if isinstance(linear, AckLoop) and (linear.exchanges or linear.dual):
                unsure |= growing > 0.0  # maybe by modes above the loop's reach alone
            if isinstance(linear, AckLoop) and linear.exchanges:
                # modes in ranges so narrow that the parts may have missed them
                unsure = np.ones_like(unsure)
            if unsure.any():
                growing[unsure] = self._search.counts(unsure)
            settles = growing == 0.0
            delay = np.where(settles, self._shared_out(found.delay), np.inf)
            variable = np.where(settles, found.variable, np.inf)
            still = np.where(settles, 0.0, np.inf)
            each = iter(delay)
            rows = [still if one is None else next(each) for one in self._densities(cuts)]
            self._noises[window, cuts] = np.array(rows), variable
        return self._noises[window, cuts]

    def _densities(self, cuts: str) -> list[FloatArray | None]:
        """Of the noise that each class hears, in the controller's variable (squared, s).

        None of one that no window moves, which has no part in the loop.
        """
        point = self._point
        slopes = encode_slopes(self.aqm, point.controller)
        of = dict(zip(("classic", "scalable"), slopes, strict=True))
        found: list[FloatArray | None] = []
        for sender, p, share in zip(
            self.senders, per_class(point.p), per_class(point.share), strict=True
        ):
            if sender.constant_rate is not None:
                found.append(None)
                continue
            if sender.signal is None:
                found.append(np.zeros(self.shape))
                continue
            slope, packets = np.asarray(of[sender.signal]), share * point.capacity
            scatter = cut_factor(sender, cuts) * np.asarray(p * (1.0 - p) / packets)
            scatter = scatter + np.zeros(self.shape)
            scaled = np.where(slope == 0.0, np.inf, slope) ** 2  # at p = 1 nothing more is heard
            found.append(scatter / scaled)
        return found

    @cached_property
    def _in_common(self) -> FloatArray | None:
        """Of what all classes hear alike, as of `_densities`: below 0 where signals are spread.

        Signals come as a renewal process whose intervals vary by 1/(1 + spacing) of their mean, and
        their number by the square of that. Each falls on a class by its share of packets.
        """
        if not self.aqm.signal_spacing:
            return None
        point, law = self._point, encode_slopes(self.aqm, self._point.controller)[0]
        p = np.asarray(self.aqm.encode(point.controller).classic, dtype=float)
        regular = 1.0 - 1.0 / (1.0 + self.aqm.signal_spacing) ** 2
        found: FloatArray = -regular * p * (1.0 - p) / np.asarray(point.capacity * law**2)
        return found + np.zeros(self.shape)

    def _shared_out(self, rows: FloatArray) -> FloatArray:
        """Rows of each class, that of all together spread over them."""
        if self._in_common is None:
            return rows
        own = rows[:-1]
        with np.errstate(invalid="ignore"):
            found: FloatArray = own * (1.0 + rows[-1] / own.sum(axis=0))
        return found

    def _require_lots(self) -> None:
        """Refuse a queue whose lots are not those of the derivation, and flows that hear none."""
        if isinstance(self.linear, DelayLoop):
            raise UnsupportedError(
                "nothing is signalled to these flows, which answer to their delay, so that no lots"
                " move it: give flows that hear signals, such as Reno, or simulate."
            )
        require_lots(self.aqm, self._point.controller)
