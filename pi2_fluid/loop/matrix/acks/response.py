"""L(s) of a network by acknowledgements, from deviations of counts, queues and controllers.

In seconds, packets over a class's rate: dA_i is what class i has sent beyond the rest, alpha_il
what of it has come to queue l, f_il after it was sent. With sigma_l the deviation of queue l's
backlog over its capacity, theta_l = e^{-s tau_l} sigma_l that of how long what leaves it has
waited, and R_i w_i what the windows add,

    alpha_il = e^{-s f_il} dA_i - sum over m before l of e^{-s (f_il - f_im)} sigma_m
    (1 - e_i) dA_i = R_i w_i - sum over m of the route of e^{-s (R_i - f_im)} sigma_m
    sigma_l = sum of phi_il alpha_il,

e_i = e^{-s R_i}. Each line conserves packets. What leaves a queue is what came, less what waits
there longer than at rest; what is acknowledged at the end of the route is sent again, and windows
alone add to it; a queue that is never empty lets through its capacity, of which phi_il is class i's
part, so that what comes beyond that waits. Collected, (I + B) sigma = Y u, and u = H sigma closes
the loop, or H theta where a controller looks at the head of its queue: L = -M (I + B)^-1 Y H.

Of one queue I + B is phi_0 + sum of phi/(1 - e), as in `pi2_fluid.loop.acks.plant`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pi2_fluid.loop.acks.plant import answer_of, window_bound
from pi2_fluid.loop.matrix.acks.system import AckMatrixLoop
from pi2_fluid.loop.response import controller_polynomials

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray

_GRID: Final = 1000
_BLOCK: Final = 2**16  # complex numbers of one array at once


class Plant(NamedTuple):
    """What sigma is solved from, at n values of s."""

    exchange: ComplexArray
    """I + B, shape (n, queues, queues)."""
    drive: ComplexArray
    """Y, shape (n, queues, links that signal)."""


def plant_parts(loop: AckMatrixLoop, s: ComplexArray) -> Plant:
    """Return I + B and Y at complex s, of shape (n,)."""
    at = np.asarray(s, dtype=complex)
    bunch = loop.bunch
    sent, lost = np.empty((2, at.size, len(loop.classes)), dtype=complex)
    for i, cls in enumerate(loop.classes):
        by_signal, by_delay, back = answer_of(cls, at, bunch)
        sent[:, i], lost[:, i] = by_signal / back, by_delay / back
    queues = len(loop.waits)
    there = np.exp(-at[:, None, None] * loop.forward)  # n, classes, queues
    arriving = loop.shares * there
    acked = loop.crosses * np.exp(-at[:, None, None] * (loop.rtt[:, None] - loop.forward))
    exchange: ComplexArray = np.einsum("nil,ni,nim->nlm", arriving, lost, acked)
    exchange += np.eye(queues)
    for forward, crosses, shares in (
        (loop.forward, loop.crosses, loop.shares),
        loop.passive,
    ):
        both = crosses[:, :, None] * crosses[:, None, :]
        since = forward[:, :, None] - forward[:, None, :]
        for row, here, former in np.argwhere((both > 0.0) & (since > 0.0)).tolist():
            late = np.exp(-at * since[row, here, former])
            exchange[:, here, former] += shares[row, here] * late
    heard = loop.slopes * np.exp(-at[:, None, None] * loop.heard)
    drive: ComplexArray = np.einsum("nil,ni,nik->nlk", arriving, sent, heard)
    return Plant(exchange, drive)


def plant_matrix(loop: AckMatrixLoop, s: ComplexArray) -> ComplexArray:
    """Return G(s): from the controllers' variables to minus what the controllers look at."""
    found = np.empty((s.size, *(2 * (len(loop.signals),))), dtype=complex)
    block = max(16, _BLOCK // loop.crosses.size)
    signals = list(loop.signals)
    for start in range(0, s.size, block):
        part = s[start : start + block]
        exchange, drive = plant_parts(loop, part)
        seen = -np.linalg.solve(exchange, drive)[:, signals]
        late = np.exp(-part[:, None] * loop.waits[signals])
        found[start : start + block] = np.where(loop.heads, late, 1.0)[:, :, None] * seen
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
    for column, controller in enumerate(loop.controllers):
        numerator, denominator = controller_polynomials(controller, s)
        ratio = numerator / denominator
        if half_sample:
            ratio = ratio * np.exp(-s * loop.intervals[column] / 2)
        plant[:, :, column] *= ratio[:, None]
    return plant


def exchange_determinant(loop: AckMatrixLoop, s: ComplexArray) -> ComplexArray:
    """Return det(I + B): zeros on the right are exchanges of packets that grow by themselves."""
    found: ComplexArray = np.linalg.det(plant_parts(loop, s).exchange)
    return found


def plant_bound(loop: AckMatrixLoop, w: float) -> float:
    """Return an upper bound of |G(jv)| over v >= w of one queue whose classes exchange nothing.

    Of paced senders, and with exact terms, from a grid.
    """
    if any(cls.paced or cls.follows_acks for cls in loop.classes):
        v = w * np.geomspace(1.0, 100.0, _GRID)
        return 1.5 * float(np.max(np.abs(plant_matrix(loop, 1j * v)[:, 0, 0]) * v / w))
    clocked = 1.0 - float(np.sum(loop.passive.shares))
    sizes = np.array([window_bound(cls, w, loop.bunch)[0] for cls in loop.classes])
    return float(np.sum(loop.shares[:, 0] * np.abs(loop.slopes[:, 0]) * sizes)) / clocked


def loop_bound(loop: AckMatrixLoop, w: float) -> float:
    """Return an upper bound of |L(jv)| over v >= w of such a loop."""
    s = 1j * np.geomspace(w, 1e6 * w, 200)
    numerator, denominator = controller_polynomials(loop.controllers[0], s)
    return 1.05 * float(np.max(np.abs(numerator / denominator))) * plant_bound(loop, w)
