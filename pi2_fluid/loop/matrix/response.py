"""L(s) of a network, (L, L), from deviations of its rates, queue delays and controllers.

With the deviations tau of the queue delays and u of the controllers, at the arrival of class i at
its queue l, f_il after the source,

    dx_i  = c x_i + r sum of tau over the route                       (`class_response`)
    dA_il = e^{-s f_il} dx_i - x_i s sum over m before l of e^{-s (f_il - f_im)} tau_m
    s tau_l = sum of N_i dA_il / C_l

and what class i hears is sum of dp_i/du_l e^{-s (R_i - f_il)} u_l. Collected, X tau = Y u, and
u = H tau closes the loop: L = -X^-1 Y H. The second line is FIFO: a queue that waits lets through
C in all, so that a class's share of it changes as the others' do, which leaves sum of dA = s C tau
less than came. Without it every queue would see what the source sent.

A dual queue has two unknowns: k = q/mu of the queue that waits, mu = what the link leaves it, and
n = sum of N_j dA_j/mu over the classes of the other, which takes the link from it. With T the delay
at rest, tau = k + T n,

    s k_l = sum of N_i dA_il / mu_l + n_l,
    dA_il = ... - x_i sum of e^{-s (f_il - f_im)} (s k_m + (e^{s T_m} - 1) n_m)

since packets that wait leave by what arrived T before them, and by what the link leaves them now.

Of a link with a price, which acts on the rate that arrives and has no queue, the unknown is not
tau_l but dy_l/C_l, dy_l = sum of N_i dA_il: its row of X has 1 in place of s, its column nothing
else, and u_l = H_l dy_l. A sender whose rate hears the signal itself has that, too, in dx_i.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec

import numpy as np

from pi2_fluid.loop.matrix.network_matrices import close_with_controllers, control
from pi2_fluid.loop.matrix.system import MatrixLoop
from pi2_fluid.loop.response import (
    class_determinant,
    class_response,
    controller_order,
    leading_coefficient,
)

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray

_P = ParamSpec("_P")
_BLOCK: Final = 2**16  # ways of classes to queues, times frequencies, at once: 1 MiB an array


def in_blocks(
    function: Callable[Concatenate[MatrixLoop, ComplexArray, _P], ComplexArray],
) -> Callable[Concatenate[MatrixLoop, ComplexArray, _P], ComplexArray]:
    """Let a function of many frequencies take as many at a time as stay in the cache."""

    @wraps(function)
    def answer(
        loop: MatrixLoop, s: ComplexArray, /, *args: _P.args, **options: _P.kwargs
    ) -> ComplexArray:
        block = max(16, _BLOCK // loop.crosses.size)
        if s.size <= block:
            return function(loop, s, *args, **options)
        parts = (s[start : start + block] for start in range(0, s.size, block))
        return np.concatenate([function(loop, part, *args, **options) for part in parts])

    return answer


def matrix_response(
    loop: MatrixLoop, s: ComplexArray, *, half_sample: bool = False
) -> ComplexArray:
    """Return L(s), so that det(I + L) = 0 is the characteristic equation.

    Parameters
    ----------
    loop : MatrixLoop
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


@in_blocks
def plant_matrix(loop: MatrixLoop, s: ComplexArray) -> ComplexArray:
    """Return G(s) = -X^-1 Y: from the controllers' variables to minus the queue delays."""
    X, Y = _plant_parts(loop, s)
    result: ComplexArray = -loop.acted_on @ np.linalg.solve(X, Y)
    return result


def class_plants(loop: MatrixLoop, s: ComplexArray) -> ComplexArray:
    """Return G(s) class by class: from what each hears of each link to minus all queue delays.

    Returns
    -------
    numpy.ndarray, shape (n, queues, classes, links that signal)
        Of a link with a price, minus what arrives, and of what takes the link from a queue. Summed
        over the classes, its rows of the links that signal are `plant_matrix`.
    """
    X, arriving, heard = _parts_by_class(loop, s)
    each = arriving[..., None] * heard[:, None]
    result: ComplexArray = -np.linalg.solve(X, each.reshape(*each.shape[:2], -1))
    for pair in loop.pairs:
        result[:, pair.waits] += pair.delay * result[:, pair.served]
    return result.reshape(each.shape)


