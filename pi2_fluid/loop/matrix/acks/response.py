"""L(s) of a network by acknowledgements, from deviations of counts, queues and controllers.

In seconds, packets over a class's rate: dA_i is what class i has sent beyond the rest, alpha_il
what of it has come to queue l, f_il after it was sent. With theta_l the deviation of how long what
leaves queue l has waited, tau_l at rest, and R_i w_i what the windows add,

    alpha_il = e^{-s f_il} dA_i - sum over m before l of e^{-s (f_il - f_im - tau_m)} theta_m
    (1 - e_i) dA_i = R_i w_i - sum over m of the route of e^{-s (R_i - f_im - tau_m)} theta_m
    theta_l = e^{-s tau_l} sum of phi_il alpha_il,

e_i = e^{-s R_i}. Each line conserves packets. What leaves a queue is what came, less what waits
there longer than at rest; what is acknowledged at the end of the route is sent again, and windows
alone add to it; a queue that is never empty lets through its capacity, of which phi_il is class i's
part, so that what comes beyond that waits. Packets that a dual queue serves first wait in none, add
psi_jl alpha_jl to theta_l, and have no theta_l on their way. Collected, (I + B) theta = Y u, and
u = H theta closes the loop, or H sigma where a controller looks at the backlog, of which sigma is
the deviation over what the queue is served: sum of phi alpha + (1 + s tau) sum of psi alpha.

Of one queue I + B is phi_0 + sum of phi/(1 - e), as in `pi2_fluid.loop.acks.plant`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pi2_fluid.loop.acks.plant import answer_of, window_bound
from pi2_fluid.loop.matrix.acks.system import AckMatrixLoop
from pi2_fluid.loop.matrix.network_matrices import close_with_controllers
from pi2_fluid.loop.response import controller_polynomials

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, FloatArray

_GRID: Final = 1000
_LARGEST: Final = 600.0  # of an exponent; so far right nothing is left of a delay
_BLOCK: Final = 2**16  # complex numbers of one array at once


class Sums(NamedTuple):
    """A weighted sum of what has come to each queue, drive u - exchange theta, at n values of s."""

    exchange: ComplexArray
    """Shape (n, queues, queues)."""
    drive: ComplexArray
    """Shape (n, queues, links that signal)."""


class _Counts:
    """What has come to queues at n values of s, by the signals u and the delays theta.

    Without `echoes` packets that wait nowhere do not come back: 1/(1 - e) is 1, its mean over a
    harmonic.
    """

    def __init__(self, loop: AckMatrixLoop, s: ComplexArray, *, echoes: bool) -> None:
        self.loop, self.s = loop, np.asarray(s, dtype=complex)
        sent, lost = np.empty((2, self.s.size, len(loop.classes)), dtype=complex)
        for i, cls in enumerate(loop.classes):
            by_signal, by_delay, back = answer_of(cls, self.s, loop.bunch)
            if loop.echoing[i] and not echoes:
                back = np.ones_like(back)
            sent[:, i], lost[:, i] = by_signal / back, by_delay / back
        ways = loop.ways
        self.there = self._late(ways.forward)
        behind = loop.rtt[:, None] - ways.forward - ways.late
        acked = lost[:, :, None] * ways.waits * self._late(np.maximum(behind, 0.0))
        self.by_delay: ComplexArray = acked
        self.by_signal = sent[:, :, None] * loop.slopes * self._late(loop.heard)

    def _late(self, delays: FloatArray) -> ComplexArray:
        result: ComplexArray = np.exp(-self.s[:, None, None] * delays)
        return result

    def sums(self, own: ComplexArray, passive: ComplexArray) -> Sums:
        """Return the sums with weights of classes and of the passive, (n, classes, queues)."""
        loop, arriving = self.loop, own * self.there
        exchange: ComplexArray = np.einsum("nil,nim->nlm", arriving, self.by_delay)
        for weights, ways in ((own, loop.ways), (passive, loop.passive)):
            both = ways.crosses[:, :, None] * ways.waits[:, None, :]
            left = (ways.forward + ways.late)[:, None, :]
            since, comes = ways.forward[:, :, None] - left, ways.forward[:, :, None]
            behind = (both > 0.0) & (comes > ways.forward[:, None, :])
            for row, here, former in np.argwhere(behind).tolist():
                late = np.exp(-self.s * since[row, here, former])
                exchange[:, here, former] += weights[:, row, here] * late
        drive: ComplexArray = np.einsum("nil,nik->nlk", arriving, self.by_signal)
        return Sums(exchange, drive)

    def leaving(self) -> Sums:
        """Return what leaves each queue beyond its service, of packets that have waited as at rest.

        With what is served first, and takes the link from those that wait.
        """
        ways, passive = self.loop.ways, self.loop.passive
        return self.sums(
            ways.shares * self._late(ways.late), passive.shares * self._late(passive.late)
        )

    def backlogs(self, theta: ComplexArray) -> ComplexArray:
        """Return the backlogs over what queues are served, of delays theta.

        What has come to wait is what is served less than came ahead, as long ago as it waits.
        """
        ways, passive = self.loop.ways, self.loop.passive
        wait = self.s[:, None, None] * self.loop.delays[:, None]
        sooner = np.exp(np.minimum(wait.real, _LARGEST) + 1j * wait.imag)
        if not np.any((ways.crosses > 0.0) & (ways.waits == 0.0)):
            result: ComplexArray = sooner * theta
            return result
        own, others = (
            np.broadcast_to(each.shares * (each.waits == 0.0), (self.s.size, *each.shares.shape))
            for each in (ways, passive)
        )
        back, forth = self.sums(own.astype(complex), others.astype(complex))
        ahead = forth - back @ theta
        found: ComplexArray = sooner * (theta - ahead) + (1.0 + wait) * ahead
        return found


def exchange_determinant(loop: AckMatrixLoop, s: ComplexArray) -> ComplexArray:
    """Return det(I + B): zeros on the right are exchanges of packets that grow by themselves."""
    exchange = _Counts(loop, s, echoes=True).leaving().exchange
    found: ComplexArray = np.linalg.det(exchange + np.eye(len(loop.delays)))
    return found


def plant_matrix(loop: AckMatrixLoop, s: ComplexArray, *, echoes: bool = True) -> ComplexArray:
    """Return G(s): from the controllers' variables to minus what the controllers look at."""
    found = np.empty((s.size, *(2 * (len(loop.signals),))), dtype=complex)
    block = max(16, _BLOCK // loop.ways.crosses.size)
    signals = list(loop.signals)
    for start in range(0, s.size, block):
        counts = _Counts(loop, s[start : start + block], echoes=echoes)
        exchange, drive = counts.leaving()
        theta = np.linalg.solve(exchange + np.eye(len(loop.delays)), drive)
        if not loop.heads.all():
            backlog = counts.backlogs(theta)
            looked = np.where(loop.heads[:, None], theta[:, signals], backlog[:, signals])
        else:
            looked = theta[:, signals]
        found[start : start + block] = -looked
    return found


def matrix_response(
    loop: AckMatrixLoop, s: ComplexArray, *, half_sample: bool = False
) -> ComplexArray:
    """Return L(s), so that det(I + L) = 0 is the characteristic equation.

    Parameters
    ----------
    loop : AckMatrixLoop
    s : complex array, shape (n,)
        rad/s, not 0.
    half_sample : bool
        Multiply each column by e^{-sT/2}, the mean delay of a signal held for T.

    Returns
    -------
    numpy.ndarray, shape (n, links, links)
        A row for each link whose delay answers, a column for each whose controller acts.
    """
    plant = plant_matrix(loop, s)
    return close_with_controllers(loop, plant, s, half_sample=half_sample)


def plant_bound(loop: AckMatrixLoop, w: float) -> float:
    """Return an upper bound of |G(jv)| over v >= w of one queue whose classes exchange nothing.

    Of paced senders, and with exact terms, from a grid.
    """
    if any(cls.paced or cls.follows_acks for cls in loop.classes):
        v = w * np.geomspace(1.0, 100.0, _GRID)
        return 1.5 * float(np.max(np.abs(plant_matrix(loop, 1j * v)[:, 0, 0]) * v / w))
    clocked = 1.0 - float(np.sum(loop.passive.shares))
    sizes = np.array([window_bound(cls, w, loop.bunch)[0] for cls in loop.classes])
    return float(np.sum(loop.ways.shares[:, 0] * np.abs(loop.slopes[:, 0]) * sizes)) / clocked


def loop_bound(loop: AckMatrixLoop, w: float) -> float:
    """Return an upper bound of |L(jv)| over v >= w of such a loop."""
    s = 1j * np.geomspace(w, 1e6 * w, 200)
    numerator, denominator = controller_polynomials(loop.controllers[0], s)
    return 1.05 * float(np.max(np.abs(numerator / denominator))) * plant_bound(loop, w)
