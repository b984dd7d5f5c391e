"""The rows of a result as a series in time: of packets by bin, of a fluid by instant."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pi2_fluid.errors import DomainError
from pi2_fluid.results.schema import schema_of

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.values import BoolArray, FloatArray


class Sampled(NamedTuple):
    """A result, and what its rows are rows of."""

    runs: xarray.Dataset
    counted: bool
    """Whether rows are bins, over which packets were counted, and not instants."""
    time: FloatArray
    """Seconds: of instants, or the end of bins."""
    width: float
    """Seconds: of a bin, 0 of instants."""
    whole: BoolArray
    """The rows that are as long as the first: the last bin may be shorter."""

    @property
    def middle(self) -> FloatArray:
        """Seconds: of instants, or the middle of bins."""
        return self.time - 0.5 * self.width

    def updated(self, interval: float) -> FloatArray:
        """Return when the controller of each row was updated last (s), every `interval` seconds.

        An update at the end of a bin comes after its row, and before that of an instant.
        """
        late = 0.5 * interval if self.counted else -0.5 * interval
        last: FloatArray = np.floor((self.time - late) / interval) * interval
        return last

    def series(self, name: str) -> FloatArray:
        """Return a variable as (seed, time, ...), of a fluid as of one seed."""
        values: FloatArray = self.runs[name].to_numpy()
        return values if self.counted else values[None]

    @property
    def delay(self) -> FloatArray:
        """Queue delay (s): of packets that leave, or backlog over service, (seed, time, ...)."""
        return self.series("sojourn" if self.counted else "queue_delay")


def sampled(runs: xarray.Dataset, omega: FloatArray) -> Sampled:
    """Return the rows of a result, in which there are two at least to a period of each frequency.

    Parameters
    ----------
    runs : xarray.Dataset
        What an engine returned.
    omega : array (k,)
        Frequencies (rad/s) that are to be read from it.

    Raises
    ------
    DomainError
        If bins are longer than half a period.
    """
    counted = schema_of(runs).binned
    time = runs["time"].to_numpy()
    bins = runs["bin"].to_numpy() if counted else np.zeros(time.size)
    width = float(bins[0])
    if width * omega.max() > np.pi:
        raise DomainError(
            f"bins of {width:g} s are longer than half a period of {omega.max():g} rad/s: give an"
            " engine with shorter ones, or lower frequencies."
        )
    return Sampled(runs, counted, time, width, np.abs(bins - width) < 1e-9)
