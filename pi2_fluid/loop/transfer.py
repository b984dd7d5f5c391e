"""`Loop`: senders and a queue around their operating point, as one scalar loop L(s)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.errors import (
    DomainError,
    QuantityError,
    ScenarioError,
    UnsupportedError,
    renamed,
    show_value,
)
from pi2_fluid.html import html_table
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.sender import CLOCKS, Sender
from pi2_fluid.loop.acks import (
    AckLoop,
    closed_form_ack_margins,
    find_echoes,
    linearize_acks,
    without_echoes,
)
from pi2_fluid.loop.crossovers import Crossings, find_crossings, smallest_distance
from pi2_fluid.loop.disk import DiskMargin, disk_margin
from pi2_fluid.loop.equations import ClosedForm, closed_form
from pi2_fluid.loop.explanation import Explanation, explain_acks, explain_form
from pi2_fluid.loop.linearization import RTT_TERMS, linearize, loop_shape
from pi2_fluid.loop.margins import Margins, closed_form_margins, margins_from_crossings
from pi2_fluid.loop.pade import pade_transfer_function
from pi2_fluid.loop.realization import realize
from pi2_fluid.loop.roots import count_unstable, rightmost_roots
from pi2_fluid.loop.state_space import LinearLoop
from pi2_fluid.loop.transient import find_bandwidth, step_response
from pi2_fluid.loop.updates import UPDATES, respond
from pi2_fluid.network.equilibrium import (
    OperatingPoint,
    as_flows,
    equilibrium,
    equilibrium_of,
    taken_apart,
)
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.network import Network
from pi2_fluid.network.rest import has_ticks
from pi2_fluid.records.labels import align_labels, line_up, relabel
from pi2_fluid.records.record import require_untraced
from pi2_fluid.units import has_labels, validate_choice, validate_number, validate_quantity

if TYPE_CHECKING:
    import xarray
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from pi2_fluid.values import (
        BoolArray,
        Complex,
        ComplexArray,
        ComplexValues,
        FloatArray,
        Quantity,
        Real,
        Values,
    )

__all__ = ["Loop"]

_SHOWN: Final = ("round-trip time", "p", "p'", "window")  # in a notebook
_HARMONICS: Final = 8
_BOUNDARY: Final = 1e-9  # |1 + L| or |gain margin in dB| below which no verdict is given


class Loop:
    """The feedback loop of flows through a queue, linearised where it rests.

    ``Loop(sender, aqm, rtt=..., p_prime=...)`` is one class of equal flows at a given load;
    ``Loop(flows, aqm, capacity=...)`` is one or several classes sharing a link, at the operating
    point that is solved for; ``Loop(scenario.network)`` is the loop of what a scenario describes.
    Several classes still form one scalar loop, because all of them see the same controller variable
    and the same queue delay.

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
        (RED; the L4S queue of DualPI2 alone, on its ramp) have no T: "continuous" only.
    rtt_terms : {"frozen", "exact"}
        Whether R(t) is held constant in the window law, as in the papers, or varies with the queue.
        By the ack clock: whether acknowledgements are taken to come at the rate W/R, or as fast as
        they do; it differs by the order of 1/W, and not at all for one class.
    clock : {"rate", "acks"}
        What makes senders send: the rate W/R(t), as in equations (31)-(37), or, as real senders
        that are not `paced` do, one packet per acknowledgement and what the window grows by.
    bunch : float, default 0
        With clock="acks" only: where the packets of a window are, from 0, spread evenly over a
        round trip, to 1, in one burst. Flows bunch by and by; 0 leaves the smaller margins.

    Notes
    -----
    By the ack clock the queue holds what windows have grown by and does not integrate it, a
    reduction is spread over a round trip (PRR), the controller acts on the waiting of the packet at
    the head or on the backlog (`aqm.measures`), and signals are heard from where they are given
    (`aqm.signals_at`); docs/theory.md derives it. Margins, roots and counts of a dual queue are
    those below 0.8 of the harmonic 2 pi/R of its L4S flows, from where on see `echo`; those of
    several round-trip times in one queue are below 0.8 of the harmonic of the shortest, from where
    on flows swing against one another, hardly damped and hardly seen in the delay.

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

    @renamed(mode="update")
    def __init__(
        self,
        flows: Sender | Flows | Sequence[Flows] | Network,
        aqm: Aqm | None = None,
        *,
        rtt: Quantity | None = None,
        p: Quantity | None = None,
        p_prime: Quantity | None = None,
        capacity: Quantity | None = None,
        packet_size: Quantity = "1500B",
        update: str = "continuous",
        rtt_terms: str = "frozen",
        clock: str = "rate",
        bunch: float = 0.0,
    ) -> None:
        validate_choice(update, UPDATES, "update")
        validate_choice(rtt_terms, RTT_TERMS, "rtt_terms")
        validate_choice(clock, CLOCKS, "clock")
        bunch = validate_number(bunch, "number", "bunch", high=1.0, closed=True)
        if clock == "rate" and bunch > 0.0:
            raise UnsupportedError(
                f"bunch = {bunch:g} says where packets of a window are, which the rate clock does"
                ' not ask: leave it out, or use clock="acks".'
            )
        numbers = (rtt, p, p_prime, capacity, packet_size)
        require_untraced("Loop", "pf.loop.margins_of", flows, aqm, numbers)
        if isinstance(flows, Network):
            flows, aqm, capacity, packet_size = taken_apart(flows, aqm, capacity, packet_size)
        elif not isinstance(flows, Sender):
            flows = as_flows(flows)
        if not isinstance(aqm, Aqm):
            raise ScenarioError(f"aqm = {show_value(aqm)} is no Aqm: give e.g. Pi2().")
        given: dict[str, Any] = {"rtt": rtt, "p": p, "p_prime": p_prime, "capacity": capacity}
        given["packet_size"] = packet_size
        laws = (aqm, *(flows if isinstance(flows, tuple) else (flows,)))
        given, (aqm, *several), self.labels = align_labels(given, laws)
        flows = tuple(several) if isinstance(flows, tuple) else several[0]
        rtt, p, p_prime, capacity, packet_size = given.values()
        if isinstance(flows, Sender):
            if capacity is not None:
                raise ScenarioError(
                    "capacity goes with Flows, not with a single sender: give rtt and p_prime, or"
                    " Flows(...) and capacity."
                )
            if rtt is None:
                raise ScenarioError('rtt is missing: give the round-trip time, e.g. rtt="100ms".')
            point = equilibrium_of(flows, aqm, rtt, p=p, p_prime=p_prime)
            self.flows: tuple[Flows, ...] = ()
            self.senders: tuple[Sender, ...] = (flows,)
        else:
            if rtt is not None or p is not None or p_prime is not None:
                raise ScenarioError(
                    "rtt, p and p_prime go with a single sender; with Flows they are solved for:"
                    " give capacity."
                )
            if capacity is None:
                raise ScenarioError('capacity is missing: give the link\'s, e.g. "10Mbit/s".')
            self.flows = flows
            point = equilibrium(self.flows, aqm, capacity, packet_size)
            size = validate_quantity(packet_size, "size", "packet_size")
            self.senders = tuple(flow.sender.on_link(size) for flow in self.flows)
        for sender in self.senders:
            if sender.thinned:
                kind = type(sender).__name__
                other = "Cbr(thinned=False)" if sender.constant_rate is not None else "Reno"
                raise UnsupportedError(
                    f"{kind} thinned = True lets p act on the queue at once, beside the loop"
                    f" through the senders, which no loop here describes: use {other}, or simulate"
                    " it."
                )
        if update != "continuous" and not has_ticks(aqm, point.controller):
            raise UnsupportedError(
                f"{type(aqm).__name__} acts here on every packet and holds no signal for an update"
                f' interval, so update = {update!r} has no meaning: use update="continuous".'
            )
        self.aqm = aqm
        self.update = update
        self.rtt_terms = rtt_terms
        self.clock = clock
        self.bunch = bunch
        self._point = point  # plain, which arrays broadcast by
        self.operating_point: OperatingPoint = point.labelled(self.labels)

    def __repr__(self) -> str:
        who = ", ".join(repr(flow) for flow in self.flows) or repr(self.senders[0])
        clock = "" if self.clock == "rate" else f", clock={self.clock!r}, bunch={self.bunch:g}"
        return (
            f"Loop({who}, {self.aqm!r}, update={self.update!r}, rtt_terms={self.rtt_terms!r}"
            f"{clock})"
        )

    def _repr_html_(self) -> str:
        who = ", ".join(repr(flow) for flow in self.flows) or repr(self.senders[0])
        rows = [
            ("senders", who, ""),
            ("queue", repr(self.aqm), ""),
            ("model", f"{self.update}, round-trip time {self.rtt_terms}", ""),
            *((("clock", "acknowledgements", ""),) if self.clock == "acks" else ()),
            *((("array", str(self.shape), ""),) if self.shape else ()),
            *(row for row in self.operating_point.rows() if row[0] in _SHOWN),
        ]
        return html_table("Loop", rows)

    @cached_property
    def linear(self) -> LinearLoop | AckLoop:
        """The state matrices, by automatic differentiation of the laws."""
        if self.clock == "acks":
            terms = self.rtt_terms
            return linearize_acks(self.senders, self.aqm, self._point, terms, self.bunch)
        return linearize(self.senders, self.aqm, self._point, self.rtt_terms)

    @cached_property
    def form(self) -> ClosedForm | None:
        """The constants of equations (31)-(37), None for pairs and mixtures without them.

        And None by the ack clock, which has others.
        """
        return self._rate_form if self.clock == "rate" else None

    @cached_property
    def _rate_form(self) -> ClosedForm | None:
        if self.flows and len(self.flows) > 1:
            return None
        point = self._point
        if self.flows:
            point = _single(point)
        return closed_form(self.senders[0], self.aqm, point)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array of loops; () for one."""
        return loop_shape(self.senders, self.aqm, self._point)

    def __call__(self, s: Complex | xarray.DataArray) -> ComplexValues:
        """Return L(s); the closed loop's characteristic equation is 1 + L(s) = 0.

        Parameters
        ----------
        s : complex or array
            rad/s, not 0; broadcasts against `shape`, an xarray.DataArray by name. In update
            "sampled" this is L_d at z = e^{sT}, whose frequencies are 0 < w <= pi/T.
        """
        s, labels = line_up("s", s, self.labels, self.shape)
        at: ComplexArray = np.asarray(s, dtype=complex)
        if not np.isfinite(at).all() or np.any(at == 0):
            raise DomainError(
                "s must be finite and not 0, where the controller has its pole: give s != 0."
            )
        if labels is None:
            return respond(self.linear, at, self.update)[()]
        # Loops broadcast from the last axis; in the answer their dimensions come first.
        own = tuple(range(len(self.shape)))
        last = tuple(axis - len(own) for axis in own)
        values = respond(self.linear, np.moveaxis(at, own, last), self.update)
        return relabel(labels, np.moveaxis(values, last, own))

    # Margins

    def margins(self, *, progress: Callable[[int, int], None] | None = None) -> Margins:
        """Return gain, phase, delay and modulus margin and the verdict, of `shape`.

        A loop in closed form with frozen RTT terms takes the fast path, in compiled code, and so
        does one class in one queue by the ack clock, unless sampled; every other loop is searched
        for all of its crossovers, which takes milliseconds each.

        Parameters
        ----------
        progress : callable, optional
            Called as ``progress(done, total)`` after each loop that is searched.
        """
        rows = np.empty((5, *self.shape))
        fast: Any = np.zeros(self.shape, dtype=bool)
        closed = self._closed_form_margins()
        if closed is not None:
            found, valid = closed
            rows[:4] = [np.broadcast_to(row, self.shape) for row in found]
            fast = np.broadcast_to(valid, self.shape)
            with np.errstate(invalid="ignore"):  # where it is not valid, and overwritten below
                rows[4] = np.radians(rows[1]) / rows[2]
        searched: list[Any] = [tuple(index) for index in np.argwhere(~np.asarray(fast)).tolist()]
        for done, index in enumerate(searched, start=1):
            rows[(slice(None), *index)] = self._margins_at(index)
            if progress is not None:
                progress(done, len(searched))
        gm, pm, w_gc, w_pc, delay = (
            relabel(self.labels, row) if row.ndim else float(row) for row in rows
        )
        return Margins(
            gain_margin_db=gm,
            phase_margin_deg=pm,
            gain_crossover=w_gc,
            phase_crossover=w_pc,
            delay_margin=delay,
            update=self.update,
            _modulus=self._modulus,
            _verdict=partial(self._verdict, gm, fast),
            **({"_echo": self._echo_code} if self._dual else {}),
        )

    def _closed_form_margins(self) -> tuple[FloatArray, BoolArray] | None:
        """Margins as rows that need no search, and where they are valid; None if there are none."""
        if self.update == "sampled":
            return None
        if self.clock == "acks":
            assert isinstance(self.linear, AckLoop)
            return closed_form_ack_margins(self.linear, half_sample=self.update == "delayed")
        if self.form is None or self.rtt_terms == "exact":
            return None
        k: Real = 1.0
        if self.update == "delayed":
            k = 1.0 + self.form.update_interval / (2.0 * self.form.rtt)
        return closed_form_margins(self.form, k)

    def crossovers(self) -> tuple[list[float], list[float]]:
        """Return all gain crossovers and all phase crossovers (rad/s, rising) of one loop.

        A phase crossover is a frequency at which L is real and negative: -180 degrees, or less by
        full turns. They are listed up to where the gain has fallen for good.
        """
        self._require_scalar("crossovers")
        crossings = self._crossings
        return [gain.w for gain in crossings.gain], [phase.w for phase in crossings.phase]

    def nyquist_count(self) -> Values:
        """Return the number of unstable closed-loop modes (-1 on the boundary), of `shape`."""
        count = self._each(lambda index: count_unstable(self._element(index), self.update), int)
        return relabel(self.labels, count)

    def echo(self, harmonics: int = _HARMONICS) -> xarray.Dataset:
        """Return the echo modes of the L4S flows in a dual queue by the ack clock, as a Dataset.

        Flows of one round-trip time that wait nowhere repeat what they sent at every harmonic of
        it, and the loop damps that or feeds it; see docs/theory.md.

        Parameters
        ----------
        harmonics : int, default 8
            Of each class, those of its round-trip time.

        Returns
        -------
        xarray.Dataset
            ``growth`` (1/s; positive: it grows) and ``frequency`` (rad/s) over ``harmonic``, from
            1, and ``flow``, the number of the class. NaN where a harmonic is a multiple of the
            update frequency, and is no mode of its own.

        Raises
        ------
        UnsupportedError
            If nothing echoes: by the rate clock, in one queue, of paced senders; for arrays.

        Notes
        -----
        Flows of one class have one round-trip time here; where it differs from flow to flow, echoes
        mix and fade.

        Examples
        --------
        >>> import pi2_fluid as pf
        >>> flows = [pf.Flows(pf.Reno(), 100, "80ms"), pf.Flows(pf.Scalable(), 119, "80ms")]
        >>> model = {"update": "sampled", "clock": "acks"}
        >>> echo = pf.Loop(flows, pf.DualPi2(), capacity="1.78Gbit/s", **model).echo(2).sel(flow=1)
        >>> for growth, w in zip(echo.growth.values, echo.frequency.values, strict=True):
        ...     print(f"{growth:.2f}/s at {w:.1f} rad/s")
        -0.15/s at 79.2 rad/s
        0.49/s at 157.4 rad/s
        """
        from pi2_fluid.loop.acks.table import echo_dataset

        self._require_scalar("echo")
        if harmonics < 1:
            raise DomainError(f"harmonics = {harmonics} were asked for: give harmonics >= 1.")
        if not self._dual:
            raise UnsupportedError(
                "nothing echoes in this loop: echo modes are those of L4S flows without pacing"
                ' beside Classic traffic in a dual queue, by clock="acks".'
            )
        assert isinstance(self.linear, AckLoop)
        modes = find_echoes(self.linear, self.update, harmonics)
        numbers = [cls.number for cls in self.linear.classes if cls.echoes]
        return echo_dataset(modes, numbers, self._attributes())

    def roots(self, n: int = 1) -> ComplexValues:
        """Return the `n` rightmost characteristic roots (rad/s), each conjugate pair once.

        Returns
        -------
        complex or array
            Of `shape` for n = 1, else with a last axis of n ("root", of labelled ones). Rightmost
            first.

        Raises
        ------
        UnsupportedError
            With update="sampled", whose modes are not roots in s.
        """
        if self.update == "sampled":
            raise UnsupportedError(
                'roots() are those of a continuous loop: use update="delayed", or nyquist_count().'
            )
        if n < 1:
            raise DomainError(f"n = {n} roots were asked for: give n >= 1.")
        out = np.empty((*self.shape, n), dtype=complex)
        for index in np.ndindex(self.shape):
            out[index] = rightmost_roots(self._element(index), self.update, n)
        if n == 1:
            return relabel(self.labels, out[..., 0][()])
        several = None if self.labels is None else self.labels.expand_dims({"root": n}, axis=-1)
        return relabel(several, out)

    # Closed-loop responses

    def sensitivity(self, w: Values) -> ComplexValues:
        """Return S = 1/(1 + L) at real frequencies `w` (rad/s), which broadcast against `shape`."""
        return 1.0 / (1.0 + self(1j * (w if has_labels(w) else np.asarray(w, dtype=float))))

    def bandwidth(self) -> Values:
        """Return the frequency (rad/s) at which |L/(1 + L)| first falls 3 dB below its value at 0.

        inf if it never does below pi/T, with update="sampled".
        """
        found = self._each(
            lambda index: find_bandwidth(
                self._element(index), self.update, self._crossings_at(index)
            )
        )
        return relabel(self.labels, found)

    def step(self, t: Values) -> Values:
        """Return the unit step response of L/(1 + L) at times `t` (s), of shape (*shape, *t.shape).

        It is what the queue delay does, per second of step, when what the loop follows steps. In
        update "sampled" the value at the last update before `t`. An xarray.DataArray broadcasts by
        name.
        """
        t, labels = line_up("t", t, self.labels, self.shape)
        t = np.asarray(t, dtype=float)
        if not np.isfinite(t).all():
            raise QuantityError("t holds NaN or infinite times: give finite seconds.")
        if labels is None:
            t = np.broadcast_to(t, (*self.shape, *t.shape))
        else:
            t = np.broadcast_to(t, labels.shape)
        out = np.empty(t.shape)
        for index in np.ndindex(self.shape):
            one = self._element(index)
            if isinstance(one, AckLoop) and self.update != "sampled":
                raise UnsupportedError(
                    "the step response of a loop by the ack clock is built from update to update"
                    ' only: use update="sampled", or simulate it.'
                )
            out[index] = step_response(one, self.update, np.asarray(t[index]))
        return relabel(labels, out[()])

    # Views for other tools

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
        gm, pm, w_gc, w_pc, _ = self._margins_at(())
        phase = np.degrees(np.unwrap(np.angle(crossings.values)))
        axes = new_axes(2) if ax is None else ax
        return draw_bode(axes, crossings.w, crossings.values, phase, (w_gc, pm), (w_pc, gm))

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
        if self.nyquist_count() != 0:
            raise UnsupportedError(
                "this loop is not stable, and a disk margin is of a stable loop: lower the gains."
            )
        skew = validate_number(skew, "number", "skew", low=-math.inf, closed=True)
        return disk_margin(self._element(()), self.update, self._crossings, skew)

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
            whose round trip takes more than 1,000 updates; both by the ack clock.

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
        if isinstance(self.linear, AckLoop):
            raise UnsupportedError(
                f'kind = "{kind}" needs a loop in finitely many states, which no loop by the ack'
                ' clock is here: use kind="frd".'
            )
        if kind == "ss":
            matrices = realize(self.linear, self.update, order)
            return control.StateSpace(*matrices, dt, name=name, remove_useless_states=False)
        found = pade_transfer_function(self.linear, self.update, order)
        found.name = name
        return found

    def explain(self) -> Explanation:
        """Return the constants kappa, z_A, s_A, s_R of equations (31)-(37) with units and meaning.

        By the ack clock those of its own form, and the gain margins by both.

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
            return explain_form(self._rate_form, window)
        assert isinstance(self.linear, AckLoop)
        cls = self.linear.classes[0]
        delay = cls.heard + (self.linear.queue_delay if self.linear.measures == "head" else 0.0)
        margins = self.margins().gain_margin_db, self._by_rates().margins().gain_margin_db
        return explain_acks(self._rate_form, window, delay[()], margins)

    def sweep(self) -> xarray.Dataset:
        """Return the margins over the loop's array axes as a Dataset.

        Each axis is named after the first input that varies along it alone (``p_prime``, ``rtt``,
        ``alpha``, ...); inputs that vary along several axes become coordinates.
        """
        from pi2_fluid.loop.sweep import sweep_dataset

        found = self.margins()
        return sweep_dataset(self._inputs(), self.shape, found, self._attributes(), self.labels)

    def _attributes(self) -> dict[str, str | float]:
        """Where numbers come from."""
        attrs: dict[str, str | float] = {
            "engine": "loop",
            "update": self.update,
            "rtt_terms": self.rtt_terms,
            "senders": ", ".join(type(sender).__name__ for sender in self.senders),
            "aqm": type(self.aqm).__name__,
        }
        return attrs if self.clock == "rate" else attrs | {"clock": "acks", "bunch": self.bunch}

    # Elements of an array of loops

    def _element(self, index: tuple[int, ...]) -> LinearLoop | AckLoop:
        """One loop; of a dual queue by the ack clock the part below its echoes."""
        one = self.linear.element(index)
        return without_echoes(one) if isinstance(one, AckLoop) else one

    @cached_property
    def _dual(self) -> bool:
        return isinstance(self.linear, AckLoop) and self.linear.dual

    def _echo_code(self) -> Values:
        def code(index: tuple[int, ...]) -> int:
            one = self.linear.element(index)
            assert isinstance(one, AckLoop)
            modes = find_echoes(one, self.update, _HARMONICS)
            return -1 if np.any(modes.real > 0.0) else 1

        return relabel(self.labels, self._each(code, int))

    def _by_rates(self) -> Loop:
        """The same loop by the other clock."""
        names = ("flows", "senders", "labels", "aqm", "update", "rtt_terms", "_point")
        twin: Loop = object.__new__(Loop)
        vars(twin).update({name: getattr(self, name) for name in names})
        twin.clock, twin.bunch, twin.operating_point = "rate", 0.0, self.operating_point
        return twin

    def _inputs(self) -> dict[str, Real]:
        """Every number that the loop was built from, by name."""
        point = self._point
        if self.flows:
            inputs = {"capacity": point.capacity}
            for index, flow in enumerate(self.flows):
                inputs |= {f"count_{index}": flow.count, f"base_rtt_{index}": flow.base_rtt}
        else:
            inputs = {"rtt": point.rtt, "p_prime": point.p_prime, "p": point.p}
        for record in (self.aqm, *self.senders):
            inputs |= {n: v for n, v in vars(record).items() if isinstance(v, (float, np.ndarray))}
        return inputs

    def _require_scalar(self, what: str) -> None:
        if self.shape:
            raise UnsupportedError(
                f"{what} is for one loop, and this is an array of shape {self.shape}: build the one"
                " of interest with scalar parameters."
            )

    def _each(self, function: Callable[[tuple[int, ...]], Any], kind: type = float) -> Real:
        out: Any = np.empty(self.shape, dtype=kind)
        for index in np.ndindex(self.shape):
            out[index] = function(index)
        result: Real = kind(out) if not self.shape else out
        return result

    def _crossings_at(self, index: tuple[int, ...]) -> Crossings:
        return find_crossings(self._element(index), self.update)

    @cached_property
    def _crossings(self) -> Crossings:
        """The crossovers of one loop, for everything that is asked about it."""
        return self._crossings_at(())

    def _margins_at(self, index: tuple[int, ...]) -> tuple[float, ...]:
        def is_stable() -> bool:
            return count_unstable(self._element(index), self.update) == 0

        crossings = self._crossings_at(index) if index else self._crossings
        return margins_from_crossings(crossings, is_stable)

    def _modulus(self) -> Values:
        return relabel(self.labels, self._each(self._modulus_at))

    def _modulus_at(self, index: tuple[int, ...]) -> float:
        crossings = self._crossings_at(index) if index else self._crossings
        return smallest_distance(self._element(index), self.update, crossings)

    def _verdict(self, gain_margin_db: Values, fast: BoolArray) -> Values:
        # On the fast path there is one gain and one phase crossover, and no open-loop pole on the
        # right: the sign decides.
        gain_margin_db = np.asarray(gain_margin_db)
        code = np.where(np.abs(gain_margin_db) < _BOUNDARY, 0, np.sign(gain_margin_db)).astype(int)
        for index in np.argwhere(~np.asarray(fast)).tolist():
            code[tuple(index)] = self._verdict_at(tuple(index))
        return relabel(self.labels, code) if self.shape else int(code)

    def _verdict_at(self, index: tuple[int, ...]) -> int:
        count = count_unstable(self._element(index), self.update)
        if count < 0 or self._modulus_at(index) < _BOUNDARY:
            return 0
        return 1 if count == 0 else -1


def _single(point: OperatingPoint) -> OperatingPoint:
    """The operating point of the only class, as `equilibrium_of` would give it."""
    names = ("p", "p_prime", "window", "rtt", "rate", "share")
    return replace(point, **{name: getattr(point, name)[0] for name in names})
