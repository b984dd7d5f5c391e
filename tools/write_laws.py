"""Bring the tapes of laws as C up to date: python tools/write_laws.py.

native/laws/generated.c has their functions; native/tests/law_tapes.h has some laws as tapes, for
tests of the compiled code alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from math import isfinite
from pathlib import Path
from typing import Any

from pi2_fluid import _core
from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.programs import queue_tapes, sender_tapes
from pi2_fluid.laws.registry import AQMS, PRESETS, SENDERS, aqm_class, make_aqm, sender_class
from pi2_fluid.laws.rows import BRANCHED, NAMES, number_of, operands_of
from pi2_fluid.laws.sender import Sender
from pi2_fluid.laws.tape import Tape
from pi2_fluid.laws.tapes import numbers_on_tape
from pi2_fluid.saving import save_text

NATIVE = Path(__file__).resolve().parents[1] / "pi2_fluid" / "native"
FILE = NATIVE / "laws" / "generated.c"
TESTED_FILE = NATIVE / "tests" / "law_tapes.h"
#: What laws need that have no defaults, and numbers that change what a law does.
NEEDED: dict[str, dict[str, Any]] = {
    "cbr": {"rate": "3Mbit/s"},
    "red": {"min": 5, "max": 15},
    "tc_max_rtt": {"max_rtt": "100ms"},
}
MORE: dict[str, list[dict[str, Any]]] = {
    "avq": [{"buffer": 15}],
    "dualpi2": [{"ramp": "2ms"}],
    "pie": [{"burst": "150ms"}],
    "rem": [{"weight": 0.3}],
}
INFIX = {
    "add": "{} + {}",
    "subtract": "{} - {}",
    "multiply": "{} * {}",
    "divide": "{} / {}",
    "negative": "-{}",
}
#: The laws that tests of the compiled code draw from, each by its kind and its numbers.
TESTED: list[tuple[str, dict[str, Any]]] = [
    ("reno", {}), ("reno", {"growth": "per_ack"}), ("scalable", {}), ("dctcp", {}), ("prague", {}),
    ("cubic", {}), ("cbr", {}), ("timeoutreno", {}), ("paganini", {"bottlenecks": 2.0}),
    ("pi", {}), ("pi2", {}), ("coupled", {}), ("dualpi2", {}), ("dualpi2", {"ramp": "2ms"}),
    ("dualpi2", {"variant": "rfc9332"}), ("pie", {}), ("pie", {"burst": "150ms"}),
    ("pie", {"variant": "hpsr13"}), ("pie", {"table": "sqrt2p", "decay": False}),
    ("red", {}), ("red", {"adaptive": True}), ("red", {"gentle": False}), ("taildrop", {}),
    ("price", {}),
]  # fmt: skip
OF_SENDER = (
    "rate", "differences", "sending_rate", "leave_slow_start", "acked", "sending_rate_under"
)  # fmt: skip
OF_QUEUE = (
    "initial", "slopes", "signals", "differences", "saturate", "controller", "update", "encode",
    "serve",
)  # fmt: skip
TESTED_HEAD = "/* Laws as tapes, for tests/laws.h: written by tools/write_laws.py. */\n"
HEAD = """\
/* The functions of laws as C, from their tapes: written by tools/write_laws.py.
 *
 * A tape runs by such a function where there is one of its form, and otherwise line by line; both
 * do the same. Registers have the names of the inputs, or r and their place; k are the constants of
 * the bound tape, among which is what depends on the law's numbers alone.
 */
#include "laws/generated.h"

#include "laws/operations.h"

#define OPERATION(name, operands, value) \\
    static inline double name(double A, double B, double C) \\
    { \\
        (void)B; \\
        (void)C; \\
        return (value); \\
    }
#define COMPARISON(name, operands, value, held) \\
    static inline double name(double A, double B, const signed char *sides, int number) \\
    { \\
        const int SIDE = sides ? sides[number] : 0; \\
        (void)B; \\
        return sides ? (held) : (value); \\
    }
PI2_TAPE_OPERATIONS(OPERATION, COMPARISON)
#undef OPERATION
#undef COMPARISON

