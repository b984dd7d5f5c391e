"""`Answer`: what a race has found, as numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pi2_fluid.design.outcomes.lattice import Kind
from pi2_fluid.design.outcomes.measures import MEASURES
from pi2_fluid.design.outcomes.standing import Standing
from pi2_fluid.errors import QuantityError, UnsupportedError, show_value, suggest
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.network.traffic import ALL, Traffic

if TYPE_CHECKING:
    import xarray
    from numpy.typing import NDArray

    from pi2_fluid.results.dataset import Columns


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
    _compared: Columns = field(repr=False, compare=False)
    margins: Mapping[str, Standing]
    rtt_6db: float
    rtt_0db: float
    runs: int
    cpu: float = field(compare=False)
    stopped: str
    cut_short: bool = False

    @cached_property
    def outcomes(self) -> xarray.Dataset:
        """The candidates by measure, cell and what they are compared with."""
        return self._compared.to_dataset()

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

        Raises
        ------
        QuantityError
            If there is no such measure or cell, or nothing of that name to compare with.
        """
        return self.change_of(self.chosen, measure, cell, versus)

    def change_of(
        self, candidate: str, measure: str, cell: str = ALL, versus: str = "now"
    ) -> tuple[float, float, float]:
        """Return what `of` does, of any candidate."""
        asked = {"candidate": candidate, "versus": versus, "measure": measure, "cell": cell}
        at = tuple(self._place(dim, name) for dim, name in asked.items())
        change, low, high = (float(self._array(x)[at]) for x in ("change", "low", "high"))
        return change, low, high

    def worst_cell(self, candidate: str | None = None, versus: str = "now") -> tuple[str, float]:
        """Return the cell that loses most of its rate, and the change there."""
        name = self.chosen if candidate is None else candidate
        asked = {"candidate": name, "versus": versus, "measure": "rate_measured"}
        at = tuple(self._place(dim, name) for dim, name in asked.items())
        rates = self._array("change")[at][:-1]  # the last is of all cells
        worst = int(np.argmin(rates))
        return str(self._array("cell")[worst]), float(rates[worst])

    def rows(self) -> list[dict[str, Any]]:
        """Return the candidates, the best first: numbers, and changes against what runs now.

        Those that lose too much rate come last.
        """
        roles, names = (self._array(x).tolist() for x in ("role", "candidate"))
        loses = np.array(["loses rate" in role for role in roles])
        order = np.lexsort((self._array("score"), loses))
        cells, now = self._array("cell").tolist(), self._place("versus", "now")
        rows = []
        for place in order.tolist():
            row: dict[str, Any] = {"candidate": names[place]}
            for name in ("alpha", "beta", "update_interval", "target"):
                row[name] = plain(float(self._array(name)[place]))
            row["role"], row["seeds"] = roles[place], int(self._array("seeds")[place])
            for name in ("score", "score_error", "gain_margin_db"):
                row[name] = plain(float(self._array(name)[place]))
            numbers = [self._array(x)[place, now] for x in ("change", "low", "high")]
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
        for name, roles in zip(self._array("candidate"), self._array("role"), strict=True):
            if role in str(roles).split(", "):
                return str(name)
        raise UnsupportedError(f"no candidate is the {role} one.")

    def _array(self, name: str) -> NDArray[Any]:
        return self._compared[name].to_numpy()

    def _place(self, dim: str, name: str) -> int:
        """Return which label along a dim a name is."""
        labels = self._array(dim).tolist()
        if name not in labels:
            raise QuantityError(
                f"{dim} = {show_value(name)} is not in this table: give {suggest(name, labels)}."
            )
        return int(labels.index(name))


def plain(value: object) -> object:
    """Return numbers as JSON takes them, None in the place of NaN."""
    if isinstance(value, dict):
        return {name: plain(x) for name, x in value.items()}
    if isinstance(value, list):
        return [plain(x) for x in value]
    return None if isinstance(value, float) and math.isnan(value) else value
