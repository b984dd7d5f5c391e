"""What chance does to a loop: the noise of its signals, in the delay and in the signal itself."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pi2_fluid.errors import QuantityError, UnsupportedError, show_value
from pi2_fluid.loop.acks import AckLoop
from pi2_fluid.loop.answers import LoopAnswers
from pi2_fluid.loop.controllers import encode_slopes
from pi2_fluid.loop.delays import DelayLoop
from pi2_fluid.loop.linearization import per_class
from pi2_fluid.loop.spread import find_spread, may_grow_alone
from pi2_fluid.network.rest import has_ticks
from pi2_fluid.records.labels import relabel
from pi2_fluid.units import validate_choice, validate_quantity

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, Quantity, Values


class NoisyLoop(LoopAnswers):
    """A loop that says how far the lots drive it that a queue draws for its packets."""

    def delay_sd(
        self, bin: Quantity | None = None, *, by: str | None = None
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
            between updates (`Red`; `Pie` with `derandomize`; the L4S queue of `DualPi2` alone; what
            acts on arrivals), or nothing is signalled to the flows.
        QuantityError, DomainError
            If `bin` is no time of 0 or more, or `by` is unknown.

        Notes
        -----
        The delay is the one that the controller acts on: of a dual queue, of Classic packets. With
        p_i the probability of class i, y_i its packets per second, and p_i' the slope of p_i over
        the controller's variable, the noise has the density S_i = p_i (1 - p_i)/(y_i p_i'^2); of
        one class of Classic flows under p = p'^2 (1 - p)/(4 C), whatever the load. In closed loop
        that is an integral over all frequencies, those above pi/T and their images too, right to
        1e-3 and better. docs/theory_limits.md derives it and says how far packets follow: under the
        square within some 20 %, while `Pie`, whose table jumps within the reach of its noise,
        varies 1.2 to 1.9 times as far as this. Where L4S packets are served first,
        echoes of flows with one round-trip time are left out. The noise of a sender that is none of
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
        window = 0.0
        if bin is not None:
            given = validate_quantity(bin, "time", "bin", closed=True)
            if np.ndim(given):
                raise QuantityError(
                    f"bin = {show_value(bin)} is an array: give one length, such as '20ms'."
                )
            window = float(given)
        variances, _ = self._noise(window)
        if by is None:
            sd: Values = relabel(self.labels, np.sqrt(variances.sum(axis=0))[()])
            return sd
        return tuple(relabel(self.labels, np.sqrt(one)[()]) for one in variances)

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
        window = next(iter(self._noises), 0.0)  # which nothing here depends on
        _, variance = self._noise(window)
        spread: Any = np.sqrt(variance) / np.asarray(self._point.controller)
        found: Values = relabel(self.labels, spread[()])
        return found

    @cached_property
    def _noises(self) -> dict[float, tuple[FloatArray, FloatArray]]:
        return {}

    def _noise(self, window: float) -> tuple[FloatArray, FloatArray]:
        """Variances of the delay by the noise of each class, the first axis, and of the variable.

        inf where the loop does not settle.
        """
        if window not in self._noises:
            self._require_lots()
            linear = self.linear
            assert not isinstance(linear, DelayLoop), "of which nothing is signalled"
            moving = [density for density in self._densities() if density is not None]
            found = find_spread(linear, self.update, moving, window)
            growing = found.growing.copy()
            unsure = np.isnan(growing) | (growing < 0.0) | may_grow_alone(linear)
            if isinstance(linear, AckLoop) and (linear.exchanges or linear.dual):
                unsure |= growing > 0.0  # maybe by modes above the loop's reach alone
            if unsure.any():
                growing[unsure] = self._search.counts(unsure)
            settles = growing == 0.0
            delay = np.where(settles, found.delay, np.inf)
            variable = np.where(settles, found.variable, np.inf)
            still = np.where(settles, 0.0, np.inf)
            each = iter(delay)
            rows = [still if one is None else next(each) for one in self._densities()]
            self._noises[window] = np.array(rows), variable
        return self._noises[window]

    def _densities(self) -> list[FloatArray | None]:
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
            scatter = np.asarray(p * (1.0 - p) / packets) + np.zeros(self.shape)
            scaled = np.where(slope == 0.0, np.inf, slope) ** 2  # at p = 1 nothing more is heard
            found.append(scatter / scaled)
        return found

    def _require_lots(self) -> None:
        """Refuse a queue whose lots are not those of the derivation, and flows that hear none.

        Raises
        ------
        UnsupportedError
            Naming the law.
        """
        name = type(self.aqm).__name__
        if isinstance(self.linear, DelayLoop):
            raise UnsupportedError(
                "nothing is signalled to these flows, which answer to their delay, so that no lots"
                " move it: give flows that hear signals, such as Reno, or simulate."
            )
        if not has_ticks(self.aqm, self._point.controller) or self.aqm.acts_on != "queue":
            raise UnsupportedError(
                f"{name} does not draw lots here by a probability that it holds between updates,"
                " for which alone the noise of signals is derived: give a PI law, such as Pi2, or"
                " simulate."
            )
        if not self.aqm.signals_by_lot:
            raise UnsupportedError(
                f"{name} derandomize = True spreads its signals, whose noise is not derived: give"
                " derandomize=False, which makes the delay vary more, or simulate."
            )
