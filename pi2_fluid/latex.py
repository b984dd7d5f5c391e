"""`to_latex`: a result as a table for a paper, with three digits and intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from pi2_fluid.errors import UnsupportedError, show_value
from pi2_fluid.intervals import Interval, interval_of

if TYPE_CHECKING:
    import xarray

_MOST_ROWS: Final = 500
_SPECIAL: Final = {
    "&": r"\&", "%": r"\%", "#": r"\#", "_": " ", "$": r"\$", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}",
}  # fmt: skip
_DB: Final = "_db"  # with which the name of a number in dB ends
#: Of a comparison: the value of a number, and the ends of its range over the seeds.
_RANGE: Final = ("value", "low", "high")


class Formula(str):
    """LaTeX of a formula, which a notebook shows as one.

    Examples
    --------
    >>> Formula("x^2")._repr_latex_()
    '$$x^2$$'
    """

    __slots__ = ()

    def _repr_latex_(self) -> str:
        return f"$${self}$$"


#: What stands in a cell.
Cell: TypeAlias = "str | float | Interval"


class LatexTable(NamedTuple):
    """A table before it is written."""

    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]


def quantities(rows: Iterable[tuple[str, Cell, str]]) -> LatexTable:
    """Return a table with a row for each quantity: its name, its value and its unit."""
    return LatexTable(("quantity", "value", "unit"), [list(row) for row in rows])


@runtime_checkable
class Tabular(Protocol):
    """What says itself what of it belongs into a table."""

    def latex_table(self) -> LatexTable:
        """Return header and rows."""


def to_latex(result: object, digits: int = 3) -> str:
    r"""Return a result as a LaTeX table, for ``\usepackage{booktabs}``.

    Parameters
    ----------
    result : Margins, OperatingPoint, Design, Recommendation, or xarray.Dataset
        Of packets, statistics with the dim ``seed`` become mean ± half of the interval of 95 %
        (Student's t). Other dims of `summarize` and of sweeps become columns of a row for each of
        their values. Of `compare` there is a row for each quantity and a column for each
        engine; there ± says how far the seeds range.
    digits : int, default 3
        Significant ones of each number. A mean has as many decimals as the two significant digits
        of its interval.

    Returns
    -------
    str
        A ``tabular``. Infinity is a sign, what is not there a dash.

    Raises
    ------
    UnsupportedError
        If there is no table of it here, or one of more than 500 rows.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt=[0.05, 0.1], p_prime=0.1)
    >>> print(pf.to_latex(loop.sweep()[["gain_margin_db", "verdict_code"]]))
    \begin{tabular}{rrr}
    \toprule
    rtt [s] & gain margin [dB] & verdict code \\
    \midrule
    0.05 & 12.9 & 1 \\
    0.1 & 4.7 & 1 \\
    \bottomrule
    \end{tabular}
    """
    if isinstance(result, Tabular):
        table = result.latex_table()
    elif hasattr(result, "data_vars"):
        table = _of_dataset(result)  # type: ignore[arg-type]
    else:
        raise UnsupportedError(
            f"{show_value(result)} has no table here: give Margins, a Design, a Recommendation, or"
            " a Dataset such as summarize, compare or a sweep returns."
        )
    if len(table.rows) > _MOST_ROWS:
        raise UnsupportedError(
            f"a table of {len(table.rows)} rows is too long for a page (at most {_MOST_ROWS}):"
            " select some, e.g. dataset.isel(...)."
        )
    return _written(table, digits)


def _written(table: LatexTable, digits: int) -> str:
    numeric = [
        all(not isinstance(row[k], str) for row in table.rows) for k in range(len(table.header))
    ]
    lines = [
        rf"\begin{{tabular}}{{{''.join('r' if right else 'l' for right in numeric)}}}",
        r"\toprule",
        _line(_escaped(name) for name in table.header),
        r"\midrule",
        *(_line(_cell(value, digits) for value in row) for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(sign, sign) for sign in text)


def _cell(value: Cell, digits: int) -> str:
    if isinstance(value, str):
        return _escaped(value)
    if isinstance(value, Interval):
        return _with_interval(value, digits)
    return _number(float(value), digits)


def _number(value: float, digits: int) -> str:
    if math.isnan(value):
        return "--"
    if math.isinf(value):
        return r"$\infty$" if value > 0.0 else r"$-\infty$"
    mantissa, _, power = f"{value:.{digits}g}".partition("e")
    if power and -digits < int(power) < 7:  # 1.23e+04: whole numbers of this size are read as such
        return f"{float(f'{value:.{digits}g}'):.0f}".replace("-", "$-$")
    text = rf"{mantissa} \times 10^{{{int(power)}}}" if power else mantissa
    return f"${text}$" if power or value < 0.0 else text


def _with_interval(value: Interval, digits: int) -> str:
    mean, half = value
    if not (math.isfinite(mean) and math.isfinite(half) and half > 0.0):
        return _number(mean, digits)
    power = math.floor(math.log10(abs(mean))) if mean else 0
    power = 0 if -4 < power < 5 else power
    scale = 10.0**power
    decimals = max(0, 1 - math.floor(math.log10(half / scale)))
    body = rf"{mean / scale:.{decimals}f} \pm {half / scale:.{decimals}f}"
    return rf"$({body}) \times 10^{{{power}}}$" if power else f"${body}$"


def _of_dataset(dataset: xarray.Dataset) -> LatexTable:
    if set(_RANGE) <= set(dataset.data_vars) and dataset["value"].ndim == 2:
        return _of_comparison(dataset)
    shown = {
        str(name): array
        for name, array in dataset.data_vars.items()
        if array.dtype.kind in "biufUO"
        and array.ndim - ("seed" in array.dims) <= 2
        and f"{name}{_DB}" not in dataset.data_vars  # the same as a ratio
    }
    others = {array.dims for array in shown.values() if set(array.dims) - {"seed"}}
    alike = len(others) == 1 and "seed" not in next(iter(others))
    ratios = sum(f"{name}{_DB}" in dataset.data_vars for name in dataset.data_vars)
    if alike and len(shown) + ratios == len(dataset.data_vars):
        return _of_grid(dataset, shown)
    rows: list[tuple[str, Cell, str]] = []
    for name, array in shown.items():
        unit = str(array.attrs.get("units", ""))
        dims = [dim for dim in array.dims if dim != "seed"]
        for index in np.ndindex(*(array.sizes[dim] for dim in dims)):
            one = array.isel(dict(zip(dims, index, strict=True)))
            labels = [str(one.coords[dim].item()) for dim in dims if dim in one.coords]
            of = f" ({', '.join(labels)})" if labels else ""
            rows.append((f"{name}{of}", _estimate(one), unit))
    return quantities(rows)


def _of_grid(dataset: xarray.Dataset, shown: dict[str, xarray.DataArray]) -> LatexTable:
    """A row for each point of a grid: its coordinates, and each variable there."""
    dims = next(iter(shown.values())).dims
    header = [_with_unit(str(dim), dataset.coords.get(dim)) for dim in dims]
    header += [_with_unit(name, array) for name, array in shown.items()]
    rows: list[list[Cell]] = []
    for index in np.ndindex(*(dataset.sizes[dim] for dim in dims)):
        at = dataset.isel(dict(zip(dims, index, strict=True)))
        places = [at.coords[dim].item() if dim in at.coords else k for dim, k in
                  zip(dims, index, strict=True)]  # fmt: skip
        rows.append([_plain(value) for value in places] + [_plain(at[n].item()) for n in shown])
    return LatexTable(header, rows)


def _of_comparison(dataset: xarray.Dataset) -> LatexTable:
    """A row for each quantity, a column for each engine: its value, and its range if it has one."""
    column, row = ("engine", "name") if "engine" in dataset.dims else dataset["value"].dims
    header = ["quantity", *(str(label) for label in dataset[column].to_numpy()), "unit"]
    rows: list[list[Cell]] = []
    for k, name in enumerate(dataset[row].to_numpy()):
        at = dataset.isel({row: k})
        cells: list[Cell] = [str(name)]
        for engine in range(dataset.sizes[column]):
            value, low, high = (float(at[part].isel({column: engine})) for part in _RANGE)
            half = max(high - value, value - low)
            cells.append(Interval(value, half) if half > 0.0 else value)
        rows.append([*cells, str(at["unit"].item()) if "unit" in at.coords else ""])
    return LatexTable(header, rows)


def _estimate(array: xarray.DataArray) -> Cell:
    """The mean over seeds with its interval; one seed, or none, has no interval."""
    values = array.to_numpy()
    if "seed" not in array.dims or values.dtype.kind in "UO":
        return _plain(values.ravel()[0].item() if values.size else math.nan)
    return interval_of(values)


def _plain(value: object) -> Cell:
    return float(value) if isinstance(value, (bool, int, float)) else str(value)


def _with_unit(name: str, array: xarray.DataArray | None) -> str:
    unit = "" if array is None else str(array.attrs.get("units", ""))
    name = name.removesuffix(_DB) if unit == "dB" else name
    name = name.replace("_prime", "'")
    return f"{name} [{unit}]" if unit and unit != "1" else name
