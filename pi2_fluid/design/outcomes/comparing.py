"""Measures of candidates side by side: ratios and differences with intervals, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy import special

from pi2_fluid.design.outcomes.measures import MEASURES
from pi2_fluid.network.traffic import ALL
from pi2_fluid.results.dataset import Column, Columns

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

_TAIL: Final = 0.025
_TINY: Final = 1e-4  # s, and of a share: less is the same to people
_RATIOS: Final = np.array([about.compared == "ratio" for about in MEASURES.values()])


class Compared(NamedTuple):
    """Of each measure and cell, and of all cells (the last): what one queue makes of another's.

    Ratios, of shares differences; each with its interval of 95 %, Student's for pairs of one seed,
    and the standard error, of ratios that of the logarithm.
    """

    change: FloatArray
    low: FloatArray
    high: FloatArray
    error: FloatArray


def compared(measured: FloatArray, other: FloatArray) -> Compared:
    """Return how the measures of one queue compare with those of another.

    Parameters
    ----------
    measured, other : array (cells, measures, seeds)
        As many seeds as both have are compared, pair by pair.

    Returns
    -------
    Compared
        Of shape (measures, cells + 1); NaN where a cell has no such measure.
    """
    shared = min(measured.shape[-1], other.shape[-1])
    one, two = (np.moveaxis(x[..., :shared], 0, 1) for x in (measured, other))
    ratio = _RATIOS[:, None, None]
    with np.errstate(invalid="ignore"):
        logs = np.log(np.maximum(one, _TINY)) - np.log(np.maximum(two, _TINY))
        each = np.where(ratio, logs, one - two)
    there = ~np.isnan(each).any(axis=-1)
    mean = np.where(there, each.mean(axis=-1), np.nan)
    variance = np.where(there, each.var(axis=-1, ddof=1) / shared, np.nan)
    count = np.maximum(there.sum(axis=-1), 1)
    none = ~there.any(axis=-1)
    # Cells are independent; degrees of freedom are Satterthwaite's.
    whole = np.where(none, np.nan, np.nansum(mean, axis=-1) / count)
    parts = np.nan_to_num(variance) / count[:, None] ** 2
    total = np.where(none, np.nan, parts.sum(axis=-1))
    squares = (parts**2).sum(axis=-1)
    freedom = np.where(squares > 0.0, total**2 / np.where(squares > 0.0, squares, 1.0), 1.0)
    means = np.column_stack([mean, whole])
    errors = np.sqrt(np.column_stack([variance, total]))
    degrees = np.column_stack([np.ones_like(mean), np.maximum(freedom, 1.0)]) * (shared - 1)
    away = -special.stdtrit(degrees, _TAIL) * errors
    told = (means, means - away, means + away)
    change, low, high = (np.where(_RATIOS[:, None], np.exp(x), x) for x in told)
    return Compared(change, low, high, errors)


def comparison(
    measured: Sequence[FloatArray],
    references: Mapping[str, FloatArray],
    labels: Mapping[str, Column],
    cells: Sequence[str],
    attrs: Mapping[str, str | float],
) -> Columns:
    """Return the table of candidates by measure, cell and reference.

    Parameters
    ----------
    measured : sequence of array (cells, measures, seeds)
        Of each candidate.
    references : mapping of str to array
        What is compared with.
    labels : mapping of str to Column
        Coordinates of the candidates.
    cells : sequence of str
        Their names.
    attrs : mapping
        About the whole.
    """
    with np.errstate(invalid="ignore"):
        found = [[compared(one, other) for other in references.values()] for one in measured]
    dims = ("candidate", "versus", "measure", "cell")
    about = {
        "change": "ratio to the other queue; of shares, the difference",
        "low": "lower end of its interval of 95 %",
        "high": "upper end of its interval of 95 %",
        "error": "standard error of the difference, of ratios that of the logarithm",
    }
    variables = {
        name: Column(dims, np.array([[getattr(x, name) for x in row] for row in found]), "1", text)
        for name, text in about.items()
    }
    level = np.array([one.mean(axis=-1).T for one in measured])
    whole = np.full((*level.shape[:2], 1), np.nan)
    variables["level"] = Column(
        ("candidate", "measure", "cell"),
        np.concatenate([level, whole], axis=-1),
        "1",
        "mean over seeds, in the unit of the measure",
    )
    coords = {
        **labels,
        "versus": Column(("versus",), np.array(list(references)), "1", "what it is compared with"),
        "measure": Column(("measure",), np.array(list(MEASURES)), "1", "what is measured"),
        "measure_unit": Column(
            ("measure",), np.array([x.unit for x in MEASURES.values()]), "1", "its unit"
        ),
        "compared": Column(
            ("measure",),
            np.array([x.compared for x in MEASURES.values()]),
            "1",
            "whether it is compared by a ratio or a difference",
        ),
        "cell": Column(("cell",), np.array([*cells, ALL]), "1", "cell of traffic, or all"),
    }
    return Columns(variables, coords, attrs)
