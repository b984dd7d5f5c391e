"""`NetworkLoop`: a network of several bottlenecks around its operating point, as a matrix L(s)."""

from __future__ import annotations

import copy
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from pi2_fluid.errors import (
    DomainError,
    ScenarioError,
    UnsupportedError,
    renamed,
    show_value,
    suggest,
)
from pi2_fluid.html import html_table
from pi2_fluid.laws.sender import CLOCKS
from pi2_fluid.loop.answers import require_roots
from pi2_fluid.loop.construction import refuse_thinned, require_ticks, validate_bunch
from pi2_fluid.loop.desk import settle_links_on_desk
from pi2_fluid.loop.linearization import RTT_TERMS, TRANSPORTS
from pi2_fluid.loop.margins import Margins
from pi2_fluid.loop.matrix.acks.system import AckMatrixLoop, linearize_network_acks
from pi2_fluid.loop.matrix.chance import NoisyNetwork
from pi2_fluid.loop.matrix.counting import rightmost_modes
from pi2_fluid.loop.matrix.pictures import ShownNetwork
from pi2_fluid.loop.matrix.system import MatrixLoop, linearize_network
from pi2_fluid.loop.price_criteria import PriceCriteria, price_criteria
from pi2_fluid.loop.updates import UPDATES
from pi2_fluid.network.bottlenecks import NetworkPoint, network_equilibrium
from pi2_fluid.network.network import Network
from pi2_fluid.units import validate_choice

if TYPE_CHECKING:
    from pi2_fluid.values import Complex, ComplexArray, Real


