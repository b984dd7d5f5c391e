"""`Qdisc`: a queue as asked for, as shown by tc, and as the kernel runs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pi2_fluid.laws.aqms.dualpi2 import DualPi2
from pi2_fluid.laws.aqms.pi_family import LOOP_WORDS, PiFamily
from pi2_fluid.laws.aqms.pie import Pie
from pi2_fluid.laws.kernel.units import told_to_tc
from pi2_fluid.laws.registry import aqm_class
from pi2_fluid.tc import kernel
from pi2_fluid.tc.generations import NEWEST, Generation
from pi2_fluid.tc.options import LAWS, OPTIONS, Number, in_si


@dataclass(frozen=True, kw_only=True)
class Qdisc:
    """A queue on a device.

    Parameters
    ----------
    kind : {"pie", "fq_pie", "dualpi2", "PIE", "FQ_PIE"}, or a class
        What tc calls it; of the last two FreeBSD's ipfw, whose words `asked` then has; of a law as
        such, which no kernel runs, the name of its class. In fq_pie
        each flow has a queue with the law of its own.
    handle, dev, parent : str, optional
        As tc prints them; `parent` is "root" or a class. None where they are not printed.
    namespace : str, optional
        The network namespace of the device, where the text around it says it.
    asked : dict
        What the kernel was asked for, by tc's words, in SI: times in s, gains in Hz, sizes in B,
        switches as True and False. Of a queue that was parsed: the least that shows as it does.
    shown : dict
        The same as tc prints it.
    aqm : Pie or DualPi2
        The law that the kernel runs, with its gains in Hz and its real update interval. PIE's gains
        are n/16 Hz, true to 1e-9.
    rounding : dict
        Relative error of "alpha", "beta" and "T", the update interval: installed over asked, less
        one.
    statistics : dict, optional
        What ``-s`` adds, by the keys of ``tc -j`` with underscores; delays in s. None without.
    hz : int
        The kernel's ticks per second that this holds for (CONFIG_HZ).
    kernel : Generation
        The kernels that it holds for; only PIE differs between them.
    proposed : bool
        Whether it does not run, but would if a line were given to tc.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> queue = pf.qdisc.install(pf.Pie(alpha=0.13), "pie")
    >>> queue.asked["alpha"], queue.aqm.alpha, f"{queue.rounding['alpha']:.3f}"
    (0.13, 0.125, '-0.038')
    """

    kind: str
    handle: str | None = None
    dev: str | None = None
    parent: str | None = None
    namespace: str | None = None
    asked: dict[str, Any]
    shown: dict[str, Any]
    aqm: PiFamily
    rounding: dict[str, float]
    statistics: dict[str, Any] | None = None
    hz: int = 1000
    kernel: Generation = NEWEST
    proposed: bool = False

    @property
    def name(self) -> str:
        """What to call it: its kind, and its handle if it has one."""
        return f"{self.kind} {self.handle or 'as proposed' * self.proposed}".rstrip()

    @property
    def of_freebsd(self) -> bool:
        """Whether it is of dummynet, and no queue of Linux."""
        return self.kind not in OPTIONS and self.kind.isupper()

    @property
    def is_law(self) -> bool:
        """Whether it is a law as such, of no kernel: its kind is the name of the class."""
        return self.kind == type(self.aqm).__name__


def of_law(aqm: PiFamily) -> Qdisc:
    """Return a law as such, which no kernel rounds.

    Examples
    --------
    >>> from pi2_fluid.laws.presets import docsis_pie
    >>> queue = of_law(docsis_pie())
    >>> queue.kind, queue.asked["alpha"], queue.rounding["alpha"]
    ('Pie', 0.25, 0.0)
    """
    asked = {word: float(getattr(aqm, told.name)) for word, told in LOOP_WORDS.items()}
    rounding = dict.fromkeys(("alpha", "beta", "T"), 0.0)
    return Qdisc(
        kind=type(aqm).__name__,
        asked=asked,
        shown=asked,
        aqm=aqm,
        rounding=rounding,
    )


def build(
    kind: str,
    units: dict[str, int],
    hz: int,
    generation: Generation = NEWEST,
    *,
    parameters: dict[str, Any] | None = None,
    shown: dict[str, Any] | None = None,
    **where: Any,
) -> Qdisc:
    """Return the queue that the options `units` make, see `pi2_fluid.tc.options`.

    Parameters
    ----------
    parameters : dict, optional
        What stood behind `units`, where it was not whole.
    shown : dict, optional
        What tc printed; by default what it would print.
    where
        Other fields of `Qdisc`.
    """
    aqm = law_of(kind, units, hz, generation)
    parameters = in_si(kind, units) | (parameters or {})
    wanted = {"alpha": parameters["alpha"], "beta": parameters["beta"], "T": parameters["tupdate"]}
    got = {"alpha": aqm.alpha, "beta": aqm.beta, "T": aqm.update_interval}
    # An option of 0 cannot be off by a part of itself.
    rounding = {name: got[name] / wanted[name] - 1 if wanted[name] else 0.0 for name in wanted}
    if shown is None:
        shown = in_si(kind, _shown_units(kind, units, hz))
    return Qdisc(
        kind=kind,
        asked=parameters,
        shown=shown,
        aqm=aqm,
        rounding=rounding,
        hz=hz,
        kernel=generation,
        **where,
    )


def law_of(
    kind: str, units: dict[str, int], hz: int, generation: Generation = NEWEST
) -> Pie | DualPi2:
    """Return the law that the kernel runs, from options in tc's units.

    Raises
    ------
    DomainError
        If it is none: no integral gain, no target, no timer.
    """
    told = told_to_tc(aqm_class(LAWS[kind]))
    runs = {one.name: one.unit.act(units[word]) for word, one in told.items()}
    if kind == "dualpi2":
        return DualPi2(**runs)
    period = generation.period(kernel.jiffies(units["tupdate"], hz)) if units["tupdate"] else 0
    more_rounds = -(-units.get("flows", 1) // kernel.FLOWS_PER_ROUND) - 1
    runs["update_interval"] = (period + more_rounds) / hz if period else 0.0
    runs["rate_estimator"] |= generation.estimates
    return Pie(**runs, variant=generation.variant)


def _shown_units(kind: str, units: dict[str, int], hz: int) -> dict[str, int]:
    """Return what the kernel tells tc of options it was given, both in tc's units."""
    told = {
        option.word: option.unit.tell(units[option.word])
        for option in OPTIONS[kind]
        if isinstance(option, Number)
    }
    if kind != "dualpi2":
        told["tupdate"] = kernel.jiffies_to_us(kernel.jiffies(units["tupdate"], hz), hz)
    return units | told
