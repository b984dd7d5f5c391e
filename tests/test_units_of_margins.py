"""One unit under one name: whatever is called `gain_margin` is a ratio, `gain_margin_db` in dB."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest
import xarray as xr

import pi2_fluid as pf
from pi2_fluid.apps.cli import run

LOADS = [0.01, 0.1]
LOOP = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=LOADS[0])
NAME = re.compile(r"(\w*gain_margin)(_db)?")


@pytest.fixture(autouse=True)
def untold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pi2_fluid.results.ratios._told", [])


def network() -> pf.Network:
    flows = [pf.Flows(pf.Reno(), 3, "40ms", route=route) for route in (("a", "b"), "a", "b")]
    return pf.Network([pf.Node(n, pf.Link("9Mbit/s"), pf.Pi2()) for n in "ab"], flows)


def shell(*words: str) -> Any:
    def ask(capsys: pytest.CaptureFixture[str]) -> Any:
        assert run([*words, "--json"]) in {0, 5}
        return json.loads(capsys.readouterr().out)

    return ask


def tuned() -> pf.Design:
    return pf.tune("100ms")


def swept(base: Any, over: Mapping[str, Any]) -> xr.Dataset:
    return pf.sweep(base, over, progress=False, workers=1)


#: Whatever has margins.
RESULTS: dict[str, Any] = {
    "margins": lambda _: LOOP.margins(),
    "an array's": lambda _: pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=LOADS).margins(),
    "a network's": lambda _: pf.Loop(network()).margins(),
    "loop.sweep": lambda _: pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=LOADS).sweep(),
    "a sweep of loops": lambda _: swept(LOOP, {"p_prime": LOADS}),
    "a sweep of networks' loops": lambda _: swept(pf.Loop(network()), {"nodes.a.aqm.alpha": [0.1]}),
    "a sweep of designs": lambda _: swept(pf.tune, {"max_rtt": ["100ms"]}),
    "map": lambda _: pf.margin_map(pf.Pi2(), rtts="50ms", rates="1Mbit/s"),
    "design": lambda _: tuned(),
    "alternatives": lambda _: tuned().alternatives,
    "a design as data": lambda _: tuned().to_dict(),
    "verdict": lambda _: pf.check("tc qdisc add dev eth0 root pie", hz=250),
    "coexistence": lambda _: pf.coexistence(rtts="20ms", load=0.1),
    "tune": shell("tune", "--max-rtt", "100ms"),
    "margins --json": shell("margins", "--rtt", "100ms", "--p", "0.01"),
}


def named(value: Any, seen: set[int]) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Yield each gain margin: what it lies among, its name, and its unit where that is said."""
    if id(value) in seen or isinstance(value, (str, bytes, type(None))):
        return
    seen.add(id(value))
    if isinstance(value, xr.Dataset):
        there = {str(name): column for name, column in value.variables.items()}
        for name, column in there.items():
            if NAME.fullmatch(name):
                yield there, name, column.attrs["units"]
    elif isinstance(value, Mapping):
        for name, part in value.items():
            if NAME.fullmatch(str(name)):
                yield dict(value), str(name), ""
            yield from named(part, seen)
    elif isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        for part in value:
            yield from named(part, seen)
    elif type(value).__module__.startswith("pi2_fluid"):
        kept = {field.name for field in fields(value)} if is_dataclass(value) else set()
        kept |= set(getattr(value, "_fields", ()))
        for cls in type(value).__mro__:
            for name, part in vars(cls).items():
                if isinstance(part, (property, cached_property)) and not name.startswith("_"):
                    kept.add(name)
        parts = {name: getattr(value, name) for name in kept if not name.startswith("_")}
        for name, part in parts.items():
            if NAME.fullmatch(name):
                yield parts, name, ""
            yield from named(part, seen)


@pytest.mark.slow
@pytest.mark.parametrize("where", RESULTS)
def test_a_gain_margin_has_the_unit_that_its_name_says(where: str, capsys) -> None:
    found = RESULTS[where](capsys)
    with warnings.catch_warnings(action="ignore", category=FutureWarning):
        names = list(named(found, set()))
        for among, name, unit in names:
            match = NAME.fullmatch(name)
            assert match is not None
            assert unit in {"", "dB" if match[2] else "1"}, name
            other = f"{match[1]}{'' if match[2] else '_db'}"
            if not match[2]:
                assert other in among, f"{name} has nothing in dB beside it"
                decibels = np.asarray(among[other], dtype=float)
                np.testing.assert_allclose(
                    np.asarray(among[name], dtype=float), 10.0 ** (decibels / 20.0), rtol=1e-12
                )
    assert names


def test_a_ratio_under_the_name_that_was_in_db_says_so_once() -> None:
    found = swept(LOOP, {"p_prime": LOADS})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        repr(found), found.isel(p_prime=0), found.gain_margin.dims, found.gain_margin_db.values
    with pytest.warns(
        FutureWarning, match="is a ratio now, .* write gain_margin_db for dB"
    ) as said:
        least = float(found.gain_margin.min())
    assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(found.gain_margin[0]) == LOOP.margins().gain_margin
    assert least == float(LOOP.margins().gain_margin)
