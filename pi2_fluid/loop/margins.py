"""Gain, phase, delay and modulus margins: what they are, and which path finds them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, TypeVar

import numpy as np

from pi2_fluid import _core
from pi2_fluid.errors import UnsupportedError, show_value
from pi2_fluid.html import html_table
from pi2_fluid.latex import LatexTable, quantities
from pi2_fluid.loop.analytic import MU_LIMIT, solve_margins
from pi2_fluid.loop.crossovers import Crossings
from pi2_fluid.loop.equations import ClosedForm
from pi2_fluid.loop.stable_gains import stable_gains
from pi2_fluid.records.labels import relabel

if TYPE_CHECKING:
    import xarray
    from numpy.typing import NDArray

    from pi2_fluid.values import BoolArray, FloatArray, Real, Values

T = TypeVar("T")

#: Where the gain is more than this too large (dB), cycles have not the linear loop's period.
_LINEAR_DB: Final = -3.0
_ROUNDED: Final = 1e-9  # degrees by which the phase margin of a loop on its boundary is wrong
_VERDICTS: Final = {1: "stable", -1: "unstable", 0: "undecided"}
_ECHOES: Final = {1: "damped", -1: "grows", 0: "not applicable"}


@dataclass(frozen=True, kw_only=True)
class Margins:
    """The stability margins of a loop, or of an array of loops.

    Unpacks as `control.margin` does: ``gm, pm, wcg, wcp = margins`` with gm a *ratio*, pm in
    degrees, wcg the *phase* crossover and wcp the *gain* crossover in rad/s.

    Attributes
    ----------
    gain_margin_db : float or array
        How many dB the gain may grow before the loop is unstable, inf if it may without end. Of an
        unstable loop, negative, by how many it must be reduced, -inf if no reduction helps.
    lower_gain_margin_db : float or array
        How many dB, negative, the gain may fall before the loop is unstable, as one does that is
        stable conditionally or whose open loop is not; -inf, as a rule, if it may without end. Of
        an unstable loop, positive, by how many it must be raised, inf if that does not help: with
        -inf above, no gain makes it stable.
    phase_margin_deg : float or array
        180 degrees plus the continuous phase of L (-90 as w -> 0) at the gain crossover; not
        wrapped, so an unstable loop may show -546. The smallest over all gain crossovers; for a
        stable loop with several, modulo 360 (see `margins_from_crossings`).
    gain_crossover, phase_crossover : float or array
        Frequencies in rad/s at which those were found; inf if there is none.
    delay_margin : float or array
        Seconds of additional delay in the loop until it is unstable: the smallest of phase margin
        over frequency at any gain crossover.
    gain_margin, lower_gain_margin : float or array
        The gain margins as ratios.
    oscillation_period : float or array
        Seconds from peak to peak of a delay that oscillates because the gain is just too large:
        2 pi over the phase crossover; inf if there is none. nan where the gain is more than 3 dB
        too large, for there the controller's floor shortens the cycle: of PI2 `Loop.cycle` has it,
        of others the fluid in time. Down to there the fluid's period is within 7 % of this for
        Classic senders under PI2, 20 % for Scalable ones, and 30 % for PIE, whose table
        changes the gain as the delay moves.
    update : {"continuous", "delayed", "sampled"}
        The model of the update interval in which they were found.
    uniform : bool
        Whether they are those of several links together: of a factor, an angle or a delay that is
        the same at each. A change at one link alone may be larger or must be smaller.
    caution : str
        What a queue's law says that its loop leaves out and may decide, printed beside them; "".
    modulus_margin : float or array
        min over w of |1 + L|, the inverse of the peak of the sensitivity; computed when asked for.
        Of a matrix the smallest singular value of I + L, which is also called `sigma_min`.
    verdict, verdict_code : str, int, or arrays
        "stable" (+1), "unstable" (-1) or "undecided" (0), computed when asked for: from the sign of
        the gain margin where that is proved to decide, else by counting unstable modes.
    echo : str, or array
        Of a dual queue by acknowledgements, whether the echo modes of L4S flows, of which no margin
        tells, are all "damped" or one "grows"; else "not applicable". Computed when asked for.

    Notes
    -----
    No crossing gives an infinite margin and frequency; nothing is ever NaN.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> margins = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=[0.01, 0.1]).margins()
    >>> margins.gain_margin_db.round(2)
    array([2.39, 4.7 ])
    >>> margins.verdict
    array(['stable', 'stable'], dtype='<U9')
    """

    gain_margin_db: Values
    phase_margin_deg: Values
    gain_crossover: Values
    phase_crossover: Values
    delay_margin: Values
    update: str
    _modulus: Callable[[], Any] = field(repr=False, compare=False)
    _verdict: Callable[[], Any] = field(repr=False, compare=False)
    _echo: Callable[[], Any] | None = field(default=None, repr=False, compare=False)
    uniform: bool = False
    caution: str = ""
    _lower: Values | None = field(default=None, repr=False)

    @property
    def gain_margin(self) -> Values:
        """The gain margin as a ratio."""
        return _ratio(self.gain_margin_db)

    @property
    def oscillation_period(self) -> Values:
        """Seconds from peak to peak, were the gain just too large."""
        at = np.asarray(self.phase_crossover, dtype=float)
        crosses = np.isfinite(at) & (at > 0.0)
        period = np.where(crosses, 2.0 * np.pi / np.where(crosses, at, 1.0), np.inf)
        beyond = np.asarray(self.gain_margin_db, dtype=float) < _LINEAR_DB
        period = np.where(crosses & beyond, np.nan, period)
        return relabel(self.phase_crossover, _plain(period))

    @property
    def lower_gain_margin_db(self) -> Values:
        """How many dB the gain may fall; of an unstable loop, must rise."""
        if self._lower is not None:
            return self._lower
        # One crossing alone, of an open loop that is stable.
        upper = np.asarray(self.gain_margin_db, dtype=float)
        return relabel(self.gain_margin_db, _plain(np.where(upper < 0.0, np.inf, -np.inf)))

    @property
    def lower_gain_margin(self) -> Values:
        """The same as a ratio."""
        return _ratio(self.lower_gain_margin_db)

    @property
    def remark(self) -> str:
        """What the gain of one loop may or must do, besides its gain margin; "", as a rule."""
        if np.ndim(self.gain_margin_db):
            return ""
        upper, lower = float(self.gain_margin_db), float(self.lower_gain_margin_db)
        if self.verdict == "stable":
            falls = (
                f"stable conditionally: unstable, too, with a gain that is {-lower:.4g} dB lower"
            )
            return falls if np.isfinite(lower) else ""
        if np.isfinite(lower):
            also = "" if upper == -np.inf else ", too"
            return f"stable with a gain that is {lower:.4g} dB higher{also}"
        return "no gain makes it stable" if upper == -np.inf else ""

    @cached_property
    def modulus_margin(self) -> Values:
        """min over w of |1 + L|."""
        result: Values = self._modulus()
        return result

    @property
    def sigma_min(self) -> Values:
        """min over w of the smallest singular value of I + L: `modulus_margin`, of a matrix."""
        return self.modulus_margin

    @cached_property
    def verdict_code(self) -> Values:
        """+1 stable, -1 unstable, 0 undecided."""
        result: Values = self._verdict()
        return result

    @property
    def verdict(self) -> str | NDArray[np.str_] | xarray.DataArray:
        """The verdict in words."""
        code = self.verdict_code
        if np.ndim(code) == 0:
            return _VERDICTS[int(code)]
        words = np.array(["unstable", "undecided", "stable"])
        result: str | NDArray[np.str_] | xarray.DataArray = relabel(
            code, words[np.asarray(code, dtype=int) + 1]
        )
        return result

    @cached_property
    def echo(self) -> str | NDArray[np.str_] | xarray.DataArray:
        """Whether echo modes grow."""
        code = 0 if self._echo is None else self._echo()
        if np.ndim(code) == 0:
            return _ECHOES[int(code)]
        words = np.array([_ECHOES[-1], _ECHOES[0], _ECHOES[1]])
        result: str | NDArray[np.str_] | xarray.DataArray = relabel(
            code, words[np.asarray(code, dtype=int) + 1]
        )
        return result

    def __iter__(self) -> Iterator[Values]:
        """Yield gm (ratio), pm (deg), wcg (phase crossover), wcp (gain crossover)."""
        yield self.gain_margin
        yield self.phase_margin_deg
        yield self.phase_crossover
        yield self.gain_crossover

    def __getitem__(self, index: object) -> NoReturn:
        """Refuse to guess: the first of four numbers, as in unpacking, or of an array of loops.

        Raises
        ------
        UnsupportedError
            With a name for either.
        """
        at = show_value(index)
        names = "gain_margin_db, phase_margin_deg, gain_crossover, phase_crossover or delay_margin"
        if not np.ndim(self.gain_margin_db):
            raise UnsupportedError(f"margins[{at}] has no meaning: ask by name, {names}.")
        raise UnsupportedError(
            f"margins[{at}] does not say which number of which loop: write"
            f" margins.gain_margin_db[{at}], or have a table with the axes of the loops by"
            " loop.sweep()."
        )

    def _repr_html_(self) -> str:
        rows: list[tuple[str, object, str]] = [
            ("gain margin", self.gain_margin_db, "dB"),
            ("phase crossover", self.phase_crossover, "rad/s"),
            ("phase margin", self.phase_margin_deg, "degrees"),
            ("gain crossover", self.gain_crossover, "rad/s"),
            ("delay margin", self.delay_margin, "s"),
            ("model", self.update, ""),
        ]
        rows += [("uniform", "all links together", "")] if self.uniform else []
        rows += [("caution", self.caution, "")] if self.caution else []
        if np.ndim(self.gain_margin_db) == 0:  # of an array both may take long
            rows += [(self._modulus_name, self.modulus_margin, ""), ("verdict", self.verdict, "")]
            rows += [("echo modes", self.echo, "")] if self._echo is not None else []
            rows += [("gain", self.remark, "")] if self.remark else []
        return html_table("Margins", rows)

    def latex_table(self) -> LatexTable:
        """Return gain, phase, delay and modulus margin of one loop, as `to_latex` writes them.

        Raises
        ------
        UnsupportedError
            Of an array, whose sweep has a table.
        """
        if np.ndim(self.gain_margin_db):
            raise UnsupportedError(
                "these are the margins of an array of loops: give to_latex the table loop.sweep()."
            )
        numbers: list[tuple[str, Values, str]] = [
            ("gain margin", self.gain_margin_db, "dB"),
            ("phase margin", self.phase_margin_deg, "degrees"),
            ("delay margin", self.delay_margin, "s"),
            (self._modulus_name, self.modulus_margin, ""),
            ("gain crossover", self.gain_crossover, "rad/s"),
            ("phase crossover", self.phase_crossover, "rad/s"),
        ]
        return quantities((name, float(value), unit) for name, value, unit in numbers)

    def __str__(self) -> str:
        if np.ndim(self.gain_margin_db):
            shape = np.shape(self.gain_margin_db)
            return f"Margins of {np.prod(shape)} loops in the {self.update} model, shape {shape}"
        return (
            f"gain margin   {self.gain_margin_db:10.4g} dB  at {self.phase_crossover:.4g} rad/s\n"
            f"phase margin  {self.phase_margin_deg:10.4g} deg at {self.gain_crossover:.4g} rad/s\n"
            f"delay margin  {1e3 * self.delay_margin:10.4g} ms\n"
            f"{self._modulus_name:<14}{self.modulus_margin:10.4g}\n"
            f"verdict       {self.verdict:>10}     in the {self.update} model"
            + (f"\necho modes    {self.echo:>10}" if self._echo is not None else "")
            + "\nuniform: all links are scaled, turned or delayed together" * self.uniform
            + f"\ncaution: {self.caution}" * bool(self.caution)
            + f"\n{self.remark}" * bool(self.remark)
        )

    @property
    def _modulus_name(self) -> str:
        return "sigma_min" if self.uniform else "modulus margin"


def closed_form_margins(form: ClosedForm, k: Real) -> tuple[FloatArray, BoolArray]:
    """Return (gain_margin_db, phase_margin_deg, w_gc, w_pc) as rows, and where they are valid.

    Parameters
    ----------
    form : ClosedForm
        Constants of (35)-(37), RTT terms frozen.
    k : float or array
        1, or 1 + T/(2R) with the half-sample delay.

    Returns
    -------
    rows : numpy.ndarray, shape (4, ...)
    valid : numpy.ndarray of bool, shape (...)
        False where mu = 1/W0 exceeds the range of the uniqueness proofs.
    """
    m, mu, a = _dimensionless(form)
    c = (form.beta + form.alpha / 2) * form.rtt
    arrays = [np.asarray(x, float) for x in np.broadcast_arrays(m, mu, a, c, form.rtt, k)]
    valid = arrays[1] <= MU_LIMIT[form.plant] * (1 + 1e-9)
    rows = np.full((4, *valid.shape), np.inf)
    flat = [np.ascontiguousarray(value[valid]) for value in arrays]
    flat[1] = np.minimum(flat[1], MU_LIMIT[form.plant])  # W0 = 2 may round to mu = 0.5 + 1e-16
    found = np.empty((4, flat[0].size))
    if np.all(flat[-1] == 1.0):
        m_, mu_, a_, c_, rtt_ = flat[:-1]
        _core.margins(form.plant == "scalable", m_, mu_, a_, c_, rtt_, *found)
    else:
        found[:] = solve_margins(form.plant, *flat)
    rows[:, valid] = found
    return rows, valid


def sampled_form_margins(form: ClosedForm, rtt_terms: str) -> tuple[FloatArray, BoolArray]:
    """Return the same of exactly sampled loops, and where they are proved to be the right ones.

    Parameters
    ----------
    form : ClosedForm
    rtt_terms : {"frozen", "exact"}

    Returns
    -------
    rows : numpy.ndarray, shape (4, ...)
    valid : numpy.ndarray of bool, shape (...)
        False where a crossover is not proved unique: T > 2R, wR > 2.6 or wT > 1.8 at a crossover,
        or mu beyond its range.
    """
    m, mu, a = _dimensionless(form)
    rho, theta = form.beta / form.alpha, form.update_interval / form.rtt
    values = np.broadcast_arrays(m, mu, a, rho, theta)
    m_, mu_, a_, rho_, theta_ = (np.ascontiguousarray(x, dtype=float).ravel() for x in values)
    scalable, varies = form.plant == "scalable", rtt_terms == "exact"
    found = _core.sampled_margins(
        scalable=scalable, varies=varies, m=m_, mu=mu_, a=a_, rho=rho_, theta=theta_
    )
    rows = found.reshape(4, *values[0].shape)
    rows[2:] /= form.rtt
    return rows, np.isfinite(rows[0])


def _dimensionless(form: ClosedForm) -> tuple[Real, Real, Real]:
    """m, mu and a of the dimensionless loop."""
    m = form.kappa * form.pole * form.rtt
    mu = form.pole * form.rtt / (2.0 if form.plant == "reno" else 1.0)
    return m, mu, form.alpha * form.rtt**2 / form.update_interval


class SearchedMargins(NamedTuple):
    """What a search finds of one loop."""

    gain_margin_db: float
    phase_margin_deg: float
    gain_crossover: float
    phase_crossover: float
    delay_margin: float
    lower_gain_margin_db: float
    unstable: float
    """How many modes grow, -1 on the boundary; NaN where that was not counted."""


def margins_from_crossings(
    crossings: Crossings, count: Callable[[], int], *, settles: bool = False
) -> SearchedMargins:
    """Return the margins of one loop.

    With one crossover of each kind these are the textbook's. A loop that crosses more often (a
    resonance, a phase that dips below -180 degrees and recovers), or whose open loop is not stable,
    may be stable although its phase has fallen by a full turn at a later gain crossover, or |L| > 1
    at a phase crossover. If it is, a phase margin is what may still be added, modulo 360 degrees;
    if not, the smallest value stands, as measured. Gain margins are those of `stable_gains`.

    Parameters
    ----------
    crossings : Crossings
    count : callable
        How many modes grow, -1 on the boundary. Asked only where the crossings do not decide.
    settles : bool
        Whether the open loop is known to be stable.
    """
    gains = [(gain.phase_margin_deg, gain.w) for gain in crossings.gain]
    loud = any(phase.gain >= 1.0 for phase in crossings.phase)
    asked = not settles or loud or len(gains) > 1
    unstable = count() if asked else 0
    if unstable == 0:
        gains = [((pm + _ROUNDED) % 360.0 - _ROUNDED, w) for pm, w in gains]
    pm, w_gc = min(gains, default=(np.inf, np.inf))
    delay = min((float(np.radians(angle)) / w for angle, w in gains), default=np.inf)
    upper, w_pc, lower = stable_gains(crossings.phase, unstable)
    with np.errstate(divide="ignore"):
        gm, below = (20.0 * float(np.log10(factor)) for factor in (upper, lower))
    return SearchedMargins(gm, pm, w_gc, w_pc, delay, below, unstable if asked else np.nan)


def known(value: T) -> Callable[[], T]:
    """Return what `Margins` asks later for, of a value that is there already.

    It crosses to another process, which a lambda does not.
    """
    return partial(_same, value)


def _same(value: T) -> T:
    return value


def _ratio(db: Values) -> Values:
    with np.errstate(over="ignore"):
        ratio = 10.0 ** (np.asarray(db) / 20.0)
    return relabel(db, _plain(ratio))


def _plain(value: FloatArray) -> Real:
    return float(value) if np.ndim(value) == 0 else value
