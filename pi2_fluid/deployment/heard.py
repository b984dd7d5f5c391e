"""`Heard`: the counters of one queue, over all its time or between two snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pi2_fluid.tc.statistics import MOMENTARY

#: What cake counts for a tin, and does not show as of now.
GROWING: Final = frozenset({"pkts", "bytes", "drops", "marks", "ack_drop"})


@dataclass(frozen=True, kw_only=True)
class Heard:
    """The counters of one queue, over all its time or between two snapshots.

    Parameters
    ----------
    kind : str
    totals : mapping
        What was counted, by tc's names.
    now : sequence of mapping
        What held at each snapshot: p, delays, backlog.
    between : bool
        Whether `totals` are those between two snapshots.
    marks : bool
        Whether it marks packets that can be marked.
    k : float
        The coupling factor of dualpi2.
    options : mapping
        What it is configured with, where that says more: target and interval of CoDel (s), quantum
        (bytes), the bandwidth of cake (bit/s).
    rate : float or None
        The rate (bit/s) that is known to be above it.
    """

    kind: str
    totals: Mapping[str, Any]
    now: Sequence[Mapping[str, Any]]
    between: bool = False
    marks: bool = True
    k: float = 2.0
    options: Mapping[str, Any] = field(default_factory=dict)
    rate: float | None = None

    @property
    def sent(self) -> int:
        """How many packets have left."""
        return int(self.totals.get("packets", 0))

    @property
    def at_the_limit(self) -> int:
        """How many were dropped as the queue was full: of its packets or of its memory."""
        names: dict[str, tuple[str, ...]] = {
            "pie": ("overlimit",),
            "fq_pie": ("overlimit", "overmemory"),
            "dualpi2": ("overlimits",),
            "codel": ("drop_overlimit",),
            "fq_codel": ("drop_overlimit", "drop_overmemory"),
            "red": ("pdrop",),
            "fq": ("flows_plimit",),
        }
        return sum(int(self.totals.get(name, 0)) for name in names.get(self.kind, ()))

    @property
    def dropped(self) -> int:
        """How many were dropped, for whatever cause."""
        return int(self.totals.get("drops", 0))

    @property
    def marked(self) -> int:
        """How many were marked."""
        if self.kind == "cake":
            return int(sum(self.of_tins("marks")))
        return int(self.totals.get("marked" if self.kind == "red" else "ecn_mark", 0))

    @property
    def when(self) -> str:
        """Over what time it was counted, as words."""
        return "between the snapshots" if self.between else "since it was made"

    def of_tins(self, word: str) -> tuple[float, ...]:
        """Return what cake counts for each of its tins, over the same time; () without."""
        last = tuple(self.now[-1].get(f"tin_{word}", ()))
        first = tuple(self.now[0].get(f"tin_{word}", ()))
        if not self.between or word not in GROWING or len(first) != len(last):
            return last
        return tuple(after - before for before, after in zip(first, last, strict=True))

    def most(self, name: str) -> float:
        """Return the largest value at a snapshot; 0 where it is not shown."""
        return max((float(one.get(name, 0.0)) for one in self.now), default=0.0)


def heard_of(
    kind: str,
    snapshots: Sequence[Mapping[str, Any]],
    *,
    marks: bool = True,
    k: float = 2.0,
    options: Mapping[str, Any] | None = None,
    rate: float | None = None,
) -> Heard:
    """Return what the counters of one queue say, from its snapshots in order.

    Of several it is what was counted from the first to the last, unless the queue was made anew in
    between. `options` and `rate` are as in `Heard`.
    """
    last = snapshots[-1]
    counted = {name: value for name, value in last.items() if name not in MOMENTARY}
    between = len(snapshots) > 1
    if between:
        first = snapshots[0]
        since = {name: value - first.get(name, 0) for name, value in counted.items()}
        between = all(value >= 0 for value in since.values())
        counted = since if between else counted
    now = snapshots if between else snapshots[-1:]
    return Heard(
        kind=kind,
        totals=counted,
        now=now,
        between=between,
        marks=marks,
        k=k,
        options=options or {},
        rate=rate,
    )
