"""The PI controller of the queue delay that PI, PIE, PI2 and the coupled queues share."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pi2_fluid.errors import DomainError
from pi2_fluid.model.aqm import Aqm, Seen
from pi2_fluid.model.aqms.pi_packets import controller_numbers, controller_parameters
from pi2_fluid.model.kernel_units import DUALPI2_GAIN, MICROSECONDS
from pi2_fluid.model.record import OptionalParameter, Parameter, choice, quantity
from pi2_fluid.ops import Number, maximum, minimum

if TYPE_CHECKING:
    from pi2_fluid.model.aqm import Line

__all__ = ["PiFamily"]


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class PiFamily(Aqm):
    """u += gain_factor(u) (alpha (delay - target) + beta (delay - delay_before)), each interval.

    The state is (u, delay at the last update). Subclasses say how `u` is encoded, and PIE how the
    gains are scaled.

    Parameters
    ----------
    alpha, beta : float
        Gains in Hz: change of `u` per second of delay error, and per second of delay change, at
        each update. alpha > 0 and beta >= 0.
    target : float or str
        Queue delay aimed at (s).
    update_interval : float or str
        Time between updates (s): the effective one, without rounding to a kernel's clock.
    arithmetic : {"real", "fixed"}
        Whether a packet simulation computes in real numbers, or in the integers of the kernel that
        the variant stands for. Those hold gains in multiples of 1/16 or 1/256 Hz.
    quirks : bool, default True
        Whether those integers overflow where the kernel's do; otherwise they stay within their
        bounds. Without meaning for real numbers.
    first_update : float or str, optional
        When the first update comes (s); None: after `update_interval`, but after 0.5 s in the
        variants of Linux whose timer waits for that.

    Notes
    -----
    The last three are for packets only.

    Source: PI2 paper (CoNEXT'16), equation (4); Hollot, Misra, Towsley, Gong (INFOCOM 2001).
    """

    packets_only: ClassVar[tuple[str, ...]] = ("arithmetic", "quirks", "first_update")

    alpha: Parameter = quantity(0.125, "frequency", closed=True, tc="alpha", kernel=DUALPI2_GAIN)
    beta: Parameter = quantity(1.25, "frequency", closed=True, tc="beta", kernel=DUALPI2_GAIN)
    target: Parameter = quantity("20ms", "time", tc="target", kernel=MICROSECONDS)
    update_interval: Parameter = quantity("32ms", "time", tc="tupdate", kernel=MICROSECONDS)
    arithmetic: str = choice("real", ("real", "fixed"))
    quirks: bool = choice(True, (True, False))
    first_update: OptionalParameter = quantity(None, "time", closed=True, optional=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if _any_zero(self.alpha):
            raise DomainError(
                f"{type(self).__name__} alpha = 0.0 leaves the delay without integral control, so"
                " that it never settles at its target: give alpha in (0, inf) Hz."
            )

    def initial(self) -> tuple[Number, ...]:
        """Return (u, delay before) of an idle queue: both 0."""
        return (0.0, 0.0)

    def gain_factor(self, u: Number) -> Number:
        """Return the factor on both gains at controller value `u`."""
        return 1.0

    def update(self, state: tuple[Number, ...], seen: Seen, dt: Number) -> tuple[Number, ...]:
        """Return (u, delay) after one update; `dt` does not enter (the gains are per update)."""
        u, before = state
        delay = seen.queue_delay
        step = self.alpha * (delay - self.target) + self.beta * (delay - before)
        return (u + self.gain_factor(u) * step, delay)

    def flow(
        self, state: tuple[Number, ...], seen: Seen, d_queue_delay: Number
    ) -> tuple[Number, ...]:
        """Return d(u, delay)/dt of the bilinear image: equation (29)."""
        u, _ = state
        integral = self.alpha / self.update_interval * (seen.queue_delay - self.target)
        proportional = (self.beta + self.alpha / 2) * d_queue_delay
        return (self.gain_factor(u) * (integral + proportional), d_queue_delay)

    def saturate(self, state: tuple[Number, ...]) -> tuple[Number, ...]:
        """Return the state with `u` kept in [0, limit]."""
        return (minimum(maximum(state[0], 0.0), self.limit), state[1])

    @property
    def limit(self) -> Number:
        """The largest value of the controller's variable."""
        return 1.0

    def fluid_parameters(self) -> dict[str, Any]:
        """Return the controller's numbers, and the largest value of its variable."""
        return controller_numbers(self)

    def packet_parameters(self, link: Line) -> dict[str, Any]:
        """Return the numbers of the disciplines "pi", "pi2" and "coupled", see `pi_packets`."""
        return controller_parameters(self)

    def update_parameters(self, link: Line) -> tuple[str, dict[str, Any]]:
        """Return the discipline whose controller updates as this law's, and its numbers."""
        return str(self.discipline), self.packet_parameters(link)

    def in_one_queue(self) -> PiFamily:
        """Return the controller with one queue for all packets: itself, if it has one."""
        return self

    def at_rest(self, u: Number, capacity: Number) -> tuple[tuple[Number, ...], Number]:
        """Return the state at rest, (u, target), and the queue delay: the target, at any load."""
        return (u, self.target), self.target


def _any_zero(value: Number) -> bool:
    return isinstance(value, (float, np.ndarray)) and bool(np.any(np.asarray(value) == 0.0))
