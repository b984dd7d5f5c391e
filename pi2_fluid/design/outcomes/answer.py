"""`Answer`: what a race has found, as numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pi2_fluid.design.outcomes.lattice import Kind
from pi2_fluid.design.outcomes.measures import MEASURES
from pi2_fluid.design.outcomes.standing import Standing
from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.network.traffic import ALL, Traffic

if TYPE_CHECKING:
    import xarray

__all__ = ["Answer", "plain"]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The numbers of a `Recommendation`, which describes them."""

    aqm: Aqm | None
    base: Aqm | None
    textbook: PiFamily | None
    _kind: Kind = field(repr=False)
    traffic: Traffic = field(repr=False)
    _bases: tuple[Aqm, ...] = field(repr=False)
    value: str
    loss: float
    floor_db: float
    kept: bool
    outcomes: xarray.Dataset = field(repr=False, compare=False)
    margins: Mapping[str, Standing]
    rtt_6db: float
    rtt_0db: float
    runs: int
    cpu: float = field(compare=False)
    stopped: str
    cut_short: bool = False

    @property
    def default(self) -> PiFamily:
        """The kind of queue as it comes."""
        return self._kind.default

    @property
    def alpha(self) -> float | None:
        """Integral gain (Hz)."""
        return self._number("alpha")

    @property
    def beta(self) -> float | None:
        """Proportional gain (Hz)."""
        return self._number("beta")

    @property
    def update_interval(self) -> float | None:
        """Time between updates (s)."""
        return self._number("update_interval")

    @property
    def target(self) -> float | None:
        """Target queue delay (s)."""
        return self._number("target")

    @property
    def k(self) -> float | None:
        """Coupling factor, of the coupled queues."""
        return self._number("k")

    @property
    def chosen(self) -> str:
        """What the answer is called among the candidates of `outcomes`."""
        return self._called("chosen")

    def of(self, measure: str, cell: str = ALL, versus: str = "now") -> tuple[float, float, float]:
        """Return the change of a measure by the answer, and the ends of its interval of 95 %.

        Parameters
        ----------
        measure : str
            One of those of `outcomes`.
        cell : str
            By default all together.
        versus : {"now", "default", "textbook"}

        Returns
        -------
        (float, float, float)
            A ratio, of shares a difference; NaN where there is none.
        """
        return self.change_of(self.chosen, measure, cell, versus)

    def change_of(
        self, candidate: str, measure: str, cell: str = ALL, versus: str = "now"
    ) -> tuple[float, float, float]:
        """Return what `of` does, of any candidate."""
        at = {"candidate": candidate, "measure": measure, "cell": cell, "versus": versus}
        one = self.outcomes.sel(at)
        return float(one["change"]), float(one["low"]), float(one["high"])

    def worst_cell(self, candidate: str | None = None, versus: str = "now") -> tuple[str, float]:
        """Return the cell that loses most of its rate, and the change there."""
        name = self.chosen if candidate is None else candidate
        rates = self.outcomes["change"].sel(candidate=name, versus=versus, measure="rate_measured")[
            :-1
        ]
        worst = int(np.argmin(rates.to_numpy()))
        return str(rates["cell"].to_numpy()[worst]), float(rates[worst])

    def rows(self) -> list[dict[str, Any]]:
        """Return the candidates, the best first: numbers, and changes against what runs now.

        Those that lose too much rate come last.
        """
        found = self.outcomes
        loses = np.array(["loses rate" in str(x) for x in found["role"].to_numpy()])
        order = np.lexsort((found["score"].to_numpy(), loses))
        cells = [str(cell) for cell in found["cell"].to_numpy()]
        rows = []
        for place in order.tolist():
            one = found.isel(candidate=place)
            row: dict[str, Any] = {"candidate": str(one["candidate"].item())}
            for name in ("alpha", "beta", "update_interval", "target"):
                row[name] = plain(float(one[name]))
            row["role"], row["seeds"] = str(one["role"].item()), int(one["seeds"])
            for name in ("score", "score_error", "gain_margin_db"):
                row[name] = plain(float(one[name]))
            numbers = [one[x].sel(versus="now").to_numpy() for x in ("change", "low", "high")]
            row["changes"] = {
                measure: {
                    cell: plain([float(x[m, c]) for x in numbers])
                    for c, cell in enumerate(cells)
                    if not math.isnan(numbers[0][m, c])
                }
                for m, measure in enumerate(MEASURES)
            }
            rows.append(row)
        return rows

    def _number(self, name: str) -> float | None:
        value = getattr(self.aqm, name, None)
        return None if value is None else float(value)

    def _called(self, role: str) -> str:
        for name, roles in zip(
            self.outcomes["candidate"].to_numpy(), self.outcomes["role"].to_numpy(), strict=True
        ):
            if role in str(roles).split(", "):
                return str(name)
        raise UnsupportedError(f"no candidate is the {role} one.")


def plain(value: object) -> object:
    """Return numbers as JSON takes them, None in the place of NaN."""
    if isinstance(value, dict):
        return {name: plain(x) for name, x in value.items()}
    if isinstance(value, list):
        return [plain(x) for x in value]
    return None if isinstance(value, float) and math.isnan(value) else value
