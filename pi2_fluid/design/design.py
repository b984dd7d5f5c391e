"""`Design`: gains, the region they are for, how much margin is left there, what others leave."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.design import installing
from pi2_fluid.design.alternatives import COLUMNS, LABELS, dataset_of
from pi2_fluid.design.caveats import caveat
from pi2_fluid.design.clocks import BY_CLOCK, Least, least_among, least_of, said
from pi2_fluid.design.costs import cost_of
from pi2_fluid.design.region import ANY, Region
from pi2_fluid.errors import DomainError, UnsupportedError
from pi2_fluid.html import html_table
from pi2_fluid.latex import LatexTable
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.registry import aqm_class, kind_of, sender_class
from pi2_fluid.laws.sender import Sender
from pi2_fluid.loop.margins import Margins, known
from pi2_fluid.network.long_flows import LongFlows

if TYPE_CHECKING:
    import xarray
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from pi2_fluid.tc.qdisc import Qdisc

_MARGINS: Final = (
    *("gain_margin_db", "phase_margin_deg", "gain_crossover", "phase_crossover"),
    *("delay_margin", "modulus_margin", "verdict_code"),
)
_NUMBERS: Final = (
    *("alpha", "beta", "update_interval", "target", "k", "max_rtt", "max_base_rtt", "min_rtt"),
    *("rtt_limit", "bandwidth", "settling_time", "jitter_margin"),
)
_ABOUT: Final = ("engine", "options", "read_as")  # a verification
_WORDS: Final = ("update", "objective", "guarantee", "guarantee_text", "tc", "hz")
_HZ: Final = 1000


class WorstCase(NamedTuple):
    """The loop of a region with the smallest gain margin: RTT (s), queue included, load, sender."""

    rtt: float
    p_prime: float
    sender: Sender


class Installed(NamedTuple):
    """What a Linux kernel makes of a design, and what is left of it.

    ``kind`` of tc; gains (Hz) and update interval (s) as they act; the smallest margins in the
    region by rates (dB, deg), and ``guarantee``, "proved" or "checked", of these; the smallest
    found by acknowledgements, or None.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> made = pf.tune("100ms", aqm="dualpi2").installed
    >>> print(f"alpha {made.alpha:.4f} Hz, {made.gain_margin_db:.2f} dB: {made.guarantee}")
    alpha 0.0437 Hz, 8.00 dB: proved
    """

    kind: str
    alpha: float
    beta: float
    update_interval: float
    gain_margin_db: float
    phase_margin_deg: float
    guarantee: str
    ack_gain_margin_db: float | None = None
    ack_phase_margin_deg: float | None = None

    @property
    def least(self) -> Least:
        """The smaller margins of both clocks, with the clock of each."""
        rates = self.gain_margin_db, self.phase_margin_deg
        if self.ack_gain_margin_db is None or self.ack_phase_margin_deg is None:
            return least_among({"rate": rates})
        acks = self.ack_gain_margin_db, self.ack_phase_margin_deg
        return least_among({"rate": rates, "acks": acks})


@dataclass(frozen=True, kw_only=True)
class Design:
    """Gains for a region, as `tune` returns them.

    Attributes
    ----------
    alpha, beta : float
        Gains (Hz), per update.
    update_interval, target : float
        T and the target queue delay (s).
    k : float or None
        Coupling factor, of the coupled queues.
    aqm : PiFamily
        The queue itself, with these gains.
    max_rtt, max_base_rtt, min_rtt : float
        The region (s): largest RTT with the queue, the same without the target (the path), and the
        smallest RTT, queue included.
    senders : tuple of Sender
    load : tuple of (float, float)
        Of each sender the range of its p' at all round-trip times together; from 0, the limit of a
        very light load.
    long_flows : LongFlows
        The flows whose loads these are: of how many, at which rate of the link, with which windows.
    update : {"continuous", "delayed", "sampled"}
        The model of the update interval that the margins are of.
    objective : {"recovery", "bandwidth", "gain"}
    tc : str or None
        What tc calls the queue: "dualpi2", "pie" or "fq_pie"; None if it has none.
    hz : int or None
        The kernel's ticks per second that the design is for.
    margins : Margins
        The smallest in the region, by rates.
    worst : WorstCase
        Where that gain margin is smallest; its ``p_prime`` is 0 for the limit.
    ack_margins : Margins or None
        The smallest found by acknowledgements, on a grid; None where there is no such loop.
    ack_worst : WorstCase or None
        Where that gain margin is smallest.
    least : Least
        The smaller gain margin and phase margin of both clocks, and whose each is.
    rtt_limit : float
        Largest RTT (s), queue included, up to which the design is stable at every load by both
        clocks; inf beyond 20 times `max_rtt`. What follows is by rates.
    bandwidth : float
        Of the closed loop of the first sender (rad/s), at `max_rtt` and p' = 0.1 (or the nearest
        load in the region).
    settling_time : float
        Until the slowest mode of that loop has decayed to 2 % (s), with the half-sample delay.
    interval_range : (float, float)
        Shortest and longest update interval (s) at which the region stays stable with alpha and
        beta as they are: 0 if down to a tenth of T, inf if up to ten times.
    jitter_margin : float
        By how much (s) updates may come early or late, in any pattern, with the region stable.
    guarantee : {"proved", "checked"}
        "proved" if no loop of the region by rates, between the points of any grid, has less than
        what `guarantee_text` claims. By acknowledgements all is "checked".
    guarantee_text : str
        What the margins by each clock rest on, and what is claimed: by rates the worst found less a
        thousandth, by acknowledgements the worst of a grid.
    bound : str
        What keeps the gains from being larger: "gain margin by rates", "phase margin by
        acknowledgements" and so on, the margin of which nothing is left; "steps of tc", the next of
        which has less than was asked for; "" if it was not found.
    installed : Installed or None
        The same of what a Linux kernel makes of the design; None where tc cannot ask for it.
    alternatives : xarray.Dataset
        This design ("tuned") and others in the same region, by ``design``; computed when asked for.
    nearest : Design or None
        Where tc has no line for this design, the nearest one that it has; computed when asked for.
    verification : xarray.Dataset or None
        What steps of load and capacity do at the corners of the region, by ``case``: peak and
        settling, and whether packets stay within the bounds that theory gives.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> design = pf.tune("100ms")
    >>> print(f"alpha {design.alpha:.4f} Hz, beta {design.beta:.3f} Hz")
    alpha 0.0480 Hz, beta 2.515 Hz
    >>> print(f"at least {design.least.gain_margin_db:.2f} dB")
    at least 7.34 dB
    """

    alpha: float
    beta: float
    update_interval: float
    target: float
    k: float | None
    aqm: PiFamily
    max_rtt: float
    max_base_rtt: float
    min_rtt: float
    senders: tuple[Sender, ...]
    load: tuple[tuple[float, float], ...]
    update: str
    objective: str
    tc: str | None
    hz: int | None
    margins: Margins
    worst: WorstCase
    rtt_limit: float
    bandwidth: float
    settling_time: float
    interval_range: tuple[float, float]
    jitter_margin: float
    guarantee: str
    guarantee_text: str
    bound: str
    _alternatives: Callable[[], list[dict[str, Any]]] = field(repr=False, compare=False)
    _nearest: Callable[[], Design | None] = field(default=known(None), repr=False, compare=False)
    ack_margins: Margins | None = None
    ack_worst: WorstCase | None = None
    installed: Installed | None = None
    long_flows: LongFlows = ANY
    verification: xarray.Dataset | None = None

    def __str__(self) -> str:
        return (
            f"alpha {self.alpha:g} Hz, beta {self.beta:g} Hz, T"
            f" {1e3 * self.update_interval:.4g} ms, target {1e3 * self.target:.4g} ms\n"
            f"{self.span}\n"
            f"at least {said(self.least)}\n"
            + (f"bound by the {self.bound}\n" if self.bound else "")
            + "\n".join(filter(None, (self.guarantee_text, self.note, self.cost_text)))
        )

    def _repr_html_(self) -> str:
        least = self.least
        return html_table(
            "Design",
            [
                ("alpha", self.alpha, "Hz"),
                ("beta", self.beta, "Hz"),
                ("T", 1e3 * self.update_interval, "ms"),
                ("target", 1e3 * self.target, "ms"),
                ("region", self.span, ""),
                (
                    "gain margin",
                    least.gain_margin_db,
                    f"dB at least, {BY_CLOCK[least.gain_clock]}",
                ),
                (
                    "phase margin",
                    least.phase_margin_deg,
                    f"degrees at least, {BY_CLOCK[least.phase_clock]}",
                ),
                ("bound by", self.bound, ""),
                ("model", self.update, ""),
                ("rests on", self.guarantee_text, ""),
                ("costs", self.cost_text, ""),
            ],
        )

    def latex_table(self) -> LatexTable:
        """Return this design and the alternatives, a row each, as `to_latex` writes them."""
        columns = {
            "alpha [Hz]": "alpha", "beta [Hz]": "beta", "T [s]": "update_interval",
            "by rates [dB]": "gain_margin_db", "by rates [degrees]": "phase_margin",
            "by acknowledgements [dB]": "ack_gain_margin_db",
            "by acknowledgements [degrees]": "ack_phase_margin",
            "stable up to [s]": "rtt_limit",
        }  # fmt: skip
        rows = [
            [LABELS.get(row["design"], row["design"]), *(row[name] for name in columns.values())]
            for row in self.rows()
        ]
        return LatexTable(("queue", *columns), rows)

    @property
    def least(self) -> Least:
        """The smaller margins of both clocks, with the clock of each."""
        return least_of(self.margins, self.ack_margins)

    @cached_property
    def alternatives(self) -> xarray.Dataset:
        """The design and others in the same region."""
        return dataset_of(self._compared)

    @cached_property
    def nearest(self) -> Design | None:
        """The nearest design that tc has a line for; None if it has one for this, or none at all.

        It leaves the largest part of the margins in the same region, or, where no line is stable
        there, the margins up to the longest round-trip time.

        Examples
        --------
        >>> import pi2_fluid as pf
        >>> design = pf.tune("100ms", aqm="pie", update_interval="30ms")
        >>> line = design.nearest.to_tc()
        >>> line[line.index("pie"):]
        'pie target 15ms tupdate 35ms alpha 1 beta 26'
        """
        if self.tc is None:
            return None
        try:
            self.to_tc()
        except DomainError:
            return self._nearest()
        except UnsupportedError:
            return None
        return None

    @cached_property
    def _compared(self) -> list[dict[str, Any]]:
        return self._alternatives()

    @property
    def span(self) -> str:
        """The region in one phrase: the path, the target, both together, and who is there."""
        words = (
            f"paths up to {1e3 * self.max_base_rtt:.4g} ms + {1e3 * self.target:.4g} ms target ="
            f" {1e3 * self.max_rtt:.4g} ms round trip"
        )
        return f"{words}, {self.long_flows.text}" if self.long_flows.bounds else words

    @property
    def region(self) -> Region:
        """The round-trip times, senders and loads that the design is for."""
        return Region(self.senders, self.min_rtt, self.max_rtt, self.load, self.long_flows)

    @property
    def note(self) -> str:
        """What the model leaves out of these senders, "" if nothing is known to matter."""
        return caveat(self.senders)

    @property
    def cost_text(self) -> str:
        """What the gains cost and buy beside Linux's defaults, as measured; "" if nothing is known.

        Margins do not say it: gains with much margin answer a disturbance slowly.
        """
        return cost_of(self.aqm)

    def to_dict(self) -> dict[str, Any]:
        """Return numbers (SI), text, lists and mappings only, as JSON takes them.

        Infinities are floats, margins that are not there None; senders and the queue are their kind
        and their fields. Of a law of one's own the kind is None and ``law`` its name: `from_dict`
        cannot make it again.
        """
        plain = {name: getattr(self, name) for name in (*_NUMBERS, *_WORDS)}
        return {
            **plain,
            "aqm": _law_to_dict(self.aqm),
            "senders": [_law_to_dict(sender) for sender in self.senders],
            "load": [list(ends) for ends in self.load],
            "long_flows": self.long_flows.to_dict(),
            "interval_range": list(self.interval_range),
            "bound": self.bound,
            "installed": None if self.installed is None else self.installed._asdict(),
            "margins": _margins_to_dict(self.margins),
            "worst": _worst_to_dict(self.worst),
            "ack_margins": None if self.ack_margins is None else _margins_to_dict(self.ack_margins),
            "ack_worst": None if self.ack_worst is None else _worst_to_dict(self.ack_worst),
            "least": self.least._asdict(),
            "alternatives": [
                {name: None if _is_missing(x) else x for name, x in row.items()}
                for row in self.rows()
            ],
            "note": self.note,
            "cost_text": self.cost_text,
            "verification": None if self.verification is None else _verified(self.verification),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Design:
        """Return the design that `to_dict` described; text "inf" is read as infinity.

        Raises
        ------
        UnsupportedError
            If a law in it is not of this package.
        """
        installed, verified = data["installed"], data["verification"]
        acks, at = data["ack_margins"], data["ack_worst"]
        plain: dict[str, Any] = {name: data[name] for name in _WORDS}
        plain |= {name: None if data[name] is None else float(data[name]) for name in _NUMBERS}
        return cls(
            **plain,
            aqm=_law_from_dict(data["aqm"], aqm_class),
            senders=tuple(_law_from_dict(one, sender_class) for one in data["senders"]),
            load=tuple((float(low), float(high)) for low, high in data["load"]),
            interval_range=(float(data["interval_range"][0]), float(data["interval_range"][1])),
            long_flows=LongFlows.from_dict(data["long_flows"]),
            installed=None if installed is None else _installed_from(installed),
            margins=_margins_from(data["margins"], data["update"]),
            worst=_worst_from(data["worst"]),
            bound=data.get("bound", ""),
            ack_margins=None if acks is None else _margins_from(acks, data["update"]),
            ack_worst=None if at is None else _worst_from(at),
            _alternatives=known(
                [
                    {
                        "design": row["design"],
                        **{name: _cell(_either(row, name)) for name in COLUMNS},
                    }
                    for row in data["alternatives"]
                ]
            ),
            verification=None if verified is None else _verification_from(verified),
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return the alternatives, each as a mapping of column to number."""
        return [
            {"design": row["design"], **{name: float(row[name]) for name in COLUMNS}}
            for row in self._compared
        ]

    def to_tc(self, kind: str | None = None, *, dev: str = "DEV", hz: int | None = None) -> str:
        """Return the line that asks tc for this design, to paste.

        Parameters
        ----------
        kind : {"dualpi2", "pie", "fq_pie"}, optional
            "dualpi2" for a design of "pi2", "coupled" or "dualpi2", the others for one of "pie". By
            default `tc`.
        dev : str
            The device, in the place of DEV.
        hz : int, optional
            The kernel's ticks per second, with which PIE's update interval comes out right. By
            default those of the design.

        Raises
        ------
        DomainError
            If tc cannot ask for it: PIE's gains are whole sixteenths of 1 Hz, alpha rounded down in
            favour of the margins, and a quarter off is another design.
        UnsupportedError
            If the kernel has no such queue.

        Examples
        --------
        >>> import pi2_fluid as pf
        >>> pf.tune("100ms", target="20ms").to_tc(dev="eth0")[39:]
        'target 20ms tupdate 16ms alpha 0.047998 beta 2.5146 drop_enqueue'
        """
        kind = self._kind(kind)
        return installing.line_for(self._wanted, kind, dev=dev, hz=self.hz if hz is None else hz)

    def to_qdisc(self, kind: str | None = None, *, hz: int | None = None) -> Qdisc:
        """Return what the kernel makes of the line of `to_tc`; without any `hz`, at 1000.

        Raises
        ------
        DomainError, UnsupportedError
            As `to_tc`.
        """
        kind, ticks = self._kind(kind), (self.hz or _HZ) if hz is None else hz
        return installing.installed(self._wanted, kind, hz=ticks)

    def _kind(self, kind: str | None) -> str:
        if kind is not None or self.tc is not None:
            return str(self.tc if kind is None else kind)
        raise UnsupportedError(
            f'tc has no queue with the law of {type(self.aqm).__name__}: use aqm="dualpi2" or'
            ' aqm="pie".'
        )

    @property
    def _wanted(self) -> installing.Wanted:
        return installing.Wanted(self.aqm, self.max_rtt, self.objective)

    def to_ns3(self) -> dict[str, str]:
        """Return the attributes of ns-3's PieQueueDisc that make this design, by name.

        Raises
        ------
        UnsupportedError
            Unless it is one of "pie": ns-3 has neither PI2 nor DualPI2.
        """
        from pi2_fluid.engines.ns3.laws import ns3_attributes  # asked for rarely

        return ns3_attributes(self.aqm)

    def plot(self, ax: Axes | None = None) -> list[Artist]:
        """Draw response against robustness, this design among the alternatives; returns artists.

        Along the curve the largest integral gain that each phase margin leaves in this region, at
        this update interval.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new one if not given.
        """
        from pi2_fluid.design.front import trade_off
        from pi2_fluid.plot import draw_trade_off, new_axes

        points = {
            LABELS[row["design"]]: (row["phase_margin"], row["integral_gain"])
            for row in self.rows()
        }
        curve = trade_off(self.region, self.aqm, self.update)
        return draw_trade_off(new_axes() if ax is None else ax, *curve, points)