@in_blocks
def matrix_characteristic(
    loop: MatrixLoop,
    s: ComplexArray,
    scale: float,
    *,
    half_sample: bool = False,
    without: Collection[int] = (),
) -> ComplexArray:
    """Return the characteristic function of the closed loop: free of poles, and near 1 at large s.

    det(X - Y H) times the determinants of the classes and the denominators of the controllers: of
    degree `matrix_degree`, over (s + scale)^degree and over `high_frequency_determinant`, which has
    no zeros on the right (see `pi2_fluid.loop.matrix.delays`).

    Parameters
    ----------
    loop : MatrixLoop
    s : complex array, shape (n,)
    scale : float
        rad/s.
    half_sample : bool
        As for `matrix_response`.
    without : collection of int
        Numbers of links among those that signal whose loops are open.
    """
    X, Y = _plant_parts(loop, s)
    inverse = 1.0 / (s + scale)
    result: ComplexArray = np.ones(s.shape, dtype=complex)
    for number, controller in enumerate(loop.controllers):
        if number not in without:
            numerator, denominator = control(loop, number, s, half_sample=half_sample)
            ratio = (numerator / denominator)[:, None]
            for queue in np.flatnonzero(loop.acted_on[number]):
                X[:, :, queue] -= Y[:, :, number] * (ratio * loop.acted_on[number, queue])
            order = controller_order(controller)
            result *= denominator / leading_coefficient(controller) * inverse**order
    for places, group in loop.groups:
        back = np.exp(-s * loop.rtt[places][:, None])
        own = class_determinant(group, s, back) * inverse**group.size
        result *= np.prod(own, axis=0)
    X[:, loop.waits] *= inverse[:, None, None]
    result *= np.linalg.det(X) / high_frequency_determinant(loop, s)
    return result


def high_frequency_determinant(loop: MatrixLoop, s: ComplexArray) -> ComplexArray:
    """Return det(I + F): what is left of det X over powers of s at high frequency.

    With what takes the link from a dual queue, and by the delay of that queue moves rates at once.
    """
    parts = passed_on(loop, s)
    for pair in loop.pairs:
        felt = pair.delay * loop.crosses[:, pair.waits] * [float(cls.r) for cls in loop.classes]
        for queue in range(len(loop.capacity)):
            there = loop.weight[:, queue] * felt
            parts[:, queue, pair.served] -= np.exp(-s[:, None] * loop.forward[:, queue]) @ there
    result: ComplexArray = np.linalg.det(parts)
    return result


def matrix_degree(loop: MatrixLoop, without: Collection[int] = ()) -> int:
    """Return how many factors `matrix_characteristic` has: the states of the system."""
    closed = [c for number, c in enumerate(loop.controllers) if number not in without]
    own = sum(cls.size for cls in loop.classes) + int(np.sum(loop.waits))
    return own + sum(controller_order(controller) for controller in closed)


def _plant_parts(loop: MatrixLoop, s: ComplexArray) -> tuple[ComplexArray, ComplexArray]:
    """Return X and Y: X tau = Y u."""
    X, arriving, heard = _parts_by_class(loop, s)
    return X, arriving @ heard


def _parts_by_class(
    loop: MatrixLoop, s: ComplexArray
) -> tuple[ComplexArray, ComplexArray, ComplexArray]:
    """Return X, and what Y is the product of: (queues, classes) and (classes, links)."""
    delays, round_trip, ahead = loop.delays
    late: ComplexArray = np.exp(-s * delays[:, None])
    back, there = late[round_trip], late[ahead]
    from_signal, from_delay = np.empty_like(back), np.empty_like(back)
    for places, group in loop.groups:
        signal, delay = class_response(group, s, back[places])
        from_signal[places], from_delay[places] = signal, delay + group.r
    from_signal += loop.feeds[:, None]
    # Frequencies first, in the order of the memory: a product of matrices for each of them.
    arriving = np.ascontiguousarray((loop.weight[:, :, None] * there).transpose(2, 1, 0))
    heard = loop.slopes[:, :, None] * back[:, None] / there[:, list(loop.signals)]
    heard = np.ascontiguousarray(heard.transpose(2, 0, 1))
    X = passed_on(loop, s)
    X[:, :, loop.waits] *= s[:, None, None]
    X -= np.multiply(arriving, from_delay.T[:, None], order="C") @ loop.delayed.astype(complex)
    answered: ComplexArray = np.multiply(arriving, from_signal.T[:, None], order="C")
    return X, answered, heard


def passed_on(loop: MatrixLoop, s: ComplexArray) -> ComplexArray:
    """Return I + F(s): what arrives is (I + F)^-1 of what would, did queues let through all.

    The columns are of s times the unknown of a queue that waits, of the unknown of others.
    """
    queues = len(loop.capacity)
    result = np.zeros((*s.shape, queues, queues), dtype=complex)
    result[:, range(queues), range(queues)] = 1.0
    for passing in loop.passings:
        late = np.exp(-s[:, None] * passing.delays)
        result[:, passing.at, passing.before] += late @ passing.shares
        for pair in loop.pairs:
            if pair.waits == passing.before:
                sooner = np.exp(-s[:, None] * (passing.delays - pair.delay))
                result[:, passing.at, pair.served] += (sooner - late) @ passing.shares
    for pair in loop.pairs:
        result[:, pair.waits, pair.served] -= 1.0
    return result
