"""The interpreter of tapes in C against Python: every operation, and every law of the registry."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import write_laws

from pi2_fluid import _core, ops
from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.registry import AQMS, SENDERS, aqm_class, sender_class
from pi2_fluid.laws.sender import Sender
from pi2_fluid.laws.tape import COMPARING, Row, Tape, make_tape
from pi2_fluid.laws.tapes import QUEUE_FUNCTIONS, SENDER_FUNCTIONS, numbers_on_tape, tape_of
from pi2_fluid.laws.trace import OPERATIONS
from pi2_fluid.ops import where

#: Of which C's library and NumPy's may differ in the last digit.
ELEMENTARY = {"power", "exp", "expm1", "log", "log1p", "cbrt"}
NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.3, -2.5, 7e-310, 1e200, math.inf, -math.inf, math.nan]


def kernel_tape(tape: Tape) -> _core.Tape:
    return _core.Tape(
        len(tape.inputs),
        len(tape.parameters),
        list(tape.constants),
        list(tape.rows),
        list(tape.outputs),
        tape.sides,
    )


def in_c(tape: Tape, inputs: Sequence[float], *rest: Any) -> list[float]:
    return kernel_tape(tape).run(list(inputs), *rest)


def assert_same(c: Sequence[float], python: Sequence[Any], *, exact: bool) -> None:
    want = np.array([float(value) for value in python])
    if exact:
        np.testing.assert_array_equal(c, want)
        np.testing.assert_array_equal(np.signbit(c)[want == 0.0], np.signbit(want)[want == 0.0])
    else:
        # Each function of the library is right to some units in the last place; a difference of two
        # of them may be all that is left.
        np.testing.assert_allclose(c, want, rtol=1e-12, atol=1e-300)


def single(code: str) -> Tape:
    """The tape of one operation on its inputs."""
    many = OPERATIONS[code]
    row = [list(OPERATIONS).index(code), *range(many), *([0] if code in COMPARING else [])]
    rows: tuple[Row, ...] = ((*row, 0, 0, 0)[:4],)  # type: ignore[assignment]
    inputs = tuple(f"x{i}" for i in range(many))
    return Tape(inputs, (), (), rows, (many,), int(code in COMPARING))


@pytest.mark.parametrize("code", OPERATIONS)
def test_every_operation(code: str):
    tape = single(code)
    grids = np.meshgrid(*[NUMBERS] * OPERATIONS[code])
    with np.errstate(all="ignore"):
        for values in np.stack([grid.ravel() for grid in grids], axis=1).tolist():
            assert_same(in_c(tape, values, []), tape(*values), exact=code not in ELEMENTARY)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("code", COMPARING)
def test_a_side_that_is_held_decides(code: str, side: int):
    tape = single(code)
    grids = np.meshgrid(*[NUMBERS] * OPERATIONS[code])
    for values in np.stack([grid.ravel() for grid in grids], axis=1).tolist():
        assert_same(in_c(tape, values, [], [side]), tape(*values, sides=[side]), exact=True)


def laws() -> list[Sender | Aqm]:
    made: list[Sender | Aqm] = []
    for cls in (*map(sender_class, SENDERS), *map(aqm_class, AQMS)):
        try:
            made.append(cls())
        except (TypeError, ValueError):  # of laws whose numbers depend on a link
            made += {
                "Cbr": lambda cls=cls: [cls(rate="3Mbit/s").on_link("1500B")],
                "Red": lambda cls=cls: [cls(min=5, max=15), cls(min=5, max=15, adaptive=True)],
                "Avq": lambda cls=cls: [cls(buffer=15), cls(marking="overflow")],
            }.get(cls.__name__, list)()
    return made


def functions_of(law: Sender | Aqm) -> list[Tape]:
    tapes = []
    for name in SENDER_FUNCTIONS if isinstance(law, Sender) else QUEUE_FUNCTIONS:
        if name in {"at_rest", "load_at"}:  # not asked in C; bisections make much of a last digit
            continue
        try:
            tape = tape_of(law, name)
        except UnsupportedError:
            continue
        tapes += [tape, tape.differences()]
    return tapes


@pytest.mark.parametrize("law", laws(), ids=lambda law: type(law).__name__)
def test_every_function_of_every_law(law: Sender | Aqm):
    rng = np.random.default_rng(1)
    for tape in functions_of(law):
        numbers = [float(number) for number in numbers_on_tape(law, tape)]
        exact = not ELEMENTARY & {list(OPERATIONS)[row[0]] for row in tape.rows}
        for _ in range(20):
            inputs = np.exp(rng.uniform(-5.0, 3.0, len(tape.inputs))).tolist()
            sides = rng.integers(0, 2, tape.sides).tolist()
            for held in (None, sides):
                want = tape(*inputs, parameters=numbers, sides=held)
                assert_same(in_c(tape, inputs, numbers, held), want, exact=exact)


def test_the_generated_file_is_current():
    assert write_laws.FILE.read_text("utf-8") == write_laws.text(), "run python tools/write_laws.py"


def test_generated_c_does_what_the_lines_do():
    """To the last digit: by the numbers, and with answers that are held."""
    rng = np.random.default_rng(3)
    forms = set()
    for _, tape, numbers in write_laws.tapes():
        made = kernel_tape(tape)
        bound = made.bound(numbers)
        if not bound["rows"] or bound["form"] in forms:
            continue
        forms.add(bound["form"])
        parts = [bound[part] for part in ("constants", "rows", "outputs")]
        lines = _core.Tape(len(tape.inputs), 0, *parts, tape.sides)
        for _ in range(20):
            inputs = np.exp(rng.uniform(-5.0, 3.0, len(tape.inputs))).tolist()
            sides = rng.integers(0, 2, tape.sides).tolist()
            for held in (None, sides):
                generated = made.run_generated(inputs, numbers, held)
                assert_same(generated, lines.run(inputs, [], held), exact=True)
    assert len(forms) > 100


def test_what_has_no_generated_c_says_so():
    tape = kernel_tape(make_tape(lambda x: x * x - 3.0 * x + ops.exp(-x), ["x"]))
    with pytest.raises(ValueError, match="no C was generated"):
        tape.run_generated([1.0], [])


def test_what_depends_on_numbers_alone_is_computed_once():
    def function(x: Any, scale: Any, floor: Any) -> Any:
        most = where(scale < floor, floor, scale) * 2.0
        return where(x < most, x * (scale + floor), most), most, x, floor

    tape = make_tape(function, ["window"], ["law.scale", "law.floor"])

    bound = tape.bound([3.0, 0.5])
    for x in (1.0, 6.0, 7.0):
        assert in_c(bound, [x], []) == list(tape(x, parameters=[3.0, 0.5]))


@pytest.mark.parametrize(
    ("rows", "outputs", "sides", "said"),
    [
        ([(99, 0, 0, 0)], [1], 0, "unknown operation"),
        ([(0, 0, 1, 0)], [1], 0, "not written yet"),
        ([(0, -1, 0, 0)], [1], 0, "not written yet"),
        ([(6, 0, 0, 1)], [1], 1, "without a side"),
        ([(0, 0, 0, 0)], [2], 0, "returns a register that it has not"),
        ([(0, 0, 0, 0)] * 2100, [1], 0, "too many registers"),
    ],
)
def test_what_is_no_tape_is_refused(rows: Any, outputs: Any, sides: int, said: str):
    with pytest.raises(ValueError, match=said):
        _core.Tape(1, 0, [], rows, outputs, sides)


def test_laws_of_other_shapes_are_refused():
    tape = _core.Tape(1, 0, [], [], [0], 0)
    with pytest.raises(ValueError, match="states = 9 is outside"):
        _core.SenderLaw("own", {}, [], 9, {})
    with pytest.raises(ValueError, match="own rate takes 0 numbers and gives 0 instead of 5 and 1"):
        _core.SenderLaw("own", {}, [], 1, {})
    with pytest.raises(ValueError, match="own rate takes 1 numbers and gives 1"):
        _core.SenderLaw("own", {"rate": tape}, [], 1, {})
    with pytest.raises(ValueError, match="states = 0 is outside"):
        _core.AqmLaw("own", {}, [], 1, False, {})
