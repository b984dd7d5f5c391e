"""What a store is told by: any edit of code that answers follow from, and nothing else."""

from __future__ import annotations

import ast
import dataclasses
import functools
import json
import os
import pickle
import random
import sys
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from programs import printed_by

import pi2_fluid as pf
from pi2_fluid.sweeping.identity.content import content_of
from pi2_fluid.sweeping.identity.identity import differences

SHORT = pf.Scenario("0.2s", pf.Link("4Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 2, "40ms"))
OVER = {"aqm.target": [0.01, 0.02]}
sweep = functools.partial(pf.sweep, progress=False, workers=1)

# Two modules as users have them: all of it is reached from `reduce` or from `Mine`.
HELPERS = '''
"""Helpers."""
FLOOR = 0.125
WEIGHTS = {"early": 3.5, "late": [1.25, 2.25]}

def lifted(x, by=0.5, *, times=7):
    """Lift."""
    return max(x * times + by, FLOOR)

class Scale:
    """Has a factor."""
    factor = 11

    def __init__(self, offset=13.0):
        self.offset = offset

    def of(self, x):
        return self.factor * x - self.offset
'''
PROGRAM = '''
"""A program."""
import pi2_fluid as pf
import own_helpers
from own_helpers import lifted as up

LIMIT = 17.0
NAMES = ("queue_delay", "p")
CHOSEN = frozenset({"a1", "b2", "c3"})

def factory(power, shift=19):
    """Return a function."""
    def inner(x, *, least=23):
        """Do it."""
        if x > power:
            return x ** power + shift
        return least
    return inner

raised = factory(29)

def total(values, depth=31):
    """Add, as deep as it goes."""
    if depth <= 37:
        return sum(values) + own_helpers.WEIGHTS["early"]
    return total(values, depth - 41)

class Base(pf.Pi2):
    """Of which another is made."""
    steep: float = 43.0

    def extra(self, x, low=47):
        return x * self.steep + low

    @property
    def hidden(self):
        return 53

class Mine(Base):
    """A law."""
    marks = {"one": 59, "two": (61, 67)}

    def extra(self, x):
        return super().extra(x) + self.marks["one"] - self.hidden

    @staticmethod
    def still(x):
        return [y * 71 for y in range(x) if y % 73]

    @classmethod
    def made(cls):
        return {key: cls.still(value) for key, value in zip("xy", (79, 83))}

scale = own_helpers.Scale(89)

def reduce(run, weight=97, *, sign=-101):
    """Make one number."""
    kept = run[NAMES[0]] * weight + sign
    import own_helpers as late
    for name in sorted(CHOSEN):
        kept = kept + len(name) * late.FLOOR
    later = lambda x: x + 103
    return later(up(raised(total([kept, LIMIT]))) + scale.of(107))
'''


def executed(helpers: str, program: str, file: str = "own.py") -> dict[str, str]:
    """Return the hashes of what a program defines, run as modules of its own."""
    made = {"own_helpers": types.ModuleType("own_helpers"), "own": types.ModuleType("own")}
    sys.modules |= made
    try:
        for module, text in zip(made.values(), (helpers, program), strict=True):
            exec(compile(text, file, "exec"), vars(module))
        own: Any = made["own"]
        return {"reduce": content_of(own.reduce, "reduce").digest} | {
            "law": content_of(own.Mine(), "law").digest
        }
    finally:
        for name in made:
            del sys.modules[name]


def docstrings(tree: ast.Module) -> set[int]:
    bodies = [node for node in ast.walk(tree) if hasattr(node, "body")]
    first = [node.body[0] for node in bodies if isinstance(node.body, list)]
    return {id(one.value) for one in first if isinstance(one, ast.Expr)}


def sites(tree: ast.Module) -> Iterator[Callable[[random.Random], None]]:
    """Yield edits of a program, each at one place, after which it does something else."""
    apart = docstrings(tree)
    operators = [ast.Add, ast.Sub, ast.Mult, ast.Pow, ast.Mod, ast.FloorDiv]
    comparisons = [ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq]

    def another(old: ast.AST, kinds: list[Any], draw: random.Random) -> Any:
        return draw.choice([kind for kind in kinds if not isinstance(old, kind)])()

    def constant(node: ast.Constant, draw: random.Random) -> None:
        old: Any = node.value
        node.value = old + (str(draw.randrange(99)) if old == str(old) else draw.choice([1, 1e-9]))

    def operator(node: ast.BinOp, draw: random.Random) -> None:
        node.op = another(node.op, operators, draw)

    def comparison(node: ast.Compare, draw: random.Random) -> None:
        node.ops = [another(node.ops[0], comparisons, draw)]

    def statement(node: Any, draw: random.Random) -> None:
        node.body.insert(-1, ast.parse(f"_{draw.randrange(99)} = 1").body[0])

    def decorator(node: ast.FunctionDef, draw: random.Random) -> None:
        node.decorator_list = []

    def base(node: ast.ClassDef, draw: random.Random) -> None:
        old = ast.unparse(node.bases[0])
        names = [name for name in ("pf.Pi2", "pf.Pie", "pf.Pi") if name != old]
        node.bases = [ast.parse(draw.choice(names), mode="eval").body]

    def argument(node: Any, draw: random.Random) -> None:
        node.args.args[-1].arg += "_"

    for node in ast.walk(tree):
        match node:
            case ast.Constant() if id(node) not in apart:
                yield functools.partial(constant, node)
            case ast.BinOp():
                yield functools.partial(operator, node)
            case ast.Compare():
                yield functools.partial(comparison, node)
            case ast.FunctionDef():
                if node.name != "factory":  # which is over when it has returned
                    yield functools.partial(statement, node)
                if node.decorator_list:
                    yield functools.partial(decorator, node)
                if node.args.args:
                    yield functools.partial(argument, node)
            case ast.ClassDef():
                yield functools.partial(statement, node)
                if node.bases:
                    yield functools.partial(base, node)


def edited(source: str, seed: int) -> str:
    tree = ast.parse(source)
    draw = random.Random(seed)
    draw.choice(list(sites(tree)))(draw)
    return ast.unparse(ast.fix_missing_locations(tree))


def embellished(source: str, seed: int) -> str:
    """Return a program with other comments, docstrings, empty lines and order: the same one."""
    draw = random.Random(seed)
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and isinstance(body[0], ast.Expr) and len(body) > 1:
            change = draw.randrange(4)
            if change == 0:
                del body[0]
            elif change == 1:
                body[0] = ast.Expr(ast.Constant(f"Another {draw.random()}.\n\nAnd more."))
        if isinstance(node, ast.ClassDef) and draw.random() < 0.3:
            start = isinstance(node.body[0], ast.Expr)
            node.body[start:] = draw.sample(node.body[start:], len(node.body) - start)
    lines = []
    for line in ast.unparse(ast.fix_missing_locations(tree)).splitlines():
        lines += [*["", "# a comment"][: draw.randrange(3)], line]
    return "\n".join(lines) if draw.random() < 0.7 else ast.unparse(tree)


@pytest.fixture(scope="module")
def usual() -> dict[str, str]:
    return executed(HELPERS, PROGRAM)


@pytest.mark.parametrize("seed", range(0, 200, 20))
def test_every_edit_of_code_is_noticed(usual: dict[str, str], seed: int) -> None:
    for place in range(seed, seed + 20):
        texts = [HELPERS, PROGRAM]
        texts[place % 4 != 0] = edited(texts[place % 4 != 0], place)
        assert executed(*texts) != usual, f"edit {place} went unnoticed"


@pytest.mark.slow
def test_nothing_else_is_noticed(usual: dict[str, str]) -> None:
    for seed in range(50):
        texts = embellished(HELPERS, seed), embellished(PROGRAM, 1000 + seed)
        assert executed(*texts, file=f"elsewhere{seed}.py") == usual, f"edit {seed} was noticed"


def test_what_a_session_defines_has_no_source_and_counts(tmp_path: Path) -> None:
    path = tmp_path / "x.zarr"
    pytest.importorskip("zarr")
    mean, largest = (
        eval(f"lambda run: run[['queue_delay']].{how}('time')", {}) for how in ("mean", "max")
    )
    found = sweep(SHORT, OVER, reduce=mean, store=path)
    again = sweep(SHORT, OVER, reduce=mean, store=path)
    np.testing.assert_array_equal(found.queue_delay, again.queue_delay)
    with pytest.raises(pf.QuantityError, match="another sweep, as it differs in reduce: give"):
        sweep(SHORT, OVER, reduce=largest, store=path)


def law(factor: float) -> pf.Aqm:
    class Own(pf.Pi2):
        times = factor

    return Own()


def test_an_edited_law_is_another(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    given = {"rtt": [0.1]}
    for once, twice in ((law(1.0), law(2.0)),):
        path = tmp_path / "x.zarr"
        sweep(pf.Loop(pf.Reno(), once, rtt=0.1, p_prime=0.1), given, store=path)
        with pytest.raises(pf.QuantityError, match="differs in base"):
            sweep(pf.Loop(pf.Reno(), twice, rtt=0.1, p_prime=0.1), given, store=path)


COUNTED = {"n": 1}


def counting(run: xr.Dataset) -> xr.Dataset:
    return run[["queue_delay"]].mean("time") * COUNTED["n"]


def test_data_of_a_module_count(monkeypatch) -> None:
    before = content_of(counting, "reduce")
    assert content_of(counting, "reduce") == before
    monkeypatch.setitem(COUNTED, "n", 2)
    assert content_of(counting, "reduce") != before


def through(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap as decorators do, under another's name."""

    @functools.wraps(pf.summarize)
    def call(run: xr.Dataset) -> xr.Dataset:
        found: xr.Dataset = function(run)
        return found

    return call


@pytest.mark.parametrize(
    "made",
    [
        through,
        functools.partial,
        functools.lru_cache,
        lambda own: functools.partial(pf.summarize, after=own),
        lambda own: types.MethodType(own, 1),
        lambda own: {own},
        lambda own: [{"deep": (own,)}],
        lambda own: type("Own", (pf.Reno,), {"rate": own}),
        lambda own: functools.reduce(lambda inner, _: lambda x: 2 * inner(x), range(9), own),
        property,
        lambda own: np.array([own]),
    ],
)
def test_code_is_found_wherever_it_is(made: Callable[..., Any]) -> None:
    one, other, same = (
        content_of(made(eval(text)), "x")
        for text in ("lambda run: run + 1", "lambda run: run + 2", "lambda run:\\\n run + 1")
    )
    assert one != other
    assert one == same
    assert one.is_code


def test_circles_end() -> None:
    def even(n: int) -> bool:
        return n == 0 or odd(n - 1)

    def odd(n: int) -> bool:
        return n != 0 and even(n - 1)

    class Node:
        def __init__(self) -> None:
            self.next = self
            self.all = [self.next]

    assert content_of((even, Node()), "x") == content_of((even, Node()), "x")
    assert content_of(odd, "x") != content_of(even, "x")


def test_values_and_not_their_places_count() -> None:
    pairs: list[tuple[object, object]] = [
        (pf.Pi2(), pf.Pi2(target="30ms")),
        (np.arange(3.0), np.arange(3.0) + 1e-15),
        (SHORT, dataclasses.replace(SHORT, duration=0.3)),
        ({1, 2}, {1, 3}),
        (xr.Dataset({"x": ("t", [1.0])}), xr.Dataset({"x": ("t", [2.0])})),
        (1, True),
        ("1", 1),
        ((1, (2,)), ((1, 2),)),
    ]
    for value, changed in pairs:
        assert content_of(value, "x") == content_of(value, "x")
        assert content_of(value, "x") != content_of(changed, "x")


class Pickled(pf.Pi2):
    """A law that can be."""


class Rebuilt:
    """Something that says itself how it is made anew."""

    def __init__(self, maker: Callable[..., Any]) -> None:
        self.maker = maker

    def __reduce__(self) -> tuple[Any, ...]:
        return self.maker, (2,)


class Halved(types.SimpleNamespace):
    """With a part that its own `__getstate__` hands out beside its dictionary."""

    def __getstate__(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return vars(self), {"beside": 1}


def test_where_values_end_and_who_makes_them_count() -> None:
    def digest(value: object) -> str:
        return content_of(value, "value").digest

    assert digest([[1], 2]) != digest([[1, 2]])
    assert digest(((), ())) != digest((((),),))
    assert digest(Rebuilt(abs)) != digest(Rebuilt(round))
    assert digest(Halved(a=1)) != digest(Halved(a=2))
    # The order in which names were given says nothing.
    assert digest(Halved(a=1, b=2)) == digest(Halved(b=2, a=1))


def test_what_is_done_with_values_changes_nothing() -> None:
    own = Pickled(), pf.Fluid(), dataclasses.replace(SHORT, aqm=Pickled())
    before = content_of(own, "x")
    pf.simulate(own[2])
    pickle.dumps(own)
    repr(own), hash(own[0]), own[0] == own[1]
    assert content_of(own, "x") == before
    assert content_of(pickle.loads(pickle.dumps(own)), "x") == before


def unreadable() -> dict[str, Any]:
    lock = threading.Lock()
    waiting = (n for n in range(3))
    return {
        "a lock": lambda run: lock.locked(),
        "a generator": lambda run: next(waiting),
        "a file": functools.partial(pf.summarize, after=sys.stderr),
        "compiled": np.frompyfunc(lambda x: x, 1, 1),
    }


@pytest.mark.parametrize("name", unreadable())
def test_what_cannot_be_read_asks_for_a_version(name: str, tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    reduce = unreadable()[name]
    with pytest.raises(pf.QuantityError, match=r"give a version, such as version='1', and another"):
        sweep(SHORT, OVER, reduce=reduce, store=tmp_path / "x.zarr")
    assert not (tmp_path / "x.zarr").exists()


def test_a_version_stands_for_code(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    lock = threading.Lock()

    def reduce(run: xr.Dataset) -> xr.Dataset:
        with lock:
            return pf.summarize(run)

    path = tmp_path / "x.zarr"
    assert sweep(SHORT, OVER, reduce=reduce).attrs["specification"] == ""
    sweep(SHORT, OVER, reduce=reduce, store=path, version="1")

    def changed(run: xr.Dataset) -> xr.Dataset:
        return 2 * pf.summarize(run)

    changed.__qualname__ = reduce.__qualname__
    found = sweep(SHORT, OVER, reduce=changed, store=path, version="1")
    assert json.loads(found.attrs["identity"])["python"] == ""
    with pytest.raises(pf.QuantityError, match=r"differs in reduce, version \(1, and now 2\)"):
        sweep(SHORT, OVER, reduce=reduce, store=path, version="2")
    with pytest.raises(pf.QuantityError, match="version = 2 is no text"):
        sweep(SHORT, OVER, version=2)  # type: ignore[arg-type]


def test_another_python_says_that_it_is_one() -> None:
    old = {"parts": {"reduce": "a"}, "installed": {}, "python": "3.11", "version": None}
    new = old | {"parts": {"reduce": "b"}, "python": "3.12"}
    assert differences(old, new) == ["Python (3.11, and now 3.12)"]
    assert differences(old, old) == []
    plain = sweep(pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=0.1), {"rtt": [0.1]})
    assert json.loads(plain.attrs["identity"])["python"] == ""


@pytest.mark.slow
def test_every_process_finds_the_same(tmp_path: Path) -> None:
    (tmp_path / "own_helpers.py").write_text(HELPERS)
    (tmp_path / "own.py").write_text(PROGRAM)
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import own
from pi2_fluid.sweeping.identity.content import content_of
print(content_of((own.reduce, own.Mine()), "x").digest)
"""
    found = {printed_by(code, env=os.environ | {"PYTHONHASHSEED": seed}) for seed in ("1", "2")}
    assert len(found) == 1


class Slotted:
    """An object with slots and what else it has: its state is a pair."""

    __slots__ = ("__dict__", "first")

    def __init__(self, first: float, second: float) -> None:
        self.first, self.second = first, second

    @functools.cached_property
    def both(self) -> float:
        return self.first + self.second


def test_of_a_state_of_two_parts_both_count_and_what_follows_does_not() -> None:
    fresh, asked = content_of(Slotted(1.0, 2.0), "it").digest, Slotted(1.0, 2.0)
    assert asked.both == 3.0
    assert isinstance(asked.__reduce_ex__(4)[2], tuple)
    assert content_of(asked, "it").digest == fresh
    assert content_of(Slotted(1.5, 2.0), "it").digest != fresh
    assert content_of(Slotted(1.0, 2.5), "it").digest != fresh
