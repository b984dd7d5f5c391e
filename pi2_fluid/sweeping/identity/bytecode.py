"""What a compiled function says, without where it stands: instructions, and the names they use.

Compiled code is what runs. Its source may have been edited since, and in a session there is none.
"""

from __future__ import annotations

import dis
import re
from types import CodeType
from typing import Final, NamedTuple

_WORD: Final = re.compile(r"[^\W\d]\w*")
#: By these, code finds things by names that are text to it.
_BY_TEXT: Final = frozenset({"__dict__", "__import__", "import_module", "eval", "exec"}) | {
    *("attrgetter", "getattr", "globals", "methodcaller", "vars")
}
#: What a class is told of its own text.
_OF_TEXT: Final = frozenset({"__doc__", "__firstlineno__"})
_DOCUMENTED: Final = 0x4000000  # CO_HAS_DOCSTRING of Python 3.13 and later


class Read(NamedTuple):
    """What a code object and those within it say."""

    words: list[object]
    """In order: names of instructions, and what each acts on; constants are values."""
    looked_up: list[str]
    """What may be looked up among globals, each once."""
    imported: list[tuple[str, int]]
    """What is imported: a module's name, and how many packages above, as `__import__` has them."""
    names: set[str]
    """Every name that may be of an attribute."""


def read_code(code: CodeType) -> Read:
    """Return what a code object says: of two that differ in lines and docstrings alone, the same.

    Examples
    --------
    >>> def doubled(x):
    ...     "Twice."
    ...     return 2 * x
    >>> read_code(doubled.__code__).words == read_code((lambda x: 2 * x).__code__).words
    True
    """
    found = Read([], [], [], set())
    texts: list[str] = []
    _read(code, found, texts)
    if found.names & _BY_TEXT:
        by_text = {word for text in texts for word in _WORD.findall(text)}
        found.names.update(by_text)
        found.looked_up.extend(sorted(by_text))
        found.imported.extend((text, 0) for text in texts if _WORD.match(text))
    found.looked_up[:] = dict.fromkeys(found.looked_up)
    return found


def _read(code: CodeType, reading: Read, texts: list[str]) -> None:
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    locals_ = code.co_varnames, code.co_cellvars, code.co_freevars
    reading.words.append((*counts, code.co_flags & ~_DOCUMENTED, *locals_, code.co_exceptiontable))
    reading.names.update(code.co_names)
    level = 0
    for step in dis.get_instructions(code):
        acts_on: object = step.arg
        if step.opcode in dis.hasconst:
            acts_on = step.argval
            if isinstance(acts_on, CodeType):
                _read(acts_on, reading, texts)
                acts_on = "code"
            elif isinstance(acts_on, str):
                texts.append(acts_on)
        elif step.opcode in dis.hasname:
            acts_on = step.argval
            if "GLOBAL" in step.opname or step.opname == "LOAD_NAME":
                reading.looked_up.append(step.argval)
            elif step.opname == "IMPORT_NAME":
                reading.imported.append((step.argval, level))
            elif step.opname == "STORE_NAME" and step.argval in _OF_TEXT:
                reading.words.pop()
                continue
        if isinstance(acts_on, int) and (step.opcode in dis.hasconst or "SMALL" in step.opname):
            level = acts_on
        reading.words.append((step.opname, acts_on))