class NetworkLoop(ShownNetwork, NoisyNetwork):
    """The feedback loop of a network with several queues, linearised at its operating point.

    ``Loop(network)`` is one if more than one link has a queue at rest, or hops lead to the only
    one, or links act on what arrives (`Price`, `Avq`). L(s) is a matrix, with a row for each link
    whose queue delay answers, or whose arrivals if it acts on these, and a column for each whose
    controller acts: det(I + L(s)) = 0 is the characteristic equation. Links without a queue at rest
    have no part in it. One that is full and waits less than its target signals nothing, so that it
    has no row and no column, but its delay is part of what lies between the others. A dual queue
    has one row and one column: of the queue that waits, whose delay L4S packets move as well.

    Parameters
    ----------
    network : Network
        Of any number of nodes.
    update : {"continuous", "delayed", "sampled"}
        As for `Loop`; "sampled" where all that signal have one update interval and tick together.
        Links with a price then count what arrives from one update to the next.
    rtt_terms : {"frozen", "exact"}
        As for `Loop`.
    transport : {"fifo", "delay"}
        Whether a queue that waits passes on what entered it, no more than its capacity in all, or
        the rate of each class reaches every queue as it left the source, only later, as textbooks
        have it.
    clock : {"rate", "acks"}
        As for `Loop`. By acknowledgements the loop ends at 0.8 of the lowest harmonic of the
        shortest round trip, beyond which classes exchange packets, hardly damped, and below the
        echoes of L4S packets that wait nowhere; links with a price have none.
    bunch : float
        As for `Loop`.

    Attributes
    ----------
    links : tuple of str
        The names of the rows and columns of L.
    closed : tuple of str
        Those of links whose own loops are closed, see `close`.
    operating_point : NetworkPoint
        Where the network rests.

    Notes
    -----
    Margins are *uniform*: the gain that all links may be multiplied by, the phase that all may be
    turned by and the time that all may be delayed by, together. They say nothing of a change at one
    link alone, for which close the others, nor of different ones at once, for which `sigma_min`
    does: the smallest singular value of I + L over all frequencies. Unlike them it depends on the
    units of what links signal by, where these differ: seconds that wait at queues, parts of the
    capacity that arrive at prices.

    Raises
    ------
    QuantityError, DomainError, ScenarioError, SolverError, UnsupportedError
        One sentence each, with the value, the allowed range and the remedy.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> network = pf.Network(
    ...     [
    ...         pf.Node("a", pf.Link("15Mbit/s"), pf.Pi2()),
    ...         pf.Node("b", pf.Link("12Mbit/s"), pf.Pi2()),
    ...     ],
    ...     [
    ...         pf.Flows(pf.Reno(), 6, "80ms", route=("a", "b"), hops=("5ms", "10ms")),
    ...         pf.Flows(pf.Reno(), 5, "40ms", route="a", hops="4ms"),
    ...         pf.Flows(pf.Reno(), 8, "60ms", route="b", hops="12ms"),
    ...     ],
    ... )
    >>> loop = pf.Loop(network, rtt_terms="exact")
    >>> loop(1j).shape
    (2, 2)
    >>> print(loop.margins())
    gain margin        9.049 dB  at 11.04 rad/s
    phase margin       56.59 deg at 4.294 rad/s
    delay margin         230 ms
    sigma_min         0.5642
    verdict           stable     in the continuous model
    uniform: all links are scaled, turned or delayed together
    >>> loop.close("b").margins().uniform
    False
    >>> acks = pf.Loop(network, rtt_terms="exact", clock="acks").margins()
    >>> f"{acks.gain_margin_db:.3f} dB, {acks.phase_margin_deg:.2f} deg"
    '7.105 dB, 54.44 deg'
    """

    @renamed(mode="update")
    def __init__(
        self,
        network: Network,
        *,
        update: str = "continuous",
        rtt_terms: str = "frozen",
        transport: str = "fifo",
        clock: str = "rate",
        bunch: float = 0.0,
        _point: NetworkPoint | None = None,
    ) -> None:
        if not isinstance(network, Network):
            raise ScenarioError(
                f"network = {show_value(network)} is no Network: give e.g. scenario.network."
            )
        validate_choice(update, UPDATES, "update")
        validate_choice(rtt_terms, RTT_TERMS, "rtt_terms")
        validate_choice(transport, TRANSPORTS, "transport")
        validate_choice(clock, CLOCKS, "clock")
        self.network = network
        self.update = update
        self.rtt_terms = rtt_terms
        self.transport = transport
        self.clock = clock
        self.operating_point: NetworkPoint = _point or network_equilibrium(
            network, by=settle_links_on_desk
        )
        names = network.node_names
        self.bunch = validate_bunch(bunch, clock)
        if clock == "acks" and transport != "fifo":
            raise UnsupportedError(
                f"transport = {transport!r} lets every queue see what sources send, and by"
                ' acknowledgements packets go through one after the other: use transport="fifo".'
            )
        refuse_thinned([flow.sender for flow in network.flows])
        controller = self.operating_point.numbers("controller")
        signal = np.flatnonzero(self.operating_point.signals_at).tolist()
        for place in signal:
            require_ticks(network.nodes[place].aqm, controller[place], update)
        self._signalling = tuple(names[place] for place in signal)
        self.links: tuple[str, ...] = self._signalling
        self.closed: tuple[str, ...] = ()
        if update == "sampled":
            self._require_one_interval()
        # What has no loop is refused here.
        _ = self.linear if clock == "rate" else self.linear_acks

    def __repr__(self) -> str:
        closed = f", closed={self.closed!r}" * bool(self.closed)
        clock = "" if self.clock == "rate" else f", clock={self.clock!r}, bunch={self.bunch:g}"
        return (
            f"NetworkLoop(links={self.links!r}{closed}, update={self.update!r},"
            f" rtt_terms={self.rtt_terms!r}, transport={self.transport!r}{clock})"
        )

    def _repr_html_(self) -> str:
        shown = ("classes", "window", "round-trip time")
        rows = [
            ("links", ", ".join(self.links), ""),
            *((("closed", ", ".join(self.closed), ""),) if self.closed else ()),
            ("model", f"{self.update}, round-trip time {self.rtt_terms}", ""),
            ("transport", self.transport, ""),
            *(row for row in self.operating_point.rows() if row[0] in shown),
        ]
        return html_table("Loop of a network", rows)

    @cached_property
    def linear(self) -> MatrixLoop:
        """The matrices of classes, controllers and ways, by automatic differentiation."""
        point = self.operating_point
        return linearize_network(self.network, point, self.rtt_terms, self.transport)

    @cached_property
    def linear_acks(self) -> AckMatrixLoop:
        """The same by acknowledgements, of which L(s) is if these are the `clock`."""
        point = self.operating_point
        return linearize_network_acks(self.network, point, self.rtt_terms, self.bunch)

    def __call__(self, s: Complex) -> ComplexArray:
        """Return L(s), of shape (*s.shape, links, links).

        Parameters
        ----------
        s : complex or array
            rad/s, not 0. In update "sampled" this is L_d at z = e^{sT}, whose frequencies are
            0 < w <= pi/T.
        """
        at: ComplexArray = np.asarray(s, dtype=complex)
        if not np.isfinite(at).all() or np.any(at == 0):
            raise DomainError(
                "s must be finite and not 0, where the controllers have their poles: give s != 0."
            )
        return self._matrices(at.ravel()).reshape(*at.shape, *(2 * (len(self.links),)))

    def close(self, *links: str) -> NetworkLoop:
        """Return the loop of the other links, with the loops of these closed.

        With o for the links that stay open and c for those that are closed,
        L_oo - L_oc (I + L_cc)^-1 L_co. Its modes are those of the whole, and where one link is
        left, its margins say how far this link alone may be changed while all others stay as they
        are.

        Parameters
        ----------
        links : str
            Names out of `links`; one must be left open.

        Examples
        --------
        ``loop.close("b").bode()`` draws link a's loop, of two, with that of b closed.
        """
        for name in links:
            if name not in self.links:
                known = suggest(name, self.links)
                raise ScenarioError(f"link {show_value(name)} has no open loop here: give {known}.")
        left = tuple(name for name in self.links if name not in links)
        if not left:
            raise ScenarioError(
                f"close({', '.join(map(repr, links))}) leaves no link open, and a loop is what is"
                " open: leave one out."
            )
        twin = copy.copy(self)
        for name in ("_compiled", "_crossings", "_margins", "_smallest"):
            vars(twin).pop(name, None)
        twin.links = left
        twin.closed = tuple(name for name in self._signalling if name not in left)
        return twin

    # Margins

    def margins(self) -> Margins:
        """Return uniform gain, phase and delay margin, with `sigma_min`, and the verdict.

        The gain margin is the smallest g > 0 for which det(I + g L(jw)) = 0 at some frequency, the
        phase margin the smallest angle for which det(I + e^{-j angle} L) = 0, both found on the
        followed eigenvalues and polished on the determinant. Where the loop is conditionally stable
        they are those of what may be added, as for `Loop`; all are in `crossovers`.
        """
        gm, pm, w_gc, w_pc, delay, lower, _ = self._margins
        return Margins(
            gain_margin_db=gm,
            phase_margin_deg=pm,
            gain_crossover=w_gc,
            phase_crossover=w_pc,
            delay_margin=delay,
            update=self.update,
            uniform=len(self.links) > 1,
            caution="; ".join(self._cautions()),
            _modulus=partial(getattr, self, "_smallest"),
            _verdict=self._verdict,
            _lower=lower,
        )

    def _cautions(self) -> list[str]:
        """What the laws that signal say of their margins, each once."""
        said = [n.aqm.caution for n in self.network.nodes if n.name in self._signalling]
        return [text for text in dict.fromkeys(said) if text]

    def crossovers(self) -> tuple[list[float], list[float]]:
        """Return all gain and all phase crossovers of the eigenvalues of L (rad/s, rising)."""
        crossings = self._crossings
        return [gain.w for gain in crossings.gain], [phase.w for phase in crossings.phase]

    def nyquist_count(self) -> int:
        """Return the number of unstable closed-loop modes (-1 on the boundary)."""
        return self._count

    def roots(self, n: int = 1) -> complex | ComplexArray:
        """Return the `n` rightmost characteristic roots (rad/s), each conjugate pair once.

        As many on the right as `nyquist_count` counts by the argument of the determinant.

        Raises
        ------
        UnsupportedError
            With update="sampled", whose modes are not roots in s.
        DomainError
            If `n` is no whole number above 0.
        """
        require_roots(self.update, n)
        if self.clock == "acks":
            raise UnsupportedError(
                "roots() by acknowledgements are of one queue alone: use nyquist_count() and"
                ' margins(), or clock="rate".'
            )
        found = rightmost_modes(self.linear, self.update, n)
        return complex(found[0]) if n == 1 else found

    def criteria(self) -> PriceCriteria:
        """Return what is known of a network of prices whatever its routes: `loop.alpha_max`.

        Of prices that move without updates; otherwise that is what it says is `missing`.

        Examples
        --------
        >>> import pi2_fluid as pf
        >>> node = pf.Node("a", pf.Link("2Gbit/s", packet_size="1000B"), pf.Price())
        >>> flows = [pf.Flows(pf.Paganini(), n, rtt) for n, rtt in ((32, "40ms"), (480, "200ms"))]
        >>> loop = pf.Loop(pf.Network(node, flows))
        >>> known = loop.criteria()
        >>> known.stable, known.stable_by_the_paper, f"{known.least_gain_margin:.2f}"
        (True, False, '1.35')
        >>> f"{loop.margins().gain_margin:.2f}"
        '3.54'
        """
        return price_criteria(self.network, self.operating_point, self.update)

    def sensitivity(self, w: Real) -> ComplexArray:
        """Return S = (I + L)^-1 at real frequencies `w` (rad/s), of shape (*w.shape, L, L)."""
        values = self(1j * np.asarray(w, dtype=float))
        result: ComplexArray = np.linalg.inv(np.eye(len(self.links)) + values)
        return result

    def _require_one_interval(self) -> None:
        found = {
            node.name: float(node.aqm.update_interval)  # type: ignore[arg-type]
            for node in self.network.nodes
            if node.name in self._signalling
        }
        if len(set(found.values())) > 1:
            shown = ", ".join(f"{1e3 * each:g} ms at {name!r}" for name, each in found.items())
            raise UnsupportedError(
                f'update = "sampled" is of queues that tick together, and update_interval is'
                f' {shown}: give all the same, or use update="delayed".'
            )
