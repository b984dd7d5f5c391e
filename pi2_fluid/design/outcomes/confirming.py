"""The same changes in another engine: what packets say beside what a kernel does."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.design.outcomes.comparing import compared
from pi2_fluid.design.outcomes.measures import BIN, MEASURES, measure
from pi2_fluid.engines.simulating import require_engine
from pi2_fluid.errors import QuantityError, UnsupportedError, show_value, suggest
from pi2_fluid.results.dataset import Column, make_dataset
from pi2_fluid.results.runs import uninterrupted

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.design.outcomes.answer import Answer
    from pi2_fluid.engines.engine import Engine
    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.values import FloatArray

#: What is compared in `rms_z`.
_FELT: Final = ("p99", "p99_after", "mean_after", "peak_after", "sd", "rate_measured")
#: A share below this cannot be told from none (of the capacity).
_LEAST_ERROR: Final = 1e-4


def confirm(
    best: Answer,
    engine: Engine,
    cells: tuple[str, ...] | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> xarray.Dataset:
    """Return what `Recommendation.confirm` describes."""
    require_engine(engine, "engine")
    known = [cell.name for cell in best.traffic.cells]
    for name in cells or ():
        if name not in known:
            raise QuantityError(
                f"cells names {show_value(name)}, which the family has not: give"
                f" {suggest(name, known)}."
            )
    candidate, law = _other(best)
    ready = engine.with_rows(BIN)
    left_out: dict[str, str] = {}
    pairs = []
    for cell, base in zip(best.traffic.cells, best._bases, strict=True):
        if cells is not None and cell.name not in cells:
            continue
        two = [cell.with_aqm(queue).scenario for queue in (law, base)]
        obstacle = next((why for one in two if (why := ready.obstacle(one))), "")
        if obstacle:
            left_out[cell.name] = obstacle
        else:
            pairs.append((cell, two))
    if not pairs:
        why = "; ".join(f"{name}: {text}" for name, text in left_out.items())
        raise UnsupportedError(f"{engine!r} can run no cell of this traffic: {why}")
    measured: list[list[FloatArray]] = [[], []]
    done, total = 0, 2 * len(pairs)
    for cell, two in pairs:
        for place, scenario in enumerate(two):
            runs = uninterrupted(ready.run(scenario))
            if "delay_histogram" not in runs:
                raise UnsupportedError(
                    f"{engine!r} counts no delays of packets: give Linux() or Packets()."
                )
            measured[place].append(measure(runs, scenario, cell.steady, cell.after))
            done += 1
            if progress is not None:
                progress(done, total)
    names = [cell.name for cell, _ in pairs]
    return _beside(best, engine, candidate, names, np.array(measured), left_out)


def _other(best: Answer) -> tuple[str, Aqm]:
    """Return who is confirmed against the base: the answer, or where that is the base the next."""
    if not best.kept:
        assert best.aqm is not None
        return best.chosen, best.aqm
    for row in best.rows():
        roles = row["role"].split(", ")
        if "base" not in roles and "loses rate" not in roles:
            names = ("alpha", "beta", "target", "update_interval")
            law = best._kind.law(**{name: row[name] for name in names})
            return row["candidate"], law
    raise UnsupportedError("there is no other candidate to compare what runs now with.")


def _beside(
    best: Answer,
    engine: Engine,
    candidate: str,
    cells: list[str],
    measured: FloatArray,
    left_out: dict[str, str],
) -> xarray.Dataset:
    differences = compared(measured[0], measured[1])
    at = {"candidate": candidate, "versus": "now", "cell": cells}
    packets = best.outcomes.sel(at)
    change, error = packets["change"].to_numpy(), packets["error"].to_numpy()
    ratio = np.array([about.compared == "ratio" for about in MEASURES.values()])[:, None]
    own, own_error = differences.change[:, :-1], differences.error[:, :-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.where(ratio, np.log(own) - np.log(change), own - change)
        z = apart / np.maximum(np.hypot(own_error, error), _LEAST_ERROR)
    felt = np.array([name in _FELT for name in MEASURES])
    counted = z[felt][np.isfinite(z[felt])]
    dims = ("measure", "cell")
    columns = {
        "change": (own, "ratio to what runs now; of shares, the difference"),
        "low": (differences.low[:, :-1], "lower end of its interval of 95 %"),
        "high": (differences.high[:, :-1], "upper end of its interval of 95 %"),
        "error": (own_error, "its standard error, of ratios that of the logarithm"),
        "packets": (change, "the same, packet by packet"),
        "packets_error": (error, "its standard error"),
        "z": (z, "difference of both, in standard errors"),
    }
    variables = {name: Column(dims, x, "1", text) for name, (x, text) in columns.items()}
    coords = {
        "measure": Column(("measure",), np.array(list(MEASURES)), "1", "what is measured"),
        "cell": Column(("cell",), np.array(cells), "1", "cell of traffic"),
    }
    attrs: dict[str, str | float] = {
        "engine": engine.name,
        "options": repr(engine),
        "candidate": candidate,
        "rms_z": float(np.sqrt(np.mean(counted**2))) if counted.size else math.nan,
        "left_out": "; ".join(f"{name}: {why}" for name, why in left_out.items()),
    }
    return make_dataset(variables, coords, attrs)