def _margins_to_dict(margins: Margins) -> dict[str, Any]:
    return {name: getattr(margins, name) for name in _MARGINS}


def _margins_from(data: Mapping[str, Any], update: str) -> Margins:
    numbers: dict[str, Any] = {name: float(data[name]) for name in _MARGINS}
    modulus, code = numbers.pop("modulus_margin"), int(numbers.pop("verdict_code"))
    return Margins(**numbers, update=update, _modulus=known(modulus), _verdict=known(code))


def _worst_to_dict(worst: WorstCase) -> dict[str, Any]:
    return {
        "rtt": worst.rtt,
        "p_prime": worst.p_prime,
        "sender": _law_to_dict(worst.sender),
    }


def _worst_from(data: Mapping[str, Any]) -> WorstCase:
    sender = _law_from_dict(data["sender"], sender_class)
    return WorstCase(float(data["rtt"]), float(data["p_prime"]), sender)


def _verified(table: xarray.Dataset) -> dict[str, Any]:
    from pi2_fluid.comparison.verification.table import rows_of

    about = {name: table.attrs[name] for name in _ABOUT if name in table.attrs}
    return {**about, "cases": rows_of(table)}


def _verification_from(data: Mapping[str, Any]) -> xarray.Dataset:
    from pi2_fluid.comparison.verification.table import table_of

    cases = [{name: _number(value) for name, value in row.items()} for row in data["cases"]]
    return table_of(cases, {name: data[name] for name in _ABOUT if name in data})