#if defined(__GNUC__) || defined(__clang__)
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE static inline
#endif
"""
TAIL = """
pi2_tape_function *pi2_find_generated(uint64_t form)
{
    static const struct {
        uint64_t form;
        pi2_tape_function *function;
    } all[] = {
@        {0, 0},
    };
    for (int i = 0; all[i].function; i++)
        if (all[i].form == form)
            return all[i].function;
    return 0;
}
"""


def laws() -> Iterator[tuple[str, Sender | Aqm]]:
    """Yield every law with a name: its defaults, each other choice of each option, the presets."""
    for kinds, class_of in ((SENDERS, sender_class), (AQMS, aqm_class)):
        for kind in kinds:
            cls: Any = class_of(kind)
            if cls.only_in or kind in ("imposed", "injected"):  # moved over time
                continue
            needed = NEEDED.get(kind, {})
            options = [{}, *MORE.get(kind, [])]
            for field in fields(cls):
                options += [{field.name: option} for option in field.metadata.get("choice", ())]
            for option in options:
                try:
                    yield kind, made(cls, needed | option)
                except (TypeError, ValueError):  # of choices that need another
                    continue
    for name in PRESETS:
        yield name, make_aqm(name, NEEDED.get(name, {}))


def made(cls: Any, numbers: dict[str, Any]) -> Sender | Aqm:
    """Return a law, of a bit rate for packets of a size."""
    law: Any = cls(**numbers)
    return law.on_link("1500B") if law.role == "sender" else law.pushed()


def tapes() -> Iterator[tuple[str, Tape, list[float]]]:
    """Yield the tapes that the compiled fluid runs, each with a name and its parameters."""
    for name, law in laws():
        modes = [False, True] if isinstance(law, Aqm) else [False]
        for continuous in modes:
            for what, tape in tapes_of(law, continuous=continuous).items():
                yield f"{name}_{what}", tape, numbers_on_tape(law, tape)


def tapes_of(law: Sender | Aqm, *, continuous: bool) -> dict[str, Tape]:
    """Return the tapes of a law, none where packets alone run it, or it has no flow."""
    try:
        if isinstance(law, Aqm):
            return queue_tapes(law, continuous=continuous)
        return sender_tapes(law)
    except UnsupportedError:
        return {}


def function_of(name: str, tape: Tape, bound: dict[str, Any]) -> str:
    """Return a tape as a function in C."""
    inputs = [re.sub(r"\W", "_", text) for text in tape.inputs]
    registers = [*inputs, *(f"k[{place}]" for place in range(len(bound["constants"])))]
    lines, read = [], set(bound["outputs"])
    compares = False
    for row in bound["rows"]:
        operands = operands_of(row)
        read.update(operands)
        register, code = f"r{len(registers)}", NAMES[row[0]]
        values = [registers[place] for place in operands]
        if code in INFIX:
            value = INFIX[code].format(*values)
        elif row[0] in BRANCHED:
            number = number_of(row)
            compares |= number >= 0
            held = f"sides, {number}" if number >= 0 else "0, 0"
            value = f"{code.upper()}({', '.join([*values, '0.0'][:2])}, {held})"
        else:
            value = f"{code.upper()}({', '.join([*values, '0.0', '0.0'][:3])})"
        lines.append(f"const double {register} = {value};")
        registers.append(register)
    inner = [
        *(f"const double {text} = in[{k}];" for k, text in enumerate(inputs) if k in read),
        *lines,
        *(f"out[{k}] = {registers[place]};" for k, place in enumerate(bound["outputs"])),
    ]
    if not compares:
        inner.insert(0, "(void)sides;")
    if not any(text.startswith("k[") and text in line for text in registers for line in inner):
        inner.insert(0, "(void)k;")
    body = "".join(f"    {line}\n" for line in inner)
    arguments = "const double *in, const double *k, const signed char *sides, double *out"
    if not compares:
        return f"static void {name}({arguments})\n{{\n{body}}}\n"
    # Twice: the answers are held, or found. The compiler then sees which in each.
    return (
        f"ALWAYS_INLINE void {name}_by({arguments})\n{{\n{body}}}\n\n"
        f"static void {name}({arguments})\n{{\n"
        f"    if (sides)\n        {name}_by(in, k, sides, out);\n"
        f"    else\n        {name}_by(in, k, 0, out);\n}}\n"
    )


def text() -> str:
    """Return the file as it should be."""
    functions: dict[int, tuple[str, str]] = {}
    names: set[str] = set()
    for name, tape, numbers in tapes():
        kernel = _core.Tape(
            len(tape.inputs),
            len(tape.parameters),
            list(tape.constants),
            list(tape.rows),
            list(tape.outputs),
            tape.sides,
        )
        bound = kernel.bound(numbers)
        if bound["rows"] and bound["form"] not in functions:
            free = name
            while free in names:
                free = f"{free}_{1 + sum(one.startswith(name) for one in names)}"
            names.add(free)
            functions[bound["form"]] = free, function_of(free, tape, bound)
    listed = "".join(
        f"        {{UINT64_C({form:#018x}), {name}}},\n" for form, (name, _) in functions.items()
    )
    bodies = "\n".join(body for _, body in functions.values())
    return f"{HEAD}\n{bodies}{TAIL.replace('@', listed)}"


def tested_text() -> str:
    """Return the file of laws for tests as it should be."""
    places: dict[str, str] = {}
    senders: list[str] = []
    queues: list[str] = []
    for kind, numbers in TESTED:
        cls: Any = (sender_class if kind in SENDERS else aqm_class)(kind)
        law = made(cls, NEEDED.get(kind, {}) | numbers)
        functions, entries = (OF_SENDER, senders) if law.role == "sender" else (OF_QUEUE, queues)
        modes = [False, True] if law.role == "queue" and law.bands == 1 else [False]
        for continuous in modes:
            tapes = tapes_of(law, continuous=continuous)
            if tapes:
                entries.append(
                    tested_law(kind, law, tapes, functions, places, continuous=continuous)
                )
    arrays = [
        f"static const double {place}{text.replace('@', place)}" for text, place in places.items()
    ]
    tables = [
        f"static const tested_law {name}[] = {{\n{''.join(entries)}}};\n"
        for name, entries in (("SENDERS", senders), ("QUEUES", queues))
    ]
    return "\n".join([TESTED_HEAD, *arrays, *tables])


def tested_law(
    kind: str,
    law: Sender | Aqm,
    tapes: dict[str, Tape],
    functions: tuple[str, ...],
    places: dict[str, str],
    *,
    continuous: bool,
) -> str:
    """Return the entry of a law, and add what it points to to `places`."""
    any_tape = next(tape for tape in tapes.values() if tape.parameters or tape)
    names = [name.removeprefix("law.") for name in any_tape.parameters]
    numbers = [float(number) for number in numbers_on_tape(law, any_tape)]
    words = []
    for what in functions:
        tape = tapes.get(what)
        if tape is None:
            words.append("{0}")
            continue
        constants = ", ".join(c_number(value) for value in tape.constants) or "0"
        rows = ", ".join(f"{{{', '.join(map(str, row))}}}" for row in tape.rows) or "{0}"
        outputs = ", ".join(map(str, tape.outputs)) or "0"
        arrays = (
            f"_c[] = {{{constants}}};\nstatic const pi2_tape_row @_r[] = {{{rows}}};\n"
            f"static const int32_t @_o[] = {{{outputs}}};\n"
        )
        place = places.setdefault(arrays, f"T{len(places)}")
        counts = (len(tape.inputs), len(names), len(tape.constants), len(tape.rows))
        told = ", ".join(map(str, (*counts, len(tape.outputs), tape.sides)))
        words.append(f"{{{told}, {place}_c, {place}_r, {place}_o, 0}}")
    flows = law.role == "queue" and continuous
    sizes = len(law.states) if law.role == "sender" else law.bands
    quoted = "".join(f'"{name}", ' for name in names)
    values = ", ".join(map(c_number, numbers)) or "0"
    tapes_text = ",\n      ".join(words)
    return (
        f'    {{"{kind}", {sizes}, {int(flows)}, {{{quoted}0}}, {{{values}}},\n'
        f"     {{{tapes_text}}}}},\n"
    )


def c_number(value: float) -> str:
    """Return a number as C writes it."""
    return repr(value) if isfinite(value) else "INFINITY" if value > 0.0 else "-INFINITY"


if __name__ == "__main__":
    save_text(FILE, text())
    save_text(TESTED_FILE, tested_text())
