"""`Loop`: senders and a queue around their operating point, as one scalar loop L(s)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pi2_fluid.errors import ScenarioError, UnsupportedError, show_value
from pi2_fluid.latex import Formula
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.loop.acks import AckLoop
from pi2_fluid.loop.chance import NoisyLoop
from pi2_fluid.loop.construction import acts_at_once
from pi2_fluid.loop.cycle import Cycle, find_cycle
from pi2_fluid.loop.desk import settle_links_on_desk
from pi2_fluid.loop.disk import DiskMargin, disk_margin, require_stable
from pi2_fluid.loop.equations import pi_response
from pi2_fluid.loop.explanation import Explanation, explain_acks, explain_form
from pi2_fluid.loop.formula import closed_formula, formula_of_parts
from pi2_fluid.loop.pade import pade_transfer_function
from pi2_fluid.loop.realization import realize
from pi2_fluid.loop.state_space import LinearLoop
from pi2_fluid.network.bottlenecks import network_equilibrium, only_bottleneck
from pi2_fluid.network.equilibrium import refuse_beside
from pi2_fluid.network.network import Network
from pi2_fluid.records.record import declares
from pi2_fluid.units import validate_choice

if TYPE_CHECKING:
    import xarray
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from pi2_fluid.values import ComplexArray, FloatArray, Quantity, Real


class Loop(NoisyLoop):
    """The feedback loop of flows through a queue, linearised at its operating point.

    ``Loop(sender, aqm, rtt=..., p_prime=...)`` is one class of equal flows at a given load;
    ``Loop(flows, aqm, capacity=...)`` is one or several classes sharing a link, at the operating
    point that is solved for; ``Loop(scenario.network)`` is the loop of what a scenario describes.
    Several classes still form one scalar loop, because all of them see the same controller variable
    and the same queue delay. Of a network in which several links have a queue at rest,
    or hops lead to the only one, or links act on what arrives (`Price`, `Avq`), ``Loop(network)``
    is a `NetworkLoop`, a matrix.

    Parameters
    ----------
    flows : Sender, Flows, sequence of Flows, or Network
        Who sends; a network says through which queue and link, too.
    aqm : Aqm
        The queue.
    rtt : float, array or str
        Round-trip time, queue included (s). Only with a Sender.
    p, p_prime : float or array
        The load, exactly one of them, in (0, 1]. Only with a Sender.
    capacity : float, array or str
        Link capacity (bit/s). Only with Flows.
    packet_size : float or str, default "1500B"
        Only with Flows.
    update : {"continuous", "delayed", "sampled"}
        How the update interval T is seen: not at all, equation (29); as a delay of T/2, the mean
        age of the held signal; or exactly, as a sampled-data loop. Laws that act on every packet
        (RED; the L4S queue of DualPI2 alone, on its ramp) have no T: "continuous" only. A law that
        counts arrivals beside its queue is continuous as it is written, elsewhere by the bilinear
        image of its update, in which half an interval of its integral counts as a gain.
    rtt_terms : {"frozen", "exact"}
        Whether R(t) is held constant in the window law, as in the papers, or varies with the queue.
        A law that hears no signals (`signal` None) answers to nothing else: of it R(t) varies.
        By acknowledgements: whether these are taken to come at the rate W/R, or as fast as they do;
        the difference is of the order of 1/W, and 0 for one class.
    transport : {"fifo", "delay"}
        How rates get from one queue to the next; see `NetworkLoop`. With one queue both are the
        same.
    clock : {"rate", "acks"}
        What makes senders send: the rate W/R(t), as in equations (31)-(37), or, as real senders
        that are not `paced` do, one packet per acknowledgement and what the window grows by.
    bunch : float, default 0
        With clock="acks" only: where the packets of a window are, from 0, spread evenly over a
        round trip, to 1, in one burst. Flows bunch by and by; 0 leaves the smaller margins.

    Notes
    -----
    By acknowledgements the queue holds what windows have grown by, and does not integrate it. A
    reduction is spread over a round trip (PRR). The controller acts on the waiting of the head
    packet or on the backlog (`aqm.measures`), and signals are heard from where they are given
    (`aqm.signals_at`). docs/theory_acks.md derives it. Margins, roots and counts of a dual queue
    are those below 0.8 of the harmonic 2 pi/R of its L4S flows; for higher ones see `echo`. Those
    of several round-trip times in one queue are below 0.8 of the harmonic of the shortest. Above it
    flows oscillate against one another, hardly damped and hardly seen in the delay.

    Numbers may be arrays; they broadcast, and so do all results, to `shape`. All of them, those of
    laws and flows too, may be xarray's DataArrays: these broadcast by the names of their
    dimensions, and everything that is asked of the loop comes back with them and their coordinates
    (`aqm`, `senders` and `flows` hold the numbers alone).

    Raises
    ------
    QuantityError, DomainError, ScenarioError, UnsupportedError
        One sentence each, with the value, the allowed range and the remedy.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1)
    >>> gm, pm, wcg, wcp = loop.margins()
    >>> print(f"{gm:.3f} {pm:.2f} deg, {wcg:.3f} {wcp:.3f} rad/s")
    1.719 20.03 deg, 7.313 4.988 rad/s
    """

    def __new__(
        cls,
        flows: object = None,
        aqm: Aqm | None = None,
        *,
        capacity: Quantity | None = None,
        packet_size: Quantity = "1500B",
        **options: Any,
    ) -> Self:
        """Return a `NetworkLoop` of a network that is more than one queue at rest."""
        loop = super().__new__(cls)
        at_once = isinstance(flows, Network) and acts_at_once(flows)
        if isinstance(flows, Network) and (at_once or len(flows.nodes) > 1):
            refuse_beside(aqm, capacity, packet_size)
            for name in ("rtt", "p", "p_prime"):
                if options.get(name) is not None:
                    raise ScenarioError(
                        f"{name} = {show_value(options[name])} goes with a single sender; of a"
                        " network it is solved for: leave it out."
                    )
            point = network_equilibrium(flows, by=settle_links_on_desk)
            loop._sole = only_bottleneck(flows, point)
            if at_once or loop._sole is None:
                # One queue needs no matrix.
                from pi2_fluid.loop.matrix.network_loop import NetworkLoop

                return NetworkLoop(flows, **options, _point=point)  # type: ignore[return-value]
        return loop

    def bode(self, ax: Sequence[Axes] | None = None) -> list[Artist]:
        """Draw gain and phase with both margins of one loop; returns the artists.

        Parameters
        ----------
        ax : pair of matplotlib Axes, optional
            New ones if not given.
        """
        from pi2_fluid.plot import draw_bode, new_axes

        self._require_scalar("bode")
        crossings = self._crossings
        gm, pm, w_gc, w_pc, *_ = self._search.margins(np.array(True)).ravel().tolist()
        axes = new_axes(2) if ax is None else ax
        return draw_bode(axes, crossings.w, crossings.values, (w_gc, pm), (w_pc, gm))

    def nyquist(self, ax: Axes | None = None) -> list[Artist]:
        """Draw L(jw) of one loop around -1; returns the artists.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new one if not given.
        """
        from pi2_fluid.plot import draw_nyquist, new_axes

        self._require_scalar("nyquist")
        return draw_nyquist(new_axes() if ax is None else ax, self._crossings.values)

    def disk_margin(self, skew: float = 0.0) -> DiskMargin:
        """Return how far gain and phase may change at once until one loop is unstable.

        Parameters
        ----------
        skew : float
            0 for changes that raise and lower the gain alike, 1 for the smallest |1 + L| (of the
            sensitivity S), -1 for the complementary one.

        Raises
        ------
        UnsupportedError
            For arrays of loops, and unstable ones, which have no such margin.

        Notes
        -----
        L may be multiplied by any (1 + (1 - skew)/2 delta)/(1 - (1 + skew)/2 delta), |delta| <
        `alpha`, a disk in the complex plane; alpha is the inverse of the largest
        |S + (skew - 1)/2|. Source: Seiler, Packard, Gahinet, *An Introduction to Disk Margins*,
        IEEE Control Systems Magazine 40(5), 2020.

        Examples
        --------
        >>> import pi2_fluid as pf
        >>> margin = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1).disk_margin()
        >>> print(f"{margin.gain_margin_db:.2f} dB, {margin.phase_margin_deg:.2f} deg")
        2.66 dB, 17.29 deg
        """
        self._require_scalar("disk_margin")
        require_stable(int(self.nyquist_count()))

        def response(w: FloatArray) -> ComplexArray:
            return np.asarray(self(1j * w))

        return disk_margin(response, self._crossings, skew, self.update)

    def cycle(self) -> Cycle:
        """Return how the queue delay cycles where the gain margin of one loop is negative.

        Raises
        ------
        UnsupportedError
            For arrays of loops, mixtures, and queues whose controller is not that of PI2.

        Notes
        -----
        A controller that cannot fall below 0 bounds the cycle: in a period T_c a flow's window
        cannot grow by more than T_c/R segments, whatever the gains, and its first harmonic is at
        most 2/(w R). What is returned balances first harmonics (a describing function) and leaves
        the empty queue out: where `amplitude` and `below` are more than the target together, the
        queue runs empty, and the link loses rate. With windows of 30 segments and more it meets the
        fluid within 15 % down to -5 dB, and is too small by up to 40 % beyond; packets add the
        noise of signals. docs/theory_limits.md, "Beyond the margin".

        Examples
        --------
        >>> import pi2_fluid as pf
        >>> queue = pf.Pi2(alpha=0.16, beta=8.0, target="15ms", update_interval="16ms")
        >>> flows = pf.Flows(pf.Reno(), 60, "100ms")
        >>> loop = pf.Loop(flows, queue, capacity="200Mbit/s", update="sampled")
        >>> period, amplitude, below = loop.cycle()
        >>> print(f"{period:.2f} s, {1e3 * amplitude:.1f} ms, {1e3 * below:.1f} ms")
        0.89 s, 5.0 ms, 1.7 ms
        """
        self._require_scalar("cycle")
        form = self._rate_form
        if form is None or declares(self.aqm, "encoder") not in ("square", "coupled"):
            raise UnsupportedError(
                "cycle is of one class of flows under PI2 or its coupled forms: give one class, and"
                " Pi2, CoupledPi2 or DualPi2."
            )
        margins = self.margins()
        start, interval = float(margins.phase_crossover), float(form.update_interval)
        if margins.gain_margin_db >= 0.0:
            return Cycle(float(margins.oscillation_period), 0.0, 0.0)
        end = np.pi / interval if self.update == "sampled" else 100.0 * start
        return find_cycle(
            lambda w: np.asarray(self(1j * w)),
            start,
            end,
            2 if form.plant == "reno" else 1,
            lambda w: np.asarray(pi_response(1j * w, form)),
            float(self._point.controller),
            float(form.alpha) / interval,
        )

    def to_control(self, kind: str = "frd", w: ArrayLike | None = None, order: int = 5) -> Any:
        """Return this loop for python-control, named after senders and queue.

        Parameters
        ----------
        kind : {"frd", "pade", "ss"}
            Frequency response data, exact at the frequencies `w`; or a transfer function with each
            delay replaced by a Pade approximation; or the same in state space, of any senders and
            mixtures, and from update to update if the loop is sampled. Data and state space of a
            sampled loop have the timebase T.
        w : array, optional
            Frequencies (rad/s) for "frd"; by default those on which the loop was followed.
        order : int, default 5
            Of the Pade approximations, up to 12 for "pade", 40 for "ss".

        Notes
        -----
        Of frequency response data python-control cannot see the integrator, whose half turn its
        `nyquist_response` then leaves out (a count of -1 of a stable loop), nor, up to 0.10,
        follow them with a timebase: count with ``kind="pade"`` or ``"ss"``, whose integrator it
        goes around, or with `nyquist_count`, and draw with `nyquist`.

        No finite number of states makes a sampled loop of most laws exact: a window answers to
        itself one round trip ago, between updates too, so that its state is the whole course since
        then. The hold, the update and the delay from the queue to the senders are exact in
        "ss"; that answer is not, and leaves the margins of Reno under PI2 at 100 ms and p' = 0.1
        wrong by 2e-6 dB and 5e-6 degrees (order 5). A law without such an answer is exact.

        Raises
        ------
        UnsupportedError
            "pade" for sampled loops and for senders with several states; "ss" for sampled loops
            whose round trip takes more than 1,000 updates; both by acknowledgements.

        Examples
        --------
        >>> import control, numpy as np, pi2_fluid as pf
        >>> loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1, update="sampled")
        >>> system = loop.to_control("ss")
        >>> gm, pm, *_ = control.margin(control.frd(system, np.geomspace(1, 98, 500)))
        >>> print(f"{system.nstates} states, every {system.dt} s: {gm:.4f}, {pm:.3f} deg")
        12 states, every 0.032 s: 1.4895, 15.568 deg
        """
        import control

        self._require_scalar("to_control")
        validate_choice(kind, ("frd", "pade", "ss"), "kind")
        senders = "_".join(type(sender).__name__ for sender in self.senders)
        name = f"{senders}_{type(self.aqm).__name__}"
        dt = float(self.linear.controller.interval) if self.update == "sampled" else 0
        if kind == "frd":
            w = self._crossings.w if w is None else np.asarray(w, dtype=float)
            return control.FRD(self(1j * w), w, smooth=True, name=name, dt=dt)
        if not isinstance(self.linear, LinearLoop):
            which = "by acknowledgements" if self.clock == "acks" else "through the delay alone"
            raise UnsupportedError(
                f'kind = "{kind}" needs a loop in finitely many states, which no loop {which} is'
                ' here: use kind="frd".'
            )
        if kind == "ss":
            matrices = realize(self.linear, self.update, order)
            return control.StateSpace(*matrices, dt, name=name, remove_useless_states=False)
        found = pade_transfer_function(self.linear, self.update, order)
        found.name = name
        return found

    def formula(self, *, numbers: bool = False, digits: int = 4) -> Formula:
        r"""Return L(s) as LaTeX, with the symbols of `explain` or with their numbers.

        Parameters
        ----------
        numbers : bool
            Numbers (s, rad/s, Hz) in the place of symbols.
        digits : int, default 4
            Of each number.

        Returns
        -------
        Formula
            Text, which a notebook shows as a formula: equations (35) to (37) where the loop is one
            of these, else a controller C(s) and the classes of flows with their state matrices
            A, B, inputs b, outputs c, answers f, g and r to the delay, round-trip times R and
            weights w. A sampled loop is a sum over aliases.

        Raises
        ------
        UnsupportedError
            By acknowledgements, of loops with another form than that of one class without bunching;
            of numbers of arrays, and of laws with several states.

        Examples
        --------
        >>> import pi2_fluid as pf
        >>> text = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1).formula(numbers=True)
        >>> text.partition(r" \left")[0]
        'L(s) = \\frac{10 \\cdot 0.9766'
        """
        if numbers:
            self._require_scalar("formula(numbers=True)")
        shown = digits if numbers else None
        form = self._rate_form
        if self.clock == "rate" and form is not None:
            return Formula(closed_formula(form, self.update, self.rtt_terms, None, shown))
        if isinstance(self.linear, LinearLoop):
            return Formula(formula_of_parts(self.linear, self.update, shown))
        if form is None or self.bunch > 0.0 or not isinstance(self.linear, AckLoop):
            raise UnsupportedError(
                "this loop has no formula here (by acknowledgements, of several classes, bunched,"
                " or a law of your own): evaluate it, loop(1j * w)."
            )
        return Formula(closed_formula(form, self.update, heard=self._heard, digits=shown))

    def _repr_latex_(self) -> str | None:
        try:
            return self.formula()._repr_latex_()
        except UnsupportedError:
            return None

    @property
    def _heard(self) -> Real:
        """By acknowledgements: from a signal to what the controller sees of it (s)."""
        assert isinstance(self.linear, AckLoop)
        at_head = self.linear.measures == "head"
        found: FloatArray = self.linear.classes[0].heard
        delay: Real = (found + self.linear.queue_delay if at_head else found)[()]
        return delay

    def explain(self) -> Explanation:
        """Return the constants kappa, z_A, s_A, s_R of equations (31)-(37) with units and meaning.

        By acknowledgements those of its own form, and the gain margins by both.

        Raises
        ------
        UnsupportedError
            For mixtures and laws without a closed form.
        """
        if self._rate_form is None:
            raise UnsupportedError(
                "this loop has no closed form to explain (a mixture, or a law of your own): look at"
                " its state matrices, loop.linear."
            )
        window = self._point.window
        window = window[0] if self.flows else window
        if self.clock == "rate":
            period = self.margins().oscillation_period
            return explain_form(self._rate_form, window, period, self.formula(), self.update)
        mine = self.margins()
        formula = closed_formula(self._rate_form, self.update, heard=self._heard)
        both = mine.gain_margin_db, self._by_rates().margins().gain_margin_db
        return explain_acks(
            *(self._rate_form, window, mine.oscillation_period, self._heard),
            *(both, formula, self.update),
        )

    def sweep(self) -> xarray.Dataset:
        """Return the margins over the loop's array axes as a Dataset.

        Each axis is named after the first input that varies along it alone (``p_prime``, ``rtt``,
        ``alpha``, ...); inputs that vary along several axes become coordinates.
        """
        from pi2_fluid.loop.sweep import sweep_dataset

        found = self.margins()
        return sweep_dataset(self._inputs(), self.shape, found, self._attributes(), self.labels)

    def _by_rates(self) -> Loop:
        """The same loop by the other clock."""
        names = ("flows", "senders", "labels", "aqm", "update", "rtt_terms", "_point")
        twin: Loop = object.__new__(Loop)
        vars(twin).update({name: getattr(self, name) for name in names})
        twin.clock, twin.bunch, twin.operating_point = "rate", 0.0, self.operating_point
        return twin
