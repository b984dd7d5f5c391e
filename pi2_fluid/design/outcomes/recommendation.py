"""`Recommendation`: the queue that is better for the people behind it, and by how much."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pi2_fluid.design.installing import Wanted, installed, line_for
from pi2_fluid.design.outcomes.answer import Answer, plain
from pi2_fluid.design.outcomes.measures import MEASURES
from pi2_fluid.design.outcomes.wording import latex_of, percent, points, summary_of, verdict_of
from pi2_fluid.errors import UnsupportedError
from pi2_fluid.html import html_table
from pi2_fluid.latex import LatexTable
from pi2_fluid.laws.gains import has_gains

if TYPE_CHECKING:
    import xarray
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from pi2_fluid.engines.engine import Engine
    from pi2_fluid.tc.qdisc import Qdisc

_GAINS: Final = ("alpha", "beta", "update_interval", "target", "k")
_SHOWN: Final = ("p99", "p99_after", "mean_after", "rate", "rate_after", "l4s_p99", "completion")


@dataclass(frozen=True, kw_only=True)
class Recommendation(Answer):
    """The queue to run for some traffic, as `tune` finds it by what people feel.

    Attributes
    ----------
    aqm : Aqm or None
        The queue, with its gains; None where each cell keeps one of its own.
    alpha, beta, update_interval, target, k : float or None
        Its numbers (Hz, Hz, s, s, 1); None where it has none.
    kept : bool
        Whether the answer is to keep what runs: nothing is certainly better.
    verdict : str
        The answer in a sentence.
    base : Aqm or None
        What runs now, which candidates are compared with; None where cells differ.
    default, textbook : PiFamily or None
        The kind of queue as it comes, and the design of ``tune(longest RTT)``, if it can be had.
    traffic : Traffic
    value : {"delay", "balanced", "rate"}
    loss : float
        Part of the capacity that nobody may certainly lose in any cell.
    floor_db : float
        The least gain margin that candidates had to keep, by acknowledgements.
    outcomes : xarray.Dataset
        ``change``, ``low``, ``high`` and ``error`` by ``candidate``, ``versus`` ("default",
        "textbook", "now"), ``measure`` and ``cell`` ("all": the mean over cells): ratios with their
        intervals of 95 %, of shares differences (`compared` says which); ``level``, the mean of the
        measure. Candidates have alpha, beta (Hz), update_interval, target (s), `role`, `seeds`,
        `score` and `gain_margin_db`.
    margins : dict of str to Standing
        Of the long flows with the "longest" and the "typical" round-trip time, in the cell and at
        the moment with the largest windows.
    rtt_6db, rtt_0db : float
        Up to which round-trip time (s), queue included, 6 and 0 dB hold by acknowledgements of
        Reno, with windows up to the largest that occurs: 0 for none, inf beyond 5 s, NaN where
        there is no such loop.
    runs : int
        How many runs were made.
    cpu : float
        Seconds of processor time.
    stopped : str
        Why it ended.
    cut_short : bool
        Whether a limit or an interruption ended it, not the evidence.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> queue = pf.presets.linux_dualpi2()
    >>> many = [pf.Flows(pf.Reno(), 8, "20ms"), pf.Flows(pf.Reno(), 8, "20ms", start="12s")]
    >>> busy = pf.Scenario("16s", pf.Link("8Mbit/s"), queue, many, name="busy")
    >>> best = pf.tune(traffic=busy, seeds=4)
    >>> best.outcomes.change.dims
    ('candidate', 'versus', 'measure', 'cell')
    """

    @property
    def verdict(self) -> str:
        """The answer in a sentence."""
        return verdict_of(self)

    def to_tc(self, kind: str | None = None, *, dev: str = "DEV", hz: int | None = None) -> str:
        """Return the line that asks tc for the answer, to paste.

        Parameters
        ----------
        kind : {"dualpi2", "pie"}, optional
            By default what tc calls this kind of queue.
        dev : str
            The device, in the place of DEV.
        hz : int, optional
            The kernel's ticks per second; by default those it was tuned for.

        Raises
        ------
        UnsupportedError
            If the kernel has no such queue, or the answer is to keep what is no such queue.
        """
        return line_for(self._wanted, self._tc(kind), dev=dev, hz=hz or self._kind.hz)

    def to_qdisc(self, kind: str | None = None, *, hz: int | None = None) -> Qdisc:
        """Return what the kernel makes of the answer; arguments and errors as of `to_tc`."""
        return installed(self._wanted, self._tc(kind), hz=hz or self._kind.hz)

    def confirm(
        self,
        engine: Engine,
        *,
        cells: tuple[str, ...] | None = None,
        progress: Callable[[float, float], None] | None = None,
    ) -> xarray.Dataset:
        """Return the same changes measured by another engine, such as the kernel itself.

        The answer and what runs now (or, if that is the answer, the runner-up and what runs now)
        are run in each cell, with the engine's seeds.

        Parameters
        ----------
        engine : Engine
            Such as ``pf.Linux(seeds=8)``: three seeds or more.
        cells : tuple of str, optional
            Which of the cells; by default all that the engine can run.
        progress : callable, optional
            Called as ``progress(done, total)``, in runs of a cell.

        Returns
        -------
        xarray.Dataset
            By ``measure`` and ``cell``: ``change``, ``low``, ``high`` and ``error`` of the engine,
            ``packets`` and ``packets_error``, and ``z``, by how many standard errors they differ.
            Attributes: ``rms_z`` over all measures that people feel, ``candidate``, ``engine``, and
            ``left_out``, the cells that the engine cannot run, and why.

        Raises
        ------
        QuantityError, UnsupportedError
            If this is no engine that counts packets, or it can run no cell.
        """
        from pi2_fluid.design.outcomes.confirming import confirm

        return confirm(self, engine, cells, progress)

    def plot_front(self, ax: tuple[Axes, Axes] | None = None) -> list[Artist]:
        """Draw what delay costs in rate, of every candidate; returns the artists.

        Parameters
        ----------
        ax : pair of matplotlib Axes, optional
            For the steady delay and that after events; new ones if not given.
        """
        from pi2_fluid.plot import draw_outcomes, new_axes

        names, roles = (self._array(x).tolist() for x in ("candidate", "role"))
        axes = new_axes(2) if ax is None else ax
        artists: list[Artist] = []
        panels = (("p99", "steady"), ("p99_after", "after events"))
        for one, (measure, when) in zip(axes, panels, strict=True):
            delay = [percent(self.change_of(name, measure)[0]) for name in names]
            rate = [points(self.change_of(name, "rate_measured")[0]) for name in names]
            artists += draw_outcomes(one, rate, delay, names, roles, when)
        return artists

    def to_dict(self) -> dict[str, Any]:
        """Return numbers (SI), text, lists and mappings only, as JSON takes them.

        Equal arguments give equal numbers; what a run took is left out. What is not there is None.
        """
        return {
            "verdict": self.verdict,
            "kept": self.kept,
            "chosen": self.chosen,
            **{name: self._number(name) for name in _GAINS},
            "tc": self._line(),
            "traffic": self.traffic.name,
            "caveats": list(self.traffic.caveats),
            "value": self.value,
            "loss": self.loss,
            "floor_db": self.floor_db,
            "margins": {name: plain(at.to_dict()) for name, at in self.margins.items()},
            "rtt_6db": plain(self.rtt_6db),
            "rtt_0db": plain(self.rtt_0db),
            "runs": self.runs,
            "stopped": self.stopped,
            "cut_short": self.cut_short,
            "candidates": self.rows(),
        }

    def latex_table(self) -> LatexTable:
        """Return the answer, what runs now, the default and the textbook's, as `to_latex` writes.

        Changes against what runs now, mean over the cells, with intervals of 95 %.
        """
        return latex_of(self)

    def summary(self) -> str:
        """Return the answer with its evidence, as text."""
        return summary_of(self, self._line())

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        rows: list[tuple[str, Any, str]] = [("answer", self.verdict, "")]
        for measure in _SHOWN:
            change = self.of(measure)[0]
            if not math.isnan(change):
                text = MEASURES[measure].text
                if MEASURES[measure].compared == "ratio":
                    rows.append((text, f"{percent(change):+.1f}", "%"))
                else:
                    rows.append((text, f"{points(change):+.2f}", "points"))
        rows += [("tc", self._line() or "none", ""), ("stopped", self.stopped, "")]
        return html_table("Recommendation", rows)

    def _tc(self, kind: str | None) -> str:
        named = self._kind.tc if kind is None else kind
        if named is None:
            name = type(self.default).__name__
            raise UnsupportedError(f'the kernel has no {name}: tune with aqm="dualpi2" or "pie".')
        return named

    @property
    def _wanted(self) -> Wanted:
        if not has_gains(self.aqm):
            what = "what each cell has" if self.aqm is None else type(self.aqm).__name__
            raise UnsupportedError(
                f"the answer is to keep {what}, for which there is no line here."
            )
        return Wanted(self.aqm, math.inf, "recovery")

    def _line(self) -> str | None:
        try:
            return self.to_tc()
        except UnsupportedError:
            return None