def _installed_from(data: Mapping[str, Any]) -> Installed:
    values: dict[str, Any] = {
        name: x if x is None or (isinstance(x, str) and x != "inf") else float(x)
        for name, x in data.items()
    }
    return Installed(**values)


def _law_to_dict(law: PiFamily | Sender) -> dict[str, Any]:
    values = {field.name: getattr(law, field.name) for field in fields(law)}
    kind = kind_of(law)
    named = {"kind": kind} if kind is not None else {"kind": None, "law": type(law).__name__}
    return named | {
        name: float(x) if isinstance(x, np.floating) else x for name, x in values.items()
    }


def _law_from_dict(data: Mapping[str, Any], find: Callable[[str], type[Any]]) -> Any:
    if data["kind"] is None:
        raise UnsupportedError(
            f"{data['law']} is a law of one's own, and from_dict makes the laws of this package"
            " alone: keep the Design itself, e.g. by pickle, or tune again."
        )
    given = {name: value for name, value in data.items() if name != "kind"}
    return find(data["kind"])(**{name: _number(value) for name, value in given.items()})


def _is_missing(value: float | str) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _either(row: Mapping[str, Any], name: str) -> float | str | None:
    """Return a number of a row; those in dB had names without their unit once."""
    found: float | str | None = row[name] if name in row else row[name.removesuffix("_db")]
    return found


def _cell(value: float | str | None) -> float:
    return math.nan if value is None else float(value)


def _number(value: object) -> object:
    return math.inf if value == "inf" else value
