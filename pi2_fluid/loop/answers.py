"""What a `Loop` answers: margins, crossovers, modes, and responses in time and frequency."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.errors import DomainError, UnsupportedError, show_value
from pi2_fluid.loop.acks import HARMONICS, AckLoop, closed_form_ack_margins, find_echoes
from pi2_fluid.loop.construction import LinearisedLoop
from pi2_fluid.loop.crossovers import Crossings
from pi2_fluid.loop.delays import DelayLoop
from pi2_fluid.loop.desk import DeskSearch
from pi2_fluid.loop.margins import (
    Margins,
    SearchedMargins,
    closed_form_margins,
    sampled_form_margins,
)
from pi2_fluid.loop.roots import rightmost_roots
from pi2_fluid.loop.searching import Search
from pi2_fluid.loop.transient import find_bandwidth, step_response
from pi2_fluid.records.labels import line_up, relabel
from pi2_fluid.units import has_labels, validate_quantity

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.loop.locus import RootLocus
    from pi2_fluid.loop.state_space import AnyLoop
    from pi2_fluid.values import BoolArray, ComplexValues, FloatArray, Real, Values

BOUNDARY: Final = 1e-9  # |1 + L| or |gain margin in dB| below which no verdict is given


class LoopAnswers(LinearisedLoop):
    """A linearised loop that says how stable it is and how it responds."""

    # Margins

    def margins(self, *, progress: Callable[[int, int], None] | None = None) -> Margins:
        """Return gain, phase, delay and modulus margin and the verdict, of `shape`.

        A loop in closed form with frozen RTT terms takes the fast path, in compiled code, and so
        does one class in one queue by acknowledgements, unless sampled. By the rate clock a sampled
        loop in closed form takes one where its crossovers are proved unique, as a rule up to an
        update interval of twice the round-trip time. Every other loop is searched for all of its
        crossovers, in compiled code, too: by the rate clock in tens of microseconds each, by
        acknowledgements in tens to hundreds. What that cannot follow, such as flows that pause,
        takes milliseconds.

        Parameters
        ----------
        progress : callable, optional
            Called as ``progress(done, total)`` after each loop that is searched.
        """
        rows = np.full((len(SearchedMargins._fields), *self.shape), np.nan)
        fast: Any = np.zeros(self.shape, dtype=bool)
        closed = self._closed_form_margins()
        if closed is not None:
            found, valid = closed
            rows[:4] = [np.broadcast_to(row, self.shape) for row in found]
            fast = np.broadcast_to(valid, self.shape)
            with np.errstate(invalid="ignore"):  # where it is not valid, and overwritten below
                rows[4] = np.radians(rows[1]) / rows[2]
                rows[5] = np.where(rows[0] < 0.0, np.inf, -np.inf)  # there is one crossing
        if not np.all(fast):
            rows[:, ~fast] = self._search.margins(~fast, progress)
        gm, pm, w_gc, w_pc, delay, lower = (
            relabel(self.labels, row) if row.ndim else float(row) for row in rows[:-1]
        )
        return Margins(
            gain_margin_db=gm,
            phase_margin_deg=pm,
            gain_crossover=w_gc,
            phase_crossover=w_pc,
            delay_margin=delay,
            update=self.update,
            _modulus=self._modulus,
            _verdict=partial(self._verdict, gm, fast, rows[-1]),
            _lower=lower,
            _echo=self._echo_code if self._dual else None,
        )

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
        count = self._search.counts(self._all).astype(int)
        return relabel(self.labels, count.reshape(self.shape) if self.shape else int(count[0]))

    def echo(self, harmonics: int = HARMONICS) -> xarray.Dataset:
        """Return the echo modes of the L4S flows in a dual queue by acknowledgements, as a Dataset.

        Flows of one round-trip time that wait nowhere repeat what they sent at every harmonic of
        it, and the loop damps that or feeds it; see docs/theory_acks.md.

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
        DomainError
            If `harmonics` is no whole number above 0.

        Notes
        -----
        Flows of one class have one round-trip time here; where it differs from flow to flow, echoes
        mix and fade. What an echo swells to does not follow from its growth: in packets that is
        some 6 ms with windows of 50 segments, and less than 1 ms with 5 (docs/ack_clock.md).

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
        require_count(harmonics, "harmonics")
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
        DomainError
            If `n` is no whole number above 0.
        """
        require_roots(self.update, n)
        out = np.empty((*self.shape, n), dtype=complex)
        for index in np.ndindex(self.shape):
            out[index] = rightmost_roots(self._element(index), self.update, n)
        if n == 1:
            return relabel(self.labels, out[..., 0][()])
        several = None if self.labels is None else self.labels.expand_dims({"root": n}, axis=-1)
        return relabel(several, out)

    def root_locus(
        self, factors: Sequence[float] | FloatArray | None = None, n: int = 6
    ) -> RootLocus:
        """Return where the modes of one closed loop are while its gain rises, with exact delays.

        Parameters
        ----------
        factors : array, optional
            What the gain of L is multiplied by, above 0; 1 is the loop as it is. By default 160
            from a hundredth to ten times 1, or the gain margin, and 1 itself.
        n : int, default 6
            How many rightmost roots, each conjugate pair once, are followed from both ends of the
            factors at least. A loop with a delay has no end of them.

        Returns
        -------
        RootLocus
            Branches over the factors, and where they cross the imaginary axis: in s (rad/s), of a
            sampled loop in z = e^{sT}, where the unit circle is the boundary. NaN where a branch is
            further left than 7 over the longest delay, |z| is below 0.42, or gain no longer moves
            it because it has come to a zero of L.

        Raises
        ------
        UnsupportedError
            For arrays of loops.
        DomainError
            If `factors` are no gain factors, or `n` is no whole number above 0.
        SolverError
            If the roots cannot be followed.

        Examples
        --------
        >>> import pi2_fluid as pf
        >>> loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1)
        >>> locus = loop.root_locus()
        >>> print(locus)
        A pair of modes begins to grow at 1.719 times the gain (+4.70 dB), at 7.313 rad/s.
        >>> artists = locus.plot()
        """
        from pi2_fluid.loop.locus import find_locus, read_factors, usual_factors

        self._require_scalar("root_locus")
        require_count(n, "n", " roots")
        margin = float(self.margins().gain_margin) if factors is None else 1.0
        grid = usual_factors(margin) if factors is None else read_factors(factors)
        return find_locus(self._element(()), self.update, grid, n)

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
                self._element(index), self.update, self._search.crossings(index)
            )
        )
        return relabel(self.labels, found)

    def step(self, t: Values) -> Values:
        """Return the unit step response of L/(1 + L) at times `t` (s), of shape (*shape, *t.shape).

        It is what the queue delay does, per second of step, when what the loop follows steps. In
        update "sampled" the value at the last update before `t`. An xarray.DataArray broadcasts by
        name.
        """
        given, labels = line_up("t", t, self.labels, self.shape)
        t = np.zeros(np.shape(given))
        if t.size:
            t = np.asarray(validate_quantity(given, "time", "t", low=-math.inf, closed=True))
        if labels is None:
            t = np.broadcast_to(t, (*self.shape, *t.shape))
        else:
            t = np.broadcast_to(t, labels.shape)
        out = np.empty(t.shape)
        for index in np.ndindex(self.shape):
            one = self._element(index)
            if isinstance(one, DelayLoop):
                raise UnsupportedError(
                    "the step response of a loop through the delay alone is not built: simulate a"
                    " change of capacity or of flows."
                )
            if isinstance(one, AckLoop) and self.update != "sampled":
                raise UnsupportedError(
                    "the step response of a loop by acknowledgements is built from update to update"
                    ' only: use update="sampled", or simulate it.'
                )
            out[index] = step_response(one, self.update, np.asarray(t[index]))
        return relabel(labels, out[()])

    # Behind them

    @cached_property
    def _search(self) -> Search:
        if self._desk is None:
            return Search(self.linear, self.update, self._element)
        return DeskSearch(self._desk, self._matrices, self.update, self._element)

    def _matrices(self) -> AnyLoop:
        return self.linear

    @property
    def _crossings(self) -> Crossings:
        """The crossovers of one loop, for everything that is asked about it."""
        return self._search.crossings()

    def _closed_form_margins(self) -> tuple[FloatArray, BoolArray] | None:
        """Margins as rows that need no search, and where they are valid; None if there are none."""
        if self.update == "sampled":
            if self.form is None:
                return None
            return sampled_form_margins(self.form, self.rtt_terms)
        if self.clock == "acks":
            assert isinstance(self.linear, AckLoop)
            return closed_form_ack_margins(self.linear, half_sample=self.update == "delayed")
        if self.form is None or self.rtt_terms == "exact":
            return None
        k: Real = 1.0
        if self.update == "delayed":
            k = 1.0 + self.form.update_interval / (2.0 * self.form.rtt)
        return closed_form_margins(self.form, k)

    @property
    def _all(self) -> BoolArray:
        return np.ones(self.shape, dtype=bool)

    def _modulus(self) -> Values:
        found = self._search.distances(self._all)
        return relabel(self.labels, found.reshape(self.shape) if self.shape else float(found[0]))

    def _verdict(self, gain_margin_db: Values, fast: BoolArray, unstable: FloatArray) -> Values:
        # On the fast path there is one gain and one phase crossover, and no open-loop pole on the
        # right: the sign decides.
        gain_margin_db = np.asarray(gain_margin_db)
        code = np.where(np.abs(gain_margin_db) < BOUNDARY, 0, np.sign(gain_margin_db)).astype(int)
        searched = ~np.asarray(fast)
        if searched.any():
            distance = self._search.distances(searched)
            count = unstable[searched]
            missing = np.zeros(self.shape, dtype=bool)
            missing[searched] = np.isnan(count)
            count[np.isnan(count)] = self._search.counts(missing)
            boundary = (count < 0) | (distance < BOUNDARY)
            code[searched] = np.where(boundary, 0, np.where(count == 0, 1, -1))
        return relabel(self.labels, code) if self.shape else int(code)

    @cached_property
    def _dual(self) -> bool:
        if self.clock == "rate":  # which need not be linearised to know
            return False
        return isinstance(self.linear, AckLoop) and self.linear.dual

    def _echo_code(self) -> Values:
        def code(index: tuple[int, ...]) -> int:
            one = self.linear.element(index)
            assert isinstance(one, AckLoop)
            modes = find_echoes(one, self.update)
            return -1 if np.any(modes.real > 0.0) else 1

        return relabel(self.labels, self._each(code, int))


def require_roots(update: str, n: object) -> None:
    """Refuse to look for no number of roots, or for those of a sampled loop.

    Raises
    ------
    UnsupportedError
        With update="sampled".
    DomainError
        If `n` is no whole number above 0.
    """
    if update == "sampled":
        raise UnsupportedError(
            'roots() are those of a continuous loop: use update="delayed", or nyquist_count().'
        )
    require_count(n, "n", " roots")


def require_count(value: object, name: str, of: str = "") -> None:
    """Refuse what is no number of things.

    Raises
    ------
    DomainError
        If it is no whole number above 0.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise DomainError(
            f"{name} = {show_value(value)}{of} were asked for: give a whole number, {name} >= 1."
        )
