"""What `check` says: a verdict for each queue, and what is there besides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

from pi2_fluid.deployment.chance import Chance, chance_of
from pi2_fluid.deployment.paths import PathVerdict
from pi2_fluid.deployment.remedies import Remedy, find_remedy, is_enough, on_device
from pi2_fluid.deployment.strangers import Stranger
from pi2_fluid.design.caveats import caveat
from pi2_fluid.design.clocks import EDGE_DB, Least, clocks_text, least_of, said
from pi2_fluid.design.design import WorstCase
from pi2_fluid.design.region import Region
from pi2_fluid.loop.margins import Margins
from pi2_fluid.network.long_flows import LongFlows
from pi2_fluid.tc.qdisc import Qdisc

_WORST_FIRST: Final = ("unstable", "undecided", "stable")
_ALONE: Final = "{} gives each flow a queue of its own: one flow alone in its queue is judged."
_NOTES: Final = {
    "fq_pie": _ALONE.format("fq_pie"),
    "FQ_PIE": _ALONE.format("FQ_PIE"),
    "dualpi2": "DualPI2 is judged as one queue, without L4S beside Classic traffic.",
}
#: Where any load is judged.
_TABLE_ENDS: Final = "{} is judged down to p = 1e-6, where a Reno flow has 1400 segments."
_SHARED: Final = "Flows share the link equally; its rate is {}."
_MODELS: Final = {
    "sampled": "the sampled model",
    "delayed": "the model with a delay of T/2 for each update",
    "continuous": "the continuous model, without an update interval",
}
_OF_A_MODEL: Final = (
    "Margins are of {}, and do not say how long packets wait. Real traffic with windows of four"
    " segments has 3 to 4 dB less."
)


class Case(NamedTuple):
    """What a queue is under one reading of what tc shows of it.

    `hz` is the kernel's CONFIG_HZ, `kernel` its versions in words; margins are the smaller of both
    clocks, and the rest is as in `Verdict`.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> text = pf.qdisc.show(pf.qdisc.install(pf.Pie(update_interval="12ms"), "pie"))
    >>> (judged,) = pf.check(text, rtt="65ms")
    >>> judged.verdict, [(case.hz, case.verdict) for case in judged.cases]
    ('undecided', [(250, 'stable'), (1000, 'unstable')])
    """

    hz: int
    kernel: str
    update_interval: float
    verdict: str
    stable_up_to: float
    gain_margin_db: float
    phase_margin_deg: float


@dataclass(frozen=True)
class Cure:
    """The search for a remedy, made once for all queues that are alike, and only if asked for."""

    qdisc: Qdisc
    region: Region
    margins: Margins
    ack_margins: Margins | None
    update: str

    @cached_property
    def remedy(self) -> Remedy:
        """What one would change of each of them."""
        both = self.margins, self.ack_margins
        return find_remedy(self.qdisc, self.region, *both, self.update)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether a queue is stable up to a round-trip time, at every load, in the model of `update`.

    Judged by rates, as in the papers, and by acknowledgements: the smaller margin decides.

    Attributes
    ----------
    qdisc : Qdisc
        What is judged, as installed; of several `cases` the one with the least margin.
    long_flows : LongFlows
        The flows whose loads are judged; any number where neither rate nor window is known.
    verdict : {"stable", "unstable", "undecided"}
        For round-trip times, queue included, from `min_rtt` to `rtt` and all these loads, each
        sender on its own; "undecided" also where the `cases` differ, or the buffer is too small to
        judge.
    reason : str
        Why it is undecided, in a sentence; "" where it is not, or by a margin of 0 alone.
    rtt, min_rtt : float
        Round-trip times (s), the queue's target included.
    stable_up_to : float
        Largest round-trip time (s), queue included, that is stable at every load by both clocks;
        inf beyond 20 times `rtt`, 0 if `min_rtt` is unstable.
    margins : Margins
        The smallest there, by rates.
    worst : WorstCase
        Where that gain margin is smallest; its ``p_prime`` is 0 for the limit of no load.
    ack_margins : Margins or None
        The smallest found by acknowledgements, on a grid; None where there is no such loop, of
        which `note` says why.
    ack_worst : WorstCase or None
        Where that gain margin is smallest.
    least : Least
        The smaller gain margin and phase margin of both clocks, and whose each is. That of the gain
        margin decides.
    guarantee : {"proved", "checked"}
        Whether the margins by rates, less a thousandth, are proved for the whole region, or the
        smallest found on a grid that is refined around the worst.
    margin_lost_db : float
        What rounding and late timers cost of the gain margin there: asked for less installed (dB),
        negative where they help.
    rate_held : float
        The rate of the link (bit/s) above which the buffer is full below the target.
    cases : tuple of Case
        The verdict for each kernel that can have shown this queue, if there are several: by
        CONFIG_HZ, and by the generation of PIE. Empty if there is one.
    observed : tuple of str
        What the counters of ``tc -s`` say of it, in sentences: whether it is the bottleneck,
        overloaded, and what its packets are. They change no verdict.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> text = pf.qdisc.show(pf.qdisc.install(pf.Pie(), "pie"))
    >>> (judged,) = pf.check(text, hz=1000)
    >>> print(f"{judged.verdict} at 100 ms, stable up to {1e3 * judged.stable_up_to:.0f} ms")
    unstable at 100 ms, stable up to 75 ms
    """

    qdisc: Qdisc
    long_flows: LongFlows
    verdict: str
    rtt: float
    min_rtt: float
    stable_up_to: float
    margins: Margins
    worst: WorstCase
    guarantee: str
    margin_lost_db: float
    rate_held: float
    ack_margins: Margins | None = None
    ack_worst: WorstCase | None = None
    reason: str = ""
    cases: tuple[Case, ...] = ()
    observed: tuple[str, ...] = ()
    _notes: tuple[str, ...] = field(default=(), repr=False, compare=False)
    _rate_of: str = field(default="", repr=False, compare=False)
    _why_no_acks: str = field(default="", repr=False, compare=False)
    _cure: Cure = field(repr=False, compare=False)

    @property
    def least(self) -> Least:
        """The smaller margins of both clocks, with the clock of each."""
        return least_of(self.margins, self.ack_margins)

    @property
    def path_up_to(self) -> float:
        """`stable_up_to` without the target: the longest path (s), 0 if there is none."""
        return max(self.stable_up_to - float(self.qdisc.aqm.target), 0.0)

    @property
    def decisive(self) -> WorstCase:
        """Where the smaller gain margin of both clocks is."""
        acks = self.ack_worst if self.least.gain_clock == "acks" else None
        return self.worst if acks is None else acks

    @property
    def window(self) -> float:
        """The window (packets) of a flow in the `decisive` case; inf in the limit of no load."""
        worst = self.decisive
        if worst.p_prime == 0.0:
            return float("inf")
        p = worst.p_prime**2 if worst.sender.signal == "classic" else worst.p_prime
        state: Any = worst.sender.at_rest(worst.rtt, p)
        return float(state[0] if isinstance(state, tuple) else state)

    @property
    def count(self) -> float | None:
        """How many flows fill the link in the `decisive` case; None where its rate is not known."""
        if self.long_flows.rate is None:
            return None
        worst = self.decisive
        return round(float(self.long_flows.count(worst.sender, worst.p_prime, worst.rtt)), 6)

    @cached_property
    def chance(self) -> tuple[Chance, ...]:
        """What chance adds to the delay on the longest paths, with the fewest and the most flows.

        Empty where the rate of the link is not known, or the noise of the queue's signals is not
        derived; without those who have no loop, or none that settles.
        """
        return chance_of(self.qdisc.aqm, self.decisive.sender, self.rtt, self.long_flows)

    @property
    def note(self) -> str:
        """What the verdict is of, and what it does not cover."""
        return " ".join(self.notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """The sentences of `note`."""
        model = _OF_A_MODEL.format(_MODELS[self.margins.update])
        clocks = self._why_no_acks or clocks_text()
        kind, cubic = self.qdisc.kind, caveat([self.worst.sender])
        ends = self.qdisc.aqm.gain_edges != () and not self.long_flows.bounds
        table = _TABLE_ENDS.format(type(self.qdisc.aqm).__name__.upper()) if ends else ""
        rate = self.long_flows.rate
        load = "" if rate is None else _SHARED.format(self._rate_of or "the one given")
        said = (model, clocks, load, _NOTES.get(kind, ""), table, *self._notes, cubic)
        return tuple(filter(None, said))

    @property
    def at_the_edge(self) -> bool:
        """Whether it is stable with so little margin that real traffic may use it up: 3 dB."""
        return self.verdict == "stable" and self.least.gain_margin_db < EDGE_DB

    @cached_property
    def remedy(self) -> Remedy:
        """What one would change; found when asked for, as it is a search."""
        if self.cases and not is_enough(self.margins, self.ack_margins):
            return Remedy(text=f"first give {unsaid(self.cases)}: the line depends on it.")
        return on_device(self._cure.remedy, self.qdisc)

    def __str__(self) -> str:
        who = f", {self.long_flows.text}" if self.long_flows.bounds else ""
        return (
            f"{self.qdisc.name} up to {1e3 * self.rtt:.4g} ms round trip{who}:"
            f" {self.verdict} in the {self.margins.update} model, at least {said(self.least)}"
        )


class Checked(list[Verdict]):
    """A `Verdict` for each queue that `check` has judged.

    In `others` there is a `Stranger` for each of the other queues, and for those that could not be
    read or judged. If a network was given, `path` is the `PathVerdict` of all of its queues
    together, else None. `note` is what to know of counters, "" where none are shown; `form` says
    what was found in the text, as "2 devices (wan0, lan0), 2 instants of wan0", and is "" where
    the queues themselves say it: of one output that names its devices. `waiting` says which queue
    has the backlog, or that none has, and is "" without counters; `tree` has a line for each queue
    of devices with several, indented by what they hang below.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> queues = '''
    ... qdisc pie 8001: dev eth0 root limit 1000p target 15ms tupdate 15ms alpha 2 beta 20
    ... qdisc fq_codel 0: dev eth1 root limit 10240p flows 1024 target 5ms interval 100ms
    ... '''
    >>> found = pf.check(queues, hz=1000)
    >>> found.verdict, len(found), len(found.others)
    ('unstable', 1, 1)
    >>> print(f"{found.gain_margin_db:.1f} dB")
    -24.5 dB
    """

    def __init__(
        self,
        verdicts: list[Verdict],
        others: list[Stranger],
        path: PathVerdict | None = None,
        note: str = "",
        form: str = "",
        *,
        waiting: str = "",
        tree: tuple[str, ...] = (),
    ) -> None:
        super().__init__(verdicts)
        self.waiting = waiting
        self.tree = tree
        self.form = form
        self.note = note
        self.others = others
        self.path = path

    @property
    def foreign(self) -> list[str]:
        """The names of queues that have no loop here."""
        return [one.name for one in self.others if one.verdict is None]

    @property
    def verdict(self) -> str:
        """The worst of them; "undecided" if there is none."""
        found = [one.verdict for one in self]
        found += [one.verdict for one in self.others if one.verdict is not None]
        found += [] if self.path is None else [self.path.verdict]
        return worst_of(found)

    @property
    def gain_margin_db(self) -> float:
        """The smallest gain margin (dB) of all that was judged; inf if nothing was."""
        found = [one.least.gain_margin_db for one in self]
        found += [one.gain_margin_db for one in self.others if one.gain_margin_db is not None]
        found += [] if self.path is None else [float(self.path.margins.gain_margin_db)]
        return min(found, default=math.inf)


def unsaid(cases: Sequence[Case]) -> str:
    """Return what would have to be known of the kernel."""
    parts = []
    if len({case.hz for case in cases}) > 1:
        parts.append("hz (its CONFIG_HZ, see /boot/config-*)")
    if len({case.kernel for case in cases}) > 1:
        parts.append("kernel (what uname -r prints)")
    return " and ".join(parts)


def worst_of(verdicts: Sequence[str]) -> str:
    """Return the worst of some verdicts; "undecided" if there is none."""
    return min(verdicts, key=_WORST_FIRST.index, default="undecided")
