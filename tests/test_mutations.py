"""What `make mutants` changes, and what it leaves alone."""

from __future__ import annotations

import ast
from pathlib import Path

import mutate
import mutations
import pytest

ROOT = Path(__file__).resolve().parents[1]


PYTHON = '''
"""Text: 1 < 2."""
from a import b

__all__ = ["f"]
_LIMIT: Final[dict[int, 3]] = 0.25


@cached(4)
def f(x: int | None, *, y: float = 7.0, **rest: int) -> int | None:
    """More text, 5."""
    total = min(x[i], -y)
    for i in range(3):
        if x < y and not done:
            continue
        total += x[i]
    total = total * 2
    if total:
        raise ValueError(f"{total + 9} is too large" + "8")
    return total


def g(a):
    return a - b
'''

C = """
/* a * 5 */
#include "x.h"
#define MOST (6 * 7)

enum { SHIFT = 3 };

typedef struct {
    int a[8];
    double *b;
} thing;

static int f(const thing *t, int n)
{
    const double *b = t->b;
    thing other = {0};
    int room[9];
    if (n < 2 && !t->a[n])
        return -n;
    switch (n) {
    case 4:
        other.a[0] = n;
        break;
    default:
        g(&other, "1 < 2");
    }
    return n ? (int)fmin(b[0], 2.0) : 0;
}
"""


def changes(name, text):
    """Each mutant as (kind, what was there, what is there now)."""
    return {(m.kind, text[m.start : m.end], m.new) for m in mutations.mutations(name, text)}


def test_python():
    assert changes("a.py", PYTHON) == {
        *(("constant", "0.25", x) for x in ("1.25", "0.5", "0.125")),
        *(("constant", "7.0", x) for x in ("8.0", "14.0", "3.5")),
        *(("constant", "3", x) for x in ("4", "6", "2")),
        *(("constant", "2", x) for x in ("3", "4", "1")),
        ("extreme", "min", "max"),
        *(("index", "i", "i + 1"),),
        ("negation", "-", ""),
        ("negation", "not", ""),
        *(("relation", "<", x) for x in ("<=", ">")),
        ("logic", "and", "or"),
        ("negation", "x < y and not done", "not (x < y and not done)"),
        ("negation", "total", "not (total)"),
        ("dropped", "continue", "pass"),
        ("dropped", "total += x[i]", "pass"),
        ("dropped", "total = total * 2", "pass"),
        ("dropped", 'raise ValueError(f"{total + 9} is too large" + "8")', "pass"),
        ("arithmetic", "+=", "-="),
        ("arithmetic", "*", "/"),
        ("arithmetic", "-", "+"),
    }


def test_c():
    assert changes("a.c", C) == {
        *(("constant", "3", x) for x in ("4", "6", "2")),
        *(("constant", "0", "1"),),
        *(("constant", "2", x) for x in ("3", "4", "1")),
        *(("constant", "4", x) for x in ("5", "8", "3")),
        *(("constant", "2.0", x) for x in ("3.0", "4.0", "1.0")),
        *(("relation", "<", x) for x in ("<=", ">")),
        ("logic", "&&", "||"),
        ("negation", "!", ""),
        ("negation", "-", ""),
        ("negation", "n < 2 && !t->a[n]", "!(n < 2 && !t->a[n])"),
        ("index", "n", "n + 1"),
        ("extreme", "fmin", "fmax"),
        ("dropped", "return -n;", ";"),
        ("dropped", "other.a[0] = n;", ";"),
        ("dropped", "break;", ";"),
        ("dropped", 'g(&other, "1 < 2");', ";"),
    }


@pytest.mark.slow
@pytest.mark.parametrize("file", ["pi2_fluid/loop/margins.py", "pi2_fluid/loop/tracking.py"])
def test_every_mutant_of_python_is_python_and_another_program(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    original = ast.dump(ast.parse(text))
    found = mutations.mutations(file, text)
    assert len(found) > 50
    for mutation in found:
        assert ast.dump(ast.parse(mutation.apply(text))) != original


def test_the_draw_is_in_proportion_to_lines():
    sizes = {"a": 10, "b": 20, "c": 1}
    assert mutate.shares(sizes, 31) == sizes
    assert mutate.shares(sizes, 62) == {"a": 20, "b": 40, "c": 2}
    assert sum(mutate.shares(sizes, 7).values()) == 7


def test_an_edit_leaves_the_draw_of_other_lines_as_it_was():
    before = mutate.mutants_of("a.py", PYTHON, 1)
    after = mutate.mutants_of("a.py", PYTHON.replace("a - b", "a - b - 1"), 1)
    edited = {"return a - b", "return a - b - 1"}
    old, new = (
        [[m.id for m in ones] for ones in lines if ones[0].before not in edited]
        for lines in (before, after)
    )
    assert old == new
    assert mutate.mutants_of("a.py", PYTHON, 2) != before


def test_every_file_and_test_that_it_names_is_there():
    for file, tests in mutate.TESTS.items():
        assert (ROOT / file).is_file()
        for name in tests.split():
            assert (ROOT / mutate.file_of(name, ROOT)).is_file()
    for file, before, after in mutate.known_equivalent():
        assert before != after
        assert before.split("\n")[0] in (ROOT / file).read_text(encoding="utf-8")
