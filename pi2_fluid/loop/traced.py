"""Margins of any loop of one queue as a function that JAX can compile, map and differentiate.

Where flows and queue rest and where |L| = 1 or the phase is -180 degrees is what `Loop` finds. From
there two steps of Newton's method, whose equations are those of the laws, change nothing but carry
the derivatives of the implicit functions, the first step the first ones, the second the second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.errors import DomainError, ScenarioError, UnsupportedError
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.sender import Sender
from pi2_fluid.loop.matrix.network_loop import NetworkLoop
from pi2_fluid.loop.traced_response import traced_response
from pi2_fluid.loop.traced_rest import (
    Case,
    Kind,
    Traced,
    equations,
    refined,
    require_one_kind,
    solves_rest,
)
from pi2_fluid.loop.transfer import Loop
from pi2_fluid.loop.updates import NEARLY_ALL
from pi2_fluid.network.equilibrium import taken_apart
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.link import Link
from pi2_fluid.network.network import Network, Node
from pi2_fluid.records.record import Record
from pi2_fluid.units import validate_quantity

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, Quantity

_DIMENSIONS: Final = {
    "rtt": "time",
    "p": "fraction",
    "p_prime": "fraction",
    "capacity": "rate",
    "packet_size": "size",
}


def traced_margins(
    flows: Sender | Flows | Sequence[Flows] | Network,
    aqm: Aqm | None = None,
    *,
    rtt: Quantity | None = None,
    p: Quantity | None = None,
    p_prime: Quantity | None = None,
    capacity: Quantity | None = None,
    packet_size: Quantity | None = None,
    update: str = "continuous",
    rtt_terms: str = "frozen",
) -> tuple[Any, Any, Any, Any]:
    """Return the margins of `Loop` as a pure function of its numbers, and of those of its laws.

    It works under `jax.jit`, `jax.vmap`, `jax.grad` and `jax.hessian`, forwards and backwards, for
    senders and queues of every kind, your own included: one queue or two (`DualPi2`), and links
    that act on what arrives (`Rem`, `Avq`, `Price`). 64-bit must be enabled there.

    Parameters
    ----------
    flows, aqm, rtt, p, p_prime, capacity, packet_size, update, rtt_terms
        As for `Loop`, by rates and of one link. Any number may be one that JAX traces. Flows, a
        queue and a capacity are enough where `Loop` asks for a network (`Avq`, `Price`, senders
        that answer to signals at once).

    Returns
    -------
    tuple
        (gain_margin_db, phase_margin_deg, w_gc, w_pc), as `margins_of`. A margin that there is not
        is inf, as its crossover is; neither moves.

    Raises
    ------
    DomainError
        If JAX computes in single precision.
    UnsupportedError
        If a network has several links, whose loop is a matrix; or if numbers decide of which kind a
        loop is, and decide against its laws: flows that could hear signals rest by their delay, or
        constant rates fill the Classic queue of two beside L4S flows alone. For these use
        differences of ``Loop(...).margins()``. And what `Loop` refuses.

    Notes
    -----
    Margins are those of `Loop`, to the last digit. Their derivatives are those of the implicit
    functions that rest and crossovers are: two of Newton's steps on the equations of the laws,
    which carry first and second derivatives, and no further ones.

    Examples
    --------
    >>> import jax
    >>> import pi2_fluid as pf
    >>> def gain_margin(alpha):
    ...     queue = pf.Pi2(alpha=alpha)
    ...     return pf.loop.traced_margins(pf.Cubic(), queue, rtt="100ms", p=0.01)[0]
    >>> with jax.enable_x64(True):
    ...     print(f"{jax.grad(gain_margin)(0.3125):.3f} dB/Hz")
    -21.073 dB/Hz
    """
    import jax
    from jax import numpy as jnp

    if jnp.zeros(()).dtype != np.float64:
        raise DomainError(
            "JAX computes in float32 here, half of the digits: enable 64 bits, e.g. by"
            " `with jax.enable_x64(True):` around the call."
        )
    if isinstance(flows, Network):
        if len(flows.nodes) > 1:
            raise UnsupportedError(
                f"this network has {len(flows.nodes)} links, whose loop is a matrix, and JAX"
                " differentiates margins of one link: take differences of Loop(...).margins()."
            )
        size = "1500B" if packet_size is None else packet_size
        flows, aqm, capacity, packet_size = taken_apart(flows, aqm, capacity, size)
    if aqm is None:
        raise ScenarioError("aqm is missing: give the queue, e.g. Pi2(), or a network.")
    given = {"rtt": rtt, "p": p, "p_prime": p_prime, "capacity": capacity}
    given["packet_size"] = packet_size
    numbers = {
        name: validate_quantity(value, _DIMENSIONS[name], name)
        for name, value in given.items()
        if value is not None
    }
    classes = flows if isinstance(flows, (Sender, Flows)) else tuple(flows)
    tree = (classes, aqm, numbers)
    leaves, shape_of_tree = jax.tree.flatten(tree)
    leaves = [jnp.asarray(leaf, float) for leaf in leaves]
    tree = jax.tree.unflatten(shape_of_tree, leaves)
    case = Case(tree[0], tree[1], tree[2], update, rtt_terms)

    def ask(*values: Traced) -> FloatArray:
        plain = jax.tree.unflatten(shape_of_tree, [float(value) for value in values])
        return _ask(Case(plain[0], plain[1], plain[2], update, rtt_terms))

    fixed = [jax.lax.stop_gradient(leaf) for leaf in leaves]
    if any(isinstance(leaf, jax.core.Tracer) for leaf in fixed):
        form: Traced = jax.ShapeDtypeStruct
        answer = form((4 + case.unknowns,), np.float64)
        told = jax.pure_callback(ask, answer, *fixed, vmap_method="sequential")
    else:
        told = jnp.asarray(ask(*fixed))
    return _margins(case, told)


def _ask(case: Case) -> FloatArray:
    """Return the margins of a loop of plain numbers, their crossovers, and where it rests."""
    case = case._replace(flows=_validated(case.flows), aqm=_validated(case.aqm))
    loop = _ordinary(case)
    margins, point = loop.margins(), loop.operating_point
    u, p = np.ravel(point.controller)[0], np.ravel(point.p)
    delays = np.ravel(point.queue_delay)
    require_one_kind(case, alone=delays[0] == 0.0, signalled=bool(np.any(p)))
    first = {Kind.DELAY: delays[0], Kind.L4S_ALONE: np.max(p)}.get(case.kind, u)
    rest = [first]
    for sender, state in zip(case.senders, point.states, strict=True):
        if solves_rest(sender):
            rest += list(state) if isinstance(state, tuple) else [state]
    if case.solves_queue:
        state, delay = case.aqm.at_rest(u, np.ravel(point.capacity)[0])
        rest += [*state, delay]
    told = [margins.gain_margin_db, margins.phase_margin_deg]
    told += [margins.gain_crossover, margins.phase_crossover]
    return np.array([*told, *rest], dtype=float)


def _ordinary(case: Case) -> Loop | NetworkLoop:
    """Return the loop itself: of what acts at once that of a network of one link."""
    how: dict[str, Any] = {"update": case.update, "rtt_terms": case.rtt_terms}
    if case.kind is Kind.AT_ONCE and not isinstance(case.flows, Sender):
        given = dict(case.numbers)
        link = Link(given.pop("capacity"), **given)
        return Loop(Network(Node("link", link, case.aqm), case.classes), **how)
    return Loop(case.flows, case.aqm, **case.numbers, **how)


def _validated(value: Traced) -> Traced:
    """Return records anew, so that they check numbers that JAX has put into them."""
    if isinstance(value, tuple):
        return tuple(map(_validated, value))
    if not isinstance(value, Record):
        return value
    names = (field.name for field in fields(value) if field.init)
    given = {name: _validated(getattr(value, name)) for name in names}
    return type(value)(**given)


def _margins(case: Case, told: Traced) -> tuple[Any, Any, Any, Any]:
    import jax
    from jax import numpy as jnp

    kept = told[:4]
    numbers = refined(lambda z: equations(case, z)[1], told[4:])
    response = traced_response(case, equations(case, numbers)[0])

    def level(w: Traced) -> Traced:
        return jnp.log(jnp.abs(response(w)))

    def turned(w: Traced) -> Traced:
        return jnp.imag(response(w)) / jnp.abs(jax.lax.stop_gradient(response(w)))

    safe = jnp.where(jnp.isfinite(kept[2:]), kept[2:], 1.0)
    w_gc, w_pc = _root(level, safe[0]), _root(turned, safe[1])
    if case.update == "sampled":  # which may be where its frequencies end
        interval: Traced = case.aqm.update_interval
        end = jnp.pi / interval
        w_pc = jnp.where(safe[1] >= NEARLY_ALL * end, end, w_pc)
    at = response(w_gc)
    found = [
        -20.0 / jnp.log(10.0) * level(w_pc),
        jnp.degrees(jnp.angle(at / jax.lax.stop_gradient(at))),
        w_gc,
        w_pc,
    ]
    exists = jnp.isfinite(jnp.array([kept[3], kept[2], kept[2], kept[3]]))
    # The value is that of the search; what is added is 0, and has the derivatives.
    gm, pm, gc, pc = (
        jnp.where(there, value + (x - jax.lax.stop_gradient(x)), value)
        for there, value, x in zip(exists, kept, found, strict=True)
    )
    return gm, pm, gc, pc


def _root(function: Callable[[Any], Any], w: Traced) -> Traced:
    import jax
    from jax import numpy as jnp

    for _ in range(2):
        value, slope = jax.jvp(function, (w,), (jnp.ones_like(w),))
        w = w - value / slope
    return w
