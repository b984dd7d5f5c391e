"""Decisions about packets, one by one, with the random numbers that are drawn for them given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import xarray as xr

from pi2_fluid import _core
from pi2_fluid.engines.packet.columns import (
    as_draws,
    read_backlogs,
    read_delays,
    read_numbers,
    read_words,
    spread,
)
from pi2_fluid.engines.packet.replays.result import replay_dataset
from pi2_fluid.engines.packet.replays.variants import law_of, variants
from pi2_fluid.errors import QuantityError, UnsupportedError, show_value
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.aqms.coupled import CoupledPi2
from pi2_fluid.laws.aqms.pi_family import controller_parameters
from pi2_fluid.laws.aqms.pie import pie_parameters
from pi2_fluid.results import Column

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pi2_fluid.laws.aqms.pie import Pie
    from pi2_fluid.values import FloatArray, Quantity

_MTU: Final = 1514  # bytes: Ethernet's 1500 and its header
_BACKLOG: Final = 20_000  # bytes, enough not to matter
_NOT_GIVEN: Final = np.nan


def replay_drop(
    variant: str | Aqm = "linux6.18",
    *,
    p: Quantity,
    rnd: ArrayLike,
    rnd2: ArrayLike | None = None,
    ecn: ArrayLike | None = None,
    queue_delay: Quantity | None = None,
    backlog: Quantity | None = None,
    burst: Quantity | None = None,
    accu_prob: ArrayLike | None = None,
) -> xr.Dataset:
    """Let a queue decide about packets, with given random numbers.

    All arrays have one number for each packet, or one for all of them.

    Parameters
    ----------
    variant : str or Aqm
        "linux6.18", "linux4.14" or a `Pie`: whether a packet is to be signalled. "pi2-2016" or a
        `CoupledPi2`: whether it is dropped or marked.
    p : array of float, shape (i,)
        Probability in [0, 1]: of PIE its own, of the coupled queue what Scalable packets see, k p'.
    rnd : array of int, shape (i,)
        The numbers offered: of 64 bits in "linux6.18" and in real numbers of PIE, else of 32.
    rnd2 : array of int, shape (i,), optional
        Of the coupled queue: the second number, used only after a hit of the first (default 0).
    ecn : array of int, shape (i,), optional
        Of the coupled queue: ECN field, 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE (default 0).
    queue_delay, backlog, burst : array of float, shape (i,), optional
        Of PIE: latest delay (s; default 1 us above the target), bytes waiting (20 000), burst
        allowance that is left (s; 0).
    accu_prob : array of float, shape (i,), optional
        Of PIE: sum of probabilities before each packet; NaN, the default: as the last one left it.

    Returns
    -------
    xarray.Dataset
        Along `i`, of PIE: rnd_used and drop (uint64, 0 or 1), accu_prob after the packet, a drop
        setting it to 0. Of the coupled queue: rnds_used, drop and ce_set (uint64), which is 1 if
        the packet gets a mark here.

    Raises
    ------
    QuantityError
        If the variant is unknown, or an array is not one-dimensional, of another length, or none of
        usable numbers.
    DomainError
        If a number is out of range.
    UnsupportedError
        If the queue decides otherwise, or an argument is not for its kind.

    Notes
    -----
    Source: Linux 6.18, sch_pie; github.com/olgabo/dualpi2, sch_pi2 (2016).

    Examples
    --------
    >>> replay_drop("linux6.18", p=0.5, rnd=[0, 0, 2**63])["drop"].values
    array([0, 1, 0], dtype=uint64)
    """
    law = law_of(variant, _decisive())
    decide = _DECIDING.get(law.discipline)
    if decide is None:
        raise UnsupportedError(
            f"{type(law).__name__} decides about packets in no way that can be replayed: give a Pie"
            ' or a CoupledPi2, or one of "linux6.18", "linux4.14", "pi2-2016".'
        )
    of_pie = {"queue_delay": queue_delay, "backlog": backlog, "burst": burst}
    return decide(law, p, rnd, of_pie | {"accu_prob": accu_prob, "rnd2": rnd2, "ecn": ecn})


@cache
def _decisive() -> dict[str, Aqm]:
    known = variants()
    coupled = CoupledPi2(variant="pi2-2016", ecn=True, arithmetic="fixed")
    return {name: known[name] for name in ("linux6.18", "linux4.14")} | {"pi2-2016": coupled}


def _by_pie(law: Pie, p: Quantity, rnd: ArrayLike, given: Mapping[str, Any]) -> xr.Dataset:
    _refuse(law, rnd2=given["rnd2"], ecn=given["ecn"])
    usual = {"queue_delay": float(law.target) + 1e-6, "burst": 0.0, "backlog": _BACKLOG}
    delay, left, waiting = (
        value if given[name] is None else given[name] for name, value in usual.items()
    )
    return _pie_drop(law, p, rnd, (delay, left, waiting), given["accu_prob"])


def _by_coupling(
    law: CoupledPi2, p: Quantity, rnd: ArrayLike, given: Mapping[str, Any]
) -> xr.Dataset:
    _refuse(law, **{name: given[name] for name in ("queue_delay", "backlog", "burst", "accu_prob")})
    rnd2, ecn = (0 if given[name] is None else given[name] for name in ("rnd2", "ecn"))
    return _coupled_drop(law, p, rnd, rnd2, ecn)


def _refuse(law: Aqm, **given: object) -> None:
    for name, value in given.items():
        if value is not None:
            raise UnsupportedError(
                f"{name} = {show_value(value)} plays no part in the decisions of"
                f" {type(law).__name__}: leave it out."
            )


def _pie_drop(
    law: Pie,
    p: Quantity,
    rnd: ArrayLike,
    guards: tuple[Quantity, Quantity, Quantity],
    accu_prob: ArrayLike | None,
) -> xr.Dataset:
    # The kernels of that time drew 32 bits.
    older = law.arithmetic == "fixed" and law.variant == "linux4.14"
    words = read_words(rnd, "rnd", 32 if older else 64)
    n = len(words)
    queue_delay, burst, backlog = guards
    delay, left = read_delays(queue_delay, "queue_delay", n), read_delays(burst, "burst", n)
    waiting = read_backlogs(backlog, "backlog", n).astype(np.int64)
    columns = np.empty(n, np.uint64), np.empty(n, np.uint64), np.empty(n)
    _core.replay_pie_drop(
        pie_parameters(law),
        _MTU,
        read_numbers(p, "p", "number", 1.0, n),
        as_draws(words) if older else words,
        delay,
        left,
        waiting,
        _sums(accu_prob, n),
        *columns,
    )
    used, drop, accumulated = columns
    variables = {
        "rnd_used": Column(("i",), used, "1", "random numbers drawn"),
        "drop": Column(("i",), drop, "1", "1 if the packet is to be dropped or marked"),
        "accu_prob": Column(("i",), accumulated, "1", "sum of probabilities since the last drop"),
    }
    return replay_dataset(variables, law)


def _sums(accu_prob: ArrayLike | None, n: int) -> FloatArray:
    if accu_prob is None:
        return np.full(n, _NOT_GIVEN)
    try:
        values = np.asarray(accu_prob, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise QuantityError(
            f"accu_prob = {show_value(accu_prob)} is no array of numbers: give some in [0, 255],"
            " or NaN."
        ) from None
    given = values[~np.isnan(values)]
    if given.size:
        read_numbers(given, "accu_prob", "number", 255.0)
    return spread(values, n, "accu_prob")


def _coupled_drop(
    law: CoupledPi2, p: Quantity, rnd: ArrayLike, rnd2: ArrayLike, ecn: ArrayLike
) -> xr.Dataset:
    first = read_words(rnd, "rnd", 32)
    n = len(first)
    second = spread(read_words(rnd2, "rnd2", 32), n, "rnd2")
    fields = spread(read_words(ecn, "ecn", 2), n, "ecn").astype(np.int64)
    u = read_numbers(p, "p", "number", 1.0, n) / float(law.k)
    found = tuple(np.empty(n, np.uint64) for _ in range(3))
    _core.replay_coupled_drop(
        controller_parameters(law), u, fields, as_draws(first), as_draws(second), *found
    )
    used, drop, mark = found
    variables = {
        "rnds_used": Column(("i",), used, "1", "random numbers drawn"),
        "drop": Column(("i",), drop, "1", "1 if the packet is dropped"),
        "ce_set": Column(("i",), mark, "1", "1 if the packet is marked here"),
    }
    return replay_dataset(variables, law)


#: How packets are decided about, by the queue discipline that does.
_DECIDING: Final[dict[str, Callable[..., xr.Dataset]]] = {"pie": _by_pie, "coupled": _by_coupling}
